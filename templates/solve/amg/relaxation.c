#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/cpu/cpu.h"
#include "solve/amg/amg.h"

/* The rows of A at F points and those at C points as two matrices, so that a sweep of
 * reduction-based multigrid reads only its own rows; and the weights of Jacobi's method. The
 * weight of row i is min(1, 2 / (1 + sigma_i)), where sigma_i is its sum of |a_ij / a_ii| off
 * the diagonal. */

typedef struct mbi_relaxation {
  mbi_amg_level *level;
  int tasks, known;
  int32_t first[2][MBI_MAX_THREADS + 1]; /* per row block and task: entries, later the first */
  int64_t wild[MBI_MAX_THREADS]; /* per task: its first row whose sum is not finite, or -1 */
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

/* Counts the entries of a task's rows at F points and at C points. */
static void mbi_relaxation_count(void *argument, int task) {
  mbi_relaxation *s = (mbi_relaxation *)argument;
  const int32_t *row_ptr = s->level->a.row_ptr, *aggregate = s->level->aggregate;
  const int64_t begin = mbi_amg_share(&s->level->a, s->tasks, task);
  const int64_t last = mbi_amg_share(&s->level->a, s->tasks, task + 1);
  int32_t count = 0;
  int64_t row;
  for (row = begin; row < last; row++) {
    count += aggregate[row] >= 0 ? row_ptr[row + 1] - row_ptr[row] : 0;
  }
  s->first[0][task + 1] = row_ptr[last] - row_ptr[begin] - count;
  s->first[1][task + 1] = count;
}

/* Copies a row of A of `count` entries to a row block: its values, and its columns unless
 * `known`. `left` is the number of entries from this row on that may be read and written: so
 * most rows are copied by pieces of 8 entries, without a call. */
static void mbi_relaxation_copy(const mbi_amg_csr *a, int64_t from, int32_t count,
                                const mbi_amg_csr *to, int64_t at, int64_t left, int known) {
  int32_t k;
  if (count + 7 > left) {
    for (k = 0; k < count; k++) {
      to->values[at + k] = a->values[from + k];
    }
    for (k = 0; !known && k < count; k++) {
      to->col_ind[at + k] = a->col_ind[from + k];
    }
    return;
  }
  for (k = 0; k < count; k += 8) {
    memcpy(to->values + at + k, a->values + from + k, 8 * sizeof *a->values);
    if (!known) {
      memcpy(to->col_ind + at + k, a->col_ind + from + k, 8 * sizeof *a->col_ind);
    }
  }
}

/* Returns D^-1 of a row, times its weight. */
static double mbi_relaxation_weigh(const mbi_amg_csr *a, int64_t row) {
  double sum = 0, diagonal = 0;
  int64_t k;
  for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
    const int own = a->col_ind[k] == row;
    diagonal = own ? a->values[k] : diagonal;
    sum += own ? 0 : fabs(a->values[k]);
  }
  return mbi_amg_weight(diagonal, sum);
}

/* Copies a task's rows to the row blocks, and sets their weights. */
static void mbi_relaxation_rows(void *argument, int task) {
  mbi_relaxation *s = (mbi_relaxation *)argument;
  const mbi_amg_level *level = s->level;
  const mbi_amg_csr *a = &level->a, *halves = level->halves;
  const int64_t begin = mbi_amg_share(a, s->tasks, task);
  const int64_t last = mbi_amg_share(a, s->tasks, task + 1);
  int32_t at[2], end[2];
  int64_t row;
  int half;
  for (half = 0; half < 2; half++) {
    at[half] = s->known ? halves[half].row_ptr[begin] : s->first[half][task];
    end[half] = s->known ? halves[half].row_ptr[last] : s->first[half][task + 1];
  }
  s->wild[task] = -1;
  for (row = begin; row < last; row++) {
    const int32_t from = a->row_ptr[row], count = a->row_ptr[row + 1] - from;
    const double weight = mbi_relaxation_weigh(a, row);
    half = s->known ? halves[1].row_ptr[row + 1] > at[1] : level->aggregate[row] >= 0;
    mbi_relaxation_copy(
        a, from, count, &halves[half], at[half],
        end[half] - at[half] < a->nnz - from ? end[half] - at[half] : a->nnz - from, s->known);
    at[half] += count;
    if (!s->known) {
      halves[0].row_ptr[row + 1] = at[0];
      halves[1].row_ptr[row + 1] = at[1];
    }
    level->inverse[row] = weight;
    if (weight - weight != 0 && s->wild[task] < 0) {
      s->wild[task] = row;
    }
  }
}

/* Allocates the row offsets and columns of the row blocks. */
static merbit_status mbi_relaxation_allocate(merbit_context *context, mbi_relaxation *s) {
  mbi_amg_level *level = s->level;
  int half, task;
  mbi_parallel(context, s->tasks, mbi_relaxation_count, s);
  for (half = 0; half < 2; half++) {
    mbi_amg_csr *to = &level->halves[half];
    int32_t *first = s->first[half];
    for (first[0] = 0, task = 0; task < s->tasks; task++) {
      first[task + 1] += first[task];
    }
    to->rows = to->cols = level->a.rows;
    to->nnz = first[s->tasks];
    MBI_TRY(mbi_allocate_array(context, to->rows + 1, sizeof *to->row_ptr,
                               "the rows of a level", (void **)&to->row_ptr));
    to->row_ptr[0] = 0;
    MBI_TRY(mbi_allocate_array(context, to->nnz + MBI_SORTED_PADDING, sizeof *to->col_ind,
                               "the rows of a level", (void **)&to->col_ind));
  }
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_amg_part_rows(merbit_context *context, mbi_amg_level *level) {
  mbi_relaxation s;
  int half, task;
  memset(&s, 0, sizeof s);
  s.level = level;
  s.known = level->halves[0].row_ptr != NULL;
  s.tasks = mbi_share_tasks(context, level->a.rows + level->a.nnz);
  if (!s.known) {
    MBI_TRY(mbi_relaxation_allocate(context, &s));
  }
  for (half = 0; half < 2; half++) {
    mbi_amg_csr *to = &level->halves[half];
    MBI_TRY(mbi_allocate_array(context, to->nnz, sizeof *to->values, "the rows of a level",
                               (void **)&to->values));
  }
  MBI_TRY(mbi_allocate_array(context, level->a.rows, sizeof(double), "the inverse diagonal",
                             (void **)&level->inverse));
  mbi_parallel(context, s.tasks, mbi_relaxation_rows, &s);
  for (task = 0; task < s.tasks; task++) {
    if (s.wild[task] >= 0) {
      return mbi_amg_fail_bound(context, s.wild[task], level->a.rows);
    }
  }
  return MERBIT_OK;
}
