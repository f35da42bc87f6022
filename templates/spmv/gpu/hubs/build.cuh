// Finds the hubs and encodes the columns, on the GPU. spmv/gpu/hubs/hubs.cu includes this file.
#ifndef MBK_TILE_NONZEROS
#error "include spmv/gpu/scan/tile.cuh before"
#endif

#include "spmv/gpu/hubs/build_arguments.cuh"

// Writes code[c]: c, or ~h if column c is hub number h. A hub is a column whose count is at
// least `least`; at most `room` are taken. `code` may be `counts`. Writes hub_col[h], the
// column of hub h, and adds the number of hubs to *taken, which must be zero before. Launch:
// one thread per column, 256 per block.
MBK_KERNEL MBK_BOUNDS(256) mbk_hubs_assign(MBK_GRID_CONSTANT mbk_hubs_assign_arguments a) {
  const mbk_u64 column = (mbk_u64)mbk_block() * 256 + mbk_thread();
  const bool hub = column < a.cols && a.counts[column] >= a.least;
  const mbk_u32 hubs = mbk_ballot(MBK_ALL, hub);
  mbk_u32 first = 0;
  if (hubs != 0 && mbk_lane() == 0) {
    first = mbk_atomic_add(a.taken, (mbk_u32)mbk_popcount(hubs));
  }
  first = mbk_shuffle(MBK_ALL, first, 0, 32);
  if (column < a.cols) {
    const mbk_u32 number = first + (mbk_u32)mbk_popcount(hubs & ((1u << mbk_lane()) - 1));
    const bool taking = hub && number < a.room;
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
