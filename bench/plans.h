/* merbit's plans: what they cost with warm and with cold caches, and their products. */
#ifndef BENCH_PLANS_H
#define BENCH_PLANS_H
#include "cases.h"
#include "directory.h"

#define BENCH_WARM_PLANS 3 /* number of plans whose median counts */

/* ---- Calls ------------------------------------------------------------------------------- */

static void bench_ours_enqueue(bench_case *self) {
  bench_ours *o = (bench_ours *)self->object;
  const bench_arrays *a = o->arrays;
  const bench_scalars *scalars =
      self->kind == BENCH_GENERAL ? a->general : &bench_plain_scalars;
  const int single = a->problem->single;
  bench_merbit_check(o->gpu->context, merbit_spmv(o->plan, NULL, bench_alpha(scalars, single),
                                                  mbi_device_pointer(o->px != 0 ? o->px : a->x),
                                                  bench_beta(scalars, single),
                                                  mbi_device_pointer(a->y), o->gpu->stream));
}

/* Enqueues a product with dual buffers, which swap with every call. */
static void bench_dual_enqueue(bench_case *self) {
  bench_ours *o = (bench_ours *)self->object;
  const bench_arrays *a = o->arrays;
  bench_merbit_check(o->gpu->context,
                     mbi_merbit_multiply_dual(o->plan, a->x, self->parity ? a->z : a->y,
                                              self->parity ? a->y : a->z, o->gpu->stream));
  self->parity = !self->parity;
}

/* Enqueues the kernel that builds the tiles. It writes what is already there. */
static void bench_tile_enqueue(bench_case *self) {
  bench_ours *o = (bench_ours *)self->object;
  bench_merbit_check(o->gpu->context, mbi_merbit_build(o->plan, o->gpu->stream));
}

/* ---- Making plans ------------------------------------------------------------------------ */

typedef struct bench_request { /* a plan that the command line asks for */
  const char *name;
  merbit_plan_desc desc;
  int dual;   /* 1: with the dual-buffer commit */
  int blocks; /* 1: of the arrays in blocks */
  int cold;   /* 1: also measured with an emptied cache */
} bench_request;

typedef struct bench_cost {
  double warm, cold, compile; /* seconds; cold is 0 if it is not measured */
} bench_cost;

static merbit_view bench_device_view(const bench_arrays *a) {
  const bench_matrix *m = a->problem->m;
  merbit_view view = merbit_csr(m->rows, m->cols, m->nnz, mbi_device_pointer(a->row_ptr),
                                mbi_device_pointer(a->col_ind), mbi_device_pointer(a->values));
  view.value_type = a->problem->single ? MERBIT_F32 : MERBIT_F64;
  view.memory = MERBIT_MEMORY_DEVICE;
  return view;
}

static merbit_view bench_block_view(const bench_arrays *a) {
  const bench_matrix *m = a->problem->m;
  merbit_view view =
      merbit_bsr(m->rows, m->cols, a->blocks.entries, a->blocks.block, a->blocks.width,
                 mbi_device_pointer(a->block_offsets), mbi_device_pointer(a->block_columns),
                 mbi_device_pointer(a->block_values));
  view.value_type = a->problem->single ? MERBIT_F32 : MERBIT_F64;
  view.memory = MERBIT_MEMORY_DEVICE;
  return view;
}

/* Makes a plan. Returns the seconds until everything that it started has ended, or a negative
 * number after saying why there is no plan. */
static double bench_plan_make(bench_bench *b, merbit_context *context,
                              const bench_request *request, merbit_plan **plan) {
  const merbit_view view =
      request->blocks ? bench_block_view(&b->arrays) : bench_device_view(&b->arrays);
  const double start = mbi_seconds();
  mbi_plan_making making;
  char message[MERBIT_MESSAGE_SIZE];
  memset(&making, 0, sizeof making);
  making.dual = request->dual;
  if (mbi_plan_create(context, &view, &request->desc, &making, plan) != MERBIT_OK) {
    (void)merbit_last_error(context, message, sizeof message);
    bench_skip(b, request->name, message);
    return -1;
  }
  bench_merbit_check(context, mbi_device_synchronize(context, NULL));
  return mbi_seconds() - start;
}

