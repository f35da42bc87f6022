/* The plan of a combination, the calls of its products, and the checks of their results.
 * Include merbit.h and cmocka.h first. */
#ifndef TEST_SWEEP_PRODUCT_H
#define TEST_SWEEP_PRODUCT_H
#include "sweep/problem.h"

typedef struct run {
  problem p;
  merbit_plan_desc desc;
  merbit_plan *plan;
  merbit_workspace *workspace;
  merbit_operators operators;
  merbit_epilogue epilogue;
  entries op; /* of op(A) */
  int vectors, by_rows, device, cuda;
  int64_t gap, ldx, ldy, *order;
  void *stream;
  int late;                    /* whether new values come directly before the next product */
  char *kept;                  /* also receives the next result; or NULL */
  void *latest;                /* the last new values */
  uint64_t slack;              /* device memory beyond what the plan reports */
  merbit_plan_memory forecast; /* upper bound of the memory */
  merbit_status forecasts;     /* what the forecast returned */
  long host_slack;             /* host memory: the context keeps programs */
} run;

/* ---- The plan ---------------------------------------------------------------------------- */

/* epilogue "function": ax s0 + v1; the sums of row numbers and of v0 y. */
#define SWEEP_ROWS(T, suffix)                                                                  \
  static void sweep_rows_##suffix(void *user, int64_t begin, int64_t end, void *y,             \
                                  const void *const *vectors, const double *scalars,           \
                                  double sums[2]) {                                            \
    T *at = (T *)y;                                                                            \
    int64_t row;                                                                               \
    (void)user;                                                                                \
    for (row = begin; row < end; row++) {                                                      \
      const T product = at[row] * (T)scalars[0];                                               \
      at[row] = product + ((const T *)vectors[1])[row];                                        \
      sums[0] += (double)row;                                                                  \
      sums[1] += (double)((const T *)vectors[0])[row] * (double)at[row];                       \
    }                                                                                          \
  }
SWEEP_ROWS(double, f64)
SWEEP_ROWS(float, f32)

static const merbit_epilogue sweep_epilogues[] = {
    {NULL, {NULL, NULL}, 0, 0, NULL, NULL},
    {"v0 - ax", {"y * y", NULL}, 1, 0, NULL, NULL},
    {NULL, {"v0 * ax", "ax * ax"}, 1, 0, NULL, NULL},
    {"ax * s0 + v1", {"row", "v0 * y"}, 2, 1, NULL, NULL}};

static void run_desc(run *r) {
  static const int vectors[] = {1, 2, 3, 4, 8}, calls[] = {0, 1, 8, 5000},
                   threads[] = {0, 64, 256};
  static const int64_t gaps[] = {0, 0, 0, 3, 5};
  const int *at = r->p.c->at, which = at[VECTORS];
  merbit_plan_desc *d = &r->desc;
  memset(d, 0, sizeof *d);
  d->operation = (merbit_operation)at[OPERATION];
  d->method = (merbit_method)at[METHOD];
  d->vector_type = at[KIND] == 2 ? MERBIT_F64 : MERBIT_TYPE_DEFAULT;
  d->vector_memory = (merbit_memory)at[MEMORY];
  d->scalar_memory = at[SCALARS_AT] ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_DEFAULT;
  d->expected_calls = calls[at[CALLS]];
  d->block_threads = threads[at[BLOCK_THREADS]];
  d->unchecked = at[UNCHECKED];
  d->changing_values = at[CHANGING];
  d->deterministic = at[DETERMINISTIC];
  d->reordering = (merbit_reordering)at[ORDER];
  d->semiring = (merbit_semiring)at[SEMIRING];
  r->operators = semirings_operators(SEMIRINGS_DIFFERENCE);
  d->operators = at[SEMIRING] == 4 ? &r->operators : NULL;
  d->numa = at[NUMA];
  d->vectors = r->vectors = vectors[which];
  d->vector_order =
      which == 2 || which == 3 ? MERBIT_VECTORS_ROW_MAJOR : MERBIT_VECTORS_COLUMN_MAJOR;
  r->by_rows = d->vector_order == MERBIT_VECTORS_ROW_MAJOR;
  r->gap = gaps[which];
  r->epilogue = sweep_epilogues[at[EPILOGUE]];
  if (at[EPILOGUE] == 3) {
    r->epilogue.cpu = typed_single(r->p.kind.sums) ? sweep_rows_f32 : sweep_rows_f64;
  }
  d->epilogue = at[EPILOGUE] ? &r->epilogue : NULL;
}

