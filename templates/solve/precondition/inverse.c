#include "matrix/matrix.h"
#include "solve/core/solver.h"

/* The inverses of diagonal blocks: where they lie, and their order if the plan is reordered. */

/* Returns whether the solver's plan multiplies in a different order of rows than the view's. */
static int mbi_solver_reordered(const merbit_solver *solver) {
  return solver->plan != NULL && solver->plan->reorder.order != NULL;
}

/* Returns where to write the inverse first. If the plan is reordered, that is MBI_AT_W, in the
 * order of the view; mbi_solver_order_inverse then permutes it. */
MBI_INTERNAL void *mbi_solver_inverse_place(const merbit_solver *solver) {
  const int ordered = mbi_solver_reordered(solver);
  return solver->v.at[ordered ? MBI_AT_W : MBI_AT_INVERSE];
}

/* Permutes the inverse to the plan's order if that differs from the view's. */
MBI_INTERNAL merbit_status mbi_solver_order_inverse(merbit_solver *solver) {
  return mbi_solver_reordered(solver)
             ? merbit_plan_reorder(solver->plan, solver->v.at[MBI_AT_W],
                                   solver->v.at[MBI_AT_INVERSE], solver->gpu.stream)
             : MERBIT_OK;
}

/* Inverts blocks in host memory and copies the inverses to the solver's side. */
MBI_INTERNAL merbit_status mbi_solver_invert(merbit_solver *solver, const double *blocks) {
  const int64_t entries = solver->n * solver->v.block;
  const size_t size = mbi_type_size(solver->type), bytes = (size_t)entries * size;
  void *inverse = NULL;
  merbit_status status;
  MBI_TRY(
      mbi_allocate_array(solver->context, entries, size, "inverses of blocks of A", &inverse));
  memset(inverse, 0, bytes);
  status = mbi_setup_invert(solver, blocks, inverse);
  if (status == MERBIT_OK) {
    status = mbi_solve_upload(solver, mbi_solver_inverse_place(solver), inverse, bytes);
  }
  mbi_release(solver->context, inverse);
  MBI_TRY(status);
  return mbi_solver_order_inverse(solver);
}
