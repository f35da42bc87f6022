// Arguments of the kernels in spmv/gpu/scan/fixup.cuh, for host and device.
typedef struct mbk_scan_fixup_arguments {
  MBK_POINTER(const mbk_u32) tile_row, row_id, row_bits;
  MBK_POINTER(const MBK_COMPUTE) firsts, tails;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 tiles, filled;
  mbk_scalar alpha, beta;
} mbk_scan_fixup_arguments;
