// SCAN with whole rows in each block: y = alpha A x + beta y in one launch, for matrices so
// small that launching a fix-up would cost much.
//
// Data: the tiles of spmv/gpu/scan/scan.cu, and block_start. Block b owns whole rows, the
// nonzeros [block_start[b], block_start[b + 1]), which may share tiles with neighbouring
// blocks. If no row is longer than a tile, these are the rows that begin from tile b *
// (MBK_WARPS - 1) on and before the first tile of block b + 1. Else a block owns as many rows
// as its warps take in one round (MBK_FITTED).
//
// Work: each warp of a block takes one tile at a time. The warps pass the carry-outs of open
// rows to each other through shared memory.
//
// Source: row-aligned blocks are from CSR-Stream (Greathouse, Daga, SC14). New here is how they
// are cut: from the rows in which tiles begin, so that no search is needed.
#ifndef MBK_FITTED
#error "define MBK_FITTED: 1 if a block owns as many rows as its warps take in one round"
#endif
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#include "spmv/gpu/scan/tile.cuh"

#include "spmv/gpu/scan/products.cuh"

#include "spmv/gpu/scan/build.cuh"

#include "spmv/gpu/scan/fill.cuh"

#define MBK_WARPS (MBK_THREADS / 32)

#include "spmv/gpu/scan/whole_arguments.cuh"

// Returns where the row that holds the first nonzero of a tile begins, or, if that is before
// `least`, where it ends.
MBK_DEVICE mbk_u64 mbk_scan_row_border(const mbk_scan_cut_arguments &a, mbk_u64 tile,
                                       mbk_u64 least) {
  const mbk_u32 row_number = mbk_load(a.tile_row + tile);
  const mbk_u64 begin = (mbk_u64)(mbk_load(a.row_start + row_number) - MBK_BASE);
  return begin >= least ? begin : (mbk_u64)(mbk_load(a.row_start + row_number + 1) - MBK_BASE);
}

#if MBK_FITTED
// Writes block_start[0..n] and, after the `blocks` + 1 entries that it may need, the number of
// blocks n. A block begins where the one before it ends. Launch: one block of 128. Shared:
// mbk_u32[tiles].
MBK_KERNEL MBK_BOUNDS(128) mbk_scan_cut(MBK_GRID_CONSTANT mbk_scan_cut_arguments a) {
  MBK_SHARED_MEMORY(shared);
  // For each tile, where the block ends that begins in it.
  mbk_u32 *const ends = (mbk_u32 *)shared;
  for (mbk_u64 tile = mbk_thread(); tile < a.tiles; tile += 128) {
    const mbk_u64 next = tile + MBK_WARPS;
    ends[tile] =
        (mbk_u32)(next < a.tiles ? mbk_scan_row_border(a, next, (tile + 1) * MBK_TILE_NONZEROS)
                                 : a.nnz);
  }
  mbk_block_sync();
  if (mbk_thread() == 0) {
    mbk_u64 count = 0;
    for (mbk_u64 at = 0; at < a.nnz; at = ends[at / MBK_TILE_NONZEROS]) {
      a.block_start[count++] = at;
    }
    a.block_start[count] = a.nnz;
    a.block_start[a.blocks + 1] = count;
  }
}
#else
// Writes block_start[0..blocks]. Launch: one thread per entry, 128 per block.
MBK_KERNEL MBK_BOUNDS(128) mbk_scan_cut(MBK_GRID_CONSTANT mbk_scan_cut_arguments a) {
  const mbk_u64 at = (mbk_u64)mbk_block() * 128 + mbk_thread();
  const mbk_u64 tile = at * (MBK_WARPS - 1);
  if (at <= a.blocks) {
    a.block_start[at] =
        tile < a.tiles ? mbk_scan_row_border(a, tile, tile * MBK_TILE_NONZEROS) : a.nnz;
  }
}
#endif

