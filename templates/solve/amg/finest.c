#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* The finest matrix of multigrid, in f64 with sorted rows; and rounding of values to f32. */

typedef struct mbi_amg_conversion { /* of values from f64 to f32, or back */
  const void *from;
  void *to;
  int64_t count;
  int narrow, tasks;
} mbi_amg_conversion;

static void mbi_amg_convert_task(void *argument, int task) {
  const mbi_amg_conversion *w = (const mbi_amg_conversion *)argument;
  const int64_t last = mbi_share(w->count, w->tasks, task + 1);
  int64_t i = mbi_share(w->count, w->tasks, task);
  for (; i < last; i++) {
    if (w->narrow) {
      ((float *)w->to)[i] = (float)((const double *)w->from)[i];
    } else {
      ((double *)w->to)[i] = (double)((const float *)w->from)[i];
    }
  }
}

static void mbi_amg_convert_values(merbit_context *context, const void *from, void *to,
                                   int64_t count, int narrow) {
  mbi_amg_conversion w;
  w.from = from;
  w.to = to;
  w.count = count;
  w.narrow = narrow;
  w.tasks = mbi_share_tasks(context, count);
  mbi_parallel(context, w.tasks, mbi_amg_convert_task, &w);
}

/* Rounds the values of a CSR to f32, into *to, which is allocated if NULL. */
MBI_INTERNAL merbit_status mbi_amg_narrow(merbit_context *context, const mbi_amg_csr *csr,
                                          float **to) {
  if (*to == NULL) {
    MBI_TRY(mbi_allocate_array(context, csr->nnz, sizeof **to, "values in f32", (void **)to));
  }
  mbi_amg_convert_values(context, csr->values, *to, csr->nnz, 1);
  return MERBIT_OK;
}

/* Returns whether the columns of a CSR in host memory ascend without duplicates. */
static int mbi_amg_sorted(const merbit_view *view) {
  const int32_t *row_ptr = (const int32_t *)view->row_ptr;
  const int32_t *col_ind = (const int32_t *)view->col_ind;
  int64_t row, k;
  for (row = 0; row < view->rows; row++) {
    for (k = (int64_t)row_ptr[row] + 1; k < row_ptr[row + 1]; k++) {
      if (col_ind[k] <= col_ind[k - 1]) {
        return 0;
      }
    }
  }
  return 1;
}

/* Returns whether the set-up can use the arrays of a view without a copy. */
static int mbi_amg_may_borrow(const merbit_view *view) {
  return view->format == MERBIT_CSR && mbi_view_type(view) == MERBIT_F64 && view->base == 0 &&
         view->offset_type != MERBIT_INDEX_64 && view->index_type != MERBIT_INDEX_64 &&
         view->memory != MERBIT_MEMORY_DEVICE && view->values != NULL &&
         !mbi_view_is_triangle(view) && mbi_amg_sorted(view);
}

/* Copies a view with values of any type to a CSR in f64. */
static merbit_status mbi_amg_copy(merbit_context *context, const merbit_view *view,
                                  mbi_amg_csr *csr) {
  double *values;
  int64_t i;
  MBI_TRY(mbi_amg_take(context, view, 0, csr));
  if (mbi_view_type(view) == MERBIT_F64 && csr->values != NULL) {
    return MERBIT_OK;
  }
  MBI_TRY(
      mbi_allocate_array(context, csr->nnz, sizeof *values, "values in f64", (void **)&values));
  if (csr->values != NULL) {
    mbi_amg_convert_values(context, csr->values, values, csr->nnz, 0);
  }
  for (i = 0; csr->values == NULL && i < csr->nnz; i++) {
    values[i] = 1;
  }
  mbi_release(context, csr->values);
  csr->values = values;
  return MERBIT_OK;
}

/* Sets level->a to the finest matrix: the arrays of `host` (level->borrowed is 1) or copies.
 * `host` is in host memory with both triangles; the caller runs mbi_view_from_full for it. */
MBI_INTERNAL merbit_status mbi_amg_finest(merbit_context *context, const merbit_view *host,
                                          mbi_amg_level *level) {
  level->borrowed = mbi_amg_may_borrow(host);
  if (!level->borrowed) {
    return mbi_amg_copy(context, host, &level->a);
  }
  level->a.rows = host->rows;
  level->a.cols = host->cols;
  level->a.nnz = host->nnz;
  level->a.row_ptr = (int32_t *)host->row_ptr;
  level->a.col_ind = (int32_t *)host->col_ind;
  level->a.values = (double *)host->values;
  return MERBIT_OK;
}

/* Releases the finest matrix of the set-up; the cycle's plan multiplies by p->view instead. */
MBI_INTERNAL void mbi_amg_forget_finest(merbit_context *context, mbi_amg_level *level) {
  if (!level->borrowed) {
    mbi_amg_csr_release(context, &level->a);
  }
  memset(&level->a, 0, sizeof level->a);
}
