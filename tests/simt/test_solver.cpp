// The steps of solvers as kernels: each is compared with the same text run row by row. Bits are
// equal under every schedule, and a step has no effect once the solver has stopped.
#include "jit/device.cuh"
#include "simt/plain_steps.h"
#include "simt/solver_bed.h"
#include "support/matrices.h"

#include <algorithm>

// ---- Kernels --------------------------------------------------------------------------------

#define MBK_VECTOR double
namespace cg_f64 {
#include "solve/cg/cg.cu"
}
#undef MBS_FUNCTION
#undef MBK_STEP_ROWS
#undef MBS_VECTOR
namespace bicgstab_f64 {
#include "solve/bicgstab/bicgstab.cu"
}
#undef MBS_FUNCTION
#undef MBK_STEP_ROWS
#undef MBS_VECTOR
namespace refine_f64 {
#include "solve/core/refine.cu"
}
#undef MBS_FUNCTION
#undef MBK_STEP_ROWS
#undef MBS_VECTOR
#undef MBK_VECTOR
#define MBK_VECTOR float
namespace cg_f32 {
#include "solve/cg/cg.cu"
}
#undef MBS_FUNCTION
#undef MBK_STEP_ROWS
#undef MBS_VECTOR
namespace bicgstab_f32 {
#include "solve/bicgstab/bicgstab.cu"
}
#undef MBS_FUNCTION
#undef MBK_STEP_ROWS
#undef MBS_VECTOR
namespace loop {
#include "solve/core/loop.cu"
}

#define CG(space)                                                                              \
  SIMT_KERNEL(space::mbk_solve_residual), SIMT_KERNEL(space::mbk_solve_blocks),                    \
      SIMT_KERNEL(space::mbk_cg_start), SIMT_KERNEL(space::mbk_cg_start_p),                     \
      SIMT_KERNEL(space::mbk_cg_update_r), SIMT_KERNEL(space::mbk_cg_rz),                  \
      SIMT_KERNEL(space::mbk_cg_update_x_p)
#define BICGSTAB(space)                                                                        \
  SIMT_KERNEL(space::mbk_bicgstab_start), SIMT_KERNEL(space::mbk_bicgstab_s),               \
      SIMT_KERNEL(space::mbk_bicgstab_update_x_r), SIMT_KERNEL(space::mbk_bicgstab_update_p)
static const std::vector<simt_kernel> kernels[2] = {{CG(cg_f64), BICGSTAB(bicgstab_f64),
                                                     SIMT_KERNEL(refine_f64::mbk_refine_down),
                                                     SIMT_KERNEL(refine_f64::mbk_refine_up)},
                                                    {CG(cg_f32), BICGSTAB(bicgstab_f32)}};

static void check_step(const simt_kernel &kernel, const char *matrix, long long n, int single,
                       int pre, uint64_t seed) {
  const std::string name = strstr(kernel.name, "mbk_");
  const plain_step &step = plain_steps[single].at(name);
  const unsigned most = (unsigned)((n + THREADS - 1) / THREADS);
  const unsigned blocks = std::min(most, (unsigned)(1 + seed % 5));
  bed before(n, single, blocks), after(n, single, blocks), again(n, single, blocks);
  bed wanted(n, single, 1);
  before.fill(seed);
  after.copy(before);
  again.copy(before);
  wanted.copy(before);
  after.run(kernel, pre, matrix, seed);
  again.run(kernel, pre, matrix, seed + 1);
  assert_true(after.same_vectors(again));
  assert_memory_equal(&after.memory, &again.memory, sizeof after.memory);
  step.run(wanted.vectors(pre), &wanted.memory);
  assert_true(after.same_vectors(wanted));
  expect_state(after.memory.state, wanted.memory.state, (double)n);
  if (step.when != 0) { // no effect once a stop is set and its iteration is over
    after.copy(before);
    after.memory.state.stop = MBI_SOLVE_CANDIDATE;
    after.memory.state.closed = step.when == 2;
    after.run(kernel, pre, matrix, seed);
    assert_true(after.same_vectors(before) && after.memory.state.closed == 1);
    after.memory.state.stop = after.memory.state.closed = 0;
    assert_memory_equal(&after.memory, &before.memory, sizeof after.memory);
  }
  if (step.when == 2) { // but it has one in that iteration
    after.copy(before);
    after.memory.state.stop = MBI_SOLVE_CANDIDATE;
    after.run(kernel, pre, matrix, seed);
    assert_true(after.same_vectors(wanted));
  }
}

