// Arguments of the kernels in spmv/stages/value_check.cu, for host and device.
typedef struct mbk_forms_check_arguments {
  MBK_POINTER(const void) values;
  mbk_u64 nnz;
  mbk_u32 wide, asked;
  MBK_POINTER(mbk_u32) against;
} mbk_forms_check_arguments;

typedef struct mbk_forms_shorten_arguments {
  MBK_POINTER(const void) values;
  mbk_u64 nnz;
  mbk_u32 wide, half;
  MBK_POINTER(void) shorter;
} mbk_forms_shorten_arguments;
