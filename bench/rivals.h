/* cuSPARSE's cases: one matrix descriptor and buffer for each format and algorithm. */
#ifndef BENCH_RIVALS_H
#define BENCH_RIVALS_H
#include "cusparse.h"
#include "formats.h"

#define BENCH_SLICED_MOST                                                                      \
  4 /* stored values per nonzero; slices that would store more are left out */
#define BENCH_BLOCKS_MOST 16 /* the same limit for blocks */
#define BENCH_PADDING 16     /* elements behind x and y, which blocks may reach */

typedef struct bench_scalars { /* alpha and beta in both precisions */
  double alpha, beta;
  float alpha_single, beta_single;
} bench_scalars;

/* Products are timed with a beta that keeps y bounded however often they are repeated. */
static const bench_scalars bench_plain_scalars = {1.0, 0.0, 1.0f, 0.0f};
static const bench_scalars bench_general_scalars = {0.5, 2.0, 0.5f, 2.0f};
static const bench_scalars bench_timed_scalars = {0.5, 0.5, 0.5f, 0.5f};

static const void *bench_alpha(const bench_scalars *s, int single) {
  return single ? (const void *)&s->alpha_single : (const void *)&s->alpha;
}

static const void *bench_beta(const bench_scalars *s, int single) {
  return single ? (const void *)&s->beta_single : (const void *)&s->beta;
}

typedef struct bench_arrays { /* one problem on the GPU */
  bench_problem *problem;
  mbi_devptr row_ptr, row_ind, col_ind, values, x, y, z;
  bench_layout blocks; /* merbit's blocks: their sizes, once they are needed */
  mbi_devptr block_offsets, block_columns, block_values;
  const bench_scalars *general; /* current scalars for BENCH_GENERAL */
} bench_arrays;

typedef struct bench_rival {
  bench_gpu *gpu;
  bench_cusparse *cusparse;
  bench_arrays *arrays, *vectors; /* the matrix; x and y */
  int algorithm;                  /* index in the list of algorithms */
  int type;
  bench_layout layout; /* sizes of slices or blocks; their arrays are on the GPU */
  mbi_devptr offsets, columns, values;
  int borrowed; /* 1: the three arrays belong to another rival */
  void *matrix, *x, *y;
  void *description, *plan; /* for SpMVOp */
  mbi_devptr buffer;
  size_t buffer_bytes;
  double prepare_seconds; /* descriptors, buffer and preprocessing, but not the conversion */
  double convert_seconds; /* the conversion by cuSPARSE; 0: not measured */
  char failure[200];      /* empty if there was none */
} bench_rival;

static bench_format bench_rival_format(const bench_rival *r) {
  return bench_cusparse_algorithms[r->algorithm].format;
}

/* Returns whether the rival reads the CSR in place. */
static int bench_rival_reads_csr(const bench_rival *r) {
  return bench_rival_format(r) == BENCH_FORMAT_CSR ||
         bench_rival_format(r) == BENCH_FORMAT_CSR_OP;
}

static int bench_rival_try(bench_rival *r, int status, const char *call) {
  if (status != 0 && r->failure[0] == '\0') {
    (void)snprintf(r->failure, sizeof r->failure, "%s: %s", call,
                   r->cusparse->error_string(status));
  }
  return status == 0;
}

/* ---- The matrix in the rival's format ---------------------------------------------------- */

static int bench_rival_upload(bench_rival *r, bench_layout *l) {
  const bench_problem *p = r->arrays->problem;
  const int64_t slices = (l->rows + BENCH_SLICE - 1) / BENCH_SLICE;
  const int64_t count = (l->block > 0 ? l->rows : slices) + 1;
  r->offsets = bench_gpu_copy_of(r->gpu, l->offsets, count, sizeof *l->offsets);
  r->columns = bench_gpu_copy_of(r->gpu, l->columns, l->entries, sizeof *l->columns);
  r->values = bench_gpu_copy_of(r->gpu, l->values, l->stored, p->size);
  r->layout = *l;
  r->layout.offsets = r->layout.columns = NULL;
  r->layout.values = NULL;
  bench_layout_free(l);
  return 1;
}

