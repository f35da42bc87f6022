// Arguments of the product kernels in spmv/gpu/scan/scan.cu and spmv/gpu/scan/whole.cu, for
// host and device. The former do not use block_start, the latter neither firsts nor tails.
typedef struct mbk_scan_product_arguments {
  MBK_POINTER(const mbk_u32) row_ends, tile_row, row_id, row_bits;
  MBK_POINTER(const mbk_u64) block_start;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_COMPUTE) table;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  MBK_POINTER(MBK_COMPUTE) firsts, tails;
  mbk_u64 rows, nnz, tiles;
  mbk_u32 fill_rate; // mbi_scan_fill_rate; 0 if no row is empty
  mbk_scalar alpha, beta;
} mbk_scan_product_arguments;
