#include "matrix/matrix.h"

/* Conversion of any host view to CSR in three steps: group the entries by row (a stable
 * counting sort, unless they are already grouped), sort each row by column (stably, and only
 * rows that need it), and add up duplicates. */

static int64_t mbi_build_row(const mbi_build *build, int64_t entry) {
  return mbi_index_at(build->major, build->from->index_type, entry) - build->from->base;
}

/* ---- Step 1: group by row ---------------------------------------------------------------- */

/* Sets the row offsets of a COO whose rows ascend. Returns 1, or 0 if they do not ascend. */
static int mbi_build_rows_in_order(mbi_build *build) {
  int64_t row = 0, entry;
  for (entry = 0; entry < build->to.nnz; entry++) {
    int64_t next = mbi_build_row(build, entry);
    if (next < row - 1) {
      return 0;
    }
    while (row <= next) {
      build->row_ptr[row++] = entry;
    }
  }
  while (row <= build->to.rows) {
    build->row_ptr[row++] = build->to.nnz;
  }
  return 1;
}

static void mbi_build_copy_task(void *argument, int task) {
  const mbi_build *build = (const mbi_build *)argument;
  int64_t first = mbi_share(build->to.nnz, build->tasks, task);
  int64_t last = mbi_share(build->to.nnz, build->tasks, task + 1), i;
  size_t size = mbi_type_size(build->to.value_type);
  for (i = first; i < last; i++) {
    build->col_ind[i] =
        (int32_t)(mbi_index_at(build->minor, build->from->index_type, i) - build->from->base);
  }
  if (build->values != NULL) {
    memcpy((char *)build->values + (size_t)first * size,
           (const char *)build->from->values + (size_t)first * size,
           (size_t)(last - first) * size);
  }
}

/* Returns a task's cursors, one per row. */
static void *mbi_build_cursors(const mbi_build *build, int task) {
  const size_t before = (size_t)task * (size_t)build->to.rows;
  return (char *)build->cursors + before * mbi_index_bytes(build->cursor_type);
}

/* Returns a row's cursor and advances it. */
static int64_t mbi_build_next(const mbi_build *build, void *cursors, int64_t row) {
  const int64_t at = mbi_index_at(cursors, build->cursor_type, row);
  mbi_index_set(cursors, build->cursor_type, row, at + 1);
  return at;
}

MBI_INTERNAL void mbi_build_count_task(void *argument, int task) {
  const mbi_build *build = (const mbi_build *)argument;
  void *cursors = mbi_build_cursors(build, task);
  const int64_t last = mbi_share(build->to.nnz, build->tasks, task + 1);
  int64_t i;
  memset(cursors, 0, (size_t)build->to.rows * mbi_index_bytes(build->cursor_type));
  for (i = mbi_share(build->to.nnz, build->tasks, task); i < last; i++) {
    (void)mbi_build_next(build, cursors, mbi_build_row(build, i));
  }
}

/* Converts counts to start positions, row by row and, to keep the sort stable, task by task. */
MBI_INTERNAL void mbi_build_place(mbi_build *build) {
  const int64_t rows = build->to.rows;
  int64_t row, at = 0;
  int task;
  for (row = 0; row < rows; row++) {
    build->row_ptr[row] = at;
    for (task = 0; task < build->tasks; task++) {
      const int64_t count = mbi_index_at(build->cursors, build->cursor_type, task * rows + row);
      mbi_index_set(build->cursors, build->cursor_type, task * rows + row, at);
      at += count;
    }
  }
  build->row_ptr[rows] = at;
}

MBI_INTERNAL void mbi_build_scatter_task(void *argument, int task) {
  const mbi_build *build = (const mbi_build *)argument;
  const merbit_view *from = build->from;
  const size_t size = build->values != NULL ? mbi_type_size(build->to.value_type) : 0;
  void *cursors = mbi_build_cursors(build, task);
  int64_t i = mbi_share(build->to.nnz, build->tasks, task);
  int64_t last = mbi_share(build->to.nnz, build->tasks, task + 1);
  int64_t column = 0, column_end = 0;
  if (build->walk && i < last) {
    column = mbi_row_of(from, i);
    column_end = mbi_row_start(from, column + 1);
  }
  for (; i < last; i++) {
    const int64_t at = mbi_build_next(build, cursors, mbi_build_row(build, i));
    if (!build->walk) {
      column = mbi_index_at(build->minor, from->index_type, i) - from->base;
    }
    while (build->walk && i >= column_end) {
      column++;
      column_end = mbi_row_start(from, column + 1);
    }
    build->col_ind[at] = (int32_t)column;
    mbi_value_copy(build->values, at, from->values, i, size);
    if (build->places != NULL) {
      mbi_index_set(build->places, build->place_type, at, i);
    }
  }
}

