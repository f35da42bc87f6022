// Arguments of the kernels in spmv/gpu/many/many.cu, for host and device.
typedef struct mbk_many_product_arguments {
  MBK_POINTER(const mbk_u32) row_ends, tile_row, row_id;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_VECTOR) x;
  mbk_u32 x_step;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 ldy;
  MBK_POINTER(MBK_COMPUTE) firsts, tails;
  mbk_u64 nnz, tiles;
  mbk_scalar alpha, beta;
} mbk_many_product_arguments;

typedef struct mbk_many_fixup_arguments {
  MBK_POINTER(const mbk_u32) tile_row, row_id, row_bits;
  MBK_POINTER(const MBK_COMPUTE) firsts, tails;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 ldy, tiles, filled;
  mbk_scalar alpha, beta;
} mbk_many_fixup_arguments;
