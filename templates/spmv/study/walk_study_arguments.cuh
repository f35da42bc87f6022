// Arguments of the kernels in spmv/study/walk_study.cu, for host and device.
typedef struct mbk_walk_cut_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(mbk_u64) start_row;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 rows, nnz, walks;
  mbk_scalar alpha, beta;
} mbk_walk_cut_arguments;

typedef struct mbk_walk_product_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  MBK_POINTER(const mbk_u64) start_row;
  MBK_POINTER(MBK_COMPUTE) parts;
  mbk_u64 rows, nnz, walks;
  mbk_scalar alpha, beta;
} mbk_walk_product_arguments;

typedef struct mbk_walk_join_arguments {
  MBK_POINTER(MBK_VECTOR) y;
  MBK_POINTER(const mbk_u64) start_row;
  MBK_POINTER(const MBK_COMPUTE) parts;
  mbk_u64 walks;
  mbk_scalar alpha, beta;
} mbk_walk_join_arguments;
