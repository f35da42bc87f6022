#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/bsr/bsr.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* BSR on the host: builds the tiles of blocks, places new values, launches the product and the
 * fix-up. spmv/gpu/bsr/bsr.cu describes the method. */

/* ---- Specialise -------------------------------------------------------------------------- */

/* Returns the bytes of the blocks, of x and of y. */
static uint64_t mbi_bsr_bytes(const merbit_plan *plan) {
  const uint64_t high = (uint64_t)mbi_bsr_tiles_of(plan)->block_rows;
  const uint64_t wide = (uint64_t)mbi_bsr_tiles_of(plan)->block_cols;
  return plan->device.nnz * (sizeof(int32_t) + high * wide * mbi_value_bytes(plan)) +
         (plan->device.rows * high + plan->device.cols * wide) *
             mbi_type_size(mbi_plan_accumulator(plan));
}

MBI_INTERNAL void mbi_bsr_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_BLOCK_ROWS", t->block_rows);
  mbi_preamble_define_int(preamble, "MBK_BLOCK_COLS", t->block_cols);
  mbi_preamble_define_int(preamble, "MBK_COLUMN_MAJOR",
                          plan->bsr.view.block_order == MERBIT_BLOCK_COLUMN_MAJOR);
  mbi_preamble_define_int(preamble, "MBK_MASKED", plan->bsr.mask_words > 0);
  mbi_preamble_define_int(preamble, "MBK_EDGE", t->edge);
  mbi_preamble_define_int(preamble, "MBK_SPLIT", t->split);
  mbi_preamble_define_int(preamble, "MBK_TOGETHER", t->together);
  mbi_preamble_define_int(preamble, "MBK_SLOT_BLOCKS", t->slot_blocks);
  mbi_preamble_define_int(preamble, "MBK_SHUFFLED", t->shuffled);
  mbi_preamble_define_int(preamble, "MBK_EMPTY_ROWS", t->empty_rows > 0);
  mbi_preamble_define_int(preamble, "MBK_STREAMING",
                          !mbi_choose_fits(plan, mbi_bsr_bytes(plan), 0));
  mbi_preamble_define_int(preamble, "MBK_THREADS", t->threads);
  mbi_preamble_define_int(preamble, "MBK_BLOCKS", t->resident);
}

static merbit_status mbi_bsr_specialise(merbit_plan *plan) {
  static const char *const names[MBI_BSR_KERNELS] = {"mbk_bsr_schedule", "mbk_bsr_columns",
                                                     "mbk_bsr_fill",     "mbk_bsr_product",
                                                     "mbk_bsr_fixup",    "mbk_bsr_masks"};
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  const int kernels = plan->bsr.mask_words > 0 ? MBI_BSR_KERNELS : MBI_BSR_KERNELS - 1;
  mbi_preamble preamble;
  int i;
  mbi_bsr_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/gpu/bsr/bsr.cu", &preamble, 2, &plan->program));
  for (i = 0; i < kernels; i++) {
    MBI_TRY(mbi_program_part_kernel(plan->context, &plan->program, i == 4, names[i],
                                    &t->kernels[i]));
  }
  return MERBIT_OK;
}

/* ---- Launch: build, fill, multiply ------------------------------------------------------- */

static merbit_status mbi_bsr_launch_build(merbit_plan *plan, int kernel, const char *name,
                                          uint64_t items, const void *arguments) {
  return mbi_device_launch(
      plan->context, mbi_bsr_tiles_of(plan)->kernels[kernel], name,
      (int64_t)((items + MBI_BSR_BUILD_THREADS - 1) / MBI_BSR_BUILD_THREADS),
      MBI_BSR_BUILD_THREADS, 0, NULL, arguments);
}

/* Builds row_ends and slot_row. */
static merbit_status mbi_bsr_schedule(merbit_plan *plan) {
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  uint64_t slots = t->tiles * (uint64_t)t->slots;
  mbk_bsr_schedule_arguments arguments;
  arguments.row_start = plan->nonempty.row_start;
  arguments.ranks = (uint32_t)plan->nonempty.count;
  arguments.blocks = plan->device.nnz;
  arguments.words = t->words;
  arguments.slots = slots;
  arguments.row_ends = t->row_ends;
  arguments.slot_row = t->slot_row;
  return mbi_bsr_launch_build(plan, 0, "mbk_bsr_schedule",
                              t->words > slots + 1 ? t->words : slots + 1, &arguments);
}

static merbit_status mbi_bsr_columns(merbit_plan *plan) {
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  mbk_bsr_columns_arguments arguments;
  arguments.col_ind = plan->device.col_ind;
  arguments.blocks = plan->device.nnz;
  arguments.tiles = t->tiles;
  arguments.columns = t->columns;
  return mbi_bsr_launch_build(plan, 1, "mbk_bsr_columns", t->places, &arguments);
}

