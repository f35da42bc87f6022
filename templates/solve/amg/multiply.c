#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* Multigrid: the product of two sparse matrices, row by row (Gustavson, ACM Trans. Math. Softw.
 * 4, 1978): row i of the product is the sum of a_ij times row j of the second factor. */

typedef struct mbi_product {
  mbi_amg_build build;
  const mbi_amg_csr *a, *b;
  int sorted;
} mbi_product;

/* Appends a task's rows. marks[column] is the place of the last entry in that column. */
static void mbi_multiply_rows(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_product *m = (const mbi_product *)build->self;
  const mbi_amg_csr *a = m->a, *b = m->b;
  const int64_t last = mbi_amg_share(a, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int64_t row = mbi_amg_share(a, build->tasks, task), k, j;
  for (; row < last; row++) {
    const int64_t start = part->used;
    int64_t used = start, room = 0, length;
    int32_t *col_ind;
    double *values;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      room += b->row_ptr[a->col_ind[k] + 1] - b->row_ptr[a->col_ind[k]];
    }
    room = room < b->cols ? room : b->cols;
    /* With the room for sorted values behind the row. */
    if (!mbi_amg_reserve(build, task, m->sorted ? 2 * room : room)) {
      return;
    }
    col_ind = part->col_ind;
    values = part->values;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const int32_t *columns = b->col_ind;
      const int64_t end = b->row_ptr[a->col_ind[k] + 1];
      const double value = a->values[k];
      for (j = b->row_ptr[a->col_ind[k]]; j < end; j++) {
        const int32_t column = columns[j], at = marks[column];
        if (at < start) {
          marks[column] = (int32_t)used;
          col_ind[used] = column;
          values[used++] = value * b->values[j];
        } else {
          values[at] += value * b->values[j];
        }
      }
    }
    length = used - start;
    if (m->sorted) {
      mbi_amg_sort(col_ind + start, length);
      for (k = start; k < used; k++) {
        values[k + length] = values[marks[col_ind[k]]];
      }
      memcpy(values + start, values + used, (size_t)length * sizeof *values);
    }
    part->used = used;
    build->to->row_ptr[row + 1] = (int32_t)length;
  }
}

MBI_INTERNAL merbit_status mbi_amg_multiply(merbit_context *context, const mbi_amg_csr *a,
                                            const mbi_amg_csr *b, int sorted, mbi_amg_csr *c) {
  mbi_product m;
  memset(&m, 0, sizeof m);
  m.a = a;
  m.b = b;
  m.sorted = sorted;
  m.build.to = c;
  m.build.what = sorted ? "the matrix" : "the product A P";
  m.build.rows = mbi_multiply_rows;
  m.build.self = &m;
  m.build.tasks = mbi_share_tasks(context, a->rows + a->nnz);
  m.build.valued = 1;
  m.build.columns = b->cols;
  m.build.hint = a->nnz;
  return mbi_amg_build_run(context, &m.build, a->rows, b->cols);
}