static int bench_rival_slices(bench_rival *r) {
  const bench_matrix *m = r->arrays->problem->m;
  const int64_t stored = bench_sliced_size(m);
  bench_layout l;
  if (r->cusparse->create_sliced == NULL) {
    (void)snprintf(r->failure, sizeof r->failure,
                   "this cuSPARSE lacks cusparseCreateSlicedEll");
    return 0;
  }
  if (stored > BENCH_SLICED_MOST * m->nnz || stored > INT32_MAX) {
    (void)snprintf(r->failure, sizeof r->failure,
                   "slices of 32 rows would store %.1f values for each nonzero",
                   (double)stored / (double)(m->nnz > 0 ? m->nnz : 1));
    return 0;
  }
  bench_sliced_create(r->arrays->problem, &l);
  return bench_rival_upload(r, &l);
}

/* Returns the block size, or 0 with the reason in r->failure if blocks are not measured. */
static int bench_rival_side(bench_rival *r) {
  const bench_matrix *m = r->arrays->problem->m;
  const int asked = bench_cusparse_algorithms[r->algorithm].block;
  double share;
  const int best = bench_block_choose(m, r->arrays->problem->size, &share);
  if (asked == 0 && best == 0) {
    (void)snprintf(r->failure, sizeof r->failure,
                   "no blocks: the fullest of 2 to 8 and 16 square are %.0f%% full",
                   100.0 * share);
    return 0;
  }
  if (asked != 0 && asked == best) {
    (void)snprintf(r->failure, sizeof r->failure, "measured as the size that moves least");
    return 0;
  }
  share = asked != 0 ? bench_block_share(m, asked) : 1;
  if (share * BENCH_BLOCKS_MOST < 1 || (double)m->nnz > share * (double)INT32_MAX) {
    (void)snprintf(r->failure, sizeof r->failure, "blocks of %d x %d would be %.1f%% full",
                   asked, asked, 100.0 * share);
    return 0;
  }
  return asked != 0 ? asked : best;
}

/* Makes the rival's blocks, or borrows those of `peer` if they have the same size. */
static int bench_rival_blocks(bench_rival *r, const bench_rival *peer) {
  const bench_problem *p = r->arrays->problem;
  const bench_cusparse *s = r->cusparse;
  const int legacy = bench_rival_format(r) == BENCH_FORMAT_BLOCKS_LEGACY;
  bench_layout l;
  int block;
  if (legacy
          ? s->bsrmv[p->single] == NULL || s->create_legacy == NULL || s->destroy_legacy == NULL
          : s->create_blocks == NULL) {
    (void)snprintf(r->failure, sizeof r->failure, "this cuSPARSE lacks %s",
                   legacy ? "cusparse?bsrmv" : "cusparseCreateBsr");
    return 0;
  }
  block = bench_rival_side(r);
  if (block == 0) {
    return 0;
  }
  if (peer != NULL && peer->layout.block == block) {
    r->layout = peer->layout;
    r->offsets = peer->offsets;
    r->columns = peer->columns;
    r->values = peer->values;
    r->borrowed = 1;
    return 1;
  }
  bench_blocks_create(p, block, block, &l);
  return bench_rival_upload(r, &l);
}

static int bench_rival_convert(bench_rival *r, const bench_rival *peer) {
  switch (bench_rival_format(r)) {
  case BENCH_FORMAT_SLICED:
    return bench_rival_slices(r);
  case BENCH_FORMAT_BLOCKS:
  case BENCH_FORMAT_BLOCKS_LEGACY:
    return bench_rival_blocks(r, peer);
  case BENCH_FORMAT_CSR_OP:
    if (r->cusparse->op == NULL || r->cusparse->op_buffer_size == NULL ||
        r->cusparse->op_create_description == NULL ||
        r->cusparse->op_destroy_description == NULL || r->cusparse->op_create_plan == NULL ||
        r->cusparse->op_destroy_plan == NULL) {
      (void)snprintf(r->failure, sizeof r->failure, "this cuSPARSE lacks cusparseSpMVOp");
      return 0;
    }
    return 1;
  default:
    return 1;
  }
}

/* ---- Descriptors and preprocessing ------------------------------------------------------- */

