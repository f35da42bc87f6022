// Arguments of mbk_scan_cut in spmv/gpu/scan/whole.cu, for host and device.
typedef struct mbk_scan_cut_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_start;
  MBK_POINTER(const mbk_u32) tile_row;
  mbk_u64 nnz, tiles, blocks;
  MBK_POINTER(mbk_u64) block_start;
} mbk_scan_cut_arguments;
