#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* merbit_plan_reorder and merbit_plan_restore: permute vectors into a plan's order and back. */

static merbit_status mbi_vector_check(merbit_plan *plan, const char *call, const void *from,
                                      const void *to, int64_t count) {
  merbit_context *context = plan->context;
  const uint64_t bytes = (uint64_t)count * mbi_type_size(mbi_plan_accumulator(plan));
  if (count > 0 && (from == NULL || to == NULL)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "%s: the vector %s is NULL", call,
                    from == NULL ? "to read" : "to write");
  }
  if (mbi_overlap(from, bytes, to, bytes)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "%s: the vectors of %" PRId64
                    " elements at %p and %p overlap; use two vectors",
                    call, count, from, to);
  }
  return MERBIT_OK;
}

static void mbi_vector_move_host(merbit_plan *plan, int restore, const void *from, void *to,
                                 int64_t count) {
  mbi_reorder_call call;
  if (plan->reorder.order == NULL) {
    memcpy(to, from, (size_t)count * mbi_type_size(mbi_plan_accumulator(plan)));
    return;
  }
  call.move = restore ? mbi_scatter : mbi_gather;
  call.type = mbi_plan_accumulator(plan);
  call.from = from;
  call.to = to;
  call.places = plan->reorder.order;
  call.place_type = MERBIT_INDEX_32;
  call.count = count;
  mbi_reorder_run(plan, &call);
}

static merbit_status mbi_vector_check_address(const merbit_plan *plan, const char *name,
                                              const void *pointer) {
  return mbi_device_owns(plan->context, pointer)
             ? mbi_types_check_address(plan->context, "a vector", mbi_plan_accumulator(plan),
                                       pointer)
             : mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                        "%s: %p is host memory, but the plan computes on CUDA; use a "
                        "merbit_buffer, or plan_desc.vector_memory = MERBIT_MEMORY_HOST",
                        name, pointer);
}

static merbit_status mbi_vector_move_cuda(merbit_plan *plan, const char *name, int restore,
                                          const void *from, void *to, int64_t count,
                                          void *stream) {
  merbit_context *context = plan->context;
  const mbi_devptr source = mbi_device_address(from), target = mbi_device_address(to);
  merbit_status status;
  MBI_TRY(mbi_device_enter(context));
  status = mbi_vector_check_address(plan, name, from);
  if (status == MERBIT_OK) {
    status = mbi_vector_check_address(plan, name, to);
  }
  if (status == MERBIT_OK) {
    status = plan->reorder.order == NULL
                 ? mbi_device_copy_async(
                       context, target, source,
                       (size_t)count * mbi_type_size(mbi_plan_accumulator(plan)), stream)
                 : mbi_reorder_launch(plan, restore, plan->reorder.device_order, source, target,
                                      count, stream);
  }
  mbi_device_leave(context);
  return status;
}

/* Permutes a vector. Host vectors are permuted by CPU threads even if the plan is on CUDA,
 * because otherwise they would be copied twice. */
MBI_NOINLINE static merbit_status mbi_vector_move(merbit_plan *plan, const char *call,
                                                  int restore, const void *from, void *to,
                                                  int64_t count, void *stream) {
  MBI_TRY(mbi_vector_check(plan, call, from, to, count));
  if (count == 0) {
    return MERBIT_OK;
  }
  if (plan->side == MERBIT_SIDE_CUDA && plan->desc.vector_memory != MERBIT_MEMORY_HOST) {
    return mbi_vector_move_cuda(plan, call, restore, from, to, count, stream);
  }
  mbi_vector_move_host(plan, restore, from, to, count);
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_plan_reorder(merbit_plan *plan, const void *x, void *px,
                                             void *stream) {
  return plan == NULL
             ? MERBIT_INVALID_ARGUMENT
             : mbi_vector_move(plan, "merbit_plan_reorder", 0, x, px, plan->csr.cols, stream);
}

MERBIT_API merbit_status merbit_plan_restore(merbit_plan *plan, const void *py, void *y,
                                             void *stream) {
  return plan == NULL
             ? MERBIT_INVALID_ARGUMENT
             : mbi_vector_move(plan, "merbit_plan_restore", 1, py, y, plan->csr.rows, stream);
}

MERBIT_API merbit_status merbit_plan_get_order(const merbit_plan *plan, int64_t *order,
                                               int64_t count) {
  int64_t i;
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (count != plan->csr.rows || (order == NULL && count > 0)) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_plan_get_order: `count` is %" PRId64
                    ", `order` %p; give an array of %" PRId64 " numbers, one for each row",
                    count, (void *)order, plan->csr.rows);
  }
  for (i = 0; i < count; i++) {
    order[i] = plan->reorder.order != NULL ? (int64_t)plan->reorder.order[i] : i;
  }
  return MERBIT_OK;
}
