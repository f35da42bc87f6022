/* Strength of connection: strong and kept neighbours equal the definition, computed naively,
 * for rows and for blocks, and do not depend on the number of threads. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_bed.h"

/* Returns the norm of the block of two nodes. */
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

/* Returns whether `csr` has an entry. */
static int has(const mbi_amg_csr *csr, int64_t i, int64_t j) {
  int64_t k = csr->row_ptr[i];
  while (k < csr->row_ptr[i + 1] && csr->col_ind[k] != j) {
    k++;
  }
  return k < csr->row_ptr[i + 1];
}

/* Makes a level that has only the matrix. */
static mbi_amg_level level_of(const mbi_amg_csr *a, int block) {
  mbi_amg_level level;
  memset(&level, 0, sizeof level);
  level.a = *a;
  level.borrowed = 1;
  level.block = block;
  return level;
}

static void check(merbit_context *context, const mbi_amg_csr *a, int block, double theta) {
  const int64_t nodes = a->rows / block;
  double *most = (double *)calloc((size_t)nodes, sizeof *most);
  mbi_amg_level level = level_of(a, block);
  int64_t i, j, strong = 0, kept = 0;
  assert_int_equal(mbi_amg_strength(context, theta, &level), MERBIT_OK);
  bed_check_form(&level.strong);
  assert_null(level.strong.values);
  for (i = 0; i < nodes; i++) {
    int64_t strongest = -1;
    for (j = 0; j < nodes; j++) {
      const double size = i != j ? norm(a, block, i, j) : 0;
      strongest = size > most[i] ? j : strongest;
      most[i] = fmax(most[i], size);
    }
    assert_int_equal(level.strongest[i], strongest);
  }
  for (i = 0; i < nodes; i++) {
    for (j = 0; j < nodes; j++) {
      const double size = i != j ? norm(a, block, i, j) : 0;
      assert_int_equal(has(&level.strong, i, j), size > theta * fmax(most[i], most[j]));
      strong += has(&level.strong, i, j);
      kept += size > MBI_AMG_FILTER * most[i];
    }
  }
  for (i = 0; i < a->rows; i++) {
    for (j = a->row_ptr[i]; j < a->row_ptr[i + 1]; j++) {
      const int64_t node = i / block, other = a->col_ind[j] / block;
      assert_int_equal(bed_kept(&level, i, j),
                       node == other ||
                           norm(a, block, node, other) > MBI_AMG_FILTER * most[node]);
    }
  }
  assert_int_equal(strong, level.strong.nnz);
  assert_true(strong > 0 && kept > strong && kept < nodes * nodes);
  free(most);
  mbi_amg_level_release(context, &level);
}

static void test_definition(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  const bed_grid weak = {5, 0, 1, 0.05, 1, 0, 1}, jump = {5, 0, 1, 1, 1e4, 0, 0.8};
  mbi_amg_csr a = bed_laplacian(context, &weak), blocks;
  (void)state;
  check(context, &a, 1, 0.25);
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

/* Rows of a node with different blocks, in different orders. */
static void test_ragged(void **state) {
  bed_entry entries[] = {{0, 0, 9},     {0, 4, -1}, {1, 1, 9},     {1, 2, -2},
                         {1, 5, -0.01}, {2, 1, -2}, {2, 2, 9},     {3, 3, 9},
                         {4, 0, -1},    {4, 4, 9},  {5, 1, -0.01}, {5, 5, 9}};
  merbit_context *context = cpu_open(NULL, 1);
  mbi_amg_csr a = bed_csr(context, 6, 6, entries, 12);
  (void)state;
  check(context, &a, 2, 0.6);
  mbi_amg_csr_release(context, &a);
  merbit_context_destroy(context);
}

/* A diagonal entry that is small compared with its row is kept. */
static void test_small_diagonal(void **state) {
  bed_entry entries[] = {{0, 0, 0.01}, {0, 1, -1},   {0, 2, -0.1}, {1, 0, -1},
                         {1, 1, 3},    {2, 0, -0.1}, {2, 2, 3},    {3, 3, 1}};
  merbit_context *context = cpu_open(NULL, 1);
  mbi_amg_csr a = bed_csr(context, 4, 4, entries, 8);
  (void)state;
  check(context, &a, 1, 0.5);
  mbi_amg_csr_release(context, &a);
  merbit_context_destroy(context);
}

static void test_threads(void **state) {
  merbit_context *one = cpu_open(NULL, 1), *four = cpu_open(NULL, 4);
  const bed_grid g = {30, 0, 0, 0.01, 100, 1, 0.9};
  mbi_amg_csr a = bed_laplacian(one, &g), blocks = bed_blocks(one, &a);
  mbi_amg_level first, second;
  int64_t row, k;
  int block;
  (void)state;
  assert_true(mbi_share_tasks(four, a.nnz) > 1);
  for (block = 1; block <= 3; block += 2) {
    first = second = level_of(block == 1 ? &a : &blocks, block);
    assert_int_equal(mbi_amg_strength(one, 0.2, &first), MERBIT_OK);
    assert_int_equal(mbi_amg_strength(four, 0.2, &second), MERBIT_OK);
    bed_check_equal(&first.strong, &second.strong);
    for (row = 0; row < first.a.rows; row++) {
      for (k = first.a.row_ptr[row]; k < first.a.row_ptr[row + 1]; k++) {
        assert_int_equal(bed_kept(&first, row, k), bed_kept(&second, row, k));
      }
    }
    assert_memory_equal(first.strongest, second.strongest,
                        (size_t)a.rows * sizeof *first.strongest);
    mbi_amg_level_release(one, &first);
    mbi_amg_level_release(four, &second);
  }
  mbi_amg_csr_release(one, &blocks);
  mbi_amg_csr_release(one, &a);
  merbit_context_destroy(one);
  merbit_context_destroy(four);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_definition), cmocka_unit_test(test_ragged),
      cmocka_unit_test(test_small_diagonal), cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
