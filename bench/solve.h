/* Whole iterations: merbit's PageRank and solvers compared with loops over cuSPARSE, on the
 * same GPU arrays and with the same stopping criterion. */
#ifndef BENCH_SOLVE_H
#define BENCH_SOLVE_H
#include "loops.h"
#include "plans.h"
#include "systems.h"

#define BENCH_DAMPING 0.85
#define BENCH_ERR 1e-10         /* for ranks in f64: the MERBIT paper, 5.5.1 */
#define BENCH_ERR_MOST 210      /* iterations for the paper's reference */
#define BENCH_RANKS_SINGLE 1e-6 /* L1 change at which ranks in f32 stop */
#define BENCH_SAME 1e-9         /* same iterations: largest ERR in f64, and L1 in f32 */
#define BENCH_SAME_SINGLE 1e-4
#define BENCH_UNREACHED 1e-300 /* tolerance for a fixed number of iterations */
#define BENCH_SOLVE_CASES 16

typedef struct bench_end { /* the end of one run */
  double whole;            /* seconds of all parts below, and of transposing a graph */
  double prepare, iterate; /* seconds before the iterations; seconds of the iterations */
  int iterations, stop;    /* a merbit_stop */
  double estimate;         /* residual or change as the iteration computes it */
  double looks;            /* convergence checks by the host; negative: unknown */
  double memory;           /* bytes on the GPU, including the matrix */
} bench_end;

typedef struct bench_solve_case {
  char name[64];
  int rival, good, skipped;
  int refined;           /* 1: ours in f64, refined by corrections in f32 */
  merbit_method product; /* method of our products */
  bench_end end;         /* medians of seconds */
  double limit;          /* lower bound for the seconds of an iteration; ours only */
  double residual;       /* computed by the host in double: ||b - A x|| / ||b||, or ERR */
  double backward;
  double total, step; /* seconds to prepare and iterate; for one iteration */
  char about[1100];
} bench_solve_case;

typedef struct bench_solve { /* one task on one system in one precision */
  bench_lab *lab;
  bench_loop_program *program;
  bench_task task;
  bench_problem problem;
  bench_arrays arrays; /* the matrix of the products */
  bench_arrays graph;  /* PageRank: the graph itself */
  bench_problem graph_problem;
  mbi_devptr b, dangling;
  unsigned char *marks;
  int64_t dangling_count;
  double *reference; /* ranks */
  double *b_host;
  mbi_devptr first;     /* initial ranks */
  double fetch_seconds; /* copying ranks to the host, which merbit_pagerank's seconds include */
  double tolerance, transpose_seconds;
  double own_tolerance; /* PageRank: our tolerance for the same ERR */
  int cap, fixed; /* fixed: a fixed number of iterations; 0: until the tolerance is reached */
  bench_solve_case cases[BENCH_SOLVE_CASES];
  int count;
} bench_solve;

static int bench_by_whole(const void *a, const void *b) {
  const bench_end *left = (const bench_end *)a, *right = (const bench_end *)b;
  return (left->whole > right->whole) - (left->whole < right->whole);
}

/* Returns the run with the median time. */
static bench_end bench_end_median(bench_end *ends, int count) {
  qsort(ends, (size_t)count, sizeof *ends, bench_by_whole);
  return ends[count / 2];
}

/* ---- Ours -------------------------------------------------------------------------------- */

static void bench_fail_ours(bench_solve *s, bench_solve_case *c) {
  char message[MERBIT_MESSAGE_SIZE];
  (void)merbit_last_error(s->lab->gpu.context, message, sizeof message);
  (void)snprintf(c->about, sizeof c->about, "%s", message);
  c->skipped = 1;
}

/* Returns the bytes that an iteration moves: products with their x, y and epilogues, and
 * vectors in the steps between. CG moves r, q and r, then p, r and p, and in every fourth
 * iteration x, three earlier p and x. BiCGSTAB moves r, v and r, then x, r, p, t, v and x, r,
 * p. PageRank's product computes the ranks itself. */
