/* Owned matrices from every kind of view, and their transposes, bit for bit against a sort by
 * (row, column, place in the arrays). */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"

typedef struct entry {
  int64_t row, col, place;
  double value;
} entry;

typedef enum arrangement {
  CSR_AS_IS,
  COO_BY_ROW,
  COO_SHUFFLED,
  COO_BY_COLUMN,
  ARRANGEMENTS
} arrangement;

typedef struct form {
  arrangement order;
  merbit_type type;
  merbit_index_type offset_type, index_type;
  int base, pattern, transpose;
} form;

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

static int by_column(const void *left, const void *right) {
  const entry *a = (const entry *)left, *b = (const entry *)right;
  return a->col != b->col ? (a->col < b->col ? -1 : 1) : (a->place < b->place ? -1 : 1);
}

/* The entries of `m` in the order in which the arrays will hold them. */
static entry *entries_of(const test_matrix *m, arrangement order) {
  entry *entries = (entry *)test_allocate(m->nnz, sizeof *entries);
  uint64_t random = 3;
  int64_t row, k;
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      entries[k].row = row;
      entries[k].col = m->col_ind[k];
      entries[k].value = m->values[k];
      entries[k].place = k;
    }
  }
  for (k = m->nnz - 1; order == COO_SHUFFLED && k > 0; k--) {
    int64_t other = test_below(&random, k + 1);
    entry moved = entries[k];
    entries[k] = entries[other];
    entries[other] = moved;
  }
  if (order == COO_BY_COLUMN) {
    qsort(entries, (size_t)m->nnz, sizeof *entries, by_column);
  }
  for (k = 0; k < m->nnz; k++) {
    entries[k].place = k;
  }
  return entries;
}

static void *index_array(const entry *entries, const int64_t *offsets, int64_t count,
                         int of_rows, merbit_index_type type, int base) {
  void *array = malloc((size_t)count * (type == MERBIT_INDEX_64 ? 8 : 4) + 1);
  int64_t i;
  for (i = 0; i < count; i++) {
    int64_t value = base + (offsets != NULL ? offsets[i]
                            : of_rows       ? entries[i].row
                                            : entries[i].col);
    if (type == MERBIT_INDEX_64) {
      ((int64_t *)array)[i] = value;
    } else {
      ((int32_t *)array)[i] = (int32_t)value;
    }
  }
  return array;
}

typedef struct arrays {
  merbit_view view;
  void *row_ptr, *row_ind, *col_ind, *values;
} arrays;

static void arrays_make(const test_matrix *m, const entry *entries, const form *f, arrays *a) {
  int64_t i;
  memset(a, 0, sizeof *a);
  if (f->order == CSR_AS_IS) {
    a->row_ptr = index_array(NULL, m->row_ptr, m->rows + 1, 0, f->offset_type, f->base);
  } else {
    a->row_ind = index_array(entries, NULL, m->nnz, 1, f->index_type, f->base);
  }
  a->col_ind = index_array(entries, NULL, m->nnz, 0, f->index_type, f->base);
  a->values = malloc((size_t)m->nnz * 8 + 1);
  for (i = 0; i < m->nnz; i++) {
    if (f->type == MERBIT_F32) {
      ((float *)a->values)[i] = (float)entries[i].value;
    } else {
      ((double *)a->values)[i] = entries[i].value;
    }
  }
  a->view = merbit_csr(m->rows, m->cols, m->nnz, a->row_ptr, a->col_ind,
                       f->pattern ? NULL : a->values);
  a->view.format = f->order == CSR_AS_IS ? MERBIT_CSR : MERBIT_COO;
  a->view.row_ind = a->row_ind;
  a->view.value_type = f->type;
  a->view.offset_type = f->offset_type;
  a->view.index_type = f->index_type;
  a->view.base = f->base;
}

static void arrays_free(arrays *a) {
  free(a->row_ptr);
  free(a->row_ind);
  free(a->col_ind);
  free(a->values);
}

/* What the library must answer: sorted in place, duplicates added up in the value type. */
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

/* Widths and bases turn with a counter, so that every pair of them meets every arrangement. */
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

/* Rows longer than the insertion sort takes, in matrices of 1 to 4 bytes of columns, around the
 * bounds. */
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
        /* Half of them small and repeated, so that the high bytes are equal and duplicates
         * appear. */
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

/* Fail the first, second, ... allocation until the call succeeds: each time the status says so,
 * nothing is left over, and the out pointer is NULL. */
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
        test_matrix_make(68, 1, &m); /* power law: long rows out of order, duplicates */
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
  merbit_matrix *matrix = build(context, &view, 0);
  (void)state;
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
      cmocka_unit_test(every_matrix_in_every_form),
      cmocka_unit_test(long_rows_out_of_order),
      cmocka_unit_test(transposing_twice_is_sorting),
      cmocka_unit_test(failing_allocations),
      cmocka_unit_test(errors_are_named),
      cmocka_unit_test(life_of_a_matrix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
