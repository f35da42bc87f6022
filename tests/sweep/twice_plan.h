/* A plan and its workspace used repeatedly, compared with a new plan of the last values.
 * Include merbit.h and cmocka.h first. */
#ifndef TEST_SWEEP_TWICE_PLAN_H
#define TEST_SWEEP_TWICE_PLAN_H
#include "sweep/provoke.h"
#include "sweep/run.h"

/* Chooses a combination that accepts new values, and whose products have the same bits in every
 * plan of equal values. */
static void plan_combination(combination *c, uint64_t *random) {
  static const int free_factors[] = {
      METHOD,  KIND,      FORMAT,  OFFSETS,  INDICES,       BASE,  SYMMETRY,
      SOURCE,  MEMORY,    VECTORS, SEMIRING, EPILOGUE,      ORDER, OPERATION,
      SCALARS, WORKSPACE, STREAM,  THREADS,  BLOCK_THREADS, SHAPE, NUMA};
  size_t i;
  do {
    memset(c, 0, sizeof *c);
    c->at[DETERMINISTIC] = c->at[CHANGING] = 1;
    c->at[UPDATE] = 1 + (int)test_below(random, 3);
    for (i = 0; i < sizeof free_factors / sizeof free_factors[0]; i++) {
      const int f = free_factors[i];
      if (test_below(random, 3) == 0) {
        c->at[f] = (int)test_below(random, factor_levels(f));
      }
    }
    if (sweep.cuda && test_below(random, 2)) {
      c->at[SOURCE] = 1; /* device arrays, which a plan borrows */
      c->at[STREAM] = 1;
    }
  } while (!combination_taken(c, sweep.cuda));
}

static void plan_open(run *r) {
  const long before = sweep.driver != NULL ? sweep.driver->bytes : 0, host = sweep.memory.bytes;
  sweep_done(r->p.context, merbit_plan_create(r->p.context, &r->p.view, &r->desc, &r->plan),
             "merbit_plan_create");
  run_count(r, before, host, 0);
  if (r->p.c->at[WORKSPACE]) {
    sweep_done(r->p.context, merbit_workspace_create(r->plan, &r->workspace),
               "merbit_workspace_create");
  }
  if (r->p.c->at[ORDER] != 0) {
    r->order = (int64_t *)test_allocate(r->p.e.rows, sizeof *r->order);
    sweep_done(r->p.context, merbit_plan_get_order(r->plan, r->order, r->p.e.rows),
               "merbit_plan_get_order");
  }
}

static void plan_shut(run *r) {
  merbit_workspace_destroy(r->workspace);
  merbit_plan_destroy(r->plan);
  free(r->order);
}

/* Updates values while some call fails; then updates again. */
static void plan_update_provoked(run *r, uint64_t *random) {
  const size_t bytes = (size_t)mbi_view_values(&r->p.host) * typed_size(r->p.kind.values);
  void *values = products_exact((int64_t)bytes, 1);
  merbit_status status;
  problem_values(&r->p, 0, values);
  provoke(random);
  status = merbit_plan_update_values(r->plan, values, MERBIT_MEMORY_HOST);
  provoke_no_more();
  provoke_expect(r->p.context, status, "merbit_plan_update_values");
  free(values);
  (void)run_update(r, 1);
}

/* Makes a plan while some call fails: only the message may remain. */
static void plan_provoked(run *r, uint64_t *random) {
  merbit_plan *plan = NULL;
  merbit_status status;
  provoke(random);
  status = merbit_plan_create(r->p.context, &r->p.view, &r->desc, &plan);
  provoke_no_more();
  provoke_expect(r->p.context, status, "merbit_plan_create");
  if ((plan != NULL) != (status == MERBIT_OK)) {
    sweep_fail("merbit_plan_create: %s with plan %p", merbit_status_name(status), (void *)plan);
  }
  merbit_plan_destroy(plan);
}

/* Gives the view the values that the plan got last. */
static void plan_adopt(run *r) {
  problem *p = &r->p;
  if (r->latest == NULL) {
    return;
  }
  p->host.values = r->latest;
  p->view.values =
      p->view.memory == MERBIT_MEMORY_DEVICE
          ? place_put(1, r->latest,
                      (size_t)mbi_view_values(&p->host) * typed_size(p->kind.values))
          : r->latest;
}

static void plan_compare(run *used, uint64_t seed) {
  merbit_plan_info a, b;
  run fresh = *used;
  size_t bytes;
  run_operation(used);
  bytes = (size_t)(used->op.rows * used->vectors) * typed_size(used->p.kind.sums);
  fresh.plan = NULL;
  fresh.workspace = NULL;
  fresh.order = NULL;
  used->kept = (char *)test_allocate((int64_t)bytes, 1);
  fresh.kept = (char *)test_allocate((int64_t)bytes, 1);
  plan_adopt(&fresh);
  plan_open(&fresh);
  used->p.random = fresh.p.random = seed;
  (void)run_product(used, 1);
  (void)run_product(&fresh, 1);
  if (memcmp(used->kept, fresh.kept, bytes) != 0) {
    sweep_fail("a used plan's product has other bits than a fresh one's");
  }
  sweep_done(used->p.context, merbit_plan_get_info(used->plan, &a), "merbit_plan_get_info");
  sweep_done(used->p.context, merbit_plan_get_info(fresh.plan, &b), "merbit_plan_get_info");
  if (a.method != b.method || a.bytes_per_product != b.bytes_per_product ||
      a.tiles != b.tiles ||
      (used->p.view.memory != MERBIT_MEMORY_DEVICE && a.device_bytes != b.device_bytes)) {
    sweep_fail("a used plan has method %d, %lld bytes a product, %lld tiles, %lld bytes of the "
               "device; a fresh one %d, "
               "%lld, %lld, %lld",
               (int)a.method, (long long)a.bytes_per_product, (long long)a.tiles,
               (long long)a.device_bytes, (int)b.method, (long long)b.bytes_per_product,
               (long long)b.tiles, (long long)b.device_bytes);
  }
  plan_shut(&fresh);
  free(used->kept);
  free(fresh.kept);
  used->kept = NULL;
}

static void twice_plan(uint64_t seed) {
  static const int threads[] = {1, 2, 5, 5};
  combination c;
  uint64_t random = seed;
  run r;
  int steps;
  plan_combination(&c, &random);
  (void)snprintf(sweep.what, sizeof sweep.what, "plan seed %llu: %s", (unsigned long long)seed,
                 combination_text(&c));
  memset(&r, 0, sizeof r);
  r.p.c = &c;
  r.p.random = seed;
  r.p.context = places.context = sweep_context(threads[c.at[THREADS]], c.at[THREADS] == 3);
  r.cuda = combination_on_cuda(&c, sweep.cuda);
  r.device = r.cuda && c.at[MEMORY] != 1;
  places.count = 0;
  if (problem_make(&r.p, 1)) {
    run_desc(&r);
    plan_open(&r);
    for (steps = 1 + (int)test_below(&random, 4); steps > 0; steps--) {
      switch (test_below(&random, 4)) {
      case 0:
        plan_update_provoked(&r, &random);
        break;
      case 1:
        plan_provoked(&r, &random);
        break;
      case 2:
        (void)run_update(&r, 1);
        break;
      default:
        r.late = (int)test_below(&random, 2);
        (void)run_product(&r, 1);
      }
    }
    plan_compare(&r, test_random(&random));
    plan_shut(&r);
  }
  free(r.latest);
  problem_free(&r.p);
  place_release(0);
  sweep_close(r.p.context);
}

#endif /* TEST_SWEEP_TWICE_PLAN_H */
