// BSR: y = alpha A x + beta y over dense blocks of one shape.
//
// Data: a tile is MBK_SLOTS * MBK_SLOT_BLOCKS consecutive blocks. A bit per block is 1 if the
// block ends its block row. Entries are copied into the order in which they are read: by tile,
// strip, group, pack and lane. Block columns are ordered by tile, group, slot and block. Block
// rows are numbered among the non-empty ones: slot_row[s] is the number of the block row that
// holds slot s's first block. The word after the slots is the number of non-empty block rows.
// Then follows, for each tile, the number of tiles before it in which its first block row
// began, or MBK_OPEN.
//
// Work: a warp owns a strip of a tile; blocks have more than one strip only if their rows do
// not fit in a warp. The warp consists of MBK_SLOTS slots of MBK_LANES lanes, with one lane (or
// MBK_SPLIT) for each row of a block. A slot takes consecutive blocks, in groups of
// MBK_TOGETHER. Sums stay in registers; a segmented scan joins slots, and the fix-up joins
// tiles.
//
// Source: equal numbers of blocks for every task, and shapes as constants, are from Chirila
// (Architectural-Aware Optimization of SpMV on GPUs, Bucharest 2025, chapters 6 and 8). The
// layout, sums in registers and the fixed order are new here.
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#include "spmv/gpu/bsr/tile.cuh"

#include "spmv/gpu/bsr/build.cuh"

#define MBK_PARTS MBK_BLOCK_ROWS
#define MBK_ROW_NUMBER mbk_u32
#define MBK_TILE_ROW_NUMBER(tile) mbk_load(tile_row + (tile)*MBK_SLOTS)
#include "spmv/shared/fixup.cuh"

// A lane's place in y: element `part` of each block row, if the lane writes any.
struct mbk_bsr_target {
  const mbk_u32 *row_id;
  MBK_VECTOR *y;
  mbk_u64 rows;
  mbk_u32 part;
  bool writes;
};

MBK_DEVICE void mbk_bsr_commit(const mbk_bsr_target &to, mbk_u32 row_number, MBK_COMPUTE sum,
                               MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  const mbk_u32 *const row_id = to.row_id;
  const mbk_u64 row = (mbk_u64)MBK_ROW_OF(row_number) * MBK_BLOCK_ROWS + to.part;
  (void)row_id;
  if (to.writes && row < to.rows) {
    mbk_commit(to.y, row, MBK_ADD(MBK_ZERO, sum), alpha, beta);
  }
}

