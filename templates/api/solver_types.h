/* Options of merbit_pagerank. All arrays are yours and in host memory, and are read or written only
 * until the call returns. */
typedef struct merbit_pagerank_desc {
  double damping;      /* the probability to follow a link, in (0, 1); 0: 0.85 */
  double tolerance;    /* for the L1 norm of the change by one iteration of the power method; 0:
                          1e-10 in f64, 2^-22 in f32. In f32, rounding errors may keep the change
                          above 2^-22 if many vertices link to one, as in a star, even a small one:
                          the stop is then STAGNATED, and result.change is what was reached */
  int max_iterations;  /* 0: 1000 */
  int unweighted;      /* nonzero: ignore the values; every edge has weight 1 */
  merbit_side side;    /* AUTO: the context's side */
  merbit_solve_progress progress; /* may be NULL. Called after each iteration on the CPU, and
                                     whenever the host checks convergence on CUDA */
  void *progress_user; /* passed to `progress` */
  const void *personalisation; /* the distribution of teleports: graph->rows weights of the graph's
                                  type, >= 0 and not all zero; only their ratios count. NULL: the
                                  same for all vertices */
  const void *start;   /* the initial ranks, for example earlier ones: graph->rows numbers as in
                          `personalisation`; may be the array `ranks`. NULL: all equal */
  merbit_method method; /* of the product with A^T. MERBIT on CUDA writes into two buffers in turn
                           and is never accelerated */
  double *history;     /* receives the changes of the first history_size iterations when the call
                          ends; may be NULL */
  int history_size;    /* number of elements of `history` */
  int unaccelerated;   /* nonzero: the plain power method; 0: accelerated where that pays */
} merbit_pagerank_desc;

/* Why an iteration ended. */
typedef enum merbit_stop {
  MERBIT_STOP_CONVERGED = 0,  /* the tolerance is reached */
  MERBIT_STOP_CAP = 1,        /* max_iterations is reached, the tolerance is not */
  MERBIT_STOP_CANCELLED = 2,  /* the progress callback asked for it; x of GMRES is then that of the
                                 last restart */
  MERBIT_STOP_NOT_FINITE = 3, /* a number is Inf, NaN, or out of the range of its type */
  MERBIT_STOP_STAGNATED = 4,  /* rounding errors prevent further progress; tolerance not reached */
  MERBIT_STOP_BREAKDOWN = 5   /* the method would divide by zero or a number of the wrong sign */
} merbit_stop;

/* How a call of merbit_pagerank went. */
typedef struct merbit_pagerank_result {
  merbit_stop stop;
  int iterations;
  double change;            /* L1 norm of G(x) - x in the last iteration; G is one power step */
  int64_t dangling;         /* number of vertices without outgoing weight */
  double prepare_seconds;   /* time for weights, transpose and plan */
  double iterate_seconds;   /* time for the iterations */
  merbit_plan_info plan;
  char description[512];    /* the line of merbit_plan_describe */
  int64_t synchronizations; /* CUDA: how often the host waited for the GPU during the iterations */
  int recorded;             /* CUDA: 2: the loop runs on the GPU, 1: recorded graphs, 0: single
                               launches */
  int64_t device_bytes;     /* GPU memory that was held, the plan's included */
} merbit_pagerank_result;

/* The method of a solver of A x = b. There is no default. */
typedef enum merbit_solver_method {
  MERBIT_SOLVER_CG = 1,       /* A symmetric positive definite: Hestenes, Stiefel 1952 */
  MERBIT_SOLVER_BICGSTAB = 2, /* any square A: van der Vorst 1992 */
  MERBIT_SOLVER_GMRES = 3     /* any square A, restarted: Saad, Schultz 1986 */
} merbit_solver_method;

/* The kind of a preconditioner M, which approximates A. "Which preconditioner to take when" in the
 * guide compares the kinds. */
