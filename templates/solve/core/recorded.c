#include "core/context.h"
#include "jit/jit.h"
#include "solve/core/solver.h"

/* Iterations recorded once, as a CUDA graph, and replayed: launches then cost what the GPU
 * needs for them, not what the host does. With conditional nodes (CUDA 12.4) the loop itself
 * runs on the GPU, until the solver stops or the host wants to look; else the host launches as
 * many graphs as it likes to have iterations. Where a driver does neither, single launches do.
 * To record costs as much as some iterations take, so the first ones do not wait for it.
 */
#define MBI_CUDA_DRIVER_LOOPS 12040
#define MBI_CAPTURE_RELAXED 2 /* CUstreamCaptureMode: other threads may do as they like */
#define MBI_GRAPH_NODE_CONDITIONAL 13 /* CUgraphNodeType */
#define MBI_GRAPH_WHILE 1             /* CUgraphConditionalNodeType */
#define MBI_GRAPH_ASSIGN_DEFAULT                                                               \
  1 /* CU_GRAPH_COND_ASSIGN_DEFAULT: at each launch of the graph */

/* A stream of its own, which waits for the default stream and the other way round. The default
 * one, where that fails: then nothing is recorded. */
MBI_INTERNAL void mbi_recorded_stream(merbit_solver *solver) {
  const mbi_driver *driver = &solver->context->device.driver;
  void *stream = NULL;
  if (driver->stream_create != NULL && driver->stream_destroy != NULL) {
    const mbi_curesult result = driver->stream_create(&stream, 0);
    (void)mbi_device_mark_lost(solver->context, result);
    solver->gpu.stream = result == 0 ? stream : NULL;
  }
}

static int mbi_recorded_can_record(const mbi_driver *driver) {
  return driver->stream_begin_capture != NULL && driver->stream_end_capture != NULL &&
         driver->graph_instantiate != NULL && driver->graph_launch != NULL &&
         driver->graph_destroy != NULL && driver->graph_exec_destroy != NULL;
}

static int mbi_recorded_can_loop(const mbi_device *device) {
  const mbi_driver *driver = &device->driver;
  return device->driver_version >= MBI_CUDA_DRIVER_LOOPS && driver->graph_create != NULL &&
         driver->graph_add_node != NULL && driver->graph_conditional_create != NULL &&
         driver->stream_begin_capture_to_graph != NULL;
}

/* The driver's answer, as a status without a sentence: there is another way. */
static merbit_status mbi_recorded_answer(merbit_solver *solver, mbi_curesult result) {
  return result == 0                                ? MERBIT_OK
         : mbi_device_mark_lost(solver->context, result) ? MERBIT_DEVICE_LOST
                                                    : MERBIT_DEVICE_ERROR;
}

static int mbi_recorded_turn(const merbit_solver *solver) {
  return solver->gpu.turn > 0 ? solver->gpu.turn : MBI_RECORDED_LOOP;
}

/* Iterations that know of each other. */
static merbit_status mbi_recorded_enqueue(merbit_solver *solver, int iterations) {
  merbit_status status = MERBIT_OK;
  int i;
  for (i = 0; i < iterations && status == MERBIT_OK; i++) {
    solver->gpu.place = i;
    solver->gpu.followed = i + 1 < iterations;
    status = solver->method->iterate(solver);
  }
  solver->gpu.place = solver->gpu.followed = 0;
  return status;
}

/* To the graph that the stream is captured for. */
static merbit_status mbi_recorded_record(merbit_solver *solver, int iterations,
                                      void *loop_handle) {
  merbit_status status = mbi_recorded_enqueue(solver, iterations);
  if (status == MERBIT_OK && loop_handle != NULL) {
    void *arguments[2];
    arguments[0] = loop_handle;
    arguments[1] = &solver->memory;
    status = mbi_device_launch(solver->context, solver->gpu.loop, "mbk_solve_loop", 1, 1, 0,
                               solver->gpu.stream, arguments);
  }
  if (status != MERBIT_OK) {
    mbi_error_clear(solver->context, solver->gpu.why, sizeof solver->gpu.why);
  }
  return status;
}

