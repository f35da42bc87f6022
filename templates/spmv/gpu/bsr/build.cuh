// Builds the tiles of blocks on the GPU from the offsets and columns of the blocks and their
// entries. spmv/gpu/bsr/bsr.cu includes this file.
#ifndef MBK_TILE_BLOCKS
#error "include spmv/gpu/bsr/tile.cuh before"
#endif

#define MBK_BUILD_THREADS 256

#include "spmv/gpu/bsr/build_arguments.cuh"

// Writes row_ends (word w has the bits of blocks 32 w to 32 w + 31; `words` words) and slot_row
// (one word per slot, one more, then one per tile). Launch: one thread per word, for the longer
// array.
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_bsr_schedule(MBK_GRID_CONSTANT mbk_bsr_schedule_arguments a) {
  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();
  if (at < a.words) {
    const mbk_u64 first = 32 * at;
    mbk_u32 bits = 0;
    if (first < a.blocks) {
      mbk_u32 row_number = mbk_nonempty_search(a.row_start, a.ranks, first);
      for (; row_number < a.ranks; row_number++) {
        const mbk_u64 last = (mbk_u64)(mbk_load(a.row_start + row_number + 1) - MBK_BASE) - 1;
        if (last >= first + 32) {
          break;
        }
        bits |= 1u << (last - first);
      }
    }
    a.row_ends[at] = bits;
  }
  if (at <= a.slots) {
    const mbk_u64 first = at * MBK_SLOT_BLOCKS;
    const mbk_u32 row_number =
        first < a.blocks ? mbk_nonempty_search(a.row_start, a.ranks, first) : a.ranks;
    a.slot_row[at] = row_number;
    if (at < a.slots && at % MBK_SLOTS == 0) { // a tile begins here and holds a block
      const mbk_u64 begin = (mbk_u64)(mbk_load(a.row_start + row_number) - MBK_BASE);
      const mbk_u64 end = (mbk_u64)(mbk_load(a.row_start + row_number + 1) - MBK_BASE);
      const mbk_u64 tile = at / MBK_SLOTS;
      a.slot_row[a.slots + 1 + tile] =
          end <= first + MBK_TILE_BLOCKS ? (mbk_u32)(tile - begin / MBK_TILE_BLOCKS) : MBK_OPEN;
    }
  }
}

// The position, in the blocks as given, of entry `e` of a lane's group.
struct mbk_bsr_entry {
  mbk_u64 block;
  mbk_u32 offset; // of the entry in its block
  bool inside;    // 1: in the block; 0: in its padding
  mbk_u32 col;
};

MBK_DEVICE mbk_bsr_entry mbk_bsr_find(mbk_u64 tile, mbk_u32 strip, mbk_u32 group,
                                      mbk_u32 thread, mbk_u32 e) {
  const mbk_bsr_place at = mbk_bsr_where(thread);
  const mbk_u32 row = strip * MBK_STRIP_ROWS + at.row, col = at.col + e % MBK_LANE_COLS;
  mbk_bsr_entry found;
  found.block = tile * MBK_TILE_BLOCKS + at.slot * MBK_SLOT_BLOCKS + group * MBK_TOGETHER +
                e / MBK_LANE_COLS;
  found.offset = MBK_COLUMN_MAJOR ? col * MBK_BLOCK_ROWS + row : row * MBK_BLOCK_COLS + col;
  found.inside = row < MBK_BLOCK_ROWS && col < MBK_BLOCK_COLS;
  found.col = col;
  return found;
}

// Copies block columns into the order in which the product reads them. Launch: one thread per
// place, padding included.
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_bsr_columns(MBK_GRID_CONSTANT mbk_bsr_columns_arguments a) {
  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();
  const mbk_u64 tile = at / MBK_TILE_BLOCKS;
  const mbk_u32 place = (mbk_u32)(at % MBK_TILE_BLOCKS), u = place % MBK_TOGETHER;
  const mbk_u32 slot = place / MBK_TOGETHER % MBK_SLOTS;
  const mbk_u32 group = place / (MBK_TOGETHER * MBK_SLOTS);
  const mbk_u64 block =
      tile * MBK_TILE_BLOCKS + slot * MBK_SLOT_BLOCKS + group * MBK_TOGETHER + u;
  if (tile < a.tiles) {
    a.columns[at] = block < a.blocks ? mbk_load(a.col_ind + block) - MBK_BASE : 0;
  }
}

