/* Products with several vectors at once, if --methods names them: merbit's plans and cuSPARSE's
 * SpMM with the same X, row-major and column-major, compared with products of one vector. */
#ifndef BENCH_MANY_H
#define BENCH_MANY_H
#include "plans.h"

#define BENCH_MANY 16
#define CUSPARSE_ORDER_COLUMNS 1 /* for dense matrices; row-major: CUSPARSE_ORDER_ROW */

typedef int (*bench_spmm_call)(void *handle, int operation, int operation_x, const void *alpha,
                               void *matrix, void *x, const void *beta, void *y,
                               int compute_type, int algorithm, void *buffer);

typedef struct bench_spmm { /* functions of cuSPARSE */
  int (*create_dense)(void **matrix, int64_t rows, int64_t cols, int64_t leading, void *values,
                      int value_type, int order);
  int (*destroy_dense)(void *matrix);
  int (*buffer_size)(void *handle, int operation, int operation_x, const void *alpha,
                     void *matrix, void *x, const void *beta, void *y, int compute_type,
                     int algorithm, size_t *bytes);
  bench_spmm_call preprocess; /* NULL if this version lacks it */
  bench_spmm_call multiply;
} bench_spmm;

typedef struct bench_many {
  bench_bench *bench;
  int vectors, by_rows;
  mbi_devptr x, y;   /* shared by the cases of one order */
  merbit_plan *plan; /* NULL: this is a case of cuSPARSE */
  bench_spmm spmm;
  int algorithm;
  void *matrix, *dense_x, *dense_y;
  mbi_devptr buffer;
} bench_many;

typedef struct bench_several { /* for one problem */
  bench_many list[BENCH_MANY];
  int count;
  mbi_devptr x[2], y; /* x: column-major, row-major */
} bench_several;

/* Returns the factor by which column v of X is a multiple of x. It is a power of two, so that
 * one reference serves all columns exactly. */
static double bench_many_scale(int v) {
  return ldexp(1.0, v - 32);
}

static size_t bench_many_place(int vectors, int by_rows, int64_t count, int64_t i, int v) {
  return (size_t)(by_rows ? i * vectors + v : (int64_t)v * count + i);
}

static mbi_devptr bench_many_x(bench_bench *b, int vectors, int by_rows) {
  const bench_problem *p = b->arrays.problem;
  const int64_t cols = p->m->cols;
  void *x = bench_allocate(cols * vectors, p->size);
  mbi_devptr address;
  int64_t i;
  BENCH_OMP(parallel for schedule(static))
  for (i = 0; i < cols; i++) {
    int v;
    for (v = 0; v < vectors; v++) {
      bench_element_set(x, (int64_t)bench_many_place(vectors, by_rows, cols, i, v), p->single,
                        bench_many_scale(v) * bench_element(p->x, i, p->single));
    }
  }
  address = bench_gpu_copy_of(&b->lab->gpu, x, cols * vectors, p->size);
  free(x);
  return address;
}

/* ---- Calls ------------------------------------------------------------------------------- */

static int64_t bench_many_leading(const bench_many *m, int64_t count) {
  return m->by_rows ? m->vectors : count;
}

static void bench_many_enqueue(bench_case *self) {
  bench_many *m = (bench_many *)self->object;
  bench_bench *b = m->bench;
  const bench_problem *p = b->arrays.problem;
  const void *alpha = bench_alpha(&bench_plain_scalars, p->single);
  const void *beta = bench_beta(&bench_plain_scalars, p->single);
  if (m->plan != NULL) {
    bench_merbit_check(b->lab->gpu.context,
                       merbit_spmm(m->plan, NULL, alpha, mbi_device_pointer(m->x),
                                   bench_many_leading(m, p->m->cols), beta,
                                   mbi_device_pointer(m->y), bench_many_leading(m, p->m->rows),
                                   b->lab->gpu.stream));
  } else {
    (void)m->spmm.multiply(b->lab->cusparse.handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                           CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, m->matrix, m->dense_x, beta,
                           m->dense_y, p->single ? CUSPARSE_R_32F : CUSPARSE_R_64F,
                           m->algorithm, mbi_device_pointer(m->buffer));
  }
}

