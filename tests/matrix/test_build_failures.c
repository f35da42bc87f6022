/* Failing builders: every allocation, every bad view; and the lifetime of a matrix. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "matrix/build_forms.h"

/* Fails the first, second, ... allocation until the call succeeds: each time the status tells,
 * nothing leaks, and the out pointer is NULL. */
static void failing_allocations(void **state) {
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 2);
  int order, transpose, pattern, failures = 0;
  (void)state;
  for (order = 0; order < ARRANGEMENTS; order++) {
    for (transpose = 0; transpose < 2; transpose++) {
      for (pattern = 0; pattern < 2; pattern++) {
        test_matrix m;
        entry *entries;
        arrays a;
        form f;
        merbit_matrix *matrix = NULL;
        merbit_status status = MERBIT_OUT_OF_MEMORY;
        long before = memory.live, n;
        test_matrix_make(68, 1, &m); /* power law: unsorted long rows, duplicates */
        memset(&f, 0, sizeof f);
        f.order = (arrangement)order;
        f.pattern = pattern;
        entries = entries_of(&m, f.order);
        arrays_make(&m, entries, &f, &a);
        for (n = 1; status != MERBIT_OK; n++) {
          memory.made = 0;
          memory.fail_at = n;
          matrix = (merbit_matrix *)&memory;
          status = transpose ? merbit_matrix_transpose(context, &a.view, &matrix)
                             : merbit_matrix_create(context, &a.view, &matrix);
          if (status != MERBIT_OK) {
            assert_int_equal(status, MERBIT_OUT_OF_MEMORY);
            cpu_expect(context, MERBIT_OUT_OF_MEMORY, "no memory for ");
            assert_null(matrix);
            assert_int_equal(memory.live, before);
            failures++;
          }
        }
        assert_true(n > 4);
        memory.fail_at = 0;
        merbit_matrix_destroy(matrix);
        assert_int_equal(memory.live, before);
        arrays_free(&a);
        free(entries);
        test_matrix_free(&m);
      }
    }
  }
  assert_true(failures > 60);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

static void errors_are_named(void **state) {
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {7};
  static const int64_t row_ind[] = {(int64_t)1 << 32};
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  merbit_view view = merbit_csr(1, 7, 1, row_ptr, col_ind, NULL);
  merbit_matrix *matrix = (merbit_matrix *)&memory;
  (void)state;
  assert_int_equal(merbit_matrix_create(NULL, &view, &matrix), MERBIT_INVALID_ARGUMENT);
  assert_null(matrix);
  assert_int_equal(merbit_matrix_create(context, &view, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`matrix` is NULL");
  assert_int_equal(merbit_matrix_transpose(context, NULL, &matrix), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "the view is NULL");
  matrix = (merbit_matrix *)&memory;
  assert_int_equal(merbit_matrix_transpose(context, &view, &matrix), MERBIT_INVALID_MATRIX);
  cpu_expect(context, MERBIT_INVALID_MATRIX, "col_ind[0] (row 0) is 7 but the matrix has 7");
  assert_null(matrix);
  view.memory = MERBIT_MEMORY_DEVICE;
  matrix = (merbit_matrix *)&memory;
  assert_int_not_equal(merbit_matrix_create(context, &view, &matrix), MERBIT_OK);
  assert_null(matrix);
  view = merbit_csr(((int64_t)1 << 32) + 1, 8, 1, NULL, NULL, NULL);
  view.format = MERBIT_COO;
  view.index_type = MERBIT_INDEX_64;
  view.row_ind = row_ind;
  view.col_ind = row_ind;
  assert_int_equal(merbit_matrix_transpose(context, &view, &matrix), MERBIT_INVALID_MATRIX);
  view.index_type = MERBIT_INDEX_32; /* the same bytes: 0 */
  assert_int_equal(merbit_matrix_transpose(context, &view, &matrix), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "view.rows is 4294967297");
  memory.limit = 1 << 30;
  assert_int_equal(merbit_matrix_create(context, &view, &matrix), MERBIT_OUT_OF_MEMORY);
  cpu_expect(context, MERBIT_OUT_OF_MEMORY, "row offsets of a matrix: 34359738384 bytes");
  assert_null(matrix);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

static void life_of_a_matrix(void **state) {
  static const int32_t row_ptr[] = {0, 1, 2}, col_ind[] = {1, 0};
  static const double values[] = {2, 3};
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  merbit_view view = merbit_csr(2, 5, 2, row_ptr, col_ind, values);
  merbit_matrix *matrix;
  (void)state;
  assert_int_equal(merbit_matrix_create(context, &view, &matrix), MERBIT_OK);
  assert_int_equal(view.format, MERBIT_CSR);
  assert_int_equal(view.rows, 2);
  assert_int_equal(view.cols, 5);
  assert_int_equal(view.nnz, 2);
  assert_ptr_equal(view.row_ptr, row_ptr);
  assert_ptr_equal(view.col_ind, col_ind);
  assert_ptr_equal(view.values, values);
  assert_null(view.row_ind);
  merbit_context_destroy(context); /* the matrix keeps it */
  view = merbit_matrix_view(matrix);
  assert_int_equal(view.value_type, MERBIT_F64);
  assert_true(((const double *)view.values)[1] == 3);
  merbit_matrix_destroy(matrix);
  merbit_matrix_destroy(NULL);
  assert_int_equal(memory.live, 0);
  view = merbit_matrix_view(NULL);
  assert_int_equal(view.rows, 0);
  assert_null(view.row_ptr);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(failing_allocations),
      cmocka_unit_test(errors_are_named),
      cmocka_unit_test(life_of_a_matrix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
