// Launches any callable, or a kernel with its arguments behind pointers. Part of simt.h.
#ifndef SIMT_LAUNCH_H
#define SIMT_LAUNCH_H
#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "collectives.h"
#include "fields.h"
#include "late.h"
#include "memory.h"

struct simt_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ---- Stacks, shared memory ------------------------------------------------------------------

// Starts a thread without a frame of AddressSanitizer, which would be left behind at its exit.
SIMT_PLAIN inline void simt_entry() {
  simt_arrive(&simt.threads[simt.current].context);
  (*(const std::function<void()> *)simt.body)();
  simt_exit();
}

SIMT_PLAIN inline void simt_prepare(unsigned t) {
  unsigned char *stack = simt.stacks + (size_t)t * (SIMT_STACK + SIMT_GUARD) + SIMT_GUARD;
  // Offset the stacks: at multiples of a power of two they would share a few sets of the
  // caches.
  const size_t bytes = SIMT_STACK - t * SIMT_COLOUR % (SIMT_STACK / 4);
  simt_thread &thread = simt.threads[t];
  thread.operation = {SIMT_RUNS, 0, 0, 0, {"", 0}};
#ifdef SIMT_FAST
  void **top = (void **)(stack + bytes);
  memset(top - 8, 0, 8 * sizeof *top);
  top[-2] = (void *)simt_entry; // a null return address above, six registers below
  thread.context.stack_pointer = top - 8;
#else
  getcontext(&thread.context.ucontext);
  thread.context.ucontext.uc_stack.ss_sp = stack;
  thread.context.ucontext.uc_stack.ss_size = bytes;
  thread.context.ucontext.uc_link = nullptr;
  makecontext(&thread.context.ucontext, simt_entry, 0);
#endif
}

// Releases a block's threads and stacks. Each stack takes two of the process's mappings, whose
// number is limited.
inline void simt_stacks_release() {
  const size_t bytes = simt.stack_count * (size_t)(SIMT_STACK + SIMT_GUARD);
  if (simt.stacks != nullptr) {
#ifdef SIMT_ASAN
    // A program may be mapped there next.
    __asan_unpoison_memory_region(simt.stacks, bytes);
#endif
    munmap(simt.stacks, bytes);
  }
  delete[] simt.threads;
  simt.threads = nullptr;
  simt.stacks = nullptr;
  simt.stack_count = 0;
}

inline void simt_stacks(unsigned count) {
  const size_t each = SIMT_STACK + SIMT_GUARD;
  if (count <= simt.stack_count) {
    return;
  }
  simt_stacks_release();
  void *memory = mmap(nullptr, count * each, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw simt_error("simt: no memory for the fibres' stacks");
  }
  simt.threads = new simt_thread[SIMT_THREADS_MAX]();
  simt.stacks = (unsigned char *)memory;
  simt.stack_count = count;
  for (unsigned t = 0; t < count; t++) {
    mprotect(simt.stacks + t * each, SIMT_GUARD, PROT_NONE);
  }
}

// Allocates exactly the bytes asked for, so that AddressSanitizer detects the first one beyond.
// Without AddressSanitizer a canary follows.
inline void simt_shared_allocate(unsigned bytes) {
#ifdef SIMT_ASAN
  const size_t allocated = bytes;
#else
  const size_t allocated = bytes + SIMT_CANARY;
#endif
  void *shared = nullptr;
  if (posix_memalign(&shared, 16, allocated) != 0) {
    throw simt_error("simt: no memory for shared memory");
  }
  simt.shared = (unsigned char *)shared;
  memset(simt.shared + bytes, 0xa5, allocated - bytes);
}

inline void simt_shared_release() {
  free(simt.shared);
  simt.shared = nullptr;
}

// ---- Blocks ---------------------------------------------------------------------------------

// Runs a block from its start until it ends, fails or is put aside.
inline void simt_begin_block() {
  simt.runnable = 0;
  simt.at_barrier = simt.exited = simt.waiting = 0;
  simt.skewed = simt_random() % 2 != 0;
  for (simt_warp &warp : simt.warps) {
    warp.rank = (unsigned)simt_random();
    warp.open = 0;
    warp.runnable = 0;
  }
  simt_shared_poison();
  simt_races_barrier();
  simt_late_begin();
  for (unsigned t = 0; t < simt.block_threads; t++) {
    simt_prepare(t);
    simt_push(t);
  }
  simt.current = simt_pick();
  simt_switch(&simt.main, &simt.threads[simt.current].context);
}

