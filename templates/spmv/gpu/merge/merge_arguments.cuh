// Arguments of the kernels in spmv/gpu/merge/merge.cu, for host and device.
typedef struct mbk_merge_cut_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(mbk_u64) chunk_row;
  mbk_u64 rows, nnz, chunks;
} mbk_merge_cut_arguments;

typedef struct mbk_merge_product_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  MBK_POINTER(const mbk_u64) chunk_row;
  MBK_POINTER(MBK_COMPUTE) firsts, tails;
  mbk_u64 rows, nnz, chunks;
  mbk_scalar alpha, beta;
} mbk_merge_product_arguments;

typedef struct mbk_merge_fixup_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_u64) chunk_row;
  MBK_POINTER(const MBK_COMPUTE) firsts, tails;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 chunks;
  mbk_scalar alpha, beta;
} mbk_merge_fixup_arguments;
