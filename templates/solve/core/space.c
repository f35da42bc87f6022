#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "solve/core/solver.h"

/* The memory of a solver, on its side: vectors and scalars. On CUDA the context must be current
 * in every call, addresses are GPU addresses, and work is enqueued on solver->gpu.stream. */

/* Returns whether the solver computes on CUDA. */
MBI_INTERNAL int mbi_solve_on_gpu(const merbit_solver *solver) {
  return solver->side == MERBIT_SIDE_CUDA;
}

/* Allocates solver->space: all memory of the solver except its plan's. `what` names it in an
 * error message. */
static merbit_status mbi_solve_allocate(merbit_solver *solver, uint64_t bytes,
                                        const char *what) {
  mbi_devptr address = 0;
  merbit_status status;
  if (mbi_solve_on_gpu(solver)) {
    status = mbi_device_allocate(solver->context, bytes, what, &address);
    solver->space = mbi_device_pointer(address);
  } else {
    status = mbi_allocate_array(solver->context, (int64_t)bytes, 1, what, &solver->space);
  }
  solver->bytes = status == MERBIT_OK ? bytes : 0;
  return status;
}

static void mbi_solve_free(merbit_solver *solver) {
  if (mbi_solve_on_gpu(solver)) {
    mbi_device_release(solver->context, mbi_device_address(solver->space));
  } else {
    mbi_release(solver->context, solver->space);
  }
  solver->space = NULL;
  solver->bytes = 0;
}

/* Sets bytes on the solver's side to zero. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_solve_zero(merbit_solver *solver, void *memory,
                                                       size_t bytes) {
  if (mbi_solve_on_gpu(solver)) {
    return mbi_device_zero(solver->context, mbi_device_address(memory), bytes,
                           solver->gpu.stream);
  }
  if (bytes > 0) { /* with 0 bytes there may be no memory */
    memset(memory, 0, bytes);
  }
  return MERBIT_OK;
}

/* Returns the bytes of a vector. */
MBI_INTERNAL size_t mbi_solve_bytes(const merbit_solver *solver) {
  return (size_t)solver->n * mbi_type_size(solver->type);
}

/* Copies from host memory to the solver's side, after all enqueued work, which may still use
 * `target`. The copy is complete on return. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_solve_upload(merbit_solver *solver, void *target,
                                                         const void *source, size_t bytes) {
  if (mbi_solve_on_gpu(solver)) {
    if (solver->desc.stream != NULL) { /* the default stream may not wait for the caller's */
      MBI_TRY(mbi_device_synchronize(solver->context, solver->gpu.stream));
    }
    return mbi_device_upload(solver->context, mbi_device_address(target), source, bytes);
  }
  memcpy(target, source, bytes);
  return MERBIT_OK;
}

/* Copies from the solver's side to host memory, after all enqueued work. */
MBI_INTERNAL merbit_status mbi_solve_download(merbit_solver *solver, void *target,
                                              const void *source, size_t bytes) {
  if (mbi_solve_on_gpu(solver)) {
    if (solver->desc.stream != NULL) { /* the default stream may not wait for the caller's */
      MBI_TRY(mbi_device_synchronize(solver->context, solver->gpu.stream));
    }
    return mbi_device_download(solver->context, target, mbi_device_address(source), bytes);
  }
  memcpy(target, source, bytes);
  return MERBIT_OK;
}

/* Returns whether the caller's vectors lie in host memory. */
MBI_INTERNAL int mbi_solve_host_vectors(const merbit_solver *solver) {
  return !mbi_solve_on_gpu(solver) || solver->desc.vector_memory == MERBIT_MEMORY_HOST;
}

