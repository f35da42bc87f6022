#include "core/context.h"
#include "matrix/matrix.h"

/* Conversion of blocks to the entries of a CSR: all values inside the matrix become entries, in
 * the order of the blocks. Each thread takes whole block rows. */

typedef struct mbi_expand {
  const merbit_view *bsr;
  merbit_view frame;
  int64_t *row_ptr;
  int32_t *col_ind;
  void *values;
  int tasks;
} mbi_expand;

/* Returns how many rows (or columns) of a block lie inside the matrix, which has `count`. */
MBI_INTERNAL int mbi_block_inside(int64_t count, int size, int64_t block) {
  const int64_t left = count - block * size;
  return left < size ? (int)left : size;
}

/* Returns the distance between two rows of a block, in values. */
MBI_INTERNAL int mbi_block_row_stride(const merbit_view *bsr) {
  return bsr->block_order == MERBIT_BLOCK_ROW_MAJOR ? bsr->block_cols : 1;
}

MBI_INTERNAL int mbi_block_column_stride(const merbit_view *bsr) {
  return bsr->block_order == MERBIT_BLOCK_ROW_MAJOR ? 1 : bsr->block_rows;
}

static int64_t mbi_block_column(const merbit_view *bsr, int64_t block) {
  return mbi_index_at(bsr->col_ind, bsr->index_type, block) - bsr->base;
}

/* Stores the length of row i in row_ptr[i + 1], for a task's block rows. */
static void mbi_expand_count(void *argument, int task) {
  const mbi_expand *e = (const mbi_expand *)argument;
  const merbit_view *bsr = e->bsr;
  int64_t row = mbi_share_rows(&e->frame, e->tasks, task);
  const int64_t last = mbi_share_rows(&e->frame, e->tasks, task + 1);
  for (; row < last; row++) {
    const int inside = mbi_block_inside(bsr->rows, bsr->block_rows, row);
    const int64_t end = mbi_row_start(bsr, row + 1);
    int64_t length = 0, block = mbi_row_start(bsr, row);
    int r;
    for (; block < end; block++) {
      length += mbi_block_inside(bsr->cols, bsr->block_cols, mbi_block_column(bsr, block));
    }
    for (r = 0; r < inside; r++) {
      e->row_ptr[row * bsr->block_rows + r + 1] = length;
    }
  }
}

/* Expands one row of the matrix, the r-th of a block row. */
static void mbi_expand_row(const mbi_expand *e, int64_t block_row, int r) {
  const merbit_view *bsr = e->bsr;
  const size_t size = e->values != NULL ? mbi_type_size(bsr->value_type) : 0;
  const int64_t block_values = (int64_t)bsr->block_rows * bsr->block_cols;
  const int64_t end = mbi_row_start(bsr, block_row + 1);
  const int64_t row = r * mbi_block_row_stride(bsr);
  const int stride = mbi_block_column_stride(bsr);
  int64_t at = e->row_ptr[block_row * bsr->block_rows + r];
  int64_t block = mbi_row_start(bsr, block_row);
  for (; block < end; block++) {
    const int64_t column = mbi_block_column(bsr, block);
    const int inside = mbi_block_inside(bsr->cols, bsr->block_cols, column);
    int c;
    for (c = 0; c < inside; c++, at++) {
      e->col_ind[at] = (int32_t)(column * bsr->block_cols + c);
      mbi_value_copy(e->values, at, bsr->values, block * block_values + row + c * stride, size);
    }
  }
}

static void mbi_expand_fill(void *argument, int task) {
  const mbi_expand *e = (const mbi_expand *)argument;
  const merbit_view *bsr = e->bsr;
  int64_t row = mbi_share_rows(&e->frame, e->tasks, task);
  const int64_t last = mbi_share_rows(&e->frame, e->tasks, task + 1);
  for (; row < last; row++) {
    const int inside = mbi_block_inside(bsr->rows, bsr->block_rows, row);
    int r;
    for (r = 0; r < inside; r++) {
      mbi_expand_row(e, row, r);
    }
  }
}

static merbit_status mbi_expand_allocate(merbit_context *context, mbi_expand *e,
                                         merbit_view *csr) {
  void *memory;
  int64_t row;
  MBI_TRY(mbi_allocate_array(context, csr->rows + 1, sizeof(int64_t),
                             "the row offsets of a matrix", &memory));
  csr->row_ptr = memory;
  e->row_ptr = (int64_t *)memory;
  e->row_ptr[0] = 0;
  mbi_parallel(context, e->tasks, mbi_expand_count, e);
  for (row = 0; row < csr->rows; row++) {
    e->row_ptr[row + 1] += e->row_ptr[row];
  }
  csr->nnz = e->row_ptr[csr->rows];
  MBI_TRY(mbi_allocate_array(context, csr->nnz, sizeof(int32_t), "the columns of a matrix",
                             &memory));
  csr->col_ind = memory;
  e->col_ind = (int32_t *)memory;
  if (e->bsr->values != NULL) {
    MBI_TRY(mbi_allocate_array(context, csr->nnz, mbi_type_size(csr->value_type),
                               "the values of a matrix", &e->values));
    csr->values = e->values;
  }
  return MERBIT_OK;
}

/* Makes a CSR with the entries of a checked host BSR view. The columns of a row are not sorted.
 * The caller runs mbi_host_view_release, on failure too. */
MBI_INTERNAL merbit_status mbi_expand_blocks(merbit_context *context, const merbit_view *bsr,
                                             merbit_view *csr) {
  const int64_t size = (int64_t)bsr->block_rows * bsr->block_cols;
  mbi_expand e;
  memset(&e, 0, sizeof e);
  e.bsr = bsr;
  e.frame = mbi_block_frame(bsr);
  e.tasks = mbi_share_tasks(context, bsr->nnz * size);
  memset(csr, 0, sizeof *csr);
  csr->format = MERBIT_CSR;
  csr->value_type = bsr->value_type;
  csr->offset_type = MERBIT_INDEX_64;
  csr->memory = MERBIT_MEMORY_HOST;
  csr->rows = bsr->rows;
  csr->cols = bsr->cols;
  MBI_TRY(mbi_expand_allocate(context, &e, csr));
  mbi_parallel(context, e.tasks, mbi_expand_fill, &e);
  return MERBIT_OK;
}
