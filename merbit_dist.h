/* merbit_dist.h: products y = alpha A x + beta y of a matrix whose rows lie on several processes.
 *
 * merbit multiplies on one GPU or CPU. This second header joins several of them. Each process (a
 * rank, numbered from 0) has some contiguous rows of a square matrix and the same part of every
 * vector. merbit_dist_create finds which elements of x a rank needs from others (its halo). A
 * product then packs what others need, starts the exchange, multiplies by the columns that the rank
 * owns, waits for the halo, and adds the rest in those rows alone that have halo columns.
 *
 * How the ranks talk is up to the program: it fills a merbit_exchange with a few functions. Over MPI
 * that takes a dozen lines, and this header never includes mpi.h (docs/distributed.md). Between GPUs
 * merbit_exchange_nccl opens NCCL at run time.
 *
 * USE. Copy merbit.h and this file into your project. In exactly one C or C++ file write, before any
 * system header,
 *
 *     #define MERBIT_IMPLEMENTATION
 *     #define MERBIT_DIST_IMPLEMENTATION
 *     #include "merbit_dist.h"
 *
 * In all other files write the include alone. This header includes merbit.h, and both
 * implementations must be in the same file.
 *
 * COLLECTIVE CALLS. The calls marked "collective" are made by all ranks, in the same order. If one
 * rank fails in merbit_dist_create or merbit_dist_update_values, all ranks return the same status,
 * and merbit_last_error gives on each of them a sentence that begins with the rank at fault. In a
 * product or a solve a rank that fails calls merbit_exchange.abort; the others return
 * MERBIT_IO_ERROR as soon as a function of their exchange fails. How long a function waits for a
 * rank that is gone is up to the exchange.
 *
 * REPEATABILITY. Results are the same bits in every run with the same number of ranks, if
 * plan_desc.deterministic is set. With another number of ranks they differ by rounding, except with
 * merbit_dist_desc.whole_rows and a named method: then products are the same bits for any number of
 * ranks. Dots and solves are not, because each rank adds up its own part first.
 *
 * LIMITS. F64 and F32. Square matrices. A rank has at most 2^31 - 1 rows, and its halo has at most
 * 2^31 - 1 elements less the rank's rows; all ranks together may have up to 2^62 rows.
 */
#ifndef MERBIT_DIST_H
#define MERBIT_DIST_H

#ifdef MERBIT_DIST_IMPLEMENTATION
#ifndef MERBIT_IMPLEMENTATION
#define MERBIT_IMPLEMENTATION
#endif
#endif
#include "merbit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ==== >>DIST TYPES ============================================================================ */

/* `bytes` bytes at `data` that go to, or come from, the rank `rank`. */
typedef struct merbit_message {
  int rank;
  void *data;
  size_t bytes;
} merbit_message;

/* How the ranks talk. All ranks call the same functions in the same order; the thread that uses the
 * operator makes the calls. Each function returns 0, or nonzero for a failure, after which only
 * `error` and `abort` are called. A function that waits for other ranks should give up after some
 * time, as there is nobody else who could. merbit copies this struct; what `user` points to must
 * outlive every operator made with it. Operators may share an exchange if their calls take turns in
 * the same order on all ranks. */
