// Arguments of the kernels in spmv/gpu/scan/build.cuh, for host and device.
typedef struct mbk_scan_build_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_start;
  mbk_u32 ranks;
  mbk_u64 nnz, tiles;
  MBK_POINTER(mbk_u32) row_ends, tile_row;
} mbk_scan_build_arguments;
