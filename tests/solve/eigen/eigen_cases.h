/* Eigenpairs on either side, against spectra with closed formulas. Include after
 * solver_cases.h. */
#ifndef TEST_SOLVE_EIGEN_CASES_H
#define TEST_SOLVE_EIGEN_CASES_H
#include "solve/core/solver_cases.h"

static const double eigen_pi = 3.14159265358979323846;

typedef struct pairs { /* of up to 400 rows */
  merbit_status status;
  merbit_eigen_result result;
  double values[MERBIT_EIGEN_MOST], vectors[8 * 400];
} pairs;

static merbit_eigen_desc eigen_desc(merbit_eigen_which which, int count, double tolerance) {
  merbit_eigen_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.side = context->side; /* no other side */
  desc.which = which;
  desc.count = count;
  desc.tolerance = tolerance;
  desc.seed = 3;
  return desc;
}

static void eigen_once(const linear *l, const merbit_eigen_desc *desc, pairs *p) {
  const merbit_view view = linear_view(l);
  p->status = merbit_eigen(context, &view, desc, p->values, p->vectors, &p->result);
}

/* Checks ||A v - value v||, ||v||, and orthogonality to the vectors before. */
static void check_pair(const linear *l, const pairs *p, int at, double scale,
                       double tolerance) {
  wide *x = (wide *)test_allocate(l->n, sizeof *x), left = 0, length = 0;
  int32_t i;
  int q;
  for (i = 0; i < l->n; i++) {
    x[i] = (wide)p->vectors[at * l->n + i];
    length += x[i] * x[i];
  }
  for (i = 0; i < l->n; i++) {
    const wide r = linear_row(l, x, i) - (wide)p->values[at] * x[i];
    left += r * r;
  }
  left = sqrtl(left) / (wide)scale;
  assert_true(fabsl(length - 1) <= 1e-12L && left <= (wide)tolerance);
  assert_true(fabsl(left - (wide)p->result.residuals[at]) <= 1e-3L * (wide)tolerance + 1e-14L);
  for (q = 0; q < at; q++) {
    wide dot = 0;
    for (i = 0; i < l->n; i++) {
      dot += x[i] * (wide)p->vectors[q * l->n + i];
    }
    assert_true(fabsl(dot) <= 1e-12L);
  }
  free(x);
}

static void check_pairs(const linear *l, const merbit_eigen_desc *desc, const double *expected,
                        double scale) {
  static pairs p;
  int q;
  eigen_once(l, desc, &p);
  assert_int_equal(p.status, MERBIT_OK);
  if (p.result.stop != MERBIT_STOP_CONVERGED || p.result.converged != desc->count) {
    fail_msg("stop %d, %d of %d after %d: %s", (int)p.result.stop, p.result.converged,
             desc->count, p.result.iterations, p.result.description);
  }
  assert_true(strstr(p.result.description, "eigenpair") != NULL);
  for (q = 0; q < desc->count; q++) {
    /* for symmetric matrices the residual bounds the distance to an eigenvalue */
    if (fabs(p.values[q] - expected[q]) > 2 * desc->tolerance * scale) {
      fail_msg("value %d is %.15g, expected %.15g", q, p.values[q], expected[q]);
    }
    check_pair(l, &p, q, scale, desc->tolerance);
  }
}

/* Makes the matrix of a path, whose eigenvalues are 2 - 2 cos(k pi / (n + 1)); `sign` -1:
 * negated. */
static linear eigen_path(int32_t n, double sign) {
  linear l;
  int32_t i;
  memset(&l, 0, sizeof l);
  l.n = n;
  l.row_ptr = (int32_t *)test_allocate(n + 1, sizeof *l.row_ptr);
  l.col_ind = (int32_t *)test_allocate(3 * n, sizeof *l.col_ind);
  l.values = (double *)test_allocate(3 * n, sizeof *l.values);
  for (i = 0; i < n; i++) {
    if (i > 0) {
      linear_put(&l, i - 1, -sign);
    }
    linear_put(&l, i, 2 * sign);
    if (i < n - 1) {
      linear_put(&l, i + 1, -sign);
    }
    l.row_ptr[i + 1] = l.nnz;
  }
  return l;
}

static double path_value(int32_t n, int32_t k) { /* k from 1, the smallest first */
  const double s = sin(eigen_pi * k / (2 * (n + 1)));
  return 4 * s * s;
}

