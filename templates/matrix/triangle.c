#include "core/context.h"
#include "matrix/matrix.h"

/* Checks of views that give one triangle of a symmetric, skew-symmetric or Hermitian matrix.
 * The rules are those of Matrix Market (NISTIR 5935), but upper triangles are also allowed. */

MBI_INTERNAL int mbi_view_is_triangle(const merbit_view *view) {
  return view->symmetry != MERBIT_SYMMETRY_NONE;
}

/* Returns a symmetry's name for messages and merbit_plan_describe. */
MBI_INTERNAL const char *mbi_symmetry_name(merbit_symmetry symmetry) {
  static const char *const names[] = {"general", "symmetric", "skew-symmetric", "Hermitian"};
  return names[symmetry];
}

MBI_INTERNAL merbit_status mbi_triangle_check_header(merbit_context *context,
                                                     const merbit_view *view) {
  if ((int)view->symmetry < MERBIT_SYMMETRY_NONE ||
      view->symmetry > MERBIT_SYMMETRY_HERMITIAN) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "view.symmetry is %d; use MERBIT_SYMMETRY_NONE or another merbit_symmetry",
                    (int)view->symmetry);
  }
  if (!mbi_view_is_triangle(view)) {
    return MERBIT_OK;
  }
  if (view->format == MERBIT_BSR) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "view.symmetry is set for blocks; this version takes a triangle as CSR or "
                    "COO: give all blocks, or single entries");
  }
  if (view->rows != view->cols) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "view.rows is %" PRId64 " and view.cols %" PRId64
                    "; only square matrices have a symmetry",
                    view->rows, view->cols);
  }
  if (view->symmetry == MERBIT_SYMMETRY_SKEW && view->values == NULL && view->nnz > 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "view.symmetry is MERBIT_SYMMETRY_SKEW, but view.values is NULL; a pattern "
                    "has no values to negate");
  }
  return MERBIT_OK;
}

/* Returns the row (from 0) of an entry. For a CSR, the search starts at `row`. */
MBI_INTERNAL int64_t mbi_entry_row(const merbit_view *view, int64_t row, int64_t entry) {
  if (view->format == MERBIT_COO) {
    return mbi_index_at(view->row_ind, view->index_type, entry) - view->base;
  }
  while (mbi_row_start(view, row + 1) <= entry) {
    row++;
  }
  return row;
}

/* Returns the `row` with which mbi_entry_row can begin for entry number `first` < nnz. */
MBI_INTERNAL int64_t mbi_entry_first_row(const merbit_view *view, int64_t first) {
  return view->format == MERBIT_CSR ? mbi_row_of(view, first) : 0;
}

MBI_INTERNAL int64_t mbi_entry_column(const merbit_view *view, int64_t entry) {
  return mbi_index_at(view->col_ind, view->index_type, entry) - view->base;
}

typedef struct mbi_triangle {
  const merbit_view *view;
  int tasks;
  int64_t first[MBI_MAX_THREADS][4]; /* per task: the first entry below, on and above the
                                      * diagonal, and the first one on the diagonal that is not
                                      * allowed; nnz: none */
  int64_t diagonal[MBI_MAX_THREADS]; /* per task: number of entries on the diagonal */
} mbi_triangle;

/* Returns whether an entry on the diagonal is not allowed there. */
static int mbi_triangle_wrong(const merbit_view *view, int64_t entry) {
  if (view->symmetry != MERBIT_SYMMETRY_HERMITIAN || view->values == NULL) {
    return view->symmetry == MERBIT_SYMMETRY_SKEW;
  }
  return view->value_type == MERBIT_C64    ? ((const mbi_c64 *)view->values)[entry].im != 0
         : view->value_type == MERBIT_C128 ? ((const mbi_c128 *)view->values)[entry].im != 0
                                           : 0;
}

