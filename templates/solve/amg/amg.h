#ifndef MBI_AMG_H
#define MBI_AMG_H
#include "solve/precondition/precondition.h"

/* Algebraic multigrid by smoothed aggregation: Vanek, Mandel, Brezina, "Algebraic multigrid by
 * smoothed aggregation for second and fourth order elliptic problems", Computing 56 (1996). If
 * A is nonsymmetric, by reduction: solve/amg/reduction.c. If it has blocks of unknowns or
 * near-null-space vectors as well, or if levels of reduction fill up, by unsmoothed
 * aggregation: Notay, "Aggregation-based algebraic multigrid for convection-diffusion
 * equations", SIAM J. Sci. Comput. 34 (2012).
 *
 * The set-up makes each level from the finer one in steps, each a function in the file of its
 * name: strength, aggregate, tentative, smooth (P, and its transpose R) and multiply (R A P);
 * or for reduction: splitting, reduction (P and R), reduce (R A P) and relaxation. It computes
 * in f64, whatever the type of A and of the cycle. Results do not depend on the number of
 * threads. The set-up on the GPU takes the same steps: its structure (strong, aggregate,
 * patterns) is equal, its values are equal up to rounding. */

/* Two thresholds for an entry (i, j), relative to m_i, the largest off-diagonal magnitude in
 * row i. The entry is strong, and may put nodes into one aggregate, if |a_ij| > theta max(m_i,
 * m_j); theta falls from level to level. The filtered matrix A_F, with which P is smoothed,
 * keeps it if |a_ij| > MBI_AMG_FILTER m_i. */
#define MBI_AMG_THETA 0.5
#define MBI_AMG_THETA_BLOCKS 0.25 /* for the first level if its nodes have several rows */
#define MBI_AMG_THETA_FALL 2.5
#define MBI_AMG_FILTER 0.02
#define MBI_AMG_OMEGA (4.0 / 3) /* P = (I - omega / lambda D^-1 A_F) T */
#define MBI_AMG_NEIGHBOURS 64   /* the most strong neighbours that vote on a node's aggregate */
#define MBI_AMG_SHORT 64        /* rows up to this long are sorted with their values */
#define MBI_AMG_BRIEF 8         /* rows up to this long are sorted by insertion */
#define MBI_AMG_HOPS 64 /* the most steps from strongest neighbour to strongest neighbour */
/* The diagonal of A_F is at least this fraction of A's. */
#define MBI_AMG_LEAST_DIAGONAL 0.1
/* A row is one-sided if its sum of |a_ij - a_ji| exceeds this fraction of its sum of |a_ij| +
 * |a_ji|. A is nonsymmetric if more than a quarter of the rows of a sample are one-sided. The
 * smaller fraction decides where levels by reduction are possible. */
#define MBI_AMG_ONE_SIDED (1.0 / 3)
#define MBI_REDUCTION_ONE_SIDED (1.0 / 5)
#define MBI_AMG_SAMPLE 1024       /* rows of the sample, picked by a hash: some occur twice */
#define MBI_AMG_SAMPLE_ENTRIES 64 /* the most entries compared in each row */
#define MBI_AMG_DENSE 6           /* P = T if A P had more entries per entry of A and vector */
#define MBI_LAMBDA_STEPS 8        /* the most Lanczos steps */
#define MBI_LAMBDA_LEAST 1e-8     /* a smaller beta ends Lanczos (the diagonal is 1) */
#define MBI_LAMBDA_SAFETY 1.1
#define MBI_LAMBDA_DOMINANT 2.01 /* up to this row-sum bound, rows are diagonally dominant */
#define MBI_AMG_COARSENING 1.5   /* a level must shrink by this factor, or it is the last */
#define MBI_AMG_LEVELS 24        /* the most levels */
#define MBI_AMG_COARSEST 256     /* levels of up to this many rows use a dense inverse */

/* Thresholds of reduction: of strong entries in the splitting, and of those that lead to the F
 * points of a row of R, from its C point and from those F points. */
#define MBI_REDUCTION_THETA 0.5
#define MBI_REDUCTION_THETA_FIRST 0.1
#define MBI_REDUCTION_THETA_SECOND 0.25
/* Where magnitudes are compared, those of at least this fraction of the largest count as equal
 * to it, and the first one is taken: rounding, which differs between compilers and GPUs,
 * decides nothing. Thresholds are multiplied by it. */
