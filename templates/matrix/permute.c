#include "core/context.h"
#include "matrix/matrix.h"

/* Reordering of the rows and columns of a square CSR: P A P'. */

/* Runs `loop` with the size of a value as a compile-time constant. */
#define MBI_BY_SIZE(size, loop)                                                                \
  switch (size) {                                                                              \
  case sizeof(uint16_t):                                                                       \
    loop(sizeof(uint16_t));                                                                    \
    break;                                                                                     \
  case sizeof(float):                                                                          \
    loop(sizeof(float));                                                                       \
    break;                                                                                     \
  case sizeof(double):                                                                         \
    loop(sizeof(double));                                                                      \
    break;                                                                                     \
  default:                                                                                     \
    loop(sizeof(mbi_c128));                                                                    \
  }
#define MBI_GATHER(size)                                                                       \
  for (i = first; i < last; i++) {                                                             \
    memcpy(target + (size_t)i * size,                                                          \
           source + (size_t)mbi_index_at(places, place_type, i) * size, size);                 \
  }
#define MBI_SCATTER(size)                                                                      \
  for (i = first; i < last; i++) {                                                             \
    memcpy(target + (size_t)mbi_index_at(places, place_type, i) * size,                        \
           source + (size_t)i * size, size);                                                   \
  }

/* Sets to[i] = from[places[i]] for i in [first, last). */
MBI_INTERNAL void mbi_gather(merbit_type type, void *to, const void *from, const void *places,
                             merbit_index_type place_type, int64_t first, int64_t last) {
  char *target = (char *)to;
  const char *source = (const char *)from;
  int64_t i;
  MBI_BY_SIZE(mbi_type_size(type), MBI_GATHER)
}

/* Sets to[places[i]] = from[i] for i in [first, last). */
MBI_INTERNAL void mbi_scatter(merbit_type type, void *to, const void *from, const void *places,
                              merbit_index_type place_type, int64_t first, int64_t last) {
  char *target = (char *)to;
  const char *source = (const char *)from;
  int64_t i;
  MBI_BY_SIZE(mbi_type_size(type), MBI_SCATTER)
}

/* ---- Bandwidth --------------------------------------------------------------------------- */

static void mbi_bandwidth_task(void *argument, int task) {
  mbi_permute *p = (mbi_permute *)argument;
  const merbit_view *csr = p->from;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t row = mbi_share_rows(csr, p->tasks, task), widest = 0, k;
  const int64_t last = mbi_share_rows(csr, p->tasks, task + 1);
  for (; row < last; row++) {
    const int64_t end = mbi_row_start(csr, row + 1);
    for (k = mbi_row_start(csr, row); k < end; k++) {
      const int64_t off = col_ind[k] - csr->base - row;
      widest = off > widest ? off : -off > widest ? -off : widest;
    }
  }
  p->widest[task] = widest;
}

/* Returns the bandwidth: the largest |column - row| over all entries. */
MBI_INTERNAL int64_t mbi_bandwidth(merbit_context *context, const merbit_view *csr) {
  mbi_permute p;
  int64_t widest = 0;
  int task;
  p.from = csr;
  p.tasks = mbi_share_tasks(context, csr->nnz);
  mbi_parallel(context, p.tasks, mbi_bandwidth_task, &p);
  for (task = 0; task < p.tasks; task++) {
    widest = p.widest[task] > widest ? p.widest[task] : widest;
  }
  return widest;
}

/* ---- Rows -------------------------------------------------------------------------------- */

static int64_t mbi_permute_start(const mbi_permute *p, int64_t row) {
  return mbi_row_start(p->from, row);
}

/* Stores the length of new row i as offset i + 1, and computes the inverse of the order. */
static void mbi_permute_lengths_task(void *argument, int task) {
  const mbi_permute *p = (const mbi_permute *)argument;
  int64_t row = mbi_share(p->to.rows, p->tasks, task);
  const int64_t last = mbi_share(p->to.rows, p->tasks, task + 1);
  for (; row < last; row++) {
    const int32_t old = p->order[row];
    p->inverse[old] = (int32_t)row;
    mbi_index_set(p->row_ptr, p->to.offset_type, row + 1,
                  mbi_permute_start(p, (int64_t)old + 1) - mbi_permute_start(p, old));
  }
}

static void mbi_permute_starts(mbi_permute *p) {
  const merbit_index_type type = p->to.offset_type;
  int64_t at = 0, row;
  mbi_index_set(p->row_ptr, type, 0, 0);
  for (row = 1; row <= p->to.rows; row++) {
    at += mbi_index_at(p->row_ptr, type, row);
    mbi_index_set(p->row_ptr, type, row, at);
  }
}

static void mbi_permute_longest_task(void *argument, int task) {
  mbi_permute *p = (mbi_permute *)argument;
  int64_t row = mbi_share_rows(&p->to, p->tasks, task), longest = 0;
  const int64_t last = mbi_share_rows(&p->to, p->tasks, task + 1);
  for (; row < last; row++) {
    const int64_t length = mbi_index_at(p->row_ptr, p->to.offset_type, row + 1) -
                           mbi_index_at(p->row_ptr, p->to.offset_type, row);
    longest = length > longest ? length : longest;
  }
  p->longest[task] = longest;
}

/* Writes a row sorted by column. Entries with equal columns keep their order. `keys` has space
 * for twice the row's length. */
