/* One matrix in one precision on the GPU: cuSPARSE and merbit on the same arrays, verified and
 * timed. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H
#include "options.h"
#include "report.h"
#include "rivals.h"

#define BENCH_BATCH_SECONDS 0.01

typedef struct bench_summary { /* of all matrices, by precision: f64, f32 */
  int ratios[2], tiles;
  double log_dual[2], log_general[2], log_tile, worst_tile;
  int wrong;
} bench_summary;

typedef struct bench_ours {
  bench_gpu *gpu;
  bench_arrays *arrays;
  merbit_plan *plan;
} bench_ours;

typedef struct bench_bench { /* all cases of one problem */
  bench_gpu *gpu;
  bench_cusparse *cusparse;
  const bench_options *options;
  bench_json *json;
  bench_arrays arrays;
  bench_rival rivals[4];
  bench_ours ours[2 * BENCH_SIGMAS + 4];
  bench_case cases[BENCH_CASES];
  int our_count, case_count;
} bench_bench;

/* ---- Calls ------------------------------------------------------------------------------- */

static void bench_ours_enqueue(bench_case *self) {
  bench_ours *o = (bench_ours *)self->object;
  const bench_arrays *a = o->arrays;
  const bench_scalars *scalars =
      self->kind == BENCH_GENERAL ? a->general : &bench_plain_scalars;
  const int single = a->problem->single;
  bench_merbit_check(o->gpu->context,
                     merbit_spmv(o->plan, NULL, bench_alpha(scalars, single),
                                 mbi_device_pointer(a->x), bench_beta(scalars, single),
                                 mbi_device_pointer(a->y), o->gpu->stream));
}

/* The dual buffers swap with every call. */
static void bench_dual_enqueue(bench_case *self) {
  bench_ours *o = (bench_ours *)self->object;
  const bench_arrays *a = o->arrays;
  bench_merbit_check(o->gpu->context,
                     mbi_merbit_multiply_dual(o->plan, a->x, self->parity ? a->z : a->y,
                                              self->parity ? a->y : a->z, o->gpu->stream));
  self->parity = !self->parity;
}

/* Writes what is there already. */
static void bench_tile_enqueue(bench_case *self) {
  bench_ours *o = (bench_ours *)self->object;
  bench_merbit_check(o->gpu->context, mbi_merbit_build(o->plan, o->gpu->stream));
}

/* ---- Cases ------------------------------------------------------------------------------- */

static bench_case *bench_add(bench_bench *b, const char *name, bench_kind kind,
                             void (*enqueue)(bench_case *), void *object) {
  bench_case *c = &b->cases[b->case_count++];
  memset(c, 0, sizeof *c);
  (void)snprintf(c->name, sizeof c->name, "%s", name);
  c->kind = kind;
  c->enqueue = enqueue;
  c->object = object;
  c->of = -1;
  return c;
}

static void bench_skip(bench_bench *b, const char *name, const char *reason) {
  (void)printf("%s is left out: %s\n", name, reason);
  bench_json_open(b->json, NULL, '{');
  bench_json_text(b->json, "name", name);
  bench_json_text(b->json, "reason", reason);
  bench_json_close(b->json, '}');
}

static void bench_add_rivals(bench_bench *b) {
  bench_kind kind;
  int i;
  for (i = 0; i < 4; i++) {
    const char *name = bench_cusparse_algorithms[i].name;
    bench_rival *r = &b->rivals[i];
    if (b->cusparse->handle == NULL || !bench_chosen(b->options->methods, name)) {
      continue;
    }
    bench_rival_create(r, b->gpu, b->cusparse, &b->arrays, i);
    if (r->failure[0] != '\0') {
      bench_skip(b, name, r->failure);
      continue;
    }
    for (kind = BENCH_PLAIN; kind <= BENCH_GENERAL; kind++) {
      char full[48];
      bench_case *c;
      (void)snprintf(full, sizeof full, "%s%s", name, kind == BENCH_GENERAL ? "-ab" : "");
      c = bench_add(b, full, kind, bench_rival_enqueue, r);
      c->rival = 1;
      c->bytes = bench_rival_bytes(r, kind);
    }
  }
}

