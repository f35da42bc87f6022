// Arguments of the kernels in spmv/gpu/scan/whole.cu, for host and device.
typedef struct mbk_scan_cut_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_start;
  MBK_POINTER(const mbk_u32) tile_row;
  mbk_u64 nnz, tiles, blocks;
  MBK_POINTER(mbk_u64) block_start;
} mbk_scan_cut_arguments;

typedef struct mbk_scan_whole_arguments {
  MBK_POINTER(const mbk_u32) row_ends, tile_row, row_id, row_bits;
  MBK_POINTER(const mbk_u64) block_start;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_COMPUTE) table;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 rows, nnz, tiles;
  mbk_scalar alpha, beta;
} mbk_scan_whole_arguments;
