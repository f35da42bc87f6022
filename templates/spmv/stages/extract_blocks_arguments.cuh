// Arguments of the kernels in spmv/stages/extract_blocks.cu, for host and device.
typedef struct mbk_extract_count_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 rows, cols, block_rows;
  mbk_u32 high, wide, group, windows;
  mbk_u64 spans;
  mbk_u32 rest, count;
  MBK_POINTER(mbk_u32) counts;
  MBK_POINTER(mbk_u64) sums, answer;
} mbk_extract_count_arguments;

typedef struct mbk_extract_sums_arguments {
  MBK_POINTER(mbk_u64) sums;
  mbk_u64 chunks;
} mbk_extract_sums_arguments;

typedef struct mbk_extract_offsets_arguments {
  MBK_POINTER(const mbk_u32) counts;
  MBK_POINTER(const mbk_u64) sums;
  mbk_u64 block_rows;
  mbk_u32 large;
  MBK_POINTER(void) block_ptr;
} mbk_extract_offsets_arguments;

typedef struct mbk_extract_places_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 rows, cols, block_rows;
  mbk_u32 high, wide, group;
  MBK_POINTER(const void) block_ptr;
  mbk_u32 large;
  MBK_POINTER(mbk_i32) block_col;
  MBK_POINTER(mbk_u32) masks;
} mbk_extract_places_arguments;

typedef struct mbk_extract_values_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  mbk_u64 rows;
  mbk_u32 high, wide;
  MBK_POINTER(const void) block_ptr;
  mbk_u32 large;
  MBK_POINTER(const mbk_i32) block_col;
  MBK_POINTER(MBK_VALUE) blocks;
} mbk_extract_values_arguments;