static merbit_view bench_device_view(const bench_arrays *a) {
  const bench_matrix *m = a->problem->m;
  merbit_view view = merbit_csr(m->rows, m->cols, m->nnz, mbi_device_pointer(a->row_ptr),
                                mbi_device_pointer(a->col_ind), mbi_device_pointer(a->values));
  view.value_type = a->problem->single ? MERBIT_F32 : MERBIT_F64;
  view.memory = MERBIT_MEMORY_DEVICE;
  return view;
}

/* A plan that becomes cases; NULL, and told, where it cannot be made. */
static bench_ours *bench_add_plan(bench_bench *b, const char *name,
                                  const merbit_plan_desc *desc, int dual) {
  bench_ours *o = &b->ours[b->our_count];
  const merbit_view view = bench_device_view(&b->arrays);
  char message[MERBIT_MESSAGE_SIZE];
  o->gpu = b->gpu;
  o->arrays = &b->arrays;
  if (mbi_plan_create(b->gpu->context, &view, desc, dual, &o->plan) != MERBIT_OK) {
    (void)merbit_last_error(b->gpu->context, message, sizeof message);
    bench_skip(b, name, message);
    return NULL;
  }
  b->our_count++;
  return o;
}

static bench_case *bench_add_ours(bench_bench *b, const char *name, bench_kind kind,
                                  void (*enqueue)(bench_case *), bench_ours *o) {
  const double size = (double)b->arrays.problem->size;
  bench_case *c = bench_add(b, name, kind, enqueue, o);
  merbit_plan_info info;
  bench_merbit_check(b->gpu->context, merbit_plan_get_info(o->plan, &info));
  c->bytes = (double)info.bytes_per_product +
             (kind == BENCH_GENERAL ? size * (double)b->arrays.problem->m->rows : 0.0);
  if (kind == BENCH_TILE) { /* reads row_ptr, writes TILE */
    c->bytes = 4.0 * (double)(b->arrays.problem->m->rows + 1) + (double)o->plan->schedule_bytes;
  }
  c->has_plan = 1;
  c->plan_seconds = info.plan_seconds;
  c->compile_seconds = info.compile_seconds;
  c->load_seconds = info.load_seconds;
  return c;
}

static void bench_add_sigma(bench_bench *b, int sigma) {
  merbit_plan_desc desc;
  bench_ours *o;
  char name[48];
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_MERBIT;
  desc.sigma = sigma;
  desc.block_threads = b->options->block_threads;
  desc.unchecked = 1;
  (void)snprintf(name, sizeof name, "merbit-dual-s%d", sigma);
  o = bench_chosen(b->options->methods, name) ? bench_add_plan(b, name, &desc, 1) : NULL;
  if (o != NULL) {
    const int product = b->case_count;
    (void)bench_add_ours(b, name, BENCH_PLAIN, bench_dual_enqueue, o);
    (void)snprintf(name, sizeof name, "merbit-tile-s%d", sigma);
    bench_add_ours(b, name, BENCH_TILE, bench_tile_enqueue, o)->of = product;
  }
  (void)snprintf(name, sizeof name, "merbit-s%d", sigma);
  o = bench_chosen(b->options->methods, name) ? bench_add_plan(b, name, &desc, 0) : NULL;
  if (o != NULL) {
    (void)bench_add_ours(b, name, BENCH_PLAIN, bench_ours_enqueue, o);
    (void)snprintf(name, sizeof name, "merbit-s%d-ab", sigma);
    (void)bench_add_ours(b, name, BENCH_GENERAL, bench_ours_enqueue, o);
  }
}

/* A method with its own choice of constants. */
static void bench_add_method(bench_bench *b, const char *stem, merbit_method method) {
  merbit_plan_desc desc;
  bench_ours *o;
  char name[48];
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  desc.block_threads = b->options->block_threads;
  desc.unchecked = 1;
  o = bench_chosen(b->options->methods, stem) ? bench_add_plan(b, stem, &desc, 0) : NULL;
  if (o != NULL) {
    (void)bench_add_ours(b, stem, BENCH_PLAIN, bench_ours_enqueue, o);
    (void)snprintf(name, sizeof name, "%s-ab", stem);
    (void)bench_add_ours(b, name, BENCH_GENERAL, bench_ours_enqueue, o);
  }
}

