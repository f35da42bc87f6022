/* merbit_dist.h: products y = alpha A x + beta y of a matrix whose rows lie on several
 * processes.
 *
 * merbit multiplies on one GPU or CPU. This second header joins several of them. Each process
 * (a rank, numbered from 0) has some contiguous rows of a square matrix and the same part of
 * every vector. merbit_dist_create finds which elements of x a rank needs from others (its
 * halo). A product packs the elements that others need, starts the exchange, multiplies by the
 * columns that the rank owns, waits for the halo, and completes the rows with halo columns.
 *
 * The program decides how the ranks communicate: it fills a merbit_exchange with a few
 * functions. Over MPI that takes a dozen lines, and this header never includes mpi.h
 * (docs/distributed.md). Between GPUs merbit_exchange_nccl opens NCCL at run time.
 *
 * USE. Copy merbit.h and this file into your project. In exactly one C or C++ file write,
 * before any system header,
 *
 *     #define MERBIT_IMPLEMENTATION
 *     #define MERBIT_DIST_IMPLEMENTATION
 *     #include "merbit_dist.h"
 *
 * In all other files write only the include. This header includes merbit.h, and both
 * implementations must be in the same file.
 *
 * COLLECTIVE CALLS. All ranks make the calls marked "collective", in the same order. If one rank
 * fails in merbit_dist_create or merbit_dist_update_values, all ranks return the same status,
 * and merbit_last_error gives on each of them a sentence that begins with the rank at fault. If
 * a rank fails in a product or a solve, it calls merbit_exchange.abort; the others return
 * MERBIT_IO_ERROR as soon as a function of their exchange fails. The exchange decides how long
 * a function waits for a rank that is gone.
 *
 * REPEATABILITY. If plan_desc.deterministic is set, results have the same bits in every run with
 * the same number of ranks. With another number of ranks they differ by rounding, except that
 * with merbit_dist_desc.whole_rows and a named method products have the same bits for any number
 * of ranks. Dots and solves do not, because each rank adds up its own part first.
 *
 * LIMITS. F64 and F32. Square matrices. A rank has at most 2^31 - 1 rows, and its halo has at
 * most 2^31 - 1 elements less the rank's rows; all ranks together may have up to 2^62 rows.
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

/* ==== >>DIST TYPES ======================================================================== */

/* `bytes` bytes at `data`, to be sent to or received from rank `rank`. */
typedef struct merbit_message {
  int rank;
  void *data;
  size_t bytes;
} merbit_message;

/* How the ranks communicate. All ranks call the same functions in the same order; the thread
 * that uses the operator makes the calls. Each function returns 0, or nonzero for a failure,
 * after which only `error` and `abort` are called. A function that waits for other ranks should
 * give up after some time, because merbit cannot interrupt it. merbit copies this struct; what
 * `user` points to must outlive every operator made with it. Operators may share an exchange if
 * their calls take turns in the same order on all ranks. */
typedef struct merbit_exchange {
  int rank;  /* of this process: 0 to ranks - 1 */
  int ranks; /* number of ranks: 1 or more */
  /* Sends to[q] to each rank q and receives from[q] from it, this rank included. Both are host
   * arrays of `ranks` numbers. Returns when from[] is complete. Called during set-up, by error
   * reports and, if `sum` is NULL, by dots. */
  int (*counts)(void *user, const int64_t *to, int64_t *from);
  /* Starts to send and to receive. Between each pair of ranks there is at most one message in
   * each direction, never one to the rank itself, and sizes fit: what one rank sends the other
   * receives. Both lists are in ascending order of ranks and may be empty. The lists and the
   * data stay valid and unchanged until `finish` returns, or on a device until the work of
   * `finish` is done. A rank may start while others have not yet finished the previous
   * exchange. If device_messages is set, `stream` is a CUstream: the transfers begin after the
   * work already enqueued there, and start may return at once. Otherwise it is NULL. */
  int (*start)(void *user, const merbit_message *sends, int send_count,
               const merbit_message *receives, int receive_count, void *stream);
  /* Returns when everything that the last `start` began is complete. With device_messages it
   * may return at once: work that is enqueued on `stream` (the one given to start) afterwards
   * then finds the data complete. One call follows each `start`. */
  int (*finish)(void *user, void *stream);
  /* Replaces each of `count` doubles by its sum over all ranks: the same bits on every rank.
   * With device_messages `values` is in device memory and the work is enqueued on `stream`, a
   * stream of the caller; otherwise `values` is in host memory and the sums are complete on
   * return. NULL: the operator collects the numbers by `counts` and adds them in the order of
   * ranks. */
  int (*sum)(void *user, double *values, int count, void *stream);
  /* Waits until the work on `stream` is done; returns nonzero if another rank is gone or the
   * time is up. For exchanges with device_messages, whose transfers could otherwise wait for
   * ever. NULL: the operator waits by cuStreamSynchronize. */
  int (*wait)(void *user, void *stream);
  /* Makes pending and later calls of all ranks fail as soon as possible. Called when this rank
   * leaves a collective call after an error of its own. May be NULL. */
  void (*abort)(void *user);
  /* Returns a sentence about the last failure of a function above, which merbit quotes in its
   * error message; or NULL. May be NULL. */
  const char *(*error)(void *user);
  /* Nonzero: messages of operators on CUDA are in device memory. 0: the operator copies them
   * through page-locked host memory and waits for them, so that its products cannot be captured
   * in a graph. An operator on the CPU needs 0. */
  int device_messages;
  void *user; /* passed to the functions */
} merbit_exchange;

/* Options of merbit_dist_create. All-zero means default. */
typedef struct merbit_dist_desc {
  /* Describes the local products. operation, reordering, semiring, epilogue, vectors,
   * block_rows and block_cols must be 0. vector_memory must be where the plan computes, or
   * DEFAULT. */
  merbit_plan_desc plan;
  /* Nonzero: a row with a halo column is multiplied as a whole after the exchange, so that its
   * sum does not depend on where the ranks' rows begin. With a method that adds the entries of
   * each row in a fixed order (plan.method REFERENCE on the CPU; SLICED, or ROWS with `lanes`
   * in plan.tuning, on CUDA), products then have the same bits for any number of ranks. The
   * price: less work overlaps with the exchange. */
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
  int64_t halo_nnz;      /* entries multiplied after it has arrived */
  int64_t device_bytes;  /* GPU memory that the operator holds, including its plans */
  double create_seconds; /* time of merbit_dist_create */
} merbit_dist_info;

/* A matrix whose rows lie on several ranks, prepared for products. Supports one product, dot or
 * solve at a time, on one stream at a time. */
typedef struct merbit_dist merbit_dist;

/* Options of merbit_dist_solve. `method` must be set; everything else may be 0. All ranks pass
 * the same, except for history and history_size. */
typedef struct merbit_dist_solver_desc {
  merbit_solver_method method; /* MERBIT_SOLVER_CG or MERBIT_SOLVER_BICGSTAB */
  double tolerance;   /* for ||b - A x|| / ||b||; 0: 1e-10 in f64, 1e-5 in f32. After a restart
                       * 1.01 times the tolerance suffices */
  int max_iterations; /* 0: 20000 */
  merbit_preconditioner_kind preconditioner; /* NONE or JACOBI */
  int check_every;  /* CUDA: iterations between two convergence checks by the host; 0: 16. On
                     * the CPU, or if sums pass through the host: 1 */
  double *history;  /* receives the estimated residuals at the checks: history[k] is that of
                     * check k; may be NULL */
  int history_size; /* number of elements of `history` */
} merbit_dist_solver_desc;

/* How merbit_dist_solve or merbit_dist_pagerank ended. The same on all ranks except for the
 * time. */
typedef struct merbit_dist_result {
  merbit_stop stop; /* CONVERGED, CAP, NOT_FINITE, STAGNATED or BREAKDOWN. NOT_FINITE also if
                       ||b||^2 is too large or too small for f64, or another sum too large: then
                       scale b or A */
  int iterations;
  double residual;           /* solve: ||b - A x|| / ||b|| in the 2-norm, recomputed from x; NaN if
                                ||b||^2 is too small. pagerank: the L1 norm of the last change */
  double estimated_residual; /* the same, estimated by the iteration's recurrence */
  double seconds;            /* time of the call */
  int synchronizations;      /* CUDA: how often the host waited for the GPU */
} merbit_dist_result;

/* Options of merbit_dist_pagerank. All-zero means default. All ranks pass the same numbers. */
typedef struct merbit_dist_pagerank_desc {
  double damping;     /* the probability to follow a link, in (0, 1); 0: 0.85 */
  double tolerance;   /* for the L1 norm of the change by an iteration; 0: 1e-10 in f64, 2^-22
                         in f32 */
  int max_iterations; /* 0: 1000 */
  int check_every;    /* as in merbit_dist_solver_desc */
  const void *out_weights; /* the sum of the weights of the outgoing links of each of the rank's
                            * vertices, 0 for a vertex without any; stored like x of a product.
                            * NULL: the columns of the operator already add up to 1 (or to 0) */
} merbit_dist_pagerank_desc;

/* ==== >>DIST FUNCTIONS ==================================================================== */

/* Makes an operator. Collective. `rows` has this rank's rows: a CSR view in host memory, of F64
 * or F32, whose columns are global, of 32 or 64 bits; rows->cols is the number of columns of
 * the whole matrix, which may exceed 2^31 - 1. Rank 0 has the first rows->rows rows of the
 * matrix, rank 1 the next ones, and so on; a rank may have none, and row_ptr is then not read.
 * x is divided like the rows. Columns need not be sorted; duplicates add up. values NULL on all
 * ranks with entries: all are 1. Without entries col_ind and values are not read. Nothing of
 * `rows` is needed after the call. `desc` may be NULL. The context may be on CUDA or on the
 * CPU, but must be on the same side on all ranks.
 *
 * On all ranks it fails with MERBIT_INVALID_ARGUMENT if the ranks' rows do not add up to
 * rows->cols, or if the ranks differ in cols, type, side, whole_rows or having values; with
 * MERBIT_INVALID_MATRIX for a bad offset or column; with MERBIT_NOT_SUPPORTED,
 * MERBIT_OUT_OF_MEMORY and the statuses of merbit_plan_create; with MERBIT_IO_ERROR if a
 * function of the exchange fails. */
MERBIT_API merbit_status merbit_dist_create(merbit_context *context,
                                            const merbit_exchange *exchange,
                                            const merbit_view *rows,
                                            const merbit_dist_desc *desc, merbit_dist **dist);
/* Destroys the operator; NULL is accepted. Not collective. No product may be running. */
MERBIT_API void merbit_dist_destroy(merbit_dist *dist);

/* Computes y = alpha A x + beta y. Collective. x and y have as many elements as the rank has
 * rows, of the operator's type, where it computes (on CUDA: device memory), and must not
 * overlap. alpha and beta are as in merbit_spmv: NULL means 1 and 0; beta = 0 never reads y;
 * all ranks pass the same numbers. On CUDA the work is enqueued on `stream`, a CUstream or NULL
 * for the default stream. With device messages the call returns when all work is enqueued, and
 * it can be captured in a graph, which all ranks must launch; do not capture the first product
 * on a stream, because an exchange may connect then. Fails with MERBIT_IO_ERROR if a function
 * of the exchange fails, and with the statuses of merbit_spmv. */
MERBIT_API merbit_status merbit_dist_spmv(merbit_dist *dist, const void *alpha, const void *x,
                                          const void *beta, void *y, void *stream);
/* Computes the dot product of two distributed vectors, x and y as in merbit_dist_spmv; they may
 * be the same. Collective. Sums are doubles. *result is in host memory and the same bits on all
 * ranks. The call waits for the stream. */
MERBIT_API merbit_status merbit_dist_dot(merbit_dist *dist, const void *x, const void *y,
                                         double *result, void *stream);
/* Copies new values for the same structure into the operator: as many as the view given to
 * merbit_dist_create had, in its order and type, in host memory; NULL if it had none.
 * Collective. No product may be running. Fails if the view was a pattern. If a rank's arguments
 * or memory do not suffice, all ranks keep their values; after any other failure products and
 * solves fail until a call succeeds. */
MERBIT_API merbit_status merbit_dist_update_values(merbit_dist *dist, const void *values);
/* Writes facts about the operator to *info. Fails only if a pointer is NULL. */
MERBIT_API merbit_status merbit_dist_get_info(const merbit_dist *dist, merbit_dist_info *info);
/* Writes one line that describes the rank's part and how its two products are computed. Writes
 * at most `size` bytes, always terminated if size > 0. Returns the length of the whole line. */
MERBIT_API size_t merbit_dist_describe(const merbit_dist *dist, char *text, size_t size);

/* Computes what the halo would be, without other ranks. `rows` is as in merbit_dist_create (its
 * values are not read); first_row is the number of its first row in the whole matrix. Sets
 * rows, first_row, halo, boundary_rows, own_nnz and halo_nnz of *info (those of an operator
 * without whole_rows), and nothing else. */
MERBIT_API merbit_status merbit_dist_forecast(merbit_context *context, const merbit_view *rows,
                                              int64_t first_row, merbit_dist_info *info);
/* Numbers vertices so that each part of a partition is contiguous, as merbit_dist_create needs
 * it. part[i], from 0 to parts - 1, is the part of vertex i, for example from METIS or Scotch.
 * Sets number[i] to the new number of vertex i; within a part the order is kept. Sets first[p]
 * to where part p begins; first has parts + 1 elements, the last of which is `vertices`. All
 * arrays are in host memory and belong to the caller. */
MERBIT_API merbit_status merbit_dist_renumber(merbit_context *context, int64_t vertices,
                                              const int32_t *part, int parts, int64_t *number,
                                              int64_t *first);

/* Solves A x = b by CG (Hestenes, Stiefel 1952) or BiCGSTAB (van der Vorst 1992), as in Saad,
 * Iterative Methods for Sparse Linear Systems, 2nd edition, algorithms 9.1 and 7.7. Collective.
 * b and x are as x and y of merbit_dist_spmv; they must not overlap. The iteration begins with
 * x = 0 or, if start_from_x is not 0, with the given x. If the ranks' options differ, all fail
 * with MERBIT_INVALID_ARGUMENT. On CUDA, work is on `stream`; with device messages and a `sum`
 * no number passes through the host between two convergence checks. The call is complete on
 * return. It returns MERBIT_OK however the iteration ended: result->stop says how. `result` may
 * be NULL. */
MERBIT_API merbit_status merbit_dist_solve(merbit_dist *dist,
                                           const merbit_dist_solver_desc *desc, const void *b,
                                           void *x, int start_from_x, void *stream,
                                           merbit_dist_result *result);
/* Computes PageRank by the power method. Collective. Entry (i, j) of the operator is the weight
 * of the link from j to i: the operator is the transpose of the link graph. Weights must be at
 * least 0; a link graph's pattern is enough. The rank of vertices without outgoing links is
 * spread evenly over all vertices, and so are teleports. `ranks` is stored like y of
 * merbit_dist_spmv; it receives ranks whose sum over all processes is 1. `desc` and `result`
 * may be NULL. */
MERBIT_API merbit_status merbit_dist_pagerank(merbit_dist *dist,
                                              const merbit_dist_pagerank_desc *desc,
                                              void *ranks, void *stream,
                                              merbit_dist_result *result);

/* ==== >>DIST NCCL FUNCTIONS =================================================================== */

/* Names one group of ranks to NCCL (an ncclUniqueId). One rank makes it and passes it to the
 * others by the program's own means: a file, a socket, shared memory, MPI_Bcast. It holds
 * the address of the rank that made it, so it can be used once, and only while that process
 * lives. */
typedef struct merbit_nccl_id {
  char bytes[128];
} merbit_nccl_id;

/* Options of an exchange over NCCL. All-zero means default, and so does NULL. */
typedef struct merbit_nccl_desc {
  const char *library;    /* the libnccl to open; NULL: the one that the environment variable
                             MERBIT_NCCL names, else libnccl.so.2 */
  double timeout_seconds; /* the longest wait for other ranks in one call; 0: 60 */
} merbit_nccl_desc;

/* Makes an id for merbit_exchange_nccl_create. The context must be on CUDA. Fails with
 * MERBIT_NOT_SUPPORTED if NCCL cannot be opened or lacks a function, with MERBIT_IO_ERROR if NCCL
 * refuses. `desc` may be NULL. */
MERBIT_API merbit_status merbit_exchange_nccl_id(merbit_context *context,
                                                 const merbit_nccl_desc *desc,
                                                 merbit_nccl_id *id);
/* Makes an exchange between GPUs over NCCL, version 2.7 or later, which is opened at run time.
 * Collective: each of the `ranks` ranks passes the same id and its own number, and computes on
 * the GPU of its context. NCCL requires a GPU for each rank (except from 2.30 on, with
 * NCCL_MULTI_RANK_GPU_ENABLE=1). The exchange has device messages and sums on the stream, so
 * that products and solves can be captured in graphs. Pass *exchange to merbit_dist_create.
 *
 * No call waits longer than timeout_seconds for a rank that is gone or stuck. Then the
 * communicator is aborted, which ends its work on the GPU; the call fails with MERBIT_IO_ERROR
 * and a sentence that names the waiting rank and the call; every later call fails with that
 * sentence. NCCL does not tell ranks that another one failed: they wait until their own time is
 * up. To be safe with streams and graphs of your own, wait for them by
 * (*exchange)->wait((*exchange)->user, stream): the driver's cuStreamSynchronize has no limit.
 * If the limit is shorter than the work before an exchange, or than the time between the
 * arrivals of two ranks at a call, it aborts a healthy program.
 *
 * Fails like merbit_exchange_nccl_id, and with MERBIT_INVALID_ARGUMENT for a rank outside [0,
 * ranks). The exchange keeps the context alive. */
MERBIT_API merbit_status merbit_exchange_nccl_create(merbit_context *context,
                                                     const merbit_nccl_id *id, int rank, int ranks,
                                                     const merbit_nccl_desc *desc,
                                                     merbit_exchange **exchange);
/* Destroys the exchange. Call it after all operators that use it are destroyed and all work on
 * its streams is done; NULL is accepted. Collective, but it waits at most timeout_seconds for
 * the others. */
MERBIT_API void merbit_exchange_nccl_destroy(merbit_exchange *exchange);

#ifdef __cplusplus
}
#endif
#endif /* MERBIT_DIST_H */

#if defined(MERBIT_DIST_IMPLEMENTATION) && !defined(MERBIT_DIST_IMPLEMENTED)
#define MERBIT_DIST_IMPLEMENTED

/* Internals of merbit.h that this file uses: the context's record and its references
 * (mbi_context_retain, mbi_context_unref), errors (mbi_fail, MBI_TRY), memory (mbi_allocate,
 * mbi_allocate_array, mbi_release), CPU threads (mbi_parallel), time (mbi_seconds), checksums
 * (mbi_hash_start, mbi_hash_add), entering the CUDA context, allocating, copying and waiting
 * there (mbi_device_...), compiling and launching kernels (mbi_preamble, mbi_program_...,
 * mbi_device_launch), and finding functions of libcuda (mbi_library_function). */

/* ==== >>DIST TEXTS ======================================================================== */

/* Code that the CPU runs and that NVRTC compiles from a string. It may contain neither comments
 * nor directives; MBI_DIST_HERE begins each function. */
#define MBI_DIST_BOTH(name, ...) __VA_ARGS__ static const char name[] = #__VA_ARGS__;
#define MBI_DIST_HERE static

/* The numbers of a solve: doubles, stored where the operator computes. ONE is 1; STOP is a
 * MBI_DIST_STOP number, why the iteration ended; TARGET is the squared residual at which it
 * ends (PageRank: the change); RR is the squared residual, BB the squared right-hand side; then
 * come those of the methods. SUM and the next three receive sums over rows, then over ranks.
 * STEP numbers say what mbi_dist_step computes. */
MBI_DIST_BOTH(
    mbi_dist_text_numbers,
    enum {MBI_DIST_ONE, MBI_DIST_STOP, MBI_DIST_ITERATIONS, MBI_DIST_CAP, MBI_DIST_TARGET,
          MBI_DIST_RR, MBI_DIST_BB, MBI_DIST_JACOBI, MBI_DIST_RHO, MBI_DIST_ALPHA,
          MBI_DIST_BETA, MBI_DIST_OMEGA, MBI_DIST_BETA_OMEGA, MBI_DIST_SHIFT, MBI_DIST_DAMPING,
          MBI_DIST_VERTICES, MBI_DIST_SUM, MBI_DIST_NUMBERS = MBI_DIST_SUM + 4};
    enum {MBI_DIST_RUNS, MBI_DIST_CONVERGED, MBI_DIST_CAPPED, MBI_DIST_BROKEN,
          MBI_DIST_NOT_FINITE};
    enum {MBI_DIST_STEP_START, MBI_DIST_STEP_CG_ALPHA, MBI_DIST_STEP_CG_BETA,
          MBI_DIST_STEP_BICGSTAB_ALPHA, MBI_DIST_STEP_BICGSTAB_OMEGA,
          MBI_DIST_STEP_BICGSTAB_BETA, MBI_DIST_STEP_PAGERANK_SHIFT,
          MBI_DIST_STEP_PAGERANK_CHANGE};

    MBI_DIST_HERE int mbi_dist_why(const double *scalars) {
      return (int)scalars[MBI_DIST_STOP];
    })

/* Computes the numbers of a method between two passes over the vectors. Once STOP is set,
 * nothing changes; a sum that overflows sets it before x changes. Saad, algorithms 9.1 (CG;
 * START, CG_ALPHA, CG_BETA) and 7.7 (BiCGSTAB). */
