/* Scenarios with reordered plans. Part of scenarios.h. */
#ifndef TEST_FAKE_ORDER_SCENARIOS_H
#define TEST_FAKE_ORDER_SCENARIOS_H
#include "fake/scenario_bed.h"

/* Permutes x and y0, multiplies in the plan's order, and permutes y back. Expects the result
 * for `scale` times the values. */
static merbit_status ordered_product(merbit_plan *plan, merbit_buffer *const vectors[4],
                                     double scale) {
  double x[ROWS], y[ROWS];
  merbit_status status;
  int i;
  for (i = 0; i < ROWS; i++) {
    x[i] = i < COLS ? data.x[i] : 3;
  }
  status = merbit_buffer_upload(vectors[0], 0, x, sizeof x);
  TRY(merbit_plan_reorder(plan, merbit_buffer_pointer(vectors[0]),
                          merbit_buffer_pointer(vectors[1]), NULL));
  TRY(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(vectors[1]), NULL,
                  merbit_buffer_pointer(vectors[2]), NULL));
  TRY(merbit_plan_restore(plan, merbit_buffer_pointer(vectors[2]),
                          merbit_buffer_pointer(vectors[3]), NULL));
  if (TRY(merbit_buffer_download(vectors[3], 0, y, sizeof y)) == MERBIT_OK) {
    expect_product(y, 1, 0, scale);
  }
  return status;
}

/* Multiplies by the matrix with empty columns appended; new values from host and device
 * memory. */
static merbit_status ordered_by(merbit_context *context, const merbit_view *view,
                                merbit_reordering reordering) {
  merbit_buffer *vectors[4] = {NULL, NULL, NULL, NULL}, *fresh = NULL;
  double doubled[MOST];
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status = MERBIT_OK;
  int i;
  memset(&desc, 0, sizeof desc);
  desc.reordering = reordering;
  for (i = 0; i < MOST; i++) {
    doubled[i] = 2 * data.values[i];
  }
  TRY(make_plan(context, view, &desc, &plan));
  for (i = 0; i < 4; i++) {
    TRY(put(context, data.y0, sizeof data.y0, &vectors[i]));
  }
  TRY(ordered_product(plan, vectors, 1));
  TRY(merbit_plan_update_values(plan, doubled, MERBIT_MEMORY_HOST));
  TRY(ordered_product(plan, vectors, 2));
  TRY(put(context, data.values, (size_t)data_nnz() * sizeof(double), &fresh));
  TRY(merbit_plan_update_values(plan, merbit_buffer_pointer(fresh), MERBIT_MEMORY_DEVICE));
  TRY(ordered_product(plan, vectors, 1));
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(fresh);
  for (i = 0; i < 4; i++) {
    merbit_buffer_destroy(vectors[i]);
  }
  return status;
}

TEST_UNUSED static merbit_status ordered_products(merbit_context *context) {
  const merbit_view view =
      merbit_csr(ROWS, ROWS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  return ordered_by(context, &view, MERBIT_REORDERING_RCM);
}

/* From a COO in device memory. */
TEST_UNUSED static merbit_status ordered_coo(merbit_context *context) {
  const size_t nnz = (size_t)data_nnz();
  merbit_view view = merbit_csr(ROWS, ROWS, data_nnz(), NULL, NULL, NULL);
  merbit_buffer *b[3] = {NULL, NULL, NULL};
  merbit_status status = put(context, data.row_ind, nnz * 8, &b[0]);
  TRY(put(context, data.col_coo, nnz * 8, &b[1]));
  TRY(put(context, data.values, nnz * 8, &b[2]));
  view.format = MERBIT_COO;
  view.memory = MERBIT_MEMORY_DEVICE;
  view.index_type = MERBIT_INDEX_64;
  view.row_ind = merbit_buffer_pointer(b[0]);
  view.col_ind = merbit_buffer_pointer(b[1]);
  view.values = merbit_buffer_pointer(b[2]);
  TRY(ordered_by(context, &view, MERBIT_REORDERING_DEGREE));
  merbit_buffer_destroy(b[0]);
  merbit_buffer_destroy(b[1]);
  merbit_buffer_destroy(b[2]);
  return status;
}

/* The default reordered plan copies vectors. */
TEST_UNUSED static merbit_status copied_vectors(merbit_context *context) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  merbit_buffer *from = NULL, *to = NULL;
  merbit_plan *plan = NULL;
  double found[COLS];
  merbit_status status = make_plan(context, &view, NULL, &plan);
  TRY(put(context, data.x, sizeof data.x, &from));
  TRY(put(context, data.y0, sizeof found, &to));
  TRY(merbit_plan_reorder(plan, merbit_buffer_pointer(from), merbit_buffer_pointer(to), NULL));
  if (TRY(merbit_buffer_download(to, 0, found, sizeof found)) == MERBIT_OK) {
    assert_memory_equal(found, data.x, sizeof found);
  }
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(from);
  merbit_buffer_destroy(to);
  return status;
}

/* Host vectors under AUTO, which may fall back to the CPU; the values can still be changed. */
TEST_UNUSED static merbit_status ordered_host_vectors(merbit_context *context) {
  const merbit_view view =
      merbit_csr(ROWS, ROWS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  double doubled[MOST], x[ROWS], px[ROWS], py[ROWS], y[ROWS];
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status;
  int i;
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = wished;
  desc.reordering = MERBIT_REORDERING_RCM;
  for (i = 0; i < MOST; i++) {
    doubled[i] = 2 * data.values[i];
  }
  for (i = 0; i < ROWS; i++) {
    x[i] = i < COLS ? data.x[i] : 3;
  }
  status = make_plan(context, &view, &desc, &plan);
  plan_made = status == MERBIT_OK;
  TRY(merbit_plan_update_values(plan, doubled, MERBIT_MEMORY_HOST));
  TRY(merbit_plan_reorder(plan, x, px, NULL));
  TRY(merbit_spmv(plan, NULL, NULL, px, NULL, py, NULL));
  if (TRY(merbit_plan_restore(plan, py, y, NULL)) == MERBIT_OK) {
    expect_product(y, 1, 0, 2);
  }
  merbit_plan_destroy(plan);
  return status;
}

#endif /* TEST_FAKE_ORDER_SCENARIOS_H */
