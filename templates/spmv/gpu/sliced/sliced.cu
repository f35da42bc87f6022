// SLICED: y = alpha A x + beta y over slices of 32 rows.
//
// Data: a slice is stored column by column, in packs of MBK_PACK consecutive nonzeros of a row.
// Its width is the length of its longest row, in whole packs. Slots after a row's end are
// padding that is never used. Columns take two bytes in slices whose columns lie in few pages
// (spmv/shared/pages.cuh), else four. Rows may be sorted by length within windows.
//
// Work: a warp owns a slice, a lane one row. If there are too few slices to occupy the GPU, all
// warps of a block share one: they take its steps in turn, and the first warp adds up their
// sums.
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
#error "define MBK_PACK: consecutive nonzeros of a row per load, at most 16 bytes of sums"
#endif
#ifndef MBK_PARTS
#error "define MBK_PARTS: warps that share a slice, 1 or MBK_THREADS / 32"
#endif
#ifndef MBK_LENGTH
#error "define MBK_LENGTH: the type of rows' lengths, mbk_u8 or mbk_u32"
#endif
#ifndef MBK_STREAMING
#error "define MBK_STREAMING: 1 if the matrix is read by streaming loads"
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

#define MBK_STEP (MBK_UNROLL * MBK_PACK) // nonzeros that a lane takes at once
// Resident blocks per multiprocessor. If warps share slices, registers are limited so that 48
// warps fit. 0: NVRTC decides.
#define MBK_BLOCKS (MBK_PARTS > 1 ? 1536 / MBK_THREADS : 0)

// Returns the sum of the steps of a row that warp `part` of its slice takes. The row has
// `count` nonzeros, and `width` is the slice's width. Nonzero k is at k / MBK_PACK * 32 *
// MBK_PACK + k % MBK_PACK of `values`, and its column at the same place of `columns`.
template <class T>
MBK_DEVICE MBK_COMPUTE mbk_sliced_sum(const T *columns, const MBK_VALUE *values,
                                      const MBK_VECTOR *x, mbk_u32 base, mbk_u32 count,
                                      mbk_u32 width, mbk_u32 part) {
  MBK_COMPUTE sum = MBK_ZERO;
  columns += 32 * MBK_STEP * part;
#if !MBK_PATTERN
  values += 32 * MBK_STEP * part;
#endif
  for (mbk_u32 at = MBK_STEP * part; at < width; at += MBK_STEP * MBK_PARTS) {
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
    columns += 32 * MBK_STEP * MBK_PARTS;
#if !MBK_PATTERN
    values += 32 * MBK_STEP * MBK_PARTS;
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

#if MBK_PARTS > 1
// Adds up the sums of all warps of a block. Returns the rows' totals in the first warp.
MBK_DEVICE MBK_COMPUTE mbk_sliced_total(MBK_COMPUTE sum) {
  MBK_SHARED_MEMORY(shared);
  MBK_COMPUTE *const sums = (MBK_COMPUTE *)shared + MBK_TABLE;
  sums[mbk_thread()] = sum;
  mbk_block_sync();
#pragma unroll
  for (mbk_u32 part = 1; part < MBK_PARTS; part++) {
    sum = MBK_ADD(sum, sums[32 * part + mbk_lane()]);
  }
  return sum;
}
#endif

#include "spmv/gpu/sliced/sliced_arguments.cuh"

// Computes the product. slice_start counts columns of 32 values, column_start columns of 32
// two-byte codes; a four-byte column counts twice. Launch: MBK_PARTS warps per slice. Shared:
// MBK_COMPUTE[MBK_TABLE], or MBK_COMPUTE[MBK_TABLE + MBK_THREADS] if MBK_PARTS > 1.
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_sliced_product(MBK_BY_FIELD(mbk_sliced_product_arguments, a)) {
  MBK_VECTOR *const y = a.y;
  MBK_SCALARS_OF(a);
  const mbk_u32 slice =
      mbk_block() * (MBK_THREADS / 32 / MBK_PARTS) + mbk_thread() / 32 / MBK_PARTS;
  const mbk_u32 part = mbk_thread() / 32 % MBK_PARTS;
  mbk_release();
  const MBK_COMPUTE factor = MBK_ALPHA;
  mbk_table_take(a.table, factor, MBK_THREADS);
  if ((mbk_u64)slice * 32 >= a.rows) {
    return;
  }
  const mbk_u32 place = slice * 32 + mbk_lane();
  const mbk_u32 count = factor != (MBK_COMPUTE)0 ? mbk_load(a.length + place) : 0;
  const mbk_u32 page = mbk_load(a.pages + place);
  const mbk_u32 start = mbk_load(a.column_start + slice);
  const mbk_u32 width =
      factor != (MBK_COMPUTE)0 ? mbk_load(a.column_start + slice + 1) - start : 0;
  const mbk_u16 *const columns = a.columns + (mbk_u64)start * 32;
  const MBK_VALUE *values = a.values;
#if !MBK_PATTERN
  values += (mbk_u64)mbk_load(a.slice_start + slice) * 32 + mbk_lane() * MBK_PACK;
#endif
#if MBK_BY_ROW
  values += MBK_SORTED ? mbk_load(a.row_id + place) : place; // row_id is set if count > 0
#endif
  const mbk_u32 row = MBK_SORTED ? mbk_load(a.row_id + place) : place;
  mbk_await();
  MBK_STOP_HERE
  MBK_SCALARS_LOAD;
  // The old y is loaded before the nonzeros, so that the end of the row does not wait for it.
  const MBK_VECTOR old = part == 0 && beta != (MBK_COMPUTE)0 && row < a.rows
                             ? mbk_load_after_wait(y + row)
                             : (MBK_VECTOR)0;
  MBK_COMPUTE sum = mbk_shuffle(MBK_ALL, page, 0, 32) == MBK_NO_PAGE
                        ? mbk_sliced_sum((const mbk_u32 *)columns + mbk_lane() * MBK_PACK,
                                         values, a.x, 0, count, width / 2, part)
                        : mbk_sliced_sum(columns + mbk_lane() * MBK_PACK, values, a.x,
                                         mbk_page_base(page), count, width, part);
#if MBK_PARTS > 1
  sum = mbk_sliced_total(sum);
#endif
  if (part == 0 && row < a.rows) {
    y[row] = MBK_RESULT(sum, old);
  }
}