/* What a user gets without asking for anything: the arrays checked, the library's choice. */
static void bench_add_auto(bench_bench *b) {
  bench_ours *o =
      bench_chosen(b->options->methods, "auto") ? bench_add_plan(b, "auto", NULL, 0) : NULL;
  if (o != NULL) {
    char line[1024];
    (void)bench_add_ours(b, "auto", BENCH_PLAIN, bench_ours_enqueue, o);
    (void)bench_add_ours(b, "auto-ab", BENCH_GENERAL, bench_ours_enqueue, o);
    (void)merbit_plan_describe(o->plan, line, sizeof line);
    (void)printf("auto: %s\n", line);
  }
}

/* ---- Verification ------------------------------------------------------------------------ */

/* Three dual-buffer products: the third finds in y what the second left there. */
static void bench_verify(bench_bench *b, bench_case *c, void *y) {
  bench_problem *p = b->arrays.problem;
  const size_t bytes = (size_t)p->m->rows * p->size;
  const bench_scalars *scalars =
      c->kind == BENCH_GENERAL ? &bench_general_scalars : &bench_plain_scalars;
  const int dual = c->enqueue == bench_dual_enqueue;
  int i;
  b->arrays.general = &bench_general_scalars;
  c->parity = 0;
  if (c->kind == BENCH_GENERAL) {
    bench_merbit_check(b->gpu->context,
                       mbi_device_upload(b->gpu->context, b->arrays.y, p->y0, bytes));
  } else {
    bench_gpu_fill(b->gpu, b->arrays.y, dual ? 0 : 0xff, bytes); /* 0xff...: NaN */
    bench_gpu_fill(b->gpu, b->arrays.z, 0, bytes);
  }
  for (i = 0; i < (dual ? 3 : 1); i++) {
    c->enqueue(c);
  }
  bench_gpu_wait(b->gpu);
  bench_merbit_check(b->gpu->context,
                     mbi_device_download(b->gpu->context, y, b->arrays.y, bytes));
  c->verdict = bench_compare(p, scalars->alpha, scalars->beta, y);
  c->good = bench_verdict_good(p, c->verdict);
  b->arrays.general = &bench_timed_scalars;
}

/* ---- The arrays -------------------------------------------------------------------------- */

static int32_t *bench_row_indices(const bench_matrix *m) {
  int32_t *rows = (int32_t *)bench_allocate(m->nnz, sizeof *rows);
  int64_t row;
  BENCH_OMP(parallel for schedule(dynamic, 4096))
  for (row = 0; row < m->rows; row++) {
    int64_t k;
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      rows[k] = (int32_t)row;
    }
  }
  return rows;
}

static void bench_arrays_create(bench_arrays *a, bench_gpu *gpu, bench_problem *p) {
  const bench_matrix *m = p->m;
  int32_t *rows = bench_row_indices(m);
  a->problem = p;
  a->row_ptr = bench_gpu_copy_of(gpu, m->row_ptr, m->rows + 1, sizeof *m->row_ptr);
  a->row_ind = bench_gpu_copy_of(gpu, rows, m->nnz, sizeof *rows);
  a->col_ind = bench_gpu_copy_of(gpu, m->col_ind, m->nnz, sizeof *m->col_ind);
  a->values = bench_gpu_copy_of(gpu, p->values, m->nnz, p->size);
  a->x = bench_gpu_copy_of(gpu, p->x, m->cols, p->size);
  a->y = bench_gpu_copy_of(gpu, p->y0, m->rows, p->size);
  a->z = bench_gpu_copy_of(gpu, p->y0, m->rows, p->size);
  a->general = &bench_timed_scalars;
  free(rows);
}

static void bench_arrays_destroy(bench_arrays *a, bench_gpu *gpu) {
  mbi_device_release(gpu->context, a->row_ptr);
  mbi_device_release(gpu->context, a->row_ind);
  mbi_device_release(gpu->context, a->col_ind);
  mbi_device_release(gpu->context, a->values);
  mbi_device_release(gpu->context, a->x);
  mbi_device_release(gpu->context, a->y);
  mbi_device_release(gpu->context, a->z);
}

/* ---- One table --------------------------------------------------------------------------- */

