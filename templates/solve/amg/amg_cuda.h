#ifndef MBI_AMG_CUDA_H
#define MBI_AMG_CUDA_H
#include "spmv/stages/stages.h"
#include "solve/amg/amg.h"
#include "solve/amg/multiply_arguments.cuh"
#include "solve/amg/setup_arguments.cuh"

/* The set-up of algebraic multigrid on the GPU: the steps of solve/amg/amg.h. Only counts are
 * copied to the host, not the matrix. If nodes have several rows or vectors, structure is
 * computed for nodes and expanded to rows at the end: all rows of a node have the same
 * columns. */

#define MBI_AMG_FILE "solve/amg/setup.cu"
#define MBI_AMG_THREADS 256 /* MBK_MULTIPLY_THREADS */
#define MBI_AMG_CHUNKS 32
#define MBI_AMG_ROUNDS                                                                         \
  4 /* rounds of aggregation before the host checks whether all nodes are decided */

/* A pool of GPU memory: parts are taken one by one and given back all at once. */
typedef struct mbi_amg_pool {
  uint64_t grow; /* bytes of a new chunk, unless a part needs more */
  mbi_devptr chunk[MBI_AMG_CHUNKS];
  uint64_t bytes[MBI_AMG_CHUNKS], used[MBI_AMG_CHUNKS];
  int count;
} mbi_amg_pool;

/* A CSR in GPU memory: base 0, 32-bit offsets and columns ascending in each row, f64 values. */
typedef struct mbi_amg_there {
  int64_t rows, cols, nnz;
  mbi_devptr row_ptr, col_ind, values;
  uint32_t longest;    /* number of entries of the longest row; 0: unknown */
  uint32_t high, wide; /* if its entries are blocks: their rows and columns; 0 means 1 */
} mbi_amg_there;

/* Numbers that the kernels report to the host. */
typedef struct mbi_amg_facts {
  uint64_t total;               /* the sum of a scan */
  uint32_t most;                /* the largest count of a scan */
  uint32_t long_rows;           /* number of long rows of a product */
  uint64_t products;            /* number of products in A P */
  uint32_t missing;             /* complement of the first row without a diagonal, or 0 */
  uint32_t wild;                /* complement of the first row whose sum is not finite, or 0 */
  uint32_t longest;             /* number of entries of the longest row examined so far */
  uint32_t unsorted;            /* 1: the columns of a row do not ascend */
  uint32_t one_sided;           /* number of one-sided rows in the sample */
  uint32_t strange;             /* 1: an element of the near-null-space is not finite */
  uint32_t open;                /* number of nodes that the last round left undecided */
  double bound[MBI_AMG_LEVELS]; /* bounds of the eigenvalues of D^-1 A, per level */
  double alpha[MBI_LAMBDA_STEPS], beta[MBI_LAMBDA_STEPS]; /* coefficients of Lanczos */
} mbi_amg_facts;

enum {
  MBI_AMG_SCAN_SUMS,
  MBI_AMG_SCAN_TILES,
  MBI_AMG_SCAN_COUNTS,
  MBI_AMG_COLUMNS_PASS,
  MBI_AMG_LONG_COLUMNS,
  MBI_AMG_VALUES_PASS,
  MBI_AMG_BLOCKS_PASS,
  MBI_AMG_PACKS_PASS,
  MBI_AMG_LONG_VALUES,
  MBI_AMG_COPY,
  MBI_AMG_MOVE,
  MBI_AMG_ROWS,
  MBI_AMG_SYMMETRY,
  MBI_AMG_LINKS,
  MBI_AMG_NODES,
  MBI_AMG_NORMS,
  MBI_AMG_FILL,
  MBI_AMG_LUMP,
  MBI_AMG_EXPAND,
  MBI_AMG_LANCZOS_START,
  MBI_AMG_LANCZOS_MULTIPLY,
  MBI_AMG_LANCZOS_SUBTRACT,
  MBI_AMG_PRODUCTS,
  MBI_AMG_NEAR_KEYS,
  MBI_AMG_DECIDE,
  MBI_AMG_JOIN,
  MBI_AMG_REST,
  MBI_AMG_FOLLOW,
  MBI_AMG_TENTATIVE,
  MBI_AMG_DEPEND,
  MBI_AMG_WEIGH,
  MBI_AMG_BLOCK,
  MBI_AMG_SETTLE,
  MBI_AMG_ATTACH,
  MBI_AMG_BESIDE,
  MBI_AMG_POINT,
  MBI_AMG_NEARBY,
  MBI_AMG_GATHER,
  MBI_AMG_RESTRICT,
  MBI_AMG_RELAX,
  MBI_AMG_INVERT,
  MBI_AMG_KERNELS
};

