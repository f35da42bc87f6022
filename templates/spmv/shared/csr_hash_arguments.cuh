// Arguments of the kernels in spmv/shared/csr_hash.cu, for host and device.
typedef struct mbk_csr_hash_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 rows, nnz;
  MBK_POINTER(mbk_u64) hash;
} mbk_csr_hash_arguments;