inline bool simt_reached(const simt_thread &thread) {
  return thread.operation.state == SIMT_COLLECT && (uint32_t)*thread.word == thread.wanted;
}

// Resumes a block that was put aside, some of whose threads no longer wait.
inline void simt_resume_block() {
  simt_races_barrier();
  for (unsigned t = 0; t < simt.block_threads; t++) {
    if (simt_reached(simt.threads[t])) {
      simt.waiting--;
      simt_release(t);
    }
  }
  simt.current = simt_pick();
  simt_switch(&simt.main, &simt.threads[simt.current].context);
}

inline void simt_end_block() {
  for (unsigned t = 0; t < simt.block_threads; t++) {
    simt_copy_end(t, false);
  }
  simt_late_end();
  simt.report.blocks++;
  simt_shared_check();
}

// ---- Blocks that wait for each other --------------------------------------------------------

inline std::mutex simt_lock; // of launches
inline std::vector<simt_block> simt_aside;

// Releases the stacks of unused rooms.
inline void simt_release_rooms(std::vector<simt_rooms> &list) {
  const simt_rooms own = simt;
  for (const simt_rooms &rooms : list) {
    (simt_rooms &)simt = rooms;
    simt_stacks_release();
  }
  list.clear();
  (simt_rooms &)simt = own;
}

struct simt_rooms_list : std::vector<simt_rooms> {
  ~simt_rooms_list() {
    simt_release_rooms(*this);
  }
};
inline simt_rooms_list simt_spare; // in a launch; between launches stacks only

// Takes rooms for a new block if those of the last one are still in use.
inline void simt_move_in() {
  if (simt.threads == nullptr && !simt_spare.empty()) {
    (simt_rooms &)simt = simt_spare.back();
    simt_spare.pop_back();
  }
  simt_stacks(simt.block_threads);
  if (simt.shared == nullptr) {
    simt_shared_allocate(simt.shared_bytes);
  }
}

inline void simt_put_aside() {
  simt_aside.push_back(simt);
  (simt_rooms &)simt = simt_rooms();
}

inline void simt_fetch(size_t i) {
  if (simt.threads != nullptr) {
    simt_spare.push_back(simt);
  }
  (simt_block &)simt = simt_aside[i];
  simt_aside.erase(simt_aside.begin() + (long)i);
}

// Returns the rooms at the end of a launch and keeps some stacks for the next one: mapping and
// guarding them takes as long as running a small block.
inline void simt_move_out() {
  while (!simt_aside.empty()) { // after a failed launch
    simt_fetch(0);
    for (unsigned t = 0; t < simt.block_threads; t++) {
      simt_copy_end(t, false);
    }
  }
  std::vector<simt_rooms> kept;
  unsigned stacks = 0;
  simt_shared_release();
  for (const simt_rooms &rooms : simt_spare) {
    if (stacks + simt.stack_count <= SIMT_SPARE_STACKS) {
      stacks += simt.stack_count;
      kept.push_back(simt);
    } else {
      simt_stacks_release();
    }
    (simt_rooms &)simt = rooms;
    simt_shared_release();
  }
  simt_spare.swap(kept);
}

// Returns a random block that can go on, or -1.
inline long simt_ready() {
  std::vector<size_t> ready;
  for (size_t i = 0; i < simt_aside.size(); i++) {
    const simt_thread *const threads = simt_aside[i].threads;
    if (std::any_of(threads, threads + simt.block_threads, simt_reached)) {
      ready.push_back(i);
    }
  }
  return ready.empty() ? -1 : (long)ready[simt_random() % ready.size()];
}

inline void simt_grid_deadlock() {
  const size_t exited = simt.grid - simt_aside.size();
  simt_fetch(0);
  const unsigned t = simt_find(SIMT_COLLECT);
  simt_note("%s waits in %s for other blocks, of which %zu of %u have exited (missing grid "
            "barrier)",
            simt_name(t).text, simt_describe(simt.threads[t].operation).text, exited,
            simt.grid - 1);
}

inline void simt_run_grid(const std::vector<unsigned> &order) {
  size_t started = 0;
  while (simt.error[0] == 0 && (started < order.size() || !simt_aside.empty())) {
    const long ready = simt_ready();
    if (started < order.size() && (ready < 0 || simt_random() % 2 == 0)) {
      simt_move_in();
      simt.block = order[started++];
      simt_begin_block();
    } else if (ready >= 0) {
      simt_fetch((size_t)ready);
      simt_resume_block();
    } else {
      simt_grid_deadlock();
      return;
    }
    if (simt.error[0] == 0 && simt.exited < simt.block_threads) {
      simt_put_aside();
    } else {
      simt_end_block();
    }
  }
}

