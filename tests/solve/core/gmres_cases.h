/* GMRES on either side: cases that solver_cases.h lacks. Include after it. */
#ifndef TEST_SOLVE_GMRES_CASES_H
#define TEST_SOLVE_GMRES_CASES_H
#include "solve/core/gmres_reference.h"
#include "solve/core/solver_cases.h"

static merbit_solver_desc gmres_desc(int restart, double tolerance) {
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_GMRES, tolerance);
  desc.restart = restart;
  return desc;
}

static void test_gmres_counts(void **state) {
  static const int restarts[] = {0, 1, 5, 9, 16, 400};
  linear even = linear_grid(12, 0, 1, 0), windy = linear_grid(11, 0.4, 1.5, 0);
  const linear *systems[2];
  double x[200];
  size_t s, r;
  int jacobi;
  (void)state;
  systems[0] = &even;
  systems[1] = &windy;
  for (s = context->side == MERBIT_SIDE_CPU ? 0 : 1; s < 2; s++) {
    for (r = context->side == MERBIT_SIDE_CPU ? 0 : 3; r < sizeof restarts / sizeof restarts[0];
         r++) {
      for (jacobi = 0; jacobi <= 1; jacobi++) {
        const linear *l = systems[s];
        const int most = restarts[r] == 0 ? 30 : restarts[r] > l->n ? l->n : restarts[r];
        const double tolerance = restarts[r] == 1 ? 1e-3 : 1e-8;
        const int expected = reference_gmres(l, jacobi, most, tolerance, 1000);
        merbit_solver_desc desc = gmres_desc(restarts[r], tolerance);
        solved got;
        desc.preconditioner =
            jacobi ? MERBIT_PRECONDITIONER_JACOBI : MERBIT_PRECONDITIONER_NONE;
        got = solve_once(l, &desc, x);
        check_converged(l, &got, tolerance, expected, x);
        assert_true(abs(got.result.restarts - (expected - 1) / most) <=
                    1 + expected / most / 10);
        assert_true(got.result.estimated_residual >= 0.99 * got.result.residual &&
                    got.result.estimated_residual <= 1.01 * got.result.residual);
      }
    }
  }
  linear_free(&even);
  linear_free(&windy);
}

/* In a wind that is hard for CG and BiCGSTAB the residual falls from step to step. */
static void test_gmres_nonsymmetric(void **state) {
  linear l = linear_grid(14, 3, 1, 0);
  merbit_solver_desc desc = gmres_desc(0, 1e-9);
  double x[196];
  int k;
  solved s = solve_once(&l, &desc, x);
  (void)state;
  check_converged(&l, &s, 1e-9, reference_gmres(&l, 0, 30, 1e-9, 1000), x);
  for (k = 1; k <= s.result.iterations; k++) {
    assert_true(s.history[k] <= s.history[k - 1] * (1 + 1e-12));
  }
  desc.method = MERBIT_SOLVER_CG;
  desc.max_iterations = 300;
  s = solve_once(&l, &desc, x);
  assert_true(s.result.stop != MERBIT_STOP_CONVERGED);
  linear_free(&l);
}

/* GMRES takes as many steps as there are different eigenvalues. */
static void test_gmres_happy(void **state) {
  static const dense one = {3, {4, 0, 0, 0, 4, 0, 0, 0, 4}, {1, 2, 3}};
  static const dense two = {3, {4, 0, 0, 0, 2, 0, 0, 0, 4}, {1, 2, 3}};
  static const dense shift = {3, {0, 0, 1, 1, 0, 0, 0, 1, 0}, {0, 5, 0}};
  const merbit_solver_desc desc = gmres_desc(0, 0);
  double x[3];
  solved s = solve_dense(&one, &desc, x);
  (void)state;
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  assert_true(s.result.iterations == 1 && fabs(x[2] - 0.75) <= 1e-15);
  s = solve_dense(&two, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  assert_true(s.result.iterations == 2 && fabs(x[1] - 1) <= 1e-15);
  s = solve_dense(&shift, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  assert_true(s.result.iterations == 3 && s.result.restarts == 0 && fabs(x[0] - 5) <= 1e-14);
}

static void test_gmres_singular(void **state) {
  static const dense nilpotent = {2, {0, 1, 0, 0}, {1, 0}};
  static const dense later = {3, {1, 1, 0, 0, 0, 1, 0, 0, 0}, {1, 1, 1}};
  static const dense consistent = {2, {1, 1, 1, 1}, {2, 2}};
  static const dense inconsistent = {2, {1, 1, 1, 1}, {2, 0}};
  merbit_solver_desc desc = gmres_desc(0, 0);
  double x[3];
  solved s = solve_dense(&nilpotent, &desc, x);
  (void)state;
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "maps the 1 vectors");
  assert_true(s.result.residual == 1 && x[0] == 0 && x[1] == 0);
  s = solve_dense(&later, &desc, x);
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "the matrix is singular");
  assert_true(s.result.residual < 1 && fabs(s.result.residual - 1 / sqrt(3)) <= 0.1);
  assert_true(fabs(s.result.residual - s.result.estimated_residual) <= 1e-12);
  s = solve_dense(&consistent, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  s = solve_dense(&inconsistent, &desc, x);
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "A maps the 2 vectors");
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  s = solve_dense(&inconsistent, &desc, x);
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "A M^-1 maps the 2 vectors");
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "the matrix or the preconditioner is singular");
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "for a Laplacian use preconditioner_desc.singular");
}

