// Finds the hubs and encodes the columns, on the GPU. spmv/gpu/hubs/hubs.cu includes this file.
#ifndef MBK_TILE_NONZEROS
#error "include spmv/gpu/scan/tile.cuh before"
#endif

#include "spmv/gpu/hubs/build_arguments.cuh"

// Returns the lane's number among all lanes for which `wanted` holds, in the order in which
// warps arrive. Adds the number of such lanes in this warp to *taken. A whole warp calls it.
MBK_DEVICE mbk_u32 mbk_hubs_number(bool wanted, mbk_u32 *taken) {
  const mbk_u32 lanes = mbk_ballot(MBK_ALL, wanted);
  mbk_u32 first = 0;
  if (lanes != 0 && mbk_lane() == 0) {
    first = mbk_atomic_add(taken, (mbk_u32)mbk_popcount(lanes));
  }
  return mbk_shuffle(MBK_ALL, first, 0, 32) +
         (mbk_u32)mbk_popcount(lanes & ((1u << mbk_lane()) - 1));
}

// Writes code[c]: ~h if column c is hub number h, else c. Hubs are the `above` columns whose
// count is more than `least`, and as many columns with exactly that count as `room` is left
// for. `code` may be the same array as `counts`. Writes hub_col[h], the column of hub h. Adds
// the numbers of columns of both kinds to taken[0] and taken[1], which must be zero before.
// Launch: one thread per column, 256 per block.
MBK_KERNEL MBK_BOUNDS(256) mbk_hubs_assign(MBK_GRID_CONSTANT mbk_hubs_assign_arguments a) {
  const mbk_u64 column = (mbk_u64)mbk_block() * 256 + mbk_thread();
  const mbk_u32 count = column < a.cols ? a.counts[column] : 0;
  const bool full = column < a.cols && count > a.least;
  const bool level = column < a.cols && count == a.least;
  const mbk_u32 at_full = mbk_hubs_number(full, a.taken);
  const mbk_u32 at_level = mbk_hubs_number(level, a.taken + 1);
  if (column < a.cols) {
    const mbk_u32 number = full ? at_full : a.above + at_level;
    const bool taking = (full || level) && number < a.room;
    if (taking) {
      a.hub_col[number] = (mbk_u32)column;
    }
    a.code[column] = taking ? ~(mbk_i32)number : (mbk_i32)column;
  }
}

// Writes codes[k], the code of nonzero k's column. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_hubs_encode(MBK_GRID_CONSTANT mbk_hubs_encode_arguments a) {
  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread(); k < a.nnz;
       k += (mbk_u64)mbk_grid() * 256) {
    a.codes[k] = mbk_load(a.code + (mbk_load(a.col_ind + k) - MBK_BASE));
  }
}
