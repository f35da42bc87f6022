// Arguments of the kernels in spmv/shared/nonempty_rows.cu, for host and device.
typedef struct mbk_nonempty_count_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  mbk_u64 rows;
  MBK_POINTER(mbk_u32) counts, longest;
  MBK_POINTER(mbk_u64) widths, sorted, squares;
} mbk_nonempty_count_arguments;

typedef struct mbk_nonempty_offsets_arguments {
  MBK_POINTER(mbk_u32) counts;
  mbk_u64 blocks;
  MBK_POINTER(mbk_u32) total;
} mbk_nonempty_offsets_arguments;

typedef struct mbk_nonempty_compact_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  mbk_u64 rows;
  MBK_POINTER(const mbk_u32) offsets;
  MBK_POINTER(mbk_u32) row_id, row_bits;
  MBK_POINTER(MBK_ROW_PTR) row_start;
} mbk_nonempty_compact_arguments;
