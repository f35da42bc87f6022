/* merbit's calls with a wrong argument, chosen by FAULT: "plan", "spmv", "update" or
 * "apply". test_petsc.sh builds a plugin whose product.c and pc.c call these instead of the
 * library's. */
#include "merbit.h"
#include <stdlib.h>
#include <string.h>

merbit_status fault_plan_create(merbit_context *context, const merbit_view *view,
                                const merbit_plan_desc *desc, merbit_plan **plan);
merbit_status fault_spmv(merbit_plan *plan, merbit_workspace *workspace, const void *alpha,
                         const void *x, const void *beta, void *y, void *stream);
merbit_status fault_update_values(merbit_plan *plan, const void *values, merbit_memory memory);
merbit_status fault_apply(merbit_preconditioner *preconditioner, const void *r, void *z,
                          void *stream);

static int fails(const char *name) {
  const char *fault = getenv("FAULT");
  return fault != NULL && strcmp(fault, name) == 0;
}

merbit_status fault_plan_create(merbit_context *context, const merbit_view *view,
                                const merbit_plan_desc *desc, merbit_plan **plan) {
  merbit_plan_desc wrong = *desc;
  wrong.vectors = fails("plan") ? 65 : 0; /* one more than the limit */
  return merbit_plan_create(context, view, &wrong, plan);
}

merbit_status fault_spmv(merbit_plan *plan, merbit_workspace *workspace, const void *alpha,
                         const void *x, const void *beta, void *y, void *stream) {
  return merbit_spmv(plan, workspace, alpha, fails("spmv") ? NULL : x, beta, y, stream);
}

merbit_status fault_update_values(merbit_plan *plan, const void *values, merbit_memory memory) {
  return merbit_plan_update_values(plan, fails("update") ? NULL : values, memory);
}

merbit_status fault_apply(merbit_preconditioner *preconditioner, const void *r, void *z,
                          void *stream) {
  return merbit_preconditioner_apply(preconditioner, fails("apply") ? NULL : r, z, stream);
}