static void mbi_permute_row(const mbi_permute *p, int64_t row, uint64_t *keys) {
  const int32_t *col_ind = (const int32_t *)p->from->col_ind;
  const int64_t start = mbi_permute_start(p, p->order[row]);
  const int64_t at = mbi_index_at(p->row_ptr, p->to.offset_type, row);
  const int64_t length = mbi_index_at(p->row_ptr, p->to.offset_type, row + 1) - at;
  const uint64_t *sorted;
  int64_t k;
  for (k = 0; k < length; k++) {
    const int32_t column = p->inverse[col_ind[start + k] - p->from->base];
    keys[k] = (uint64_t)(uint32_t)column << 32 | (uint32_t)k;
  }
  sorted = mbi_keys_sort(keys, keys + length, length, (uint32_t)p->to.cols);
  for (k = 0; k < length; k++) {
    p->col_ind[at + k] = (int32_t)(sorted[k] >> 32);
    if (p->places != NULL) {
      mbi_index_set(p->places, p->to.offset_type, at + k, start + (int64_t)(uint32_t)sorted[k]);
    }
  }
}

static void mbi_permute_rows_task(void *argument, int task) {
  const mbi_permute *p = (const mbi_permute *)argument;
  int64_t row = mbi_share_rows(&p->to, p->tasks, task), before = 0;
  const int64_t first = row, last = mbi_share_rows(&p->to, p->tasks, task + 1);
  int i;
  for (i = 0; i < task; i++) {
    before += p->longest[i];
  }
  for (; row < last; row++) {
    mbi_permute_row(p, row, p->keys + 2 * before);
  }
  if (p->values != NULL) {
    mbi_gather(p->to.value_type, p->values, p->from->values, p->places, p->to.offset_type,
               mbi_index_at(p->row_ptr, p->to.offset_type, first),
               mbi_index_at(p->row_ptr, p->to.offset_type, last));
  }
}

static merbit_status mbi_permute_allocate(mbi_permute *p) {
  merbit_context *context = p->context;
  const size_t offset = mbi_index_bytes(p->to.offset_type);
  void *memory = NULL;
  MBI_TRY(mbi_allocate_array(context, p->to.rows, sizeof(int32_t), "the inverse of an order",
                             &memory));
  p->inverse = (int32_t *)memory;
  MBI_TRY(mbi_allocate_array(context, p->to.rows + 1, offset, "the row offsets of a matrix",
                             &p->row_ptr));
  p->to.row_ptr = p->row_ptr;
  MBI_TRY(mbi_allocate_array(context, p->to.nnz, sizeof(int32_t), "the columns of a matrix",
                             &memory));
  p->to.col_ind = p->col_ind = (int32_t *)memory;
  if (p->from->values != NULL) {
    MBI_TRY(mbi_allocate_array(context, p->to.nnz, mbi_type_size(p->to.value_type),
                               "the values of a matrix", &p->values));
    p->to.values = p->values;
    MBI_TRY(mbi_allocate_array(context, p->to.nnz, offset, "the places of values in a matrix",
                               &p->places));
  }
  return MERBIT_OK;
}

/* Computes the inverse of the order and the row offsets. Sets *keys to the sum of the tasks'
 * longest rows. */
MBI_INTERNAL merbit_status mbi_permute_measure(mbi_permute *p, int64_t *keys) {
  int task;
  mbi_parallel(p->context, p->tasks, mbi_permute_lengths_task, p);
  mbi_permute_starts(p);
  mbi_parallel(p->context, p->tasks, mbi_permute_longest_task, p);
  *keys = 0;
  for (task = 0; task < p->tasks; task++) {
    if (p->longest[task] > (int64_t)UINT32_MAX) {
      return mbi_fail(p->context, MERBIT_TOO_LARGE,
                      "a row has %" PRId64 " entries; a reordering takes at most 4294967295",
                      p->longest[task]);
    }
    *keys += p->longest[task];
  }
  return MERBIT_OK;
}

static merbit_status mbi_permute_run(mbi_permute *p) {
  int64_t keys;
  void *memory = NULL;
  MBI_TRY(mbi_permute_allocate(p));
  MBI_TRY(mbi_permute_measure(p, &keys));
  MBI_TRY(mbi_allocate_array(p->context, keys, 2 * sizeof(uint64_t),
                             "the scratch of a permutation", &memory));
  p->keys = (uint64_t *)memory;
  mbi_parallel(p->context, p->tasks, mbi_permute_rows_task, p);
  mbi_release(p->context, memory);
  return MERBIT_OK;
}

/* Makes *matrix from the checked square host CSR `from`, which has 32-bit columns, by
 * reordering its rows and columns. Sets *places to an array with the original position of each
 * entry, in the matrix's offset_type, or to NULL for a pattern. The caller releases both. */
MBI_INTERNAL merbit_status mbi_matrix_permute(merbit_context *context, const merbit_view *from,
                                              const int32_t *order, merbit_matrix **matrix,
                                              void **places) {
  mbi_permute p;
  merbit_status status;
  memset(&p, 0, sizeof p);
  p.context = context;
  p.from = from;
  p.order = order;
  p.tasks = mbi_share_tasks(context, from->nnz);
  p.to.value_type = mbi_view_type(from);
  p.to.offset_type = from->nnz <= INT32_MAX ? MERBIT_INDEX_32 : MERBIT_INDEX_64;
  p.to.memory = MERBIT_MEMORY_HOST;
  p.to.rows = from->rows;
  p.to.cols = from->cols;
  p.to.nnz = from->nnz;
  *matrix = NULL;
  *places = NULL;
  status = mbi_permute_run(&p);
  if (status == MERBIT_OK) {
    status = mbi_matrix_record(context, &p.to, NULL, matrix);
  }
  mbi_release(context, p.inverse);
  if (status != MERBIT_OK) {
    mbi_host_view_release(context, &p.to);
    mbi_release(context, p.places);
    return status;
  }
  *places = p.places;
  return MERBIT_OK;
}
