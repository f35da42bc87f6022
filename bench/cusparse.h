/* cuSPARSE, opened at run time: cusparseSpMV and cusparseSpMVOp on the arrays that merbit
 * reads. Constants and prototypes are those of cusparse.h in CUDA 12 and 13, where SpMVOp
 * requires CUSPARSE_ENABLE_EXPERIMENTAL_API. */
#ifndef BENCH_CUSPARSE_H
#define BENCH_CUSPARSE_H
#include "driver.h"
#include <glob.h>
#include <libgen.h>

#define CUSPARSE_INDEX_32I 2
#define CUSPARSE_INDEX_BASE_ZERO 0
#define CUSPARSE_OPERATION_NON_TRANSPOSE 0 /* CUSPARSE_OPERATION_TRANSPOSE is 1 */
#define CUSPARSE_DIRECTION_ROW 0           /* within blocks, for the legacy function */
#define CUSPARSE_ORDER_ROW 2               /* within blocks */
#define CUSPARSE_R_32F 0                   /* library_types.h: CUDA_R_32F */
#define CUSPARSE_R_64F 1

typedef enum bench_format {
  BENCH_FORMAT_CSR,
  BENCH_FORMAT_CSR_OP, /* cusparseSpMVOp, which compiles a kernel for each plan */
  BENCH_FORMAT_COO,
  BENCH_FORMAT_SLICED,
  BENCH_FORMAT_BLOCKS,
  BENCH_FORMAT_BLOCKS_LEGACY /* cusparse?bsrmv */
} bench_format;

static const struct {
  const char *name;
  int algorithm; /* cusparseSpMVAlg_t or cusparseSpMVOpAlg_t; unused by the legacy function */
  bench_format format;
  int block;     /* 0: the size that moves the fewest bytes */
  int operation; /* 1: product with the transpose, from the same arrays */
} bench_cusparse_algorithms[] = {{"cusparse-csr-alg1", 2, BENCH_FORMAT_CSR, 0, 0},
                                 {"cusparse-csr-alg2", 3, BENCH_FORMAT_CSR, 0, 0},
                                 {"cusparse-coo-alg1", 1, BENCH_FORMAT_COO, 0, 0},
                                 {"cusparse-coo-alg2", 4, BENCH_FORMAT_COO, 0, 0},
                                 {"cusparse-sell-32", 5, BENCH_FORMAT_SLICED, 0, 0},
                                 {"cusparse-bsr", 6, BENCH_FORMAT_BLOCKS, 0, 0},
                                 {"cusparse-bsrmv", 0, BENCH_FORMAT_BLOCKS_LEGACY, 0, 0},
                                 {"cusparse-bsr-2", 6, BENCH_FORMAT_BLOCKS, 2, 0},
                                 {"cusparse-bsrmv-2", 0, BENCH_FORMAT_BLOCKS_LEGACY, 2, 0},
                                 {"cusparse-bsr-4", 6, BENCH_FORMAT_BLOCKS, 4, 0},
                                 {"cusparse-bsrmv-4", 0, BENCH_FORMAT_BLOCKS_LEGACY, 4, 0},
                                 {"cusparse-bsr-8", 6, BENCH_FORMAT_BLOCKS, 8, 0},
                                 {"cusparse-bsrmv-8", 0, BENCH_FORMAT_BLOCKS_LEGACY, 8, 0},
                                 {"cusparse-bsr-16", 6, BENCH_FORMAT_BLOCKS, 16, 0},
                                 {"cusparse-bsrmv-16", 0, BENCH_FORMAT_BLOCKS_LEGACY, 16, 0},
                                 {"cusparse-csr-alg1-t", 2, BENCH_FORMAT_CSR, 0, 1},
                                 {"cusparse-csr-alg2-t", 3, BENCH_FORMAT_CSR, 0, 1},
                                 {"cusparse-op-alg1", 1, BENCH_FORMAT_CSR_OP, 0, 0},
                                 {"cusparse-op-alg2", 2, BENCH_FORMAT_CSR_OP, 0, 0}};
