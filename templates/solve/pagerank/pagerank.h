#ifndef MBI_PAGERANK_H
#define MBI_PAGERANK_H
#include "solve/core/solver.h"

#define MBS_FUNCTION static
#define MBS_CALLED static
#include "solve/pagerank/steps.cuh"
#undef MBS_FUNCTION
#undef MBS_CALLED

#define MBI_PAGERANK_KERNELS 6
#define MBI_PAGERANK_LOOK (2 * MBI_SOLVE_SPAN) /* iterations before the first, of a loop */

typedef struct mbi_pagerank_gpu {
  void *kernels[MBI_PAGERANK_KERNELS]; /* CUfunction */
  void *z[3]; /* by turns; with two products that alternate z[0], and those */
  void *weights, *teleport, *partials;
} mbi_pagerank_gpu;

typedef struct mbi_pagerank {
  merbit_solver engine; /* CUDA: what solve/core/recorded.c needs of a solver; stream, scalars */
  mbi_solve_method method;
  merbit_context *context;
  merbit_pagerank_desc desc; /* defaults filled in */
  merbit_type type;
  int64_t n;
  merbit_view links;          /* the graph that the plan takes: the caller's, or of */
  merbit_view copy, expanded; /* a device graph's copy; of a triangle: both */
  merbit_matrix *entries;     /* of blocks */
  merbit_operation operation; /* that makes A^T of links */
  mbi_weights weights; /* none where CUDA counts those of a pattern */
  void *teleport;      /* the distribution, where it is the caller's */
  merbit_plan *plan;   /* of A^T */
  void *ranks;         /* the caller's; on the CPU they hold z until the end */
  mbi_solve_memory memory; /* scalars, CUDA: as the last look found them */
  int64_t looks;
  int known;        /* iterations whose changes are in the history */
  void *y;          /* CPU: the product, */
  void *past;       /* and z of the iteration before */
  double *partials; /* CPU: change and dangling mass of each chunk */
  mbi_pagerank_gpu gpu;
} mbi_pagerank;

#endif
