/* CG with a multigrid preconditioner over cuSPARSE: the cycle of solve/amg/cycle.c, with the
 * matrices, inverse diagonals and weights that merbit has set up. Each product is a
 * cusparseSpMV in CSR with the faster of its two algorithms for that matrix; everything between
 * two products is one kernel. One iteration is recorded as a CUDA graph. */
#ifndef BENCH_LOOP_AMG_H
#define BENCH_LOOP_AMG_H
#include "loops.h"

#define BENCH_AMG_TRIALS 20 /* number of products that compare algorithms */

typedef struct bench_amg_product { /* y = A x with a matrix of the hierarchy */
  bench_matrix m;                  /* its sizes only */
  bench_problem problem;
  bench_arrays arrays;
  bench_rival rival;
} bench_amg_product;

typedef struct bench_amg_grid { /* a level on the GPU */
  bench_loop_sweep v;
  int blocks;
  double weights[MBI_CYCLE_MOST];
  bench_amg_product products[3]; /* A, P, R; on the coarsest level its inverse or A */
} bench_amg_grid;

typedef struct bench_amg {
  bench_loop loop; /* the CG loop; its r, z and q are b, y and t of the first level */
  bench_amg_grid grids[MBI_AMG_LEVELS];
  int count, dense;     /* number of levels; 1 if the last one has an inverse */
  int second;           /* number of products that use the second algorithm */
  double trial_seconds; /* time for comparing algorithms, beyond one preparation each */
} bench_amg;

/* ---- One iteration ----------------------------------------------------------------------- */

static const bench_scalars bench_amg_residual = {-1.0, 1.0, -1.0f, 1.0f};
static const bench_scalars bench_amg_added = {1.0, 1.0, 1.0f, 1.0f};

static void bench_amg_multiply(bench_amg *s, bench_amg_product *p,
                               const bench_scalars *scalars) {
  s->loop.failed |= bench_rival_multiply(&p->rival, scalars) != 0;
}

static void bench_amg_launch(bench_amg *s, bench_amg_grid *g, bench_loop_kernel kernel, int k) {
  void *arguments[1];
  arguments[0] = &g->v;
  g->v.weight = g->weights[k];
  bench_launch(s->loop.gpu, s->loop.program->functions[kernel], bench_loop_names[kernel],
               g->blocks, BENCH_LOOP_THREADS, 0, arguments);
}

/* Performs y += w D^-1 (b - A y). If `before_residual`, also copies b to t. */
static void bench_amg_sweep(bench_amg *s, bench_amg_grid *g, int k, int before_residual) {
  bench_amg_multiply(s, &g->products[0], &bench_plain_scalars);
  g->v.before_residual = (uint32_t)before_residual;
  bench_amg_launch(s, g, BENCH_LOOP_SWEEP, k);
}

/* Computes y = M^-1 b with the levels from l on, like mbi_cycle_run. */
static void bench_amg_cycle(bench_amg *s, int l) {
  bench_amg_grid *g = &s->grids[l];
  const int last = l + 1 == s->count, degree = last ? MBI_CYCLE_MOST : MBI_CYCLE_DEGREE;
  int k;
  if (last && s->dense) {
    bench_amg_multiply(s, &g->products[0], &bench_plain_scalars);
    return;
  }
  bench_amg_launch(s, g, BENCH_LOOP_SWEEP_FIRST, 0); /* y = w D^-1 b */
  for (k = 1; k < degree; k++) {
    bench_amg_sweep(s, g, k, !last && k + 1 == degree);
  }
  if (last) {
    return;
  }
  bench_amg_multiply(s, &g->products[0], &bench_amg_residual); /* t = b - A y */
  bench_amg_multiply(s, &g->products[2], &bench_plain_scalars);
  bench_amg_cycle(s, l + 1);
  bench_amg_multiply(s, &g->products[1], &bench_amg_added);
  for (k = degree - 1; k >= 0; k--) {
    bench_amg_sweep(s, g, k, 0);
  }
}

/* Runs an iteration. It begins with z, so that it ends where convergence is known. */
static void bench_amg_iteration(bench_loop *l) {
  bench_amg_cycle((bench_amg *)(void *)l, 0);
  bench_loop_launch(l, BENCH_LOOP_PCG_BETA);
  bench_loop_launch(l, BENCH_LOOP_PCG_DIRECTION);
  bench_loop_multiply(l, l->rival.x, l->rival.y);
  bench_loop_launch(l, BENCH_LOOP_CG_DOT);
  bench_loop_launch(l, BENCH_LOOP_PCG_UPDATE);
}

/* ---- Preparing --------------------------------------------------------------------------- */

/* Prepares a product from x to y with the faster of CSR's two algorithms. The matrix is in GPU
 * memory. */
