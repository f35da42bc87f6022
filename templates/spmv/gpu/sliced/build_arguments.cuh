// Arguments of the kernels in spmv/gpu/sliced/build.cuh, for host and device.
typedef struct mbk_sliced_order_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  mbk_u64 rows;
  MBK_POINTER(MBK_LENGTH) length;
  MBK_POINTER(mbk_u32) row_id;
} mbk_sliced_order_arguments;

typedef struct mbk_sliced_width_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_LENGTH) length;
  MBK_POINTER(const mbk_u32) row_id;
  mbk_u64 slices;
  MBK_POINTER(mbk_u32) width;
  MBK_POINTER(mbk_u16) pages;
  MBK_POINTER(mbk_u32) column_width;
} mbk_sliced_width_arguments;

typedef struct mbk_sliced_fill_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const mbk_u32) slice_start, column_start;
  MBK_POINTER(const mbk_u16) pages;
  MBK_POINTER(const MBK_LENGTH) length;
  MBK_POINTER(const mbk_u32) row_id;
  mbk_u64 slices;
  MBK_POINTER(mbk_u16) columns;
  MBK_POINTER(MBK_VALUE) sliced_values;
} mbk_sliced_fill_arguments;
