#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* The transfer operators of reduction-based multigrid: local approximate ideal restriction,
 * lAIR, of Manteuffel, Ruge, Southworth, "Nonsymmetric algebraic multigrid based on local
 * approximate ideal restriction (lAIR)", SIAM J. Sci. Comput. 40, 2018, section 3; and a
 * prolongation of one entry per row, section 4. The ideal R is (-A_CF A_FF^-1, I): R A is then
 * 0 in the columns of F points. Each row of lAIR meets that in the columns of its own F points
 * N alone. */

/* A power of 2 above MBI_REDUCTION_NEAR. */
#define MBI_REDUCTION_ROWS 16

typedef struct mbi_reduction {
  mbi_amg_build build;
  mbi_amg_level *level;
  int32_t *found; /* per row: mbi_reduction_attach */
  int tasks;
} mbi_reduction;

/* ---- Prolongation ------------------------------------------------------------------------ */

/* Finds the first C point with the largest |a_ij|, up to rounding, for each F point, and sets
 * s->found: C points have their own number; F points that of the C point, or -2 less that
 * number (-1 if there is no C point) if the entry is small. Sets level->points. */
static void mbi_reduction_attach(void *argument, int task) {
  const mbi_reduction *s = (const mbi_reduction *)argument;
  const mbi_amg_csr *a = &s->level->a;
  const int32_t *number = s->level->aggregate;
  const int64_t last = mbi_amg_share(a, s->tasks, task + 1);
  int64_t row = mbi_amg_share(a, s->tasks, task), k;
  for (; row < last; row++) {
    const int32_t end = a->row_ptr[row + 1];
    double most = 0, all = 0;
    int32_t best = number[row];
    if (best >= 0) {
      s->level->points[best] = (int32_t)row;
      s->found[row] = best;
      continue;
    }
    for (k = a->row_ptr[row]; k < end; k++) {
      const double size = fabs(a->values[k]), there = number[a->col_ind[k]] < 0 ? 0 : size;
      all = size > all ? size : all;
      most = there > most ? there : most;
    }
    for (k = a->row_ptr[row]; most > MBI_REDUCTION_NOISE * all && k < end; k++) {
      if (number[a->col_ind[k]] >= 0 && fabs(a->values[k]) >= MBI_REDUCTION_EQUAL * most) {
        best = number[a->col_ind[k]];
        break;
      }
    }
    if (most < MBI_REDUCTION_EQUAL * MBI_REDUCTION_ATTACH * s->level->most[row]) {
      best = -2 - best;
    }
    s->found[row] = best;
  }
}

/* Returns the C point, or -1, that an element of `found` names. */
static int32_t mbi_reduction_found(int32_t found) {
  return found < 0 ? -2 - found : found;
}

/* Sets level->attached from s->found. Where that is negative, it is the column of the first
 * neighbour with the largest |a_ij|, up to rounding, among those that have found a C point, or
 * -1. */
static void mbi_reduction_follow(void *argument, int task) {
  const mbi_reduction *s = (const mbi_reduction *)argument;
  const mbi_amg_csr *a = &s->level->a;
  const int64_t last = mbi_amg_share(a, s->tasks, task + 1);
  int64_t row = mbi_amg_share(a, s->tasks, task), k;
  for (; row < last; row++) {
    const int32_t own = s->found[row], end = a->row_ptr[row + 1];
    double most = 0, all = 0;
    int32_t best = own < 0 ? -1 : own;
    for (k = a->row_ptr[row]; own < 0 && k < end; k++) {
      const double size = fabs(a->values[k]);
      const int32_t column = a->col_ind[k];
      all = size > all ? size : all;
      if (size > most && column != row && mbi_reduction_found(s->found[column]) >= 0) {
        most = size;
      }
    }
    for (k = a->row_ptr[row]; most > MBI_REDUCTION_NOISE * all && k < end; k++) {
      const int32_t column = a->col_ind[k], found = mbi_reduction_found(s->found[column]);
      if (found >= 0 && column != row && fabs(a->values[k]) >= MBI_REDUCTION_EQUAL * most) {
        best = found;
        break;
      }
    }
    s->level->attached[row] = best;
  }
}