/* The loop as a graph that the caller destroys, after a failure too. */
static merbit_status mbi_recorded_make_loop(merbit_solver *solver, void **graph) {
  merbit_context *context = solver->context;
  const mbi_driver *driver = &context->device.driver;
  mbi_preamble preamble;
  mbi_graph_node node;
  uint64_t handle = 0;
  void *added = NULL, *body = NULL, *ended = NULL;
  merbit_status status;
  memset(&preamble, 0, sizeof preamble);
  status =
      mbi_program_create(context, "solve/core/loop.cu", &preamble, &solver->gpu.loop_program);
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(context, &solver->gpu.loop_program, "mbk_solve_loop",
                                &solver->gpu.loop);
  }
  if (status != MERBIT_OK) {
    if (status != MERBIT_OUT_OF_MEMORY) {
      mbi_error_clear(context, solver->gpu.why, sizeof solver->gpu.why);
    }
    return status;
  }
  status = mbi_recorded_answer(solver, driver->graph_create(graph, 0));
  if (status != MERBIT_OK) {
    *graph = NULL;
    return status;
  }
  status = mbi_recorded_answer(
      solver, driver->graph_conditional_create(&handle, *graph, context->device.cuda_context, 1,
                                               MBI_GRAPH_ASSIGN_DEFAULT));
  memset(&node, 0, sizeof node);
  node.type = MBI_GRAPH_NODE_CONDITIONAL;
  node.handle = handle;
  node.kind = MBI_GRAPH_WHILE;
  node.size = 1;
  node.context = context->device.cuda_context;
  if (status == MERBIT_OK) {
    status =
        mbi_recorded_answer(solver, driver->graph_add_node(&added, *graph, NULL, NULL, 0, &node));
  }
  if (status == MERBIT_OK) {
    body = node.graphs[0]; /* the driver's */
    status = mbi_recorded_answer(
        solver, driver->stream_begin_capture_to_graph(solver->gpu.stream, body, NULL, NULL, 0,
                                                      MBI_CAPTURE_RELAXED));
  }
  if (status == MERBIT_OK) {
    merbit_status end;
    status = mbi_recorded_record(solver, mbi_recorded_turn(solver), &handle);
    end = mbi_recorded_answer(solver, driver->stream_end_capture(solver->gpu.stream, &ended));
    status = status == MERBIT_OK ? end : status;
  }
  return status;
}

static merbit_status mbi_recorded_make_plain(merbit_solver *solver, void **graph) {
  const mbi_driver *driver = &solver->context->device.driver;
  merbit_status end,
      status = mbi_recorded_answer(
          solver, driver->stream_begin_capture(solver->gpu.stream, MBI_CAPTURE_RELAXED));
  if (status != MERBIT_OK) {
    return status;
  }
  status = mbi_recorded_record(solver, MBI_RECORDED_PLAIN, NULL);
  end = mbi_recorded_answer(solver, driver->stream_end_capture(solver->gpu.stream, graph));
  if (end != MERBIT_OK) {
    *graph = NULL;
  }
  return status == MERBIT_OK ? end : status;
}

static merbit_status mbi_recorded_make(merbit_solver *solver, int loop) {
  const mbi_driver *driver = &solver->context->device.driver;
  void *graph = NULL, *executable = NULL;
  merbit_status status =
      loop ? mbi_recorded_make_loop(solver, &graph) : mbi_recorded_make_plain(solver, &graph);
  if (status == MERBIT_OK) {
    status = mbi_recorded_answer(solver, driver->graph_instantiate(&executable, graph, 0));
    solver->gpu.graph = status == MERBIT_OK ? executable : NULL;
  }
  if (graph != NULL) {
    (void)mbi_device_mark_lost(solver->context, driver->graph_destroy(graph));
  }
  return status;
}

/* What was recorded: the next solve records again. */
MBI_INTERNAL void mbi_recorded_forget(merbit_solver *solver) {
  merbit_context *context = solver->context;
  if (solver->gpu.graph != NULL) {
    (void)mbi_device_mark_lost(context,
                          context->device.driver.graph_exec_destroy(solver->gpu.graph));
  }
  solver->gpu.graph = NULL;
  solver->gpu.loops = solver->gpu.tried = 0;
  mbi_program_destroy(context, &solver->gpu.loop_program);
  memset(&solver->gpu.loop_program, 0, sizeof solver->gpu.loop_program);
}

/* A loop, or where there can be none a graph. */
static merbit_status mbi_recorded_try(merbit_solver *solver) {
  merbit_context *context = solver->context;
  merbit_status status = MERBIT_NOT_SUPPORTED;
  if (mbi_recorded_can_loop(&context->device)) {
    status = mbi_recorded_make(solver, 1);
    solver->gpu.loops = status == MERBIT_OK;
  }
  if (status == MERBIT_OK || status == MERBIT_OUT_OF_MEMORY || mbi_device_lost(context) != 0) {
    return status; /* without memory of the host nothing will do */
  }
  return mbi_recorded_make(solver, 0);
}

/* Whether iterations are to be recorded yet. */
static int mbi_recorded_wanted(const merbit_solver *solver) {
  return mbi_solve_on_gpu(solver) && !solver->gpu.tried && solver->gpu.stream != NULL &&
         solver->inner == NULL && mbi_recorded_can_record(&solver->context->device.driver) &&
         solver->desc.preconditioner != MERBIT_PRECONDITIONER_CALLBACK;
}

