#include "spmv/choose/choose.h"
#include "solve/core/solver.h"
#include "solve/precondition/precondition.h"

/* The loop of every solver. Iterations run in rounds. After each round comes a convergence
 * check: the host reads the state, calls the progress callback and decides how to continue. */

/* Launch overhead of an iteration in units of the profile's launch_seconds: one for the product
 * and one for the vector kernels. */
#define MBI_SOLVE_LAUNCHES 2
/* How often the goal may be lowered before the recurrence is restarted. */
#define MBI_SOLVE_TIGHTENINGS 6

/* Returns the solver's memory as of the last convergence check. */
MBI_NOINLINE MBI_INTERNAL const mbi_solve_memory *
mbi_solve_checked(const merbit_solver *solver) {
  return mbi_solve_on_gpu(solver) ? &solver->seen : solver->memory;
}

/* Returns ||r|| / ||b||; `square` is ||r||^2. */
MBI_NOINLINE MBI_INTERNAL double mbi_solve_ratio(const mbi_solve_state *state, double square) {
  return state->bb == 0 ? 0 : sqrt(square) / sqrt(state->bb);
}

/* Appends the residuals of the last round to the history. */
static void mbi_solve_note_history(merbit_solver *solver) {
  const mbi_solve_memory *seen = mbi_solve_checked(solver);
  const int last = seen->state.iterations;
  int k = solver->history_count + 1;
  k = k > last - (MBI_SOLVE_RING - 1) ? k : last - (MBI_SOLVE_RING - 1);
  for (; k <= last && k < solver->history_size; k++) {
    solver->history[k] = mbi_solve_ratio(&seen->state, seen->ring[k % MBI_SOLVE_RING]);
  }
  solver->history_count = last;
}

/* Computes b - A x and reads the state. `x_zero` says that x is zero. */
MBI_INTERNAL merbit_status mbi_solve_read_residual(merbit_solver *solver, int x_zero) {
  MBI_TRY(mbi_solve_residual(solver, x_zero));
  if (!mbi_solve_on_gpu(solver)) {
    return MERBIT_OK;
  }
  solver->synchronizations++;
  return mbi_solve_download(solver, &solver->seen, solver->memory, sizeof solver->seen);
}

/* Subtracts the mean of a vector if the constant vector is in the null space of A. */
MBI_INTERNAL merbit_status mbi_solve_project(merbit_solver *solver, int slot) {
  merbit_preconditioner *p = solver->precondition;
  return p != NULL && p->project != NULL ? p->project(p, solver->v.at[slot], solver->gpu.stream)
                                         : MERBIT_OK;
}

/* Subtracts the mean that rounding errors may have given x, and computes the residual of what
 * is left, if the constant vector is in the null space of A. */
MBI_INTERNAL merbit_status mbi_solve_center(merbit_solver *solver) {
  if (solver->precondition == NULL || solver->precondition->project == NULL) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_solve_project(solver, MBI_AT_X));
  return mbi_solve_read_residual(solver, 0);
}

/* Checks convergence: computes b - A x and reads the state. On the GPU b - A x is enqueued with
 * every round. The CPU computes it only after the recurrence has stopped. */
static merbit_status mbi_solve_check_convergence(merbit_solver *solver) {
  if (mbi_solve_on_gpu(solver) || solver->memory->state.stop != MBI_SOLVE_RUNNING) {
    MBI_TRY(mbi_solve_read_residual(solver, 0));
  }
  if (!mbi_scale_rhs_needed(solver, &mbi_solve_checked(solver)->state)) {
    mbi_solve_note_history(solver);
  }
  return MERBIT_OK;
}

/* Returns the number of iterations of the next round, after `done` iterations in `seconds`. */
MBI_INTERNAL int mbi_solve_next_round(int done, double seconds) {
  /* A recorded graph may run nearly a pass of CG's loop more than asked, and the first round
   * also has the residual before its first iteration. */
  const int most = MBI_SOLVE_RING - MBI_CG_LOOP_ITERATIONS;
  const double span = seconds > 0 ? done * (MBI_SOLVE_ROUND_SECONDS / seconds) : most;
  return span >= most                    ? most
         : span <= MBI_SOLVE_ROUND_LEAST ? MBI_SOLVE_ROUND_LEAST
                                         : (int)span;
}

/* Estimates the seconds of an iteration on the GPU from its launches and the fewest bytes that
 * the product must read. */