typedef enum merbit_preconditioner_kind {
  MERBIT_PRECONDITIONER_NONE = 0,
  MERBIT_PRECONDITIONER_JACOBI = 1,       /* the diagonal of A, which must have no zero */
  MERBIT_PRECONDITIONER_BLOCK_JACOBI = 2, /* square blocks along the diagonal, inverted once */
  MERBIT_PRECONDITIONER_CALLBACK = 3,     /* your function, solver_desc.apply */
  MERBIT_PRECONDITIONER_CHEBYSHEV = 4,    /* A symmetric positive definite: a polynomial in A
                                             (Golub, Varga 1961) */
  MERBIT_PRECONDITIONER_FSAI = 5,         /* A symmetric positive definite: a sparse approximate
                                             inverse in two factors (Kolotilina, Yeremin 1993) */
  MERBIT_PRECONDITIONER_AMG = 6           /* A without zeros on the diagonal: algebraic multigrid by
                                             smoothed aggregation (Vanek, Mandel, Brezina 1996);
                                             for A far from symmetric, on the CPU by reduction
                                             (lAIR: Manteuffel, Ruge, Southworth 2018), on CUDA
                                             unsmoothed (Notay 2012) */
} merbit_preconditioner_kind;

/* Options of merbit_preconditioner_create, for which `kind` must be set and be neither NONE nor
 * CALLBACK. Also the options of a solver's preconditioner (solver_desc.precondition). */
typedef struct merbit_preconditioner_desc {
  merbit_preconditioner_kind kind;
  merbit_side side;  /* where it is applied; AUTO: the context's side */
  int single;        /* nonzero: M of an F64 matrix is kept and applied in f32, which moves half the
                        bytes; r and z stay f64. M is made from A in f32, except that AMG makes its
                        levels in f64 and rounds them. A's values must be in the range of f32 */
  int block_size;    /* BLOCK_JACOBI: rows per block, up to 32; 0: 4. AMG: unknowns per node, up to
                        32, whose rows follow one another; it divides view.rows; 0: 1. Other
                        kinds: 0 */
  int degree;        /* CHEBYSHEV: the degree of the polynomial, up to 32, which is also the number
                        of products with A per application; 0: 4. If it is even, M is always
                        positive definite. Other kinds: 0 */
  const double *near_nullspace; /* AMG: vectors v with A v nearly 0, for example the six rigid body
                                   modes in elasticity: near_nullspace_count columns of view.rows
                                   doubles, one after the other, in host memory, read until create
                                   returns. The largest magnitude of each is between 1e-100 and
                                   1e100. NULL: for each unknown of a node the vector that is 1
                                   there and 0 elsewhere */
  int near_nullspace_count;     /* up to 32; 0 if near_nullspace is NULL */
  int singular;      /* nonzero: A and its transpose map the constant vector to 0, as a graph's
                        Laplacian does. The mean is subtracted from r and from z. A solver also
                        subtracts it from b and from the first x: its x has mean 0, and its residual
                        is that of b without its mean */
  int deterministic; /* nonzero: equal bits in every run, as plan_desc.deterministic */
} merbit_preconditioner_desc;

/* The largest number of levels that merbit_preconditioner_info lists. */
#define MERBIT_PRECONDITIONER_LEVELS 24

/* Kind, size and cost of a preconditioner. */
typedef struct merbit_preconditioner_info {
  merbit_preconditioner_kind kind;
  merbit_side side;
  int levels; /* AMG: number of matrices, A included; other kinds: 1 */
  int64_t rows[MERBIT_PRECONDITIONER_LEVELS];     /* of each level's matrix, A first */
  int64_t nonzeros[MERBIT_PRECONDITIONER_LEVELS];
  double operator_complexity; /* AMG: nonzeros of all levels' matrices / those of A. Other kinds:
                                 nonzeros that an application reads / those of A */
  int64_t host_bytes, device_bytes; /* memory that the preconditioner holds; on CUDA, AMG's first
                                       update of values adds what all updates use */
  double setup_seconds; /* time of merbit_preconditioner_create, or of the last update of values */
} merbit_preconditioner_info;

