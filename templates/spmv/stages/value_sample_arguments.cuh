// Arguments of the kernels in spmv/stages/value_sample.cu, for host and device.
typedef struct mbk_forms_sample_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const void) values;
  mbk_u64 rows, nnz;
  mbk_u32 wide;
  MBK_POINTER(mbk_u64) keys;
  MBK_POINTER(mbk_u32) distinct, against;
} mbk_forms_sample_arguments;
