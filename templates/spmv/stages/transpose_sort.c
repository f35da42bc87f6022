#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* Transposes a CSR in GPU memory by sorting its entries by column, stably, with the kernels of
 * spmv/stages/transpose.cu. */

/* ---- Encode ------------------------------------------------------------------------------ */

#define MBI_TRANSPOSE_THREADS 512 /* MBK_TRANSPOSE_THREADS */
#define MBI_TRANSPOSE_TILE 6144   /* MBK_TRANSPOSE_TILE: entries that a block moves at a time */
#define MBI_TRANSPOSE_RESIDENT 2  /* blocks per multiprocessor; each sorts a run of tiles */
#define MBI_TRANSPOSE_DIGITS 256

static const char *const mbi_transpose_kernels[MBI_TRANSPOSE_KERNELS] = {
    "mbk_transpose_rows", "mbk_transpose_count", "mbk_transpose_scan", "mbk_transpose_move",
    "mbk_transpose_starts"};

/* Chooses the digits, and the blocks and their runs, for t->from. */
MBI_INTERNAL void mbi_transpose_size(const merbit_context *context, mbi_transposing *t) {
  const uint64_t nnz = t->from->nnz;
  const uint64_t tiles = (nnz + MBI_TRANSPOSE_TILE - 1) / MBI_TRANSPOSE_TILE;
  const uint64_t resident = MBI_TRANSPOSE_RESIDENT * (uint64_t)context->device.multiprocessors;
  const uint64_t most = tiles < resident ? tiles : resident;
  uint32_t bits = 1; /* bits of a column index */
  t->chunk = (tiles + most - 1) / most * MBI_TRANSPOSE_TILE;
  t->blocks = (nnz + t->chunk - 1) / t->chunk;
  t->place_type = nnz <= INT32_MAX ? MERBIT_INDEX_32 : MERBIT_INDEX_64;
  while ((t->from->cols - 1) >> bits > 0) {
    bits++;
  }
  t->passes = (int)(bits + 7) / 8;
  t->last = (t->passes - 1) & 1;
  t->bits = (bits + (uint32_t)t->passes - 1) / (uint32_t)t->passes;
}

/* Lays out in t->space the arrays that the plan does not keep, and returns their size. The
 * caller calls it a second time after allocating that much. Keys are stored in the array of
 * values as far as they fit, because the values are written after the sort. */
static uint64_t mbi_transpose_divide(mbi_transposing *t, uint64_t value) {
  const uint64_t place = mbi_index_bytes(t->place_type);
  const uint64_t columns = t->from->nnz * sizeof(int32_t);
  uint64_t used = 0;
  t->counts = mbi_device_part(t->space, (t->blocks * place) << t->bits, &used);
  t->totals = mbi_device_part(t->space, place << t->bits, &used);
  t->keys[0] = value >= 4 ? t->to->values : mbi_device_part(t->space, columns, &used);
  t->rows[1 - t->last] = mbi_device_part(t->space, columns, &used);
  if (t->passes > 1) {
    t->keys[1] =
        value >= 8 ? t->to->values + columns : mbi_device_part(t->space, columns, &used);
    if (value > 0) {
      t->places[1 - t->last] = mbi_device_part(t->space, t->from->nnz * place, &used);
    }
  }
  return used;
}

static merbit_status mbi_transpose_allocate(merbit_plan *plan, mbi_transposing *t) {
  mbi_device_csr *to = t->to;
  const uint64_t place = mbi_index_bytes(t->place_type), nnz = to->nnz;
  const uint64_t value = t->from->values != 0 ? mbi_type_size(plan->type) : 0;
  const uint64_t offsets = (to->rows + 1) * place, columns = nnz * sizeof(int32_t);
  mbi_devptr *const parts[] = {&to->row_ptr, &to->col_ind};
  const uint64_t bytes[] = {offsets, value > 0 ? 0 : columns};
  MBI_TRY(mbi_plan_allocate_parts(plan, "row_ptr and col_ind", 2, parts, bytes));
  to->owns_row_ptr = 1;
  if (value > 0) {
    mbi_reorder *r = &plan->reorder;
    /* An allocation of its own, because the extraction of blocks releases it. */
    MBI_TRY(mbi_plan_allocate(plan, columns, "col_ind", &to->col_ind));
    to->owns_col_ind = 1;
    MBI_TRY(mbi_plan_allocate(plan, nnz * value, "values", &to->values));
    to->owns_values = 1;
    r->place_type = t->place_type;
    r->bytes = nnz * place;
    MBI_TRY(mbi_plan_allocate(plan, r->bytes, "places of entries", &r->device_places));
    t->places[t->last] = r->device_places;
  }
  t->rows[t->last] = to->col_ind;
  to->bytes = offsets + columns + nnz * value;
  t->bytes = mbi_transpose_divide(t, value);
  MBI_TRY(mbi_plan_allocate(plan, t->bytes, "columns to sort", &t->space));
  (void)mbi_transpose_divide(t, value);
  return MERBIT_OK;
}

