/* Properties of every solver on both sides: iteration counts, residuals, ends. Include after
 * merbit.h, cmocka.h and support/cpu.h; `context` is the test's. */
#ifndef TEST_SOLVE_SOLVER_CASES_H
#define TEST_SOLVE_SOLVER_CASES_H
#include "solve/core/solver_reference.h"

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
  desc.side = context->side; /* no other side */
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.tolerance = tolerance;
  return desc;
}

static merbit_view linear_view(const linear *l) {
  return merbit_csr(l->n, l->n, l->nnz, l->row_ptr, l->col_ind, l->values);
}

/* Solves from zero in f64; x receives the result. */
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

static void expect_stop(const solved *s, merbit_stop stop, const char *piece) {
  assert_int_equal(s->status, MERBIT_OK);
  if (s->result.stop != stop || strstr(s->result.description, piece) == NULL) {
    fail_msg("stop %d after %d iterations: %s", (int)s->result.stop, s->result.iterations,
             s->result.description);
  }
}

/* Checks a solve that had to converge. */
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

#include "solve/core/solver_ends.h"

/* Block Jacobi: blocks of one row are the diagonal, one block of all rows is A itself; compared
 * with a callback. */
typedef struct applied {
  const linear *l;
  int calls, stop_at;
} applied;

TEST_UNUSED static int apply_diagonal(void *user, const void *r, void *z, int64_t n,
                                      void *stream) {
  applied *a = (applied *)user;
  int64_t i;
  int32_t k;
  (void)stream;
  assert_int_equal(n, a->l->n);
  for (i = 0; i < n; i++) {
    for (k = a->l->row_ptr[i]; k < a->l->row_ptr[i + 1]; k++) {
      if (a->l->col_ind[k] == i) {
        ((double *)z)[i] = ((const double *)r)[i] / a->l->values[k];
      }
    }
  }
  return ++a->calls == a->stop_at;
}

static void test_blocks(void **state) {
  linear symmetric = linear_grid(9, 0, 3, 0), windy = linear_grid(9, 0.3, 2, 0);
  linear small = linear_grid(5, 0, 2, 0);
  merbit_preconditioner_desc options = merbit_preconditioner_defaults();
  double x[81];
  int method;
  (void)state;
  options.block_size = 32;
  for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_BICGSTAB; method++) {
    const linear *l = method == MERBIT_SOLVER_CG ? &symmetric : &windy;
    const int jacobi = method == MERBIT_SOLVER_CG ? reference_cg(l, 1, 1e-9, 1000)
                                                  : reference_bicgstab(l, 1, 1e-9, 1000);
    merbit_solver_desc desc = solver_desc((merbit_solver_method)method, 1e-9);
    solved s;
    desc.preconditioner = MERBIT_PRECONDITIONER_BLOCK_JACOBI;
    desc.block_size = 1;
    s = solve_once(l, &desc, x);
    check_converged(l, &s, 1e-9, jacobi, x);
    desc.block_size = 0;
    s = solve_once(l, &desc, x);
    expect_stop(&s, MERBIT_STOP_CONVERGED, "");
    assert_true(s.result.iterations < jacobi + 2 && linear_residual(l, x, 0) <= 1.001e-9);
    desc.block_size = 9; /* a row of the grid */
    s = solve_once(l, &desc, x);
    expect_stop(&s, MERBIT_STOP_CONVERGED, "");
    assert_true(s.result.iterations < jacobi && linear_residual(l, x, 0) <= 1.001e-9);
    desc.block_size = 32; /* the whole matrix */
    s = solve_once(&small, &desc, x);
    expect_stop(&s, MERBIT_STOP_CONVERGED, "");
    assert_true(s.result.iterations == 1 && linear_residual(&small, x, 0) <= 1e-12);
    desc.block_size = 0; /* the same through the preconditioner's options */
    desc.precondition = &options;
    s = solve_once(&small, &desc, x);
    assert_true(s.result.iterations == 1 && linear_residual(&small, x, 0) <= 1e-12);
  }
  linear_free(&symmetric);
  linear_free(&windy);
  linear_free(&small);
}

