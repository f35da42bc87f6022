#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* Plans that multiply by the transpose. plan->view becomes the transpose of the user's matrix,
 * and later stages see an ordinary matrix. A COO is read with rows and columns swapped. On the
 * GPU a CSR is sorted by columns, stably, so that equal plans give equal bits. CPU threads
 * transpose everything else, and everything for plans on the CPU. */

MBI_INTERNAL merbit_status mbi_transpose_check(merbit_context *context, const merbit_view *view,
                                               const merbit_plan_desc *desc) {
  if (desc->operation < MERBIT_OPERATION_N || desc->operation > MERBIT_OPERATION_H) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.operation is %d; use MERBIT_OPERATION_N, MERBIT_OPERATION_T "
                    "or MERBIT_OPERATION_H",
                    (int)desc->operation);
  }
  if (desc->operation != MERBIT_OPERATION_N && view->rows > INT32_MAX) {
    return mbi_fail(
        context, MERBIT_TOO_LARGE,
        "view.rows is %" PRId64
        "; a transposed product takes at most 2147483647, because rows become columns",
        view->rows);
  }
  return MERBIT_OK;
}

/* ---- On CPU threads ---------------------------------------------------------------------- */

/* Transposes a matrix in host memory. */
static merbit_status mbi_transpose_host(merbit_plan *plan, const merbit_view *host) {
  if (!plan->desc.unchecked) {
    MBI_TRY(mbi_view_check_arrays(plan->context, host));
  }
  MBI_TRY(mbi_matrix_transpose_map(plan->context, host, &plan->transpose.matrix,
                                   &plan->reorder.places));
  plan->view = plan->transpose.matrix->view;
  plan->reorder.place_type = plan->view.offset_type;
  return MERBIT_OK;
}

/* Builds plan->view in host memory, and the original places of its values in plan->reorder. */
static merbit_status mbi_transpose_on_cpu(merbit_plan *plan) {
  merbit_view host;
  merbit_status status;
  if (plan->given.memory != MERBIT_MEMORY_DEVICE) {
    return mbi_transpose_host(plan, &plan->given);
  }
  status = mbi_view_download(plan->context, &plan->given, &host);
  if (status == MERBIT_OK) {
    status = mbi_transpose_host(plan, &host);
  }
  mbi_host_view_release(plan->context, &host);
  return status;
}

/* ---- On the GPU -------------------------------------------------------------------------- */

/* Builds plan->view in GPU memory. On failure nothing stays allocated. */
static merbit_status mbi_transpose_cuda(merbit_plan *plan) {
  merbit_context *context = plan->context;
  mbi_csr_programs programs;
  mbi_device_csr from;
  merbit_status status;
  if (plan->given.memory != MERBIT_MEMORY_DEVICE && !plan->desc.unchecked) {
    MBI_TRY(mbi_view_check_arrays(context, &plan->given));
  }
  MBI_TRY(mbi_device_enter(context));
  memset(&programs, 0, sizeof programs);
  status = mbi_device_csr_create(plan, &plan->given, &from);
  if (status == MERBIT_OK) {
    status = mbi_device_csr_prepare(plan, &plan->given, 0, &programs, &from);
  }
  mbi_csr_programs_destroy(context, &programs);
  if (status == MERBIT_OK) {
    status = mbi_transpose_sort(plan, &from);
    plan->device.scratch = from.scratch;
    plan->device.scratch_bytes = from.scratch_bytes;
    from.scratch = 0;
  }
  mbi_device_csr_destroy(plan, &from);
  if (status == MERBIT_OK) {
    const mbi_device_csr *to = &plan->device;
    plan->view = merbit_csr((int64_t)to->rows, (int64_t)to->cols, (int64_t)to->nnz,
                            mbi_device_pointer(to->row_ptr), mbi_device_pointer(to->col_ind),
                            mbi_device_pointer(to->values));
    plan->view.value_type = plan->type;
    plan->view.offset_type = to->offset_type;
    plan->view.memory = MERBIT_MEMORY_DEVICE;
  } else {
    mbi_device_csr_destroy(plan, &plan->device);
    memset(&plan->device, 0, sizeof plan->device);
    mbi_reorder_release_cuda(plan);
  }
  mbi_device_leave(context);
  return status;
}

