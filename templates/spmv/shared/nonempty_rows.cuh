// Numbering of the non-empty rows. The programs that split a matrix into tiles of nonzeros or
// of blocks include this file.
#ifndef MBK_EMPTY_ROWS
#error "define MBK_EMPTY_ROWS: 1 if some rows are empty; rows are then numbered without them"
#endif
#define MBK_ALL 0xffffffffu

// An entry of tile_back: the tile's first row ends in a later tile, so the fix-up skips this
// tile.
#define MBK_OPEN 0xffffffffu

#if MBK_EMPTY_ROWS
#define MBK_ROW_OF(row_number) mbk_load(row_id + (row_number))
#else
#define MBK_ROW_OF(row_number) (row_number)
#endif

// Returns whether a row has a nonzero.
MBK_DEVICE bool mbk_nonempty_has(const mbk_u32 *row_bits, mbk_u64 row) {
  return (mbk_load(row_bits + row / 32) >> row % 32 & 1) != 0;
}

// Returns the number, among the non-empty rows, of the row that contains nonzero (or block)
// `item`.
MBK_DEVICE mbk_u32 mbk_nonempty_search(const MBK_ROW_PTR *row_start, mbk_u32 count,
                                       mbk_u64 item) {
  mbk_u32 low = 0, high = count;
  while (high - low > 1) {
    const mbk_u32 middle = low + (high - low) / 2;
    if ((mbk_u64)(mbk_load(row_start + middle) - MBK_BASE) <= item) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Returns the sum over the warp in every lane, added up in a fixed order.
MBK_DEVICE MBK_COMPUTE mbk_scan_reduce(MBK_COMPUTE sum) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) {
    sum = MBK_ADD(sum, mbk_shuffle_xor(MBK_ALL, sum, d, 32));
  }
  return sum;
}