/* Computes all vectors of a product, into a y of NaN, and compares them. */
static void bench_many_verify(bench_bench *b, bench_case *c, void *y) {
  const bench_many *m = (const bench_many *)c->object;
  const bench_problem *p = b->arrays.problem;
  const int64_t rows = p->m->rows;
  const size_t bytes = (size_t)(rows * m->vectors) * p->size;
  void *all = bench_allocate(rows * m->vectors, p->size);
  int v;
  bench_gpu_fill(&b->lab->gpu, m->y, 0xff, bytes);
  bench_gpu_wait(&b->lab->gpu);
  c->enqueue(c);
  bench_gpu_wait(&b->lab->gpu);
  bench_merbit_check(b->lab->gpu.context,
                     mbi_device_download(b->lab->gpu.context, all, m->y, bytes));
  c->good = 1;
  for (v = 0; v < m->vectors; v++) {
    bench_verdict verdict;
    int64_t i;
    for (i = 0; i < rows; i++) {
      bench_element_set(
          y, i, p->single,
          bench_element(all, (int64_t)bench_many_place(m->vectors, m->by_rows, rows, i, v),
                        p->single) /
              bench_many_scale(v));
    }
    verdict = bench_compare(p, 1, 0, y);
    c->good = c->good && bench_verdict_good(p, verdict);
    c->verdict.wrong += verdict.wrong;
    c->verdict.relative =
        verdict.relative > c->verdict.relative ? verdict.relative : c->verdict.relative;
  }
  free(all);
}

/* ---- Cases ------------------------------------------------------------------------------- */

static bench_many *bench_many_new(bench_bench *b, bench_several *s, int by_rows) {
  const bench_problem *p = b->arrays.problem;
  const int vectors = b->lab->options->vectors;
  bench_many *m = &s->list[s->count];
  if (s->count == BENCH_MANY) {
    bench_die("more than %d products of several vectors", BENCH_MANY);
  }
  memset(m, 0, sizeof *m);
  if (s->x[by_rows] == 0) {
    s->x[by_rows] = bench_many_x(b, vectors, by_rows);
  }
  if (s->y == 0) {
    s->y = bench_gpu_allocate(&b->lab->gpu, p->m->rows * vectors, p->size);
  }
  m->bench = b;
  m->vectors = vectors;
  m->by_rows = by_rows;
  m->x = s->x[by_rows];
  m->y = s->y;
  s->count++;
  return m;
}

static bench_case *bench_many_case(bench_bench *b, const char *name, bench_many *m,
                                   double prepare_seconds) {
  bench_case *c = bench_add(b, name, BENCH_SEVERAL, bench_many_enqueue, m);
  c->has_plan = 1;
  c->plan_seconds = prepare_seconds;
  return c;
}

static void bench_many_add(bench_bench *b, bench_several *s, const char *variant, int by_rows,
                           int run, int unroll, int threads) {
  const bench_problem *p = b->arrays.problem;
  merbit_context *context = b->lab->gpu.context;
  const merbit_view view = bench_device_view(&b->arrays);
  bench_many *m;
  bench_case *c;
  merbit_plan_desc desc;
  merbit_plan_info info;
  char name[64], tuning[48], message[MERBIT_MESSAGE_SIZE];
  int i;
  (void)snprintf(name, sizeof name, "many-%d%s", b->lab->options->vectors, variant);
  if (!bench_chosen(b->lab->options->methods, name)) {
    return;
  }
  m = bench_many_new(b, s, by_rows);
  memset(&desc, 0, sizeof desc);
  desc.vectors = m->vectors;
  desc.vector_order = by_rows ? MERBIT_VECTORS_ROW_MAJOR : MERBIT_VECTORS_COLUMN_MAJOR;
  (void)snprintf(tuning, sizeof tuning, "run=%d unroll=%d", run, unroll);
  if (run != 0 || unroll != 0) {
    desc.method = MERBIT_METHOD_MANY;
    desc.tuning = tuning;
  }
  desc.block_threads = threads;
  for (i = 0; i < 2; i++) { /* the second one with a warm cache */
    const double start = mbi_seconds();
    merbit_plan_destroy(m->plan);
    if (merbit_plan_create(context, &view, &desc, &m->plan) != MERBIT_OK) {
      (void)merbit_last_error(context, message, sizeof message);
      bench_skip(b, name, message);
      s->count--;
      return;
    }
    bench_merbit_check(context, mbi_device_synchronize(context, NULL));
    if (i == 1) {
      c = bench_many_case(b, name, m, mbi_seconds() - start);
      bench_merbit_check(context, merbit_plan_get_info(m->plan, &info));
      c->bytes = (double)info.bytes_per_product;
      c->limit = bench_limit(&b->lab->ceilings, p, c->bytes);
      (void)merbit_plan_describe(m->plan, c->about, sizeof c->about);
      (void)printf("%s: %s\n", name, c->about);
    }
  }
}

