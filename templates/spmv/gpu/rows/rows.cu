// ROWS: y = alpha A x + beta y straight from CSR, with several lanes per row.
//
// Data: the CSR arrays alone; nothing is built. Work: MBK_LANES neighbouring lanes of a warp
// own a row. Each lane takes every MBK_LANES-th nonzero and keeps MBK_UNROLL of them in flight.
// Shuffles add up the lanes' sums, and the first lane writes the row.
//
// Source: the vector kernel of Bell and Garland, SC09, with a constant number of lanes per row.
#ifndef MBK_LANES
#error "define MBK_LANES: lanes per row, a power of two up to 32"
#endif
#ifndef MBK_UNROLL
#error "define MBK_UNROLL: nonzeros whose loads one lane keeps in flight"
#endif
#ifndef MBK_STREAMING
#error "define MBK_STREAMING: 1 if the matrix is read by streaming loads"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block, a multiple of 32"
#endif
#ifndef MBK_HOLDS
#error "define MBK_HOLDS: 1 if a lane holds the old y while it multiplies"
#endif
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#if MBK_STREAMING
#define MBK_MATRIX_LOAD mbk_load_streaming
#else
#define MBK_MATRIX_LOAD mbk_load_ahead
#endif

#include "spmv/gpu/rows/rows_arguments.cuh"

// Computes the product. If `adds`, beta may differ from zero: lanes load the old y together with
// the first elements of x and hold it, or prefetch it and load it at the end of the row. Launch:
// MBK_LANES threads per row. Shared: MBK_COMPUTE[MBK_TABLE]. The struct is copied: with
// MBK_BY_FIELD or a grid constant, ptxas would load the elements of x one at a time.
template <bool adds> MBK_DEVICE void mbk_rows_walk(const mbk_rows_product_arguments a) {
  MBK_VECTOR *const y = a.y;
  MBK_SCALARS_OF(a);
  mbk_release();
  MBK_STOP_HERE
  MBK_SCALARS_LOAD;
  mbk_table_take(a.table, alpha, MBK_THREADS);
  const mbk_u64 row = ((mbk_u64)mbk_block() * MBK_THREADS + mbk_thread()) / MBK_LANES;
  const mbk_u32 lane = mbk_thread() % MBK_LANES;
  MBK_COMPUTE sum = MBK_ZERO;
  mbk_prefetch_if(adds && !MBK_HOLDS && lane == 0 && row < a.rows && !MBK_FORGETS(beta), y + row);
  MBK_VECTOR old = {};
  bool held = false;
  if (row < a.rows && !MBK_VANISHES(alpha)) {
    const MBK_ROW_PTR start = mbk_load(a.row_ptr + row);
    mbk_i64 at = (mbk_i64)start - MBK_BASE + lane;
    // Count down the nonzeros that are left: adding to an offset near 2^31 could overflow.
    MBK_ROW_PTR left = mbk_load(a.row_ptr + row + 1) - start - (MBK_ROW_PTR)lane;
#pragma unroll 1
    for (; left > 0; left -= MBK_LANES * MBK_UNROLL, at += MBK_LANES * MBK_UNROLL) {
      mbk_i32 column[MBK_UNROLL];
#if !MBK_PATTERN
      MBK_VALUE value[MBK_UNROLL] = {};
#endif
      MBK_VECTOR factor[MBK_UNROLL] = {};
#pragma unroll
      for (int u = 0; u < MBK_UNROLL; u++) {
        if (u * MBK_LANES < left) {
          column[u] = MBK_MATRIX_LOAD(a.col_ind + at + u * MBK_LANES) - MBK_BASE;
#if !MBK_PATTERN
          value[u] = MBK_MATRIX_LOAD(a.values + at + u * MBK_LANES);
#endif
        }
      }
      mbk_await();
#pragma unroll
      for (int u = 0; u < MBK_UNROLL; u++) {
        if (u * MBK_LANES < left) {
          factor[u] = mbk_load_after_wait(a.x + column[u]);
        }
      }
      if (adds && MBK_HOLDS && !held && !MBK_FORGETS(beta)) {
        old = y[row];
        held = true;
      }
      // Products past the end of the row are computed but not added. If multiplications were
      // predicated too, predicate registers would run out, and ptxas would multiply between the
      // loads of x.
#pragma unroll
      for (int u = 0; u < MBK_UNROLL; u++) {
#if MBK_PATTERN
        const MBK_COMPUTE more =
            MBK_ADD(sum, MBK_UNIT(a.values + (MBK_BY_ROW ? row : 0), factor[u]));
#else
        const MBK_COMPUTE more = MBK_ADD(sum, MBK_MUL(mbk_value(value[u]), factor[u]));
#endif
        sum = u * MBK_LANES < left ? more : sum;
      }
    }
  }
#pragma unroll
  for (int d = MBK_LANES / 2; d > 0; d >>= 1) {
    sum = MBK_ADD(sum, mbk_shuffle_down(0xffffffffu, sum, d, MBK_LANES));
  }
  if (lane == 0 && row < a.rows) {
    mbk_await();
    y[row] = MBK_RESULT(sum, held ? old : y[row]);
  }
}

// Computes y = alpha A x. Launch and shared memory: mbk_rows_walk.
MBK_KERNEL MBK_BOUNDS(MBK_THREADS) mbk_rows_product(const mbk_rows_product_arguments a) {
  mbk_rows_walk<false>(a);
}

// Computes y = alpha A x + beta y. Launch and shared memory: mbk_rows_walk.
MBK_KERNEL MBK_BOUNDS(MBK_THREADS) mbk_rows_sum(const mbk_rows_product_arguments a) {
  mbk_rows_walk<true>(a);
}
