/* The matrix and the vectors of scenarios.h, and the steps that most scenarios share. Numbers
 * are small whole ones, so that every result is exact. Include merbit.h and cmocka.h first. */
#ifndef TEST_FAKE_SCENARIO_BED_H
#define TEST_FAKE_SCENARIO_BED_H
#include "fake/support.h"

enum { ROWS = 40, COLS = 30, MOST = 128 };

static struct { /* CSR of 32 bits from 0, of 64 bits from 1, COO of 64 bits from 0 */
  int32_t row_ptr[ROWS + 1], col_ind[MOST];
  int64_t row_ptr64[ROWS + 1], col_ind64[MOST], row_ind[MOST], col_coo[MOST];
  double values[MOST], x[COLS], y0[ROWS];
  float values32[MOST], x32[COLS], y032[ROWS];
} data;

/* Fills the data: row 0 is empty, row 7 holds every column, the others up to three entries,
 * with duplicates. */
TEST_UNUSED static void scenarios_prepare(void) {
  int row, k = 0, i;
  for (row = 0; row < ROWS; row++) {
    const int length = row == 7 ? COLS : row % 4;
    for (i = 0; i < length; i++, k++) {
      data.col_ind[k] = row == 7 ? i : (row * 5 + i * i) % COLS;
      data.col_ind64[k] = data.col_ind[k] + 1;
      data.col_coo[k] = data.col_ind[k];
      data.row_ind[k] = row;
      data.values[k] = (double)(1 + (k * 7) % 5);
      data.values32[k] = (float)data.values[k];
    }
    data.row_ptr[row + 1] = k;
    data.row_ptr64[row] = data.row_ptr[row] + 1;
    data.y0[row] = (double)(row % 6 - 2);
    data.y032[row] = (float)data.y0[row];
  }
  data.row_ptr64[ROWS] = k + 1;
  for (i = 0; i < COLS; i++) {
    data.x[i] = (double)(i % 9 - 4);
    data.x32[i] = (float)data.x[i];
  }
}

static int64_t data_nnz(void) {
  return data.row_ptr[ROWS];
}

/* Expects y = scale * alpha A x + beta y0, where `scale` is the factor of the values. */
static void expect_product(const double *y, double alpha, double beta, double scale) {
  int row, k;
  for (row = 0; row < ROWS; row++) {
    double sum = 0;
    for (k = data.row_ptr[row]; k < data.row_ptr[row + 1]; k++) {
      sum += data.values[k] * data.x[data.col_ind[k]];
    }
    assert_true(y[row] == scale * alpha * sum + beta * data.y0[row]);
  }
}

/* The side of plans with host vectors: AUTO may fall back to the CPU. */
TEST_UNUSED static merbit_side wished;
TEST_UNUSED static int plan_made; /* a plan with host vectors, in spite of a failure */

/* A call that destroys or describes an object may wait for the GPU or read from it, but cannot
 * report a failure. */
TEST_UNUSED static int untold; /* the first failing call was such a call */
#define CANNOT_TELL(call)                                                                      \
  do {                                                                                         \
    const int whole = cuda->calls.failed == 0;                                                 \
    call;                                                                                      \
    untold |= whole && cuda->calls.failed > 0;                                                 \
  } while (0)

/* Makes the next call, unless one has failed before. */
#define TRY(call) (status = status == MERBIT_OK ? (call) : status)

TEST_UNUSED static void describe(const merbit_plan *plan) {
  char line[1024];
  CANNOT_TELL(assert_true(merbit_plan_describe(plan, line, sizeof line) > 40));
}

/* Makes a buffer with contents. */
static merbit_status put(merbit_context *context, const void *source, size_t bytes,
                         merbit_buffer **buffer) {
  merbit_status status = merbit_buffer_create(context, bytes, buffer);
  assert_true((status == MERBIT_OK) == (*buffer != NULL));
  return TRY(merbit_buffer_upload(*buffer, 0, source, bytes));
}

/* Copies the arrays of a view (doubles, 32-bit indices) to the GPU; the caller owns the
 * buffers. */
TEST_UNUSED static merbit_status put_csr(merbit_context *context, merbit_view *view,
                                         merbit_buffer *buffers[3]) {
  const size_t rows = (size_t)view->rows, nnz = (size_t)view->nnz;
  merbit_status status = put(context, view->row_ptr, (rows + 1) * 4, &buffers[0]);
  TRY(put(context, view->col_ind, nnz * 4, &buffers[1]));
  TRY(put(context, view->values, nnz * 8, &buffers[2]));
  view->memory = MERBIT_MEMORY_DEVICE;
  view->row_ptr = merbit_buffer_pointer(buffers[0]);
  view->col_ind = merbit_buffer_pointer(buffers[1]);
  view->values = merbit_buffer_pointer(buffers[2]);
  return status;
}

static merbit_status make_plan(merbit_context *context, const merbit_view *view,
                               const merbit_plan_desc *desc, merbit_plan **plan) {
  const merbit_status status = merbit_plan_create(context, view, desc, plan);
  assert_true((status == MERBIT_OK) == (*plan != NULL));
  return status;
}

#endif /* TEST_FAKE_SCENARIO_BED_H */
