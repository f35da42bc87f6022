// Builds SCAN's schedule on the GPU: row_ends and tile_row, which spmv/gpu/scan/scan.cu
// describes. One warp builds one tile.
#ifndef MBK_TILE_NONZEROS
#error "include spmv/gpu/scan/tile.cuh before"
#endif

#include "spmv/gpu/scan/build_arguments.cuh"

// Writes row_ends (MBK_STEPS words per tile) and tile_row (2 * tiles + 1 words). Launch: one
// warp per tile, 128 threads per block. Shared: mbk_u32[4][MBK_STEPS].
MBK_KERNEL_2 MBK_BOUNDS(128) mbk_scan_build(MBK_GRID_CONSTANT mbk_scan_build_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const words = (mbk_u32 *)shared + mbk_thread() / 32 * MBK_STEPS;
  const mbk_u64 tile = (mbk_u64)mbk_block() * 4 + mbk_thread() / 32;
  const mbk_u32 lane = mbk_lane();
  if (tile >= a.tiles) {
    return;
  }
  const mbk_u64 start = tile * MBK_TILE_NONZEROS;
  mbk_u32 bound = a.ranks; // lane 0: the tile's first row; lane 1: the next tile's
  if (lane < 2 && start + lane * MBK_TILE_NONZEROS < a.nnz) {
    bound = mbk_nonempty_search(a.row_start, a.ranks, start + lane * MBK_TILE_NONZEROS);
  }
  if (lane < MBK_STEPS) {
    words[lane] = 0;
  }
  const mbk_u32 from = mbk_shuffle(MBK_ALL, bound, 0, 32);
  const mbk_u32 to = mbk_shuffle(MBK_ALL, bound, 1, 32);
  mbk_warp_sync(MBK_ALL);
  for (mbk_u32 row_number = from + lane; row_number < to; row_number += 32) {
    const mbk_u32 at =
        (mbk_u32)((mbk_u64)(mbk_load(a.row_start + row_number + 1) - MBK_BASE) - 1 - start);
    mbk_atomic_or(words + (at >> 5), 1u << (at & 31u));
  }
  mbk_warp_sync(MBK_ALL);
  if (lane < MBK_STEPS) {
    a.row_ends[tile * MBK_STEPS + lane] = words[lane];
  }
  if (lane == 0) {
    a.tile_row[tile] = from;
    a.tile_row[a.tiles + 1 + tile] =
        from < to ? (mbk_u32)(tile - (mbk_u64)(mbk_load(a.row_start + from) - MBK_BASE) /
                                         MBK_TILE_NONZEROS)
                  : MBK_OPEN;
    if (tile == a.tiles - 1) {
      a.tile_row[a.tiles] = a.ranks;
    }
  }
}