/* Copies a vector of the caller into `slot`, in the plan's order. Uses MBI_AT_W as scratch. */
MBI_INTERNAL merbit_status mbi_solve_copy_in(merbit_solver *solver, int slot,
                                             const void *source) {
  void *target = solver->v.at[slot];
  if (mbi_solve_host_vectors(solver)) {
    void *stage = solver->plan->reorder.order != NULL ? solver->v.at[MBI_AT_W] : target;
    MBI_TRY(mbi_solve_upload(solver, stage, source, mbi_solve_bytes(solver)));
    source = stage;
  }
  return source != target
             ? merbit_plan_reorder(solver->plan, source, target, solver->gpu.stream)
             : MERBIT_OK;
}

/* Copies the vector at `slot` to the caller, in the caller's order. The copy is complete on
 * return. */
MBI_INTERNAL merbit_status mbi_solve_copy_out(merbit_solver *solver, int slot, void *target) {
  const int host = mbi_solve_host_vectors(solver);
  const void *source = solver->v.at[slot];
  if (!host || solver->plan->reorder.order != NULL) {
    void *stage = host ? solver->v.at[MBI_AT_W] : target;
    MBI_TRY(merbit_plan_restore(solver->plan, source, stage, solver->gpu.stream));
    source = stage;
  }
  return host ? mbi_solve_download(solver, target, source, mbi_solve_bytes(solver))
              : mbi_device_synchronize(solver->context, solver->gpu.stream);
}

/* Returns the threads per thread block of a step: whole warps. */
MBI_INTERNAL int mbi_solve_threads(const merbit_solver *solver) {
  return solver->n < MBI_STEP_THREADS ? ((int)solver->n + 31) / 32 * 32 : MBI_STEP_THREADS;
}

/* Returns the number of thread blocks of a step: no more than are resident at once. */
MBI_INTERNAL int mbi_solve_blocks(const merbit_solver *solver) {
  const int64_t blocks = (solver->n + MBI_STEP_THREADS - 1) / MBI_STEP_THREADS;
  const int most = solver->context->device.multiprocessors * MBI_STEP_RESIDENT;
  return blocks < most ? (int)blocks : most;
}

/* Decides which vectors the method and the preconditioner need, and which share memory. */
static void mbi_solve_lay_out(merbit_solver *solver) {
  int slot;
  for (slot = 0; slot < MBI_SOLVE_VECTORS; slot++) {
    solver->alias[slot] = slot <= MBI_AT_W ? MBI_SOLVE_OWN : MBI_SOLVE_NONE;
  }
  if (solver->v.block > 0) {
    solver->alias[MBI_AT_INVERSE] = MBI_SOLVE_OWN;
  }
  solver->method->layout(solver);
}

/* Returns the bytes of the slots where blocks of fused kernels post their partial sums. */
MBI_INTERNAL uint64_t mbi_solve_post_bytes(const merbit_solver *solver) {
  return (uint64_t)solver->gpu.fused_blocks * 2 * MBI_FUSED_SUMS * 16;
}

/* Returns the number of right-hand sides for which the solver has vectors and scalars. */
MBI_INTERNAL int mbi_solve_columns(const merbit_solver *solver) {
  return solver->count > 0 ? solver->count : 1;
}

/* Divides the memory at `space` among vectors and scalars, on either side. Returns the bytes
 * used. */
