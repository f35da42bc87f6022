/* merbit_view_check accepts every good view and refuses every bad one with the name of the
 * first bad entry, for any number of threads. test_mutants.c has more. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/products.h"
#include "support/unknown.h"

static const int32_t small_row_ptr[] = {0, 2, 2, 5}, small_col_ind[] = {0, 3, 1, 1, 2};
static const int32_t small_row_ind[] = {0, 0, 2, 2, 2};

static merbit_view small_csr(void) {
  return merbit_csr(3, 4, 5, small_row_ptr, small_col_ind, NULL);
}

static merbit_view small_coo(void) {
  merbit_view view = small_csr();
  view.format = MERBIT_COO;
  view.row_ptr = NULL;
  view.row_ind = small_row_ind;
  return view;
}

static void refused(merbit_context *context, const merbit_view *view, merbit_status status,
                    const char *piece) {
  assert_int_equal(merbit_view_check(context, view), status);
  cpu_expect(context, status, piece);
}

static void good_views_pass(void **state) {
  static const int thread_counts[] = {1, 5};
  int i, form_bits, t;
  (void)state;
  for (t = 0; t < 2; t++) {
    merbit_context *context = cpu_open(NULL, thread_counts[t]);
    for (i = 0; i < test_matrix_count(); i++) {
      test_matrix m;
      test_matrix_make(i, 1, &m);
      for (form_bits = 0; form_bits < 16; form_bits++) {
        products_form form;
        products_arrays a;
        memset(&form, 0, sizeof form);
        form.type = MERBIT_F32;
        form.format = form_bits & 1 ? MERBIT_COO : MERBIT_CSR;
        form.offset_type = form_bits & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
        form.index_type = form_bits & 4 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
        form.base = form_bits >> 3;
        products_arrays_make(context, &m, &form, &a);
        assert_int_equal(merbit_view_check(context, &a.view), MERBIT_OK);
        products_arrays_free(&a);
      }
      test_matrix_free(&m);
    }
    merbit_context_destroy(context);
  }
}

/* 5 x 7 in blocks of 2 x 3: 3 block rows, 3 block columns. */
static void blocks_are_named(void **state) {
  static const int32_t row_ptr[] = {0, 2, 2, 4}, col_ind[] = {2, 0, 1, 2};
  static const int32_t far[] = {2, 0, 1, 3}, below[] = {2, 0, -1, 2};
  static const int32_t negative[] = {0, 2, 1, 4}, more[] = {0, 2, 5, 4}, less[] = {0, 2, 2, 3};
  merbit_context *context = cpu_open(NULL, 2);
  const merbit_view good = merbit_bsr(5, 7, 4, 2, 3, row_ptr, col_ind, NULL);
  merbit_view view = good;
  (void)state;
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  view.col_ind = far;
  refused(
      context, &view, MERBIT_INVALID_MATRIX,
      "col_ind[3] (block row 2) is 3 but the matrix has 3 block columns (base 0: use 0 to 2)");
  view.col_ind = below;
  refused(context, &view, MERBIT_INVALID_MATRIX, "col_ind[2] (block row 2) is -1");
  view = good;
  view.row_ptr = negative;
  refused(context, &view, MERBIT_INVALID_MATRIX, "block row 1 would have a negative length");
  view.row_ptr = more;
  refused(context, &view, MERBIT_INVALID_MATRIX, "row_ptr[2] is 5, beyond the last offset");
  view.row_ptr = less;
  refused(context, &view, MERBIT_INVALID_MATRIX, "row_ptr[block rows] is 3 but nnz is 4");
  view.row_ptr = NULL;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.row_ptr is NULL");
  view = good;
  view.block_rows = 0;
  refused(context, &view, MERBIT_INVALID_ARGUMENT,
          "view.block_rows is 0 and block_cols 3; use 1 to 64 each");
  view.block_rows = 64;
  view.block_cols = 65;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.block_rows is 64 and block_cols 65");
  view.block_cols = -1;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "block_cols -1");
  view = good;
  view.block_order = (merbit_block_order)2;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.block_order is 2");
  view = good;
  view.offset_type = MERBIT_INDEX_64;
  view.block_rows = view.block_cols = 64;
  view.nnz = (MBI_MAX_LENGTH >> 12) + 1; /* 64 x 64 values each */
  refused(context, &view, MERBIT_TOO_LARGE, "blocks of 64 x 64, beyond the address space");
  view.offset_type = MERBIT_INDEX_32;
  view.nnz = (int64_t)INT32_MAX + 1;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "too much for 32-bit offsets");
  merbit_context_destroy(context);
}