static void mbi_triangle_task(void *argument, int task) {
  mbi_triangle *t = (mbi_triangle *)argument;
  const merbit_view *view = t->view;
  int64_t i = mbi_share(view->nnz, t->tasks, task);
  const int64_t last = mbi_share(view->nnz, t->tasks, task + 1);
  int64_t row = i < last ? mbi_entry_first_row(view, i) : 0, *first = t->first[task];
  first[MBI_BELOW] = first[MBI_DIAGONAL] = first[MBI_ABOVE] = first[MBI_WRONG] = view->nnz;
  t->diagonal[task] = 0;
  for (; i < last; i++) {
    int64_t column, kind;
    row = mbi_entry_row(view, row, i);
    column = mbi_entry_column(view, i);
    kind = column < row ? MBI_BELOW : column == row ? MBI_DIAGONAL : MBI_ABOVE;
    first[kind] = first[kind] < i ? first[kind] : i;
    t->diagonal[task] += kind == MBI_DIAGONAL;
    if (kind == MBI_DIAGONAL && i < first[MBI_WRONG] && mbi_triangle_wrong(view, i)) {
      first[MBI_WRONG] = i;
    }
  }
}

/* Sets first[MBI_BELOW], first[MBI_DIAGONAL], first[MBI_ABOVE] and first[MBI_WRONG] to the
 * first entry of each kind, or to nnz, whatever the number of threads. Returns the number of
 * entries on the diagonal. */
MBI_INTERNAL int64_t mbi_triangle_find(merbit_context *context, const merbit_view *view,
                                       int64_t *first) {
  mbi_triangle t;
  int64_t diagonal = 0;
  int task, kind;
  t.view = view;
  t.tasks = mbi_share_tasks(context, view->nnz);
  mbi_parallel(context, t.tasks, mbi_triangle_task, &t);
  for (kind = MBI_BELOW; kind <= MBI_WRONG; kind++) {
    first[kind] = view->nnz;
    for (task = t.tasks - 1; task >= 0; task--) {
      first[kind] = t.first[task][kind] < view->nnz ? t.first[task][kind] : first[kind];
    }
  }
  for (task = 0; task < t.tasks; task++) {
    diagonal += t.diagonal[task];
  }
  return diagonal;
}

/* Checks that a host view, whose indices are valid, has entries in only one triangle. The
 * message names the first entry that breaks the rule; rows and columns in it are as stored. */
MBI_INTERNAL merbit_status mbi_triangle_check(merbit_context *context,
                                              const merbit_view *view) {
  int64_t first[4], bad, row, column;
  if (!mbi_view_is_triangle(view) || view->nnz == 0) {
    return MERBIT_OK;
  }
  (void)mbi_triangle_find(context, view, first);
  bad = first[MBI_BELOW] > first[MBI_ABOVE] ? first[MBI_BELOW] : first[MBI_ABOVE];
  bad = first[MBI_WRONG] < bad ? first[MBI_WRONG] : bad;
  if (bad == view->nnz) {
    return MERBIT_OK;
  }
  row = mbi_entry_row(view, mbi_entry_first_row(view, bad), bad) + view->base;
  column = mbi_entry_column(view, bad) + view->base;
  if (row == column) {
    return mbi_fail(context, MERBIT_INVALID_MATRIX,
                    "entry %" PRId64 ", (%" PRId64 ", %" PRId64
                    "), lies on the diagonal, which is %s",
                    bad, row, column,
                    view->symmetry == MERBIT_SYMMETRY_SKEW
                        ? "zero in a skew-symmetric matrix; leave it out"
                        : "real in a Hermitian matrix; its imaginary part must be zero");
  }
  return mbi_fail(context, MERBIT_INVALID_MATRIX,
                  "entry %" PRId64 ", (%" PRId64 ", %" PRId64
                  "), lies %s the diagonal and earlier ones %s it; with view.symmetry give one "
                  "triangle, or all entries with MERBIT_SYMMETRY_NONE",
                  bad, row, column, row > column ? "below" : "above",
                  row > column ? "above" : "below");
}