static double bench_ours_bytes(const bench_solve *s, const merbit_plan_info *info) {
  static const double vectors[BENCH_TASKS] = {0, 7.25, 11};
  const double products = s->task == BENCH_BICGSTAB ? 2 : 1;
  return products * (double)info->bytes_per_product +
         vectors[s->task] * (double)s->problem.m->rows * (double)s->problem.size;
}

static void bench_ours_limit(bench_solve *s, bench_solve_case *c,
                             const merbit_plan_info *info) {
  const double copy = s->lab->ceilings.copy;
  c->limit = copy > 0 ? bench_ours_bytes(s, info) / copy : 0;
}

/* Calls merbit_pagerank once. Returns 0 if it failed. */
static int bench_run_pagerank(bench_solve *s, bench_solve_case *c, void *ranks,
                              bench_end *end) {
  const merbit_view view = bench_device_view(&s->graph);
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  double start;
  memset(&desc, 0, sizeof desc);
  desc.damping = BENCH_DAMPING;
  desc.tolerance = s->own_tolerance;
  desc.max_iterations = s->cap;
  desc.unweighted = 1;
  desc.side = MERBIT_SIDE_CUDA;
  desc.method = c->product;
  desc.unaccelerated = c->product != MERBIT_METHOD_AUTO || s->fixed > 0;
  start = mbi_seconds();
  if (merbit_pagerank(s->lab->gpu.context, &view, &desc, ranks, &result) != MERBIT_OK) {
    bench_fail_ours(s, c);
    return 0;
  }
  end->whole = mbi_seconds() - start - s->fetch_seconds;
  end->prepare = result.prepare_seconds - result.plan.transpose_seconds;
  end->iterate = result.iterate_seconds - s->fetch_seconds;
  end->iterations = result.iterations;
  end->stop = (int)result.stop;
  end->estimate = result.change;
  end->looks = (double)result.synchronizations;
  end->memory = bench_csr_memory(&s->graph_problem) + (double)result.device_bytes;
  bench_ours_limit(s, c, &result.plan);
  (void)snprintf(c->about, sizeof c->about,
                 "%.500s; the whole preparation, transpose included, %.1f ms",
                 result.description, 1e3 * result.prepare_seconds);
  return 1;
}

static int bench_run_solver(bench_solve *s, bench_solve_case *c, mbi_devptr x, bench_end *end) {
  merbit_context *context = s->lab->gpu.context;
  const merbit_view view = bench_device_view(&s->arrays);
  merbit_solver *solver = NULL;
  merbit_solver_desc desc;
  merbit_solver_result result;
  merbit_status status;
  double start;
  memset(&desc, 0, sizeof desc);
  desc.method = s->task == BENCH_CG ? MERBIT_SOLVER_CG : MERBIT_SOLVER_BICGSTAB;
  desc.side = MERBIT_SIDE_CUDA;
  desc.tolerance = s->tolerance > 0 ? s->tolerance : BENCH_UNREACHED;
  desc.max_iterations = s->cap;
  desc.refine = c->refined;
  desc.product = c->product;
  start = mbi_seconds();
  status = merbit_solver_create(context, &view, &desc, &solver);
  if (status == MERBIT_OK) {
    end->prepare = mbi_seconds() - start;
    status = merbit_solver_solve(solver, mbi_device_pointer(s->b), mbi_device_pointer(x), 0,
                                 NULL, 0, &result);
  }
  if (status != MERBIT_OK) {
    bench_fail_ours(s, c);
    merbit_solver_destroy(solver);
    return 0;
  }
  end->whole = mbi_seconds() - start;
  end->iterate = result.iterate_seconds;
  end->iterations = result.iterations;
  end->stop = (int)result.stop;
  end->estimate = result.estimated_residual;
  end->looks = (double)result.synchronizations;
  end->memory = bench_csr_memory(&s->problem) + (double)result.device_bytes;
  c->backward = result.backward_error;
  if (!c->refined) { /* the refined solver's plan is not the one that iterates */
    bench_ours_limit(s, c, &result.plan);
  }
  (void)snprintf(c->about, sizeof c->about, "%.500s; %s; %.380s; %d restarts",
                 result.plan_description,
                 result.recorded == 2   ? "loops on the GPU"
                 : result.recorded == 1 ? "recorded"
                                        : "single launches",
                 result.description, result.restarts);
  merbit_solver_destroy(solver);
  return 1;
}

