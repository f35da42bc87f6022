// Sliced storage, built on the GPU: part of spmv/sliced.cu, whose macros it uses.
#ifndef MBK_WINDOW
#error "include spmv/sliced.cu, which opens with the list of macros"
#endif

// The length of each row and the rows in the order of the slices: as they come, or sorted by
// falling length within windows, where equal lengths keep their order; past the last row:
// length 0, row 2^32 - 1. Launch: one block of 512 threads per window. Shared:
// mbk_u64[MBK_WINDOW].
MBK_KERNEL MBK_BOUNDS(512) mbk_sliced_order(const MBK_ROW_PTR *row_ptr, mbk_u64 rows,
                                            mbk_u32 *length, mbk_u32 *row_id) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 *const keys = (mbk_u64 *)shared; // 2^32 - 1 - length, place in the window
  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_WINDOW;
  for (mbk_u32 i = mbk_thread(); i < MBK_WINDOW; i += 512) {
    const mbk_u64 row = first + i;
    const mbk_u64 count = row < rows ? (mbk_u64)(row_ptr[row + 1] - row_ptr[row]) : 0;
    keys[i] = (0xffffffffull - count) << 32 | i;
  }
  mbk_block_sync();
#if MBK_SORTED
  for (mbk_u32 run = 2; run <= MBK_WINDOW; run *= 2) {
    for (mbk_u32 step = run / 2; step > 0; step /= 2) {
      const mbk_u32 low = 2 * step * (mbk_thread() / step) + mbk_thread() % step;
      const mbk_u64 a = keys[low], b = keys[low + step];
      if ((a > b) == ((low & run) == 0)) {
        keys[low] = b;
        keys[low + step] = a;
      }
      mbk_block_sync();
    }
  }
#endif
  for (mbk_u32 i = mbk_thread(); i < MBK_WINDOW; i += 512) {
    if (first + i < (rows + 31) / 32 * 32) {
      length[first + i] = (mbk_u32)(0xffffffffull - (keys[i] >> 32));
#if MBK_SORTED
      const mbk_u64 row = first + (mbk_u32)keys[i];
      row_id[first + i] = row < rows ? (mbk_u32)row : 0xffffffffu;
#endif
    }
  }
}

// The longest row of each slice. Launch: one warp per slice, 128 threads per block.
MBK_KERNEL MBK_BOUNDS(128)
    mbk_sliced_width(const mbk_u32 *length, mbk_u64 slices, mbk_u32 *width) {
  const mbk_u64 slice = (mbk_u64)mbk_block() * 4 + mbk_thread() / 32;
  if (slice >= slices) {
    return;
  }
  mbk_u32 most = length[slice * 32 + mbk_lane()];
  for (int d = 16; d > 0; d >>= 1) {
    const mbk_u32 other = mbk_shuffle_down(MBK_ALL, most, d, 32);
    most = other > most ? other : most;
  }
  if (mbk_lane() == 0) {
    width[slice] = most;
  }
}

// Columns (from 0) and values to where the product finds them. Launch: one warp per slice, 128
// threads per block.
MBK_KERNEL MBK_BOUNDS(128)
    mbk_sliced_fill(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind, const MBK_VALUE *values,
                    const mbk_u32 *slice_start, const mbk_u32 *length, const mbk_u32 *row_id,
                    mbk_u64 slices, mbk_i32 *columns, MBK_VALUE *sliced_values) {
  const mbk_u64 slice = (mbk_u64)mbk_block() * 4 + mbk_thread() / 32;
  if (slice >= slices) {
    return;
  }
  const mbk_u64 place = slice * 32 + mbk_lane();
  const mbk_u32 count = length[place];
  if (count == 0) {
    return;
  }
#if MBK_SORTED
  const mbk_u64 row = row_id[place];
#else
  const mbk_u64 row = place;
#endif
  const mbk_u64 from = (mbk_u64)(row_ptr[row] - MBK_BASE);
  const mbk_u64 to = (mbk_u64)slice_start[slice] * 32 + mbk_lane();
  for (mbk_u32 k = 0; k < count; k++) {
    columns[to + (mbk_u64)k * 32] = col_ind[from + k] - MBK_BASE;
#if !MBK_PATTERN
    sliced_values[to + (mbk_u64)k * 32] = values[from + k];
#endif
  }
}
