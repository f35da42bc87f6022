#include "core/context.h"
#include "matrix/matrix.h"

/* The search for the block shape that needs the fewest bytes. It counts the blocks of every
 * candidate in sample windows of rows, then those of the best candidates in the whole matrix. A
 * matrix with few entries is one window. */

#define MBI_SHAPE_SQUARE 8   /* all shapes up to 8 x 8 are candidates */
#define MBI_SHAPE_ALONE 1024 /* up to this number of entries, one thread does the counting */
#define MBI_SHAPE_WINDOWS 64 /* the most windows */

MBI_INTERNAL void mbi_shape_of(int candidate, merbit_bsr_desc *shape) {
  static const unsigned char larger[MBI_SHAPE_CANDIDATES - 64][2] = {
      {10, 10}, {12, 12}, {16, 16}, {16, 1}, {1, 16}, {16, 8}};
  const int square = MBI_SHAPE_SQUARE * MBI_SHAPE_SQUARE;
  shape->block_rows =
      candidate < square ? candidate / MBI_SHAPE_SQUARE + 1 : larger[candidate - square][0];
  shape->block_cols =
      candidate < square ? candidate % MBI_SHAPE_SQUARE + 1 : larger[candidate - square][1];
}

/* Returns the size in bytes of the arrays that mbi_blocks_make would fill. */
MBI_INTERNAL int64_t mbi_shape_bytes(const merbit_view *csr, const merbit_bsr_desc *shape,
                                     int64_t rows, int64_t blocks, int full, int masks) {
  const int64_t size = shape->block_rows * shape->block_cols;
  const int64_t value =
      csr->values != NULL || !full ? (int64_t)mbi_type_size(csr->value_type) : 0;
  const int64_t mask = masks == MBI_MASKS_READ && !full ? (size + 63) / 64 * 8 : 0;
  const int64_t offset = blocks > INT32_MAX ? 8 : 4;
  return blocks * (size * value + mask + 4) +
         (mbi_block_count(rows, shape->block_rows) + 1) * offset;
}

typedef struct mbi_shape_search {
  const merbit_view *csr;
  int masks;
  int windows;                        /* 0: one window of all rows */
  double bytes[MBI_SHAPE_CANDIDATES]; /* bytes per entry */
} mbi_shape_search;

/* Returns the number of block rows of a window for blocks with `height` rows. If `windows` is
 * 0, the window is the whole matrix. */
MBI_INTERNAL int64_t mbi_shape_rows(const merbit_view *csr, int windows, int height) {
  return mbi_block_count(windows > 0 ? MBI_SHAPE_WINDOW : csr->rows, height);
}

/* Returns the number of rows from the start of one window to the start of the next. */
MBI_INTERNAL int64_t mbi_shape_span(const merbit_view *csr, int windows) {
  return windows > 0 ? (csr->rows - MBI_SHAPE_WINDOW) / windows : 0;
}

/* Sets [*first, *last) to the block rows of window `w`. Returns the first row of the matrix
 * after the window. */
MBI_INTERNAL int64_t mbi_shape_window(const merbit_view *csr, int windows, int w, int height,
                                      int64_t *first, int64_t *last) {
  const int64_t all = mbi_block_count(csr->rows, height);
  *first = mbi_shape_span(csr, windows) * w / height;
  *last = *first + mbi_shape_rows(csr, windows, height);
  *last = *last < all ? *last : all;
  return *last * height < csr->rows ? *last * height : csr->rows;
}

/* Returns the candidate with the fewest bytes and marks it as used in the array. */
MBI_INTERNAL int mbi_shape_next(double *bytes) {
  int next = 0, i;
  for (i = 1; i < MBI_SHAPE_CANDIDATES; i++) {
    next = bytes[i] < bytes[next] ? i : next;
  }
  bytes[next] = DBL_MAX;
  return next;
}

/* Computes a candidate's bytes per entry over all windows. Windows cover slightly different
 * rows for each block height, so only bytes per entry can be compared. */
static void mbi_shape_task(void *argument, int candidate) {
  mbi_shape_search *search = (mbi_shape_search *)argument;
  const merbit_view *csr = search->csr;
  int64_t rows = 0, blocks = 0, inside = 0, entries = 0;
  merbit_bsr_desc shape;
  int w;
  mbi_shape_of(candidate, &shape);
  for (w = 0; w < search->windows || w == 0; w++) {
    const int height = shape.block_rows;
    int64_t first, last, more;
    const int64_t end = mbi_shape_window(csr, search->windows, w, height, &first, &last);
    blocks += mbi_blocks_count(csr, height, shape.block_cols, first, last, &more);
    inside += more;
    entries += mbi_row_start(csr, end) - mbi_row_start(csr, first * height);
    rows += end - first * height;
  }
  search->bytes[candidate] = entries == 0
                                 ? DBL_MAX
                                 : (double)mbi_shape_bytes(csr, &shape, rows, blocks,
                                                           inside == entries, search->masks) /
                                       (double)entries;
}

/* Returns the number of windows that contain about MBI_SHAPE_ENTRIES entries in total, or 0 if
 * the whole matrix is to be counted. */
MBI_INTERNAL int mbi_shape_windows(const merbit_view *csr) {
  const int64_t rows = csr->rows / (csr->nnz / MBI_SHAPE_ENTRIES + 1);
  const int64_t windows = rows / MBI_SHAPE_WINDOW;
  if (csr->nnz <= MBI_SHAPE_ENTRIES || csr->rows <= 2 * MBI_SHAPE_WINDOW) {
    return 0;
  }
  return windows < 1 ? 1 : windows < MBI_SHAPE_WINDOWS ? (int)windows : MBI_SHAPE_WINDOWS;
}

