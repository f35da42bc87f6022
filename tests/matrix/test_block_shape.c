/* The block shape that moves the fewest bytes: in small matrices compared with a count of every
 * candidate, in large ones, whose rows are only sampled at first, with the known shape. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/blocks.h"
#include "support/cpu.h"

static const int larger[][2] = {{10, 10}, {12, 12}, {16, 16}, {16, 1}, {1, 16}, {16, 8}};

/* Counts the blocks of R x C that hold an entry, by marking each. */
static int64_t count_blocks(const test_matrix *m, int R, int C) {
  const int64_t rows = blocks_count(m->rows, R), cols = blocks_count(m->cols, C);
  unsigned char *seen = (unsigned char *)test_allocate(rows * cols, 1);
  int64_t row, k, blocks = 0;
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      unsigned char *mark = seen + row / R * cols + m->col_ind[k] / C;
      blocks += *mark == 0;
      *mark = 1;
    }
  }
  free(seen);
  return blocks;
}

static int64_t bytes_of(const test_matrix *m, int R, int C, int64_t size) {
  return count_blocks(m, R, C) * (R * C * size + 4) + 4 * (blocks_count(m->rows, R) + 1);
}

static int64_t fewest_bytes(const test_matrix *m, int64_t size) {
  int64_t least = bytes_of(m, 1, 1, size), bytes;
  int R, C;
  size_t i;
  for (R = 1; R <= 8; R++) {
    for (C = 1; C <= 8; C++) {
      bytes = bytes_of(m, R, C, size);
      least = bytes < least ? bytes : least;
    }
  }
  for (i = 0; i < sizeof larger / sizeof larger[0]; i++) {
    bytes = bytes_of(m, larger[i][0], larger[i][1], size);
    least = bytes < least ? bytes : least;
  }
  return least;
}

static merbit_block_info find(merbit_context *context, const merbit_view *view) {
  merbit_block_info info;
  memset(&info, 0, sizeof info);
  products_done(context, merbit_view_find_blocks(context, view, NULL, &info), "a shape");
  return info;
}

static void fewest_of_all_candidates(void **state) {
  merbit_context *contexts[2];
  int i, single;
  (void)state;
  contexts[0] = cpu_open(NULL, 1);
  contexts[1] = cpu_open(NULL, 3);
  for (i = 0; i < test_matrix_count(); i++) {
    test_matrix m;
    test_matrix_make(i, 9, &m);
    for (single = 0; single < 2 && m.nnz > 0 && m.nnz < 3000; single++) {
      products_form form;
      products_arrays a;
      merbit_block_info info;
      merbit_matrix *matrix;
      int64_t distinct;
      memset(&form, 0, sizeof form);
      form.type = single ? MERBIT_F32 : MERBIT_F64;
      products_arrays_make(NULL, &m, &form, &a);
      info = find(contexts[i % 2], &a.view);
      assert_int_equal(info.bytes, fewest_bytes(&m, single ? 4 : 8));
      assert_int_equal(info.blocks, count_blocks(&m, info.block_rows, info.block_cols));
      products_done(contexts[0], merbit_matrix_create(contexts[0], &a.view, &matrix), m.name);
      distinct = merbit_matrix_view(matrix).nnz;
      assert_true(info.fill ==
                  (double)distinct / (double)(info.blocks * info.block_rows * info.block_cols));
      assert_true(info.bytes <= info.csr_bytes);
      merbit_matrix_destroy(matrix);
      products_arrays_free(&a);
    }
    test_matrix_free(&m);
  }
  merbit_context_destroy(contexts[0]);
  merbit_context_destroy(contexts[1]);
}

/* More rows than are counted for every candidate; full blocks in some places, single entries
 * elsewhere. */
