#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/bsr/bsr.h"
#include "spmv/plan/plan.h"

/* Sizes of BSR: lanes per row of a block, slots, groups and tiles, from the blocks' shape. */

/* ---- Sizes: slots, groups and tiles, from the shape of the blocks ------------------------ */

/* Returns the state of a plan that uses this method. */
MBI_INTERNAL mbi_bsr_tiles *mbi_bsr_tiles_of(const merbit_plan *plan) {
  return (mbi_bsr_tiles *)plan->state;
}

#define MBI_BSR_GROUP_MOST 32 /* the most entries per lane and group: bits of a mask */

/* Bytes of entries that a lane has in flight, fitted on an H200. */
#define MBI_BSR_GROUP_BYTES 64

MBI_INTERNAL int mbi_ceiling(int a, int b) {
  return (a + b - 1) / b;
}

/* Returns the least number of blocks, a power of two, in which a lane's entries fill whole
 * packs. */
static int mbi_bsr_least(int lane_cols, int pack) {
  int together = 1;
  while (together * lane_cols % pack != 0) {
    together *= 2;
  }
  return together;
}

/* Returns the number of lanes per block row (1 to 32). More than one only if a group would be
 * too long, or if the block is so flat that neighbouring lanes would read x far apart. */
static int mbi_bsr_split(int rows, int cols, int size) {
  const int pack = 16 / size;
  int split = 1;
  while (rows * split < 4 && cols % (2 * split) == 0 && cols / (2 * split) % pack == 0) {
    split *= 2;
  }
  while (mbi_ceiling(cols, split) > 16 ||
         mbi_bsr_least(mbi_ceiling(cols, split), pack) * mbi_ceiling(cols, split) >
             MBI_BSR_GROUP_MOST) {
    split *= 2;
  }
  return split;
}

/* Returns the number of elements of x that one load brings if x is aligned: MBK_NEIGHBOURS. */
static int mbi_bsr_neighbours(const mbi_bsr_tiles *t, int size) {
  return t->lane_cols * t->split != t->block_cols || t->edge || t->lane_cols % 2 != 0 ? 1
         : t->lane_cols % (16 / size) != 0                                            ? 2
                                           : 16 / size;
}

/* Returns 1 if loading a block's x together and passing it on by shuffles of 4 bytes is cheaper
 * than loading it in every lane. The cost is counted in lines of L1, for all slots. */
static int mbi_bsr_shuffles(const mbi_bsr_tiles *t, int size) {
  const int alone = t->lane_cols / mbi_bsr_neighbours(t, size) * t->slots;
  return t->split == 1 && t->block_rows > 1 && alone > t->slots + t->block_cols * size / 4;
}

static void mbi_bsr_shape(merbit_plan *plan) {
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  const merbit_view *view = &plan->bsr.view;
  const int size = (int)mbi_type_size(plan->type);
  const int shuffle = mbi_knob(plan, MBI_KNOB_BSR_SHUFFLE);
  int group;
  t->block_rows = view->block_rows;
  t->block_cols = view->block_cols;
  t->edge = view->cols % view->block_cols != 0;
  t->split = mbi_bsr_split(t->block_rows, t->block_cols, size);
  t->lane_cols = mbi_ceiling(t->block_cols, t->split);
  t->strips = mbi_ceiling(t->block_rows * t->split, 32);
  t->lanes = mbi_ceiling(t->block_rows, t->strips) * t->split;
  t->slots = 32 / t->lanes;
  t->together = mbi_bsr_least(t->lane_cols, 16 / size);
  while (t->together * t->lane_cols * size < MBI_BSR_GROUP_BYTES &&
         2 * t->together * t->lane_cols <= MBI_BSR_GROUP_MOST) {
    t->together *= 2;
  }
  t->shuffled = shuffle != 0 ? shuffle == 2 : mbi_bsr_shuffles(t, size);
  t->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : 128;
  group = t->together * t->lane_cols * size;
  t->resident = (group < 96 ? 1024 : group < 160 ? 768 : 512) / t->threads;
  t->resident = t->resident > 16 ? 16 : t->resident < 1 ? 1 : t->resident;
}

