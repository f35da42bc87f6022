#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/cpu/cpu.h"
#include "spmv/plan/plan.h"

/* SORTED: rows sorted by length within windows. This is the sigma of SELL-C-sigma (M. Kreutzer
 * et al., A Unified Sparse Matrix Data Format, SIAM J. Sci. Comput. 36(5), 2014) without its
 * padding. On short rows a CPU core loses most of its time to mispredicted row ends, but it
 * predicts well if the next row is as long as the last. The rows of a window stay together, so
 * that x and y are accessed with the same locality as before. Tasks take the same parts as in
 * spmv/cpu/path.c; a row that several tasks share is not moved.
 *
 * The plan holds copies of the columns, and of the values unless they are all equal. Each task
 * is the first to write its own part, so that the pages lie on the node where it runs. With
 * plan->making.in_place there are no copies: rows move within the arrays of the view. */

typedef struct mbi_sorted_build {
  merbit_plan *plan;
  int64_t most; /* entries of the largest window */
  char *room;   /* in place: a buffer for a window of each task; otherwise NULL */
  size_t share; /* bytes of `room` per task, enough for columns or values */
} mbi_sorted_build;

static int64_t mbi_sorted_windows(const mbi_sorted_share *share) {
  return (share->last - share->row + MBI_SORTED_WINDOW - 1) / MBI_SORTED_WINDOW;
}

/* Splits the matrix into the parts of the tasks, as spmv/cpu/path.c does. */
static void mbi_sorted_cut(merbit_plan *plan) {
  const merbit_view *csr = &plan->csr;
  const int64_t path = csr->rows + csr->nnz;
  mbi_sorted_share *share = plan->sorted.shares;
  mbi_merge_point from = {0, 0};
  int task;
  for (task = 0; task < plan->tasks; task++, share++) {
    const mbi_merge_point to = mbi_merge_search(csr, mbi_share(path, plan->tasks, task + 1));
    share->head_row = -1;
    share->head = share->head_end = share->carry = from.entry;
    share->row = from.row;
    share->last = to.row;
    share->carry_end = to.entry;
    if (from.row < to.row) {
      if (mbi_row_start(csr, from.row) < from.entry) {
        share->head_row = from.row;
        share->row++;
        share->head_end = mbi_row_start(csr, share->row);
      }
      share->carry = mbi_row_start(csr, to.row);
    }
    share->windows = mbi_sorted_windows(share);
    from = to;
  }
}

static int mbi_sorted_bucket(int64_t length) {
  return length < MBI_SORTED_LONG ? (int)length : MBI_SORTED_LONG;
}

/* Counts the rows of a window by length. The last count is that of all long rows. */
static void mbi_sorted_count(const merbit_view *csr, int64_t row, int64_t last,
                             int64_t *counts) {
  int64_t start = mbi_row_start(csr, row);
  memset(counts, 0, (MBI_SORTED_LONG + 1) * sizeof *counts);
  for (; row < last; row++) {
    const int64_t end = mbi_row_start(csr, row + 1);
    counts[mbi_sorted_bucket(end - start)]++;
    start = end;
  }
}

static int64_t mbi_sorted_window_end(const mbi_sorted_share *share, int64_t row) {
  return row < share->last - MBI_SORTED_WINDOW ? row + MBI_SORTED_WINDOW : share->last;
}

/* Returns whether all values have the same bits, by comparing each with the next. */
MBI_INTERNAL int mbi_cpu_values_equal(const merbit_plan *plan) {
  const size_t size = mbi_type_size(plan->type);
  const char *values = (const char *)plan->values;
  return values == NULL || plan->csr.nnz < 2 ||
         memcmp(values, values + size, ((size_t)plan->csr.nnz - 1) * size) == 0;
}

/* First pass of a task: counts its runs and the entries of its largest window. */
static void mbi_sorted_measure(void *argument, int task) {
  const merbit_plan *plan = ((const mbi_sorted_build *)argument)->plan;
  mbi_sorted_share *share = plan->sorted.shares + task;
  int64_t counts[MBI_SORTED_LONG + 1], row, last;
  int length;
  share->runs = share->most = 0;
  for (row = share->row; row < share->last; row = last) {
    int64_t entries;
    last = mbi_sorted_window_end(share, row);
    mbi_sorted_count(&plan->csr, row, last, counts);
    for (length = 0; length < MBI_SORTED_LONG; length++) {
      share->runs += counts[length] > 0;
    }
    share->runs += counts[MBI_SORTED_LONG];
    entries = mbi_row_start(&plan->csr, last) - mbi_row_start(&plan->csr, row);
    share->most = entries > share->most ? entries : share->most;
  }
}