#if MBK_MASKED
#define MBK_THERE(a, found)                                                                    \
  (mbk_load((a).mask_words + (found).block * ((MBK_ENTRIES + 63) / 64) +                       \
            (found).offset / 64) >>                                                            \
       (found).offset % 64 &                                                                   \
   1)

// Turns the blocks' masks (whole 64-bit words, a bit per entry in the block's order) into a
// mask per lane and group. Launch: one thread per lane and group.
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_bsr_masks(MBK_GRID_CONSTANT mbk_bsr_masks_arguments a) {
  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();
  const mbk_u32 thread = (mbk_u32)(at % MBK_ACTIVE);
  const mbk_u32 group = (mbk_u32)(at / MBK_ACTIVE % MBK_GROUPS);
  const mbk_u64 strip = at / MBK_ACTIVE / MBK_GROUPS, tile = strip / MBK_STRIPS;
  mbk_u32 bits = 0;
  if (tile >= a.tiles) {
    return;
  }
  for (mbk_u32 e = 0; e < MBK_GROUP_ENTRIES; e++) {
    const mbk_bsr_entry found =
        mbk_bsr_find(tile, (mbk_u32)(strip % MBK_STRIPS), group, thread, e);
    if (found.block < a.blocks && found.inside && MBK_THERE(a, found)) {
      bits |= 1u << e;
    }
  }
  a.masks[at] = (MBK_MASK)bits;
}
#else
#define MBK_THERE(a, found) true
#endif

// Returns the index of an entry of `found.block` in a CSR that consists of the same blocks, all
// of them full, row by row. Starts at the block row in which the block's slot begins.
MBK_DEVICE mbk_u64 mbk_bsr_in_csr(const mbk_bsr_fill_arguments &a, const mbk_bsr_entry &found) {
  const mbk_u32 *const row_id = a.row_id;
  mbk_u32 row_number = mbk_load(a.slot_row + found.block / MBK_SLOT_BLOCKS);
  (void)row_id;
  for (;; row_number++) {
    const MBK_ROW_PTR *const row = a.row_ptr + MBK_ROW_OF(row_number);
    const mbk_u64 first = (mbk_u64)mbk_load(row), end = (mbk_u64)mbk_load(row + 1);
    if (found.block < end) {
      return (first * MBK_BLOCK_ROWS + found.offset / MBK_BLOCK_COLS * (end - first) +
              (found.block - first)) *
                 MBK_BLOCK_COLS +
             found.col;
    }
  }
}

// Copies entries into lanes' packs; padding becomes zero. The values are ordered block by block
// or, with row_ptr, which then has base 0, as in a CSR that consists of full blocks. Launch:
// one thread per pack.
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_bsr_fill(MBK_GRID_CONSTANT mbk_bsr_fill_arguments a) {
  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();
  const mbk_u32 thread = (mbk_u32)(at % MBK_ACTIVE);
  const mbk_u32 p = (mbk_u32)(at / MBK_ACTIVE % MBK_GROUP_PACKS);
  const mbk_u32 group = (mbk_u32)(at / (MBK_ACTIVE * MBK_GROUP_PACKS) % MBK_GROUPS);
  const mbk_u64 strip = at / ((mbk_u64)MBK_ACTIVE * MBK_GROUP_PACKS * MBK_GROUPS);
  const mbk_u64 tile = strip / MBK_STRIPS;
  mbk_pack<MBK_VALUE, MBK_PACK> pack;
  if (tile >= a.tiles) {
    return;
  }
#pragma unroll
  for (mbk_u32 k = 0; k < MBK_PACK; k++) {
    const mbk_bsr_entry found =
        mbk_bsr_find(tile, (mbk_u32)(strip % MBK_STRIPS), group, thread, p * MBK_PACK + k);
    bool there = found.block < a.blocks && found.inside;
    if (MBK_EDGE && there) {
      const mbk_u32 column = (mbk_u32)(mbk_load(a.col_ind + found.block) - MBK_BASE);
      there = (mbk_u64)column * MBK_BLOCK_COLS + found.col < a.cols;
    }
    pack.at[k] = there && MBK_THERE(a, found)
                     ? mbk_load(a.values + (a.row_ptr != nullptr
                                                ? mbk_bsr_in_csr(a, found)
                                                : found.block * MBK_ENTRIES + found.offset))
                     : (MBK_VALUE)0;
  }
  mbk_store_pack(a.packs + at * MBK_PACK, pack);
}
