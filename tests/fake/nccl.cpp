// A libnccl whose ranks are processes forked after it was opened: messages and sums travel
// through shared memory, in the order of the fake driver's streams. It exports the functions
// that merbit_dist.h uses, and fails any call on demand (fake.h).
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <vector>

#include "fake.h"

namespace {
enum result {
  SUCCESS,
  CUDA_ERROR,
  SYSTEM_ERROR,
  INTERNAL_ERROR,
  INVALID_ARGUMENT,
  INVALID_USAGE
};
enum { INT8 = 0, INT64 = 4, F64 = 8, SUM = 0 };
enum { GROUPS = 64, RANKS = 4, MESSAGE = 1 << 16, VALUES = 64 };

// A message from one rank to another. The sender may write when posted == taken, the receiver
// may read when posted == taken + 1.
struct mailbox {
  volatile int posted, taken;
  size_t bytes;
  char data[MESSAGE];
};

// The ranks that share an id.
struct group {
  volatile int joined;
  mailbox boxes[RANKS][RANKS];
  volatile int given[RANKS], read[RANKS]; // number of sums per rank so far
  int64_t values[2][RANKS][VALUES];       // of the last two sums; doubles, too
};

struct shared {
  volatile int groups;
  group group_of[GROUPS];
};

struct communicator {
  group *g;
  int rank, ranks;
  volatile bool aborted;
  int sums;
};

struct message {
  bool send;
  int peer;
  uint64_t data;
  size_t bytes;
};

struct work { // on a stream: messages or a sum
  communicator *c;
  std::vector<message> messages;
  uint64_t values;
  int count, type;
};

struct progress { // one run of some work
  const work *w;
  std::vector<int> steps; // per message: 0 to do, 1 posted, 2 done
  int sum, step;          // number of the sum; step 0: to give, 1: to read
};

shared *all = (shared *)mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
fake_nccl state;
std::mutex lock;
std::list<communicator> communicators; // never freed, because work on streams refers to them
std::list<work> works;
thread_local std::list<work> open_group;
thread_local std::vector<void *> open_streams;

__attribute__((format(printf, 1, 2))) void fault(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (state.faults++ == 0) {
    vsnprintf(state.fault, sizeof state.fault, format, arguments);
  }
  va_end(arguments);
}

int answer(const char *name) {
  const std::lock_guard<std::mutex> guard(lock);
  return fake_answer(&state.calls, name);
}

bool alive(const char *name, void *handle) {
  for (const communicator &c : communicators) {
    if (&c == handle && c.g != nullptr && !c.aborted) {
      return true;
    }
  }
  fault("%s: no such communicator", name);
  return false;
}

// Waits like a call whose other side never arrives.
void stick(const char *name, const communicator *c) {
  while (state.stuck != nullptr && strcmp(state.stuck, name) == 0 &&
         (c == nullptr || !c->aborted)) {
    usleep(1000);
  }
}

void *begin(void *argument) {
  work *w = (work *)argument;
  return new progress{w, std::vector<int>(w->messages.size()),
                      w->messages.empty() ? ++w->c->sums : 0, 0};
}

// Advances a message, which is done when the other side has it.
void move(const communicator *c, const message &m, int *step, fake_copy copy) {
  mailbox &box = m.send ? c->g->boxes[c->rank][m.peer] : c->g->boxes[m.peer][c->rank];
  if (m.send && *step == 0 && box.posted == box.taken) {
    copy(box.data, (const void *)m.data, m.bytes);
    box.bytes = m.bytes;
    __sync_synchronize();
    box.posted = box.posted + 1;
    *step = 1;
  } else if (m.send && *step == 1 && box.posted == box.taken) {
    *step = 2;
  } else if (!m.send && *step == 0 && box.posted != box.taken) {
    if (box.bytes != m.bytes) {
      fault("rank %d sends %zu bytes, and rank %d expects %zu", m.peer, box.bytes, c->rank,
            m.bytes);
    }
    copy((void *)m.data, box.data, std::min(m.bytes, box.bytes));
    __sync_synchronize();
    box.taken = box.taken + 1;
    *step = 2;
  }
}

bool all_have(const volatile int *numbers, int ranks, int least) {
  return std::all_of(numbers, numbers + ranks, [=](int number) { return number >= least; });
}

// Returns whether the sum is done. Terms are added in rank order.
bool add(progress *p, fake_copy copy) {
  const work *w = p->w;
  const communicator *c = w->c;
  group *g = c->g;
  int64_t(*values)[VALUES] = g->values[p->sum % 2];
  const size_t bytes = (size_t)w->count * 8;
  if (p->step == 0 && all_have(g->read, c->ranks, p->sum - 2)) {
    copy(values[c->rank], (const void *)w->values, bytes);
    __sync_synchronize();
    g->given[c->rank] = p->sum;
    p->step = 1;
  }
  if (p->step == 0 || !all_have(g->given, c->ranks, p->sum)) {
    return false;
  }
  uint64_t sums[VALUES];
  for (int i = 0; i < w->count; i++) {
    uint64_t whole = 0;
    double sum = 0;
    for (int q = 0; q < c->ranks; q++) {
      double term;
      memcpy(&term, &values[q][i], sizeof term);
      whole += (uint64_t)values[q][i];
      sum += term;
    }
    if (w->type == F64) {
      memcpy(&whole, &sum, sizeof sum);
    }
    sums[i] = whole;
  }
  copy((void *)w->values, sums, bytes);
  __sync_synchronize();
  g->read[c->rank] = p->sum;
  return true;
}

int advance(void *run, fake_copy copy) {
  progress *p = (progress *)run;
  bool done = p->w->c->aborted; // ends with what it has
  if (!done && p->w->messages.empty()) {
    done = add(p, copy);
  } else if (!done) {
    done = true;
    for (size_t i = 0; i < p->steps.size(); i++) {
      move(p->w->c, p->w->messages[i], &p->steps[i], copy);
      done = done && p->steps[i] == 2;
    }
  }
  if (done) {
    delete p;
  }
  return done;
}

int enqueue(const char *name, const work &w, void *stream) {
  typedef int (*enqueuer)(void *, const char *, const fake_work *);
  static enqueuer to_driver = nullptr;
  fake_work f = {begin, advance, nullptr, 0, {}, {}};
  const std::lock_guard<std::mutex> guard(lock);
  if (to_driver == nullptr) { // already loaded
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    to_driver = driver != nullptr ? (enqueuer)dlsym(driver, "fake_cuda_enqueue") : nullptr;
  }
  if (to_driver == nullptr) {
    fault("%s: there is no fake driver", name);
    return SYSTEM_ERROR;
  }
  works.push_back(w);
  f.argument = &works.back();
  for (const message &m : w.messages) {
    f.addresses[f.count] = m.data;
    f.bytes[f.count++] = m.bytes;
  }
  if (w.messages.empty()) {
    f.addresses[f.count] = w.values;
    f.bytes[f.count++] = (size_t)w.count * 8;
  }
  return to_driver(stream, name, &f) == 0 ? SUCCESS : CUDA_ERROR;
}

[[maybe_unused]] int send_or_receive(const char *name, bool send, uint64_t data, size_t count,
                                     int type, int peer, void *handle, void *stream) {
  const int failed = answer(name);
  communicator *c = (communicator *)handle;
  if (failed != 0 || !alive(name, handle)) {
    return failed != 0 ? failed : INVALID_ARGUMENT;
  }
  if (type != INT8 || peer < 0 || peer >= c->ranks || count > MESSAGE || state.depth == 0) {
    fault("%s: rank %d, type %d, %zu bytes, %ld groups", name, peer, type, count, state.depth);
    return INVALID_ARGUMENT;
  }
  if (open_group.empty()) {
    open_group.push_back({c, {}, 0, 0, 0});
    open_streams.push_back(stream);
  } else if (open_streams.back() != stream || open_group.back().c != c) {
    fault("%s: a group on two streams", name);
  }
  open_group.back().messages.push_back({send, peer, data, count});
  state.messages++;
  return SUCCESS;
}
} // namespace

