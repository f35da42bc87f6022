// What a solver in f64 does between corrections by one in f32: refine_steps.cuh.
#define MBK_STEP_ROWS 4
#include "solve/core/step.cuh"
#include "solve/core/check_steps.cuh"
#include "solve/core/refine_steps.cuh"

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
    mbk_refine_down(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  refine_down_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT) mbk_refine_up(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  refine_up_step(v, n, m, partials, (double *)shared);
}