/* A level in GPU memory: see mbi_amg_level. */
typedef struct mbi_amg_gpu_level {
  int block, vectors; /* rows of a node, near-null-space vectors */
  mbi_amg_there a, p, r;
  mbi_amg_there graph;  /* the blocks of A, norms in scratch memory; A if block is 1 */
  mbi_amg_there full;   /* A as full blocks; the values may be in scratch memory */
  mbi_amg_there blocks; /* structure of P between nodes and aggregates */
  mbi_amg_there turned; /* structure of its transpose R */
  mbi_amg_there ap;     /* structure of A P */
  mbi_devptr links;     /* per entry of `graph`: its column, complemented if dropped */
  mbi_devptr aggregate; /* per node */
  mbi_devptr modes, t;  /* rows x vectors, row by row, but the modes of the first level column
                         * by column. modes 0: a constant vector for each unknown of a node */
  mbi_devptr inverse;   /* per row */
  mbi_devptr scale;     /* per row, in scratch memory: D_F^-1, which smooths P */
  mbi_devptr places;    /* per entry of R: its index in P */
  mbi_devptr single[MBI_GRID_MATRICES]; /* values of the cycle's matrices in f32, or 0 */
  /* With levels by reduction, `aggregate` has each row's column in P, and `inverse` is 0 at C
   * points, inverse_c at F points; see solve/amg/relaxation.c */
  mbi_amg_there halves[2]; /* the row blocks */
  mbi_devptr points;       /* per C point: its row; 0 on the last level */
  mbi_devptr inverse_c;    /* per row */
  int32_t aggregates;
  mbi_devptr empty; /* if P = T: row offsets of a matrix without entries; else 0 */
  double lambda;
} mbi_amg_gpu_level;

/* A hierarchy in GPU memory, with what is needed to make it and to renew its values. */
typedef struct mbi_amg_gpu {
  merbit_context *context;
  mbi_program program;
  void *kernels[MBI_AMG_KERNELS]; /* CUfunction */
  mbi_transposing transpose;      /* its program and kernels */
  double no_diagonal;             /* up to this magnitude, a diagonal entry has no inverse */
  mbi_amg_pool keep, scratch;     /* memory of the hierarchy; memory of one level's set-up */
  mbi_devptr facts;               /* an mbi_amg_facts */
  mbi_amg_there inverse;          /* of the last level's matrix, with all entries */
  mbi_devptr inverse_single;      /* its values in f32, or 0 */
  mbi_devptr arrays[3];           /* copies of a host matrix's row_ptr, col_ind, values; or 0 */
  mbi_amg_there given;            /* the user's matrix if A is a sorted copy of it */
  mbi_amg_gpu_level levels[MBI_AMG_LEVELS];
  int count;        /* number of levels */
  int nonsymmetric; /* whether A is nonsymmetric: mbi_amg_nonsymmetric */
  int reduced;      /* 1: levels by reduction */
} mbi_amg_gpu;

/* The address of a number in mbi_amg_facts. */
#define MBI_AMG_FACT(gpu, field) ((gpu)->facts + offsetof(mbi_amg_facts, field))

typedef struct mbi_amg_found { /* per node, in scratch memory */
  mbi_devptr most, strongest, state;
} mbi_amg_found;

#ifdef MBI_SEPARATE
/* solve/amg/pool_cuda.c */
MBI_INTERNAL merbit_status mbi_amg_pool_take(merbit_context *context, mbi_amg_pool *pool,
                                             uint64_t bytes, mbi_devptr *address);
MBI_INTERNAL void mbi_amg_pool_rewind(mbi_amg_pool *pool, const mbi_amg_pool *earlier);
MBI_INTERNAL void mbi_amg_pool_reset(mbi_amg_pool *pool);
MBI_INTERNAL uint64_t mbi_amg_pool_bytes(const mbi_amg_pool *pool);
MBI_INTERNAL void mbi_amg_pool_release(merbit_context *context, mbi_amg_pool *pool);
/* solve/amg/multiply_cuda.c */
MBI_INTERNAL merbit_status mbi_amg_gpu_open(mbi_amg_gpu *gpu);
MBI_INTERNAL merbit_status mbi_amg_launch(mbi_amg_gpu *gpu, int kernel, int64_t grid,
                                          int threads, size_t shared, const void *arguments);
