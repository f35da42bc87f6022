// How a product reads the stored values. spmv/shared/algebra.cuh includes this file. MBK_STORED
// is
//   0  an MBK_VALUE per nonzero, or none with MBK_PATTERN: all are one;
//   1  one value for all, at `values`;
//   2  a float per nonzero;
//   3  the bits of a half per nonzero;
//   4  a byte per nonzero, which indexes a table of MBK_TABLE values;
//   5  one value per row;
//   6  none, because x has already been multiplied by the values of its columns;
//   7  the bits of a bfloat16 per nonzero;
//   8  an MBK_VALUE per nonzero, which stands for its conjugate.
// spmv/stages/value_forms.cuh makes the forms.
#ifndef MBK_STORED
#error "include spmv/shared/algebra.cuh, which opens with the list of macros"
#endif

#define MBK_BY_ROW (MBK_STORED == 5)
// The number of MBK_COMPUTE values at the start of a product's shared memory.
#define MBK_TABLE (MBK_STORED == 4 ? 256 : 0)

// Returns the product of `factor` and a nonzero whose value is not stored with it: the value is
// 1 or, by row or for all nonzeros, at `values`.
#if MBK_STORED == 1 || MBK_BY_ROW
#define MBK_UNIT(values, factor) MBK_MUL(mbk_load(values), factor)
#elif MBK_SEMIRING && MBK_STORED != 6 // multiplying by 1 may not be neutral
#define MBK_UNIT(values, factor) MBK_MUL((MBK_COMPUTE)1, factor)
#else
#define MBK_UNIT(values, factor) ((MBK_COMPUTE)(factor))
#endif

// Returns a stored value as a number. A table must have been loaded by mbk_table_take.
MBK_DEVICE MBK_COMPUTE mbk_value(MBK_VALUE stored) {
#if MBK_STORED == 3
  return (MBK_COMPUTE)mbk_half_value(stored);
#elif MBK_STORED == 4
  MBK_SHARED_MEMORY(shared);
  return ((const MBK_COMPUTE *)shared)[stored];
#elif MBK_STORED == 7
  return (MBK_COMPUTE)mbk_bf16_value(stored);
#elif MBK_STORED == 8
  return mbk_conjugate((MBK_COMPUTE)stored);
#else
  return (MBK_COMPUTE)stored;
#endif
}

// Loads the table of values into shared memory, unless alpha is 0. All `threads` threads of the
// block must call it.
MBK_DEVICE void mbk_table_take(const MBK_COMPUTE *table, MBK_SCALAR alpha, mbk_u32 threads) {
#if MBK_STORED == 4
  MBK_SHARED_MEMORY(shared);
  for (mbk_u32 i = mbk_thread(); i < MBK_TABLE && !MBK_VANISHES(alpha); i += threads) {
    ((MBK_COMPUTE *)shared)[i] = mbk_load(table + i);
  }
  mbk_block_sync();
#else
  (void)table;
  (void)alpha;
  (void)threads;
#endif
}

#include "spmv/shared/values_arguments.cuh"

#if MBK_STORED == 6
// Multiplies x by the values of its columns, rounding as any product does. Launch: any grid of
// 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_values_scale(MBK_BY_FIELD(mbk_values_scale_arguments, a)) {
  MBK_SCALARS_OF(a);
  mbk_release();
  mbk_await();
  if (MBK_VANISHES(MBK_ALPHA)) {
    return;
  }
#pragma unroll 4
  for (mbk_u64 c = (mbk_u64)mbk_block() * 256 + mbk_thread(); c < a.cols;
       c += (mbk_u64)mbk_grid() * 256) {
    a.scaled[c] = (MBK_VECTOR)MBK_MUL(mbk_load(a.by_column + c), mbk_load_after_wait(a.x + c));
  }
}
#endif
