/* Loops over cuSPARSE's products: PageRank, conjugate gradients, BiCGSTAB. One iteration is
 * recorded as a CUDA graph and 25 iterations as another, so that the host checks convergence
 * only rarely; what cannot be recorded is launched directly. An earlier run tells the loop how
 * many iterations it will take, so that it computes no unnecessary products. */
#ifndef BENCH_LOOPS_H
#define BENCH_LOOPS_H
#include "cases.h"
#include "loop_program.h"

#define BENCH_LOOP_LOOK 50 /* iterations between two convergence checks */
#define BENCH_LOOP_CHUNK 25
#define BENCH_LOOP_SHARED 512
#define BENCH_CAPTURE_RELAXED 2 /* CU_STREAM_CAPTURE_MODE_RELAXED */
#define BENCH_LOOP_RESTARTS 20  /* the most restarts of BiCGSTAB after breakdowns */

typedef enum bench_task { BENCH_PAGERANK, BENCH_CG, BENCH_BICGSTAB, BENCH_TASKS } bench_task;
static const char *const bench_task_names[] = {"pagerank", "cg", "bicgstab"};

typedef struct bench_loop {
  bench_gpu *gpu;
  bench_loop_program *program;
  bench_task task;
  bench_arrays arrays; /* the matrix; x and y of the first product */
  bench_rival rival;   /* product from p, or PageRank's x, to q */
  bench_loop_arguments v;
  void *second[2];    /* BiCGSTAB: descriptors of s and t */
  void *descriptor_x; /* the solution's descriptor, for restarts */
  void *graphs[2];    /* executables of one iteration and of BENCH_LOOP_CHUNK; NULL: none */
  int blocks;
  int64_t looks;                           /* number of convergence checks in the last run */
  int failed;                              /* 1: cuSPARSE failed while enqueuing */
  void (*iteration)(struct bench_loop *l); /* enqueues one iteration */
} bench_loop;

/* ---- One iteration ----------------------------------------------------------------------- */

static void bench_loop_launch(bench_loop *l, bench_loop_kernel kernel) {
  void *arguments[1];
  arguments[0] = &l->v;
  bench_launch(l->gpu, l->program->functions[kernel], bench_loop_names[kernel], l->blocks,
               BENCH_LOOP_THREADS, BENCH_LOOP_SHARED, arguments);
}

/* Computes y = A x between any two of cuSPARSE's vectors. */
static void bench_loop_multiply(bench_loop *l, void *x, void *y) {
  const bench_rival *r = &l->rival;
  const int single = l->arrays.problem->single;
  l->failed |= r->cusparse->spmv(r->cusparse->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                 bench_alpha(&bench_plain_scalars, single), r->matrix, x,
                                 bench_beta(&bench_plain_scalars, single), y, r->type,
                                 bench_cusparse_algorithms[r->algorithm].algorithm,
                                 mbi_device_pointer(r->buffer)) != 0;
}

static void bench_loop_rank_iteration(bench_loop *l) {
  bench_loop_multiply(l, l->rival.x, l->rival.y);
  bench_loop_launch(l, BENCH_LOOP_RANK);
}

static void bench_loop_cg_iteration(bench_loop *l) {
  bench_loop_multiply(l, l->rival.x, l->rival.y);
  bench_loop_launch(l, BENCH_LOOP_CG_DOT);
  bench_loop_launch(l, BENCH_LOOP_CG_RESIDUAL);
  bench_loop_launch(l, BENCH_LOOP_CG_DIRECTION);
}

static void bench_loop_bi_iteration(bench_loop *l) {
  bench_loop_multiply(l, l->rival.x, l->rival.y);
  bench_loop_launch(l, BENCH_LOOP_BI_ALPHA);
  bench_loop_launch(l, BENCH_LOOP_BI_HALF);
  bench_loop_multiply(l, l->second[0], l->second[1]);
  bench_loop_launch(l, BENCH_LOOP_BI_OMEGA);
  bench_loop_launch(l, BENCH_LOOP_BI_UPDATE);
}

/* Starts from x = 0 or, if `again`, from the true residual of x. */
static void bench_loop_start(bench_loop *l, int again) {
  const mbi_devptr t = l->v.t;
  if (l->task == BENCH_CG) {
    bench_loop_launch(l, BENCH_LOOP_CG_START);
  } else if (l->task == BENCH_BICGSTAB) {
    if (again) {
      bench_loop_multiply(l, l->descriptor_x, l->second[1]);
    }
    l->v.t = again ? t : 0;
    bench_loop_launch(l, BENCH_LOOP_BI_START);
    l->v.t = t;
  }
}

