#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* Calls of the plan's method on CUDA. If all values of a column are equal, x is first
 * multiplied by them, and the product then takes all values as ones. */

#define MBI_COLUMNS_ALIGNMENT 256

/* Returns the offset of the scaled x in a product's scratch, after the carries. */
static uint64_t mbi_columns_place(const merbit_plan *plan) {
  return (plan->cuda->carry_bytes(plan) + MBI_COLUMNS_ALIGNMENT - 1) / MBI_COLUMNS_ALIGNMENT *
         MBI_COLUMNS_ALIGNMENT;
}

/* Returns the bytes of scratch that one product in flight needs. */
MBI_INTERNAL uint64_t mbi_scratch_bytes(const merbit_plan *plan) {
  return plan->device.form == MBI_VALUES_COLUMN
             ? mbi_columns_place(plan) + mbi_values_bytes(plan, MBI_VALUES_COLUMN)
             : plan->cuda->carry_bytes(plan);
}

/* Clears what must be zero in a product's scratch before the first product. */
MBI_INTERNAL merbit_status mbi_scratch_clear(const merbit_plan *plan, mbi_devptr scratch) {
  const uint64_t bytes = mbi_scan_slot_bytes(plan);
  return bytes > 0 ? mbi_device_zero(plan->context, scratch, bytes, NULL) : MERBIT_OK;
}

/* Forgets what the method made on a device that is lost, without touching GPU memory. */
MBI_INTERNAL void mbi_method_forget(merbit_plan *plan) {
  mbi_release(plan->context, plan->state);
  plan->state = NULL;
  plan->schedule_bytes = plan->stream_bytes = 0;
  memset(&plan->program, 0, sizeof plan->program);
  plan->scale = NULL;
}

/* Builds the method's form of the matrix in plan->device. On failure the caller runs
 * mbi_method_destroy. */
MBI_INTERNAL merbit_status mbi_method_create(merbit_plan *plan) {
  MBI_TRY(mbi_allocate_array(plan->context, (int64_t)plan->cuda->state_bytes, 1,
                             "the state of a method", &plan->state));
  memset(plan->state, 0, plan->cuda->state_bytes);
  MBI_TRY(plan->cuda->create(plan));
  return plan->device.form == MBI_VALUES_COLUMN
             ? mbi_program_kernel(plan->context, &plan->program, "mbk_values_scale",
                                  &plan->scale)
             : MERBIT_OK;
}

/* Releases what mbi_method_create has made. The plan may then take another method. */
MBI_INTERNAL void mbi_method_destroy(merbit_plan *plan) {
  if (plan->state != NULL) {
    plan->cuda->destroy(plan);
  }
  mbi_method_forget(plan);
}

/* Computes y = alpha A x + beta y. */
MBI_INTERNAL merbit_status mbi_method_multiply(merbit_plan *plan, mbi_devptr scratch,
                                               const void *alpha, mbi_devptr x,
                                               const void *beta, mbi_devptr y, void *stream) {
  if (plan->scale != NULL && !mbi_alpha_zero(plan, alpha)) {
    mbi_devptr scaled = scratch + mbi_columns_place(plan);
    mbk_values_scale_arguments arguments;
    arguments.by_column = plan->device.values;
    arguments.x = x;
    arguments.cols = plan->device.cols;
    arguments.scaled = scaled;
    arguments.alpha = mbi_plan_scalar(plan, alpha);
    arguments.beta = mbi_plan_scalar(plan, beta);
    MBI_TRY(mbi_plan_launch(plan, plan->scale, "mbk_values_scale",
                            mbi_values_blocks(plan->device.cols), 256, 0, stream, &arguments,
                            sizeof arguments));
    x = scaled;
  }
  return plan->cuda->multiply(plan, scratch, alpha, x, beta, y, stream);
}
