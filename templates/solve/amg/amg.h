#ifndef MBI_AMG_H
#define MBI_AMG_H
#include "solve/precondition/precondition.h"

/* Algebraic multigrid by smoothed aggregation. Vanek, Mandel, Brezina: Algebraic multigrid by
 * smoothed aggregation for second and fourth order elliptic problems, Computing 56, 1996. By
 * unsmoothed aggregation if A is nonsymmetric. Notay: Aggregation-based algebraic multigrid for
 * convection-diffusion equations, SIAM J. Sci. Comput. 34, 2012.
 *
 * The set-up makes one level from the last: strength, aggregates, tentative, smooth, transpose,
 * multiply; a function each, in the file of its name. It computes in f64, whatever the type of
 * A and of the cycle. Its results do not depend on the number of threads. The set-up on the GPU
 * takes the same steps: its structure (strong, aggregate, patterns) is equal, its values are
 * equal to rounding. */

/* Two measures of an entry (i, j), with m_i the largest off-diagonal magnitude in row i. It is
 * strong, and connects nodes of an aggregate, if |a_ij| > theta max(m_i, m_j); theta falls
 * from level to level. It is kept in A_F, with which P is smoothed, if |a_ij| > filter m_i. */
#define MBI_AMG_THETA 0.5
#define MBI_AMG_THETA_BLOCKS 0.25 /* of the first level, if its nodes have several rows */
#define MBI_AMG_THETA_FALL 2.5
#define MBI_AMG_FILTER 0.02
#define MBI_AMG_OMEGA (4.0 / 3) /* P = (I - omega / lambda D^-1 A_F) T */
#define MBI_AMG_NEIGHBOURS 64   /* strong neighbours that vote on a node's aggregate */
#define MBI_AMG_SHORT 24        /* entries of a row that are sorted with their values */
#define MBI_AMG_HOPS 64 /* from a node to its strongest neighbour, and on to that one's */
/* The diagonal of A_F is at least this part of A's. */
#define MBI_AMG_LEAST_DIAGONAL 0.1
/* A row is one-sided if the sum of |a_ij - a_ji| is more than this part of that of |a_ij| +
 * |a_ji|. A is nonsymmetric if more than a quarter of the rows of a sample are. */
#define MBI_AMG_ONE_SIDED (1.0 / 3)
#define MBI_AMG_SAMPLE 1024       /* rows, hashed: some more than once */
#define MBI_AMG_SAMPLE_ENTRIES 64 /* so many of each */
#define MBI_AMG_DENSE 6       /* P = T if A P had more entries, for each of A and each vector */
#define MBI_LAMBDA_STEPS 8    /* of Lanczos's method */
#define MBI_LAMBDA_LEAST 1e-8 /* a smaller beta ends it, of a matrix with 1 on its diagonal */
#define MBI_LAMBDA_SAFETY 1.1
#define MBI_LAMBDA_DOMINANT 2.01 /* the bound of a matrix with diagonally dominant rows */
#define MBI_AMG_COARSENING 1.5   /* the least factor by which the next level is smaller */
#define MBI_AMG_LEVELS 16        /* the most levels */
#define MBI_AMG_COARSEST 256     /* a level of no more rows is solved by its dense inverse */

/* A CSR in host memory: base 0, 32-bit offsets and columns. */
typedef struct mbi_amg_csr {
  int64_t rows, cols, nnz;
  int32_t *row_ptr; /* rows + 1 */
  int32_t *col_ind; /* ascending in each row */
  double *values;   /* NULL: a pattern */
} mbi_amg_csr;

/* A level of the hierarchy while it is set up. `block` rows of A are a node: row i belongs to
 * node i / block. The number of rows is a multiple of `block`. */