/* Forecasts the plan's memory, which may allocate nothing, and resets the peak. */
TEST_UNUSED static void run_forecast(run *r) {
  const long host = sweep.memory.bytes;
  const long device = sweep.driver != NULL ? sweep.driver->bytes : 0;
  r->forecasts = merbit_plan_forecast(r->p.context, &r->p.view, &r->desc, &r->forecast);
  if (sweep.memory.bytes != host || (sweep.driver != NULL && sweep.driver->bytes != device)) {
    sweep_fail("the forecast allocated memory");
  }
  if (sweep.driver != NULL) {
    sweep.driver->peak = sweep.driver->bytes;
  }
}

/* Compares the forecast with what the plan has allocated; `before`: the driver's bytes without
 * it. */
TEST_UNUSED static void run_forecast_holds(run *r, long before) {
  const merbit_plan_memory *m = &r->forecast;
  const int method = r->p.c->at[METHOD];
  merbit_plan_info info;
  sweep_done(r->p.context, merbit_plan_get_info(r->plan, &info), "merbit_plan_get_info");
  if (r->forecasts == MERBIT_NOT_SUPPORTED &&
      (method == MERBIT_METHOD_CB || method == MERBIT_METHOD_BSR)) {
    return;
  }
  sweep_done(r->p.context, r->forecasts, "merbit_plan_forecast");
  if (info.host_bytes > m->host_bytes || info.device_bytes > m->device_bytes) {
    sweep_fail("the plan holds %lld and %lld bytes, but the forecast is %lld and %lld",
               (long long)info.host_bytes, (long long)info.device_bytes,
               (long long)m->host_bytes, (long long)m->device_bytes);
  }
  if (sweep.driver != NULL && r->cuda &&
      (sweep.driver->bytes - before > m->device_bytes ||
       sweep.driver->peak - before > m->device_peak_bytes)) {
    sweep_fail("the driver gave %ld bytes and %ld at most, but the forecast is %lld and %lld",
               sweep.driver->bytes - before, sweep.driver->peak - before,
               (long long)m->device_bytes, (long long)m->device_peak_bytes);
  }
  if (!r->cuda && m->device_peak_bytes != 0) {
    sweep_fail("the forecast for the CPU has %lld bytes of a GPU",
               (long long)m->device_peak_bytes);
  }
}

/* Compares what the plan reports with what the driver and the allocator gave; `before` and
 * `host`: without the plan. */
static void run_count(run *r, long before, long host, int again) {
  const uint64_t remade = 8 * 256; /* arrays that are remade are rounded up once more */
  merbit_plan_info info;
  uint64_t slack;
  sweep_done(r->p.context, merbit_plan_get_info(r->plan, &info), "merbit_plan_get_info");
  if ((info.side == MERBIT_SIDE_CUDA) != r->cuda) {
    sweep_fail("the plan is for side %d", (int)info.side);
  }
  if (!r->cuda && info.device_bytes != 0) {
    sweep_fail("a plan on the CPU holds %lld bytes of a device", (long long)info.device_bytes);
  }
  r->host_slack = sweep.memory.bytes - host - (long)info.host_bytes;
  if (r->host_slack < 0 || (r->host_slack > 0 && !r->cuda)) {
    sweep_fail("host_bytes is %lld, but the allocator gave %ld", (long long)info.host_bytes,
               sweep.memory.bytes - host);
  }
  if (sweep.driver == NULL || !r->cuda) {
    return;
  }
  slack = (uint64_t)(sweep.driver->bytes - before - info.device_bytes);
  if (sweep.driver->bytes - before < info.device_bytes || slack > 256 * 40 ||
      (again && slack > r->slack + (r->desc.changing_values ? 0 : remade))) {
    sweep_fail("device_bytes is %lld, but the driver gave %ld, %lld more, before %lld",
               (long long)info.device_bytes, sweep.driver->bytes - before, (long long)slack,
               (long long)r->slack);
  }
  r->slack = slack;
}

/* Computes op(A)'s entries. */
static void run_operation(run *r) {
  r->op = r->p.e;
  if (r->desc.operation != MERBIT_OPERATION_N) {
    entries_transpose(&r->op);
  }
}

/* ---- Products ---------------------------------------------------------------------------- */

static int64_t run_extent(const run *r, int64_t count, int64_t leading) {
  return count == 0 ? 0
                    : ((r->by_rows ? count : r->vectors) - 1) * leading +
                          (r->by_rows ? r->vectors : count);
}

