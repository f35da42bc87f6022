#include "solve/core/solver.h"
#include "solve/eigen/eigen.h"

/* The power method: finds the eigenvalue of largest magnitude if it is larger than all others.
 * Saad, "Numerical Methods for Large Eigenvalue Problems", algorithm 4.1. */

/* The number of iterations within which the residual must fall by a tenth. */
#define MBI_POWER_PATIENCE 1000

MBI_INTERNAL void mbi_power_layout(merbit_solver *solver) {
  solver->v.basis = 1;
  solver->v.stride = 0;
  solver->bytes_at[MBI_AT_X] = solver->bytes_at[MBI_AT_B] = (int64_t)sizeof(double);
  solver->bytes_at[MBI_EIGEN_S] = (int64_t)sizeof(double);
  solver->alias[MBI_ARNOLDI_V] = MBI_SOLVE_OWN;
  solver->alias[MBI_ARNOLDI_U] = MBI_ARNOLDI_V;
  solver->alias[MBI_EIGEN_S] = MBI_SOLVE_OWN;
}

/* Runs one iteration: w = A u, lambda = u'w, u = w / ||w||. */
MBI_INTERNAL merbit_status mbi_power_iterate(merbit_solver *solver, int index, int count) {
  (void)index;
  (void)count;
  MBI_TRY(mbi_solve_product(solver, MBI_ARNOLDI_U, MBI_AT_W));
  MBI_TRY(mbi_solve_step(solver, MBI_POWER_MEASURE));
  return mbi_solve_step(solver, MBI_POWER_NORMALISE);
}

/* Sets e->stop after a convergence check. */
static void mbi_power_decide(mbi_eigen *e) {
  const mbi_solve_state *s = &e->state;
  const double value = fabs(s->scalar[MBI_POWER_VALUE]);
  const double residual = value > 0 ? sqrt(s->rr) / value : sqrt(s->rr);
  if (s->stop == MBI_SOLVE_CANDIDATE || (s->stop == MBI_SOLVE_BREAKDOWN && s->value == 0)) {
    e->stop = MERBIT_STOP_CONVERGED;
  } else if (s->stop != MBI_SOLVE_RUNNING) {
    e->stop = s->stop == MBI_SOLVE_CAP ? MERBIT_STOP_CAP : MERBIT_STOP_NOT_FINITE;
  } else if (mbi_eigen_stagnates(e, residual, s->iterations, MBI_POWER_PATIENCE)) {
    e->stop = MERBIT_STOP_STAGNATED;
  }
  mbi_eigen_progress(e, residual);
}

/* Iterates until e->stop is set. The eigenvector is the only vector of the basis. */
MBI_INTERNAL merbit_status mbi_power_run(mbi_eigen *e) {
  double before = mbi_seconds();
  int span = MBI_SOLVE_ROUND_FIRST;
  MBI_TRY(mbi_eigen_random_vector(e, MBI_ARNOLDI_U));
  while (e->stop == MBI_SOLVE_ON) {
    const int done = e->state.iterations;
    double now;
    MBI_TRY(mbi_solve_prepare_round(e->solver, MBI_OPEN_GO_ON, span));
    MBI_TRY(mbi_recorded_run(e->solver, span));
    MBI_TRY(mbi_eigen_read_state(e));
    now = mbi_seconds();
    span = mbi_solve_next_round(e->state.iterations - done, now - before);
    before = now;
    mbi_power_decide(e);
  }
  e->found = e->stop != MERBIT_STOP_NOT_FINITE;
  e->scale = fabs(e->state.scalar[MBI_POWER_VALUE]);
  return MERBIT_OK;
}
