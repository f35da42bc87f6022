#ifndef MBI_MATRIX_H
#define MBI_MATRIX_H
#include "jit/jit.h"

typedef struct mbi_c64 {
  float re, im;
} mbi_c64;

typedef struct mbi_c128 {
  double re, im;
} mbi_c128;

struct merbit_matrix {
  merbit_context *context;
  int64_t references; /* held by the user and by objects made from the view */
  merbit_view view;   /* CSR or BSR on the host, base 0, 32-bit columns; owned arrays */
  void *memory;       /* one allocation that holds all arrays; NULL: each array has its own */
};

#define MBI_TYPE_NAME 24 /* bytes */

/* The claim of a view about its arrays, for mbi_device_check_owned. */
#define MBI_VIEW_CLAIM "view.memory is MERBIT_MEMORY_DEVICE"

#define MBI_BLOCK_MOST 64 /* the most rows or columns of a block */

enum { MBI_BELOW, MBI_DIAGONAL, MBI_ABOVE, MBI_WRONG };

#define MBI_MAX_LENGTH (PTRDIFF_MAX / 8 - 1) /* the most elements of an array */

/* Rows up to this length are sorted by insertion, longer ones by a radix sort. */
#define MBI_SHORT_ROW 32

typedef struct mbi_build {
  merbit_context *context;
  const merbit_view *from;
  const void *major, *minor; /* index arrays that become rows and columns, or NULL */
  int walk;     /* 1: transposes a CSR: the new column of an entry is its old row */
  void *places; /* of place_type: each entry's position in `from`; or NULL */
  merbit_index_type place_type;
  merbit_view to;          /* CSR, base 0; offsets have 64 bits until the end */
  int64_t *row_ptr;        /* the arrays of `to` */
  int32_t *narrow_row_ptr; /* replaces row_ptr at the end */
  int32_t *col_ind;
  void *values;
  int tasks;
  void *cursors; /* per task and row: where the next entry goes */
  merbit_index_type cursor_type;
  void *scratch; /* for the radix sort: values, then columns */
  int32_t *scratch_columns;
  int64_t longest[MBI_MAX_THREADS]; /* per task: its longest row that is out of order */
  int duplicates[MBI_MAX_THREADS];  /* per task: 1 if its rows have duplicates */
} mbi_build;

/* Blocks in host memory, in the layout that products read. */
typedef struct mbi_bsr {
  merbit_view view;      /* MERBIT_BSR */
  const uint64_t *masks; /* mask_words words per block: bit k is 1 if the block's k-th value is
                          * an entry; NULL: all values inside the matrix are entries */
  int mask_words;        /* 0 if there are no masks */
  int64_t entries;       /* number of the matrix's entries */
  int ascends;           /* 1: made from a CSR whose rows ascend strictly */
  void *memory;          /* one allocation that holds all arrays except the user's */
} mbi_bsr;
/* Marks of the values of blocks that are not entries. MBI_MASKS_NONE: they are just zeros.
 * MBI_MASKS_ASIDE: there are also masks, which products do not read. MBI_MASKS_READ: products
 * read the masks, so these count in the size of a shape. */
enum { MBI_MASKS_NONE, MBI_MASKS_ASIDE, MBI_MASKS_READ };
typedef struct mbi_blocking {
  const merbit_view *csr;
  mbi_bsr *bsr;
  int tasks;
  int full; /* 1: blocks without holes, whose structure exists; only values are copied */
  int64_t blocks[MBI_MAX_THREADS]; /* per task: number of its blocks, later its first block */
  int64_t inside[MBI_MAX_THREADS]; /* per task: positions of its blocks inside the matrix */
} mbi_blocking;

#define MBI_SHAPE_CANDIDATES 70 /* number of candidates that mbi_shape_of lists */
#define MBI_SHAPE_FINALISTS 3
/* Approximate number of entries examined per candidate, and rows of a window. */
#ifndef MBI_SHAPE_ENTRIES
#define MBI_SHAPE_ENTRIES (1 << 18)
#endif
#ifndef MBI_SHAPE_WINDOW
#define MBI_SHAPE_WINDOW 256
#endif

/* Flags for converting a view to a CSR. */
#define MBI_BUILD_TRANSPOSE 1 /* rows become columns */
#define MBI_BUILD_KEEP 2      /* keeps duplicates, adjacent and in the order of the arrays */