static int64_t run_place(const run *r, int64_t i, int v, int64_t leading) {
  return r->by_rows ? i * leading + v : v * leading + i;
}

/* Copies vector v between a plain array in the matrix's order and one in the plan's. */
static void run_move(const run *r, int64_t count, int64_t leading, char *plain, char *packed,
                     int to_plan) {
  const size_t size = typed_size(r->p.kind.sums);
  int64_t i;
  int v;
  for (v = 0; v < r->vectors; v++) {
    for (i = 0; i < count; i++) {
      char *a = plain + (size_t)(v * count + (r->order != NULL ? r->order[i] : i)) * size;
      char *b = packed + (size_t)run_place(r, i, v, leading) * size;
      memcpy(to_plan ? b : a, to_plan ? a : b, size);
    }
  }
}

typedef struct product { /* plain arrays, vector after vector, in the matrix's order */
  double alpha[2], beta[2];
  int given; /* bit 0: alpha, bit 1: beta */
  char *x, *y0, *y, *v0, *v1;
  double sums[2], s0;
  int skip; /* -1: NULL */
} product;

static void product_scalars(const run *r, product *q) {
  static const double table[][5] = {{1, 0, 0, 0, 0},         {0.5, -2, 0, 0, 1},
                                    {-2, 0.25, 0.25, -1, 3}, {0, 0, 0.5, 0, 3},
                                    {1, 0, 1, 0, 3},         {-1, 0, 0, 0, 3}};
  const int which = r->p.c->at[SCALARS], kind = r->p.c->at[SEMIRING];
  const double *t = table[which];
  memset(q->alpha, 0, sizeof q->alpha);
  memset(q->beta, 0, sizeof q->beta);
  q->given = (int)t[4];
  typed_set(r->p.kind.sums, q->alpha, 0, kind != 0 && which == 3 ? semirings_zero(kind) : t[0],
            t[1]);
  typed_set(r->p.kind.sums, q->beta, 0, kind != 0 && which == 5 ? semirings_zero(kind) : t[2],
            t[3]);
}

static void product_fill(run *r, product *q) {
  const merbit_type type = r->p.kind.sums;
  const size_t size = typed_size(type);
  const int which = r->p.c->at[SCALARS],
            semiring = r->p.c->at[SEMIRING] != 0 && r->p.c->at[KIND] <= 1;
  const int64_t rows = r->op.rows, xs = r->op.cols * r->vectors, ys = rows * r->vectors;
  const int wild = r->p.c->at[X] && !r->p.e.repeated;
  double *numbers = (double *)test_allocate(xs + ys, sizeof *numbers);
  int64_t i;
  q->x = (char *)test_allocate(xs, size);
  q->y0 = (char *)test_allocate(ys, size);
  q->y = (char *)test_allocate(ys, size);
  q->v0 = (char *)test_allocate(rows, size);
  q->v1 = (char *)test_allocate(rows, size);
  typed_fill(type, q->x, xs, &r->p.random, wild);
  typed_fill(type, q->y0, ys, &r->p.random, 0);
  typed_fill(type, q->v0, rows, &r->p.random, 0);
  typed_fill(type, q->v1, rows, &r->p.random, 0);
  if (semiring) {
    semirings_fill(numbers, xs, wild, &r->p.random);
    semirings_fill(numbers + xs, ys, 0, &r->p.random);
    for (i = 0; i < xs + ys; i++) {
      typed_set(type, i < xs ? q->x : q->y0, i < xs ? i : i - xs, numbers[i], 0);
    }
  }
  if (which == 3 && r->p.c->at[EPILOGUE] == 0) {
    memset(q->x, 0xff, (size_t)xs * size); /* alpha 0 does not read it */
  }
  if (which <= 1 || which == 5) {
    memset(q->y0, 0xff, (size_t)ys * size); /* y0 is not read, either */
  }
  q->s0 = 0.5;
  q->sums[0] = q->sums[1] = -7;
  q->skip = (int)test_below(&r->p.random, 3) - 1;
  free(numbers);
}

