#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/pagerank/pagerank.h"

/* The weights of vertices: W(i) = sum over j of w(i, j), the weights of the edges i -> j.
 * PageRank iterates on z = x / W, so that the product A^T z can use the given values, and a
 * pattern needs none. A vertex without outgoing edges ("dangling") has -1: its column of A^T is
 * zero, so any divisor will do. */

/* If W lies between 2^-n and 2^n, z and its products stay well within the range of the type. */
#define MBI_WEIGHTS_POWER_F64 300
#define MBI_WEIGHTS_POWER_F32 40

static double mbi_weights_at(const merbit_view *graph, int64_t k) {
  if (graph->values == NULL) {
    return 1.0;
  }
  return mbi_view_type(graph) == MERBIT_F32 ? (double)((const float *)graph->values)[k]
                                            : ((const double *)graph->values)[k];
}

/* ---- Validation -------------------------------------------------------------------------- */

static void mbi_weights_check_task(void *argument, int task) {
  mbi_weights *w = (mbi_weights *)argument;
  const int64_t values = mbi_view_values(w->graph);
  const int64_t end = mbi_share(values, w->tasks, task + 1);
  int64_t k;
  w->bad[task] = -1;
  for (k = mbi_share(values, w->tasks, task); k < end; k++) {
    const double weight = mbi_weights_at(w->graph, k);
    if (!(weight >= 0 && weight <= DBL_MAX) && !mbi_value_is_padding(w->graph, k)) {
      w->bad[task] = k;
      return;
    }
  }
}

/* Finds the row and the column, from 0, of value number `k`. */
static void mbi_weights_place(const merbit_view *graph, int64_t k, int64_t *row,
                              int64_t *column) {
  const int height = graph->block_rows, width = graph->block_cols;
  const int blocks = graph->format == MERBIT_BSR;
  const merbit_view entries = blocks ? mbi_block_frame(graph) : *graph;
  const int64_t entry = blocks ? k / (height * width) : k;
  *row = graph->format == MERBIT_COO
             ? mbi_index_at(graph->row_ind, graph->index_type, entry) - graph->base
             : mbi_row_of(&entries, entry);
  *column = mbi_index_at(graph->col_ind, graph->index_type, entry) - graph->base;
  if (blocks) {
    const int place = (int)(k % (height * width));
    const int by_rows = graph->block_order == MERBIT_BLOCK_ROW_MAJOR;
    *row = *row * height + (by_rows ? place / width : place % height);
    *column = *column * width + (by_rows ? place % width : place / height);
  }
}

/* Fails on the first weight that is negative or not finite. `graph` is in host memory and its
 * arrays have been checked. */
MBI_INTERNAL merbit_status mbi_weights_check(merbit_context *context,
                                             const merbit_view *graph) {
  mbi_weights w;
  int64_t row, column;
  int task;
  if (graph->values == NULL || graph->nnz == 0) {
    return MERBIT_OK;
  }
  w.graph = graph;
  w.tasks = mbi_share_tasks(context, mbi_view_values(graph));
  mbi_parallel(context, w.tasks, mbi_weights_check_task, &w);
  for (task = 0; task < w.tasks; task++) {
    const int64_t k = w.bad[task];
    if (k >= 0) {
      mbi_weights_place(graph, k, &row, &column);
      return mbi_fail(context, MERBIT_INVALID_MATRIX,
                      "edge (%" PRId64 ", %" PRId64
                      "), counted from 0, has the weight %g; weights must be finite and not "
                      "negative",
                      row, column, mbi_weights_at(graph, k));
    }
  }
  return MERBIT_OK;
}

/* ---- Sums, in double and in the order of the entries ------------------------------------- */

static void mbi_weights_rows_task(void *argument, int task) {
  mbi_weights *w = (mbi_weights *)argument;
  const merbit_view *graph = w->graph;
  const int64_t last = mbi_share_rows(graph, w->tasks, task + 1);
  int64_t row = mbi_share_rows(graph, w->tasks, task);
  for (; row < last; row++) {
    int64_t k = mbi_row_start(graph, row);
    const int64_t end = mbi_row_start(graph, row + 1);
    double sum = graph->values == NULL ? (double)(end - k) : 0;
    for (; k < end && graph->values != NULL; k++) {
      sum += mbi_weights_at(graph, k);
    }
    w->sums[row] = sum;
  }
}

static merbit_status mbi_weights_add(mbi_weights *w) {
  const merbit_view *graph = w->graph;
  int64_t i, k;
  memset(w->sums, 0, (size_t)graph->rows * sizeof *w->sums);
  if (graph->format == MERBIT_CSR && graph->nnz > 0) {
    w->tasks = mbi_share_tasks(w->context, graph->rows + graph->nnz);
    mbi_parallel(w->context, w->tasks, mbi_weights_rows_task, w);
  }
  for (k = 0; graph->format == MERBIT_COO && k < graph->nnz; k++) {
    w->sums[mbi_index_at(graph->row_ind, graph->index_type, k) - graph->base] +=
        mbi_weights_at(graph, k);
  }
  for (i = 0; i < graph->rows; i++) {
    if (w->sums[i] > DBL_MAX) {
      return mbi_fail(w->context, MERBIT_INVALID_MATRIX,
                      "the weights of the edges from vertex %" PRId64
                      ", counted from 0, add up to infinity; scale them down",
                      i);
    }
  }
  return MERBIT_OK;
}

