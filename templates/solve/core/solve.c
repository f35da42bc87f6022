#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/plan/plan.h"
#include "solve/core/solver.h"
#include "solve/precondition/precondition.h"

/* merbit_solver_solve copies vectors in, iterates, copies x out and reports;
 * merbit_solver_multiply multiplies by the solver's matrix. */

/* Checks the vectors of a call. `names` has one letter for each of `in` and `out`. */
MBI_INTERNAL merbit_status mbi_solver_check_vectors(merbit_solver *solver, const char *call,
                                                    const void *in, const void *out,
                                                    const char *names) {
  merbit_context *context = solver->context;
  char what[64];
  int i;
  if (solver->n > 0 && (in == NULL || out == NULL)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "%s: `%c` is NULL", call,
                    names[in != NULL]);
  }
  if (mbi_overlap(in, mbi_solve_bytes(solver), out, mbi_solve_bytes(solver))) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "%s: %c and %c overlap; use two vectors of %" PRId64 " elements", call,
                    names[0], names[1], solver->n);
  }
  if (mbi_solve_host_vectors(solver) || solver->n == 0) {
    return MERBIT_OK;
  }
  if (!mbi_device_owns(context, in) || !mbi_device_owns(context, out)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "%s: %c is host memory, but the solver computes on CUDA; use a "
                    "merbit_buffer, or solver_desc.vector_memory = MERBIT_MEMORY_HOST",
                    call, names[mbi_device_owns(context, in) != 0]);
  }
  for (i = 0; i < 2; i++) {
    (void)snprintf(what, sizeof what, "%s: %c", call, names[i]);
    MBI_TRY(mbi_types_check_address(context, what, solver->type, i == 0 ? in : out));
  }
  return MERBIT_OK;
}

/* Makes the caller's stream wait for the solver's preparation on the default stream. */
MBI_INTERNAL merbit_status mbi_solver_join(merbit_solver *solver) {
  return mbi_solve_on_gpu(solver) && solver->desc.stream != NULL
             ? mbi_device_synchronize(solver->context, NULL)
             : MERBIT_OK;
}

/* Copies b and the first x into the solver's vectors and scales them. */
MBI_INTERNAL merbit_status mbi_solver_load(merbit_solver *solver, const void *b, const void *x,
                                           int start_from_x) {
  MBI_TRY(mbi_solve_copy_in(solver, MBI_AT_B, b));
  MBI_TRY(mbi_scale_vector(solver, MBI_AT_B, solver->rhs_scale));
  MBI_TRY(mbi_solve_project(solver, MBI_AT_B));
  if (!start_from_x) {
    return mbi_solve_zero(solver, solver->v.at[MBI_AT_X], mbi_solve_bytes(solver));
  }
  MBI_TRY(mbi_solve_copy_in(solver, MBI_AT_X, x));
  MBI_TRY(mbi_solve_project(solver, MBI_AT_X));
  return mbi_scale_vector(solver, MBI_AT_X, -mbi_scale_of_x(solver));
}

/* Returns w_most / (||A|| x_most + b_most). If that sum overflows, it is computed times
 * 2^-1040; if a number in it is infinite, the error is said to be so, too. */
static double mbi_solve_backward_error(const merbit_solver *solver,
                                       const mbi_solve_state *state) {
  double scale = (state->x_most > 0 ? solver->norm * state->x_most : 0) + state->b_most;
  if (!(scale > DBL_MAX)) {
    return scale > 0 ? state->w_most / scale : 0;
  }
  scale = ldexp(solver->norm, -520) * ldexp(state->x_most, -520) + ldexp(state->b_most, -1040);
  return scale <= DBL_MAX ? ldexp(ldexp(state->w_most, -520) / scale, -520) : HUGE_VAL;
}

/* Fills in the numbers of the report. */
static void mbi_solver_report(merbit_solver *solver, int stop, merbit_solver_result *result) {
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  result->stop = (merbit_stop)stop;
  result->iterations = solver->inner != NULL ? solver->inner_iterations : state->iterations;
  result->restarts = solver->restarts + mbi_gmres_restarts(solver, state);
  result->residual = mbi_solve_ratio(state, state->ww);
  result->estimated_residual =
      mbi_solve_ratio(state, solver->inner != NULL ? state->ww : state->rr);
  result->backward_error = isnan(result->residual) /* w_most skips NaN */
                               ? result->residual
                               : mbi_solve_backward_error(solver, state);
  if (state->b_most == 0 && stop == MERBIT_STOP_CONVERGED) {
    result->iterations = 0;
    result->residual = result->estimated_residual = result->backward_error = 0;
  }
}

