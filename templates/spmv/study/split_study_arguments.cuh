// Arguments of the kernels in spmv/study/split_study.cu, for host and device.
typedef struct mbk_split_cut_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(mbk_u64) chunk_row;
  mbk_u64 rows, nnz, chunks;
} mbk_split_cut_arguments;

typedef struct mbk_split_product_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  MBK_POINTER(const mbk_u64) chunk_row;
  MBK_POINTER(MBK_COMPUTE) firsts, tails;
  mbk_u64 rows, nnz;
  mbk_scalar alpha, beta;
} mbk_split_product_arguments;

typedef struct mbk_split_fixup_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_u64) chunk_row;
  MBK_POINTER(const MBK_COMPUTE) firsts, tails;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 chunks;
  mbk_scalar alpha, beta;
} mbk_split_fixup_arguments;
