#include "solve/core/solver.h"
#include "solve/core/cpu_steps.h"

/* BiCGSTAB with a preconditioner on the right: Saad, "Iterative Methods for Sparse Linear
 * Systems", 2nd ed. (2003), algorithm 7.7. The comments below give its line numbers. p^ is M^-1
 * p and s^ is M^-1 s; s shares the memory of r: solve/bicgstab/steps.cuh. */
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

/* Indices in mbi_bicgstab_steps. */
enum {
  MBI_BICGSTAB_RESIDUAL_STEP = 0,
  MBI_BICGSTAB_BLOCKS_STEP,
  MBI_BICGSTAB_START,
  MBI_BICGSTAB_S,
  MBI_BICGSTAB_UPDATE_X_R,
  MBI_BICGSTAB_UPDATE_P
};
static const mbi_step mbi_bicgstab_steps[] = {
    MBI_STEP(solve_residual), MBI_STEP(solve_blocks),        MBI_STEP(bicgstab_start),
    MBI_STEP(bicgstab_s),     MBI_STEP(bicgstab_update_x_r), MBI_STEP(bicgstab_update_p),
};

/* Requests memory for r, p, v and the shadow residual. Without a preconditioner p^ and s^ share
 * the memory of p and s. */
static void mbi_bicgstab_layout(merbit_solver *solver) {
  const int plain = solver->v.pre == MBI_PRE_NONE;
  int slot;
  for (slot = MBI_BICG_R; slot <= MBI_BICG_SHADOW; slot++) {
    solver->alias[slot] = MBI_SOLVE_OWN;
  }
  solver->alias[MBI_BICG_P_HAT] = plain ? MBI_BICG_P : MBI_SOLVE_OWN;
  solver->alias[MBI_BICG_S_HAT] = plain ? MBI_BICG_R : MBI_SOLVE_OWN;
}

/* Runs lines 1 and 2: r = shadow = p = b - A x, which the convergence check has left in
 * MBI_AT_W. */
static merbit_status mbi_bicgstab_start(merbit_solver *solver) {
  return mbi_solve_step(solver, MBI_BICGSTAB_START);
}

/* Runs lines 4 to 10 in two products, each followed by a fused vector kernel. */
static merbit_status mbi_bicgstab_iterate_fused(merbit_solver *solver) {
  MBI_TRY(mbi_solve_product_unless_stopped(solver, MBI_BICG_P_HAT, MBI_BICG_V)); /* v = A p^ */
  MBI_TRY(mbi_solve_fused(solver, 0)); /* 4, 5: alpha, s */
  MBI_TRY(mbi_solve_product_unless_stopped(solver, MBI_BICG_S_HAT, MBI_AT_W)); /* t = A s^ */
  return mbi_solve_fused(solver, 1); /* 6 to 10: omega, x, r, beta, p */
}

/* Runs one iteration: lines 4 to 10 of the algorithm. t = A s^ lies in MBI_AT_W. */
static merbit_status mbi_bicgstab_iterate(merbit_solver *solver, int index, int count) {
  const int separate = mbi_solve_separate_preconditioner(solver);
  (void)index;
  (void)count;
  if (solver->gpu.fused_blocks > 0) {
    return mbi_bicgstab_iterate_fused(solver);
  }
  if (separate) {
    MBI_TRY(mbi_solve_apply(solver, MBI_BICG_P, MBI_BICG_P_HAT)); /* p^ = M^-1 p */
  }
  /* v = A p^ and shadow'v */
  MBI_TRY(mbi_solve_product_sums(solver, MBI_BICG_P_HAT, MBI_BICG_V, MBI_BICG_SHADOW));
  /* 4, 5: alpha = rho / shadow'v, s = r - alpha v */
  MBI_TRY(mbi_solve_step(solver, MBI_BICGSTAB_S));
  if (separate) {
    MBI_TRY(mbi_solve_apply(solver, MBI_BICG_R, MBI_BICG_S_HAT)); /* s^ = M^-1 s */
  }
  /* t = A s^, t's and t't */
  MBI_TRY(mbi_solve_product_sums(solver, MBI_BICG_S_HAT, MBI_AT_W, MBI_BICG_R));
  /* 6 to 9: omega = t's / t't, x += alpha p^ + omega s^, r = s - omega t, rho, beta */
  MBI_TRY(mbi_solve_step(solver, MBI_BICGSTAB_UPDATE_X_R));
  /* 10: p = r + beta (p - omega v) */
  return mbi_solve_step(solver, MBI_BICGSTAB_UPDATE_P);
}

MBI_INTERNAL const mbi_solve_method mbi_bicgstab_method = {
    "BiCGSTAB",
    "solve/bicgstab/bicgstab.cu",
    mbi_bicgstab_steps,
    (int)(sizeof mbi_bicgstab_steps / sizeof mbi_bicgstab_steps[0]),
    2,  /* sums of a product: shadow'v, or t's and t't */
    10, /* restarts */
    mbi_bicgstab_layout,
    mbi_bicgstab_start,
    mbi_bicgstab_iterate,
    {"mbk_bicgstab_fused_s", "mbk_bicgstab_fused"}};
