/* The inverse diagonal, and the bound or estimate of the largest eigenvalue of D^-1 A. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_bed.h"

/* Computes the largest eigenvalue of D^-1 A by the power method. */
static double largest(const mbi_amg_csr *a) {
  double *x = (double *)malloc((size_t)a->rows * 2 * sizeof *x), *y = x + a->rows, size = 0;
  int64_t i, k;
  int step;
  for (i = 0; i < a->rows; i++) {
    x[i] = bed_random((uint64_t)i) - 0.5;
  }
  for (step = 0; step < 2000; step++) {
    size = 0;
    for (i = 0; i < a->rows; i++) {
      y[i] = 0;
      for (k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        y[i] += a->values[k] * x[a->col_ind[k]];
      }
      y[i] /= bed_at(a, i, i);
      size = fmax(size, fabs(y[i]));
    }
    for (i = 0; i < a->rows; i++) {
      x[i] = y[i] / size;
    }
  }
  free(x);
  return size;
}

static void test_bounds(void **state) {
  const bed_grid grids[] = {
      {10, 0, 1, 1, 1, 0, 1}, {20, 1, 1, 0.001, 1, 0, 1}, {20, 1, 0, 1, 1e4, 0.5, 0.6}};
  merbit_context *context = cpu_open(NULL, 2);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof grids / sizeof grids[0]; i++) {
    mbi_amg_level level;
    mbi_amg_csr a = bed_laplacian(context, &grids[i]);
    mbi_amg_csr blocks = bed_blocks(context, &a);
    double most = largest(&a);
    int64_t row;
    memset(&level, 0, sizeof level);
    level.a = a;
    assert_int_equal(mbi_amg_diagonal(context, &level), MERBIT_OK);
    for (row = 0; row < a.rows; row++) {
      assert_true(level.inverse[row] == 1 / bed_at(&a, row, row));
    }
    assert_true(level.lambda <= 2.0001 && level.lambda >= most * 0.9999);
    mbi_amg_level_release(context, &level);
    level.a = blocks; /* not diagonally dominant: an estimate, at most the bound */
    most = largest(&blocks);
    assert_int_equal(mbi_amg_diagonal(context, &level), MERBIT_OK);
    assert_true(level.lambda <= 1.1001 * most && level.lambda >= most * 0.98);
    mbi_amg_level_release(context, &level);
  }
  merbit_context_destroy(context);
}

/* Scaling rows and columns of a matrix by 2^-20 to 2^20 keeps the eigenvalues of D^-1 A, but
 * makes row sums up to 2^40 times as large. */
static void test_scaled(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  mbi_amg_level level;
  int64_t i, k;
  (void)state;
  memset(&level, 0, sizeof level);
  level.a = bed_poisson(context, 20, 0);
  for (i = 0; i < level.a.rows; i++) {
    for (k = level.a.row_ptr[i]; k < level.a.row_ptr[i + 1]; k++) {
      level.a.values[k] = ldexp(level.a.values[k], (int)(i * 37 % 41) - 20);
      level.a.values[k] = ldexp(level.a.values[k], level.a.col_ind[k] * 37 % 41 - 20);
    }
  }
  assert_int_equal(mbi_amg_diagonal(context, &level), MERBIT_OK);
  assert_true(level.lambda >= 1.9 && level.lambda <= 2.2);
  mbi_amg_level_release(context, &level);
  merbit_context_destroy(context);
}

/* The eigenvalues of D^-1 A are those of the negative matrix, also if only some rows are
 * negative. */
static void test_negative(void **state) {
  const bed_grid g = {12, 1, 1, 1, 10, 0.5, 1};
  bed_entry turned[] = {{0, 0, 1}, {0, 1, 3}, {1, 0, -3}, {1, 1, -1}};
  merbit_context *context = cpu_open(NULL, 2);
  mbi_amg_csr scalar = bed_laplacian(context, &g);
  mbi_amg_level level;
  double positive;
  int64_t i;
  (void)state;
  memset(&level, 0, sizeof level);
  level.a = bed_blocks(context, &scalar);
  assert_int_equal(mbi_amg_diagonal(context, &level), MERBIT_OK);
  positive = level.lambda;
  mbi_release(context, level.inverse);
  for (i = 0; i < level.a.nnz; i++) {
    level.a.values[i] = -level.a.values[i];
  }
  assert_int_equal(mbi_amg_diagonal(context, &level), MERBIT_OK);
  assert_true(level.lambda == positive && positive > 2.01);
  mbi_amg_level_release(context, &level);
  level.a = bed_csr(context, 2, 2, turned, 4); /* eigenvalues 4 and -2 */
  assert_int_equal(mbi_amg_diagonal(context, &level), MERBIT_OK);
  assert_true(level.lambda >= 3.999 && level.lambda <= 4);
  mbi_amg_level_release(context, &level);
  mbi_amg_csr_release(context, &scalar);
  merbit_context_destroy(context);
}

