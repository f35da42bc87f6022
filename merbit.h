/* merbit.h 0.1.0 - sparse matrix-vector products that repeat, on NVIDIA GPUs and on CPU threads.
 *
 * Generated from templates/ by gen/generate.py: edit there. MIT licence, at the end of this file. */
#if defined(MERBIT_IMPLEMENTATION) && !defined(MERBIT_IMPLEMENTATION_DONE)
/* The implementation needs GNU/POSIX declarations, so it must come before any system header. */
#if defined(_FEATURES_H) && !defined(__USE_GNU)
#error "merbit.h: with MERBIT_IMPLEMENTATION, include merbit.h before any system header, or compile with -D_GNU_SOURCE"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#endif

#ifndef MERBIT_H
#define MERBIT_H
/* ==== >>MANUAL ===================================================================================
 *
 * merbit multiplies sparse matrices by dense vectors, again and again: y = alpha A x + beta y. On an
 * NVIDIA GPU it compiles kernels for the very matrix with NVRTC, while the program runs, and keeps them
 * on disk; without a GPU, or without NVRTC, the same calls run on CPU threads.
 *
 * USE. Copy this file into your project. In one C or C++ file write
 *
 *     #define MERBIT_IMPLEMENTATION
 *     #include "merbit.h"
 *
 * before any system header; elsewhere just include it. Link with -lm -ldl (and -pthread where the C
 * library is older than glibc 2.34). No CUDA header or library is needed to build: libcuda and libnvrtc
 * are opened at run time. Define MERBIT_STATIC before the include to make every function static. With
 * OpenMP enabled the CPU methods use it, else a small pool that the context owns.
 *
 * A PRODUCT.
 *
 * Example: product
 *     int row_ptr[] = {0, 2, 3, 5}, col_ind[] = {0, 2, 1, 0, 2};
 *     double values[] = {1, 2, 3, 4, 5}, x[] = {1, 1, 1}, y[3];
 *     merbit_view A = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
 *     merbit_plan_desc desc = {MERBIT_SIDE_AUTO};
 *     merbit_context *context;
 *     merbit_plan *plan;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK) {
 *       if (merbit_plan_create(context, &A, &desc, &plan) == MERBIT_OK) {
 *         merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL); // y = A x
 *         merbit_plan_destroy(plan);
 *       }
 *       merbit_context_destroy(context);
 *     }
 *
 * Host vectors are convenient and, on a GPU, slow: they travel with every product. Vectors in buffers stay
 * where the context computes; any device pointer of your own does as well.
 *
 * Example: buffers
 *     int row_ptr[] = {0, 1, 2}, col_ind[] = {1, 0};
 *     float values[] = {2, 3}, x[] = {1, 10}, y[2], alpha = 0.5f;
 *     merbit_view A = merbit_csr(2, 2, 2, row_ptr, col_ind, values);
 *     merbit_context *context = NULL;
 *     merbit_buffer *bx = NULL, *by = NULL;
 *     merbit_plan *plan = NULL;
 *     char sentence[MERBIT_MESSAGE_SIZE];
 *     A.value_type = MERBIT_F32;
 *     if (merbit_context_create(NULL, &context, NULL) ||
 *         merbit_buffer_create(context, sizeof x, &bx) ||
 *         merbit_buffer_create(context, sizeof y, &by) ||
 *         merbit_buffer_upload(bx, 0, x, sizeof x) ||
 *         merbit_plan_create(context, &A, NULL, &plan) ||
 *         merbit_spmv(plan, NULL, &alpha, merbit_buffer_pointer(bx), NULL,
 *                     merbit_buffer_pointer(by), NULL) ||
 *         merbit_buffer_download(by, 0, y, sizeof y)) {
 *       merbit_last_error(context, sentence, sizeof sentence); // what went wrong, with the culprit
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_buffer_destroy(bx);
 *     merbit_buffer_destroy(by);
 *     merbit_context_destroy(context);
 *
 * A GRAPH FROM A FILE.
 *
 * Example: pagerank
 *     merbit_context *context = NULL;
 *     merbit_matrix *graph = NULL;
 *     merbit_view links;
 *     double *ranks = NULL;
 *     merbit_status status = merbit_context_create(NULL, &context, NULL);
 *     if (status == MERBIT_OK) {
 *       status = merbit_matrix_read_file(context, "graph.mtx", NULL, &graph);
 *     }
 *     if (status == MERBIT_OK) {
 *       links = merbit_matrix_view(graph);
 *       ranks = (double *)malloc((size_t)links.rows * sizeof *ranks);
 *       if (ranks != NULL) {
 *         status = merbit_pagerank(context, &links, NULL, ranks, NULL);
 *       }
 *     }
 *     free(ranks);
 *     merbit_matrix_destroy(graph);
 *     merbit_context_destroy(context);
 *
 * BLOCKS. Where entries come in small dense blocks, as in finite elements with several unknowns to a node,
 * BSR stores one index for a block. Such a view is multiplied in blocks on the CPU; merbit_matrix_create_bsr
 * makes one from any other, in the shape you give or in the one that moves the fewest bytes.
 *
 * Example: blocks
 *     int row_ptr[] = {0, 1, 3}, col_ind[] = {0, 0, 1}; // of blocks
 *     double values[] = {4, 1, 1, 4, -1, 0, 0, -1, 4, 1, 1, 4}, x[] = {1, 2, 3, 4}, y[4];
 *     merbit_view A = merbit_bsr(4, 4, 3, 2, 2, row_ptr, col_ind, values), B;
 *     merbit_plan_desc desc = {MERBIT_SIDE_AUTO};
 *     merbit_bsr_desc shape = {4, 2, MERBIT_BLOCK_COLUMN_MAJOR};
 *     merbit_context *context = NULL;
 *     merbit_matrix *larger = NULL;
 *     merbit_plan *plan = NULL;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK &&
 *         merbit_matrix_create_bsr(context, &A, &shape, &larger) == MERBIT_OK) {
 *       B = merbit_matrix_view(larger); // two blocks of 4 x 2
 *       if (merbit_plan_create(context, &B, &desc, &plan) == MERBIT_OK) {
 *         merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL);
 *       }
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_matrix_destroy(larger);
 *     merbit_context_destroy(context);
 *
 * What fills a block of such a matrix up is a stored zero, and so an entry: times Inf it is NaN. A plan with
 * MERBIT_METHOD_BSR from a view of single entries makes blocks whose holes do not act: on the GPU where a CSR
 * with ascending rows lies there, else on the CPU's threads.
 *
 * ORDER. A plan can hold its matrix in another order of rows and columns, in which entries of x that are used
 * together lie together (plan_desc.reordering). Its x and y then come in that order: a solver moves its
 * vectors once, iterates, and moves the result back.
 *
 * Example: order
 *     int row_ptr[] = {0, 2, 4, 6, 8}, col_ind[] = {0, 2, 1, 3, 0, 2, 1, 3};
 *     double values[] = {4, 1, 4, 1, 1, 4, 1, 4}, x[] = {1, 2, 3, 4}, y[4], px[4], py[4];
 *     merbit_view A = merbit_csr(4, 4, 8, row_ptr, col_ind, values);
 *     merbit_plan_desc desc = {MERBIT_SIDE_AUTO};
 *     merbit_context *context = NULL;
 *     merbit_plan *plan = NULL;
 *     int i;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     desc.reordering = MERBIT_REORDERING_RCM;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK &&
 *         merbit_plan_create(context, &A, &desc, &plan) == MERBIT_OK) {
 *       merbit_plan_reorder(plan, x, px, NULL);
 *       for (i = 0; i < 10; i++) {
 *         merbit_spmv(plan, NULL, NULL, px, NULL, py, NULL); // and what else the solver does
 *       }
 *       merbit_plan_restore(plan, py, y, NULL);
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_context_destroy(context);
 *
 * The order is found on the CPU, so that device arrays are downloaded first; plan_info.reorder_seconds says
 * what it took, which is thousands of GPU products. New values come in the order of the view as ever.
 *
 * STATUS. Every call that can fail returns a merbit_status, sets its out pointer to NULL on failure and
 * leaves a sentence that names the value at fault (merbit_last_error; merbit_context_create fills a
 * merbit_error instead). A NULL context, buffer, matrix or plan is MERBIT_INVALID_ARGUMENT, without a
 * sentence. Destroying NULL does nothing. Nothing prints unless MERBIT_LOG is set; nothing exits.
 *
 * DESCRIPTORS. Fill a descriptor with zeros first: zero means the default, and fields may be added.
 *
 * OWNERSHIP. Views borrow. Matrices, buffers, plans and workspaces are yours to destroy, in any order:
 * each keeps alive what it was made from.
 *
 * THREADS. A context, a matrix and a plan may be shared by threads. Products of one plan at the same time
 * need a workspace each (merbit_workspace_create); so do products in different streams and in captured
 * graphs. Changing values and destroying need the object alone.
 *
 * CUDA. The context retains the device's primary context, or uses yours (context_desc.cuda_context), and
 * restores the caller's current context after each call. merbit_spmv only enqueues work on the stream and
 * may be captured in a CUDA graph. A dead CUDA context answers MERBIT_DEVICE_LOST from then on.
 *
 * SIDES. MERBIT_SIDE_AUTO takes the GPU if there is a driver, a device and NVRTC, else the CPU, and says
 * why in merbit_context_info.reason. MERBIT_SIDE_CUDA fails with the reason instead. A plan under AUTO whose
 * matrix, vectors and scalars are said to be in host memory may still fall back when it is made; then no
 * more. merbit_plan_describe tells.
 *
 * NUMBERS. A result's error is at most gamma(k + 2) (|alpha| |A| |x| + |beta| |y|) in every component, for a row
 * of k nonzeros, barring overflow and underflow. beta 0 does not read y; alpha 0 does not read A or x. NaN and
 * Inf stay in the rows whose nonzeros meet them. A sum that is zero is +0, as every sum is where alpha is 0; what
 * follows, alpha * sum + beta * y, is IEEE 754's: -1 times an empty row is -0, Inf times one is NaN. Subnormal
 * numbers are kept. Products are bitwise repeatable for one plan: GPU products whatever the launch, CPU products
 * for one number of threads. merbit_pagerank on the GPU adds atomically where a row spans thread blocks, and is
 * not.
 *
 * LIMITS. cols < 2^31. Rows and nonzeros are counted in 64 bits.
 *
 * NVRTC is looked for in context_desc.nvrtc_path; else MERBIT_NVRTC; else the loader's path; CUDA_HOME and
 * CUDA_PATH; /usr/local/cuda; pip's nvidia wheels.
 *
 * CACHE. Cubins are kept in context_desc.cache_dir; else MERBIT_CACHE_DIR; else XDG_CACHE_HOME/merbit; else
 * ~/.cache/merbit. An empty cache_dir turns the disk cache off. The directory must belong to you, in a path that
 * nobody but you and root may write to; else there is no disk cache (context_info.cache_off_reason).
 *
 * ENVIRONMENT. MERBIT_CACHE_DIR, MERBIT_NVRTC: above. MERBIT_LOG=1: log lines to stderr where no callback is set.
 * MERBIT_DUMP=DIR: program texts, compiler logs and cubins are written there.
 */

#include <stddef.h>
#include <stdint.h>

#define MERBIT_VERSION_MAJOR 0
#define MERBIT_VERSION_MINOR 1
#define MERBIT_VERSION_PATCH 0
#define MERBIT_VERSION_STRING "0.1.0"

/* MERBIT_STATIC before the include makes every function static to the including file. */
#ifndef MERBIT_API
#if defined(MERBIT_STATIC) && defined(__GNUC__)
#define MERBIT_API static __attribute__((unused))
#elif defined(MERBIT_STATIC)
#define MERBIT_API static
#else
#define MERBIT_API extern
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a call answered. MERBIT_OK is zero; `merbit_last_error` has the sentence. */
typedef enum merbit_status {
  MERBIT_OK                        = 0, /* success */
  MERBIT_INVALID_ARGUMENT          = 1, /* an argument is missing, out of range or contradicts another */
  MERBIT_INVALID_MATRIX            = 2, /* an array of a matrix has an entry that cannot be right */
  MERBIT_INVALID_FILE              = 3, /* a file does not follow its format */
  MERBIT_IO_ERROR                  = 4, /* a file or stream could not be opened, read or written */
  MERBIT_OUT_OF_MEMORY             = 5, /* the host has no memory left */
  MERBIT_DEVICE_OUT_OF_MEMORY      = 6, /* the GPU has no memory left */
  MERBIT_TOO_LARGE                 = 7, /* a size is beyond what this version handles */
  MERBIT_NOT_SUPPORTED             = 8, /* this version does not support that yet */
  MERBIT_NO_DEVICE                 = 9, /* no usable NVIDIA driver or GPU */
  MERBIT_NO_COMPILER               = 10, /* no usable NVRTC */
  MERBIT_COMPILE_ERROR             = 11, /* NVRTC refused a kernel */
  MERBIT_DEVICE_ERROR              = 12, /* a CUDA driver call failed */
  MERBIT_DEVICE_LOST               = 13, /* the GPU context is dead; destroy the context and make a new one */
  MERBIT_CANCELLED                 = 14 /* a progress callback asked to stop */
} merbit_status;

/* Scalar types. DEFAULT means f64 in a view, and the matrix's own type elsewhere. The types from
 * F16 on are reserved: calls answer MERBIT_NOT_SUPPORTED. */
typedef enum merbit_type {
  MERBIT_TYPE_DEFAULT  = 0,
  MERBIT_F64           = 1,
  MERBIT_F32           = 2,
  MERBIT_F16           = 3,
  MERBIT_BF16          = 4,
  MERBIT_C64           = 5,
  MERBIT_C128          = 6
} merbit_type;

typedef enum merbit_index_type { /* width of an array of offsets or indices, signed */
  MERBIT_INDEX_32 = 0,
  MERBIT_INDEX_64 = 1
} merbit_index_type;

typedef enum merbit_format {
  MERBIT_CSR = 0, /* row_ptr[rows + 1], col_ind[nnz] */
  MERBIT_COO = 1, /* row_ind[nnz], col_ind[nnz], in any order */
  MERBIT_BSR = 2  /* dense blocks: row_ptr[block rows + 1], col_ind[nnz] of blocks */
} merbit_format;

typedef enum merbit_block_order { /* of the values within a block of BSR */
  MERBIT_BLOCK_ROW_MAJOR = 0,
  MERBIT_BLOCK_COLUMN_MAJOR = 1
} merbit_block_order;

typedef enum merbit_memory { /* where an array lives */
  MERBIT_MEMORY_DEFAULT = 0, /* views and scalars: host; vectors: the plan's side */
  MERBIT_MEMORY_HOST = 1,
  MERBIT_MEMORY_DEVICE = 2
} merbit_memory;

typedef enum merbit_side { /* who computes */
  MERBIT_SIDE_AUTO = 0,    /* the GPU if driver, device and NVRTC are there, else the CPU */
  MERBIT_SIDE_CPU = 1,
  MERBIT_SIDE_CUDA = 2     /* fails with the reason where that is impossible */
} merbit_side;

typedef enum merbit_operation {
  MERBIT_OPERATION_N = 0, /* y = alpha A x + beta y */
  MERBIT_OPERATION_T = 1, /* reserved: MERBIT_NOT_SUPPORTED */
  MERBIT_OPERATION_H = 2  /* reserved: MERBIT_NOT_SUPPORTED */
} merbit_operation;

typedef enum merbit_method {
  MERBIT_METHOD_AUTO = 0,      /* SLICED or SCAN on CUDA, MERGE on the CPU */
  MERBIT_METHOD_REFERENCE = 1, /* CPU: the sequential row loop */
  MERBIT_METHOD_MERGE = 2,     /* CPU: merge-path split over threads (Merrill, Garland, SC16) */
  MERBIT_METHOD_MERBIT = 3,    /* CUDA: merge-path tiles with packed lanes (Zhang et al.) */
  MERBIT_METHOD_SCAN = 4,      /* CUDA: tiles of nonzeros, segmented sums by shuffles */
  MERBIT_METHOD_ROWS = 5,      /* CUDA: lanes per row */
  MERBIT_METHOD_SLICED = 6,    /* CUDA: slices of 32 rows stored column by column */
  MERBIT_METHOD_BINNED = 7,    /* CUDA: products by strips of columns, then sums by rows */
  MERBIT_METHOD_BSR = 8,       /* dense blocks: tasks of as many blocks each (Chirila) */
  MERBIT_METHOD_CB = 9,        /* CUDA: COO, CSR and dense blocks of 16 x 16 (CB-SpMV) */
  MERBIT_METHOD_HUBS = 10      /* CUDA: as SCAN, with the fullest columns' x in shared memory */
#ifdef MERBIT_STUDY_METHODS /* for comparison: spmv/block_study.c, spmv/bsr_study.c */
  ,
  MERBIT_METHOD_BSR_ROWS = 32,
  MERBIT_METHOD_BSR_NAIVE = 33,
  MERBIT_METHOD_BSR_SPLIT = 34,
  MERBIT_METHOD_BSR_MAXIMUM = 35,
  MERBIT_METHOD_BSR_FIXED = 36,
  MERBIT_METHOD_BSR_ROW_MAJOR = 40, /* CUDA from here on */
  MERBIT_METHOD_BSR_PRIVATE = 41,
  MERBIT_METHOD_BSR_TEAM = 42,
  MERBIT_METHOD_BSR_VECTOR = 43
#endif
} merbit_method;

/* The order in which a plan multiplies, found in the graph whose edges are the entries of A and
 * its transpose, off the diagonal: the plan then holds P A P', and x and y come in its order. */
typedef enum merbit_reordering {
  MERBIT_REORDERING_NONE = 0,   /* as the rows come */
  MERBIT_REORDERING_DEGREE = 1, /* rows with the most neighbours first; as they come if the same */
  MERBIT_REORDERING_RCM = 2     /* reverse Cuthill-McKee, from ends of each component */
} merbit_reordering;

/* One context is one device, or the CPU. Made by merbit_context_create. Reference-counted: what was
 * made from it keeps it alive after merbit_context_destroy. Threads may share it. */
typedef struct merbit_context merbit_context;
/* A vector where the context computes. */
typedef struct merbit_buffer merbit_buffer;
/* A CSR or BSR matrix in host memory that the library owns. Immutable, so threads may share it. */
typedef struct merbit_matrix merbit_matrix;
/* A matrix prepared for repeated products. Immutable but for merbit_plan_update_values. */
typedef struct merbit_plan merbit_plan;
/* The scratch of one product in flight. */
typedef struct merbit_workspace merbit_workspace;

#define MERBIT_MESSAGE_SIZE 512 /* bytes of an error sentence, its terminating zero included */

typedef struct merbit_error {
  merbit_status status;
  char message[MERBIT_MESSAGE_SIZE];
} merbit_error;

/* Both functions or neither. `allocate` returns memory aligned for any type, or NULL; both may be
 * called from several threads at once. */
typedef struct merbit_allocator {
  void *(*allocate)(void *user, size_t bytes);
  void (*release)(void *user, void *memory);
  void *user;
} merbit_allocator;

/* One line without newline. May be called from several threads at once, never with a lock held. */
typedef void (*merbit_log_callback)(void *user, const char *line);
/* Bytes read so far, and the total or 0 where it is not known. Nonzero cancels the read. */
typedef int (*merbit_read_progress)(void *user, int64_t bytes_done, int64_t bytes_total);
/* Iterations done, L1 change of the last one, seconds since the first. Nonzero cancels. */
typedef int (*merbit_solve_progress)(void *user, int iteration, double change, double seconds);
/* Fill up to `size` bytes: returns how many, 0 at the end, negative on failure. */
typedef int64_t (*merbit_read_callback)(void *user, void *data, size_t size);
/* Take all `size` bytes: returns 0, or nonzero on failure. */
typedef int (*merbit_write_callback)(void *user, const void *data, size_t size);

typedef struct merbit_context_desc {
  merbit_side side;
  int device;               /* CUDA ordinal; ignored with cuda_context */
  void *cuda_context;       /* a CUcontext of yours; NULL: the device's primary context */
  int threads;              /* CPU threads; 0: as many as the process may use */
  const char *cache_dir;    /* directory of cubins; NULL: see the manual; "": no disk cache */
  int64_t cache_max_bytes;  /* 0: 256 MiB; oldest entries go first */
  const char *nvrtc_path;   /* the libnvrtc to open; NULL: see the manual */
  merbit_allocator allocator;
  merbit_log_callback log;
  void *log_user;
} merbit_context_desc;

typedef struct merbit_context_info {
  merbit_side side;           /* CPU or CUDA, never AUTO */
  char device[128];           /* the GPU's name, or "CPU" */
  char reason[384];           /* why the CPU was taken under AUTO; else empty */
  char nvrtc[256];            /* path of the libnvrtc in use; else empty */
  char cache_dir[512];        /* empty: no disk cache */
  char cache_off_reason[256]; /* why there is no disk cache; else empty */
  int threads;                /* CPU threads */
  int compute_capability;     /* 90 for 9.0; 0 on the CPU */
  int driver_version;         /* as CUDA counts: 13000; 0 on the CPU */
  int nvrtc_version;
  int64_t cache_hits;
  int64_t cache_misses;
  int64_t cache_errors;       /* disk errors met and survived */
} merbit_context_info;

/* A borrowed description of a matrix: nothing is copied or owned. All-zero fields mean: CSR, f64,
 * 32-bit offsets and indices, base 0, host memory. Columns need not be sorted, and duplicates add
 * up. `values == NULL` is a pattern of ones. With base 1, row_ptr[0] is 1.
 *
 * BSR: `nnz` dense blocks of block_rows x block_cols. Block (I, J) covers the rows from
 * I * block_rows and the columns from J * block_cols on; `rows` and `cols` count scalars and need
 * not be multiples: what a block holds beyond them is padding and never acts. All else that a
 * block holds is an entry, a stored zero too. */
typedef struct merbit_view {
  merbit_format format;
  merbit_type value_type;
  merbit_index_type offset_type; /* of row_ptr */
  merbit_index_type index_type;  /* of row_ind and col_ind */
  merbit_memory memory;          /* of all arrays */
  int base;                      /* 0 or 1 */
  int64_t rows;
  int64_t cols;                  /* at most 2^31 - 1 */
  int64_t nnz;                   /* entries; BSR: blocks */
  const void *row_ptr;           /* CSR: rows + 1 offsets; BSR: block rows + 1 */
  const void *row_ind;           /* COO: nnz rows */
  const void *col_ind;           /* nnz columns; BSR: block columns */
  const void *values;            /* nnz values (BSR: blocks, one after the other), or NULL */
  int block_rows, block_cols;    /* BSR: 1 to 64 each */
  merbit_block_order block_order;
} merbit_view;

typedef struct merbit_bsr_desc {
  int block_rows, block_cols; /* 1 to 64 each; both 0: the shape of fewest bytes, of those tried */
  merbit_block_order block_order;
} merbit_bsr_desc;

typedef struct merbit_block_info {
  int block_rows, block_cols;
  int64_t blocks;    /* that hold an entry */
  double fill;       /* entries per value stored, at most 1 */
  int64_t bytes;     /* of the arrays as blocks */
  int64_t csr_bytes; /* and as CSR with 32-bit columns */
} merbit_block_info;

typedef struct merbit_read_desc {
  merbit_type value_type; /* F64 by default; F32 rounds each decimal once */
  int64_t max_rows;       /* most rows to accept; 0: 2^20 plus 64 for each byte of input */
  merbit_read_progress progress;
  void *progress_user;
} merbit_read_desc;

typedef struct merbit_plan_desc {
  merbit_side side;            /* AUTO: the context's */
  merbit_operation operation;
  merbit_method method;
  merbit_type vector_type;     /* of x and y; only the matrix's own type for now */
  merbit_type compute_type;    /* of sums, alpha and beta; only the matrix's own type for now */
  merbit_memory vector_memory; /* of x and y; HOST with CUDA: staged and synchronous */
  merbit_memory scalar_memory; /* of alpha and beta; DEVICE only with CUDA */
  int expected_calls;          /* products to come; 0: 100. From 2000 on AUTO measures on CUDA */
  int sigma;                   /* MERBIT: steps per lane; 0: 14 in f32, 7 in f64. SCAN: nonzeros per lane.
                                  CB: steps per warp, about 32 nonzeros each, 20 to 65536 */
  int omega;                   /* MERBIT: lanes per tile, 32, 16 or 8; 0: 32. ROWS: lanes per row. SCAN:
                                  1: rows cross blocks, 2: blocks take whole rows. HUBS: kilobytes of x */
  int block_threads;           /* CUDA: threads per block, 32 to 1024; 0: by method and size */
  int unchecked;               /* nonzero: the arrays are known to be valid */
  int changing_values;         /* nonzero: nothing is specialised to the values, for they will change */
  int deterministic;           /* nonzero: AUTO does not measure, so that equal plans on equal GPUs
                                  give equal bits */
  int block_rows, block_cols;  /* BSR of a view that is not: 1 to 64 each; both 0: found automatically */
  double cb_aggregate;         /* CB: columns are aggregated where more than this share of the blocks has
                                  fewer than 32 nonzeros; 0: 0.15 */
  int cb_coo_max;              /* CB: blocks with fewer nonzeros are COO; 0: 32 */
  int cb_csr_max;              /* CB: others with more are dense; 0: 128 */
  merbit_reordering reordering; /* of rows and columns, for solvers; square CSR and COO only */
} merbit_plan_desc;

typedef struct merbit_plan_info {
  merbit_side side;
  merbit_method method;
  int sigma, omega, block_threads; /* 0 on the CPU */
  int descriptor_bits;             /* of a lane: 32 or 64; 0 on the CPU */
  int64_t tiles;                   /* 0 on the CPU */
  int64_t bytes_per_product;       /* matrix streams once, x and y once */
  int64_t device_bytes;            /* GPU memory that the plan holds */
  int cubin_from_cache;            /* 1: from disk, or loaded by an earlier plan; 0: compiled (or CPU) */
  double plan_seconds;             /* all of merbit_plan_create */
  double compile_seconds;          /* NVRTC; 0 after a cache hit */
  double load_seconds;             /* reading and loading the cubin */
  double reorder_seconds;          /* of plan_seconds: finding the order and moving the matrix */
  int64_t bandwidth_before;        /* most that a nonzero's column is off its row, in the view */
  int64_t bandwidth;               /* and in the plan's order; both 0 unless reordered */
} merbit_plan_info;

typedef struct merbit_pagerank_desc {
  double damping;      /* in (0, 1); 0: 0.85 */
  double tolerance;    /* on the L1 change of one iteration; 0: 1e-10 in f64, 1e-6 in f32 */
  int max_iterations;  /* 0: 1000 */
  int unweighted;      /* nonzero: ignore the values, every edge counts one */
  merbit_side side;    /* AUTO: the context's */
  merbit_solve_progress progress;
  void *progress_user;
} merbit_pagerank_desc;

typedef enum merbit_stop { /* why an iteration ended */
  MERBIT_STOP_CONVERGED = 0,
  MERBIT_STOP_CAP = 1,       /* max_iterations reached */
  MERBIT_STOP_CANCELLED = 2, /* by the progress callback */
  MERBIT_STOP_NOT_FINITE = 3
} merbit_stop;

typedef struct merbit_pagerank_result {
  merbit_stop stop;
  int iterations;
  double change;            /* L1 change of the last iteration */
  int64_t dangling;         /* vertices without outgoing weight */
  double prepare_seconds;   /* transposing, normalising, planning */
  double iterate_seconds;
  merbit_plan_info plan;
  char description[512];    /* of the plan, as merbit_plan_describe gives it */
} merbit_pagerank_result;

/* ---- Library ------------------------------------------------------------------------------- */

/* "MAJOR.MINOR.PATCH" of the implementation. Static storage. */
MERBIT_API const char *merbit_version(void);
/* "MERBIT_INVALID_MATRIX" and the like; never NULL. Static storage. */
MERBIT_API const char *merbit_status_name(merbit_status status);
/* One line on what the status means; never NULL. Static storage. */
MERBIT_API const char *merbit_status_text(merbit_status status);

/* ---- Context ------------------------------------------------------------------------------- */

/* Open a device or the CPU. `desc` NULL means all defaults, its strings are copied; `error`, if not
 * NULL, receives the sentence. Fails with NO_DEVICE or NO_COMPILER only under MERBIT_SIDE_CUDA. */
MERBIT_API merbit_status merbit_context_create(const merbit_context_desc *desc,
                                               merbit_context **context, merbit_error *error);
/* NULL is accepted. Buffers, plans and matrices made from it stay valid. */
MERBIT_API void merbit_context_destroy(merbit_context *context);
MERBIT_API merbit_status merbit_context_get_info(merbit_context *context,
                                                 merbit_context_info *info);
/* The last failure of any call on this context or on what was made from it, by any thread.
 * `message` (may be NULL) receives up to `size` bytes, always terminated. */
MERBIT_API merbit_status merbit_last_error(merbit_context *context, char *message, size_t size);

/* ---- Buffers: vectors where the context computes, without CUDA headers ---------------------- */

/* `bytes` may be 0. The memory is not initialised. */
MERBIT_API merbit_status merbit_buffer_create(merbit_context *context, size_t bytes,
                                              merbit_buffer **buffer);
/* Host to buffer and back; complete on return. They order themselves behind work on the default
 * stream; synchronise other streams first. */
MERBIT_API merbit_status merbit_buffer_upload(merbit_buffer *buffer, size_t offset,
                                              const void *source, size_t bytes);
MERBIT_API merbit_status merbit_buffer_download(const merbit_buffer *buffer, size_t offset,
                                                void *target, size_t bytes);
/* The address to hand to merbit_spmv: a device pointer on CUDA, else a host pointer. */
MERBIT_API void *merbit_buffer_pointer(const merbit_buffer *buffer);
MERBIT_API void merbit_buffer_destroy(merbit_buffer *buffer); /* NULL is accepted */

/* ---- Matrices -------------------------------------------------------------------------------- */

/* A view of host CSR arrays with 32-bit indices from 0 and f64 values; set its fields for others. */
MERBIT_API merbit_view merbit_csr(int64_t rows, int64_t cols, int64_t nnz, const void *row_ptr,
                                  const void *col_ind, const void *values);
/* The same of host BSR arrays: row-major blocks; rows and cols count scalars. */
MERBIT_API merbit_view merbit_bsr(int64_t rows, int64_t cols, int64_t blocks, int block_rows,
                                  int block_cols, const void *row_ptr, const void *col_ind,
                                  const void *values);
/* Check every array of a view: INVALID_MATRIX names the first bad entry. Reads O(rows + nnz). */
MERBIT_API merbit_status merbit_view_check(merbit_context *context, const merbit_view *view);

/* An owned CSR copy with sorted columns and without duplicates (added up in the order of the arrays),
 * base 0, 32-bit columns, 32-bit offsets where nnz < 2^31. Any view; a device view is downloaded. */
MERBIT_API merbit_status merbit_matrix_create(merbit_context *context, const merbit_view *view,
                                              merbit_matrix **matrix);
/* The same of the transpose: columns become rows. */
MERBIT_API merbit_status merbit_matrix_transpose(merbit_context *context, const merbit_view *view,
                                                 merbit_matrix **matrix);
/* An owned BSR copy, likewise sorted and without duplicates: every block that holds an entry, zeros
 * where it holds none (they are entries of the copy). 32-bit offsets where there are fewer than 2^31
 * blocks. A pattern stays one if its blocks are full. `desc` NULL means all defaults. */
MERBIT_API merbit_status merbit_matrix_create_bsr(merbit_context *context,
                                                  const merbit_view *view,
                                                  const merbit_bsr_desc *desc,
                                                  merbit_matrix **matrix);
/* What merbit_matrix_create_bsr would make, without making it. */
MERBIT_API merbit_status merbit_view_find_blocks(merbit_context *context,
                                                 const merbit_view *view,
                                                 const merbit_bsr_desc *desc,
                                                 merbit_block_info *info);
/* Valid until the matrix is destroyed. */
MERBIT_API merbit_view merbit_matrix_view(const merbit_matrix *matrix);
MERBIT_API void merbit_matrix_destroy(merbit_matrix *matrix); /* NULL is accepted */

/* Matrix Market (Boisvert, Pozo, Remington: NISTIR 5935), from a path, a block of memory or a
 * callback. Duplicates are added up in file order, symmetric halves expanded, patterns kept as
 * patterns. INVALID_FILE names line and culprit. `desc` NULL means all defaults. */
MERBIT_API merbit_status merbit_matrix_read_file(merbit_context *context, const char *path,
                                                 const merbit_read_desc *desc,
                                                 merbit_matrix **matrix);
MERBIT_API merbit_status merbit_matrix_read_memory(merbit_context *context, const void *data,
                                                   size_t size, const merbit_read_desc *desc,
                                                   merbit_matrix **matrix);
MERBIT_API merbit_status merbit_matrix_read_stream(merbit_context *context,
                                                   merbit_read_callback read, void *user,
                                                   const merbit_read_desc *desc,
                                                   merbit_matrix **matrix);
/* Coordinate, general; values with the digits that read back bit for bit. A file is written beside
 * its target and renamed, so that a failure leaves the old one. Host views only. */
MERBIT_API merbit_status merbit_matrix_write_file(merbit_context *context,
                                                  const merbit_view *view, const char *path);
MERBIT_API merbit_status merbit_matrix_write_stream(merbit_context *context,
                                                    const merbit_view *view,
                                                    merbit_write_callback write, void *user);

/* ---- Plans and products ---------------------------------------------------------------------- */

/* Prepare `view` for repeated products. The arrays are borrowed: they must stay as they are until the
 * plan is destroyed, unless they lie in host memory and the plan is for CUDA, which copies them.
 * `desc` NULL means all defaults. */
MERBIT_API merbit_status merbit_plan_create(merbit_context *context, const merbit_view *view,
                                            const merbit_plan_desc *desc, merbit_plan **plan);
/* New values for the same structure, in the order of the view given at creation (copied). `memory`
 * says where they lie; DEFAULT is the view's. No product of the plan may be in flight. Where a plan on
 * CUDA stores its values shorter, for they were all equal or doubles that are floats, and new
 * ones do not fit that, it is made again for general ones by the same call. A reordered plan takes them
 * in the order of the view too. */
MERBIT_API merbit_status merbit_plan_update_values(merbit_plan *plan, const void *values,
                                                   merbit_memory memory);
/* One line: what was chosen and why. Writes up to `size` bytes, always terminated where size > 0;
 * returns the length of the whole line. */
MERBIT_API size_t merbit_plan_describe(const merbit_plan *plan, char *text, size_t size);
MERBIT_API merbit_status merbit_plan_get_info(const merbit_plan *plan, merbit_plan_info *info);
MERBIT_API void merbit_plan_destroy(merbit_plan *plan); /* NULL is accepted */

/* With plan_desc.reordering a plan multiplies P A P', so that a solver permutes its vectors once,
 * iterates in the plan's order, and permutes the result back. px[i] = x[order[i]]; cols elements of the
 * plan's vector type where the plan expects vectors, which must not overlap. On CUDA enqueued as
 * merbit_spmv is; vectors of MERBIT_MEMORY_HOST are moved by CPU threads at once. A plan that is not
 * reordered copies. */
MERBIT_API merbit_status merbit_plan_reorder(merbit_plan *plan, const void *x, void *px,
                                             void *stream);
/* The way back: y[order[i]] = py[i], for rows elements. */
MERBIT_API merbit_status merbit_plan_restore(merbit_plan *plan, const void *py, void *y,
                                             void *stream);
/* order[i] is the row of the view that is row i of the plan; `count` is the view's rows. */
MERBIT_API merbit_status merbit_plan_get_order(const merbit_plan *plan, int64_t *order,
                                               int64_t count);

/* Scratch for one product in flight: one for each stream or captured graph that uses the plan at the
 * same time. Keeps its plan alive. */
MERBIT_API merbit_status merbit_workspace_create(merbit_plan *plan, merbit_workspace **workspace);
MERBIT_API void merbit_workspace_destroy(merbit_workspace *workspace); /* NULL is accepted */

/* y = alpha A x + beta y. x holds cols, y rows elements of the plan's vector type; they must not
 * overlap. alpha and beta are of the compute type; NULL means alpha 1 and beta 0. beta 0 never reads
 * y, alpha 0 never reads A or x. `workspace` NULL is the plan's own: one product at a time.
 * `stream` is a CUstream (NULL: the default stream), unused on the CPU. On CUDA the call returns when
 * the product is enqueued, allocates nothing, waits for nothing and may be captured in a graph;
 * host vectors are the exception, see vector_memory. Threads may share a plan, each with its own
 * workspace. */
MERBIT_API merbit_status merbit_spmv(merbit_plan *plan, merbit_workspace *workspace,
                                     const void *alpha, const void *x, const void *beta, void *y,
                                     void *stream);

/* ---- Solvers ----------------------------------------------------------------------------------- */

/* PageRank of a link graph: entry (i, j) is an edge from i to j, its value (1 in a pattern) the weight.
 * Vertices without outgoing weight spread theirs evenly. `ranks` is a host array of graph->rows
 * elements of the graph's value type; they add up to 1. A run that stops early still returns its
 * last ranks. `desc` and `result` may be NULL. Power method: the MERBIT paper, section 5.5.1. */
MERBIT_API merbit_status merbit_pagerank(merbit_context *context, const merbit_view *graph,
                                         const merbit_pagerank_desc *desc, void *ranks,
                                         merbit_pagerank_result *result);

#ifdef __cplusplus
}
#endif
#endif /* MERBIT_H */

#if defined(MERBIT_IMPLEMENTATION) && !defined(MERBIT_IMPLEMENTATION_DONE)
#define MERBIT_IMPLEMENTATION_DONE

/* ==== >>core/internal.h  includes and the structs that rooms share ======================== */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#if defined(__GNUC__)
#define MBI_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define MBI_PRINTF(at, first)
#endif

#define MBI_MAX_THREADS 1024

typedef pthread_mutex_t mbi_mutex;
typedef void (*mbi_task)(void *argument, int index);

static void mbi_mutex_lock(mbi_mutex *mutex) {
  (void)pthread_mutex_lock(mutex);
}

static void mbi_mutex_unlock(mbi_mutex *mutex) {
  (void)pthread_mutex_unlock(mutex);
}

#ifndef _OPENMP
typedef struct mbi_pool { /* core/threads.c */
  mbi_mutex caller;       /* held by the thread whose call is running */
  mbi_mutex lock;         /* guards the rest */
  pthread_cond_t wake, idle;
  pthread_t *workers;
  pid_t process;          /* that started them: a forked child has none */
  int count, started, stop;
  int open, active;       /* a call may be joined; workers that have joined */
  unsigned generation;    /* counts calls */
  mbi_task task;
  void *argument;
  int tasks, next;
} mbi_pool;

static void mbi_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
#endif

/* CUDA types as the driver's ABI has them, so that no CUDA header is needed. */
typedef uint64_t mbi_devptr; /* CUdeviceptr */
typedef int mbi_curesult;    /* CUresult */

typedef struct mbi_launch_attribute { /* CUlaunchAttribute */
  int id;
  int padding;
  uint64_t value[8];
} mbi_launch_attribute;

typedef struct mbi_launch_config { /* CUlaunchConfig */
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void *stream;
  mbi_launch_attribute *attributes;
  unsigned attribute_count;
} mbi_launch_config;

typedef struct mbi_driver { /* jit/driver.c */
  void *library;
  mbi_curesult (*init)(unsigned flags); /* cuInit */
  mbi_curesult (*driver_get_version)(int *version); /* cuDriverGetVersion */
  mbi_curesult (*get_error_name)(mbi_curesult result, const char **text); /* cuGetErrorName */
  mbi_curesult (*get_error_string)(mbi_curesult result, const char **text); /* cuGetErrorString */
  mbi_curesult (*device_get_count)(int *count); /* cuDeviceGetCount */
  mbi_curesult (*device_get)(int *device, int ordinal); /* cuDeviceGet */
  mbi_curesult (*device_get_name)(char *name, int size, int device); /* cuDeviceGetName */
  mbi_curesult (*device_get_attribute)(int *value, int attribute, int device); /* cuDeviceGetAttribute */
  mbi_curesult (*primary_retain)(void **context, int device); /* cuDevicePrimaryCtxRetain */
  mbi_curesult (*primary_release)(int device); /* cuDevicePrimaryCtxRelease_v2 */
  mbi_curesult (*ctx_push)(void *context); /* cuCtxPushCurrent_v2 */
  mbi_curesult (*ctx_pop)(void **context); /* cuCtxPopCurrent_v2 */
  mbi_curesult (*ctx_get_device)(int *device); /* cuCtxGetDevice */
  mbi_curesult (*mem_alloc)(mbi_devptr *address, size_t bytes); /* cuMemAlloc_v2 */
  mbi_curesult (*mem_free)(mbi_devptr address); /* cuMemFree_v2 */
  mbi_curesult (*memcpy_htod)(mbi_devptr target, const void *source, size_t bytes); /* cuMemcpyHtoD_v2 */
  mbi_curesult (*memcpy_dtoh)(void *target, mbi_devptr source, size_t bytes); /* cuMemcpyDtoH_v2 */
  mbi_curesult (*memcpy_dtod)(mbi_devptr target, mbi_devptr source, size_t bytes); /* cuMemcpyDtoD_v2 */
  mbi_curesult (*memcpy_dtod_async)(mbi_devptr target, mbi_devptr source, size_t bytes, void *stream); /* cuMemcpyDtoDAsync_v2 */
  mbi_curesult (*memset_d8_async)(mbi_devptr target, unsigned char byte, size_t bytes, void *stream); /* cuMemsetD8Async */
  mbi_curesult (*pointer_get_attributes)(unsigned count, int *attributes, void **values, mbi_devptr address); /* cuPointerGetAttributes */
  mbi_curesult (*stream_synchronize)(void *stream); /* cuStreamSynchronize */
  mbi_curesult (*module_load_data)(void **module, const void *image); /* cuModuleLoadData */
  mbi_curesult (*module_unload)(void *module); /* cuModuleUnload */
  mbi_curesult (*module_get_function)(void **function, void *module, const char *name); /* cuModuleGetFunction */
  mbi_curesult (*func_set_attribute)(void *function, int attribute, int value); /* cuFuncSetAttribute */
  mbi_curesult (*launch_kernel)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra); /* cuLaunchKernel */
  mbi_curesult (*launch_kernel_ex)(const mbi_launch_config *config, void *function, void **arguments, void **extra); /* cuLaunchKernelEx */
} mbi_driver;

typedef struct mbi_nvrtc { /* jit/nvrtc.c */
  void *library;
  char path[256];
  int version; /* major * 1000 + minor * 10 */
  int (*get_version)(int *major, int *minor); /* nvrtcVersion */
  const char * (*get_error_string)(int result); /* nvrtcGetErrorString */
  int (*get_num_archs)(int *count); /* nvrtcGetNumSupportedArchs */
  int (*get_archs)(int *archs); /* nvrtcGetSupportedArchs */
  int (*create_program)(void **program, const char *source, const char *name, int header_count, const char *const *headers, const char *const *header_names); /* nvrtcCreateProgram */
  int (*compile_program)(void *program, int count, const char *const *options); /* nvrtcCompileProgram */
  int (*destroy_program)(void **program); /* nvrtcDestroyProgram */
  int (*get_log_size)(void *program, size_t *size); /* nvrtcGetProgramLogSize */
  int (*get_log)(void *program, char *log); /* nvrtcGetProgramLog */
  int (*get_cubin_size)(void *program, size_t *size); /* nvrtcGetCUBINSize */
  int (*get_cubin)(void *program, char *cubin); /* nvrtcGetCUBIN */
  int (*get_ptx_size)(void *program, size_t *size); /* nvrtcGetPTXSize */
  int (*get_ptx)(void *program, char *ptx); /* nvrtcGetPTX */
} mbi_nvrtc;

typedef struct mbi_device { /* jit/device.c */
  mbi_driver driver;
  mbi_nvrtc nvrtc;
  int ordinal;
  void *cuda_context;
  int primary;  /* cuda_context is the retained primary context */
  int lost;     /* the CUresult that killed the context; 0 while it lives */
  int compute_capability;
  int driver_version;
  int multiprocessors;
  int early; /* launches may overlap with the end of what is before them */
  int shared_bytes_per_block; /* the opt-in limit */
  char name[128];
} mbi_device;

typedef struct mbi_cache { /* jit/cache.c */
  char directory[512];     /* empty: off */
  char off_reason[256];
  int64_t max_bytes;
  int64_t hits, misses, errors; /* guarded by the context's lock */
} mbi_cache;

typedef struct mbi_program { /* one compiled specialisation: jit/program.c */
  void *module; /* CUmodule */
  struct mbi_loaded *shared; /* that other plans use too: jit/loaded.c; or NULL */
  int from_cache; /* or loaded before */
  double compile_seconds; /* 0 after a cache hit */
  double load_seconds;    /* finding, reading and loading the cubin */
} mbi_program;

struct merbit_context {
  merbit_allocator allocator;
  merbit_log_callback log;
  void *log_user;
  mbi_mutex lock; /* guards error, references, loaded programs and the cache's counters */
  merbit_error error;
  int64_t references;
  merbit_side side; /* CPU or CUDA */
  char reason[384]; /* why AUTO took the CPU */
  int threads;
#ifndef _OPENMP
  mbi_pool pool;
#endif
  mbi_device device; /* only on CUDA */
  mbi_cache cache;
  struct mbi_loaded *loaded; /* programs: jit/loaded.c */
};

struct merbit_buffer {
  merbit_context *context;
  size_t bytes;
  void *pointer;
};

struct merbit_matrix {
  merbit_context *context;
  merbit_view view; /* CSR or BSR, host, base 0, 32-bit columns; its arrays are the matrix's */
  void *memory;     /* that holds all of them; NULL: each is an allocation */
};

/* Keep `context` alive for an object made from it; core/context.c. */
static void mbi_context_retain(merbit_context *context);
static void mbi_context_unref(merbit_context *context);

/* ==== >>core/os.c  clock, environment, dynamic loading ==================================== */
static double mbi_seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* NULL where the variable is unset or empty, or the process runs with raised privileges. */
static const char *mbi_environment(const char *name) {
  const char *value = secure_getenv(name);
  return value != NULL && value[0] != '\0' ? value : NULL;
}

static int mbi_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
  }
  return 1;
}

static void *mbi_library_open(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static const char *mbi_library_error(void) {
  const char *text = dlerror();
  return text != NULL ? text : "unknown reason";
}

/* A function of a library, written to a function pointer of any type through its bytes: ISO C has no
 * conversion from void * to a function pointer. */
static int mbi_library_function(void *library, const char *name, void *pointer, size_t size) {
  void *symbol = dlsym(library, name);
  memcpy(pointer, &symbol, size);
  return symbol != NULL;
}

static void mbi_library_close(void *library) {
  if (library != NULL) {
    (void)dlclose(library);
  }
}

/* ==== >>core/status.c  status table, last error, log ====================================== */
static const struct {
  const char *name;
  const char *text;
} mbi_statuses[] = {
    {"MERBIT_OK", "success"},
    {"MERBIT_INVALID_ARGUMENT", "an argument is missing, out of range or contradicts another"},
    {"MERBIT_INVALID_MATRIX", "an array of a matrix has an entry that cannot be right"},
    {"MERBIT_INVALID_FILE", "a file does not follow its format"},
    {"MERBIT_IO_ERROR", "a file or stream could not be opened, read or written"},
    {"MERBIT_OUT_OF_MEMORY", "the host has no memory left"},
    {"MERBIT_DEVICE_OUT_OF_MEMORY", "the GPU has no memory left"},
    {"MERBIT_TOO_LARGE", "a size is beyond what this version handles"},
    {"MERBIT_NOT_SUPPORTED", "this version does not support that yet"},
    {"MERBIT_NO_DEVICE", "no usable NVIDIA driver or GPU"},
    {"MERBIT_NO_COMPILER", "no usable NVRTC"},
    {"MERBIT_COMPILE_ERROR", "NVRTC refused a kernel"},
    {"MERBIT_DEVICE_ERROR", "a CUDA driver call failed"},
    {"MERBIT_DEVICE_LOST", "the GPU context is dead; destroy the context and make a new one"},
    {"MERBIT_CANCELLED", "a progress callback asked to stop"},
};

MERBIT_API const char *merbit_version(void) {
  return MERBIT_VERSION_STRING;
}

static int mbi_status_known(merbit_status status) {
  return (int)status >= 0 && (size_t)status < sizeof(mbi_statuses) / sizeof(mbi_statuses[0]);
}

MERBIT_API const char *merbit_status_name(merbit_status status) {
  return mbi_status_known(status) ? mbi_statuses[status].name : "MERBIT_UNKNOWN_STATUS";
}

MERBIT_API const char *merbit_status_text(merbit_status status) {
  return mbi_status_known(status) ? mbi_statuses[status].text : "not a status of this version";
}

/* For calls that have no context yet. `error` may be NULL. */
static merbit_status mbi_error_set(merbit_error *error, merbit_status status,
                                   const char *message) {
  if (error != NULL) {
    error->status = status;
    (void)snprintf(error->message, sizeof error->message, "%s", message);
  }
  return status;
}

/* One line to the log callback, if there is one. */
MBI_PRINTF(2, 3) static void mbi_log(merbit_context *context, const char *format, ...) {
  char line[1024];
  va_list arguments;
  if (context->log == NULL) {
    return;
  }
  va_start(arguments, format);
  (void)vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  context->log(context->log_user, line);
}

/* Keep the sentence of a failure for merbit_last_error, and return its status. Say which value is at
 * fault and what to do. */
MBI_PRINTF(3, 4)
static merbit_status mbi_fail(merbit_context *context, merbit_status status, const char *format,
                              ...) {
  merbit_error error;
  va_list arguments;
  error.status = status;
  va_start(arguments, format);
  (void)vsnprintf(error.message, sizeof error.message, format, arguments);
  va_end(arguments);
  mbi_mutex_lock(&context->lock);
  context->error = error;
  mbi_mutex_unlock(&context->lock);
  mbi_log(context, "%s: %s", merbit_status_name(status), error.message);
  return status;
}

/* Take a failure back that a fall-back has made good, and keep its sentence in `reason`. */
static void mbi_forgive(merbit_context *context, char *reason, size_t size) {
  mbi_mutex_lock(&context->lock);
  (void)snprintf(reason, size, "%.*s", (int)size - 1, context->error.message);
  context->error.status = MERBIT_OK;
  context->error.message[0] = '\0';
  mbi_mutex_unlock(&context->lock);
}

MERBIT_API merbit_status merbit_last_error(merbit_context *context, char *message, size_t size) {
  merbit_error error;
  if (context == NULL) {
    if (message != NULL && size > 0) {
      (void)snprintf(message, size, "the context is NULL");
    }
    return MERBIT_INVALID_ARGUMENT;
  }
  mbi_mutex_lock(&context->lock);
  error = context->error;
  mbi_mutex_unlock(&context->lock);
  if (message != NULL && size > 0) {
    (void)snprintf(message, size, "%s", error.message);
  }
  return error.status;
}

/* ==== >>core/memory.c  allocator hooks, sizes ============================================= */
static void *mbi_default_allocate(void *user, size_t bytes) {
  (void)user;
  return malloc(bytes);
}

static void mbi_default_release(void *user, void *memory) {
  (void)user;
  free(memory);
}

/* All heap memory of the library passes through these two. NULL when there is none left; the caller
 * reports it. */
static void *mbi_allocate(merbit_context *context, size_t bytes) {
  return context->allocator.allocate(context->allocator.user, bytes > 0 ? bytes : 1);
}

static void mbi_release(merbit_context *context, void *memory) {
  if (memory != NULL) {
    context->allocator.release(context->allocator.user, memory);
  }
}

/* `count` elements of `size` bytes for `what`, a noun for the sentence. */
static merbit_status mbi_allocate_array(merbit_context *context, int64_t count, size_t size,
                                        const char *what, void **array) {
  *array = NULL;
  if (count < 0 || (uint64_t)count > (uint64_t)PTRDIFF_MAX / size) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY,
                    "%s of %" PRId64 " elements of %zu bytes exceeds the address space", what,
                    count, size);
  }
  *array = mbi_allocate(context, (size_t)count * size);
  if (*array == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for %s: %" PRIu64 " bytes", what,
                    (uint64_t)count * size);
  }
  return MERBIT_OK;
}

/* ==== >>core/threads.c  OpenMP or the context's own pool ================================== */
/* mbi_parallel runs task(argument, index) for every index below `tasks` and returns when all are done.
 * What a task computes must depend on its index alone, never on the thread that runs it. */
#ifdef _OPENMP

static void mbi_context_locks_create(merbit_context *context) {
  (void)pthread_mutex_init(&context->lock, NULL);
}

static void mbi_context_locks_destroy(merbit_context *context) {
  (void)pthread_mutex_destroy(&context->lock);
}

static void mbi_pool_destroy(merbit_context *context) {
  (void)context;
}

static void mbi_parallel(merbit_context *context, int tasks, mbi_task task, void *argument) {
  int index;
#pragma omp parallel for schedule(static, 1) num_threads(context->threads) if (tasks > 1)
  for (index = 0; index < tasks; index++) {
    task(argument, index);
  }
}

#else

static void mbi_context_locks_create(merbit_context *context) {
  (void)pthread_mutex_init(&context->lock, NULL);
  (void)pthread_mutex_init(&context->pool.caller, NULL);
  (void)pthread_mutex_init(&context->pool.lock, NULL);
  (void)pthread_cond_init(&context->pool.wake, NULL);
  (void)pthread_cond_init(&context->pool.idle, NULL);
}

/* A forked child has the pool, but none of its workers. */
static int mbi_pool_inherited(const mbi_pool *pool) {
  return pool->started && pool->process != getpid();
}

static void mbi_context_locks_destroy(merbit_context *context) {
  if (!mbi_pool_inherited(&context->pool)) { /* else it would wait for workers to leave the conditions */
    (void)pthread_cond_destroy(&context->pool.idle);
    (void)pthread_cond_destroy(&context->pool.wake);
    (void)pthread_mutex_destroy(&context->pool.lock);
    (void)pthread_mutex_destroy(&context->pool.caller);
  }
  (void)pthread_mutex_destroy(&context->lock);
}

#define MBI_SPINS 4000 /* polls before a worker sleeps: about 20 us, so that products in a row stay awake */

static void mbi_pool_drain(mbi_pool *pool) {
  int index = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);
  while (index < pool->tasks) {
    pool->task(pool->argument, index);
    index = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);
  }
}

static void *mbi_pool_worker(void *argument) {
  mbi_pool *pool = (mbi_pool *)argument;
  unsigned seen = 0;
  for (;;) {
    int spin;
    for (spin = 0; spin < MBI_SPINS; spin++) {
      if (__atomic_load_n(&pool->generation, __ATOMIC_ACQUIRE) != seen ||
          __atomic_load_n(&pool->stop, __ATOMIC_RELAXED)) {
        break;
      }
      mbi_pause();
    }
    mbi_mutex_lock(&pool->lock);
    while (!pool->stop && pool->generation == seen) {
      (void)pthread_cond_wait(&pool->wake, &pool->lock);
    }
    if (pool->stop) {
      mbi_mutex_unlock(&pool->lock);
      return NULL;
    }
    seen = pool->generation;
    if (pool->open) {
      pool->active++;
      mbi_mutex_unlock(&pool->lock);
      mbi_pool_drain(pool);
      mbi_mutex_lock(&pool->lock);
      if (--pool->active == 0) {
        (void)pthread_cond_signal(&pool->idle);
      }
    }
    mbi_mutex_unlock(&pool->lock);
  }
}

/* Workers start with the first parallel call. Where a thread cannot be had, fewer do the same work. */
static void mbi_pool_start(merbit_context *context) {
  mbi_pool *pool = &context->pool;
  pool->started = 1;
  pool->process = getpid();
  pool->workers = (pthread_t *)mbi_allocate(context, (size_t)context->threads * sizeof(pthread_t));
  while (pool->workers != NULL && pool->count < context->threads - 1 &&
         pthread_create(&pool->workers[pool->count], NULL, mbi_pool_worker, pool) == 0) {
    pool->count++;
  }
}

static void mbi_pool_destroy(merbit_context *context) {
  mbi_pool *pool = &context->pool;
  int i;
  if (pool->count == 0 || mbi_pool_inherited(pool)) {
    mbi_release(context, pool->workers);
    return;
  }
  mbi_mutex_lock(&pool->lock);
  __atomic_store_n(&pool->stop, 1, __ATOMIC_RELAXED);
  (void)pthread_cond_broadcast(&pool->wake);
  mbi_mutex_unlock(&pool->lock);
  for (i = 0; i < pool->count; i++) {
    (void)pthread_join(pool->workers[i], NULL);
  }
  mbi_release(context, pool->workers);
}

/* The caller works too, and waits only for workers that have joined: a pool that is busy with another
 * thread's call costs speed and nothing else. A forked child has no workers, and perhaps a lock that
 * nobody will release: it works alone. */
static void mbi_parallel(merbit_context *context, int tasks, mbi_task task, void *argument) {
  mbi_pool *pool = &context->pool;
  int index;
  if (tasks > 1 && context->threads > 1 && !mbi_pool_inherited(pool) &&
      pthread_mutex_trylock(&pool->caller) == 0) {
    if (!pool->started) {
      mbi_pool_start(context);
    }
    mbi_mutex_lock(&pool->lock);
    pool->task = task;
    pool->argument = argument;
    pool->tasks = tasks;
    pool->next = 0;
    pool->open = 1;
    __atomic_store_n(&pool->generation, pool->generation + 1, __ATOMIC_RELEASE);
    (void)pthread_cond_broadcast(&pool->wake);
    mbi_mutex_unlock(&pool->lock);
    mbi_pool_drain(pool);
    mbi_mutex_lock(&pool->lock);
    pool->open = 0;
    while (pool->active > 0) {
      (void)pthread_cond_wait(&pool->idle, &pool->lock);
    }
    mbi_mutex_unlock(&pool->lock);
    mbi_mutex_unlock(&pool->caller);
    return;
  }
  for (index = 0; index < tasks; index++) {
    task(argument, index);
  }
}

#endif

/* ==== >>core/hash.c  hashing of cache keys and files ====================================== */
/* FNV-1a with 128 bits (Fowler, Noll, Vo; draft-eastlake-fnv). It names cache entries and finds
 * damage: every step is a bijection of the state, so that no change of a single byte goes
 * unseen. It is no defence against forgery; the cache's directory is (core/files.c). */
typedef struct mbi_hash {
  uint64_t high, low;
} mbi_hash;

#define MBI_HASH_TEXT 33 /* 32 hexadecimal digits and the zero */

static mbi_hash mbi_hash_start(void) {
  mbi_hash hash;
  hash.high = UINT64_C(0x6c62272e07bb0142);
  hash.low = UINT64_C(0x62b821756295c58d);
  return hash;
}

static mbi_hash mbi_hash_add(mbi_hash hash, const void *data, size_t size) {
  const unsigned char *bytes = (const unsigned char *)data;
  const uint64_t prime = 0x13b; /* the prime is 2^88 + 0x13b */
  size_t i;
  for (i = 0; i < size; i++) {
    uint64_t below, carry;
    hash.low ^= bytes[i];
    below = (hash.low & 0xffffffffu) * prime;
    carry = (hash.low >> 32) * prime + (below >> 32);
    hash.high = hash.high * prime + (carry >> 32) + (hash.low << 24);
    hash.low = (carry << 32) | (below & 0xffffffffu);
  }
  return hash;
}

static void mbi_hash_text(mbi_hash hash, char text[MBI_HASH_TEXT]) {
  (void)snprintf(text, MBI_HASH_TEXT, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

/* ==== >>core/files.c  directories and files =============================================== */
/* ---- Private files: the cubin cache and dumps. Results are 0 or an errno. --------------- */

#define MBI_PATH_SIZE 1024
#define MBI_MAX_LINKS 40           /* followed in one path, as in Linux */
#define MBI_TEMPORARY ".merbit-"   /* how the name of a file being written begins */
#define MBI_TEMPORARY_SECONDS 3600 /* older ones were left by a writer that died */
#define MBI_COUNTED_BYTES ((int64_t)1 << 40)

typedef struct mbi_piece {
  const void *data;
  size_t size;
} mbi_piece;

/* Why others could put files of theirs into a directory, or NULL where only this user and root
 * can. On the way to the `last` one a sticky directory is accepted: there, others can neither
 * rename nor remove what is ours. Whoever owns a symbolic link chooses where it leads. */
static const char *mbi_directory_fault(const struct stat *facts, int last) {
  if (!S_ISDIR(facts->st_mode) && !S_ISLNK(facts->st_mode)) {
    return "is not a directory";
  }
  if (facts->st_uid != geteuid() && (last || facts->st_uid != 0)) {
    return "belongs to another user";
  }
  if (S_ISDIR(facts->st_mode) && (facts->st_mode & 022) != 0 &&
      (last || (facts->st_mode & S_ISVTX) == 0)) {
    return "is writable by others";
  }
  return NULL;
}

/* Put the target of the symbolic link path[0..end) into its place. */
static int mbi_link_replace(char *path, size_t size, size_t end) {
  char target[MBI_PATH_SIZE], rest[MBI_PATH_SIZE];
  ssize_t length;
  (void)snprintf(rest, sizeof rest, "%s", path + end);
  path[end] = '\0';
  length = readlink(path, target, sizeof target);
  if (length < 0 || (size_t)length >= sizeof target) {
    return length < 0 ? errno : ENAMETOOLONG;
  }
  target[length] = '\0';
  while (target[0] != '/' && path[end - 1] != '/') {
    end--; /* a relative target begins beside the link */
  }
  end = target[0] == '/' ? 0 : end;
  length = snprintf(path + end, size - end, "%s%s", target, rest);
  return (size_t)length >= size - end ? ENAMETOOLONG : 0;
}

/* Examine path[0..end), making it where it is missing and wanted. */
static int mbi_directory_look(const char *path, size_t end, int create, struct stat *facts) {
  char part[MBI_PATH_SIZE];
  memcpy(part, path, end);
  part[end] = '\0';
  if (lstat(part, facts) == 0) {
    return 0;
  }
  if (errno != ENOENT || !create) {
    return errno;
  }
  if (mkdir(part, 0700) == 0 && chmod(part, 0700) != 0) { /* a umask may have taken too much */
    return errno;
  }
  return lstat(part, facts) == 0 ? 0 : errno;
}

/* Walk along the absolute `path` of MBI_PATH_SIZE bytes, whose links are replaced, and make
 * what is missing of it where `create` says so: nothing behind a part that others control. NULL
 * where the directory is safe; else what is wrong with the part that `path` is cut to, and an
 * errno or 0. */
static const char *mbi_directory_distrust(char *path, int create, int *error) {
  const char *fault = NULL;
  size_t end = 1;
  int links = 0, last = 0;
  *error = path[0] == '/' ? 0 : EINVAL;
  while (*error == 0 && fault == NULL && !last) {
    struct stat facts;
    *error = mbi_directory_look(path, end, create, &facts);
    if (*error != 0) {
      break;
    }
    last = path[end] == '\0' && S_ISDIR(facts.st_mode);
    fault = mbi_directory_fault(&facts, last);
    if (fault == NULL && S_ISLNK(facts.st_mode)) {
      *error = ++links > MBI_MAX_LINKS ? ELOOP : mbi_link_replace(path, MBI_PATH_SIZE, end);
      end = *error == 0 ? 1 : end; /* all of the new path */
    } else if (fault == NULL && !last) {
      end += path[end] == '/';
      end += strcspn(path + end, "/");
    }
  }
  if (*error != 0 || fault != NULL) {
    path[end] = '\0';
  }
  return *error != 0 ? "cannot be created or examined" : fault;
}

static int mbi_path_absolute(const char *path, char *absolute, size_t size) {
  char here[MBI_PATH_SIZE];
  here[0] = '\0';
  if (path[0] != '/' && getcwd(here, sizeof here - 1) == NULL) {
    (void)snprintf(absolute, size, "%s", path);
    return errno;
  }
  (void)strcat(here, here[0] != '\0' ? "/" : "");
  return (size_t)snprintf(absolute, size, "%s%s", here, path) >= size ? ENAMETOOLONG : 0;
}

/* The absolute path without symbolic links. */
static int mbi_directory_resolve(const char *path, char *resolved, size_t size) {
  char buffer[PATH_MAX];
  if (realpath(path, buffer) == NULL) {
    return errno;
  }
  if (strlen(buffer) >= size) {
    return ENAMETOOLONG;
  }
  memcpy(resolved, buffer, strlen(buffer) + 1);
  return 0;
}

/* The whole of a regular file of this user that others cannot write, and note its use for
 * mbi_directory_trim. EINVAL: it is something else, or over `limit` bytes, or shrank while
 * read. */
static int mbi_private_read(merbit_context *context, const char *path, uint64_t limit,
                            void **data, size_t *size) {
  const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat facts;
  size_t done = 0;
  int error = 0;
  *data = NULL;
  *size = 0;
  if (file < 0) {
    return errno;
  }
  if (fstat(file, &facts) != 0) {
    error = errno;
  } else if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() ||
             (facts.st_mode & 022) != 0 || facts.st_size < 0 ||
             (uint64_t)facts.st_size > limit) {
    error = EINVAL;
  } else if ((*data = mbi_allocate(context, (size_t)facts.st_size)) == NULL) {
    error = ENOMEM;
  }
  while (error == 0 && done < (size_t)facts.st_size) {
    const ssize_t got = read(file, (char *)*data + done, (size_t)facts.st_size - done);
    if (got > 0) {
      done += (size_t)got;
    } else if (got == 0 || errno != EINTR) {
      error = got == 0 ? EINVAL : errno;
    }
  }
  if (error == 0) {
    (void)futimens(file, NULL);
    *size = done;
  } else {
    mbi_release(context, *data);
    *data = NULL;
  }
  (void)close(file);
  return error;
}

static int mbi_private_write_all(int file, const mbi_piece *pieces, int count) {
  int i;
  for (i = 0; i < count; i++) {
    size_t done = 0;
    while (done < pieces[i].size) {
      const ssize_t put =
          write(file, (const char *)pieces[i].data + done, pieces[i].size - done);
      if (put > 0) {
        done += (size_t)put;
      } else if (put == 0 || errno != EINTR) {
        return put == 0 ? EIO : errno;
      }
    }
  }
  return fsync(file) == 0 ? 0 : errno;
}

/* A file beyond RLIMIT_FSIZE would not be an error but a deadly signal. */
static int mbi_private_fits(const mbi_piece *pieces, int count) {
  struct rlimit limit;
  uint64_t bytes = 0;
  int i;
  for (i = 0; i < count; i++) {
    bytes += pieces[i].size;
  }
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         bytes <= (uint64_t)limit.rlim_cur;
}

/* Create a new file in `directory` under a name nobody guesses; its path is left in `path`. */
static int mbi_temporary_create(const char *directory, char *path, size_t size, int *file) {
  int attempt, error = EEXIST;
  for (attempt = 0; attempt < 16 && error == EEXIST; attempt++) {
    struct timespec now;
    mbi_hash hash = mbi_hash_start();
    const pid_t process = getpid();
    (void)clock_gettime(CLOCK_REALTIME, &now);
    hash = mbi_hash_add(hash, &now, sizeof now);
    hash = mbi_hash_add(hash, &process, sizeof process);
    hash = mbi_hash_add(hash, &path, sizeof path); /* another stack in every thread */
    hash = mbi_hash_add(hash, &attempt, sizeof attempt);
    if ((size_t)snprintf(path, size, "%s/" MBI_TEMPORARY "%016" PRIx64, directory,
                         hash.high ^ hash.low) >= size) {
      return ENAMETOOLONG;
    }
    *file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    error = *file < 0 ? errno : 0;
  }
  return error;
}

/* Write the pieces to `directory`/`name`: whole or not at all, whoever else writes there. */
static int mbi_private_write(const char *directory, const char *name, const mbi_piece *pieces,
                             int count) {
  char temporary[MBI_PATH_SIZE], path[MBI_PATH_SIZE];
  int file = -1, error;
  if (!mbi_private_fits(pieces, count)) {
    return EFBIG;
  }
  if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path) {
    return ENAMETOOLONG;
  }
  error = mbi_temporary_create(directory, temporary, sizeof temporary, &file);
  if (error != 0) {
    return error;
  }
  if (fchmod(file, 0600) != 0) { /* a umask may have taken too much */
    error = errno;
  }
  if (error == 0) {
    error = mbi_private_write_all(file, pieces, count);
  }
  if (close(file) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && rename(temporary, path) != 0) {
    error = errno;
  }
  if (error != 0) {
    (void)unlink(temporary);
  }
  return error;
}

/* That the file is gone already is fine. */
static int mbi_file_remove(const char *path) {
  return unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}

/* ---- Keeping a directory small ---------------------------------------------------------- */

typedef struct mbi_aged { /* one file of a directory */
  struct timespec used;
  int64_t bytes;
  char name[64];
} mbi_aged;

static int mbi_aged_compare(const void *left, const void *right) {
  const mbi_aged *a = (const mbi_aged *)left, *b = (const mbi_aged *)right;
  if (a->used.tv_sec != b->used.tv_sec) {
    return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
  }
  if (a->used.tv_nsec != b->used.tv_nsec) {
    return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
  }
  return strcmp(a->name, b->name);
}

/* Room for one more: twice as much where the list is full. */
static int mbi_aged_grow(merbit_context *context, mbi_aged **files, size_t count,
                         size_t *capacity) {
  const size_t more = *capacity > 0 ? 2 * *capacity : 256;
  mbi_aged *grown;
  if (count < *capacity) {
    return 0;
  }
  grown = (mbi_aged *)mbi_allocate(context, more * sizeof *grown);
  if (grown == NULL) {
    return ENOMEM;
  }
  if (count > 0) {
    memcpy(grown, *files, count * sizeof *grown);
  }
  mbi_release(context, *files);
  *files = grown;
  *capacity = more;
  return 0;
}

/* List the regular files named *suffix, and remove left-over temporaries on the way. A time in
 * the future is a clock's mistake that would last: it counts as the oldest. */
static int mbi_directory_list(merbit_context *context, DIR *directory, const char *suffix,
                              mbi_aged **files, size_t *count) {
  const struct dirent *entry;
  size_t capacity = 0;
  int error = 0;
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  while (error == 0 && (entry = readdir(directory)) != NULL) {
    const size_t length = strlen(entry->d_name), tail = strlen(suffix);
    const int temporary = strncmp(entry->d_name, MBI_TEMPORARY, sizeof(MBI_TEMPORARY) - 1) == 0;
    struct stat facts;
    int future;
    if ((!temporary &&
         (length <= tail || strcmp(entry->d_name + length - tail, suffix) != 0)) ||
        length >= sizeof(*files)->name ||
        fstatat(dirfd(directory), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(facts.st_mode)) {
      continue;
    }
    future = facts.st_mtim.tv_sec - now.tv_sec > MBI_TEMPORARY_SECONDS;
    if (temporary) {
      if (future || now.tv_sec - facts.st_mtim.tv_sec > MBI_TEMPORARY_SECONDS) {
        (void)unlinkat(dirfd(directory), entry->d_name, 0);
      }
      continue;
    }
    error = mbi_aged_grow(context, files, *count, &capacity);
    if (error == 0) {
      mbi_aged *file = &(*files)[(*count)++];
      file->used = facts.st_mtim;
      file->used.tv_sec = future ? 0 : facts.st_mtim.tv_sec;
      file->bytes = facts.st_size < MBI_COUNTED_BYTES ? facts.st_size : MBI_COUNTED_BYTES;
      memcpy(file->name, entry->d_name, length + 1);
    }
  }
  return error;
}

/* Remove the files named *suffix that were not used for longest, until the rest holds at most
 * `cap` bytes, and temporaries of dead writers. Other processes may do the same at the same
 * time. */
static int mbi_directory_trim(merbit_context *context, const char *path, const char *suffix,
                              int64_t cap) {
  mbi_aged *files = NULL;
  size_t count = 0, i;
  int64_t total = 0;
  DIR *directory = opendir(path);
  int error;
  if (directory == NULL) {
    return errno;
  }
  error = mbi_directory_list(context, directory, suffix, &files, &count);
  for (i = 0; i < count; i++) {
    total += files[i].bytes;
  }
  if (total > cap) {
    qsort(files, count, sizeof *files, mbi_aged_compare);
  }
  for (i = 0; i < count && total > cap; i++) {
    if (unlinkat(dirfd(directory), files[i].name, 0) != 0 && errno != ENOENT) {
      error = errno;
    }
    total -= files[i].bytes;
  }
  (void)closedir(directory);
  mbi_release(context, files);
  return error;
}

/* ---- Finding libraries ------------------------------------------------------------------ */

/* Call `take` for each existing file that matches a shell pattern, in order, until it returns
 * nonzero: the result. */
static int mbi_files_matching(const char *pattern, int (*take)(void *user, const char *path),
                              void *user) {
  glob_t found;
  int taken = 0;
  size_t i;
  if (glob(pattern, 0, NULL, &found) != 0) {
    return 0;
  }
  for (i = 0; i < found.gl_pathc && taken == 0; i++) {
    taken = take(user, found.gl_pathv[i]);
  }
  globfree(&found);
  return taken;
}

/* Where the loader found an open library; "" where it does not say. */
static void mbi_library_path(void *library, char *path, size_t size) {
  struct link_map *map = NULL;
  const int known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != NULL;
  (void)snprintf(path, size, "%s", known ? map->l_name : "");
}

/* Let a library stay in memory after its last close: for those that own threads, exit handlers
 * and memory of their own, or take long to load. */
static void mbi_library_keep(void *library) {
  char path[MBI_PATH_SIZE];
  mbi_library_path(library, path, sizeof path);
  if (path[0] != '\0') {
    mbi_library_close(dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE));
  }
}

/* ==== >>core/user_files.c  files that the user names ====================================== */

/* Files that the user names. Results are 0 or an errno where nothing else is said. */

/* Open for reading. *size is 0 where it is not known: pipes, and files that the kernel makes
 * up. */
static int mbi_file_open(const char *path, int *file, int64_t *size) {
  struct stat facts;
  int error = 0;
  *size = 0;
  *file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (*file < 0) {
    return errno;
  }
  if (fstat(*file, &facts) != 0) {
    error = errno;
  } else if (S_ISDIR(facts.st_mode)) {
    error = EISDIR;
  } else if (S_ISREG(facts.st_mode)) {
    *size = (int64_t)facts.st_size;
  }
  if (error != 0) {
    (void)close(*file);
  }
  return error;
}

/* A merbit_read_callback: `user` points to the descriptor; -1 leaves errno. */
static int64_t mbi_file_read(void *user, void *data, size_t size) {
  const int file = *(const int *)user;
  ssize_t got;
  do {
    got = read(file, data, size);
  } while (got < 0 && errno == EINTR);
  return (int64_t)got;
}

static void mbi_file_close(int file) {
  (void)close(file);
}

/* A merbit_write_callback: `user` points to the descriptor; nonzero leaves errno. */
static int mbi_file_write(void *user, const void *data, size_t size) {
  const int file = *(const int *)user;
  size_t done = 0;
  while (done < size) {
    const ssize_t put = write(file, (const char *)data + done, size - done);
    if (put > 0) {
      done += (size_t)put;
    } else if (put == 0) {
      errno = EIO;
      return -1;
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return 0;
}

typedef struct mbi_replacement { /* a file that takes its target's place when it is complete */
  int file;
  char target[PATH_MAX];
  char temporary[PATH_MAX];
} mbi_replacement;

/* Create the temporary beside the target, with the target's permissions where there is one. A
 * link is followed, so that it stays; what is no regular file (a device, a pipe) must not be
 * replaced: ENOTSUP. */
static int mbi_replacement_begin(mbi_replacement *r, const char *path) {
  struct stat facts;
  const int exists = stat(path, &facts) == 0;
  int attempt, error = EEXIST;
  if (exists && !S_ISREG(facts.st_mode)) {
    return S_ISDIR(facts.st_mode) ? EISDIR : ENOTSUP;
  }
  if (path[0] == '\0' || strlen(path) >= sizeof r->target) {
    return path[0] == '\0' ? ENOENT : ENAMETOOLONG;
  }
  if (!exists) {
    memcpy(r->target, path, strlen(path) + 1);
  } else if (realpath(path, r->target) == NULL) {
    return errno;
  }
  for (attempt = 0; attempt < 16 && error == EEXIST; attempt++) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if ((size_t)snprintf(r->temporary, sizeof r->temporary, "%s.%lx-%lx-%p.tmp", r->target,
                         (unsigned long)getpid(), (unsigned long)now.tv_nsec,
                         (void *)r) >= sizeof r->temporary) {
      return ENAMETOOLONG;
    }
    r->file = open(r->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    error = r->file < 0 ? errno : 0;
  }
  if (error == 0 && exists) {
    (void)fchmod(r->file, facts.st_mode & 0777); /* refused by some file systems: no harm */
  }
  return error;
}

/* `error` as it stands: 0 puts the file in its place, anything else removes it. */
static int mbi_replacement_end(mbi_replacement *r, int error) {
  if (error == 0 && fsync(r->file) != 0) {
    error = errno;
  }
  if (close(r->file) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && rename(r->temporary, r->target) != 0) {
    error = errno;
  }
  if (error != 0) {
    (void)unlink(r->temporary);
  }
  return error;
}

/* ==== >>jit/driver.c  the CUDA driver's function table ==================================== */
/* Results of the driver that the library tells apart (cuda.h: CUresult). */
#define MBI_CUDA_OUT_OF_MEMORY 2
#define MBI_CUDA_DRIVER_OLDEST 11000
#define MBI_CUDA_DRIVER_EARLY 12030 /* early launches, captured in graphs too */

/* Text of a result. The driver's own answer may be missing: it may be the driver that is ill.
 */
static const char *mbi_driver_text(mbi_curesult (*get)(mbi_curesult, const char **),
                                   mbi_curesult result) {
  const char *text = NULL;
  if (get == NULL || get(result, &text) != 0 || text == NULL) {
    return "no text";
  }
  return text;
}

static const char *mbi_driver_error_name(const mbi_driver *driver, mbi_curesult result) {
  return mbi_driver_text(driver->get_error_name, result);
}

static const char *mbi_driver_error_string(const mbi_driver *driver, mbi_curesult result) {
  return mbi_driver_text(driver->get_error_string, result);
}

static void mbi_driver_close(mbi_driver *driver) {
  mbi_library_close(driver->library);
  memset(driver, 0, sizeof *driver);
}

/* Name of the first function that the library lacks, or NULL. */
static const char *mbi_driver_load(mbi_driver *driver) {
  if (!mbi_library_function(driver->library, "cuInit", &driver->init,
                            sizeof driver->init)) {
    return "cuInit";
  }
  if (!mbi_library_function(driver->library, "cuDriverGetVersion", &driver->driver_get_version,
                            sizeof driver->driver_get_version)) {
    return "cuDriverGetVersion";
  }
  if (!mbi_library_function(driver->library, "cuGetErrorName", &driver->get_error_name,
                            sizeof driver->get_error_name)) {
    return "cuGetErrorName";
  }
  if (!mbi_library_function(driver->library, "cuGetErrorString", &driver->get_error_string,
                            sizeof driver->get_error_string)) {
    return "cuGetErrorString";
  }
  if (!mbi_library_function(driver->library, "cuDeviceGetCount", &driver->device_get_count,
                            sizeof driver->device_get_count)) {
    return "cuDeviceGetCount";
  }
  if (!mbi_library_function(driver->library, "cuDeviceGet", &driver->device_get,
                            sizeof driver->device_get)) {
    return "cuDeviceGet";
  }
  if (!mbi_library_function(driver->library, "cuDeviceGetName", &driver->device_get_name,
                            sizeof driver->device_get_name)) {
    return "cuDeviceGetName";
  }
  if (!mbi_library_function(driver->library, "cuDeviceGetAttribute", &driver->device_get_attribute,
                            sizeof driver->device_get_attribute)) {
    return "cuDeviceGetAttribute";
  }
  if (!mbi_library_function(driver->library, "cuDevicePrimaryCtxRetain", &driver->primary_retain,
                            sizeof driver->primary_retain)) {
    return "cuDevicePrimaryCtxRetain";
  }
  if (!mbi_library_function(driver->library, "cuDevicePrimaryCtxRelease_v2", &driver->primary_release,
                            sizeof driver->primary_release)) {
    return "cuDevicePrimaryCtxRelease_v2";
  }
  if (!mbi_library_function(driver->library, "cuCtxPushCurrent_v2", &driver->ctx_push,
                            sizeof driver->ctx_push)) {
    return "cuCtxPushCurrent_v2";
  }
  if (!mbi_library_function(driver->library, "cuCtxPopCurrent_v2", &driver->ctx_pop,
                            sizeof driver->ctx_pop)) {
    return "cuCtxPopCurrent_v2";
  }
  if (!mbi_library_function(driver->library, "cuCtxGetDevice", &driver->ctx_get_device,
                            sizeof driver->ctx_get_device)) {
    return "cuCtxGetDevice";
  }
  if (!mbi_library_function(driver->library, "cuMemAlloc_v2", &driver->mem_alloc,
                            sizeof driver->mem_alloc)) {
    return "cuMemAlloc_v2";
  }
  if (!mbi_library_function(driver->library, "cuMemFree_v2", &driver->mem_free,
                            sizeof driver->mem_free)) {
    return "cuMemFree_v2";
  }
  if (!mbi_library_function(driver->library, "cuMemcpyHtoD_v2", &driver->memcpy_htod,
                            sizeof driver->memcpy_htod)) {
    return "cuMemcpyHtoD_v2";
  }
  if (!mbi_library_function(driver->library, "cuMemcpyDtoH_v2", &driver->memcpy_dtoh,
                            sizeof driver->memcpy_dtoh)) {
    return "cuMemcpyDtoH_v2";
  }
  if (!mbi_library_function(driver->library, "cuMemcpyDtoD_v2", &driver->memcpy_dtod,
                            sizeof driver->memcpy_dtod)) {
    return "cuMemcpyDtoD_v2";
  }
  if (!mbi_library_function(driver->library, "cuMemcpyDtoDAsync_v2", &driver->memcpy_dtod_async,
                            sizeof driver->memcpy_dtod_async)) {
    return "cuMemcpyDtoDAsync_v2";
  }
  if (!mbi_library_function(driver->library, "cuMemsetD8Async", &driver->memset_d8_async,
                            sizeof driver->memset_d8_async)) {
    return "cuMemsetD8Async";
  }
  if (!mbi_library_function(driver->library, "cuPointerGetAttributes", &driver->pointer_get_attributes,
                            sizeof driver->pointer_get_attributes)) {
    return "cuPointerGetAttributes";
  }
  if (!mbi_library_function(driver->library, "cuStreamSynchronize", &driver->stream_synchronize,
                            sizeof driver->stream_synchronize)) {
    return "cuStreamSynchronize";
  }
  if (!mbi_library_function(driver->library, "cuModuleLoadData", &driver->module_load_data,
                            sizeof driver->module_load_data)) {
    return "cuModuleLoadData";
  }
  if (!mbi_library_function(driver->library, "cuModuleUnload", &driver->module_unload,
                            sizeof driver->module_unload)) {
    return "cuModuleUnload";
  }
  if (!mbi_library_function(driver->library, "cuModuleGetFunction", &driver->module_get_function,
                            sizeof driver->module_get_function)) {
    return "cuModuleGetFunction";
  }
  if (!mbi_library_function(driver->library, "cuFuncSetAttribute", &driver->func_set_attribute,
                            sizeof driver->func_set_attribute)) {
    return "cuFuncSetAttribute";
  }
  if (!mbi_library_function(driver->library, "cuLaunchKernel", &driver->launch_kernel,
                            sizeof driver->launch_kernel)) {
    return "cuLaunchKernel";
  }
  (void)mbi_library_function(driver->library, "cuLaunchKernelEx", &driver->launch_kernel_ex,
                             sizeof driver->launch_kernel_ex);
  return NULL;
}

/* Open libcuda and initialise it. After a failure mbi_driver_close cleans up. */
static merbit_status mbi_driver_open(merbit_context *context) {
  mbi_driver *driver = &context->device.driver;
  const char *missing;
  mbi_curesult result;
  driver->library = mbi_library_open("libcuda.so.1");
  if (driver->library == NULL) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "there is no NVIDIA driver here (%s); install one, or use MERBIT_SIDE_CPU",
                    mbi_library_error());
  }
  missing = mbi_driver_load(driver);
  if (missing != NULL) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "the NVIDIA driver is too old: it lacks %s; "
                    "install one that supports CUDA 11",
                    missing);
  }
  mbi_library_keep(
      driver->library); /* others in the process may count on what cuInit sets up */
  result = driver->init(0);
  if (result != 0) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "the NVIDIA driver finds no usable GPU: cuInit answered %s (%s)",
                    mbi_driver_error_name(driver, result),
                    mbi_driver_error_string(driver, result));
  }
  return MERBIT_OK;
}

/* ==== >>jit/nvrtc.c  the NVRTC function table and where to find it ======================== */
/* Results of NVRTC that the library tells apart (nvrtc.h: nvrtcResult). */
#define MBI_NVRTC_OUT_OF_MEMORY 1
#define MBI_NVRTC_NEWEST 13 /* the newest major version known to this header */
#define MBI_NVRTC_OLDEST 11

#if defined(__aarch64__)
#define MBI_CUDA_TARGET "/targets/sbsa-linux/lib"
#else
#define MBI_CUDA_TARGET "/targets/x86_64-linux/lib"
#endif

/* Directories to look in, as shell patterns behind the value of a variable, if one is named.
 * pip's wheels of CUDA 11 and 12 lie in nvidia/cuda_nvrtc/lib, later ones in nvidia/cu13/lib.
 */
static const struct {
  const char *variable;
  const char *pattern;
} mbi_nvrtc_places[] = {
    {"CUDA_HOME", "/lib64"},
    {"CUDA_HOME", MBI_CUDA_TARGET},
    {"CUDA_PATH", "/lib64"},
    {"CUDA_PATH", MBI_CUDA_TARGET},
    {NULL, "/usr/local/cuda/lib64"},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/cu*/lib"},
    {"HOME", "/.local/lib/python3*/site-packages/nvidia/cu*/lib"},
    {NULL, "/usr/local/lib/python3*/dist-packages/nvidia/cu*/lib"},
    {NULL, "/usr/local/lib/python3*/site-packages/nvidia/cu*/lib"},
    {NULL, "/usr/lib/python3*/dist-packages/nvidia/cu*/lib"},
    {NULL, "/usr/lib/python3*/site-packages/nvidia/cu*/lib"},
};

typedef struct mbi_nvrtc_search {
  merbit_context *context;
  int tried;
  char places[160];  /* the first ones */
  char refused[192]; /* the last library that was there but did not do, and why */
} mbi_nvrtc_search;

static void mbi_nvrtc_close(mbi_nvrtc *nvrtc) {
  mbi_library_close(nvrtc->library);
  memset(nvrtc, 0, sizeof *nvrtc);
}

static const char *mbi_nvrtc_load(mbi_nvrtc *nvrtc) {
  if (!mbi_library_function(nvrtc->library, "nvrtcVersion", &nvrtc->get_version,
                            sizeof nvrtc->get_version)) {
    return "nvrtcVersion";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcGetErrorString", &nvrtc->get_error_string,
                            sizeof nvrtc->get_error_string)) {
    return "nvrtcGetErrorString";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcGetNumSupportedArchs", &nvrtc->get_num_archs,
                            sizeof nvrtc->get_num_archs)) {
    return "nvrtcGetNumSupportedArchs";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcGetSupportedArchs", &nvrtc->get_archs,
                            sizeof nvrtc->get_archs)) {
    return "nvrtcGetSupportedArchs";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcCreateProgram", &nvrtc->create_program,
                            sizeof nvrtc->create_program)) {
    return "nvrtcCreateProgram";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcCompileProgram", &nvrtc->compile_program,
                            sizeof nvrtc->compile_program)) {
    return "nvrtcCompileProgram";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcDestroyProgram", &nvrtc->destroy_program,
                            sizeof nvrtc->destroy_program)) {
    return "nvrtcDestroyProgram";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcGetProgramLogSize", &nvrtc->get_log_size,
                            sizeof nvrtc->get_log_size)) {
    return "nvrtcGetProgramLogSize";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcGetProgramLog", &nvrtc->get_log,
                            sizeof nvrtc->get_log)) {
    return "nvrtcGetProgramLog";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcGetCUBINSize", &nvrtc->get_cubin_size,
                            sizeof nvrtc->get_cubin_size)) {
    return "nvrtcGetCUBINSize";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcGetCUBIN", &nvrtc->get_cubin,
                            sizeof nvrtc->get_cubin)) {
    return "nvrtcGetCUBIN";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcGetPTXSize", &nvrtc->get_ptx_size,
                            sizeof nvrtc->get_ptx_size)) {
    return "nvrtcGetPTXSize";
  }
  if (!mbi_library_function(nvrtc->library, "nvrtcGetPTX", &nvrtc->get_ptx,
                            sizeof nvrtc->get_ptx)) {
    return "nvrtcGetPTX";
  }
  return NULL;
}

/* The highest architecture up to `capability` that this NVRTC compiles for, or 0. 90 stands
 * for 9.0. */
static int mbi_nvrtc_architecture(const mbi_nvrtc *nvrtc, int capability) {
  int list[256]; /* NVRTC 13 knows 12 */
  int count = 0, best = 0, i;
  if (nvrtc->get_num_archs(&count) != 0 || count < 0 ||
      (size_t)count > sizeof list / sizeof list[0] || nvrtc->get_archs(list) != 0) {
    return 0;
  }
  for (i = 0; i < count; i++) {
    if (list[i] <= capability && list[i] > best) {
      best = list[i];
    }
  }
  return best;
}

/* `path` is NULL where `why` begins with it. */
static int mbi_nvrtc_refuse(mbi_nvrtc_search *search, const char *path, const char *why) {
  (void)snprintf(search->refused, sizeof search->refused, "%s%s%s", path != NULL ? path : "",
                 path != NULL ? ": " : "", why);
  mbi_log(search->context, "NVRTC refused: %s", search->refused);
  mbi_nvrtc_close(&search->context->device.nvrtc);
  return 0;
}

/* Take the open library at `path` if it will do. */
static int mbi_nvrtc_accept(mbi_nvrtc_search *search, const char *path) {
  mbi_device *device = &search->context->device;
  mbi_nvrtc *nvrtc = &device->nvrtc;
  const char *missing = mbi_nvrtc_load(nvrtc);
  char why[64];
  int major = 0, minor = 0;
  if (missing != NULL) {
    (void)snprintf(why, sizeof why, "it lacks %s", missing);
    return mbi_nvrtc_refuse(search, path, why);
  }
  if (nvrtc->get_version(&major, &minor) != 0) {
    return mbi_nvrtc_refuse(search, path, "nvrtcVersion failed");
  }
  if (device->compute_capability > 0 &&
      mbi_nvrtc_architecture(nvrtc, device->compute_capability) == 0) {
    (void)snprintf(why, sizeof why, "NVRTC %d.%d does not compile for compute capability %d.%d",
                   major, minor, device->compute_capability / 10,
                   device->compute_capability % 10);
    return mbi_nvrtc_refuse(search, path, why);
  }
  nvrtc->version = major * 1000 + minor * 10;
  mbi_library_path(nvrtc->library, nvrtc->path, sizeof nvrtc->path);
  mbi_library_keep(nvrtc->library); /* it loses memory with every load, which takes 8 ms */
  mbi_log(search->context, "NVRTC %d.%d: %s", major, minor, nvrtc->path);
  return 1;
}

/* A file that exists, or one that was asked for by name. */
static int mbi_nvrtc_try(void *user, const char *path) {
  mbi_nvrtc_search *search = (mbi_nvrtc_search *)user;
  mbi_nvrtc *nvrtc = &search->context->device.nvrtc;
  nvrtc->library = mbi_library_open(path);
  return nvrtc->library != NULL ? mbi_nvrtc_accept(search, path)
                                : mbi_nvrtc_refuse(search, NULL, mbi_library_error());
}

static void mbi_nvrtc_note(mbi_nvrtc_search *search, const char *place) {
  const size_t length = strlen(search->places);
  mbi_log(search->context, "NVRTC: trying %s", place);
  if (length + strlen(place) + 3 < sizeof search->places) {
    (void)snprintf(search->places + length, sizeof search->places - length, "%s%s",
                   length > 0 ? ", " : "", place);
  }
  search->tried++;
}

/* One library name, by the loader's path and then in every place. */
static int mbi_nvrtc_try_name(mbi_nvrtc_search *search, const char *name) {
  mbi_nvrtc *nvrtc = &search->context->device.nvrtc;
  size_t i;
  mbi_nvrtc_note(search, name);
  nvrtc->library = mbi_library_open(name);
  if (nvrtc->library != NULL && mbi_nvrtc_accept(search, name)) {
    return 1;
  }
  for (i = 0; i < sizeof mbi_nvrtc_places / sizeof mbi_nvrtc_places[0]; i++) {
    const char *variable = mbi_nvrtc_places[i].variable;
    const char *prefix = variable != NULL ? mbi_environment(variable) : "";
    char pattern[MBI_PATH_SIZE];
    if (prefix == NULL || (variable != NULL && prefix[0] != '/') ||
        (size_t)snprintf(pattern, sizeof pattern, "%s%s/%s", prefix,
                         mbi_nvrtc_places[i].pattern, name) >= sizeof pattern) {
      continue;
    }
    mbi_nvrtc_note(search, pattern);
    if (mbi_files_matching(pattern, mbi_nvrtc_try, search)) {
      return 1;
    }
  }
  return 0;
}

/* The driver's own major version first. Then older ones, whose cubins it loads too, then newer
 * ones. */
static int mbi_nvrtc_try_major(mbi_nvrtc_search *search, int major) {
  char name[32];
  if (major == 11) { /* 11.2 to 11.8 share a name; before, functions are missing */
    return mbi_nvrtc_try_name(search, "libnvrtc.so.11.2");
  }
  (void)snprintf(name, sizeof name, "libnvrtc.so.%d", major);
  return mbi_nvrtc_try_name(search, name);
}

static int mbi_nvrtc_search_all(mbi_nvrtc_search *search) {
  const int driver = search->context->device.driver_version / 1000;
  const int own = driver >= MBI_NVRTC_OLDEST && driver < 100 ? driver : MBI_NVRTC_NEWEST;
  int major;
  for (major = own; major >= MBI_NVRTC_OLDEST; major--) {
    if (mbi_nvrtc_try_major(search, major)) {
      return 1;
    }
  }
  for (major = own + 1; major <= MBI_NVRTC_NEWEST; major++) {
    if (mbi_nvrtc_try_major(search, major)) {
      return 1;
    }
  }
  return mbi_nvrtc_try_name(search, "libnvrtc.so");
}

/* Open NVRTC into context->device. A library that is named, by `path` or by MERBIT_NVRTC, is
 * the only one tried. It must compile for the device, if one is open. */
static merbit_status mbi_nvrtc_open(merbit_context *context, const char *path) {
  mbi_nvrtc_search search;
  memset(&search, 0, sizeof search);
  search.context = context;
  if (path == NULL || path[0] == '\0') {
    path = mbi_environment("MERBIT_NVRTC");
  }
  if (path == NULL) {
    if (mbi_nvrtc_search_all(&search)) {
      return MERBIT_OK;
    }
    return mbi_fail(
        context, MERBIT_NO_COMPILER,
        "no usable NVRTC in %d places (%s, ...; all of them are in the log)%s%s; install "
        "it, or name it in MERBIT_NVRTC",
        search.tried, search.places, search.refused[0] != '\0' ? "; refused " : "",
        search.refused);
  }
  if (mbi_nvrtc_try(&search, path)) {
    return MERBIT_OK;
  }
  return mbi_fail(
      context, MERBIT_NO_COMPILER,
      "the NVRTC named in context_desc.nvrtc_path or MERBIT_NVRTC cannot be used: %s",
      search.refused);
}

/* ---- Its answers ------------------------------------------------------------------------ */

static merbit_status mbi_nvrtc_check(merbit_context *context, int result, const char *call,
                                     const char *main_file) {
  const char *text;
  if (result == 0) {
    return MERBIT_OK;
  }
  text = context->device.nvrtc.get_error_string(result);
  return mbi_fail(
      context, result == MBI_NVRTC_OUT_OF_MEMORY ? MERBIT_OUT_OF_MEMORY : MERBIT_COMPILE_ERROR,
      "compiling %s failed in %s: %s (NVRTC error %d)", main_file, call,
      text != NULL ? text : "no text", result);
}

/* What the compiler had to say, terminated; NULL where it cannot be had. */
static char *mbi_nvrtc_log(merbit_context *context, void *program) {
  const mbi_nvrtc *nvrtc = &context->device.nvrtc;
  size_t size = 0;
  char *log;
  if (nvrtc->get_log_size(program, &size) != 0 || size <= 1 || size > (size_t)1 << 26) {
    return NULL;
  }
  log = (char *)mbi_allocate(context, size + 1);
  if (log != NULL) {
    memset(log, 0, size + 1);
    if (nvrtc->get_log(program, log) != 0) {
      mbi_release(context, log);
      log = NULL;
    }
  }
  return log;
}

/* Pass the compiler's log on, line by line, and copy its first error (else its first line). */
static void mbi_nvrtc_tell(merbit_context *context, const char *log, char *first, size_t size) {
  int found = 0;
  first[0] = '\0';
  while (log != NULL && *log != '\0') {
    const size_t length = strcspn(log, "\n");
    const int shown = (int)(length < 900 ? length : 900);
    char line[1024];
    (void)snprintf(line, sizeof line, "%.*s", shown, log);
    if (length > 0) {
      mbi_log(context, "NVRTC: %s", line);
    }
    if (first[0] == '\0' || (!found && strstr(line, "error") != NULL)) {
      found = strstr(line, "error") != NULL;
      (void)snprintf(first, size, "%.*s", (int)size - 1, line);
    }
    log += length;
    log += *log == '\n';
  }
}

/* ==== >>jit/device.c  one device: context, memory, launches, errors ======================= */
#define MBI_ATTRIBUTE_MULTIPROCESSORS 16 /* cuda.h: CUdevice_attribute */
#define MBI_ATTRIBUTE_CAPABILITY_MAJOR 75
#define MBI_ATTRIBUTE_CAPABILITY_MINOR 76
#define MBI_ATTRIBUTE_SHARED_PER_BLOCK 97
#define MBI_POINTER_MEMORY_TYPE 2     /* CUpointer_attribute */
#define MBI_FUNCTION_DYNAMIC_SHARED 8 /* CUfunction_attribute */
#define MBI_SHARED_WITHOUT_ASKING 49152
#define MBI_LAUNCH_EARLY 6 /* CUlaunchAttributeID: programmatic stream serialization */

/* ---- Errors ----------------------------------------------------------------------------- */

/* Results after which every call on the context fails, or nothing that it computes can be
 * trusted: the driver goes away, memory or a link is broken, the context is gone, a kernel was
 * killed. */
static int mbi_device_deadly(mbi_curesult result) {
  switch (result) {
  case 4:   /* DEINITIALIZED */
  case 214: /* ECC_UNCORRECTABLE */
  case 220: /* NVLINK_UNCORRECTABLE */
  case 226: /* CONTAINED */
  case 700: /* ILLEGAL_ADDRESS */
  case 702: /* LAUNCH_TIMEOUT */
  case 709: /* CONTEXT_IS_DESTROYED */
  case 710: /* ASSERT */
  case 714: /* HARDWARE_STACK_ERROR */
  case 715: /* ILLEGAL_INSTRUCTION */
  case 716: /* MISALIGNED_ADDRESS */
  case 717: /* INVALID_ADDRESS_SPACE */
  case 718: /* INVALID_PC */
  case 719: /* LAUNCH_FAILED */
  case 999: /* UNKNOWN: a GPU that fell off the bus answers so */
    return 1;
  default:
    return 0;
  }
}

/* The first deadly result is kept. */
static int mbi_device_bury(merbit_context *context, mbi_curesult result) {
  int alive = 0;
  if (!mbi_device_deadly(result)) {
    return 0;
  }
  (void)__atomic_compare_exchange_n(&context->device.lost, &alive, result, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
  return 1;
}

static mbi_curesult mbi_device_lost(const merbit_context *context) {
  return __atomic_load_n(&context->device.lost, __ATOMIC_RELAXED);
}

/* DEVICE_LOST without asking the driver, once the context is dead. */
static merbit_status mbi_device_alive(merbit_context *context) {
  const mbi_curesult lost = mbi_device_lost(context);
  if (lost == 0) {
    return MERBIT_OK;
  }
  return mbi_fail(
      context, MERBIT_DEVICE_LOST,
      "%s was lost earlier with CUDA error %d; destroy the context and all that was made "
      "from it, then make a new one",
      context->device.name, lost);
}

/* Turn the answer of `call` into a status. `what` says what was attempted: "uploading x". */
static merbit_status mbi_device_check(merbit_context *context, mbi_curesult result,
                                      const char *call, const char *what) {
  const mbi_driver *driver = &context->device.driver;
  const char *advice = "";
  merbit_status status = MERBIT_DEVICE_ERROR;
  if (result == 0) {
    return MERBIT_OK;
  }
  if (mbi_device_bury(context, result)) {
    status = MERBIT_DEVICE_LOST;
    advice = "; an earlier kernel may be the cause; destroy the context and make a new one";
  } else if (result == MBI_CUDA_OUT_OF_MEMORY) {
    status = MERBIT_DEVICE_OUT_OF_MEMORY;
    advice = "; free GPU memory or use a smaller matrix";
  }
  return mbi_fail(context, status, "%s failed in %s: %s (CUDA error %d, %s)%s", what, call,
                  mbi_driver_error_name(driver, result), result,
                  mbi_driver_error_string(driver, result), advice);
}

/* ---- Opening and closing ---------------------------------------------------------------- */

static merbit_status mbi_device_attribute(merbit_context *context, int attribute, int *value) {
  return mbi_device_check(
      context,
      context->device.driver.device_get_attribute(value, attribute, context->device.ordinal),
      "cuDeviceGetAttribute", "asking for the GPU's properties");
}

/* The device of the caller's CUcontext. */
static merbit_status mbi_device_of_context(merbit_context *context, void *cuda_context) {
  mbi_device *device = &context->device;
  void *popped = NULL;
  mbi_curesult result = device->driver.ctx_push(cuda_context);
  merbit_status status =
      mbi_device_check(context, result, "cuCtxPushCurrent", "using context_desc.cuda_context");
  if (status != MERBIT_OK) {
    return status;
  }
  result = device->driver.ctx_get_device(&device->ordinal);
  (void)device->driver.ctx_pop(&popped);
  return mbi_device_check(context, result, "cuCtxGetDevice", "using context_desc.cuda_context");
}

static merbit_status mbi_device_of_ordinal(merbit_context *context, int ordinal) {
  mbi_device *device = &context->device;
  int count = 0;
  merbit_status status = mbi_device_check(context, device->driver.device_get_count(&count),
                                          "cuDeviceGetCount", "counting GPUs");
  if (status != MERBIT_OK) {
    return status;
  }
  if (count <= 0) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "the NVIDIA driver shows no GPU; is "
                    "CUDA_VISIBLE_DEVICES set?");
  }
  if (ordinal < 0 || ordinal >= count) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "context_desc.device is %d, but the driver shows %d GPU%s; use 0 to %d",
                    ordinal, count, count > 1 ? "s" : "", count - 1);
  }
  return mbi_device_check(context, device->driver.device_get(&device->ordinal, ordinal),
                          "cuDeviceGet", "choosing a GPU");
}

/* Name and properties, which need no CUDA context. */
static merbit_status mbi_device_examine(merbit_context *context) {
  mbi_device *device = &context->device;
  int major = 0, minor = 0;
  merbit_status status =
      mbi_device_check(context,
                       device->driver.device_get_name(
                           device->name, (int)sizeof device->name - 1, device->ordinal),
                       "cuDeviceGetName", "asking for the GPU's name");
  if (status == MERBIT_OK) {
    status = mbi_device_attribute(context, MBI_ATTRIBUTE_CAPABILITY_MAJOR, &major);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_attribute(context, MBI_ATTRIBUTE_CAPABILITY_MINOR, &minor);
  }
  if (status == MERBIT_OK) {
    status =
        mbi_device_attribute(context, MBI_ATTRIBUTE_MULTIPROCESSORS, &device->multiprocessors);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_attribute(context, MBI_ATTRIBUTE_SHARED_PER_BLOCK,
                                  &device->shared_bytes_per_block);
  }
  device->compute_capability = 10 * major + minor;
  device->early = device->compute_capability >= 90 && device->driver.launch_kernel_ex != NULL &&
                  device->driver_version >= MBI_CUDA_DRIVER_EARLY;
  if (status == MERBIT_OK && device->compute_capability < 50) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "%s has compute capability %d.%d; the oldest that works is 5.0",
                    device->name, major, minor);
  }
  return status;
}

/* Fill context->device, whose driver is open. Compiler before primary context, which costs
 * most. */
static merbit_status mbi_device_choose(merbit_context *context,
                                       const merbit_context_desc *desc) {
  mbi_device *device = &context->device;
  merbit_status status =
      mbi_device_check(context, device->driver.driver_get_version(&device->driver_version),
                       "cuDriverGetVersion", "asking for the driver's version");
  if (status == MERBIT_OK && device->driver_version < MBI_CUDA_DRIVER_OLDEST) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "the NVIDIA driver supports CUDA %d.%d; install one for CUDA 11 or later",
                    device->driver_version / 1000, device->driver_version % 1000 / 10);
  }
  if (status == MERBIT_OK) {
    status = desc->cuda_context != NULL ? mbi_device_of_context(context, desc->cuda_context)
                                        : mbi_device_of_ordinal(context, desc->device);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_examine(context);
  }
  if (status == MERBIT_OK) {
    status = mbi_nvrtc_open(context, desc->nvrtc_path);
  }
  if (status == MERBIT_OK && desc->cuda_context == NULL) {
    status = mbi_device_check(
        context, device->driver.primary_retain(&device->cuda_context, device->ordinal),
        "cuDevicePrimaryCtxRetain", "opening the GPU");
    device->primary = status == MERBIT_OK;
  } else {
    device->cuda_context = desc->cuda_context;
  }
  return status;
}

/* Driver, device, compiler and CUDA context. After a failure mbi_device_close cleans up. */
static merbit_status mbi_device_open(merbit_context *context, const merbit_context_desc *desc) {
  const merbit_status status = mbi_driver_open(context);
  return status == MERBIT_OK ? mbi_device_choose(context, desc) : status;
}

static void mbi_device_close(merbit_context *context) {
  mbi_device *device = &context->device;
  if (device->primary) {
    (void)device->driver.primary_release(device->ordinal);
  }
  mbi_nvrtc_close(&device->nvrtc);
  mbi_driver_close(&device->driver);
  memset(device, 0, sizeof *device);
}

/* ---- Calls: all that follow need an entered context ------------------------------------- */

/* Make the context current on this thread, on top of the caller's. */
static merbit_status mbi_device_enter(merbit_context *context) {
  const merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK) {
    return status;
  }
  return mbi_device_check(context,
                          context->device.driver.ctx_push(context->device.cuda_context),
                          "cuCtxPushCurrent", "entering the GPU's context");
}

/* Enter in order to release: on a dead context there is nothing to do, and a failure is not
 * reported, for it would hide the one that led here. */
static int mbi_device_enter_alive(merbit_context *context) {
  mbi_curesult result;
  if (mbi_device_lost(context) != 0) {
    return 0;
  }
  result = context->device.driver.ctx_push(context->device.cuda_context);
  (void)mbi_device_bury(context, result);
  return result == 0;
}

static void mbi_device_leave(merbit_context *context) {
  void *popped = NULL;
  (void)mbi_device_bury(context, context->device.driver.ctx_pop(&popped));
}

static mbi_devptr mbi_device_address(const void *pointer) {
  return (mbi_devptr)(uintptr_t)pointer;
}

static void *mbi_device_pointer(mbi_devptr address) {
  return (void *)(uintptr_t)address;
}

/* `what` is a noun for the sentence. Never gives address 0. */
static merbit_status mbi_device_allocate(merbit_context *context, uint64_t bytes,
                                         const char *what, mbi_devptr *address) {
  char attempt[128];
  merbit_status status = mbi_device_alive(context);
  *address = 0;
  if (status == MERBIT_OK) {
    (void)snprintf(attempt, sizeof attempt, "allocating %" PRIu64 " bytes for %s", bytes, what);
    status = mbi_device_check(
        context, context->device.driver.mem_alloc(address, (size_t)(bytes > 0 ? bytes : 1)),
        "cuMemAlloc", attempt);
  }
  if (status != MERBIT_OK) {
    *address = 0;
  }
  return status;
}

/* What a dead context held is gone with it. */
static void mbi_device_release(merbit_context *context, mbi_devptr address) {
  if (address != 0 && mbi_device_lost(context) == 0) {
    (void)mbi_device_bury(context, context->device.driver.mem_free(address));
  }
}

static merbit_status mbi_device_synchronize(merbit_context *context, void *stream) {
  const merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK) {
    return status;
  }
  return mbi_device_check(context, context->device.driver.stream_synchronize(stream),
                          "cuStreamSynchronize", "waiting for the GPU");
}

/* Behind work on the default stream. cuMemcpyHtoD may return while the last piece is still on
 * its way from the driver's staging memory, which other streams would not wait for: so wait
 * here. */
static merbit_status mbi_device_upload(merbit_context *context, mbi_devptr target,
                                       const void *source, size_t bytes) {
  merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  status = mbi_device_check(context, context->device.driver.memcpy_htod(target, source, bytes),
                            "cuMemcpyHtoD", "uploading to the GPU");
  return status == MERBIT_OK ? mbi_device_synchronize(context, NULL) : status;
}

static merbit_status mbi_device_download(merbit_context *context, void *target,
                                         mbi_devptr source, size_t bytes) {
  const merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  return mbi_device_check(context, context->device.driver.memcpy_dtoh(target, source, bytes),
                          "cuMemcpyDtoH", "downloading from the GPU");
}

/* From GPU memory to GPU memory, complete on return. */
static merbit_status mbi_device_copy(merbit_context *context, mbi_devptr target,
                                     mbi_devptr source, size_t bytes) {
  merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  status = mbi_device_check(context, context->device.driver.memcpy_dtod(target, source, bytes),
                            "cuMemcpyDtoD", "copying in GPU memory");
  return status == MERBIT_OK ? mbi_device_synchronize(context, NULL) : status;
}

/* The same, only enqueued. */
static merbit_status mbi_device_copy_async(merbit_context *context, mbi_devptr target,
                                           mbi_devptr source, size_t bytes, void *stream) {
  const merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  return mbi_device_check(
      context, context->device.driver.memcpy_dtod_async(target, source, bytes, stream),
      "cuMemcpyDtoDAsync", "copying in GPU memory");
}

static merbit_status mbi_device_zero(merbit_context *context, mbi_devptr target, size_t bytes,
                                     void *stream) {
  const merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  return mbi_device_check(context,
                          context->device.driver.memset_d8_async(target, 0, bytes, stream),
                          "cuMemsetD8Async", "clearing GPU memory");
}

/* Let `function` be launched with `shared_bytes` of dynamic shared memory, and with all that a
 * block may have, for plans that need different amounts may share it. `name` is for the
 * sentence. */
static merbit_status mbi_device_reserve_shared(merbit_context *context, void *function,
                                               const char *name, unsigned shared_bytes) {
  const int limit = context->device.shared_bytes_per_block;
  char attempt[160];
  const merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK || shared_bytes <= MBI_SHARED_WITHOUT_ASKING) {
    return status;
  }
  if (limit < 0 || shared_bytes > (unsigned)limit) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%s needs %u bytes of shared memory, %s has %d for a block", name,
                    shared_bytes, context->device.name, limit);
  }
  (void)snprintf(attempt, sizeof attempt, "reserving %u bytes of shared memory for %s",
                 shared_bytes, name);
  return mbi_device_check(
      context,
      context->device.driver.func_set_attribute(function, MBI_FUNCTION_DYNAMIC_SHARED, limit),
      "cuFuncSetAttribute", attempt);
}

/* The driver's call; `early`: the kernel may start while what is before it in the stream ends.
 */
static mbi_curesult mbi_device_start(const mbi_device *device, void *function, unsigned grid,
                                     unsigned threads, unsigned shared_bytes, void *stream,
                                     void **arguments, int early) {
  mbi_launch_config config;
  mbi_launch_attribute attribute;
  if (!early || !device->early) {
    return device->driver.launch_kernel(function, grid, 1, 1, threads, 1, 1, shared_bytes,
                                        stream, arguments, NULL);
  }
  memset(&attribute, 0, sizeof attribute);
  attribute.id = MBI_LAUNCH_EARLY;
  attribute.value[0] = 1;
  memset(&config, 0, sizeof config);
  config.grid_x = grid;
  config.block_x = threads;
  config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
  config.shared_bytes = shared_bytes;
  config.stream = stream;
  config.attributes = &attribute;
  config.attribute_count = 1;
  return device->driver.launch_kernel_ex(&config, function, arguments, NULL);
}

/* `grid` blocks of `threads`. No block is nothing to do. */
static merbit_status mbi_device_launch_some(merbit_context *context, void *function,
                                            const char *name, int64_t grid, int threads,
                                            unsigned shared_bytes, void *stream,
                                            void **arguments, int early) {
  merbit_status status = mbi_device_alive(context);
  mbi_curesult result;
  if (status != MERBIT_OK || grid <= 0) {
    return status;
  }
  if (grid > INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%s would need %" PRId64 " blocks; a launch has at most 2^31 - 1", name,
                    grid);
  }
  result = mbi_device_start(&context->device, function, (unsigned)grid, (unsigned)threads,
                            shared_bytes, stream, arguments, early);
  if (result != 0) {
    char attempt[160];
    (void)snprintf(attempt, sizeof attempt,
                   "launching %s (%" PRId64 " blocks of %d threads, %u bytes shared)", name,
                   grid, threads, shared_bytes);
    status = mbi_device_check(
        context, result, early && context->device.early ? "cuLaunchKernelEx" : "cuLaunchKernel",
        attempt);
  }
  return status;
}

static merbit_status mbi_device_launch(merbit_context *context, void *function,
                                       const char *name, int64_t grid, int threads,
                                       unsigned shared_bytes, void *stream, void **arguments) {
  return mbi_device_launch_some(context, function, name, grid, threads, shared_bytes, stream,
                                arguments, 0);
}

/* For kernels that call mbk_await before they touch what earlier work may still write or read.
 */
static merbit_status mbi_device_launch_early(merbit_context *context, void *function,
                                             const char *name, int64_t grid, int threads,
                                             unsigned shared_bytes, void *stream,
                                             void **arguments) {
  return mbi_device_launch_some(context, function, name, grid, threads, shared_bytes, stream,
                                arguments, 1);
}

/* 1: the GPU can read it (device, managed or pinned memory). 0: a plain host pointer. Where the
 * driver gives no answer the pointer is let through, so that the next call reports the true
 * reason. Asked in the plural: for one attribute the driver calls a host pointer an error, and
 * tools that watch the driver would blame the program. */
static int mbi_device_owns(merbit_context *context, const void *pointer) {
  unsigned type = 0;
  int attribute = MBI_POINTER_MEMORY_TYPE;
  void *value = &type;
  mbi_curesult result;
  if (mbi_device_lost(context) != 0) {
    return 1;
  }
  result = context->device.driver.pointer_get_attributes(1, &attribute, &value,
                                                         mbi_device_address(pointer));
  (void)mbi_device_bury(context, result);
  return result != 0 || type != 0;
}

/* ==== >>jit/sources.c  kernel texts ======================================================= */
/* Each kernel file as it stands in templates/, in pieces that every compiler accepts. */
static const char *const mbi_source_jit_device_cuh[] = {
  "// What kernels take from the GPU: indices, barriers, shuffles, atomics, loads. The only file\n"
  "// with intrinsics; tests put a CPU implementation of the same names in its place. Shuffles and\n"
  "// votes take the mask of the lanes that take part; a group of `width` lanes, a power of two,\n"
  "// exchanges within itself. Shared memory is dynamic only: the launcher passes its size.\n"
  "\n"
  "#ifndef MBK_DEVICE_CUH\n"
  "#define MBK_DEVICE_CUH\n"
  "\n"
  "#define MBK_KERNEL extern \"C\" __global__ void\n"
  "#define MBK_DEVICE static __device__ __forceinline__\n"
  "#define MBK_BOUNDS(threads) __launch_bounds__(threads)\n"
  "#define MBK_RESIDENT(threads, blocks) __launch_bounds__(threads, blocks)\n"
  "#define MBK_SHARED_MEMORY(name) extern __shared__ __align__(16) unsigned char name[]\n"
  "\n"
  "typedef int mbk_i32;\n"
  "typedef unsigned short mbk_u16;\n"
  "typedef unsigned mbk_u32;\n"
  "typedef long long mbk_i64;\n"
  "typedef unsigned long long mbk_u64;\n"
  "\n"
  "MBK_DEVICE mbk_u32 mbk_thread() {\n"
  "  return threadIdx.x;\n"
  "}\n"
  "MBK_DEVICE mbk_u32 mbk_block() {\n"
  "  return blockIdx.x;\n"
  "}\n"
  "MBK_DEVICE mbk_u32 mbk_grid() {\n"
  "  return gridDim.x;\n"
  "}\n"
  "MBK_DEVICE mbk_u32 mbk_lane() {\n"
  "  return threadIdx.x & 31u;\n"
  "}\n"
  "\n"
  "MBK_DEVICE void mbk_block_sync() {\n"
  "  __syncthreads();\n"
  "}\n"
  "MBK_DEVICE void mbk_warp_sync(mbk_u32 mask) {\n"
  "  __syncwarp(mask);\n"
  "}\n"
  "\n"
  "template <class T> MBK_DEVICE T mbk_shuffle(mbk_u32 mask, T value, int lane, int width) {\n"
  "  return __shfl_sync(mask, value, lane, width);\n"
  "}\n"
  "template <class T> MBK_DEVICE T mbk_shuffle_up(mbk_u32 mask, T value, int delta, int width) {\n"
  "  return __shfl_up_sync(mask, value, delta, width);\n"
  "}\n"
  "template <class T> MBK_DEVICE T mbk_shuffle_down(mbk_u32 mask, T value, int delta, int width) {\n",
  "  return __shfl_down_sync(mask, value, delta, width);\n"
  "}\n"
  "template <class T> MBK_DEVICE T mbk_shuffle_xor(mbk_u32 mask, T value, int lanes, int width) {\n"
  "  return __shfl_xor_sync(mask, value, lanes, width);\n"
  "}\n"
  "MBK_DEVICE mbk_u32 mbk_ballot(mbk_u32 mask, bool flag) {\n"
  "  return __ballot_sync(mask, flag);\n"
  "}\n"
  "\n"
  "// Rounded, and never fused with an addition: which ones a compiler fuses depends on the form.\n"
  "MBK_DEVICE float mbk_multiply(float a, float b) {\n"
  "  return __fmul_rn(a, b);\n"
  "}\n"
  "MBK_DEVICE double mbk_multiply(double a, double b) {\n"
  "  return __dmul_rn(a, b);\n"
  "}\n"
  "\n"
  "MBK_DEVICE int mbk_leading_zeros(mbk_u32 bits) {\n"
  "  return __clz((int)bits);\n"
  "}\n"
  "MBK_DEVICE int mbk_popcount(mbk_u32 bits) {\n"
  "  return __popc(bits);\n"
  "}\n"
  "MBK_DEVICE int mbk_popcount(mbk_u64 bits) {\n"
  "  return __popcll(bits);\n"
  "}\n"
  "\n"
  "// The old value.\n"
  "template <class T> MBK_DEVICE T mbk_atomic_add(T *address, T value) {\n"
  "  return atomicAdd(address, value);\n"
  "}\n"
  "// `value` if it was `expected`; the old value.\n"
  "MBK_DEVICE mbk_u32 mbk_atomic_swap_if(mbk_u32 *address, mbk_u32 expected, mbk_u32 value) {\n"
  "  return atomicCAS(address, expected, value);\n"
  "}\n"
  "MBK_DEVICE void mbk_atomic_or(mbk_u32 *address, mbk_u32 bits) {\n"
  "  atomicOr(address, bits);\n"
  "}\n"
  "MBK_DEVICE void mbk_atomic_max(mbk_u32 *address, mbk_u32 value) {\n"
  "  atomicMax(address, value);\n"
  "}\n"
  "\n"
  "// Read-only data that nobody writes during the launch.\n"
  "template <class T> MBK_DEVICE T mbk_load(const T *address) {\n"
  "  return __ldg(address);\n"
  "}\n"
  "\n"
  "// The same, for data that is read once: the caches are left to others.\n"
  "template <class T> MBK_DEVICE T mbk_load_once(const T *address) {\n"
  "  return __ldcs(address);\n"
  "}\n"
  "\n",
  "// N neighbours that move together, at an address that is a multiple of their size: 4, 8\n"
  "// or 16 bytes.\n"
  "template <class T, int N> struct __align__(sizeof(T) * N) mbk_pack {\n"
  "  T at[N];\n"
  "};\n"
  "\n"
  "template <class T, int N> union mbk_pack_bits {\n"
  "  mbk_pack<T, N> pack;\n"
  "  unsigned one;\n"
  "  uint2 two;\n"
  "  uint4 four;\n"
  "};\n"
  "\n"
  "// As mbk_load.\n"
  "template <class T, int N> MBK_DEVICE mbk_pack<T, N> mbk_load_pack(const T *address) {\n"
  "  mbk_pack_bits<T, N> bits;\n"
  "  if (sizeof(T) * N == 16) {\n"
  "    bits.four = __ldg((const uint4 *)address);\n"
  "  } else if (sizeof(T) * N == 8) {\n"
  "    bits.two = __ldg((const uint2 *)address);\n"
  "  } else {\n"
  "    bits.one = __ldg((const unsigned *)address);\n"
  "  }\n"
  "  return bits.pack;\n"
  "}\n"
  "\n"
  "// As mbk_load_once.\n"
  "template <class T, int N> MBK_DEVICE mbk_pack<T, N> mbk_load_pack_once(const T *address) {\n"
  "  mbk_pack_bits<T, N> bits;\n"
  "  if (sizeof(T) * N == 16) {\n"
  "    bits.four = __ldcs((const uint4 *)address);\n"
  "  } else if (sizeof(T) * N == 8) {\n"
  "    bits.two = __ldcs((const uint2 *)address);\n"
  "  } else {\n"
  "    bits.one = __ldcs((const unsigned *)address);\n"
  "  }\n"
  "  return bits.pack;\n"
  "}\n"
  "\n"
  "template <class T, int N> MBK_DEVICE void mbk_store_pack(T *address, mbk_pack<T, N> pack) {\n"
  "  *(mbk_pack<T, N> *)address = pack;\n"
  "}\n"
  "\n"
  "// 16 bytes from global to shared memory, both aligned, on their way while the thread goes on:\n"
  "// they are there after mbk_copy_wait by the same thread.\n"
  "MBK_DEVICE void mbk_copy_ahead(void *shared, const void *global) {\n"
  "#if __CUDA_ARCH__ >= 800\n"
  "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\"\n"
  "               :\n"
  "               : \"r\"((unsigned)__cvta_generic_to_shared(shared)), \"l\"(global)\n"
  "               : \"memory\");\n"
  "#else\n",
  "  *(uint4 *)shared = *(const uint4 *)global;\n"
  "#endif\n"
  "}\n"
  "MBK_DEVICE void mbk_copy_wait() {\n"
  "#if __CUDA_ARCH__ >= 800\n"
  "  asm volatile(\"cp.async.wait_all;\" : : : \"memory\");\n"
  "#endif\n"
  "}\n"
  "\n"
  "// Kernels that the host launches early (mbi_device_launch_early) start while what comes before\n"
  "// them in the stream still runs. Until mbk_await they may read what only a plan's making\n"
  "// writes; nothing else, and they may write nothing. Every kernel of them waits, so that what is\n"
  "// complete behind one kernel is so behind all after it.\n"
  "MBK_DEVICE void mbk_await() {\n"
  "#if __CUDA_ARCH__ >= 900\n"
  "  asm volatile(\"griddepcontrol.wait;\" : : : \"memory\");\n"
  "#endif\n"
  "}\n"
  "// The same; `data`, which earlier work may have written, can then be loaded as what nobody\n"
  "// writes: its address comes out of the wait, so that no such load moves before it.\n"
  "template <class T> MBK_DEVICE void mbk_await_for(const T *&data) {\n"
  "#if __CUDA_ARCH__ >= 900\n"
  "  asm volatile(\"griddepcontrol.wait;\" : \"+l\"(data) : : \"memory\");\n"
  "#endif\n"
  "}\n"
  "// The same for what lies at `index` of `data`: either comes out of the wait, whichever takes\n"
  "// fewer registers.\n"
  "template <class T, int GROUPS, int PACK>\n"
  "MBK_DEVICE void mbk_await_at(const T *&data, mbk_i32 (&index)[GROUPS][PACK]) {\n"
  "#if __CUDA_ARCH__ >= 1000\n"
  "  mbk_await_for(data);\n"
  "#elif __CUDA_ARCH__ >= 900\n"
  "  mbk_await();\n"
  "#pragma unroll\n"
  "  for (int g = 0; g < GROUPS; g++) {\n"
  "#pragma unroll\n"
  "    for (int j = 0; j < PACK; j++) {\n"
  "      asm volatile(\"\" : \"+r\"(index[g][j]));\n"
  "    }\n"
  "  }\n"
  "#endif\n"
  "}\n"
  "// What comes next may start once all blocks got here or ended.\n"
  "MBK_DEVICE void mbk_release() {\n"
  "#if __CUDA_ARCH__ >= 900\n",
  "  asm volatile(\"griddepcontrol.launch_dependents;\" : : :);\n"
  "#endif\n"
  "}\n"
  "\n"
  "// Start to bring the line of `address` into L2.\n"
  "template <class T> MBK_DEVICE void mbk_prefetch(const T *address) {\n"
  "  asm volatile(\"prefetch.global.L2 [%0];\" : : \"l\"(address));\n"
  "}\n"
  "\n"
  "#endif\n",
  NULL};

static const char *const mbi_source_spmv_algebra_cuh[] = {
  "// What every product kernel is told of a plan, the algebra of a product, and the one place\n"
  "// where a finished row leaves a kernel.\n"
  "#ifndef MBK_VALUE\n"
  "#error \"define MBK_VALUE: the type of the matrix's values in memory\"\n"
  "#endif\n"
  "#ifndef MBK_PATTERN\n"
  "#error \"define MBK_PATTERN: 1 if no nonzero has its value stored\"\n"
  "#endif\n"
  "#ifndef MBK_ROW_PTR\n"
  "#error \"define MBK_ROW_PTR: the type of the offsets of rows, mbk_i32 or mbk_i64\"\n"
  "#endif\n"
  "#ifndef MBK_BASE\n"
  "#error \"define MBK_BASE: the first index of the matrix's arrays, 0 or 1\"\n"
  "#endif\n"
  "#ifndef MBK_COMPUTE\n"
  "#error \"define MBK_COMPUTE: the type of sums, alpha and beta\"\n"
  "#endif\n"
  "#ifndef MBK_VECTOR\n"
  "#error \"define MBK_VECTOR: the type of x and y in memory\"\n"
  "#endif\n"
  "#ifndef MBK_EQUAL\n"
  "#error \"define MBK_EQUAL: 1 if all values are the one that is stored\"\n"
  "#endif\n"
  "#ifndef MBK_SCALARS_DEVICE\n"
  "#error                                                                                         \\\n"
  "    \"define MBK_SCALARS_DEVICE: 1 if alpha and beta are read through device pointers, 0 if passed\"\n"
  "#endif\n"
  "\n"
  "// Plus-times. Every sum starts at MBK_ZERO, so that a sum that is zero is +0 in any order.\n"
  "#define MBK_ZERO ((MBK_COMPUTE)0)\n"
  "#define MBK_ADD(a, b) ((a) + (b))\n"
  "#define MBK_MUL(a, x) mbk_multiply((MBK_COMPUTE)(a), (MBK_COMPUTE)(x))\n"
  "\n"
  "// What a nonzero adds whose value is not stored with it: one, or where MBK_EQUAL the one at\n"
  "// `values`.\n"
  "#if MBK_EQUAL\n"
  "#define MBK_UNIT(values, factor) MBK_MUL(mbk_load(values), factor)\n"
  "#else\n"
  "#define MBK_UNIT(values, factor) ((MBK_COMPUTE)(factor))\n"
  "#endif\n"
  "\n"
  "// alpha and beta as kernel parameters, and as what one function passes on to another. A null\n",
  "// device pointer stands for the default. MBK_SCALARS_LOAD goes where MBK_COMMIT follows: held\n"
  "// from a kernel's start, the two would cost registers.\n"
  "#if MBK_SCALARS_DEVICE\n"
  "#define MBK_SCALAR_PARAMETERS const MBK_COMPUTE *alpha_at, const MBK_COMPUTE *beta_at\n"
  "#define MBK_SCALAR_ARGUMENTS alpha_at, beta_at\n"
  "#define MBK_ALPHA (mbk_await(), alpha_at ? *alpha_at : (MBK_COMPUTE)1)\n"
  "#define MBK_SCALARS_LOAD                                                                       \\\n"
  "  const MBK_COMPUTE alpha = MBK_ALPHA;                                                         \\\n"
  "  const MBK_COMPUTE beta = beta_at ? *beta_at : (MBK_COMPUTE)0\n"
  "#else\n"
  "#define MBK_SCALAR_PARAMETERS const MBK_COMPUTE alpha, const MBK_COMPUTE beta\n"
  "#define MBK_SCALAR_ARGUMENTS alpha, beta\n"
  "#define MBK_ALPHA alpha\n"
  "#define MBK_SCALARS_LOAD\n"
  "#endif\n"
  "\n"
  "// What becomes of a row's final sum. With alpha 0 the sum is zero because nothing was read;\n"
  "// with beta 0 the old y is not read, else it is `old`, a place in memory.\n"
  "#define MBK_RESULT(sum, old)                                                                   \\\n"
  "  ((MBK_VECTOR)(beta == (MBK_COMPUTE)0 ? MBK_MUL(alpha, sum)                                   \\\n"
  "                                       : MBK_ADD(MBK_MUL(alpha, sum), MBK_MUL(beta, old))))\n"
  "\n"
  "// Every row passes here, or through MBK_RESULT, exactly once.\n"
  "MBK_DEVICE void mbk_commit(MBK_VECTOR *y, mbk_u64 row, MBK_COMPUTE sum, MBK_COMPUTE alpha,\n"
  "                           MBK_COMPUTE beta) {\n"
  "  y[row] = MBK_RESULT(sum, y[row]);\n"
  "}\n"
  "#define MBK_COMMIT(row, sum) mbk_commit(y, (row), (sum), alpha, beta)\n",
  NULL};

static const char *const mbi_source_spmv_arrays_cu[] = {
  "// A plan's CSR arrays that came in device memory: their check and their narrowing to 32-bit\n"
  "// columns.\n"
  "#ifndef MBK_ROW_PTR\n"
  "#error \"define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64\"\n"
  "#endif\n"
  "#ifndef MBK_COLUMN\n"
  "#error \"define MBK_COLUMN: the type of col_ind, mbk_i32 or mbk_i64\"\n"
  "#endif\n"
  "#ifndef MBK_BASE\n"
  "#error \"define MBK_BASE: the first index of the matrix's arrays, 0 or 1\"\n"
  "#endif\n"
  "#include \"jit/device.cuh\"\n"
  "\n"
  "// *bad becomes 1 if row_ptr does not rise from the base to nnz + base, or a column is out of\n"
  "// range. Launch: any grid of 256 threads. Each thread strides over both arrays.\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_arrays_check(const MBK_ROW_PTR *row_ptr, const MBK_COLUMN *col_ind, mbk_i64 rows,\n"
  "                     mbk_i64 cols, mbk_i64 nnz, mbk_u32 *bad) {\n"
  "  const mbk_i64 stride = (mbk_i64)mbk_grid() * 256;\n"
  "  const mbk_i64 first = (mbk_i64)mbk_block() * 256 + mbk_thread();\n"
  "  bool wrong = first == 0 && (row_ptr[0] != MBK_BASE || row_ptr[rows] != nnz + MBK_BASE);\n"
  "  for (mbk_i64 i = first; i < rows; i += stride) {\n"
  "    wrong |= row_ptr[i] > row_ptr[i + 1];\n"
  "  }\n"
  "  for (mbk_i64 k = first; k < nnz; k += stride) {\n"
  "    const mbk_i64 column = (mbk_i64)col_ind[k] - MBK_BASE;\n"
  "    wrong |= column < 0 || column >= cols;\n"
  "  }\n"
  "  if (wrong) {\n"
  "    mbk_atomic_or(bad, 1u);\n"
  "  }\n"
  "}\n"
  "\n"
  "// Launch: any grid of 256 threads.\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_arrays_narrow(const MBK_COLUMN *wide, mbk_i64 nnz, mbk_i32 *narrow) {\n"
  "  for (mbk_i64 k = (mbk_i64)mbk_block() * 256 + mbk_thread(); k < nnz;\n"
  "       k += (mbk_i64)mbk_grid() * 256) {\n"
  "    narrow[k] = (mbk_i32)wide[k];\n"
  "  }\n"
  "}\n"
  "\n",
  "// ---- Rows that hold something ---------------------------------------------------------------\n"
  "\n"
  "// Rows per block of the two kernels below: four for each of 256 threads.\n"
  "#define MBK_ROWS_PER_BLOCK 1024\n"
  "\n"
  "// counts[block]: the block's rows with a nonzero. *longest: the longest row of all (at most\n"
  "// 2^32 - 1); *widths: the sum over slices of 32 rows of their longest; zero both before.\n"
  "// Shared: mbk_u64, mbk_u32.\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_arrays_count(const MBK_ROW_PTR *row_ptr, mbk_u64 rows, mbk_u32 *counts,\n"
  "                     mbk_u32 *longest, mbk_u64 *widths) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_u64 *const width = (mbk_u64 *)shared;\n"
  "  mbk_u32 *const total = (mbk_u32 *)(width + 1);\n"
  "  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_ROWS_PER_BLOCK + mbk_thread();\n"
  "  mbk_u64 slots = 0;\n"
  "  mbk_u32 count = 0, most = 0;\n"
  "  if (mbk_thread() == 0) {\n"
  "    *width = 0;\n"
  "    *total = 0;\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  for (int i = 0; i < 4; i++) {\n"
  "    const mbk_u64 row = first + (mbk_u64)i * 256;\n"
  "    mbk_u32 slice = 0;\n"
  "    if (row < rows) {\n"
  "      const mbk_u64 length = (mbk_u64)(row_ptr[row + 1] - row_ptr[row]);\n"
  "      slice = length < 0xffffffffull ? (mbk_u32)length : 0xffffffffu;\n"
  "    }\n"
  "    count += (mbk_u32)mbk_popcount(mbk_ballot(0xffffffffu, slice > 0));\n"
  "    for (int d = 16; d > 0; d >>= 1) {\n"
  "      const mbk_u32 other = mbk_shuffle_xor(0xffffffffu, slice, d, 32);\n"
  "      slice = other > slice ? other : slice;\n"
  "    }\n"
  "    slots += slice;\n"
  "    most = slice > most ? slice : most;\n"
  "  }\n"
  "  if (mbk_lane() == 0) {\n"
  "    mbk_atomic_add(width, slots);\n"
  "    mbk_atomic_add(total, count);\n"
  "    mbk_atomic_max(longest, most);\n"
  "  }\n"
  "  mbk_block_sync();\n",
  "  if (mbk_thread() == 0) {\n"
  "    counts[mbk_block()] = *total;\n"
  "    mbk_atomic_add(widths, *width);\n"
  "  }\n"
  "}\n"
  "\n"
  "// counts becomes its exclusive prefix sum; *total, which may be counts + blocks, the sum.\n"
  "// Launch: one block of 1024 threads. Shared: mbk_u32[33].\n"
  "MBK_KERNEL MBK_BOUNDS(1024)\n"
  "    mbk_arrays_offsets(mbk_u32 *counts, mbk_u64 blocks, mbk_u32 *total) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_u32 *const warps = (mbk_u32 *)shared; // sums of the warps, then of those before each\n"
  "  mbk_u32 base = 0;\n"
  "  for (mbk_u64 from = 0; from < blocks; from += 1024) {\n"
  "    const mbk_u64 i = from + mbk_thread();\n"
  "    const mbk_u32 own = i < blocks ? counts[i] : 0;\n"
  "    mbk_u32 sum = own;\n"
  "    for (int d = 1; d < 32; d <<= 1) {\n"
  "      const mbk_u32 before = mbk_shuffle_up(0xffffffffu, sum, d, 32);\n"
  "      sum += mbk_lane() >= (mbk_u32)d ? before : 0;\n"
  "    }\n"
  "    if (mbk_lane() == 31) {\n"
  "      warps[mbk_thread() / 32] = sum;\n"
  "    }\n"
  "    mbk_block_sync();\n"
  "    if (mbk_thread() < 32) {\n"
  "      const mbk_u32 warp = warps[mbk_thread()];\n"
  "      mbk_u32 before = warp;\n"
  "      for (int d = 1; d < 32; d <<= 1) {\n"
  "        const mbk_u32 other = mbk_shuffle_up(0xffffffffu, before, d, 32);\n"
  "        before += mbk_lane() >= (mbk_u32)d ? other : 0;\n"
  "      }\n"
  "      warps[mbk_thread()] = before - warp;\n"
  "      if (mbk_thread() == 31) {\n"
  "        warps[32] = before;\n"
  "      }\n"
  "    }\n"
  "    mbk_block_sync();\n"
  "    if (i < blocks) {\n"
  "      counts[i] = base + warps[mbk_thread() / 32] + sum - own;\n"
  "    }\n"
  "    base += warps[32];\n"
  "    mbk_block_sync();\n"
  "  }\n"
  "  if (mbk_thread() == 0) {\n"
  "    *total = base;\n"
  "  }\n"
  "}\n"
  "\n"
  "// Rows with a nonzero in row_id, in order, and where they start in row_start, which ends with\n",
  "// the end of the last; the others in empty_id. offsets: from mbk_arrays_offsets. Shared:\n"
  "// mbk_u32[8].\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_arrays_compact(const MBK_ROW_PTR *row_ptr, mbk_u64 rows, const mbk_u32 *offsets,\n"
  "                       mbk_u32 *row_id, MBK_ROW_PTR *row_start, mbk_u32 *empty_id) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_u32 *const warps = (mbk_u32 *)shared;\n"
  "  mbk_u32 rank = offsets[mbk_block()];\n"
  "  for (int i = 0; i < 4; i++) {\n"
  "    const mbk_u64 row =\n"
  "        (mbk_u64)mbk_block() * MBK_ROWS_PER_BLOCK + (mbk_u64)i * 256 + mbk_thread();\n"
  "    const bool holds = row < rows && row_ptr[row] < row_ptr[row + 1];\n"
  "    const mbk_u32 ballot = mbk_ballot(0xffffffffu, holds);\n"
  "    if (mbk_lane() == 0) {\n"
  "      warps[mbk_thread() / 32] = (mbk_u32)mbk_popcount(ballot);\n"
  "    }\n"
  "    mbk_block_sync();\n"
  "    mbk_u32 before = rank, all = 0;\n"
  "    for (mbk_u32 w = 0; w < 8; w++) {\n"
  "      before += w < mbk_thread() / 32 ? warps[w] : 0;\n"
  "      all += warps[w];\n"
  "    }\n"
  "    before += (mbk_u32)mbk_popcount(ballot & ((1u << mbk_lane()) - 1));\n"
  "    if (holds) {\n"
  "      row_id[before] = (mbk_u32)row;\n"
  "      row_start[before] = row_ptr[row];\n"
  "    } else if (row < rows) {\n"
  "      empty_id[row - before] = (mbk_u32)row;\n"
  "    }\n"
  "    if (row + 1 == rows) {\n"
  "      row_start[before + holds] = row_ptr[rows];\n"
  "    }\n"
  "    rank += all;\n"
  "    mbk_block_sync();\n"
  "  }\n"
  "}\n"
  "\n"
  "// Whether values, of 8 bytes where `wide` and else of 4, can be stored shorter: *unequal\n"
  "// becomes 1 unless all have the bits of the first, *inexact unless each is a float's. A thread\n"
  "// looks no further than to a value that shows both, so general ones cost next to nothing.\n"
  "// Launch: any number of blocks of 256 threads.\n",
  "MBK_KERNEL MBK_BOUNDS(256) mbk_arrays_forms(const void *values, mbk_u64 nnz, mbk_u32 wide,\n"
  "                                            mbk_u32 *unequal, mbk_u32 *inexact) {\n"
  "  bool differs = false, loses = wide == 0;\n"
  "  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < nnz && !(differs && loses);\n"
  "       i += (mbk_u64)mbk_grid() * 256) {\n"
  "    if (wide != 0) {\n"
  "      const double value = mbk_load((const double *)values + i);\n"
  "      differs |= mbk_load((const mbk_u64 *)values + i) != mbk_load((const mbk_u64 *)values);\n"
  "      loses |= !((double)(float)value == value);\n"
  "    } else {\n"
  "      differs |= mbk_load((const mbk_u32 *)values + i) != mbk_load((const mbk_u32 *)values);\n"
  "    }\n"
  "  }\n"
  "  const mbk_u32 any_differs = mbk_ballot(0xffffffffu, differs);\n"
  "  const mbk_u32 any_loses = mbk_ballot(0xffffffffu, loses);\n"
  "  if (mbk_thread() % 32 == 0 && any_differs != 0) {\n"
  "    mbk_atomic_or(unequal, 1u);\n"
  "  }\n"
  "  if (mbk_thread() % 32 == 0 && any_loses != 0) {\n"
  "    mbk_atomic_or(inexact, 1u);\n"
  "  }\n"
  "}\n"
  "\n"
  "// Values that are floats', as such. Launch: any number of blocks of 256 threads.\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_arrays_shorten(const double *values, mbk_u64 nnz, float *shorter) {\n"
  "  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < nnz;\n"
  "       i += (mbk_u64)mbk_grid() * 256) {\n"
  "    shorter[i] = (float)mbk_load(values + i);\n"
  "  }\n"
  "}\n"
  "\n"
  "// Samples of how gathers of x will fare: *sectors becomes the number of different 32-byte\n"
  "// sectors of x that windows of nonzeros touch, each counted on its own, and\n"
  "// *narrow that of slices of 32 rows, out of 8 for each window, whose columns lie within 65536.\n",
  "// `shift` is log2 of the elements in a sector. Launch: one block of 256 threads per window.\n"
  "// Shared: mbk_u32[MBK_SAMPLE_TABLE].\n"
  "#define MBK_SAMPLE_WINDOW 8192\n"
  "#define MBK_SAMPLE_TABLE 12288\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_arrays_sample(const MBK_ROW_PTR *row_ptr, const MBK_COLUMN *col_ind, mbk_u64 rows,\n"
  "                      mbk_u64 nnz, mbk_u32 shift, mbk_u32 *sectors, mbk_u32 *narrow) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_u32 *const table = (mbk_u32 *)shared;\n"
  "  for (mbk_u32 i = mbk_thread(); i < MBK_SAMPLE_TABLE; i += 256) {\n"
  "    table[i] = 0xffffffffu;\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  const mbk_u64 most = nnz < MBK_SAMPLE_WINDOW ? nnz : MBK_SAMPLE_WINDOW;\n"
  "  const mbk_u64 first = (nnz - most) / mbk_grid() * mbk_block();\n"
  "  mbk_u32 found = 0;\n"
  "  for (mbk_u32 i = mbk_thread(); i < most; i += 256) {\n"
  "    const mbk_u32 sector = (mbk_u32)(mbk_load(col_ind + first + i) - MBK_BASE) >> shift;\n"
  "    mbk_u32 at = (sector * 2654435761u >> 8) % MBK_SAMPLE_TABLE;\n"
  "    mbk_u32 there = mbk_atomic_swap_if(table + at, 0xffffffffu, sector);\n"
  "    while (there != 0xffffffffu && there != sector) {\n"
  "      at = at + 1 < MBK_SAMPLE_TABLE ? at + 1 : 0;\n"
  "      there = mbk_atomic_swap_if(table + at, 0xffffffffu, sector);\n"
  "    }\n"
  "    found += there == 0xffffffffu;\n"
  "  }\n"
  "  mbk_atomic_add(sectors, found);\n"
  "\n"
  "  const mbk_u64 slices = (rows + 31) / 32;\n"
  "  const mbk_u64 slice = slices * (mbk_block() * 8 + mbk_thread() / 32) / (8 * mbk_grid());\n"
  "  const mbk_u64 row = slice * 32, next = row + 32 < rows ? row + 32 : rows;\n"
  "  const mbk_u64 end = (mbk_u64)(mbk_load(row_ptr + next) - MBK_BASE);\n"
  "  mbk_u32 low = 0xffffffffu, high = 0;\n"
  "  for (mbk_u64 k = (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE) + mbk_thread() % 32;\n",
  "       k < end && high - low + 1 <= 0x10000; k += 32) {\n"
  "    const mbk_u32 column = (mbk_u32)(mbk_load(col_ind + k) - MBK_BASE);\n"
  "    low = column < low ? column : low;\n"
  "    high = column > high ? column : high;\n"
  "  }\n"
  "  for (int d = 16; d > 0; d >>= 1) {\n"
  "    const mbk_u32 other_low = mbk_shuffle_xor(0xffffffffu, low, d, 32);\n"
  "    const mbk_u32 other_high = mbk_shuffle_xor(0xffffffffu, high, d, 32);\n"
  "    low = other_low < low ? other_low : low;\n"
  "    high = other_high > high ? other_high : high;\n"
  "  }\n"
  "  if (mbk_thread() % 32 == 0 && high - low + 1 <= 0x10000) {\n"
  "    mbk_atomic_add(narrow, 1u);\n"
  "  }\n"
  "}\n"
  "\n"
  "// ---- Columns that many nonzeros meet\n"
  "// ---------------------------------------------------------\n"
  "\n"
  "// counts[c]: how many of the nonzeros of every `stride`th run of 32 lie in column c; zero\n"
  "// before. Launch: any grid of 256 threads.\n"
  "MBK_KERNEL MBK_BOUNDS(256) mbk_arrays_columns(const MBK_COLUMN *col_ind, mbk_u64 nnz,\n"
  "                                              mbk_u32 stride, mbk_u32 *counts) {\n"
  "  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;\n"
  "  const mbk_u64 step = (mbk_u64)mbk_grid() * 8 * stride * 32;\n"
  "  for (mbk_u64 k = warp * stride * 32 + mbk_lane(); k < nnz; k += step) {\n"
  "    mbk_atomic_add(counts + (col_ind[k] - MBK_BASE), 1u);\n"
  "  }\n"
  "}\n"
  "\n"
  "// bins[n]: the columns counted n times, or for the last bin that often or more; zero before.\n"
  "// Launch: any grid of 256 threads. Shared: mbk_u32[MBK_BINS].\n"
  "#define MBK_BINS 4096\n"
  "MBK_KERNEL MBK_BOUNDS(256) mbk_arrays_bins(const mbk_u32 *counts, mbk_u64 cols, mbk_u32 *bins) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_u32 *const own = (mbk_u32 *)shared;\n"
  "  for (mbk_u32 i = mbk_thread(); i < MBK_BINS; i += 256) {\n",
  "    own[i] = 0;\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  for (mbk_u64 c = (mbk_u64)mbk_block() * 256 + mbk_thread(); c < cols;\n"
  "       c += (mbk_u64)mbk_grid() * 256) {\n"
  "    if (counts[c] > 0) {\n"
  "      mbk_atomic_add(own + (counts[c] < MBK_BINS ? counts[c] : MBK_BINS - 1), 1u);\n"
  "    }\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  for (mbk_u32 i = mbk_thread(); i < MBK_BINS; i += 256) {\n"
  "    if (own[i] > 0) {\n"
  "      mbk_atomic_add(bins + i, own[i]);\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n"
  "// ---- The structure as a number\n"
  "// ---------------------------------------------------------------\n"
  "\n"
  "// The bits of a number and of its place, well mixed (the end of SplitMix64: Steele, Lea, Flood,\n"
  "// OOPSLA 2014).\n"
  "MBK_DEVICE mbk_u64 mbk_arrays_mix(mbk_u64 place, mbk_u64 number) {\n"
  "  mbk_u64 bits = place * 0x9e3779b97f4a7c15ull ^ number * 0xd1342543de82ef95ull;\n"
  "  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;\n"
  "  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;\n"
  "  return bits ^ bits >> 31;\n"
  "}\n"
  "\n"
  "// *hash: a sum over row_ptr and col_ind, the same in any order; zero before. Launch: any grid\n"
  "// of 256 threads.\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_arrays_hash(const MBK_ROW_PTR *row_ptr, const MBK_COLUMN *col_ind, mbk_u64 rows,\n"
  "                    mbk_u64 nnz, mbk_u64 *hash) {\n"
  "  const mbk_u64 stride = (mbk_u64)mbk_grid() * 256;\n"
  "  const mbk_u64 first = (mbk_u64)mbk_block() * 256 + mbk_thread();\n"
  "  mbk_u64 sum = 0;\n"
  "  for (mbk_u64 i = first; i <= rows; i += stride) {\n"
  "    sum += mbk_arrays_mix(2 * i, (mbk_u64)(row_ptr[i] - MBK_BASE));\n"
  "  }\n"
  "  for (mbk_u64 k = first; k < nnz; k += stride) {\n"
  "    sum += mbk_arrays_mix(2 * k + 1, (mbk_u64)(col_ind[k] - MBK_BASE));\n"
  "  }\n"
  "  for (int d = 16; d > 0; d >>= 1) {\n",
  "    sum += mbk_shuffle_xor(0xffffffffu, sum, d, 32);\n"
  "  }\n"
  "  if (mbk_lane() == 0) {\n"
  "    mbk_atomic_add(hash, sum);\n"
  "  }\n"
  "}\n"
  "\n"
  "// ---- Blocks -------------------------------------------------------------------------------\n"
  "\n"
  "// Bit n: blocks may be n rows high, or n columns wide; 2 to 16.\n"
  "#define MBK_BLOCK_SHAPES 0x1fffcu\n"
  "#define MBK_BLOCK_PART 2048 // nonzeros of a row between looks at what others found\n"
  "\n"
  "// The sizes of which `place` is no multiple.\n"
  "MBK_DEVICE mbk_u32 mbk_arrays_inside(mbk_u64 place) {\n"
  "  mbk_u32 sizes = 0;\n"
  "  for (mbk_u32 n = 2; n <= 16; n++) {\n"
  "    sizes |= place % n != 0 ? 1u << n : 0;\n"
  "  }\n"
  "  return sizes;\n"
  "}\n"
  "\n"
  "// Whether other warps have found something against every size, in the eyes of the whole warp.\n"
  "MBK_DEVICE bool mbk_arrays_ruled_out(mbk_u32 *against) {\n"
  "  mbk_u32 both = 0;\n"
  "  if (mbk_lane() == 0) {\n"
  "    both = mbk_atomic_add(against, 0u) & mbk_atomic_add(against + 1, 0u);\n"
  "  }\n"
  "  both = mbk_shuffle(0xffffffffu, both, 0, 32);\n"
  "  return (both & MBK_BLOCK_SHAPES) == MBK_BLOCK_SHAPES;\n"
  "}\n"
  "\n"
  "// What speaks against full blocks: bit n of against[0] that rows of one block of n rows differ\n"
  "// in their columns, of against[1] that a row's columns are no runs of n, each from a multiple\n"
  "// of n on. Both zero before. Launch: one warp for each of `count` rows, `step` apart; 256\n"
  "// threads per block.\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_arrays_blocks(const MBK_ROW_PTR *row_ptr, const MBK_COLUMN *col_ind, mbk_u64 rows,\n"
  "                      mbk_u64 count, mbk_u64 step, mbk_u32 *against) {\n"
  "  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32, row = warp * step;\n"
  "  mbk_u32 high = 0, wide = 0;\n"
  "  if (warp < count) {\n",
  "    const mbk_i64 start = (mbk_i64)row_ptr[row] - MBK_BASE;\n"
  "    const mbk_i64 end = (mbk_i64)row_ptr[row + 1] - MBK_BASE;\n"
  "    const mbk_i64 next = row + 1 < rows ? (mbk_i64)row_ptr[row + 2] - MBK_BASE - end : -1;\n"
  "    bool same = next == end - start;\n"
  "    for (mbk_i64 part = 0; part < end - start; part += MBK_BLOCK_PART) {\n"
  "      const mbk_i64 stop =\n"
  "          part + MBK_BLOCK_PART < end - start ? part + MBK_BLOCK_PART : end - start;\n"
  "      if (part > 0 && mbk_arrays_ruled_out(against)) {\n"
  "        break; // a long row need not be walked to its end\n"
  "      }\n"
  "      for (mbk_i64 k = part + mbk_lane(); k < stop; k += 32) {\n"
  "        const mbk_i64 column = (mbk_i64)col_ind[start + k] - MBK_BASE;\n"
  "        same = same && (mbk_i64)col_ind[end + k] - MBK_BASE == column;\n"
  "        if (k + 1 == end - start || (mbk_i64)col_ind[start + k + 1] - MBK_BASE != column + 1) {\n"
  "          wide |= mbk_arrays_inside((mbk_u64)k + 1); // the run that ends here\n"
  "        }\n"
  "        // Where a run of n begins both are multiples of n.\n"
  "        wide |= mbk_arrays_inside((mbk_u64)column) & ~mbk_arrays_inside((mbk_u64)k);\n"
  "      }\n"
  "    }\n"
  "    high = same ? 0 : mbk_arrays_inside(row + 1);\n"
  "  }\n"
  "  for (int d = 16; d > 0; d >>= 1) {\n"
  "    high |= mbk_shuffle_xor(0xffffffffu, high, d, 32);\n"
  "    wide |= mbk_shuffle_xor(0xffffffffu, wide, d, 32);\n"
  "  }\n"
  "  if (mbk_lane() == 0 && (high & ~against[0] & MBK_BLOCK_SHAPES) != 0) {\n"
  "    mbk_atomic_or(against, high);\n"
  "  }\n"
  "  if (mbk_lane() == 0 && (wide & ~against[1] & MBK_BLOCK_SHAPES) != 0) {\n"
  "    mbk_atomic_or(against + 1, wide);\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_merbit_tile_cuh[] = {
  "// TILE, the schedule of MERBIT, built on the GPU: part of spmv/merbit.cu, whose macros and\n"
  "// types it uses.\n"
  "#ifndef MBK_TILE_STEPS\n"
  "#error \"include spmv/merbit.cu, which opens with the list of macros\"\n"
  "#endif\n"
  "\n"
  "// The row at which diagonal `diagonal` crosses the merge path (Algorithm 1).\n"
  "MBK_DEVICE mbk_u64 mbk_merge_search(const MBK_ROW_PTR *row_ptr, mbk_u64 rows, mbk_u64 nnz,\n"
  "                                    mbk_u64 diagonal) {\n"
  "  mbk_u64 low = diagonal > nnz ? diagonal - nnz : 0;\n"
  "  mbk_u64 high = diagonal < rows ? diagonal : rows;\n"
  "  while (low < high) {\n"
  "    const mbk_u64 middle = (low + high) >> 1;\n"
  "    if ((mbk_u64)(mbk_load(row_ptr + middle + 1) - MBK_BASE) <= diagonal - middle - 1) {\n"
  "      low = middle + 1;\n"
  "    } else {\n"
  "      high = middle;\n"
  "    }\n"
  "  }\n"
  "  return low;\n"
  "}\n"
  "\n"
  "// TILE (Algorithm 2). The row step of row r stands at path position row_ptr[r + 1] + r, so one\n"
  "// coalesced pass over a tile's rows sets its step bits; each lane then cuts out its sigma bits.\n"
  "// Launch: one group per tile, 128 threads per block. Shared: mbk_u32[128 /\n"
  "// omega][MBK_STEP_WORDS].\n"
  "#define MBK_STEP_WORDS ((MBK_TILE_STEPS + 31) / 32 + 2)\n"
  "MBK_KERNEL MBK_BOUNDS(128)\n"
  "    mbk_merbit_build(const MBK_ROW_PTR *row_ptr, mbk_u64 rows, mbk_u64 nnz, mbk_u64 tiles,\n"
  "                     MBK_TILE *tile_x, MBK_TILE *tile_y, MBK_DESCRIPTOR *lane_desc) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  const mbk_u32 group = mbk_thread() / MBK_OMEGA, lane = mbk_thread() % MBK_OMEGA;\n"
  "  const mbk_u32 mask = mbk_group_mask();\n"
  "  const mbk_u64 tile = (mbk_u64)mbk_block() * (128 / MBK_OMEGA) + group;\n"
  "  const mbk_u64 path = rows + nnz, start = tile * MBK_TILE_STEPS;\n",
  "  mbk_u32 *bits = (mbk_u32 *)shared + group * MBK_STEP_WORDS;\n"
  "  if (tile >= tiles) {\n"
  "    return;\n"
  "  }\n"
  "  const mbk_u64 end = start + MBK_TILE_STEPS < path ? start + MBK_TILE_STEPS : path;\n"
  "  mbk_u64 bound = 0; // lane 0: the tile's first row; lane 1: the next tile's\n"
  "  if (lane < 2) {\n"
  "    bound = mbk_merge_search(row_ptr, rows, nnz, lane == 0 ? start : end);\n"
  "  }\n"
  "  for (mbk_u32 w = lane; w < MBK_STEP_WORDS; w += MBK_OMEGA) {\n"
  "    bits[w] = 0;\n"
  "  }\n"
  "  const mbk_u64 first_row = mbk_shuffle(mask, bound, 0, MBK_OMEGA);\n"
  "  const mbk_u64 end_row = mbk_shuffle(mask, bound, 1, MBK_OMEGA);\n"
  "  mbk_warp_sync(mask);\n"
  "  for (mbk_u64 row = first_row + lane; row < end_row; row += MBK_OMEGA) {\n"
  "    const mbk_u32 step =\n"
  "        (mbk_u32)((mbk_u64)(mbk_load(row_ptr + row + 1) - MBK_BASE) + row - start);\n"
  "    mbk_atomic_or(bits + (step >> 5), 1u << (step & 31u));\n"
  "  }\n"
  "  mbk_warp_sync(mask);\n"
  "  const mbk_u32 at = lane * MBK_SIGMA, word = at >> 5, shift = at & 31u;\n"
  "  mbk_u64 flags = (((mbk_u64)bits[word + 1] << 32) | bits[word]) >> shift;\n"
  "  if (shift + MBK_SIGMA > 64) {\n"
  "    flags |= (mbk_u64)bits[word + 2] << (64 - shift);\n"
  "  }\n"
  "  flags &= ((mbk_u64)1 << MBK_SIGMA) - 1;\n"
  "  const int count = mbk_popcount(flags);\n"
  "  int y_offset = count; // row steps of this lane and those before it\n"
  "  for (int d = 1; d < MBK_OMEGA; d <<= 1) {\n"
  "    const int before = mbk_shuffle_up(mask, y_offset, d, MBK_OMEGA);\n"
  "    y_offset += (int)lane >= d ? before : 0;\n"
  "  }\n"
  "  y_offset -= count;\n"
  "  const mbk_u32 steps = (mbk_u32)(end - start);\n"
  "  const mbk_u32 x_offset = (at < steps ? at : steps) - (mbk_u32)y_offset;\n"
  "  lane_desc[tile * MBK_OMEGA + lane] = (MBK_DESCRIPTOR)flags << (2 * MBK_COORDINATE_BITS) |\n",
  "                                       (MBK_DESCRIPTOR)y_offset << MBK_COORDINATE_BITS |\n"
  "                                       (MBK_DESCRIPTOR)x_offset;\n"
  "  if (lane == 0) {\n"
  "    tile_x[tile] = (MBK_TILE)(start - first_row);\n"
  "    tile_y[tile] = (MBK_TILE)first_row | (first_row == end_row ? MBK_MARK : (MBK_TILE)0);\n"
  "    if (tile == tiles - 1) {\n"
  "      tile_x[tiles] = (MBK_TILE)nnz;\n"
  "      tile_y[tiles] = (MBK_TILE)rows;\n"
  "    }\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_merbit_cu[] = {
  "// MERBIT: y = alpha A x + beta y over merge-path tiles with packed lane descriptors.\n"
  "// Source: Zhang, Yao, Jiang, Zhang, \"MERBIT: A GPU-Based SpMV Method for Iterative Workloads\",\n"
  "// section 4; the carry-out commit is ours.\n"
  "//\n"
  "// The merge path walks from (0, 0) to (nnz, rows): a nonzero step consumes a nonzero, a row\n"
  "// step ends a row. A tile is omega * sigma steps, a lane sigma steps; a group of omega lanes\n"
  "// works on a tile, and a warp holds 32 / omega groups. Tile t starts at (tile_x[t], tile_y[t]);\n"
  "// the top bit of tile_y marks a tile without a row step. A lane descriptor packs, from the top,\n"
  "// sigma step bits (1: row step), the lane's row offset and its nonzero offset from the tile's\n"
  "// start, MBK_COORDINATE_BITS each.\n"
  "#ifndef MBK_TILE\n"
  "#error \"define MBK_TILE: the type of tile_x and tile_y, mbk_u32 or mbk_u64\"\n"
  "#endif\n"
  "#ifndef MBK_DESCRIPTOR\n"
  "#error \"define MBK_DESCRIPTOR: the type of a lane descriptor, mbk_u32 or mbk_u64\"\n"
  "#endif\n"
  "#ifndef MBK_COORDINATE_BITS\n"
  "#error \"define MBK_COORDINATE_BITS: ceil(log2(omega * sigma))\"\n"
  "#endif\n"
  "#ifndef MBK_SIGMA\n"
  "#error \"define MBK_SIGMA: steps per lane\"\n"
  "#endif\n"
  "#ifndef MBK_OMEGA\n"
  "#error \"define MBK_OMEGA: lanes per tile, 32, 16 or 8\"\n"
  "#endif\n"
  "#ifndef MBK_THREADS\n"
  "#error \"define MBK_THREADS: threads per block of the product, a multiple of 32\"\n"
  "#endif\n"
  "#ifndef MBK_DUAL\n"
  "#error \"define MBK_DUAL: 1 for the dual-buffer commit, 0 for the carry-out commit\"\n"
  "#endif\n"
  "#include \"jit/device.cuh\"\n"
  "#include \"spmv/algebra.cuh\"\n"
  "\n"
  "#define MBK_TILE_STEPS (MBK_OMEGA * MBK_SIGMA)\n"
  "#define MBK_BLOCK_TILES (MBK_THREADS / MBK_OMEGA)\n"
  "#define MBK_MARK ((MBK_TILE)1 << (sizeof(MBK_TILE) * 8 - 1))\n",
  "#define MBK_ROW(entry) ((entry) & (MBK_TILE)~MBK_MARK)\n"
  "// Nonzeros whose loads one lane keeps in flight. More would cost registers and so warps, which\n"
  "// hide more.\n"
  "#define MBK_UNROLL (MBK_SIGMA < 3 ? MBK_SIGMA : 3)\n"
  "\n"
  "// The lanes of this thread's group within its warp.\n"
  "MBK_DEVICE mbk_u32 mbk_group_mask() {\n"
  "#if MBK_OMEGA == 32\n"
  "  return 0xffffffffu;\n"
  "#else\n"
  "  return ((1u << MBK_OMEGA) - 1u) << (mbk_lane() / MBK_OMEGA * MBK_OMEGA);\n"
  "#endif\n"
  "}\n"
  "\n"
  "#include \"spmv/merbit_tile.cuh\"\n"
  "\n"
  "// The matrix's streams and x, from a tile's first nonzero on.\n"
  "struct mbk_stream {\n"
  "  const mbk_i32 *col_ind;\n"
  "  const MBK_VALUE *values;\n"
  "  const MBK_VECTOR *x;\n"
  "};\n"
  "\n"
  "// The products of up to MBK_UNROLL nonzeros of one lane, from nonzero `at` in steps of omega:\n"
  "// all indices and values are in flight before the first x is asked for. Slots at and beyond\n"
  "// `count` stay untouched: padding with zeros would turn an Inf of x into NaN.\n"
  "MBK_DEVICE void mbk_products(const mbk_stream &a, mbk_u32 at, mbk_u32 count,\n"
  "                             MBK_COMPUTE (&product)[MBK_UNROLL]) {\n"
  "  mbk_i32 column[MBK_UNROLL];\n"
  "#pragma unroll\n"
  "  for (int u = 0; u < MBK_UNROLL; u++) {\n"
  "    const mbk_u32 k = at + (mbk_u32)u * MBK_OMEGA;\n"
  "    if (k < count) {\n"
  "      column[u] = mbk_load(a.col_ind + k) - MBK_BASE;\n"
  "#if !MBK_PATTERN\n"
  "      product[u] = (MBK_COMPUTE)mbk_load(a.values + k);\n"
  "#endif\n"
  "    }\n"
  "  }\n"
  "#pragma unroll\n"
  "  for (int u = 0; u < MBK_UNROLL; u++) {\n"
  "    if (at + (mbk_u32)u * MBK_OMEGA < count) {\n"
  "#if MBK_PATTERN\n"
  "      product[u] = (MBK_COMPUTE)mbk_load(a.x + column[u]);\n"
  "#else\n"
  "      product[u] = MBK_MUL(product[u], mbk_load(a.x + column[u]));\n"
  "#endif\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n",
  "// A tile inside one row: its sum, in a fixed order, complete in lane 0 (the long-row path).\n"
  "MBK_DEVICE MBK_COMPUTE mbk_tile_long(const mbk_stream &a, mbk_u32 count, mbk_u32 lane,\n"
  "                                     mbk_u32 mask) {\n"
  "  MBK_COMPUTE sum = MBK_ZERO;\n"
  "  for (mbk_u32 at = lane; at < count; at += MBK_UNROLL * MBK_OMEGA) {\n"
  "    MBK_COMPUTE product[MBK_UNROLL];\n"
  "    mbk_products(a, at, count, product);\n"
  "#pragma unroll\n"
  "    for (int u = 0; u < MBK_UNROLL; u++) {\n"
  "      if (at + (mbk_u32)u * MBK_OMEGA < count) {\n"
  "        sum = MBK_ADD(sum, product[u]);\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "  mbk_warp_sync(mask);\n"
  "#pragma unroll\n"
  "  for (int d = MBK_OMEGA / 2; d > 0; d >>= 1) {\n"
  "    sum = MBK_ADD(sum, mbk_shuffle_down(mask, sum, d, MBK_OMEGA));\n"
  "  }\n"
  "  return sum;\n"
  "}\n"
  "\n"
  "// A tile with row ends (Algorithm 4): each lane walks its steps over the staged products. Row\n"
  "// sums go to `sums`, complete but for what earlier tiles hold of the first; returns what\n"
  "// follows the last row end.\n"
  "MBK_DEVICE MBK_COMPUTE mbk_tile_rows(const MBK_COMPUTE *products, MBK_DESCRIPTOR descriptor,\n"
  "                                     int steps, mbk_u32 lane, mbk_u32 mask, MBK_COMPUTE *sums) {\n"
  "  const MBK_DESCRIPTOR field = ((MBK_DESCRIPTOR)1 << MBK_COORDINATE_BITS) - 1;\n"
  "  const MBK_DESCRIPTOR flags = descriptor >> (2 * MBK_COORDINATE_BITS);\n"
  "  const mbk_u32 first_row = (mbk_u32)(descriptor >> MBK_COORDINATE_BITS & field);\n"
  "  mbk_u32 nonzero = (mbk_u32)(descriptor & field), row = first_row;\n"
  "  MBK_COMPUTE sum = MBK_ZERO, first = MBK_ZERO;\n"
  "#pragma unroll\n"
  "  for (int k = 0; k < MBK_SIGMA; k++) {\n"
  "    if (k < steps) {\n"
  "      if (flags >> k & 1) {\n"
  "        if (row == first_row) {\n"
  "          first = sum;\n"
  "        } else {\n",
  "          sums[row] = sum;\n"
  "        }\n"
  "        sum = MBK_ZERO;\n"
  "        row++;\n"
  "      } else {\n"
  "        sum = MBK_ADD(sum, products[nonzero]);\n"
  "        nonzero++;\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "  // Segmented sum of what each lane holds after its last row end (Algorithm 5): a lane without\n"
  "  // a row end adds what the lanes before it carry, back to and including the nearest one with a\n"
  "  // row end.\n"
  "  const bool ends = row != first_row;\n"
  "  int closed = ends || lane == 0;\n"
  "  for (int d = 1; mbk_ballot(mask, !closed); d <<= 1) {\n"
  "    const MBK_COMPUTE before = mbk_shuffle_up(mask, sum, d, MBK_OMEGA);\n"
  "    const int before_closed = mbk_shuffle_up(mask, closed, d, MBK_OMEGA);\n"
  "    if (!closed && (int)lane >= d) {\n"
  "      sum = MBK_ADD(before, sum);\n"
  "      closed = before_closed;\n"
  "    }\n"
  "  }\n"
  "  const MBK_COMPUTE carried = mbk_shuffle_up(mask, sum, 1, MBK_OMEGA);\n"
  "  if (ends) {\n"
  "    sums[first_row] = lane == 0 ? first : MBK_ADD(carried, first);\n"
  "  }\n"
  "  return mbk_shuffle(mask, sum, MBK_OMEGA - 1, MBK_OMEGA);\n"
  "}\n"
  "\n"
  "// What the block's tiles before tile `t` hold of the row that is open there, in their order:\n"
  "// the tails from the last of them with a row end on. `found` tells if there is such a tile.\n"
  "MBK_DEVICE MBK_COMPUTE mbk_carry(const MBK_COMPUTE *tails, const mbk_u32 *ends, mbk_u32 t,\n"
  "                                 bool &found) {\n"
  "  mbk_u32 from = t;\n"
  "  found = false;\n"
  "  while (from > 0 && !found) {\n"
  "    from--;\n"
  "    found = ends[from] != 0;\n"
  "  }\n"
  "  MBK_COMPUTE sum = MBK_ZERO;\n"
  "  for (; from < t; from++) {\n"
  "    sum = MBK_ADD(sum, tails[from]);\n"
  "  }\n"
  "  return sum;\n"
  "}\n"
  "\n"
  "// The product (Algorithm 3). Launch: MBK_BLOCK_TILES tiles per block. Shared, in this order:\n",
  "// MBK_COMPUTE staged[MBK_BLOCK_TILES][MBK_TILE_STEPS] (a tile's products, then its row sums),\n"
  "// MBK_COMPUTE tails[MBK_BLOCK_TILES], mbk_u32 ends[MBK_BLOCK_TILES].\n"
  "//\n"
  "// A group writes the rows that end in its tile, coalesced, but for the first, which waits for\n"
  "// what earlier tiles of the block carry. The first row end of a block may lack what earlier\n"
  "// blocks hold. Carry-out commit: that part goes to carry_first[block], and what follows the\n"
  "// block's last row end to carry_out[block]; mbk_merbit_fixup adds them up. Dual-buffer commit\n"
  "// (plain A x): both are added to y atomically, and the same entry of z is zeroed for the next\n"
  "// product.\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_THREADS)\n"
  "    mbk_merbit_product(const MBK_TILE *tile_x, const MBK_TILE *tile_y,\n"
  "                       const MBK_DESCRIPTOR *lane_desc, const mbk_i32 *col_ind,\n"
  "                       const MBK_VALUE *values, const MBK_VECTOR *x, MBK_VECTOR *y,\n"
  "                       mbk_u64 path, mbk_u64 tiles,\n"
  "#if MBK_DUAL\n"
  "                       MBK_VECTOR *z, mbk_u64 rows) {\n"
  "  const bool multiply = true;\n"
  "#else\n"
  "                       MBK_COMPUTE *carry_first, MBK_COMPUTE *carry_out,\n"
  "                       MBK_SCALAR_PARAMETERS) {\n"
  "  const bool multiply = MBK_ALPHA != (MBK_COMPUTE)0;\n"
  "#endif\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  const mbk_u32 group = mbk_thread() / MBK_OMEGA, lane = mbk_thread() % MBK_OMEGA;\n"
  "  const mbk_u32 mask = mbk_group_mask();\n"
  "  MBK_COMPUTE *const products = (MBK_COMPUTE *)shared + group * MBK_TILE_STEPS;\n"
  "  MBK_COMPUTE *const tails = (MBK_COMPUTE *)shared + MBK_BLOCK_TILES * MBK_TILE_STEPS;\n"
  "  mbk_u32 *const ends = (mbk_u32 *)(tails + MBK_BLOCK_TILES);\n"
  "  const mbk_u64 tile = (mbk_u64)mbk_block() * MBK_BLOCK_TILES + group;\n",
  "  const bool active = tile < tiles;\n"
  "  MBK_TILE row = 0; // the first row that ends in the tile, or passes through it\n"
  "  mbk_u32 tile_rows = 0;\n"
  "  MBK_COMPUTE *sums = products;\n"
  "  MBK_COMPUTE tail = MBK_ZERO;\n"
  "  if (active) {\n"
  "    const MBK_TILE entry = tile_y[tile], start = tile_x[tile];\n"
  "    const mbk_u32 count = (mbk_u32)(tile_x[tile + 1] - start);\n"
  "    const mbk_stream a = {col_ind + start, MBK_PATTERN ? values : values + start, x};\n"
  "    row = MBK_ROW(entry);\n"
  "    tile_rows = (mbk_u32)(MBK_ROW(tile_y[tile + 1]) - row);\n"
  "    sums = products + count;\n"
  "    if (!multiply) {\n"
  "      for (mbk_u32 i = lane; i < tile_rows; i += MBK_OMEGA) {\n"
  "        sums[i] = MBK_ZERO;\n"
  "      }\n"
  "    } else if (entry & MBK_MARK) {\n"
  "      tail = mbk_tile_long(a, count, lane, mask);\n"
  "    } else {\n"
  "      const MBK_DESCRIPTOR descriptor = mbk_load(lane_desc + tile * MBK_OMEGA + lane);\n"
  "      for (mbk_u32 at = lane; at < count; at += MBK_UNROLL * MBK_OMEGA) {\n"
  "        MBK_COMPUTE product[MBK_UNROLL];\n"
  "        mbk_products(a, at, count, product);\n"
  "#pragma unroll\n"
  "        for (int u = 0; u < MBK_UNROLL; u++) {\n"
  "          const mbk_u32 k = at + (mbk_u32)u * MBK_OMEGA;\n"
  "          if (k < count) {\n"
  "            products[k] = product[u];\n"
  "          }\n"
  "        }\n"
  "      }\n"
  "      mbk_warp_sync(mask);\n"
  "      const mbk_u64 left = path - tile * MBK_TILE_STEPS;\n"
  "      const int steps =\n"
  "          (int)(left < MBK_TILE_STEPS ? left : MBK_TILE_STEPS) - (int)lane * MBK_SIGMA;\n"
  "      tail = mbk_tile_rows(products, descriptor, steps, lane, mask, sums);\n"
  "    }\n"
  "    if (lane == 0) {\n"
  "      tails[group] = tail;\n"
  "      ends[group] = tile_rows;\n"
  "    }\n"
  "    mbk_warp_sync(mask);\n"
  "  }\n"
  "#if !MBK_DUAL\n"
  "  MBK_SCALARS_LOAD;\n"
  "#endif\n",
  "  for (mbk_u32 i = lane == 0 ? MBK_OMEGA : lane; i < tile_rows; i += MBK_OMEGA) {\n"
  "#if MBK_DUAL\n"
  "    y[row + i] = (MBK_VECTOR)sums[i];\n"
  "#else\n"
  "    MBK_COMMIT(row + i, sums[i]);\n"
  "#endif\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  if (!active || lane != 0) {\n"
  "    return;\n"
  "  }\n"
  "\n"
  "  bool found;\n"
  "  const MBK_COMPUTE carry = mbk_carry(tails, ends, group, found);\n"
  "  if (tile_rows > 0) {\n"
  "    const MBK_COMPUTE first = MBK_ADD(carry, sums[0]);\n"
  "    if (found) {\n"
  "#if MBK_DUAL\n"
  "      y[row] = (MBK_VECTOR)first;\n"
  "#else\n"
  "      MBK_COMMIT(row, first);\n"
  "#endif\n"
  "    } else {\n"
  "#if MBK_DUAL\n"
  "      mbk_atomic_add(y + row, (MBK_VECTOR)first);\n"
  "#else\n"
  "      carry_first[mbk_block()] = first;\n"
  "#endif\n"
  "    }\n"
  "  }\n"
  "#if MBK_DUAL\n"
  "  if (group == 0) {\n"
  "    z[row] = (MBK_VECTOR)0;\n"
  "  }\n"
  "#endif\n"
  "  if (group == MBK_BLOCK_TILES - 1 || tile == tiles - 1) {\n"
  "    const MBK_COMPUTE open = tile_rows > 0 ? tail : MBK_ADD(carry, tail);\n"
  "#if MBK_DUAL\n"
  "    if (row + tile_rows < rows) {\n"
  "      mbk_atomic_add(y + row + tile_rows, (MBK_VECTOR)open);\n"
  "    }\n"
  "#else\n"
  "    carry_out[mbk_block()] = open;\n"
  "#endif\n"
  "  }\n"
  "}\n"
  "\n"
  "#if !MBK_DUAL\n"
  "// The first row that ends in each block of the product: what the blocks before it carried since\n"
  "// the row began, then its own part, in that order. A row over many blocks is added up by the\n"
  "// whole thread block. Launch: MBK_FIXUP_THREADS product blocks per block. Shared:\n"
  "// MBK_COMPUTE[MBK_FIXUP_THREADS], then mbk_u32[MBK_FIXUP_THREADS / 32].\n"
  "#define MBK_FIXUP_THREADS 256\n"
  "#define MBK_FIXUP_LONG 24 // carries beyond which a row is shared by the thread block\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_FIXUP_THREADS)\n"
  "    mbk_merbit_fixup(const MBK_ROW_PTR *row_ptr, const MBK_TILE *tile_y,\n",
  "                     const MBK_COMPUTE *carry_first, const MBK_COMPUTE *carry_out,\n"
  "                     MBK_VECTOR *y, mbk_u64 tiles, mbk_u64 blocks, MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SCALARS_LOAD;\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  MBK_COMPUTE *const partial = (MBK_COMPUTE *)shared;\n"
  "  mbk_u32 *const long_rows = (mbk_u32 *)(partial + MBK_FIXUP_THREADS);\n"
  "  const mbk_u64 first_block = (mbk_u64)mbk_block() * MBK_FIXUP_THREADS;\n"
  "  const mbk_u64 block = first_block + mbk_thread();\n"
  "  bool is_long = false;\n"
  "  if (block < blocks) {\n"
  "    const mbk_u64 next = (block + 1) * MBK_BLOCK_TILES;\n"
  "    const mbk_u64 row = MBK_ROW(tile_y[block * MBK_BLOCK_TILES]);\n"
  "    if (MBK_ROW(tile_y[next < tiles ? next : tiles]) > row) {\n"
  "      const mbk_u64 start = (mbk_u64)(row_ptr[row] - MBK_BASE) + row;\n"
  "      mbk_u64 from = start / ((mbk_u64)MBK_TILE_STEPS * MBK_BLOCK_TILES);\n"
  "      is_long = block - from > MBK_FIXUP_LONG;\n"
  "      if (!is_long) {\n"
  "        MBK_COMPUTE sum = MBK_ZERO;\n"
  "        for (; from < block; from++) {\n"
  "          sum = MBK_ADD(sum, carry_out[from]);\n"
  "        }\n"
  "        MBK_COMMIT(row, MBK_ADD(sum, carry_first[block]));\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "  const mbk_u32 ballot = mbk_ballot(0xffffffffu, is_long);\n"
  "  if (mbk_lane() == 0) {\n"
  "    long_rows[mbk_thread() / 32] = ballot;\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  for (mbk_u32 w = 0; w < MBK_FIXUP_THREADS / 32; w++) {\n"
  "    for (mbk_u32 left = long_rows[w]; left != 0; left &= left - 1) {\n"
  "      const mbk_u32 bit = (mbk_u32)mbk_popcount((left & (0u - left)) - 1u);\n"
  "      const mbk_u64 end = first_block + w * 32 + bit;\n"
  "      const mbk_u64 row = MBK_ROW(tile_y[end * MBK_BLOCK_TILES]);\n"
  "      const mbk_u64 start = (mbk_u64)(row_ptr[row] - MBK_BASE) + row;\n",
  "      MBK_COMPUTE sum = MBK_ZERO;\n"
  "      for (mbk_u64 from = start / ((mbk_u64)MBK_TILE_STEPS * MBK_BLOCK_TILES) + mbk_thread();\n"
  "           from < end; from += MBK_FIXUP_THREADS) {\n"
  "        sum = MBK_ADD(sum, carry_out[from]);\n"
  "      }\n"
  "      partial[mbk_thread()] = sum;\n"
  "      mbk_block_sync();\n"
  "      for (mbk_u32 half = MBK_FIXUP_THREADS / 2; half > 0; half /= 2) {\n"
  "        if (mbk_thread() < half) {\n"
  "          partial[mbk_thread()] = MBK_ADD(partial[mbk_thread()], partial[mbk_thread() + half]);\n"
  "        }\n"
  "        mbk_block_sync();\n"
  "      }\n"
  "      if (mbk_thread() == 0) {\n"
  "        MBK_COMMIT(row, MBK_ADD(partial[0], carry_first[end]));\n"
  "      }\n"
  "      mbk_block_sync();\n"
  "    }\n"
  "  }\n"
  "}\n"
  "#endif\n",
  NULL};

static const char *const mbi_source_spmv_ranks_cuh[] = {
  "// Rows that hold something, by their rank among themselves: part of the programs that cut a\n"
  "// matrix into tiles of nonzeros or of blocks.\n"
  "#ifndef MBK_EMPTY_ROWS\n"
  "#error \"define MBK_EMPTY_ROWS: 1 if some rows are empty, so that ranks are not rows\"\n"
  "#endif\n"
  "#define MBK_ALL 0xffffffffu\n"
  "\n"
  "#if MBK_EMPTY_ROWS\n"
  "#define MBK_ROW_OF(rank) mbk_load(row_id + (rank))\n"
  "#else\n"
  "#define MBK_ROW_OF(rank) (rank)\n"
  "#endif\n"
  "\n"
  "// The rank of the row that holds nonzero, or block, number `item`.\n"
  "MBK_DEVICE mbk_u32 mbk_rank_search(const MBK_ROW_PTR *row_start, mbk_u32 ranks, mbk_u64 item) {\n"
  "  mbk_u32 low = 0, high = ranks;\n"
  "  while (high - low > 1) {\n"
  "    const mbk_u32 middle = low + (high - low) / 2;\n"
  "    if ((mbk_u64)(mbk_load(row_start + middle) - MBK_BASE) <= item) {\n"
  "      low = middle;\n"
  "    } else {\n"
  "      high = middle;\n"
  "    }\n"
  "  }\n"
  "  return low;\n"
  "}\n"
  "\n"
  "// The sum over the warp, in every lane, in a fixed order.\n"
  "MBK_DEVICE MBK_COMPUTE mbk_scan_reduce(MBK_COMPUTE sum) {\n"
  "#pragma unroll\n"
  "  for (int d = 16; d > 0; d >>= 1) {\n"
  "    sum = MBK_ADD(sum, mbk_shuffle_xor(MBK_ALL, sum, d, 32));\n"
  "  }\n"
  "  return sum;\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_fixup_cuh[] = {
  "// Rows that cross tiles, after the kernel that left what each tile holds of its first row and\n"
  "// of the one that is open at its end; and empty rows. A row has MBK_PARTS entries of y, one\n"
  "// after the other, and so has each entry of firsts and tails.\n"
  "#ifndef MBK_PARTS\n"
  "#error \"define MBK_PARTS: entries of y per row: 1, or a block's rows\"\n"
  "#endif\n"
  "#ifndef MBK_TILE_ITEMS\n"
  "#error \"define MBK_TILE_ITEMS: nonzeros, or blocks, per tile\"\n"
  "#endif\n"
  "#ifndef MBK_TILE_RANK\n"
  "#error \"define MBK_TILE_RANK(tile): the rank of its first row, at `tiles` the number of ranks\"\n"
  "#endif\n"
  "\n"
  "// A row over many tiles is added up by a warp, over very many by the thread block.\n"
  "#define MBK_FIXUP_THREADS 512\n"
  "#define MBK_FIXUP_LONG 8         // tiles beyond which the warp helps\n"
  "#define MBK_FIXUP_VERY_LONG 1024 // and the thread block\n"
  "\n"
  "// tails[from..to) of one part of a row, dealt to `threads` threads of which this is number\n"
  "// `thread`.\n"
  "MBK_DEVICE MBK_COMPUTE mbk_fixup_tails(const MBK_COMPUTE *tails, mbk_u64 from, mbk_u64 to,\n"
  "                                       mbk_u32 thread, mbk_u32 threads) {\n"
  "  MBK_COMPUTE sum = MBK_ZERO;\n"
  "#pragma unroll 4\n"
  "  for (from += thread; from < to; from += threads) {\n"
  "    sum = MBK_ADD(sum, tails[from * MBK_PARTS]);\n"
  "  }\n"
  "  return sum;\n"
  "}\n"
  "\n"
  "// The last block of rows may reach beyond the matrix.\n"
  "MBK_DEVICE void mbk_fixup_commit(MBK_VECTOR *y, mbk_u64 row, mbk_u32 part, mbk_u64 rows,\n"
  "                                 MBK_COMPUTE sum, MBK_COMPUTE alpha, MBK_COMPUTE beta) {\n"
  "  if (MBK_PARTS == 1) {\n"
  "    MBK_COMMIT(row, sum);\n"
  "  } else if (row * MBK_PARTS + part < rows) {\n"
  "    MBK_COMMIT(row * MBK_PARTS + part, sum);\n"
  "  }\n"
  "}\n"
  "\n",
  "// The first row that ends in each tile: what the tiles before it hold of it, in their order,\n"
  "// then the tile's own part; and the rows that hold nothing. `rows` is needed where MBK_PARTS is\n"
  "// not 1. Launch: MBK_FIXUP_THREADS parts of tiles per block. Shared:\n"
  "// MBK_COMPUTE[MBK_FIXUP_THREADS / 32], then mbk_u32[MBK_FIXUP_THREADS / 32].\n"
  "MBK_DEVICE void mbk_fixup(const MBK_ROW_PTR *row_start, const mbk_u32 *tile_row,\n"
  "                          const mbk_u32 *row_id, const mbk_u32 *empty_id,\n"
  "                          const MBK_COMPUTE *firsts, const MBK_COMPUTE *tails, MBK_VECTOR *y,\n"
  "                          mbk_u64 tiles, mbk_u64 empty_rows, mbk_u64 rows, MBK_COMPUTE *partial,\n"
  "                          MBK_SCALAR_PARAMETERS) {\n"
  "  mbk_u32 *const very_long = (mbk_u32 *)(partial + MBK_FIXUP_THREADS / 32);\n"
  "  const mbk_u64 block_first = (mbk_u64)mbk_block() * MBK_FIXUP_THREADS;\n"
  "  const mbk_u64 item = block_first + mbk_thread();\n"
  "  const mbk_u64 at = item / MBK_PARTS;\n"
  "  const mbk_u32 part = (mbk_u32)(item % MBK_PARTS), warp = mbk_thread() / 32;\n"
  "  mbk_u64 from = 0;\n"
  "  mbk_u32 rank = 0, length = 0; // of the row before this tile, in tiles\n"
  "  bool ending = false;\n"
  "  MBK_COMPUTE own = MBK_ZERO;\n"
  "  mbk_release();\n"
  "  if (at < tiles) {\n"
  "    rank = MBK_TILE_RANK(at);\n"
  "    ending = MBK_TILE_RANK(at + 1) > rank;\n"
  "    if (ending) {\n"
  "      from = (mbk_u64)(mbk_load(row_start + rank) - MBK_BASE) / MBK_TILE_ITEMS;\n"
  "      length = (mbk_u32)(at - from);\n"
  "    }\n"
  "  }\n"
  "  mbk_await();\n"
  "  MBK_SCALARS_LOAD;\n"
  "#if MBK_EMPTY_ROWS\n"
  "  for (mbk_u64 i = item; i < empty_rows * MBK_PARTS;\n"
  "       i += (mbk_u64)mbk_grid() * MBK_FIXUP_THREADS) {\n",
  "    mbk_fixup_commit(y, mbk_load(empty_id + i / MBK_PARTS), (mbk_u32)(i % MBK_PARTS), rows,\n"
  "                     MBK_ZERO, alpha, beta);\n"
  "  }\n"
  "#endif\n"
  "  if (ending) {\n"
  "    own = firsts[item];\n"
  "    if (length <= MBK_FIXUP_LONG) {\n"
  "      MBK_COMPUTE sum = MBK_ZERO;\n"
  "      for (; from < at; from++) {\n"
  "        sum = MBK_ADD(sum, tails[from * MBK_PARTS + part]);\n"
  "      }\n"
  "      mbk_fixup_commit(y, MBK_ROW_OF(rank), part, rows, MBK_ADD(sum, own), alpha, beta);\n"
  "    }\n"
  "  }\n"
  "  mbk_u32 left = mbk_ballot(MBK_ALL, length > MBK_FIXUP_LONG && length <= MBK_FIXUP_VERY_LONG);\n"
  "  for (; left != 0; left &= left - 1) {\n"
  "    const int leader = 31 - mbk_leading_zeros(left & (0u - left));\n"
  "    const mbk_u64 begin = mbk_shuffle(MBK_ALL, from, leader, 32);\n"
  "    const mbk_u64 end = mbk_shuffle(MBK_ALL, at, leader, 32);\n"
  "    const mbk_u32 column = (mbk_u32)mbk_shuffle(MBK_ALL, part, leader, 32);\n"
  "    const MBK_COMPUTE sum =\n"
  "        mbk_scan_reduce(mbk_fixup_tails(tails + column, begin, end, mbk_lane(), 32));\n"
  "    if ((int)mbk_lane() == leader) {\n"
  "      mbk_fixup_commit(y, MBK_ROW_OF(rank), part, rows, MBK_ADD(sum, own), alpha, beta);\n"
  "    }\n"
  "  }\n"
  "  const mbk_u32 ballot = mbk_ballot(MBK_ALL, length > MBK_FIXUP_VERY_LONG);\n"
  "  if (mbk_lane() == 0) {\n"
  "    very_long[warp] = ballot;\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  for (mbk_u32 w = 0; w < MBK_FIXUP_THREADS / 32; w++) {\n"
  "    for (left = very_long[w]; left != 0; left &= left - 1) {\n"
  "      const mbk_u32 leader = 31 - (mbk_u32)mbk_leading_zeros(left & (0u - left));\n"
  "      const mbk_u64 that = block_first + w * 32 + leader, end = that / MBK_PARTS;\n"
  "      const mbk_u64 begin =\n"
  "          (mbk_u64)(row_start[MBK_TILE_RANK(end)] - MBK_BASE) / MBK_TILE_ITEMS;\n",
  "      const MBK_COMPUTE share = mbk_scan_reduce(mbk_fixup_tails(\n"
  "          tails + that % MBK_PARTS, begin, end, mbk_thread(), MBK_FIXUP_THREADS));\n"
  "      if (mbk_lane() == 0) {\n"
  "        partial[warp] = share;\n"
  "      }\n"
  "      mbk_block_sync();\n"
  "      if (mbk_thread() == w * 32 + leader) {\n"
  "        MBK_COMPUTE sum = MBK_ZERO;\n"
  "        for (mbk_u32 p = 0; p < MBK_FIXUP_THREADS / 32; p++) {\n"
  "          sum = MBK_ADD(sum, partial[p]);\n"
  "        }\n"
  "        mbk_fixup_commit(y, MBK_ROW_OF(rank), part, rows, MBK_ADD(sum, own), alpha, beta);\n"
  "      }\n"
  "      mbk_block_sync();\n"
  "    }\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_scan_tile_cuh[] = {
  "// From a tile's products to rows: part of the programs that work on tiles of 32 * MBK_STEPS\n"
  "// nonzeros, with what they are told. Rows are numbered by rank among those that hold something.\n"
  "#ifndef MBK_STEPS\n"
  "#error \"define MBK_STEPS: nonzeros per lane and tile, 1 to 32\"\n"
  "#endif\n"
  "#ifndef MBK_PACK\n"
  "#error                                                                                         \\\n"
  "    \"define MBK_PACK: nonzeros that a lane loads at once, a power of two, at most 16 bytes of sums\"\n"
  "#endif\n"
  "#ifndef MBK_DEPTH\n"
  "#error \"define MBK_DEPTH: ceil(log2) of the longest row, at most 5\"\n"
  "#endif\n"
  "#ifndef MBK_ONCE\n"
  "#error \"define MBK_ONCE: 1 if the matrix is loaded past the caches\"\n"
  "#endif\n"
  "#ifndef MBK_THREADS\n"
  "#error \"define MBK_THREADS: threads per block of the product, a multiple of 32\"\n"
  "#endif\n"
  "#ifndef MBK_BLOCKS\n"
  "#error \"define MBK_BLOCKS: blocks of the product that a multiprocessor should hold\"\n"
  "#endif\n"
  "\n"
  "#include \"spmv/ranks.cuh\"\n"
  "\n"
  "#define MBK_TILE_NONZEROS (32 * MBK_STEPS)\n"
  "#define MBK_GROUPS (MBK_STEPS / MBK_PACK)\n"
  "\n"
  "#if MBK_ONCE\n"
  "#define MBK_MATRIX_LOAD mbk_load_once\n"
  "#define MBK_PACK_LOAD mbk_load_pack_once\n"
  "#else\n"
  "#define MBK_MATRIX_LOAD mbk_load\n"
  "#define MBK_PACK_LOAD mbk_load_pack\n"
  "#endif\n"
  "\n"
  "// The tile's row number `ended`, of which the first `held` have their old y at `old`.\n"
  "MBK_DEVICE void mbk_scan_commit_row(mbk_u32 rank, mbk_u32 ended, MBK_COMPUTE sum,\n"
  "                                    const mbk_u32 *row_id, MBK_VECTOR *y, MBK_COMPUTE alpha,\n"
  "                                    MBK_COMPUTE beta, const MBK_VECTOR *old, mbk_u32 held) {\n"
  "  const mbk_u32 row = MBK_ROW_OF(rank + ended);\n"
  "  const MBK_COMPUTE final = MBK_ADD(MBK_ZERO, sum);\n",
  "  y[row] = MBK_RESULT(final, (ended < held ? old[ended] : y[row]));\n"
  "}\n"
  "\n"
  "// A warp's tile. Lane l has, of each group g of 32 * MBK_PACK nonzeros, MBK_PACK from number\n"
  "// MBK_PACK * l on, as product[g]; products after the last nonzero are zero. Bit k % 32 of word\n"
  "// k / 32, which lane k / 32 holds as `ends`, says that a row ends with nonzero k. The rows that\n"
  "// end in the tile are committed but for the first, whose part goes to firsts[tile]; what\n"
  "// follows the last row end goes to tails[tile]. mbk_scan_fixup puts these together. `rank` is\n"
  "// that of the tile's first row; the first `held` of its rows have their old y at `old`.\n"
  "MBK_DEVICE void mbk_scan_commit(const MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK],\n"
  "                                mbk_u32 ends, mbk_u32 rank, mbk_u64 tile, const mbk_u32 *row_id,\n"
  "                                MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails,\n"
  "                                MBK_COMPUTE alpha, MBK_COMPUTE beta, const MBK_VECTOR *old,\n"
  "                                mbk_u32 held) {\n"
  "  const mbk_u32 lane = mbk_lane();\n"
  "  mbk_u32 before = (mbk_u32)mbk_popcount(ends); // row ends before each word\n"
  "#pragma unroll\n"
  "  for (int d = 1; d < MBK_STEPS; d <<= 1) {\n"
  "    const mbk_u32 other = mbk_shuffle_up(MBK_ALL, before, d, 32);\n"
  "    before += (int)lane >= d ? other : 0;\n"
  "  }\n"
  "  before -= (mbk_u32)mbk_popcount(ends);\n"
  "  MBK_COMPUTE carry = MBK_ZERO; // of the open row: what each lane holds of it\n"
  "  bool spread = false;          // more than lane 31 holds some\n"
  "#pragma unroll\n"
  "  for (int g = 0; g < MBK_GROUPS; g++) {\n"
  "    const int word_lane = MBK_PACK * g + (int)lane * MBK_PACK / 32;\n"
  "    const mbk_u32 word = mbk_shuffle(MBK_ALL, ends, word_lane, 32);\n",
  "    const mbk_u32 bit = lane * MBK_PACK % 32;\n"
  "    const mbk_u32 own = word >> bit & ((1u << MBK_PACK) - 1);\n"
  "    const mbk_u32 closed = mbk_ballot(MBK_ALL, own != 0);\n"
  "    if (closed == 0) {\n"
  "#pragma unroll\n"
  "      for (int j = 0; j < MBK_PACK; j++) {\n"
  "        carry = MBK_ADD(carry, product[g][j]);\n"
  "      }\n"
  "      spread = true;\n"
  "      continue;\n"
  "    }\n"
  "    const MBK_COMPUTE open =\n"
  "        spread ? mbk_scan_reduce(carry) : mbk_shuffle(MBK_ALL, carry, 31, 32);\n"
  "    mbk_u32 ended = mbk_shuffle(MBK_ALL, before, word_lane, 32) +\n"
  "                    (mbk_u32)mbk_popcount(word & ((1u << bit) - 1));\n"
  "    const mbk_u32 first = ended;\n"
  "    MBK_COMPUTE sum = lane == 0 ? open : MBK_ZERO, head = MBK_ZERO;\n"
  "#pragma unroll\n"
  "    for (int j = 0; j < MBK_PACK; j++) {\n"
  "      sum = MBK_ADD(sum, product[g][j]);\n"
  "      if (own >> j & 1) {\n"
  "        if (ended == first) {\n"
  "          head = sum; // the lanes before may hold some of it\n"
  "        } else {\n"
  "          mbk_scan_commit_row(rank, ended, sum, row_id, y, alpha, beta, old, held);\n"
  "        }\n"
  "        ended++;\n"
  "        sum = MBK_ZERO;\n"
  "      }\n"
  "    }\n"
  "    // What the lanes from the last closed one on hold of the row that is open behind each.\n"
  "    const mbk_u32 until = closed & (0xffffffffu >> (31 - lane));\n"
  "    const int distance = (int)lane - (until != 0 ? 31 - mbk_leading_zeros(until) : 0);\n"
  "#pragma unroll\n"
  "    for (int d = 1; d < 1 << MBK_DEPTH; d <<= 1) {\n"
  "      const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, d, 32);\n"
  "      if (distance >= d) {\n"
  "        sum = MBK_ADD(other, sum);\n"
  "      }\n"
  "    }\n"
  "    const MBK_COMPUTE earlier = mbk_shuffle_up(MBK_ALL, sum, 1, 32);\n"
  "    if (own != 0) {\n"
  "      head = lane > 0 ? MBK_ADD(earlier, head) : head;\n",
  "      if (first == 0) {\n"
  "        firsts[tile] = head;\n"
  "      } else {\n"
  "        mbk_scan_commit_row(rank, first, head, row_id, y, alpha, beta, old, held);\n"
  "      }\n"
  "    }\n"
  "    spread = false;\n"
  "    carry = lane == 31 ? sum : MBK_ZERO;\n"
  "  }\n"
  "  if (spread) {\n"
  "    carry = mbk_scan_reduce(carry);\n"
  "  }\n"
  "  if (lane == 31) {\n"
  "    tails[tile] = carry;\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_scan_products_cuh[] = {
  "// The products of a tile in registers: part of the programs that work on tiles of 32 *\n"
  "// MBK_STEPS nonzeros straight from CSR, whose macros it uses.\n"
  "#ifndef MBK_TILE_NONZEROS\n"
  "#error \"include spmv/scan_tile.cuh before\"\n"
  "#endif\n"
  "#ifndef MBK_ALIGNED\n"
  "#error \"define MBK_ALIGNED: 1 if col_ind and values start at multiples of 16 bytes\"\n"
  "#endif\n"
  "\n"
  "// What x is to a tile, and its factor for what stands in the place of a column.\n"
  "#ifndef MBK_GATHER\n"
  "#define MBK_SOURCE const MBK_VECTOR *\n"
  "#define MBK_GATHER(source, column) mbk_load((source) + ((column)-MBK_BASE))\n"
  "#define MBK_AWAIT(source, column) mbk_await_at(source, column)\n"
  "#endif\n"
  "\n"
  "// MBK_PACK neighbours at `address`, the first `count` of which are there.\n"
  "template <bool full, class T>\n"
  "MBK_DEVICE void mbk_scan_load(const T *address, mbk_u32 count, T (&some)[MBK_PACK]) {\n"
  "  if (full && MBK_ALIGNED) {\n"
  "    const mbk_pack<T, MBK_PACK> pack = MBK_PACK_LOAD<T, MBK_PACK>(address);\n"
  "#pragma unroll\n"
  "    for (int j = 0; j < MBK_PACK; j++) {\n"
  "      some[j] = pack.at[j];\n"
  "    }\n"
  "  } else {\n"
  "#pragma unroll\n"
  "    for (mbk_u32 j = 0; j < MBK_PACK; j++) {\n"
  "      some[j] = full || j < count ? MBK_MATRIX_LOAD(address + j) : (T)0;\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n"
  "// The rows that end in a tile: ranks from `from` up to `to`.\n"
  "struct mbk_scan_rows {\n"
  "  const mbk_u32 *row_id;\n"
  "  const MBK_VECTOR *y;\n"
  "  mbk_u32 from, to;\n"
  "};\n"
  "\n"
  "// The old y of the first 32 of them, a lane each: no commit is to wait for memory. What comes\n"
  "// behind is brought closer where it is contiguous; where nothing does, the first is named\n"
  "// again, for a branch would cost registers.\n"
  "MBK_DEVICE MBK_VECTOR mbk_scan_old(const mbk_scan_rows &rows) {\n",
  "  const mbk_u32 *const row_id = rows.row_id;\n"
  "  const mbk_u32 lane = mbk_lane(), count = rows.to - rows.from;\n"
  "#if !MBK_EMPTY_ROWS\n"
  "  const mbk_u32 ahead = 32 + lane * (128 / sizeof(MBK_VECTOR));\n"
  "  mbk_prefetch(rows.y + rows.from + (ahead < count ? ahead : 0));\n"
  "  (void)row_id;\n"
  "#endif\n"
  "  return lane < count ? rows.y[MBK_ROW_OF(rows.from + lane)] : (MBK_VECTOR)0;\n"
  "}\n"
  "\n"
  "// The products of a tile; those at and beyond `count` become zero, for they follow every row\n"
  "// end. All loads of a lane are in flight together, those of the old y among them\n"
  "// where it is added to.\n"
  "template <bool adds, bool full>\n"
  "MBK_DEVICE void mbk_scan_products(const mbk_i32 *col_ind, const MBK_VALUE *values, MBK_SOURCE x,\n"
  "                                  mbk_u32 count, const mbk_scan_rows &rows,\n"
  "                                  MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK],\n"
  "                                  MBK_VECTOR &old) {\n"
  "  mbk_i32 column[MBK_GROUPS][MBK_PACK];\n"
  "#if !MBK_PATTERN\n"
  "  MBK_VALUE value[MBK_GROUPS][MBK_PACK];\n"
  "#endif\n"
  "#pragma unroll\n"
  "  for (int g = 0; g < MBK_GROUPS; g++) {\n"
  "    const mbk_u32 k = MBK_PACK * (32 * g + mbk_lane()), left = k < count ? count - k : 0;\n"
  "    mbk_scan_load<full>(col_ind + k, left, column[g]);\n"
  "#if !MBK_PATTERN\n"
  "    mbk_scan_load<full>(values + k, left, value[g]);\n"
  "#endif\n"
  "  }\n"
  "  MBK_AWAIT(x, column);\n"
  "  old = adds ? mbk_scan_old(rows) : (MBK_VECTOR)0;\n"
  "#pragma unroll\n"
  "  for (int g = 0; g < MBK_GROUPS; g++) {\n"
  "#pragma unroll\n"
  "    for (int j = 0; j < MBK_PACK; j++) {\n"
  "      product[g][j] = MBK_ZERO;\n"
  "      if (full || MBK_PACK * (32 * g + mbk_lane()) + j < count) {\n"
  "        const MBK_VECTOR factor = MBK_GATHER(x, column[g][j]);\n"
  "#if MBK_PATTERN\n",
  "        product[g][j] = MBK_UNIT(values, factor);\n"
  "#else\n"
  "        product[g][j] = MBK_MUL(value[g][j], factor);\n"
  "#endif\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n"
  "// The same for the tile whose first nonzero is number `start` of `nnz`; with alpha 0 nothing is\n"
  "// read of the matrix or of x. Returns the old y of one of the tile's rows, if it is wanted.\n"
  "template <bool adds>\n"
  "MBK_DEVICE MBK_VECTOR mbk_scan_multiply(const mbk_i32 *col_ind, const MBK_VALUE *values,\n"
  "                                        MBK_SOURCE x, mbk_u64 start, mbk_u64 nnz,\n"
  "                                        const mbk_scan_rows &rows, MBK_COMPUTE alpha,\n"
  "                                        MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK]) {\n"
  "  MBK_VECTOR old;\n"
  "  if (alpha == (MBK_COMPUTE)0) {\n"
  "    mbk_await();\n"
  "    old = adds ? mbk_scan_old(rows) : (MBK_VECTOR)0;\n"
  "#pragma unroll\n"
  "    for (int g = 0; g < MBK_GROUPS; g++) {\n"
  "#pragma unroll\n"
  "      for (int j = 0; j < MBK_PACK; j++) {\n"
  "        product[g][j] = MBK_ZERO;\n"
  "      }\n"
  "    }\n"
  "  } else if (start + MBK_TILE_NONZEROS <= nnz) {\n"
  "    mbk_scan_products<adds, true>(col_ind + start, MBK_PATTERN ? values : values + start, x, 0,\n"
  "                                  rows, product, old);\n"
  "  } else {\n"
  "    mbk_scan_products<adds, false>(col_ind + start, MBK_PATTERN ? values : values + start, x,\n"
  "                                   (mbk_u32)(nnz - start), rows, product, old);\n"
  "  }\n"
  "  return old;\n"
  "}\n"
  "\n"
  "// Tile `tile`, taken by a warp; where `adds` with the old y, which is held in shared memory\n"
  "// from when the nonzeros are loaded: `old` is the warp's MBK_VECTOR[32]. Without, beta must be\n"
  "// zero.\n"
  "template <bool adds>\n"
  "MBK_DEVICE void\n",
  "mbk_scan_take(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,\n"
  "              const mbk_i32 *col_ind, const MBK_VALUE *values, MBK_SOURCE x, MBK_VECTOR *y,\n"
  "              MBK_COMPUTE *firsts, MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tile,\n"
  "              MBK_COMPUTE alpha, MBK_COMPUTE beta, MBK_VECTOR *old) {\n"
  "  const mbk_u32 lane = mbk_lane();\n"
  "  const mbk_u32 ends = lane < MBK_STEPS ? mbk_load(row_ends + tile * MBK_STEPS + lane) : 0;\n"
  "  const mbk_u32 rank = mbk_load(tile_row + tile);\n"
  "  MBK_COMPUTE product[MBK_GROUPS][MBK_PACK];\n"
  "  const mbk_scan_rows rows = {row_id, y, rank, adds ? mbk_load(tile_row + tile + 1) : 0};\n"
  "  const MBK_VECTOR held = mbk_scan_multiply<adds>(col_ind, values, x, tile * MBK_TILE_NONZEROS,\n"
  "                                                  nnz, rows, alpha, product);\n"
  "  if (adds) {\n"
  "    old[lane] = held;\n"
  "    mbk_warp_sync(MBK_ALL);\n"
  "  }\n"
  "  mbk_scan_commit(product, ends, rank, tile, row_id, y, firsts, tails, alpha, beta, old,\n"
  "                  adds ? 32 : 0);\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_scan_build_cuh[] = {
  "// The schedule of tiles of nonzeros, built on the GPU: part of the programs that work on them.\n"
  "#ifndef MBK_TILE_NONZEROS\n"
  "#error \"include spmv/scan_tile.cuh before\"\n"
  "#endif\n"
  "\n"
  "// row_ends and tile_row. Launch: one warp per tile, 128 threads per block. Shared:\n"
  "// mbk_u32[4][MBK_STEPS].\n"
  "MBK_KERNEL MBK_BOUNDS(128)\n"
  "    mbk_scan_build(const MBK_ROW_PTR *row_start, mbk_u32 ranks, mbk_u64 nnz, mbk_u64 tiles,\n"
  "                   mbk_u32 *row_ends, mbk_u32 *tile_row) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_u32 *const words = (mbk_u32 *)shared + mbk_thread() / 32 * MBK_STEPS;\n"
  "  const mbk_u64 tile = (mbk_u64)mbk_block() * 4 + mbk_thread() / 32;\n"
  "  const mbk_u32 lane = mbk_lane();\n"
  "  if (tile >= tiles) {\n"
  "    return;\n"
  "  }\n"
  "  const mbk_u64 start = tile * MBK_TILE_NONZEROS;\n"
  "  mbk_u32 bound = ranks; // lane 0: the tile's first row; lane 1: the next tile's\n"
  "  if (lane < 2 && start + lane * MBK_TILE_NONZEROS < nnz) {\n"
  "    bound = mbk_rank_search(row_start, ranks, start + lane * MBK_TILE_NONZEROS);\n"
  "  }\n"
  "  if (lane < MBK_STEPS) {\n"
  "    words[lane] = 0;\n"
  "  }\n"
  "  const mbk_u32 from = mbk_shuffle(MBK_ALL, bound, 0, 32);\n"
  "  const mbk_u32 to = mbk_shuffle(MBK_ALL, bound, 1, 32);\n"
  "  mbk_warp_sync(MBK_ALL);\n"
  "  for (mbk_u32 rank = from + lane; rank < to; rank += 32) {\n"
  "    const mbk_u32 at =\n"
  "        (mbk_u32)((mbk_u64)(mbk_load(row_start + rank + 1) - MBK_BASE) - 1 - start);\n"
  "    mbk_atomic_or(words + (at >> 5), 1u << (at & 31u));\n"
  "  }\n"
  "  mbk_warp_sync(MBK_ALL);\n"
  "  if (lane < MBK_STEPS) {\n"
  "    row_ends[tile * MBK_STEPS + lane] = words[lane];\n"
  "  }\n"
  "  if (lane == 0) {\n"
  "    tile_row[tile] = from;\n"
  "    if (tile == tiles - 1) {\n"
  "      tile_row[tiles] = ranks;\n"
  "    }\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_scan_fixup_cuh[] = {
  "// Rows that cross tiles, after the kernel that used spmv/scan_tile.cuh; and empty rows.\n"
  "#ifndef MBK_TILE_NONZEROS\n"
  "#error \"include spmv/scan_tile.cuh before\"\n"
  "#endif\n"
  "#define MBK_PARTS 1\n"
  "#define MBK_TILE_ITEMS MBK_TILE_NONZEROS\n"
  "#define MBK_TILE_RANK(tile) mbk_load(tile_row + (tile))\n"
  "#include \"spmv/fixup.cuh\"\n"
  "\n"
  "// Launch: MBK_FIXUP_THREADS tiles per block. Shared: as mbk_fixup.\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_FIXUP_THREADS)\n"
  "    mbk_scan_fixup(const MBK_ROW_PTR *row_start, const mbk_u32 *tile_row, const mbk_u32 *row_id,\n"
  "                   const mbk_u32 *empty_id, const MBK_COMPUTE *firsts, const MBK_COMPUTE *tails,\n"
  "                   MBK_VECTOR *y, mbk_u64 tiles, mbk_u64 empty_rows, MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_fixup(row_start, tile_row, row_id, empty_id, firsts, tails, y, tiles, empty_rows, 0,\n"
  "            (MBK_COMPUTE *)shared, MBK_SCALAR_ARGUMENTS);\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_scan_cu[] = {
  "// Register scan: y = alpha A x + beta y over tiles of 32 * MBK_STEPS consecutive nonzeros, one\n"
  "// bit per nonzero for \"ends its row\", and a segmented sum by shuffles.\n"
  "// Source: the idea of a bit per nonzero is of CSR5 (Liu, Vinter, ICS 2015) and yaSpMV; tiles in\n"
  "// coalesced order whose sums stay in registers, which leaves L1 to x, are ours.\n"
  "//\n"
  "// A warp owns a tile. Its lanes take MBK_PACK neighbours each, again and again; the bits of the\n"
  "// nonzeros from 32 i on are word i of the tile's row_ends. Rows are numbered by rank among\n"
  "// those that hold something; tile_row[t] is the rank of the row of tile t's first nonzero,\n"
  "// tile_row[tiles] the number of ranks.\n"
  "#include \"jit/device.cuh\"\n"
  "#include \"spmv/algebra.cuh\"\n"
  "\n"
  "#include \"spmv/scan_tile.cuh\"\n"
  "\n"
  "#include \"spmv/scan_products.cuh\"\n"
  "\n"
  "#include \"spmv/scan_build.cuh\"\n"
  "#include \"spmv/scan_fixup.cuh\"\n"
  "\n"
  "// A warp's tile.\n"
  "template <bool adds>\n"
  "MBK_DEVICE void\n"
  "mbk_scan_run(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,\n"
  "             const mbk_i32 *col_ind, const MBK_VALUE *values, const MBK_VECTOR *x,\n"
  "             MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles,\n"
  "             MBK_COMPUTE alpha, MBK_COMPUTE beta, MBK_VECTOR *old) {\n"
  "  const mbk_u32 tile = mbk_block() * (MBK_THREADS / 32) + mbk_thread() / 32;\n"
  "  mbk_release();\n"
  "  if (tile < tiles) {\n"
  "    mbk_scan_take<adds>(row_ends, tile_row, row_id, col_ind, values, x, y, firsts, tails, nnz,\n"
  "                        tile, alpha, beta, adds ? old + mbk_thread() / 32 * 32 : old);\n"
  "  }\n"
  "}\n"
  "\n"
  "// Launch: one warp per tile. mbk_scan_fixup follows. beta must be zero.\n"
  "MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)\n",
  "    mbk_scan_product(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,\n"
  "                     const mbk_i32 *col_ind, const MBK_VALUE *values, const MBK_VECTOR *x,\n"
  "                     MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails, mbk_u64 nnz,\n"
  "                     mbk_u64 tiles, MBK_SCALAR_PARAMETERS) {\n"
  "  mbk_scan_run<false>(row_ends, tile_row, row_id, col_ind, values, x, y, firsts, tails, nnz,\n"
  "                      tiles, MBK_ALPHA, (MBK_COMPUTE)0, (MBK_VECTOR *)0);\n"
  "}\n"
  "\n"
  "// Blocks that a multiprocessor should hold of the kernel that adds the old y: with scalars on\n"
  "// the device, rows by their numbers, or packs of two, it would spill where the other does not.\n"
  "#if MBK_BLOCKS > 1 && (MBK_PACK < 4 || MBK_SCALARS_DEVICE || MBK_EMPTY_ROWS)\n"
  "#define MBK_SUM_BLOCKS (5 * MBK_BLOCKS / 6)\n"
  "#else\n"
  "#define MBK_SUM_BLOCKS MBK_BLOCKS\n"
  "#endif\n"
  "\n"
  "// The same with any beta. Shared: MBK_VECTOR[MBK_THREADS].\n"
  "MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_SUM_BLOCKS)\n"
  "    mbk_scan_sum(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,\n"
  "                 const mbk_i32 *col_ind, const MBK_VALUE *values, const MBK_VECTOR *x,\n"
  "                 MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails, mbk_u64 nnz,\n"
  "                 mbk_u64 tiles, MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  MBK_SCALARS_LOAD;\n"
  "  mbk_scan_run<true>(row_ends, tile_row, row_id, col_ind, values, x, y, firsts, tails, nnz,\n"
  "                     tiles, alpha, beta, (MBK_VECTOR *)shared);\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_scan_whole_cu[] = {
  "// Register scan of whole rows: y = alpha A x + beta y in one launch, for matrices so small that\n"
  "// a second one would show. Tiles as in spmv/scan.cu; but a thread block takes whole rows, and\n"
  "// its warps hand each other in shared memory what they hold of a row.\n"
  "// Source: row-aligned blocks are of CSR-Stream (Greathouse, Daga, SC14); blocks that begin at\n"
  "// the first row start behind an even cut of the nonzeros, so that the cuts need no search, are\n"
  "// ours.\n"
  "//\n"
  "// Block b takes the rows that begin in the nonzeros of the tiles from b * (MBK_WARPS - 1) on,\n"
  "// up to those of the next block: the nonzeros [block_start[b], block_start[b + 1]), which may\n"
  "// reach into tiles that belong to the blocks beside it.\n"
  "#include \"jit/device.cuh\"\n"
  "#include \"spmv/algebra.cuh\"\n"
  "\n"
  "#include \"spmv/scan_tile.cuh\"\n"
  "\n"
  "#include \"spmv/scan_products.cuh\"\n"
  "\n"
  "#include \"spmv/scan_build.cuh\"\n"
  "\n"
  "#define MBK_WARPS (MBK_THREADS / 32)\n"
  "\n"
  "// block_start[0..blocks]. Launch: one thread for each, 128 per block.\n"
  "MBK_KERNEL MBK_BOUNDS(128)\n"
  "    mbk_scan_cut(const MBK_ROW_PTR *row_start, const mbk_u32 *tile_row, mbk_u64 nnz,\n"
  "                 mbk_u64 tiles, mbk_u64 blocks, mbk_u64 *block_start) {\n"
  "  const mbk_u64 at = (mbk_u64)mbk_block() * 128 + mbk_thread();\n"
  "  const mbk_u64 tile = at * (MBK_WARPS - 1);\n"
  "  mbk_u64 cut = nnz;\n"
  "  if (at > blocks) {\n"
  "    return;\n"
  "  }\n"
  "  if (tile < tiles) {\n"
  "    const mbk_u32 rank = mbk_load(tile_row + tile);\n"
  "    cut = (mbk_u64)(mbk_load(row_start + rank) - MBK_BASE);\n"
  "    if (cut < tile * MBK_TILE_NONZEROS) {\n"
  "      cut = (mbk_u64)(mbk_load(row_start + rank + 1) - MBK_BASE);\n"
  "    }\n"
  "  }\n"
  "  block_start[at] = cut;\n"
  "}\n"
  "\n",
  "// The bits of a lane's word of row ends that stand for the tile's first `count` nonzeros.\n"
  "MBK_DEVICE mbk_u32 mbk_scan_below(mbk_u64 count) {\n"
  "  const mbk_u64 first = 32 * mbk_lane();\n"
  "  return count <= first        ? 0\n"
  "         : count >= first + 32 ? 0xffffffffu\n"
  "                               : (1u << (mbk_u32)(count - first)) - 1;\n"
  "}\n"
  "\n"
  "// A block's rows; where `adds` with the old y, which is held in shared memory from when the\n"
  "// nonzeros are loaded. Without, beta must be zero.\n"
  "template <bool adds>\n"
  "MBK_DEVICE void mbk_scan_run(const mbk_u32 *row_ends, const mbk_u32 *tile_row,\n"
  "                             const mbk_u32 *row_id, const mbk_u32 *empty_id,\n"
  "                             const mbk_u64 *block_start, const mbk_i32 *col_ind,\n"
  "                             const MBK_VALUE *values, const MBK_VECTOR *x, MBK_VECTOR *y,\n"
  "                             mbk_u64 nnz, mbk_u64 tiles, mbk_u64 empty_rows, MBK_COMPUTE alpha,\n"
  "                             MBK_COMPUTE beta, char *shared) {\n"
  "  // Two of each, used in turn: a warp may be one round ahead of those that still read.\n"
  "  MBK_COMPUTE *const firsts = (MBK_COMPUTE *)shared;\n"
  "  MBK_COMPUTE *const tails = firsts + 2 * MBK_WARPS;\n"
  "  mbk_u32 *const closes = (mbk_u32 *)(tails + 2 * MBK_WARPS);\n"
  "  MBK_VECTOR *const old = (MBK_VECTOR *)(closes + 2 * MBK_WARPS) + mbk_thread() / 32 * 32;\n"
  "  const mbk_u32 warp = mbk_thread() / 32, lane = mbk_lane();\n"
  "  const mbk_u64 begin = mbk_load(block_start + mbk_block());\n"
  "  const mbk_u64 end = mbk_load(block_start + mbk_block() + 1);\n"
  "  mbk_u64 block_tile = (mbk_u64)mbk_block() * (MBK_WARPS - 1);\n"
  "  mbk_u32 turn = 0;\n"
  "  // Of the row that the rounds before left open: the block's last, for no other one reaches\n",
  "  // beyond its first round.\n"
  "  MBK_COMPUTE open = MBK_ZERO;\n"
  "  mbk_release();\n"
  "  for (;;) {\n"
  "    const mbk_u64 tile = block_tile + warp, start = tile * MBK_TILE_NONZEROS;\n"
  "    const mbk_u32 slot = turn + warp;\n"
  "    mbk_u32 ends = 0, rank = 0;\n"
  "    // In the first round no load waits for block_start.\n"
  "    if (tile < tiles && (block_tile == (mbk_u64)mbk_block() * (MBK_WARPS - 1) || start < end)) {\n"
  "      MBK_COMPUTE product[MBK_GROUPS][MBK_PACK];\n"
  "      ends = lane < MBK_STEPS ? mbk_load(row_ends + tile * MBK_STEPS + lane) : 0;\n"
  "      rank = mbk_load(tile_row + tile);\n"
  "      const mbk_scan_rows rows = {row_id, y, rank, adds ? mbk_load(tile_row + tile + 1) : 0};\n"
  "      mbk_u32 skipped_rows = 0;\n"
  "      const MBK_VECTOR held =\n"
  "          mbk_scan_multiply<adds>(col_ind, values, x, start, nnz, rows, alpha, product);\n"
  "      if (adds) {\n"
  "        old[lane] = held;\n"
  "        mbk_warp_sync(MBK_ALL);\n"
  "      }\n"
  "      if (begin > start) { // what comes before belongs to the block before\n"
  "        const mbk_u32 skipped = mbk_scan_below(begin - start);\n"
  "        mbk_u32 closed = (mbk_u32)mbk_popcount(ends & skipped);\n"
  "#pragma unroll\n"
  "        for (int d = 16; d > 0; d >>= 1) {\n"
  "          closed += mbk_shuffle_xor(MBK_ALL, closed, d, 32);\n"
  "        }\n"
  "        skipped_rows = closed;\n"
  "        ends &= ~skipped;\n"
  "#pragma unroll\n"
  "        for (int g = 0; g < MBK_GROUPS; g++) {\n"
  "#pragma unroll\n"
  "          for (int j = 0; j < MBK_PACK; j++) {\n"
  "            if (MBK_PACK * (32 * g + lane) + j < begin - start) {\n"
  "              product[g][j] = MBK_ZERO;\n"
  "            }\n"
  "          }\n"
  "        }\n"
  "      }\n"
  "      ends &= mbk_scan_below(end > start ? end - start : 0);\n"
  "      rank += skipped_rows;\n",
  "      mbk_scan_commit(product, ends, rank, slot, row_id, y, firsts, tails, alpha, beta,\n"
  "                      old + skipped_rows, adds && skipped_rows < 32 ? 32 - skipped_rows : 0);\n"
  "    } else if (lane == 31) {\n"
  "      tails[slot] = MBK_ZERO;\n"
  "    }\n"
  "    const bool closing = mbk_ballot(MBK_ALL, ends != 0) != 0;\n"
  "    if (lane == 0) {\n"
  "      closes[slot] = closing;\n"
  "    }\n"
  "    mbk_block_sync();\n"
  "    const MBK_COMPUTE tail = lane < MBK_WARPS ? tails[turn + lane] : MBK_ZERO;\n"
  "    const mbk_u32 closers = mbk_ballot(MBK_ALL, lane < MBK_WARPS && closes[turn + lane] != 0);\n"
  "    if (closing) { // the warp's first row: since the last warp before that closed one\n"
  "      const mbk_u32 before = closers & ((1u << warp) - 1);\n"
  "      const mbk_u32 from = before != 0 ? 31 - (mbk_u32)mbk_leading_zeros(before) : 0;\n"
  "      const MBK_COMPUTE part = mbk_scan_reduce(lane >= from && lane < warp ? tail : MBK_ZERO);\n"
  "      if (lane == 0) {\n"
  "        MBK_COMMIT(MBK_ROW_OF(rank), MBK_ADD(MBK_ADD(open, part), firsts[slot]));\n"
  "      }\n"
  "    }\n"
  "    block_tile += MBK_WARPS;\n"
  "    if (begin == end || block_tile * MBK_TILE_NONZEROS >= end) {\n"
  "      break;\n"
  "    }\n"
  "    const mbk_u32 last = closers != 0 ? 31 - (mbk_u32)mbk_leading_zeros(closers) : 0;\n"
  "    open = MBK_ADD(open, mbk_scan_reduce(lane >= last ? tail : MBK_ZERO));\n"
  "    turn = MBK_WARPS - turn;\n"
  "  }\n"
  "#if MBK_EMPTY_ROWS\n"
  "  mbk_await();\n"
  "  for (mbk_u64 i = (mbk_u64)mbk_block() * MBK_THREADS + mbk_thread(); i < empty_rows;\n"
  "       i += (mbk_u64)mbk_grid() * MBK_THREADS) {\n"
  "    MBK_COMMIT(mbk_load(empty_id + i), MBK_ZERO);\n"
  "  }\n"
  "#endif\n"
  "}\n"
  "\n"
  "// Launch: MBK_THREADS per block, of at least 64. Shared: MBK_COMPUTE[4 * MBK_WARPS], then\n",
  "// mbk_u32[2 * MBK_WARPS]. beta must be zero.\n"
  "MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)\n"
  "    mbk_scan_whole(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,\n"
  "                   const mbk_u32 *empty_id, const mbk_u64 *block_start, const mbk_i32 *col_ind,\n"
  "                   const MBK_VALUE *values, const MBK_VECTOR *x, MBK_VECTOR *y, mbk_u64 nnz,\n"
  "                   mbk_u64 tiles, mbk_u64 empty_rows, MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_scan_run<false>(row_ends, tile_row, row_id, empty_id, block_start, col_ind, values, x, y,\n"
  "                      nnz, tiles, empty_rows, MBK_ALPHA, (MBK_COMPUTE)0, (char *)shared);\n"
  "}\n"
  "\n"
  "// Fewer blocks to a multiprocessor than without the old y: it takes registers.\n"
  "#define MBK_SUM_BLOCKS ((2 * MBK_BLOCKS + 1) / 3)\n"
  "\n"
  "// The same with any beta. Shared: also MBK_VECTOR[MBK_THREADS].\n"
  "MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_SUM_BLOCKS)\n"
  "    mbk_scan_whole_sum(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,\n"
  "                       const mbk_u32 *empty_id, const mbk_u64 *block_start,\n"
  "                       const mbk_i32 *col_ind, const MBK_VALUE *values, const MBK_VECTOR *x,\n"
  "                       MBK_VECTOR *y, mbk_u64 nnz, mbk_u64 tiles, mbk_u64 empty_rows,\n"
  "                       MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  MBK_SCALARS_LOAD;\n"
  "  mbk_scan_run<true>(row_ends, tile_row, row_id, empty_id, block_start, col_ind, values, x, y,\n"
  "                     nnz, tiles, empty_rows, alpha, beta, (char *)shared);\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_binned_build_cuh[] = {
  "// The runs of the binned product, built on the GPU: part of spmv/binned.cu, whose macros it\n"
  "// uses. runs[strip * parts + part] is first the number of groups of a run, then its first group\n"
  "// in the order of phase 1.\n"
  "#ifndef MBK_GROUP\n"
  "#error \"include spmv/binned.cu, which opens with the list of macros\"\n"
  "#endif\n"
  "\n"
  "#define MBK_BUILD_THREADS 512\n"
  "\n"
  "// Nonzeros of this block's part in each strip, in shared memory.\n"
  "MBK_DEVICE void mbk_binned_histogram(const mbk_i32 *col_ind, mbk_u64 nnz, mbk_u32 strips,\n"
  "                                     mbk_u32 *counts) {\n"
  "  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_PART_NONZEROS;\n"
  "  for (mbk_u32 s = mbk_thread(); s < strips; s += MBK_BUILD_THREADS) {\n"
  "    counts[s] = 0;\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  for (mbk_u32 i = mbk_thread(); i < MBK_PART_NONZEROS && first + i < nnz;\n"
  "       i += MBK_BUILD_THREADS) {\n"
  "    mbk_atomic_add(counts + (mbk_u32)(mbk_load(col_ind + first + i) - MBK_BASE) / MBK_STRIP,\n"
  "                   1u);\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "}\n"
  "\n"
  "// Groups of each run, and of each part in part_groups. Launch: one block per part. Shared:\n"
  "// mbk_u32[strips + 1].\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)\n"
  "    mbk_binned_count(const mbk_i32 *col_ind, mbk_u64 nnz, mbk_u32 strips, mbk_u32 *runs,\n"
  "                     mbk_u32 *part_groups) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_u32 *const counts = (mbk_u32 *)shared;\n"
  "  mbk_u32 *const total = counts + strips;\n"
  "  mbk_u32 mine = 0;\n"
  "  if (mbk_thread() == 0) {\n"
  "    *total = 0;\n"
  "  }\n"
  "  mbk_binned_histogram(col_ind, nnz, strips, counts);\n"
  "  for (mbk_u32 s = mbk_thread(); s < strips; s += MBK_BUILD_THREADS) {\n"
  "    const mbk_u32 groups = (counts[s] + MBK_GROUP - 1) / MBK_GROUP;\n",
  "    runs[(mbk_u64)s * mbk_grid() + mbk_block()] = groups;\n"
  "    mine += groups;\n"
  "  }\n"
  "  mbk_atomic_add(total, mine);\n"
  "  mbk_block_sync();\n"
  "  if (mbk_thread() == 0) {\n"
  "    part_groups[mbk_block()] = *total;\n"
  "  }\n"
  "}\n"
  "\n"
  "// The groups of each strip. Launch: one warp per strip, blocks of MBK_BUILD_THREADS.\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)\n"
  "    mbk_binned_total(const mbk_u32 *runs, mbk_u32 strips, mbk_u64 parts, mbk_u32 *groups) {\n"
  "  const mbk_u32 strip = mbk_block() * (MBK_BUILD_THREADS / 32) + mbk_thread() / 32;\n"
  "  mbk_u32 sum = 0;\n"
  "  if (strip >= strips) {\n"
  "    return;\n"
  "  }\n"
  "  for (mbk_u64 i = mbk_lane(); i < parts; i += 32) {\n"
  "    sum += mbk_load(runs + strip * parts + i);\n"
  "  }\n"
  "  for (int d = 16; d > 0; d >>= 1) {\n"
  "    sum += mbk_shuffle_xor(MBK_ALL, sum, d, 32);\n"
  "  }\n"
  "  if (mbk_lane() == 0) {\n"
  "    groups[strip] = sum;\n"
  "  }\n"
  "}\n"
  "\n"
  "// Numbers of groups become first groups, from that of each strip on. Launch: as\n"
  "// mbk_binned_total.\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)\n"
  "    mbk_binned_offsets(mbk_u32 *runs, mbk_u32 strips, mbk_u64 parts,\n"
  "                       const mbk_u32 *strip_start) {\n"
  "  const mbk_u32 strip = mbk_block() * (MBK_BUILD_THREADS / 32) + mbk_thread() / 32;\n"
  "  if (strip >= strips) {\n"
  "    return;\n"
  "  }\n"
  "  mbk_u32 start = mbk_load(strip_start + strip);\n"
  "  for (mbk_u64 i = 0; i < parts; i += 32) {\n"
  "    mbk_u32 *const at = runs + strip * parts + i + mbk_lane();\n"
  "    const mbk_u32 own = i + mbk_lane() < parts ? *at : 0;\n"
  "    mbk_u32 sum = own;\n"
  "    for (int d = 1; d < 32; d <<= 1) {\n"
  "      const mbk_u32 other = mbk_shuffle_up(MBK_ALL, sum, d, 32);\n"
  "      sum += (int)mbk_lane() >= d ? other : 0;\n"
  "    }\n"
  "    if (i + mbk_lane() < parts) {\n",
  "      *at = start + sum - own;\n"
  "    }\n"
  "    start += mbk_shuffle(MBK_ALL, sum, 31, 32);\n"
  "  }\n"
  "}\n"
  "\n"
  "// Columns, values and targets for phase 1 and places for phase 2; or, `again`, new values where\n"
  "// the places say. Launch: one block per part. Shared: mbk_u32[3][strips].\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)\n"
  "    mbk_binned_fill(const mbk_i32 *col_ind, const MBK_VALUE *values, mbk_u64 nnz,\n"
  "                    mbk_u32 strips, const mbk_u32 *runs, const mbk_u32 *part_start,\n"
  "                    mbk_u16 *strip_col, MBK_VALUE *strip_values, mbk_u32 *target,\n"
  "                    mbk_u16 *places, mbk_u32 again) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_u32 *const used = (mbk_u32 *)shared, *const start = used + strips,\n"
  "                 *const run = start + strips;\n"
  "  const mbk_u32 part = mbk_block(), lane = mbk_lane();\n"
  "  const mbk_u64 first = (mbk_u64)part * MBK_PART_NONZEROS;\n"
  "  mbk_binned_histogram(col_ind, nnz, strips, used);\n"
  "  if (mbk_thread() < 32) { // first groups within the part\n"
  "    mbk_u32 before = 0;\n"
  "    for (mbk_u32 s = lane; s - lane < strips; s += 32) {\n"
  "      const mbk_u32 own = s < strips ? (used[s] + MBK_GROUP - 1) / MBK_GROUP : 0;\n"
  "      mbk_u32 sum = own;\n"
  "      for (int d = 1; d < 32; d <<= 1) {\n"
  "        const mbk_u32 other = mbk_shuffle_up(MBK_ALL, sum, d, 32);\n"
  "        sum += (int)lane >= d ? other : 0;\n"
  "      }\n"
  "      if (s < strips) {\n"
  "        start[s] = before + sum - own;\n"
  "      }\n"
  "      before += mbk_shuffle(MBK_ALL, sum, 31, 32);\n"
  "    }\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  for (mbk_u32 s = mbk_thread(); s < strips; s += MBK_BUILD_THREADS) {\n"
  "    run[s] = mbk_load(runs + (mbk_u64)s * mbk_grid() + part);\n"
  "    used[s] = 0;\n"
  "  }\n"
  "  mbk_block_sync();\n",
  "  for (mbk_u32 i = mbk_thread(); i < MBK_PART_NONZEROS && first + i < nnz;\n"
  "       i += MBK_BUILD_THREADS) {\n"
  "    const mbk_u32 column = (mbk_u32)(mbk_load(col_ind + first + i) - MBK_BASE);\n"
  "    const mbk_u32 strip = column / MBK_STRIP;\n"
  "    mbk_u16 *const place = places + first + i;\n"
  "    const mbk_u32 at =\n"
  "        again ? *place - start[strip] * MBK_GROUP : mbk_atomic_add(used + strip, 1u);\n"
  "    const mbk_u64 slot = (mbk_u64)run[strip] * MBK_GROUP + at;\n"
  "    if (!again) {\n"
  "      *place = (mbk_u16)(start[strip] * MBK_GROUP + at);\n"
  "      strip_col[slot] = (mbk_u16)(column - strip * MBK_STRIP);\n"
  "    }\n"
  "#if !MBK_PATTERN\n"
  "    strip_values[slot] = mbk_load(values + first + i);\n"
  "#endif\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  if (again) {\n"
  "    return;\n"
  "  }\n"
  "  const mbk_u32 here = mbk_load(part_start + part);\n"
  "  for (mbk_u32 s = mbk_thread(); s < strips; s += MBK_BUILD_THREADS) {\n"
  "    const mbk_u32 groups = (used[s] + MBK_GROUP - 1) / MBK_GROUP;\n"
  "    for (mbk_u32 i = used[s]; i < groups * MBK_GROUP; i++) { // nobody reads their products\n"
  "      strip_col[(mbk_u64)run[s] * MBK_GROUP + i] = 0;\n"
  "#if !MBK_PATTERN\n"
  "      strip_values[(mbk_u64)run[s] * MBK_GROUP + i] = (MBK_VALUE)0;\n"
  "#endif\n"
  "    }\n"
  "    for (mbk_u32 g = 0; g < groups; g++) {\n"
  "      target[run[s] + g] = here + start[s] + g;\n"
  "    }\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_binned_cu[] = {
  "// Binned product: y = alpha A x + beta y in two phases, each of which keeps its random accesses\n"
  "// in shared memory, for matrices whose gathers of x would miss the caches.\n"
  "// Source: propagation blocking (Beamer, Asanovic, Patterson, IPDPS 2017) and the two-phase\n"
  "// product of Buono et al. (ICS 2016), with bins that are summed in row order.\n"
  "//\n"
  "// A strip is MBK_STRIP consecutive columns, a part MBK_PART_TILES tiles of consecutive\n"
  "// nonzeros, a run the nonzeros of one part in one strip, padded to groups of MBK_GROUP slots\n"
  "// (32 bytes of products). Phase 1 takes the runs of a strip, whose x lies in shared memory, and\n"
  "// writes each group of products to its part. Phase 2 takes a part's products into shared\n"
  "// memory, where each nonzero knows its place, and sums them.\n"
  "#ifndef MBK_STRIP\n"
  "#error \"define MBK_STRIP: columns per strip, at most 65536\"\n"
  "#endif\n"
  "#ifndef MBK_WARP_TILES\n"
  "#error \"define MBK_WARP_TILES: tiles per warp and part\"\n"
  "#endif\n"
  "#include \"jit/device.cuh\"\n"
  "#include \"spmv/algebra.cuh\"\n"
  "\n"
  "#include \"spmv/scan_tile.cuh\"\n"
  "\n"
  "#include \"spmv/scan_build.cuh\"\n"
  "#include \"spmv/scan_fixup.cuh\"\n"
  "\n"
  "#define MBK_GROUP (32 / (int)sizeof(MBK_COMPUTE))\n"
  "#define MBK_PART_TILES (MBK_WARP_TILES * (MBK_THREADS / 32))\n"
  "#define MBK_PART_NONZEROS (MBK_PART_TILES * MBK_TILE_NONZEROS)\n"
  "\n"
  "#include \"spmv/binned_build.cuh\"\n"
  "\n"
  "#define MBK_IN_FLIGHT 4 // packs of a thread\n"
  "\n"
  "// Phase 1. Launch: one block per item; item i is the groups items[3 i + 1] to items[3 i + 2] of\n"
  "// strip items[3 i]. Shared: MBK_VECTOR[MBK_STRIP].\n"
  "MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)\n"
  "    mbk_binned_multiply(const mbk_u32 *items, const mbk_u16 *strip_col, const MBK_VALUE *values,\n",
  "                        const mbk_u32 *target, const MBK_VECTOR *x, mbk_u64 cols,\n"
  "                        MBK_COMPUTE *products, MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  MBK_VECTOR *const strip = (MBK_VECTOR *)shared;\n"
  "  const mbk_u32 *const item = items + 3 * (mbk_u64)mbk_block();\n"
  "  const mbk_u64 first = (mbk_u64)mbk_load(item) * MBK_STRIP;\n"
  "  const mbk_u32 width = (mbk_u32)(cols - first < MBK_STRIP ? cols - first : MBK_STRIP);\n"
  "  const mbk_u32 group = mbk_load(item + 1), packs = 2 * (mbk_load(item + 2) - group);\n"
  "  mbk_await_for(x);\n"
  "  if (MBK_ALPHA == (MBK_COMPUTE)0) {\n"
  "    return;\n"
  "  }\n"
  "  strip_col += (mbk_u64)group * MBK_GROUP;\n"
  "  target += group;\n"
  "#if !MBK_PATTERN\n"
  "  values += (mbk_u64)group * MBK_GROUP;\n"
  "#endif\n"
  "  products += mbk_thread() % 2 * MBK_PACK;\n"
  "  x += first;\n"
  "  for (mbk_u32 i = mbk_thread(); i < width; i += MBK_THREADS) {\n"
  "    strip[i] = mbk_load(x + i);\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  for (mbk_u32 at = mbk_thread(); at < packs; at += MBK_IN_FLIGHT * MBK_THREADS) {\n"
  "    mbk_pack<mbk_u16, MBK_PACK> column[MBK_IN_FLIGHT];\n"
  "#if !MBK_PATTERN\n"
  "    mbk_pack<MBK_VALUE, MBK_PACK> value[MBK_IN_FLIGHT];\n"
  "#endif\n"
  "    mbk_u32 to[MBK_IN_FLIGHT];\n"
  "#pragma unroll\n"
  "    for (int i = 0; i < MBK_IN_FLIGHT; i++) {\n"
  "      const mbk_u32 pack = at + i * MBK_THREADS;\n"
  "      if (pack < packs) {\n"
  "#if !MBK_PATTERN\n"
  "        value[i] = MBK_PACK_LOAD<MBK_VALUE, MBK_PACK>(values + pack * MBK_PACK);\n"
  "#endif\n"
  "        column[i] = MBK_PACK_LOAD<mbk_u16, MBK_PACK>(strip_col + pack * MBK_PACK);\n"
  "        to[i] = MBK_MATRIX_LOAD(target + pack / 2);\n"
  "      }\n"
  "    }\n"
  "#pragma unroll\n"
  "    for (int i = 0; i < MBK_IN_FLIGHT; i++) {\n"
  "      if (at + i * MBK_THREADS < packs) {\n",
  "        mbk_pack<MBK_COMPUTE, MBK_PACK> product;\n"
  "#pragma unroll\n"
  "        for (int j = 0; j < MBK_PACK; j++) {\n"
  "#if MBK_PATTERN\n"
  "          product.at[j] = MBK_UNIT(values, strip[column[i].at[j]]);\n"
  "#else\n"
  "          product.at[j] = MBK_MUL(value[i].at[j], strip[column[i].at[j]]);\n"
  "#endif\n"
  "        }\n"
  "        mbk_store_pack(products + (mbk_u64)to[i] * MBK_GROUP, product);\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n"
  "// A warp's tile: a lane has MBK_STEPS consecutive nonzeros. The rows that end here are\n"
  "// committed but for the first, whose part goes to firsts[tile]; what follows the last row end\n"
  "// goes to tails[tile]. `sums` has room for a sum of each.\n"
  "MBK_DEVICE void mbk_binned_commit(const MBK_COMPUTE (&product)[MBK_STEPS], mbk_u32 ends,\n"
  "                                  mbk_u32 rank, mbk_u64 tile, const mbk_u32 *row_id,\n"
  "                                  MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails,\n"
  "                                  MBK_COMPUTE *sums, MBK_COMPUTE alpha, MBK_COMPUTE beta) {\n"
  "  const mbk_u32 lane = mbk_lane(), own = (mbk_u32)mbk_popcount(ends);\n"
  "  mbk_u32 ended = own; // row ends up to this lane\n"
  "#pragma unroll\n"
  "  for (int d = 1; d < 32; d <<= 1) {\n"
  "    const mbk_u32 other = mbk_shuffle_up(MBK_ALL, ended, d, 32);\n"
  "    ended += (int)lane >= d ? other : 0;\n"
  "  }\n"
  "  const mbk_u32 count = mbk_shuffle(MBK_ALL, ended, 31, 32);\n"
  "  mbk_u32 at = ended - own;\n"
  "  MBK_COMPUTE sum = MBK_ZERO, head = MBK_ZERO;\n"
  "#pragma unroll\n"
  "  for (int i = 0; i < MBK_STEPS; i++) {\n"
  "    sum = MBK_ADD(sum, product[i]);\n"
  "    if (ends >> i & 1) {\n"
  "      if (at == ended - own) {\n"
  "        head = sum; // earlier lanes may hold some of it\n"
  "      } else {\n"
  "        sums[at] = sum;\n"
  "      }\n"
  "      at++;\n",
  "      sum = MBK_ZERO;\n"
  "    }\n"
  "  }\n"
  "  // What the lanes up to each hold of the row that is open behind it.\n"
  "  bool closed = own > 0;\n"
  "#pragma unroll\n"
  "  for (int d = 1; d < 32; d <<= 1) {\n"
  "    const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, d, 32);\n"
  "    const bool stop = mbk_shuffle_up(MBK_ALL, (mbk_u32)closed, d, 32) != 0;\n"
  "    if ((int)lane >= d && !closed) {\n"
  "      sum = MBK_ADD(other, sum);\n"
  "      closed = stop;\n"
  "    }\n"
  "  }\n"
  "  const MBK_COMPUTE before = mbk_shuffle_up(MBK_ALL, sum, 1, 32);\n"
  "  if (own > 0) {\n"
  "    sums[ended - own] = lane > 0 ? MBK_ADD(before, head) : head;\n"
  "  }\n"
  "  mbk_warp_sync(MBK_ALL);\n"
  "  for (mbk_u32 i = lane; i < count; i += 32) {\n"
  "    if (i == 0) {\n"
  "      firsts[tile] = sums[0];\n"
  "    } else {\n"
  "      MBK_COMMIT(MBK_ROW_OF(rank + i), MBK_ADD(MBK_ZERO, sums[i]));\n"
  "    }\n"
  "  }\n"
  "  mbk_warp_sync(MBK_ALL);\n"
  "  if (lane == 31) {\n"
  "    tails[tile] = sum;\n"
  "  }\n"
  "}\n"
  "\n"
  "// Phase 2, mbk_scan_fixup follows. Launch: one block per part. Shared:\n"
  "// MBK_COMPUTE[MBK_THREADS / 32][MBK_TILE_NONZEROS], then MBK_COMPUTE[slots of the largest\n"
  "// part].\n"
  "MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)\n"
  "    mbk_binned_sum(const mbk_u32 *part_start, const MBK_COMPUTE *products,\n"
  "                   const mbk_u16 *places, const mbk_u32 *row_ends, const mbk_u32 *tile_row,\n"
  "                   const mbk_u32 *row_id, MBK_VECTOR *y, MBK_COMPUTE *firsts,\n"
  "                   MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  MBK_COMPUTE *const sums = (MBK_COMPUTE *)shared + mbk_thread() / 32 * MBK_TILE_NONZEROS;\n"
  "  MBK_COMPUTE *const slots = (MBK_COMPUTE *)shared + MBK_THREADS / 32 * MBK_TILE_NONZEROS;\n",
  "  const mbk_u32 lane = mbk_lane();\n"
  "  const mbk_u64 tile = (mbk_u64)mbk_block() * MBK_PART_TILES + mbk_thread() / 32;\n"
  "  const mbk_u32 from = mbk_load(part_start + mbk_block());\n"
  "  const mbk_u32 packs = 2 * (mbk_load(part_start + mbk_block() + 1) - from);\n"
  "  mbk_release();\n"
  "  mbk_await();\n"
  "  MBK_SCALARS_LOAD;\n"
  "  if (alpha != (MBK_COMPUTE)0) {\n"
  "    products += (mbk_u64)from * MBK_GROUP;\n"
  "    for (mbk_u32 i = mbk_thread(); i < packs; i += MBK_THREADS) {\n"
  "      mbk_copy_ahead(slots + i * MBK_PACK, products + i * MBK_PACK);\n"
  "    }\n"
  "  }\n"
  "  // All that the warp's tiles need beside, meanwhile.\n"
  "  mbk_pack<mbk_u16, MBK_STEPS> place[MBK_WARP_TILES];\n"
  "  mbk_u32 ends[MBK_WARP_TILES], rank[MBK_WARP_TILES];\n"
  "#pragma unroll\n"
  "  for (int t = 0; t < MBK_WARP_TILES; t++) {\n"
  "    const mbk_u64 at = tile + t * (MBK_THREADS / 32);\n"
  "    if (at < tiles) {\n"
  "      place[t] =\n"
  "          MBK_PACK_LOAD<mbk_u16, MBK_STEPS>(places + at * MBK_TILE_NONZEROS + lane * MBK_STEPS);\n"
  "      ends[t] = mbk_load(row_ends + at * MBK_STEPS + lane * MBK_STEPS / 32);\n"
  "      rank[t] = mbk_load(tile_row + at);\n"
  "    }\n"
  "  }\n"
  "  mbk_copy_wait();\n"
  "  mbk_block_sync();\n"
  "#pragma unroll\n"
  "  for (int t = 0; t < MBK_WARP_TILES; t++) {\n"
  "    const mbk_u64 at = tile + t * (MBK_THREADS / 32);\n"
  "    if (at < tiles) {\n"
  "      const mbk_u64 first = at * MBK_TILE_NONZEROS + lane * MBK_STEPS;\n"
  "      MBK_COMPUTE product[MBK_STEPS];\n"
  "#pragma unroll\n"
  "      for (int i = 0; i < MBK_STEPS; i++) {\n"
  "        product[i] =\n"
  "            first + i < nnz && alpha != (MBK_COMPUTE)0 ? slots[place[t].at[i]] : MBK_ZERO;\n"
  "      }\n"
  "      mbk_binned_commit(product, ends[t] >> lane * MBK_STEPS % 32 & ((1u << MBK_STEPS) - 1),\n",
  "                        rank[t], at, row_id, y, firsts, tails, sums, alpha, beta);\n"
  "    }\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_hubs_build_cuh[] = {
  "// Columns in two kinds: part of spmv/hubs.cu.\n"
  "#ifndef MBK_TILE_NONZEROS\n"
  "#error \"include spmv/scan_tile.cuh before\"\n"
  "#endif\n"
  "\n"
  "// code[c] becomes c, or ~h for the hub number h: the columns that were counted `least` times or\n"
  "// more, of which there are at most `room`. hub_col[h] is the column. *taken counts the hubs;\n"
  "// zero before. Launch: one thread for each column, 256 per block.\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_hubs_assign(const mbk_u32 *counts, mbk_u64 cols, mbk_u32 least, mbk_u32 room,\n"
  "                    mbk_i32 *code, mbk_u32 *hub_col, mbk_u32 *taken) {\n"
  "  const mbk_u64 column = (mbk_u64)mbk_block() * 256 + mbk_thread();\n"
  "  const bool hub = column < cols && counts[column] >= least;\n"
  "  const mbk_u32 hubs = mbk_ballot(MBK_ALL, hub);\n"
  "  mbk_u32 first = 0;\n"
  "  if (hubs != 0 && mbk_lane() == 0) {\n"
  "    first = mbk_atomic_add(taken, (mbk_u32)mbk_popcount(hubs));\n"
  "  }\n"
  "  first = mbk_shuffle(MBK_ALL, first, 0, 32);\n"
  "  if (column < cols) {\n"
  "    const mbk_u32 number = first + (mbk_u32)mbk_popcount(hubs & ((1u << mbk_lane()) - 1));\n"
  "    const bool taking = hub && number < room;\n"
  "    if (taking) {\n"
  "      hub_col[number] = (mbk_u32)column;\n"
  "    }\n"
  "    code[column] = taking ? ~(mbk_i32)number : (mbk_i32)column;\n"
  "  }\n"
  "}\n"
  "\n"
  "// codes[k] is the code of nonzero k's column. Launch: any grid of 256 threads.\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_hubs_encode(const mbk_i32 *col_ind, mbk_u64 nnz, const mbk_i32 *code, mbk_i32 *codes) {\n"
  "  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread(); k < nnz;\n"
  "       k += (mbk_u64)mbk_grid() * 256) {\n"
  "    codes[k] = mbk_load(code + (mbk_load(col_ind + k) - MBK_BASE));\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_hubs_cu[] = {
  "// Register scan with hubs: y = alpha A x + beta y, where the entries of x that most nonzeros\n"
  "// meet wait in shared memory. Tiles, their schedule and their rows are those of spmv/scan.cu;\n"
  "// thread blocks stay and take tile after tile, so that each loads the hubs once. Source: a\n"
  "// matrix split at its fullest columns is common (degree sorting, Beamer et al., PACT 2012); one\n"
  "// pass over codes that tell hubs from columns, so that both ways of a gather overlap in every\n"
  "// warp, is ours.\n"
  "#ifndef MBK_HUBS\n"
  "#error \"define MBK_HUBS: the hubs that shared memory has room for\"\n"
  "#endif\n"
  "#include \"jit/device.cuh\"\n"
  "#include \"spmv/algebra.cuh\"\n"
  "\n"
  "#include \"spmv/scan_tile.cuh\"\n"
  "\n"
  "struct mbk_hubs_source {\n"
  "  const MBK_VECTOR *x, *hubs;\n"
  "};\n"
  "\n"
  "MBK_DEVICE MBK_VECTOR mbk_hubs_gather(const mbk_hubs_source &source, mbk_i32 code) {\n"
  "  return code < 0 ? source.hubs[~code] : mbk_load(source.x + code);\n"
  "}\n"
  "#define MBK_SOURCE mbk_hubs_source\n"
  "#define MBK_GATHER(source, code) mbk_hubs_gather(source, code)\n"
  "#define MBK_AWAIT(source, code) mbk_await_at((source).x, code)\n"
  "#include \"spmv/scan_products.cuh\"\n"
  "\n"
  "#include \"spmv/scan_build.cuh\"\n"
  "#include \"spmv/scan_fixup.cuh\"\n"
  "\n"
  "#include \"spmv/hubs_build.cuh\"\n"
  "\n"
  "// A block's tiles; where `adds` with the old y. Without, beta must be zero.\n"
  "template <bool adds>\n"
  "MBK_DEVICE void mbk_hubs_run(const mbk_u32 *row_ends, const mbk_u32 *tile_row,\n"
  "                             const mbk_u32 *row_id, const mbk_i32 *codes,\n"
  "                             const MBK_VALUE *values, const mbk_u32 *hub_col, mbk_u32 hub_count,\n"
  "                             const MBK_VECTOR *x, MBK_VECTOR *y, MBK_COMPUTE *firsts,\n",
  "                             MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_COMPUTE alpha,\n"
  "                             MBK_COMPUTE beta, MBK_VECTOR *shared) {\n"
  "  MBK_VECTOR *const old = shared + MBK_HUBS + mbk_thread() / 32 * 32;\n"
  "  mbk_release();\n"
  "  mbk_await_for(x);\n"
  "  const mbk_hubs_source source = {x, shared};\n"
  "  if (alpha != (MBK_COMPUTE)0) {\n"
  "    for (mbk_u32 i = mbk_thread(); i < hub_count; i += MBK_THREADS) {\n"
  "      shared[i] = mbk_load(x + mbk_load(hub_col + i));\n"
  "    }\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  for (mbk_u64 tile = (mbk_u64)mbk_block() * (MBK_THREADS / 32) + mbk_thread() / 32;\n"
  "       tile < tiles; tile += (mbk_u64)mbk_grid() * (MBK_THREADS / 32)) {\n"
  "    mbk_scan_take<adds>(row_ends, tile_row, row_id, codes, values, source, y, firsts, tails,\n"
  "                        nnz, tile, alpha, beta, old);\n"
  "    mbk_warp_sync(MBK_ALL); // the next tile's old y takes the place of this one's\n"
  "  }\n"
  "}\n"
  "\n"
  "// Launch: as many blocks as the GPU holds at once, or fewer. mbk_scan_fixup follows. beta must\n"
  "// be zero. Shared: MBK_VECTOR[MBK_HUBS].\n"
  "MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)\n"
  "    mbk_hubs_product(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,\n"
  "                     const mbk_i32 *codes, const MBK_VALUE *values, const mbk_u32 *hub_col,\n"
  "                     mbk_u32 hub_count, const MBK_VECTOR *x, MBK_VECTOR *y, MBK_COMPUTE *firsts,\n"
  "                     MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_hubs_run<false>(row_ends, tile_row, row_id, codes, values, hub_col, hub_count, x, y,\n"
  "                      firsts, tails, nnz, tiles, MBK_ALPHA, (MBK_COMPUTE)0,\n"
  "                      (MBK_VECTOR *)shared);\n",
  "}\n"
  "\n"
  "// The same with any beta. Shared: MBK_VECTOR[MBK_HUBS + MBK_THREADS].\n"
  "MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)\n"
  "    mbk_hubs_sum(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,\n"
  "                 const mbk_i32 *codes, const MBK_VALUE *values, const mbk_u32 *hub_col,\n"
  "                 mbk_u32 hub_count, const MBK_VECTOR *x, MBK_VECTOR *y, MBK_COMPUTE *firsts,\n"
  "                 MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  MBK_SCALARS_LOAD;\n"
  "  mbk_hubs_run<true>(row_ends, tile_row, row_id, codes, values, hub_col, hub_count, x, y,\n"
  "                     firsts, tails, nnz, tiles, alpha, beta, (MBK_VECTOR *)shared);\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_full_cu[] = {
  "// A CSR matrix that wholly consists of full blocks, as blocks: their places, and their values\n"
  "// block by block. MBK_HIGH rows in turn have the same columns, in runs of MBK_WIDE\n"
  "// (mbk_arrays_blocks has found so).\n"
  "#ifndef MBK_ROW_PTR\n"
  "#error \"define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64\"\n"
  "#endif\n"
  "#ifndef MBK_VALUE\n"
  "#error \"define MBK_VALUE: the type of the matrix's values\"\n"
  "#endif\n"
  "#ifndef MBK_BASE\n"
  "#error \"define MBK_BASE: the first index of the matrix's arrays, 0 or 1\"\n"
  "#endif\n"
  "#ifndef MBK_HIGH\n"
  "#error \"define MBK_HIGH: rows of a block\"\n"
  "#endif\n"
  "#ifndef MBK_WIDE\n"
  "#error \"define MBK_WIDE: columns of a block\"\n"
  "#endif\n"
  "#include \"jit/device.cuh\"\n"
  "\n"
  "// The first block of a row of blocks, and of the one behind the last.\n"
  "MBK_DEVICE mbk_u64 mbk_full_first(const MBK_ROW_PTR *row_ptr, mbk_u64 block_row) {\n"
  "  return (mbk_u64)(mbk_load(row_ptr + block_row * MBK_HIGH) - MBK_BASE) / (MBK_HIGH * MBK_WIDE);\n"
  "}\n"
  "\n"
  "// Offsets of rows of blocks, and columns of blocks, both from 0. Launch: a warp for each row of\n"
  "// blocks and one more, 256 threads per block.\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_full_places(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind, mbk_u64 block_rows,\n"
  "                    MBK_ROW_PTR *block_ptr, mbk_i32 *block_col) {\n"
  "  const mbk_u64 row = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;\n"
  "  if (row > block_rows) {\n"
  "    return;\n"
  "  }\n"
  "  const mbk_u64 first = mbk_full_first(row_ptr, row);\n"
  "  if (mbk_lane() == 0) {\n"
  "    block_ptr[row] = (MBK_ROW_PTR)first;\n"
  "  }\n"
  "  if (row < block_rows) {\n"
  "    const mbk_u64 count = mbk_full_first(row_ptr, row + 1) - first;\n"
  "    col_ind += mbk_load(row_ptr + row * MBK_HIGH) - MBK_BASE;\n",
  "    for (mbk_u64 b = mbk_lane(); b < count; b += 32) {\n"
  "      block_col[first + b] = (mbk_load(col_ind + b * MBK_WIDE) - MBK_BASE) / MBK_WIDE;\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n"
  "// Values in the order of the CSR to blocks, row by row in each. Launch: a warp for each row,\n"
  "// 256 threads per block.\n"
  "MBK_KERNEL MBK_BOUNDS(256) mbk_full_values(const MBK_ROW_PTR *row_ptr, const MBK_VALUE *values,\n"
  "                                           mbk_u64 rows, MBK_VALUE *blocks) {\n"
  "  const mbk_u64 row = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;\n"
  "  if (row >= rows) {\n"
  "    return;\n"
  "  }\n"
  "  const mbk_u64 start = (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE);\n"
  "  const mbk_u64 length = (mbk_u64)(mbk_load(row_ptr + row + 1) - MBK_BASE) - start;\n"
  "  values += start;\n"
  "  blocks += mbk_full_first(row_ptr, row / MBK_HIGH) * (MBK_HIGH * MBK_WIDE) +\n"
  "            row % MBK_HIGH * MBK_WIDE;\n"
  "  for (mbk_u64 k = mbk_lane(); k < length; k += 32) {\n"
  "    blocks[k / MBK_WIDE * (MBK_HIGH * MBK_WIDE) + k % MBK_WIDE] = mbk_load(values + k);\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_carve_cu[] = {
  "// Blocks carved out of a CSR matrix whose rows ascend, with equal columns or without: how many,\n"
  "// where, and what lies in them. The rows of a row of blocks walk together, a lane of a group\n"
  "// for one row or for two of them; the least column that none has passed names the next block.\n"
  "#ifndef MBK_ROW_PTR\n"
  "#error \"define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64\"\n"
  "#endif\n"
  "#ifndef MBK_VALUE\n"
  "#error \"define MBK_VALUE: the type of the matrix's values\"\n"
  "#endif\n"
  "#ifndef MBK_BASE\n"
  "#error \"define MBK_BASE: the first index of the matrix's arrays, 0 or 1\"\n"
  "#endif\n"
  "#include \"jit/device.cuh\"\n"
  "\n"
  "#define MBK_CHUNK 1024            // rows of blocks whose counts are summed\n"
  "#define MBK_CARVE_END 0xffffffffu // beyond every column\n"
  "#define MBK_ALL 0xffffffffu\n"
  "\n"
  "// ---- The walk -----------------------------------------------------------------------------\n"
  "\n"
  "struct mbk_carve_csr {\n"
  "  const MBK_ROW_PTR *row_ptr;\n"
  "  const mbk_i32 *col_ind;\n"
  "  mbk_u64 rows, cols;\n"
  "};\n"
  "\n"
  "// Blocks are told at run time: a conversion waits for memory, not for divisions, and one\n"
  "// program serves all shapes. group: lanes to a row of blocks, a power of two; each takes the\n"
  "// rows whose number is its own, and where blocks are higher than 32, its own and 32.\n"
  "struct mbk_carve_shape {\n"
  "  mbk_u32 high, wide, group;\n"
  "};\n"
  "\n"
  "template <int ROWS> struct mbk_carve_walk {\n"
  "  MBK_ROW_PTR at[ROWS], end[ROWS];\n"
  "  mbk_u32 next[ROWS]; // the column where each stands\n"
  "};\n"
  "\n"
  "MBK_DEVICE mbk_u32 mbk_carve_look(const mbk_i32 *col_ind, MBK_ROW_PTR at, MBK_ROW_PTR end) {\n"
  "  return at < end ? (mbk_u32)(mbk_load(col_ind + at) - MBK_BASE) : MBK_CARVE_END;\n"
  "}\n"
  "\n",
  "// Rows behind the last, and those of a row of blocks that is not there, are empty.\n"
  "template <int ROWS>\n"
  "MBK_DEVICE mbk_carve_walk<ROWS>\n"
  "mbk_carve_start(const mbk_carve_csr &csr, const mbk_carve_shape &shape, mbk_u64 block_row) {\n"
  "  mbk_carve_walk<ROWS> walk;\n"
  "#pragma unroll\n"
  "  for (int j = 0; j < ROWS; j++) {\n"
  "    const mbk_u32 r = mbk_lane() % shape.group + 32 * j;\n"
  "    const mbk_u64 row = block_row * shape.high + r;\n"
  "    walk.at[j] = walk.end[j] = 0;\n"
  "    if (r < shape.high && row < csr.rows) {\n"
  "      walk.at[j] = mbk_load(csr.row_ptr + row) - MBK_BASE;\n"
  "      walk.end[j] = mbk_load(csr.row_ptr + row + 1) - MBK_BASE;\n"
  "    }\n"
  "    walk.next[j] = mbk_carve_look(csr.col_ind, walk.at[j], walk.end[j]);\n"
  "  }\n"
  "  return walk;\n"
  "}\n"
  "\n"
  "// The least column of a group, in the eyes of all its lanes. All of the warp take part.\n"
  "template <int ROWS>\n"
  "MBK_DEVICE mbk_u32 mbk_carve_least(const mbk_carve_walk<ROWS> &walk, mbk_u32 group) {\n"
  "  mbk_u32 least = walk.next[0];\n"
  "  if (ROWS > 1 && walk.next[ROWS - 1] < least) {\n"
  "    least = walk.next[ROWS - 1];\n"
  "  }\n"
  "  for (mbk_u32 d = group / 2; d > 0; d >>= 1) {\n"
  "    const mbk_u32 other = mbk_shuffle_xor(MBK_ALL, least, (int)d, 32);\n"
  "    least = other < least ? other : least;\n"
  "  }\n"
  "  return least;\n"
  "}\n"
  "\n"
  "// ---- Counting -----------------------------------------------------------------------------\n"
  "\n"
  "// What is counted: in *answer four numbers.\n"
  "struct mbk_carve_tally {\n"
  "  mbk_u64 blocks;\n"
  "  mbk_u64 inside;  // values of the blocks that lie in the matrix\n"
  "  mbk_u64 entries; // each place once, however many there share it\n"
  "  bool descends;   // a row does\n"
  "};\n"
  "\n"
  "// Past the columns below `limit`.\n",
  "MBK_DEVICE void mbk_carve_pass(const mbk_i32 *col_ind, MBK_ROW_PTR &at, MBK_ROW_PTR end,\n"
  "                               mbk_u32 &next, mbk_u32 limit, mbk_carve_tally &tally) {\n"
  "  while (next < limit) {\n"
  "    const mbk_u32 behind = mbk_carve_look(col_ind, ++at, end);\n"
  "    tally.entries += behind != next;\n"
  "    tally.descends |= behind < next;\n"
  "    next = behind;\n"
  "  }\n"
  "}\n"
  "\n"
  "// The blocks of a group's row of blocks.\n"
  "template <int ROWS>\n"
  "MBK_DEVICE mbk_u32 mbk_carve_row(const mbk_carve_csr &csr, const mbk_carve_shape &shape,\n"
  "                                 mbk_u64 block_row, mbk_carve_tally &tally) {\n"
  "  mbk_carve_walk<ROWS> walk = mbk_carve_start<ROWS>(csr, shape, block_row);\n"
  "  const mbk_u64 below = csr.rows - block_row * shape.high;\n"
  "  const mbk_u32 high = below < shape.high ? (mbk_u32)below : shape.high;\n"
  "  mbk_u32 found = 0;\n"
  "  for (;;) {\n"
  "    const mbk_u32 least = mbk_carve_least(walk, shape.group);\n"
  "    if (mbk_ballot(MBK_ALL, least != MBK_CARVE_END) == 0) {\n"
  "      return found;\n"
  "    }\n"
  "    if (least != MBK_CARVE_END) {\n"
  "      const mbk_u32 first = least / shape.wide * shape.wide;\n"
  "      const mbk_u64 right = csr.cols - first;\n"
  "      found++;\n"
  "      tally.inside += high * (right < shape.wide ? right : shape.wide);\n"
  "#pragma unroll\n"
  "      for (int j = 0; j < ROWS; j++) {\n"
  "        mbk_carve_pass(csr.col_ind, walk.at[j], walk.end[j], walk.next[j], first + shape.wide,\n"
  "                       tally);\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n"
  "MBK_DEVICE mbk_u64 mbk_carve_total(mbk_u64 own) {\n"
  "  for (int d = 16; d > 0; d >>= 1) {\n"
  "    own += mbk_shuffle_xor(MBK_ALL, own, d, 32);\n"
  "  }\n"
  "  return own;\n"
  "}\n"
  "\n"
  "// The row of blocks that a window begins with: w * span / high, for a span of `spans` rows of\n",
  "// blocks and `rest` rows.\n"
  "MBK_DEVICE mbk_u64 mbk_carve_window(mbk_u64 spans, mbk_u32 rest, mbk_u32 high, mbk_u32 w) {\n"
  "  return spans * w + rest * w / high;\n"
  "}\n"
  "\n"
  "// Adds to answer[0] to answer[3] the blocks, their values inside the matrix, the entries, and\n"
  "// whether a row descends (then the others mean nothing), for `windows` of `count` rows of\n"
  "// blocks, of at most 2^32 - 1 in all, which begin at mbk_carve_window. Where counts is not null\n"
  "// there is one window, of all rows: counts[row] and the sums[row / MBK_CHUNK], zero before,\n"
  "// become known. No division is of 64 bits: that would be a call, around which registers are\n"
  "// spilled. Launch: any grid of 256 threads.\n"
  "MBK_KERNEL MBK_RESIDENT(256, 4)\n"
  "    mbk_carve_count(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind, mbk_u64 rows,\n"
  "                    mbk_u64 cols, mbk_u64 block_rows, mbk_u32 high, mbk_u32 wide, mbk_u32 group,\n"
  "                    mbk_u32 windows, mbk_u64 spans, mbk_u32 rest, mbk_u32 count,\n"
  "                    mbk_u32 *counts, mbk_u64 *sums, mbk_u64 *answer) {\n"
  "  const mbk_carve_csr csr = {row_ptr, col_ind, rows, cols};\n"
  "  const mbk_carve_shape shape = {high, wide, group};\n"
  "  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;\n"
  "  const mbk_u64 items = (mbk_u64)windows * count;\n"
  "  const mbk_u32 side_by_side = 32 / group;\n"
  "  const bool speaks = mbk_lane() % group == 0; // for its group\n"
  "  mbk_carve_tally tally = {0, 0, 0, false};\n"
  "  for (mbk_u64 first = warp * side_by_side; first < items;\n"
  "       first += (mbk_u64)mbk_grid() * 8 * side_by_side) {\n"
  "    const mbk_u64 item = first + mbk_lane() / group;\n"
  "    const mbk_u32 w = (mbk_u32)item / count;\n",
  "    const mbk_u64 block_row = mbk_carve_window(spans, rest, high, w) + (mbk_u32)item % count;\n"
  "    const bool there = item < items && block_row < block_rows;\n"
  "    const mbk_u64 place = there ? block_row : block_rows;\n"
  "    const mbk_u32 found = high > 32 ? mbk_carve_row<2>(csr, shape, place, tally)\n"
  "                                    : mbk_carve_row<1>(csr, shape, place, tally);\n"
  "    tally.blocks += speaks ? found : 0;\n"
  "    if (counts != 0) {\n"
  "      const mbk_u64 sum = mbk_carve_total(speaks ? found : 0);\n"
  "      if (speaks && there) {\n"
  "        counts[block_row] = found;\n"
  "      }\n"
  "      if (mbk_lane() == 0 && sum > 0) { // the warp's rows are of one chunk\n"
  "        mbk_atomic_add(sums + first / MBK_CHUNK, sum);\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "  const mbk_u64 blocks = mbk_carve_total(tally.blocks);\n"
  "  const mbk_u64 inside = mbk_carve_total(speaks ? tally.inside : 0);\n"
  "  const mbk_u64 entries = mbk_carve_total(tally.entries);\n"
  "  const mbk_u32 descends = mbk_ballot(MBK_ALL, tally.descends);\n"
  "  if (mbk_lane() == 0 && entries > 0) {\n"
  "    mbk_atomic_add(answer, blocks);\n"
  "    mbk_atomic_add(answer + 1, inside);\n"
  "    mbk_atomic_add(answer + 2, entries);\n"
  "    if (descends != 0) {\n"
  "      mbk_atomic_add(answer + 3, (mbk_u64)1);\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n"
  "// ---- Offsets ------------------------------------------------------------------------------\n"
  "\n"
  "// The sum over the threads before of the block, and of all. `warps`: one for each warp, and one\n"
  "// more.\n"
  "MBK_DEVICE mbk_u64 mbk_carve_before(mbk_u64 own, mbk_u64 *warps, mbk_u32 warp_count,\n"
  "                                    mbk_u64 *all) {\n"
  "  mbk_u64 sum = own, before = 0, total = 0;\n"
  "  for (int d = 1; d < 32; d <<= 1) {\n",
  "    const mbk_u64 other = mbk_shuffle_up(MBK_ALL, sum, d, 32);\n"
  "    sum += mbk_lane() >= (mbk_u32)d ? other : 0;\n"
  "  }\n"
  "  mbk_block_sync(); // the last turn's sums have been read\n"
  "  if (mbk_lane() == 31) {\n"
  "    warps[mbk_thread() / 32] = sum;\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "  for (mbk_u32 w = 0; w < warp_count; w++) {\n"
  "    before += w < mbk_thread() / 32 ? warps[w] : 0;\n"
  "    total += warps[w];\n"
  "  }\n"
  "  *all = total;\n"
  "  return before + sum - own;\n"
  "}\n"
  "\n"
  "// sums become those of the chunks before. Launch: one block of 1024 threads. Shared:\n"
  "// mbk_u64[32].\n"
  "MBK_KERNEL MBK_BOUNDS(1024) mbk_carve_sums(mbk_u64 *sums, mbk_u64 chunks) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_u64 base = 0;\n"
  "  for (mbk_u64 from = 0; from < chunks; from += 1024) {\n"
  "    const mbk_u64 i = from + mbk_thread();\n"
  "    mbk_u64 all;\n"
  "    const mbk_u64 before =\n"
  "        mbk_carve_before(i < chunks ? sums[i] : 0, (mbk_u64 *)shared, 32, &all);\n"
  "    if (i < chunks) {\n"
  "      sums[i] = base + before;\n"
  "    }\n"
  "    base += all;\n"
  "  }\n"
  "}\n"
  "\n"
  "// block_ptr[row], and that behind the last row: of 64 bits where `large`, else of 32. Launch:\n"
  "// a block of 256 threads for each chunk, block_rows / MBK_CHUNK + 1 of them. Shared:\n"
  "// mbk_u64[8].\n"
  "MBK_KERNEL MBK_BOUNDS(256)\n"
  "    mbk_carve_offsets(const mbk_u32 *counts, const mbk_u64 *sums, mbk_u64 block_rows,\n"
  "                      mbk_u32 large, void *block_ptr) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_CHUNK + 4 * mbk_thread();\n"
  "  mbk_u32 own[4];\n"
  "  mbk_u64 all, sum = 0;\n"
  "#pragma unroll\n"
  "  for (int i = 0; i < 4; i++) {\n"
  "    own[i] = first + i < block_rows ? counts[first + i] : 0;\n"
  "    sum += own[i];\n"
  "  }\n",
  "  mbk_u64 before = sums[mbk_block()] + mbk_carve_before(sum, (mbk_u64 *)shared, 8, &all);\n"
  "#pragma unroll\n"
  "  for (int i = 0; i < 4; i++) {\n"
  "    if (first + i <= block_rows && large != 0) {\n"
  "      ((mbk_i64 *)block_ptr)[first + i] = (mbk_i64)before;\n"
  "    } else if (first + i <= block_rows) {\n"
  "      ((mbk_i32 *)block_ptr)[first + i] = (mbk_i32)before;\n"
  "    }\n"
  "    before += own[i];\n"
  "  }\n"
  "}\n"
  "\n"
  "// ---- Filling ------------------------------------------------------------------------------\n"
  "\n"
  "struct mbk_carve_target { // null: not asked for\n"
  "  mbk_i32 *block_col;\n"
  "  mbk_u32 *masks; // words of 32 bits, an even number to a block; zero before\n"
  "  MBK_VALUE *blocks;\n"
  "};\n"
  "\n"
  "// The bits of a row of a block, of which the first is number `bit` of the block.\n"
  "MBK_DEVICE void mbk_carve_mark(mbk_u32 *mask, mbk_u32 bit, mbk_u64 bits) {\n"
  "  mbk_u32 shift = bit % 32;\n"
  "  for (mask += bit / 32; bits != 0; mask++) {\n"
  "    if ((mbk_u32)(bits << shift) != 0) {\n"
  "      mbk_atomic_or(mask, (mbk_u32)(bits << shift));\n"
  "    }\n"
  "    bits >>= 32 - shift;\n"
  "    shift = 0;\n"
  "  }\n"
  "}\n"
  "\n"
  "// A row's entries below `first + wide` go to row `r` of block number `block`. Those of one\n"
  "// column are added up as they come.\n"
  "MBK_DEVICE void mbk_carve_put(const mbk_carve_csr &csr, const mbk_carve_shape &shape,\n"
  "                              const MBK_VALUE *values, const mbk_carve_target &to,\n"
  "                              MBK_ROW_PTR &at, MBK_ROW_PTR end, mbk_u32 &next, mbk_u32 first,\n"
  "                              mbk_u32 r, mbk_u64 block) {\n"
  "  const mbk_u32 entries = shape.high * shape.wide;\n"
  "  mbk_u64 bits = 0;\n"
  "  while (next < first + shape.wide) {\n"
  "    const mbk_u32 column = next;\n",
  "    MBK_VALUE sum = values != 0 ? mbk_load(values + at) : (MBK_VALUE)1;\n"
  "    next = mbk_carve_look(csr.col_ind, ++at, end);\n"
  "    while (next == column) {\n"
  "      sum += values != 0 ? mbk_load(values + at) : (MBK_VALUE)1;\n"
  "      next = mbk_carve_look(csr.col_ind, ++at, end);\n"
  "    }\n"
  "    bits |= (mbk_u64)1 << (column - first);\n"
  "    if (to.blocks != 0) {\n"
  "      to.blocks[block * entries + r * shape.wide + column - first] = sum;\n"
  "    }\n"
  "  }\n"
  "  if (to.masks != 0) {\n"
  "    mbk_carve_mark(to.masks + block * ((entries + 63) / 64 * 2), r * shape.wide, bits);\n"
  "  }\n"
  "}\n"
  "\n"
  "template <int ROWS>\n"
  "MBK_DEVICE void mbk_carve_fill_row(const mbk_carve_csr &csr, const mbk_carve_shape &shape,\n"
  "                                   const MBK_VALUE *values, const mbk_carve_target &to,\n"
  "                                   mbk_u64 block_row, mbk_u64 block) {\n"
  "  mbk_carve_walk<ROWS> walk = mbk_carve_start<ROWS>(csr, shape, block_row);\n"
  "  for (;; block++) {\n"
  "    const mbk_u32 least = mbk_carve_least(walk, shape.group);\n"
  "    if (mbk_ballot(MBK_ALL, least != MBK_CARVE_END) == 0) {\n"
  "      return;\n"
  "    }\n"
  "    if (least != MBK_CARVE_END) {\n"
  "      const mbk_u32 column = least / shape.wide;\n"
  "      if (to.block_col != 0 && mbk_lane() % shape.group == 0) {\n"
  "        to.block_col[block] = (mbk_i32)column;\n"
  "      }\n"
  "#pragma unroll\n"
  "      for (int j = 0; j < ROWS; j++) {\n"
  "        mbk_carve_put(csr, shape, values, to, walk.at[j], walk.end[j], walk.next[j],\n"
  "                      column * shape.wide, mbk_lane() % shape.group + 32 * j, block);\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n"
  "// block_col, masks and the entries among the values of blocks, each unless null; masks are zero\n",
  "// before. values null: ones. block_ptr: from mbk_carve_offsets. Launch: `group` lanes for each\n"
  "// row of blocks, 256 threads per block.\n"
  "MBK_KERNEL MBK_RESIDENT(256, 4)\n"
  "    mbk_carve_fill(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind, const MBK_VALUE *values,\n"
  "                   mbk_u64 rows, mbk_u64 cols, mbk_u64 block_rows, mbk_u32 high, mbk_u32 wide,\n"
  "                   mbk_u32 group, const void *block_ptr, mbk_u32 large, mbk_i32 *block_col,\n"
  "                   mbk_u32 *masks, MBK_VALUE *blocks) {\n"
  "  const mbk_carve_csr csr = {row_ptr, col_ind, rows, cols};\n"
  "  const mbk_carve_shape shape = {high, wide, group};\n"
  "  const mbk_carve_target to = {block_col, masks, blocks};\n"
  "  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;\n"
  "  const mbk_u64 item = warp * (32 / group) + mbk_lane() / group;\n"
  "  const mbk_u64 block_row = item < block_rows ? item : block_rows;\n"
  "  const mbk_u64 block = large != 0 ? (mbk_u64)((const mbk_i64 *)block_ptr)[block_row]\n"
  "                                   : (mbk_u64)((const mbk_i32 *)block_ptr)[block_row];\n"
  "  if (high > 32) {\n"
  "    mbk_carve_fill_row<2>(csr, shape, values, to, block_row, block);\n"
  "  } else {\n"
  "    mbk_carve_fill_row<1>(csr, shape, values, to, block_row, block);\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_rows_cu[] = {
  "// Lanes per row: y = alpha A x + beta y straight on CSR; MBK_LANES lanes of a warp share a row.\n"
  "// Source: the vector kernel of Bell, Garland, SC09, with the lanes per row a constant.\n"
  "#ifndef MBK_LANES\n"
  "#error \"define MBK_LANES: lanes per row, a power of two up to 32\"\n"
  "#endif\n"
  "#ifndef MBK_UNROLL\n"
  "#error \"define MBK_UNROLL: nonzeros whose loads one lane keeps in flight\"\n"
  "#endif\n"
  "#ifndef MBK_ONCE\n"
  "#error \"define MBK_ONCE: 1 if the matrix is loaded past the caches\"\n"
  "#endif\n"
  "#ifndef MBK_THREADS\n"
  "#error \"define MBK_THREADS: threads per block, a multiple of 32\"\n"
  "#endif\n"
  "#include \"jit/device.cuh\"\n"
  "#include \"spmv/algebra.cuh\"\n"
  "\n"
  "#if MBK_ONCE\n"
  "#define MBK_MATRIX_LOAD mbk_load_once\n"
  "#else\n"
  "#define MBK_MATRIX_LOAD mbk_load\n"
  "#endif\n"
  "\n"
  "// Launch: MBK_LANES threads per row.\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_THREADS)\n"
  "    mbk_rows_product(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind,\n"
  "                     const MBK_VALUE *values, const MBK_VECTOR *x, MBK_VECTOR *y, mbk_u64 rows,\n"
  "                     MBK_SCALAR_PARAMETERS) {\n"
  "  mbk_release();\n"
  "  MBK_SCALARS_LOAD;\n"
  "  const mbk_u64 row = ((mbk_u64)mbk_block() * MBK_THREADS + mbk_thread()) / MBK_LANES;\n"
  "  const mbk_u32 lane = mbk_thread() % MBK_LANES;\n"
  "  MBK_COMPUTE sum = MBK_ZERO;\n"
  "  if (row < rows && alpha != (MBK_COMPUTE)0) {\n"
  "    const MBK_ROW_PTR start = mbk_load(row_ptr + row);\n"
  "    mbk_i64 at = (mbk_i64)start - MBK_BASE + lane;\n"
  "    // Nonzeros from `at` on, counted down: 32-bit offsets may end where adding to them\n"
  "    // overflows.\n"
  "    MBK_ROW_PTR left = mbk_load(row_ptr + row + 1) - start - (MBK_ROW_PTR)lane;\n"
  "    for (; left > 0; left -= MBK_LANES * MBK_UNROLL, at += MBK_LANES * MBK_UNROLL) {\n"
  "      mbk_i32 column[MBK_UNROLL];\n",
  "      MBK_COMPUTE product[MBK_UNROLL];\n"
  "#pragma unroll\n"
  "      for (int u = 0; u < MBK_UNROLL; u++) {\n"
  "        if (u * MBK_LANES < left) {\n"
  "          column[u] = MBK_MATRIX_LOAD(col_ind + at + u * MBK_LANES) - MBK_BASE;\n"
  "#if !MBK_PATTERN\n"
  "          product[u] = (MBK_COMPUTE)MBK_MATRIX_LOAD(values + at + u * MBK_LANES);\n"
  "#endif\n"
  "        }\n"
  "      }\n"
  "      mbk_await_for(x);\n"
  "#pragma unroll\n"
  "      for (int u = 0; u < MBK_UNROLL; u++) {\n"
  "        if (u * MBK_LANES < left) {\n"
  "#if MBK_PATTERN\n"
  "          product[u] = MBK_UNIT(values, mbk_load(x + column[u]));\n"
  "#else\n"
  "          product[u] = MBK_MUL(product[u], mbk_load(x + column[u]));\n"
  "#endif\n"
  "        }\n"
  "      }\n"
  "#pragma unroll\n"
  "      for (int u = 0; u < MBK_UNROLL; u++) {\n"
  "        if (u * MBK_LANES < left) {\n"
  "          sum = MBK_ADD(sum, product[u]);\n"
  "        }\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "#pragma unroll\n"
  "  for (int d = MBK_LANES / 2; d > 0; d >>= 1) {\n"
  "    sum = MBK_ADD(sum, mbk_shuffle_down(0xffffffffu, sum, d, MBK_LANES));\n"
  "  }\n"
  "  if (lane == 0 && row < rows) {\n"
  "    mbk_await();\n"
  "    MBK_COMMIT(row, sum);\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_bsr_tile_cuh[] = {
  "// Tiles of blocks, and what a lane does in one: part of spmv/bsr.cu, which opens with the\n"
  "// picture.\n"
  "#ifndef MBK_BLOCK_ROWS\n"
  "#error \"define MBK_BLOCK_ROWS: rows of a block\"\n"
  "#endif\n"
  "#ifndef MBK_BLOCK_COLS\n"
  "#error \"define MBK_BLOCK_COLS: columns of a block\"\n"
  "#endif\n"
  "#ifndef MBK_COLUMN_MAJOR\n"
  "#error \"define MBK_COLUMN_MAJOR: 1 if blocks come column by column\"\n"
  "#endif\n"
  "#ifndef MBK_MASKED\n"
  "#error \"define MBK_MASKED: 1 if a bit for each entry of a block says that it is there\"\n"
  "#endif\n"
  "#ifndef MBK_EDGE\n"
  "#error \"define MBK_EDGE: 1 if the last column of blocks reaches beyond the matrix\"\n"
  "#endif\n"
  "#ifndef MBK_SPLIT\n"
  "#error \"define MBK_SPLIT: lanes that share a row of a block, a power of two\"\n"
  "#endif\n"
  "#ifndef MBK_TOGETHER\n"
  "#error \"define MBK_TOGETHER: blocks that a lane loads at once, a power of two\"\n"
  "#endif\n"
  "#ifndef MBK_SLOT_BLOCKS\n"
  "#error \"define MBK_SLOT_BLOCKS: blocks per slot and tile, a multiple of MBK_TOGETHER\"\n"
  "#endif\n"
  "#ifndef MBK_SHUFFLED\n"
  "#error \"define MBK_SHUFFLED: 1 if a slot's lanes load x together and pass it on by shuffles\"\n"
  "#endif\n"
  "#ifndef MBK_ONCE\n"
  "#error \"define MBK_ONCE: 1 if the matrix is loaded past the caches\"\n"
  "#endif\n"
  "#ifndef MBK_THREADS\n"
  "#error \"define MBK_THREADS: threads per block of the product, a multiple of 32\"\n"
  "#endif\n"
  "#ifndef MBK_BLOCKS\n"
  "#error \"define MBK_BLOCKS: blocks of the product that a multiprocessor should hold\"\n"
  "#endif\n"
  "#include \"spmv/ranks.cuh\"\n"
  "\n"
  "#define MBK_ENTRIES (MBK_BLOCK_ROWS * MBK_BLOCK_COLS)\n"
  "#define MBK_PACK (16 / (int)sizeof(MBK_COMPUTE)) // entries that one load brings\n"
  "// A block too high for a warp goes in strips of rows, each to its own warp.\n"
  "#define MBK_STRIPS ((MBK_BLOCK_ROWS * MBK_SPLIT + 31) / 32)\n",
  "#define MBK_STRIP_ROWS ((MBK_BLOCK_ROWS + MBK_STRIPS - 1) / MBK_STRIPS)\n"
  "#define MBK_LANE_COLS ((MBK_BLOCK_COLS + MBK_SPLIT - 1) / MBK_SPLIT)\n"
  "#define MBK_LANES (MBK_STRIP_ROWS * MBK_SPLIT) // of a slot\n"
  "#define MBK_SLOTS (32 / MBK_LANES)             // of a warp\n"
  "#define MBK_ACTIVE (MBK_SLOTS * MBK_LANES)\n"
  "#define MBK_TILE_BLOCKS (MBK_SLOTS * MBK_SLOT_BLOCKS)\n"
  "#define MBK_GROUPS (MBK_SLOT_BLOCKS / MBK_TOGETHER)\n"
  "#define MBK_GROUP_ENTRIES (MBK_TOGETHER * MBK_LANE_COLS) // of a lane: a multiple of MBK_PACK\n"
  "#define MBK_GROUP_PACKS (MBK_GROUP_ENTRIES / MBK_PACK)\n"
  "#define MBK_GROUP_FACTORS (MBK_TOGETHER * MBK_BLOCK_COLS) // of a slot\n"
  "\n"
  "// Bits of a lane's entries of one group.\n"
  "#if MBK_GROUP_ENTRIES <= 16\n"
  "#define MBK_MASK mbk_u16\n"
  "#else\n"
  "#define MBK_MASK mbk_u32\n"
  "#endif\n"
  "\n"
  "#if MBK_ONCE\n"
  "#define MBK_PACK_LOAD mbk_load_pack_once\n"
  "#define MBK_MATRIX_LOAD mbk_load_once\n"
  "#else\n"
  "#define MBK_PACK_LOAD mbk_load_pack\n"
  "#define MBK_MATRIX_LOAD mbk_load\n"
  "#endif\n"
  "\n"
  "// Where a lane stands. Lanes that no slot is left for do as those of the last slot, and write\n"
  "// nothing.\n"
  "struct mbk_bsr_place {\n"
  "  mbk_u32 slot, lane; // lane: in its slot\n"
  "  mbk_u32 row, col;   // of its first entry in the strip of the block\n"
  "};\n"
  "\n"
  "MBK_DEVICE mbk_bsr_place mbk_bsr_where(mbk_u32 thread) {\n"
  "  mbk_bsr_place at;\n"
  "  at.slot = thread / MBK_LANES < MBK_SLOTS ? thread / MBK_LANES : MBK_SLOTS - 1;\n"
  "  at.lane = thread % MBK_LANES;\n"
  "  at.row = at.lane / MBK_SPLIT;\n"
  "  at.col = at.lane % MBK_SPLIT * MBK_LANE_COLS;\n"
  "  return at;\n"
  "}\n"
  "\n"
  "// ---- x\n"
  "// --------------------------------------------------------------------------------\n"
  "\n",
  "// The factors of a lane's entries of a group whose block columns are at `columns`; zero beyond\n"
  "// the block and the matrix, where the stored entries are zero too. `neighbours` of x are loaded\n"
  "// at once.\n"
  "#if MBK_SHUFFLED\n"
  "\n"
  "template <int neighbours>\n"
  "MBK_DEVICE void mbk_bsr_factors(const mbk_i32 *columns, const MBK_VECTOR *x, mbk_u64 cols,\n"
  "                                const mbk_bsr_place &at,\n"
  "                                MBK_VECTOR (&factor)[MBK_GROUP_ENTRIES]) {\n"
  "  enum { LOADS = (MBK_GROUP_FACTORS + MBK_LANES - 1) / MBK_LANES };\n"
  "  mbk_u32 column[LOADS];\n"
  "  MBK_VECTOR own[LOADS];\n"
  "#pragma unroll\n"
  "  for (int i = 0; i < LOADS; i++) {\n"
  "    const mbk_u32 k = i * MBK_LANES + at.lane;\n"
  "    column[i] = k < MBK_GROUP_FACTORS ? (mbk_u32)mbk_load(columns + k / MBK_BLOCK_COLS) : 0;\n"
  "  }\n"
  "  mbk_await_for(x);\n"
  "#pragma unroll\n"
  "  for (int i = 0; i < LOADS; i++) {\n"
  "    const mbk_u32 k = i * MBK_LANES + at.lane;\n"
  "    const mbk_u64 col = (mbk_u64)column[i] * MBK_BLOCK_COLS + k % MBK_BLOCK_COLS;\n"
  "    own[i] = (MBK_VECTOR)0;\n"
  "    if (k < MBK_GROUP_FACTORS && (!MBK_EDGE || col < cols)) {\n"
  "      own[i] = mbk_load(x + col);\n"
  "    }\n"
  "  }\n"
  "#pragma unroll\n"
  "  for (int k = 0; k < MBK_GROUP_FACTORS; k++) {\n"
  "    factor[k] = mbk_shuffle(MBK_ALL, own[k / MBK_LANES],\n"
  "                            (int)(at.slot * MBK_LANES) + k % MBK_LANES, 32);\n"
  "  }\n"
  "}\n"
  "\n"
  "#else\n"
  "\n"
  "template <int neighbours>\n"
  "MBK_DEVICE void mbk_bsr_factors(const mbk_i32 *columns, const MBK_VECTOR *x, mbk_u64 cols,\n"
  "                                const mbk_bsr_place &at,\n"
  "                                MBK_VECTOR (&factor)[MBK_GROUP_ENTRIES]) {\n"
  "  enum { PACK = MBK_TOGETHER < 4 ? MBK_TOGETHER : 4 };\n"
  "  mbk_i32 column[MBK_TOGETHER];\n",
  "#pragma unroll\n"
  "  for (int u = 0; u < MBK_TOGETHER; u += PACK) {\n"
  "    const mbk_pack<mbk_i32, PACK> pack = mbk_load_pack<mbk_i32, PACK>(columns + u);\n"
  "#pragma unroll\n"
  "    for (int j = 0; j < PACK; j++) {\n"
  "      column[u + j] = pack.at[j];\n"
  "    }\n"
  "  }\n"
  "  mbk_await_for(x);\n"
  "#pragma unroll\n"
  "  for (int u = 0; u < MBK_TOGETHER; u++) {\n"
  "    const mbk_u64 col = (mbk_u64)(mbk_u32)column[u] * MBK_BLOCK_COLS + at.col;\n"
  "#pragma unroll\n"
  "    for (int j = 0; j < MBK_LANE_COLS; j += neighbours) {\n"
  "      mbk_pack<MBK_VECTOR, neighbours> some = {};\n"
  "      if ((MBK_LANE_COLS * MBK_SPLIT == MBK_BLOCK_COLS || at.col + j < MBK_BLOCK_COLS) &&\n"
  "          (!MBK_EDGE || col + j < cols)) {\n"
  "        some = mbk_load_pack<MBK_VECTOR, neighbours>(x + col + j);\n"
  "      }\n"
  "#pragma unroll\n"
  "      for (int n = 0; n < neighbours; n++) {\n"
  "        factor[u * MBK_LANE_COLS + j + n] = some.at[n];\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n"
  "#endif\n"
  "\n"
  "// Neighbours of x that one load may bring where x allows: those that a lane's columns are made\n"
  "// of in every block, up to 16 bytes; one where cols may end within them.\n"
  "#define MBK_EVEN (MBK_LANE_COLS * MBK_SPLIT == MBK_BLOCK_COLS && !MBK_EDGE && !MBK_SHUFFLED)\n"
  "#define MBK_NEIGHBOURS                                                                         \\\n"
  "  (!MBK_EVEN || MBK_LANE_COLS % 2 != 0 ? 1 : MBK_LANE_COLS % MBK_PACK != 0 ? 2 : MBK_PACK)\n"
  "\n"
  "// ---- Products\n"
  "// --------------------------------------------------------------------------------\n"
  "\n"
  "// The sum that each block of a group adds to the lane's row. `values` and `masks` are the\n"
  "// lane's in the group; lane follows lane.\n"
  "template <int neighbours>\n"
  "MBK_DEVICE void mbk_bsr_group(const mbk_i32 *columns, const MBK_VALUE *values,\n",
  "                              const MBK_MASK *masks, const MBK_VECTOR *x, mbk_u64 cols,\n"
  "                              const mbk_bsr_place &at, MBK_COMPUTE (&sum)[MBK_TOGETHER]) {\n"
  "  MBK_VECTOR factor[MBK_GROUP_ENTRIES];\n"
  "#if !MBK_PATTERN\n"
  "  mbk_pack<MBK_VALUE, MBK_PACK> value[MBK_GROUP_PACKS];\n"
  "#pragma unroll\n"
  "  for (int p = 0; p < MBK_GROUP_PACKS; p++) {\n"
  "    value[p] = MBK_PACK_LOAD<MBK_VALUE, MBK_PACK>(values + p * MBK_ACTIVE * MBK_PACK);\n"
  "  }\n"
  "#endif\n"
  "#if MBK_MASKED\n"
  "  const mbk_u32 mask = MBK_MATRIX_LOAD(masks);\n"
  "#endif\n"
  "  mbk_bsr_factors<neighbours>(columns, x, cols, at, factor);\n"
  "#pragma unroll\n"
  "  for (int u = 0; u < MBK_TOGETHER; u++) {\n"
  "    sum[u] = MBK_ZERO;\n"
  "#pragma unroll\n"
  "    for (int j = 0; j < MBK_LANE_COLS; j++) {\n"
  "      const int e = u * MBK_LANE_COLS + j;\n"
  "#if MBK_MASKED\n"
  "      factor[e] = mask >> e & 1 ? factor[e] : (MBK_VECTOR)0;\n"
  "#endif\n"
  "#if MBK_PATTERN\n"
  "      sum[u] = MBK_ADD(sum[u], MBK_UNIT(values, factor[e]));\n"
  "#else\n"
  "      sum[u] = MBK_ADD(sum[u], MBK_MUL(value[e / MBK_PACK].at[e % MBK_PACK], factor[e]));\n"
  "#endif\n"
  "    }\n"
  "#pragma unroll\n"
  "    for (int d = 1; d < MBK_SPLIT; d <<= 1) {\n"
  "      sum[u] = MBK_ADD(sum[u], mbk_shuffle_xor(MBK_ALL, sum[u], d, 32));\n"
  "    }\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_bsr_build_cuh[] = {
  "// Tiles of blocks, made on the GPU from the block rows, the block columns and the blocks as\n"
  "// they come: part of spmv/bsr.cu.\n"
  "#ifndef MBK_TILE_BLOCKS\n"
  "#error \"include spmv/bsr_tile.cuh before\"\n"
  "#endif\n"
  "\n"
  "#define MBK_BUILD_THREADS 256\n"
  "\n"
  "// row_ends: word w has the bits of the blocks from 32 w on, `words` words; and slot_row.\n"
  "// Launch: one thread for each of the more numerous.\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)\n"
  "    mbk_bsr_schedule(const MBK_ROW_PTR *row_start, mbk_u32 ranks, mbk_u64 blocks, mbk_u64 words,\n"
  "                     mbk_u64 slots, mbk_u32 *row_ends, mbk_u32 *slot_row) {\n"
  "  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();\n"
  "  if (at < words) {\n"
  "    const mbk_u64 first = 32 * at;\n"
  "    mbk_u32 bits = 0;\n"
  "    if (first < blocks) {\n"
  "      mbk_u32 rank = mbk_rank_search(row_start, ranks, first);\n"
  "      for (; rank < ranks; rank++) {\n"
  "        const mbk_u64 last = (mbk_u64)(mbk_load(row_start + rank + 1) - MBK_BASE) - 1;\n"
  "        if (last >= first + 32) {\n"
  "          break;\n"
  "        }\n"
  "        bits |= 1u << (last - first);\n"
  "      }\n"
  "    }\n"
  "    row_ends[at] = bits;\n"
  "  }\n"
  "  if (at <= slots) {\n"
  "    const mbk_u64 first = at * MBK_SLOT_BLOCKS;\n"
  "    slot_row[at] = first < blocks ? mbk_rank_search(row_start, ranks, first) : ranks;\n"
  "  }\n"
  "}\n"
  "\n"
  "// The entry of a lane's group: `e` of MBK_GROUP_ENTRIES.\n"
  "struct mbk_bsr_entry {\n"
  "  mbk_u64 block;\n"
  "  mbk_u32 offset; // in the block as it comes\n"
  "  bool inside;    // the block\n"
  "  mbk_u32 col;\n"
  "};\n"
  "\n"
  "MBK_DEVICE mbk_bsr_entry mbk_bsr_find(mbk_u64 tile, mbk_u32 strip, mbk_u32 group,\n"
  "                                      mbk_u32 thread, mbk_u32 e) {\n"
  "  const mbk_bsr_place at = mbk_bsr_where(thread);\n",
  "  const mbk_u32 row = strip * MBK_STRIP_ROWS + at.row, col = at.col + e % MBK_LANE_COLS;\n"
  "  mbk_bsr_entry found;\n"
  "  found.block = tile * MBK_TILE_BLOCKS + at.slot * MBK_SLOT_BLOCKS + group * MBK_TOGETHER +\n"
  "                e / MBK_LANE_COLS;\n"
  "  found.offset = MBK_COLUMN_MAJOR ? col * MBK_BLOCK_ROWS + row : row * MBK_BLOCK_COLS + col;\n"
  "  found.inside = row < MBK_BLOCK_ROWS && col < MBK_BLOCK_COLS;\n"
  "  found.col = col;\n"
  "  return found;\n"
  "}\n"
  "\n"
  "// Block columns, in the order in which the product reads them. Launch: one thread per place,\n"
  "// also behind the last block.\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)\n"
  "    mbk_bsr_columns(const mbk_i32 *col_ind, mbk_u64 blocks, mbk_u64 tiles, mbk_i32 *columns) {\n"
  "  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();\n"
  "  const mbk_u64 tile = at / MBK_TILE_BLOCKS;\n"
  "  const mbk_u32 place = (mbk_u32)(at % MBK_TILE_BLOCKS), u = place % MBK_TOGETHER;\n"
  "  const mbk_u32 slot = place / MBK_TOGETHER % MBK_SLOTS;\n"
  "  const mbk_u32 group = place / (MBK_TOGETHER * MBK_SLOTS);\n"
  "  const mbk_u64 block =\n"
  "      tile * MBK_TILE_BLOCKS + slot * MBK_SLOT_BLOCKS + group * MBK_TOGETHER + u;\n"
  "  if (tile < tiles) {\n"
  "    columns[at] = block < blocks ? mbk_load(col_ind + block) - MBK_BASE : 0;\n"
  "  }\n"
  "}\n"
  "\n"
  "#if MBK_MASKED\n"
  "#define MBK_THERE(found)                                                                       \\\n"
  "  (mbk_load(mask_words + (found).block * ((MBK_ENTRIES + 63) / 64) + (found).offset / 64) >>   \\\n"
  "       (found).offset % 64 &                                                                   \\\n"
  "   1)\n"
  "\n"
  "// Bits of a block's entries, in whole words in the order of its entries, to bits of lanes.\n"
  "// Launch: one thread per lane and group.\n",
  "MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)\n"
  "    mbk_bsr_masks(const mbk_u64 *mask_words, mbk_u64 blocks, mbk_u64 tiles, MBK_MASK *masks) {\n"
  "  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();\n"
  "  const mbk_u32 thread = (mbk_u32)(at % MBK_ACTIVE);\n"
  "  const mbk_u32 group = (mbk_u32)(at / MBK_ACTIVE % MBK_GROUPS);\n"
  "  const mbk_u64 strip = at / MBK_ACTIVE / MBK_GROUPS, tile = strip / MBK_STRIPS;\n"
  "  mbk_u32 bits = 0;\n"
  "  if (tile >= tiles) {\n"
  "    return;\n"
  "  }\n"
  "  for (mbk_u32 e = 0; e < MBK_GROUP_ENTRIES; e++) {\n"
  "    const mbk_bsr_entry found =\n"
  "        mbk_bsr_find(tile, (mbk_u32)(strip % MBK_STRIPS), group, thread, e);\n"
  "    if (found.block < blocks && found.inside && MBK_THERE(found)) {\n"
  "      bits |= 1u << e;\n"
  "    }\n"
  "  }\n"
  "  masks[at] = (MBK_MASK)bits;\n"
  "}\n"
  "#else\n"
  "#define MBK_THERE(found) true\n"
  "#endif\n"
  "\n"
  "// Entries to packs of lanes; those that are not the matrix's become zero. Launch: one thread\n"
  "// per pack.\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)\n"
  "    mbk_bsr_fill(const mbk_i32 *col_ind, const MBK_VALUE *values, const mbk_u64 *mask_words,\n"
  "                 mbk_u64 cols, mbk_u64 blocks, mbk_u64 tiles, MBK_VALUE *packs) {\n"
  "  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();\n"
  "  const mbk_u32 thread = (mbk_u32)(at % MBK_ACTIVE);\n"
  "  const mbk_u32 p = (mbk_u32)(at / MBK_ACTIVE % MBK_GROUP_PACKS);\n"
  "  const mbk_u32 group = (mbk_u32)(at / (MBK_ACTIVE * MBK_GROUP_PACKS) % MBK_GROUPS);\n"
  "  const mbk_u64 strip = at / ((mbk_u64)MBK_ACTIVE * MBK_GROUP_PACKS * MBK_GROUPS);\n"
  "  const mbk_u64 tile = strip / MBK_STRIPS;\n"
  "  mbk_pack<MBK_VALUE, MBK_PACK> pack;\n"
  "  if (tile >= tiles) {\n"
  "    return;\n"
  "  }\n"
  "#pragma unroll\n"
  "  for (mbk_u32 k = 0; k < MBK_PACK; k++) {\n",
  "    const mbk_bsr_entry found =\n"
  "        mbk_bsr_find(tile, (mbk_u32)(strip % MBK_STRIPS), group, thread, p * MBK_PACK + k);\n"
  "    bool there = found.block < blocks && found.inside;\n"
  "    if (MBK_EDGE && there) {\n"
  "      const mbk_u32 column = (mbk_u32)(mbk_load(col_ind + found.block) - MBK_BASE);\n"
  "      there = (mbk_u64)column * MBK_BLOCK_COLS + found.col < cols;\n"
  "    }\n"
  "    pack.at[k] = there && MBK_THERE(found)\n"
  "                     ? mbk_load(values + found.block * MBK_ENTRIES + found.offset)\n"
  "                     : (MBK_VALUE)0;\n"
  "  }\n"
  "  mbk_store_pack(packs + at * MBK_PACK, pack);\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_bsr_cu[] = {
  "// Blocks: y = alpha A x + beta y over tiles of consecutive blocks, one bit per block for \"ends\n"
  "// its row of blocks\", and a segmented sum by shuffles. Source: that every task holds the same\n"
  "// number of blocks, and shapes as constants, are of Chirila (Architectural-Aware Optimization\n"
  "// of SpMV on GPUs, Bucharest 2025, chapters 6 and 8); the layout, sums in registers and the\n"
  "// fixed order are ours.\n"
  "//\n"
  "// A warp is MBK_SLOTS slots of MBK_LANES lanes: one for each row of a block, or MBK_SPLIT for\n"
  "// each. A tile is MBK_SLOTS times MBK_SLOT_BLOCKS blocks, of which a slot takes consecutive\n"
  "// ones, MBK_TOGETHER at a time: a group. The copy of the entries lies in the order in which\n"
  "// they are read: tile, strip, group, pack, lane; block columns: tile, group, slot, block. Rows\n"
  "// of blocks are numbered by rank among those that hold something; slot_row[s] is the rank of\n"
  "// the row of slot s's first block, behind the last slot the number of ranks.\n"
  "#include \"jit/device.cuh\"\n"
  "#include \"spmv/algebra.cuh\"\n"
  "\n"
  "#include \"spmv/bsr_tile.cuh\"\n"
  "\n"
  "#include \"spmv/bsr_build.cuh\"\n"
  "\n"
  "#define MBK_PARTS MBK_BLOCK_ROWS\n"
  "#define MBK_TILE_ITEMS MBK_TILE_BLOCKS\n"
  "#define MBK_TILE_RANK(tile) mbk_load(tile_row + (tile)*MBK_SLOTS)\n"
  "#include \"spmv/fixup.cuh\"\n"
  "\n"
  "// What a lane writes: the entry `part` of each row of blocks, if any.\n"
  "struct mbk_bsr_target {\n"
  "  const mbk_u32 *row_id;\n"
  "  MBK_VECTOR *y;\n"
  "  mbk_u64 rows;\n"
  "  mbk_u32 part;\n"
  "  bool writes;\n"
  "};\n"
  "\n"
  "MBK_DEVICE void mbk_bsr_commit(const mbk_bsr_target &to, mbk_u32 rank, MBK_COMPUTE sum,\n"
  "                               MBK_COMPUTE alpha, MBK_COMPUTE beta) {\n"
  "  const mbk_u32 *const row_id = to.row_id;\n",
  "  const mbk_u64 row = (mbk_u64)MBK_ROW_OF(rank) * MBK_BLOCK_ROWS + to.part;\n"
  "  (void)row_id;\n"
  "  if (to.writes && row < to.rows) {\n"
  "    mbk_commit(to.y, row, MBK_ADD(MBK_ZERO, sum), alpha, beta);\n"
  "  }\n"
  "}\n"
  "\n"
  "// One strip of a tile by its warp. Each lane sums its row up to each end of a row of blocks\n"
  "// alone; the first of these may have begun in slots before. The row of the tile's first\n"
  "// block goes to firsts, what follows the last row end to tails: mbk_bsr_fixup puts these\n"
  "// together.\n"
  "template <int neighbours>\n"
  "MBK_DEVICE void mbk_bsr_run(const mbk_u32 *row_ends, const mbk_u32 *slot_row,\n"
  "                            const mbk_u32 *row_id, const mbk_i32 *columns,\n"
  "                            const MBK_VALUE *values, const MBK_MASK *masks, const MBK_VECTOR *x,\n"
  "                            MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails,\n"
  "                            mbk_u64 rows, mbk_u64 cols, mbk_u64 tile, mbk_u32 strip,\n"
  "                            MBK_COMPUTE alpha, MBK_COMPUTE beta) {\n"
  "  const mbk_u32 lane = mbk_lane();\n"
  "  const mbk_bsr_place at = mbk_bsr_where(lane);\n"
  "  const mbk_u64 first_block = tile * MBK_TILE_BLOCKS + at.slot * MBK_SLOT_BLOCKS;\n"
  "  mbk_bsr_target to = {row_id, y, rows, strip * MBK_STRIP_ROWS + at.row, false};\n"
  "  to.writes = lane < MBK_ACTIVE && at.col == 0 && to.part < MBK_BLOCK_ROWS;\n"
  "  columns += tile * MBK_TILE_BLOCKS + at.slot * MBK_TOGETHER;\n"
  "  const mbk_u64 group = (tile * MBK_STRIPS + strip) * MBK_GROUPS;\n"
  "  (void)group;\n"
  "#if !MBK_PATTERN\n"
  "  values += (group * MBK_GROUP_PACKS * MBK_ACTIVE + at.slot * MBK_LANES + at.lane) * MBK_PACK;\n"
  "#endif\n"
  "#if MBK_MASKED\n"
  "  masks += group * MBK_ACTIVE + at.slot * MBK_LANES + at.lane;\n"
  "#endif\n",
  "  const mbk_u32 first = mbk_load(slot_row + tile * MBK_SLOTS + at.slot);\n"
  "  mbk_u32 rank = first;\n"
  "  MBK_COMPUTE sum = MBK_ZERO, head = MBK_ZERO;\n"
  "#pragma unroll 1\n"
  "  for (mbk_u32 g = 0; g < MBK_GROUPS; g++) {\n"
  "    const mbk_u64 block = first_block + g * MBK_TOGETHER;\n"
  "    const mbk_u32 ends = mbk_load(row_ends + block / 32) >> block % 32;\n"
  "    MBK_COMPUTE part[MBK_TOGETHER];\n"
  "    if (alpha == (MBK_COMPUTE)0) { // nothing is read of the matrix or of x\n"
  "      mbk_await();\n"
  "#pragma unroll\n"
  "      for (int u = 0; u < MBK_TOGETHER; u++) {\n"
  "        part[u] = MBK_ZERO;\n"
  "      }\n"
  "    } else {\n"
  "      mbk_bsr_group<neighbours>(\n"
  "          columns + g * (MBK_TOGETHER * MBK_SLOTS),\n"
  "          MBK_PATTERN ? values : values + g * (MBK_GROUP_PACKS * MBK_ACTIVE * MBK_PACK),\n"
  "          masks + g * MBK_ACTIVE, x, cols, at, part);\n"
  "    }\n"
  "#pragma unroll\n"
  "    for (int u = 0; u < MBK_TOGETHER; u++) {\n"
  "      sum = MBK_ADD(sum, part[u]);\n"
  "      if (ends >> u & 1) {\n"
  "        if (rank == first) {\n"
  "          head = sum; // the slots before may hold some of it\n"
  "        } else {\n"
  "          mbk_bsr_commit(to, rank, sum, alpha, beta);\n"
  "        }\n"
  "        rank++;\n"
  "        sum = MBK_ZERO;\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "  // What the slots from the last closed one on hold of the row that is open behind each.\n"
  "  const mbk_u32 closed = mbk_ballot(MBK_ALL, rank != first);\n"
  "  const mbk_u32 until = closed & (0xffffffffu >> (31 - lane));\n"
  "  const int distance =\n"
  "      (int)at.slot - (until != 0 ? (31 - mbk_leading_zeros(until)) / MBK_LANES : 0);\n"
  "#pragma unroll\n"
  "  for (int d = 1; d < MBK_SLOTS; d <<= 1) {\n"
  "    const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, d * MBK_LANES, 32);\n"
  "    if (distance >= d) {\n",
  "      sum = MBK_ADD(other, sum);\n"
  "    }\n"
  "  }\n"
  "  const MBK_COMPUTE earlier =\n"
  "      MBK_SLOTS > 1 ? mbk_shuffle_up(MBK_ALL, sum, MBK_LANES % 32, 32) : MBK_ZERO;\n"
  "  const mbk_u64 carry = tile * MBK_BLOCK_ROWS + to.part;\n"
  "  if (rank != first) {\n"
  "    head = at.slot > 0 ? MBK_ADD(earlier, head) : head;\n"
  "    if ((closed & ((1u << (at.slot * MBK_LANES)) - 1)) != 0) {\n"
  "      mbk_bsr_commit(to, first, head, alpha, beta);\n"
  "    } else if (to.writes) {\n"
  "      firsts[carry] = head;\n"
  "    }\n"
  "  }\n"
  "  if (to.writes && at.slot == MBK_SLOTS - 1) {\n"
  "    tails[carry] = sum;\n"
  "  }\n"
  "}\n"
  "\n"
  "// Launch: one warp per strip of a tile. mbk_bsr_fixup follows.\n"
  "MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)\n"
  "    mbk_bsr_product(const mbk_u32 *row_ends, const mbk_u32 *slot_row, const mbk_u32 *row_id,\n"
  "                    const mbk_i32 *columns, const MBK_VALUE *values, const MBK_MASK *masks,\n"
  "                    const MBK_VECTOR *x, MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails,\n"
  "                    mbk_u64 rows, mbk_u64 cols, mbk_u64 tiles, MBK_SCALAR_PARAMETERS) {\n"
  "  mbk_release();\n"
  "  MBK_SCALARS_LOAD;\n"
  "  const mbk_u64 warp = (mbk_u64)mbk_block() * (MBK_THREADS / 32) + mbk_thread() / 32;\n"
  "  const mbk_u64 tile = warp / MBK_STRIPS;\n"
  "  const mbk_u32 strip = (mbk_u32)(warp % MBK_STRIPS);\n"
  "  if (tile >= tiles) {\n"
  "    return;\n"
  "  }\n"
  "  if (MBK_NEIGHBOURS == 1 || (mbk_u64)x % (MBK_NEIGHBOURS * sizeof(MBK_VECTOR)) == 0) {\n"
  "    mbk_bsr_run<MBK_NEIGHBOURS>(row_ends, slot_row, row_id, columns, values, masks, x, y,\n"
  "                                firsts, tails, rows, cols, tile, strip, alpha, beta);\n"
  "  } else {\n"
  "    mbk_bsr_run<1>(row_ends, slot_row, row_id, columns, values, masks, x, y, firsts, tails,\n",
  "                   rows, cols, tile, strip, alpha, beta);\n"
  "  }\n"
  "}\n"
  "\n"
  "// Launch: MBK_FIXUP_THREADS rows of tiles, of which each has MBK_BLOCK_ROWS, per block. Shared:\n"
  "// as mbk_fixup.\n"
  "MBK_KERNEL MBK_RESIDENT(MBK_FIXUP_THREADS, 2)\n"
  "    mbk_bsr_fixup(const MBK_ROW_PTR *row_start, const mbk_u32 *slot_row, const mbk_u32 *row_id,\n"
  "                  const mbk_u32 *empty_id, const MBK_COMPUTE *firsts, const MBK_COMPUTE *tails,\n"
  "                  MBK_VECTOR *y, mbk_u64 tiles, mbk_u64 empty_rows, mbk_u64 rows,\n"
  "                  MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_fixup(row_start, slot_row, row_id, empty_id, firsts, tails, y, tiles, empty_rows, rows,\n"
  "            (MBK_COMPUTE *)shared, MBK_SCALAR_ARGUMENTS);\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_sliced_build_cuh[] = {
  "// Sliced storage, built on the GPU: part of spmv/sliced.cu, whose macros it uses.\n"
  "#ifndef MBK_WINDOW\n"
  "#error \"include spmv/sliced.cu, which opens with the list of macros\"\n"
  "#endif\n"
  "\n"
  "// The length of each row and the rows in the order of the slices: as they come, or sorted by\n"
  "// falling length within windows, where equal lengths keep their order; past the last row:\n"
  "// length 0, row 2^32 - 1. Launch: one block of 512 threads per window. Shared:\n"
  "// mbk_u64[MBK_WINDOW].\n"
  "MBK_KERNEL MBK_BOUNDS(512) mbk_sliced_order(const MBK_ROW_PTR *row_ptr, mbk_u64 rows,\n"
  "                                            mbk_u32 *length, mbk_u32 *row_id) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  mbk_u64 *const keys = (mbk_u64 *)shared; // 2^32 - 1 - length, place in the window\n"
  "  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_WINDOW;\n"
  "  for (mbk_u32 i = mbk_thread(); i < MBK_WINDOW; i += 512) {\n"
  "    const mbk_u64 row = first + i;\n"
  "    const mbk_u64 count = row < rows ? (mbk_u64)(row_ptr[row + 1] - row_ptr[row]) : 0;\n"
  "    keys[i] = (0xffffffffull - count) << 32 | i;\n"
  "  }\n"
  "  mbk_block_sync();\n"
  "#if MBK_SORTED\n"
  "  for (mbk_u32 run = 2; run <= MBK_WINDOW; run *= 2) {\n"
  "    for (mbk_u32 step = run / 2; step > 0; step /= 2) {\n"
  "      const mbk_u32 low = 2 * step * (mbk_thread() / step) + mbk_thread() % step;\n"
  "      const mbk_u64 a = keys[low], b = keys[low + step];\n"
  "      if ((a > b) == ((low & run) == 0)) {\n"
  "        keys[low] = b;\n"
  "        keys[low + step] = a;\n"
  "      }\n"
  "      mbk_block_sync();\n"
  "    }\n"
  "  }\n"
  "#endif\n"
  "  for (mbk_u32 i = mbk_thread(); i < MBK_WINDOW; i += 512) {\n"
  "    if (first + i < (rows + 31) / 32 * 32) {\n"
  "      length[first + i] = (mbk_u32)(0xffffffffull - (keys[i] >> 32));\n"
  "#if MBK_SORTED\n",
  "      const mbk_u64 row = first + (mbk_u32)keys[i];\n"
  "      row_id[first + i] = row < rows ? (mbk_u32)row : 0xffffffffu;\n"
  "#endif\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n"
  "// The longest row of each slice, its lowest column, or MBK_WIDE where the highest is too far\n"
  "// from it, and its columns of two-byte numbers. Launch: one warp per slice, 128 threads per\n"
  "// block.\n"
  "MBK_KERNEL MBK_BOUNDS(128)\n"
  "    mbk_sliced_width(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind, const mbk_u32 *length,\n"
  "                     const mbk_u32 *row_id, mbk_u64 slices, mbk_u32 *width, mbk_u32 *base,\n"
  "                     mbk_u32 *column_width) {\n"
  "  const mbk_u64 slice = (mbk_u64)mbk_block() * 4 + mbk_thread() / 32;\n"
  "  if (slice >= slices) {\n"
  "    return;\n"
  "  }\n"
  "  const mbk_u64 place = slice * 32 + mbk_lane();\n"
  "  const mbk_u32 count = length[place];\n"
  "  mbk_u32 most = count, low = 0x7fffffffu, high = 0;\n"
  "  if (count > 0) {\n"
  "#if MBK_SORTED\n"
  "    const mbk_u64 row = row_id[place];\n"
  "#else\n"
  "    const mbk_u64 row = place;\n"
  "#endif\n"
  "    const mbk_u64 from = (mbk_u64)(row_ptr[row] - MBK_BASE);\n"
  "    for (mbk_u32 k = 0; k < count; k++) {\n"
  "      const mbk_u32 column = (mbk_u32)(mbk_load(col_ind + from + k) - MBK_BASE);\n"
  "      low = column < low ? column : low;\n"
  "      high = column > high ? column : high;\n"
  "    }\n"
  "  }\n"
  "  for (int d = 16; d > 0; d >>= 1) {\n"
  "    const mbk_u32 other_most = mbk_shuffle_xor(MBK_ALL, most, d, 32);\n"
  "    const mbk_u32 other_low = mbk_shuffle_xor(MBK_ALL, low, d, 32);\n"
  "    const mbk_u32 other_high = mbk_shuffle_xor(MBK_ALL, high, d, 32);\n"
  "    most = other_most > most ? other_most : most;\n"
  "    low = other_low < low ? other_low : low;\n"
  "    high = other_high > high ? other_high : high;\n"
  "  }\n"
  "  if (mbk_lane() == 0) {\n",
  "    const bool wide = most > 0 && high - low > 0xffff;\n"
  "    most = (most + MBK_PACK - 1) / MBK_PACK * MBK_PACK;\n"
  "    width[slice] = most;\n"
  "    base[slice] = wide ? MBK_WIDE : most > 0 ? low : 0;\n"
  "    column_width[slice] = wide ? 2 * most : most;\n"
  "  }\n"
  "}\n"
  "\n"
  "// Columns and values to where the product finds them. Launch: one warp per slice, 128 threads\n"
  "// per block.\n"
  "MBK_KERNEL MBK_BOUNDS(128)\n"
  "    mbk_sliced_fill(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind, const MBK_VALUE *values,\n"
  "                    const mbk_u32 *slice_start, const mbk_u32 *column_start,\n"
  "                    const mbk_u32 *slice_base, const mbk_u32 *length, const mbk_u32 *row_id,\n"
  "                    mbk_u64 slices, mbk_u16 *columns, MBK_VALUE *sliced_values) {\n"
  "  const mbk_u64 slice = (mbk_u64)mbk_block() * 4 + mbk_thread() / 32;\n"
  "  if (slice >= slices) {\n"
  "    return;\n"
  "  }\n"
  "  const mbk_u64 place = slice * 32 + mbk_lane();\n"
  "  const mbk_u32 count = length[place];\n"
  "  if (count == 0) {\n"
  "    return;\n"
  "  }\n"
  "#if MBK_SORTED\n"
  "  const mbk_u64 row = row_id[place];\n"
  "#else\n"
  "  const mbk_u64 row = place;\n"
  "#endif\n"
  "  const mbk_u64 from = (mbk_u64)(row_ptr[row] - MBK_BASE);\n"
  "  const mbk_u32 base = slice_base[slice];\n"
  "  columns += (mbk_u64)column_start[slice] * 32;\n"
  "#if !MBK_PATTERN\n"
  "  sliced_values += (mbk_u64)slice_start[slice] * 32;\n"
  "#endif\n"
  "  // What follows the last nonzero in its pack is loaded, but not used.\n"
  "  for (mbk_u32 k = 0; k < (count + MBK_PACK - 1) / MBK_PACK * MBK_PACK; k++) {\n"
  "    const mbk_u64 slot = (mbk_u64)(k / MBK_PACK * 32 + mbk_lane()) * MBK_PACK + k % MBK_PACK;\n"
  "    const mbk_u32 column = k < count ? (mbk_u32)(col_ind[from + k] - MBK_BASE) : 0;\n"
  "    if (base == MBK_WIDE) {\n",
  "      ((mbk_i32 *)columns)[slot] = (mbk_i32)column;\n"
  "    } else {\n"
  "      columns[slot] = (mbk_u16)(column - base);\n"
  "    }\n"
  "#if !MBK_PATTERN\n"
  "    sliced_values[slot] = k < count ? values[from + k] : (MBK_VALUE)0;\n"
  "#endif\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_sliced_cu[] = {
  "// Sliced storage: y = alpha A x + beta y over slices of 32 rows, each stored column by column,\n"
  "// one row per lane; columns as two-byte offsets from the slice's lowest where they fit. Source:\n"
  "// sliced ELLPACK (Monakov, Lokhmotov, Avetisyan, HiPEAC 2010) and its sorting window\n"
  "// (SELL-C-sigma: Kreutzer et al., SIAM J. Sci. Comput. 36, 2014). Slots past a row's end are\n"
  "// never read.\n"
  "#ifndef MBK_SORTED\n"
  "#error \"define MBK_SORTED: 1 if rows are sorted by length within windows of MBK_WINDOW\"\n"
  "#endif\n"
  "#ifndef MBK_UNROLL\n"
  "#error \"define MBK_UNROLL: loads of values that one lane keeps in flight\"\n"
  "#endif\n"
  "#ifndef MBK_ONCE\n"
  "#error \"define MBK_ONCE: 1 if the matrix is loaded past the caches\"\n"
  "#endif\n"
  "#ifndef MBK_THREADS\n"
  "#error \"define MBK_THREADS: threads per block, a multiple of 32\"\n"
  "#endif\n"
  "#include \"jit/device.cuh\"\n"
  "#include \"spmv/algebra.cuh\"\n"
  "\n"
  "#if MBK_ONCE\n"
  "#define MBK_PACK_LOAD mbk_load_pack_once\n"
  "#else\n"
  "#define MBK_PACK_LOAD mbk_load_pack\n"
  "#endif\n"
  "#define MBK_ALL 0xffffffffu\n"
  "#define MBK_WINDOW 1024\n"
  "#define MBK_PACK (16 / (int)sizeof(MBK_COMPUTE)) // neighbours of a row that one load brings\n"
  "#define MBK_WIDE 0xffffffffu                     // the base of a slice with four-byte columns\n"
  "\n"
  "#include \"spmv/sliced_build.cuh\"\n"
  "\n"
  "// The sum of `count` nonzeros of a row; number k is at k / MBK_PACK * 32 * MBK_PACK + k %\n"
  "// MBK_PACK of `values`, and its factor's place in x there of `columns`.\n"
  "template <class T>\n"
  "MBK_DEVICE MBK_COMPUTE mbk_sliced_sum(const T *columns, const MBK_VALUE *values,\n"
  "                                      const MBK_VECTOR *x, mbk_u32 count) {\n"
  "  MBK_COMPUTE sum = MBK_ZERO;\n"
  "  for (mbk_u32 at = 0; at < count; at += MBK_UNROLL * MBK_PACK) {\n",
  "    mbk_pack<T, MBK_PACK> column[MBK_UNROLL];\n"
  "#if !MBK_PATTERN\n"
  "    mbk_pack<MBK_VALUE, MBK_PACK> value[MBK_UNROLL];\n"
  "#endif\n"
  "#pragma unroll\n"
  "    for (int u = 0; u < MBK_UNROLL; u++) {\n"
  "      const mbk_u32 k = at + u * MBK_PACK;\n"
  "      if (k < count) {\n"
  "        column[u] = MBK_PACK_LOAD<T, MBK_PACK>(columns + (mbk_u64)k * 32);\n"
  "#if !MBK_PATTERN\n"
  "        value[u] = MBK_PACK_LOAD<MBK_VALUE, MBK_PACK>(values + (mbk_u64)k * 32);\n"
  "#endif\n"
  "      }\n"
  "    }\n"
  "    MBK_COMPUTE product[MBK_UNROLL][MBK_PACK];\n"
  "#pragma unroll\n"
  "    for (int u = 0; u < MBK_UNROLL; u++) {\n"
  "#pragma unroll\n"
  "      for (int j = 0; j < MBK_PACK; j++) {\n"
  "        product[u][j] = MBK_ZERO;\n"
  "        if (at + u * MBK_PACK + j < count) {\n"
  "#if MBK_PATTERN\n"
  "          product[u][j] = MBK_UNIT(values, mbk_load(x + column[u].at[j]));\n"
  "#else\n"
  "          product[u][j] = MBK_MUL(value[u].at[j], mbk_load(x + column[u].at[j]));\n"
  "#endif\n"
  "        }\n"
  "      }\n"
  "    }\n"
  "#pragma unroll\n"
  "    for (int u = 0; u < MBK_UNROLL; u++) {\n"
  "#pragma unroll\n"
  "      for (int j = 0; j < MBK_PACK; j++) {\n"
  "        sum = MBK_ADD(sum, product[u][j]);\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "  return sum;\n"
  "}\n"
  "\n"
  "// Launch: one warp per slice. slice_start counts columns of 32 values, column_start columns of\n"
  "// 32 two-byte numbers, of which wide slices take two.\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_THREADS)\n"
  "    mbk_sliced_product(const mbk_u32 *slice_start, const mbk_u32 *column_start,\n"
  "                       const mbk_u32 *slice_base, const mbk_u32 *length, const mbk_u32 *row_id,\n"
  "                       const mbk_u16 *columns, const MBK_VALUE *values, const MBK_VECTOR *x,\n"
  "                       MBK_VECTOR *y, mbk_u64 rows, MBK_SCALAR_PARAMETERS) {\n",
  "  const mbk_u64 thread = (mbk_u64)mbk_block() * MBK_THREADS + mbk_thread();\n"
  "  const mbk_u64 slice = thread / 32;\n"
  "  mbk_release();\n"
  "  if (slice * 32 >= rows) {\n"
  "    return;\n"
  "  }\n"
  "  const mbk_u32 count = MBK_ALPHA != (MBK_COMPUTE)0 ? mbk_load(length + thread) : 0;\n"
  "  const mbk_u32 base = mbk_load(slice_base + slice);\n"
  "  columns += (mbk_u64)mbk_load(column_start + slice) * 32;\n"
  "#if !MBK_PATTERN\n"
  "  values += (mbk_u64)mbk_load(slice_start + slice) * 32 + mbk_lane() * MBK_PACK;\n"
  "#endif\n"
  "  mbk_await_for(x);\n"
  "  const MBK_COMPUTE sum =\n"
  "      base == MBK_WIDE\n"
  "          ? mbk_sliced_sum((const mbk_i32 *)columns + mbk_lane() * MBK_PACK, values, x, count)\n"
  "          : mbk_sliced_sum(columns + mbk_lane() * MBK_PACK, values, x + base, count);\n"
  "#if MBK_SORTED\n"
  "  const mbk_u32 row = mbk_load(row_id + thread);\n"
  "#else\n"
  "  const mbk_u64 row = thread;\n"
  "#endif\n"
  "  if (row < rows) {\n"
  "    MBK_SCALARS_LOAD;\n"
  "    MBK_COMMIT(row, sum);\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_cb_cu[] = {
  "// CB-SpMV: y = alpha A x + beta y over strips of 16 rows in blocks of 16 columns, each a COO, a\n"
  "// CSR or a dense one, with its indices and values together. Source: Cong, Sun, Chen, Xie, Liu,\n"
  "// Qian, CB-SpMV, ICS 2025, Algorithms 3 and 4. Unlike there, a warp takes whole strips, two\n"
  "// blocks at once, one for each half of its lanes, and keeps their sums, so that nothing is\n"
  "// added atomically and every row is committed once; x is read once for each column of a block\n"
  "// and passed by shuffles. The layout is in spmv/cb_build.c.\n"
  "#ifndef MBK_AGGREGATED\n"
  "#error \"define MBK_AGGREGATED: 1 if blocks may list their columns, 0 if all are neighbours\"\n"
  "#endif\n"
  "#ifndef MBK_ONCE\n"
  "#error \"define MBK_ONCE: 1 if the matrix is loaded past the caches\"\n"
  "#endif\n"
  "#ifndef MBK_THREADS\n"
  "#error \"define MBK_THREADS: threads per block, a multiple of 32\"\n"
  "#endif\n"
  "#ifndef MBK_BLOCKS\n"
  "#error \"define MBK_BLOCKS: blocks that a multiprocessor is to hold\"\n"
  "#endif\n"
  "#include \"jit/device.cuh\"\n"
  "#include \"spmv/algebra.cuh\"\n"
  "\n"
  "#if MBK_ONCE\n"
  "#define MBK_MATRIX_LOAD mbk_load_once\n"
  "#else\n"
  "#define MBK_MATRIX_LOAD mbk_load\n"
  "#endif\n"
  "#define MBK_ALL 0xffffffffu\n"
  "#define MBK_SIDE 16          // rows of a strip, columns of a block, lanes of a half\n"
  "#define MBK_IN_FLIGHT 2      // entries of a row that a lane loads before it multiplies\n"
  "#define MBK_AHEAD 2048       // bytes of data that are on their way to L2\n"
  "#define MBK_PART 0x80000000u // in a target: the number of a part, not of a strip\n"
  "#define MBK_FIXUP_THREADS 512\n"
  "\n"
  "// A block's word.\n"
  "#define MBK_COUNT(word) ((mbk_u32)(word)&511u)\n"
  "#define MBK_FORM(word) ((mbk_u32)(word) >> 9 & 3u)\n"
  "#define MBK_STEPS_OF(word) ((mbk_u32)(word) >> 11 & 255u)\n",
  "#define MBK_END ((mbk_u64)1 << 19)\n"
  "#define MBK_WIDTH(word) ((mbk_u32)(word) >> 20 & 3u)\n"
  "#define MBK_OFFSET(word) ((word) >> 22 << 3)\n"
  "// Bytes of the columns before all else.\n"
  "#define MBK_COLUMNS(word) (8u << MBK_WIDTH(word) & ~15u)\n"
  "enum { MBK_COO, MBK_CSR, MBK_DENSE };\n"
  "\n"
  "// Bytes of indices with the padding before the values.\n"
  "#if MBK_PATTERN\n"
  "#define MBK_PADDED(bytes) (bytes)\n"
  "#else\n"
  "#define MBK_PADDED(bytes)                                                                      \\\n"
  "  (((bytes) + (mbk_u32)sizeof(MBK_VALUE) - 1) & ~((mbk_u32)sizeof(MBK_VALUE) - 1))\n"
  "#endif\n"
  "\n"
  "// What lies at a block's begin, loaded while the blocks before are multiplied: the lane's\n"
  "// column; of CSR the begin of its row, of dense a column's rows.\n"
  "struct mbk_cb_head {\n"
  "  mbk_u32 column, index;\n"
  "};\n"
  "\n"
  "MBK_DEVICE mbk_cb_head mbk_cb_prepare(mbk_u64 word, mbk_u32 first, const unsigned char *data,\n"
  "                                      mbk_u64 cols) {\n"
  "  const mbk_u32 place = mbk_lane() % MBK_SIDE;\n"
  "  mbk_cb_head head = {0, 0};\n"
  "  if (MBK_COUNT(word) != 0) {\n"
  "    data += MBK_OFFSET(word);\n"
  "#if MBK_AGGREGATED\n"
  "    const mbk_u32 width = MBK_WIDTH(word);\n"
  "    if (width == 2) {\n"
  "      head.column = first + MBK_MATRIX_LOAD((const mbk_u16 *)data + place);\n"
  "    } else if (width == 1) {\n"
  "      head.column = first + MBK_MATRIX_LOAD(data + place);\n"
  "    } else if (width == 3) {\n"
  "      head.column = first + MBK_MATRIX_LOAD((const mbk_u32 *)data + place);\n"
  "    } else\n"
  "#endif\n"
  "    {\n"
  "      head.column = first + place < cols ? first + place : (mbk_u32)cols - 1;\n"
  "    }\n"
  "    data += MBK_COLUMNS(word);\n"
  "    if (MBK_FORM(word) == MBK_CSR) {\n"
  "      head.index = MBK_MATRIX_LOAD(data + place);\n",
  "    } else if (MBK_FORM(word) == MBK_DENSE) {\n"
  "      head.index = MBK_MATRIX_LOAD((const mbk_u16 *)data + place);\n"
  "    }\n"
  "  }\n"
  "  return head;\n"
  "}\n"
  "\n"
  "// The larger one of the two halves'.\n"
  "MBK_DEVICE mbk_u32 mbk_cb_both(mbk_u32 steps) {\n"
  "  const mbk_u32 other = mbk_shuffle_xor(MBK_ALL, steps, MBK_SIDE, 32);\n"
  "  return other > steps ? other : steps;\n"
  "}\n"
  "\n"
  "// Entries sorted by row, one a lane: segmented sums, each added to its row's in `sums`, which\n"
  "// the half shares.\n"
  "MBK_DEVICE void mbk_cb_coo(mbk_u32 count, mbk_u32 steps, const unsigned char *indices,\n"
  "                           const MBK_VALUE *one, MBK_COMPUTE factor, MBK_COMPUTE *sums) {\n"
  "  const mbk_u32 lane = mbk_lane(), place = lane % MBK_SIDE;\n"
  "#if !MBK_PATTERN\n"
  "  const MBK_VALUE *const values = (const MBK_VALUE *)(indices + MBK_PADDED(count));\n"
  "#endif\n"
  "  const mbk_u32 most = mbk_cb_both(count);\n"
  "  steps = mbk_cb_both(steps);\n"
  "#pragma unroll 1\n"
  "  for (mbk_u32 k = place; k < most + place; k += MBK_SIDE) {\n"
  "    const bool active = k < count;\n"
  "    const mbk_u32 entry = active ? MBK_MATRIX_LOAD(indices + k) : 0;\n"
  "    const mbk_u32 row = active ? entry % MBK_SIDE : MBK_SIDE;\n"
  "    const MBK_COMPUTE x = mbk_shuffle(MBK_ALL, factor, (int)(entry / MBK_SIDE), MBK_SIDE);\n"
  "#if MBK_PATTERN\n"
  "    MBK_COMPUTE sum = active ? MBK_UNIT(one, x) : MBK_ZERO;\n"
  "#else\n"
  "    MBK_COMPUTE sum = active ? MBK_MUL(MBK_MATRIX_LOAD(values + k), x) : MBK_ZERO;\n"
  "#endif\n"
  "    const mbk_u32 before = mbk_shuffle_up(MBK_ALL, row, 1, MBK_SIDE);\n"
  "    const mbk_u32 begins = mbk_ballot(MBK_ALL, place == 0 || before != row);\n"
  "    const int begin = 31 - mbk_leading_zeros(begins & (MBK_ALL >> (31 - lane)));\n"
  "    for (mbk_u32 step = 0; step < steps; step++) {\n",
  "      const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, 1 << step, MBK_SIDE);\n"
  "      if ((int)lane - (1 << step) >= begin) {\n"
  "        sum = MBK_ADD(other, sum);\n"
  "      }\n"
  "    }\n"
  "    if (active && (lane == 31 || (begins >> (lane + 1) & 1))) {\n"
  "      sums[row] = MBK_ADD(sums[row], sum);\n"
  "    }\n"
  "    mbk_warp_sync(MBK_ALL);\n"
  "  }\n"
  "}\n"
  "\n"
  "// A lane takes a row, of which `begin` is the first entry.\n"
  "MBK_DEVICE MBK_COMPUTE mbk_cb_csr(mbk_u32 count, mbk_u32 steps, const unsigned char *indices,\n"
  "                                  const MBK_VALUE *one, mbk_u32 begin, MBK_COMPUTE factor,\n"
  "                                  MBK_COMPUTE sum) {\n"
  "  const mbk_u32 place = mbk_lane() % MBK_SIDE;\n"
  "  const mbk_u32 next = mbk_shuffle(MBK_ALL, begin, (int)place + 1, MBK_SIDE);\n"
  "  const mbk_u32 end = count == 0 ? 0 : place == MBK_SIDE - 1 ? count : next;\n"
  "#if !MBK_PATTERN\n"
  "  const MBK_VALUE *const values = (const MBK_VALUE *)(indices + MBK_PADDED(count));\n"
  "#endif\n"
  "  steps = mbk_cb_both(steps);\n"
  "#pragma unroll 1\n"
  "  for (mbk_u32 step = 0; step < steps; step += MBK_IN_FLIGHT) {\n"
  "    mbk_u32 entry[MBK_IN_FLIGHT];\n"
  "#if !MBK_PATTERN\n"
  "    MBK_VALUE value[MBK_IN_FLIGHT];\n"
  "#endif\n"
  "#pragma unroll\n"
  "    for (int i = 0; i < MBK_IN_FLIGHT; i++) {\n"
  "      const mbk_u32 k = begin + step + i;\n"
  "      entry[i] = 0;\n"
  "      if (k < end) {\n"
  "        entry[i] = MBK_MATRIX_LOAD(indices + k);\n"
  "#if !MBK_PATTERN\n"
  "        value[i] = MBK_MATRIX_LOAD(values + k);\n"
  "#endif\n"
  "      }\n"
  "    }\n"
  "#pragma unroll\n"
  "    for (int i = 0; i < MBK_IN_FLIGHT; i++) {\n"
  "      const MBK_COMPUTE x = mbk_shuffle(MBK_ALL, factor, (int)(entry[i] / MBK_SIDE), MBK_SIDE);\n"
  "      if (begin + step + i < end) {\n"
  "#if MBK_PATTERN\n",
  "        sum = MBK_ADD(sum, MBK_UNIT(one, x));\n"
  "#else\n"
  "        sum = MBK_ADD(sum, MBK_MUL(value[i], x));\n"
  "#endif\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "  return sum;\n"
  "}\n"
  "\n"
  "// A lane takes a row, and of `rows`, the rows that each column has, that of its number. What\n"
  "// they lack is not there.\n"
  "MBK_DEVICE MBK_COMPUTE mbk_cb_dense(const unsigned char *data, const MBK_VALUE *one,\n"
  "                                    mbk_u32 rows, MBK_COMPUTE factor, MBK_COMPUTE sum) {\n"
  "  const mbk_u32 place = mbk_lane() % MBK_SIDE;\n"
  "#if !MBK_PATTERN\n"
  "  const MBK_VALUE *values = (const MBK_VALUE *)data;\n"
  "#endif\n"
  "#pragma unroll 1\n"
  "  for (int column = 0; column < MBK_SIDE; column += 4) {\n"
  "    mbk_u32 there[4];\n"
  "#if !MBK_PATTERN\n"
  "    MBK_VALUE value[4];\n"
  "#endif\n"
  "#pragma unroll\n"
  "    for (int i = 0; i < 4; i++) {\n"
  "      there[i] = mbk_shuffle(MBK_ALL, rows, column + i, MBK_SIDE);\n"
  "#if !MBK_PATTERN\n"
  "      if (there[i] >> place & 1) {\n"
  "        value[i] = MBK_MATRIX_LOAD(values + mbk_popcount(there[i] & ((1u << place) - 1)));\n"
  "      }\n"
  "      values += mbk_popcount(there[i]);\n"
  "#endif\n"
  "    }\n"
  "#pragma unroll\n"
  "    for (int i = 0; i < 4; i++) {\n"
  "      const MBK_COMPUTE x = mbk_shuffle(MBK_ALL, factor, column + i, MBK_SIDE);\n"
  "      if (there[i] >> place & 1) {\n"
  "#if MBK_PATTERN\n"
  "        sum = MBK_ADD(sum, MBK_UNIT(one, x));\n"
  "#else\n"
  "        sum = MBK_ADD(sum, MBK_MUL(value[i], x));\n"
  "#endif\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "  return sum;\n"
  "}\n"
  "\n"
  "// What two blocks add: `sum` of the lane's row, and in `sums`.\n"
  "MBK_DEVICE MBK_COMPUTE mbk_cb_blocks(mbk_u64 word, mbk_cb_head head, const unsigned char *data,\n"
  "                                     const MBK_VALUE *one, const MBK_VECTOR *x,\n",
  "                                     MBK_COMPUTE *sums, MBK_COMPUTE sum) {\n"
  "  const mbk_u32 count = MBK_COUNT(word), form = MBK_FORM(word), steps = MBK_STEPS_OF(word);\n"
  "  const MBK_COMPUTE factor = count != 0 ? (MBK_COMPUTE)mbk_load(x + head.column) : MBK_ZERO;\n"
  "  data += MBK_OFFSET(word) + MBK_COLUMNS(word);\n"
  "  if (mbk_ballot(MBK_ALL, form == MBK_COO && count != 0) != 0) {\n"
  "    const bool mine = form == MBK_COO;\n"
  "    mbk_cb_coo(mine ? count : 0, mine ? steps : 0, data, one, factor, sums);\n"
  "  }\n"
  "  if (mbk_ballot(MBK_ALL, form == MBK_CSR) != 0) {\n"
  "    const bool mine = form == MBK_CSR;\n"
  "    sum = mbk_cb_csr(mine ? count : 0, mine ? steps : 0, data + MBK_SIDE, one, head.index,\n"
  "                     factor, sum);\n"
  "  }\n"
  "  if (mbk_ballot(MBK_ALL, form == MBK_DENSE) != 0) {\n"
  "    sum =\n"
  "        mbk_cb_dense(data + 2 * MBK_SIDE, one, form == MBK_DENSE ? head.index : 0, factor, sum);\n"
  "  }\n"
  "  return sum;\n"
  "}\n"
  "\n"
  "// The sum of the lane's row over both halves; `sums` begin anew.\n"
  "MBK_DEVICE MBK_COMPUTE mbk_cb_total(MBK_COMPUTE sum, MBK_COMPUTE *sums) {\n"
  "  const MBK_COMPUTE total = MBK_ADD(sum, sums[mbk_lane()]);\n"
  "  sums[mbk_lane()] = MBK_ZERO;\n"
  "  mbk_warp_sync(MBK_ALL);\n"
  "  return MBK_ADD(total, mbk_shuffle_xor(MBK_ALL, total, MBK_SIDE, 32));\n"
  "}\n"
  "\n"
  "// Launch: one warp per task. Shared: MBK_COMPUTE[MBK_THREADS].\n"
  "// A task is some whole strips from number task_target[task] on, or a part of one, whose sums go\n"
  "// to carries; each strip and part has an even number of blocks, of which the last may be empty.\n"
  "// words and first, the column of each block, are loaded four blocks ahead, beyond a task's end\n"
  "// too: they end with four empty blocks, and MBK_AHEAD bytes follow the data.\n",
  "MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)\n"
  "    mbk_cb_product(const mbk_u64 *task_block, const mbk_u32 *task_target, const mbk_u64 *words,\n"
  "                   const mbk_u32 *first, const unsigned char *data, const MBK_VALUE *one,\n"
  "                   const MBK_VECTOR *x, MBK_VECTOR *y, MBK_COMPUTE *carries, mbk_u64 rows,\n"
  "                   mbk_u64 cols, mbk_u64 tasks, MBK_SCALAR_PARAMETERS) {\n"
  "  const mbk_u64 task = ((mbk_u64)mbk_block() * MBK_THREADS + mbk_thread()) / 32;\n"
  "  mbk_release();\n"
  "  if (task >= tasks) {\n"
  "    return;\n"
  "  }\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  MBK_COMPUTE *const sums = (MBK_COMPUTE *)shared + mbk_thread() / 32 * 32; // of the warp\n"
  "  const mbk_u32 lane = mbk_lane(), half = lane / MBK_SIDE;\n"
  "  // With alpha 0 blocks are empty, but strips end.\n"
  "  const mbk_u32 drop = MBK_ALPHA != (MBK_COMPUTE)0 ? 0 : (mbk_u32)MBK_END - 1;\n"
  "  const mbk_u64 block = mbk_load(task_block + task);\n"
  "  mbk_u32 left = (mbk_u32)(mbk_load(task_block + task + 1) - block);\n"
  "  mbk_u32 target = mbk_load(task_target + task);\n"
  "  words += block + half;\n"
  "  first += block + half;\n"
  "  mbk_u64 word = mbk_load(words) & ~(mbk_u64)drop, next = mbk_load(words + 2) & ~(mbk_u64)drop;\n"
  "  mbk_u32 next_first = mbk_load(first + 2);\n"
  "  for (mbk_u32 at = lane * 32; at < MBK_AHEAD && MBK_COUNT(word) != 0; at += 1024) {\n"
  "    mbk_prefetch(data + MBK_OFFSET(word) + at);\n"
  "  }\n"
  "  mbk_cb_head head = mbk_cb_prepare(word, mbk_load(first), data, cols);\n"
  "  MBK_COMPUTE sum = MBK_ZERO;\n"
  "  sums[lane] = MBK_ZERO;\n"
  "  mbk_warp_sync(MBK_ALL);\n"
  "  mbk_await_for(x); // behind it carries and y too\n"
  "  for (; left > 0; left -= 2) {\n"
  "    const mbk_cb_head ahead = mbk_cb_prepare(next, next_first, data, cols);\n",
  "    const mbk_u64 later = mbk_load(words + 4) & ~(mbk_u64)drop;\n"
  "    const mbk_u32 later_first = mbk_load(first + 4);\n"
  "    words += 2;\n"
  "    first += 2;\n"
  "    if (lane % MBK_SIDE * 32 < MBK_COUNT(word) * (1 + sizeof(MBK_VALUE)) + 64) {\n"
  "      mbk_prefetch(data + MBK_OFFSET(word) + MBK_AHEAD + lane % MBK_SIDE * 32);\n"
  "    }\n"
  "    sum = mbk_cb_blocks(word, head, data, one, x, sums + half * MBK_SIDE, sum);\n"
  "    if (mbk_ballot(MBK_ALL, (word & MBK_END) != 0) != 0) {\n"
  "      const MBK_COMPUTE total = mbk_cb_total(sum, sums);\n"
  "      const mbk_u64 row = (mbk_u64)(target & ~MBK_PART) * MBK_SIDE + lane;\n"
  "      if (lane < MBK_SIDE && target & MBK_PART) {\n"
  "        carries[row] = total;\n"
  "      } else if (lane < MBK_SIDE && row < rows) {\n"
  "        MBK_SCALARS_LOAD;\n"
  "        MBK_COMMIT(row, total);\n"
  "      }\n"
  "      sum = MBK_ZERO;\n"
  "      target++;\n"
  "    }\n"
  "    word = next;\n"
  "    next = later;\n"
  "    next_first = later_first;\n"
  "    head = ahead;\n"
  "  }\n"
  "}\n"
  "\n"
  "// The strips that were cut into parts: their sums are added in the order of the parts, dealt\n"
  "// to 32 groups of 16 threads. Launch: one block of MBK_FIXUP_THREADS per strip. Shared:\n"
  "// MBK_COMPUTE[MBK_FIXUP_THREADS].\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_FIXUP_THREADS)\n"
  "    mbk_cb_fixup(const mbk_u32 *split_strip, const mbk_u32 *split_part,\n"
  "                 const MBK_COMPUTE *carries, MBK_VECTOR *y, mbk_u64 rows,\n"
  "                 MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  MBK_COMPUTE *const partial = (MBK_COMPUTE *)shared;\n"
  "  mbk_release();\n"
  "  const mbk_u32 thread = mbk_thread(), end = mbk_load(split_part + mbk_block() + 1);\n"
  "  const mbk_u32 begin = mbk_load(split_part + mbk_block());\n",
  "  const mbk_u64 row = (mbk_u64)mbk_load(split_strip + mbk_block()) * MBK_SIDE + thread;\n"
  "  MBK_COMPUTE sum = MBK_ZERO;\n"
  "  mbk_await();\n"
  "#pragma unroll 4\n"
  "  for (mbk_u32 part = begin + thread / MBK_SIDE; part < end;\n"
  "       part += MBK_FIXUP_THREADS / MBK_SIDE) {\n"
  "    sum = MBK_ADD(sum, carries[(mbk_u64)part * MBK_SIDE + thread % MBK_SIDE]);\n"
  "  }\n"
  "  partial[thread] = sum;\n"
  "  mbk_block_sync();\n"
  "  if (thread < MBK_SIDE && row < rows) {\n"
  "    MBK_SCALARS_LOAD;\n"
  "    sum = MBK_ZERO;\n"
  "    for (mbk_u32 i = thread; i < MBK_FIXUP_THREADS; i += MBK_SIDE) {\n"
  "      sum = MBK_ADD(sum, partial[i]);\n"
  "    }\n"
  "    MBK_COMMIT(row, sum);\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_spmv_reorder_cu[] = {
  "// Vectors into the order of a reordered plan and back, and new values into the order of its\n"
  "// nonzeros.\n"
  "#ifndef MBK_VECTOR\n"
  "#error \"define MBK_VECTOR: the type of vectors and values\"\n"
  "#endif\n"
  "#ifndef MBK_PLACE\n"
  "#error \"define MBK_PLACE: the type of places of nonzeros, mbk_i32 or mbk_i64\"\n"
  "#endif\n"
  "#include \"jit/device.cuh\"\n"
  "\n"
  "// to[i] = from[order[i]]. Launch: any grid of 256 threads; so below.\n"
  "MBK_KERNEL MBK_BOUNDS(256) mbk_reorder_gather(const mbk_i32 *order, const MBK_VECTOR *from,\n"
  "                                              MBK_VECTOR *to, mbk_u64 count) {\n"
  "  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < count;\n"
  "       i += (mbk_u64)mbk_grid() * 256) {\n"
  "    to[i] = mbk_load(from + mbk_load(order + i));\n"
  "  }\n"
  "}\n"
  "\n"
  "// to[order[i]] = from[i].\n"
  "MBK_KERNEL MBK_BOUNDS(256) mbk_reorder_scatter(const mbk_i32 *order, const MBK_VECTOR *from,\n"
  "                                               MBK_VECTOR *to, mbk_u64 count) {\n"
  "  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < count;\n"
  "       i += (mbk_u64)mbk_grid() * 256) {\n"
  "    to[mbk_load(order + i)] = mbk_load(from + i);\n"
  "  }\n"
  "}\n"
  "\n"
  "// to[k] = from[places[k]].\n"
  "MBK_KERNEL MBK_BOUNDS(256) mbk_reorder_values(const MBK_PLACE *places, const MBK_VECTOR *from,\n"
  "                                              MBK_VECTOR *to, mbk_u64 count) {\n"
  "  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread(); k < count;\n"
  "       k += (mbk_u64)mbk_grid() * 256) {\n"
  "    to[k] = mbk_load(from + mbk_load_once(places + k));\n"
  "  }\n"
  "}\n",
  NULL};

static const char *const mbi_source_solve_pagerank_cu[] = {
  "// PageRank between two products: new ranks, their L1 change and the mass of dangling vertices.\n"
  "// Source: the power method of Zhang, Yao, Jiang, Zhang, \"MERBIT: A GPU-Based SpMV Method for\n"
  "// Iterative Workloads\", section 5.5.1.\n"
  "//\n"
  "// The host enqueues iterations ahead of the answer. Once mbk_pagerank_finish has set `stop`,\n"
  "// later updates leave ranks and state alone, so that both are those of the iteration that\n"
  "// stopped.\n"
  "#ifndef MBK_VECTOR\n"
  "#error \"define MBK_VECTOR: the type of ranks in memory\"\n"
  "#endif\n"
  "#include \"jit/device.cuh\"\n"
  "\n"
  "#define MBK_PAGERANK_THREADS 256\n"
  "#define MBK_RUNNING (-1)\n"
  "#define MBK_STOP_CONVERGED 0 // as merbit_stop\n"
  "#define MBK_STOP_NOT_FINITE 3\n"
  "\n"
  "struct mbk_pagerank_state { // mbi_pagerank_state of the host\n"
  "  double base;              // what every vertex receives in the next iteration\n"
  "  double change;            // L1, of the last iteration\n"
  "  mbk_i32 iterations;\n"
  "  mbk_i32 stop;\n"
  "};\n"
  "\n"
  "// The sums of `change` and `mass` over the block, complete in thread 0: a tree of fixed shape.\n"
  "MBK_DEVICE void mbk_pagerank_sum(double *shared, double &change, double &mass) {\n"
  "  double *const changes = shared, *const masses = shared + MBK_PAGERANK_THREADS;\n"
  "  const mbk_u32 thread = mbk_thread();\n"
  "  changes[thread] = change;\n"
  "  masses[thread] = mass;\n"
  "  mbk_block_sync();\n"
  "  for (mbk_u32 half = MBK_PAGERANK_THREADS / 2; half > 0; half /= 2) {\n"
  "    if (thread < half) {\n"
  "      changes[thread] += changes[thread + half];\n"
  "      masses[thread] += masses[thread + half];\n"
  "    }\n"
  "    mbk_block_sync();\n"
  "  }\n"
  "  change = changes[0];\n"
  "  mass = masses[0];\n"
  "}\n"
  "\n"
  "// x = damping * y + base. Block b leaves its parts of the change and of the dangling mass in\n",
  "// partials[2 b] and partials[2 b + 1].\n"
  "// Launch: a grid that depends on n alone, MBK_PAGERANK_THREADS threads.\n"
  "// Shared: double[2 * MBK_PAGERANK_THREADS].\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_PAGERANK_THREADS)\n"
  "    mbk_pagerank_update(MBK_VECTOR *x, const MBK_VECTOR *y, const unsigned char *dangling,\n"
  "                        mbk_u64 n, double damping, const mbk_pagerank_state *state,\n"
  "                        double *partials) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  if (state->stop != MBK_RUNNING) {\n"
  "    return;\n"
  "  }\n"
  "  const double base = state->base;\n"
  "  double change = 0, mass = 0;\n"
  "  for (mbk_u64 i = (mbk_u64)mbk_block() * MBK_PAGERANK_THREADS + mbk_thread(); i < n;\n"
  "       i += (mbk_u64)mbk_grid() * MBK_PAGERANK_THREADS) {\n"
  "    const MBK_VECTOR rank = (MBK_VECTOR)(damping * (double)y[i] + base);\n"
  "    const double difference = (double)rank - (double)x[i];\n"
  "    change += difference < 0 ? -difference : difference;\n"
  "    mass += dangling[i] ? (double)rank : 0.0;\n"
  "    x[i] = rank;\n"
  "  }\n"
  "  mbk_pagerank_sum((double *)shared, change, mass);\n"
  "  if (mbk_thread() == 0) {\n"
  "    partials[2 * mbk_block()] = change;\n"
  "    partials[2 * mbk_block() + 1] = mass;\n"
  "  }\n"
  "}\n"
  "\n"
  "// Adds up the parts of `blocks` blocks in a fixed order and decides.\n"
  "// Launch: one block of MBK_PAGERANK_THREADS threads. Shared: double[2 * MBK_PAGERANK_THREADS].\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_PAGERANK_THREADS)\n"
  "    mbk_pagerank_finish(const double *partials, mbk_u32 blocks, mbk_u64 n, double damping,\n"
  "                        double tolerance, mbk_pagerank_state *state) {\n"
  "  MBK_SHARED_MEMORY(shared);\n"
  "  if (state->stop != MBK_RUNNING) {\n"
  "    return;\n"
  "  }\n"
  "  double change = 0, mass = 0;\n",
  "  for (mbk_u32 b = mbk_thread(); b < blocks; b += MBK_PAGERANK_THREADS) {\n"
  "    change += partials[2 * b];\n"
  "    mass += partials[2 * b + 1];\n"
  "  }\n"
  "  mbk_pagerank_sum((double *)shared, change,\n"
  "                   mass); // ends behind a barrier: all have read `stop`\n"
  "  if (mbk_thread() == 0) {\n"
  "    state->base = (1.0 - damping + damping * mass) / (double)n;\n"
  "    state->change = change;\n"
  "    state->iterations++;\n"
  "    if (change - change != 0) { // NaN or Inf\n"
  "      state->stop = MBK_STOP_NOT_FINITE;\n"
  "    } else if (change < tolerance) {\n"
  "      state->stop = MBK_STOP_CONVERGED;\n"
  "    }\n"
  "  }\n"
  "}\n",
  NULL};

#ifdef MERBIT_STUDY_METHODS
static const char *const mbi_source_spmv_bsr_study_cu[] = {
  "// Blocks as they come: the four kernels of Chirila (Architectural-Aware Optimization of SpMV on\n"
  "// GPUs, Bucharest 2025, chapter 8), for comparison. Each thread block takes a chunk of as many\n"
  "// blocks as the others and walks through its rows of blocks; chunk_row is made once. What it\n"
  "// sums of a row is added to y by atomics, which is why y is scaled before (Listing 13), and why\n"
  "// products by these kernels are not repeatable to the bit. MBK_STUDY says how it sums:\n"
  "//   0  row-major access: an atomic addition in shared memory for each entry (Listing 14)\n"
  "//   1  thread-private accumulation: R sums in local memory, reduced without atomics in shared\n"
  "//      memory (Listings 15 and 16)\n"
  "//   2  team-based accumulation: R C threads for each block, of which each keeps to one entry;\n"
  "//      an atomic addition in shared memory for each thread (Listing 17)\n"
  "//   3  vector accumulation, unrolled: rows at once in registers, shuffles, an atomic addition\n"
  "//      in shared memory for each warp and row (Listing 18)\n"
  "#include \"jit/device.cuh\"\n"
  "#include \"spmv/algebra.cuh\"\n"
  "#ifndef MBK_STUDY\n"
  "#error \"define MBK_STUDY: 0 to 3\"\n"
  "#endif\n"
  "#ifndef MBK_BLOCK_ROWS\n"
  "#error \"define MBK_BLOCK_ROWS: rows of a block\"\n"
  "#endif\n"
  "#ifndef MBK_BLOCK_COLS\n"
  "#error \"define MBK_BLOCK_COLS: columns of a block\"\n"
  "#endif\n"
  "#ifndef MBK_COLUMN_MAJOR\n"
  "#error \"define MBK_COLUMN_MAJOR: 1 if blocks come column by column\"\n"
  "#endif\n"
  "#ifndef MBK_EDGE\n"
  "#error \"define MBK_EDGE: 1 if the last column of blocks reaches beyond the matrix\"\n"
  "#endif\n"
  "#ifndef MBK_THREADS\n"
  "#error \"define MBK_THREADS: threads per block of the product, a multiple of 32\"\n"
  "#endif\n"
  "\n"
  "#define MBK_ENTRIES (MBK_BLOCK_ROWS * MBK_BLOCK_COLS)\n",
  "#define MBK_BUILD_THREADS 256\n"
  "#define MBK_ALL 0xffffffffu\n"
  "#define MBK_ROWS_AT_ONCE (MBK_BLOCK_ROWS < 8 ? MBK_BLOCK_ROWS : 8)\n"
  "#define MBK_ROWS_LEFT (MBK_BLOCK_ROWS % MBK_ROWS_AT_ONCE)\n"
  "\n"
  "// Of an entry in its block, and back.\n"
  "#define MBK_ROW_IN_BLOCK(e) (MBK_COLUMN_MAJOR ? (e) % MBK_BLOCK_ROWS : (e) / MBK_BLOCK_COLS)\n"
  "#define MBK_COL_IN_BLOCK(e) (MBK_COLUMN_MAJOR ? (e) / MBK_BLOCK_ROWS : (e) % MBK_BLOCK_COLS)\n"
  "#define MBK_IN_BLOCK(r, c)                                                                     \\\n"
  "  (MBK_COLUMN_MAJOR ? (c)*MBK_BLOCK_ROWS + (r) : (r)*MBK_BLOCK_COLS + (c))\n"
  "\n"
  "struct mbk_study_blocks {\n"
  "  const mbk_i32 *col_ind;\n"
  "  const MBK_VALUE *values;\n"
  "  const MBK_VECTOR *x;\n"
  "  mbk_u64 cols;\n"
  "};\n"
  "\n"
  "// What entry `at` adds, which is in column `c` of block number `block`.\n"
  "MBK_DEVICE MBK_COMPUTE mbk_study_term(const mbk_study_blocks &a, mbk_u64 block, mbk_u64 at,\n"
  "                                      mbk_u32 c) {\n"
  "  const mbk_u32 column = (mbk_u32)(mbk_load(a.col_ind + block) - MBK_BASE);\n"
  "  const mbk_u64 col = (mbk_u64)column * MBK_BLOCK_COLS + c;\n"
  "  if (MBK_EDGE && col >= a.cols) {\n"
  "    return MBK_ZERO;\n"
  "  }\n"
  "#if MBK_PATTERN\n"
  "  (void)at;\n"
  "  return MBK_UNIT(a.values, a.x[col]);\n"
  "#else\n"
  "  return MBK_MUL(mbk_load(a.values + at), a.x[col]);\n"
  "#endif\n"
  "}\n"
  "\n"
  "MBK_DEVICE MBK_COMPUTE mbk_study_reduce(MBK_COMPUTE sum) { // in lane 0\n"
  "#pragma unroll\n"
  "  for (int d = 16; d > 0; d >>= 1) {\n"
  "    sum = MBK_ADD(sum, mbk_shuffle_down(MBK_ALL, sum, d, 32));\n"
  "  }\n"
  "  return sum;\n"
  "}\n"
  "\n"
  "// ---- A row of blocks, or a chunk's part of it: blocks [from, to), to `shared`\n"
  "// -------------------------------------------------------------------------------\n"
  "\n"
  "#if MBK_STUDY == 0\n"
  "\n",
  "MBK_DEVICE void mbk_study_sum(const mbk_study_blocks &a, mbk_u64 from, mbk_u64 to,\n"
  "                              MBK_COMPUTE *shared) {\n"
  "  for (mbk_u64 at = from * MBK_ENTRIES + mbk_thread(); at < to * MBK_ENTRIES;\n"
  "       at += MBK_THREADS) {\n"
  "    const mbk_u32 e = (mbk_u32)(at % MBK_ENTRIES);\n"
  "    mbk_atomic_add(shared + MBK_ROW_IN_BLOCK(e),\n"
  "                   mbk_study_term(a, at / MBK_ENTRIES, at, MBK_COL_IN_BLOCK(e)));\n"
  "  }\n"
  "}\n"
  "\n"
  "#elif MBK_STUDY == 1\n"
  "\n"
  "// `partial` is behind the sums, one for each warp.\n"
  "MBK_DEVICE void mbk_study_sum(const mbk_study_blocks &a, mbk_u64 from, mbk_u64 to,\n"
  "                              MBK_COMPUTE *shared) {\n"
  "  MBK_COMPUTE *const partial = shared + MBK_BLOCK_ROWS;\n"
  "  MBK_COMPUTE sum[MBK_BLOCK_ROWS];\n"
  "  for (int r = 0; r < MBK_BLOCK_ROWS; r++) {\n"
  "    sum[r] = MBK_ZERO;\n"
  "  }\n"
  "  for (mbk_u64 at = from * MBK_ENTRIES + mbk_thread(); at < to * MBK_ENTRIES;\n"
  "       at += MBK_THREADS) {\n"
  "    const mbk_u32 e = (mbk_u32)(at % MBK_ENTRIES), r = MBK_ROW_IN_BLOCK(e);\n"
  "    sum[r] = MBK_ADD(sum[r], mbk_study_term(a, at / MBK_ENTRIES, at, MBK_COL_IN_BLOCK(e)));\n"
  "  }\n"
  "  for (int r = 0; r < MBK_BLOCK_ROWS; r++) {\n"
  "    const MBK_COMPUTE own = mbk_study_reduce(sum[r]);\n"
  "    if (mbk_lane() == 0) {\n"
  "      partial[mbk_thread() / 32] = own;\n"
  "    }\n"
  "    mbk_block_sync();\n"
  "    if (mbk_thread() < 32) {\n"
  "      const MBK_COMPUTE all =\n"
  "          mbk_study_reduce(mbk_thread() < MBK_THREADS / 32 ? partial[mbk_thread()] : MBK_ZERO);\n"
  "      if (mbk_thread() == 0) {\n"
  "        shared[r] = all;\n"
  "      }\n"
  "    }\n"
  "    mbk_block_sync();\n"
  "  }\n"
  "}\n"
  "\n"
  "#elif MBK_STUDY == 2\n"
  "\n"
  "// Threads that no whole team is left for do nothing.\n",
  "MBK_DEVICE void mbk_study_sum(const mbk_study_blocks &a, mbk_u64 from, mbk_u64 to,\n"
  "                              MBK_COMPUTE *shared) {\n"
  "  enum { TEAMS = MBK_THREADS / MBK_ENTRIES };\n"
  "  const mbk_u32 team = mbk_thread() / MBK_ENTRIES, e = mbk_thread() % MBK_ENTRIES;\n"
  "  if (team < TEAMS) {\n"
  "    MBK_COMPUTE sum = MBK_ZERO;\n"
  "    for (mbk_u64 block = from + team; block < to; block += TEAMS) {\n"
  "      sum =\n"
  "          MBK_ADD(sum, mbk_study_term(a, block, block * MBK_ENTRIES + e, MBK_COL_IN_BLOCK(e)));\n"
  "    }\n"
  "    mbk_atomic_add(shared + MBK_ROW_IN_BLOCK(e), sum);\n"
  "  }\n"
  "}\n"
  "\n"
  "#else\n"
  "\n"
  "// Rows [first, first + rows) of the blocks; a thread takes columns of them.\n"
  "template <int rows>\n"
  "MBK_DEVICE void mbk_study_strip(const mbk_study_blocks &a, mbk_u64 from, mbk_u64 to, int first,\n"
  "                                MBK_COMPUTE *shared) {\n"
  "  MBK_COMPUTE sum[rows];\n"
  "#pragma unroll\n"
  "  for (int k = 0; k < rows; k++) {\n"
  "    sum[k] = MBK_ZERO;\n"
  "  }\n"
  "  for (mbk_u64 at = from * MBK_BLOCK_COLS + mbk_thread(); at < to * MBK_BLOCK_COLS;\n"
  "       at += MBK_THREADS) {\n"
  "    const mbk_u64 block = at / MBK_BLOCK_COLS;\n"
  "    const mbk_u32 c = (mbk_u32)(at % MBK_BLOCK_COLS);\n"
  "#pragma unroll\n"
  "    for (int k = 0; k < rows; k++) {\n"
  "      sum[k] = MBK_ADD(\n"
  "          sum[k],\n"
  "          mbk_study_term(a, block, block * MBK_ENTRIES + MBK_IN_BLOCK((mbk_u32)(first + k), c),\n"
  "                         c));\n"
  "    }\n"
  "  }\n"
  "#pragma unroll\n"
  "  for (int k = 0; k < rows; k++) {\n"
  "    sum[k] = mbk_study_reduce(sum[k]);\n"
  "    if (mbk_lane() == 0) {\n"
  "      mbk_atomic_add(shared + first + k, sum[k]);\n"
  "    }\n"
  "  }\n"
  "}\n"
  "\n"
  "// The listing goes down from 8 rows at once; what is left behind whole strips is one strip.\n",
  "MBK_DEVICE void mbk_study_sum(const mbk_study_blocks &a, mbk_u64 from, mbk_u64 to,\n"
  "                              MBK_COMPUTE *shared) {\n"
  "  for (int r = 0; r + MBK_ROWS_AT_ONCE <= MBK_BLOCK_ROWS; r += MBK_ROWS_AT_ONCE) {\n"
  "    mbk_study_strip<MBK_ROWS_AT_ONCE>(a, from, to, r, shared);\n"
  "  }\n"
  "#if MBK_ROWS_LEFT > 0\n"
  "  mbk_study_strip<MBK_ROWS_LEFT>(a, from, to, MBK_BLOCK_ROWS - MBK_ROWS_LEFT, shared);\n"
  "#endif\n"
  "}\n"
  "\n"
  "#endif\n"
  "\n"
  "// ---- Kernels\n"
  "// --------------------------------------------------------------------------------\n"
  "\n"
  "MBK_DEVICE mbk_u64 mbk_study_start(const MBK_ROW_PTR *row_ptr, mbk_u64 row) {\n"
  "  return (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE);\n"
  "}\n"
  "\n"
  "// chunk_row[i] is the row of the first block of chunk i, behind the last chunk that of the last\n"
  "// block. Launch: one thread for each of chunks + 1.\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)\n"
  "    mbk_study_cut(const MBK_ROW_PTR *row_ptr, mbk_u32 block_rows, mbk_u64 blocks,\n"
  "                  mbk_u64 chunk_blocks, mbk_u64 chunks, mbk_u32 *chunk_row) {\n"
  "  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();\n"
  "  if (at <= chunks) {\n"
  "    const mbk_u64 block = at * chunk_blocks < blocks ? at * chunk_blocks : blocks - 1;\n"
  "    mbk_u32 low = 0, high = block_rows;\n"
  "    while (high - low > 1) {\n"
  "      const mbk_u32 middle = low + (high - low) / 2;\n"
  "      if (mbk_study_start(row_ptr, middle) <= block) {\n"
  "        low = middle;\n"
  "      } else {\n"
  "        high = middle;\n"
  "      }\n"
  "    }\n"
  "    chunk_row[at] = low;\n"
  "  }\n"
  "}\n"
  "\n"
  "// y = beta y. Launch: one thread per row.\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)\n"
  "    mbk_study_scale(MBK_VECTOR *y, mbk_u64 rows, MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SCALARS_LOAD;\n",
  "  const mbk_u64 row = (mbk_u64)mbk_block() * MBK_BUILD_THREADS + mbk_thread();\n"
  "  (void)alpha;\n"
  "  if (row < rows) {\n"
  "    y[row] = beta == (MBK_COMPUTE)0 ? (MBK_VECTOR)0 : (MBK_VECTOR)MBK_MUL(beta, y[row]);\n"
  "  }\n"
  "}\n"
  "\n"
  "// y += alpha A x. Launch: one block per chunk. Shared: MBK_COMPUTE[MBK_BLOCK_ROWS + MBK_THREADS\n"
  "// / 32].\n"
  "MBK_KERNEL MBK_BOUNDS(MBK_THREADS)\n"
  "    mbk_study_product(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind,\n"
  "                      const MBK_VALUE *values, const mbk_u32 *chunk_row, const MBK_VECTOR *x,\n"
  "                      MBK_VECTOR *y, mbk_u64 rows, mbk_u64 cols, mbk_u64 blocks,\n"
  "                      mbk_u64 chunk_blocks, MBK_SCALAR_PARAMETERS) {\n"
  "  MBK_SCALARS_LOAD;\n"
  "  MBK_SHARED_MEMORY(memory);\n"
  "  MBK_COMPUTE *const shared = (MBK_COMPUTE *)memory;\n"
  "  const mbk_study_blocks a = {col_ind, values, x, cols};\n"
  "  const mbk_u64 first = mbk_block() * chunk_blocks;\n"
  "  const mbk_u64 last = first + chunk_blocks < blocks ? first + chunk_blocks : blocks;\n"
  "  (void)beta;\n"
  "  if (alpha == (MBK_COMPUTE)0) {\n"
  "    return;\n"
  "  }\n"
  "  const mbk_u32 last_row = mbk_load(chunk_row + mbk_block() + 1);\n"
  "  for (mbk_u32 row = mbk_load(chunk_row + mbk_block()); row <= last_row; row++) {\n"
  "    const mbk_u64 start = mbk_study_start(row_ptr, row);\n"
  "    const mbk_u64 end = mbk_study_start(row_ptr, (mbk_u64)row + 1);\n"
  "    const mbk_u64 from = start > first ? start : first, to = end < last ? end : last;\n"
  "    if (from >= to) {\n"
  "      continue;\n"
  "    }\n"
  "    mbk_block_sync(); // the sums of the row before have been read\n"
  "    for (mbk_u32 r = mbk_thread(); r < MBK_BLOCK_ROWS; r += MBK_THREADS) {\n"
  "      shared[r] = MBK_ZERO;\n"
  "    }\n"
  "    mbk_block_sync();\n"
  "    mbk_study_sum(a, from, to, shared);\n",
  "    mbk_block_sync();\n"
  "    for (mbk_u32 r = mbk_thread(); r < MBK_BLOCK_ROWS; r += MBK_THREADS) {\n"
  "      const mbk_u64 at = (mbk_u64)row * MBK_BLOCK_ROWS + r;\n"
  "      if (at < rows) {\n"
  "        mbk_atomic_add(y + at, (MBK_VECTOR)MBK_MUL(alpha, shared[r]));\n"
  "      }\n"
  "    }\n"
  "  }\n"
  "}\n",
  NULL};

#endif
static const struct {
  const char *name; /* as kernels include it */
  const char *const *pieces;
} mbi_sources[] = {
    {"jit/device.cuh", mbi_source_jit_device_cuh},
    {"spmv/algebra.cuh", mbi_source_spmv_algebra_cuh},
    {"spmv/arrays.cu", mbi_source_spmv_arrays_cu},
    {"spmv/merbit_tile.cuh", mbi_source_spmv_merbit_tile_cuh},
    {"spmv/merbit.cu", mbi_source_spmv_merbit_cu},
    {"spmv/ranks.cuh", mbi_source_spmv_ranks_cuh},
    {"spmv/fixup.cuh", mbi_source_spmv_fixup_cuh},
    {"spmv/scan_tile.cuh", mbi_source_spmv_scan_tile_cuh},
    {"spmv/scan_products.cuh", mbi_source_spmv_scan_products_cuh},
    {"spmv/scan_build.cuh", mbi_source_spmv_scan_build_cuh},
    {"spmv/scan_fixup.cuh", mbi_source_spmv_scan_fixup_cuh},
    {"spmv/scan.cu", mbi_source_spmv_scan_cu},
    {"spmv/scan_whole.cu", mbi_source_spmv_scan_whole_cu},
    {"spmv/binned_build.cuh", mbi_source_spmv_binned_build_cuh},
    {"spmv/binned.cu", mbi_source_spmv_binned_cu},
    {"spmv/hubs_build.cuh", mbi_source_spmv_hubs_build_cuh},
    {"spmv/hubs.cu", mbi_source_spmv_hubs_cu},
    {"spmv/full.cu", mbi_source_spmv_full_cu},
    {"spmv/carve.cu", mbi_source_spmv_carve_cu},
    {"spmv/rows.cu", mbi_source_spmv_rows_cu},
    {"spmv/bsr_tile.cuh", mbi_source_spmv_bsr_tile_cuh},
    {"spmv/bsr_build.cuh", mbi_source_spmv_bsr_build_cuh},
    {"spmv/bsr.cu", mbi_source_spmv_bsr_cu},
    {"spmv/sliced_build.cuh", mbi_source_spmv_sliced_build_cuh},
    {"spmv/sliced.cu", mbi_source_spmv_sliced_cu},
    {"spmv/cb.cu", mbi_source_spmv_cb_cu},
    {"spmv/reorder.cu", mbi_source_spmv_reorder_cu},
    {"solve/pagerank.cu", mbi_source_solve_pagerank_cu},
#ifdef MERBIT_STUDY_METHODS
    {"spmv/bsr_study.cu", mbi_source_spmv_bsr_study_cu},
#endif
};

#define MBI_SOURCES (sizeof mbi_sources / sizeof mbi_sources[0])
#define MBI_KERNEL_HASH "afe7c73776b4247d284071d92534dff05400f41bec1130d2743c1cd74b90795b"

/* ==== >>jit/cache.c  cubins on disk ======================================================= */
/* One file per compiled program: head, full key, image. It is written whole under another name
 * and renamed, by any number of processes at once, never locked; whatever is not exactly right
 * on reading is a miss. Errors of the disk are counted and otherwise ignored. */
#define MBI_CACHE_FORMAT 1
#define MBI_CACHE_MAGIC "merbit\r\n"
#define MBI_CACHE_SUFFIX ".merbit"
#define MBI_CACHE_MAX_BYTES ((int64_t)256 << 20)
#define MBI_CACHE_LARGEST ((uint64_t)1 << 30) /* bytes; no larger entry is read or written */

typedef struct mbi_cache_head {
  char magic[8];
  uint64_t format;
  uint64_t key_size;
  uint64_t image_size;
  mbi_hash checksum; /* of the fields above, key and image */
} mbi_cache_head;

static void mbi_cache_count(merbit_context *context, int64_t *counter) {
  mbi_mutex_lock(&context->lock);
  ++*counter;
  mbi_mutex_unlock(&context->lock);
}

static void mbi_cache_error(merbit_context *context, const char *verb, const char *path,
                            int error) {
  mbi_cache_count(context, &context->cache.errors);
  mbi_log(context, "cubin cache: cannot %s %s: error %d", verb, path, error);
}

static void mbi_cache_off(merbit_context *context, const char *reason) {
  context->cache.directory[0] = '\0';
  (void)snprintf(context->cache.off_reason, sizeof context->cache.off_reason, "%s", reason);
  mbi_log(context, "no cubin cache: %s", reason);
}

/* Where entries should lie, or NULL with the reason told. */
static const char *mbi_cache_wish(merbit_context *context, const merbit_context_desc *desc,
                                  char *buffer, size_t size) {
  const char *explicit_path = desc->cache_dir;
  const char *base;
  const char *below = "/merbit";
  if (explicit_path == NULL) {
    explicit_path = mbi_environment("MERBIT_CACHE_DIR");
  }
  if (explicit_path != NULL && explicit_path[0] == '\0') {
    mbi_cache_off(context, "context_desc.cache_dir is empty");
    return NULL;
  }
  base = explicit_path != NULL ? explicit_path : mbi_environment("XDG_CACHE_HOME");
  if (explicit_path == NULL && (base == NULL || base[0] != '/')) {
    base = mbi_environment("HOME");
    below = "/.cache/merbit";
    if (base == NULL || base[0] != '/') {
      mbi_cache_off(context,
                    "neither MERBIT_CACHE_DIR nor an absolute XDG_CACHE_HOME or HOME is set");
      return NULL;
    }
  }
  if ((size_t)snprintf(buffer, size, "%s%s", base, explicit_path != NULL ? "" : below) >=
      size) {
    mbi_cache_off(context, "the directory's path is too long");
    return NULL;
  }
  return buffer;
}

/* Choose, create and examine the directory. Never fails: without one there is no disk cache. */
static void mbi_cache_open(merbit_context *context, const merbit_context_desc *desc) {
  mbi_cache *cache = &context->cache;
  char wish[MBI_PATH_SIZE], path[MBI_PATH_SIZE], reason[sizeof cache->off_reason];
  char number[32] = "";
  const char *fault;
  int error;
  cache->max_bytes = desc->cache_max_bytes > 0 ? desc->cache_max_bytes : MBI_CACHE_MAX_BYTES;
  cache->off_reason[0] = '\0';
  if (mbi_cache_wish(context, desc, wish, sizeof wish) == NULL) {
    return;
  }
  error = mbi_path_absolute(wish, path, sizeof path);
  fault = error == 0 ? mbi_directory_distrust(path, 1, &error) : "has no usable absolute path";
  if (fault == NULL) {
    error = mbi_directory_resolve(path, cache->directory, sizeof cache->directory);
    fault = error == 0 ? NULL : "cannot be resolved";
  }
  if (fault != NULL) {
    if (error != 0) {
      (void)snprintf(number, sizeof number, ": error %d", error);
    }
    (void)snprintf(reason, sizeof reason, "%.180s %s%s", path, fault, number);
    mbi_cache_off(context, reason);
    return;
  }
  mbi_log(context, "cubin cache: %s", cache->directory);
}

/* Whether the directory is still what mbi_cache_open found: it may have been opened to others,
 * or removed and made anew by somebody else. */
static int mbi_cache_safe(merbit_context *context) {
  char path[MBI_PATH_SIZE];
  const char *fault;
  int error;
  (void)snprintf(path, sizeof path, "%s", context->cache.directory);
  fault = mbi_directory_distrust(path, 0, &error);
  if (fault != NULL) {
    mbi_cache_count(context, &context->cache.errors);
    mbi_log(context, "cubin cache: %s %s: error %d", path, fault, error);
  }
  return fault == NULL;
}

/* The file name is a hash of the key. */
static void mbi_cache_name(const char *key, size_t key_size, char *name, size_t size) {
  char text[MBI_HASH_TEXT];
  mbi_hash_text(mbi_hash_add(mbi_hash_start(), key, key_size), text);
  (void)snprintf(name, size, "%s" MBI_CACHE_SUFFIX, text);
}

static void mbi_cache_path(const merbit_context *context, const char *key, size_t key_size,
                           char *path, size_t size) {
  char name[64];
  mbi_cache_name(key, key_size, name, sizeof name);
  (void)snprintf(path, size, "%s/%s", context->cache.directory, name);
}

static mbi_cache_head mbi_cache_seal(const char *key, size_t key_size, const void *image,
                                     size_t size) {
  mbi_cache_head head;
  memset(&head, 0, sizeof head);
  memcpy(head.magic, MBI_CACHE_MAGIC, sizeof head.magic);
  head.format = MBI_CACHE_FORMAT;
  head.key_size = key_size;
  head.image_size = size;
  head.checksum = mbi_hash_add(mbi_hash_start(), &head, offsetof(mbi_cache_head, checksum));
  head.checksum = mbi_hash_add(head.checksum, key, key_size);
  head.checksum = mbi_hash_add(head.checksum, image, size);
  return head;
}

/* Whether `entry` is exactly what would be stored for this key. */
static int mbi_cache_valid(const char *entry, size_t size, const char *key, size_t key_size) {
  const size_t image_at = sizeof(mbi_cache_head) + key_size;
  mbi_cache_head head;
  if (size <= image_at || memcmp(entry + sizeof head, key, key_size) != 0) {
    return 0;
  }
  head = mbi_cache_seal(key, key_size, entry + image_at, size - image_at);
  return memcmp(entry, &head, sizeof head) == 0;
}

/* Remove the entry of a key: it is damaged, or the driver refuses its image. */
static void mbi_cache_drop(merbit_context *context, const char *key, size_t key_size) {
  char path[MBI_PATH_SIZE];
  int error;
  if (context->cache.directory[0] == '\0') {
    return;
  }
  mbi_cache_path(context, key, key_size, path, sizeof path);
  error = mbi_file_remove(path);
  if (error != 0) {
    mbi_cache_error(context, "remove", path, error);
  }
}

/* 1 and the image, to be released by the caller; 0 where there is none. */
static int mbi_cache_load(merbit_context *context, const char *key, size_t key_size,
                          void **image, size_t *size) {
  const size_t image_at = sizeof(mbi_cache_head) + key_size;
  char path[MBI_PATH_SIZE];
  int error;
  *image = NULL;
  *size = 0;
  if (context->cache.directory[0] == '\0') {
    return 0;
  }
  if (!mbi_cache_safe(context)) {
    mbi_cache_count(context, &context->cache.misses);
    return 0;
  }
  mbi_cache_path(context, key, key_size, path, sizeof path);
  error = mbi_private_read(context, path, MBI_CACHE_LARGEST, image, size);
  if (error == 0 && mbi_cache_valid((const char *)*image, *size, key, key_size)) {
    *size -= image_at;
    memmove(*image, (const char *)*image + image_at, *size);
    mbi_cache_count(context, &context->cache.hits);
    return 1;
  }
  mbi_release(context, *image);
  *image = NULL;
  *size = 0;
  mbi_cache_count(context, &context->cache.misses);
  if (error != 0 && error != ENOENT) {
    mbi_cache_error(context, "read", path, error);
  } else if (error == 0) {
    mbi_cache_error(context, "trust the contents of", path, EINVAL);
  }
  if (error == 0 || error == EINVAL || error == ELOOP || error == ENXIO) {
    mbi_cache_drop(context, key, key_size); /* damaged; or a link, a FIFO or a socket */
  }
  return 0;
}

static void mbi_cache_store(merbit_context *context, const char *key, size_t key_size,
                            const void *image, size_t size) {
  const mbi_cache *cache = &context->cache;
  mbi_cache_head head;
  mbi_piece pieces[3];
  char name[64];
  int error;
  if (cache->directory[0] == '\0' || size == 0 ||
      (uint64_t)size + key_size + sizeof head > (uint64_t)cache->max_bytes ||
      (uint64_t)size + key_size + sizeof head > MBI_CACHE_LARGEST || !mbi_cache_safe(context)) {
    return;
  }
  head = mbi_cache_seal(key, key_size, image, size);
  pieces[0].data = &head;
  pieces[0].size = sizeof head;
  pieces[1].data = key;
  pieces[1].size = key_size;
  pieces[2].data = image;
  pieces[2].size = size;
  mbi_cache_name(key, key_size, name, sizeof name);
  error = mbi_private_write(cache->directory, name, pieces, 3);
  if (error != 0) {
    mbi_cache_error(context, "write", name, error);
  }
  error = mbi_directory_trim(context, cache->directory, MBI_CACHE_SUFFIX, cache->max_bytes);
  if (error != 0) {
    mbi_cache_error(context, "tidy", cache->directory, error);
  }
}

/* ==== >>jit/loaded.c  programs that stay loaded =========================================== */
/* Programs that are loaded stay so, shared by the plans of a context: a second plan of the same
 * form loads nothing. */

#ifndef MBI_LOADED_IDLE
#define MBI_LOADED_IDLE 32 /* programs kept that no plan uses */
#endif

typedef struct mbi_loaded { /* in context->loaded, the last used first; guarded by the lock */
  struct mbi_loaded *next;
  char *key; /* as the cubin cache has it */
  size_t key_size;
  void *module; /* CUmodule */
  int64_t users;
} mbi_loaded;

/* In an entered context. */
static void mbi_loaded_unload(merbit_context *context, void *module) {
  if (mbi_device_lost(context) == 0) {
    (void)mbi_device_bury(context, context->device.driver.module_unload(module));
  }
}

static void mbi_loaded_free(merbit_context *context, mbi_loaded *entry) {
  mbi_release(context, entry->key);
  mbi_release(context, entry);
}

/* One more user of a program that is there, else NULL. */
static mbi_loaded *mbi_loaded_take(merbit_context *context, const char *key, size_t key_size) {
  mbi_loaded **at, *found;
  mbi_mutex_lock(&context->lock);
  for (at = &context->loaded; *at != NULL; at = &(*at)->next) {
    if ((*at)->key_size == key_size && memcmp((*at)->key, key, key_size) == 0) {
      break;
    }
  }
  found = *at;
  if (found != NULL) {
    *at = found->next;
    found->next = context->loaded;
    context->loaded = found;
    found->users++;
  }
  mbi_mutex_unlock(&context->lock);
  return found;
}

/* Share `module` under `key`, which the entry takes over. NULL, and nothing changed, where
 * memory is short. */
static mbi_loaded *mbi_loaded_share(merbit_context *context, char *key, size_t key_size,
                                    void *module) {
  mbi_loaded *entry = (mbi_loaded *)mbi_allocate(context, sizeof *entry);
  if (entry != NULL) {
    entry->key = key;
    entry->key_size = key_size;
    entry->module = module;
    entry->users = 1;
    mbi_mutex_lock(&context->lock);
    entry->next = context->loaded;
    context->loaded = entry;
    mbi_mutex_unlock(&context->lock);
  }
  return entry;
}

/* Unload what nobody uses, but for the `keep` that were used last. In an entered context. */
static void mbi_loaded_trim(merbit_context *context, int keep) {
  mbi_loaded *dropped = NULL, **at;
  mbi_mutex_lock(&context->lock);
  for (at = &context->loaded; *at != NULL;) {
    mbi_loaded *entry = *at;
    if (entry->users == 0 && keep-- <= 0) {
      *at = entry->next;
      entry->next = dropped;
      dropped = entry;
    } else {
      at = &entry->next;
    }
  }
  mbi_mutex_unlock(&context->lock);
  while (dropped != NULL) {
    mbi_loaded *next = dropped->next;
    mbi_loaded_unload(context, dropped->module);
    mbi_loaded_free(context, dropped);
    dropped = next;
  }
}

/* One user less. A CUcontext of the caller's may be gone before ours is, so nothing stays
 * there. */
static void mbi_loaded_leave(merbit_context *context, mbi_loaded *entry) {
  mbi_mutex_lock(&context->lock);
  entry->users--;
  mbi_mutex_unlock(&context->lock);
  mbi_loaded_trim(context, context->device.primary ? MBI_LOADED_IDLE : 0);
}

/* All of them, before the device is closed. */
static void mbi_loaded_close(merbit_context *context) {
  if (context->loaded != NULL && mbi_device_enter_alive(context)) {
    mbi_loaded_trim(context, 0);
    mbi_device_leave(context);
  }
  while (context->loaded != NULL) { /* gone with a dead context */
    mbi_loaded *next = context->loaded->next;
    mbi_loaded_free(context, context->loaded);
    context->loaded = next;
  }
}

/* ==== >>jit/program.c  one specialisation: preamble, compilation, module ================== */
/* ---- Preamble: the #defines of one specialisation --------------------------------------- */

typedef struct mbi_preamble { /* all zero is empty */
  char text[4096];
  size_t length;
  int overflow; /* a line did not fit; mbi_program_create refuses */
} mbi_preamble;

static void mbi_preamble_define(mbi_preamble *preamble, const char *name, const char *value) {
  const size_t room = sizeof preamble->text - preamble->length;
  const int written =
      snprintf(preamble->text + preamble->length, room, "#define %s %s\n", name, value);
  if (written < 0 || (size_t)written >= room) {
    preamble->text[preamble->length] = '\0';
    preamble->overflow = 1;
  } else {
    preamble->length += (size_t)written;
  }
}

static void mbi_preamble_define_int(mbi_preamble *preamble, const char *name, int64_t value) {
  char text[32];
  (void)snprintf(text, sizeof text, "%" PRId64, value);
  mbi_preamble_define(preamble, name, text);
}

/* ---- Target: what NVRTC is asked for ---------------------------------------------------- */

#define MBI_MAIN_NAME "merbit_program.cu"
#define MBI_PREAMBLE_NAME "merbit_preamble.h"
#define MBI_NO_SOURCE_INCLUDE 11070 /* the oldest NVRTC known to have the option */

typedef struct mbi_target {
  char architecture[48];
  const char *options[3];
  int count;
  int ptx; /* NVRTC does not know this GPU: the driver compiles the rest */
} mbi_target;

static merbit_status mbi_target_choose(merbit_context *context, const char *main_file,
                                       const mbi_preamble *preamble, int capability,
                                       mbi_target *target) {
  const mbi_nvrtc *nvrtc = &context->device.nvrtc;
  const int known = mbi_nvrtc_architecture(nvrtc, capability);
  if (preamble->overflow) {
    return mbi_fail(context, MERBIT_TOO_LARGE, "the preamble of %s exceeds %zu bytes",
                    main_file, sizeof preamble->text);
  }
  if (known == 0) {
    return mbi_fail(context, MERBIT_NO_COMPILER,
                    "NVRTC %d.%d (%s) does not compile for compute capability %d.%d",
                    nvrtc->version / 1000, nvrtc->version % 1000 / 10, nvrtc->path,
                    capability / 10, capability % 10);
  }
  target->ptx = known != capability;
  (void)snprintf(target->architecture, sizeof target->architecture, "--gpu-architecture=%s_%d",
                 target->ptx ? "compute" : "sm", known);
  target->options[0] = target->architecture;
  target->options[1] = "--std=c++14";
  target->options[2] = "--no-source-include"; /* nothing but embedded files */
  target->count = nvrtc->version >= MBI_NO_SOURCE_INCLUDE ? 3 : 2;
  return MERBIT_OK;
}

/* ---- Key: all that the image depends on, each field behind its length ------------------- */

/* NULL where memory is short. */
static char *mbi_key_create(merbit_context *context, const char *main_file,
                            const mbi_preamble *preamble, const mbi_target *target,
                            size_t *size) {
  const char *fields[10];
  char format[16], version[16];
  size_t room = 1;
  char *key;
  int count = 0, i;
  (void)snprintf(format, sizeof format, "%d", MBI_CACHE_FORMAT);
  (void)snprintf(version, sizeof version, "%d", context->device.nvrtc.version);
  fields[count++] = format;
  fields[count++] = MERBIT_VERSION_STRING;
  fields[count++] = MBI_KERNEL_HASH;
  fields[count++] = main_file;
  fields[count++] = preamble->text;
  fields[count++] = version;
  for (i = 0; i < target->count; i++) { /* the first names the architecture */
    fields[count++] = target->options[i];
  }
  for (i = 0; i < count; i++) {
    room += strlen(fields[i]) + 24;
  }
  *size = 0;
  key = (char *)mbi_allocate(context, room);
  for (i = 0; i < count && key != NULL; i++) {
    *size +=
        (size_t)snprintf(key + *size, room - *size, "%zu:%s\n", strlen(fields[i]), fields[i]);
  }
  return key;
}

/* ---- Compilation ------------------------------------------------------------------------ */

typedef struct mbi_texts { /* the files that NVRTC sees, by name */
  const char *names[MBI_SOURCES + 1];
  const char *texts[MBI_SOURCES + 1];
  char *owned[MBI_SOURCES];
} mbi_texts;

static void mbi_texts_release(merbit_context *context, mbi_texts *texts) {
  size_t i;
  for (i = 0; i < MBI_SOURCES; i++) {
    mbi_release(context, texts->owned[i]);
  }
}

/* Join the pieces of every embedded file. After a failure mbi_texts_release cleans up. */
static merbit_status mbi_texts_create(merbit_context *context, const mbi_preamble *preamble,
                                      mbi_texts *texts) {
  size_t i, piece;
  memset(texts, 0, sizeof *texts);
  for (i = 0; i < MBI_SOURCES; i++) {
    const char *const *pieces = mbi_sources[i].pieces;
    size_t length = 0;
    void *joined = NULL;
    merbit_status status;
    for (piece = 0; pieces[piece] != NULL; piece++) {
      length += strlen(pieces[piece]);
    }
    status = mbi_allocate_array(context, (int64_t)length + 1, 1, mbi_sources[i].name, &joined);
    if (status != MERBIT_OK) {
      return status;
    }
    texts->names[i] = mbi_sources[i].name;
    texts->texts[i] = texts->owned[i] = (char *)joined;
    length = 0;
    for (piece = 0; pieces[piece] != NULL; piece++) {
      memcpy(texts->owned[i] + length, pieces[piece], strlen(pieces[piece]));
      length += strlen(pieces[piece]);
    }
    texts->owned[i][length] = '\0';
  }
  texts->names[MBI_SOURCES] = MBI_PREAMBLE_NAME;
  texts->texts[MBI_SOURCES] = preamble->text;
  return MERBIT_OK;
}

/* With MERBIT_DUMP: program text, log and image, under the name that the cache would use.
 * Failures do not matter. */
static void mbi_program_dump(merbit_context *context, const char *main_file,
                             const mbi_preamble *preamble, const mbi_target *target,
                             const char *log, const void *image, size_t size) {
  const char *directory = mbi_environment("MERBIT_DUMP");
  char hash[MBI_HASH_TEXT], name[64], include[128];
  char *key = NULL;
  size_t key_size;
  mbi_piece pieces[2];
  if (directory != NULL) {
    key = mbi_key_create(context, main_file, preamble, target, &key_size);
  }
  if (key == NULL) {
    return;
  }
  mbi_hash_text(mbi_hash_add(mbi_hash_start(), key, key_size), hash);
  mbi_release(context, key);
  (void)snprintf(include, sizeof include, "#include \"%s\"\n", main_file);
  pieces[0].data = preamble->text;
  pieces[0].size = preamble->length;
  pieces[1].data = include;
  pieces[1].size = strlen(include);
  (void)snprintf(name, sizeof name, "%s.cu", hash);
  (void)mbi_private_write(directory, name, pieces, 2);
  pieces[0].data = log != NULL ? log : "";
  pieces[0].size = log != NULL ? strlen(log) : 0;
  (void)snprintf(name, sizeof name, "%s.log", hash);
  (void)mbi_private_write(directory, name, pieces, 1);
  pieces[0].data = image;
  pieces[0].size = size;
  (void)snprintf(name, sizeof name, "%s.%s", hash, target->ptx ? "ptx" : "cubin");
  if (size > 0) {
    (void)mbi_private_write(directory, name, pieces, 1);
  }
}

/* The cubin, or the PTX, of a compiled program. */
static merbit_status mbi_nvrtc_image(merbit_context *context, void *program,
                                     const char *main_file, int ptx, void **image,
                                     size_t *size) {
  const mbi_nvrtc *nvrtc = &context->device.nvrtc;
  merbit_status status = mbi_nvrtc_check(
      context, ptx ? nvrtc->get_ptx_size(program, size) : nvrtc->get_cubin_size(program, size),
      ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize", main_file);
  if (status == MERBIT_OK && (*size == 0 || *size > MBI_CACHE_LARGEST)) {
    status = mbi_fail(context, MERBIT_COMPILE_ERROR, "NVRTC made an image of %zu bytes of %s",
                      *size, main_file);
  }
  if (status == MERBIT_OK) {
    status = mbi_allocate_array(context, (int64_t)*size, 1, "a compiled program", image);
  }
  if (status == MERBIT_OK) {
    status = mbi_nvrtc_check(context,
                             ptx ? nvrtc->get_ptx(program, (char *)*image)
                                 : nvrtc->get_cubin(program, (char *)*image),
                             ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN", main_file);
  }
  if (status != MERBIT_OK) {
    mbi_release(context, *image);
    *image = NULL;
    *size = 0;
  }
  return status;
}

/* Compile a program that NVRTC has taken in. */
static merbit_status mbi_nvrtc_run(merbit_context *context, void *program,
                                   const char *main_file, const mbi_preamble *preamble,
                                   const mbi_target *target, void **image, size_t *size) {
  const int result =
      context->device.nvrtc.compile_program(program, target->count, target->options);
  char *log = mbi_nvrtc_log(context, program);
  char first[360];
  merbit_status status;
  mbi_nvrtc_tell(context, log, first, sizeof first);
  if (result != 0 && result != MBI_NVRTC_OUT_OF_MEMORY && first[0] != '\0') {
    status = mbi_fail(context, MERBIT_COMPILE_ERROR, "NVRTC refused %s for %s: %s", main_file,
                      target->architecture + strlen("--gpu-architecture="), first);
  } else {
    status = mbi_nvrtc_check(context, result, "nvrtcCompileProgram", main_file);
  }
  if (status == MERBIT_OK) {
    status = mbi_nvrtc_image(context, program, main_file, target->ptx, image, size);
  }
  mbi_program_dump(context, main_file, preamble, target, log, *image, *size);
  mbi_release(context, log);
  return status;
}

/* Compile `main_file` for a compute capability (90 is 9.0). Needs NVRTC, but neither driver nor
 * GPU. */
static merbit_status mbi_program_compile(merbit_context *context, const char *main_file,
                                         const mbi_preamble *preamble, int capability,
                                         void **image, size_t *size) {
  const mbi_nvrtc *nvrtc = &context->device.nvrtc;
  mbi_target target;
  mbi_texts texts;
  char text[256];
  void *program = NULL;
  merbit_status status;
  *image = NULL;
  *size = 0;
  status = mbi_target_choose(context, main_file, preamble, capability, &target);
  if (status != MERBIT_OK) {
    return status;
  }
  status = mbi_texts_create(context, preamble, &texts);
  if (status == MERBIT_OK) {
    (void)snprintf(text, sizeof text, "#include \"" MBI_PREAMBLE_NAME "\"\n#include \"%s\"\n",
                   main_file);
    status =
        mbi_nvrtc_check(context,
                        nvrtc->create_program(&program, text, MBI_MAIN_NAME,
                                              (int)MBI_SOURCES + 1, texts.texts, texts.names),
                        "nvrtcCreateProgram", main_file);
  }
  if (status == MERBIT_OK) {
    status = mbi_nvrtc_run(context, program, main_file, preamble, &target, image, size);
    (void)nvrtc->destroy_program(&program);
  }
  mbi_texts_release(context, &texts);
  return status;
}

/* ---- Programs: from the cache or compiled, loaded into the entered context -------------- */

/* Load a cached image. Where the driver does not want it, `module` stays NULL and the entry
 * goes. */
static merbit_status mbi_program_load_cached(merbit_context *context, const char *key,
                                             size_t key_size, mbi_program *program) {
  void *image;
  size_t size;
  mbi_curesult result;
  if (!mbi_cache_load(context, key, key_size, &image, &size)) {
    return MERBIT_OK;
  }
  result = context->device.driver.module_load_data(&program->module, image);
  mbi_release(context, image);
  if (result == 0) {
    program->from_cache = 1;
    return MERBIT_OK;
  }
  program->module = NULL;
  if (result == MBI_CUDA_OUT_OF_MEMORY || mbi_device_deadly(result)) {
    return mbi_device_check(context, result, "cuModuleLoadData", "loading a cached program");
  }
  mbi_log(context, "the driver refuses a cached program (CUDA error %d): compiling it anew",
          result);
  mbi_cache_drop(context, key, key_size);
  return MERBIT_OK;
}

static merbit_status mbi_program_load_compiled(merbit_context *context, const char *main_file,
                                               const mbi_preamble *preamble, const char *key,
                                               size_t key_size, mbi_program *program) {
  const double start = mbi_seconds();
  void *image;
  size_t size;
  merbit_status status = mbi_program_compile(context, main_file, preamble,
                                             context->device.compute_capability, &image, &size);
  program->compile_seconds = mbi_seconds() - start;
  if (status == MERBIT_OK) {
    status = mbi_device_check(context,
                              context->device.driver.module_load_data(&program->module, image),
                              "cuModuleLoadData", "loading a compiled program");
    program->load_seconds = mbi_seconds() - start - program->compile_seconds;
  }
  if (status == MERBIT_OK) { /* only what the driver has accepted */
    mbi_cache_store(context, key, key_size, image, size);
  } else {
    program->module = NULL;
  }
  mbi_release(context, image);
  return status;
}

/* One specialisation of `main_file`, ready for mbi_program_kernel. Needs an entered context. */
static merbit_status mbi_program_create(merbit_context *context, const char *main_file,
                                        const mbi_preamble *preamble, mbi_program *program) {
  const double start = mbi_seconds();
  mbi_target target;
  char *key;
  size_t key_size;
  merbit_status status = mbi_device_alive(context);
  memset(program, 0, sizeof *program);
  if (status == MERBIT_OK) {
    status = mbi_target_choose(context, main_file, preamble, context->device.compute_capability,
                               &target);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  key = mbi_key_create(context, main_file, preamble, &target, &key_size);
  if (key == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for the key of %s", main_file);
  }
  program->shared = mbi_loaded_take(context, key, key_size);
  if (program->shared != NULL) {
    program->module = program->shared->module;
    program->from_cache = 1;
  } else {
    status = mbi_program_load_cached(context, key, key_size, program);
  }
  program->load_seconds = mbi_seconds() - start;
  if (status == MERBIT_OK && !program->from_cache) {
    status = mbi_program_load_compiled(context, main_file, preamble, key, key_size, program);
  }
  if (status != MERBIT_OK) {
    memset(program, 0, sizeof *program);
  } else if (program->shared == NULL) {
    program->shared = mbi_loaded_share(context, key, key_size, program->module);
    key = program->shared != NULL ? NULL : key;
  }
  mbi_release(context, key);
  return status;
}

static merbit_status mbi_program_kernel(merbit_context *context, const mbi_program *program,
                                        const char *name, void **function) {
  char attempt[128];
  merbit_status status = mbi_device_alive(context);
  *function = NULL;
  if (status == MERBIT_OK) {
    (void)snprintf(attempt, sizeof attempt, "finding kernel %s", name);
    status = mbi_device_check(
        context, context->device.driver.module_get_function(function, program->module, name),
        "cuModuleGetFunction", attempt);
  }
  if (status != MERBIT_OK) {
    *function = NULL;
  }
  return status;
}

/* An all-zero program is accepted. What a dead context held is gone with it. */
static void mbi_program_destroy(merbit_context *context, mbi_program *program) {
  if (program->shared != NULL) {
    mbi_loaded_leave(context, program->shared);
  } else if (program->module != NULL) {
    mbi_loaded_unload(context, program->module);
  }
  memset(program, 0, sizeof *program);
}

/* ==== >>core/context.c  contexts ========================================================== */
static void mbi_context_retain(merbit_context *context) {
  mbi_mutex_lock(&context->lock);
  context->references++;
  mbi_mutex_unlock(&context->lock);
}

static void mbi_context_unref(merbit_context *context) {
  merbit_allocator allocator = context->allocator;
  int64_t left;
  mbi_mutex_lock(&context->lock);
  left = --context->references;
  mbi_mutex_unlock(&context->lock);
  if (left > 0) {
    return;
  }
  mbi_loaded_close(context);
  mbi_device_close(context);
  mbi_pool_destroy(context);
  mbi_context_locks_destroy(context);
  allocator.release(allocator.user, context);
}

/* Choose the side: CUDA needs driver, device and compiler; AUTO remembers what was missing. */
static merbit_status mbi_context_choose_side(merbit_context *context,
                                             const merbit_context_desc *desc) {
  merbit_status status;
  context->side = MERBIT_SIDE_CPU;
  if (desc->side == MERBIT_SIDE_CPU) {
    return MERBIT_OK;
  }
  status = mbi_device_open(context, desc);
  if (status == MERBIT_OK) {
    context->side = MERBIT_SIDE_CUDA;
    mbi_cache_open(context, desc);
    return MERBIT_OK;
  }
  mbi_device_close(context);
  if (desc->side == MERBIT_SIDE_CUDA || status == MERBIT_OUT_OF_MEMORY) {
    return status;
  }
  mbi_forgive(context, context->reason, sizeof context->reason);
  mbi_log(context, "computing on the CPU: %s", context->reason);
  return MERBIT_OK;
}

/* MERBIT_LOG installs this where the descriptor has no callback. */
static void mbi_log_to_stderr(void *user, const char *line) {
  (void)user;
  (void)fprintf(stderr, "merbit: %s\n", line);
}

static merbit_status mbi_context_set_up(merbit_context *context,
                                        const merbit_context_desc *desc) {
  context->threads = desc->threads > 0 ? desc->threads : mbi_processors();
  context->log = desc->log;
  context->log_user = desc->log_user;
  if (context->log == NULL && mbi_environment("MERBIT_LOG") != NULL) {
    context->log = mbi_log_to_stderr;
  }
  if (desc->threads < 0 || desc->threads > MBI_MAX_THREADS) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "context_desc.threads is %d; use 0 for all, or at most %d", desc->threads,
                    MBI_MAX_THREADS);
  }
  if (desc->side < MERBIT_SIDE_AUTO || desc->side > MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "context_desc.side is %d; use a MERBIT_SIDE",
                    (int)desc->side);
  }
  if (desc->cache_max_bytes < 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "context_desc.cache_max_bytes is %" PRId64 "; use 0 for the default",
                    desc->cache_max_bytes);
  }
  return mbi_context_choose_side(context, desc);
}

MERBIT_API merbit_status merbit_context_create(const merbit_context_desc *desc,
                                               merbit_context **context, merbit_error *error) {
  merbit_context_desc defaults;
  merbit_allocator allocator;
  merbit_context *made;
  merbit_status status;
  memset(&defaults, 0, sizeof defaults);
  if (desc == NULL) {
    desc = &defaults;
  }
  if (context != NULL) {
    *context = NULL;
  }
  if (context == NULL ||
      (desc->allocator.allocate == NULL) != (desc->allocator.release == NULL)) {
    return mbi_error_set(error, MERBIT_INVALID_ARGUMENT,
                         context == NULL ? "the out pointer `context` is NULL"
                                         : "context_desc.allocator has one function of two");
  }
  allocator = desc->allocator;
  if (allocator.allocate == NULL) {
    allocator.allocate = mbi_default_allocate;
    allocator.release = mbi_default_release;
  }
  made = (merbit_context *)allocator.allocate(allocator.user, sizeof *made);
  if (made == NULL) {
    return mbi_error_set(error, MERBIT_OUT_OF_MEMORY, "no memory for a context");
  }
  memset(made, 0, sizeof *made);
  made->allocator = allocator;
  made->references = 1;
  mbi_context_locks_create(made);
  status = mbi_context_set_up(made, desc);
  if (status != MERBIT_OK) {
    (void)mbi_error_set(error, status, made->error.message);
    mbi_context_unref(made);
    return status;
  }
  *context = made;
  return mbi_error_set(error, MERBIT_OK, "");
}

MERBIT_API void merbit_context_destroy(merbit_context *context) {
  if (context != NULL) {
    mbi_context_unref(context);
  }
}

MERBIT_API merbit_status merbit_context_get_info(merbit_context *context,
                                                 merbit_context_info *info) {
  if (context == NULL || info == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  memset(info, 0, sizeof *info);
  info->side = context->side;
  info->threads = context->threads;
  (void)snprintf(info->reason, sizeof info->reason, "%s", context->reason);
  (void)snprintf(info->device, sizeof info->device, "CPU");
  if (context->side == MERBIT_SIDE_CUDA) {
    (void)snprintf(info->device, sizeof info->device, "%s", context->device.name);
    (void)snprintf(info->nvrtc, sizeof info->nvrtc, "%s", context->device.nvrtc.path);
    (void)snprintf(info->cache_dir, sizeof info->cache_dir, "%s", context->cache.directory);
    (void)snprintf(info->cache_off_reason, sizeof info->cache_off_reason, "%s",
                   context->cache.off_reason);
    info->compute_capability = context->device.compute_capability;
    info->driver_version = context->device.driver_version;
    info->nvrtc_version = context->device.nvrtc.version;
    mbi_mutex_lock(&context->lock);
    info->cache_hits = context->cache.hits;
    info->cache_misses = context->cache.misses;
    info->cache_errors = context->cache.errors;
    mbi_mutex_unlock(&context->lock);
  }
  return MERBIT_OK;
}

/* ==== >>core/buffer.c  vectors where the context computes ================================= */
MERBIT_API merbit_status merbit_buffer_create(merbit_context *context, size_t bytes,
                                              merbit_buffer **buffer) {
  merbit_buffer *made;
  merbit_status status = MERBIT_OK;
  if (buffer != NULL) {
    *buffer = NULL;
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (buffer == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the out pointer `buffer` is NULL");
  }
  made = (merbit_buffer *)mbi_allocate(context, sizeof *made);
  if (made == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a buffer's record");
  }
  made->context = context;
  made->bytes = bytes;
  made->pointer = NULL;
  if (context->side == MERBIT_SIDE_CUDA) {
    mbi_devptr address = 0;
    status = mbi_device_enter(context);
    if (status == MERBIT_OK) {
      status = mbi_device_allocate(context, bytes, "a buffer", &address);
      mbi_device_leave(context);
    }
    made->pointer = mbi_device_pointer(address);
  } else if ((made->pointer = mbi_allocate(context, bytes)) == NULL) {
    status = mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a buffer of %zu bytes", bytes);
  }
  if (status != MERBIT_OK) {
    mbi_release(context, made);
    return status;
  }
  mbi_context_retain(context);
  *buffer = made;
  return MERBIT_OK;
}

/* Shared by both directions: a part [offset, offset + bytes) must lie inside the buffer. */
static merbit_status mbi_buffer_check(const merbit_buffer *buffer, size_t offset, const void *host,
                                      size_t bytes, const char *verb) {
  if (buffer == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (host == NULL && bytes > 0) {
    return mbi_fail(buffer->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_buffer_%s: the host pointer is NULL", verb);
  }
  if (offset > buffer->bytes || bytes > buffer->bytes - offset) {
    return mbi_fail(buffer->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_buffer_%s: %zu bytes at offset %zu exceed the buffer's %zu bytes", verb,
                    bytes, offset, buffer->bytes);
  }
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_buffer_upload(merbit_buffer *buffer, size_t offset,
                                              const void *source, size_t bytes) {
  merbit_status status = mbi_buffer_check(buffer, offset, source, bytes, "upload");
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  if (buffer->context->side == MERBIT_SIDE_CPU) {
    memcpy((char *)buffer->pointer + offset, source, bytes);
    return MERBIT_OK;
  }
  status = mbi_device_enter(buffer->context);
  if (status == MERBIT_OK) {
    status = mbi_device_upload(buffer->context, mbi_device_address(buffer->pointer) + offset,
                               source, bytes);
    mbi_device_leave(buffer->context);
  }
  return status;
}

MERBIT_API merbit_status merbit_buffer_download(const merbit_buffer *buffer, size_t offset,
                                                void *target, size_t bytes) {
  merbit_status status = mbi_buffer_check(buffer, offset, target, bytes, "download");
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  if (buffer->context->side == MERBIT_SIDE_CPU) {
    memcpy(target, (const char *)buffer->pointer + offset, bytes);
    return MERBIT_OK;
  }
  status = mbi_device_enter(buffer->context);
  if (status == MERBIT_OK) {
    status = mbi_device_download(buffer->context, target,
                                 mbi_device_address(buffer->pointer) + offset, bytes);
    mbi_device_leave(buffer->context);
  }
  return status;
}

MERBIT_API void *merbit_buffer_pointer(const merbit_buffer *buffer) {
  return buffer != NULL ? buffer->pointer : NULL;
}

MERBIT_API void merbit_buffer_destroy(merbit_buffer *buffer) {
  merbit_context *context;
  if (buffer == NULL) {
    return;
  }
  context = buffer->context;
  if (context->side == MERBIT_SIDE_CUDA) {
    if (mbi_device_enter_alive(context)) {
      mbi_device_release(context, mbi_device_address(buffer->pointer));
      mbi_device_leave(context);
    }
  } else {
    mbi_release(context, buffer->pointer);
  }
  mbi_release(context, buffer);
  mbi_context_unref(context);
}

/* ==== >>matrix/shares.c  sizes of a view, and its parts for the threads =================== */
static size_t mbi_type_size(merbit_type type) {
  return type == MERBIT_F32 ? sizeof(float) : sizeof(double);
}

static size_t mbi_index_bytes(merbit_index_type type) {
  return type == MERBIT_INDEX_64 ? sizeof(int64_t) : sizeof(int32_t);
}

/* What the type of a view means: DEFAULT is F64. */
static merbit_type mbi_view_type(const merbit_view *view) {
  return view->value_type == MERBIT_TYPE_DEFAULT ? MERBIT_F64 : view->value_type;
}

/* Values that a view holds. */
static int64_t mbi_view_values(const merbit_view *view) {
  return view->format == MERBIT_BSR ? view->nnz * view->block_rows * view->block_cols
                                    : view->nnz;
}

/* One entry of an array of either width. In loops the branch is always predicted. */
static int64_t mbi_index_at(const void *array, merbit_index_type type, int64_t i) {
  return type == MERBIT_INDEX_32 ? (int64_t)((const int32_t *)array)[i]
                                 : ((const int64_t *)array)[i];
}

/* First of the items of `task` where `count` are dealt to `tasks` evenly and in order. */
static int64_t mbi_share(int64_t count, int tasks, int task) {
  int64_t rest = count % tasks;
  return count / tasks * task + (task < rest ? task : rest);
}

/* Tasks worth starting for `count` cheap steps. */
static int mbi_share_tasks(const merbit_context *context, int64_t count) {
  int64_t useful = count / 32768;
  return useful < 1 ? 1 : useful < context->threads ? (int)useful : context->threads;
}

/* The row, counted from 0, that holds `entry` of a valid CSR view: the first that ends behind
 * it. Needs 0 <= entry < nnz. */
static int64_t mbi_row_of(const merbit_view *csr, int64_t entry) {
  int64_t low = 0, high = csr->rows - 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (mbi_index_at(csr->row_ptr, csr->offset_type, middle + 1) - csr->base <= entry) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Rows of `task` where the rows of a valid CSR view are dealt to `tasks` by their entries: they
 * begin at this one and end where the next task's begin. */
static int64_t mbi_share_rows(const merbit_view *csr, int tasks, int task) {
  return task == 0       ? 0
         : task == tasks ? csr->rows
                         : mbi_row_of(csr, mbi_share(csr->nnz, tasks, task));
}

#define MBI_BLOCK_MOST 64 /* rows or columns of a block */

/* Blocks of `size` that `count` rows or columns need. */
static int64_t mbi_block_count(int64_t count, int size) {
  return count / size + (count % size != 0);
}

/* The places of the blocks of a BSR view: a CSR of block rows and block columns. */
static merbit_view mbi_block_frame(const merbit_view *bsr) {
  merbit_view frame = *bsr;
  frame.format = MERBIT_CSR;
  frame.rows = mbi_block_count(bsr->rows, bsr->block_rows);
  frame.cols = mbi_block_count(bsr->cols, bsr->block_cols);
  frame.values = NULL;
  return frame;
}

/* ==== >>matrix/download.c  host copies of device arrays =================================== */
static void mbi_host_view_release(merbit_context *context, merbit_view *view) {
  mbi_release(context, (void *)(uintptr_t)view->row_ptr);
  mbi_release(context, (void *)(uintptr_t)view->row_ind);
  mbi_release(context, (void *)(uintptr_t)view->col_ind);
  mbi_release(context, (void *)(uintptr_t)view->values);
}

/* A host copy of one device array; NULL stays NULL. */
static merbit_status mbi_array_download(merbit_context *context, const void *source,
                                        int64_t count, size_t size, const void **target) {
  void *copy = NULL;
  merbit_status status = MERBIT_OK;
  *target = NULL;
  if (source == NULL) {
    return MERBIT_OK;
  }
  if (!mbi_device_owns(context, source)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "the view says device memory, but %p is not an address of the GPU", source);
  }
  status = mbi_allocate_array(context, count, size, "a host copy of a device array", &copy);
  if (status == MERBIT_OK && count > 0) {
    status =
        mbi_device_download(context, copy, mbi_device_address(source), (size_t)count * size);
  }
  if (status != MERBIT_OK) {
    mbi_release(context, copy);
    return status;
  }
  *target = copy;
  return MERBIT_OK;
}

/* A host copy of a device view whose header has been checked. Release it with
 * mbi_host_view_release, after a failure too. */
static merbit_status mbi_view_download(merbit_context *context, const merbit_view *view,
                                       merbit_view *host) {
  const size_t index_bytes = mbi_index_bytes(view->index_type);
  merbit_status status;
  *host = *view;
  host->memory = MERBIT_MEMORY_HOST;
  host->row_ptr = host->row_ind = host->col_ind = host->values = NULL;
  if (context->side != MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "the view says device memory, but this context computes on the CPU");
  }
  status = mbi_device_enter(context);
  if (status != MERBIT_OK) {
    return status;
  }
  if (view->format != MERBIT_COO) {
    const int64_t rows =
        view->format == MERBIT_BSR ? mbi_block_count(view->rows, view->block_rows) : view->rows;
    status = mbi_array_download(context, view->row_ptr, rows + 1,
                                mbi_index_bytes(view->offset_type), &host->row_ptr);
  } else {
    status = mbi_array_download(context, view->row_ind, view->nnz, index_bytes, &host->row_ind);
  }
  if (status == MERBIT_OK) {
    status = mbi_array_download(context, view->col_ind, view->nnz, index_bytes, &host->col_ind);
  }
  if (status == MERBIT_OK) {
    status = mbi_array_download(context, view->values, mbi_view_values(view),
                                mbi_type_size(view->value_type), &host->values);
  }
  mbi_device_leave(context);
  return status;
}

/* ==== >>matrix/check.c  views and arrays under suspicion ================================== */
#define MBI_MAX_LENGTH (PTRDIFF_MAX / 8 - 1) /* of an array: longer ones have no address */

static const char *const mbi_type_names[] = {
    "MERBIT_TYPE_DEFAULT",
    "MERBIT_F64",
    "MERBIT_F32",
    "MERBIT_F16",
    "MERBIT_BF16",
    "MERBIT_C64",
    "MERBIT_C128",
};

static merbit_status mbi_block_check(merbit_context *context, const char *what, int rows,
                                     int cols, merbit_block_order order) {
  if (rows < 1 || rows > MBI_BLOCK_MOST || cols < 1 || cols > MBI_BLOCK_MOST) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "%s.block_rows is %d and block_cols %d; use 1 to %d each", what, rows, cols,
                    MBI_BLOCK_MOST);
  }
  if (order != MERBIT_BLOCK_ROW_MAJOR && order != MERBIT_BLOCK_COLUMN_MAJOR) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "%s.block_order is %d; use a MERBIT_BLOCK_ORDER", what, (int)order);
  }
  return MERBIT_OK;
}

static merbit_status mbi_view_check_kinds(merbit_context *context, const merbit_view *view) {
  int type = (int)view->value_type;
  if (view->format != MERBIT_CSR && view->format != MERBIT_COO && view->format != MERBIT_BSR) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "view.format is %d; use MERBIT_CSR, MERBIT_COO or MERBIT_BSR",
                    (int)view->format);
  }
  if (type < 0 || (size_t)type >= sizeof mbi_type_names / sizeof mbi_type_names[0]) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "view.value_type is %d; use MERBIT_F64 or MERBIT_F32", type);
  }
  if (mbi_view_type(view) != MERBIT_F64 && mbi_view_type(view) != MERBIT_F32) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "view.value_type is %s; this version takes MERBIT_F64 and MERBIT_F32",
                    mbi_type_names[type]);
  }
  if (view->offset_type != MERBIT_INDEX_32 && view->offset_type != MERBIT_INDEX_64) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "view.offset_type is %d; use a MERBIT_INDEX", (int)view->offset_type);
  }
  if (view->index_type != MERBIT_INDEX_32 && view->index_type != MERBIT_INDEX_64) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "view.index_type is %d; use a MERBIT_INDEX", (int)view->index_type);
  }
  if ((int)view->memory < MERBIT_MEMORY_DEFAULT || (int)view->memory > MERBIT_MEMORY_DEVICE) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "view.memory is %d; use a MERBIT_MEMORY",
                    (int)view->memory);
  }
  if (view->base != 0 && view->base != 1) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "view.base is %d; use 0 or 1",
                    view->base);
  }
  return view->format == MERBIT_BSR
             ? mbi_block_check(context, "view", view->block_rows, view->block_cols,
                               view->block_order)
             : MERBIT_OK;
}

static merbit_status mbi_view_check_sizes(merbit_context *context, const merbit_view *view) {
  static const char *const names[] = {"rows", "cols", "nnz"};
  int64_t sizes[3];
  int i;
  sizes[0] = view->rows;
  sizes[1] = view->cols;
  sizes[2] = view->nnz;
  for (i = 0; i < 3; i++) {
    if (sizes[i] < 0) {
      return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "view.%s is %" PRId64 ", less than 0",
                      names[i], sizes[i]);
    }
    if (sizes[i] > MBI_MAX_LENGTH) {
      return mbi_fail(context, MERBIT_TOO_LARGE,
                      "view.%s is %" PRId64 ", beyond the address space", names[i], sizes[i]);
    }
  }
  if (view->cols > INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "view.cols is %" PRId64 "; this version takes at most 2147483647 columns",
                    view->cols);
  }
  if (view->nnz > 0 && (view->rows == 0 || view->cols == 0)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "view.nnz is %" PRId64 " but a matrix of %" PRId64 " x %" PRId64
                    " has no entries",
                    view->nnz, view->rows, view->cols);
  }
  if (view->format == MERBIT_BSR &&
      view->nnz > MBI_MAX_LENGTH / (view->block_rows * view->block_cols)) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "view.nnz is %" PRId64 " blocks of %d x %d, beyond the address space",
                    view->nnz, view->block_rows, view->block_cols);
  }
  if (view->format != MERBIT_COO && view->offset_type == MERBIT_INDEX_32 &&
      view->nnz > INT32_MAX - view->base) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "view.nnz is %" PRId64 ", too much for 32-bit offsets; use MERBIT_INDEX_64",
                    view->nnz);
  }
  return MERBIT_OK;
}

/* All that can be told without reading an array. */
static merbit_status mbi_view_check_header(merbit_context *context, const merbit_view *view) {
  const char *missing = NULL;
  merbit_status status;
  if (view == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the view is NULL");
  }
  status = mbi_view_check_kinds(context, view);
  if (status == MERBIT_OK) {
    status = mbi_view_check_sizes(context, view);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  if (view->format != MERBIT_COO && view->rows > 0 && view->row_ptr == NULL) {
    missing = "row_ptr";
  } else if (view->format == MERBIT_COO && view->nnz > 0 && view->row_ind == NULL) {
    missing = "row_ind";
  } else if (view->nnz > 0 && view->col_ind == NULL) {
    missing = "col_ind";
  }
  if (missing != NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "view.%s is NULL but the matrix has %" PRId64 " rows and %" PRId64
                    " entries",
                    missing, view->rows, view->nnz);
  }
  return MERBIT_OK;
}

typedef struct mbi_scan {
  const void *array;
  int64_t count;     /* entries to look at */
  int64_t base, end; /* each must lie in [base, end) */
  int ordered;       /* and not below its predecessor */
  int tasks;
  int64_t first[MBI_MAX_THREADS]; /* per task: its first bad entry, or count */
} mbi_scan;
/* Blocks are summed up without a branch, so that they vectorise; a bad one is searched again.
 * Unsigned differences see values below the base as huge. */
static void mbi_scan_task_i32(void *argument, int task) {
  mbi_scan *scan = (mbi_scan *)argument;
  const int32_t *array = (const int32_t *)scan->array;
  const uint32_t base = (uint32_t)scan->base;
  const uint32_t width = (uint32_t)(scan->end - scan->base);
  int64_t i = mbi_share(scan->count, scan->tasks, task);
  int64_t last = mbi_share(scan->count, scan->tasks, task + 1);
  scan->first[task] = scan->count;
  while (i < last) {
    int64_t start = i, stop = last - i > 1024 ? i + 1024 : last;
    unsigned bad = 0;
    for (; i < stop; i++) {
      bad |= (unsigned)((uint32_t)array[i] - base >= width);
    }
    for (i = start > 0 ? start : 1; scan->ordered && i < stop; i++) {
      bad |= (unsigned)(array[i] < array[i - 1]);
    }
    for (i = start; bad && i < stop; i++) {
      if ((uint32_t)array[i] - base >= width ||
          (scan->ordered && i > 0 && array[i] < array[i - 1])) {
        scan->first[task] = i;
        return;
      }
    }
    i = stop;
  }
}

/* Blocks are summed up without a branch, so that they vectorise; a bad one is searched again.
 * Unsigned differences see values below the base as huge. */
static void mbi_scan_task_i64(void *argument, int task) {
  mbi_scan *scan = (mbi_scan *)argument;
  const int64_t *array = (const int64_t *)scan->array;
  const uint64_t base = (uint64_t)scan->base;
  const uint64_t width = (uint64_t)(scan->end - scan->base);
  int64_t i = mbi_share(scan->count, scan->tasks, task);
  int64_t last = mbi_share(scan->count, scan->tasks, task + 1);
  scan->first[task] = scan->count;
  while (i < last) {
    int64_t start = i, stop = last - i > 1024 ? i + 1024 : last;
    unsigned bad = 0;
    for (; i < stop; i++) {
      bad |= (unsigned)((uint64_t)array[i] - base >= width);
    }
    for (i = start > 0 ? start : 1; scan->ordered && i < stop; i++) {
      bad |= (unsigned)(array[i] < array[i - 1]);
    }
    for (i = start; bad && i < stop; i++) {
      if ((uint64_t)array[i] - base >= width ||
          (scan->ordered && i > 0 && array[i] < array[i - 1])) {
        scan->first[task] = i;
        return;
      }
    }
    i = stop;
  }
}

/* The first of `count` entries outside [base, base + width) or, if `ordered`, below its
 * predecessor; `count` if there is none. */
static int64_t mbi_scan_array(merbit_context *context, const void *array,
                              merbit_index_type type, int64_t count, int base, int64_t width,
                              int ordered) {
  mbi_scan scan;
  int task;
  scan.array = array;
  scan.count = count;
  scan.base = base;
  scan.end = base + width;
  if (type == MERBIT_INDEX_32 && scan.end > (int64_t)INT32_MAX + 1) {
    scan.end = (int64_t)INT32_MAX + 1; /* no entry lies beyond; wider differences would wrap */
  }
  scan.ordered = ordered;
  scan.tasks = mbi_share_tasks(context, count);
  mbi_parallel(context, scan.tasks,
               type == MERBIT_INDEX_32 ? mbi_scan_task_i32 : mbi_scan_task_i64, &scan);
  for (task = 0; task < scan.tasks; task++) {
    if (scan.first[task] < count) {
      return scan.first[task];
    }
  }
  return count;
}

static merbit_status mbi_view_check_offsets(merbit_context *context, const merbit_view *view,
                                            int of_blocks) {
  int64_t rows = view->rows, end = view->base + view->nnz, bad, value, before;
  int64_t first = mbi_index_at(view->row_ptr, view->offset_type, 0);
  if (first != view->base) {
    return mbi_fail(context, MERBIT_INVALID_MATRIX, "row_ptr[0] is %" PRId64 " but base is %d",
                    first, view->base);
  }
  bad = mbi_scan_array(context, view->row_ptr, view->offset_type, rows + 1, view->base,
                       view->nnz + 1, 1);
  if (bad <= rows) {
    value = mbi_index_at(view->row_ptr, view->offset_type, bad);
    before = mbi_index_at(view->row_ptr, view->offset_type, bad - 1);
    if (value < before) {
      return mbi_fail(context, MERBIT_INVALID_MATRIX,
                      "row_ptr[%" PRId64 "] is %" PRId64 ", less than row_ptr[%" PRId64
                      "] = %" PRId64 ": %srow %" PRId64 " would have a negative length",
                      bad, value, bad - 1, before, of_blocks ? "block " : "", bad - 1);
    }
    if (bad < rows) {
      return mbi_fail(context, MERBIT_INVALID_MATRIX,
                      "row_ptr[%" PRId64 "] is %" PRId64 ", beyond the last offset, %" PRId64
                      ": nnz is %" PRId64 " (base %d)",
                      bad, value, end, view->nnz, view->base);
    }
  }
  value = mbi_index_at(view->row_ptr, view->offset_type, rows);
  if (value != end) {
    return mbi_fail(context, MERBIT_INVALID_MATRIX,
                    "row_ptr[%srows] is %" PRId64 " but nnz is %" PRId64
                    " (base %d: row_ptr[%" PRId64 "] must be %" PRId64 ")",
                    of_blocks ? "block " : "", value, view->nnz, view->base, rows, end);
  }
  return MERBIT_OK;
}

static merbit_status mbi_view_check_indices(merbit_context *context, const merbit_view *view,
                                            int of_rows, int of_blocks) {
  const void *array = of_rows ? view->row_ind : view->col_ind;
  int64_t width = of_rows ? view->rows : view->cols;
  int64_t bad =
      mbi_scan_array(context, array, view->index_type, view->nnz, view->base, width, 0);
  const char *const block = of_blocks ? "block " : "";
  char place[40] = "";
  if (bad == view->nnz) {
    return MERBIT_OK;
  }
  if (view->format == MERBIT_CSR) {
    (void)snprintf(place, sizeof place, " (%srow %" PRId64 ")", block, mbi_row_of(view, bad));
  }
  return mbi_fail(context, MERBIT_INVALID_MATRIX,
                  "%s[%" PRId64 "]%s is %" PRId64 " but the matrix has %" PRId64
                  " %s%s (base %d: use %d to %" PRId64 ")",
                  of_rows ? "row_ind" : "col_ind", bad, place,
                  mbi_index_at(array, view->index_type, bad), width, block,
                  of_rows ? "rows" : "columns", view->base, view->base, view->base + width - 1);
}

/* Every entry of a host view whose header holds. The sentence names the first bad entry,
 * whatever the number of threads; array positions and rows count from 0, values as they are
 * stored. */
static merbit_status mbi_view_check_arrays(merbit_context *context, const merbit_view *view) {
  const int of_blocks = view->format == MERBIT_BSR;
  const merbit_view frame = of_blocks ? mbi_block_frame(view) : *view;
  merbit_status status = MERBIT_OK;
  if (frame.format == MERBIT_CSR && frame.row_ptr != NULL) {
    status = mbi_view_check_offsets(context, &frame, of_blocks);
  } else if (frame.format == MERBIT_COO) {
    status = mbi_view_check_indices(context, &frame, 1, 0);
  }
  return status == MERBIT_OK ? mbi_view_check_indices(context, &frame, 0, of_blocks) : status;
}

/* *host: the view, or a copy of its device arrays, with header and arrays checked. After success
 * mbi_view_from_host gives it back. */
static merbit_status mbi_view_to_host(merbit_context *context, const merbit_view *view,
                                      merbit_view *host) {
  merbit_status status = mbi_view_check_header(context, view);
  if (status != MERBIT_OK) {
    return status;
  }
  *host = *view;
  if (view->memory == MERBIT_MEMORY_DEVICE) {
    status = mbi_view_download(context, view, host);
  }
  if (status == MERBIT_OK) {
    status = mbi_view_check_arrays(context, host);
  }
  if (status != MERBIT_OK && view->memory == MERBIT_MEMORY_DEVICE) {
    mbi_host_view_release(context, host);
  }
  return status;
}

static void mbi_view_from_host(merbit_context *context, const merbit_view *view,
                               merbit_view *host) {
  if (view->memory == MERBIT_MEMORY_DEVICE) {
    mbi_host_view_release(context, host);
  }
}

MERBIT_API merbit_status merbit_view_check(merbit_context *context, const merbit_view *view) {
  merbit_view host;
  merbit_status status;
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  status = mbi_view_to_host(context, view, &host);
  if (status == MERBIT_OK) {
    mbi_view_from_host(context, view, &host);
  }
  return status;
}

/* ==== >>matrix/build.c  any host view to sorted CSR without duplicates ==================== */
/* Any host view becomes CSR in three steps: group the entries by row (a stable counting sort,
 * unless they come grouped), sort each row by column (stable, only rows that need it), add up
 * duplicates. */

#define MBI_SHORT_ROW 32 /* up to here: insertion sort; longer rows: radix sort by bytes */

typedef struct mbi_build {
  merbit_context *context;
  const merbit_view *from;
  const void *major, *minor; /* index arrays that become rows and columns, where there are */
  int walk;                /* transposed CSR: the column of an entry is the row it stands in */
  merbit_view to;          /* CSR, base 0; 64-bit offsets until the end */
  int64_t *row_ptr;        /* the arrays of `to` */
  int32_t *narrow_row_ptr; /* takes the place of row_ptr at the end */
  int32_t *col_ind;
  void *values;
  int tasks;
  void *cursors; /* per task and row: where the next entry goes; 32 bits if they do */
  void *scratch; /* of the radix sort: values, then columns */
  int32_t *scratch_columns;
  int64_t longest[MBI_MAX_THREADS]; /* per task: its longest row out of order */
  int duplicates[MBI_MAX_THREADS];  /* per task: has it met some */
} mbi_build;

static int64_t mbi_build_row(const mbi_build *build, int64_t entry) {
  return mbi_index_at(build->major, build->from->index_type, entry) - build->from->base;
}

static void mbi_build_put_value(const mbi_build *build, int64_t at, int64_t entry) {
  if (build->values == NULL) {
    return;
  }
  if (build->to.value_type == MERBIT_F32) {
    ((float *)build->values)[at] = ((const float *)build->from->values)[entry];
  } else {
    ((double *)build->values)[at] = ((const double *)build->from->values)[entry];
  }
}

/* ---- Step 1: group by row ---- */

/* COO whose rows come in order needs no sort. Returns 0 at the first one that does not. */
static int mbi_build_rows_in_order(mbi_build *build) {
  int64_t row = 0, entry;
  for (entry = 0; entry < build->to.nnz; entry++) {
    int64_t next = mbi_build_row(build, entry);
    if (next < row - 1) {
      return 0;
    }
    while (row <= next) {
      build->row_ptr[row++] = entry;
    }
  }
  while (row <= build->to.rows) {
    build->row_ptr[row++] = build->to.nnz;
  }
  return 1;
}

static void mbi_build_copy_task(void *argument, int task) {
  const mbi_build *build = (const mbi_build *)argument;
  int64_t first = mbi_share(build->to.nnz, build->tasks, task);
  int64_t last = mbi_share(build->to.nnz, build->tasks, task + 1), i;
  size_t size = mbi_type_size(build->to.value_type);
  for (i = first; i < last; i++) {
    build->col_ind[i] =
        (int32_t)(mbi_index_at(build->minor, build->from->index_type, i) - build->from->base);
  }
  if (build->values != NULL) {
    memcpy((char *)build->values + (size_t)first * size,
           (const char *)build->from->values + (size_t)first * size,
           (size_t)(last - first) * size);
  }
}
static void mbi_build_count_i32(void *argument, int task) {
  const mbi_build *build = (const mbi_build *)argument;
  int32_t *cursors = (int32_t *)build->cursors + task * build->to.rows;
  int64_t last = mbi_share(build->to.nnz, build->tasks, task + 1), i;
  for (i = 0; i < build->to.rows; i++) {
    cursors[i] = 0;
  }
  for (i = mbi_share(build->to.nnz, build->tasks, task); i < last; i++) {
    cursors[mbi_build_row(build, i)]++;
  }
}

/* Counts become starts: row by row, within a row the tasks in order, which keeps the sort
 * stable. */
static void mbi_build_place_i32(mbi_build *build) {
  int32_t *cursors = (int32_t *)build->cursors;
  int64_t rows = build->to.rows, row;
  int32_t at = 0;
  int task;
  for (row = 0; row < rows; row++) {
    build->row_ptr[row] = at;
    for (task = 0; task < build->tasks; task++) {
      int32_t count = cursors[task * rows + row];
      cursors[task * rows + row] = at;
      at += count;
    }
  }
  build->row_ptr[rows] = at;
}

static void mbi_build_scatter_i32(void *argument, int task) {
  const mbi_build *build = (const mbi_build *)argument;
  const merbit_view *from = build->from;
  int32_t *cursors = (int32_t *)build->cursors + task * build->to.rows;
  int64_t i = mbi_share(build->to.nnz, build->tasks, task);
  int64_t last = mbi_share(build->to.nnz, build->tasks, task + 1);
  int64_t column = 0, column_end = 0;
  if (build->walk && i < last) {
    column = mbi_row_of(from, i);
    column_end = mbi_index_at(from->row_ptr, from->offset_type, column + 1) - from->base;
  }
  for (; i < last; i++) {
    int64_t at = cursors[mbi_build_row(build, i)]++;
    if (!build->walk) {
      column = mbi_index_at(build->minor, from->index_type, i) - from->base;
    }
    while (build->walk && i >= column_end) {
      column++;
      column_end = mbi_index_at(from->row_ptr, from->offset_type, column + 1) - from->base;
    }
    build->col_ind[at] = (int32_t)column;
    mbi_build_put_value(build, at, i);
  }
}

static void mbi_build_count_i64(void *argument, int task) {
  const mbi_build *build = (const mbi_build *)argument;
  int64_t *cursors = (int64_t *)build->cursors + task * build->to.rows;
  int64_t last = mbi_share(build->to.nnz, build->tasks, task + 1), i;
  for (i = 0; i < build->to.rows; i++) {
    cursors[i] = 0;
  }
  for (i = mbi_share(build->to.nnz, build->tasks, task); i < last; i++) {
    cursors[mbi_build_row(build, i)]++;
  }
}

/* Counts become starts: row by row, within a row the tasks in order, which keeps the sort
 * stable. */
static void mbi_build_place_i64(mbi_build *build) {
  int64_t *cursors = (int64_t *)build->cursors;
  int64_t rows = build->to.rows, row;
  int64_t at = 0;
  int task;
  for (row = 0; row < rows; row++) {
    build->row_ptr[row] = at;
    for (task = 0; task < build->tasks; task++) {
      int64_t count = cursors[task * rows + row];
      cursors[task * rows + row] = at;
      at += count;
    }
  }
  build->row_ptr[rows] = at;
}

static void mbi_build_scatter_i64(void *argument, int task) {
  const mbi_build *build = (const mbi_build *)argument;
  const merbit_view *from = build->from;
  int64_t *cursors = (int64_t *)build->cursors + task * build->to.rows;
  int64_t i = mbi_share(build->to.nnz, build->tasks, task);
  int64_t last = mbi_share(build->to.nnz, build->tasks, task + 1);
  int64_t column = 0, column_end = 0;
  if (build->walk && i < last) {
    column = mbi_row_of(from, i);
    column_end = mbi_index_at(from->row_ptr, from->offset_type, column + 1) - from->base;
  }
  for (; i < last; i++) {
    int64_t at = cursors[mbi_build_row(build, i)]++;
    if (!build->walk) {
      column = mbi_index_at(build->minor, from->index_type, i) - from->base;
    }
    while (build->walk && i >= column_end) {
      column++;
      column_end = mbi_index_at(from->row_ptr, from->offset_type, column + 1) - from->base;
    }
    build->col_ind[at] = (int32_t)column;
    mbi_build_put_value(build, at, i);
  }
}

static merbit_status mbi_build_bucket(mbi_build *build) {
  int64_t rows = build->to.rows, affordable = build->to.nnz / (rows > 0 ? rows : 1);
  int narrow = build->to.nnz <= INT32_MAX;
  merbit_status status;
  /* Cursors of one task, or no more of them than there are entries. */
  build->tasks = mbi_share_tasks(build->context, build->to.nnz);
  if (build->tasks > affordable) {
    build->tasks = affordable > 1 ? (int)affordable : 1;
  }
  status = mbi_allocate_array(
      build->context, rows, (size_t)build->tasks * (narrow ? sizeof(int32_t) : sizeof(int64_t)),
      "the cursors of a sort by rows", &build->cursors);
  if (status != MERBIT_OK) {
    return status;
  }
  mbi_parallel(build->context, build->tasks, narrow ? mbi_build_count_i32 : mbi_build_count_i64,
               build);
  if (narrow) {
    mbi_build_place_i32(build);
  } else {
    mbi_build_place_i64(build);
  }
  mbi_parallel(build->context, build->tasks,
               narrow ? mbi_build_scatter_i32 : mbi_build_scatter_i64, build);
  mbi_release(build->context, build->cursors);
  return MERBIT_OK;
}

static merbit_status mbi_build_group(mbi_build *build) {
  const merbit_view *from = build->from;
  int64_t row;
  if (from->format == MERBIT_CSR && !build->walk) {
    build->row_ptr[0] = 0;
    for (row = 1; row <= from->rows; row++) {
      build->row_ptr[row] = mbi_index_at(from->row_ptr, from->offset_type, row) - from->base;
    }
  } else if (build->walk || !mbi_build_rows_in_order(build)) {
    return mbi_build_bucket(build);
  }
  build->tasks = mbi_share_tasks(build->context, build->to.nnz);
  mbi_parallel(build->context, build->tasks, mbi_build_copy_task, build);
  return MERBIT_OK;
}

/* ---- Step 2: sort each row by column ---- */
static void mbi_row_insertion_f64(int32_t *columns, double *values, int64_t length) {
  int64_t i, j;
  for (i = 1; i < length; i++) {
    int32_t column = columns[i];
    double value = values != NULL ? values[i] : 0;
    for (j = i; j > 0 && columns[j - 1] > column; j--) {
      columns[j] = columns[j - 1];
      if (values != NULL) {
        values[j] = values[j - 1];
      }
    }
    columns[j] = column;
    if (values != NULL) {
      values[j] = value;
    }
  }
}

/* Least significant byte first, for columns below `cols`; the spare arrays hold a row each. */
static void mbi_row_radix_f64(int32_t *columns, double *values, int64_t length,
                                         int64_t cols, int32_t *spare_columns,
                                         double *spare_values) {
  int32_t *in = columns, *out = spare_columns, *other;
  double *values_in = values, *values_out = spare_values, *values_other;
  int64_t starts[256], i;
  int shift, byte;
  for (shift = 0; shift < 32 && (cols - 1) >> shift > 0; shift += 8) {
    int64_t at = 0;
    memset(starts, 0, sizeof starts);
    for (i = 0; i < length; i++) {
      starts[(in[i] >> shift) & 255]++;
    }
    for (byte = 0; byte < 256; byte++) {
      int64_t count = starts[byte];
      starts[byte] = at;
      at += count;
    }
    for (i = 0; i < length; i++) {
      at = starts[(in[i] >> shift) & 255]++;
      out[at] = in[i];
      if (values != NULL) {
        values_out[at] = values_in[i];
      }
    }
    other = in;
    in = out;
    out = other;
    values_other = values_in;
    values_in = values_out;
    values_out = values_other;
  }
  if (in != columns) {
    memcpy(columns, in, (size_t)length * sizeof *columns);
    if (values != NULL) {
      memcpy(values, values_in, (size_t)length * sizeof *values);
    }
  }
}

static void mbi_row_insertion_f32(int32_t *columns, float *values, int64_t length) {
  int64_t i, j;
  for (i = 1; i < length; i++) {
    int32_t column = columns[i];
    float value = values != NULL ? values[i] : 0;
    for (j = i; j > 0 && columns[j - 1] > column; j--) {
      columns[j] = columns[j - 1];
      if (values != NULL) {
        values[j] = values[j - 1];
      }
    }
    columns[j] = column;
    if (values != NULL) {
      values[j] = value;
    }
  }
}

/* Least significant byte first, for columns below `cols`; the spare arrays hold a row each. */
static void mbi_row_radix_f32(int32_t *columns, float *values, int64_t length,
                                         int64_t cols, int32_t *spare_columns,
                                         float *spare_values) {
  int32_t *in = columns, *out = spare_columns, *other;
  float *values_in = values, *values_out = spare_values, *values_other;
  int64_t starts[256], i;
  int shift, byte;
  for (shift = 0; shift < 32 && (cols - 1) >> shift > 0; shift += 8) {
    int64_t at = 0;
    memset(starts, 0, sizeof starts);
    for (i = 0; i < length; i++) {
      starts[(in[i] >> shift) & 255]++;
    }
    for (byte = 0; byte < 256; byte++) {
      int64_t count = starts[byte];
      starts[byte] = at;
      at += count;
    }
    for (i = 0; i < length; i++) {
      at = starts[(in[i] >> shift) & 255]++;
      out[at] = in[i];
      if (values != NULL) {
        values_out[at] = values_in[i];
      }
    }
    other = in;
    in = out;
    out = other;
    values_other = values_in;
    values_in = values_out;
    values_out = values_other;
  }
  if (in != columns) {
    memcpy(columns, in, (size_t)length * sizeof *columns);
    if (values != NULL) {
      memcpy(values, values_in, (size_t)length * sizeof *values);
    }
  }
}

/* -1: columns out of order somewhere; 0: ascending, with duplicates; 1: strictly ascending. */
static int mbi_row_order(const int32_t *columns, int64_t length) {
  int64_t i;
  int order = 1;
  for (i = 1; i < length; i++) {
    if (columns[i] <= columns[i - 1]) {
      if (columns[i] < columns[i - 1]) {
        return -1;
      }
      order = 0;
    }
  }
  return order;
}

static void mbi_build_look_task(void *argument, int task) {
  mbi_build *build = (mbi_build *)argument;
  int64_t row = mbi_share_rows(&build->to, build->tasks, task);
  const int64_t last = mbi_share_rows(&build->to, build->tasks, task + 1);
  int64_t longest = 0;
  int duplicates = 0;
  for (; row < last; row++) {
    int64_t length = build->row_ptr[row + 1] - build->row_ptr[row];
    int order = mbi_row_order(build->col_ind + build->row_ptr[row], length);
    if (order < 0 && length > longest) {
      longest = length;
    }
    duplicates |= order == 0;
  }
  build->longest[task] = longest;
  build->duplicates[task] = duplicates;
}

/* `before`: scratch entries of the tasks in front. */
static void mbi_build_sort_row(const mbi_build *build, int64_t row, int64_t before) {
  int64_t start = build->row_ptr[row], length = build->row_ptr[row + 1] - start;
  int32_t *columns = build->col_ind + start, *spare_columns = build->scratch_columns + before;
  if (build->to.value_type == MERBIT_F32) {
    float *values = build->values != NULL ? (float *)build->values + start : NULL;
    if (length <= MBI_SHORT_ROW) {
      mbi_row_insertion_f32(columns, values, length);
    } else {
      mbi_row_radix_f32(columns, values, length, build->to.cols, spare_columns,
                        (float *)build->scratch + before);
    }
  } else {
    double *values = build->values != NULL ? (double *)build->values + start : NULL;
    if (length <= MBI_SHORT_ROW) {
      mbi_row_insertion_f64(columns, values, length);
    } else {
      mbi_row_radix_f64(columns, values, length, build->to.cols, spare_columns,
                        (double *)build->scratch + before);
    }
  }
}

static void mbi_build_sort_task(void *argument, int task) {
  mbi_build *build = (mbi_build *)argument;
  int64_t row = mbi_share_rows(&build->to, build->tasks, task);
  const int64_t last = mbi_share_rows(&build->to, build->tasks, task + 1);
  int64_t before = 0;
  int i;
  for (i = 0; i < task; i++) {
    before += build->longest[i];
  }
  for (; build->longest[task] > 0 && row < last; row++) {
    const int32_t *columns = build->col_ind + build->row_ptr[row];
    int64_t length = build->row_ptr[row + 1] - build->row_ptr[row];
    if (mbi_row_order(columns, length) < 0) {
      mbi_build_sort_row(build, row, before);
      build->duplicates[task] |= mbi_row_order(columns, length) == 0;
    }
  }
}

static merbit_status mbi_build_sort(mbi_build *build) {
  size_t size = mbi_type_size(build->to.value_type);
  int64_t spare = 0;
  int task;
  merbit_status status;
  build->tasks = mbi_share_tasks(build->context, build->to.nnz);
  mbi_parallel(build->context, build->tasks, mbi_build_look_task, build);
  for (task = 0; task < build->tasks; task++) {
    spare += build->longest[task];
  }
  if (spare == 0) {
    return MERBIT_OK;
  }
  status = mbi_allocate_array(build->context, spare, size + sizeof(int32_t),
                              "the scratch of a sort by columns", &build->scratch);
  if (status != MERBIT_OK) {
    return status;
  }
  build->scratch_columns = (int32_t *)(void *)((char *)build->scratch + (size_t)spare * size);
  mbi_parallel(build->context, build->tasks, mbi_build_sort_task, build);
  mbi_release(build->context, build->scratch);
  return MERBIT_OK;
}

/* ---- Step 3: add up duplicates ---- */
/* Rows move forward in place: writing never overtakes reading. */
static void mbi_build_merge_f64(mbi_build *build) {
  double *values = (double *)build->values;
  int64_t row, at = 0, i = 0;
  for (row = 0; row < build->to.rows; row++) {
    int64_t first = at, end = build->row_ptr[row + 1];
    for (; i < end; i++) {
      if (at > first && build->col_ind[at - 1] == build->col_ind[i]) {
        values[at - 1] += values[i];
      } else {
        build->col_ind[at] = build->col_ind[i];
        values[at++] = values[i];
      }
    }
    build->row_ptr[row + 1] = at;
  }
  build->to.nnz = at;
}

static void mbi_build_ones_f64(double *values, int64_t count) {
  int64_t i;
  for (i = 0; i < count; i++) {
    values[i] = 1;
  }
}

/* Rows move forward in place: writing never overtakes reading. */
static void mbi_build_merge_f32(mbi_build *build) {
  float *values = (float *)build->values;
  int64_t row, at = 0, i = 0;
  for (row = 0; row < build->to.rows; row++) {
    int64_t first = at, end = build->row_ptr[row + 1];
    for (; i < end; i++) {
      if (at > first && build->col_ind[at - 1] == build->col_ind[i]) {
        values[at - 1] += values[i];
      } else {
        build->col_ind[at] = build->col_ind[i];
        values[at++] = values[i];
      }
    }
    build->row_ptr[row + 1] = at;
  }
  build->to.nnz = at;
}

static void mbi_build_ones_f32(float *values, int64_t count) {
  int64_t i;
  for (i = 0; i < count; i++) {
    values[i] = 1;
  }
}

static merbit_status mbi_build_merge(mbi_build *build) {
  int task, duplicates = 0, single = build->to.value_type == MERBIT_F32;
  merbit_status status;
  for (task = 0; task < build->tasks; task++) {
    duplicates |= build->duplicates[task];
  }
  if (!duplicates) {
    return MERBIT_OK;
  }
  if (build->values == NULL) { /* duplicates of a pattern count, and so become numbers */
    status =
        mbi_allocate_array(build->context, build->to.nnz, mbi_type_size(build->to.value_type),
                           "the values of a matrix", &build->values);
    if (status != MERBIT_OK) {
      return status;
    }
    if (single) {
      mbi_build_ones_f32((float *)build->values, build->to.nnz);
    } else {
      mbi_build_ones_f64((double *)build->values, build->to.nnz);
    }
  }
  if (single) {
    mbi_build_merge_f32(build);
  } else {
    mbi_build_merge_f64(build);
  }
  return MERBIT_OK;
}

/* ==== >>matrix/expand.c  blocks to CSR ==================================================== */
/* Blocks become the entries of a CSR, all that lie inside the matrix, in the order of the
 * blocks. The parts of the threads are whole block rows. */

typedef struct mbi_expand {
  const merbit_view *bsr;
  merbit_view frame;
  int64_t *row_ptr;
  int32_t *col_ind;
  void *values;
  int tasks;
} mbi_expand;

/* Rows, or columns, of a block that lie inside the matrix. */
static int mbi_block_inside(int64_t count, int size, int64_t block) {
  const int64_t left = count - block * size;
  return left < size ? (int)left : size;
}

/* Of a block's value: row-major or column-major strides. */
static int mbi_block_row_stride(const merbit_view *bsr) {
  return bsr->block_order == MERBIT_BLOCK_ROW_MAJOR ? bsr->block_cols : 1;
}

static int mbi_block_column_stride(const merbit_view *bsr) {
  return bsr->block_order == MERBIT_BLOCK_ROW_MAJOR ? 1 : bsr->block_rows;
}

/* Offset of a block row's first block. */
static int64_t mbi_block_start(const merbit_view *bsr, int64_t block_row) {
  return mbi_index_at(bsr->row_ptr, bsr->offset_type, block_row) - bsr->base;
}

static int64_t mbi_block_column(const merbit_view *bsr, int64_t block) {
  return mbi_index_at(bsr->col_ind, bsr->index_type, block) - bsr->base;
}

/* Every row's length, behind its place in row_ptr. */
static void mbi_expand_count(void *argument, int task) {
  const mbi_expand *e = (const mbi_expand *)argument;
  const merbit_view *bsr = e->bsr;
  int64_t row = mbi_share_rows(&e->frame, e->tasks, task);
  const int64_t last = mbi_share_rows(&e->frame, e->tasks, task + 1);
  for (; row < last; row++) {
    const int inside = mbi_block_inside(bsr->rows, bsr->block_rows, row);
    const int64_t end = mbi_block_start(bsr, row + 1);
    int64_t length = 0, block = mbi_block_start(bsr, row);
    int r;
    for (; block < end; block++) {
      length += mbi_block_inside(bsr->cols, bsr->block_cols, mbi_block_column(bsr, block));
    }
    for (r = 0; r < inside; r++) {
      e->row_ptr[row * bsr->block_rows + r + 1] = length;
    }
  }
}

/* One row of every block of a block row. */
static void mbi_expand_row_f64(const mbi_expand *e, int64_t block_row, int r) {
  const merbit_view *bsr = e->bsr;
  const int64_t size = (int64_t)bsr->block_rows * bsr->block_cols;
  const int64_t end = mbi_block_start(bsr, block_row + 1);
  const int stride = mbi_block_column_stride(bsr);
  int64_t at = e->row_ptr[block_row * bsr->block_rows + r];
  int64_t block = mbi_block_start(bsr, block_row);
  for (; block < end; block++) {
    const int64_t column = mbi_block_column(bsr, block);
    const int inside = mbi_block_inside(bsr->cols, bsr->block_cols, column);
    int c;
    for (c = 0; c < inside; c++) {
      e->col_ind[at + c] = (int32_t)(column * bsr->block_cols + c);
    }
    if (e->values != NULL) {
      const double *from =
          (const double *)bsr->values + block * size + r * mbi_block_row_stride(bsr);
      for (c = 0; c < inside; c++) {
        ((double *)e->values)[at + c] = from[c * stride];
      }
    }
    at += inside;
  }
}

/* One row of every block of a block row. */
static void mbi_expand_row_f32(const mbi_expand *e, int64_t block_row, int r) {
  const merbit_view *bsr = e->bsr;
  const int64_t size = (int64_t)bsr->block_rows * bsr->block_cols;
  const int64_t end = mbi_block_start(bsr, block_row + 1);
  const int stride = mbi_block_column_stride(bsr);
  int64_t at = e->row_ptr[block_row * bsr->block_rows + r];
  int64_t block = mbi_block_start(bsr, block_row);
  for (; block < end; block++) {
    const int64_t column = mbi_block_column(bsr, block);
    const int inside = mbi_block_inside(bsr->cols, bsr->block_cols, column);
    int c;
    for (c = 0; c < inside; c++) {
      e->col_ind[at + c] = (int32_t)(column * bsr->block_cols + c);
    }
    if (e->values != NULL) {
      const float *from =
          (const float *)bsr->values + block * size + r * mbi_block_row_stride(bsr);
      for (c = 0; c < inside; c++) {
        ((float *)e->values)[at + c] = from[c * stride];
      }
    }
    at += inside;
  }
}

static void mbi_expand_fill(void *argument, int task) {
  const mbi_expand *e = (const mbi_expand *)argument;
  const merbit_view *bsr = e->bsr;
  int64_t row = mbi_share_rows(&e->frame, e->tasks, task);
  const int64_t last = mbi_share_rows(&e->frame, e->tasks, task + 1);
  for (; row < last; row++) {
    const int inside = mbi_block_inside(bsr->rows, bsr->block_rows, row);
    int r;
    for (r = 0; r < inside; r++) {
      if (bsr->value_type == MERBIT_F32) {
        mbi_expand_row_f32(e, row, r);
      } else {
        mbi_expand_row_f64(e, row, r);
      }
    }
  }
}

static merbit_status mbi_expand_allocate(merbit_context *context, mbi_expand *e,
                                         merbit_view *csr) {
  void *memory;
  int64_t row;
  merbit_status status = mbi_allocate_array(context, csr->rows + 1, sizeof(int64_t),
                                            "the row offsets of a matrix", &memory);
  if (status != MERBIT_OK) {
    return status;
  }
  csr->row_ptr = memory;
  e->row_ptr = (int64_t *)memory;
  e->row_ptr[0] = 0;
  mbi_parallel(context, e->tasks, mbi_expand_count, e);
  for (row = 0; row < csr->rows; row++) {
    e->row_ptr[row + 1] += e->row_ptr[row];
  }
  csr->nnz = e->row_ptr[csr->rows];
  status = mbi_allocate_array(context, csr->nnz, sizeof(int32_t), "the columns of a matrix",
                              &memory);
  csr->col_ind = memory;
  e->col_ind = (int32_t *)memory;
  if (status == MERBIT_OK && e->bsr->values != NULL) {
    status = mbi_allocate_array(context, csr->nnz, mbi_type_size(csr->value_type),
                                "the values of a matrix", &e->values);
    csr->values = e->values;
  }
  return status;
}

/* *csr: the entries of a checked host BSR view, by rows, not sorted. mbi_host_view_release
 * frees it, after a failure too. */
static merbit_status mbi_expand_blocks(merbit_context *context, const merbit_view *bsr,
                                       merbit_view *csr) {
  const int64_t size = (int64_t)bsr->block_rows * bsr->block_cols;
  mbi_expand e;
  merbit_status status;
  memset(&e, 0, sizeof e);
  e.bsr = bsr;
  e.frame = mbi_block_frame(bsr);
  e.tasks = mbi_share_tasks(context, bsr->nnz * size);
  memset(csr, 0, sizeof *csr);
  csr->format = MERBIT_CSR;
  csr->value_type = bsr->value_type;
  csr->offset_type = MERBIT_INDEX_64;
  csr->memory = MERBIT_MEMORY_HOST;
  csr->rows = bsr->rows;
  csr->cols = bsr->cols;
  status = mbi_expand_allocate(context, &e, csr);
  if (status == MERBIT_OK) {
    mbi_parallel(context, e.tasks, mbi_expand_fill, &e);
  }
  return status;
}

/* ==== >>matrix/blocks.c  CSR to blocks ==================================================== */
/* A CSR whose rows ascend strictly becomes blocks in two passes over its block rows: one
 * counts, one fills. The rows of a block row walk together: the least column that none of them
 * has passed names the next block. */

/* Blocks in host memory, as a product reads them. */
typedef struct mbi_bsr {
  merbit_view view;      /* MERBIT_BSR */
  const uint64_t *masks; /* mask_words for each block: bit k says that its k-th value is an
                            entry; NULL: all that lie inside the matrix are */
  int mask_words;        /* 0 without masks */
  int64_t entries;       /* of the matrix */
  void *memory;          /* that holds what is not the user's */
} mbi_bsr;

/* What is no entry becomes a zero, and with masks that is told; where a product reads them they
 * count among the bytes that a shape moves. */
enum { MBI_MASKS_NONE, MBI_MASKS_ASIDE, MBI_MASKS_READ };

static merbit_status mbi_matrix_from_view(merbit_context *context, const merbit_view *view,
                                          int transpose, merbit_matrix **matrix);

static void mbi_bsr_release(merbit_context *context, mbi_bsr *bsr) {
  mbi_release(context, bsr->memory);
  memset(bsr, 0, sizeof *bsr);
}

/* ---- Rows in order ---------------------------------------------------------------- */

typedef struct mbi_ascent {
  const merbit_view *csr;
  int tasks;
  int broken[MBI_MAX_THREADS]; /* per task: a row that does not ascend strictly */
} mbi_ascent;

static void mbi_ascent_task(void *argument, int task) {
  mbi_ascent *a = (mbi_ascent *)argument;
  const merbit_view *csr = a->csr;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t row = mbi_share_rows(csr, a->tasks, task);
  const int64_t last = mbi_share_rows(csr, a->tasks, task + 1);
  int broken = 0;
  for (; row < last && !broken; row++) {
    const int64_t start = mbi_block_start(csr, row);
    broken = mbi_row_order(col_ind + start, mbi_block_start(csr, row + 1) - start) != 1;
  }
  a->broken[task] = broken;
}

static int mbi_view_ascends(merbit_context *context, const merbit_view *view) {
  mbi_ascent a;
  int task, broken = 0;
  if (view->format != MERBIT_CSR || view->index_type != MERBIT_INDEX_32) {
    return 0;
  }
  if (view->nnz == 0) {
    return 1;
  }
  a.csr = view;
  a.tasks = mbi_share_tasks(context, view->nnz);
  mbi_parallel(context, a.tasks, mbi_ascent_task, &a);
  for (task = 0; task < a.tasks; task++) {
    broken |= a.broken[task];
  }
  return !broken;
}

/* *csr: the entries of a checked host view as a CSR whose rows ascend strictly, the view itself
 * or *made's, which the caller destroys. */
static merbit_status mbi_blocks_source(merbit_context *context, const merbit_view *view,
                                       merbit_view *csr, merbit_matrix **made) {
  merbit_status status = MERBIT_OK;
  *made = NULL;
  *csr = *view;
  if (!mbi_view_ascends(context, view)) {
    status = mbi_matrix_from_view(context, view, 0, made);
    if (status == MERBIT_OK) {
      *csr = (*made)->view;
    }
  }
  csr->value_type = mbi_view_type(csr);
  return status;
}

/* ---- The walk --------------------------------------------------------------------- */

#define MBI_STRIP_END UINT32_MAX /* beyond every column */

typedef struct mbi_strip { /* the rows of one block row on their way */
  const int32_t *col_ind;
  int rows, base;
  uint32_t next[MBI_BLOCK_MOST]; /* the column where each stands, counted from 0 */
  int64_t at[MBI_BLOCK_MOST], end[MBI_BLOCK_MOST];
} mbi_strip;

static void mbi_strip_look(mbi_strip *s, int r) {
  s->next[r] =
      s->at[r] < s->end[r] ? (uint32_t)s->col_ind[s->at[r]] - (uint32_t)s->base : MBI_STRIP_END;
}

static void mbi_strip_start(mbi_strip *s, const merbit_view *csr, int size, int64_t block_row) {
  const int64_t first = block_row * size;
  int r;
  s->col_ind = (const int32_t *)csr->col_ind;
  s->base = csr->base;
  s->rows = mbi_block_inside(csr->rows, size, block_row);
  s->at[0] = mbi_block_start(csr, first);
  for (r = 0; r < s->rows; r++) {
    s->end[r] = mbi_block_start(csr, first + r + 1);
    if (r > 0) {
      s->at[r] = s->end[r - 1];
    }
    mbi_strip_look(s, r);
  }
}

/* Past the columns below `limit`. */
static void mbi_strip_pass(mbi_strip *s, int r, uint32_t limit) {
  const int64_t end = s->end[r];
  const uint32_t base = (uint32_t)s->base;
  int64_t at = s->at[r];
  uint32_t column = s->next[r];
  while (column < limit) {
    at++;
    column = at < end ? (uint32_t)s->col_ind[at] - base : MBI_STRIP_END;
  }
  s->at[r] = at;
  s->next[r] = column;
}

static uint32_t mbi_strip_least(const mbi_strip *s) {
  uint32_t least = MBI_STRIP_END;
  int r;
  for (r = 0; r < s->rows; r++) {
    least = s->next[r] < least ? s->next[r] : least;
  }
  return least;
}

/* ---- Passes ----------------------------------------------------------------------- */

typedef struct mbi_blocking {
  const merbit_view *csr;
  mbi_bsr *bsr;
  int tasks;
  int64_t
      blocks[MBI_MAX_THREADS]; /* per task; before the second pass: where its first one goes */
  int64_t inside[MBI_MAX_THREADS]; /* per task: values inside the matrix */
} mbi_blocking;

/* Block rows are dealt by the entries of the CSR. */
static int64_t mbi_blocking_row(const mbi_blocking *b, int task) {
  const int size = b->bsr->view.block_rows;
  return task == b->tasks ? mbi_block_count(b->csr->rows, size)
                          : mbi_share_rows(b->csr, b->tasks, task) / size;
}

/* Blocks of height x width in the block rows [row, last), which is returned; *inside: the
 * values inside the matrix that they hold. */
static int64_t mbi_blocks_count(const merbit_view *csr, int height, int width, int64_t row,
                                int64_t last, int64_t *inside) {
  int64_t blocks = 0;
  mbi_strip s;
  *inside = 0;
  for (; row < last; row++) {
    uint32_t least;
    mbi_strip_start(&s, csr, height, row);
    for (least = mbi_strip_least(&s); least != MBI_STRIP_END; least = mbi_strip_least(&s)) {
      const uint32_t column = least / (uint32_t)width, limit = (column + 1) * (uint32_t)width;
      int r;
      blocks++;
      *inside += s.rows * mbi_block_inside(csr->cols, width, column);
      for (r = 0; r < s.rows; r++) {
        mbi_strip_pass(&s, r, limit);
      }
    }
  }
  return blocks;
}

static void mbi_blocking_count_task(void *argument, int task) {
  mbi_blocking *b = (mbi_blocking *)argument;
  b->blocks[task] = mbi_blocks_count(b->csr, b->bsr->view.block_rows, b->bsr->view.block_cols,
                                     mbi_blocking_row(b, task), mbi_blocking_row(b, task + 1),
                                     &b->inside[task]);
}

/* Sets the view's nnz and returns how many values of the blocks lie inside the matrix. */
static int64_t mbi_blocking_count(merbit_context *context, mbi_blocking *b) {
  int64_t inside = 0, blocks = 0;
  int task;
  b->tasks = mbi_share_tasks(context, b->csr->nnz);
  mbi_parallel(context, b->tasks, mbi_blocking_count_task, b);
  for (task = 0; task < b->tasks; task++) {
    const int64_t count = b->blocks[task];
    b->blocks[task] = blocks;
    blocks += count;
    inside += b->inside[task];
  }
  b->bsr->view.nnz = blocks;
  return inside;
}

/* A row's entries below `limit` go to a block, whose first column, value and mask are given. */
static void mbi_blocking_put_f64(const mbi_blocking *b, mbi_strip *s, int r,
                                            uint32_t first, uint32_t limit, double *values,
                                            uint64_t *mask) {
  const merbit_view *to = &b->bsr->view;
  const uint32_t row = (uint32_t)(r * mbi_block_row_stride(to));
  const uint32_t stride = (uint32_t)mbi_block_column_stride(to);
  const uint32_t base = (uint32_t)s->base;
  const int32_t *col_ind = s->col_ind;
  const double *from = (const double *)b->csr->values;
  const int64_t end = s->end[r];
  int64_t at = s->at[r];
  uint32_t column = s->next[r];
  while (column < limit) {
    const uint32_t k = row + (column - first) * stride;
    if (values != NULL) {
      values[k] = from != NULL ? from[at] : 1;
    }
    if (mask != NULL) {
      mask[k / 64] |= (uint64_t)1 << k % 64;
    }
    at++;
    column = at < end ? (uint32_t)col_ind[at] - base : MBI_STRIP_END;
  }
  s->at[r] = at;
  s->next[r] = column;
}

static void mbi_blocking_take_f64(const mbi_blocking *b, mbi_strip *s,
                                             uint32_t column, int64_t block) {
  const merbit_view *to = &b->bsr->view;
  const uint32_t first = column * (uint32_t)to->block_cols;
  const size_t size = (size_t)to->block_rows * (size_t)to->block_cols;
  double *values = (double *)(uintptr_t)to->values;
  uint64_t *mask = (uint64_t *)(uintptr_t)b->bsr->masks;
  int r;
  if (values != NULL) {
    values += (size_t)block * size;
    memset(values, 0, size * sizeof *values);
  }
  if (mask != NULL) {
    mask += block * b->bsr->mask_words;
    memset(mask, 0, (size_t)b->bsr->mask_words * sizeof *mask);
  }
  for (r = 0; r < s->rows; r++) {
    mbi_blocking_put_f64(b, s, r, first, first + (uint32_t)to->block_cols, values,
                                    mask);
  }
}

/* A row's entries below `limit` go to a block, whose first column, value and mask are given. */
static void mbi_blocking_put_f32(const mbi_blocking *b, mbi_strip *s, int r,
                                            uint32_t first, uint32_t limit, float *values,
                                            uint64_t *mask) {
  const merbit_view *to = &b->bsr->view;
  const uint32_t row = (uint32_t)(r * mbi_block_row_stride(to));
  const uint32_t stride = (uint32_t)mbi_block_column_stride(to);
  const uint32_t base = (uint32_t)s->base;
  const int32_t *col_ind = s->col_ind;
  const float *from = (const float *)b->csr->values;
  const int64_t end = s->end[r];
  int64_t at = s->at[r];
  uint32_t column = s->next[r];
  while (column < limit) {
    const uint32_t k = row + (column - first) * stride;
    if (values != NULL) {
      values[k] = from != NULL ? from[at] : 1;
    }
    if (mask != NULL) {
      mask[k / 64] |= (uint64_t)1 << k % 64;
    }
    at++;
    column = at < end ? (uint32_t)col_ind[at] - base : MBI_STRIP_END;
  }
  s->at[r] = at;
  s->next[r] = column;
}

static void mbi_blocking_take_f32(const mbi_blocking *b, mbi_strip *s,
                                             uint32_t column, int64_t block) {
  const merbit_view *to = &b->bsr->view;
  const uint32_t first = column * (uint32_t)to->block_cols;
  const size_t size = (size_t)to->block_rows * (size_t)to->block_cols;
  float *values = (float *)(uintptr_t)to->values;
  uint64_t *mask = (uint64_t *)(uintptr_t)b->bsr->masks;
  int r;
  if (values != NULL) {
    values += (size_t)block * size;
    memset(values, 0, size * sizeof *values);
  }
  if (mask != NULL) {
    mask += block * b->bsr->mask_words;
    memset(mask, 0, (size_t)b->bsr->mask_words * sizeof *mask);
  }
  for (r = 0; r < s->rows; r++) {
    mbi_blocking_put_f32(b, s, r, first, first + (uint32_t)to->block_cols, values,
                                    mask);
  }
}

static void mbi_blocking_put_offset(const merbit_view *to, int64_t row, int64_t offset) {
  if (to->offset_type == MERBIT_INDEX_32) {
    ((int32_t *)(uintptr_t)to->row_ptr)[row] = (int32_t)offset;
  } else {
    ((int64_t *)(uintptr_t)to->row_ptr)[row] = offset;
  }
}

static void mbi_blocking_fill_task(void *argument, int task) {
  const mbi_blocking *b = (const mbi_blocking *)argument;
  const merbit_view *to = &b->bsr->view;
  int32_t *col_ind = (int32_t *)(uintptr_t)to->col_ind;
  int64_t row = mbi_blocking_row(b, task), block = b->blocks[task];
  const int64_t last = mbi_blocking_row(b, task + 1);
  mbi_strip s;
  for (; row < last; row++) {
    uint32_t least;
    mbi_blocking_put_offset(to, row, block);
    mbi_strip_start(&s, b->csr, to->block_rows, row);
    for (least = mbi_strip_least(&s); least != MBI_STRIP_END; least = mbi_strip_least(&s)) {
      const uint32_t column = least / (uint32_t)to->block_cols;
      col_ind[block] = (int32_t)column;
      if (to->value_type == MERBIT_F32) {
        mbi_blocking_take_f32(b, &s, column, block++);
      } else {
        mbi_blocking_take_f64(b, &s, column, block++);
      }
    }
  }
}

/* ---- Making ----------------------------------------------------------------------- */

static void *mbi_blocks_cut(char **memory, int64_t count, size_t size) {
  char *start = *memory + (64 - (uintptr_t)*memory % 64) % 64;
  *memory = start + (size_t)count * size;
  return start;
}

/* One allocation for all arrays, each at the start of a cache line. */
static merbit_status mbi_blocks_allocate(merbit_context *context, mbi_bsr *bsr, int valued) {
  merbit_view *to = &bsr->view;
  const size_t value_bytes =
      valued ? (size_t)to->block_rows * (size_t)to->block_cols * mbi_type_size(to->value_type)
             : 0;
  const size_t each = value_bytes + (size_t)bsr->mask_words * 8 + sizeof(int32_t);
  const int64_t offsets = mbi_block_count(to->rows, to->block_rows) + 1;
  const size_t offset_bytes = mbi_index_bytes(to->offset_type);
  /* As so many more blocks as hold the offsets, and the gaps before the arrays. */
  const int64_t more = (int64_t)(((size_t)offsets * offset_bytes + 4 * 64) / each) + 1;
  char *memory;
  merbit_status status =
      mbi_allocate_array(context, to->nnz + more, each, "the blocks of a matrix", &bsr->memory);
  if (status != MERBIT_OK) {
    return status;
  }
  memory = (char *)bsr->memory;
  to->row_ptr = mbi_blocks_cut(&memory, offsets, offset_bytes);
  to->col_ind = mbi_blocks_cut(&memory, to->nnz, sizeof(int32_t));
  to->values = valued ? mbi_blocks_cut(&memory, to->nnz, value_bytes) : NULL;
  bsr->masks = bsr->mask_words > 0
                   ? (uint64_t *)mbi_blocks_cut(&memory, to->nnz, (size_t)bsr->mask_words * 8)
                   : NULL;
  return MERBIT_OK;
}

static void mbi_blocks_describe(const merbit_view *csr, const merbit_bsr_desc *shape,
                                mbi_bsr *bsr) {
  merbit_view *to = &bsr->view;
  memset(bsr, 0, sizeof *bsr);
  to->format = MERBIT_BSR;
  to->value_type = csr->value_type;
  to->memory = MERBIT_MEMORY_HOST;
  to->rows = csr->rows;
  to->cols = csr->cols;
  to->block_rows = shape->block_rows;
  to->block_cols = shape->block_cols;
  to->block_order = shape->block_order;
  bsr->entries = csr->nnz;
}

/* `csr` ascends strictly. */
static merbit_status mbi_blocks_make(merbit_context *context, const merbit_view *csr,
                                     const merbit_bsr_desc *shape, int masks, mbi_bsr *bsr) {
  merbit_view *to = &bsr->view;
  mbi_blocking b;
  merbit_status status;
  int full;
  mbi_blocks_describe(csr, shape, bsr);
  b.csr = csr;
  b.bsr = bsr;
  full = mbi_blocking_count(context, &b) == csr->nnz;
  to->offset_type = to->nnz > INT32_MAX ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  bsr->mask_words =
      masks != MBI_MASKS_NONE && !full ? (to->block_rows * to->block_cols + 63) / 64 : 0;
  status = mbi_blocks_allocate(context, bsr, csr->values != NULL || !full);
  if (status == MERBIT_OK) {
    mbi_parallel(context, b.tasks, mbi_blocking_fill_task, &b);
    mbi_blocking_put_offset(to, mbi_block_count(to->rows, to->block_rows), to->nnz);
  }
  return status;
}

/* ==== >>matrix/block_shape.c  the block shape that moves the fewest bytes ================= */
/* The shape of blocks that moves the fewest bytes. Every candidate is counted in windows of
 * rows, the best of them in the whole matrix; a small matrix is one window. */

#define MBI_SHAPE_SQUARE 8      /* all shapes up to 8 x 8 are candidates */
#define MBI_SHAPE_CANDIDATES 70 /* with those of mbi_shape_of */
#define MBI_SHAPE_FINALISTS 3
#define MBI_SHAPE_ALONE 1024        /* entries up to which one thread counts */
#define MBI_SHAPE_WINDOWS 64        /* at most */

/* Entries to look at for each candidate, about, and rows of a window. */
#ifndef MBI_SHAPE_ENTRIES
#define MBI_SHAPE_ENTRIES (1 << 18)
#endif
#ifndef MBI_SHAPE_WINDOW
#define MBI_SHAPE_WINDOW 256
#endif

static void mbi_shape_of(int candidate, merbit_bsr_desc *shape) {
  static const unsigned char larger[MBI_SHAPE_CANDIDATES - 64][2] = {
      {10, 10}, {12, 12}, {16, 16}, {16, 1}, {1, 16}, {16, 8}};
  const int square = MBI_SHAPE_SQUARE * MBI_SHAPE_SQUARE;
  shape->block_rows =
      candidate < square ? candidate / MBI_SHAPE_SQUARE + 1 : larger[candidate - square][0];
  shape->block_cols =
      candidate < square ? candidate % MBI_SHAPE_SQUARE + 1 : larger[candidate - square][1];
}

/* Of the arrays that mbi_blocks_make would fill. */
static int64_t mbi_shape_bytes(const merbit_view *csr, const merbit_bsr_desc *shape,
                               int64_t rows, int64_t blocks, int full, int masks) {
  const int64_t size = shape->block_rows * shape->block_cols;
  const int64_t value =
      csr->values != NULL || !full ? (int64_t)mbi_type_size(csr->value_type) : 0;
  const int64_t mask = masks == MBI_MASKS_READ && !full ? (size + 63) / 64 * 8 : 0;
  const int64_t offset = blocks > INT32_MAX ? 8 : 4;
  return blocks * (size * value + mask + 4) +
         (mbi_block_count(rows, shape->block_rows) + 1) * offset;
}

typedef struct mbi_shape_search {
  const merbit_view *csr;
  int masks;
  int windows;                        /* 0: one, of all rows */
  double bytes[MBI_SHAPE_CANDIDATES]; /* of an entry */
} mbi_shape_search;

/* Rows of blocks that a window takes for blocks of `height`; windows 0: all. */
static int64_t mbi_shape_rows(const merbit_view *csr, int windows, int height) {
  return mbi_block_count(windows > 0 ? MBI_SHAPE_WINDOW : csr->rows, height);
}

/* Rows between the beginnings of windows. */
static int64_t mbi_shape_span(const merbit_view *csr, int windows) {
  return windows > 0 ? (csr->rows - MBI_SHAPE_WINDOW) / windows : 0;
}

/* From *first to the one before *last they are those of window `w`, which ends in front of the
 * matrix's row that is returned. */
static int64_t mbi_shape_window(const merbit_view *csr, int windows, int w, int height,
                                int64_t *first, int64_t *last) {
  const int64_t all = mbi_block_count(csr->rows, height);
  *first = mbi_shape_span(csr, windows) * w / height;
  *last = *first + mbi_shape_rows(csr, windows, height);
  *last = *last < all ? *last : all;
  return *last * height < csr->rows ? *last * height : csr->rows;
}

/* The candidate of fewest bytes, which drops out. */
static int mbi_shape_next(double *bytes) {
  int next = 0, i;
  for (i = 1; i < MBI_SHAPE_CANDIDATES; i++) {
    next = bytes[i] < bytes[next] ? i : next;
  }
  bytes[next] = DBL_MAX;
  return next;
}

/* The block rows that begin in a window: other rows for every height, so that bytes are told by
 * entries. */
static void mbi_shape_task(void *argument, int candidate) {
  mbi_shape_search *search = (mbi_shape_search *)argument;
  const merbit_view *csr = search->csr;
  int64_t rows = 0, blocks = 0, inside = 0, entries = 0;
  merbit_bsr_desc shape;
  int w;
  mbi_shape_of(candidate, &shape);
  for (w = 0; w < search->windows || w == 0; w++) {
    const int height = shape.block_rows;
    int64_t first, last, more;
    const int64_t end = mbi_shape_window(csr, search->windows, w, height, &first, &last);
    blocks += mbi_blocks_count(csr, height, shape.block_cols, first, last, &more);
    inside += more;
    entries += mbi_block_start(csr, end) - mbi_block_start(csr, first * height);
    rows += end - first * height;
  }
  search->bytes[candidate] = entries == 0
                                 ? DBL_MAX
                                 : (double)mbi_shape_bytes(csr, &shape, rows, blocks,
                                                           inside == entries, search->masks) /
                                       (double)entries;
}

/* Windows of about MBI_SHAPE_ENTRIES entries in all. */
static int mbi_shape_windows(const merbit_view *csr) {
  const int64_t rows = csr->rows / (csr->nnz / MBI_SHAPE_ENTRIES + 1);
  const int64_t windows = rows / MBI_SHAPE_WINDOW;
  if (csr->nnz <= MBI_SHAPE_ENTRIES || csr->rows <= 2 * MBI_SHAPE_WINDOW) {
    return 0;
  }
  return windows < 1 ? 1 : windows < MBI_SHAPE_WINDOWS ? (int)windows : MBI_SHAPE_WINDOWS;
}

/* Blocks and bytes in the whole matrix. */
static int64_t mbi_shape_measure(merbit_context *context, const merbit_view *csr,
                                 const merbit_bsr_desc *shape, int masks, int64_t *blocks) {
  mbi_blocking b;
  mbi_bsr bsr;
  int64_t inside;
  mbi_blocks_describe(csr, shape, &bsr);
  b.csr = csr;
  b.bsr = &bsr;
  inside = mbi_blocking_count(context, &b);
  *blocks = bsr.view.nnz;
  return mbi_shape_bytes(csr, shape, csr->rows, *blocks, inside == csr->nnz, masks);
}

/* Sets the shape, unless it is given. `csr` ascends strictly. */
static void mbi_shape_find(merbit_context *context, const merbit_view *csr, int masks,
                           merbit_bsr_desc *shape) {
  mbi_shape_search search;
  merbit_bsr_desc tried = *shape;
  int64_t least, bytes, blocks;
  int finalist, i;
  if (shape->block_rows != 0) {
    return;
  }
  shape->block_rows = shape->block_cols = 1; /* that is CSR */
  if (csr->nnz == 0) {
    return;
  }
  least = mbi_shape_bytes(csr, shape, csr->rows, csr->nnz, 1, masks);
  search.csr = csr;
  search.masks = masks;
  search.windows = mbi_shape_windows(csr);
  if (csr->nnz > MBI_SHAPE_ALONE) {
    mbi_parallel(context, MBI_SHAPE_CANDIDATES, mbi_shape_task, &search);
  } else {
    for (i = 0; i < MBI_SHAPE_CANDIDATES; i++) {
      mbi_shape_task(&search, i);
    }
  }
  for (finalist = 0; finalist < MBI_SHAPE_FINALISTS; finalist++) {
    mbi_shape_of(mbi_shape_next(search.bytes), &tried);
    bytes = mbi_shape_measure(context, csr, &tried, masks, &blocks);
    if (bytes < least) {
      least = bytes;
      *shape = tried;
    }
  }
}

static merbit_status mbi_shape_check(merbit_context *context, const char *what,
                                     const merbit_bsr_desc *shape) {
  merbit_bsr_desc given = *shape;
  if (given.block_rows == 0 && given.block_cols == 0) {
    given.block_rows = given.block_cols = 1;
  }
  return mbi_block_check(context, what, given.block_rows, given.block_cols, given.block_order);
}

/* *bsr: the blocks of a checked host view, in the shape that `desc` says. mbi_bsr_release frees
 * it. */
static merbit_status mbi_bsr_from_view(merbit_context *context, const merbit_view *host,
                                       const merbit_bsr_desc *desc, int masks, mbi_bsr *bsr) {
  merbit_bsr_desc shape = *desc;
  merbit_matrix *made = NULL;
  merbit_view csr;
  merbit_status status = mbi_shape_check(context, "bsr_desc", desc);
  memset(bsr, 0, sizeof *bsr);
  if (status == MERBIT_OK) {
    status = mbi_blocks_source(context, host, &csr, &made);
  }
  if (status == MERBIT_OK) {
    mbi_shape_find(context, &csr, masks, &shape);
    status = mbi_blocks_make(context, &csr, &shape, masks, bsr);
  }
  merbit_matrix_destroy(made);
  return status;
}

/* The blocks of a checked host BSR view as they lie; only 64-bit columns are copied. */
static merbit_status mbi_bsr_borrow(merbit_context *context, const merbit_view *view,
                                    mbi_bsr *bsr) {
  int64_t i;
  int32_t *narrow;
  merbit_status status;
  memset(bsr, 0, sizeof *bsr);
  bsr->view = *view;
  bsr->entries = view->nnz * view->block_rows * view->block_cols;
  if (view->index_type == MERBIT_INDEX_32) {
    return MERBIT_OK;
  }
  status = mbi_allocate_array(context, view->nnz, sizeof(int32_t), "32-bit block columns",
                              &bsr->memory);
  if (status != MERBIT_OK) {
    return status;
  }
  narrow = (int32_t *)bsr->memory;
  for (i = 0; i < view->nnz; i++) {
    narrow[i] = (int32_t)((const int64_t *)view->col_ind)[i];
  }
  bsr->view.col_ind = narrow;
  bsr->view.index_type = MERBIT_INDEX_32;
  return MERBIT_OK;
}

/* Other values in the places of bsr's: `host` is the view from which it was made, but for them.
 */
static merbit_status mbi_bsr_refill(merbit_context *context, const merbit_view *host,
                                    mbi_bsr *bsr) {
  merbit_matrix *made;
  merbit_view csr;
  mbi_blocking b;
  merbit_status status = mbi_blocks_source(context, host, &csr, &made);
  if (status == MERBIT_OK) {
    b.csr = &csr;
    b.bsr = bsr;
    (void)mbi_blocking_count(context, &b);
    mbi_parallel(context, b.tasks, mbi_blocking_fill_task, &b);
    merbit_matrix_destroy(made);
  }
  return status;
}

MERBIT_API merbit_status merbit_view_find_blocks(merbit_context *context,
                                                 const merbit_view *view,
                                                 const merbit_bsr_desc *desc,
                                                 merbit_block_info *info) {
  merbit_bsr_desc shape;
  merbit_view host, csr;
  merbit_matrix *made;
  merbit_status status;
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (info == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the out pointer `info` is NULL");
  }
  memset(info, 0, sizeof *info);
  memset(&shape, 0, sizeof shape);
  shape = desc != NULL ? *desc : shape;
  status = mbi_shape_check(context, "bsr_desc", &shape);
  if (status == MERBIT_OK) {
    status = mbi_view_to_host(context, view, &host);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  status = mbi_blocks_source(context, &host, &csr, &made);
  if (status == MERBIT_OK) {
    mbi_shape_find(context, &csr, 0, &shape);
    info->block_rows = shape.block_rows;
    info->block_cols = shape.block_cols;
    info->bytes = mbi_shape_measure(context, &csr, &shape, 0, &info->blocks);
    info->fill =
        info->blocks == 0
            ? 1
            : (double)csr.nnz / ((double)info->blocks * shape.block_rows * shape.block_cols);
    shape.block_rows = shape.block_cols = 1;
    info->csr_bytes = mbi_shape_bytes(&csr, &shape, csr.rows, csr.nnz, 1, 0);
    merbit_matrix_destroy(made);
  }
  mbi_view_from_host(context, view, &host);
  return status;
}

/* ==== >>matrix/create.c  owned matrices: create, transpose, view, destroy ================= */
MERBIT_API merbit_view merbit_csr(int64_t rows, int64_t cols, int64_t nnz, const void *row_ptr,
                                  const void *col_ind, const void *values) {
  merbit_view view;
  memset(&view, 0, sizeof view);
  view.rows = rows;
  view.cols = cols;
  view.nnz = nnz;
  view.row_ptr = row_ptr;
  view.col_ind = col_ind;
  view.values = values;
  return view;
}

MERBIT_API merbit_view merbit_bsr(int64_t rows, int64_t cols, int64_t blocks, int block_rows,
                                  int block_cols, const void *row_ptr, const void *col_ind,
                                  const void *values) {
  merbit_view view = merbit_csr(rows, cols, blocks, row_ptr, col_ind, values);
  view.format = MERBIT_BSR;
  view.block_rows = block_rows;
  view.block_cols = block_cols;
  return view;
}

static void mbi_build_describe(mbi_build *build, merbit_context *context,
                               const merbit_view *from, int transpose) {
  memset(build, 0, sizeof *build);
  build->context = context;
  build->from = from;
  build->walk = transpose && from->format == MERBIT_CSR;
  build->major = transpose ? from->col_ind : from->row_ind;
  build->minor = transpose ? from->row_ind : from->col_ind;
  build->to.value_type = mbi_view_type(from);
  build->to.offset_type = MERBIT_INDEX_64;
  build->to.memory = MERBIT_MEMORY_HOST;
  build->to.rows = transpose ? from->cols : from->rows;
  build->to.cols = transpose ? from->rows : from->cols;
  build->to.nnz = from->nnz;
}

static merbit_status mbi_build_allocate(mbi_build *build) {
  merbit_context *context = build->context;
  int64_t nnz = build->to.nnz;
  void *memory;
  merbit_status status = mbi_allocate_array(context, build->to.rows + 1, sizeof(int64_t),
                                            "the row offsets of a matrix", &memory);
  build->row_ptr = (int64_t *)memory;
  build->to.row_ptr = memory;
  if (status == MERBIT_OK) {
    status =
        mbi_allocate_array(context, nnz, sizeof(int32_t), "the columns of a matrix", &memory);
    build->col_ind = (int32_t *)memory;
  }
  if (status == MERBIT_OK && build->from->values != NULL) {
    status = mbi_allocate_array(context, nnz, mbi_type_size(build->to.value_type),
                                "the values of a matrix", &build->values);
  }
  return status;
}

/* 32-bit offsets where they suffice. */
static merbit_status mbi_build_narrow(mbi_build *build) {
  int64_t row;
  void *memory;
  merbit_status status;
  if (build->to.nnz > INT32_MAX) {
    return MERBIT_OK;
  }
  status = mbi_allocate_array(build->context, build->to.rows + 1, sizeof(int32_t),
                              "the row offsets of a matrix", &memory);
  if (status != MERBIT_OK) {
    return status;
  }
  build->narrow_row_ptr = (int32_t *)memory;
  for (row = 0; row <= build->to.rows; row++) {
    build->narrow_row_ptr[row] = (int32_t)build->row_ptr[row];
  }
  mbi_release(build->context, build->row_ptr);
  build->row_ptr = NULL;
  build->to.row_ptr = memory;
  build->to.offset_type = MERBIT_INDEX_32;
  return MERBIT_OK;
}

static merbit_status mbi_build_run(mbi_build *build) {
  merbit_status status = mbi_build_allocate(build);
  if (status == MERBIT_OK) {
    status = mbi_build_group(build);
  }
  if (status == MERBIT_OK) {
    status = mbi_build_sort(build);
  }
  if (status == MERBIT_OK) {
    status = mbi_build_merge(build);
  }
  if (status == MERBIT_OK) {
    status = mbi_build_narrow(build);
  }
  return status;
}

/* A matrix's record for arrays that become its own. */
static merbit_status mbi_matrix_record(merbit_context *context, const merbit_view *view,
                                       void *memory, merbit_matrix **matrix) {
  merbit_matrix *made = (merbit_matrix *)mbi_allocate(context, sizeof *made);
  *matrix = made;
  if (made == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a matrix's record");
  }
  made->context = context;
  made->view = *view;
  made->memory = memory;
  mbi_context_retain(context);
  return MERBIT_OK;
}

static merbit_status mbi_matrix_from_entries(merbit_context *context, const merbit_view *view,
                                             int transpose, merbit_matrix **matrix) {
  mbi_build build;
  merbit_status status;
  mbi_build_describe(&build, context, view, transpose);
  status = mbi_build_run(&build);
  if (status == MERBIT_OK) {
    merbit_view view_made = build.to;
    view_made.col_ind = build.col_ind;
    view_made.values = build.values;
    status = mbi_matrix_record(context, &view_made, NULL, matrix);
  }
  if (status != MERBIT_OK) {
    mbi_release(context, build.row_ptr);
    mbi_release(context, build.narrow_row_ptr);
    mbi_release(context, build.col_ind);
    mbi_release(context, build.values);
  }
  return status;
}

/* A copy of the host `view`, or of its transpose, as merbit_matrix_create promises. The caller has
 * checked the view, header and arrays. */
static merbit_status mbi_matrix_from_view(merbit_context *context, const merbit_view *view,
                                          int transpose, merbit_matrix **matrix) {
  merbit_view entries;
  merbit_status status;
  *matrix = NULL;
  if (transpose && view->rows > INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "view.rows is %" PRId64
                    "; a transpose takes at most 2147483647, its columns",
                    view->rows);
  }
  if (view->format != MERBIT_BSR) {
    return mbi_matrix_from_entries(context, view, transpose, matrix);
  }
  status = mbi_expand_blocks(context, view, &entries);
  if (status == MERBIT_OK) {
    status = mbi_matrix_from_entries(context, &entries, transpose, matrix);
  }
  mbi_host_view_release(context, &entries);
  return status;
}

/* How a matrix is made from a checked host view: `detail` is the maker's own. */
typedef merbit_status (*mbi_matrix_maker)(merbit_context *context, const merbit_view *host,
                                          const void *detail, merbit_matrix **matrix);

static merbit_status mbi_matrix_checked(merbit_context *context, const merbit_view *view,
                                        mbi_matrix_maker maker, const void *detail,
                                        merbit_matrix **matrix) {
  merbit_view host;
  merbit_status status;
  if (matrix != NULL) {
    *matrix = NULL;
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (matrix == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the out pointer `matrix` is NULL");
  }
  status = mbi_view_to_host(context, view, &host);
  if (status == MERBIT_OK) {
    status = maker(context, &host, detail, matrix);
    mbi_view_from_host(context, view, &host);
  }
  return status;
}

static merbit_status mbi_matrix_make_csr(merbit_context *context, const merbit_view *host,
                                         const void *transpose, merbit_matrix **matrix) {
  return mbi_matrix_from_view(context, host, *(const int *)transpose, matrix);
}

static merbit_status mbi_matrix_make_bsr(merbit_context *context, const merbit_view *host,
                                         const void *desc, merbit_matrix **matrix) {
  mbi_bsr bsr;
  merbit_status status =
      mbi_bsr_from_view(context, host, (const merbit_bsr_desc *)desc, MBI_MASKS_NONE, &bsr);
  if (status == MERBIT_OK) {
    status = mbi_matrix_record(context, &bsr.view, bsr.memory, matrix);
    if (status != MERBIT_OK) {
      mbi_bsr_release(context, &bsr);
    }
  }
  return status;
}

MERBIT_API merbit_status merbit_matrix_create(merbit_context *context, const merbit_view *view,
                                              merbit_matrix **matrix) {
  const int transpose = 0;
  return mbi_matrix_checked(context, view, mbi_matrix_make_csr, &transpose, matrix);
}

MERBIT_API merbit_status merbit_matrix_transpose(merbit_context *context,
                                                 const merbit_view *view,
                                                 merbit_matrix **matrix) {
  const int transpose = 1;
  return mbi_matrix_checked(context, view, mbi_matrix_make_csr, &transpose, matrix);
}

MERBIT_API merbit_status merbit_matrix_create_bsr(merbit_context *context,
                                                  const merbit_view *view,
                                                  const merbit_bsr_desc *desc,
                                                  merbit_matrix **matrix) {
  merbit_bsr_desc defaults;
  memset(&defaults, 0, sizeof defaults);
  return mbi_matrix_checked(context, view, mbi_matrix_make_bsr, desc != NULL ? desc : &defaults,
                            matrix);
}

MERBIT_API merbit_view merbit_matrix_view(const merbit_matrix *matrix) {
  merbit_view none;
  if (matrix != NULL) {
    return matrix->view;
  }
  memset(&none, 0, sizeof none);
  return none;
}

MERBIT_API void merbit_matrix_destroy(merbit_matrix *matrix) {
  merbit_context *context;
  if (matrix == NULL) {
    return;
  }
  context = matrix->context;
  if (matrix->memory == NULL) {
    mbi_host_view_release(context, &matrix->view);
  }
  mbi_release(context, matrix->memory);
  mbi_release(context, matrix);
  mbi_context_unref(context);
}

/* ==== >>matrix/graph.c  the graph of a square matrix ====================================== */
/* The graph of a square CSR for matrix/order.c: its own arrays where their pattern is
 * symmetric, each row strictly ascending; else those of A + A', made here. */

typedef struct mbi_graph {
  merbit_context *context;
  merbit_view csr; /* host, 32-bit columns */
  int64_t rows;
  int base;        /* of the columns of mbi_graph_row */
  int32_t *degree; /* neighbours, the vertex itself left out */
  int64_t *starts; /* rows of A + A', each of degree[v] columns; NULL: the CSR's own */
  int32_t *columns;
  int32_t *spare; /* for sorting long rows */
  int tasks;
  int64_t
      found[MBI_MAX_THREADS];  /* by task: entries below less those above, or the longest row */
  int uneven[MBI_MAX_THREADS]; /* by task: has it met what makes it another graph */
} mbi_graph;

/* The neighbours of a vertex, and perhaps itself, ascending. */
static const int32_t *mbi_graph_row(const mbi_graph *graph, int64_t v, int64_t *length) {
  const merbit_view *csr = &graph->csr;
  int64_t start;
  if (graph->starts != NULL) {
    *length = graph->degree[v];
    return graph->columns + graph->starts[v];
  }
  start = mbi_index_at(csr->row_ptr, csr->offset_type, v);
  *length = mbi_index_at(csr->row_ptr, csr->offset_type, v + 1) - start;
  return (const int32_t *)csr->col_ind + (start - csr->base);
}

/* ---- Is the CSR its own graph? ----------------------------------------------------------- */

/* In a row that ascends. */
static int mbi_graph_has(const int32_t *row, int64_t length, int32_t column) {
  int64_t low = 0, high = length;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (row[middle] < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < length && row[low] == column;
}

/* Each entry below the diagonal has a partner above; and if there are as many above, they all
 * have one. */
static void mbi_graph_look_task(void *argument, int task) {
  mbi_graph *graph = (mbi_graph *)argument;
  int64_t v = mbi_share_rows(&graph->csr, graph->tasks, task), balance = 0, k;
  const int64_t last = mbi_share_rows(&graph->csr, graph->tasks, task + 1);
  graph->uneven[task] = 1;
  for (; v < last; v++) {
    const int32_t own = (int32_t)v + graph->base;
    int64_t length, other;
    const int32_t *row = mbi_graph_row(graph, v, &length);
    int diagonal = 0;
    for (k = 0; k < length; k++) {
      if (k > 0 && row[k] <= row[k - 1]) {
        return;
      }
      diagonal |= row[k] == own;
      balance += (row[k] < own) - (row[k] > own);
      if (row[k] < own) {
        const int32_t *partner = mbi_graph_row(graph, row[k] - graph->base, &other);
        if (!mbi_graph_has(partner, other, own)) {
          return;
        }
      }
    }
    graph->degree[v] = (int32_t)(length - diagonal);
  }
  graph->found[task] = balance;
  graph->uneven[task] = 0;
}

static int mbi_graph_is_symmetric(mbi_graph *graph) {
  int64_t balance = 0;
  int task, uneven = 0;
  mbi_parallel(graph->context, graph->tasks, mbi_graph_look_task, graph);
  for (task = 0; task < graph->tasks; task++) {
    uneven |= graph->uneven[task];
    balance += graph->uneven[task] ? 0 : graph->found[task];
  }
  return !uneven && balance == 0;
}

/* ---- A + A' ------------------------------------------------------------------------------ */

/* Each entry once in its row and once in its column's. Who comes first does not matter: rows
 * are sorted later. */
static void mbi_graph_count_task(void *argument, int task) {
  mbi_graph *graph = (mbi_graph *)argument;
  const merbit_view *csr = &graph->csr;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t v = mbi_share_rows(csr, graph->tasks, task), k;
  const int64_t last = mbi_share_rows(csr, graph->tasks, task + 1);
  for (; v < last; v++) {
    const int64_t end = mbi_index_at(csr->row_ptr, csr->offset_type, v + 1) - csr->base;
    int64_t own = 0;
    for (k = mbi_index_at(csr->row_ptr, csr->offset_type, v) - csr->base; k < end; k++) {
      const int64_t other = col_ind[k] - csr->base;
      if (other != v) {
        own++;
        (void)__atomic_add_fetch(&graph->starts[other], 1, __ATOMIC_RELAXED);
      }
    }
    (void)__atomic_add_fetch(&graph->starts[v], own, __ATOMIC_RELAXED);
  }
}

static void mbi_graph_scatter_task(void *argument, int task) {
  mbi_graph *graph = (mbi_graph *)argument;
  const merbit_view *csr = &graph->csr;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t v = mbi_share_rows(csr, graph->tasks, task), k;
  const int64_t last = mbi_share_rows(csr, graph->tasks, task + 1);
  for (; v < last; v++) {
    const int64_t end = mbi_index_at(csr->row_ptr, csr->offset_type, v + 1) - csr->base;
    for (k = mbi_index_at(csr->row_ptr, csr->offset_type, v) - csr->base; k < end; k++) {
      const int64_t other = col_ind[k] - csr->base;
      if (other != v) {
        graph->columns[__atomic_sub_fetch(&graph->starts[v], 1, __ATOMIC_RELAXED)] =
            (int32_t)other;
        graph->columns[__atomic_sub_fetch(&graph->starts[other], 1, __ATOMIC_RELAXED)] =
            (int32_t)v;
      }
    }
  }
}

/* The rows of A + A', duplicates included. */
static merbit_view mbi_graph_frame(const mbi_graph *graph) {
  merbit_view frame = graph->csr;
  frame.offset_type = MERBIT_INDEX_64;
  frame.base = 0;
  frame.row_ptr = graph->starts;
  frame.nnz = graph->starts[graph->rows];
  return frame;
}

static void mbi_graph_longest_task(void *argument, int task) {
  mbi_graph *graph = (mbi_graph *)argument;
  const merbit_view frame = mbi_graph_frame(graph);
  int64_t v = mbi_share_rows(&frame, graph->tasks, task), longest = 0;
  const int64_t last = mbi_share_rows(&frame, graph->tasks, task + 1);
  for (; v < last; v++) {
    const int64_t length = graph->starts[v + 1] - graph->starts[v];
    longest = length > longest && length > MBI_SHORT_ROW ? length : longest;
  }
  graph->found[task] = longest;
}

static void mbi_graph_sort_task(void *argument, int task) {
  mbi_graph *graph = (mbi_graph *)argument;
  const merbit_view frame = mbi_graph_frame(graph);
  int64_t v = mbi_share_rows(&frame, graph->tasks, task), before = 0, k;
  const int64_t last = mbi_share_rows(&frame, graph->tasks, task + 1);
  int i;
  for (i = 0; i < task; i++) {
    before += graph->found[i];
  }
  for (; v < last; v++) {
    int32_t *row = graph->columns + graph->starts[v], count = 0;
    const int64_t length = graph->starts[v + 1] - graph->starts[v];
    if (length <= MBI_SHORT_ROW) {
      mbi_row_insertion_f32(row, NULL, length);
    } else {
      mbi_row_radix_f32(row, NULL, length, graph->rows, graph->spare + before, NULL);
    }
    for (k = 0; k < length; k++) {
      if (count == 0 || row[k] != row[count - 1]) {
        row[count++] = row[k];
      }
    }
    graph->degree[v] = count;
  }
}

static merbit_status mbi_graph_sort(mbi_graph *graph) {
  int64_t spare = 0;
  void *memory;
  int task;
  merbit_status status;
  mbi_parallel(graph->context, graph->tasks, mbi_graph_longest_task, graph);
  for (task = 0; task < graph->tasks; task++) {
    spare += graph->found[task];
  }
  status = mbi_allocate_array(graph->context, spare, sizeof(int32_t),
                              "the scratch of a graph's rows", &memory);
  if (status == MERBIT_OK) {
    graph->spare = (int32_t *)memory;
    mbi_parallel(graph->context, graph->tasks, mbi_graph_sort_task, graph);
    mbi_release(graph->context, memory);
  }
  return status;
}

static merbit_status mbi_graph_symmetrise(mbi_graph *graph) {
  merbit_context *context = graph->context;
  void *memory;
  int64_t v;
  merbit_status status = mbi_allocate_array(context, graph->rows + 1, sizeof(int64_t),
                                            "the rows of a graph", &memory);
  if (status != MERBIT_OK) {
    return status;
  }
  graph->starts = (int64_t *)memory;
  memset(memory, 0, (size_t)(graph->rows + 1) * sizeof(int64_t));
  mbi_parallel(context, graph->tasks, mbi_graph_count_task, graph);
  for (v = 0; v < graph->rows; v++) { /* each row's end, from where it is filled */
    graph->starts[v + 1] += graph->starts[v];
  }
  status = mbi_allocate_array(context, graph->starts[graph->rows], sizeof(int32_t),
                              "the neighbours of a graph", &memory);
  if (status != MERBIT_OK) {
    return status;
  }
  graph->columns = (int32_t *)memory;
  mbi_parallel(context, graph->tasks, mbi_graph_scatter_task, graph);
  graph->base = 0;
  return mbi_graph_sort(graph);
}

/* For a checked square host CSR with 32-bit columns, which is borrowed. mbi_graph_release frees
 * it, after a failure too. */
static merbit_status mbi_graph_create(merbit_context *context, const merbit_view *csr,
                                      mbi_graph *graph) {
  void *memory;
  merbit_status status;
  memset(graph, 0, sizeof *graph);
  graph->context = context;
  graph->csr = *csr;
  graph->rows = csr->rows;
  graph->base = csr->base;
  graph->tasks = mbi_share_tasks(context, csr->nnz);
  status = mbi_allocate_array(context, csr->rows, sizeof(int32_t), "the degrees of a graph",
                              &memory);
  graph->degree = (int32_t *)memory;
  if (status == MERBIT_OK && !mbi_graph_is_symmetric(graph)) {
    status = mbi_graph_symmetrise(graph);
  }
  return status;
}

static void mbi_graph_release(merbit_context *context, mbi_graph *graph) {
  mbi_release(context, graph->degree);
  mbi_release(context, graph->starts);
  mbi_release(context, graph->columns);
}

/* ==== >>matrix/order.c  orders of a graph: by degree, reverse Cuthill-McKee =============== */
/* Orders of the vertices of a square matrix's graph: entry (i, j) joins i and j whichever way
 * it points, and the diagonal and duplicates count nothing. By degree; and reverse
 * Cuthill-McKee (E. Cuthill, J. McKee, 1969), begun where A. George, J. W. H. Liu, An
 * Implementation of a Pseudoperipheral Node Finder, ACM TOMS 5, 1979, find an end of the graph.
 */

/* ---- Sorting keys: what to sort by in the upper half of 64 bits -------------------------- */

static void mbi_keys_insertion(uint64_t *keys, int64_t count) {
  int64_t i, j;
  for (i = 1; i < count; i++) {
    const uint64_t key = keys[i];
    for (j = i; j > 0 && keys[j - 1] > key; j--) {
      keys[j] = keys[j - 1];
    }
    keys[j] = key;
  }
}

/* Upper halves up to `most`; lower halves rise, where upper ones are equal. `spare`: as many,
 * where there are more than MBI_SHORT_ROW. Returns where the sorted keys are. */
static uint64_t *mbi_keys_sort(uint64_t *keys, uint64_t *spare, int64_t count, uint32_t most) {
  int64_t starts[256], i;
  int shift, byte;
  if (count <= MBI_SHORT_ROW) {
    mbi_keys_insertion(keys, count);
    return keys;
  }
  for (shift = 32; shift < 64 && (uint64_t)most >> (shift - 32) > 0; shift += 8) {
    uint64_t *other = keys;
    int64_t at = 0;
    memset(starts, 0, sizeof starts);
    for (i = 0; i < count; i++) {
      starts[keys[i] >> shift & 255]++;
    }
    for (byte = 0; byte < 256; byte++) {
      const int64_t here = starts[byte];
      starts[byte] = at;
      at += here;
    }
    for (i = 0; i < count; i++) {
      spare[starts[keys[i] >> shift & 255]++] = keys[i];
    }
    keys = spare;
    spare = other;
  }
  return keys;
}

/* ---- Breadth-first searches -------------------------------------------------------------- */

#define MBI_ORDER_SEARCHES 8 /* of a component; meshes take 3 or 4 */

typedef struct mbi_order_walk {
  const mbi_graph *graph;
  unsigned char *stamp; /* of a vertex: the last search that met it; 0: none has */
  uint64_t *keys;       /* twice as many as neighbours of any vertex */
  int32_t most;         /* neighbours of any vertex */
} mbi_order_walk;

typedef struct mbi_levels {
  int64_t depth; /* levels below the root's */
  int64_t last;  /* where the deepest begins in the queue */
  int64_t size;  /* of the component */
} mbi_levels;

/* Append the neighbours of v that this search has not met, by rising degree, those of the same
 * by number. Returns where the queue then ends. */
static int64_t mbi_order_follow(const mbi_order_walk *walk, int32_t v, int number,
                                int32_t *queue, int64_t tail) {
  const mbi_graph *graph = walk->graph;
  const uint64_t *sorted;
  int64_t count = 0, length, k;
  const int32_t *row = mbi_graph_row(graph, v, &length);
  for (k = 0; k < length; k++) {
    const int32_t next = row[k] - graph->base;
    if (walk->stamp[next] < number) {
      walk->stamp[next] = (unsigned char)number;
      walk->keys[count++] = (uint64_t)graph->degree[next] << 32 | (uint32_t)next;
    }
  }
  sorted = mbi_keys_sort(walk->keys, walk->keys + walk->most, count, (uint32_t)walk->most);
  for (k = 0; k < count; k++) {
    queue[tail++] = (int32_t)(uint32_t)sorted[k];
  }
  return tail;
}

/* All searches of a component meet all of it, so that a smaller stamp means: not yet. The queue
 * becomes Cuthill and McKee's order from `root`. */
static mbi_levels mbi_order_search(const mbi_order_walk *walk, int32_t root, int number,
                                   int32_t *queue) {
  int64_t head = 0, tail = 1;
  mbi_levels found;
  found.depth = -1;
  found.last = 0;
  queue[0] = root;
  walk->stamp[root] = (unsigned char)number;
  while (head < tail) {
    const int64_t end = tail;
    found.depth++;
    found.last = head;
    for (; head < end; head++) {
      tail = mbi_order_follow(walk, queue[head], number, queue, tail);
    }
  }
  found.size = tail;
  return found;
}

/* Searches from any vertex of a component, then from one of least degree in the deepest level,
 * until that one's is no deeper: it is at an end of the graph, and its search has ordered the
 * component. Returns how many vertices that has. */
static int64_t mbi_order_component(const mbi_order_walk *walk, int32_t root, int32_t *queue) {
  const int32_t *degree = walk->graph->degree;
  mbi_levels found = mbi_order_search(walk, root, 1, queue);
  int64_t deepest = -1, i;
  int number;
  for (number = 2; number <= MBI_ORDER_SEARCHES && found.depth > deepest; number++) {
    deepest = found.depth;
    root = queue[found.last];
    for (i = found.last + 1; i < found.size; i++) {
      if (degree[queue[i]] < degree[root]) {
        root = queue[i];
      }
    }
    found = mbi_order_search(walk, root, number, queue);
  }
  return found.size;
}

static void mbi_order_reverse(int32_t *order, int64_t count) {
  int64_t i;
  for (i = 0; i < count / 2; i++) {
    const int32_t other = order[i];
    order[i] = order[count - 1 - i];
    order[count - 1 - i] = other;
  }
}

static void mbi_order_components(const mbi_order_walk *walk, int32_t *order) {
  const mbi_graph *graph = walk->graph;
  int64_t done = 0, v;
  for (v = 0; v < graph->rows; v++) {
    if (walk->stamp[v] == 0) {
      done += mbi_order_component(walk, (int32_t)v, order + done);
    }
  }
  mbi_order_reverse(order, graph->rows);
}

static merbit_status mbi_order_rcm(merbit_context *context, const mbi_graph *graph,
                                   int32_t *order) {
  mbi_order_walk walk;
  void *memory;
  int64_t v;
  merbit_status status;
  walk.graph = graph;
  walk.most = 0;
  for (v = 0; v < graph->rows; v++) {
    walk.most = graph->degree[v] > walk.most ? graph->degree[v] : walk.most;
  }
  status = mbi_allocate_array(context, walk.most, 2 * sizeof(uint64_t),
                              "the neighbours of a vertex", &memory);
  if (status != MERBIT_OK) {
    return status;
  }
  walk.keys = (uint64_t *)memory;
  status = mbi_allocate_array(context, graph->rows, 1, "the marks of vertices", &memory);
  if (status == MERBIT_OK) {
    walk.stamp = (unsigned char *)memory;
    memset(memory, 0, (size_t)graph->rows);
    mbi_order_components(&walk, order);
    mbi_release(context, memory);
  }
  mbi_release(context, walk.keys);
  return status;
}

/* ---- By degree --------------------------------------------------------------------------- */

/* Falling, by number where it is the same: a counting sort. */
static merbit_status mbi_order_degree(merbit_context *context, const mbi_graph *graph,
                                      int32_t *order) {
  int32_t *starts, at = 0;
  int64_t v, d;
  void *memory;
  const merbit_status status = mbi_allocate_array(context, graph->rows, sizeof(int32_t),
                                                  "the counts of degrees", &memory);
  if (status != MERBIT_OK) {
    return status;
  }
  starts = (int32_t *)memory;
  memset(starts, 0, (size_t)graph->rows * sizeof *starts);
  for (v = 0; v < graph->rows; v++) {
    starts[graph->degree[v]]++;
  }
  for (d = graph->rows - 1; d >= 0; d--) {
    const int32_t here = starts[d];
    starts[d] = at;
    at += here;
  }
  for (v = 0; v < graph->rows; v++) {
    order[starts[graph->degree[v]]++] = (int32_t)v;
  }
  mbi_release(context, memory);
  return MERBIT_OK;
}

/* *order: an allocation; order[new] is the row of the checked square host CSR, with 32-bit
 * columns, that comes there. */
static merbit_status mbi_order_create(merbit_context *context, const merbit_view *csr,
                                      merbit_reordering reordering, int32_t **order) {
  mbi_graph graph;
  void *memory;
  merbit_status status =
      mbi_allocate_array(context, csr->rows, sizeof(int32_t), "an order of rows", &memory);
  *order = NULL;
  if (status != MERBIT_OK) {
    return status;
  }
  status = mbi_graph_create(context, csr, &graph);
  if (status == MERBIT_OK) {
    status = reordering == MERBIT_REORDERING_RCM
                 ? mbi_order_rcm(context, &graph, (int32_t *)memory)
                 : mbi_order_degree(context, &graph, (int32_t *)memory);
  }
  mbi_graph_release(context, &graph);
  if (status != MERBIT_OK) {
    mbi_release(context, memory);
    return status;
  }
  *order = (int32_t *)memory;
  return MERBIT_OK;
}

/* ==== >>matrix/permute.c  a square matrix in another order ================================ */
/* P A P': a square CSR whose rows and columns come in another order. */

typedef struct mbi_permute {
  merbit_context *context;
  const merbit_view *from;
  const int32_t *order;            /* order[new] = old */
  int32_t *inverse;                /* inverse[old] = new */
  merbit_view to;                  /* base 0, columns ascending in each row */
  void *row_ptr, *values, *places; /* places[k]: where entry k was; of to.offset_type */
  int32_t *col_ind;
  uint64_t *keys; /* twice as many as entries of the tasks' longest rows */
  int tasks;
  int64_t longest[MBI_MAX_THREADS];
  int64_t widest[MBI_MAX_THREADS];
} mbi_permute;

static void mbi_index_set(void *array, merbit_index_type type, int64_t i, int64_t index) {
  if (type == MERBIT_INDEX_32) {
    ((int32_t *)array)[i] = (int32_t)index;
  } else {
    ((int64_t *)array)[i] = index;
  }
}

/* to[i] = from[places[i]] for i in [first, last). */
static void mbi_gather(merbit_type type, void *to, const void *from, const void *places,
                       merbit_index_type place_type, int64_t first, int64_t last) {
  int64_t i;
  if (type == MERBIT_F32) {
    for (i = first; i < last; i++) {
      ((float *)to)[i] = ((const float *)from)[mbi_index_at(places, place_type, i)];
    }
  } else {
    for (i = first; i < last; i++) {
      ((double *)to)[i] = ((const double *)from)[mbi_index_at(places, place_type, i)];
    }
  }
}

/* to[places[i]] = from[i], likewise. */
static void mbi_scatter(merbit_type type, void *to, const void *from, const void *places,
                        merbit_index_type place_type, int64_t first, int64_t last) {
  int64_t i;
  if (type == MERBIT_F32) {
    for (i = first; i < last; i++) {
      ((float *)to)[mbi_index_at(places, place_type, i)] = ((const float *)from)[i];
    }
  } else {
    for (i = first; i < last; i++) {
      ((double *)to)[mbi_index_at(places, place_type, i)] = ((const double *)from)[i];
    }
  }
}

/* ---- Bandwidth --------------------------------------------------------------------------- */

static void mbi_bandwidth_task(void *argument, int task) {
  mbi_permute *p = (mbi_permute *)argument;
  const merbit_view *csr = p->from;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t row = mbi_share_rows(csr, p->tasks, task), widest = 0, k;
  const int64_t last = mbi_share_rows(csr, p->tasks, task + 1);
  for (; row < last; row++) {
    const int64_t end = mbi_index_at(csr->row_ptr, csr->offset_type, row + 1) - csr->base;
    for (k = mbi_index_at(csr->row_ptr, csr->offset_type, row) - csr->base; k < end; k++) {
      const int64_t off = col_ind[k] - csr->base - row;
      widest = off > widest ? off : -off > widest ? -off : widest;
    }
  }
  p->widest[task] = widest;
}

/* The most that an entry's column is off its row. */
static int64_t mbi_bandwidth(merbit_context *context, const merbit_view *csr) {
  mbi_permute p;
  int64_t widest = 0;
  int task;
  p.from = csr;
  p.tasks = mbi_share_tasks(context, csr->nnz);
  mbi_parallel(context, p.tasks, mbi_bandwidth_task, &p);
  for (task = 0; task < p.tasks; task++) {
    widest = p.widest[task] > widest ? p.widest[task] : widest;
  }
  return widest;
}

/* ---- Rows -------------------------------------------------------------------------------- */

static int64_t mbi_permute_start(const mbi_permute *p, int64_t row) {
  return mbi_index_at(p->from->row_ptr, p->from->offset_type, row) - p->from->base;
}

/* Lengths, each behind its row's place, and the order's inverse. */
static void mbi_permute_lengths_task(void *argument, int task) {
  const mbi_permute *p = (const mbi_permute *)argument;
  int64_t row = mbi_share(p->to.rows, p->tasks, task);
  const int64_t last = mbi_share(p->to.rows, p->tasks, task + 1);
  for (; row < last; row++) {
    const int32_t old = p->order[row];
    p->inverse[old] = (int32_t)row;
    mbi_index_set(p->row_ptr, p->to.offset_type, row + 1,
                  mbi_permute_start(p, (int64_t)old + 1) - mbi_permute_start(p, old));
  }
}

static void mbi_permute_starts(mbi_permute *p) {
  const merbit_index_type type = p->to.offset_type;
  int64_t at = 0, row;
  mbi_index_set(p->row_ptr, type, 0, 0);
  for (row = 1; row <= p->to.rows; row++) {
    at += mbi_index_at(p->row_ptr, type, row);
    mbi_index_set(p->row_ptr, type, row, at);
  }
}

static void mbi_permute_longest_task(void *argument, int task) {
  mbi_permute *p = (mbi_permute *)argument;
  int64_t row = mbi_share_rows(&p->to, p->tasks, task), longest = 0;
  const int64_t last = mbi_share_rows(&p->to, p->tasks, task + 1);
  for (; row < last; row++) {
    const int64_t length = mbi_index_at(p->row_ptr, p->to.offset_type, row + 1) -
                           mbi_index_at(p->row_ptr, p->to.offset_type, row);
    longest = length > longest ? length : longest;
  }
  p->longest[task] = longest;
}

/* Sorted by column; entries of the same column stay as they come. `keys`: twice the length. */
static void mbi_permute_row(const mbi_permute *p, int64_t row, uint64_t *keys) {
  const int32_t *col_ind = (const int32_t *)p->from->col_ind;
  const int64_t start = mbi_permute_start(p, p->order[row]);
  const int64_t at = mbi_index_at(p->row_ptr, p->to.offset_type, row);
  const int64_t length = mbi_index_at(p->row_ptr, p->to.offset_type, row + 1) - at;
  const uint64_t *sorted;
  int64_t k;
  for (k = 0; k < length; k++) {
    const int32_t column = p->inverse[col_ind[start + k] - p->from->base];
    keys[k] = (uint64_t)(uint32_t)column << 32 | (uint32_t)k;
  }
  sorted = mbi_keys_sort(keys, keys + length, length, (uint32_t)p->to.cols);
  for (k = 0; k < length; k++) {
    p->col_ind[at + k] = (int32_t)(sorted[k] >> 32);
    if (p->places != NULL) {
      mbi_index_set(p->places, p->to.offset_type, at + k, start + (int64_t)(uint32_t)sorted[k]);
    }
  }
}

static void mbi_permute_rows_task(void *argument, int task) {
  const mbi_permute *p = (const mbi_permute *)argument;
  int64_t row = mbi_share_rows(&p->to, p->tasks, task), before = 0;
  const int64_t first = row, last = mbi_share_rows(&p->to, p->tasks, task + 1);
  int i;
  for (i = 0; i < task; i++) {
    before += p->longest[i];
  }
  for (; row < last; row++) {
    mbi_permute_row(p, row, p->keys + 2 * before);
  }
  if (p->values != NULL) {
    mbi_gather(p->to.value_type, p->values, p->from->values, p->places, p->to.offset_type,
               mbi_index_at(p->row_ptr, p->to.offset_type, first),
               mbi_index_at(p->row_ptr, p->to.offset_type, last));
  }
}

static merbit_status mbi_permute_allocate(mbi_permute *p) {
  merbit_context *context = p->context;
  const size_t offset = mbi_index_bytes(p->to.offset_type);
  void *memory = NULL;
  merbit_status status = mbi_allocate_array(context, p->to.rows, sizeof(int32_t),
                                            "the inverse of an order", &memory);
  p->inverse = (int32_t *)memory;
  if (status == MERBIT_OK) {
    status = mbi_allocate_array(context, p->to.rows + 1, offset, "the row offsets of a matrix",
                                &p->row_ptr);
  }
  if (status == MERBIT_OK) {
    status = mbi_allocate_array(context, p->to.nnz, sizeof(int32_t), "the columns of a matrix",
                                &memory);
    p->col_ind = (int32_t *)memory;
  }
  if (status == MERBIT_OK && p->from->values != NULL) {
    status = mbi_allocate_array(context, p->to.nnz, mbi_type_size(p->to.value_type),
                                "the values of a matrix", &p->values);
  }
  if (status == MERBIT_OK && p->from->values != NULL) {
    status = mbi_allocate_array(context, p->to.nnz, offset, "the places of values in a matrix",
                                &p->places);
  }
  p->to.row_ptr = p->row_ptr;
  p->to.col_ind = p->col_ind;
  p->to.values = p->values;
  return status;
}

/* The order's inverse, and where rows begin; *keys: entries of the tasks' longest rows. */
static merbit_status mbi_permute_measure(mbi_permute *p, int64_t *keys) {
  int task;
  mbi_parallel(p->context, p->tasks, mbi_permute_lengths_task, p);
  mbi_permute_starts(p);
  mbi_parallel(p->context, p->tasks, mbi_permute_longest_task, p);
  *keys = 0;
  for (task = 0; task < p->tasks; task++) {
    if (p->longest[task] > (int64_t)UINT32_MAX) {
      return mbi_fail(p->context, MERBIT_TOO_LARGE,
                      "a row has %" PRId64 " entries; a reordering takes at most 4294967295",
                      p->longest[task]);
    }
    *keys += p->longest[task];
  }
  return MERBIT_OK;
}

static merbit_status mbi_permute_run(mbi_permute *p) {
  int64_t keys;
  void *memory = NULL;
  merbit_status status = mbi_permute_allocate(p);
  if (status == MERBIT_OK) {
    status = mbi_permute_measure(p, &keys);
  }
  if (status == MERBIT_OK) {
    status = mbi_allocate_array(p->context, keys, 2 * sizeof(uint64_t),
                                "the scratch of a permutation", &memory);
  }
  if (status == MERBIT_OK) {
    p->keys = (uint64_t *)memory;
    mbi_parallel(p->context, p->tasks, mbi_permute_rows_task, p);
  }
  mbi_release(p->context, memory);
  return status;
}

/* *matrix: the checked square host CSR `from`, with 32-bit columns, in another order. *places:
 * an allocation that says where each entry was, of the matrix's offset_type; NULL for a
 * pattern.
 */
static merbit_status mbi_matrix_permute(merbit_context *context, const merbit_view *from,
                                        const int32_t *order, merbit_matrix **matrix,
                                        void **places) {
  mbi_permute p;
  merbit_status status;
  memset(&p, 0, sizeof p);
  p.context = context;
  p.from = from;
  p.order = order;
  p.tasks = mbi_share_tasks(context, from->nnz);
  p.to.value_type = mbi_view_type(from);
  p.to.offset_type = from->nnz <= INT32_MAX ? MERBIT_INDEX_32 : MERBIT_INDEX_64;
  p.to.memory = MERBIT_MEMORY_HOST;
  p.to.rows = from->rows;
  p.to.cols = from->cols;
  p.to.nnz = from->nnz;
  *matrix = NULL;
  *places = NULL;
  status = mbi_permute_run(&p);
  if (status == MERBIT_OK) {
    status = mbi_matrix_record(context, &p.to, NULL, matrix);
  }
  mbi_release(context, p.inverse);
  if (status != MERBIT_OK) {
    mbi_host_view_release(context, &p.to);
    mbi_release(context, p.places);
    return status;
  }
  *places = p.places;
  return MERBIT_OK;
}

/* ==== >>matrix/decimal.c  decimal text to the nearest float =============================== */
/* Decimal text to the nearest double or float, ties to even, in any locale and rounding mode.
 * Up to 19 digits are decided by a 128-bit product with a power of five (D. Lemire, Number
 * Parsing at a Gigabyte per Second, Softw. Pract. Exper. 51, 2021; that nothing else is needed:
 * N. Mushtak, D. Lemire, Fast Number Parsing Without Fallback, Softw. Pract. Exper. 53, 2023).
 * Where digits beyond the 19th matter, an exact comparison with the halfway point decides. */
__extension__ typedef unsigned __int128 mbi_u128;

#define MBI_FIVE_FIRST (-342) /* below, 19 digits round to zero */
#define MBI_FIVE_LAST 308     /* above, one digit is beyond any double */

/* The leading 128 bits of 5^q. */
static const uint64_t mbi_powers_of_five[][2] = {
    {0xeef453d6923bd65a, 0x113faa2906a13b3f}, {0x9558b4661b6565f8, 0x4ac7ca59a424c507},
    {0xbaaee17fa23ebf76, 0x5d79bcf00d2df649}, {0xe95a99df8ace6f53, 0xf4d82c2c107973dc},
    {0x91d8a02bb6c10594, 0x79071b9b8a4be869}, {0xb64ec836a47146f9, 0x9748e2826cdee284},
    {0xe3e27a444d8d98b7, 0xfd1b1b2308169b25}, {0x8e6d8c6ab0787f72, 0xfe30f0f5e50e20f7},
    {0xb208ef855c969f4f, 0xbdbd2d335e51a935}, {0xde8b2b66b3bc4723, 0xad2c788035e61382},
    {0x8b16fb203055ac76, 0x4c3bcb5021afcc31}, {0xaddcb9e83c6b1793, 0xdf4abe242a1bbf3d},
    {0xd953e8624b85dd78, 0xd71d6dad34a2af0d}, {0x87d4713d6f33aa6b, 0x8672648c40e5ad68},
    {0xa9c98d8ccb009506, 0x680efdaf511f18c2}, {0xd43bf0effdc0ba48, 0x0212bd1b2566def2},
    {0x84a57695fe98746d, 0x014bb630f7604b57}, {0xa5ced43b7e3e9188, 0x419ea3bd35385e2d},
    {0xcf42894a5dce35ea, 0x52064cac828675b9}, {0x818995ce7aa0e1b2, 0x7343efebd1940993},
    {0xa1ebfb4219491a1f, 0x1014ebe6c5f90bf8}, {0xca66fa129f9b60a6, 0xd41a26e077774ef6},
    {0xfd00b897478238d0, 0x8920b098955522b4}, {0x9e20735e8cb16382, 0x55b46e5f5d5535b0},
    {0xc5a890362fddbc62, 0xeb2189f734aa831d}, {0xf712b443bbd52b7b, 0xa5e9ec7501d523e4},
    {0x9a6bb0aa55653b2d, 0x47b233c92125366e}, {0xc1069cd4eabe89f8, 0x999ec0bb696e840a},
    {0xf148440a256e2c76, 0xc00670ea43ca250d}, {0x96cd2a865764dbca, 0x380406926a5e5728},
    {0xbc807527ed3e12bc, 0xc605083704f5ecf2}, {0xeba09271e88d976b, 0xf7864a44c633682e},
    {0x93445b8731587ea3, 0x7ab3ee6afbe0211d}, {0xb8157268fdae9e4c, 0x5960ea05bad82964},
    {0xe61acf033d1a45df, 0x6fb92487298e33bd}, {0x8fd0c16206306bab, 0xa5d3b6d479f8e056},
    {0xb3c4f1ba87bc8696, 0x8f48a4899877186c}, {0xe0b62e2929aba83c, 0x331acdabfe94de87},
    {0x8c71dcd9ba0b4925, 0x9ff0c08b7f1d0b14}, {0xaf8e5410288e1b6f, 0x07ecf0ae5ee44dd9},
    {0xdb71e91432b1a24a, 0xc9e82cd9f69d6150}, {0x892731ac9faf056e, 0xbe311c083a225cd2},
    {0xab70fe17c79ac6ca, 0x6dbd630a48aaf406}, {0xd64d3d9db981787d, 0x092cbbccdad5b108},
    {0x85f0468293f0eb4e, 0x25bbf56008c58ea5}, {0xa76c582338ed2621, 0xaf2af2b80af6f24e},
    {0xd1476e2c07286faa, 0x1af5af660db4aee1}, {0x82cca4db847945ca, 0x50d98d9fc890ed4d},
    {0xa37fce126597973c, 0xe50ff107bab528a0}, {0xcc5fc196fefd7d0c, 0x1e53ed49a96272c8},
    {0xff77b1fcbebcdc4f, 0x25e8e89c13bb0f7a}, {0x9faacf3df73609b1, 0x77b191618c54e9ac},
    {0xc795830d75038c1d, 0xd59df5b9ef6a2417}, {0xf97ae3d0d2446f25, 0x4b0573286b44ad1d},
    {0x9becce62836ac577, 0x4ee367f9430aec32}, {0xc2e801fb244576d5, 0x229c41f793cda73f},
    {0xf3a20279ed56d48a, 0x6b43527578c1110f}, {0x9845418c345644d6, 0x830a13896b78aaa9},
    {0xbe5691ef416bd60c, 0x23cc986bc656d553}, {0xedec366b11c6cb8f, 0x2cbfbe86b7ec8aa8},
    {0x94b3a202eb1c3f39, 0x7bf7d71432f3d6a9}, {0xb9e08a83a5e34f07, 0xdaf5ccd93fb0cc53},
    {0xe858ad248f5c22c9, 0xd1b3400f8f9cff68}, {0x91376c36d99995be, 0x23100809b9c21fa1},
    {0xb58547448ffffb2d, 0xabd40a0c2832a78a}, {0xe2e69915b3fff9f9, 0x16c90c8f323f516c},
    {0x8dd01fad907ffc3b, 0xae3da7d97f6792e3}, {0xb1442798f49ffb4a, 0x99cd11cfdf41779c},
    {0xdd95317f31c7fa1d, 0x40405643d711d583}, {0x8a7d3eef7f1cfc52, 0x482835ea666b2572},
    {0xad1c8eab5ee43b66, 0xda3243650005eecf}, {0xd863b256369d4a40, 0x90bed43e40076a82},
    {0x873e4f75e2224e68, 0x5a7744a6e804a291}, {0xa90de3535aaae202, 0x711515d0a205cb36},
    {0xd3515c2831559a83, 0x0d5a5b44ca873e03}, {0x8412d9991ed58091, 0xe858790afe9486c2},
    {0xa5178fff668ae0b6, 0x626e974dbe39a872}, {0xce5d73ff402d98e3, 0xfb0a3d212dc8128f},
    {0x80fa687f881c7f8e, 0x7ce66634bc9d0b99}, {0xa139029f6a239f72, 0x1c1fffc1ebc44e80},
    {0xc987434744ac874e, 0xa327ffb266b56220}, {0xfbe9141915d7a922, 0x4bf1ff9f0062baa8},
    {0x9d71ac8fada6c9b5, 0x6f773fc3603db4a9}, {0xc4ce17b399107c22, 0xcb550fb4384d21d3},
    {0xf6019da07f549b2b, 0x7e2a53a146606a48}, {0x99c102844f94e0fb, 0x2eda7444cbfc426d},
    {0xc0314325637a1939, 0xfa911155fefb5308}, {0xf03d93eebc589f88, 0x793555ab7eba27ca},
    {0x96267c7535b763b5, 0x4bc1558b2f3458de}, {0xbbb01b9283253ca2, 0x9eb1aaedfb016f16},
    {0xea9c227723ee8bcb, 0x465e15a979c1cadc}, {0x92a1958a7675175f, 0x0bfacd89ec191ec9},
    {0xb749faed14125d36, 0xcef980ec671f667b}, {0xe51c79a85916f484, 0x82b7e12780e7401a},
    {0x8f31cc0937ae58d2, 0xd1b2ecb8b0908810}, {0xb2fe3f0b8599ef07, 0x861fa7e6dcb4aa15},
    {0xdfbdcece67006ac9, 0x67a791e093e1d49a}, {0x8bd6a141006042bd, 0xe0c8bb2c5c6d24e0},
    {0xaecc49914078536d, 0x58fae9f773886e18}, {0xda7f5bf590966848, 0xaf39a475506a899e},
    {0x888f99797a5e012d, 0x6d8406c952429603}, {0xaab37fd7d8f58178, 0xc8e5087ba6d33b83},
    {0xd5605fcdcf32e1d6, 0xfb1e4a9a90880a64}, {0x855c3be0a17fcd26, 0x5cf2eea09a55067f},
    {0xa6b34ad8c9dfc06f, 0xf42faa48c0ea481e}, {0xd0601d8efc57b08b, 0xf13b94daf124da26},
    {0x823c12795db6ce57, 0x76c53d08d6b70858}, {0xa2cb1717b52481ed, 0x54768c4b0c64ca6e},
    {0xcb7ddcdda26da268, 0xa9942f5dcf7dfd09}, {0xfe5d54150b090b02, 0xd3f93b35435d7c4c},
    {0x9efa548d26e5a6e1, 0xc47bc5014a1a6daf}, {0xc6b8e9b0709f109a, 0x359ab6419ca1091b},
    {0xf867241c8cc6d4c0, 0xc30163d203c94b62}, {0x9b407691d7fc44f8, 0x79e0de63425dcf1d},
    {0xc21094364dfb5636, 0x985915fc12f542e4}, {0xf294b943e17a2bc4, 0x3e6f5b7b17b2939d},
    {0x979cf3ca6cec5b5a, 0xa705992ceecf9c42}, {0xbd8430bd08277231, 0x50c6ff782a838353},
    {0xece53cec4a314ebd, 0xa4f8bf5635246428}, {0x940f4613ae5ed136, 0x871b7795e136be99},
    {0xb913179899f68584, 0x28e2557b59846e3f}, {0xe757dd7ec07426e5, 0x331aeada2fe589cf},
    {0x9096ea6f3848984f, 0x3ff0d2c85def7621}, {0xb4bca50b065abe63, 0x0fed077a756b53a9},
    {0xe1ebce4dc7f16dfb, 0xd3e8495912c62894}, {0x8d3360f09cf6e4bd, 0x64712dd7abbbd95c},
    {0xb080392cc4349dec, 0xbd8d794d96aacfb3}, {0xdca04777f541c567, 0xecf0d7a0fc5583a0},
    {0x89e42caaf9491b60, 0xf41686c49db57244}, {0xac5d37d5b79b6239, 0x311c2875c522ced5},
    {0xd77485cb25823ac7, 0x7d633293366b828b}, {0x86a8d39ef77164bc, 0xae5dff9c02033197},
    {0xa8530886b54dbdeb, 0xd9f57f830283fdfc}, {0xd267caa862a12d66, 0xd072df63c324fd7b},
    {0x8380dea93da4bc60, 0x4247cb9e59f71e6d}, {0xa46116538d0deb78, 0x52d9be85f074e608},
    {0xcd795be870516656, 0x67902e276c921f8b}, {0x806bd9714632dff6, 0x00ba1cd8a3db53b6},
    {0xa086cfcd97bf97f3, 0x80e8a40eccd228a4}, {0xc8a883c0fdaf7df0, 0x6122cd128006b2cd},
    {0xfad2a4b13d1b5d6c, 0x796b805720085f81}, {0x9cc3a6eec6311a63, 0xcbe3303674053bb0},
    {0xc3f490aa77bd60fc, 0xbedbfc4411068a9c}, {0xf4f1b4d515acb93b, 0xee92fb5515482d44},
    {0x991711052d8bf3c5, 0x751bdd152d4d1c4a}, {0xbf5cd54678eef0b6, 0xd262d45a78a0635d},
    {0xef340a98172aace4, 0x86fb897116c87c34}, {0x9580869f0e7aac0e, 0xd45d35e6ae3d4da0},
    {0xbae0a846d2195712, 0x8974836059cca109}, {0xe998d258869facd7, 0x2bd1a438703fc94b},
    {0x91ff83775423cc06, 0x7b6306a34627ddcf}, {0xb67f6455292cbf08, 0x1a3bc84c17b1d542},
    {0xe41f3d6a7377eeca, 0x20caba5f1d9e4a93}, {0x8e938662882af53e, 0x547eb47b7282ee9c},
    {0xb23867fb2a35b28d, 0xe99e619a4f23aa43}, {0xdec681f9f4c31f31, 0x6405fa00e2ec94d4},
    {0x8b3c113c38f9f37e, 0xde83bc408dd3dd04}, {0xae0b158b4738705e, 0x9624ab50b148d445},
    {0xd98ddaee19068c76, 0x3badd624dd9b0957}, {0x87f8a8d4cfa417c9, 0xe54ca5d70a80e5d6},
    {0xa9f6d30a038d1dbc, 0x5e9fcf4ccd211f4c}, {0xd47487cc8470652b, 0x7647c3200069671f},
    {0x84c8d4dfd2c63f3b, 0x29ecd9f40041e073}, {0xa5fb0a17c777cf09, 0xf468107100525890},
    {0xcf79cc9db955c2cc, 0x7182148d4066eeb4}, {0x81ac1fe293d599bf, 0xc6f14cd848405530},
    {0xa21727db38cb002f, 0xb8ada00e5a506a7c}, {0xca9cf1d206fdc03b, 0xa6d90811f0e4851c},
    {0xfd442e4688bd304a, 0x908f4a166d1da663}, {0x9e4a9cec15763e2e, 0x9a598e4e043287fe},
    {0xc5dd44271ad3cdba, 0x40eff1e1853f29fd}, {0xf7549530e188c128, 0xd12bee59e68ef47c},
    {0x9a94dd3e8cf578b9, 0x82bb74f8301958ce}, {0xc13a148e3032d6e7, 0xe36a52363c1faf01},
    {0xf18899b1bc3f8ca1, 0xdc44e6c3cb279ac1}, {0x96f5600f15a7b7e5, 0x29ab103a5ef8c0b9},
    {0xbcb2b812db11a5de, 0x7415d448f6b6f0e7}, {0xebdf661791d60f56, 0x111b495b3464ad21},
    {0x936b9fcebb25c995, 0xcab10dd900beec34}, {0xb84687c269ef3bfb, 0x3d5d514f40eea742},
    {0xe65829b3046b0afa, 0x0cb4a5a3112a5112}, {0x8ff71a0fe2c2e6dc, 0x47f0e785eaba72ab},
    {0xb3f4e093db73a093, 0x59ed216765690f56}, {0xe0f218b8d25088b8, 0x306869c13ec3532c},
    {0x8c974f7383725573, 0x1e414218c73a13fb}, {0xafbd2350644eeacf, 0xe5d1929ef90898fa},
    {0xdbac6c247d62a583, 0xdf45f746b74abf39}, {0x894bc396ce5da772, 0x6b8bba8c328eb783},
    {0xab9eb47c81f5114f, 0x066ea92f3f326564}, {0xd686619ba27255a2, 0xc80a537b0efefebd},
    {0x8613fd0145877585, 0xbd06742ce95f5f36}, {0xa798fc4196e952e7, 0x2c48113823b73704},
    {0xd17f3b51fca3a7a0, 0xf75a15862ca504c5}, {0x82ef85133de648c4, 0x9a984d73dbe722fb},
    {0xa3ab66580d5fdaf5, 0xc13e60d0d2e0ebba}, {0xcc963fee10b7d1b3, 0x318df905079926a8},
    {0xffbbcfe994e5c61f, 0xfdf17746497f7052}, {0x9fd561f1fd0f9bd3, 0xfeb6ea8bedefa633},
    {0xc7caba6e7c5382c8, 0xfe64a52ee96b8fc0}, {0xf9bd690a1b68637b, 0x3dfdce7aa3c673b0},
    {0x9c1661a651213e2d, 0x06bea10ca65c084e}, {0xc31bfa0fe5698db8, 0x486e494fcff30a62},
    {0xf3e2f893dec3f126, 0x5a89dba3c3efccfa}, {0x986ddb5c6b3a76b7, 0xf89629465a75e01c},
    {0xbe89523386091465, 0xf6bbb397f1135823}, {0xee2ba6c0678b597f, 0x746aa07ded582e2c},
    {0x94db483840b717ef, 0xa8c2a44eb4571cdc}, {0xba121a4650e4ddeb, 0x92f34d62616ce413},
    {0xe896a0d7e51e1566, 0x77b020baf9c81d17}, {0x915e2486ef32cd60, 0x0ace1474dc1d122e},
    {0xb5b5ada8aaff80b8, 0x0d819992132456ba}, {0xe3231912d5bf60e6, 0x10e1fff697ed6c69},
    {0x8df5efabc5979c8f, 0xca8d3ffa1ef463c1}, {0xb1736b96b6fd83b3, 0xbd308ff8a6b17cb2},
    {0xddd0467c64bce4a0, 0xac7cb3f6d05ddbde}, {0x8aa22c0dbef60ee4, 0x6bcdf07a423aa96b},
    {0xad4ab7112eb3929d, 0x86c16c98d2c953c6}, {0xd89d64d57a607744, 0xe871c7bf077ba8b7},
    {0x87625f056c7c4a8b, 0x11471cd764ad4972}, {0xa93af6c6c79b5d2d, 0xd598e40d3dd89bcf},
    {0xd389b47879823479, 0x4aff1d108d4ec2c3}, {0x843610cb4bf160cb, 0xcedf722a585139ba},
    {0xa54394fe1eedb8fe, 0xc2974eb4ee658828}, {0xce947a3da6a9273e, 0x733d226229feea32},
    {0x811ccc668829b887, 0x0806357d5a3f525f}, {0xa163ff802a3426a8, 0xca07c2dcb0cf26f7},
    {0xc9bcff6034c13052, 0xfc89b393dd02f0b5}, {0xfc2c3f3841f17c67, 0xbbac2078d443ace2},
    {0x9d9ba7832936edc0, 0xd54b944b84aa4c0d}, {0xc5029163f384a931, 0x0a9e795e65d4df11},
    {0xf64335bcf065d37d, 0x4d4617b5ff4a16d5}, {0x99ea0196163fa42e, 0x504bced1bf8e4e45},
    {0xc06481fb9bcf8d39, 0xe45ec2862f71e1d6}, {0xf07da27a82c37088, 0x5d767327bb4e5a4c},
    {0x964e858c91ba2655, 0x3a6a07f8d510f86f}, {0xbbe226efb628afea, 0x890489f70a55368b},
    {0xeadab0aba3b2dbe5, 0x2b45ac74ccea842e}, {0x92c8ae6b464fc96f, 0x3b0b8bc90012929d},
    {0xb77ada0617e3bbcb, 0x09ce6ebb40173744}, {0xe55990879ddcaabd, 0xcc420a6a101d0515},
    {0x8f57fa54c2a9eab6, 0x9fa946824a12232d}, {0xb32df8e9f3546564, 0x47939822dc96abf9},
    {0xdff9772470297ebd, 0x59787e2b93bc56f7}, {0x8bfbea76c619ef36, 0x57eb4edb3c55b65a},
    {0xaefae51477a06b03, 0xede622920b6b23f1}, {0xdab99e59958885c4, 0xe95fab368e45eced},
    {0x88b402f7fd75539b, 0x11dbcb0218ebb414}, {0xaae103b5fcd2a881, 0xd652bdc29f26a119},
    {0xd59944a37c0752a2, 0x4be76d3346f0495f}, {0x857fcae62d8493a5, 0x6f70a4400c562ddb},
    {0xa6dfbd9fb8e5b88e, 0xcb4ccd500f6bb952}, {0xd097ad07a71f26b2, 0x7e2000a41346a7a7},
    {0x825ecc24c873782f, 0x8ed400668c0c28c8}, {0xa2f67f2dfa90563b, 0x728900802f0f32fa},
    {0xcbb41ef979346bca, 0x4f2b40a03ad2ffb9}, {0xfea126b7d78186bc, 0xe2f610c84987bfa8},
    {0x9f24b832e6b0f436, 0x0dd9ca7d2df4d7c9}, {0xc6ede63fa05d3143, 0x91503d1c79720dbb},
    {0xf8a95fcf88747d94, 0x75a44c6397ce912a}, {0x9b69dbe1b548ce7c, 0xc986afbe3ee11aba},
    {0xc24452da229b021b, 0xfbe85badce996168}, {0xf2d56790ab41c2a2, 0xfae27299423fb9c3},
    {0x97c560ba6b0919a5, 0xdccd879fc967d41a}, {0xbdb6b8e905cb600f, 0x5400e987bbc1c920},
    {0xed246723473e3813, 0x290123e9aab23b68}, {0x9436c0760c86e30b, 0xf9a0b6720aaf6521},
    {0xb94470938fa89bce, 0xf808e40e8d5b3e69}, {0xe7958cb87392c2c2, 0xb60b1d1230b20e04},
    {0x90bd77f3483bb9b9, 0xb1c6f22b5e6f48c2}, {0xb4ecd5f01a4aa828, 0x1e38aeb6360b1af3},
    {0xe2280b6c20dd5232, 0x25c6da63c38de1b0}, {0x8d590723948a535f, 0x579c487e5a38ad0e},
    {0xb0af48ec79ace837, 0x2d835a9df0c6d851}, {0xdcdb1b2798182244, 0xf8e431456cf88e65},
    {0x8a08f0f8bf0f156b, 0x1b8e9ecb641b58ff}, {0xac8b2d36eed2dac5, 0xe272467e3d222f3f},
    {0xd7adf884aa879177, 0x5b0ed81dcc6abb0f}, {0x86ccbb52ea94baea, 0x98e947129fc2b4e9},
    {0xa87fea27a539e9a5, 0x3f2398d747b36224}, {0xd29fe4b18e88640e, 0x8eec7f0d19a03aad},
    {0x83a3eeeef9153e89, 0x1953cf68300424ac}, {0xa48ceaaab75a8e2b, 0x5fa8c3423c052dd7},
    {0xcdb02555653131b6, 0x3792f412cb06794d}, {0x808e17555f3ebf11, 0xe2bbd88bbee40bd0},
    {0xa0b19d2ab70e6ed6, 0x5b6aceaeae9d0ec4}, {0xc8de047564d20a8b, 0xf245825a5a445275},
    {0xfb158592be068d2e, 0xeed6e2f0f0d56712}, {0x9ced737bb6c4183d, 0x55464dd69685606b},
    {0xc428d05aa4751e4c, 0xaa97e14c3c26b886}, {0xf53304714d9265df, 0xd53dd99f4b3066a8},
    {0x993fe2c6d07b7fab, 0xe546a8038efe4029}, {0xbf8fdb78849a5f96, 0xde98520472bdd033},
    {0xef73d256a5c0f77c, 0x963e66858f6d4440}, {0x95a8637627989aad, 0xdde7001379a44aa8},
    {0xbb127c53b17ec159, 0x5560c018580d5d52}, {0xe9d71b689dde71af, 0xaab8f01e6e10b4a6},
    {0x9226712162ab070d, 0xcab3961304ca70e8}, {0xb6b00d69bb55c8d1, 0x3d607b97c5fd0d22},
    {0xe45c10c42a2b3b05, 0x8cb89a7db77c506a}, {0x8eb98a7a9a5b04e3, 0x77f3608e92adb242},
    {0xb267ed1940f1c61c, 0x55f038b237591ed3}, {0xdf01e85f912e37a3, 0x6b6c46dec52f6688},
    {0x8b61313bbabce2c6, 0x2323ac4b3b3da015}, {0xae397d8aa96c1b77, 0xabec975e0a0d081a},
    {0xd9c7dced53c72255, 0x96e7bd358c904a21}, {0x881cea14545c7575, 0x7e50d64177da2e54},
    {0xaa242499697392d2, 0xdde50bd1d5d0b9e9}, {0xd4ad2dbfc3d07787, 0x955e4ec64b44e864},
    {0x84ec3c97da624ab4, 0xbd5af13bef0b113e}, {0xa6274bbdd0fadd61, 0xecb1ad8aeacdd58e},
    {0xcfb11ead453994ba, 0x67de18eda5814af2}, {0x81ceb32c4b43fcf4, 0x80eacf948770ced7},
    {0xa2425ff75e14fc31, 0xa1258379a94d028d}, {0xcad2f7f5359a3b3e, 0x096ee45813a04330},
    {0xfd87b5f28300ca0d, 0x8bca9d6e188853fc}, {0x9e74d1b791e07e48, 0x775ea264cf55347e},
    {0xc612062576589dda, 0x95364afe032a819e}, {0xf79687aed3eec551, 0x3a83ddbd83f52205},
    {0x9abe14cd44753b52, 0xc4926a9672793543}, {0xc16d9a0095928a27, 0x75b7053c0f178294},
    {0xf1c90080baf72cb1, 0x5324c68b12dd6339}, {0x971da05074da7bee, 0xd3f6fc16ebca5e04},
    {0xbce5086492111aea, 0x88f4bb1ca6bcf585}, {0xec1e4a7db69561a5, 0x2b31e9e3d06c32e6},
    {0x9392ee8e921d5d07, 0x3aff322e62439fd0}, {0xb877aa3236a4b449, 0x09befeb9fad487c3},
    {0xe69594bec44de15b, 0x4c2ebe687989a9b4}, {0x901d7cf73ab0acd9, 0x0f9d37014bf60a11},
    {0xb424dc35095cd80f, 0x538484c19ef38c95}, {0xe12e13424bb40e13, 0x2865a5f206b06fba},
    {0x8cbccc096f5088cb, 0xf93f87b7442e45d4}, {0xafebff0bcb24aafe, 0xf78f69a51539d749},
    {0xdbe6fecebdedd5be, 0xb573440e5a884d1c}, {0x89705f4136b4a597, 0x31680a88f8953031},
    {0xabcc77118461cefc, 0xfdc20d2b36ba7c3e}, {0xd6bf94d5e57a42bc, 0x3d32907604691b4d},
    {0x8637bd05af6c69b5, 0xa63f9a49c2c1b110}, {0xa7c5ac471b478423, 0x0fcf80dc33721d54},
    {0xd1b71758e219652b, 0xd3c36113404ea4a9}, {0x83126e978d4fdf3b, 0x645a1cac083126ea},
    {0xa3d70a3d70a3d70a, 0x3d70a3d70a3d70a4}, {0xcccccccccccccccc, 0xcccccccccccccccd},
    {0x8000000000000000, 0x0000000000000000}, {0xa000000000000000, 0x0000000000000000},
    {0xc800000000000000, 0x0000000000000000}, {0xfa00000000000000, 0x0000000000000000},
    {0x9c40000000000000, 0x0000000000000000}, {0xc350000000000000, 0x0000000000000000},
    {0xf424000000000000, 0x0000000000000000}, {0x9896800000000000, 0x0000000000000000},
    {0xbebc200000000000, 0x0000000000000000}, {0xee6b280000000000, 0x0000000000000000},
    {0x9502f90000000000, 0x0000000000000000}, {0xba43b74000000000, 0x0000000000000000},
    {0xe8d4a51000000000, 0x0000000000000000}, {0x9184e72a00000000, 0x0000000000000000},
    {0xb5e620f480000000, 0x0000000000000000}, {0xe35fa931a0000000, 0x0000000000000000},
    {0x8e1bc9bf04000000, 0x0000000000000000}, {0xb1a2bc2ec5000000, 0x0000000000000000},
    {0xde0b6b3a76400000, 0x0000000000000000}, {0x8ac7230489e80000, 0x0000000000000000},
    {0xad78ebc5ac620000, 0x0000000000000000}, {0xd8d726b7177a8000, 0x0000000000000000},
    {0x878678326eac9000, 0x0000000000000000}, {0xa968163f0a57b400, 0x0000000000000000},
    {0xd3c21bcecceda100, 0x0000000000000000}, {0x84595161401484a0, 0x0000000000000000},
    {0xa56fa5b99019a5c8, 0x0000000000000000}, {0xcecb8f27f4200f3a, 0x0000000000000000},
    {0x813f3978f8940984, 0x4000000000000000}, {0xa18f07d736b90be5, 0x5000000000000000},
    {0xc9f2c9cd04674ede, 0xa400000000000000}, {0xfc6f7c4045812296, 0x4d00000000000000},
    {0x9dc5ada82b70b59d, 0xf020000000000000}, {0xc5371912364ce305, 0x6c28000000000000},
    {0xf684df56c3e01bc6, 0xc732000000000000}, {0x9a130b963a6c115c, 0x3c7f400000000000},
    {0xc097ce7bc90715b3, 0x4b9f100000000000}, {0xf0bdc21abb48db20, 0x1e86d40000000000},
    {0x96769950b50d88f4, 0x1314448000000000}, {0xbc143fa4e250eb31, 0x17d955a000000000},
    {0xeb194f8e1ae525fd, 0x5dcfab0800000000}, {0x92efd1b8d0cf37be, 0x5aa1cae500000000},
    {0xb7abc627050305ad, 0xf14a3d9e40000000}, {0xe596b7b0c643c719, 0x6d9ccd05d0000000},
    {0x8f7e32ce7bea5c6f, 0xe4820023a2000000}, {0xb35dbf821ae4f38b, 0xdda2802c8a800000},
    {0xe0352f62a19e306e, 0xd50b2037ad200000}, {0x8c213d9da502de45, 0x4526f422cc340000},
    {0xaf298d050e4395d6, 0x9670b12b7f410000}, {0xdaf3f04651d47b4c, 0x3c0cdd765f114000},
    {0x88d8762bf324cd0f, 0xa5880a69fb6ac800}, {0xab0e93b6efee0053, 0x8eea0d047a457a00},
    {0xd5d238a4abe98068, 0x72a4904598d6d880}, {0x85a36366eb71f041, 0x47a6da2b7f864750},
    {0xa70c3c40a64e6c51, 0x999090b65f67d924}, {0xd0cf4b50cfe20765, 0xfff4b4e3f741cf6d},
    {0x82818f1281ed449f, 0xbff8f10e7a8921a4}, {0xa321f2d7226895c7, 0xaff72d52192b6a0d},
    {0xcbea6f8ceb02bb39, 0x9bf4f8a69f764490}, {0xfee50b7025c36a08, 0x02f236d04753d5b4},
    {0x9f4f2726179a2245, 0x01d762422c946590}, {0xc722f0ef9d80aad6, 0x424d3ad2b7b97ef5},
    {0xf8ebad2b84e0d58b, 0xd2e0898765a7deb2}, {0x9b934c3b330c8577, 0x63cc55f49f88eb2f},
    {0xc2781f49ffcfa6d5, 0x3cbf6b71c76b25fb}, {0xf316271c7fc3908a, 0x8bef464e3945ef7a},
    {0x97edd871cfda3a56, 0x97758bf0e3cbb5ac}, {0xbde94e8e43d0c8ec, 0x3d52eeed1cbea317},
    {0xed63a231d4c4fb27, 0x4ca7aaa863ee4bdd}, {0x945e455f24fb1cf8, 0x8fe8caa93e74ef6a},
    {0xb975d6b6ee39e436, 0xb3e2fd538e122b44}, {0xe7d34c64a9c85d44, 0x60dbbca87196b616},
    {0x90e40fbeea1d3a4a, 0xbc8955e946fe31cd}, {0xb51d13aea4a488dd, 0x6babab6398bdbe41},
    {0xe264589a4dcdab14, 0xc696963c7eed2dd1}, {0x8d7eb76070a08aec, 0xfc1e1de5cf543ca2},
    {0xb0de65388cc8ada8, 0x3b25a55f43294bcb}, {0xdd15fe86affad912, 0x49ef0eb713f39ebe},
    {0x8a2dbf142dfcc7ab, 0x6e3569326c784337}, {0xacb92ed9397bf996, 0x49c2c37f07965404},
    {0xd7e77a8f87daf7fb, 0xdc33745ec97be906}, {0x86f0ac99b4e8dafd, 0x69a028bb3ded71a3},
    {0xa8acd7c0222311bc, 0xc40832ea0d68ce0c}, {0xd2d80db02aabd62b, 0xf50a3fa490c30190},
    {0x83c7088e1aab65db, 0x792667c6da79e0fa}, {0xa4b8cab1a1563f52, 0x577001b891185938},
    {0xcde6fd5e09abcf26, 0xed4c0226b55e6f86}, {0x80b05e5ac60b6178, 0x544f8158315b05b4},
    {0xa0dc75f1778e39d6, 0x696361ae3db1c721}, {0xc913936dd571c84c, 0x03bc3a19cd1e38e9},
    {0xfb5878494ace3a5f, 0x04ab48a04065c723}, {0x9d174b2dcec0e47b, 0x62eb0d64283f9c76},
    {0xc45d1df942711d9a, 0x3ba5d0bd324f8394}, {0xf5746577930d6500, 0xca8f44ec7ee36479},
    {0x9968bf6abbe85f20, 0x7e998b13cf4e1ecb}, {0xbfc2ef456ae276e8, 0x9e3fedd8c321a67e},
    {0xefb3ab16c59b14a2, 0xc5cfe94ef3ea101e}, {0x95d04aee3b80ece5, 0xbba1f1d158724a12},
    {0xbb445da9ca61281f, 0x2a8a6e45ae8edc97}, {0xea1575143cf97226, 0xf52d09d71a3293bd},
    {0x924d692ca61be758, 0x593c2626705f9c56}, {0xb6e0c377cfa2e12e, 0x6f8b2fb00c77836c},
    {0xe498f455c38b997a, 0x0b6dfb9c0f956447}, {0x8edf98b59a373fec, 0x4724bd4189bd5eac},
    {0xb2977ee300c50fe7, 0x58edec91ec2cb657}, {0xdf3d5e9bc0f653e1, 0x2f2967b66737e3ed},
    {0x8b865b215899f46c, 0xbd79e0d20082ee74}, {0xae67f1e9aec07187, 0xecd8590680a3aa11},
    {0xda01ee641a708de9, 0xe80e6f4820cc9495}, {0x884134fe908658b2, 0x3109058d147fdcdd},
    {0xaa51823e34a7eede, 0xbd4b46f0599fd415}, {0xd4e5e2cdc1d1ea96, 0x6c9e18ac7007c91a},
    {0x850fadc09923329e, 0x03e2cf6bc604ddb0}, {0xa6539930bf6bff45, 0x84db8346b786151c},
    {0xcfe87f7cef46ff16, 0xe612641865679a63}, {0x81f14fae158c5f6e, 0x4fcb7e8f3f60c07e},
    {0xa26da3999aef7749, 0xe3be5e330f38f09d}, {0xcb090c8001ab551c, 0x5cadf5bfd3072cc5},
    {0xfdcb4fa002162a63, 0x73d9732fc7c8f7f6}, {0x9e9f11c4014dda7e, 0x2867e7fddcdd9afa},
    {0xc646d63501a1511d, 0xb281e1fd541501b8}, {0xf7d88bc24209a565, 0x1f225a7ca91a4226},
    {0x9ae757596946075f, 0x3375788de9b06958}, {0xc1a12d2fc3978937, 0x0052d6b1641c83ae},
    {0xf209787bb47d6b84, 0xc0678c5dbd23a49a}, {0x9745eb4d50ce6332, 0xf840b7ba963646e0},
    {0xbd176620a501fbff, 0xb650e5a93bc3d898}, {0xec5d3fa8ce427aff, 0xa3e51f138ab4cebe},
    {0x93ba47c980e98cdf, 0xc66f336c36b10137}, {0xb8a8d9bbe123f017, 0xb80b0047445d4184},
    {0xe6d3102ad96cec1d, 0xa60dc059157491e5}, {0x9043ea1ac7e41392, 0x87c89837ad68db2f},
    {0xb454e4a179dd1877, 0x29babe4598c311fb}, {0xe16a1dc9d8545e94, 0xf4296dd6fef3d67a},
    {0x8ce2529e2734bb1d, 0x1899e4a65f58660c}, {0xb01ae745b101e9e4, 0x5ec05dcff72e7f8f},
    {0xdc21a1171d42645d, 0x76707543f4fa1f73}, {0x899504ae72497eba, 0x6a06494a791c53a8},
    {0xabfa45da0edbde69, 0x0487db9d17636892}, {0xd6f8d7509292d603, 0x45a9d2845d3c42b6},
    {0x865b86925b9bc5c2, 0x0b8a2392ba45a9b2}, {0xa7f26836f282b732, 0x8e6cac7768d7141e},
    {0xd1ef0244af2364ff, 0x3207d795430cd926}, {0x8335616aed761f1f, 0x7f44e6bd49e807b8},
    {0xa402b9c5a8d3a6e7, 0x5f16206c9c6209a6}, {0xcd036837130890a1, 0x36dba887c37a8c0f},
    {0x802221226be55a64, 0xc2494954da2c9789}, {0xa02aa96b06deb0fd, 0xf2db9baa10b7bd6c},
    {0xc83553c5c8965d3d, 0x6f92829494e5acc7}, {0xfa42a8b73abbf48c, 0xcb772339ba1f17f9},
    {0x9c69a97284b578d7, 0xff2a760414536efb}, {0xc38413cf25e2d70d, 0xfef5138519684aba},
    {0xf46518c2ef5b8cd1, 0x7eb258665fc25d69}, {0x98bf2f79d5993802, 0xef2f773ffbd97a61},
    {0xbeeefb584aff8603, 0xaafb550ffacfd8fa}, {0xeeaaba2e5dbf6784, 0x95ba2a53f983cf38},
    {0x952ab45cfa97a0b2, 0xdd945a747bf26183}, {0xba756174393d88df, 0x94f971119aeef9e4},
    {0xe912b9d1478ceb17, 0x7a37cd5601aab85d}, {0x91abb422ccb812ee, 0xac62e055c10ab33a},
    {0xb616a12b7fe617aa, 0x577b986b314d6009}, {0xe39c49765fdf9d94, 0xed5a7e85fda0b80b},
    {0x8e41ade9fbebc27d, 0x14588f13be847307}, {0xb1d219647ae6b31c, 0x596eb2d8ae258fc8},
    {0xde469fbd99a05fe3, 0x6fca5f8ed9aef3bb}, {0x8aec23d680043bee, 0x25de7bb9480d5854},
    {0xada72ccc20054ae9, 0xaf561aa79a10ae6a}, {0xd910f7ff28069da4, 0x1b2ba1518094da04},
    {0x87aa9aff79042286, 0x90fb44d2f05d0842}, {0xa99541bf57452b28, 0x353a1607ac744a53},
    {0xd3fa922f2d1675f2, 0x42889b8997915ce8}, {0x847c9b5d7c2e09b7, 0x69956135febada11},
    {0xa59bc234db398c25, 0x43fab9837e699095}, {0xcf02b2c21207ef2e, 0x94f967e45e03f4bb},
    {0x8161afb94b44f57d, 0x1d1be0eebac278f5}, {0xa1ba1ba79e1632dc, 0x6462d92a69731732},
    {0xca28a291859bbf93, 0x7d7b8f7503cfdcfe}, {0xfcb2cb35e702af78, 0x5cda735244c3d43e},
    {0x9defbf01b061adab, 0x3a0888136afa64a7}, {0xc56baec21c7a1916, 0x088aaa1845b8fdd0},
    {0xf6c69a72a3989f5b, 0x8aad549e57273d45}, {0x9a3c2087a63f6399, 0x36ac54e2f678864b},
    {0xc0cb28a98fcf3c7f, 0x84576a1bb416a7dd}, {0xf0fdf2d3f3c30b9f, 0x656d44a2a11c51d5},
    {0x969eb7c47859e743, 0x9f644ae5a4b1b325}, {0xbc4665b596706114, 0x873d5d9f0dde1fee},
    {0xeb57ff22fc0c7959, 0xa90cb506d155a7ea}, {0x9316ff75dd87cbd8, 0x09a7f12442d588f2},
    {0xb7dcbf5354e9bece, 0x0c11ed6d538aeb2f}, {0xe5d3ef282a242e81, 0x8f1668c8a86da5fa},
    {0x8fa475791a569d10, 0xf96e017d694487bc}, {0xb38d92d760ec4455, 0x37c981dcc395a9ac},
    {0xe070f78d3927556a, 0x85bbe253f47b1417}, {0x8c469ab843b89562, 0x93956d7478ccec8e},
    {0xaf58416654a6babb, 0x387ac8d1970027b2}, {0xdb2e51bfe9d0696a, 0x06997b05fcc0319e},
    {0x88fcf317f22241e2, 0x441fece3bdf81f03}, {0xab3c2fddeeaad25a, 0xd527e81cad7626c3},
    {0xd60b3bd56a5586f1, 0x8a71e223d8d3b074}, {0x85c7056562757456, 0xf6872d5667844e49},
    {0xa738c6bebb12d16c, 0xb428f8ac016561db}, {0xd106f86e69d785c7, 0xe13336d701beba52},
    {0x82a45b450226b39c, 0xecc0024661173473}, {0xa34d721642b06084, 0x27f002d7f95d0190},
    {0xcc20ce9bd35c78a5, 0x31ec038df7b441f4}, {0xff290242c83396ce, 0x7e67047175a15271},
    {0x9f79a169bd203e41, 0x0f0062c6e984d386}, {0xc75809c42c684dd1, 0x52c07b78a3e60868},
    {0xf92e0c3537826145, 0xa7709a56ccdf8a82}, {0x9bbcc7a142b17ccb, 0x88a66076400bb691},
    {0xc2abf989935ddbfe, 0x6acff893d00ea435}, {0xf356f7ebf83552fe, 0x0583f6b8c4124d43},
    {0x98165af37b2153de, 0xc3727a337a8b704a}, {0xbe1bf1b059e9a8d6, 0x744f18c0592e4c5c},
    {0xeda2ee1c7064130c, 0x1162def06f79df73}, {0x9485d4d1c63e8be7, 0x8addcb5645ac2ba8},
    {0xb9a74a0637ce2ee1, 0x6d953e2bd7173692}, {0xe8111c87c5c1ba99, 0xc8fa8db6ccdd0437},
    {0x910ab1d4db9914a0, 0x1d9c9892400a22a2}, {0xb54d5e4a127f59c8, 0x2503beb6d00cab4b},
    {0xe2a0b5dc971f303a, 0x2e44ae64840fd61d}, {0x8da471a9de737e24, 0x5ceaecfed289e5d2},
    {0xb10d8e1456105dad, 0x7425a83e872c5f47}, {0xdd50f1996b947518, 0xd12f124e28f77719},
    {0x8a5296ffe33cc92f, 0x82bd6b70d99aaa6f}, {0xace73cbfdc0bfb7b, 0x636cc64d1001550b},
    {0xd8210befd30efa5a, 0x3c47f7e05401aa4e}, {0x8714a775e3e95c78, 0x65acfaec34810a71},
    {0xa8d9d1535ce3b396, 0x7f1839a741a14d0d}, {0xd31045a8341ca07c, 0x1ede48111209a050},
    {0x83ea2b892091e44d, 0x934aed0aab460432}, {0xa4e4b66b68b65d60, 0xf81da84d5617853f},
    {0xce1de40642e3f4b9, 0x36251260ab9d668e}, {0x80d2ae83e9ce78f3, 0xc1d72b7c6b426019},
    {0xa1075a24e4421730, 0xb24cf65b8612f81f}, {0xc94930ae1d529cfc, 0xdee033f26797b627},
    {0xfb9b7cd9a4a7443c, 0x169840ef017da3b1}, {0x9d412e0806e88aa5, 0x8e1f289560ee864e},
    {0xc491798a08a2ad4e, 0xf1a6f2bab92a27e2}, {0xf5b5d7ec8acb58a2, 0xae10af696774b1db},
    {0x9991a6f3d6bf1765, 0xacca6da1e0a8ef29}, {0xbff610b0cc6edd3f, 0x17fd090a58d32af3},
    {0xeff394dcff8a948e, 0xddfc4b4cef07f5b0}, {0x95f83d0a1fb69cd9, 0x4abdaf101564f98e},
    {0xbb764c4ca7a4440f, 0x9d6d1ad41abe37f1}, {0xea53df5fd18d5513, 0x84c86189216dc5ed},
    {0x92746b9be2f8552c, 0x32fd3cf5b4e49bb4}, {0xb7118682dbb66a77, 0x3fbc8c33221dc2a1},
    {0xe4d5e82392a40515, 0x0fabaf3feaa5334a}, {0x8f05b1163ba6832d, 0x29cb4d87f2a7400e},
    {0xb2c71d5bca9023f8, 0x743e20e9ef511012}, {0xdf78e4b2bd342cf6, 0x914da9246b255416},
    {0x8bab8eefb6409c1a, 0x1ad089b6c2f7548e}, {0xae9672aba3d0c320, 0xa184ac2473b529b1},
    {0xda3c0f568cc4f3e8, 0xc9e5d72d90a2741e}, {0x8865899617fb1871, 0x7e2fa67c7a658892},
    {0xaa7eebfb9df9de8d, 0xddbb901b98feeab7}, {0xd51ea6fa85785631, 0x552a74227f3ea565},
    {0x8533285c936b35de, 0xd53a88958f87275f}, {0xa67ff273b8460356, 0x8a892abaf368f137},
    {0xd01fef10a657842c, 0x2d2b7569b0432d85}, {0x8213f56a67f6b29b, 0x9c3b29620e29fc73},
    {0xa298f2c501f45f42, 0x8349f3ba91b47b8f}, {0xcb3f2f7642717713, 0x241c70a936219a73},
    {0xfe0efb53d30dd4d7, 0xed238cd383aa0110}, {0x9ec95d1463e8a506, 0xf4363804324a40aa},
    {0xc67bb4597ce2ce48, 0xb143c6053edcd0d5}, {0xf81aa16fdc1b81da, 0xdd94b7868e94050a},
    {0x9b10a4e5e9913128, 0xca7cf2b4191c8326}, {0xc1d4ce1f63f57d72, 0xfd1c2f611f63a3f0},
    {0xf24a01a73cf2dccf, 0xbc633b39673c8cec}, {0x976e41088617ca01, 0xd5be0503e085d813},
    {0xbd49d14aa79dbc82, 0x4b2d8644d8a74e18}, {0xec9c459d51852ba2, 0xddf8e7d60ed1219e},
    {0x93e1ab8252f33b45, 0xcabb90e5c942b503}, {0xb8da1662e7b00a17, 0x3d6a751f3b936243},
    {0xe7109bfba19c0c9d, 0x0cc512670a783ad4}, {0x906a617d450187e2, 0x27fb2b80668b24c5},
    {0xb484f9dc9641e9da, 0xb1f9f660802dedf6}, {0xe1a63853bbd26451, 0x5e7873f8a0396973},
    {0x8d07e33455637eb2, 0xdb0b487b6423e1e8}, {0xb049dc016abc5e5f, 0x91ce1a9a3d2cda62},
    {0xdc5c5301c56b75f7, 0x7641a140cc7810fb}, {0x89b9b3e11b6329ba, 0xa9e904c87fcb0a9d},
    {0xac2820d9623bf429, 0x546345fa9fbdcd44}, {0xd732290fbacaf133, 0xa97c177947ad4095},
    {0x867f59a9d4bed6c0, 0x49ed8eabcccc485d}, {0xa81f301449ee8c70, 0x5c68f256bfff5a74},
    {0xd226fc195c6a2f8c, 0x73832eec6fff3111}, {0x83585d8fd9c25db7, 0xc831fd53c5ff7eab},
    {0xa42e74f3d032f525, 0xba3e7ca8b77f5e55}, {0xcd3a1230c43fb26f, 0x28ce1bd2e55f35eb},
    {0x80444b5e7aa7cf85, 0x7980d163cf5b81b3}, {0xa0555e361951c366, 0xd7e105bcc332621f},
    {0xc86ab5c39fa63440, 0x8dd9472bf3fefaa7}, {0xfa856334878fc150, 0xb14f98f6f0feb951},
    {0x9c935e00d4b9d8d2, 0x6ed1bf9a569f33d3}, {0xc3b8358109e84f07, 0x0a862f80ec4700c8},
    {0xf4a642e14c6262c8, 0xcd27bb612758c0fa}, {0x98e7e9cccfbd7dbd, 0x8038d51cb897789c},
    {0xbf21e44003acdd2c, 0xe0470a63e6bd56c3}, {0xeeea5d5004981478, 0x1858ccfce06cac74},
    {0x95527a5202df0ccb, 0x0f37801e0c43ebc8}, {0xbaa718e68396cffd, 0xd30560258f54e6ba},
    {0xe950df20247c83fd, 0x47c6b82ef32a2069}, {0x91d28b7416cdd27e, 0x4cdc331d57fa5441},
    {0xb6472e511c81471d, 0xe0133fe4adf8e952}, {0xe3d8f9e563a198e5, 0x58180fddd97723a6},
    {0x8e679c2f5e44ff8f, 0x570f09eaa7ea7648},
};

typedef struct mbi_binary { /* a binary floating-point format */
  int fraction_bits;
  int bias;     /* value = significand * 2^(stored exponent - bias - fraction_bits) */
  int infinite; /* stored exponent of infinity */
  int tie_first, tie_last; /* powers of ten whose multiples can be exact ties */
} mbi_binary;

static const mbi_binary mbi_binary_f64 = {52, 1023, 0x7FF, -4, 23};
static const mbi_binary mbi_binary_f32 = {23, 127, 0xFF, -17, 10};

typedef struct mbi_decimal { /* a scanned number: +-digits * 10^exponent */
  const char *text;          /* the first digit or point */
  const char *text_end;      /* behind the last one */
  uint64_t digits;           /* the first 19 significant digits */
  int64_t exponent;          /* of the last of them */
  int negative;
  int integer; /* neither point nor exponent */
  int cut;     /* there are digits beyond the 19th */
} mbi_decimal;

/* ---- Scanning ---------------------------------------------------------------------------- */

static int mbi_is_digit(char c) {
  return (unsigned char)(c - '0') < 10;
}

static uint64_t mbi_load8(const char *text) {
  uint64_t bytes;
  memcpy(&bytes, text, sizeof bytes);
  return bytes;
}

/* How many of eight characters (little-endian, each xor '0') are digits before the first other
 * one. */
static int mbi_eight_count(uint64_t bytes) {
  const uint64_t other =
      ((bytes + UINT64_C(0x0606060606060606)) | bytes) & UINT64_C(0xF0F0F0F0F0F0F0F0);
  return other == 0 ? 8 : __builtin_ctzll(other) >> 3;
}

/* The number that eight digits spell, the first in the lowest byte: pairs, fours, eights. */
static uint64_t mbi_eight_value(uint64_t bytes) {
  bytes = (bytes * 10 + (bytes >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
  bytes = (bytes * 100 + (bytes >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
  return (bytes * 10000 + (bytes >> 32)) & UINT64_C(0xFFFFFFFF);
}

/* A run of digits appended to *value, modulo 2^64. */
static const char *mbi_digits_scan(const char *p, uint64_t *value) {
  static const uint64_t powers[] = {1,      10,      100,      1000,     10000,
                                    100000, 1000000, 10000000, 100000000};
  int count;
  do {
    const uint64_t bytes = mbi_load8(p) ^ UINT64_C(0x3030303030303030);
    count = mbi_eight_count(bytes);
    if (count == 0) {
      break;
    }
    *value = *value * powers[count] + mbi_eight_value(bytes << (64 - 8 * count));
    p += count;
  } while (count == 8);
  return p;
}

/* More than 19 digits: drop leading zeros, and keep the first 19 of what remains. */
static void mbi_decimal_shorten(mbi_decimal *d, int64_t fraction) {
  const char *p = d->text;
  int64_t left = d->text_end - d->text - (fraction >= 0);
  int64_t kept = 0;
  while (p < d->text_end && (*p == '0' || *p == '.')) {
    left -= *p == '0';
    p++;
  }
  if (left <= 19) {
    return; /* the zeros added nothing to d->digits */
  }
  d->digits = 0;
  for (; kept < 19; p++) {
    if (*p != '.') {
      d->digits = d->digits * 10 + (uint64_t)(*p - '0');
      kept++;
    }
  }
  d->cut = 1;
  d->exponent += left - 19;
}

/* [+-] digits [. digits] [(e|E|d|D) [+-] digits], D being Fortran's. Returns the end, or NULL
 * where that is no number. A newline must follow somewhere, and eight readable bytes from it
 * on. */
static const char *mbi_decimal_scan(const char *p, mbi_decimal *d) {
  int64_t fraction = -1; /* digits behind the point; negative: there is none */
  d->negative = *p == '-';
  p += *p == '-' || *p == '+';
  d->text = p;
  d->digits = 0;
  d->cut = 0;
  p = mbi_digits_scan(p, &d->digits);
  if (*p == '.') {
    const char *point = p + 1;
    p = mbi_digits_scan(point, &d->digits);
    fraction = p - point;
  }
  d->text_end = p;
  d->integer = fraction < 0;
  d->exponent = fraction > 0 ? -fraction : 0;
  if (p - d->text == (fraction >= 0)) {
    return NULL;
  }
  if (p - d->text > 19) {
    mbi_decimal_shorten(d, fraction);
  }
  if ((*p | 0x20) == 'e' || (*p | 0x20) == 'd') {
    int64_t exponent = 0;
    const int negative = p[1] == '-';
    p += 1 + (p[1] == '-' || p[1] == '+');
    if (!mbi_is_digit(*p)) {
      return NULL;
    }
    for (; mbi_is_digit(*p); p++) {
      if (exponent < INT64_C(1000000000000000)) { /* beyond the digits of any line */
        exponent = exponent * 10 + (*p - '0');
      }
    }
    d->exponent += negative ? -exponent : exponent;
    d->integer = 0;
  }
  return p;
}

/* ---- Rounding ---------------------------------------------------------------------------- */

/* The bits of the nearest number to w * 10^q, without sign; infinity where that is out of
 * range. */
static uint64_t mbi_decimal_nearest(uint64_t w, int64_t q, const mbi_binary *format) {
  const uint64_t infinity = (uint64_t)format->infinite << format->fraction_bits;
  const uint64_t *five;
  uint64_t high, low, fraction;
  int zeros, upper, shift, exponent;
  mbi_u128 product;
  if (w == 0 || q < MBI_FIVE_FIRST) {
    return 0;
  }
  if (q > MBI_FIVE_LAST) {
    return infinity;
  }
  zeros = __builtin_clzll(w);
  w <<= zeros;
  five = mbi_powers_of_five[q - MBI_FIVE_FIRST];
  product = (mbi_u128)w * five[0];
  high = (uint64_t)(product >> 64);
  low = (uint64_t)product;
  if ((high & (~UINT64_C(0) >> (format->fraction_bits + 3))) ==
      (~UINT64_C(0) >> (format->fraction_bits + 3))) {
    const uint64_t more = (uint64_t)(((mbi_u128)w * five[1]) >> 64);
    low += more;
    high += low < more;
  }
  upper = (int)(high >> 63);
  shift = upper + 61 - format->fraction_bits;
  fraction = high >> shift; /* two bits more than the format holds: hidden and rounding bit */
  exponent = (int)((q * (152170 + 65536)) >> 16) + 63 + upper - zeros + format->bias;
  if (exponent <= 0) { /* subnormal; ties cannot occur here */
    if (exponent < -62) {
      return 0;
    }
    fraction >>= 1 - exponent;
    return (fraction + (fraction & 1)) >> 1; /* a carry into the exponent is right */
  }
  if (low <= 1 && q >= format->tie_first && q <= format->tie_last && (fraction & 3) == 1 &&
      fraction << shift == high) {
    fraction--; /* an exact tie above an even number */
  }
  fraction = (fraction + (fraction & 1)) >> 1;
  fraction += (uint64_t)(exponent - 1) << format->fraction_bits; /* the hidden bit counts one */
  return fraction < infinity ? fraction : infinity;
}

/* ---- The exact comparison ---------------------------------------------------------------- */

#define MBI_BIG_LIMBS 96   /* 801 digits or 5^1143 times a significand, and a word to spare */
#define MBI_BIG_DIGITS 800 /* a halfway point between doubles has at most 767 */

typedef struct mbi_big { /* little-endian, no leading zero limbs */
  uint32_t limb[MBI_BIG_LIMBS];
  int count;
} mbi_big;

static void mbi_big_scale(mbi_big *big, uint32_t factor, uint32_t addend) {
  uint64_t carry = addend;
  int i;
  for (i = 0; i < big->count; i++) {
    carry += (uint64_t)big->limb[i] * factor;
    big->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry != 0) {
    big->limb[big->count++] = (uint32_t)carry;
  }
}

static void mbi_big_scale_fives(mbi_big *big, int64_t power) {
  for (; power >= 13; power -= 13) {
    mbi_big_scale(big, 1220703125, 0);
  }
  for (; power > 0; power--) {
    mbi_big_scale(big, 5, 0);
  }
}

static void mbi_big_shift(mbi_big *big, int64_t bits) {
  const int words = (int)(bits >> 5);
  mbi_big_scale(big, (uint32_t)1 << (bits & 31), 0);
  memmove(big->limb + words, big->limb, (size_t)big->count * sizeof big->limb[0]);
  memset(big->limb, 0, (size_t)words * sizeof big->limb[0]);
  big->count += words;
}

static int mbi_big_compare(const mbi_big *a, const mbi_big *b) {
  int i = a->count - 1;
  if (a->count != b->count) {
    return a->count < b->count ? -1 : 1;
  }
  while (i > 0 && a->limb[i] == b->limb[i]) {
    i--;
  }
  return a->limb[i] < b->limb[i] ? -1 : a->limb[i] > b->limb[i];
}

/* All digits as one integer, the first MBI_BIG_DIGITS and a 1 for any others. Returns their
 * power of ten. The compared numbers differ by less than a unit in the last place of the
 * format, so that neither outgrows its array. */
static int64_t mbi_big_read(mbi_big *big, const mbi_decimal *d) {
  int64_t count = 0;
  const char *p = d->text;
  int others = 0;
  big->count = 0;
  for (; p < d->text_end; p++) {
    if (*p == '.' || (count == 0 && *p == '0')) {
      continue;
    }
    if (count < MBI_BIG_DIGITS) {
      mbi_big_scale(big, 10, (uint32_t)(*p - '0'));
      count++;
    } else if (*p != '0') {
      others = 1;
    }
  }
  if (others) {
    mbi_big_scale(big, 10, 1);
  }
  return d->exponent + 19 - count - others;
}

/* The number is between the float `below` and the next one: compare it with the point halfway.
 */
static uint64_t mbi_decimal_settle(const mbi_decimal *d, uint64_t below,
                                   const mbi_binary *format) {
  const uint64_t hidden = (uint64_t)1 << format->fraction_bits;
  const uint64_t twice = 2 * ((below & (hidden - 1)) | (below < hidden ? 0 : hidden)) + 1;
  const int64_t stored = below < hidden ? 1 : (int64_t)(below >> format->fraction_bits);
  int64_t shift = stored - format->bias - format->fraction_bits - 1; /* of the halfway point */
  mbi_big number, halfway;
  const int64_t ten = mbi_big_read(&number, d);
  int order;
  halfway.limb[0] = (uint32_t)twice;
  halfway.limb[1] = (uint32_t)(twice >> 32);
  halfway.count = halfway.limb[1] != 0 ? 2 : 1;
  mbi_big_scale_fives(&number, ten);
  mbi_big_scale_fives(&halfway, -ten);
  shift -= ten;
  mbi_big_shift(shift < 0 ? &number : &halfway, shift < 0 ? -shift : shift);
  order = mbi_big_compare(&number, &halfway);
  return below + (order > 0 || (order == 0 && (below & 1) != 0) ? 1 : 0);
}

static uint64_t mbi_decimal_bits(const mbi_decimal *d, const mbi_binary *format) {
  const uint64_t bits = mbi_decimal_nearest(d->digits, d->exponent, format);
  if (d->cut && bits != mbi_decimal_nearest(d->digits + 1, d->exponent, format)) {
    return mbi_decimal_settle(d, bits, format);
  }
  return bits;
}

/* 0 where the nearest double would be infinite. */
static int mbi_decimal_f64(const mbi_decimal *d, double *value) {
  const uint64_t bits = mbi_decimal_bits(d, &mbi_binary_f64);
  const uint64_t all = bits | (uint64_t)d->negative << 63;
  memcpy(value, &all, sizeof *value);
  return bits < UINT64_C(0x7FF0000000000000);
}

/* The same for float, from the decimal at once: no rounding twice. */
static int mbi_decimal_f32(const mbi_decimal *d, float *value) {
  const uint32_t bits = (uint32_t)mbi_decimal_bits(d, &mbi_binary_f32);
  const uint32_t all = bits | (uint32_t)d->negative << 31;
  memcpy(value, &all, sizeof *value);
  return bits < UINT32_C(0x7F800000);
}

/* ==== >>matrix/mm_input.c  Matrix Market: lines from a path, memory or a callback ========= */
#define MBI_MM_WINDOW 262144     /* bytes: the longest data line; stays in a core's cache */
#define MBI_MM_PAD 16            /* bytes that may be read behind a window */
#define MBI_MM_PROGRESS 16777216 /* bytes between two reports */
#define MBI_MM_QUOTE 80          /* a quoted piece of the input, every byte escaped */

/* Text comes in windows of whole lines. Each ends with a newline and has MBI_MM_PAD readable
 * bytes behind it: scanning that stops at '\n' may load eight bytes at once and needs no other
 * check. Memory is handed out in place but for its end. */
typedef struct mbi_mm_input {
  merbit_context *context;
  const merbit_read_desc *desc;
  const char *path; /* for the sentence; NULL where there is none */
  merbit_read_callback read;
  void *user;
  const char *block; /* memory that is not handed out yet */
  size_t block_size;
  const char *next, *end; /* the window's unread part */
  int64_t line;           /* the number of the line at `next` */
  char *buffer;
  const char *rest; /* in the buffer, behind the window: the start of a line */
  size_t rest_size;
  int ended;            /* the source is */
  int added;            /* 1: the last line's newline, which the input lacks */
  int in_comment;       /* of a line longer than the buffer */
  int64_t total, taken; /* bytes: in all (0: not known), so far */
  int64_t reported;
} mbi_mm_input;

/* A merbit_read_callback over in->block. */
static int64_t mbi_mm_read_block(void *user, void *data, size_t size) {
  mbi_mm_input *in = (mbi_mm_input *)user;
  if (size > in->block_size) {
    size = in->block_size;
  }
  if (size > 0) {
    memcpy(data, in->block, size);
    in->block += size;
    in->block_size -= size;
  }
  return (int64_t)size;
}

/* ---- Sentences --------------------------------------------------------------------------- */

/* The bytes from `text` to `end` in quotes; what is not plain ASCII as \xNN, what is long cut.
 */
static const char *mbi_mm_quote(const char *text, const char *end, char *quoted) {
  static const char hex[] = "0123456789abcdef";
  size_t size = 0;
  quoted[size++] = '"';
  for (; text < end && size < MBI_MM_QUOTE - 8; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c > 0x7E) {
      quoted[size++] = '\\';
      quoted[size++] = 'x';
      quoted[size++] = hex[c >> 4];
      quoted[size++] = hex[c & 15];
    } else {
      quoted[size++] = (char)c;
    }
  }
  (void)snprintf(quoted + size, MBI_MM_QUOTE - size, text < end ? "...\"" : "\"");
  return quoted;
}

static int mbi_mm_is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static const char *mbi_mm_skip_blanks(const char *p) {
  while (mbi_mm_is_blank(*p)) {
    p++;
  }
  return p;
}

static const char *mbi_mm_word_end(const char *p) {
  while (!mbi_mm_is_blank(*p) && *p != '\n') {
    p++;
  }
  return p;
}

/* The word at `p`, or the line without the blanks around it. */
static const char *mbi_mm_quote_word(const char *p, char *quoted) {
  return mbi_mm_quote(p, mbi_mm_word_end(p), quoted);
}

static const char *mbi_mm_quote_line(const char *p, char *quoted) {
  const char *end;
  p = mbi_mm_skip_blanks(p);
  end = p;
  while (*end != '\n') {
    end++;
  }
  while (end > p && mbi_mm_is_blank(end[-1])) {
    end--;
  }
  return mbi_mm_quote(p, end, quoted);
}

static merbit_status mbi_mm_read_failed(const mbi_mm_input *in, int64_t got) {
  if (in->path != NULL) {
    return mbi_fail(in->context, MERBIT_IO_ERROR,
                    "cannot read %.300s after %" PRId64 " bytes: %s", in->path, in->taken,
                    strerror(errno));
  }
  return mbi_fail(in->context, MERBIT_IO_ERROR,
                  "the read callback returned %" PRId64 " after %" PRId64 " bytes", got,
                  in->taken);
}

/* Packed files, told by their first bytes. */
static merbit_status mbi_mm_refuse_packed(const mbi_mm_input *in, const char *data,
                                          size_t size) {
  static const struct {
    const char *magic, *name, *remedy;
  } packers[] = {
      {"\x1f\x8b", "gzip", "gunzip"},
      {"BZh", "bzip2", "bunzip2"},
      {"\xfd"
       "7zXZ",
       "xz", "unxz"},
      {"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
      {"PK\x03\x04", "zip", "unzip"},
  };
  size_t i;
  for (i = 0; i < sizeof packers / sizeof packers[0]; i++) {
    const size_t length = strlen(packers[i].magic);
    if (size >= length && memcmp(data, packers[i].magic, length) == 0) {
      return mbi_fail(
          in->context, MERBIT_INVALID_FILE,
          "line 1: the input is packed with %s; unpack it first (%s) and read the result",
          packers[i].name, packers[i].remedy);
    }
  }
  return MERBIT_OK;
}

/* ---- Windows ----------------------------------------------------------------------------- */

static merbit_status mbi_mm_report(mbi_mm_input *in, int64_t step) {
  if (in->desc->progress == NULL || in->taken - in->reported < step) {
    return MERBIT_OK;
  }
  in->reported = in->taken;
  if (in->desc->progress(in->desc->progress_user, in->taken, in->total) != 0) {
    return mbi_fail(in->context, MERBIT_CANCELLED,
                    "the progress callback cancelled the read after %" PRId64 " bytes",
                    in->taken);
  }
  return MERBIT_OK;
}

/* Whole lines of memory in place, while enough bytes follow them. */
static int mbi_mm_window_in_place(mbi_mm_input *in) {
  size_t size = in->block_size;
  const char *last;
  if (size <= MBI_MM_PAD || in->rest_size > 0 || in->in_comment) {
    return 0;
  }
  size = size - MBI_MM_PAD < MBI_MM_WINDOW ? size - MBI_MM_PAD : MBI_MM_WINDOW;
  last = (const char *)memrchr(in->block, '\n', size);
  if (last == NULL) {
    return 0;
  }
  in->next = in->block;
  in->end = last + 1;
  size = (size_t)(in->end - in->next);
  in->block += size;
  in->block_size -= size;
  in->taken += (int64_t)size;
  return 1;
}

/* The rest of the last window and what can be read behind it, from the start of the buffer. */
static merbit_status mbi_mm_fill(mbi_mm_input *in, size_t *used) {
  *used = in->rest_size;
  memmove(in->buffer, in->rest, *used);
  while (!in->ended && *used < MBI_MM_WINDOW) {
    const size_t room = MBI_MM_WINDOW - *used;
    const int64_t got = in->read(in->user, in->buffer + *used, room);
    if (got < 0 || (uint64_t)got > room) {
      return mbi_mm_read_failed(in, got);
    }
    in->ended = got == 0;
    in->taken += got;
    *used += (size_t)got;
  }
  memset(in->buffer + *used, '\n', 2 * MBI_MM_PAD);
  return MERBIT_OK;
}

/* Whole lines of the buffer's first `used` bytes become the window: none where a line is
 * longer. The last line of the input may lack its newline. */
static void mbi_mm_window_in_buffer(mbi_mm_input *in, size_t used) {
  const char *last = (const char *)memrchr(in->buffer, '\n', used);
  in->next = in->buffer;
  in->end = last != NULL ? last + 1 : in->buffer;
  if (in->ended && used > 0 && in->buffer[used - 1] != '\n') {
    in->end = in->buffer + used + 1;
    in->added = 1;
    used++;
  }
  in->rest = in->end;
  in->rest_size = (size_t)(in->buffer + used - in->end);
}

/* Lines longer than the buffer may be comments, and are dropped piece by piece. */
static merbit_status mbi_mm_long_line(mbi_mm_input *in) {
  if (!in->in_comment && (in->line == 1 || *mbi_mm_skip_blanks(in->rest) != '%')) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line %" PRId64 ": longer than %d bytes, which only comments may be",
                    in->line, MBI_MM_WINDOW);
  }
  in->in_comment = 1;
  in->rest_size = 0;
  return MERBIT_OK;
}

static merbit_status mbi_mm_refuse_nul(mbi_mm_input *in, const char *data, size_t size) {
  const char *nul = (const char *)memchr(data, '\0', size);
  if (nul == NULL) {
    return MERBIT_OK;
  }
  for (; data < nul; data++) {
    in->line += *data == '\n';
  }
  return mbi_fail(in->context, MERBIT_INVALID_FILE,
                  "line %" PRId64 ": a zero byte; this is not a text file", in->line);
}

/* The next window; next == end at the end of the input. */
static merbit_status mbi_mm_refill(mbi_mm_input *in) {
  merbit_status status = MERBIT_OK;
  do {
    size_t used;
    if (mbi_mm_window_in_place(in)) {
      status = mbi_mm_refuse_nul(in, in->next, (size_t)(in->end - in->next));
      return status == MERBIT_OK ? mbi_mm_report(in, MBI_MM_PROGRESS) : status;
    }
    status = mbi_mm_fill(in, &used);
    if (status == MERBIT_OK) {
      status = mbi_mm_refuse_nul(in, in->buffer, used);
    }
    if (status == MERBIT_OK) {
      status = mbi_mm_report(in, MBI_MM_PROGRESS);
    }
    if (status != MERBIT_OK) {
      return status;
    }
    mbi_mm_window_in_buffer(in, used);
    if (in->next == in->end && used > 0) {
      status = mbi_mm_long_line(in);
    } else if (in->in_comment) { /* it ends, if only because the input does */
      in->next = used > 0
                     ? (const char *)memchr(in->next, '\n', (size_t)(in->end - in->next)) + 1
                     : in->end;
      in->line++;
      in->in_comment = 0;
    }
  } while (status == MERBIT_OK && in->next == in->end && !(in->ended && in->rest_size == 0));
  return status;
}

/* Go to the next line that is neither blank nor a comment. Both are taken anywhere behind the
 * banner, which is more than the definition allows and what its readers do. */
static merbit_status mbi_mm_next_line(mbi_mm_input *in) {
  for (;;) {
    const char *p;
    if (in->next == in->end) {
      const merbit_status status = mbi_mm_refill(in);
      if (status != MERBIT_OK || in->next == in->end) {
        return status;
      }
    }
    p = mbi_mm_skip_blanks(in->next);
    if (*p != '\n' && *p != '%') {
      return MERBIT_OK;
    }
    in->next = (const char *)memchr(p, '\n', (size_t)(in->end - p)) + 1;
    in->line++;
  }
}

/* The first window: not of an empty or packed input, and behind a byte order mark. */
static merbit_status mbi_mm_start(mbi_mm_input *in) {
  const char *head = in->block;
  size_t size = in->block_size;
  merbit_status status = MERBIT_OK;
  in->rest = in->buffer;
  in->line = 1;
  if (in->block == NULL) {
    status = mbi_mm_fill(in, &size);
    head = in->buffer;
    in->rest_size = size;
  }
  if (status == MERBIT_OK && size == 0) {
    status = mbi_fail(in->context, MERBIT_INVALID_FILE,
                      "line 1: the input is empty; a Matrix Market banner is expected");
  }
  if (status == MERBIT_OK) {
    status = mbi_mm_refuse_packed(in, head, size);
  }
  if (status == MERBIT_OK && size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) {
    if (in->block != NULL) {
      in->block += 3;
      in->block_size -= 3;
      in->taken += 3;
    } else {
      in->rest += 3;
      in->rest_size -= 3;
    }
  }
  return status == MERBIT_OK ? mbi_mm_refill(in) : status;
}

/* ==== >>matrix/mm_header.c  Matrix Market: banner and size line =========================== */
/* Banner and size line as R. F. Boisvert, R. Pozo and K. Remington define them: The Matrix
 * Market Exchange Formats: Initial Design, NISTIR 5935, 1996. One relaxation: a real
 * `hermitian` file is read as the symmetric matrix that it is. Comments mean nothing, so that a
 * `%%GraphBLAS type` line changes nothing. */
typedef enum mbi_mm_field {
  MBI_MM_REAL,
  MBI_MM_INTEGER,
  MBI_MM_PATTERN,
  MBI_MM_COMPLEX
} mbi_mm_field;

typedef enum mbi_mm_symmetry {
  MBI_MM_GENERAL,
  MBI_MM_SYMMETRIC,
  MBI_MM_SKEW,
  MBI_MM_HERMITIAN
} mbi_mm_symmetry;

typedef struct mbi_mm_header {
  int array; /* every entry, column by column; else coordinates */
  int field, symmetry;
  int64_t rows, cols;
  int64_t entries; /* lines that follow */
  int64_t line;    /* of these sizes */
} mbi_mm_header;

/* Behind `word` at `p`, whatever its case; NULL where that word does not stand there. */
static const char *mbi_mm_match(const char *p, const char *word) {
  for (; *word != '\0'; p++, word++) {
    const char c = *p >= 'A' && *p <= 'Z' ? (char)(*p + ('a' - 'A')) : *p;
    if (c != *word) {
      return NULL;
    }
  }
  return mbi_mm_is_blank(*p) || *p == '\n' ? p : NULL;
}

/* The next word of the banner must be one of `words`, which end with NULL. */
static merbit_status mbi_mm_choose(const mbi_mm_input *in, const char **at, const char *what,
                                   const char *const *words, int *choice) {
  const char *p = mbi_mm_skip_blanks(*at);
  char quoted[MBI_MM_QUOTE], expected[96];
  size_t used = 0;
  int i;
  for (i = 0; words[i] != NULL; i++) {
    const char *end = mbi_mm_match(p, words[i]);
    if (end != NULL) {
      *at = end;
      *choice = i;
      return MERBIT_OK;
    }
    used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s", i > 0 ? ", " : "",
                             words[i]);
  }
  if (*p == '\n') {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line 1: the banner ends before its %s; expected: %s", what, expected);
  }
  return mbi_fail(in->context, MERBIT_INVALID_FILE, "line 1: the %s is %s; expected: %s", what,
                  mbi_mm_quote_word(p, quoted), expected);
}

/* What the definition's table of combinations leaves out. */
static merbit_status mbi_mm_check_banner(const mbi_mm_input *in, const mbi_mm_header *header) {
  if (header->field == MBI_MM_PATTERN && header->array) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line 1: an array file cannot be a pattern, which has no values to list");
  }
  if (header->field == MBI_MM_PATTERN && header->symmetry >= MBI_MM_SKEW) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line 1: a pattern is general or symmetric; it has no values to negate");
  }
  if (header->field == MBI_MM_COMPLEX) {
    return mbi_fail(
        in->context, MERBIT_NOT_SUPPORTED,
        "line 1: the field is complex; this version reads real, integer and pattern");
  }
  return MERBIT_OK;
}

static merbit_status mbi_mm_read_banner(mbi_mm_input *in, mbi_mm_header *header) {
  static const char *const objects[] = {"matrix", NULL};
  static const char *const formats[] = {"coordinate", "array", NULL};
  static const char *const fields[] = {"real", "integer", "pattern", "complex", NULL};
  static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric",
                                           "hermitian", NULL};
  const char *p = mbi_mm_match(in->next, "%%matrixmarket");
  char quoted[MBI_MM_QUOTE];
  int object;
  merbit_status status;
  if (p == NULL) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line 1: %s; expected a banner that begins with %%%%MatrixMarket",
                    mbi_mm_quote_line(in->next, quoted));
  }
  status = mbi_mm_choose(in, &p, "object", objects, &object);
  if (status == MERBIT_OK) {
    status = mbi_mm_choose(in, &p, "format", formats, &header->array);
  }
  if (status == MERBIT_OK) {
    status = mbi_mm_choose(in, &p, "field", fields, &header->field);
  }
  if (status == MERBIT_OK) {
    status = mbi_mm_choose(in, &p, "symmetry", symmetries, &header->symmetry);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  p = mbi_mm_skip_blanks(p);
  if (*p != '\n') {
    return mbi_fail(in->context, MERBIT_INVALID_FILE, "line 1: %s follows the symmetry",
                    mbi_mm_quote_line(p, quoted));
  }
  in->next = p + 1;
  in->line++;
  return mbi_mm_check_banner(in, header);
}

/* A whole number from 0, INT64_MAX for any of more than 18 digits. Returns the end, or NULL
 * where there is none; an index or size may have a '+'. */
static const char *mbi_mm_whole(const char *p, int64_t *number) {
  uint64_t value = 0;
  const char *first, *end;
  p += *p == '+';
  end = mbi_digits_scan(p, &value);
  if (end == p) {
    return NULL;
  }
  if (end - p > 18) { /* the value may have wrapped */
    for (first = p; *first == '0'; first++) {
    }
    if (end - first > 18) {
      value = INT64_MAX;
    }
  }
  *number = (int64_t)value;
  return end;
}

static merbit_status mbi_mm_read_size(const mbi_mm_input *in, const char **at, const char *what,
                                      int64_t *size) {
  const char *p = mbi_mm_skip_blanks(*at);
  const char *end = mbi_mm_whole(p, size);
  char quoted[MBI_MM_QUOTE];
  if (*p == '\n') {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line %" PRId64 ": the size line %s ends before the number of %s", in->line,
                    mbi_mm_quote_line(in->next, quoted), what);
  }
  if (end == NULL || end != mbi_mm_word_end(p)) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line %" PRId64 ": %s is not a number of %s", in->line,
                    mbi_mm_quote_word(p, quoted), what);
  }
  if (*size == INT64_MAX) {
    return mbi_fail(in->context, MERBIT_TOO_LARGE,
                    "line %" PRId64 ": %s is too large a number of %s", in->line,
                    mbi_mm_quote_word(p, quoted), what);
  }
  *at = end;
  return MERBIT_OK;
}

/* Arrays of the size of the matrix are only made for sizes in proportion to the input's. A
 * stream shows its length at its end only, and is asked then. */
static merbit_status mbi_mm_check_rows(const mbi_mm_input *in, const mbi_mm_header *header,
                                       int64_t bytes) {
  int64_t most = in->desc->max_rows;
  if (most == 0) {
    most = bytes > INT64_MAX / 128 ? INT64_MAX : 1048576 + 64 * bytes;
  }
  if (header->rows <= most) {
    return MERBIT_OK;
  }
  return mbi_fail(in->context, MERBIT_TOO_LARGE,
                  "line %" PRId64 ": %" PRId64 " rows exceed the limit of %" PRId64
                  "; set max_rows of merbit_read_desc to read such a file",
                  header->line, header->rows, most);
}

/* How many lines an array file has: all entries, the lower triangle, or that without the
 * diagonal. */
static int64_t mbi_mm_array_entries(const mbi_mm_header *header) {
  const int64_t n = header->rows;
  int64_t half;
  if (header->symmetry == MBI_MM_GENERAL) {
    return header->cols > 0 && n > INT64_MAX / header->cols ? INT64_MAX : n * header->cols;
  }
  half = header->symmetry == MBI_MM_SKEW ? n - 1 : n + 1; /* n is below 2^31: so many columns */
  return n * half / 2;
}

static merbit_status mbi_mm_check_sizes(const mbi_mm_input *in, const mbi_mm_header *header) {
  if (header->cols > INT32_MAX) {
    return mbi_fail(in->context, MERBIT_TOO_LARGE,
                    "line %" PRId64 ": %" PRId64
                    " columns; this version takes at most 2^31 - 1",
                    in->line, header->cols);
  }
  if (header->symmetry != MBI_MM_GENERAL && header->rows != header->cols) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line %" PRId64 ": %" PRId64 " rows and %" PRId64
                    " columns; only square matrices have a symmetry",
                    in->line, header->rows, header->cols);
  }
  if (in->total > 0 || in->desc->max_rows > 0) {
    return mbi_mm_check_rows(in, header, in->total);
  }
  return MERBIT_OK;
}

/* Entries that the rest of the input cannot hold are refused before memory is asked for them:
 * "1 1", "1 1 1" and "1" are the shortest lines, and the last may lack its newline. */
static merbit_status mbi_mm_check_entries(const mbi_mm_input *in, const mbi_mm_header *header) {
  const int64_t shortest = header->array ? 2 : header->field == MBI_MM_PATTERN ? 4 : 6;
  const int64_t left = in->total - in->taken + (in->end - in->next) - in->added +
                       (int64_t)in->rest_size;
  if (in->total == 0 || header->entries <= (left + 1) / shortest) {
    return MERBIT_OK;
  }
  return mbi_fail(in->context, MERBIT_INVALID_FILE,
                  "line %" PRId64 ": %" PRId64 " entries of at least %" PRId64
                  " bytes each cannot be in the %" PRId64 " bytes that follow",
                  header->line, header->entries, shortest, left);
}

static merbit_status mbi_mm_read_sizes(mbi_mm_input *in, mbi_mm_header *header) {
  char quoted[MBI_MM_QUOTE];
  const char *p;
  merbit_status status = mbi_mm_next_line(in);
  if (status != MERBIT_OK) {
    return status;
  }
  if (in->next == in->end) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line %" PRId64 ": the input ends before its size line", in->line);
  }
  p = in->next;
  status = mbi_mm_read_size(in, &p, "rows", &header->rows);
  if (status == MERBIT_OK) {
    status = mbi_mm_read_size(in, &p, "columns", &header->cols);
  }
  if (status == MERBIT_OK && !header->array) {
    status = mbi_mm_read_size(in, &p, "entries", &header->entries);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  p = mbi_mm_skip_blanks(p);
  if (*p != '\n') {
    return mbi_fail(in->context, MERBIT_INVALID_FILE, "line %" PRId64 ": %s follows the sizes",
                    in->line, mbi_mm_quote_line(p, quoted));
  }
  header->line = in->line;
  status = mbi_mm_check_sizes(in, header);
  if (status == MERBIT_OK && header->array) {
    header->entries = mbi_mm_array_entries(header);
  }
  in->next = p + 1;
  in->line++;
  return status == MERBIT_OK ? mbi_mm_check_entries(in, header) : status;
}

/* ==== >>matrix/mm_entry.c  Matrix Market: one line ======================================== */
typedef struct mbi_mm_reader {
  mbi_mm_input in;
  mbi_mm_header header;
  merbit_type type;        /* of the values */
  int each;                /* array elements that an entry may need: 2 with a mirror image */
  int64_t count, capacity; /* of the arrays */
  int wide;                /* 64-bit indices, for the sake of rows beyond 2^31 */
  void *row_ind, *col_ind, *values;
} mbi_mm_reader;

typedef struct mbi_mm_entry {
  int64_t row, col; /* from 1 */
  double value;     /* of a float's precision where the reader's type is F32 */
} mbi_mm_entry;

/* ---- One line: NULL on any fault, which is then looked for at leisure -------------------- */

/* The words that C's printf writes for what is no number; GraphBLAS and SciPy write them too.
 */
static const char *mbi_mm_special(const char *p, double *value) {
  const int negative = *p == '-';
  const char *end;
  p += *p == '-' || *p == '+';
  *value = negative ? -(double)NAN : (double)NAN;
  end = mbi_mm_match(p, "nan");
  if (end == NULL) {
    *value = negative ? -(double)INFINITY : (double)INFINITY;
    end = mbi_mm_match(p, "inf");
  }
  return end != NULL ? end : mbi_mm_match(p, "infinity");
}

/* 0 where the number is beyond the type's range. */
static int mbi_mm_convert(const mbi_decimal *decimal, merbit_type type, double *value) {
  float single;
  int finite;
  if (type == MERBIT_F64) {
    return mbi_decimal_f64(decimal, value);
  }
  finite = mbi_decimal_f32(decimal, &single);
  *value = (double)single;
  return finite;
}

static const char *mbi_mm_value(const mbi_mm_reader *r, const char *p, double *value) {
  mbi_decimal decimal;
  const char *end = mbi_decimal_scan(p, &decimal);
  if (end == NULL) {
    return mbi_mm_special(p, value);
  }
  if ((r->header.field == MBI_MM_INTEGER && !decimal.integer) ||
      !mbi_mm_convert(&decimal, r->type, value)) {
    return NULL;
  }
  return end;
}

/* Is a 1-based entry where the file's symmetry has it: on or below the diagonal, or below it?
 */
static int mbi_mm_in_triangle(const mbi_mm_reader *r, int64_t row, int64_t col) {
  if (r->header.symmetry == MBI_MM_GENERAL) {
    return 1;
  }
  return r->header.symmetry == MBI_MM_SKEW ? row > col : row >= col;
}

static const char *mbi_mm_line_end(const char *p) {
  if (*p != '\n') {
    p = mbi_mm_skip_blanks(p);
  }
  return *p == '\n' ? p + 1 : NULL;
}

/* Returns the next line's start. */
static const char *mbi_mm_coordinates(const mbi_mm_reader *r, const char *p,
                                      mbi_mm_entry *entry) {
  const char *q = mbi_mm_whole(mbi_mm_skip_blanks(p), &entry->row);
  if (q == NULL || !mbi_mm_is_blank(*q)) {
    return NULL;
  }
  q = mbi_mm_whole(mbi_mm_skip_blanks(q), &entry->col);
  if (q == NULL || (uint64_t)entry->row - 1 >= (uint64_t)r->header.rows ||
      (uint64_t)entry->col - 1 >= (uint64_t)r->header.cols ||
      !mbi_mm_in_triangle(r, entry->row, entry->col)) {
    return NULL;
  }
  if (r->header.field != MBI_MM_PATTERN) {
    if (!mbi_mm_is_blank(*q)) {
      return NULL;
    }
    q = mbi_mm_value(r, mbi_mm_skip_blanks(q), &entry->value);
  }
  return q != NULL ? mbi_mm_line_end(q) : NULL;
}

/* Array files go down the columns; what symmetry implies is not listed. Zeros are kept as
 * entries, for without them 0 * Inf would be lost. */
static const char *mbi_mm_element(const mbi_mm_reader *r, const char *p, mbi_mm_entry *entry) {
  p = mbi_mm_value(r, mbi_mm_skip_blanks(p), &entry->value);
  p = p != NULL ? mbi_mm_line_end(p) : NULL;
  if (p != NULL && ++entry->row > r->header.rows) {
    entry->col++;
    entry->row = r->header.symmetry == MBI_MM_GENERAL
                     ? 1
                     : entry->col + (r->header.symmetry == MBI_MM_SKEW);
  }
  return p;
}

static const char *mbi_mm_entry_line(const mbi_mm_reader *r, const char *p,
                                     mbi_mm_entry *entry) {
  return r->header.array ? mbi_mm_element(r, p, entry) : mbi_mm_coordinates(r, p, entry);
}

/* ---- The fault of a line ----------------------------------------------------------------- */

static merbit_status mbi_mm_explain_index(const mbi_mm_input *in, const char **at,
                                          const char *what, int64_t limit, int64_t *index) {
  const char *p = mbi_mm_skip_blanks(*at);
  char quoted[MBI_MM_QUOTE];
  *at = mbi_mm_whole(p, index);
  if (*p == '\n') {
    return mbi_fail(in->context, MERBIT_INVALID_FILE, "line %" PRId64 ": %s has no %s index",
                    in->line, mbi_mm_quote_line(in->next, quoted), what);
  }
  if (*at == NULL || *at != mbi_mm_word_end(p)) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE, "line %" PRId64 ": %s is not a %s index",
                    in->line, mbi_mm_quote_word(p, quoted), what);
  }
  if (*index == 0) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line %" PRId64 ": %s index 0; indices begin with 1", in->line, what);
  }
  if (*index > limit) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line %" PRId64 ": %s index %.*s exceeds the %" PRId64 " %ss", in->line,
                    what, (int)(*at - p < 40 ? *at - p : 40), p, limit, what);
  }
  return MERBIT_OK;
}

static merbit_status mbi_mm_explain_value(const mbi_mm_reader *r, const char **at) {
  const mbi_mm_input *in = &r->in;
  const char *p = mbi_mm_skip_blanks(*at);
  char quoted[MBI_MM_QUOTE];
  mbi_decimal decimal;
  double value;
  *at = mbi_decimal_scan(p, &decimal);
  if (*p == '\n') {
    return mbi_fail(in->context, MERBIT_INVALID_FILE, "line %" PRId64 ": %s has no value",
                    in->line, mbi_mm_quote_line(in->next, quoted));
  }
  if (*at == NULL && (*at = mbi_mm_special(p, &value)) != NULL) {
    return MERBIT_OK;
  }
  (void)mbi_mm_quote_word(p, quoted);
  if (*at == NULL || *at != mbi_mm_word_end(p)) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE, "line %" PRId64 ": %s is not a number",
                    in->line, quoted);
  }
  if (r->header.field == MBI_MM_INTEGER && !decimal.integer) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line %" PRId64 ": %s is not an integer, as the banner promises", in->line,
                    quoted);
  }
  if (!mbi_mm_convert(&decimal, r->type, &value)) {
    return mbi_fail(in->context, MERBIT_INVALID_FILE,
                    "line %" PRId64 ": %s is beyond the range of %s", in->line, quoted,
                    r->type == MERBIT_F64 ? "f64" : "f32; read the file as f64");
  }
  return MERBIT_OK;
}

/* Why the line at in->next is no entry. */
static merbit_status mbi_mm_explain(const mbi_mm_reader *r) {
  const mbi_mm_input *in = &r->in;
  const char *p = in->next;
  char quoted[MBI_MM_QUOTE];
  int64_t row, col;
  merbit_status status = MERBIT_OK;
  if (!r->header.array) {
    status = mbi_mm_explain_index(in, &p, "row", r->header.rows, &row);
    if (status == MERBIT_OK) {
      status = mbi_mm_explain_index(in, &p, "column", r->header.cols, &col);
    }
    if (status == MERBIT_OK && !mbi_mm_in_triangle(r, row, col)) {
      status = mbi_fail(in->context, MERBIT_INVALID_FILE,
                        "line %" PRId64 ": entry (%" PRId64 ", %" PRId64
                        ") is not below the diagonal%s",
                        in->line, row, col,
                        r->header.symmetry == MBI_MM_SKEW
                            ? ", where skew-symmetric files have all entries"
                            : " or on it, where symmetric files have all entries");
    }
  }
  if (status == MERBIT_OK && r->header.field != MBI_MM_PATTERN) {
    status = mbi_mm_explain_value(r, &p);
  }
  if (status == MERBIT_OK) {
    status = mbi_fail(in->context, MERBIT_INVALID_FILE,
                      "line %" PRId64 ": %s follows the entry, which ends its line", in->line,
                      mbi_mm_quote_line(p, quoted));
  }
  return status;
}

/* ==== >>matrix/mm_read.c  Matrix Market: reader =========================================== */
/* Another array of `capacity` elements in the place of *array, with its first `count` elements.
 */
static merbit_status mbi_mm_grow_array(merbit_context *context, void **array, int64_t count,
                                       int64_t capacity, size_t size, const char *what) {
  void *grown;
  const merbit_status status = mbi_allocate_array(context, capacity, size, what, &grown);
  if (status == MERBIT_OK) {
    if (count > 0) {
      memcpy(grown, *array, (size_t)count * size);
    }
    mbi_release(context, *array);
    *array = grown;
  }
  return status;
}

/* The header's count is believed where the input's length bears it out; a stream's arrays grow
 * with what it delivers. */
static merbit_status mbi_mm_grow(mbi_mm_reader *r) {
  merbit_context *context = r->in.context;
  const int64_t most = r->each * r->header.entries; /* with a mirror image, below 2^62 */
  const size_t index_size = r->wide ? sizeof(int64_t) : sizeof(int32_t);
  int64_t capacity = r->in.total > 0 ? most : 2 * r->capacity + 1024;
  merbit_status status;
  capacity = capacity < most ? capacity : most;
  status = mbi_mm_grow_array(context, &r->row_ind, r->count, capacity, index_size,
                             "the rows of a file's entries");
  if (status == MERBIT_OK) {
    status = mbi_mm_grow_array(context, &r->col_ind, r->count, capacity, index_size,
                               "the columns of a file's entries");
  }
  if (status == MERBIT_OK && r->header.field != MBI_MM_PATTERN) {
    status = mbi_mm_grow_array(context, &r->values, r->count, capacity,
                               r->type == MERBIT_F32 ? sizeof(float) : sizeof(double),
                               "the values of a file's entries");
  }
  if (status == MERBIT_OK) {
    r->capacity = capacity;
  }
  return status;
}

static void mbi_mm_put(mbi_mm_reader *r, int64_t row, int64_t col, double value) {
  const int64_t at = r->count++;
  if (r->wide) {
    ((int64_t *)r->row_ind)[at] = row - 1;
    ((int64_t *)r->col_ind)[at] = col - 1;
  } else {
    ((int32_t *)r->row_ind)[at] = (int32_t)(row - 1);
    ((int32_t *)r->col_ind)[at] = (int32_t)(col - 1);
  }
  if (r->header.field != MBI_MM_PATTERN) {
    if (r->type == MERBIT_F32) {
      ((float *)r->values)[at] = (float)value;
    } else {
      ((double *)r->values)[at] = value;
    }
  }
}

/* An entry and its mirror image. */
static void mbi_mm_put_both(mbi_mm_reader *r, const mbi_mm_entry *entry) {
  mbi_mm_put(r, entry->row, entry->col, entry->value);
  if (r->header.symmetry != MBI_MM_GENERAL && entry->row != entry->col) {
    mbi_mm_put(r, entry->col, entry->row,
               r->header.symmetry == MBI_MM_SKEW ? -entry->value : entry->value);
  }
}

/* Entries from in->next on while lines are plain and there is room for them. Returns how many.
 */
static int64_t mbi_mm_read_run(mbi_mm_reader *r, mbi_mm_entry *entry, int64_t most) {
  const char *p = r->in.next, *end = r->in.end;
  int64_t done;
  for (done = 0; done < most && p < end && r->count + r->each <= r->capacity; done++) {
    const char *q = mbi_mm_entry_line(r, p, entry);
    if (q == NULL) {
      break;
    }
    mbi_mm_put_both(r, entry);
    p = q;
  }
  r->in.next = p;
  r->in.line += done;
  return done;
}

static merbit_status mbi_mm_read_entries(mbi_mm_reader *r) {
  mbi_mm_entry entry = {0, 1, 0};
  int64_t done = 0;
  merbit_status status = mbi_mm_grow(r);
  if (r->header.symmetry == MBI_MM_SKEW) {
    entry.row = 1; /* of an array: its first column begins below the diagonal */
  }
  while (status == MERBIT_OK && done < r->header.entries) {
    int64_t run;
    status = mbi_mm_next_line(&r->in);
    if (status == MERBIT_OK && r->in.next == r->in.end) {
      status =
          mbi_fail(r->in.context, MERBIT_INVALID_FILE,
                   "line %" PRId64 ": the input ends after %" PRId64 " of %" PRId64 " entries",
                   r->in.line, done, r->header.entries);
    }
    if (status == MERBIT_OK && r->count + r->each > r->capacity) {
      status = mbi_mm_grow(r);
    }
    if (status == MERBIT_OK) {
      run = mbi_mm_read_run(r, &entry, r->header.entries - done);
      done += run;
      status = run > 0 ? MERBIT_OK : mbi_mm_explain(r);
    }
  }
  return status;
}

/* Nothing but blank lines and comments may follow the last entry. */
static merbit_status mbi_mm_read_end(mbi_mm_reader *r) {
  mbi_mm_input *in = &r->in;
  char quoted[MBI_MM_QUOTE];
  merbit_status status = mbi_mm_next_line(in);
  if (status == MERBIT_OK && in->next != in->end) {
    status = mbi_fail(in->context, MERBIT_INVALID_FILE,
                      "line %" PRId64 ": %s follows the last of %" PRId64 " entries", in->line,
                      mbi_mm_quote_line(in->next, quoted), r->header.entries);
  }
  if (status == MERBIT_OK) {
    status = mbi_mm_check_rows(in, &r->header, in->taken);
  }
  return status == MERBIT_OK ? mbi_mm_report(in, 0) : status;
}

static merbit_status mbi_mm_build(mbi_mm_reader *r, merbit_matrix **matrix) {
  merbit_view view;
  memset(&view, 0, sizeof view);
  view.format = MERBIT_COO;
  view.value_type = r->type;
  view.index_type = r->wide ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  view.rows = r->header.rows;
  view.cols = r->header.cols;
  view.nnz = r->count;
  view.row_ind = r->row_ind;
  view.col_ind = r->col_ind;
  view.values = r->values;
  return mbi_matrix_from_view(r->in.context, &view, 0, matrix);
}

static merbit_status mbi_mm_read(mbi_mm_reader *r, merbit_matrix **matrix) {
  merbit_context *context = r->in.context;
  merbit_status status = MERBIT_OK;
  void *buffer;
  status =
      mbi_allocate_array(context, MBI_MM_WINDOW + 2 * MBI_MM_PAD, 1, "a file's text", &buffer);
  if (status != MERBIT_OK) {
    return status;
  }
  r->in.buffer = (char *)buffer;
  status = mbi_mm_start(&r->in);
  if (status == MERBIT_OK) {
    status = mbi_mm_read_banner(&r->in, &r->header);
  }
  if (status == MERBIT_OK) {
    status = mbi_mm_read_sizes(&r->in, &r->header);
  }
  if (status == MERBIT_OK) {
    r->wide = r->header.rows > INT32_MAX;
    r->each = r->header.symmetry == MBI_MM_GENERAL ? 1 : 2;
    status = mbi_mm_read_entries(r);
  }
  if (status == MERBIT_OK) {
    status = mbi_mm_read_end(r);
  }
  mbi_release(context, buffer);
  if (status == MERBIT_OK) {
    status = mbi_mm_build(r, matrix);
  }
  mbi_release(context, r->row_ind);
  mbi_release(context, r->col_ind);
  mbi_release(context, r->values);
  return status;
}

/* ---- The three sources ------------------------------------------------------------------- */

/* `culprit` names an argument that must not be NULL and is; else NULL. */
static merbit_status mbi_mm_reader_create(mbi_mm_reader *r, merbit_context *context,
                                          const merbit_read_desc *desc, merbit_matrix **matrix,
                                          const char *culprit) {
  static const merbit_read_desc defaults = {MERBIT_TYPE_DEFAULT, 0, NULL, NULL};
  if (matrix != NULL) {
    *matrix = NULL;
  } else {
    culprit = "matrix";
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  memset(r, 0, sizeof *r);
  r->in.context = context;
  r->in.desc = desc != NULL ? desc : &defaults;
  r->type = r->in.desc->value_type == MERBIT_TYPE_DEFAULT ? MERBIT_F64 : r->in.desc->value_type;
  if (culprit != NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the argument `%s` is NULL", culprit);
  }
  if (r->in.desc->max_rows < 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "read_desc.max_rows is %" PRId64 "; use 0 for the default",
                    r->in.desc->max_rows);
  }
  if (r->type != MERBIT_F64 && r->type != MERBIT_F32) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "read_desc.value_type is %d; this version reads MERBIT_F64 and MERBIT_F32",
                    (int)r->type);
  }
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_matrix_read_file(merbit_context *context, const char *path,
                                                 const merbit_read_desc *desc,
                                                 merbit_matrix **matrix) {
  mbi_mm_reader reader;
  int file, error;
  merbit_status status =
      mbi_mm_reader_create(&reader, context, desc, matrix, path == NULL ? "path" : NULL);
  if (status != MERBIT_OK) {
    return status;
  }
  error = mbi_file_open(path, &file, &reader.in.total);
  if (error != 0) {
    return mbi_fail(context, MERBIT_IO_ERROR, "cannot open %.300s: %s", path, strerror(error));
  }
  reader.in.path = path;
  reader.in.read = mbi_file_read;
  reader.in.user = &file;
  status = mbi_mm_read(&reader, matrix);
  mbi_file_close(file);
  return status;
}

MERBIT_API merbit_status merbit_matrix_read_memory(merbit_context *context, const void *data,
                                                   size_t size, const merbit_read_desc *desc,
                                                   merbit_matrix **matrix) {
  mbi_mm_reader reader;
  const merbit_status status = mbi_mm_reader_create(&reader, context, desc, matrix,
                                                    data == NULL && size > 0 ? "data" : NULL);
  if (status != MERBIT_OK) {
    return status;
  }
  reader.in.block = (const char *)data;
  reader.in.block_size = size;
  reader.in.total = (int64_t)size;
  reader.in.read = mbi_mm_read_block;
  reader.in.user = &reader.in;
  return mbi_mm_read(&reader, matrix);
}

MERBIT_API merbit_status merbit_matrix_read_stream(merbit_context *context,
                                                   merbit_read_callback read, void *user,
                                                   const merbit_read_desc *desc,
                                                   merbit_matrix **matrix) {
  mbi_mm_reader reader;
  const merbit_status status =
      mbi_mm_reader_create(&reader, context, desc, matrix, read == NULL ? "read" : NULL);
  if (status != MERBIT_OK) {
    return status;
  }
  reader.in.read = read;
  reader.in.user = user;
  return mbi_mm_read(&reader, matrix);
}

/* ==== >>matrix/mm_write.c  Matrix Market: writer ========================================== */
#define MBI_MM_OUTPUT 65536 /* bytes handed to the callback at once */
#define MBI_MM_LINE 128     /* no line is longer: two indices of 19 digits, a value of 24 */

typedef struct mbi_mm_output {
  merbit_context *context;
  const char *path; /* for the sentence; NULL where there is none */
  merbit_write_callback write;
  void *user;
  char *buffer;
  size_t used;
} mbi_mm_output;

static merbit_status mbi_mm_flush(mbi_mm_output *out) {
  const size_t size = out->used;
  int result;
  out->used = 0;
  result = size > 0 ? out->write(out->user, out->buffer, size) : 0;
  if (result == 0) {
    return MERBIT_OK;
  }
  if (out->path != NULL) {
    return mbi_fail(out->context, MERBIT_IO_ERROR, "cannot write %.300s: %s", out->path,
                    strerror(errno));
  }
  return mbi_fail(out->context, MERBIT_IO_ERROR, "the write callback returned %d", result);
}

static void mbi_mm_put_text(mbi_mm_output *out, const char *text) {
  const size_t size = strlen(text);
  memcpy(out->buffer + out->used, text, size);
  out->used += size;
}

static void mbi_mm_put_whole(mbi_mm_output *out, int64_t number, char separator) {
  char digits[24];
  size_t first = sizeof digits;
  digits[--first] = separator;
  do {
    digits[--first] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  memcpy(out->buffer + out->used, digits + first, sizeof digits - first);
  out->used += sizeof digits - first;
}

/* The locale's decimal separator, of however many bytes, becomes a point. */
static void mbi_mm_mend_point(char *text) {
  char *to = text;
  for (; *text != '\0'; text++) {
    if (mbi_is_digit(*text) || *text == '-' || *text == '+' || *text == 'e') {
      *to++ = *text;
    } else if (to[-1] != '.') {
      *to++ = '.';
    }
  }
  *to = '\0';
}

static int mbi_mm_reads_back(const char *text, double value, int single) {
  char line[40];
  mbi_decimal decimal;
  double read = 0;
  float single_read = 0;
  memset(line, '\n', sizeof line);
  memcpy(line, text, strlen(text));
  (void)mbi_decimal_scan(line, &decimal);
  if (single) {
    return mbi_decimal_f32(&decimal, &single_read) && (double)single_read == value;
  }
  return mbi_decimal_f64(&decimal, &read) && read == value;
}

/* The fewest digits from 15 on (6 for a float) that read back bit for bit; 17 (9) always do. */
static void mbi_mm_put_value(mbi_mm_output *out, double value, int single) {
  char text[32];
  int digits = single ? 6 : 15;
  const int most = single ? 9 : 17;
  if (isnan(value) || isinf(value)) {
    mbi_mm_put_text(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  do {
    (void)snprintf(text, sizeof text, "%.*g", digits, value);
    mbi_mm_mend_point(text);
  } while (digits++ < most && !mbi_mm_reads_back(text, value, single));
  mbi_mm_put_text(out, text);
}

static void mbi_mm_put_entry(mbi_mm_output *out, const merbit_view *view, int64_t row,
                             int64_t i) {
  const int64_t col = mbi_index_at(view->col_ind, view->index_type, i) - view->base;
  const int single = mbi_view_type(view) == MERBIT_F32;
  mbi_mm_put_whole(out, row + 1, ' ');
  mbi_mm_put_whole(out, col + 1, view->values != NULL ? ' ' : '\n');
  if (view->values != NULL) {
    mbi_mm_put_value(out,
                     single ? (double)((const float *)view->values)[i]
                            : ((const double *)view->values)[i],
                     single);
    mbi_mm_put_text(out, "\n");
  }
}

/* Entries in the order of the view's arrays. */
static merbit_status mbi_mm_write_entries(mbi_mm_output *out, const merbit_view *view) {
  int64_t row = 0, i;
  merbit_status status = MERBIT_OK;
  for (i = 0; i < view->nnz && status == MERBIT_OK; i++) {
    if (view->format == MERBIT_COO) {
      row = mbi_index_at(view->row_ind, view->index_type, i) - view->base;
    } else {
      while (mbi_index_at(view->row_ptr, view->offset_type, row + 1) - view->base <= i) {
        row++;
      }
    }
    mbi_mm_put_entry(out, view, row, i);
    if (out->used > MBI_MM_OUTPUT - MBI_MM_LINE) {
      status = mbi_mm_flush(out);
    }
  }
  return status;
}

static merbit_status mbi_mm_write_view(mbi_mm_output *out, const merbit_view *view) {
  void *buffer;
  merbit_status status =
      mbi_allocate_array(out->context, MBI_MM_OUTPUT, 1, "the text to write", &buffer);
  if (status != MERBIT_OK) {
    return status;
  }
  out->buffer = (char *)buffer;
  mbi_mm_put_text(out, "%%MatrixMarket matrix coordinate ");
  mbi_mm_put_text(out, view->values != NULL ? "real general\n" : "pattern general\n");
  mbi_mm_put_whole(out, view->rows, ' ');
  mbi_mm_put_whole(out, view->cols, ' ');
  mbi_mm_put_whole(out, view->nnz, '\n');
  status = mbi_mm_write_entries(out, view);
  if (status == MERBIT_OK) {
    status = mbi_mm_flush(out);
  }
  mbi_release(out->context, buffer);
  return status;
}

static merbit_status mbi_mm_write(mbi_mm_output *out, const merbit_view *view) {
  merbit_matrix *entries;
  merbit_status status;
  if (view->format != MERBIT_BSR) {
    return mbi_mm_write_view(out, view);
  }
  status = mbi_matrix_from_view(out->context, view, 0, &entries);
  if (status == MERBIT_OK) {
    status = mbi_mm_write_view(out, &entries->view);
  }
  merbit_matrix_destroy(entries);
  return status;
}

/* `culprit` names an argument that must not be NULL and is; else NULL. */
static merbit_status mbi_mm_check_writable(merbit_context *context, const merbit_view *view,
                                           const char *culprit) {
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (culprit != NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the argument `%s` is NULL", culprit);
  }
  if (view != NULL && view->memory == MERBIT_MEMORY_DEVICE) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "view.memory is MERBIT_MEMORY_DEVICE; write a copy in host memory");
  }
  return merbit_view_check(context, view);
}

MERBIT_API merbit_status merbit_matrix_write_stream(merbit_context *context,
                                                    const merbit_view *view,
                                                    merbit_write_callback write, void *user) {
  mbi_mm_output out;
  const merbit_status status =
      mbi_mm_check_writable(context, view, write == NULL ? "write" : NULL);
  if (status != MERBIT_OK) {
    return status;
  }
  memset(&out, 0, sizeof out);
  out.context = context;
  out.write = write;
  out.user = user;
  return mbi_mm_write(&out, view);
}

MERBIT_API merbit_status merbit_matrix_write_file(merbit_context *context,
                                                  const merbit_view *view, const char *path) {
  mbi_mm_output out;
  mbi_replacement replacement;
  int error;
  merbit_status status = mbi_mm_check_writable(context, view, path == NULL ? "path" : NULL);
  if (status != MERBIT_OK) {
    return status;
  }
  error = mbi_replacement_begin(&replacement, path);
  if (error == ENOTSUP) {
    return mbi_fail(context, MERBIT_IO_ERROR,
                    "%.300s is no regular file; write to it by merbit_matrix_write_stream",
                    path);
  }
  if (error != 0) {
    return mbi_fail(context, MERBIT_IO_ERROR, "cannot create a file beside %.300s: %s", path,
                    strerror(error));
  }
  memset(&out, 0, sizeof out);
  out.context = context;
  out.path = path;
  out.write = mbi_file_write;
  out.user = &replacement.file;
  status = mbi_mm_write(&out, view);
  error = mbi_replacement_end(&replacement, status == MERBIT_OK ? 0 : EIO);
  if (status == MERBIT_OK && error != 0) {
    status = mbi_fail(context, MERBIT_IO_ERROR, "cannot put %.300s in its place: %s", path,
                      strerror(error));
  }
  return status;
}

/* ==== >>spmv/plan_types.h  plans and workspaces =========================================== */
/* How values are stored: spmv/values.c. */
typedef enum mbi_value_form {
  MBI_VALUES_GENERAL, /* each, in the plan's type; or none, for a pattern of ones */
  MBI_VALUES_EQUAL,   /* one for all */
  MBI_VALUES_SINGLE   /* each, as a float that is exactly the double */
} mbi_value_form;

/* A CSR matrix in GPU memory: spmv/arrays.c. Arrays that the plan owns are freed with it. */
typedef struct mbi_device_csr {
  mbi_devptr row_ptr, col_ind, values; /* values 0: a pattern of ones */
  mbi_value_form form;                 /* of `values` */
  int owns_row_ptr, owns_col_ind, owns_values;
  merbit_index_type offset_type; /* of row_ptr; columns are 32-bit */
  int base;
  uint64_t rows, cols, nnz;
  uint64_t bytes; /* owned */
} mbi_device_csr;

/* Rows that hold something, ranked: spmv/ranks.c. */
typedef struct mbi_ranks {
  uint64_t count;       /* rows with a nonzero */
  uint64_t slots;       /* of slices of 32 rows as they come, each as wide as its longest row */
  uint32_t longest;     /* nonzeros of the longest row, at most 2^32 - 1 */
  mbi_devptr row_start; /* ranks + 1 offsets; the plan's row_ptr where no row is empty */
  mbi_devptr row_id, empty_id; /* rows with and without a nonzero; 0 where no row is empty */
  uint64_t bytes;              /* of the three, if owned */
  mbi_devptr column_counts; /* of a sample of the nonzeros: see mbi_ranks_columns */
  uint32_t hub_least;       /* a column counted this often is a hub */
  double hub_share;         /* of the nonzeros that lie in hubs */
  double sectors; /* of x that a nonzero adds in a window of neighbours: spmv/choose.c */
  int block_rows, block_cols; /* of the full blocks that the matrix consists of */
  double narrow;  /* share of slices of 32 rows whose columns lie within 65,536 */
  mbi_devptr counts, offsets; /* scratch, and in it the rank of each block's first row */
  uint64_t blocks;
  mbi_program program; /* until mbi_ranks_finish */
} mbi_ranks;

/* MERBIT's specialisation and TILE: spmv/merbit.c. */
typedef struct mbi_merbit {
  int sigma, omega, threads;
  int dual;            /* dual-buffer commit, for the library's own iterations */
  int coordinate_bits; /* of each offset in a lane descriptor */
  int descriptor_bits; /* 32 or 64 */
  int tile_bytes;      /* of an entry of tile_x and tile_y: 4 or 8 */
  uint64_t path, tiles, blocks;
  mbi_devptr tile_x, tile_y, lane_desc;
  void *build, *product, *fixup; /* CUfunction */
} mbi_merbit;

/* The register scan's specialisation and schedule: spmv/scan.c. */
typedef struct mbi_scan_schedule {
  int steps, threads, resident, depth;
  int pack;  /* nonzeros that a lane loads at once */
  int whole; /* blocks take whole rows: block_start instead of a fix-up */
  uint64_t tiles, blocks, fixup_blocks, empty_rows;
  mbi_devptr row_ends, tile_row, block_start;
  void *build, *cut, *product, *sum, *fixup; /* CUfunction; product where beta is zero */
} mbi_scan_schedule;

/* Lanes per row: spmv/rows.c. */
typedef struct mbi_rows {
  int lanes, unroll, threads;
  uint64_t blocks;
  void *product; /* CUfunction */
} mbi_rows;

/* Sliced storage: spmv/sliced.c. */
typedef struct mbi_sliced {
  int unroll, threads;
  int sorted; /* rows sorted by length within windows */
  uint64_t slices, blocks;
  uint64_t slots, column_slots; /* of values; of two-byte columns */
  mbi_devptr length, row_id, slice_start, column_start, slice_base, columns, values;
  void *kernels[4]; /* CUfunction: order, width, fill, product */
} mbi_sliced;

/* The binned product's specialisation and runs, beside plan->scan: spmv/binned.c. */
typedef struct mbi_binned {
  int warp_tiles;                /* tiles of a warp in a part */
  uint64_t strip, part_nonzeros; /* columns; nonzeros */
  uint64_t strips, parts, items;
  uint64_t groups, part_groups; /* of 32 bytes of products: in all, and of the largest part */
  mbi_devptr runs, part_start, item_list, strip_col, values, target, places;
  void *kernels[6]; /* CUfunction: count, total, offsets, fill, multiply, sum */
} mbi_binned;

/* Fixed-size tasks of blocks on the CPU, plan->tasks of them: spmv/blocks.c. */
typedef struct mbi_blocks {
  int64_t *chunk_index, *chunk_row; /* where each begins, and the last ends; one allocation */
} mbi_blocks;

#define MBI_BSR_KERNELS 6

/* Tiles of blocks: spmv/bsr.c. */
typedef struct mbi_bsr_tiles {
  int block_rows, block_cols;
  int edge;                  /* the last column of blocks reaches beyond the matrix */
  int split, lane_cols;      /* lanes to a row of a block, and what each takes of it */
  int strips, lanes, slots;  /* of a block; of a slot; of a warp */
  int together, slot_blocks; /* blocks of a slot: at once, and in a tile */
  int shuffled;              /* lanes pass x on */
  int threads, resident;
  uint64_t tiles, blocks, empty_rows, parts, words, groups, places;
  mbi_devptr row_ends, slot_row, columns, mask_words, masks, packs;
  void *kernels[MBI_BSR_KERNELS]; /* CUfunction: schedule, columns, fill, product, fixup, masks */
} mbi_bsr_tiles;

/* The CSR that became blocks on the GPU, while plan->device holds those: spmv/full.c, where AUTO
 * took it for full ones; spmv/carve.c. */
typedef struct mbi_full {
  mbi_device_csr csr; /* csr.rows 0: none did */
  mbi_ranks ranks;
  mbi_program program;
  void *kernels[4]; /* CUfunction: places, values; carved: count, sums, offsets, fill */
  int carved;       /* by spmv/carve.c */
} mbi_full;

#ifdef MERBIT_STUDY_METHODS
/* Chunks of blocks as they come: spmv/bsr_study.c. */
typedef struct mbi_bsr_study {
  int threads;
  uint64_t chunk_blocks, chunks;
  mbi_devptr chunk_row;
  void *kernels[3]; /* CUfunction: cut, scale, product */
} mbi_bsr_study;
#endif

/* The scan with hubs, beside plan->scan: spmv/hubs.c. */
typedef struct mbi_hubs {
  uint64_t room;  /* for this many hubs */
  uint32_t count; /* hubs */
  mbi_devptr hub_col, codes;
  void *kernels[4]; /* CUfunction: assign, encode, product, sum */
} mbi_hubs;

/* Blocks of 16 x 16: spmv/cb.c. */
typedef struct mbi_cb {
  int threads, aggregated;
  uint64_t limit; /* steps of a warp */
  uint64_t block_count, data_bytes, forms[3], tasks, parts, splits;
  mbi_devptr words, first, data; /* blocks, their columns, what lies in them */
  mbi_devptr task_block, task_target, split_strip, split_part;
  void *product, *fixup; /* CUfunction */
} mbi_cb;

/* The order of a reordered plan: spmv/reorder.c. */
typedef struct mbi_reorder {
  int32_t *order; /* order[new] = old; NULL: as the view's */
  void *places;   /* where each nonzero was; on CUDA until it is in GPU memory */
  merbit_index_type place_type;
  int64_t bandwidth_before, bandwidth;
  double seconds;
  mbi_devptr device_order, device_places;
  uint64_t bytes; /* of the two */
  mbi_program program;
  void *kernels[3]; /* CUfunction: gather, scatter, values */
} mbi_reorder;

/* What a method on CUDA provides. create: for the matrix in plan->device, in an entered
 * context; after a failure destroy cleans up. describe: its part of the plan's line. */
typedef struct mbi_cuda_method {
  merbit_status (*create)(merbit_plan *plan);
  void (*destroy)(merbit_plan *plan);
  uint64_t (*carry_bytes)(const merbit_plan *plan);
  merbit_status (*multiply)(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                            mbi_devptr x, const void *beta, mbi_devptr y, void *stream);
  void (*info)(const merbit_plan *plan, merbit_plan_info *info);
  int (*describe)(const merbit_plan *plan, char *text, size_t size);
  merbit_status (*refresh)(
      merbit_plan *plan); /* new plan->device.values; NULL: read in place */
} mbi_cuda_method;

struct merbit_plan {
  merbit_context *context;
  int64_t references; /* its workspaces, and the user */
  merbit_plan_desc desc;
  merbit_view view;      /* the user's */
  merbit_view csr;       /* what is multiplied, or was uploaded */
  merbit_matrix *matrix; /* holds csr where the view had to be converted or reordered */
  mbi_reorder reorder;
  mbi_bsr bsr;           /* what is multiplied by methods of blocks; csr is the view then */
  merbit_side side;
  merbit_method method;
  merbit_type type; /* of values, vectors and sums */
  char reason[384]; /* why AUTO fell back to the CPU; else empty */
  char why[160];    /* what decided AUTO's choice of a method on CUDA; else empty */
  double plan_seconds;
  /* CPU */
  int tasks;
  const void *values; /* of csr or bsr; NULL: ones */
  void *own_values;   /* holds values after an update */
  mbi_blocks blocks;
  /* CUDA */
  mbi_device_csr device;
  const mbi_cuda_method *cuda;
  mbi_program program;
  uint64_t schedule_bytes; /* what the method added to the CSR */
  uint64_t stream_bytes;   /* that a product moves beside x and y */
  mbi_merbit merbit;
  mbi_scan_schedule scan;
  mbi_ranks ranks; /* where the choice or the method asks */
  mbi_rows rows;
  mbi_sliced sliced;
  mbi_binned binned;
  mbi_bsr_tiles bsr_tiles;
  mbi_full full;
#ifdef MERBIT_STUDY_METHODS
  mbi_bsr_study bsr_study;
#endif
  mbi_hubs hubs;
  mbi_cb cb;
  int once;                    /* the matrix is loaded past the caches */
  merbit_workspace *workspace; /* the plan's own; holds no reference */
};

struct merbit_workspace {
  merbit_plan *plan;
  void *carries;                 /* CPU: of the merge tasks */
  mbi_devptr device_carries;     /* CUDA: carry_first[blocks], carry_out[blocks] */
  mbi_devptr staged_x, staged_y; /* CUDA with host vectors */
  const void *known_x, *known_y; /* pointers already found to be the GPU's */
};

/* What a method made of the matrix is gone, or belongs to another plan. */
static void mbi_plan_forget(merbit_plan *plan) {
  plan->schedule_bytes = plan->stream_bytes = 0;
  memset(&plan->program, 0, sizeof plan->program);
  memset(&plan->scan, 0, sizeof plan->scan);
  memset(&plan->rows, 0, sizeof plan->rows);
  memset(&plan->sliced, 0, sizeof plan->sliced);
  memset(&plan->binned, 0, sizeof plan->binned);
  memset(&plan->hubs, 0, sizeof plan->hubs);
  memset(&plan->cb, 0, sizeof plan->cb);
  memset(&plan->bsr_tiles, 0, sizeof plan->bsr_tiles);
#ifdef MERBIT_STUDY_METHODS
  memset(&plan->bsr_study, 0, sizeof plan->bsr_study);
#endif
}

/* That a product reads of each nonzero's value. */
static size_t mbi_value_bytes(const merbit_plan *plan) {
  const mbi_device_csr *csr = &plan->device;
  return csr->values == 0 || csr->form == MBI_VALUES_EQUAL ? 0
         : csr->form == MBI_VALUES_SINGLE                  ? sizeof(float)
                                                           : mbi_type_size(plan->type);
}

/* For merbit_plan_describe. */
static const char *mbi_value_name(const merbit_plan *plan) {
  return plan->csr.values == NULL                 ? "values all one"
         : plan->device.form == MBI_VALUES_EQUAL  ? "values all equal"
         : plan->device.form == MBI_VALUES_SINGLE ? "values exact in f32"
                                                  : "general values";
}

/* Whether plan->bsr is what is multiplied. */
static int mbi_plan_has_blocks(const merbit_plan *plan) {
  return plan->bsr.view.block_rows > 0;
}

#ifdef MERBIT_STUDY_METHODS
static int mbi_cuda_study_method(merbit_method method) {
  return method >= MERBIT_METHOD_BSR_ROW_MAJOR && method <= MERBIT_METHOD_BSR_VECTOR;
}
#endif

static const char *mbi_type_name(merbit_type type) {
  return type == MERBIT_F32 ? "f32" : "f64";
}

static const char *mbi_method_name(merbit_method method) {
  static const char *const names[] = {"auto", "reference", "merge",  "merbit",
                                      "scan", "rows",      "sliced", "binned",
                                      "bsr",  "cb",        "hubs"};
#ifdef MERBIT_STUDY_METHODS
  static const char *const studies[] = {"bsr-rows", "bsr-naive", "bsr-split", "bsr-maximum",
                                        "bsr-fixed"};
  static const char *const cuda[] = {"bsr-rowmajor", "bsr-private", "bsr-team", "bsr-vector"};
  if (method >= MERBIT_METHOD_BSR_ROW_MAJOR) {
    return cuda[method - MERBIT_METHOD_BSR_ROW_MAJOR];
  }
  if (method >= MERBIT_METHOD_BSR_ROWS) {
    return studies[method - MERBIT_METHOD_BSR_ROWS];
  }
#endif
  return names[method];
}

/* Drop one reference; the last one frees the plan: spmv/plan.c. */
static void mbi_plan_unref(merbit_plan *plan);

/* ==== >>spmv/reference.c  CPU: the sequential row loop ==================================== */
/* What every other method is compared with: sums start at +0 and run in the order of the
 * arrays. */
/* alpha 0: every sum is +0, so that alpha * sum is alpha, a zero of either sign. */
static void mbi_scale_f64(int64_t begin, int64_t end, double alpha, double beta,
                                     double *y) {
  int64_t row;
  for (row = begin; row < end; row++) {
    y[row] = beta == 0 ? alpha : alpha + beta * y[row];
  }
}

static void mbi_reference_i32_f64(const merbit_view *csr,
                                                        const double *values, double alpha,
                                                        const double *x, double beta,
                                                        double *y) {
  const int32_t *row_ptr = (const int32_t *)csr->row_ptr;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t row, k, base = csr->base;
  for (row = 0; row < csr->rows; row++) {
    double sum = 0;
    for (k = row_ptr[row] - base; k < row_ptr[row + 1] - base; k++) {
      sum += values != NULL ? values[k] * x[col_ind[k] - base] : x[col_ind[k] - base];
    }
    y[row] = beta == 0 ? alpha * sum : alpha * sum + beta * y[row];
  }
}

static void mbi_reference_i64_f64(const merbit_view *csr,
                                                        const double *values, double alpha,
                                                        const double *x, double beta,
                                                        double *y) {
  const int64_t *row_ptr = (const int64_t *)csr->row_ptr;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t row, k, base = csr->base;
  for (row = 0; row < csr->rows; row++) {
    double sum = 0;
    for (k = row_ptr[row] - base; k < row_ptr[row + 1] - base; k++) {
      sum += values != NULL ? values[k] * x[col_ind[k] - base] : x[col_ind[k] - base];
    }
    y[row] = beta == 0 ? alpha * sum : alpha * sum + beta * y[row];
  }
}

static void mbi_reference_typed_f64(const merbit_view *csr, const double *values,
                                               double alpha, const double *x, double beta,
                                               double *y) {
  if (alpha == 0) {
    mbi_scale_f64(0, csr->rows, alpha, beta, y);
  } else if (csr->offset_type == MERBIT_INDEX_32) {
    mbi_reference_i32_f64(csr, values, alpha, x, beta, y);
  } else {
    mbi_reference_i64_f64(csr, values, alpha, x, beta, y);
  }
}

/* alpha 0: every sum is +0, so that alpha * sum is alpha, a zero of either sign. */
static void mbi_scale_f32(int64_t begin, int64_t end, float alpha, float beta,
                                     float *y) {
  int64_t row;
  for (row = begin; row < end; row++) {
    y[row] = beta == 0 ? alpha : alpha + beta * y[row];
  }
}

static void mbi_reference_i32_f32(const merbit_view *csr,
                                                        const float *values, float alpha,
                                                        const float *x, float beta,
                                                        float *y) {
  const int32_t *row_ptr = (const int32_t *)csr->row_ptr;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t row, k, base = csr->base;
  for (row = 0; row < csr->rows; row++) {
    float sum = 0;
    for (k = row_ptr[row] - base; k < row_ptr[row + 1] - base; k++) {
      sum += values != NULL ? values[k] * x[col_ind[k] - base] : x[col_ind[k] - base];
    }
    y[row] = beta == 0 ? alpha * sum : alpha * sum + beta * y[row];
  }
}

static void mbi_reference_i64_f32(const merbit_view *csr,
                                                        const float *values, float alpha,
                                                        const float *x, float beta,
                                                        float *y) {
  const int64_t *row_ptr = (const int64_t *)csr->row_ptr;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t row, k, base = csr->base;
  for (row = 0; row < csr->rows; row++) {
    float sum = 0;
    for (k = row_ptr[row] - base; k < row_ptr[row + 1] - base; k++) {
      sum += values != NULL ? values[k] * x[col_ind[k] - base] : x[col_ind[k] - base];
    }
    y[row] = beta == 0 ? alpha * sum : alpha * sum + beta * y[row];
  }
}

static void mbi_reference_typed_f32(const merbit_view *csr, const float *values,
                                               float alpha, const float *x, float beta,
                                               float *y) {
  if (alpha == 0) {
    mbi_scale_f32(0, csr->rows, alpha, beta, y);
  } else if (csr->offset_type == MERBIT_INDEX_32) {
    mbi_reference_i32_f32(csr, values, alpha, x, beta, y);
  } else {
    mbi_reference_i64_f32(csr, values, alpha, x, beta, y);
  }
}

/* y = alpha A x + beta y, one row after the other. `csr` is a checked host view with 32-bit
 * columns; `values` takes the place of its own, NULL is a pattern. Scalars and vectors have its
 * type. */
static void mbi_reference_multiply(const merbit_view *csr, const void *values,
                                   const void *alpha, const void *x, const void *beta,
                                   void *y) {
  if (mbi_view_type(csr) == MERBIT_F32) {
    mbi_reference_typed_f32(csr, (const float *)values, *(const float *)alpha,
                            (const float *)x, *(const float *)beta, (float *)y);
  } else {
    mbi_reference_typed_f64(csr, (const double *)values, *(const double *)alpha,
                            (const double *)x, *(const double *)beta, (double *)y);
  }
}

/* ==== >>spmv/merge.c  CPU: merge-path split over threads ================================== */
/* Merge-based CsrMV: D. Merrill, M. Garland, Merge-based Parallel Sparse Matrix-Vector
 * Multiplication, SC16, Algorithm 2. The path of rows + nnz steps merges row ends and nonzeros;
 * each task takes an equal piece of it. Unlike there, a row that several tasks share is written
 * once, with its whole sum, after the join: alpha * sum + beta * y cannot be applied to parts. */

/* Where the path crosses a diagonal: `row` row ends and `entry` nonzeros lie before it. */
typedef struct mbi_merge_point {
  int64_t row, entry;
} mbi_merge_point;

/* Algorithm 3: on a tie the row end comes first, so that a row ends in the task of its last
 * nonzero or at the start of the next. */
static mbi_merge_point mbi_merge_search(const merbit_view *csr, int64_t diagonal) {
  mbi_merge_point point;
  int64_t low = diagonal > csr->nnz ? diagonal - csr->nnz : 0;
  int64_t high = diagonal < csr->rows ? diagonal : csr->rows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    int64_t end = mbi_index_at(csr->row_ptr, csr->offset_type, middle + 1) - csr->base;
    if (end <= diagonal - middle - 1) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  point.row = low;
  point.entry = diagonal - low;
  return point;
}

/* Tasks worth starting: a short path is done before another thread wakes up. */
static int mbi_merge_tasks(merbit_context *context, const merbit_view *csr) {
  int64_t useful = (csr->rows + csr->nnz) / 8192;
  return useful < 1 ? 1 : useful < context->threads ? (int)useful : context->threads;
}

/* Most rows are too short for the vector code that compilers make of a sum of floats. */
#define MBI_SCALAR_LOOP __asm__ volatile("")

typedef struct mbi_merge_part_f64 { /* what a task leaves for the fix-up */
  int64_t head_row;  /* a row that began in an earlier task and ends in this one, or -1 */
  double head;    /* this task's part of it */
  double carry;   /* the part of the row that the task stopped in */
} mbi_merge_part_f64;

typedef struct mbi_merge_call_f64 {
  const merbit_view *csr;
  const double *values, *x;
  double alpha, beta, *y;
  mbi_merge_part_f64 *parts;
  int tasks;
  int shift; /* pointers moved back by the base save inner loops a subtraction; 0 if empty */
} mbi_merge_call_f64;

static void mbi_commit_f64(const mbi_merge_call_f64 *call, int64_t row,
                                      double sum) {
  double *y = call->y + row;
  *y = call->beta == 0 ? call->alpha * sum : call->alpha * sum + call->beta * *y;
}

/* Part of one row: entries [begin, end), counted from 0. Four sums: parts are cut from long rows,
 * where one chain of additions would be slower than memory. */
static double mbi_merge_sum_f64(const mbi_merge_call_f64 *call,
                                              int64_t begin, int64_t end) {
  const int32_t *col_ind = (const int32_t *)call->csr->col_ind;
  const double *values = call->values, *x = call->x - call->shift;
  double sums[4] = {0, 0, 0, 0};
  int64_t k = begin;
  int lane;
  if (values != NULL) {
    for (; k + 4 <= end; k += 4) {
      for (lane = 0; lane < 4; lane++) {
        sums[lane] += values[k + lane] * x[col_ind[k + lane]];
      }
    }
  } else {
    for (; k + 4 <= end; k += 4) {
      for (lane = 0; lane < 4; lane++) {
        sums[lane] += x[col_ind[k + lane]];
      }
    }
  }
  for (; k < end; k++) {
    sums[0] += values != NULL ? values[k] * x[col_ind[k]] : x[col_ind[k]];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Whole rows [row, last). A loop for each case: a test of beta costs short rows a fifth. */
static void mbi_merge_rows_i32_f64(
    const mbi_merge_call_f64 *call, int64_t row, int64_t last) {
  const int32_t *row_ptr = (const int32_t *)call->csr->row_ptr;
  const int32_t *col_ind = (const int32_t *)call->csr->col_ind - call->shift;
  const double *values = call->values != NULL ? call->values - call->shift : NULL;
  const double *x = call->x - call->shift;
  const double alpha = call->alpha, beta = call->beta;
  double *y = call->y;
  int32_t k = row_ptr[row];
  if (values != NULL && beta == 0) {
    for (; row < last; row++) {
      const int32_t end = row_ptr[row + 1];
      double sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += values[k] * x[col_ind[k]];
      }
      y[row] = alpha * sum;
    }
  } else if (values != NULL) {
    for (; row < last; row++) {
      const int32_t end = row_ptr[row + 1];
      double sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += values[k] * x[col_ind[k]];
      }
      y[row] = alpha * sum + beta * y[row];
    }
  } else if (beta == 0) {
    for (; row < last; row++) {
      const int32_t end = row_ptr[row + 1];
      double sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += x[col_ind[k]];
      }
      y[row] = alpha * sum;
    }
  } else {
    for (; row < last; row++) {
      const int32_t end = row_ptr[row + 1];
      double sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += x[col_ind[k]];
      }
      y[row] = alpha * sum + beta * y[row];
    }
  }
}

/* Whole rows [row, last). A loop for each case: a test of beta costs short rows a fifth. */
static void mbi_merge_rows_i64_f64(
    const mbi_merge_call_f64 *call, int64_t row, int64_t last) {
  const int64_t *row_ptr = (const int64_t *)call->csr->row_ptr;
  const int32_t *col_ind = (const int32_t *)call->csr->col_ind - call->shift;
  const double *values = call->values != NULL ? call->values - call->shift : NULL;
  const double *x = call->x - call->shift;
  const double alpha = call->alpha, beta = call->beta;
  double *y = call->y;
  int64_t k = row_ptr[row];
  if (values != NULL && beta == 0) {
    for (; row < last; row++) {
      const int64_t end = row_ptr[row + 1];
      double sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += values[k] * x[col_ind[k]];
      }
      y[row] = alpha * sum;
    }
  } else if (values != NULL) {
    for (; row < last; row++) {
      const int64_t end = row_ptr[row + 1];
      double sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += values[k] * x[col_ind[k]];
      }
      y[row] = alpha * sum + beta * y[row];
    }
  } else if (beta == 0) {
    for (; row < last; row++) {
      const int64_t end = row_ptr[row + 1];
      double sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += x[col_ind[k]];
      }
      y[row] = alpha * sum;
    }
  } else {
    for (; row < last; row++) {
      const int64_t end = row_ptr[row + 1];
      double sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += x[col_ind[k]];
      }
      y[row] = alpha * sum + beta * y[row];
    }
  }
}

static void mbi_merge_task_f64(void *argument, int task) {
  const mbi_merge_call_f64 *call = (const mbi_merge_call_f64 *)argument;
  mbi_merge_part_f64 *part = call->parts + task;
  const merbit_view *csr = call->csr;
  int64_t path = csr->rows + csr->nnz, start;
  mbi_merge_point from = mbi_merge_search(csr, mbi_share(path, call->tasks, task));
  mbi_merge_point to = mbi_merge_search(csr, mbi_share(path, call->tasks, task + 1));
  part->head_row = -1;
  part->head = 0;
  if (from.row < to.row) {
    start = mbi_index_at(csr->row_ptr, csr->offset_type, from.row) - csr->base;
    if (start < from.entry) {
      part->head_row = from.row;
      from.row++;
      start = mbi_index_at(csr->row_ptr, csr->offset_type, from.row) - csr->base;
      part->head = mbi_merge_sum_f64(call, from.entry, start);
    }
    if (csr->offset_type == MERBIT_INDEX_32) {
      mbi_merge_rows_i32_f64(call, from.row, to.row);
    } else {
      mbi_merge_rows_i64_f64(call, from.row, to.row);
    }
    from.entry = mbi_index_at(csr->row_ptr, csr->offset_type, to.row) - csr->base;
  }
  part->carry = mbi_merge_sum_f64(call, from.entry, to.entry);
}

static void mbi_merge_scale_task_f64(void *argument, int task) {
  const mbi_merge_call_f64 *call = (const mbi_merge_call_f64 *)argument;
  int64_t rows = call->csr->rows;
  mbi_scale_f64(mbi_share(rows, call->tasks, task),
                           mbi_share(rows, call->tasks, task + 1), call->alpha, call->beta,
                           call->y);
}

/* Rows that span tasks: their parts in the order of the tasks, then one commit. A row that ends
 * with its task's piece leaves a carry of +0, so `sum` is +0 wherever a row begins. */
static void mbi_merge_fix_up_f64(const mbi_merge_call_f64 *call) {
  double sum = 0;
  int task;
  for (task = 0; task < call->tasks; task++) {
    const mbi_merge_part_f64 *part = call->parts + task;
    if (part->head_row >= 0) {
      mbi_commit_f64(call, part->head_row, sum + part->head);
      sum = 0;
    }
    sum += part->carry;
  }
}

static void mbi_merge_typed_f64(merbit_context *context, const merbit_view *csr,
                                           const double *values, int tasks, void *scratch,
                                           double alpha, const double *x, double beta,
                                           double *y) {
  mbi_merge_call_f64 call;
  call.csr = csr;
  call.values = values;
  call.x = x;
  call.alpha = alpha;
  call.beta = beta;
  call.y = y;
  call.parts = (mbi_merge_part_f64 *)scratch;
  call.tasks = tasks;
  call.shift = csr->nnz > 0 ? csr->base : 0;
  if (alpha == 0) {
    mbi_parallel(context, tasks, mbi_merge_scale_task_f64, &call);
  } else {
    mbi_parallel(context, tasks, mbi_merge_task_f64, &call);
    mbi_merge_fix_up_f64(&call);
  }
}

typedef struct mbi_merge_part_f32 { /* what a task leaves for the fix-up */
  int64_t head_row;  /* a row that began in an earlier task and ends in this one, or -1 */
  float head;    /* this task's part of it */
  float carry;   /* the part of the row that the task stopped in */
} mbi_merge_part_f32;

typedef struct mbi_merge_call_f32 {
  const merbit_view *csr;
  const float *values, *x;
  float alpha, beta, *y;
  mbi_merge_part_f32 *parts;
  int tasks;
  int shift; /* pointers moved back by the base save inner loops a subtraction; 0 if empty */
} mbi_merge_call_f32;

static void mbi_commit_f32(const mbi_merge_call_f32 *call, int64_t row,
                                      float sum) {
  float *y = call->y + row;
  *y = call->beta == 0 ? call->alpha * sum : call->alpha * sum + call->beta * *y;
}

/* Part of one row: entries [begin, end), counted from 0. Four sums: parts are cut from long rows,
 * where one chain of additions would be slower than memory. */
static float mbi_merge_sum_f32(const mbi_merge_call_f32 *call,
                                              int64_t begin, int64_t end) {
  const int32_t *col_ind = (const int32_t *)call->csr->col_ind;
  const float *values = call->values, *x = call->x - call->shift;
  float sums[4] = {0, 0, 0, 0};
  int64_t k = begin;
  int lane;
  if (values != NULL) {
    for (; k + 4 <= end; k += 4) {
      for (lane = 0; lane < 4; lane++) {
        sums[lane] += values[k + lane] * x[col_ind[k + lane]];
      }
    }
  } else {
    for (; k + 4 <= end; k += 4) {
      for (lane = 0; lane < 4; lane++) {
        sums[lane] += x[col_ind[k + lane]];
      }
    }
  }
  for (; k < end; k++) {
    sums[0] += values != NULL ? values[k] * x[col_ind[k]] : x[col_ind[k]];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Whole rows [row, last). A loop for each case: a test of beta costs short rows a fifth. */
static void mbi_merge_rows_i32_f32(
    const mbi_merge_call_f32 *call, int64_t row, int64_t last) {
  const int32_t *row_ptr = (const int32_t *)call->csr->row_ptr;
  const int32_t *col_ind = (const int32_t *)call->csr->col_ind - call->shift;
  const float *values = call->values != NULL ? call->values - call->shift : NULL;
  const float *x = call->x - call->shift;
  const float alpha = call->alpha, beta = call->beta;
  float *y = call->y;
  int32_t k = row_ptr[row];
  if (values != NULL && beta == 0) {
    for (; row < last; row++) {
      const int32_t end = row_ptr[row + 1];
      float sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += values[k] * x[col_ind[k]];
      }
      y[row] = alpha * sum;
    }
  } else if (values != NULL) {
    for (; row < last; row++) {
      const int32_t end = row_ptr[row + 1];
      float sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += values[k] * x[col_ind[k]];
      }
      y[row] = alpha * sum + beta * y[row];
    }
  } else if (beta == 0) {
    for (; row < last; row++) {
      const int32_t end = row_ptr[row + 1];
      float sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += x[col_ind[k]];
      }
      y[row] = alpha * sum;
    }
  } else {
    for (; row < last; row++) {
      const int32_t end = row_ptr[row + 1];
      float sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += x[col_ind[k]];
      }
      y[row] = alpha * sum + beta * y[row];
    }
  }
}

/* Whole rows [row, last). A loop for each case: a test of beta costs short rows a fifth. */
static void mbi_merge_rows_i64_f32(
    const mbi_merge_call_f32 *call, int64_t row, int64_t last) {
  const int64_t *row_ptr = (const int64_t *)call->csr->row_ptr;
  const int32_t *col_ind = (const int32_t *)call->csr->col_ind - call->shift;
  const float *values = call->values != NULL ? call->values - call->shift : NULL;
  const float *x = call->x - call->shift;
  const float alpha = call->alpha, beta = call->beta;
  float *y = call->y;
  int64_t k = row_ptr[row];
  if (values != NULL && beta == 0) {
    for (; row < last; row++) {
      const int64_t end = row_ptr[row + 1];
      float sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += values[k] * x[col_ind[k]];
      }
      y[row] = alpha * sum;
    }
  } else if (values != NULL) {
    for (; row < last; row++) {
      const int64_t end = row_ptr[row + 1];
      float sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += values[k] * x[col_ind[k]];
      }
      y[row] = alpha * sum + beta * y[row];
    }
  } else if (beta == 0) {
    for (; row < last; row++) {
      const int64_t end = row_ptr[row + 1];
      float sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += x[col_ind[k]];
      }
      y[row] = alpha * sum;
    }
  } else {
    for (; row < last; row++) {
      const int64_t end = row_ptr[row + 1];
      float sum = 0;
      for (; k < end; k++) {
        MBI_SCALAR_LOOP;
        sum += x[col_ind[k]];
      }
      y[row] = alpha * sum + beta * y[row];
    }
  }
}

static void mbi_merge_task_f32(void *argument, int task) {
  const mbi_merge_call_f32 *call = (const mbi_merge_call_f32 *)argument;
  mbi_merge_part_f32 *part = call->parts + task;
  const merbit_view *csr = call->csr;
  int64_t path = csr->rows + csr->nnz, start;
  mbi_merge_point from = mbi_merge_search(csr, mbi_share(path, call->tasks, task));
  mbi_merge_point to = mbi_merge_search(csr, mbi_share(path, call->tasks, task + 1));
  part->head_row = -1;
  part->head = 0;
  if (from.row < to.row) {
    start = mbi_index_at(csr->row_ptr, csr->offset_type, from.row) - csr->base;
    if (start < from.entry) {
      part->head_row = from.row;
      from.row++;
      start = mbi_index_at(csr->row_ptr, csr->offset_type, from.row) - csr->base;
      part->head = mbi_merge_sum_f32(call, from.entry, start);
    }
    if (csr->offset_type == MERBIT_INDEX_32) {
      mbi_merge_rows_i32_f32(call, from.row, to.row);
    } else {
      mbi_merge_rows_i64_f32(call, from.row, to.row);
    }
    from.entry = mbi_index_at(csr->row_ptr, csr->offset_type, to.row) - csr->base;
  }
  part->carry = mbi_merge_sum_f32(call, from.entry, to.entry);
}

static void mbi_merge_scale_task_f32(void *argument, int task) {
  const mbi_merge_call_f32 *call = (const mbi_merge_call_f32 *)argument;
  int64_t rows = call->csr->rows;
  mbi_scale_f32(mbi_share(rows, call->tasks, task),
                           mbi_share(rows, call->tasks, task + 1), call->alpha, call->beta,
                           call->y);
}

/* Rows that span tasks: their parts in the order of the tasks, then one commit. A row that ends
 * with its task's piece leaves a carry of +0, so `sum` is +0 wherever a row begins. */
static void mbi_merge_fix_up_f32(const mbi_merge_call_f32 *call) {
  float sum = 0;
  int task;
  for (task = 0; task < call->tasks; task++) {
    const mbi_merge_part_f32 *part = call->parts + task;
    if (part->head_row >= 0) {
      mbi_commit_f32(call, part->head_row, sum + part->head);
      sum = 0;
    }
    sum += part->carry;
  }
}

static void mbi_merge_typed_f32(merbit_context *context, const merbit_view *csr,
                                           const float *values, int tasks, void *scratch,
                                           float alpha, const float *x, float beta,
                                           float *y) {
  mbi_merge_call_f32 call;
  call.csr = csr;
  call.values = values;
  call.x = x;
  call.alpha = alpha;
  call.beta = beta;
  call.y = y;
  call.parts = (mbi_merge_part_f32 *)scratch;
  call.tasks = tasks;
  call.shift = csr->nnz > 0 ? csr->base : 0;
  if (alpha == 0) {
    mbi_parallel(context, tasks, mbi_merge_scale_task_f32, &call);
  } else {
    mbi_parallel(context, tasks, mbi_merge_task_f32, &call);
    mbi_merge_fix_up_f32(&call);
  }
}

static size_t mbi_merge_scratch_bytes(int tasks, merbit_type type) {
  return (size_t)tasks *
         (type == MERBIT_F32 ? sizeof(mbi_merge_part_f32) : sizeof(mbi_merge_part_f64));
}

/* y = alpha A x + beta y in `tasks` pieces; arguments as in mbi_reference_multiply. The same
 * number of tasks gives the same bits, whatever the threads do. */
static void mbi_merge_multiply(merbit_context *context, const merbit_view *csr,
                               const void *values, int tasks, void *scratch, const void *alpha,
                               const void *x, const void *beta, void *y) {
  if (mbi_view_type(csr) == MERBIT_F32) {
    mbi_merge_typed_f32(context, csr, (const float *)values, tasks, scratch,
                        *(const float *)alpha, (const float *)x, *(const float *)beta,
                        (float *)y);
  } else {
    mbi_merge_typed_f64(context, csr, (const double *)values, tasks, scratch,
                        *(const double *)alpha, (const double *)x, *(const double *)beta,
                        (double *)y);
  }
}

/* ==== >>spmv/block_kernels.c  CPU: sums of small blocks, a loop for each shape ============ */
/* sums[r] += row r of the blocks [at, end) times x, for one shape and order of blocks: the sums
 * stay in registers, and a block's part of a sum is a tree, so that a chain of additions has one
 * link for each block. `step` is R * C, or 0 where one block stands for all. */
typedef void (*mbi_block_kernel_f64)(const int32_t *col_ind, const double *values,
                                                int64_t step, const double *x, int64_t at,
                                                int64_t end, double *sums);
typedef void (*mbi_block_kernel_f32)(const int32_t *col_ind, const float *values,
                                                int64_t step, const float *x, int64_t at,
                                                int64_t end, float *sums);
#define MBI_BLOCK_ROWS_1(M, T, C, a, b) M(0, T, C, a, b)
#define MBI_BLOCK_ROWS_2(M, T, C, a, b) M(0, T, C, a, b) M(1, T, C, a, b)
#define MBI_BLOCK_ROWS_3(M, T, C, a, b) M(0, T, C, a, b) M(1, T, C, a, b) M(2, T, C, a, b)
#define MBI_BLOCK_ROWS_4(M, T, C, a, b) M(0, T, C, a, b) M(1, T, C, a, b) M(2, T, C, a, b) M(3, T, C, a, b)
#define MBI_BLOCK_ROWS_5(M, T, C, a, b) M(0, T, C, a, b) M(1, T, C, a, b) M(2, T, C, a, b) M(3, T, C, a, b) M(4, T, C, a, b)
#define MBI_BLOCK_ROWS_6(M, T, C, a, b) M(0, T, C, a, b) M(1, T, C, a, b) M(2, T, C, a, b) M(3, T, C, a, b) M(4, T, C, a, b) M(5, T, C, a, b)
#define MBI_BLOCK_ROWS_7(M, T, C, a, b) M(0, T, C, a, b) M(1, T, C, a, b) M(2, T, C, a, b) M(3, T, C, a, b) M(4, T, C, a, b) M(5, T, C, a, b) M(6, T, C, a, b)
#define MBI_BLOCK_ROWS_8(M, T, C, a, b) M(0, T, C, a, b) M(1, T, C, a, b) M(2, T, C, a, b) M(3, T, C, a, b) M(4, T, C, a, b) M(5, T, C, a, b) M(6, T, C, a, b) M(7, T, C, a, b)
#define MBI_BLOCK_X_1(T) const T x0 = p[0];
#define MBI_BLOCK_X_2(T) const T x0 = p[0], x1 = p[1];
#define MBI_BLOCK_X_3(T) const T x0 = p[0], x1 = p[1], x2 = p[2];
#define MBI_BLOCK_X_4(T) const T x0 = p[0], x1 = p[1], x2 = p[2], x3 = p[3];
#define MBI_BLOCK_X_5(T) const T x0 = p[0], x1 = p[1], x2 = p[2], x3 = p[3], x4 = p[4];
#define MBI_BLOCK_X_6(T) const T x0 = p[0], x1 = p[1], x2 = p[2], x3 = p[3], x4 = p[4], x5 = p[5];
#define MBI_BLOCK_X_7(T) const T x0 = p[0], x1 = p[1], x2 = p[2], x3 = p[3], x4 = p[4], x5 = p[5], x6 = p[6];
#define MBI_BLOCK_X_8(T) const T x0 = p[0], x1 = p[1], x2 = p[2], x3 = p[3], x4 = p[4], x5 = p[5], x6 = p[6], x7 = p[7];
#define MBI_BLOCK_DOT_1(v, s) (v)[0 * (s)] * x0
#define MBI_BLOCK_DOT_2(v, s) ((v)[0 * (s)] * x0 + (v)[1 * (s)] * x1)
#define MBI_BLOCK_DOT_3(v, s) (((v)[0 * (s)] * x0 + (v)[1 * (s)] * x1) + (v)[2 * (s)] * x2)
#define MBI_BLOCK_DOT_4(v, s) (((v)[0 * (s)] * x0 + (v)[1 * (s)] * x1) + ((v)[2 * (s)] * x2 + (v)[3 * (s)] * x3))
#define MBI_BLOCK_DOT_5(v, s) ((((v)[0 * (s)] * x0 + (v)[1 * (s)] * x1) + (v)[2 * (s)] * x2) + ((v)[3 * (s)] * x3 + (v)[4 * (s)] * x4))
#define MBI_BLOCK_DOT_6(v, s) ((((v)[0 * (s)] * x0 + (v)[1 * (s)] * x1) + (v)[2 * (s)] * x2) + (((v)[3 * (s)] * x3 + (v)[4 * (s)] * x4) + (v)[5 * (s)] * x5))
#define MBI_BLOCK_DOT_7(v, s) ((((v)[0 * (s)] * x0 + (v)[1 * (s)] * x1) + ((v)[2 * (s)] * x2 + (v)[3 * (s)] * x3)) + (((v)[4 * (s)] * x4 + (v)[5 * (s)] * x5) + (v)[6 * (s)] * x6))
#define MBI_BLOCK_DOT_8(v, s) ((((v)[0 * (s)] * x0 + (v)[1 * (s)] * x1) + ((v)[2 * (s)] * x2 + (v)[3 * (s)] * x3)) + (((v)[4 * (s)] * x4 + (v)[5 * (s)] * x5) + ((v)[6 * (s)] * x6 + (v)[7 * (s)] * x7)))
#define MBI_BLOCK_ZERO(r, T, C, a, b) T s##r = 0;
#define MBI_BLOCK_ADD(r, T, C, a, b) s##r += MBI_BLOCK_DOT_##C(v + r * (a), b);
#define MBI_BLOCK_GIVE(r, T, C, a, b) sums[r] += s##r;

#define MBI_BLOCK_KERNEL(T, suffix, order, R, C, a, b)                                         \
  static void mbi_block_##order##_##R##x##C##_##suffix(const int32_t *col_ind,                 \
                                                       const T *values, int64_t step,          \
                                                       const T *x, int64_t at, int64_t end,    \
                                                       T *sums) {                              \
    const T *v = values + at * step;                                                           \
    MBI_BLOCK_ROWS_##R(MBI_BLOCK_ZERO, T, C, a, b)                                             \
    for (; at < end; at++, v += step) {                                                        \
      const T *p = x + (int64_t)col_ind[at] * C;                                               \
      MBI_BLOCK_X_##C(T)                                                                       \
      MBI_BLOCK_ROWS_##R(MBI_BLOCK_ADD, T, C, a, b)                                            \
    }                                                                                          \
    MBI_BLOCK_ROWS_##R(MBI_BLOCK_GIVE, T, C, a, b)                                             \
  }
#define MBI_BLOCK_SHAPE(R, C)                                                                  \
  MBI_BLOCK_KERNEL(double, f64, row, R, C, C, 1)                                               \
  MBI_BLOCK_KERNEL(double, f64, column, R, C, 1, R)                                            \
  MBI_BLOCK_KERNEL(float, f32, row, R, C, C, 1)                                                \
  MBI_BLOCK_KERNEL(float, f32, column, R, C, 1, R)

/* Shapes up to this have a loop of their own. With sanitizers 64 of them, in two orders and
 * types, would take a compiler a quarter of a minute; tests of other things ask for few, too. */
#ifndef MBI_BLOCK_FEW
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MBI_BLOCK_FEW
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define MBI_BLOCK_FEW
#endif
#endif
#ifdef MBI_BLOCK_FEW
#define MBI_BLOCK_UNROLLED 3
MBI_BLOCK_SHAPE(1, 1)
MBI_BLOCK_SHAPE(1, 2)
MBI_BLOCK_SHAPE(1, 3)
MBI_BLOCK_SHAPE(2, 1)
MBI_BLOCK_SHAPE(2, 2)
MBI_BLOCK_SHAPE(2, 3)
MBI_BLOCK_SHAPE(3, 1)
MBI_BLOCK_SHAPE(3, 2)
MBI_BLOCK_SHAPE(3, 3)

#else
#define MBI_BLOCK_UNROLLED 8
MBI_BLOCK_SHAPE(1, 1)
MBI_BLOCK_SHAPE(1, 2)
MBI_BLOCK_SHAPE(1, 3)
MBI_BLOCK_SHAPE(1, 4)
MBI_BLOCK_SHAPE(1, 5)
MBI_BLOCK_SHAPE(1, 6)
MBI_BLOCK_SHAPE(1, 7)
MBI_BLOCK_SHAPE(1, 8)
MBI_BLOCK_SHAPE(2, 1)
MBI_BLOCK_SHAPE(2, 2)
MBI_BLOCK_SHAPE(2, 3)
MBI_BLOCK_SHAPE(2, 4)
MBI_BLOCK_SHAPE(2, 5)
MBI_BLOCK_SHAPE(2, 6)
MBI_BLOCK_SHAPE(2, 7)
MBI_BLOCK_SHAPE(2, 8)
MBI_BLOCK_SHAPE(3, 1)
MBI_BLOCK_SHAPE(3, 2)
MBI_BLOCK_SHAPE(3, 3)
MBI_BLOCK_SHAPE(3, 4)
MBI_BLOCK_SHAPE(3, 5)
MBI_BLOCK_SHAPE(3, 6)
MBI_BLOCK_SHAPE(3, 7)
MBI_BLOCK_SHAPE(3, 8)
MBI_BLOCK_SHAPE(4, 1)
MBI_BLOCK_SHAPE(4, 2)
MBI_BLOCK_SHAPE(4, 3)
MBI_BLOCK_SHAPE(4, 4)
MBI_BLOCK_SHAPE(4, 5)
MBI_BLOCK_SHAPE(4, 6)
MBI_BLOCK_SHAPE(4, 7)
MBI_BLOCK_SHAPE(4, 8)
MBI_BLOCK_SHAPE(5, 1)
MBI_BLOCK_SHAPE(5, 2)
MBI_BLOCK_SHAPE(5, 3)
MBI_BLOCK_SHAPE(5, 4)
MBI_BLOCK_SHAPE(5, 5)
MBI_BLOCK_SHAPE(5, 6)
MBI_BLOCK_SHAPE(5, 7)
MBI_BLOCK_SHAPE(5, 8)
MBI_BLOCK_SHAPE(6, 1)
MBI_BLOCK_SHAPE(6, 2)
MBI_BLOCK_SHAPE(6, 3)
MBI_BLOCK_SHAPE(6, 4)
MBI_BLOCK_SHAPE(6, 5)
MBI_BLOCK_SHAPE(6, 6)
MBI_BLOCK_SHAPE(6, 7)
MBI_BLOCK_SHAPE(6, 8)
MBI_BLOCK_SHAPE(7, 1)
MBI_BLOCK_SHAPE(7, 2)
MBI_BLOCK_SHAPE(7, 3)
MBI_BLOCK_SHAPE(7, 4)
MBI_BLOCK_SHAPE(7, 5)
MBI_BLOCK_SHAPE(7, 6)
MBI_BLOCK_SHAPE(7, 7)
MBI_BLOCK_SHAPE(7, 8)
MBI_BLOCK_SHAPE(8, 1)
MBI_BLOCK_SHAPE(8, 2)
MBI_BLOCK_SHAPE(8, 3)
MBI_BLOCK_SHAPE(8, 4)
MBI_BLOCK_SHAPE(8, 5)
MBI_BLOCK_SHAPE(8, 6)
MBI_BLOCK_SHAPE(8, 7)
MBI_BLOCK_SHAPE(8, 8)

#endif
static const mbi_block_kernel_f64
    mbi_block_kernels_f64[2][MBI_BLOCK_UNROLLED][MBI_BLOCK_UNROLLED] = {
#ifdef MBI_BLOCK_FEW
    {
        {mbi_block_row_1x1_f64, mbi_block_row_1x2_f64, mbi_block_row_1x3_f64},
        {mbi_block_row_2x1_f64, mbi_block_row_2x2_f64, mbi_block_row_2x3_f64},
        {mbi_block_row_3x1_f64, mbi_block_row_3x2_f64, mbi_block_row_3x3_f64},
    },
    {
        {mbi_block_column_1x1_f64, mbi_block_column_1x2_f64, mbi_block_column_1x3_f64},
        {mbi_block_column_2x1_f64, mbi_block_column_2x2_f64, mbi_block_column_2x3_f64},
        {mbi_block_column_3x1_f64, mbi_block_column_3x2_f64, mbi_block_column_3x3_f64},
    },

#else
    {
        {mbi_block_row_1x1_f64, mbi_block_row_1x2_f64, mbi_block_row_1x3_f64, mbi_block_row_1x4_f64, mbi_block_row_1x5_f64, mbi_block_row_1x6_f64, mbi_block_row_1x7_f64, mbi_block_row_1x8_f64},
        {mbi_block_row_2x1_f64, mbi_block_row_2x2_f64, mbi_block_row_2x3_f64, mbi_block_row_2x4_f64, mbi_block_row_2x5_f64, mbi_block_row_2x6_f64, mbi_block_row_2x7_f64, mbi_block_row_2x8_f64},
        {mbi_block_row_3x1_f64, mbi_block_row_3x2_f64, mbi_block_row_3x3_f64, mbi_block_row_3x4_f64, mbi_block_row_3x5_f64, mbi_block_row_3x6_f64, mbi_block_row_3x7_f64, mbi_block_row_3x8_f64},
        {mbi_block_row_4x1_f64, mbi_block_row_4x2_f64, mbi_block_row_4x3_f64, mbi_block_row_4x4_f64, mbi_block_row_4x5_f64, mbi_block_row_4x6_f64, mbi_block_row_4x7_f64, mbi_block_row_4x8_f64},
        {mbi_block_row_5x1_f64, mbi_block_row_5x2_f64, mbi_block_row_5x3_f64, mbi_block_row_5x4_f64, mbi_block_row_5x5_f64, mbi_block_row_5x6_f64, mbi_block_row_5x7_f64, mbi_block_row_5x8_f64},
        {mbi_block_row_6x1_f64, mbi_block_row_6x2_f64, mbi_block_row_6x3_f64, mbi_block_row_6x4_f64, mbi_block_row_6x5_f64, mbi_block_row_6x6_f64, mbi_block_row_6x7_f64, mbi_block_row_6x8_f64},
        {mbi_block_row_7x1_f64, mbi_block_row_7x2_f64, mbi_block_row_7x3_f64, mbi_block_row_7x4_f64, mbi_block_row_7x5_f64, mbi_block_row_7x6_f64, mbi_block_row_7x7_f64, mbi_block_row_7x8_f64},
        {mbi_block_row_8x1_f64, mbi_block_row_8x2_f64, mbi_block_row_8x3_f64, mbi_block_row_8x4_f64, mbi_block_row_8x5_f64, mbi_block_row_8x6_f64, mbi_block_row_8x7_f64, mbi_block_row_8x8_f64},
    },
    {
        {mbi_block_column_1x1_f64, mbi_block_column_1x2_f64, mbi_block_column_1x3_f64, mbi_block_column_1x4_f64, mbi_block_column_1x5_f64, mbi_block_column_1x6_f64, mbi_block_column_1x7_f64, mbi_block_column_1x8_f64},
        {mbi_block_column_2x1_f64, mbi_block_column_2x2_f64, mbi_block_column_2x3_f64, mbi_block_column_2x4_f64, mbi_block_column_2x5_f64, mbi_block_column_2x6_f64, mbi_block_column_2x7_f64, mbi_block_column_2x8_f64},
        {mbi_block_column_3x1_f64, mbi_block_column_3x2_f64, mbi_block_column_3x3_f64, mbi_block_column_3x4_f64, mbi_block_column_3x5_f64, mbi_block_column_3x6_f64, mbi_block_column_3x7_f64, mbi_block_column_3x8_f64},
        {mbi_block_column_4x1_f64, mbi_block_column_4x2_f64, mbi_block_column_4x3_f64, mbi_block_column_4x4_f64, mbi_block_column_4x5_f64, mbi_block_column_4x6_f64, mbi_block_column_4x7_f64, mbi_block_column_4x8_f64},
        {mbi_block_column_5x1_f64, mbi_block_column_5x2_f64, mbi_block_column_5x3_f64, mbi_block_column_5x4_f64, mbi_block_column_5x5_f64, mbi_block_column_5x6_f64, mbi_block_column_5x7_f64, mbi_block_column_5x8_f64},
        {mbi_block_column_6x1_f64, mbi_block_column_6x2_f64, mbi_block_column_6x3_f64, mbi_block_column_6x4_f64, mbi_block_column_6x5_f64, mbi_block_column_6x6_f64, mbi_block_column_6x7_f64, mbi_block_column_6x8_f64},
        {mbi_block_column_7x1_f64, mbi_block_column_7x2_f64, mbi_block_column_7x3_f64, mbi_block_column_7x4_f64, mbi_block_column_7x5_f64, mbi_block_column_7x6_f64, mbi_block_column_7x7_f64, mbi_block_column_7x8_f64},
        {mbi_block_column_8x1_f64, mbi_block_column_8x2_f64, mbi_block_column_8x3_f64, mbi_block_column_8x4_f64, mbi_block_column_8x5_f64, mbi_block_column_8x6_f64, mbi_block_column_8x7_f64, mbi_block_column_8x8_f64},
    },

#endif
};

/* NULL: no loop of its own. */
static mbi_block_kernel_f64 mbi_block_kernel_of_f64(const merbit_view *bsr) {
  const int column_major = bsr->block_order == MERBIT_BLOCK_COLUMN_MAJOR;
  return bsr->block_rows <= MBI_BLOCK_UNROLLED && bsr->block_cols <= MBI_BLOCK_UNROLLED
             ? mbi_block_kernels_f64[column_major][bsr->block_rows - 1]
                                               [bsr->block_cols - 1]
             : NULL;
}

static const mbi_block_kernel_f32
    mbi_block_kernels_f32[2][MBI_BLOCK_UNROLLED][MBI_BLOCK_UNROLLED] = {
#ifdef MBI_BLOCK_FEW
    {
        {mbi_block_row_1x1_f32, mbi_block_row_1x2_f32, mbi_block_row_1x3_f32},
        {mbi_block_row_2x1_f32, mbi_block_row_2x2_f32, mbi_block_row_2x3_f32},
        {mbi_block_row_3x1_f32, mbi_block_row_3x2_f32, mbi_block_row_3x3_f32},
    },
    {
        {mbi_block_column_1x1_f32, mbi_block_column_1x2_f32, mbi_block_column_1x3_f32},
        {mbi_block_column_2x1_f32, mbi_block_column_2x2_f32, mbi_block_column_2x3_f32},
        {mbi_block_column_3x1_f32, mbi_block_column_3x2_f32, mbi_block_column_3x3_f32},
    },

#else
    {
        {mbi_block_row_1x1_f32, mbi_block_row_1x2_f32, mbi_block_row_1x3_f32, mbi_block_row_1x4_f32, mbi_block_row_1x5_f32, mbi_block_row_1x6_f32, mbi_block_row_1x7_f32, mbi_block_row_1x8_f32},
        {mbi_block_row_2x1_f32, mbi_block_row_2x2_f32, mbi_block_row_2x3_f32, mbi_block_row_2x4_f32, mbi_block_row_2x5_f32, mbi_block_row_2x6_f32, mbi_block_row_2x7_f32, mbi_block_row_2x8_f32},
        {mbi_block_row_3x1_f32, mbi_block_row_3x2_f32, mbi_block_row_3x3_f32, mbi_block_row_3x4_f32, mbi_block_row_3x5_f32, mbi_block_row_3x6_f32, mbi_block_row_3x7_f32, mbi_block_row_3x8_f32},
        {mbi_block_row_4x1_f32, mbi_block_row_4x2_f32, mbi_block_row_4x3_f32, mbi_block_row_4x4_f32, mbi_block_row_4x5_f32, mbi_block_row_4x6_f32, mbi_block_row_4x7_f32, mbi_block_row_4x8_f32},
        {mbi_block_row_5x1_f32, mbi_block_row_5x2_f32, mbi_block_row_5x3_f32, mbi_block_row_5x4_f32, mbi_block_row_5x5_f32, mbi_block_row_5x6_f32, mbi_block_row_5x7_f32, mbi_block_row_5x8_f32},
        {mbi_block_row_6x1_f32, mbi_block_row_6x2_f32, mbi_block_row_6x3_f32, mbi_block_row_6x4_f32, mbi_block_row_6x5_f32, mbi_block_row_6x6_f32, mbi_block_row_6x7_f32, mbi_block_row_6x8_f32},
        {mbi_block_row_7x1_f32, mbi_block_row_7x2_f32, mbi_block_row_7x3_f32, mbi_block_row_7x4_f32, mbi_block_row_7x5_f32, mbi_block_row_7x6_f32, mbi_block_row_7x7_f32, mbi_block_row_7x8_f32},
        {mbi_block_row_8x1_f32, mbi_block_row_8x2_f32, mbi_block_row_8x3_f32, mbi_block_row_8x4_f32, mbi_block_row_8x5_f32, mbi_block_row_8x6_f32, mbi_block_row_8x7_f32, mbi_block_row_8x8_f32},
    },
    {
        {mbi_block_column_1x1_f32, mbi_block_column_1x2_f32, mbi_block_column_1x3_f32, mbi_block_column_1x4_f32, mbi_block_column_1x5_f32, mbi_block_column_1x6_f32, mbi_block_column_1x7_f32, mbi_block_column_1x8_f32},
        {mbi_block_column_2x1_f32, mbi_block_column_2x2_f32, mbi_block_column_2x3_f32, mbi_block_column_2x4_f32, mbi_block_column_2x5_f32, mbi_block_column_2x6_f32, mbi_block_column_2x7_f32, mbi_block_column_2x8_f32},
        {mbi_block_column_3x1_f32, mbi_block_column_3x2_f32, mbi_block_column_3x3_f32, mbi_block_column_3x4_f32, mbi_block_column_3x5_f32, mbi_block_column_3x6_f32, mbi_block_column_3x7_f32, mbi_block_column_3x8_f32},
        {mbi_block_column_4x1_f32, mbi_block_column_4x2_f32, mbi_block_column_4x3_f32, mbi_block_column_4x4_f32, mbi_block_column_4x5_f32, mbi_block_column_4x6_f32, mbi_block_column_4x7_f32, mbi_block_column_4x8_f32},
        {mbi_block_column_5x1_f32, mbi_block_column_5x2_f32, mbi_block_column_5x3_f32, mbi_block_column_5x4_f32, mbi_block_column_5x5_f32, mbi_block_column_5x6_f32, mbi_block_column_5x7_f32, mbi_block_column_5x8_f32},
        {mbi_block_column_6x1_f32, mbi_block_column_6x2_f32, mbi_block_column_6x3_f32, mbi_block_column_6x4_f32, mbi_block_column_6x5_f32, mbi_block_column_6x6_f32, mbi_block_column_6x7_f32, mbi_block_column_6x8_f32},
        {mbi_block_column_7x1_f32, mbi_block_column_7x2_f32, mbi_block_column_7x3_f32, mbi_block_column_7x4_f32, mbi_block_column_7x5_f32, mbi_block_column_7x6_f32, mbi_block_column_7x7_f32, mbi_block_column_7x8_f32},
        {mbi_block_column_8x1_f32, mbi_block_column_8x2_f32, mbi_block_column_8x3_f32, mbi_block_column_8x4_f32, mbi_block_column_8x5_f32, mbi_block_column_8x6_f32, mbi_block_column_8x7_f32, mbi_block_column_8x8_f32},
    },

#endif
};

/* NULL: no loop of its own. */
static mbi_block_kernel_f32 mbi_block_kernel_of_f32(const merbit_view *bsr) {
  const int column_major = bsr->block_order == MERBIT_BLOCK_COLUMN_MAJOR;
  return bsr->block_rows <= MBI_BLOCK_UNROLLED && bsr->block_cols <= MBI_BLOCK_UNROLLED
             ? mbi_block_kernels_f32[column_major][bsr->block_rows - 1]
                                               [bsr->block_cols - 1]
             : NULL;
}


/* ==== >>spmv/block_sums.c  CPU: sums of any blocks, edges and masks ======================= */
/* The sums of a piece of a block row, whatever the shape. What is no entry acts on none:
 *   - the columns of the last block column that lie beyond the matrix are left out;
 *   - rows beyond it have sums that nobody reads;
 *   - masks: a value that is no entry is a stored zero, and is seen only where it meets NaN or
 *     Inf; a sum that is not finite is therefore made again from the entries alone. */

typedef struct mbi_block_call_f64 {
  const mbi_bsr *bsr;
  const double *values;
  int64_t step;       /* from block to block; 0: one stands for all */
  const double *x; /* moved back by the base */
  double alpha, beta, *y;
  mbi_block_kernel_f64 kernel; /* NULL: a shape without a loop of its own */
  int64_t
      edge; /* block column that reaches beyond the matrix, as stored; -1 if there is none */
  const int64_t *chunk_index, *chunk_row;
  int tasks;
  int64_t *head_row;
  double *head, *carry;
} mbi_block_call_f64;

/* Any shape, by rows: four sums for each. */
static void mbi_block_rows_f64(int rows, int cols, const double *v,
                                          const double *x, double *sums) {
  int r, c;
  for (r = 0; r < rows; r++, v += cols) {
    double part[4] = {0, 0, 0, 0};
    for (c = 0; c + 4 <= cols; c += 4) {
      part[0] += v[c] * x[c];
      part[1] += v[c + 1] * x[c + 1];
      part[2] += v[c + 2] * x[c + 2];
      part[3] += v[c + 3] * x[c + 3];
    }
    for (; c < cols; c++) {
      part[0] += v[c] * x[c];
    }
    sums[r] += (part[0] + part[1]) + (part[2] + part[3]);
  }
}

/* By columns: four at once. */
static void mbi_block_columns_f64(int rows, int cols, const double *v,
                                             const double *x, double *sums) {
  int r, c;
  for (c = 0; c + 4 <= cols; c += 4, v += 4 * rows) {
    const double *v1 = v + rows, *v2 = v1 + rows, *v3 = v2 + rows;
    const double x0 = x[c], x1 = x[c + 1], x2 = x[c + 2], x3 = x[c + 3];
    for (r = 0; r < rows; r++) {
      sums[r] += (v[r] * x0 + v1[r] * x1) + (v2[r] * x2 + v3[r] * x3);
    }
  }
  for (; c < cols; c++, v += rows) {
    const double factor = x[c];
    for (r = 0; r < rows; r++) {
      sums[r] += v[r] * factor;
    }
  }
}

static void mbi_block_any_f64(const mbi_block_call_f64 *call, int64_t at,
                                         int64_t end, double *sums) {
  const merbit_view *bsr = &call->bsr->view;
  const int32_t *col_ind = (const int32_t *)bsr->col_ind;
  const int rows = bsr->block_rows, cols = bsr->block_cols;
  const int by_columns = rows > 1 && bsr->block_order == MERBIT_BLOCK_COLUMN_MAJOR;
  for (; at < end; at++) {
    const double *v = call->values + at * call->step;
    const double *x = call->x + (int64_t)col_ind[at] * cols;
    if (by_columns) {
      mbi_block_columns_f64(rows, cols, v, x, sums);
    } else {
      mbi_block_rows_f64(rows, cols, v, x, sums);
    }
  }
}

/* Entries alone. */
static void mbi_block_entries_f64(const mbi_block_call_f64 *call,
                                             int64_t at, int64_t end, double *sums) {
  const mbi_bsr *bsr = call->bsr;
  const int32_t *col_ind = (const int32_t *)bsr->view.col_ind;
  const int rows = bsr->view.block_rows, cols = bsr->view.block_cols;
  const int row_stride = mbi_block_row_stride(&bsr->view);
  const int column_stride = mbi_block_column_stride(&bsr->view);
  for (; at < end; at++) {
    const double *v = call->values + at * call->step;
    const double *x = call->x + (int64_t)col_ind[at] * cols;
    const uint64_t *mask = bsr->masks != NULL ? bsr->masks + at * bsr->mask_words : NULL;
    const int inside = mbi_block_inside(bsr->view.cols, cols, col_ind[at] - bsr->view.base);
    int r, c;
    for (r = 0; r < rows; r++) {
      for (c = 0; c < inside; c++) {
        const int k = r * row_stride + c * column_stride;
        if (mask == NULL || ((mask[k / 64] >> (k % 64)) & 1) != 0) {
          sums[r] += v[k] * x[c];
        }
      }
    }
  }
}

/* A block of one column is as many rows at a time as a loop of its own has. */
static void mbi_block_column_f64(const mbi_block_call_f64 *call,
                                            int64_t at, int64_t end, double *sums) {
  const int rows = call->bsr->view.block_rows;
  int r;
  for (r = 0; r < rows; r += MBI_BLOCK_UNROLLED) {
    const int part = rows - r < MBI_BLOCK_UNROLLED ? rows - r : MBI_BLOCK_UNROLLED;
    mbi_block_kernels_f64[0][part - 1][0]((const int32_t *)call->bsr->view.col_ind,
                                                     call->step > 0 ? call->values + r
                                                                    : call->values,
                                                     call->step, call->x, at, end, sums + r);
  }
}

static void mbi_block_run_f64(const mbi_block_call_f64 *call, int64_t at,
                                         int64_t end, double *sums) {
  if (call->kernel != NULL) {
    call->kernel((const int32_t *)call->bsr->view.col_ind, call->values, call->step, call->x,
                 at, end, sums);
  } else if (call->bsr->view.block_cols == 1) {
    mbi_block_column_f64(call, at, end, sums);
  } else {
    mbi_block_any_f64(call, at, end, sums);
  }
}

/* Sums that met a NaN or an Inf, again of the entries alone. */
static void mbi_block_settle_f64(const mbi_block_call_f64 *call,
                                            int64_t at, int64_t end, double *sums) {
  const int rows = call->bsr->view.block_rows;
  double entries[MBI_BLOCK_MOST];
  int finite = 1, r;
  for (r = 0; r < rows; r++) {
    finite &= sums[r] - sums[r] == 0;
    entries[r] = 0;
  }
  if (finite) {
    return;
  }
  mbi_block_entries_f64(call, at, end, entries);
  for (r = 0; r < rows; r++) {
    sums[r] = sums[r] - sums[r] == 0 ? sums[r] : entries[r];
  }
}

/* sums: of the blocks [at, end), which lie in one block row. */
static void mbi_block_piece_f64(const mbi_block_call_f64 *call,
                                           int64_t at, int64_t end, double *sums) {
  const int32_t *col_ind = (const int32_t *)call->bsr->view.col_ind;
  int64_t from = at, next = end;
  int r;
  for (r = 0; r < call->bsr->view.block_rows; r++) {
    sums[r] = 0;
  }
  for (; from < end; from = next + 1) {
    for (next = call->edge >= 0 ? from : end; next < end && col_ind[next] != call->edge;) {
      next++;
    }
    mbi_block_run_f64(call, from, next, sums);
    if (next < end) {
      mbi_block_entries_f64(call, next, next + 1, sums);
    }
  }
  if (call->bsr->masks != NULL) {
    mbi_block_settle_f64(call, at, end, sums);
  }
}

typedef struct mbi_block_call_f32 {
  const mbi_bsr *bsr;
  const float *values;
  int64_t step;       /* from block to block; 0: one stands for all */
  const float *x; /* moved back by the base */
  float alpha, beta, *y;
  mbi_block_kernel_f32 kernel; /* NULL: a shape without a loop of its own */
  int64_t
      edge; /* block column that reaches beyond the matrix, as stored; -1 if there is none */
  const int64_t *chunk_index, *chunk_row;
  int tasks;
  int64_t *head_row;
  float *head, *carry;
} mbi_block_call_f32;

/* Any shape, by rows: four sums for each. */
static void mbi_block_rows_f32(int rows, int cols, const float *v,
                                          const float *x, float *sums) {
  int r, c;
  for (r = 0; r < rows; r++, v += cols) {
    float part[4] = {0, 0, 0, 0};
    for (c = 0; c + 4 <= cols; c += 4) {
      part[0] += v[c] * x[c];
      part[1] += v[c + 1] * x[c + 1];
      part[2] += v[c + 2] * x[c + 2];
      part[3] += v[c + 3] * x[c + 3];
    }
    for (; c < cols; c++) {
      part[0] += v[c] * x[c];
    }
    sums[r] += (part[0] + part[1]) + (part[2] + part[3]);
  }
}

/* By columns: four at once. */
static void mbi_block_columns_f32(int rows, int cols, const float *v,
                                             const float *x, float *sums) {
  int r, c;
  for (c = 0; c + 4 <= cols; c += 4, v += 4 * rows) {
    const float *v1 = v + rows, *v2 = v1 + rows, *v3 = v2 + rows;
    const float x0 = x[c], x1 = x[c + 1], x2 = x[c + 2], x3 = x[c + 3];
    for (r = 0; r < rows; r++) {
      sums[r] += (v[r] * x0 + v1[r] * x1) + (v2[r] * x2 + v3[r] * x3);
    }
  }
  for (; c < cols; c++, v += rows) {
    const float factor = x[c];
    for (r = 0; r < rows; r++) {
      sums[r] += v[r] * factor;
    }
  }
}

static void mbi_block_any_f32(const mbi_block_call_f32 *call, int64_t at,
                                         int64_t end, float *sums) {
  const merbit_view *bsr = &call->bsr->view;
  const int32_t *col_ind = (const int32_t *)bsr->col_ind;
  const int rows = bsr->block_rows, cols = bsr->block_cols;
  const int by_columns = rows > 1 && bsr->block_order == MERBIT_BLOCK_COLUMN_MAJOR;
  for (; at < end; at++) {
    const float *v = call->values + at * call->step;
    const float *x = call->x + (int64_t)col_ind[at] * cols;
    if (by_columns) {
      mbi_block_columns_f32(rows, cols, v, x, sums);
    } else {
      mbi_block_rows_f32(rows, cols, v, x, sums);
    }
  }
}

/* Entries alone. */
static void mbi_block_entries_f32(const mbi_block_call_f32 *call,
                                             int64_t at, int64_t end, float *sums) {
  const mbi_bsr *bsr = call->bsr;
  const int32_t *col_ind = (const int32_t *)bsr->view.col_ind;
  const int rows = bsr->view.block_rows, cols = bsr->view.block_cols;
  const int row_stride = mbi_block_row_stride(&bsr->view);
  const int column_stride = mbi_block_column_stride(&bsr->view);
  for (; at < end; at++) {
    const float *v = call->values + at * call->step;
    const float *x = call->x + (int64_t)col_ind[at] * cols;
    const uint64_t *mask = bsr->masks != NULL ? bsr->masks + at * bsr->mask_words : NULL;
    const int inside = mbi_block_inside(bsr->view.cols, cols, col_ind[at] - bsr->view.base);
    int r, c;
    for (r = 0; r < rows; r++) {
      for (c = 0; c < inside; c++) {
        const int k = r * row_stride + c * column_stride;
        if (mask == NULL || ((mask[k / 64] >> (k % 64)) & 1) != 0) {
          sums[r] += v[k] * x[c];
        }
      }
    }
  }
}

/* A block of one column is as many rows at a time as a loop of its own has. */
static void mbi_block_column_f32(const mbi_block_call_f32 *call,
                                            int64_t at, int64_t end, float *sums) {
  const int rows = call->bsr->view.block_rows;
  int r;
  for (r = 0; r < rows; r += MBI_BLOCK_UNROLLED) {
    const int part = rows - r < MBI_BLOCK_UNROLLED ? rows - r : MBI_BLOCK_UNROLLED;
    mbi_block_kernels_f32[0][part - 1][0]((const int32_t *)call->bsr->view.col_ind,
                                                     call->step > 0 ? call->values + r
                                                                    : call->values,
                                                     call->step, call->x, at, end, sums + r);
  }
}

static void mbi_block_run_f32(const mbi_block_call_f32 *call, int64_t at,
                                         int64_t end, float *sums) {
  if (call->kernel != NULL) {
    call->kernel((const int32_t *)call->bsr->view.col_ind, call->values, call->step, call->x,
                 at, end, sums);
  } else if (call->bsr->view.block_cols == 1) {
    mbi_block_column_f32(call, at, end, sums);
  } else {
    mbi_block_any_f32(call, at, end, sums);
  }
}

/* Sums that met a NaN or an Inf, again of the entries alone. */
static void mbi_block_settle_f32(const mbi_block_call_f32 *call,
                                            int64_t at, int64_t end, float *sums) {
  const int rows = call->bsr->view.block_rows;
  float entries[MBI_BLOCK_MOST];
  int finite = 1, r;
  for (r = 0; r < rows; r++) {
    finite &= sums[r] - sums[r] == 0;
    entries[r] = 0;
  }
  if (finite) {
    return;
  }
  mbi_block_entries_f32(call, at, end, entries);
  for (r = 0; r < rows; r++) {
    sums[r] = sums[r] - sums[r] == 0 ? sums[r] : entries[r];
  }
}

/* sums: of the blocks [at, end), which lie in one block row. */
static void mbi_block_piece_f32(const mbi_block_call_f32 *call,
                                           int64_t at, int64_t end, float *sums) {
  const int32_t *col_ind = (const int32_t *)call->bsr->view.col_ind;
  int64_t from = at, next = end;
  int r;
  for (r = 0; r < call->bsr->view.block_rows; r++) {
    sums[r] = 0;
  }
  for (; from < end; from = next + 1) {
    for (next = call->edge >= 0 ? from : end; next < end && col_ind[next] != call->edge;) {
      next++;
    }
    mbi_block_run_f32(call, from, next, sums);
    if (next < end) {
      mbi_block_entries_f32(call, next, next + 1, sums);
    }
  }
  if (call->bsr->masks != NULL) {
    mbi_block_settle_f32(call, at, end, sums);
  }
}

/* ==== >>spmv/blocks.c  CPU: blocks in tasks of equal size ================================= */
/* Preprocessed fixed-size tasks (Chirila 2025, chapter 6, Listings 8 to 10): the blocks are cut
 * into chunks of equal size, eight for each thread, which threads take as they come. Where a
 * chunk begins, chunk_index, and in which block row, chunk_row, is found once, with the plan.
 * Unlike there, a block row that several chunks share is written once, by a fix-up in the order
 * of the chunks and not by atomic additions, so that the bits do not depend on who came first.
 */

#define MBI_CHUNKS_PER_THREAD 8

/* Chunks worth starting: a small matrix is done before another thread wakes up. */
static int mbi_block_chunks(const merbit_context *context, const merbit_view *bsr) {
  const int64_t values = bsr->nnz * bsr->block_rows * bsr->block_cols + bsr->rows;
  const int64_t useful = values / 8192;
  const int threads = useful < context->threads ? (int)useful : context->threads;
  const int64_t most = bsr->nnz > 0 ? bsr->nnz : 1;
  const int chunks = threads > 1 ? threads * MBI_CHUNKS_PER_THREAD : 1;
  return chunks < most ? chunks : (int)most;
}

/* chunk_row[i]: the first block row that ends behind the chunk's first block; chunk 0 begins
 * with row 0. So rows without blocks belong to the chunk before, and every row ends in one. */
static void mbi_block_cut(const merbit_view *bsr, int chunks, int64_t *chunk_index,
                          int64_t *chunk_row) {
  const int64_t rows = mbi_block_count(bsr->rows, bsr->block_rows);
  int64_t row = 0;
  int i;
  chunk_index[0] = chunk_row[0] = 0;
  for (i = 1; i < chunks; i++) {
    chunk_index[i] = mbi_share(bsr->nnz, chunks, i);
    while (row < rows && mbi_block_start(bsr, row + 1) <= chunk_index[i]) {
      row++;
    }
    chunk_row[i] = row;
  }
  chunk_index[chunks] = bsr->nnz;
  chunk_row[chunks] = rows;
}

static size_t mbi_blocks_scratch_bytes(const merbit_plan *plan) {
  const size_t sums = 2 * (size_t)plan->bsr.view.block_rows * mbi_type_size(plan->type);
  return (size_t)plan->tasks * (sizeof(int64_t) + sums);
}

static void mbi_block_commit_f64(const mbi_block_call_f64 *call,
                                            int64_t block_row, const double *sums) {
  const merbit_view *bsr = &call->bsr->view;
  const int inside = mbi_block_inside(bsr->rows, bsr->block_rows, block_row);
  double *y = call->y + block_row * bsr->block_rows;
  int r;
  if (call->beta == 0) {
    for (r = 0; r < inside; r++) {
      y[r] = call->alpha * sums[r];
    }
    return;
  }
  for (r = 0; r < inside; r++) {
    y[r] = call->alpha * sums[r] + call->beta * y[r];
  }
}

/* One chunk: the rows that end in it are written, but for the first if it began in another
 * chunk; that one's sums and those of the row that the chunk stops in are left for the fix-up.
 */
static void mbi_block_chunk_f64(void *argument, int task) {
  const mbi_block_call_f64 *call = (const mbi_block_call_f64 *)argument;
  const merbit_view *bsr = &call->bsr->view;
  const int64_t stop_row = call->chunk_row[task + 1], stop = call->chunk_index[task + 1];
  int64_t row = call->chunk_row[task], at = call->chunk_index[task], end;
  call->head_row[task] = -1;
  if (row < stop_row && mbi_block_start(bsr, row) < at) {
    end = mbi_block_start(bsr, row + 1);
    call->head_row[task] = row++;
    mbi_block_piece_f64(call, at, end, call->head + task * bsr->block_rows);
    at = end;
  }
  for (; row < stop_row; row++) {
    double sums[MBI_BLOCK_MOST];
    end = mbi_block_start(bsr, row + 1);
    mbi_block_piece_f64(call, at, end, sums);
    mbi_block_commit_f64(call, row, sums);
    at = end;
  }
  mbi_block_piece_f64(call, at, stop, call->carry + task * bsr->block_rows);
}

/* Rows that span chunks: their parts in the order of the chunks, then one commit. A row that
 * ends with its chunk leaves a carry of +0. */
static void mbi_block_fix_up_f64(const mbi_block_call_f64 *call) {
  const int rows = call->bsr->view.block_rows;
  double sums[MBI_BLOCK_MOST];
  int task, r;
  memset(sums, 0, sizeof sums);
  for (task = 0; task < call->tasks; task++) {
    const double *head = call->head + task * rows, *carry = call->carry + task * rows;
    if (call->head_row[task] >= 0) {
      for (r = 0; r < rows; r++) {
        sums[r] += head[r];
      }
      mbi_block_commit_f64(call, call->head_row[task], sums);
      memset(sums, 0, sizeof sums);
    }
    for (r = 0; r < rows; r++) {
      sums[r] += carry[r];
    }
  }
}

static void mbi_block_scale_f64(void *argument, int task) {
  const mbi_block_call_f64 *call = (const mbi_block_call_f64 *)argument;
  const int64_t rows = call->bsr->view.rows;
  mbi_scale_f64(mbi_share(rows, call->tasks, task),
                           mbi_share(rows, call->tasks, task + 1), call->alpha, call->beta,
                           call->y);
}

/* Where the chunks' sums go. */
static void mbi_block_scratch_f64(const merbit_plan *plan, void *scratch,
                                             mbi_block_call_f64 *call) {
  call->tasks = plan->tasks;
  call->head_row = (int64_t *)scratch;
  call->head = (double *)(void *)(call->head_row + plan->tasks);
  call->carry = call->head + (int64_t)plan->tasks * plan->bsr.view.block_rows;
}

static void mbi_block_commit_f32(const mbi_block_call_f32 *call,
                                            int64_t block_row, const float *sums) {
  const merbit_view *bsr = &call->bsr->view;
  const int inside = mbi_block_inside(bsr->rows, bsr->block_rows, block_row);
  float *y = call->y + block_row * bsr->block_rows;
  int r;
  if (call->beta == 0) {
    for (r = 0; r < inside; r++) {
      y[r] = call->alpha * sums[r];
    }
    return;
  }
  for (r = 0; r < inside; r++) {
    y[r] = call->alpha * sums[r] + call->beta * y[r];
  }
}

/* One chunk: the rows that end in it are written, but for the first if it began in another
 * chunk; that one's sums and those of the row that the chunk stops in are left for the fix-up.
 */
static void mbi_block_chunk_f32(void *argument, int task) {
  const mbi_block_call_f32 *call = (const mbi_block_call_f32 *)argument;
  const merbit_view *bsr = &call->bsr->view;
  const int64_t stop_row = call->chunk_row[task + 1], stop = call->chunk_index[task + 1];
  int64_t row = call->chunk_row[task], at = call->chunk_index[task], end;
  call->head_row[task] = -1;
  if (row < stop_row && mbi_block_start(bsr, row) < at) {
    end = mbi_block_start(bsr, row + 1);
    call->head_row[task] = row++;
    mbi_block_piece_f32(call, at, end, call->head + task * bsr->block_rows);
    at = end;
  }
  for (; row < stop_row; row++) {
    float sums[MBI_BLOCK_MOST];
    end = mbi_block_start(bsr, row + 1);
    mbi_block_piece_f32(call, at, end, sums);
    mbi_block_commit_f32(call, row, sums);
    at = end;
  }
  mbi_block_piece_f32(call, at, stop, call->carry + task * bsr->block_rows);
}

/* Rows that span chunks: their parts in the order of the chunks, then one commit. A row that
 * ends with its chunk leaves a carry of +0. */
static void mbi_block_fix_up_f32(const mbi_block_call_f32 *call) {
  const int rows = call->bsr->view.block_rows;
  float sums[MBI_BLOCK_MOST];
  int task, r;
  memset(sums, 0, sizeof sums);
  for (task = 0; task < call->tasks; task++) {
    const float *head = call->head + task * rows, *carry = call->carry + task * rows;
    if (call->head_row[task] >= 0) {
      for (r = 0; r < rows; r++) {
        sums[r] += head[r];
      }
      mbi_block_commit_f32(call, call->head_row[task], sums);
      memset(sums, 0, sizeof sums);
    }
    for (r = 0; r < rows; r++) {
      sums[r] += carry[r];
    }
  }
}

static void mbi_block_scale_f32(void *argument, int task) {
  const mbi_block_call_f32 *call = (const mbi_block_call_f32 *)argument;
  const int64_t rows = call->bsr->view.rows;
  mbi_scale_f32(mbi_share(rows, call->tasks, task),
                           mbi_share(rows, call->tasks, task + 1), call->alpha, call->beta,
                           call->y);
}

/* Where the chunks' sums go. */
static void mbi_block_scratch_f32(const merbit_plan *plan, void *scratch,
                                             mbi_block_call_f32 *call) {
  call->tasks = plan->tasks;
  call->head_row = (int64_t *)scratch;
  call->head = (float *)(void *)(call->head_row + plan->tasks);
  call->carry = call->head + (int64_t)plan->tasks * plan->bsr.view.block_rows;
}

/* ==== >>spmv/block_study.c  CPU: the other schedules of blocks, for comparison ============ */
/* The other schedules of Chirila's report, chapter 6, for comparison (Listings 3 to 7). What is dealt
 * and when is theirs; rows that several threads share are added up in order, so that products
 * stay repeatable. rows     a task for each block row (Listing 3) naive    every row over all
 * threads, which wait for each other behind it (Listing 4) split    rows in pieces of at most
 * nnz / (8 threads) blocks, taken in turn by threads that all walk over all rows (Listing 5)
 *   maximum  the same pieces as tasks that each product lists anew (Listing 6)
 *   fixed    chunks as in spmv/blocks.c, but found again by each product (Listing 7) */
#ifdef MERBIT_STUDY_METHODS

static int mbi_study_method(merbit_method method) {
  return method >= MERBIT_METHOD_BSR_ROWS && method <= MERBIT_METHOD_BSR_FIXED;
}

typedef struct mbi_study_piece {
  int64_t row, at, end;
  int64_t slot; /* where its sums go; -1: it is the whole row */
} mbi_study_piece;

/* All pieces of a row, then the next row's. */
typedef struct mbi_study_walk {
  const merbit_view *bsr;
  int64_t most; /* blocks of a piece */
  int64_t row, last, at, row_end;
  int shared;    /* the row has several pieces */
  int64_t slots; /* handed out */
} mbi_study_walk;

static void mbi_study_start(mbi_study_walk *walk, const merbit_plan *plan, int64_t row,
                            int64_t last, int64_t slots) {
  const int64_t parts = (int64_t)plan->context->threads * MBI_CHUNKS_PER_THREAD;
  memset(walk, 0, sizeof *walk);
  walk->bsr = &plan->bsr.view;
  walk->most = walk->bsr->nnz / parts > 1 ? walk->bsr->nnz / parts : 1;
  walk->row = row - 1;
  walk->last = last;
  walk->slots = slots;
}

/* Returns 0 behind the last piece. */
static int mbi_study_next(mbi_study_walk *walk, mbi_study_piece *piece) {
  if (walk->at == walk->row_end) {
    if (++walk->row >= walk->last) {
      return 0;
    }
    walk->at = mbi_block_start(walk->bsr, walk->row);
    walk->row_end = mbi_block_start(walk->bsr, walk->row + 1);
    walk->shared = walk->row_end - walk->at > walk->most;
  }
  piece->row = walk->row;
  piece->at = walk->at;
  walk->at = walk->row_end - walk->at > walk->most ? walk->at + walk->most : walk->row_end;
  piece->end = walk->at;
  piece->slot = walk->shared ? walk->slots++ : -1;
  return 1;
}

/* How many pieces and slots lie before each thread's share of the block rows; the totals are
 * last. */
static void mbi_study_count(merbit_plan *plan) {
  const int64_t rows = mbi_block_count(plan->bsr.view.rows, plan->bsr.view.block_rows);
  int64_t pieces = 0, slots = 0;
  int task;
  for (task = 0; task < plan->tasks; task++) {
    mbi_study_walk walk;
    mbi_study_piece piece;
    plan->blocks.chunk_index[task] = pieces;
    plan->blocks.chunk_row[task] = slots;
    mbi_study_start(&walk, plan, mbi_share(rows, plan->tasks, task),
                    mbi_share(rows, plan->tasks, task + 1), slots);
    while (mbi_study_next(&walk, &piece)) {
      pieces++;
    }
    slots = walk.slots;
  }
  plan->blocks.chunk_index[plan->tasks] = pieces;
  plan->blocks.chunk_row[plan->tasks] =
      plan->method == MERBIT_METHOD_BSR_NAIVE ? plan->tasks : slots;
}

/* What the method keeps instead of the chunks of spmv/blocks.c. */
static void mbi_study_prepare(merbit_plan *plan) {
  if (plan->method != MERBIT_METHOD_BSR_FIXED) {
    mbi_study_count(plan);
  }
}

/* As many tasks as there are items, up to what an int can count. */
static int mbi_study_tasks(int64_t items) {
  return items < 1 ? 1 : items < 1000000 ? (int)items : 1000000;
}

static size_t mbi_study_scratch_bytes(const merbit_plan *plan) {
  const size_t sums = (size_t)plan->bsr.view.block_rows * mbi_type_size(plan->type);
  if (plan->method == MERBIT_METHOD_BSR_FIXED) {
    return ((size_t)plan->tasks + 1) * 2 * sizeof(int64_t) + mbi_blocks_scratch_bytes(plan);
  }
  return (size_t)plan->blocks.chunk_row[plan->tasks] * (sizeof(int64_t) + sums) +
         (size_t)plan->blocks.chunk_index[plan->tasks] * sizeof(mbi_study_piece);
}

typedef struct mbi_study_f64 {
  const merbit_plan *plan;
  const mbi_block_call_f64 *call;
  int64_t pieces, slots;
  mbi_study_piece *list;
  int64_t *slot_row;
  double *sums;
  int64_t row; /* naive: that is being multiplied */
  int tasks;
} mbi_study_f64;

static void mbi_study_run_f64(const mbi_study_f64 *study,
                                         const mbi_study_piece *piece) {
  const int rows = study->call->bsr->view.block_rows;
  double sums[MBI_BLOCK_MOST];
  if (piece->slot >= 0) {
    study->slot_row[piece->slot] = piece->row;
    mbi_block_piece_f64(study->call, piece->at, piece->end,
                                   study->sums + piece->slot * rows);
    return;
  }
  mbi_block_piece_f64(study->call, piece->at, piece->end, sums);
  mbi_block_commit_f64(study->call, piece->row, sums);
}

/* Slots [0, slots) in order; those of one row follow each other. */
static void mbi_study_fix_up_f64(const mbi_study_f64 *study) {
  const int rows = study->call->bsr->view.block_rows;
  int64_t slot = 0;
  while (slot < study->slots) {
    const int64_t row = study->slot_row[slot];
    double sums[MBI_BLOCK_MOST];
    int r;
    memset(sums, 0, sizeof sums);
    for (; slot < study->slots && study->slot_row[slot] == row; slot++) {
      for (r = 0; r < rows; r++) {
        sums[r] += study->sums[slot * rows + r];
      }
    }
    mbi_block_commit_f64(study->call, row, sums);
  }
}

static void mbi_study_rows_f64(void *argument, int task) {
  const mbi_study_f64 *study = (const mbi_study_f64 *)argument;
  const merbit_view *bsr = &study->call->bsr->view;
  const int64_t rows = mbi_block_count(bsr->rows, bsr->block_rows);
  int64_t row = mbi_share(rows, study->tasks, task);
  for (; row < mbi_share(rows, study->tasks, task + 1); row++) {
    mbi_study_piece piece;
    piece.row = row;
    piece.at = mbi_block_start(bsr, row);
    piece.end = mbi_block_start(bsr, row + 1);
    piece.slot = -1;
    mbi_study_run_f64(study, &piece);
  }
}

static void mbi_study_naive_f64(void *argument, int task) {
  const mbi_study_f64 *study = (const mbi_study_f64 *)argument;
  const int64_t start = mbi_block_start(&study->call->bsr->view, study->row);
  const int64_t length = mbi_block_start(&study->call->bsr->view, study->row + 1) - start;
  mbi_study_piece piece;
  piece.row = study->row;
  piece.at = start + mbi_share(length, study->tasks, task);
  piece.end = start + mbi_share(length, study->tasks, task + 1);
  piece.slot = task;
  mbi_study_run_f64(study, &piece);
}

static void mbi_study_split_f64(void *argument, int task) {
  const mbi_study_f64 *study = (const mbi_study_f64 *)argument;
  const merbit_view *bsr = &study->call->bsr->view;
  mbi_study_walk walk;
  mbi_study_piece piece;
  int turn = 0;
  mbi_study_start(&walk, study->plan, 0, mbi_block_count(bsr->rows, bsr->block_rows), 0);
  while (mbi_study_next(&walk, &piece)) {
    if (turn == task) {
      mbi_study_run_f64(study, &piece);
    }
    turn = turn + 1 < study->tasks ? turn + 1 : 0;
  }
}

static void mbi_study_list_f64(void *argument, int task) {
  const mbi_study_f64 *study = (const mbi_study_f64 *)argument;
  const merbit_plan *plan = study->plan;
  const int64_t rows = mbi_block_count(plan->bsr.view.rows, plan->bsr.view.block_rows);
  int64_t at = plan->blocks.chunk_index[task];
  mbi_study_walk walk;
  mbi_study_piece piece;
  mbi_study_start(&walk, plan, mbi_share(rows, plan->tasks, task),
                  mbi_share(rows, plan->tasks, task + 1), plan->blocks.chunk_row[task]);
  while (mbi_study_next(&walk, &piece)) {
    study->list[at++] = piece;
  }
}

static void mbi_study_listed_f64(void *argument, int task) {
  const mbi_study_f64 *study = (const mbi_study_f64 *)argument;
  int64_t at = mbi_share(study->pieces, study->tasks, task);
  for (; at < mbi_share(study->pieces, study->tasks, task + 1); at++) {
    mbi_study_run_f64(study, &study->list[at]);
  }
}

static void mbi_study_fixed_f64(const merbit_plan *plan, void *scratch,
                                           mbi_block_call_f64 *call) {
  int64_t *chunk_index = (int64_t *)scratch, *chunk_row = chunk_index + plan->tasks + 1;
  mbi_block_cut(&plan->bsr.view, plan->tasks, chunk_index, chunk_row);
  call->chunk_index = chunk_index;
  call->chunk_row = chunk_row;
  mbi_block_scratch_f64(plan, chunk_row + plan->tasks + 1, call);
  mbi_parallel(plan->context, plan->tasks, mbi_block_chunk_f64, call);
  mbi_block_fix_up_f64(call);
}

/* The product by plan->method; `call` is described but for its scratch. */
static void mbi_study_multiply_f64(const merbit_plan *plan, void *scratch,
                                              mbi_block_call_f64 *call) {
  const int64_t rows = mbi_block_count(plan->bsr.view.rows, plan->bsr.view.block_rows);
  mbi_study_f64 study;
  if (plan->method == MERBIT_METHOD_BSR_FIXED) {
    mbi_study_fixed_f64(plan, scratch, call);
    return;
  }
  study.plan = plan;
  study.call = call;
  study.tasks = plan->tasks;
  study.pieces = plan->blocks.chunk_index[plan->tasks];
  study.slots = plan->blocks.chunk_row[plan->tasks];
  study.list = (mbi_study_piece *)scratch;
  study.slot_row = (int64_t *)(void *)(study.list + study.pieces);
  study.sums = (double *)(void *)(study.slot_row + study.slots);
  if (plan->method == MERBIT_METHOD_BSR_NAIVE) {
    for (study.row = 0; study.row < rows; study.row++) {
      mbi_parallel(plan->context, study.tasks, mbi_study_naive_f64, &study);
      mbi_study_fix_up_f64(&study);
    }
    return;
  }
  if (plan->method == MERBIT_METHOD_BSR_ROWS) {
    study.tasks = mbi_study_tasks(rows);
    mbi_parallel(plan->context, study.tasks, mbi_study_rows_f64, &study);
    return;
  }
  if (plan->method == MERBIT_METHOD_BSR_SPLIT) {
    mbi_parallel(plan->context, study.tasks, mbi_study_split_f64, &study);
  } else {
    mbi_parallel(plan->context, study.tasks, mbi_study_list_f64, &study);
    study.tasks = mbi_study_tasks(study.pieces);
    mbi_parallel(plan->context, study.tasks, mbi_study_listed_f64, &study);
  }
  mbi_study_fix_up_f64(&study);
}

typedef struct mbi_study_f32 {
  const merbit_plan *plan;
  const mbi_block_call_f32 *call;
  int64_t pieces, slots;
  mbi_study_piece *list;
  int64_t *slot_row;
  float *sums;
  int64_t row; /* naive: that is being multiplied */
  int tasks;
} mbi_study_f32;

static void mbi_study_run_f32(const mbi_study_f32 *study,
                                         const mbi_study_piece *piece) {
  const int rows = study->call->bsr->view.block_rows;
  float sums[MBI_BLOCK_MOST];
  if (piece->slot >= 0) {
    study->slot_row[piece->slot] = piece->row;
    mbi_block_piece_f32(study->call, piece->at, piece->end,
                                   study->sums + piece->slot * rows);
    return;
  }
  mbi_block_piece_f32(study->call, piece->at, piece->end, sums);
  mbi_block_commit_f32(study->call, piece->row, sums);
}

/* Slots [0, slots) in order; those of one row follow each other. */
static void mbi_study_fix_up_f32(const mbi_study_f32 *study) {
  const int rows = study->call->bsr->view.block_rows;
  int64_t slot = 0;
  while (slot < study->slots) {
    const int64_t row = study->slot_row[slot];
    float sums[MBI_BLOCK_MOST];
    int r;
    memset(sums, 0, sizeof sums);
    for (; slot < study->slots && study->slot_row[slot] == row; slot++) {
      for (r = 0; r < rows; r++) {
        sums[r] += study->sums[slot * rows + r];
      }
    }
    mbi_block_commit_f32(study->call, row, sums);
  }
}

static void mbi_study_rows_f32(void *argument, int task) {
  const mbi_study_f32 *study = (const mbi_study_f32 *)argument;
  const merbit_view *bsr = &study->call->bsr->view;
  const int64_t rows = mbi_block_count(bsr->rows, bsr->block_rows);
  int64_t row = mbi_share(rows, study->tasks, task);
  for (; row < mbi_share(rows, study->tasks, task + 1); row++) {
    mbi_study_piece piece;
    piece.row = row;
    piece.at = mbi_block_start(bsr, row);
    piece.end = mbi_block_start(bsr, row + 1);
    piece.slot = -1;
    mbi_study_run_f32(study, &piece);
  }
}

static void mbi_study_naive_f32(void *argument, int task) {
  const mbi_study_f32 *study = (const mbi_study_f32 *)argument;
  const int64_t start = mbi_block_start(&study->call->bsr->view, study->row);
  const int64_t length = mbi_block_start(&study->call->bsr->view, study->row + 1) - start;
  mbi_study_piece piece;
  piece.row = study->row;
  piece.at = start + mbi_share(length, study->tasks, task);
  piece.end = start + mbi_share(length, study->tasks, task + 1);
  piece.slot = task;
  mbi_study_run_f32(study, &piece);
}

static void mbi_study_split_f32(void *argument, int task) {
  const mbi_study_f32 *study = (const mbi_study_f32 *)argument;
  const merbit_view *bsr = &study->call->bsr->view;
  mbi_study_walk walk;
  mbi_study_piece piece;
  int turn = 0;
  mbi_study_start(&walk, study->plan, 0, mbi_block_count(bsr->rows, bsr->block_rows), 0);
  while (mbi_study_next(&walk, &piece)) {
    if (turn == task) {
      mbi_study_run_f32(study, &piece);
    }
    turn = turn + 1 < study->tasks ? turn + 1 : 0;
  }
}

static void mbi_study_list_f32(void *argument, int task) {
  const mbi_study_f32 *study = (const mbi_study_f32 *)argument;
  const merbit_plan *plan = study->plan;
  const int64_t rows = mbi_block_count(plan->bsr.view.rows, plan->bsr.view.block_rows);
  int64_t at = plan->blocks.chunk_index[task];
  mbi_study_walk walk;
  mbi_study_piece piece;
  mbi_study_start(&walk, plan, mbi_share(rows, plan->tasks, task),
                  mbi_share(rows, plan->tasks, task + 1), plan->blocks.chunk_row[task]);
  while (mbi_study_next(&walk, &piece)) {
    study->list[at++] = piece;
  }
}

static void mbi_study_listed_f32(void *argument, int task) {
  const mbi_study_f32 *study = (const mbi_study_f32 *)argument;
  int64_t at = mbi_share(study->pieces, study->tasks, task);
  for (; at < mbi_share(study->pieces, study->tasks, task + 1); at++) {
    mbi_study_run_f32(study, &study->list[at]);
  }
}

static void mbi_study_fixed_f32(const merbit_plan *plan, void *scratch,
                                           mbi_block_call_f32 *call) {
  int64_t *chunk_index = (int64_t *)scratch, *chunk_row = chunk_index + plan->tasks + 1;
  mbi_block_cut(&plan->bsr.view, plan->tasks, chunk_index, chunk_row);
  call->chunk_index = chunk_index;
  call->chunk_row = chunk_row;
  mbi_block_scratch_f32(plan, chunk_row + plan->tasks + 1, call);
  mbi_parallel(plan->context, plan->tasks, mbi_block_chunk_f32, call);
  mbi_block_fix_up_f32(call);
}

/* The product by plan->method; `call` is described but for its scratch. */
static void mbi_study_multiply_f32(const merbit_plan *plan, void *scratch,
                                              mbi_block_call_f32 *call) {
  const int64_t rows = mbi_block_count(plan->bsr.view.rows, plan->bsr.view.block_rows);
  mbi_study_f32 study;
  if (plan->method == MERBIT_METHOD_BSR_FIXED) {
    mbi_study_fixed_f32(plan, scratch, call);
    return;
  }
  study.plan = plan;
  study.call = call;
  study.tasks = plan->tasks;
  study.pieces = plan->blocks.chunk_index[plan->tasks];
  study.slots = plan->blocks.chunk_row[plan->tasks];
  study.list = (mbi_study_piece *)scratch;
  study.slot_row = (int64_t *)(void *)(study.list + study.pieces);
  study.sums = (float *)(void *)(study.slot_row + study.slots);
  if (plan->method == MERBIT_METHOD_BSR_NAIVE) {
    for (study.row = 0; study.row < rows; study.row++) {
      mbi_parallel(plan->context, study.tasks, mbi_study_naive_f32, &study);
      mbi_study_fix_up_f32(&study);
    }
    return;
  }
  if (plan->method == MERBIT_METHOD_BSR_ROWS) {
    study.tasks = mbi_study_tasks(rows);
    mbi_parallel(plan->context, study.tasks, mbi_study_rows_f32, &study);
    return;
  }
  if (plan->method == MERBIT_METHOD_BSR_SPLIT) {
    mbi_parallel(plan->context, study.tasks, mbi_study_split_f32, &study);
  } else {
    mbi_parallel(plan->context, study.tasks, mbi_study_list_f32, &study);
    study.tasks = mbi_study_tasks(study.pieces);
    mbi_parallel(plan->context, study.tasks, mbi_study_listed_f32, &study);
  }
  mbi_study_fix_up_f32(&study);
}
#endif

/* ==== >>spmv/block_plan.c  CPU: plans of blocks and their product ========================= */
/* Plans of blocks: what they hold; on the CPU also their product. */

/* A view that comes in blocks is multiplied in blocks on the CPU. */
static int mbi_plan_takes_blocks(const merbit_plan *plan) {
#ifdef MERBIT_STUDY_METHODS
  if (mbi_study_method(plan->desc.method) || mbi_cuda_study_method(plan->desc.method)) {
    return 1;
  }
#endif
  return plan->desc.method == MERBIT_METHOD_BSR ||
         (plan->desc.method == MERBIT_METHOD_AUTO && plan->side == MERBIT_SIDE_CPU &&
          plan->view.format == MERBIT_BSR);
}

/* Whether the blocks of the view are what the plan multiplies. */
static int mbi_plan_blocks_fit(const merbit_plan *plan) {
  const merbit_plan_desc *desc = &plan->desc;
  return plan->view.format == MERBIT_BSR &&
         (desc->block_rows == 0 || (desc->block_rows == plan->view.block_rows &&
                                    desc->block_cols == plan->view.block_cols));
}

/* Check the arrays on the host and set plan->bsr: the view itself, or an owned conversion. */
static merbit_status mbi_plan_take_host_blocks(merbit_plan *plan) {
  merbit_context *context = plan->context;
  const int device = plan->view.memory == MERBIT_MEMORY_DEVICE;
  merbit_view host = plan->view;
  merbit_bsr_desc shape;
  merbit_status status = MERBIT_OK;
  if (device) {
    status = mbi_view_download(context, &plan->view, &host);
  }
  memset(&shape, 0, sizeof shape);
  shape.block_rows = plan->desc.block_rows;
  shape.block_cols = plan->desc.block_cols;
  if (status == MERBIT_OK && !plan->desc.unchecked) {
    status = mbi_view_check_arrays(context, &host);
  }
  if (status == MERBIT_OK) {
    status = mbi_plan_blocks_fit(plan)
                 ? mbi_bsr_borrow(context, &host, &plan->bsr)
                 : mbi_bsr_from_view(context, &host, &shape,
                                     plan->side == MERBIT_SIDE_CUDA ? MBI_MASKS_READ
                                                                    : MBI_MASKS_ASIDE,
                                     &plan->bsr);
  }
  if (device) {
    mbi_host_view_release(context, &host);
  }
  return status;
}

/* Set plan->bsr, but for what stays in device memory, to be checked by spmv/arrays.c: blocks as
 * they are wanted, and a CSR, which spmv/carve.c makes blocks of. */
static merbit_status mbi_plan_take_blocks(merbit_plan *plan) {
  const merbit_view *view = &plan->view;
  plan->csr = *view;
  if (view->memory == MERBIT_MEMORY_DEVICE && mbi_plan_blocks_fit(plan)) {
    plan->bsr.view = *view;
    plan->bsr.entries = mbi_view_values(view);
    return MERBIT_OK;
  }
  if (view->memory == MERBIT_MEMORY_DEVICE && view->format == MERBIT_CSR && view->nnz > 0 &&
      plan->desc.method == MERBIT_METHOD_BSR) {
    return MERBIT_OK;
  }
  return mbi_plan_take_host_blocks(plan);
}

/* New host values in the order of the view. */
static merbit_status mbi_blocks_update(merbit_plan *plan, const void *values, size_t bytes) {
  merbit_status status = MERBIT_OK;
  if (!mbi_plan_blocks_fit(plan)) {
    merbit_view host = plan->view;
    host.values = values;
    return mbi_bsr_refill(plan->context, &host, &plan->bsr);
  }
  if (plan->own_values == NULL) {
    status = mbi_allocate_array(plan->context, (int64_t)bytes, 1, "a plan's own values",
                                &plan->own_values);
  }
  if (status == MERBIT_OK) {
    memcpy(plan->own_values, values, bytes);
    plan->values = plan->own_values;
  }
  return status;
}

static void mbi_blocks_destroy(merbit_plan *plan) {
  mbi_release(plan->context, plan->blocks.chunk_index);
  mbi_bsr_release(plan->context, &plan->bsr);
  memset(&plan->blocks, 0, sizeof plan->blocks);
}

/* The schedule of plan->bsr. After a failure mbi_blocks_destroy cleans up. */
static merbit_status mbi_blocks_create(merbit_plan *plan) {
  mbi_blocks *blocks = &plan->blocks;
  void *memory;
  merbit_status status;
  plan->method =
      plan->desc.method != MERBIT_METHOD_AUTO ? plan->desc.method : MERBIT_METHOD_BSR;
  plan->tasks = mbi_block_chunks(plan->context, &plan->bsr.view);
#ifdef MERBIT_STUDY_METHODS
  if (mbi_study_method(plan->method) && plan->method != MERBIT_METHOD_BSR_FIXED) {
    plan->tasks = plan->context->threads;
  }
#endif
  plan->values = plan->bsr.view.values;
  status = mbi_allocate_array(plan->context, (int64_t)plan->tasks + 1, 2 * sizeof(int64_t),
                              "the chunks of a product of blocks", &memory);
  if (status != MERBIT_OK) {
    return status;
  }
  blocks->chunk_index = (int64_t *)memory;
  blocks->chunk_row = blocks->chunk_index + plan->tasks + 1;
#ifdef MERBIT_STUDY_METHODS
  if (mbi_study_method(plan->method)) {
    mbi_study_prepare(plan);
    return MERBIT_OK;
  }
#endif
  mbi_block_cut(&plan->bsr.view, plan->tasks, blocks->chunk_index, blocks->chunk_row);
  return MERBIT_OK;
}

static size_t mbi_block_plan_scratch_bytes(const merbit_plan *plan) {
#ifdef MERBIT_STUDY_METHODS
  if (mbi_study_method(plan->method)) {
    return mbi_study_scratch_bytes(plan);
  }
#endif
  return mbi_blocks_scratch_bytes(plan);
}

static void mbi_block_describe_f64(const merbit_plan *plan, const double *ones,
                                              mbi_block_call_f64 *call) {
  const merbit_view *bsr = &plan->bsr.view;
  const int64_t shift = bsr->nnz > 0 ? (int64_t)bsr->base * bsr->block_cols : 0;
  call->bsr = &plan->bsr;
  call->values = plan->values != NULL ? (const double *)plan->values : ones;
  call->step = plan->values != NULL ? (int64_t)bsr->block_rows * bsr->block_cols : 0;
  call->x = shift != 0 ? call->x - shift : call->x;
  call->kernel = mbi_block_kernel_of_f64(bsr);
  call->edge = bsr->cols % bsr->block_cols != 0 ? bsr->cols / bsr->block_cols + bsr->base : -1;
  call->tasks = plan->tasks;
}

static void mbi_blocks_typed_f64(const merbit_plan *plan, void *scratch,
                                            mbi_block_call_f64 *call) {
  double ones[MBI_BLOCK_MOST * MBI_BLOCK_MOST];
  int i, count = plan->bsr.view.block_rows * plan->bsr.view.block_cols;
  for (i = 0; plan->values == NULL && i < count; i++) {
    ones[i] = 1;
  }
  mbi_block_describe_f64(plan, ones, call);
  if (call->alpha == 0) {
    mbi_parallel(plan->context, plan->tasks, mbi_block_scale_f64, call);
    return;
  }
#ifdef MERBIT_STUDY_METHODS
  if (mbi_study_method(plan->method)) {
    mbi_study_multiply_f64(plan, scratch, call);
    return;
  }
#endif
  call->chunk_index = plan->blocks.chunk_index;
  call->chunk_row = plan->blocks.chunk_row;
  mbi_block_scratch_f64(plan, scratch, call);
  mbi_parallel(plan->context, plan->tasks, mbi_block_chunk_f64, call);
  mbi_block_fix_up_f64(call);
}

static void mbi_block_describe_f32(const merbit_plan *plan, const float *ones,
                                              mbi_block_call_f32 *call) {
  const merbit_view *bsr = &plan->bsr.view;
  const int64_t shift = bsr->nnz > 0 ? (int64_t)bsr->base * bsr->block_cols : 0;
  call->bsr = &plan->bsr;
  call->values = plan->values != NULL ? (const float *)plan->values : ones;
  call->step = plan->values != NULL ? (int64_t)bsr->block_rows * bsr->block_cols : 0;
  call->x = shift != 0 ? call->x - shift : call->x;
  call->kernel = mbi_block_kernel_of_f32(bsr);
  call->edge = bsr->cols % bsr->block_cols != 0 ? bsr->cols / bsr->block_cols + bsr->base : -1;
  call->tasks = plan->tasks;
}

static void mbi_blocks_typed_f32(const merbit_plan *plan, void *scratch,
                                            mbi_block_call_f32 *call) {
  float ones[MBI_BLOCK_MOST * MBI_BLOCK_MOST];
  int i, count = plan->bsr.view.block_rows * plan->bsr.view.block_cols;
  for (i = 0; plan->values == NULL && i < count; i++) {
    ones[i] = 1;
  }
  mbi_block_describe_f32(plan, ones, call);
  if (call->alpha == 0) {
    mbi_parallel(plan->context, plan->tasks, mbi_block_scale_f32, call);
    return;
  }
#ifdef MERBIT_STUDY_METHODS
  if (mbi_study_method(plan->method)) {
    mbi_study_multiply_f32(plan, scratch, call);
    return;
  }
#endif
  call->chunk_index = plan->blocks.chunk_index;
  call->chunk_row = plan->blocks.chunk_row;
  mbi_block_scratch_f32(plan, scratch, call);
  mbi_parallel(plan->context, plan->tasks, mbi_block_chunk_f32, call);
  mbi_block_fix_up_f32(call);
}

/* y = alpha A x + beta y. The same number of threads gives the same bits. */
static void mbi_blocks_multiply(const merbit_plan *plan, void *scratch, const void *alpha,
                                const void *x, const void *beta, void *y) {
  if (plan->type == MERBIT_F32) {
    mbi_block_call_f32 call;
    call.alpha = *(const float *)alpha;
    call.x = (const float *)x;
    call.beta = *(const float *)beta;
    call.y = (float *)y;
    mbi_blocks_typed_f32(plan, scratch, &call);
  } else {
    mbi_block_call_f64 call;
    call.alpha = *(const double *)alpha;
    call.x = (const double *)x;
    call.beta = *(const double *)beta;
    call.y = (double *)y;
    mbi_blocks_typed_f64(plan, scratch, &call);
  }
}

/* ==== >>spmv/arrays.c  a plan's CSR arrays on the GPU ===================================== */
/* Host views are checked and narrowed on the CPU and uploaded; device CSR views are used where
 * they lie, checked and, if their columns are 64-bit, narrowed by spmv/arrays.cu. */
#define MBI_ARRAYS_THREADS 256
#define MBI_ARRAYS_GRID 4096 /* the most blocks; each strides over the arrays */

static int64_t mbi_arrays_blocks(int64_t count) {
  const int64_t blocks = count / MBI_ARRAYS_THREADS + 1;
  return blocks < MBI_ARRAYS_GRID ? blocks : MBI_ARRAYS_GRID;
}

/* The specialisation of spmv/arrays.cu for arrays of these types. */
static merbit_status mbi_arrays_program(merbit_context *context, merbit_index_type offset_type,
                                        merbit_index_type index_type, int base,
                                        mbi_program *program) {
  mbi_preamble preamble;
  memset(&preamble, 0, sizeof preamble);
  mbi_preamble_define(&preamble, "MBK_ROW_PTR",
                      offset_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define(&preamble, "MBK_COLUMN",
                      index_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define_int(&preamble, "MBK_BASE", base);
  return mbi_program_create(context, "spmv/arrays.cu", &preamble, program);
}

/* Find out on the GPU whether the arrays are sound; if not, let the host's check name the
 * culprit. */
static merbit_status mbi_device_csr_check(merbit_context *context, const merbit_view *view,
                                          const mbi_program *program) {
  void *function = NULL;
  mbi_devptr bad = 0;
  uint32_t found = 0;
  const void *row_ptr = view->row_ptr, *col_ind = view->col_ind;
  int64_t rows = view->rows, cols = view->cols, nnz = view->nnz;
  void *arguments[6];
  merbit_status status = mbi_program_kernel(context, program, "mbk_arrays_check", &function);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, sizeof found, "a check's answer", &bad);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_upload(context, bad, &found, sizeof found);
  }
  arguments[0] = &row_ptr;
  arguments[1] = &col_ind;
  arguments[2] = &rows;
  arguments[3] = &cols;
  arguments[4] = &nnz;
  arguments[5] = &bad;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, function, "mbk_arrays_check",
                               mbi_arrays_blocks(nnz > rows ? nnz : rows), MBI_ARRAYS_THREADS,
                               0, NULL, arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, &found, bad, sizeof found);
  }
  mbi_device_release(context, bad);
  if (status == MERBIT_OK && found != 0) {
    merbit_view host;
    status = mbi_view_download(context, view, &host);
    if (status == MERBIT_OK) {
      status = mbi_view_check_arrays(context, &host);
    }
    mbi_host_view_release(context, &host);
    if (status == MERBIT_OK) {
      status = mbi_fail(context, MERBIT_INVALID_MATRIX,
                        "the device arrays changed while they were checked");
    }
  }
  return status;
}

static merbit_status mbi_device_csr_narrow(merbit_context *context, const merbit_view *view,
                                           const mbi_program *program, mbi_device_csr *csr) {
  void *function = NULL;
  const void *wide = view->col_ind;
  int64_t nnz = view->nnz;
  void *arguments[3];
  merbit_status status = mbi_program_kernel(context, program, "mbk_arrays_narrow", &function);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, (uint64_t)nnz * sizeof(int32_t), "32-bit columns",
                                 &csr->col_ind);
  }
  if (status == MERBIT_OK) {
    csr->owns_col_ind = 1;
    csr->bytes += (uint64_t)nnz * sizeof(int32_t);
    arguments[0] = &wide;
    arguments[1] = &nnz;
    arguments[2] = &csr->col_ind;
    status = mbi_device_launch(context, function, "mbk_arrays_narrow", mbi_arrays_blocks(nnz),
                               MBI_ARRAYS_THREADS, 0, NULL, arguments);
  }
  return status;
}

static merbit_status mbi_array_upload(merbit_context *context, const void *source,
                                      uint64_t bytes, const char *what, mbi_device_csr *csr,
                                      mbi_devptr *target, int *owns) {
  merbit_status status = mbi_device_allocate(context, bytes, what, target);
  if (status != MERBIT_OK) {
    return status;
  }
  *owns = 1;
  csr->bytes += bytes;
  return bytes > 0 ? mbi_device_upload(context, *target, source, (size_t)bytes) : MERBIT_OK;
}

/* `view` is a checked host CSR with 32-bit columns. */
static merbit_status mbi_device_csr_upload(merbit_context *context, const merbit_view *view,
                                           mbi_device_csr *csr) {
  const uint64_t nnz = (uint64_t)view->nnz;
  merbit_status status = mbi_array_upload(
      context, view->row_ptr, ((uint64_t)view->rows + 1) * mbi_index_bytes(view->offset_type),
      "row_ptr", csr, &csr->row_ptr, &csr->owns_row_ptr);
  if (status == MERBIT_OK) {
    status = mbi_array_upload(context, view->col_ind, nnz * sizeof(int32_t), "col_ind", csr,
                              &csr->col_ind, &csr->owns_col_ind);
  }
  if (status == MERBIT_OK && view->values != NULL) {
    status = mbi_array_upload(context, view->values, nnz * mbi_type_size(view->value_type),
                              "values", csr, &csr->values, &csr->owns_values);
  }
  return status;
}

/* `view` is a device CSR whose header has been checked. */
static merbit_status mbi_device_csr_borrow(merbit_context *context, const merbit_view *view,
                                           int unchecked, mbi_device_csr *csr) {
  const void *arrays[3];
  mbi_program program;
  merbit_status status = MERBIT_OK;
  const int narrow = view->index_type == MERBIT_INDEX_64;
  int i;
  arrays[0] = view->row_ptr;
  arrays[1] = view->col_ind;
  arrays[2] = view->values;
  for (i = 0; i < 3; i++) {
    if (arrays[i] != NULL && !mbi_device_owns(context, arrays[i])) {
      return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                      "the view says device memory, but %p is not an address of the GPU",
                      arrays[i]);
    }
  }
  csr->row_ptr = mbi_device_address(view->row_ptr);
  csr->col_ind = mbi_device_address(view->col_ind);
  csr->values = mbi_device_address(view->values);
  if (unchecked && !narrow) {
    return MERBIT_OK;
  }
  status =
      mbi_arrays_program(context, view->offset_type, view->index_type, view->base, &program);
  if (status != MERBIT_OK) {
    return status;
  }
  if (!unchecked) {
    status = mbi_device_csr_check(context, view, &program);
  }
  if (status == MERBIT_OK && narrow) {
    status = mbi_device_csr_narrow(context, view, &program, csr);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_synchronize(context, NULL);
  }
  mbi_program_destroy(context, &program);
  return status;
}

/* Needs an entered context. After a failure mbi_device_csr_destroy cleans up. */
static merbit_status mbi_device_csr_create(merbit_context *context, const merbit_view *view,
                                           int unchecked, mbi_device_csr *csr) {
  memset(csr, 0, sizeof *csr);
  csr->offset_type = view->offset_type;
  csr->base = view->base;
  csr->rows = (uint64_t)view->rows;
  csr->cols = (uint64_t)view->cols;
  csr->nnz = (uint64_t)view->nnz;
  return view->memory == MERBIT_MEMORY_DEVICE
             ? mbi_device_csr_borrow(context, view, unchecked, csr)
             : mbi_device_csr_upload(context, view, csr);
}

static void mbi_device_csr_destroy(merbit_context *context, mbi_device_csr *csr) {
  if (csr->owns_row_ptr) {
    mbi_device_release(context, csr->row_ptr);
  }
  if (csr->owns_col_ind) {
    mbi_device_release(context, csr->col_ind);
  }
  if (csr->owns_values) {
    mbi_device_release(context, csr->values);
  }
}

/* Of a CSR's columns and values, read once. */
static uint64_t mbi_device_csr_stream_bytes(const merbit_plan *plan) {
  return plan->device.nnz * (sizeof(int32_t) + mbi_value_bytes(plan));
}

/* What every product kernel is told of a plan. */
static void mbi_plan_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const char *type = plan->type == MERBIT_F32 ? "float" : "double";
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_VALUE",
                      plan->device.form == MBI_VALUES_SINGLE ? "float" : type);
  mbi_preamble_define(preamble, "MBK_VECTOR", type);
  mbi_preamble_define(preamble, "MBK_COMPUTE", type);
  mbi_preamble_define_int(preamble, "MBK_PATTERN", mbi_value_bytes(plan) == 0);
  mbi_preamble_define_int(preamble, "MBK_EQUAL", plan->device.form == MBI_VALUES_EQUAL);
  mbi_preamble_define(preamble, "MBK_ROW_PTR",
                      plan->device.offset_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define_int(preamble, "MBK_BASE", plan->device.base);
  mbi_preamble_define_int(preamble, "MBK_SCALARS_DEVICE",
                          plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE);
}

/* ==== >>spmv/merbit.c  CUDA: merge-path tiles with packed lanes =========================== */
/* ---- Encode: from the plan's wishes to sizes -------------------------------------------------- */

#define MBI_MERBIT_BUILD_THREADS 128
#define MBI_MERBIT_FIXUP_THREADS 256
/* Blocks of 512 threads over neighbouring tiles share more of x in L1; below this many for each
 * multiprocessor, smaller ones spread the work better. */
#define MBI_MERBIT_FEW_BLOCKS 8

/* ceil(log2(value)) for value >= 1. */
static int mbi_log2_ceiling(uint64_t value) {
  int bits = 0;
  while (((uint64_t)1 << bits) < value) {
    bits++;
  }
  return bits;
}

static uint64_t mbi_merbit_blocks(const mbi_merbit *m) {
  const uint64_t block_tiles = (uint64_t)(m->threads / m->omega);
  return (m->tiles + block_tiles - 1) / block_tiles;
}

/* Sizes of the specialisation; fails where a lane does not fit 64 bits or a block the GPU. */
static merbit_status mbi_merbit_size(merbit_plan *plan) {
  mbi_merbit *m = &plan->merbit;
  merbit_context *context = plan->context;
  uint64_t tile_steps;
  int bits;
  m->omega = plan->desc.omega != 0 ? plan->desc.omega : 32;
  m->sigma = plan->desc.sigma != 0 ? plan->desc.sigma : plan->type == MERBIT_F32 ? 14 : 7;
  m->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : 512;
  if (m->omega != 32 && m->omega != 16 && m->omega != 8) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "plan_desc.omega is %d; use 32, 16 or 8",
                    m->omega);
  }
  if (m->threads < 32 || m->threads > 1024 || m->threads % 32 != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.block_threads is %d; use a multiple of 32 up to 1024", m->threads);
  }
  if (m->sigma < 1 || m->sigma > 64) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "plan_desc.sigma is %d; use 1 to 42",
                    m->sigma);
  }
  tile_steps = (uint64_t)m->omega * (uint64_t)m->sigma;
  m->coordinate_bits = mbi_log2_ceiling(tile_steps);
  bits = 2 * m->coordinate_bits + m->sigma;
  m->descriptor_bits = bits <= 32 ? 32 : 64;
  if (bits > 64) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.sigma %d with omega %d needs 2 * %d + %d = %d bits in a lane "
                    "descriptor of 64; use a smaller sigma",
                    m->sigma, m->omega, m->coordinate_bits, m->sigma, bits);
  }
  m->path = plan->device.rows + plan->device.nnz;
  m->tiles = (m->path + tile_steps - 1) / tile_steps;
  if (plan->desc.block_threads == 0 &&
      mbi_merbit_blocks(m) < MBI_MERBIT_FEW_BLOCKS * (uint64_t)context->device.multiprocessors) {
    m->threads = 128;
  }
  m->blocks = mbi_merbit_blocks(m);
  m->tile_bytes = m->path < (uint64_t)1 << 31 ? 4 : 8;
  if (m->tiles > (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " rows and %" PRIu64 " nonzeros make %" PRIu64
                    " tiles; raise plan_desc.sigma",
                    plan->device.rows, plan->device.nnz, m->tiles);
  }
  return MERBIT_OK;
}

/* Dynamic shared memory as spmv/merbit.cu lays it out. */
static unsigned mbi_merbit_product_shared(const mbi_merbit *m, merbit_type type) {
  const size_t groups = (size_t)(m->threads / m->omega);
  return (unsigned)(mbi_type_size(type) * ((size_t)(m->threads * m->sigma) + groups) +
                    sizeof(uint32_t) * groups);
}

static unsigned mbi_merbit_build_shared(const mbi_merbit *m) {
  const int words = (m->omega * m->sigma + 31) / 32 + 2;
  return (unsigned)((size_t)(MBI_MERBIT_BUILD_THREADS / m->omega * words) * sizeof(uint32_t));
}

/* ---- Specialise: one program with the three kernels ------------------------------------------- */

static void mbi_merbit_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_merbit *m = &plan->merbit;
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define(preamble, "MBK_TILE", m->tile_bytes == 8 ? "mbk_u64" : "mbk_u32");
  mbi_preamble_define(preamble, "MBK_DESCRIPTOR", m->descriptor_bits == 64 ? "mbk_u64" : "mbk_u32");
  mbi_preamble_define_int(preamble, "MBK_COORDINATE_BITS", m->coordinate_bits);
  mbi_preamble_define_int(preamble, "MBK_SIGMA", m->sigma);
  mbi_preamble_define_int(preamble, "MBK_OMEGA", m->omega);
  mbi_preamble_define_int(preamble, "MBK_THREADS", m->threads);
  mbi_preamble_define_int(preamble, "MBK_DUAL", m->dual);
}

static merbit_status mbi_merbit_specialise(merbit_plan *plan) {
  mbi_merbit *m = &plan->merbit;
  merbit_context *context = plan->context;
  const unsigned shared = mbi_merbit_product_shared(m, plan->type);
  mbi_preamble preamble;
  merbit_status status;
  if (shared > (unsigned)context->device.shared_bytes_per_block) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "sigma %d with %d threads per block needs %u bytes of shared memory, %s has %d; "
                    "use a smaller plan_desc.sigma or block_threads",
                    m->sigma, m->threads, shared, context->device.name,
                    context->device.shared_bytes_per_block);
  }
  mbi_merbit_preamble(plan, &preamble);
  status = mbi_program_create(context, "spmv/merbit.cu", &preamble, &plan->program);
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(context, &plan->program, "mbk_merbit_build", &m->build);
  }
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(context, &plan->program, "mbk_merbit_product", &m->product);
  }
  if (status == MERBIT_OK && !m->dual) {
    status = mbi_program_kernel(context, &plan->program, "mbk_merbit_fixup", &m->fixup);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_reserve_shared(context, m->product, "mbk_merbit_product", shared);
  }
  return status;
}

/* ---- Launch: build TILE once, then products --------------------------------------------------- */

/* Enqueue the TILE kernel. */
static merbit_status mbi_merbit_build(merbit_plan *plan, void *stream) {
  mbi_merbit *m = &plan->merbit;
  const uint64_t block_tiles = (uint64_t)(MBI_MERBIT_BUILD_THREADS / m->omega);
  void *arguments[7];
  arguments[0] = &plan->device.row_ptr;
  arguments[1] = &plan->device.rows;
  arguments[2] = &plan->device.nnz;
  arguments[3] = &m->tiles;
  arguments[4] = &m->tile_x;
  arguments[5] = &m->tile_y;
  arguments[6] = &m->lane_desc;
  return mbi_device_launch(plan->context, m->build, "mbk_merbit_build",
                           (int64_t)((m->tiles + block_tiles - 1) / block_tiles),
                           MBI_MERBIT_BUILD_THREADS, mbi_merbit_build_shared(m), stream, arguments);
}

/* Bytes of the carries of one product in flight. */
static uint64_t mbi_merbit_carry_bytes(const merbit_plan *plan) {
  return plan->merbit.dual ? 0 : 2 * plan->merbit.blocks * mbi_type_size(plan->type);
}

/* Everything of MERBIT for the matrix in plan->device. After a failure mbi_merbit_destroy cleans up. */
static merbit_status mbi_merbit_create(merbit_plan *plan) {
  mbi_merbit *m = &plan->merbit;
  merbit_context *context = plan->context;
  uint64_t coordinates, descriptors;
  merbit_status status = mbi_merbit_size(plan);
  if (status != MERBIT_OK) {
    return status;
  }
  coordinates = (m->tiles + 1) * (uint64_t)m->tile_bytes;
  descriptors = m->tiles * (uint64_t)m->omega * (uint64_t)(m->descriptor_bits / 8);
  plan->schedule_bytes = 2 * coordinates + descriptors;
  plan->stream_bytes = plan->schedule_bytes + mbi_device_csr_stream_bytes(plan) +
                       2 * mbi_merbit_carry_bytes(plan);
  status = mbi_merbit_specialise(plan);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, coordinates, "tile_x", &m->tile_x);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, coordinates, "tile_y", &m->tile_y);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, descriptors, "lane descriptors", &m->lane_desc);
  }
  if (status == MERBIT_OK) {
    status = mbi_merbit_build(plan, NULL);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_synchronize(context, NULL);
  }
  return status;
}

static void mbi_merbit_destroy(merbit_plan *plan) {
  mbi_merbit *m = &plan->merbit;
  mbi_device_release(plan->context, m->tile_x);
  mbi_device_release(plan->context, m->tile_y);
  mbi_device_release(plan->context, m->lane_desc);
  mbi_program_destroy(plan->context, &plan->program);
}

/* The arguments that both commits share; `arguments` has room for 13. */
static void mbi_merbit_arguments(merbit_plan *plan, mbi_devptr *x, mbi_devptr *y,
                                 void **arguments) {
  mbi_merbit *m = &plan->merbit;
  arguments[0] = &m->tile_x;
  arguments[1] = &m->tile_y;
  arguments[2] = &m->lane_desc;
  arguments[3] = &plan->device.col_ind;
  arguments[4] = &plan->device.values;
  arguments[5] = x;
  arguments[6] = y;
  arguments[7] = &m->path;
  arguments[8] = &m->tiles;
}

/* y = alpha A x + beta y: product and fix-up. `alpha` and `beta` point to what the kernels take: a value, or
 * a device pointer where scalars live on the device. */
static merbit_status mbi_merbit_multiply(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                                         mbi_devptr x, const void *beta, mbi_devptr y,
                                         void *stream) {
  mbi_merbit *m = &plan->merbit;
  mbi_devptr carry_out = carries + m->blocks * mbi_type_size(plan->type);
  void *arguments[13];
  merbit_status status;
  mbi_merbit_arguments(plan, &x, &y, arguments);
  arguments[9] = &carries;
  arguments[10] = &carry_out;
  arguments[11] = (void *)(uintptr_t)alpha;
  arguments[12] = (void *)(uintptr_t)beta;
  status = mbi_device_launch(plan->context, m->product, "mbk_merbit_product", (int64_t)m->blocks,
                             m->threads, mbi_merbit_product_shared(m, plan->type), stream,
                             arguments);
  if (status != MERBIT_OK) {
    return status;
  }
  arguments[0] = &plan->device.row_ptr;
  arguments[1] = &m->tile_y;
  arguments[2] = &carries;
  arguments[3] = &carry_out;
  arguments[4] = &y;
  arguments[5] = &m->tiles;
  arguments[6] = &m->blocks;
  arguments[7] = (void *)(uintptr_t)alpha;
  arguments[8] = (void *)(uintptr_t)beta;
  return mbi_device_launch(
      plan->context, m->fixup, "mbk_merbit_fixup",
      (int64_t)((m->blocks + MBI_MERBIT_FIXUP_THREADS - 1) / MBI_MERBIT_FIXUP_THREADS),
      MBI_MERBIT_FIXUP_THREADS,
      (unsigned)(MBI_MERBIT_FIXUP_THREADS * mbi_type_size(plan->type) +
                 MBI_MERBIT_FIXUP_THREADS / 32 * sizeof(uint32_t)),
      stream, arguments);
}

/* y = A x, with y zero where blocks share rows (all zero before the first call); leaves z so for the next
 * call, which swaps the two (section 4.2 (3)). Not bitwise stable where a row spans three blocks. */
static merbit_status mbi_merbit_multiply_dual(merbit_plan *plan, mbi_devptr x, mbi_devptr y,
                                              mbi_devptr z, void *stream) {
  mbi_merbit *m = &plan->merbit;
  void *arguments[13];
  mbi_merbit_arguments(plan, &x, &y, arguments);
  arguments[9] = &z;
  arguments[10] = &plan->device.rows;
  return mbi_device_launch(plan->context, m->product, "mbk_merbit_product", (int64_t)m->blocks,
                           m->threads, mbi_merbit_product_shared(m, plan->type), stream,
                           arguments);
}

/* ---- Describe --------------------------------------------------------------------------------- */

static void mbi_merbit_info(const merbit_plan *plan, merbit_plan_info *info) {
  const mbi_merbit *m = &plan->merbit;
  info->sigma = m->sigma;
  info->omega = m->omega;
  info->block_threads = m->threads;
  info->descriptor_bits = m->descriptor_bits;
  info->tiles = (int64_t)m->tiles;
}

static int mbi_merbit_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_merbit *m = &plan->merbit;
  return snprintf(text, size,
                  "%" PRIu64 " tiles, omega %d, sigma %d, %d-bit lanes, %d threads, %s commit",
                  m->tiles, m->omega, m->sigma, m->descriptor_bits, m->threads,
                  m->dual ? "dual-buffer" : "carry-out");
}

static const mbi_cuda_method mbi_merbit_method = {mbi_merbit_create, mbi_merbit_destroy,
                                                  mbi_merbit_carry_bytes, mbi_merbit_multiply,
                                                  mbi_merbit_info, mbi_merbit_describe, NULL};

/* ==== >>spmv/ranks.c  which rows of a device CSR hold something =========================== */
/* Which rows hold something, and how even they are: the GPU counts, and lists them where some
 * are empty and the method asks. */
#define MBI_RANKS_PER_BLOCK 1024
#define MBI_RANKS_SAMPLES 256 /* windows of nonzeros at most */
#define MBI_RANKS_WINDOW 8192
#define MBI_RANKS_TABLE 12288
#define MBI_RANKS_BINS 4096
#define MBI_RANKS_BLOCK_SAMPLES 4096        /* rows */
#define MBI_RANKS_COLUMN_SAMPLES (8u << 20) /* nonzeros */

/* What the plan's products do not need: the choice and the method are made. */
static void mbi_ranks_finish(merbit_context *context, mbi_ranks *ranks) {
  mbi_device_release(context, ranks->counts);
  mbi_device_release(context, ranks->column_counts);
  ranks->counts = ranks->offsets = ranks->column_counts = 0;
  mbi_program_destroy(context, &ranks->program);
}

static void mbi_ranks_destroy(merbit_context *context, mbi_ranks *ranks) {
  if (ranks->row_id != 0) {
    mbi_device_release(context, ranks->row_start);
    mbi_device_release(context, ranks->row_id);
    mbi_device_release(context, ranks->empty_id);
  }
  mbi_ranks_finish(context, ranks);
  memset(ranks, 0, sizeof *ranks);
}

/* Counts, then their sum, the sum of the slices' widths and the longest row. Needs an entered
 * context. After a failure mbi_ranks_destroy cleans up. */
static merbit_status mbi_ranks_create(merbit_context *context, const mbi_device_csr *csr,
                                      mbi_ranks *ranks) {
  void *count = NULL, *offsets = NULL, *arguments[6];
  uint64_t rows = csr->rows, blocks = (rows + MBI_RANKS_PER_BLOCK - 1) / MBI_RANKS_PER_BLOCK;
  mbi_devptr row_ptr = csr->row_ptr, total, longest, widths;
  uint32_t answer[4] = {0, 0, 0, 0};
  merbit_status status;
  memset(ranks, 0, sizeof *ranks);
  if (blocks == 0) {
    ranks->row_start = csr->row_ptr;
    return MERBIT_OK;
  }
  ranks->blocks = blocks;
  status = mbi_arrays_program(context, csr->offset_type, MERBIT_INDEX_32, csr->base,
                              &ranks->program);
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(context, &ranks->program, "mbk_arrays_count", &count);
  }
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(context, &ranks->program, "mbk_arrays_offsets", &offsets);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, sizeof answer + blocks * sizeof(uint32_t),
                                 "counts of rows", &ranks->counts);
  }
  widths = ranks->counts; /* 64 bits, so it comes first */
  total = widths + 2 * sizeof(uint32_t);
  longest = total + sizeof(uint32_t);
  ranks->offsets = widths + sizeof answer;
  if (status == MERBIT_OK) {
    status = mbi_device_upload(context, ranks->counts, answer, sizeof answer);
  }
  if (status == MERBIT_OK) {
    arguments[0] = &row_ptr;
    arguments[1] = &rows;
    arguments[2] = &ranks->offsets;
    arguments[3] = &longest;
    arguments[4] = &widths;
    status = mbi_device_launch(context, count, "mbk_arrays_count", (int64_t)blocks, 256,
                               (unsigned)(4 * sizeof(uint32_t)), NULL, arguments);
  }
  if (status == MERBIT_OK) {
    arguments[0] = &ranks->offsets;
    arguments[1] = &blocks;
    arguments[2] = &total;
    status = mbi_device_launch(context, offsets, "mbk_arrays_offsets", 1, 1024,
                               (unsigned)(33 * sizeof(uint32_t)), NULL, arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, answer, ranks->counts, sizeof answer);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  ranks->row_start = csr->row_ptr;
  ranks->slots = 32 * ((uint64_t)answer[1] << 32 | answer[0]);
  ranks->count = answer[2];
  ranks->longest = answer[3];
  return MERBIT_OK;
}

/* Samples of the columns; after mbi_ranks_create, of a matrix with nonzeros. */
static merbit_status mbi_ranks_sample(merbit_context *context, const mbi_device_csr *csr,
                                      merbit_type type, mbi_ranks *ranks) {
  mbi_devptr row_ptr = csr->row_ptr, col_ind = csr->col_ind, narrow;
  uint64_t row_count = csr->rows, nnz = csr->nnz;
  const uint64_t window = nnz < MBI_RANKS_WINDOW ? nnz : MBI_RANKS_WINDOW;
  const uint64_t windows = nnz / MBI_RANKS_WINDOW + 1;
  const uint64_t samples = windows < MBI_RANKS_SAMPLES ? windows : MBI_RANKS_SAMPLES;
  uint32_t shift = type == MERBIT_F32 ? 3 : 2, answer[2] = {0, 0};
  void *sample = NULL, *arguments[7];
  merbit_status status =
      mbi_program_kernel(context, &ranks->program, "mbk_arrays_sample", &sample);
  if (status == MERBIT_OK) { /* where the sums were, which are known */
    status = mbi_device_upload(context, ranks->counts, answer, sizeof answer);
  }
  narrow = ranks->counts + sizeof answer[0];
  arguments[0] = &row_ptr;
  arguments[1] = &col_ind;
  arguments[2] = &row_count;
  arguments[3] = &nnz;
  arguments[4] = &shift;
  arguments[5] = &ranks->counts;
  arguments[6] = &narrow;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, sample, "mbk_arrays_sample", (int64_t)samples, 256,
                               (unsigned)(MBI_RANKS_TABLE * sizeof(uint32_t)), NULL, arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, answer, ranks->counts, sizeof answer);
  }
  ranks->sectors = (double)answer[0] / ((double)window * (double)samples);
  ranks->narrow = (double)answer[1] / (8.0 * (double)samples);
  return status;
}

/* How many columns of a sample of the nonzeros are counted how often. `bins` has
 * MBI_RANKS_BINS words, the last for all that are counted more often. */
static merbit_status mbi_ranks_count_columns(merbit_plan *plan, uint32_t *bins) {
  merbit_context *context = plan->context;
  mbi_ranks *ranks = &plan->ranks;
  const uint64_t bytes = (plan->device.cols + MBI_RANKS_BINS) * sizeof(uint32_t);
  uint32_t stride = (uint32_t)(plan->device.nnz / MBI_RANKS_COLUMN_SAMPLES) + 1;
  void *count = NULL, *bin = NULL, *arguments[4];
  mbi_devptr found = 0;
  merbit_status status =
      mbi_program_kernel(context, &ranks->program, "mbk_arrays_columns", &count);
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(context, &ranks->program, "mbk_arrays_bins", &bin);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, bytes, "counts of columns", &ranks->column_counts);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_zero(context, ranks->column_counts, (size_t)bytes, NULL);
  }
  found = ranks->column_counts + plan->device.cols * sizeof(uint32_t);
  arguments[0] = &plan->device.col_ind;
  arguments[1] = &plan->device.nnz;
  arguments[2] = &stride;
  arguments[3] = &ranks->column_counts;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, count, "mbk_arrays_columns",
                               mbi_arrays_blocks((int64_t)(plan->device.nnz / stride)),
                               MBI_ARRAYS_THREADS, 0, NULL, arguments);
  }
  arguments[0] = &ranks->column_counts;
  arguments[1] = &plan->device.cols;
  arguments[2] = &found;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, bin, "mbk_arrays_bins",
                               2 * (int64_t)context->device.multiprocessors, MBI_ARRAYS_THREADS,
                               (unsigned)(MBI_RANKS_BINS * sizeof(uint32_t)), NULL, arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, bins, found, MBI_RANKS_BINS * sizeof(uint32_t));
  }
  if (status != MERBIT_OK) {
    mbi_device_release(context, ranks->column_counts);
    ranks->column_counts = 0;
  }
  return status;
}

/* The fullest columns, at most `room` of them and each with two nonzeros of the sample or more:
 * how often they are counted at least, and their share of the `sampled` nonzeros. */
static void mbi_ranks_take_hubs(mbi_ranks *ranks, const uint32_t *bins, uint64_t sampled,
                                uint64_t room) {
  uint64_t hubs = 0, cold = 0;
  uint32_t n;
  ranks->hub_least = MBI_RANKS_BINS;
  for (n = MBI_RANKS_BINS; n-- > 2 && hubs + bins[n] <= room;) {
    hubs += bins[n];
    ranks->hub_least = n;
  }
  for (n = 1; n < ranks->hub_least; n++) {
    cold += (uint64_t)n * bins[n];
  }
  ranks->hub_share = hubs > 0 && cold < sampled ? 1.0 - (double)cold / (double)sampled : 0.0;
}

/* plan->ranks.hub_least and hub_share, unless they are known. */
static merbit_status mbi_ranks_columns(merbit_plan *plan, uint64_t room) {
  uint32_t bins[MBI_RANKS_BINS];
  const uint64_t nnz = plan->device.nnz, stride = nnz / MBI_RANKS_COLUMN_SAMPLES + 1;
  merbit_status status;
  if (nnz == 0 || plan->ranks.column_counts != 0) {
    return MERBIT_OK;
  }
  status = mbi_ranks_count_columns(plan, bins);
  if (status == MERBIT_OK) {
    mbi_ranks_take_hubs(&plan->ranks, bins, nnz / stride, room);
  }
  return status;
}

/* What speaks against full blocks in `count` rows, evenly spread: bits of heights and of
 * widths. */
static merbit_status mbi_ranks_against(merbit_plan *plan, uint64_t count, uint32_t *against) {
  merbit_context *context = plan->context;
  uint64_t step = plan->device.rows / count;
  mbi_devptr answer = plan->ranks.counts; /* its sums are known */
  void *kernel = NULL, *arguments[6];
  merbit_status status =
      mbi_program_kernel(context, &plan->ranks.program, "mbk_arrays_blocks", &kernel);
  if (status == MERBIT_OK) {
    status = mbi_device_zero(context, answer, 2 * sizeof *against, NULL);
  }
  arguments[0] = &plan->device.row_ptr;
  arguments[1] = &plan->device.col_ind;
  arguments[2] = &plan->device.rows;
  arguments[3] = &count;
  arguments[4] = &step;
  arguments[5] = &answer;
  if (status == MERBIT_OK) {
    status =
        mbi_device_launch(context, kernel, "mbk_arrays_blocks",
                          (int64_t)((count * 32 + MBI_ARRAYS_THREADS - 1) / MBI_ARRAYS_THREADS),
                          MBI_ARRAYS_THREADS, 0, NULL, arguments);
  }
  return status == MERBIT_OK
             ? mbi_device_download(context, against, answer, 2 * sizeof *against)
             : status;
}

/* The largest blocks, up to 16 x 16, of which the matrix wholly consists, in plan->ranks; 1 x 1
 * where there are no larger ones. Some rows are looked at first, which rules most matrices out.
 */
static merbit_status mbi_ranks_blocks(merbit_plan *plan) {
  const uint64_t rows = plan->device.rows;
  uint64_t count = rows < MBI_RANKS_BLOCK_SAMPLES ? rows : MBI_RANKS_BLOCK_SAMPLES;
  uint32_t against[2] = {0, 0};
  int n;
  plan->ranks.block_rows = plan->ranks.block_cols = 1;
  for (; plan->device.nnz > 0; count = rows) {
    const merbit_status status = mbi_ranks_against(plan, count, against);
    if (status != MERBIT_OK) {
      return status;
    }
    plan->ranks.block_rows = plan->ranks.block_cols = 1;
    for (n = 2; n <= 16; n++) {
      plan->ranks.block_rows = against[0] >> n & 1 ? plan->ranks.block_rows : n;
      plan->ranks.block_cols = against[1] >> n & 1 ? plan->ranks.block_cols : n;
    }
    if (count == rows || plan->ranks.block_rows * plan->ranks.block_cols < 4) {
      break;
    }
  }
  return MERBIT_OK;
}

/* A number of the structure, after mbi_ranks_create. */
static merbit_status mbi_ranks_hash(merbit_plan *plan, uint64_t *hash) {
  merbit_context *context = plan->context;
  const uint64_t most =
      plan->device.nnz > plan->device.rows ? plan->device.nnz : plan->device.rows;
  void *kernel = NULL, *arguments[5];
  mbi_devptr sum = plan->ranks.counts; /* its sums are known */
  merbit_status status =
      mbi_program_kernel(context, &plan->ranks.program, "mbk_arrays_hash", &kernel);
  if (status == MERBIT_OK) {
    status = mbi_device_zero(context, sum, sizeof *hash, NULL);
  }
  arguments[0] = &plan->device.row_ptr;
  arguments[1] = &plan->device.col_ind;
  arguments[2] = &plan->device.rows;
  arguments[3] = &plan->device.nnz;
  arguments[4] = &sum;
  if (status == MERBIT_OK) {
    status =
        mbi_device_launch(context, kernel, "mbk_arrays_hash", mbi_arrays_blocks((int64_t)most),
                          MBI_ARRAYS_THREADS, 0, NULL, arguments);
  }
  return status == MERBIT_OK ? mbi_device_download(context, hash, sum, sizeof *hash) : status;
}

/* For a method, unless the choice has counted already. */
static merbit_status mbi_ranks_need(merbit_plan *plan) {
  return plan->ranks.row_start != 0
             ? MERBIT_OK
             : mbi_ranks_create(plan->context, &plan->device, &plan->ranks);
}

/* List the rows; after mbi_ranks_create, where some are empty. A failure changes nothing. */
static merbit_status mbi_ranks_compact(merbit_context *context, const mbi_device_csr *csr,
                                       mbi_ranks *ranks) {
  const uint64_t starts = (ranks->count + 1) * mbi_index_bytes(csr->offset_type);
  const uint64_t ids = (ranks->count + 1) * sizeof(uint32_t); /* never none */
  const uint64_t empties = (csr->rows - ranks->count) * sizeof(uint32_t);
  uint64_t row_count = csr->rows;
  mbi_devptr row_ptr = csr->row_ptr, row_id = 0, row_start = 0, empty_id = 0;
  void *compact = NULL, *arguments[6];
  merbit_status status =
      mbi_program_kernel(context, &ranks->program, "mbk_arrays_compact", &compact);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, ids, "ranks of rows", &row_id);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, starts, "starts of rows", &row_start);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, empties, "empty rows", &empty_id);
  }
  arguments[0] = &row_ptr;
  arguments[1] = &row_count;
  arguments[2] = &ranks->offsets;
  arguments[3] = &row_id;
  arguments[4] = &row_start;
  arguments[5] = &empty_id;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, compact, "mbk_arrays_compact", (int64_t)ranks->blocks,
                               256, (unsigned)(8 * sizeof(uint32_t)), NULL, arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_synchronize(context, NULL);
  }
  if (status != MERBIT_OK) {
    mbi_device_release(context, row_id);
    mbi_device_release(context, row_start);
    mbi_device_release(context, empty_id);
    return status;
  }
  ranks->row_id = row_id;
  ranks->row_start = row_start;
  ranks->empty_id = empty_id;
  ranks->bytes = starts + ids + empties;
  return MERBIT_OK;
}

/* ==== >>spmv/scan_sizes.c  CUDA: how the scan cuts a matrix into tiles and blocks ========= */
/* ---- Encode: from the plan's wishes to sizes --------------------------------------------- */

#define MBI_SCAN_BUILD_THREADS 128
#define MBI_SCAN_FIXUP_THREADS 512

/* Nonzeros of 16 bytes of sums. */
static int mbi_scan_widest(merbit_type type) {
  return (int)(16 / mbi_type_size(type));
}

/* Whether columns and values can be loaded 16 bytes at once. */
static int mbi_scan_aligned(const merbit_plan *plan) {
  return (plan->device.col_ind | plan->device.values) % 16 == 0;
}

/* Blocks that leave registers for what a lane holds, without spilling. For 9.0 NVRTC gets by
 * with 40 of them for a pack of 16 bytes more than elsewhere; blocks that take whole rows need
 * more. */
static int mbi_scan_resident(const merbit_plan *plan) {
  const int packs = plan->scan.steps / mbi_scan_widest(plan->type),
            threads = plan->scan.threads;
  const int single = plan->type == MERBIT_F32;
  const int known = plan->context->device.compute_capability == 90 && mbi_scan_aligned(plan) &&
                    plan->scan.pack == mbi_scan_widest(plan->type) &&
                    plan->desc.scalar_memory != MERBIT_MEMORY_DEVICE;
  const int full = (plan->scan.whole ? 1 : single ? 2 : 3) + known;
  const int blocks = (packs > 14                 ? 384
                      : packs > (single ? 4 : 6) ? 512
                      : packs > full             ? 1024
                                                 : 1536) /
                     threads;
  return blocks > 16 ? 16 : blocks < 1 ? 1 : blocks;
}

/* What follows from the rows and from s->tiles, for every method on tiles of nonzeros. */
static void mbi_scan_size_rows(merbit_plan *plan) {
  mbi_scan_schedule *s = &plan->scan;
  const uint64_t pack = (uint64_t)s->pack;
  /* That hold of a row that none of them ends. */
  const uint64_t lanes = (plan->ranks.longest > 0 ? plan->ranks.longest - 1 : 0) / pack + 1;
  s->depth = mbi_log2_ceiling(lanes < 32 ? lanes : 32);
  s->fixup_blocks = (s->tiles + MBI_SCAN_FIXUP_THREADS - 1) / MBI_SCAN_FIXUP_THREADS;
  s->empty_rows = plan->device.rows - plan->ranks.count;
  if (s->empty_rows > 0) {
    const uint64_t wanted = s->empty_rows / MBI_SCAN_FIXUP_THREADS + 1;
    const uint64_t most = 8 * (uint64_t)plan->context->device.multiprocessors;
    const uint64_t useful = wanted < most ? wanted : most;
    s->fixup_blocks = s->fixup_blocks < useful ? useful : s->fixup_blocks;
  }
}

/* Nonzeros that one block to a multiprocessor takes, of 1,024 threads and whole rows; one warp
 * is for the overhang. */
static uint64_t mbi_scan_at_once(const merbit_plan *plan, int steps) {
  return (uint64_t)plan->context->device.multiprocessors * 31 * 32 * (uint64_t)steps;
}

/* Whether one launch over whole rows pays: where all of the matrix is in flight at once and no
 * row takes a block more than one round; and for larger ones of short rows, whose ends the
 * second launch would look for. */
static int mbi_scan_suits_whole(const merbit_plan *plan, uint64_t round) {
  const uint64_t nnz = plan->device.nnz, longest = plan->ranks.longest;
  return nnz <= mbi_scan_at_once(plan, 12)   ? longest <= round
         : nnz <= mbi_scan_at_once(plan, 99) ? !plan->once && longest <= 64
                                             : 0;
}

/* Steps, threads and whether blocks take whole rows, where the plan leaves them open. */
static void mbi_scan_defaults(merbit_plan *plan) {
  const merbit_plan_desc *wish = &plan->desc;
  mbi_scan_schedule *s = &plan->scan;
  const uint64_t nnz = plan->device.nnz;
  const uint64_t processors = (uint64_t)plan->context->device.multiprocessors;
  const int single = plan->type == MERBIT_F32;
  /* 12 steps would spill in f64 with alpha and beta in GPU memory, and from compute capability
   * 10.0 on, where addresses take more registers. */
  const int roomy = single || (wish->scalar_memory != MERBIT_MEMORY_DEVICE &&
                               plan->context->device.compute_capability < 100);
  const int most = roomy ? 12 : 8;
  const int once = nnz <= mbi_scan_at_once(plan, most);
  int threads = once ? 1024 : 512;
  int steps = nnz <= mbi_scan_at_once(plan, 8) ? 8 : once ? 12 : single ? 8 : 4;
  s->pack = single && !plan->once ? 2 : mbi_scan_widest(plan->type);
  s->steps = wish->sigma != 0 ? wish->sigma : steps;
  s->threads = wish->block_threads != 0 ? wish->block_threads : threads;
  s->whole =
      nnz > 0 && (wish->omega == 2 ||
                  (wish->omega == 0 && s->threads >= 64 &&
                   mbi_scan_suits_whole(plan, (uint64_t)s->threads * (uint64_t)s->steps)));
  if (!s->whole) {
    const int wide = s->pack == mbi_scan_widest(plan->type);
    if (nnz < processors * 16384) { /* short tiles in small blocks, for latency */
      steps = 4;
      threads = 128;
    } else if (nnz < processors * 49152) {
      steps = 8;
      threads = 256;
    } else { /* much in flight in each lane, as far as registers go */
      steps = !wide ? 16 : single ? 12 : 8;
      threads = wide ? 512 : 256;
    }
    s->steps = wish->sigma != 0 ? wish->sigma : steps;
    s->threads = wish->block_threads != 0 ? wish->block_threads : threads;
  }
}

/* Sizes of the specialisation; needs plan->ranks. */
static merbit_status mbi_scan_size(merbit_plan *plan) {
  mbi_scan_schedule *s = &plan->scan;
  merbit_context *context = plan->context;
  uint64_t tile, warps;
  mbi_scan_defaults(plan);
  if (s->steps < 1 || s->steps > 32 || s->steps % s->pack != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.sigma is %d; the scan takes multiples of %d up to 32", s->steps,
                    s->pack);
  }
  if (s->threads < 32 || s->threads > 1024 || s->threads % 32 != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.block_threads is %d; use a multiple of 32 up to 1024",
                    s->threads);
  }
  if (plan->desc.omega < 0 || plan->desc.omega > 2 || (s->whole && s->threads < 64)) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.omega is %d and block_threads %d; the scan takes omega 1 for rows "
        "that cross blocks, 2 for whole rows in blocks of at least 64 threads",
        plan->desc.omega, s->threads);
  }
  tile = 32 * (uint64_t)s->steps;
  s->tiles = (plan->device.nnz + tile - 1) / tile;
  if (s->tiles > (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " nonzeros make %" PRIu64 " tiles; raise plan_desc.sigma",
                    plan->device.nnz, s->tiles);
  }
  s->resident = mbi_scan_resident(plan);
  warps = (uint64_t)s->threads / 32 - (s->whole ? 1 : 0); /* one is for the overhang */
  s->blocks = (s->tiles + warps - 1) / warps;
  mbi_scan_size_rows(plan);
  return MERBIT_OK;
}

/* Of one block that takes whole rows: what its warps tell each other, twice, and the old y. */
static unsigned mbi_scan_whole_shared(const merbit_plan *plan, int adds) {
  const unsigned size = (unsigned)mbi_type_size(plan->type);
  const unsigned threads = (unsigned)plan->scan.threads;
  return threads / 32 * 2 * (2 * size + (unsigned)sizeof(uint32_t)) +
         (adds ? threads * size : 0);
}

/* ==== >>spmv/scan.c  CUDA: tiles of nonzeros, segmented sums by shuffles ================== */
/* ---- Specialise: the kernels of one program -----------------------------------------------
 */

static void mbi_scan_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_scan_schedule *s = &plan->scan;
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_BLOCKS", s->resident);
  mbi_preamble_define_int(preamble, "MBK_STEPS", s->steps);
  mbi_preamble_define_int(preamble, "MBK_PACK", s->pack);
  mbi_preamble_define_int(preamble, "MBK_DEPTH", s->depth);
  mbi_preamble_define_int(preamble, "MBK_EMPTY_ROWS", s->empty_rows > 0);
  mbi_preamble_define_int(preamble, "MBK_ALIGNED", mbi_scan_aligned(plan));
  mbi_preamble_define_int(preamble, "MBK_ONCE", plan->once);
  mbi_preamble_define_int(preamble, "MBK_THREADS", s->threads);
}

/* The kernels of tiles whose rows cross them, from the plan's program. */
static merbit_status mbi_scan_kernels(merbit_plan *plan) {
  mbi_scan_schedule *s = &plan->scan;
  merbit_status status =
      mbi_program_kernel(plan->context, &plan->program, "mbk_scan_build", &s->build);
  return status != MERBIT_OK
             ? status
             : mbi_program_kernel(plan->context, &plan->program, "mbk_scan_fixup", &s->fixup);
}

static merbit_status mbi_scan_specialise(merbit_plan *plan) {
  merbit_context *context = plan->context;
  mbi_scan_schedule *s = &plan->scan;
  mbi_preamble preamble;
  merbit_status status;
  mbi_scan_preamble(plan, &preamble);
  status = mbi_program_create(context, s->whole ? "spmv/scan_whole.cu" : "spmv/scan.cu",
                              &preamble, &plan->program);
  if (status == MERBIT_OK && s->whole) {
    status = mbi_program_kernel(context, &plan->program, "mbk_scan_build", &s->build);
    if (status == MERBIT_OK) {
      status = mbi_program_kernel(context, &plan->program, "mbk_scan_cut", &s->cut);
    }
  } else if (status == MERBIT_OK) {
    status = mbi_scan_kernels(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(context, &plan->program,
                                s->whole ? "mbk_scan_whole" : "mbk_scan_product", &s->product);
  }
  return status != MERBIT_OK
             ? status
             : mbi_program_kernel(context, &plan->program,
                                  s->whole ? "mbk_scan_whole_sum" : "mbk_scan_sum", &s->sum);
}

/* ---- Launch: build the schedule once, then products -------------------------------------- */

static merbit_status mbi_scan_build(merbit_plan *plan) {
  mbi_scan_schedule *s = &plan->scan;
  const int64_t block_tiles = MBI_SCAN_BUILD_THREADS / 32;
  uint32_t ranks = (uint32_t)plan->ranks.count;
  void *arguments[6];
  merbit_status status;
  if (s->tiles == 0) {
    return MERBIT_OK;
  }
  arguments[0] = &plan->ranks.row_start;
  arguments[1] = &ranks;
  arguments[2] = &plan->device.nnz;
  arguments[3] = &s->tiles;
  arguments[4] = &s->row_ends;
  arguments[5] = &s->tile_row;
  status = mbi_device_launch(
      plan->context, s->build, "mbk_scan_build",
      ((int64_t)s->tiles + block_tiles - 1) / block_tiles, MBI_SCAN_BUILD_THREADS,
      (unsigned)(MBI_SCAN_BUILD_THREADS / 32 * (size_t)s->steps * sizeof(uint32_t)), NULL,
      arguments);
  return status == MERBIT_OK ? mbi_device_synchronize(plan->context, NULL) : status;
}

/* plan->ranks, listed where some rows are empty. */
static merbit_status mbi_scan_rank(merbit_plan *plan) {
  merbit_status status;
  if (plan->device.rows >= UINT32_MAX) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "tiles of nonzeros take fewer than 2^32 - 1 rows, not %" PRIu64,
                    plan->device.rows);
  }
  status = mbi_ranks_need(plan);
  if (status == MERBIT_OK && plan->ranks.count < plan->device.rows && plan->ranks.row_id == 0) {
    status = mbi_ranks_compact(plan->context, &plan->device, &plan->ranks);
  }
  return status;
}

/* row_ends and tile_row, made and counted; needs the kernels. */
static merbit_status mbi_scan_schedule_create(merbit_plan *plan) {
  mbi_scan_schedule *s = &plan->scan;
  const uint64_t words = s->tiles * (uint64_t)s->steps * sizeof(uint32_t);
  const uint64_t tile_rows = (s->tiles + 1) * sizeof(uint32_t);
  merbit_status status = mbi_device_allocate(plan->context, words, "row ends", &s->row_ends);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(plan->context, tile_rows, "rows of tiles", &s->tile_row);
  }
  if (status == MERBIT_OK) {
    plan->schedule_bytes = words + tile_rows + plan->ranks.bytes;
    plan->stream_bytes = words + 2 * tile_rows + 4 * s->tiles * mbi_type_size(plan->type) +
                         (s->empty_rows > 0 ? plan->device.rows * sizeof(uint32_t) : 0);
    status = mbi_scan_build(plan);
  }
  return status;
}

/* block_start, after the schedule. */
static merbit_status mbi_scan_cut(merbit_plan *plan) {
  mbi_scan_schedule *s = &plan->scan;
  const uint64_t bytes = (s->blocks + 1) * sizeof(uint64_t);
  void *arguments[6];
  merbit_status status =
      mbi_device_allocate(plan->context, bytes, "starts of blocks", &s->block_start);
  plan->schedule_bytes += bytes;
  plan->stream_bytes += bytes;
  arguments[0] = &plan->ranks.row_start;
  arguments[1] = &s->tile_row;
  arguments[2] = &plan->device.nnz;
  arguments[3] = &s->tiles;
  arguments[4] = &s->blocks;
  arguments[5] = &s->block_start;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(plan->context, s->cut, "mbk_scan_cut",
                               (int64_t)s->blocks / MBI_SCAN_BUILD_THREADS + 1,
                               MBI_SCAN_BUILD_THREADS, 0, NULL, arguments);
  }
  return status == MERBIT_OK ? mbi_device_synchronize(plan->context, NULL) : status;
}

/* Everything for the matrix in plan->device. After a failure mbi_scan_destroy cleans up. */
static merbit_status mbi_scan_create(merbit_plan *plan) {
  merbit_status status = mbi_scan_rank(plan);
  if (status == MERBIT_OK) {
    status = mbi_scan_size(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_scan_specialise(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_scan_schedule_create(plan);
    plan->stream_bytes += mbi_device_csr_stream_bytes(plan);
  }
  return status == MERBIT_OK && plan->scan.whole ? mbi_scan_cut(plan) : status;
}

static void mbi_scan_destroy(merbit_plan *plan) {
  mbi_scan_schedule *s = &plan->scan;
  mbi_device_release(plan->context, s->row_ends);
  mbi_device_release(plan->context, s->tile_row);
  mbi_device_release(plan->context, s->block_start);
  mbi_program_destroy(plan->context, &plan->program);
}

/* Bytes of the carries of one product in flight: firsts and tails. */
static uint64_t mbi_scan_carry_bytes(const merbit_plan *plan) {
  return plan->scan.whole ? 0 : 2 * plan->scan.tiles * mbi_type_size(plan->type);
}

/* After a product over all tiles: rows that cross tiles, and empty ones. */
static merbit_status mbi_scan_launch_fixup(merbit_plan *plan, mbi_devptr carries,
                                           const void *alpha, const void *beta, mbi_devptr y,
                                           void *stream, int early) {
  mbi_scan_schedule *s = &plan->scan;
  mbi_devptr tails = carries + s->tiles * mbi_type_size(plan->type);
  void *arguments[11];
  if (s->fixup_blocks == 0) {
    return MERBIT_OK;
  }
  arguments[0] = &plan->ranks.row_start;
  arguments[1] = &s->tile_row;
  arguments[2] = &plan->ranks.row_id;
  arguments[3] = &plan->ranks.empty_id;
  arguments[4] = &carries;
  arguments[5] = &tails;
  arguments[6] = &y;
  arguments[7] = &s->tiles;
  arguments[8] = &s->empty_rows;
  arguments[9] = (void *)(uintptr_t)alpha;
  arguments[10] = (void *)(uintptr_t)beta;
  return mbi_device_launch_some(
      plan->context, s->fixup, "mbk_scan_fixup", (int64_t)s->fixup_blocks,
      MBI_SCAN_FIXUP_THREADS,
      (unsigned)(MBI_SCAN_FIXUP_THREADS / 32 * (mbi_type_size(plan->type) + sizeof(uint32_t))),
      stream, arguments, early);
}

/* Whether the old y is wanted, for all that the host knows of beta, a kernel's argument. */
static int mbi_scan_adds(const merbit_plan *plan, const void *beta) {
  return plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE ? *(const void *const *)beta != NULL
         : plan->type == MERBIT_F32                       ? *(const float *)beta != 0.0f
                                                          : *(const double *)beta != 0.0;
}

static merbit_status mbi_scan_launch_whole(merbit_plan *plan, const void *alpha, mbi_devptr x,
                                           const void *beta, mbi_devptr y, void *stream) {
  mbi_scan_schedule *s = &plan->scan;
  const int adds = mbi_scan_adds(plan, beta);
  void *arguments[14];
  arguments[0] = &s->row_ends;
  arguments[1] = &s->tile_row;
  arguments[2] = &plan->ranks.row_id;
  arguments[3] = &plan->ranks.empty_id;
  arguments[4] = &s->block_start;
  arguments[5] = &plan->device.col_ind;
  arguments[6] = &plan->device.values;
  arguments[7] = &x;
  arguments[8] = &y;
  arguments[9] = &plan->device.nnz;
  arguments[10] = &s->tiles;
  arguments[11] = &s->empty_rows;
  arguments[12] = (void *)(uintptr_t)alpha;
  arguments[13] = (void *)(uintptr_t)beta;
  return mbi_device_launch_early(
      plan->context, adds ? s->sum : s->product, adds ? "mbk_scan_whole_sum" : "mbk_scan_whole",
      (int64_t)s->blocks, s->threads, mbi_scan_whole_shared(plan, adds), stream, arguments);
}

static merbit_status mbi_scan_multiply(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                                       mbi_devptr x, const void *beta, mbi_devptr y,
                                       void *stream) {
  mbi_scan_schedule *s = &plan->scan;
  const unsigned size = (unsigned)mbi_type_size(plan->type);
  const int adds = mbi_scan_adds(plan, beta);
  mbi_devptr tails = carries + s->tiles * size;
  void *arguments[13];
  merbit_status status = MERBIT_OK;
  if (s->whole) {
    return mbi_scan_launch_whole(plan, alpha, x, beta, y, stream);
  }
  arguments[0] = &s->row_ends;
  arguments[1] = &s->tile_row;
  arguments[2] = &plan->ranks.row_id;
  arguments[3] = &plan->device.col_ind;
  arguments[4] = &plan->device.values;
  arguments[5] = &x;
  arguments[6] = &y;
  arguments[7] = &carries;
  arguments[8] = &tails;
  arguments[9] = &plan->device.nnz;
  arguments[10] = &s->tiles;
  arguments[11] = (void *)(uintptr_t)alpha;
  arguments[12] = (void *)(uintptr_t)beta;
  if (s->blocks > 0) {
    status = mbi_device_launch_early(plan->context, adds ? s->sum : s->product,
                                     adds ? "mbk_scan_sum" : "mbk_scan_product",
                                     (int64_t)s->blocks, s->threads,
                                     adds ? (unsigned)s->threads * size : 0, stream, arguments);
  }
  return status == MERBIT_OK ? mbi_scan_launch_fixup(plan, carries, alpha, beta, y, stream, 1)
                             : status;
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_scan_info(const merbit_plan *plan, merbit_plan_info *info) {
  const mbi_scan_schedule *s = &plan->scan;
  info->sigma = s->steps;
  info->omega = 32;
  info->block_threads = s->threads;
  info->tiles = (int64_t)s->tiles;
}

static int mbi_scan_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_scan_schedule *s = &plan->scan;
  return snprintf(
      text, size,
      "%" PRIu64 " tiles of 32 x %d, scan depth %d, %" PRIu64 " empty rows, %d threads%s%s",
      s->tiles, s->steps, s->depth, s->empty_rows, s->threads,
      s->whole ? " with whole rows" : "", plan->once ? ", matrix past the caches" : "");
}

static const mbi_cuda_method mbi_scan_method = {mbi_scan_create,
                                                mbi_scan_destroy,
                                                mbi_scan_carry_bytes,
                                                mbi_scan_multiply,
                                                mbi_scan_info,
                                                mbi_scan_describe,
                                                NULL};

/* ==== >>spmv/binned_sizes.c  how the binned product cuts a matrix, and its program ======== */
/* ---- Encode: strips and parts ------------------------------------------------------------ */

#define MBI_BINNED_BUILD_THREADS 512
#define MBI_BINNED_STEPS 8
#define MBI_BINNED_ROOM 229376u /* bytes of shared memory that wide strips and parts need */
#define MBI_BINNED_ITEM 4096u   /* groups of an item of phase 1: they pay for its strip of x */

static uint64_t mbi_binned_group(const merbit_plan *plan) {
  return 32 / mbi_type_size(plan->type);
}

/* Strips, parts and threads where the plan leaves them open. Two blocks to a multiprocessor
 * hide each other's waits; one with twice the strip and part makes longer runs, where those
 * would be mostly padding. A GPU whose blocks have little shared memory gets half of it. */
static void mbi_binned_defaults(merbit_plan *plan) {
  mbi_binned *b = &plan->binned;
  const uint64_t room = (uint64_t)plan->context->device.shared_bytes_per_block;
  const int little = room < MBI_BINNED_ROOM;
  const uint64_t size = mbi_type_size(plan->type), part = 65536 / size;
  const uint64_t strip = little ? room / 2 / size / 1024 * 1024 : 98304 / size;
  const uint64_t strips = strip > 0 ? (plan->device.cols + strip - 1) / strip : 0;
  const int wide =
      !little && strips * (plan->device.nnz / part + 1) > plan->device.nnz / (128 / size);
  b->strip = plan->desc.sigma != 0 ? (uint64_t)plan->desc.sigma * 1024
             : wide                ? 2 * strip
                                   : strip;
  b->warp_tiles = plan->desc.omega != 0 ? plan->desc.omega : (int)(16 / size);
  plan->scan.pack = mbi_scan_widest(plan->type);
  plan->scan.threads = plan->desc.block_threads != 0 ? plan->desc.block_threads
                       : wide                        ? 1024
                       : little                      ? 256
                                                     : 512;
}

/* Shared memory: a strip of x for phase 1. */
static uint64_t mbi_binned_multiply_shared(const merbit_plan *plan) {
  return plan->binned.strip * mbi_type_size(plan->type);
}

/* And the sums of a tile for each warp and the groups of a part, for phase 2. */
static uint64_t mbi_binned_sum_shared(const merbit_plan *plan, uint64_t groups) {
  return (uint64_t)(plan->scan.threads * plan->scan.steps) * mbi_type_size(plan->type) +
         groups * 32;
}

/* Sizes of the specialisation; needs plan->ranks. */
static merbit_status mbi_binned_size(merbit_plan *plan) {
  mbi_binned *b = &plan->binned;
  mbi_scan_schedule *s = &plan->scan;
  merbit_context *context = plan->context;
  const uint64_t room = (uint64_t)context->device.shared_bytes_per_block;
  uint64_t full; /* bytes of a part without padding */
  mbi_binned_defaults(plan);
  if (b->strip < 1024 || b->strip > 65536 || b->warp_tiles < 1 || b->warp_tiles > 8 ||
      s->threads < 32 || s->threads > 1024 || s->threads % 32 != 0) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.sigma is %d, omega %d and block_threads %d; use 1 to 64, 1 to 8, and "
        "a multiple of 32 up to 1024",
        plan->desc.sigma, plan->desc.omega, plan->desc.block_threads);
  }
  s->steps = MBI_BINNED_STEPS;
  s->tiles = (plan->device.nnz + 32 * MBI_BINNED_STEPS - 1) / (32 * MBI_BINNED_STEPS);
  b->part_nonzeros = (uint64_t)(b->warp_tiles * s->threads) * MBI_BINNED_STEPS;
  full = mbi_binned_sum_shared(plan, b->part_nonzeros / mbi_binned_group(plan));
  s->resident = s->threads > 512 || 2 * full > room ? 1 : 2;
  b->strips = (plan->device.cols + b->strip - 1) / b->strip;
  b->parts = (plan->device.nnz + b->part_nonzeros - 1) / b->part_nonzeros;
  if (s->tiles > (uint64_t)INT32_MAX || b->strips * 12 > room) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " strips of columns and %" PRIu64
                    " parts are too many; use another plan_desc.method",
                    b->strips, b->parts);
  }
  if (mbi_binned_multiply_shared(plan) > room) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "a strip of %" PRIu64 " columns takes %" PRIu64
                    " bytes of shared memory, of which there are %" PRIu64
                    "; lower plan_desc.sigma",
                    b->strip, mbi_binned_multiply_shared(plan), room);
  }
  mbi_scan_size_rows(plan);
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

static void mbi_binned_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  mbi_scan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_STRIP", (int)plan->binned.strip);
  mbi_preamble_define_int(preamble, "MBK_WARP_TILES", plan->binned.warp_tiles);
}

static merbit_status mbi_binned_specialise(merbit_plan *plan) {
  static const char *const names[6] = {"mbk_binned_count",    "mbk_binned_total",
                                       "mbk_binned_offsets",  "mbk_binned_fill",
                                       "mbk_binned_multiply", "mbk_binned_sum"};
  mbi_preamble preamble;
  merbit_status status;
  int i;
  mbi_binned_preamble(plan, &preamble);
  status = mbi_program_create(plan->context, "spmv/binned.cu", &preamble, &plan->program);
  if (status == MERBIT_OK) {
    status = mbi_scan_kernels(plan);
  }
  for (i = 0; i < 6 && status == MERBIT_OK; i++) {
    status =
        mbi_program_kernel(plan->context, &plan->program, names[i], &plan->binned.kernels[i]);
  }
  return status;
}

/* ==== >>spmv/binned.c  CUDA: products by strips of columns, sums by parts of rows ========= */
/* ---- Build: count, place, fill ----------------------------------------------------------- */

/* Build kernel `which`. */
static merbit_status mbi_binned_launch(merbit_plan *plan, int which, const char *name,
                                       uint64_t blocks, uint64_t shared, void **arguments) {
  void *kernel = plan->binned.kernels[which];
  merbit_status status =
      mbi_device_reserve_shared(plan->context, kernel, name, (unsigned)shared);
  return status != MERBIT_OK
             ? status
             : mbi_device_launch(plan->context, kernel, name, (int64_t)blocks,
                                 MBI_BINNED_BUILD_THREADS, (unsigned)shared, NULL, arguments);
}

/* An array of the host, on the GPU. */
static merbit_status mbi_binned_send(merbit_plan *plan, const uint32_t *array, uint64_t count,
                                     const char *what, mbi_devptr *target) {
  merbit_status status =
      mbi_device_allocate(plan->context, count * sizeof(uint32_t), what, target);
  return status == MERBIT_OK ? mbi_device_upload(plan->context, *target, array,
                                                 (size_t)count * sizeof(uint32_t))
                             : status;
}

/* part_start, from the groups of the parts. */
static merbit_status mbi_binned_place_parts(merbit_plan *plan, uint32_t *groups) {
  mbi_binned *b = &plan->binned;
  const uint64_t most = (uint64_t)plan->context->device.shared_bytes_per_block;
  uint64_t part;
  for (part = 0; part < b->parts; part++) {
    const uint32_t own = groups[part];
    b->part_groups = own > b->part_groups ? own : b->part_groups;
    groups[part] = (uint32_t)b->groups;
    b->groups += own;
  }
  groups[b->parts] = (uint32_t)b->groups;
  if (b->groups > UINT32_MAX || b->part_groups * mbi_binned_group(plan) > 65536 ||
      mbi_binned_sum_shared(plan, b->part_groups) > most) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " groups of products, %" PRIu64
                    " of them in one part, are too many; lower plan_desc.omega or use another "
                    "plan_desc.method",
                    b->groups, b->part_groups);
  }
  return mbi_binned_send(plan, groups, b->parts + 1, "starts of parts", &b->part_start);
}

/* The items of phase 1, from the groups of the strips, which become their first groups. */
static merbit_status mbi_binned_place_strips(merbit_plan *plan, uint32_t *groups,
                                             uint32_t *items) {
  mbi_binned *b = &plan->binned;
  uint64_t strip, sum = 0;
  for (strip = 0; strip < b->strips; strip++) {
    uint64_t left = groups[strip];
    groups[strip] = (uint32_t)sum;
    while (left > 0) {
      const uint64_t own = left < MBI_BINNED_ITEM ? left : MBI_BINNED_ITEM;
      uint32_t *const item = items + 3 * b->items++;
      item[0] = (uint32_t)strip;
      item[1] = (uint32_t)sum;
      sum += own;
      item[2] = (uint32_t)sum;
      left -= own;
    }
  }
  return mbi_binned_send(plan, items, 3 * b->items, "items", &b->item_list);
}

/* Runs counted, then placed in the order of phase 1. `groups` and `host` have room for a word
 * of each strip and for one of each part and one more, `host` for the items too. */
static merbit_status mbi_binned_place(merbit_plan *plan, mbi_devptr groups, uint32_t *host) {
  mbi_binned *b = &plan->binned;
  merbit_context *context = plan->context;
  const uint64_t blocks =
      (b->strips * 32 + MBI_BINNED_BUILD_THREADS - 1) / MBI_BINNED_BUILD_THREADS;
  uint32_t strips = (uint32_t)b->strips;
  void *arguments[5];
  merbit_status status;
  arguments[0] = &plan->device.col_ind;
  arguments[1] = &plan->device.nnz;
  arguments[2] = &strips;
  arguments[3] = &b->runs;
  arguments[4] = &groups;
  status = mbi_binned_launch(plan, 0, "mbk_binned_count", b->parts,
                             (b->strips + 1) * sizeof(uint32_t), arguments);
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, host, groups, b->parts * sizeof(uint32_t));
  }
  if (status == MERBIT_OK) {
    status = mbi_binned_place_parts(plan, host);
  }
  arguments[0] = &b->runs;
  arguments[1] = &strips;
  arguments[2] = &b->parts;
  arguments[3] = &groups;
  if (status == MERBIT_OK) {
    status = mbi_binned_launch(plan, 1, "mbk_binned_total", blocks, 0, arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, host, groups, b->strips * sizeof(uint32_t));
  }
  if (status == MERBIT_OK) {
    status = mbi_binned_place_strips(plan, host, host + b->strips);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_upload(context, groups, host, b->strips * sizeof(uint32_t));
  }
  return status == MERBIT_OK
             ? mbi_binned_launch(plan, 2, "mbk_binned_offsets", blocks, 0, arguments)
             : status;
}

/* Memory for the runs and their order. */
static merbit_status mbi_binned_order(merbit_plan *plan) {
  mbi_binned *b = &plan->binned;
  merbit_context *context = plan->context;
  const uint64_t words = b->strips > b->parts + 1 ? b->strips : b->parts + 1;
  /* One item a strip and one for each full one, whose groups hold a nonzero each. */
  const uint64_t items = b->strips + plan->device.nnz / MBI_BINNED_ITEM;
  mbi_devptr groups = 0;
  void *host = NULL;
  merbit_status status =
      mbi_device_allocate(context, b->strips * b->parts * sizeof(uint32_t), "runs", &b->runs);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, words * sizeof(uint32_t), "groups of runs", &groups);
  }
  if (status == MERBIT_OK) {
    status = mbi_allocate_array(context, (int64_t)(words + 3 * items), sizeof(uint32_t),
                                "the items of a plan", &host);
  }
  if (status == MERBIT_OK) {
    status = mbi_binned_place(plan, groups, (uint32_t *)host);
  }
  mbi_device_release(context, groups);
  mbi_release(context, host);
  return status;
}

/* What the plan holds of the matrix; with `again` only its values. */
static merbit_status mbi_binned_fill(merbit_plan *plan, uint32_t again) {
  mbi_binned *b = &plan->binned;
  uint32_t strips = (uint32_t)b->strips;
  void *arguments[11];
  merbit_status status;
  arguments[0] = &plan->device.col_ind;
  arguments[1] = &plan->device.values;
  arguments[2] = &plan->device.nnz;
  arguments[3] = &strips;
  arguments[4] = &b->runs;
  arguments[5] = &b->part_start;
  arguments[6] = &b->strip_col;
  arguments[7] = &b->values;
  arguments[8] = &b->target;
  arguments[9] = &b->places;
  arguments[10] = &again;
  status = mbi_binned_launch(plan, 3, "mbk_binned_fill", b->parts,
                             3 * b->strips * sizeof(uint32_t), arguments);
  return status == MERBIT_OK ? mbi_device_synchronize(plan->context, NULL) : status;
}

static merbit_status mbi_binned_refresh(merbit_plan *plan) {
  return mbi_binned_fill(plan, 1);
}

/* The matrix in strips, once its order is known. */
static merbit_status mbi_binned_store(merbit_plan *plan) {
  mbi_binned *b = &plan->binned;
  merbit_context *context = plan->context;
  const uint64_t size = mbi_type_size(plan->type), slots = b->groups * mbi_binned_group(plan);
  const uint64_t value_bytes = mbi_value_bytes(plan);
  const uint64_t places = plan->scan.tiles * 32 * MBI_BINNED_STEPS * sizeof(uint16_t);
  const uint64_t last = 32 * MBI_BINNED_STEPS * sizeof(uint16_t);
  merbit_status status = mbi_device_allocate(context, slots * sizeof(uint16_t),
                                             "columns in strips", &b->strip_col);
  if (status == MERBIT_OK && value_bytes > 0) {
    status = mbi_device_allocate(context, slots * value_bytes, "values in strips", &b->values);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, b->groups * sizeof(uint32_t), "targets", &b->target);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, places, "places", &b->places);
  }
  if (status == MERBIT_OK) { /* the last tile's are loaded, even those of no nonzero */
    status = mbi_device_zero(context, b->places + places - last, (size_t)last, NULL);
  }
  if (status == MERBIT_OK) {
    const uint64_t streams =
        slots * (sizeof(uint16_t) + value_bytes) + b->groups * sizeof(uint32_t) + places;
    plan->schedule_bytes += streams + b->strips * b->parts * sizeof(uint32_t);
    plan->stream_bytes += streams + 2 * slots * size;
    status = mbi_binned_fill(plan, 0);
  }
  return status;
}

static merbit_status mbi_binned_create(merbit_plan *plan) {
  mbi_binned *b = &plan->binned;
  merbit_context *context = plan->context;
  merbit_status status = mbi_scan_rank(plan);
  if (status == MERBIT_OK) {
    status = mbi_binned_size(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_binned_specialise(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_scan_schedule_create(plan);
  }
  if (status != MERBIT_OK || b->parts == 0) {
    return status;
  }
  status = mbi_binned_order(plan);
  if (status == MERBIT_OK) {
    status = mbi_binned_store(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_reserve_shared(context, b->kernels[4], "mbk_binned_multiply",
                                       (unsigned)mbi_binned_multiply_shared(plan));
  }
  return status == MERBIT_OK
             ? mbi_device_reserve_shared(context, b->kernels[5], "mbk_binned_sum",
                                         (unsigned)mbi_binned_sum_shared(plan, b->part_groups))
             : status;
}

static void mbi_binned_destroy(merbit_plan *plan) {
  mbi_binned *b = &plan->binned;
  mbi_device_release(plan->context, b->runs);
  mbi_device_release(plan->context, b->part_start);
  mbi_device_release(plan->context, b->item_list);
  mbi_device_release(plan->context, b->strip_col);
  mbi_device_release(plan->context, b->values);
  mbi_device_release(plan->context, b->target);
  mbi_device_release(plan->context, b->places);
  mbi_scan_destroy(plan);
}

/* ---- Launch ------------------------------------------------------------------------------ */

/* The carries of the tiles, then the products from a multiple of 32 bytes on. */
static uint64_t mbi_binned_carry_bytes(const merbit_plan *plan) {
  return mbi_scan_carry_bytes(plan) + 32 + plan->binned.groups * 32;
}

static merbit_status mbi_binned_multiply(merbit_plan *plan, mbi_devptr carries,
                                         const void *alpha, mbi_devptr x, const void *beta,
                                         mbi_devptr y, void *stream) {
  mbi_binned *b = &plan->binned;
  mbi_scan_schedule *s = &plan->scan;
  mbi_devptr tails = carries + s->tiles * mbi_type_size(plan->type);
  mbi_devptr products = (carries + mbi_scan_carry_bytes(plan) + 31) / 32 * 32;
  /* In f64 they are up to 6% slower where their launches overlap (H200). */
  const int early = plan->type == MERBIT_F32;
  void *arguments[13];
  merbit_status status;
  if (b->parts == 0) {
    return mbi_scan_launch_fixup(plan, carries, alpha, beta, y, stream, early);
  }
  arguments[0] = &b->item_list;
  arguments[1] = &b->strip_col;
  arguments[2] = b->values != 0 ? &b->values : &plan->device.values;
  arguments[3] = &b->target;
  arguments[4] = &x;
  arguments[5] = &plan->device.cols;
  arguments[6] = &products;
  arguments[7] = (void *)(uintptr_t)alpha;
  arguments[8] = (void *)(uintptr_t)beta;
  status = mbi_device_launch_some(
      plan->context, b->kernels[4], "mbk_binned_multiply", (int64_t)b->items, s->threads,
      (unsigned)mbi_binned_multiply_shared(plan), stream, arguments, early);
  if (status != MERBIT_OK) {
    return status;
  }
  arguments[0] = &b->part_start;
  arguments[1] = &products;
  arguments[2] = &b->places;
  arguments[3] = &s->row_ends;
  arguments[4] = &s->tile_row;
  arguments[5] = &plan->ranks.row_id;
  arguments[6] = &y;
  arguments[7] = &carries;
  arguments[8] = &tails;
  arguments[9] = &plan->device.nnz;
  arguments[10] = &s->tiles;
  arguments[11] = (void *)(uintptr_t)alpha;
  arguments[12] = (void *)(uintptr_t)beta;
  status = mbi_device_launch_some(
      plan->context, b->kernels[5], "mbk_binned_sum", (int64_t)b->parts, s->threads,
      (unsigned)mbi_binned_sum_shared(plan, b->part_groups), stream, arguments, early);
  return status == MERBIT_OK
             ? mbi_scan_launch_fixup(plan, carries, alpha, beta, y, stream, early)
             : status;
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_binned_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->sigma = (int)(plan->binned.strip / 1024);
  info->omega = plan->binned.warp_tiles;
  info->block_threads = plan->scan.threads;
  info->tiles = (int64_t)plan->scan.tiles;
}

static int mbi_binned_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_binned *b = &plan->binned;
  const uint64_t slots = b->groups * mbi_binned_group(plan);
  return snprintf(text, size,
                  "%" PRIu64 " strips of %" PRIu64 " columns, %" PRIu64 " parts of %" PRIu64
                  " nonzeros, %.1f%% of the slots filled, %d threads",
                  b->strips, b->strip, b->parts, b->part_nonzeros,
                  slots > 0 ? 100.0 * (double)plan->device.nnz / (double)slots : 100.0,
                  plan->scan.threads);
}

static const mbi_cuda_method mbi_binned_method = {
    mbi_binned_create, mbi_binned_destroy,  mbi_binned_carry_bytes, mbi_binned_multiply,
    mbi_binned_info,   mbi_binned_describe, mbi_binned_refresh};

/* ==== >>spmv/hubs.c  CUDA: the scan, with the fullest columns in shared memory ============ */
/* ---- Encode: room for hubs, tiles -------------------------------------------------------- */

#define MBI_HUBS_THREADS 1024
#define MBI_HUBS_ROOM 160 /* kilobytes of x in shared memory; the rest of it is L1 */

static uint64_t mbi_hubs_room(const merbit_plan *plan) {
  const uint64_t bytes =
      1024 * (uint64_t)(plan->desc.omega != 0 ? plan->desc.omega : MBI_HUBS_ROOM);
  const uint64_t most = (uint64_t)plan->context->device.shared_bytes_per_block;
  const uint64_t old = (uint64_t)MBI_HUBS_THREADS * mbi_type_size(plan->type);
  const uint64_t room = bytes + old <= most ? bytes : most > old ? most - old : 0;
  return room / mbi_type_size(plan->type);
}

/* Sizes of the specialisation; needs plan->ranks. */
static merbit_status mbi_hubs_size(merbit_plan *plan) {
  mbi_hubs *h = &plan->hubs;
  mbi_scan_schedule *s = &plan->scan;
  merbit_context *context = plan->context;
  s->pack = mbi_scan_widest(plan->type);
  s->steps = plan->desc.sigma != 0 ? plan->desc.sigma : plan->type == MERBIT_F32 ? 12 : 8;
  s->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : MBI_HUBS_THREADS;
  s->resident = 1;
  h->room = mbi_hubs_room(plan);
  if (plan->desc.omega < 0 || plan->desc.omega > 224 || s->steps < 1 || s->steps > 32 ||
      s->steps % s->pack != 0 || s->threads < 32 || s->threads > MBI_HUBS_THREADS ||
      s->threads % 32 != 0) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.sigma is %d, omega %d and block_threads %d; use a multiple of %d "
        "up to 32, kilobytes of hubs up to 224, and a multiple of 32 up to %d",
        plan->desc.sigma, plan->desc.omega, plan->desc.block_threads, s->pack,
        MBI_HUBS_THREADS);
  }
  s->tiles = (plan->device.nnz + 32 * (uint64_t)s->steps - 1) / (32 * (uint64_t)s->steps);
  if (s->tiles > (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " nonzeros make %" PRIu64 " tiles; raise plan_desc.sigma",
                    plan->device.nnz, s->tiles);
  }
  s->blocks = (s->tiles * 32 + (uint64_t)s->threads - 1) / (uint64_t)s->threads;
  if (s->blocks > (uint64_t)context->device.multiprocessors) {
    s->blocks = (uint64_t)context->device.multiprocessors;
  }
  mbi_scan_size_rows(plan);
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

static void mbi_hubs_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  mbi_scan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_HUBS", (int)plan->hubs.room);
}

static merbit_status mbi_hubs_specialise(merbit_plan *plan) {
  static const char *const names[4] = {"mbk_hubs_assign", "mbk_hubs_encode", "mbk_hubs_product",
                                       "mbk_hubs_sum"};
  mbi_preamble preamble;
  merbit_status status;
  int i;
  mbi_hubs_preamble(plan, &preamble);
  status = mbi_program_create(plan->context, "spmv/hubs.cu", &preamble, &plan->program);
  if (status == MERBIT_OK) {
    status = mbi_scan_kernels(plan);
  }
  for (i = 0; i < 4 && status == MERBIT_OK; i++) {
    status =
        mbi_program_kernel(plan->context, &plan->program, names[i], &plan->hubs.kernels[i]);
  }
  return status;
}

/* Bytes of shared memory of a product. */
static unsigned mbi_hubs_shared(const merbit_plan *plan, int adds) {
  const uint64_t count = plan->hubs.room + (adds ? (uint64_t)plan->scan.threads : 0);
  return (unsigned)(count * mbi_type_size(plan->type));
}

/* ---- Launch: codes, products ------------------------------------------------------------- */

static merbit_status mbi_hubs_encode(merbit_plan *plan) {
  mbi_hubs *h = &plan->hubs;
  merbit_context *context = plan->context;
  uint32_t least = plan->ranks.hub_least, room = (uint32_t)h->room, none = 0;
  mbi_devptr code = 0, taken = 0;
  void *arguments[7];
  merbit_status status = mbi_device_allocate(context, plan->device.cols * sizeof(int32_t),
                                             "codes of columns", &code);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, sizeof none, "the number of hubs", &taken);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_upload(context, taken, &none, sizeof none);
  }
  arguments[0] = &plan->ranks.column_counts;
  arguments[1] = &plan->device.cols;
  arguments[2] = &least;
  arguments[3] = &room;
  arguments[4] = &code;
  arguments[5] = &h->hub_col;
  arguments[6] = &taken;
  if (status == MERBIT_OK) {
    status =
        mbi_device_launch(context, h->kernels[0], "mbk_hubs_assign",
                          (int64_t)((plan->device.cols + 255) / 256), 256, 0, NULL, arguments);
  }
  arguments[0] = &plan->device.col_ind;
  arguments[1] = &plan->device.nnz;
  arguments[2] = &code;
  arguments[3] = &h->codes;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, h->kernels[1], "mbk_hubs_encode",
                               mbi_arrays_blocks((int64_t)plan->device.nnz), 256, 0, NULL,
                               arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, &h->count, taken, sizeof h->count);
    h->count = h->count < room ? h->count : room;
  }
  mbi_device_release(context, code);
  mbi_device_release(context, taken);
  return status;
}

static merbit_status mbi_hubs_create(merbit_plan *plan) {
  mbi_hubs *h = &plan->hubs;
  merbit_context *context = plan->context;
  const uint64_t codes = plan->device.nnz * sizeof(int32_t);
  merbit_status status = mbi_scan_rank(plan);
  if (status == MERBIT_OK) {
    status = mbi_hubs_size(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_ranks_columns(plan, h->room);
  }
  if (status == MERBIT_OK) {
    status = mbi_hubs_specialise(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_reserve_shared(context, h->kernels[2], "mbk_hubs_product",
                                       mbi_hubs_shared(plan, 0));
  }
  if (status == MERBIT_OK) {
    status = mbi_device_reserve_shared(context, h->kernels[3], "mbk_hubs_sum",
                                       mbi_hubs_shared(plan, 1));
  }
  if (status == MERBIT_OK) {
    status = mbi_scan_schedule_create(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, codes, "columns by codes", &h->codes);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, h->room * sizeof(uint32_t), "hubs", &h->hub_col);
  }
  if (status == MERBIT_OK && plan->device.nnz > 0) {
    status = mbi_hubs_encode(plan);
  }
  plan->schedule_bytes += codes + h->room * sizeof(uint32_t);
  plan->stream_bytes += mbi_device_csr_stream_bytes(plan);
  return status;
}

static void mbi_hubs_destroy(merbit_plan *plan) {
  mbi_device_release(plan->context, plan->hubs.codes);
  mbi_device_release(plan->context, plan->hubs.hub_col);
  mbi_scan_destroy(plan);
}

static merbit_status mbi_hubs_multiply(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                                       mbi_devptr x, const void *beta, mbi_devptr y,
                                       void *stream) {
  mbi_hubs *h = &plan->hubs;
  mbi_scan_schedule *s = &plan->scan;
  const int adds = mbi_scan_adds(plan, beta);
  mbi_devptr tails = carries + s->tiles * mbi_type_size(plan->type);
  void *arguments[15];
  merbit_status status = MERBIT_OK;
  arguments[0] = &s->row_ends;
  arguments[1] = &s->tile_row;
  arguments[2] = &plan->ranks.row_id;
  arguments[3] = &h->codes;
  arguments[4] = &plan->device.values;
  arguments[5] = &h->hub_col;
  arguments[6] = &h->count;
  arguments[7] = &x;
  arguments[8] = &y;
  arguments[9] = &carries;
  arguments[10] = &tails;
  arguments[11] = &plan->device.nnz;
  arguments[12] = &s->tiles;
  arguments[13] = (void *)(uintptr_t)alpha;
  arguments[14] = (void *)(uintptr_t)beta;
  if (s->blocks > 0) {
    status = mbi_device_launch_early(
        plan->context, h->kernels[adds ? 3 : 2], adds ? "mbk_hubs_sum" : "mbk_hubs_product",
        (int64_t)s->blocks, s->threads, mbi_hubs_shared(plan, adds), stream, arguments);
  }
  return status == MERBIT_OK ? mbi_scan_launch_fixup(plan, carries, alpha, beta, y, stream, 1)
                             : status;
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_hubs_info(const merbit_plan *plan, merbit_plan_info *info) {
  mbi_scan_info(plan, info);
  info->omega = (int)(plan->hubs.room * mbi_type_size(plan->type) / 1024);
}

static int mbi_hubs_describe(const merbit_plan *plan, char *text, size_t size) {
  return snprintf(text, size,
                  "%" PRIu64 " tiles of 32 x %d, %" PRIu32
                  " hubs with %.0f%% of the nonzeros in shared memory, %" PRIu64
                  " empty rows, %d threads",
                  plan->scan.tiles, plan->scan.steps, plan->hubs.count,
                  100.0 * plan->ranks.hub_share, plan->scan.empty_rows, plan->scan.threads);
}

static const mbi_cuda_method mbi_hubs_method = {mbi_hubs_create,
                                                mbi_hubs_destroy,
                                                mbi_scan_carry_bytes,
                                                mbi_hubs_multiply,
                                                mbi_hubs_info,
                                                mbi_hubs_describe,
                                                NULL};

/* ==== >>spmv/rows.c  CUDA: lanes per row ================================================== */
/* ---- Encode: lanes per row and loads in flight ------------------------------------------- */

/* Lanes so that one batch of loads takes a row of average length; in f64 of half of it, for a
 * lane's loads of a row lie in as many lines again. */
static merbit_status mbi_rows_size(merbit_plan *plan) {
  mbi_rows *r = &plan->rows;
  merbit_context *context = plan->context;
  const uint64_t rows = plan->device.rows > 0 ? plan->device.rows : 1;
  const uint64_t mean = (plan->device.nnz + rows - 1) / rows;
  uint64_t groups;
  r->lanes = plan->desc.omega;
  if (r->lanes == 0) {
    const int single = plan->type == MERBIT_F32;
    r->lanes = 1;
    while (r->lanes < 32 && (uint64_t)r->lanes * (single ? 8 : 4) < mean) {
      r->lanes *= 2;
    }
  }
  if (r->lanes < 1 || r->lanes > 32 || (r->lanes & (r->lanes - 1)) != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.omega is %d; lanes per row are a power of two up to 32",
                    r->lanes);
  }
  r->unroll = plan->desc.sigma;
  if (r->unroll == 0) {
    r->unroll = (int)(mean / (uint64_t)r->lanes) + 1;
    r->unroll = r->unroll > 8 ? 8 : r->unroll;
  }
  r->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : 256;
  if (r->unroll < 1 || r->unroll > 32 || r->threads < 32 || r->threads > 1024 ||
      r->threads % 32 != 0) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.sigma is %d and block_threads %d; use 1 to 32, and a multiple of 32 "
        "up to 1024",
        r->unroll, r->threads);
  }
  groups = (uint64_t)(r->threads / r->lanes);
  r->blocks = (plan->device.rows + groups - 1) / groups;
  if (r->blocks > (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " rows are too many for lanes per row", plan->device.rows);
  }
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

static void mbi_rows_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_rows *r = &plan->rows;
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_LANES", r->lanes);
  mbi_preamble_define_int(preamble, "MBK_UNROLL", r->unroll);
  mbi_preamble_define_int(preamble, "MBK_ONCE", plan->once);
  mbi_preamble_define_int(preamble, "MBK_THREADS", r->threads);
}

static merbit_status mbi_rows_create(merbit_plan *plan) {
  mbi_rows *r = &plan->rows;
  mbi_preamble preamble;
  merbit_status status = mbi_rows_size(plan);
  if (status != MERBIT_OK) {
    return status;
  }
  plan->stream_bytes =
      mbi_device_csr_stream_bytes(plan) +
      (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type);
  mbi_rows_preamble(plan, &preamble);
  status = mbi_program_create(plan->context, "spmv/rows.cu", &preamble, &plan->program);
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(plan->context, &plan->program, "mbk_rows_product", &r->product);
  }
  return status;
}

static void mbi_rows_destroy(merbit_plan *plan) {
  mbi_program_destroy(plan->context, &plan->program);
}

static uint64_t mbi_rows_carry_bytes(const merbit_plan *plan) {
  (void)plan;
  return 0;
}

/* ---- Launch ------------------------------------------------------------------------------ */

static merbit_status mbi_rows_multiply(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                                       mbi_devptr x, const void *beta, mbi_devptr y,
                                       void *stream) {
  mbi_rows *r = &plan->rows;
  void *arguments[8];
  (void)carries;
  if (r->blocks == 0) {
    return MERBIT_OK;
  }
  arguments[0] = &plan->device.row_ptr;
  arguments[1] = &plan->device.col_ind;
  arguments[2] = &plan->device.values;
  arguments[3] = &x;
  arguments[4] = &y;
  arguments[5] = &plan->device.rows;
  arguments[6] = (void *)(uintptr_t)alpha;
  arguments[7] = (void *)(uintptr_t)beta;
  return mbi_device_launch_early(plan->context, r->product, "mbk_rows_product",
                                 (int64_t)r->blocks, r->threads, 0, stream, arguments);
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_rows_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->sigma = plan->rows.unroll;
  info->omega = plan->rows.lanes;
  info->block_threads = plan->rows.threads;
}

static int mbi_rows_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_rows *r = &plan->rows;
  return snprintf(text, size, "%d lane%s a row, %d nonzeros in flight, %d threads", r->lanes,
                  r->lanes == 1 ? "" : "s", r->unroll, r->threads);
}

static const mbi_cuda_method mbi_rows_method = {mbi_rows_create,
                                                mbi_rows_destroy,
                                                mbi_rows_carry_bytes,
                                                mbi_rows_multiply,
                                                mbi_rows_info,
                                                mbi_rows_describe,
                                                NULL};

/* ==== >>spmv/bsr_sizes.c  CUDA: how blocks are cut into slots, groups and tiles =========== */
/* ---- Encode: from the shape of the blocks to slots, groups and tiles --------------------- */

#define MBI_BSR_BUILD_THREADS 256
#define MBI_BSR_GROUP_MOST 32 /* entries of a lane: bits of a mask */

/* Bytes of entries that a lane has on their way, and in a tile; measured on an H200. */
#ifndef MBI_BSR_GROUP_BYTES
#define MBI_BSR_GROUP_BYTES 64
#endif
#ifndef MBI_BSR_TILE_BYTES
#define MBI_BSR_TILE_BYTES 256
#endif

static int mbi_ceiling(int a, int b) {
  return (a + b - 1) / b;
}

/* The least power of two of blocks whose entries of one lane are whole packs. */
static int mbi_bsr_least(int lane_cols, int pack) {
  int together = 1;
  while (together * lane_cols % pack != 0) {
    together *= 2;
  }
  return together;
}

/* Lanes to a row of a block: one, but where a group would be too long, or where the block is
 * so flat that lanes side by side would read x far apart. */
static int mbi_bsr_split(int rows, int cols, int size) {
  const int pack = 16 / size;
  int split = 1;
  while (rows * split < 4 && cols % (2 * split) == 0 && cols / (2 * split) % pack == 0) {
    split *= 2;
  }
  while (mbi_ceiling(cols, split) > 16 ||
         mbi_bsr_least(mbi_ceiling(cols, split), pack) * mbi_ceiling(cols, split) >
             MBI_BSR_GROUP_MOST) {
    split *= 2;
  }
  return split;
}

/* Neighbours of x that one load brings where x lies well, as MBK_NEIGHBOURS. */
static int mbi_bsr_neighbours(const mbi_bsr_tiles *t, int size) {
  return t->lane_cols * t->split != t->block_cols || t->edge || t->lane_cols % 2 != 0 ? 1
         : t->lane_cols % (16 / size) != 0                                            ? 2
                                           : 16 / size;
}

/* What a block's x costs, in lines of the L1 for all slots: each lane for itself, or one for
 * another and then a shuffle of 4 bytes for each. */
static int mbi_bsr_shuffles(const mbi_bsr_tiles *t, int size) {
  const int alone = t->lane_cols / mbi_bsr_neighbours(t, size) * t->slots;
  return t->split == 1 && t->block_rows > 1 && alone > t->slots + t->block_cols * size / 4;
}

static void mbi_bsr_shape(merbit_plan *plan) {
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  const merbit_view *view = &plan->bsr.view;
  const int size = (int)mbi_type_size(plan->type);
  int group;
  t->block_rows = view->block_rows;
  t->block_cols = view->block_cols;
  t->edge = view->cols % view->block_cols != 0;
  t->split = mbi_bsr_split(t->block_rows, t->block_cols, size);
  t->lane_cols = mbi_ceiling(t->block_cols, t->split);
  t->strips = mbi_ceiling(t->block_rows * t->split, 32);
  t->lanes = mbi_ceiling(t->block_rows, t->strips) * t->split;
  t->slots = 32 / t->lanes;
  t->together = mbi_bsr_least(t->lane_cols, 16 / size);
  while (t->together * t->lane_cols * size < MBI_BSR_GROUP_BYTES &&
         2 * t->together * t->lane_cols <= MBI_BSR_GROUP_MOST) {
    t->together *= 2;
  }
  t->shuffled = plan->desc.omega != 0 ? plan->desc.omega == 2 : mbi_bsr_shuffles(t, size);
  t->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : 128;
  group = t->together * t->lane_cols * size;
  t->resident = (group < 96 ? 1024 : group < 160 ? 768 : 512) / t->threads;
  t->resident = t->resident > 16 ? 16 : t->resident < 1 ? 1 : t->resident;
}

/* Blocks per slot and tile: high blocks leave more in the carries, and few blocks are dealt to
 * more warps. */
static void mbi_bsr_tile(merbit_plan *plan) {
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  const int size = (int)mbi_type_size(plan->type);
  const int group = t->together * t->lane_cols * size;
  const uint64_t enough = 64 * (uint64_t)plan->context->device.multiprocessors;
  int groups = mbi_ceiling(MBI_BSR_TILE_BYTES + 16 * t->block_rows, group);
  while (groups > 1 &&
         plan->device.nnz / (uint64_t)(t->slots * groups * t->together) < enough) {
    groups = mbi_ceiling(groups, 2);
  }
  t->slot_blocks = plan->desc.sigma != 0 ? plan->desc.sigma : groups * t->together;
}

/* Sizes of the specialisation; needs plan->ranks of the block rows. */
static merbit_status mbi_bsr_size(merbit_plan *plan) {
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  merbit_context *context = plan->context;
  uint64_t tile, warps;
  mbi_bsr_shape(plan);
  mbi_bsr_tile(plan);
  if (t->slot_blocks < 1 || t->slot_blocks > 4096 || t->slot_blocks % t->together != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.sigma is %d; blocks of %d x %d take multiples of %d up to 4096",
                    t->slot_blocks, t->block_rows, t->block_cols, t->together);
  }
  if (t->threads < 32 || t->threads > 1024 || t->threads % 32 != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.block_threads is %d; use a multiple of 32 up to 1024",
                    t->threads);
  }
  if (plan->desc.omega < 0 || plan->desc.omega > 2 || (t->shuffled && t->split > 1)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.omega is %d; blocks of %d x %d take 1 for lanes that load x "
                    "each for itself%s",
                    plan->desc.omega, t->block_rows, t->block_cols,
                    t->split > 1 ? "" : ", 2 for shuffles");
  }
  tile = (uint64_t)t->slots * (uint64_t)t->slot_blocks;
  t->tiles = (plan->device.nnz + tile - 1) / tile;
  warps = (uint64_t)t->threads / 32;
  t->blocks = (t->tiles * (uint64_t)t->strips + warps - 1) / warps;
  t->empty_rows = plan->device.rows - plan->ranks.count;
  t->parts = (t->tiles > t->empty_rows ? t->tiles : t->empty_rows) * (uint64_t)t->block_rows;
  if (plan->device.rows >= UINT32_MAX || t->blocks > (uint64_t)INT32_MAX ||
      t->parts / MBI_SCAN_FIXUP_THREADS >= (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " blocks in %" PRIu64 " rows of blocks are too many for the GPU",
                    plan->device.nnz, plan->device.rows);
  }
  t->words = (t->tiles * tile + 31) / 32;
  t->groups = t->tiles * (uint64_t)t->strips * (uint64_t)(t->slot_blocks / t->together);
  t->places = t->tiles * tile;
  return MERBIT_OK;
}

/* Entries of the copy, those that no lane needs included. */
static uint64_t mbi_bsr_entries(const mbi_bsr_tiles *t) {
  return t->groups * (uint64_t)(t->slots * t->lanes * t->together * t->lane_cols);
}

static uint64_t mbi_bsr_mask_bytes(const mbi_bsr_tiles *t) {
  return t->groups * (uint64_t)(t->slots * t->lanes) *
         (t->together * t->lane_cols <= 16 ? sizeof(uint16_t) : sizeof(uint32_t));
}

/* ==== >>spmv/bsr.c  CUDA: tiles of blocks, sums in registers ============================== */
/* ---- Specialise -------------------------------------------------------------------------- */

static void mbi_bsr_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_bsr_tiles *t = &plan->bsr_tiles;
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_BLOCK_ROWS", t->block_rows);
  mbi_preamble_define_int(preamble, "MBK_BLOCK_COLS", t->block_cols);
  mbi_preamble_define_int(preamble, "MBK_COLUMN_MAJOR",
                          plan->bsr.view.block_order == MERBIT_BLOCK_COLUMN_MAJOR);
  mbi_preamble_define_int(preamble, "MBK_MASKED", plan->bsr.mask_words > 0);
  mbi_preamble_define_int(preamble, "MBK_EDGE", t->edge);
  mbi_preamble_define_int(preamble, "MBK_SPLIT", t->split);
  mbi_preamble_define_int(preamble, "MBK_TOGETHER", t->together);
  mbi_preamble_define_int(preamble, "MBK_SLOT_BLOCKS", t->slot_blocks);
  mbi_preamble_define_int(preamble, "MBK_SHUFFLED", t->shuffled);
  mbi_preamble_define_int(preamble, "MBK_EMPTY_ROWS", t->empty_rows > 0);
  mbi_preamble_define_int(preamble, "MBK_ONCE", 1);
  mbi_preamble_define_int(preamble, "MBK_THREADS", t->threads);
  mbi_preamble_define_int(preamble, "MBK_BLOCKS", t->resident);
}

static merbit_status mbi_bsr_specialise(merbit_plan *plan) {
  static const char *const names[MBI_BSR_KERNELS] = {"mbk_bsr_schedule", "mbk_bsr_columns",
                                                     "mbk_bsr_fill",     "mbk_bsr_product",
                                                     "mbk_bsr_fixup",    "mbk_bsr_masks"};
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  const int kernels = plan->bsr.mask_words > 0 ? MBI_BSR_KERNELS : MBI_BSR_KERNELS - 1;
  mbi_preamble preamble;
  merbit_status status;
  int i;
  mbi_bsr_preamble(plan, &preamble);
  status = mbi_program_create(plan->context, "spmv/bsr.cu", &preamble, &plan->program);
  for (i = 0; i < kernels && status == MERBIT_OK; i++) {
    status = mbi_program_kernel(plan->context, &plan->program, names[i], &t->kernels[i]);
  }
  return status;
}

/* ---- Launch: build, fill, multiply ------------------------------------------------------- */

static merbit_status mbi_bsr_launch_build(merbit_plan *plan, int kernel, const char *name,
                                          uint64_t items, void **arguments) {
  return mbi_device_launch(
      plan->context, plan->bsr_tiles.kernels[kernel], name,
      (int64_t)((items + MBI_BSR_BUILD_THREADS - 1) / MBI_BSR_BUILD_THREADS),
      MBI_BSR_BUILD_THREADS, 0, NULL, arguments);
}

/* row_ends and slot_row. */
static merbit_status mbi_bsr_schedule(merbit_plan *plan) {
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  uint32_t ranks = (uint32_t)plan->ranks.count;
  uint64_t slots = t->tiles * (uint64_t)t->slots;
  void *arguments[7];
  arguments[0] = &plan->ranks.row_start;
  arguments[1] = &ranks;
  arguments[2] = &plan->device.nnz;
  arguments[3] = &t->words;
  arguments[4] = &slots;
  arguments[5] = &t->row_ends;
  arguments[6] = &t->slot_row;
  return mbi_bsr_launch_build(plan, 0, "mbk_bsr_schedule",
                              t->words > slots + 1 ? t->words : slots + 1, arguments);
}

static merbit_status mbi_bsr_columns(merbit_plan *plan) {
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  void *arguments[4];
  arguments[0] = &plan->device.col_ind;
  arguments[1] = &plan->device.nnz;
  arguments[2] = &t->tiles;
  arguments[3] = &t->columns;
  return mbi_bsr_launch_build(plan, 1, "mbk_bsr_columns", t->places, arguments);
}

/* The masks of the blocks go to the GPU, unless they were made there, and become those of
 * lanes. Both stay: new values are put in their places by the first. */
static merbit_status mbi_bsr_masks(merbit_plan *plan) {
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  merbit_context *context = plan->context;
  const uint64_t bytes = plan->device.nnz * (uint64_t)plan->bsr.mask_words * sizeof(uint64_t);
  const int upload = t->mask_words == 0;
  void *arguments[4];
  merbit_status status =
      upload ? mbi_device_allocate(context, bytes, "masks of blocks", &t->mask_words)
             : MERBIT_OK;
  if (status == MERBIT_OK && upload) {
    status = mbi_device_upload(context, t->mask_words, plan->bsr.masks, (size_t)bytes);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, mbi_bsr_mask_bytes(t), "masks of lanes", &t->masks);
  }
  arguments[0] = &t->mask_words;
  arguments[1] = &plan->device.nnz;
  arguments[2] = &t->tiles;
  arguments[3] = &t->masks;
  return status != MERBIT_OK
             ? status
             : mbi_bsr_launch_build(plan, 5, "mbk_bsr_masks",
                                    t->groups * (uint64_t)(t->slots * t->lanes), arguments);
}

/* The blocks in plan->device.values, as they come, to the plan's copy, which is all that a
 * product reads: an array of the plan's own is given back. */
static merbit_status mbi_bsr_fill(merbit_plan *plan) {
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->device;
  const uint64_t entries = csr->nnz * (uint64_t)t->block_rows * (uint64_t)t->block_cols;
  const uint64_t size = mbi_type_size(plan->type);
  uint64_t cols = (uint64_t)plan->bsr.view.cols;
  void *arguments[7];
  merbit_status status;
  arguments[0] = &csr->col_ind;
  arguments[1] = &csr->values;
  arguments[2] = &t->mask_words;
  arguments[3] = &cols;
  arguments[4] = &csr->nnz;
  arguments[5] = &t->tiles;
  arguments[6] = &t->packs;
  status =
      mbi_bsr_launch_build(plan, 2, "mbk_bsr_fill", mbi_bsr_entries(t) * size / 16, arguments);
  if (status == MERBIT_OK) {
    status = mbi_device_synchronize(context, NULL);
  }
  if (status == MERBIT_OK && csr->owns_values) {
    mbi_device_release(context, csr->values);
    csr->values = 0;
    csr->owns_values = 0;
    csr->bytes -= entries * size;
  }
  return status;
}

/* plan->device.values, borrowed or uploaded. */
static merbit_status mbi_bsr_take_values(merbit_plan *plan) {
  merbit_context *context = plan->context;
  const merbit_view *view = &plan->bsr.view;
  mbi_device_csr *csr = &plan->device;
  const uint64_t entries = csr->nnz * (uint64_t)view->block_rows * (uint64_t)view->block_cols;
  if (view->values == NULL) {
    return MERBIT_OK;
  }
  if (view->memory != MERBIT_MEMORY_DEVICE) {
    return mbi_array_upload(context, view->values, entries * mbi_type_size(plan->type),
                            "blocks", csr, &csr->values, &csr->owns_values);
  }
  if (!mbi_device_owns(context, view->values)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "the view says device memory, but %p is not an address of the GPU",
                    view->values);
  }
  csr->values = mbi_device_address(view->values);
  return MERBIT_OK;
}

static merbit_status mbi_bsr_allocate(merbit_plan *plan) {
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  merbit_context *context = plan->context;
  const uint64_t words = t->words * sizeof(uint32_t);
  const uint64_t slots = (t->tiles * (uint64_t)t->slots + 1) * sizeof(uint32_t);
  const uint64_t columns = t->places * sizeof(int32_t);
  const uint64_t packs =
      plan->device.values != 0 ? mbi_bsr_entries(t) * mbi_type_size(plan->type) : 0;
  merbit_status status =
      mbi_device_allocate(context, words, "ends of block rows", &t->row_ends);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, slots, "block rows of slots", &t->slot_row);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, columns, "block columns", &t->columns);
  }
  if (status == MERBIT_OK && packs > 0) {
    status = mbi_device_allocate(context, packs, "blocks of tiles", &t->packs);
  }
  plan->schedule_bytes = words + slots + columns + packs + plan->ranks.bytes;
  plan->stream_bytes = words + slots + columns + packs +
                       2 * t->tiles * (uint64_t)t->block_rows * mbi_type_size(plan->type);
  if (plan->bsr.mask_words > 0) {
    plan->schedule_bytes += mbi_bsr_mask_bytes(t) + plan->device.nnz *
                                                        (uint64_t)plan->bsr.mask_words *
                                                        sizeof(uint64_t);
    plan->stream_bytes += mbi_bsr_mask_bytes(t);
  }
  return status;
}

/* plan->device holds the places of the blocks as a CSR. After a failure mbi_bsr_destroy cleans
 * up. */
static merbit_status mbi_bsr_create(merbit_plan *plan) {
  merbit_status status = mbi_scan_rank(plan);
  if (status == MERBIT_OK) {
    status = mbi_bsr_size(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_bsr_take_values(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_bsr_specialise(plan);
  }
  if (status != MERBIT_OK || plan->bsr_tiles.tiles == 0) {
    return status;
  }
  status = mbi_bsr_allocate(plan);
  if (status == MERBIT_OK) {
    status = mbi_bsr_schedule(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_bsr_columns(plan);
  }
  if (status == MERBIT_OK && plan->bsr.mask_words > 0) {
    status = mbi_bsr_masks(plan);
  }
  return status != MERBIT_OK          ? status
         : plan->bsr_tiles.packs != 0 ? mbi_bsr_fill(plan)
                                      : mbi_device_synchronize(plan->context, NULL);
}

static void mbi_bsr_destroy(merbit_plan *plan) {
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  mbi_device_release(plan->context, t->row_ends);
  mbi_device_release(plan->context, t->slot_row);
  mbi_device_release(plan->context, t->columns);
  mbi_device_release(plan->context, t->mask_words);
  mbi_device_release(plan->context, t->masks);
  mbi_device_release(plan->context, t->packs);
  mbi_program_destroy(plan->context, &plan->program);
}

/* Of firsts and tails. */
static uint64_t mbi_bsr_carry_bytes(const merbit_plan *plan) {
  const mbi_bsr_tiles *t = &plan->bsr_tiles;
  return 2 * t->tiles * (uint64_t)t->block_rows * mbi_type_size(plan->type);
}

static merbit_status mbi_bsr_launch_fixup(merbit_plan *plan, mbi_devptr carries,
                                          const void *alpha, const void *beta, mbi_devptr y,
                                          void *stream) {
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  const unsigned size = (unsigned)mbi_type_size(plan->type);
  uint64_t rows = (uint64_t)plan->bsr.view.rows;
  mbi_devptr tails = carries + t->tiles * (uint64_t)t->block_rows * size;
  void *arguments[12];
  arguments[0] = &plan->ranks.row_start;
  arguments[1] = &t->slot_row;
  arguments[2] = &plan->ranks.row_id;
  arguments[3] = &plan->ranks.empty_id;
  arguments[4] = &carries;
  arguments[5] = &tails;
  arguments[6] = &y;
  arguments[7] = &t->tiles;
  arguments[8] = &t->empty_rows;
  arguments[9] = &rows;
  arguments[10] = (void *)(uintptr_t)alpha;
  arguments[11] = (void *)(uintptr_t)beta;
  return mbi_device_launch_early(
      plan->context, t->kernels[4], "mbk_bsr_fixup",
      (int64_t)((t->parts + MBI_SCAN_FIXUP_THREADS - 1) / MBI_SCAN_FIXUP_THREADS),
      MBI_SCAN_FIXUP_THREADS,
      (unsigned)(MBI_SCAN_FIXUP_THREADS / 32 * (size + sizeof(uint32_t))), stream, arguments);
}

static merbit_status mbi_bsr_multiply(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                                      mbi_devptr x, const void *beta, mbi_devptr y,
                                      void *stream) {
  mbi_bsr_tiles *t = &plan->bsr_tiles;
  uint64_t rows = (uint64_t)plan->bsr.view.rows, cols = (uint64_t)plan->bsr.view.cols;
  mbi_devptr tails = carries + t->tiles * (uint64_t)t->block_rows * mbi_type_size(plan->type);
  void *arguments[15];
  merbit_status status;
  arguments[0] = &t->row_ends;
  arguments[1] = &t->slot_row;
  arguments[2] = &plan->ranks.row_id;
  arguments[3] = &t->columns;
  arguments[4] = &t->packs;
  arguments[5] = &t->masks;
  arguments[6] = &x;
  arguments[7] = &y;
  arguments[8] = &carries;
  arguments[9] = &tails;
  arguments[10] = &rows;
  arguments[11] = &cols;
  arguments[12] = &t->tiles;
  arguments[13] = (void *)(uintptr_t)alpha;
  arguments[14] = (void *)(uintptr_t)beta;
  status = mbi_device_launch_early(plan->context, t->kernels[3], "mbk_bsr_product",
                                   (int64_t)t->blocks, t->threads, 0, stream, arguments);
  return status == MERBIT_OK ? mbi_bsr_launch_fixup(plan, carries, alpha, beta, y, stream)
                             : status;
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_bsr_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->sigma = plan->bsr_tiles.slot_blocks;
  info->omega = plan->bsr_tiles.slots;
  info->block_threads = plan->bsr_tiles.threads;
  info->tiles = (int64_t)plan->bsr_tiles.tiles;
}

static int mbi_bsr_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_bsr_tiles *t = &plan->bsr_tiles;
  const double stored = (double)plan->device.nnz * t->block_rows * t->block_cols;
  return snprintf(text, size,
                  "%" PRIu64 " blocks of %d x %d, %.1f%% filled, %" PRIu64 " tiles of %d x %d "
                  "in groups of %d%s, %d threads",
                  plan->device.nnz, t->block_rows, t->block_cols,
                  stored > 0 ? 100.0 * (double)plan->bsr.entries / stored : 100.0, t->tiles,
                  t->slots, t->slot_blocks, t->together, t->shuffled ? ", x by shuffles" : "",
                  t->threads);
}

static const mbi_cuda_method mbi_bsr_method = {
    mbi_bsr_create, mbi_bsr_destroy,  mbi_bsr_carry_bytes, mbi_bsr_multiply,
    mbi_bsr_info,   mbi_bsr_describe, mbi_bsr_fill};

/* ==== >>spmv/bsr_study.c  CUDA: other products of blocks, for comparison ================== */
/* The kernels of spmv/bsr_study.cu on blocks as they come. All add to y by atomics, so that
 * their products are not repeatable to the bit; all but thread-private accumulation also use
 * atomics in shared memory. */
#ifdef MERBIT_STUDY_METHODS

#define MBI_BSR_STUDY_THREADS 256 /* of the kernels that do not multiply */

/* ---- Encode: chunks of blocks ------------------------------------------------------------ */

/* The fastest of its tables 7, 9, 10 and 12; a team needs a thread for each entry. */
static int mbi_bsr_study_threads(const merbit_plan *plan) {
  const merbit_view *view = &plan->bsr.view;
  const int entries = view->block_rows * view->block_cols;
  if (plan->desc.block_threads != 0) {
    return plan->desc.block_threads;
  }
  if (plan->method == MERBIT_METHOD_BSR_TEAM) {
    return entries > 128 ? mbi_ceiling(entries, 32) * 32 : 128;
  }
  return plan->method == MERBIT_METHOD_BSR_VECTOR ? 128 : 32;
}

/* As many chunks as thread blocks, which fill the GPU plan_desc.sigma times. */
static merbit_status mbi_bsr_study_size(merbit_plan *plan) {
  merbit_context *context = plan->context;
  mbi_bsr_study *s = &plan->bsr_study;
  const merbit_view *view = &plan->bsr.view;
  const int own = plan->method == MERBIT_METHOD_BSR_VECTOR ? 8 : 1;
  const int entries = view->block_rows * view->block_cols;
  const int filled = plan->desc.sigma != 0 ? plan->desc.sigma : own;
  uint64_t most;
  s->threads = mbi_bsr_study_threads(plan);
  if (plan->bsr.masks != NULL) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "method %s takes blocks as they come; make them by "
                    "merbit_matrix_create_bsr",
                    mbi_method_name(plan->method));
  }
  if (s->threads < 32 || s->threads > 1024 || s->threads % 32 != 0 ||
      (plan->method == MERBIT_METHOD_BSR_TEAM && s->threads < entries)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "%d threads for blocks of %d x %d; method %s takes a multiple of 32 up to "
                    "1024%s",
                    s->threads, view->block_rows, view->block_cols,
                    mbi_method_name(plan->method),
                    plan->method == MERBIT_METHOD_BSR_TEAM ? ", one for each entry" : "");
  }
  if (filled < 1 || filled > 64) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.sigma is %d; method %s fills the GPU 1 to 64 times",
                    plan->desc.sigma, mbi_method_name(plan->method));
  }
  if (plan->device.rows >= UINT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " rows of blocks are too many for the GPU", plan->device.rows);
  }
  most = (uint64_t)context->device.multiprocessors * (uint64_t)filled *
         (uint64_t)(s->threads < 64 ? 32 : 2048 / s->threads);
  s->chunk_blocks = plan->device.nnz / most + (plan->device.nnz % most != 0);
  s->chunks = s->chunk_blocks == 0 ? 0 : (plan->device.nnz - 1) / s->chunk_blocks + 1;
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

static void mbi_bsr_study_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const merbit_view *view = &plan->bsr.view;
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_STUDY",
                          (int)plan->method - (int)MERBIT_METHOD_BSR_ROW_MAJOR);
  mbi_preamble_define_int(preamble, "MBK_BLOCK_ROWS", view->block_rows);
  mbi_preamble_define_int(preamble, "MBK_BLOCK_COLS", view->block_cols);
  mbi_preamble_define_int(preamble, "MBK_COLUMN_MAJOR",
                          view->block_order == MERBIT_BLOCK_COLUMN_MAJOR);
  mbi_preamble_define_int(preamble, "MBK_EDGE", view->cols % view->block_cols != 0);
  mbi_preamble_define_int(preamble, "MBK_THREADS", plan->bsr_study.threads);
}

static merbit_status mbi_bsr_study_specialise(merbit_plan *plan) {
  static const char *const names[3] = {"mbk_study_cut", "mbk_study_scale", "mbk_study_product"};
  mbi_preamble preamble;
  merbit_status status;
  int i;
  mbi_bsr_study_preamble(plan, &preamble);
  status = mbi_program_create(plan->context, "spmv/bsr_study.cu", &preamble, &plan->program);
  for (i = 0; i < 3 && status == MERBIT_OK; i++) {
    status = mbi_program_kernel(plan->context, &plan->program, names[i],
                                &plan->bsr_study.kernels[i]);
  }
  return status;
}

/* ---- Launch: cut, scale, multiply -------------------------------------------------------- */

static int64_t mbi_bsr_study_grid(uint64_t items) {
  return (int64_t)((items + MBI_BSR_STUDY_THREADS - 1) / MBI_BSR_STUDY_THREADS);
}

static merbit_status mbi_bsr_study_cut(merbit_plan *plan) {
  mbi_bsr_study *s = &plan->bsr_study;
  merbit_context *context = plan->context;
  const uint64_t bytes = (s->chunks + 1) * sizeof(uint32_t);
  uint32_t rows = (uint32_t)plan->device.rows;
  void *arguments[6];
  merbit_status status = mbi_device_allocate(context, bytes, "rows of chunks", &s->chunk_row);
  plan->schedule_bytes = bytes;
  plan->stream_bytes =
      bytes + plan->device.nnz * sizeof(int32_t) +
      (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type) +
      (plan->device.values != 0
           ? (uint64_t)mbi_view_values(&plan->bsr.view) * mbi_type_size(plan->type)
           : 0);
  arguments[0] = &plan->device.row_ptr;
  arguments[1] = &rows;
  arguments[2] = &plan->device.nnz;
  arguments[3] = &s->chunk_blocks;
  arguments[4] = &s->chunks;
  arguments[5] = &s->chunk_row;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, s->kernels[0], "mbk_study_cut",
                               mbi_bsr_study_grid(s->chunks + 1), MBI_BSR_STUDY_THREADS, 0,
                               NULL, arguments);
  }
  return status == MERBIT_OK ? mbi_device_synchronize(context, NULL) : status;
}

/* plan->device holds the places of the blocks as a CSR. After a failure mbi_bsr_study_destroy
 * cleans up. */
static merbit_status mbi_bsr_study_create(merbit_plan *plan) {
  merbit_status status = mbi_bsr_study_size(plan);
  if (status == MERBIT_OK) {
    status = mbi_bsr_take_values(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_bsr_study_specialise(plan);
  }
  return status == MERBIT_OK && plan->bsr_study.chunks > 0 ? mbi_bsr_study_cut(plan) : status;
}

static void mbi_bsr_study_destroy(merbit_plan *plan) {
  mbi_device_release(plan->context, plan->bsr_study.chunk_row);
  mbi_program_destroy(plan->context, &plan->program);
}

static merbit_status mbi_bsr_study_multiply(merbit_plan *plan, mbi_devptr carries,
                                            const void *alpha, mbi_devptr x, const void *beta,
                                            mbi_devptr y, void *stream) {
  mbi_bsr_study *s = &plan->bsr_study;
  const unsigned sums = (unsigned)(plan->bsr.view.block_rows + s->threads / 32);
  uint64_t rows = (uint64_t)plan->bsr.view.rows, cols = (uint64_t)plan->bsr.view.cols;
  void *scale[4], *arguments[12];
  merbit_status status;
  (void)carries;
  scale[0] = &y;
  scale[1] = &rows;
  scale[2] = arguments[10] = (void *)(uintptr_t)alpha;
  scale[3] = arguments[11] = (void *)(uintptr_t)beta;
  status = mbi_device_launch(plan->context, s->kernels[1], "mbk_study_scale",
                             mbi_bsr_study_grid(rows), MBI_BSR_STUDY_THREADS, 0, stream, scale);
  arguments[0] = &plan->device.row_ptr;
  arguments[1] = &plan->device.col_ind;
  arguments[2] = &plan->device.values;
  arguments[3] = &s->chunk_row;
  arguments[4] = &x;
  arguments[5] = &y;
  arguments[6] = &rows;
  arguments[7] = &cols;
  arguments[8] = &plan->device.nnz;
  arguments[9] = &s->chunk_blocks;
  return status == MERBIT_OK
             ? mbi_device_launch(plan->context, s->kernels[2], "mbk_study_product",
                                 (int64_t)s->chunks, s->threads,
                                 sums * (unsigned)mbi_type_size(plan->type), stream, arguments)
             : status;
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_bsr_study_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->sigma = (int)(plan->bsr_study.chunk_blocks < INT32_MAX ? plan->bsr_study.chunk_blocks
                                                               : INT32_MAX);
  info->block_threads = plan->bsr_study.threads;
  info->tiles = (int64_t)plan->bsr_study.chunks;
}

static int mbi_bsr_study_describe(const merbit_plan *plan, char *text, size_t size) {
  return snprintf(text, size,
                  "%" PRIu64 " blocks of %d x %d, %" PRIu64 " chunks of %" PRIu64
                  " blocks, %d threads; sums by atomics",
                  plan->device.nnz, plan->bsr.view.block_rows, plan->bsr.view.block_cols,
                  plan->bsr_study.chunks, plan->bsr_study.chunk_blocks,
                  plan->bsr_study.threads);
}

static const mbi_cuda_method mbi_bsr_study_method = {mbi_bsr_study_create,
                                                     mbi_bsr_study_destroy,
                                                     mbi_rows_carry_bytes,
                                                     mbi_bsr_study_multiply,
                                                     mbi_bsr_study_info,
                                                     mbi_bsr_study_describe,
                                                     NULL};

#endif /* MERBIT_STUDY_METHODS */

/* ==== >>spmv/sliced.c  CUDA: slices of rows stored column by column ======================= */
/* ---- Encode: windows, slices, loads in flight -------------------------------------------- */

#define MBI_SLICED_WINDOW 1024
#define MBI_SLICED_BUILD_THREADS 128

static merbit_status mbi_sliced_size(merbit_plan *plan) {
  mbi_sliced *s = &plan->sliced;
  merbit_context *context = plan->context;
  /* Sorting costs a row number for each row: where there is next to nothing to gain, not. */
  s->sorted =
      plan->desc.omega != 1 && plan->ranks.slots > plan->device.nnz + plan->device.nnz / 32;
  s->unroll = plan->desc.sigma != 0                   ? plan->desc.sigma
              : plan->type == MERBIT_F64 && s->sorted ? 1
                                                      : 2;
  s->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : 256;
  if (s->unroll < 1 || s->unroll > 16 || s->threads < 32 || s->threads > 1024 ||
      s->threads % 32 != 0) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.sigma is %d and block_threads %d; use 1 to 16, and a multiple of 32 "
        "up to 1024",
        s->unroll, s->threads);
  }
  s->slices = (plan->device.rows + 31) / 32;
  s->blocks = (s->slices * 32 + (uint64_t)s->threads - 1) / (uint64_t)s->threads;
  if (plan->device.rows >= UINT32_MAX || s->blocks > (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE, "%" PRIu64 " rows are too many for slices",
                    plan->device.rows);
  }
  return MERBIT_OK;
}

/* Lengths and the starts of slices are 32-bit; needs plan->ranks. */
static merbit_status mbi_sliced_check(const merbit_plan *plan) {
  const mbi_ranks *ranks = &plan->ranks;
  if (ranks->longest > INT32_MAX || ranks->slots / 16 + 6 * plan->sliced.slices > UINT32_MAX) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "slices of 32 rows would take %" PRIu64 " slots, and %" PRIu32
                    " for one row; use another plan_desc.method",
                    ranks->slots, ranks->longest);
  }
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

static void mbi_sliced_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_sliced *s = &plan->sliced;
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_UNROLL", s->unroll);
  mbi_preamble_define_int(preamble, "MBK_SORTED", s->sorted);
  mbi_preamble_define_int(preamble, "MBK_ONCE", plan->once);
  mbi_preamble_define_int(preamble, "MBK_THREADS", s->threads);
}

static merbit_status mbi_sliced_specialise(merbit_plan *plan) {
  static const char *const names[4] = {"mbk_sliced_order", "mbk_sliced_width",
                                       "mbk_sliced_fill", "mbk_sliced_product"};
  mbi_sliced *s = &plan->sliced;
  mbi_preamble preamble;
  merbit_status status;
  int i;
  mbi_sliced_preamble(plan, &preamble);
  status = mbi_program_create(plan->context, "spmv/sliced.cu", &preamble, &plan->program);
  for (i = 0; i < 4 && status == MERBIT_OK; i++) {
    status = mbi_program_kernel(plan->context, &plan->program, names[i], &s->kernels[i]);
  }
  return status;
}

/* ---- Launch: build, fill, multiply ------------------------------------------------------- */

static int64_t mbi_sliced_build_blocks(const mbi_sliced *s) {
  return ((int64_t)s->slices * 32 + MBI_SLICED_BUILD_THREADS - 1) / MBI_SLICED_BUILD_THREADS;
}

/* The sums before each entry of an array of one entry a slice, and the sum of all, there and in
 * *sum. */
static merbit_status mbi_sliced_offsets(merbit_plan *plan, mbi_devptr array, uint64_t *sum) {
  merbit_context *context = plan->context;
  mbi_devptr total = array + plan->sliced.slices * sizeof(uint32_t);
  void *offsets = NULL, *arguments[3];
  uint32_t found = 0;
  merbit_status status =
      mbi_program_kernel(context, &plan->ranks.program, "mbk_arrays_offsets", &offsets);
  arguments[0] = &array;
  arguments[1] = &plan->sliced.slices;
  arguments[2] = &total;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, offsets, "mbk_arrays_offsets", 1, 1024,
                               (unsigned)(33 * sizeof(uint32_t)), NULL, arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, &found, total, sizeof found);
  }
  *sum = found;
  return status;
}

/* Which rows make a slice, and how wide it and its columns are. */
static merbit_status mbi_sliced_order(merbit_plan *plan) {
  mbi_sliced *s = &plan->sliced;
  void *arguments[8];
  merbit_status status;
  arguments[0] = &plan->device.row_ptr;
  arguments[1] = &plan->device.rows;
  arguments[2] = &s->length;
  arguments[3] = &s->row_id;
  status = mbi_device_launch(
      plan->context, s->kernels[0], "mbk_sliced_order",
      (int64_t)((plan->device.rows + MBI_SLICED_WINDOW - 1) / MBI_SLICED_WINDOW), 512,
      (unsigned)(MBI_SLICED_WINDOW * sizeof(uint64_t)), NULL, arguments);
  arguments[1] = &plan->device.col_ind;
  arguments[4] = &s->slices;
  arguments[5] = &s->slice_start;
  arguments[6] = &s->slice_base;
  arguments[7] = &s->column_start;
  return status != MERBIT_OK ? status
                             : mbi_device_launch(plan->context, s->kernels[1],
                                                 "mbk_sliced_width", mbi_sliced_build_blocks(s),
                                                 MBI_SLICED_BUILD_THREADS, 0, NULL, arguments);
}

/* Everything but columns and values, whose sizes come out: slots of values, and of two-byte
 * columns. */
static merbit_status mbi_sliced_build(merbit_plan *plan) {
  mbi_sliced *s = &plan->sliced;
  merbit_context *context = plan->context;
  const uint64_t places = s->slices * 32 * sizeof(uint32_t);
  const uint64_t starts = (s->slices + 1) * sizeof(uint32_t);
  merbit_status status = mbi_device_allocate(context, places, "lengths of rows", &s->length);
  if (status == MERBIT_OK && s->sorted) {
    status = mbi_device_allocate(context, places, "rows of slices", &s->row_id);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, starts, "starts of slices", &s->slice_start);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, starts, "starts of columns", &s->column_start);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, starts, "bases of slices", &s->slice_base);
  }
  if (status == MERBIT_OK) {
    status = mbi_sliced_order(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_sliced_offsets(plan, s->slice_start, &s->slots);
  }
  if (status == MERBIT_OK) {
    status = mbi_sliced_offsets(plan, s->column_start, &s->column_slots);
  }
  s->slots *= 32;
  s->column_slots *= 32;
  return status;
}

static merbit_status mbi_sliced_fill(merbit_plan *plan) {
  mbi_sliced *s = &plan->sliced;
  void *arguments[11];
  merbit_status status;
  arguments[0] = &plan->device.row_ptr;
  arguments[1] = &plan->device.col_ind;
  arguments[2] = &plan->device.values;
  arguments[3] = &s->slice_start;
  arguments[4] = &s->column_start;
  arguments[5] = &s->slice_base;
  arguments[6] = &s->length;
  arguments[7] = &s->row_id;
  arguments[8] = &s->slices;
  arguments[9] = &s->columns;
  arguments[10] = &s->values;
  status = mbi_device_launch(plan->context, s->kernels[2], "mbk_sliced_fill",
                             mbi_sliced_build_blocks(s), MBI_SLICED_BUILD_THREADS, 0, NULL,
                             arguments);
  return status == MERBIT_OK ? mbi_device_synchronize(plan->context, NULL) : status;
}

static merbit_status mbi_sliced_create(merbit_plan *plan) {
  mbi_sliced *s = &plan->sliced;
  merbit_context *context = plan->context;
  const uint64_t values = mbi_value_bytes(plan);
  merbit_status status = mbi_ranks_need(plan);
  if (status == MERBIT_OK) {
    status = mbi_sliced_size(plan);
  }
  if (status != MERBIT_OK || s->slices == 0) {
    return status;
  }
  status = mbi_sliced_check(plan);
  if (status == MERBIT_OK) {
    status = mbi_sliced_specialise(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_sliced_build(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, s->column_slots * sizeof(uint16_t), "sliced columns",
                                 &s->columns);
  }
  if (status == MERBIT_OK && values > 0) {
    status = mbi_device_allocate(context, s->slots * values, "sliced values", &s->values);
  }
  if (status == MERBIT_OK) {
    const uint64_t order = (s->slices * (s->sorted ? 67 : 35) + 2) * sizeof(uint32_t);
    const uint64_t columns = s->column_slots * sizeof(uint16_t);
    plan->schedule_bytes = order + columns + s->slots * values;
    plan->stream_bytes = order + plan->device.nnz * values; /* slots past a row's end stay */
    plan->stream_bytes +=
        s->slots > 0 ? (uint64_t)((double)columns * (double)plan->device.nnz / (double)s->slots)
                     : 0;
    status = mbi_sliced_fill(plan);
  }
  return status;
}

static void mbi_sliced_destroy(merbit_plan *plan) {
  mbi_sliced *s = &plan->sliced;
  mbi_device_release(plan->context, s->length);
  mbi_device_release(plan->context, s->row_id);
  mbi_device_release(plan->context, s->slice_start);
  mbi_device_release(plan->context, s->column_start);
  mbi_device_release(plan->context, s->slice_base);
  mbi_device_release(plan->context, s->columns);
  mbi_device_release(plan->context, s->values);
  mbi_program_destroy(plan->context, &plan->program);
}

static merbit_status mbi_sliced_multiply(merbit_plan *plan, mbi_devptr carries,
                                         const void *alpha, mbi_devptr x, const void *beta,
                                         mbi_devptr y, void *stream) {
  mbi_sliced *s = &plan->sliced;
  void *arguments[12];
  (void)carries;
  if (s->blocks == 0) {
    return MERBIT_OK;
  }
  arguments[0] = &s->slice_start;
  arguments[1] = &s->column_start;
  arguments[2] = &s->slice_base;
  arguments[3] = &s->length;
  arguments[4] = &s->row_id;
  arguments[5] = &s->columns;
  arguments[6] = s->values != 0 ? &s->values : &plan->device.values;
  arguments[7] = &x;
  arguments[8] = &y;
  arguments[9] = &plan->device.rows;
  arguments[10] = (void *)(uintptr_t)alpha;
  arguments[11] = (void *)(uintptr_t)beta;
  return mbi_device_launch_early(plan->context, s->kernels[3], "mbk_sliced_product",
                                 (int64_t)s->blocks, s->threads, 0, stream, arguments);
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_sliced_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->sigma = plan->sliced.unroll;
  info->omega = 32;
  info->block_threads = plan->sliced.threads;
  info->tiles = (int64_t)plan->sliced.slices;
}

static int mbi_sliced_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_sliced *s = &plan->sliced;
  const double slots = s->slots > 0 ? (double)s->slots : 1.0;
  return snprintf(text, size,
                  "%" PRIu64 " slices of 32 rows%s, %.1f%% of the slots filled, %.1f bytes a "
                  "column, %d threads",
                  s->slices, s->sorted ? " sorted in windows of 1024" : "",
                  100.0 * (double)plan->device.nnz / slots,
                  2.0 * (double)s->column_slots / slots, s->threads);
}

static const mbi_cuda_method mbi_sliced_method = {
    mbi_sliced_create, mbi_sliced_destroy,  mbi_rows_carry_bytes, mbi_sliced_multiply,
    mbi_sliced_info,   mbi_sliced_describe, mbi_sliced_fill};

/* ==== >>spmv/cb_build.c  blocks of 16 x 16: their sizes, and a first pass over a CSR ====== */
/* CB-SpMV's storage of a host CSR (Cong, Sun, Chen, Xie, Liu, Qian, ICS 2025, sections 3.1 to
 * 3.3): strips of 16 rows in blocks of 16 columns, each a COO, a CSR or a dense one, whose
 * indices and values lie together in one buffer behind an aligned offset. With columns
 * aggregated a strip's empty ones are left out.
 *
 * What is unlike the paper: the columns that stay (restore_cols there) lie with the block, as
 * offsets from its first one in no, one or two bytes where they fit. A dense block is a mask of
 * 256 bits and the values that are there, so that what is absent takes no room and meets no x.
 * Entries of one place all stay. A strip has an even number of blocks, two at least, of which
 * the last may be empty COO blocks: a warp takes two at once, and sees every strip.
 *
 * A block's data, each part padded to a value's size, the whole to 8 bytes:
 *   none or 16 columns, the last ones of a strip repeated; then, for
 *   COO    a byte for each entry, row | column << 4, sorted by row; the values
 *   CSR    16 bytes, where each row begins; then as COO
 *   dense  16 half words, one a column, whose bits say which rows there are; the values in the
 *          order of the bits */

enum { MBI_CB_COO, MBI_CB_CSR, MBI_CB_DENSE, MBI_CB_FORMS };

#define MBI_CB_SIDE 16
#define MBI_CB_SPARSE 32   /* entries below which a block is super-sparse */
#define MBI_CB_CROWDED 255 /* most entries of a block some of which share a place */
#define MBI_CB_PLACE 29    /* bits of an entry's place in its strip */

/* A block's word: entries, form, steps, the end of a strip or part, the width of a column, the
 * offset of its data in units of 8 bytes. The steps are the kernel's: of COO, doublings until a
 * segmented sum of 16 spans the longest row; of CSR, the longest row. Widths: 0, the columns
 * follow each other; 1 and 2, as many bytes; 3, four bytes. */
#define MBI_CB_WORD(count, form, steps, width, offset)                                         \
  ((uint64_t)(count) | (uint64_t)(form) << 9 | (uint64_t)(steps) << 11 |                       \
   (uint64_t)(width) << 20 | (offset) / 8 << 22)
#define MBI_CB_COUNT(word) ((word)&511)
#define MBI_CB_FORM(word) ((word) >> 9 & 3)
#define MBI_CB_END ((uint64_t)1 << 19)
#define MBI_CB_SPARE 4 /* empty blocks behind the last, for the kernel reads ahead */

typedef struct mbi_cb_format { /* on the host */
  int aggregated;
  uint64_t blocks, data_bytes, forms[MBI_CB_FORMS];
  uint64_t *words;
  uint32_t *first; /* column of each block */
  unsigned char *data;
  uint64_t limit, cut, tasks, parts, splits; /* spmv/cb_fill.c */
  uint64_t *task_block;
  uint32_t *task_target, *split_strip, *split_part;
} mbi_cb_format;

typedef struct mbi_cb_strip { /* counts, then starts */
  uint64_t blocks, bytes, sparse;
} mbi_cb_strip;

typedef struct mbi_cb_options {
  double aggregate; /* share of super-sparse blocks from which columns are aggregated */
  uint64_t coo_max, csr_max; /* fewer entries: COO; more: dense */
  uint64_t steps;            /* of a warp; 0: by size and processors */
  int processors;            /* of the GPU */
} mbi_cb_options;

typedef struct mbi_cb_build {
  const merbit_view *from; /* host CSR, 32-bit columns */
  const char *values;      /* as they are stored */
  size_t value_bytes;      /* 0: none */
  const mbi_cb_options *options;
  uint64_t strips;
  int tasks;
  uint64_t *keys, *spare; /* of entries: column, four bits of row, place in the strip */
  mbi_cb_strip *strip[2]; /* as the columns are; aggregated */
  mbi_cb_format *format;
} mbi_cb_build;

static uint64_t mbi_cb_pad(uint64_t bytes, uint64_t size) {
  return size > 0 ? (bytes + size - 1) / size * size : bytes;
}

/* Of 16 columns. */
static uint64_t mbi_cb_column_bytes(unsigned width) {
  return width == 3 ? 4 * MBI_CB_SIDE : width * MBI_CB_SIDE;
}

static uint64_t mbi_cb_bytes(int form, unsigned width, uint64_t count, uint64_t size) {
  const uint64_t head = form == MBI_CB_DENSE ? 32 : form == MBI_CB_CSR ? 16 : 0;
  const uint64_t indices = form == MBI_CB_DENSE ? 0 : mbi_cb_pad(count, size);
  return mbi_cb_pad(mbi_cb_column_bytes(width) + head + indices + count * size, 8);
}

/* Where the entries of a row begin; behind the last row they end. */
static uint64_t mbi_cb_offset(const mbi_cb_build *b, uint64_t row) {
  const merbit_view *from = b->from;
  const int64_t last = from->rows < (int64_t)row ? from->rows : (int64_t)row;
  return (uint64_t)(mbi_index_at(from->row_ptr, from->offset_type, last) - from->base);
}

/* The first strip of a task: entries and rows are dealt evenly. */
static uint64_t mbi_cb_share(const mbi_cb_build *b, int task) {
  const uint64_t all = mbi_cb_offset(b, UINT64_MAX >> 1) + b->strips * MBI_CB_SIDE;
  const uint64_t wish = (uint64_t)mbi_share((int64_t)all, b->tasks, task);
  uint64_t low = 0, high = b->strips;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (mbi_cb_offset(b, middle * MBI_CB_SIDE) + middle * MBI_CB_SIDE < wish) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* ---- A strip's entries by columns -------------------------------------------------------- */

/* The end of the ascending run that begins at `at`. */
static uint64_t mbi_cb_run(const uint64_t *keys, uint64_t at, uint64_t count) {
  for (at++; at < count && keys[at - 1] < keys[at]; at++) {
  }
  return at < count ? at : count;
}

/* Merge neighbouring runs; whether there was but one. */
static int mbi_cb_merge(const uint64_t *from, uint64_t *to, uint64_t count) {
  uint64_t at = 0;
  while (at < count) {
    const uint64_t middle = mbi_cb_run(from, at, count);
    const uint64_t end = middle < count ? mbi_cb_run(from, middle, count) : count;
    uint64_t left = at, right = middle, k = at;
    if (at == 0 && middle == count) {
      return 1;
    }
    while (left < middle && right < end) {
      to[k++] = from[left] < from[right] ? from[left++] : from[right++];
    }
    memcpy(to + k, from + left, (size_t)(middle - left) * sizeof *to);
    memcpy(to + k + (middle - left), from + right, (size_t)(end - right) * sizeof *to);
    at = end;
  }
  return count == 0;
}

/* A natural merge sort: rows that are sorted are 16 runs. */
static void mbi_cb_sort(mbi_cb_build *b, uint64_t strip) {
  const merbit_view *from = b->from;
  const uint64_t first = mbi_cb_offset(b, strip * MBI_CB_SIDE);
  const uint64_t count = mbi_cb_offset(b, (strip + 1) * MBI_CB_SIDE) - first;
  const int32_t *col_ind = (const int32_t *)from->col_ind;
  uint64_t *keys = b->keys + first, *other = b->spare + first, k, row;
  for (k = 0, row = 0; row < MBI_CB_SIDE; row++) {
    const uint64_t end = mbi_cb_offset(b, strip * MBI_CB_SIDE + row + 1) - first;
    for (; k < end; k++) {
      keys[k] = (uint64_t)(col_ind[first + k] - from->base) << (MBI_CB_PLACE + 4) |
                row << MBI_CB_PLACE | k;
    }
  }
  while (!mbi_cb_merge(keys, other, count)) {
    uint64_t *swapped = keys;
    keys = other;
    other = swapped;
  }
  if (keys != b->keys + first) {
    memcpy(other, keys, (size_t)count * sizeof *keys);
  }
}

/* ---- The blocks of a strip, one after another -------------------------------------------- */

typedef struct mbi_cb_cursor {
  const mbi_cb_build *build;
  int aggregated, crowded; /* crowded: entries of the group share a place */
  int form;
  const uint64_t *keys; /* of the strip */
  uint64_t count, group_to;
  uint32_t columns[MBI_CB_SIDE]; /* of the group */
  unsigned width;
  uint64_t from, to; /* the block's keys */
} mbi_cb_cursor;

static void mbi_cb_begin(const mbi_cb_build *b, uint64_t strip, int aggregated,
                         mbi_cb_cursor *c) {
  const uint64_t first = mbi_cb_offset(b, strip * MBI_CB_SIDE);
  memset(c, 0, sizeof *c);
  c->build = b;
  c->aggregated = aggregated;
  c->keys = b->keys + first;
  c->count = mbi_cb_offset(b, (strip + 1) * MBI_CB_SIDE) - first;
}

static unsigned mbi_cb_row(uint64_t key) {
  return (unsigned)(key >> MBI_CB_PLACE) & (MBI_CB_SIDE - 1);
}

static uint32_t mbi_cb_column(uint64_t key) {
  return (uint32_t)(key >> (MBI_CB_PLACE + 4));
}

/* The width that offsets from the first column take. */
static unsigned mbi_cb_width(const uint32_t *columns, unsigned count) {
  const uint32_t span = columns[count - 1] - columns[0];
  return span == count - 1 ? 0 : span < 256 ? 1 : span < 65536 ? 2 : 3;
}

/* The next up to 16 columns. */
static void mbi_cb_group(mbi_cb_cursor *c) {
  const uint32_t first = mbi_cb_column(c->keys[c->to]);
  const uint64_t end = c->aggregated ? UINT64_MAX : (uint64_t)(first | (MBI_CB_SIDE - 1)) + 1;
  uint64_t k = c->to;
  unsigned columns = 0;
  c->crowded = 0;
  for (; k < c->count; k++) {
    const uint32_t column = mbi_cb_column(c->keys[k]);
    if (columns > 0 && column == c->columns[columns - 1]) {
      c->crowded |= c->keys[k] >> MBI_CB_PLACE == c->keys[k - 1] >> MBI_CB_PLACE;
    } else if (columns == MBI_CB_SIDE || column >= end) {
      break;
    } else {
      c->columns[columns++] = column;
    }
  }
  c->group_to = k;
  c->width = c->aggregated ? mbi_cb_width(c->columns, columns) : 0;
  for (; columns < MBI_CB_SIDE; columns++) {
    c->columns[columns] = c->columns[columns - 1];
  }
}

/* 0 behind the last block. */
static int mbi_cb_next(mbi_cb_cursor *c) {
  const mbi_cb_options *options = c->build->options;
  uint64_t count;
  if (c->to == c->count) {
    return 0;
  }
  if (c->to == c->group_to) {
    mbi_cb_group(c);
  }
  count = c->group_to - c->to;
  count = c->crowded && count > MBI_CB_CROWDED ? MBI_CB_CROWDED : count;
  c->from = c->to;
  c->to += count;
  c->form = count < options->coo_max                  ? MBI_CB_COO
            : count > options->csr_max && !c->crowded ? MBI_CB_DENSE
                                                      : MBI_CB_CSR;
  return 1;
}

/* ---- Pass 1: count ----------------------------------------------------------------------- */

static void mbi_cb_count_task(void *argument, int task) {
  mbi_cb_build *b = (mbi_cb_build *)argument;
  const uint64_t end = mbi_cb_share(b, task + 1);
  uint64_t strip;
  int aggregated;
  for (strip = mbi_cb_share(b, task); strip < end; strip++) {
    mbi_cb_sort(b, strip);
    for (aggregated = 0; aggregated < 2; aggregated++) {
      mbi_cb_strip *counts = &b->strip[aggregated][strip];
      mbi_cb_cursor c;
      mbi_cb_begin(b, strip, aggregated, &c);
      memset(counts, 0, sizeof *counts);
      while (mbi_cb_next(&c)) {
        counts->blocks++;
        counts->sparse += c.to - c.from < MBI_CB_SPARSE;
        counts->bytes += mbi_cb_bytes(c.form, c.width, c.to - c.from, b->value_bytes);
      }
    }
  }
}

/* The choice of section 3.3.1, and counts become starts. */
static void mbi_cb_place(mbi_cb_build *b) {
  mbi_cb_format *f = b->format;
  mbi_cb_strip *strip = b->strip[0];
  uint64_t s, sparse = 0, blocks = 0;
  for (s = 0; s < b->strips; s++) {
    sparse += strip[s].sparse;
    blocks += strip[s].blocks;
  }
  f->aggregated = (double)sparse > b->options->aggregate * (double)blocks;
  strip = b->strip[f->aggregated];
  for (s = 0; s < b->strips; s++) {
    const mbi_cb_strip counts = strip[s];
    strip[s].blocks = f->blocks;
    strip[s].bytes = f->data_bytes;
    f->blocks += counts.blocks > 0 ? (counts.blocks + 1) / 2 * 2 : 2;
    f->data_bytes += counts.bytes;
  }
}

/* ==== >>spmv/cb_fill.c  blocks of 16 x 16: a second pass, and who multiplies which ======== */
/* ---- Pass 2: fill ------------------------------------------------------------------------ */

static void mbi_cb_put(const mbi_cb_cursor *c, unsigned char *values, uint64_t slot,
                       uint64_t key) {
  const mbi_cb_build *b = c->build;
  const uint64_t place = key & (((uint64_t)1 << MBI_CB_PLACE) - 1);
  const uint64_t from = (uint64_t)(c->keys - b->keys) + place;
  if (b->value_bytes == sizeof(float)) {
    memcpy(values + slot * sizeof(float), b->values + from * sizeof(float), sizeof(float));
  } else if (b->value_bytes == sizeof(double)) {
    memcpy(values + slot * sizeof(double), b->values + from * sizeof(double), sizeof(double));
  }
}

/* The columns of the group as the block stores them. */
static void mbi_cb_fill_columns(const mbi_cb_cursor *c, unsigned char *data) {
  unsigned i;
  for (i = 0; i < MBI_CB_SIDE; i++) {
    const uint32_t offset = c->columns[i] - c->columns[0];
    const uint16_t narrow = (uint16_t)offset;
    if (c->width == 1) {
      data[i] = (unsigned char)offset;
    } else if (c->width == 2) {
      memcpy(data + 2 * i, &narrow, sizeof narrow);
    } else if (c->width == 3) {
      memcpy(data + 4 * i, &offset, sizeof offset);
    }
  }
}

/* The place of a key's column among its group's; `from` is one that does not lie behind it. */
static unsigned mbi_cb_local(const mbi_cb_cursor *c, uint64_t key, unsigned from) {
  const uint32_t column = mbi_cb_column(key);
  if (!c->aggregated) {
    return column % MBI_CB_SIDE;
  }
  while (c->columns[from] != column) {
    from++;
  }
  return from;
}

/* COO and CSR; the steps for the block's word. */
static unsigned mbi_cb_fill_rows(const mbi_cb_cursor *c, unsigned char *data) {
  const uint64_t count = c->to - c->from;
  unsigned char *indices = data + (c->form == MBI_CB_CSR ? MBI_CB_SIDE : 0);
  unsigned char *values = indices + mbi_cb_pad(count, c->build->value_bytes);
  unsigned next[MBI_CB_SIDE + 1] = {0}, longest = 0, steps = 0, local = 0, row;
  uint64_t k;
  for (k = c->from; k < c->to; k++) {
    next[mbi_cb_row(c->keys[k]) + 1]++;
  }
  for (row = 0; row < MBI_CB_SIDE; row++) {
    longest = next[row + 1] > longest ? next[row + 1] : longest;
    next[row + 1] += next[row];
  }
  for (row = 0; row < MBI_CB_SIDE && c->form == MBI_CB_CSR; row++) {
    data[row] = (unsigned char)next[row];
  }
  for (k = c->from; k < c->to; k++) {
    row = mbi_cb_row(c->keys[k]);
    local = mbi_cb_local(c, c->keys[k], local);
    indices[next[row]] = (unsigned char)(row | local << 4);
    mbi_cb_put(c, values, next[row]++, c->keys[k]);
  }
  if (c->form == MBI_CB_CSR) {
    return longest;
  }
  while (steps < 4 && 1u << steps < longest) {
    steps++;
  }
  return steps;
}

static void mbi_cb_fill_dense(const mbi_cb_cursor *c, unsigned char *data) {
  uint16_t rows[MBI_CB_SIDE] = {0};
  unsigned local = 0;
  uint64_t k, slot = 0;
  for (k = c->from; k < c->to; k++) { /* in the order of the bits */
    local = mbi_cb_local(c, c->keys[k], local);
    rows[local] = (uint16_t)(rows[local] | 1u << mbi_cb_row(c->keys[k]));
    mbi_cb_put(c, data + sizeof rows, slot++, c->keys[k]);
  }
  memcpy(data, rows, sizeof rows);
}

static void mbi_cb_fill_strip(mbi_cb_build *b, uint64_t strip) {
  mbi_cb_format *f = b->format;
  mbi_cb_strip at = b->strip[f->aggregated][strip];
  const uint64_t first = at.blocks;
  mbi_cb_cursor c;
  mbi_cb_begin(b, strip, f->aggregated, &c);
  while (mbi_cb_next(&c)) {
    const uint64_t bytes = mbi_cb_bytes(c.form, c.width, c.to - c.from, b->value_bytes);
    unsigned char *data = f->data + at.bytes;
    unsigned steps = 0;
    memset(data, 0, (size_t)bytes);
    mbi_cb_fill_columns(&c, data);
    data += mbi_cb_column_bytes(c.width);
    if (c.form == MBI_CB_DENSE) {
      mbi_cb_fill_dense(&c, data);
    } else {
      steps = mbi_cb_fill_rows(&c, data);
    }
    f->first[at.blocks] =
        c.aggregated ? c.columns[0] : c.columns[0] / MBI_CB_SIDE * MBI_CB_SIDE;
    f->words[at.blocks++] = MBI_CB_WORD(c.to - c.from, c.form, steps, c.width, at.bytes);
    at.bytes += bytes;
  }
  while (at.blocks == first || at.blocks % 2 != 0) {
    f->first[at.blocks] = 0;
    f->words[at.blocks++] = MBI_CB_WORD(0, MBI_CB_COO, 0, 0, at.bytes);
  }
  f->words[at.blocks - 1] |= MBI_CB_END;
}

static void mbi_cb_fill_task(void *argument, int task) {
  mbi_cb_build *b = (mbi_cb_build *)argument;
  const uint64_t end = mbi_cb_share(b, task + 1);
  uint64_t strip;
  for (strip = mbi_cb_share(b, task); strip < end; strip++) {
    mbi_cb_fill_strip(b, strip);
  }
}

/* ---- Balance ----------------------------------------------------------------------------- */

/* In place of the paper's priority queue (section 3.4), which scatters neighbours over the GPU:
 * strips go to warps in their order, as many to each as keep it within `limit` steps, or one of
 * up to `cut`; a strip of more is cut into parts of as many, a warp each. The GPU deals thread
 * blocks to free processors, which is list scheduling: all ends within the mean load and one
 * thread block's, the bound that the queue has too (Graham, SIAM J. Appl. Math. 17, 1969). */
#define MBI_CB_PART 0x80000000u /* in task_target: the number of a part, not of a strip */
#define MBI_CB_MOST_PARTS 8192  /* of a strip: the fix-up adds them in turn */
#define MBI_CB_LEAST_LIMIT 20
#define MBI_CB_USUAL_LIMIT 128
#define MBI_CB_LEAST_CUT 32 /* below, a fix-up costs more than it gains */

/* Of the two blocks that begin here. */
static uint64_t mbi_cb_steps(const uint64_t *words) {
  return 2 + (MBI_CB_COUNT(words[0]) + MBI_CB_COUNT(words[1]) + 31) / 32;
}

/* The steps of the strip that begins at `*block`, which moves behind it. */
static uint64_t mbi_cb_measure(const mbi_cb_format *f, uint64_t *block) {
  uint64_t steps = 1;
  do {
    steps += mbi_cb_steps(f->words + *block);
    *block += 2;
  } while (!(f->words[*block - 1] & MBI_CB_END));
  return steps;
}

static void mbi_cb_survey(mbi_cb_format *f, const mbi_cb_options *options) {
  const uint64_t warps = 192 * (uint64_t)(options->processors > 0 ? options->processors : 1);
  uint64_t steps = 0, block;
  for (block = 0; block < f->blocks; block++) {
    steps += block % 2 == 0 ? mbi_cb_steps(f->words + block) : 0;
    f->forms[MBI_CB_FORM(f->words[block])] += MBI_CB_COUNT(f->words[block]) > 0;
  }
  f->limit = steps / warps;
  f->limit = f->limit < MBI_CB_LEAST_LIMIT ? MBI_CB_LEAST_LIMIT : f->limit;
  f->limit = f->limit > MBI_CB_USUAL_LIMIT ? MBI_CB_USUAL_LIMIT : f->limit;
  f->limit = options->steps > 0 ? options->steps : f->limit;
  f->cut = options->steps > 0 || f->limit > MBI_CB_LEAST_CUT ? f->limit : MBI_CB_LEAST_CUT;
}

static void mbi_cb_task(mbi_cb_format *f, int write, uint64_t block, uint64_t target) {
  if (write) {
    f->task_block[f->tasks] = block;
    f->task_target[f->tasks] = (uint32_t)target;
  }
  f->tasks++;
}

static void mbi_cb_split(mbi_cb_format *f, int write, uint64_t strip, uint64_t first,
                         uint64_t end, uint64_t steps) {
  const uint64_t least = steps / MBI_CB_MOST_PARTS + 1;
  const uint64_t limit = least > f->cut ? least : f->cut;
  uint64_t block, load = limit;
  if (write) {
    f->split_strip[f->splits] = (uint32_t)strip;
    f->split_part[f->splits] = (uint32_t)f->parts;
  }
  f->splits++;
  for (block = first; block < end; block += 2) {
    const uint64_t more = mbi_cb_steps(f->words + block);
    if (load + more > limit) {
      if (write && block > first) {
        f->words[block - 1] |= MBI_CB_END;
      }
      mbi_cb_task(f, write, block, MBI_CB_PART | f->parts);
      f->parts++;
      load = 0;
    }
    load += more;
  }
}

static void mbi_cb_deal(mbi_cb_format *f, uint64_t strips, int write) {
  uint64_t strip, block = 0, load = UINT64_MAX / 2;
  f->tasks = f->parts = f->splits = 0;
  for (strip = 0; strip < strips; strip++) {
    const uint64_t first = block, steps = mbi_cb_measure(f, &block);
    if (steps > f->cut) {
      mbi_cb_split(f, write, strip, first, block, steps);
      load = UINT64_MAX / 2;
    } else if (load + steps > f->limit) {
      mbi_cb_task(f, write, first, strip);
      load = steps;
    } else {
      load += steps;
    }
  }
  if (write) {
    f->task_block[f->tasks] = block;
    f->split_part[f->splits] = (uint32_t)f->parts;
  }
}

/* ---- The whole --------------------------------------------------------------------------- */

static void mbi_cb_format_free(merbit_context *context, mbi_cb_format *f) {
  mbi_release(context, f->words);
  mbi_release(context, f->first);
  mbi_release(context, f->data);
  mbi_release(context, f->task_block);
  mbi_release(context, f->task_target);
  mbi_release(context, f->split_strip);
  mbi_release(context, f->split_part);
  memset(f, 0, sizeof *f);
}

static merbit_status mbi_cb_array(merbit_context *context, uint64_t count, size_t size,
                                  const char *what, merbit_status status, void **array) {
  return status == MERBIT_OK ? mbi_allocate_array(context, (int64_t)count, size, what, array)
                             : status;
}

/* Numbers of strips and parts have 31 bits, of an entry in its strip 29. */
static merbit_status mbi_cb_check_sizes(merbit_context *context, const mbi_cb_build *b) {
  uint64_t strip, longest = 0;
  for (strip = 0; strip < b->strips; strip++) {
    const uint64_t count =
        mbi_cb_offset(b, (strip + 1) * MBI_CB_SIDE) - mbi_cb_offset(b, strip * MBI_CB_SIDE);
    longest = count > longest ? count : longest;
  }
  return b->strips >= MBI_CB_PART || longest >> MBI_CB_PLACE != 0
             ? mbi_fail(context, MERBIT_TOO_LARGE,
                        "blocks of 16 x 16 are for up to 2^31 - 1 strips of 16 rows and 2^29 "
                        "nonzeros in each, not %" PRIu64 " and %" PRIu64,
                        b->strips, longest)
             : MERBIT_OK;
}

static merbit_status mbi_cb_count(merbit_context *context, mbi_cb_build *b) {
  merbit_status status = mbi_cb_check_sizes(context, b);
  void *keys = NULL, *spare = NULL, *strips = NULL;
  const uint64_t nnz = (uint64_t)b->from->nnz;
  status = mbi_cb_array(context, nnz, sizeof *b->keys, "keys of nonzeros", status, &keys);
  status = mbi_cb_array(context, nnz, sizeof *b->spare, "keys being sorted", status, &spare);
  status = mbi_cb_array(context, 2 * b->strips, sizeof *b->strip[0], "strips of 16 rows",
                        status, &strips);
  b->keys = (uint64_t *)keys;
  b->spare = (uint64_t *)spare;
  b->strip[0] = (mbi_cb_strip *)strips;
  b->strip[1] = b->strip[0] + (status == MERBIT_OK ? b->strips : 0);
  if (status == MERBIT_OK) {
    mbi_parallel(context, b->tasks, mbi_cb_count_task, b);
    mbi_cb_place(b);
  }
  return status;
}

static merbit_status mbi_cb_fill(merbit_context *context, mbi_cb_build *b) {
  mbi_cb_format *f = b->format;
  void *words = NULL, *first = NULL, *data = NULL;
  merbit_status status = MERBIT_OK;
  status =
      mbi_cb_array(context, f->blocks + MBI_CB_SPARE, 8, "words of blocks", status, &words);
  status =
      mbi_cb_array(context, f->blocks + MBI_CB_SPARE, 4, "columns of blocks", status, &first);
  status = mbi_cb_array(context, f->data_bytes, 1, "data of blocks", status, &data);
  f->words = (uint64_t *)words;
  f->first = (uint32_t *)first;
  f->data = (unsigned char *)data;
  if (status == MERBIT_OK) {
    memset(f->words + f->blocks, 0, MBI_CB_SPARE * sizeof *f->words);
    memset(f->first + f->blocks, 0, MBI_CB_SPARE * sizeof *f->first);
    mbi_parallel(context, b->tasks, mbi_cb_fill_task, b);
  }
  return status;
}

static merbit_status mbi_cb_balance(merbit_context *context, mbi_cb_build *b) {
  mbi_cb_format *f = b->format;
  void *task_block = NULL, *task_target = NULL, *split_strip = NULL, *split_part = NULL;
  merbit_status status = MERBIT_OK;
  mbi_cb_survey(f, b->options);
  mbi_cb_deal(f, b->strips, 0);
  if (f->parts >= MBI_CB_PART) {
    return mbi_fail(context, MERBIT_TOO_LARGE, "%" PRIu64 " parts of strips are too many",
                    f->parts);
  }
  status = mbi_cb_array(context, f->tasks + 1, 8, "tasks", status, &task_block);
  status = mbi_cb_array(context, f->tasks, 4, "targets of tasks", status, &task_target);
  status = mbi_cb_array(context, f->splits, 4, "strips in parts", status, &split_strip);
  status = mbi_cb_array(context, f->splits + 1, 4, "parts of strips", status, &split_part);
  f->task_block = (uint64_t *)task_block;
  f->task_target = (uint32_t *)task_target;
  f->split_strip = (uint32_t *)split_strip;
  f->split_part = (uint32_t *)split_part;
  if (status == MERBIT_OK) {
    mbi_cb_deal(f, b->strips, 1);
  }
  return status;
}

/* The same bytes for any number of threads. Release `format` with mbi_cb_format_free, after a
 * failure too. `values` as they are stored, 0 bytes each: none. */
static merbit_status mbi_cb_create_format(merbit_context *context, const merbit_view *from,
                                          const void *values, size_t value_bytes,
                                          const mbi_cb_options *options,
                                          mbi_cb_format *format) {
  mbi_cb_build b;
  merbit_status status;
  memset(format, 0, sizeof *format);
  memset(&b, 0, sizeof b);
  b.from = from;
  b.values = (const char *)values;
  b.value_bytes = value_bytes;
  b.options = options;
  b.strips = ((uint64_t)from->rows + MBI_CB_SIDE - 1) / MBI_CB_SIDE;
  b.tasks = mbi_share_tasks(context, from->rows + 8 * from->nnz);
  b.format = format;
  status = mbi_cb_count(context, &b);
  if (status == MERBIT_OK) {
    status = mbi_cb_fill(context, &b);
  }
  if (status == MERBIT_OK) {
    status = mbi_cb_balance(context, &b);
  }
  mbi_release(context, b.keys);
  mbi_release(context, b.spare);
  mbi_release(context, b.strip[0]);
  return status;
}

/* ==== >>spmv/cb.c  CUDA: COO, CSR and dense blocks of 16 x 16 ============================= */
#define MBI_CB_FIXUP_THREADS 512
#define MBI_CB_AHEAD 2048

/* ---- Encode: on the CPU, from the plan's CSR --------------------------------------------- */

static merbit_status mbi_cb_options_take(merbit_plan *plan, mbi_cb_options *options) {
  const merbit_plan_desc *desc = &plan->desc;
  merbit_context *context = plan->context;
  mbi_cb *cb = &plan->cb;
  if (!(desc->cb_aggregate >= 0.0 && desc->cb_aggregate <= 1.0) || desc->cb_coo_max < 0 ||
      desc->cb_coo_max > 257 || desc->cb_csr_max < 0 || desc->cb_csr_max > 256) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.cb_aggregate is %g, cb_coo_max %d and cb_csr_max %d; use up to "
                    "1, 257 and 256, or 0 for 0.15, 32 and 128",
                    desc->cb_aggregate, desc->cb_coo_max, desc->cb_csr_max);
  }
  cb->threads = desc->block_threads != 0 ? desc->block_threads : 128;
  if (cb->threads < 32 || cb->threads > 512 || cb->threads % 32 != 0 ||
      (desc->sigma != 0 && (desc->sigma < MBI_CB_LEAST_LIMIT || desc->sigma > 65536))) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.sigma is %d and block_threads %d; use %d to 65536, and a "
                    "multiple of 32 up to 512",
                    desc->sigma, cb->threads, MBI_CB_LEAST_LIMIT);
  }
  options->aggregate = desc->cb_aggregate > 0.0 ? desc->cb_aggregate : 0.15;
  options->coo_max = desc->cb_coo_max > 0 ? (uint64_t)desc->cb_coo_max : MBI_CB_SPARSE;
  options->csr_max = desc->cb_csr_max > 0 ? (uint64_t)desc->cb_csr_max : 128;
  options->steps = (uint64_t)desc->sigma;
  options->processors = context->device.multiprocessors;
  return MERBIT_OK;
}

/* The plan's CSR on the host: the user's own arrays if they are there; values as the plan
 * stores them, which are the user's only while the plan is made for the first time. Release
 * what is not the user's with mbi_cb_host_release, after a failure too. */
static merbit_status mbi_cb_host_take(const merbit_plan *plan, merbit_view *host) {
  const mbi_device_csr *csr = &plan->device;
  merbit_context *context = plan->context;
  const int there = plan->csr.memory != MERBIT_MEMORY_DEVICE;
  merbit_status status = MERBIT_OK;
  *host = plan->csr;
  host->memory = MERBIT_MEMORY_HOST;
  host->index_type = MERBIT_INDEX_32;
  host->values = NULL;
  if (!there) {
    host->row_ptr = host->col_ind = NULL;
    status =
        mbi_array_download(context, mbi_device_pointer(csr->row_ptr), (int64_t)csr->rows + 1,
                           mbi_index_bytes(csr->offset_type), &host->row_ptr);
    if (status == MERBIT_OK) {
      status = mbi_array_download(context, mbi_device_pointer(csr->col_ind), (int64_t)csr->nnz,
                                  sizeof(int32_t), &host->col_ind);
    }
  }
  if (status == MERBIT_OK && mbi_value_bytes(plan) > 0) {
    if (there && plan->workspace == NULL && csr->form == MBI_VALUES_GENERAL) {
      host->values = plan->csr.values;
    } else {
      status = mbi_array_download(context, mbi_device_pointer(csr->values), (int64_t)csr->nnz,
                                  mbi_value_bytes(plan), &host->values);
    }
  }
  return status;
}

static void mbi_cb_host_release(const merbit_plan *plan, merbit_view *host) {
  if (plan->csr.memory == MERBIT_MEMORY_DEVICE) {
    mbi_release(plan->context, (void *)(uintptr_t)host->row_ptr);
    mbi_release(plan->context, (void *)(uintptr_t)host->col_ind);
  }
  if (host->values != plan->csr.values || plan->csr.memory == MERBIT_MEMORY_DEVICE) {
    mbi_release(plan->context, (void *)(uintptr_t)host->values);
  }
}

/* Release `format` after a failure too. */
static merbit_status mbi_cb_encode(merbit_plan *plan, mbi_cb_format *format) {
  mbi_cb_options options;
  merbit_view host;
  merbit_status status = mbi_cb_options_take(plan, &options);
  memset(format, 0, sizeof *format);
  if (status != MERBIT_OK || plan->device.rows == 0) {
    return status;
  }
  status = mbi_cb_host_take(plan, &host);
  if (status == MERBIT_OK) {
    status = mbi_cb_create_format(plan->context, &host, host.values, mbi_value_bytes(plan),
                                  &options, format);
  }
  mbi_cb_host_release(plan, &host);
  return status;
}

/* An array of the format to the GPU; plan->schedule_bytes counts it. Behind the data there is
 * room for what the kernel brings to L2 ahead. */
static merbit_status mbi_cb_upload(merbit_plan *plan, const void *source, uint64_t bytes,
                                   const char *what, merbit_status status, mbi_devptr *target) {
  const uint64_t room = bytes + (target == &plan->cb.data ? MBI_CB_AHEAD : 0);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(plan->context, room, what, target);
  }
  if (status == MERBIT_OK) {
    plan->schedule_bytes += room;
    status = mbi_device_upload(plan->context, *target, source, (size_t)bytes);
  }
  return status;
}

static merbit_status mbi_cb_upload_all(merbit_plan *plan, const mbi_cb_format *f) {
  mbi_cb *cb = &plan->cb;
  const uint64_t blocks = f->blocks + MBI_CB_SPARE;
  merbit_status status = MERBIT_OK;
  status = mbi_cb_upload(plan, f->words, blocks * 8, "blocks", status, &cb->words);
  status = mbi_cb_upload(plan, f->first, blocks * 4, "columns of blocks", status, &cb->first);
  status = mbi_cb_upload(plan, f->data, f->data_bytes, "data of blocks", status, &cb->data);
  status =
      mbi_cb_upload(plan, f->task_block, (f->tasks + 1) * 8, "tasks", status, &cb->task_block);
  status = mbi_cb_upload(plan, f->task_target, f->tasks * 4, "targets of tasks", status,
                         &cb->task_target);
  plan->stream_bytes =
      plan->schedule_bytes + 2 * f->parts * MBI_CB_SIDE * (uint64_t)mbi_type_size(plan->type);
  if (f->splits > 0) {
    status = mbi_cb_upload(plan, f->split_strip, f->splits * 4, "strips in parts", status,
                           &cb->split_strip);
    status = mbi_cb_upload(plan, f->split_part, (f->splits + 1) * 4, "parts of strips", status,
                           &cb->split_part);
  }
  cb->aggregated = f->aggregated;
  cb->limit = f->limit;
  cb->block_count = f->blocks;
  cb->tasks = f->tasks;
  cb->parts = f->parts;
  cb->splits = f->splits;
  cb->data_bytes = f->data_bytes;
  memcpy(cb->forms, f->forms, sizeof cb->forms);
  return status;
}

/* ---- Specialise -------------------------------------------------------------------------- */

/* Blocks on a multiprocessor: as many as leave enough registers, of which addresses take more
 * from compute capability 10.0 on. */
static int mbi_cb_resident(const merbit_plan *plan) {
  const int capability = plan->context->device.compute_capability;
  const int threads = capability >= 100                              ? 768
                      : capability == 90 && plan->type == MERBIT_F32 ? 1280
                                                                     : 1024;
  const int blocks = threads / plan->cb.threads;
  return blocks > 16 ? 16 : blocks;
}

static void mbi_cb_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_AGGREGATED", plan->cb.aggregated);
  mbi_preamble_define_int(preamble, "MBK_ONCE", plan->once);
  mbi_preamble_define_int(preamble, "MBK_THREADS", plan->cb.threads);
  mbi_preamble_define_int(preamble, "MBK_BLOCKS", mbi_cb_resident(plan));
}

static merbit_status mbi_cb_specialise(merbit_plan *plan) {
  mbi_cb *cb = &plan->cb;
  mbi_preamble preamble;
  merbit_status status;
  mbi_cb_preamble(plan, &preamble);
  status = mbi_program_create(plan->context, "spmv/cb.cu", &preamble, &plan->program);
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(plan->context, &plan->program, "mbk_cb_product", &cb->product);
  }
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(plan->context, &plan->program, "mbk_cb_fixup", &cb->fixup);
  }
  return status;
}

static merbit_status mbi_cb_create(merbit_plan *plan) {
  mbi_cb_format format;
  merbit_status status = mbi_cb_encode(plan, &format);
  if (status == MERBIT_OK && plan->device.rows > 0) {
    status = mbi_cb_upload_all(plan, &format);
    if (status == MERBIT_OK) {
      status = mbi_cb_specialise(plan);
    }
  }
  mbi_cb_format_free(plan->context, &format);
  return status;
}

/* New values: the same blocks once more on the CPU, of which only the data differ. A map of
 * each value's place would cost as much memory as the columns of a CSR. */
static merbit_status mbi_cb_refresh(merbit_plan *plan) {
  mbi_cb_format format;
  merbit_status status = mbi_cb_encode(plan, &format);
  if (status == MERBIT_OK) {
    status =
        mbi_device_upload(plan->context, plan->cb.data, format.data, (size_t)format.data_bytes);
  }
  mbi_cb_format_free(plan->context, &format);
  return status;
}

static void mbi_cb_destroy(merbit_plan *plan) {
  mbi_cb *cb = &plan->cb;
  mbi_device_release(plan->context, cb->words);
  mbi_device_release(plan->context, cb->first);
  mbi_device_release(plan->context, cb->data);
  mbi_device_release(plan->context, cb->task_block);
  mbi_device_release(plan->context, cb->task_target);
  mbi_device_release(plan->context, cb->split_strip);
  mbi_device_release(plan->context, cb->split_part);
  mbi_program_destroy(plan->context, &plan->program);
}

/* ---- Launch ------------------------------------------------------------------------------ */

/* The sums of the parts of strips. */
static uint64_t mbi_cb_carry_bytes(const merbit_plan *plan) {
  return plan->cb.parts * MBI_CB_SIDE * mbi_type_size(plan->type);
}

static merbit_status mbi_cb_launch_fixup(merbit_plan *plan, mbi_devptr carries,
                                         const void *alpha, const void *beta, mbi_devptr y,
                                         void *stream) {
  mbi_cb *cb = &plan->cb;
  void *arguments[7];
  arguments[0] = &cb->split_strip;
  arguments[1] = &cb->split_part;
  arguments[2] = &carries;
  arguments[3] = &y;
  arguments[4] = &plan->device.rows;
  arguments[5] = (void *)(uintptr_t)alpha;
  arguments[6] = (void *)(uintptr_t)beta;
  return mbi_device_launch_early(
      plan->context, cb->fixup, "mbk_cb_fixup", (int64_t)cb->splits, MBI_CB_FIXUP_THREADS,
      (unsigned)(MBI_CB_FIXUP_THREADS * mbi_type_size(plan->type)), stream, arguments);
}

static merbit_status mbi_cb_multiply(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                                     mbi_devptr x, const void *beta, mbi_devptr y,
                                     void *stream) {
  mbi_cb *cb = &plan->cb;
  const uint64_t warps = (uint64_t)cb->threads / 32;
  void *arguments[14];
  merbit_status status;
  arguments[0] = &cb->task_block;
  arguments[1] = &cb->task_target;
  arguments[2] = &cb->words;
  arguments[3] = &cb->first;
  arguments[4] = &cb->data;
  arguments[5] = &plan->device.values;
  arguments[6] = &x;
  arguments[7] = &y;
  arguments[8] = &carries;
  arguments[9] = &plan->device.rows;
  arguments[10] = &plan->device.cols;
  arguments[11] = &cb->tasks;
  arguments[12] = (void *)(uintptr_t)alpha;
  arguments[13] = (void *)(uintptr_t)beta;
  status = mbi_device_launch_early(
      plan->context, cb->product, "mbk_cb_product", (int64_t)((cb->tasks + warps - 1) / warps),
      cb->threads, (unsigned)((unsigned)cb->threads * mbi_type_size(plan->type)), stream,
      arguments);
  return status == MERBIT_OK && cb->splits > 0
             ? mbi_cb_launch_fixup(plan, carries, alpha, beta, y, stream)
             : status;
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_cb_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->sigma = (int)plan->cb.limit;
  info->omega = 32;
  info->block_threads = plan->cb.threads;
  info->tiles = (int64_t)plan->cb.block_count;
}

static int mbi_cb_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_cb *cb = &plan->cb;
  const double csr =
      (double)(mbi_device_csr_stream_bytes(plan) +
               (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type));
  return snprintf(text, size,
                  "%" PRIu64 " COO, %" PRIu64 " CSR and %" PRIu64 " dense blocks of 16 x 16, "
                  "columns %s, %.3g times the bytes of CSR, %" PRIu64 " warps, %" PRIu64
                  " parts of %" PRIu64 " block rows, %d threads",
                  cb->forms[MBI_CB_COO], cb->forms[MBI_CB_CSR], cb->forms[MBI_CB_DENSE],
                  cb->aggregated ? "aggregated" : "as they are",
                  (double)plan->schedule_bytes / csr, cb->tasks, cb->parts, cb->splits,
                  cb->threads);
}

static const mbi_cuda_method mbi_cb_method = {
    mbi_cb_create, mbi_cb_destroy,  mbi_cb_carry_bytes, mbi_cb_multiply,
    mbi_cb_info,   mbi_cb_describe, mbi_cb_refresh};

/* ==== >>spmv/values.c  CUDA: values stored shorter, without a loss ======================== */
/* Values stored shorter than as they come, without a loss: one for all, or doubles as floats.
 */

/* Products from which on looking at the values, and copying them, has paid for itself. */
#define MBI_VALUES_CALLS 8
#define MBI_VALUES_BLOCKS 1024

static int64_t mbi_values_blocks(uint64_t nnz) {
  return nnz / 256 < MBI_VALUES_BLOCKS ? (int64_t)(nnz / 256 + 1) : MBI_VALUES_BLOCKS;
}

/* What a plan's values may be stored as. */
typedef struct mbi_values_found {
  int equal;  /* one for all */
  int single; /* floats */
} mbi_values_found;

/* Of the general values at `values`, by an arrays program. */
static merbit_status mbi_values_find(merbit_plan *plan, mbi_program *program, mbi_devptr values,
                                     mbi_values_found *what) {
  merbit_context *context = plan->context;
  uint32_t found[2] = {0, 0}, wide = plan->type == MERBIT_F64;
  void *kernel = NULL, *arguments[5];
  mbi_devptr unequal = 0, inexact;
  merbit_status status = mbi_program_kernel(context, program, "mbk_arrays_forms", &kernel);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, sizeof found, "what the values are like", &unequal);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_upload(context, unequal, found, sizeof found);
  }
  inexact = unequal + sizeof found[0];
  arguments[0] = &values;
  arguments[1] = &plan->device.nnz;
  arguments[2] = &wide;
  arguments[3] = &unequal;
  arguments[4] = &inexact;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, kernel, "mbk_arrays_forms",
                               mbi_values_blocks(plan->device.nnz), 256, 0, NULL, arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, found, unequal, sizeof found);
  }
  mbi_device_release(context, unequal);
  what->equal = found[0] == 0;
  what->single = found[1] == 0;
  return status;
}

/* General values at `values` to the array at `stored`, in a form that fits them. */
static merbit_status mbi_values_store(merbit_plan *plan, mbi_program *program,
                                      mbi_value_form form, mbi_devptr values,
                                      mbi_devptr stored) {
  merbit_context *context = plan->context;
  void *kernel = NULL, *arguments[3];
  merbit_status status;
  if (form == MBI_VALUES_EQUAL) {
    return mbi_device_copy(context, stored, values, mbi_type_size(plan->type));
  }
  status = mbi_program_kernel(context, program, "mbk_arrays_shorten", &kernel);
  arguments[0] = &values;
  arguments[1] = &plan->device.nnz;
  arguments[2] = &stored;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, kernel, "mbk_arrays_shorten",
                               mbi_values_blocks(plan->device.nnz), 256, 0, NULL, arguments);
  }
  return status == MERBIT_OK ? mbi_device_synchronize(context, NULL) : status;
}

/* Put plan->device.values into the shortest form; after mbi_ranks_need. */
static merbit_status mbi_values_specialise(merbit_plan *plan) {
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->device;
  const uint64_t size = mbi_type_size(plan->type);
  mbi_values_found found;
  mbi_value_form form;
  mbi_devptr stored = 0;
  uint64_t bytes;
  merbit_status status = mbi_values_find(plan, &plan->ranks.program, csr->values, &found);
  if (status != MERBIT_OK || !(found.equal || found.single)) {
    return status;
  }
  form = found.equal ? MBI_VALUES_EQUAL : MBI_VALUES_SINGLE;
  bytes = form == MBI_VALUES_EQUAL ? size : csr->nnz * sizeof(float);
  status = mbi_device_allocate(context, bytes, "shorter values", &stored);
  if (status == MERBIT_OK) {
    status = mbi_values_store(plan, &plan->ranks.program, form, csr->values, stored);
  }
  if (status != MERBIT_OK) {
    mbi_device_release(context, stored);
    return status;
  }
  if (csr->owns_values) {
    mbi_device_release(context, csr->values);
    csr->bytes -= csr->nnz * size;
  }
  csr->values = stored;
  csr->owns_values = 1;
  csr->bytes += bytes;
  csr->form = form;
  return MERBIT_OK;
}

/* ==== >>spmv/full.c  CUDA: a CSR of full blocks as blocks ================================= */
/* ---- Encode: a CSR of full blocks as blocks, for the kernels of spmv/bsr.c
 * ------------------- */

static int mbi_full_blocks(const mbi_ranks *ranks) {
  return ranks->block_rows * ranks->block_cols >= 4;
}

/* The CSR and its ranks wait in plan->full. */
static void mbi_full_enter(merbit_plan *plan) {
  plan->full.csr = plan->device;
  plan->full.ranks = plan->ranks;
  memset(&plan->ranks, 0, sizeof plan->ranks);
  memset(&plan->device, 0, sizeof plan->device);
}

/* plan->bsr and plan->device become those of so many blocks, whose places are allocated. */
static merbit_status mbi_full_allocate(merbit_plan *plan, int high, int wide, uint64_t blocks,
                                       merbit_index_type offset_type) {
  const mbi_device_csr *from = &plan->full.csr;
  merbit_view *view = &plan->bsr.view;
  mbi_device_csr *csr = &plan->device;
  merbit_status status;
  csr->offset_type = offset_type;
  csr->rows = (uint64_t)mbi_block_count((int64_t)from->rows, high);
  csr->cols = (uint64_t)mbi_block_count((int64_t)from->cols, wide);
  csr->nnz = blocks;
  *view = merbit_bsr((int64_t)from->rows, (int64_t)from->cols, (int64_t)blocks, high, wide,
                     NULL, NULL, NULL);
  view->value_type = plan->type;
  view->memory = MERBIT_MEMORY_DEVICE;
  plan->bsr.entries = (int64_t)from->nnz;
  csr->bytes = (csr->rows + 1) * mbi_index_bytes(csr->offset_type);
  csr->owns_row_ptr = csr->owns_col_ind = 1;
  status = mbi_device_allocate(plan->context, csr->bytes, "offsets of blocks", &csr->row_ptr);
  if (status == MERBIT_OK) {
    const uint64_t columns = csr->nnz * sizeof(int32_t);
    csr->bytes += columns;
    status = mbi_device_allocate(plan->context, columns, "columns of blocks", &csr->col_ind);
  }
  return status;
}

/* ---- Specialise -------------------------------------------------------------------------- */

static merbit_status mbi_full_specialise(merbit_plan *plan) {
  mbi_full *full = &plan->full;
  mbi_preamble preamble;
  merbit_status status;
  memset(&preamble, 0, sizeof preamble);
  mbi_preamble_define(&preamble, "MBK_ROW_PTR",
                      full->csr.offset_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define(&preamble, "MBK_VALUE", plan->type == MERBIT_F32 ? "float" : "double");
  mbi_preamble_define_int(&preamble, "MBK_BASE", full->csr.base);
  mbi_preamble_define_int(&preamble, "MBK_HIGH", plan->bsr.view.block_rows);
  mbi_preamble_define_int(&preamble, "MBK_WIDE", plan->bsr.view.block_cols);
  status = mbi_program_create(plan->context, "spmv/full.cu", &preamble, &full->program);
  if (status == MERBIT_OK) {
    status =
        mbi_program_kernel(plan->context, &full->program, "mbk_full_places", &full->kernels[0]);
  }
  return status == MERBIT_OK ? mbi_program_kernel(plan->context, &full->program,
                                                  "mbk_full_values", &full->kernels[1])
                             : status;
}

/* ---- Launch ------------------------------------------------------------------------------ */

static merbit_status mbi_full_places(merbit_plan *plan) {
  void *arguments[5];
  arguments[0] = &plan->full.csr.row_ptr;
  arguments[1] = &plan->full.csr.col_ind;
  arguments[2] = &plan->device.rows;
  arguments[3] = &plan->device.row_ptr;
  arguments[4] = &plan->device.col_ind;
  return mbi_device_launch(plan->context, plan->full.kernels[0], "mbk_full_places",
                           (int64_t)(plan->device.rows / 8 + 1), 256, 0, NULL, arguments);
}

/* plan->device.values become those at `from`, which are in the order of the CSR, block by
 * block. */
static merbit_status mbi_full_values(merbit_plan *plan, mbi_devptr from) {
  mbi_device_csr *csr = &plan->device;
  const uint64_t bytes = plan->full.csr.nnz * mbi_type_size(plan->type);
  uint64_t rows = plan->full.csr.rows;
  void *arguments[4];
  merbit_status status =
      mbi_device_allocate(plan->context, bytes, "values of blocks", &csr->values);
  csr->owns_values = status == MERBIT_OK;
  csr->bytes += status == MERBIT_OK ? bytes : 0;
  arguments[0] = &plan->full.csr.row_ptr;
  arguments[1] = &from;
  arguments[2] = &rows;
  arguments[3] = &csr->values;
  return status != MERBIT_OK
             ? status
             : mbi_device_launch(plan->context, plan->full.kernels[1], "mbk_full_values",
                                 (int64_t)((rows + 7) / 8), 256, 0, NULL, arguments);
}

/* For new values in the order of the CSR, which the plan has taken: `put` brings them to the
 * blocks. */
static merbit_status mbi_full_refill(merbit_plan *plan,
                                     merbit_status (*put)(merbit_plan *plan, mbi_devptr from)) {
  mbi_device_csr *csr = &plan->device;
  const mbi_devptr from = csr->values;
  merbit_status status;
  csr->bytes -= plan->full.csr.nnz * mbi_type_size(plan->type);
  status = put(plan, from);
  if (status == MERBIT_OK) {
    status = mbi_bsr_fill(plan);
  }
  mbi_device_release(plan->context, from);
  return status;
}

static merbit_status mbi_full_refresh(merbit_plan *plan) {
  return mbi_full_refill(plan, mbi_full_values);
}

/* Once the choice is made, of an uploaded CSR only the offsets are needed again, for new
 * values; of one whose blocks have holes the columns too. */
static void mbi_full_let_go(merbit_plan *plan) {
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->full.csr;
  if (csr->owns_col_ind && !plan->full.carved) {
    mbi_device_release(context, csr->col_ind);
    csr->bytes -= csr->nnz * sizeof(int32_t);
    csr->owns_col_ind = 0;
    csr->col_ind = 0;
  }
  if (csr->owns_values) {
    mbi_device_release(context, csr->values);
    csr->bytes -= csr->nnz * mbi_type_size(plan->type);
  }
  csr->owns_values = 0;
  csr->values = 0;
  mbi_ranks_destroy(context, &plan->full.ranks);
  plan->device.bytes += csr->bytes;
}

static merbit_status mbi_full_create(merbit_plan *plan) {
  const int high = plan->ranks.block_rows, wide = plan->ranks.block_cols;
  merbit_status status;
  mbi_full_enter(plan);
  status = mbi_full_allocate(plan, high, wide, plan->full.csr.nnz / (uint64_t)(high * wide),
                             plan->full.csr.offset_type);
  if (status == MERBIT_OK) {
    status = mbi_full_specialise(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_full_places(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_full_values(plan, plan->full.csr.values);
  }
  return status == MERBIT_OK ? mbi_bsr_create(plan) : status;
}

/* The plan has its CSR again, or what is left of it. */
static void mbi_full_destroy(merbit_plan *plan) {
  mbi_full *full = &plan->full;
  if (full->csr.rows == 0) {
    return; /* taken apart before */
  }
  mbi_bsr_destroy(plan);
  mbi_program_destroy(plan->context, &full->program);
  mbi_ranks_destroy(plan->context, &plan->ranks);
  mbi_device_csr_destroy(plan->context, &plan->device);
  plan->device = full->csr;
  plan->ranks = full->ranks;
  memset(&plan->bsr, 0, sizeof plan->bsr);
  memset(full, 0, sizeof *full);
}

static const mbi_cuda_method mbi_full_method = {
    mbi_full_create, mbi_full_destroy, mbi_bsr_carry_bytes, mbi_bsr_multiply,
    mbi_bsr_info,    mbi_bsr_describe, mbi_full_refresh};

/* ==== >>spmv/carve.c  CUDA: any CSR as blocks ============================================= */
/* A CSR in GPU memory becomes blocks there, with masks where they have holes: the arrays that
 * matrix/blocks.c makes on the CPU. Its rows must ascend; equal columns are added up. */
#define MBI_CARVE_CHUNK 1024 /* rows of blocks whose counts are summed, as in spmv/carve.cu */

enum { MBI_CARVE_COUNT, MBI_CARVE_SUMS, MBI_CARVE_OFFSETS, MBI_CARVE_FILL, MBI_CARVE_KERNELS };

typedef struct mbi_carve_tally { /* as the GPU counts them */
  uint64_t blocks, inside, entries;
  uint64_t descends; /* not 0: a row does, and the others mean nothing */
} mbi_carve_tally;

typedef struct mbi_carve { /* while blocks are made */
  merbit_plan *plan;
  merbit_view csr; /* without its arrays; after mbi_carve_order nnz counts each place once */
  mbi_devptr answers, counts, sums;
} mbi_carve;

/* ---- Specialise -------------------------------------------------------------------------- */

static void mbi_carve_preamble(const merbit_plan *plan, const mbi_device_csr *csr,
                               mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_ROW_PTR",
                      csr->offset_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define(preamble, "MBK_VALUE", plan->type == MERBIT_F32 ? "float" : "double");
  mbi_preamble_define_int(preamble, "MBK_BASE", csr->base);
}

static merbit_status mbi_carve_specialise(merbit_plan *plan) {
  static const char *const names[MBI_CARVE_KERNELS] = {"mbk_carve_count", "mbk_carve_sums",
                                                       "mbk_carve_offsets", "mbk_carve_fill"};
  mbi_full *full = &plan->full;
  mbi_preamble preamble;
  merbit_status status;
  int i;
  mbi_carve_preamble(plan, &full->csr, &preamble);
  status = mbi_program_create(plan->context, "spmv/carve.cu", &preamble, &full->program);
  for (i = 0; i < MBI_CARVE_KERNELS && status == MERBIT_OK; i++) {
    status = mbi_program_kernel(plan->context, &full->program, names[i], &full->kernels[i]);
  }
  return status;
}

/* ---- Count ------------------------------------------------------------------------------- */

/* Lanes to a row of blocks. */
static uint32_t mbi_carve_group(int height) {
  uint32_t group = 1;
  while ((int)group < height && group < 32) {
    group *= 2;
  }
  return group;
}

/* The answer number `answer`, of windows of the matrix or, for 0 of them, of all of it. */
static merbit_status mbi_carve_count(mbi_carve *c, const merbit_bsr_desc *shape, int windows,
                                     int answer) {
  merbit_plan *plan = c->plan;
  mbi_device_csr *csr = &plan->full.csr;
  const int height = shape->block_rows;
  const int64_t most = 8 * (int64_t)plan->context->device.multiprocessors;
  uint32_t high = (uint32_t)height, wide = (uint32_t)shape->block_cols;
  uint32_t group = mbi_carve_group(height);
  uint64_t block_rows = (uint64_t)mbi_block_count(c->csr.rows, height);
  uint64_t spans = (uint64_t)(mbi_shape_span(&c->csr, windows) / height);
  uint32_t rest = (uint32_t)(mbi_shape_span(&c->csr, windows) % height);
  uint32_t count = (uint32_t)mbi_shape_rows(&c->csr, windows, height);
  uint32_t parts = windows > 0 ? (uint32_t)windows : 1;
  mbi_devptr to = c->answers + (uint64_t)answer * sizeof(mbi_carve_tally);
  const int64_t blocks = (int64_t)((uint64_t)parts * count * group / 256) + 1;
  void *arguments[15];
  arguments[0] = &csr->row_ptr;
  arguments[1] = &csr->col_ind;
  arguments[2] = &csr->rows;
  arguments[3] = &csr->cols;
  arguments[4] = &block_rows;
  arguments[5] = &high;
  arguments[6] = &wide;
  arguments[7] = &group;
  arguments[8] = &parts;
  arguments[9] = &spans;
  arguments[10] = &rest;
  arguments[11] = &count;
  arguments[12] = &c->counts;
  arguments[13] = &c->sums;
  arguments[14] = &to;
  return mbi_device_launch(plan->context, plan->full.kernels[MBI_CARVE_COUNT],
                           "mbk_carve_count", blocks < most ? blocks : most, 256, 0, NULL,
                           arguments);
}

/* `shapes` answers of the same windows. */
static merbit_status mbi_carve_count_all(mbi_carve *c, const merbit_bsr_desc *shapes, int count,
                                         int windows, mbi_carve_tally *tallies) {
  merbit_context *context = c->plan->context;
  const size_t bytes = (size_t)count * sizeof *tallies;
  merbit_status status = mbi_device_zero(context, c->answers, bytes, NULL);
  int i;
  for (i = 0; i < count && status == MERBIT_OK; i++) {
    status = mbi_carve_count(c, &shapes[i], windows, i);
  }
  return status == MERBIT_OK ? mbi_device_download(context, tallies, c->answers, bytes)
                             : status;
}

/* ---- The shape, as matrix/block_shape.c finds it ----------------------------------------- */

/* Bytes of an entry for every candidate. */
static merbit_status mbi_carve_sample(mbi_carve *c, double *bytes) {
  merbit_bsr_desc shapes[MBI_SHAPE_CANDIDATES];
  mbi_carve_tally tallies[MBI_SHAPE_CANDIDATES];
  const merbit_view *csr = &c->csr;
  const int windows = mbi_shape_windows(csr);
  merbit_status status;
  int i, w;
  memset(shapes, 0, sizeof shapes);
  for (i = 0; i < MBI_SHAPE_CANDIDATES; i++) {
    mbi_shape_of(i, &shapes[i]);
  }
  status = mbi_carve_count_all(c, shapes, MBI_SHAPE_CANDIDATES, windows, tallies);
  for (i = 0; i < MBI_SHAPE_CANDIDATES && status == MERBIT_OK; i++) {
    const mbi_carve_tally *t = &tallies[i];
    const int height = shapes[i].block_rows;
    int64_t rows = 0, first, last;
    for (w = 0; w < windows || w == 0; w++) {
      const int64_t end = mbi_shape_window(csr, windows, w, height, &first, &last);
      rows += end - first * height;
    }
    bytes[i] = t->entries == 0
                   ? DBL_MAX
                   : (double)mbi_shape_bytes(csr, &shapes[i], rows, (int64_t)t->blocks,
                                             t->inside == t->entries, MBI_MASKS_READ) /
                         (double)t->entries;
  }
  return status;
}

/* Of c->csr, whose rows ascend. */
static merbit_status mbi_carve_find(mbi_carve *c, merbit_bsr_desc *shape) {
  double bytes[MBI_SHAPE_CANDIDATES];
  merbit_bsr_desc finalists[MBI_SHAPE_FINALISTS];
  mbi_carve_tally tallies[MBI_SHAPE_FINALISTS];
  int64_t least;
  int i;
  merbit_status status = mbi_carve_sample(c, bytes);
  shape->block_rows = shape->block_cols = 1;
  least = mbi_shape_bytes(&c->csr, shape, c->csr.rows, c->csr.nnz, 1, MBI_MASKS_READ);
  memset(finalists, 0, sizeof finalists);
  for (i = 0; i < MBI_SHAPE_FINALISTS && status == MERBIT_OK; i++) {
    mbi_shape_of(mbi_shape_next(bytes), &finalists[i]);
  }
  if (status == MERBIT_OK) {
    status = mbi_carve_count_all(c, finalists, MBI_SHAPE_FINALISTS, 0, tallies);
  }
  for (i = 0; i < MBI_SHAPE_FINALISTS && status == MERBIT_OK; i++) {
    const int64_t moved =
        mbi_shape_bytes(&c->csr, &finalists[i], c->csr.rows, (int64_t)tallies[i].blocks,
                        tallies[i].inside == tallies[i].entries, MBI_MASKS_READ);
    if (moved < least) {
      least = moved;
      *shape = finalists[i];
    }
  }
  return status;
}

/* ---- Fill -------------------------------------------------------------------------------- */

/* Columns, masks and values, each unless 0; the values from those at `from`, or ones. */
static merbit_status mbi_carve_fill(merbit_plan *plan, mbi_devptr from, mbi_devptr columns,
                                    mbi_devptr masks, mbi_devptr values) {
  mbi_device_csr *csr = &plan->full.csr;
  const int height = plan->bsr.view.block_rows;
  uint32_t high = (uint32_t)height, wide = (uint32_t)plan->bsr.view.block_cols;
  uint32_t group = mbi_carve_group(height);
  uint32_t large = plan->device.offset_type == MERBIT_INDEX_64;
  void *arguments[14];
  arguments[0] = &csr->row_ptr;
  arguments[1] = &csr->col_ind;
  arguments[2] = &from;
  arguments[3] = &csr->rows;
  arguments[4] = &csr->cols;
  arguments[5] = &plan->device.rows;
  arguments[6] = &high;
  arguments[7] = &wide;
  arguments[8] = &group;
  arguments[9] = &plan->device.row_ptr;
  arguments[10] = &large;
  arguments[11] = &columns;
  arguments[12] = &masks;
  arguments[13] = &values;
  return mbi_device_launch(plan->context, plan->full.kernels[MBI_CARVE_FILL], "mbk_carve_fill",
                           (int64_t)(plan->device.rows * group / 256) + 1, 256, 0, NULL,
                           arguments);
}

/* plan->device.values, zero where there is no entry; but what masks leave out is never read. */
static merbit_status mbi_carve_allocate_values(merbit_plan *plan) {
  mbi_device_csr *csr = &plan->device;
  const merbit_view *view = &plan->bsr.view;
  const uint64_t stored = (uint64_t)mbi_view_values(view);
  const uint64_t bytes = stored * mbi_type_size(plan->type);
  const merbit_status status =
      mbi_device_allocate(plan->context, bytes, "values of blocks", &csr->values);
  csr->owns_values = status == MERBIT_OK;
  csr->bytes += status == MERBIT_OK ? bytes : 0;
  return status != MERBIT_OK || plan->bsr.mask_words > 0 ||
                 stored == (uint64_t)plan->bsr.entries
             ? status
             : mbi_device_zero(plan->context, csr->values, (size_t)bytes, NULL);
}

static merbit_status mbi_carve_values(merbit_plan *plan, mbi_devptr from) {
  const merbit_status status = mbi_carve_allocate_values(plan);
  return status == MERBIT_OK ? mbi_carve_fill(plan, from, 0, 0, plan->device.values) : status;
}

static merbit_status mbi_carve_refresh(merbit_plan *plan) {
  return mbi_full_refill(plan, mbi_carve_values);
}

/* ---- Make -------------------------------------------------------------------------------- */

/* plan->device.row_ptr, from the counts. */
static merbit_status mbi_carve_offsets(mbi_carve *c) {
  merbit_plan *plan = c->plan;
  mbi_device_csr *csr = &plan->device;
  uint64_t chunks = csr->rows / MBI_CARVE_CHUNK + 1;
  uint32_t large = csr->offset_type == MERBIT_INDEX_64;
  void *arguments[5];
  merbit_status status;
  arguments[0] = &c->sums;
  arguments[1] = &chunks;
  status = mbi_device_launch(plan->context, plan->full.kernels[MBI_CARVE_SUMS],
                             "mbk_carve_sums", 1, 1024, 32 * sizeof(uint64_t), NULL, arguments);
  arguments[0] = &c->counts;
  arguments[1] = &c->sums;
  arguments[2] = &csr->rows;
  arguments[3] = &large;
  arguments[4] = &csr->row_ptr;
  return status == MERBIT_OK
             ? mbi_device_launch(plan->context, plan->full.kernels[MBI_CARVE_OFFSETS],
                                 "mbk_carve_offsets", (int64_t)chunks, 256,
                                 8 * sizeof(uint64_t), NULL, arguments)
             : status;
}

/* plan->device and plan->bsr, for counted blocks. */
static merbit_status mbi_carve_take(mbi_carve *c, const merbit_bsr_desc *shape,
                                    const mbi_carve_tally *tally) {
  merbit_plan *plan = c->plan;
  merbit_context *context = plan->context;
  mbi_devptr *masks = &plan->bsr_tiles.mask_words;
  const mbi_devptr from = plan->full.csr.values;
  const int full = tally->inside == tally->entries;
  const int words = full ? 0 : (shape->block_rows * shape->block_cols + 63) / 64;
  const uint64_t bytes = tally->blocks * (uint64_t)words * sizeof(uint64_t);
  merbit_status status = mbi_full_allocate(
      plan, shape->block_rows, shape->block_cols, tally->blocks,
      tally->blocks > (uint64_t)INT32_MAX ? MERBIT_INDEX_64 : MERBIT_INDEX_32);
  plan->bsr.entries = (int64_t)tally->entries;
  plan->bsr.mask_words = words;
  if (status == MERBIT_OK) {
    status = mbi_carve_offsets(c);
  }
  if (status == MERBIT_OK && words > 0) {
    status = mbi_device_allocate(context, bytes, "masks of blocks", masks);
  }
  if (status == MERBIT_OK && words > 0) {
    status = mbi_device_zero(context, *masks, (size_t)bytes, NULL);
  }
  /* Holes and duplicates make numbers of a pattern's ones. */
  if (status == MERBIT_OK && (from != 0 || !full || tally->entries < plan->full.csr.nnz)) {
    status = mbi_carve_allocate_values(plan);
  }
  if (status == MERBIT_OK) {
    status = mbi_carve_fill(plan, from, plan->device.col_ind, *masks, plan->device.values);
  }
  return status == MERBIT_OK ? mbi_device_synchronize(context, NULL) : status;
}

/* The last count, which tells each row of blocks its number, and what follows from it. */
static merbit_status mbi_carve_build(mbi_carve *c, const merbit_bsr_desc *shape,
                                     mbi_carve_tally *tally) {
  merbit_context *context = c->plan->context;
  const uint64_t rows = (uint64_t)mbi_block_count(c->csr.rows, shape->block_rows);
  const uint64_t sums = (rows / MBI_CARVE_CHUNK + 1) * sizeof(uint64_t);
  merbit_status status;
  status =
      mbi_device_allocate(context, rows * sizeof(uint32_t), "counts of blocks", &c->counts);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, sums, "sums of blocks", &c->sums);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_zero(context, c->sums, (size_t)sums, NULL);
  }
  if (status == MERBIT_OK) {
    status = mbi_carve_count_all(c, shape, 1, 0, tally);
  }
  return status == MERBIT_OK && tally->descends == 0 ? mbi_carve_take(c, shape, tally) : status;
}

/* Find a shape where none is given, and build; but for a row that descends. */
static merbit_status mbi_carve_all(mbi_carve *c, mbi_carve_tally *tally) {
  const mbi_device_csr *csr = &c->plan->full.csr;
  merbit_bsr_desc shape;
  merbit_status status = MERBIT_OK;
  memset(&shape, 0, sizeof shape);
  shape.block_rows = c->plan->desc.block_rows;
  shape.block_cols = c->plan->desc.block_cols;
  c->csr = merbit_csr((int64_t)csr->rows, (int64_t)csr->cols, (int64_t)csr->nnz, NULL, NULL,
                      c->plan->view.values);
  c->csr.value_type = c->plan->type;
  if (csr->rows / (uint64_t)(shape.block_rows > 0 ? shape.block_rows : 1) >= UINT32_MAX) {
    return mbi_fail(c->plan->context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " rows are too many to make blocks of on the GPU%s", csr->rows,
                    shape.block_rows > 0 ? "" : " without a shape for them");
  }
  if (shape.block_rows == 0) {
    merbit_bsr_desc single = shape;
    single.block_rows = single.block_cols = 1;
    status = mbi_carve_count_all(c, &single, 1, 0, tally);
    if (status != MERBIT_OK || tally->descends != 0) {
      return status;
    }
    if (tally->entries < csr->nnz) { /* duplicates: of a pattern, they count */
      c->csr.values = c->csr.values != NULL ? c->csr.values : c->plan->view.col_ind;
      c->csr.nnz = (int64_t)tally->entries;
    }
    status = mbi_carve_find(c, &shape);
  }
  return status == MERBIT_OK ? mbi_carve_build(c, &shape, tally) : status;
}

/* The matrix passes through the host, where its rows are sorted. */
static merbit_status mbi_carve_on_cpu(merbit_plan *plan) {
  merbit_context *context = plan->context;
  merbit_view places;
  merbit_status status;
  mbi_log(context, "blocks are made on the CPU, for the columns of a row descend");
  mbi_full_destroy(plan);
  mbi_device_csr_destroy(context, &plan->device);
  memset(&plan->device, 0, sizeof plan->device);
  plan->cuda = &mbi_bsr_method;
  status = mbi_plan_take_host_blocks(plan);
  if (status != MERBIT_OK) {
    return status;
  }
  places = mbi_block_frame(&plan->bsr.view);
  status = mbi_device_csr_create(context, &places, 1, &plan->device);
  return status == MERBIT_OK ? mbi_bsr_create(plan) : status;
}

static merbit_status mbi_carve_create(merbit_plan *plan) {
  merbit_context *context = plan->context;
  mbi_carve_tally tally = {0, 0, 0, 0};
  mbi_carve c;
  merbit_status status;
  memset(&c, 0, sizeof c);
  c.plan = plan;
  mbi_full_enter(plan);
  plan->full.carved = 1;
  status = mbi_carve_specialise(plan);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, MBI_SHAPE_CANDIDATES * sizeof tally,
                                 "counts of shapes", &c.answers);
  }
  if (status == MERBIT_OK) {
    status = mbi_carve_all(&c, &tally);
  }
  mbi_device_release(context, c.answers);
  mbi_device_release(context, c.counts);
  mbi_device_release(context, c.sums);
  if (status != MERBIT_OK) {
    return status;
  }
  return tally.descends != 0 ? mbi_carve_on_cpu(plan) : mbi_bsr_create(plan);
}

static const mbi_cuda_method mbi_carve_method = {
    mbi_carve_create, mbi_full_destroy, mbi_bsr_carry_bytes, mbi_bsr_multiply,
    mbi_bsr_info,     mbi_bsr_describe, mbi_carve_refresh};

/* ==== >>spmv/forecast.c  CUDA: what a product by each method should take ================== */
/* What a product by each method should take, from what the GPU counts of a matrix's rows and
 * samples of its columns. */

static const mbi_cuda_method *mbi_cuda_method_of(const merbit_plan *plan,
                                                 merbit_method method) {
  switch (method) {
  case MERBIT_METHOD_SCAN:
    return &mbi_scan_method;
  case MERBIT_METHOD_ROWS:
    return &mbi_rows_method;
  case MERBIT_METHOD_SLICED:
    return &mbi_sliced_method;
  case MERBIT_METHOD_BINNED:
    return &mbi_binned_method;
  case MERBIT_METHOD_BSR:
    return mbi_plan_has_blocks(plan)                ? &mbi_bsr_method
           : plan->desc.method == MERBIT_METHOD_BSR ? &mbi_carve_method
                                                    : &mbi_full_method;
  case MERBIT_METHOD_CB:
    return &mbi_cb_method;
  case MERBIT_METHOD_HUBS:
    return &mbi_hubs_method;
#ifdef MERBIT_STUDY_METHODS
  case MERBIT_METHOD_BSR_ROW_MAJOR:
  case MERBIT_METHOD_BSR_PRIVATE:
  case MERBIT_METHOD_BSR_TEAM:
  case MERBIT_METHOD_BSR_VECTOR:
    return &mbi_bsr_study_method;
#endif
  default:
    return &mbi_merbit_method;
  }
}

/* Seconds per byte that is streamed; measured on an H200, as all figures here. What counts in a
 * choice is their proportion. */
#define MBI_CHOOSE_STREAM (1.0 / 4.2e12)

/* Seconds for one sector of x that no cache near the threads holds, by the bytes of x: the L2's
 * rate, which falls where x does not fit. */
static double mbi_choose_gather(double bytes) {
  static const double size[6] = {16e6, 32e6, 67e6, 134e6, 268e6, 1074e6};
  static const double rate[6] = {160e9, 140e9, 76e9, 53e9, 45e9, 40e9};
  int i = 0;
  if (bytes <= size[0] || bytes >= size[5]) {
    return 1.0 / rate[bytes <= size[0] ? 0 : 5];
  }
  while (bytes > size[i + 1]) {
    i++;
  }
  return 1.0 /
         (rate[i] + (rate[i + 1] - rate[i]) * (bytes - size[i]) / (size[i + 1] - size[i]));
}

/* Seconds that one product is expected to take. */
typedef struct mbi_forecast {
  double scan, sliced, binned, hubs, blocks;
} mbi_forecast;

static mbi_forecast mbi_choose_forecast(const merbit_plan *plan) {
  const double size = (double)mbi_type_size(plan->type), nnz = (double)plan->device.nnz;
  const double rows = (double)plan->device.rows, cols = (double)plan->device.cols;
  const double vectors = (rows + cols) * size * MBI_CHOOSE_STREAM;
  const double values = (double)mbi_value_bytes(plan);
  const double stream = nnz * (4.0 + values) * MBI_CHOOSE_STREAM;
  const double gathers = nnz * plan->ranks.sectors * mbi_choose_gather(cols * size);
  /* No row ends have to be found, which shows in f64; in f32 the scan keeps up with the stream.
   */
  const double light = plan->type == MERBIT_F64 && gathers < stream / 2 ? 0.8 : 1.0;
  mbi_forecast f;
  f.scan = vectors + stream + gathers;
  f.hubs =
      plan->ranks.hub_share > 1.0 - plan->ranks.sectors
          ? vectors + stream + gathers * (1.0 - plan->ranks.hub_share) / plan->ranks.sectors
          : f.scan;
  f.sliced = vectors + gathers +
             nnz * (4.0 - 2.0 * plan->ranks.narrow + values) * MBI_CHOOSE_STREAM * light;
  /* Products are written and read; reads and writes mixed reach three quarters of the rate. */
  f.binned = vectors + nnz * 1.1 * (4.5 + values + 2.0 * size) * MBI_CHOOSE_STREAM * 1.35;
  f.blocks = f.scan;
  if (mbi_full_blocks(&plan->ranks) && plan->device.form == MBI_VALUES_GENERAL && values > 0) {
    const double column = 4.0 / (plan->ranks.block_rows * plan->ranks.block_cols);
    f.blocks = vectors + gathers + nnz * (column + values) * MBI_CHOOSE_STREAM * 1.08;
  }
  return f;
}

/* Bytes of columns and values that L2 holds. */
#ifndef MBI_CHOOSE_SMALL
#define MBI_CHOOSE_SMALL 40000000u
#endif

static int mbi_choose_small(const merbit_plan *plan) {
  return mbi_device_csr_stream_bytes(plan) <= MBI_CHOOSE_SMALL;
}

/* ==== >>spmv/measure.c  CUDA: what it takes, measured and remembered ====================== */
/* AUTO by measuring: where thousands of products will follow, the best two or three methods are
 * made in turn and timed on the very matrix, and the answer is kept on disk beside the cubins,
 * by the structure's hash and the device. */
#define MBI_MEASURE_CALLS 2000 /* products that pay for it */
#define MBI_MEASURE_MOST 3
#ifndef MBI_MEASURE_ROUNDS
#define MBI_MEASURE_ROUNDS 2
#define MBI_MEASURE_BATCH 5 /* products of a round; of a small matrix ten times as many */
#endif

typedef struct mbi_candidate {
  merbit_method method;
  int omega;      /* of SCAN, 1 or 2: whether rows cross blocks; else 0 */
  double seconds; /* forecast where that is how they are ranked, then measured */
} mbi_candidate;

/* What is kept of an answer. */
typedef struct mbi_measured {
  int32_t method, omega;
  char why[160];
} mbi_measured;

/* ---- Candidates -------------------------------------------------------------------------- */

/* Keep the MBI_MEASURE_MOST quickest, quickest first. Returns how many there are. */
static int mbi_measure_add(mbi_candidate *candidates, int count, merbit_method method,
                           int omega, double seconds) {
  int at = count < MBI_MEASURE_MOST ? count : MBI_MEASURE_MOST;
  for (; at > 0 && candidates[at - 1].seconds > seconds; at--) {
    if (at < MBI_MEASURE_MOST) {
      candidates[at] = candidates[at - 1];
    }
  }
  if (at < MBI_MEASURE_MOST) {
    candidates[at].method = method;
    candidates[at].omega = omega;
    candidates[at].seconds = seconds;
  }
  return count < MBI_MEASURE_MOST ? count + 1 : count;
}

/* Small: launches and latency decide, which no forecast knows. Else what the forecasts put
 * within half as much again of the best. */
static int mbi_measure_candidates(const merbit_plan *plan, mbi_candidate *candidates) {
  const mbi_ranks *ranks = &plan->ranks;
  const int even = ranks->slots / 2 <= plan->device.nnz;
  int count = 0;
  if (mbi_choose_small(plan)) {
    count = mbi_measure_add(candidates, count, MERBIT_METHOD_SCAN, 1, 0);
    count = mbi_measure_add(candidates, count, MERBIT_METHOD_SCAN, 2, 0);
    return even ? mbi_measure_add(candidates, count, MERBIT_METHOD_ROWS, 0, 0) : count;
  } else {
    const mbi_forecast f = mbi_choose_forecast(plan);
    count = mbi_measure_add(candidates, count, MERBIT_METHOD_SCAN, 1, f.scan);
    count = mbi_measure_add(candidates, count, MERBIT_METHOD_BINNED, 0, f.binned);
    if (f.blocks < f.scan) {
      count = mbi_measure_add(candidates, count, MERBIT_METHOD_BSR, 0, f.blocks);
    }
    if (f.hubs < f.scan) {
      count = mbi_measure_add(candidates, count, MERBIT_METHOD_HUBS, 0, f.hubs);
    }
    if (even) {
      count = mbi_measure_add(candidates, count, MERBIT_METHOD_SLICED, 0, f.sliced);
      count = mbi_measure_add(candidates, count, MERBIT_METHOD_ROWS, 0, 1.2 * f.scan);
    }
    while (candidates[count - 1].seconds > 1.5 * candidates[0].seconds) {
      count--;
    }
    return count;
  }
}

/* ---- Timing ------------------------------------------------------------------------------ */

/* Seconds of a product of the plan as it is made now. */
static merbit_status mbi_measure_product(merbit_plan *plan, mbi_devptr carries, mbi_devptr x,
                                         mbi_devptr y, double *seconds) {
  static const double one = 1.0, zero = 0.0;
  static const float one_f32 = 1.0f, zero_f32 = 0.0f;
  const void *none = NULL, *alpha = &one, *beta = &zero;
  const int batch = mbi_choose_small(plan) ? 10 * MBI_MEASURE_BATCH : MBI_MEASURE_BATCH;
  merbit_status status = MERBIT_OK;
  int round, i;
  if (plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE) {
    alpha = beta = &none;
  } else if (plan->type == MERBIT_F32) {
    alpha = &one_f32;
    beta = &zero_f32;
  }
  *seconds = HUGE_VAL;
  for (round = 0; round <= MBI_MEASURE_ROUNDS && status == MERBIT_OK; round++) {
    const int products = round == 0 ? 1 : batch; /* the first one warms up */
    const double start = mbi_seconds();
    double taken;
    for (i = 0; i < products && status == MERBIT_OK; i++) {
      status = plan->cuda->multiply(plan, carries, alpha, x, beta, y, NULL);
    }
    if (status == MERBIT_OK) {
      status = mbi_device_synchronize(plan->context, NULL);
    }
    taken = (mbi_seconds() - start) / products;
    *seconds = round > 0 && taken < *seconds ? taken : *seconds;
  }
  return status;
}

/* Make the plan by a candidate, time it, and take it apart again. A candidate that the matrix
 * or the memory does not allow is infinitely slow. */
static merbit_status mbi_measure_try(merbit_plan *plan, mbi_candidate *candidate, mbi_devptr x,
                                     mbi_devptr y) {
  merbit_context *context = plan->context;
  const int omega = plan->desc.omega;
  mbi_devptr carries = 0;
  merbit_status status;
  plan->method = candidate->method;
  plan->desc.omega = candidate->omega;
  plan->cuda = mbi_cuda_method_of(plan, plan->method);
  status = plan->cuda->create(plan);
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, plan->cuda->carry_bytes(plan), "carries", &carries);
  }
  if (status == MERBIT_OK) {
    status = mbi_measure_product(plan, carries, x, y, &candidate->seconds);
  }
  mbi_device_release(context, carries);
  plan->cuda->destroy(plan);
  mbi_plan_forget(plan);
  plan->desc.omega = omega;
  if (status == MERBIT_DEVICE_OUT_OF_MEMORY || status == MERBIT_TOO_LARGE) {
    char reason[384];
    mbi_forgive(context, reason, sizeof reason);
    mbi_log(context, "not measured: %s", reason);
    candidate->seconds = HUGE_VAL;
    return MERBIT_OK;
  }
  return status;
}

/* All of them, on vectors of zeros. */
static merbit_status mbi_measure_all(merbit_plan *plan, mbi_candidate *candidates, int count) {
  merbit_context *context = plan->context;
  const size_t size = mbi_type_size(plan->type);
  const uint64_t x_bytes = (plan->device.cols * size + 255) / 256 * 256;
  const uint64_t bytes = x_bytes + plan->device.rows * size;
  mbi_devptr vectors = 0;
  int i;
  merbit_status status = mbi_device_allocate(context, bytes, "vectors to measure", &vectors);
  if (status == MERBIT_OK) {
    status = mbi_device_zero(context, vectors, (size_t)bytes, NULL);
  }
  for (i = 0; i < count && status == MERBIT_OK; i++) {
    status = mbi_measure_try(plan, &candidates[i], vectors, vectors + x_bytes);
  }
  mbi_device_release(context, vectors);
  return status;
}

/* ---- Memory ------------------------------------------------------------------------------ */

/* The key of the matrix's answer on this device, or NULL. */
static merbit_status mbi_measure_key(merbit_plan *plan, char **key, size_t *size) {
  merbit_context *context = plan->context;
  uint64_t hash = 0;
  void *room = NULL;
  merbit_status status = mbi_ranks_hash(plan, &hash);
  *key = NULL;
  if (status == MERBIT_OK) {
    status = mbi_allocate_array(context, 1024, 1, "the key of a choice", &room);
  }
  if (status == MERBIT_OK) {
    *key = (char *)room;
    *size = (size_t)snprintf(
        *key, 1024,
        "choice %d %s %s %s %d: %" PRIu64 " x %" PRIu64 ", %" PRIu64 " nonzeros, %016" PRIx64
        ", base %d, %s, %zu bytes a value",
        MBI_CACHE_FORMAT, MERBIT_VERSION_STRING, MBI_KERNEL_HASH, context->device.name,
        context->device.multiprocessors, plan->device.rows, plan->device.cols, plan->device.nnz,
        hash, plan->device.base, mbi_type_name(plan->type), mbi_value_bytes(plan));
  }
  return status;
}

/* Whether an answer from disk is one that this version could have given. */
static int mbi_measured_valid(const merbit_plan *plan, const mbi_measured *found, size_t size) {
  return size == sizeof *found && found->why[sizeof found->why - 1] == '\0' &&
         (found->method == MERBIT_METHOD_SCAN || found->method == MERBIT_METHOD_ROWS ||
          found->method == MERBIT_METHOD_SLICED || found->method == MERBIT_METHOD_BINNED ||
          found->method == MERBIT_METHOD_HUBS ||
          (found->method == MERBIT_METHOD_BSR && mbi_full_blocks(&plan->ranks))) &&
         found->omega >= 0 && found->omega <= (found->method == MERBIT_METHOD_SCAN ? 2 : 0);
}

static int mbi_measure_recall(merbit_plan *plan, const char *key, size_t key_size,
                              mbi_measured *found) {
  void *image;
  size_t size;
  int valid = 0;
  if (mbi_cache_load(plan->context, key, key_size, &image, &size)) {
    valid = size == sizeof *found;
    if (valid) {
      memcpy(found, image, sizeof *found);
      valid = mbi_measured_valid(plan, found, size);
    }
    mbi_release(plan->context, image);
  }
  return valid;
}

/* ---- The answer -------------------------------------------------------------------------- */

static void mbi_measure_answer(const mbi_candidate *candidates, int count,
                               mbi_measured *answer) {
  size_t length;
  int best = 0, i;
  memset(answer, 0, sizeof *answer);
  for (i = 1; i < count; i++) {
    best = candidates[i].seconds < candidates[best].seconds ? i : best;
  }
  answer->method = (int32_t)candidates[best].method;
  answer->omega = candidates[best].omega;
  (void)snprintf(answer->why, sizeof answer->why, "measured");
  for (i = 0; i < count; i++) {
    length = strlen(answer->why);
    (void)snprintf(answer->why + length, sizeof answer->why - length, "%s %s%s %.1f us",
                   i > 0 ? "," : "", mbi_method_name(candidates[i].method),
                   candidates[i].omega == 2 ? " of whole rows" : "",
                   1e6 * candidates[i].seconds);
  }
}

/* Set plan->method, plan->desc.omega and plan->why. Needs plan->ranks, sampled. */
static merbit_status mbi_measure(merbit_plan *plan) {
  mbi_candidate candidates[MBI_MEASURE_MOST];
  mbi_measured answer;
  char *key = NULL;
  size_t key_size = 0;
  int recalled;
  merbit_status status = mbi_measure_key(plan, &key, &key_size);
  if (status != MERBIT_OK) {
    return status;
  }
  recalled = mbi_measure_recall(plan, key, key_size, &answer);
  if (!recalled) {
    const int count = mbi_measure_candidates(plan, candidates);
    status = mbi_measure_all(plan, candidates, count);
    mbi_measure_answer(candidates, count, &answer);
    if (status == MERBIT_OK) {
      mbi_cache_store(plan->context, key, key_size, &answer, sizeof answer);
    }
  }
  mbi_release(plan->context, key);
  plan->method = (merbit_method)answer.method;
  plan->desc.omega = answer.omega;
  (void)snprintf(plan->why, sizeof plan->why, "%s%.140s", recalled ? "remembered: " : "",
                 answer.why);
  return status;
}

/* ==== >>spmv/choose.c  which method a plan on CUDA takes ================================== */
/* The method of a plan on CUDA. */

/* Products that making another form of the matrix costs, beyond the scan's plan. */
#define MBI_CHOOSE_MAKING 12.0

static int mbi_choose_pays(const merbit_plan *plan, double now, double then) {
  return plan->desc.expected_calls * (now - then) > MBI_CHOOSE_MAKING * then;
}

/* plan->why: the forecasts of what could be taken. */
static void mbi_choose_say(merbit_plan *plan, const mbi_forecast *f, int even) {
  char sliced[40] = "", blocks[40] = "";
  if (even) {
    (void)snprintf(sliced, sizeof sliced, ", sliced %.0f us", 1e6 * f->sliced);
  }
  if (f->blocks < f->scan) {
    (void)snprintf(blocks, sizeof blocks, ", blocks %.0f us", 1e6 * f->blocks);
  }
  (void)snprintf(
      plan->why, sizeof plan->why, "%sforecast scan %.0f us%s, binned %.0f us, hubs %.0f us%s",
      even ? "even rows, " : "", 1e6 * f->scan, sliced, 1e6 * f->binned, 1e6 * f->hubs, blocks);
}

/* Small: all of it stays in L2, and launches count; lanes share a row. Even: slices of 32 rows
 * waste little. plan->why says what decided. */
static merbit_method mbi_choose_method(merbit_plan *plan) {
  const mbi_device_csr *csr = &plan->device;
  const mbi_ranks *ranks = &plan->ranks;
  const int even = csr->nnz >= 4 * csr->rows && ranks->slots / 5 <= csr->nnz / 3;
  const mbi_forecast f = mbi_choose_forecast(plan);
  merbit_method method = MERBIT_METHOD_SCAN;
  double best = f.scan;
  if (mbi_choose_small(plan)) {
    const int rows = ranks->slots / 8 <= csr->nnz / 5;
    (void)snprintf(plan->why, sizeof plan->why, "small, with %s rows; runner-up %s",
                   rows ? "even" : "uneven", rows ? "scan" : "rows");
    return rows ? MERBIT_METHOD_ROWS : MERBIT_METHOD_SCAN;
  }
  if (even && mbi_choose_pays(plan, f.scan, f.sliced)) {
    method = MERBIT_METHOD_SLICED;
    best = f.sliced;
  }
  if (mbi_choose_pays(plan, f.scan, f.binned) && f.binned < best) {
    method = MERBIT_METHOD_BINNED;
    best = f.binned;
  }
  if (mbi_choose_pays(plan, f.scan, f.hubs) && f.hubs < best) {
    method = MERBIT_METHOD_HUBS;
    best = f.hubs;
  }
  if (mbi_choose_pays(plan, f.scan, f.blocks) && f.blocks < best) {
    method = MERBIT_METHOD_BSR;
  }
  mbi_choose_say(plan, &f, even);
  return method;
}

/* What the forecast needs to know of the columns: a sample for all, and how full they are where
 * many products spend a third of their time or more on gathers, most of which the caches miss.
 */
static merbit_status mbi_choose_look(merbit_plan *plan) {
  const double cols = (double)plan->device.cols * (double)mbi_type_size(plan->type);
  merbit_status status;
  if (plan->device.nnz == 0 || mbi_choose_small(plan)) {
    return MERBIT_OK;
  }
  status = mbi_ranks_sample(plan->context, &plan->device, plan->type, &plan->ranks);
  if (status == MERBIT_OK && plan->desc.expected_calls > MBI_CHOOSE_MAKING) {
    status = mbi_ranks_blocks(plan);
  }
  if (status == MERBIT_OK && plan->desc.expected_calls > MBI_CHOOSE_MAKING) {
    const double gathers =
        (double)plan->device.nnz * plan->ranks.sectors * mbi_choose_gather(cols);
    if (plan->ranks.sectors > 0.6 && 3 * gathers > mbi_choose_forecast(plan).scan) {
      status = mbi_ranks_columns(plan, mbi_hubs_room(plan));
    }
    if (status == MERBIT_DEVICE_OUT_OF_MEMORY) { /* then no hubs */
      char reason[384];
      mbi_forgive(plan->context, reason, sizeof reason);
      mbi_log(plan->context, "columns are not counted: %s", reason);
      status = MERBIT_OK;
    }
  }
  return status;
}

/* Measuring needs products that pay for it, and a user who leaves everything open. */
static int mbi_choose_by_measuring(const merbit_plan *plan) {
  const merbit_plan_desc *desc = &plan->desc;
  return desc->expected_calls >= MBI_MEASURE_CALLS && !desc->deterministic &&
         desc->sigma == 0 && desc->omega == 0 && desc->block_threads == 0 &&
         plan->device.nnz > 0;
}

/* A method other than MERBIT, which is as published, and blocks may take shorter forms of the
 * values. */
static merbit_status mbi_choose_values(merbit_plan *plan) {
  merbit_status status;
  if (plan->device.values == 0 || plan->device.nnz == 0 || plan->desc.changing_values ||
      plan->desc.expected_calls < MBI_VALUES_CALLS || plan->method == MERBIT_METHOD_MERBIT ||
      plan->method == MERBIT_METHOD_BSR || plan->device.rows >= UINT32_MAX) {
    return MERBIT_OK;
  }
  status = mbi_ranks_need(plan);
  return status == MERBIT_OK ? mbi_values_specialise(plan) : status;
}

/* Set plan->method and plan->cuda and make it. AUTO: MERBIT beyond 2^32 - 2 rows; and SCAN
 * where another finds no memory for its form of the matrix or cannot take its sizes. */
static merbit_status mbi_choose(merbit_plan *plan) {
  merbit_context *context = plan->context;
  const int any = plan->method == MERBIT_METHOD_AUTO;
  char reason[384];
  merbit_status status = MERBIT_OK;
  plan->once = plan->device.nnz >= 4 * plan->device.rows;
  status = mbi_choose_values(plan);
  if (status != MERBIT_OK) {
    return status;
  }
  if (any && plan->device.rows >= UINT32_MAX) {
    plan->method = MERBIT_METHOD_MERBIT;
    (void)snprintf(plan->why, sizeof plan->why, "more rows than the others take");
  } else if (any) {
    status = mbi_ranks_need(plan);
    if (status == MERBIT_OK) {
      status = mbi_choose_look(plan);
    }
    if (status == MERBIT_OK && mbi_choose_by_measuring(plan)) {
      status = mbi_measure(plan);
    } else if (status == MERBIT_OK) {
      plan->method = mbi_choose_method(plan);
    }
    if (status != MERBIT_OK) {
      return status;
    }
  }
  plan->cuda = mbi_cuda_method_of(plan, plan->method);
  status = plan->cuda->create(plan);
  if (any && plan->method != MERBIT_METHOD_SCAN &&
      (status == MERBIT_DEVICE_OUT_OF_MEMORY || status == MERBIT_TOO_LARGE)) {
    plan->cuda->destroy(plan);
    mbi_plan_forget(plan);
    mbi_forgive(context, reason, sizeof reason);
    mbi_log(context, "this plan takes the scan: %s", reason);
    (void)snprintf(plan->why, sizeof plan->why, "the first choice failed: %.60s", reason);
    plan->method = MERBIT_METHOD_SCAN;
    plan->cuda = mbi_cuda_method_of(plan, plan->method);
    status = plan->cuda->create(plan);
  }
  if (status == MERBIT_OK && plan->full.csr.rows > 0) {
    mbi_full_let_go(plan);
  }
  mbi_ranks_finish(context, &plan->ranks);
  return status;
}

/* ==== >>spmv/reorder.c  plans in another order than the matrix ============================ */
/* A plan that multiplies P A P' instead of A: its order, made on the CPU, and new values. */

static int mbi_plan_reorders(const merbit_plan *plan) {
  return plan->desc.reordering != MERBIT_REORDERING_NONE;
}

/* For merbit_plan_describe. */
static const char *mbi_reordering_name(merbit_reordering reordering) {
  return reordering == MERBIT_REORDERING_RCM ? "reverse Cuthill-McKee" : "falling degree";
}

static merbit_status mbi_reorder_check(merbit_context *context, const merbit_view *view,
                                       const merbit_plan_desc *desc) {
  if (desc->reordering == MERBIT_REORDERING_NONE) {
    return MERBIT_OK;
  }
  if (desc->reordering < MERBIT_REORDERING_NONE || desc->reordering > MERBIT_REORDERING_RCM) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.reordering is %d; use a MERBIT_REORDERING",
                    (int)desc->reordering);
  }
  if (view->format == MERBIT_BSR || desc->method == MERBIT_METHOD_BSR ||
      desc->method > MERBIT_METHOD_HUBS) { /* those for study are of blocks */
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "plan_desc.reordering moves single rows and columns, which would break %s "
                    "apart; use a CSR or COO view and a method of single entries",
                    view->format == MERBIT_BSR ? "the view's blocks" : "the method's blocks");
  }
  if (view->rows != view->cols) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.reordering takes square matrices, but view.rows is %" PRId64
                    " and view.cols %" PRId64,
                    view->rows, view->cols);
  }
  return MERBIT_OK;
}

/* plan->csr and plan->matrix become the checked host CSR `from`, which may be plan->matrix's,
 * in the plan's order. */
static merbit_status mbi_reorder_take(merbit_plan *plan, const merbit_view *from) {
  mbi_reorder *r = &plan->reorder;
  merbit_context *context = plan->context;
  const double start = mbi_seconds();
  merbit_matrix *made = NULL;
  merbit_status status = mbi_order_create(context, from, plan->desc.reordering, &r->order);
  if (status == MERBIT_OK) {
    status = mbi_matrix_permute(context, from, r->order, &made, &r->places);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  r->bandwidth_before = mbi_bandwidth(context, from);
  r->bandwidth = mbi_bandwidth(context, &made->view);
  r->place_type = made->view.offset_type;
  merbit_matrix_destroy(plan->matrix);
  plan->matrix = made;
  plan->csr = made->view;
  r->seconds = mbi_seconds() - start;
  return MERBIT_OK;
}

/* ---- In GPU memory ----------------------------------------------------------------------- */

static const char *const mbi_reorder_kernels[3] = {"mbk_reorder_gather", "mbk_reorder_scatter",
                                                   "mbk_reorder_values"};

static void mbi_reorder_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_VECTOR", plan->type == MERBIT_F32 ? "float" : "double");
  mbi_preamble_define(preamble, "MBK_PLACE",
                      plan->reorder.place_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
}

static merbit_status mbi_reorder_specialise(merbit_plan *plan) {
  mbi_reorder *r = &plan->reorder;
  mbi_preamble preamble;
  merbit_status status;
  int i;
  mbi_reorder_preamble(plan, &preamble);
  status = mbi_program_create(plan->context, "spmv/reorder.cu", &preamble, &r->program);
  for (i = 0; i < 3 && status == MERBIT_OK; i++) {
    status =
        mbi_program_kernel(plan->context, &r->program, mbi_reorder_kernels[i], &r->kernels[i]);
  }
  return status;
}

static merbit_status mbi_reorder_upload_one(merbit_plan *plan, const void *source,
                                            uint64_t bytes, const char *what,
                                            mbi_devptr *target) {
  const merbit_status status = mbi_device_allocate(plan->context, bytes, what, target);
  plan->reorder.bytes += status == MERBIT_OK ? bytes : 0;
  return status == MERBIT_OK ? mbi_device_upload(plan->context, *target, source, (size_t)bytes)
                             : status;
}

/* Needs an entered context. After a failure mbi_reorder_release_cuda cleans up. */
static merbit_status mbi_reorder_upload(merbit_plan *plan) {
  mbi_reorder *r = &plan->reorder;
  const double start = mbi_seconds();
  merbit_status status = mbi_reorder_specialise(plan);
  if (status == MERBIT_OK) {
    status = mbi_reorder_upload_one(plan, r->order, (uint64_t)plan->csr.rows * sizeof(int32_t),
                                    "an order of rows", &r->device_order);
  }
  if (status == MERBIT_OK && r->places != NULL) {
    status = mbi_reorder_upload_one(plan, r->places,
                                    (uint64_t)plan->csr.nnz * mbi_index_bytes(r->place_type),
                                    "the places of values", &r->device_places);
  }
  r->seconds += mbi_seconds() - start;
  return status;
}

/* A plan on CUDA that is made has no use for the places on the host. */
static void mbi_reorder_let_go(merbit_plan *plan) {
  mbi_release(plan->context, plan->reorder.places);
  plan->reorder.places = NULL;
}

static void mbi_reorder_release_cuda(merbit_plan *plan) {
  mbi_reorder *r = &plan->reorder;
  mbi_device_release(plan->context, r->device_order);
  mbi_device_release(plan->context, r->device_places);
  mbi_program_destroy(plan->context, &r->program);
  r->device_order = r->device_places = 0;
  r->bytes = 0;
}

static void mbi_reorder_destroy(merbit_plan *plan) {
  mbi_release(plan->context, plan->reorder.order);
  mbi_release(plan->context, plan->reorder.places);
}

/* ---- Order, vectors and values by a kernel ----------------------------------------------- */

/* kernels[kernel], on a stream: `index` is the order or the places. */
static merbit_status mbi_reorder_launch(merbit_plan *plan, int kernel, mbi_devptr index,
                                        mbi_devptr from, mbi_devptr to, int64_t count,
                                        void *stream) {
  uint64_t elements = (uint64_t)count;
  void *arguments[4];
  arguments[0] = &index;
  arguments[1] = &from;
  arguments[2] = &to;
  arguments[3] = &elements;
  return mbi_device_launch(plan->context, plan->reorder.kernels[kernel],
                           mbi_reorder_kernels[kernel], mbi_arrays_blocks(count),
                           MBI_ARRAYS_THREADS, 0, stream, arguments);
}

/* The user's values at `from` to the plan's nonzeros at `to`, complete on return. */
static merbit_status mbi_reorder_values_cuda(merbit_plan *plan, mbi_devptr from,
                                             mbi_devptr to) {
  const merbit_status status =
      mbi_reorder_launch(plan, 2, plan->reorder.device_places, from, to, plan->csr.nnz, NULL);
  return status == MERBIT_OK ? mbi_device_synchronize(plan->context, NULL) : status;
}

/* ---- On CPU threads ---------------------------------------------------------------------- */

typedef struct mbi_reorder_call {
  void (*move)(merbit_type type, void *to, const void *from, const void *places,
               merbit_index_type place_type, int64_t first, int64_t last);
  merbit_type type;
  const void *from, *places;
  void *to;
  merbit_index_type place_type;
  int64_t count;
  int tasks;
} mbi_reorder_call;

static void mbi_reorder_task(void *argument, int task) {
  const mbi_reorder_call *c = (const mbi_reorder_call *)argument;
  c->move(c->type, c->to, c->from, c->places, c->place_type,
          mbi_share(c->count, c->tasks, task), mbi_share(c->count, c->tasks, task + 1));
}

static void mbi_reorder_run(merbit_plan *plan, mbi_reorder_call *call) {
  call->type = plan->type;
  call->tasks = mbi_share_tasks(plan->context, call->count);
  mbi_parallel(plan->context, call->tasks, mbi_reorder_task, call);
}

/* The user's host values into the plan's matrix. */
static void mbi_reorder_values(merbit_plan *plan, const void *values) {
  mbi_reorder_call call;
  call.move = mbi_gather;
  call.from = values;
  call.to = (void *)(uintptr_t)plan->csr.values;
  call.places = plan->reorder.places;
  call.place_type = plan->reorder.place_type;
  call.count = plan->csr.nnz;
  mbi_reorder_run(plan, &call);
}

/* ==== >>spmv/workspace.c  scratch of a product in flight ================================== */
static void mbi_workspace_free(merbit_workspace *workspace) {
  merbit_context *context = workspace->plan->context;
  if (workspace->plan->side == MERBIT_SIDE_CUDA && mbi_device_enter_alive(context)) {
    mbi_device_release(context, workspace->device_carries);
    mbi_device_release(context, workspace->staged_x);
    mbi_device_release(context, workspace->staged_y);
    mbi_device_leave(context);
  }
  mbi_release(context, workspace->carries);
  mbi_release(context, workspace);
}

static merbit_status mbi_workspace_fill_cuda(merbit_workspace *workspace) {
  const merbit_plan *plan = workspace->plan;
  const size_t size = mbi_type_size(plan->type);
  merbit_context *context = plan->context;
  merbit_status status = mbi_device_enter(context);
  if (status != MERBIT_OK) {
    return status;
  }
  status = mbi_device_allocate(context, plan->cuda->carry_bytes(plan), "the carries of a workspace",
                               &workspace->device_carries);
  if (status == MERBIT_OK && plan->desc.vector_memory == MERBIT_MEMORY_HOST) {
    status = mbi_device_allocate(context, (uint64_t)plan->csr.cols * size, "a staged x",
                                 &workspace->staged_x);
    if (status == MERBIT_OK) {
      status = mbi_device_allocate(context, (uint64_t)plan->csr.rows * size, "a staged y",
                                   &workspace->staged_y);
    }
  }
  mbi_device_leave(context);
  return status;
}

static merbit_status mbi_workspace_make(merbit_plan *plan, merbit_workspace **workspace) {
  merbit_context *context = plan->context;
  merbit_workspace *made = (merbit_workspace *)mbi_allocate(context, sizeof *made);
  merbit_status status;
  *workspace = NULL;
  if (made == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a workspace's record");
  }
  memset(made, 0, sizeof *made);
  made->plan = plan;
  if (plan->side == MERBIT_SIDE_CUDA) {
    status = mbi_workspace_fill_cuda(made);
  } else {
    const size_t bytes = plan->blocks.chunk_index != NULL
                             ? mbi_block_plan_scratch_bytes(plan)
                             : mbi_merge_scratch_bytes(plan->tasks, plan->type);
    status = mbi_allocate_array(context, (int64_t)bytes, 1, "the carries of a workspace",
                                &made->carries);
  }
  if (status != MERBIT_OK) {
    mbi_workspace_free(made);
    return status;
  }
  *workspace = made;
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_workspace_create(merbit_plan *plan,
                                                 merbit_workspace **workspace) {
  merbit_status status;
  if (workspace != NULL) {
    *workspace = NULL;
  }
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (workspace == NULL) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT, "the out pointer `workspace` is NULL");
  }
  status = mbi_workspace_make(plan, workspace);
  if (status == MERBIT_OK) {
    mbi_mutex_lock(&plan->context->lock);
    plan->references++;
    mbi_mutex_unlock(&plan->context->lock);
  }
  return status;
}

MERBIT_API void merbit_workspace_destroy(merbit_workspace *workspace) {
  if (workspace != NULL) {
    merbit_plan *plan = workspace->plan;
    mbi_workspace_free(workspace);
    mbi_plan_unref(plan);
  }
}

/* ==== >>spmv/plan.c  plans: checks, choice, life ========================================== */
/* ---- Checks ------------------------------------------------------------------------------- */

static int mbi_method_known(merbit_method method) {
#ifdef MERBIT_STUDY_METHODS
  if (mbi_study_method(method) || mbi_cuda_study_method(method)) {
    return 1;
  }
#endif
  return method >= MERBIT_METHOD_AUTO && method <= MERBIT_METHOD_HUBS;
}

static merbit_status mbi_plan_check_desc(merbit_context *context, const merbit_view *view,
                                         const merbit_plan_desc *desc) {
  const merbit_type type = mbi_view_type(view);
  if (desc->side < MERBIT_SIDE_AUTO || desc->side > MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "plan_desc.side is %d; use a MERBIT_SIDE",
                    (int)desc->side);
  }
  if (desc->side == MERBIT_SIDE_CUDA && context->side != MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "plan_desc.side is CUDA, but the context computes on the CPU%s%s",
                    context->reason[0] != '\0' ? ": " : "; make one with MERBIT_SIDE_CUDA",
                    context->reason);
  }
  if (desc->operation != MERBIT_OPERATION_N) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "plan_desc.operation %d (transposed products) is not supported yet; use "
                    "merbit_matrix_transpose",
                    (int)desc->operation);
  }
  if ((desc->vector_type != MERBIT_TYPE_DEFAULT && desc->vector_type != type) ||
      (desc->compute_type != MERBIT_TYPE_DEFAULT && desc->compute_type != type)) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "vectors or sums of another type than the %s matrix are not supported yet",
                    mbi_type_name(type));
  }
  if (!mbi_method_known(desc->method)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.method is %d; use a MERBIT_METHOD", (int)desc->method);
  }
  if (desc->vector_memory < MERBIT_MEMORY_DEFAULT ||
      desc->vector_memory > MERBIT_MEMORY_DEVICE ||
      desc->scalar_memory < MERBIT_MEMORY_DEFAULT ||
      desc->scalar_memory > MERBIT_MEMORY_DEVICE) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.vector_memory is %d and scalar_memory %d; use a MERBIT_MEMORY",
                    (int)desc->vector_memory, (int)desc->scalar_memory);
  }
  if (desc->block_rows != 0 || desc->block_cols != 0) {
    const merbit_status status = mbi_block_check(context, "plan_desc", desc->block_rows,
                                                 desc->block_cols, MERBIT_BLOCK_ROW_MAJOR);
    if (status != MERBIT_OK) {
      return status;
    }
  }
  if (desc->expected_calls < 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.expected_calls is %d; use 0 for the default",
                    desc->expected_calls);
  }
  return MERBIT_OK;
}

/* Whether a method runs on a side; AUTO does on both. */
static int mbi_method_runs(merbit_method method, int cuda) {
#ifdef MERBIT_STUDY_METHODS
  if (mbi_study_method(method)) {
    return !cuda;
  }
  if (mbi_cuda_study_method(method)) {
    return cuda;
  }
#endif
  return method == MERBIT_METHOD_AUTO || method == MERBIT_METHOD_BSR ||
         (method >= MERBIT_METHOD_MERBIT) == cuda;
}

/* The side, before anything is built: AUTO follows the context, a method of one side its side. */
static merbit_side mbi_plan_side(const merbit_context *context, const merbit_plan_desc *desc) {
  if (desc->side != MERBIT_SIDE_AUTO) {
    return desc->side;
  }
  return mbi_method_runs(desc->method, 1) ? context->side : MERBIT_SIDE_CPU;
}

static merbit_status mbi_plan_check_side(const merbit_plan *plan) {
  merbit_context *context = plan->context;
  const merbit_plan_desc *desc = &plan->desc;
  const int cuda = plan->side == MERBIT_SIDE_CUDA;
  if (!mbi_method_runs(desc->method, cuda)) {
    return mbi_fail(context, cuda ? MERBIT_INVALID_ARGUMENT : MERBIT_NO_DEVICE,
                    "plan_desc.method %s runs on %s, but the plan is for %s%s%s",
                    mbi_method_name(desc->method), cuda ? "the CPU" : "CUDA",
                    cuda ? "CUDA" : "the CPU", context->reason[0] != '\0' ? ": " : "",
                    context->reason);
  }
  if (!cuda && (plan->view.memory == MERBIT_MEMORY_DEVICE ||
                desc->vector_memory == MERBIT_MEMORY_DEVICE ||
                desc->scalar_memory == MERBIT_MEMORY_DEVICE)) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "arrays, vectors or scalars are said to be in device memory, but the plan is "
        "for the CPU");
  }
  return MERBIT_OK;
}

/* ---- The CSR that is multiplied
 * --------------------------------------------------------------- */

/* Columns as they lie, 32-bit: such a CSR needs no copy. */
static int mbi_view_is_plain(const merbit_view *view) {
  return view->format == MERBIT_CSR && view->index_type == MERBIT_INDEX_32;
}

/* Check the user's arrays and set plan->csr: the view itself, or an owned conversion. */
static merbit_status mbi_plan_take_matrix(merbit_plan *plan) {
  merbit_context *context = plan->context;
  merbit_view host = plan->view;
  const int device = plan->view.memory == MERBIT_MEMORY_DEVICE;
  merbit_status status = MERBIT_OK;
  plan->csr = plan->view;
  if (device && plan->view.format == MERBIT_CSR && !mbi_plan_reorders(plan)) {
    return MERBIT_OK; /* spmv/arrays.c checks and narrows on the GPU */
  }
  if (device) {
    status = mbi_view_download(context, &plan->view, &host);
  }
  if (status == MERBIT_OK && !plan->desc.unchecked) {
    status = mbi_view_check_arrays(context, &host);
  }
  if (status == MERBIT_OK && !mbi_view_is_plain(&plan->view)) {
    status = mbi_matrix_from_view(context, &host, 0, &plan->matrix);
  }
  if (status == MERBIT_OK && plan->matrix != NULL) {
    plan->csr = plan->matrix->view;
  }
  if (status == MERBIT_OK && mbi_plan_reorders(plan)) {
    status = mbi_reorder_take(plan, plan->matrix != NULL ? &plan->csr : &host);
  }
  if (device) {
    mbi_host_view_release(context, &host);
  }
  return status;
}

/* ---- Life
 * ------------------------------------------------------------------------------------- */

static void mbi_plan_release_cuda(merbit_plan *plan) {
  if (mbi_device_enter_alive(plan->context)) {
    if (plan->cuda != NULL) {
      plan->cuda->destroy(plan);
    }
    mbi_ranks_destroy(plan->context, &plan->ranks);
    mbi_device_csr_destroy(plan->context, &plan->device);
    mbi_reorder_release_cuda(plan);
    mbi_device_leave(plan->context);
  }
  plan->cuda = NULL;
  mbi_plan_forget(plan);
  memset(&plan->merbit, 0, sizeof plan->merbit);
  memset(&plan->device, 0, sizeof plan->device);
}

static void mbi_plan_free(merbit_plan *plan) {
  merbit_context *context = plan->context;
  if (plan->workspace != NULL) {
    mbi_workspace_free(plan->workspace);
  }
  if (plan->side == MERBIT_SIDE_CUDA) {
    mbi_plan_release_cuda(plan);
  }
  merbit_matrix_destroy(plan->matrix);
  mbi_blocks_destroy(plan);
  mbi_reorder_destroy(plan);
  mbi_release(context, plan->own_values);
  mbi_release(context, plan);
  mbi_context_unref(context);
}

static void mbi_plan_unref(merbit_plan *plan) {
  int64_t left;
  mbi_mutex_lock(&plan->context->lock);
  left = --plan->references;
  mbi_mutex_unlock(&plan->context->lock);
  if (left == 0) {
    mbi_plan_free(plan);
  }
}

static merbit_status mbi_plan_build_cuda(merbit_plan *plan, int dual) {
  merbit_context *context = plan->context;
  const merbit_view places =
      mbi_plan_has_blocks(plan) ? mbi_block_frame(&plan->bsr.view) : plan->csr;
  merbit_status status = mbi_device_enter(context);
  if (status != MERBIT_OK) {
    return status;
  }
  status = mbi_device_csr_create(context, &places, plan->desc.unchecked, &plan->device);
  if (status == MERBIT_OK) {
    plan->merbit.dual = dual;
    status = mbi_choose(plan);
  }
  if (status == MERBIT_OK && mbi_plan_reorders(plan)) {
    status = mbi_reorder_upload(plan);
  }
  mbi_device_leave(context);
  return status == MERBIT_OK ? mbi_workspace_make(plan, &plan->workspace) : status;
}

static merbit_status mbi_plan_build_cpu(merbit_plan *plan) {
  merbit_status status = MERBIT_OK;
  if (mbi_plan_takes_blocks(plan)) {
    status = mbi_blocks_create(plan);
  } else {
    plan->method = plan->desc.method == MERBIT_METHOD_REFERENCE ? MERBIT_METHOD_REFERENCE
                                                                : MERBIT_METHOD_MERGE;
    plan->values = plan->csr.values;
    plan->tasks = mbi_merge_tasks(plan->context, &plan->csr);
  }
  return status == MERBIT_OK ? mbi_workspace_make(plan, &plan->workspace) : status;
}

/* A plan for the GPU whose matrix has been taken becomes one for the CPU. */
static merbit_status mbi_plan_move_to_cpu(merbit_plan *plan) {
  mbi_plan_release_cuda(plan);
  mbi_forgive(plan->context, plan->reason, sizeof plan->reason);
  mbi_log(plan->context, "this plan computes on the CPU: %s", plan->reason);
  plan->side = MERBIT_SIDE_CPU;
  if (!mbi_plan_takes_blocks(plan)) {
    return MERBIT_OK;
  }
  merbit_matrix_destroy(plan->matrix);
  plan->matrix = NULL;
  return mbi_plan_take_blocks(plan);
}

/* AUTO may still take the CPU when the GPU fails now, if everything is in host memory. */
static int mbi_plan_may_fall_back(const merbit_plan *plan, merbit_status status) {
  return plan->desc.side == MERBIT_SIDE_AUTO && plan->desc.method == MERBIT_METHOD_AUTO &&
         plan->view.memory != MERBIT_MEMORY_DEVICE &&
         plan->desc.vector_memory == MERBIT_MEMORY_HOST &&
         plan->desc.scalar_memory != MERBIT_MEMORY_DEVICE &&
         status != MERBIT_INVALID_ARGUMENT && status != MERBIT_INVALID_MATRIX &&
         status != MERBIT_OUT_OF_MEMORY;
}

static merbit_status mbi_plan_build(merbit_plan *plan, int dual) {
  merbit_status status = mbi_plan_check_side(plan);
  if (status == MERBIT_OK) {
    status = mbi_plan_takes_blocks(plan) ? mbi_plan_take_blocks(plan) : mbi_plan_take_matrix(plan);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  if (plan->side == MERBIT_SIDE_CUDA) {
    status = mbi_plan_build_cuda(plan, dual);
    if (status == MERBIT_OK || !mbi_plan_may_fall_back(plan, status)) {
      mbi_reorder_let_go(plan);
      return status;
    }
    status = mbi_plan_move_to_cpu(plan);
  }
  return status == MERBIT_OK ? mbi_plan_build_cpu(plan) : status;
}

/* `dual` asks for the dual-buffer commit, which only the library's own iterations use. */
static merbit_status mbi_plan_create(merbit_context *context, const merbit_view *view,
                                     const merbit_plan_desc *desc, int dual,
                                     merbit_plan **plan) {
  const double start = mbi_seconds();
  merbit_plan_desc defaults;
  merbit_plan *made;
  merbit_status status = mbi_view_check_header(context, view);
  *plan = NULL;
  memset(&defaults, 0, sizeof defaults);
  if (desc == NULL) {
    desc = &defaults;
  }
  if (status == MERBIT_OK) {
    status = mbi_plan_check_desc(context, view, desc);
  }
  if (status == MERBIT_OK) {
    status = mbi_reorder_check(context, view, desc);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  made = (merbit_plan *)mbi_allocate(context, sizeof *made);
  if (made == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a plan's record");
  }
  memset(made, 0, sizeof *made);
  mbi_context_retain(context);
  made->context = context;
  made->references = 1;
  made->view = *view;
  made->desc = *desc;
  made->desc.expected_calls = desc->expected_calls != 0 ? desc->expected_calls : 100;
  made->type = mbi_view_type(view);
  made->side = mbi_plan_side(context, desc);
  made->method = dual ? MERBIT_METHOD_MERBIT : desc->method;
  status = mbi_plan_build(made, dual);
  if (status != MERBIT_OK) {
    mbi_plan_free(made);
    return status;
  }
  made->plan_seconds = mbi_seconds() - start;
  *plan = made;
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_plan_create(merbit_context *context, const merbit_view *view,
                                            const merbit_plan_desc *desc, merbit_plan **plan) {
  if (plan != NULL) {
    *plan = NULL;
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (plan == NULL || view == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "merbit_plan_create: `%s` is NULL",
                    plan == NULL ? "plan" : "view");
  }
  return mbi_plan_create(context, view, desc, 0, plan);
}

MERBIT_API void merbit_plan_destroy(merbit_plan *plan) {
  if (plan != NULL) {
    mbi_plan_unref(plan);
  }
}

/* ==== >>spmv/update.c  new values for a plan ============================================== */
/* Whether the user's values are not those that the plan multiplies. */
static int mbi_update_converts(const merbit_plan *plan) {
  return (plan->matrix != NULL && !mbi_view_is_plain(&plan->view)) ||
         (mbi_plan_has_blocks(plan) && plan->full.csr.rows == 0 && !mbi_plan_blocks_fit(plan));
}

/* The new values in the order in which the plan multiplies: those of a CSR, or of plan->bsr. A
 * COO or 64-bit view is converted again, since duplicates may have been added up. */
static merbit_status mbi_update_convert(merbit_plan *plan, const void *values,
                                        merbit_matrix **matrix) {
  merbit_context *context = plan->context;
  const int device = plan->view.memory == MERBIT_MEMORY_DEVICE;
  merbit_view host = plan->view;
  merbit_status status = MERBIT_OK;
  if (device) {
    merbit_view structure = plan->view;
    structure.values = NULL;
    status = mbi_view_download(context, &structure, &host);
  }
  if (status == MERBIT_OK) {
    const void *kept = host.values;
    host.values = values;
    status = plan->matrix == NULL ? mbi_bsr_refill(context, &host, &plan->bsr)
                                  : mbi_matrix_from_view(context, &host, 0, matrix);
    host.values = device ? kept : host.values;
  }
  if (device) {
    mbi_host_view_release(context, &host);
  }
  return status;
}

/* The same matrix in general form: the method is made again for the values at `values`, which
 * the plan takes over. Its carries keep their size, for that does not depend on the values. */
static merbit_status mbi_update_remake(merbit_plan *plan, mbi_devptr values) {
  merbit_context *context = plan->context;
  const uint64_t bytes = plan->device.nnz * mbi_type_size(plan->type);
  merbit_plan fresh = *plan;
  merbit_status status;
  mbi_plan_forget(&fresh);
  memset(&fresh.ranks, 0, sizeof fresh.ranks);
  fresh.desc.changing_values = 1;
  fresh.device.form = MBI_VALUES_GENERAL;
  fresh.device.values = values;
  fresh.device.owns_values = 1;
  fresh.device.bytes += bytes;
  status = mbi_choose(&fresh);
  if (status != MERBIT_OK) {
    fresh.cuda->destroy(&fresh);
    mbi_ranks_destroy(context, &fresh.ranks);
    return status;
  }
  mbi_log(context, "new values broke the form \"%s\": the plan takes general ones from now on",
          mbi_value_name(plan));
  plan->cuda->destroy(plan);
  mbi_ranks_destroy(context, &plan->ranks);
  mbi_device_release(context, plan->device.values);
  fresh.device.bytes -= plan->device.form == MBI_VALUES_EQUAL
                            ? mbi_type_size(plan->type)
                            : plan->device.nnz * sizeof(float);
  mbi_mutex_lock(&context->lock);
  fresh.references = plan->references;
  *plan = fresh;
  mbi_mutex_unlock(&context->lock);
  return MERBIT_OK;
}

/* General values at *values for a plan that stores them shorter: likewise where they fit, else
 * the plan takes them over, and *values becomes 0. */
static merbit_status mbi_update_shorter(merbit_plan *plan, mbi_devptr *values) {
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->device;
  mbi_values_found found;
  mbi_program program;
  merbit_status status =
      mbi_arrays_program(context, csr->offset_type, MERBIT_INDEX_32, csr->base, &program);
  if (status != MERBIT_OK) {
    return status;
  }
  status = mbi_values_find(plan, &program, *values, &found);
  if (status == MERBIT_OK && (csr->form == MBI_VALUES_EQUAL ? found.equal : found.single)) {
    status = mbi_values_store(plan, &program, csr->form, *values, csr->values);
    if (status == MERBIT_OK && mbi_value_bytes(plan) > 0 && plan->cuda->refresh != NULL) {
      status = plan->cuda->refresh(plan);
    }
  } else if (status == MERBIT_OK) {
    status = mbi_update_remake(plan, *values);
    *values = status == MERBIT_OK ? 0 : *values;
  }
  mbi_program_destroy(context, &program);
  return status;
}

/* New values to the array `target`, in the plan's order of nonzeros. */
static merbit_status mbi_update_move(merbit_plan *plan, const void *values,
                                     merbit_memory memory, size_t bytes, mbi_devptr target) {
  merbit_context *context = plan->context;
  const int reorders = mbi_plan_reorders(plan), device = memory == MERBIT_MEMORY_DEVICE;
  mbi_devptr from = device ? mbi_device_address(values) : 0, own = 0;
  merbit_status status = MERBIT_OK;
  if (!reorders) {
    return device ? mbi_device_copy(context, target, from, bytes)
                  : mbi_device_upload(context, target, values, bytes);
  }
  if (!device) {
    status = mbi_device_allocate(context, bytes, "new values, as they come", &own);
    from = own;
  }
  if (status == MERBIT_OK && !device) {
    status = mbi_device_upload(context, own, values, bytes);
  }
  if (status == MERBIT_OK) {
    status = mbi_reorder_values_cuda(plan, from, target);
  }
  mbi_device_release(context, own);
  return status;
}

/* New values for a plan on CUDA, `bytes` of them in the order of the CSR. They go to the plan's
 * own array, which replaces a borrowed one, or to one beside those that are stored shorter. */
static merbit_status mbi_update_cuda(merbit_plan *plan, const void *values,
                                     merbit_memory memory, size_t bytes) {
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->device;
  const int shorter = csr->form != MBI_VALUES_GENERAL;
  mbi_devptr fresh = 0;
  merbit_status status = mbi_device_enter(context);
  if (status != MERBIT_OK) {
    return status;
  }
  if (memory == MERBIT_MEMORY_DEVICE && !mbi_device_owns(context, values)) {
    status =
        mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                 "the new values are said to be in device memory, but %p is not an address "
                 "of the GPU",
                 values);
  } else if (shorter || !csr->owns_values) {
    status = mbi_device_allocate(context, bytes, "a plan's own values", &fresh);
  }
  if (status == MERBIT_OK) {
    status = mbi_update_move(plan, values, memory, bytes, fresh != 0 ? fresh : csr->values);
  }
  if (status == MERBIT_OK && shorter) {
    status = mbi_update_shorter(plan, &fresh);
  } else if (status == MERBIT_OK) {
    if (fresh != 0) {
      csr->values = fresh;
      csr->owns_values = 1;
      csr->bytes += bytes;
      fresh = 0;
    }
    status = plan->cuda->refresh != NULL ? plan->cuda->refresh(plan) : MERBIT_OK;
  }
  mbi_device_release(context, fresh);
  mbi_device_leave(context);
  return status;
}

/* New values in host memory, `bytes` of them in the order of the CSR. */
static merbit_status mbi_update_store(merbit_plan *plan, const void *values, size_t bytes) {
  merbit_status status;
  if (plan->side == MERBIT_SIDE_CUDA) {
    return mbi_update_cuda(plan, values, MERBIT_MEMORY_HOST, bytes);
  }
  if (mbi_plan_reorders(plan)) {
    mbi_reorder_values(plan, values);
    return MERBIT_OK;
  }
  if (plan->own_values == NULL) {
    status = mbi_allocate_array(plan->context, (int64_t)bytes, 1, "a plan's own values",
                                &plan->own_values);
    if (status != MERBIT_OK) {
      return status;
    }
  }
  memcpy(plan->own_values, values, bytes);
  plan->values = plan->own_values;
  return MERBIT_OK;
}

/* Values that lie on the other side than the plan's arrays pass through host memory. */
static merbit_status mbi_update_through_host(merbit_plan *plan, const void *values,
                                             merbit_memory memory) {
  merbit_context *context = plan->context;
  const size_t size = mbi_type_size(plan->type);
  const void *host = values, *fresh = values;
  const merbit_view *multiplied =
      mbi_plan_has_blocks(plan) && plan->full.csr.rows == 0 ? &plan->bsr.view : &plan->csr;
  merbit_matrix *matrix = NULL;
  merbit_status status = MERBIT_OK;
  if (memory == MERBIT_MEMORY_DEVICE) {
    status = mbi_device_enter(context);
    if (status != MERBIT_OK) {
      return status;
    }
    status = mbi_array_download(context, values, mbi_view_values(&plan->view), size, &host);
    mbi_device_leave(context);
  }
  fresh = host;
  if (status == MERBIT_OK && mbi_update_converts(plan)) {
    status = mbi_update_convert(plan, host, &matrix);
    fresh = matrix != NULL ? matrix->view.values : plan->bsr.view.values;
  }
  if (status == MERBIT_OK) {
    status = mbi_update_store(plan, fresh, (size_t)mbi_view_values(multiplied) * size);
  }
  merbit_matrix_destroy(matrix);
  if (memory == MERBIT_MEMORY_DEVICE) {
    mbi_release(context, (void *)(uintptr_t)host);
  }
  return status;
}

MERBIT_API merbit_status merbit_plan_update_values(merbit_plan *plan, const void *values,
                                                   merbit_memory memory) {
  const size_t bytes =
      plan != NULL ? (size_t)mbi_view_values(&plan->view) * mbi_type_size(plan->type) : 0;
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (plan->csr.values == NULL) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "the plan is for a pattern of ones; make a plan from a view with values");
  }
  if (plan->view.nnz > 0 && values == NULL) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT, "the new values are NULL");
  }
  if (memory == MERBIT_MEMORY_DEFAULT) {
    memory =
        plan->view.memory == MERBIT_MEMORY_DEVICE ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
  }
  if (memory == MERBIT_MEMORY_DEVICE && plan->side == MERBIT_SIDE_CPU) {
    return mbi_fail(
        plan->context, MERBIT_INVALID_ARGUMENT,
        "the new values are said to be in device memory, but the plan is for the CPU");
  }
  if (plan->view.nnz == 0) {
    return MERBIT_OK;
  }
  if (plan->side == MERBIT_SIDE_CPU && plan->blocks.chunk_index != NULL) {
    return mbi_blocks_update(plan, values, bytes);
  }
  return memory == MERBIT_MEMORY_DEVICE && !mbi_update_converts(plan)
             ? mbi_update_cuda(plan, values, MERBIT_MEMORY_DEVICE, bytes)
             : mbi_update_through_host(plan, values, memory);
}

/* ==== >>spmv/describe.c  what a plan chose, in one line =================================== */
/* Bytes that one product moves if everything is moved once: the plan's streams, x and y. */
static int64_t mbi_plan_product_bytes(const merbit_plan *plan) {
  const int64_t size = (int64_t)mbi_type_size(plan->type);
  const int64_t nnz = plan->csr.nnz, rows = plan->csr.rows, cols = plan->csr.cols;
  const int64_t values = plan->csr.values != NULL ? nnz * size : 0;
  const int64_t vectors = (rows + cols) * size;
  const int64_t columns = nnz * (int64_t)sizeof(int32_t);
  const merbit_view *bsr = &plan->bsr.view;
  if (plan->side == MERBIT_SIDE_CUDA) {
    return vectors + (int64_t)plan->stream_bytes;
  }
  if (plan->blocks.chunk_index != NULL) {
    return vectors + (bsr->values != NULL ? mbi_view_values(bsr) * size : 0) +
           bsr->nnz * (int64_t)sizeof(int32_t) +
           (mbi_block_count(rows, bsr->block_rows) + 1) *
               (int64_t)mbi_index_bytes(bsr->offset_type);
  }
  return values + columns + vectors +
         (rows + 1) * (int64_t)mbi_index_bytes(plan->csr.offset_type);
}

MERBIT_API merbit_status merbit_plan_get_info(const merbit_plan *plan, merbit_plan_info *info) {
  if (plan == NULL || info == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  memset(info, 0, sizeof *info);
  info->side = plan->side;
  info->method = plan->method;
  info->bytes_per_product = mbi_plan_product_bytes(plan);
  info->plan_seconds = plan->plan_seconds;
  info->reorder_seconds = plan->reorder.seconds;
  info->bandwidth_before = plan->reorder.bandwidth_before;
  info->bandwidth = plan->reorder.bandwidth;
  if (plan->side == MERBIT_SIDE_CUDA) {
    plan->cuda->info(plan, info);
    info->device_bytes =
        (int64_t)(plan->device.bytes + plan->schedule_bytes + plan->reorder.bytes +
                  plan->cuda->carry_bytes(plan));
    info->cubin_from_cache = plan->program.from_cache;
    info->compile_seconds = plan->program.compile_seconds;
    info->load_seconds = plan->program.load_seconds;
  }
  return MERBIT_OK;
}

static int mbi_describe_blocks(const merbit_plan *plan, char *text, size_t size) {
  const merbit_view *bsr = &plan->bsr.view;
  return snprintf(text, size,
                  "%s on the CPU (%s), %s: %" PRId64 " x %" PRId64 ", %" PRId64
                  " blocks of %d x %d, %s-major, %.0f%% full; %d task%s; %s; %.3g MB per "
                  "product; runner-up merge",
                  mbi_method_name(plan->method),
                  plan->desc.method != MERBIT_METHOD_AUTO ? "as asked"
                                                          : "AUTO's method for blocks there",
                  mbi_type_name(plan->type), bsr->rows, bsr->cols, bsr->nnz, bsr->block_rows,
                  bsr->block_cols,
                  bsr->block_order == MERBIT_BLOCK_ROW_MAJOR ? "row" : "column",
                  bsr->nnz == 0
                      ? 100.0
                      : 100.0 * (double)plan->bsr.entries / (double)mbi_view_values(bsr),
                  plan->tasks, plan->tasks != 1 ? "s" : "", mbi_value_name(plan),
                  1e-6 * (double)mbi_plan_product_bytes(plan));
}

/* What is appended to the line of a reordered plan. */
static int mbi_describe_order(const merbit_plan *plan, char *text, size_t size) {
  return snprintf(text, size,
                  "; reordered by %s in %.1f ms, bandwidth %" PRId64 " to %" PRId64,
                  mbi_reordering_name(plan->desc.reordering), 1e3 * plan->reorder.seconds,
                  plan->reorder.bandwidth_before, plan->reorder.bandwidth);
}

MERBIT_API size_t merbit_plan_describe(const merbit_plan *plan, char *text, size_t size) {
  char line[1024];
  int length;
  if (plan == NULL) {
    length = snprintf(line, sizeof line, "no plan");
  } else if (plan->side == MERBIT_SIDE_CUDA) {
    const mbi_program *program = &plan->program;
    char part[256];
    (void)plan->cuda->describe(plan, part, sizeof part);
    length = snprintf(
        line, sizeof line,
        "%s on %s (%s), %s: %" PRId64 " x %" PRId64 ", %" PRId64
        " nonzeros; %s; %s; cubin %s in %.1f ms; %.3g MB per product%s",
        mbi_method_name(plan->method), plan->context->device.name,
        plan->desc.method != MERBIT_METHOD_AUTO ? "as asked"
        : plan->why[0] != '\0'                  ? plan->why
                                                : "for the library's own iterations",
        mbi_type_name(plan->type), plan->csr.rows, plan->csr.cols,
        mbi_plan_has_blocks(plan) ? plan->bsr.entries : plan->csr.nnz, part,
        mbi_value_name(plan), program->from_cache ? "from the cache" : "compiled",
        1e3 * (program->from_cache ? program->load_seconds : program->compile_seconds),
        1e-6 * (double)mbi_plan_product_bytes(plan),
        plan->desc.vector_memory == MERBIT_MEMORY_HOST ? "; host vectors, staged: slow" : "");
  } else if (plan->blocks.chunk_index != NULL) {
    length = mbi_describe_blocks(plan, line, sizeof line);
  } else {
    const int merge = plan->method == MERBIT_METHOD_MERGE;
    const char *reason = plan->reason[0] != '\0' ? plan->reason : plan->context->reason;
    length = snprintf(
        line, sizeof line,
        "%s on the CPU (%s), %s: %" PRId64 " x %" PRId64 ", %" PRId64
        " nonzeros, %d thread%s; %s, 4-byte columns; %.3g MB per product; runner-up "
        "%s%s%s",
        mbi_method_name(plan->method),
        plan->desc.method != MERBIT_METHOD_AUTO ? "as asked" : "AUTO's method there",
        mbi_type_name(plan->type), plan->csr.rows, plan->csr.cols, plan->csr.nnz,
        merge ? plan->tasks : 1, merge && plan->tasks != 1 ? "s" : "", mbi_value_name(plan),
        1e-6 * (double)mbi_plan_product_bytes(plan), merge ? "reference" : "merge",
        reason[0] != '\0' ? "; not on CUDA: " : "", reason);
  }
  if (plan != NULL && mbi_plan_reorders(plan) && length > 0 && (size_t)length < sizeof line) {
    length += mbi_describe_order(plan, line + length, sizeof line - (size_t)length);
  }
  if (text != NULL && size > 0) {
    (void)snprintf(text, size, "%s", line);
  }
  return length < 0 ? 0 : (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
}

/* ==== >>spmv/product.c  the product: checks and dispatch ================================== */
/* Whether two vectors share memory, as addresses of one side. */
static int mbi_overlap(const void *x, uint64_t x_bytes, const void *y, uint64_t y_bytes) {
  const uint64_t a = (uint64_t)(uintptr_t)x, b = (uint64_t)(uintptr_t)y;
  return x_bytes > 0 && y_bytes > 0 && a < b + y_bytes && b < a + x_bytes;
}

static merbit_status mbi_spmv_check(merbit_plan *plan, const merbit_workspace *workspace,
                                    const void *x, const void *y) {
  merbit_context *context = plan->context;
  const size_t size = mbi_type_size(plan->type);
  if (workspace->plan != plan) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "merbit_spmv: the workspace belongs to another plan");
  }
  if ((x == NULL && plan->csr.cols > 0) || (y == NULL && plan->csr.rows > 0)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "merbit_spmv: `%s` is NULL",
                    x == NULL && plan->csr.cols > 0 ? "x" : "y");
  }
  if (mbi_overlap(x, (uint64_t)plan->csr.cols * size, y, (uint64_t)plan->csr.rows * size)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "merbit_spmv: x (%" PRId64 " elements at %p) and y (%" PRId64
                    " at %p) overlap; use two vectors",
                    plan->csr.cols, x, plan->csr.rows, y);
  }
  return MERBIT_OK;
}

static void mbi_spmv_cpu(merbit_plan *plan, merbit_workspace *workspace, const void *alpha,
                         const void *x, const void *beta, void *y) {
  if (plan->method == MERBIT_METHOD_REFERENCE) {
    mbi_reference_multiply(&plan->csr, plan->values, alpha, x, beta, y);
  } else if (plan->blocks.chunk_index != NULL) {
    mbi_blocks_multiply(plan, workspace->carries, alpha, x, beta, y);
  } else {
    mbi_merge_multiply(plan->context, &plan->csr, plan->values, plan->tasks, workspace->carries,
                       alpha, x, beta, y);
  }
}

/* The driver is asked once per address: repeated products mostly repeat their vectors. */
static merbit_status mbi_spmv_check_address(merbit_context *context, const void *pointer,
                                            const void **known, const char *name) {
  if (pointer != *known && !mbi_device_owns(context, pointer)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "merbit_spmv: %s at %p is host memory, but the plan computes on CUDA; use a "
                    "merbit_buffer, or plan_desc.vector_memory = MERBIT_MEMORY_HOST",
                    name, pointer);
  }
  *known = pointer;
  return MERBIT_OK;
}

/* Host vectors: copied to the GPU and back, synchronously. */
static merbit_status mbi_spmv_staged(merbit_plan *plan, merbit_workspace *workspace,
                                     const void *alpha, const void *x, const void *beta, void *y,
                                     int reads_y, void *stream) {
  merbit_context *context = plan->context;
  const size_t size = mbi_type_size(plan->type);
  const size_t x_bytes = (size_t)plan->csr.cols * size, y_bytes = (size_t)plan->csr.rows * size;
  merbit_status status = MERBIT_OK;
  if (x_bytes > 0) {
    status = mbi_device_upload(context, workspace->staged_x, x, x_bytes);
  }
  if (status == MERBIT_OK && reads_y && y_bytes > 0) {
    status = mbi_device_upload(context, workspace->staged_y, y, y_bytes);
  }
  if (status == MERBIT_OK) {
    status = plan->cuda->multiply(plan, workspace->device_carries, alpha, workspace->staged_x, beta,
                                 workspace->staged_y, stream);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_synchronize(context, stream);
  }
  if (status == MERBIT_OK && y_bytes > 0) {
    status = mbi_device_download(context, y, workspace->staged_y, y_bytes);
  }
  return status;
}

static merbit_status mbi_spmv_cuda(merbit_plan *plan, merbit_workspace *workspace,
                                   const void *alpha, const void *x, const void *beta, void *y,
                                   int reads_y, void *stream) {
  merbit_context *context = plan->context;
  merbit_status status = mbi_device_enter(context);
  if (status != MERBIT_OK) {
    return status;
  }
  if (plan->desc.vector_memory == MERBIT_MEMORY_HOST) {
    status = mbi_spmv_staged(plan, workspace, alpha, x, beta, y, reads_y, stream);
  } else {
    if (plan->csr.cols > 0) {
      status = mbi_spmv_check_address(context, x, &workspace->known_x, "x");
    }
    if (status == MERBIT_OK && plan->csr.rows > 0) {
      status = mbi_spmv_check_address(context, y, &workspace->known_y, "y");
    }
    if (status == MERBIT_OK) {
      status = plan->cuda->multiply(plan, workspace->device_carries, alpha, mbi_device_address(x),
                                   beta, mbi_device_address(y), stream);
    }
  }
  mbi_device_leave(context);
  return status;
}

MERBIT_API merbit_status merbit_spmv(merbit_plan *plan, merbit_workspace *workspace,
                                     const void *alpha, const void *x, const void *beta, void *y,
                                     void *stream) {
  static const float one_f32 = 1.0f, zero_f32 = 0.0f;
  static const double one_f64 = 1.0, zero_f64 = 0.0;
  merbit_status status;
  int reads_y = 1;
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (workspace == NULL) {
    workspace = plan->workspace;
  }
  status = mbi_spmv_check(plan, workspace, x, y);
  if (status != MERBIT_OK) {
    return status;
  }
  if (plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE) {
    /* The kernels take the two addresses, null for the default. */
    return mbi_spmv_cuda(plan, workspace, &alpha, x, &beta, y, beta != NULL, stream);
  }
  if (plan->type == MERBIT_F32) {
    alpha = alpha != NULL ? alpha : &one_f32;
    beta = beta != NULL ? beta : &zero_f32;
    reads_y = *(const float *)beta != 0.0f;
  } else {
    alpha = alpha != NULL ? alpha : &one_f64;
    beta = beta != NULL ? beta : &zero_f64;
    reads_y = *(const double *)beta != 0.0;
  }
  if (plan->side == MERBIT_SIDE_CPU) {
    mbi_spmv_cpu(plan, workspace, alpha, x, beta, y);
    return MERBIT_OK;
  }
  return mbi_spmv_cuda(plan, workspace, alpha, x, beta, y, reads_y, stream);
}

/* ==== >>spmv/vectors.c  vectors into the order of a plan and back ========================= */
/* Vectors into a plan's order and back. */

static merbit_status mbi_vector_check(merbit_plan *plan, const char *call, const void *from,
                                      const void *to, int64_t count) {
  merbit_context *context = plan->context;
  const uint64_t bytes = (uint64_t)count * mbi_type_size(plan->type);
  if (count > 0 && (from == NULL || to == NULL)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "%s: the vector %s is NULL", call,
                    from == NULL ? "to read" : "to write");
  }
  if (mbi_overlap(from, bytes, to, bytes)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "%s: the vectors of %" PRId64
                    " elements at %p and %p overlap; use two vectors",
                    call, count, from, to);
  }
  return MERBIT_OK;
}

static void mbi_vector_move_host(merbit_plan *plan, int restore, const void *from, void *to,
                                 int64_t count) {
  mbi_reorder_call call;
  if (plan->reorder.order == NULL) {
    memcpy(to, from, (size_t)count * mbi_type_size(plan->type));
    return;
  }
  call.move = restore ? mbi_scatter : mbi_gather;
  call.from = from;
  call.to = to;
  call.places = plan->reorder.order;
  call.place_type = MERBIT_INDEX_32;
  call.count = count;
  mbi_reorder_run(plan, &call);
}

static merbit_status mbi_vector_check_address(merbit_context *context, const char *name,
                                              const void *pointer) {
  return mbi_device_owns(context, pointer)
             ? MERBIT_OK
             : mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                        "%s: %p is host memory, but the plan computes on CUDA; use a "
                        "merbit_buffer, or plan_desc.vector_memory = MERBIT_MEMORY_HOST",
                        name, pointer);
}

static merbit_status mbi_vector_move_cuda(merbit_plan *plan, const char *name, int restore,
                                          const void *from, void *to, int64_t count,
                                          void *stream) {
  merbit_context *context = plan->context;
  const mbi_devptr source = mbi_device_address(from), target = mbi_device_address(to);
  merbit_status status = mbi_device_enter(context);
  if (status != MERBIT_OK) {
    return status;
  }
  status = mbi_vector_check_address(context, name, from);
  if (status == MERBIT_OK) {
    status = mbi_vector_check_address(context, name, to);
  }
  if (status == MERBIT_OK) {
    status = plan->reorder.order == NULL
                 ? mbi_device_copy_async(context, target, source,
                                         (size_t)count * mbi_type_size(plan->type), stream)
                 : mbi_reorder_launch(plan, restore, plan->reorder.device_order, source, target,
                                      count, stream);
  }
  mbi_device_leave(context);
  return status;
}

/* Host vectors are moved by CPU threads, for a plan on CUDA too: they would travel twice. */
static merbit_status mbi_vector_move(merbit_plan *plan, const char *call, int restore,
                                     const void *from, void *to, int64_t count, void *stream) {
  const merbit_status status = mbi_vector_check(plan, call, from, to, count);
  if (status != MERBIT_OK || count == 0) {
    return status;
  }
  if (plan->side == MERBIT_SIDE_CUDA && plan->desc.vector_memory != MERBIT_MEMORY_HOST) {
    return mbi_vector_move_cuda(plan, call, restore, from, to, count, stream);
  }
  mbi_vector_move_host(plan, restore, from, to, count);
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_plan_reorder(merbit_plan *plan, const void *x, void *px,
                                             void *stream) {
  return plan == NULL
             ? MERBIT_INVALID_ARGUMENT
             : mbi_vector_move(plan, "merbit_plan_reorder", 0, x, px, plan->csr.cols, stream);
}

MERBIT_API merbit_status merbit_plan_restore(merbit_plan *plan, const void *py, void *y,
                                             void *stream) {
  return plan == NULL
             ? MERBIT_INVALID_ARGUMENT
             : mbi_vector_move(plan, "merbit_plan_restore", 1, py, y, plan->csr.rows, stream);
}

MERBIT_API merbit_status merbit_plan_get_order(const merbit_plan *plan, int64_t *order,
                                               int64_t count) {
  int64_t i;
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (count != plan->csr.rows || (order == NULL && count > 0)) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_plan_get_order: room for %" PRId64 " numbers at %p; give %" PRId64
                    ", one for each row",
                    count, (void *)order, plan->csr.rows);
  }
  for (i = 0; i < count; i++) {
    order[i] = plan->reorder.order != NULL ? (int64_t)plan->reorder.order[i] : i;
  }
  return MERBIT_OK;
}

/* ==== >>solve/pagerank.c  PageRank ======================================================== */
/* The transition matrix of a link graph, transposed: with w(i, j) the weight of the edge i ->
 * j, P(i, j) = w(i, j) / sum over j of w(i, j), and rows of P without weight are empty
 * ("dangling"). */
#define MBI_TRANSITION_CHUNK 65536 /* entries that one task scales */

typedef struct mbi_transition {
  merbit_matrix *matrix; /* the transposed graph */
  merbit_view view;      /* P^T: the matrix with scaled values */
  void *own_values;      /* of view, where the matrix had none */
  double *weights;       /* of all edges that leave a vertex; only while building */
  unsigned char *dangling;
  int64_t dangling_count;
} mbi_transition;

static double mbi_transition_weight(const merbit_view *graph, int64_t k) {
  if (graph->values == NULL) {
    return 1.0;
  }
  return mbi_view_type(graph) == MERBIT_F32 ? (double)((const float *)graph->values)[k]
                                            : ((const double *)graph->values)[k];
}

/* `graph` is a host view whose arrays have been checked. */
static merbit_status mbi_transition_check(merbit_context *context, const merbit_view *graph) {
  int64_t k;
  for (k = 0; k < graph->nnz && graph->values != NULL; k++) {
    const double weight = mbi_transition_weight(graph, k);
    if (!(weight >= 0 && weight <= DBL_MAX)) {
      const int64_t column = mbi_index_at(graph->col_ind, graph->index_type, k) - graph->base;
      const int64_t row = graph->format == MERBIT_COO
                              ? mbi_index_at(graph->row_ind, graph->index_type, k) - graph->base
                              : mbi_row_of(graph, k);
      return mbi_fail(context, MERBIT_INVALID_MATRIX,
                      "values[%" PRId64 "] is %g, the weight of edge (%" PRId64 ", %" PRId64
                      "), counted from 0; weights must be finite and not negative",
                      k, weight, row, column);
    }
  }
  return MERBIT_OK;
}

/* What leaves each vertex, edges in the order of their targets. */
static merbit_status mbi_transition_weigh(merbit_context *context, mbi_transition *p) {
  const merbit_view *graph = &p->matrix->view;
  const int32_t *source = (const int32_t *)graph->col_ind;
  int64_t i, k;
  for (i = 0; i < graph->cols; i++) {
    p->weights[i] = 0;
  }
  for (k = 0; k < graph->nnz; k++) {
    p->weights[source[k]] += mbi_transition_weight(graph, k);
  }
  for (i = 0; i < graph->cols; i++) {
    p->dangling[i] = p->weights[i] == 0;
    p->dangling_count += p->dangling[i];
    if (p->weights[i] > DBL_MAX) {
      return mbi_fail(context, MERBIT_INVALID_MATRIX,
                      "the weights of the edges from vertex %" PRId64
                      ", counted from 0, add up to infinity; scale them down",
                      i);
    }
  }
  return MERBIT_OK;
}

static void mbi_transition_scale_f64(void *argument, int task) {
  const mbi_transition *p = (const mbi_transition *)argument;
  const merbit_view *graph = &p->matrix->view;
  const int32_t *source = (const int32_t *)graph->col_ind;
  double *value = (double *)(uintptr_t)p->view.values;
  const int64_t begin = (int64_t)task * MBI_TRANSITION_CHUNK;
  const int64_t left = graph->nnz - begin;
  const int64_t end = begin + (left < MBI_TRANSITION_CHUNK ? left : MBI_TRANSITION_CHUNK);
  int64_t k;
  for (k = begin; k < end; k++) {
    const double total = p->weights[source[k]];
    value[k] = total > 0 ? (double)(mbi_transition_weight(graph, k) / total) : 0;
  }
}

static void mbi_transition_scale_f32(void *argument, int task) {
  const mbi_transition *p = (const mbi_transition *)argument;
  const merbit_view *graph = &p->matrix->view;
  const int32_t *source = (const int32_t *)graph->col_ind;
  float *value = (float *)(uintptr_t)p->view.values;
  const int64_t begin = (int64_t)task * MBI_TRANSITION_CHUNK;
  const int64_t left = graph->nnz - begin;
  const int64_t end = begin + (left < MBI_TRANSITION_CHUNK ? left : MBI_TRANSITION_CHUNK);
  int64_t k;
  for (k = begin; k < end; k++) {
    const double total = p->weights[source[k]];
    value[k] = total > 0 ? (float)(mbi_transition_weight(graph, k) / total) : 0;
  }
}

static void mbi_transition_scale(merbit_context *context, mbi_transition *p) {
  const int64_t tasks = (p->view.nnz + MBI_TRANSITION_CHUNK - 1) / MBI_TRANSITION_CHUNK;
  p->view.values = p->own_values != NULL ? p->own_values : p->matrix->view.values;
  mbi_parallel(context, (int)tasks,
               mbi_view_type(&p->view) == MERBIT_F32 ? mbi_transition_scale_f32
                                                     : mbi_transition_scale_f64,
               p);
}

/* `graph` is a square host view whose header has been checked; its arrays and weights are
 * checked here. After a failure mbi_transition_destroy cleans up. */
static merbit_status mbi_transition_create(merbit_context *context, const merbit_view *graph,
                                           mbi_transition *p) {
  void *memory = NULL;
  merbit_status status = mbi_view_check_arrays(context, graph);
  memset(p, 0, sizeof *p);
  if (status == MERBIT_OK) {
    status = mbi_transition_check(context, graph);
  }
  if (status == MERBIT_OK) {
    status = mbi_matrix_from_view(context, graph, 1, &p->matrix);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  p->view = p->matrix->view;
  status = mbi_allocate_array(context, graph->rows, sizeof(double), "the weight of each vertex",
                              &memory);
  p->weights = (double *)memory;
  if (status == MERBIT_OK) {
    status = mbi_allocate_array(context, graph->rows, 1, "the mark of each vertex", &memory);
    p->dangling = (unsigned char *)memory;
  }
  if (status == MERBIT_OK && p->view.values == NULL) {
    status = mbi_allocate_array(context, p->view.nnz, mbi_type_size(mbi_view_type(graph)),
                                "the values of the transition matrix", &p->own_values);
  }
  if (status == MERBIT_OK) {
    status = mbi_transition_weigh(context, p);
  }
  if (status == MERBIT_OK) {
    mbi_transition_scale(context, p);
  }
  mbi_release(context, p->weights);
  p->weights = NULL;
  return status;
}

static void mbi_transition_destroy(merbit_context *context, mbi_transition *p) {
  merbit_matrix_destroy(p->matrix);
  mbi_release(context, p->own_values);
  mbi_release(context, p->dangling);
}

/* PageRank by the power method: Zhang, Yao, Jiang, Zhang, "MERBIT: A GPU-Based SpMV Method for
 * Iterative Workloads", section 5.5.1. With P(i, j) = w(i, j) / sum over j of w(i, j), an
 * iteration is x' = d P^T x + (1 - d + d * (mass of dangling vertices)) / n. P^T is built once.
 * Sums over vertices are in double and in an order that depends on n alone. */
#define MBI_PAGERANK_THREADS 256 /* of a block, and the most blocks, on the GPU */
#define MBI_PAGERANK_BLOCKS 1024
#define MBI_PAGERANK_BATCH 8 /* iterations that the GPU runs between two looks of the host */
#define MBI_PAGERANK_RUNNING (-1)

typedef struct mbi_pagerank_state { /* mbk_pagerank_state of pagerank.cu */
  double base;                      /* what every vertex receives in the next iteration */
  double change;
  int32_t iterations;
  int32_t stop; /* MBI_PAGERANK_RUNNING, or a merbit_stop */
} mbi_pagerank_state;

typedef struct mbi_pagerank_gpu {
  mbi_program program;
  void *update, *finish; /* CUfunction */
  mbi_devptr x, y[2], dangling, partials, state;
} mbi_pagerank_gpu;

typedef struct mbi_pagerank {
  merbit_context *context;
  merbit_pagerank_desc desc; /* defaults filled in */
  merbit_type type;
  int64_t n;
  mbi_transition p;
  merbit_plan *plan; /* of P^T */
  void *x;           /* the caller's ranks */
  mbi_pagerank_state state;
  void *y;          /* CPU: the product */
  double *partials; /* CPU: change and dangling mass of each chunk */
  mbi_pagerank_gpu gpu;
} mbi_pagerank;

/* ---- Encode: P^T as a plan, vectors ------------------------------------------------------ */

static merbit_status mbi_pagerank_plan(mbi_pagerank *run, merbit_side side) {
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.side = side;
  desc.unchecked = 1;
  return mbi_plan_create(run->context, &run->p.view, &desc, side == MERBIT_SIDE_CUDA,
                         &run->plan);
}

static int64_t mbi_pagerank_blocks(const mbi_pagerank *run) {
  const int64_t blocks = (run->n + MBI_PAGERANK_THREADS - 1) / MBI_PAGERANK_THREADS;
  return blocks < MBI_PAGERANK_BLOCKS ? blocks : MBI_PAGERANK_BLOCKS;
}

/* Vectors on the GPU; run->x already holds the first ranks. */
static merbit_status mbi_pagerank_upload(mbi_pagerank *run) {
  merbit_context *context = run->context;
  const size_t n = (size_t)run->n, bytes = n * mbi_type_size(run->type);
  int i;
  merbit_status status = mbi_device_allocate(context, bytes, "ranks", &run->gpu.x);
  for (i = 0; i < 2 && status == MERBIT_OK; i++) {
    status = mbi_device_allocate(context, bytes, "products", &run->gpu.y[i]);
    if (status == MERBIT_OK) {
      status = mbi_device_zero(context, run->gpu.y[i], bytes, NULL);
    }
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, n, "vertex marks", &run->gpu.dangling);
  }
  if (status == MERBIT_OK) {
    status =
        mbi_device_allocate(context, (uint64_t)mbi_pagerank_blocks(run) * 2 * sizeof(double),
                            "partial sums", &run->gpu.partials);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, sizeof run->state, "the state", &run->gpu.state);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_upload(context, run->gpu.x, run->x, bytes);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_upload(context, run->gpu.dangling, run->p.dangling, n);
  }
  return status == MERBIT_OK
             ? mbi_device_upload(context, run->gpu.state, &run->state, sizeof run->state)
             : status;
}

/* ---- Specialise: one program with the two kernels ---------------------------------------- */

static void mbi_pagerank_preamble(merbit_type type, mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_VECTOR", type == MERBIT_F32 ? "float" : "double");
}

static merbit_status mbi_pagerank_specialise(mbi_pagerank *run) {
  mbi_preamble preamble;
  merbit_status status;
  mbi_pagerank_preamble(run->type, &preamble);
  status = mbi_program_create(run->context, "solve/pagerank.cu", &preamble, &run->gpu.program);
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(run->context, &run->gpu.program, "mbk_pagerank_update",
                                &run->gpu.update);
  }
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(run->context, &run->gpu.program, "mbk_pagerank_finish",
                                &run->gpu.finish);
  }
  return status;
}

static merbit_status mbi_pagerank_prepare_cuda(mbi_pagerank *run) {
  merbit_status status = mbi_pagerank_plan(run, MERBIT_SIDE_CUDA);
  if (status == MERBIT_OK) {
    status = mbi_device_enter(run->context);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  status = mbi_pagerank_specialise(run);
  if (status == MERBIT_OK) {
    status = mbi_pagerank_upload(run);
  }
  mbi_device_leave(run->context);
  return status;
}

/* What a dead device held is gone with it. Leaves `gpu` empty, so that the CPU may follow. */
static void mbi_pagerank_release_cuda(mbi_pagerank *run) {
  merbit_context *context = run->context;
  mbi_pagerank_gpu *gpu = &run->gpu;
  if (context->side == MERBIT_SIDE_CUDA && mbi_device_enter_alive(context)) {
    mbi_device_release(context, gpu->x);
    mbi_device_release(context, gpu->y[0]);
    mbi_device_release(context, gpu->y[1]);
    mbi_device_release(context, gpu->dangling);
    mbi_device_release(context, gpu->partials);
    mbi_device_release(context, gpu->state);
    mbi_program_destroy(context, &gpu->program);
    mbi_device_leave(context);
  }
  memset(gpu, 0, sizeof *gpu);
  merbit_plan_destroy(run->plan);
  run->plan = NULL;
}

/* ---- Launch: a batch of iterations, then one look ---------------------------------------- */

/* Enqueue one iteration; the two products alternate, as the dual-buffer commit wants it. */
static merbit_status mbi_pagerank_launch(mbi_pagerank *run, int iteration) {
  merbit_context *context = run->context;
  mbi_devptr y = run->gpu.y[iteration % 2], z = run->gpu.y[1 - iteration % 2];
  const unsigned shared = 2 * MBI_PAGERANK_THREADS * sizeof(double);
  uint64_t n = (uint64_t)run->n;
  uint32_t blocks = (uint32_t)mbi_pagerank_blocks(run);
  void *update[7], *finish[6];
  merbit_status status = mbi_merbit_multiply_dual(run->plan, run->gpu.x, y, z, NULL);
  update[0] = &run->gpu.x;
  update[1] = &y;
  update[2] = &run->gpu.dangling;
  update[3] = &n;
  update[4] = &run->desc.damping;
  update[5] = &run->gpu.state;
  update[6] = &run->gpu.partials;
  finish[0] = &run->gpu.partials;
  finish[1] = &blocks;
  finish[2] = &n;
  finish[3] = &run->desc.damping;
  finish[4] = &run->desc.tolerance;
  finish[5] = &run->gpu.state;
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, run->gpu.update, "mbk_pagerank_update", blocks,
                               MBI_PAGERANK_THREADS, shared, NULL, update);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, run->gpu.finish, "mbk_pagerank_finish", 1,
                               MBI_PAGERANK_THREADS, shared, NULL, finish);
  }
  return status;
}

/* A batch of iterations, then one look. */
static merbit_status mbi_pagerank_iterate_cuda(mbi_pagerank *run) {
  merbit_context *context = run->context;
  const int left = run->desc.max_iterations - run->state.iterations;
  const int first = run->state.iterations; /* exact while running: none was skipped */
  int i;
  merbit_status status = mbi_device_enter(context);
  if (status != MERBIT_OK) {
    return status;
  }
  for (i = 0; i < MBI_PAGERANK_BATCH && i < left && status == MERBIT_OK; i++) {
    status = mbi_pagerank_launch(run, first + i);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, &run->state, run->gpu.state, sizeof run->state);
  }
  mbi_device_leave(context);
  return status;
}

static merbit_status mbi_pagerank_fetch(mbi_pagerank *run) {
  merbit_status status = mbi_device_enter(run->context);
  if (status == MERBIT_OK) {
    status = mbi_device_download(run->context, run->x, run->gpu.x,
                                 (size_t)run->n * mbi_type_size(run->type));
    mbi_device_leave(run->context);
  }
  return status;
}

/* PageRank: what was asked, who computes, and the loop. Sums over vertices are in double and in
 * an order that depends on their number alone. */
#define MBI_PAGERANK_CHUNK 8192 /* vertices that one task updates */

static merbit_status mbi_pagerank_check_desc(mbi_pagerank *run) {
  merbit_context *context = run->context;
  merbit_pagerank_desc *desc = &run->desc;
  if (desc->damping != 0 && !(desc->damping > 0 && desc->damping < 1)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "pagerank_desc.damping is %g; use a number between 0 and 1, or 0 for 0.85",
                    desc->damping);
  }
  if (desc->tolerance != 0 && !(desc->tolerance > 0 && desc->tolerance <= DBL_MAX)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "pagerank_desc.tolerance is %g; use a number above 0, or 0 for the default",
                    desc->tolerance);
  }
  if (desc->max_iterations < 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "pagerank_desc.max_iterations is %d; use 0 for the default",
                    desc->max_iterations);
  }
  if ((int)desc->side < MERBIT_SIDE_AUTO || (int)desc->side > MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "pagerank_desc.side is %d; use a MERBIT_SIDE", (int)desc->side);
  }
  desc->damping = desc->damping != 0 ? desc->damping : 0.85;
  desc->max_iterations = desc->max_iterations != 0 ? desc->max_iterations : 1000;
  if (desc->tolerance == 0) {
    desc->tolerance = run->type == MERBIT_F32 ? 1e-6 : 1e-10;
  }
  return MERBIT_OK;
}

static merbit_status mbi_pagerank_encode(mbi_pagerank *run, const merbit_view *graph) {
  merbit_context *context = run->context;
  merbit_view host = *graph;
  merbit_status status = MERBIT_OK;
  const int device = graph->memory == MERBIT_MEMORY_DEVICE;
  if (run->desc.unweighted) {
    host.values = NULL;
  }
  if (device) {
    const merbit_view there = host;
    status = mbi_view_download(context, &there, &host);
  }
  if (status == MERBIT_OK && host.format == MERBIT_BSR) {
    merbit_matrix *entries = NULL;
    status = mbi_view_check_arrays(context, &host);
    if (status == MERBIT_OK) {
      status = mbi_matrix_from_view(context, &host, 0, &entries);
    }
    if (status == MERBIT_OK) {
      status = mbi_transition_create(context, &entries->view, &run->p);
    }
    merbit_matrix_destroy(entries);
  } else if (status == MERBIT_OK) {
    status = mbi_transition_create(context, &host, &run->p);
  }
  if (device) {
    mbi_host_view_release(context, &host);
  }
  return status;
}

/* ---- CPU --------------------------------------------------------------------------------- */

/* One chunk of x = d * y + base. */
static void mbi_pagerank_update_f64(void *argument, int chunk) {
  const mbi_pagerank *run = (const mbi_pagerank *)argument;
  const double *y = (const double *)run->y;
  double *x = (double *)run->x;
  const double damping = run->desc.damping, base = run->state.base;
  const int64_t begin = (int64_t)chunk * MBI_PAGERANK_CHUNK;
  const int64_t end = begin + MBI_PAGERANK_CHUNK < run->n ? begin + MBI_PAGERANK_CHUNK : run->n;
  double change = 0, mass = 0;
  int64_t i;
  for (i = begin; i < end; i++) {
    const double rank = (double)(damping * (double)y[i] + base);
    change += fabs((double)rank - (double)x[i]);
    mass += run->p.dangling[i] ? (double)rank : 0;
    x[i] = rank;
  }
  run->partials[2 * (size_t)chunk] = change;
  run->partials[2 * (size_t)chunk + 1] = mass;
}

/* One chunk of x = d * y + base. */
static void mbi_pagerank_update_f32(void *argument, int chunk) {
  const mbi_pagerank *run = (const mbi_pagerank *)argument;
  const float *y = (const float *)run->y;
  float *x = (float *)run->x;
  const double damping = run->desc.damping, base = run->state.base;
  const int64_t begin = (int64_t)chunk * MBI_PAGERANK_CHUNK;
  const int64_t end = begin + MBI_PAGERANK_CHUNK < run->n ? begin + MBI_PAGERANK_CHUNK : run->n;
  double change = 0, mass = 0;
  int64_t i;
  for (i = begin; i < end; i++) {
    const float rank = (float)(damping * (double)y[i] + base);
    change += fabs((double)rank - (double)x[i]);
    mass += run->p.dangling[i] ? (double)rank : 0;
    x[i] = rank;
  }
  run->partials[2 * (size_t)chunk] = change;
  run->partials[2 * (size_t)chunk + 1] = mass;
}

static int64_t mbi_pagerank_chunks(int64_t count) {
  return (count + MBI_PAGERANK_CHUNK - 1) / MBI_PAGERANK_CHUNK;
}

static merbit_status mbi_pagerank_prepare_cpu(mbi_pagerank *run) {
  void *partials = NULL;
  merbit_status status = mbi_pagerank_plan(run, MERBIT_SIDE_CPU);
  if (status == MERBIT_OK) {
    status = mbi_allocate_array(run->context, run->n, mbi_type_size(run->type),
                                "a vector of ranks", &run->y);
  }
  if (status == MERBIT_OK) {
    status = mbi_allocate_array(run->context, mbi_pagerank_chunks(run->n), 2 * sizeof(double),
                                "partial sums", &partials);
  }
  run->partials = (double *)partials;
  return status;
}

static merbit_status mbi_pagerank_iterate_cpu(mbi_pagerank *run) {
  const double damping = run->desc.damping;
  const int64_t chunks = mbi_pagerank_chunks(run->n);
  mbi_pagerank_state *state = &run->state;
  double mass = 0;
  int64_t chunk;
  const merbit_status status = merbit_spmv(run->plan, NULL, NULL, run->x, NULL, run->y, NULL);
  if (status != MERBIT_OK) {
    return status;
  }
  mbi_parallel(run->context, (int)chunks,
               run->type == MERBIT_F32 ? mbi_pagerank_update_f32 : mbi_pagerank_update_f64,
               run);
  state->change = 0;
  for (chunk = 0; chunk < chunks; chunk++) {
    state->change += run->partials[2 * chunk];
    mass += run->partials[2 * chunk + 1];
  }
  state->base = (1 - damping + damping * mass) / (double)run->n;
  state->iterations++;
  if (!(state->change <= DBL_MAX)) {
    state->stop = MERBIT_STOP_NOT_FINITE;
  } else if (state->change < run->desc.tolerance) {
    state->stop = MERBIT_STOP_CONVERGED;
  }
  return MERBIT_OK;
}

/* ---- Either side ------------------------------------------------------------------------- */

static void mbi_pagerank_release(mbi_pagerank *run) {
  mbi_pagerank_release_cuda(run);
  mbi_release(run->context, run->partials);
  mbi_release(run->context, run->y);
  mbi_transition_destroy(run->context, &run->p);
}

/* AUTO may take the CPU when the GPU fails now and the graph came in host memory. */
static merbit_status mbi_pagerank_prepare(mbi_pagerank *run, merbit_memory memory) {
  merbit_context *context = run->context;
  const merbit_side wish = run->desc.side;
  char reason[sizeof run->plan->reason];
  merbit_status status;
  if (wish == MERBIT_SIDE_CPU ||
      (wish == MERBIT_SIDE_AUTO && context->side == MERBIT_SIDE_CPU)) {
    return mbi_pagerank_prepare_cpu(run);
  }
  status = mbi_pagerank_prepare_cuda(run);
  if (status == MERBIT_OK || wish == MERBIT_SIDE_CUDA || memory == MERBIT_MEMORY_DEVICE ||
      status == MERBIT_OUT_OF_MEMORY) {
    return status;
  }
  mbi_pagerank_release_cuda(run);
  mbi_forgive(context, reason, sizeof reason);
  mbi_log(context, "this PageRank computes on the CPU: %s", reason);
  status = mbi_pagerank_prepare_cpu(run);
  if (status == MERBIT_OK) {
    memcpy(run->plan->reason, reason, sizeof reason);
  }
  return status;
}

static merbit_status mbi_pagerank_iterate(mbi_pagerank *run) {
  const int cuda = run->plan->side == MERBIT_SIDE_CUDA;
  const double start = mbi_seconds();
  const merbit_pagerank_desc *desc = &run->desc;
  mbi_pagerank_state *state = &run->state;
  while (state->stop == MBI_PAGERANK_RUNNING) {
    const merbit_status status =
        cuda ? mbi_pagerank_iterate_cuda(run) : mbi_pagerank_iterate_cpu(run);
    if (status != MERBIT_OK) {
      return status;
    }
    if (state->stop == MBI_PAGERANK_RUNNING && state->iterations >= desc->max_iterations) {
      state->stop = MERBIT_STOP_CAP;
    }
    if (desc->progress != NULL &&
        desc->progress(desc->progress_user, state->iterations, state->change,
                       mbi_seconds() - start) != 0 &&
        state->stop == MBI_PAGERANK_RUNNING) {
      state->stop = MERBIT_STOP_CANCELLED;
    }
  }
  return cuda ? mbi_pagerank_fetch(run) : MERBIT_OK;
}

static void mbi_pagerank_start(mbi_pagerank *run) {
  const double n = (double)run->n, damping = run->desc.damping;
  int64_t i;
  for (i = 0; i < run->n; i++) {
    if (run->type == MERBIT_F32) {
      ((float *)run->x)[i] = (float)(1 / n);
    } else {
      ((double *)run->x)[i] = 1 / n;
    }
  }
  run->state.stop = MBI_PAGERANK_RUNNING;
  run->state.base = (1 - damping + damping * (double)run->p.dangling_count / n) / n;
}

/* `graph` is a square view, not empty, whose header has been checked. */
static merbit_status mbi_pagerank_run(mbi_pagerank *run, const merbit_view *graph,
                                      merbit_pagerank_result *result) {
  const double start = mbi_seconds();
  merbit_status status = mbi_pagerank_encode(run, graph);
  if (status == MERBIT_OK) {
    mbi_pagerank_start(run);
    status = mbi_pagerank_prepare(run, graph->memory);
  }
  result->prepare_seconds = mbi_seconds() - start;
  if (status == MERBIT_OK) {
    status = mbi_pagerank_iterate(run);
  }
  if (status == MERBIT_OK) {
    result->iterate_seconds = mbi_seconds() - start - result->prepare_seconds;
    result->stop = (merbit_stop)run->state.stop;
    result->iterations = run->state.iterations;
    result->change = run->state.change;
    result->dangling = run->p.dangling_count;
    (void)merbit_plan_get_info(run->plan, &result->plan);
    (void)merbit_plan_describe(run->plan, result->description, sizeof result->description);
  }
  mbi_pagerank_release(run);
  return status;
}

static merbit_status mbi_pagerank_check(mbi_pagerank *run, const merbit_view *graph,
                                        const void *ranks) {
  merbit_context *context = run->context;
  const merbit_status status = mbi_view_check_header(context, graph);
  if (status != MERBIT_OK) {
    return status;
  }
  if (graph->rows != graph->cols) {
    return mbi_fail(context, MERBIT_INVALID_MATRIX,
                    "the graph is a matrix of %" PRId64 " x %" PRId64
                    "; a link graph has as many rows as columns",
                    graph->rows, graph->cols);
  }
  if (ranks == NULL && graph->rows > 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "merbit_pagerank: `ranks` is NULL; give room for %" PRId64 " values",
                    graph->rows);
  }
  run->type = mbi_view_type(graph);
  run->n = graph->rows;
  return mbi_pagerank_check_desc(run);
}

MERBIT_API merbit_status merbit_pagerank(merbit_context *context, const merbit_view *graph,
                                         const merbit_pagerank_desc *desc, void *ranks,
                                         merbit_pagerank_result *result) {
  merbit_pagerank_result answer;
  mbi_pagerank run;
  merbit_status status;
  memset(&answer, 0, sizeof answer);
  memset(&run, 0, sizeof run);
  if (result != NULL) {
    *result = answer;
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  run.context = context;
  run.x = ranks;
  if (desc != NULL) {
    run.desc = *desc;
  }
  status = mbi_pagerank_check(&run, graph, ranks);
  if (status == MERBIT_OK && run.n > 0) {
    status = mbi_pagerank_run(&run, graph, &answer);
  }
  if (status == MERBIT_OK && result != NULL) {
    *result = answer;
  }
  return status;
}


#endif /* MERBIT_IMPLEMENTATION */

/*
 * MIT License
 *
 * Copyright (c) 2026 The merbit authors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 */

