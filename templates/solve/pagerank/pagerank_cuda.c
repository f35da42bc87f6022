#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/gpu/merbit/merbit.h"
#include "spmv/plan/plan.h"
#include "solve/core/solver.h"
#include "solve/pagerank/pagerank.h"

/* PageRank on the GPU, where vectors and scalars stay. An iteration is one product: its
 * epilogue computes the new z, two sums and the scalar part. Iterations are recorded like those
 * of solvers (solve/core/recorded.c). */
#define MBI_PAGERANK_SHARED (2 * MBI_PAGERANK_THREADS * sizeof(double))

/* ---- The program ------------------------------------------------------------------------- */

enum {
  MBI_PAGERANK_WEIGH,
  MBI_PAGERANK_BEGIN,
  MBI_PAGERANK_FIRST,
  MBI_PAGERANK_UPDATE,
  MBI_PAGERANK_FINISH,
  MBI_PAGERANK_END
};

static const char *const mbi_pagerank_kernels[MBI_PAGERANK_KERNELS] = {
    "mbk_pagerank_weigh",  "mbk_pagerank_begin",  "mbk_pagerank_first",
    "mbk_pagerank_update", "mbk_pagerank_finish", "mbk_pagerank_end"};

MBI_INTERNAL void mbi_pagerank_preamble(merbit_type type, merbit_index_type offset_type,
                                        mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_VECTOR", type == MERBIT_F32 ? "float" : "double");
  mbi_preamble_define(preamble, "MBK_ROW_PTR",
                      offset_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
}

static merbit_status mbi_pagerank_specialise(mbi_pagerank *run) {
  mbi_preamble preamble;
  int i;
  mbi_pagerank_preamble(run->type, run->links.offset_type, &preamble);
  MBI_TRY(mbi_program_create(run->context, "solve/pagerank/pagerank.cu", &preamble,
                             &run->engine.gpu.program));
  for (i = 0; i < MBI_PAGERANK_KERNELS; i++) {
    MBI_TRY(mbi_program_kernel(run->context, &run->engine.gpu.program, mbi_pagerank_kernels[i],
                               &run->gpu.kernels[i]));
  }
  return MERBIT_OK;
}

/* Launches a kernel with `blocks` thread blocks; 0 means as many as the vertices need. */
MBI_NOINLINE static merbit_status mbi_pagerank_launch(mbi_pagerank *run, int kernel,
                                                      int64_t blocks, const void *arguments) {
  return mbi_device_launch(run->context, run->gpu.kernels[kernel], mbi_pagerank_kernels[kernel],
                           blocks > 0 ? blocks : mbi_pagerank_blocks(run), MBI_PAGERANK_THREADS,
                           MBI_PAGERANK_SHARED, run->engine.gpu.stream, arguments);
}

/* ---- Vectors ----------------------------------------------------------------------------- */

/* Computes W of a pattern from its row_ptr on the GPU. */
static merbit_status mbi_pagerank_weigh(mbi_pagerank *run) {
  const merbit_view *links = &run->links;
  const uint64_t bytes = ((uint64_t)run->n + 1) * mbi_index_bytes(links->offset_type);
  mbi_devptr row_ptr = mbi_device_address(links->row_ptr), own = 0;
  mbk_pagerank_weigh_arguments arguments;
  merbit_status status = MERBIT_OK;
  if (links->memory != MERBIT_MEMORY_DEVICE) {
    MBI_TRY(mbi_device_allocate(run->context, bytes, "row_ptr", &own));
    status = mbi_device_upload(run->context, own, links->row_ptr, (size_t)bytes);
    row_ptr = own;
  }
  if (status == MERBIT_OK) {
    arguments.weights = mbi_device_address(run->gpu.weights);
    arguments.row_ptr = row_ptr;
    arguments.n = (uint64_t)run->n;
    status =
        mbi_device_launch(run->context, run->gpu.kernels[MBI_PAGERANK_WEIGH],
                          mbi_pagerank_kernels[MBI_PAGERANK_WEIGH], mbi_pagerank_blocks(run),
                          MBI_PAGERANK_THREADS, 0, NULL, &arguments);
  }
  if (own != 0 && status == MERBIT_OK) {
    status = mbi_device_synchronize(run->context, NULL);
  }
  mbi_device_release(run->context, own);
  return status;
}

/* Copies a vector from host memory, unless `source` is NULL. */
MBI_NOINLINE static merbit_status mbi_pagerank_send(mbi_pagerank *run, void *target,
                                                    const void *source) {
  return source == NULL ? MERBIT_OK
                        : mbi_solve_upload(&run->engine, target, source,
                                           (size_t)run->n * mbi_type_size(run->type));
}

static merbit_status mbi_pagerank_upload(mbi_pagerank *run) {
  merbit_solver *engine = &run->engine;
  mbi_pagerank_gpu *gpu = &run->gpu;
  /* Method MERBIT adds to its first y, and each product clears the next product's y. Other
   * methods do not read the z before the first one: solve/pagerank/after.cuh. */
  if (run->plan->making.dual) {
    MBI_TRY(mbi_solve_zero(engine, gpu->z[1], (size_t)run->n * mbi_type_size(run->type)));
  }
  MBI_TRY(mbi_pagerank_send(run, gpu->z[0], run->desc.start != NULL ? run->ranks : NULL));
  MBI_TRY(run->weights.totals != NULL
              ? mbi_pagerank_send(run, gpu->weights, run->weights.totals)
              : mbi_pagerank_weigh(run));
  MBI_TRY(mbi_pagerank_send(run, gpu->teleport, run->teleport));
  return mbi_solve_upload(engine, engine->memory, &run->memory, sizeof run->memory);
}

/* Computes z from the first ranks, and the scalars from which the first iteration starts. */
static merbit_status mbi_pagerank_begin(mbi_pagerank *run) {
  mbk_pagerank_begin_arguments begin;
  mbk_pagerank_first_arguments first;
  begin.z = mbi_device_address(run->gpu.z[0]);
  begin.weights = mbi_device_address(run->gpu.weights);
  begin.given = run->desc.start != NULL;
  begin.n = (uint64_t)run->n;
  begin.partials = mbi_device_address(run->gpu.partials);
  MBI_TRY(mbi_pagerank_launch(run, MBI_PAGERANK_BEGIN, 0, &begin));
  first.partials = mbi_device_address(run->gpu.partials);
  first.blocks = (uint32_t)mbi_pagerank_blocks(run);
  first.m = mbi_device_address(run->engine.memory);
  return mbi_pagerank_launch(run, MBI_PAGERANK_FIRST, 1, &first);
}

/* ---- An iteration ------------------------------------------------------------------------ */

/* Enqueues an iteration: a product from z[turn] to the other z, which holds the older one. */
static merbit_status mbi_pagerank_fused(mbi_pagerank *run, int turn) {
  mbi_solve_memory *m = run->engine.memory;
  void *stream = run->engine.gpu.stream;
  const void *vectors[4];
  vectors[0] = run->gpu.z[turn];
  vectors[1] = run->gpu.weights;
  vectors[2] = run->gpu.z[1 - turn];
  vectors[3] = run->gpu.teleport;
  return mbi_spmv_epilogue(run->plan, NULL, vectors[0], run->gpu.z[1 - turn], vectors,
                           m->state.scalar, m->state.product_sums, &m->state.closed, stream);
}

/* Enqueues an iteration of method MERBIT, whose products alternate between two y buffers. */
static merbit_status mbi_pagerank_dual(mbi_pagerank *run, int turn) {
  mbi_devptr z = mbi_device_address(run->gpu.z[0]);
  mbi_devptr y = mbi_device_address(run->gpu.z[1 + turn]);
  mbi_devptr other = mbi_device_address(run->gpu.z[2 - turn]);
  mbk_pagerank_update_arguments update;
  mbk_pagerank_first_arguments finish;
  MBI_TRY(mbi_merbit_multiply_dual(run->plan, z, y, other, run->engine.gpu.stream));
  update.z = z;
  update.y = y;
  update.weights = mbi_device_address(run->gpu.weights);
  update.teleport = mbi_device_address(run->gpu.teleport);
  update.n = (uint64_t)run->n;
  update.m = mbi_device_address(run->engine.memory);
  update.partials = mbi_device_address(run->gpu.partials);
  MBI_TRY(mbi_pagerank_launch(run, MBI_PAGERANK_UPDATE, 0, &update));
  finish.partials = mbi_device_address(run->gpu.partials);
  finish.blocks = (uint32_t)mbi_pagerank_blocks(run);
  finish.m = mbi_device_address(run->engine.memory);
  return mbi_pagerank_launch(run, MBI_PAGERANK_FINISH, 1, &finish);
}

/* Enqueues two iterations, so that each call begins with z[0], even after a failure. */
static merbit_status mbi_pagerank_enqueue(merbit_solver *engine, int index, int count) {
  mbi_pagerank *run = (mbi_pagerank *)(void *)engine; /* the solver is the first member */
  int turn;
  (void)index;
  (void)count;
  for (turn = 0; turn < 2; turn++) {
    MBI_TRY(run->plan->making.dual ? mbi_pagerank_dual(run, turn)
                                   : mbi_pagerank_fused(run, turn));
  }
  return MERBIT_OK;
}

/* ---- Create and release ------------------------------------------------------------------ */

/* Loads the kernels, uploads the vectors and enqueues the computation of the first z. */
static merbit_status mbi_pagerank_load(mbi_pagerank *run) {
  MBI_TRY(mbi_pagerank_specialise(run));
  MBI_TRY(mbi_pagerank_upload(run));
  return mbi_pagerank_begin(run);
}

/* Makes the plan and the arrays for the GPU. On failure the caller runs
 * mbi_pagerank_release_cuda. */
MBI_INTERNAL merbit_status mbi_pagerank_prepare_cuda(mbi_pagerank *run) {
  merbit_solver *engine = &run->engine;
  merbit_status status;
  MBI_TRY(mbi_pagerank_plan(run, MERBIT_SIDE_CUDA));
  MBI_TRY(mbi_device_enter(run->context));
  engine->side = MERBIT_SIDE_CUDA;
  engine->context = run->context;
  run->method.name = "PageRank";
  run->method.iterate = mbi_pagerank_enqueue;
  /* A call enqueues two iterations. A pass of the loop costs 4 us; a call that runs after the
   * end costs more. */
  engine->gpu.loop_calls = run->plan->making.dual ? 1 : 2;
  engine->method = &run->method;
  mbi_recorded_stream(engine);
  (void)mbi_pagerank_divide(run, run->plan->making.dual, run->plan->workspace->arena);
  if (run->plan->epilogue != NULL) {
    run->plan->epilogue->after_memory = mbi_device_address(engine->memory);
  }
  status = mbi_pagerank_load(run);
  mbi_device_leave(run->context);
  return status;
}

/* Releases everything made for the GPU and clears `gpu`, so that the CPU may be tried. On a
 * lost device there is no memory left to release. */
MBI_INTERNAL void mbi_pagerank_release_cuda(mbi_pagerank *run) {
  merbit_context *context = run->context;
  merbit_solver *engine = &run->engine;
  if (engine->side == MERBIT_SIDE_CUDA && mbi_device_enter_alive(context)) {
    mbi_recorded_destroy(engine);
    mbi_program_destroy(context, &engine->gpu.program);
    mbi_device_leave(context);
  }
  memset(&run->gpu, 0, sizeof run->gpu);
  memset(engine, 0, sizeof *engine);
  merbit_plan_destroy(run->plan);
  run->plan = NULL;
}

/* ---- Rounds ------------------------------------------------------------------------------ */

/* Runs a round of `span` iterations and reads the state, for a convergence check. */
MBI_INTERNAL merbit_status mbi_pagerank_iterate_cuda(mbi_pagerank *run, int span) {
  mbi_solve_memory *m = run->engine.memory;
  const int check_at = run->memory.state.iterations + span;
  merbit_status status = MERBIT_OK;
  MBI_TRY(mbi_device_enter(run->context));
  if (mbi_recorded_loops(&run->engine) && check_at != run->memory.state.check_at) {
    status = mbi_solve_upload(&run->engine, &m->state.check_at, &check_at, sizeof check_at);
  }
  if (status == MERBIT_OK) {
    status = mbi_recorded_run(&run->engine, (span + 1) / 2);
  }
  if (status == MERBIT_OK) {
    status = mbi_solve_download(&run->engine, &run->memory, m, sizeof *m);
    run->synchronizations++;
  }
  mbi_device_leave(run->context);
  return status;
}

/* Turns z into ranks and downloads them. */
MBI_INTERNAL merbit_status mbi_pagerank_fetch(mbi_pagerank *run) {
  void *z = run->gpu.z[run->plan->making.dual ? 0 : run->memory.state.iterations % 2];
  mbk_pagerank_end_arguments end;
  merbit_status status;
  MBI_TRY(mbi_device_enter(run->context));
  end.z = mbi_device_address(z);
  end.weights = mbi_device_address(run->gpu.weights);
  end.n = (uint64_t)run->n;
  status = mbi_pagerank_launch(run, MBI_PAGERANK_END, 0, &end);
  if (status == MERBIT_OK) {
    status = mbi_solve_download(&run->engine, run->ranks, z,
                                (size_t)run->n * mbi_type_size(run->type));
  }
  mbi_device_leave(run->context);
  return status;
}
