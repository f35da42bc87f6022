// The steps of preconditioners as kernels: each is compared with the same text run row by row.
// Bits are equal under every schedule, for all flags.
#include "jit/device.cuh"
#include "simt/plain_steps.h"
#include "simt/solver_bed.h"
#include "support/matrices.h"

#include <algorithm>

#define MBK_VECTOR double
namespace pre_f64 {
#include "solve/precondition/precondition.cu"
}
#undef MBS_FUNCTION
#undef MBK_STEP_ROWS
#undef MBS_VECTOR
#undef MBK_VECTOR
#define MBK_VECTOR float
namespace pre_f32 {
#include "solve/precondition/precondition.cu"
}

#define PRE(space)                                                                             \
  SIMT_KERNEL(space::mbk_pre_measure), SIMT_KERNEL(space::mbk_pre_in),                         \
      SIMT_KERNEL(space::mbk_pre_mean), SIMT_KERNEL(space::mbk_pre_out),                       \
      SIMT_KERNEL(space::mbk_pre_start), SIMT_KERNEL(space::mbk_pre_alpha),                    \
      SIMT_KERNEL(space::mbk_pre_next), SIMT_KERNEL(space::mbk_pre_first),                     \
      SIMT_KERNEL(space::mbk_pre_iterate)
static const std::vector<simt_kernel> kernels[2] = {{PRE(pre_f64)}, {PRE(pre_f32)}};
static const int LANCZOS = 4; // the first kernel without flags

// Sets a kernel's flags and slots in one of four ways.
static mbi_solve_vectors flagged(const bed &b, int kernel, int way) {
  mbi_solve_vectors v = b.vectors(0);
  v.from = kernel < LANCZOS ? way & 1 : 1 + (way & 1);
  v.to = kernel < LANCZOS && !b.single && way >> 1;
  return v;
}

// Fills a positive diagonal, factors, and the vectors that hold floats.
static void fill(bed &b, int floats, uint64_t seed) {
  b.fill(seed);
  for (size_t i = 0; i < (size_t)b.n; i++) {
    const double inverse = 0.5 + fabs(test_uniform(&seed));
    if (b.single) {
      b.arrays[MBI_AT_INVERSE]->as<float>()[i] = (float)inverse;
    } else {
      b.arrays[MBI_AT_INVERSE]->as<double>()[i] = inverse;
    }
    for (int slot = MBI_PRE_OWN; floats && slot <= MBI_PRE_OWN + 1; slot++) {
      b.arrays[(size_t)slot]->as<float>()[i] = (float)test_uniform(&seed);
    }
  }
  for (int k = 0; k < 6; k++) {
    b.arrays[MBI_PRE_TABLE]->as<double>()[k] = test_uniform(&seed);
  }
}

static void launch(bed &b, int kernel, int way, const char *matrix, uint64_t seed) {
  mbi_solve_memory *const at = &b.memory;
  double *const parts = (double *)b.partials.get();
  simt_run(kernels[b.single][(size_t)kernel], {b.single ? "f32" : "f64", matrix, seed},
           {b.blocks, b.threads(), MBI_STEP_SHARED}, flagged(b, kernel, way), b.n, at, parts);
}

static void check_step(int kernel, const char *matrix, long long n, int single, int way,
                       uint64_t seed) {
  const std::string name = strstr(kernels[single][(size_t)kernel].name, "mbk_");
  const plain_step &step = plain_steps[single].at(name);
  const unsigned most = (unsigned)((n + THREADS - 1) / THREADS);
  const unsigned blocks = std::min(most, (unsigned)(1 + seed % 5));
  bed before(n, single, blocks), after(n, single, blocks), again(n, single, blocks);
  bed wanted(n, single, 1);
  fill(before, !single && way >> 1, seed);
  after.copy(before);
  again.copy(before);
  wanted.copy(before);
  launch(after, kernel, way, matrix, seed);
  launch(again, kernel, way, matrix, seed + 1);
  assert_true(after.same_vectors(again));
  assert_memory_equal(&after.memory, &again.memory, sizeof after.memory);
  step.run(flagged(wanted, kernel, way), &wanted.memory);
  assert_true(after.same_vectors(wanted));
  assert_true(!after.same_vectors(before) || step.when != 0 || name == "mbk_pre_measure" ||
              name == "mbk_pre_mean" || name == "mbk_pre_alpha");
  expect_state(after.memory.state, wanted.memory.state, (double)n);
  for (int k = 0; k < 3 * 8; k++) {
    assert_true(near(after.memory.ring[k], wanted.memory.ring[k], (double)n));
  }
}

static void test_steps(void **) {
  for (int index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    test_matrix_make(index, 3, &m);
    for (int single = 0; single <= 1; single++) {
      for (int k = 0; k < (int)kernels[single].size(); k++) {
        const uint64_t seed = simt_seeds[0] + (uint64_t)(index * 7 + k);
        check_step(k, m.name, 12 + m.rows % 1400, single, (index + k) % 4, seed);
      }
    }
    test_matrix_free(&m);
  }
}

// A negative diagonal entry is found.
static void test_negative(void **) {
  bed b(700, 0, 3);
  fill(b, 0, 5);
  launch(b, LANCZOS, 0, "negative", 6);
  assert_true(b.memory.state.scalar[MBI_PRE_NEGATIVE] == 0);
  b.arrays[MBI_AT_INVERSE]->as<double>()[400] = -2;
  launch(b, LANCZOS, 0, "negative", 7);
  assert_true(b.memory.state.scalar[MBI_PRE_NEGATIVE] == 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps),
                                     cmocka_unit_test(test_negative)};
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