static void test_eigen_path(void **state) {
  const int32_t n = context->side == MERBIT_SIDE_CPU ? 100 : 40; /* a GPU may be simulated */
  linear l = eigen_path(n, 1), minus = eigen_path(n, -1);
  const double top = path_value(n, n);
  double expected[8];
  merbit_eigen_desc desc = eigen_desc(MERBIT_EIGEN_LARGEST, 5, 1e-10);
  int q;
  (void)state;
  for (q = 0; q < 5; q++) {
    expected[q] = path_value(n, n - q);
  }
  check_pairs(&l, &desc, expected, top);
  desc.which = MERBIT_EIGEN_LARGEST_MAGNITUDE;
  check_pairs(&l, &desc, expected, top);
  desc.which = MERBIT_EIGEN_SMALLEST;
  for (q = 0; q < 5; q++) {
    expected[q] = path_value(n, q + 1);
  }
  check_pairs(&l, &desc, expected, top);
  desc.which = MERBIT_EIGEN_LARGEST_MAGNITUDE;
  for (q = 0; q < 5; q++) {
    expected[q] = -path_value(n, n - q);
  }
  check_pairs(&minus, &desc, expected, top);
  desc.which = MERBIT_EIGEN_BOTH_ENDS;
  desc.basis = 40;
  for (q = 0; q < 5; q++) {
    expected[q] = path_value(n, q % 2 == 0 ? n - q / 2 : q / 2 + 1);
  }
  check_pairs(&l, &desc, expected, top);
  linear_free(&l);
  linear_free(&minus);
}

/* Eigenvalues of a grid are double where i and j can be swapped: Lanczos finds both through
 * rounding. */
static void test_eigen_grid(void **state) {
  enum { SIDE = 12 };
  linear l = linear_grid(SIDE, 0, 1, 0);
  const double top = 2 * path_value(SIDE, SIDE);
  const double expected[] = {top, path_value(SIDE, SIDE) + path_value(SIDE, SIDE - 1)};
  merbit_eigen_desc desc = eigen_desc(MERBIT_EIGEN_LARGEST, 2, 1e-9);
  (void)state;
  check_pairs(&l, &desc, expected, top);
  linear_free(&l);
}

/* A basis larger than the products fill, and one as large as the matrix. */
static void test_eigen_small(void **state) {
  static const dense same = {3, {5, 0, 0, 0, 5, 0, 0, 0, 5}, {0}};
  static const dense three = {3, {2, 1, 0, 1, 2, 1, 0, 1, 2}, {0}};
  static const dense zero = {3, {1e-300, 0, 0, 0, 0, 0, 0, 0, 0}, {0}};
  static const double fives[] = {5, 5, 5}, nothing[] = {0, 0, 0};
  double roots[3];
  linear l = linear_dense(&same);
  merbit_eigen_desc desc = eigen_desc(MERBIT_EIGEN_SMALLEST, 3, 1e-12);
  static pairs p;
  (void)state;
  check_pairs(&l, &desc, fives, 5);
  linear_free(&l);
  l = linear_dense(&three);
  roots[0] = 2 - sqrt(2);
  roots[1] = 2;
  roots[2] = 2 + sqrt(2);
  check_pairs(&l, &desc, roots, roots[2]);
  linear_free(&l);
  l = linear_dense(&zero);
  l.values[0] = 0;
  eigen_once(&l, &desc, &p);
  assert_int_equal(p.result.stop, MERBIT_STOP_CONVERGED);
  assert_memory_equal(p.values, nothing, sizeof nothing);
  linear_free(&l);
}

/* Restarts with a basis hardly larger than the number of pairs, in f32, and for callers who
 * want only values. */
