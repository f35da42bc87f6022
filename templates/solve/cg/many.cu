// Kernels of the conjugate gradient method for several right-hand sides: the steps of
// solve/cg/steps.cuh. Each right-hand side has its own thread blocks, scalars and vectors.
// Launch: as a step, with MBK_STEP_COLUMNS times the grid.
#ifndef MBK_STEP_COLUMNS
#error "define MBK_STEP_COLUMNS: the number of right-hand sides"
#endif
#define MBK_STEP_ROWS 4
#include "solve/core/step.cuh"
#include "solve/cg/slots.cuh"
#include "solve/cg/steps.cuh"

// Returns the arguments for this block's right-hand side. All share D^-1.
MBK_DEVICE mbk_solve_step_arguments mbk_cg_many_own(const mbk_solve_step_arguments &a) {
  const mbk_u32 column = mbk_block() / mbk_step_grid();
  mbk_solve_step_arguments own = a;
#pragma unroll
  for (int slot = 0; slot <= MBI_CG_Z; slot++) {
    if (slot != MBI_AT_INVERSE && a.v.at[slot] != (void *)0) {
      own.v.at[slot] = (MBK_VECTOR *)a.v.at[slot] + column * a.v.stride;
    }
  }
  own.m = a.m + column;
  own.partials = a.partials + (mbk_u64)column * mbk_step_grid() * MBI_SOLVE_SUMS;
  return own;
}

#define MBK_CG_MANY_STEP(step)                                                                 \
  MBK_SHARED_MEMORY(shared);                                                                   \
  const mbk_solve_step_arguments own = mbk_cg_many_own(a);                                     \
  step(own.v, own.n, own.m, own.partials, (double *)shared)

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_many_pq(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_CG_MANY_STEP(cg_pq_step);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_many_update_r(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_CG_MANY_STEP(cg_update_r_step);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_many_rz(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_CG_MANY_STEP(cg_rz_step);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_many_update_x_p(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_CG_MANY_STEP(cg_update_x_p_step);
}
