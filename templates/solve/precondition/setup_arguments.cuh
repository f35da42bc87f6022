// Arguments of the kernels in solve/precondition/setup.cu, for host and device.
typedef struct mbk_setup_rows_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const MBK_COLUMN) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  mbk_u64 n;
  mbk_u32 width;
  MBK_POINTER(double) blocks, norms;
} mbk_setup_rows_arguments;

typedef struct mbk_setup_invert_arguments {
  MBK_POINTER(const double) diagonal;
  MBK_POINTER(MBK_VALUE) inverse;
  mbk_u64 n;
  MBK_POINTER(mbk_u64) bad;
} mbk_setup_invert_arguments;
