#include "jit/jit.h"
#include "spmv/gpu/scan/scan.h"
#include "solve/core/solver.h"
#include "solve/core/cpu_steps.h"

/* The conjugate gradient method: solve/cg/steps.cuh. */
#define MBS_VECTOR double
#define MBS_NAME(name, part) mbi_##name##part##_f64
#include "solve/cg/steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME
#define MBS_VECTOR float
#define MBS_NAME(name, part) mbi_##name##part##_f32
#include "solve/cg/steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME

static const mbi_step mbi_cg_steps[] = {
    MBI_STEP(solve_residual), MBI_STEP(solve_blocks), MBI_STEP(cg_start),   MBI_STEP(cg_start_p),
    MBI_STEP(cg_update_r), MBI_STEP(cg_rz),   MBI_STEP(cg_update_x_p),
};
enum {
  MBI_CG_RESIDUAL_STEP = 0,
  MBI_CG_BLOCKS_STEP,
  MBI_CG_START,
  MBI_CG_START_P,
  MBI_CG_UPDATE_R,
  MBI_CG_RZ_STEP,
  MBI_CG_UPDATE_X_P
};
static void mbi_cg_layout(merbit_solver *solver) {
  solver->alias[MBI_CG_R] = MBI_SOLVE_OWN;
  solver->alias[MBI_CG_P] = MBI_SOLVE_OWN;
  solver->alias[MBI_CG_Z] = mbi_solve_separate_preconditioner(solver) ? MBI_SOLVE_OWN : MBI_SOLVE_NONE;
  if (solver->gpu.fused_blocks > 0) {
    int k;
    for (k = 0; k < MBI_CG_RING - 1; k++) {
      solver->alias[MBI_CG_OLD_P + k] = MBI_SOLVE_OWN;
    }
    solver->alias[MBI_CG_ROUND_P] = MBI_CG_P;
  }
}

static merbit_status mbi_cg_start(merbit_solver *solver) {
  merbit_status status = mbi_solve_step(solver, MBI_CG_START);
  if (status == MERBIT_OK && mbi_solve_separate_preconditioner(solver)) {
    status = mbi_solve_apply(solver, MBI_CG_R, MBI_CG_Z);
    if (status == MERBIT_OK) {
      status = mbi_solve_step(solver, MBI_CG_START_P);
    }
  }
  return status;
}

/* Iteration `gpu.place` of those that are recorded together: p goes round its places, and x is
 * complete behind the last place of a round, and behind the last iteration. */
static merbit_status mbi_cg_fused(merbit_solver *solver) {
  const mbi_solve_vectors whole = solver->v;
  const int held = solver->gpu.place % MBI_CG_RING;
  merbit_status status;
  int i, k;
  for (i = 0; i < held; i++) { /* p goes where the oldest was */
    void *oldest = solver->v.at[MBI_CG_OLDEST_P];
    for (k = MBI_CG_OLDEST_P; k > MBI_CG_OLD_P; k--) {
      solver->v.at[k] = solver->v.at[k - 1];
    }
    solver->v.at[MBI_CG_OLD_P] = solver->v.at[MBI_CG_P];
    solver->v.at[MBI_CG_P] = oldest;
  }
  solver->v.from = held;
  solver->v.to = held + 1 < MBI_CG_RING && solver->gpu.followed;
  solver->v.dots = (const double *)mbi_device_pointer(mbi_scan_dots(solver->plan));
  solver->v.dot_count = (long long)mbi_scan_dot_parts(solver->plan);
  status = mbi_solve_product_unless_stopped(solver, MBI_CG_P, MBI_AT_W);
  if (status == MERBIT_OK) {
    status = mbi_solve_fused(solver, 0);
  }
  solver->v = whole;
  return status;
}

static merbit_status mbi_cg_iterate(merbit_solver *solver) {
  merbit_status status;
  if (solver->gpu.fused_blocks > 0) {
    return mbi_cg_fused(solver);
  }
  status = mbi_solve_product_sums(solver, MBI_CG_P, MBI_AT_W, MBI_CG_P);
  if (status == MERBIT_OK) {
    status = mbi_solve_step(solver, MBI_CG_UPDATE_R);
  }
  if (status == MERBIT_OK && mbi_solve_separate_preconditioner(solver)) {
    status = mbi_solve_apply(solver, MBI_CG_R, MBI_CG_Z);
    if (status == MERBIT_OK) {
      status = mbi_solve_step(solver, MBI_CG_RZ_STEP);
    }
  }
  return status == MERBIT_OK ? mbi_solve_step(solver, MBI_CG_UPDATE_X_P) : status;
}

MBI_INTERNAL const mbi_solve_method mbi_cg_method = {
    "CG",
    "solve/cg/cg.cu",
    mbi_cg_steps,
    (int)(sizeof mbi_cg_steps / sizeof mbi_cg_steps[0]),
    1,
    0,
    mbi_cg_layout,
    mbi_cg_start,
    mbi_cg_iterate,
    {"mbk_cg_fused", NULL}};