typedef struct merbit_exchange {
  int rank;  /* of this process: 0 to ranks - 1 */
  int ranks; /* number of ranks: 1 or more */
  /* Sends to[q] to each rank q and receives from[q] from it, this rank included. Both are host
   * arrays of `ranks` numbers. Returns when from[] is complete. Called by set-up, by error reports
   * and, if `sum` is NULL, by dots. */
  int (*counts)(void *user, const int64_t *to, int64_t *from);
  /* Starts to send and to receive. Between each pair of ranks there is at most one message in each
   * direction, never one to the rank itself, and sizes fit: what one rank sends the other
   * receives. Both lists are in ascending order of ranks and may be empty. The lists and the data
   * stay as they are until `finish` returns, or on a device until the work of `finish` is done. A
   * rank may start while others have not yet finished the exchange before. `stream` is a CUstream if
   * device_messages is set: then the transfers begin after the work that it has, and start may
   * return at once. Otherwise it is NULL. */
  int (*start)(void *user, const merbit_message *sends, int send_count,
               const merbit_message *receives, int receive_count, void *stream);
  /* Returns when all that the last `start` began is complete. With device_messages it may return at
   * once: work that is enqueued on `stream` (the one given to start) afterwards then finds the data
   * complete. One call follows each `start`. */
  int (*finish)(void *user, void *stream);
  /* Replaces each of `count` doubles by its sum over all ranks: the same bits on every rank. With
   * device_messages `values` is in device memory and the work is enqueued on `stream`, a stream of
   * the caller; otherwise `values` is in host memory and the sums are complete on return. NULL: the
   * operator collects the numbers by `counts` and adds them in the order of ranks. */
  int (*sum)(void *user, double *values, int count, void *stream);
  /* Waits until the work on `stream` is done; returns nonzero if another rank is gone or the time is
   * up. For exchanges with device_messages, whose transfers would otherwise be waited for without
   * end. NULL: the operator waits by cuStreamSynchronize. */
  int (*wait)(void *user, void *stream);
  /* Makes pending and later calls of all ranks fail as soon as can be. Called when this rank leaves
   * a collective call after an error of its own. May be NULL. */
  void (*abort)(void *user);
  /* Returns a sentence about the last failure of a function above, which merbit puts into its own;
   * or NULL. May be NULL. */
  const char *(*error)(void *user);
  /* Nonzero: messages of operators on CUDA are in device memory. 0: the operator copies them through
   * page-locked host memory and waits for them, so that its products cannot be captured in a
   * graph. An operator on the CPU needs 0. */
  int device_messages;
  void *user; /* passed to the functions */
} merbit_exchange;

/* Options of merbit_dist_create. All-zero means default. */
typedef struct merbit_dist_desc {
  /* Of the local products. operation, reordering, semiring, epilogue, vectors, block_rows and
   * block_cols must be left 0. vector_memory must be where the plan computes, or DEFAULT. */
  merbit_plan_desc plan;
  /* Nonzero: a row with a halo column is multiplied as a whole after the exchange, so that its sum
   * does not depend on where ranks begin. Name a method (plan.method), the same on all ranks:
   * products then have the same bits for any number of ranks. It costs: less is left to overlap
   * with the exchange. */
  int whole_rows;
} merbit_dist_desc;

/* Facts about an operator, from merbit_dist_get_info. */
typedef struct merbit_dist_info {
  int rank, ranks;
  merbit_side side;      /* where it computes */
  int64_t global_rows;   /* of all ranks */
  int64_t first_row;     /* the number of the rank's first row, from 0 */
  int64_t rows;          /* the rank's rows */
  int64_t halo;          /* elements of x that a product receives */
  int64_t sent;          /* elements of x that a product sends */
  int receive_ranks;     /* number of ranks that it receives from */
  int send_ranks;        /* number of ranks that it sends to */
  int64_t boundary_rows; /* rows that have a halo column */
  int64_t own_nnz;       /* entries multiplied while the halo travels */
  int64_t halo_nnz;      /* entries multiplied when it has arrived */
  int64_t device_bytes;  /* GPU memory that the operator holds, its plans included */
  double create_seconds; /* time of merbit_dist_create */
} merbit_dist_info;

/* A matrix whose rows lie on several ranks, prepared for products. One product, dot or solve at a
 * time, on one stream at a time. */
typedef struct merbit_dist merbit_dist;

/* Options of merbit_dist_solve. `method` must be set; all else may be 0. */
typedef struct merbit_dist_solver_desc {
  merbit_solver_method method; /* MERBIT_SOLVER_CG or MERBIT_SOLVER_BICGSTAB */
  double tolerance;            /* for ||b - A x|| / ||b||; 0: 1e-10 in f64, 1e-5 in f32 */
  int max_iterations;          /* 0: 20000 */
  merbit_preconditioner preconditioner; /* NONE or JACOBI */
  int check_every;             /* CUDA: iterations between two convergence checks by the host; 0: 16.
                                  The CPU checks after each */
  double *history;             /* receives the estimated residuals of the checks, history[k] that of
                                  check k; may be NULL */
  int history_size;            /* number of elements of `history` */
} merbit_dist_solver_desc;

