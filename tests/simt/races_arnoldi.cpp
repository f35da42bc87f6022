// The steps of GMRES, eigenpairs, iterative refinement and preconditioners under the race
// detector (races.cpp).
#include "jit/device.cuh"

#include "simt/races_list.h"
#include "simt/solver_bed.h"

#define MBK_VECTOR double
namespace arnoldi {
#include "solve/gmres/arnoldi.cu"
}
#undef MBS_FUNCTION
#undef MBS_VECTOR
#undef MBK_STEP_ROWS
namespace eigen {
#include "solve/eigen/eigen.cu"
}
#undef MBS_FUNCTION
#undef MBS_VECTOR
#undef MBK_STEP_ROWS
namespace refine {
#include "solve/core/refine.cu"
}
#undef MBS_FUNCTION
#undef MBS_VECTOR
#undef MBK_STEP_ROWS
namespace precondition {
#include "solve/precondition/precondition.cu"
}

enum { COLUMNS = 19, SIZE = 12 }; // of the basis; more than one group of sums

static void test_arnoldi(void **) {
  static const simt_kernel steps[] = {
      SIMT_KERNEL(arnoldi::mbk_arnoldi_start), SIMT_KERNEL(arnoldi::mbk_arnoldi_project),
      SIMT_KERNEL(arnoldi::mbk_arnoldi_reproject), SIMT_KERNEL(arnoldi::mbk_arnoldi_extend),
      SIMT_KERNEL(eigen::mbk_arnoldi_project), SIMT_KERNEL(eigen::mbk_arnoldi_reproject),
      SIMT_KERNEL(eigen::mbk_eigen_rotate),    SIMT_KERNEL(eigen::mbk_eigen_check),
      SIMT_KERNEL(eigen::mbk_power_measure),   SIMT_KERNEL(eigen::mbk_power_normalise),
      SIMT_KERNEL(arnoldi::mbk_solve_residual),    SIMT_KERNEL(arnoldi::mbk_solve_blocks),
      SIMT_KERNEL(refine::mbk_refine_down),    SIMT_KERNEL(refine::mbk_refine_up),
      SIMT_KERNEL(precondition::mbk_pre_measure), SIMT_KERNEL(precondition::mbk_pre_in),
      SIMT_KERNEL(precondition::mbk_pre_mean),    SIMT_KERNEL(precondition::mbk_pre_out),
      SIMT_KERNEL(precondition::mbk_pre_start),   SIMT_KERNEL(precondition::mbk_pre_alpha),
      SIMT_KERNEL(precondition::mbk_pre_next),    SIMT_KERNEL(precondition::mbk_pre_first),
      SIMT_KERNEL(precondition::mbk_pre_iterate)};
  const long long n = 700;
  const simt_array partials(4 * (COLUMNS + 1), sizeof(double));
  double *const parts = partials.as<double>();
  for (uint64_t seed : simt_seeds) {
    for (const simt_kernel &step : steps) {
      bed b(n, 0, 3);
      for (int slot :
           {MBI_ARNOLDI_V, MBI_ARNOLDI_ZS, MBI_EIGEN_KEEP, MBI_ARNOLDI_SMALL, MBI_EIGEN_S}) {
        b.arrays[(size_t)slot].reset(new simt_array((size_t)n * (COLUMNS + 1), 8));
      }
      b.fill(seed);
      double *const scalar = b.memory.state.scalar;
      scalar[MBI_ARNOLDI_SIZE] = scalar[MBI_ARNOLDI_WIDTH] = SIZE;
      scalar[MBI_EIGEN_FROM] = SIZE;
      scalar[MBI_EIGEN_TO] = SIZE / 2;
      mbi_solve_vectors v = b.vectors(1);
      mbi_solve_memory *const at = &b.memory;
      v.basis = COLUMNS;
      v.lanczos = 1;
      v.stride = n;
      simt_run(step, {"f64", "700", seed}, {3, 256, MBI_STEP_SHARED}, v, n, at, parts);
    }
  }
}

const std::vector<CMUnitTest> races_of_arnoldi = {cmocka_unit_test(test_arnoldi)};
