/* Matrices of dense blocks: BSR arrays in any form, and the same entries as a test_matrix.
 * Entries of a block outside the matrix are NaN, so that a product that reads them shows.
 * Include merbit.h and cmocka.h first. */
#ifndef TEST_SUPPORT_BLOCKS_H
#define TEST_SUPPORT_BLOCKS_H
#include "support/products.h"

typedef struct blocks_shape {
  int64_t rows, cols; /* scalars */
  int block_rows, block_cols;
  merbit_block_order order;
  int64_t longest; /* most blocks of a block row: their number is random, none in every third */
  int64_t long_row; /* blocks of the one long block row; 0: there is none */
  int sorted;       /* ascending and distinct; else in any order with duplicates */
} blocks_shape;

static int64_t blocks_count(int64_t count, int size) {
  return (count + size - 1) / size;
}

/* Sets the number of blocks of each block row. Returns the sum. */
static int64_t blocks_lengths(const blocks_shape *s, uint64_t *random, int64_t *ptr) {
  const int64_t rows = blocks_count(s->rows, s->block_rows);
  const int64_t cols = blocks_count(s->cols, s->block_cols);
  int64_t row;
  ptr[0] = 0;
  for (row = 0; row < rows; row++) {
    int64_t length = test_below(random, 3) == 0 ? 0 : test_below(random, s->longest + 1);
    length = s->long_row > 0 && row == rows / 2 ? s->long_row : length;
    length = s->sorted && length > cols ? cols : length;
    ptr[row + 1] = ptr[row] + (cols > 0 ? length : 0);
  }
  return ptr[rows];
}

static void blocks_columns(const blocks_shape *s, uint64_t *random, const int64_t *ptr,
                           int32_t *col) {
  const int64_t rows = blocks_count(s->rows, s->block_rows);
  const int64_t cols = blocks_count(s->cols, s->block_cols);
  int64_t row, k;
  for (row = 0; row < rows; row++) {
    const int64_t length = ptr[row + 1] - ptr[row];
    for (k = 0; k < length; k++) {
      const int64_t low = k * cols / length, high = (k + 1) * cols / length;
      col[ptr[row] + k] = (int32_t)(s->sorted ? low + test_below(random, high - low)
                                              : test_below(random, cols));
    }
    if (length > 0 && test_below(random, 2)) { /* else blocks at edges are rare */
      col[ptr[row + 1] - 1] = (int32_t)(cols - 1);
    }
  }
}

static int64_t blocks_place(const blocks_shape *s, int64_t block, int64_t r, int64_t c) {
  const int64_t size = (int64_t)s->block_rows * s->block_cols;
  return block * size +
         (s->order == MERBIT_BLOCK_ROW_MAJOR ? r * s->block_cols + c : c * s->block_rows + r);
}

/* Makes the entries row by row, in the order of the blocks, and stores their values in the
 * blocks, too. */
static void blocks_entries(const blocks_shape *s, uint64_t *random, const int64_t *ptr,
                           const int32_t *col, double *values, int ones, test_matrix *m) {
  int64_t row, block, c;
  m->rows = s->rows;
  m->cols = s->cols;
  for (row = 0; row < s->rows; row++) {
    const int64_t block_row = row / s->block_rows;
    for (block = ptr[block_row]; block < ptr[block_row + 1]; block++) {
      for (c = 0; c < s->block_cols; c++) {
        const int64_t column = (int64_t)col[block] * s->block_cols + c;
        if (column < s->cols) {
          const double value = ones ? 1 : test_below(random, 9) == 0 ? 0 : test_uniform(random);
          values[blocks_place(s, block, row % s->block_rows, c)] = value;
          m->col_ind[m->nnz] = (int32_t)column;
          m->values[m->nnz++] = value;
        }
      }
    }
    m->row_ptr[row + 1] = m->nnz;
  }
}