MBI_DIST_BOTH(
    mbi_dist_text_step,
    MBI_DIST_HERE void mbi_dist_check(double *s) {
      if (!(s[MBI_DIST_RR] - s[MBI_DIST_RR] == 0)) {
        s[MBI_DIST_STOP] = MBI_DIST_NOT_FINITE;
      } else if (s[MBI_DIST_RR] <= s[MBI_DIST_TARGET]) {
        s[MBI_DIST_STOP] = MBI_DIST_CONVERGED;
      } else if (s[MBI_DIST_ITERATIONS] >= s[MBI_DIST_CAP]) {
        s[MBI_DIST_STOP] = MBI_DIST_CAPPED;
      }
    }

    MBI_DIST_HERE void mbi_dist_divide(double *s, int quotient, double above, double below) {
      s[quotient] = above / below;
      if (below == 0 || !(below - below == 0) || !(s[quotient] - s[quotient] == 0)) {
        s[quotient] = 0;
        s[MBI_DIST_STOP] = below - below == 0 ? MBI_DIST_BROKEN : MBI_DIST_NOT_FINITE;
      }
    }

    MBI_DIST_HERE void mbi_dist_step(double *s, int step) {
      const double *sum = s + MBI_DIST_SUM;
      if (mbi_dist_why(s) != MBI_DIST_RUNS) {
        return;
      }
      if (step == MBI_DIST_STEP_START) {
        s[MBI_DIST_RR] = sum[0];
        s[MBI_DIST_BB] = sum[1];
        s[MBI_DIST_TARGET] = s[MBI_DIST_TARGET] * sum[1];
        s[MBI_DIST_RHO] = s[MBI_DIST_JACOBI] != 0 ? sum[2] : sum[0];
        mbi_dist_check(s);
      } else if (step == MBI_DIST_STEP_CG_ALPHA) {
        mbi_dist_divide(s, MBI_DIST_ALPHA, s[MBI_DIST_RHO], sum[0] <= 0 ? 0 : sum[0]);
      } else if (step == MBI_DIST_STEP_CG_BETA) {
        const double rho = s[MBI_DIST_JACOBI] != 0 ? sum[2] : sum[0];
        s[MBI_DIST_ITERATIONS] += 1;
        s[MBI_DIST_RR] = sum[0];
        mbi_dist_check(s);
        if (mbi_dist_why(s) == MBI_DIST_RUNS) {
          mbi_dist_divide(s, MBI_DIST_BETA, rho, s[MBI_DIST_RHO]);
          s[MBI_DIST_RHO] = rho;
        }
      } else if (step == MBI_DIST_STEP_BICGSTAB_ALPHA) {
        mbi_dist_divide(s, MBI_DIST_ALPHA, s[MBI_DIST_RHO], sum[0]);
      } else if (step == MBI_DIST_STEP_BICGSTAB_OMEGA) {
        s[MBI_DIST_OMEGA] = 0;
        if (sum[1] != 0) {
          mbi_dist_divide(s, MBI_DIST_OMEGA, sum[0], sum[1]);
        }
      } else if (step == MBI_DIST_STEP_BICGSTAB_BETA) {
        const double rho = sum[1];
        s[MBI_DIST_ITERATIONS] += 1;
        s[MBI_DIST_RR] = sum[0];
        mbi_dist_check(s);
        if (mbi_dist_why(s) == MBI_DIST_RUNS) {
          mbi_dist_divide(s, MBI_DIST_BETA, rho * s[MBI_DIST_ALPHA],
                          s[MBI_DIST_RHO] * s[MBI_DIST_OMEGA]);
          s[MBI_DIST_BETA_OMEGA] = s[MBI_DIST_BETA] * s[MBI_DIST_OMEGA];
          s[MBI_DIST_RHO] = rho;
        }
      } else if (step == MBI_DIST_STEP_PAGERANK_SHIFT) {
        const double d = s[MBI_DIST_DAMPING];
        s[MBI_DIST_SHIFT] = (1 - d + d * (1 - sum[0])) / s[MBI_DIST_VERTICES];
      } else if (step == MBI_DIST_STEP_PAGERANK_CHANGE) {
        s[MBI_DIST_ITERATIONS] += 1;
        s[MBI_DIST_RR] = sum[0];
        mbi_dist_check(s);
      }
    })

/* A pass over vectors of `rows` elements: out = scale * (sum of sign[k] * scalars[factor[k]] *
 * in[k]). factor[k] < 0: no such term; in[k] NULL: ones; scale NULL: ones; out NULL: only sums.
 * Then sums[k] = left[k] . right[k] of the new values; left[k] NULL: no such sum; right[k]
 * NULL: ones. If `change` is set, sums[0] is the L1 norm of the change of `out` instead. Once
 * STOP is set the pass does nothing, unless `always` is set. */
MBI_DIST_BOTH(
    mbi_dist_text_pass,
    typedef struct mbi_dist_pass {
      void *out;
      const void *in[3];
      const void *scale;
      const void *left[2];
      const void *right[2];
      double *scalars;
      double *partial;
      double sign[3];
      int factor[3];
      int change;
      int always;
      long long rows;
    } mbi_dist_pass;

    MBI_DIST_HERE double mbi_dist_load(const void *v, long long i, int single) {
      return single ? (double)((const float *)v)[i] : ((const double *)v)[i];
    }

    MBI_DIST_HERE void mbi_dist_element(const mbi_dist_pass *p, long long i, int single,
                                        double *sums) {
      int k;
      if (p->out != 0) {
        double value = 0;
        for (k = 0; k < 3; k++) {
          if (p->factor[k] >= 0) {
            const double factor = p->sign[k] * p->scalars[p->factor[k]];
            value += factor * (p->in[k] != 0 ? mbi_dist_load(p->in[k], i, single) : 1);
          }
        }
        value *= p->scale != 0 ? mbi_dist_load(p->scale, i, single) : 1;
        if (p->change) {
          const double change = value - mbi_dist_load(p->out, i, single);
          sums[0] += change < 0 ? -change : change;
        }
        if (single) {
          ((float *)p->out)[i] = (float)value;
        } else {
          ((double *)p->out)[i] = value;
        }
      }
      for (k = 0; k < 2; k++) {
        if (p->left[k] != 0) {
          sums[k] += mbi_dist_load(p->left[k], i, single) *
                     (p->right[k] != 0 ? mbi_dist_load(p->right[k], i, single) : 1);
        }
      }
    })

/* Gathers, adds or places `count` elements by the indices `at`. */
MBI_DIST_BOTH(
    mbi_dist_text_move, enum {MBI_DIST_GATHER, MBI_DIST_ADD, MBI_DIST_PLACE};

    typedef struct mbi_dist_move {
      const void *from;
      void *to;
      const int *at;
      long long count;
      int how;
    } mbi_dist_move;

    MBI_DIST_HERE void mbi_dist_move_one(const mbi_dist_move *m, long long i, int single) {
      const int at = m->at[i];
      if (single) {
        const float *from = (const float *)m->from;
        float *to = (float *)m->to;
        if (m->how == MBI_DIST_GATHER) {
          to[i] = from[at];
        } else {
          to[at] = m->how == MBI_DIST_ADD ? to[at] + from[i] : from[i];
        }
      } else {
        const double *from = (const double *)m->from;
        double *to = (double *)m->to;
        if (m->how == MBI_DIST_GATHER) {
          to[i] = from[at];
        } else {
          to[at] = m->how == MBI_DIST_ADD ? to[at] + from[i] : from[i];
        }
      }
    })

/* The kernels around them. MBK_DIST_SINGLE is 1 for F32. A block of 256 threads adds up its
 * part of the sums in a fixed order, and mbk_dist_total adds up the blocks' parts. */
#define MBI_DIST_THREADS 256
#define MBI_DIST_BLOCKS 1024 /* most blocks of a pass */

/* The arguments of the two small kernels. */
MBI_DIST_BOTH(
    mbi_dist_text_small,
    typedef struct mbi_dist_total {
      const double *partial;
      double *sums;
      int blocks;
      int count;
    } mbi_dist_total;

    typedef struct mbi_dist_numbers {
      double *scalars;
      int step;
    } mbi_dist_numbers;)

static const char mbi_dist_text_reduce[] =
    "MBK_DEVICE void mbk_dist_reduce(double *shared, double *sums) {\n"
    "  const mbk_u32 t = mbk_thread();\n"
    "  shared[t] = sums[0];\n"
    "  shared[256 + t] = sums[1];\n"
    "  for (mbk_u32 half = 128; half > 0; half /= 2) {\n"
    "    mbk_block_sync();\n"
    "    if (t < half) {\n"
    "      shared[t] += shared[t + half];\n"
    "      shared[256 + t] += shared[256 + t + half];\n"
    "    }\n"
    "  }\n"
    "}\n";
static const char mbi_dist_text_vector_kernels[] =
    "MBK_KERNEL MBK_BOUNDS(256) mbk_dist_move(MBK_GRID_CONSTANT mbi_dist_move a) {\n"
    "  for (mbk_i64 i = (mbk_i64)mbk_block() * 256 + mbk_thread(); i < a.count;\n"
    "       i += (mbk_i64)mbk_grid() * 256) {\n"
    "    mbi_dist_move_one(&a, i, MBK_DIST_SINGLE);\n"
    "  }\n"
    "}\n"
    "MBK_KERNEL MBK_BOUNDS(256) mbk_dist_pass(MBK_GRID_CONSTANT mbi_dist_pass a) {\n"
    "  MBK_SHARED_MEMORY(memory);\n"
    "  double *const shared = (double *)memory;\n"
    "  double sums[2] = {0, 0};\n"
    "  if (a.always || mbi_dist_why(a.scalars) == MBI_DIST_RUNS) {\n"
    "    for (mbk_i64 i = (mbk_i64)mbk_block() * 256 + mbk_thread(); i < a.rows;\n"
    "         i += (mbk_i64)mbk_grid() * 256) {\n"
    "      mbi_dist_element(&a, i, MBK_DIST_SINGLE, sums);\n"
    "    }\n"
    "  }\n"
    "  mbk_dist_reduce(shared, sums);\n"
    "  if (mbk_thread() == 0) {\n"
    "    a.partial[2 * mbk_block()] = shared[0];\n"
    "    a.partial[2 * mbk_block() + 1] = shared[256];\n"
    "  }\n"
    "}\n";
static const char mbi_dist_text_number_kernels[] =
    "MBK_KERNEL MBK_BOUNDS(256) mbk_dist_total(MBK_GRID_CONSTANT mbi_dist_total a) {\n"
    "  MBK_SHARED_MEMORY(memory);\n"
    "  double *const shared = (double *)memory;\n"
    "  double sums[2] = {0, 0};\n"
    "  for (int b = (int)mbk_thread(); b < a.blocks; b += 256) {\n"
    "    sums[0] += a.partial[2 * b];\n"
    "    sums[1] += a.partial[2 * b + 1];\n"
    "  }\n"
    "  mbk_dist_reduce(shared, sums);\n"
    "  if (mbk_thread() < (mbk_u32)a.count) {\n"
    "    a.sums[mbk_thread()] = shared[256 * mbk_thread()];\n"
    "  }\n"
    "}\n"
    "MBK_KERNEL MBK_BOUNDS(32) mbk_dist_numbers(MBK_GRID_CONSTANT mbi_dist_numbers a) {\n"
    "  if (mbk_thread() == 0) {\n"
    "    mbi_dist_step(a.scalars, a.step);\n"
    "  }\n"
    "}\n";

/* ==== >>DIST STATE ======================================================================== */

/* Functions of libcuda that merbit.h does not use. */
typedef struct mbi_dist_driver {
  mbi_curesult (*priority_range)(int *least, int *greatest);
  mbi_curesult (*stream_create)(void **stream, unsigned flags, int priority);
  mbi_curesult (*stream_destroy)(void *stream);
  mbi_curesult (*stream_wait)(void *stream, void *event, unsigned flags);
  mbi_curesult (*event_create)(void **event, unsigned flags);
  mbi_curesult (*event_destroy)(void *event);
  mbi_curesult (*event_record)(void *event, void *stream);
  mbi_curesult (*host_allocate)(void **memory, size_t bytes);
  mbi_curesult (*host_release)(void *memory);
  mbi_curesult (*upload)(mbi_devptr target, const void *source, size_t bytes, void *stream);
  mbi_curesult (*download)(void *target, mbi_devptr source, size_t bytes, void *stream);
} mbi_dist_driver;

#define MBI_DIST_EVENT_UNTIMED 2 /* CUevent_flags: CU_EVENT_DISABLE_TIMING */

typedef struct mbi_dist_gpu {
  mbi_dist_driver driver;
  mbi_program vector_program, number_program;
  void *move, *pass, *total, *numbers; /* CUfunctions */
  void *stream;                        /* the exchange's stream, of high priority */
  void *packed, *arrived;              /* events: packing is done; the halo is there */
  int stream_made, packed_made,
      arrived_made;     /* a failing driver may leave rubbish in a handle */
  void *send, *receive; /* page-locked memory for an exchange through the host; or NULL */
} mbi_dist_gpu;

/* A CSR matrix in host memory with 32-bit columns. */
typedef struct mbi_dist_csr {
  int64_t rows, cols, nnz;
  merbit_index_type offset_type;
  void *row_ptr;
  int32_t *col_ind;
  void *values; /* NULL: a pattern */
} mbi_dist_csr;

/* A rank's view of the ranks while the operator is made. */
typedef struct mbi_dist_ranks {
  merbit_context *context;
  merbit_exchange exchange;
  int64_t *to, *from; /* a number for each rank */
  int *broken;        /* becomes 1 when the exchange fails; or NULL */
} mbi_dist_ranks;

struct merbit_dist {
  merbit_context *context; /* retained */
  mbi_dist_ranks ranks;
  int64_t *first; /* [ranks + 1]: the first row of each rank; ranks.to and ranks.from follow */
  merbit_dist_info info;
  merbit_type type; /* F64 or F32 */
  size_t element;   /* its bytes */
  int pattern;      /* no rank has values; known once the ranks have met */
  int whole_rows;   /* as in merbit_dist_desc, 0 or 1 */
  int broken; /* 1: the exchange has failed, and no later call can work */
  int mixed;  /* 1: an update of the values failed on some rank after others had begun */
  int64_t nnz;
  uint64_t *is_halo;     /* a bit for each entry of the view: multiplied after the exchange */
  uint64_t *is_diagonal; /* a bit for each entry of the view */
  int32_t *diagonal_row; /* the row of each entry on the diagonal, in their order */
  int64_t diagonal_nnz;
  void *diagonal;                   /* [rows], sums of these entries, in host memory */
  mbi_dist_csr own, boundary;       /* the matrices of the two plans */
  merbit_plan *own_plan;            /* NULL: the rank has no rows */
  merbit_plan *boundary_plan;       /* NULL: no row has a halo column */
  merbit_message *sends, *receives; /* of a product */
  mbi_dist_gpu gpu;
  /* Arrays where the operator computes. A boundary product reads `used` own elements of x (0
   * unless whole_rows is set), then the halo; all of it is in halo_x. */
  int64_t used;
  const void *known_x, *known_y; /* vectors that are known to be in GPU memory */
  int32_t *pack_at, *used_at, *boundary_at;
  void *packed, *halo_x, *boundary_y;
  double *scalars; /* [MBI_DIST_NUMBERS] */
  double *partial; /* two sums for each part of a pass */
};

/* ==== >>DIST RANKS ======================================================================== */

static void mbi_dist_abort(const mbi_dist_ranks *ranks) {
  if (ranks->exchange.abort != NULL) {
    ranks->exchange.abort(ranks->exchange.user);
  }
}

/* Reports a failed function of the exchange. The ranks no longer wait for each other. */
static merbit_status mbi_dist_exchange_failed(const mbi_dist_ranks *ranks,
                                              const char *function) {
  const merbit_exchange *e = &ranks->exchange;
  const char *reason = e->error != NULL ? e->error(e->user) : NULL;
  const merbit_status status =
      mbi_fail(ranks->context, MERBIT_IO_ERROR, "rank %d: merbit_exchange.%s failed%s%s",
               e->rank, function, reason != NULL ? ": " : "", reason != NULL ? reason : "");
  if (ranks->broken != NULL) {
    *ranks->broken = 1;
  }
  mbi_dist_abort(ranks);
  return status;
}

/* Gives ranks.to[] to the others and gets ranks.from[]. */
static merbit_status mbi_dist_counts(const mbi_dist_ranks *ranks) {
  return ranks->exchange.counts(ranks->exchange.user, ranks->to, ranks->from) == 0
             ? MERBIT_OK
             : mbi_dist_exchange_failed(ranks, "counts");
}

/* Sends the same number to all ranks. */
static merbit_status mbi_dist_tell(const mbi_dist_ranks *ranks, int64_t number) {
  int q;
  for (q = 0; q < ranks->exchange.ranks; q++) {
    ranks->to[q] = number;
  }
  return mbi_dist_counts(ranks);
}

/* Returns MERBIT_OK if every rank passes MERBIT_OK. Otherwise all ranks return the status of
 * the first that does not, with its error message, which travels eight bytes at a time. */
static merbit_status mbi_dist_agree(const mbi_dist_ranks *ranks, merbit_status status) {
  char sentence[MERBIT_MESSAGE_SIZE] = "", whose[MERBIT_MESSAGE_SIZE];
  int64_t word;
  size_t at;
  int q = 0;
  if (status != MERBIT_OK) {
    (void)merbit_last_error(ranks->context, sentence, sizeof sentence);
  }
  MBI_TRY(mbi_dist_tell(ranks, (int64_t)status));
  while (q < ranks->exchange.ranks && ranks->from[q] == MERBIT_OK) {
    q++;
  }
  if (q == ranks->exchange.ranks) {
    return MERBIT_OK;
  }
  status = (merbit_status)ranks->from[q];
  for (at = 0; at < sizeof sentence; at += sizeof word) {
    memcpy(&word, sentence + at, sizeof word);
    MBI_TRY(mbi_dist_tell(ranks, word));
    memcpy(whose + at, &ranks->from[q], sizeof word);
  }
  whose[sizeof whose - 1] = '\0';
  return mbi_fail(ranks->context, status, "rank %d: %.480s", q, whose);
}

/* Fails on all ranks unless all pass the same numbers, called `names`: options that decide how
 * often a collective call communicates. */
static merbit_status mbi_dist_same(const mbi_dist_ranks *ranks, const double *numbers,
                                   int count, const char *names) {
  const mbi_hash hash =
      mbi_hash_add(mbi_hash_start(), numbers, (size_t)count * sizeof *numbers);
  int q;
  MBI_TRY(mbi_dist_tell(ranks, (int64_t)(hash.low >> 1)));
  for (q = 1; q < ranks->exchange.ranks; q++) {
    if (ranks->from[q] != ranks->from[0]) {
      return mbi_fail(ranks->context, MERBIT_INVALID_ARGUMENT,
                      "rank %d: %s differ from those of rank 0; give all ranks the same", q,
                      names);
    }
  }
  return MERBIT_OK;
}

/* Ends a collective call: after a failure, aborts so that other ranks need not wait for this
 * one. */
static merbit_status mbi_dist_end(merbit_dist *d, merbit_status status) {
  if (status != MERBIT_OK) {
    d->broken = 1;
    mbi_dist_abort(&d->ranks);
  }
  return status;
}

/* ==== >>DIST SIDES ======================================================================== */

/* Memory, copies and passes where the operator computes. On CUDA its context must be current.
 */

static int mbi_dist_on_gpu(const merbit_dist *d) {
  return d->info.side == MERBIT_SIDE_CUDA;
}

static int mbi_dist_device_messages(const merbit_dist *d) {
  return mbi_dist_on_gpu(d) && d->ranks.exchange.device_messages;
}

static merbit_status mbi_dist_cuda(const merbit_dist *d, mbi_curesult result,
                                   const char *call) {
  return mbi_device_check(d->context, result, call, "exchanging a halo");
}

static merbit_status mbi_dist_enter(const merbit_dist *d) {
  return mbi_dist_on_gpu(d) ? mbi_device_enter(d->context) : MERBIT_OK;
}

static void mbi_dist_leave(const merbit_dist *d) {
  if (mbi_dist_on_gpu(d)) {
    mbi_device_leave(d->context);
  }
}

/* Allocates `count` elements of `size` bytes where the operator computes. */
static merbit_status mbi_dist_allocate(merbit_dist *d, int64_t count, size_t size,
                                       const char *what, void **array) {
  mbi_devptr address = 0;
  *array = NULL;
  if (!mbi_dist_on_gpu(d)) {
    return mbi_allocate_array(d->context, count, size, what, array);
  }
  MBI_TRY(mbi_device_allocate(d->context, (uint64_t)count * size, what, &address));
  d->info.device_bytes += count * (int64_t)size;
  *array = mbi_device_pointer(address);
  return MERBIT_OK;
}

static void mbi_dist_release(merbit_dist *d, void *array) {
  if (mbi_dist_on_gpu(d)) {
    mbi_device_release(d->context, mbi_device_address(array));
  } else {
    mbi_release(d->context, array);
  }
}

/* Copies from host memory to where the operator computes. Complete on return. */
static merbit_status mbi_dist_upload(merbit_dist *d, void *target, const void *source,
                                     int64_t count, size_t size) {
  if (mbi_dist_on_gpu(d)) {
    return mbi_device_upload(d->context, mbi_device_address(target), source,
                             (size_t)count * size);
  }
  if (count > 0) {
    memcpy(target, source, (size_t)count * size);
  }
  return MERBIT_OK;
}

/* Waits for a stream of the caller's, or the exchange's. */
static merbit_status mbi_dist_wait(merbit_dist *d, void *stream) {
  const merbit_exchange *e = &d->ranks.exchange;
  if (!mbi_dist_on_gpu(d)) {
    return MERBIT_OK;
  }
  if (!mbi_dist_device_messages(d) || e->wait == NULL) {
    return mbi_device_synchronize(d->context, stream);
  }
  return e->wait(e->user, stream) == 0 ? MERBIT_OK
                                       : mbi_dist_exchange_failed(&d->ranks, "wait");
}

#define MBI_DIST_PART 16384 /* elements of a CPU task */

static int mbi_dist_parts(int64_t elements) {
  return (int)((elements + MBI_DIST_PART - 1) / MBI_DIST_PART);
}

static int64_t mbi_dist_part_end(int part, int64_t elements) {
  const int64_t end = ((int64_t)part + 1) * MBI_DIST_PART;
  return end < elements ? end : elements;
}

/* Returns the number of thread blocks of a kernel over `elements` elements. */
static int mbi_dist_blocks(int64_t elements) {
  const int64_t blocks = (elements + MBI_DIST_THREADS - 1) / MBI_DIST_THREADS;
  return blocks < MBI_DIST_BLOCKS ? (int)blocks : MBI_DIST_BLOCKS;
}

/* Moves a part's elements. Callers pass a constant `single`, so that each type gets its own
 * loop. */
