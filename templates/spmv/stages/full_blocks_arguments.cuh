// Arguments of the kernels in spmv/stages/full_blocks.cu, for host and device.
typedef struct mbk_full_blocks_places_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 block_rows;
  MBK_POINTER(MBK_ROW_PTR) block_ptr;
  MBK_POINTER(mbk_i32) block_col;
} mbk_full_blocks_places_arguments;
