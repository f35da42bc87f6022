// The state that all calls of the fake libcuda share: live objects, planned failures, and the
// common beginning of a call.
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fake.h"
#include "memory.h"
#include "program.h"

namespace {
enum result {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  NO_BINARY_FOR_GPU = 209,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  LAUNCH_FAILED = 719,
  COOPERATIVE_TOO_LARGE = 720,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_UNJOINED = 904,
  CAPTURE_IMPLICIT = 906
};

// Shared memory of a multiprocessor, and the amount reserved for each block.
enum { SHARED_TOGETHER = 25000, SHARED_RESERVED = 1024 };
enum { DEVICES = 4, SHARED_WITHOUT_ASKING = 49152, ROUNDS_MOST = 100000 };

struct module {
  const fake_kernel *kernels;
  fake_program_run run;
  void (*rest)();
  int part; // limits its kernels to one part; -1: all
};

struct function {
  const module *owner;
  const fake_kernel *kernel;
  unsigned shared_bytes;
};

// Work with its arguments bound, to be done now or later. Returns an error message, or an empty
// string.
typedef std::function<std::string(uint64_t seed)> job_work;

// Work that depends on another process. A call starts a run, which is then polled until it
// returns true.
typedef std::function<std::function<bool()>()> job_wait;

struct graph;
struct job { // of a stream or a graph
  std::string what;
  job_work work;
  bool kernel;                     // may access all memory
  const graph *repeated = nullptr; // conditional node: loops while its condition holds
  unsigned *condition = nullptr;
  job_wait wait = nullptr; // instead of `work`
};

struct graph {
  std::vector<job> jobs;
  bool executable;
  const graph *owner; // the body of a conditional node is destroyed with its owner
};

struct condition { // of a conditional node: each launch sets it to 1
  unsigned value;
  const graph *owner;
  void *body; // the driver's output for the node
};

struct node_parameters { // CUgraphNodeParams of a conditional node
  int type, reserved[3];
  uint64_t handle;
  int kind;
  unsigned size;
  void **graphs;
  void *context;
  int64_t padding[26];
};

struct launch_config { // CUlaunchConfig
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  const struct {
    int id, padding;
    uint64_t value[8];
  } * attributes;
  unsigned attribute_count;
};

struct stream {
  bool blocking; // synchronises with the default stream
  bool capturing;
  std::thread::id by;            // the thread that began the capture
  graph *target;                 // of the capture; null: a new graph
  std::vector<job> jobs;         // enqueued or captured
  std::function<bool()> waiting; // the unfinished run of the first job
  stream *joined = nullptr;      // the captured stream whose graph gets this one's work
  bool loose = false;            // that stream has not yet waited for all of this one's work
};

struct event {
  stream *on, *capture;       // of the last record; capture: the stream that was captured
  long ticket;                // of the last record
  std::shared_ptr<long> done; // ticket of the last record that was reached
  std::shared_ptr<double> at; // its time in milliseconds
};

std::mutex lock;
fake_cuda state;
device_memory memory;
std::list<module> modules;
// The `rest` functions of unloaded programs: each frees its program's stacks, which the next
// launch recreates.
std::set<void (*)()> idle;
constexpr size_t IDLE_MOST = 24; // programs that may keep their stacks, which need mappings
std::unordered_map<const void *, std::unique_ptr<function>> functions; // thousands
std::list<stream> streams;
std::list<event> events;
std::list<graph> graphs;
std::list<condition> conditions; // until the reset, because kernels know their addresses
char contexts[DEVICES]; // the primary context of each device; their addresses are the handles
thread_local std::vector<void *> pushed;

// Returns whether a result kills the context: then nothing works until the process ends.
bool deadly(int code) {
  static const std::set<int> codes = {4,   214, 220, 226, 700, 702, 709, 710, 714,
                                      715, 716, 717, 718, 719, 721, 810, 911, 999};
  return codes.count(code) != 0;
}

// Records a fault of the program. With FAKE_CUDA_STRICT, for programs written for a real GPU,
// which cannot read faults, ends the process.
__attribute__((format(printf, 1, 2))) void fault(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (state.faults++ == 0) {
    vsnprintf(state.fault, sizeof state.fault, format, arguments);
  }
  va_end(arguments);
  if (getenv("FAKE_CUDA_STRICT") != nullptr) {
    fprintf(stderr, "the fake driver: %s\n", state.fault);
    abort();
  }
}

int die(int code) { // the first deadly error counts
  return state.dead = state.dead != 0 ? state.dead : code;
}

template <class T> T *find(std::list<T> &list, const void *handle) {
  for (T &item : list) {
    if (&item == handle) {
      return &item;
    }
  }
  return nullptr;
}

function *find_function(const void *handle) {
  const auto found = functions.find(handle);
  return found == functions.end() ? nullptr : found->second.get();
}

enum kind {
  FREE,      // needs no context
  ENTERED,   // needs a current, live context
  CAPTURED,  // like ENTERED, and allowed during a capture
  RELEASING, // does its work even if it fails: the resource is gone
};

struct call;
call *current; // the call that holds the lock

// One call: holds the lock, determines the result, and hides the device memory that its work
// has made accessible.
struct call {
  std::lock_guard<std::mutex> guard{lock};
  const char *name;
  int result;

