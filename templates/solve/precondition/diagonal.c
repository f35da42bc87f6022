#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/core/solver.h"
#include "solve/precondition/precondition.h"

/* The setup of a solver on the CPU: the norm of A and, for a preconditioner, the inverses of
 * the diagonal blocks. For JACOBI a block is one row. */

typedef struct mbi_setup {
  const merbit_view *csr; /* in host memory */
  double *blocks;         /* the blocks, row by row; NULL: no preconditioner */
  double *norms;          /* per task: the largest norm of its rows */
  int width, tasks;
} mbi_setup;

/* Returns the value of entry k of a CSR in host memory. */
MBI_INTERNAL double mbi_csr_value(const merbit_view *csr, int64_t k) {
  return csr->values == NULL                ? 1.0
         : mbi_view_type(csr) == MERBIT_F32 ? (double)((const float *)csr->values)[k]
                                            : ((const double *)csr->values)[k];
}

/* Computes the largest row sum of |A| in a task's rows, and collects the entries of their
 * diagonal blocks. */
static void mbi_setup_rows(void *argument, int task) {
  const mbi_setup *e = (const mbi_setup *)argument;
  const merbit_view *csr = e->csr;
  const int64_t first = mbi_share(csr->rows, e->tasks, task);
  const int64_t last = mbi_share(csr->rows, e->tasks, task + 1);
  double most = 0;
  int64_t row, k;
  for (row = first; row < last; row++) {
    const int64_t end = mbi_row_start(csr, row + 1);
    const int64_t block = e->width > 0 ? row - row % e->width : 0;
    double *entries = e->blocks != NULL ? e->blocks + row * e->width : NULL;
    double sum = 0;
    int j;
    for (j = 0; j < e->width; j++) {
      entries[j] = 0;
    }
    for (k = mbi_row_start(csr, row); k < end; k++) {
      const double value = mbi_csr_value(csr, k);
      sum += fabs(value);
      if (entries != NULL) {
        const int64_t at = mbi_index_at(csr->col_ind, csr->index_type, k) - csr->base - block;
        if (at >= 0 && at < e->width) {
          entries[at] += value;
        }
      }
    }
    most = sum > most ? sum : most;
  }
  e->norms[task] = most;
}

/* Sets *csr to a CSR in host memory: the view itself, or the view of a new matrix *copy, which
 * the caller destroys. */
MBI_INTERNAL merbit_status mbi_setup_csr(merbit_context *context, const merbit_view *view,
                                         merbit_matrix **copy, merbit_view *csr) {
  *copy = NULL;
  *csr = *view;
  if (view->format != MERBIT_CSR || view->memory == MERBIT_MEMORY_DEVICE ||
      mbi_view_is_triangle(view)) {
    MBI_TRY(merbit_matrix_create(context, view, copy));
    *csr = (*copy)->view;
  }
  return MERBIT_OK;
}

/* Computes the norm of A, and the blocks if `blocks` is not NULL. The arrays of `csr` must have
 * been checked. */
MBI_INTERNAL merbit_status mbi_setup_run(merbit_solver *solver, const merbit_view *csr,
                                         double *blocks) {
  mbi_setup e;
  void *norms = NULL;
  int task;
  e.csr = csr;
  e.blocks = blocks;
  e.width = blocks != NULL ? solver->v.block : 0;
  e.tasks = mbi_share_tasks(solver->context, csr->nnz + csr->rows);
  MBI_TRY(mbi_allocate_array(solver->context, e.tasks, sizeof(double), "norms of parts of A",
                             &norms));
  e.norms = (double *)norms;
  mbi_parallel(solver->context, e.tasks, mbi_setup_rows, &e);
  solver->norm = 0;
  for (task = 0; task < e.tasks; task++) {
    solver->norm = e.norms[task] > solver->norm ? e.norms[task] : solver->norm;
  }
  mbi_release(solver->context, norms);
  return MERBIT_OK;
}

/* ---- Inverses ---------------------------------------------------------------------------- */

typedef struct mbi_invert {
  const merbit_solver *solver;
  const double *blocks;
  void *inverse; /* in the type of the vectors, column by column: MBI_AT_INVERSE */
  int64_t bad;   /* the first row of the first singular block, or -1 */
  int tasks;
} mbi_invert;

static void mbi_invert_swap(double *a, double *b, int count) {
  int j;
  for (j = 0; j < count; j++) {
    const double kept = a[j];
    a[j] = b[j];
    b[j] = kept;
  }
}

/* Inverts `a`, size x size with rows `stride` apart, into `b` by Gauss-Jordan elimination with
 * partial pivoting. Overwrites `a`. Returns 0 if `a` is singular. */