typedef struct mbi_amg_level {
  mbi_amg_csr a;       /* rows x rows */
  int borrowed;        /* 1: the arrays of `a` belong to somebody else */
  int block;           /* rows of a node */
  mbi_amg_csr strong;  /* nodes x nodes: the strong neighbours of each node, itself not among
                        * them; values: NULL. Released once there are aggregates */
  unsigned char *kept; /* a bit for each entry of A: whether A_F keeps it. Those of the own node
                        * are kept. A row begins a byte: mbi_amg_kept */
  int32_t *strongest;  /* of each node: its first neighbour of the largest magnitude, or -1.
                        * Released once there are aggregates */
  int32_t *aggregate;  /* of each node; -1: isolated, it has no neighbour */
  int32_t aggregates;  /* number of them: nodes of the next level */
  int vectors;         /* near-null-space vectors k: rows of a node of the next level */
  double *modes;       /* the near-null-space: rows x k, row by row */
  double *t; /* the tentative prolongation: rows x k, row by row. Row i has its entries in
              * the columns aggregate[i / block] * k + 0, ..., k - 1; zeros if isolated */
  int plain; /* 1: P = T, because A P would fill up or the first A is nonsymmetric */
  int nonsymmetric; /* of the first level: whether A is */
  double *inverse;  /* D^-1, the inverse diagonal of A; 0 where the diagonal is 0 */
  double lambda;    /* an upper bound or estimate of the largest eigenvalue of D^-1 A */
  mbi_amg_csr p, r; /* rows x aggregates * k, and its transpose */
  mbi_amg_csr ap;   /* the structure of A P: solve/amg/multiply.c */
} mbi_amg_level;

/* A CSR that tasks build row by row: solve/amg/rows.c. */
enum { MBI_AMG_NO_MEMORY = 1, MBI_AMG_TOO_MANY = 2 };
typedef struct mbi_amg_part { /* the rows of one task */
  int32_t *col_ind;
  double *values;
  int64_t used, room, first; /* entries; the first one's place in the whole */
  int failed;                /* MBI_AMG_NO_MEMORY, MBI_AMG_TOO_MANY or 0 */
} mbi_amg_part;
typedef struct mbi_amg_build {
  merbit_context *context;
  mbi_amg_csr *to;
  const char *what; /* a noun for errors */
  /* Appends a task's rows to its part, and sets to->row_ptr[row + 1] to their lengths; or sets
   * their values in to->values if `known`. `marks` has `columns` elements of -1. Returns early
   * if mbi_amg_reserve does not give room. */
  void (*rows)(struct mbi_amg_build *build, int task, int32_t *marks);
  void *self; /* for `rows` */
  int tasks, valued;
  int group;             /* entries for each element of col_ind; 0: 1 */
  int known;             /* 1: `to` has row_ptr and col_ind from the start, and lacks values */
  int64_t columns, hint; /* the expected number of entries */
  int32_t *marks;
  mbi_amg_part parts[MBI_MAX_THREADS];
} mbi_amg_build;

#define MBI_CYCLE_DEGREE 2  /* sweeps before and after the coarse correction; even */
#define MBI_CYCLE_RATIO 4.0 /* they damp eigenvalues between lambda / 4 and lambda */
/* The sweeps of a nonsymmetric A damp those between lambda / 2 and lambda. Their weights are
 * then at most 2 / lambda, and complex eigenvalues in the disk around lambda / 2 are damped as
 * well. The cycle visits a level twice if the last one has MBI_CYCLE_SHRINK times its entries.
 */
#define MBI_CYCLE_RATIO_NONSYMMETRIC 2.0
#define MBI_CYCLE_SHRINK 1.6
#define MBI_CYCLE_MOST 8 /* sweeps on a coarsest level that is too large for an inverse */
#define MBI_CYCLE_RATIO_LAST 30.0
#define MBI_CYCLE_SCALARS (3 * (2 + MBI_CYCLE_MOST))

/* A level of the cycle, on the object's side and in its type. */
typedef struct mbi_amg_grid {
  int64_t rows;
  merbit_view views[3];  /* A, P, R; of the coarsest level A alone */
  merbit_plan *plans[3]; /* of these; of the coarsest level its inverse's, if there is one */
  float *single[3];      /* f32: values of views of the host, or NULL */
  void *inverse, *b, *x, *y; /* vectors of `rows`: D^-1, right-hand side, and two iterates.
                              * Level 0 has b and y from the caller */
} mbi_amg_grid;

