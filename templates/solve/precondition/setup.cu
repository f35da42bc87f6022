// The setup of a solver from a CSR in GPU memory: the infinity norm of A, the entries of the
// diagonal blocks, and the inverse of a diagonal.
#ifndef MBK_VALUE
#error "define MBK_VALUE: the type of the matrix's values"
#endif
#ifndef MBK_PATTERN
#error "define MBK_PATTERN: 1 if no values are stored and all are 1"
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
#ifndef MBK_SETUP_LANES
#error "define MBK_SETUP_LANES: lanes per row, a power of two up to 32"
#endif
#include "jit/device.cuh"

#define MBK_SETUP_THREADS 256
#define MBK_SETUP_BLOCKS 4     // blocks per multiprocessor; with more, registers spill
#define MBK_SETUP_ROWS 4       // rows that a group of lanes processes at once
#define MBK_SETUP_LONG 1024    // rows with more nonzeros are added up by the whole block
#define MBK_SETUP_LONG_KEPT 64 // long rows that a block remembers

// Returns the sum over the lanes that share a row, in every lane.
MBK_DEVICE double mbk_setup_sum(double share) {
#pragma unroll
  for (int d = MBK_SETUP_LANES / 2; d > 0; d >>= 1) {
    share += mbk_shuffle_xor(0xffffffffu, share, d, MBK_SETUP_LANES);
  }
  return share;
}

// Returns the absolute value of entry k.
MBK_DEVICE double mbk_setup_magnitude(const MBK_VALUE *values, mbk_i64 k) {
  const double value = MBK_PATTERN ? 1.0 : (double)values[k];
  return value < 0 ? -value : value;
}

// Returns this thread's share of the sum of absolute values from `begin` to `end`, which the
// threads of a block divide among themselves.
MBK_DEVICE double mbk_setup_share(const MBK_VALUE *values, mbk_i64 begin, mbk_i64 end) {
  double sum = 0;
#pragma unroll 4
  for (mbk_i64 k = begin + mbk_thread(); k < end; k += MBK_SETUP_THREADS) {
    sum += mbk_setup_magnitude(values, k);
  }
  return sum;
}

// Returns thread `thread`'s share of the sum of the row's values in one column.
MBK_DEVICE double mbk_setup_entry(const MBK_COLUMN *col_ind, const MBK_VALUE *values,
                                  mbk_i64 begin, mbk_i64 end, mbk_i64 column, mbk_u32 thread,
                                  mbk_u32 threads) {
  double sum = 0;
#pragma unroll 4
  for (mbk_i64 k = begin + thread; k < end; k += threads) {
    if ((mbk_i64)col_ind[k] - MBK_BASE == column) {
      sum += MBK_PATTERN ? 1.0 : (double)values[k];
    }
  }
  return sum;
}

// Returns the sum over the block by a tree, in every thread. `shared` may be reused at once.
MBK_DEVICE double mbk_setup_block_sum(double sum, double *shared) {
  shared[mbk_thread()] = sum;
  mbk_block_sync();
  for (mbk_u32 half = MBK_SETUP_THREADS / 2; half > 0; half /= 2) {
    if (mbk_thread() < half) {
      shared[mbk_thread()] += shared[mbk_thread() + half];
    }
    mbk_block_sync();
  }
  const double all = shared[0];
  mbk_block_sync();
  return all;
}

// Processes a long row with the whole block: returns the sum of absolute values and writes the
// row's entries of its diagonal block.
MBK_DEVICE double mbk_setup_long(const MBK_ROW_PTR *row_ptr, const MBK_COLUMN *col_ind,
                                 const MBK_VALUE *values, mbk_u64 row, mbk_u32 width,
                                 double *blocks, double *shared) {
  const mbk_i64 begin = (mbk_i64)row_ptr[row] - MBK_BASE;
  const mbk_i64 end = (mbk_i64)row_ptr[row + 1] - MBK_BASE;
  for (mbk_u32 j = 0; j < width; j++) {
    const double entry = mbk_setup_block_sum(mbk_setup_entry(col_ind, values, begin, end,
                                                             (mbk_i64)(row - row % width + j),
                                                             mbk_thread(), MBK_SETUP_THREADS),
                                             shared);
    if (mbk_thread() == 0) {
      blocks[row * width + j] = entry;
    }
  }
  return mbk_setup_block_sum(mbk_setup_share(values, begin, end), shared);
}

#include "solve/precondition/setup_arguments.cuh"

