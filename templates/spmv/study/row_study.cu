// Warps that add up whole rows: two kernels of Marconi (Optimization for SpMV, report, Trento
// 2025, section IV), for comparison. The report's first kernel, a warp per row, is
// spmv/gpu/rows/rows.cu with 32 lanes. MBK_STUDY selects the kernel:
//   0  warp loop (Algorithm 1): as many warps as the GPU holds take their next rows from
//      a counter until none are left
//   1  warp tiled (Algorithm 2): a thread block takes MBK_ROWS rows for each of its warps
//      and walks through tiles of columns; shared memory holds the tile's part of x
// Unlike in the report, a single warp takes each row. Nothing is added to y with atomics, and
// the order of each row's sum is fixed, so the bits do not depend on which warp takes a row.
// The kernels ask for one resident block. Otherwise the compiler limits registers for as many
// blocks as possible, and spills.
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"
#ifndef MBK_STUDY
#error "define MBK_STUDY: 0 or 1"
#endif
#ifndef MBK_LANES
#error "define MBK_LANES: lanes per row of the warp loop, a power of two up to 32"
#endif
#ifndef MBK_ROWS
#error "define MBK_ROWS: rows that a group of lanes, or a warp, processes at once"
#endif
#ifndef MBK_WIDTH
#error "define MBK_WIDTH: columns of a tile"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block, a multiple of 32"
#endif

#define MBK_ALL 0xffffffffu
#define MBK_WARPS (MBK_THREADS / 32)

// Returns the index of a row's first nonzero, which is also the end of the previous row.
MBK_DEVICE mbk_u64 mbk_study_start(const MBK_ROW_PTR *row_ptr, mbk_u64 row) {
  return (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE);
}

// Returns the product of nonzero `at` and its element of x, `factor`.
MBK_DEVICE MBK_COMPUTE mbk_study_term(const MBK_VALUE *values, mbk_u64 at, MBK_VECTOR factor) {
#if MBK_PATTERN
  (void)at;
  return MBK_UNIT(values, factor);
#else
  return MBK_MUL(mbk_value(mbk_load(values + at)), factor);
#endif
}

// Returns the sum over `lanes` neighbouring lanes. The first of them has the result.
MBK_DEVICE MBK_COMPUTE mbk_study_reduce(MBK_COMPUTE sum, int lanes) {
#pragma unroll
  for (int d = lanes / 2; d > 0; d >>= 1) {
    sum = MBK_ADD(sum, mbk_shuffle_down(MBK_ALL, sum, d, lanes));
  }
  return sum;
}

#include "spmv/study/row_study_arguments.cuh"

#if MBK_STUDY == 0

// The number of rows that a warp takes at a time.
#define MBK_TAKEN (MBK_ROWS * (32 / MBK_LANES))

// Sets the row counter to zero. Launch: one thread, before each product.
MBK_KERNEL MBK_BOUNDS(1) mbk_loop_reset(MBK_BY_FIELD(mbk_loop_reset_arguments, a)) {
  mbk_release();
  mbk_await(); // a previous product may still use the counter
  *a.counter = 0;
}

MBK_DEVICE MBK_COMPUTE mbk_loop_sum(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind,
                                    const MBK_VALUE *values, const MBK_VECTOR *x, mbk_u64 row) {
  const mbk_u64 end = mbk_study_start(row_ptr, row + 1);
  MBK_COMPUTE sum = MBK_ZERO;
#pragma unroll 4
  for (mbk_u64 at = mbk_study_start(row_ptr, row) + mbk_lane() % MBK_LANES; at < end;
       at += MBK_LANES) {
    sum = MBK_ADD(sum,
                  mbk_study_term(values, at,
                                 mbk_load_after_wait(x + (mbk_load(col_ind + at) - MBK_BASE))));
  }
  return sum;
}

