// Arguments of the kernels in spmv/gpu/many/rows.cu, for host and device.
typedef struct mbk_rows_many_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_VECTOR) x;
  mbk_u32 x_step;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 ldy, rows, nnz;
  mbk_scalar alpha, beta;
} mbk_rows_many_arguments;