static int bench_best_named(const bench_bench *b, const char *prefix, bench_kind kind) {
  int best = -1, i;
  for (i = 0; i < b->case_count; i++) {
    const bench_case *c = &b->cases[i];
    if (c->kind == kind && c->good && strncmp(c->name, prefix, strlen(prefix)) == 0 &&
        (best < 0 || c->median < b->cases[best].median)) {
      best = i;
    }
  }
  return best;
}

/* The case of the TILE build that belongs to the product `of`. */
static int bench_tile_of(const bench_bench *b, int of) {
  int i;
  for (i = 0; i < b->case_count; i++) {
    if (b->cases[i].kind == BENCH_TILE && b->cases[i].of == of) {
      return i;
    }
  }
  return -1;
}

static void bench_sum_up(bench_bench *b, bench_summary *sum) {
  const int single = b->arrays.problem->single;
  const int rival = bench_best(b->cases, b->case_count, BENCH_PLAIN, 1);
  const int dual = bench_best_named(b, "merbit-dual-", BENCH_PLAIN);
  const int general = bench_best_named(b, "merbit-s", BENCH_PLAIN);
  int i;
  for (i = 0; i < b->case_count; i++) {
    sum->wrong += b->cases[i].kind != BENCH_TILE && !b->cases[i].good;
  }
  if (dual >= 0 && bench_tile_of(b, dual) >= 0 && b->arrays.problem->m->nnz > 10000000) {
    const double ratio = b->cases[bench_tile_of(b, dual)].median / b->cases[dual].median;
    sum->log_tile += log(ratio);
    sum->worst_tile = ratio > sum->worst_tile ? ratio : sum->worst_tile;
    sum->tiles++;
  }
  if (rival >= 0 && dual >= 0 && general >= 0) {
    const double base = b->cases[rival].median;
    (void)printf(
        "best cuSPARSE: %s; merbit over it: %.3f (%s), %.3f with the general commit (%s)\n",
        b->cases[rival].name, b->cases[dual].median / base, b->cases[dual].name,
        b->cases[general].median / base, b->cases[general].name);
    sum->log_dual[single] += log(b->cases[dual].median / base);
    sum->log_general[single] += log(b->cases[general].median / base);
    sum->ratios[single]++;
  }
}

static void bench_gpu_problem(bench_gpu *gpu, bench_cusparse *cusparse,
                              const bench_options *options, bench_problem *p, bench_json *json,
                              bench_summary *sum) {
  bench_bench *b = (bench_bench *)calloc(1, sizeof *b);
  void *y = bench_allocate(p->m->rows, p->size);
  int i;
  if (b == NULL) {
    bench_die("no memory for the list of cases");
  }
  b->gpu = gpu;
  b->cusparse = cusparse;
  b->options = options;
  b->json = json;
  bench_report_head(p, json);
  bench_arrays_create(&b->arrays, gpu, p);
  bench_json_open(json, "left_out", '[');
  bench_add_rivals(b);
  bench_add_auto(b);
  for (i = 0; i < options->sigma_count; i++) {
    bench_add_sigma(b, options->sigmas[i]);
  }
  bench_add_method(b, "scan", MERBIT_METHOD_SCAN);
  bench_add_method(b, "rows", MERBIT_METHOD_ROWS);
  bench_add_method(b, "sliced", MERBIT_METHOD_SLICED);
  bench_json_close(json, ']');
  for (i = 0; i < b->case_count; i++) {
    if (b->cases[i].kind != BENCH_TILE) {
      bench_verify(b, &b->cases[i], y);
    }
  }
  bench_time(b->cases, b->case_count, options->rounds, BENCH_BATCH_SECONDS, bench_gpu_watch,
             gpu);
  bench_report_cases(b->cases, b->case_count, "ratio", gpu->copy_bandwidth, json);
  bench_json_close(json, '}');
  bench_sum_up(b, sum);
  (void)fflush(stdout);
  for (i = 0; i < b->our_count; i++) {
    merbit_plan_destroy(b->ours[i].plan);
  }
  for (i = 0; i < 4; i++) {
    bench_rival_destroy(&b->rivals[i], gpu);
  }
  bench_arrays_destroy(&b->arrays, gpu);
  free(b);
  free(y);
}

#endif
