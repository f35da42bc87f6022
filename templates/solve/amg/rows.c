#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* A CSR that tasks build row by row, for multigrid. Each task appends its rows to memory of its
 * own, which grows; in the end these parts are joined. So rows need not be counted. */

/* Releases the arrays of a CSR and clears it. */
MBI_NOINLINE MBI_INTERNAL void mbi_amg_csr_release(merbit_context *context, mbi_amg_csr *csr) {
  mbi_release(context, csr->row_ptr);
  mbi_release(context, csr->col_ind);
  mbi_release(context, csr->values);
  memset(csr, 0, sizeof *csr);
}

/* Returns a view of a CSR, for plans. */
MBI_INTERNAL merbit_view mbi_amg_view(const mbi_amg_csr *csr) {
  merbit_view view;
  memset(&view, 0, sizeof view);
  view.rows = csr->rows;
  view.cols = csr->cols;
  view.nnz = csr->nnz;
  view.row_ptr = csr->row_ptr;
  view.col_ind = csr->col_ind;
  view.values = csr->values;
  return view;
}

/* Returns the first row of `task` if work is divided among `tasks` by rows plus entries. */
MBI_INTERNAL int64_t mbi_amg_share(const mbi_amg_csr *csr, int tasks, int task) {
  const int64_t goal = mbi_share(csr->rows + csr->nnz, tasks, task);
  int64_t low = 0, high = csr->rows;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (csr->row_ptr[middle] + middle < goal) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Makes room for `entries` more entries in a task's part. Returns 0 if there is no memory or
 * the part would be too large. */
MBI_INTERNAL int mbi_amg_reserve(mbi_amg_build *build, int task, int64_t entries) {
  mbi_amg_part *part = &build->parts[task];
  const int64_t room = part->used + entries;
  int32_t *col_ind;
  double *values = NULL;
  if (room <= part->room) {
    return 1;
  }
  part->failed = room > INT32_MAX ? MBI_AMG_TOO_MANY : MBI_AMG_NO_MEMORY;
  part->room = room > part->room + part->room / 2 ? room : part->room + part->room / 2;
  if (part->failed == MBI_AMG_TOO_MANY) {
    return 0;
  }
  part->room = part->room < INT32_MAX ? part->room : INT32_MAX;
  col_ind = (int32_t *)mbi_allocate(build->context,
                                    (size_t)(part->room / build->group + 1) * sizeof *col_ind);
  if (build->valued) {
    values = (double *)mbi_allocate(build->context, (size_t)part->room * sizeof *values);
  }
  if (col_ind == NULL || (build->valued && values == NULL)) {
    mbi_release(build->context, col_ind);
    mbi_release(build->context, values);
    return 0;
  }
  part->failed = 0;
  if (part->used > 0) {
    memcpy(col_ind, part->col_ind, (size_t)(part->used / build->group) * sizeof *col_ind);
    if (build->valued) {
      memcpy(values, part->values, (size_t)part->used * sizeof *values);
    }
  }
  mbi_release(build->context, part->col_ind);
  mbi_release(build->context, part->values);
  part->col_ind = col_ind;
  part->values = values;
  return 1;
}

static void mbi_amg_join_task(void *argument, int task) {
  const mbi_amg_build *build = (const mbi_amg_build *)argument;
  const mbi_amg_part *part = &build->parts[task];
  if (part->used > 0) {
    memcpy(build->to->col_ind + part->first / build->group, part->col_ind,
           (size_t)(part->used / build->group) * sizeof *part->col_ind);
    if (build->valued) {
      memcpy(build->to->values + part->first, part->values,
             (size_t)part->used * sizeof *part->values);
    }
  }
}

/* Fails if a task has failed. Otherwise sets where each part begins, and *nnz to the total. */
static merbit_status mbi_amg_check_parts(mbi_amg_build *build, int64_t *nnz) {
  int task;
  *nnz = 0;
  for (task = 0; task < build->tasks; task++) {
    mbi_amg_part *part = &build->parts[task];
    if (part->failed == MBI_AMG_NO_MEMORY) {
      return mbi_fail(build->context, MERBIT_OUT_OF_MEMORY,
                      "no memory for %s of a multigrid level: %" PRId64 " entries", build->what,
                      part->room);
    }
    part->first = *nnz;
    *nnz += part->used;
    if (part->failed == MBI_AMG_TOO_MANY || *nnz > INT32_MAX) {
      return mbi_fail(build->context, MERBIT_NOT_SUPPORTED,
                      "%s of a multigrid level has more than 2^31 - 1 entries; use "
                      "MERBIT_PRECONDITIONER_CHEBYSHEV or MERBIT_PRECONDITIONER_JACOBI",
                      build->what);
    }
  }
  return MERBIT_OK;
}

/* Joins the parts: sets the arrays of build->to, whose row_ptr[row + 1] are the lengths of the
 * rows on entry. */
static merbit_status mbi_amg_join(mbi_amg_build *build) {
  mbi_amg_csr *to = build->to;
  int64_t nnz, row;
  MBI_TRY(mbi_amg_check_parts(build, &nnz));
  if (build->known) {
    return MERBIT_OK;
  }
  to->nnz = nnz;
  to->row_ptr[0] = 0;
  for (row = 0; row < to->rows; row++) {
    to->row_ptr[row + 1] += to->row_ptr[row];
  }
  if (build->tasks == 1 && build->parts[0].room <= nnz + nnz / 8) { /* nothing to copy */
    to->col_ind = build->parts[0].col_ind;
    to->values = build->parts[0].values;
    build->parts[0].col_ind = NULL;
    build->parts[0].values = NULL;
    return MERBIT_OK;
  }
  MBI_TRY(mbi_allocate_array(build->context, nnz / build->group, sizeof *to->col_ind,
                             build->what, (void **)&to->col_ind));
  if (build->valued) {
    MBI_TRY(mbi_allocate_array(build->context, nnz, sizeof *to->values, build->what,
                               (void **)&to->values));
  }
  mbi_parallel(build->context, build->tasks, mbi_amg_join_task, build);
  return MERBIT_OK;
}

static void mbi_amg_build_task(void *argument, int task) {
  mbi_amg_build *build = (mbi_amg_build *)argument;
  int32_t *marks = build->marks + build->columns * task;
  int64_t i;
  for (i = 0; i < build->columns; i++) {
    marks[i] = -1;
  }
  if (mbi_amg_reserve(build, task, build->hint / build->tasks + 16)) {
    build->rows(build, task, marks);
  }
}

/* Builds build->to, rows x cols, with build->rows. If build->to already has its structure,
 * allocates and sets only the values. On failure the structure remains. */
MBI_INTERNAL merbit_status mbi_amg_build_run(merbit_context *context, mbi_amg_build *build,
                                             int64_t rows, int64_t cols) {
  merbit_status status;
  int task;
  build->context = context;
  build->known = build->to->row_ptr != NULL;
  build->group += build->group == 0;
  memset(build->parts, 0, sizeof build->parts);
  build->to->rows = rows;
  build->to->cols = cols;
  MBI_TRY(build->known ? mbi_allocate_array(context, build->to->nnz, sizeof *build->to->values,
                                            build->what, (void **)&build->to->values)
                       : mbi_allocate_array(context, rows + 1, sizeof *build->to->row_ptr,
                                            build->what, (void **)&build->to->row_ptr));
  status = mbi_allocate_array(context, build->columns * build->tasks + 1, sizeof *build->marks,
                              "marks of columns", (void **)&build->marks);
  if (status == MERBIT_OK) {
    mbi_parallel(context, build->tasks, mbi_amg_build_task, build);
    status = mbi_amg_join(build);
  }
  mbi_release(context, build->marks);
  for (task = 0; task < build->tasks; task++) {
    mbi_release(context, build->parts[task].col_ind);
    mbi_release(context, build->parts[task].values);
  }
  if (status != MERBIT_OK && !build->known) {
    mbi_amg_csr_release(context, build->to);
  }
  return status;
}

/* Sorts columns by Shellsort with Ciura's gaps. */
MBI_INTERNAL void mbi_amg_sort(int32_t *columns, int64_t length) {
  static const int64_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
  int64_t i, j;
  int g = length > 23 ? length > 1750 ? 0 : 4 : length > 10 ? 7 : 8;
  for (; g < 9; g++) {
    for (i = gaps[g]; i < length; i++) {
      const int32_t column = columns[i];
      for (j = i; j >= gaps[g] && columns[j - gaps[g]] > column; j -= gaps[g]) {
        columns[j] = columns[j - gaps[g]];
      }
      columns[j] = column;
    }
  }
}

#ifdef __GNUC__
typedef int32_t mbi_amg_four __attribute__((vector_size(16)));
#endif

/* Returns how many of `length` columns are less than `column`. Up to 3 elements behind them are
 * read, which must be INT32_MAX. */
static int32_t mbi_amg_rank(const int32_t *columns, int64_t length, int32_t column) {
  int64_t i;
#ifdef __GNUC__
  const mbi_amg_four own = {column, column, column, column};
  mbi_amg_four less = {0, 0, 0, 0};
  for (i = 0; i < length; i += 4) {
    mbi_amg_four lanes;
    memcpy(&lanes, columns + i, sizeof lanes);
    less -= lanes < own; /* true is -1 */
  }
  return less[0] + less[1] + less[2] + less[3];
#else
  int32_t less = 0;
  for (i = 0; i < length; i++) {
    less += columns[i] < column;
  }
  return less;
#endif
}

/* Sorts a row's entries by their columns; marks[column] - start is an entry's index. Up to
 * MBI_AMG_BRIEF entries are sorted by insertion. In short rows, each entry moves to the number
 * of lesser columns, which needs no branches that depend on the order. Rows of more than
 * MBI_AMG_SHORT entries need room for as many values behind theirs. */
MBI_INTERNAL void mbi_amg_sort_row(int32_t *col_ind, double *values, int64_t length,
                                   const int32_t *marks, int32_t start) {
  int32_t columns[MBI_AMG_SHORT + 3];
  double old[MBI_AMG_SHORT];
  int64_t i, j;
  if (length <= MBI_AMG_BRIEF) {
    for (i = 1; i < length; i++) {
      const int32_t column = col_ind[i];
      const double value = values[i];
      for (j = i; j > 0 && col_ind[j - 1] > column; j--) {
        col_ind[j] = col_ind[j - 1];
        values[j] = values[j - 1];
      }
      col_ind[j] = column;
      values[j] = value;
    }
  } else if (length <= MBI_AMG_SHORT) {
    for (i = 0; i < length; i++) {
      columns[i] = col_ind[i];
      old[i] = values[i];
    }
    columns[i] = columns[i + 1] = columns[i + 2] = INT32_MAX;
    for (i = 0; i < length; i++) {
      const int32_t to = mbi_amg_rank(columns, length, columns[i]);
      col_ind[to] = columns[i];
      values[to] = old[i];
    }
  } else {
    mbi_amg_sort(col_ind, length);
    for (i = 0; i < length; i++) {
      values[length + i] = values[marks[col_ind[i]] - start];
    }
    memcpy(values, values + length, (size_t)length * sizeof *values);
  }
}

/* Copies a view in host memory to a CSR, sorted and without duplicates. Its values keep the
 * view's type, although csr->values is a pointer to double. `flags`: MBI_BUILD_... */
MBI_INTERNAL merbit_status mbi_amg_take(merbit_context *context, const merbit_view *view,
                                        int flags, mbi_amg_csr *csr) {
  merbit_matrix *matrix;
  memset(csr, 0, sizeof *csr);
  MBI_TRY(mbi_matrix_from_view(context, view, flags, &matrix));
  if (matrix->view.offset_type == MERBIT_INDEX_64) {
    const int64_t nnz = matrix->view.nnz;
    merbit_matrix_destroy(matrix);
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "multigrid takes a matrix of at most 2^31 - 1 entries, but this one has "
                    "%" PRId64 "; use another preconditioner",
                    nnz);
  }
  csr->rows = matrix->view.rows;
  csr->cols = matrix->view.cols;
  csr->nnz = matrix->view.nnz;
  csr->row_ptr = (int32_t *)matrix->view.row_ptr;
  csr->col_ind = (int32_t *)matrix->view.col_ind;
  csr->values = (double *)matrix->view.values;
  matrix->view.row_ptr = matrix->view.col_ind = matrix->view.values = NULL;
  merbit_matrix_destroy(matrix);
  return MERBIT_OK;
}