static void mbi_transpose_release(merbit_plan *plan, mbi_transposing *t) {
  mbi_plan_release(plan, t->space);
  mbi_program_destroy(plan->context, &t->program);
}

/* ---- Specialise -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_transpose_preamble(const mbi_transposing *t, mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_ROW_PTR",
                      t->from->offset_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define(preamble, "MBK_PLACE",
                      t->place_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
}

/* Finds the kernels of t->program. */
MBI_INTERNAL merbit_status mbi_transpose_find(merbit_context *context, mbi_transposing *t) {
  int i;
  for (i = 0; i < MBI_TRANSPOSE_KERNELS; i++) {
    MBI_TRY(mbi_program_kernel(context, &t->program, mbi_transpose_kernels[i], &t->kernels[i]));
  }
  return MERBIT_OK;
}

static merbit_status mbi_transpose_specialise(merbit_plan *plan, mbi_transposing *t) {
  mbi_preamble preamble;
  mbi_transpose_preamble(t, &preamble);
  MBI_TRY(mbi_plan_program(plan, MBI_TRANSPOSE_FILE, &preamble, 1, &t->program));
  return mbi_transpose_find(plan->context, t);
}

/* ---- Launch: sort, then offsets and values ----------------------------------------------- */

static merbit_status mbi_transpose_launch(merbit_context *context, mbi_transposing *t,
                                          int kernel, uint64_t blocks, size_t shared,
                                          const void *arguments) {
  return mbi_device_launch(context, t->kernels[kernel], mbi_transpose_kernels[kernel],
                           (int64_t)blocks, MBI_TRANSPOSE_THREADS, (unsigned)shared, NULL,
                           arguments);
}

/* Writes the row of each entry to the buffer that the first pass reads. */
static merbit_status mbi_transpose_rows(merbit_context *context, mbi_transposing *t) {
  uint64_t nnz = t->from->nnz;
  const uint64_t tiles = (nnz + MBI_TRANSPOSE_TILE - 1) / MBI_TRANSPOSE_TILE;
  mbk_transpose_rows_arguments arguments;
  arguments.row_ptr = t->from->row_ptr;
  arguments.rows = t->from->rows;
  arguments.nnz = nnz;
  arguments.base = (uint32_t)t->from->base;
  arguments.row_of = t->rows[1];
  return mbi_transpose_launch(context, t, MBI_TRANSPOSE_ROWS,
                              tiles < MBI_ARRAYS_GRID ? tiles : MBI_ARRAYS_GRID, 0, &arguments);
}

