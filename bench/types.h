/* Products in types other than f64 and f32, if --methods names "types": each kind of values
 * with the methods that take it and, if it is complex, with cuSPARSE on the same arrays. */
#ifndef BENCH_TYPES_H
#define BENCH_TYPES_H
#include "cases.h"

#define BENCH_TYPE_KINDS 5
#define BENCH_TYPE_CASES 10

static const struct {
  const char *name;
  merbit_type values, vectors;
  int cuda; /* cudaDataType of values and vectors for cuSPARSE, or -1 */
} bench_type_kinds[BENCH_TYPE_KINDS] = {{"f16", MERBIT_F16, MERBIT_F32, -1},
                                        {"bf16", MERBIT_BF16, MERBIT_F32, -1},
                                        {"f32f64", MERBIT_F32, MERBIT_F64, -1},
                                        {"c64", MERBIT_C64, MERBIT_C64, 4},
                                        {"c128", MERBIT_C128, MERBIT_C128, 5}};

typedef struct bench_typed { /* a matrix and its vectors in one kind of types */
  bench_lab *lab;
  const bench_matrix *m;
  int kind;
  mbi_devptr row_ptr, row_ind, col_ind, values, x, y;
  void *host_values, *host_x, *host_y;
  bench_case cases[BENCH_TYPE_CASES];
  int count;
} bench_typed;

typedef struct bench_typed_call { /* a plan, or cuSPARSE's descriptors */
  bench_typed *typed;
  merbit_plan *plan;
  void *matrix, *x, *y;
  int algorithm;
  mbi_devptr buffer;
} bench_typed_call;

static const double bench_typed_one[2] = {1, 0}, bench_typed_zero[2] = {0, 0};
static const float bench_typed_one_single[2] = {1, 0};

/* ---- Numbers ----------------------------------------------------------------------------- */

/* Stores a number in a type, rounding 16-bit types towards zero. Subnormal f16 become zero. */
static void bench_typed_set(merbit_type type, void *array, int64_t i, double re, double im) {
  const float single = (float)re;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  switch (type) {
  case MERBIT_F16:
    ((uint16_t *)array)[i] =
        (uint16_t)(bits >> 16 & 0x8000) |
        (uint16_t)(fabsf(single) < 0x1p-14f ? 0 : ((bits & 0x7fffffff) >> 13) - (112 << 10));
    break;
  case MERBIT_BF16:
    ((uint16_t *)array)[i] = (uint16_t)(bits >> 16);
    break;
  case MERBIT_F32:
    ((float *)array)[i] = single;
    break;
  case MERBIT_C64:
    ((float *)array)[2 * i] = single;
    ((float *)array)[2 * i + 1] = (float)im;
    break;
  case MERBIT_C128:
    ((double *)array)[2 * i] = re;
    ((double *)array)[2 * i + 1] = im;
    break;
  default:
    ((double *)array)[i] = re;
  }
}

static void bench_typed_get(merbit_type type, const void *array, int64_t i, double *re,
                            double *im) {
  const int complex = mbi_type_complex(type);
  const int64_t at = complex ? 2 * i : i;
  *im = 0;
  if (type == MERBIT_F16 || type == MERBIT_BF16) {
    const uint16_t half = ((const uint16_t *)array)[i];
    *re = type == MERBIT_F16 ? mbi_f16_value(half) : mbi_bf16_value(half);
  } else if (type == MERBIT_F32 || type == MERBIT_C64) {
    *re = ((const float *)array)[at];
    *im = complex ? ((const float *)array)[at + 1] : 0;
  } else {
    *re = ((const double *)array)[at];
    *im = complex ? ((const double *)array)[at + 1] : 0;
  }
}

