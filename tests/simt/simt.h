// Runs GPU kernels on the CPU: one fibre per CUDA thread, warps of 32 lanes, blocks one after
// another in a random order, all of it repeatable from a seed. The kernels' names for what a
// GPU gives them are in include/jit/device.cuh. Read from the top: launch, what is checked,
// schedule, fibres.
//
//   simt_launch("scale", grid, block, shared_bytes, seed, [&] { scale(n, x); });
//
// throws a simt_error whose sentence names kernel, block, thread, operation and mask when
//   - lanes that wait for each other stand at different operations, sites, masks or widths;
//   - a thread has exited, or never comes, while others wait for it in a warp or at a barrier;
//   - a shuffle reads a lane outside its mask, or a lane calls with a mask that lacks it;
//   - the launch itself is one that a GPU refuses;
//   - shared memory is written beyond its size (where AddressSanitizer does not say so first).
// An endless loop ends the process with a sentence.
// Shared memory is allocated at exactly the size asked for and filled with 0xff bytes, NaN in
// any float type, before each block. Between two operations of a warp its lanes run in random
// order, and a thread may be held up before any atomic: code that needs a missing barrier sees
// stale or poisoned data.
#ifndef SIMT_H
#define SIMT_H
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#endif
#ifdef SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// This file's own bookkeeping is not what is under test; instrumented, it would take most of
// the time.
#define SIMT_PLAIN __attribute__((no_sanitize("address", "undefined")))

// swapcontext makes a system call per switch, 20 times the cost of the switch itself.
#if defined(__x86_64__) && !defined(SIMT_UCONTEXT)
#define SIMT_FAST 1
#endif

struct simt_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct simt_report {
  uint64_t blocks, collectives, switches;
};

enum simt_state {
  SIMT_RUNS,
  SIMT_EXITED,
  SIMT_BLOCK_SYNC,
  SIMT_WARP_SYNC,
  SIMT_BALLOT,
  SIMT_SHUFFLE,
  SIMT_SHUFFLE_UP,
  SIMT_SHUFFLE_DOWN
};

struct simt_site { // where a kernel calls
  const char *file;
  int line;
};

struct simt_operation { // what a thread does, and if it waits, where
  simt_state state;
  uint32_t mask;
  int width;
  size_t bytes;
  simt_site site;
};

struct simt_context {
#ifdef SIMT_FAST
  void *stack_pointer;
#else
  ucontext_t ucontext;
#endif
  void *fake_stack;  // AddressSanitizer's
  const void *stack; // lowest address
  size_t stack_bytes;
};

struct simt_word { // what a lane gives or takes
  uint64_t half[2];
};

struct simt_thread {
  simt_context context;
  simt_operation operation;
  int argument; // lane or delta of a shuffle, flag of a vote
  simt_word in, out;
};

struct simt_rendezvous { // a collective operation that some lanes of its mask have reached
  simt_operation operation;
  uint32_t arrived;
};

struct simt_warp {
  unsigned rank; // who goes first in a skewed block
  unsigned open;
  simt_rendezvous rendezvous[32]; // the first `open`; a lane waits in at most one
};

enum {
  SIMT_STACK = 128 << 10,
  SIMT_GUARD = 64 << 10, // a multiple of every page size
  SIMT_CANARY = 64,
  SIMT_SECONDS = 100,
  SIMT_THREADS_MAX = 1024
};

struct simt_machine {
  std::mutex lock;
  const char *kernel = "";
  unsigned grid = 0, block_threads = 0, shared_bytes = 0;
  const std::function<void()> *body = nullptr;
  unsigned block = 0;
  unsigned current = 0; // thread
  simt_thread threads[SIMT_THREADS_MAX];
  simt_warp warps[SIMT_THREADS_MAX / 32];
  unsigned runnable[SIMT_THREADS_MAX]; // not the current one
  unsigned runnable_count = 0;
  bool skewed = false;
  unsigned at_barrier = 0, exited = 0;
  simt_operation barrier = {}; // that the first of them reached
  unsigned char *shared = nullptr;
  uint64_t random = 0;
  simt_context main = {};
  unsigned char *stacks = nullptr;
  unsigned stack_count = 0;
  char error[4096] = "";
  simt_report report = {};
};