/* ---- Scaling of rows by powers of two, for sums far from 1 ------------------------------- */

/* Returns whether z = x / W could overflow its type or lose bits. */
static int mbi_weights_need_scaling(const mbi_weights *w) {
  const double most = ldexp(1, mbi_view_type(w->graph) == MERBIT_F32 ? MBI_WEIGHTS_POWER_F32
                                                                     : MBI_WEIGHTS_POWER_F64);
  int64_t i;
  for (i = 0; i < w->graph->rows; i++) {
    if (w->sums[i] > most || (w->sums[i] < 1 / most && w->sums[i] != 0)) {
      return 1;
    }
  }
  return 0;
}

/* Returns the exponent of the power of two that, dividing a row, brings its sum to [1/2, 1). */
static int mbi_weights_power(double sum) {
  int power = 0;
  (void)frexp(sum, &power);
  return power;
}

static void mbi_weights_scale_task(void *argument, int task) {
  const mbi_weights *w = (const mbi_weights *)argument;
  const merbit_view *graph = w->graph;
  const int64_t end = mbi_share(graph->nnz, w->tasks, task + 1);
  int64_t k = mbi_share(graph->nnz, w->tasks, task);
  int64_t row = graph->format == MERBIT_CSR && k < end ? mbi_row_of(graph, k) : 0;
  for (; k < end; k++) {
    double value;
    if (graph->format == MERBIT_COO) {
      row = mbi_index_at(graph->row_ind, graph->index_type, k) - graph->base;
    }
    while (graph->format == MERBIT_CSR && mbi_row_start(graph, row + 1) <= k) {
      row++;
    }
    value = ldexp(mbi_weights_at(graph, k), -mbi_weights_power(w->sums[row]));
    if (mbi_view_type(graph) == MERBIT_F32) {
      ((float *)w->scaled)[k] = (float)value;
    } else {
      ((double *)w->scaled)[k] = value;
    }
  }
}

static merbit_status mbi_weights_scale(mbi_weights *w) {
  int64_t i;
  MBI_TRY(mbi_allocate_array(w->context, w->graph->nnz, mbi_type_size(mbi_view_type(w->graph)),
                             "the values of a graph, scaled", &w->scaled));
  w->tasks = mbi_share_tasks(w->context, w->graph->nnz);
  mbi_parallel(w->context, w->tasks, mbi_weights_scale_task, w);
  for (i = 0; i < w->graph->rows; i++) {
    w->sums[i] = ldexp(w->sums[i], -mbi_weights_power(w->sums[i]));
  }
  return MERBIT_OK;
}

/* ---- The whole computation --------------------------------------------------------------- */

static merbit_status mbi_weights_store(mbi_weights *w) {
  const int64_t n = w->graph->rows;
  int64_t i;
  if (mbi_view_type(w->graph) == MERBIT_F64) {
    w->totals = w->sums;
    w->sums = NULL;
    for (i = 0; i < n; i++) {
      ((double *)w->totals)[i] = ((double *)w->totals)[i] > 0 ? ((double *)w->totals)[i] : -1;
    }
    return MERBIT_OK;
  }
  MBI_TRY(mbi_allocate_array(w->context, n, sizeof(float), "the weight of each vertex",
                             &w->totals));
  for (i = 0; i < n; i++) {
    ((float *)w->totals)[i] = w->sums[i] > 0 ? (float)w->sums[i] : -1;
  }
  return MERBIT_OK;
}

/* Computes the weights. Leaves w->sums for the caller to release. */
static merbit_status mbi_weights_compute(mbi_weights *w) {
  void *memory = NULL;
  MBI_TRY(mbi_weights_check(w->context, w->graph));
  MBI_TRY(mbi_allocate_array(w->context, w->graph->rows, sizeof(double),
                             "the sum of each vertex's weights", &memory));
  w->sums = (double *)memory;
  MBI_TRY(mbi_weights_add(w));
  if (w->graph->values != NULL && mbi_weights_need_scaling(w)) {
    MBI_TRY(mbi_weights_scale(w));
  }
  return mbi_weights_store(w);
}

/* Computes the weights of a square CSR or COO in host memory whose arrays have been checked and
 * outlive `w`. Fails on a negative or infinite weight. The caller runs mbi_weights_destroy, on
 * failure too. */
MBI_INTERNAL merbit_status mbi_weights_create(merbit_context *context, const merbit_view *graph,
                                              mbi_weights *w) {
  merbit_status status;
  memset(w, 0, sizeof *w);
  w->context = context;
  w->graph = graph;
  status = mbi_weights_compute(w);
  mbi_release(context, w->sums);
  w->sums = NULL;
  return status;
}

MBI_INTERNAL void mbi_weights_destroy(merbit_context *context, mbi_weights *w) {
  mbi_release(context, w->totals);
  mbi_release(context, w->scaled);
}
