/* Scenarios with transposes. Part of scenarios.h. x has ROWS entries and y COLS. */
#ifndef TEST_FAKE_TRANSPOSE_SCENARIOS_H
#define TEST_FAKE_TRANSPOSE_SCENARIOS_H
#include "fake/scenario_bed.h"

/* Expects y = scale * A' y0. */
static void expect_transposed(const double *y, double scale) {
  double right[COLS];
  int row, k;
  memset(right, 0, sizeof right);
  for (row = 0; row < ROWS; row++) {
    for (k = data.row_ptr[row]; k < data.row_ptr[row + 1]; k++) {
      right[data.col_ind[k]] += scale * data.values[k] * data.y0[row];
    }
  }
  for (k = 0; k < COLS; k++) {
    assert_true(y[k] == right[k]);
  }
}

/* Multiplies x in vectors[0] into vectors[1], through the other two if the plan is
 * reordered. */
static merbit_status transposed_product(merbit_plan *plan, merbit_buffer *const vectors[4],
                                        int reordered, double scale) {
  merbit_buffer *const x = vectors[reordered ? 2 : 0], *const y = vectors[reordered ? 3 : 1];
  double found[COLS];
  merbit_status status = MERBIT_OK;
  if (reordered) {
    TRY(merbit_plan_reorder(plan, merbit_buffer_pointer(vectors[0]), merbit_buffer_pointer(x),
                            NULL));
  }
  TRY(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(x), NULL, merbit_buffer_pointer(y),
                  NULL));
  if (reordered) {
    TRY(merbit_plan_restore(plan, merbit_buffer_pointer(y), merbit_buffer_pointer(vectors[1]),
                            NULL));
  }
  if (TRY(merbit_buffer_download(vectors[1], 0, found, sizeof found)) == MERBIT_OK) {
    expect_transposed(found, scale);
  }
  return status;
}

/* Multiplies with new values from host and device memory: `count` of them at `values`. */
static merbit_status transposed_by(merbit_context *context, const merbit_view *view,
                                   merbit_reordering reordering, const double *values,
                                   int count) {
  merbit_buffer *vectors[4] = {NULL, NULL, NULL, NULL}, *fresh = NULL;
  const int reordered = reordering != MERBIT_REORDERING_NONE;
  double doubled[6 * MOST];
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status = MERBIT_OK;
  int i;
  memset(&desc, 0, sizeof desc);
  desc.operation = MERBIT_OPERATION_T;
  desc.reordering = reordering;
  desc.method = view->format == MERBIT_BSR ? MERBIT_METHOD_BSR : MERBIT_METHOD_AUTO;
  for (i = 0; i < count; i++) {
    doubled[i] = 2 * values[i];
  }
  TRY(make_plan(context, view, &desc, &plan));
  for (i = 0; i < 4; i++) {
    TRY(put(context, data.y0, sizeof data.y0, &vectors[i]));
  }
  TRY(transposed_product(plan, vectors, reordered, 1));
  TRY(merbit_plan_update_values(plan, doubled, MERBIT_MEMORY_HOST));
  TRY(transposed_product(plan, vectors, reordered, 2));
  TRY(put(context, values, (size_t)count * sizeof(double), &fresh));
  TRY(merbit_plan_update_values(plan, merbit_buffer_pointer(fresh), MERBIT_MEMORY_DEVICE));
  TRY(transposed_product(plan, vectors, reordered, 1));
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(fresh);
  for (i = 0; i < 4; i++) {
    merbit_buffer_destroy(vectors[i]);
  }
  return status;
}

TEST_UNUSED static merbit_status transposed_products(merbit_context *context) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  return transposed_by(context, &view, MERBIT_REORDERING_NONE, data.values, (int)data_nnz());
}

/* Transposes a matrix in GPU memory with 64-bit columns of base 1. */
TEST_UNUSED static merbit_status transposed_device_csr(merbit_context *context) {
  const size_t nnz = (size_t)data_nnz();
  merbit_view view = merbit_csr(ROWS, COLS, data_nnz(), NULL, NULL, NULL);
  merbit_buffer *b[3] = {NULL, NULL, NULL};
  merbit_status status = put(context, data.row_ptr64, sizeof data.row_ptr64, &b[0]);
  TRY(put(context, data.col_ind64, nnz * 8, &b[1]));
  TRY(put(context, data.values, nnz * 8, &b[2]));
  view.memory = MERBIT_MEMORY_DEVICE;
  view.base = 1;
  view.offset_type = view.index_type = MERBIT_INDEX_64;
  view.row_ptr = merbit_buffer_pointer(b[0]);
  view.col_ind = merbit_buffer_pointer(b[1]);
  view.values = merbit_buffer_pointer(b[2]);
  TRY(transposed_by(context, &view, MERBIT_REORDERING_NONE, data.values, (int)nnz));
  merbit_buffer_destroy(b[0]);
  merbit_buffer_destroy(b[1]);
  merbit_buffer_destroy(b[2]);
  return status;
}

/* With empty columns appended. */
TEST_UNUSED static merbit_status transposed_and_reordered(merbit_context *context) {
  const merbit_view view =
      merbit_csr(ROWS, ROWS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  return transposed_by(context, &view, MERBIT_REORDERING_RCM, data.values, (int)data_nnz());
}

TEST_UNUSED static merbit_status transposed_blocks(merbit_context *context) {
  const merbit_view csr =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  merbit_bsr_desc shape = {2, 3, MERBIT_BLOCK_ROW_MAJOR};
  merbit_matrix *blocks = NULL;
  merbit_view view;
  merbit_status status = merbit_matrix_create_bsr(context, &csr, &shape, &blocks);
  view = merbit_matrix_view(blocks);
  TRY(transposed_by(context, &view, MERBIT_REORDERING_NONE, (const double *)view.values,
                    (int)view.nnz * 6));
  merbit_matrix_destroy(blocks);
  return status;
}

/* Host vectors under AUTO, which may fall back to the CPU; the values can still be changed. */
TEST_UNUSED static merbit_status transposed_host_vectors(merbit_context *context) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  double doubled[MOST], y[COLS];
  merbit_plan_desc desc;
  merbit_plan *plan;
  merbit_status status;
  int i;
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = wished;
  desc.operation = MERBIT_OPERATION_T;
  for (i = 0; i < MOST; i++) {
    doubled[i] = 2 * data.values[i];
  }
  status = make_plan(context, &view, &desc, &plan);
  plan_made = status == MERBIT_OK;
  TRY(merbit_plan_update_values(plan, doubled, MERBIT_MEMORY_HOST));
  if (TRY(merbit_spmv(plan, NULL, NULL, data.y0, NULL, y, NULL)) == MERBIT_OK) {
    expect_transposed(y, 2);
  }
  merbit_plan_destroy(plan);
  return status;
}

#endif /* TEST_FAKE_TRANSPOSE_SCENARIOS_H */