  call(const char *name, kind k) : name(name), result(fake_answer(&state.calls, name)) {
    const bool entered = k == ENTERED || k == CAPTURED;
    current = this;
    if (entered && state.dead != 0) {
      state.after_death++;
      result = state.dead;
    } else if (k != FREE && deadly(result)) {
      die(result);
    } else if (entered && result == 0 && pushed.empty()) {
      (void)wrong(INVALID_CONTEXT, "no context is current");
    } else if (k == ENTERED && result == 0) {
      for (const stream &s : streams) {
        if (s.capturing && s.by == std::this_thread::get_id()) {
          (void)wrong(CAPTURE_UNSUPPORTED, "a stream is being captured");
        } else if (s.capturing && s.blocking) {
          (void)wrong(CAPTURE_IMPLICIT,
                      "another thread captures a stream that waits for the default stream");
        }
      }
    }
  }

  ~call() {
    memory.hide();
  }

  int wrong(int code, const char *what) {
    fault("%s: %s", name, what);
    return result = code;
  }

  bool on_device(uint64_t address, size_t bytes) {
    if (!memory.holds(address, bytes)) {
      fault("%s: %zu bytes at %p are not in a block of device memory", name, bytes,
            (void *)address);
      result = INVALID_VALUE;
    }
    return result == 0;
  }

  bool on_host(const void *address, size_t bytes) {
    if (memory.touches((uint64_t)address, bytes)) {
      fault("%s: %zu bytes at %p are device memory, where host memory belongs", name, bytes,
            address);
      result = INVALID_VALUE;
    }
    return result == 0;
  }

  // Runs the body of a conditional node as long as its kernels ask for it.
  int repeat(const job &j) {
    long rounds = 0;
    for (*j.condition = 1; *j.condition != 0 && result == 0;) {
      for (const job &inner : j.repeated->jobs) {
        if (result == 0) {
          run(inner);
        }
      }
      if (++rounds > ROUNDS_MOST) {
        return wrong(LAUNCH_FAILED, "a loop in a graph does not end");
      }
    }
    return result;
  }

  // Runs a job now.
  int run(const job &j) {
    if (j.repeated != nullptr) {
      return repeat(j);
    }
    if (j.wait) {
      const std::function<bool()> done = j.wait();
      while (!done()) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
      return SUCCESS;
    }
    if (!j.kernel) {
      j.work(0);
      return SUCCESS;
    }
    memory.show();
    const std::string error = j.work(state.seed + (uint64_t)state.launches);
    const uint64_t broken = memory.broken();
    if (error.empty() && broken == 0) {
      return SUCCESS;
    }
    fault("%s: %s", j.what.c_str(),
          broken != 0 ? "it wrote beyond a block of device memory" : error.c_str());
    die(error.find("no device memory") != std::string::npos ? ILLEGAL_ADDRESS : LAUNCH_FAILED);
    return result = state.dead;
  }

  int run_all(stream &s) {
    while (advance(s) == NOT_READY) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return result;
  }

  // Runs a stream's jobs as far as possible, or until `enough`. Returns NOT_READY if the rest
  // waits for another process.
  int advance(
      stream &s, const std::function<bool()> &enough = [] { return false; }) {
    size_t at = 0;
    for (; at < s.jobs.size() && result == 0 && !enough(); at++) {
      const job &j = s.jobs[at];
      if (!j.wait) {
        run(j);
      } else {
        s.waiting = s.waiting ? s.waiting : j.wait();
        if (!s.waiting()) {
          break;
        }
        s.waiting = nullptr;
      }
    }
    if (at < s.jobs.size() && result == 0) {
      s.jobs.erase(s.jobs.begin(), s.jobs.begin() + (long)at);
      return NOT_READY;
    }
    s.jobs.clear();
    return result;
  }

  // Enqueues a job. On the default stream (null) the work is done when the call returns; on
  // other streams, when someone waits for it.
  int enqueue(void *handle, const job &j) {
    if (handle == nullptr) {
      state.unwaited++;
      return wait() == 0 ? run(j) : result;
    }
    stream *s = find(streams, handle);
    if (s == nullptr) {
      return wrong(INVALID_HANDLE, "the stream does not exist");
    }
    s->loose = s->joined != nullptr;
    (s->joined != nullptr ? s->joined : s)->jobs.push_back(j);
    return SUCCESS;
  }

  int wait() { // like the default stream
    for (stream &s : streams) {
      if (s.blocking && !s.capturing) {
        run_all(s);
      }
    }
    return result;
  }
};
} // namespace

// Begins a call and returns its result at once if it must not be made.
#define CALL(kind)                                                                             \
  call c(__func__, kind);                                                                      \
  if (c.result != 0 && (kind) != RELEASING) {                                                  \
    return c.result;                                                                           \
  }

#endif // FAKE_DRIVER_H
