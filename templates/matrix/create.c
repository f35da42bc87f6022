#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"

/* Public views and matrices: creation, transposition, destruction. */

MBI_NOINLINE MERBIT_API merbit_view merbit_csr(int64_t rows, int64_t cols, int64_t nnz,
                                               const void *row_ptr, const void *col_ind,
                                               const void *values) {
  merbit_view view;
  memset(&view, 0, sizeof view);
  view.rows = rows;
  view.cols = cols;
  view.nnz = nnz;
  view.row_ptr = row_ptr;
  view.col_ind = col_ind;
  view.values = values;
  return view;
}

MERBIT_API merbit_view merbit_coo(int64_t rows, int64_t cols, int64_t nnz, const void *row_ind,
                                  const void *col_ind, const void *values) {
  merbit_view view = merbit_csr(rows, cols, nnz, NULL, col_ind, values);
  view.format = MERBIT_COO;
  view.row_ind = row_ind;
  return view;
}

MERBIT_API merbit_view merbit_bsr(int64_t rows, int64_t cols, int64_t blocks, int block_rows,
                                  int block_cols, const void *row_ptr, const void *col_ind,
                                  const void *values) {
  merbit_view view = merbit_csr(rows, cols, blocks, row_ptr, col_ind, values);
  view.format = MERBIT_BSR;
  view.block_rows = block_rows;
  view.block_cols = block_cols;
  return view;
}

/* Makes a matrix from a checked host view. `detail` depends on the maker. */
typedef merbit_status (*mbi_matrix_maker)(merbit_context *context, const merbit_view *host,
                                          const void *detail, merbit_matrix **matrix);

MBI_NOINLINE static merbit_status mbi_matrix_checked(merbit_context *context,
                                                     const merbit_view *view,
                                                     mbi_matrix_maker maker, const void *detail,
                                                     merbit_matrix **matrix) {
  merbit_view host;
  merbit_status status;
  if (matrix != NULL) {
    *matrix = NULL;
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (matrix == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the out pointer `matrix` is NULL");
  }
  MBI_TRY(mbi_view_to_full(context, view, &host));
  status = maker(context, &host, detail, matrix);
  mbi_view_from_full(context, view, &host);
  return status;
}

static merbit_status mbi_matrix_make_csr(merbit_context *context, const merbit_view *host,
                                         const void *flags, merbit_matrix **matrix) {
  return mbi_matrix_from_view(context, host, *(const int *)flags, matrix);
}

static merbit_status mbi_matrix_make_bsr(merbit_context *context, const merbit_view *host,
                                         const void *desc, merbit_matrix **matrix) {
  mbi_bsr bsr;
  merbit_status status;
  MBI_TRY(
      mbi_bsr_from_view(context, host, (const merbit_bsr_desc *)desc, MBI_MASKS_NONE, &bsr));
  status = mbi_matrix_record(context, &bsr.view, bsr.memory, matrix);
  if (status != MERBIT_OK) {
    mbi_bsr_release(context, &bsr);
  }
  return status;
}

MERBIT_API merbit_status merbit_matrix_create(merbit_context *context, const merbit_view *view,
                                              merbit_matrix **matrix) {
  const int flags = 0;
  return mbi_matrix_checked(context, view, mbi_matrix_make_csr, &flags, matrix);
}

MERBIT_API merbit_status merbit_matrix_transpose(merbit_context *context,
                                                 const merbit_view *view,
                                                 merbit_matrix **matrix) {
  const int flags = MBI_BUILD_TRANSPOSE;
  return mbi_matrix_checked(context, view, mbi_matrix_make_csr, &flags, matrix);
}

MERBIT_API merbit_status merbit_matrix_create_bsr(merbit_context *context,
                                                  const merbit_view *view,
                                                  const merbit_bsr_desc *desc,
                                                  merbit_matrix **matrix) {
  merbit_bsr_desc defaults;
  memset(&defaults, 0, sizeof defaults);
  return mbi_matrix_checked(context, view, mbi_matrix_make_bsr, desc != NULL ? desc : &defaults,
                            matrix);
}

MERBIT_API merbit_view merbit_matrix_view(const merbit_matrix *matrix) {
  merbit_view none;
  if (matrix != NULL) {
    return matrix->view;
  }
  memset(&none, 0, sizeof none);
  return none;
}

/* Drops one reference. The last one frees the matrix. */
MBI_NOINLINE MERBIT_API void merbit_matrix_destroy(merbit_matrix *matrix) {
  merbit_context *context;
  int64_t left;
  if (matrix == NULL) {
    return;
  }
  context = matrix->context;
  mbi_mutex_lock(&context->lock);
  left = --matrix->references;
  mbi_mutex_unlock(&context->lock);
  if (left > 0) {
    return;
  }
  if (matrix->memory == NULL) {
    mbi_host_view_release(context, &matrix->view);
  }
  mbi_release(context, matrix->memory);
  mbi_release(context, matrix);
  mbi_context_unref(context);
}