static inline void mbi_dist_move_part(const mbi_dist_move *m, int part, int single) {
  const int64_t end = mbi_dist_part_end(part, m->count);
  int64_t i;
  for (i = (int64_t)part * MBI_DIST_PART; i < end; i++) {
    mbi_dist_move_one(m, i, single);
  }
}

static void mbi_dist_move_f32(void *argument, int part) {
  mbi_dist_move_part((const mbi_dist_move *)argument, part, 1);
}

static void mbi_dist_move_f64(void *argument, int part) {
  mbi_dist_move_part((const mbi_dist_move *)argument, part, 0);
}

/* Moves elements: gathers from[at[i]], or adds or places from[i] at to[at[i]]. */
static merbit_status mbi_dist_move_all(merbit_dist *d, const void *from, void *to,
                                       const int32_t *at, int64_t count, int how,
                                       void *stream) {
  mbi_dist_move m;
  if (count == 0) {
    return MERBIT_OK;
  }
  m.from = from;
  m.to = to;
  m.at = at;
  m.count = count;
  m.how = how;
  if (mbi_dist_on_gpu(d)) {
    return mbi_device_launch(d->context, d->gpu.move, "mbk_dist_move", mbi_dist_blocks(count),
                             MBI_DIST_THREADS, 0, stream, &m);
  }
  mbi_parallel(d->context, mbi_dist_parts(count),
               d->type == MERBIT_F32 ? mbi_dist_move_f32 : mbi_dist_move_f64, &m);
  return MERBIT_OK;
}

/* Runs a pass over a part, as mbi_dist_move_part moves one. */
static inline void mbi_dist_pass_part(const mbi_dist_pass *p, int part, int single) {
  const int64_t end = mbi_dist_part_end(part, p->rows);
  double sums[2] = {0, 0};
  int64_t i;
  for (i = (int64_t)part * MBI_DIST_PART; i < end; i++) {
    mbi_dist_element(p, i, single, sums);
  }
  p->partial[2 * part] = sums[0];
  p->partial[2 * part + 1] = sums[1];
}

static void mbi_dist_pass_f32(void *argument, int part) {
  mbi_dist_pass_part((const mbi_dist_pass *)argument, part, 1);
}

static void mbi_dist_pass_f64(void *argument, int part) {
  mbi_dist_pass_part((const mbi_dist_pass *)argument, part, 0);
}

/* Returns a pass that does nothing yet. */
static mbi_dist_pass mbi_dist_pass_begin(merbit_dist *d, void *out) {
  mbi_dist_pass p;
  memset(&p, 0, sizeof p);
  p.out = out;
  p.factor[0] = p.factor[1] = p.factor[2] = -1;
  p.scalars = d->scalars;
  p.partial = d->partial;
  p.rows = d->info.rows;
  return p;
}

/* Adds sign * scalars[factor] * in to a pass; `in` NULL is a vector of ones. */
static void mbi_dist_pass_add(mbi_dist_pass *p, double sign, int factor, const void *in) {
  const int k = p->factor[0] < 0 ? 0 : p->factor[1] < 0 ? 1 : 2;
  p->sign[k] = sign;
  p->factor[k] = factor;
  p->in[k] = in;
}

/* Adds the dot product of two vectors to a pass; `right` NULL is a vector of ones. */
static void mbi_dist_pass_dot(mbi_dist_pass *p, const void *left, const void *right) {
  const int k = p->left[0] != NULL;
  p->left[k] = left;
  p->right[k] = right;
}

/* Runs a pass. Its first `sums` sums (0 to 2) go to scalars[SUM + at], which is this rank's
 * part. */
static merbit_status mbi_dist_pass_run(merbit_dist *d, mbi_dist_pass *p, int sums, int at,
                                       void *stream) {
  const int64_t rows = d->info.rows;
  double *const target = d->scalars + MBI_DIST_SUM + at;
  int parts = mbi_dist_parts(rows), k, i;
  if (mbi_dist_on_gpu(d)) {
    mbi_dist_total total;
    const unsigned shared = 2 * MBI_DIST_THREADS * sizeof(double);
    parts = mbi_dist_blocks(rows);
    MBI_TRY(mbi_device_launch(d->context, d->gpu.pass, "mbk_dist_pass", parts, MBI_DIST_THREADS,
                              shared, stream, p));
    total.partial = d->partial;
    total.sums = target;
    total.blocks = parts;
    total.count = sums;
    return mbi_device_launch(d->context, d->gpu.total, "mbk_dist_total", sums > 0,
                             MBI_DIST_THREADS, shared, stream, &total);
  }
  if (p->always || mbi_dist_why(d->scalars) == MBI_DIST_RUNS) {
    mbi_parallel(d->context, parts,
                 d->type == MERBIT_F32 ? mbi_dist_pass_f32 : mbi_dist_pass_f64, p);
    for (k = 0; k < sums; k++) {
      target[k] = 0;
      for (i = 0; i < parts; i++) {
        target[k] += d->partial[2 * i + k];
      }
    }
  }
  return MERBIT_OK;
}

/* Computes the numbers of a method between two passes. */
static merbit_status mbi_dist_compute(merbit_dist *d, int step, void *stream) {
  mbi_dist_numbers numbers;
  if (!mbi_dist_on_gpu(d)) {
    mbi_dist_step(d->scalars, step);
    return MERBIT_OK;
  }
  numbers.scalars = d->scalars;
  numbers.step = step;
  return mbi_device_launch(d->context, d->gpu.numbers, "mbk_dist_numbers", 1, 32, 0, stream,
                           &numbers);
}

/* Copies scalars[at] and the next ones to host memory, after the work on `stream`. */
static merbit_status mbi_dist_read(merbit_dist *d, int at, int count, double *values,
                                   void *stream) {
  if (!mbi_dist_on_gpu(d)) {
    memcpy(values, d->scalars + at, (size_t)count * sizeof *values);
    return MERBIT_OK;
  }
  MBI_TRY(mbi_dist_wait(d, stream));
  return mbi_device_download(d->context, values, mbi_device_address(d->scalars + at),
                             (size_t)count * sizeof *values);
}

/* Returns whether sums over ranks pass through the host. */
static int mbi_dist_sums_on_host(const merbit_dist *d) {
  return !mbi_dist_device_messages(d) || d->ranks.exchange.sum == NULL;
}

/* Adds up numbers in host memory over all ranks. */
static merbit_status mbi_dist_sum_host(merbit_dist *d, double *values, int count) {
  const mbi_dist_ranks *ranks = &d->ranks;
  const merbit_exchange *e = &ranks->exchange;
  int k, q;
  if (e->sum != NULL && !e->device_messages) {
    return e->sum(e->user, values, count, NULL) == 0 ? MERBIT_OK
                                                     : mbi_dist_exchange_failed(ranks, "sum");
  }
  for (k = 0; k < count; k++) {
    int64_t bits;
    memcpy(&bits, &values[k], sizeof bits);
    MBI_TRY(mbi_dist_tell(ranks, bits));
    values[k] = 0;
    for (q = 0; q < e->ranks; q++) {
      double part;
      memcpy(&part, &ranks->from[q], sizeof part);
      values[k] += part;
    }
  }
  return MERBIT_OK;
}

/* Adds up the first `count` of scalars[SUM] over all ranks. */
static merbit_status mbi_dist_sum(merbit_dist *d, int count, void *stream) {
  const merbit_exchange *e = &d->ranks.exchange;
  double *const sums = d->scalars + MBI_DIST_SUM;
  double values[4];
  if (!mbi_dist_sums_on_host(d)) {
    return e->sum(e->user, sums, count, stream) == 0
               ? MERBIT_OK
               : mbi_dist_exchange_failed(&d->ranks, "sum");
  }
  MBI_TRY(mbi_dist_read(d, MBI_DIST_SUM, count, values, stream));
  MBI_TRY(mbi_dist_sum_host(d, values, count));
  return mbi_dist_upload(d, sums, values, count, sizeof *values);
}

/* ==== >>DIST HALO ========================================================================= */

/* The set-up: which entries a rank can multiply at once, and which elements it needs from other
 * ranks. */

/* The distinct columns of a rank's rows that other ranks own, in ascending order, and the way
 * from a column to its place among them: a bitmap with counts if the columns lie close enough
 * together, otherwise a binary search. */
typedef struct mbi_dist_columns {
  int64_t *list;
  int64_t count;
  int64_t low, words; /* the bitmap: its first column, its number of 64-bit words; 0: none */
  uint64_t *bits;
  int32_t *before; /* columns before each word */
} mbi_dist_columns;

/* The counts of a rank's rows, from which arrays get their sizes. */
typedef struct mbi_dist_counts_of {
  int64_t own, halo;     /* entries in own columns, and in others */
  int64_t boundary_rows; /* rows with a halo column */
  int64_t boundary_nnz;  /* their entries */
  int64_t diagonal;      /* entries on the diagonal */
  int64_t low, high;     /* the least and the greatest halo column */
} mbi_dist_counts_of;

static int64_t mbi_dist_index(const void *array, merbit_index_type type, int64_t k) {
  return type == MERBIT_INDEX_64 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

/* Returns left - right. If that is less than INT64_MIN it wraps, and an index is refused. */
static int64_t mbi_dist_minus(int64_t left, int64_t right) {
  return (int64_t)((uint64_t)left - (uint64_t)right);
}

/* Returns the place of the first entry of a row. */
static int64_t mbi_dist_row(const merbit_view *rows, int64_t row) {
  return mbi_dist_minus(mbi_dist_index(rows->row_ptr, rows->offset_type, row), rows->base);
}

static int64_t mbi_dist_column(const merbit_view *rows, int64_t k) {
  return mbi_dist_minus(mbi_dist_index(rows->col_ind, rows->index_type, k), rows->base);
}

static void mbi_dist_set(uint64_t *bits, int64_t k) {
  bits[k >> 6] |= (uint64_t)1 << (k & 63);
}

static int mbi_dist_get(const uint64_t *bits, int64_t k) {
  return (int)(bits[k >> 6] >> (k & 63) & 1);
}

static int mbi_dist_bits_in(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (int)(word * 0x0101010101010101u >> 56);
}

/* Checks a view without reading its arrays. */
static merbit_status mbi_dist_check_view(merbit_context *context, const merbit_view *rows) {
  if (rows == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "`rows` is NULL");
  }
  if (rows->format != MERBIT_CSR || rows->symmetry != MERBIT_SYMMETRY_NONE ||
      rows->memory == MERBIT_MEMORY_DEVICE) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "rows are given as CSR with all entries, in host memory; this view has "
                    "format %d, symmetry %d, memory %d",
                    (int)rows->format, (int)rows->symmetry, (int)rows->memory);
  }
  if (rows->value_type != MERBIT_TYPE_DEFAULT && rows->value_type != MERBIT_F64 &&
      rows->value_type != MERBIT_F32) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "values are MERBIT_F64 or MERBIT_F32, not %d", (int)rows->value_type);
  }
  if ((rows->offset_type != MERBIT_INDEX_32 && rows->offset_type != MERBIT_INDEX_64) ||
      (rows->index_type != MERBIT_INDEX_32 && rows->index_type != MERBIT_INDEX_64)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "offset_type is %d, index_type %d; use MERBIT_INDEX_32 or MERBIT_INDEX_64",
                    (int)rows->offset_type, (int)rows->index_type);
  }
  if (rows->rows < 0 || rows->rows > INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRId64 " rows: a rank has 0 to 2^31 - 1; use more ranks", rows->rows);
  }
  if (rows->cols < 0 || rows->cols > (int64_t)1 << 62 || rows->nnz < 0 || rows->base < 0 ||
      rows->base > 1) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "cols is %" PRId64 ", nnz %" PRId64 ", base %d", rows->cols, rows->nnz,
                    rows->base);
  }
  if ((rows->rows > 0 && rows->row_ptr == NULL) || (rows->nnz > 0 && rows->col_ind == NULL)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "%s is NULL",
                    rows->rows > 0 && rows->row_ptr == NULL ? "row_ptr" : "col_ind");
  }
  return MERBIT_OK;
}

/* Counts, of entries [start, stop), those in columns outside [first, first + rows) and those in
 * column `diagonal`, and widens [low, high] by all columns. One loop for each width of columns.
 */
#define MBI_DIST_SCAN(type)                                                                    \
  for (k = start; k < stop; k++) {                                                             \
    const int64_t column = mbi_dist_minus(((const type *)rows->col_ind)[k], base);             \
    outside += (uint64_t)mbi_dist_minus(column, first) >= (uint64_t)rows->rows;                \
    counts->diagonal += column == diagonal;                                                    \
    low = column < low ? column : low;                                                         \
    high = column > high ? column : high;                                                      \
  }

/* Scans the entries of row `row` of the rank. Returns the first entry whose column does not
 * exist, or -1. Sets *entries_outside to the number of its entries in halo columns. */
static int64_t mbi_dist_scan(const merbit_view *rows, int64_t first, int64_t row, int64_t start,
                             int64_t stop, mbi_dist_counts_of *counts,
                             int64_t *entries_outside) {
  const int64_t base = rows->base, diagonal = first + row;
  int64_t outside = 0, low = 0, high = 0, k;
  if (rows->index_type == MERBIT_INDEX_64) {
    MBI_DIST_SCAN(int64_t)
  } else {
    MBI_DIST_SCAN(int32_t)
  }
  *entries_outside = outside;
  if (low < 0 || high >= rows->cols) {
    for (k = start; k < stop; k++) {
      const int64_t column = mbi_dist_column(rows, k);
      if (column < 0 || column >= rows->cols) {
        return k;
      }
    }
  }
  return -1;
}

/* Checks and counts all offsets and columns. `first` is the number of the first row. Sets a bit
 * of boundary[], which is zero, for each row with a halo column. */
static merbit_status mbi_dist_count(merbit_context *context, const merbit_view *rows,
                                    int64_t first, uint64_t *boundary,
                                    mbi_dist_counts_of *counts) {
  const int64_t end = first + rows->rows;
  int64_t at = 0, i, k;
  memset(counts, 0, sizeof *counts);
  counts->low = INT64_MAX;
  counts->high = -1;
  for (i = 0; i < rows->rows; i++) {
    const int64_t start = at;
    int64_t outside, bad;
    at = mbi_dist_row(rows, i + 1);
    if ((i == 0 && mbi_dist_row(rows, 0) != 0) || at < start || at > rows->nnz) {
      return mbi_fail(context, MERBIT_INVALID_MATRIX,
                      "row_ptr[%" PRId64 "] is %" PRId64 ", row_ptr[%" PRId64 "] is %" PRId64
                      ": offsets begin at %d, ascend and end at %" PRId64,
                      i, mbi_dist_index(rows->row_ptr, rows->offset_type, i), i + 1,
                      mbi_dist_index(rows->row_ptr, rows->offset_type, i + 1), rows->base,
                      rows->nnz + rows->base);
    }
    bad = mbi_dist_scan(rows, first, i, start, at, counts, &outside);
    if (bad >= 0) {
      return mbi_fail(context, MERBIT_INVALID_MATRIX,
                      "col_ind[%" PRId64 "], in row %" PRId64 " of the rank, is %" PRId64
                      ": columns are %d to %" PRId64,
                      bad, i, mbi_dist_index(rows->col_ind, rows->index_type, bad), rows->base,
                      rows->cols - 1 + rows->base);
    }
    if (outside == 0) {
      continue;
    }
    mbi_dist_set(boundary, i);
    counts->halo += outside;
    counts->boundary_rows++;
    counts->boundary_nnz += at - start;
    for (k = start; k < at; k++) {
      const int64_t column = mbi_dist_column(rows, k);
      if (column < first || column >= end) {
        counts->low = column < counts->low ? column : counts->low;
        counts->high = column > counts->high ? column : counts->high;
      }
    }
  }
  if (at != rows->nnz) {
    return mbi_fail(context, MERBIT_INVALID_MATRIX,
                    "row_ptr ends at %" PRId64 ", nnz is %" PRId64, at, rows->nnz);
  }
  counts->own = rows->nnz - counts->halo;
  return MERBIT_OK;
}

static int mbi_dist_compare(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* Lists the set bits of the bitmap, and counts those before each word. */
static merbit_status mbi_dist_columns_of_bits(merbit_context *context, mbi_dist_columns *c) {
  int64_t word, found = 0;
  void *array;
  MBI_TRY(mbi_allocate_array(context, c->words, sizeof *c->before, "counts of halo columns",
                             &array));
  c->before = (int32_t *)array;
  for (word = 0; word < c->words; word++) {
    c->before[word] = (int32_t)found;
    found += mbi_dist_bits_in(c->bits[word]);
    if (found > INT32_MAX) {
      return mbi_fail(context, MERBIT_TOO_LARGE,
                      "the halo has more than 2^31 - 1 elements; use more ranks");
    }
  }
  MBI_TRY(mbi_allocate_array(context, found, sizeof *c->list, "halo columns", &array));
  c->list = (int64_t *)array;
  for (word = 0; word < c->words; word++) {
    uint64_t bits = c->bits[word];
    for (; bits != 0; bits &= bits - 1) {
      c->list[c->count++] = c->low + word * 64 + mbi_dist_bits_in((bits & (~bits + 1)) - 1);
    }
  }
  return MERBIT_OK;
}

/* Finds the halo columns. On failure the caller runs mbi_dist_columns_release. */
static merbit_status mbi_dist_columns_find(merbit_context *context, const merbit_view *rows,
                                           int64_t first, const uint64_t *boundary,
                                           const mbi_dist_counts_of *counts,
                                           mbi_dist_columns *c) {
  const int64_t end = first + rows->rows;
  int64_t i, k, n = 0;
  void *array;
  memset(c, 0, sizeof *c);
  if (counts->halo == 0) {
    return MERBIT_OK;
  }
  c->low = counts->low;
  if ((counts->high - counts->low) / 64 <= counts->halo + 4096) {
    c->words = (counts->high - counts->low) / 64 + 1;
  }
  MBI_TRY(mbi_allocate_array(context, c->words > 0 ? c->words : counts->halo, sizeof *c->list,
                             "halo columns", &array));
  if (c->words > 0) {
    c->bits = (uint64_t *)array;
    memset(c->bits, 0, (size_t)c->words * sizeof *c->bits);
  } else {
    c->list = (int64_t *)array;
  }
  for (i = 0; i < rows->rows; i++) {
    const int64_t stop = mbi_dist_get(boundary, i) ? mbi_dist_row(rows, i + 1) : 0;
    for (k = stop > 0 ? mbi_dist_row(rows, i) : 0; k < stop; k++) {
      const int64_t column = mbi_dist_column(rows, k);
      if (column >= first && column < end) {
        continue;
      }
      if (c->words > 0) {
        mbi_dist_set(c->bits, column - c->low);
      } else {
        c->list[n++] = column;
      }
    }
  }
  if (c->words > 0) {
    return mbi_dist_columns_of_bits(context, c);
  }
  qsort(c->list, (size_t)n, sizeof *c->list, mbi_dist_compare);
  for (k = 0; k < n; k++) {
    if (k == 0 || c->list[k] != c->list[k - 1]) {
      c->list[c->count++] = c->list[k];
    }
  }
  if (c->count > INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "the halo has %" PRId64 " elements, more than 2^31 - 1; use more ranks",
                    c->count);
  }
  return MERBIT_OK;
}

static void mbi_dist_columns_release(merbit_context *context, mbi_dist_columns *c) {
  mbi_release(context, c->list);
  mbi_release(context, c->bits);
  mbi_release(context, c->before);
}

/* Returns the place of a halo column in the list. */
static int64_t mbi_dist_columns_place(const mbi_dist_columns *c, int64_t column) {
  int64_t low = 0, high = c->count;
  if (c->words > 0) {
    const int64_t at = column - c->low;
    const uint64_t lower = ((uint64_t)1 << (at & 63)) - 1;
    return c->before[at >> 6] + mbi_dist_bits_in(c->bits[at >> 6] & lower);
  }
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (c->list[middle] < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

MERBIT_API merbit_status merbit_dist_forecast(merbit_context *context, const merbit_view *rows,
                                              int64_t first_row, merbit_dist_info *info) {
  mbi_dist_counts_of counts;
  mbi_dist_columns columns;
  void *boundary = NULL;
  merbit_status status;
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  MBI_TRY(mbi_dist_check_view(context, rows));
  if (info == NULL || first_row < 0 || first_row > rows->cols - rows->rows) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "`info` is NULL, or rows %" PRId64 " and the next %" PRId64
                    " exceed the %" PRId64 " of the matrix",
                    first_row, rows->rows, rows->cols);
  }
  memset(&columns, 0, sizeof columns);
  status = mbi_allocate_array(context, rows->rows / 64 + 1, sizeof(uint64_t), "marks of rows",
                              &boundary);
  if (status == MERBIT_OK) {
    memset(boundary, 0, (size_t)(rows->rows / 64 + 1) * sizeof(uint64_t));
    status = mbi_dist_count(context, rows, first_row, (uint64_t *)boundary, &counts);
  }
  if (status == MERBIT_OK) {
    status = mbi_dist_columns_find(context, rows, first_row, (const uint64_t *)boundary,
                                   &counts, &columns);
  }
  if (status == MERBIT_OK) {
    info->rows = rows->rows;
    info->first_row = first_row;
    info->halo = columns.count;
    info->boundary_rows = counts.boundary_rows;
    info->own_nnz = counts.own;
    info->halo_nnz = counts.halo;
  }
  mbi_release(context, boundary);
  mbi_dist_columns_release(context, &columns);
  return status;
}

MERBIT_API merbit_status merbit_dist_renumber(merbit_context *context, int64_t vertices,
                                              const int32_t *part, int parts, int64_t *number,
                                              int64_t *first) {
  int64_t i;
  int p;
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (vertices < 0 || parts < 1 || first == NULL ||
      (vertices > 0 && (part == NULL || number == NULL))) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "vertices is %" PRId64 " and parts %d; use at least 0 and 1, and no NULL",
                    vertices, parts);
  }
  for (p = 0; p <= parts; p++) {
    first[p] = 0;
  }
  for (i = 0; i < vertices; i++) {
    if (part[i] < 0 || part[i] >= parts) {
      return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                      "part[%" PRId64 "] is %d; parts are 0 to %d", i, (int)part[i], parts - 1);
    }
    first[part[i] + 1]++;
  }
  for (p = 0; p < parts; p++) {
    first[p + 1] += first[p];
  }
  for (i = 0; i < vertices; i++) { /* first[p] moves to where part p ends */
    number[i] = first[part[i]]++;
  }
  for (p = parts; p > 0; p--) {
    first[p] = first[p - 1];
  }
  first[0] = 0;
  return MERBIT_OK;
}

