// Launches, of any callable and of a kernel with its arguments behind pointers. Part of simt.h.
#ifndef SIMT_LAUNCH_H
#define SIMT_LAUNCH_H
#include <utility>
#include <vector>

#include "collectives.h"
#include "late.h"
#include "memory.h"

inline void simt_run_block() {
  simt.runnable_count = 0;
  simt.at_barrier = simt.exited = 0;
  simt.skewed = simt_random() % 2 != 0;
  for (simt_warp &warp : simt.warps) {
    warp.rank = (unsigned)simt_random();
    warp.open = 0;
  }
  simt_shared_poison();
  simt_races_barrier();
  simt_late_begin();
  for (unsigned t = 0; t < simt.block_threads; t++) {
    simt_prepare(t);
    simt_push(t);
  }
  simt.current = simt_pick();
  simt_switch(&simt.main, &simt.threads[simt.current].context, false);
  for (unsigned t = 0; t < simt.block_threads; t++) {
    simt_copy_end(t, false);
  }
  simt_late_end();
  simt.report.blocks++;
  simt_shared_check();
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

// Run `body` once per thread of `grid` blocks of `block` threads. Not to be called from a
// kernel.
inline simt_report simt_launch(const char *kernel, unsigned grid, unsigned block,
                               unsigned shared_bytes, uint64_t seed,
                               const std::function<void()> &body) {
  std::lock_guard<std::mutex> guard(simt.lock);
  simt.kernel = kernel;
  simt.block = 0;
  simt_check_launch(grid, block, shared_bytes);
  simt_name_the_dead();
  simt_stacks(block);
  simt_shared_allocate(shared_bytes);
  simt.grid = grid;
  simt.block_threads = block;
  simt.shared_bytes = shared_bytes;
  simt.random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1u;
  simt.main.stack = nullptr;
  simt.error[0] = 0;
  simt.report = {};
  std::vector<unsigned> order(grid);
  for (unsigned b = 0; b < grid; b++) { // a random permutation, inside out
    const unsigned other = (unsigned)(simt_random() % (b + 1));
    order[b] = order[other];
    order[other] = b;
  }
  simt.body = &body;
  signal(SIGALRM, simt_too_long);
  alarm(SIMT_SECONDS);
  for (unsigned b = 0; b < grid && simt.error[0] == 0; b++) {
    simt.block = order[b];
    simt_run_block();
  }
  alarm(0);
  simt.body = nullptr;
  simt_shared_release();
  if (simt.error[0] != 0) {
    throw simt_error(simt.error);
  }
  return simt.report;
}

// ---- Kernels with their arguments behind pointers, as cuLaunchKernel takes them ----------

struct simt_kernel {
  const char *name;
  void (*call)(void *const *arguments); // one thread
  unsigned parameters;
  const unsigned char *bytes; // of each parameter
};

template <auto function> struct simt_unpack;
template <class... P, void (*function)(P...)> struct simt_unpack<function> {
  static constexpr unsigned char bytes[] = {sizeof(P)..., 0};
  static constexpr unsigned parameters = sizeof...(P);
  template <size_t... i>
  static void call_each(void *const *arguments, std::index_sequence<i...>) {
    function(*(P *)arguments[i]...);
  }
  static void call(void *const *arguments) {
    call_each(arguments, std::index_sequence_for<P...>());
  }
};

// `name` without namespaces.
constexpr const char *simt_short_name(const char *name) {
  const char *found = name;
  for (; *name != 0; name++) {
    found = *name == ':' ? name + 1 : found;
  }
  return found;
}

template <auto function> constexpr simt_kernel simt_make_kernel(const char *name) {
  return {simt_short_name(name), simt_unpack<function>::call, simt_unpack<function>::parameters,
          simt_unpack<function>::bytes};
}

#define SIMT_KERNEL(function) simt_make_kernel<function>(#function)

// For C: 0, or 1 and the sentence in `error`.
extern "C" inline int simt_launch_kernel(const simt_kernel *kernel, unsigned grid,
                                         unsigned block, unsigned shared_bytes, uint64_t seed,
                                         void *const *arguments, char *error,
                                         size_t error_bytes) {
  try {
    simt_launch(kernel->name, grid, block, shared_bytes, seed,
                [&] { kernel->call(arguments); });
    return 0;
  } catch (const simt_error &failure) {
    snprintf(error, error_bytes, "%s", failure.what());
    return 1;
  }
}
#endif // SIMT_LAUNCH_H