/* Uploads the masks of the blocks, unless they were made on the GPU, and turns them into masks
 * of lanes. Both are kept, because new values are placed by the masks of the blocks. */
static merbit_status mbi_bsr_masks(merbit_plan *plan) {
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  merbit_context *context = plan->context;
  const uint64_t bytes = plan->device.nnz * (uint64_t)plan->bsr.mask_words * sizeof(uint64_t);
  mbk_bsr_masks_arguments arguments;
  if (t->mask_words == 0) {
    MBI_TRY(mbi_plan_allocate(plan, bytes, "masks of blocks", &t->mask_words));
    MBI_TRY(mbi_device_upload(context, t->mask_words, plan->bsr.masks, (size_t)bytes));
  }
  arguments.mask_words = t->mask_words;
  arguments.blocks = plan->device.nnz;
  arguments.tiles = t->tiles;
  arguments.masks = t->masks;
  return mbi_bsr_launch_build(plan, 5, "mbk_bsr_masks",
                              t->groups * (uint64_t)(t->slots * t->lanes), &arguments);
}

/* Copies the values in plan->device.values, which are ordered block by block or as in the CSR
 * of full blocks, into the order in which products read them. Then releases that array if the
 * plan owns it. */
MBI_INTERNAL merbit_status mbi_bsr_fill(merbit_plan *plan) {
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->device;
  const uint64_t entries = csr->nnz * (uint64_t)t->block_rows * (uint64_t)t->block_cols;
  const uint64_t size = mbi_type_size(plan->type);
  const int in_csr = plan->extracted.csr.rows > 0 && !plan->extracted.by_shape;
  mbk_bsr_fill_arguments arguments;
  arguments.col_ind = csr->col_ind;
  arguments.values = csr->values;
  arguments.mask_words = t->mask_words;
  arguments.cols = (uint64_t)plan->bsr.view.cols;
  arguments.blocks = csr->nnz;
  arguments.tiles = t->tiles;
  arguments.row_ptr = in_csr ? csr->row_ptr : 0;
  arguments.slot_row = t->slot_row;
  arguments.row_id = plan->nonempty.row_id;
  arguments.packs = t->packs;
  MBI_TRY(mbi_bsr_launch_build(plan, 2, "mbk_bsr_fill", mbi_bsr_entries(t) * size / 16,
                               &arguments));
  MBI_TRY(mbi_device_synchronize(context, NULL));
  if (csr->owns_values) {
    mbi_plan_release(plan, csr->values);
    csr->values = 0;
    csr->owns_values = 0;
    csr->bytes -= entries * size;
  }
  return MERBIT_OK;
}

/* Sets plan->device.values: borrows the user's GPU array, or uploads the host array. */
MBI_INTERNAL merbit_status mbi_bsr_take_values(merbit_plan *plan) {
  merbit_context *context = plan->context;
  const merbit_view *view = &plan->bsr.view;
  mbi_device_csr *csr = &plan->device;
  const uint64_t entries = csr->nnz * (uint64_t)view->block_rows * (uint64_t)view->block_cols;
  if (view->values == NULL) {
    return MERBIT_OK;
  }
  if (view->memory != MERBIT_MEMORY_DEVICE) {
    return mbi_array_upload(plan, view->values, entries * mbi_type_size(plan->type), "blocks",
                            csr, &csr->values, &csr->owns_values);
  }
  MBI_TRY(mbi_types_check_there(context, 0, plan->type, view->values));
  csr->values = mbi_device_address(view->values);
  return MERBIT_OK;
}

static merbit_status mbi_bsr_allocate(merbit_plan *plan) {
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  const uint64_t words = t->words * sizeof(uint32_t);
  const uint64_t slots = (t->tiles * (uint64_t)(t->slots + 1) + 1) * sizeof(uint32_t);
  const uint64_t columns = t->places * sizeof(int32_t);
  const uint64_t packs =
      plan->device.values != 0 ? mbi_bsr_entries(t) * mbi_type_size(plan->type) : 0;
  const uint64_t masks = plan->bsr.mask_words > 0 ? mbi_bsr_mask_bytes(t) : 0;
  const uint64_t all = words + slots + columns + packs + masks;
  mbi_devptr *const parts[] = {&t->row_ends, &t->slot_row, &t->columns, &t->packs, &t->masks};
  const uint64_t bytes[] = {words, slots, columns, packs, masks};
  plan->schedule_bytes = all + plan->nonempty.bytes +
                         plan->device.nnz * (uint64_t)plan->bsr.mask_words * sizeof(uint64_t);
  plan->stream_bytes = all + 2 * t->tiles * (uint64_t)t->block_rows * mbi_type_size(plan->type);
  return mbi_plan_allocate_parts(plan, "tiles of blocks", 5, parts, bytes);
}

/* Builds the tiles from plan->device, which holds the blocks' offsets and columns like a CSR.
 * On failure the caller runs mbi_bsr_destroy. */