static void test_eigen_f32(void **state) {
  enum { N = 20 };
  linear l = eigen_path(N, 1);
  float values[3 * N], vectors[3 * N];
  merbit_view view = linear_view(&l);
  merbit_eigen_desc desc = eigen_desc(MERBIT_EIGEN_LARGEST, 3, 0);
  double found[3], again[3];
  merbit_eigen_result result;
  int i;
  (void)state;
  for (i = 0; i < l.nnz; i++) {
    values[i] = (float)l.values[i];
  }
  view.value_type = MERBIT_F32;
  view.values = values;
  desc.basis = 7;
  assert_int_equal(merbit_eigen(context, &view, &desc, found, vectors, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_true(result.restarts > 3 && result.converged == 3);
  for (i = 0; i < 3; i++) {
    assert_true(fabs(found[i] - path_value(N, N - i)) <= 2e-5 * 4);
    assert_true(result.residuals[i] <= 1e-5 && result.residuals[i] > 0);
  }
  assert_int_equal(merbit_eigen(context, &view, &desc, again, NULL, NULL), MERBIT_OK);
  assert_memory_equal(found, again, sizeof found);
  desc.tolerance = 1e-9;
  desc.basis = 12;
  assert_int_equal(merbit_eigen(context, &view, &desc, found, NULL, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_STAGNATED);
  assert_non_null(strstr(result.description, "rounding errors"));
  linear_free(&l);
}

/* One convergence check per cycle by the host, equal bits, seeds that change only the signs of
 * vectors. */
static void test_eigen_repeats(void **state) {
  linear l = eigen_path(45, 1);
  merbit_eigen_desc desc = eigen_desc(MERBIT_EIGEN_LARGEST, 2, 1e-10);
  static pairs first, again;
  (void)state;
  desc.deterministic = 1;
  eigen_once(&l, &desc, &first);
  eigen_once(&l, &desc, &again);
  assert_int_equal(first.result.stop, MERBIT_STOP_CONVERGED);
  assert_memory_equal(first.values, again.values, 2 * sizeof first.values[0]);
  assert_memory_equal(first.vectors, again.vectors, 90 * sizeof first.vectors[0]);
  assert_true(first.result.synchronizations <= first.result.restarts + 4);
  assert_true(first.result.device_bytes == 0 || first.result.device_bytes > 20 * 45 * 8);
  desc.seed = 4;
  eigen_once(&l, &desc, &again);
  assert_true(first.vectors[0] != again.vectors[0]);
  assert_true(fabs(first.values[1] - again.values[1]) <= 1e-9);
  linear_free(&l);
}

static void expect_eigen(const pairs *p, merbit_stop stop, const char *piece) {
  assert_int_equal(p->status, MERBIT_OK);
  if (p->result.stop != stop || strstr(p->result.description, piece) == NULL) {
    fail_msg("stop %d after %d products: %s", (int)p->result.stop, p->result.iterations,
             p->result.description);
  }
}

static void test_eigen_ends(void **state) {
  linear l = eigen_path(80, 1), windy = linear_grid(9, 0.1, 1, 0);
  merbit_eigen_desc desc = eigen_desc(MERBIT_EIGEN_LARGEST, 4, 1e-12);
  static pairs p;
  watch w;
  (void)state;
  desc.max_iterations = 30;
  eigen_once(&l, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_CAP, "max_iterations = 30");
  assert_true(p.result.iterations == 30 && p.result.converged < 4 && p.values[0] < 4);
  check_pair(&l, &p, 0, path_value(80, 80), 1);
  desc.max_iterations = 2;
  eigen_once(&l, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_CAP, "0 of 4");
  assert_true(p.values[1] == p.values[1] && p.values[2] != p.values[2]);
  assert_true(p.vectors[159] == p.vectors[159] && p.vectors[160] != p.vectors[160]);
  memset(&w, 0, sizeof w);
  w.cancel_at = 2;
  desc.max_iterations = 0;
  desc.progress = watch_progress;
  desc.progress_user = &w;
  eigen_once(&l, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_CANCELLED, "the progress callback");
  assert_true(w.calls == 2 && w.last_iteration == p.result.iterations && w.last < 1);
  desc.progress = NULL;
  eigen_once(&windy, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_BREAKDOWN, "the matrix is not symmetric");
  l.values[7] = (double)NAN;
  eigen_once(&l, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_NOT_FINITE, "not finite");
  assert_true(p.values[0] != p.values[0]);
  linear_free(&l);
  linear_free(&windy);
}

/* ---- The power method -------------------------------------------------------------------- */

static void test_power(void **state) {
  static const dense chain = {3, {0.5, 0.25, 0.25, 0.125, 0.5, 0.375, 0.25, 0, 0.75}, {0}};
  static const dense minus = {3, {-7, 2, 0, 0, 3, 0, 1, 0, 1}, {0}};
  static const dense mirror = {2, {0, 1, 1, 0}, {0}};
  static const dense turn = {2, {3, -4, 4, 3}, {0}};
  static const dense nothing = {3, {0, 1, 0, 0, 0, 1, 0, 0, 0}, {0}};
  static const dense vanishing = {2, {0, 1, 1e-200, 0}, {0}};
  static const dense immense = {2, {1.5e308, 1.5e308, 1.5e308, 1.5e308}, {0}};
  merbit_eigen_desc desc = eigen_desc(MERBIT_EIGEN_LARGEST_MAGNITUDE, 1, 1e-11);
  const dense *bad[2];
  static pairs p;
  linear l = linear_dense(&chain);
  size_t i;
  (void)state;
  desc.method = MERBIT_EIGEN_POWER;
  eigen_once(&l, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_CONVERGED, "1 eigenpair is");
  assert_true(fabs(p.values[0] - 1) <= 1e-10 && fabs(p.vectors[0] - p.vectors[2]) <= 1e-10);
  check_pair(&l, &p, 0, 1, 1e-11);
  linear_free(&l);
  l = linear_dense(&minus);
  eigen_once(&l, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_CONVERGED, "");
  assert_true(fabs(p.values[0] + 7) <= 1e-9);
  desc.max_iterations = 5;
  eigen_once(&l, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_CAP, "0 of 1");
  assert_int_equal(p.result.iterations, 5);
  desc.max_iterations = 0;
  linear_free(&l);
  bad[0] = &mirror;
  bad[1] = &turn;
  for (i = 0; i < 2; i++) {
    l = linear_dense(bad[i]);
    eigen_once(&l, &desc, &p);
    expect_eigen(&p, MERBIT_STOP_STAGNATED, "no real eigenvalue is larger");
    linear_free(&l);
  }
  l = linear_dense(&nothing);
  eigen_once(&l, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_CONVERGED, "");
  assert_true(p.values[0] == 0 && p.result.residuals[0] == 0);
  l.values[1] = (double)INFINITY;
  eigen_once(&l, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_NOT_FINITE, "not finite");
  linear_free(&l);
  for (i = 0; i < 2; i++) {
    l = linear_dense(&immense);
    desc.method = i == 0 ? MERBIT_EIGEN_LANCZOS : MERBIT_EIGEN_POWER;
    eigen_once(&l, &desc, &p);
    expect_eigen(&p, MERBIT_STOP_NOT_FINITE, "overflowed");
    linear_free(&l);
  }
  l = linear_dense(&vanishing); /* the eigenvalues are 1e-100 and -1e-100 */
  eigen_once(&l, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_NOT_FINITE, "so small that its square is 0");
  linear_free(&l);
}

/* ---- Matrices of extreme scale ----------------------------------------------------------- */

/* Checks pairs of 2^exponent A: the eigenvalues are scaled, the vectors are the same, bit for
 * bit. */
static void check_eigen_far(linear *l, const merbit_eigen_desc *desc, int exponent) {
  static pairs near, far;
  int32_t k;
  int q;
  eigen_once(l, desc, &near);
  for (k = 0; k < l->nnz; k++) {
    l->values[k] = ldexp(l->values[k], exponent);
  }
  eigen_once(l, desc, &far);
  for (k = 0; k < l->nnz; k++) {
    l->values[k] = ldexp(l->values[k], -exponent);
  }
  assert_int_equal(far.status, MERBIT_OK);
  if (far.result.stop != near.result.stop || far.result.iterations != near.result.iterations) {
    fail_msg("2^%d: stop %d after %d products, %d after %d wanted: %s", exponent,
             (int)far.result.stop, far.result.iterations, (int)near.result.stop,
             near.result.iterations, far.result.description);
  }
  assert_int_equal(far.result.converged, near.result.converged);
  assert_memory_equal(far.vectors, near.vectors,
                      (size_t)(l->n * far.result.converged) * sizeof far.vectors[0]);
  for (q = 0; q < far.result.converged; q++) {
    assert_true(far.values[q] == ldexp(near.values[q], exponent));
    assert_true(far.result.residuals[q] == near.result.residuals[q]);
  }
}

static void test_eigen_far(void **state) {
  static const int exponents[] = {-548, 548, -1000, 1000, -300, 300, 60};
  static const dense power = {2, {1, 0.25, 0, 2}, {0}};
  static const dense tiny = {2, {1e-170, 0, 0, 2e-170}, {0}};
  const int count = context->side == MERBIT_SIDE_CPU ? 7 : 2; /* a GPU may be simulated */
  merbit_eigen_desc desc = eigen_desc(MERBIT_EIGEN_BOTH_ENDS, 4, 1e-10);
  linear path = eigen_path(30, 1), windy = linear_grid(5, 0.1, 1, 0),
         two = linear_dense(&power);
  static pairs p;
  int e;
  (void)state;
  for (e = 0; e < count; e++) {
    desc.method = MERBIT_EIGEN_LANCZOS;
    desc.which = MERBIT_EIGEN_BOTH_ENDS;
    desc.count = 4;
    check_eigen_far(&path, &desc, exponents[e]);
    check_eigen_far(&windy, &desc, exponents[e]); /* reported as nonsymmetric */
    desc.method = MERBIT_EIGEN_POWER;
    desc.which = MERBIT_EIGEN_LARGEST_MAGNITUDE;
    desc.count = 1;
    check_eigen_far(&two, &desc, exponents[e]);
  }
  linear_free(&two);
  two = linear_dense(&tiny);
  eigen_once(&two, &desc, &p);
  expect_eigen(&p, MERBIT_STOP_CONVERGED, "of 2e-170");
  assert_true(fabs(p.values[0] / 2e-170 - 1) <= 1e-9);
  linear_free(&path);
  linear_free(&windy);
  linear_free(&two);
}

/* ---- Refusals ---------------------------------------------------------------------------- */

static void refuse(const merbit_view *view, const merbit_eigen_desc *desc, merbit_status status,
                   const char *piece) {
  double values[MERBIT_EIGEN_MOST];
  assert_int_equal(merbit_eigen(context, view, desc, values, NULL, NULL), status);
  cpu_expect(context, status, piece);
}

static void test_eigen_refusals(void **state) {
  linear l = eigen_path(9, 1);
  merbit_view view = linear_view(&l);
  const merbit_eigen_desc good = eigen_desc(MERBIT_EIGEN_LARGEST, 2, 0);
  merbit_eigen_desc desc = good;
  double value;
  (void)state;
  assert_int_equal(merbit_eigen(NULL, &view, NULL, &value, NULL, NULL),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_eigen(context, NULL, NULL, &value, NULL, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`view` is NULL");
  assert_int_equal(merbit_eigen(context, &view, NULL, NULL, NULL, NULL),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_eigen(context, &view, NULL, &value, NULL, NULL), MERBIT_OK);
  assert_true(fabs(value - path_value(9, 9)) <= 1e-9);
#define REFUSE(field, number, piece)                                                           \
  desc = good;                                                                                 \
  desc.field = number;                                                                         \
  refuse(&view, &desc, MERBIT_INVALID_ARGUMENT, piece)
  REFUSE(method, (merbit_eigen_method)2, "eigen_desc.method is 2");
  REFUSE(method, MERBIT_EIGEN_POWER, "LARGEST_MAGNITUDE with the power");
  REFUSE(which, (merbit_eigen_which)4, "eigen_desc.which is 4");
  REFUSE(count, -1, "eigen_desc.count is -1");
  REFUSE(count, 33, "eigen_desc.count is 33");
  REFUSE(count, INT32_MAX, "eigen_desc.count is 2147483647");
  REFUSE(count, 10, "the matrix has 9 rows");
  REFUSE(basis, 3, "eigen_desc.basis is 3");
  REFUSE(basis, 257, "eigen_desc.basis is 257");
  REFUSE(max_iterations, -1, "eigen_desc.max_iterations is -1");
  REFUSE(side, (merbit_side)7, "eigen_desc.side is 7");
  REFUSE(tolerance, 1, "eigen_desc.tolerance is 1");
  desc = good;
  desc.method = MERBIT_EIGEN_POWER;
  desc.which = MERBIT_EIGEN_LARGEST_MAGNITUDE;
  refuse(&view, &desc, MERBIT_INVALID_ARGUMENT, "1 with the power method");
  view.rows = 8;
  view.nnz = l.row_ptr[8];
  refuse(&view, &good, MERBIT_INVALID_MATRIX, "8 x 9");
  view = linear_view(&l);
  view.value_type = MERBIT_C64;
  refuse(&view, &good, MERBIT_NOT_SUPPORTED, "merbit_eigen takes");
  linear_free(&l);
}

#define EIGEN_CASES                                                                            \
  cmocka_unit_test(test_eigen_path), cmocka_unit_test(test_eigen_grid),                        \
      cmocka_unit_test(test_eigen_small), cmocka_unit_test(test_eigen_f32),                    \
      cmocka_unit_test(test_eigen_repeats), cmocka_unit_test(test_eigen_ends),                 \
      cmocka_unit_test(test_power), cmocka_unit_test(test_eigen_far),                          \
      cmocka_unit_test(test_eigen_refusals)

#endif /* TEST_SOLVE_EIGEN_CASES_H */
