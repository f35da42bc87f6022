/* What every solver does on either side: iteration counts, residuals, ends. Include after
 * merbit.h, cmocka.h and support/cpu.h; `context` is the test's. */
#ifndef TEST_SOLVE_SOLVER_CASES_H
#define TEST_SOLVE_SOLVER_CASES_H
#include "solve/solver_reference.h"

static merbit_context *context;

typedef struct solved {
  merbit_status status;
  merbit_solver_result result;
  double history[400];
} solved;

static merbit_solver_desc solver_desc(merbit_solver_method method, double tolerance) {
  merbit_solver_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.tolerance = tolerance;
  return desc;
}

static merbit_view linear_view(const linear *l) {
  return merbit_csr(l->n, l->n, l->nnz, l->row_ptr, l->col_ind, l->values);
}

/* From zero, in f64; x has room for the answer. */
static solved solve_once(const linear *l, const merbit_solver_desc *desc, double *x) {
  const merbit_view view = linear_view(l);
  merbit_solver *solver = NULL;
  solved s;
  memset(&s, 0, sizeof s);
  s.status = merbit_solver_create(context, &view, desc, &solver);
  if (s.status == MERBIT_OK) {
    s.status = merbit_solver_solve(solver, l->b, x, 0, s.history, 400, &s.result);
  }
  merbit_solver_destroy(solver);
  return s;
}

/* Of a solve that was to converge. */
static void check_converged(const linear *l, const solved *s, double tolerance, int expected,
                            const double *x) {
  const double residual = linear_residual(l, x, 0);
  const int most = expected / 10 > 2 ? expected / 10 : 2;
  const merbit_solver_result *r = &s->result;
  int k;
  assert_int_equal(s->status, MERBIT_OK);
  if (r->stop != MERBIT_STOP_CONVERGED || abs(r->iterations - expected) > most) {
    fail_msg("%d iterations, %d expected: %s", r->iterations, expected, r->description);
  }
  assert_true(r->residual <= tolerance && r->residual > 0);
  assert_true(fabs(r->residual - residual) <= 1e-3 * tolerance + 1e-14);
  assert_true(r->estimated_residual <= tolerance);
  assert_true(r->backward_error > 0 && r->backward_error < r->residual);
  assert_true(strstr(r->description, "at most the tolerance") != NULL);
  assert_true(r->prepare_seconds >= 0 && r->iterate_seconds > 0);
  assert_true(fabs(s->history[0] - 1) <= 1e-12);
  for (k = 1; k <= r->iterations; k++) {
    assert_true(s->history[k] > 0 && (s->history[k] <= tolerance) == (k == r->iterations));
  }
  assert_true(s->history[k] == 0);
}

static void check_counts(const linear *l, merbit_solver_method method, double tolerance,
                         double *x) {
  int jacobi;
  for (jacobi = 0; jacobi <= 1; jacobi++) {
    const int expected = method == MERBIT_SOLVER_CG
                             ? reference_cg(l, jacobi, tolerance, 1000)
                             : reference_bicgstab(l, jacobi, tolerance, 1000);
    merbit_solver_desc desc = solver_desc(method, tolerance);
    solved s;
    desc.preconditioner = jacobi ? MERBIT_PRECONDITIONER_JACOBI : MERBIT_PRECONDITIONER_NONE;
    s = solve_once(l, &desc, x);
    check_converged(l, &s, tolerance, expected, x);
  }
}

static void test_iteration_counts(void **state) {
  linear even = linear_grid(12, 0, 1, 0), uneven = linear_grid(9, 0, 3, 0);
  linear windy = linear_grid(11, 0.4, 1.5, 0);
  double x[200];
  (void)state;
  check_counts(&even, MERBIT_SOLVER_CG, 1e-8, x);
  check_counts(&uneven, MERBIT_SOLVER_CG, 1e-10, x);
  check_counts(&even, MERBIT_SOLVER_BICGSTAB, 1e-8, x);
  check_counts(&windy, MERBIT_SOLVER_BICGSTAB, 1e-9, x);
  linear_free(&even);
  linear_free(&uneven);
  linear_free(&windy);
}

#endif /* TEST_SOLVE_SOLVER_CASES_H */
