// Arguments of the kernels in spmv/stages/value_groups.cu, for host and device.
typedef struct mbk_forms_collect_arguments {
  MBK_POINTER(const void) values;
  mbk_u64 nnz;
  mbk_u32 wide;
  MBK_POINTER(mbk_u64) keys;
  MBK_POINTER(mbk_u32) distinct, against;
} mbk_forms_collect_arguments;

typedef struct mbk_forms_changes_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const void) values;
  mbk_u64 rows, nnz;
  mbk_u32 wide;
  MBK_POINTER(mbk_u64) changes;
} mbk_forms_changes_arguments;

typedef struct mbk_forms_number_arguments {
  MBK_POINTER(const void) values;
  mbk_u64 nnz;
  mbk_u32 wide;
  MBK_POINTER(const mbk_u64) keys;
  MBK_POINTER(const mbk_u8) number;
  MBK_POINTER(mbk_u8) shorter;
} mbk_forms_number_arguments;

typedef struct mbk_forms_rows_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const void) values;
  mbk_u64 rows;
  mbk_u32 wide;
  MBK_POINTER(void) by_row;
} mbk_forms_rows_arguments;

typedef struct mbk_forms_columns_arguments {
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const void) values;
  mbk_u64 nnz;
  mbk_u32 wide;
  MBK_POINTER(void) by_column;
} mbk_forms_columns_arguments;

typedef struct mbk_forms_differ_arguments {
  MBK_POINTER(const mbk_i32) col_ind;
  MBK_POINTER(const void) values;
  mbk_u64 nnz;
  mbk_u32 wide;
  MBK_POINTER(const void) by_column;
  MBK_POINTER(mbk_u32) against;
} mbk_forms_differ_arguments;
