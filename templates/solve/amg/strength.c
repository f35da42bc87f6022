#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* Multigrid: strength of connection. The measure is relative to the largest off-diagonal
 * entries of both rows, not to the diagonal: a 27-point operator has |a_ij| = a_ii / 26, and a
 * threshold on the diagonal would leave its rows without neighbours. */

typedef struct mbi_strength {
  mbi_amg_build build;
  const mbi_amg_csr *a;
  int block, tasks;
  double theta;
  double *roots; /* per row: the square root of its largest off-diagonal magnitude */
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

static void mbi_strength_roots(void *argument, int task) {
  const mbi_strength *s = (const mbi_strength *)argument;
  const mbi_amg_csr *a = s->a;
  const int64_t last = mbi_amg_share(a, s->tasks, task + 1);
  int64_t row = mbi_amg_share(a, s->tasks, task), k;
  for (; row < last; row++) {
    double most = 0;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const double size = fabs(a->values[k]);
      most = size > most && a->col_ind[k] != row ? size : most;
    }
    s->roots[row] = sqrt(most);
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
    const double root = s->roots[row];
    if (!mbi_amg_reserve(build, task, a->row_ptr[row + 1] - a->row_ptr[row])) {
      return;
    }
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const int32_t column = a->col_ind[k];
      if (column != row && fabs(a->values[k]) > s->theta * (root * s->roots[column])) {
        part->col_ind[part->used++] = column;
      }
    }
    build->to->row_ptr[row + 1] = (int32_t)(part->used - start);
  }
}

/* Sets *strong to the strong neighbours of the rows of s->a, which are nodes. */
static merbit_status mbi_strength_of_rows(merbit_context *context, mbi_strength *s,
                                          mbi_amg_csr *strong) {
  const mbi_amg_csr *a = s->a;
  merbit_status status;
  s->tasks = mbi_share_tasks(context, a->nnz + a->rows);
  MBI_TRY(mbi_allocate_array(context, a->rows, sizeof *s->roots, "the largest entries of rows",
                             (void **)&s->roots));
  mbi_parallel(context, s->tasks, mbi_strength_roots, s);
  memset(&s->build, 0, sizeof s->build);
  s->build.to = strong;
  s->build.what = "the strong neighbours";
  s->build.rows = mbi_strength_rows;
  s->build.self = s;
  s->build.tasks = s->tasks;
  s->build.hint = a->nnz;
  status = mbi_amg_build_run(context, &s->build, a->rows, a->cols);
  mbi_release(context, s->roots);
  return status;
}

MBI_INTERNAL merbit_status mbi_amg_strength(merbit_context *context, const mbi_amg_csr *a,
                                            int block, double theta, mbi_amg_csr *strong) {
  mbi_amg_csr nodes;
  mbi_strength s;
  merbit_status status;
  memset(&s, 0, sizeof s);
  s.a = a;
  s.block = block;
  s.theta = theta;
  if (block == 1) {
    return mbi_strength_of_rows(context, &s, strong);
  }
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
  status = mbi_strength_of_rows(context, &s, strong);
  mbi_amg_csr_release(context, &nodes);
  return status;
}