inline simt_machine simt;

SIMT_PLAIN inline uint64_t simt_random() { // xorshift64*, Vigna 2016
  simt.random ^= simt.random >> 12;
  simt.random ^= simt.random << 25;
  simt.random ^= simt.random >> 27;
  return simt.random * UINT64_C(0x2545f4914f6cdd1d) >> 32;
}

// ---- Sentences: no heap, for the frames of a failed launch are dropped as they stand
// ----------------

struct simt_text {
  char text[256];
};

inline simt_text simt_describe(const simt_operation &operation) {
  static const char *const names[] = {"runs",           "has exited",      "mbk_block_sync",
                                      "mbk_warp_sync",  "mbk_ballot",      "mbk_shuffle",
                                      "mbk_shuffle_up", "mbk_shuffle_down"};
  simt_text text;
  char form[64] = "";
  if (operation.state < SIMT_BLOCK_SYNC) {
    snprintf(text.text, sizeof text.text, "%s", names[operation.state]);
    return text;
  }
  if (operation.state >= SIMT_SHUFFLE) {
    snprintf(form, sizeof form, " (mask 0x%08x, width %d, %zu bytes)", operation.mask,
             operation.width, operation.bytes);
  } else if (operation.state >= SIMT_WARP_SYNC) {
    snprintf(form, sizeof form, " (mask 0x%08x)", operation.mask);
  }
  const char *slash = strrchr(operation.site.file, '/');
  snprintf(text.text, sizeof text.text, "%s%s at %.80s:%d", names[operation.state], form,
           slash ? slash + 1 : operation.site.file, operation.site.line);
  return text;
}

inline simt_text simt_name(unsigned thread) {
  simt_text text;
  snprintf(text.text, sizeof text.text, "thread %u (warp %u, lane %u)", thread, thread / 32,
           thread % 32);
  return text;
}

// Note what went wrong; simt_launch throws it.
__attribute__((format(printf, 1, 2))) inline void simt_note(const char *format, ...) {
  const size_t size = sizeof simt.error;
  const int used =
      snprintf(simt.error, size, "kernel %.200s, block %u: ", simt.kernel, simt.block);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(simt.error + used, size - (size_t)used, format, arguments);
  va_end(arguments);
}

// ---- Fibres
// ---------------------------------------------------------------------------------------

#ifdef SIMT_FAST
extern "C" void simt_swap(void **save, void *load);
__asm__(".text\n"
        ".weak simt_swap\n"
        ".type simt_swap,@function\n"
        "simt_swap:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp,(%rdi)\n"
        "  movq %rsi,%rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size simt_swap,.-simt_swap\n");
#endif

// On arrival in a context: `fake_stack` as it was left, null the first time.
SIMT_PLAIN inline void simt_arrive(void *fake_stack) {
#ifdef SIMT_ASAN
  const void *stack;
  size_t bytes;
  __sanitizer_finish_switch_fiber(fake_stack, &stack, &bytes);
  if (simt.main.stack == nullptr) { // the first switch of a launch leaves main
    simt.main.stack = stack;
    simt.main.stack_bytes = bytes;
  }
#else
  (void)fake_stack;
#endif
}

SIMT_PLAIN inline void simt_switch(simt_context *from, simt_context *to, bool for_good) {
  simt.report.switches++;
#ifdef SIMT_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from->fake_stack, to->stack,
                                 to->stack_bytes);
#else
  (void)for_good;
#endif
#ifdef SIMT_FAST
  simt_swap(&from->stack_pointer, to->stack_pointer);
#else
  swapcontext(&from->ucontext, &to->ucontext);
#endif
  simt_arrive(from->fake_stack);
}

