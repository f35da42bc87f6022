// Arguments of the kernels in spmv/shared/epilogue.cu, for host and device.
typedef struct mbk_epilogue {
  MBK_POINTER(const MBK_VECTOR) vectors[6];
  MBK_POINTER(const double) scalars;
  MBK_POINTER(double) sums;        // the two results, or null
  MBK_POINTER(const mbk_i32) skip; // if it points to a nonzero number, nothing is done; or null
  MBK_POINTER(double) parts;       // two sums per block
  MBK_POINTER(mbk_u32) ticket;     // zero between products
  MBK_POINTER(void) after;         // the argument of mbk_epilogue_after
} mbk_epilogue;

typedef struct mbk_epilogue_rows_arguments {
  MBK_POINTER(const MBK_VECTOR) product;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 rows;
  mbk_i32 aligned;
  mbk_epilogue call;
} mbk_epilogue_rows_arguments;
