#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/plan/plan.h"

/* Returns whether two vectors in the same memory overlap. */
MBI_INTERNAL int mbi_overlap(const void *x, uint64_t x_bytes, const void *y, uint64_t y_bytes) {
  const uint64_t a = (uint64_t)(uintptr_t)x, b = (uint64_t)(uintptr_t)y;
  return x_bytes > 0 && y_bytes > 0 && a < b + y_bytes && b < a + x_bytes;
}

/* Checks the arguments of the public function `call`. */
MBI_INTERNAL merbit_status mbi_spmv_check(merbit_plan *plan, const merbit_workspace *workspace,
                                          const void *x, const void *y, const char *call) {
  merbit_context *context = plan->context;
  const size_t size = mbi_type_size(mbi_plan_accumulator(plan));
  if (mbi_plan_vectors(plan) > 1) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "%s: the plan is for %d vectors; use merbit_spmm", call,
                    mbi_plan_vectors(plan));
  }
  if (workspace->plan != plan) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "%s: the workspace belongs to another plan; make one by merbit_workspace_create", call);
  }
  if ((x == NULL && plan->csr.cols > 0) || (y == NULL && plan->csr.rows > 0)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "%s: `%s` is NULL", call,
                    x == NULL && plan->csr.cols > 0 ? "x" : "y");
  }
  if (mbi_overlap(x, (uint64_t)plan->csr.cols * size, y, (uint64_t)plan->csr.rows * size)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "%s: x (%" PRId64 " elements at %p) and y (%" PRId64
                    " at %p) overlap; use two vectors",
                    call, plan->csr.cols, x, plan->csr.rows, y);
  }
  return MERBIT_OK;
}

/* Multiplies on the CPU. alpha and beta have the accumulator's type. */
MBI_INTERNAL void mbi_spmv_cpu(merbit_plan *plan, merbit_workspace *workspace,
                               const void *alpha, const void *x, const void *beta, void *y) {
  plan->cpu->multiply(plan, workspace->carries, alpha, x, beta, y);
}

/* Checks for the public function `call` that `pointer` is an address in GPU memory. The driver
 * is asked once per address, because repeated products mostly use the same vectors. */
MBI_INTERNAL merbit_status mbi_spmv_check_address(const merbit_plan *plan, const void *pointer,
                                                  const void **known, const char *call,
                                                  const char *name) {
  merbit_context *context = plan->context;
  if (pointer == *known) {
    return MERBIT_OK;
  }
  if (!mbi_device_owns(context, pointer)) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "%s: %s at %p is host memory, but the plan computes on CUDA; use a merbit_buffer, or "
        "plan_desc.vector_memory = MERBIT_MEMORY_HOST",
        call, name, pointer);
  }
  MBI_TRY(mbi_types_check_address(context, name, mbi_plan_accumulator(plan), pointer));
  *known = pointer;
  return MERBIT_OK;
}

/* Multiplies host vectors synchronously: copies them to the GPU, and the result back. */
static merbit_status mbi_spmv_staged(merbit_plan *plan, merbit_workspace *workspace,
                                     const void *alpha, const void *x, const void *beta,
                                     void *y, int reads_y, void *stream) {
  merbit_context *context = plan->context;
  const size_t size = mbi_type_size(mbi_plan_accumulator(plan));
  const size_t x_bytes = (size_t)plan->csr.cols * size, y_bytes = (size_t)plan->csr.rows * size;
  if (x_bytes > 0) {
    MBI_TRY(mbi_device_upload(context, workspace->staged_x, x, x_bytes));
  }
  if (reads_y && y_bytes > 0) {
    MBI_TRY(mbi_device_upload(context, workspace->staged_y, y, y_bytes));
  }
  MBI_TRY(mbi_method_multiply(plan, workspace->device_carries, alpha, workspace->staged_x, beta,
                              workspace->staged_y, stream));
  MBI_TRY(mbi_device_synchronize(context, stream));
  return y_bytes > 0 ? mbi_device_download(context, y, workspace->staged_y, y_bytes)
                     : MERBIT_OK;
}

