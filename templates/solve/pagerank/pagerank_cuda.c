#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/gpu/merbit/merbit.h"
#include "spmv/plan/plan.h"
#include "solve/core/solver.h"
#include "solve/pagerank/pagerank.h"

/* PageRank on the GPU: vectors and scalars stay there. An iteration is one product, whose
 * epilogue makes the new z and two sums, and what follows from them; iterations are recorded
 * and run as those of solvers (solve/core/recorded.c). */
#define MBI_PAGERANK_SHARED (2 * MBI_PAGERANK_THREADS * sizeof(double))

/* ---- Specialise: one program with the kernels -------------------------------------------- */

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
  merbit_status status;
  int i;
  mbi_pagerank_preamble(run->type, run->links.offset_type, &preamble);
  status = mbi_program_create(run->context, "solve/pagerank/pagerank.cu", &preamble,
                              &run->engine.gpu.program);
  for (i = 0; i < MBI_PAGERANK_KERNELS && status == MERBIT_OK; i++) {
    status = mbi_program_kernel(run->context, &run->engine.gpu.program, mbi_pagerank_kernels[i],
                                &run->gpu.kernels[i]);
  }
  return status;
}

/* Of `blocks` blocks; 0: as many as the vertices take. */
static merbit_status mbi_pagerank_launch(mbi_pagerank *run, int kernel, int64_t blocks,
                                         void **arguments) {
  return mbi_device_launch(run->context, run->gpu.kernels[kernel], mbi_pagerank_kernels[kernel],
                           blocks > 0 ? blocks : mbi_pagerank_blocks(run), MBI_PAGERANK_THREADS,
                           MBI_PAGERANK_SHARED, run->engine.gpu.stream, arguments);
}

/* ---- Vectors ----------------------------------------------------------------------------- */

/* W of a pattern from its row_ptr, so that no host vector of it is made and moved. */
static merbit_status mbi_pagerank_weigh(mbi_pagerank *run) {
  const merbit_view *links = &run->links;
  const uint64_t bytes = ((uint64_t)run->n + 1) * mbi_index_bytes(links->offset_type);
  mbi_devptr row_ptr = mbi_device_address(links->row_ptr), own = 0;
  void *arguments[3];
  uint64_t n = (uint64_t)run->n;
  merbit_status status = MERBIT_OK;
  if (links->memory != MERBIT_MEMORY_DEVICE) {
    status = mbi_device_allocate(run->context, bytes, "row_ptr", &own);
    if (status == MERBIT_OK) {
      status = mbi_device_upload(run->context, own, links->row_ptr, (size_t)bytes);
    }
    row_ptr = own;
  }
  arguments[0] = &run->gpu.weights;
  arguments[1] = &row_ptr;
  arguments[2] = &n;
  if (status == MERBIT_OK) {
    status =
        mbi_device_launch(run->context, run->gpu.kernels[MBI_PAGERANK_WEIGH],
                          mbi_pagerank_kernels[MBI_PAGERANK_WEIGH], mbi_pagerank_blocks(run),
                          MBI_PAGERANK_THREADS, 0, NULL, arguments);
  }
  if (own != 0 && status == MERBIT_OK) {
    status = mbi_device_synchronize(run->context, NULL);
  }
  mbi_device_release(run->context, own);
  return status;
}

/* A vector of host memory; NULL: there is none. */
static merbit_status mbi_pagerank_send(mbi_pagerank *run, void *target, const void *source) {
  return source == NULL ? MERBIT_OK
                        : mbi_solve_upload(&run->engine, target, source,
                                           (size_t)run->n * mbi_type_size(run->type));
}

static merbit_status mbi_pagerank_upload(mbi_pagerank *run) {
  merbit_solver *engine = &run->engine;
  mbi_pagerank_gpu *gpu = &run->gpu;
  merbit_status status = MERBIT_OK;
  /* Method MERBIT adds to its first y, and each product leaves zeros in the next one's. Other
   * methods do not read the z before the first: solve/pagerank/after.cuh. */
  if (run->plan->making.dual) {
    status = mbi_solve_zero(engine, gpu->z[1], (size_t)run->n * mbi_type_size(run->type));
  }
  if (status == MERBIT_OK) {
    status = mbi_pagerank_send(run, gpu->z[0], run->desc.start != NULL ? run->ranks : NULL);
  }
  if (status == MERBIT_OK) {
    status = run->weights.totals != NULL
                 ? mbi_pagerank_send(run, gpu->weights, run->weights.totals)
                 : mbi_pagerank_weigh(run);
  }
  if (status == MERBIT_OK) {
    status = mbi_pagerank_send(run, gpu->teleport, run->teleport);
  }
  return status == MERBIT_OK
             ? mbi_solve_upload(engine, engine->memory, &run->memory, sizeof run->memory)
             : status;
}

/* z of the first ranks, and what the first iteration starts from. */
static merbit_status mbi_pagerank_begin(mbi_pagerank *run) {
  int32_t given = run->desc.start != NULL;
  uint64_t n = (uint64_t)run->n;
  uint32_t blocks = (uint32_t)mbi_pagerank_blocks(run);
  void *begin[5], *first[3];
  merbit_status status;
  begin[0] = &run->gpu.z[0];
  begin[1] = &run->gpu.weights;
  begin[2] = &given;
  begin[3] = &n;
  begin[4] = &run->gpu.partials;
  first[0] = &run->gpu.partials;
  first[1] = &blocks;
  first[2] = &run->engine.memory;
  status = mbi_pagerank_launch(run, MBI_PAGERANK_BEGIN, 0, begin);
  return status == MERBIT_OK ? mbi_pagerank_launch(run, MBI_PAGERANK_FIRST, 1, first) : status;
}

