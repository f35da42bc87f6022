#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/cpu/cpu.h"
#include "solve/core/solver.h"

/* merbit_solver_solve_many: CG for several right-hand sides, with one product for all of them.
 * Each right-hand side has its own scalars, convergence checks and stop; solver->many runs the
 * shared iterations. A right-hand side that has stopped keeps its x until all have. Once the
 * progress callback has asked to stop, no further right-hand side begins. */

#define MBI_MANY_SCALED (-1) /* a value of `how`: start again with a scaled b */

/* b and x of a call. ldb and ldx count elements of the solver's type. */
typedef struct mbi_many_call {
  const char *b;
  char *x;
  int64_t ldb, ldx;
  int start_from_x;
} mbi_many_call;

static merbit_status mbi_many_check_call(merbit_solver *solver, int count,
                                         const mbi_many_call *call) {
  const uint64_t size = mbi_type_size(solver->type);
  const int64_t n = solver->n, last = count > 0 ? count - 1 : 0;
  if (count < 0 || call->ldb < n || call->ldx < n) {
    return mbi_fail(solver->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_solver_solve_many: count is %d, ldb %" PRId64 ", ldx %" PRId64
                    "; count must not be negative, and ldb and ldx at least %" PRId64
                    ", the rows of the matrix",
                    count, call->ldb, call->ldx, n);
  }
  if ((call->ldb | call->ldx) > INT64_MAX / 16 / (last + 1)) {
    return mbi_fail(solver->context, MERBIT_TOO_LARGE,
                    "merbit_solver_solve_many: ldb is %" PRId64 ", ldx %" PRId64
                    "; %d vectors at that distance exceed the address space",
                    call->ldb, call->ldx, count);
  }
  if (count == 0) {
    return MERBIT_OK;
  }
  if (n > 0 && mbi_overlap(call->b, (uint64_t)(last * call->ldb + n) * size, call->x,
                           (uint64_t)(last * call->ldx + n) * size)) {
    return mbi_fail(solver->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_solver_solve_many: b and x overlap; use two arrays");
  }
  return mbi_solver_check_vectors(solver, "merbit_solver_solve_many", call->b, call->x, "bx");
}

/* Returns the call's vectors from number `first` on. */
static mbi_many_call mbi_many_from(const merbit_solver *solver, const mbi_many_call *call,
                                   int64_t first) {
  const int64_t size = (int64_t)mbi_type_size(solver->type);
  mbi_many_call rest = *call;
  rest.b += first * call->ldb * size;
  rest.x += first * call->ldx * size;
  return rest;
}

/* Initialises column c: a copy of `solver` with its own vectors and scalars. Every call copies
 * again, because a failed call may leave the column with the stream of a recording. */
static merbit_solver *mbi_many_column(merbit_solver *solver, int c) {
  const merbit_solver *many = solver->many;
  const size_t apart = (size_t)many->v.stride * mbi_type_size(many->type);
  const int64_t parts =
      mbi_solve_on_gpu(many) ? mbi_solve_blocks(many) : mbi_step_chunks(many->n);
  merbit_solver *column = &many->columns[c];
  int slot;
  *column = *solver;
  column->v = many->v;
  for (slot = 0; slot < MBI_SOLVE_VECTORS; slot++) {
    if (many->alias[slot] == MBI_SOLVE_OWN) {
      column->v.at[slot] = (char *)many->v.at[slot] + (size_t)c * apart;
    }
  }
  column->memory = many->memory + c;
  column->partials = many->partials + (int64_t)c * parts * MBI_SOLVE_SUMS;
  column->rhs_scale = 0;
  mbi_solver_reset(column, NULL, 0);
  return column;
}

/* Begins the solve of a column with the first vectors of `call`, or with b = 0 if `call` is
 * NULL. */
static merbit_status mbi_many_begin(merbit_solver *column, const mbi_many_call *call,
                                    int span) {
  const size_t bytes = mbi_solve_bytes(column);
  if (call != NULL) {
    MBI_TRY(mbi_solver_load(column, call->b, call->x, call->start_from_x));
  } else {
    MBI_TRY(mbi_solve_zero(column, column->v.at[MBI_AT_B], bytes));
    MBI_TRY(mbi_solve_zero(column, column->v.at[MBI_AT_X], bytes));
  }
  return mbi_solve_begin(column, call == NULL || !call->start_from_x, span);
}

/* Checks convergence of the columns that still iterate. Sets *iterations to the most that any
 * column has run, and *residual to the largest residual, or to -1 if no column has one because
 * all begin again with a scaled b. */
static merbit_status mbi_many_check_round(merbit_solver *many, int *stop, int *how,
                                          int *iterations, double *residual) {
  int c;
  *iterations = 0;
  *residual = -1;
  for (c = 0; c < many->count; c++) {
    merbit_solver *column = &many->columns[c];
    const mbi_solve_state *state = &mbi_solve_checked(column)->state;
    double found;
    column->gpu.stream = many->gpu.stream;
    if (stop[c] == MBI_SOLVE_ON) {
      MBI_TRY(mbi_solve_check(column, &stop[c], &how[c]));
    }
    if (stop[c] == MBI_SOLVE_SCALE_RHS) {
      column->rhs_scale = -ilogb(state->b_most);
      stop[c] = MBI_SOLVE_ON;
      how[c] = MBI_MANY_SCALED;
      continue;
    }
    found = mbi_solve_ratio(state, state->rr);
    *residual = found > *residual ? found : *residual;
    *iterations = state->iterations > *iterations ? state->iterations : *iterations;
  }
  return MERBIT_OK;
}

/* Begins the next round of the columns that still iterate, or stops them if the solve is
 * cancelled; those whose b was just scaled first need a round of their own. Sets *open to the
 * number of columns that continue. */
static merbit_status mbi_many_next_round(const merbit_solver *solver, const mbi_many_call *call,
                                         int *stop, const int *how, int span, int *open) {
  int c;
  *open = 0;
  for (c = 0; c < solver->many->count; c++) {
    merbit_solver *column = &solver->many->columns[c];
    const mbi_many_call rest = mbi_many_from(solver, call, c);
    if (stop[c] != MBI_SOLVE_ON) {
      continue;
    }
    if (solver->cancelled && how[c] != MBI_MANY_SCALED) {
      stop[c] = MERBIT_STOP_CANCELLED;
      continue;
    }
    (*open)++;
    MBI_TRY(how[c] == MBI_MANY_SCALED ? mbi_many_begin(column, &rest, span)
                                      : mbi_solve_begin_round(column, how[c], span));
  }
  return MERBIT_OK;
}

/* Solves for `count` right-hand sides, at most solver->many->count. The CUDA context must be
 * current. */
static merbit_status mbi_many_solve(merbit_solver *solver, const mbi_many_call *call, int count,
                                    merbit_solver_result *results) {
  merbit_solver *many = solver->many;
  double before = mbi_seconds();
  int stop[MBI_MANY_MOST], how[MBI_MANY_MOST];
  int span = mbi_solve_first_round(many), open = count, done = 0, c;
  merbit_solver_result result;
  for (c = 0; c < many->count; c++) {
    merbit_solver *column = mbi_many_column(solver, c);
    const mbi_many_call rest = mbi_many_from(solver, call, c);
    MBI_TRY(mbi_many_begin(column, c < count ? &rest : NULL, span));
    stop[c] = MBI_SOLVE_ON;
    how[c] = MBI_OPEN_GO_ON;
  }
  while (open > 0) {
    int iterations;
    double now, residual;
    MBI_TRY(mbi_recorded_run(many, span));
    MBI_TRY(mbi_many_check_round(many, stop, how, &iterations, &residual));
    now = mbi_seconds();
    span = mbi_solve_next_round(iterations - done, now - before);
    done = iterations;
    before = now;
    if (many->desc.progress != NULL && !solver->cancelled && residual >= 0) {
      solver->cancelled = many->desc.progress(many->desc.progress_user, iterations, residual,
                                              now - many->columns[0].started) != 0;
    }
    MBI_TRY(mbi_many_next_round(solver, call, stop, how, span, &open));
  }
  for (c = 0; c < count; c++) {
    merbit_solver *column = &many->columns[c];
    column->gpu.graph = many->gpu.graph;
    column->gpu.loops = many->gpu.loops;
    memset(&result, 0, sizeof result);
    if (stop[c] == MERBIT_STOP_CANCELLED) { /* it has iterated until the last one ended */
      MBI_TRY(mbi_solve_read_residual(column, 0));
    }
    MBI_TRY(mbi_solver_end(column, stop[c], mbi_many_from(solver, call, c).x, &result));
    if (results != NULL) {
      mbi_solver_finish(column, &result);
      (void)merbit_plan_get_info(many->plan, &result.plan);
      (void)merbit_plan_describe(many->plan, result.plan_description,
                                 sizeof result.plan_description);
      results[c] = result;
    }
  }
  return MERBIT_OK;
}

/* Solves for `count` right-hand sides as merbit_solver_solve_many does, with valid arguments.
 * The CUDA context must be current. */
static merbit_status mbi_many_groups(merbit_solver *solver, const mbi_many_call *call,
                                     int count, merbit_solver_result *results) {
  const int most = solver->many != NULL ? solver->many->count : 1;
  int first, some;
  solver->cancelled = 0;
  for (first = 0; first < count; first += some) {
    const mbi_many_call rest = mbi_many_from(solver, call, first);
    merbit_solver_result *const result = results != NULL ? results + first : NULL;
    some = solver->cancelled ? 1 : count - first < most ? count - first : most;
    MBI_TRY(solver->cancelled
                ? mbi_solver_decline(solver, rest.b, rest.x, rest.start_from_x, result)
            : some > 1 ? mbi_many_solve(solver, &rest, some, result)
                       : merbit_solver_solve(solver, rest.b, rest.x, rest.start_from_x, NULL, 0,
                                             result));
  }
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_solver_solve_many(merbit_solver *solver, int count,
                                                  const void *b, int64_t ldb, void *x,
                                                  int64_t ldx, int start_from_x,
                                                  merbit_solver_result *results) {
  mbi_many_call call;
  merbit_status status;
  if (results != NULL && count > 0) {
    memset(results, 0, (size_t)count * sizeof *results);
  }
  if (solver == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  call.b = (const char *)b;
  call.x = (char *)x;
  call.ldb = ldb;
  call.ldx = ldx;
  call.start_from_x = start_from_x;
  MBI_TRY(mbi_solver_enter(solver));
  status = mbi_many_check_call(solver, count, &call);
  if (status == MERBIT_OK) {
    status = mbi_solver_join(solver);
  }
  if (status == MERBIT_OK) {
    status = mbi_many_groups(solver, &call, count, results);
  }
  mbi_solver_leave(solver);
  return status;
}
