// HUBS: y = alpha A x + beta y by SCAN's tiles, with the hubs in shared memory. Hubs are the
// elements of x that the most nonzeros read.
//
// Data: the tiles and schedule of spmv/gpu/scan/scan.cu, with codes in place of columns. A code
// is a column, or ~h for hub number h. Work: thread blocks stay resident and load the hubs
// once. Each of their warps takes tile after tile.
//
// Source: splitting a matrix at its fullest columns is common (degree sorting, Beamer et al.,
// PACT 2012). A single pass over codes, in which both kinds of gather overlap in every warp, is
// new here.
#ifndef MBK_HUBS
#error "define MBK_HUBS: the number of hubs that fit in shared memory"
#endif
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#include "spmv/gpu/scan/tile.cuh"

struct mbk_hubs_source {
  const MBK_VECTOR *x, *hubs;
};

MBK_DEVICE MBK_VECTOR mbk_hubs_gather(const mbk_hubs_source &source, mbk_i32 code) {
  return code < 0 ? source.hubs[~code] : mbk_load_after_wait(source.x + code);
}
#define MBK_SOURCE mbk_hubs_source
#define MBK_GATHER(source, code) mbk_hubs_gather(source, code)
#define MBK_HOLD(rows, old) // mbk_hubs_run has copied the old y
#include "spmv/gpu/scan/products.cuh"

#include "spmv/gpu/scan/build.cuh"
#include "spmv/gpu/scan/fixup.cuh"

#include "spmv/gpu/hubs/build.cuh"

// Multiplies a block's tiles and writes their rows. With `adds` the old y is read. Without
// `adds`, beta must be zero.
template <bool adds>
MBK_DEVICE void mbk_hubs_run(const mbk_u32 *row_ends, const mbk_u32 *tile_row,
                             const mbk_u32 *row_id, const mbk_i32 *codes,
                             const MBK_VALUE *values, const mbk_u32 *hub_col, mbk_u32 hub_count,
                             const MBK_VECTOR *x, MBK_VECTOR *y, MBK_COMPUTE *firsts,
                             MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_SCALAR alpha,
                             MBK_SCALAR beta, MBK_VECTOR *shared) {
  MBK_VECTOR *const old = shared + MBK_HUBS + mbk_thread() / 32 * MBK_OLD_ROWS;
  mbk_await();
  const mbk_hubs_source source = {x, shared};
  if (!MBK_VANISHES(alpha)) {
    for (mbk_u32 i = mbk_thread(); i < hub_count; i += MBK_THREADS) {
      shared[i] = mbk_load_after_wait(x + mbk_load(hub_col + i));
    }
  }
  // The old y of a warp's next tile is copied ahead. Its address takes two more loads, whose
  // latency the warps of one block per multiprocessor are too few to hide.
  const mbk_u64 step = (mbk_u64)mbk_grid() * (MBK_THREADS / 32);
  mbk_u64 tile = (mbk_u64)mbk_block() * (MBK_THREADS / 32) + mbk_thread() / 32;
  mbk_u32 from = adds && tile < tiles ? mbk_load(tile_row + tile) : 0;
  mbk_u32 to = adds && tile < tiles ? mbk_load(tile_row + tile + 1) : 0;
  if (adds && mbk_lane() < to - from) {
    mbk_copy_ahead<sizeof(MBK_VECTOR)>(old + mbk_lane(), y + MBK_ROW_OF(from + mbk_lane()));
  }
  from = adds && tile + step < tiles ? mbk_load(tile_row + tile + step) : 0;
  to = adds && tile + step < tiles ? mbk_load(tile_row + tile + step + 1) : 0;
  mbk_block_sync();
  for (; tile < tiles; tile += step) {
    mbk_scan_no_dot none;
    const bool wanted = mbk_lane() < to - from;
    const mbk_u32 row = wanted ? MBK_ROW_OF(from + mbk_lane()) : 0;
    if (adds) {
      const mbk_u64 later = tile + 2 * step;
      from = later < tiles ? mbk_load(tile_row + later) : 0;
      to = later < tiles ? mbk_load(tile_row + later + 1) : 0;
    }
    (void)mbk_scan_take<adds>(row_ends, tile_row, row_id, codes, values, source, y, firsts,
                              tails, nnz, tile, alpha, beta, old, none);
    mbk_warp_sync(MBK_ALL); // the next tile's old y takes the place of this tile's
    if (adds && wanted) {
      mbk_copy_ahead<sizeof(MBK_VECTOR)>(old + mbk_lane(), y + row);
    }
  }
}

#include "spmv/gpu/hubs/hubs_arguments.cuh"

// Computes the product for beta = 0; mbk_scan_fixup follows. Launch: at most as many blocks as
// are resident at once. Shared: MBK_VECTOR[MBK_TABLE + MBK_HUBS].
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_hubs_product(MBK_BY_FIELD(mbk_hubs_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  MBK_STOP_HERE
  const MBK_SCALAR factor = MBK_ALPHA;
  mbk_table_take(a.table, factor, MBK_THREADS);
  mbk_hubs_run<false>(a.row_ends, a.tile_row, a.row_id, a.codes, a.values, a.hub_col,
                      a.hub_count, a.x, a.y, a.firsts, a.tails, a.nnz, a.tiles, factor,
                      MBK_ABSENT, (MBK_VECTOR *)shared + MBK_TABLE);
}

// Computes the product for any beta. Launch: as mbk_hubs_product. Shared: MBK_VECTOR[MBK_TABLE
// + MBK_HUBS + MBK_THREADS].
MBK_KERNEL_1 MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_hubs_sum(MBK_BY_FIELD(mbk_hubs_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  MBK_SCALARS_LOAD;
  mbk_table_take(a.table, alpha, MBK_THREADS);
  mbk_hubs_run<true>(a.row_ends, a.tile_row, a.row_id, a.codes, a.values, a.hub_col,
                     a.hub_count, a.x, a.y, a.firsts, a.tails, a.nnz, a.tiles, alpha, beta,
                     (MBK_VECTOR *)shared + MBK_TABLE);
}