/* Loads cuSPARSE's functions. Returns why it cannot be used, or NULL. */
static const char *bench_spmm_load(const bench_cusparse *s, bench_spmm *spmm) {
  const struct {
    const char *name;
    void *field;
    int optional;
  } symbols[] = {{"cusparseCreateDnMat", &spmm->create_dense, 0},
                 {"cusparseDestroyDnMat", &spmm->destroy_dense, 0},
                 {"cusparseSpMM_bufferSize", &spmm->buffer_size, 0},
                 {"cusparseSpMM_preprocess", &spmm->preprocess, 1},
                 {"cusparseSpMM", &spmm->multiply, 0}};
  size_t i;
  for (i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    if (!mbi_library_function(s->library, symbols[i].name, symbols[i].field,
                              sizeof spmm->multiply) &&
        !symbols[i].optional) {
      return "this cuSPARSE lacks cusparseSpMM";
    }
  }
  return NULL;
}

/* Prepares a product. Returns the status of the first call that failed, or 0. */
static int bench_spmm_open(bench_many *m) {
  bench_bench *b = m->bench;
  const bench_cusparse *s = &b->lab->cusparse;
  const bench_arrays *a = &b->arrays;
  const bench_matrix *matrix = a->problem->m;
  const int type = a->problem->single ? CUSPARSE_R_32F : CUSPARSE_R_64F;
  const int order = m->by_rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COLUMNS;
  const void *alpha = bench_alpha(&bench_plain_scalars, a->problem->single);
  const void *beta = bench_beta(&bench_plain_scalars, a->problem->single);
  size_t bytes = 0;
  int status = s->create_csr(&m->matrix, matrix->rows, matrix->cols, matrix->nnz,
                             mbi_device_pointer(a->row_ptr), mbi_device_pointer(a->col_ind),
                             mbi_device_pointer(a->values), CUSPARSE_INDEX_32I,
                             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type);
  status = status != 0 ? status
                       : m->spmm.create_dense(&m->dense_x, matrix->cols, m->vectors,
                                              bench_many_leading(m, matrix->cols),
                                              mbi_device_pointer(m->x), type, order);
  status = status != 0 ? status
                       : m->spmm.create_dense(&m->dense_y, matrix->rows, m->vectors,
                                              bench_many_leading(m, matrix->rows),
                                              mbi_device_pointer(m->y), type, order);
  status = status != 0 ? status
                       : m->spmm.buffer_size(s->handle, 0, 0, alpha, m->matrix, m->dense_x,
                                             beta, m->dense_y, type, m->algorithm, &bytes);
  if (status == 0) {
    m->buffer = bench_gpu_allocate(&b->lab->gpu, (int64_t)bytes, 1);
    if (m->spmm.preprocess != NULL) { /* not every algorithm has it */
      (void)m->spmm.preprocess(s->handle, 0, 0, alpha, m->matrix, m->dense_x, beta, m->dense_y,
                               type, m->algorithm, mbi_device_pointer(m->buffer));
    }
    status = m->spmm.multiply(s->handle, 0, 0, alpha, m->matrix, m->dense_x, beta, m->dense_y,
                              type, m->algorithm, mbi_device_pointer(m->buffer));
    bench_gpu_wait(&b->lab->gpu);
  }
  return status;
}

