#include "solve/core/solver.h"
#include "solve/core/cpu_steps.h"

/* BiCGSTAB: solve/bicgstab/steps.cuh. */
#define MBS_VECTOR double
#define MBS_NAME(name, part) mbi_##name##part##_f64
#include "solve/bicgstab/steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME
#define MBS_VECTOR float
#define MBS_NAME(name, part) mbi_##name##part##_f32
#include "solve/bicgstab/steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME

static const mbi_step mbi_bicgstab_steps[] = {
    MBI_STEP(solve_residual),    MBI_STEP(solve_blocks),    MBI_STEP(bicgstab_start),
    MBI_STEP(bicgstab_s), MBI_STEP(bicgstab_update_x_r), MBI_STEP(bicgstab_update_p),
};
enum {
  MBI_BICGSTAB_RESIDUAL_STEP = 0,
  MBI_BICGSTAB_BLOCKS_STEP,
  MBI_BICGSTAB_START,
  MBI_BICGSTAB_S,
  MBI_BICGSTAB_UPDATE_X_R,
  MBI_BICGSTAB_UPDATE_P
};
static void mbi_bicgstab_layout(merbit_solver *solver) {
  const int plain = solver->v.pre == MBI_PRE_NONE;
  int slot;
  for (slot = MBI_BICG_R; slot <= MBI_BICG_SHADOW; slot++) {
    solver->alias[slot] = MBI_SOLVE_OWN;
  }
  solver->alias[MBI_BICG_P_HAT] = plain ? MBI_BICG_P : MBI_SOLVE_OWN;
  solver->alias[MBI_BICG_S_HAT] = plain ? MBI_BICG_R : MBI_SOLVE_OWN;
}

static merbit_status mbi_bicgstab_start(merbit_solver *solver) {
  return mbi_solve_step(solver, MBI_BICGSTAB_START);
}

/* A M^-1 `from`, where M^-1 `from` is in `hat`, and its product with `with`. */
static merbit_status mbi_bicgstab_multiply(merbit_solver *solver, int from, int hat, int to,
                                           int with) {
  merbit_status status = MERBIT_OK;
  if (mbi_solve_separate_preconditioner(solver)) {
    status = mbi_solve_apply(solver, from, hat);
  }
  return status == MERBIT_OK ? mbi_solve_product_sums(solver, hat, to, with) : status;
}

static merbit_status mbi_bicgstab_fused(merbit_solver *solver) {
  merbit_status status = mbi_solve_product_unless_stopped(solver, MBI_BICG_P_HAT, MBI_BICG_V);
  if (status == MERBIT_OK) {
    status = mbi_solve_fused(solver, 0);
  }
  if (status == MERBIT_OK) {
    status = mbi_solve_product_unless_stopped(solver, MBI_BICG_S_HAT, MBI_AT_W);
  }
  return status == MERBIT_OK ? mbi_solve_fused(solver, 1) : status;
}

static merbit_status mbi_bicgstab_iterate(merbit_solver *solver) {
  merbit_status status;
  if (solver->gpu.fused_blocks > 0) {
    return mbi_bicgstab_fused(solver);
  }
  status =
      mbi_bicgstab_multiply(solver, MBI_BICG_P, MBI_BICG_P_HAT, MBI_BICG_V, MBI_BICG_SHADOW);
  if (status == MERBIT_OK) {
    status = mbi_solve_step(solver, MBI_BICGSTAB_S);
  }
  if (status == MERBIT_OK) {
    status = mbi_bicgstab_multiply(solver, MBI_BICG_R, MBI_BICG_S_HAT, MBI_AT_W, MBI_BICG_R);
  }
  if (status == MERBIT_OK) {
    status = mbi_solve_step(solver, MBI_BICGSTAB_UPDATE_X_R);
  }
  return status == MERBIT_OK ? mbi_solve_step(solver, MBI_BICGSTAB_UPDATE_P) : status;
}

MBI_INTERNAL const mbi_solve_method mbi_bicgstab_method = {
    "BiCGSTAB",
    "solve/bicgstab/bicgstab.cu",
    mbi_bicgstab_steps,
    (int)(sizeof mbi_bicgstab_steps / sizeof mbi_bicgstab_steps[0]),
    2,
    10,
    mbi_bicgstab_layout,
    mbi_bicgstab_start,
    mbi_bicgstab_iterate,
    {"mbk_bicgstab_fused_s", "mbk_bicgstab_fused"}};
