#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "solve/core/solver.h"
#include "solve/eigen/eigen.h"

/* merbit_eigen: checks eigen_desc, makes the solver that iterates, and reports residuals. */
#define MBI_EIGEN_BASIS 16 /* default size of the basis, plus two vectors per pair */
#define MBI_EIGEN_BASIS_MOST 256

static merbit_status mbi_eigen_refuse(merbit_context *context, const char *what, int value,
                                      const char *instead) {
  return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "eigen_desc.%s is %d; use %s", what, value,
                  instead);
}

/* Checks a description whose defaults are filled in. */
static merbit_status mbi_eigen_check_desc(merbit_context *context,
                                          const merbit_eigen_desc *desc, int64_t n) {
  const int lanczos = desc->method == MERBIT_EIGEN_LANCZOS;
  if ((int)desc->method < MERBIT_EIGEN_LANCZOS || (int)desc->method > MERBIT_EIGEN_POWER) {
    return mbi_eigen_refuse(context, "method", (int)desc->method,
                            "MERBIT_EIGEN_LANCZOS or MERBIT_EIGEN_POWER");
  }
  if ((int)desc->which < MERBIT_EIGEN_LARGEST_MAGNITUDE ||
      (int)desc->which > MERBIT_EIGEN_BOTH_ENDS ||
      (!lanczos && desc->which != MERBIT_EIGEN_LARGEST_MAGNITUDE)) {
    return mbi_eigen_refuse(context, "which", (int)desc->which,
                            lanczos ? "MERBIT_EIGEN_LARGEST_MAGNITUDE or another "
                                      "merbit_eigen_which"
                                    : "MERBIT_EIGEN_LARGEST_MAGNITUDE with the power method");
  }
  if (desc->count < 1 || desc->count > (lanczos ? MERBIT_EIGEN_MOST : 1)) {
    return mbi_eigen_refuse(context, "count", desc->count,
                            lanczos ? "1 to 32 pairs" : "1 with the power method");
  }
  if (desc->count > n) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "eigen_desc.count is %d, but the matrix has %" PRId64
                    " rows; use at most as many",
                    desc->count, n);
  }
  if (desc->basis <= desc->count + 1 || desc->basis > MBI_EIGEN_BASIS_MOST) {
    return mbi_eigen_refuse(context, "basis", desc->basis,
                            "more than count + 1 and up to 256 vectors, or 0");
  }
  if (desc->max_iterations < 0) {
    return mbi_eigen_refuse(context, "max_iterations", desc->max_iterations,
                            "0 for the default");
  }
  if ((int)desc->side < MERBIT_SIDE_AUTO || (int)desc->side > MERBIT_SIDE_CUDA) {
    return mbi_eigen_refuse(context, "side", (int)desc->side,
                            "MERBIT_SIDE_AUTO, MERBIT_SIDE_CPU or MERBIT_SIDE_CUDA");
  }
  if (!(desc->tolerance > 0 && desc->tolerance < 1)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "eigen_desc.tolerance is %g; use a number between 0 and 1, or 0 for the "
                    "default",
                    desc->tolerance);
  }
  return MERBIT_OK;
}

/* Fills in the defaults of a description. */
static void mbi_eigen_fill_desc(merbit_eigen_desc *own, const merbit_view *view) {
  if (own->tolerance == 0) {
    own->tolerance = mbi_view_type(view) == MERBIT_F32 ? 1e-5 : 1e-10;
  }
  own->count = own->count != 0 ? own->count : 1;
  if (own->basis == 0 && own->count >= 1 && own->count <= MERBIT_EIGEN_MOST) {
    own->basis = 2 * own->count + MBI_EIGEN_BASIS; /* other counts are refused */
  }
  own->max_iterations = own->max_iterations != 0 ? own->max_iterations : 10000;
}