static void bad_kinds_are_named(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view;
  (void)state;
  assert_int_equal(merbit_view_check(NULL, &view), MERBIT_INVALID_ARGUMENT);
  refused(context, NULL, MERBIT_INVALID_ARGUMENT, "the view is NULL");
  view = small_csr();
  view.format = (merbit_format)3;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.format is 3");
  view = small_csr();
  for (view.value_type = MERBIT_TYPE_DEFAULT; view.value_type < unknown_type();
       view.value_type = (merbit_type)(view.value_type + 1)) {
    assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  }
  view.value_type = unknown_type();
  refused(context, &view, MERBIT_INVALID_ARGUMENT,
          unknown_words("view.value_type", (int)unknown_type()));
  view = small_csr();
  view.offset_type = (merbit_index_type)2;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.offset_type is 2");
  view = small_csr();
  view.index_type = (merbit_index_type)2;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.index_type is 2");
  view = small_csr();
  view.memory = (merbit_memory)3;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.memory is 3");
  view = small_csr();
  view.base = 2;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.base is 2");
  view.base = -1;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.base is -1");
  merbit_context_destroy(context);
}

static void bad_sizes_are_named(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = small_csr();
  (void)state;
  view.rows = -1;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.rows is -1");
  view.rows = INT64_MAX;
  refused(context, &view, MERBIT_TOO_LARGE, "view.rows is 9223372036854775807");
  view = small_csr();
  view.cols = INT64_MIN;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.cols is -9223372036854775808");
  view.cols = (int64_t)INT32_MAX + 1;
  refused(context, &view, MERBIT_TOO_LARGE, "view.cols is 2147483648");
  view.cols = INT32_MAX;
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  view = small_csr();
  view.nnz = -5;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.nnz is -5");
  view.nnz = INT64_MAX / 8;
  refused(context, &view, MERBIT_TOO_LARGE, "view.nnz is 1152921504606846975");
  view.nnz = (int64_t)INT32_MAX + 1;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "too much for 32-bit offsets");
  view.nnz = INT32_MAX; /* with base 1 the last offset is 2^31 */
  view.base = 1;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "too much for 32-bit offsets");
  view = small_csr();
  view.rows = 0;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "a matrix of 0 x 4 has no entries");
  view = small_coo();
  view.cols = 0;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "a matrix of 3 x 0 has no entries");
  merbit_context_destroy(context);
}

static void missing_arrays_are_named(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = small_csr();
  (void)state;
  view.row_ptr = NULL;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.row_ptr is NULL");
  view = small_csr();
  view.col_ind = NULL;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.col_ind is NULL");
  view = small_coo();
  view.row_ind = NULL;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.row_ind is NULL");
  view = small_coo();
  view.col_ind = NULL;
  refused(context, &view, MERBIT_INVALID_ARGUMENT, "view.col_ind is NULL");
  view = merbit_csr(0, 0, 0, NULL, NULL, NULL);
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  view.format = MERBIT_COO;
  view.rows = 9;
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  merbit_context_destroy(context);
}

static void offsets_refused(const int64_t *offsets, int base, int64_t nnz, const char *piece) {
  int wide;
  for (wide = 0; wide < 2; wide++) {
    merbit_context *context = cpu_open(NULL, 3);
    int64_t columns[5] = {1, 1, 1, 1, 1};
    merbit_index_type type = wide ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
    void *row_ptr = products_indices(offsets, NULL, 4, type, 0),
         *col_ind = products_indices(columns, NULL, nnz, MERBIT_INDEX_32, 0);
    merbit_view view = merbit_csr(3, 4, nnz, row_ptr, col_ind, NULL);
    view.offset_type = type;
    view.base = base;
    refused(context, &view, MERBIT_INVALID_MATRIX, piece);
    free(row_ptr);
    free(col_ind);
    merbit_context_destroy(context);
  }
}