/* How merbit_dist_solve or merbit_dist_pagerank went. The same on all ranks but for the time. */
typedef struct merbit_dist_result {
  merbit_stop stop;          /* CONVERGED, CAP, NOT_FINITE or BREAKDOWN */
  int iterations;
  double residual;           /* solve: ||b - A x|| / ||b|| in the 2-norm, recomputed from x.
                                pagerank: the L1 norm of the last change */
  double estimated_residual; /* the same as the iteration's recurrence had it */
  double seconds;            /* time of the call */
  int synchronizations;      /* CUDA: how often the host waited for the GPU */
} merbit_dist_result;

/* Options of merbit_dist_pagerank. All-zero means default. */
typedef struct merbit_dist_pagerank_desc {
  double damping;          /* the probability to follow a link, in (0, 1); 0: 0.85 */
  double tolerance;        /* for the L1 norm of the change by an iteration; 0: 1e-10 in f64, 2^-22
                              in f32 */
  int max_iterations;      /* 0: 1000 */
  int check_every;         /* as in merbit_dist_solver_desc */
  const void *out_weights; /* the sum of the weights of each own vertex's outgoing links, 0 for a
                              vertex without: as x of a product. NULL: the columns of the operator
                              already add up to 1 (or to 0) */
} merbit_dist_pagerank_desc;

/* ==== >>DIST FUNCTIONS ======================================================================== */

/* Makes an operator. Collective. `rows` has this rank's rows: a CSR view in host memory, of F64 or
 * F32, whose columns are global, of 32 or 64 bits; rows->cols is the number of columns of the whole
 * matrix, which may exceed 2^31 - 1. Rank 0 has the
 * first rows->rows rows of the matrix, rank 1 the next ones, and so on; a rank may have none. x is
 * divided like the rows. Columns need not be sorted; duplicates add up. values NULL: all are 1.
 * Nothing of `rows` is needed after the call. `desc` may be NULL. The context may be on CUDA or on
 * the CPU, but must be on the same side on all ranks.
 *
 * On all ranks it fails with MERBIT_INVALID_ARGUMENT if the ranks' rows do not add up to rows->cols,
 * or if the ranks differ in cols, type, side or whole_rows; with MERBIT_INVALID_MATRIX for a bad
 * offset or column; with MERBIT_NOT_SUPPORTED, MERBIT_OUT_OF_MEMORY and the statuses of
 * merbit_plan_create; with MERBIT_IO_ERROR if a function of the exchange fails. */
MERBIT_API merbit_status merbit_dist_create(merbit_context *context,
                                            const merbit_exchange *exchange,
                                            const merbit_view *rows, const merbit_dist_desc *desc,
                                            merbit_dist **dist);
/* Gives the operator up; NULL is accepted. Not collective. It first waits for the operator's work on
 * CUDA. */
MERBIT_API void merbit_dist_destroy(merbit_dist *dist);

/* Computes y = alpha A x + beta y. Collective. x and y have as many elements as the rank has rows, of
 * the operator's type, where it computes (on CUDA: device memory), and must not overlap. alpha and
 * beta are as in merbit_spmv: NULL means 1 and 0; beta = 0 never reads y; all ranks give the same
 * numbers. On CUDA the work is enqueued on `stream`, a CUstream or NULL for the default stream. With
 * device messages the call returns when all is enqueued and can be captured in a graph, which all
 * ranks must launch; the first product on a stream should not be captured, because an exchange may
 * connect then. Fails with MERBIT_IO_ERROR if a function of the exchange fails, and with the
 * statuses of merbit_spmv. */
MERBIT_API merbit_status merbit_dist_spmv(merbit_dist *dist, const void *alpha, const void *x,
                                          const void *beta, void *y, void *stream);