#define BENCH_RIVALS                                                                           \
  ((int)(sizeof bench_cusparse_algorithms / sizeof bench_cusparse_algorithms[0]))

typedef int (*bench_spmv_call)(void *handle, int operation, const void *alpha, void *matrix,
                               void *x, const void *beta, void *y, int compute_type,
                               int algorithm, void *buffer);

typedef int (*bench_bsrmv_call)(void *handle, int direction, int operation, int block_rows,
                                int block_cols, int blocks, const void *alpha,
                                void *description, void *values, void *row_ptr, void *col_ind,
                                int block, void *x, const void *beta, void *y);

typedef int (*bench_csr2bsr_count_call)(void *handle, int direction, int rows, int cols,
                                        void *csr, void *row_ptr, void *col_ind, int block,
                                        void *bsr, void *offsets, int *blocks);
typedef int (*bench_csr2bsr_call)(void *handle, int direction, int rows, int cols, void *csr,
                                  void *values, void *row_ptr, void *col_ind, int block,
                                  void *bsr, void *block_values, void *offsets, void *columns);

typedef struct bench_cusparse { /* handles and descriptors are pointers, enums are int */
  void *library, *handle;
  int version;      /* 12603 for 12.6.3 */
  char path[512];   /* where it was found */
  char reason[256]; /* why there is none */
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*set_stream)(void *handle, void *stream);
  int (*get_version)(void *handle, int *version);
  const char *(*error_string)(int status);
  int (*create_csr)(void **matrix, int64_t rows, int64_t cols, int64_t nnz, void *row_ptr,
                    void *col_ind, void *values, int offset_type, int index_type, int base,
                    int value_type);
  int (*create_coo)(void **matrix, int64_t rows, int64_t cols, int64_t nnz, void *row_ind,
                    void *col_ind, void *values, int index_type, int base, int value_type);
  int (*destroy_matrix)(void *matrix);
  int (*create_vector)(void **vector, int64_t size, void *values, int value_type);
  int (*destroy_vector)(void *vector);
  int (*buffer_size)(void *handle, int operation, const void *alpha, void *matrix, void *x,
                     const void *beta, void *y, int compute_type, int algorithm, size_t *bytes);
  bench_spmv_call spmv;
  /* NULL if this version lacks them */
  bench_spmv_call preprocess; /* since CUDA 12.4 */
  int (*op_buffer_size)(void *handle, int operation, void *matrix, void *x, void *y, void *z,
                        int compute_type, int algorithm, size_t *bytes);
  int (*op_create_description)(void *handle, void **description, int operation, void *matrix,
                               void *x, void *y, void *z, int compute_type, int algorithm,
                               void *buffer);
  int (*op_destroy_description)(void *description);
  /* `code` is an epilogue as LTO-IR of `code_bytes` bytes, or NULL. */
  int (*op_create_plan)(void *handle, void *description, void **plan, const void *code,
                        size_t code_bytes);
  int (*op_destroy_plan)(void *plan);
  int (*op)(void *handle, void *plan, const void *alpha, const void *beta, void *x, void *y,
            void *z); /* z = alpha A x + beta y */
  int (*create_sliced)(void **matrix, int64_t rows, int64_t cols, int64_t nnz,
                       int64_t stored_values, int64_t slice_rows, void *slice_offsets,
                       void *col_ind, void *values, int offset_type, int index_type, int base,
                       int value_type);
  int (*create_blocks)(void **matrix, int64_t block_rows, int64_t block_cols, int64_t blocks,
                       int64_t rows_in_block, int64_t cols_in_block, void *row_ptr,
                       void *col_ind, void *values, int offset_type, int index_type, int base,
                       int value_type, int order);
  int (*create_legacy)(void **description); /* cusparseMatDescr_t: general, base 0 */
  int (*destroy_legacy)(void *description);
  bench_bsrmv_call bsrmv[2]; /* f64, f32 */
  bench_csr2bsr_count_call csr2bsr_count;
  bench_csr2bsr_call csr2bsr[2];
} bench_cusparse;

/* ---- Finding the library ----------------------------------------------------------------- */