/* ---- Recording --------------------------------------------------------------------------- */

/* Records `count` iterations. Returns the executable, or NULL if they cannot be recorded. */
static void *bench_loop_record(bench_loop *l, int count) {
  const bench_driver *d = &l->gpu->driver;
  void *graph = NULL, *executable = NULL;
  int i, good;
  if (d->begin_capture(l->gpu->stream, BENCH_CAPTURE_RELAXED) != 0) {
    return NULL;
  }
  for (i = 0; i < count; i++) {
    l->iteration(l);
  }
  good = d->end_capture(l->gpu->stream, &graph) == 0 && graph != NULL && !l->failed;
  if (!good || d->graph_instantiate(&executable, graph, 0) != 0) {
    executable = NULL;
  }
  if (graph != NULL) {
    (void)d->graph_destroy(graph);
  }
  l->failed = 0;
  return executable;
}

/* ---- Preparing --------------------------------------------------------------------------- */

static mbi_devptr bench_loop_vector(bench_loop *l, uint64_t rows) {
  const size_t size = l->arrays.problem->size;
  const mbi_devptr address = bench_gpu_allocate(l->gpu, (int64_t)rows + BENCH_PADDING, size);
  bench_gpu_fill(l->gpu, address, 0, (rows + BENCH_PADDING) * size);
  return address;
}

/* Makes the task's vectors and chooses those of the rival's product. */
static void bench_loop_vectors(bench_loop *l) {
  l->v.x = bench_loop_vector(l, l->v.n);
  l->v.q = bench_loop_vector(l, l->v.n);
  if (l->task != BENCH_PAGERANK) {
    l->v.r = bench_loop_vector(l, l->v.n);
    l->v.p = bench_loop_vector(l, l->v.n);
  }
  if (l->task == BENCH_BICGSTAB) {
    l->v.t = bench_loop_vector(l, l->v.n);
    l->v.rhat = bench_loop_vector(l, l->v.n);
  }
  l->arrays.x = l->task == BENCH_PAGERANK ? l->v.x : l->v.p;
  l->arrays.y = l->v.q;
}

/* Makes descriptors, buffer and vectors, and runs the preprocessing. Returns 0 if cuSPARSE
 * failed; r->failure then says how. */
static int bench_loop_prepare(bench_loop *l) {
  bench_rival *r = &l->rival;
  const bench_cusparse *s = r->cusparse;
  const int64_t n = (int64_t)l->v.n;
  l->v.state = bench_gpu_allocate(l->gpu, 1, sizeof(bench_loop_state));
  l->v.partials = bench_gpu_allocate(l->gpu, 4 * (int64_t)l->blocks, sizeof(double));
  bench_loop_vectors(l);
  bench_rival_open(r);
  if (l->task == BENCH_BICGSTAB && r->failure[0] == '\0') {
    (void)(bench_rival_try(
               r, s->create_vector(&l->second[0], n, mbi_device_pointer(l->v.r), r->type),
               "cusparseCreateDnVec") &&
           bench_rival_try(
               r, s->create_vector(&l->second[1], n, mbi_device_pointer(l->v.t), r->type),
               "cusparseCreateDnVec") &&
           bench_rival_try(
               r, s->create_vector(&l->descriptor_x, n, mbi_device_pointer(l->v.x), r->type),
               "cusparseCreateDnVec"));
  }
  return r->failure[0] == '\0';
}

/* Prepares the loop and records its graphs. */
static int bench_loop_open(bench_loop *l) {
  if (!bench_loop_prepare(l)) {
    return 0;
  }
  bench_gpu_wait(l->gpu);
  l->graphs[0] = bench_loop_record(l, 1);
  l->graphs[1] = l->graphs[0] != NULL ? bench_loop_record(l, BENCH_LOOP_CHUNK) : NULL;
  return 1;
}

static void bench_loop_close(bench_loop *l) {
  mbi_devptr *const own[] = {&l->v.x, &l->v.r,    &l->v.p,     &l->v.q,
                             &l->v.t, &l->v.rhat, &l->v.state, &l->v.partials};
  int i;
  bench_gpu_wait(l->gpu);
  for (i = 0; i < 2; i++) {
    if (l->graphs[i] != NULL) {
      (void)l->gpu->driver.graph_exec_destroy(l->graphs[i]);
    }
    if (l->second[i] != NULL) {
      (void)l->rival.cusparse->destroy_vector(l->second[i]);
    }
    l->graphs[i] = l->second[i] = NULL;
  }
  if (l->descriptor_x != NULL) {
    (void)l->rival.cusparse->destroy_vector(l->descriptor_x);
    l->descriptor_x = NULL;
  }
  bench_rival_close(&l->rival);
  for (i = 0; i < (int)(sizeof own / sizeof own[0]); i++) {
    mbi_device_release(l->gpu->context, *own[i]);
    *own[i] = 0;
  }
}

