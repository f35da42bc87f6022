// Arnoldi's process between products: GMRES and Lanczos. A row of vectors in f64 moves, with j
// vectors in the basis: project 8 (j + 1) bytes, again 8 (j + 2) and, where j is above 8, what
// its caches do not keep of as much again, extend 8 (j + 3).
#define MBK_STEP_ROWS 1
#include "solve/core/wide.cuh"
#include "solve/gmres/arnoldi.cuh"
#include "solve/core/check_steps.cuh"
#include "solve/core/wide_steps.cuh"
#include "solve/gmres/arnoldi_steps.cuh"

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_solve_residual(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  solve_residual_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_solve_blocks(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  solve_blocks_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_arnoldi_start(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  arnoldi_start_step(v, n, m, partials, (double *)shared);
}

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