#define MBI_REDUCTION_EQUAL (1 - 1e-6)
#define MBI_REDUCTION_NOISE 1e-10 /* entries up to this fraction of the row's largest are 0 */
#define MBI_REDUCTION_ATTACH                                                                   \
  0.25 /* an F point with a smaller entry at C points, relative to its largest, has the column \
        * of a neighbour in P */
#define MBI_REDUCTION_NEAR 12        /* the most F points in a row of R */
#define MBI_REDUCTION_PIVOT 1e-300   /* a smaller pivot is that of a singular matrix, */
#define MBI_REDUCTION_SINGULAR 1e-12 /* or one up to this fraction of its column's largest */
#define MBI_REDUCTION_COARSENING 1.1 /* a level must shrink by this factor, or is the last */
#define MBI_REDUCTION_GROWTH 1.5 /* the most entries of a level per entry of the finer one */
#define MBI_REDUCTION_EVERY 2    /* levels 2, 4, 6, ... visit their next level twice */
#define MBI_REDUCTION_SWEEPS 3   /* over F points; odd */

/* A CSR in host memory: base 0, 32-bit offsets and columns. */
typedef struct mbi_amg_csr {
  int64_t rows, cols, nnz;
  int32_t *row_ptr; /* rows + 1 */
  int32_t *col_ind; /* ascending in each row */
  double *values;   /* NULL: a pattern */
} mbi_amg_csr;

/* A level of the hierarchy during the set-up. `block` rows of A form a node: row i belongs to
 * node i / block. The number of rows is a multiple of `block`. */
typedef struct mbi_amg_level {
  mbi_amg_csr a;       /* rows x rows */
  int borrowed;        /* 1: the arrays of `a` belong to a view */
  int block;           /* rows per node */
  mbi_amg_csr strong;  /* nodes x nodes, a pattern: the strong neighbours of each node, without
                        * itself. Released once the aggregates are known */
  unsigned char *kept; /* a bit for each entry of A: 1 if A_F keeps it; entries inside a node's
                        * block always are. Each row begins a new byte: mbi_amg_kept */
  int32_t *strongest;  /* per node: its first neighbour of the largest magnitude, or -1.
                        * Released once the aggregates are known */
  int32_t *aggregate;  /* per node; -1: isolated, without neighbours */
  int32_t aggregates;  /* number of aggregates: nodes of the next level */
  int vectors;         /* k near-null-space vectors: rows per node of the next level */
  double *modes;       /* the near-null-space: rows x k, row by row */
  double *t; /* the tentative prolongation: rows x k, row by row. Row i has its entries in the
              * columns aggregate[i / block] * k + 0, ..., k - 1; zeros if isolated */
  int plain; /* 1: P = T, because A P would fill up or the first level's A is nonsymmetric */
  int nonsymmetric; /* first level only: whether A is nonsymmetric */
  /* With levels by reduction, `aggregate` and `aggregates` are the numbers of C points (F
   * points have -1) and their count; `inverse` is that of solve/amg/relaxation.c. */
  int reduced;       /* first level only: 1: levels by reduction */
  double *most;      /* per row: its largest off-diagonal magnitude, or the diagonal one if the
                      * others are rounding, at least DBL_MIN; with a minus at C points.
                      * Released with aggregate once the next level is known */
  int32_t *attached; /* per row: the column of its entry in P, or -1 */
  int32_t *points;   /* per C point: its row */
  mbi_amg_csr halves[2]; /* rows x rows: A's rows at F points and at C points; others empty */
  double *inverse;       /* D^-1, the inverse diagonal of A; 0 where the diagonal is 0 */
  double lambda;         /* an upper bound or estimate of the largest eigenvalue of D^-1 A */
  mbi_amg_csr p, r;      /* rows x aggregates * k, and its transpose */
  mbi_amg_csr ap;        /* the structure of A P: solve/amg/multiply.c */
} mbi_amg_level;

