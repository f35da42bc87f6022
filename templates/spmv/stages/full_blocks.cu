// Finds the blocks of a CSR that consists of full ones: their offsets and columns. In such a
// CSR, MBK_HIGH consecutive rows have the same columns, in runs of MBK_WIDE. mbk_csr_blocks has
// checked that.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#ifndef MBK_HIGH
#error "define MBK_HIGH: rows of a block"
#endif
#ifndef MBK_WIDE
#error "define MBK_WIDE: columns of a block"
#endif
#include "jit/device.cuh"

// Returns the first block of a row of blocks; block_row may be one past the end.
MBK_DEVICE mbk_u64 mbk_full_blocks_first(const MBK_ROW_PTR *row_ptr, mbk_u64 block_row) {
  return (mbk_u64)(mbk_load(row_ptr + block_row * MBK_HIGH) - MBK_BASE) / (MBK_HIGH * MBK_WIDE);
}

#include "spmv/stages/full_blocks_arguments.cuh"

// Writes the offsets of the rows of blocks and the columns of the blocks, with base 0. Launch:
// one warp per row of blocks and one more, 256 threads per block.
MBK_KERNEL MBK_BOUNDS(256)
    mbk_full_blocks_places(MBK_GRID_CONSTANT mbk_full_blocks_places_arguments a) {
  const mbk_u64 row = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;
  if (row > a.block_rows) {
    return;
  }
  const mbk_u64 first = mbk_full_blocks_first(a.row_ptr, row);
  if (mbk_lane() == 0) {
    a.block_ptr[row] = (MBK_ROW_PTR)first;
  }
  if (row < a.block_rows) {
    const mbk_u64 count = mbk_full_blocks_first(a.row_ptr, row + 1) - first;
    const mbk_i32 *const col_ind = a.col_ind + mbk_load(a.row_ptr + row * MBK_HIGH) - MBK_BASE;
    for (mbk_u64 b = mbk_lane(); b < count; b += 32) {
      a.block_col[first + b] = (mbk_load(col_ind + b * MBK_WIDE) - MBK_BASE) / MBK_WIDE;
    }
  }
}
