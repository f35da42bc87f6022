// Eigenpairs between products: Lanczos, and the power method. A row of vectors in f64 moves,
// with j vectors in the basis, what solve/gmres/arnoldi.cu says; rotate 8 (j + 3 k) bytes for k
// vectors that are kept, while its caches keep the row; measure 16 and turn 24.
#define MBK_STEP_ROWS 1
#include "solve/core/wide.cuh"
#include "solve/gmres/arnoldi.cuh"
#include "solve/core/check_steps.cuh"
#include "solve/core/wide_steps.cuh"
#include "solve/gmres/arnoldi_steps.cuh"
#include "solve/eigen/steps.cuh"

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_arnoldi_project(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  arnoldi_project_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_arnoldi_reproject(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  arnoldi_reproject_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_arnoldi_extend(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  arnoldi_extend_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_eigen_rotate(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  eigen_rotate_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_eigen_check(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  eigen_check_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_power_measure(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  power_measure_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_power_normalise(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  power_normalise_step(v, n, m, partials, (double *)shared);
}
