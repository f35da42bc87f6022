#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* Multigrid: strength of connection. The measure is relative to the largest off-diagonal
 * entries, not to the diagonal: a 27-point operator has |a_ij| = a_ii / 26, and a threshold on
 * the diagonal would leave its rows without neighbours. */

typedef struct mbi_strength {
  mbi_amg_build build;
  const mbi_amg_csr *a;
  int block, tasks;
  double theta;
  int both;           /* 1: an entry is compared with the larger of two rows' largest ones */
  double *most;       /* per row: its largest off-diagonal magnitude */
  int32_t *strongest; /* per row: the first column of it, or -1 */
} mbi_strength;

/* Appends the Frobenius norms of the blocks of a task's nodes, by rows of nodes. */
static void mbi_strength_norms(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_strength *s = (const mbi_strength *)build->self;
  const mbi_amg_csr *a = s->a;
  const int64_t last = mbi_share(build->to->rows, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int64_t node = mbi_share(build->to->rows, build->tasks, task), k;
  for (; node < last; node++) {
    const int64_t from = a->row_ptr[node * s->block], to = a->row_ptr[(node + 1) * s->block];
    const int64_t start = part->used;
    if (!mbi_amg_reserve(build, task, to - from)) {
      return;
    }
    for (k = from; k < to; k++) {
      const int32_t column = a->col_ind[k] / s->block;
      if (marks[column] < start) {
        marks[column] = (int32_t)part->used;
        part->col_ind[part->used] = column;
        part->values[part->used++] = 0;
      }
      part->values[marks[column]] += a->values[k] * a->values[k];
    }
    for (k = start; k < part->used; k++) {
      part->values[k] = sqrt(part->values[k]);
    }
    build->to->row_ptr[node + 1] = (int32_t)(part->used - start);
  }
}

static void mbi_strength_most(void *argument, int task) {
  const mbi_strength *s = (const mbi_strength *)argument;
  const mbi_amg_csr *a = s->a;
  const int64_t last = mbi_amg_share(a, s->tasks, task + 1);
  int64_t row = mbi_amg_share(a, s->tasks, task), k;
  for (; row < last; row++) {
    double most = 0;
    s->strongest[row] = -1;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const double size = fabs(a->values[k]);
      if (size > most && a->col_ind[k] != row) {
        most = size;
        s->strongest[row] = a->col_ind[k];
      }
    }
    s->most[row] = most;
  }
}

static void mbi_strength_rows(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_strength *s = (const mbi_strength *)build->self;
  const mbi_amg_csr *a = s->a;
  const int64_t last = mbi_amg_share(a, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int64_t row = mbi_amg_share(a, build->tasks, task), k;
  (void)marks;
  for (; row < last; row++) {
    const int64_t start = part->used;
    const double most = s->most[row];
    if (!mbi_amg_reserve(build, task, a->row_ptr[row + 1] - a->row_ptr[row])) {
      return;
    }
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const int32_t column = a->col_ind[k];
      const double other = s->both ? s->most[column] : 0;
      if (column != row && fabs(a->values[k]) > s->theta * (other > most ? other : most)) {
        part->col_ind[part->used++] = column;
      }
    }
    if (s->block > 1) { /* the rows of a node may differ, and its blocks come in any order */
      mbi_amg_sort(part->col_ind + start, part->used - start);
    }
    build->to->row_ptr[row + 1] = (int32_t)(part->used - start);
  }
}

/* Sets *to to the neighbours of the rows of s->a, which are nodes, that s->theta and s->both
 * choose. */
static merbit_status mbi_strength_choose(merbit_context *context, mbi_strength *s, double theta,
                                         int both, mbi_amg_csr *to) {
  s->theta = theta;
  s->both = both;
  memset(&s->build, 0, sizeof s->build);
  s->build.to = to;
  s->build.what = "the strong neighbours";
  s->build.rows = mbi_strength_rows;
  s->build.self = s;
  s->build.tasks = s->tasks;
  s->build.hint = s->a->nnz;
  return mbi_amg_build_run(context, &s->build, s->a->rows, s->a->cols);
}

/* Sets the results of mbi_amg_strength for the rows of s->a, which are nodes. */
static merbit_status mbi_strength_of_rows(merbit_context *context, mbi_strength *s,
                                          double theta, mbi_amg_level *level) {
  const mbi_amg_csr *a = s->a;
  merbit_status status;
  s->tasks = mbi_share_tasks(context, a->nnz + a->rows);
  MBI_TRY(mbi_allocate_array(context, a->rows, sizeof *level->strongest,
                             "the strongest neighbours", (void **)&level->strongest));
  MBI_TRY(mbi_allocate_array(context, a->rows, sizeof *s->most, "the largest entries of rows",
                             (void **)&s->most));
  s->strongest = level->strongest;
  mbi_parallel(context, s->tasks, mbi_strength_most, s);
  status = mbi_strength_choose(context, s, theta, 1, &level->strong);
  if (status == MERBIT_OK) {
    status = mbi_strength_choose(context, s, MBI_AMG_FILTER, 0, &level->kept);
  }
  mbi_release(context, s->most);
  return status;
}

MBI_INTERNAL merbit_status mbi_amg_strength(merbit_context *context, double theta,
                                            mbi_amg_level *level) {
  const mbi_amg_csr *a = &level->a;
  const int block = level->block;
  mbi_amg_csr nodes;
  mbi_strength s;
  merbit_status status;
  memset(&s, 0, sizeof s);
  s.a = a;
  s.block = block;
  if (block == 1) {
    return mbi_strength_of_rows(context, &s, theta, level);
  }
  memset(&nodes, 0, sizeof nodes);
  s.build.to = &nodes;
  s.build.what = "the norms of blocks";
  s.build.rows = mbi_strength_norms;
  s.build.self = &s;
  s.build.tasks = mbi_share_tasks(context, a->nnz);
  s.build.valued = 1;
  s.build.columns = a->cols / block;
  s.build.hint = a->nnz / block;
  MBI_TRY(mbi_amg_build_run(context, &s.build, a->rows / block, a->cols / block));
  s.a = &nodes;
  status = mbi_strength_of_rows(context, &s, theta, level);
  mbi_amg_csr_release(context, &nodes);
  return status;
}
