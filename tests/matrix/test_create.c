/* Views of the user's arrays by one call each: the fields that are set, and the matrix that
 * they describe. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/cpu.h"

static const int32_t rows[] = {2, 0, 2, 0}, columns[] = {1, 2, 1, 0};
static const double values[] = {1, 2, 4, 8};

/* All other fields of a view are zero. */
static void fields(void **state) {
  const merbit_view coo = merbit_coo(3, 5, 4, rows, columns, values);
  merbit_view by_hand;
  (void)state;
  memset(&by_hand, 0, sizeof by_hand);
  by_hand.format = MERBIT_COO;
  by_hand.rows = 3;
  by_hand.cols = 5;
  by_hand.nnz = 4;
  by_hand.row_ind = rows;
  by_hand.col_ind = columns;
  by_hand.values = values;
  assert_memory_equal(&coo, &by_hand, sizeof coo);
}

/* Triplets in any order; duplicates add up. */
static void triplets(void **state) {
  static const int32_t row_ptr[] = {0, 2, 2, 3}, col_ind[] = {0, 2, 1};
  static const double sums[] = {8, 2, 5};
  const merbit_view coo = merbit_coo(3, 5, 4, rows, columns, values);
  const merbit_view pattern = merbit_coo(3, 5, 4, rows, columns, NULL);
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  merbit_matrix *matrix;
  merbit_view view;
  (void)state;
  assert_int_equal(merbit_matrix_create(context, &coo, &matrix), MERBIT_OK);
  view = merbit_matrix_view(matrix);
  assert_int_equal(view.nnz, 3);
  assert_memory_equal(view.row_ptr, row_ptr, sizeof row_ptr);
  assert_memory_equal(view.col_ind, col_ind, sizeof col_ind);
  assert_memory_equal(view.values, sums, sizeof sums);
  merbit_matrix_destroy(matrix);
  assert_int_equal(merbit_view_check(context, &pattern), MERBIT_OK);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields),
      cmocka_unit_test(triplets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
