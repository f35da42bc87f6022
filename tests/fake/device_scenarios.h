/* Scenarios whose matrices lie in device memory. Part of scenarios.h. */
#ifndef TEST_FAKE_DEVICE_SCENARIOS_H
#define TEST_FAKE_DEVICE_SCENARIOS_H
#include "fake/scenario_bed.h"

/* A CSR in device memory with 64-bit indices from 1; alpha and beta there, too. */
TEST_UNUSED static merbit_status device_csr(merbit_context *context) {
  static const double scalars[2] = {2, 1};
  const size_t nnz = (size_t)data_nnz();
  merbit_view view = merbit_csr(ROWS, COLS, data_nnz(), NULL, NULL, NULL);
  merbit_buffer *b[6] = {NULL, NULL, NULL, NULL, NULL, NULL};
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  double y[ROWS];
  int i;
  merbit_status status = put(context, data.row_ptr64, sizeof data.row_ptr64, &b[0]);
  TRY(put(context, data.col_ind64, nnz * 8, &b[1]));
  TRY(put(context, data.values, nnz * 8, &b[2]));
  TRY(put(context, data.x, sizeof data.x, &b[3]));
  TRY(put(context, data.y0, sizeof data.y0, &b[4]));
  TRY(put(context, scalars, sizeof scalars, &b[5]));
  memset(&desc, 0, sizeof desc);
  desc.scalar_memory = MERBIT_MEMORY_DEVICE;
  view.memory = MERBIT_MEMORY_DEVICE;
  view.base = 1;
  view.offset_type = view.index_type = MERBIT_INDEX_64;
  view.row_ptr = merbit_buffer_pointer(b[0]);
  view.col_ind = merbit_buffer_pointer(b[1]);
  view.values = merbit_buffer_pointer(b[2]);
  TRY(make_plan(context, &view, &desc, &plan));
  TRY(merbit_plan_update_values(plan, merbit_buffer_pointer(b[2]), MERBIT_MEMORY_DEVICE));
  TRY(merbit_spmv(plan, NULL, merbit_buffer_pointer(b[5]), merbit_buffer_pointer(b[3]),
                  (const char *)merbit_buffer_pointer(b[5]) + 8, merbit_buffer_pointer(b[4]),
                  NULL));
  if (TRY(merbit_buffer_download(b[4], 0, y, sizeof y)) == MERBIT_OK) {
    expect_product(y, 2, 1, 1);
  }
  merbit_plan_destroy(plan);
  for (i = 0; i < 6; i++) {
    merbit_buffer_destroy(b[i]);
  }
  return status;
}

/* A CSR in device memory whose columns and values begin one element after the start of a
 * buffer: SCAN must not use vector loads. */
TEST_UNUSED static merbit_status shifted_csr(merbit_context *context) {
  const size_t nnz = (size_t)data_nnz();
  merbit_view view = merbit_csr(ROWS, COLS, data_nnz(), NULL, NULL, NULL);
  merbit_buffer *b[5] = {NULL, NULL, NULL, NULL, NULL};
  int32_t col_ind[MOST + 1] = {0};
  double values[MOST + 1] = {0}, y[ROWS];
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  int i;
  merbit_status status = put(context, data.row_ptr, sizeof data.row_ptr, &b[0]);
  memcpy(col_ind + 1, data.col_ind, nnz * sizeof *col_ind);
  memcpy(values + 1, data.values, nnz * sizeof *values);
  TRY(put(context, col_ind, (nnz + 1) * sizeof *col_ind, &b[1]));
  TRY(put(context, values, (nnz + 1) * sizeof *values, &b[2]));
  TRY(put(context, data.x, sizeof data.x, &b[3]));
  TRY(put(context, data.y0, sizeof data.y0, &b[4]));
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_SCAN;
  desc.tuning = "steps=2";
  view.memory = MERBIT_MEMORY_DEVICE;
  if (status == MERBIT_OK) {
    view.row_ptr = merbit_buffer_pointer(b[0]);
    view.col_ind = (const int32_t *)merbit_buffer_pointer(b[1]) + 1;
    view.values = (const double *)merbit_buffer_pointer(b[2]) + 1;
  }
  TRY(make_plan(context, &view, &desc, &plan));
  TRY(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(b[3]), NULL,
                  merbit_buffer_pointer(b[4]), NULL));
  if (TRY(merbit_buffer_download(b[4], 0, y, sizeof y)) == MERBIT_OK) {
    expect_product(y, 1, 0, 1);
  }
  merbit_plan_destroy(plan);
  for (i = 0; i < 5; i++) {
    merbit_buffer_destroy(b[i]);
  }
  return status;
}

/* A COO in device memory: checked, transposed back and forth, multiplied. */
TEST_UNUSED static merbit_status device_coo(merbit_context *context) {
  const size_t nnz = (size_t)data_nnz();
  merbit_view view = merbit_csr(ROWS, COLS, data_nnz(), NULL, NULL, NULL), back;
  merbit_buffer *b[5] = {NULL, NULL, NULL, NULL, NULL};
  merbit_matrix *once = NULL, *twice = NULL;
  merbit_plan *plan = NULL;
  double y[ROWS];
  int i;
  merbit_status status = put(context, data.row_ind, nnz * 8, &b[0]);
  TRY(put(context, data.col_coo, nnz * 8, &b[1]));
  TRY(put(context, data.values, nnz * 8, &b[2]));
  TRY(put(context, data.x, sizeof data.x, &b[3]));
  TRY(put(context, data.y0, sizeof data.y0, &b[4]));
  view.format = MERBIT_COO;
  view.memory = MERBIT_MEMORY_DEVICE;
  view.index_type = MERBIT_INDEX_64;
  view.row_ind = merbit_buffer_pointer(b[0]);
  view.col_ind = merbit_buffer_pointer(b[1]);
  view.values = merbit_buffer_pointer(b[2]);
  TRY(merbit_view_check(context, &view));
  if (TRY(merbit_matrix_transpose(context, &view, &once)) == MERBIT_OK) {
    back = merbit_matrix_view(once);
    TRY(merbit_matrix_transpose(context, &back, &twice));
  }
  if (status == MERBIT_OK) {
    back = merbit_matrix_view(twice);
    TRY(make_plan(context, &back, NULL, &plan));
  }
  TRY(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(b[3]), NULL,
                  merbit_buffer_pointer(b[4]), NULL));
  if (TRY(merbit_buffer_download(b[4], 0, y, sizeof y)) == MERBIT_OK) {
    expect_product(y, 1, 0, 1);
  }
  merbit_plan_destroy(plan);
  plan = NULL;
  TRY(make_plan(context, &view, NULL, &plan));
  TRY(merbit_plan_update_values(plan, merbit_buffer_pointer(b[2]), MERBIT_MEMORY_DEVICE));
  TRY(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(b[3]), NULL,
                  merbit_buffer_pointer(b[4]), NULL));
  if (TRY(merbit_buffer_download(b[4], 0, y, sizeof y)) == MERBIT_OK) {
    expect_product(y, 1, 0, 1);
  }
  merbit_plan_destroy(plan);
  merbit_matrix_destroy(once);
  merbit_matrix_destroy(twice);
  for (i = 0; i < 5; i++) {
    merbit_buffer_destroy(b[i]);
  }
  return status;
}
#endif /* TEST_FAKE_DEVICE_SCENARIOS_H */
