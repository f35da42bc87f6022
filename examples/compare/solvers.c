/* merbit's solvers behind one C function, for solvers.py. Compile with cc -O3 -shared -fPIC. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

/* Solves a system on the CPU, given as a CSR of f64 with n rows. Sets found to {iterations,
 * stop, recomputed residual, restarts}. Returns a merbit_status and copies an error message to
 * `text`. */
int solvers_run(int64_t n, int64_t nnz, const int32_t *row_ptr, const int32_t *col_ind,
                const double *values, const double *b, double *x, int method, int jacobi,
                double tolerance, int max_iterations, int restart, double *found, char *text,
                size_t room) {
  merbit_context_desc where;
  merbit_context *context = NULL;
  merbit_solver_desc desc;
  merbit_solver *solver = NULL;
  merbit_solver_result result;
  merbit_error error;
  merbit_status status;
  const merbit_view view = merbit_csr(n, n, nnz, row_ptr, col_ind, values);
  memset(&where, 0, sizeof where);
  memset(&desc, 0, sizeof desc);
  memset(&result, 0, sizeof result);
  where.side = MERBIT_SIDE_CPU;
  if (merbit_context_create(&where, &context, &error) != MERBIT_OK) {
    (void)snprintf(text, room, "%s", error.message);
    return 1;
  }
  desc.method = (merbit_solver_method)method;
  desc.tolerance = tolerance;
  desc.max_iterations = max_iterations;
  desc.restart = restart;
  desc.preconditioner = jacobi ? MERBIT_PRECONDITIONER_JACOBI : MERBIT_PRECONDITIONER_NONE;
  status = merbit_solver_create(context, &view, &desc, &solver);
  if (status == MERBIT_OK) {
    status = merbit_solver_solve(solver, b, x, 0, NULL, 0, &result);
  }
  if (status == MERBIT_OK) {
    (void)snprintf(text, room, "%s", result.description);
  } else {
    (void)merbit_last_error(context, text, room);
  }
  found[0] = result.iterations;
  found[1] = result.stop;
  found[2] = result.residual;
  found[3] = result.restarts;
  merbit_solver_destroy(solver);
  merbit_context_destroy(context);
  return (int)status;
}