static uint64_t mbi_solve_divide(merbit_solver *solver, mbi_devptr space) {
  const int64_t parts =
      mbi_solve_on_gpu(solver) ? mbi_solve_blocks(solver) : mbi_step_chunks(solver->n);
  const int sums = solver->v.basis + 1 > MBI_SOLVE_SUMS ? solver->v.basis + 1 : MBI_SOLVE_SUMS;
  const uint64_t columns = (uint64_t)mbi_solve_columns(solver);
  const uint64_t length = (uint64_t)(solver->count > 0 ? solver->v.stride : solver->n);
  uint64_t used = 0;
  int slot;
  for (slot = 0; slot < MBI_SOLVE_VECTORS; slot++) {
    const uint64_t size =
        mbi_type_size(solver->type) * (slot == MBI_AT_INVERSE ? (uint64_t)solver->v.block : 1);
    const uint64_t bytes =
        solver->bytes_at[slot] > 0 ? (uint64_t)solver->bytes_at[slot] : columns * length * size;
    if (solver->alias[slot] == MBI_SOLVE_OWN) {
      solver->v.at[slot] = mbi_device_pointer(mbi_device_part(space, bytes, &used));
    } else if (solver->alias[slot] >= 0) {
      solver->v.at[slot] = solver->v.at[solver->alias[slot]];
    }
  }
  solver->memory = (mbi_solve_memory *)mbi_device_pointer(
      mbi_device_part(space, columns * sizeof *solver->memory, &used));
  solver->partials = (double *)mbi_device_pointer(mbi_device_part(
      space, columns * ((uint64_t)parts + 1) * (uint64_t)sums * sizeof(double), &used));
  solver->v.posts = (unsigned long long *)mbi_device_pointer(
      mbi_device_part(space, mbi_solve_post_bytes(solver), &used));
  return used;
}

/* Returns the bytes of the arena after the vectors, where the plan allocates small arrays: row
 * ends, carries, orders of rows. A separate allocation would take as long as an iteration. */
static uint64_t mbi_solve_arena_bytes(const merbit_solver *solver) {
  return !mbi_solve_on_gpu(solver) ? 0
         : solver->planless        ? MBI_DEVICE_PART
                                   : 64 * MBI_DEVICE_PART + (uint64_t)solver->view.nnz / 2;
}

/* Allocates vectors and scalars, and opens the arena for the plan. On failure the caller runs
 * mbi_solve_release_memory. */
MBI_INTERNAL merbit_status mbi_solve_allocate_memory(merbit_solver *solver) {
  const uint64_t arena = mbi_solve_arena_bytes(solver);
  uint64_t bytes;
  mbi_solve_lay_out(solver);
  bytes = mbi_solve_divide(solver, 0);
  MBI_TRY(mbi_solve_allocate(solver, bytes + arena, "a solver's vectors"));
  (void)mbi_solve_divide(solver, mbi_device_address(solver->space));
  MBI_TRY(mbi_solve_zero(solver, solver->memory,
                         (size_t)mbi_solve_columns(solver) * sizeof *solver->memory));
  if (arena > 0) {
    mbi_arena_open(&solver->gpu.arena, mbi_device_address(solver->space) + bytes, arena);
  }
  if (solver->gpu.fused_blocks > 0) { /* marks count from 1, so zero belongs to no exchange */
    MBI_TRY(mbi_solve_zero(solver, solver->v.posts, (size_t)mbi_solve_post_bytes(solver)));
  }
  if (solver->gpu.fused_blocks > 0 &&
      /* Products enqueued after the last iteration read old p. */
      solver->desc.method == MERBIT_SOLVER_CG) {
    const char *from = (const char *)solver->v.at[MBI_CG_OLD_P];
    const char *last = (const char *)solver->v.at[MBI_CG_OLDEST_P];
    MBI_TRY(mbi_solve_zero(solver, solver->v.at[MBI_CG_OLD_P],
                           (size_t)(last - from) + mbi_solve_bytes(solver)));
  }
  if (solver->count > 0) { /* products read p even where it is never set */
    MBI_TRY(mbi_solve_zero(solver, solver->v.at[MBI_CG_P],
                           (size_t)(solver->count * solver->v.stride) *
                               mbi_type_size(solver->type)));
  }
  if (solver->v.basis > 0) { /* the host reads all of it, even unused parts */
    MBI_TRY(mbi_solve_zero(solver, solver->v.at[MBI_ARNOLDI_SMALL],
                           (size_t)solver->bytes_at[MBI_ARNOLDI_SMALL]));
  }
  return MERBIT_OK;
}

MBI_INTERNAL void mbi_solve_release_memory(merbit_solver *solver) {
  mbi_solve_free(solver);
  memset(solver->v.at, 0, sizeof solver->v.at);
  solver->memory = NULL;
  solver->partials = NULL;
}