static void bad_offsets_are_named(void **state) {
  static const struct {
    int64_t offsets[4];
    int base;
    const char *piece;
  } cases[] = {
      {{1, 2, 3, 5}, 0, "row_ptr[0] is 1 but base is 0"},
      {{0, 2, 3, 5}, 1, "row_ptr[0] is 0 but base is 1"},
      {{-1, 2, 3, 5}, 0, "row_ptr[0] is -1 but base is 0"},
      {{0, 3, 2, 5},
       0,
       "row_ptr[2] is 2, less than row_ptr[1] = 3: row 1 would have a negative"},
      {{0, -1, 2, 5}, 0, "row_ptr[1] is -1, less than row_ptr[0] = 0"},
      {{0, 6, 2, 5}, 0, "row_ptr[1] is 6, beyond the last offset, 5: nnz is 5 (base 0)"},
      {{1, 3, 7, 6}, 1, "row_ptr[2] is 7, beyond the last offset, 6: nnz is 5 (base 1)"},
      {{0, INT32_MAX, INT32_MIN, 5}, 0, "row_ptr[1] is 2147483647, beyond"},
      {{0, 5, INT32_MIN, 5}, 0, "row_ptr[2] is -2147483648, less than row_ptr[1] = 5"},
      {{0, 2, 3, 4}, 0, "row_ptr[rows] is 4 but nnz is 5 (base 0: row_ptr[3] must be 5)"},
      {{0, 2, 3, 6}, 0, "row_ptr[rows] is 6 but nnz is 5"},
      {{1, 2, 3, 5}, 1, "row_ptr[rows] is 5 but nnz is 5 (base 1: row_ptr[3] must be 6)"},
      {{0, 2, 5, 4}, 0, "row_ptr[3] is 4, less than row_ptr[2] = 5"},
      {{1, 0, 3, 6}, 1, "row_ptr[1] is 0, less than row_ptr[0] = 1"}};
  static const int64_t wide[][4] = {{0, INT64_MAX, 3, 5}, {0, INT64_MIN, 3, 5}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    offsets_refused(cases[i].offsets, cases[i].base, 5, cases[i].piece);
  }
  for (i = 0; i < 2; i++) {
    merbit_context *context = cpu_open(NULL, 1);
    merbit_view view = merbit_csr(3, 4, 5, wide[i], small_col_ind, NULL);
    view.offset_type = MERBIT_INDEX_64;
    refused(context, &view, MERBIT_INVALID_MATRIX,
            i == 0 ? "row_ptr[1] is 9223372036854775807"
                   : "row_ptr[1] is -9223372036854775808");
    merbit_context_destroy(context);
  }
}

static void bad_indices_are_named(void **state) {
  static const int64_t bad_values[] = {-1, 4, INT32_MAX, INT32_MIN};
  int i, base, wide, at;
  (void)state;
  for (i = 0; i < 4; i++) {
    for (base = 0; base < 2; base++) {
      for (wide = 0; wide < 2; wide++) {
        for (at = 0; at < 5; at++) {
          static const int row_of[] = {0, 0, 2, 2, 2};
          merbit_context *context = cpu_open(NULL, 2);
          int64_t good_rows[5], good_columns[5], offsets[4], spoilt[5];
          merbit_index_type type = wide ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
          void *row_ptr, *rows, *columns, *bad;
          merbit_view view;
          char piece[200];
          int k;
          int64_t value =
              bad_values[i] + (bad_values[i] == -1 || bad_values[i] == 4 ? base : 0);
          for (k = 0; k < 5; k++) {
            good_rows[k] = small_row_ind[k] + base;
            good_columns[k] = small_col_ind[k] + base;
            spoilt[k] = k >= at ? value : base; /* the first of several */
          }
          for (k = 0; k < 4; k++) {
            offsets[k] = small_row_ptr[k] + base;
          }
          row_ptr = products_indices(offsets, NULL, 4, MERBIT_INDEX_32, 0);
          rows = products_indices(good_rows, NULL, 5, type, 0);
          columns = products_indices(good_columns, NULL, 5, type, 0);
          bad = products_indices(spoilt, NULL, 5, type, 0);
          view = merbit_csr(3, 4, 5, row_ptr, bad, NULL);
          view.index_type = type;
          view.base = base;
          (void)snprintf(
              piece, sizeof piece,
              "col_ind[%d] (row %d) is %lld but the matrix has 4 columns (base %d: use "
              "%d to %d)",
              at, row_of[at], (long long)value, base, base, base + 3);
          refused(context, &view, MERBIT_INVALID_MATRIX, piece);
          view.format = MERBIT_COO;
          view.row_ptr = NULL;
          view.row_ind = rows;
          (void)snprintf(piece, sizeof piece, "col_ind[%d] is %lld but", at, (long long)value);
          refused(context, &view, MERBIT_INVALID_MATRIX, piece);
          view.row_ind = bad; /* rows come before columns: both are bad */
          view.rows = 4;
          (void)snprintf(piece, sizeof piece, "row_ind[%d] is %lld but the matrix has 4 rows",
                         at, (long long)value);
          refused(context, &view, MERBIT_INVALID_MATRIX, piece);
          view.col_ind = columns;
          refused(context, &view, MERBIT_INVALID_MATRIX, piece);
          free(row_ptr);
          free(rows);
          free(columns);
          free(bad);
          merbit_context_destroy(context);
        }
      }
    }
  }
}