/* Counts the blocks of the whole matrix and returns the size of their arrays in bytes. */
static int64_t mbi_shape_measure(merbit_context *context, const merbit_view *csr,
                                 const merbit_bsr_desc *shape, int masks, int64_t *blocks) {
  mbi_blocking b;
  mbi_bsr bsr;
  int64_t inside;
  mbi_blocks_describe(csr, shape, &bsr);
  b.csr = csr;
  b.bsr = &bsr;
  inside = mbi_blocking_count(context, &b);
  *blocks = bsr.view.nnz;
  return mbi_shape_bytes(csr, shape, csr->rows, *blocks, inside == csr->nnz, masks);
}

/* Chooses a shape if none is given. The columns of each row of `csr` must ascend strictly. */
static void mbi_shape_find(merbit_context *context, const merbit_view *csr, int masks,
                           merbit_bsr_desc *shape) {
  mbi_shape_search search;
  merbit_bsr_desc tried = *shape;
  int64_t least, bytes, blocks;
  int finalist, i;
  if (shape->block_rows != 0) {
    return;
  }
  shape->block_rows = shape->block_cols = 1; /* the same as CSR */
  if (csr->nnz == 0) {
    return;
  }
  least = mbi_shape_bytes(csr, shape, csr->rows, csr->nnz, 1, masks);
  search.csr = csr;
  search.masks = masks;
  search.windows = mbi_shape_windows(csr);
  if (csr->nnz > MBI_SHAPE_ALONE) {
    mbi_parallel(context, MBI_SHAPE_CANDIDATES, mbi_shape_task, &search);
  } else {
    for (i = 0; i < MBI_SHAPE_CANDIDATES; i++) {
      mbi_shape_task(&search, i);
    }
  }
  for (finalist = 0; finalist < MBI_SHAPE_FINALISTS; finalist++) {
    mbi_shape_of(mbi_shape_next(search.bytes), &tried);
    bytes = mbi_shape_measure(context, csr, &tried, masks, &blocks);
    if (bytes < least) {
      least = bytes;
      *shape = tried;
    }
  }
}

static merbit_status mbi_shape_check(merbit_context *context, const char *what,
                                     const merbit_bsr_desc *shape) {
  merbit_bsr_desc given = *shape;
  if (given.block_rows == 0 && given.block_cols == 0) {
    given.block_rows = given.block_cols = 1;
  }
  return mbi_block_check(context, what, given.block_rows, given.block_cols, given.block_order);
}

/* Makes blocks of the shape in `desc` from a checked host view. The caller runs
 * mbi_bsr_release. */
MBI_INTERNAL merbit_status mbi_bsr_from_view(merbit_context *context, const merbit_view *host,
                                             const merbit_bsr_desc *desc, int masks,
                                             mbi_bsr *bsr) {
  merbit_bsr_desc shape = *desc;
  merbit_matrix *made = NULL;
  merbit_view csr;
  merbit_status status;
  memset(bsr, 0, sizeof *bsr);
  MBI_TRY(mbi_shape_check(context, "bsr_desc", desc));
  MBI_TRY(mbi_blocks_source(context, host, &csr, &made));
  mbi_shape_find(context, &csr, masks, &shape);
  status = mbi_blocks_make(context, &csr, &shape, masks, bsr);
  bsr->ascends = made == NULL;
  merbit_matrix_destroy(made);
  return status;
}

/* Borrows the blocks of a checked host BSR view. Only 64-bit columns are copied, to 32 bits. */
MBI_INTERNAL merbit_status mbi_bsr_borrow(merbit_context *context, const merbit_view *view,
                                          mbi_bsr *bsr) {
  int64_t i;
  int32_t *narrow;
  memset(bsr, 0, sizeof *bsr);
  bsr->view = *view;
  bsr->entries = view->nnz * view->block_rows * view->block_cols;
  if (view->index_type == MERBIT_INDEX_32) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_allocate_array(context, view->nnz, sizeof(int32_t), "32-bit block columns",
                             &bsr->memory));
  narrow = (int32_t *)bsr->memory;
  for (i = 0; i < view->nnz; i++) {
    narrow[i] = (int32_t)((const int64_t *)view->col_ind)[i];
  }
  bsr->view.col_ind = narrow;
  bsr->view.index_type = MERBIT_INDEX_32;
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_view_find_blocks(merbit_context *context,
                                                 const merbit_view *view,
                                                 const merbit_bsr_desc *desc,
                                                 merbit_block_info *info) {
  merbit_bsr_desc shape;
  merbit_view host, csr;
  merbit_matrix *made;
  merbit_status status;
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (info == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the out pointer `info` is NULL");
  }
  memset(info, 0, sizeof *info);
  memset(&shape, 0, sizeof shape);
  shape = desc != NULL ? *desc : shape;
  MBI_TRY(mbi_shape_check(context, "bsr_desc", &shape));
  MBI_TRY(mbi_view_to_full(context, view, &host));
  status = mbi_blocks_source(context, &host, &csr, &made);
  if (status == MERBIT_OK) {
    mbi_shape_find(context, &csr, 0, &shape);
    info->block_rows = shape.block_rows;
    info->block_cols = shape.block_cols;
    info->bytes = mbi_shape_measure(context, &csr, &shape, 0, &info->blocks);
    info->fill =
        info->blocks == 0
            ? 1
            : (double)csr.nnz / ((double)info->blocks * shape.block_rows * shape.block_cols);
    shape.block_rows = shape.block_cols = 1;
    info->csr_bytes = mbi_shape_bytes(&csr, &shape, csr.rows, csr.nnz, 1, 0);
    merbit_matrix_destroy(made);
  }
  mbi_view_from_full(context, view, &host);
  return status;
}
