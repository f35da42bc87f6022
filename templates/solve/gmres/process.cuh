// The kernels of Arnoldi's process, which GMRES and Lanczos share. Included after
// solve/core/wide.cuh.
#include "solve/gmres/arnoldi.cuh"
#include "solve/core/wide_steps.cuh"
#include "solve/gmres/arnoldi_steps.cuh"

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_arnoldi_project(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  arnoldi_project_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_arnoldi_reproject(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  arnoldi_reproject_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_arnoldi_extend(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  arnoldi_extend_step(a.v, a.n, a.m, a.partials, (double *)shared);
}