extern "C" {
fake_nccl *fake_nccl_state() {
  return &state;
}

void fake_nccl_reset() {
  state = {};
  state.version = 22809;
  open_group.clear();
  open_streams.clear();
}

static const bool ready = (fake_nccl_reset(), true);

int ncclGetVersion(int *version) {
  *version = state.version;
  return answer("ncclGetVersion");
}

const char *ncclGetErrorString(int result) {
  return result == SYSTEM_ERROR ? "unhandled system error" : "injected";
}

#ifndef FAKE_OLD // missing from older versions
const char *ncclGetLastError(void *) {
  return "the fake's last words";
}
#endif

struct fake_id {
  char bytes[128];
};

int ncclGetUniqueId(fake_id *id) {
  const int failed = answer("ncclGetUniqueId");
  memset(id, failed != 0 ? 0xee : 0, sizeof *id);
  if (failed == 0) {
    const int number = __sync_fetch_and_add(&all->groups, 1);
    snprintf(id->bytes, sizeof id->bytes, "fake %d", number);
  }
  return failed;
}

int ncclCommInitRank(void **handle, int ranks, fake_id id, int rank) {
  typedef int (*getter)(void **);
  const int failed = answer("ncclCommInitRank");
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context = nullptr;
  const getter get = driver != nullptr ? (getter)dlsym(driver, "cuCtxGetCurrent") : nullptr;
  if (get == nullptr || (get(&context) == 0 && context == nullptr)) {
    fault("ncclCommInitRank without a current context, which names the GPU");
  }
  int number = -1;
  *handle = &state;
  stick("ncclCommInitRank", nullptr);
  if (failed != 0) {
    return failed;
  }
  if (sscanf(id.bytes, "fake %d", &number) != 1 || number >= GROUPS || rank >= ranks ||
      ranks > RANKS) {
    fault("ncclCommInitRank: rank %d of %d, id %d", rank, ranks, number);
    return INVALID_ARGUMENT;
  }
  group *g = &all->group_of[number];
  __sync_fetch_and_add(&g->joined, 1);
  while (g->joined < ranks) {
    usleep(200);
  }
  const std::lock_guard<std::mutex> guard(lock);
  communicators.push_back({g, rank, ranks, false, 0});
  state.communicators++;
  *handle = &communicators.back();
  return SUCCESS;
}

int ncclCommDestroy(void *handle) {
  const int failed = answer("ncclCommDestroy");
  if (!alive("ncclCommDestroy", handle)) {
    return INVALID_ARGUMENT;
  }
  stick("ncclCommDestroy", (communicator *)handle);
  ((communicator *)handle)->g = nullptr;
  state.communicators--;
  state.destroyed++;
  return failed;
}

int ncclCommAbort(void *handle) {
  const int failed = answer("ncclCommAbort");
  if (!alive("ncclCommAbort", handle)) {
    return INVALID_ARGUMENT;
  }
  ((communicator *)handle)->aborted = true;
  state.communicators--;
  state.aborted++;
  return failed;
}

int ncclCommGetAsyncError(void *handle, int *error) {
  const int failed = answer("ncclCommGetAsyncError");
  *error = state.async_error;
  return failed != 0                              ? failed
         : alive("ncclCommGetAsyncError", handle) ? SUCCESS
                                                  : INVALID_ARGUMENT;
}

int ncclGroupStart() {
  const int failed = answer("ncclGroupStart");
  state.depth += failed == 0;
  return failed;
}

// Ends the group even if it fails.
int ncclGroupEnd() {
  const int failed = answer("ncclGroupEnd");
  int result = failed;
  if (state.depth == 0) {
    fault("ncclGroupEnd without a group");
    return INVALID_USAGE;
  }
  state.depth--;
  if (!open_group.empty()) {
    const communicator *c = open_group.back().c;
    stick("ncclGroupEnd", c);
    result = c->aborted && result == 0 ? (int)INTERNAL_ERROR : result;
    if (result == 0) {
      result = enqueue("ncclGroupEnd", open_group.back(), open_streams.back());
    }
  }
  open_group.clear();
  open_streams.clear();
  return result;
}

#ifndef FAKE_ANCIENT // new in 2.7
int ncclSend(const void *data, size_t count, int type, int peer, void *handle, void *stream) {
  return send_or_receive(__func__, true, (uint64_t)data, count, type, peer, handle, stream);
}

int ncclRecv(void *data, size_t count, int type, int peer, void *handle, void *stream) {
  return send_or_receive(__func__, false, (uint64_t)data, count, type, peer, handle, stream);
}
#endif

int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation,
                  void *handle, void *stream) {
  const int failed = answer("ncclAllReduce");
  communicator *c = (communicator *)handle;
  if (failed != 0 || !alive("ncclAllReduce", handle)) {
    return failed != 0 ? failed : INVALID_ARGUMENT;
  }
  if (from != to || (type != INT64 && type != F64) || operation != SUM || count > VALUES) {
    fault("ncclAllReduce of %zu of type %d, operation %d", count, type, operation);
    return INVALID_ARGUMENT;
  }
  stick("ncclAllReduce", c);
  if (c->aborted) {
    return INTERNAL_ERROR;
  }
  state.sums++;
  return enqueue("ncclAllReduce", {c, {}, (uint64_t)to, (int)count, type}, stream);
}
}