static double mbi_solve_iteration(const merbit_plan *plan) {
  return MBI_SOLVE_LAUNCHES * plan->profile->launch_seconds +
         (double)plan->stream_bytes * mbi_choose_stream(plan);
}

/* Returns the number of iterations of the first round, which takes half the time of later ones.
 * It is shorter if there is a progress callback, and shortest if the recorded graph does not
 * loop. */
MBI_INTERNAL int mbi_solve_first_round(const merbit_solver *solver) {
  return !mbi_recorded_loops(solver) ? MBI_SOLVE_ROUND_FIRST
         : solver->desc.progress != NULL
             ? 2 * MBI_SOLVE_ROUND_FIRST
             : mbi_solve_next_round(1, 2 * mbi_solve_iteration(solver->plan));
}

/* Decides how to continue if the recurrence has reached its goal, but b - A x has not. If the
 * two residuals still agree, the recurrence continues to a lower goal. Otherwise rounding
 * errors have separated them, and the recurrence is restarted from b - A x as long as restarts
 * help. Returns the same values as mbi_solve_decide. */
static int mbi_solve_check_candidate(merbit_solver *solver, const mbi_solve_state *state,
                                     int *how) {
  const double wanted = solver->desc.tolerance * sqrt(state->bb), found = sqrt(state->ww);
  if (state->ww <= 4 * state->rr && solver->tightenings < MBI_SOLVE_TIGHTENINGS) {
    solver->tightenings++;
    solver->shrink *= 0.9 * wanted / found;
    *how = MBI_OPEN_TIGHTER;
    return MBI_SOLVE_ON;
  }
  if (solver->restarts > 0 && state->ww > 0.25 * solver->worst) {
    return MERBIT_STOP_STAGNATED;
  }
  *how = MBI_OPEN_BEGIN;
  return MBI_SOLVE_ON;
}

/* Returns the merbit_stop, or MBI_SOLVE_ON if the solve continues. In that case *how is the
 * MBI_OPEN of the next round; MBI_OPEN_BEGIN means a restart. */
static int mbi_solve_decide(merbit_solver *solver, int *how) {
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  const int stop = state->stop;
  const double goal = solver->desc.tolerance * solver->desc.tolerance * state->bb;
  *how = MBI_OPEN_GO_ON;
  if (stop == MBI_SOLVE_RUNNING) {
    return MBI_SOLVE_ON;
  }
  if (!(state->bb - state->bb == 0)) {
    return MERBIT_STOP_NOT_FINITE;
  }
  if (state->bb == 0 || state->ww <= goal) {
    return MERBIT_STOP_CONVERGED;
  }
  if (!(state->ww - state->ww == 0)) {
    return MERBIT_STOP_NOT_FINITE;
  }
  if (stop == MBI_SOLVE_CANDIDATE && state->iterations < state->cap) {
    return mbi_solve_check_candidate(solver, state, how);
  }
  if (stop == MBI_SOLVE_BREAKDOWN && solver->breakdowns < solver->method->restarts &&
      state->iterations > solver->restarted) {
    solver->breakdowns++;
    *how = MBI_OPEN_BEGIN;
    return MBI_SOLVE_ON;
  }
  return stop == MBI_SOLVE_CANDIDATE ? MERBIT_STOP_CAP : stop;
}

/* Prepares the next round, of `span` iterations; restarts the recurrence first if `how` says
 * so. */
MBI_INTERNAL merbit_status mbi_solve_begin_round(merbit_solver *solver, int how, int span) {
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  if (how != MBI_OPEN_BEGIN) {
    return mbi_solve_prepare_round(solver, how, span);
  }
  solver->restarts++;
  solver->restarted = state->iterations;
  solver->worst = state->ww;
  solver->tightenings = 0;
  solver->shrink = 1;
  MBI_TRY(mbi_solve_prepare_round(solver, MBI_OPEN_GO_ON, span));
  return solver->method->start(solver);
}

/* Clears the fields that belong to one solve. */
MBI_INTERNAL void mbi_solver_reset(merbit_solver *solver, double *history, int history_size) {
  solver->history = history;
  solver->history_size = history != NULL ? history_size : 0;
  solver->history_count = -1;
  solver->restarts = solver->synchronizations = solver->cancelled = 0;
  solver->breakdowns = solver->tightenings = solver->restarted = 0;
  solver->shrink = 1;
  solver->worst = 0;
  solver->started = mbi_seconds();
}

/* Begins a solve whose first round has `span` iterations. b and x must be in place; `x_zero`
 * says that x is zero. */