static void bench_many_close(bench_many *m) {
  merbit_plan_destroy(m->plan);
  if (m->matrix != NULL) {
    (void)m->bench->lab->cusparse.destroy_matrix(m->matrix);
  }
  if (m->dense_x != NULL) {
    (void)m->spmm.destroy_dense(m->dense_x);
  }
  if (m->dense_y != NULL) {
    (void)m->spmm.destroy_dense(m->dense_y);
  }
  mbi_device_release(m->bench->lab->gpu.context, m->buffer);
}

static void bench_many_add_rival(bench_bench *b, bench_several *s, const char *variant,
                                 int by_rows, int algorithm) {
  const char *methods = b->lab->options->methods, *missing;
  bench_spmm spmm;
  bench_many *m;
  char name[64];
  double start;
  int status, chosen;
  memset(&spmm, 0, sizeof spmm);
  (void)snprintf(name, sizeof name, "cusparse-spmm-%d%s", b->lab->options->vectors, variant);
  chosen = bench_chosen(methods, name) || strstr(methods, "cusparse") == NULL;
  if (b->lab->cusparse.handle == NULL || !chosen) {
    return;
  }
  missing = bench_spmm_load(&b->lab->cusparse, &spmm);
  if (missing != NULL) {
    bench_skip(b, name, missing);
    return;
  }
  m = bench_many_new(b, s, by_rows);
  m->spmm = spmm;
  m->algorithm = algorithm;
  start = mbi_seconds();
  status = bench_spmm_open(m);
  if (status != 0) {
    bench_skip(b, name, b->lab->cusparse.error_string(status));
    bench_many_close(m);
    s->count--;
    return;
  }
  bench_many_case(b, name, m, mbi_seconds() - start)->rival = 1;
}

/* Adds the cases, among them variants of ours by name: gathers in flight (u), words per run
 * (s), threads (t). */
static void bench_add_several(bench_bench *b, bench_several *s) {
  const char *methods = b->lab->options->methods;
  memset(s, 0, sizeof *s);
  if (strstr(methods, "many") == NULL) {
    return;
  }
  bench_many_add(b, s, "", 1, 0, 0, 0);
  bench_many_add(b, s, "-columns", 0, 0, 0, 0);
  bench_many_add(b, s, "-u4", 1, 0, 4, 0);
  bench_many_add(b, s, "-s2", 1, 2, 0, 0);
  bench_many_add(b, s, "-t128", 1, 0, 0, 128);
  bench_many_add(b, s, "-t512", 1, 0, 0, 512);
  bench_many_add(b, s, "-u4-t128", 1, 0, 4, 128);
  bench_many_add_rival(b, s, "", 1, 0);
  bench_many_add_rival(b, s, "-alg2", 1, 6);
  bench_many_add_rival(b, s, "-columns", 0, 0);
}

/* Compares each case with as many products of one vector. */
static void bench_describe_several(const bench_bench *b) {
  const int one = bench_named(b->cases, b->case_count, "auto");
  int i;
  for (i = 0; i < b->case_count && one >= 0; i++) {
    const bench_case *c = &b->cases[i];
    if (c->kind == BENCH_SEVERAL) {
      const int vectors = b->lab->options->vectors;
      (void)printf("%s: %.2f times as fast as %d products by auto\n", c->name,
                   vectors * b->cases[one].median / c->median, vectors);
    }
  }
}

static void bench_several_close(bench_bench *b, bench_several *s) {
  int i;
  for (i = 0; i < s->count; i++) {
    bench_many_close(&s->list[i]);
  }
  mbi_device_release(b->lab->gpu.context, s->x[0]);
  mbi_device_release(b->lab->gpu.context, s->x[1]);
  mbi_device_release(b->lab->gpu.context, s->y);
}

#endif