/* ---- Lifetime ---------------------------------------------------------------------------- */

/* The same solver twice, another one, a start from the solution, new values. */
static void test_repeats(void **state) {
  linear l = linear_grid(13, 0.2, 2, 0);
  const merbit_view view = linear_view(&l);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_BICGSTAB, 1e-9);
  merbit_solver *solver, *other;
  merbit_solver_result first, again;
  double x[169], y[169], z[169], history[3] = {-1, -1, -1};
  int i;
  (void)state;
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  desc.deterministic = 1;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_create(context, &view, &desc, &other), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, l.b, x, 0, history, 2, &first), MERBIT_OK);
  assert_true(history[0] == 1 && history[1] > 0 && history[2] == -1);
  assert_int_equal(merbit_solver_solve(other, l.b, z, 0, NULL, 7, NULL), MERBIT_OK);
  memcpy(y, x, sizeof x);
  assert_int_equal(merbit_solver_solve(solver, l.b, y, 1, NULL, 0, &again), MERBIT_OK);
  assert_true(again.iterations == 0 && again.stop == MERBIT_STOP_CONVERGED);
  assert_memory_equal(x, y, sizeof x);
  y[0] += 1e-3;
  assert_int_equal(merbit_solver_solve(solver, l.b, y, 1, NULL, 0, &again), MERBIT_OK);
  assert_true(again.iterations > 0 && again.stop == MERBIT_STOP_CONVERGED);
  assert_int_equal(merbit_solver_solve(solver, l.b, y, 0, NULL, 0, &again), MERBIT_OK);
  assert_memory_equal(x, y, sizeof x);
  assert_memory_equal(x, z, sizeof x);
  assert_true(again.iterations == first.iterations && again.residual == first.residual);
  for (i = 0; i < l.nnz; i++) {
    l.values[i] *= 4;
  }
  assert_int_equal(merbit_solver_update_values(solver, l.values, MERBIT_MEMORY_DEFAULT),
                   MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, l.b, y, 0, NULL, 0, &again), MERBIT_OK);
  for (i = 0; i < l.n; i++) {
    assert_true(4 * y[i] == x[i]); /* powers of two round alike */
  }
  assert_true(again.backward_error == first.backward_error);
  merbit_solver_destroy(solver);
  merbit_solver_destroy(other);
  linear_free(&l);
}

/* b and x where the context computes. */
static void test_buffers(void **state) {
  linear l = linear_grid(8, 0, 1, 0);
  const merbit_view view = linear_view(&l);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
  merbit_buffer *b, *x;
  merbit_solver *solver;
  merbit_solver_result result;
  double answer[64];
  (void)state;
  desc.vector_memory = MERBIT_MEMORY_DEFAULT;
  assert_int_equal(merbit_buffer_create(context, sizeof answer, &b), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, sizeof answer, &x), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(b, 0, l.b, sizeof answer), MERBIT_OK);
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, merbit_buffer_pointer(b),
                                       merbit_buffer_pointer(x), 0, NULL, 0, &result),
                   MERBIT_OK);
  assert_int_equal(merbit_buffer_download(x, 0, answer, sizeof answer), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_true(linear_residual(&l, answer, 0) <= 1.001e-9);
  merbit_solver_destroy(solver);
  merbit_buffer_destroy(b);
  merbit_buffer_destroy(x);
  linear_free(&l);
}

