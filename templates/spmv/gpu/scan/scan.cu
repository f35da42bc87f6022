// Register scan: y = alpha A x + beta y over tiles of 32 * MBK_STEPS consecutive nonzeros, one
// bit per nonzero for "ends its row", and a segmented sum by shuffles.
// Source: the idea of a bit per nonzero is of CSR5 (Liu, Vinter, ICS 2015) and yaSpMV; tiles in
// coalesced order whose sums stay in registers, which leaves L1 to x, are ours.
//
// A warp owns a tile. Its lanes take MBK_PACK neighbours each, again and again; the bits of the
// nonzeros from 32 i on are word i of the tile's row_ends. Rows are numbered by rank among
// those that hold something; tile_row[t] is the rank of the row of tile t's first nonzero,
// tile_row[tiles] the number of ranks; there follows for each tile how many tiles before it its
// first row began, or MBK_OPEN.
#ifndef MBK_DOTS
#define MBK_DOTS 0 // 1: the product with alpha 1 and without the old y adds up x'A x too
#endif
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#include "spmv/gpu/scan/tile.cuh"

#include "spmv/gpu/scan/products.cuh"

#include "spmv/gpu/scan/build.cuh"
#include "spmv/gpu/scan/fixup.cuh"

// A warp's tile.
template <bool adds>
MBK_DEVICE void
mbk_scan_run(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,
             const mbk_i32 *col_ind, const MBK_VALUE *values, const MBK_VECTOR *x,
             MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles,
             MBK_SCALAR alpha, MBK_SCALAR beta, MBK_VECTOR *old) {
  const mbk_u32 tile = mbk_block() * (MBK_THREADS / 32) + mbk_thread() / 32;
  if (tile < tiles) {
    mbk_scan_no_dot none;
    (void)mbk_scan_take<adds>(row_ends, tile_row, row_id, col_ind, values, x, y, firsts, tails,
                              nnz, tile, alpha, beta, adds ? old + mbk_thread() / 32 * 32 : old,
                              none);
  }
}

#if MBK_DOTS
// The same without the old y, and x'A x: of each tile its part, behind the room for firsts and
// tails. Rows that end elsewhere are no matter, for of each part of a row the product with its
// x is taken. alpha must be 1.
MBK_DEVICE void mbk_scan_run_dots(const mbk_u32 *row_ends, const mbk_u32 *tile_row,
                                  const mbk_u32 *row_id, const mbk_i32 *col_ind,
                                  const MBK_VALUE *values, const MBK_VECTOR *x, MBK_VECTOR *y,
                                  MBK_COMPUTE *firsts, MBK_COMPUTE *tails, mbk_u64 nnz,
                                  mbk_u64 tiles, MBK_SCALAR alpha) {
  const mbk_u32 tile = mbk_block() * (MBK_THREADS / 32) + mbk_thread() / 32;
  mbk_scan_dot dot = {x, 0};
  if (tile >= tiles) {
    return;
  }
  const MBK_COMPUTE carry =
      mbk_scan_take<false>(row_ends, tile_row, row_id, col_ind, values, x, y, firsts, tails,
                           nnz, tile, alpha, MBK_ABSENT, (MBK_VECTOR *)0, dot);
  if (mbk_lane() == 31 && tile + 1 < tiles) { // behind the last nonzero no row is open
    mbk_scan_meet(dot, MBK_ROW_OF(mbk_load(tile_row + tile + 1)), carry);
  }
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) {
    dot.sum += mbk_shuffle_xor(MBK_ALL, dot.sum, d, 32);
  }
  if (mbk_lane() == 0) {
    ((double *)(firsts + 2 * tiles))[tile] = dot.sum;
  }
}
#endif

// Launch: one warp per tile. mbk_scan_fixup follows. beta must be zero. Shared:
// MBK_COMPUTE[MBK_TABLE].
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_scan_product(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,
                     const mbk_i32 *col_ind, const MBK_VALUE *values, const MBK_COMPUTE *table,
                     const MBK_VECTOR *x, MBK_VECTOR *y, MBK_COMPUTE *firsts,
                     MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_SCALAR_PARAMETERS) {
  mbk_release();
  MBK_STOP_HERE
  const MBK_SCALAR factor = MBK_ALPHA;
  mbk_table_take(table, factor, MBK_THREADS);
#if MBK_DOTS
  mbk_scan_run_dots(row_ends, tile_row, row_id, col_ind, values, x, y, firsts, tails, nnz,
                    tiles, factor);
#else
  mbk_scan_run<false>(row_ends, tile_row, row_id, col_ind, values, x, y, firsts, tails, nnz,
                      tiles, factor, MBK_ABSENT, (MBK_VECTOR *)0);
#endif
}

// Blocks that a multiprocessor should hold of the kernel that adds the old y: with scalars on
// the device, rows by their numbers, or sums of 8 bytes, it would spill where the other does
// not.
#define MBK_SUM_BLOCKS                                                                         \
  (MBK_BLOCKS > 1 && (MBK_PACK * sizeof(MBK_COMPUTE) != 16 || MBK_PACK < 4 ||                  \
                      MBK_SCALARS_DEVICE || MBK_EMPTY_ROWS)                                    \
       ? 5 * MBK_BLOCKS / 6                                                                    \
       : MBK_BLOCKS)

// The same with any beta. Shared: MBK_COMPUTE[MBK_TABLE], MBK_VECTOR[MBK_THREADS].
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_SUM_BLOCKS)
    mbk_scan_sum(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,
                 const mbk_i32 *col_ind, const MBK_VALUE *values, const MBK_COMPUTE *table,
                 const MBK_VECTOR *x, MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails,
                 mbk_u64 nnz, mbk_u64 tiles, MBK_SCALAR_PARAMETERS) {
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  MBK_SCALARS_LOAD;
  mbk_table_take(table, alpha, MBK_THREADS);
  mbk_scan_run<true>(row_ends, tile_row, row_id, col_ind, values, x, y, firsts, tails, nnz,
                     tiles, alpha, beta, (MBK_VECTOR *)shared + MBK_TABLE);
}
