// Kernels of iterative refinement: solve/core/refine_steps.cuh.
#define MBK_STEP_ROWS 4
#include "solve/core/step.cuh"
#include "solve/core/check.cuh"
#include "solve/core/refine_steps.cuh"

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_refine_down(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  refine_down_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_refine_up(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  refine_up_step(a.v, a.n, a.m, a.partials, (double *)shared);
}