typedef struct mbi_graph {
  merbit_context *context;
  merbit_view csr; /* host, 32-bit columns */
  int64_t rows;
  int base;        /* of the columns from mbi_graph_row */
  int32_t *degree; /* number of neighbours without the vertex itself */
  int64_t *starts; /* rows of A + A', each with degree[v] columns; NULL: the CSR's rows are
                    * used */
  int32_t *columns;
  int32_t *scratch; /* for sorting long rows */
  int tasks;
  int64_t found[MBI_MAX_THREADS]; /* per task: entries below the diagonal minus those above, or
                                   * the longest row */
  int uneven[MBI_MAX_THREADS];    /* per task: 1 if the CSR is not its own graph */
} mbi_graph;

#define MBI_ORDER_SEARCHES 8 /* the most searches per component; meshes take 3 or 4 */

typedef struct mbi_permute {
  merbit_context *context;
  const merbit_view *from;
  const int32_t *order;            /* order[new] = old */
  int32_t *inverse;                /* inverse[old] = new */
  merbit_view to;                  /* base 0, columns ascending in each row */
  void *row_ptr, *values, *places; /* places[k]: entry k's original position */
  int32_t *col_ind;
  uint64_t *keys; /* twice the summed lengths of the tasks' longest rows */
  int tasks;
  int64_t longest[MBI_MAX_THREADS];
  int64_t widest[MBI_MAX_THREADS];
} mbi_permute;

enum { MBI_AS_IT_IS = 0, MBI_NEGATED = 1, MBI_CONJUGATED = 2 };
/* How an entry, and its mirror image, follow from the stored value. */
typedef struct mbi_symmetry_signs {
  int direct, mirror;
} mbi_symmetry_signs;

typedef struct mbi_strip { /* the rows of one block row during a pass */
  const int32_t *col_ind;
  int rows, base;
  uint32_t next[MBI_BLOCK_MOST]; /* each row's next column, counted from 0 */
  int64_t at[MBI_BLOCK_MOST], end[MBI_BLOCK_MOST];
} mbi_strip;

#ifdef MBI_SEPARATE
/* matrix/types.c */
extern const char *const mbi_type_names[];
MBI_INTERNAL int mbi_type_known(merbit_type type);
MBI_INTERNAL const char *mbi_type_name(merbit_type type, char text[MBI_TYPE_NAME]);
MBI_INTERNAL size_t mbi_type_size(merbit_type type);
MBI_INTERNAL int mbi_type_plain(merbit_type type);
MBI_INTERNAL int mbi_type_short(merbit_type type);
MBI_INTERNAL int mbi_type_complex(merbit_type type);
MBI_INTERNAL int mbi_scalar_zero(merbit_type type, const void *scalar);
MBI_INTERNAL float mbi_f16_value(uint16_t half);
MBI_INTERNAL float mbi_bf16_value(uint16_t half);
MBI_INTERNAL double mbi_f32_widen(float single);
MBI_INTERNAL float mbi_f32_narrow(double value);
/* matrix/shares.c */
MBI_INTERNAL size_t mbi_index_bytes(merbit_index_type type);
MBI_INTERNAL merbit_type mbi_view_type(const merbit_view *view);
MBI_INTERNAL int64_t mbi_view_values(const merbit_view *view);
MBI_INTERNAL int mbi_view_values_there(const merbit_view *view, merbit_memory memory);
MBI_INTERNAL int64_t mbi_index_at(const void *array, merbit_index_type type, int64_t i);
MBI_INTERNAL void mbi_index_set(void *array, merbit_index_type type, int64_t i, int64_t index);
MBI_INTERNAL void mbi_value_copy(void *to, int64_t at, const void *from, int64_t place,
                                 size_t size);
MBI_INTERNAL int64_t mbi_row_start(const merbit_view *view, int64_t row);
MBI_INTERNAL int mbi_value_is_padding(const merbit_view *view, int64_t k);
MBI_INTERNAL int64_t mbi_share(int64_t count, int tasks, int task);
MBI_INTERNAL int mbi_share_tasks(const merbit_context *context, int64_t count);
MBI_INTERNAL int64_t mbi_row_of(const merbit_view *csr, int64_t entry);
MBI_INTERNAL int64_t mbi_share_rows(const merbit_view *csr, int tasks, int task);
MBI_INTERNAL int64_t mbi_block_count(int64_t count, int size);
MBI_INTERNAL merbit_view mbi_block_frame(const merbit_view *bsr);
/* matrix/download.c */
MBI_INTERNAL void mbi_host_view_release(merbit_context *context, merbit_view *view);
MBI_INTERNAL merbit_status mbi_array_download(merbit_context *context, const void *source,
                                              int64_t count, size_t size, const void **target);
MBI_INTERNAL merbit_status mbi_view_check_end(merbit_context *context, const merbit_view *view,
                                              int64_t last, int of_blocks);
