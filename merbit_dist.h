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

/* Names one group of ranks to NCCL (an ncclUniqueId). One rank makes it and gives it to the others
 * by the program's own means: a file, a socket, shared memory, MPI_Bcast. It holds the address of
 * the rank that made it, so it serves once and while that process lives. */
typedef struct merbit_nccl_id {
  char bytes[128];
} merbit_nccl_id;

/* Options of an exchange over NCCL. All-zero means default; NULL stands for it. */
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
 * Collective: each of the `ranks` ranks gives the same id and its own number, and computes on the
 * GPU of its context. NCCL wants a GPU for each rank (but from 2.30 on, with
 * NCCL_MULTI_RANK_GPU_ENABLE=1). The exchange has device messages and sums on the stream, so that
 * products and solves can be captured in graphs. Give *exchange to merbit_dist_create.
 *
 * Nothing waits longer than timeout_seconds for a rank that is gone or stuck. Then the communicator
 * is aborted, which ends its work on the GPU; the call fails with MERBIT_IO_ERROR and a sentence
 * that names the rank that waited and the call; every later call fails with that sentence. NCCL does
 * not tell ranks that another one failed: they wait until their own time is up. To be safe with
 * streams and graphs of your own, wait for them by (*exchange)->wait((*exchange)->user, stream): the
 * driver's cuStreamSynchronize has no limit. A limit shorter than the work before an exchange, or
 * than the time by which ranks reach a call apart, aborts a healthy program.
 *
 * Fails as merbit_exchange_nccl_id does, and with MERBIT_INVALID_ARGUMENT for a rank that is not in
 * [0, ranks). The exchange keeps the context alive. */
MERBIT_API merbit_status merbit_exchange_nccl_create(merbit_context *context,
                                                     const merbit_nccl_id *id, int rank, int ranks,
                                                     const merbit_nccl_desc *desc,
                                                     merbit_exchange **exchange);
/* Gives the exchange up, after all operators that use it and all work on its streams; NULL is
 * accepted. Collective, but it waits at most timeout_seconds for the others. */
MERBIT_API void merbit_exchange_nccl_destroy(merbit_exchange *exchange);

#ifdef __cplusplus
}
#endif
#endif /* MERBIT_DIST_H */

#if defined(MERBIT_DIST_IMPLEMENTATION) && !defined(MERBIT_DIST_IMPLEMENTED)
#define MERBIT_DIST_IMPLEMENTED

/* ==== >>DIST NCCL ============================================================================= */

#ifndef _WIN32
/* NCCL's numbers (nccl.h); tests/dist/test_nccl_abi.c compares them. */
enum {
  MBI_NCCL_IN_PROGRESS = 7,
  MBI_NCCL_INT8 = 0,
  MBI_NCCL_INT64 = 4,
  MBI_NCCL_F64 = 8,
  MBI_NCCL_SUM = 0
};
#define MBI_NCCL_TIMEOUT 60.0
#define MBI_NCCL_TICK 0.1    /* seconds between two looks of the guard */
#define MBI_NCCL_SPIN 0.001  /* seconds for which a wait asks without a pause */
#define MBI_CUDA_NOT_READY 600

/* NCCL and what the exchange needs of the driver beyond merbit.h. A result is an ncclResult_t or a
 * CUresult, a communicator an ncclComm_t, a type an ncclDataType_t. */
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

/* One rank's exchange. The guard is a thread that makes and destroys the communicator, so that the
 * caller can give up waiting, and aborts it if a call of the caller takes too long. */
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
  int stop;          /* 1: the guard is to end */
  int ended;         /* 1: it touches this struct no more */
  int abandoned;     /* 1: the caller has given up; the guard releases everything */
  int failed;        /* 1: the communicator is aborted or about to be */
  const char *call;  /* the NCCL call in which the caller is; NULL: none */
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

/* Writes what NCCL says about a result. */
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

/* Records the first failure, with a sentence that names the rank, and aborts the communicator. A
 * thread that is in an NCCL call then comes back from it, and kernels that wait for other ranks end.
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

/* Begins a call of NCCL that may wait for other ranks: the guard looks at its time. Returns 0 after
 * a failure, when nothing may be called. */
static int mbi_nccl_begin(mbi_nccl *n, const char *call) {
  int alive;
  mbi_mutex_lock(&n->lock);
  alive = !n->failed;
  n->call = alive ? call : NULL;
  n->call_began = mbi_seconds();
  mbi_mutex_unlock(&n->lock);
  return alive;
}

/* Ends it with its result. */
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
  int result = n->calls.init_rank(&communicator, n->exchange.ranks, n->id, n->exchange.rank);
  int release;
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

/* Ends the guard, which then has destroyed the communicator. If it takes longer than the limit, the
 * guard is left alone and releases everything when NCCL returns, if ever. */
static void mbi_nccl_close(mbi_nccl *n) {
  int ended;
  mbi_mutex_lock(&n->lock);
  n->stop = 1;
  (void)pthread_cond_broadcast(&n->changed);
  ended = mbi_nccl_await(n, &n->ended);
  n->abandoned = !ended;
  mbi_mutex_unlock(&n->lock);
  if (ended) {
    (void)pthread_join(n->guard, NULL);
    mbi_nccl_release(n);
  } else {
    (void)pthread_detach(n->guard);
  }
}

/* ---- The exchange ---------------------------------------------------------------------------- */

/* Asks NCCL whether another thread or rank has met an error. */
static void mbi_nccl_look(mbi_nccl *n) {
  int error = 0;
  const int answer = n->calls.async_error(n->communicator, &error);
  if (!mbi_nccl_check(n, answer, "ncclCommGetAsyncError")) {
    (void)mbi_nccl_check(n, error, "an exchange that was under way");
  }
}

/* After a failure it still waits for the stream, whose kernels end soon then. */
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

/* Each rank fills its row of a matrix that is zero elsewhere; the sum over the ranks has all rows. */
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
  end = mbi_nccl_end(n, n->calls.group_end()); /* also after a failure: the thread leaves the group */
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

/* The stream keeps the order. */
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
  const mbi_nccl *n = (const mbi_nccl *)user;
  return n->sentence[0] != '\0' ? n->sentence : NULL;
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
  n->abandoned = !ready;
  mbi_mutex_unlock(&n->lock);
  if (!ready) {
    status = mbi_fail(context, MERBIT_IO_ERROR,
                      "rank %d of %d: ncclCommInitRank did not return within %g s: another rank "
                      "may have ended, or not have come to merbit_exchange_nccl_create",
                      rank, ranks, n->limit);
    (void)pthread_detach(n->guard);
    return status;
  }
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
