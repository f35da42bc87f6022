/* How solvers end: small systems with known ends, caps, cancellation, limits of the number
 * range. Part of solver_cases.h. */
#ifndef TEST_SOLVE_SOLVER_ENDS_H
#define TEST_SOLVE_SOLVER_ENDS_H

/* ---- Small systems ----------------------------------------------------------------------- */

typedef struct dense { /* n x n with n up to 3; zeros are not stored */
  int32_t n;
  double a[9], b[3];
} dense;

static linear linear_dense(const dense *d) {
  linear l;
  int32_t i, j;
  memset(&l, 0, sizeof l);
  l.n = d->n;
  l.row_ptr = (int32_t *)test_allocate(l.n + 1, sizeof *l.row_ptr);
  l.col_ind = (int32_t *)test_allocate(9, sizeof *l.col_ind);
  l.values = (double *)test_allocate(9, sizeof *l.values);
  l.b = (double *)test_allocate(l.n, sizeof *l.b);
  for (i = 0; i < l.n; i++) {
    l.b[i] = d->b[i];
    for (j = 0; j < l.n; j++) {
      if (d->a[i * l.n + j] != 0) {
        linear_put(&l, j, d->a[i * l.n + j]);
      }
    }
    l.row_ptr[i + 1] = l.nnz;
  }
  return l;
}

static solved solve_dense(const dense *d, const merbit_solver_desc *desc, double *x) {
  linear l = linear_dense(d);
  const solved s = solve_once(&l, desc, x);
  linear_free(&l);
  return s;
}

static int expect_no_iteration(void *user, int iteration, double residual, double seconds) {
  (void)user;
  assert_true(iteration == 0 && residual == 0 && seconds >= 0);
  return 0;
}

static void test_zero_right_hand_side(void **state) {
  static const dense d = {2, {4, 1, 1, 3}, {0, 0}};
  int method, from_x;
  (void)state;
  for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_GMRES; method++) {
    for (from_x = 0; from_x <= 1; from_x++) {
      merbit_solver_desc desc = solver_desc((merbit_solver_method)method, 0);
      linear l = linear_dense(&d);
      const merbit_view view = linear_view(&l);
      merbit_solver *solver;
      double x[2] = {5, -7};
      solved s;
      desc.progress = expect_no_iteration;
      assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
      s.status = merbit_solver_solve(solver, l.b, x, from_x, NULL, 0, &s.result);
      expect_stop(&s, MERBIT_STOP_CONVERGED, "b is zero");
      assert_true(x[0] == 0 && x[1] == 0 && s.result.iterations == 0);
      assert_true(s.result.residual == 0 && s.result.backward_error == 0);
      merbit_solver_destroy(solver);
      linear_free(&l);
    }
  }
}

static void test_indefinite(void **state) {
  static const dense indefinite = {2, {1, 0, 0, -1}, {1, 2}};
  static const dense negative = {2, {-4, 1, 1, -3}, {1, 2}};
  static const dense skew = {2, {0, 1, -1, 0}, {1, 2}};
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  double x[2];
  solved s = solve_dense(&indefinite, &desc, x);
  (void)state;
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "p'Ap = -3 in iteration 1");
  assert_true(x[0] == 0 && x[1] == 0 && s.result.residual == 1 && s.result.restarts == 0);
  s = solve_dense(&skew, &desc, x);
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "p'Ap = 0 in iteration 1");
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  s = solve_dense(&negative, &desc, x);
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "the preconditioner or the matrix is not");
  desc.method = MERBIT_SOLVER_BICGSTAB;
  s = solve_dense(&negative, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  assert_true(fabs(x[0] + 5.0 / 11) <= 1e-9 && fabs(x[1] + 9.0 / 11) <= 1e-9);
}