MBI_INTERNAL merbit_status mbi_view_check_count(merbit_context *context,
                                                const merbit_view *view);
MBI_INTERNAL merbit_status mbi_view_download(merbit_context *context, const merbit_view *view,
                                             merbit_view *host);
/* matrix/triangle.c */
MBI_INTERNAL int mbi_view_is_triangle(const merbit_view *view);
MBI_INTERNAL const char *mbi_symmetry_name(merbit_symmetry symmetry);
MBI_INTERNAL merbit_status mbi_triangle_check_header(merbit_context *context,
                                                     const merbit_view *view);
MBI_INTERNAL int64_t mbi_entry_row(const merbit_view *view, int64_t row, int64_t entry);
MBI_INTERNAL int64_t mbi_entry_first_row(const merbit_view *view, int64_t first);
MBI_INTERNAL int64_t mbi_entry_column(const merbit_view *view, int64_t entry);
MBI_INTERNAL int64_t mbi_triangle_find(merbit_context *context, const merbit_view *view,
                                       int64_t *first);
MBI_INTERNAL merbit_status mbi_triangle_check(merbit_context *context, const merbit_view *view);
/* matrix/check.c */
MBI_INTERNAL merbit_status mbi_block_check(merbit_context *context, const char *what, int rows,
                                           int cols, merbit_block_order order);
MBI_INTERNAL merbit_status mbi_view_check_header(merbit_context *context,
                                                 const merbit_view *view);
MBI_INTERNAL merbit_status mbi_view_check_arrays(merbit_context *context,
                                                 const merbit_view *view);
MBI_INTERNAL merbit_status mbi_view_to_host(merbit_context *context, const merbit_view *view,
                                            merbit_view *host);
MBI_INTERNAL void mbi_view_from_host(merbit_context *context, const merbit_view *view,
                                     merbit_view *host);
/* matrix/row_sort.c */
MBI_INTERNAL void mbi_row_sort(int32_t *columns, void *values, size_t size, int64_t length,
                               int64_t cols, int32_t *scratch_columns, void *scratch_values);
/* matrix/build.c */
MBI_INTERNAL void mbi_build_count_task(void *argument, int task);
MBI_INTERNAL void mbi_build_place(mbi_build *build);
MBI_INTERNAL void mbi_build_scatter_task(void *argument, int task);
MBI_INTERNAL merbit_status mbi_build_group(mbi_build *build);
MBI_INTERNAL int mbi_row_order(const int32_t *columns, int64_t length);
MBI_INTERNAL merbit_status mbi_build_sort(mbi_build *build);
MBI_INTERNAL merbit_status mbi_build_merge(mbi_build *build);
/* matrix/expand.c */
MBI_INTERNAL int mbi_block_inside(int64_t count, int size, int64_t block);
MBI_INTERNAL int mbi_block_row_stride(const merbit_view *bsr);
MBI_INTERNAL int mbi_block_column_stride(const merbit_view *bsr);
MBI_INTERNAL merbit_status mbi_expand_blocks(merbit_context *context, const merbit_view *bsr,
                                             merbit_view *csr);
/* matrix/blocks.c */
MBI_INTERNAL void mbi_bsr_release(merbit_context *context, mbi_bsr *bsr);
MBI_INTERNAL merbit_status mbi_blocks_source(merbit_context *context, const merbit_view *view,
                                             merbit_view *csr, merbit_matrix **made);
MBI_INTERNAL int64_t mbi_blocks_count(const merbit_view *csr, int height, int width,
                                      int64_t row, int64_t last, int64_t *inside);
MBI_INTERNAL int64_t mbi_blocking_count(merbit_context *context, mbi_blocking *b);
MBI_INTERNAL void mbi_blocking_put_offset(const merbit_view *to, int64_t row, int64_t offset);
MBI_INTERNAL void mbi_blocking_fill_task(void *argument, int task);
MBI_INTERNAL merbit_status mbi_bsr_refill(merbit_context *context, const merbit_view *host,
                                          mbi_bsr *bsr);
MBI_INTERNAL merbit_status mbi_blocks_allocate(merbit_context *context, mbi_bsr *bsr,
                                               int valued);
MBI_INTERNAL void mbi_blocks_describe(const merbit_view *csr, const merbit_bsr_desc *shape,
                                      mbi_bsr *bsr);
MBI_INTERNAL merbit_status mbi_blocks_make(merbit_context *context, const merbit_view *csr,
                                           const merbit_bsr_desc *shape, int masks,
                                           mbi_bsr *bsr);
