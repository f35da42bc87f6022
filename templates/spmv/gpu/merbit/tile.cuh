// Builds TILE, the schedule of MERBIT, on the GPU. spmv/gpu/merbit/merbit.cu includes this file
// and describes the arrays.
#ifndef MBK_TILE_STEPS
#error "include spmv/gpu/merbit/merbit.cu, which opens with the list of macros"
#endif

// Returns the row at which diagonal `diagonal` crosses the merge path (Algorithm 1).
MBK_DEVICE mbk_u64 mbk_merge_search(const MBK_ROW_PTR *row_ptr, mbk_u64 rows, mbk_u64 nnz,
                                    mbk_u64 diagonal) {
  mbk_u64 low = diagonal > nnz ? diagonal - nnz : 0;
  mbk_u64 high = diagonal < rows ? diagonal : rows;
  while (low < high) {
    const mbk_u64 middle = (low + high) >> 1;
    if ((mbk_u64)(mbk_load(row_ptr + middle + 1) - MBK_BASE) <= diagonal - middle - 1) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

#define MBK_STEP_WORDS ((MBK_TILE_STEPS + 31) / 32 + 2)
#include "spmv/gpu/merbit/tile_arguments.cuh"

// Writes tile_x, tile_y and the lane descriptors (Algorithm 2). The row step of row r is at
// path position row_ptr[r + 1] + r, so one coalesced pass over a tile's rows sets its step
// bits; each lane then extracts its sigma bits. Launch: one group per tile, 128 threads per
// block. Shared: mbk_u32[128 / omega][MBK_STEP_WORDS].
MBK_KERNEL MBK_BOUNDS(128) mbk_merbit_build(MBK_GRID_CONSTANT mbk_merbit_build_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_u32 group = mbk_thread() / MBK_OMEGA, lane = mbk_thread() % MBK_OMEGA;
  const mbk_u32 mask = mbk_group_mask();
  const mbk_u64 tile = (mbk_u64)mbk_block() * (128 / MBK_OMEGA) + group;
  const mbk_u64 path = a.rows + a.nnz, start = tile * MBK_TILE_STEPS;
  mbk_u32 *bits = (mbk_u32 *)shared + group * MBK_STEP_WORDS;
  if (tile >= a.tiles) {
    return;
  }
  const mbk_u64 end = start + MBK_TILE_STEPS < path ? start + MBK_TILE_STEPS : path;
  mbk_u64 bound = 0; // lane 0: the tile's first row; lane 1: the next tile's
  if (lane < 2) {
    bound = mbk_merge_search(a.row_ptr, a.rows, a.nnz, lane == 0 ? start : end);
  }
  for (mbk_u32 w = lane; w < MBK_STEP_WORDS; w += MBK_OMEGA) {
    bits[w] = 0;
  }
  const mbk_u64 first_row = mbk_shuffle(mask, bound, 0, MBK_OMEGA);
  const mbk_u64 end_row = mbk_shuffle(mask, bound, 1, MBK_OMEGA);
  mbk_warp_sync(mask);
  for (mbk_u64 row = first_row + lane; row < end_row; row += MBK_OMEGA) {
    const mbk_u32 step =
        (mbk_u32)((mbk_u64)(mbk_load(a.row_ptr + row + 1) - MBK_BASE) + row - start);
    mbk_atomic_or(bits + (step >> 5), 1u << (step & 31u));
  }
  mbk_warp_sync(mask);
  const mbk_u32 at = lane * MBK_SIGMA, word = at >> 5, shift = at & 31u;
  mbk_u64 flags = (((mbk_u64)bits[word + 1] << 32) | bits[word]) >> shift;
  if (shift + MBK_SIGMA > 64) {
    flags |= (mbk_u64)bits[word + 2] << (64 - shift);
  }
  flags &= ((mbk_u64)1 << MBK_SIGMA) - 1;
  const int count = mbk_popcount(flags);
  int y_offset = count; // row steps of this lane and of those before it
  for (int d = 1; d < MBK_OMEGA; d <<= 1) {
    const int before = mbk_shuffle_up(mask, y_offset, d, MBK_OMEGA);
    y_offset += (int)lane >= d ? before : 0;
  }
  y_offset -= count;
  const mbk_u32 steps = (mbk_u32)(end - start);
  const mbk_u32 x_offset = (at < steps ? at : steps) - (mbk_u32)y_offset;
  a.lane_desc[tile * MBK_OMEGA + lane] = (MBK_DESCRIPTOR)flags << (2 * MBK_COORDINATE_BITS) |
                                         (MBK_DESCRIPTOR)y_offset << MBK_COORDINATE_BITS |
                                         (MBK_DESCRIPTOR)x_offset;
  if (lane == 0) {
    a.tile_x[tile] = (MBK_TILE)(start - first_row);
    a.tile_y[tile] = (MBK_TILE)first_row | (first_row == end_row ? MBK_MARK : (MBK_TILE)0);
    if (tile == a.tiles - 1) {
      a.tile_x[a.tiles] = (MBK_TILE)a.nnz;
      a.tile_y[a.tiles] = (MBK_TILE)a.rows;
    }
  }
}
