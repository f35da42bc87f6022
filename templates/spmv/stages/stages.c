#include "matrix/matrix.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* The stages of a plan, which transform a matrix before its method sees it, and later its new
 * values. */

static const mbi_stage mbi_stages[MBI_STAGES] = {
    {mbi_symmetric_make, mbi_symmetric_map_values}, /* in the order of MBI_STAGE_... */
    {mbi_transpose_make, mbi_transpose_map_values},
    {mbi_format_make, mbi_format_map_values},
    {mbi_reorder_make, mbi_reorder_map_values},
    {NULL, mbi_stored_map_values} /* mbi_choose stores the first values, in a form that depends
                                   * on the method */
};

/* Builds the matrix that the method reads, starting with stage `first`. */
MBI_INTERNAL merbit_status mbi_stages_make(merbit_plan *plan, int first) {
  int i;
  for (i = first; i < MBI_STAGES; i++) {
    if (mbi_stages[i].make != NULL) {
      MBI_TRY(mbi_stages[i].make(plan));
    }
  }
  return MERBIT_OK;
}

/* Takes new values of the user's matrix through all stages. */
MBI_INTERNAL merbit_status mbi_stages_map_values(merbit_plan *plan, mbi_new_values *fresh) {
  merbit_status status = MERBIT_OK;
  int i;
  for (i = 0; i < MBI_STAGES && status == MERBIT_OK; i++) {
    status = mbi_stages[i].map_values(plan, fresh);
  }
  merbit_matrix_destroy(fresh->matrix);
  mbi_release(plan->context, fresh->downloaded);
  return status;
}