/* ---- The choice -------------------------------------------------------------------------- */

/* Returns 1 if the GPU can transpose. Reordered plans and plans of blocks are prepared on the
 * CPU, and only CSRs with 32-bit columns are uploaded. */
static int mbi_transpose_fits_gpu(const merbit_plan *plan) {
  return plan->side == MERBIT_SIDE_CUDA && plan->given.format == MERBIT_CSR &&
         plan->given.nnz > 0 && !mbi_plan_reorders(plan) && !mbi_plan_takes_blocks(plan) &&
         (plan->given.memory == MERBIT_MEMORY_DEVICE ||
          plan->given.index_type == MERBIT_INDEX_32);
}

/* Returns 1 if AUTO may fall back to the CPU after a failure on the GPU. Everything must be in
 * host memory. */
MBI_INTERNAL int mbi_plan_may_fall_back(const merbit_plan *plan, merbit_status status) {
  return plan->desc.side == MERBIT_SIDE_AUTO && plan->desc.method == MERBIT_METHOD_AUTO &&
         plan->given.memory != MERBIT_MEMORY_DEVICE &&
         plan->symmetric.view.memory != MERBIT_MEMORY_DEVICE &&
         plan->desc.vector_memory == MERBIT_MEMORY_HOST &&
         plan->desc.scalar_memory != MERBIT_MEMORY_DEVICE &&
         mbi_semiring_runs(plan, MERBIT_SIDE_CPU) && status != MERBIT_INVALID_ARGUMENT &&
         status != MERBIT_INVALID_MATRIX && status != MERBIT_OUT_OF_MEMORY;
}

/* Sets plan->view to the matrix that the plan multiplies. A transpose that is built here needs
 * no further check. */
MBI_INTERNAL merbit_status mbi_transpose_make(merbit_plan *plan) {
  merbit_context *context = plan->context;
  const double start = mbi_seconds();
  merbit_status status = MERBIT_DEVICE_OUT_OF_MEMORY;
  char reason[384];
  plan->view = plan->given;
  plan->transpose.on_gpu = 0;
  if (!mbi_plan_transposes(plan)) {
    return MERBIT_OK;
  }
  if (plan->given.format == MERBIT_COO) {
    mbi_view_swap(&plan->view);
    return MERBIT_OK;
  }
  if (mbi_transpose_fits_gpu(plan)) {
    status = mbi_transpose_cuda(plan);
    plan->transpose.on_gpu = status == MERBIT_OK;
    if (status == MERBIT_DEVICE_OUT_OF_MEMORY ||
        (status != MERBIT_OK && mbi_plan_may_fall_back(plan, status))) {
      mbi_error_clear(context, reason, sizeof reason);
      mbi_log(context, "this plan is transposed on the CPU: %s", reason);
      status = MERBIT_DEVICE_OUT_OF_MEMORY;
    }
  }
  if (status == MERBIT_DEVICE_OUT_OF_MEMORY) {
    status = mbi_transpose_on_cpu(plan);
  }
  plan->desc.unchecked |= status == MERBIT_OK;
  plan->transpose.seconds = mbi_seconds() - start;
  return status;
}

/* Permutes new values into the order of plan->view if CPU threads have transposed blocks. The
 * values of other transposes are permuted by spmv/stages/reorder.c. */
MBI_INTERNAL merbit_status mbi_transpose_map_values(merbit_plan *plan, mbi_new_values *fresh) {
  if (!mbi_reorder_on_cpu(plan)) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_new_values_download(plan, fresh));
  mbi_transpose_map_into(plan->context, fresh->values, plan->reorder.places, &plan->view);
  fresh->values = plan->view.values;
  fresh->count = mbi_view_values(&plan->view);
  return MERBIT_OK;
}
