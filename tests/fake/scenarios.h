/* What users do, once through. Each scenario makes, uses and destroys its own objects on a
 * context, whatever fails on the way; it returns the first failure, and where there is none the
 * results were right. */
#ifndef TEST_FAKE_SCENARIOS_H
#define TEST_FAKE_SCENARIOS_H
#include "fake/block_scenarios.h"
#include "support/gpu.h"

/* Host CSR, vectors in buffers, a workspace of its own, new values. */
static merbit_status products_by(merbit_context *context, merbit_method method, int omega,
                                 int calls) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  const double alpha = 2, beta = -1;
  double y[ROWS], doubled[MOST];
  merbit_buffer *xs = NULL, *ys = NULL;
  merbit_plan *plan = NULL;
  merbit_workspace *workspace = NULL;
  merbit_plan_desc desc;
  char line[1024];
  int i;
  merbit_status status;
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  desc.omega = omega;
  desc.expected_calls = calls;
  desc.block_rows = method == MERBIT_METHOD_BSR ? 2 : 0; /* sparse blocks, which need masks */
  desc.block_cols = method == MERBIT_METHOD_BSR ? 3 : 0;
  status = make_plan(context, &view, &desc, &plan);
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
    assert_true(merbit_plan_describe(plan, line, sizeof line) > 40);
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

/* So many that methods are measured. */
TEST_UNUSED static merbit_status many_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_AUTO, 0, 2000);
}

/* Tiles whose rows cross blocks: two launches. */
TEST_UNUSED static merbit_status crossing_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_SCAN, 1, 0);
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

/* A strip of 16 rows that several warps take, from arrays in device memory; then new values. */
TEST_UNUSED static merbit_status cb_parts(merbit_context *context) {
  static const int32_t row_ptr[] = {0, 0, WIDE, WIDE + 1};
  int32_t col_ind[WIDE + 1];
  double values[WIDE + 1], x[WIDE + 1], y[3] = {-1, -1, -1}, sum = 0;
  merbit_view view = merbit_csr(3, WIDE, WIDE + 1, NULL, NULL, NULL);
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
  status = put(context, row_ptr, sizeof row_ptr, &b[0]);
  TRY(put(context, col_ind, sizeof col_ind, &b[1]));
  TRY(put(context, values, sizeof values, &b[2]));
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_CB;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.sigma = 20;
  desc.cb_aggregate = 0.5;
  desc.cb_coo_max = 9;
  desc.cb_csr_max = 30;
  view.memory = MERBIT_MEMORY_DEVICE;
  view.row_ptr = merbit_buffer_pointer(b[0]);
  view.col_ind = merbit_buffer_pointer(b[1]);
  view.values = merbit_buffer_pointer(b[2]);
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

static merbit_method even_method; /* what AUTO took for even rows */

enum { EVEN = 64 };

/* Rows of four ones, for which AUTO takes slices, or the scan where memory is short; host
 * vectors and the plan's own workspace. */
TEST_UNUSED static merbit_status even_rows(merbit_context *context) {
  int32_t row_ptr[EVEN + 1], col_ind[4 * EVEN];
  const merbit_view view = merbit_csr(EVEN, COLS, 4 * EVEN, row_ptr, col_ind, NULL);
  double y[EVEN];
  int i;
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan = NULL;
  merbit_status status;
  for (i = 0; i < 4 * EVEN; i++) {
    row_ptr[i / 4] = i - i % 4;
    col_ind[i] = (i * i + i / 4) % COLS;
  }
  row_ptr[EVEN] = 4 * EVEN;
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
      const int32_t *c = &col_ind[4 * i];
      assert_true(y[i] == data.x[c[0]] + data.x[c[1]] + data.x[c[2]] + data.x[c[3]]);
    }
  }
  merbit_plan_destroy(plan);
  return status;
}

static merbit_method full_method; /* what AUTO took for full columns */

enum { FULL = 24 };

