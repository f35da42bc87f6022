#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* Strength of connection for multigrid. It is measured relative to the largest off-diagonal
 * entries, not to the diagonal: a 27-point operator has |a_ij| = a_ii / 26, and a threshold
 * relative to the diagonal would leave its rows without neighbours. */

typedef struct mbi_strength {
  mbi_amg_build build;
  mbi_amg_level *level;
  const mbi_amg_csr *a; /* level->a, or the norms of its blocks with a row per node */
  int tasks;
  double theta;
  double *most; /* per row: its largest off-diagonal magnitude */
} mbi_strength;

/* Appends the Frobenius norms of the blocks of a task's nodes, a row per node. */
static void mbi_strength_norms(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_strength *s = (const mbi_strength *)build->self;
  const mbi_amg_csr *a = s->a;
  const int block = s->level->block;
  const int64_t last = mbi_share(build->to->rows, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int64_t node = mbi_share(build->to->rows, build->tasks, task), k;
  for (; node < last; node++) {
    const int64_t from = a->row_ptr[node * block], to = a->row_ptr[(node + 1) * block];
    const int64_t start = part->used;
    if (!mbi_amg_reserve(build, task, to - from)) {
      return;
    }
    for (k = from; k < to; k++) {
      const int32_t column = a->col_ind[k] / block;
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
    s->level->strongest[row] = -1;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const double size = fabs(a->values[k]);
      if (size > most && a->col_ind[k] != row) {
        most = size;
        s->level->strongest[row] = a->col_ind[k];
      }
    }
    s->most[row] = most;
  }
}

MBI_INTERNAL unsigned char *mbi_amg_kept(const mbi_amg_level *level, int64_t row) {
  return level->kept + level->a.row_ptr[row] / 8 + row;
}

/* Sets the `kept` bits of a node's rows; `most` is the node's largest off-diagonal magnitude.
 * marks[column] is the index of a block in the node's row. */
static void mbi_strength_keep(const mbi_strength *s, int64_t node, double most,
                              const int32_t *marks) {
  const mbi_amg_csr *a = &s->level->a;
  const int block = s->level->block;
  int64_t row, k;
  for (row = node * block; row < (node + 1) * block; row++) {
    const int64_t begin = a->row_ptr[row], end = a->row_ptr[row + 1];
    unsigned char *kept = mbi_amg_kept(s->level, row);
    for (k = begin; k < end; kept++) {
      unsigned bits = 0;
      int i;
      for (i = 0; i < 8 && k < end; i++, k++) {
        const int64_t other = block == 1 ? a->col_ind[k] : a->col_ind[k] / block;
        const double size = fabs(s->a->values[block == 1 ? k : marks[other]]);
        bits |= (unsigned)(other == node || size > MBI_AMG_FILTER * most) << i;
      }
      *kept = (unsigned char)bits;
    }
  }
}

/* Appends the strong neighbours of a task's nodes, and sets the nodes' `kept` bits. */
static void mbi_strength_rows(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_strength *s = (const mbi_strength *)build->self;
  const mbi_amg_csr *a = s->a;
  const int64_t last = mbi_amg_share(a, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int64_t row = mbi_amg_share(a, build->tasks, task), k;
  for (; row < last; row++) {
    const int64_t start = part->used;
    const double most = s->most[row];
    if (!mbi_amg_reserve(build, task, a->row_ptr[row + 1] - a->row_ptr[row])) {
      return;
    }
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const int32_t column = a->col_ind[k];
      const double other = s->most[column];
      if (column != row && fabs(a->values[k]) > s->theta * (other > most ? other : most)) {
        part->col_ind[part->used++] = column;
      }
      if (build->columns > 0) {
        marks[column] = (int32_t)k;
      }
    }
    if (build->columns > 0) { /* the blocks of a node are not sorted */
      mbi_amg_sort(part->col_ind + start, part->used - start);
    }
    mbi_strength_keep(s, row, most, marks);
    build->to->row_ptr[row + 1] = (int32_t)(part->used - start);
  }
}

/* Computes the results of mbi_amg_strength from s->a, which has a row per node. */
static merbit_status mbi_strength_of_rows(merbit_context *context, mbi_strength *s,
                                          mbi_amg_level *level) {
  const mbi_amg_csr *a = s->a;
  merbit_status status;
  s->tasks = mbi_share_tasks(context, a->nnz + a->rows);
  MBI_TRY(mbi_allocate_array(context, level->a.nnz / 8 + level->a.rows + 1, 1,
                             "the entries that are kept", (void **)&level->kept));
  MBI_TRY(mbi_allocate_array(context, a->rows, sizeof *level->strongest,
                             "the strongest neighbours", (void **)&level->strongest));
  MBI_TRY(mbi_allocate_array(context, a->rows, sizeof *s->most, "the largest entries of rows",
                             (void **)&s->most));
  mbi_parallel(context, s->tasks, mbi_strength_most, s);
  memset(&s->build, 0, sizeof s->build);
  s->build.to = &level->strong;
  s->build.what = "the strong neighbours";
  s->build.rows = mbi_strength_rows;
  s->build.self = s;
  s->build.tasks = s->tasks;
  s->build.columns = level->block > 1 ? a->cols : 0;
  s->build.hint = a->nnz;
  status = mbi_amg_build_run(context, &s->build, a->rows, a->cols);
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
  s.level = level;
  s.a = a;
  s.theta = theta;
  if (block == 1) {
    return mbi_strength_of_rows(context, &s, level);
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
  status = mbi_strength_of_rows(context, &s, level);
  mbi_amg_csr_release(context, &nodes);
  return status;
}
