/* Scenarios for which AUTO chooses another method than SCAN, or a shorter form of the values.
 * Part of scenarios.h. */
#ifndef TEST_FAKE_CHOICE_SCENARIOS_H
#define TEST_FAKE_CHOICE_SCENARIOS_H
#include "fake/scenario_bed.h"

/* Makes bytes and gathers decide between methods, as for large matrices: for tiny ones
 * launches, single steps and L2 dominate the forecasts. */
static void forget_latencies(merbit_context *context) {
  merbit_device_profile *const profile = &context->device.estimate;
  profile->launch_seconds = profile->l2_load_seconds = profile->memory_load_seconds = 0;
  profile->l2_bytes = 1;
}

static merbit_method even_method; /* AUTO's choice for even rows */

enum { EVEN = 64, EACH = 16 };

/* Multiplies by rows of 16 ones, for which AUTO chooses SLICED, or SCAN if memory is short;
 * host vectors and the plan's own workspace. */
TEST_UNUSED static merbit_status even_rows(merbit_context *context) {
  int32_t row_ptr[EVEN + 1], col_ind[EACH * EVEN];
  const merbit_view view = merbit_csr(EVEN, COLS, EACH * EVEN, row_ptr, col_ind, NULL);
  double y[EVEN];
  int i, j;
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan = NULL;
  merbit_status status;
  forget_latencies(context);
  for (i = 0; i < EACH * EVEN; i++) {
    row_ptr[i / EACH] = i - i % EACH;
    col_ind[i] = (i * i + i / EACH) % COLS;
  }
  row_ptr[EVEN] = EACH * EVEN;
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = MERBIT_SIDE_CUDA;
  status = make_plan(context, &view, &desc, &plan);
  if (status == MERBIT_OK) {
    assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
    even_method = info.method;
  }
  if (TRY(merbit_spmv(plan, NULL, NULL, data.x, NULL, y, NULL)) == MERBIT_OK) {
    for (i = 0; i < EVEN; i++) {
      double sum = 0;
      for (j = 0; j < EACH; j++) {
        sum += data.x[col_ind[EACH * i + j]];
      }
      assert_true(y[i] == sum); /* whole numbers: exact */
    }
  }
  merbit_plan_destroy(plan);
  return status;
}

static merbit_method band_method; /* AUTO's choice for a band */

enum { BAND = 128 }; /* two full slices */

/* Checks rows of three nonzeros around the diagonal. */
static void expect_band(const double *values, const int32_t *row_ptr, const double *x,
                        const double *y) {
  int i;
  for (i = 1; i < BAND - 1; i++) {
    const double *v = values + row_ptr[i];
    const double want = v[0] * x[i - 1] + v[1] * x[i] + v[2] * x[i + 1];
    assert_true(fabs(y[i] - want) <= 1e-12 * fabs(want));
  }
}

/* Multiplies by three diagonals, for which AUTO chooses DIAGONALS, or SCAN if memory is short;
 * then with new values. */
TEST_UNUSED static merbit_status band(merbit_context *context) {
  int32_t row_ptr[BAND + 1] = {0}, col_ind[3 * BAND];
  double values[3 * BAND], x[BAND], y[BAND];
  merbit_view view;
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status;
  int i, j, k = 0;
  forget_latencies(context);
  for (i = 0; i < BAND; i++) {
    for (j = i - 1; j <= i + 1; j++) {
      if (j >= 0 && j < BAND) {
        col_ind[k] = j;
        values[k++] = i * 0.3 + j;
      }
    }
    row_ptr[i + 1] = k;
    x[i] = i % 7;
  }
  view = merbit_csr(BAND, BAND, k, row_ptr, col_ind, values);
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = MERBIT_SIDE_CUDA;
  desc.changing_values = 1;
  status = make_plan(context, &view, &desc, &plan);
  if (status == MERBIT_OK) {
    band_method = plan->method;
  }
  if (TRY(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL)) == MERBIT_OK) {
    expect_band(values, row_ptr, x, y);
    values[1] = -5;
  }
  if (TRY(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST)) == MERBIT_OK &&
      TRY(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL)) == MERBIT_OK) {
    assert_true(y[0] == -5);
    expect_band(values, row_ptr, x, y);
  }
  merbit_plan_destroy(plan);
  return status;
}

/* Makes gathers take so long that hubs pay for a few nonzeros. */
static void slow_gathers(merbit_context *context) {
  merbit_device_profile *const profile = &context->device.estimate;
  int i;
  for (i = 0; i < MERBIT_PROFILE_SIZES; i++) {
    profile->gather_rate_f64[i] /= 4;
  }
}

static merbit_method full_method; /* AUTO's choice for full columns */

enum { FULL = 24 };

/* Multiplies by a matrix of ones of which half are in a few columns, for which AUTO chooses
 * HUBS, or SCAN if memory is short. One row is empty. */