/* Ones of which half meet in a few columns, for which AUTO takes hubs, or the scan where memory is
 * short; a row is empty. */
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
  desc.expected_calls = 1000;
  status = make_plan(context, &view, &desc, &plan);
  if (status == MERBIT_OK) {
    assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
    full_method = info.method;
    assert_true(merbit_plan_describe(plan, line, sizeof line) > 40);
    if (full_method == MERBIT_METHOD_HUBS) {
      assert_int_equal(info.omega, 160);
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

/* Values that are all one, stored once; then others, for which the plan is made again. */
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

/* Nothing to multiply, by every method: y becomes beta y, where there is any. */
TEST_UNUSED static merbit_status empty_matrices(merbit_context *context) {
  static const int32_t row_ptr[] = {0, 0, 0, 0};
  static const double beta = 2;
  merbit_status status = MERBIT_OK;
  size_t method;
  int rows;
  for (rows = 0; rows <= 3; rows += 3) {
    const merbit_view view = merbit_csr(rows, 2, 0, row_ptr, NULL, NULL);
    for (method = 0; method < GPU_METHODS; method++) {
      double x[] = {1, 2}, y[] = {1, 2, 3};
      merbit_plan_desc desc;
      merbit_plan *plan = NULL;
      char line[1024];
      memset(&desc, 0, sizeof desc);
      desc.vector_memory = MERBIT_MEMORY_HOST;
      desc.side = MERBIT_SIDE_CUDA;
      desc.method = gpu_methods[method];
      TRY(make_plan(context, &view, &desc, &plan));
      if (TRY(merbit_spmv(plan, NULL, NULL, x, &beta, y, NULL)) == MERBIT_OK) {
        assert_true(y[0] == (rows > 0 ? 2 : 1) && y[2] == (rows > 0 ? 6 : 3));
        assert_true(merbit_plan_describe(plan, line, sizeof line) > 40);
      }
      merbit_plan_destroy(plan);
    }
  }
  return status;
}

static merbit_side wished; /* of a plan with host vectors: AUTO may fall back to the CPU */
static int plan_made;      /* by host_vectors, in spite of what failed */

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

/* A CSR in device memory with 64-bit indices from 1, scalars there too. */
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

/* A CSR in device memory whose columns and values begin one element behind the start of a
 * buffer: the scan must not load several at once. */
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
  desc.sigma = 2;
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

/* A ring with a way back, whose ranks are known: every vertex has one edge in and one out. */
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
  for (i = 0; i < 4 && status == MERBIT_OK; i++) {
    assert_true(found[i] == 0.25);
  }
  assert_true(status == MERBIT_OK || result.iterations == 0);
  return status;
}

/* All of it, and the sides it is done on. */
TEST_UNUSED static const struct {
  const char *name;
  merbit_status (*scenario)(merbit_context *context);
  merbit_side side;
  int often; /* fail with more codes in quick effort */
} work[] = {
    {"products", products, MERBIT_SIDE_CUDA, 1},
    {"products by MERBIT", merbit_products, MERBIT_SIDE_CUDA, 0},
    {"products by SCAN, crossing", crossing_products, MERBIT_SIDE_CUDA, 0},
    {"many products", many_products, MERBIT_SIDE_CUDA, 0},
    {"products by ROWS", rows_products, MERBIT_SIDE_CUDA, 0},
    {"products by SLICED", sliced_products, MERBIT_SIDE_CUDA, 0},
    {"products by BINNED", binned_products, MERBIT_SIDE_CUDA, 0},
    {"products by BSR, masks", bsr_products, MERBIT_SIDE_CUDA, 0},
    {"host blocks", host_blocks, MERBIT_SIDE_CUDA, 0},
    {"device blocks", device_blocks, MERBIT_SIDE_CUDA, 0},
    {"products by HUBS", hubs_products, MERBIT_SIDE_CUDA, 0},
    {"products by CB", cb_products, MERBIT_SIDE_CUDA, 0},
    {"parts by CB", cb_parts, MERBIT_SIDE_CUDA, 0},
    {"even rows", even_rows, MERBIT_SIDE_CUDA, 0},
    {"full columns", full_columns, MERBIT_SIDE_CUDA, 0},
    {"shorter values", shorter_values, MERBIT_SIDE_CUDA, 0},
    {"host vectors", host_vectors, MERBIT_SIDE_CUDA, 1},
    {"host vectors, AUTO", host_vectors, MERBIT_SIDE_AUTO, 1},
    {"device CSR", device_csr, MERBIT_SIDE_CUDA, 1},
    {"shifted CSR", shifted_csr, MERBIT_SIDE_CUDA, 0},
    {"device COO", device_coo, MERBIT_SIDE_CUDA, 1},
    {"PageRank", ranks, MERBIT_SIDE_CUDA, 1},
    {"PageRank, AUTO", ranks, MERBIT_SIDE_AUTO, 1},
};

#endif /* TEST_FAKE_SCENARIOS_H */
