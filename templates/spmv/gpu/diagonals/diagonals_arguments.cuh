// Arguments of the kernels in spmv/gpu/diagonals/diagonals.cu, for host and device.
typedef struct mbk_diagonals_count_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 rows, slices;
  MBK_POINTER(mbk_u32) count;
} mbk_diagonals_count_arguments;

typedef struct mbk_diagonals_fill_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const mbk_i32) col_ind;
  mbk_u64 rows, slices;
  MBK_POINTER(const mbk_u32) start;
  MBK_POINTER(mbk_i32) offsets;
  MBK_POINTER(mbk_u64) present;
} mbk_diagonals_fill_arguments;

typedef struct mbk_diagonals_values_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  MBK_POINTER(const MBK_VALUE) values;
  mbk_u64 rows, slices;
  MBK_POINTER(const mbk_u32) start;
  MBK_POINTER(const mbk_u64) present;
  MBK_POINTER(MBK_VALUE) slots;
} mbk_diagonals_values_arguments;

typedef struct mbk_diagonals_product_arguments {
  MBK_POINTER(const mbk_u32) start;
  MBK_POINTER(const mbk_i32) offsets;
  MBK_POINTER(const mbk_u64) present;
  MBK_POINTER(const MBK_VALUE) values;
  MBK_POINTER(const MBK_COMPUTE) table;
  MBK_POINTER(const MBK_VECTOR) x;
  MBK_POINTER(MBK_VECTOR) y;
  mbk_u64 rows;
  mbk_scalar alpha, beta;
} mbk_diagonals_product_arguments;