/* ---- Create ------------------------------------------------------------------------------ */

/* Allocates a zeroed array for set-up in host memory. */
static merbit_status mbi_dist_host(merbit_dist *d, int64_t count, size_t size, const char *what,
                                   void **array) {
  MBI_TRY(mbi_allocate_array(d->context, count, size, what, array));
  memset(*array, 0, (size_t)count * size);
  return MERBIT_OK;
}

/* Checks this rank's options. */
static merbit_status mbi_dist_check_desc(merbit_dist *d, const merbit_plan_desc *plan) {
  merbit_context *context = d->context;
  const merbit_memory here = mbi_dist_on_gpu(d) ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
  if (plan->operation != MERBIT_OPERATION_N || plan->reordering != MERBIT_REORDERING_NONE ||
      plan->semiring != MERBIT_SEMIRING_PLUS_TIMES || plan->epilogue != NULL ||
      plan->vectors > 1 || plan->block_rows != 0 || plan->block_cols != 0) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "plan_desc.operation, reordering, semiring, epilogue, vectors, block_rows and "
        "block_cols of a distributed operator must be 0");
  }
  if (plan->vector_type != MERBIT_TYPE_DEFAULT && plan->vector_type != d->type) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "plan_desc.vector_type must be the type of the values, or 0");
  }
  if (plan->vector_memory != MERBIT_MEMORY_DEFAULT && plan->vector_memory != here) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "plan_desc.vector_memory must be where the operator computes, which is "
                    "MERBIT_MEMORY_%s, or 0",
                    mbi_dist_on_gpu(d) ? "DEVICE" : "HOST");
  }
  if (!mbi_dist_on_gpu(d) && d->ranks.exchange.device_messages) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "merbit_exchange.device_messages is set, but the operator computes on the "
                    "CPU; give another exchange");
  }
  return MERBIT_OK;
}

/* The kinds of values that a rank may have. */
enum { MBI_DIST_NO_ENTRIES, MBI_DIST_VALUES, MBI_DIST_PATTERN };

/* Reads from the ranks' words, above bit 17, whether the matrix is a pattern. Ranks without
 * entries do not count: their `values` may be NULL. */
static merbit_status mbi_dist_meet_values(merbit_dist *d) {
  const int64_t *words = d->ranks.from;
  int q, other = -1; /* the first rank with entries */
  for (q = 0; q < d->info.ranks; q++) {
    const int64_t has = words[q] >> 17;
    if (has == MBI_DIST_NO_ENTRIES) {
      continue;
    }
    if (other >= 0 && has != words[other] >> 17) {
      return mbi_fail(d->context, MERBIT_INVALID_ARGUMENT,
                      "rank %d: `values` is%s NULL, but on rank %d it is%s; give values on all "
                      "ranks with entries, or on none",
                      q, has == MBI_DIST_PATTERN ? "" : " not", other,
                      has == MBI_DIST_PATTERN ? " not" : "");
    }
    other = other >= 0 ? other : q;
  }
  d->pattern = other >= 0 && words[other] >> 17 == MBI_DIST_PATTERN;
  return MERBIT_OK;
}

/* Finds where each rank's rows begin, and checks that the ranks fit together. */
static merbit_status mbi_dist_meet(merbit_dist *d, const merbit_view *rows) {
  const mbi_dist_ranks *ranks = &d->ranks;
  const int64_t has = rows->nnz == 0         ? MBI_DIST_NO_ENTRIES
                      : rows->values != NULL ? MBI_DIST_VALUES
                                             : MBI_DIST_PATTERN;
  const int64_t kind =
      (int64_t)d->type | (int64_t)d->info.side << 8 | (int64_t)d->whole_rows << 16 | has << 17;
  int q;
  MBI_TRY(mbi_dist_tell(ranks, rows->cols));
  for (q = 0; q < d->info.ranks; q++) {
    if (ranks->from[q] != ranks->from[0]) {
      return mbi_fail(d->context, MERBIT_INVALID_ARGUMENT,
                      "rank %d: cols is %" PRId64 ", but %" PRId64 " on rank 0", q,
                      ranks->from[q], ranks->from[0]);
    }
  }
  MBI_TRY(mbi_dist_tell(ranks, kind));
  for (q = 0; q < d->info.ranks; q++) {
    if (((ranks->from[q] ^ ranks->from[0]) & 0x1ffff) != 0) {
      return mbi_fail(d->context, MERBIT_INVALID_ARGUMENT,
                      "rank %d: value type, side or whole_rows differs from rank 0", q);
    }
  }
  MBI_TRY(mbi_dist_meet_values(d));
  MBI_TRY(mbi_dist_tell(ranks, rows->rows));
  for (q = 0; q < d->info.ranks; q++) {
    d->first[q + 1] = d->first[q] + ranks->from[q];
  }
  d->info.global_rows = d->first[d->info.ranks];
  d->info.first_row = d->first[d->info.rank];
  if (d->info.global_rows != rows->cols) {
    return mbi_fail(d->context, MERBIT_INVALID_ARGUMENT,
                    "the ranks have %" PRId64 " rows together, but cols is %" PRId64
                    "; a distributed matrix is square",
                    d->info.global_rows, rows->cols);
  }
  return MERBIT_OK;
}

/* Allocates an array and writes to each of its pages: if threads wrote the pages first when
 * they fill several arrays in parallel, pages of different arrays would mix in memory, and
 * products that read them would be slower. */
static merbit_status mbi_dist_allocate_paged(merbit_dist *d, int64_t count, size_t size,
                                             const char *what, void **array) {
  size_t at;
  MBI_TRY(mbi_allocate_array(d->context, count, size, what, array));
  for (at = 0; at < (size_t)count * size; at += 4096) {
    ((volatile char *)*array)[at] = 0;
  }
  return MERBIT_OK;
}

/* Allocates the arrays of one of the two matrices. */
static merbit_status mbi_dist_csr_allocate(merbit_dist *d, int64_t rows, int64_t cols,
                                           int64_t nnz, mbi_dist_csr *m) {
  void *array;
  m->rows = rows;
  m->cols = cols;
  m->nnz = nnz;
  m->offset_type = nnz > INT32_MAX ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  MBI_TRY(mbi_dist_host(d, rows + 1, nnz > INT32_MAX ? sizeof(int64_t) : sizeof(int32_t),
                        "row offsets", &m->row_ptr));
  MBI_TRY(mbi_dist_allocate_paged(d, nnz + MBI_SORTED_PADDING, sizeof *m->col_ind, "columns",
                                  &array));
  m->col_ind = (int32_t *)array;
  return d->pattern ? MERBIT_OK
                    : mbi_dist_allocate_paged(d, nnz, d->element, "values", &m->values);
}

static void mbi_dist_csr_release(merbit_dist *d, mbi_dist_csr *m) {
  mbi_release(d->context, m->row_ptr);
  mbi_release(d->context, m->col_ind);
  mbi_release(d->context, m->values);
  memset(m, 0, sizeof *m);
}

static void mbi_dist_set_offset(const mbi_dist_csr *m, int64_t row, int64_t offset) {
  if (m->offset_type == MERBIT_INDEX_64) {
    ((int64_t *)m->row_ptr)[row] = offset;
  } else {
    ((int32_t *)m->row_ptr)[row] = (int32_t)offset;
  }
}

/* Copies `count` values from place `from` of the view to place *at of one of the two matrices.
 */
static void mbi_dist_copy_values(const merbit_dist *d, const void *values, int64_t from,
                                 int64_t count, void *to, int64_t *at) {
  const int64_t element = (int64_t)d->element;
  memcpy((char *)to + *at * element, (const char *)values + from * element,
         (size_t)(count * element));
  *at += count;
}

/* Distributes values in the order of the view to the two matrices, by runs of equal bits. */
static void mbi_dist_take_values(const merbit_dist *d, const void *values, void *own,
                                 void *boundary) {
  int64_t own_at = 0, boundary_at = 0, k = 0;
  while (k < d->nnz) {
    const int64_t begin = k;
    const int which = mbi_dist_get(d->is_halo, k);
    while (k < d->nnz && mbi_dist_get(d->is_halo, k) == which) {
      const int whole = (k & 63) == 0 && d->is_halo[k >> 6] == (which ? UINT64_MAX : 0);
      k += whole && k + 64 <= d->nnz ? 64 : 1;
    }
    mbi_dist_copy_values(d, values, begin, k - begin, which ? boundary : own,
                         which ? &boundary_at : &own_at);
  }
}

/* Adds up the entries on the diagonal. `values` NULL: they are ones. */
static void mbi_dist_take_diagonal(merbit_dist *d, const void *values) {
  const int single = d->type == MERBIT_F32;
  int64_t found = 0, word;
  memset(d->diagonal, 0, (size_t)d->info.rows * d->element);
  for (word = 0; word < d->nnz / 64 + 1; word++) {
    uint64_t bits = d->is_diagonal[word];
    for (; bits != 0; bits &= bits - 1) {
      const int64_t k = word * 64 + mbi_dist_bits_in((bits & (~bits + 1)) - 1);
      const int32_t row = d->diagonal_row[found++];
      const double value = values != NULL ? mbi_dist_load(values, k, single) : 1;
      if (single) {
        ((float *)d->diagonal)[row] += (float)value;
      } else {
        ((double *)d->diagonal)[row] += value;
      }
    }
  }
}

/* Numbers the own elements of x that whole boundary rows read: sets their place[] to the number
 * + 1. */
static void mbi_dist_number_used(merbit_dist *d, const merbit_view *rows,
                                 const uint64_t *boundary, int32_t *place) {
  const int64_t first = d->info.first_row, end = first + rows->rows;
  int64_t i, k;
  for (i = 0; i < rows->rows; i++) {
    const int64_t stop = mbi_dist_get(boundary, i) ? mbi_dist_row(rows, i + 1) : 0;
    for (k = stop > 0 ? mbi_dist_row(rows, i) : 0; k < stop; k++) {
      const int64_t column = mbi_dist_column(rows, k);
      if (column >= first && column < end) {
        place[column - first] = 1;
      }
    }
  }
  for (i = 0; i < rows->rows; i++) {
    d->used += place[i] != 0;
    place[i] = place[i] != 0 ? (int32_t)d->used : 0;
  }
}

/* Lists the elements that have a number. */
static void mbi_dist_list_used(const int32_t *place, int64_t rows, int32_t *used_at) {
  int64_t i;
  for (i = 0; i < rows; i++) {
    if (place[i] != 0) {
      used_at[place[i] - 1] = (int32_t)i;
    }
  }
}

/* Divides the entries between the two matrices. is_boundary[] marks the boundary rows,
 * boundary_at[] receives them. used_place[] is from mbi_dist_number_used, or NULL. */
static void mbi_dist_split(merbit_dist *d, const merbit_view *rows, const uint64_t *is_boundary,
                           const mbi_dist_columns *columns, const int32_t *used_place,
                           int32_t *boundary_at) {
  const int64_t first = d->info.first_row, end = first + rows->rows;
  mbi_dist_csr *own = &d->own, *boundary = &d->boundary;
  int64_t own_at = 0, boundary_nnz = 0, row = 0, on_diagonal = 0, stop = 0, i, k;
  for (i = 0; i < rows->rows; i++) {
    const int64_t start = stop;
    const int at_boundary = mbi_dist_get(is_boundary, i);
    stop = mbi_dist_row(rows, i + 1);
    mbi_dist_set_offset(own, i, own_at);
    for (k = start; k < stop; k++) {
      const int64_t column = mbi_dist_column(rows, k);
      const int outside = at_boundary && (column < first || column >= end);
      if (column == first + i) {
        mbi_dist_set(d->is_diagonal, k);
        d->diagonal_row[on_diagonal++] = (int32_t)i;
      }
      if (!outside && !(at_boundary && d->whole_rows)) {
        own->col_ind[own_at++] = (int32_t)(column - first);
        continue;
      }
      mbi_dist_set(d->is_halo, k);
      boundary->col_ind[boundary_nnz++] =
          (int32_t)(outside ? d->used + mbi_dist_columns_place(columns, column)
                            : used_place[column - first] - 1);
    }
    if (at_boundary) {
      boundary_at[row++] = (int32_t)i;
      mbi_dist_set_offset(boundary, row, boundary_nnz);
    }
  }
  mbi_dist_set_offset(own, rows->rows, own_at);
}

/* Fills a list of messages: counts[q] elements for each rank q, from `data` on. Returns how
 * many messages there are. */
static int mbi_dist_messages(merbit_message *list, const int64_t *counts, int ranks, void *data,
                             size_t element) {
  char *at = (char *)data;
  int q, n = 0;
  for (q = 0; q < ranks; q++) {
    if (counts[q] > 0) {
      list[n].rank = q;
      list[n].data = at;
      list[n].bytes = (size_t)counts[q] * element;
      at += list[n++].bytes;
    }
  }
  return n;
}

/* The lists of columns that ranks request from each other, during the exchange. */
typedef struct mbi_dist_requests {
  int64_t *wanted, *asked; /* elements per rank that are received, and sent */
  int64_t *columns;        /* columns that others request */
  void *wanted_there, *columns_there; /* copies where the messages are; or NULL */
} mbi_dist_requests;

/* Counts the halo columns that each rank owns. */
static void mbi_dist_count_owners(const merbit_dist *d, const mbi_dist_columns *columns,
                                  int64_t *counts) {
  int64_t i = 0;
  int q;
  for (q = 0; q < d->info.ranks; q++) {
    const int64_t begin = i;
    while (i < columns->count && columns->list[i] < d->first[q + 1]) {
      i++;
    }
    counts[q] = i - begin;
  }
}

/* Makes a plan of one of the two matrices, which may reorder the matrix in place on the CPU. */
static merbit_status mbi_dist_plan(merbit_dist *d, const merbit_plan_desc *desc,
                                   const mbi_dist_csr *m, merbit_plan **plan) {
  merbit_plan_desc changed = *desc;
  mbi_plan_making making;
  merbit_view view =
      merbit_csr(m->rows, m->cols, m->nnz, NULL, m->col_ind, (const double *)m->values);
  view.row_ptr = m->row_ptr;
  view.offset_type = m->offset_type;
  view.value_type = d->type;
  changed.side = d->info.side;
  changed.vector_memory = mbi_dist_on_gpu(d) ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
  changed.unchecked = 1;
  changed.changing_values |= d->whole_rows; /* no form whose rounding depends on other rows */
  memset(&making, 0, sizeof making);
  making.in_place = !desc->numa; /* one thread has written all pages */
  return mbi_plan_create(d->context, &view, &changed, &making, plan);
}

/* Copies element numbers to where the operator computes. */
static merbit_status mbi_dist_place(merbit_dist *d, const int32_t *from, int64_t count,
                                    const char *what, int32_t **array) {
  void *made;
  MBI_TRY(mbi_dist_allocate(d, count, sizeof *from, what, &made));
  *array = (int32_t *)made;
  return mbi_dist_upload(d, made, from, count, sizeof *from);
}

/* ---- CUDA: kernels, the exchange's stream, page-locked memory ---------------------------- */

static void mbi_dist_append(mbi_preamble *preamble, const char *text) {
  const size_t length = strlen(text);
  if (length >= sizeof preamble->text - preamble->length) {
    preamble->overflow = 1;
    return;
  }
  memcpy(preamble->text + preamble->length, text, length + 1);
  preamble->length += length;
}

/* Writes the texts of the two programs. They pass as preambles, which merbit's cache keys
 * contain. */
static void mbi_dist_texts(merbit_type type, mbi_preamble *vectors, mbi_preamble *numbers) {
  mbi_preamble *const both[] = {vectors, numbers};
  int i;
  for (i = 0; i < 2; i++) {
    memset(both[i], 0, sizeof *both[i]);
    mbi_dist_append(both[i], "#include \"jit/device.cuh\"\n#define MBI_DIST_HERE MBK_DEVICE\n");
    mbi_preamble_define_int(both[i], "MBK_DIST_SINGLE", type == MERBIT_F32);
    mbi_dist_append(both[i], mbi_dist_text_numbers);
    mbi_dist_append(both[i], mbi_dist_text_reduce);
  }
  mbi_dist_append(vectors, mbi_dist_text_move);
  mbi_dist_append(vectors, mbi_dist_text_pass);
  mbi_dist_append(vectors, mbi_dist_text_vector_kernels);
  mbi_dist_append(numbers, mbi_dist_text_step);
  mbi_dist_append(numbers, mbi_dist_text_small);
  mbi_dist_append(numbers, mbi_dist_text_number_kernels);
}

/* Compiles and loads the kernels. A program needs a file after its text; this one is included
 * already. */
static merbit_status mbi_dist_compile(merbit_dist *d) {
  static const char file[] = "jit/device.cuh";
  mbi_dist_gpu *gpu = &d->gpu;
  mbi_preamble vectors, numbers;
  mbi_program_times times = {0, 0};
  mbi_program_wish wishes[2];
  mbi_dist_texts(d->type, &vectors, &numbers);
  wishes[0].file = wishes[1].file = file;
  wishes[0].preamble = &vectors;
  wishes[1].preamble = &numbers;
  wishes[0].parts = wishes[1].parts = 1;
  wishes[0].program = &gpu->vector_program;
  wishes[1].program = &gpu->number_program;
  MBI_TRY(mbi_programs_create(d->context, wishes, 2, &times));
  MBI_TRY(mbi_program_kernel(d->context, &gpu->vector_program, "mbk_dist_move", &gpu->move));
  MBI_TRY(mbi_program_kernel(d->context, &gpu->vector_program, "mbk_dist_pass", &gpu->pass));
  MBI_TRY(mbi_program_kernel(d->context, &gpu->number_program, "mbk_dist_total", &gpu->total));
  return mbi_program_kernel(d->context, &gpu->number_program, "mbk_dist_numbers",
                            &gpu->numbers);
}

/* Finds the functions of libcuda; makes stream, events and kernels. */
static merbit_status mbi_dist_gpu_open(merbit_dist *d) {
  static const struct {
    const char *name;
    size_t at;
  } functions[] = {{"cuCtxGetStreamPriorityRange", offsetof(mbi_dist_driver, priority_range)},
                   {"cuStreamCreateWithPriority", offsetof(mbi_dist_driver, stream_create)},
                   {"cuStreamDestroy_v2", offsetof(mbi_dist_driver, stream_destroy)},
                   {"cuStreamWaitEvent", offsetof(mbi_dist_driver, stream_wait)},
                   {"cuEventCreate", offsetof(mbi_dist_driver, event_create)},
                   {"cuEventDestroy_v2", offsetof(mbi_dist_driver, event_destroy)},
                   {"cuEventRecord", offsetof(mbi_dist_driver, event_record)},
                   {"cuMemAllocHost_v2", offsetof(mbi_dist_driver, host_allocate)},
                   {"cuMemFreeHost", offsetof(mbi_dist_driver, host_release)},
                   {"cuMemcpyHtoDAsync_v2", offsetof(mbi_dist_driver, upload)},
                   {"cuMemcpyDtoHAsync_v2", offsetof(mbi_dist_driver, download)}};
  mbi_dist_gpu *gpu = &d->gpu;
  const mbi_dist_driver *driver = &gpu->driver;
  int least = 0, greatest = 0;
  size_t i;
  for (i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (!mbi_library_function(d->context->device.driver.library, functions[i].name,
                              (char *)&gpu->driver + functions[i].at, sizeof(void *))) {
      return mbi_fail(d->context, MERBIT_NO_DEVICE,
                      "the CUDA driver has no %s; install a newer driver", functions[i].name);
    }
  }
  MBI_TRY(mbi_dist_cuda(d, driver->priority_range(&least, &greatest),
                        "cuCtxGetStreamPriorityRange"));
  MBI_TRY(mbi_dist_cuda(d,
                        driver->stream_create(&gpu->stream, MBI_STREAM_NON_BLOCKING, greatest),
                        "cuStreamCreateWithPriority"));
  gpu->stream_made = 1;
  MBI_TRY(mbi_dist_cuda(d, driver->event_create(&gpu->packed, MBI_DIST_EVENT_UNTIMED),
                        "cuEventCreate"));
  gpu->packed_made = 1;
  MBI_TRY(mbi_dist_cuda(d, driver->event_create(&gpu->arrived, MBI_DIST_EVENT_UNTIMED),
                        "cuEventCreate"));
  gpu->arrived_made = 1;
  return mbi_dist_compile(d);
}

/* Waits for the exchange's stream: after a failure it may still have copies to do. Reports
 * nothing. */
static void mbi_dist_gpu_idle(merbit_dist *d) {
  const merbit_exchange *e = &d->ranks.exchange;
  if (!d->gpu.stream_made) {
    return;
  }
  if (e->device_messages && e->wait != NULL) {
    (void)e->wait(e->user, d->gpu.stream);
  } else {
    (void)mbi_device_mark_lost(d->context,
                               d->context->device.driver.stream_synchronize(d->gpu.stream));
  }
}

static void mbi_dist_gpu_close(merbit_dist *d) {
  mbi_dist_gpu *gpu = &d->gpu;
  if (gpu->send != NULL) {
    (void)mbi_device_mark_lost(d->context, gpu->driver.host_release(gpu->send));
  }
  if (gpu->receive != NULL) {
    (void)mbi_device_mark_lost(d->context, gpu->driver.host_release(gpu->receive));
  }
  if (gpu->packed_made) {
    (void)mbi_device_mark_lost(d->context, gpu->driver.event_destroy(gpu->packed));
  }
  if (gpu->arrived_made) {
    (void)mbi_device_mark_lost(d->context, gpu->driver.event_destroy(gpu->arrived));
  }
  if (gpu->stream_made) {
    (void)mbi_device_mark_lost(d->context, gpu->driver.stream_destroy(gpu->stream));
  }
}

/* Allocates page-locked memory. */
static merbit_status mbi_dist_pinned(merbit_dist *d, size_t bytes, void **memory) {
  const mbi_curesult result = d->gpu.driver.host_allocate(memory, bytes > 0 ? bytes : 1);
  *memory = result == 0 ? *memory : NULL;
  return mbi_dist_cuda(d, result, "cuMemAllocHost");
}

/* ---- Create ------------------------------------------------------------------------------ */