// Computes y = alpha A x + beta y with the warp loop. Launch: any number of blocks, after
// mbk_loop_reset.
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, 1)
    mbk_loop_product(MBK_BY_FIELD(mbk_loop_product_arguments, a)) {
  MBK_VECTOR *const y = a.y;
  MBK_SCALARS_OF(a);
  mbk_release();
  mbk_await();
  MBK_SCALARS_LOAD;
  for (;;) {
    mbk_u64 first = 0;
    if (mbk_lane() == 0) {
      first = mbk_atomic_add(a.counter, (mbk_u64)MBK_TAKEN);
    }
    first = mbk_shuffle(MBK_ALL, first, 0, 32);
    if (first >= a.rows) {
      break;
    }
    for (mbk_u32 i = 0; i < MBK_ROWS; i++) {
      const mbk_u64 row = first + i * (32 / MBK_LANES) + mbk_lane() / MBK_LANES;
      MBK_COMPUTE sum = MBK_ZERO;
      if (row < a.rows && !MBK_VANISHES(alpha)) {
        sum = mbk_loop_sum(a.row_ptr, a.col_ind, a.values, a.x, row);
      }
      sum = mbk_study_reduce(sum, MBK_LANES);
      if (row < a.rows && mbk_lane() % MBK_LANES == 0) {
        MBK_COMMIT(row, sum);
      }
    }
  }
}

#else

#define MBK_NOTHING 0xffffffffu // no column

// A lane's nonzeros of the warp's rows: in row i every 32nd, starting at at[i].
struct mbk_tiled_rows {
  mbk_u64 at[MBK_ROWS], end[MBK_ROWS];
};

// Finds the rows of a warp. Rows after the last one are empty.
MBK_DEVICE mbk_tiled_rows mbk_tiled_begin(const MBK_ROW_PTR *row_ptr, mbk_u64 first,
                                          mbk_u64 rows) {
  mbk_tiled_rows own;
#pragma unroll
  for (mbk_u32 i = 0; i < MBK_ROWS; i++) {
    const mbk_u64 row = first + i;
    own.at[i] = own.end[i] = 0;
    if (row < rows) {
      own.at[i] = mbk_study_start(row_ptr, row) + mbk_lane();
      own.end[i] = mbk_study_start(row_ptr, row + 1);
    }
  }
  return own;
}

MBK_DEVICE mbk_u64 mbk_tiled_first_row() {
  return ((mbk_u64)mbk_block() * MBK_WARPS + mbk_thread() / 32) * MBK_ROWS;
}

MBK_DEVICE mbk_u32 mbk_tiled_column(const mbk_i32 *col_ind, mbk_u64 at) {
  return (mbk_u32)(mbk_load(col_ind + at) - MBK_BASE);
}

// Returns the least value over the thread block, in every thread. Shared: mbk_u32[MBK_WARPS].
MBK_DEVICE mbk_u32 mbk_tiled_least(mbk_u32 own, mbk_u32 *least) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) {
    const mbk_u32 other = mbk_shuffle_xor(MBK_ALL, own, d, 32);
    own = other < own ? other : own;
  }
  mbk_block_sync(); // until the previous values have been read
  if (mbk_lane() == 0) {
    least[mbk_thread() / 32] = own;
  }
  mbk_block_sync();
  for (mbk_u32 w = 0; w < MBK_WARPS; w++) {
    own = least[w] < own ? least[w] : own;
  }
  return own;
}

// Splits the columns of a block's rows into tiles. Each tile begins with the least column that
// earlier tiles do not cover, so every tile holds a nonzero. If tile_col is null, counts the
// tiles in tile_first[block] and tests whether the columns of each row ascend. Otherwise writes
// the first column of each tile, from index tile_first[block] on. Launch: a block per MBK_WARPS
// * MBK_ROWS rows. Shared: mbk_u32[MBK_WARPS].
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, 1)
    mbk_tiled_cut(MBK_GRID_CONSTANT mbk_tiled_cut_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_tiled_rows own = mbk_tiled_begin(a.row_ptr, mbk_tiled_first_row(), a.rows);
  bool ascend = true;
#pragma unroll
  for (mbk_u32 i = 0; i < MBK_ROWS; i++) {
    for (mbk_u64 at = own.at[i]; at + 1 < own.end[i]; at += 32) {
      ascend = ascend && mbk_tiled_column(a.col_ind, at) <= mbk_tiled_column(a.col_ind, at + 1);
    }
  }
  ascend = mbk_tiled_least(ascend, (mbk_u32 *)shared) != 0;
  mbk_u64 count = 0;
  mbk_u32 next = 0;
  for (;;) {
    mbk_u32 least = MBK_NOTHING;
#pragma unroll
    for (mbk_u32 i = 0; i < MBK_ROWS; i++) {
      mbk_u64 at = own.at[i];
      for (; at < own.end[i]; at += 32) {
        const mbk_u32 column = mbk_tiled_column(a.col_ind, at);
        if (column >= next) {
          least = column < least ? column : least;
          if (ascend) {
            break;
          }
        }
      }
      own.at[i] = ascend ? at : own.at[i];
    }
    least = mbk_tiled_least(least, (mbk_u32 *)shared);
    if (least == MBK_NOTHING) {
      break;
    }
    if (a.tile_col != (mbk_u32 *)0 && mbk_thread() == 0) {
      a.tile_col[a.tile_first[mbk_block()] + count] = least;
    }
    next = least + MBK_WIDTH;
    count++;
  }
  if (a.tile_col == (mbk_u32 *)0 && mbk_thread() == 0) {
    a.tile_first[mbk_block()] = count;
    a.mixed[mbk_block()] = !ascend;
  }
}