// Multiplies one strip of a tile. A whole warp calls it. Each lane adds up its row of the
// blocks until a block row ends; the first one that ends may have begun in earlier slots. The
// sums of the tile's first block row go to firsts, the carry-out to tails; mbk_bsr_fixup joins
// them.
template <int neighbours>
MBK_DEVICE void mbk_bsr_run(const mbk_u32 *row_ends, const mbk_u32 *slot_row,
                            const mbk_u32 *row_id, const mbk_i32 *columns,
                            const MBK_VALUE *values, const MBK_MASK *masks, const MBK_VECTOR *x,
                            MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails,
                            mbk_u64 rows, mbk_u64 cols, mbk_u64 tile, mbk_u32 strip,
                            MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  const mbk_u32 lane = mbk_lane();
  const mbk_bsr_place at = mbk_bsr_where(lane);
  const mbk_u64 first_block = tile * MBK_TILE_BLOCKS + at.slot * MBK_SLOT_BLOCKS;
  mbk_bsr_target to = {row_id, y, rows, strip * MBK_STRIP_ROWS + at.row, false};
  to.writes = lane < MBK_ACTIVE && at.col == 0 && to.part < MBK_BLOCK_ROWS;
  columns += tile * MBK_TILE_BLOCKS + at.slot * MBK_TOGETHER;
  const mbk_u64 group = (tile * MBK_STRIPS + strip) * MBK_GROUPS;
  (void)group;
#if !MBK_PATTERN
  values += (group * MBK_GROUP_PACKS * MBK_ACTIVE + at.slot * MBK_LANES + at.lane) * MBK_PACK;
#endif
#if MBK_MASKED
  masks += group * MBK_ACTIVE + at.slot * MBK_LANES + at.lane;
#endif
  const mbk_u32 first = mbk_load(slot_row + tile * MBK_SLOTS + at.slot);
  mbk_u32 row_number = first;
  MBK_COMPUTE sum = MBK_ZERO, head = MBK_ZERO;
#pragma unroll 1
  for (mbk_u32 g = 0; g < MBK_GROUPS; g++) {
    const mbk_u64 block = first_block + g * MBK_TOGETHER;
    const mbk_u32 ends = mbk_load(row_ends + block / 32) >> block % 32;
    MBK_COMPUTE part[MBK_TOGETHER];
    if (alpha == (MBK_COMPUTE)0) { // neither the matrix nor x is read
      mbk_await();
#pragma unroll
      for (int u = 0; u < MBK_TOGETHER; u++) {
        part[u] = MBK_ZERO;
      }
    } else {
      mbk_bsr_group<neighbours>(
          columns + g * (MBK_TOGETHER * MBK_SLOTS),
          MBK_PATTERN ? values : values + g * (MBK_GROUP_PACKS * MBK_ACTIVE * MBK_PACK),
          masks + g * MBK_ACTIVE, x, cols, at, part);
    }
#pragma unroll
    for (int u = 0; u < MBK_TOGETHER; u++) {
      sum = MBK_ADD(sum, part[u]);
      if (ends >> u & 1) {
        if (row_number == first) {
          head = sum; // earlier slots may hold a part of this row
        } else {
          mbk_bsr_commit(to, row_number, sum, alpha, beta);
        }
        row_number++;
        sum = MBK_ZERO;
      }
    }
  }
  // Add up, for each slot, the open row's parts since the last slot with a row end.
  const mbk_u32 closed = mbk_ballot(MBK_ALL, row_number != first);
  const mbk_u32 until = closed & (0xffffffffu >> (31 - lane));
  const int distance =
      (int)at.slot - (until != 0 ? (31 - mbk_leading_zeros(until)) / MBK_LANES : 0);
#pragma unroll
  for (int d = 1; d < MBK_SLOTS; d <<= 1) {
    const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, d * MBK_LANES, 32);
    if (distance >= d) {
      sum = MBK_ADD(other, sum);
    }
  }
  const MBK_COMPUTE earlier =
      MBK_SLOTS > 1 ? mbk_shuffle_up(MBK_ALL, sum, MBK_LANES % 32, 32) : MBK_ZERO;
  const mbk_u64 carry = tile * MBK_BLOCK_ROWS + to.part;
  if (row_number != first) {
    head = at.slot > 0 ? MBK_ADD(earlier, head) : head;
    if ((closed & ((1u << (at.slot * MBK_LANES)) - 1)) != 0) {
      mbk_bsr_commit(to, first, head, alpha, beta);
    } else if (to.writes) {
      firsts[carry] = head;
    }
  }
  if (to.writes && at.slot == MBK_SLOTS - 1) {
    tails[carry] = sum;
  }
}

#include "spmv/gpu/bsr/bsr_arguments.cuh"

// Computes the product; mbk_bsr_fixup follows. Launch: one warp per strip of a tile.
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_bsr_product(MBK_BY_FIELD(mbk_bsr_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  mbk_release();
  MBK_STOP_HERE
  MBK_SCALARS_LOAD;
  const mbk_u64 warp = (mbk_u64)mbk_block() * (MBK_THREADS / 32) + mbk_thread() / 32;
  const mbk_u64 tile = warp / MBK_STRIPS;
  const mbk_u32 strip = (mbk_u32)(warp % MBK_STRIPS);
  if (tile >= a.tiles) {
    return;
  }
  if (MBK_NEIGHBOURS == 1 || (mbk_u64)a.x % (MBK_NEIGHBOURS * sizeof(MBK_VECTOR)) == 0) {
    mbk_bsr_run<MBK_NEIGHBOURS>(a.row_ends, a.slot_row, a.row_id, a.columns, a.values, a.masks,
                                a.x, a.y, a.firsts, a.tails, a.rows, a.cols, tile, strip, alpha,
                                beta);
  } else {
    mbk_bsr_run<1>(a.row_ends, a.slot_row, a.row_id, a.columns, a.values, a.masks, a.x, a.y,
                   a.firsts, a.tails, a.rows, a.cols, tile, strip, alpha, beta);
  }
}

// Completes block rows that cross tiles. Launch: one thread per tile and row of its blocks,
// MBK_FIXUP_THREADS per thread block. Shared: as mbk_fixup.
MBK_KERNEL_1 MBK_RESIDENT(MBK_FIXUP_THREADS, 4)
    mbk_bsr_fixup(MBK_GRID_CONSTANT mbk_bsr_fixup_arguments a) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_fixup(a.slot_row + a.tiles * MBK_SLOTS + 1, a.slot_row, a.row_id, a.row_bits, a.firsts,
            a.tails, a.y, a.tiles, a.filled, a.rows, (MBK_COMPUTE *)shared,
            MBK_SCALAR_ARGUMENTS);
}
