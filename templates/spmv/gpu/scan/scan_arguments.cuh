// Arguments of the product kernels in spmv/gpu/scan: scan.cu, whole.cu and linked.cu, for host
// and device. Only the first uses firsts and tails, only the second block_start, only the third
// slots.
typedef struct mbk_scan_product_arguments {
  MBK_POINTER(const mbk_u32) row_ends, tile_row, row_id, row_bits;
  MBK_POINTER(const mbk_u64) block_start;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_COMPUTE) table;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  MBK_POINTER(MBK_COMPUTE) firsts, tails;
  MBK_POINTER(mbk_u64) slots;
  mbk_u64 rows, nnz, tiles;
  mbk_u32 fill_rate; // mbi_scan_fill_rate; 0 if no row is empty
  mbk_scalar alpha, beta;
} mbk_scan_product_arguments;
