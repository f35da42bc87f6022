#include "core/context.h"
#include "matrix/matrix.h"

/* Access to a view's arrays, and the division of its rows or entries among tasks. */

MBI_INTERNAL size_t mbi_index_bytes(merbit_index_type type) {
  return type == MERBIT_INDEX_64 ? sizeof(int64_t) : sizeof(int32_t);
}

/* Returns a view's value type; DEFAULT means F64. */
MBI_NOINLINE MBI_INTERNAL merbit_type mbi_view_type(const merbit_view *view) {
  return view->value_type == MERBIT_TYPE_DEFAULT ? MERBIT_F64 : view->value_type;
}

/* Returns the number of values that a view holds. */
MBI_INTERNAL int64_t mbi_view_values(const merbit_view *view) {
  return view->format == MERBIT_BSR ? view->nnz * view->block_rows * view->block_cols
                                    : view->nnz;
}

/* Returns whether values for a view are in GPU memory, if `memory` says where they are. DEFAULT
 * means where the view's arrays are. */
MBI_INTERNAL int mbi_view_values_there(const merbit_view *view, merbit_memory memory) {
  return memory == MERBIT_MEMORY_DEVICE ||
         (memory == MERBIT_MEMORY_DEFAULT && view->memory == MERBIT_MEMORY_DEVICE);
}

/* Returns an element of an index array of either width. In loops the branch is well
 * predicted. */
MBI_INTERNAL int64_t mbi_index_at(const void *array, merbit_index_type type, int64_t i) {
  return type == MERBIT_INDEX_32 ? (int64_t)((const int32_t *)array)[i]
                                 : ((const int64_t *)array)[i];
}

MBI_INTERNAL void mbi_index_set(void *array, merbit_index_type type, int64_t i, int64_t index) {
  if (type == MERBIT_INDEX_32) {
    ((int32_t *)array)[i] = (int32_t)index;
  } else {
    ((int64_t *)array)[i] = index;
  }
}

/* Copies value number `place` of `from` to value number `at` of `to`. Does nothing if `size` is
 * 0, because there are no values then. */
MBI_INTERNAL void mbi_value_copy(void *to, int64_t at, const void *from, int64_t place,
                                 size_t size) {
  char *target;
  const char *source;
  if (size == 0) {
    return;
  }
  target = (char *)to + (size_t)at * size;
  source = (const char *)from + (size_t)place * size;
  switch (size) { /* with constant sizes, each memcpy becomes a move */
  case sizeof(uint16_t):
    memcpy(target, source, sizeof(uint16_t));
    break;
  case sizeof(float):
    memcpy(target, source, sizeof(float));
    break;
  case sizeof(double):
    memcpy(target, source, sizeof(double));
    break;
  default:
    memcpy(target, source, sizeof(mbi_c128));
  }
}

/* Returns the number of entries before a row, or of blocks before a block row. */
MBI_INTERNAL int64_t mbi_row_start(const merbit_view *view, int64_t row) {
  return mbi_index_at(view->row_ptr, view->offset_type, row) - view->base;
}

/* Returns whether value number `k` of a BSR view in host memory lies beyond the last row or
 * column, where values are not part of the matrix. Returns 0 for other formats. */
MBI_INTERNAL int mbi_value_is_padding(const merbit_view *view, int64_t k) {
  const int height = view->block_rows, width = view->block_cols;
  int64_t block, last, place, row, column;
  if (view->format != MERBIT_BSR || (view->rows % height == 0 && view->cols % width == 0)) {
    return 0;
  }
  block = k / (height * width);
  place = k % (height * width);
  row = view->block_order == MERBIT_BLOCK_ROW_MAJOR ? place / width : place % height;
  column = view->block_order == MERBIT_BLOCK_ROW_MAJOR ? place % width : place / height;
  if (view->rows % height != 0 && row >= view->rows % height &&
      block >= mbi_row_start(view, view->rows / height)) {
    return 1;
  }
  last = view->cols / width;
  return view->cols % width != 0 && column >= view->cols % width &&
         mbi_index_at(view->col_ind, view->index_type, block) - view->base == last;
}

/* Returns the first item of `task` when `tasks` divide `count` items evenly and in order. */
MBI_INTERNAL int64_t mbi_share(int64_t count, int tasks, int task) {
  int64_t rest = count % tasks;
  return count / tasks * task + (task < rest ? task : rest);
}

/* Returns the number of tasks that are worth starting for `count` cheap steps. */
MBI_NOINLINE MBI_INTERNAL int mbi_share_tasks(const merbit_context *context, int64_t count) {
  int64_t useful = count / 32768;
  return useful < 1 ? 1 : useful < context->threads ? (int)useful : context->threads;
}

/* Returns the row (from 0) that contains entry number `entry` of a valid CSR view. */
MBI_INTERNAL int64_t mbi_row_of(const merbit_view *csr, int64_t entry) {
  int64_t low = 0, high = csr->rows - 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (mbi_row_start(csr, middle + 1) <= entry) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Returns the first row of `task` when the rows of a valid CSR view are divided among `tasks`
 * so that each gets about the same number of entries. */
MBI_NOINLINE MBI_INTERNAL int64_t mbi_share_rows(const merbit_view *csr, int tasks, int task) {
  return task == 0       ? 0
         : task == tasks ? csr->rows
                         : mbi_row_of(csr, mbi_share(csr->nnz, tasks, task));
}

/* Returns the number of blocks of `size` rows or columns that cover `count` of them. */
MBI_INTERNAL int64_t mbi_block_count(int64_t count, int size) {
  return count / size + (count % size != 0);
}

/* Returns a CSR view of the block rows and block columns of a BSR view. */
MBI_INTERNAL merbit_view mbi_block_frame(const merbit_view *bsr) {
  merbit_view frame = *bsr;
  frame.format = MERBIT_CSR;
  frame.rows = mbi_block_count(bsr->rows, bsr->block_rows);
  frame.cols = mbi_block_count(bsr->cols, bsr->block_cols);
  frame.values = NULL;
  return frame;
}