static int bench_plan_cold(bench_bench *b, const bench_request *request, bench_cost *cost) {
  merbit_plan *plan = NULL;
  merbit_plan_info info;
  bench_directory_empty(b->lab->cold_directory);
  cost->cold = bench_plan_make(b, b->lab->cold, request, &plan);
  if (cost->cold < 0) {
    return 0;
  }
  bench_merbit_check(b->lab->cold, merbit_plan_get_info(plan, &info));
  cost->compile = info.compile_seconds;
  merbit_plan_destroy(plan);
  return 1;
}

/* Makes plans with a warm cache. If the first one compiles, it counts as a cold one. A plan
 * with a reordering, which the CPU computes, is made only once more. */
static int bench_plan_warm(bench_bench *b, const bench_request *request, merbit_plan **plan,
                           bench_cost *cost) {
  merbit_context *context = b->lab->gpu.context;
  const int plans = request->desc.reordering == MERBIT_REORDERING_NONE ? BENCH_WARM_PLANS : 1;
  double samples[BENCH_WARM_PLANS];
  merbit_plan_info info;
  const double first = bench_plan_make(b, context, request, plan);
  int i;
  if (first < 0) {
    return 0;
  }
  bench_merbit_check(context, merbit_plan_get_info(*plan, &info));
  if (cost->cold <= 0 && !info.cubin_from_cache) {
    cost->cold = first;
    cost->compile = info.compile_seconds;
  }
  for (i = 0; i < plans; i++) {
    merbit_plan_destroy(*plan);
    samples[i] = bench_plan_make(b, context, request, plan);
    if (samples[i] < 0) {
      return 0;
    }
  }
  cost->warm = bench_median(samples, plans);
  return 1;
}

/* Makes a plan and measures its cost. Returns NULL, after saying why, if that is impossible. */
static bench_ours *bench_add_plan(bench_bench *b, const bench_request *request,
                                  bench_cost *cost) {
  bench_ours *o = &b->ours[b->our_count];
  memset(cost, 0, sizeof *cost);
  if (b->our_count == BENCH_PLANS) {
    bench_die("%s: more than %d plans; ask for fewer methods", request->name, BENCH_PLANS);
  }
  o->gpu = &b->lab->gpu;
  o->arrays = &b->arrays;
  if ((request->cold && !bench_plan_cold(b, request, cost)) ||
      !bench_plan_warm(b, request, &o->plan, cost)) {
    return NULL;
  }
  b->our_count++;
  if (request->desc.reordering != MERBIT_REORDERING_NONE) {
    const bench_problem *p = b->arrays.problem;
    o->px = bench_gpu_allocate(o->gpu, p->m->cols, p->size);
    bench_merbit_check(o->gpu->context,
                       merbit_plan_reorder(o->plan, mbi_device_pointer(b->arrays.x),
                                           mbi_device_pointer(o->px), o->gpu->stream));
    bench_gpu_wait(o->gpu);
  }
  return o;
}

/* ---- Cases ------------------------------------------------------------------------------- */

static bench_case *bench_add_ours(bench_bench *b, const char *name, bench_kind kind,
                                  void (*enqueue)(bench_case *), bench_ours *o,
                                  const bench_cost *cost) {
  const bench_problem *p = o->arrays->problem;
  bench_case *c = bench_add(b, name, kind, enqueue, o);
  merbit_plan_info info;
  bench_merbit_check(o->gpu->context, merbit_plan_get_info(o->plan, &info));
  c->bytes = (double)info.bytes_per_product +
             (kind == BENCH_GENERAL ? (double)p->size * (double)p->m->rows : 0.0);
  if (kind == BENCH_TILE) { /* reads row_ptr, writes TILE */
    c->bytes = 4.0 * (double)(p->m->rows + 1) + (double)o->plan->schedule_bytes;
  } else {
    c->limit = bench_limit(&b->lab->ceilings, p, c->bytes);
  }
  c->has_plan = 1;
  c->plan_seconds = cost->warm;
  c->cold_seconds = cost->cold;
  c->compile_seconds = cost->compile;
  c->reorder_seconds = info.reorder_seconds;
  c->memory = (double)info.device_bytes;
  c->csr_memory = bench_csr_memory(p);
  (void)merbit_plan_describe(o->plan, c->about, sizeof c->about);
  return c;
}

