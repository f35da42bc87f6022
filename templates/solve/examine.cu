// What a solver wants to know of A beside products, from a CSR in GPU memory: the greatest sum
// of a row's absolute values, the entries of the blocks along the diagonal, and a diagonal's
// inverse.
#ifndef MBK_VALUE
#error "define MBK_VALUE: the type of the matrix's values"
#endif
#ifndef MBK_PATTERN
#error "define MBK_PATTERN: 1 if there are none, and all are 1"
#endif
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr"
#endif
#ifndef MBK_COLUMN
#error "define MBK_COLUMN: the type of col_ind"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#include "jit/device.cuh"

#define MBK_EXAMINE_THREADS 256
#define MBK_EXAMINE_LANES 8 // of a row

// Over the lanes of a row, in all of them.
MBK_DEVICE double mbk_examine_sum(double share) {
#pragma unroll
  for (int d = MBK_EXAMINE_LANES / 2; d > 0; d >>= 1) {
    share += mbk_shuffle_xor(0xffffffffu, share, d, MBK_EXAMINE_LANES);
  }
  return share;
}

// norms[b]: of the rows of block b. blocks: `width` entries for each row, those of its block on
// the diagonal, duplicates added up; none where width is 0.
// Launch: any grid of MBK_EXAMINE_THREADS threads. Shared: double[MBK_EXAMINE_THREADS].
MBK_KERNEL MBK_BOUNDS(MBK_EXAMINE_THREADS)
    mbk_examine_rows(const MBK_ROW_PTR *row_ptr, const MBK_COLUMN *col_ind,
                     const MBK_VALUE *values, mbk_u64 n, mbk_u32 width, double *blocks,
                     double *norms) {
  MBK_SHARED_MEMORY(shared);
  double *const most_of = (double *)shared;
  const mbk_u32 rows = MBK_EXAMINE_THREADS / MBK_EXAMINE_LANES; // of a thread block at once
  const mbk_u32 lane = mbk_thread() % MBK_EXAMINE_LANES;
  double most = 0;
  for (mbk_u64 first = (mbk_u64)mbk_block() * rows; first < n;
       first += (mbk_u64)mbk_grid() * rows) {
    const mbk_u64 row = first + mbk_thread() / MBK_EXAMINE_LANES;
    const bool inside = row < n;
    const mbk_i64 begin = inside ? (mbk_i64)row_ptr[row] - MBK_BASE : 0;
    const mbk_i64 end = inside ? (mbk_i64)row_ptr[row + 1] - MBK_BASE : 0;
    double sum = 0;
    for (mbk_i64 k = begin + lane; k < end; k += MBK_EXAMINE_LANES) {
      const double value = MBK_PATTERN ? 1.0 : (double)values[k];
      sum += value < 0 ? -value : value;
    }
    sum = mbk_examine_sum(sum);
    most = sum > most ? sum : most;
    for (mbk_u32 j = 0; j < width; j++) {
      const mbk_i64 column = (mbk_i64)(row - row % width + j);
      double entry = 0;
      for (mbk_i64 k = begin + lane; k < end; k += MBK_EXAMINE_LANES) {
        if ((mbk_i64)col_ind[k] - MBK_BASE == column) {
          entry += MBK_PATTERN ? 1.0 : (double)values[k];
        }
      }
      entry = mbk_examine_sum(entry);
      if (inside && lane == 0) {
        blocks[row * width + j] = entry;
      }
    }
  }
  most_of[mbk_thread()] = most;
  mbk_block_sync();
  for (mbk_u32 half = MBK_EXAMINE_THREADS / 2; half > 0; half /= 2) {
    if (mbk_thread() < half && most_of[mbk_thread() + half] > most_of[mbk_thread()]) {
      most_of[mbk_thread()] = most_of[mbk_thread() + half];
    }
    mbk_block_sync();
  }
  if (mbk_thread() == 0) {
    norms[mbk_block()] = most_of[0];
  }
}

// inverse[i] = 1 / diagonal[i]. *bad becomes the least i that has none, if that is below it.
// Launch: any grid of MBK_EXAMINE_THREADS threads. Shared: none.
MBK_KERNEL MBK_BOUNDS(MBK_EXAMINE_THREADS)
    mbk_examine_invert(const double *diagonal, MBK_VALUE *inverse, mbk_u64 n, mbk_u64 *bad) {
  for (mbk_u64 i = (mbk_u64)mbk_block() * MBK_EXAMINE_THREADS + mbk_thread(); i < n;
       i += (mbk_u64)mbk_grid() * MBK_EXAMINE_THREADS) {
    const double scale = 1.0 / diagonal[i];
    inverse[i] = (MBK_VALUE)scale;
    if (!(scale - scale == 0) || scale == 0) {
      mbk_u64 least = ~(mbk_u64)0;
      while (i < least) {
        const mbk_u64 seen = mbk_atomic_swap_if(bad, least, i);
        if (seen == least) {
          break;
        }
        least = seen;
      }
    }
  }
}
