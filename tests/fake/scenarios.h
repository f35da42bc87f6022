/* Scenarios of user programs. Each creates, uses and destroys its own objects on a context,
 * whatever fails on the way, and returns the first failure. If there is none, the results were
 * right. */
#ifndef TEST_FAKE_SCENARIOS_H
#define TEST_FAKE_SCENARIOS_H
#include "fake/block_scenarios.h"
#include "fake/choice_scenarios.h"
#include "fake/device_scenarios.h"
#include "fake/half_scenarios.h"
#include "fake/many_scenarios.h"
#include "fake/order_scenarios.h"
#include "fake/epilogue_scenarios.h"
#include "fake/semiring_scenarios.h"
#include "fake/solver_scenarios.h"
#include "fake/transpose_scenarios.h"
#include "fake/amg_scenarios.h"
#include "fake/type_scenarios.h"
#include "support/gpu.h"
#include "support/tuning.h"

/* Multiplies by a CSR in host memory, with vectors in buffers, a workspace and new values. */
static merbit_status products_by(merbit_context *context, merbit_method method, int second,
                                 int calls) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  const double alpha = 2, beta = -1;
  double y[ROWS], doubled[MOST];
  merbit_buffer *xs = NULL, *ys = NULL;
  merbit_plan *plan = NULL;
  merbit_workspace *workspace = NULL;
  merbit_plan_desc desc;
  int i;
  merbit_status status;
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  tuning_take(&desc, 0, second);
  desc.expected_calls = calls;
  desc.block_rows = method == MERBIT_METHOD_BSR ? 2 : 0; /* sparse blocks, which need masks */
  desc.block_cols = method == MERBIT_METHOD_BSR ? 3 : 0;
  status = make_plan(context, &view, &desc, &plan);
  if (status == MERBIT_OK && calls > 1) { /* or measuring, or the fastest method, failed */
    assert_true(strstr(plan->why, "measured ") != NULL ||
                strstr(plan->why, "the first choice failed") != NULL ||
                (cuda->calls.failed > 0 && strstr(plan->why, "forecast ") != NULL));
  }
  for (i = 0; i < MOST; i++) {
    doubled[i] = 2 * data.values[i];
  }
  TRY(put(context, data.x, sizeof data.x, &xs));
  TRY(put(context, data.y0, sizeof data.y0, &ys));
  if (TRY(merbit_workspace_create(plan, &workspace)) != MERBIT_OK) {
    assert_null(workspace);
  }
  TRY(merbit_spmv(plan, workspace, &alpha, merbit_buffer_pointer(xs), &beta,
                  merbit_buffer_pointer(ys), NULL));
  if (TRY(merbit_buffer_download(ys, 0, y, sizeof y)) == MERBIT_OK) {
    expect_product(y, 2, -1, 1);
    describe(plan);
  }
  TRY(merbit_plan_update_values(plan, doubled, MERBIT_MEMORY_HOST));
  TRY(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(xs), NULL, merbit_buffer_pointer(ys),
                  NULL));
  if (TRY(merbit_buffer_download(ys, 0, y, sizeof y)) == MERBIT_OK) {
    expect_product(y, 1, 0, 2);
  }
  merbit_workspace_destroy(workspace);
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(xs);
  merbit_buffer_destroy(ys);
  return status;
}

TEST_UNUSED static merbit_status products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_AUTO, 0, 0);
}

TEST_UNUSED static merbit_status merbit_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_MERBIT, 0, 0);
}

/* Multiplies so few times that AUTO does not inspect the matrix. */
TEST_UNUSED static merbit_status one_product(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_AUTO, 0, 1);
}

/* Multiplies so many times that AUTO measures methods. */
TEST_UNUSED static merbit_status many_products(merbit_context *context) {
  forget_latencies(context); /* else SCAN is the only candidate */
  return products_by(context, MERBIT_METHOD_AUTO, 0, 2000);
}

/* Tiles whose rows cross blocks: two launches. */
TEST_UNUSED static merbit_status crossing_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_SCAN, 1, 0);
}

TEST_UNUSED static merbit_status merge_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_MERGE, 0, 0);
}

TEST_UNUSED static merbit_status rows_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_ROWS, 0, 0);
}

TEST_UNUSED static merbit_status sliced_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_SLICED, 0, 0);
}

TEST_UNUSED static merbit_status binned_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_BINNED, 0, 0);
}

TEST_UNUSED static merbit_status bsr_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_BSR, 0, 0);
}

TEST_UNUSED static merbit_status hubs_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_HUBS, 0, 0);
}

TEST_UNUSED static merbit_status cb_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_CB, 0, 0);
}

enum { WIDE = 600 };

/* A strip of 16 rows that several warps share, with arrays in device memory; then new
 * values. */
