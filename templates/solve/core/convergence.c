#include "spmv/choose/choose.h"
#include "solve/core/solver.h"

/* The loop of every solver: batches of iterations, and between them a look, at which the host
 * learns how far it is, tells the caller, and decides how to go on. */
#define MBI_SOLVE_LATENCY 1e-5 /* seconds that an iteration takes beside its products */
#define MBI_SOLVE_TIGHTENINGS 6

MBI_INTERNAL const mbi_solve_memory *mbi_solve_checked(const merbit_solver *solver) {
  return mbi_solve_on_gpu(solver) ? &solver->seen : solver->memory;
}

/* ||r|| / ||b||, from squares. */
MBI_INTERNAL double mbi_solve_ratio(const mbi_solve_state *state, double square) {
  return state->bb > 0 ? sqrt(square) / sqrt(state->bb) : 0;
}

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

/* On the GPU b - A x was enqueued behind the batch; on the CPU it is only wanted at an end. */
static merbit_status mbi_solve_check_convergence(merbit_solver *solver) {
  merbit_status status;
  if (mbi_solve_on_gpu(solver)) {
    status = mbi_solve_residual(solver, 0);
    solver->synchronizations++;
    if (status == MERBIT_OK) {
      status = mbi_solve_download(solver, &solver->seen, solver->memory, sizeof solver->seen);
    }
  } else {
    status = solver->memory->state.stop != MBI_SOLVE_RUNNING ? mbi_solve_residual(solver, 0)
                                                             : MERBIT_OK;
  }
  if (status == MERBIT_OK && !mbi_scale_rhs_needed(solver, &mbi_solve_checked(solver)->state)) {
    mbi_solve_note_history(solver);
  }
  return status;
}

/* Iterations for the next batch, after `done` in `seconds`. */
MBI_INTERNAL int mbi_solve_next_round(int done, double seconds) {
  const int most = MBI_SOLVE_RING - MBI_RECORDED_PLAIN; /* recorded ones overshoot */
  const double span = seconds > 0 ? done * (MBI_SOLVE_ROUND_SECONDS / seconds) : most;
  return span >= most ? most : span <= MBI_SOLVE_ROUND_LEAST ? MBI_SOLVE_ROUND_LEAST : (int)span;
}

/* For the first, of which nothing is known but what its products read at least: half the time
 * of others. Few where somebody watches, or the host launches graph after graph. */
static int mbi_solve_first_round(const merbit_solver *solver) {
  const double least =
      MBI_SOLVE_LATENCY + (double)solver->plan->stream_bytes * MBI_CHOOSE_STREAM;
  return !mbi_recorded_loops(solver)        ? MBI_SOLVE_ROUND_FIRST
         : solver->desc.progress != NULL ? 2 * MBI_SOLVE_ROUND_FIRST
                                         : mbi_solve_next_round(1, 2 * least);
}

/* The recurrence has come to its goal, but b - A x is not there. While the two residuals agree,
 * a lower goal for the recurrence will do; else rounding errors are what is left of it, and it
 * begins again from b - A x: for as long as that helps. */
static int mbi_solve_check_candidate(merbit_solver *solver, const mbi_solve_state *state, int *how) {
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

/* A merbit_stop, or MBI_SOLVE_ON and in *how the MBI_OPEN by which it goes on; BEGIN means
 * a restart here. */
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
  if (stop == MBI_SOLVE_CANDIDATE && state->iterations < state->cap) {
    return mbi_solve_check_candidate(solver, state, how);
  }
  if (stop == MBI_SOLVE_BREAKDOWN && state->ww - state->ww == 0 &&
      solver->breakdowns < solver->method->restarts && state->iterations > solver->restarted) {
    solver->breakdowns++;
    *how = MBI_OPEN_BEGIN;
    return MBI_SOLVE_ON;
  }
  return stop == MBI_SOLVE_CANDIDATE ? MERBIT_STOP_CAP : stop;
}

/* Enqueue what comes before the next batch. */
static merbit_status mbi_solve_begin_round(merbit_solver *solver, int how, int span) {
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  merbit_status status;
  if (how != MBI_OPEN_BEGIN) {
    return mbi_solve_prepare_round(solver, how, span);
  }
  solver->restarts++;
  solver->restarted = state->iterations;
  solver->worst = state->ww;
  solver->tightenings = 0;
  solver->shrink = 1;
  status = mbi_solve_prepare_round(solver, MBI_OPEN_GO_ON, span);
  return status == MERBIT_OK ? solver->method->start(solver) : status;
}

/* Before a solve. */
MBI_INTERNAL void mbi_solver_reset(merbit_solver *solver, double *history, int history_size) {
  solver->history = history;
  solver->history_size = history != NULL ? history_size : 0;
  solver->history_count = -1;
  solver->restarts = solver->synchronizations = 0;
  solver->breakdowns = solver->tightenings = solver->restarted = 0;
  solver->shrink = 1;
  solver->worst = 0;
  solver->started = mbi_seconds();
}

