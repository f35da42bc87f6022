// Arguments of the kernels in spmv/gpu/bsr/bsr.cu, for host and device.
typedef struct mbk_bsr_product_arguments {
  MBK_POINTER(const mbk_u32) row_ends, slot_row, row_id;
  MBK_POINTER(const mbk_i32) columns;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_MASK) masks;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  MBK_POINTER(MBK_COMPUTE) firsts, tails;
  mbk_u64 rows, cols, tiles;
  mbk_scalar alpha, beta;
} mbk_bsr_product_arguments;

typedef struct mbk_bsr_fixup_arguments {
  MBK_POINTER(const mbk_u32) slot_row, row_id, row_bits;
  MBK_POINTER(const MBK_COMPUTE) firsts, tails;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 tiles, filled, rows;
  mbk_scalar alpha, beta;
} mbk_bsr_fixup_arguments;
