// Kernels of preconditioners: solve/precondition/steps.cuh.
#define MBK_STEP_ROWS 4
#include "solve/core/step.cuh"
#include "solve/core/check.cuh"
#include "solve/precondition/slots.cuh"
#include "solve/precondition/steps.cuh"

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_pre_measure(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  pre_measure_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_pre_in(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  pre_in_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_pre_mean(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  pre_mean_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_pre_out(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  pre_out_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_pre_start(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  pre_start_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_pre_alpha(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  pre_alpha_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_pre_next(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  pre_next_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_pre_first(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  pre_first_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_pre_iterate(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  pre_iterate_step(a.v, a.n, a.m, a.partials, (double *)shared);
}