/* A preconditioner of your own. Computes z = M^-1 r. r and z have n elements of the matrix's type,
 * on the solver's side. On CUDA the callback enqueues its work on `stream`, a CUstream. The solving
 * thread calls it in every iteration. A nonzero return value ends the solve with
 * MERBIT_CANCELLED. */
typedef int (*merbit_precondition_callback)(void *user, const void *r, void *z, int64_t n,
                                            void *stream);

/* Options of merbit_solver_create. `method` must be set. */
typedef struct merbit_solver_desc {
  merbit_solver_method method;
  merbit_side side;            /* AUTO: the context's side */
  merbit_memory vector_memory; /* where b and x are. DEFAULT: on the solver's side. With HOST and a
                                  matrix in host memory, AUTO falls back to the CPU if the GPU
                                  fails */
  double tolerance;            /* for ||b - A x|| / ||b||; 0: 1e-10 in f64, 1e-5 in f32 */
  int max_iterations;          /* 0: 20000 */
  int restart;                 /* GMRES: iterations per cycle, up to 512; 0: 30. GMRES keeps
                                  restart + 1 vectors, and twice as many with a preconditioner
                                  other than JACOBI, because M may change between iterations */
  merbit_preconditioner_kind preconditioner;
  const merbit_preconditioner_desc *precondition; /* options of the preconditioner, read until
                                  create returns. Its `kind` must be that of `preconditioner` or 0;
                                  its side is ignored. NULL: defaults. NONE, CALLBACK: NULL */
  int block_size;              /* BLOCK_JACOBI: a short form of precondition->block_size. Other
                                  kinds: 0 */
  merbit_precondition_callback apply; /* CALLBACK: the preconditioner. Other kinds: NULL */
  void *apply_user;            /* passed to `apply` */
  int vectors;                 /* CG without refine: number of right-hand sides for which
                                  merbit_solver_solve_many solves at once, up to 64, with one
                                  product for all. Each takes 5 or 6 vectors, and all together a
                                  second plan. Not with reorder = 1. 0: 1 */
  int refine;                  /* nonzero, F64 only: iterate in f32, correct by residuals in f64.
                                  Not with CALLBACK, reorder = 1, vectors above 1 or `singular` */
  int deterministic;           /* nonzero: equal bits in every run, as plan_desc.deterministic */
  int reorder;                 /* whether to reorder the matrix; b and x keep their order. 0: if it
                                  pays (for example for 60 expected solves of four million rows);
                                  1: always, which needs CSR or COO, and NONE or JACOBI without
                                  `single` and `singular`; -1: never */
  int64_t expected_solves;     /* number of solves to come; 0: 1. For more solves, making the plan
                                  may take longer */
  merbit_solve_progress progress; /* may be NULL. Gets iteration, estimated residual and seconds
                                     whenever the host checks convergence, about ten times a
                                     second */
  void *progress_user;         /* passed to `progress` */
  void *stream;                /* CUDA: a CUstream of yours on which solves run, after the work that
                                  is already on it. It must outlive the solver. NULL: a stream of
                                  the solver's own */
#ifdef MERBIT_STUDY_METHODS
  merbit_method product;       /* the method of the products with A */
#endif
} merbit_solver_desc;

