#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* A method with x as it wants it: where values are the same throughout each column, x is
 * multiplied by them before a product, which then takes all as ones. */

#define MBI_COLUMNS_ALIGNMENT 256

/* After the carries of a product in flight. */
static uint64_t mbi_columns_place(const merbit_plan *plan) {
  return (plan->cuda->carry_bytes(plan) + MBI_COLUMNS_ALIGNMENT - 1) / MBI_COLUMNS_ALIGNMENT *
         MBI_COLUMNS_ALIGNMENT;
}

/* Bytes that one product in flight needs. */
MBI_INTERNAL uint64_t mbi_scratch_bytes(const merbit_plan *plan) {
  return plan->device.form == MBI_VALUES_COLUMN
             ? mbi_columns_place(plan) + mbi_values_bytes(plan, MBI_VALUES_COLUMN)
             : plan->cuda->carry_bytes(plan);
}

/* plan->cuda, made; after a failure plan->cuda->destroy cleans up. */
MBI_INTERNAL merbit_status mbi_method_create(merbit_plan *plan) {
  const merbit_status status = plan->cuda->create(plan);
  return status == MERBIT_OK && plan->device.form == MBI_VALUES_COLUMN
             ? mbi_program_kernel(plan->context, &plan->program, "mbk_values_scale",
                                  &plan->scale)
             : status;
}

/* Whether alpha is zero, for all that the host knows of it. */
MBI_INTERNAL int mbi_alpha_zero(const merbit_plan *plan, const void *alpha) {
  return plan->desc.scalar_memory != MERBIT_MEMORY_DEVICE && !plan->stops &&
         mbi_scalar_zero(mbi_plan_sums(plan), alpha);
}

/* y = alpha A x + beta y. */
MBI_INTERNAL merbit_status mbi_method_multiply(merbit_plan *plan, mbi_devptr scratch,
                                               const void *alpha, mbi_devptr x,
                                               const void *beta, mbi_devptr y, void *stream) {
  merbit_status status = MERBIT_OK;
  if (plan->scale != NULL && !mbi_alpha_zero(plan, alpha)) {
    mbi_devptr scaled = scratch + mbi_columns_place(plan);
    void *arguments[6];
    arguments[0] = &plan->device.values;
    arguments[1] = &x;
    arguments[2] = &plan->device.cols;
    arguments[3] = &scaled;
    arguments[4] = (void *)(uintptr_t)alpha;
    arguments[5] = (void *)(uintptr_t)beta;
    status = mbi_plan_launch(plan, plan->scale, "mbk_values_scale",
                             mbi_values_blocks(plan->device.cols), 256, 0, stream, arguments);
    x = scaled;
  }
  return status == MERBIT_OK ? plan->cuda->multiply(plan, scratch, alpha, x, beta, y, stream)
                             : status;
}
