// Arguments of the kernels in spmv/shared/csr_check.cu, for host and device.
typedef struct mbk_csr_check_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const MBK_COLUMN) col_ind;
  mbk_i64 rows, cols, nnz;
  MBK_POINTER(mbk_u32) bad;
} mbk_csr_check_arguments;

typedef struct mbk_csr_narrow_arguments {
  MBK_POINTER(const MBK_COLUMN) wide;
  mbk_i64 nnz;
  MBK_POINTER(mbk_i32) narrow;
} mbk_csr_narrow_arguments;
