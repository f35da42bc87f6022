#include "core/context.h"
#include "jit/jit.h"
#include "solve/core/solver.h"

/* Recorded graphs: iterations are captured once as a CUDA graph and replayed, so that the host
 * does not launch each kernel again. With conditional nodes (CUDA 12.4) the loop itself runs on
 * the GPU until the solver stops or the next convergence check is due. Otherwise the host
 * launches the graph as often as the round needs. Without graphs, kernels are launched one by
 * one. Recording takes as long as a few iterations; the GPU runs the first ones meanwhile. */
#define MBI_CUDA_DRIVER_LOOPS 12040
#define MBI_CAPTURE_RELAXED 2         /* CUstreamCaptureMode: other threads may make any call */
#define MBI_GRAPH_NODE_CONDITIONAL 13 /* CUgraphNodeType */
#define MBI_GRAPH_WHILE 1             /* CUgraphConditionalNodeType */
/* CU_GRAPH_COND_ASSIGN_DEFAULT: each launch resets the condition to its default. */
#define MBI_GRAPH_ASSIGN_DEFAULT 1

/* Creates the solver's stream, which is ordered with the default stream, unless the caller has
 * given one. On failure the solver uses the default stream, and nothing is recorded. */
MBI_INTERNAL void mbi_recorded_stream(merbit_solver *solver) {
  const mbi_driver *driver = &solver->context->device.driver;
  void *stream = NULL;
  if (solver->desc.stream != NULL) {
    solver->gpu.stream = solver->desc.stream;
  } else if (driver->stream_create != NULL && driver->stream_destroy != NULL) {
    const mbi_curesult result = driver->stream_create(&stream, 0);
    (void)mbi_device_mark_lost(solver->context, result);
    solver->gpu.stream = result == 0 ? stream : NULL;
  }
}

static int mbi_recorded_can_record(const mbi_driver *driver) {
  return driver->stream_create != NULL && driver->stream_destroy != NULL &&
         driver->stream_begin_capture != NULL && driver->stream_end_capture != NULL &&
         driver->graph_instantiate != NULL && driver->graph_launch != NULL &&
         driver->graph_destroy != NULL && driver->graph_exec_destroy != NULL;
}

static int mbi_recorded_can_loop(const mbi_device *device) {
  const mbi_driver *driver = &device->driver;
  return device->driver_version >= MBI_CUDA_DRIVER_LOOPS && driver->graph_create != NULL &&
         driver->graph_add_node != NULL && driver->graph_conditional_create != NULL &&
         driver->stream_begin_capture_to_graph != NULL;
}

/* Converts the driver's result to a status, without a message, because callers fall back. */
MBI_NOINLINE static merbit_status mbi_recorded_answer(merbit_solver *solver,
                                                      mbi_curesult result) {
  return result == 0                                     ? MERBIT_OK
         : mbi_device_mark_lost(solver->context, result) ? MERBIT_DEVICE_LOST
                                                         : MERBIT_DEVICE_ERROR;
}

/* Returns how often one pass of the recorded loop calls method->iterate. */
static int mbi_recorded_loop_calls(const merbit_solver *solver) {
  return solver->gpu.loop_calls > 0 ? solver->gpu.loop_calls : MBI_RECORDED_LOOP;
}

/* Enqueues a group of iterations. */
static merbit_status mbi_recorded_enqueue(merbit_solver *solver, int iterations) {
  int i;
  for (i = 0; i < iterations; i++) {
    MBI_TRY(solver->method->iterate(solver, i, iterations));
  }
  return MERBIT_OK;
}

/* Enqueues iterations on the stream, which is being captured. If `loop_handle` is not NULL, the
 * kernel that decides whether the loop continues comes last. */
static merbit_status mbi_recorded_record(merbit_solver *solver, int iterations,
                                         void *loop_handle) {
  merbit_status status = mbi_recorded_enqueue(solver, iterations);
  if (status == MERBIT_OK && loop_handle != NULL) {
    mbk_solve_loop_arguments arguments;
    arguments.handle = *(const uint64_t *)loop_handle;
    arguments.m = mbi_device_address(solver->memory);
    arguments.columns = mbi_solve_columns(solver);
    status = mbi_device_launch(solver->context, solver->gpu.loop, "mbk_solve_loop", 1, 1, 0,
                               solver->gpu.stream, &arguments);
  }
  if (status != MERBIT_OK) {
    mbi_error_clear(solver->context, solver->gpu.why, sizeof solver->gpu.why);
  }
  return status;
}

/* Loads the kernel that ends the loop of a recorded graph. */
static merbit_status mbi_recorded_loop_program(merbit_solver *solver) {
  mbi_preamble preamble;
  memset(&preamble, 0, sizeof preamble);
  MBI_TRY(mbi_program_create(solver->context, "solve/core/loop.cu", &preamble,
                             &solver->gpu.loop_program));
  return mbi_program_kernel(solver->context, &solver->gpu.loop_program, "mbk_solve_loop",
                            &solver->gpu.loop);
}

