// Arguments of the kernels of spmv/gpu/many/copies.cuh, which the host fills.
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
