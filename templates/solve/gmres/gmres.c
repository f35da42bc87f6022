#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/core/solver.h"
#include "solve/core/cpu_steps.h"

/* GMRES with a preconditioner on the right: Saad, "Iterative Methods for Sparse Linear
 * Systems", 2nd ed. (2003), algorithm 9.5. The comments below give its line numbers. Lines 4 to
 * 7 are classical Gram-Schmidt, twice. A restart needs no product: solve/gmres/arnoldi.cuh. */
#define MBI_GMRES_RESTART 30       /* iterations per cycle, by default */
#define MBI_GMRES_RESTART_MOST 512 /* one thread computes the scalars of a cycle */
/* Vectors of a basis are a multiple of this many elements apart. */
#define MBI_BASIS_ALIGNED 32

#define MBS_VECTOR double
#define MBS_NAME(name, part) mbi_##name##part##_f64
#include "solve/gmres/arnoldi_steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME
#define MBS_VECTOR float
#define MBS_NAME(name, part) mbi_##name##part##_f32
#include "solve/gmres/arnoldi_steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME

/* Indices in mbi_gmres_steps. */
enum {
  MBI_GMRES_RESIDUAL_STEP = 0,
  MBI_GMRES_BLOCKS_STEP,
  MBI_GMRES_START,
  MBI_GMRES_PROJECT,
  MBI_GMRES_REPROJECT,
  MBI_GMRES_EXTEND
};
static const mbi_step mbi_gmres_steps[] = {
    MBI_STEP(solve_residual),  MBI_STEP(solve_blocks),      MBI_STEP(arnoldi_start),
    MBI_STEP(arnoldi_project), MBI_STEP(arnoldi_reproject), MBI_STEP(arnoldi_extend),
};

/* Requests memory for a basis of `columns` + 1 vectors and Arnoldi's small matrices. */
MBI_INTERNAL void mbi_arnoldi_layout(merbit_solver *solver, int columns) {
  const int separate = mbi_solve_separate_preconditioner(solver);
  const int64_t stride =
      (solver->n + MBI_BASIS_ALIGNED - 1) / MBI_BASIS_ALIGNED * MBI_BASIS_ALIGNED;
  const int64_t bytes = stride * (int64_t)mbi_type_size(solver->type);
  solver->v.basis = columns;
  solver->v.stride = stride;
  solver->bytes_at[MBI_ARNOLDI_V] = bytes * (columns + 1);
  solver->bytes_at[MBI_ARNOLDI_ZS] = bytes * columns;
  solver->bytes_at[MBI_ARNOLDI_SMALL] =
      (int64_t)sizeof(double) * (MBI_SMALL_COLUMN + columns) * (columns + 1);
  solver->alias[MBI_ARNOLDI_V] = MBI_SOLVE_OWN;
  solver->alias[MBI_ARNOLDI_U] = MBI_SOLVE_OWN;
  solver->alias[MBI_ARNOLDI_SMALL] = MBI_SOLVE_OWN;
  solver->alias[MBI_ARNOLDI_Z] = separate ? MBI_SOLVE_OWN : MBI_SOLVE_NONE;
  solver->alias[MBI_ARNOLDI_ZS] = separate ? MBI_SOLVE_OWN : MBI_SOLVE_NONE;
}

static void mbi_gmres_layout(merbit_solver *solver) {
  const int wanted = solver->desc.restart > 0 ? solver->desc.restart : MBI_GMRES_RESTART;
  mbi_arnoldi_layout(solver, solver->n < wanted && solver->n > 0 ? (int)solver->n : wanted);
}

/* Runs line 1: v_1 = r / ||r||. The convergence check has left r = b - A x in MBI_AT_W. */
static merbit_status mbi_gmres_start(merbit_solver *solver) {
  return mbi_solve_step(solver, MBI_GMRES_START);
}

/* Runs one iteration: lines 3 to 8 of the algorithm, and at the end of a cycle lines 11 and 12.
 * w lies in MBI_AT_W. Unless the preconditioner is a step of its own, u is already M^-1 v_j. */
static merbit_status mbi_gmres_iterate(merbit_solver *solver, int index, int count) {
  int z = MBI_ARNOLDI_U;
  (void)index;
  (void)count;
  if (mbi_solve_separate_preconditioner(solver)) {
    z = MBI_ARNOLDI_Z;
    MBI_TRY(mbi_solve_apply(solver, MBI_ARNOLDI_U, z)); /* z = M^-1 v_j */
  }
  MBI_TRY(mbi_solve_product(solver, z, MBI_AT_W));      /* 3: w = A z */
  MBI_TRY(mbi_solve_step(solver, MBI_GMRES_PROJECT));   /* 5: h_ij = v_i'w for all i */
  MBI_TRY(mbi_solve_step(solver, MBI_GMRES_REPROJECT)); /* 6: w -= sum of h_ij v_i; again 5 */
  return mbi_solve_step(solver, MBI_GMRES_EXTEND); /* 8: v_j+1; at the end of a cycle 11: x */
}

/* Checks the fields of a description that only GMRES reads. */
MBI_INTERNAL merbit_status mbi_gmres_check(merbit_context *context,
                                           const merbit_solver_desc *desc) {
  if (desc->restart < 0 || desc->restart > MBI_GMRES_RESTART_MOST) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.restart is %d; use 1 to %d iterations, or 0 for %d",
                    desc->restart, MBI_GMRES_RESTART_MOST, MBI_GMRES_RESTART);
  }
  return MERBIT_OK;
}

/* Returns the number of restarts in this solve; 0 for other methods. */
MBI_INTERNAL int mbi_gmres_restarts(const merbit_solver *solver, const mbi_solve_state *state) {
  return solver->desc.method == MERBIT_SOLVER_GMRES ? (int)state->scalar[MBI_GMRES_RESTARTS]
                                                    : 0;
}

/* Returns whether GMRES ended the solve for a reason of its own. */
MBI_INTERNAL int mbi_gmres_ended(const mbi_solve_state *state) {
  return state->why == MBI_WHY_SINGULAR || state->why == MBI_WHY_STALLED;
}

/* Writes a sentence that says why GMRES ended the solve. */
MBI_INTERNAL void mbi_gmres_describe_stop(const merbit_solver *solver,
                                          const mbi_solve_state *state, char *text,
                                          size_t size) {
  const int plain = solver->v.pre == MBI_PRE_NONE;
  if (state->why == MBI_WHY_SINGULAR) {
    (void)snprintf(
        text, size,
        "A%s maps the %d vectors of iteration %d's basis into their own span, and no "
        "combination of them solves the system: the matrix%s is singular%s",
        plain ? "" : " M^-1", (int)state->value, state->iterations,
        plain ? "" : " or the preconditioner",
        mbi_solve_unless_singular(solver,
                                  "; for a Laplacian use preconditioner_desc.singular"));
  } else {
    (void)snprintf(text, size,
                   "||r|| did not fall in the last %d cycles of %d iterations: raise "
                   "solver_desc.restart, or take %s preconditioner",
                   MBI_GMRES_PATIENCE, (int)state->value, plain ? "a" : "another");
  }
}

MBI_INTERNAL const mbi_solve_method mbi_gmres_method = {
    "GMRES",
    "solve/gmres/arnoldi.cu",
    mbi_gmres_steps,
    (int)(sizeof mbi_gmres_steps / sizeof mbi_gmres_steps[0]),
    0, /* sums of a product */
    0, /* restarts after a breakdown */
    mbi_gmres_layout,
    mbi_gmres_start,
    mbi_gmres_iterate,
    {NULL, NULL}};
