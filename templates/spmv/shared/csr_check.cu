// Checks CSR arrays in device memory, and converts 64-bit columns to 32 bits.
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

#include "spmv/shared/csr_check_arguments.cuh"

// Sets *bad to 1 if row_ptr does not rise from the base to nnz + base, or if a column is out of
// range. Reads no column if row_ptr does not end at nnz + base: there may be fewer than nnz.
// Launch: any grid of 256 threads, which stride over both arrays.
MBK_KERNEL MBK_BOUNDS(256) mbk_csr_check(MBK_GRID_CONSTANT mbk_csr_check_arguments a) {
  const mbk_i64 stride = (mbk_i64)mbk_grid() * 256;
  const mbk_i64 first = (mbk_i64)mbk_block() * 256 + mbk_thread();
  const bool whole = a.row_ptr[a.rows] == a.nnz + MBK_BASE;
  bool wrong = first == 0 && (a.row_ptr[0] != MBK_BASE || !whole);
  for (mbk_i64 i = first; i < a.rows; i += stride) {
    wrong |= a.row_ptr[i] > a.row_ptr[i + 1];
  }
  for (mbk_i64 k = first; whole && k < a.nnz; k += stride) {
    const mbk_i64 column = (mbk_i64)a.col_ind[k] - MBK_BASE;
    wrong |= column < 0 || column >= a.cols;
  }
  if (wrong) {
    mbk_atomic_or(a.bad, 1u);
  }
}

// Narrows 64-bit columns to 32 bits. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_csr_narrow(MBK_GRID_CONSTANT mbk_csr_narrow_arguments a) {
  for (mbk_i64 k = (mbk_i64)mbk_block() * 256 + mbk_thread(); k < a.nnz;
       k += (mbk_i64)mbk_grid() * 256) {
    a.narrow[k] = (mbk_i32)a.wide[k];
  }
}