/* A CSR that tasks build row by row: solve/amg/rows.c. */
enum { MBI_AMG_NO_MEMORY = 1, MBI_AMG_TOO_MANY = 2 };
typedef struct mbi_amg_part { /* the rows of one task */
  int32_t *col_ind;
  double *values;
  int64_t used, room, first; /* entries used and allocated; the first one's index in `to` */
  int failed;                /* MBI_AMG_NO_MEMORY, MBI_AMG_TOO_MANY or 0 */
} mbi_amg_part;
typedef struct mbi_amg_build {
  merbit_context *context;
  mbi_amg_csr *to;
  const char *what; /* a noun for errors */
  /* Appends a task's rows to its part and sets to->row_ptr[row + 1] to their lengths; if
   * `known`, sets their values in to->values instead. `marks` is scratch memory: `columns`
   * elements of -1. Returns early if mbi_amg_reserve fails. */
  void (*rows)(struct mbi_amg_build *build, int task, int32_t *marks);
  void *self; /* for `rows` */
  int tasks, valued;
  int group;             /* entries per element of col_ind; 0 means 1 */
  int known;             /* 1: `to` already has row_ptr and col_ind, and lacks values */
  int64_t columns, hint; /* elements of `marks` per task; expected number of entries */
  int32_t *marks;
  mbi_amg_part parts[MBI_MAX_THREADS];
} mbi_amg_build;

#define MBI_CYCLE_DEGREE 2  /* sweeps before and after the coarse-grid correction; even */
#define MBI_CYCLE_RATIO 4.0 /* they damp eigenvalues between lambda / 4 and lambda */
/* If A is nonsymmetric, the sweeps damp those between lambda / 2 and lambda. Their weights are
 * then at most 2 / lambda, and complex eigenvalues in the disk around lambda / 2 are damped as
 * well. The cycle visits a level twice (W-cycle) if the level above has at least
 * MBI_CYCLE_SHRINK times its entries. */
#define MBI_CYCLE_RATIO_NONSYMMETRIC 2.0
#define MBI_CYCLE_SHRINK 1.6
#define MBI_CYCLE_MOST 8 /* sweeps on a coarsest level that is too large for an inverse */
#define MBI_CYCLE_RATIO_LAST 30.0
#define MBI_CYCLE_SCALARS (3 * (2 + MBI_CYCLE_MOST))

/* The matrices of a level of the cycle. With levels by reduction, MBI_GRID_A is A's rows at F
 * points and MBI_GRID_C those at C points, except on the last level. */
enum { MBI_GRID_A, MBI_GRID_P, MBI_GRID_R, MBI_GRID_C, MBI_GRID_MATRICES };

/* A level of the cycle, on the preconditioner's side and in its type. */
typedef struct mbi_amg_grid {
  int64_t rows;
  merbit_view views[MBI_GRID_MATRICES];  /* on the coarsest level A alone */
  merbit_plan *plans[MBI_GRID_MATRICES]; /* their plans; on the coarsest level its inverse's, if
                                          * there is one */
  float *single[MBI_GRID_MATRICES];      /* f32: values of views in host memory, or NULL */
  void *inverse, *b, *x, *y; /* vectors of length `rows`: D^-1, right-hand side, and two
                              * iterates. Level 0 gets b and y from the caller */
  /* With levels by reduction: `inverse` is 0 at C points, and this at F points; the residual
   * of levels that are visited twice. Else NULL */
  void *inverse_c, *z;
} mbi_amg_grid;

