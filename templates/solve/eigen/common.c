#include "solve/core/solver.h"
#include "solve/core/cpu_steps.h"
#include "solve/eigen/eigen.h"

/* Functions that Lanczos and the power method share. */
#define MBS_VECTOR double
#define MBS_NAME(name, part) mbi_##name##part##_f64
#include "solve/eigen/steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME
#define MBS_VECTOR float
#define MBS_NAME(name, part) mbi_##name##part##_f32
#include "solve/eigen/steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME

MBI_INTERNAL const mbi_step mbi_eigen_steps[MBI_EIGEN_STEPS] = {
    MBI_STEP(arnoldi_project), MBI_STEP(arnoldi_reproject), MBI_STEP(arnoldi_extend),
    MBI_STEP(eigen_rotate),    MBI_STEP(eigen_check),       MBI_STEP(power_measure),
    MBI_STEP(power_normalise),
};

/* Returns the next random number in [-1, 1). The sequence depends on the seed alone: Steele,
 * Lea, Flood, "Fast splittable pseudorandom number generators" (2014). */
static double mbi_eigen_random(mbi_eigen *e) {
  uint64_t z = e->random += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (double)(z >> 11) / 4503599627370496.0 - 1;
}

/* Fills the vector at `slot` with random numbers and normalises it. */
MBI_INTERNAL merbit_status mbi_eigen_random_vector(mbi_eigen *e, int slot) {
  merbit_solver *solver = e->solver;
  const int64_t n = solver->n;
  void *host = NULL;
  double *numbers, square = 0;
  int64_t i;
  merbit_status status;
  MBI_TRY(mbi_allocate_array(solver->context, n, sizeof(double), "a random vector", &host));
  numbers = (double *)host;
  for (i = 0; i < n; i++) {
    numbers[i] = mbi_eigen_random(e);
    square += numbers[i] * numbers[i];
  }
  for (i = 0; i < n; i++) {
    const double number = numbers[i] / sqrt(square);
    if (solver->type == MERBIT_F32) {
      ((float *)host)[i] = (float)number; /* the doubles still to be read lie behind it */
    } else {
      numbers[i] = number;
    }
  }
  status = mbi_solve_upload(solver, solver->v.at[slot], host, mbi_solve_bytes(solver));
  mbi_release(solver->context, host);
  return status;
}

/* Reads the solver's state into e->state, for a convergence check. */
MBI_INTERNAL merbit_status mbi_eigen_read_state(mbi_eigen *e) {
  e->solver->synchronizations += mbi_solve_on_gpu(e->solver);
  return mbi_solve_download(e->solver, &e->state, &e->solver->memory->state, sizeof e->state);
}

/* Writes e->state, which the host has changed, back to the solver and clears its stop. */
MBI_INTERNAL merbit_status mbi_eigen_write_state(mbi_eigen *e) {
  e->state.stop = MBI_SOLVE_RUNNING;
  e->state.closed = 0;
  return mbi_solve_upload(e->solver, &e->solver->memory->state, &e->state, sizeof e->state);
}

/* Calls the progress callback after a convergence check; a nonzero answer stops the
 * iteration. */
MBI_INTERNAL void mbi_eigen_progress(mbi_eigen *e, double estimate) {
  if (e->desc.progress != NULL &&
      e->desc.progress(e->desc.progress_user, e->state.iterations, estimate,
                       mbi_seconds() - e->solver->started) != 0 &&
      e->stop == MBI_SOLVE_ON) {
    e->stop = MERBIT_STOP_CANCELLED;
  }
}

/* Returns whether the estimate has not fallen by a tenth for `patience` iterations or restarts,
 * of which `now` is the current one. */
MBI_INTERNAL int mbi_eigen_stagnates(mbi_eigen *e, double estimate, int now, int patience) {
  if (!(estimate > 0.9 * e->best)) {
    e->best = estimate;
    e->since = now;
  }
  return now - e->since >= patience;
}
