#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "solve/core/solver.h"

/* The setup of a solver: the norm of A and the inverses of its diagonal blocks, computed on the
 * GPU if it can read A there (setup_cuda.c), else by CPU threads (diagonal.c). */

/* Computes the norm and the inverses from a CSR in host memory. */
static merbit_status mbi_setup_on_cpu(merbit_solver *solver, const merbit_view *csr) {
  const int64_t entries = solver->n * solver->v.block;
  void *blocks = NULL;
  merbit_status status;
  if (entries == 0) {
    return mbi_setup_run(solver, csr, NULL);
  }
  MBI_TRY(mbi_allocate_array(solver->context, entries, sizeof(double), "blocks of A", &blocks));
  status = mbi_setup_run(solver, csr, (double *)blocks);
  if (status == MERBIT_OK) {
    status = mbi_solver_invert(solver, (const double *)blocks);
  }
  mbi_release(solver->context, blocks);
  return status;
}

/* Computes the norm of A and the preconditioner from `view`. The CUDA context must be
 * current. */
MBI_INTERNAL merbit_status mbi_solver_setup(merbit_solver *solver, const merbit_view *view) {
  merbit_context *context = solver->context;
  merbit_matrix *copy;
  merbit_view csr;
  merbit_status status;
  if (mbi_setup_on_gpu(solver, view)) {
    status = solver->gpu.setup.rows != NULL ? MERBIT_OK : mbi_setup_begin(solver, view);
    if (status == MERBIT_OK) {
      status = mbi_setup_end(solver);
    }
    mbi_setup_release(solver);
    return status;
  }
  MBI_TRY(mbi_setup_csr(context, view, &copy, &csr));
  solver->entries = csr.nnz;
  status = mbi_setup_on_cpu(solver, &csr);
  merbit_matrix_destroy(copy);
  return status;
}

/* Copies new values to the memory where the structure of A lies, if `memory` names the other.
 * Sets *own to the copy or NULL; the caller runs mbi_setup_release_values, on failure too. */
MBI_INTERNAL merbit_status mbi_setup_move_values(merbit_context *context, merbit_memory memory,
                                                 merbit_view *view, void **own) {
  const int64_t count = mbi_view_values(view);
  const size_t size = mbi_type_size(mbi_view_type(view));
  const int device = view->memory == MERBIT_MEMORY_DEVICE;
  mbi_devptr there = 0;
  *own = NULL;
  if (mbi_view_values_there(view, memory) == device) {
    return MERBIT_OK;
  }
  if (device) {
    MBI_TRY(mbi_device_allocate(context, (uint64_t)count * size, "new values", &there));
    *own = mbi_device_pointer(there);
    MBI_TRY(mbi_device_upload(context, there, view->values, (size_t)count * size));
  } else {
    MBI_TRY(mbi_allocate_array(context, count, size, "new values", own));
    MBI_TRY(mbi_device_download(context, *own, mbi_device_address(view->values),
                                (size_t)count * size));
  }
  view->values = *own;
  return MERBIT_OK;
}

/* Releases the copy made by mbi_setup_move_values; `own` may be NULL. */
MBI_INTERNAL void mbi_setup_release_values(merbit_context *context, const merbit_view *view,
                                           void *own) {
  if (view->memory == MERBIT_MEMORY_DEVICE) {
    mbi_device_release(context, mbi_device_address(own));
  } else {
    mbi_release(context, own);
  }
}
