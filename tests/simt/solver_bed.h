// The state of a solver in mid-iteration, for tests of its kernels.
#ifndef SIMT_SOLVER_BED_H
#define SIMT_SOLVER_BED_H
#include <math.h>

#include "runs.h"
#include "support/matrices.h"

#if !defined MERBIT_IMPLEMENTATION && !defined SIMT_PLAIN_STEPS_H // these define it already
#undef MBS_FUNCTION // defined by a header or a kernel
#define MBS_FUNCTION [[maybe_unused]] static
#include "solve/core/state.cuh"
#undef MBS_FUNCTION
#endif

enum { THREADS = 768 };

struct bed {
  bed(long long n, int single, unsigned blocks)
      : n(n), single(single), blocks(blocks),
        partials((size_t)blocks * MBI_SOLVE_SUMS, sizeof(double), 0xff),
        posts((size_t)blocks * 2 * MBI_FUSED_SUMS, 16) {
    const size_t width = single ? 4 : 8;
    for (int slot = 0; slot < MBI_SOLVE_VECTORS; slot++) {
      const size_t count = (size_t)n * (slot == MBI_AT_INVERSE ? 4 : 1);
      arrays.emplace_back(new simt_array(count, width));
    }
    memset(&memory, 0, sizeof memory);
  }
  mbi_solve_vectors vectors(int pre) const {
    mbi_solve_vectors v = {};
    for (int slot = 0; slot < MBI_SOLVE_VECTORS; slot++) {
      v.at[slot] = arrays[(size_t)slot]->get();
    }
    v.posts = (unsigned long long *)posts.get();
    v.n = n;
    v.pre = pre;
    v.block = 4;
    v.from = 4;
    v.to = 5;
    return v;
  }
  unsigned threads() const { // threads of a block
    return n < THREADS ? ((unsigned)n + 31) / 32 * 32 : (unsigned)THREADS;
  }
  void fill(uint64_t seed) {
    for (const auto &array : arrays) {
      for (size_t i = 0; i < array->count; i++) {
        const double value = test_uniform(&seed);
        if (single) {
          array->as<float>()[i] = (float)value;
        } else {
          array->as<double>()[i] = value;
        }
      }
    }
    mbi_solve_open(&memory, MBI_OPEN_BEGIN, 10, 1000, 1e-9, 1, 1e-16);
    memory.state.iterations = 7;
    for (double &scalar : memory.state.scalar) {
      scalar = 1.5 + test_uniform(&seed);
    }
    memory.state.product_sums[0] = memory.state.product_sums[1] = 2;
    memory.state.ww = 3;
  }
  void copy(const bed &from) {
    for (size_t slot = 0; slot < arrays.size(); slot++) {
      arrays[slot]->copy(*from.arrays[slot]);
    }
    memory = from.memory;
  }
  bool same_vectors(const bed &other) const {
    for (size_t slot = 0; slot < arrays.size(); slot++) {
      if (!arrays[slot]->same(*other.arrays[slot])) {
        return false;
      }
    }
    return true;
  }
  void run(const simt_kernel &kernel, int pre, const char *matrix, uint64_t seed) {
    mbi_solve_memory *const at = &memory;
    double *const parts = (double *)partials.get();
    simt_run(kernel, {single ? "f32" : "f64", matrix, seed},
             {blocks, threads(), MBI_STEP_SHARED}, vectors(pre), n, at, parts);
  }
  void run_fused(const simt_kernel &kernel, const mbi_solve_vectors &v, const char *matrix,
                 uint64_t seed) {
    mbi_solve_memory *const at = &memory;
    double *const parts = (double *)partials.get();
    simt_run(kernel, {single ? "f32" : "f64", matrix, seed},
             {blocks, threads(), MBI_STEP_SHARED, true}, v, n, at, parts);
  }

  long long n;
  int single;
  unsigned blocks;
  std::vector<std::unique_ptr<simt_array>> arrays;
  simt_array partials, posts;
  mbi_solve_memory memory;
};

static bool near(double a, double b, double scale) {
  return fabs(a - b) <= 1e-12 * (fabs(b) + scale);
}

// Compares states. Sums have up to n terms below 4, in any order.
[[maybe_unused]] static void expect_state(const mbi_solve_state &found,
                                          const mbi_solve_state &wanted, double n) {
  const double scale = 4 * n;
  for (int k = 0; k < MBI_SOLVE_SCALARS; k++) {
    assert_true(near(found.scalar[k], wanted.scalar[k], scale * (1 + fabs(wanted.scalar[k]))));
  }
  assert_true(near(found.rr, wanted.rr, scale) && near(found.ww, wanted.ww, scale));
  assert_true(near(found.bb, wanted.bb, scale) && near(found.goal, wanted.goal, 0));
  assert_true(found.w_most == wanted.w_most && found.x_most == wanted.x_most);
  assert_true(found.b_most == wanted.b_most && found.stop == wanted.stop);
  assert_true(found.iterations == wanted.iterations && found.closed == wanted.closed);
  assert_int_equal(found.ticket, 0);
}
#endif // SIMT_SOLVER_BED_H