static void shapes_of_large_matrices(void **state) {
  static const int shapes[][2] = {{2, 2}, {3, 3}, {5, 5},   {3, 5},
                                  {6, 4}, {8, 8}, {16, 16}, {1, 1}};
  merbit_context *context = cpu_open(NULL, 3);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const products_form form = blocks_form((unsigned)i % 4);
    blocks_shape s;
    products_case c;
    products_arrays a;
    products_form csr = form;
    merbit_block_info info;
    memset(&s, 0, sizeof s);
    s.block_rows = shapes[i][0];
    s.block_cols = shapes[i][1];
    s.rows = 60000;
    s.cols = 2880;
    s.longest = s.block_rows > 4 ? 3 : 2;
    s.sorted = 1;
    blocks_case_make(&s, &form, i, &c);
    csr.format = MERBIT_CSR;
    products_arrays_make(NULL, &c.m, &csr, &a);
    info = find(context, &a.view);
    assert_int_equal(info.block_rows, s.block_rows);
    assert_int_equal(info.block_cols, s.block_cols);
    assert_int_equal(info.blocks, c.a.view.nnz);
    products_arrays_free(&a);
    blocks_case_free(&c);
  }
  merbit_context_destroy(context);
}

/* Single entries at the start, blocks of 4 x 4 after them: windows must cover all rows. */
static void blocks_behind_single_entries(void **state) {
  enum { SINGLE = 300, ROWS = 80000, PLACES = 5000 };
  merbit_context *context = cpu_open(NULL, 3);
  int32_t *row_ptr = (int32_t *)test_allocate(ROWS + 1, 4);
  int32_t *col_ind = (int32_t *)test_allocate(8 * (int64_t)ROWS, 4);
  double *values = (double *)test_allocate(8 * (int64_t)ROWS, 8);
  merbit_block_info info;
  merbit_view view;
  int32_t nnz = 0;
  int i, k;
  (void)state;
  for (i = 0; i < ROWS; i++) {
    for (k = 0; k < (i < SINGLE ? 3 : 8); k++) {
      const int block = (i / 4 * 37 + k / 4 * 100) % (PLACES / 2) + k / 4 * PLACES / 2;
      col_ind[nnz++] = i < SINGLE ? i * 17 % 5000 + k * 5003 : 4 * block + k % 4;
    }
    row_ptr[i + 1] = nnz;
  }
  view = merbit_csr(ROWS, 4 * PLACES, nnz, row_ptr, col_ind, values);
  info = find(context, &view);
  assert_int_equal(info.block_rows, 4);
  assert_int_equal(info.block_cols, 4);
  free(row_ptr);
  free(col_ind);
  free(values);
  merbit_context_destroy(context);
}

/* A pattern costs only the bytes of its places, as long as blocks are full. */
static void patterns_and_given_shapes(void **state) {
  static const int32_t row_ptr[] = {0, 2, 4, 5}, col_ind[] = {0, 1, 0, 1, 2};
  merbit_context *context = cpu_open(NULL, 1);
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, NULL);
  merbit_view empty = merbit_csr(0, 0, 0, NULL, NULL, NULL);
  merbit_bsr_desc desc = {2, 2, MERBIT_BLOCK_ROW_MAJOR};
  merbit_block_info info;
  (void)state;
  assert_int_equal(merbit_view_find_blocks(context, &view, &desc, &info), MERBIT_OK);
  assert_int_equal(info.block_rows, 2);
  assert_int_equal(info.blocks, 2);
  assert_int_equal(info.bytes, 2 * 4 + 3 * 4);
  assert_int_equal(info.csr_bytes, 5 * 4 + 4 * 4);
  assert_true(info.fill == 5.0 / 8);
  desc.block_cols = 3;
  assert_int_equal(merbit_view_find_blocks(context, &view, &desc, &info), MERBIT_OK);
  assert_int_equal(info.bytes, 2 * (4 + 6 * 8) + 3 * 4);
  info = find(context, &empty);
  assert_int_equal(info.block_rows, 1);
  assert_int_equal(info.blocks, 0);
  assert_true(info.fill == 1);
  empty.rows = 100;
  empty.row_ptr = test_allocate(101, 4);
  info = find(context, &empty);
  assert_int_equal(info.block_rows * info.block_cols, 1);
  assert_int_equal(info.bytes, 404);
  free((void *)(uintptr_t)empty.row_ptr);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fewest_of_all_candidates),
      cmocka_unit_test(shapes_of_large_matrices),
      cmocka_unit_test(blocks_behind_single_entries),
      cmocka_unit_test(patterns_and_given_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
