// Kernels of Lanczos and the power method. Bytes per row of f64 vectors: Arnoldi's process as
// in solve/gmres/arnoldi.cu; eigen_rotate 8 (j + 3 k) for a basis of j vectors of which k are
// kept, if caches hold the row; power_measure 16, power_normalise 24. Launch and shared memory:
// solve/core/step.cuh.
#define MBK_STEP_ROWS 1
#include "solve/core/wide.cuh"
#include "solve/gmres/process.cuh"
#include "solve/eigen/steps.cuh"

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_eigen_rotate(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  eigen_rotate_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_eigen_check(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  eigen_check_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_power_measure(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  power_measure_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_power_normalise(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  power_normalise_step(a.v, a.n, a.m, a.partials, (double *)shared);
}