static int bench_rival_describe(bench_rival *r) {
  const bench_cusparse *s = r->cusparse;
  const bench_arrays *a = r->arrays;
  const bench_matrix *m = a->problem->m;
  const bench_layout *l = &r->layout;
  switch (bench_rival_format(r)) {
  case BENCH_FORMAT_CSR:
  case BENCH_FORMAT_CSR_OP:
    return s->create_csr(&r->matrix, m->rows, m->cols, m->nnz, mbi_device_pointer(a->row_ptr),
                         mbi_device_pointer(a->col_ind), mbi_device_pointer(a->values),
                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                         r->type);
  case BENCH_FORMAT_COO:
    return s->create_coo(&r->matrix, m->rows, m->cols, m->nnz, mbi_device_pointer(a->row_ind),
                         mbi_device_pointer(a->col_ind), mbi_device_pointer(a->values),
                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, r->type);
  case BENCH_FORMAT_SLICED:
    return s->create_sliced(&r->matrix, m->rows, m->cols, m->nnz, l->stored, BENCH_SLICE,
                            mbi_device_pointer(r->offsets), mbi_device_pointer(r->columns),
                            mbi_device_pointer(r->values), CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, r->type);
  case BENCH_FORMAT_BLOCKS:
    return s->create_blocks(&r->matrix, l->rows, l->cols, l->entries, l->block, l->block,
                            mbi_device_pointer(r->offsets), mbi_device_pointer(r->columns),
                            mbi_device_pointer(r->values), CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, r->type,
                            CUSPARSE_ORDER_ROW);
  default:
    return s->create_legacy(&r->matrix);
  }
}

static int bench_rival_multiply(bench_rival *r, const bench_scalars *scalars) {
  const bench_cusparse *s = r->cusparse;
  const bench_layout *l = &r->layout;
  const int single = r->arrays->problem->single;
  const void *alpha = bench_alpha(scalars, single), *beta = bench_beta(scalars, single);
  if (bench_rival_format(r) == BENCH_FORMAT_BLOCKS_LEGACY) {
    return s->bsrmv[single](
        s->handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, (int)l->rows,
        (int)l->cols, (int)l->entries, alpha, r->matrix, mbi_device_pointer(r->values),
        mbi_device_pointer(r->offsets), mbi_device_pointer(r->columns), l->block,
        mbi_device_pointer(r->arrays->x), beta, mbi_device_pointer(r->arrays->y));
  }
  if (bench_rival_format(r) == BENCH_FORMAT_CSR_OP) {
    return s->op(s->handle, r->plan, alpha, beta, r->x, r->y, r->y);
  }
  return s->spmv(s->handle, bench_cusparse_algorithms[r->algorithm].operation, alpha, r->matrix,
                 r->x, beta, r->y, r->type, bench_cusparse_algorithms[r->algorithm].algorithm,
                 mbi_device_pointer(r->buffer));
}

/* Runs the preprocessing, if this version has it. Only CSR and COO must support it. */
static int bench_rival_preprocess(bench_rival *r, const void *alpha, const void *beta) {
  const bench_cusparse *s = r->cusparse;
  const bench_format format = bench_rival_format(r);
  const int status =
      s->preprocess == NULL
          ? 0
          : s->preprocess(s->handle, bench_cusparse_algorithms[r->algorithm].operation, alpha,
                          r->matrix, r->x, beta, r->y, r->type,
                          bench_cusparse_algorithms[r->algorithm].algorithm,
                          mbi_device_pointer(r->buffer));
  return format == BENCH_FORMAT_CSR || format == BENCH_FORMAT_COO
             ? bench_rival_try(r, status, "cusparseSpMV_preprocess")
             : 1;
}

/* Makes SpMVOp's plan without an epilogue. Its y is both input and output. */
static void bench_rival_open_op(bench_rival *r) {
  const bench_cusparse *s = r->cusparse;
  const int operation = bench_cusparse_algorithms[r->algorithm].operation;
  const int algorithm = bench_cusparse_algorithms[r->algorithm].algorithm;
  size_t bytes = 0;
  if (!bench_rival_try(r,
                       s->op_buffer_size(s->handle, operation, r->matrix, r->x, r->y, r->y,
                                         r->type, algorithm, &bytes),
                       "cusparseSpMVOp_bufferSize")) {
    return;
  }
  r->buffer = bench_gpu_allocate(r->gpu, (int64_t)bytes, 1);
  r->buffer_bytes = bytes;
  if (bench_rival_try(r,
                      s->op_create_description(s->handle, &r->description, operation, r->matrix,
                                               r->x, r->y, r->y, r->type, algorithm,
                                               mbi_device_pointer(r->buffer)),
                      "cusparseSpMVOp_createDescr")) {
    (void)bench_rival_try(r, s->op_create_plan(s->handle, r->description, &r->plan, NULL, 0),
                          "cusparseSpMVOp_createPlan");
  }
}

