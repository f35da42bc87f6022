/* The state of one rank: its context, stream, exchange, operator and vectors, on a GPU or on
 * the CPU. */
#ifndef DIST_BENCH_BED_H
#define DIST_BENCH_BED_H
#include "crew.h"
#include "driver.h"
#include "matrices.h"
#include "options.h"

#define BED_CAPTURE_THREAD_LOCAL 1 /* cuda.h: CU_STREAM_CAPTURE_MODE_THREAD_LOCAL */

typedef struct bed {
  crew *members;
  const dist_options *options;
  merbit_context *context;
  int cuda;
  bench_gpu gpu; /* on CUDA */
  int (*memory_info)(size_t *free_bytes, size_t *all);
  merbit_exchange exchange;
  merbit_exchange *nccl; /* NULL: the exchange is through shared memory */
  crew_post post;
  merbit_dist *dist;
  merbit_buffer *x, *y, *b; /* vectors: as many elements as the rank has rows */
} bed;

static void bed_check(bed *b, merbit_status status, const char *what) {
  char message[MERBIT_MESSAGE_SIZE];
  if (status != MERBIT_OK) {
    (void)merbit_last_error(b->context, message, sizeof message);
    bench_die("rank %d: %s: %s: %s", b->members->rank, what, merbit_status_name(status),
              message);
  }
}

static void *bed_stream(const bed *b) {
  return b->cuda ? b->gpu.stream : NULL;
}

/* Waits for the stream, but with a limit in case another rank has ended. */
static void bed_wait(bed *b) {
  if (b->cuda && b->exchange.wait != NULL) {
    if (b->exchange.wait(b->exchange.user, b->gpu.stream) != 0) {
      const char *text = b->exchange.error != NULL ? b->exchange.error(b->exchange.user) : NULL;
      bench_die("rank %d: %s", b->members->rank, text != NULL ? text : "a wait failed");
    }
  } else if (b->cuda) {
    bench_gpu_wait(&b->gpu);
  }
}

/* Makes the exchange that the options select. NCCL's id travels through shared memory. */
static void bed_connect(bed *b) {
  crew *c = b->members;
  if (b->options->exchange == DIST_EXCHANGE_SHARED) {
    b->exchange = crew_exchange(c, &b->post);
    return;
  }
  if (c->rank == 0) {
    merbit_nccl_id id;
    bed_check(b, merbit_exchange_nccl_id(b->context, NULL, &id), "the id of NCCL");
    memcpy(c->shared->id, id.bytes, sizeof id.bytes);
  }
  crew_meet(c);
  {
    merbit_nccl_id id;
    memcpy(id.bytes, c->shared->id, sizeof id.bytes);
    bed_check(b,
              merbit_exchange_nccl_create(b->context, &id, c->rank, c->ranks, NULL, &b->nccl),
              "NCCL");
  }
  b->exchange = *b->nccl;
}

static void bed_open(bed *b, crew *c, const dist_options *options) {
  merbit_context_desc desc;
  merbit_context_info info;
  merbit_error error;
  memset(b, 0, sizeof *b);
  memset(&desc, 0, sizeof desc);
  b->members = c;
  b->options = options;
  desc.side = options->side;
  desc.device = c->rank % (options->gpus > 0 ? options->gpus : c->ranks);
  desc.threads = options->threads > 0 ? options->threads : mbi_processors() / c->ranks;
  desc.threads = desc.threads > 0 ? desc.threads : 1;
#ifdef _OPENMP
  omp_set_num_threads(desc.threads);
#endif
  if (merbit_context_create(&desc, &b->context, &error) != MERBIT_OK) {
    bench_die("rank %d: %s", c->rank, error.message);
  }
  (void)merbit_context_get_info(b->context, &info);
  b->cuda = info.side == MERBIT_SIDE_CUDA;
  if (b->cuda) {
    bench_driver *d = &b->gpu.driver;
    bench_gpu_open(&b->gpu, b->context);
    if (!mbi_library_function(d->library, "cuMemGetInfo_v2", &b->memory_info,
                              sizeof b->memory_info)) {
      bench_die("the NVIDIA driver lacks cuMemGetInfo_v2");
    }
  }
  bed_connect(b);
}

static void bed_close(bed *b) {
  merbit_exchange_nccl_destroy(b->nccl);
  if (b->cuda) {
    bench_gpu_close(&b->gpu);
  }
  merbit_context_destroy(b->context);
}

