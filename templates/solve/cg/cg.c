#include "jit/jit.h"
#include "spmv/gpu/scan/scan.h"
#include "solve/core/solver.h"
#include "solve/core/cpu_steps.h"

/* The preconditioned conjugate gradient method: Saad, "Iterative Methods for Sparse Linear
 * Systems", 2nd ed. (2003), algorithm 9.1. The comments below give its line numbers. Lines that
 * can update a vector in the same pass are fused: solve/cg/steps.cuh. */
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

/* Indices in mbi_cg_steps. */
enum {
  MBI_CG_RESIDUAL_STEP = 0,
  MBI_CG_BLOCKS_STEP,
  MBI_CG_START,
  MBI_CG_START_P,
  MBI_CG_UPDATE_R,
  MBI_CG_RZ_STEP,
  MBI_CG_UPDATE_X_P
};
static const mbi_step mbi_cg_steps[] = {
    MBI_STEP(solve_residual), MBI_STEP(solve_blocks), MBI_STEP(cg_start),
    MBI_STEP(cg_start_p),     MBI_STEP(cg_update_r),  MBI_STEP(cg_rz),
    MBI_STEP(cg_update_x_p),
};

/* Requests memory for r and p, for z if the preconditioner is a step of its own, and for the p
 * of earlier iterations, which the fused kernel adds to x several at a time. */
static void mbi_cg_layout(merbit_solver *solver) {
  solver->alias[MBI_CG_R] = MBI_SOLVE_OWN;
  solver->alias[MBI_CG_P] = MBI_SOLVE_OWN;
  solver->alias[MBI_CG_Z] =
      mbi_solve_separate_preconditioner(solver) ? MBI_SOLVE_OWN : MBI_SOLVE_NONE;
  if (solver->gpu.fused_blocks > 0) {
    int k;
    for (k = 0; k < MBI_CG_RING - 1; k++) {
      solver->alias[MBI_CG_OLD_P + k] = MBI_SOLVE_OWN;
    }
    solver->alias[MBI_CG_ROUND_P] = MBI_CG_P;
  }
}

/* Runs line 1. The convergence check has left b - A x in MBI_AT_W. */
static merbit_status mbi_cg_start(merbit_solver *solver) {
  if (mbi_solve_separate_preconditioner(solver)) {
    MBI_TRY(mbi_solve_step(solver, MBI_CG_START));        /* r = b - A x */
    MBI_TRY(mbi_solve_apply(solver, MBI_CG_R, MBI_CG_Z)); /* z = M^-1 r */
    return mbi_solve_step(solver, MBI_CG_START_P);        /* p = z, r'z */
  }
  return mbi_solve_step(solver, MBI_CG_START); /* r, z, p and r'z in one pass */
}

/* Rotates the slots of p by `held` places, so that MBI_CG_P is the newest p. Each iteration
 * writes the new p in place of the oldest. */
static void mbi_cg_rotate_p(merbit_solver *solver, int held) {
  int i, k;
  for (i = 0; i < held; i++) {
    void *oldest = solver->v.at[MBI_CG_OLDEST_P];
    for (k = MBI_CG_OLDEST_P; k > MBI_CG_OLD_P; k--) {
      solver->v.at[k] = solver->v.at[k - 1];
    }
    solver->v.at[MBI_CG_OLD_P] = solver->v.at[MBI_CG_P];
    solver->v.at[MBI_CG_P] = oldest;
  }
}

/* Runs lines 3 to 8 in one product and one fused vector kernel. x is up to date only after
 * every MBI_CG_RING iterations, and after the last of the `count` iterations. */
static merbit_status mbi_cg_iterate_fused(merbit_solver *solver, int index, int count) {
  const mbi_solve_vectors whole = solver->v;
  const int held = index % MBI_CG_RING;
  merbit_status status;
  mbi_cg_rotate_p(solver, held);
  solver->v.from = held;
  solver->v.to = held + 1 < MBI_CG_RING && index + 1 < count;
  solver->v.dots = (const double *)mbi_device_pointer(mbi_scan_dots(solver->plan));
  solver->v.dot_count = (long long)mbi_scan_dot_parts(solver->plan);
  status = mbi_solve_product_unless_stopped(solver, MBI_CG_P, MBI_AT_W); /* q = A p */
  if (status == MERBIT_OK) {
    status = mbi_solve_fused(solver, 0);
  }
  solver->v = whole;
  return status;
}

