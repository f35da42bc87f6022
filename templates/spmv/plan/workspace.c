#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/gpu/many/many.h"
#include "spmv/plan/plan.h"

MBI_INTERNAL void mbi_workspace_free(merbit_workspace *workspace) {
  merbit_plan *plan = workspace->plan;
  merbit_context *context = plan->context;
  if (plan->side == MERBIT_SIDE_CUDA && mbi_device_enter_alive(context)) {
    mbi_plan_release(plan, workspace->device_carries); /* with all other parts of the
                                                        * workspace */
    mbi_device_leave(context);
  }
  mbi_release(context, workspace->carries);
  mbi_release(context, workspace->bounce);
  mbi_release(context, workspace->sums);
  mbi_release(context, workspace);
}

/* Sets bytes[] to the sizes of the parts of a workspace in GPU memory: carries, copies of host
 * x and y, an epilogue's scratch, and the maker's arena. Returns their sum. */
MBI_INTERNAL uint64_t mbi_workspace_bytes(const merbit_plan *plan, uint64_t bytes[5]) {
  const size_t size =
      mbi_type_size(mbi_plan_accumulator(plan)) * (size_t)mbi_plan_vectors(plan);
  const int host = plan->desc.vector_memory == MERBIT_MEMORY_HOST;
  bytes[0] = mbi_scratch_bytes(plan);
  bytes[1] = host ? (uint64_t)plan->csr.cols * size : 0;
  bytes[2] = host ? (uint64_t)plan->csr.rows * size : 0;
  bytes[3] = mbi_epilogue_scratch_bytes(plan);
  bytes[4] = plan->making.arena_bytes;
  return bytes[0] + bytes[1] + bytes[2] + bytes[3] + bytes[4];
}

static merbit_status mbi_workspace_fill_cuda(merbit_workspace *workspace) {
  merbit_plan *plan = workspace->plan;
  merbit_context *context = plan->context;
  mbi_devptr *const parts[] = {&workspace->device_carries, &workspace->staged_x,
                               &workspace->staged_y, &workspace->sums_scratch,
                               &workspace->arena};
  uint64_t bytes[5];
  merbit_status status;
  MBI_TRY(mbi_many_workspace(workspace));
  MBI_TRY(mbi_device_enter(context));
  (void)mbi_workspace_bytes(plan, bytes);
  status = mbi_plan_allocate_parts(plan, "a workspace", 5, parts, bytes);
  if (status == MERBIT_OK) {
    status = mbi_scratch_clear(plan, workspace->device_carries);
  }
  if (status == MERBIT_OK && workspace->sums_scratch != 0) {
    status = mbi_device_zero(context, workspace->sums_scratch, MBI_EPILOGUE_PARTS, NULL);
  }
  mbi_device_leave(context);
  return status;
}

/* Allocates the carries of a workspace on the CPU, and the epilogue's sums. */
static merbit_status mbi_workspace_fill_cpu(merbit_workspace *workspace) {
  const merbit_plan *plan = workspace->plan;
  MBI_TRY(mbi_allocate_array(plan->context, (int64_t)plan->cpu->scratch_bytes(plan), 1,
                             "the carries of a workspace", &workspace->carries));
  return mbi_epilogue_allocate_sums(workspace);
}

MBI_INTERNAL merbit_status mbi_workspace_make(merbit_plan *plan, merbit_workspace **workspace) {
  merbit_context *context = plan->context;
  merbit_workspace *made = (merbit_workspace *)mbi_allocate(context, sizeof *made);
  merbit_status status;
  *workspace = NULL;
  if (made == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a workspace's record");
  }
  memset(made, 0, sizeof *made);
  made->plan = plan;
  if (plan->side == MERBIT_SIDE_CUDA) {
    status = mbi_workspace_fill_cuda(made);
  } else {
    status = mbi_workspace_fill_cpu(made);
  }
  if (status != MERBIT_OK) {
    mbi_workspace_free(made);
    return status;
  }
  *workspace = made;
  return MERBIT_OK;
}

/* Waits for the default stream, because the user's streams may not be ordered after it. */
MBI_INTERNAL merbit_status mbi_plan_wait(merbit_plan *plan) {
  merbit_status status;
  MBI_TRY(mbi_device_enter(plan->context));
  status = mbi_device_synchronize(plan->context, NULL);
  mbi_device_leave(plan->context);
  return status;
}
