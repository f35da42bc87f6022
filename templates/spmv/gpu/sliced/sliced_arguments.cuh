// Arguments of the kernels in spmv/gpu/sliced/sliced.cu, for host and device.
typedef struct mbk_sliced_product_arguments {
  MBK_POINTER(const mbk_u32) slice_start, column_start;
  MBK_POINTER(const mbk_u16) pages;
  MBK_POINTER(const MBK_LENGTH) length;
  MBK_POINTER(const mbk_u32) row_id;
  MBK_POINTER(const mbk_u16) columns;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_COMPUTE) table;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 rows;
  mbk_scalar alpha, beta;
} mbk_sliced_product_arguments;