/* Appends a task's rows of P, whose values are all 1. */
static void mbi_reduction_point(mbi_amg_build *build, int task, int32_t *marks) {
  const int32_t *attached = ((const mbi_reduction *)build->self)->level->attached;
  const int64_t first = mbi_share(build->to->rows, build->tasks, task);
  const int64_t last = mbi_share(build->to->rows, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int64_t row;
  (void)marks;
  if (!mbi_amg_reserve(build, task, last - first)) {
    return;
  }
  for (row = first; row < last; row++) {
    if (attached[row] >= 0) {
      part->col_ind[part->used] = attached[row];
      part->values[part->used++] = 1;
    }
    build->to->row_ptr[row + 1] = attached[row] >= 0;
  }
}

MBI_INTERNAL merbit_status mbi_amg_attach(merbit_context *context, mbi_amg_level *level) {
  mbi_reduction s;
  memset(&s, 0, sizeof s);
  s.level = level;
  MBI_TRY(mbi_allocate_array(context, level->a.rows, sizeof *level->attached,
                             "the prolongation", (void **)&level->attached));
  MBI_TRY(mbi_allocate_array(context, level->aggregates, sizeof *level->points,
                             "the C points of multigrid", (void **)&level->points));
  s.tasks = mbi_share_tasks(context, level->a.rows + level->a.nnz);
  MBI_TRY(mbi_allocate_array(context, level->a.rows, sizeof *s.found, "the prolongation",
                             (void **)&s.found));
  mbi_parallel(context, s.tasks, mbi_reduction_attach, &s);
  mbi_parallel(context, s.tasks, mbi_reduction_follow, &s);
  mbi_release(context, s.found);
  s.build.to = &level->p;
  s.build.what = "the prolongation";
  s.build.rows = mbi_reduction_point;
  s.build.self = &s;
  s.build.tasks = mbi_share_tasks(context, level->a.rows);
  s.build.valued = 1;
  s.build.hint = level->a.rows;
  return mbi_amg_build_run(context, &s.build, level->a.rows, level->aggregates);
}

/* ---- Restriction ------------------------------------------------------------------------- */

/* Adds to the `count` F points in `nearby` those new ones whose entries in `row` are at least
 * `theta` times the smaller of the largest entries of both rows, up to rounding. marks[column]
 * is the index of an F point in `nearby`, or -1. Returns the new count. There is no branch for
 * an entry, because neither outcome is rare enough to be predicted. */
static int mbi_reduction_near(const mbi_amg_level *level, int32_t row, double theta,
                              int32_t *nearby, int count, int32_t *marks) {
  const mbi_amg_csr *a = &level->a;
  const double *most = level->most, own = fabs(most[row]);
  const double noise = MBI_REDUCTION_NOISE * own;
  const int64_t end = a->row_ptr[row + 1];
  int64_t k;
  theta *= MBI_REDUCTION_EQUAL;
  for (k = a->row_ptr[row]; k < end && count < MBI_REDUCTION_NEAR; k++) {
    const int32_t column = a->col_ind[k], mark = marks[column];
    const double other = most[column], least = theta * (other < own ? other : own);
    const double size = fabs(a->values[k]);
    const int added = (other > 0) & (mark < 0) & (size > noise) & (size >= least);
    marks[column] = added ? count : mark;
    nearby[count] = column;
    count += added;
  }
  return count;
}

/* Finds the F points of the C point `row`, in ascending order. Returns their number. `marks`:
 * an element of -1 per row of A; then the index of each F point. */
static int mbi_reduction_find(const mbi_amg_level *level, int32_t row, int32_t *nearby,
                              int32_t *marks) {
  const int first = mbi_reduction_near(level, row, MBI_REDUCTION_THETA_FIRST, nearby, 0, marks);
  int count = first, i;
  for (i = 0; i < first; i++) {
    count =
        mbi_reduction_near(level, nearby[i], MBI_REDUCTION_THETA_SECOND, nearby, count, marks);
  }
  mbi_amg_sort(nearby, count);
  return count;
}

/* Replaces z by the solution of the system of `n` rows of MBI_REDUCTION_NEAR, by elimination
 * with partial pivoting; or by zeros if the matrix is singular. */
static void mbi_reduction_solve(double m[][MBI_REDUCTION_NEAR], double *z, int n) {
  int c, r, q;
  for (c = 0; c < n; c++) {
    double most = 0;
    int pivot = c;
    for (r = 0; r < c; r++) {
      most = fabs(m[r][c]) > most ? fabs(m[r][c]) : most;
    }
    for (r = c + 1; r < n; r++) {
      pivot = fabs(m[r][c]) > fabs(m[pivot][c]) ? r : pivot;
    }
    if (!(fabs(m[pivot][c]) >= MBI_REDUCTION_PIVOT) ||
        fabs(m[pivot][c]) <= MBI_REDUCTION_SINGULAR * most) {
      memset(z, 0, (size_t)n * sizeof *z);
      return;
    }
    for (q = c; pivot != c && q < n; q++) {
      const double swap = m[c][q];
      m[c][q] = m[pivot][q];
      m[pivot][q] = swap;
    }
    if (pivot != c) {
      const double swap = z[c];
      z[c] = z[pivot];
      z[pivot] = swap;
    }
    for (r = c + 1; r < n; r++) {
      if (m[r][c] != 0) {
        const double factor = m[r][c] / m[c][c];
        for (q = c + 1; q < n; q++) {
          m[r][q] -= factor * m[c][q];
        }
        z[r] -= factor * z[c];
      }
    }
  }
  for (c = n - 1; c >= 0; c--) {
    for (q = c + 1; q < n; q++) {
      z[c] -= m[c][q] * z[q];
    }
    z[c] /= m[c][c];
  }
}

/* Sets z to the solution of A_NN^T z = -A_iN^T for the C point i = `row`, whose `count` F
 * points are `nearby`. `marks`: an element per row of A, on return -1. Entries in
 * other columns go to a last row of the matrix that nobody reads: a branch would be
 * mispredicted often. */
static void mbi_reduction_local(const mbi_amg_csr *a, int32_t row, const int32_t *nearby,
                                int count, int32_t *marks, double *z) {
  double m[MBI_REDUCTION_ROWS][MBI_REDUCTION_NEAR];
  int64_t k;
  int p, q;
  for (q = 0; q < count; q++) {
    marks[nearby[q]] = q;
    z[q] = 0;
    for (p = 0; p < count; p++) {
      m[p][q] = 0;
    }
  }
  for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
    const int32_t at = marks[a->col_ind[k]];
    if (at >= 0) {
      z[at] = -a->values[k];
    }
  }
  for (q = 0; q < count; q++) {
    for (k = a->row_ptr[nearby[q]]; k < a->row_ptr[nearby[q] + 1]; k++) {
      m[marks[a->col_ind[k]] & (MBI_REDUCTION_ROWS - 1)][q] = a->values[k];
    }
  }
  for (q = 0; q < count; q++) {
    marks[nearby[q]] = -1;
  }
  mbi_reduction_solve(m, z, count);
}

