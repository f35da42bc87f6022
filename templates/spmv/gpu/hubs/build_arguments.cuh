// Arguments of the kernels in spmv/gpu/hubs/build.cuh, for host and device.
typedef struct mbk_hubs_assign_arguments {
  MBK_POINTER(const mbk_u32) counts;
  mbk_u64 cols;
  mbk_u32 least, above, room;
  MBK_POINTER(mbk_i32) code;
  MBK_POINTER(mbk_u32) hub_col, taken;
} mbk_hubs_assign_arguments;

typedef struct mbk_hubs_encode_arguments {
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 nnz;
  MBK_POINTER(const mbk_i32) code;
  MBK_POINTER(mbk_i32) codes;
} mbk_hubs_encode_arguments;