/* The same matrix in other forms. */
static void test_views(void **state) {
  linear l = linear_grid(7, 0, 2, 0);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
  merbit_view views[3];
  int64_t row_ind[300], col_ind[300], half_row[300], half_col[300];
  int32_t from_one[50], cols_one[300];
  double half[300], x[49], expected[49];
  int32_t i, k, halves = 0;
  size_t v;
  solved s;
  (void)state;
  for (i = 0; i < l.n; i++) {
    for (k = l.row_ptr[i]; k < l.row_ptr[i + 1]; k++) {
      row_ind[k] = i;
      col_ind[k] = l.col_ind[k];
      cols_one[k] = l.col_ind[k] + 1;
      if (col_ind[k] <= i) {
        half_row[halves] = i;
        half_col[halves] = col_ind[k];
        half[halves++] = l.values[k];
      }
    }
    from_one[i] = l.row_ptr[i] + 1;
  }
  from_one[l.n] = l.nnz + 1;
  memset(views, 0, sizeof views);
  views[0].format = views[1].format = MERBIT_COO;
  views[0].index_type = views[1].index_type = MERBIT_INDEX_64;
  views[0].rows = views[0].cols = views[1].rows = views[1].cols = l.n;
  views[0].nnz = l.nnz;
  views[0].row_ind = row_ind;
  views[0].col_ind = col_ind;
  views[0].values = l.values;
  views[1].nnz = halves;
  views[1].row_ind = half_row;
  views[1].col_ind = half_col;
  views[1].values = half;
  views[1].symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  views[2] = merbit_csr(l.n, l.n, l.nnz, from_one, cols_one, l.values);
  views[2].base = 1;
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  s = solve_once(&l, &desc, expected);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  for (v = 0; v < 3; v++) {
    merbit_solver *solver;
    merbit_solver_result result;
    assert_int_equal(merbit_solver_create(context, &views[v], &desc, &solver), MERBIT_OK);
    assert_int_equal(merbit_solver_solve(solver, l.b, x, 0, NULL, 0, &result), MERBIT_OK);
    assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
    assert_true(linear_residual(&l, x, 0) <= 1.001e-9);
    assert_true(fabs(result.backward_error - s.result.backward_error) <= 1e-12);
    merbit_solver_destroy(solver);
  }
  linear_free(&l);
}

/* The norm of A in the backward error: of a CSR with several entries in one place, the sum of
 * all their magnitudes; of a COO, that of what they add up to. */
static void test_repeated_entries(void **state) {
  static const int32_t row_ptr[] = {0, 3, 5}, row_ind[] = {0, 0, 0, 1, 1},
                       col_ind[] = {0, 1, 0, 0, 1};
  static const double values[] = {8, 1, -4, 1, 3}, b[] = {1, 2};
  const merbit_view views[] = {merbit_csr(2, 2, 5, row_ptr, col_ind, values),
                               merbit_coo(2, 2, 5, row_ind, col_ind, values)};
  const double norms[] = {13, 5};
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  int v;
  (void)state;
  desc.max_iterations = 1;
  for (v = 0; v < 2; v++) {
    merbit_solver *solver;
    merbit_solver_result result;
    double x[2], left[2], wanted;
    assert_int_equal(merbit_solver_create(context, &views[v], &desc, &solver), MERBIT_OK);
    assert_int_equal(merbit_solver_solve(solver, b, x, 0, NULL, 0, &result), MERBIT_OK);
    left[0] = fabs(1 - 4 * x[0] - x[1]);
    left[1] = fabs(2 - x[0] - 3 * x[1]);
    wanted = fmax(left[0], left[1]) / (norms[v] * fmax(fabs(x[0]), fabs(x[1])) + 2);
    assert_true(wanted > 1e-3 && fabs(result.backward_error - wanted) <= 1e-12);
    merbit_solver_destroy(solver);
  }
}