/* Loads the functions. Returns the name of a required one that is missing, or NULL. */
static const char *bench_cusparse_load(bench_cusparse *s) {
  const struct {
    const char *name;
    void *field;
    int optional;
  } symbols[] = {{"cusparseCreate", &s->create, 0},
                 {"cusparseDestroy", &s->destroy, 0},
                 {"cusparseSetStream", &s->set_stream, 0},
                 {"cusparseGetVersion", &s->get_version, 0},
                 {"cusparseGetErrorString", &s->error_string, 0},
                 {"cusparseCreateCsr", &s->create_csr, 0},
                 {"cusparseCreateCoo", &s->create_coo, 0},
                 {"cusparseDestroySpMat", &s->destroy_matrix, 0},
                 {"cusparseCreateDnVec", &s->create_vector, 0},
                 {"cusparseDestroyDnVec", &s->destroy_vector, 0},
                 {"cusparseSpMV_bufferSize", &s->buffer_size, 0},
                 {"cusparseSpMV", &s->spmv, 0},
                 {"cusparseSpMV_preprocess", &s->preprocess, 1},
                 {"cusparseSpMVOp_bufferSize", &s->op_buffer_size, 1},
                 {"cusparseSpMVOp_createDescr", &s->op_create_description, 1},
                 {"cusparseSpMVOp_destroyDescr", &s->op_destroy_description, 1},
                 {"cusparseSpMVOp_createPlan", &s->op_create_plan, 1},
                 {"cusparseSpMVOp_destroyPlan", &s->op_destroy_plan, 1},
                 {"cusparseSpMVOp", &s->op, 1},
                 {"cusparseCreateSlicedEll", &s->create_sliced, 1},
                 {"cusparseCreateBsr", &s->create_blocks, 1},
                 {"cusparseCreateMatDescr", &s->create_legacy, 1},
                 {"cusparseDestroyMatDescr", &s->destroy_legacy, 1},
                 {"cusparseDbsrmv", &s->bsrmv[0], 1},
                 {"cusparseSbsrmv", &s->bsrmv[1], 1},
                 {"cusparseXcsr2bsrNnz", &s->csr2bsr_count, 1},
                 {"cusparseDcsr2bsr", &s->csr2bsr[0], 1},
                 {"cusparseScsr2bsr", &s->csr2bsr[1], 1}};
  size_t i;
  for (i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    if (!mbi_library_function(s->library, symbols[i].name, symbols[i].field, sizeof s->spmv) &&
        !symbols[i].optional) {
      return symbols[i].name;
    }
  }
  return NULL;
}

/* Opens nvJitLink, which cuSPARSE needs, from a directory next to cuSPARSE, because the loader
 * may not find it by itself. */
static void bench_cusparse_open_companion(const char *path) {
  static const char *const places[] = {"", "/../../nvjitlink/lib"};
  char copy[512], pattern[600];
  size_t i, k;
  (void)snprintf(copy, sizeof copy, "%s", path);
  for (i = 0; strchr(path, '/') != NULL && i < sizeof places / sizeof places[0]; i++) {
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s%s/libnvJitLink.so.*",
                   i == 0 ? dirname(copy) : copy, places[i]);
    if (glob(pattern, 0, NULL, &found) == 0) {
      for (k = 0; k < found.gl_pathc; k++) {
        (void)dlopen(found.gl_pathv[k], RTLD_NOW | RTLD_GLOBAL);
      }
      globfree(&found);
    }
  }
}

/* Tries a library by its path, or by a name for the loader. */
static int bench_cusparse_try(bench_cusparse *s, const char *path) {
  const char *missing;
  bench_cusparse_open_companion(path);
  s->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (s->library == NULL) {
    if (strchr(path, '/') != NULL || s->reason[0] == '\0') {
      (void)snprintf(s->reason, sizeof s->reason, "%s", dlerror());
    }
    return 0;
  }
  missing = bench_cusparse_load(s);
  if (missing != NULL) {
    (void)snprintf(s->reason, sizeof s->reason, "%.150s lacks %s", path, missing);
    (void)dlclose(s->library);
    s->library = NULL;
    return 0;
  }
  (void)snprintf(s->path, sizeof s->path, "%s", path);
  return 1;
}