inline void simt_check_launch(unsigned grid, unsigned block, unsigned shared_bytes) {
  if (grid == 0 || grid > INT32_MAX || block == 0 || block > SIMT_THREADS_MAX ||
      shared_bytes > SIMT_SHARED_MAX) {
    simt_note(
        "a GPU refuses a launch of %u blocks of %u threads with %u bytes of shared memory",
        grid, block, shared_bytes);
    throw simt_error(simt.error);
  }
}

// Runs `body` once per thread of `grid` blocks of `block` threads. In a cooperative launch
// blocks may wait for all others, in other launches only for those of lower numbers. Not to be
// called from a kernel.
inline simt_report simt_launch(const char *kernel, unsigned grid, unsigned block,
                               unsigned shared_bytes, uint64_t seed,
                               const std::function<void()> &body, bool cooperative = false) {
  std::lock_guard<std::mutex> guard(simt_lock);
  simt.kernel = kernel;
  simt.block = 0;
  simt_check_launch(grid, block, shared_bytes);
  simt_name_the_dead();
  simt.cooperative = cooperative;
  simt.grid = grid;
  simt.block_threads = block;
  simt.shared_bytes = shared_bytes;
  simt.random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1u;
  simt.error[0] = 0;
  simt.report = {};
  simt.posted.clear();
  std::vector<unsigned> order(grid);
  for (unsigned b = 0; b < grid; b++) { // builds a random permutation in place
    const unsigned other = (unsigned)(simt_random() % (b + 1));
    order[b] = order[other];
    order[other] = b;
  }
  simt_move_in();
  simt.body = &body;
  signal(SIGALRM, simt_too_long);
  alarm(SIMT_SECONDS);
  try {
    simt_run_grid(order);
  } catch (const simt_error &failure) { // no memory for another block
    simt_note("%s", failure.what());
  }
  alarm(0);
  simt.body = nullptr;
  simt_move_out();
  if (simt.error[0] != 0) {
    simt_release_rooms(simt_spare);
    simt_stacks_release();
    throw simt_error(simt.error);
  }
  return simt.report;
}

// ---- Kernels with a pointer to their struct of arguments ------------------------------------

struct simt_kernel {
  const char *name;
  void (*call)(const void *arguments); // runs one thread
  const simt_fields *fields;
};

// Returns `name` without namespaces.
constexpr const char *simt_short_name(const char *name) {
  const char *found = name;
  for (; *name != 0; name++) {
    found = *name == ':' ? name + 1 : found;
  }
  return found;
}

template <auto function> constexpr simt_kernel simt_make_kernel(const char *name) {
  return {simt_short_name(name), simt_unpack<function>::call, simt_unpack<function>::fields};
}

#define SIMT_KERNEL(function) simt_make_kernel<function>(#function)

// Fills the struct of a kernel's arguments. Each argument must have its field's size; alpha and
// beta may be a number or a pointer. All other bytes are 0xff. Returns nothing if the list does
// not fit.
template <class... A>
std::vector<uint64_t> simt_pack(const simt_fields &fields, const A &...arguments) {
  std::vector<uint64_t> words(fields.bytes / 8 + 1, UINT64_MAX);
  const void *const from[] = {&arguments...};
  const size_t bytes[] = {sizeof arguments...};
  if (fields.count != sizeof...(A)) {
    return {};
  }
  for (unsigned i = 0; i < fields.count; i++) {
    const simt_field &field = fields.field[i];
    if (field.scalar ? bytes[i] > field.bytes : bytes[i] != field.bytes) {
      return {};
    }
    memcpy((char *)words.data() + field.at, from[i], bytes[i]);
  }
  return words;
}

// Launches a kernel from C. Returns 0, or 1 with a message in `error`.
extern "C" inline int simt_launch_kernel(const simt_kernel *kernel, unsigned grid,
                                         unsigned block, unsigned shared_bytes, uint64_t seed,
                                         const void *arguments, bool cooperative, char *error,
                                         size_t error_bytes) {
  try {
    simt_launch(
        kernel->name, grid, block, shared_bytes, seed, [&] { kernel->call(arguments); },
        cooperative);
    return 0;
  } catch (const simt_error &failure) {
    snprintf(error, error_bytes, "%s", failure.what());
    return 1;
  }
}
#endif // SIMT_LAUNCH_H