/* Reordered inside: the caller's vectors keep their order. */
static void test_reorder(void **state) {
  linear l = linear_grid(9, 0.2, 3, 0);
  const int expected = reference_bicgstab(&l, 1, 1e-9, 1000);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_BICGSTAB, 1e-9);
  double x[81];
  solved s;
  (void)state;
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  desc.reorder = 1;
  s = solve_once(&l, &desc, x);
  check_converged(&l, &s, 1e-9, expected, x);
  assert_non_null(strstr(s.result.plan_description, "Cuthill-McKee"));
  desc.reorder = 2;
  s = solve_once(&l, &desc, x);
  assert_int_equal(s.status, MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "solver_desc.reorder is 2; use 1");
  desc.reorder = -2;
  s = solve_once(&l, &desc, x);
  assert_int_equal(s.status, MERBIT_INVALID_ARGUMENT);
  desc.reorder = 1;
  desc.preconditioner = MERBIT_PRECONDITIONER_BLOCK_JACOBI;
  s = solve_once(&l, &desc, x);
  assert_int_equal(s.status, MERBIT_NOT_SUPPORTED);
  linear_free(&l);
}

/* Refinement with f32: the accuracy of f64, and the same ends. */
static void test_refine(void **state) {
  static const dense indefinite = {2, {1, 0, 0, -1}, {1, 2}};
  linear l = linear_grid(10, 0, 2, 0);
  const merbit_view view = linear_view(&l);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-11);
  merbit_solver *solver;
  char sentence[64];
  watch w;
  double x[100];
  int i;
  solved s;
  (void)state;
  memset(&w, 0, sizeof w);
  desc.refine = 1;
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  desc.progress = watch_progress;
  desc.progress_user = &w;
  s = solve_once(&l, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "1e-11");
  assert_true(s.result.restarts >= 1 && linear_residual(&l, x, 0) <= 1.01e-11);
  assert_true(w.last_iteration == s.result.iterations); /* a call in each correction, too */
  assert_int_equal(w.calls, 2 * s.result.restarts + 3);
  assert_true(s.history[0] == 1 && s.history[s.result.iterations] < 1e-10);
  assert_true(s.history[s.result.iterations] > 0 && s.history[s.result.iterations + 1] == 0);
  memset(&w, 0, sizeof w);
  desc.tolerance = 1e-18;
  s = solve_once(&l, &desc, x);
  expect_stop(&s, MERBIT_STOP_STAGNATED, "rounding errors in f64");
  (void)snprintf(sentence, sizeof sentence, "; the backward error is %.2g",
                 s.result.backward_error);
  expect_stop(&s, MERBIT_STOP_STAGNATED, sentence);
  assert_true(s.result.residual < 1e-14 && s.result.backward_error < 1e-15);
  memset(&w, 0, sizeof w);
  desc.tolerance = 1e-11;
  desc.max_iterations = 40;
  s = solve_once(&l, &desc, x);
  expect_stop(&s, MERBIT_STOP_CAP, "max_iterations = 40");
  assert_int_equal(s.result.iterations, 40);
  memset(&w, 0, sizeof w);
  desc.max_iterations = 1; /* too few to halve the residual, which is no stagnation */
  s = solve_once(&l, &desc, x);
  expect_stop(&s, MERBIT_STOP_CAP, "max_iterations = 1");
  desc.max_iterations = 0;
  memset(&w, 0, sizeof w);
  w.cancel_at = 2; /* during the first correction, which is added nevertheless */
  s = solve_once(&l, &desc, x);
  expect_stop(&s, MERBIT_STOP_CANCELLED, "");
  assert_true(w.calls == 2 && s.result.iterations > 0 && s.result.residual < 1e-3);
  desc.progress = NULL;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  for (i = 0; i < l.nnz; i++) {
    l.values[i] *= 3;
  }
  assert_int_equal(merbit_solver_update_values(solver, l.values, MERBIT_MEMORY_HOST),
                   MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, l.b, x, 0, NULL, 0, &s.result), MERBIT_OK);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  assert_true(linear_residual(&l, x, 0) <= 1.01e-11);
  merbit_solver_destroy(solver);
  desc.preconditioner = MERBIT_PRECONDITIONER_NONE;
  s = solve_dense(&indefinite, &desc, x);
  expect_stop(&s, MERBIT_STOP_BREAKDOWN, "p'Ap");
  l.values[7] = 1e200;
  s = solve_once(&l, &desc, x);
  assert_int_equal(s.status, MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "values[7]");
  l.values[7] = INFINITY;
  s = solve_once(&l, &desc, x);
  assert_int_equal(s.status, MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "that is not finite");
  linear_free(&l);
}

