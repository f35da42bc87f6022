// Products of blocks in the user's order: the four kernels of Chirila (Architectural-Aware
// Optimization of SpMV on GPUs, Bucharest 2025, chapter 8), for comparison. Each thread block
// takes a chunk of the same number of blocks and walks through the rows of blocks in it.
// chunk_row is computed once. A thread block adds its sum of each row to y with atomics, so y
// is scaled beforehand (Listing 13), and products do not repeat bit for bit. MBK_STUDY selects
// how a thread block adds up a row:
//   0  row-major access: an atomic addition in shared memory per entry (Listing 14)
//   1  thread-private accumulation: R sums in local memory, reduced without atomics in
//      shared memory (Listings 15 and 16)
//   2  team-based accumulation: R C threads per block of the matrix, one per entry; an
//      atomic addition in shared memory per thread (Listing 17)
//   3  vector accumulation, unrolled: several rows at once in registers, shuffles, an
//      atomic addition in shared memory per warp and row (Listing 18)
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"
#ifndef MBK_STUDY
#error "define MBK_STUDY: 0 to 3"
#endif
#ifndef MBK_BLOCK_ROWS
#error "define MBK_BLOCK_ROWS: rows of a block"
#endif
#ifndef MBK_BLOCK_COLS
#error "define MBK_BLOCK_COLS: columns of a block"
#endif
#ifndef MBK_COLUMN_MAJOR
#error "define MBK_COLUMN_MAJOR: 1 if blocks are column-major"
#endif
#ifndef MBK_EDGE
#error "define MBK_EDGE: 1 if the last block column reaches beyond the matrix"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block of the product, a multiple of 32"
#endif

#define MBK_ENTRIES (MBK_BLOCK_ROWS * MBK_BLOCK_COLS)
#define MBK_BUILD_THREADS 256
#define MBK_ALL 0xffffffffu
#define MBK_ROWS_AT_ONCE (MBK_BLOCK_ROWS < 8 ? MBK_BLOCK_ROWS : 8)
#define MBK_ROWS_LEFT (MBK_BLOCK_ROWS % MBK_ROWS_AT_ONCE)

// Convert the index of an entry in its block to its row and column, and back.
#define MBK_ROW_IN_BLOCK(e) (MBK_COLUMN_MAJOR ? (e) % MBK_BLOCK_ROWS : (e) / MBK_BLOCK_COLS)
#define MBK_COL_IN_BLOCK(e) (MBK_COLUMN_MAJOR ? (e) / MBK_BLOCK_ROWS : (e) % MBK_BLOCK_COLS)
#define MBK_IN_BLOCK(r, c)                                                                     \
  (MBK_COLUMN_MAJOR ? (c)*MBK_BLOCK_ROWS + (r) : (r)*MBK_BLOCK_COLS + (c))

struct mbk_study_blocks {
  const mbk_i32 *col_ind;
  const MBK_VALUE *values;
  const MBK_VECTOR *x;
  mbk_u64 cols;
};

// Returns the product of entry `at`, which lies in column `c` of block `block`, and its element
// of x.
MBK_DEVICE MBK_COMPUTE mbk_study_term(const mbk_study_blocks &a, mbk_u64 block, mbk_u64 at,
                                      mbk_u32 c) {
  const mbk_u32 column = (mbk_u32)(mbk_load(a.col_ind + block) - MBK_BASE);
  const mbk_u64 col = (mbk_u64)column * MBK_BLOCK_COLS + c;
  if (MBK_EDGE && col >= a.cols) {
    return MBK_ZERO;
  }
#if MBK_PATTERN
  (void)at;
  return MBK_UNIT(a.values, a.x[col]);
#else
  return MBK_MUL(mbk_load(a.values + at), a.x[col]);
#endif
}

MBK_DEVICE MBK_COMPUTE mbk_study_reduce(MBK_COMPUTE sum) { // lane 0 has the result
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) {
    sum = MBK_ADD(sum, mbk_shuffle_down(MBK_ALL, sum, d, 32));
  }
  return sum;
}

// ---- The sum of blocks [from, to), part of a row of blocks, added to `shared` ---------------

#if MBK_STUDY == 0