// Leave the launch for good.
[[noreturn]] inline void simt_leave() {
  simt_switch(&simt.threads[simt.current].context, &simt.main, true);
  abort(); // nobody comes back here
}

#define SIMT_FAIL(...) (simt_note(__VA_ARGS__), simt_leave())

SIMT_PLAIN inline void simt_push(unsigned thread) {
  simt.runnable[simt.runnable_count++] = thread;
}

// A random runnable thread. In a skewed block some warps run far ahead of others.
SIMT_PLAIN inline unsigned simt_pick() {
  unsigned position = (unsigned)(simt_random() % simt.runnable_count);
  if (simt.skewed) {
    const unsigned other = (unsigned)(simt_random() % simt.runnable_count);
    if (simt.warps[simt.runnable[other] / 32].rank <
        simt.warps[simt.runnable[position] / 32].rank) {
      position = other;
    }
  }
  const unsigned thread = simt.runnable[position];
  simt.runnable[position] = simt.runnable[--simt.runnable_count];
  return thread;
}

[[noreturn]] inline void simt_deadlock() {
  simt_note("deadlock:");
  unsigned told = 0;
  for (unsigned t = 0; t < simt.block_threads; t++) {
    const simt_operation &operation = simt.threads[t].operation;
    if (operation.state != SIMT_EXITED && told++ < 8) {
      const size_t used = strlen(simt.error);
      snprintf(simt.error + used, sizeof simt.error - used, "%s %s waits in %s",
               told > 1 ? ";" : "", simt_name(t).text, simt_describe(operation).text);
    }
  }
  simt_leave();
}

// Go on with a random runnable thread, perhaps with this one.
SIMT_PLAIN inline void simt_next(bool for_good) {
  const unsigned from = simt.current;
  if (simt.runnable_count == 0) {
    simt_deadlock();
  }
  const unsigned to = simt_pick();
  if (to != from) {
    simt.current = to;
    simt_switch(&simt.threads[from].context, &simt.threads[to].context, for_good);
  }
}

SIMT_PLAIN inline bool simt_in(uint32_t mask, unsigned lane) {
  return mask >> lane & 1u;
}

// A thread of the same warp that waits for `me` in a warp operation, or `me` itself.
SIMT_PLAIN inline unsigned simt_waits_for(unsigned me) {
  const simt_warp &warp = simt.warps[me / 32];
  for (unsigned i = 0; i < warp.open; i++) {
    if (simt_in(warp.rendezvous[i].operation.mask, me % 32)) {
      return me / 32 * 32 + (unsigned)__builtin_ctz(warp.rendezvous[i].arrived);
    }
  }
  return me;
}

// A thread in `state`.
inline unsigned simt_find(simt_state state) {
  unsigned t = 0;
  while (simt.threads[t].operation.state != state) {
    t++;
  }
  return t;
}

inline void simt_exit() {
  const unsigned me = simt.current, waiting = simt_waits_for(me);
  simt.threads[me].operation.state = SIMT_EXITED;
  simt.exited++;
  if (waiting != me) {
    SIMT_FAIL("%s exits while %s waits for it in %s (divergent collective)", simt_name(me).text,
              simt_name(waiting).text, simt_describe(simt.threads[waiting].operation).text);
  }
  if (simt.at_barrier > 0) {
    const unsigned t = simt_find(SIMT_BLOCK_SYNC);
    SIMT_FAIL("%s exits while %s waits for it in %s (missing barrier)", simt_name(me).text,
              simt_name(t).text, simt_describe(simt.threads[t].operation).text);
  }
  if (simt.exited == simt.block_threads) {
    simt_switch(&simt.threads[me].context, &simt.main, true);
  }
  simt_next(true);
}

inline void simt_entry() {
  simt_arrive(nullptr);
  (*simt.body)();
  simt_exit();
}

