/* Scenarios with matrices given by one triangle. Part of scenarios.h. The matrix is COLS x COLS
 * and skew-symmetric: entry (i, j) of its lower triangle, for i - j = 1, 2 and 7, is i + j. */
#ifndef TEST_FAKE_HALF_SCENARIOS_H
#define TEST_FAKE_HALF_SCENARIOS_H
#include "fake/scenario_bed.h"

/* Computes y and expects scale * A x. */
static merbit_status half_product(merbit_plan *plan, merbit_buffer *x, merbit_buffer *y,
                                  double scale) {
  static const int off[] = {1, 2, 7};
  double found[COLS];
  merbit_status status = MERBIT_OK;
  int i, k;
  TRY(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(x), NULL, merbit_buffer_pointer(y),
                  NULL));
  if (TRY(merbit_buffer_download(y, 0, found, sizeof found)) != MERBIT_OK) {
    return status;
  }
  for (i = 0; i < COLS; i++) {
    double sum = 0;
    for (k = 0; k < 3; k++) {
      sum += i >= off[k] ? (2 * i - off[k]) * data.x[i - off[k]] : 0;
      sum -= i + off[k] < COLS ? (2 * i + off[k]) * data.x[i + off[k]] : 0;
    }
    assert_true(found[i] == scale * sum);
  }
  return status;
}

/* Multiplies from host or device memory, with new values from both. */
static merbit_status half_by(merbit_context *context, int device) {
  static const int off[] = {7, 2, 1};
  int32_t rows[3 * COLS], cols[3 * COLS];
  double values[2][3 * COLS];
  merbit_buffer *arrays[3] = {NULL, NULL, NULL}, *x = NULL, *y = NULL, *fresh = NULL;
  merbit_view view;
  merbit_plan *plan = NULL;
  merbit_status status = MERBIT_OK;
  int i, k, nnz = 0;
  for (i = 0; i < COLS; i++) {
    for (k = 0; k < 3; k++) {
      if (i >= off[k]) {
        rows[nnz] = i;
        cols[nnz] = i - off[k];
        values[0][nnz] = 2 * i - off[k];
        values[1][nnz] = -2 * values[0][nnz];
        nnz++;
      }
    }
  }
  view = merbit_csr(COLS, COLS, nnz, NULL, cols, values[0]);
  view.format = MERBIT_COO;
  view.row_ind = rows;
  view.symmetry = MERBIT_SYMMETRY_SKEW;
  if (device) {
    TRY(put(context, rows, (size_t)nnz * 4, &arrays[0]));
    TRY(put(context, cols, (size_t)nnz * 4, &arrays[1]));
    TRY(put(context, values[0], (size_t)nnz * 8, &arrays[2]));
    view.row_ind = merbit_buffer_pointer(arrays[0]);
    view.col_ind = merbit_buffer_pointer(arrays[1]);
    view.values = merbit_buffer_pointer(arrays[2]);
    view.memory = MERBIT_MEMORY_DEVICE;
  }
  TRY(put(context, data.x, sizeof data.x, &x));
  TRY(put(context, data.x, sizeof data.x, &y));
  TRY(put(context, values[0], (size_t)nnz * 8, &fresh));
  TRY(make_plan(context, &view, NULL, &plan));
  TRY(half_product(plan, x, y, 1));
  TRY(merbit_plan_update_values(plan, values[1], MERBIT_MEMORY_HOST));
  TRY(half_product(plan, x, y, -2));
  TRY(merbit_plan_update_values(plan, merbit_buffer_pointer(fresh), MERBIT_MEMORY_DEVICE));
  TRY(half_product(plan, x, y, 1));
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(x);
  merbit_buffer_destroy(y);
  merbit_buffer_destroy(fresh);
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(arrays[i]);
  }
  return status;
}

TEST_UNUSED static merbit_status half_products(merbit_context *context) {
  return half_by(context, 0);
}

TEST_UNUSED static merbit_status half_device_coo(merbit_context *context) {
  return half_by(context, 1);
}

#endif /* TEST_FAKE_HALF_SCENARIOS_H */
