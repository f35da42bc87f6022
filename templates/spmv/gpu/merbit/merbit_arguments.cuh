// Arguments of the kernels in spmv/gpu/merbit/merbit.cu, for host and device.
typedef struct mbk_merbit_product_dual_arguments {
  MBK_POINTER(const MBK_TILE) tile_x, tile_y;
  MBK_POINTER(const MBK_DESCRIPTOR) lane_desc;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 path, tiles;
  MBK_POINTER(MBK_VECTOR) z;
  mbk_u64 rows;
} mbk_merbit_product_dual_arguments;

typedef struct mbk_merbit_product_arguments {
  MBK_POINTER(const MBK_TILE) tile_x, tile_y;
  MBK_POINTER(const MBK_DESCRIPTOR) lane_desc;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 path, tiles;
  MBK_POINTER(MBK_COMPUTE) carry_first, carry_out;
  mbk_scalar alpha, beta;
} mbk_merbit_product_arguments;

typedef struct mbk_merbit_fixup_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const MBK_TILE) tile_y;
  MBK_POINTER(const MBK_COMPUTE) carry_first, carry_out;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 tiles, blocks;
  mbk_scalar alpha, beta;
} mbk_merbit_fixup_arguments;