// Writes to norms[b] the largest sum of absolute values among the rows of thread block b.
// Writes to `blocks` `width` entries per row: those of its diagonal block, with duplicates
// added up; none if width is 0. Long rows come last. Launch: any grid of MBK_SETUP_THREADS
// threads. Shared: double[MBK_SETUP_THREADS], then mbk_u64[MBK_SETUP_LONG_KEPT], then mbk_u32.
MBK_KERNEL MBK_RESIDENT(MBK_SETUP_THREADS, MBK_SETUP_BLOCKS)
    mbk_setup_rows(MBK_GRID_CONSTANT mbk_setup_rows_arguments a) {
  MBK_SHARED_MEMORY(shared);
  double *const most_of = (double *)shared;
  mbk_u64 *const kept = (mbk_u64 *)(most_of + MBK_SETUP_THREADS);
  mbk_u32 *const long_rows = (mbk_u32 *)(kept + MBK_SETUP_LONG_KEPT);
  const mbk_u32 rows = MBK_SETUP_THREADS / MBK_SETUP_LANES; // rows of a thread block at a time
  const mbk_u32 turn = rows * MBK_SETUP_ROWS;
  const mbk_u32 lane = mbk_thread() % MBK_SETUP_LANES, own = mbk_thread() / MBK_SETUP_LANES;
  double most = 0;
  if (mbk_thread() == 0) {
    *long_rows = 0;
  }
  mbk_block_sync();
  for (mbk_u64 first = (mbk_u64)mbk_block() * turn; first < a.n;
       first += (mbk_u64)mbk_grid() * turn) {
    mbk_i64 at[MBK_SETUP_ROWS], end[MBK_SETUP_ROWS];
    double sum[MBK_SETUP_ROWS];
    mbk_u32 waits = 0; // a bit for each row that is long and therefore postponed
#pragma unroll
    for (mbk_u32 i = 0; i < MBK_SETUP_ROWS; i++) {
      const mbk_u64 row = first + i * rows + own;
      at[i] = row < a.n ? (mbk_i64)a.row_ptr[row] - MBK_BASE : 0;
      end[i] = row < a.n ? (mbk_i64)a.row_ptr[row + 1] - MBK_BASE : 0;
      sum[i] = 0;
    }
#pragma unroll
    for (mbk_u32 i = 0; i < MBK_SETUP_ROWS; i++) {
      if (end[i] - at[i] > MBK_SETUP_LONG) {
        const mbk_u32 place = lane == 0 ? mbk_atomic_add(long_rows, 1u) : MBK_SETUP_LONG_KEPT;
        if (place < MBK_SETUP_LONG_KEPT) {
          kept[place] = first + i * rows + own;
        }
        waits |= 1u << i;
        end[i] = at[i];
      }
      at[i] += lane;
    }
    for (bool more = true; more;) { // the loads of all rows are in flight together
      more = false;
#pragma unroll
      for (mbk_u32 i = 0; i < MBK_SETUP_ROWS; i++) {
        if (at[i] < end[i]) {
          sum[i] += mbk_setup_magnitude(a.values, at[i]);
          at[i] += MBK_SETUP_LANES;
          more = true;
        }
      }
    }
#pragma unroll
    for (mbk_u32 i = 0; i < MBK_SETUP_ROWS; i++) {
      const mbk_u64 row = first + i * rows + own;
      sum[i] = mbk_setup_sum(sum[i]);
      most = sum[i] > most ? sum[i] : most;
      if (a.width > 0) {
        const bool takes = row < a.n && (waits >> i & 1) == 0;
        const mbk_i64 begin = takes ? (mbk_i64)a.row_ptr[row] - MBK_BASE : end[i];
        for (mbk_u32 j = 0; j < a.width; j++) {
          const double entry = mbk_setup_sum(mbk_setup_entry(a.col_ind, a.values, begin, end[i],
                                                             (mbk_i64)(row - row % a.width + j),
                                                             lane, MBK_SETUP_LANES));
          if (takes && lane == 0) {
            a.blocks[row * a.width + j] = entry;
          }
        }
      }
    }
  }
  mbk_block_sync();
  const mbk_u32 count = *long_rows;
  for (mbk_u32 k = 0; k < count && count <= MBK_SETUP_LONG_KEPT; k++) {
    const double all =
        mbk_setup_long(a.row_ptr, a.col_ind, a.values, kept[k], a.width, a.blocks, most_of);
    most = all > most ? all : most;
  }
  for (mbk_u64 first = (mbk_u64)mbk_block() * turn; first < a.n && count > MBK_SETUP_LONG_KEPT;
       first += (mbk_u64)mbk_grid() * turn) { // too many to remember: search for them again
    for (mbk_u64 row = first; row < first + turn && row < a.n; row++) {
      if ((mbk_i64)a.row_ptr[row + 1] - (mbk_i64)a.row_ptr[row] > MBK_SETUP_LONG) {
        const double all =
            mbk_setup_long(a.row_ptr, a.col_ind, a.values, row, a.width, a.blocks, most_of);
        most = all > most ? all : most;
      }
    }
  }
  most_of[mbk_thread()] = most; // the memory of the block sums is free again
  mbk_block_sync();
  for (mbk_u32 half = MBK_SETUP_THREADS / 2; half > 0; half /= 2) {
    if (mbk_thread() < half && most_of[mbk_thread() + half] > most_of[mbk_thread()]) {
      most_of[mbk_thread()] = most_of[mbk_thread() + half];
    }
    mbk_block_sync();
  }
  if (mbk_thread() == 0) {
    a.norms[mbk_block()] = most_of[0];
  }
}

// Computes inverse[i] = 1 / diagonal[i]. Lowers *bad to the smallest i that has no inverse.
// Launch: any grid of MBK_SETUP_THREADS threads. Shared: none.
MBK_KERNEL MBK_BOUNDS(MBK_SETUP_THREADS)
    mbk_setup_invert(MBK_GRID_CONSTANT mbk_setup_invert_arguments a) {
  for (mbk_u64 i = (mbk_u64)mbk_block() * MBK_SETUP_THREADS + mbk_thread(); i < a.n;
       i += (mbk_u64)mbk_grid() * MBK_SETUP_THREADS) {
    const double scale = 1.0 / a.diagonal[i];
    const MBK_VALUE inverse = (MBK_VALUE)scale;
    a.inverse[i] = inverse;
    if (!(inverse - inverse == 0) || scale == 0) {
      mbk_u64 least = ~(mbk_u64)0;
      while (i < least) {
        const mbk_u64 seen = mbk_atomic_swap_if(a.bad, least, i);
        if (seen == least) {
          break;
        }
        least = seen;
      }
    }
  }
}