/* Numbers are small integers, so that breakdowns are exact. */
static void test_breakdown(void **state) {
  static const dense skew = {2, {0, 1, -1, 0}, {1, 0}};
  static const dense sigma = {3, {2, 1, 0, -1, -1, -1, -1, 1, -1}, {1, 1, 0}};
  static const dense rho = {3, {2, 0, 0, 0, 1, 1, -1, 0, 1}, {2, 0, 2}};
  static const dense omega = {2, {1, 1, -1, 0}, {1, 0}};
  static const dense zero = {2, {1, 1, 0, 0}, {1, 1}}; /* A s = 0 in the first iteration */
  static const dense singular = {3, {2, -2, 2, 0, 0, 0, 0, 1, 1}, {1, -1, -1}};
  const merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_BICGSTAB, 0);
  double x[3];
  solved s = solve_dense(&skew, &desc, x);
  (void)state;
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "shadow residual became orthogonal");
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "or for a Laplacian preconditioner_desc.singular");
  assert_true(s.result.iterations == 0 && s.result.residual == 1);
  s = solve_dense(&sigma, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  assert_int_equal(s.result.restarts, 1);
  assert_true(fabs(x[0] - 0.75) <= 1e-9 && fabs(x[1] + 0.5) <= 1e-9 &&
              fabs(x[2] + 1.25) <= 1e-9);
  s = solve_dense(&rho, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  assert_true(s.result.restarts == 1 && s.result.iterations == 2);
  assert_true(x[0] == 1 && x[1] == -3 && x[2] == 3);
  s = solve_dense(&omega, &desc, x);
  expect_stop(&s, s.result.stop, "");
  assert_true(s.result.stop == MERBIT_STOP_CONVERGED || s.result.stop == MERBIT_STOP_BREAKDOWN);
  s = solve_dense(&zero, &desc, x);
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "use MERBIT_SOLVER_GMRES");
  assert_true(x[0] == 1 && x[1] == 1 && s.result.residual == 1);
  s = solve_dense(&singular, &desc, x); /* ends with omega = 0 */
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "use MERBIT_SOLVER_GMRES");
}

/* Copies r to z, but makes its first element infinite. */
static int apply_infinite(void *user, const void *r, void *z, int64_t n, void *stream) {
  (void)user;
  (void)stream;
  memcpy(z, r, (size_t)n * sizeof(double));
  ((double *)z)[0] = (double)INFINITY;
  return 0;
}

/* The first column of A is empty, so that no product tells of the first element of x. */
static void test_infinite_x(void **state) {
  static const dense d = {3, {0, 1, 2, 0, 3, 1, 0, 2, -1}, {3, 4, 1}};
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_GMRES, 0);
  linear l = linear_dense(&d);
  const merbit_view view = linear_view(&l);
  merbit_solver *solver;
  double x[3] = {(double)INFINITY, 1, 1};
  solved s;
  int cap;
  (void)state;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  s.status = merbit_solver_solve(solver, l.b, x, 1, NULL, 0, &s.result);
  expect_stop(&s, MERBIT_STOP_NOT_FINITE, "by iteration 0: look at A, b and the first x");
  merbit_solver_destroy(solver);
  desc.preconditioner = MERBIT_PRECONDITIONER_CALLBACK;
  desc.apply = apply_infinite;
  for (cap = 1; cap <= 20 && context->side == MERBIT_SIDE_CPU; cap++) {
    desc.max_iterations = cap;
    s = solve_once(&l, &desc, x);
    expect_stop(&s, MERBIT_STOP_NOT_FINITE, "what solver_desc.apply computes");
    assert_true(isnan(s.result.residual));
  }
  linear_free(&l);
}

static void test_not_finite(void **state) {
  static const double bad[] = {(double)NAN, (double)INFINITY};
  size_t i;
  int method;
  (void)state;
  for (i = 0; i < 2; i++) {
    for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_GMRES; method++) {
      const merbit_solver_desc desc = solver_desc((merbit_solver_method)method, 0);
      dense b = {2, {4, 1, 1, 3}, {1, 2}}, a = {2, {4, 1, 1, 3}, {1, 2}};
      double x[2];
      solved s;
      b.b[1] = bad[i];
      s = solve_dense(&b, &desc, x);
      expect_stop(&s, MERBIT_STOP_NOT_FINITE, "not finite by iteration 0");
      assert_true(isnan(s.result.residual) && isnan(s.result.estimated_residual));
      assert_true(isnan(s.result.backward_error));
      a.a[1] = bad[i];
      s = solve_dense(&a, &desc, x);
      expect_stop(&s, MERBIT_STOP_NOT_FINITE, "not finite");
      assert_true(isnan(s.result.residual) && isnan(s.result.backward_error));
    }
  }
}

/* A sum that overflows leaves x unchanged. */
static void test_overflow(void **state) {
  static const dense large = {2, {1.5e308, 1.5e308, 1.5e308, 1e-10}, {1, 2}}; /* not scaled */
  static const dense turn = {2, {1, 1e160, -1e160, 1}, {1, 0}}; /* in the second product */
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  double x[2];
  solved s = solve_dense(&large, &desc, x);
  (void)state;
  expect_stop(&s, MERBIT_STOP_NOT_FINITE, "overflowed");
  assert_true(x[0] == 0 && x[1] == 0 && s.result.residual == 1);
  desc.method = MERBIT_SOLVER_BICGSTAB;
  s = solve_dense(&large, &desc, x);
  expect_stop(&s, MERBIT_STOP_NOT_FINITE, "overflowed");
  assert_true(x[0] == 0 && x[1] == 0 && s.result.residual == 1);
  s = solve_dense(&turn, &desc, x);
  expect_stop(&s, MERBIT_STOP_NOT_FINITE, "overflowed");
  assert_true(x[0] == 0 && x[1] == 0 && s.result.residual == 1);
}

