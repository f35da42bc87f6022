#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* The splitting of rows into C points, which are the rows of the next level, and F points, in
 * rounds as in PMIS of De Sterck, Yang, Heys, "Reducing complexity in parallel algebraic
 * multigrid preconditioners", SIAM J. Matrix Anal. Appl. 27, 2006. Row i depends on j if
 * -sign(a_ii) a_ij is positive and at least MBI_REDUCTION_THETA times the largest such number
 * of its row, up to rounding. Unlike in PMIS, rows on which a C point depends become F points
 * as well: no C point depends on another. */

typedef struct mbi_splitting {
  mbi_amg_build build; /* of `strong` */
  const mbi_amg_level *level;
  mbi_amg_csr strong, influences; /* the rows that each row depends on; the transpose */
  double *weight; /* per row: if undecided, its weight, 1 or more; MBI_SPLITTING_C or _F */
  unsigned char *chosen; /* per row: 1 if it is a C point */
  int32_t *open;         /* lists of undecided rows; a task's list begins at its first row */
  int tasks;
  int32_t open_count[MBI_MAX_THREADS]; /* per task: length of its list */
  int32_t points[MBI_MAX_THREADS + 1]; /* per task: C points, later their first number */
} mbi_splitting;

#define MBI_SPLITTING_F 0.0 /* the weights of decided rows */
#define MBI_SPLITTING_C (-1.0)

