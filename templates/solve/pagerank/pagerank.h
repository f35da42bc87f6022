#ifndef MBI_PAGERANK_H
#define MBI_PAGERANK_H
#include "solve/core/solver.h"

typedef struct mbi_weights {
  merbit_context *context;
  const merbit_view *graph; /* a CSR or COO in host memory whose arrays have been checked */
  double *sums;             /* W(i); 0 for a dangling vertex */
  void *totals;             /* W(i) in the graph's type; -1 for a dangling vertex */
  void *scaled;             /* values, row i divided by a power of two close to W(i); or NULL */
  int tasks;
  int64_t bad[MBI_MAX_THREADS]; /* per task: its first entry that is no valid weight, or -1 */
} mbi_weights;

#define MBS_FUNCTION static
#define MBS_CALLED static
#include "solve/pagerank/steps.cuh"
#include "solve/pagerank/pagerank_arguments.cuh"
#undef MBS_FUNCTION
#undef MBS_CALLED

#define MBI_PAGERANK_THREADS 256 /* threads per thread block; MBK_PAGERANK_THREADS */
#define MBI_PAGERANK_BLOCKS 1024

#define MBI_PAGERANK_KERNELS 6
#define MBI_PAGERANK_CHECK                                                                     \
  (2 * MBI_SOLVE_ROUND_FIRST) /* iterations before the first convergence check of a loop */

typedef struct mbi_pagerank_gpu {
  void *kernels[MBI_PAGERANK_KERNELS]; /* CUfunction */
  void *z[3]; /* z[0] and z[1] alternate; with method MERBIT z[0] and two products */
  void *weights, *teleport, *partials;
} mbi_pagerank_gpu;

typedef struct mbi_pagerank {
  merbit_solver engine; /* CUDA: stream, scalars and recorded graph; must be first */
  mbi_solve_method method;
  merbit_context *context;
  merbit_pagerank_desc desc; /* defaults filled in */
  merbit_type type;
  int64_t n;
  merbit_view links;          /* the plan's graph: the caller's, or one of these: */
  merbit_view copy, expanded; /* host copy of a device graph; both triangles */
  merbit_matrix *entries;     /* a BSR graph as single entries */
  merbit_operation operation; /* turns links into A^T */
  mbi_weights weights;        /* empty if the GPU computes them */
  void *teleport;             /* the caller's distribution, normalised; or NULL */
  merbit_plan *plan;          /* of A^T */
  void *ranks;                /* the caller's array; on the CPU it holds z until the end */
  mbi_solve_memory memory;    /* scalars; CUDA: as of the last convergence check */
  int64_t synchronizations;   /* number of convergence checks by the host */
  int history_count;          /* iterations in the history */
  void *y;                    /* CPU: the result of the product */
  void *past;                 /* CPU: the previous z */
  double *partials;           /* CPU: change and dangling mass of each chunk */
  mbi_pagerank_gpu gpu;
} mbi_pagerank;

#ifdef MBI_SEPARATE
/* solve/pagerank/weights.c */
MBI_INTERNAL merbit_status mbi_weights_check(merbit_context *context, const merbit_view *graph);
MBI_INTERNAL merbit_status mbi_weights_create(merbit_context *context, const merbit_view *graph,
                                              mbi_weights *w);
MBI_INTERNAL void mbi_weights_destroy(merbit_context *context, mbi_weights *w);
/* solve/pagerank/pagerank.c */
MBI_INTERNAL int64_t mbi_pagerank_blocks(const mbi_pagerank *run);
MBI_INTERNAL uint64_t mbi_pagerank_divide(mbi_pagerank *run, int dual, mbi_devptr space);
MBI_INTERNAL merbit_status mbi_pagerank_check(mbi_pagerank *run, const merbit_view *graph,
                                              const void *ranks);
MBI_INTERNAL merbit_side mbi_pagerank_side(const mbi_pagerank *run);
MBI_INTERNAL merbit_status mbi_pagerank_encode(mbi_pagerank *run, const merbit_view *graph);
MBI_INTERNAL int mbi_pagerank_calls(const merbit_pagerank_desc *desc, merbit_side side);
MBI_INTERNAL merbit_status mbi_pagerank_plan(mbi_pagerank *run, merbit_side side);
MBI_INTERNAL void mbi_pagerank_start(mbi_pagerank *run);
/* solve/pagerank/pagerank_cuda.c */
MBI_INTERNAL void mbi_pagerank_preamble(merbit_type type, merbit_index_type offset_type,
                                        mbi_preamble *preamble);
MBI_INTERNAL merbit_status mbi_pagerank_prepare_cuda(mbi_pagerank *run);
MBI_INTERNAL void mbi_pagerank_release_cuda(mbi_pagerank *run);
MBI_INTERNAL merbit_status mbi_pagerank_iterate_cuda(mbi_pagerank *run, int span);
MBI_INTERNAL merbit_status mbi_pagerank_fetch(mbi_pagerank *run);
#endif /* MBI_SEPARATE */

#endif
