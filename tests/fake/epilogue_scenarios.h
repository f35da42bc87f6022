/* Scenarios with epilogues. Part of scenarios.h. */
#ifndef TEST_FAKE_EPILOGUE_SCENARIOS_H
#define TEST_FAKE_EPILOGUE_SCENARIOS_H
#include "fake/scenario_bed.h"

/* Computes y = A x, <A x, A x> and the number of rows. */
static merbit_status epilogue_product(merbit_plan *plan, merbit_workspace *workspace,
                                      merbit_buffer *const arrays[4], double scale) {
  double y[ROWS], sums[2], square = 0;
  int i;
  merbit_status status = merbit_spmv_epilogue(
      plan, workspace, merbit_buffer_pointer(arrays[0]), merbit_buffer_pointer(arrays[1]), NULL,
      NULL, (double *)merbit_buffer_pointer(arrays[2]),
      (const int *)merbit_buffer_pointer(arrays[3]), NULL);
  TRY(merbit_buffer_download(arrays[1], 0, y, sizeof y));
  if (TRY(merbit_buffer_download(arrays[2], 0, sums, sizeof sums)) == MERBIT_OK) {
    expect_product(y, 1, 0, scale);
    for (i = 0; i < ROWS; i++) {
      square += y[i] * y[i];
    }
    assert_true(fabs(sums[0] - square) <= 1e-13 * square);
    assert_true(sums[1] == ROWS);
  }
  return status;
}

/* Epilogues after SCAN's and MERGE's kernels, with a workspace and with new values. */
TEST_UNUSED static merbit_status epilogue_products(merbit_context *context) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  static const merbit_epilogue epilogue = {NULL, {"ax * ax", "1"}, 0, 0, NULL, NULL};
  const double none[2] = {0, 0};
  merbit_buffer *arrays[4] = {NULL, NULL, NULL, NULL};
  double doubled[MOST];
  merbit_plan_desc desc;
  merbit_status status = MERBIT_OK;
  int i, merge;
  memset(&desc, 0, sizeof desc);
  desc.epilogue = &epilogue;
  for (i = 0; i < MOST; i++) {
    doubled[i] = 2 * data.values[i];
  }
  TRY(put(context, data.x, sizeof data.x, &arrays[0]));
  TRY(put(context, data.y0, sizeof data.y0, &arrays[1]));
  TRY(put(context, none, sizeof none, &arrays[2]));
  TRY(put(context, none, sizeof(int), &arrays[3]));
  for (merge = 0; merge < 2; merge++) {
    merbit_plan *plan = NULL;
    merbit_workspace *workspace = NULL;
    desc.method = merge ? MERBIT_METHOD_MERGE : MERBIT_METHOD_SCAN;
    desc.tuning = merge ? "rounds=1" : "whole=1"; /* rows cross blocks */
    TRY(make_plan(context, &view, &desc, &plan));
    TRY(merbit_workspace_create(plan, &workspace));
    TRY(epilogue_product(plan, NULL, arrays, 1));
    TRY(epilogue_product(plan, workspace, arrays, 1));
    TRY(merbit_plan_update_values(plan, doubled, MERBIT_MEMORY_HOST));
    TRY(epilogue_product(plan, workspace, arrays, 2));
    merbit_workspace_destroy(workspace);
    merbit_plan_destroy(plan);
  }
  for (i = 0; i < 4; i++) {
    merbit_buffer_destroy(arrays[i]);
  }
  return status;
}

#endif /* TEST_FAKE_EPILOGUE_SCENARIOS_H */
