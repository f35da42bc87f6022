/* All measurements of one problem on the GPU, and cuSPARSE's part in them. */
#ifndef BENCH_CASES_H
#define BENCH_CASES_H
#include "ceilings.h"
#include "given.h"
#include "options.h"
#include "report.h"
#include "rivals.h"

#define BENCH_PLANS 160

typedef struct bench_ours {
  bench_gpu *gpu;
  bench_arrays *arrays;
  merbit_plan *plan;
  mbi_devptr px; /* x in the order of a reordered plan; otherwise 0 */
} bench_ours;

typedef struct bench_lab { /* shared by all problems */
  bench_gpu gpu;
  bench_ceilings ceilings;
  bench_cusparse cusparse;
  merbit_context *cold; /* has a cubin cache of its own, emptied before each plan */
  const char *cold_directory;
  const bench_options *options;
  bench_given_list *given; /* times of --rivals */
  bench_json *json;
} bench_lab;

/* Writes which cuSPARSE is measured, or why there is none. */
static void bench_cusparse_describe(const bench_cusparse *s, bench_json *json) {
  if (s->handle != NULL) {
    (void)printf("cuSPARSE %d.%d.%d: %s\n", s->version / 1000, s->version % 1000 / 100,
                 s->version % 100, s->path);
  } else {
    (void)printf("no cuSPARSE: %s; name one in MERBIT_BENCH_CUSPARSE\n", s->reason);
  }
  bench_json_integer(json, "cusparse_version", s->version);
  bench_json_text(json, "cusparse", s->handle != NULL ? s->path : s->reason);
}

typedef struct bench_bench { /* all cases of one problem */
  bench_lab *lab;
  bench_arrays arrays;
  bench_arrays back; /* for products with the transpose: x, y and expected results; problem is
                      * NULL if there are none */
  bench_rival rivals[BENCH_RIVALS];
  bench_ours ours[BENCH_PLANS];
  bench_case cases[BENCH_CASES];
  int our_count, case_count;
} bench_bench;

static bench_case *bench_add(bench_bench *b, const char *name, bench_kind kind,
                             void (*enqueue)(bench_case *), void *object) {
  bench_case *c;
  if (b->case_count == BENCH_CASES) {
    bench_die("%s: more than %d cases; ask for fewer sigmas", name, BENCH_CASES);
  }
  c = &b->cases[b->case_count++];
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
  bench_json_open(b->lab->json, NULL, '{');
  bench_json_text(b->lab->json, "name", name);
  bench_json_text(b->lab->json, "reason", reason);
  bench_json_close(b->lab->json, '}');
}

static void bench_add_rival(bench_bench *b, int algorithm) {
  const bench_problem *p = b->arrays.problem;
  const char *name = bench_cusparse_algorithms[algorithm].name;
  bench_rival *r = &b->rivals[algorithm];
  bench_kind kind;
  char full[sizeof b->cases[0].name];
  bench_rival_create(r, &b->lab->gpu, &b->lab->cusparse, &b->arrays, &b->arrays, algorithm,
                     algorithm > 0 ? r - 1 : NULL);
  if (r->failure[0] != '\0') {
    bench_skip(b, name, r->failure);
    bench_rival_destroy(r);
    return;
  }
  for (kind = BENCH_PLAIN; kind <= BENCH_GENERAL; kind = (bench_kind)(kind + 1)) {
    bench_case *c;
    (void)snprintf(full, sizeof full, "%s%s", name, kind == BENCH_GENERAL ? "-ab" : "");
    c = bench_add(b, full, kind, bench_rival_enqueue, r);
    c->rival = 1;
    c->bytes = bench_rival_bytes(r, kind);
    c->limit = bench_limit(&b->lab->ceilings, p, bench_csr_bytes(p, kind));
    c->has_plan = 1;
    c->plan_seconds = r->prepare_seconds;
    c->convert_seconds = r->convert_seconds;
    c->memory = bench_rival_memory(r);
    c->csr_memory = bench_csr_memory(p);
    if (r->layout.block > 0) {
      (void)snprintf(c->about, sizeof c->about, "blocks of %d x %d; csr2bsr %.3f ms",
                     r->layout.block, r->layout.block, 1e3 * r->convert_seconds);
      if (r->convert_seconds > 0 && kind == BENCH_PLAIN) {
        (void)printf("%s: %s\n", name, c->about);
      }
    }
  }
}

/* Adds cuSPARSE's product with the transpose if ours is measured. */
static void bench_add_rival_back(bench_bench *b, int algorithm) {
  const char *name = bench_cusparse_algorithms[algorithm].name;
  bench_rival *r = &b->rivals[algorithm];
  bench_case *c;
  if (b->back.problem == NULL) {
    return;
  }
  bench_rival_create(r, &b->lab->gpu, &b->lab->cusparse, &b->arrays, &b->back, algorithm, NULL);
  if (r->failure[0] != '\0') {
    bench_skip(b, name, r->failure);
    bench_rival_destroy(r);
    return;
  }
  c = bench_add(b, name, BENCH_TRANSPOSED, bench_rival_enqueue, r);
  c->rival = 1;
  c->bytes = bench_rival_bytes(r, BENCH_PLAIN);
  c->has_plan = 1;
  c->plan_seconds = r->prepare_seconds;
}

/* Adds all of cuSPARSE's products, or those that --methods names. */
static void bench_add_rivals(bench_bench *b) {
  const char *methods = b->lab->options->methods;
  const int all = strstr(methods, "cusparse") == NULL;
  int i;
  for (i = 0; i < BENCH_RIVALS && b->lab->cusparse.handle != NULL; i++) {
    if (bench_cusparse_algorithms[i].operation != CUSPARSE_OPERATION_NON_TRANSPOSE) {
      bench_add_rival_back(b, i);
    } else if (all || bench_chosen(methods, bench_cusparse_algorithms[i].name)) {
      bench_add_rival(b, i);
    }
  }
}

/* Checks the names in --methods. cuSPARSE's are valid even if there is no cuSPARSE. */
static void bench_check_methods(const char *methods) {
  int i;
  for (i = 0; i < BENCH_RIVALS; i++) {
    (void)bench_chosen(methods, bench_cusparse_algorithms[i].name);
  }
  bench_check_names("--methods", methods);
}

#endif