/* Multiplies vectors in GPU memory. */
static merbit_status mbi_spmv_in_place(merbit_plan *plan, merbit_workspace *workspace,
                                       const void *alpha, const void *x, const void *beta,
                                       void *y, void *stream, const char *call) {
  if (plan->csr.cols > 0) {
    MBI_TRY(mbi_spmv_check_address(plan, x, &workspace->known_x, call, "x"));
  }
  if (plan->csr.rows > 0) {
    MBI_TRY(mbi_spmv_check_address(plan, y, &workspace->known_y, call, "y"));
  }
  return mbi_method_multiply(plan, workspace->device_carries, alpha, mbi_device_address(x),
                             beta, mbi_device_address(y), stream);
}

static merbit_status mbi_spmv_cuda(merbit_plan *plan, merbit_workspace *workspace,
                                   const void *alpha, const void *x, const void *beta, void *y,
                                   int reads_y, void *stream, const char *call) {
  merbit_status status;
  MBI_TRY(mbi_device_enter(plan->context));
  status = plan->desc.vector_memory == MERBIT_MEMORY_HOST
               ? mbi_spmv_staged(plan, workspace, alpha, x, beta, y, reads_y, stream)
               : mbi_spmv_in_place(plan, workspace, alpha, x, beta, y, stream, call);
  mbi_device_leave(plan->context);
  return status;
}

/* Multiplies over a semiring. The scalars are in host memory; each may be NULL. */
static merbit_status mbi_spmv_semiring(merbit_plan *plan, merbit_workspace *workspace,
                                       const void *alpha, const void *x, const void *beta,
                                       void *y, void *stream, const char *call) {
  const mbi_scalar a = mbi_semiring_scalar(plan, alpha), b = mbi_semiring_scalar(plan, beta);
  if (plan->side == MERBIT_SIDE_CPU) {
    plan->cpu->multiply(plan, workspace->carries, &a, x, &b, y);
    return MERBIT_OK;
  }
  return mbi_spmv_cuda(plan, workspace, &a, x, &b, y, mbi_semiring_adds(plan, &b), stream,
                       call);
}

/* Multiplies one vector, as merbit_spmv does. `call` is the function's name in errors. */
MBI_INTERNAL merbit_status mbi_spmv(merbit_plan *plan, merbit_workspace *workspace,
                                    const void *alpha, const void *x, const void *beta, void *y,
                                    void *stream, const char *call) {
  /* The second elements are the imaginary parts of complex numbers. */
  static const float one_f32[2] = {1, 0}, zero_f32[2] = {0, 0};
  static const double one_f64[2] = {1, 0}, zero_f64[2] = {0, 0};
  merbit_type type;
  int single;
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (workspace == NULL) {
    workspace = plan->workspace;
  }
  MBI_TRY(mbi_spmv_check(plan, workspace, x, y, call));
  if (mbi_plan_has_epilogue(plan)) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "%s: the plan has an epilogue; use merbit_spmv_epilogue", call);
  }
  type = mbi_plan_accumulator(plan);
  if (plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE) {
    MBI_TRY(mbi_types_check_address(plan->context, "alpha", type, alpha));
    MBI_TRY(mbi_types_check_address(plan->context, "beta", type, beta));
    /* The kernels take the two addresses, where null means the default. */
    return mbi_spmv_cuda(plan, workspace, &alpha, x, &beta, y, beta != NULL, stream, call);
  }
  if (mbi_plan_has_semiring(plan)) {
    return mbi_spmv_semiring(plan, workspace, alpha, x, beta, y, stream, call);
  }
  single = type == MERBIT_F32 || type == MERBIT_C64;
  alpha = alpha != NULL ? alpha : single ? (const void *)one_f32 : (const void *)one_f64;
  beta = beta != NULL ? beta : single ? (const void *)zero_f32 : (const void *)zero_f64;
  if (plan->side == MERBIT_SIDE_CPU) {
    mbi_spmv_cpu(plan, workspace, alpha, x, beta, y);
    return MERBIT_OK;
  }
  return mbi_spmv_cuda(plan, workspace, alpha, x, beta, y, !mbi_scalar_zero(type, beta), stream,
                       call);
}

MERBIT_API merbit_status merbit_spmv(merbit_plan *plan, merbit_workspace *workspace,
                                     const void *alpha, const void *x, const void *beta,
                                     void *y, void *stream) {
  return mbi_spmv(plan, workspace, alpha, x, beta, y, stream, "merbit_spmv");
}