TEST_UNUSED static merbit_status cb_parts(merbit_context *context) {
  static const int32_t row_ptr[] = {0, 0, WIDE, WIDE + 1};
  int32_t col_ind[WIDE + 1];
  double values[WIDE + 1], x[WIDE + 1], y[3] = {-1, -1, -1}, sum = 0;
  merbit_view view = merbit_csr(3, WIDE, WIDE + 1, row_ptr, col_ind, values);
  merbit_buffer *b[3] = {NULL, NULL, NULL};
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status;
  int i;
  for (i = 0; i <= WIDE; i++) {
    col_ind[i] = i % WIDE;
    values[i] = (double)(1 + i % 5);
    x[i] = (double)(i % 7);
  }
  for (i = 0; i < WIDE; i++) {
    sum += values[i] * x[i];
  }
  status = put_csr(context, &view, b);
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_CB;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.tuning = "steps=20 aggregate=0.5 coo_max=9 csr_max=30";
  TRY(make_plan(context, &view, &desc, &plan));
  if (TRY(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL)) == MERBIT_OK) {
    assert_true(y[0] == 0 && y[1] == sum && y[2] == x[0]);
  }
  values[WIDE] = 3;
  TRY(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST));
  if (TRY(merbit_spmv(plan, NULL, NULL, x + 1, NULL, y, NULL)) == MERBIT_OK) {
    assert_true(y[2] == 3 * x[1] && y[0] == 0);
  }
  merbit_plan_destroy(plan);
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(b[i]);
  }
  return status;
}

/* Empty matrices with every method: y becomes beta y, if it has rows. */
TEST_UNUSED static merbit_status empty_matrices(merbit_context *context) {
  static const int32_t row_ptr[] = {0, 0, 0, 0};
  static const double beta = 2;
  merbit_status status = MERBIT_OK;
  int method;
  int rows;
  for (rows = 0; rows <= 3; rows += 3) {
    const merbit_view view = merbit_csr(rows, 2, 0, row_ptr, NULL, NULL);
    for (method = 0; method < gpu_method_count(); method++) {
      double x[] = {1, 2}, y[] = {1, 2, 3};
      merbit_plan_desc desc;
      merbit_plan *plan = NULL;
      memset(&desc, 0, sizeof desc);
      desc.vector_memory = MERBIT_MEMORY_HOST;
      desc.side = MERBIT_SIDE_CUDA;
      desc.method = gpu_method(method);
      TRY(make_plan(context, &view, &desc, &plan));
      if (TRY(merbit_spmv(plan, NULL, NULL, x, &beta, y, NULL)) == MERBIT_OK) {
        assert_true(y[0] == (rows > 0 ? 2 : 1) && y[2] == (rows > 0 ? 6 : 3));
        describe(plan);
      }
      merbit_plan_destroy(plan);
    }
  }
  return status;
}

/* Host vectors of f32. */
TEST_UNUSED static merbit_status host_vectors(merbit_context *context) {
  merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values32);
  const float alpha = 3, beta = 2;
  float y[ROWS];
  double wide[ROWS];
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status;
  int i;
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = wished;
  view.value_type = MERBIT_F32;
  status = make_plan(context, &view, &desc, &plan);
  plan_made = status == MERBIT_OK;
  memcpy(y, data.y032, sizeof y);
  if (TRY(merbit_spmv(plan, NULL, &alpha, data.x32, &beta, y, NULL)) == MERBIT_OK) {
    for (i = 0; i < ROWS; i++) {
      wide[i] = (double)y[i];
    }
    expect_product(wide, 3, 2, 1);
  }
  merbit_plan_destroy(plan);
  return status;
}

/* PageRank of a ring with edges in both directions, whose ranks are known. */
TEST_UNUSED static merbit_status ranks(merbit_context *context) {
  static const int32_t row_ptr[] = {0, 1, 2, 3, 4}, col_ind[] = {1, 2, 3, 0};
  const merbit_view view = merbit_csr(4, 4, 4, row_ptr, col_ind, NULL);
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  double found[4];
  merbit_status status;
  int i;
  memset(&desc, 0, sizeof desc);
  desc.side = wished;
  status = merbit_pagerank(context, &view, &desc, found, &result);
  went_without = status == MERBIT_OK && result.recorded != 2;
  for (i = 0; i < 4 && status == MERBIT_OK; i++) {
    assert_true(found[i] == 0.25);
  }
  assert_true(status == MERBIT_OK || result.iterations == 0);
  return status;
}

