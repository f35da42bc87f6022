// Arguments of the kernels in spmv/shared/values.cuh, for host and device.
typedef struct mbk_values_scale_arguments {
  MBK_POINTER(const MBK_VALUE) by_column;
  MBK_POINTER(const MBK_VECTOR) x;
  mbk_u64 cols;
  MBK_POINTER(MBK_VECTOR) scaled;
  mbk_scalar alpha, beta;
} mbk_values_scale_arguments;