/* Adds the cases y = A x and y = alpha A x + beta y. */
static void bench_add_products(bench_bench *b, const bench_request *request) {
  bench_cost cost;
  bench_ours *o = bench_chosen(b->lab->options->methods, request->name)
                      ? bench_add_plan(b, request, &cost)
                      : NULL;
  char name[64];
  if (o != NULL) {
    (void)bench_add_ours(b, request->name, BENCH_PLAIN, bench_ours_enqueue, o, &cost);
    (void)snprintf(name, sizeof name, "%s-ab", request->name);
    (void)bench_add_ours(b, name, BENCH_GENERAL, bench_ours_enqueue, o, &cost);
  }
}

static void bench_add_sigma(bench_bench *b, int sigma) {
  bench_request request;
  bench_cost cost;
  bench_ours *o;
  char name[48], tile[48];
  memset(&request, 0, sizeof request);
  request.desc.method = MERBIT_METHOD_MERBIT;
  request.desc.sigma = sigma;
  request.desc.omega = b->lab->options->omega;
  request.desc.block_threads = b->lab->options->block_threads;
  request.desc.unchecked = 1;
  request.name = name;
  (void)snprintf(name, sizeof name, "merbit-s%d", sigma);
  bench_add_products(b, &request);
  request.dual = 1;
  (void)snprintf(name, sizeof name, "merbit-dual-s%d", sigma);
  o = bench_chosen(b->lab->options->methods, name) ? bench_add_plan(b, &request, &cost) : NULL;
  if (o != NULL) {
    const int product = b->case_count;
    (void)bench_add_ours(b, name, BENCH_PLAIN, bench_dual_enqueue, o, &cost);
    (void)snprintf(tile, sizeof tile, "merbit-tile-s%d", sigma);
    bench_add_ours(b, tile, BENCH_TILE, bench_tile_enqueue, o, &cost)->of = product;
  }
}

/* Adds MERGE with other steps, chunks per block and threads, if --methods names them. */
static void bench_add_merge_variants(bench_bench *b) {
  static const struct {
    const char *name, *tuning;
    int threads;
  } list[] = {{"tune-merge-r1", "rounds=1", 0},  {"tune-merge-r2", "rounds=2", 0},
              {"tune-merge-r4", "rounds=4", 0},  {"tune-merge-r8", "rounds=8", 0},
              {"tune-merge-s4", "steps=4", 0},   {"tune-merge-s12", "steps=12", 0},
              {"tune-merge-s16", "steps=16", 0}, {"tune-merge-t64", NULL, 64},
              {"tune-merge-t128", NULL, 128},    {"tune-merge-t512", NULL, 512}};
  size_t i;
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    bench_request request;
    memset(&request, 0, sizeof request);
    request.name = list[i].name;
    request.desc.method = MERBIT_METHOD_MERGE;
    request.desc.tuning = list[i].tuning;
    request.desc.block_threads = list[i].threads;
    request.desc.unchecked = 1;
    if (strstr(b->lab->options->methods, "tune") != NULL) {
      bench_add_products(b, &request);
    }
  }
}

/* Adds products by plans with a reordering, if --methods names it. */
static void bench_add_orders(bench_bench *b) {
  static const struct {
    const char *name;
    merbit_reordering reordering;
  } list[] = {{"rcm", MERBIT_REORDERING_RCM}, {"degree", MERBIT_REORDERING_DEGREE}};
  size_t i;
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    bench_request request;
    memset(&request, 0, sizeof request);
    request.name = list[i].name;
    request.desc.reordering = list[i].reordering;
    request.desc.unchecked = 1;
    if (strcmp(b->lab->options->methods, "all") != 0) {
      bench_add_products(b, &request);
    }
  }
}