/* Sets the blocks per slot and tile. Blocks with many rows get longer tiles, because their
 * carries are larger. If there are few blocks, tiles are shorter, so that more warps have
 * work. */
static void mbi_bsr_tile(merbit_plan *plan) {
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  const int size = (int)mbi_type_size(plan->type);
  const int group = t->together * t->lane_cols * size;
  const int wish = mbi_knob(plan, MBI_KNOB_BSR_BLOCKS);
  const uint64_t enough = 64 * (uint64_t)plan->context->device.multiprocessors;
  int groups = mbi_ceiling(MBI_BSR_TILE_BYTES + 16 * t->block_rows, group);
  while (groups > 1 &&
         plan->device.nnz / (uint64_t)(t->slots * groups * t->together) < enough) {
    groups = mbi_ceiling(groups, 2);
  }
  t->slot_blocks = wish != 0 ? wish : groups * t->together;
}

/* Chooses and checks all sizes that the kernels are compiled for. plan->nonempty, which counts
 * block rows, must be set. */
MBI_INTERNAL merbit_status mbi_bsr_size(merbit_plan *plan) {
  mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  merbit_context *context = plan->context;
  const int shuffle = mbi_knob(plan, MBI_KNOB_BSR_SHUFFLE);
  uint64_t tile, warps;
  mbi_bsr_shape(plan);
  mbi_bsr_tile(plan);
  if (t->slot_blocks < 1 || t->slot_blocks > 4096 || t->slot_blocks % t->together != 0) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.tuning: blocks is %d; blocks of %d x %d take multiples of %d up to "
        "4096",
        t->slot_blocks, t->block_rows, t->block_cols, t->together);
  }
  if (t->threads < 32 || t->threads > 1024 || t->threads % 32 != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.block_threads is %d; use a multiple of 32 up to 1024",
                    t->threads);
  }
  if (shuffle < 0 || shuffle > 2 || (t->shuffled && t->split > 1)) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.tuning: shuffle is %d; for blocks of %d x %d use 1 (each lane loads its "
        "own x)%s",
        shuffle, t->block_rows, t->block_cols,
        t->split > 1 ? "" : " or 2 (lanes exchange x by shuffles)");
  }
  tile = (uint64_t)t->slots * (uint64_t)t->slot_blocks;
  t->tiles = (plan->device.nnz + tile - 1) / tile;
  warps = (uint64_t)t->threads / 32;
  t->blocks = (t->tiles * (uint64_t)t->strips + warps - 1) / warps;
  t->empty_rows = plan->device.rows - plan->nonempty.count;
  t->parts = (t->tiles > t->empty_rows ? t->tiles : t->empty_rows) * (uint64_t)t->block_rows;
  if (!mbi_nonempty_fit(plan) || t->blocks > (uint64_t)INT32_MAX ||
      t->parts / MBI_SCAN_FIXUP_THREADS >= (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " blocks in %" PRIu64
                    " block rows are too many for the GPU; use another plan_desc.method",
                    plan->device.nnz, plan->device.rows);
  }
  t->words = (t->tiles * tile + 31) / 32;
  t->groups = t->tiles * (uint64_t)t->strips * (uint64_t)(t->slot_blocks / t->together);
  t->places = t->tiles * tile;
  return MERBIT_OK;
}

/* Returns the number of stored entries, padding included. */
MBI_INTERNAL uint64_t mbi_bsr_entries(const mbi_bsr_tiles *t) {
  return t->groups * (uint64_t)(t->slots * t->lanes * t->together * t->lane_cols);
}

MBI_INTERNAL uint64_t mbi_bsr_mask_bytes(const mbi_bsr_tiles *t) {
  return t->groups * (uint64_t)(t->slots * t->lanes) *
         (t->together * t->lane_cols <= 16 ? sizeof(uint16_t) : sizeof(uint32_t));
}
