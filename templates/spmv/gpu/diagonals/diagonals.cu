// DIAGONALS: y = alpha A x + beta y over slices of 64 rows, stored diagonal by diagonal.
//
// Data: a diagonal of a slice holds the nonzeros with the same offset, which is column minus
// row. It is stored as its offset, a bit per row that says whether the row has a nonzero there,
// and a slot per row for the value. On a full diagonal, a nonzero takes 12 / 64 bytes in
// addition to its value, and neighbouring lanes read neighbouring elements of x. Slots without
// a nonzero hold zeros that are never used. Work: a warp owns a slice, lane i its rows i and i
// + 32.
//
// Source: the diagonal format (Bell, Garland, SC09) cut into slices of rows, as in CRSD (Sun,
// Zhang, Wang and others, ICPP 2011), with bits for the rows that a diagonal lacks.
#ifndef MBK_UNROLL
#error "define MBK_UNROLL: diagonals that a lane loads at once: 1, 2, 4 or 8"
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
#define MBK_SLOT_LOAD mbk_load_streaming
#else
#define MBK_SLOT_LOAD mbk_load
#endif
#define MBK_ALL 0xffffffffu

#include "spmv/shared/diagonals.cuh"

#include "spmv/gpu/diagonals/diagonals_arguments.cuh"

// Writes the number of diagonals of each slice. Launch: any number of blocks of 128 threads;
// each warp takes one slice at a time. Few warps should run at once, because each row occupies
// a line of L1 for its columns and one for its values.
MBK_KERNEL_1 MBK_BOUNDS(128)
    mbk_diagonals_count(MBK_GRID_CONSTANT mbk_diagonals_count_arguments a) {
  for (mbk_u64 slice = (mbk_u64)mbk_block() * 4 + mbk_thread() / 32; slice < a.slices;
       slice += (mbk_u64)mbk_grid() * 4) {
    const mbk_u64 row = slice * MBK_SLICE + mbk_lane();
    mbk_row_walk low = mbk_row_begin(a.row_ptr, a.col_ind, row, a.rows);
    mbk_row_walk high = mbk_row_begin(a.row_ptr, a.col_ind, row + 32, a.rows);
    mbk_u32 count = 0;
    mbk_i32 diagonal;
    while ((diagonal = mbk_next_diagonal(low, high)) != MBK_NO_DIAGONAL) {
      mbk_row_pass(low, a.col_ind, diagonal);
      mbk_row_pass(high, a.col_ind, diagonal);
      count++;
    }
    if (mbk_lane() == 0) {
      a.count[slice] = count;
    }
  }
}

// Writes the offsets and bits of all diagonals. Launch: as mbk_diagonals_count.
MBK_KERNEL_1 MBK_BOUNDS(128)
    mbk_diagonals_fill(MBK_GRID_CONSTANT mbk_diagonals_fill_arguments a) {
  for (mbk_u64 slice = (mbk_u64)mbk_block() * 4 + mbk_thread() / 32; slice < a.slices;
       slice += (mbk_u64)mbk_grid() * 4) {
    const mbk_u64 row = slice * MBK_SLICE + mbk_lane(), end = a.start[slice + 1];
    mbk_row_walk low = mbk_row_begin(a.row_ptr, a.col_ind, row, a.rows);
    mbk_row_walk high = mbk_row_begin(a.row_ptr, a.col_ind, row + 32, a.rows);
    for (mbk_u64 k = a.start[slice]; k < end; k++) {
      const mbk_i32 diagonal = mbk_next_diagonal(low, high);
      const bool in_low = low.offset == diagonal, in_high = high.offset == diagonal;
      const mbk_u32 lows = mbk_ballot(MBK_ALL, in_low), highs = mbk_ballot(MBK_ALL, in_high);
      if (mbk_lane() == 0) {
        a.offsets[k] = diagonal;
        a.present[k] = (mbk_u64)highs << 32 | lows;
      }
      mbk_row_pass(low, a.col_ind, diagonal);
      mbk_row_pass(high, a.col_ind, diagonal);
    }
  }
}

#if !MBK_PATTERN
// Writes the values of all diagonals: each row takes its own in their order, one for each of
// its bits. Launch: as mbk_diagonals_count.
MBK_KERNEL_1 MBK_BOUNDS(128)
    mbk_diagonals_values(MBK_GRID_CONSTANT mbk_diagonals_values_arguments a) {
  for (mbk_u64 slice = (mbk_u64)mbk_block() * 4 + mbk_thread() / 32; slice < a.slices;
       slice += (mbk_u64)mbk_grid() * 4) {
    const mbk_u64 row = slice * MBK_SLICE + mbk_lane(), start = a.start[slice];
    const mbk_u32 count = a.start[slice + 1] - (mbk_u32)start;
    const MBK_VALUE *low = a.values + (row < a.rows ? mbk_load(a.row_ptr + row) - MBK_BASE : 0);
    const MBK_VALUE *high =
        a.values + (row + 32 < a.rows ? mbk_load(a.row_ptr + row + 32) - MBK_BASE : 0);
    MBK_VALUE *slots = a.slots + start * MBK_SLICE + mbk_lane();
#pragma unroll 4
    for (mbk_u32 k = 0; k < count; k++, slots += MBK_SLICE) {
      const mbk_u64 present = mbk_load(a.present + start + k) >> mbk_lane();
      const bool in_low = present & 1, in_high = present >> 32 & 1;
      slots[0] = in_low ? mbk_load(low) : (MBK_VALUE)0;
      slots[32] = in_high ? mbk_load(high) : (MBK_VALUE)0;
      low += in_low;
      high += in_high;
    }
  }
}
#endif

