/* The parts of the CUDA driver's API that merbit.h lacks: events, graphs, one stream. */
#ifndef BENCH_DRIVER_H
#define BENCH_DRIVER_H
#include "timing.h"
/* merbit.h with its implementation is included by bench.c */

#define BENCH_STREAM_NON_BLOCKING 1u /* cuda.h: CU_STREAM_NON_BLOCKING */
#define BENCH_CAPTURE_GLOBAL 0       /* CU_STREAM_CAPTURE_MODE_GLOBAL, the strictest */

typedef struct bench_driver { /* cuda.h; CUevent, CUstream, CUgraph and CUgraphExec are void *
                               */
  void *library;
  int (*event_create)(void **event, unsigned flags);
  int (*event_destroy)(void *event);
  int (*event_record)(void *event, void *stream);
  int (*event_synchronize)(void *event);
  int (*event_elapsed)(float *milliseconds, void *start, void *stop);
  int (*stream_create)(void **stream, unsigned flags);
  int (*stream_destroy)(void *stream);
  int (*host_allocate)(void **address, size_t bytes);
  int (*host_free)(void *address);
  int (*copy_async)(mbi_devptr target, mbi_devptr source, size_t bytes, void *stream);
  int (*begin_capture)(void *stream, int mode);
  int (*end_capture)(void *stream, void **graph);
  int (*graph_instantiate)(void **executable, void *graph, unsigned long long flags);
  int (*graph_launch)(void *executable, void *stream);
  int (*graph_exec_destroy)(void *executable);
  int (*graph_destroy)(void *graph);
} bench_driver;

typedef struct bench_gpu {
  merbit_context *context;
  bench_driver driver;
  void *stream, *start, *stop;
} bench_gpu;

static void bench_gpu_check(bench_gpu *gpu, int result, const char *what) {
  if (result != 0) {
    bench_die("%s failed: %s (CUDA error %d)", what,
              mbi_driver_error_name(&gpu->context->device.driver, result), result);
  }
}

static void bench_merbit_check(merbit_context *context, merbit_status status) {
  char message[MERBIT_MESSAGE_SIZE];
  if (status != MERBIT_OK) {
    (void)merbit_last_error(context, message, sizeof message);
    bench_die("%s: %s", merbit_status_name(status), message);
  }
}

/* Launches a kernel of the benchmark. `arguments` holds the address of each parameter. */
static void bench_launch(bench_gpu *gpu, void *function, const char *name, int blocks,
                         int threads, unsigned shared_bytes, void **arguments) {
  bench_gpu_check(gpu,
                  gpu->context->device.driver.launch_kernel(
                      function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, shared_bytes,
                      gpu->stream, arguments, NULL),
                  name);
}

#define BENCH_SYMBOL(field, name)                                                              \
  if (!mbi_library_function(d->library, name, &d->field, sizeof d->field)) {                   \
    bench_die("the NVIDIA driver lacks %s", name);                                             \
  }

static void bench_driver_open(bench_driver *d) {
  d->library = dlopen("libcuda.so.1", RTLD_NOW);
  if (d->library == NULL) {
    bench_die("libcuda.so.1 cannot be opened: %s", dlerror());
  }
  BENCH_SYMBOL(event_create, "cuEventCreate")
  BENCH_SYMBOL(event_destroy, "cuEventDestroy_v2")
  BENCH_SYMBOL(event_record, "cuEventRecord")
  BENCH_SYMBOL(event_synchronize, "cuEventSynchronize")
  BENCH_SYMBOL(stream_create, "cuStreamCreate")
  BENCH_SYMBOL(stream_destroy, "cuStreamDestroy_v2")
  BENCH_SYMBOL(host_allocate, "cuMemAllocHost_v2")
  BENCH_SYMBOL(host_free, "cuMemFreeHost")
  BENCH_SYMBOL(copy_async, "cuMemcpyDtoDAsync_v2")
  BENCH_SYMBOL(begin_capture, "cuStreamBeginCapture_v2")
  BENCH_SYMBOL(end_capture, "cuStreamEndCapture")
  BENCH_SYMBOL(graph_instantiate, "cuGraphInstantiateWithFlags")
  BENCH_SYMBOL(graph_launch, "cuGraphLaunch")
  BENCH_SYMBOL(graph_exec_destroy, "cuGraphExecDestroy")
  BENCH_SYMBOL(graph_destroy, "cuGraphDestroy")
  if (!mbi_library_function(d->library, "cuEventElapsedTime_v2", &d->event_elapsed,
                            sizeof d->event_elapsed)) {
    BENCH_SYMBOL(event_elapsed, "cuEventElapsedTime")
  }
}