/* Arrays of set-up that the operator does not keep. */
typedef struct mbi_dist_setup {
  mbi_dist_columns columns;
  mbi_dist_requests requests;
  uint64_t *is_boundary; /* a bit for each row */
  int32_t *used_place, *used_at, *boundary_at, *pack_at;
} mbi_dist_setup;

static void mbi_dist_setup_release(merbit_dist *d, mbi_dist_setup *s) {
  mbi_dist_columns_release(d->context, &s->columns);
  mbi_release(d->context, s->requests.wanted);
  mbi_release(d->context, s->requests.columns);
  mbi_release(d->context, s->is_boundary);
  mbi_release(d->context, s->used_place);
  mbi_release(d->context, s->used_at);
  mbi_release(d->context, s->boundary_at);
  mbi_release(d->context, s->pack_at);
  if (mbi_dist_enter(d) == MERBIT_OK) {
    if (mbi_dist_on_gpu(d)) {
      mbi_dist_release(d, s->requests.wanted_there);
      mbi_dist_release(d, s->requests.columns_there);
    }
    mbi_dist_leave(d);
  }
}

/* Allocates memory for the requests and later products. */
static merbit_status mbi_dist_requests_allocate(merbit_dist *d, mbi_dist_setup *s) {
  const mbi_dist_columns *columns = &s->columns;
  mbi_dist_requests *r = &s->requests;
  const int64_t held = d->info.device_bytes;
  void *array;
  if (d->info.sent > INT32_MAX || d->used + columns->count > INT32_MAX) {
    return mbi_fail(d->context, MERBIT_TOO_LARGE,
                    "a product would send %" PRId64 " elements and receive %" PRId64
                    "; 2^31 - 1 are the most: use more ranks",
                    d->info.sent, columns->count);
  }
  MBI_TRY(mbi_dist_host(d, d->info.sent, sizeof *r->columns, "requested columns", &array));
  r->columns = (int64_t *)array;
  MBI_TRY(mbi_dist_host(d, d->info.sent, sizeof *s->pack_at, "rows to send", &array));
  s->pack_at = (int32_t *)array;
  if (mbi_dist_device_messages(d)) {
    MBI_TRY(mbi_dist_allocate(d, columns->count, sizeof *r->columns, "halo columns",
                              &r->wanted_there));
    MBI_TRY(mbi_dist_allocate(d, d->info.sent, sizeof *r->columns, "requested columns",
                              &r->columns_there));
    d->info.device_bytes = held; /* freed after set-up */
    MBI_TRY(
        mbi_dist_upload(d, r->wanted_there, columns->list, columns->count, sizeof *r->columns));
  }
  MBI_TRY(mbi_dist_allocate(d, d->info.sent, d->element, "elements to send", &d->packed));
  return mbi_dist_allocate(d, d->used + columns->count, d->element, "the halo", &d->halo_x);
}

/* Sends each owner the list of its halo columns, an exchange in the opposite direction to those
 * of products. */
static merbit_status mbi_dist_requests_travel(merbit_dist *d, mbi_dist_setup *s) {
  const merbit_exchange *e = &d->ranks.exchange;
  const mbi_dist_requests *r = &s->requests;
  const int device = mbi_dist_device_messages(d);
  void *const stream = device ? d->gpu.stream : NULL;
  const int sends =
      mbi_dist_messages(d->sends, r->wanted, d->info.ranks,
                        device ? r->wanted_there : (void *)s->columns.list, sizeof *r->columns);
  const int receives =
      mbi_dist_messages(d->receives, r->asked, d->info.ranks,
                        device ? r->columns_there : (void *)r->columns, sizeof *r->columns);
  if (e->start(e->user, d->sends, sends, d->receives, receives, stream) != 0) {
    return mbi_dist_exchange_failed(&d->ranks, "start");
  }
  if (e->finish(e->user, stream) != 0) {
    return mbi_dist_exchange_failed(&d->ranks, "finish");
  }
  return device ? mbi_dist_wait(d, stream) : MERBIT_OK;
}

/* Sends the requests once all ranks can. After a failure all ranks return it, except where the
 * exchange itself has failed. */
static merbit_status mbi_dist_requests_exchange(merbit_dist *d, mbi_dist_setup *s) {
  const merbit_status entered = mbi_dist_enter(d);
  merbit_status status = mbi_dist_agree(&d->ranks, entered);
  if (status == MERBIT_OK) {
    status = mbi_dist_requests_travel(d, s);
    status = d->broken ? status : mbi_dist_agree(&d->ranks, status);
  }
  if (entered == MERBIT_OK) {
    mbi_dist_leave(d);
  }
  return status;
}

/* Sets pack_at[] to the elements that others request. */
static merbit_status mbi_dist_requests_take(merbit_dist *d, mbi_dist_setup *s) {
  const mbi_dist_requests *r = &s->requests;
  int64_t k;
  if (mbi_dist_device_messages(d)) {
    MBI_TRY(mbi_device_download(d->context, r->columns, mbi_device_address(r->columns_there),
                                (size_t)d->info.sent * sizeof *r->columns));
  }
  for (k = 0; k < d->info.sent; k++) {
    const int64_t row = r->columns[k] - d->info.first_row;
    if (row < 0 || row >= d->info.rows) {
      return mbi_fail(d->context, MERBIT_IO_ERROR,
                      "row %" PRId64 " is asked for, which is on another rank: merbit_exchange "
                      "delivers to the wrong rank",
                      r->columns[k]);
    }
    s->pack_at[k] = (int32_t)row;
  }
  return MERBIT_OK;
}

/* Makes everything that does not depend on others' requests: the rank's two matrices and its
 * halo. */
static merbit_status mbi_dist_look(merbit_dist *d, const merbit_view *rows, mbi_dist_setup *s) {
  const int64_t n = rows->rows, words = rows->nnz / 64 + 1;
  mbi_dist_counts_of counts;
  void *array;
  MBI_TRY(mbi_dist_host(d, n / 64 + 1, sizeof *s->is_boundary, "marks of rows", &array));
  s->is_boundary = (uint64_t *)array;
  MBI_TRY(mbi_dist_count(d->context, rows, d->info.first_row, s->is_boundary, &counts));
  MBI_TRY(mbi_dist_columns_find(d->context, rows, d->info.first_row, s->is_boundary, &counts,
                                &s->columns));
  d->info.rows = n;
  d->info.halo = s->columns.count;
  d->info.boundary_rows = counts.boundary_rows;
  d->info.halo_nnz = d->whole_rows ? counts.boundary_nnz : counts.halo;
  d->info.own_nnz = rows->nnz - d->info.halo_nnz;
  d->nnz = rows->nnz;
  MBI_TRY(mbi_dist_host(d, words, sizeof *d->is_halo, "marks of entries", &array));
  d->is_halo = (uint64_t *)array;
  MBI_TRY(mbi_dist_host(d, words, sizeof *d->is_diagonal, "marks of entries", &array));
  d->is_diagonal = (uint64_t *)array;
  MBI_TRY(
      mbi_allocate_array(d->context, counts.diagonal, sizeof *d->diagonal_row, "rows", &array));
  d->diagonal_row = (int32_t *)array;
  MBI_TRY(mbi_allocate_array(d->context, n, d->element, "the diagonal", &d->diagonal));
  MBI_TRY(mbi_dist_host(d, counts.boundary_rows, sizeof *s->boundary_at, "rows", &array));
  s->boundary_at = (int32_t *)array;
  if (d->whole_rows) {
    MBI_TRY(mbi_dist_host(d, n, sizeof *s->used_place, "places", &array));
    s->used_place = (int32_t *)array;
    mbi_dist_number_used(d, rows, s->is_boundary, s->used_place);
    MBI_TRY(mbi_dist_host(d, d->used, sizeof *s->used_at, "places", &array));
    s->used_at = (int32_t *)array;
    mbi_dist_list_used(s->used_place, n, s->used_at);
  }
  MBI_TRY(mbi_dist_csr_allocate(d, n, n, d->info.own_nnz, &d->own));
  MBI_TRY(mbi_dist_csr_allocate(d, counts.boundary_rows, d->used + d->info.halo,
                                d->info.halo_nnz, &d->boundary));
  mbi_dist_split(d, rows, s->is_boundary, &s->columns, s->used_place, s->boundary_at);
  mbi_dist_take_diagonal(d, rows->values);
  if (!d->pattern) {
    mbi_dist_take_values(d, rows->values, d->own.values, d->boundary.values);
  }
  MBI_TRY(mbi_dist_host(d, 2 * (int64_t)d->info.ranks, sizeof(int64_t), "counts", &array));
  s->requests.wanted = (int64_t *)array;
  s->requests.asked = s->requests.wanted + d->info.ranks;
  MBI_TRY(
      mbi_dist_host(d, 2 * (int64_t)d->info.ranks, sizeof(merbit_message), "messages", &array));
  d->sends = (merbit_message *)array;
  d->receives = d->sends + d->info.ranks;
  return mbi_dist_on_gpu(d) ? mbi_dist_gpu_open(d) : MERBIT_OK;
}

/* Makes the plans, and everything that products and solves need. */
static merbit_status mbi_dist_prepare(merbit_dist *d, const merbit_plan_desc *desc,
                                      mbi_dist_setup *s) {
  const int64_t n = d->info.rows, boundary = d->info.boundary_rows;
  const int staged = mbi_dist_on_gpu(d) && !mbi_dist_device_messages(d);
  void *array, *send, *receive;
  int64_t partials = mbi_dist_on_gpu(d) ? MBI_DIST_BLOCKS : mbi_dist_parts(n);
  MBI_TRY(mbi_dist_place(d, s->pack_at, d->info.sent, "rows to send", &d->pack_at));
  MBI_TRY(mbi_dist_place(d, s->used_at, d->used, "rows to keep", &d->used_at));
  MBI_TRY(mbi_dist_place(d, s->boundary_at, boundary, "boundary rows", &d->boundary_at));
  MBI_TRY(mbi_dist_allocate(d, boundary, d->element, "sums of boundary rows", &d->boundary_y));
  MBI_TRY(mbi_dist_allocate(d, MBI_DIST_NUMBERS, sizeof(double), "numbers", &array));
  d->scalars = (double *)array;
  MBI_TRY(mbi_dist_allocate(d, 2 * partials, sizeof(double), "partial sums", &array));
  d->partial = (double *)array;
  send = d->packed;
  receive = (char *)d->halo_x + d->used * (int64_t)d->element;
  if (staged) {
    MBI_TRY(mbi_dist_pinned(d, (size_t)d->info.sent * d->element, &d->gpu.send));
    MBI_TRY(mbi_dist_pinned(d, (size_t)d->info.halo * d->element, &d->gpu.receive));
    send = d->gpu.send;
    receive = d->gpu.receive;
  }
  d->info.send_ranks =
      mbi_dist_messages(d->sends, s->requests.asked, d->info.ranks, send, d->element);
  d->info.receive_ranks =
      mbi_dist_messages(d->receives, s->requests.wanted, d->info.ranks, receive, d->element);
  if (n > 0) {
    MBI_TRY(mbi_dist_plan(d, desc, &d->own, &d->own_plan));
  }
  if (boundary > 0) {
    MBI_TRY(mbi_dist_plan(d, desc, &d->boundary, &d->boundary_plan));
  }
  if (mbi_dist_on_gpu(d)) { /* the plans have copies */
    mbi_dist_csr_release(d, &d->own);
    mbi_dist_csr_release(d, &d->boundary);
  }
  return MERBIT_OK;
}

/* Runs a part of set-up that involves no other rank, with the CUDA context current. */
#define MBI_DIST_ALONE(d, call)                                                                \
  do {                                                                                         \
    merbit_status alone = mbi_dist_enter(d);                                                   \
    if (alone == MERBIT_OK) {                                                                  \
      alone = (call);                                                                          \
      mbi_dist_leave(d);                                                                       \
    }                                                                                          \
    MBI_TRY(mbi_dist_agree(&(d)->ranks, alone));                                               \
  } while (0)

/* Builds an operator whose ranks can communicate. A failure on one rank is reported on all. */
static merbit_status mbi_dist_build(merbit_dist *d, const merbit_view *rows,
                                    const merbit_plan_desc *desc, mbi_dist_setup *s) {
  const mbi_dist_ranks *ranks = &d->ranks;
  const size_t bytes = (size_t)d->info.ranks * sizeof(int64_t);
  int q;
  MBI_TRY(mbi_dist_meet(d, rows));
  MBI_DIST_ALONE(d, mbi_dist_look(d, rows, s));
  mbi_dist_count_owners(d, &s->columns, s->requests.wanted);
  memcpy(ranks->to, s->requests.wanted, bytes);
  MBI_TRY(mbi_dist_counts(ranks));
  memcpy(s->requests.asked, ranks->from, bytes);
  for (q = 0; q < d->info.ranks; q++) {
    d->info.sent += s->requests.asked[q];
  }
  MBI_DIST_ALONE(d, mbi_dist_requests_allocate(d, s));
  MBI_TRY(mbi_dist_requests_exchange(d, s));
  MBI_DIST_ALONE(d, mbi_dist_requests_take(d, s));
  MBI_DIST_ALONE(d, mbi_dist_prepare(d, desc, s));
  return MERBIT_OK;
}

/* Makes the record of an operator, after checking `exchange`. The ranks can talk to each other
 * as soon as it is there, so the rest is checked afterwards. */
static merbit_status mbi_dist_begin(merbit_context *context, const merbit_exchange *exchange,
                                    const merbit_view *rows, const merbit_dist_desc *desc,
                                    merbit_dist **dist) {
  const merbit_side side =
      desc != NULL && desc->plan.side != MERBIT_SIDE_AUTO ? desc->plan.side : context->side;
  const merbit_plan_desc plan = desc != NULL ? desc->plan : merbit_plan_defaults();
  void *array;
  merbit_dist *d;
  MBI_TRY(mbi_allocate_array(context, 1, sizeof *d, "a distributed operator", &array));
  d = (merbit_dist *)array;
  memset(d, 0, sizeof *d);
  mbi_context_retain(context);
  *dist = d;
  d->context = d->ranks.context = context;
  d->ranks.exchange = *exchange;
  d->ranks.broken = &d->broken;
  d->info.rank = exchange->rank;
  d->info.ranks = exchange->ranks;
  MBI_TRY(mbi_dist_host(d, 3 * (int64_t)exchange->ranks + 1, sizeof *d->first, "first rows",
                        &array));
  d->first = (int64_t *)array;
  d->ranks.to = d->first + exchange->ranks + 1;
  d->ranks.from = d->ranks.to + exchange->ranks;
  MBI_TRY(mbi_dist_check_view(context, rows));
  if (side == MERBIT_SIDE_CUDA && context->side != MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "plan_desc.side is MERBIT_SIDE_CUDA, but the context is on the CPU");
  }
  d->info.side = side;
  d->type = rows->value_type == MERBIT_F32 ? MERBIT_F32 : MERBIT_F64;
  d->element = d->type == MERBIT_F32 ? sizeof(float) : sizeof(double);
  d->whole_rows = desc != NULL && desc->whole_rows != 0;
  return mbi_dist_check_desc(d, &plan);
}

/* Most ranks that can be told of a failure if a rank has no memory for its record. */
#define MBI_DIST_FEW 64

MERBIT_API merbit_status merbit_dist_create(merbit_context *context,
                                            const merbit_exchange *exchange,
                                            const merbit_view *rows,
                                            const merbit_dist_desc *desc, merbit_dist **dist) {
  const merbit_plan_desc plan = desc != NULL ? desc->plan : merbit_plan_defaults();
  const double begin = mbi_seconds();
  int64_t few[2 * MBI_DIST_FEW];
  mbi_dist_ranks ranks;
  mbi_dist_setup setup;
  merbit_dist *d = NULL;
  merbit_status status;
  if (dist != NULL) {
    *dist = NULL;
  }
  if (context == NULL || exchange == NULL || exchange->counts == NULL ||
      exchange->start == NULL || exchange->finish == NULL || exchange->ranks < 1 ||
      exchange->rank < 0 || exchange->rank >= exchange->ranks) {
    if (exchange != NULL && exchange->abort != NULL) {
      exchange->abort(exchange->user);
    }
    return context == NULL
               ? MERBIT_INVALID_ARGUMENT
               : mbi_fail(
                     context, MERBIT_INVALID_ARGUMENT,
                     "`exchange` needs counts, start, finish, and a rank from 0 to ranks - 1");
  }
  status = dist == NULL
               ? mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the out pointer `dist` is NULL")
               : mbi_dist_begin(context, exchange, rows, desc, &d);
  ranks.context = context;
  ranks.exchange = *exchange;
  ranks.broken = NULL;
  ranks.to = d != NULL ? d->ranks.to : NULL;
  ranks.from = d != NULL ? d->ranks.from : NULL;
  if (ranks.to == NULL && exchange->ranks <= MBI_DIST_FEW) {
    ranks.to = few;
    ranks.from = few + MBI_DIST_FEW;
  }
  if (ranks.to == NULL) {
    mbi_dist_abort(&ranks);
  } else {
    status = mbi_dist_agree(&ranks, status);
  }
  if (status == MERBIT_OK) {
    memset(&setup, 0, sizeof setup);
    status = mbi_dist_build(d, rows, &plan, &setup);
    mbi_dist_setup_release(d, &setup);
  }
  if (status != MERBIT_OK) {
    merbit_dist_destroy(d);
    return status;
  }
  d->info.create_seconds = mbi_seconds() - begin;
  *dist = d;
  return MERBIT_OK;
}

MERBIT_API void merbit_dist_destroy(merbit_dist *d) {
  merbit_context *context;
  if (d == NULL) {
    return;
  }
  context = d->context;
  merbit_plan_destroy(d->own_plan);
  merbit_plan_destroy(d->boundary_plan);
  if (!mbi_dist_on_gpu(d) || mbi_device_enter_alive(context)) {
    void *const arrays[] = {d->pack_at, d->used_at,    d->boundary_at, d->packed,
                            d->halo_x,  d->boundary_y, d->scalars,     d->partial};
    size_t i;
    if (mbi_dist_on_gpu(d)) {
      mbi_dist_gpu_idle(d);
    }
    for (i = 0; i < sizeof arrays / sizeof *arrays; i++) {
      mbi_dist_release(d, arrays[i]);
    }
    if (mbi_dist_on_gpu(d)) {
      mbi_dist_gpu_close(d);
      mbi_program_destroy(context, &d->gpu.vector_program);
      mbi_program_destroy(context, &d->gpu.number_program);
    }
    mbi_dist_leave(d);
  }
  mbi_dist_csr_release(d, &d->own);
  mbi_dist_csr_release(d, &d->boundary);
  mbi_release(context, d->is_halo);
  mbi_release(context, d->is_diagonal);
  mbi_release(context, d->diagonal_row);
  mbi_release(context, d->diagonal);
  mbi_release(context, d->sends);
  mbi_release(context, d->first);
  mbi_release(context, d);
  mbi_context_unref(context);
}

/* Checks new values and allocates room for both plans'. */
static merbit_status mbi_dist_update_begin(merbit_dist *d, const void *values, void **own,
                                           void **boundary) {
  if ((values == NULL && d->nnz > 0) || d->pattern) {
    return mbi_fail(d->context, MERBIT_INVALID_ARGUMENT, "%s",
                    d->pattern ? "the operator is a pattern, which has no values"
                               : "`values` is NULL");
  }
  MBI_TRY(mbi_allocate_array(d->context, d->info.own_nnz, d->element, "new values", own));
  return mbi_allocate_array(d->context, d->info.halo_nnz, d->element, "new values", boundary);
}

/* Copies new values into the plans. */
static merbit_status mbi_dist_update(merbit_dist *d, const void *values, void *own,
                                     void *boundary) {
  mbi_dist_take_values(d, values, own, boundary);
  mbi_dist_take_diagonal(d, values);
  if (d->own_plan != NULL) {
    MBI_TRY(merbit_plan_update_values(d->own_plan, own, MERBIT_MEMORY_HOST));
  }
  return d->boundary_plan != NULL
             ? merbit_plan_update_values(d->boundary_plan, boundary, MERBIT_MEMORY_HOST)
             : MERBIT_OK;
}

