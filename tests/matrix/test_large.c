/* Sizes around and beyond 2^24, 2^31 and the address space: checks that name an entry far out,
 * matrices that are built and transposed, and sizes that are refused with a message. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/effort.h"
#include "support/sparse.h"

#define TWO(bits) ((int64_t)1 << (bits))

#ifdef __SANITIZE_ADDRESS__
static const int sanitized = 1;
#else
static const int sanitized = 0;
#endif

static void refused(merbit_context *context, const merbit_view *view, const char *piece) {
  assert_int_equal(merbit_view_check(context, view), MERBIT_INVALID_MATRIX);
  cpu_expect(context, MERBIT_INVALID_MATRIX, piece);
}

/* Returns whether to skip: 2^31 entries under AddressSanitizer are tested only with --full. */
static int left_out(void) {
  return test_effort(sanitized, 0);
}

static int room_for(const sparse_array *a, const char *what) {
  if (a->data == NULL) {
    print_message("no address space for %s: not tried\n", what);
  }
  return a->data != NULL;
}

/* The bad entry follows 2^31 good ones. */
static void a_bad_column_far_out(void **state) {
  const int64_t nnz = TWO(31) + 100, at = TWO(31) + 50;
  const int64_t row_ptr[] = {0, 3, TWO(31) + 50, TWO(31) + 51, nnz};
  sparse_array col_ind = sparse_constant_i32(nnz, 6);
  merbit_view view = merbit_csr(4, 7, nnz, row_ptr, col_ind.data, NULL);
  merbit_context *context;
  (void)state;
  if (left_out() || !room_for(&col_ind, "2^31 + 100 columns")) {
    sparse_free(&col_ind);
    return;
  }
  context = cpu_open(NULL, 2);
  view.offset_type = MERBIT_INDEX_64;
  ((int32_t *)col_ind.data)[at] = 7;
  ((int32_t *)col_ind.data)[at + 9] = -1;
  refused(context, &view, "col_ind[2147483698] (row 2) is 7 but the matrix has 7 columns");
  if (test_effort(0, 1)) { /* the same as rows of a COO */
    const int64_t bad = TWO(31) - 1;
    ((int32_t *)col_ind.data)[at] = ((int32_t *)col_ind.data)[at + 9] = 0;
    assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
    view.format = MERBIT_COO;
    view.row_ptr = NULL;
    view.row_ind = col_ind.data;
    view.rows = 7;
    assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
    ((int32_t *)col_ind.data)[bad] = INT32_MIN;
    refused(context, &view, "row_ind[2147483647] is -2147483648 but the matrix has 7 rows");
  }
  merbit_context_destroy(context);
  sparse_free(&col_ind);
}

static void a_bad_row_far_out(void **state) {
  const int64_t rows = TWO(31) + 100;
  static const int32_t col_ind[9] = {1, 2, 3, 4, 5, 6, 7, 8, 10};
  sparse_array row_ptr = sparse_constant_i32(rows + 1, 5);
  int32_t *offsets = (int32_t *)row_ptr.data;
  merbit_view view = merbit_csr(rows, 10, 9, offsets, col_ind, NULL);
  merbit_context *context;
  (void)state;
  if (left_out() || !room_for(&row_ptr, "2^31 + 101 offsets")) {
    sparse_free(&row_ptr);
    return;
  }
  context = cpu_open(NULL, 2);
  offsets[0] = 0;
  offsets[rows] = 9;
  refused(context, &view, "col_ind[8] (row 2147483747) is 10 but the matrix has 10 columns");
  offsets[rows - 50] = 4;
  refused(context, &view,
          "row_ptr[2147483698] is 4, less than row_ptr[2147483697] = 5: row "
          "2147483697 would have");
  if (test_effort(0, 1)) {
    offsets[rows - 50] = 10;
    refused(context, &view, "row_ptr[2147483698] is 10, beyond the last offset, 9");
    offsets[rows - 50] = 5;
    offsets[rows] = 8;
    refused(context, &view,
            "row_ptr[rows] is 8 but nnz is 9 (base 0: row_ptr[2147483748] must be 9)");
  }
  merbit_context_destroy(context);
  sparse_free(&row_ptr);
}

/* Distant offsets of entries far out: only the offsets are read. */
static void rows_of_entries_beyond_32_bits(void **state) {
  static const int64_t marks[] = {TWO(31) - 1, TWO(31), TWO(32), TWO(40), TWO(60) - 30};
  size_t i;
  int base;
  (void)state;
  for (i = 0; i < sizeof marks / sizeof marks[0]; i++) {
    for (base = 0; base < 2; base++) {
      const int64_t b = marks[i];
      const int64_t row_ptr[] = {base, base, base + b, base + b, base + b + 1, base + b + 9};
      merbit_view view = merbit_csr(5, 1, b + 9, row_ptr, NULL, NULL);
      view.offset_type = MERBIT_INDEX_64;
      view.base = base;
      assert_true(mbi_row_of(&view, 0) == 1 && mbi_row_of(&view, b - 1) == 1);
      assert_true(mbi_row_of(&view, b) == 3 && mbi_row_of(&view, b + 1) == 4);
      assert_true(mbi_row_of(&view, b + 8) == 4);
    }
  }
}