typedef struct mbi_amg { /* the state of a preconditioner of kind AMG */
  int count;             /* number of levels */
  int reduced;           /* 1: levels by reduction */
  mbi_amg_level levels[MBI_AMG_LEVELS];
  int64_t entries[MBI_AMG_LEVELS]; /* nonzeros of the matrices */
  mbi_amg_grid grids[MBI_AMG_LEVELS];
  mbi_amg_csr coarsest; /* inverse of the coarsest matrix if the host sets up; no rows: none */
  float *coarsest_single;
  merbit_view dense;       /* the view of the coarsest inverse, on either side; no rows: none */
  struct mbi_amg_gpu *gpu; /* the set-up on the GPU, or NULL */
  void *space;             /* on the preconditioner's side: scalars and vectors */
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
/* Returns a row's bits in level->kept, beginning with the lowest bit of the first byte. */
MBI_INTERNAL unsigned char *mbi_amg_kept(const mbi_amg_level *level, int64_t row);
/* Sets level->strong, level->kept and level->strongest. The magnitude of a block is its
 * Frobenius norm. */
MBI_INTERNAL merbit_status mbi_amg_strength(merbit_context *context, double theta,
                                            mbi_amg_level *level);
/* solve/amg/aggregate.c */
MBI_INTERNAL uint64_t mbi_amg_hash(uint64_t number);
/* Sets level->aggregate (allocates it) and level->aggregates. The roots, a maximal independent
 * set of distance 2, take their strong neighbours. A node that is left over joins the aggregate
 * that most of its first MBI_AMG_NEIGHBOURS strong neighbours belong to; ties go to the lowest.
 * A node without strong neighbours, whose coefficients are small compared with those around it,
 * joins the aggregate of its strongest neighbour, or of that one's strongest neighbour, and so
 * on. A second aggregation pass does not pay: levels were twice as large for a tenth fewer
 * iterations. */
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
 * is at most 2.01, else 1.1 times the estimate of 8 Lanczos steps if that is smaller. */
MBI_INTERNAL merbit_status mbi_amg_diagonal(merbit_context *context, mbi_amg_level *level);
/* solve/amg/smooth.c */
/* Sets level->p to T if level->plain is 1, else to (I - omega / lambda D_F^-1 A_F) T. A_F is A
 * without the entries that level->kept drops, which are lumped into the diagonal block. D_F is
 * the diagonal of A_F, or MBI_AMG_LEAST_DIAGONAL times A's if that is larger. Sets level->plain
 * to 1 itself if there are more products a_ij p_jk than MBI_AMG_DENSE nnz(A) vectors. */
MBI_INTERNAL merbit_status mbi_amg_smooth(merbit_context *context, mbi_amg_level *level);
/* Sets level->r to the transpose of level->p. Like mbi_amg_smooth and mbi_amg_galerkin, it sets
 * only the values if the structure is there. */
MBI_INTERNAL merbit_status mbi_amg_transpose(merbit_context *context, mbi_amg_level *level);
/* solve/amg/multiply.c */
/* Sets *coarse = R (A P), the next level's matrix, and level->ap. Sums run in the order of the
 * entries of A's rows and of R's. */
MBI_INTERNAL merbit_status mbi_amg_galerkin(merbit_context *context, mbi_amg_level *level,
                                            mbi_amg_csr *coarse);
/* solve/amg/splitting.c */
/* Sets level->aggregate, level->aggregates and level->most (allocates them). */
MBI_INTERNAL merbit_status mbi_amg_split(merbit_context *context, mbi_amg_level *level);
/* solve/amg/reduction.c */
/* Sets level->attached and level->points (allocates them), and level->p. */
MBI_INTERNAL merbit_status mbi_amg_attach(merbit_context *context, mbi_amg_level *level);
/* Sets level->r. Row i has the C point i and up to MBI_REDUCTION_NEAR F points N: those of its
 * strong entries in A's order, then those of the strong entries of these. Like mbi_amg_reduce
 * and mbi_amg_part_rows, it sets only the values if the structure is there. */
MBI_INTERNAL merbit_status mbi_amg_restrict(merbit_context *context, mbi_amg_level *level);
/* solve/amg/reduce.c */
/* Sets *coarse = R (A P). Sums run in the order of the entries of A's rows and of R's. */
MBI_INTERNAL merbit_status mbi_amg_reduce(merbit_context *context, mbi_amg_level *level,
                                          mbi_amg_csr *coarse);
/* solve/amg/relaxation.c */
MBI_INTERNAL double mbi_amg_weight(double d, double sum);
/* Sets level->halves, and level->inverse to the weights divided by the diagonal (allocates it).
 */
MBI_INTERNAL merbit_status mbi_amg_part_rows(merbit_context *context, mbi_amg_level *level);
/* solve/amg/hierarchy.c */
/* Returns whether A is nonsymmetric, as it is where convection dominates diffusion. */
MBI_INTERNAL int mbi_amg_nonsymmetric(const mbi_amg_csr *a, double fraction);
/* Makes levels[1], levels[2], ... from levels[0], which has `a`, `block` and `vectors`; by
 * reduction if A is nonsymmetric, `block` is 1 and `modes` are not `given` by the user. Without
 * `modes`, aggregation takes constant vectors. *count is the number of levels. On failure the
 * caller releases the levels. */
MBI_INTERNAL merbit_status mbi_amg_coarsen(merbit_context *context, mbi_amg_level *levels,
                                           int given, int *count);
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
                                          int swept, int unchecked, int general, int given,
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