/* Fails if the ranks may be at different places after an earlier call. */
static merbit_status mbi_dist_usable(const merbit_dist *d) {
  if (d == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  return d->broken
             ? mbi_fail(d->context, MERBIT_IO_ERROR,
                        "rank %d: a product or a solve failed before, or its exchange did; "
                        "destroy the operator",
                        d->info.rank)
             : MERBIT_OK;
}

/* Fails also if only some ranks may have the last new values. */
static merbit_status mbi_dist_ready(const merbit_dist *d) {
  MBI_TRY(mbi_dist_usable(d));
  return d->mixed ? mbi_fail(d->context, MERBIT_INVALID_ARGUMENT,
                             "merbit_dist_update_values failed; call it again with values")
                  : MERBIT_OK;
}

MERBIT_API merbit_status merbit_dist_update_values(merbit_dist *dist, const void *values) {
  void *own = NULL, *boundary = NULL;
  merbit_status status;
  MBI_TRY(mbi_dist_usable(dist));
  status = mbi_dist_agree(&dist->ranks, mbi_dist_update_begin(dist, values, &own, &boundary));
  if (status == MERBIT_OK) {
    status = mbi_dist_agree(&dist->ranks, mbi_dist_update(dist, values, own, boundary));
    dist->mixed = status != MERBIT_OK;
  }
  mbi_release(dist->context, own);
  mbi_release(dist->context, boundary);
  return status;
}

MERBIT_API merbit_status merbit_dist_get_info(const merbit_dist *dist, merbit_dist_info *info) {
  const merbit_plan *plans[2];
  int i;
  if (dist == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (info == NULL) {
    return mbi_fail(dist->context, MERBIT_INVALID_ARGUMENT, "`info` is NULL");
  }
  *info = dist->info;
  plans[0] = dist->own_plan;
  plans[1] = dist->boundary_plan;
  for (i = 0; i < 2; i++) {
    merbit_plan_info plan;
    if (plans[i] != NULL && merbit_plan_get_info(plans[i], &plan) == MERBIT_OK) {
      info->device_bytes += plan.device_bytes;
    }
  }
  return MERBIT_OK;
}

MERBIT_API size_t merbit_dist_describe(const merbit_dist *dist, char *text, size_t size) {
  char own[512] = "nothing", boundary[512] = "nothing";
  const merbit_dist_info *info;
  int length;
  if (dist == NULL) {
    if (text != NULL && size > 0) {
      text[0] = '\0';
    }
    return 0;
  }
  info = &dist->info;
  if (dist->own_plan != NULL) {
    (void)merbit_plan_describe(dist->own_plan, own, sizeof own);
  }
  if (dist->boundary_plan != NULL) {
    (void)merbit_plan_describe(dist->boundary_plan, boundary, sizeof boundary);
  }
  length = snprintf(
      text, text != NULL ? size : 0,
      "rank %d of %d: %" PRId64 " of %" PRId64 " rows from row %" PRId64 "; receives %" PRId64
      " elements from %d ranks, sends %" PRId64 " to %d; %" PRId64
      " nonzeros at once: %s; %" PRId64 " in %" PRId64 " %srows after the exchange: %s",
      info->rank, info->ranks, info->rows, info->global_rows, info->first_row, info->halo,
      info->receive_ranks, info->sent, info->send_ranks, info->own_nnz, own, info->halo_nnz,
      info->boundary_rows, dist->whole_rows ? "whole " : "", boundary);
  return length > 0 ? (size_t)length : 0;
}

/* ==== >>DIST PRODUCT ====================================================================== */

/* Packs the elements that others need, and starts the exchange. */
static merbit_status mbi_dist_send(merbit_dist *d, const void *x, void *stream) {
  const merbit_exchange *e = &d->ranks.exchange;
  const mbi_dist_gpu *gpu = &d->gpu;
  MBI_TRY(
      mbi_dist_move_all(d, x, d->packed, d->pack_at, d->info.sent, MBI_DIST_GATHER, stream));
  if (mbi_dist_on_gpu(d)) {
    MBI_TRY(mbi_dist_cuda(d, gpu->driver.event_record(gpu->packed, stream), "cuEventRecord"));
    MBI_TRY(mbi_dist_cuda(d, gpu->driver.stream_wait(gpu->stream, gpu->packed, 0),
                          "cuStreamWaitEvent"));
    if (!mbi_dist_device_messages(d)) { /* copy to the host, and back after the exchange */
      const size_t bytes = (size_t)d->info.sent * d->element;
      return bytes == 0
                 ? MERBIT_OK
                 : mbi_dist_cuda(d,
                                 gpu->driver.download(gpu->send, mbi_device_address(d->packed),
                                                      bytes, gpu->stream),
                                 "cuMemcpyDtoHAsync");
    }
  }
  return e->start(e->user, d->sends, d->info.send_ranks, d->receives, d->info.receive_ranks,
                  gpu->stream) == 0
             ? MERBIT_OK
             : mbi_dist_exchange_failed(&d->ranks, "start");
}

/* Waits until the halo is in halo_x: the host waits, or on CUDA the stream. */
static merbit_status mbi_dist_receive(merbit_dist *d, void *stream) {
  const merbit_exchange *e = &d->ranks.exchange;
  const mbi_dist_gpu *gpu = &d->gpu;
  const int staged = mbi_dist_on_gpu(d) && !mbi_dist_device_messages(d);
  const size_t bytes = (size_t)d->info.halo * d->element;
  void *const exchange_stream = staged ? NULL : gpu->stream;
  if (staged) {
    MBI_TRY(mbi_device_synchronize(d->context, gpu->stream));
    if (e->start(e->user, d->sends, d->info.send_ranks, d->receives, d->info.receive_ranks,
                 NULL) != 0) {
      return mbi_dist_exchange_failed(&d->ranks, "start");
    }
  }
  if (e->finish(e->user, exchange_stream) != 0) {
    return mbi_dist_exchange_failed(&d->ranks, "finish");
  }
  if (staged && bytes > 0) {
    const mbi_devptr halo = mbi_device_address(d->halo_x) + (uint64_t)d->used * d->element;
    MBI_TRY(mbi_dist_cuda(d, gpu->driver.upload(halo, gpu->receive, bytes, gpu->stream),
                          "cuMemcpyHtoDAsync"));
  }
  if (mbi_dist_on_gpu(d)) {
    MBI_TRY(
        mbi_dist_cuda(d, gpu->driver.event_record(gpu->arrived, gpu->stream), "cuEventRecord"));
    MBI_TRY(mbi_dist_cuda(d, gpu->driver.stream_wait(stream, gpu->arrived, 0),
                          "cuStreamWaitEvent"));
  }
  return MERBIT_OK;
}

/* Computes everything of a product that needs no halo. */
static merbit_status mbi_dist_multiply_own(merbit_dist *d, const void *alpha, const void *x,
                                           const void *beta, void *y, void *stream) {
  const int64_t boundary = d->info.boundary_rows;
  MBI_TRY(mbi_dist_move_all(d, x, d->halo_x, d->used_at, d->used, MBI_DIST_GATHER, stream));
  if (d->whole_rows && beta != NULL) { /* before the own product changes these rows */
    MBI_TRY(mbi_dist_move_all(d, y, d->boundary_y, d->boundary_at, boundary, MBI_DIST_GATHER,
                              stream));
  }
  return d->own_plan != NULL ? merbit_spmv(d->own_plan, NULL, alpha, x, beta, y, stream)
                             : MERBIT_OK;
}

/* Computes y = alpha A x + beta y. On CUDA the context is current. Once the exchange has
 * started, it ends even if the own product fails. */
static merbit_status mbi_dist_multiply(merbit_dist *d, const void *alpha, const void *x,
                                       const void *beta, void *y, void *stream) {
  const int64_t boundary = d->info.boundary_rows;
  merbit_status own, received;
  MBI_TRY(mbi_dist_send(d, x, stream));
  own = mbi_dist_multiply_own(d, alpha, x, beta, y, stream);
  received = mbi_dist_receive(d, stream);
  MBI_TRY(own);
  MBI_TRY(received);
  if (d->boundary_plan == NULL) {
    return MERBIT_OK;
  }
  MBI_TRY(merbit_spmv(d->boundary_plan, NULL, alpha, d->halo_x, d->whole_rows ? beta : NULL,
                      d->boundary_y, stream));
  return mbi_dist_move_all(d, d->boundary_y, y, d->boundary_at, boundary,
                           d->whole_rows ? MBI_DIST_PLACE : MBI_DIST_ADD, stream);
}

/* Fails if a vector is in host memory or misaligned, where the operator is on CUDA. The context
 * is current. `known` is the last such vector that was accepted. */
static merbit_status mbi_dist_check_memory(merbit_dist *d, const void *vector,
                                           const void **known) {
  if (!mbi_dist_on_gpu(d) || vector == *known) {
    return MERBIT_OK;
  }
  if (!mbi_device_owns(d->context, vector)) {
    return mbi_fail(d->context, MERBIT_INVALID_ARGUMENT,
                    "the vector at %p is host memory, but the operator computes on CUDA",
                    vector);
  }
  MBI_TRY(mbi_types_check_address(d->context, "the vector", d->type, vector));
  *known = vector;
  return MERBIT_OK;
}

/* Fails if a vector of a rank with rows is NULL or in the wrong memory. The context is
 * current. */
static merbit_status mbi_dist_check_vectors(merbit_dist *d, const void *x, const void *y) {
  if (d->info.rows == 0) {
    return MERBIT_OK;
  }
  if (x == NULL || y == NULL) {
    return mbi_fail(d->context, MERBIT_INVALID_ARGUMENT, "a vector is NULL");
  }
  MBI_TRY(mbi_dist_check_memory(d, x, &d->known_x));
  return mbi_dist_check_memory(d, y, &d->known_y);
}

/* Fails if two vectors, called `names`, are wrong or overlap. The context is current. */
static merbit_status mbi_dist_check_apart(merbit_dist *d, const void *x, const void *y,
                                          const char *names) {
  const uint64_t bytes = (uint64_t)d->info.rows * d->element;
  MBI_TRY(mbi_dist_check_vectors(d, x, y));
  return mbi_overlap(x, bytes, y, bytes) ? mbi_fail(d->context, MERBIT_INVALID_ARGUMENT,
                                                    "%s overlap; use two arrays", names)
                                         : MERBIT_OK;
}

MERBIT_API merbit_status merbit_dist_spmv(merbit_dist *dist, const void *alpha, const void *x,
                                          const void *beta, void *y, void *stream) {
  merbit_status status;
  MBI_TRY(mbi_dist_ready(dist));
  status = mbi_dist_enter(dist);
  if (status == MERBIT_OK) {
    status = mbi_dist_check_apart(dist, x, y, "x and y"); /* before anything is sent */
    status = status == MERBIT_OK ? mbi_dist_multiply(dist, alpha, x, beta, y, stream) : status;
    mbi_dist_leave(dist);
  }
  return mbi_dist_end(dist, status);
}

/* ==== >>DIST SOLVERS ====================================================================== */

static merbit_status mbi_dist_dot(merbit_dist *d, const void *x, const void *y, double *result,
                                  void *stream) {
  mbi_dist_pass p = mbi_dist_pass_begin(d, NULL);
  p.always = 1;
  mbi_dist_pass_dot(&p, x, y);
  MBI_TRY(mbi_dist_pass_run(d, &p, 1, 0, stream));
  MBI_TRY(mbi_dist_sum(d, 1, stream));
  return mbi_dist_read(d, MBI_DIST_SUM, 1, result, stream);
}

MERBIT_API merbit_status merbit_dist_dot(merbit_dist *dist, const void *x, const void *y,
                                         double *result, void *stream) {
  merbit_status status;
  MBI_TRY(mbi_dist_usable(dist));
  status = result == NULL ? mbi_fail(dist->context, MERBIT_INVALID_ARGUMENT, "`result` is NULL")
                          : mbi_dist_enter(dist);
  if (status == MERBIT_OK) {
    status = mbi_dist_check_vectors(dist, x, y);
    status = status == MERBIT_OK ? mbi_dist_dot(dist, x, y, result, stream) : status;
    mbi_dist_leave(dist);
  }
  return mbi_dist_end(dist, status);
}

/* A running solve. Vectors have the names of Saad's algorithms. */
typedef struct mbi_dist_solve {
  merbit_dist *d;
  void *stream;
  const void *b;
  void *x;
  void *memory; /* of the vectors */
  void *r, *p, *q, *z, *shadow, *p_hat, *s_hat;
  void *inverse;                    /* of the diagonal; NULL: no preconditioner */
  double numbers[MBI_DIST_NUMBERS]; /* as last read by the host */
  int check_every;
  double *history;
  int history_size, checks;
  merbit_dist_result *result;
} mbi_dist_solve;

/* Runs one iteration without reading the numbers. */
typedef merbit_status (*mbi_dist_iterate)(mbi_dist_solve *v);

/* Writes all numbers to where the operator computes. */
static merbit_status mbi_dist_write_numbers(mbi_dist_solve *v) {
  v->numbers[MBI_DIST_ONE] = 1;
  return mbi_dist_upload(v->d, v->d->scalars, v->numbers, MBI_DIST_NUMBERS, sizeof(double));
}

/* Reads all numbers: a convergence check. */
static merbit_status mbi_dist_look_at_numbers(mbi_dist_solve *v) {
  v->result->synchronizations += mbi_dist_on_gpu(v->d);
  return mbi_dist_read(v->d, 0, MBI_DIST_NUMBERS, v->numbers, v->stream);
}

/* Computes out = a + sign * scalars[factor] * b, either of which may be `out`. b NULL: out = a.
 */
static mbi_dist_pass mbi_dist_update_of(mbi_dist_solve *v, void *out, const void *a,
                                        double sign, int factor, const void *b) {
  mbi_dist_pass p = mbi_dist_pass_begin(v->d, out);
  mbi_dist_pass_add(&p, 1, MBI_DIST_ONE, a);
  if (b != NULL) {
    mbi_dist_pass_add(&p, sign, factor, b);
  }
  return p;
}

/* Computes out = M^-1 a and, if `dot` is set, a . out as the third sum. */
static merbit_status mbi_dist_precondition(mbi_dist_solve *v, void *out, const void *a,
                                           int dot) {
  mbi_dist_pass p = mbi_dist_update_of(v, out, a, 0, 0, NULL);
  p.scale = v->inverse;
  if (dot) {
    mbi_dist_pass_dot(&p, a, out);
  }
  return mbi_dist_pass_run(v->d, &p, dot, 2, v->stream);
}

/* Computes r = b - A x and the numbers with which an iteration starts. */
static merbit_status mbi_dist_residual(mbi_dist_solve *v) {
  mbi_dist_pass p;
  MBI_TRY(mbi_dist_multiply(v->d, NULL, v->x, NULL, v->q, v->stream));
  p = mbi_dist_update_of(v, v->r, v->b, -1, MBI_DIST_ONE, v->q);
  mbi_dist_pass_dot(&p, v->r, v->r);
  mbi_dist_pass_dot(&p, v->b, v->b);
  MBI_TRY(mbi_dist_pass_run(v->d, &p, 2, 0, v->stream));
  if (v->numbers[MBI_DIST_JACOBI] != 0) {
    MBI_TRY(mbi_dist_precondition(v, v->z, v->r, 1));
  }
  MBI_TRY(mbi_dist_sum(v->d, 3, v->stream));
  return mbi_dist_compute(v->d, MBI_DIST_STEP_START, v->stream);
}

/* Does one iteration of CG (Saad, algorithm 9.1). Without a preconditioner z is r. */
static merbit_status mbi_dist_cg(mbi_dist_solve *v) {
  merbit_dist *d = v->d;
  mbi_dist_pass p = mbi_dist_pass_begin(d, NULL);
  MBI_TRY(mbi_dist_multiply(d, NULL, v->p, NULL, v->q, v->stream));
  mbi_dist_pass_dot(&p, v->p, v->q);
  MBI_TRY(mbi_dist_pass_run(d, &p, 1, 0, v->stream));
  MBI_TRY(mbi_dist_sum(d, 1, v->stream));
  MBI_TRY(mbi_dist_compute(d, MBI_DIST_STEP_CG_ALPHA, v->stream));
  p = mbi_dist_update_of(v, v->x, v->x, 1, MBI_DIST_ALPHA, v->p);
  MBI_TRY(mbi_dist_pass_run(d, &p, 0, 0, v->stream));
  p = mbi_dist_update_of(v, v->r, v->r, -1, MBI_DIST_ALPHA, v->q);
  mbi_dist_pass_dot(&p, v->r, v->r);
  MBI_TRY(mbi_dist_pass_run(d, &p, 1, 0, v->stream));
  if (v->inverse != NULL) {
    MBI_TRY(mbi_dist_precondition(v, v->z, v->r, 1));
  }
  MBI_TRY(mbi_dist_sum(d, v->inverse != NULL ? 3 : 1, v->stream));
  MBI_TRY(mbi_dist_compute(d, MBI_DIST_STEP_CG_BETA, v->stream));
  p = mbi_dist_update_of(v, v->p, v->z, 1, MBI_DIST_BETA, v->p);
  return mbi_dist_pass_run(d, &p, 0, 0, v->stream);
}

/* Does one iteration of BiCGSTAB with M on the right (Saad, algorithm 7.7). v is in q, s in r,
 * t in z; p_hat and then s_hat are M^-1 p and M^-1 s, or p and s themselves. */
static merbit_status mbi_dist_bicgstab(mbi_dist_solve *v) {
  merbit_dist *d = v->d;
  void *const p_hat = v->inverse != NULL ? v->p_hat : v->p;
  void *const s_hat = v->inverse != NULL ? v->s_hat : v->r;
  mbi_dist_pass p;
  if (v->inverse != NULL) {
    MBI_TRY(mbi_dist_precondition(v, p_hat, v->p, 0));
  }
  MBI_TRY(mbi_dist_multiply(d, NULL, p_hat, NULL, v->q, v->stream));
  p = mbi_dist_pass_begin(d, NULL);
  mbi_dist_pass_dot(&p, v->q, v->shadow);
  MBI_TRY(mbi_dist_pass_run(d, &p, 1, 0, v->stream));
  MBI_TRY(mbi_dist_sum(d, 1, v->stream));
  MBI_TRY(mbi_dist_compute(d, MBI_DIST_STEP_BICGSTAB_ALPHA, v->stream));
  p = mbi_dist_update_of(v, v->r, v->r, -1, MBI_DIST_ALPHA, v->q);
  MBI_TRY(mbi_dist_pass_run(d, &p, 0, 0, v->stream));
  if (v->inverse != NULL) {
    MBI_TRY(mbi_dist_precondition(v, s_hat, v->r, 0));
  }
  MBI_TRY(mbi_dist_multiply(d, NULL, s_hat, NULL, v->z, v->stream));
  p = mbi_dist_pass_begin(d, NULL);
  mbi_dist_pass_dot(&p, v->z, v->r);
  mbi_dist_pass_dot(&p, v->z, v->z);
  MBI_TRY(mbi_dist_pass_run(d, &p, 2, 0, v->stream));
  MBI_TRY(mbi_dist_sum(d, 2, v->stream));
  MBI_TRY(mbi_dist_compute(d, MBI_DIST_STEP_BICGSTAB_OMEGA, v->stream));
  p = mbi_dist_update_of(v, v->x, v->x, 1, MBI_DIST_ALPHA, p_hat);
  mbi_dist_pass_add(&p, 1, MBI_DIST_OMEGA, s_hat);
  MBI_TRY(mbi_dist_pass_run(d, &p, 0, 0, v->stream));
  p = mbi_dist_update_of(v, v->r, v->r, -1, MBI_DIST_OMEGA, v->z);
  mbi_dist_pass_dot(&p, v->r, v->r);
  mbi_dist_pass_dot(&p, v->r, v->shadow);
  MBI_TRY(mbi_dist_pass_run(d, &p, 2, 0, v->stream));
  MBI_TRY(mbi_dist_sum(d, 2, v->stream));
  MBI_TRY(mbi_dist_compute(d, MBI_DIST_STEP_BICGSTAB_BETA, v->stream));
  p = mbi_dist_update_of(v, v->p, v->r, 1, MBI_DIST_BETA, v->p);
  mbi_dist_pass_add(&p, -1, MBI_DIST_BETA_OMEGA, v->q);
  return mbi_dist_pass_run(d, &p, 0, 0, v->stream);
}

/* Iterates until STOP is set. */
static merbit_status mbi_dist_run(mbi_dist_solve *v, mbi_dist_iterate iterate, double scale) {
  int k;
  do {
    for (k = 0; k < v->check_every; k++) {
      MBI_TRY(iterate(v));
    }
    MBI_TRY(mbi_dist_look_at_numbers(v));
    if (v->checks < v->history_size && v->history != NULL) {
      v->history[v->checks] = scale * sqrt(v->numbers[MBI_DIST_RR]);
    }
    v->checks++;
  } while (mbi_dist_why(v->numbers) == MBI_DIST_RUNS);
  return MERBIT_OK;
}

/* Fills the inverse of the diagonal. */
static merbit_status mbi_dist_invert(mbi_dist_solve *v) {
  merbit_dist *d = v->d;
  const int single = d->type == MERBIT_F32;
  void *inverse;
  merbit_status status = MERBIT_OK;
  int64_t i;
  MBI_TRY(mbi_dist_host(d, d->info.rows, d->element, "the inverse diagonal", &inverse));
  for (i = 0; i < d->info.rows && status == MERBIT_OK; i++) {
    const double value = mbi_dist_load(d->diagonal, i, single);
    if (value == 0) {
      status = mbi_fail(d->context, MERBIT_INVALID_MATRIX,
                        "MERBIT_PRECONDITIONER_JACOBI: the diagonal of row %" PRId64 " is 0",
                        d->info.first_row + i);
    }
    if (single) {
      ((float *)inverse)[i] = (float)(1 / value);
    } else {
      ((double *)inverse)[i] = 1 / value;
    }
  }
  if (status == MERBIT_OK) {
    status = mbi_dist_upload(d, v->inverse, inverse, d->info.rows, d->element);
  }
  mbi_release(d->context, inverse);
  return status;
}

/* Allocates `count` vectors, each at its pointer. */
static merbit_status mbi_dist_vectors(mbi_dist_solve *v, int count, void **const *vectors) {
  const int64_t bytes = (v->d->info.rows * (int64_t)v->d->element + 255) / 256 * 256;
  const int64_t held = v->d->info.device_bytes;
  int k;
  MBI_TRY(mbi_dist_allocate(v->d, count * bytes, 1, "the vectors of a solve", &v->memory));
  v->d->info.device_bytes = held; /* only until the solve ends */
  for (k = 0; k < count; k++) {
    *vectors[k] = (char *)v->memory + k * bytes;
  }
  return MERBIT_OK;
}

/* Checks a solve and allocates its vectors. */
static merbit_status mbi_dist_solve_begin(mbi_dist_solve *v,
                                          const merbit_dist_solver_desc *desc) {
  void **const vectors[] = {&v->r,      &v->p,     &v->q,     &v->z,
                            &v->shadow, &v->p_hat, &v->s_hat, &v->inverse};
  void **const cg[] = {&v->r, &v->p, &v->q, &v->z, &v->inverse};
  const int jacobi = desc != NULL && desc->preconditioner == MERBIT_PRECONDITIONER_JACOBI;
  MBI_TRY(mbi_dist_check_apart(v->d, v->b, v->x, "b and x"));
  if (desc == NULL ||
      (desc->method != MERBIT_SOLVER_CG && desc->method != MERBIT_SOLVER_BICGSTAB) ||
      (desc->preconditioner != MERBIT_PRECONDITIONER_NONE && !jacobi)) {
    return mbi_fail(v->d->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_dist_solver_desc.method is MERBIT_SOLVER_CG or "
                    "MERBIT_SOLVER_BICGSTAB, preconditioner is MERBIT_PRECONDITIONER_NONE or "
                    "MERBIT_PRECONDITIONER_JACOBI");
  }
  if (!(desc->tolerance >= 0) || desc->max_iterations < 0 || desc->check_every < 0) {
    return mbi_fail(v->d->context, MERBIT_INVALID_ARGUMENT,
                    "tolerance is %g, max_iterations %d, check_every %d; none may be negative",
                    desc->tolerance, desc->max_iterations, desc->check_every);
  }
  if (desc->method == MERBIT_SOLVER_CG) {
    MBI_TRY(mbi_dist_vectors(v, jacobi ? 5 : 3, cg));
    v->z = jacobi ? v->z : v->r;
  } else {
    MBI_TRY(mbi_dist_vectors(v, jacobi ? 8 : 5, vectors));
  }
  return jacobi ? mbi_dist_invert(v) : MERBIT_OK;
}

/* Fails on all ranks if their options of a solve differ. */
static merbit_status mbi_dist_solve_agree(const mbi_dist_solve *v,
                                          const merbit_dist_solver_desc *desc) {
  const double numbers[] = {(double)desc->method, desc->tolerance, (double)desc->max_iterations,
                            (double)desc->preconditioner, (double)desc->check_every};
  return mbi_dist_same(&v->d->ranks, numbers, sizeof numbers / sizeof *numbers,
                       "method, tolerance, max_iterations, preconditioner or check_every");
}

/* Fills a vector with zeros. */
static merbit_status mbi_dist_zero(merbit_dist *d, void *vector, void *stream) {
  const size_t bytes = (size_t)d->info.rows * d->element;
  if (mbi_dist_on_gpu(d)) {
    return mbi_device_zero(d->context, mbi_device_address(vector), bytes, stream);
  }
  if (bytes > 0) {
    memset(vector, 0, bytes);
  }
  return MERBIT_OK;
}

/* Copies the residual to the vectors with which an iteration starts. */
static merbit_status mbi_dist_first_directions(mbi_dist_solve *v) {
  mbi_dist_pass p = mbi_dist_update_of(v, v->p, v->shadow != NULL ? v->r : v->z, 0, 0, NULL);
  MBI_TRY(mbi_dist_pass_run(v->d, &p, 0, 0, v->stream));
  if (v->shadow != NULL) {
    p = mbi_dist_update_of(v, v->shadow, v->r, 0, 0, NULL);
    MBI_TRY(mbi_dist_pass_run(v->d, &p, 0, 0, v->stream));
  }
  return MERBIT_OK;
}

/* Sets *tiny to whether an element of b is not zero, on any rank. */
static merbit_status mbi_dist_is_tiny(const mbi_dist_solve *v, int *tiny) {
  merbit_dist *d = v->d;
  const size_t bytes = (size_t)d->info.rows * d->element;
  const void *b = v->b;
  void *copy = NULL;
  int64_t i;
  int q;
  *tiny = 0;
  if (mbi_dist_on_gpu(d) && bytes > 0) {
    merbit_status status;
    MBI_TRY(mbi_dist_host(d, d->info.rows, d->element, "a copy of b", &copy));
    status = mbi_device_download(d->context, copy, mbi_device_address(b), bytes);
    if (status != MERBIT_OK) {
      mbi_release(d->context, copy);
      return status;
    }
    b = copy;
  }
  for (i = 0; i < d->info.rows && !*tiny; i++) {
    *tiny = mbi_dist_load(b, i, d->type == MERBIT_F32) != 0;
  }
  mbi_release(d->context, copy);
  MBI_TRY(mbi_dist_tell(&d->ranks, *tiny));
  for (q = 0; q < d->info.ranks; q++) {
    *tiny |= d->ranks.from[q] != 0;
  }
  return MERBIT_OK;
}

/* Iterates, and restarts from the true residual as long as that helps: after a breakdown, and
 * if the recurrence's residual was far from the true one. */
static merbit_status mbi_dist_solve_run(mbi_dist_solve *v,
                                        const merbit_dist_solver_desc *desc) {
  const double tolerance = desc->tolerance > 0        ? desc->tolerance
                           : v->d->type == MERBIT_F32 ? 1e-5
                                                      : 1e-10;
  const mbi_dist_iterate iterate =
      desc->method == MERBIT_SOLVER_CG ? mbi_dist_cg : mbi_dist_bicgstab;
  const int jacobi = v->inverse != NULL && desc->method == MERBIT_SOLVER_CG;
  double *const s = v->numbers;
  double last = 0, slack = 1;
  int stopped = MBI_DIST_RUNS; /* why the last iteration ended */
  for (;; slack = 1.01) {
    s[MBI_DIST_STOP] = MBI_DIST_RUNS;
    s[MBI_DIST_CAP] = desc->max_iterations > 0 ? desc->max_iterations : 20000;
    s[MBI_DIST_TARGET] = slack * tolerance * (slack * tolerance);
    s[MBI_DIST_JACOBI] = jacobi;
    MBI_TRY(mbi_dist_write_numbers(v));
    MBI_TRY(mbi_dist_residual(v));
    MBI_TRY(mbi_dist_look_at_numbers(v));
    if (s[MBI_DIST_BB] == 0) {
      int tiny; /* b is not zero, but ||b||^2 is */
      MBI_TRY(mbi_dist_is_tiny(v, &tiny));
      MBI_TRY(tiny ? MERBIT_OK : mbi_dist_zero(v->d, v->x, v->stream));
      MBI_TRY(mbi_dist_wait(v->d, v->stream));
      v->result->stop = tiny ? MERBIT_STOP_NOT_FINITE : MERBIT_STOP_CONVERGED;
      v->result->residual = v->result->estimated_residual = tiny ? (double)NAN : 0;
      return MERBIT_OK;
    }
    v->result->residual = sqrt(s[MBI_DIST_RR] / s[MBI_DIST_BB]);
    v->result->iterations = (int)s[MBI_DIST_ITERATIONS];
    if (stopped == MBI_DIST_RUNS) {
      v->result->estimated_residual = v->result->residual;
    }
    if (mbi_dist_why(s) != MBI_DIST_RUNS || stopped == MBI_DIST_NOT_FINITE) {
      v->result->stop = stopped == MBI_DIST_NOT_FINITE          ? MERBIT_STOP_NOT_FINITE
                        : mbi_dist_why(s) == MBI_DIST_CONVERGED ? MERBIT_STOP_CONVERGED
                        : mbi_dist_why(s) == MBI_DIST_CAPPED    ? MERBIT_STOP_CAP
                                                                : MERBIT_STOP_NOT_FINITE;
      return MERBIT_OK;
    }
    if (stopped != MBI_DIST_RUNS && !(v->result->residual < 0.5 * last)) {
      v->result->stop =
          stopped == MBI_DIST_BROKEN ? MERBIT_STOP_BREAKDOWN : MERBIT_STOP_STAGNATED;
      return MERBIT_OK;
    }
    last = v->result->residual;
    MBI_TRY(mbi_dist_first_directions(v));
    MBI_TRY(mbi_dist_run(v, iterate, 1 / sqrt(s[MBI_DIST_BB])));
    v->result->estimated_residual = sqrt(s[MBI_DIST_RR] / s[MBI_DIST_BB]);
    stopped = (int)s[MBI_DIST_STOP];
  }
}

/* Returns the number of iterations between two checks. */
static int mbi_dist_check_every(const merbit_dist *d, int wish) {
  return mbi_dist_sums_on_host(d) ? 1 : wish > 0 ? wish : 16;
}

/* Runs `body` with the set-up and clean-up that all solves share. */
static merbit_status mbi_dist_solve_end(mbi_dist_solve *v, merbit_status status, double begin,
                                        merbit_dist_result *result) {
  if (v->memory != NULL) {
    mbi_dist_release(v->d, v->memory);
  }
  v->result->seconds = mbi_seconds() - begin;
  if (status == MERBIT_OK && result != NULL) {
    *result = *v->result;
  }
  return status;
}

MERBIT_API merbit_status merbit_dist_solve(merbit_dist *dist,
                                           const merbit_dist_solver_desc *desc, const void *b,
                                           void *x, int start_from_x, void *stream,
                                           merbit_dist_result *result) {
  const double begin = mbi_seconds();
  merbit_dist_result made;
  mbi_dist_solve v;
  merbit_status status;
  MBI_TRY(mbi_dist_ready(dist));
  memset(&v, 0, sizeof v);
  memset(&made, 0, sizeof made);
  v.d = dist;
  v.stream = stream;
  v.b = b;
  v.x = x;
  v.result = &made;
  status = mbi_dist_enter(dist);
  if (status != MERBIT_OK) {
    return mbi_dist_end(dist, status);
  }
  status = mbi_dist_agree(&dist->ranks, mbi_dist_solve_begin(&v, desc));
  status = status == MERBIT_OK ? mbi_dist_solve_agree(&v, desc) : status;
  if (status == MERBIT_OK) {
    v.check_every = mbi_dist_check_every(dist, desc->check_every);
    v.history = desc->history;
    v.history_size = desc->history_size;
    status = start_from_x ? MERBIT_OK : mbi_dist_zero(dist, x, stream);
    if (status == MERBIT_OK) {
      status = mbi_dist_wait(dist, stream); /* uploads of numbers are not ordered after it */
    }
    if (status == MERBIT_OK) {
      status = mbi_dist_solve_run(&v, desc);
    }
    status = mbi_dist_end(dist, status);
  }
  status = mbi_dist_solve_end(&v, status, begin, result);
  mbi_dist_leave(dist);
  return status;
}

/* ---- PageRank ---------------------------------------------------------------------------- */

/* One step of the power method: rank = d M rank + (1 - d + d (rank of the dangling vertices)) /
 * n, where M is the operator with columns that add up to 1, or to 0 for dangling vertices.
 * Their rank is what M rank lacks of 1. */
static merbit_status mbi_dist_pagerank(mbi_dist_solve *v) {
  merbit_dist *d = v->d;
  const void *given = v->x;
  mbi_dist_pass p;
  if (v->inverse != NULL) {
    MBI_TRY(mbi_dist_precondition(v, v->z, v->x, 0));
    given = v->z;
  }
  MBI_TRY(mbi_dist_multiply(d, NULL, given, NULL, v->q, v->stream));
  p = mbi_dist_pass_begin(d, NULL);
  mbi_dist_pass_dot(&p, v->q, NULL);
  MBI_TRY(mbi_dist_pass_run(d, &p, 1, 0, v->stream));
  MBI_TRY(mbi_dist_sum(d, 1, v->stream));
  MBI_TRY(mbi_dist_compute(d, MBI_DIST_STEP_PAGERANK_SHIFT, v->stream));
  p = mbi_dist_pass_begin(d, v->x);
  mbi_dist_pass_add(&p, 1, MBI_DIST_DAMPING, v->q);
  mbi_dist_pass_add(&p, 1, MBI_DIST_SHIFT, NULL);
  p.change = 1;
  MBI_TRY(mbi_dist_pass_run(d, &p, 1, 0, v->stream));
  MBI_TRY(mbi_dist_sum(d, 1, v->stream));
  return mbi_dist_compute(d, MBI_DIST_STEP_PAGERANK_CHANGE, v->stream);
}

/* Fills the inverse of the out-weights, with 0 for 0. On CUDA the context is current. */
static merbit_status mbi_dist_invert_weights(mbi_dist_solve *v, const void *weights) {
  merbit_dist *d = v->d;
  const int single = d->type == MERBIT_F32;
  const size_t bytes = (size_t)d->info.rows * d->element;
  const void *known = NULL;
  void *inverse;
  merbit_status status = MERBIT_OK;
  int64_t i;
  if (d->info.rows > 0) {
    MBI_TRY(mbi_dist_check_memory(d, weights, &known));
  }
  MBI_TRY(mbi_dist_host(d, d->info.rows, d->element, "inverse out-weights", &inverse));
  if (mbi_dist_on_gpu(d)) {
    status = mbi_device_download(d->context, inverse, mbi_device_address(weights), bytes);
  } else if (bytes > 0) {
    memcpy(inverse, weights, bytes);
  }
  for (i = 0; i < d->info.rows && status == MERBIT_OK; i++) {
    const double weight = mbi_dist_load(inverse, i, single);
    if (!(weight >= 0) || !(weight - weight == 0)) {
      status = mbi_fail(d->context, MERBIT_INVALID_ARGUMENT,
                        "out_weights of vertex %" PRId64 " is %g; weights are finite and at "
                        "least 0",
                        d->info.first_row + i, weight);
    }
    if (single) {
      ((float *)inverse)[i] = weight > 0 ? (float)(1 / weight) : 0;
    } else {
      ((double *)inverse)[i] = weight > 0 ? 1 / weight : 0;
    }
  }
  if (status == MERBIT_OK) {
    status = mbi_dist_upload(d, v->inverse, inverse, d->info.rows, d->element);
  }
  mbi_release(d->context, inverse);
  return status;
}

/* Checks the options and allocates vectors. */
static merbit_status mbi_dist_pagerank_begin(mbi_dist_solve *v,
                                             const merbit_dist_pagerank_desc *desc) {
  void **const vectors[] = {&v->q, &v->z, &v->inverse};
  const int weighted = desc->out_weights != NULL;
  MBI_TRY(mbi_dist_check_vectors(v->d, v->x, v->x));
  if (!(desc->damping >= 0 && desc->damping < 1) || !(desc->tolerance >= 0) ||
      desc->max_iterations < 0 || desc->check_every < 0) {
    return mbi_fail(
        v->d->context, MERBIT_INVALID_ARGUMENT,
        "damping is %g, tolerance %g, max_iterations %d, check_every %d; damping is in "
        "(0, 1), or 0 for 0.85, the others at least 0",
        desc->damping, desc->tolerance, desc->max_iterations, desc->check_every);
  }
  MBI_TRY(mbi_dist_vectors(v, weighted ? 3 : 1, vectors));
  return weighted ? mbi_dist_invert_weights(v, desc->out_weights) : MERBIT_OK;
}

/* Fails on all ranks if their options of PageRank differ. */
static merbit_status mbi_dist_pagerank_agree(const mbi_dist_solve *v,
                                             const merbit_dist_pagerank_desc *desc) {
  const double numbers[] = {desc->damping, desc->tolerance, (double)desc->max_iterations,
                            (double)desc->check_every};
  return mbi_dist_same(&v->d->ranks, numbers, sizeof numbers / sizeof *numbers,
                       "damping, tolerance, max_iterations or check_every");
}

static merbit_status mbi_dist_pagerank_run(mbi_dist_solve *v,
                                           const merbit_dist_pagerank_desc *desc) {
  const double vertices = (double)v->d->info.global_rows;
  double *const s = v->numbers;
  mbi_dist_pass p;
  s[MBI_DIST_CAP] = desc->max_iterations > 0 ? desc->max_iterations : 1000;
  s[MBI_DIST_TARGET] = desc->tolerance > 0        ? desc->tolerance
                       : v->d->type == MERBIT_F32 ? 2.384185791015625e-07
                                                  : 1e-10;
  s[MBI_DIST_DAMPING] = desc->damping > 0 ? desc->damping : 0.85;
  s[MBI_DIST_VERTICES] = vertices;
  s[MBI_DIST_SHIFT] = 1 / vertices;
  MBI_TRY(mbi_dist_write_numbers(v));
  p = mbi_dist_pass_begin(v->d, v->x); /* all ranks equal */
  mbi_dist_pass_add(&p, 1, MBI_DIST_SHIFT, NULL);
  MBI_TRY(mbi_dist_pass_run(v->d, &p, 0, 0, v->stream));
  if (vertices == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_dist_run(v, mbi_dist_pagerank, 1));
  v->result->iterations = (int)s[MBI_DIST_ITERATIONS];
  v->result->residual = v->result->estimated_residual = s[MBI_DIST_RR];
  v->result->stop = mbi_dist_why(s) == MBI_DIST_CONVERGED ? MERBIT_STOP_CONVERGED
                    : mbi_dist_why(s) == MBI_DIST_CAPPED  ? MERBIT_STOP_CAP
                                                          : MERBIT_STOP_NOT_FINITE;
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_dist_pagerank(merbit_dist *dist,
                                              const merbit_dist_pagerank_desc *desc,
                                              void *ranks, void *stream,
                                              merbit_dist_result *result) {
  const double begin = mbi_seconds();
  merbit_dist_pagerank_desc none;
  merbit_dist_result made;
  mbi_dist_solve v;
  merbit_status status;
  MBI_TRY(mbi_dist_ready(dist));
  memset(&v, 0, sizeof v);
  memset(&made, 0, sizeof made);
  memset(&none, 0, sizeof none);
  desc = desc != NULL ? desc : &none;
  v.d = dist;
  v.stream = stream;
  v.x = ranks;
  v.result = &made;
  status = mbi_dist_enter(dist);
  if (status != MERBIT_OK) {
    return mbi_dist_end(dist, status);
  }
  status = mbi_dist_wait(dist, stream); /* copies of weights and numbers are not */
  status = mbi_dist_agree(&dist->ranks,
                          status == MERBIT_OK ? mbi_dist_pagerank_begin(&v, desc) : status);
  status = status == MERBIT_OK ? mbi_dist_pagerank_agree(&v, desc) : status;
  if (status == MERBIT_OK) {
    v.check_every = mbi_dist_check_every(dist, desc->check_every);
    status = mbi_dist_end(dist, mbi_dist_pagerank_run(&v, desc));
  }
  status = mbi_dist_solve_end(&v, status, begin, result);
  mbi_dist_leave(dist);
  return status;
}

/* ==== >>DIST NCCL ============================================================================= */

#ifndef _WIN32
/* NCCL's numbers (nccl.h); tests/dist/test_nccl_abi.c compares them. */
enum {
  MBI_NCCL_CUDA_ERROR = 1,
  MBI_NCCL_IN_PROGRESS = 7,
  MBI_NCCL_INT8 = 0,
  MBI_NCCL_INT64 = 4,
  MBI_NCCL_F64 = 8,
  MBI_NCCL_SUM = 0
};
#define MBI_NCCL_TIMEOUT 60.0
#define MBI_NCCL_TICK 0.1    /* seconds between two checks by the guard */
#define MBI_NCCL_SPIN 0.001  /* seconds for which a wait polls without a pause */
#define MBI_CUDA_NOT_READY 600

/* Functions of NCCL, and those of the driver that merbit.h lacks. A result is an ncclResult_t
 * or a CUresult, a communicator an ncclComm_t, a type an ncclDataType_t. */
typedef struct mbi_nccl_calls {
  int (*get_version)(int *version);
  int (*get_unique_id)(merbit_nccl_id *id);
  int (*init_rank)(void **communicator, int ranks, merbit_nccl_id id, int rank);
  int (*destroy)(void *communicator);
  int (*abort)(void *communicator);
  int (*async_error)(void *communicator, int *error);
  int (*group_start)(void);
  int (*group_end)(void);
  int (*send)(const void *data, size_t count, int type, int peer, void *communicator,
              void *stream);
  int (*recv)(void *data, size_t count, int type, int peer, void *communicator, void *stream);
  int (*all_reduce)(const void *from, void *to, size_t count, int type, int operation,
                    void *communicator, void *stream);
  const char *(*error_string)(int result);
  const char *(*last_error)(void *communicator); /* NULL before NCCL 2.13 */
  mbi_curesult (*stream_query)(void *stream);
  mbi_curesult (*upload)(mbi_devptr target, const void *source, size_t bytes, void *stream);
  mbi_curesult (*download)(void *target, mbi_devptr source, size_t bytes, void *stream);
} mbi_nccl_calls;

typedef struct mbi_nccl_symbol {
  const char *name;
  size_t at; /* of the function's pointer in mbi_nccl_calls */
  int optional;
} mbi_nccl_symbol;

#define MBI_NCCL_AT(field) offsetof(mbi_nccl_calls, field)
static const mbi_nccl_symbol mbi_nccl_symbols[] = {
    {"ncclGetVersion", MBI_NCCL_AT(get_version), 0},
    {"ncclGetUniqueId", MBI_NCCL_AT(get_unique_id), 0},
    {"ncclCommInitRank", MBI_NCCL_AT(init_rank), 0},
    {"ncclCommDestroy", MBI_NCCL_AT(destroy), 0},
    {"ncclCommAbort", MBI_NCCL_AT(abort), 0},
    {"ncclCommGetAsyncError", MBI_NCCL_AT(async_error), 0},
    {"ncclGroupStart", MBI_NCCL_AT(group_start), 0},
    {"ncclGroupEnd", MBI_NCCL_AT(group_end), 0},
    {"ncclSend", MBI_NCCL_AT(send), 0},
    {"ncclRecv", MBI_NCCL_AT(recv), 0},
    {"ncclAllReduce", MBI_NCCL_AT(all_reduce), 0},
    {"ncclGetErrorString", MBI_NCCL_AT(error_string), 0},
    {"ncclGetLastError", MBI_NCCL_AT(last_error), 1}};
static const mbi_nccl_symbol mbi_nccl_driver_symbols[] = {
    {"cuStreamQuery", MBI_NCCL_AT(stream_query), 0},
    {"cuMemcpyHtoDAsync_v2", MBI_NCCL_AT(upload), 0},
    {"cuMemcpyDtoHAsync_v2", MBI_NCCL_AT(download), 0}};

/* One rank's exchange. The guard is a thread that makes and destroys the communicator, so that
 * the caller can stop waiting, and aborts it if a call of the caller takes too long. */
typedef struct mbi_nccl {
  merbit_exchange exchange; /* first: the caller's pointer */
  merbit_context *context;
  mbi_nccl_calls calls;
  merbit_nccl_id id;
  double limit; /* seconds */
  void *communicator;
  void *stream;       /* of `counts` */
  mbi_devptr numbers; /* ranks * ranks numbers of `counts`: row p has those that rank p sends */
  int64_t *copy;      /* the same on the host */
  pthread_t guard;
  mbi_mutex lock; /* guards the fields below */
  pthread_cond_t changed;
  int ready;         /* 1: the communicator was made, or `result` says why not */
  int result;        /* of ncclCommInitRank */
  int stop;          /* 1: the guard must end */
  int ended;         /* 1: the guard no longer touches this struct */
  int abandoned;     /* 1: the caller has given up; the guard releases everything */
  int failed;        /* 1: the communicator is aborted or about to be */
  const char *call;  /* the NCCL call in progress; NULL: none */
  double call_began; /* mbi_seconds */
  char sentence[MERBIT_MESSAGE_SIZE]; /* about the first failure */
} mbi_nccl;

/* Fills the pointers of `calls` from a library. Returns the name of the first symbol that is
 * missing, or NULL. */
static const char *mbi_nccl_load(void *library, const mbi_nccl_symbol *symbols, size_t count,
                                 mbi_nccl_calls *calls) {
  size_t i;
  for (i = 0; i < count; i++) {
    if (!mbi_library_function(library, symbols[i].name, (char *)calls + symbols[i].at,
                              sizeof calls->get_version) &&
        !symbols[i].optional) {
      return symbols[i].name;
    }
  }
  return NULL;
}

/* Opens NCCL. It stays loaded, because its threads may outlive a communicator. */
static merbit_status mbi_nccl_open(merbit_context *context, const merbit_nccl_desc *desc,
                                   mbi_nccl_calls *calls) {
  const char *path = desc != NULL ? desc->library : NULL, *missing;
  void *library;
  if (context->side != MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "NCCL exchanges between GPUs, and this context computes on the CPU; make it "
                    "with MERBIT_SIDE_CUDA, or give merbit_dist_create another exchange");
  }
  if (path == NULL) {
    path = mbi_environment("MERBIT_NCCL");
  }
  library = mbi_library_open(path != NULL ? path : "libnccl.so.2");
  if (library == NULL) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "NCCL cannot be opened (%s); install it, or name it in MERBIT_NCCL",
                    mbi_library_error());
  }
  missing = mbi_nccl_load(library, mbi_nccl_symbols,
                          sizeof mbi_nccl_symbols / sizeof *mbi_nccl_symbols, calls);
  if (missing != NULL) {
    mbi_library_close(library);
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "the NCCL %s lacks %s; install version 2.7 or later, or name one in "
                    "MERBIT_NCCL",
                    path != NULL ? path : "libnccl.so.2", missing);
  }
  mbi_library_keep(library);
  mbi_library_close(library);
  missing = mbi_nccl_load(context->device.driver.library, mbi_nccl_driver_symbols,
                          sizeof mbi_nccl_driver_symbols / sizeof *mbi_nccl_driver_symbols, calls);
  if (missing != NULL) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "the NVIDIA driver lacks %s, which an exchange over NCCL needs; install one "
                    "that supports CUDA 11",
                    missing);
  }
  return MERBIT_OK;
}