static merbit_status mbi_build_bucket(mbi_build *build) {
  int64_t rows = build->to.rows, affordable = build->to.nnz / (rows > 0 ? rows : 1);
  /* Use at most as many cursors as there are entries, but always those of one task. */
  build->tasks = mbi_share_tasks(build->context, build->to.nnz);
  if (build->tasks > affordable) {
    build->tasks = affordable > 1 ? (int)affordable : 1;
  }
  build->cursor_type = build->to.nnz <= INT32_MAX ? MERBIT_INDEX_32 : MERBIT_INDEX_64;
  MBI_TRY(mbi_allocate_array(build->context, rows,
                             (size_t)build->tasks * mbi_index_bytes(build->cursor_type),
                             "the cursors of a sort by rows", &build->cursors));
  mbi_parallel(build->context, build->tasks, mbi_build_count_task, build);
  mbi_build_place(build);
  mbi_parallel(build->context, build->tasks, mbi_build_scatter_task, build);
  mbi_release(build->context, build->cursors);
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_build_group(mbi_build *build) {
  const merbit_view *from = build->from;
  int64_t row;
  if (from->format == MERBIT_CSR && !build->walk) {
    build->row_ptr[0] = 0;
    for (row = 1; row <= from->rows; row++) {
      build->row_ptr[row] = mbi_row_start(from, row);
    }
  } else if (build->walk || !mbi_build_rows_in_order(build)) {
    return mbi_build_bucket(build);
  }
  build->tasks = mbi_share_tasks(build->context, build->to.nnz);
  mbi_parallel(build->context, build->tasks, mbi_build_copy_task, build);
  return MERBIT_OK;
}

/* ---- Step 2: sort each row by column ----------------------------------------------------- */

/* Returns -1 if the columns are out of order, 0 if they ascend with duplicates, 1 if they
 * ascend strictly. */
MBI_INTERNAL int mbi_row_order(const int32_t *columns, int64_t length) {
  int64_t i;
  int order = 1;
  for (i = 1; i < length; i++) {
    if (columns[i] <= columns[i - 1]) {
      if (columns[i] < columns[i - 1]) {
        return -1;
      }
      order = 0;
    }
  }
  return order;
}

static void mbi_build_inspect_task(void *argument, int task) {
  mbi_build *build = (mbi_build *)argument;
  int64_t row = mbi_share_rows(&build->to, build->tasks, task);
  const int64_t last = mbi_share_rows(&build->to, build->tasks, task + 1);
  int64_t longest = 0;
  int duplicates = 0;
  for (; row < last; row++) {
    int64_t length = build->row_ptr[row + 1] - build->row_ptr[row];
    int order = mbi_row_order(build->col_ind + build->row_ptr[row], length);
    if (order < 0 && length > longest) {
      longest = length;
    }
    duplicates |= order == 0;
  }
  build->longest[task] = longest;
  build->duplicates[task] = duplicates;
}

/* Sorts a row. `before` is the number of scratch elements that belong to earlier tasks. */
static void mbi_build_sort_row(const mbi_build *build, int64_t row, int64_t before) {
  const size_t size = mbi_type_size(build->to.value_type);
  const int64_t start = build->row_ptr[row], length = build->row_ptr[row + 1] - start;
  mbi_row_sort(build->col_ind + start,
               build->values != NULL ? (char *)build->values + (size_t)start * size : NULL,
               build->values != NULL ? size : 0, length, build->to.cols,
               build->scratch_columns + before, (char *)build->scratch + (size_t)before * size);
}

static void mbi_build_sort_task(void *argument, int task) {
  mbi_build *build = (mbi_build *)argument;
  int64_t row = mbi_share_rows(&build->to, build->tasks, task);
  const int64_t last = mbi_share_rows(&build->to, build->tasks, task + 1);
  int64_t before = 0;
  int i;
  for (i = 0; i < task; i++) {
    before += build->longest[i];
  }
  for (; build->longest[task] > 0 && row < last; row++) {
    const int32_t *columns = build->col_ind + build->row_ptr[row];
    int64_t length = build->row_ptr[row + 1] - build->row_ptr[row];
    if (mbi_row_order(columns, length) < 0) {
      mbi_build_sort_row(build, row, before);
      build->duplicates[task] |= mbi_row_order(columns, length) == 0;
    }
  }
}

MBI_INTERNAL merbit_status mbi_build_sort(mbi_build *build) {
  size_t size = mbi_type_size(build->to.value_type);
  int64_t length = 0;
  int task;
  build->tasks = mbi_share_tasks(build->context, build->to.nnz);
  mbi_parallel(build->context, build->tasks, mbi_build_inspect_task, build);
  for (task = 0; task < build->tasks; task++) {
    length += build->longest[task];
  }
  if (length == 0) {
    return MERBIT_OK;
  }
  length += length % 2; /* columns follow the values, which may have 2 bytes each */
  MBI_TRY(mbi_allocate_array(build->context, length, size + sizeof(int32_t),
                             "the scratch of a sort by columns", &build->scratch));
  build->scratch_columns = (int32_t *)(void *)((char *)build->scratch + (size_t)length * size);
  mbi_parallel(build->context, build->tasks, mbi_build_sort_task, build);
  mbi_release(build->context, build->scratch);
  return MERBIT_OK;
}

/* ---- Step 3: add up duplicates ----------------------------------------------------------- */

/* Adds value i to value `at`. */
static void mbi_build_add(merbit_type type, void *values, int64_t at, int64_t i) {
  const int parts = mbi_type_complex(type) ? 2 : 1;
  int part;
  for (part = 0; part < parts; part++) {
    if (type == MERBIT_F32 || type == MERBIT_C64) {
      ((float *)values)[at * parts + part] += ((float *)values)[i * parts + part];
    } else {
      ((double *)values)[at * parts + part] += ((double *)values)[i * parts + part];
    }
  }
}

/* Adds up duplicates in place. The position written never passes the position read. */
static void mbi_build_add_up(mbi_build *build) {
  const merbit_type type = build->to.value_type;
  const size_t size = mbi_type_size(type);
  int64_t row, at = 0, i = 0;
  for (row = 0; row < build->to.rows; row++) {
    int64_t first = at, end = build->row_ptr[row + 1];
    for (; i < end; i++) {
      if (at > first && build->col_ind[at - 1] == build->col_ind[i]) {
        mbi_build_add(type, build->values, at - 1, i);
      } else {
        build->col_ind[at] = build->col_ind[i];
        mbi_value_copy(build->values, at++, build->values, i, size);
      }
    }
    build->row_ptr[row + 1] = at;
  }
  build->to.nnz = at;
}

/* Writes ones in a type other than f16 and bf16. */
static void mbi_build_ones(merbit_type type, void *values, int64_t count) {
  const int parts = mbi_type_complex(type) ? 2 : 1;
  const int single = type == MERBIT_F32 || type == MERBIT_C64;
  int64_t i;
  for (i = 0; i < count * parts; i++) {
    if (single) {
      ((float *)values)[i] = i % parts == 0 ? 1.0f : 0.0f;
    } else {
      ((double *)values)[i] = i % parts == 0 ? 1.0 : 0.0;
    }
  }
}

/* Fails with the first duplicate entry of 16-bit values, whose sum would lose digits. */
static merbit_status mbi_build_refuse(const mbi_build *build) {
  int64_t row = 0, i = 1;
  for (; row < build->to.rows; row++) {
    for (i = build->row_ptr[row] + 1; i < build->row_ptr[row + 1]; i++) {
      if (build->col_ind[i] == build->col_ind[i - 1]) {
        return mbi_fail(build->context, MERBIT_NOT_SUPPORTED,
                        "entry (%" PRId64 ", %" PRId64
                        ") occurs twice; sums of %s values would lose digits: add them up in "
                        "MERBIT_F32, or make a plan of the view, which takes duplicates",
                        row, (int64_t)build->col_ind[i], mbi_type_names[build->to.value_type]);
      }
    }
  }
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_build_merge(mbi_build *build) {
  const merbit_type type = build->to.value_type;
  int task, duplicates = 0;
  for (task = 0; task < build->tasks; task++) {
    duplicates |= build->duplicates[task];
  }
  if (!duplicates) {
    return MERBIT_OK;
  }
  if (mbi_type_short(type)) {
    return mbi_build_refuse(build);
  }
  /* Duplicates in a pattern are counted, so the pattern needs values. */
  if (build->values == NULL) {
    MBI_TRY(mbi_allocate_array(build->context, build->to.nnz, mbi_type_size(type),
                               "the values of a matrix", &build->values));
    mbi_build_ones(type, build->values, build->to.nnz);
  }
  mbi_build_add_up(build);
  return MERBIT_OK;
}