MBI_INTERNAL merbit_status mbi_solve_begin(merbit_solver *solver, int x_zero, int span) {
  MBI_TRY(mbi_solve_prepare_round(solver, MBI_OPEN_BEGIN, span));
  MBI_TRY(mbi_solve_residual(solver, x_zero));
  return solver->method->start(solver);
}

/* Checks convergence after a round. Sets *how, and *stop to the result of mbi_solve_decide or
 * to MBI_SOLVE_SCALE_RHS. A solve has converged only if it still has after mbi_solve_center. */
MBI_INTERNAL merbit_status mbi_solve_check(merbit_solver *solver, int *stop, int *how) {
  MBI_TRY(mbi_solve_check_convergence(solver));
  *stop = mbi_scale_rhs_needed(solver, &mbi_solve_checked(solver)->state)
              ? MBI_SOLVE_SCALE_RHS
              : mbi_solve_decide(solver, how);
  if (*stop == MERBIT_STOP_CONVERGED) {
    MBI_TRY(mbi_solve_center(solver));
    *stop = mbi_solve_decide(solver, how);
  }
  return MERBIT_OK;
}

/* Iterates until the solve ends and sets *stop to the reason, a merbit_stop or
 * MBI_SOLVE_SCALE_RHS. b and x must be in place; `x_zero` says that x is zero. */
MBI_INTERNAL merbit_status mbi_solve_loop(merbit_solver *solver, int x_zero, int *stop) {
  double before = mbi_seconds();
  int span = mbi_solve_first_round(solver), how;
  *stop = MBI_SOLVE_ON;
  MBI_TRY(mbi_solve_begin(solver, x_zero, span));
  while (*stop == MBI_SOLVE_ON) {
    const int done = solver->history_count > 0 ? solver->history_count : 0;
    const mbi_solve_state *state;
    double now;
    MBI_TRY(mbi_recorded_run(solver, span));
    MBI_TRY(mbi_solve_check(solver, stop, &how));
    if (*stop == MBI_SOLVE_SCALE_RHS) {
      break;
    }
    state = &mbi_solve_checked(solver)->state;
    now = mbi_seconds();
    span = mbi_solve_next_round(state->iterations - done, now - before);
    before = now;
    if (solver->desc.progress != NULL) {
      solver->cancelled =
          solver->desc.progress(solver->desc.progress_user, state->iterations,
                                mbi_solve_ratio(state, state->rr), now - solver->started) != 0;
    }
    if (solver->cancelled && *stop == MBI_SOLVE_ON) {
      *stop = MERBIT_STOP_CANCELLED;
    } else if (*stop == MBI_SOLVE_ON) {
      MBI_TRY(mbi_solve_begin_round(solver, how, span));
    }
  }
  return *stop == MERBIT_STOP_CANCELLED && !mbi_solve_on_gpu(solver)
             ? mbi_solve_residual(solver, 0)
             : MERBIT_OK;
}

/* ---- Descriptions of how the solve ended ------------------------------------------------- */

MERBIT_API const char *merbit_stop_name(merbit_stop stop) {
  static const char *const names[] = {"MERBIT_STOP_CONVERGED", "MERBIT_STOP_CAP",
                                      "MERBIT_STOP_CANCELLED", "MERBIT_STOP_NOT_FINITE",
                                      "MERBIT_STOP_STAGNATED", "MERBIT_STOP_BREAKDOWN"};
  return (int)stop >= 0 && (size_t)stop < sizeof names / sizeof names[0]
             ? names[stop]
             : "MERBIT_UNKNOWN_STOP";
}

/* Advice where a recurrence has broken down. */
#define MBI_OR_SINGULAR ", or for a Laplacian preconditioner_desc.singular"

/* Writes which number made the recurrence break down. */
static void mbi_solve_describe_breakdown(const merbit_solver *solver,
                                         const mbi_solve_state *state, char *text,
                                         size_t size) {
  const char *or_singular = mbi_solve_unless_singular(solver, MBI_OR_SINGULAR);
  const int at = state->iterations + 1;
  switch (state->why) {
  case MBI_WHY_CURVATURE:
    (void)snprintf(text, size,
                   "p'Ap = %.3g in iteration %d, which is not positive: the matrix is not "
                   "symmetric positive definite; use MERBIT_SOLVER_BICGSTAB or "
                   "MERBIT_SOLVER_GMRES%s",
                   state->value, at, or_singular);
    break;
  case MBI_WHY_PRECONDITIONER:
    (void)snprintf(
        text, size,
        "r'z = %.3g with the preconditioned residual z in iteration %d, which is not "
        "positive: the preconditioner or the matrix is not symmetric positive definite; "
        "use MERBIT_SOLVER_BICGSTAB or MERBIT_SOLVER_GMRES",
        state->value, at);
    break;
  case MBI_WHY_SHADOW:
    (void)snprintf(
        text, size,
        "the shadow residual became orthogonal (its product is %.3g) in iteration %d: use "
        "MERBIT_SOLVER_GMRES%s",
        state->value, at, or_singular);
    break;
  default:
    (void)snprintf(text, size,
                   "omega became %.3g in iteration %d: A s is orthogonal to s; use "
                   "MERBIT_SOLVER_GMRES%s",
                   state->value, at, or_singular);
    break;
  }
}

