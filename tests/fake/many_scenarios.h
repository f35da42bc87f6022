/* Scenarios with several vectors at once. Part of scenarios.h. Vector v is v + 1 times the
 * single vector. */
#ifndef TEST_FAKE_MANY_SCENARIOS_H
#define TEST_FAKE_MANY_SCENARIOS_H
#include "fake/scenario_bed.h"

enum { VECTORS = 4, MANY_BY_ROWS = 6, MANY_BY_COLUMNS = ROWS + 1 };

/* Returns the index of element i of vector v, in an array with gaps. */
static int many_at(int by_rows, int i, int v) {
  return by_rows ? i * MANY_BY_ROWS + v : v * MANY_BY_COLUMNS + i;
}

static void many_put(int by_rows, const double *one, int count, double *all) {
  int i, v;
  for (v = 0; v < VECTORS; v++) {
    for (i = 0; i < count; i++) {
      all[many_at(by_rows, i, v)] = (v + 1) * one[i];
    }
  }
}

static void many_expect(int by_rows, const double *all, double alpha, double beta,
                        double scale) {
  int i, v;
  for (v = 0; v < VECTORS; v++) {
    double one[ROWS];
    for (i = 0; i < ROWS; i++) {
      one[i] = all[many_at(by_rows, i, v)] / (v + 1);
    }
    expect_product(one, alpha, beta, scale);
  }
}

/* Multiplies vectors in buffers or on the host, with new values and a workspace. */
static merbit_status many_by(merbit_context *context, int by_rows, int host) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  const int64_t leading = by_rows ? MANY_BY_ROWS : MANY_BY_COLUMNS;
  const double alpha = 2, beta = -1;
  double x[ROWS * MANY_BY_ROWS], y[ROWS * MANY_BY_ROWS], doubled[MOST];
  merbit_buffer *xs = NULL, *ys = NULL;
  merbit_workspace *workspace = NULL;
  merbit_plan *plan = NULL;
  merbit_plan_desc desc;
  merbit_status status;
  void *at_x = x, *at_y = y;
  int i;
  memset(&desc, 0, sizeof desc);
  desc.side = wished;
  desc.vectors = VECTORS;
  desc.vector_order = by_rows ? MERBIT_VECTORS_ROW_MAJOR : MERBIT_VECTORS_COLUMN_MAJOR;
  desc.vector_memory = host ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
  for (i = 0; i < MOST; i++) {
    doubled[i] = 2 * data.values[i];
  }
  memset(x, 0, sizeof x);
  memset(y, 0, sizeof y);
  many_put(by_rows, data.x, COLS, x);
  many_put(by_rows, data.y0, ROWS, y);
  status = make_plan(context, &view, &desc, &plan);
  plan_made = host && status == MERBIT_OK;
  if (!host) {
    TRY(put(context, x, sizeof x, &xs));
    TRY(put(context, y, sizeof y, &ys));
    at_x = merbit_buffer_pointer(xs);
    at_y = merbit_buffer_pointer(ys);
  }
  if (TRY(merbit_workspace_create(plan, &workspace)) != MERBIT_OK) {
    assert_null(workspace);
  }
  TRY(merbit_spmm(plan, workspace, &alpha, at_x, leading, &beta, at_y, leading, NULL));
  if (!host) {
    TRY(merbit_buffer_download(ys, 0, y, sizeof y));
  }
  if (status == MERBIT_OK) {
    many_expect(by_rows, y, 2, -1, 1);
    describe(plan);
  }
  TRY(merbit_plan_update_values(plan, doubled, MERBIT_MEMORY_HOST));
  TRY(merbit_spmm(plan, NULL, NULL, at_x, leading, NULL, at_y, leading, NULL));
  if (!host) {
    TRY(merbit_buffer_download(ys, 0, y, sizeof y));
  }
  if (status == MERBIT_OK) {
    many_expect(by_rows, y, 1, 0, 2);
  }
  merbit_workspace_destroy(workspace);
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(xs);
  merbit_buffer_destroy(ys);
  return status;
}

TEST_UNUSED static merbit_status vectors_by_rows(merbit_context *context) {
  return many_by(context, 1, 0);
}

TEST_UNUSED static merbit_status vectors_by_columns(merbit_context *context) {
  return many_by(context, 0, 0);
}

TEST_UNUSED static merbit_status several_host_vectors(merbit_context *context) {
  return many_by(context, 1, 1);
}

#endif /* TEST_FAKE_MANY_SCENARIOS_H */
