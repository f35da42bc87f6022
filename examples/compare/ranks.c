/* The PageRank programs of pagerank.py that are not Python: merbit, and SuiteSparse:GraphBLAS
 * with the calls of LAGraph's LAGr_PageRank, in double. The graph is a CSR without values. Each
 * function returns the number of iterations, or -1; seconds[0] is the time of the set-up,
 * seconds[1] that of the iterations. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <GraphBLAS.h>

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct graph {
  int64_t n, edges;
  const int32_t *row_ptr, *col_ind;
} graph;

int ranks_merbit(const graph *g, double damping, double tolerance, int threads, double *ranks,
                 double *seconds, char *note) {
  const merbit_view view = merbit_csr(g->n, g->n, g->edges, g->row_ptr, g->col_ind, NULL);
  merbit_context_desc context_desc;
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  merbit_context *context;
  merbit_status status;
  memset(&context_desc, 0, sizeof context_desc);
  memset(&desc, 0, sizeof desc);
  context_desc.side = MERBIT_SIDE_CPU;
  context_desc.threads = threads;
  desc.damping = damping;
  desc.tolerance = tolerance;
  if (merbit_context_create(&context_desc, &context, NULL) != MERBIT_OK) {
    return -1;
  }
  status = merbit_pagerank(context, &view, &desc, ranks, &result);
  merbit_context_destroy(context);
  seconds[0] = result.prepare_seconds;
  seconds[1] = result.iterate_seconds;
  (void)snprintf(note, 512, "%s", result.description);
  return status == MERBIT_OK && result.stop == MERBIT_STOP_CONVERGED ? result.iterations : -1;
}

/* ---- GraphBLAS --------------------------------------------------------------------------- */

typedef struct work {
  GrB_Matrix at;
  GrB_Vector r, t, w, d, sinks, lost;
  GrB_Index sink_count;
} work;

static GrB_Matrix import(const graph *g) {
  const size_t rows = (size_t)g->n + 1, edges = (size_t)g->edges;
  GrB_Index *p = (GrB_Index *)malloc(rows * sizeof *p);
  GrB_Index *j = (GrB_Index *)malloc((edges + 1) * sizeof *j);
  double *one = (double *)malloc(sizeof *one);
  void *values = one;
  GrB_Matrix a = NULL;
  size_t k;
  *one = 1;
  for (k = 0; k < rows; k++) {
    p[k] = (GrB_Index)g->row_ptr[k];
  }
  for (k = 0; k < edges; k++) {
    j[k] = (GrB_Index)g->col_ind[k];
  }
  (void)GxB_Matrix_import_CSR(&a, GrB_FP64, (GrB_Index)g->n, (GrB_Index)g->n, &p, &j, &values,
                              rows * sizeof *p, edges * sizeof *j, sizeof *one, true, false,
                              NULL);
  return a;
}

/* Computes the transpose, the out-degrees divided by the damping, and the sinks. */
static void prepare(GrB_Matrix a, GrB_Index n, double damping, work *w) {
  GrB_Vector degree, full;
  (void)GrB_Matrix_new(&w->at, GrB_FP64, n, n);
  (void)GrB_transpose(w->at, NULL, NULL, a, NULL);
  (void)GrB_Vector_new(&degree, GrB_FP64, n);
  (void)GrB_Matrix_reduce_Monoid(degree, NULL, NULL, GrB_PLUS_MONOID_FP64, a, NULL);
  (void)GrB_Vector_nvals(&w->sink_count, degree);
  w->sink_count = n - w->sink_count;
  (void)GrB_Vector_new(&w->sinks, GrB_BOOL, n);
  (void)GrB_Vector_assign_BOOL(w->sinks, degree, NULL, true, GrB_ALL, n, GrB_DESC_SC);
  (void)GrB_Vector_new(&full, GrB_FP64, n);
  (void)GrB_Vector_assign_FP64(full, NULL, NULL, 1 / damping, GrB_ALL, n, NULL);
  (void)GrB_Vector_new(&w->d, GrB_FP64, n);
  (void)GrB_Vector_apply_BinaryOp2nd_FP64(degree, NULL, NULL, GrB_DIV_FP64, degree, damping,
                                          NULL);
  (void)GrB_Vector_eWiseAdd_BinaryOp(w->d, NULL, NULL, GrB_MAX_FP64, full, degree, NULL);
  (void)GrB_Vector_new(&w->r, GrB_FP64, n);
  (void)GrB_Vector_new(&w->t, GrB_FP64, n);
  (void)GrB_Vector_new(&w->w, GrB_FP64, n);
  (void)GrB_Vector_new(&w->lost, GrB_FP64, n);
  (void)GrB_Vector_assign_FP64(w->r, NULL, NULL, 1.0 / (double)n, GrB_ALL, n, NULL);
  (void)GrB_Vector_assign_FP64(w->t, NULL, NULL, 0, GrB_ALL, n, NULL);
  (void)GrB_Matrix_wait(w->at, GrB_MATERIALIZE);
  (void)GrB_Vector_free(&degree);
  (void)GrB_Vector_free(&full);
}

