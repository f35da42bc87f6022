/* Inputs and figures of bench for papers: dense matrices, the block band, the fill of
 * blocks, the variation of rows, floating-point operations. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wunused-function" /* the benchmark uses them all */
#include "../../bench/catalogue.h"
#include "../../bench/histogram.h"
#include "../../bench/timing.h"

#include "matrices.h"

static void near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-12 * fabs(expected))) {
    fail_msg("%.17g, not %.17g", value, expected);
  }
}

static void dense_has_every_place(void **state) {
  bench_matrix m;
  int64_t k;
  (void)state;
  bench_generate("gen:dense3x5", &m);
  assert_true(m.rows == 3 && m.cols == 5 && m.nnz == 15);
  for (k = 0; k < 15; k++) {
    assert_int_equal(m.col_ind[k], k % 5);
    assert_true(m.values[k] >= 0.5 && m.values[k] < 1.5);
  }
  for (k = 0; k <= 3; k++) {
    assert_int_equal(m.row_ptr[k], 5 * k);
  }
  bench_matrix_free(&m);
}

static void wrong_dense_is_refused(void **state) {
  static const char *const wrong[] = {"gen:dense0x5", "gen:dense3x5:60M",
                                      "gen:dense65536x65536", "gen:dense3x-5"};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const pid_t child = fork();
    int status = 0;
    assert_true(child >= 0);
    if (child == 0) {
      bench_matrix m;
      (void)freopen("/dev/null", "w", stderr);
      bench_generate(wrong[i], &m);
      _exit(0); /* accepted */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  }
}

/* The band around the diagonal has every block, and one place in twenty of the square. */
static void band_is_full_around_the_diagonal(void **state) {
  bench_matrix m;
  int64_t place, width = 0, k;
  (void)state;
  bench_generate("gen:bsrband:2M", &m);
  assert_true(m.rows == m.cols && m.block_rows == 5 && m.block_cols == 5);
  near((double)m.nnz / ((double)m.rows * (double)m.cols) > 0.049 &&
           (double)m.nnz / ((double)m.rows * (double)m.cols) < 0.051,
       1);
  for (k = 0; k < length_of(&m, 0); k++) {
    assert_int_equal(m.col_ind[k], k);
  }
  width = length_of(&m, 0) / 5 - 1;
  for (place = 0; place < m.rows / 5; place++) {
    const int64_t first = place > width ? place - width : 0;
    const int64_t end = place + width < m.rows / 5 ? place + width + 1 : m.rows / 5;
    for (k = 0; k < 5; k++) {
      assert_int_equal(length_of(&m, 5 * place + k), 5 * (end - first));
      assert_int_equal(m.col_ind[m.row_ptr[5 * place + k]], 5 * first);
      assert_int_equal(m.col_ind[m.row_ptr[5 * place + k + 1] - 1], 5 * end - 1);
    }
  }
  bench_matrix_free(&m);
}

static void blocks_are_counted(void **state) {
  /* 32 x 40: the first 16 rows have 16, 1 and 8 nonzeros in their blocks, then 9 of row 16. */
  static int32_t row_ptr[33], col_ind[34];
  bench_matrix m;
  bench_histogram h;
  int i;
  (void)state;
  for (i = 0; i < 16; i++) {
    col_ind[i] = i;
  }
  col_ind[16] = 31;
  for (i = 0; i < 8; i++) {
    col_ind[17 + i] = 32 + i;
  }
  for (i = 0; i < 9; i++) {
    col_ind[25 + i] = i;
  }
  for (i = 1; i <= 32; i++) {
    row_ptr[i] = i <= 16 ? 25 : 34;
  }
  memset(&m, 0, sizeof m);
  m.rows = 32;
  m.cols = 40;
  m.nnz = 34;
  m.row_ptr = row_ptr;
  m.col_ind = col_ind;
  bench_histogram_count(&m, &h);
  assert_int_equal(h.blocks, 4);
  assert_int_equal(h.classes[0], 4);
  assert_true(h.fine[0] == 2 && h.fine[1] == 2 && h.fine[2] == 0 && h.fine[3] == 0);
  assert_true(h.deviation == 0); /* fewer than eight blocks */
}

static void full_blocks_are_in_the_last_class(void **state) {
  bench_matrix m;
  bench_histogram h;
  int64_t sum = 0;
  int i;
  (void)state;
  bench_generate("gen:dense48x256", &m);
  bench_histogram_count(&m, &h);
  assert_true(h.blocks == 48 && h.classes[7] == 48 && h.deviation == 0);
  bench_matrix_free(&m);
  bench_generate("gen:fem:20k", &m);
  bench_histogram_count(&m, &h);
  for (i = 0; i < BENCH_HISTOGRAM_CLASSES; i++) {
    sum += h.classes[i];
  }
  assert_int_equal(sum, h.blocks);
  assert_int_equal(h.fine[0] + h.fine[1] + h.fine[2] + h.fine[3], h.classes[0]);
  assert_true(h.deviation > 1);
  bench_matrix_free(&m);
}

static void rows_vary(void **state) {
  static int32_t row_ptr[] = {0, 1, 1, 6};
  bench_matrix m;
  (void)state;
  memset(&m, 0, sizeof m);
  m.rows = 3;
  m.cols = 9;
  m.nnz = 6;
  m.row_ptr = row_ptr;
  near(bench_mean_row(&m), 2);
  near(bench_row_variation(&m), sqrt(14.0 / 3) / 2); /* squared deviations: 1, 4, 9 */
  m.nnz = 0;
  row_ptr[1] = row_ptr[2] = row_ptr[3] = 0;
  assert_true(bench_row_variation(&m) == 0);
}

static void operations_are_two_for_each_nonzero(void **state) {
  bench_case cases[3];
  bench_matrix m;
  bench_problem p;
  (void)state;
  memset(cases, 0, sizeof cases);
  memset(&m, 0, sizeof m);
  memset(&p, 0, sizeof p);
  p.m = &m;
  m.nnz = 7;
  cases[1].kind = BENCH_SEVERAL;
  cases[2].kind = BENCH_TILE;
  bench_count_flops(cases, 3, &p, 4);
  near(cases[0].flops, 14);
  near(cases[1].flops, 56);
  assert_true(cases[2].flops == 0);
}

static void names_are_found_in_lists(void **state) {
  (void)state;
  assert_true(bench_names("auto,cb", "cb") && bench_names("cb-coo", "cb"));
  assert_false(bench_names("all", "cb"));
  assert_false(bench_names("cbx,acb,c", "cb"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dense_has_every_place),
      cmocka_unit_test(wrong_dense_is_refused),
      cmocka_unit_test(band_is_full_around_the_diagonal),
      cmocka_unit_test(blocks_are_counted),
      cmocka_unit_test(full_blocks_are_in_the_last_class),
      cmocka_unit_test(rows_vary),
      cmocka_unit_test(operations_are_two_for_each_nonzero),
      cmocka_unit_test(names_are_found_in_lists),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
