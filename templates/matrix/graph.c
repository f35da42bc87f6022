#include "core/context.h"
#include "matrix/matrix.h"

/* The graph of a square CSR for matrix/order.c. If the CSR's pattern is symmetric and each row
 * ascends strictly, it is the CSR's own arrays; otherwise arrays of A + A' are made. */

/* Returns the neighbours of a vertex in ascending order. They may include the vertex itself. */
MBI_INTERNAL const int32_t *mbi_graph_row(const mbi_graph *graph, int64_t v, int64_t *length) {
  const merbit_view *csr = &graph->csr;
  int64_t start;
  if (graph->starts != NULL) {
    *length = graph->degree[v];
    return graph->columns + graph->starts[v];
  }
  start = mbi_index_at(csr->row_ptr, csr->offset_type, v);
  *length = mbi_index_at(csr->row_ptr, csr->offset_type, v + 1) - start;
  return (const int32_t *)csr->col_ind + (start - csr->base);
}

/* ---- Whether the CSR is its own graph ---------------------------------------------------- */

/* Returns whether a row, whose columns ascend, contains a column. */
static int mbi_graph_has(const int32_t *row, int64_t length, int32_t column) {
  int64_t low = 0, high = length;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (row[middle] < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < length && row[low] == column;
}

/* Checks that each entry below the diagonal has a mirror image above it. If there are as many
 * entries above as below, those above have mirror images, too. */
static void mbi_graph_inspect_task(void *argument, int task) {
  mbi_graph *graph = (mbi_graph *)argument;
  int64_t v = mbi_share_rows(&graph->csr, graph->tasks, task), balance = 0, k;
  const int64_t last = mbi_share_rows(&graph->csr, graph->tasks, task + 1);
  graph->uneven[task] = 1;
  for (; v < last; v++) {
    const int32_t own = (int32_t)v + graph->base;
    int64_t length, other;
    const int32_t *row = mbi_graph_row(graph, v, &length);
    int diagonal = 0;
    for (k = 0; k < length; k++) {
      if (k > 0 && row[k] <= row[k - 1]) {
        return;
      }
      diagonal |= row[k] == own;
      balance += (row[k] < own) - (row[k] > own);
      if (row[k] < own) {
        const int32_t *partner = mbi_graph_row(graph, row[k] - graph->base, &other);
        if (!mbi_graph_has(partner, other, own)) {
          return;
        }
      }
    }
    graph->degree[v] = (int32_t)(length - diagonal);
  }
  graph->found[task] = balance;
  graph->uneven[task] = 0;
}

static int mbi_graph_is_symmetric(mbi_graph *graph) {
  int64_t balance = 0;
  int task, uneven = 0;
  mbi_parallel(graph->context, graph->tasks, mbi_graph_inspect_task, graph);
  for (task = 0; task < graph->tasks; task++) {
    uneven |= graph->uneven[task];
    balance += graph->uneven[task] ? 0 : graph->found[task];
  }
  return !uneven && balance == 0;
}

/* ---- A + A' ------------------------------------------------------------------------------ */

/* Counts each entry for its row and for the row with the number of its column. */
static void mbi_graph_count_task(void *argument, int task) {
  mbi_graph *graph = (mbi_graph *)argument;
  const merbit_view *csr = &graph->csr;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t v = mbi_share_rows(csr, graph->tasks, task), k;
  const int64_t last = mbi_share_rows(csr, graph->tasks, task + 1);
  for (; v < last; v++) {
    const int64_t end = mbi_row_start(csr, v + 1);
    int64_t own = 0;
    for (k = mbi_row_start(csr, v); k < end; k++) {
      const int64_t other = col_ind[k] - csr->base;
      if (other != v) {
        own++;
        (void)MBI_ATOMIC_ADD64(&graph->starts[other], 1);
      }
    }
    (void)MBI_ATOMIC_ADD64(&graph->starts[v], own);
  }
}

static void mbi_graph_scatter_task(void *argument, int task) {
  mbi_graph *graph = (mbi_graph *)argument;
  const merbit_view *csr = &graph->csr;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t v = mbi_share_rows(csr, graph->tasks, task), k;
  const int64_t last = mbi_share_rows(csr, graph->tasks, task + 1);
  for (; v < last; v++) {
    const int64_t end = mbi_row_start(csr, v + 1);
    for (k = mbi_row_start(csr, v); k < end; k++) {
      const int64_t other = col_ind[k] - csr->base;
      if (other != v) {
        graph->columns[MBI_ATOMIC_ADD64(&graph->starts[v], -1) - 1] = (int32_t)other;
        graph->columns[MBI_ATOMIC_ADD64(&graph->starts[other], -1) - 1] = (int32_t)v;
      }
    }
  }
}

/* Returns a view of the rows of A + A', including duplicates. */
static merbit_view mbi_graph_frame(const mbi_graph *graph) {
  merbit_view frame = graph->csr;
  frame.offset_type = MERBIT_INDEX_64;
  frame.base = 0;
  frame.row_ptr = graph->starts;
  frame.nnz = graph->starts[graph->rows];
  return frame;
}

static void mbi_graph_longest_task(void *argument, int task) {
  mbi_graph *graph = (mbi_graph *)argument;
  const merbit_view frame = mbi_graph_frame(graph);
  int64_t v = mbi_share_rows(&frame, graph->tasks, task), longest = 0;
  const int64_t last = mbi_share_rows(&frame, graph->tasks, task + 1);
  for (; v < last; v++) {
    const int64_t length = graph->starts[v + 1] - graph->starts[v];
    longest = length > longest && length > MBI_SHORT_ROW ? length : longest;
  }
  graph->found[task] = longest;
}

static void mbi_graph_sort_task(void *argument, int task) {
  mbi_graph *graph = (mbi_graph *)argument;
  const merbit_view frame = mbi_graph_frame(graph);
  int64_t v = mbi_share_rows(&frame, graph->tasks, task), before = 0, k;
  const int64_t last = mbi_share_rows(&frame, graph->tasks, task + 1);
  int i;
  for (i = 0; i < task; i++) {
    before += graph->found[i];
  }
  for (; v < last; v++) {
    int32_t *row = graph->columns + graph->starts[v], count = 0;
    const int64_t length = graph->starts[v + 1] - graph->starts[v];
    mbi_row_sort(row, NULL, 0, length, graph->rows, graph->scratch + before, NULL);
    for (k = 0; k < length; k++) {
      if (count == 0 || row[k] != row[count - 1]) {
        row[count++] = row[k];
      }
    }
    graph->degree[v] = count;
  }
}

static merbit_status mbi_graph_sort(mbi_graph *graph) {
  int64_t scratch = 0;
  void *memory;
  int task;
  mbi_parallel(graph->context, graph->tasks, mbi_graph_longest_task, graph);
  for (task = 0; task < graph->tasks; task++) {
    scratch += graph->found[task];
  }
  MBI_TRY(mbi_allocate_array(graph->context, scratch, sizeof(int32_t),
                             "the scratch of a graph's rows", &memory));
  graph->scratch = (int32_t *)memory;
  mbi_parallel(graph->context, graph->tasks, mbi_graph_sort_task, graph);
  mbi_release(graph->context, memory);
  return MERBIT_OK;
}

static merbit_status mbi_graph_symmetrise(mbi_graph *graph) {
  merbit_context *context = graph->context;
  void *memory;
  int64_t v;
  MBI_TRY(mbi_allocate_array(context, graph->rows + 1, sizeof(int64_t), "the rows of a graph",
                             &memory));
  graph->starts = (int64_t *)memory;
  memset(memory, 0, (size_t)(graph->rows + 1) * sizeof(int64_t));
  mbi_parallel(context, graph->tasks, mbi_graph_count_task, graph);
  for (v = 0; v < graph->rows; v++) { /* the scatter moves each row's end to its start */
    graph->starts[v + 1] += graph->starts[v];
  }
  MBI_TRY(mbi_allocate_array(context, graph->starts[graph->rows], sizeof(int32_t),
                             "the neighbours of a graph", &memory));
  graph->columns = (int32_t *)memory;
  mbi_parallel(context, graph->tasks, mbi_graph_scatter_task, graph);
  graph->base = 0;
  return mbi_graph_sort(graph);
}

/* Makes the graph of a checked square host CSR with 32-bit columns. The CSR must outlive it.
 * The caller runs mbi_graph_release, on failure too. */
MBI_INTERNAL merbit_status mbi_graph_create(merbit_context *context, const merbit_view *csr,
                                            mbi_graph *graph) {
  void *memory;
  memset(graph, 0, sizeof *graph);
  graph->context = context;
  graph->csr = *csr;
  graph->rows = csr->rows;
  graph->base = csr->base;
  graph->tasks = mbi_share_tasks(context, csr->nnz);
  MBI_TRY(mbi_allocate_array(context, csr->rows, sizeof(int32_t), "the degrees of a graph",
                             &memory));
  graph->degree = (int32_t *)memory;
  if (!mbi_graph_is_symmetric(graph)) {
    MBI_TRY(mbi_graph_symmetrise(graph));
  }
  return MERBIT_OK;
}

MBI_INTERNAL void mbi_graph_release(merbit_context *context, mbi_graph *graph) {
  mbi_release(context, graph->degree);
  mbi_release(context, graph->starts);
  mbi_release(context, graph->columns);
}
