/* cuSPARSE's cases: one matrix descriptor and buffer for each algorithm. */
#ifndef BENCH_RIVALS_H
#define BENCH_RIVALS_H
#include "cusparse.h"

typedef struct bench_scalars { /* alpha and beta of both kinds of product, in both precisions */
  double alpha, beta;
  float alpha_single, beta_single;
} bench_scalars;

/* Timed with a beta that keeps y bounded however often it is multiplied. */
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
  const bench_scalars *general; /* the scalars of BENCH_GENERAL for now */
} bench_arrays;

typedef struct bench_rival {
  bench_cusparse *cusparse;
  bench_arrays *arrays;
  int algorithm; /* place in the list */
  int type;
  void *matrix, *x, *y;
  mbi_devptr buffer;
  char failure[160]; /* empty while all is well */
} bench_rival;

static int bench_rival_try(bench_rival *r, int status, const char *call) {
  if (status != 0 && r->failure[0] == '\0') {
    (void)snprintf(r->failure, sizeof r->failure, "%s: %s", call,
                   r->cusparse->error_string(status));
  }
  return status == 0;
}

static void bench_rival_create(bench_rival *r, bench_gpu *gpu, bench_cusparse *s,
                               bench_arrays *a, int algorithm) {
  const bench_matrix *m = a->problem->m;
  const int coo = bench_cusparse_algorithms[algorithm].coo;
  const int number = bench_cusparse_algorithms[algorithm].algorithm;
  const void *alpha = bench_alpha(&bench_plain_scalars, a->problem->single);
  const void *beta = bench_beta(&bench_plain_scalars, a->problem->single);
  size_t bytes = 0;
  int status;
  memset(r, 0, sizeof *r);
  r->cusparse = s;
  r->arrays = a;
  r->algorithm = algorithm;
  r->type = a->problem->single ? CUSPARSE_R_32F : CUSPARSE_R_64F;
  status =
      coo ? s->create_coo(&r->matrix, m->rows, m->cols, m->nnz, mbi_device_pointer(a->row_ind),
                          mbi_device_pointer(a->col_ind), mbi_device_pointer(a->values),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, r->type)
          : s->create_csr(&r->matrix, m->rows, m->cols, m->nnz, mbi_device_pointer(a->row_ptr),
                          mbi_device_pointer(a->col_ind), mbi_device_pointer(a->values),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                          r->type);
  if (bench_rival_try(r, status, "creating the matrix") &&
      bench_rival_try(r, s->create_vector(&r->x, m->cols, mbi_device_pointer(a->x), r->type),
                      "cusparseCreateDnVec") &&
      bench_rival_try(r, s->create_vector(&r->y, m->rows, mbi_device_pointer(a->y), r->type),
                      "cusparseCreateDnVec") &&
      bench_rival_try(r,
                      s->buffer_size(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha,
                                     r->matrix, r->x, beta, r->y, r->type, number, &bytes),
                      "cusparseSpMV_bufferSize")) {
    r->buffer = bench_gpu_allocate(gpu, (int64_t)bytes, 1);
    if (s->preprocess != NULL) {
      (void)bench_rival_try(r,
                            s->preprocess(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha,
                                          r->matrix, r->x, beta, r->y, r->type, number,
                                          mbi_device_pointer(r->buffer)),
                            "cusparseSpMV_preprocess");
    }
  }
}

static void bench_rival_destroy(bench_rival *r, bench_gpu *gpu) {
  if (r->matrix != NULL) {
    (void)r->cusparse->destroy_matrix(r->matrix);
  }
  if (r->x != NULL) {
    (void)r->cusparse->destroy_vector(r->x);
  }
  if (r->y != NULL) {
    (void)r->cusparse->destroy_vector(r->y);
  }
  mbi_device_release(gpu->context, r->buffer);
}

static void bench_rival_enqueue(bench_case *self) {
  bench_rival *r = (bench_rival *)self->object;
  const bench_arrays *a = r->arrays;
  const bench_scalars *scalars =
      self->kind == BENCH_GENERAL ? a->general : &bench_plain_scalars;
  const int single = a->problem->single;
  (void)bench_rival_try(r,
                        r->cusparse->spmv(r->cusparse->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                          bench_alpha(scalars, single), r->matrix, r->x,
                                          bench_beta(scalars, single), r->y, r->type,
                                          bench_cusparse_algorithms[r->algorithm].algorithm,
                                          mbi_device_pointer(r->buffer)),
                        "cusparseSpMV");
}

/* Columns and values once, rows as the format has them, x and y once, y twice where beta is not
 * 0. */
static double bench_rival_bytes(const bench_rival *r, bench_kind kind) {
  const bench_matrix *m = r->arrays->problem->m;
  const double size = (double)r->arrays->problem->size;
  const double rows =
      bench_cusparse_algorithms[r->algorithm].coo ? (double)m->nnz : (double)(m->rows + 1);
  return (double)m->nnz * (4.0 + size) + 4.0 * rows + size * (double)(m->rows + m->cols) +
         (kind == BENCH_GENERAL ? size * (double)m->rows : 0.0);
}

#endif
