// Arguments of the kernels in spmv/study/bsr_study.cu, for host and device.
typedef struct mbk_study_cut_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  mbk_u32 block_rows;
  mbk_u64 blocks, chunk_blocks, chunks;
  MBK_POINTER(mbk_u32) chunk_row;
} mbk_study_cut_arguments;

typedef struct mbk_study_scale_arguments {
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 rows;
  mbk_scalar alpha, beta;
} mbk_study_scale_arguments;

typedef struct mbk_study_product_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const mbk_u32) chunk_row;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 rows, cols, blocks, chunk_blocks;
  mbk_scalar alpha, beta;
} mbk_study_product_arguments;
