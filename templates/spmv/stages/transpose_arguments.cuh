// Arguments of the kernels in spmv/stages/transpose.cu, for host and device.
typedef struct mbk_transpose_count_arguments {
  MBK_POINTER(const mbk_i32) keys;
  mbk_u32 base;
  mbk_u64 nnz;
  mbk_u32 shift, mask;
  mbk_u64 chunk;
  MBK_POINTER(MBK_PLACE) counts;
} mbk_transpose_count_arguments;

typedef struct mbk_transpose_scan_arguments {
  MBK_POINTER(MBK_PLACE) counts;
  mbk_u64 blocks;
  MBK_POINTER(MBK_PLACE) totals;
} mbk_transpose_scan_arguments;

typedef struct mbk_transpose_rows_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  mbk_u64 rows, nnz;
  mbk_u32 base;
  MBK_POINTER(mbk_i32) row_of;
} mbk_transpose_rows_arguments;

typedef struct mbk_transpose_move_arguments {
  MBK_POINTER(const mbk_i32) keys;
  mbk_u32 base;
  mbk_u64 nnz;
  mbk_u32 shift, mask;
  mbk_u64 chunk;
  MBK_POINTER(const MBK_PLACE) counts, totals;
  MBK_POINTER(const mbk_i32) rows;
  MBK_POINTER(const MBK_PLACE) places;
  MBK_POINTER(mbk_i32) keys_to, rows_to;
  MBK_POINTER(MBK_PLACE) places_to;
} mbk_transpose_move_arguments;

typedef struct mbk_transpose_starts_arguments {
  MBK_POINTER(const mbk_i32) keys;
  mbk_u64 nnz, cols;
  MBK_POINTER(MBK_PLACE) starts;
} mbk_transpose_starts_arguments;
