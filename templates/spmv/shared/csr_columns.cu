// Counts the nonzeros of each column, to find hubs: columns with many.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#include "jit/device.cuh"

#include "spmv/shared/csr_columns_arguments.cuh"

// Adds the nonzeros of a sample, every `stride`th run of 32, to counts[column]. counts must be
// zero before. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_columns_count(MBK_GRID_CONSTANT mbk_columns_count_arguments a) {
  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;
  const mbk_u64 step = (mbk_u64)mbk_grid() * 8 * a.stride * 32;
  for (mbk_u64 k = warp * a.stride * 32 + mbk_lane(); k < a.nnz; k += step) {
    mbk_atomic_add(a.counts + (a.col_ind[k] - MBK_BASE), 1u);
  }
}

// Writes the same counts from the row offsets of the transpose: column lengths divided by
// `stride`, rounded. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256)
    mbk_columns_lengths(MBK_GRID_CONSTANT mbk_columns_lengths_arguments a) {
  for (mbk_u64 c = (mbk_u64)mbk_block() * 256 + mbk_thread(); c < a.cols;
       c += (mbk_u64)mbk_grid() * 256) {
    const mbk_u64 count =
        ((mbk_u64)(a.row_ptr[c + 1] - a.row_ptr[c]) + a.stride / 2) / a.stride;
    a.counts[c] = count < 0xffffffffull ? (mbk_u32)count : 0xffffffffu;
  }
}

// Adds to bins[n] the number of columns with count n. The last bin also takes all higher
// counts. bins must be zero before. Launch: any grid of 256 threads. Shared: mbk_u32[MBK_BINS].
#define MBK_BINS 4096
MBK_KERNEL MBK_BOUNDS(256) mbk_columns_bins(MBK_GRID_CONSTANT mbk_columns_bins_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const own = (mbk_u32 *)shared;
  for (mbk_u32 i = mbk_thread(); i < MBK_BINS; i += 256) {
    own[i] = 0;
  }
  mbk_block_sync();
  for (mbk_u64 c = (mbk_u64)mbk_block() * 256 + mbk_thread(); c < a.cols;
       c += (mbk_u64)mbk_grid() * 256) {
    if (a.counts[c] > 0) {
      mbk_atomic_add(own + (a.counts[c] < MBK_BINS ? a.counts[c] : MBK_BINS - 1), 1u);
    }
  }
  mbk_block_sync();
  for (mbk_u32 i = mbk_thread(); i < MBK_BINS; i += 256) {
    if (own[i] > 0) {
      mbk_atomic_add(a.bins + i, own[i]);
    }
  }
}