/* Fills in the order of a window's rows and its runs. Returns the number of runs. */
static int64_t mbi_sorted_window_fill(const merbit_plan *plan, mbi_sorted_window *window,
                                      int64_t last) {
  const merbit_view *csr = &plan->csr;
  const mbi_sorted *sorted = &plan->sorted;
  uint16_t *id = sorted->row_id + window->row;
  mbi_sorted_run *run = sorted->runs + window->run;
  int64_t counts[MBI_SORTED_LONG + 1], places[MBI_SORTED_LONG + 1], row, place = 0;
  int length;
  mbi_sorted_count(csr, window->row, last, counts);
  for (length = 0; length <= MBI_SORTED_LONG; length++) {
    places[length] = place;
    place += counts[length];
    if (length < MBI_SORTED_LONG && counts[length] > 0) {
      run->length = length;
      run->count = counts[length];
      run++;
    }
  }
  for (row = window->row; row < last; row++) {
    const int64_t entries = mbi_row_start(csr, row + 1) - mbi_row_start(csr, row);
    id[places[mbi_sorted_bucket(entries)]++] = (uint16_t)(row - window->row);
    if (entries >= MBI_SORTED_LONG) {
      run->length = entries;
      run->count = 1;
      run++;
    }
  }
  return run - (sorted->runs + window->run);
}

/* Moves a task's elements, `size` bytes per entry, from the order of the CSR to that of the
 * sorted rows. In place, each window is first copied to build->room. */
static void mbi_sorted_move(const mbi_sorted_build *build, int task, const void *array,
                            size_t size, void *target) {
  const merbit_view *csr = &build->plan->csr;
  const mbi_sorted *sorted = &build->plan->sorted;
  const mbi_sorted_share *share = sorted->shares + task;
  const char *from = (const char *)array;
  char *to = (char *)target;
  int64_t window, i, next;
  if (build->room == NULL) {
    memcpy(to + (size_t)share->head * size, from + (size_t)share->head * size,
           (size_t)(share->head_end - share->head) * size);
    memcpy(to + (size_t)share->carry * size, from + (size_t)share->carry * size,
           (size_t)(share->carry_end - share->carry) * size);
  }
  for (window = share->window; window < share->window + share->windows; window++) {
    const mbi_sorted_window *w = sorted->windows + window;
    const uint16_t *id = sorted->row_id + w->row;
    const int64_t rows = mbi_sorted_window_end(share, w->row) - w->row;
    const char *source = from + (size_t)w->entry * size;
    char *at = to + (size_t)w->entry * size;
    const size_t all = (size_t)(mbi_row_start(csr, w->row + rows) - w->entry) * size;
    const char *end = at + all;
    if (build->room != NULL) {
      source = (const char *)memcpy(build->room + (size_t)task * build->share, source, all);
    }
    for (i = next = 0; i < rows; i = next) { /* neighbours move together */
      const int64_t start = mbi_row_start(csr, w->row + id[i]);
      const size_t skipped = (size_t)(start - w->entry) * size;
      size_t bytes, left = all - skipped;
      do {
        next++;
      } while (next < rows && id[next] == id[next - 1] + 1);
      bytes = (size_t)(mbi_row_start(csr, w->row + id[next - 1] + 1) - start) * size;
      left = left < (size_t)(end - at) ? left : (size_t)(end - at);
      mbi_copy_short(at, source + skipped, bytes, left);
      at += bytes;
    }
  }
}

static void mbi_sorted_values(void *argument, int task) {
  const mbi_sorted_build *build = (const mbi_sorted_build *)argument;
  const merbit_plan *plan = build->plan;
  mbi_sorted_move(build, task, plan->values, mbi_type_size(plan->type), plan->sorted.values);
}

/* Second pass of a task: fills in its windows, columns and values. */
static void mbi_sorted_fill(void *argument, int task) {
  const mbi_sorted_build *build = (const mbi_sorted_build *)argument;
  const merbit_plan *plan = build->plan;
  const merbit_view *csr = &plan->csr;
  const mbi_sorted *sorted = &plan->sorted;
  const mbi_sorted_share *share = sorted->shares + task;
  int64_t row, run = share->run, k;
  mbi_sorted_window *window = sorted->windows + share->window;
  for (row = share->row; row < share->last; row += MBI_SORTED_WINDOW, window++) {
    window->row = row;
    window->entry = mbi_row_start(csr, row);
    window->run = run;
    window->runs = mbi_sorted_window_fill(plan, window, mbi_sorted_window_end(share, row));
    run += window->runs;
  }
  if (csr->nnz > 0) { /* otherwise col_ind may be NULL */
    mbi_sorted_move(build, task, csr->col_ind, sizeof *sorted->col_ind, sorted->col_ind);
  }
  for (k = share->head; csr->base != 0 && k < share->carry_end; k++) {
    sorted->col_ind[k] -= csr->base;
  }
  if (task == plan->tasks - 1) { /* padding for the prefetch */
    memset(sorted->col_ind + csr->nnz, 0, MBI_SORTED_PADDING * sizeof *sorted->col_ind);
  }
  if (sorted->values != NULL) {
    mbi_sorted_values(argument, task);
  }
}

