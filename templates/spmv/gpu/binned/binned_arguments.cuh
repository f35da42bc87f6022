// Arguments of the kernels in spmv/gpu/binned/binned.cu, for host and device.
typedef struct mbk_binned_multiply_arguments {
  MBK_POINTER(const mbk_u32) items;
  MBK_POINTER(const mbk_u16) strip_col;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_COMPUTE) table;
  MBK_POINTER(const mbk_u32) target;
  MBK_POINTER(const MBK_VECTOR) x;
  mbk_u64 cols;
  MBK_POINTER(MBK_COMPUTE) products;
  mbk_scalar alpha, beta;
} mbk_binned_multiply_arguments;

typedef struct mbk_binned_sum_arguments {
  MBK_POINTER(const mbk_u32) part_start;
  MBK_POINTER(const MBK_COMPUTE) products;
  MBK_POINTER(const mbk_u16) places;
  MBK_POINTER(const MBK_VALUE) by_row;
  MBK_POINTER(const mbk_u32) row_ends, tile_row, row_id;
  MBK_POINTER(MBK_VECTOR) y;
  MBK_POINTER(MBK_COMPUTE) firsts, tails;
  mbk_u64 nnz, tiles;
  mbk_scalar alpha, beta;
} mbk_binned_sum_arguments;