/* A legal matrix with more rows than a 32-bit index can number; the smallest index is still
 * checked. */
static void indices_narrower_than_the_matrix(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  int32_t rows[2] = {INT32_MAX, 1}, columns[2] = {1, INT32_MAX};
  merbit_view view = merbit_csr((int64_t)1 << 33, INT32_MAX, 2, NULL, columns, NULL);
  (void)state;
  view.format = MERBIT_COO;
  view.row_ind = rows;
  view.base = 1;
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  rows[1] = INT32_MIN;
  refused(context, &view, MERBIT_INVALID_MATRIX, "row_ind[1] is -2147483648");
  rows[1] = 0;
  refused(context, &view, MERBIT_INVALID_MATRIX, "row_ind[1] is 0");
  rows[1] = 1;
  columns[0] = 0;
  refused(context, &view, MERBIT_INVALID_MATRIX, "col_ind[0] is 0");
  view.base = 0;
  refused(context, &view, MERBIT_INVALID_MATRIX, "col_ind[1] is 2147483647");
  merbit_context_destroy(context);
}

/* Long arrays are divided among tasks, which read them in pieces: the first of two bad entries
 * is named, wherever they are. */
static void the_first_bad_entry_of_long_arrays(void **state) {
  static const int thread_counts[] = {1, 2, 3, 8};
  const int64_t rows = 300000;
  int32_t *row_ptr = (int32_t *)test_allocate(rows + 1, 4);
  int32_t *col_ind = (int32_t *)test_allocate(rows, 4);
  uint64_t random = 5;
  int64_t i, t, round;
  (void)state;
  for (i = 0; i <= rows; i++) {
    row_ptr[i] = (int32_t)i;
  }
  for (t = 0; t < 4; t++) {
    merbit_context *context = cpu_open(NULL, thread_counts[t]);
    merbit_view view = merbit_csr(rows, 10, rows, row_ptr, col_ind, NULL);
    assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
    for (round = 0; round < 100; round++) {
      char piece[100];
      int64_t share = rows / thread_counts[t];
      int64_t at = round < 20 ? share * (round / 5) + round % 5 - 2 : test_below(&random, rows);
      int64_t later;
      at = at < 1 ? 1 : at >= rows ? rows - 1 : at;
      later = at + test_below(&random, rows - at);
      col_ind[at] = 10;
      col_ind[later] = -7 - (at == later ? -17 : 0);
      (void)snprintf(piece, sizeof piece, "col_ind[%lld] (row %lld) is 10 but", (long long)at,
                     (long long)at);
      refused(context, &view, MERBIT_INVALID_MATRIX, piece);
      col_ind[at] = 0;
      col_ind[later] = 0;
      row_ptr[at]--;
      row_ptr[at - 1]++; /* decreases at `at`, and only there if the step before was 1 */
      row_ptr[rows] += later % 2 == 0;
      if (at > 1) {
        (void)snprintf(piece, sizeof piece, "row_ptr[%lld] is %lld, less than", (long long)at,
                       (long long)at - 1);
        refused(context, &view, MERBIT_INVALID_MATRIX, piece);
      }
      row_ptr[at]++;
      row_ptr[at - 1]--;
      row_ptr[rows] = (int32_t)rows;
    }
    merbit_context_destroy(context);
  }
  free(row_ptr);
  free(col_ind);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(good_views_pass),
      cmocka_unit_test(blocks_are_named),
      cmocka_unit_test(bad_kinds_are_named),
      cmocka_unit_test(bad_sizes_are_named),
      cmocka_unit_test(missing_arrays_are_named),
      cmocka_unit_test(bad_offsets_are_named),
      cmocka_unit_test(bad_indices_are_named),
      cmocka_unit_test(indices_narrower_than_the_matrix),
      cmocka_unit_test(the_first_bad_entry_of_long_arrays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