/* Returns the number of thread blocks for a pass over vectors. */
static int bench_loop_blocks(const bench_gpu *gpu, int64_t rows, size_t size) {
  const int64_t chunk = BENCH_LOOP_THREADS * (16 / (int64_t)size);
  const int64_t most = (int64_t)gpu->context->device.multiprocessors * BENCH_LOOP_RESIDENT;
  const int64_t blocks = (rows + chunk - 1) / chunk;
  return (int)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* Initialises a loop. `matrix` is on the GPU. The caller sets l->v.b and l->v.dangling, whose
 * last elements must be followed by zeros. */
static void bench_loop_create(bench_loop *l, bench_lab *lab, bench_loop_program *program,
                              bench_task task, int algorithm, const bench_arrays *matrix) {
  static void (*const iterations[BENCH_TASKS])(bench_loop *) = {
      bench_loop_rank_iteration, bench_loop_cg_iteration, bench_loop_bi_iteration};
  const int64_t n = matrix->problem->m->rows;
  memset(l, 0, sizeof *l);
  l->gpu = &lab->gpu;
  l->program = program;
  l->task = task;
  l->iteration = iterations[task];
  l->arrays = *matrix;
  l->v.n = (uint64_t)n;
  l->blocks = bench_loop_blocks(l->gpu, n, matrix->problem->size);
  l->rival.gpu = l->gpu;
  l->rival.cusparse = &lab->cusparse;
  l->rival.arrays = l->rival.vectors = &l->arrays;
  l->rival.algorithm = algorithm;
  l->rival.type = matrix->problem->single ? CUSPARSE_R_32F : CUSPARSE_R_64F;
}

/* ---- Running ----------------------------------------------------------------------------- */

static void bench_loop_enqueue(bench_loop *l, int count) {
  const bench_driver *d = &l->gpu->driver;
  while (count > 0) {
    const int many = l->graphs[1] != NULL && count >= BENCH_LOOP_CHUNK;
    if (l->graphs[many] != NULL) {
      bench_gpu_check(l->gpu, d->graph_launch(l->graphs[many], l->gpu->stream),
                      "cuGraphLaunch");
    } else {
      l->iteration(l);
    }
    count -= many ? BENCH_LOOP_CHUNK : 1;
  }
}

static void bench_loop_look(bench_loop *l, bench_loop_state *state) {
  bench_gpu_wait(l->gpu);
  bench_merbit_check(l->gpu->context,
                     mbi_device_download(l->gpu->context, state, l->v.state, sizeof *state));
  l->looks++;
}

/* Runs the loop from `state` to its end, and updates `state`. `known` is 0, or the iterations
 * that an earlier run took; the host checks after exactly that many. x is in l->v.x. */
static void bench_loop_run(bench_loop *l, bench_loop_state *state, int known) {
  merbit_context *context = l->gpu->context;
  int restarts = 0;
  state->stop = BENCH_LOOP_RUNNING;
  l->looks = 0;
  bench_merbit_check(context, mbi_device_upload(context, l->v.state, state, sizeof *state));
  bench_loop_start(l, 0);
  do {
    int count = BENCH_LOOP_LOOK;
    if (known > state->iterations && known - state->iterations < count) {
      count = known - state->iterations;
    }
    bench_loop_enqueue(l, count);
    bench_loop_look(l, state);
    if (state->stop == BENCH_LOOP_BREAKDOWN && l->task == BENCH_BICGSTAB &&
        restarts++ < BENCH_LOOP_RESTARTS) {
      bench_loop_start(l, 1);
      state->stop = BENCH_LOOP_RUNNING;
    }
  } while (state->stop == BENCH_LOOP_RUNNING && !l->failed);
}

/* Returns the GPU memory that the loop uses, including the matrix. */
static double bench_loop_memory(const bench_loop *l) {
  static const int vectors[BENCH_TASKS] = {2, 4, 6};
  const bench_problem *p = l->arrays.problem;
  const int coo = bench_rival_format(&l->rival) == BENCH_FORMAT_COO;
  const double matrix = coo ? (double)p->m->nnz * (8.0 + (double)p->size) : bench_csr_memory(p);
  return matrix + (double)l->rival.buffer_bytes +
         ((double)vectors[l->task] * (double)p->size + (l->v.dangling != 0 ? 1 : 0)) *
             (double)l->v.n;
}

#endif