/* Makes the solver that holds the vectors, computes products and iterates. */
static merbit_status mbi_eigen_make_solver(mbi_eigen *e, merbit_context *context,
                                           const merbit_view *view) {
  static const mbi_solve_method lanczos = {"Lanczos",
                                           "solve/eigen/eigen.cu",
                                           mbi_eigen_steps,
                                           MBI_EIGEN_STEPS,
                                           0,
                                           0,
                                           mbi_lanczos_layout,
                                           NULL,
                                           mbi_lanczos_iterate,
                                           {NULL, NULL}};
  static const mbi_solve_method power = {"power method",
                                         "solve/eigen/eigen.cu",
                                         mbi_eigen_steps,
                                         MBI_EIGEN_STEPS,
                                         0,
                                         0,
                                         mbi_power_layout,
                                         NULL,
                                         mbi_power_iterate,
                                         {NULL, NULL}};
  const merbit_eigen_desc *desc = &e->desc;
  merbit_solver *solver = (merbit_solver *)mbi_allocate(context, sizeof *solver);
  if (solver == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a solver's record");
  }
  memset(solver, 0, sizeof *solver);
  mbi_context_retain(context);
  solver->context = context;
  solver->view = *view;
  mbi_matrix_retain(view->owner);
  solver->type = mbi_view_type(view);
  solver->n = solver->v.n = view->rows;
  solver->method = desc->method == MERBIT_EIGEN_LANCZOS ? &lanczos : &power;
  solver->desc.side = desc->side;
  solver->desc.vector_memory = MERBIT_MEMORY_HOST;
  solver->desc.tolerance = desc->tolerance;
  solver->desc.max_iterations = desc->max_iterations;
  solver->desc.deterministic = desc->deterministic;
  solver->desc.reorder = -1; /* vectors are returned in the matrix's order */
  solver->desc.restart = desc->basis < view->rows ? desc->basis : (int)view->rows;
  solver->kept = mbi_lanczos_kept(desc, solver->desc.restart);
  solver->shrink = 1;
  e->solver = solver;
  return mbi_solver_build(solver);
}

/* Allocates the small matrices in host memory. */
static merbit_status mbi_eigen_allocate(mbi_eigen *e) {
  const int64_t m = e->solver->desc.restart;
  void *memory = NULL;
  MBI_TRY(mbi_allocate_array(e->solver->context, 4 * m * (m + 1) + 3 * m, sizeof(double),
                             "small matrices", &memory));
  memset(memory, 0, (size_t)(4 * m * (m + 1) + 3 * m) * sizeof(double));
  e->memory = (double *)memory;
  e->t = e->memory;
  e->work = e->t + m * (m + 1);
  e->s = e->work + m * (m + 1);
  e->columns = e->s + m * (m + 1);
  e->couple = e->columns + m * (m + 1);
  e->estimate = e->couple + m;
  e->order = (int *)(void *)(e->estimate + m);
  return MERBIT_OK;
}

/* Computes the residuals of the pairs found; returns values, residuals and vectors. */
static merbit_status mbi_eigen_check(mbi_eigen *e, double *values, char *vectors,
                                     merbit_eigen_result *result) {
  merbit_solver *solver = e->solver;
  const size_t bytes = mbi_solve_bytes(solver);
  const size_t apart = (size_t)solver->v.stride * mbi_type_size(solver->type);
  const int lanczos = solver->v.lanczos;
  double value[MERBIT_EIGEN_MOST];
  int q;
  for (q = 0; q < e->found; q++) {
    value[q] = lanczos ? e->t[q * solver->v.basis + q] : e->state.scalar[MBI_POWER_VALUE];
  }
  e->state.scalar[MBI_EIGEN_CHECK] = 0;
  MBI_TRY(mbi_eigen_write_state(e));
  if (e->found > 0) {
    MBI_TRY(mbi_solve_upload(solver, solver->v.at[MBI_EIGEN_S], value,
                             sizeof(double) * (size_t)e->found));
  }
  for (q = 0; q < e->found; q++) {
    char *vector = (char *)solver->v.at[MBI_ARNOLDI_V] + (size_t)q * apart;
    MBI_TRY(merbit_spmv(solver->plan, NULL, NULL, vector, NULL, solver->v.at[MBI_AT_W],
                        solver->gpu.stream));
    MBI_TRY(mbi_solve_step(solver, MBI_EIGEN_CHECK_STEP));
    if (vectors != NULL) {
      MBI_TRY(mbi_solve_download(solver, vectors + (size_t)q * bytes, vector, bytes));
    }
  }
  solver->synchronizations += mbi_solve_on_gpu(solver);
  MBI_TRY(mbi_solve_download(solver, &solver->seen, solver->memory, sizeof solver->seen));
  for (q = 0; q < e->found; q++) {
    const double *sums = solver->seen.ring + 3 * q;
    const double residual = sqrt(sums[0] / sums[1]);
    values[q] = ldexp(lanczos ? value[q] : sums[2] / sums[1], -solver->scale);
    e->stop = fabs(values[q]) <= DBL_MAX ? e->stop : MERBIT_STOP_NOT_FINITE;
    result->residuals[q] = e->scale > 0 ? residual / e->scale : residual;
    result->converged += result->residuals[q] <= e->desc.tolerance;
  }
  return MERBIT_OK;
}