inline void simt_prepare(unsigned t) {
  unsigned char *stack = simt.stacks + (size_t)t * (SIMT_STACK + SIMT_GUARD) + SIMT_GUARD;
  simt_thread &thread = simt.threads[t];
  thread.operation = {SIMT_RUNS, 0, 0, 0, {"", 0}};
  thread.context.fake_stack = nullptr;
  thread.context.stack = stack;
  thread.context.stack_bytes = SIMT_STACK;
#ifdef SIMT_ASAN
  __asan_unpoison_memory_region(stack, SIMT_STACK); // frames that an error left behind
#endif
#ifdef SIMT_FAST
  void **top = (void **)(stack + SIMT_STACK);
  memset(top - 8, 0, 8 * sizeof *top);
  top[-2] = (void *)simt_entry; // above it a null return address, below it six registers
  thread.context.stack_pointer = top - 8;
#else
  getcontext(&thread.context.ucontext);
  thread.context.ucontext.uc_stack.ss_sp = stack;
  thread.context.ucontext.uc_stack.ss_size = SIMT_STACK;
  thread.context.ucontext.uc_link = nullptr;
  makecontext(&thread.context.ucontext, simt_entry, 0);
#endif
}

// ---- Collective operations
// ------------------------------------------------------------------------

SIMT_PLAIN inline bool simt_same(const simt_operation &a, const simt_operation &b) {
  return a.state == b.state && a.mask == b.mask && a.width == b.width && a.bytes == b.bytes &&
         a.site.line == b.site.line &&
         (a.site.file == b.site.file || strcmp(a.site.file, b.site.file) == 0);
}

SIMT_PLAIN inline void simt_release(unsigned thread) {
  simt.threads[thread].operation.state = SIMT_RUNS;
  simt_push(thread);
}

// The lane that `lane` reads, by the rules of the PTX instruction shfl.sync.
SIMT_PLAIN inline unsigned simt_source(const simt_operation &operation, unsigned lane,
                                       int argument) {
  const unsigned width = (unsigned)operation.width, inside = lane & (width - 1u);
  const unsigned delta = (unsigned)argument;
  switch (operation.state) {
  case SIMT_SHUFFLE:
    return lane - inside + (delta & (width - 1u));
  case SIMT_SHUFFLE_UP:
    return inside < delta ? lane : lane - delta;
  default:
    return inside + delta >= width ? lane : lane + delta;
  }
}

// All lanes of the mask have come: exchange and let them go.
SIMT_PLAIN inline void simt_complete(unsigned first, const simt_operation &operation) {
  simt_word votes = {{0, 0}};
  simt.report.collectives++;
  for (uint32_t left = operation.mask; left != 0; left &= left - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(left);
    votes.half[0] |= (uint64_t)(simt.threads[first + lane].argument != 0) << lane;
  }
  for (uint32_t left = operation.mask; left != 0; left &= left - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(left);
    simt_thread &thread = simt.threads[first + lane];
    if (operation.state == SIMT_BALLOT) {
      thread.out = votes;
    } else if (operation.state >= SIMT_SHUFFLE) {
      const unsigned source = simt_source(operation, lane, thread.argument);
      if (!simt_in(operation.mask, source)) {
        SIMT_FAIL("%s reads lane %u, which the mask lacks, in %s", simt_name(first + lane).text,
                  source, simt_describe(operation).text);
      }
      thread.out = simt.threads[source + first].in;
    }
    simt_release(first + lane);
  }
}

[[noreturn]] inline void simt_never_meets(unsigned me, const simt_operation &mine, unsigned t,
                                          const char *kind) {
  const simt_operation &other = simt.threads[t].operation;
  SIMT_FAIL("%s waits in %s for %s, which %s%s (%s)", simt_name(me).text,
            simt_describe(mine).text, simt_name(t).text,
            other.state == SIMT_EXITED ? "" : "is in ", simt_describe(other).text, kind);
}