/* ---- Rivals ------------------------------------------------------------------------------ */

static void bench_loop_begin(const bench_solve *s, bench_loop_state *state) {
  const double n = (double)s->problem.m->rows;
  memset(state, 0, sizeof *state);
  state->tolerance = s->tolerance;
  state->cap = s->cap;
  state->damping = BENCH_DAMPING;
  state->vertices = n;
  state->base = (1 - BENCH_DAMPING + BENCH_DAMPING * (double)s->dangling_count / n) / n;
}

/* Runs an opened loop once. */
static void bench_run_loop(bench_solve *s, bench_loop *l, int known, bench_loop_state *state) {
  bench_loop_begin(s, state);
  if (s->task == BENCH_PAGERANK) {
    bench_gpu_check(l->gpu,
                    l->gpu->driver.copy_async(l->v.x, s->first,
                                              (size_t)l->v.n * s->problem.size, l->gpu->stream),
                    "cuMemcpyDtoDAsync");
  }
  bench_loop_run(l, state, known);
}

static void bench_loop_fetch(const bench_solve *s, bench_loop *l, void *answer) {
  bench_merbit_check(l->gpu->context, mbi_device_download(l->gpu->context, answer, l->v.x,
                                                          (size_t)l->v.n * s->problem.size));
}

/* Runs a loop, including all preparations. */
static int bench_run_rival(bench_solve *s, bench_loop *l, bench_solve_case *c, int known,
                           void *answer, bench_end *end) {
  bench_loop_state state;
  double start, middle;
  bench_gpu_wait(l->gpu);
  start = mbi_seconds();
  if (!bench_loop_open(l)) {
    (void)snprintf(c->about, sizeof c->about, "%s", l->rival.failure);
    bench_loop_close(l);
    c->skipped = 1;
    return 0;
  }
  middle = mbi_seconds();
  bench_run_loop(s, l, known, &state);
  end->iterate = mbi_seconds() - middle;
  end->prepare = middle - start;
  end->whole = end->prepare + end->iterate + s->transpose_seconds;
  end->iterations = state.iterations;
  end->stop = state.stop;
  end->estimate = s->task == BENCH_PAGERANK
                      ? state.change
                      : sqrt(state.rr / (state.norm > 0 ? state.norm : 1));
  end->looks = (double)l->looks;
  end->memory = bench_loop_memory(l);
  bench_loop_fetch(s, l, answer);
  (void)snprintf(c->about, sizeof c->about, "%s",
                 l->failed              ? "a product failed"
                 : l->graphs[0] != NULL ? "recorded as CUDA graphs"
                                        : "launched plainly: not to be recorded");
  c->skipped = l->failed;
  bench_loop_close(l);
  return !c->skipped;
}

/* ---- Verification ------------------------------------------------------------------------ */

static void bench_solve_verify(bench_solve *s, bench_solve_case *c, const void *answer) {
  const int64_t n = s->problem.m->rows;
  if (s->task == BENCH_PAGERANK) {
    const bench_rank_error error =
        bench_rank_compare(s->reference, answer, s->problem.single, n);
    c->residual = error.relative;
    if (s->fixed > 0) { /* the reference is the power method after as many iterations */
      c->good = s->problem.single ? error.sum < BENCH_SAME_SINGLE : error.relative < BENCH_SAME;
    } else {
      c->good = c->end.stop == 0 && (s->problem.single ? error.sum < 20 * s->tolerance
                                                       : error.relative < 1.01 * BENCH_ERR);
    }
  } else {
    double *x = (double *)bench_allocate(n, sizeof *x);
    int64_t i;
    for (i = 0; i < n; i++) {
      x[i] = bench_element(answer, i, s->problem.single);
    }
    c->residual = bench_true_residual(s->problem.m, s->b_host, x);
    c->good = c->end.stop == 0 ? c->residual < 10 * s->tolerance : isfinite(c->residual);
    free(x);
  }
}

/* ---- One task ---------------------------------------------------------------------------- */