/* Appends a task's rows of R, or sets their values if the columns are known. */
static void mbi_reduction_rows(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_amg_level *level = ((const mbi_reduction *)build->self)->level;
  const int32_t *row_ptr = build->to->row_ptr;
  const int64_t last = mbi_share(build->to->rows, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int64_t row = mbi_share(build->to->rows, build->tasks, task);
  for (; row < last; row++) {
    const int32_t point = level->points[row];
    int32_t nearby[MBI_REDUCTION_NEAR + 1], *col_ind;
    double z[MBI_REDUCTION_NEAR + 1], *values;
    int count = 0, i;
    if (build->known) {
      values = build->to->values + row_ptr[row];
      col_ind = build->to->col_ind + row_ptr[row];
      for (i = 0; i < row_ptr[row + 1] - row_ptr[row]; i++) {
        nearby[count] = col_ind[i];
        count += col_ind[i] != point;
      }
    } else {
      if (!mbi_amg_reserve(build, task, MBI_REDUCTION_NEAR + 1)) {
        return;
      }
      values = part->values + part->used;
      col_ind = part->col_ind + part->used;
      count = mbi_reduction_find(level, point, nearby, marks);
      part->used += count + 1;
      build->to->row_ptr[row + 1] = count + 1;
    }
    mbi_reduction_local(&level->a, point, nearby, count, marks, z);
    for (i = count; i > 0 && nearby[i - 1] > point; i--) {
      col_ind[i] = nearby[i - 1];
      values[i] = z[i - 1];
    }
    col_ind[i] = point;
    values[i] = 1;
    for (i--; i >= 0; i--) {
      col_ind[i] = nearby[i];
      values[i] = z[i];
    }
  }
}

MBI_INTERNAL merbit_status mbi_amg_restrict(merbit_context *context, mbi_amg_level *level) {
  mbi_amg_build build;
  mbi_reduction s;
  s.level = level;
  memset(&build, 0, sizeof build);
  build.to = &level->r;
  build.what = "the restriction";
  build.rows = mbi_reduction_rows;
  build.self = &s;
  build.tasks = mbi_share_tasks(context, level->a.rows + level->a.nnz);
  build.valued = 1;
  build.columns = level->a.rows;
  build.hint = (MBI_REDUCTION_NEAR + 1) * (int64_t)level->aggregates; /* the most */
  return mbi_amg_build_run(context, &build, level->aggregates, level->a.rows);
}
