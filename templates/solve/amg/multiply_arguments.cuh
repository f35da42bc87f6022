// Arguments of the kernels in solve/amg/multiply.cuh, for host and device.
//
// A product C = A B of CSR matrices with 32-bit offsets and columns from 0. Special forms of B:
// without b_ptr, row j of B is one entry in column b_col[j], or empty if that is negative;
// without b_col either, B is the unit matrix. With `smooths` (columns; B has no b_ptr) or
// `scale` (values), C = (I - omega S A) B, where S is the diagonal matrix `scale`, and rows of
// C are empty where B's row has a negative column. A negative column of A adds nothing to the
// structure; among the values it stands for the row's own column.
//
// In a product of values, entries may be blocks: those of A have high_c rows and high_b
// columns, those of B high_b rows and `wide` columns. a_ptr, a_col, b_ptr, b_col, c_ptr and
// c_col then index blocks. The values of a row of blocks are stored row by row, those of a row
// block by block. `rows` counts strips: each row of blocks is `strips` strips of up to `high`
// rows.
typedef struct mbk_multiply_columns_arguments {
  mbk_u64 rows;
  MBK_POINTER(const mbk_i32) a_ptr, a_col, b_ptr, b_col;
  mbk_u32 smooths;
  mbk_u32 lanes_a, lanes_b;
  mbk_u32 slots;
  mbk_u32 keeps;
  MBK_POINTER(mbk_i32) kept, c_ptr, c_col;
  MBK_POINTER(mbk_i32) long_rows;
  MBK_POINTER(mbk_u32) long_count;
  MBK_POINTER(mbk_u32) bits;
  mbk_u64 words;
} mbk_multiply_columns_arguments;

typedef struct mbk_multiply_values_arguments {
  mbk_u64 rows;
  MBK_POINTER(const mbk_i32) a_ptr, a_col;
  MBK_POINTER(const double) a_val;
  MBK_POINTER(const mbk_i32) b_ptr, b_col;
  MBK_POINTER(const double) b_val;
  MBK_POINTER(const double) scale;
  double omega;
  mbk_u32 high_b, high_c, wide;
  mbk_u32 high, strips;
  mbk_u32 lanes_a, lanes_b;
  mbk_u32 most, longest;
  MBK_POINTER(const mbk_i32) c_ptr, c_col;
  MBK_POINTER(double) c_val;
  MBK_POINTER(double) sums;
} mbk_multiply_values_arguments;

typedef struct mbk_scan_arguments {
  MBK_POINTER(mbk_i32) counts;
  mbk_u64 count;
  MBK_POINTER(mbk_u64) sums;
  mbk_u64 tiles;
  MBK_POINTER(mbk_u64) total;
  MBK_POINTER(mbk_u32) most;
} mbk_scan_arguments;
