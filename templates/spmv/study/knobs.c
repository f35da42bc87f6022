#include "spmv/study/study.h"
#include "spmv/plan/plan.h"

/* Adds names, for comparison, to those of mbi_cuda_method that plan_desc.tuning may set. */
#ifdef MERBIT_STUDY_METHODS

/* Returns the names of all knobs of the plan's method if comparisons add one, otherwise NULL.
 * They add the chunks per thread of the block schedules on the CPU, and CB's balance of tasks
 * by a queue. */
MBI_INTERNAL const char *mbi_study_knobs(const merbit_plan *plan) {
  if (plan->side == MERBIT_SIDE_CPU) {
    return (plan->row->takes & MBI_OF_BLOCKS) != 0 ? "chunks" : NULL;
  }
  return plan->row->number == MERBIT_METHOD_CB ? "steps aggregate. coo_max csr_max balance"
                                               : NULL;
}

#endif /* MERBIT_STUDY_METHODS */
