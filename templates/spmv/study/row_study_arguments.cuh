// Arguments of the kernels in spmv/study/row_study.cu, for host and device.
typedef struct mbk_loop_reset_arguments {
  MBK_POINTER(mbk_u64) counter;
} mbk_loop_reset_arguments;

typedef struct mbk_loop_product_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  MBK_POINTER(mbk_u64) counter;
  mbk_u64 rows;
  mbk_scalar alpha, beta;
} mbk_loop_product_arguments;

typedef struct mbk_tiled_cut_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 rows;
  MBK_POINTER(mbk_u64) tile_first;
  MBK_POINTER(mbk_u32) mixed, tile_col;
} mbk_tiled_cut_arguments;

typedef struct mbk_tiled_product_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  MBK_POINTER(const mbk_u64) tile_first;
  MBK_POINTER(const mbk_u32) mixed, tile_col;
  mbk_u64 rows, cols;
  mbk_scalar alpha, beta;
} mbk_tiled_product_arguments;
