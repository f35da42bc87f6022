// MANY by rows: Y = alpha A X + beta Y for several vectors, straight from CSR, for rows of
// nearly equal length.
//
// Work: a team (spmv/gpu/many/lane.cuh) owns a row, a warp as many neighbouring rows as it has
// teams. The nonzeros that a warp gathers at once are then at the same position of neighbouring
// rows. In grids these are neighbouring columns, whose rows of X share cache lines. A team with
// a short row waits.
//
// The method is new here.
#ifndef MBK_STAGED
#error "define MBK_STAGED: nonzeros that a warp stages at once, a multiple of 128"
#endif
#include "spmv/gpu/many/lane.cuh"

#define MBK_ALL 0xffffffffu
#if MBK_STREAMING
#define MBK_MATRIX_LOAD mbk_load_streaming
#else
#define MBK_MATRIX_LOAD mbk_load
#endif

// Starts copying elements [from, to) of an array of nnz elements to shared memory. `from` must
// be a multiple of 4. mbk_copy_wait completes the copy.
template <class T>
MBK_DEVICE void mbk_rows_stage(T *stage, const T *array, mbk_u64 from, mbk_u64 to,
                               mbk_u64 nnz) {
  const mbk_u32 n = MBK_ALIGNED ? 16 / sizeof(T) : 1, count = (mbk_u32)(to - from);
#pragma unroll 4
  for (mbk_u32 k = n * mbk_lane(); k < count; k += 32 * n) {
    if (MBK_ALIGNED && from + k + n <= nnz) { // may extend beyond `to`
      mbk_copy_ahead<16>(stage + k, array + from + k);
    } else {
#pragma unroll
      for (mbk_u32 j = 0; j < n; j++) {
        if (k + j < count) {
          stage[k + j] = MBK_MATRIX_LOAD(array + from + k + j);
        }
      }
    }
  }
}

// Multiplies MBK_UNROLL consecutive nonzeros of a row, of which `left` exist.
template <bool packed>
MBK_DEVICE void mbk_rows_batch(const mbk_i32 *columns, const MBK_VALUE *values, mbk_u32 left,
                               const MBK_VECTOR *x, mbk_u32 x_step, mbk_many_row &sum) {
  mbk_i32 column[MBK_UNROLL];
  MBK_VALUE value[MBK_UNROLL] = {};
  mbk_many_factors factor;
#pragma unroll
  for (mbk_u32 u = 0; u < MBK_UNROLL; u++) {
    column[u] = u < left ? columns[u] : MBK_BASE;
    if (!MBK_PATTERN && u < left) {
      value[u] = values[u];
    }
  }
  mbk_many_gather<packed, false>(column, left, x, x_step, factor);
#pragma unroll
  for (mbk_u32 u = 0; u < MBK_UNROLL; u++) {
    if (u < left) {
      mbk_many_add(value[u], factor[u], sum);
    }
  }
}

template <bool packed>
MBK_DEVICE void mbk_rows_tile(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind,
                              const MBK_VALUE *values, const MBK_VECTOR *x, mbk_u32 x_step,
                              MBK_VECTOR *y, mbk_u64 ldy, mbk_u64 rows, mbk_u64 nnz,
                              MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  MBK_SHARED_MEMORY(shared);
  mbk_i32 *const columns =
      (mbk_i32 *)(shared + mbk_thread() / 32 * MBK_STAGED *
                               (4 + (MBK_PATTERN ? 0 : (int)sizeof(MBK_VALUE))));
  MBK_VALUE *const factors = (MBK_VALUE *)(columns + MBK_STAGED);
  const mbk_u64 row = ((mbk_u64)mbk_block() * MBK_THREADS + mbk_thread()) / MBK_TEAM;
  mbk_u64 begin = 0, end = 0; // if alpha is 0, neither the matrix nor X is read
  mbk_many_row sum;
  mbk_many_clear(sum);
  if (alpha != (MBK_COMPUTE)0) {
    begin = (mbk_u64)(mbk_load(row_ptr + (row < rows ? row : rows)) - MBK_BASE);
    end = row < rows ? (mbk_u64)(mbk_load(row_ptr + row + 1) - MBK_BASE) : begin;
  }
  const mbk_u64 last = mbk_shuffle(MBK_ALL, end, 31, 32);
#pragma unroll 1
  for (mbk_u64 piece = mbk_shuffle(MBK_ALL, begin, 0, 32) & ~(mbk_u64)3; piece < last;
       piece += MBK_STAGED) {
    const mbk_u64 behind = piece + MBK_STAGED < last ? piece + MBK_STAGED : last;
    mbk_warp_sync(MBK_ALL);
    mbk_rows_stage(columns, col_ind, piece, behind, nnz);
    if (!MBK_PATTERN) {
      mbk_rows_stage(factors, values, piece, behind, nnz);
    }
    mbk_copy_wait();
    mbk_warp_sync(MBK_ALL);
    mbk_await();
    const mbk_u32 to = end > piece ? (mbk_u32)((end < behind ? end : behind) - piece) : 0;
#pragma unroll 1
    for (mbk_u32 at = begin > piece ? (mbk_u32)(begin - piece < MBK_STAGED ? begin - piece : to)
                                    : 0;
         at < to; at += MBK_UNROLL) {
      mbk_rows_batch<packed>(columns + at, factors + at, to - at, x, x_step, sum);
    }
  }
  mbk_await();
  if (row < rows) {
    mbk_many_commit<packed>(y + row * ldy, sum, alpha, beta);
  }
}

#include "spmv/gpu/many/rows_arguments.cuh"

// Computes the product. With MBK_COLUMNS, x and y are copies in row order, and mbk_many_spread
// follows. Launch: one team per row. Shared: MBK_STAGED columns and values per warp.
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS_PACKED)
    mbk_rows_many(MBK_BY_FIELD(mbk_rows_many_arguments, a)) {
  MBK_SCALARS_OF(a);
  mbk_release();
  MBK_SCALARS_LOAD;
  mbk_rows_tile<true>(a.row_ptr, a.col_ind, a.values, a.x, a.x_step, a.y, a.ldy, a.rows, a.nnz,
                      alpha, beta);
}

#if MBK_SPAN > 1 && !MBK_COLUMNS
// Computes the product for X and Y whose rows need not be aligned to packs. Launch and shared
// memory: as mbk_rows_many.
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS_LOOSE)
    mbk_rows_loose(MBK_BY_FIELD(mbk_rows_many_arguments, a)) {
  MBK_SCALARS_OF(a);
  mbk_release();
  MBK_SCALARS_LOAD;
  mbk_rows_tile<false>(a.row_ptr, a.col_ind, a.values, a.x, a.x_step, a.y, a.ldy, a.rows, a.nnz,
                       alpha, beta);
}
#endif

#include "spmv/gpu/many/copies.cuh"
