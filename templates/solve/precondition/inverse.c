#include "matrix/matrix.h"
#include "solve/core/solver.h"

/* Where a preconditioner is put: a diagonal of a reordered plan first in the view's order. */
MBI_INTERNAL void *mbi_solver_inverse_place(const merbit_solver *solver) {
  const int ordered = solver->plan->reorder.order != NULL;
  return solver->v.at[ordered ? MBI_AT_W : MBI_AT_INVERSE];
}

/* From there to the plan's order. */
MBI_INTERNAL merbit_status mbi_solver_order_inverse(merbit_solver *solver) {
  return solver->plan->reorder.order == NULL
             ? MERBIT_OK
             : merbit_plan_reorder(solver->plan, solver->v.at[MBI_AT_W],
                                   solver->v.at[MBI_AT_INVERSE], solver->gpu.stream);
}

/* The inverses of host blocks to the solver's side. */
MBI_INTERNAL merbit_status mbi_solver_invert(merbit_solver *solver, const double *blocks) {
  const int64_t entries = solver->n * solver->v.block;
  const size_t size = mbi_type_size(solver->type), bytes = (size_t)entries * size;
  void *inverse = NULL;
  merbit_status status =
      mbi_allocate_array(solver->context, entries, size, "inverses of blocks of A", &inverse);
  if (status == MERBIT_OK) {
    memset(inverse, 0, bytes);
    status = mbi_setup_invert(solver, blocks, inverse);
  }
  if (status == MERBIT_OK) {
    status = mbi_solve_upload(solver, mbi_solver_inverse_place(solver), inverse, bytes);
  }
  mbi_release(solver->context, inverse);
  return status == MERBIT_OK ? mbi_solver_order_inverse(solver) : status;
}