/* Calls the product, in a graph if the combination says so. */
static merbit_status product_call(run *r, const product *q, void *const at[7], void *stream) {
  const void *vectors[2];
  vectors[0] = at[4];
  vectors[1] = at[5];
  if (r->p.c->at[EPILOGUE] != 0) {
    double *pair = (double *)at[6];
    return merbit_spmv_epilogue(r->plan, r->workspace, at[0], at[1], vectors, pair, pair + 1,
                                q->skip < 0 ? NULL : (const int *)(const void *)(pair + 3),
                                stream);
  }
  if (r->vectors > 1) {
    return merbit_spmm(r->plan, r->workspace, at[2], at[0], r->ldx, at[3], at[1], r->ldy,
                       stream);
  }
  return merbit_spmv(r->plan, r->workspace, at[2], at[0], at[3], at[1], stream);
}

typedef struct graph_calls { /* driver calls that the library itself does not use */
  int (*stream_create)(void **stream, unsigned flags);
  int (*stream_destroy)(void *stream);
  int (*begin)(void *stream, int mode);
  int (*end)(void *stream, void **graph);
  int (*instantiate)(void **executable, void *graph, unsigned long long flags);
  int (*launch)(void *executable, void *stream);
  int (*graph_destroy)(void *graph);
  int (*executable_destroy)(void *executable);
} graph_calls;

static void graph_calls_find(merbit_context *context, graph_calls *calls) {
  static const char *const names[] = {
      "cuStreamCreate",     "cuStreamDestroy_v2",          "cuStreamBeginCapture_v2",
      "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
      "cuGraphDestroy",     "cuGraphExecDestroy"};
  size_t i;
  for (i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (!mbi_library_function(context->device.driver.library, names[i],
                              (char *)calls + i * sizeof(void *), sizeof(void *))) {
      sweep_fail("the driver has no %s", names[i]);
    }
  }
}

static merbit_status product_captured(run *r, const product *q, void *const at[7],
                                      const graph_calls *calls) {
  void *graph = NULL, *executable = NULL;
  merbit_status status;
  if (calls->begin(r->stream, 0) != 0) {
    sweep_fail("cuStreamBeginCapture");
  }
  status = product_call(r, q, at, r->stream);
  if (calls->end(r->stream, &graph) != 0 || calls->instantiate(&executable, graph, 0) != 0 ||
      calls->launch(executable, r->stream) != 0) {
    sweep_fail("the product in a graph, which answered %s", merbit_status_name(status));
  }
  if (mbi_device_synchronize(r->p.context, r->stream) != MERBIT_OK) {
    sweep_fail("the graph");
  }
  (void)calls->executable_destroy(executable);
  (void)calls->graph_destroy(graph);
  return status;
}

/* Calls the product on the combination's stream and waits for it. */
static merbit_status product_on_stream(run *r, const product *q, void *const at[7]) {
  const int how = r->p.c->at[STREAM];
  merbit_context *context = r->p.context;
  merbit_status status;
  graph_calls calls;
  if (!r->cuda || how == 0) {
    status = product_call(r, q, at, !r->cuda && how != 0 ? (void *)(uintptr_t)0x5a5a : NULL);
    if (r->cuda && status == MERBIT_OK) {
      status = mbi_device_enter(context);
      if (status == MERBIT_OK) {
        status = mbi_device_synchronize(context, NULL);
        mbi_device_leave(context);
      }
    }
    return status;
  }
  graph_calls_find(context, &calls);
  sweep_done(context, mbi_device_enter(context), "the context");
  if (calls.stream_create(&r->stream, 1) != 0) {
    sweep_fail("cuStreamCreate");
  }
  if (how == 2 && r->device) {
    status = product_captured(r, q, at, &calls);
  } else {
    status = product_call(r, q, at, r->stream);
    if (status == MERBIT_OK) {
      status = mbi_device_synchronize(context, r->stream);
    }
  }
  (void)calls.stream_destroy(r->stream);
  mbi_device_leave(context);
  return status;
}

/* ---- Checks ------------------------------------------------------------------------------ */

static void check_plus_times(run *r, product *q, int v) {
  const size_t size = typed_size(r->p.kind.sums);
  const int epilogue = r->p.c->at[EPILOGUE];
  double one[2] = {0, 0}, other[2] = {0, 0};
  typed_product t;
  memset(&t, 0, sizeof t);
  t.kind = &r->p.kind;
  t.rows = r->op.rows;
  t.cols = r->op.cols;
  t.nnz = r->op.count;
  t.row = r->op.row;
  t.col = r->op.col;
  t.values = r->op.values;
  t.conjugates = r->desc.operation == MERBIT_OPERATION_H;
  t.alpha = q->alpha;
  t.beta = q->beta;
  t.x = q->x + (size_t)(v * r->op.cols) * size;
  t.y0 = q->y0 + (size_t)(v * r->op.rows) * size;
  t.y = q->y + (size_t)(v * r->op.rows) * size;
  if (epilogue != 0) {
    typed_set(r->p.kind.sums, one, 0, epilogue == 1 ? -1 : epilogue == 2 ? 1 : 0.5, 0);
    typed_set(r->p.kind.sums, other, 0, epilogue == 2 ? 0 : 1, 0);
    t.alpha = one;
    t.beta = other;
    t.y0 = epilogue == 1 ? q->v0 : q->v1;
  }
  if (typed_wrong(&t) > 0) {
    sweep_fail("vector %d is beyond the bound", v);
  }
}