MBI_INTERNAL merbit_status mbi_bsr_create(merbit_plan *plan) {
  MBI_TRY(mbi_scan_nonempty(plan));
  MBI_TRY(mbi_bsr_size(plan));
  MBI_TRY(mbi_bsr_take_values(plan));
  MBI_TRY(mbi_bsr_specialise(plan));
  if (mbi_bsr_tiles_of(plan)->tiles == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_bsr_allocate(plan));
  MBI_TRY(mbi_bsr_schedule(plan));
  MBI_TRY(mbi_bsr_columns(plan));
  if (plan->bsr.mask_words > 0) {
    MBI_TRY(mbi_bsr_masks(plan));
  }
  return mbi_bsr_tiles_of(plan)->packs != 0 ? mbi_bsr_fill(plan)
                                            : mbi_device_synchronize(plan->context, NULL);
}

MBI_INTERNAL void mbi_bsr_destroy(merbit_plan *plan) {
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  mbi_plan_release(plan, t->mask_words);
  /* This also releases the arrays that were allocated with it. */
  mbi_plan_release(plan, t->row_ends);
  mbi_program_destroy(plan->context, &plan->program);
}

/* Returns the bytes of scratch for one product: firsts and tails. */
MBI_INTERNAL uint64_t mbi_bsr_carry_bytes(const merbit_plan *plan) {
  const mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  return 2 * t->tiles * (uint64_t)t->block_rows * mbi_type_size(plan->type);
}

static merbit_status mbi_bsr_launch_fixup(merbit_plan *plan, mbi_devptr carries,
                                          const void *alpha, const void *beta, mbi_devptr y,
                                          void *stream) {
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  const unsigned size = (unsigned)mbi_type_size(plan->type);
  mbi_devptr tails = carries + t->tiles * (uint64_t)t->block_rows * size;
  mbk_bsr_fixup_arguments arguments;
  arguments.slot_row = t->slot_row;
  arguments.row_id = plan->nonempty.row_id;
  arguments.row_bits = plan->nonempty.row_bits;
  arguments.firsts = carries;
  arguments.tails = tails;
  arguments.y = y;
  arguments.tiles = t->tiles;
  arguments.filled = t->empty_rows > 0 ? plan->device.rows : 0;
  arguments.rows = (uint64_t)plan->bsr.view.rows;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_device_launch_some(
      plan->context, t->kernels[4], "mbk_bsr_fixup",
      (int64_t)((t->parts + MBI_SCAN_FIXUP_THREADS - 1) / MBI_SCAN_FIXUP_THREADS),
      MBI_SCAN_FIXUP_THREADS,
      (unsigned)(MBI_SCAN_FIXUP_THREADS / 32 * (size + sizeof(uint32_t))), stream, &arguments,
      0, mbi_plan_start(plan, t->blocks > 0));
}

MBI_INTERNAL merbit_status mbi_bsr_multiply(merbit_plan *plan, mbi_devptr carries,
                                            const void *alpha, mbi_devptr x, const void *beta,
                                            mbi_devptr y, void *stream) {
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  mbi_devptr tails = carries + t->tiles * (uint64_t)t->block_rows * mbi_type_size(plan->type);
  mbk_bsr_product_arguments arguments;
  arguments.row_ends = t->row_ends;
  arguments.slot_row = t->slot_row;
  arguments.row_id = plan->nonempty.row_id;
  arguments.columns = t->columns;
  arguments.values = t->packs;
  arguments.masks = t->masks;
  arguments.x = x;
  arguments.y = y;
  arguments.firsts = carries;
  arguments.tails = tails;
  arguments.rows = (uint64_t)plan->bsr.view.rows;
  arguments.cols = (uint64_t)plan->bsr.view.cols;
  arguments.tiles = t->tiles;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  MBI_TRY(mbi_plan_launch(plan, t->kernels[3], "mbk_bsr_product", (int64_t)t->blocks,
                          t->threads, 0, stream, &arguments, sizeof arguments));
  return mbi_bsr_launch_fixup(plan, carries, alpha, beta, y, stream);
}

/* ---- Describe ---------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_bsr_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->block_threads = mbi_bsr_tiles_of(plan)->threads;
  info->tiles = (int64_t)mbi_bsr_tiles_of(plan)->tiles;
}

MBI_INTERNAL int mbi_bsr_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  const double stored = (double)plan->device.nnz * t->block_rows * t->block_cols;
  return snprintf(text, size,
                  "%" PRIu64 " blocks of %d x %d, %.1f%% filled, %" PRIu64 " tiles of %d x %d "
                  "in groups of %d%s, %d threads",
                  plan->device.nnz, t->block_rows, t->block_cols,
                  stored > 0 ? 100.0 * (double)plan->bsr.entries / stored : 100.0, t->tiles,
                  t->slots, t->slot_blocks, t->together, t->shuffled ? ", x by shuffles" : "",
                  t->threads);
}
