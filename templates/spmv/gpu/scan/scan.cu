// SCAN, a segmented scan in registers: y = alpha A x + beta y.
//
// Data: CSR columns and values, cut into tiles of 32 * MBK_STEPS consecutive nonzeros. Bit i of
// word w of a tile's row_ends is 1 if nonzero 32 w + i ends its row. Row numbers count only the
// non-empty rows: tile_row[t] is the number of the row that holds tile t's first nonzero, and
// tile_row[tiles] the number of non-empty rows. tile_row[tiles + 1 + t] is the number of tiles
// before tile t in which that row began, or MBK_OPEN if it does not end in tile t.
//
// Work: a warp owns a tile. Each lane loads MBK_PACK consecutive nonzeros at a time and keeps
// their products in registers. The warp adds them up by a segmented scan with shuffles. Other
// blocks, spread evenly among these, write the empty rows. The fix-up kernel completes rows
// that cross tiles.
//
// Source: a bit per nonzero is from CSR5 (Liu, Vinter, ICS 2015) and yaSpMV. Tiles in coalesced
// order whose sums stay in registers, so that L1 is left to x, are new here.
#ifndef MBK_DOTS
#define MBK_DOTS 0 // 1: the product for alpha = 1 and beta = 0 also computes x'A x
#endif
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#include "spmv/gpu/scan/tile.cuh"

#include "spmv/gpu/scan/products.cuh"

#include "spmv/gpu/scan/build.cuh"

#include "spmv/gpu/scan/fill.cuh"
#include "spmv/gpu/scan/fixup.cuh"

// Multiplies one tile and writes its rows. A whole warp calls it.
template <bool adds>
MBK_DEVICE void
mbk_scan_run(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,
             const mbk_i32 *col_ind, const MBK_VALUE *values, const MBK_VECTOR *x,
             MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles,
             mbk_u32 block, MBK_SCALAR alpha, MBK_SCALAR beta, MBK_VECTOR *old) {
  const mbk_u32 tile = block * (MBK_THREADS / 32) + mbk_thread() / 32;
  if (tile < tiles) {
    mbk_scan_no_dot none;
    (void)mbk_scan_take<adds>(row_ends, tile_row, row_id, col_ind, values, x, y, firsts, tails,
                              nnz, tile, alpha, beta,
                              adds ? old + mbk_thread() / 32 * MBK_OLD_ROWS : old, none);
  }
}

#if MBK_DOTS
// Multiplies and writes a tile as mbk_scan_run<false> does, and also computes the tile's part
// of x'A x, which is stored after firsts and tails. Each part of a row is multiplied by the x
// of that row, so rows may cross tiles. alpha must be 1.
MBK_DEVICE void mbk_scan_run_dots(const mbk_u32 *row_ends, const mbk_u32 *tile_row,
                                  const mbk_u32 *row_id, const mbk_i32 *col_ind,
                                  const MBK_VALUE *values, const MBK_VECTOR *x, MBK_VECTOR *y,
                                  MBK_COMPUTE *firsts, MBK_COMPUTE *tails, mbk_u64 nnz,
                                  mbk_u64 tiles, mbk_u32 block, MBK_SCALAR alpha) {
  const mbk_u32 tile = block * (MBK_THREADS / 32) + mbk_thread() / 32;
  mbk_scan_dot dot = {x, 0};
  if (tile >= tiles) {
    return;
  }
  const MBK_COMPUTE carry =
      mbk_scan_take<false>(row_ends, tile_row, row_id, col_ind, values, x, y, firsts, tails,
                           nnz, tile, alpha, MBK_ABSENT, (MBK_VECTOR *)0, dot);
  if (mbk_lane() == 31 && tile + 1 < tiles) { // no row is open after the last nonzero
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

#include "spmv/gpu/scan/scan_arguments.cuh"

// Computes the product for beta = 0; mbk_scan_fixup follows. Launch: one warp per tile, and
// the blocks of spmv/gpu/scan/fill.cuh. Shared: MBK_COMPUTE[MBK_TABLE].
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_scan_product(MBK_BY_FIELD(mbk_scan_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  mbk_release();
  MBK_STOP_HERE
  const MBK_SCALAR factor = MBK_ALPHA;
  mbk_u32 block;
  if (mbk_scan_fill<false>(a.row_bits, a.y, a.rows, a.fill_rate, factor, MBK_ABSENT, block)) {
    return;
  }
  mbk_table_take(a.table, factor, MBK_THREADS);
#if MBK_DOTS
  mbk_scan_run_dots(a.row_ends, a.tile_row, a.row_id, a.col_ind, a.values, a.x, a.y, a.firsts,
                    a.tails, a.nnz, a.tiles, block, factor);
#else
  mbk_scan_run<false>(a.row_ends, a.tile_row, a.row_id, a.col_ind, a.values, a.x, a.y, a.firsts,
                      a.tails, a.nnz, a.tiles, block, factor, MBK_ABSENT, (MBK_VECTOR *)0);
#endif
}

// Blocks per multiprocessor of the kernel that reads the old y. From compute capability 10.0
// on, where addresses take more registers, more would spill.
#define MBK_SUM_BLOCKS                                                                         \
  (__CUDA_ARCH__ >= 1000 && MBK_BLOCKS > 3 ? 5 * MBK_BLOCKS / 6 : MBK_BLOCKS)

// Computes the product for any beta. Launch: as mbk_scan_product. Shared:
// MBK_COMPUTE[MBK_TABLE], MBK_VECTOR[MBK_THREADS / 32 * MBK_OLD_ROWS].
MBK_KERNEL_1 MBK_RESIDENT(MBK_THREADS, MBK_SUM_BLOCKS)
    mbk_scan_sum(MBK_BY_FIELD(mbk_scan_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  MBK_SCALARS_LOAD;
  mbk_u32 block;
  if (mbk_scan_fill<true>(a.row_bits, a.y, a.rows, a.fill_rate, alpha, beta, block)) {
    return;
  }
  mbk_table_take(a.table, alpha, MBK_THREADS);
  mbk_scan_run<true>(a.row_ends, a.tile_row, a.row_id, a.col_ind, a.values, a.x, a.y, a.firsts,
                     a.tails, a.nnz, a.tiles, block, alpha, beta,
                     (MBK_VECTOR *)shared + MBK_TABLE);
}