/* Applies the identity. */
static int apply_copy(void *user, const void *r, void *z, int64_t n, void *stream) {
  (void)user;
  (void)stream;
  memcpy(z, r, (size_t)n * sizeof(double));
  return 0;
}

/* A cyclic shift of the entries: no progress until all have gone round. */
static void test_gmres_stalls(void **state) {
  enum { RING = 12 };
  linear l;
  double x[RING];
  int32_t i;
  int method;
  solved s;
  (void)state;
  memset(&l, 0, sizeof l);
  l.n = RING;
  l.row_ptr = (int32_t *)test_allocate(RING + 1, sizeof *l.row_ptr);
  l.col_ind = (int32_t *)test_allocate(RING, sizeof *l.col_ind);
  l.values = (double *)test_allocate(RING, sizeof *l.values);
  l.b = (double *)test_allocate(RING, sizeof *l.b);
  for (i = 0; i < RING; i++) {
    linear_put(&l, (i + 1) % RING, 2);
    l.row_ptr[i + 1] = l.nnz;
  }
  l.b[0] = 2;
  for (method = 0; method < 3; method++) {
    const int restart = method == 0 ? 5 : method == 1 ? RING - 1 : RING;
    const int applied = method == 1 && context->side == MERBIT_SIDE_CPU;
    merbit_solver_desc desc = gmres_desc(restart, 0);
    desc.preconditioner = applied ? MERBIT_PRECONDITIONER_CALLBACK : MERBIT_PRECONDITIONER_NONE;
    desc.apply = applied ? apply_copy : NULL;
    s = solve_once(&l, &desc, x);
    if (restart < RING) {
      expect_stop(&s, MERBIT_STOP_STAGNATED,
                  applied ? "raise solver_desc.restart, or take another preconditioner"
                          : "raise solver_desc.restart, or take a preconditioner");
      assert_true(s.result.iterations == 3 * restart && s.result.residual == 1);
    } else {
      expect_stop(&s, MERBIT_STOP_CONVERGED, "");
      assert_true(s.result.iterations == RING && fabs(x[1] - 1) <= 1e-14);
    }
  }
  linear_free(&l);
}

/* A cycle that is cut short keeps its progress. */
static void test_gmres_cap(void **state) {
  linear l = linear_grid(20, 0.3, 2, 0);
  merbit_solver_desc desc = gmres_desc(7, 1e-12);
  double x[400];
  solved s;
  (void)state;
  for (desc.max_iterations = 1; desc.max_iterations <= 22; desc.max_iterations += 3) {
    s = solve_once(&l, &desc, x);
    expect_stop(&s, MERBIT_STOP_CAP, "max_iterations");
    assert_int_equal(s.result.iterations, desc.max_iterations);
    assert_true(s.history[desc.max_iterations] > 0 && s.history[desc.max_iterations + 1] == 0);
    assert_true(fabs(s.result.residual - s.history[desc.max_iterations]) <= 1e-12);
    assert_true(fabs(s.result.residual - linear_residual(&l, x, 0)) <= 1e-12);
    assert_int_equal(s.result.restarts, (desc.max_iterations - 1) / 7);
  }
  linear_free(&l);
}