/* Whether they loop by themselves: before they are recorded, as far as anyone knows. */
MBI_INTERNAL int mbi_recorded_loops(const merbit_solver *solver) {
  return solver->gpu.loops ||
         (mbi_recorded_wanted(solver) && mbi_recorded_can_loop(&solver->context->device));
}

/* Record the method's iterations. Nothing recorded is no error, a dead device is. */
static merbit_status mbi_recorded_create(merbit_solver *solver) {
  merbit_context *context = solver->context;
  merbit_status status;
  mbi_recorded_forget(solver); /* what a failure has left */
  status = mbi_recorded_try(solver);
  if (status != MERBIT_OK && status != MERBIT_OUT_OF_MEMORY && solver->gpu.fused_blocks > 0 &&
      mbi_device_lost(context) == 0) { /* perhaps it is the sweeps that cannot be recorded */
    solver->gpu.fused_blocks = 0;
    mbi_recorded_forget(solver);
    status = mbi_recorded_try(solver);
  }
  if (status == MERBIT_OUT_OF_MEMORY) {
    return status;
  }
  solver->gpu.tried = 1;
  if (status != MERBIT_OK && mbi_device_lost(context) == 0) {
    mbi_log(context,
            "a solver's iterations are launched one by one: they cannot be recorded%s%s",
            solver->gpu.why[0] != '\0' ? ": " : "", solver->gpu.why);
  }
  return mbi_device_alive(context);
}

MBI_INTERNAL void mbi_recorded_destroy(merbit_solver *solver) {
  merbit_context *context = solver->context;
  const mbi_driver *driver = &context->device.driver;
  mbi_recorded_forget(solver);
  if (solver->gpu.stream != NULL && solver->inner == NULL) {
    (void)mbi_device_mark_lost(context, driver->stream_destroy(solver->gpu.stream));
  }
}

/* Sweeps that the driver refuses leave half an iteration: from its x on without them. */
static merbit_status mbi_recorded_without_fused(merbit_solver *solver, int iterations) {
  merbit_status status;
  mbi_error_clear(solver->context, solver->gpu.why, sizeof solver->gpu.why);
  mbi_log(solver->context, "a solver's steps are launched one by one: %s", solver->gpu.why);
  solver->gpu.why[0] = '\0';
  solver->gpu.fused_blocks = 0;
  status = mbi_solve_residual(solver, 0);
  if (status == MERBIT_OK) {
    status = solver->method->start(solver);
  }
  return status == MERBIT_OK ? mbi_recorded_enqueue(solver, iterations) : status;
}

/* The first are launched one by one, and recorded while the GPU works on them. */
static merbit_status mbi_recorded_begin(merbit_solver *solver, int *span) {
  const int turn = mbi_recorded_turn(solver);
  merbit_status status = mbi_recorded_enqueue(solver, turn);
  if (status != MERBIT_OK && status != MERBIT_OUT_OF_MEMORY && solver->gpu.fused_blocks > 0 &&
      mbi_device_lost(solver->context) == 0) {
    status = mbi_recorded_without_fused(solver, turn);
  }
  if (status == MERBIT_OK) {
    status = mbi_recorded_create(solver);
  }
  if (!solver->gpu.loops && *span > MBI_SOLVE_SPAN) { /* which was meant for a loop */
    *span = MBI_SOLVE_SPAN;
  }
  *span -= turn;
  return status;
}

static merbit_status mbi_recorded_launch(merbit_solver *solver, int span) {
  merbit_context *context = solver->context;
  merbit_status status = MERBIT_OK;
  int i;
  for (i = 0; i < span && status == MERBIT_OK; i += MBI_RECORDED_PLAIN) {
    status = mbi_device_check(
        context, context->device.driver.graph_launch(solver->gpu.graph, solver->gpu.stream),
        "cuGraphLaunch", "launching recorded iterations");
    if (solver->gpu.loops) {
      break;
    }
  }
  return status;
}

/* Enqueue iterations up to state.look, or until the solver stops; on the CPU take them. */
MBI_INTERNAL merbit_status mbi_recorded_run(merbit_solver *solver, int span) {
  const double start = mbi_seconds();
  merbit_status status = mbi_recorded_wanted(solver) ? mbi_recorded_begin(solver, &span) : MERBIT_OK;
  int i;
  if (status == MERBIT_OK && solver->gpu.graph != NULL) {
    return mbi_recorded_launch(solver, span);
  }
  for (i = 0; i < span && status == MERBIT_OK; i++) {
    if (!mbi_solve_on_gpu(solver) && (solver->memory->state.stop != MBI_SOLVE_RUNNING ||
                                      (i > 0 && mbi_seconds() - start > MBI_SOLVE_BATCH))) {
      break;
    }
    status = solver->method->iterate(solver);
  }
  return status;
}