static void test_diagonal(void **state) {
  static const dense missing = {3, {4, 1, 0, 1, 0, 2, 0, 2, 5}, {1, 2, 3}};
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_BICGSTAB, 0);
  double x[3];
  solved s;
  (void)state;
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  s = solve_dense(&missing, &desc, x);
  assert_int_equal(s.status, MERBIT_INVALID_MATRIX);
  cpu_expect(context, MERBIT_INVALID_MATRIX, "A(1, 1), counted from 0, is 0");
  desc.preconditioner = MERBIT_PRECONDITIONER_NONE;
  s = solve_dense(&missing, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
}

static void test_singular_block(void **state) {
  static const dense d = {3, {1, 0, 0, 0, 1, 2, 0, 2, 4}, {1, 2, 3}};
  static const dense pivots = {3, {0, 1, 0, 1, 0, 0, 0, 0, 4}, {1, 2, 3}};
  /* a Laplacian, whose last pivot is not quite zero; and a regular block with such a pivot */
  static const dense laplacian = {
      3, {0.3, -0.1, -0.2, -0.1, 0.8, -0.7, -0.2, -0.7, 0.1 + 0.1 + 0.7}, {-1, 0, 1}};
  static const dense scaled = {3, {1, 1, 0, 0, 1e-20, 0, 0, 0, 1}, {2, 1e-20, 1}};
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_BICGSTAB, 0);
  double x[3];
  solved s;
  (void)state;
  desc.preconditioner = MERBIT_PRECONDITIONER_BLOCK_JACOBI;
  desc.block_size = 3;
  s = solve_dense(&d, &desc, x);
  assert_int_equal(s.status, MERBIT_INVALID_MATRIX);
  cpu_expect(context, MERBIT_INVALID_MATRIX, "from row 0 on, counted from 0, of 3 rows");
  desc.block_size = 8;
  s = solve_dense(&d, &desc, x);
  assert_int_equal(s.status, MERBIT_INVALID_MATRIX);
  cpu_expect(context, MERBIT_INVALID_MATRIX, "of 3 rows, has no inverse");
  s = solve_dense(&laplacian, &desc, x);
  assert_int_equal(s.status, MERBIT_INVALID_MATRIX);
  cpu_expect(context, MERBIT_INVALID_MATRIX, "use another block_size or kind");
  s = solve_dense(&scaled, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  desc.block_size = 2;
  s = solve_dense(&pivots, &desc, x); /* no zero prevents one block of all rows */
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  assert_true(x[0] == 2 && x[1] == 1 && x[2] == 0.75 && s.result.iterations == 1);
}

static void test_empty(void **state) {
  const merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  static const int32_t row_ptr[] = {0};
  const merbit_view view = merbit_csr(0, 0, 0, row_ptr, NULL, NULL);
  merbit_solver *solver;
  merbit_solver_result result;
  double history[] = {7, 7};
  (void)state;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, NULL, NULL, 0, NULL, 0, &result), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, NULL, NULL, 0, history, 2, &result), MERBIT_OK);
  assert_true(history[0] == 0 && history[1] == 7);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_int_equal(result.iterations, 0);
  assert_string_equal(result.description, "A has no rows");
  merbit_solver_destroy(solver);
}

/* ---- What stops a solve ------------------------------------------------------------------ */

typedef struct watch {
  int calls, last_iteration, cancel_at;
  double last;
} watch;

static int watch_progress(void *user, int iteration, double residual, double seconds) {
  watch *w = (watch *)user;
  assert_true(iteration >= w->last_iteration && residual > 0 && seconds >= 0);
  w->last_iteration = iteration;
  w->last = residual;
  w->calls++;
  return w->calls == w->cancel_at;
}

/* A matrix unsuitable for CG: p'Ap stays positive, and the residual grows. */
static void test_cap_without_progress(void **state) {
  linear l = linear_grid(20, 0.9, 1, 0);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-10);
  double x[400];
  solved s;
  (void)state;
  desc.max_iterations = 30;
  s = solve_once(&l, &desc, x);
  expect_stop(&s, MERBIT_STOP_CAP, "no better than x = 0");
  assert_true(s.result.residual >= 1);
  expect_stop(&s, MERBIT_STOP_CAP, "use MERBIT_SOLVER_BICGSTAB or MERBIT_SOLVER_GMRES");
  linear_free(&l);
}

