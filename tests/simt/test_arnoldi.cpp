// The steps of GMRES, Lanczos and the power method as kernels: each is compared with the same
// text run row by row. Bits are equal under every schedule, and a step has no effect once the
// solver has stopped.
#include "jit/device.cuh"
#include "simt/plain_steps.h"
#include "support/matrices.h"

#include <math.h>

#include <algorithm>

// ---- Kernels --------------------------------------------------------------------------------

#define MBK_VECTOR double
namespace arnoldi_f64 {
#include "solve/gmres/arnoldi.cu"
}
#undef MBS_FUNCTION
#undef MBS_VECTOR
namespace eigen_f64 {
#include "solve/eigen/eigen.cu"
}
#undef MBS_FUNCTION
#undef MBS_VECTOR
#undef MBK_VECTOR
#define MBK_VECTOR float
namespace arnoldi_f32 {
#include "solve/gmres/arnoldi.cu"
}
#undef MBS_FUNCTION
#undef MBS_VECTOR
namespace eigen_f32 {
#include "solve/eigen/eigen.cu"
}

#define KERNELS(gmres, eigen)                                                                  \
  SIMT_KERNEL(gmres::mbk_arnoldi_start), SIMT_KERNEL(gmres::mbk_arnoldi_project),              \
      SIMT_KERNEL(gmres::mbk_arnoldi_reproject), SIMT_KERNEL(gmres::mbk_arnoldi_extend),           \
      SIMT_KERNEL(eigen::mbk_arnoldi_project), SIMT_KERNEL(eigen::mbk_arnoldi_reproject),          \
      SIMT_KERNEL(eigen::mbk_eigen_rotate), SIMT_KERNEL(eigen::mbk_eigen_check),               \
      SIMT_KERNEL(eigen::mbk_power_measure), SIMT_KERNEL(eigen::mbk_power_normalise)
static const std::vector<simt_kernel> kernels[2] = {{KERNELS(arnoldi_f64, eigen_f64)},
                                                    {KERNELS(arnoldi_f32, eigen_f32)}};

enum { THREADS = 256, SHARED = MBI_STEP_SHARED, COLUMNS = 19 };

// ---- A solver in mid-iteration --------------------------------------------------------------

struct bed {
  bed(long long n, int single, unsigned blocks)
      : n(n), single(single), blocks(blocks),
        partials((size_t)(blocks + 1) * (COLUMNS + 1), sizeof(double), 0xff) {
    for (int slot = 0; slot < MBI_SOLVE_VECTORS; slot++) {
      const bool basis =
          slot == MBI_ARNOLDI_V || slot == MBI_ARNOLDI_ZS || slot == MBI_EIGEN_KEEP;
      const bool small = slot == MBI_ARNOLDI_SMALL || slot == MBI_EIGEN_S;
      const size_t count = basis   ? (size_t)(n + 3) * (COLUMNS + 1)
                           : small ? (COLUMNS + 1) * (COLUMNS + MBI_SMALL_COLUMN)
                                   : (size_t)n;
      arrays.emplace_back(new simt_array(count, small || !single ? 8 : 4));
    }
    memset(&memory, 0, sizeof memory);
  }
  mbi_solve_vectors vectors(int pre, int lanczos) const {
    mbi_solve_vectors v = {};
    for (int slot = 0; slot < MBI_SOLVE_VECTORS; slot++) {
      v.at[slot] = arrays[(size_t)slot]->get();
    }
    v.n = n;
    v.pre = pre;
    v.basis = COLUMNS;
    v.lanczos = lanczos;
    v.stride = n + 3;
    return v;
  }
  // Fills `size` vectors, and the integers that are counts.
  void fill(uint64_t seed, int size) {
    for (const auto &array : arrays) {
      for (size_t i = 0; i < array->count; i++) {
        const double value = test_uniform(&seed) / sqrt((double)n);
        if (array->width == 4) {
          array->as<float>()[i] = (float)value;
        } else {
          array->as<double>()[i] = value;
        }
      }
    }
    mbi_solve_open(&memory, MBI_OPEN_BEGIN, 10, 1000, 1e-9, 1, 1e-16);
    memory.state.iterations = 7;
    memory.state.ww = 3;
    for (double &scalar : memory.state.scalar) {
      scalar = 2;
    }
    memory.state.scalar[MBI_ARNOLDI_SIZE] = memory.state.scalar[MBI_ARNOLDI_WIDTH] = size;
    memory.state.scalar[MBI_ARNOLDI_CLOSE] = size % 2;
    memory.state.scalar[MBI_EIGEN_FROM] = size;
    memory.state.scalar[MBI_EIGEN_TO] = (size + 1) / 2;
    memory.state.scalar[MBI_EIGEN_NEXT] = size % 2;
    memory.state.scalar[MBI_LANCZOS_FRESH] = size % 3 == 1;
  }
  void copy(const bed &from) {
    for (size_t slot = 0; slot < arrays.size(); slot++) {
      arrays[slot]->copy(*from.arrays[slot]);
    }
    memory = from.memory;
  }
  bool same_vectors(const bed &other, bool scalars) const {
    for (size_t slot = 0; slot < arrays.size(); slot++) {
      if ((slot != MBI_ARNOLDI_SMALL || scalars) && !arrays[slot]->same(*other.arrays[slot])) {
        return false;
      }
    }
    return true;
  }
  void run(const simt_kernel &kernel, int pre, int lanczos, const char *matrix, uint64_t seed) {
    mbi_solve_memory *const at = &memory;
    double *const parts = (double *)partials.get();
    simt_run(kernel, {single ? "f32" : "f64", matrix, seed}, {blocks, THREADS, SHARED},
             vectors(pre, lanczos), n, at, parts);
  }

