#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/cpu/cpu.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* Converts plan->view to the form that the method reads: a CSR with 32-bit columns in
 * plan->csr, or blocks in plan->bsr. A view that already has this form is not copied. */

/* Downloads new values if they are in device memory. */
MBI_INTERNAL merbit_status mbi_new_values_download(merbit_plan *plan, mbi_new_values *fresh) {
  const void *copy = NULL;
  merbit_status status;
  if (fresh->memory != MERBIT_MEMORY_DEVICE) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_device_enter(plan->context));
  status = mbi_array_download(plan->context, fresh->values, fresh->count,
                              mbi_type_size(plan->type), &copy);
  mbi_device_leave(plan->context);
  MBI_TRY(status);
  fresh->downloaded = (void *)(uintptr_t)copy;
  fresh->values = copy;
  fresh->memory = MERBIT_MEMORY_HOST;
  return MERBIT_OK;
}

/* Returns whether a view is a CSR with 32-bit columns. */
MBI_INTERNAL int mbi_view_is_plain(const merbit_view *view) {
  return view->format == MERBIT_CSR && view->index_type == MERBIT_INDEX_32;
}

/* Returns whether the plan multiplies the view's own blocks. */
static int mbi_format_blocks_fit(const merbit_plan *plan) {
  const merbit_plan_desc *desc = &plan->desc;
  return plan->view.format == MERBIT_BSR &&
         (desc->block_rows == 0 || (desc->block_rows == plan->view.block_rows &&
                                    desc->block_cols == plan->view.block_cols));
}

/* Returns whether new values must be converted in the same way as the view was. */
MBI_INTERNAL int mbi_format_converts(const merbit_plan *plan) {
  return (plan->matrix != NULL && !mbi_view_is_plain(&plan->view)) ||
         (mbi_plan_has_blocks(plan) && plan->extracted.csr.rows == 0 &&
          !mbi_format_blocks_fit(plan));
}

/* Checks the arrays of the host view. Sets plan->bsr to the view itself, or to a conversion
 * that the plan owns. */
static merbit_status mbi_format_host_blocks(merbit_plan *plan, const merbit_view *host) {
  merbit_bsr_desc shape;
  memset(&shape, 0, sizeof shape);
  shape.block_rows = plan->desc.block_rows;
  shape.block_cols = plan->desc.block_cols;
  MBI_TRY(mbi_plan_check_arrays(plan, host));
  return mbi_format_blocks_fit(plan)
             ? mbi_bsr_borrow(plan->context, host, &plan->bsr)
             : mbi_bsr_from_view(plan->context, host, &shape,
                                 plan->side == MERBIT_SIDE_CUDA ? MBI_MASKS_READ
                                                                : MBI_MASKS_ASIDE,
                                 &plan->bsr);
}

/* Sets plan->bsr in host memory, wherever the view is. */
MBI_INTERNAL merbit_status mbi_format_blocks_on_host(merbit_plan *plan) {
  merbit_view host;
  merbit_status status;
  if (plan->view.memory != MERBIT_MEMORY_DEVICE) {
    return mbi_format_host_blocks(plan, &plan->view);
  }
  status = mbi_view_download(plan->context, &plan->view, &host);
  status = status == MERBIT_OK ? mbi_format_host_blocks(plan, &host) : status;
  mbi_host_view_release(plan->context, &host);
  return status;
}

/* Sets plan->bsr. Two kinds of views stay in device memory, where spmv/shared/device_csr.c
 * checks them: blocks of the requested shape, and a CSR, which spmv/stages/extract_blocks.c
 * converts. */
static merbit_status mbi_format_blocks(merbit_plan *plan) {
  const merbit_view *view = &plan->view;
  plan->csr = *view;
  if (view->memory == MERBIT_MEMORY_DEVICE && mbi_format_blocks_fit(plan)) {
    plan->bsr.view = *view;
    plan->bsr.entries = mbi_view_values(view);
    return MERBIT_OK;
  }
  if (view->memory == MERBIT_MEMORY_DEVICE && view->format == MERBIT_CSR && view->nnz > 0 &&
      plan->desc.method == MERBIT_METHOD_BSR) {
    return MERBIT_OK;
  }
  return mbi_format_blocks_on_host(plan);
}

/* Checks the arrays of the host view. Sets plan->csr to the view itself, or to a conversion
 * that the plan owns. */
static merbit_status mbi_format_host_csr(merbit_plan *plan, const merbit_view *host) {
  MBI_TRY(mbi_plan_check_arrays(plan, host));
  if (!mbi_view_is_plain(&plan->view)) {
    MBI_TRY(
        mbi_matrix_from_view(plan->context, host, mbi_plan_build_flags(plan), &plan->matrix));
    plan->csr = plan->matrix->view;
  }
  return MERBIT_OK;
}

/* Sets plan->csr. A CSR in device memory stays there: spmv/shared/device_csr.c checks it and
 * converts its columns, or mbi_reorder_make downloads it. */
static merbit_status mbi_format_csr(merbit_plan *plan) {
  merbit_view host;
  merbit_status status;
  plan->csr = plan->view;
  if (plan->view.memory != MERBIT_MEMORY_DEVICE) {
    return mbi_format_host_csr(plan, &plan->view);
  }
  if (mbi_view_is_plain(&plan->view) ||
      (plan->view.format == MERBIT_CSR && !mbi_plan_reorders(plan))) {
    return MERBIT_OK;
  }
  status = mbi_view_download(plan->context, &plan->view, &host);
  status = status == MERBIT_OK ? mbi_format_host_csr(plan, &host) : status;
  mbi_host_view_release(plan->context, &host);
  return status;
}

MBI_INTERNAL merbit_status mbi_format_make(merbit_plan *plan) {
  return mbi_plan_takes_blocks(plan) ? mbi_format_blocks(plan) : mbi_format_csr(plan);
}

/* Converts new host values, whose structure is that of a host view. */
static merbit_status mbi_format_convert(merbit_plan *plan, const merbit_view *structure,
                                        mbi_new_values *fresh) {
  merbit_view host = *structure;
  host.values = fresh->values;
  if (plan->matrix == NULL) {
    MBI_TRY(mbi_bsr_refill(plan->context, &host, &plan->bsr));
    fresh->values = plan->bsr.view.values;
    fresh->count = mbi_view_values(&plan->bsr.view);
    return MERBIT_OK;
  }
  MBI_TRY(
      mbi_matrix_from_view(plan->context, &host, mbi_plan_build_flags(plan), &fresh->matrix));
  fresh->values = fresh->matrix->view.values;
  fresh->count = fresh->matrix->view.nnz;
  return MERBIT_OK;
}

/* Brings new values into the order of plan->csr or plan->bsr. A COO or 64-bit view is converted
 * again, because duplicates may have been added up. */
MBI_INTERNAL merbit_status mbi_format_map_values(merbit_plan *plan, mbi_new_values *fresh) {
  merbit_view structure = plan->view, host;
  merbit_status status;
  if (!mbi_format_converts(plan)) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_new_values_download(plan, fresh));
  if (plan->view.memory != MERBIT_MEMORY_DEVICE) {
    return mbi_format_convert(plan, &plan->view, fresh);
  }
  structure.values = NULL;
  status = mbi_view_download(plan->context, &structure, &host);
  status = status == MERBIT_OK ? mbi_format_convert(plan, &host, fresh) : status;
  mbi_host_view_release(plan->context, &host);
  return status;
}