static void test_cap_and_cancel(void **state) {
  linear l = linear_grid(20, 0, 4, 0);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-12);
  watch w;
  double x[400];
  solved s;
  (void)state;
  memset(&w, 0, sizeof w);
  desc.max_iterations = 37;
  desc.progress = watch_progress;
  desc.progress_user = &w;
  s = solve_once(&l, &desc, x);
  expect_stop(&s, MERBIT_STOP_CAP, "max_iterations = 37");
  assert_true(s.result.iterations == 37 && w.last_iteration == 37 && w.calls == 1);
  assert_true(s.result.residual > 1e-12 &&
              fabs(s.result.residual - linear_residual(&l, x, 0)) <= 1e-10);
  assert_true(s.history[37] > 0 && s.history[38] == 0);
  assert_null(strstr(s.result.description, "x = 0"));
  memset(&w, 0, sizeof w);
  w.cancel_at = 1;
  desc.max_iterations = 0;
  s = solve_once(&l, &desc, x);
  expect_stop(&s, MERBIT_STOP_CANCELLED, "the progress callback");
  assert_int_equal(s.result.iterations, w.last_iteration);
  assert_true(fabs(s.result.residual - linear_residual(&l, x, 0)) <= 1e-10);
  assert_true(fabs(w.last - s.result.estimated_residual) <= 1e-12 * w.last);
  linear_free(&l);
}

/* The recurrence continues to fall when f32 allows no more progress. */
static void test_stagnation(void **state) {
  linear l = linear_grid(10, 0, 2, 0);
  float values[500], b[100], x[100];
  merbit_view view = linear_view(&l);
  int method, i;
  (void)state;
  for (i = 0; i < l.nnz; i++) {
    values[i] = (float)l.values[i];
    l.values[i] = (double)values[i];
  }
  for (i = 0; i < l.n; i++) {
    b[i] = (float)l.b[i];
    l.b[i] = (double)b[i];
  }
  view.value_type = MERBIT_F32;
  view.values = values;
  for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_GMRES; method++) {
    merbit_solver_desc desc = solver_desc((merbit_solver_method)method, 1e-12);
    merbit_solver *solver;
    solved s;
    assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
    s.status = merbit_solver_solve(solver, b, x, 0, NULL, 0, &s.result);
    expect_stop(&s, MERBIT_STOP_STAGNATED, "rounding errors in f32");
    expect_stop(&s, MERBIT_STOP_STAGNATED, "for a Laplacian use preconditioner_desc.singular");
    assert_true(s.result.restarts >= 1 && s.result.residual < 1e-4 &&
                s.result.residual > 1e-12);
    merbit_solver_destroy(solver);
    desc.tolerance = 0;
    assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
    s.status = merbit_solver_solve(solver, b, x, 0, NULL, 0, &s.result);
    expect_stop(&s, MERBIT_STOP_CONVERGED, "tolerance 1e-05");
    assert_true(linear_residual(&l, x, 1) <= 1.2e-5);
    merbit_solver_destroy(solver);
  }
  linear_free(&l);
}

/* At the limit of f64 the result is honest, whichever it is. */
static void test_limit(void **state) {
  /* a simulated GPU is too slow for many cycles of GMRES */
  const int on_cpu = context->side == MERBIT_SIDE_CPU;
  const int last = on_cpu ? MERBIT_SOLVER_GMRES : MERBIT_SOLVER_BICGSTAB;
  linear l = linear_grid(on_cpu ? 12 : 7, 0, 6, 0);
  double x[144];
  int method;
  (void)state;
  for (method = MERBIT_SOLVER_CG; method <= last; method++) {
    static const double tolerances[] = {1e-13, 1e-15, 1e-17};
    size_t t;
    for (t = 0; t < 3; t++) {
      const merbit_solver_desc desc = solver_desc((merbit_solver_method)method, tolerances[t]);
      const solved s = solve_once(&l, &desc, x);
      const double residual = linear_residual(&l, x, 0);
      assert_int_equal(s.status, MERBIT_OK);
      if (s.result.stop == MERBIT_STOP_CONVERGED) {
        assert_true(s.result.residual <= tolerances[t] && residual <= tolerances[t] + 2e-15);
      } else {
        expect_stop(&s, MERBIT_STOP_STAGNATED, "rounding errors in f64");
        assert_true(s.result.residual > tolerances[t] && residual < 1e-11);
      }
    }
  }
  linear_free(&l);
}

#endif /* TEST_SOLVE_SOLVER_ENDS_H */