/* Refinement stops where the callback asks for it, although GMRES has not yet added anything to
 * x, and b = 0 gives x = 0 whatever x was. */
static void test_refine_ends(void **state) {
  enum { N = 600 };
  static double values[3 * N], b[N], x[N];
  static int32_t row_ptr[N + 1], col_ind[3 * N];
  const double beginnings[] = {NAN, INFINITY, 1e200};
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_GMRES, 1e-11);
  merbit_solver_result result;
  merbit_solver *solver;
  merbit_view view;
  watch w;
  int i, k = 0;
  (void)state;
  for (i = 0; i < N; i++) {
    int j;
    for (j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++) {
      col_ind[k] = j;
      values[k++] = j == i ? 2 : -1;
    }
    row_ptr[i + 1] = k;
    b[i] = 1;
  }
  view = merbit_csr(N, N, k, row_ptr, col_ind, values);
  desc.refine = 1;
  desc.restart = 512;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.progress = watch_progress;
  desc.progress_user = &w;
  memset(&w, 0, sizeof w);
  w.cancel_at = 2;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, b, x, 0, NULL, 0, &result), MERBIT_OK);
  assert_int_equal(w.calls, 2);
  assert_int_equal(result.stop, MERBIT_STOP_CANCELLED);
  merbit_solver_destroy(solver);
  desc.progress = NULL;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  memset(b, 0, sizeof b);
  for (i = 0; i < 3; i++) {
    double history[2] = {-1, -1};
    x[7] = beginnings[i];
    assert_int_equal(merbit_solver_solve(solver, b, x, 1, history, 2, &result), MERBIT_OK);
    assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
    assert_true(history[0] == 0 && history[1] == -1); /* there was no correction */
    for (k = 0; k < N; k++) {
      assert_true(x[k] == 0);
    }
  }
  merbit_solver_destroy(solver);
}

#include "solve/core/scale_cases.h"
#include "solve/core/multiply_cases.h"
#include "solve/core/solver_twice.h"

#define SOLVER_CASES                                                                           \
  cmocka_unit_test(test_iteration_counts), cmocka_unit_test(test_zero_right_hand_side),        \
      cmocka_unit_test(test_indefinite), cmocka_unit_test(test_breakdown),                     \
      cmocka_unit_test(test_not_finite), cmocka_unit_test(test_overflow),                      \
      cmocka_unit_test(test_diagonal), cmocka_unit_test(test_empty),                           \
      cmocka_unit_test(test_cap_and_cancel), cmocka_unit_test(test_stagnation),                \
      cmocka_unit_test(test_cap_without_progress), cmocka_unit_test(test_limit),               \
      cmocka_unit_test(test_repeats), cmocka_unit_test(test_buffers),                          \
      cmocka_unit_test(test_views), cmocka_unit_test(test_repeated_entries),                   \
      cmocka_unit_test(test_blocks), cmocka_unit_test(test_singular_block),                    \
      cmocka_unit_test(test_reorder), cmocka_unit_test(test_refine),                           \
      cmocka_unit_test(test_refine_ends), cmocka_unit_test(test_twice),                        \
      cmocka_unit_test(test_far), cmocka_unit_test(test_too_far),                              \
      cmocka_unit_test(test_too_far_single), cmocka_unit_test(test_far_backward_error),        \
      cmocka_unit_test(test_padding), cmocka_unit_test(test_scaled_message),                   \
      cmocka_unit_test(test_rounded), cmocka_unit_test(test_refused_update),                   \
      cmocka_unit_test(test_multiply), cmocka_unit_test(test_multiply_far),                    \
      cmocka_unit_test(test_multiply_refusals), cmocka_unit_test(test_infinite_x)

#endif /* TEST_SOLVE_SOLVER_CASES_H */
