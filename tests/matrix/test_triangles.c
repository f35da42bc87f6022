/* Views of one triangle: refusals, calls other than plans, and files. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/symmetric.h"
#include "support/squares.h"

static const int32_t row_ptr[] = {0, 1, 3, 5}, row_ind[] = {0, 1, 1, 2, 2},
                     col_ind[] = {0, 0, 1, 0, 1};
static const double values[] = {4, 1, 5, 2, 3};

/* ---- Other calls ------------------------------------------------------------------------- */

static void same(const merbit_view *a, const merbit_view *b) {
  assert_true(a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz);
  assert_int_equal(a->symmetry, b->symmetry);
  assert_memory_equal(a->row_ptr, b->row_ptr, (size_t)(a->rows + 1) * 4);
  assert_memory_equal(a->col_ind, b->col_ind, (size_t)a->nnz * 4);
  assert_true((a->values == NULL) == (b->values == NULL));
  if (a->values != NULL) {
    assert_memory_equal(a->values, b->values, (size_t)mbi_view_values(a) * 8);
  }
}

/* Matrices, blocks and ranks are those of both triangles. */
static void both_triangles(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  products_form form = products_form_of(0);
  int way, call;
  (void)state;
  for (way = 0; way < 6; way++) {
    const merbit_symmetry symmetry = (merbit_symmetry)(1 + way % 3);
    const merbit_bsr_desc blocks = {2, 3, MERBIT_BLOCK_ROW_MAJOR};
    double ranks[2][63];
    products_arrays full, half;
    merbit_matrix *matrix[2];
    merbit_block_info info[2];
    test_matrix m;
    symmetric_case h;
    int64_t k;
    square_grid(7, 9, 8, 5, &m);
    for (k = 0; k < m.nnz; k++) { /* exact sums of duplicates, positive weights */
      m.values[k] = 1 + (double)(k % 4);
    }
    symmetric_make(&m, symmetry, way & 1, MERBIT_OPERATION_N, &h);
    form.format = way < 3 ? MERBIT_CSR : MERBIT_COO;
    products_arrays_make(NULL, &h.full, &form, &full);
    products_arrays_make(NULL, &h.half, &form, &half);
    half.view.symmetry = symmetry;
    for (call = 0; call < 3; call++) {
      int i;
      for (i = 0; i < 2; i++) {
        const merbit_view *view = i == 0 ? &full.view : &half.view;
        products_done(context,
                      call == 0 ? merbit_matrix_create(context, view, &matrix[i])
                      : call == 1
                          ? merbit_matrix_transpose(context, view, &matrix[i])
                          : merbit_matrix_create_bsr(context, view, &blocks, &matrix[i]),
                      "a matrix");
      }
      if (call < 2) {
        same(&matrix[0]->view, &matrix[1]->view);
      } else {
        assert_int_equal(matrix[0]->view.nnz, matrix[1]->view.nnz);
        assert_memory_equal(matrix[0]->view.values, matrix[1]->view.values,
                            (size_t)mbi_view_values(&matrix[0]->view) * 8);
      }
      merbit_matrix_destroy(matrix[0]);
      merbit_matrix_destroy(matrix[1]);
    }
    products_done(context, merbit_view_find_blocks(context, &full.view, NULL, &info[0]),
                  "info");
    products_done(context, merbit_view_find_blocks(context, &half.view, NULL, &info[1]),
                  "info");
    assert_true(info[0].block_rows == info[1].block_rows && info[0].blocks == info[1].blocks &&
                info[0].bytes == info[1].bytes && info[0].csr_bytes == info[1].csr_bytes);
    if (symmetry == MERBIT_SYMMETRY_SKEW) {
      assert_int_equal(merbit_pagerank(context, &half.view, NULL, ranks[1], NULL),
                       MERBIT_INVALID_MATRIX);
      cpu_expect(context, MERBIT_INVALID_MATRIX, "half of the weights would be negative");
    } else {
      products_done(context, merbit_pagerank(context, &full.view, NULL, ranks[0], NULL),
                    "ranks");
      products_done(context, merbit_pagerank(context, &half.view, NULL, ranks[1], NULL),
                    "ranks");
      for (k = 0; k < 63; k++) { /* not the same bits: entries come in another order */
        assert_true(fabs(ranks[0][k] - ranks[1][k]) <= 0x1p-44 * ranks[0][k]);
      }
      ((double *)half.values)[3] = -2;
      assert_int_equal(merbit_pagerank(context, &half.view, NULL, ranks[1], NULL),
                       MERBIT_INVALID_MATRIX);
      cpu_expect(context, MERBIT_INVALID_MATRIX, "has the weight -2");
    }
    products_arrays_free(&full);
    products_arrays_free(&half);
    symmetric_free(&h);
    test_matrix_free(&m);
  }
  merbit_context_destroy(context);
}

