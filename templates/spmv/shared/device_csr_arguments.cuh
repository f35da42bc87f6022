// Arguments of the kernels in spmv/shared/device_csr.cu, for host and device.
typedef struct mbk_arrays_check_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const MBK_COLUMN) col_ind;
  mbk_i64 rows, cols, nnz;
  MBK_POINTER(mbk_u32) bad;
} mbk_arrays_check_arguments;

typedef struct mbk_arrays_narrow_arguments {
  MBK_POINTER(const MBK_COLUMN) wide;
  mbk_i64 nnz;
  MBK_POINTER(mbk_i32) narrow;
} mbk_arrays_narrow_arguments;

typedef struct mbk_arrays_count_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  mbk_u64 rows;
  MBK_POINTER(mbk_u32) counts, longest;
  MBK_POINTER(mbk_u64) widths, sorted;
} mbk_arrays_count_arguments;

typedef struct mbk_arrays_offsets_arguments {
  MBK_POINTER(mbk_u32) counts;
  mbk_u64 blocks;
  MBK_POINTER(mbk_u32) total;
} mbk_arrays_offsets_arguments;

typedef struct mbk_arrays_compact_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  mbk_u64 rows;
  MBK_POINTER(const mbk_u32) offsets;
  MBK_POINTER(mbk_u32) row_id;
  MBK_POINTER(MBK_ROW_PTR) row_start;
  MBK_POINTER(mbk_u32) empty_id;
} mbk_arrays_compact_arguments;

typedef struct mbk_arrays_columns_arguments {
  MBK_POINTER(const MBK_COLUMN) col_ind;
  mbk_u64 nnz;
  mbk_u32 stride;
  MBK_POINTER(mbk_u32) counts;
} mbk_arrays_columns_arguments;

typedef struct mbk_arrays_lengths_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  mbk_u64 cols;
  mbk_u32 stride;
  MBK_POINTER(mbk_u32) counts;
} mbk_arrays_lengths_arguments;

typedef struct mbk_arrays_bins_arguments {
  MBK_POINTER(const mbk_u32) counts;
  mbk_u64 cols;
  MBK_POINTER(mbk_u32) bins;
} mbk_arrays_bins_arguments;

typedef struct mbk_arrays_hash_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const MBK_COLUMN) col_ind;
  mbk_u64 rows, nnz;
  MBK_POINTER(mbk_u64) hash;
} mbk_arrays_hash_arguments;

typedef struct mbk_arrays_blocks_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const MBK_COLUMN) col_ind;
  mbk_u64 rows, count, step;
  MBK_POINTER(mbk_u32) against;
} mbk_arrays_blocks_arguments;