static void check_semiring(run *r, product *q) {
  const int kind = r->p.c->at[SEMIRING], single = typed_single(r->p.kind.sums);
  const merbit_type type = r->p.kind.sums;
  const double zero = semirings_zero(kind);
  const double alpha = (double)typed_load(type, q->alpha, 0).re,
               beta = (double)typed_load(type, q->beta, 0).re;
  double *want = (double *)test_allocate(r->op.rows, sizeof *want);
  int64_t k;
  for (k = 0; k < r->op.rows; k++) {
    want[k] = zero;
  }
  for (k = 0; k < r->op.count && !((q->given & 1) && alpha == zero); k++) {
    const double a = r->op.values == NULL ? 1 : (double)typed_load(type, r->op.values, k).re;
    double *to = &want[r->op.row[k]];
    *to = semirings_add(
        kind, *to,
        semirings_multiply(kind, single, a, (double)typed_load(type, q->x, r->op.col[k]).re));
  }
  for (k = 0; k < r->op.rows; k++) {
    const double got = (double)typed_load(type, q->y, k).re;
    if ((q->given & 1) && alpha != zero) {
      want[k] = semirings_multiply(kind, single, alpha, want[k]);
    }
    if ((q->given & 2) && beta != zero) {
      want[k] = semirings_add(
          kind, want[k],
          semirings_multiply(kind, single, beta, (double)typed_load(type, q->y0, k).re));
    }
    if (!semirings_same(kind, got, want[k])) {
      sweep_fail("y[%lld] is %a, not %a", (long long)k, got, want[k]);
    }
  }
  free(want);
}

static void check_sums(run *r, product *q) {
  const int epilogue = r->p.c->at[EPILOGUE];
  const merbit_type type = r->p.kind.sums;
  long double want[2] = {0, 0}, size[2] = {0, 0};
  int64_t i;
  int s;
  for (i = 0; i < r->op.rows; i++) {
    const long double y = typed_load(type, q->y, i).re, v0 = typed_load(type, q->v0, i).re;
    const long double terms[2] = {epilogue == 1   ? y * y
                                  : epilogue == 2 ? v0 * y
                                                  : (long double)i,
                                  epilogue == 1   ? 0
                                  : epilogue == 2 ? y * y
                                                  : v0 * y};
    for (s = 0; s < 2; s++) {
      want[s] += terms[s];
      size[s] += fabsl(terms[s]);
    }
  }
  for (s = 0; s < 2; s++) {
    const long double allowed = (long double)(r->op.rows + 2) * 0x1p-53L * size[s];
    if (q->skip > 0 ? q->sums[s] != -7 : !typed_holds(q->sums[s], want[s], allowed)) {
      sweep_fail("sum %d is %.17g, not %.17Lg (skip %d)", s, q->sums[s], want[s], q->skip);
    }
  }
}

/* If skip is set and the epilogue has a result, y is unchanged. */
static int product_skipped(const run *r, const product *q) {
  return r->p.c->at[EPILOGUE] != 0 && q->skip > 0;
}

static void product_check(run *r, product *q) {
  int v;
  if (product_skipped(r, q)) {
    if (r->p.c->at[EPILOGUE] != 2 &&
        memcmp(q->y, q->y0, (size_t)r->op.rows * typed_size(r->p.kind.sums)) != 0) {
      sweep_fail("a skipped product wrote y");
    }
    check_sums(r, q);
    return;
  }
  if (r->p.c->at[SEMIRING] != 0) {
    check_semiring(r, q);
    return;
  }
  for (v = 0; v < r->vectors; v++) {
    check_plus_times(r, q, v);
  }
  if (r->p.c->at[EPILOGUE] != 0) {
    check_sums(r, q);
  }
}

#endif /* TEST_SWEEP_PRODUCT_H */
