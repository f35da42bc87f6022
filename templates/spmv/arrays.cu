// A plan's CSR arrays that came in device memory: their check and their narrowing to 32-bit
// columns.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_COLUMN
#error "define MBK_COLUMN: the type of col_ind, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#include "jit/device.cuh"

// *bad becomes 1 if row_ptr does not rise from the base to nnz + base, or a column is out of
// range. Launch: any grid of 256 threads. Each thread strides over both arrays.
MBK_KERNEL MBK_BOUNDS(256)
    mbk_arrays_check(const MBK_ROW_PTR *row_ptr, const MBK_COLUMN *col_ind, mbk_i64 rows,
                     mbk_i64 cols, mbk_i64 nnz, mbk_u32 *bad) {
  const mbk_i64 stride = (mbk_i64)mbk_grid() * 256;
  const mbk_i64 first = (mbk_i64)mbk_block() * 256 + mbk_thread();
  bool wrong = first == 0 && (row_ptr[0] != MBK_BASE || row_ptr[rows] != nnz + MBK_BASE);
  for (mbk_i64 i = first; i < rows; i += stride) {
    wrong |= row_ptr[i] > row_ptr[i + 1];
  }
  for (mbk_i64 k = first; k < nnz; k += stride) {
    const mbk_i64 column = (mbk_i64)col_ind[k] - MBK_BASE;
    wrong |= column < 0 || column >= cols;
  }
  if (wrong) {
    mbk_atomic_or(bad, 1u);
  }
}

// Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256)
    mbk_arrays_narrow(const MBK_COLUMN *wide, mbk_i64 nnz, mbk_i32 *narrow) {
  for (mbk_i64 k = (mbk_i64)mbk_block() * 256 + mbk_thread(); k < nnz;
       k += (mbk_i64)mbk_grid() * 256) {
    narrow[k] = (mbk_i32)wide[k];
  }
}