/* From the vectors in place to the end, the reason of which is in *stop. */
MBI_INTERNAL merbit_status mbi_solve_loop(merbit_solver *solver, int x_zero, int *stop) {
  double before = mbi_seconds();
  int span = mbi_solve_first_round(solver), how;
  merbit_status status;
  *stop = MBI_SOLVE_ON;
  status = mbi_solve_prepare_round(solver, MBI_OPEN_BEGIN, span);
  if (status == MERBIT_OK) {
    status = mbi_solve_residual(solver, x_zero);
  }
  if (status == MERBIT_OK) {
    status = solver->method->start(solver);
  }
  while (status == MERBIT_OK && *stop == MBI_SOLVE_ON) {
    const int known = solver->history_count;
    const mbi_solve_state *state;
    double now;
    status = mbi_recorded_run(solver, span);
    if (status == MERBIT_OK) {
      status = mbi_solve_check_convergence(solver);
    }
    if (status != MERBIT_OK) {
      break;
    }
    state = &mbi_solve_checked(solver)->state;
    if (mbi_scale_rhs_needed(solver, state)) {
      *stop = MBI_SOLVE_SCALE_RHS;
      break;
    }
    now = mbi_seconds();
    span = mbi_solve_next_round(state->iterations - (known > 0 ? known : 0), now - before);
    before = now;
    *stop = mbi_solve_decide(solver, &how);
    if (solver->desc.progress != NULL &&
        solver->desc.progress(solver->desc.progress_user, state->iterations,
                              mbi_solve_ratio(state, state->rr), now - solver->started) != 0 &&
        *stop == MBI_SOLVE_ON) {
      *stop = MERBIT_STOP_CANCELLED;
    } else if (*stop == MBI_SOLVE_ON) {
      status = mbi_solve_begin_round(solver, how, span);
    }
  }
  if (status == MERBIT_OK && *stop == MERBIT_STOP_CANCELLED && !mbi_solve_on_gpu(solver)) {
    status = mbi_solve_residual(solver, 0);
  }
  return status;
}

/* ---- Why it ended, in words -------------------------------------------------------------- */

static void mbi_solve_describe_breakdown(const mbi_solve_state *state, char *text, size_t size) {
  const int at = state->iterations + 1;
  switch (state->why) {
  case MBI_WHY_CURVATURE:
    (void)snprintf(
        text, size,
        "p'Ap = %.3g in iteration %d, which is not positive: the matrix is not "
        "symmetric positive definite; use MERBIT_SOLVER_BICGSTAB or MERBIT_SOLVER_GMRES",
        state->value, at);
    break;
  case MBI_WHY_PRECONDITIONER:
    (void)snprintf(
        text, size,
        "r'z = %.3g with the preconditioned residual z in iteration %d, which is not "
        "positive: the preconditioner is not symmetric positive definite",
        state->value, at);
    break;
  case MBI_WHY_SHADOW:
    (void)snprintf(
        text, size,
        "the shadow residual became orthogonal (its product is %.3g) in iteration %d",
        state->value, at);
    break;
  default:
    (void)snprintf(text, size, "omega became %.3g in iteration %d: A s is orthogonal to s",
                   state->value, at);
    break;
  }
}

MBI_INTERNAL void mbi_solve_describe_stop(const merbit_solver *solver,
                                 const merbit_solver_result *result, char *text, size_t size) {
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  char broken[240] = "";
  if (mbi_gmres_ended(state) &&
      (result->stop == MERBIT_STOP_STAGNATED || result->stop == MERBIT_STOP_BREAKDOWN)) {
    mbi_gmres_describe_stop(state, text, size);
    return;
  }
  switch (result->stop) {
  case MERBIT_STOP_CONVERGED:
    if (state->b_most == 0) {
      (void)snprintf(text, size, "b is zero, and so is x");
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
                   "%s allow no more, or the matrix is singular",
                   result->residual, result->restarts, result->restarts == 1 ? "" : "s",
                   solver->type == MERBIT_F32 ? "f32" : "f64");
    return;
  case MERBIT_STOP_BREAKDOWN:
    state = &mbi_solve_checked(solver->inner != NULL ? solver->inner : solver)->state;
    mbi_solve_describe_breakdown(state, broken, sizeof broken);
    (void)snprintf(text, size, "%s%s", broken,
                   result->restarts > 0 ? "; restarts did not help" : "");
    return;
  default:
    if (mbi_scale_x_out_of_range(solver, state->x_most)) {
      (void)snprintf(text, size,
                     "x has entries near 2^%d, which %s does not hold: scale A or b",
                     ilogb(state->x_most) + mbi_scale_of_x(solver),
                     solver->type == MERBIT_F32 ? "f32" : "f64");
      return;
    }
    (void)snprintf(
        text, size,
        "a number overflowed or was not finite by iteration %d: look at A, b and the "
        "first x",
        result->iterations);
    return;
  }
}