/* Returns a vector of the rank's part, filled by `element` of the global row. */
static merbit_buffer *bed_vector(bed *b, const dist_matrix *m, double (*element)(int64_t row)) {
  const size_t bytes = (size_t)m->rows * sizeof(double);
  double *host = (double *)bench_allocate(m->rows, sizeof *host);
  merbit_buffer *buffer = NULL;
  int64_t i;
  BENCH_OMP(parallel for schedule(static))
  for (i = 0; i < m->rows; i++) {
    host[i] = element(m->first + i);
  }
  bed_check(b, merbit_buffer_create(b->context, bytes, &buffer), "a vector");
  bed_check(b, merbit_buffer_upload(buffer, 0, host, bytes), "a vector");
  free(host);
  return buffer;
}

static double *bed_download(bed *b, const merbit_buffer *buffer, int64_t rows) {
  double *host = (double *)bench_allocate(rows, sizeof *host);
  bed_check(b, merbit_buffer_download(buffer, 0, host, (size_t)rows * sizeof *host),
            "a vector");
  return host;
}

/* ---- Time ------------------------------------------------------------------------------------ */

#define BED_ROUNDS 31
#define BED_SECONDS 0.02 /* duration of a batch of calls */
#define BED_GRAPH 50     /* most calls in one graph */

typedef struct bed_time {
  double median, least, most,
      quartiles[2]; /* seconds per call, of the slowest rank in each round */
  int batch, rounds, recorded;
} bed_time;

typedef void (*bed_call)(bed *b);

/* Returns the seconds of `count` calls, or of `count` launches of a graph. All ranks begin at
 * the same time. */
static double bed_watch(bed *b, bed_call call, void *graph, int count) {
  bench_gpu *g = &b->gpu;
  float milliseconds = 0;
  double began;
  int i;
  crew_meet(b->members);
  began = mbi_seconds();
  if (b->cuda) {
    bench_gpu_check(g, g->driver.event_record(g->start, g->stream), "cuEventRecord");
  }
  for (i = 0; i < count; i++) {
    if (graph != NULL) {
      bench_gpu_check(g, g->driver.graph_launch(graph, g->stream), "cuGraphLaunch");
    } else {
      call(b);
    }
  }
  if (!b->cuda) {
    return mbi_seconds() - began;
  }
  bench_gpu_check(g, g->driver.event_record(g->stop, g->stream), "cuEventRecord");
  bed_wait(b);
  bench_gpu_check(g, g->driver.event_elapsed(&milliseconds, g->start, g->stop),
                  "cuEventElapsedTime");
  return 1e-3 * (double)milliseconds;
}

static void *bed_record(bed *b, bed_call call, int count) {
  bench_gpu *g = &b->gpu;
  void *graph = NULL, *executable = NULL;
  int i;
  bench_gpu_check(g, g->driver.begin_capture(g->stream, BED_CAPTURE_THREAD_LOCAL),
                  "cuStreamBeginCapture");
  for (i = 0; i < count; i++) {
    call(b);
  }
  bench_gpu_check(g, g->driver.end_capture(g->stream, &graph), "cuStreamEndCapture");
  bench_gpu_check(g, g->driver.graph_instantiate(&executable, graph, 0), "cuGraphInstantiate");
  bench_gpu_check(g, g->driver.graph_destroy(graph), "cuGraphDestroy");
  return executable;
}

/* Times a call that all ranks make. On CUDA the calls are recorded in a graph if the options
 * say so and the exchange allows it. */
static void bed_measure(bed *b, bed_call call, bed_time *time) {
  const int rounds = b->options->rounds;
  const int recorded = b->cuda && b->options->graph && b->exchange.device_messages;
  double samples[BED_ROUNDS], took;
  void *graph = NULL;
  int launches, i;
  (void)bed_watch(b, call, NULL, 2);
  took = crew_largest(b->members, bed_watch(b, call, NULL, 3)) / 3;
  time->batch = took * BED_GRAPH < BED_SECONDS ? BED_GRAPH : (int)(BED_SECONDS / took) + 1;
  time->rounds = rounds;
  time->recorded = recorded;
  launches = recorded ? 1 : time->batch;
  if (recorded) {
    graph = bed_record(b, call, time->batch);
    (void)bed_watch(b, call, graph, 1);
  }
  for (i = 0; i < rounds; i++) {
    samples[i] =
        crew_largest(b->members, bed_watch(b, call, graph, launches)) / (double)time->batch;
  }
  if (recorded) {
    bench_gpu_check(&b->gpu, b->gpu.driver.graph_exec_destroy(graph), "cuGraphExecDestroy");
  }
  qsort(samples, (size_t)rounds, sizeof *samples, bench_by_size);
  time->least = samples[0];
  time->quartiles[0] = bench_quantile(samples, rounds, 0.25);
  time->median = bench_quantile(samples, rounds, 0.5);
  time->quartiles[1] = bench_quantile(samples, rounds, 0.75);
  time->most = samples[rounds - 1];
}

#endif