/* Step 1 of a build with more than 2^31 entries: the counts of two tasks become starts. */
static void starts_beyond_32_bits(void **state) {
  int64_t counts[] = {TWO(31), 0, TWO(33) + 1, 5, TWO(32) - 1, 7};
  static const int64_t starts[] = {0,       TWO(31) + 5, TWO(31) + TWO(32) + 4,
                                   TWO(31), TWO(31) + 5, TWO(31) + TWO(32) + TWO(33) + 5};
  int64_t row_ptr[4];
  mbi_build *build = (mbi_build *)test_allocate(1, sizeof *build);
  int i;
  (void)state;
  build->to.rows = 3;
  build->tasks = 2;
  build->cursors = counts;
  build->cursor_type = MERBIT_INDEX_64;
  build->row_ptr = row_ptr;
  mbi_build_place(build);
  for (i = 0; i < 6; i++) {
    assert_true(counts[i] == starts[i]);
  }
  assert_true(row_ptr[0] == 0 && row_ptr[1] == starts[1] && row_ptr[2] == starts[2]);
  assert_true(row_ptr[3] == starts[5] + 7);
  free(build);
}

/* ---- Sizes that are refused -------------------------------------------------------------- */

static void expect_failure(merbit_context *context, merbit_status status, merbit_matrix *matrix,
                           merbit_status expected, const char *piece) {
  assert_int_equal(status, expected);
  assert_null(matrix);
  cpu_expect(context, expected, piece);
}

/* A COO claims rows without holding them; a limit simulates the machine's memory. */
static void rows_without_room(void **state) {
  static const struct {
    int64_t rows;
    const char *sentence; /* of the build */
  } cases[] = {{TWO(31) - 1, "row offsets of a matrix: 17179869184 bytes"},
               {TWO(31), "row offsets of a matrix: 17179869192 bytes"},
               {TWO(40), "row offsets of a matrix: 8796093022216 bytes"},
               {TWO(60) - 2, "row offsets of a matrix: 9223372036854775800 bytes"}};
  const int64_t row_ind[2] = {1, 0}, col_ind[2] = {0, 1};
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 2);
  size_t i;
  (void)state;
  memory.limit = (size_t)1 << 30;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_view view = merbit_csr(cases[i].rows, 2, 2, NULL, col_ind, NULL);
    merbit_matrix *matrix = (merbit_matrix *)context;
    merbit_plan *plan = (merbit_plan *)context;
    merbit_status status;
    view.format = MERBIT_COO;
    view.index_type = MERBIT_INDEX_64;
    view.row_ind = row_ind;
    assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
    status = merbit_matrix_create(context, &view, &matrix);
    expect_failure(context, status, matrix, MERBIT_OUT_OF_MEMORY, cases[i].sentence);
    assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OUT_OF_MEMORY);
    assert_null(plan);
    matrix = (merbit_matrix *)context;
    status = merbit_matrix_transpose(context, &view, &matrix);
    if (cases[i].rows <= INT32_MAX) {
      assert_int_equal(status, MERBIT_OK);
      assert_true(merbit_matrix_view(matrix).cols == cases[i].rows);
      merbit_matrix_destroy(matrix);
    } else {
      char sentence[64];
      (void)snprintf(sentence, sizeof sentence, "view.rows is %" PRId64 "; a transpose takes",
                     cases[i].rows);
      expect_failure(context, status, matrix, MERBIT_TOO_LARGE, sentence);
    }
    view.rows = 2; /* the widest matrix becomes the longest */
    view.cols = INT32_MAX;
    status = merbit_matrix_transpose(context, &view, &matrix);
    expect_failure(context, status, matrix, MERBIT_OUT_OF_MEMORY, cases[0].sentence);
  }
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

/* The last column that 32 bits can number, from a COO with 2^31 - 1 rows. */
static void the_last_column(void **state) {
  const int64_t row_ind[3] = {INT32_MAX - 1, 0, INT32_MAX - 1}, col_ind[3] = {1, 1, 0};
  static const double values[3] = {2, 3, 5};
  const double one = 1;
  sparse_array x = sparse_make(INT32_MAX, sizeof one, &one, 1, 0);
  double y[2] = {-1, -1};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(INT32_MAX, 2, 3, NULL, col_ind, values);
  merbit_matrix *matrix;
  merbit_plan *plan;
  (void)state;
  view.format = MERBIT_COO;
  view.index_type = MERBIT_INDEX_64;
  view.row_ind = row_ind;
  assert_int_equal(merbit_matrix_transpose(context, &view, &matrix), MERBIT_OK);
  view = merbit_matrix_view(matrix);
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  assert_int_equal(((const int32_t *)view.col_ind)[2], INT32_MAX - 1);
  if (room_for(&x, "a vector of 2^31 - 1")) {
    ((double *)x.data)[INT32_MAX - 1] = 100;
    assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
    assert_int_equal(merbit_spmv(plan, NULL, NULL, x.data, NULL, y, NULL), MERBIT_OK);
    assert_true(y[0] == 500 && y[1] == 203);
    merbit_plan_destroy(plan);
    sparse_free(&x);
  }
  merbit_matrix_destroy(matrix);
  merbit_context_destroy(context);
}