/* Writes a sentence that says why the iteration ended. */
static void mbi_eigen_describe(const mbi_eigen *e, merbit_eigen_result *result) {
  char *text = result->description;
  const size_t size = sizeof result->description;
  const int count = e->desc.count;
  switch (result->stop) {
  case MERBIT_STOP_CONVERGED:
    (void)snprintf(text, size, "||A v - lambda v|| of %d eigenpair%s is at most %.3g of %.6g",
                   count, count == 1 ? "" : "s", e->desc.tolerance,
                   ldexp(e->scale, -e->solver->scale));
    break;
  case MERBIT_STOP_CAP:
    (void)snprintf(
        text, size,
        "max_iterations = %d came before the tolerance %.3g: %d of %d eigenpairs are "
        "there",
        e->desc.max_iterations, e->desc.tolerance, result->converged, count);
    break;
  case MERBIT_STOP_CANCELLED:
    (void)snprintf(text, size, "the progress callback asked to stop after %d products",
                   result->iterations);
    break;
  case MERBIT_STOP_BREAKDOWN:
    (void)snprintf(
        text, size,
        "the matrix is not symmetric: v%d'A v%d and v%d'A v%d of orthonormal vectors "
        "differ by %.3g; take MERBIT_EIGEN_POWER",
        e->row, e->column, e->column, e->row, ldexp(e->value, -e->solver->scale));
    break;
  case MERBIT_STOP_STAGNATED:
    (void)snprintf(text, size, "%s",
                   e->solver->v.lanczos
                       ? "rounding errors leave residuals above the tolerance, or they fall "
                         "too slowly: raise eigen_desc.tolerance, or basis"
                       : "the residual stays where it is: no real eigenvalue is larger in size "
                         "than all others (there are plus and minus one, a complex pair, or "
                         "some of nearly the same size)");
    break;
  default:
    (void)snprintf(text, size,
                   "a number overflowed, was not finite, or was so small that its square is 0: "
                   "look at A");
    break;
  }
}

/* Iterates and checks the pairs. Everything must be allocated and the CUDA context current. */
static merbit_status mbi_eigen_run(mbi_eigen *e, double *values, void *vectors,
                                   merbit_eigen_result *result) {
  int lacking;
  MBI_TRY(mbi_solve_prepare_round(e->solver, MBI_OPEN_BEGIN, 1));
  MBI_TRY(mbi_eigen_read_state(e));
  MBI_TRY(e->solver->v.lanczos ? mbi_lanczos_run(e) : mbi_power_run(e));
  result->iterations = e->state.iterations;
  MBI_TRY(mbi_eigen_check(e, values, (char *)vectors, result));
  lacking = result->converged < e->desc.count;
  result->stop = e->stop == MERBIT_STOP_CONVERGED && lacking ? MERBIT_STOP_STAGNATED
                                                             : (merbit_stop)e->stop;
  return MERBIT_OK;
}

/* Adds times, the plan, memory and the description to the report. */
static void mbi_eigen_finish(mbi_eigen *e, merbit_eigen_result *result) {
  merbit_solver *solver = e->solver;
  result->restarts = e->restarts;
  result->iterate_seconds = mbi_seconds() - solver->started;
  result->synchronizations = solver->synchronizations;
  (void)merbit_plan_get_info(solver->plan, &result->plan);
  (void)merbit_plan_describe(solver->plan, result->plan_description,
                             sizeof result->plan_description);
  result->device_bytes = mbi_solver_device_bytes(solver, &result->plan);
  mbi_eigen_describe(e, result);
}