/* Records the loop as a graph. The caller destroys *graph, on failure too. */
static merbit_status mbi_recorded_make_loop(merbit_solver *solver, void **graph) {
  merbit_context *context = solver->context;
  const mbi_driver *driver = &context->device.driver;
  mbi_graph_node node;
  uint64_t handle = 0;
  void *added = NULL, *body = NULL, *ended = NULL;
  merbit_status status, end;
  status = mbi_recorded_loop_program(solver);
  if (status != MERBIT_OK && status != MERBIT_OUT_OF_MEMORY) {
    mbi_error_clear(context, solver->gpu.why, sizeof solver->gpu.why);
  }
  MBI_TRY(status);
  status = mbi_recorded_answer(solver, driver->graph_create(graph, 0));
  if (status != MERBIT_OK) {
    *graph = NULL;
    return status;
  }
  MBI_TRY(mbi_recorded_answer(
      solver, driver->graph_conditional_create(&handle, *graph, context->device.cuda_context, 1,
                                               MBI_GRAPH_ASSIGN_DEFAULT)));
  memset(&node, 0, sizeof node);
  node.type = MBI_GRAPH_NODE_CONDITIONAL;
  node.handle = handle;
  node.kind = MBI_GRAPH_WHILE;
  node.size = 1;
  node.context = context->device.cuda_context;
  MBI_TRY(mbi_recorded_answer(solver,
                              driver->graph_add_node(&added, *graph, NULL, NULL, 0, &node)));
  body = node.graphs[0]; /* belongs to the driver */
  MBI_TRY(mbi_recorded_answer(
      solver, driver->stream_begin_capture_to_graph(solver->gpu.stream, body, NULL, NULL, 0,
                                                    MBI_CAPTURE_RELAXED)));
  status = mbi_recorded_record(solver, mbi_recorded_loop_calls(solver), &handle);
  end = mbi_recorded_answer(solver, driver->stream_end_capture(solver->gpu.stream, &ended));
  return status == MERBIT_OK ? end : status;
}

/* Records iterations as a graph that the host launches repeatedly. */
static merbit_status mbi_recorded_make_plain(merbit_solver *solver, void **graph) {
  const mbi_driver *driver = &solver->context->device.driver;
  merbit_status end, status;
  MBI_TRY(mbi_recorded_answer(
      solver, driver->stream_begin_capture(solver->gpu.stream, MBI_CAPTURE_RELAXED)));
  status = mbi_recorded_record(solver, MBI_RECORDED_PLAIN, NULL);
  end = mbi_recorded_answer(solver, driver->stream_end_capture(solver->gpu.stream, graph));
  if (end != MERBIT_OK) {
    *graph = NULL;
  }
  return status == MERBIT_OK ? end : status;
}

/* Records a graph, with a loop or without, and instantiates it. Records on a stream that is not
 * ordered with the default stream: while the solver's own stream is being captured, any
 * thread's work on the default stream would fail. */
static merbit_status mbi_recorded_make(merbit_solver *solver, int loop) {
  const mbi_driver *driver = &solver->context->device.driver;
  void *const stream = solver->gpu.stream;
  void *graph = NULL, *executable = NULL;
  merbit_status end, status;
  status = mbi_recorded_answer(
      solver, driver->stream_create(&solver->gpu.stream, MBI_STREAM_NON_BLOCKING));
  if (status == MERBIT_OK) {
    status =
        loop ? mbi_recorded_make_loop(solver, &graph) : mbi_recorded_make_plain(solver, &graph);
    end = mbi_recorded_answer(solver, driver->stream_destroy(solver->gpu.stream));
    status = status == MERBIT_OK ? end : status;
  }
  solver->gpu.stream = stream;
  if (status == MERBIT_OK) {
    status = mbi_recorded_answer(solver, driver->graph_instantiate(&executable, graph, 0));
    solver->gpu.graph = status == MERBIT_OK ? executable : NULL;
  }
  if (graph != NULL) {
    (void)mbi_device_mark_lost(solver->context, driver->graph_destroy(graph));
  }
  return status;
}

