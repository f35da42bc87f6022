#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* Fails unless `memory`, which says where the new values are, is a valid merbit_memory. */
MBI_INTERNAL merbit_status mbi_plan_check_memory(merbit_context *context,
                                                 merbit_memory memory) {
  return (int)memory >= MERBIT_MEMORY_DEFAULT && (int)memory <= MERBIT_MEMORY_DEVICE
             ? MERBIT_OK
             : mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                        "`memory` of the new values is %d; use MERBIT_MEMORY_DEFAULT, "
                        "MERBIT_MEMORY_HOST or MERBIT_MEMORY_DEVICE",
                        (int)memory);
}

/* Returns the user's view. */
static const merbit_view *mbi_plan_given(const merbit_plan *plan) {
  return mbi_plan_is_symmetric(plan) ? &plan->symmetric.view : &plan->given;
}

/* Returns where new values are, HOST or DEVICE, if `memory` is what the user says. */
static merbit_memory mbi_plan_place(const merbit_plan *plan, merbit_memory memory) {
  return mbi_view_values_there(mbi_plan_given(plan), memory) ? MERBIT_MEMORY_DEVICE
                                                             : MERBIT_MEMORY_HOST;
}

MBI_INTERNAL merbit_status mbi_plan_check_values(const merbit_plan *plan, const void *values,
                                                 merbit_memory memory) {
  const merbit_view *view = mbi_plan_given(plan);
  if (view->values == NULL) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "the plan is for a pattern of ones; make a plan from a view with values");
  }
  if (view->nnz > 0 && values == NULL) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "the new values are NULL; give %" PRId64 " of them", mbi_view_values(view));
  }
  MBI_TRY(mbi_plan_check_memory(plan->context, memory));
  return mbi_plan_place(plan, memory) == MERBIT_MEMORY_DEVICE && plan->side == MERBIT_SIDE_CPU
             ? mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                        "`memory` says that the new values are in device memory, but the plan "
                        "is for the CPU; give an array in host memory and MERBIT_MEMORY_HOST")
             : MERBIT_OK;
}

MERBIT_API merbit_status merbit_plan_update_values(merbit_plan *plan, const void *values,
                                                   merbit_memory memory) {
  const merbit_view *view;
  mbi_new_values fresh;
  mbi_program_times times;
  merbit_status status;
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  view = mbi_plan_given(plan);
  MBI_TRY(mbi_plan_check_values(plan, values, memory));
  if (view->nnz == 0) {
    return MERBIT_OK;
  }
  memset(&fresh, 0, sizeof fresh);
  fresh.values = values;
  fresh.memory = mbi_plan_place(plan, memory);
  fresh.count = mbi_view_values(view);
  times = plan->times;
  status = mbi_stages_map_values(plan, &fresh);
  plan->times = times; /* keeps the times of merbit_plan_create */
  return status;
}