TEST_UNUSED static merbit_status full_columns(merbit_context *context) {
  static const int32_t row_ptr[] = {0, 2 * FULL - 1, 2 * FULL - 1, 2 * FULL};
  const double alpha = 1, beta = 3;
  int32_t col_ind[2 * FULL];
  const merbit_view view = merbit_csr(3, 8 * FULL, 2 * FULL, row_ptr, col_ind, NULL);
  double x[8 * FULL], y[3] = {1, 2, 4}, sum = 0;
  char line[1024];
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan = NULL;
  merbit_status status;
  int i;
  forget_latencies(context);
  slow_gathers(context);
  for (i = 0; i < 8 * FULL; i++) {
    x[i] = i % 4 == 0 ? 1 + i : 1e9;
  }
  for (i = 0; i < 2 * FULL; i++) {
    col_ind[i] = (i < FULL ? i * 5 % (FULL / 2) : i) * 4;
    sum += x[col_ind[i]];
  }
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = MERBIT_SIDE_CUDA;
  desc.expected_calls = 500;
  status = make_plan(context, &view, &desc, &plan);
  if (status == MERBIT_OK) {
    assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
    full_method = info.method;
    assert_true(merbit_plan_describe(plan, line, sizeof line) > 40);
    if (full_method == MERBIT_METHOD_HUBS) {
      assert_int_equal((mbi_hubs_of(plan)->capacity + 1024) * sizeof(double), 163 * 1024);
      assert_non_null(strstr(line, "12 hubs with 50% of the nonzeros in shared memory"));
    }
  }
  if (TRY(merbit_spmv(plan, NULL, &alpha, x, &beta, y, NULL)) == MERBIT_OK) {
    const double last = x[col_ind[2 * FULL - 1]];
    assert_true(y[0] == sum - last + 3 && y[1] == 6 && y[2] == last + 12);
  }
  merbit_plan_destroy(plan);
  return status;
}

/* Values that are all one and stored once; then others, for which the plan is remade. */
TEST_UNUSED static merbit_status shorter_values(merbit_context *context) {
  static const int32_t row_ptr[] = {0, 2, 3}, col_ind[] = {0, 1, 1};
  static const double equal[] = {3, 3, 3}, other[] = {1, 2, 0.1}, x[] = {1, 10};
  const merbit_view view = merbit_csr(2, 2, 3, row_ptr, col_ind, equal);
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status;
  double y[2];
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = MERBIT_SIDE_CUDA;
  status = make_plan(context, &view, &desc, &plan);
  if (TRY(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL)) == MERBIT_OK) {
    assert_true(y[0] == 33 && y[1] == 30);
  }
  TRY(merbit_plan_update_values(plan, other, MERBIT_MEMORY_HOST));
  if (TRY(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL)) == MERBIT_OK) {
    assert_true(y[0] == 21 && y[1] == 1);
  }
  merbit_plan_destroy(plan);
  return status;
}

enum { SIDE = 20 }; /* side of a dense matrix */

/* Multiplies with `values`, whose sums are exact. */
static merbit_status dense_product(merbit_plan *plan, const double *values,
                                   merbit_status status) {
  double x[SIDE], y[SIDE];
  int i, k;
  for (i = 0; i < SIDE; i++) {
    x[i] = i % 5 - 2;
  }
  if (TRY(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL)) == MERBIT_OK) {
    for (i = 0; i < SIDE; i++) {
      double sum = 0;
      for (k = 0; k < SIDE; k++) {
        sum += values[SIDE * i + k] * x[k];
      }
      assert_true(y[i] == sum);
    }
  }
  return status;
}

/* Values that are equal in each column or, with `by_table`, one of 50; then others of the same
 * kind, and values of neither kind. */
static merbit_status stored_values(merbit_context *context, int by_table) {
  static double values[3][SIDE * SIDE];
  int32_t row_ptr[SIDE + 1], col_ind[SIDE * SIDE];
  const merbit_view view = merbit_csr(SIDE, SIDE, SIDE * SIDE, row_ptr, col_ind, values[0]);
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status;
  int i, k;
  for (i = 0; i < SIDE; i++) {
    row_ptr[i] = SIDE * i;
    for (k = 0; k < SIDE; k++) {
      const double kind = by_table ? (SIDE * i + k) * 7 % 50 : k;
      col_ind[SIDE * i + k] = k;
      values[0][SIDE * i + k] = 1 + ldexp(kind, -30);
      values[1][SIDE * i + k] = 3 + ldexp(kind, -30);
      values[2][SIDE * i + k] = 1 + ldexp(SIDE * i + k, -30);
    }
  }
  row_ptr[SIDE] = SIDE * SIDE;
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = MERBIT_SIDE_CUDA;
  desc.method = by_table ? MERBIT_METHOD_SLICED : MERBIT_METHOD_ROWS;
  status = make_plan(context, &view, &desc, &plan);
  for (i = 0; i < 3; i++) {
    if (i > 0) {
      TRY(merbit_plan_update_values(plan, values[i], MERBIT_MEMORY_HOST));
    }
    status = dense_product(plan, values[i], status);
  }
  merbit_plan_destroy(plan);
  return status;
}

TEST_UNUSED static merbit_status column_values(merbit_context *context) {
  return stored_values(context, 0);
}

TEST_UNUSED static merbit_status table_values(merbit_context *context) {
  return stored_values(context, 1);
}
#endif /* TEST_FAKE_CHOICE_SCENARIOS_H */
