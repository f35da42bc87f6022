// Arguments of the kernels in spmv/gpu/binned/build.cuh, for host and device.
typedef struct mbk_binned_count_arguments {
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 nnz;
  mbk_u32 strips;
  MBK_POINTER(mbk_u32) runs, part_groups;
} mbk_binned_count_arguments;

typedef struct mbk_binned_total_arguments {
  MBK_POINTER(const mbk_u32) runs;
  mbk_u32 strips;
  mbk_u64 parts;
  MBK_POINTER(mbk_u32) groups;
} mbk_binned_total_arguments;

typedef struct mbk_binned_offsets_arguments {
  MBK_POINTER(mbk_u32) runs;
  mbk_u32 strips;
  mbk_u64 parts;
  MBK_POINTER(const mbk_u32) strip_start;
} mbk_binned_offsets_arguments;

typedef struct mbk_binned_fill_arguments {
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  mbk_u64 nnz;
  mbk_u32 strips;
  MBK_POINTER(const mbk_u32) runs, part_start;
  MBK_POINTER(mbk_u16) strip_col;
  MBK_POINTER(MBK_VALUE) strip_values;
  MBK_POINTER(mbk_u32) target;
  MBK_POINTER(mbk_u16) places;
  mbk_u32 again;
} mbk_binned_fill_arguments;