/* Writes NCCL's text for a result. */
static void mbi_nccl_text(const mbi_nccl_calls *calls, int result, char *text, size_t size) {
  const char *meaning = calls->error_string(result);
  const char *last = calls->last_error != NULL ? calls->last_error(NULL) : NULL;
  const int more = last != NULL && last[0] != '\0';
  (void)snprintf(text, size, "%s (NCCL error %d)%s%.200s", meaning != NULL ? meaning : "no text",
                 result, more ? ": " : "", more ? last : "");
}

MERBIT_API merbit_status merbit_exchange_nccl_id(merbit_context *context,
                                                 const merbit_nccl_desc *desc,
                                                 merbit_nccl_id *id) {
  mbi_nccl_calls calls;
  char text[300];
  int result;
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (id == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the out pointer `id` is NULL");
  }
  memset(id, 0, sizeof *id);
  memset(&calls, 0, sizeof calls);
  MBI_TRY(mbi_nccl_open(context, desc, &calls));
  result = calls.get_unique_id(id);
  if (result != 0) {
    mbi_nccl_text(&calls, result, text, sizeof text);
    return mbi_fail(context, MERBIT_IO_ERROR, "ncclGetUniqueId failed: %s", text);
  }
  return MERBIT_OK;
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* Records the first failure, with a sentence that names the rank, and aborts the communicator.
 * A thread in an NCCL call then returns from it, and kernels that wait for other ranks end.
 * Returns 1. */
MBI_PRINTF(2, 3) static int mbi_nccl_fail(mbi_nccl *n, const char *format, ...) {
  int first, length;
  mbi_mutex_lock(&n->lock);
  first = !n->failed;
  n->failed = 1;
  if (first) {
    va_list arguments;
    length = snprintf(n->sentence, sizeof n->sentence, "rank %d of %d: ", n->exchange.rank,
                      n->exchange.ranks);
    va_start(arguments, format);
    (void)vsnprintf(n->sentence + length, sizeof n->sentence - (size_t)length, format, arguments);
    va_end(arguments);
  }
  mbi_mutex_unlock(&n->lock);
  if (first && n->communicator != NULL) {
    (void)n->calls.abort(n->communicator);
  }
  return 1;
}

/* Fails unless `result` of an NCCL call is 0. */
static int mbi_nccl_check(mbi_nccl *n, int result, const char *call) {
  char text[300];
  if (result == 0 || result == MBI_NCCL_IN_PROGRESS) {
    return 0;
  }
  mbi_nccl_text(&n->calls, result, text, sizeof text);
  return mbi_nccl_fail(n, "%s failed: %s", call, text);
}

static int mbi_nccl_failed(mbi_nccl *n) {
  int failed;
  mbi_mutex_lock(&n->lock);
  failed = n->failed;
  mbi_mutex_unlock(&n->lock);
  return failed;
}

/* ---- The guard ------------------------------------------------------------------------------- */

/* Waits, with the lock held, until another thread has changed something, but at most a tick. */
static void mbi_nccl_tick(mbi_nccl *n) {
  const int64_t until = mbi_now() + (int64_t)(1e9 * MBI_NCCL_TICK);
  struct timespec time;
  time.tv_sec = (time_t)(until / 1000000000);
  time.tv_nsec = (long)(until % 1000000000);
  (void)pthread_cond_timedwait(&n->changed, &n->lock, &time);
}

static void mbi_nccl_release(mbi_nccl *n) {
  merbit_context *context = n->context;
  if (mbi_device_enter_alive(context)) {
    if (n->stream != NULL) {
      (void)context->device.driver.stream_destroy(n->stream);
    }
    mbi_device_release(context, n->numbers);
    mbi_device_leave(context);
  }
  mbi_release(context, n->copy);
  (void)pthread_cond_destroy(&n->changed);
  mbi_mutex_destroy(&n->lock);
  mbi_release(context, n);
  mbi_context_unref(context);
}

/* Begins an NCCL call that may wait for other ranks; the guard watches its time. Returns 0
 * after a failure, when no call may be made. */
static int mbi_nccl_begin(mbi_nccl *n, const char *call) {
  int alive;
  mbi_mutex_lock(&n->lock);
  alive = !n->failed;
  n->call = alive ? call : NULL;
  n->call_began = mbi_seconds();
  mbi_mutex_unlock(&n->lock);
  return alive;
}

/* Ends a call with its result. */
static int mbi_nccl_end(mbi_nccl *n, int result) {
  const char *call;
  int failed;
  mbi_mutex_lock(&n->lock);
  call = n->call;
  n->call = NULL;
  failed = n->failed;
  mbi_mutex_unlock(&n->lock);
  return failed || mbi_nccl_check(n, result, call);
}

/* Makes the communicator, watches the caller's calls, destroys the communicator. */
static void *mbi_nccl_guard(void *argument) {
  mbi_nccl *n = (mbi_nccl *)argument;
  const int entered = mbi_device_enter_alive(n->context);
  void *communicator = NULL;
  int result = MBI_NCCL_CUDA_ERROR, release;
  if (entered) { /* NCCL uses the GPU of the current context */
    result = n->calls.init_rank(&communicator, n->exchange.ranks, n->id, n->exchange.rank);
  }
  mbi_mutex_lock(&n->lock);
  n->communicator = result == 0 ? communicator : NULL;
  n->result = result;
  n->ready = 1;
  (void)pthread_cond_broadcast(&n->changed);
  while (!n->stop && !n->abandoned) {
    mbi_nccl_tick(n);
    if (n->call != NULL && mbi_seconds() - n->call_began > n->limit) {
      const char *call = n->call;
      mbi_mutex_unlock(&n->lock);
      (void)mbi_nccl_fail(n,
                          "%s did not return within %g s: another rank may have ended, or not "
                          "have come to this call; the communicator was aborted",
                          call, n->limit);
      mbi_mutex_lock(&n->lock);
    }
  }
  if (n->communicator != NULL && !n->failed) {
    const int abandoned = n->abandoned;
    mbi_mutex_unlock(&n->lock);
    (void)(abandoned ? n->calls.abort(communicator) : n->calls.destroy(communicator));
    mbi_mutex_lock(&n->lock);
  }
  if (entered) {
    mbi_device_leave(n->context);
  }
  n->ended = 1;
  release = n->abandoned;
  (void)pthread_cond_broadcast(&n->changed);
  mbi_mutex_unlock(&n->lock);
  if (release) {
    mbi_nccl_release(n);
  }
  return NULL;
}

/* Waits, with the lock held, until *done, but no longer than the limit. Returns *done. */
static int mbi_nccl_await(mbi_nccl *n, const int *done) {
  const double began = mbi_seconds();
  while (!*done && mbi_seconds() - began <= n->limit) {
    mbi_nccl_tick(n);
  }
  return *done;
}

/* Unlocks `n`. If `abandoned`, the guard may release `n` from then on. */
static void mbi_nccl_abandon(mbi_nccl *n, int abandoned) {
  if (abandoned) {
    (void)pthread_detach(n->guard);
  }
  n->abandoned = abandoned;
  mbi_mutex_unlock(&n->lock);
}

/* Ends the guard, which has then destroyed the communicator. If that takes longer than the
 * limit, the guard is abandoned and releases everything when NCCL returns, if ever. */
static void mbi_nccl_close(mbi_nccl *n) {
  int ended;
  mbi_mutex_lock(&n->lock);
  n->stop = 1;
  (void)pthread_cond_broadcast(&n->changed);
  ended = mbi_nccl_await(n, &n->ended);
  mbi_nccl_abandon(n, !ended);
  if (ended) {
    (void)pthread_join(n->guard, NULL);
    mbi_nccl_release(n);
  }
}

/* ---- The exchange ---------------------------------------------------------------------------- */

/* Asks NCCL whether another thread or rank has had an error. */
static void mbi_nccl_look(mbi_nccl *n) {
  int error = 0;
  const int answer = n->calls.async_error(n->communicator, &error);
  if (!mbi_nccl_check(n, answer, "ncclCommGetAsyncError")) {
    (void)mbi_nccl_check(n, error, "an exchange that was under way");
  }
}

/* Waits for the stream, even after a failure: its kernels then end soon. */
static int mbi_nccl_wait_entered(mbi_nccl *n, void *stream) {
  double began = mbi_seconds(), looked = began;
  for (;;) {
    const mbi_curesult result = n->calls.stream_query(stream);
    const double now = mbi_seconds();
    if (result == 0) {
      return mbi_nccl_failed(n);
    }
    if (result != MBI_CUDA_NOT_READY) {
      (void)mbi_device_mark_lost(n->context, result);
      return mbi_nccl_fail(n, "waiting for the GPU failed in cuStreamQuery: CUDA error %d, %s",
                           result, mbi_driver_error_name(&n->context->device.driver, result));
    }
    if (now - began > n->limit) {
      if (mbi_nccl_failed(n)) {
        return 1;
      }
      (void)mbi_nccl_fail(n,
                          "the GPU's work has not ended within %g s: another rank may have ended, "
                          "or not have come to this exchange; the communicator was aborted",
                          n->limit);
      began = now;
    }
    if (now - looked > MBI_NCCL_TICK && !mbi_nccl_failed(n)) {
      mbi_nccl_look(n);
      looked = now;
    }
    if (now - began > MBI_NCCL_SPIN) {
      const struct timespec pause = {0, 50000};
      (void)nanosleep(&pause, NULL);
    }
  }
}

static int mbi_nccl_wait(void *user, void *stream) {
  mbi_nccl *n = (mbi_nccl *)user;
  int failed;
  if (!mbi_device_enter_alive(n->context)) {
    return mbi_nccl_fail(n, "the CUDA context cannot be entered; it may be dead");
  }
  failed = mbi_nccl_wait_entered(n, stream);
  mbi_device_leave(n->context);
  return failed;
}

static int mbi_nccl_all_reduce(mbi_nccl *n, void *values, int64_t count, int type, void *stream) {
  int result = 0;
  if (!mbi_nccl_begin(n, "ncclAllReduce")) {
    return 1;
  }
  result = n->calls.all_reduce(values, values, (size_t)count, type, MBI_NCCL_SUM,
                               n->communicator, stream);
  return mbi_nccl_end(n, result);
}

/* Gathers all counts by a sum: each rank fills its row of a matrix that is zero elsewhere. */
static int mbi_nccl_counts_entered(mbi_nccl *n, const int64_t *to, int64_t *from) {
  const int ranks = n->exchange.ranks, rank = n->exchange.rank;
  const int64_t count = (int64_t)ranks * ranks;
  const size_t bytes = (size_t)count * sizeof *n->copy;
  mbi_curesult result;
  int q;
  memset(n->copy, 0, bytes);
  memcpy(n->copy + (int64_t)ranks * rank, to, (size_t)ranks * sizeof *to);
  result = n->calls.upload(n->numbers, n->copy, bytes, n->stream);
  if (result == 0) {
    if (mbi_nccl_all_reduce(n, mbi_device_pointer(n->numbers), count, MBI_NCCL_INT64, n->stream)) {
      return 1;
    }
    result = n->calls.download(n->copy, n->numbers, bytes, n->stream);
  }
  if (result != 0) {
    (void)mbi_device_mark_lost(n->context, result);
    return mbi_nccl_fail(n, "copying %d counts failed: CUDA error %d, %s", ranks, result,
                         mbi_driver_error_name(&n->context->device.driver, result));
  }
  if (mbi_nccl_wait_entered(n, n->stream)) {
    return 1;
  }
  for (q = 0; q < ranks; q++) {
    from[q] = n->copy[(int64_t)ranks * q + rank];
  }
  return 0;
}

/* Enters the device for a call; the caller leaves it if this returns 1. */
static int mbi_nccl_enter(mbi_nccl *n) {
  if (mbi_nccl_failed(n)) {
    return 0;
  }
  if (!mbi_device_enter_alive(n->context)) {
    (void)mbi_nccl_fail(n, "the CUDA context cannot be entered; it may be dead");
    return 0;
  }
  return 1;
}

static int mbi_nccl_counts(void *user, const int64_t *to, int64_t *from) {
  mbi_nccl *n = (mbi_nccl *)user;
  int failed;
  if (!mbi_nccl_enter(n)) {
    return 1;
  }
  failed = mbi_nccl_counts_entered(n, to, from);
  mbi_device_leave(n->context);
  return failed;
}

/* Puts all messages into one group, so that they travel at the same time. */
static int mbi_nccl_group(mbi_nccl *n, const merbit_message *sends, int send_count,
                          const merbit_message *receives, int receive_count, void *stream) {
  const char *call = "ncclSend";
  int result, end, i;
  if (mbi_nccl_check(n, n->calls.group_start(), "ncclGroupStart")) {
    return 1;
  }
  for (i = 0, result = 0; i < send_count && result == 0; i++) {
    result = n->calls.send(sends[i].data, sends[i].bytes, MBI_NCCL_INT8, sends[i].rank,
                           n->communicator, stream);
  }
  for (i = 0; i < receive_count && result == 0; i++) {
    call = "ncclRecv";
    result = n->calls.recv(receives[i].data, receives[i].bytes, MBI_NCCL_INT8, receives[i].rank,
                           n->communicator, stream);
  }
  if (!mbi_nccl_begin(n, "ncclGroupEnd")) {
    return 1;
  }
  end = mbi_nccl_end(n, n->calls.group_end()); /* even after a failure, to leave the group */
  return mbi_nccl_check(n, result, call) || end;
}

static int mbi_nccl_start(void *user, const merbit_message *sends, int send_count,
                          const merbit_message *receives, int receive_count, void *stream) {
  mbi_nccl *n = (mbi_nccl *)user;
  int failed;
  if (send_count == 0 && receive_count == 0) {
    return mbi_nccl_failed(n);
  }
  if (!mbi_nccl_enter(n)) {
    return 1;
  }
  failed = mbi_nccl_group(n, sends, send_count, receives, receive_count, stream);
  mbi_device_leave(n->context);
  return failed;
}

/* Does nothing: the stream keeps the order. */
static int mbi_nccl_finish(void *user, void *stream) {
  (void)stream;
  return mbi_nccl_failed((mbi_nccl *)user);
}

static int mbi_nccl_sum(void *user, double *values, int count, void *stream) {
  mbi_nccl *n = (mbi_nccl *)user;
  int failed;
  if (!mbi_nccl_enter(n)) {
    return 1;
  }
  failed = mbi_nccl_all_reduce(n, values, count, MBI_NCCL_F64, stream);
  mbi_device_leave(n->context);
  return failed;
}

static void mbi_nccl_abort(void *user) {
  (void)mbi_nccl_fail((mbi_nccl *)user, "this rank left a call after an error of its own");
}

static const char *mbi_nccl_error(void *user) {
  mbi_nccl *n = (mbi_nccl *)user;
  return mbi_nccl_failed(n) ? n->sentence : NULL;
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* Makes the stream and the arrays of `counts`. */
static merbit_status mbi_nccl_prepare(mbi_nccl *n) {
  merbit_context *context = n->context;
  const int64_t count = (int64_t)n->exchange.ranks * n->exchange.ranks;
  merbit_status status;
  if (context->device.driver.stream_create == NULL) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED, "the NVIDIA driver lacks cuStreamCreate");
  }
  MBI_TRY(mbi_allocate_array(context, count, sizeof *n->copy, "counts", (void **)&n->copy));
  MBI_TRY(mbi_device_enter(context));
  status = mbi_device_allocate(context, (uint64_t)count * sizeof *n->copy, "counts", &n->numbers);
  if (status == MERBIT_OK) {
    status = mbi_device_check(
        context,
        context->device.driver.stream_create(&n->stream, MBI_STREAM_NON_BLOCKING),
        "cuStreamCreate", "making the stream of an exchange");
  }
  mbi_device_leave(context);
  return status;
}