/* ---- An iteration, as it is recorded ----------------------------------------------------- */

/* One product, from z[turn] to the other, where the z of the iteration before is. */
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

/* Method MERBIT: two products that alternate, as the paper's dual-buffer commit wants it. */
static merbit_status mbi_pagerank_dual(mbi_pagerank *run, int turn) {
  mbi_devptr z = mbi_device_address(run->gpu.z[0]);
  mbi_devptr y = mbi_device_address(run->gpu.z[1 + turn]);
  mbi_devptr other = mbi_device_address(run->gpu.z[2 - turn]);
  uint64_t n = (uint64_t)run->n;
  uint32_t blocks = (uint32_t)mbi_pagerank_blocks(run);
  void *update[7], *finish[3];
  merbit_status status =
      mbi_merbit_multiply_dual(run->plan, z, y, other, run->engine.gpu.stream);
  update[0] = &z;
  update[1] = &y;
  update[2] = &run->gpu.weights;
  update[3] = &run->gpu.teleport;
  update[4] = &n;
  update[5] = &run->engine.memory;
  update[6] = &run->gpu.partials;
  finish[0] = &run->gpu.partials;
  finish[1] = &blocks;
  finish[2] = &run->engine.memory;
  if (status == MERBIT_OK) {
    status = mbi_pagerank_launch(run, MBI_PAGERANK_UPDATE, 0, update);
  }
  return status == MERBIT_OK ? mbi_pagerank_launch(run, MBI_PAGERANK_FINISH, 1, finish)
                             : status;
}

/* Two iterations, so that whatever was enqueued before, or failed while it was, the next ones
 * begin with z[0]. */
static merbit_status mbi_pagerank_enqueue(merbit_solver *engine) {
  mbi_pagerank *run = (mbi_pagerank *)(void *)engine; /* its first member */
  merbit_status status = MERBIT_OK;
  int turn;
  for (turn = 0; turn < 2 && status == MERBIT_OK; turn++) {
    status =
        run->plan->making.dual ? mbi_pagerank_dual(run, turn) : mbi_pagerank_fused(run, turn);
  }
  return status;
}

/* ---- Life -------------------------------------------------------------------------------- */

MBI_INTERNAL merbit_status mbi_pagerank_prepare_cuda(mbi_pagerank *run) {
  merbit_solver *engine = &run->engine;
  merbit_status status = mbi_pagerank_plan(run, MERBIT_SIDE_CUDA);
  if (status == MERBIT_OK) {
    status = mbi_device_enter(run->context);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  engine->side = MERBIT_SIDE_CUDA;
  engine->context = run->context;
  run->method.name = "PageRank";
  run->method.iterate = mbi_pagerank_enqueue;
  /* Of two iterations each; a turn costs 4 us, products that do not end where ranks do more. */
  engine->gpu.loop_calls = run->plan->making.dual ? 1 : 2;
  engine->method = &run->method;
  mbi_recorded_stream(engine);
  (void)mbi_pagerank_divide(run, run->plan->making.dual, run->plan->workspace->arena);
  if (run->plan->epilogue != NULL) {
    run->plan->epilogue->after_memory = mbi_device_address(engine->memory);
  }
  status = mbi_pagerank_specialise(run);
  if (status == MERBIT_OK) {
    status = mbi_pagerank_upload(run);
  }
  if (status == MERBIT_OK) {
    status = mbi_pagerank_begin(run);
  }
  mbi_device_leave(run->context);
  return status;
}

/* What a dead device held is gone with it. Leaves `gpu` empty, so that the CPU may follow. */
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

/* ---- Batches, and one look after each ---------------------------------------------------- */

/* The next batch ends `span` iterations on. */
MBI_INTERNAL merbit_status mbi_pagerank_iterate_cuda(mbi_pagerank *run, int span) {
  mbi_solve_memory *m = run->engine.memory;
  const int look = run->memory.state.iterations + span;
  merbit_status status = mbi_device_enter(run->context);
  if (status != MERBIT_OK) {
    return status;
  }
  if (mbi_recorded_loops(&run->engine) && look != run->memory.state.check_at) {
    status = mbi_solve_upload(&run->engine, &m->state.check_at, &look, sizeof look);
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

/* Ranks, at the end. */
MBI_INTERNAL merbit_status mbi_pagerank_fetch(mbi_pagerank *run) {
  void *z = run->gpu.z[run->plan->making.dual ? 0 : run->memory.state.iterations % 2];
  uint64_t n = (uint64_t)run->n;
  void *end[3];
  merbit_status status = mbi_device_enter(run->context);
  if (status != MERBIT_OK) {
    return status;
  }
  end[0] = &z;
  end[1] = &run->gpu.weights;
  end[2] = &n;
  status = mbi_pagerank_launch(run, MBI_PAGERANK_END, 0, end);
  if (status == MERBIT_OK) {
    status = mbi_solve_download(&run->engine, run->ranks, z,
                                (size_t)run->n * mbi_type_size(run->type));
  }
  mbi_device_leave(run->context);
  return status;
}
