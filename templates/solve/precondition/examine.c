#include "matrix/matrix.h"
#include "solve/precondition/precondition.h"

/* Finds an entry that shows that a matrix is not symmetric positive definite. */

/* Returns the index of an entry of a row with sorted columns, or -1. */
MBI_INTERNAL int64_t mbi_csr_find(const merbit_view *csr, int64_t row, int64_t column) {
  int64_t low = mbi_row_start(csr, row), high = mbi_row_start(csr, row + 1);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const int64_t at = mbi_index_at(csr->col_ind, csr->index_type, middle);
    if (at == column) {
      return middle;
    }
    if (at < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return -1;
}

typedef struct mbi_examine {
  const merbit_view *csr;
  int64_t *bad; /* per task: row and column of the first entry at fault, or -1 */
  int tasks;
} mbi_examine;

static double mbi_examine_at(const merbit_view *csr, int64_t row, int64_t column) {
  const int64_t k = mbi_csr_find(csr, row, column);
  return k < 0 ? 0 : mbi_csr_value(csr, k);
}

/* Returns whether entry (row, column), of value `value`, cannot belong to a symmetric positive
 * definite matrix. */
static int mbi_examine_wrong(const merbit_view *csr, int64_t row, int64_t column,
                             double value) {
  const double epsilon = mbi_view_type(csr) == MERBIT_F32 ? FLT_EPSILON : DBL_EPSILON;
  double mirrored, size;
  if (!(value - value == 0) || (row == column && !(value > 0))) {
    return 1;
  }
  if (row == column) {
    return 0;
  }
  mirrored = mbi_examine_at(csr, column, row);
  if (value == mirrored) {
    return 0;
  }
  size = sqrt(fabs(mbi_examine_at(csr, row, row))) *
         sqrt(fabs(mbi_examine_at(csr, column, column)));
  return fabs(value - mirrored) > sqrt(epsilon) * size;
}

static void mbi_examine_rows(void *argument, int task) {
  mbi_examine *e = (mbi_examine *)argument;
  const merbit_view *csr = e->csr;
  const int64_t last = mbi_share(csr->rows, e->tasks, task + 1);
  int64_t row, k;
  e->bad[2 * task] = -1;
  for (row = mbi_share(csr->rows, e->tasks, task); row < last; row++) {
    for (k = mbi_row_start(csr, row); k < mbi_row_start(csr, row + 1); k++) {
      const int64_t column = mbi_index_at(csr->col_ind, csr->index_type, k);
      if (mbi_examine_wrong(csr, row, column, mbi_csr_value(csr, k))) {
        e->bad[2 * task] = row;
        e->bad[2 * task + 1] = column;
        return;
      }
    }
    if (mbi_csr_find(csr, row, row) < 0) {
      e->bad[2 * task] = e->bad[2 * task + 1] = row;
      return;
    }
  }
}

/* Fails with a message on entry (row, column). */
static merbit_status mbi_examine_fail(merbit_preconditioner *p, const merbit_view *csr,
                                      int64_t row, int64_t column) {
  const double value = mbi_examine_at(csr, row, column);
  char where[96], why[96];
  (void)snprintf(where, sizeof where, "A(%" PRId64 ", %" PRId64 "), counted from 0, is %g", row,
                 column, value);
  if (row == column || !(value - value == 0)) {
    (void)snprintf(why, sizeof why, "%s", value - value == 0 ? "" : ", which is not finite");
  } else {
    (void)snprintf(why, sizeof why, ", but A(%" PRId64 ", %" PRId64 ") is %g", column, row,
                   mbi_examine_at(csr, column, row));
  }
  return mbi_fail(p->context, MERBIT_INVALID_MATRIX, "%s%s: %s " MBI_PRE_NEEDS_SPD, where, why,
                  mbi_precondition_name(p->desc.kind));
}

/* Fails on the first entry of a CSR in host memory, with sorted rows, that is not finite, is
 * not positive on the diagonal, or differs from its mirror image across the diagonal. */
MBI_INTERNAL merbit_status mbi_precondition_examine_csr(merbit_preconditioner *p,
                                                        const merbit_view *csr) {
  mbi_examine e;
  void *bad = NULL;
  merbit_status status = MERBIT_OK;
  int task;
  e.csr = csr;
  e.tasks = mbi_share_tasks(p->context, csr->nnz + csr->rows);
  MBI_TRY(mbi_allocate_array(p->context, e.tasks, 2 * sizeof(int64_t), "rows at fault", &bad));
  e.bad = (int64_t *)bad;
  mbi_parallel(p->context, e.tasks, mbi_examine_rows, &e);
  for (task = 0; task < e.tasks && status == MERBIT_OK; task++) {
    if (e.bad[2 * task] >= 0) {
      status = mbi_examine_fail(p, csr, e.bad[2 * task], e.bad[2 * task + 1]);
    }
  }
  mbi_release(p->context, bad);
  return status;
}

/* Does what mbi_precondition_examine_csr does for a matrix of any format, on either side. */
MBI_INTERNAL merbit_status mbi_precondition_examine(merbit_preconditioner *p,
                                                    const merbit_view *a) {
  merbit_matrix *copy = NULL;
  merbit_status status;
  MBI_TRY(merbit_matrix_create(p->context, a, &copy));
  status = mbi_precondition_examine_csr(p, &copy->view);
  merbit_matrix_destroy(copy);
  return status;
}
