// Arguments of the kernels in spmv/gpu/cb/cb.cu, for host and device.
typedef struct mbk_cb_product_arguments {
  MBK_POINTER(const mbk_u64) task_block;
  MBK_POINTER(const mbk_u32) task_target;
  MBK_POINTER(const mbk_u64) words;
  MBK_POINTER(const mbk_u32) first;
  MBK_POINTER(const unsigned char) data;
  MBK_POINTER(const MBK_VALUE) one;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  MBK_POINTER(MBK_COMPUTE) carries;
  mbk_u64 rows, cols, tasks;
  mbk_scalar alpha, beta;
} mbk_cb_product_arguments;

typedef struct mbk_cb_fixup_arguments {
  MBK_POINTER(const mbk_u32) split_strip, split_part;
  MBK_POINTER(const MBK_COMPUTE) carries;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 rows;
  mbk_scalar alpha, beta;
} mbk_cb_fixup_arguments;