/* All scenarios, with the sides that they run on. */
TEST_UNUSED static const struct {
  const char *name;
  merbit_status (*scenario)(merbit_context *context);
  merbit_side side;
} work[] = {
    {"products", products, MERBIT_SIDE_CUDA},
    {"products by MERBIT", merbit_products, MERBIT_SIDE_CUDA},
    {"products by SCAN, crossing", crossing_products, MERBIT_SIDE_CUDA},
    {"many products", many_products, MERBIT_SIDE_CUDA},
    {"products by MERGE", merge_products, MERBIT_SIDE_CUDA},
    {"products by ROWS", rows_products, MERBIT_SIDE_CUDA},
    {"products by SLICED", sliced_products, MERBIT_SIDE_CUDA},
    {"products by BINNED", binned_products, MERBIT_SIDE_CUDA},
    {"products by BSR, masks", bsr_products, MERBIT_SIDE_CUDA},
    {"host blocks", host_blocks, MERBIT_SIDE_CUDA},
    {"device blocks", device_blocks, MERBIT_SIDE_CUDA},
    {"extracted blocks", extracted_blocks, MERBIT_SIDE_CUDA},
    {"blocks of rows that descend", sorted_blocks, MERBIT_SIDE_CUDA},
    {"products by HUBS", hubs_products, MERBIT_SIDE_CUDA},
    {"products by CB", cb_products, MERBIT_SIDE_CUDA},
    {"parts by CB", cb_parts, MERBIT_SIDE_CUDA},
    {"even rows", even_rows, MERBIT_SIDE_CUDA},
    {"a band", band, MERBIT_SIDE_CUDA},
    {"full columns", full_columns, MERBIT_SIDE_CUDA},
    {"shorter values", shorter_values, MERBIT_SIDE_CUDA},
    {"values of columns", column_values, MERBIT_SIDE_CUDA},
    {"values from a table", table_values, MERBIT_SIDE_CUDA},
    {"host vectors", host_vectors, MERBIT_SIDE_CUDA},
    {"host vectors, AUTO", host_vectors, MERBIT_SIDE_AUTO},
    {"device CSR", device_csr, MERBIT_SIDE_CUDA},
    {"shifted CSR", shifted_csr, MERBIT_SIDE_CUDA},
    {"device COO", device_coo, MERBIT_SIDE_CUDA},
    {"reordered products", ordered_products, MERBIT_SIDE_CUDA},
    {"reordered COO", ordered_coo, MERBIT_SIDE_CUDA},
    {"copied vectors", copied_vectors, MERBIT_SIDE_CUDA},
    {"reordered, host vectors", ordered_host_vectors, MERBIT_SIDE_CUDA},
    {"reordered, host vectors, AUTO", ordered_host_vectors, MERBIT_SIDE_AUTO},
    {"transposed products", transposed_products, MERBIT_SIDE_CUDA},
    {"transposed device CSR", transposed_device_csr, MERBIT_SIDE_CUDA},
    {"transposed and reordered", transposed_and_reordered, MERBIT_SIDE_CUDA},
    {"transposed blocks", transposed_blocks, MERBIT_SIDE_CUDA},
    {"transposed, host vectors, AUTO", transposed_host_vectors, MERBIT_SIDE_AUTO},
    {"one triangle", half_products, MERBIT_SIDE_CUDA},
    {"one triangle, device COO", half_device_coo, MERBIT_SIDE_CUDA},
    {"several vectors by rows", vectors_by_rows, MERBIT_SIDE_CUDA},
    {"several vectors by columns", vectors_by_columns, MERBIT_SIDE_CUDA},
    {"several host vectors, AUTO", several_host_vectors, MERBIT_SIDE_AUTO},
    {"conjugate transpose, AUTO", complex_products, MERBIT_SIDE_AUTO},
    {"complex by MERGE", complex_merge, MERBIT_SIDE_CUDA},
    {"custom operators, AUTO", custom_products, MERBIT_SIDE_AUTO},
    {"solver, buffers", solves_in_buffers, MERBIT_SIDE_CUDA},
    {"solver, AUTO", solves, MERBIT_SIDE_AUTO},
    {"refinement, device CSR", refines_there, MERBIT_SIDE_CUDA},
    {"solver, numbers far from 1", solves_far_there, MERBIT_SIDE_CUDA},
    {"GMRES", solves_by_gmres, MERBIT_SIDE_CUDA},
    {"several right-hand sides", solves_for_many, MERBIT_SIDE_CUDA},
    {"block Jacobi in f32, device CSR", preconditions_by_blocks, MERBIT_SIDE_CUDA},
    {"Chebyshev, device CSR", preconditions_by_chebyshev, MERBIT_SIDE_CUDA},
    {"Chebyshev in f32, device CSR", preconditions_by_chebyshev_in_f32, MERBIT_SIDE_CUDA},
    {"FSAI, device CSR", preconditions_by_fsai, MERBIT_SIDE_CUDA},
    {"multigrid, device CSR", multigrid_there, MERBIT_SIDE_CUDA},
    {"multigrid by reduction, device CSR", multigrid_windy, MERBIT_SIDE_CUDA},
    {"multigrid, host CSR", multigrid_uploaded, MERBIT_SIDE_CUDA},
    {"eigenpairs", eigenpairs, MERBIT_SIDE_CUDA},
    {"epilogues", epilogue_products, MERBIT_SIDE_CUDA},
    {"PageRank", ranks, MERBIT_SIDE_CUDA},
    {"PageRank, AUTO", ranks, MERBIT_SIDE_AUTO},
};

#endif /* TEST_FAKE_SCENARIOS_H */