MBK_DEVICE void mbk_study_sum(const mbk_study_blocks &a, mbk_u64 from, mbk_u64 to,
                              MBK_COMPUTE *shared) {
  for (mbk_u64 at = from * MBK_ENTRIES + mbk_thread(); at < to * MBK_ENTRIES;
       at += MBK_THREADS) {
    const mbk_u32 e = (mbk_u32)(at % MBK_ENTRIES);
    mbk_atomic_add(shared + MBK_ROW_IN_BLOCK(e),
                   mbk_study_term(a, at / MBK_ENTRIES, at, MBK_COL_IN_BLOCK(e)));
  }
}

#elif MBK_STUDY == 1

// Adds up blocks [from, to) by threads. In `shared`, the partial sums of the warps follow the
// sums.
MBK_DEVICE void mbk_study_sum(const mbk_study_blocks &a, mbk_u64 from, mbk_u64 to,
                              MBK_COMPUTE *shared) {
  MBK_COMPUTE *const partial = shared + MBK_BLOCK_ROWS;
  MBK_COMPUTE sum[MBK_BLOCK_ROWS];
  for (int r = 0; r < MBK_BLOCK_ROWS; r++) {
    sum[r] = MBK_ZERO;
  }
  for (mbk_u64 at = from * MBK_ENTRIES + mbk_thread(); at < to * MBK_ENTRIES;
       at += MBK_THREADS) {
    const mbk_u32 e = (mbk_u32)(at % MBK_ENTRIES), r = MBK_ROW_IN_BLOCK(e);
    sum[r] = MBK_ADD(sum[r], mbk_study_term(a, at / MBK_ENTRIES, at, MBK_COL_IN_BLOCK(e)));
  }
  for (int r = 0; r < MBK_BLOCK_ROWS; r++) {
    const MBK_COMPUTE own = mbk_study_reduce(sum[r]);
    if (mbk_lane() == 0) {
      partial[mbk_thread() / 32] = own;
    }
    mbk_block_sync();
    if (mbk_thread() < 32) {
      const MBK_COMPUTE all =
          mbk_study_reduce(mbk_thread() < MBK_THREADS / 32 ? partial[mbk_thread()] : MBK_ZERO);
      if (mbk_thread() == 0) {
        shared[r] = all;
      }
    }
    mbk_block_sync();
  }
}

#elif MBK_STUDY == 2

// Adds up blocks [from, to) by teams of one thread per entry. Threads left over after the last
// whole team do nothing.
MBK_DEVICE void mbk_study_sum(const mbk_study_blocks &a, mbk_u64 from, mbk_u64 to,
                              MBK_COMPUTE *shared) {
  enum { TEAMS = MBK_THREADS / MBK_ENTRIES };
  const mbk_u32 team = mbk_thread() / MBK_ENTRIES, e = mbk_thread() % MBK_ENTRIES;
  if (team < TEAMS) {
    MBK_COMPUTE sum = MBK_ZERO;
    for (mbk_u64 block = from + team; block < to; block += TEAMS) {
      sum =
          MBK_ADD(sum, mbk_study_term(a, block, block * MBK_ENTRIES + e, MBK_COL_IN_BLOCK(e)));
    }
    mbk_atomic_add(shared + MBK_ROW_IN_BLOCK(e), sum);
  }
}

#else

// Adds up rows [first, first + rows) of the blocks. Each thread takes whole columns of them.
template <int rows>
MBK_DEVICE void mbk_study_strip(const mbk_study_blocks &a, mbk_u64 from, mbk_u64 to, int first,
                                MBK_COMPUTE *shared) {
  MBK_COMPUTE sum[rows];
#pragma unroll
  for (int k = 0; k < rows; k++) {
    sum[k] = MBK_ZERO;
  }
  for (mbk_u64 at = from * MBK_BLOCK_COLS + mbk_thread(); at < to * MBK_BLOCK_COLS;
       at += MBK_THREADS) {
    const mbk_u64 block = at / MBK_BLOCK_COLS;
    const mbk_u32 c = (mbk_u32)(at % MBK_BLOCK_COLS);
#pragma unroll
    for (int k = 0; k < rows; k++) {
      sum[k] = MBK_ADD(
          sum[k],
          mbk_study_term(a, block, block * MBK_ENTRIES + MBK_IN_BLOCK((mbk_u32)(first + k), c),
                         c));
    }
  }
#pragma unroll
  for (int k = 0; k < rows; k++) {
    sum[k] = mbk_study_reduce(sum[k]);
    if (mbk_lane() == 0) {
      mbk_atomic_add(shared + first + k, sum[k]);
    }
  }
}