/* Writes a sentence that says why the solve ended. */
MBI_INTERNAL void mbi_solve_describe_stop(const merbit_solver *solver,
                                          const merbit_solver_result *result, char *text,
                                          size_t size) {
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  const int applied = solver->desc.preconditioner == MERBIT_PRECONDITIONER_CALLBACK;
  char broken[240] = "";
  if (mbi_gmres_ended(state) &&
      (result->stop == MERBIT_STOP_STAGNATED || result->stop == MERBIT_STOP_BREAKDOWN)) {
    mbi_gmres_describe_stop(solver, state, text, size);
    return;
  }
  switch (result->stop) {
  case MERBIT_STOP_CONVERGED:
    if (state->b_most == 0) {
      (void)snprintf(text, size, "b%s is zero, and so is x",
                     solver->precondition != NULL && solver->precondition->desc.singular
                         ? " without its mean"
                         : "");
      return;
    }
    (void)snprintf(text, size, "||b - A x|| / ||b|| = %.3g is at most the tolerance %.3g",
                   result->residual, solver->desc.tolerance);
    return;
  case MERBIT_STOP_CAP:
    (void)snprintf(
        text, size,
        "max_iterations = %d came before the tolerance %.3g: ||b - A x|| / ||b|| = %.3g%s",
        solver->desc.max_iterations, solver->desc.tolerance, result->residual,
        result->residual < 1 ? ""
        : solver->desc.method == MERBIT_SOLVER_CG
            ? ", no better than x = 0; CG needs a symmetric positive definite matrix: for any "
              "other "
              "use MERBIT_SOLVER_BICGSTAB or MERBIT_SOLVER_GMRES"
            : ", no better than x = 0; use another method or preconditioner");
    return;
  case MERBIT_STOP_CANCELLED:
    (void)snprintf(text, size, "the progress callback asked to stop after iteration %d",
                   result->iterations);
    return;
  case MERBIT_STOP_STAGNATED:
    (void)snprintf(text, size,
                   "||b - A x|| / ||b|| stays at %.3g through %d restart%s: rounding errors in "
                   "%s allow no more, or the matrix is singular%s; the backward error is %.2g",
                   result->residual, result->restarts, result->restarts == 1 ? "" : "s",
                   solver->type == MERBIT_F32 ? "f32" : "f64",
                   mbi_solve_unless_singular(
                       solver, " (for a Laplacian use preconditioner_desc.singular)"),
                   result->backward_error);
    return;
  case MERBIT_STOP_BREAKDOWN:
    state = &mbi_solve_checked(solver->inner != NULL ? solver->inner : solver)->state;
    mbi_solve_describe_breakdown(solver, state, broken, sizeof broken);
    (void)snprintf(text, size, "%s%s", broken,
                   result->restarts > 0 ? "; restarts did not help" : "");
    return;
  default:
    if (solver->x_lost > 0) {
      (void)snprintf(text, size,
                     "x has entries near 2^%d, which %s does not hold: scale A or b",
                     ilogb(solver->x_lost) + mbi_scale_of_x(solver),
                     solver->type == MERBIT_F32 ? "f32" : "f64");
      return;
    }
    (void)snprintf(text, size,
                   "a number overflowed or was not finite by iteration %d: look at A, b%s the "
                   "first x%s%s%s",
                   result->iterations, applied ? "," : " and",
                   applied ? " and what solver_desc.apply computes" : "",
                   result->iterations > 1 ? "; if these are finite, the method diverges, as "
                                            "where the matrix is singular: use another method "
                                            "or preconditioner"
                                          : "",
                   result->iterations > 1 ? mbi_solve_unless_singular(solver, MBI_OR_SINGULAR)
                                          : "");
    return;
  }
}
