#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"

/* Conversion of any host view to an owned CSR with 32-bit columns and base 0, sorted and
 * without duplicates. */

MBI_INTERNAL void mbi_build_describe(mbi_build *build, merbit_context *context,
                                     const merbit_view *from, int flags) {
  const int transpose = (flags & MBI_BUILD_TRANSPOSE) != 0;
  memset(build, 0, sizeof *build);
  build->context = context;
  build->from = from;
  build->walk = transpose && from->format == MERBIT_CSR;
  build->major = transpose ? from->col_ind : from->row_ind;
  build->minor = transpose ? from->row_ind : from->col_ind;
  build->to.value_type = mbi_view_type(from);
  build->to.offset_type = MERBIT_INDEX_64;
  build->to.memory = MERBIT_MEMORY_HOST;
  build->to.rows = transpose ? from->cols : from->rows;
  build->to.cols = transpose ? from->rows : from->cols;
  build->to.nnz = from->nnz;
}

MBI_INTERNAL merbit_status mbi_build_allocate(mbi_build *build) {
  merbit_context *context = build->context;
  int64_t nnz = build->to.nnz;
  void *memory;
  MBI_TRY(mbi_allocate_array(context, build->to.rows + 1, sizeof(int64_t),
                             "the row offsets of a matrix", &memory));
  build->row_ptr = (int64_t *)memory;
  build->to.row_ptr = memory;
  MBI_TRY(
      mbi_allocate_array(context, nnz, sizeof(int32_t), "the columns of a matrix", &memory));
  build->col_ind = (int32_t *)memory;
  if (build->from->values != NULL) {
    MBI_TRY(mbi_allocate_array(context, nnz, mbi_type_size(build->to.value_type),
                               "the values of a matrix", &build->values));
  }
  return MERBIT_OK;
}

/* Replaces the row offsets by 32-bit ones if nnz allows. */
MBI_INTERNAL merbit_status mbi_build_narrow(mbi_build *build) {
  int64_t row;
  void *memory;
  if (build->to.nnz > INT32_MAX) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_allocate_array(build->context, build->to.rows + 1, sizeof(int32_t),
                             "the row offsets of a matrix", &memory));
  build->narrow_row_ptr = (int32_t *)memory;
  for (row = 0; row <= build->to.rows; row++) {
    build->narrow_row_ptr[row] = (int32_t)build->row_ptr[row];
  }
  mbi_release(build->context, build->row_ptr);
  build->row_ptr = NULL;
  build->to.row_ptr = memory;
  build->to.offset_type = MERBIT_INDEX_32;
  return MERBIT_OK;
}

static merbit_status mbi_build_run(mbi_build *build, int flags) {
  MBI_TRY(mbi_build_allocate(build));
  MBI_TRY(mbi_build_group(build));
  MBI_TRY(mbi_build_sort(build));
  if ((flags & MBI_BUILD_KEEP) == 0) {
    MBI_TRY(mbi_build_merge(build));
  }
  return mbi_build_narrow(build);
}

/* Makes a matrix record, which takes over the view's arrays. If all of them are in one
 * allocation, that is `memory`; otherwise it is NULL. */
MBI_INTERNAL merbit_status mbi_matrix_record(merbit_context *context, const merbit_view *view,
                                             void *memory, merbit_matrix **matrix) {
  merbit_matrix *made = (merbit_matrix *)mbi_allocate(context, sizeof *made);
  *matrix = made;
  if (made == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a matrix's record");
  }
  made->context = context;
  made->references = 1;
  made->view = *view;
  made->view.owner = made;
  made->memory = memory;
  mbi_context_retain(context);
  return MERBIT_OK;
}

static merbit_status mbi_matrix_from_entries(merbit_context *context, const merbit_view *view,
                                             int flags, merbit_matrix **matrix) {
  mbi_build build;
  merbit_status status;
  mbi_build_describe(&build, context, view, flags);
  status = mbi_build_run(&build, flags);
  if (status == MERBIT_OK) {
    merbit_view view_made = build.to;
    view_made.col_ind = build.col_ind;
    view_made.values = build.values;
    status = mbi_matrix_record(context, &view_made, NULL, matrix);
  }
  if (status != MERBIT_OK) {
    mbi_release(context, build.row_ptr);
    mbi_release(context, build.narrow_row_ptr);
    mbi_release(context, build.col_ind);
    mbi_release(context, build.values);
  }
  return status;
}

/* Makes a matrix from a checked host view: a sorted CSR without duplicates, unless MBI_BUILD
 * flags say otherwise. */
MBI_INTERNAL merbit_status mbi_matrix_from_view(merbit_context *context,
                                                const merbit_view *view, int flags,
                                                merbit_matrix **matrix) {
  merbit_view entries;
  merbit_status status;
  *matrix = NULL;
  if ((flags & MBI_BUILD_TRANSPOSE) != 0 && view->rows > INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "view.rows is %" PRId64
                    "; a transpose takes at most 2147483647, because rows become columns",
                    view->rows);
  }
  if (view->format != MERBIT_BSR) {
    return mbi_matrix_from_entries(context, view, flags, matrix);
  }
  status = mbi_expand_blocks(context, view, &entries);
  if (status == MERBIT_OK) {
    status = mbi_matrix_from_entries(context, &entries, flags, matrix);
  }
  mbi_host_view_release(context, &entries);
  return status;
}

/* Adds a reference to a view's owner for an object made from the view. NULL is allowed. */
MBI_INTERNAL void mbi_matrix_retain(merbit_matrix *matrix) {
  if (matrix != NULL) {
    mbi_mutex_lock(&matrix->context->lock);
    matrix->references++;
    mbi_mutex_unlock(&matrix->context->lock);
  }
}
