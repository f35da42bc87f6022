#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* The Galerkin product R A P, the matrix of the next multigrid level, computed as R (A P).
 * Products are computed row by row (Gustavson, ACM Trans. Math. Softw. 4, 1978): row i of A B
 * is the sum of a_ik times row k of B. The columns of P, and thus of all products, come in
 * groups: the `vectors` columns of an aggregate. A P, whose columns need not ascend, stores
 * only the first column of each group. */

typedef struct mbi_product {
  mbi_amg_build build;
  const mbi_amg_csr *a, *b;
  int group; /* columns per group */
  int run;   /* aligned runs of this many rows of B have the same columns */
  int last;  /* 0: A P, where B has all columns; 1: R (A P), where B has those of groups */
} mbi_product;

/* Adds a row of A B to `sums`. Three rows of B with the same columns are added at a time, so
 * that a sum is loaded and stored once for all three. Two sums are updated at a time, so that
 * compilers vectorise. */
static void mbi_product_row(const mbi_product *m, int64_t row, double *sums) {
  const mbi_amg_csr *a = m->a, *b = m->b;
  const int group = m->group, step = m->last ? 1 : group;
  const int64_t end = a->row_ptr[row + 1];
  int64_t k = a->row_ptr[row], j;
  int i;
  while (k < end) {
    const int32_t first = a->col_ind[k];
    const int64_t begin = b->row_ptr[first], next = b->row_ptr[first + 1] - begin;
    const int32_t *column = b->col_ind + (m->last ? begin / group : begin);
    const double *const v = a->values + k;
    const int three =
        k + 2 < end && a->col_ind[k + 2] == first + 2 && first % m->run + 2 < m->run;
    const double v0 = v[0], v1 = three ? v[1] : 0, v2 = three ? v[2] : 0;
    for (j = begin; j < begin + next; j += group, column += step) {
      const double *from = b->values + j;
      double *to = sums + *column;
      for (i = 0; three && i + 1 < group; i += 2, to += 2, from += 2) {
        const double s = to[0] + v0 * from[0] + v1 * from[next] + v2 * from[2 * next];
        const double t = to[1] + v0 * from[1] + v1 * from[next + 1] + v2 * from[2 * next + 1];
        to[0] = s;
        to[1] = t;
      }
      for (; !three && i + 1 < group; i += 2, to += 2, from += 2) {
        const double s = to[0] + v0 * from[0], t = to[1] + v0 * from[1];
        to[0] = s;
        to[1] = t;
      }
      if (i < group) {
        to[0] += v0 * from[0];
        if (three) {
          to[0] = to[0] + v1 * from[next] + v2 * from[2 * next];
        }
      }
    }
    k += three ? 3 : 1;
  }
}

/* Sets the values of a task's rows, whose columns are known. `sums`: an element per column. */
static void mbi_product_values(const mbi_product *m, int task, int group, double *sums) {
  const mbi_amg_csr *a = m->a, *b = m->b, *c = m->build.to;
  const int64_t last = mbi_amg_share(a, m->build.tasks, task + 1);
  int64_t row = mbi_amg_share(a, m->build.tasks, task), k, j;
  const int32_t *column;
  int i;
  memset(sums, 0, (size_t)b->cols * sizeof *sums);
  for (; row < last; row++) {
    if (group > 1) {
      mbi_product_row(m, row, sums);
    }
    for (k = a->row_ptr[row]; group == 1 && k < a->row_ptr[row + 1]; k++) {
      const int32_t begin = b->row_ptr[a->col_ind[k]], end = b->row_ptr[a->col_ind[k] + 1];
      const double value = a->values[k];
      for (j = begin; j < end; j++) {
        sums[b->col_ind[j]] += value * b->values[j];
      }
    }
    column = c->col_ind + (m->last ? c->row_ptr[row] : c->row_ptr[row] / group);
    for (k = c->row_ptr[row]; k < c->row_ptr[row + 1]; k += group) {
      for (i = 0; i < group; i++) {
        c->values[k + i] = sums[*column + i];
        sums[*column + i] = 0;
      }
      column += m->last ? group : 1;
    }
  }
}

/* Sorts the last `length` entries of a part, behind which there is room for as many values. On
 * entry col_ind has only the first column of each group; on return it has all columns.
 * marks[column] is the index of a group's values. */
static void mbi_product_sort(mbi_amg_part *part, int64_t length, int group, int32_t *col_ind,
                             const int32_t *marks) {
  double *const values = part->values;
  int64_t k = length / group;
  int i;
  mbi_amg_sort(col_ind, k);
  while (k-- > 0) {
    const int32_t column = col_ind[k];
    for (i = group - 1; i >= 0; i--) {
      col_ind[k * group + i] = column + i;
      values[part->used + k * group + i] = values[marks[column] + i];
    }
  }
  memcpy(values + part->used - length, values + part->used, (size_t)length * sizeof *values);
}