static void bench_amg_open_product(bench_amg *s, bench_amg_product *p, const merbit_view *view,
                                   mbi_devptr x, mbi_devptr y) {
  const double start = mbi_seconds();
  double least = HUGE_VAL;
  int algorithm;
  p->m.rows = view->rows;
  p->m.cols = view->cols;
  p->m.nnz = view->nnz;
  p->problem.m = &p->m;
  p->problem.size = sizeof(double);
  p->arrays.problem = &p->problem;
  p->arrays.row_ptr = mbi_device_address(view->row_ptr);
  p->arrays.col_ind = mbi_device_address(view->col_ind);
  p->arrays.values = mbi_device_address(view->values);
  p->arrays.x = x;
  p->arrays.y = y;
  for (algorithm = 0; algorithm < 2; algorithm++) {
    bench_rival tried;
    bench_case c;
    double seconds = HUGE_VAL;
    bench_rival_create(&tried, s->loop.gpu, s->loop.rival.cusparse, &p->arrays, &p->arrays,
                       algorithm, NULL);
    memset(&c, 0, sizeof c);
    c.enqueue = bench_rival_enqueue;
    c.object = &tried;
    if (tried.failure[0] == '\0') {
      (void)bench_gpu_watch(s->loop.gpu, &c, 2);
      seconds = bench_gpu_watch(s->loop.gpu, &c, BENCH_AMG_TRIALS);
    }
    if (tried.failure[0] == '\0' && seconds < least) {
      bench_rival_destroy(&p->rival);
      p->rival = tried;
      least = seconds;
    } else {
      (void)snprintf(s->loop.rival.failure, sizeof s->loop.rival.failure, "%s", tried.failure);
      bench_rival_destroy(&tried);
    }
  }
  if (p->rival.matrix != NULL) {
    s->loop.rival.failure[0] = '\0';
  }
  s->second += p->rival.algorithm;
  s->trial_seconds += mbi_seconds() - start - p->rival.prepare_seconds;
}

/* Prepares the vectors and weights of a level. */
static void bench_amg_open_grid(bench_amg *s, const mbi_amg *amg, int l) {
  bench_amg_grid *g = &s->grids[l];
  bench_loop *loop = &s->loop;
  const int64_t rows = amg->grids[l].rows;
  double scalars[MBI_CYCLE_SCALARS];
  int k;
  g->v.n = (uint64_t)rows;
  g->blocks = bench_loop_blocks(loop->gpu, rows, sizeof(double));
  g->v.inverse = bench_loop_vector(loop, g->v.n);
  g->v.y = bench_loop_vector(loop, g->v.n);
  g->v.b = l == 0 ? loop->v.r : bench_loop_vector(loop, g->v.n);
  g->v.t = l == 0 ? loop->v.q : bench_loop_vector(loop, g->v.n);
  bench_gpu_wait(loop->gpu);
  bench_merbit_check(loop->gpu->context,
                     mbi_device_copy(loop->gpu->context, g->v.inverse,
                                     mbi_device_address(amg->grids[l].inverse),
                                     (size_t)rows * sizeof(double)));
  bench_merbit_check(
      loop->gpu->context,
      mbi_device_download(loop->gpu->context, scalars,
                          mbi_device_address(amg->scalars + l * MBI_CYCLE_SCALARS),
                          sizeof scalars));
  for (k = 0; k < MBI_CYCLE_MOST; k++) {
    g->weights[k] = scalars[3 * (MBI_CYCLE_SWEEP + k) + 1];
  }
}

/* Opens all levels of an AMG preconditioner that was set up on the GPU and must outlive them.
 * `matrix` is A; b is padded with zeros. Returns 0 if cuSPARSE failed: see
 * s->loop.rival.failure. */
static int bench_amg_open(bench_amg *s, bench_lab *lab, bench_loop_program *program,
                          const bench_arrays *matrix, const merbit_preconditioner *p,
                          mbi_devptr b) {
  const mbi_amg *amg = (const mbi_amg *)p->state;
  bench_loop *loop = &s->loop;
  int l, k;
  memset(s, 0, sizeof *s);
  bench_loop_create(loop, lab, program, BENCH_CG, 0, matrix);
  loop->v.b = b;
  loop->iteration = bench_amg_iteration;
  s->count = amg->count;
  s->dense = amg->dense.rows > 0;
  if (!bench_loop_prepare(loop)) {
    return 0;
  }
  for (l = 0; l < s->count; l++) {
    bench_amg_open_grid(s, amg, l);
  }
  loop->v.t = s->grids[0].v.y;
  for (l = 0; l < s->count; l++) {
    bench_amg_grid *g = &s->grids[l], *next = g + 1;
    const int last = l + 1 == s->count;
    for (k = 0; k < (last ? 1 : 3); k++) {
      const int inverse = last && s->dense;
      merbit_view view = inverse ? amg->dense : amg->grids[l].views[k];
      bench_amg_open_product(s, &g->products[k], &view,
                             inverse  ? g->v.b
                             : k == 0 ? g->v.y
                             : k == 1 ? next->v.y
                                      : g->v.t,
                             inverse  ? g->v.y
                             : k == 0 ? g->v.t
                             : k == 1 ? g->v.y
                                      : next->v.b);
      if (loop->rival.failure[0] != '\0') {
        return 0;
      }
    }
  }
  if (loop->rival.algorithm != s->grids[0].products[0].rival.algorithm) {
    bench_rival_close(&loop->rival);
    loop->rival.algorithm = s->grids[0].products[0].rival.algorithm;
    bench_rival_open(&loop->rival);
  }
  bench_gpu_wait(loop->gpu);
  loop->graphs[0] = bench_loop_record(loop, 1);
  return loop->rival.failure[0] == '\0';
}

static void bench_amg_close(bench_amg *s) {
  merbit_context *context = s->loop.gpu->context;
  int l, k;
  bench_gpu_wait(s->loop.gpu);
  for (l = 0; l < s->count; l++) {
    bench_amg_grid *g = &s->grids[l];
    if (l > 0) {
      mbi_device_release(context, g->v.b);
      mbi_device_release(context, g->v.t);
      mbi_device_release(context, g->v.y);
    } /* the first level's belong to the loop */
    mbi_device_release(context, g->v.inverse);
    for (k = 0; k < 3; k++) {
      bench_rival_destroy(&g->products[k].rival);
    }
  }
  bench_loop_close(&s->loop);
}

#endif
