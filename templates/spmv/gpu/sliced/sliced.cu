// SLICED: y = alpha A x + beta y over slices of 32 rows.
//
// Data: a slice is stored column by column, in packs of MBK_PACK neighbours of a row. Its width
// is the length of its longest row. Slots after a row's end are padding that is never used.
// Columns take two bytes in slices whose columns lie in few pages (spmv/shared/pages.cuh), else
// four. Rows may be sorted by length within windows. Work: a warp owns a slice, a lane one row.
//
// Source: sliced ELLPACK (Monakov, Lokhmotov, Avetisyan, HiPEAC 2010) with the sorting window
// of SELL-C-sigma (Kreutzer et al., SIAM J. Sci. Comput. 36, 2014).
#ifndef MBK_SORTED
#error "define MBK_SORTED: 1 if rows are sorted by length within windows of MBK_WINDOW"
#endif
#ifndef MBK_UNROLL
#error "define MBK_UNROLL: loads of values that one lane keeps in flight"
#endif
#ifndef MBK_PACK
#error "define MBK_PACK: neighbours of a row that one load brings, at most 16 bytes of sums"
#endif
#ifndef MBK_LENGTH
#error "define MBK_LENGTH: the type of rows' lengths, mbk_u8 or mbk_u32"
#endif
#ifndef MBK_STREAMING
#error "define MBK_STREAMING: 1 if the matrix is loaded past the caches"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block, a multiple of 32"
#endif
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#if MBK_STREAMING
#define MBK_PACK_LOAD mbk_load_pack_streaming
#else
#define MBK_PACK_LOAD mbk_load_pack_ahead
#endif
#define MBK_ALL 0xffffffffu
#define MBK_WINDOW 1024

#include "spmv/shared/pages.cuh"
#include "spmv/gpu/sliced/build.cuh"

// Returns the column that a code stands for. All lanes of the warp must call it.
MBK_DEVICE mbk_u32 mbk_sliced_column(mbk_u32 base, mbk_u16 code) {
  return mbk_page_column(base, code);
}
MBK_DEVICE mbk_u32 mbk_sliced_column(mbk_u32, mbk_u32 column) {
  return column;
}

// Returns the sum of the `count` nonzeros of a row in a slice of width `width`. Nonzero k is at
// k / MBK_PACK * 32 * MBK_PACK + k % MBK_PACK of `values`, and its column at the same place of
// `columns`.
template <class T>
MBK_DEVICE MBK_COMPUTE mbk_sliced_sum(const T *columns, const MBK_VALUE *values,
                                      const MBK_VECTOR *x, mbk_u32 base, mbk_u32 count,
                                      mbk_u32 width) {
  MBK_COMPUTE sum = MBK_ZERO;
  for (mbk_u32 at = 0; at < width; at += MBK_UNROLL * MBK_PACK) {
    mbk_pack<T, MBK_PACK> column[MBK_UNROLL] = {};
#if !MBK_PATTERN
    mbk_pack<MBK_VALUE, MBK_PACK> value[MBK_UNROLL];
#endif
#pragma unroll
    for (int u = 0; u < MBK_UNROLL; u++) {
      if (at + u * MBK_PACK < count) {
        column[u] = MBK_PACK_LOAD<T, MBK_PACK>(columns + 32 * MBK_PACK * u);
#if !MBK_PATTERN
        value[u] = MBK_PACK_LOAD<MBK_VALUE, MBK_PACK>(values + 32 * MBK_PACK * u);
#endif
      }
    }
    columns += 32 * MBK_PACK * MBK_UNROLL;
#if !MBK_PATTERN
    values += 32 * MBK_PACK * MBK_UNROLL;
#endif
    MBK_COMPUTE product[MBK_UNROLL][MBK_PACK];
#pragma unroll
    for (int u = 0; u < MBK_UNROLL; u++) {
#pragma unroll
      for (int j = 0; j < MBK_PACK; j++) {
        const mbk_u32 from = mbk_sliced_column(base, column[u].at[j]);
        product[u][j] = MBK_ZERO;
        if (at + u * MBK_PACK + j < count) {
#if MBK_PATTERN
          product[u][j] = MBK_UNIT(values, mbk_load_after_wait(x + from));
#else
          product[u][j] = MBK_MUL(mbk_value(value[u].at[j]), mbk_load_after_wait(x + from));
#endif
        }
      }
    }
#pragma unroll
    for (int u = 0; u < MBK_UNROLL; u++) {
#pragma unroll
      for (int j = 0; j < MBK_PACK; j++) {
        sum = MBK_ADD(sum, product[u][j]);
      }
    }
  }
  return sum;
}

#include "spmv/gpu/sliced/sliced_arguments.cuh"

// Computes the product. slice_start counts columns of 32 values. column_start counts columns of
// 32 two-byte codes; a slice with four-byte columns takes two of them per column. Launch: one
// warp per slice. Shared: MBK_COMPUTE[MBK_TABLE].
MBK_KERNEL MBK_BOUNDS(MBK_THREADS)
    mbk_sliced_product(MBK_BY_FIELD(mbk_sliced_product_arguments, a)) {
  MBK_VECTOR *const y = a.y;
  MBK_SCALARS_OF(a);
  const mbk_u32 slice = mbk_block() * (MBK_THREADS / 32) + mbk_thread() / 32;
  mbk_release();
  const MBK_COMPUTE factor = MBK_ALPHA;
  mbk_table_take(a.table, factor, MBK_THREADS);
  if ((mbk_u64)slice * 32 >= a.rows) {
    return;
  }
  const mbk_u32 thread = slice * 32 + mbk_lane();
  const mbk_u32 count = factor != (MBK_COMPUTE)0 ? mbk_load(a.length + thread) : 0;
  const mbk_u32 page = mbk_load(a.pages + thread);
  const mbk_u32 start = mbk_load(a.column_start + slice);
  const mbk_u32 width =
      factor != (MBK_COMPUTE)0 ? mbk_load(a.column_start + slice + 1) - start : 0;
  const mbk_u16 *const columns = a.columns + (mbk_u64)start * 32;
  const MBK_VALUE *values = a.values;
#if !MBK_PATTERN
  values += (mbk_u64)mbk_load(a.slice_start + slice) * 32 + mbk_lane() * MBK_PACK;
#endif
#if MBK_BY_ROW
  values += MBK_SORTED ? mbk_load(a.row_id + thread) : thread; // row_id is set if count > 0
#endif
  const mbk_u32 row = MBK_SORTED ? mbk_load(a.row_id + thread) : thread;
  mbk_await();
  MBK_STOP_HERE
  MBK_SCALARS_LOAD;
  // The old y is loaded before the nonzeros, not when the sum has to be written.
  const MBK_VECTOR old =
      beta != (MBK_COMPUTE)0 && row < a.rows ? mbk_load_after_wait(y + row) : (MBK_VECTOR)0;
  const MBK_COMPUTE sum = mbk_shuffle(MBK_ALL, page, 0, 32) == MBK_NO_PAGE
                              ? mbk_sliced_sum((const mbk_u32 *)columns + mbk_lane() * MBK_PACK,
                                               values, a.x, 0, count, width / 2)
                              : mbk_sliced_sum(columns + mbk_lane() * MBK_PACK, values, a.x,
                                               mbk_page_base(page), count, width);
  if (row < a.rows) {
    y[row] = MBK_RESULT(sum, old);
  }
}
