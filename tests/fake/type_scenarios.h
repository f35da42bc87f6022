/* Scenarios with other types than f64 and f32. Part of scenarios.h. */
#ifndef TEST_FAKE_TYPE_SCENARIOS_H
#define TEST_FAKE_TYPE_SCENARIOS_H
#include "fake/scenario_bed.h"

/* Computes y = A^H x for A = (1 + 2i) data in c128 by `method`; then for twice the values. Host
 * vectors, so that AUTO may fall back. */
static merbit_status conjugate_products_by(merbit_context *context, merbit_method method) {
  double values[2 * MOST], x[2 * ROWS], y[2 * COLS], right[2 * COLS];
  merbit_view view = merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, values);
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status = MERBIT_OK;
  int scale, row, k;
  memset(&desc, 0, sizeof desc);
  desc.side = wished;
  desc.method = method;
  desc.operation = MERBIT_OPERATION_H;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  view.value_type = MERBIT_C128;
  for (scale = 1; scale <= 2 && status == MERBIT_OK; scale++) {
    memset(right, 0, sizeof right);
    for (row = 0; row < ROWS; row++) {
      x[2 * row] = data.y0[row];
      x[2 * row + 1] = 3;
      for (k = data.row_ptr[row]; k < data.row_ptr[row + 1]; k++) {
        const double re = scale * data.values[k], im = -2 * re; /* conjugate */
        values[2 * k] = re;
        values[2 * k + 1] = -im;
        right[2 * data.col_ind[k]] += re * x[2 * row] - im * x[2 * row + 1];
        right[2 * data.col_ind[k] + 1] += re * x[2 * row + 1] + im * x[2 * row];
      }
    }
    if (scale == 1) {
      status = make_plan(context, &view, &desc, &plan);
      plan_made |= status == MERBIT_OK;
    } else {
      TRY(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST));
    }
    if (TRY(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL)) == MERBIT_OK) {
      assert_memory_equal(y, right, sizeof y);
    }
  }
  merbit_plan_destroy(plan);
  return status;
}

TEST_UNUSED static merbit_status complex_products(merbit_context *context) {
  return conjugate_products_by(context, MERBIT_METHOD_AUTO);
}

TEST_UNUSED static merbit_status complex_merge(merbit_context *context) {
  return conjugate_products_by(context, MERBIT_METHOD_MERGE);
}

#endif /* TEST_FAKE_TYPE_SCENARIOS_H */