/* ---- Files ------------------------------------------------------------------------------- */

typedef struct sheet {
  char text[2000];
  size_t size;
} sheet;

static int sheet_write(void *user, const void *data, size_t size) {
  sheet *s = (sheet *)user;
  assert_true(s->size + size < sizeof s->text);
  memcpy(s->text + s->size, data, size);
  s->size += size;
  s->text[s->size] = '\0';
  return 0;
}

static void writes(merbit_context *context, const merbit_view *view, const char *expected) {
  sheet s;
  memset(&s, 0, sizeof s);
  products_done(context, merbit_matrix_write_stream(context, view, sheet_write, &s), "a file");
  assert_string_equal(s.text, expected);
}

#define BANNER "%%MatrixMarket matrix "

/* Files are read and written with the triangle kept or expanded. */
static void files(void **state) {
  static const struct {
    const char *text;
    merbit_symmetry symmetry;
    int64_t half, full;
    const char *again; /* NULL: the same */
  } cases[] = {
      {BANNER "coordinate real symmetric\n3 3 4\n1 1 4\n2 1 1\n3 1 2.5\n3 3 -3\n",
       MERBIT_SYMMETRY_SYMMETRIC, 4, 6, NULL},
      {BANNER "coordinate real skew-symmetric\n3 3 2\n2 1 1\n3 2 -2\n", MERBIT_SYMMETRY_SKEW, 2,
       4, NULL},
      {BANNER "coordinate pattern symmetric\n3 3 3\n1 1\n3 1\n3 2\n", MERBIT_SYMMETRY_SYMMETRIC,
       3, 5, NULL},
      {BANNER "coordinate real hermitian\n2 2 2\n1 1 4\n2 1 1\n", MERBIT_SYMMETRY_HERMITIAN, 2,
       3, BANNER "coordinate real symmetric\n2 2 2\n1 1 4\n2 1 1\n"},
      {BANNER "coordinate integer symmetric\n2 2 2\n2 1 1\n2 1 5\n", MERBIT_SYMMETRY_SYMMETRIC,
       1, 2, BANNER "coordinate real symmetric\n2 2 1\n2 1 6\n"},
      {BANNER "array real symmetric\n2 2\n1\n2\n3\n", MERBIT_SYMMETRY_SYMMETRIC, 3, 4,
       BANNER "coordinate real symmetric\n2 2 3\n1 1 1\n2 1 2\n2 2 3\n"},
      {BANNER "coordinate real general\n2 2 2\n1 1 1\n2 1 2\n", MERBIT_SYMMETRY_NONE, 2, 2,
       NULL}};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_read_desc desc;
  size_t i;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.keep_half = 1;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const size_t size = strlen(cases[i].text);
    merbit_matrix *half, *full, *expanded;
    merbit_view view, half_view;
    products_done(
        context, merbit_matrix_read_memory(context, cases[i].text, size, &desc, &half), "half");
    products_done(context, merbit_matrix_read_memory(context, cases[i].text, size, NULL, &full),
                  "full");
    half_view = merbit_matrix_view(half);
    view = merbit_matrix_view(full);
    assert_int_equal(half_view.symmetry, cases[i].symmetry);
    assert_int_equal(half_view.nnz, cases[i].half);
    assert_int_equal(view.symmetry, MERBIT_SYMMETRY_NONE);
    assert_int_equal(view.nnz, cases[i].full);
    products_done(context, merbit_matrix_create(context, &half_view, &expanded), "both");
    same(&expanded->view, &view);
    writes(context, &half_view, cases[i].again != NULL ? cases[i].again : cases[i].text);
    merbit_matrix_destroy(half);
    merbit_matrix_destroy(full);
    merbit_matrix_destroy(expanded);
  }
  merbit_context_destroy(context);
}