/* Allocates pinned host memory, from which copies always take the same time. */
static void *bench_gpu_host(bench_gpu *gpu, int64_t count, size_t size) {
  void *address = NULL;
  bench_gpu_check(gpu,
                  gpu->driver.host_allocate(&address, (count > 0 ? (size_t)count : 1) * size),
                  "cuMemAllocHost");
  return address;
}

static mbi_devptr bench_gpu_allocate(bench_gpu *gpu, int64_t count, size_t size) {
  mbi_devptr address = 0;
  bench_merbit_check(gpu->context,
                     mbi_device_allocate(gpu->context, (uint64_t)(count > 0 ? count : 1) * size,
                                         "the benchmark", &address));
  return address;
}

static mbi_devptr bench_gpu_copy_of(bench_gpu *gpu, const void *source, int64_t count,
                                    size_t size) {
  const mbi_devptr address = bench_gpu_allocate(gpu, count, size);
  bench_merbit_check(gpu->context,
                     mbi_device_upload(gpu->context, address, source, (size_t)count * size));
  return address;
}

static void bench_gpu_fill(bench_gpu *gpu, mbi_devptr target, int byte, size_t bytes) {
  if (bytes > 0) {
    bench_gpu_check(gpu,
                    gpu->context->device.driver.memset_d8_async(target, (unsigned char)byte,
                                                                bytes, gpu->stream),
                    "cuMemsetD8Async");
  }
}

static void bench_gpu_wait(bench_gpu *gpu) {
  bench_merbit_check(gpu->context, mbi_device_synchronize(gpu->context, gpu->stream));
}

/* Returns the GPU's seconds for `count` calls in a row; the stopwatch for bench_time. */
static double bench_gpu_watch(void *clock, bench_case *c, int count) {
  bench_gpu *gpu = (bench_gpu *)clock;
  float milliseconds = 0;
  int i;
  bench_gpu_check(gpu, gpu->driver.event_record(gpu->start, gpu->stream), "cuEventRecord");
  for (i = 0; i < count; i++) {
    c->enqueue(c);
  }
  bench_gpu_check(gpu, gpu->driver.event_record(gpu->stop, gpu->stream), "cuEventRecord");
  bench_gpu_check(gpu, gpu->driver.event_synchronize(gpu->stop), c->name);
  bench_gpu_check(gpu, gpu->driver.event_elapsed(&milliseconds, gpu->start, gpu->stop),
                  "cuEventElapsedTime");
  return 1e-3 * (double)milliseconds;
}

/* ---- Opening and closing ----------------------------------------------------------------- */

/* Opens the GPU. Its context stays current until bench_gpu_close. */
static void bench_gpu_open(bench_gpu *gpu, merbit_context *context) {
  memset(gpu, 0, sizeof *gpu);
  gpu->context = context;
  bench_driver_open(&gpu->driver);
  bench_merbit_check(context, mbi_device_enter(context));
  bench_gpu_check(gpu, gpu->driver.stream_create(&gpu->stream, BENCH_STREAM_NON_BLOCKING),
                  "cuStreamCreate");
  bench_gpu_check(gpu, gpu->driver.event_create(&gpu->start, 0), "cuEventCreate");
  bench_gpu_check(gpu, gpu->driver.event_create(&gpu->stop, 0), "cuEventCreate");
}

static void bench_gpu_close(bench_gpu *gpu) {
  (void)gpu->driver.event_destroy(gpu->start);
  (void)gpu->driver.event_destroy(gpu->stop);
  (void)gpu->driver.stream_destroy(gpu->stream);
  mbi_device_leave(gpu->context);
  (void)dlclose(gpu->driver.library);
}

#endif
