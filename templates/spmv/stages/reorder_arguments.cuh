// Arguments of the kernels in spmv/stages/reorder.cu, for host and device.
typedef struct mbk_reorder_gather_arguments {
  MBK_POINTER(const mbk_i32) order;
  MBK_POINTER(const MBK_VECTOR) from;
  MBK_POINTER(MBK_VECTOR) to;
  mbk_u64 count;
} mbk_reorder_gather_arguments;

typedef struct mbk_reorder_values_arguments {
  MBK_POINTER(const MBK_PLACE) places;
  MBK_POINTER(const MBK_VALUE) from;
  MBK_POINTER(MBK_VALUE) to;
  mbk_u64 count;
} mbk_reorder_values_arguments;
