/* Owned matrices from every kind of view, and their transposes, bit for bit against a sort by
 * (row, column, place in the arrays). */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "matrix/build_forms.h"

static int by_row(const void *left, const void *right) {
  const entry *a = (const entry *)left, *b = (const entry *)right;
  if (a->row != b->row) {
    return a->row < b->row ? -1 : 1;
  }
  if (a->col != b->col) {
    return a->col < b->col ? -1 : 1;
  }
  return a->place < b->place ? -1 : 1;
}

/* Computes the library's expected result: sorted in place, with duplicates added in the value
 * type. */
static int64_t reference(entry *entries, int64_t nnz, const form *f, int *duplicates) {
  int64_t i, at = 0;
  *duplicates = 0;
  for (i = 0; i < nnz; i++) {
    int64_t row = entries[i].row;
    entries[i].row = f->transpose ? entries[i].col : row;
    entries[i].col = f->transpose ? row : entries[i].col;
    entries[i].value = f->pattern              ? 1
                       : f->type == MERBIT_F32 ? (float)entries[i].value
                                               : entries[i].value;
  }
  qsort(entries, (size_t)nnz, sizeof *entries, by_row);
  for (i = 0; i < nnz; i++) {
    if (at > 0 && entries[at - 1].row == entries[i].row &&
        entries[at - 1].col == entries[i].col) {
      double sum = entries[at - 1].value + entries[i].value;
      entries[at - 1].value =
          f->type == MERBIT_F32 ? (float)entries[at - 1].value + (float)entries[i].value : sum;
      *duplicates = 1;
    } else {
      entries[at++] = entries[i];
    }
  }
  return at;
}

static int same_bits(const merbit_view *view, int64_t k, double value) {
  float single = (float)value;
  return view->value_type == MERBIT_F32
             ? memcmp((const float *)view->values + k, &single, sizeof single) == 0
             : memcmp((const double *)view->values + k, &value, sizeof value) == 0;
}

static void compare(const merbit_view *view, const entry *expected, int64_t nnz,
                    int has_values) {
  const int32_t *row_ptr = (const int32_t *)view->row_ptr,
                *col_ind = (const int32_t *)view->col_ind;
  int64_t row, k;
  assert_int_equal(view->format, MERBIT_CSR);
  assert_int_equal(view->offset_type, MERBIT_INDEX_32);
  assert_int_equal(view->index_type, MERBIT_INDEX_32);
  assert_int_equal(view->base, 0);
  assert_int_equal(view->memory, MERBIT_MEMORY_HOST);
  assert_int_equal(view->nnz, nnz);
  assert_int_equal(view->values != NULL, has_values);
  assert_int_equal(row_ptr[0], 0);
  assert_int_equal(row_ptr[view->rows], nnz);
  for (row = 0, k = 0; row < view->rows; row++) {
    for (; k < row_ptr[row + 1]; k++) {
      if (expected[k].row != row || expected[k].col != col_ind[k]) {
        fail_msg("entry %lld is (%lld, %d), not (%lld, %lld)", (long long)k, (long long)row,
                 (int)col_ind[k], (long long)expected[k].row, (long long)expected[k].col);
      }
      if (has_values && !same_bits(view, k, expected[k].value)) {
        fail_msg("the value of entry %lld is not %.17g", (long long)k, expected[k].value);
      }
    }
    assert_int_equal(k, row_ptr[row + 1]);
  }
}