/* Computes the dot product of two distributed vectors, x and y as in merbit_dist_spmv; they may be
 * the same. Collective. Sums are doubles. *result is in host memory and the same bits on all ranks.
 * The call waits for the stream. */
MERBIT_API merbit_status merbit_dist_dot(merbit_dist *dist, const void *x, const void *y,
                                         double *result, void *stream);
/* Copies new values for the same structure into the operator: as many as the view of
 * merbit_dist_create had, in its order and type, in host memory. Collective. No product may be
 * running. Fails if the view was a pattern. */
MERBIT_API merbit_status merbit_dist_update_values(merbit_dist *dist, const void *values);
/* Writes to *info what the operator is. Fails only if a pointer is NULL. */
MERBIT_API merbit_status merbit_dist_get_info(const merbit_dist *dist, merbit_dist_info *info);
/* Writes one line that says what the rank has and how its two products are multiplied. Writes at most
 * `size` bytes, always terminated if size > 0. Returns the length of the whole line. */
MERBIT_API size_t merbit_dist_describe(const merbit_dist *dist, char *text, size_t size);

/* Says what the halo would be, without other ranks: `rows` as in merbit_dist_create (its values are
 * not read), first_row the number of its first row in the whole matrix. Sets rows, first_row, halo,
 * boundary_rows, own_nnz and halo_nnz of *info (those of an operator without whole_rows), and
 * nothing else. */
MERBIT_API merbit_status merbit_dist_forecast(merbit_context *context, const merbit_view *rows,
                                              int64_t first_row, merbit_dist_info *info);
/* Numbers vertices so that each part of a partition is contiguous, as merbit_dist_create needs it.
 * part[i], from 0 to parts - 1, is the part of vertex i, for example from METIS or Scotch. Vertex i
 * gets the number number[i]; within a part the order stays. Part p begins at first[p]; first has
 * parts + 1 elements, the last of which is `vertices`. All arrays are in host memory and yours. */
MERBIT_API merbit_status merbit_dist_renumber(merbit_context *context, int64_t vertices,
                                              const int32_t *part, int parts, int64_t *number,
                                              int64_t *first);

/* Solves A x = b by CG (Hestenes, Stiefel 1952) or BiCGSTAB (van der Vorst 1992), as in Saad,
 * Iterative Methods for Sparse Linear Systems, 2nd edition, algorithms 9.1 and 7.7. Collective. b and
 * x are as x and y of merbit_dist_spmv. The iteration begins with x = 0 or, if start_from_x is not
 * 0, with the given x. On CUDA, work is on `stream`; with device messages and a `sum` no number
 * passes through the host between two convergence checks. The call is complete on return. It returns
 * MERBIT_OK however the iteration ended: result->stop says how. `result` may be NULL. */
MERBIT_API merbit_status merbit_dist_solve(merbit_dist *dist,
                                           const merbit_dist_solver_desc *desc, const void *b,
                                           void *x, int start_from_x, void *stream,
                                           merbit_dist_result *result);
/* Computes PageRank by the power method. Collective. Entry (i, j) of the operator is the weight of
 * the link from j to i: the operator is the transpose of the link graph. Weights must be at least 0;
 * a link graph's pattern will do. The rank of vertices without outgoing links goes to all vertices
 * alike, and so do teleports. `ranks` is as y of merbit_dist_spmv; it receives ranks whose sum over
 * all ranks of processes is 1. `desc` and `result` may be NULL. */
MERBIT_API merbit_status merbit_dist_pagerank(merbit_dist *dist,
                                              const merbit_dist_pagerank_desc *desc, void *ranks,
                                              void *stream, merbit_dist_result *result);

/* ==== >>DIST NCCL FUNCTIONS =================================================================== */

#ifdef __cplusplus
}
#endif
#endif /* MERBIT_DIST_H */

#if defined(MERBIT_DIST_IMPLEMENTATION) && !defined(MERBIT_DIST_IMPLEMENTED)
#define MERBIT_DIST_IMPLEMENTED

/* ==== >>DIST NCCL ============================================================================= */

#endif /* MERBIT_DIST_IMPLEMENTATION */
