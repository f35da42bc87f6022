/* Scenarios with block matrices. Part of scenarios.h. */
#ifndef TEST_FAKE_BLOCK_SCENARIOS_H
#define TEST_FAKE_BLOCK_SCENARIOS_H
#include "fake/scenario_bed.h"

enum { BLOCK_ROWS = 3, BLOCK_COLS = 4, BLOCK_ENTRIES = BLOCK_ROWS * BLOCK_COLS };

/* The method and the block shape that the plans ask for; 0: the view's shape, or the one that
 * is found. */
static merbit_method blocks_method = MERBIT_METHOD_BSR;
static int blocks_high, blocks_wide;

/* Makes the matrix in blocks that reach beyond it on both sides; entries that are not stored
 * are zero. */
static merbit_status make_blocks(merbit_context *context, merbit_matrix **matrix) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  merbit_bsr_desc desc;
  merbit_status status;
  memset(&desc, 0, sizeof desc);
  desc.block_rows = BLOCK_ROWS;
  desc.block_cols = BLOCK_COLS;
  status = merbit_matrix_create_bsr(context, &view, &desc, matrix);
  assert_true((status == MERBIT_OK) == (*matrix != NULL));
  return status;
}

/* Multiplies, then again with twice the values, which are in the view's memory. */
static merbit_status multiply_blocks(merbit_context *context, const merbit_view *view,
                                     const void *doubled) {
  const double alpha = 2, beta = -1;
  merbit_buffer *xs = NULL, *ys = NULL;
  merbit_plan *plan = NULL;
  merbit_plan_desc desc;
  double y[ROWS];
  merbit_status status;
  memset(&desc, 0, sizeof desc);
  desc.method = blocks_method;
  desc.block_rows = blocks_high;
  desc.block_cols = blocks_wide;
  status = make_plan(context, view, &desc, &plan);
  TRY(put(context, data.x, sizeof data.x, &xs));
  TRY(put(context, data.y0, sizeof data.y0, &ys));
  TRY(merbit_spmv(plan, NULL, &alpha, merbit_buffer_pointer(xs), &beta,
                  merbit_buffer_pointer(ys), NULL));
  if (TRY(merbit_buffer_download(ys, 0, y, sizeof y)) == MERBIT_OK) {
    expect_product(y, 2, -1, 1);
    describe(plan);
  }
  TRY(merbit_plan_update_values(plan, doubled, view->memory));
  TRY(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(xs), NULL, merbit_buffer_pointer(ys),
                  NULL));
  if (TRY(merbit_buffer_download(ys, 0, y, sizeof y)) == MERBIT_OK) {
    expect_product(y, 1, 0, 2);
  }
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(xs);
  merbit_buffer_destroy(ys);
  return status;
}

static void double_blocks(const merbit_view *view, double *doubled) {
  int64_t i;
  assert_true(view->nnz <= MOST);
  for (i = 0; i < view->nnz * BLOCK_ENTRIES; i++) {
    doubled[i] = 2 * ((const double *)view->values)[i];
  }
}

TEST_UNUSED static merbit_status host_blocks(merbit_context *context) {
  double doubled[MOST * BLOCK_ENTRIES];
  merbit_matrix *matrix = NULL;
  merbit_status status = make_blocks(context, &matrix);
  if (status == MERBIT_OK) {
    const merbit_view view = merbit_matrix_view(matrix);
    double_blocks(&view, doubled);
    status = multiply_blocks(context, &view, doubled);
  }
  merbit_matrix_destroy(matrix);
  return status;
}

/* The same in device memory. */
TEST_UNUSED static merbit_status device_blocks(merbit_context *context) {
  const size_t offsets = ((ROWS + BLOCK_ROWS - 1) / BLOCK_ROWS + 1) * sizeof(int32_t);
  double doubled[MOST * BLOCK_ENTRIES];
  merbit_buffer *b[4] = {NULL, NULL, NULL, NULL};
  merbit_matrix *matrix = NULL;
  int i;
  merbit_status status = make_blocks(context, &matrix);
  if (status == MERBIT_OK) {
    merbit_view view = merbit_matrix_view(matrix);
    const size_t blocks = (size_t)view.nnz, bytes = blocks * BLOCK_ENTRIES * sizeof(double);
    assert_int_equal(view.offset_type, MERBIT_INDEX_32);
    double_blocks(&view, doubled);
    status = put(context, view.row_ptr, offsets, &b[0]);
    TRY(put(context, view.col_ind, blocks * sizeof(int32_t), &b[1]));
    TRY(put(context, view.values, bytes, &b[2]));
    TRY(put(context, doubled, bytes, &b[3]));
    view.memory = MERBIT_MEMORY_DEVICE;
    view.row_ptr = merbit_buffer_pointer(b[0]);
    view.col_ind = merbit_buffer_pointer(b[1]);
    view.values = merbit_buffer_pointer(b[2]);
    TRY(multiply_blocks(context, &view, merbit_buffer_pointer(b[3])));
  }
  merbit_matrix_destroy(matrix);
  for (i = 0; i < 4; i++) {
    merbit_buffer_destroy(b[i]);
  }
  return status;
}

/* Extracts blocks from single entries in device memory; `order` sorts each row's. */
static merbit_status extract(merbit_context *context, int order) {
  int32_t col_ind[MOST];
  double values[MOST], doubled[MOST];
  merbit_buffer *b[4] = {NULL, NULL, NULL, NULL};
  merbit_view view = merbit_csr(ROWS, COLS, data_nnz(), NULL, NULL, NULL);
  merbit_status status;
  int row, k, j;
  for (row = 0; row < ROWS; row++) {
    for (k = data.row_ptr[row]; k < data.row_ptr[row + 1]; k++) {
      for (j = k; order && j > data.row_ptr[row] && col_ind[j - 1] > data.col_ind[k]; j--) {
        col_ind[j] = col_ind[j - 1];
        values[j] = values[j - 1];
      }
      col_ind[j] = data.col_ind[k];
      values[j] = data.values[k];
    }
  }
  for (k = 0; k < MOST; k++) {
    doubled[k] = k < data_nnz() ? 2 * values[k] : 0;
  }
  status = put(context, data.row_ptr, sizeof data.row_ptr, &b[0]);
  TRY(put(context, col_ind, (size_t)data_nnz() * sizeof *col_ind, &b[1]));
  TRY(put(context, values, (size_t)data_nnz() * sizeof *values, &b[2]));
  TRY(put(context, doubled, sizeof doubled, &b[3]));
  view.memory = MERBIT_MEMORY_DEVICE;
  view.row_ptr = merbit_buffer_pointer(b[0]);
  view.col_ind = merbit_buffer_pointer(b[1]);
  view.values = merbit_buffer_pointer(b[2]);
  TRY(multiply_blocks(context, &view, merbit_buffer_pointer(b[3])));
  for (k = 0; k < 4; k++) {
    merbit_buffer_destroy(b[k]);
  }
  return status;
}

TEST_UNUSED static merbit_status extracted_blocks(merbit_context *context) {
  merbit_status status;
  blocks_high = BLOCK_ROWS;
  blocks_wide = BLOCK_COLS;
  status = extract(context, 1);
  blocks_high = blocks_wide = 0;
  return status;
}

/* Extracts blocks from unsorted rows, which pass through the host. */
TEST_UNUSED static merbit_status sorted_blocks(merbit_context *context) {
  return extract(context, 0);
}

#endif /* TEST_FAKE_BLOCK_SCENARIOS_H */
