#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* The product R A P of a level by reduction, as R (A P). P has at most one entry per row, which
 * is 1: row i of A P is that of A with the columns of P, and the values in equal columns added
 * up. It is stored where row i of A begins. */

typedef struct mbi_reduce {
  mbi_amg_build build;
  const mbi_amg_level *level;
  int32_t *lengths, *col_ind; /* of A P: per row, per entry of A */
  double *values;
  int32_t *marks; /* per task and column of P: where the last row that had it has its sum */
  int tasks;
} mbi_reduce;

/* Computes a task's rows of A P. */
static void mbi_reduce_columns(void *argument, int task) {
  const mbi_reduce *s = (const mbi_reduce *)argument;
  const mbi_amg_csr *a = &s->level->a;
  const int32_t *attached = s->level->attached;
  const int64_t last = mbi_amg_share(a, s->tasks, task + 1);
  int64_t row = mbi_amg_share(a, s->tasks, task), k;
  int32_t *marks = s->marks + s->level->aggregates * (int64_t)task;
  for (k = 0; k < s->level->aggregates; k++) {
    marks[k] = -1;
  }
  for (; row < last; row++) {
    int32_t *col_ind = s->col_ind + a->row_ptr[row];
    double *values = s->values + a->row_ptr[row];
    const int32_t begin = a->row_ptr[row];
    int32_t found = 0;
    for (k = begin; k < a->row_ptr[row + 1]; k++) {
      const int32_t column = attached[a->col_ind[k]];
      if (column >= 0 && marks[column] < begin) { /* the mark of an earlier row */
        marks[column] = begin + found;
        col_ind[found] = column;
        values[found++] = a->values[k];
      } else if (column >= 0) {
        values[marks[column] - begin] += a->values[k];
      }
    }
    s->lengths[row] = found;
  }
}

/* Appends a task's rows of R (A P), or sets their values if the columns are known. */
static void mbi_reduce_rows(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_reduce *s = (const mbi_reduce *)build->self;
  const mbi_amg_csr *r = &s->level->r, *to = build->to;
  const int64_t last = mbi_amg_share(r, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int64_t row = mbi_amg_share(r, build->tasks, task), e, k;
  for (; row < last; row++) {
    int32_t *col_ind, found = 0, start;
    double *sums;
    int64_t room = 0;
    for (e = r->row_ptr[row]; !build->known && e < r->row_ptr[row + 1]; e++) {
      room += s->lengths[r->col_ind[e]];
    }
    if (!build->known && !mbi_amg_reserve(build, task, room * (1 + (room > MBI_AMG_SHORT)))) {
      return;
    }
    start = build->known ? to->row_ptr[row] : (int32_t)part->used;
    col_ind = (build->known ? to->col_ind : part->col_ind) + start;
    sums = (build->known ? to->values : part->values) + start;
    if (build->known) {
      for (found = 0; found < to->row_ptr[row + 1] - start; found++) {
        marks[col_ind[found]] = start + found;
        sums[found] = 0;
      }
    }
    for (e = r->row_ptr[row]; e < r->row_ptr[row + 1]; e++) {
      const int64_t begin = s->level->a.row_ptr[r->col_ind[e]];
      const int64_t end = begin + s->lengths[r->col_ind[e]];
      const double factor = r->values[e];
      for (k = begin; k < end; k++) {
        const int32_t column = s->col_ind[k];
        int32_t at = marks[column] - start;
        if (at < 0) { /* the mark of an earlier row */
          at = found++;
          marks[column] = start + at;
          col_ind[at] = column;
          sums[at] = 0;
        }
        sums[at] += factor * s->values[k];
      }
    }
    if (!build->known) {
      part->used += found;
      mbi_amg_sort_row(col_ind, sums, found, marks, start);
      build->to->row_ptr[row + 1] = found;
    }
  }
}

/* Does the work of mbi_amg_reduce. The caller releases the arrays of A P. */
static merbit_status mbi_reduce_make(merbit_context *context, mbi_reduce *s,
                                     mbi_amg_csr *coarse) {
  const mbi_amg_level *level = s->level;
  MBI_TRY(mbi_allocate_array(context, level->a.rows, sizeof *s->lengths, "a product of rows",
                             (void **)&s->lengths));
  MBI_TRY(mbi_allocate_array(context, level->a.nnz, sizeof *s->col_ind, "a product of rows",
                             (void **)&s->col_ind));
  MBI_TRY(mbi_allocate_array(context, level->a.nnz, sizeof *s->values, "a product of rows",
                             (void **)&s->values));
  s->tasks = mbi_share_tasks(context, level->a.rows + level->a.nnz);
  MBI_TRY(mbi_allocate_array(context, level->aggregates * (int64_t)s->tasks, sizeof *s->marks,
                             "marks of columns", (void **)&s->marks));
  mbi_parallel(context, s->tasks, mbi_reduce_columns, s);
  s->build.to = coarse;
  s->build.what = "the matrix";
  s->build.rows = mbi_reduce_rows;
  s->build.self = s;
  s->build.tasks = s->tasks;
  s->build.valued = 1;
  s->build.columns = level->aggregates;
  s->build.hint = level->a.nnz;
  return mbi_amg_build_run(context, &s->build, level->aggregates, level->aggregates);
}

MBI_INTERNAL merbit_status mbi_amg_reduce(merbit_context *context, mbi_amg_level *level,
                                          mbi_amg_csr *coarse) {
  mbi_reduce s;
  merbit_status status;
  memset(&s, 0, sizeof s);
  s.level = level;
  status = mbi_reduce_make(context, &s, coarse);
  mbi_release(context, s.lengths);
  mbi_release(context, s.col_ind);
  mbi_release(context, s.values);
  mbi_release(context, s.marks);
  return status;
}
