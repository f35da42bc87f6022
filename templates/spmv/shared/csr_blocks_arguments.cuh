// Arguments of the kernels in spmv/shared/csr_blocks.cu, for host and device.
typedef struct mbk_csr_blocks_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 rows, count, step;
  MBK_POINTER(mbk_u32) against;
} mbk_csr_blocks_arguments;