static int mbi_invert_block(double *a, double *b, int size, int stride) {
  int i, j, k;
  for (i = 0; i < size; i++) {
    for (j = 0; j < size; j++) {
      b[i * stride + j] = i == j;
    }
  }
  for (k = 0; k < size; k++) {
    int pivot = k;
    double scale;
    for (i = k + 1; i < size; i++) {
      pivot = fabs(a[i * stride + k]) > fabs(a[pivot * stride + k]) ? i : pivot;
    }
    scale = 1 / a[pivot * stride + k];
    if (!(scale - scale == 0) || scale == 0) {
      return 0;
    }
    mbi_invert_swap(a + k * stride, a + pivot * stride, size);
    mbi_invert_swap(b + k * stride, b + pivot * stride, size);
    for (j = 0; j < size; j++) {
      a[k * stride + j] *= scale;
      b[k * stride + j] *= scale;
    }
    for (i = 0; i < size; i++) {
      const double factor = a[i * stride + k];
      for (j = 0; j < size && i != k && factor != 0; j++) {
        a[i * stride + j] -= factor * a[k * stride + j];
        b[i * stride + j] -= factor * b[k * stride + j];
      }
    }
  }
  return 1;
}

/* Returns whether b, computed as the inverse of a, consists of rounding errors, because a is
 * nearly singular. Compares the sums of |b_ij a_ji| over j, which no scaling of rows or columns
 * changes, with the precision. */
static int mbi_invert_lost(const double *a, const double *b, int size, int stride) {
  int i, j;
  for (i = 0; i < size; i++) {
    double sum = 0;
    for (j = 0; j < size; j++) {
      sum += fabs(b[i * stride + j] * a[j * stride + i]);
    }
    if (sum * 16 * DBL_EPSILON > 1) {
      return 1;
    }
  }
  return 0;
}

/* Stores the inverse of the block that begins at row `first`. Returns 0 if its type cannot hold
 * it. */
static int mbi_invert_store(const mbi_invert *t, int64_t first, const double *b, int size) {
  const double most = t->solver->type == MERBIT_F32 ? FLT_MAX : DBL_MAX;
  const int64_t n = t->solver->n;
  const int width = t->solver->v.block;
  int i, j;
  for (i = 0; i < size; i++) {
    for (j = 0; j < size; j++) {
      const double value = b[i * width + j];
      if (!(fabs(value) <= most)) {
        return 0;
      }
      if (t->solver->type == MERBIT_F32) {
        ((float *)t->inverse)[j * n + first + i] = (float)value;
      } else {
        ((double *)t->inverse)[j * n + first + i] = value;
      }
    }
  }
  return 1;
}

static void mbi_invert_task(void *argument, int task) {
  mbi_invert *t = (mbi_invert *)argument;
  const int width = t->solver->v.block;
  const int64_t n = t->solver->n, blocks = mbi_block_count(n, width);
  double a[MBI_SOLVE_BLOCK_MOST * MBI_SOLVE_BLOCK_MOST];
  double b[MBI_SOLVE_BLOCK_MOST * MBI_SOLVE_BLOCK_MOST];
  int64_t block;
  for (block = mbi_share(blocks, t->tasks, task); block < mbi_share(blocks, t->tasks, task + 1);
       block++) {
    const int64_t first = block * width;
    const int size = (int)(n - first < width ? n - first : width);
    memcpy(a, t->blocks + first * width, (size_t)size * (size_t)width * sizeof(double));
    if (!mbi_invert_block(a, b, size, width) ||
        mbi_invert_lost(t->blocks + first * width, b, size, width) ||
        !mbi_invert_store(t, first, b, size)) {
      mbi_mutex_lock(&t->solver->context->lock);
      t->bad = t->bad < 0 || first < t->bad ? first : t->bad;
      mbi_mutex_unlock(&t->solver->context->lock);
      return;
    }
  }
}

/* Fails because the diagonal entry of `row` cannot be inverted. */
MBI_INTERNAL merbit_status mbi_setup_fail_diagonal(const merbit_solver *solver, int64_t row,
                                                   double value) {
  return mbi_fail(solver->context, MERBIT_INVALID_MATRIX,
                  "A(%" PRId64 ", %" PRId64
                  "), counted from 0, is %g: %s divides by the diagonal; use another "
                  "kind of preconditioner, or none",
                  row, row, value, mbi_precondition_name(solver->desc.preconditioner));
}

/* Inverts the blocks into `inverse`, host memory that is zero on entry. */
MBI_INTERNAL merbit_status mbi_setup_invert(merbit_solver *solver, const double *blocks,
                                            void *inverse) {
  const int width = solver->v.block;
  mbi_invert t;
  t.solver = solver;
  t.blocks = blocks;
  t.inverse = inverse;
  t.bad = -1;
  t.tasks = mbi_share_tasks(solver->context, solver->n * width);
  mbi_parallel(solver->context, t.tasks, mbi_invert_task, &t);
  if (t.bad >= 0 && width == 1) {
    return mbi_setup_fail_diagonal(solver, t.bad, blocks[t.bad]);
  }
  if (t.bad >= 0) {
    return mbi_fail(solver->context, MERBIT_INVALID_MATRIX,
                    "the block of A from row %" PRId64
                    " on, counted from 0, of %d rows, has no inverse; use another block_size "
                    "or kind of preconditioner",
                    t.bad, (int)(solver->n - t.bad < width ? solver->n - t.bad : width));
  }
  return MERBIT_OK;
}
