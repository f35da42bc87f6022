// Sliced storage: y = alpha A x + beta y over slices of 32 rows, each stored column by column,
// one row per lane. Source: sliced ELLPACK (Monakov, Lokhmotov, Avetisyan, HiPEAC 2010) and its
// sorting window (SELL-C-sigma: Kreutzer et al., SIAM J. Sci. Comput. 36, 2014). Slots past a
// row's end are never read.
#ifndef MBK_VALUE
#error "define MBK_VALUE: the type of the matrix's values in memory"
#endif
#ifndef MBK_PATTERN
#error "define MBK_PATTERN: 1 if every value is one and none is stored"
#endif
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#ifndef MBK_SORTED
#error "define MBK_SORTED: 1 if rows are sorted by length within windows of MBK_WINDOW"
#endif
#ifndef MBK_UNROLL
#error "define MBK_UNROLL: nonzeros whose loads one lane keeps in flight"
#endif
#ifndef MBK_ONCE
#error "define MBK_ONCE: 1 if the matrix is loaded past the caches"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block, a multiple of 32"
#endif
#include "jit/device.cuh"
#include "spmv/algebra.cuh"

#if MBK_ONCE
#define MBK_MATRIX_LOAD mbk_load_once
#else
#define MBK_MATRIX_LOAD mbk_load
#endif
#define MBK_ALL 0xffffffffu
#define MBK_WINDOW 1024

#include "spmv/sliced_build.cuh"

// Launch: one warp per slice. slice_start counts columns of 32 slots.
MBK_KERNEL MBK_BOUNDS(MBK_THREADS)
    mbk_sliced_product(const mbk_u32 *slice_start, const mbk_u32 *length, const mbk_u32 *row_id,
                       const mbk_i32 *columns, const MBK_VALUE *values, const MBK_VECTOR *x,
                       MBK_VECTOR *y, mbk_u64 rows, MBK_SCALAR_PARAMETERS) {
  MBK_SCALARS_LOAD;
  const mbk_u64 thread = (mbk_u64)mbk_block() * MBK_THREADS + mbk_thread();
  if (thread / 32 * 32 >= rows) {
    return;
  }
  const mbk_u32 count = alpha != (MBK_COMPUTE)0 ? mbk_load(length + thread) : 0;
  const mbk_u64 start = (mbk_u64)mbk_load(slice_start + thread / 32) * 32 + mbk_lane();
  MBK_COMPUTE sum = MBK_ZERO;
  for (mbk_u32 at = 0; at < count; at += MBK_UNROLL) {
    mbk_i32 column[MBK_UNROLL];
    MBK_COMPUTE product[MBK_UNROLL];
#pragma unroll
    for (int u = 0; u < MBK_UNROLL; u++) {
      if (at + u < count) {
        column[u] = MBK_MATRIX_LOAD(columns + start + (mbk_u64)(at + u) * 32);
#if !MBK_PATTERN
        product[u] = (MBK_COMPUTE)MBK_MATRIX_LOAD(values + start + (mbk_u64)(at + u) * 32);
#endif
      }
    }
#pragma unroll
    for (int u = 0; u < MBK_UNROLL; u++) {
      if (at + u < count) {
#if MBK_PATTERN
        product[u] = (MBK_COMPUTE)mbk_load(x + column[u]);
#else
        product[u] = MBK_MUL(product[u], mbk_load(x + column[u]));
#endif
      }
    }
#pragma unroll
    for (int u = 0; u < MBK_UNROLL; u++) {
      if (at + u < count) {
        sum = MBK_ADD(sum, product[u]);
      }
    }
  }
#if MBK_SORTED
  const mbk_u32 row = mbk_load(row_id + thread);
#else
  const mbk_u64 row = thread;
#endif
  if (row < rows) {
    MBK_COMMIT(row, sum);
  }
}
