#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"

/* Host copies of a view's device arrays. */

MBI_NOINLINE MBI_INTERNAL void mbi_host_view_release(merbit_context *context,
                                                     merbit_view *view) {
  mbi_release(context, (void *)(uintptr_t)view->row_ptr);
  mbi_release(context, (void *)(uintptr_t)view->row_ind);
  mbi_release(context, (void *)(uintptr_t)view->col_ind);
  mbi_release(context, (void *)(uintptr_t)view->values);
}

/* Copies one device array to the host. NULL stays NULL. */
MBI_INTERNAL merbit_status mbi_array_download(merbit_context *context, const void *source,
                                              int64_t count, size_t size, const void **target) {
  void *copy = NULL;
  merbit_status status = MERBIT_OK;
  *target = NULL;
  if (source == NULL) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_device_check_owned(context, MBI_VIEW_CLAIM, source));
  MBI_TRY(mbi_allocate_array(context, count, size, "a host copy of a device array", &copy));
  if (count > 0) {
    status =
        mbi_device_download(context, copy, mbi_device_address(source), (size_t)count * size);
  }
  if (status != MERBIT_OK) {
    mbi_release(context, copy);
    return status;
  }
  *target = copy;
  return MERBIT_OK;
}

/* Downloads all arrays of a view. The CUDA context must be current. */
static merbit_status mbi_arrays_download(merbit_context *context, const merbit_view *view,
                                         merbit_view *host) {
  const size_t index_bytes = mbi_index_bytes(view->index_type);
  if (view->format != MERBIT_COO) {
    const int64_t rows =
        view->format == MERBIT_BSR ? mbi_block_count(view->rows, view->block_rows) : view->rows;
    MBI_TRY(mbi_array_download(context, view->row_ptr, rows + 1,
                               mbi_index_bytes(view->offset_type), &host->row_ptr));
  } else {
    MBI_TRY(mbi_array_download(context, view->row_ind, view->nnz, index_bytes, &host->row_ind));
  }
  MBI_TRY(mbi_array_download(context, view->col_ind, view->nnz, index_bytes, &host->col_ind));
  return mbi_array_download(context, view->values, mbi_view_values(view),
                            mbi_type_size(view->value_type), &host->values);
}

/* Fails unless `last`, the last offset of a CSR, agrees with its nnz. */
MBI_INTERNAL merbit_status mbi_view_check_end(merbit_context *context, const merbit_view *view,
                                              int64_t last, int of_blocks) {
  const int64_t end = view->base + view->nnz;
  return last == end ? MERBIT_OK
                     : mbi_fail(context, MERBIT_INVALID_MATRIX,
                                "row_ptr[%srows] is %" PRId64 " but nnz is %" PRId64
                                " (base %d: row_ptr[%" PRId64 "] must be %" PRId64 ")",
                                of_blocks ? "block " : "", last, view->nnz, view->base,
                                view->rows, end);
}

/* Fails if a view's arrays are in device memory that the context cannot read, or if the last
 * offset disagrees with nnz. The header must have been checked. The values may then be read
 * before all arrays have been checked. Reads one offset. */
MBI_INTERNAL merbit_status mbi_view_check_count(merbit_context *context,
                                                const merbit_view *view) {
  const int of_blocks = view->format == MERBIT_BSR;
  const merbit_view frame = of_blocks ? mbi_block_frame(view) : *view;
  const size_t bytes = mbi_index_bytes(view->offset_type);
  const void *last, *copy = NULL;
  merbit_status status;
  if (view->memory == MERBIT_MEMORY_DEVICE && context->side != MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "view.memory is MERBIT_MEMORY_DEVICE, but this context computes on the "
                    "CPU; give arrays in host memory, or make a context with MERBIT_SIDE_CUDA");
  }
  if (view->format == MERBIT_COO || view->row_ptr == NULL) {
    return MERBIT_OK;
  }
  last = (const char *)view->row_ptr + (size_t)frame.rows * bytes;
  if (view->memory != MERBIT_MEMORY_DEVICE) {
    return mbi_view_check_end(context, &frame, mbi_index_at(last, view->offset_type, 0),
                              of_blocks);
  }
  MBI_TRY(mbi_device_enter(context));
  status = mbi_array_download(context, last, 1, bytes, &copy);
  mbi_device_leave(context);
  if (status == MERBIT_OK) {
    status = mbi_view_check_end(context, &frame, mbi_index_at(copy, view->offset_type, 0),
                                of_blocks);
  }
  mbi_release(context, (void *)(uintptr_t)copy);
  return status;
}

/* Copies a device view, whose header has been checked, to the host. The caller runs
 * mbi_host_view_release, on failure too. */
MBI_INTERNAL merbit_status mbi_view_download(merbit_context *context, const merbit_view *view,
                                             merbit_view *host) {
  merbit_status status;
  *host = *view;
  host->memory = MERBIT_MEMORY_HOST;
  host->row_ptr = host->row_ind = host->col_ind = host->values = NULL;
  MBI_TRY(mbi_view_check_count(context, view)); /* there may be fewer than nnz to copy */
  MBI_TRY(mbi_device_enter(context));
  status = mbi_arrays_download(context, view, host);
  mbi_device_leave(context);
  return status;
}