/* Loads the caller's vectors and iterates until the solve ends. */
static merbit_status mbi_solver_iterate(merbit_solver *solver, const void *b, const void *x,
                                        int start_from_x, int *stop) {
  MBI_TRY(mbi_solver_load(solver, b, x, start_from_x));
  return solver->inner != NULL ? mbi_refine_loop(solver, !start_from_x, stop)
                               : mbi_solve_loop(solver, !start_from_x, stop);
}

/* Makes the solver's x the caller's x. If that rounds entries, computes the residual of the
 * rounded x. Sets *stop to MERBIT_STOP_NOT_FINITE if the rounding keeps it above the goal. */
static merbit_status mbi_solver_scale_back(merbit_solver *solver, int *stop) {
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  const double goal = solver->desc.tolerance * solver->desc.tolerance * state->bb;
  const double before = *stop == MERBIT_STOP_CONVERGED ? 0 : state->ww;
  double lost;
  solver->x_lost = 0;
  MBI_TRY(mbi_scale_x_back(solver, &lost));
  if (lost == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_scale_vector(solver, MBI_AT_X, -mbi_scale_of_x(solver)));
  MBI_TRY(mbi_solve_read_residual(solver, 0));
  MBI_TRY(mbi_scale_vector(solver, MBI_AT_X, mbi_scale_of_x(solver)));
  if (*stop != MERBIT_STOP_NOT_FINITE && !(state->ww <= goal) && !(state->ww <= 4 * before)) {
    *stop = MERBIT_STOP_NOT_FINITE;
    solver->x_lost = lost;
  }
  return MERBIT_OK;
}

/* Reports a solve that has ended with `stop`, and copies its solution to the caller's x. */
MBI_INTERNAL merbit_status mbi_solver_end(merbit_solver *solver, int stop, void *x,
                                          merbit_solver_result *result) {
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  if (state->b_most == 0 && stop == MERBIT_STOP_CONVERGED) {
    MBI_TRY(mbi_solve_zero(solver, solver->v.at[MBI_AT_X], mbi_solve_bytes(solver)));
  }
  if (stop != MERBIT_STOP_NOT_FINITE && stop != MERBIT_STOP_CONVERGED) {
    MBI_TRY(mbi_solve_center(solver));
  }
  MBI_TRY(mbi_solver_scale_back(solver, &stop));
  mbi_solver_report(solver, stop, result);
  return mbi_solve_copy_out(solver, MBI_AT_X, x);
}

/* Solves, a second time with a scaled b if needed. The CUDA context must be current. */
static merbit_status mbi_solver_run(merbit_solver *solver, const void *b, void *x,
                                    int start_from_x, merbit_solver_result *result) {
  int stop = MBI_SOLVE_ON;
  solver->rhs_scale = 0;
  MBI_TRY(mbi_solver_iterate(solver, b, x, start_from_x, &stop));
  if (stop == MBI_SOLVE_SCALE_RHS) {
    solver->rhs_scale = -ilogb(mbi_solve_checked(solver)->state.b_most);
    MBI_TRY(mbi_solver_iterate(solver, b, x, start_from_x, &stop));
  }
  return mbi_solver_end(solver, stop, x, result);
}

/* Adds times, the plan and memory to the report, and the sentence on how the solve ended. */
MBI_INTERNAL void mbi_solver_finish(merbit_solver *solver, merbit_solver_result *result) {
  const merbit_solver *iterating = solver->inner != NULL ? solver->inner : solver;
  merbit_plan_info inner_plan;
  const char *hint = NULL; /* how the preconditioner may be at fault */
  result->prepare_seconds = solver->prepare_seconds;
  result->iterate_seconds = mbi_seconds() - solver->started;
  result->synchronizations = solver->synchronizations;
  (void)merbit_plan_get_info(solver->plan, &result->plan);
  (void)merbit_plan_describe(solver->plan, result->plan_description,
                             sizeof result->plan_description);
  result->recorded = iterating->gpu.graph == NULL ? 0 : iterating->gpu.loops ? 2 : 1;
  result->device_bytes = mbi_solver_device_bytes(solver, &result->plan);
  if (mbi_solve_on_gpu(solver) && solver->inner != NULL) {
    (void)merbit_plan_get_info(iterating->plan, &inner_plan);
    result->device_bytes += (int64_t)iterating->bytes + inner_plan.device_bytes;
    result->device_bytes +=
        solver->single_there != 0 ? mbi_view_values(&solver->view) * (int64_t)sizeof(float) : 0;
  }
  if (iterating->precondition != NULL) {
    merbit_preconditioner_info info;
    (void)merbit_preconditioner_get_info(iterating->precondition, &info);
    result->device_bytes += info.device_bytes;
    hint = iterating->precondition->desc.singular
               ? "singular needs an A that takes the constant vector to 0"
           : iterating->precondition->desc.single && iterating->type == MERBIT_F64
               ? "single may be too coarse for A: set it to 0"
               : NULL;
  }
  if (solver->n > 0) {
    mbi_solve_describe_stop(solver, result, result->description, sizeof result->description);
  } else {
    (void)snprintf(result->description, sizeof result->description, "A has no rows");
  }
  if (hint != NULL && result->stop != MERBIT_STOP_CONVERGED &&
      result->stop != MERBIT_STOP_CANCELLED) {
    const size_t used = strlen(result->description);
    (void)snprintf(result->description + used, sizeof result->description - used,
                   "; preconditioner_desc.%s", hint);
  }
}