/* Starts the guard and waits for the communicator. On failure nothing is left to release. */
static merbit_status mbi_nccl_connect(mbi_nccl *n) {
  merbit_context *context = n->context;
  const int rank = n->exchange.rank, ranks = n->exchange.ranks;
  merbit_status status = MERBIT_OK;
  char text[300];
  int ready;
  if (pthread_create(&n->guard, NULL, mbi_nccl_guard, n) != 0) {
    mbi_nccl_release(n);
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no thread for an exchange over NCCL");
  }
  mbi_mutex_lock(&n->lock);
  ready = mbi_nccl_await(n, &n->ready);
  if (!ready) { /* before the guard may release the context */
    status = mbi_fail(context, MERBIT_IO_ERROR,
                      "rank %d of %d: ncclCommInitRank did not return within %g s: another rank "
                      "may have ended, or not have come to merbit_exchange_nccl_create",
                      rank, ranks, n->limit);
  }
  mbi_nccl_abandon(n, !ready);
  MBI_TRY(status);
  if (n->result != 0) {
    mbi_nccl_text(&n->calls, n->result, text, sizeof text);
    status = mbi_fail(context, MERBIT_IO_ERROR, "rank %d of %d: ncclCommInitRank failed: %s", rank,
                      ranks, text);
    mbi_nccl_close(n);
  }
  return status;
}

MERBIT_API merbit_status merbit_exchange_nccl_create(merbit_context *context,
                                                     const merbit_nccl_id *id, int rank, int ranks,
                                                     const merbit_nccl_desc *desc,
                                                     merbit_exchange **exchange) {
  const double limit = desc != NULL ? desc->timeout_seconds : 0;
  mbi_nccl_calls calls;
  merbit_status status;
  mbi_nccl *n;
  if (exchange != NULL) {
    *exchange = NULL;
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (exchange == NULL || id == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "%s is NULL",
                    id == NULL ? "the id" : "the out pointer `exchange`");
  }
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "rank %d of %d ranks: ranks are counted from 0, and there is one at least",
                    rank, ranks);
  }
  if (!(limit >= 0)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "nccl_desc.timeout_seconds is %g; give a time above 0, or 0 for 60 s", limit);
  }
  memset(&calls, 0, sizeof calls);
  MBI_TRY(mbi_nccl_open(context, desc, &calls));
  n = (mbi_nccl *)mbi_allocate(context, sizeof *n);
  if (n == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for an exchange over NCCL");
  }
  memset(n, 0, sizeof *n);
  mbi_context_retain(context);
  mbi_mutex_create(&n->lock);
  (void)pthread_cond_init(&n->changed, NULL);
  n->context = context;
  n->calls = calls;
  n->id = *id;
  n->limit = limit > 0 ? limit : MBI_NCCL_TIMEOUT;
  n->exchange.rank = rank;
  n->exchange.ranks = ranks;
  n->exchange.counts = mbi_nccl_counts;
  n->exchange.start = mbi_nccl_start;
  n->exchange.finish = mbi_nccl_finish;
  n->exchange.sum = mbi_nccl_sum;
  n->exchange.wait = mbi_nccl_wait;
  n->exchange.abort = mbi_nccl_abort;
  n->exchange.error = mbi_nccl_error;
  n->exchange.device_messages = 1;
  n->exchange.user = n;
  status = mbi_nccl_prepare(n);
  if (status != MERBIT_OK) {
    mbi_nccl_release(n);
    return status;
  }
  MBI_TRY(mbi_nccl_connect(n));
  *exchange = &n->exchange;
  return MERBIT_OK;
}

MERBIT_API void merbit_exchange_nccl_destroy(merbit_exchange *exchange) {
  if (exchange != NULL) {
    mbi_nccl_close((mbi_nccl *)exchange->user);
  }
}

#else
static merbit_status mbi_nccl_missing(merbit_context *context) {
  return mbi_fail(context, MERBIT_NOT_SUPPORTED, "NCCL does not exist on Windows");
}

MERBIT_API merbit_status merbit_exchange_nccl_id(merbit_context *context,
                                                 const merbit_nccl_desc *desc,
                                                 merbit_nccl_id *id) {
  (void)desc;
  (void)id;
  return context == NULL ? MERBIT_INVALID_ARGUMENT : mbi_nccl_missing(context);
}

MERBIT_API merbit_status merbit_exchange_nccl_create(merbit_context *context,
                                                     const merbit_nccl_id *id, int rank, int ranks,
                                                     const merbit_nccl_desc *desc,
                                                     merbit_exchange **exchange) {
  (void)id;
  (void)rank;
  (void)ranks;
  (void)desc;
  if (exchange != NULL) {
    *exchange = NULL;
  }
  return context == NULL ? MERBIT_INVALID_ARGUMENT : mbi_nccl_missing(context);
}

MERBIT_API void merbit_exchange_nccl_destroy(merbit_exchange *exchange) {
  (void)exchange;
}
#endif

#endif /* MERBIT_DIST_IMPLEMENTATION */