/* Returns the number of rows whose y = A x has an error of more than gamma(k + 4) in a part. */
static int64_t bench_typed_wrong(const bench_typed *t) {
  const merbit_type values = bench_type_kinds[t->kind].values;
  const merbit_type vectors = bench_type_kinds[t->kind].vectors;
  const bench_matrix *m = t->m;
  const int single = vectors == MERBIT_F32 || vectors == MERBIT_C64;
  int64_t wrong = 0, row;
  BENCH_OMP(parallel for schedule(dynamic, 512) reduction(+ : wrong))
  for (row = 0; row < m->rows; row++) {
    long double re = 0, im = 0, re_size = 0, im_size = 0;
    double y, z;
    int64_t k;
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      double a, b, c, d;
      bench_typed_get(values, t->host_values, k, &a, &b);
      bench_typed_get(vectors, t->host_x, m->col_ind[k], &c, &d);
      re += (long double)a * c - (long double)b * d;
      im += (long double)a * d + (long double)b * c;
      re_size += fabs(a * c) + fabs(b * d);
      im_size += fabs(a * d) + fabs(b * c);
    }
    k = m->row_ptr[row + 1] - m->row_ptr[row] + 2;
    bench_typed_get(vectors, t->host_y, row, &y, &z);
    wrong += !(fabsl(y - re) <= bench_allowed(k, (double)re_size, single)) ||
             !(fabsl(z - im) <= bench_allowed(k, (double)im_size, single));
  }
  return wrong;
}

/* ---- Calls ------------------------------------------------------------------------------- */

static void bench_typed_enqueue(bench_case *self) {
  bench_typed_call *call = (bench_typed_call *)self->object;
  bench_typed *t = call->typed;
  const int single = bench_type_kinds[t->kind].values == MERBIT_C64;
  if (call->plan != NULL) {
    bench_merbit_check(t->lab->gpu.context,
                       merbit_spmv(call->plan, NULL, NULL, mbi_device_pointer(t->x), NULL,
                                   mbi_device_pointer(t->y), t->lab->gpu.stream));
  } else {
    (void)t->lab->cusparse.spmv(
        t->lab->cusparse.handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
        single ? (const void *)bench_typed_one_single : (const void *)bench_typed_one,
        call->matrix, call->x, bench_typed_zero, call->y, bench_type_kinds[t->kind].cuda,
        call->algorithm, mbi_device_pointer(call->buffer));
  }
}

static bench_case *bench_typed_add(bench_typed *t, const char *name, bench_typed_call *call) {
  bench_case *c = &t->cases[t->count++];
  const double size = (double)mbi_type_size(bench_type_kinds[t->kind].values);
  const double vectors = (double)mbi_type_size(bench_type_kinds[t->kind].vectors);
  memset(c, 0, sizeof *c);
  (void)snprintf(c->name, sizeof c->name, "%s-%s", bench_type_kinds[t->kind].name, name);
  c->kind = BENCH_PLAIN;
  c->enqueue = bench_typed_enqueue;
  c->object = call;
  c->of = -1;
  c->rival = call->plan == NULL;
  c->bytes = (double)t->m->nnz * (4 + size) + 4.0 * (double)(t->m->rows + 1) +
             (double)(t->m->rows + t->m->cols) * vectors;
  return c;
}

static void bench_typed_plan(bench_typed *t, const char *name, merbit_method method,
                             bench_typed_call *call) {
  merbit_context *context = t->lab->gpu.context;
  merbit_view view =
      merbit_csr(t->m->rows, t->m->cols, t->m->nnz, mbi_device_pointer(t->row_ptr),
                 mbi_device_pointer(t->col_ind), mbi_device_pointer(t->values));
  merbit_plan_desc desc;
  bench_case *c;
  double start;
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  desc.unchecked = 1;
  desc.vector_type = bench_type_kinds[t->kind].vectors;
  view.value_type = bench_type_kinds[t->kind].values;
  view.memory = MERBIT_MEMORY_DEVICE;
  bench_merbit_check(context, merbit_plan_create(context, &view, &desc, &call->plan));
  merbit_plan_destroy(call->plan); /* the next plan finds its cubins in the cache */
  start = mbi_seconds();
  bench_merbit_check(context, merbit_plan_create(context, &view, &desc, &call->plan));
  c = bench_typed_add(t, name, call);
  c->has_plan = 1;
  c->plan_seconds = mbi_seconds() - start;
  (void)merbit_plan_describe(call->plan, c->about, sizeof c->about);
}

