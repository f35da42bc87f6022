#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* The rows of A at F points and those at C points as two matrices, so that a sweep of
 * reduction-based multigrid reads only its own rows; and the weights of Jacobi's method. The
 * weight of row i is min(1, 2 / (1 + sigma_i)), where sigma_i is its sum of |a_ij / a_ii| off
 * the diagonal. */

typedef struct mbi_relaxation {
  mbi_amg_level *level;
  int tasks, which, known;
} mbi_relaxation;

/* Returns w / d for a row with the diagonal entry d whose other magnitudes add up to `sum`; 0
 * if d is 0 up to rounding, NaN if the sum is not finite. */
MBI_INTERNAL double mbi_amg_weight(double d, double sum) {
  const double size = fabs(d), all = size + sum;
  return all - all != 0                      ? all - all
         : size <= MBI_REDUCTION_NOISE * all ? 0
         : sum > size                        ? 2 * (size / all) / d
                                             : 1 / d;
}

/* Sets the weights of a task's rows. */
static void mbi_relaxation_weigh(void *argument, int task) {
  const mbi_relaxation *s = (const mbi_relaxation *)argument;
  const mbi_amg_csr *a = &s->level->a;
  const int64_t last = mbi_amg_share(a, s->tasks, task + 1);
  int64_t row = mbi_amg_share(a, s->tasks, task), k;
  for (; row < last; row++) {
    double sum = 0, diagonal = 0;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const double value = a->values[k];
      if (a->col_ind[k] == row) {
        diagonal = value;
      } else {
        sum += fabs(value);
      }
    }
    s->level->inverse[row] = mbi_amg_weight(diagonal, sum);
  }
}

MBI_INTERNAL merbit_status mbi_amg_weights(merbit_context *context, mbi_amg_level *level) {
  mbi_relaxation s;
  int64_t row;
  memset(&s, 0, sizeof s);
  s.level = level;
  MBI_TRY(mbi_allocate_array(context, level->a.rows, sizeof(double), "the inverse diagonal",
                             (void **)&level->inverse));
  s.tasks = mbi_share_tasks(context, level->a.rows + level->a.nnz);
  mbi_parallel(context, s.tasks, mbi_relaxation_weigh, &s);
  for (row = 0; row < level->a.rows; row++) {
    if (level->inverse[row] - level->inverse[row] != 0) {
      return mbi_amg_fail_bound(context, row, level->a.rows);
    }
  }
  return MERBIT_OK;
}

/* Copies a task's rows of A to a row block: to both arrays, or to the values alone. */
static void mbi_relaxation_copy(void *argument, int task) {
  const mbi_relaxation *s = (const mbi_relaxation *)argument;
  const mbi_amg_csr *a = &s->level->a, *to = &s->level->halves[s->which];
  const int64_t last = mbi_amg_share(a, s->tasks, task + 1);
  int64_t row = mbi_amg_share(a, s->tasks, task);
  for (; row < last; row++) {
    const int64_t from = a->row_ptr[row], at = to->row_ptr[row];
    const size_t count = (size_t)(to->row_ptr[row + 1] - to->row_ptr[row]);
    if (count > 0) {
      memcpy(to->values + at, a->values + from, count * sizeof *a->values);
      if (!s->known) {
        memcpy(to->col_ind + at, a->col_ind + from, count * sizeof *a->col_ind);
      }
    }
  }
}

/* Sets the row offsets of a row block, and its number of entries. */
static void mbi_relaxation_count(const mbi_amg_level *level, int which, mbi_amg_csr *to) {
  const mbi_amg_csr *a = &level->a;
  int64_t row;
  to->rows = a->rows;
  to->cols = a->cols;
  to->row_ptr[0] = 0;
  for (row = 0; row < a->rows; row++) {
    to->row_ptr[row + 1] =
        to->row_ptr[row] +
        ((level->aggregate[row] >= 0) == which ? a->row_ptr[row + 1] - a->row_ptr[row] : 0);
  }
  to->nnz = to->row_ptr[a->rows];
}

MBI_INTERNAL merbit_status mbi_amg_part_rows(merbit_context *context, mbi_amg_level *level) {
  mbi_relaxation s;
  memset(&s, 0, sizeof s);
  s.level = level;
  s.tasks = mbi_share_tasks(context, level->a.rows + level->a.nnz);
  for (s.which = 0; s.which < 2; s.which++) {
    mbi_amg_csr *to = &level->halves[s.which];
    s.known = to->row_ptr != NULL;
    if (!s.known) {
      MBI_TRY(mbi_allocate_array(context, level->a.rows + 1, sizeof *to->row_ptr,
                                 "the rows of a level", (void **)&to->row_ptr));
      mbi_relaxation_count(level, s.which, to);
      MBI_TRY(mbi_allocate_array(context, to->nnz, sizeof *to->col_ind, "the rows of a level",
                                 (void **)&to->col_ind));
    }
    MBI_TRY(mbi_allocate_array(context, to->nnz, sizeof *to->values, "the rows of a level",
                               (void **)&to->values));
    mbi_parallel(context, s.tasks, mbi_relaxation_copy, &s);
  }
  return MERBIT_OK;
}
