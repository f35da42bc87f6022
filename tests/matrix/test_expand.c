/* BSR views become the CSR of their entries, with the same bits as the same entries passed as
 * CSR, in every call that takes a view. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/blocks.h"
#include "support/cpu.h"

static void same(const merbit_view *a, const merbit_view *b) {
  const size_t size = products_size(a->value_type);
  assert_int_equal(a->format, MERBIT_CSR);
  assert_int_equal(a->value_type, b->value_type);
  assert_int_equal(a->offset_type, b->offset_type);
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->cols, b->cols);
  assert_int_equal(a->nnz, b->nnz);
  assert_int_equal(a->values == NULL, b->values == NULL);
  assert_memory_equal(a->row_ptr, b->row_ptr, (size_t)(a->rows + 1) * 4);
  assert_memory_equal(a->col_ind, b->col_ind, (size_t)a->nnz * 4);
  if (a->values != NULL) {
    assert_memory_equal(a->values, b->values, (size_t)a->nnz * size);
  }
}

typedef struct text {
  char bytes[1 << 16];
  size_t size;
} text;

static int take(void *user, const void *data, size_t size) {
  text *t = (text *)user;
  assert_true(t->size + size <= sizeof t->bytes);
  memcpy(t->bytes + t->size, data, size);
  t->size += size;
  return 0;
}

static void as_csr(void **state) {
  merbit_context *contexts[2];
  static text blocks_text, csr_text;
  unsigned turn;
  (void)state;
  contexts[0] = cpu_open(NULL, 1);
  contexts[1] = cpu_open(NULL, 4);
  for (turn = 0; turn < 4 * BLOCKS_SHAPES; turn++) {
    merbit_context *context = contexts[turn % 2];
    products_form form = blocks_form(turn + turn / 32), csr = form;
    blocks_shape s;
    products_case c;
    products_arrays entries;
    merbit_matrix *made, *right;
    merbit_view a, b;
    memset(&s, 0, sizeof s);
    blocks_shape_of((int)turn % BLOCKS_SHAPES, &s);
    s.order = (merbit_block_order)(turn / BLOCKS_SHAPES % 2);
    s.rows = turn % 9 == 0 ? 0 : 2 * s.block_rows + turn % 7;
    s.cols = 1 + 3 * s.block_cols - turn % 3;
    s.longest = 5;
    s.sorted = turn % 4 == 3;
    blocks_case_make(&s, &form, turn, &c);
    csr.format = MERBIT_CSR;
    products_arrays_make(NULL, &c.m, &csr, &entries);
    products_done(context, merbit_matrix_create(context, &c.a.view, &made), c.m.name);
    products_done(context, merbit_matrix_create(context, &entries.view, &right), c.m.name);
    a = merbit_matrix_view(made);
    b = merbit_matrix_view(right);
    same(&a, &b);
    merbit_matrix_destroy(made);
    if (s.block_rows * s.block_cols <= 64) {
      blocks_text.size = csr_text.size = 0;
      products_done(context, merbit_matrix_write_stream(context, &c.a.view, take, &blocks_text),
                    "the text of blocks");
      products_done(context, merbit_matrix_write_stream(context, &b, take, &csr_text),
                    "a text");
      assert_int_equal(blocks_text.size, csr_text.size);
      assert_memory_equal(blocks_text.bytes, csr_text.bytes, csr_text.size);
    }
    merbit_matrix_destroy(right);
    products_done(context, merbit_matrix_transpose(context, &c.a.view, &made), c.m.name);
    products_done(context, merbit_matrix_transpose(context, &entries.view, &right), c.m.name);
    a = merbit_matrix_view(made);
    b = merbit_matrix_view(right);
    same(&a, &b);
    merbit_matrix_destroy(made);
    merbit_matrix_destroy(right);
    products_arrays_free(&entries);
    blocks_case_free(&c);
  }
  merbit_context_destroy(contexts[0]);
  merbit_context_destroy(contexts[1]);
}

/* Enough values for every thread to get a part. */
static void in_parts(void **state) {
  merbit_context *context = cpu_open(NULL, 4);
  int run;
  (void)state;
  for (run = 0; run < 4; run++) {
    products_form form = blocks_form((unsigned)run * 9), csr = form;
    blocks_shape s;
    products_case c;
    products_arrays entries;
    merbit_matrix *made, *right;
    merbit_view a, b;
    memset(&s, 0, sizeof s);
    s.block_rows = 6;
    s.block_cols = 7;
    s.order = (merbit_block_order)(run % 2);
    s.rows = 4000 - run;
    s.cols = 2000 - run;
    s.longest = 20;
    blocks_case_make(&s, &form, (uint64_t)run, &c);
    assert_true(mbi_share_tasks(context, mbi_view_values(&c.a.view)) == 4);
    csr.format = MERBIT_CSR;
    products_arrays_make(NULL, &c.m, &csr, &entries);
    products_done(context, merbit_matrix_create(context, &c.a.view, &made), c.m.name);
    products_done(context, merbit_matrix_create(context, &entries.view, &right), c.m.name);
    a = merbit_matrix_view(made);
    b = merbit_matrix_view(right);
    same(&a, &b);
    merbit_matrix_destroy(made);
    merbit_matrix_destroy(right);
    products_arrays_free(&entries);
    blocks_case_free(&c);
  }
  merbit_context_destroy(context);
}

/* PageRank of a link graph in blocks equals that of its entries; a bad block is named. */
static void ranks(void **state) {
  static const int32_t row_ptr[] = {0, 2, 3}, far_column[] = {0, 1, 2};
  static const double values[] = {0, 1, 1, 0, 2, 0, 9, 9, 1, 9, 0, 9};
  int32_t col_ind[] = {0, 1, 0};
  merbit_context *context = cpu_open(NULL, 2);
  merbit_view view = merbit_bsr(3, 3, 3, 2, 2, row_ptr, col_ind, values), entries;
  merbit_matrix *matrix;
  double of_blocks[3], of_entries[3];
  (void)state;
  assert_int_equal(merbit_matrix_create(context, &view, &matrix), MERBIT_OK);
  entries = merbit_matrix_view(matrix);
  assert_int_equal(merbit_pagerank(context, &view, NULL, of_blocks, NULL), MERBIT_OK);
  assert_int_equal(merbit_pagerank(context, &entries, NULL, of_entries, NULL), MERBIT_OK);
  assert_memory_equal(of_blocks, of_entries, sizeof of_blocks);
  merbit_matrix_destroy(matrix);
  view.col_ind = far_column;
  assert_int_equal(merbit_pagerank(context, &view, NULL, of_blocks, NULL),
                   MERBIT_INVALID_MATRIX);
  cpu_expect(context, MERBIT_INVALID_MATRIX,
             "col_ind[2] (block row 1) is 2 but the matrix has 2 block columns");
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(as_csr),
      cmocka_unit_test(in_parts),
      cmocka_unit_test(ranks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