// Adds up blocks [from, to) in strips of rows. The listing takes 8 rows at a time, then fewer.
// Here the remaining rows form a single strip.
MBK_DEVICE void mbk_study_sum(const mbk_study_blocks &a, mbk_u64 from, mbk_u64 to,
                              MBK_COMPUTE *shared) {
  for (int r = 0; r + MBK_ROWS_AT_ONCE <= MBK_BLOCK_ROWS; r += MBK_ROWS_AT_ONCE) {
    mbk_study_strip<MBK_ROWS_AT_ONCE>(a, from, to, r, shared);
  }
#if MBK_ROWS_LEFT > 0
  mbk_study_strip<MBK_ROWS_LEFT>(a, from, to, MBK_BLOCK_ROWS - MBK_ROWS_LEFT, shared);
#endif
}

#endif

// ---- Kernels --------------------------------------------------------------------------------

MBK_DEVICE mbk_u64 mbk_study_start(const MBK_ROW_PTR *row_ptr, mbk_u64 row) {
  return (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE);
}

#include "spmv/study/bsr_study_arguments.cuh"

// Writes chunk_row[i], the row of the first block of chunk i; chunk_row[chunks] is the row of
// the last block. Launch: chunks + 1 threads.
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_study_cut(MBK_GRID_CONSTANT mbk_study_cut_arguments a) {
  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();
  if (at <= a.chunks) {
    const mbk_u64 block = at * a.chunk_blocks < a.blocks ? at * a.chunk_blocks : a.blocks - 1;
    mbk_u32 low = 0, high = a.block_rows;
    while (high - low > 1) {
      const mbk_u32 middle = low + (high - low) / 2;
      if (mbk_study_start(a.row_ptr, middle) <= block) {
        low = middle;
      } else {
        high = middle;
      }
    }
    a.chunk_row[at] = low;
  }
}

// Computes y = beta y. Launch: one thread per row.
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_study_scale(MBK_GRID_CONSTANT mbk_study_scale_arguments a) {
  MBK_SCALARS_OF(a);
  MBK_SCALARS_LOAD;
  const mbk_u64 row = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();
  (void)alpha;
  if (row < a.rows) {
    a.y[row] = beta == (MBK_COMPUTE)0 ? (MBK_VECTOR)0 : (MBK_VECTOR)MBK_MUL(beta, a.y[row]);
  }
}

// Computes y += alpha A x. Launch: one block per chunk. Shared: MBK_COMPUTE[MBK_BLOCK_ROWS +
// MBK_THREADS / 32].
MBK_KERNEL MBK_BOUNDS(MBK_THREADS)
    mbk_study_product(MBK_GRID_CONSTANT mbk_study_product_arguments given) {
  MBK_SCALARS_OF(given);
  MBK_SCALARS_LOAD;
  MBK_SHARED_MEMORY(memory);
  MBK_COMPUTE *const shared = (MBK_COMPUTE *)memory;
  const mbk_study_blocks a = {given.col_ind, given.values, given.x, given.cols};
  const mbk_u64 first = mbk_block() * given.chunk_blocks;
  const mbk_u64 last =
      first + given.chunk_blocks < given.blocks ? first + given.chunk_blocks : given.blocks;
  (void)beta;
  if (alpha == (MBK_COMPUTE)0) {
    return;
  }
  const mbk_u32 last_row = mbk_load(given.chunk_row + mbk_block() + 1);
  for (mbk_u32 row = mbk_load(given.chunk_row + mbk_block()); row <= last_row; row++) {
    const mbk_u64 start = mbk_study_start(given.row_ptr, row);
    const mbk_u64 end = mbk_study_start(given.row_ptr, (mbk_u64)row + 1);
    const mbk_u64 from = start > first ? start : first, to = end < last ? end : last;
    if (from >= to) {
      continue;
    }
    // No barrier is needed: the thread that clears a sum is the one that read it before.
    for (mbk_u32 r = mbk_thread(); r < MBK_BLOCK_ROWS; r += MBK_THREADS) {
      shared[r] = MBK_ZERO;
    }
    mbk_block_sync();
    mbk_study_sum(a, from, to, shared);
    mbk_block_sync();
    for (mbk_u32 r = mbk_thread(); r < MBK_BLOCK_ROWS; r += MBK_THREADS) {
      const mbk_u64 at = (mbk_u64)row * MBK_BLOCK_ROWS + r;
      if (at < given.rows) {
        mbk_atomic_add(given.y + at, (MBK_VECTOR)MBK_MUL(alpha, shared[r]));
      }
    }
  }
}