/* Block Jacobi helps, in cycles that store M^-1 v as well as v. */
static void test_gmres_blocks(void **state) {
  linear l = linear_grid(15, 0.4, 3, 0);
  merbit_solver_desc desc = gmres_desc(8, 1e-9);
  double x[225];
  int k;
  solved plain, s;
  (void)state;
  desc.preconditioner = MERBIT_PRECONDITIONER_BLOCK_JACOBI;
  desc.block_size = 1;
  s = solve_once(&l, &desc, x);
  check_converged(&l, &s, 1e-9, reference_gmres(&l, 1, 8, 1e-9, 1000), x);
  plain = s;
  desc.block_size = 15;
  s = solve_once(&l, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  assert_true(s.result.iterations < plain.result.iterations);
  assert_true(linear_residual(&l, x, 0) <= 1.001e-9);
  for (k = 1; k <= s.result.iterations; k++) {
    assert_true(s.history[k] <= s.history[k - 1] * (1 + 1e-12));
  }
  linear_free(&l);
}

/* With refine the restarts of all corrections count, and the corrections after the first. */
static void test_gmres_refine(void **state) {
  enum { RESTART = 5 };
  linear l = linear_grid(9, 0.3, 1, 0);
  merbit_solver_desc desc = gmres_desc(RESTART, 1e-10);
  watch w;
  double x[81];
  solved s;
  int corrections, full;
  (void)state;
  memset(&w, 0, sizeof w);
  desc.refine = 1;
  desc.progress = watch_progress;
  desc.progress_user = &w;
  s = solve_once(&l, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  corrections = (w.calls - 1) / 2; /* two calls in each, and one at the end */
  assert_true(corrections > 1);
  full = s.result.iterations / RESTART; /* the last cycle of a correction has no restart */
  assert_in_range(s.result.restarts, corrections - 1 + full - corrections,
                  corrections - 1 + full);
  linear_free(&l);
}

static void test_gmres_refusals(void **state) {
  linear l = linear_grid(3, 0, 1, 0);
  merbit_solver_desc desc = gmres_desc(-1, 0);
  double x[9];
  (void)state;
  assert_int_equal(solve_once(&l, &desc, x).status, MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "solver_desc.restart is -1");
  desc.restart = 513;
  assert_int_equal(solve_once(&l, &desc, x).status, MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "use 1 to 512");
  desc.restart = 512;
  assert_int_equal(solve_once(&l, &desc, x).status, MERBIT_OK);
  linear_free(&l);
}

/* The same bits in every solve, and few convergence checks by the host. */
static void test_gmres_repeats(void **state) {
  linear l = linear_grid(9, 0.2, 2, 0);
  const merbit_view view = linear_view(&l);
  merbit_solver_desc desc = gmres_desc(8, 1e-9);
  merbit_solver *solver;
  merbit_solver_result first, again;
  double x[81], y[81];
  (void)state;
  desc.deterministic = 1;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, l.b, x, 0, NULL, 0, &first), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, l.b, y, 0, NULL, 0, &again), MERBIT_OK);
  assert_memory_equal(x, y, sizeof x);
  assert_true(first.stop == MERBIT_STOP_CONVERGED && first.iterations > 100);
  assert_true(first.iterations == again.iterations && first.restarts == again.restarts);
  assert_true(first.synchronizations <= 2 + first.iterations / 50);
  if (first.device_bytes != 0) {
    assert_true(first.device_bytes >= 9 * (int64_t)sizeof x);
  }
  y[7] += 1e-3;
  assert_int_equal(merbit_solver_solve(solver, l.b, y, 1, NULL, 0, &again), MERBIT_OK);
  assert_true(again.stop == MERBIT_STOP_CONVERGED && again.iterations < first.iterations);
  merbit_solver_destroy(solver);
  linear_free(&l);
}

#define GMRES_CASES                                                                            \
  cmocka_unit_test(test_gmres_counts), cmocka_unit_test(test_gmres_nonsymmetric),              \
      cmocka_unit_test(test_gmres_happy), cmocka_unit_test(test_gmres_singular),               \
      cmocka_unit_test(test_gmres_stalls), cmocka_unit_test(test_gmres_cap),                   \
      cmocka_unit_test(test_gmres_blocks), cmocka_unit_test(test_gmres_refine),                \
      cmocka_unit_test(test_gmres_refusals), cmocka_unit_test(test_gmres_repeats)

#endif /* TEST_SOLVE_GMRES_CASES_H */