static void test_steps(void **) {
  int index = 0;
  for (; index < test_matrix_count(); index++) {
    test_matrix m;
    test_matrix_make(index, 3, &m);
    for (int single = 0; single <= 1; single++) {
      for (size_t k = 0; k < kernels[single].size(); k++) {
        const uint64_t seed = simt_seeds[0] + (uint64_t)index * 7 + k;
        check_step(kernels[single][k], m.name, 1 + m.rows % 1400, single, (index + single) % 3,
                   seed);
      }
    }
    test_matrix_free(&m);
  }
}

// A step that must not be taken stops the solver and leaves the vectors unchanged.
static void test_broken(void **) {
  const simt_kernel descend = SIMT_KERNEL(cg_f64::mbk_cg_update_r);
  const simt_kernel advance = SIMT_KERNEL(cg_f64::mbk_cg_update_x_p);
  for (double pq : {0.0, -2.5, (double)NAN}) {
    bed b(700, 0, 3), before(700, 0, 3);
    b.fill(4);
    b.memory.state.product_sums[0] = pq;
    before.copy(b);
    b.run(descend, 0, "broken", 5);
    b.run(advance, 0, "broken", 6);
    assert_true(b.same_vectors(before));
    assert_int_equal(b.memory.state.stop,
                     pq == pq ? MBI_SOLVE_BREAKDOWN : MBI_SOLVE_NOT_FINITE);
    assert_int_equal(b.memory.state.why, MBI_WHY_CURVATURE);
    assert_true(b.memory.state.value == pq || pq != pq);
  }
}

// The kernels that update scalars only.
static void test_scalars(void **) {
  const simt_kernel open = SIMT_KERNEL(cg_f64::mbk_solve_open);
  const simt_kernel other[] = {SIMT_KERNEL(cg_f32::mbk_solve_open),
                               SIMT_KERNEL(bicgstab_f64::mbk_solve_open)};
  const simt_kernel go_on = SIMT_KERNEL(loop::mbk_solve_loop);
  (void)other;
  for (int index = 0; index < 60; index++) { // kernels_ran.py requires 50
    const std::string name = "scalars " + std::to_string(index);
    const int how = index % 3, span = 1 + index, cap = 50;
    const double tolerance = 1e-3, shrink = 0.5, epsilon = 1e-16;
    mbi_solve_memory found = {}, wanted = {}, *const at = &found;
    unsigned condition = 7;
    const mbk_u64 handle = (mbk_u64)&condition;
    found.state.bb = 4;
    found.state.iterations = 9;
    found.state.stop = MBI_SOLVE_CANDIDATE;
    found.state.closed = 1;
    wanted = found;
    mbi_solve_open(&wanted, how, span, cap, tolerance, shrink, epsilon);
    simt_run(open, {"f64", name.c_str(), 1}, {1, 1, 0}, at, how, span, cap, tolerance, shrink,
             epsilon);
    assert_memory_equal(&found, &wanted, sizeof found);
    assert_true(how == MBI_OPEN_GO_ON || found.state.stop == MBI_SOLVE_RUNNING);
    found.state.iterations = index % 2 == 0 ? found.state.check_at : found.state.check_at - 1;
    simt_run(go_on, {"f64", name.c_str(), 1}, {1, 1, 0}, handle, at, 1);
    assert_int_equal(condition, found.state.stop == MBI_SOLVE_RUNNING && index % 2 == 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_broken),
      cmocka_unit_test(test_scalars),
  };
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