/* Adds AUTO's plan with the transpose, if --methods names it. */
static void bench_add_transpose(bench_bench *b) {
  bench_request request;
  bench_cost cost;
  bench_ours *o;
  memset(&request, 0, sizeof request);
  request.name = "transpose";
  request.desc.operation = MERBIT_OPERATION_T;
  o = b->back.problem != NULL ? bench_add_plan(b, &request, &cost) : NULL;
  if (o != NULL) {
    o->arrays = &b->back;
    (void)bench_add_ours(b, request.name, BENCH_TRANSPOSED, bench_ours_enqueue, o, &cost);
  }
}

/* Adds a method on CUDA; with a tuning only if --methods names it. */
static void bench_add_method(bench_bench *b, const char *name, merbit_method method,
                             int expected_calls, const char *tuning, int threads) {
  bench_request request;
  memset(&request, 0, sizeof request);
  request.name = name;
  request.cold = strcmp(name, "auto") == 0;
  request.desc.method = method;
  request.desc.expected_calls = expected_calls;
  request.desc.tuning = tuning;
  if (tuning != NULL && strcmp(b->lab->options->methods, "all") == 0) {
    return;
  }
  if (method != MERBIT_METHOD_AUTO) {
    request.desc.block_threads = threads != 0 ? threads : b->lab->options->block_threads;
    request.desc.unchecked = 1;
    if (tuning == NULL) {
      request.desc.tuning = b->lab->options->tuning;
    }
  }
  bench_add_products(b, &request);
}

/* Adds merbit's plans. "auto" is what a user gets without any settings, including checks of the
 * arrays; "light" is the same for a single product. Then come the methods of the library's
 * table, with their own choice of constants or with --tuning. MERBIT, blocks, several vectors
 * and the study methods have functions of their own. */
static void bench_add_plans(bench_bench *b) {
  static const struct {
    const char *name;
    merbit_method method;
    const char *tuning;
    int threads; /* per block; 0: --block-threads */
  } tuned[] = {{"cb-listed", MERBIT_METHOD_CB, "aggregate=1e-9", 0},
               {"cb-plain", MERBIT_METHOD_CB, "aggregate=1", 0},
               {"cb-coo", MERBIT_METHOD_CB, "coo_max=257 aggregate=1", 0},
               {"cb-coo-balanced", MERBIT_METHOD_CB, "coo_max=257 aggregate=1 balance=1", 256},
               {"cb-t256", MERBIT_METHOD_CB, "aggregate=0.15", 256},
               {"cb-balanced", MERBIT_METHOD_CB, "balance=1", 256},
               {"cb-coo20", MERBIT_METHOD_CB, "coo_max=20", 0},
               {"cb-dense64", MERBIT_METHOD_CB, "csr_max=64", 0},
               {"cb-dense200", MERBIT_METHOD_CB, "csr_max=200", 0},
               {"cb-s64", MERBIT_METHOD_CB, "steps=64", 0},
               {"cb-s256", MERBIT_METHOD_CB, "steps=256", 0}};
  const mbi_method *row;
  size_t i;
  int k;
  bench_add_method(b, "auto", MERBIT_METHOD_AUTO, 0, NULL, 0);
  bench_add_method(b, "light", MERBIT_METHOD_AUTO, 1, NULL, 0);
  for (i = 0; (row = mbi_method_row(i)) != NULL; i++) {
    if (row->cuda != NULL && row->number != MERBIT_METHOD_MERBIT &&
        row->number < MERBIT_METHOD_BSR_ROWS &&
        (row->takes & (MBI_OF_BLOCKS | MBI_TAKES_VECTORS_CUDA)) == 0) {
      bench_add_method(b, row->name, row->number, 0, NULL, 0);
    }
  }
  for (i = 0; i < sizeof tuned / sizeof tuned[0]; i++) {
    bench_add_method(b, tuned[i].name, tuned[i].method, 0, tuned[i].tuning, tuned[i].threads);
  }
  bench_add_merge_variants(b);
  bench_add_orders(b);
  bench_add_transpose(b);
  for (k = 0; k < b->lab->options->sigma_count; k++) {
    bench_add_sigma(b, b->lab->options->sigmas[k]);
  }
}

#endif
