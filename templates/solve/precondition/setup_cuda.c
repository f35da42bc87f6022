#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "solve/core/solver.h"
#include "solve/precondition/setup_arguments.cuh"

/* The setup of a solver from a CSR in GPU memory, which is not copied to the host. CPU threads
 * only invert blocks of more than one row. */
#define MBI_SETUP_THREADS 256  /* MBK_SETUP_THREADS of solve/precondition/setup.cu */
#define MBI_SETUP_ROWS 4       /* rows that a group of lanes processes at once */
#define MBI_SETUP_LONG_KEPT 64 /* long rows that a thread block remembers */
#define MBI_SETUP_SHARED       /* bytes */                                                     \
  (MBI_SETUP_THREADS * sizeof(double) + MBI_SETUP_LONG_KEPT * sizeof(uint64_t) +               \
   sizeof(uint32_t))
#define MBI_SETUP_BLOCKS 1024 /* the most thread blocks */
/* Thread blocks per multiprocessor while a plan is made, to leave space for its kernels. */
#define MBI_SETUP_RESIDENT 2

/* Returns whether the setup runs on the GPU: for a CSR in GPU memory that the plan checks. */
MBI_INTERNAL int mbi_setup_on_gpu(const merbit_solver *solver, const merbit_view *view) {
  return mbi_solve_on_gpu(solver) && !solver->planless &&
         view->memory == MERBIT_MEMORY_DEVICE && view->format == MERBIT_CSR &&
         !mbi_view_is_triangle(view);
}

/* Returns the number of lanes per row, a power of two from 2 to 32: above 2, no more than the
 * mean number of nonzeros. */
static int mbi_setup_lanes(const merbit_view *view) {
  int lanes = 2;
  while (lanes < 32 && view->nnz >= 2 * lanes * view->rows) {
    lanes *= 2;
  }
  return lanes;
}