/* matrix/block_shape.c */
MBI_INTERNAL void mbi_shape_of(int candidate, merbit_bsr_desc *shape);
MBI_INTERNAL int64_t mbi_shape_bytes(const merbit_view *csr, const merbit_bsr_desc *shape,
                                     int64_t rows, int64_t blocks, int full, int masks);
MBI_INTERNAL int64_t mbi_shape_rows(const merbit_view *csr, int windows, int height);
MBI_INTERNAL int64_t mbi_shape_span(const merbit_view *csr, int windows);
MBI_INTERNAL int64_t mbi_shape_window(const merbit_view *csr, int windows, int w, int height,
                                      int64_t *first, int64_t *last);
MBI_INTERNAL int mbi_shape_next(double *bytes);
MBI_INTERNAL int mbi_shape_windows(const merbit_view *csr);
MBI_INTERNAL merbit_status mbi_bsr_from_view(merbit_context *context, const merbit_view *host,
                                             const merbit_bsr_desc *desc, int masks,
                                             mbi_bsr *bsr);
MBI_INTERNAL merbit_status mbi_bsr_borrow(merbit_context *context, const merbit_view *view,
                                          mbi_bsr *bsr);
/* matrix/convert.c */
MBI_INTERNAL void mbi_build_describe(mbi_build *build, merbit_context *context,
                                     const merbit_view *from, int flags);
MBI_INTERNAL merbit_status mbi_build_allocate(mbi_build *build);
MBI_INTERNAL merbit_status mbi_build_narrow(mbi_build *build);
MBI_INTERNAL merbit_status mbi_matrix_record(merbit_context *context, const merbit_view *view,
                                             void *memory, merbit_matrix **matrix);
MBI_INTERNAL merbit_status mbi_matrix_from_view(merbit_context *context,
                                                const merbit_view *view, int flags,
                                                merbit_matrix **matrix);
MBI_INTERNAL void mbi_matrix_retain(merbit_matrix *matrix);
/* matrix/graph.c */
MBI_INTERNAL const int32_t *mbi_graph_row(const mbi_graph *graph, int64_t v, int64_t *length);
MBI_INTERNAL merbit_status mbi_graph_create(merbit_context *context, const merbit_view *csr,
                                            mbi_graph *graph);
MBI_INTERNAL void mbi_graph_release(merbit_context *context, mbi_graph *graph);
/* matrix/order.c */
MBI_INTERNAL uint64_t *mbi_keys_sort(uint64_t *keys, uint64_t *scratch, int64_t count,
                                     uint32_t most);
MBI_INTERNAL merbit_status mbi_order_create(merbit_context *context, const merbit_view *csr,
                                            merbit_reordering reordering, int32_t **order);
/* matrix/permute.c */
MBI_INTERNAL void mbi_gather(merbit_type type, void *to, const void *from, const void *places,
                             merbit_index_type place_type, int64_t first, int64_t last);
MBI_INTERNAL void mbi_scatter(merbit_type type, void *to, const void *from, const void *places,
                              merbit_index_type place_type, int64_t first, int64_t last);
MBI_INTERNAL int64_t mbi_bandwidth(merbit_context *context, const merbit_view *csr);
MBI_INTERNAL merbit_status mbi_permute_measure(mbi_permute *p, int64_t *keys);
MBI_INTERNAL merbit_status mbi_matrix_permute(merbit_context *context, const merbit_view *from,
                                              const int32_t *order, merbit_matrix **matrix,
                                              void **places);
/* matrix/transpose_map.c */
MBI_INTERNAL void mbi_transpose_map_into(merbit_context *context, const void *values,
                                         const void *places, merbit_view *to);
MBI_INTERNAL merbit_status mbi_matrix_transpose_map(merbit_context *context,
                                                    const merbit_view *from,
                                                    merbit_matrix **matrix, void **places);
/* matrix/symmetric_expansion.c */
MBI_INTERNAL mbi_symmetry_signs mbi_symmetry_signs_of(merbit_symmetry symmetry,
                                                      merbit_operation operation);
MBI_INTERNAL void mbi_expansion_values(merbit_context *context, mbi_symmetry_signs signs,
                                       const void *from, const void *places,
                                       merbit_index_type place_type, const merbit_view *to);
MBI_INTERNAL merbit_status mbi_symmetric_expand(merbit_context *context,
                                                const merbit_view *half,
                                                merbit_operation operation, int fold,
                                                merbit_view *full, void **places);
MBI_INTERNAL merbit_status mbi_view_to_full(merbit_context *context, const merbit_view *view,
                                            merbit_view *host);
MBI_INTERNAL void mbi_view_from_full(merbit_context *context, const merbit_view *view,
                                     merbit_view *host);
#endif /* MBI_SEPARATE */

#endif
