// Arguments of the kernels in solve/amg/setup.cu, for host and device.
typedef struct mbk_amg_strength_arguments {
  mbk_u64 rows;
  mbk_u32 block;
  MBK_POINTER(const mbk_i32) row_ptr, col_ind;
  MBK_POINTER(const double) values;
  mbk_u32 lanes;
  mbk_u32 both;
  double theta;
  MBK_POINTER(double) most;
  MBK_POINTER(mbk_i32) strongest;
  MBK_POINTER(mbk_i32) links;
  MBK_POINTER(mbk_i32) node_ptr, node_col;
  MBK_POINTER(double) norms, full;
  MBK_POINTER(mbk_u8) state;
  MBK_POINTER(double) inverse, scale;
  double least;
  MBK_POINTER(mbk_u64) bound;
  MBK_POINTER(mbk_u32) unsorted, missing, wild, longest, one_sided;
  mbk_u32 sample, entries;
} mbk_amg_strength_arguments;

typedef struct mbk_amg_lanczos_arguments {
  mbk_u64 rows, nodes;
  mbk_u32 block;
  MBK_POINTER(const mbk_i32) row_ptr, col_ind;
  MBK_POINTER(const double) values, inverse;
  mbk_u32 lanes, step;
  MBK_POINTER(double) v, u, w, x, dots, squares, alpha, beta;
} mbk_amg_lanczos_arguments;

typedef struct mbk_amg_products_arguments {
  mbk_u64 nnz;
  mbk_u32 block;
  MBK_POINTER(const mbk_i32) col_ind, row_ptr;
  MBK_POINTER(mbk_u64) products;
} mbk_amg_products_arguments;

typedef struct mbk_amg_aggregate_arguments {
  mbk_u64 rows;
  MBK_POINTER(const mbk_i32) row_ptr, links;
  mbk_u32 lanes;
  mbk_u32 round, first;
  MBK_POINTER(mbk_u8) state;
  MBK_POINTER(mbk_u64) around;
  MBK_POINTER(mbk_u32) open;
  MBK_POINTER(mbk_i32) counts, aggregate, joined;
  MBK_POINTER(const mbk_i32) strongest;
} mbk_amg_aggregate_arguments;

typedef struct mbk_amg_splitting_arguments {
  mbk_u64 rows, coarse;
  MBK_POINTER(const mbk_i32) row_ptr, col_ind;
  MBK_POINTER(const double) values, inverse;
  MBK_POINTER(double) most;
  mbk_u32 lanes, round;
  double theta, theta_first, theta_second, theta_attach;
  MBK_POINTER(mbk_i32) links;
  MBK_POINTER(mbk_u32) influences, blocked, open;
  MBK_POINTER(double) weight, p_val;
  MBK_POINTER(mbk_i32) counts, found, attached, points, counts_p, counts_f, counts_c, p_col;
  MBK_POINTER(mbk_i32) nearby, near_counts, r_col;
} mbk_amg_splitting_arguments;

typedef struct mbk_amg_restrict_arguments {
  mbk_u64 rows, coarse;
  MBK_POINTER(const mbk_i32) row_ptr, col_ind;
  MBK_POINTER(const double) values;
  mbk_u32 lanes, columns;
  MBK_POINTER(const mbk_i32) points, r_ptr, r_col;
  MBK_POINTER(double) r_val;
  double least;
  MBK_POINTER(const mbk_i32) f_ptr, c_ptr;
  MBK_POINTER(mbk_i32) f_col, c_col;
  MBK_POINTER(double) f_val, c_val, inverse, inverse_c;
} mbk_amg_restrict_arguments;

typedef struct mbk_amg_tentative_arguments {
  mbk_u64 aggregates;
  MBK_POINTER(const mbk_i32) r_ptr, r_col, aggregate;
  MBK_POINTER(const double) modes;
  mbk_u64 next_row, next_vector;
  mbk_u32 block, vectors, lanes, room;
  MBK_POINTER(double) coarse, t;
} mbk_amg_tentative_arguments;

typedef struct mbk_amg_expand_arguments {
  mbk_u64 rows;
  MBK_POINTER(const mbk_i32) row_ptr, col_ind;
  mbk_u32 height, width, lanes;
  MBK_POINTER(mbk_i32) row_ptr_to, col_ind_to;
  MBK_POINTER(const mbk_i32) places, p_ptr;
  MBK_POINTER(mbk_i32) places_to;
} mbk_amg_expand_arguments;

typedef struct mbk_amg_move_arguments {
  mbk_u64 count;
  MBK_POINTER(const mbk_i32) places;
  MBK_POINTER(const double) from;
  MBK_POINTER(double) to;
  MBK_POINTER(float) rounded;
} mbk_amg_move_arguments;

typedef struct mbk_amg_copy_arguments {
  mbk_u64 rows, nnz;
  MBK_POINTER(const void) row_ptr, col_ind, values;
  MBK_POINTER(const double) modes;
  mbk_u64 mode_elements;
  MBK_POINTER(mbk_u32) strange;
  mbk_u32 wide_ptr, wide_col, base, value_bytes;
  MBK_POINTER(mbk_i32) row_ptr_to, col_ind_to;
  MBK_POINTER(double) values_to;
} mbk_amg_copy_arguments;

typedef struct mbk_amg_invert_arguments {
  mbk_u32 rows;
  MBK_POINTER(const mbk_i32) row_ptr, col_ind;
  MBK_POINTER(const double) values;
  double least;
  MBK_POINTER(mbk_i32) inverse_ptr, inverse_col;
  MBK_POINTER(double) inverse;
} mbk_amg_invert_arguments;