/* Prepares the algorithm at position `place` in the list. Returns 0 if cuSPARSE rejects it. */
static int bench_typed_rival(bench_typed *t, int place, bench_typed_call *call) {
  const bench_cusparse *s = &t->lab->cusparse;
  const bench_matrix *m = t->m;
  const int type = bench_type_kinds[t->kind].cuda;
  const int csr = bench_cusparse_algorithms[place].format == BENCH_FORMAT_CSR;
  const void *alpha =
      type == 4 ? (const void *)bench_typed_one_single : (const void *)bench_typed_one;
  size_t bytes = 0;
  int status =
      csr ? s->create_csr(&call->matrix, m->rows, m->cols, m->nnz,
                          mbi_device_pointer(t->row_ptr), mbi_device_pointer(t->col_ind),
                          mbi_device_pointer(t->values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_BASE_ZERO, type)
          : s->create_coo(&call->matrix, m->rows, m->cols, m->nnz,
                          mbi_device_pointer(t->row_ind), mbi_device_pointer(t->col_ind),
                          mbi_device_pointer(t->values), CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_BASE_ZERO, type);
  call->algorithm = bench_cusparse_algorithms[place].algorithm;
  status = status != 0 ? status
                       : s->create_vector(&call->x, m->cols, mbi_device_pointer(t->x), type);
  status = status != 0 ? status
                       : s->create_vector(&call->y, m->rows, mbi_device_pointer(t->y), type);
  status = status != 0 ? status
                       : s->buffer_size(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha,
                                        call->matrix, call->x, bench_typed_zero, call->y, type,
                                        call->algorithm, &bytes);
  if (status != 0) {
    (void)printf("%s-%s is left out: %s\n", bench_type_kinds[t->kind].name,
                 bench_cusparse_algorithms[place].name, s->error_string(status));
    return 0;
  }
  call->buffer = bench_gpu_allocate(&t->lab->gpu, (int64_t)bytes, 1);
  if (s->preprocess != NULL) {
    (void)s->preprocess(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, call->matrix,
                        call->x, bench_typed_zero, call->y, type, call->algorithm,
                        mbi_device_pointer(call->buffer));
  }
  (void)bench_typed_add(t, bench_cusparse_algorithms[place].name, call);
  return 1;
}

static void bench_typed_close(bench_typed *t, bench_typed_call *call) {
  const bench_cusparse *s = &t->lab->cusparse;
  merbit_plan_destroy(call->plan);
  if (call->matrix != NULL) {
    (void)s->destroy_matrix(call->matrix);
  }
  if (call->x != NULL) {
    (void)s->destroy_vector(call->x);
  }
  if (call->y != NULL) {
    (void)s->destroy_vector(call->y);
  }
  mbi_device_release(t->lab->gpu.context, call->buffer);
}

/* ---- One kind of types ------------------------------------------------------------------- */

static void bench_typed_fill(bench_typed *t) {
  const merbit_type values = bench_type_kinds[t->kind].values;
  const merbit_type vectors = bench_type_kinds[t->kind].vectors;
  const bench_matrix *m = t->m;
  bench_gpu *gpu = &t->lab->gpu;
  int64_t i;
  t->host_values = bench_allocate(m->nnz, mbi_type_size(values));
  t->host_x = bench_allocate(m->cols, mbi_type_size(vectors));
  t->host_y = bench_allocate(m->rows, mbi_type_size(vectors));
  BENCH_OMP(parallel for schedule(static))
  for (i = 0; i < m->nnz; i++) {
    bench_typed_set(values, t->host_values, i, m->values[i],
                    2 * bench_uniform(bench_key(1, 22), (uint64_t)i) - 1);
  }
  BENCH_OMP(parallel for schedule(static))
  for (i = 0; i < m->cols; i++) {
    bench_typed_set(vectors, t->host_x, i, 2 * bench_uniform(bench_key(1, 20), (uint64_t)i) - 1,
                    2 * bench_uniform(bench_key(1, 23), (uint64_t)i) - 1);
  }
  t->values = bench_gpu_copy_of(gpu, t->host_values, m->nnz, mbi_type_size(values));
  t->x = bench_gpu_copy_of(gpu, t->host_x, m->cols, mbi_type_size(vectors));
  t->y = bench_gpu_allocate(gpu, m->rows, mbi_type_size(vectors));
}

static void bench_typed_run(bench_typed *t) {
  static const struct {
    const char *name;
    merbit_method method;
  } methods[] = {{"auto", MERBIT_METHOD_AUTO},
                 {"scan", MERBIT_METHOD_SCAN},
                 {"merge", MERBIT_METHOD_MERGE},
                 {"rows", MERBIT_METHOD_ROWS}};
  bench_typed_call calls[BENCH_TYPE_CASES];
  bench_gpu *gpu = &t->lab->gpu;
  const size_t bytes = (size_t)t->m->rows * mbi_type_size(bench_type_kinds[t->kind].vectors);
  int i, used = 0;
  memset(calls, 0, sizeof calls);
  for (i = 0; i < BENCH_TYPE_CASES; i++) {
    calls[i].typed = t;
  }
  t->count = 0;
  bench_typed_fill(t);
  for (i = 0; i < 4; i++) {
    bench_typed_plan(t, methods[i].name, methods[i].method, &calls[used++]);
  }
  for (i = 0; i < 4 && bench_type_kinds[t->kind].cuda >= 0 && t->lab->cusparse.handle != NULL;
       i++) { /* the first four are CSR and COO */
    (void)bench_typed_rival(t, i, &calls[used++]);
  }
  for (i = 0; i < t->count; i++) {
    bench_case *c = &t->cases[i];
    bench_gpu_fill(gpu, t->y, 0xff, bytes); /* NaN */
    bench_gpu_wait(gpu);
    c->enqueue(c);
    bench_gpu_wait(gpu);
    bench_merbit_check(gpu->context, mbi_device_download(gpu->context, t->host_y, t->y, bytes));
    c->verdict.wrong = bench_typed_wrong(t);
    c->good = c->verdict.wrong == 0;
  }
  bench_time(t->cases, t->count, t->lab->options->rounds, 0.01, bench_gpu_watch, gpu);
  bench_json_open(t->lab->json, NULL, '{');
  bench_json_text(t->lab->json, "input", t->m->name);
  bench_json_text(t->lab->json, "precision", bench_type_kinds[t->kind].name);
  bench_report_cases(t->cases, t->count, "speedup", t->lab->json);
  bench_json_close(t->lab->json, '}');
  for (i = 0; i < t->count; i++) {
    if (t->cases[i].about[0] != '\0') {
      (void)printf("%s: %s\n", t->cases[i].name, t->cases[i].about);
    }
  }
  for (i = 0; i < used; i++) {
    bench_typed_close(t, &calls[i]);
  }
  mbi_device_release(gpu->context, t->values);
  mbi_device_release(gpu->context, t->x);
  mbi_device_release(gpu->context, t->y);
  free(t->host_values);
  free(t->host_x);
  free(t->host_y);
}

/* Measures all kinds of types on the arrays of a problem in f64, after its own table. */
static void bench_typed_all(bench_lab *lab, const bench_arrays *a) {
  bench_typed *t;
  if (a->problem->single || strcmp(lab->options->methods, "all") == 0 ||
      !bench_chosen(lab->options->methods, "types")) {
    return;
  }
  t = (bench_typed *)calloc(1, sizeof *t);
  if (t == NULL) {
    bench_die("no memory for the list of cases");
  }
  t->lab = lab;
  t->m = a->problem->m;
  t->row_ptr = a->row_ptr;
  t->row_ind = a->row_ind;
  t->col_ind = a->col_ind;
  for (t->kind = 0; t->kind < BENCH_TYPE_KINDS; t->kind++) {
    (void)printf("\n%s, %s\n", t->m->name, bench_type_kinds[t->kind].name);
    bench_typed_run(t);
  }
  free(t);
}

#endif