static void bench_rival_open(bench_rival *r) {
  const bench_cusparse *s = r->cusparse;
  const bench_arrays *a = r->vectors;
  const bench_matrix *m = a->problem->m;
  const int64_t block = r->layout.block;
  const int64_t rows = block > 0 ? r->layout.rows * block : m->rows;
  const int64_t cols = block > 0 ? r->layout.cols * block : m->cols;
  const void *alpha = bench_alpha(&bench_plain_scalars, a->problem->single);
  const void *beta = bench_beta(&bench_plain_scalars, a->problem->single);
  size_t bytes = 0;
  if (!bench_rival_try(r, bench_rival_describe(r), "creating the matrix") ||
      bench_rival_format(r) == BENCH_FORMAT_BLOCKS_LEGACY) {
    return;
  }
  if (!bench_rival_try(r, s->create_vector(&r->x, cols, mbi_device_pointer(a->x), r->type),
                       "cusparseCreateDnVec") ||
      !bench_rival_try(r, s->create_vector(&r->y, rows, mbi_device_pointer(a->y), r->type),
                       "cusparseCreateDnVec")) {
    return;
  }
  if (bench_rival_format(r) == BENCH_FORMAT_CSR_OP) {
    bench_rival_open_op(r);
    return;
  }
  if (bench_rival_try(r,
                      s->buffer_size(s->handle,
                                     bench_cusparse_algorithms[r->algorithm].operation, alpha,
                                     r->matrix, r->x, beta, r->y, r->type,
                                     bench_cusparse_algorithms[r->algorithm].algorithm, &bytes),
                      "cusparseSpMV_bufferSize")) {
    r->buffer = bench_gpu_allocate(r->gpu, (int64_t)bytes, 1);
    r->buffer_bytes = bytes;
    (void)bench_rival_preprocess(r, alpha, beta);
  }
}

static void bench_rival_close(bench_rival *r) {
  if (r->plan != NULL) {
    (void)r->cusparse->op_destroy_plan(r->plan);
  }
  if (r->description != NULL) {
    (void)r->cusparse->op_destroy_description(r->description);
  }
  if (r->matrix != NULL) {
    (void)(bench_rival_format(r) == BENCH_FORMAT_BLOCKS_LEGACY
               ? r->cusparse->destroy_legacy(r->matrix)
               : r->cusparse->destroy_matrix(r->matrix));
  }
  if (r->x != NULL) {
    (void)r->cusparse->destroy_vector(r->x);
  }
  if (r->y != NULL) {
    (void)r->cusparse->destroy_vector(r->y);
  }
  mbi_device_release(r->gpu->context, r->buffer);
  r->matrix = r->x = r->y = r->description = r->plan = NULL;
  r->buffer = 0;
}

/* ---- csr2bsr ----------------------------------------------------------------------------- */

/* Converts into arrays that have the sizes of ours. Returns 0 if that failed. */
static int bench_rival_csr2bsr(bench_rival *r, void *description, mbi_devptr offsets,
                               mbi_devptr columns, mbi_devptr values) {
  const bench_cusparse *s = r->cusparse;
  const bench_arrays *a = r->arrays;
  const int rows = (int)a->problem->m->rows, cols = (int)a->problem->m->cols;
  const int block = r->layout.block;
  int blocks = 0;
  return s->csr2bsr_count(s->handle, CUSPARSE_DIRECTION_ROW, rows, cols, description,
                          mbi_device_pointer(a->row_ptr), mbi_device_pointer(a->col_ind), block,
                          description, mbi_device_pointer(offsets), &blocks) == 0 &&
         blocks == r->layout.entries &&
         s->csr2bsr[a->problem->single](
             s->handle, CUSPARSE_DIRECTION_ROW, rows, cols, description,
             mbi_device_pointer(a->values), mbi_device_pointer(a->row_ptr),
             mbi_device_pointer(a->col_ind), block, description, mbi_device_pointer(values),
             mbi_device_pointer(offsets), mbi_device_pointer(columns)) == 0;
}