// Returns a mask of the bits in a lane's word of row ends that belong to the tile's first
// `count` nonzeros.
MBK_DEVICE mbk_u32 mbk_scan_below(mbk_u64 count) {
  const mbk_u64 first = 32 * mbk_lane();
  return count <= first        ? 0
         : count >= first + 32 ? 0xffffffffu
                               : (1u << (mbk_u32)(count - first)) - 1;
}

// Multiplies and writes a block's rows. With `adds` the old y is loaded into shared memory
// together with the nonzeros. Without `adds`, beta must be zero.
template <bool adds>
MBK_DEVICE void mbk_scan_run(const mbk_u32 *row_ends, const mbk_u32 *tile_row,
                             const mbk_u32 *row_id, const mbk_u64 *block_start,
                             const mbk_i32 *col_ind, const MBK_VALUE *values,
                             const MBK_VECTOR *x, MBK_VECTOR *y, mbk_u64 nnz, mbk_u64 tiles,
                             mbk_u32 block, MBK_SCALAR alpha, MBK_SCALAR beta, char *shared) {
  // Two buffers of each, used in turn: a warp may be one round ahead of warps that still read.
  MBK_COMPUTE *const firsts = (MBK_COMPUTE *)shared;
  MBK_COMPUTE *const tails = firsts + 2 * MBK_WARPS;
  MBK_VECTOR *const olds = (MBK_VECTOR *)(tails + 2 * MBK_WARPS);
  MBK_VECTOR *const old = olds + mbk_thread() / 32 * MBK_OLD_ROWS;
  mbk_u32 *const closes = (mbk_u32 *)(olds + (adds ? MBK_WARPS * MBK_OLD_ROWS : 0));
  const mbk_u32 warp = mbk_thread() / 32, lane = mbk_lane();
  const mbk_u64 begin = mbk_load(block_start + block);
  const mbk_u64 end = mbk_load(block_start + block + 1);
#if MBK_FITTED
  const mbk_u32 own_tile = (mbk_u32)(begin / MBK_TILE_NONZEROS);
#else
  const mbk_u32 own_tile = block * (MBK_WARPS - 1);
#endif
  mbk_u32 block_tile = own_tile;
  mbk_u32 turn = 0;
  // The sum so far of the row that is open after earlier rounds. Only the block's last row can
  // extend beyond its first round.
  MBK_COMPUTE open = MBK_ZERO;
  for (;;) {
    const mbk_u32 tile = block_tile + warp; // there are fewer than 2^31 tiles
    const mbk_u64 start = (mbk_u64)tile * MBK_TILE_NONZEROS;
    const mbk_u32 slot = turn + warp;
    mbk_u32 ends = 0, row_number = 0;
#if MBK_FITTED
    if (tile < tiles && start < end) {
#else // the loads of the first round do not wait for block_start
    if (tile < tiles && (block_tile == own_tile || start < end)) {
#endif
      MBK_COMPUTE product[MBK_GROUPS][MBK_PACK];
      ends = lane < MBK_STEPS ? mbk_load(row_ends + tile * MBK_STEPS + lane) : 0;
      row_number = mbk_load(tile_row + tile);
      const mbk_scan_rows rows = {row_id, y, row_number,
                                  adds ? mbk_load(tile_row + tile + 1) : 0, ends};
      mbk_u32 skipped_rows = 0;
      mbk_scan_multiply<adds>(col_ind, values, x, start, nnz, rows, alpha, product, old);
      if (begin > start) { // the nonzeros before `begin` belong to the previous block
        const mbk_u32 skipped = mbk_scan_below(begin - start);
        mbk_u32 closed = (mbk_u32)mbk_popcount(ends & skipped);
#pragma unroll
        for (int d = 16; d > 0; d >>= 1) {
          closed += mbk_shuffle_xor(MBK_ALL, closed, d, 32);
        }
        skipped_rows = closed;
        ends &= ~skipped;
#pragma unroll
        for (int g = 0; g < MBK_GROUPS; g++) {
#pragma unroll
          for (int j = 0; j < MBK_PACK; j++) {
            if (MBK_PACK * (32 * g + lane) + j < begin - start) {
              product[g][j] = MBK_ZERO;
            }
          }
        }
      }
      ends &= mbk_scan_below(end > start ? end - start : 0);
      row_number += skipped_rows;
      mbk_scan_no_dot none;
      (void)mbk_scan_commit(
          product, ends, row_number, slot, row_id, y, firsts, tails, alpha, beta,
          old + skipped_rows,
          adds && skipped_rows < MBK_OLD_ROWS ? MBK_OLD_ROWS - skipped_rows : 0, none);
    } else if (lane == 31) {
      tails[slot] = MBK_ZERO;
    }
    const bool closing = mbk_ballot(MBK_ALL, ends != 0) != 0;
    if (lane == 0) {
      closes[slot] = closing;
    }
    mbk_block_sync();
    const MBK_COMPUTE tail = lane < MBK_WARPS ? tails[turn + lane] : MBK_ZERO;
    const mbk_u32 closers = mbk_ballot(MBK_ALL, lane < MBK_WARPS && closes[turn + lane] != 0);
    // The warp's first row includes earlier warps' tails, back to the last with a row end.
    if (closing) {
      const mbk_u32 before = closers & ((1u << warp) - 1);
      const mbk_u32 from = before != 0 ? 31 - (mbk_u32)mbk_leading_zeros(before) : 0;
      const MBK_COMPUTE part = mbk_scan_reduce(lane >= from && lane < warp ? tail : MBK_ZERO);
      if (lane == 0) {
        MBK_COMMIT(MBK_ROW_OF(row_number), MBK_ADD(MBK_ADD(open, part), firsts[slot]));
      }
    }
    block_tile += MBK_WARPS;
    if (begin == end || (mbk_u64)block_tile * MBK_TILE_NONZEROS >= end) {
      break;
    }
    const mbk_u32 last = closers != 0 ? 31 - (mbk_u32)mbk_leading_zeros(closers) : 0;
    open = MBK_ADD(open, mbk_scan_reduce(lane >= last ? tail : MBK_ZERO));
    turn = MBK_WARPS - turn;
  }
}

#include "spmv/gpu/scan/scan_arguments.cuh"

// Computes the product for beta = 0. Launch: one block per entry of block_start but the last,
// and those of spmv/gpu/scan/fill.cuh, each of MBK_THREADS, at least 64. Shared:
// MBK_COMPUTE[MBK_TABLE + 4 * MBK_WARPS], mbk_u32[2 * MBK_WARPS].
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_scan_whole(MBK_BY_FIELD(mbk_scan_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  MBK_STOP_HERE
  const MBK_SCALAR factor = MBK_ALPHA;
  mbk_u32 block;
  if (mbk_scan_fill<false>(a.row_bits, a.y, a.rows, a.fill_rate, factor, MBK_ABSENT, block)) {
    return;
  }
  mbk_table_take(a.table, factor, MBK_THREADS);
  mbk_scan_run<false>(a.row_ends, a.tile_row, a.row_id, a.block_start, a.col_ind, a.values, a.x,
                      a.y, a.nnz, a.tiles, block, factor, MBK_ABSENT,
                      (char *)((MBK_COMPUTE *)shared + MBK_TABLE));
}

// Computes the product for any beta. Launch: as mbk_scan_whole. Shared: also
// MBK_VECTOR[MBK_WARPS * MBK_OLD_ROWS].
MBK_KERNEL_1 MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_scan_whole_sum(MBK_BY_FIELD(mbk_scan_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  MBK_SCALARS_LOAD;
  mbk_u32 block;
  if (mbk_scan_fill<true>(a.row_bits, a.y, a.rows, a.fill_rate, alpha, beta, block)) {
    return;
  }
  mbk_table_take(a.table, alpha, MBK_THREADS);
  mbk_scan_run<true>(a.row_ends, a.tile_row, a.row_id, a.block_start, a.col_ind, a.values, a.x,
                     a.y, a.nnz, a.tiles, block, alpha, beta,
                     (char *)((MBK_COMPUTE *)shared + MBK_TABLE));
}
