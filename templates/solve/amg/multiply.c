#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* Multigrid: the next level's matrix R A P, row by row (Gustavson, ACM Trans. Math. Softw. 4,
 * 1978): a row of R A is the sum of r_ik times row k of A; the same row of R A P is the sum of
 * its entries times rows of P. No product is stored in between. */

typedef struct mbi_galerkin {
  mbi_amg_build build;
  const mbi_amg_csr *a, *p, *r;
} mbi_galerkin;

/* Appends the columns and values of a row of R A to a task's part, which has room for them.
 * marks[column] is the place of a column, or -1. Returns their end. */
static int64_t mbi_galerkin_left(const mbi_galerkin *g, int64_t row, mbi_amg_part *part,
                                 int32_t *marks) {
  const mbi_amg_csr *a = g->a, *r = g->r;
  int32_t *const col_ind = part->col_ind;
  double *const values = part->values;
  int64_t used = part->used, k, j;
  for (k = r->row_ptr[row]; k < r->row_ptr[row + 1]; k++) {
    const int64_t end = a->row_ptr[r->col_ind[k] + 1];
    const double value = r->values[k];
    for (j = a->row_ptr[r->col_ind[k]]; j < end; j++) {
      const int32_t column = a->col_ind[j], at = marks[column];
      if (at < 0) {
        marks[column] = (int32_t)used;
        col_ind[used] = column;
        values[used++] = value * a->values[j];
      } else {
        values[at] += value * a->values[j];
      }
    }
  }
  return used;
}

/* Sorts a row of R A P, which is from `begin` to `end` in a part with room for its values
 * behind it, moves it to the end of the part, and clears its marks. */
static void mbi_galerkin_finish(mbi_amg_part *part, int64_t begin, int64_t end,
                                int32_t *marks) {
  const int64_t length = end - begin;
  int32_t *const col_ind = part->col_ind;
  double *const values = part->values;
  int64_t k;
  mbi_amg_sort(col_ind + begin, length);
  for (k = 0; k < length; k++) {
    const int32_t column = col_ind[begin + k];
    values[end + k] = values[marks[column]];
    marks[column] = -1;
  }
  memmove(col_ind + part->used, col_ind + begin, (size_t)length * sizeof *col_ind);
  memcpy(values + part->used, values + end, (size_t)length * sizeof *values);
  part->used += length;
}

/* Computes a task's rows of R A P: appends them to its part, or, if their columns are known,
 * adds their values up in place. The part also holds the row of R A in between. */
static void mbi_galerkin_rows(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_galerkin *g = (const mbi_galerkin *)build->self;
  const mbi_amg_csr *a = g->a, *p = g->p, *r = g->r, *to = build->to;
  const int64_t last = mbi_amg_share(r, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int32_t *const coarse = marks + a->cols;
  int64_t row = mbi_amg_share(r, build->tasks, task), k, j;
  for (; row < last; row++) {
    const int64_t start = part->used;
    int64_t room = 0, middle, used;
    double *values;
    for (k = r->row_ptr[row]; k < r->row_ptr[row + 1]; k++) {
      room += a->row_ptr[r->col_ind[k] + 1] - a->row_ptr[r->col_ind[k]];
    }
    if (!mbi_amg_reserve(build, task, room < a->cols ? room : a->cols)) {
      return;
    }
    middle = used = mbi_galerkin_left(g, row, part, marks);
    if (build->known) {
      for (k = to->row_ptr[row]; k < to->row_ptr[row + 1]; k++) {
        coarse[to->col_ind[k]] = (int32_t)k;
        to->values[k] = 0;
      }
    } else {
      for (room = 0, k = start; k < middle; k++) {
        room += p->row_ptr[part->col_ind[k] + 1] - p->row_ptr[part->col_ind[k]];
      }
      part->used = middle;
      if (!mbi_amg_reserve(build, task, 2 * (room < p->cols ? room : p->cols))) {
        return;
      }
      part->used = start;
    }
    values = build->known ? to->values : part->values;
    for (k = start; k < middle; k++) {
      const int32_t between = part->col_ind[k];
      const int64_t end = p->row_ptr[between + 1];
      const double value = part->values[k];
      marks[between] = -1;
      for (j = p->row_ptr[between]; j < end; j++) {
        const int32_t column = p->col_ind[j], at = coarse[column];
        if (at < 0) {
          coarse[column] = (int32_t)used;
          part->col_ind[used] = column;
          values[used++] = value * p->values[j];
        } else {
          values[at] += value * p->values[j];
        }
      }
    }
    if (build->known) {
      for (k = to->row_ptr[row]; k < to->row_ptr[row + 1]; k++) {
        coarse[to->col_ind[k]] = -1;
      }
    } else {
      mbi_galerkin_finish(part, middle, used, coarse);
      to->row_ptr[row + 1] = (int32_t)(used - middle);
    }
  }
}

MBI_INTERNAL merbit_status mbi_amg_galerkin(merbit_context *context, const mbi_amg_level *level,
                                            mbi_amg_csr *coarse) {
  mbi_galerkin g;
  memset(&g, 0, sizeof g);
  g.a = &level->a;
  g.p = &level->p;
  g.r = &level->r;
  g.build.to = coarse;
  g.build.what = "the matrix";
  g.build.rows = mbi_galerkin_rows;
  g.build.self = &g;
  g.build.tasks = mbi_share_tasks(context, level->a.rows + level->a.nnz);
  g.build.valued = 1;
  g.build.columns = level->a.cols + level->p.cols;
  g.build.hint = coarse->row_ptr != NULL ? 0 : level->a.nnz / 2;
  return mbi_amg_build_run(context, &g.build, g.r->rows, g.p->cols);
}