/* Measures the second of two conversions, because the first one loads code. */
static void bench_rival_time_conversion(bench_rival *r) {
  const bench_cusparse *s = r->cusparse;
  const bench_layout *l = &r->layout;
  void *description = NULL;
  double start = 0;
  int i, good = 1;
  mbi_devptr offsets, columns, values;
  if (bench_rival_format(r) != BENCH_FORMAT_BLOCKS || s->csr2bsr_count == NULL ||
      s->csr2bsr[r->arrays->problem->single] == NULL || s->create_legacy == NULL ||
      s->destroy_legacy == NULL || s->create_legacy(&description) != 0) {
    return;
  }
  offsets = bench_gpu_allocate(r->gpu, l->rows + 1, sizeof(int32_t));
  columns = bench_gpu_allocate(r->gpu, l->entries, sizeof(int32_t));
  values = bench_gpu_allocate(r->gpu, l->stored, r->arrays->problem->size);
  for (i = 0; i < 2 && good; i++) {
    bench_gpu_wait(r->gpu);
    start = mbi_seconds();
    good = bench_rival_csr2bsr(r, description, offsets, columns, values);
    bench_gpu_wait(r->gpu);
  }
  r->convert_seconds = good ? mbi_seconds() - start : 0;
  mbi_device_release(r->gpu->context, offsets);
  mbi_device_release(r->gpu->context, columns);
  mbi_device_release(r->gpu->context, values);
  (void)s->destroy_legacy(description);
}

/* ---- Opening and closing ----------------------------------------------------------------- */

/* Makes a rival. Opens it twice, so that the timed one loads no code, and tests a product. */
static void bench_rival_create(bench_rival *r, bench_gpu *gpu, bench_cusparse *s,
                               bench_arrays *a, bench_arrays *vectors, int algorithm,
                               const bench_rival *peer) {
  double start;
  memset(r, 0, sizeof *r);
  r->gpu = gpu;
  r->cusparse = s;
  r->arrays = a;
  r->vectors = vectors;
  r->algorithm = algorithm;
  r->type = a->problem->single ? CUSPARSE_R_32F : CUSPARSE_R_64F;
  if (!bench_rival_convert(r, peer)) {
    return;
  }
  bench_rival_open(r);
  if (r->failure[0] == '\0') {
    bench_gpu_wait(gpu);
    bench_rival_close(r);
    start = mbi_seconds();
    bench_rival_open(r);
    bench_gpu_wait(gpu);
    r->prepare_seconds = mbi_seconds() - start;
    (void)bench_rival_try(r, bench_rival_multiply(r, &bench_plain_scalars), "the product");
    bench_gpu_wait(gpu);
    bench_rival_time_conversion(r);
  }
}

/* Destroys a rival, which may be all zero. */
static void bench_rival_destroy(bench_rival *r) {
  if (r->gpu != NULL) {
    bench_rival_close(r);
    if (!r->borrowed) {
      mbi_device_release(r->gpu->context, r->offsets);
      mbi_device_release(r->gpu->context, r->columns);
      mbi_device_release(r->gpu->context, r->values);
    }
    memset(r, 0, sizeof *r);
  }
}

static void bench_rival_enqueue(bench_case *self) {
  bench_rival *r = (bench_rival *)self->object;
  (void)bench_rival_try(r,
                        bench_rival_multiply(r, self->kind == BENCH_GENERAL
                                                    ? r->arrays->general
                                                    : &bench_plain_scalars),
                        self->name);
}

/* Returns the bytes of the rival's arrays that are not the CSR's. */
static double bench_rival_memory(const bench_rival *r) {
  const bench_format format = bench_rival_format(r);
  return bench_rival_reads_csr(r) ? 0
         : format == BENCH_FORMAT_COO
             ? 4.0 * (double)r->arrays->problem->m->nnz
             : bench_layout_memory(&r->layout, r->arrays->problem->size);
}

/* Returns the bytes of a product: the rival's format and the vectors, each once. */
static double bench_rival_bytes(const bench_rival *r, bench_kind kind) {
  const bench_problem *p = r->arrays->problem;
  const bench_format format = bench_rival_format(r);
  const double rest =
      format == BENCH_FORMAT_COO ? (double)p->m->nnz * (4.0 + (double)p->size) : 0;
  return bench_rival_reads_csr(r) ? bench_csr_bytes(p, kind)
                                  : bench_rival_memory(r) + rest + bench_vector_bytes(p, kind);
}

#endif
