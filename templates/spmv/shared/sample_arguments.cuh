// Arguments of the kernels in spmv/shared/sample.cuh, for host and device.
typedef struct mbk_arrays_sample_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const MBK_COLUMN) col_ind;
  mbk_u64 rows, nnz;
  mbk_u32 shift;
  MBK_POINTER(mbk_u32) sectors, narrow;
} mbk_arrays_sample_arguments;