/* Returns the bound if Lanczos finds no positive eigenvalue. */
static void test_largest(void **state) {
  const double alpha[] = {3, -1}, beta[] = {0, 0.5}, below[] = {-3, -1};
  const double most = mbi_amg_largest(alpha, beta, 2, 10);
  (void)state;
  assert_true(most > 3 && most < 3.5);
  assert_true(mbi_amg_largest(alpha, beta, 2, 2.5) == 2.5);
  assert_true(mbi_amg_largest(below, beta, 2, 10) == 10);
  assert_true(mbi_amg_largest(below + 1, beta, 1, 10) == 10);
}

/* Few rows: Lanczos ends early. */
static void test_small(void **state) {
  bed_entry one[] = {{0, 0, -4}}, two[] = {{0, 0, 1}, {0, 1, 3}, {1, 0, 3}, {1, 1, 1}};
  bed_entry empty[] = {{0, 0, 0}, {1, 1, 2}};
  merbit_context *context = cpu_open(NULL, 1);
  mbi_amg_level level;
  (void)state;
  memset(&level, 0, sizeof level);
  level.a = bed_csr(context, 1, 1, one, 1);
  assert_int_equal(mbi_amg_diagonal(context, &level), MERBIT_OK);
  assert_true(level.lambda == 1 && level.inverse[0] == -0.25);
  mbi_amg_level_release(context, &level);
  level.a = bed_csr(context, 2, 2, two, 4); /* eigenvalues 4 and -2 */
  assert_int_equal(mbi_amg_diagonal(context, &level), MERBIT_OK);
  assert_true(level.lambda >= 3.999 && level.lambda <= 4);
  mbi_amg_level_release(context, &level);
  level.a = bed_csr(context, 2, 2, empty, 2);
  assert_int_equal(mbi_amg_diagonal(context, &level), MERBIT_OK);
  assert_true(level.lambda == 1 && level.inverse[0] == 0 && level.inverse[1] == 0.5);
  mbi_amg_level_release(context, &level);
  merbit_context_destroy(context);
}

static void test_not_finite(void **state) {
  const double bad[] = {NAN, INFINITY, -INFINITY};
  merbit_context *context = cpu_open(NULL, 1);
  mbi_amg_level level;
  int i;
  (void)state;
  for (i = 0; i < 3; i++) {
    bed_entry entries[] = {{0, 0, 1}, {0, 1, bad[i]}, {1, 1, 1}, {2, 2, 1}};
    memset(&level, 0, sizeof level);
    level.a = bed_csr(context, 3, 3, entries, 4);
    assert_int_equal(mbi_amg_diagonal(context, &level), MERBIT_INVALID_MATRIX);
    cpu_expect(context, MERBIT_INVALID_MATRIX, "Inf or NaN");
    mbi_amg_level_release(context, &level);
  }
  merbit_context_destroy(context);
}

static void test_threads(void **state) {
  merbit_context *one = cpu_open(NULL, 1), *four = cpu_open(NULL, 4);
  mbi_amg_csr a = bed_poisson(one, 24, 0);
  mbi_amg_level first, second;
  (void)state;
  memset(&first, 0, sizeof first);
  memset(&second, 0, sizeof second);
  first.a = bed_blocks(one, &a);
  second.a = bed_blocks(four, &a);
  assert_int_equal(mbi_amg_diagonal(one, &first), MERBIT_OK);
  assert_int_equal(mbi_amg_diagonal(four, &second), MERBIT_OK);
  assert_true(first.lambda == second.lambda && first.lambda > 2.01);
  mbi_amg_level_release(one, &first);
  mbi_amg_level_release(four, &second);
  mbi_amg_csr_release(one, &a);
  merbit_context_destroy(one);
  merbit_context_destroy(four);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bounds),   cmocka_unit_test(test_scaled),
      cmocka_unit_test(test_small),    cmocka_unit_test(test_not_finite),
      cmocka_unit_test(test_negative), cmocka_unit_test(test_largest),
      cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
