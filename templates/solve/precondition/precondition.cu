// Kernels of preconditioners: solve/precondition/steps.cuh.
#define MBK_STEP_ROWS 4
#include "solve/core/step.cuh"
#include "solve/core/check.cuh"
#include "solve/precondition/slots.cuh"
#include "solve/precondition/steps.cuh"

#define MBK_PRE_KERNEL(step)                                                                   \
  MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)                                 \
      mbk_##step(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {                               \
    MBK_SHARED_MEMORY(shared);                                                                 \
    step##_step(a.v, a.n, a.m, a.partials, (double *)shared);                                  \
  }
MBK_PRE_KERNEL(pre_measure)
MBK_PRE_KERNEL(pre_in)
MBK_PRE_KERNEL(pre_mean)
MBK_PRE_KERNEL(pre_out)
MBK_PRE_KERNEL(pre_start)
MBK_PRE_KERNEL(pre_alpha)
MBK_PRE_KERNEL(pre_next)
MBK_PRE_KERNEL(pre_first)
MBK_PRE_KERNEL(pre_iterate)