// Adds a tile's part to the lane's sums. Rows with ascending columns continue where the
// previous tile ended; other rows are searched again for each tile, as in the report.
MBK_DEVICE void mbk_tiled_add(const mbk_i32 *col_ind, const MBK_VALUE *values,
                              const MBK_VECTOR *part, mbk_u32 start, bool ascend,
                              mbk_tiled_rows &own, MBK_COMPUTE (&sum)[MBK_ROWS]) {
#pragma unroll
  for (mbk_u32 i = 0; i < MBK_ROWS; i++) {
    mbk_u64 at = own.at[i];
    for (; at < own.end[i]; at += 32) {
      const mbk_u32 place = mbk_tiled_column(col_ind, at) - start; // wraps around if the column
                                                                   // lies before the tile
      if (place < MBK_WIDTH) {
        sum[i] = MBK_ADD(sum[i], mbk_study_term(values, at, part[place]));
      } else if (ascend) {
        break;
      }
    }
    own.at[i] = ascend ? at : own.at[i];
  }
}

// Computes y = alpha A x + beta y by tiles of columns. No thread returns before the last
// barrier. Launch: as mbk_tiled_cut. Shared: MBK_VECTOR[MBK_WIDTH].
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, 1)
    mbk_tiled_product(MBK_BY_FIELD(mbk_tiled_product_arguments, a)) {
  MBK_VECTOR *const y = a.y;
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  MBK_VECTOR *const part = (MBK_VECTOR *)shared;
  mbk_release();
  const mbk_u64 first = mbk_tiled_first_row();
  mbk_tiled_rows own = mbk_tiled_begin(a.row_ptr, first, a.rows);
  const bool ascend = mbk_load(a.mixed + mbk_block()) == 0;
  MBK_COMPUTE sum[MBK_ROWS];
#pragma unroll
  for (mbk_u32 i = 0; i < MBK_ROWS; i++) {
    sum[i] = MBK_ZERO;
  }
  mbk_await();
  MBK_SCALARS_LOAD;
  mbk_u64 tile = mbk_load(a.tile_first + mbk_block());
  const mbk_u64 last = !MBK_VANISHES(alpha) ? mbk_load(a.tile_first + mbk_block() + 1) : tile;
  for (; tile < last; tile++) {
    const mbk_u32 start = mbk_load(a.tile_col + tile);
    mbk_block_sync(); // until the previous tile has been multiplied
    for (mbk_u32 c = mbk_thread(); c < MBK_WIDTH && start + c < a.cols; c += MBK_THREADS) {
      part[c] = mbk_load_after_wait(a.x + start + c);
    }
    mbk_block_sync();
    mbk_tiled_add(a.col_ind, a.values, part, start, ascend, own, sum);
  }
#pragma unroll
  for (mbk_u32 i = 0; i < MBK_ROWS; i++) {
    const MBK_COMPUTE whole = mbk_study_reduce(sum[i], 32);
    if (mbk_lane() == 0 && first + i < a.rows) {
      MBK_COMMIT(first + i, whole);
    }
  }
}

#endif
