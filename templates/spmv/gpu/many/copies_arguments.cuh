// Arguments of the kernels in spmv/gpu/many/copies.cuh, for host and device.
typedef struct mbk_many_collect_arguments {
  MBK_POINTER(const MBK_VECTOR) x;
  mbk_u64 ldx, cols;
  MBK_POINTER(MBK_VECTOR) copy;
  mbk_scalar alpha, beta;
} mbk_many_collect_arguments;

typedef struct mbk_many_spread_arguments {
  MBK_POINTER(const MBK_VECTOR) copy;
  mbk_u64 rows;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 ldy;
  mbk_scalar alpha, beta;
} mbk_many_spread_arguments;