/* ---- Built ------------------------------------------------------------------------------- */

/* Transposes an antidiagonal of `n` rows: entry (i, n - 1 - i) has the value i % 1021. */
static void transposes_around_2_24(void **state) {
  int64_t n, i;
  (void)state;
  for (n = TWO(24) - test_effort(0, 1); n <= TWO(24) + test_effort(0, 1); n++) {
    merbit_context *context = cpu_open(NULL, 3);
    int32_t *row_ptr = (int32_t *)test_allocate(n + 1, 4),
            *col_ind = (int32_t *)test_allocate(n, 4);
    float *values = (float *)test_allocate(n, 4);
    merbit_view view = merbit_csr(n, n, n, row_ptr, col_ind, values);
    merbit_matrix *matrix;
    for (i = 0; i < n; i++) {
      row_ptr[i + 1] = (int32_t)(i + 1);
      col_ind[i] = (int32_t)(n - 1 - i);
      values[i] = (float)(i % 1021);
    }
    view.value_type = MERBIT_F32;
    assert_int_equal(merbit_matrix_transpose(context, &view, &matrix), MERBIT_OK);
    view = merbit_matrix_view(matrix);
    assert_true(view.nnz == n);
    for (i = 0; i < n; i++) {
      if (((const int32_t *)view.row_ptr)[i] != i ||
          ((const int32_t *)view.col_ind)[i] != n - 1 - i ||
          ((const float *)view.values)[i] != (float)((n - 1 - i) % 1021)) {
        fail_msg("n %" PRId64 ": row %" PRId64 " of the transpose", n, i);
      }
    }
    merbit_matrix_destroy(matrix);
    merbit_context_destroy(context);
    free(row_ptr);
    free(col_ind);
    free(values);
  }
}

/* 2^31 + 2^20 entries: a copy and a transpose of 9 GB each, so only with --full, with enough
 * memory, and if it takes less than half an hour. */
static void matrices_of_many_nonzeros(void **state) {
  const int64_t cols = TWO(20), rows = TWO(11) + 1, nnz = rows * cols;
  const int64_t pages = (int64_t)sysconf(_SC_AVPHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
  int32_t *line = (int32_t *)test_allocate(cols, 4);
  int64_t *row_ptr = (int64_t *)test_allocate(rows + 1, 8), i;
  sparse_array col_ind;
  merbit_context *context;
  merbit_matrix *matrix;
  merbit_view view, made;
  (void)state;
  for (i = 0; i < cols; i++) {
    line[i] = (int32_t)i;
  }
  for (i = 0; i <= rows; i++) {
    row_ptr[i] = i * cols;
  }
  col_ind = sparse_make(nnz, 4, line, cols, 0);
  if (!test_effort(0, 1) || sanitized || pages < (int64_t)11 << 30 ||
      !room_for(&col_ind, "2^31 columns")) {
    print_message("a matrix of 2^31 + 2^20 entries: only with --full, 11 GB of memory "
                  "and no sanitizer\n");
  } else {
    context = cpu_open(NULL, 2);
    view = merbit_csr(rows, cols, nnz, row_ptr, col_ind.data, NULL);
    view.offset_type = MERBIT_INDEX_64;
    assert_int_equal(merbit_matrix_create(context, &view, &matrix), MERBIT_OK);
    made = merbit_matrix_view(matrix);
    assert_true(made.nnz == nnz && made.offset_type == MERBIT_INDEX_64 && made.values == NULL);
    assert_memory_equal(made.row_ptr, row_ptr, (size_t)(rows + 1) * 8);
    for (i = 0; i < rows; i++) {
      assert_memory_equal((const int32_t *)made.col_ind + i * cols, line, (size_t)cols * 4);
    }
    merbit_matrix_destroy(matrix);
    assert_int_equal(merbit_matrix_transpose(context, &view, &matrix), MERBIT_OK);
    made = merbit_matrix_view(matrix);
    assert_true(made.nnz == nnz && made.rows == cols && made.offset_type == MERBIT_INDEX_64);
    for (i = 0; i < cols; i++) {
      assert_true(((const int64_t *)made.row_ptr)[i + 1] == (i + 1) * rows);
      assert_memory_equal((const int32_t *)made.col_ind + i * rows, line, (size_t)rows * 4);
    }
    merbit_matrix_destroy(matrix);
    merbit_context_destroy(context);
    print_message("a matrix of 2^31 + 2^20 entries: copied and transposed\n");
  }
  sparse_free(&col_ind);
  free(line);
  free(row_ptr);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_bad_column_far_out),
      cmocka_unit_test(a_bad_row_far_out),
      cmocka_unit_test(rows_of_entries_beyond_32_bits),
      cmocka_unit_test(starts_beyond_32_bits),
      cmocka_unit_test(rows_without_room),
      cmocka_unit_test(the_last_column),
      cmocka_unit_test(transposes_around_2_24),
      cmocka_unit_test(matrices_of_many_nonzeros),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