/* An upper triangle is written as the lower one that the file format requires. */
static void upper_files(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(3, 3, 5, NULL, row_ind, values);
  (void)state;
  view.format = MERBIT_COO;
  view.row_ind = col_ind;
  view.symmetry = MERBIT_SYMMETRY_HERMITIAN;
  writes(context, &view,
         BANNER "coordinate real symmetric\n3 3 5\n1 1 4\n2 1 1\n2 2 5\n3 1 2\n3 2 3\n");
  view.nnz = 2;
  view.row_ind = col_ind + 3;
  view.col_ind = row_ind + 3;
  view.values = values + 3;
  view.symmetry = MERBIT_SYMMETRY_SKEW;
  writes(context, &view, BANNER "coordinate real skew-symmetric\n3 3 2\n3 1 -2\n3 2 -3\n");
  merbit_context_destroy(context);
}

/* ---- Refusals ---------------------------------------------------------------------------- */

static void refuse(merbit_context *context, const merbit_view *view,
                   const merbit_plan_desc *desc, merbit_status status, const char *piece) {
  merbit_plan *plan = (merbit_plan *)1;
  merbit_matrix *matrix = (merbit_matrix *)1;
  assert_int_equal(merbit_plan_create(context, view, desc, &plan), status);
  assert_null(plan);
  cpu_expect(context, status, piece);
  if (desc == NULL) {
    assert_int_equal(merbit_view_check(context, view), status);
    cpu_expect(context, status, piece);
    assert_int_equal(merbit_matrix_create(context, view, &matrix), status);
    assert_null(matrix);
  }
}

static void refused(void **state) {
  static const int32_t lower_then_upper[] = {0, 0, 1, 2, 1}, above[] = {1, 0, 1, 0, 1};
  static const int32_t off[] = {0, 0, 1, 1}, off_ptr[] = {0, 0, 1, 3};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(3, 3, 5, row_ptr, lower_then_upper, values);
  merbit_plan_desc desc;
  (void)state;
  memset(&desc, 0, sizeof desc);
  view.symmetry = (merbit_symmetry)4;
  refuse(context, &view, NULL, MERBIT_INVALID_ARGUMENT, "view.symmetry is 4; use MERBIT_SYMM");
  view.symmetry = (merbit_symmetry)-1;
  refuse(context, &view, NULL, MERBIT_INVALID_ARGUMENT, "view.symmetry is -1");
  view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  view.col_ind = above;
  refuse(
      context, &view, NULL, MERBIT_INVALID_MATRIX,
      "entry 1, (1, 0), lies below the diagonal and earlier ones above it; with view.symmetry "
      "give one triangle");
  view.format = MERBIT_COO;
  view.base = 0;
  view.row_ind = lower_then_upper;
  view.col_ind = row_ind; /* (0,0) (0,1) (1,1) (2,2) (1,2) */
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  view.symmetry = MERBIT_SYMMETRY_SKEW;
  refuse(context, &view, NULL, MERBIT_INVALID_MATRIX, "entry 0, (0, 0), lies on the diagonal");
  view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  view.format = MERBIT_CSR;
  view.col_ind = lower_then_upper; /* (0,0) (1,0) (1,1) (2,2) (2,1) */
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  view.symmetry = MERBIT_SYMMETRY_SKEW;
  view.row_ptr = off_ptr;
  view.col_ind = off;
  view.nnz = 3;
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  view.values = NULL;
  refuse(context, &view, NULL, MERBIT_INVALID_ARGUMENT, "a pattern has no values to negate");
  view.values = values;
  view.cols = 4;
  refuse(context, &view, NULL, MERBIT_INVALID_ARGUMENT,
         "view.rows is 3 and view.cols 4; only sq");
  view = merbit_bsr(3, 3, 5, 1, 1, row_ptr, col_ind, values);
  view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  refuse(context, &view, NULL, MERBIT_NOT_SUPPORTED, "view.symmetry is set for blocks");
  view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  desc.method = MERBIT_METHOD_SYMMETRIC;
  refuse(context, &view, &desc, MERBIT_INVALID_ARGUMENT,
         "method is MERBIT_METHOD_SYMMETRIC, but view.symmetry is");
  view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  desc.reordering = MERBIT_REORDERING_RCM;
  refuse(context, &view, &desc, MERBIT_NOT_SUPPORTED,
         "which MERBIT_METHOD_SYMMETRIC does not support");
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refused),
      cmocka_unit_test(both_triangles),
      cmocka_unit_test(files),
      cmocka_unit_test(upper_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
