#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* Multigrid: the next level's matrix R A P, as R times A P. Products are computed row by row
 * (Gustavson, ACM Trans. Math. Softw. 4, 1978): a row of A B is the sum of a_ik times row k of
 * B. */

typedef struct mbi_product {
  mbi_amg_build build;
  const mbi_amg_csr *a, *b;
  int sorted; /* 1: columns ascend; 0: they come in the order in which they are met */
} mbi_product;

/* Sets the values of a task's rows, whose columns are known. `scratch` has 8 bytes for each
 * column. */
static void mbi_product_values(const mbi_product *m, int task, void *scratch) {
  const mbi_amg_csr *a = m->a, *b = m->b, *c = m->build.to;
  const int64_t last = mbi_amg_share(a, m->build.tasks, task + 1);
  int64_t row = mbi_amg_share(a, m->build.tasks, task), k, j;
  double *sums = (double *)scratch;
  memset(sums, 0, (size_t)b->cols * sizeof *sums);
  for (; row < last; row++) {
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const int64_t end = b->row_ptr[a->col_ind[k] + 1];
      const double value = a->values[k];
      for (j = b->row_ptr[a->col_ind[k]]; j < end; j++) {
        sums[b->col_ind[j]] += value * b->values[j];
      }
    }
    for (k = c->row_ptr[row]; k < c->row_ptr[row + 1]; k++) {
      c->values[k] = sums[c->col_ind[k]];
      sums[c->col_ind[k]] = 0;
    }
  }
}

/* Sorts a row that begins at `begin` in a part with room for its values behind it.
 * marks[column] is the place of a column. */
static void mbi_product_sort(mbi_amg_part *part, int64_t begin, const int32_t *marks) {
  const int64_t length = part->used - begin;
  int32_t *const col_ind = part->col_ind + begin;
  double *const values = part->values;
  int64_t k;
  mbi_amg_sort(col_ind, length);
  for (k = 0; k < length; k++) {
    values[part->used + k] = values[marks[col_ind[k]]];
  }
  memcpy(values + begin, values + part->used, (size_t)length * sizeof *values);
}

/* Appends a task's rows to its part, or sets their values if their columns are known: the same
 * sums in the same order. */
static void mbi_product_rows(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_product *m = (const mbi_product *)build->self;
  const mbi_amg_csr *a = m->a, *b = m->b;
  const int64_t last = mbi_amg_share(a, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int64_t row = mbi_amg_share(a, build->tasks, task), k, j;
  if (build->known) {
    mbi_product_values(m, task, marks);
    return;
  }
  for (; row < last; row++) {
    const int64_t start = part->used;
    int64_t room = 0, used = start;
    int32_t *col_ind;
    double *values;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      room += b->row_ptr[a->col_ind[k] + 1] - b->row_ptr[a->col_ind[k]];
    }
    if (!mbi_amg_reserve(build, task, (room < b->cols ? room : b->cols) * (1 + m->sorted))) {
      return;
    }
    col_ind = part->col_ind;
    values = part->values;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const int64_t end = b->row_ptr[a->col_ind[k] + 1];
      const double value = a->values[k];
      for (j = b->row_ptr[a->col_ind[k]]; j < end; j++) {
        const int32_t column = b->col_ind[j], at = marks[column];
        if (at < start) { /* of an earlier row */
          marks[column] = (int32_t)used;
          col_ind[used] = column;
          values[used++] = 0 + value * b->values[j];
        } else {
          values[at] += value * b->values[j];
        }
      }
    }
    part->used = used;
    if (m->sorted) {
      mbi_product_sort(part, start, marks);
    }
    build->to->row_ptr[row + 1] = (int32_t)(used - start);
  }
}

/* Sets *c = A B, or its values alone if it has the structure. `hint` is the expected number of
 * entries. */
static merbit_status mbi_amg_product(merbit_context *context, const mbi_amg_csr *a,
                                     const mbi_amg_csr *b, int sorted, int64_t hint,
                                     mbi_amg_csr *c) {
  mbi_product m;
  memset(&m, 0, sizeof m);
  m.a = a;
  m.b = b;
  m.sorted = sorted;
  m.build.to = c;
  m.build.what = "the matrix";
  m.build.rows = mbi_product_rows;
  m.build.self = &m;
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
  merbit_status status = mbi_amg_product(context, &level->a, &level->p, 0, nnz + nnz / 4, ap);
  if (status == MERBIT_OK) {
    status = mbi_amg_product(context, &level->r, ap, 1, nnz / 2, coarse);
  }
  mbi_release(context, ap->values);
  ap->values = NULL;
  return status;
}