  long long n;
  int single;
  unsigned blocks;
  std::vector<std::unique_ptr<simt_array>> arrays;
  simt_array partials;
  mbi_solve_memory memory;
};

static void expect_near(double found, double wanted) {
  if (!(fabs(found - wanted) <= 1e-9 * (1 + fabs(wanted)) || found == wanted)) {
    fail_msg("%.17g, not %.17g", found, wanted);
  }
}

// Compares sums that were added in another order.
static void expect_scalars(const bed &found, const bed &wanted) {
  const mbi_solve_state &f = found.memory.state, &w = wanted.memory.state;
  for (int k = 0; k < MBI_SOLVE_SCALARS; k++) {
    expect_near(f.scalar[k], w.scalar[k]);
  }
  for (int k = 0; k < 12; k++) {
    expect_near(found.memory.ring[k], wanted.memory.ring[k]);
  }
  expect_near(f.rr, w.rr);
  assert_true(f.stop == w.stop && f.iterations == w.iterations && f.why == w.why);
  assert_true(f.closed == w.closed && f.ticket == 0);
  const simt_array &small = *found.arrays[MBI_ARNOLDI_SMALL];
  for (size_t i = 0; i < small.count; i++) {
    expect_near(small.as<double>()[i], wanted.arrays[MBI_ARNOLDI_SMALL]->as<double>()[i]);
  }
}

static void check_step(const simt_kernel &kernel, const char *matrix, long long n, int single,
                       int pre, int size, uint64_t seed) {
  const std::string name = strstr(kernel.name, "mbk_");
  const int lanczos = strstr(kernel.name, "eigen") != nullptr;
  const unsigned most = (unsigned)((n + THREADS - 1) / THREADS);
  const unsigned blocks = std::min(most, (unsigned)(1 + seed % 5));
  bed before(n, single, blocks), after(n, single, blocks), again(n, single, blocks);
  bed wanted(n, single, 1);
  before.fill(seed, size);
  if (name.find("power") != std::string::npos) {
    before.memory.state.scalar[MBI_POWER_LENGTH] = 1.5;
  }
  after.copy(before);
  again.copy(before);
  wanted.copy(before);
  after.run(kernel, pre, lanczos, matrix, seed);
  again.run(kernel, pre, lanczos, matrix, seed + 1);
  assert_true(after.same_vectors(again, true));
  assert_memory_equal(&after.memory, &again.memory, sizeof after.memory);
  plain_steps[single].at(name).run(wanted.vectors(pre, lanczos), &wanted.memory);
  assert_true(after.same_vectors(wanted, false));
  expect_scalars(after, wanted);
  if (name != "mbk_arnoldi_start" && name.find("mbk_eigen") == std::string::npos) {
    after.copy(before); // no effect once a stop is set and its iteration is over
    after.memory.state.stop = MBI_SOLVE_CANDIDATE;
    after.memory.state.closed = name == "mbk_arnoldi_extend";
    after.run(kernel, pre, lanczos, matrix, seed);
    assert_true(after.same_vectors(before, true) && after.memory.state.closed == 1);
    after.memory.state.stop = after.memory.state.closed = 0;
    assert_memory_equal(&after.memory, &before.memory, sizeof after.memory);
  }
}

static void test_steps(void **) {
  for (int index = 0; index < test_matrix_count(); index++) {
    const int single = index % 2;
    test_matrix m;
    test_matrix_make(index, 3, &m);
    for (size_t k = 0; k < kernels[single].size(); k++) {
      check_step(kernels[single][k], m.name, 1 + m.rows % 900, single, index / 2 % 3,
                 1 + index % COLUMNS, simt_seeds[0] + (uint64_t)index * 7 + k);
    }
    test_matrix_free(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps)};
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