typedef struct mbi_amg { /* the state of a preconditioner of kind AMG */
  int count;             /* of levels */
  mbi_amg_level levels[MBI_AMG_LEVELS];
  int64_t entries[MBI_AMG_LEVELS]; /* of the matrices */
  mbi_amg_grid grids[MBI_AMG_LEVELS];
  mbi_amg_csr
      coarsest; /* the inverse of the coarsest matrix as a CSR; no rows: there is none */
  float *coarsest_single;
  merbit_view dense;       /* the view of it */
  struct mbi_amg_gpu *gpu; /* the set-up on the GPU, or NULL */
  void *space;             /* on the object's side: scalars and vectors */
  uint64_t space_bytes;
  double *scalars;
} mbi_amg;

#ifdef MBI_SEPARATE
/* solve/amg/rows.c */
MBI_INTERNAL void mbi_amg_csr_release(merbit_context *context, mbi_amg_csr *csr);
MBI_INTERNAL merbit_view mbi_amg_view(const mbi_amg_csr *csr);
MBI_INTERNAL int64_t mbi_amg_share(const mbi_amg_csr *csr, int tasks, int task);
MBI_INTERNAL int mbi_amg_reserve(mbi_amg_build *build, int task, int64_t entries);
MBI_INTERNAL merbit_status mbi_amg_build_run(merbit_context *context, mbi_amg_build *build,
                                             int64_t rows, int64_t cols);
MBI_INTERNAL void mbi_amg_sort(int32_t *columns, int64_t length);
MBI_INTERNAL void mbi_amg_sort_row(int32_t *col_ind, double *values, int64_t length,
                                   const int32_t *marks, int32_t start);
MBI_INTERNAL merbit_status mbi_amg_take(merbit_context *context, const merbit_view *view,
                                        int flags, mbi_amg_csr *csr);
/* solve/amg/strength.c */
/* Returns the bits of a row in level->kept, from the lowest one of the first byte on. */
MBI_INTERNAL unsigned char *mbi_amg_kept(const mbi_amg_level *level, int64_t row);
/* Sets level->strong, level->kept and level->strongest. The magnitude of a block is its
 * Frobenius norm. */
MBI_INTERNAL merbit_status mbi_amg_strength(merbit_context *context, double theta,
                                            mbi_amg_level *level);
/* solve/amg/aggregate.c */
MBI_INTERNAL uint64_t mbi_amg_hash(uint64_t number);
/* Sets level->aggregate (allocates it) and level->aggregates. Roots are a maximal independent
 * set of distance 2; they take their strong neighbours; whoever is left joins the aggregate of
 * most of its first MBI_AMG_NEIGHBOURS strong neighbours, of several the lowest. Nodes without
 * strong neighbours, whose own coefficient is small beside those around, join that of their
 * strongest neighbour, or of its strongest neighbour, and so on. There is no second pass: it
 * made levels twice as large for a tenth fewer iterations. */
MBI_INTERNAL merbit_status mbi_amg_aggregate(merbit_context *context, mbi_amg_level *level);
/* solve/amg/tentative.c */
/* Fails if an element of the caller's near-null-space, `vectors` columns one after the other,
 * is not finite. */
MBI_INTERNAL merbit_status mbi_amg_check_modes(merbit_context *context, const double *modes,
                                               int64_t rows, int vectors);
/* Sets level->t from level->modes, and *coarse to the near-null-space of the next level:
 * aggregates * k rows of k. Allocates both. */
MBI_INTERNAL merbit_status mbi_amg_tentative(merbit_context *context, mbi_amg_level *level,
                                             double **coarse);
/* solve/amg/lambda.c */
MBI_INTERNAL double mbi_amg_largest(const double *alpha, const double *beta, int steps,
                                    double most);