/* Releases the recorded graph. The next solve records again. */
MBI_INTERNAL void mbi_recorded_release(merbit_solver *solver) {
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

/* Records a loop, or a graph without one if the driver has no loops. */
static merbit_status mbi_recorded_attempt(merbit_solver *solver) {
  merbit_context *context = solver->context;
  merbit_status status = MERBIT_NOT_SUPPORTED;
  MBI_TRY(mbi_device_alive(context));
  if (mbi_recorded_can_loop(&context->device)) {
    status = mbi_recorded_make(solver, 1);
    solver->gpu.loops = status == MERBIT_OK;
  }
  if (status == MERBIT_OK || status == MERBIT_OUT_OF_MEMORY || mbi_device_lost(context) != 0) {
    return status; /* without host memory a plain graph fails too */
  }
  return mbi_recorded_make(solver, 0);
}

/* Returns whether iterations still have to be recorded. */
static int mbi_recorded_wanted(const merbit_solver *solver) {
  return mbi_solve_on_gpu(solver) && !solver->gpu.tried && solver->gpu.stream != NULL &&
         solver->inner == NULL && mbi_recorded_can_record(&solver->context->device.driver) &&
         solver->desc.preconditioner != MERBIT_PRECONDITIONER_CALLBACK;
}

/* Returns whether the recorded graph loops on the GPU; before recording, whether it should. */
MBI_INTERNAL int mbi_recorded_loops(const merbit_solver *solver) {
  return solver->gpu.loops ||
         (mbi_recorded_wanted(solver) && mbi_recorded_can_loop(&solver->context->device));
}

/* Records the method's iterations. Fails only for lack of memory or if the device is lost:
 * without a recorded graph, iterations are launched one by one. */
static merbit_status mbi_recorded_create(merbit_solver *solver) {
  merbit_context *context = solver->context;
  merbit_status status;
  mbi_recorded_release(solver); /* a failed attempt may have left parts */
  status = mbi_recorded_attempt(solver);
  if (status != MERBIT_OK && status != MERBIT_OUT_OF_MEMORY && solver->gpu.fused_blocks > 0 &&
      mbi_device_lost(context) == 0) { /* perhaps fused kernels cannot be recorded */
    solver->gpu.fused_blocks = 0;
    mbi_recorded_release(solver);
    status = mbi_recorded_attempt(solver);
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

/* Releases the recorded graph and the stream. */
MBI_INTERNAL void mbi_recorded_destroy(merbit_solver *solver) {
  merbit_context *context = solver->context;
  const mbi_driver *driver = &context->device.driver;
  mbi_recorded_release(solver);
  if (solver->gpu.stream != NULL && solver->gpu.stream != solver->desc.stream) {
    (void)mbi_device_mark_lost(context, driver->stream_destroy(solver->gpu.stream));
  }
}

/* Restarts from the current x with separate kernels, if the driver refuses a cooperative
 * launch. */
static merbit_status mbi_recorded_restart_unfused(merbit_solver *solver, int iterations) {
  mbi_error_clear(solver->context, solver->gpu.why, sizeof solver->gpu.why);
  mbi_log(solver->context, "a solver's steps are launched one by one: %s", solver->gpu.why);
  solver->gpu.why[0] = '\0';
  solver->gpu.fused_blocks = 0;
  MBI_TRY(mbi_solve_residual(solver, 0));
  MBI_TRY(solver->method->start(solver));
  return mbi_recorded_enqueue(solver, iterations);
}

/* Launches the first iterations one by one and records a graph while the GPU runs them.
 * Subtracts them from *span. */
static merbit_status mbi_recorded_begin(merbit_solver *solver, int *span) {
  const int first = mbi_recorded_loop_calls(solver);
  merbit_status status = mbi_recorded_enqueue(solver, first);
  if (status != MERBIT_OK && status != MERBIT_OUT_OF_MEMORY && solver->gpu.fused_blocks > 0 &&
      mbi_device_lost(solver->context) == 0) {
    status = mbi_recorded_restart_unfused(solver, first);
  }
  MBI_TRY(status);
  MBI_TRY(mbi_recorded_create(solver));
  /* The length of this round assumed a loop on the GPU. */
  if (!solver->gpu.loops && *span > MBI_SOLVE_ROUND_FIRST) {
    *span = MBI_SOLVE_ROUND_FIRST;
  }
  *span -= first;
  return MERBIT_OK;
}

/* Launches the recorded graph for `span` iterations. */
static merbit_status mbi_recorded_launch(merbit_solver *solver, int span) {
  merbit_context *context = solver->context;
  int i;
  for (i = 0; i < span; i += MBI_RECORDED_PLAIN) {
    MBI_TRY(mbi_device_check(
        context, context->device.driver.graph_launch(solver->gpu.graph, solver->gpu.stream),
        "cuGraphLaunch", "launching recorded iterations"));
    if (solver->gpu.loops) {
      break;
    }
  }
  return MERBIT_OK;
}

/* Returns whether a right-hand side still iterates on the CPU. */
static int mbi_recorded_runs(const merbit_solver *solver) {
  int c = mbi_solve_columns(solver) - 1;
  while (c >= 0 && solver->memory[c].state.stop != MBI_SOLVE_RUNNING) {
    c--;
  }
  return c >= 0;
}

/* Runs a round of iterations. On the GPU it is only enqueued and ends at state.check_at or when
 * the solver stops. */
MBI_INTERNAL merbit_status mbi_recorded_run(merbit_solver *solver, int span) {
  const double start = mbi_seconds();
  int i;
  if (mbi_recorded_wanted(solver)) {
    MBI_TRY(mbi_recorded_begin(solver, &span));
  }
  if (solver->gpu.graph != NULL) {
    return mbi_recorded_launch(solver, span);
  }
  for (i = 0; i < span; i++) {
    if (!mbi_solve_on_gpu(solver) &&
        (!mbi_recorded_runs(solver) ||
         (i > 0 && mbi_seconds() - start > MBI_SOLVE_ROUND_SECONDS))) {
      break;
    }
    MBI_TRY(solver->method->iterate(solver, 0, 1));
  }
  return MERBIT_OK;
}