MBI_INTERNAL void mbi_sorted_destroy(merbit_plan *plan) {
  mbi_sorted *sorted = &plan->sorted;
  mbi_release(plan->context, sorted->shares);
  mbi_release(plan->context, sorted->windows);
  mbi_release(plan->context, sorted->runs);
  mbi_release(plan->context, sorted->row_id);
  if (!plan->making.in_place) {
    mbi_release(plan->context, sorted->col_ind);
    mbi_release(plan->context, sorted->values);
  }
  memset(sorted, 0, sizeof *sorted);
}

/* Returns the value that all nonzeros share. A float converts to double exactly. */
static double mbi_sorted_first(const merbit_plan *plan) {
  return plan->values == NULL || plan->csr.nnz == 0 ? 1
         : plan->type == MERBIT_F32                 ? (double)*(const float *)plan->values
                                                    : *(const double *)plan->values;
}

static merbit_status mbi_sorted_allocate_values(merbit_plan *plan) {
  if (plan->making.in_place) {
    plan->sorted.values = (void *)(uintptr_t)plan->csr.values;
    return MERBIT_OK;
  }
  return mbi_allocate_array(plan->context, plan->csr.nnz, mbi_type_size(plan->type),
                            "the values of sorted rows", &plan->sorted.values);
}

/* Allocates the arrays whose sizes are known after the first pass. */
static merbit_status mbi_sorted_allocate(mbi_sorted_build *build) {
  merbit_plan *plan = build->plan;
  merbit_context *context = plan->context;
  mbi_sorted *sorted = &plan->sorted;
  int64_t windows = 0, runs = 0;
  void *memory;
  int task;
  for (task = 0; task < plan->tasks; task++) {
    sorted->shares[task].window = windows;
    sorted->shares[task].run = runs;
    windows += sorted->shares[task].windows;
    runs += sorted->shares[task].runs;
    build->most =
        sorted->shares[task].most > build->most ? sorted->shares[task].most : build->most;
  }
  MBI_TRY(mbi_allocate_array(context, windows, sizeof *sorted->windows,
                             "the windows of sorted rows", &memory));
  sorted->windows = (mbi_sorted_window *)memory;
  MBI_TRY(mbi_allocate_array(context, runs, sizeof *sorted->runs, "the runs of sorted rows",
                             &memory));
  sorted->runs = (mbi_sorted_run *)memory;
  MBI_TRY(mbi_allocate_array(context, plan->csr.rows, sizeof *sorted->row_id,
                             "the numbers of sorted rows", &memory));
  sorted->row_id = (uint16_t *)memory;
  if (plan->making.in_place) {
    sorted->col_ind = (int32_t *)(uintptr_t)plan->csr.col_ind;
    const size_t type = mbi_type_size(plan->type);
    const size_t entry = type > sizeof(int32_t) ? type : sizeof(int32_t);
    build->share = (size_t)build->most * entry;
    MBI_TRY(mbi_allocate_array(context, plan->tasks * build->most, entry, "windows of rows",
                               &memory));
    build->room = (char *)memory;
  } else {
    MBI_TRY(mbi_allocate_array(context, plan->csr.nnz + MBI_SORTED_PADDING,
                               sizeof *sorted->col_ind, "the columns of sorted rows", &memory));
    sorted->col_ind = (int32_t *)memory;
  }
  return (plan->desc.changing_values && plan->values != NULL) || !mbi_cpu_values_equal(plan)
             ? mbi_sorted_allocate_values(plan)
             : MERBIT_OK;
}

/* Builds plan->sorted from plan->csr and plan->values. On failure the caller runs
 * mbi_sorted_destroy. */
MBI_INTERNAL merbit_status mbi_sorted_create(merbit_plan *plan) {
  merbit_context *context = plan->context;
  mbi_sorted *sorted = &plan->sorted;
  mbi_sorted_build build = {plan, 0, NULL, 0};
  merbit_status status;
  void *memory;
  MBI_TRY(mbi_allocate_array(context, plan->tasks, sizeof *sorted->shares,
                             "the parts of sorted rows", &memory));
  sorted->shares = (mbi_sorted_share *)memory;
  mbi_sorted_cut(plan);
  mbi_parallel(context, plan->tasks, mbi_sorted_measure, &build);
  sorted->value = mbi_sorted_first(plan);
  sorted->far_x = mbi_x_is_far(plan);
  status = mbi_sorted_allocate(&build);
  if (status == MERBIT_OK) {
    mbi_parallel(context, plan->tasks, mbi_sorted_fill, &build);
  }
  mbi_release(context, build.room);
  return status;
}

/* Takes over new plan->values. If they are no longer all equal, allocates an array for them,
 * which the plan keeps. */
MBI_INTERNAL merbit_status mbi_sorted_update(merbit_plan *plan) {
  mbi_sorted_build build = {plan, 0, NULL, 0};
  if (plan->sorted.values == NULL) {
    if (mbi_cpu_values_equal(plan)) {
      plan->sorted.value = mbi_sorted_first(plan);
      return MERBIT_OK;
    }
    MBI_TRY(mbi_sorted_allocate_values(plan));
  }
  mbi_parallel(plan->context, plan->tasks, mbi_sorted_values, &build);
  return MERBIT_OK;
}