static merbit_status mbi_transpose_pass(merbit_context *context, mbi_transposing *t, int pass) {
  const size_t place = mbi_index_bytes(t->place_type), warps = MBI_TRANSPOSE_THREADS / 32;
  const int to = pass & 1, from = 1 - to;
  mbi_devptr keys = pass == 0 ? t->from->col_ind : t->keys[from];
  mbi_devptr places = pass == 0 ? 0 : t->places[from];
  uint64_t nnz = t->from->nnz;
  uint32_t base = pass == 0 ? (uint32_t)t->from->base : 0, shift = t->bits * (uint32_t)pass;
  uint32_t mask = (1u << t->bits) - 1;
  mbk_transpose_count_arguments count_arguments;
  mbk_transpose_scan_arguments sums;
  mbk_transpose_move_arguments move_arguments;
  count_arguments.keys = keys;
  count_arguments.base = base;
  count_arguments.nnz = nnz;
  count_arguments.shift = shift;
  count_arguments.mask = mask;
  count_arguments.chunk = t->chunk;
  count_arguments.counts = t->counts;
  MBI_TRY(mbi_transpose_launch(context, t, MBI_TRANSPOSE_COUNT, t->blocks,
                               MBI_TRANSPOSE_DIGITS * sizeof(uint32_t), &count_arguments));
  sums.counts = t->counts;
  sums.blocks = t->blocks;
  sums.totals = t->totals;
  MBI_TRY(mbi_transpose_launch(context, t, MBI_TRANSPOSE_SCAN, (uint64_t)mask + 1,
                               warps * place, &sums));
  move_arguments.keys = keys;
  move_arguments.base = base;
  move_arguments.nnz = nnz;
  move_arguments.shift = shift;
  move_arguments.mask = mask;
  move_arguments.chunk = t->chunk;
  move_arguments.counts = t->counts;
  move_arguments.totals = t->totals;
  move_arguments.rows = t->rows[from];
  move_arguments.places = places;
  move_arguments.keys_to = t->keys[to];
  move_arguments.rows_to = t->rows[to];
  move_arguments.places_to = t->places[to];
  return mbi_transpose_launch(context, t, MBI_TRANSPOSE_MOVE, t->blocks,
                              (MBI_TRANSPOSE_DIGITS + warps) * place +
                                  MBI_TRANSPOSE_TILE * (sizeof(uint32_t) + 1),
                              &move_arguments);
}

/* Computes the row offsets from the sorted keys. */
static merbit_status mbi_transpose_starts(merbit_context *context, mbi_transposing *t) {
  mbi_device_csr *to = t->to;
  const uint64_t all = to->nnz + to->rows + 1;
  mbk_transpose_starts_arguments arguments;
  arguments.keys = t->keys[t->last];
  arguments.nnz = to->nnz;
  arguments.cols = to->rows;
  arguments.starts = to->row_ptr;
  return mbi_transpose_launch(
      context, t, MBI_TRANSPOSE_STARTS, (all + MBI_TRANSPOSE_TILE - 1) / MBI_TRANSPOSE_TILE,
      2 * sizeof(uint64_t) + MBI_TRANSPOSE_TILE * sizeof(uint32_t), &arguments);
}

/* Enqueues the sort of the entries. It leaves the columns of the transpose in
 * t->rows[t->last], the original places of its entries in t->places[t->last], and its offsets
 * in t->to->row_ptr. */
MBI_INTERNAL merbit_status mbi_transpose_enqueue(merbit_context *context, mbi_transposing *t) {
  int pass;
  MBI_TRY(mbi_transpose_rows(context, t));
  for (pass = 0; pass < t->passes; pass++) {
    MBI_TRY(mbi_transpose_pass(context, t, pass));
  }
  return mbi_transpose_starts(context, t);
}

/* Fills the arrays of t->to, and waits. */
static merbit_status mbi_transpose_run(merbit_plan *plan, mbi_transposing *t) {
  merbit_context *context = plan->context;
  MBI_TRY(mbi_transpose_specialise(plan, t));
  MBI_TRY(mbi_transpose_allocate(plan, t));
  if (t->from->values != 0) {
    MBI_TRY(mbi_reorder_specialise(plan));
  }
  MBI_TRY(mbi_transpose_enqueue(context, t));
  if (t->from->values != 0) {
    MBI_TRY(mbi_reorder_launch(plan, 2, plan->reorder.device_places, t->from->values,
                               t->to->values, (int64_t)t->to->nnz, NULL));
  }
  return mbi_device_synchronize(context, NULL);
}

/* Makes plan->device the transpose of `from`. */
MBI_INTERNAL merbit_status mbi_transpose_sort(merbit_plan *plan, const mbi_device_csr *from) {
  mbi_device_csr *to = &plan->device;
  mbi_transposing t;
  merbit_status status;
  memset(&t, 0, sizeof t);
  t.from = from;
  t.to = to;
  mbi_transpose_size(plan->context, &t);
  memset(to, 0, sizeof *to);
  to->offset_type = t.place_type;
  to->rows = from->cols;
  to->cols = from->rows;
  to->nnz = from->nnz;
  status = mbi_transpose_run(plan, &t);
  if (status == MERBIT_OK && plan->making.arena_bytes > 0) {
    mbi_arena_open(&plan->arena, t.space, t.bytes);
    t.space = 0;
  }
  mbi_transpose_release(plan, &t);
  return status;
}
