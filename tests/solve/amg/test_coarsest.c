/* The dense inverse of the coarsest matrix, symmetric or not, and the generalised inverse of a
 * singular one. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_bed.h"

/* Checks A B A = A, B = B' if A = A', and B A = I if the matrix is regular. */
static void check(merbit_context *context, mbi_amg_csr a, int rank) {
  mbi_amg_csr inverse;
  long double *x = bed_dense(&a, 0), *y, *xy, *xyx;
  const int64_t n = a.rows;
  int64_t i, j;
  int found = 0, symmetric = 1;
  for (i = 0; i < n * n; i++) {
    symmetric &= x[i] == x[i % n * n + i / n];
  }
  assert_int_equal(mbi_amg_invert(context, &a, 1e-12, &inverse), MERBIT_OK);
  bed_check_form(&inverse);
  assert_int_equal(inverse.nnz, n * n);
  y = bed_dense(&inverse, 0);
  xy = bed_times(x, y, n, n, n);
  xyx = bed_times(xy, x, n, n, n);
  for (i = 0; i < n; i++) {
    found += y[i * n + i] != 0;
    for (j = 0; j < n; j++) {
      assert_true(fabsl(xyx[i * n + j] - x[i * n + j]) < 1e-9L * fabsl(x[i * n + i]) + 1e-12L);
      assert_true(!symmetric ||
                  fabsl(y[i * n + j] - y[j * n + i]) < 1e-9L * fabsl(y[i * n + i]) + 1e-12L);
      assert_true(rank < n || fabsl(xy[i * n + j] - (i == j)) < 1e-7L);
    }
  }
  assert_int_equal(found, rank);
  free(x);
  free(y);
  free(xy);
  free(xyx);
  mbi_amg_csr_release(context, &inverse);
  mbi_amg_csr_release(context, &a);
}

/* Makes a nonsymmetric matrix whose pivots come in another order than its rows. */
static mbi_amg_csr unsymmetric(merbit_context *context, int n) {
  bed_entry *entries = (bed_entry *)malloc((size_t)(n * n) * sizeof *entries);
  mbi_amg_csr a;
  int i;
  for (i = 0; i < n * n; i++) {
    entries[i].row = i / n;
    entries[i].column = i % n;
    entries[i].value = bed_random((uint64_t)i) - 0.5;
  }
  a = bed_csr(context, n, n, entries, n * n);
  free(entries);
  return a;
}

static void test_inverse(void **state) {
  const bed_grid jump = {7, 1, 1, 1, 1e6, 0, 1}, singular = {7, 1, 0, 1, 1e6, 0, 1};
  bed_entry zeros[] = {{0, 0, 2}, {1, 1, 0}, {2, 2, 4}, {0, 2, 1}, {2, 0, 1}};
  bed_entry indefinite[] = {{0, 0, 1}, {0, 1, 3}, {1, 0, 3}, {1, 1, 1}};
  merbit_context *context = cpu_open(NULL, 1);
  int n;
  (void)state;
  check(context, bed_poisson(context, 8, 1), 64);
  check(context, bed_laplacian(context, &jump), 49);
  check(context, bed_laplacian(context, &singular), 48);
  for (n = 1; n < 20; n++) {
    check(context, unsymmetric(context, n), n);
  }
  check(context, bed_csr(context, 3, 3, zeros, 5), 2);
  check(context, bed_csr(context, 2, 2, indefinite, 4), 2);
  check(context, bed_csr(context, 0, 0, zeros, 0), 0);
  merbit_context_destroy(context);
}

/* Products of large diagonal entries exceed f64, and those of small ones vanish. */
static void test_scales(void **state) {
  static const double scales[] = {1, 1e160, 1e-160};
  merbit_context *context = cpu_open(NULL, 1);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof scales / sizeof scales[0]; i++) {
    const double s = scales[i];
    bed_entry entries[] = {{0, 0, 2 * s}, {0, 1, s}, {1, 1, 3 * s}};
    mbi_amg_csr a = bed_csr(context, 2, 2, entries, 3), inverse;
    assert_int_equal(mbi_amg_invert(context, &a, 1e-12, &inverse), MERBIT_OK);
    assert_true(fabs(inverse.values[0] * s - 1.0 / 2) < 1e-15);
    assert_true(fabs(inverse.values[1] * s + 1.0 / 6) < 1e-15);
    assert_true(fabs(inverse.values[2] * s) < 1e-15);
    assert_true(fabs(inverse.values[3] * s - 1.0 / 3) < 1e-15);
    mbi_amg_csr_release(context, &inverse);
    mbi_amg_csr_release(context, &a);
  }
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_inverse),
                                     cmocka_unit_test(test_scales)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
