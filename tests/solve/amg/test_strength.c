/* Strength of connection: strong neighbours equal a naive reading of the definition, for rows
 * and for blocks, and do not depend on the number of threads. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_bed.h"

/* The norm of the block of two nodes. */
static double norm(const mbi_amg_csr *a, int block, int64_t i, int64_t j) {
  double sum = 0;
  int r, c;
  for (r = 0; r < block; r++) {
    for (c = 0; c < block; c++) {
      const double value = bed_at(a, i * block + r, j * block + c);
      sum += value * value;
    }
  }
  return sqrt(sum);
}

static void check(merbit_context *context, const mbi_amg_csr *a, int block, double theta) {
  const int64_t nodes = a->rows / block;
  double *most = (double *)calloc((size_t)nodes, sizeof *most);
  mbi_amg_csr strong;
  int64_t i, j, found = 0;
  assert_int_equal(mbi_amg_strength(context, a, block, theta, &strong), MERBIT_OK);
  bed_check_form(&strong);
  assert_null(strong.values);
  for (i = 0; i < nodes; i++) {
    for (j = 0; j < nodes; j++) {
      most[i] = i != j ? fmax(most[i], norm(a, block, i, j)) : most[i];
    }
  }
  for (i = 0; i < nodes; i++) {
    for (j = 0; j < nodes; j++) {
      const double size = norm(a, block, i, j);
      int64_t k = strong.row_ptr[i];
      while (k < strong.row_ptr[i + 1] && strong.col_ind[k] != j) {
        k++;
      }
      assert_int_equal(k < strong.row_ptr[i + 1],
                       i != j && size * size > theta * theta * most[i] * most[j]);
      found += k < strong.row_ptr[i + 1];
    }
  }
  assert_int_equal(found, strong.nnz);
  free(most);
  mbi_amg_csr_release(context, &strong);
}

static void test_definition(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  const bed_grid weak = {5, 0, 1, 0.001, 1, 0, 1}, jump = {5, 0, 1, 1, 1e4, 0, 0.8};
  mbi_amg_csr a = bed_laplacian(context, &weak), blocks;
  (void)state;
  check(context, &a, 1, 0.25);
  check(context, &a, 1, 0);
  blocks = bed_blocks(context, &a);
  check(context, &blocks, 3, 0.25);
  mbi_amg_csr_release(context, &blocks);
  mbi_amg_csr_release(context, &a);
  a = bed_laplacian(context, &jump);
  check(context, &a, 1, 0.1);
  blocks = bed_blocks(context, &a);
  check(context, &blocks, 3, 0.1);
  check(context, &blocks, 1, 0.1);
  mbi_amg_csr_release(context, &blocks);
  mbi_amg_csr_release(context, &a);
  merbit_context_destroy(context);
}

static void test_threads(void **state) {
  merbit_context *one = cpu_open(NULL, 1), *four = cpu_open(NULL, 4);
  const bed_grid g = {30, 0, 0, 0.01, 100, 1, 0.9};
  mbi_amg_csr a = bed_laplacian(one, &g), blocks = bed_blocks(one, &a), first, second;
  (void)state;
  assert_true(mbi_share_tasks(four, a.nnz) > 1);
  assert_int_equal(mbi_amg_strength(one, &a, 1, 0.2, &first), MERBIT_OK);
  assert_int_equal(mbi_amg_strength(four, &a, 1, 0.2, &second), MERBIT_OK);
  bed_check_equal(&first, &second);
  mbi_amg_csr_release(one, &first);
  mbi_amg_csr_release(four, &second);
  assert_int_equal(mbi_amg_strength(one, &blocks, 3, 0.2, &first), MERBIT_OK);
  assert_int_equal(mbi_amg_strength(four, &blocks, 3, 0.2, &second), MERBIT_OK);
  bed_check_equal(&first, &second);
  mbi_amg_csr_release(one, &first);
  mbi_amg_csr_release(four, &second);
  mbi_amg_csr_release(one, &blocks);
  mbi_amg_csr_release(one, &a);
  merbit_context_destroy(one);
  merbit_context_destroy(four);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_definition),
                                     cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
