// Arguments of the kernels in spmv/shared/csr_sample.cu, for host and device.
typedef struct mbk_sample_columns_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 rows, nnz;
  mbk_u32 windows, shift, apart;
  MBK_POINTER(mbk_u32) found; // 39 numbers
} mbk_sample_columns_arguments;