/* Appends the rows that a task's rows depend on. Sets level->most. */
static void mbi_splitting_strong(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_amg_level *level = ((const mbi_splitting *)build->self)->level;
  const mbi_amg_csr *a = &level->a;
  const int64_t last = mbi_amg_share(a, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int64_t row = mbi_amg_share(a, build->tasks, task), k;
  (void)marks;
  for (; row < last; row++) {
    const int64_t begin = a->row_ptr[row], end = a->row_ptr[row + 1];
    double least = 0, greatest = 0, diagonal = 0, sign, most, noise;
    int32_t *col_ind, count = 0;
    if (!mbi_amg_reserve(build, task, end - begin)) {
      return;
    }
    col_ind = part->col_ind + part->used;
    for (k = begin; k < end; k++) {
      const int own = a->col_ind[k] == row;
      const double value = own ? 0 : a->values[k];
      diagonal = own ? a->values[k] : diagonal;
      least = value < least ? value : least;
      greatest = value > greatest ? value : greatest;
    }
    most = greatest > -least ? greatest : -least;
    noise = MBI_REDUCTION_NOISE * fabs(diagonal);
    level->most[row] = fmax(most > noise ? most : fabs(diagonal), DBL_MIN);
    noise = noise > MBI_REDUCTION_NOISE * most ? noise : MBI_REDUCTION_NOISE * most;
    sign = diagonal < 0 ? 1 : -1;
    least = MBI_REDUCTION_EQUAL * MBI_REDUCTION_THETA * (diagonal < 0 ? greatest : -least);
    for (k = begin; k < end; k++) {
      const double value = sign * a->values[k];
      col_ind[count] = a->col_ind[k];
      count += (value > noise) & (value >= least) & (a->col_ind[k] != row);
    }
    part->used += count;
    build->to->row_ptr[row + 1] = count;
  }
}

/* Declares what the tasks of a splitting begin with: their argument `s`, the task's first row
 * `row`, and the end `last` of its rows. */
#define MBI_SPLITTING_ROWS(s, row, last)                                                       \
  mbi_splitting *s = (mbi_splitting *)argument;                                                \
  const int64_t last = mbi_amg_share(&s->strong, s->tasks, task + 1);                          \
  int64_t row = mbi_amg_share(&s->strong, s->tasks, task)

/* Sets the weight of each row: the number of rows that depend on it, and a hash below 1. Makes
 * rows on which none depends F points, and lists the others. */
static void mbi_splitting_weigh(void *argument, int task) {
  MBI_SPLITTING_ROWS(s, row, last);
  int32_t *list = s->open + row, count = 0;
  for (; row < last; row++) {
    const int32_t influences = s->influences.row_ptr[row + 1] - s->influences.row_ptr[row];
    s->chosen[row] = 0;
    s->weight[row] = influences == 0
                         ? MBI_SPLITTING_F
                         : influences + (double)(mbi_amg_hash((uint64_t)row) >> 11) *
                                            (1.0 / 9007199254740992.0);
    if (influences > 0) {
      list[count++] = (int32_t)row;
    }
  }
  s->open_count[task] = count;
}

/* Returns whether a row's weight exceeds those of its undecided neighbours in `graph`. Ties go
 * to the larger index. */
static int mbi_splitting_exceeds(const mbi_splitting *s, const mbi_amg_csr *graph,
                                 int32_t row) {
  const double own = s->weight[row];
  int64_t k;
  for (k = graph->row_ptr[row]; k < graph->row_ptr[row + 1]; k++) {
    const int32_t column = graph->col_ind[k];
    const double other = s->weight[column];
    if (other > own || (other == own && column > row)) {
      return 0;
    }
  }
  return 1;
}

/* Chooses C points among the listed rows. Reads `weight` and writes `chosen`. */
static void mbi_splitting_choose(void *argument, int task) {
  mbi_splitting *s = (mbi_splitting *)argument;
  const int32_t *list = s->open + mbi_amg_share(&s->strong, s->tasks, task);
  int32_t i;
  for (i = 0; i < s->open_count[task]; i++) {
    s->chosen[list[i]] = mbi_splitting_exceeds(s, &s->strong, list[i]) &&
                         mbi_splitting_exceeds(s, &s->influences, list[i]);
  }
}

/* Returns whether a row has a C point among its neighbours in `graph`. */
static int mbi_splitting_touches(const mbi_splitting *s, const mbi_amg_csr *graph,
                                 int32_t row) {
  int64_t k;
  for (k = graph->row_ptr[row]; k < graph->row_ptr[row + 1]; k++) {
    if (s->chosen[graph->col_ind[k]]) {
      return 1;
    }
  }
  return 0;
}

/* Makes the listed rows that depend on a C point, or on which one depends, F points, and
 * removes decided rows from the list. Reads `chosen` and writes `weight`. */
static void mbi_splitting_settle(void *argument, int task) {
  mbi_splitting *s = (mbi_splitting *)argument;
  int32_t *list = s->open + mbi_amg_share(&s->strong, s->tasks, task);
  int32_t i, left = 0;
  for (i = 0; i < s->open_count[task]; i++) {
    const int32_t row = list[i];
    if (s->chosen[row]) {
      s->weight[row] = MBI_SPLITTING_C;
      s->points[task + 1]++;
    } else if (mbi_splitting_touches(s, &s->strong, row) ||
               mbi_splitting_touches(s, &s->influences, row)) {
      s->weight[row] = MBI_SPLITTING_F;
    } else {
      list[left++] = row;
    }
  }
  s->open_count[task] = left;
}

/* Numbers the C points in the order of the rows, in level->aggregate; F points get -1. Negates
 * level->most at C points. */
static void mbi_splitting_number(void *argument, int task) {
  MBI_SPLITTING_ROWS(s, row, last);
  int32_t next = s->points[task];
  for (; row < last; row++) {
    s->level->aggregate[row] = s->chosen[row] ? next++ : -1;
    s->level->most[row] *= s->chosen[row] ? -1 : 1;
  }
}

/* Decides all rows. Returns the number of C points. */
static int32_t mbi_splitting_run(merbit_context *context, mbi_splitting *s) {
  int64_t open = 1;
  int task;
  s->tasks = mbi_share_tasks(context, s->strong.rows + s->strong.nnz);
  mbi_parallel(context, s->tasks, mbi_splitting_weigh, s);
  while (open > 0) {
    mbi_parallel(context, s->tasks, mbi_splitting_choose, s);
    mbi_parallel(context, s->tasks, mbi_splitting_settle, s);
    for (open = 0, task = 0; task < s->tasks; task++) {
      open += s->open_count[task];
    }
  }
  for (task = 0; task < s->tasks; task++) {
    s->points[task + 1] += s->points[task];
  }
  mbi_parallel(context, s->tasks, mbi_splitting_number, s);
  return s->points[s->tasks];
}

/* Does the work of mbi_amg_split. The caller releases what `s` holds. */
static merbit_status mbi_splitting_make(merbit_context *context, mbi_splitting *s,
                                        mbi_amg_level *level) {
  const int64_t rows = level->a.rows;
  merbit_view view;
  MBI_TRY(mbi_allocate_array(context, rows, sizeof *level->most, "the largest entries of rows",
                             (void **)&level->most));
  MBI_TRY(mbi_allocate_array(context, rows, sizeof *level->aggregate,
                             "the splitting of multigrid", (void **)&level->aggregate));
  s->level = level;
  s->build.to = &s->strong;
  s->build.what = "the strong neighbours";
  s->build.rows = mbi_splitting_strong;
  s->build.self = s;
  s->build.tasks = mbi_share_tasks(context, rows + level->a.nnz);
  s->build.hint = level->a.nnz;
  MBI_TRY(mbi_amg_build_run(context, &s->build, rows, rows));
  view = mbi_amg_view(&s->strong);
  MBI_TRY(mbi_amg_take(context, &view, MBI_BUILD_TRANSPOSE, &s->influences));
  MBI_TRY(mbi_allocate_array(context, rows, sizeof *s->weight, "weights of rows",
                             (void **)&s->weight));
  MBI_TRY(
      mbi_allocate_array(context, rows, sizeof *s->open, "undecided rows", (void **)&s->open));
  MBI_TRY(mbi_allocate_array(context, rows, 1, "chosen rows", (void **)&s->chosen));
  level->aggregates = mbi_splitting_run(context, s);
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_amg_split(merbit_context *context, mbi_amg_level *level) {
  mbi_splitting s;
  merbit_status status;
  memset(&s, 0, sizeof s);
  status = mbi_splitting_make(context, &s, level);
  mbi_amg_csr_release(context, &s.strong);
  mbi_amg_csr_release(context, &s.influences);
  mbi_release(context, s.weight);
  mbi_release(context, s.open);
  mbi_release(context, s.chosen);
  return status;
}
