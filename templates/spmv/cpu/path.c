#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/cpu/cpu.h"

/* Products whose tasks take equal parts of a matrix, whatever its row lengths. The parts are
 * those of merge-based CsrMV (D. Merrill, M. Garland, Merge-based Parallel Sparse Matrix-Vector
 * Multiplication, SC16, Algorithm 2). A path of rows + nnz steps merges row ends and nonzeros,
 * and each task takes an equal piece of it. Unlike there, a row that several tasks share is
 * written once, after all tasks, with its whole sum, because alpha * sum + beta * y cannot be
 * applied to parts. */

/* Finds a point of the path (Algorithm 3). On a tie the row end comes first: a row ends in the
 * task of its last nonzero, or at the start of the next task. */
MBI_INTERNAL mbi_merge_point mbi_merge_search(const merbit_view *csr, int64_t diagonal) {
  mbi_merge_point point;
  int64_t low = diagonal > csr->nnz ? diagonal - csr->nnz : 0;
  int64_t high = diagonal < csr->rows ? diagonal : csr->rows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    int64_t end = mbi_row_start(csr, middle + 1);
    if (end <= diagonal - middle - 1) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  point.row = low;
  point.entry = diagonal - low;
  return point;
}

/* Returns the number of tasks worth starting: a short path is done before another thread has
 * woken up. */
MBI_INTERNAL int mbi_merge_tasks(merbit_context *context, const merbit_view *csr) {
  int64_t useful = (csr->rows + csr->nnz) / 8192;
  return useful < 1 ? 1 : useful < context->threads ? (int)useful : context->threads;
}

/* Returns the bytes of scratch of `tasks` tasks with sums of `size` bytes. */
MBI_INTERNAL size_t mbi_path_bytes(int tasks, size_t size) {
  return (size_t)tasks * (sizeof(int64_t) + 2 * size);
}

/* Returns the path of a product by `tasks` tasks. `call` is passed to its functions. */
MBI_INTERNAL mbi_path mbi_path_of(const mbi_path_loops *loops, const void *call,
                                  const merbit_view *csr, int tasks, void *scratch) {
  mbi_path path;
  path.loops = loops;
  path.call = call;
  path.csr = csr;
  path.tasks = tasks;
  path.chunk_row = path.chunk_index = NULL;
  path.head_row = (int64_t *)scratch;
  path.sums = (char *)(path.head_row + tasks);
  return path;
}

/* Returns where a task stores its part of the row that an earlier task began. */
MBI_INTERNAL void *mbi_path_head(const mbi_path *path, int task) {
  return path->sums + 2 * (size_t)task * path->loops->size;
}

/* Returns where a task stores its part of the row in which it stops. */
MBI_INTERNAL void *mbi_path_carry(const mbi_path *path, int task) {
  return path->sums + (2 * (size_t)task + 1) * path->loops->size;
}

static mbi_merge_point mbi_path_point(const mbi_path *path, int task) {
  const merbit_view *csr = path->csr;
  if (path->chunk_row != NULL) {
    mbi_merge_point point;
    point.row = path->chunk_row[task];
    point.entry = path->chunk_index[task];
    return point;
  }
  return mbi_merge_search(csr, mbi_share(csr->rows + csr->nnz, path->tasks, task));
}

static void mbi_path_task(void *argument, int task) {
  const mbi_path *path = (const mbi_path *)argument;
  mbi_merge_point from = mbi_path_point(path, task);
  const mbi_merge_point to = mbi_path_point(path, task + 1);
  path->head_row[task] = -1;
  if (from.row < to.row) {
    if (mbi_row_start(path->csr, from.row) < from.entry) { /* began in an earlier task */
      const int64_t end = mbi_row_start(path->csr, from.row + 1);
      path->head_row[task] = from.row++;
      path->loops->sum(path->call, from.entry, end, mbi_path_head(path, task));
      from.entry = end;
    }
    path->loops->take(path->call, from.row, to.row, from.entry);
    from.entry = mbi_row_start(path->csr, to.row);
  }
  path->loops->sum(path->call, from.entry, to.entry, mbi_path_carry(path, task));
}

/* Writes the rows that tasks share: adds up their parts in the order of the tasks, then commits
 * each row once. A task that stops at the end of a row has an empty carry. */
MBI_INTERNAL void mbi_path_fix_up(const mbi_path *path) {
  double sum[MBI_PATH_SUMS];
  int task;
  path->loops->sum(path->call, 0, 0, sum);
  for (task = 0; task < path->tasks; task++) {
    if (path->head_row[task] >= 0) {
      path->loops->add(path->call, sum, mbi_path_head(path, task));
      path->loops->commit(path->call, path->head_row[task], sum);
      path->loops->sum(path->call, 0, 0, sum);
    }
    path->loops->add(path->call, sum, mbi_path_carry(path, task));
  }
}

/* Commits empty sums for a share of the rows. */
static void mbi_path_vanish_task(void *argument, int task) {
  const mbi_path *path = (const mbi_path *)argument;
  const int64_t last = mbi_share(path->csr->rows, path->tasks, task + 1);
  double sum[MBI_PATH_SUMS];
  int64_t row;
  path->loops->sum(path->call, 0, 0, sum);
  for (row = mbi_share(path->csr->rows, path->tasks, task); row < last; row++) {
    path->loops->commit(path->call, row, sum);
  }
}

/* Runs the product. The same number of tasks gives the same bits, whatever the threads do. If
 * `vanishes` is set, every sum is empty, and neither A nor x is read. */
MBI_NOINLINE MBI_INTERNAL void mbi_path_run(merbit_context *context, mbi_path *path, int vanishes) {
  if (vanishes) {
    mbi_parallel(context, path->tasks, mbi_path_vanish_task, path);
    return;
  }
  mbi_parallel(context, path->tasks, mbi_path_task, path);
  mbi_path_fix_up(path);
}
