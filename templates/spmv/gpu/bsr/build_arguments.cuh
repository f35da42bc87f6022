// Arguments of the kernels in spmv/gpu/bsr/build.cuh, for host and device.
typedef struct mbk_bsr_schedule_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_start;
  mbk_u32 ranks;
  mbk_u64 blocks, words, slots;
  MBK_POINTER(mbk_u32) row_ends, slot_row;
} mbk_bsr_schedule_arguments;

typedef struct mbk_bsr_columns_arguments {
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 blocks, tiles;
  MBK_POINTER(mbk_i32) columns;
} mbk_bsr_columns_arguments;

typedef struct mbk_bsr_masks_arguments {
  MBK_POINTER(const mbk_u64) mask_words;
  mbk_u64 blocks, tiles;
  MBK_POINTER(MBK_MASK) masks;
} mbk_bsr_masks_arguments;

typedef struct mbk_bsr_fill_arguments {
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const mbk_u64) mask_words;
  mbk_u64 cols, blocks, tiles;
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_u32) slot_row, row_id;
  MBK_POINTER(MBK_VALUE) packs;
} mbk_bsr_fill_arguments;