static double iterate(work *w, GrB_Index n, double damping) {
  GrB_Vector last = w->r;
  double teleport = (1 - damping) / (double)n, lost = 0, change = 0;
  if (w->sink_count > 0) {
    (void)GrB_Vector_clear(w->lost);
    (void)GrB_Vector_assign(w->lost, w->sinks, NULL, w->r, GrB_ALL, n, GrB_DESC_S);
    (void)GrB_Vector_reduce_FP64(&lost, NULL, GrB_PLUS_MONOID_FP64, w->lost, NULL);
    teleport += damping / (double)n * lost;
  }
  w->r = w->t;
  w->t = last;
  (void)GrB_Vector_eWiseMult_BinaryOp(w->w, NULL, NULL, GrB_DIV_FP64, w->t, w->d, NULL);
  (void)GrB_Vector_assign_FP64(w->r, NULL, NULL, teleport, GrB_ALL, n, NULL);
  (void)GrB_mxv(w->r, NULL, GrB_PLUS_FP64, GxB_PLUS_SECOND_FP64, w->at, w->w, NULL);
  (void)GrB_Vector_assign(w->t, NULL, GrB_MINUS_FP64, w->r, GrB_ALL, n, NULL);
  (void)GrB_Vector_apply(w->t, NULL, NULL, GrB_ABS_FP64, w->t, NULL);
  (void)GrB_Vector_reduce_FP64(&change, NULL, GrB_PLUS_MONOID_FP64, w->t, NULL);
  return change;
}

/* Runs PageRank with GraphBLAS. The import of the CSR is not timed. */
int ranks_graphblas(const graph *g, double damping, double tolerance, int threads, double *ranks,
                    double *seconds, char *note) {
  static int started;
  const GrB_Index n = (GrB_Index)g->n;
  GrB_Matrix a;
  GrB_Index count = n;
  work w;
  double start, change = 1;
  int iterations = 0;
  if (!started) {
    (void)GrB_init(GrB_NONBLOCKING);
    started = 1;
  }
  (void)GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads);
  note[0] = '\0';
  a = import(g);
  start = now();
  prepare(a, n, damping, &w);
  seconds[0] = now() - start;
  start = now();
  for (; iterations < 1000 && change >= tolerance; iterations++) {
    change = iterate(&w, n, damping);
  }
  seconds[1] = now() - start;
  (void)GrB_Vector_extractTuples_FP64(NULL, ranks, &count, w.r);
  (void)GrB_Matrix_free(&a);
  (void)GrB_Matrix_free(&w.at);
  (void)GrB_Vector_free(&w.r);
  (void)GrB_Vector_free(&w.t);
  (void)GrB_Vector_free(&w.w);
  (void)GrB_Vector_free(&w.d);
  (void)GrB_Vector_free(&w.sinks);
  (void)GrB_Vector_free(&w.lost);
  return count == n && change < tolerance ? iterations : -1;
}