/* Makes a case of `form` with a BSR view; free it with blocks_case_free. */
TEST_UNUSED static void blocks_case_make(const blocks_shape *s, const products_form *form,
                                         uint64_t seed, products_case *c) {
  const int64_t rows = blocks_count(s->rows, s->block_rows);
  const int64_t size = (int64_t)s->block_rows * s->block_cols;
  uint64_t random = seed;
  int64_t *ptr = (int64_t *)test_allocate(rows + 1, sizeof *ptr), blocks, i;
  int32_t *col;
  double *values;
  products_form csr = *form;
  products_case made;
  test_matrix m;
  memset(&m, 0, sizeof m);
  blocks = blocks_lengths(s, &random, ptr);
  col = (int32_t *)test_allocate(blocks, sizeof *col);
  blocks_columns(s, &random, ptr, col);
  values = (double *)test_allocate(blocks * size, sizeof *values);
  for (i = 0; i < blocks * size; i++) {
    values[i] = (double)NAN;
  }
  m.row_ptr = (int64_t *)test_allocate(s->rows + 1, sizeof *m.row_ptr);
  m.col_ind = (int32_t *)test_allocate(blocks * size, sizeof *m.col_ind);
  m.values = (double *)test_allocate(blocks * size, sizeof *m.values);
  blocks_entries(s, &random, ptr, col, values, form->pattern, &m);
  (void)snprintf(m.name, sizeof m.name, "%d x %d in blocks of %d x %d%s, seed %d", (int)s->rows,
                 (int)s->cols, s->block_rows, s->block_cols,
                 s->order == MERBIT_BLOCK_ROW_MAJOR ? "" : ", column-major", (int)seed);
  csr.device_arrays = 0;
  products_case_make(NULL, &m, &csr, &made);
  products_arrays_free(&made.a);
  memset(&made.a, 0, sizeof made.a);
  made.a.row_ptr = products_indices(ptr, NULL, rows + 1, form->offset_type, form->base);
  made.a.col_ind = products_indices(NULL, col, blocks, form->index_type, form->base);
  made.a.values = products_values(values, blocks * size, form->type);
  made.a.view =
      merbit_bsr(s->rows, s->cols, blocks, s->block_rows, s->block_cols, made.a.row_ptr,
                 made.a.col_ind, form->pattern ? NULL : made.a.values);
  made.a.view.block_order = s->order;
  made.a.view.value_type = form->type;
  made.a.view.offset_type = form->offset_type;
  made.a.view.index_type = form->index_type;
  made.a.view.base = form->base;
  *c = made;
  free(ptr);
  free(col);
  free(values);
}

/* Moves the view's arrays to buffers of a CUDA context. */
TEST_UNUSED static void blocks_case_move(merbit_context *context, products_case *c) {
  merbit_view *view = &c->a.view;
  const int64_t rows = blocks_count(view->rows, view->block_rows);
  const size_t offset = view->offset_type == MERBIT_INDEX_64 ? 8 : 4;
  const size_t index = view->index_type == MERBIT_INDEX_64 ? 8 : 4;
  const size_t block =
      (size_t)view->block_rows * (size_t)view->block_cols * products_size(view->value_type);
  view->memory = MERBIT_MEMORY_DEVICE;
  view->row_ptr =
      products_move(context, c->a.row_ptr, (size_t)(rows + 1) * offset, &c->a.buffers[0]);
  view->col_ind =
      products_move(context, c->a.col_ind, (size_t)view->nnz * index, &c->a.buffers[1]);
  if (view->values != NULL) {
    view->values =
        products_move(context, c->a.values, (size_t)view->nnz * block, &c->a.buffers[2]);
  }
}

TEST_UNUSED static void blocks_case_free(products_case *c) {
  products_case_free(c);
  test_matrix_free(&c->m);
}

/* Returns form number `turn`, whose bits give offsets, indices, base, type and pattern. */
TEST_UNUSED static products_form blocks_form(unsigned turn) {
  products_form form;
  memset(&form, 0, sizeof form);
  form.format = MERBIT_BSR;
  form.offset_type = turn & 1 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  form.index_type = turn & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  form.base = turn >> 2 & 1;
  form.type = turn & 8 ? MERBIT_F32 : MERBIT_F64;
  form.pattern = (turn >> 4) % 4 == 3;
  return form;
}

/* Shapes that every method for blocks must support: all up to 8 x 8, and some larger ones. */
static const int blocks_large[][2] = {{16, 16}, {16, 1}, {1, 16}, {13, 7},
                                      {9, 2},   {3, 12}, {64, 64}};
#define BLOCKS_SHAPES (64 + (int)(sizeof blocks_large / sizeof blocks_large[0]))

TEST_UNUSED static void blocks_shape_of(int index, blocks_shape *s) {
  s->block_rows = index < 64 ? index / 8 + 1 : blocks_large[index - 64][0];
  s->block_cols = index < 64 ? index % 8 + 1 : blocks_large[index - 64][1];
}

#endif /* TEST_SUPPORT_BLOCKS_H */