/* Appends a task's rows to its part: the sums of mbi_product_values, in the same order. */
static void mbi_product_append(mbi_product *m, int task, int group, int32_t *marks) {
  const mbi_amg_csr *a = m->a, *b = m->b;
  const int step = m->last ? 1 : group;
  const int64_t last = mbi_amg_share(a, m->build.tasks, task + 1);
  mbi_amg_build *build = &m->build;
  mbi_amg_part *part = &build->parts[task];
  int64_t row = mbi_amg_share(a, m->build.tasks, task), k, j;
  int i;
  for (; row < last; row++) {
    const int64_t start = part->used;
    int64_t room = 0, used = start;
    int32_t *col_ind, *next;
    double *values;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      room += b->row_ptr[a->col_ind[k] + 1] - b->row_ptr[a->col_ind[k]];
    }
    if (!mbi_amg_reserve(build, task, (room < b->cols ? room : b->cols) * (1 + m->last))) {
      return;
    }
    next = col_ind = part->col_ind + (m->last ? start : start / group);
    values = part->values;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const int32_t begin = b->row_ptr[a->col_ind[k]], end = b->row_ptr[a->col_ind[k] + 1];
      const int32_t *column = b->col_ind + (m->last ? begin / group : begin);
      const double value = a->values[k];
      for (j = begin; j < end; j += group, column += step) {
        const int32_t at = marks[*column];
        if (at < start) { /* the mark of an earlier row */
          marks[*column] = (int32_t)used;
          *next++ = *column;
          for (i = 0; i < group; i++) {
            values[used++] = 0 + value * b->values[j + i];
          }
        } else {
          for (i = 0; i < group; i++) {
            values[at + i] += value * b->values[j + i];
          }
        }
      }
    }
    part->used = used;
    if (m->last) {
      mbi_product_sort(part, used - start, group, col_ind, marks);
    }
    build->to->row_ptr[row + 1] = (int32_t)(used - start);
  }
}

static void mbi_product_rows(mbi_amg_build *build, int task, int32_t *marks) {
  mbi_product *m = (mbi_product *)build->self;
  double *sums = (double *)(void *)marks;
  if (build->known && m->group == 1) { /* compiled without the innermost loops */
    mbi_product_values(m, task, 1, sums);
  } else if (build->known) {
    mbi_product_values(m, task, m->group, sums);
  } else if (m->group == 1) {
    mbi_product_append(m, task, 1, marks);
  } else {
    mbi_product_append(m, task, m->group, marks);
  }
}

/* Returns `block` if the rows of each node have the same columns in A P, else 1. */
static int mbi_product_alike(const mbi_amg_csr *ap, int block, int group) {
  int64_t row;
  for (row = 1; row < ap->rows; row++) {
    const int32_t begin = ap->row_ptr[row], length = begin - ap->row_ptr[row - 1];
    if (row % block != 0 &&
        (ap->row_ptr[row + 1] - begin != length ||
         memcmp(ap->col_ind + begin / group, ap->col_ind + (begin - length) / group,
                (size_t)(length / group) * sizeof *ap->col_ind) != 0)) {
      return 1;
    }
  }
  return block;
}

/* Sets *c = A B, or only its values if it has the structure. `hint`: expected entries. */
static merbit_status mbi_amg_product(merbit_context *context, const mbi_amg_csr *a,
                                     const mbi_amg_csr *b, int group, int run, int last,
                                     int64_t hint, mbi_amg_csr *c) {
  mbi_product m;
  memset(&m, 0, sizeof m);
  m.run = run;
  m.a = a;
  m.b = b;
  m.group = group;
  m.last = last;
  m.build.to = c;
  m.build.what = "the matrix";
  m.build.rows = mbi_product_rows;
  m.build.self = &m;
  m.build.group = last ? 1 : group;
  m.build.tasks = mbi_share_tasks(context, a->rows + a->nnz);
  m.build.valued = 1;
  m.build.columns = 2 * b->cols;
  m.build.hint = c->row_ptr != NULL ? 0 : hint;
  return mbi_amg_build_run(context, &m.build, a->rows, b->cols);
}

MBI_INTERNAL merbit_status mbi_amg_galerkin(merbit_context *context, mbi_amg_level *level,
                                            mbi_amg_csr *coarse) {
  mbi_amg_csr *ap = &level->ap;
  const int64_t nnz = level->a.nnz;
  const int block = level->block, k = level->vectors;
  merbit_status status =
      mbi_amg_product(context, &level->a, &level->p, k, block, 0, (nnz + nnz / 4) * k, ap);
  if (status == MERBIT_OK) {
    status =
        mbi_amg_product(context, &level->r, ap, k,
                        block > 1 ? mbi_product_alike(ap, block, k) : 1, 1, nnz / 2, coarse);
  }
  mbi_release(context, ap->values);
  ap->values = NULL;
  return status;
}