/* Runs one iteration: lines 3 to 8 of the algorithm. q = A p lies in MBI_AT_W. */
static merbit_status mbi_cg_iterate(merbit_solver *solver, int index, int count) {
  if (solver->gpu.fused_blocks > 0) {
    return mbi_cg_iterate_fused(solver, index, count);
  }
  MBI_TRY(mbi_solve_product_sums(solver, MBI_CG_P, MBI_AT_W, MBI_CG_P)); /* q = A p, p'q */
  MBI_TRY(mbi_solve_step(solver, MBI_CG_UPDATE_R)); /* 3, 5: alpha = r'z / p'q, r -= alpha q */
  if (mbi_solve_separate_preconditioner(solver)) {
    MBI_TRY(mbi_solve_apply(solver, MBI_CG_R, MBI_CG_Z)); /* 6: z = M^-1 r */
    MBI_TRY(mbi_solve_step(solver, MBI_CG_RZ_STEP));      /* r'z */
  } /* otherwise UPDATE_R has computed r'z, and UPDATE_X_P computes z */
  /* 7, 8, 4: beta = r'z / old r'z, x += alpha p, p = z + beta p */
  return mbi_solve_step(solver, MBI_CG_UPDATE_X_P);
}

MBI_INTERNAL const mbi_solve_method mbi_cg_method = {
    "CG",
    "solve/cg/cg.cu",
    mbi_cg_steps,
    (int)(sizeof mbi_cg_steps / sizeof mbi_cg_steps[0]),
    1, /* sums of a product: p'q */
    0, /* restarts */
    mbi_cg_layout,
    mbi_cg_start,
    mbi_cg_iterate,
    {"mbk_cg_fused", NULL}};

/* ---- Several right-hand sides ------------------------------------------------------------ */

#define MBI_CG_MANY_STEP(name)                                                                 \
  {                                                                                            \
    "mbk_cg_many_" #name, {                                                                    \
      &mbi_cg_##name##_code_f64, &mbi_cg_##name##_code_f32                                     \
    }                                                                                          \
  }
enum { MBI_CG_MANY_PQ, MBI_CG_MANY_UPDATE_R, MBI_CG_MANY_RZ, MBI_CG_MANY_UPDATE_X_P };
static const mbi_step mbi_cg_many_steps[] = {MBI_CG_MANY_STEP(pq), MBI_CG_MANY_STEP(update_r),
                                             MBI_CG_MANY_STEP(rz),
                                             MBI_CG_MANY_STEP(update_x_p)};

/* Requests memory for r, p and z. D^-1 belongs to the solver for one right-hand side. */
static void mbi_cg_many_layout(merbit_solver *many) {
  mbi_cg_layout(many);
  many->alias[MBI_AT_INVERSE] = MBI_SOLVE_NONE;
}

/* Runs lines 3 to 8 for all right-hand sides with one product. Those that have stopped keep
 * their x, r and p. */
static merbit_status mbi_cg_many_iterate(merbit_solver *many, int index, int count) {
  int c;
  (void)index;
  (void)count;
  MBI_TRY(merbit_spmm(many->plan, NULL, NULL, many->v.at[MBI_CG_P], many->v.stride, NULL,
                      many->v.at[MBI_AT_W], many->v.stride, many->gpu.stream)); /* Q = A P */
  MBI_TRY(mbi_solve_step(many, MBI_CG_MANY_PQ));
  MBI_TRY(mbi_solve_step(many, MBI_CG_MANY_UPDATE_R));
  if (mbi_solve_separate_preconditioner(many)) {
    for (c = 0; c < many->count; c++) {
      merbit_solver *column = &many->columns[c];
      column->gpu.stream = many->gpu.stream; /* it may be that of a recording */
      if (mbi_solve_on_gpu(many) || !column->memory->state.closed) {
        MBI_TRY(mbi_solve_apply(column, MBI_CG_R, MBI_CG_Z));
      }
    }
    MBI_TRY(mbi_solve_step(many, MBI_CG_MANY_RZ));
  }
  return mbi_solve_step(many, MBI_CG_MANY_UPDATE_X_P);
}

/* The method of solver->many, which only iterates: each right-hand side is started and checked
 * by the steps of mbi_cg_method. So its table lacks the two steps of all other methods. */
MBI_INTERNAL const mbi_solve_method mbi_cg_many_method = {
    "CG of several right-hand sides",
    "solve/cg/many.cu",
    mbi_cg_many_steps,
    (int)(sizeof mbi_cg_many_steps / sizeof mbi_cg_many_steps[0]),
    0,
    0,
    mbi_cg_many_layout,
    NULL,
    mbi_cg_many_iterate,
    {NULL, NULL}};