MBI_INTERNAL merbit_status mbi_amg_fail_bound(merbit_context *context, int64_t row,
                                              int64_t rows);
MBI_INTERNAL merbit_status mbi_amg_fail_diagonal(merbit_context *context, int64_t row);
/* Sets level->inverse (allocates it) and level->lambda: the largest row sum of |D^-1 A| if that
 * is at most 2.01, else 1.1 times the estimate of 8 Lanczos steps, if that is smaller. */
MBI_INTERNAL merbit_status mbi_amg_diagonal(merbit_context *context, mbi_amg_level *level);
/* solve/amg/smooth.c */
/* Sets level->p to T if level->plain is 1, else to (I - omega / lambda D_F^-1 A_F) T. A_F is A
 * without the entries that level->kept leaves out, which are added to the diagonal block. D_F
 * is its diagonal, or MBI_AMG_LEAST_DIAGONAL of A's if that is more. Sets level->plain to 1
 * itself if there are more products a_ij p_jk than MBI_AMG_DENSE nnz(A) vectors. */
MBI_INTERNAL merbit_status mbi_amg_smooth(merbit_context *context, mbi_amg_level *level);
/* Sets level->r to the transpose of level->p. This function, the last and the next set values
 * alone if there is the structure. */
MBI_INTERNAL merbit_status mbi_amg_transpose(merbit_context *context, mbi_amg_level *level);
/* solve/amg/multiply.c */
/* Sets *coarse = R (A P) of a level, and level->ap. Sums run in the order of A's rows and of
 * R's. */
MBI_INTERNAL merbit_status mbi_amg_galerkin(merbit_context *context, mbi_amg_level *level,
                                            mbi_amg_csr *coarse);
/* solve/amg/hierarchy.c */
/* Returns whether A is nonsymmetric, as where convection outweighs diffusion. */
MBI_INTERNAL int mbi_amg_nonsymmetric(const mbi_amg_csr *a);
MBI_INTERNAL merbit_status mbi_amg_coarsen(merbit_context *context, mbi_amg_level *levels,
                                           int *count);
MBI_INTERNAL merbit_status mbi_amg_recompute(merbit_context *context, mbi_amg_level *levels,
                                             int count);
MBI_INTERNAL void mbi_amg_level_release(merbit_context *context, mbi_amg_level *level);
/* solve/amg/coarsest.c */
MBI_INTERNAL void mbi_coarsest_invert(double *m, double *scratch, int n, double least);
MBI_INTERNAL merbit_status mbi_amg_invert(merbit_context *context, const mbi_amg_csr *a,
                                          double least, mbi_amg_csr *inverse);
/* solve/amg/finest.c */
MBI_INTERNAL merbit_status mbi_amg_narrow(merbit_context *context, const mbi_amg_csr *csr,
                                          float **to);
MBI_INTERNAL merbit_status mbi_amg_finest(merbit_context *context, const merbit_view *host,
                                          mbi_amg_level *level);
MBI_INTERNAL void mbi_amg_forget_finest(merbit_context *context, mbi_amg_level *level);
/* solve/amg/cycle.c */
MBI_INTERNAL merbit_status mbi_cycle_plan(merbit_preconditioner *p, const merbit_view *view,
                                          int swept, int unchecked, int general,
                                          merbit_plan **plan);
MBI_INTERNAL merbit_status mbi_cycle_create(merbit_preconditioner *p, mbi_amg *amg);
MBI_INTERNAL merbit_status mbi_cycle_refill(merbit_preconditioner *p, mbi_amg *amg);
MBI_INTERNAL void mbi_cycle_destroy(merbit_preconditioner *p, mbi_amg *amg);
MBI_INTERNAL merbit_status mbi_cycle_run(const mbi_amg *amg, int l, int visit, const void *b,
                                         void *y, void *stream);
/* solve/amg/amg.c */
extern const mbi_precondition_method mbi_amg_method;
#endif /* MBI_SEPARATE */

#endif
