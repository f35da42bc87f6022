/* Products over semirings, on the same arrays as those over plus-times, if --methods names
 * them. Their results must be exact to the bit. */
#ifndef BENCH_SEMIRINGS_H
#define BENCH_SEMIRINGS_H
#include "plans.h"

static void bench_semiring_enqueue(bench_case *self) {
  bench_ours *o = (bench_ours *)self->object;
  bench_merbit_check(o->gpu->context,
                     merbit_spmv(o->plan, NULL, NULL, mbi_device_pointer(o->arrays->x), NULL,
                                 mbi_device_pointer(o->arrays->y), o->gpu->stream));
}

/* Counts the rows of y that are wrong. The result of min-plus is the least a + x, of max-times
 * the greatest a * x or 0, of or-and whether any a and x are both nonzero. */
static int64_t bench_semiring_wrong(const bench_problem *p, merbit_semiring semiring,
                                    const void *y) {
  const bench_matrix *m = p->m;
  int64_t wrong = 0, row;
  BENCH_OMP(parallel for schedule(dynamic, 512) reduction(+ : wrong))
  for (row = 0; row < m->rows; row++) {
    double best = semiring == MERBIT_SEMIRING_MIN_PLUS ? (double)INFINITY : 0;
    int64_t k;
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      const double a = bench_element(p->values, k, p->single);
      const double x = bench_element(p->x, m->col_ind[k], p->single);
      const double product = semiring == MERBIT_SEMIRING_MIN_PLUS    ? a + x
                             : semiring == MERBIT_SEMIRING_MAX_TIMES ? a * x
                                                                     : a != 0 && x != 0;
      const double rounded = p->single ? (double)(float)product : product;
      best = semiring == MERBIT_SEMIRING_MIN_PLUS ? fmin(best, rounded) : fmax(best, rounded);
    }
    wrong += bench_element(y, row, p->single) != best;
  }
  return wrong;
}

/* Sets c->verdict for y. Custom operators are plus and times, so the usual bound applies. */
static void bench_semiring_verify(const bench_problem *p, bench_case *c, const void *y) {
  const merbit_semiring semiring = ((bench_ours *)c->object)->plan->desc.semiring;
  if (semiring == MERBIT_SEMIRING_CUSTOM) {
    c->verdict = bench_compare(p, 1, 0, y);
  } else {
    c->verdict.wrong = bench_semiring_wrong(p, semiring, y);
    c->verdict.relative = 0;
  }
  c->good = bench_verdict_good(p, c->verdict);
}

static void bench_add_semirings(bench_bench *b) {
  static const merbit_operators custom = {"a + b", "a * x", 0, NULL, NULL, NULL, NULL, NULL};
  static const struct {
    const char *name;
    merbit_semiring semiring;
    merbit_method method;
  } list[] = {{"minplus-auto", MERBIT_SEMIRING_MIN_PLUS, MERBIT_METHOD_AUTO},
              {"minplus-scan", MERBIT_SEMIRING_MIN_PLUS, MERBIT_METHOD_SCAN},
              {"minplus-merge", MERBIT_SEMIRING_MIN_PLUS, MERBIT_METHOD_MERGE},
              {"minplus-rows", MERBIT_SEMIRING_MIN_PLUS, MERBIT_METHOD_ROWS},
              {"maxtimes-scan", MERBIT_SEMIRING_MAX_TIMES, MERBIT_METHOD_SCAN},
              {"orand-scan", MERBIT_SEMIRING_OR_AND, MERBIT_METHOD_SCAN},
              {"orand-merge", MERBIT_SEMIRING_OR_AND, MERBIT_METHOD_MERGE},
              {"custom-scan", MERBIT_SEMIRING_CUSTOM, MERBIT_METHOD_SCAN},
              {"custom-merge", MERBIT_SEMIRING_CUSTOM, MERBIT_METHOD_MERGE}};
  size_t i;
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    bench_request request;
    bench_cost cost;
    bench_ours *o;
    if (strcmp(b->lab->options->methods, "all") == 0 ||
        !bench_chosen(b->lab->options->methods, list[i].name)) {
      continue;
    }
    memset(&request, 0, sizeof request);
    request.name = list[i].name;
    request.desc.method = list[i].method;
    request.desc.semiring = list[i].semiring;
    request.desc.operators = list[i].semiring == MERBIT_SEMIRING_CUSTOM ? &custom : NULL;
    o = bench_add_plan(b, &request, &cost);
    if (o != NULL) {
      (void)bench_add_ours(b, request.name, BENCH_PLAIN, bench_semiring_enqueue, o, &cost);
    }
  }
}

#endif
