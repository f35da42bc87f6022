// Arguments of the kernels in spmv/shared/csr_columns.cu, for host and device.
typedef struct mbk_columns_count_arguments {
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 nnz;
  mbk_u32 stride;
  MBK_POINTER(mbk_u32) counts;
} mbk_columns_count_arguments;

typedef struct mbk_columns_lengths_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  mbk_u64 cols;
  mbk_u32 stride;
  MBK_POINTER(mbk_u32) counts;
} mbk_columns_lengths_arguments;

typedef struct mbk_columns_bins_arguments {
  MBK_POINTER(const mbk_u32) counts;
  mbk_u64 cols;
  MBK_POINTER(mbk_u32) bins;
} mbk_columns_bins_arguments;