/* Sets the macros of solve/precondition/setup.cu. */
MBI_INTERNAL void mbi_setup_preamble(const merbit_view *view, mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_VALUE",
                      mbi_view_type(view) == MERBIT_F32 ? "float" : "double");
  mbi_preamble_define_int(preamble, "MBK_PATTERN", view->values == NULL);
  mbi_preamble_define(preamble, "MBK_ROW_PTR",
                      view->offset_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define(preamble, "MBK_COLUMN",
                      view->index_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define_int(preamble, "MBK_BASE", view->base);
  mbi_preamble_define_int(preamble, "MBK_SETUP_LANES", mbi_setup_lanes(view));
}

static merbit_status mbi_setup_specialise(merbit_context *context, const merbit_view *view,
                                          mbi_setup_gpu *gpu) {
  mbi_preamble preamble;
  mbi_setup_preamble(view, &preamble);
  MBI_TRY(mbi_program_create(context, "solve/precondition/setup.cu", &preamble, &gpu->program));
  MBI_TRY(mbi_program_kernel(context, &gpu->program, "mbk_setup_rows", &gpu->rows));
  return mbi_program_kernel(context, &gpu->program, "mbk_setup_invert", &gpu->invert);
}

/* Launches the kernel that computes gpu->norms and, for a preconditioner, gpu->blocks. */
static merbit_status mbi_setup_launch_rows(merbit_solver *solver, const merbit_view *view,
                                           mbi_setup_gpu *gpu) {
  const int64_t most = gpu->stream == NULL ? MBI_SETUP_BLOCKS
                                           : (int64_t)MBI_SETUP_RESIDENT *
                                                 solver->context->device.multiprocessors;
  const int64_t rows = MBI_SETUP_ROWS * MBI_SETUP_THREADS / mbi_setup_lanes(view);
  const int64_t wanted = (solver->n + rows - 1) / rows;
  mbk_setup_rows_arguments arguments;
  gpu->grid = most < MBI_SETUP_BLOCKS ? most : MBI_SETUP_BLOCKS;
  gpu->grid = wanted < gpu->grid ? wanted : gpu->grid;
  arguments.row_ptr = mbi_device_address(view->row_ptr);
  arguments.col_ind = mbi_device_address(view->col_ind);
  arguments.values = mbi_device_address(view->values);
  arguments.n = (uint64_t)solver->n;
  arguments.width = (uint32_t)solver->v.block;
  arguments.blocks = gpu->blocks;
  arguments.norms = gpu->norms;
  return mbi_device_launch(solver->context, gpu->rows, "mbk_setup_rows", gpu->grid,
                           MBI_SETUP_THREADS, MBI_SETUP_SHARED, gpu->stream, &arguments);
}

/* Downloads the norms of the thread blocks and sets solver->norm. */
static merbit_status mbi_setup_norm(merbit_solver *solver, const mbi_setup_gpu *gpu) {
  double norms[MBI_SETUP_BLOCKS];
  int64_t i;
  solver->norm = 0;
  MBI_TRY(mbi_device_download(solver->context, norms, gpu->norms,
                              (size_t)gpu->grid * sizeof norms[0]));
  for (i = 0; i < gpu->grid; i++) {
    solver->norm = norms[i] > solver->norm ? norms[i] : solver->norm;
  }
  return MERBIT_OK;
}

/* Inverts the diagonal into `target`, for JACOBI. Fails if an entry cannot be inverted. */
static merbit_status mbi_setup_launch_invert(merbit_solver *solver, mbi_setup_gpu *gpu,
                                             void *target) {
  merbit_context *context = solver->context;
  const int64_t wanted = (solver->n + MBI_SETUP_THREADS - 1) / MBI_SETUP_THREADS;
  const uint64_t none = UINT64_MAX;
  uint64_t bad = 0;
  mbk_setup_invert_arguments arguments;
  MBI_TRY(mbi_device_upload(context, gpu->bad, &none, sizeof none));
  arguments.diagonal = gpu->blocks;
  arguments.inverse = mbi_device_address(target);
  arguments.n = (uint64_t)solver->n;
  arguments.bad = gpu->bad;
  MBI_TRY(mbi_device_launch(context, gpu->invert, "mbk_setup_invert",
                            wanted < MBI_SETUP_BLOCKS ? wanted : MBI_SETUP_BLOCKS,
                            MBI_SETUP_THREADS, 0, NULL, &arguments));
  MBI_TRY(mbi_device_download(context, &bad, gpu->bad, sizeof bad));
  if (bad != none) {
    double value = 0;
    MBI_TRY(
        mbi_device_download(context, &value, gpu->blocks + bad * sizeof value, sizeof value));
    return mbi_setup_fail_diagonal(solver, (int64_t)bad, value);
  }
  return MERBIT_OK;
}

static merbit_status mbi_setup_allocate(merbit_solver *solver, mbi_setup_gpu *gpu) {
  merbit_context *context = solver->context;
  const uint64_t entries = (uint64_t)solver->n * (uint64_t)solver->v.block;
  mbi_devptr *const parts[] = {&gpu->norms, &gpu->blocks, &gpu->bad};
  const uint64_t bytes[] = {MBI_SETUP_BLOCKS * sizeof(double), entries * sizeof(double),
                            entries > 0 ? sizeof(uint64_t) : 0};
  return mbi_arena_allocate_parts(context, &solver->gpu.arena, "norms and blocks of A", 3,
                                  parts, bytes);
}

/* Waits for the GPU and destroys the stream. */
static merbit_status mbi_setup_wait(merbit_solver *solver) {
  merbit_context *context = solver->context;
  mbi_setup_gpu *gpu = &solver->gpu.setup;
  const merbit_status status = mbi_device_synchronize(context, gpu->stream);
  if (gpu->stream != NULL && mbi_device_lost(context) == 0) {
    (void)mbi_device_mark_lost(context, context->device.driver.stream_destroy(gpu->stream));
  }
  gpu->stream = NULL;
  return status;
}

/* Releases the memory of a setup, finished or not. */
MBI_INTERNAL void mbi_setup_release(merbit_solver *solver) {
  merbit_context *context = solver->context;
  mbi_setup_gpu *gpu = &solver->gpu.setup;
  if (gpu->stream != NULL) {
    (void)mbi_setup_wait(solver);
  }
  mbi_arena_release(context, &solver->gpu.arena, gpu->norms);
  mbi_program_destroy(context, &gpu->program);
  memset(gpu, 0, sizeof *gpu);
}

/* Starts the setup: enqueues the kernel that reads the rows of `view`, which must have been
 * checked. Does not wait. */
MBI_INTERNAL merbit_status mbi_setup_begin(merbit_solver *solver, const merbit_view *view) {
  merbit_context *context = solver->context;
  const mbi_driver *driver = &context->device.driver;
  mbi_setup_gpu *gpu = &solver->gpu.setup;
  MBI_TRY(mbi_setup_specialise(context, view, gpu));
  MBI_TRY(mbi_setup_allocate(solver, gpu));
  if (driver->stream_create != NULL && driver->stream_destroy != NULL) {
    const mbi_curesult result = driver->stream_create(&gpu->stream, MBI_STREAM_NON_BLOCKING);
    gpu->stream = result == 0 ? gpu->stream : NULL;
    (void)mbi_device_mark_lost(context, result);
  }
  return mbi_setup_launch_rows(solver, view, gpu);
}

/* Finishes the setup: sets the norm, and the inverses in the solver's vectors. */
MBI_INTERNAL merbit_status mbi_setup_end(merbit_solver *solver) {
  merbit_context *context = solver->context;
  const int64_t entries = solver->n * solver->v.block;
  mbi_setup_gpu *gpu = &solver->gpu.setup;
  void *blocks = NULL;
  merbit_status status = MERBIT_OK;
  MBI_TRY(mbi_setup_wait(solver));
  MBI_TRY(mbi_setup_norm(solver, gpu));
  if (solver->v.block == 1) {
    MBI_TRY(mbi_setup_launch_invert(solver, gpu, mbi_solver_inverse_place(solver)));
    return mbi_solver_order_inverse(solver);
  }
  if (solver->v.block > 1) {
    MBI_TRY(mbi_allocate_array(context, entries, sizeof(double), "blocks of A", &blocks));
    status =
        mbi_device_download(context, blocks, gpu->blocks, (size_t)entries * sizeof(double));
    if (status == MERBIT_OK) {
      status = mbi_solver_invert(solver, (const double *)blocks);
    }
    mbi_release(context, blocks);
  }
  return status;
}

/* Starts the setup while the plan is being made, called once the arrays have been checked. */
MBI_INTERNAL merbit_status mbi_setup_when_checked(void *maker) {
  merbit_solver *solver = (merbit_solver *)maker;
  return mbi_setup_begin(solver, &solver->view);
}