MERBIT_API merbit_status merbit_solver_solve(merbit_solver *solver, const void *b, void *x,
                                             int start_from_x, double *history,
                                             int history_size, merbit_solver_result *result) {
  merbit_solver_result answer;
  merbit_status status;
  memset(&answer, 0, sizeof answer);
  if (result != NULL) {
    *result = answer;
  }
  if (solver == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  mbi_solver_reset(solver, history, history_size);
  MBI_TRY(mbi_solver_enter(solver));
  status = mbi_solver_check_vectors(solver, "merbit_solver_solve", b, x, "bx");
  if (status == MERBIT_OK) {
    status = mbi_solver_join(solver);
  }
  if (status == MERBIT_OK && solver->n > 0) {
    status = mbi_solver_run(solver, b, x, start_from_x, &answer);
  } else if (status == MERBIT_OK && solver->history_size > 0) {
    history[0] = 0;
  }
  mbi_solver_leave(solver);
  if (status == MERBIT_OK && result != NULL) {
    mbi_solver_finish(solver, &answer);
    *result = answer;
  }
  return status;
}

/* Loads the caller's vectors and computes the residual of x. */
static merbit_status mbi_solver_look(merbit_solver *solver, const void *b, const void *x,
                                     int start_from_x) {
  MBI_TRY(mbi_solver_load(solver, b, x, start_from_x));
  MBI_TRY(mbi_solve_prepare_round(solver, MBI_OPEN_BEGIN, 0));
  return mbi_solve_read_residual(solver, !start_from_x);
}

/* Reports a solve as cancelled before its first iteration. Sets x to zero, or leaves it as it
 * is if start_from_x is not 0. `result` may be NULL. The CUDA context must be current. */
MBI_INTERNAL merbit_status mbi_solver_decline(merbit_solver *solver, const void *b, void *x,
                                              int start_from_x, merbit_solver_result *result) {
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  merbit_solver_result answer;
  mbi_solver_reset(solver, NULL, 0);
  solver->cancelled = 1;
  solver->inner_iterations = solver->rhs_scale = 0;
  MBI_TRY(mbi_solver_look(solver, b, x, start_from_x));
  if (mbi_scale_rhs_needed(solver, state)) {
    solver->rhs_scale = -ilogb(state->b_most);
    MBI_TRY(mbi_solver_look(solver, b, x, start_from_x));
  }
  if (!start_from_x) {
    MBI_TRY(mbi_solve_copy_out(solver, MBI_AT_X, x));
  }
  if (result == NULL) {
    return MERBIT_OK;
  }
  memset(&answer, 0, sizeof answer);
  mbi_solver_report(solver, MERBIT_STOP_CANCELLED, &answer);
  if (state->bb == 0 && state->ww > 0) {
    answer.residual = HUGE_VAL;
  }
  answer.estimated_residual = answer.residual; /* the recurrence has not begun */
  answer.restarts = 0;
  mbi_solver_finish(solver, &answer);
  (void)snprintf(answer.description, sizeof answer.description,
                 "the progress callback asked to stop before this solve began");
  *result = answer;
  return MERBIT_OK;
}

/* Multiplies by the solver's matrix, without its scaling. The CUDA context must be current. */
static merbit_status mbi_solver_product(merbit_solver *solver, const void *x, void *y) {
  int exponent;
  MBI_TRY(mbi_solver_check_vectors(solver, "merbit_solver_multiply", x, y, "xy"));
  if (solver->n == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_solver_join(solver));
  MBI_TRY(mbi_solve_copy_in(solver, MBI_AT_X, x));
  MBI_TRY(mbi_scale_factor(solver, MBI_AT_X, &exponent));
  MBI_TRY(mbi_solve_product(solver, MBI_AT_X, MBI_AT_B));
  MBI_TRY(mbi_scale_vector(solver, MBI_AT_B, -solver->scale - exponent));
  return mbi_solve_copy_out(solver, MBI_AT_B, y);
}

MERBIT_API merbit_status merbit_solver_multiply(merbit_solver *solver, const void *x, void *y) {
  merbit_status status;
  if (solver == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  MBI_TRY(mbi_solver_enter(solver));
  status = mbi_solver_product(solver, x, y);
  mbi_solver_leave(solver);
  return status;
}