// The first lane at an operation: nobody in its mask may have exited or wait for it elsewhere.
inline void simt_open(unsigned me, const simt_operation &mine) {
  for (uint32_t left = mine.mask & ~(1u << me % 32); left != 0; left &= left - 1) {
    const unsigned t = me / 32 * 32 + (unsigned)__builtin_ctz(left);
    const simt_operation &other = simt.threads[t].operation;
    if (other.state == SIMT_EXITED || other.state == SIMT_BLOCK_SYNC ||
        (other.state >= SIMT_WARP_SYNC && simt_in(other.mask, me % 32))) {
      simt_never_meets(me, mine, t, "divergent collective");
    }
  }
}

inline void simt_check_call(unsigned me, const simt_operation &mine, int argument) {
  const unsigned lanes = simt.block_threads - me / 32 * 32;
  if (!simt_in(mine.mask, me % 32)) {
    SIMT_FAIL("%s is not in its own mask in %s", simt_name(me).text, simt_describe(mine).text);
  }
  if (lanes < 32 && mine.mask >> lanes != 0) {
    SIMT_FAIL("%s names lanes beyond the block's %u threads in %s", simt_name(me).text,
              simt.block_threads, simt_describe(mine).text);
  }
  if (mine.width < 1 || mine.width > 32 || (mine.width & (mine.width - 1)) != 0) {
    SIMT_FAIL("%s gives a width that is not a power of two up to 32 in %s", simt_name(me).text,
              simt_describe(mine).text);
  }
  if (mine.state > SIMT_SHUFFLE && (argument < 0 || argument > 31)) {
    SIMT_FAIL("%s gives delta %d, not 0 to 31, in %s", simt_name(me).text, argument,
              simt_describe(mine).text);
  }
}

// One warp operation of the current thread: value in, result out.
SIMT_PLAIN inline simt_word simt_collective(const simt_operation &mine, int argument,
                                            const simt_word &value) {
  const unsigned me = simt.current;
  simt_thread &thread = simt.threads[me];
  simt_warp &warp = simt.warps[me / 32];
  unsigned i = 0;
  simt_check_call(me, mine, argument);
  while (i < warp.open && !simt_same(warp.rendezvous[i].operation, mine)) {
    i++;
  }
  if (i == warp.open) {
    simt_open(me, mine);
    warp.rendezvous[i].operation = mine;
    warp.rendezvous[i].arrived = 0;
    warp.open++;
  }
  thread.operation = mine;
  thread.argument = argument;
  thread.in = value;
  warp.rendezvous[i].arrived |= 1u << me % 32;
  if (warp.rendezvous[i].arrived == mine.mask) {
    warp.rendezvous[i] = warp.rendezvous[--warp.open];
    simt_complete(me / 32 * 32, mine);
  }
  simt_next(false);
  return thread.out;
}

SIMT_PLAIN inline void simt_block_sync(simt_site site) {
  const unsigned me = simt.current, waiting = simt_waits_for(me);
  const simt_operation mine = {SIMT_BLOCK_SYNC, 0, 1, 0, site};
  if (waiting != me) {
    simt_never_meets(me, mine, waiting, "divergent collective");
  }
  if (simt.exited > 0) {
    simt_never_meets(me, mine, simt_find(SIMT_EXITED), "missing barrier");
  }
  if (simt.at_barrier > 0 && !simt_same(mine, simt.barrier)) {
    simt_never_meets(me, mine, simt_find(SIMT_BLOCK_SYNC), "missing barrier");
  }
  simt.threads[me].operation = simt.barrier = mine;
  if (++simt.at_barrier == simt.block_threads) {
    simt.report.collectives++;
    simt.at_barrier = 0;
    for (unsigned t = 0; t < simt.block_threads; t++) {
      simt_release(t);
    }
  }
  simt_next(false);
}

// Before an atomic: perhaps others go first.
SIMT_PLAIN inline void simt_hesitate() {
  if (simt_random() % 8 == 0) {
    simt_push(simt.current);
    simt_next(false);
  }
}

// ---- Launch
// ---------------------------------------------------------------------------------------