static bench_solve_case *bench_solve_new(bench_solve *s, const char *name, int rival) {
  bench_solve_case *c = &s->cases[s->count++];
  if (s->count > BENCH_SOLVE_CASES) {
    bench_die("more than %d loops for one system; name fewer in --product", BENCH_SOLVE_CASES);
  }
  memset(c, 0, sizeof *c);
  (void)snprintf(c->name, sizeof c->name, "%s", name);
  c->rival = rival;
  return c;
}

static void bench_solve_finish(bench_solve *s, bench_solve_case *c, bench_end *ends, int rounds,
                               const void *answer) {
  c->end = bench_end_median(ends, rounds);
  c->total = c->end.prepare + c->end.iterate;
  c->step = c->end.iterate / (c->end.iterations > 0 ? c->end.iterations : 1);
  bench_solve_verify(s, c, answer);
}

/* Finds the loosest tolerance, in steps of 2, with which our ranks reach the rivals' ERR,
 * because our iterations differ from theirs. */
static void bench_own_tolerance(bench_solve *s, bench_solve_case *c, void *ranks) {
  bench_end end;
  int tries = s->problem.single ? 1 : 12;
  s->own_tolerance = s->problem.single ? s->tolerance : 16 * s->tolerance;
  if (s->fixed > 0) {
    s->own_tolerance = BENCH_UNREACHED;
    return;
  }
  while (tries-- > 1 && bench_run_pagerank(s, c, ranks, &end) &&
         bench_rank_compare(s->reference, ranks, 0, s->problem.m->rows).relative >= BENCH_ERR) {
    s->own_tolerance /= 2;
  }
}

/* Measures merbit. `name` is "merbit", or "by-" and the method that `product` requests. */
static void bench_solve_ours(bench_solve *s, int rounds, const char *name, int refined,
                             merbit_method product) {
  bench_gpu *gpu = &s->lab->gpu;
  const int64_t n = s->problem.m->rows;
  bench_solve_case *c = bench_solve_new(s, name, 0);
  void *answer = bench_gpu_host(gpu, n, s->problem.size);
  const mbi_devptr x = bench_gpu_allocate(gpu, n, s->problem.size);
  bench_end ends[BENCH_ROUNDS];
  int i, good = 1;
  c->refined = refined;
  c->product = product;
  if (s->task == BENCH_PAGERANK) {
    bench_own_tolerance(s, c, answer);
  }
  for (i = -1; i < rounds && good; i++) { /* the first run fills the cubin cache */
    bench_end *end = &ends[i < 0 ? 0 : i];
    good = s->task == BENCH_PAGERANK ? bench_run_pagerank(s, c, answer, end)
                                     : bench_run_solver(s, c, x, end);
  }
  if (good) {
    if (s->task != BENCH_PAGERANK) {
      bench_merbit_check(gpu->context, mbi_device_download(gpu->context, answer, x,
                                                           (size_t)n * s->problem.size));
    }
    bench_solve_finish(s, c, ends, rounds, answer);
  }
  mbi_device_release(gpu->context, x);
  bench_gpu_check(gpu, gpu->driver.host_free(answer), "cuMemFreeHost");
}

static void bench_solve_rival(bench_solve *s, int algorithm, int rounds) {
  bench_solve_case *c = bench_solve_new(s, bench_cusparse_algorithms[algorithm].name, 1);
  void *answer = bench_allocate(s->problem.m->rows, s->problem.size);
  bench_end ends[BENCH_ROUNDS];
  bench_loop l;
  int i, good = 1;
  bench_loop_create(&l, s->lab, s->program, s->task, algorithm, &s->arrays);
  l.v.b = s->b;
  l.v.dangling = s->dangling_count > 0 ? s->dangling : 0;
  for (i = -1; i < rounds && good; i++) { /* the first run loads code */
    good =
        bench_run_rival(s, &l, c, i < 0 ? 0 : ends[0].iterations, answer, &ends[i < 0 ? 0 : i]);
  }
  if (good) {
    bench_solve_finish(s, c, ends, rounds, answer);
  }
  free(answer);
}

#endif
