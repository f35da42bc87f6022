#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "solve/core/solver.h"

/* The setup of a solver: on the GPU if it can read A there (setup_cuda.c), else by CPU threads
 * (diagonal.c). */

/* Computes the norm of A and the preconditioner from `view`. The CUDA context must be
 * current. */
MBI_INTERNAL merbit_status mbi_solver_setup(merbit_solver *solver, const merbit_view *view) {
  merbit_context *context = solver->context;
  const int64_t entries = solver->n * solver->v.block;
  merbit_matrix *copy;
  merbit_view csr;
  void *blocks = NULL;
  merbit_status status;
  if (mbi_setup_on_gpu(solver, view)) {
    status = solver->gpu.setup.grid > 0 ? MERBIT_OK : mbi_setup_begin(solver, view);
    status = status == MERBIT_OK ? mbi_setup_end(solver) : status;
    mbi_setup_release(solver);
    return status;
  }
  status = mbi_setup_csr(context, view, &copy, &csr);
  if (status == MERBIT_OK && entries > 0) {
    status = mbi_allocate_array(context, entries, sizeof(double), "blocks of A", &blocks);
  }
  if (status == MERBIT_OK) {
    status = mbi_setup_run(solver, &csr, (double *)blocks);
  }
  if (status == MERBIT_OK && entries > 0) {
    status = mbi_solver_invert(solver, (const double *)blocks);
  }
  mbi_release(context, blocks);
  merbit_matrix_destroy(copy);
  return status;
}

/* Copies new values to the memory where the structure of A lies, if `memory` names the other
 * one. *own is the copy or NULL; the caller runs mbi_setup_release_values, on failure too. */
MBI_INTERNAL merbit_status mbi_setup_move_values(merbit_solver *solver, merbit_memory memory,
                                                 merbit_view *view, void **own) {
  merbit_context *context = solver->context;
  const int64_t count = mbi_view_values(view);
  const size_t size = mbi_type_size(mbi_view_type(view));
  const int device = view->memory == MERBIT_MEMORY_DEVICE;
  mbi_devptr there = 0;
  merbit_status status;
  *own = NULL;
  if (memory == MERBIT_MEMORY_DEFAULT || (memory == MERBIT_MEMORY_DEVICE) == device) {
    return MERBIT_OK;
  }
  if (device) {
    status = mbi_device_allocate(context, (uint64_t)count * size, "new values", &there);
    *own = mbi_device_pointer(there);
    if (status == MERBIT_OK) {
      status = mbi_device_upload(context, there, view->values, (size_t)count * size);
    }
  } else {
    status = mbi_allocate_array(context, count, size, "new values", own);
    if (status == MERBIT_OK) {
      status = mbi_device_download(context, *own, mbi_device_address(view->values),
                                   (size_t)count * size);
    }
  }
  view->values = *own;
  return status;
}

/* Releases the copy made by mbi_setup_move_values; `own` may be NULL. */
MBI_INTERNAL void mbi_setup_release_values(merbit_solver *solver, const merbit_view *view,
                                           void *own) {
  if (view->memory == MERBIT_MEMORY_DEVICE) {
    mbi_device_release(solver->context, mbi_device_address(own));
  } else {
    mbi_release(solver->context, own);
  }
}