inline void simt_too_long(int) {
  char text[256];
  const int length =
      snprintf(text, sizeof text,
               "simt: kernel %s, block %u, thread %u still runs after %d seconds: an "
               "endless loop?\n",
               simt.kernel, simt.block, simt.current, (int)SIMT_SECONDS);
  _exit(length > 0 && write(2, text, (size_t)length) == length ? 1 : 2);
}

inline void simt_stacks(unsigned count) {
  const size_t each = SIMT_STACK + SIMT_GUARD;
  if (count <= simt.stack_count) {
    return;
  }
  if (simt.stacks != nullptr) {
    munmap(simt.stacks, simt.stack_count * each);
  }
  void *memory = mmap(nullptr, count * each, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw simt_error("simt: no memory for the fibres' stacks");
  }
  simt.stacks = (unsigned char *)memory;
  simt.stack_count = count;
  for (unsigned t = 0; t < count; t++) {
    mprotect(simt.stacks + t * each, SIMT_GUARD, PROT_NONE);
  }
}

inline void simt_run_block() {
  simt.runnable_count = 0;
  simt.at_barrier = simt.exited = 0;
  simt.skewed = simt_random() % 2 != 0;
  for (simt_warp &warp : simt.warps) {
    warp.rank = (unsigned)simt_random();
    warp.open = 0;
  }
  memset(simt.shared, 0xff, simt.shared_bytes);
  for (unsigned t = 0; t < simt.block_threads; t++) {
    simt_prepare(t);
    simt_push(t);
  }
  simt.current = simt_pick();
  simt_switch(&simt.main, &simt.threads[simt.current].context, false);
  simt.report.blocks++;
#ifndef SIMT_ASAN
  for (unsigned i = simt.shared_bytes; i < simt.shared_bytes + SIMT_CANARY; i++) {
    if (simt.shared[i] != 0xa5 && simt.error[0] == 0) {
      simt_note("writes byte %u of %u bytes of shared memory", i, simt.shared_bytes);
    }
  }
#endif
}

// Run `body` once per thread of `grid` blocks of `block` threads. Not to be called from a
// kernel.
inline simt_report simt_launch(const char *kernel, unsigned grid, unsigned block,
                               unsigned shared_bytes, uint64_t seed,
                               const std::function<void()> &body) {
  std::lock_guard<std::mutex> guard(simt.lock);
  simt.kernel = kernel;
  simt.block = 0;
  if (grid == 0 || grid > INT32_MAX || block == 0 || block > SIMT_THREADS_MAX ||
      shared_bytes > 227u << 10) {
    simt_note(
        "a GPU refuses a launch of %u blocks of %u threads with %u bytes of shared memory",
        grid, block, shared_bytes);
    throw simt_error(simt.error);
  }
  simt_stacks(block);
  simt.grid = grid;
  simt.block_threads = block;
  simt.shared_bytes = shared_bytes;
  simt.body = &body;
  simt.random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1u;
  simt.main.stack = nullptr;
  simt.error[0] = 0;
  simt.report = {};
  void *shared = nullptr;
#ifdef SIMT_ASAN
  const size_t allocated = shared_bytes;
#else
  const size_t allocated = shared_bytes + SIMT_CANARY;
#endif
  if (posix_memalign(&shared, 16, allocated) != 0) {
    throw simt_error("simt: no memory for shared memory");
  }
  simt.shared = (unsigned char *)shared;
  memset(simt.shared + shared_bytes, 0xa5, allocated - shared_bytes);
  signal(SIGALRM, simt_too_long);
  alarm(SIMT_SECONDS);
  std::vector<unsigned> order(grid);
  for (unsigned b = 0; b < grid; b++) { // a random permutation, inside out
    const unsigned other = (unsigned)(simt_random() % (b + 1));
    order[b] = order[other];
    order[other] = b;
  }
  for (unsigned b = 0; b < grid && simt.error[0] == 0; b++) {
    simt.block = order[b];
    simt_run_block();
  }
  alarm(0);
  free(shared);
  simt.shared = nullptr;
  if (simt.error[0] != 0) {
    throw simt_error(simt.error);
  }
  return simt.report;
}
#endif // SIMT_H