MBI_INTERNAL int64_t mbi_amg_blocks(int64_t count);
MBI_INTERNAL uint32_t mbi_amg_row_lanes(int64_t rows, int64_t nnz);
MBI_INTERNAL merbit_status mbi_amg_run(mbi_amg_gpu *gpu, int kernel, int64_t threads,
                                       const void *arguments);
MBI_INTERNAL merbit_status mbi_amg_keep(mbi_amg_gpu *gpu, int64_t count, size_t size,
                                        mbi_devptr *address);
MBI_INTERNAL merbit_status mbi_amg_borrow(mbi_amg_gpu *gpu, int64_t count, size_t size,
                                          mbi_devptr *address);
MBI_INTERNAL merbit_status mbi_amg_move(mbi_amg_gpu *gpu, mbi_devptr from, mbi_devptr places,
                                        int64_t count, mbi_devptr to, mbi_devptr rounded);
MBI_INTERNAL merbit_status mbi_amg_read(mbi_amg_gpu *gpu, mbi_amg_facts *facts);
MBI_INTERNAL merbit_status mbi_amg_scan(mbi_amg_gpu *gpu, mbi_devptr counts, int64_t count);
MBI_INTERNAL merbit_status mbi_amg_check_entries(merbit_context *context, uint64_t entries);
MBI_INTERNAL merbit_status mbi_amg_product_columns(mbi_amg_gpu *gpu, const mbi_amg_there *a,
                                                   const mbi_amg_there *b, int smooths,
                                                   mbi_amg_there *c);
MBI_INTERNAL merbit_status mbi_amg_product_values(mbi_amg_gpu *gpu, const mbi_amg_there *a,
                                                  const mbi_amg_there *b,
                                                  const mbi_amg_gpu_level *smooths,
                                                  const mbi_amg_there *c);
MBI_INTERNAL merbit_status mbi_amg_turn(mbi_amg_gpu *gpu, const mbi_amg_there *p,
                                        mbi_amg_there *r, mbi_devptr *places);
/* solve/amg/aggregate_cuda.c */
MBI_INTERNAL merbit_status mbi_amg_look(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level, int kernel,
                                        double theta, const mbi_amg_found *found);
MBI_INTERNAL merbit_status mbi_amg_look_first(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                              mbi_amg_found *found);
MBI_INTERNAL merbit_status mbi_amg_fill(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                        const mbi_amg_found *found);
MBI_INTERNAL merbit_status mbi_amg_look_at_blocks(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                                  const mbi_amg_found *found);
MBI_INTERNAL merbit_status mbi_amg_find_lambda(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level);
MBI_INTERNAL merbit_status mbi_amg_find_aggregates(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                                   const mbi_amg_found *found);
MBI_INTERNAL merbit_status mbi_amg_check_rows(mbi_amg_gpu *gpu, const mbi_amg_gpu_level *level,
                                              const mbi_amg_facts *facts);
/* solve/amg/reduction_cuda.c */
/* Makes levels by reduction from the first one, on which the first pass has run, as
 * mbi_amg_coarsen does; otherwise leaves gpu->reduced 0 and the first level as it was. */
MBI_INTERNAL merbit_status mbi_amg_gpu_reduce(mbi_amg_gpu *gpu, mbi_amg_found *found);
MBI_INTERNAL merbit_status mbi_amg_gpu_reduce_again(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                                    const mbi_amg_gpu_level *next);
/* solve/amg/setup_cuda.c */
MBI_INTERNAL int mbi_amg_gpu_takes(const merbit_view *view);
MBI_INTERNAL merbit_status mbi_amg_gpu_create(mbi_amg_gpu *gpu, merbit_context *context,
                                              const merbit_view *view, int block, int vectors,
                                              double no_diagonal, const double *modes);
MBI_INTERNAL merbit_status mbi_amg_gpu_update(mbi_amg_gpu *gpu, const merbit_view *view);
MBI_INTERNAL merbit_status mbi_amg_gpu_inverse(mbi_amg_gpu *gpu, int l, int half,
                                               merbit_type type, mbi_devptr to);
MBI_INTERNAL merbit_status mbi_amg_gpu_show(mbi_amg_gpu *gpu, int l, int which,
                                            merbit_type type, merbit_view *view);
MBI_INTERNAL merbit_status mbi_amg_gpu_invert(mbi_amg_gpu *gpu, double least, merbit_type type,
                                              merbit_view *view);
MBI_INTERNAL uint64_t mbi_amg_gpu_bytes(const mbi_amg_gpu *gpu);
MBI_INTERNAL void mbi_amg_gpu_destroy(mbi_amg_gpu *gpu);
#endif /* MBI_SEPARATE */

#endif