/* Tries every cuSPARSE in the directories that match `prefix` followed by `pattern`. */
static int bench_cusparse_try_place(bench_cusparse *s, const char *prefix,
                                    const char *pattern) {
  char whole[600];
  glob_t found;
  size_t i;
  int taken = 0;
  if (prefix == NULL || prefix[0] == '\0') {
    return 0;
  }
  (void)snprintf(whole, sizeof whole, "%s%s/libcusparse.so*", prefix, pattern);
  if (glob(whole, 0, NULL, &found) == 0) {
    for (i = 0; i < found.gl_pathc && !taken; i++) {
      taken = bench_cusparse_try(s, found.gl_pathv[i]);
    }
    globfree(&found);
  }
  return taken;
}

/* Tries the site-packages of the Pythons on PATH, such as an activated environment's. */
static int bench_cusparse_try_pythons(bench_cusparse *s) {
  char path[4096], *rest = NULL, *part;
  const char *variable = getenv("PATH");
  (void)snprintf(path, sizeof path, "%s", variable != NULL ? variable : "");
  for (part = strtok_r(path, ":", &rest); part != NULL; part = strtok_r(NULL, ":", &rest)) {
    if (bench_cusparse_try_place(s, part, "/../lib/python3*/site-packages/nvidia/cu*/lib")) {
      return 1;
    }
  }
  return 0;
}

static int bench_cusparse_find(bench_cusparse *s) {
  static const char *const names[] = {"libcusparse.so.12", "libcusparse.so.13",
                                      "libcusparse.so.11", "libcusparse.so"};
  const struct {
    const char *prefix, *pattern;
  } places[] = {{getenv("CUDA_HOME"), "/lib64"},
                {getenv("CUDA_HOME"), "/lib"},
                {getenv("CUDA_PATH"), "/lib64"},
                {getenv("CUDA_PATH"), "/lib"},
                {"/usr/local/cuda", "/lib64"},
                {"/usr/local/cuda", "/targets/*-linux/lib"},
                {"/usr/local/cuda", "/lib"},
                {getenv("VIRTUAL_ENV"), "/lib/python3*/site-packages/nvidia/cu*/lib"},
                {getenv("HOME"), "/.local/lib/python3*/site-packages/nvidia/cu*/lib"},
                {"/usr/local/lib", "/python3*/*-packages/nvidia/cu*/lib"},
                {"/usr/lib", "/python3*/*-packages/nvidia/cu*/lib"}};
  const char *named = getenv("MERBIT_BENCH_CUSPARSE");
  size_t i;
  if (named != NULL && named[0] != '\0') {
    return bench_cusparse_try(s, named);
  }
  for (i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (bench_cusparse_try(s, names[i])) {
      return 1;
    }
  }
  for (i = 0; i < sizeof places / sizeof places[0]; i++) {
    if (bench_cusparse_try_place(s, places[i].prefix, places[i].pattern)) {
      return 1;
    }
  }
  return bench_cusparse_try_pythons(s);
}

/* Opens cuSPARSE. If there is none, `handle` stays NULL and `reason` says why. The CUDA context
 * must be current. */
static void bench_cusparse_open(bench_cusparse *s, bench_gpu *gpu) {
  int status;
  memset(s, 0, sizeof *s);
  if (!bench_cusparse_find(s)) {
    return;
  }
  status = s->create(&s->handle);
  if (status == 0) {
    status = s->set_stream(s->handle, gpu->stream);
  }
  if (status != 0) {
    (void)snprintf(s->reason, sizeof s->reason, "%.150s cannot be used: %s", s->path,
                   s->error_string(status));
    s->handle = NULL;
    return;
  }
  (void)s->get_version(s->handle, &s->version);
}

static void bench_cusparse_close(bench_cusparse *s) {
  if (s->handle != NULL) {
    (void)s->destroy(s->handle);
  }
  if (s->library != NULL) {
    (void)dlclose(s->library);
  }
}

#endif