// The product of the nonzero whose value is in `slot`. Its row is `after` rows after the lane's
// first row.
#if MBK_PATTERN
#define MBK_SLOT_PRODUCT(slot, after, x) MBK_UNIT(values + (MBK_BY_ROW ? after : 0), x)
#else
#define MBK_SLOT_PRODUCT(slot, after, x) MBK_MUL(mbk_value(slot), x)
#endif

// Computes the product. Launch: one warp per slice. Shared: MBK_COMPUTE[MBK_TABLE].
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, 1)
    mbk_diagonals_product(MBK_BY_FIELD(mbk_diagonals_product_arguments, a)) {
  MBK_VECTOR *const y = a.y;
  MBK_SCALARS_OF(a);
  const mbk_u32 slice = mbk_block() * (MBK_THREADS / 32) + mbk_thread() / 32;
  mbk_release();
  const MBK_COMPUTE factor = MBK_ALPHA;
  mbk_table_take(a.table, factor, MBK_THREADS);
  if ((mbk_u64)slice * MBK_SLICE >= a.rows) {
    return;
  }
  const mbk_u32 lane = mbk_lane(), row = slice * MBK_SLICE + lane;
  const mbk_u32 start = mbk_load(a.start + slice);
  const mbk_u32 end = factor != (MBK_COMPUTE)0 ? mbk_load(a.start + slice + 1) : start;
  const MBK_VALUE *values = a.values;
#if !MBK_PATTERN
  values += (mbk_u64)start * MBK_SLICE + lane;
#elif MBK_BY_ROW
  values += row;
#endif
  // Lane i holds the offset and the bits of diagonal i of 32.
  mbk_i32 offset = start + lane < end ? mbk_load(a.offsets + start + lane) : 0;
  mbk_u64 present = start + lane < end ? mbk_load(a.present + start + lane) : 0;
  mbk_await();
  MBK_STOP_HERE
  MBK_SCALARS_LOAD;
  const bool old = beta != (MBK_COMPUTE)0;
  const MBK_VECTOR old_low = old && row < a.rows ? mbk_load_after_wait(y + row) : (MBK_VECTOR)0;
  const MBK_VECTOR old_high =
      old && row + 32 < a.rows ? mbk_load_after_wait(y + row + 32) : (MBK_VECTOR)0;
  MBK_COMPUTE low = MBK_ZERO, high = MBK_ZERO;
  for (mbk_u32 first = start; first < end;) {
    const mbk_u32 count = end - first < 32 ? end - first : 32;
    for (mbk_u32 at = 0; at < count; at += MBK_UNROLL) {
      MBK_VALUE slot_low[MBK_UNROLL], slot_high[MBK_UNROLL];
      MBK_VECTOR x_low[MBK_UNROLL], x_high[MBK_UNROLL];
      bool in_low[MBK_UNROLL], in_high[MBK_UNROLL];
#if !MBK_PATTERN
#pragma unroll
      for (int u = 0; u < MBK_UNROLL; u++) {
        if (at + u < count) {
          slot_low[u] = MBK_SLOT_LOAD(values + u * MBK_SLICE);
          slot_high[u] = MBK_SLOT_LOAD(values + u * MBK_SLICE + 32);
        }
      }
      values += MBK_UNROLL * MBK_SLICE;
#endif
#pragma unroll
      for (int u = 0; u < MBK_UNROLL; u++) { // after the last diagonal no row is present
        const mbk_u32 column = row + (mbk_u32)mbk_shuffle(MBK_ALL, offset, (int)at + u, 32);
        const mbk_u64 rows = mbk_shuffle(MBK_ALL, present, (int)at + u, 32) >> lane;
        in_low[u] = rows & 1;
        in_high[u] = rows >> 32 & 1;
        x_low[u] = in_low[u] ? mbk_load_after_wait(a.x + column) : (MBK_VECTOR)0;
        x_high[u] = in_high[u] ? mbk_load_after_wait(a.x + (column + 32)) : (MBK_VECTOR)0;
      }
#pragma unroll
      for (int u = 0; u < MBK_UNROLL; u++) {
        if (in_low[u]) {
          low = MBK_ADD(low, MBK_SLOT_PRODUCT(slot_low[u], 0, x_low[u]));
        }
        if (in_high[u]) {
          high = MBK_ADD(high, MBK_SLOT_PRODUCT(slot_high[u], 32, x_high[u]));
        }
      }
    }
    first += 32;
    offset = first + lane < end ? mbk_load(a.offsets + first + lane) : 0;
    present = first + lane < end ? mbk_load(a.present + first + lane) : 0;
  }
  if (row < a.rows) {
    y[row] = MBK_RESULT(low, old_low);
  }
  if (row + 32 < a.rows) {
    y[row + 32] = MBK_RESULT(high, old_high);
  }
}