static merbit_matrix *build(merbit_context *context, const merbit_view *view, int transpose) {
  merbit_matrix *matrix = NULL;
  merbit_status status = transpose ? merbit_matrix_transpose(context, view, &matrix)
                                   : merbit_matrix_create(context, view, &matrix);
  if (status != MERBIT_OK) {
    char sentence[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(context, sentence, sizeof sentence);
    fail_msg("%s", sentence);
  }
  return matrix;
}

static void check_form(merbit_context *context, const test_matrix *m, const form *f) {
  entry *entries = entries_of(m, f->order);
  merbit_matrix *matrix;
  merbit_view view;
  arrays a;
  int64_t nnz;
  int duplicates;
  arrays_make(m, entries, f, &a);
  matrix = build(context, &a.view, f->transpose);
  view = merbit_matrix_view(matrix);
  nnz = reference(entries, m->nnz, f, &duplicates);
  assert_int_equal(view.rows, f->transpose ? m->cols : m->rows);
  assert_int_equal(view.cols, f->transpose ? m->rows : m->cols);
  assert_int_equal(view.value_type, f->type);
  compare(&view, entries, nnz, !f->pattern || duplicates);
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  merbit_matrix_destroy(matrix);
  arrays_free(&a);
  free(entries);
}

/* Widths and bases change with a counter, so that every pair of them occurs with every
 * arrangement. */
static void every_matrix_in_every_form(void **state) {
  merbit_context *alone = cpu_open(NULL, 1), *several = cpu_open(NULL, 4);
  unsigned turn = 0;
  int i, order, kind, transpose;
  (void)state;
  for (i = 0; i < test_matrix_count(); i++) {
    test_matrix m;
    test_matrix_make(i, 2, &m);
    for (order = 0; order < ARRANGEMENTS; order++) {
      for (kind = 0; kind < 3; kind++) {
        for (transpose = 0; transpose < 2; transpose++, turn++) {
          form f;
          f.order = (arrangement)order;
          f.type = kind == 1 ? MERBIT_F32 : MERBIT_F64;
          f.pattern = kind == 2;
          f.offset_type = turn & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
          f.index_type = (turn >> 3) & 1 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
          f.base = (int)(turn / 5) & 1;
          f.transpose = transpose;
          check_form((turn / 7) & 1 ? alone : several, &m, &f);
        }
      }
    }
    test_matrix_free(&m);
  }
  merbit_context_destroy(alone);
  merbit_context_destroy(several);
}

/* Rows that exceed the insertion sort, in matrices with 1 to 4 bytes of column numbers, around
 * the limits. */
static void long_rows_out_of_order(void **state) {
  static const int64_t widths[] = {1,     2,     255,     256,           257,
                                   65536, 65537, 1 << 24, (1 << 24) + 1, INT32_MAX};
  static const int64_t lengths[] = {31, 32, 33, 1000};
  merbit_context *context = cpu_open(NULL, 2);
  int i, j, kind;
  (void)state;
  for (i = 0; i < 10; i++) {
    for (j = 0; j < 4; j++) {
      test_matrix m;
      int64_t offsets[4], k, length = lengths[j];
      uint64_t random = 9;
      memset(&m, 0, sizeof m);
      m.rows = 3;
      m.cols = widths[i];
      m.nnz = 2 * length + 1;
      offsets[0] = 0;
      offsets[1] = length;
      offsets[2] = length + 1;
      offsets[3] = m.nnz;
      m.row_ptr = offsets;
      m.col_ind = (int32_t *)test_allocate(m.nnz, 4);
      m.values = (double *)test_allocate(m.nnz, 8);
      for (k = 0; k < m.nnz; k++) {
        int64_t wide = test_below(&random, m.cols);
        /* Half of them are small and repeated, so that high bytes are equal and there are
         * duplicates. */
        m.col_ind[k] = (int32_t)(k % 2 ? wide : wide % 97);
        m.values[k] = test_uniform(&random);
      }
      m.col_ind[0] = (int32_t)(m.cols - 1);
      for (kind = 0; kind < 3; kind++) {
        form f;
        memset(&f, 0, sizeof f);
        f.order = CSR_AS_IS;
        f.type = kind == 1 ? MERBIT_F32 : MERBIT_F64;
        f.pattern = kind == 2;
        check_form(context, &m, &f);
      }
      free(m.col_ind);
      free(m.values);
    }
  }
  merbit_context_destroy(context);
}

static void transposing_twice_is_sorting(void **state) {
  merbit_context *context = cpu_open(NULL, 3);
  int i, pattern;
  (void)state;
  for (i = 0; i < test_matrix_count(); i++) {
    for (pattern = 0; pattern < 2; pattern++) {
      test_matrix m;
      merbit_matrix *sorted, *once, *twice;
      merbit_view view, a, b;
      test_matrix_make(i, 3, &m);
      view = merbit_csr(m.rows, m.cols, m.nnz, m.row_ptr, m.col_ind, pattern ? NULL : m.values);
      view.offset_type = MERBIT_INDEX_64;
      sorted = build(context, &view, 0);
      once = build(context, &view, 1);
      a = merbit_matrix_view(once);
      twice = build(context, &a, 1);
      a = merbit_matrix_view(sorted);
      b = merbit_matrix_view(twice);
      assert_int_equal(a.nnz, b.nnz);
      assert_memory_equal(a.row_ptr, b.row_ptr, (size_t)(m.rows + 1) * 4);
      assert_int_equal(a.values == NULL, b.values == NULL);
      if (a.nnz > 0) {
        assert_memory_equal(a.col_ind, b.col_ind, (size_t)a.nnz * 4);
      }
      if (a.nnz > 0 && a.values != NULL) {
        assert_memory_equal(a.values, b.values, (size_t)a.nnz * 8);
      }
      merbit_matrix_destroy(sorted);
      merbit_matrix_destroy(once);
      merbit_matrix_destroy(twice);
      test_matrix_free(&m);
    }
  }
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_matrix_in_every_form),
      cmocka_unit_test(long_rows_out_of_order),
      cmocka_unit_test(transposing_twice_is_sorting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
