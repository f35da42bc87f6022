/* Scenarios with semirings. Part of scenarios.h. */
#ifndef TEST_FAKE_SEMIRING_SCENARIOS_H
#define TEST_FAKE_SEMIRING_SCENARIOS_H
#include "fake/scenario_bed.h"

static double shorter(void *user, double a, double b) {
  (void)user;
  return a < b ? a : b;
}

static double longer(void *user, double a, double x) {
  (void)user;
  return a + x;
}

/* The user's operators, a COO with duplicates, host vectors and new values; AUTO may choose the
 * CPU. */
TEST_UNUSED static merbit_status custom_products(merbit_context *context) {
  merbit_view view = merbit_csr(ROWS, COLS, data_nnz(), NULL, data.col_coo, data.values);
  const double alpha = 2, beta = 0.5;
  double y[ROWS], fresh[MOST];
  merbit_operators operators;
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status;
  int row, k, round;
  view.format = MERBIT_COO;
  view.index_type = MERBIT_INDEX_64;
  view.row_ind = data.row_ind;
  memset(&operators, 0, sizeof operators);
  operators.add = "a < b ? a : b";
  operators.multiply = "a + x";
  operators.zero = (double)INFINITY;
  operators.add_f64 = shorter;
  operators.multiply_f64 = longer;
  memset(&desc, 0, sizeof desc);
  desc.semiring = MERBIT_SEMIRING_CUSTOM;
  desc.operators = &operators;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = wished;
  desc.changing_values = 1; /* forms of values are tested elsewhere */
  status = make_plan(context, &view, &desc, &plan);
  plan_made = status == MERBIT_OK;
  for (round = 0; round < 2; round++) {
    memcpy(y, data.y0, sizeof y);
    if (TRY(merbit_spmv(plan, NULL, &alpha, data.x, &beta, y, NULL)) == MERBIT_OK) {
      for (row = 0; row < ROWS; row++) {
        double right = data.y0[row] + beta;
        for (k = data.row_ptr[row]; k < data.row_ptr[row + 1]; k++) {
          right = shorter(NULL, right,
                          alpha + data.x[data.col_ind[k]] + data.values[k] + 3 * round);
        }
        assert_true(y[row] == right);
      }
    }
    for (k = 0; k < MOST; k++) {
      fresh[k] = data.values[k] + 3;
    }
    TRY(merbit_plan_update_values(plan, fresh, MERBIT_MEMORY_HOST));
  }
  merbit_plan_destroy(plan);
  return status;
}

#endif /* TEST_FAKE_SEMIRING_SCENARIOS_H */