/* How a call of merbit_solver_solve went. */
typedef struct merbit_solver_result {
  merbit_stop stop;
  int iterations;
  int restarts;              /* number of GMRES restarts, and of restarts from the recomputed
                                residual after a breakdown or if the recurrence's residual differed
                                from it; with refine also of corrections after the first */
  double residual;           /* ||b - A x|| / ||b|| in the 2-norm, recomputed from x */
  double estimated_residual; /* the same, as estimated by the iteration's recurrence */
  double backward_error;     /* ||b - A x|| / (||A|| ||x|| + ||b||) in the infinity norm; at about
                                1e-16 (1e-7 in f32) x is as exact as its type allows. If a CSR has
                                several entries in one place, ||A|| is the norm before they are
                                added up, an upper bound, and backward_error a lower one */
  double prepare_seconds;    /* time of merbit_solver_create */
  double iterate_seconds;    /* time of this solve, copies of b and x included */
  int synchronizations;      /* how often the host waited for the GPU; 0 on the CPU */
  int recorded;              /* CUDA: 2: the loop runs on the GPU, 1: recorded graphs, 0: single
                                launches */
  int64_t device_bytes;      /* GPU memory that the solver holds, all its parts included */
  merbit_plan_info plan;
  char plan_description[512]; /* the line of merbit_plan_describe */
  char description[384];      /* why the solve stopped, in words */
} merbit_solver_result;

/* The method of merbit_eigen. */
typedef enum merbit_eigen_method {
  MERBIT_EIGEN_LANCZOS = 0, /* symmetric A: full reorthogonalisation, thick restarts */
  MERBIT_EIGEN_POWER = 1    /* any real A: the one eigenvalue of largest |lambda|, if it is real */
} merbit_eigen_method;

/* The eigenvalues that merbit_eigen finds, and their order. */
typedef enum merbit_eigen_which {
  MERBIT_EIGEN_LARGEST_MAGNITUDE = 0, /* largest absolute value first */
  MERBIT_EIGEN_LARGEST = 1,           /* rightmost first */
  MERBIT_EIGEN_SMALLEST = 2,          /* leftmost first; not those nearest to zero */
  MERBIT_EIGEN_BOTH_ENDS = 3          /* rightmost, leftmost, second rightmost, and so on */
} merbit_eigen_which;

/* The largest number of eigenpairs of one call. */
#define MERBIT_EIGEN_MOST 32

/* Options of merbit_eigen. */
typedef struct merbit_eigen_desc {
  merbit_eigen_method method;
  merbit_eigen_which which; /* POWER: LARGEST_MAGNITUDE only */
  int count;                /* number of eigenpairs, up to MERBIT_EIGEN_MOST; 0: 1. POWER: 1 */
  int basis;                /* LANCZOS: vectors kept, more than count + 1, up to 256; 0:
                               2 count + 16 */
  merbit_side side;         /* AUTO: the context's side */
  double tolerance;         /* for ||A v - lambda v|| / s, where v has length 1 and s is the largest
                               |lambda| seen; 0: 1e-10 in f64, 1e-5 in f32 */
  int max_iterations;       /* largest number of products with A; 0: 10000 */
  uint64_t seed;            /* seeds the first vector, which is random */
  int deterministic;        /* nonzero: equal bits in every run, as plan_desc.deterministic */
  merbit_solve_progress progress; /* may be NULL. Gets the products so far, the largest estimated
                                     residual and the seconds */
  void *progress_user;      /* passed to `progress` */
} merbit_eigen_desc;

/* How a call of merbit_eigen went. */
typedef struct merbit_eigen_result {
  merbit_stop stop;
  int iterations;            /* number of products with A */
  int restarts;              /* number of Lanczos restarts */
  int converged;             /* number of eigenpairs whose residual is at most the tolerance */
  double residuals[MERBIT_EIGEN_MOST]; /* ||A v - lambda v|| / s of each pair, recomputed */
  double prepare_seconds;    /* time to make the plan and vectors */
  double iterate_seconds;    /* time of the iterations */
  int synchronizations;      /* how often the host waited for the GPU; 0 on the CPU */
  int64_t device_bytes;      /* GPU memory that was held, the plan included */
  merbit_plan_info plan;
  char plan_description[512]; /* the line of merbit_plan_describe */
  char description[384];      /* why the iteration stopped, in words */
} merbit_eigen_result;
