// Arguments of the kernels in spmv/gpu/rows/rows.cu, for host and device.
typedef struct mbk_rows_product_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_COMPUTE) table;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 rows;
  mbk_scalar alpha, beta;
} mbk_rows_product_arguments;
