// Builds sliced storage on the GPU in three kernels: the order of rows, the width of each
// slice, the copy of columns and values. spmv/gpu/sliced/sliced.cu includes this file.
#ifndef MBK_WINDOW
#error "include spmv/gpu/sliced/sliced.cu, which opens with the list of macros"
#endif
#define MBK_AHEAD 4 // columns that a lane loads at once

#include "spmv/gpu/sliced/build_arguments.cuh"

// Writes the length of each row, in the order of the slices, and with MBK_SORTED also the
// number of the row at each place. Sorted rows have descending lengths within a window; rows of
// equal length keep their order. Places after the last row get length 0 and row 2^32 - 1.
// Launch: one block of 512 threads per window. Shared: mbk_u64[MBK_WINDOW].
MBK_KERNEL_1 MBK_BOUNDS(512)
    mbk_sliced_order(MBK_GRID_CONSTANT mbk_sliced_order_arguments given) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 *const keys = (mbk_u64 *)shared; // 2^32 - 1 - length, place in the window
  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_WINDOW;
  for (mbk_u32 i = mbk_thread(); i < MBK_WINDOW; i += 512) {
    const mbk_u64 row = first + i;
    const mbk_u64 count =
        row < given.rows ? (mbk_u64)(given.row_ptr[row + 1] - given.row_ptr[row]) : 0;
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
    if (first + i < (given.rows + 31) / 32 * 32) {
      given.length[first + i] = (MBK_LENGTH)(0xffffffffull - (keys[i] >> 32));
#if MBK_SORTED
      const mbk_u64 row = first + (mbk_u32)keys[i];
      given.row_id[first + i] = row < given.rows ? (mbk_u32)row : 0xffffffffu;
#endif
    }
  }
}

// Writes for each slice its width, the list of pages of its columns, and the number of columns
// of two-byte codes that it takes. Launch: one warp per slice, 128 threads per block. Shared:
// mbk_u32[4][MBK_PAGE_SET].
MBK_KERNEL_1 MBK_BOUNDS(128) mbk_sliced_width(MBK_GRID_CONSTANT mbk_sliced_width_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const set = (mbk_u32 *)shared + mbk_thread() / 32 * MBK_PAGE_SET;
  const mbk_u64 slice = (mbk_u64)mbk_block() * 4 + mbk_thread() / 32;
  if (slice >= a.slices) {
    return;
  }
  const mbk_u64 place = slice * 32 + mbk_lane();
  const mbk_u32 count = a.length[place];
  mbk_page_begin(set);
  if (count > 0) {
#if MBK_SORTED
    const mbk_u64 row = a.row_id[place];
#else
    const mbk_u64 row = place;
#endif
    const mbk_u64 from = (mbk_u64)(a.row_ptr[row] - MBK_BASE);
    for (mbk_u32 at = 0; at < count; at += MBK_AHEAD) {
      // After the row's end the last column is repeated, which changes nothing.
      mbk_u32 column[MBK_AHEAD];
#pragma unroll
      for (mbk_u32 u = 0; u < MBK_AHEAD; u++) {
        const mbk_u32 k = at + u < count ? at + u : count - 1;
        column[u] = (mbk_u32)(mbk_load(a.col_ind + from + k) - MBK_BASE);
      }
#pragma unroll
      for (mbk_u32 u = 0; u < MBK_AHEAD; u++) {
        mbk_page_add(set, column[u]);
      }
    }
  }
  mbk_u32 most = count;
  for (int d = 16; d > 0; d >>= 1) {
    const mbk_u32 other = mbk_shuffle_xor(MBK_ALL, most, d, 32);
    most = other > most ? other : most;
  }
  const mbk_u32 page = mbk_page_list(set);
  a.pages[place] = (mbk_u16)page;
  if (mbk_lane() == 0) {
    most = (most + MBK_PACK - 1) / MBK_PACK * MBK_PACK;
    a.width[slice] = most;
    a.column_width[slice] = page == MBK_NO_PAGE ? 2 * most : most;
  }
}

// Stores a pack of column indices at slot `slot`. `list` holds the pages of the slice.
MBK_DEVICE void mbk_sliced_put(mbk_u16 *columns, mbk_u64 slot,
                               const mbk_pack<mbk_u32, MBK_PACK> &column, const mbk_u32 *list) {
  if (list[0] == MBK_NO_PAGE) {
    mbk_store_pack((mbk_u32 *)columns + slot, column);
    return;
  }
  mbk_pack<mbk_u16, MBK_PACK> codes;
#pragma unroll
  for (int j = 0; j < MBK_PACK; j++) {
    codes.at[j] = mbk_page_code(list, column.at[j]);
  }
  mbk_store_pack(columns + slot, codes);
}

#define MBK_FILL 4 // packs of a row that a lane moves at a time
// Copies columns and values into the slices. Launch: one warp per slice, 128 threads per block.
// Shared: mbk_u32[4][32].
MBK_KERNEL_1 MBK_BOUNDS(128) mbk_sliced_fill(MBK_GRID_CONSTANT mbk_sliced_fill_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const list = (mbk_u32 *)shared + mbk_thread() / 32 * 32;
  const mbk_u64 slice = (mbk_u64)mbk_block() * 4 + mbk_thread() / 32;
  if (slice >= a.slices) {
    return;
  }
  const mbk_u64 place = slice * 32 + mbk_lane();
  const mbk_u32 count = a.length[place];
  list[mbk_lane()] = mbk_load(a.pages + place);
  mbk_warp_sync(MBK_ALL);
  if (count == 0) {
    return;
  }
#if MBK_SORTED
  const mbk_u64 row = a.row_id[place];
#else
  const mbk_u64 row = place;
#endif
  const mbk_u64 from = (mbk_u64)(a.row_ptr[row] - MBK_BASE);
  mbk_u16 *const columns = a.columns + (mbk_u64)a.column_start[slice] * 32;
#if !MBK_PATTERN
  MBK_VALUE *const sliced_values = a.sliced_values + (mbk_u64)a.slice_start[slice] * 32;
#endif
  // Loads past the last nonzero give zeros, which no product uses.
  for (mbk_u32 at = 0; at < count; at += MBK_FILL * MBK_PACK) {
    mbk_pack<mbk_u32, MBK_PACK> column[MBK_FILL];
#if !MBK_PATTERN
    mbk_pack<MBK_VALUE, MBK_PACK> value[MBK_FILL];
#endif
#pragma unroll
    for (mbk_u32 u = 0; u < MBK_FILL; u++) {
#pragma unroll
      for (mbk_u32 j = 0; j < MBK_PACK; j++) {
        const mbk_u32 k = at + u * MBK_PACK + j;
        column[u].at[j] = k < count ? (mbk_u32)(mbk_load(a.col_ind + from + k) - MBK_BASE) : 0;
#if !MBK_PATTERN
        value[u].at[j] = k < count ? mbk_load(a.values + from + k) : (MBK_VALUE)0;
#endif
      }
    }
#pragma unroll
    for (mbk_u32 u = 0; u < MBK_FILL; u++) {
      const mbk_u32 k = at + u * MBK_PACK;
      const mbk_u64 slot = ((mbk_u64)(k / MBK_PACK) * 32 + mbk_lane()) * MBK_PACK;
      if (k >= count) {
        break;
      }
      mbk_sliced_put(columns, slot, column[u], list);
#if !MBK_PATTERN
      mbk_store_pack(sliced_values + slot, value[u]);
#endif
    }
  }
}