/* Sets values, residuals and vectors to NaN, for pairs that are not found. */
static void mbi_eigen_clear(const merbit_eigen_desc *desc, const merbit_view *view,
                            double *values, void *vectors, merbit_eigen_result *result) {
  const int64_t n = view->rows * desc->count;
  int64_t i;
  int q;
  memset(result, 0, sizeof *result);
  for (q = 0; q < desc->count; q++) {
    values[q] = result->residuals[q] = (double)NAN;
  }
  for (i = 0; i < n && vectors != NULL; i++) {
    if (mbi_view_type(view) == MERBIT_F32) {
      ((float *)vectors)[i] = (float)NAN;
    } else {
      ((double *)vectors)[i] = (double)NAN;
    }
  }
}

/* Makes a solver, iterates and reports. The caller releases e->memory and e->solver. */
static merbit_status mbi_eigen_solve(mbi_eigen *e, merbit_context *context,
                                     const merbit_view *view, double *values, void *vectors,
                                     merbit_eigen_result *result) {
  const double start = mbi_seconds();
  merbit_status status;
  MBI_TRY(mbi_eigen_make_solver(e, context, view));
  MBI_TRY(mbi_eigen_allocate(e));
  MBI_TRY(mbi_solver_enter(e->solver));
  result->prepare_seconds = mbi_seconds() - start;
  e->solver->started = mbi_seconds();
  status = mbi_eigen_run(e, values, vectors, result);
  mbi_solver_leave(e->solver);
  MBI_TRY(status);
  mbi_eigen_finish(e, result);
  return MERBIT_OK;
}

/* Runs one call of merbit_eigen and releases its memory. */
static merbit_status mbi_eigen_compute(merbit_context *context, const merbit_view *view,
                                       const merbit_eigen_desc *desc, double *values,
                                       void *vectors, merbit_eigen_result *result) {
  mbi_eigen e;
  merbit_status status;
  memset(&e, 0, sizeof e);
  e.desc = *desc;
  e.random = desc->seed;
  e.stop = MBI_SOLVE_ON;
  e.row = -1;
  e.best = HUGE_VAL;
  status = mbi_eigen_solve(&e, context, view, values, vectors, result);
  if (e.solver != NULL) {
    mbi_release(context, e.memory);
    mbi_solver_free(e.solver);
  }
  return status;
}

static merbit_status mbi_eigen_check_view(merbit_context *context, const merbit_view *view) {
  MBI_TRY(mbi_view_check_header(context, view));
  if (!mbi_type_plain(mbi_view_type(view))) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "the matrix's value_type is %s; merbit_eigen takes MERBIT_F64 and MERBIT_F32",
        mbi_type_names[mbi_view_type(view)]);
  }
  if (view->rows != view->cols) {
    return mbi_fail(context, MERBIT_INVALID_MATRIX,
                    "the matrix is %" PRId64 " x %" PRId64
                    "; only square ones have eigenvalues",
                    view->rows, view->cols);
  }
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_eigen(merbit_context *context, const merbit_view *view,
                                      const merbit_eigen_desc *desc, double *values,
                                      void *vectors, merbit_eigen_result *result) {
  merbit_eigen_result answer;
  merbit_eigen_desc own;
  if (result != NULL) {
    memset(result, 0, sizeof *result);
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (view == NULL || values == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "merbit_eigen: `%s` is NULL",
                    view == NULL ? "view" : "values");
  }
  MBI_TRY(mbi_eigen_check_view(context, view));
  memset(&own, 0, sizeof own);
  if (desc != NULL) {
    own = *desc;
  }
  mbi_eigen_fill_desc(&own, view);
  MBI_TRY(mbi_eigen_check_desc(context, &own, view->rows));
  mbi_eigen_clear(&own, view, values, vectors, &answer);
  MBI_TRY(mbi_eigen_compute(context, view, &own, values, vectors, &answer));
  if (result != NULL) {
    *result = answer;
  }
  return MERBIT_OK;
}
