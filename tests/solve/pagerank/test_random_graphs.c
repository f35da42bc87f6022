/* PageRank on random graphs of many families, with many dampings: acceleration never costs more
 * than a tenth of the power method's iterations plus two. `--full` tries 9,600 graphs. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/data.h"
#include "support/effort.h"
#include "solve/pagerank/pagerank_reference.h"
#include "solve/pagerank/pagerank_graphs.h"

static const double dampings[] = {0.5, 0.7, 0.85, 0.9, 0.95, 0.98, 0.99, 0.999};
enum { DAMPINGS = sizeof dampings / sizeof dampings[0] };

typedef struct tally { /* over all runs */
  int runs;
  double gain; /* the sum of log(accelerated / plain iterations) */
} tally;

static int iterations(merbit_context *context, const edges *e, const merbit_pagerank_desc *desc,
                      double *ranks) {
  const merbit_view view = coo(e);
  merbit_pagerank_result result;
  assert_int_equal(merbit_pagerank(context, &view, desc, ranks, &result), MERBIT_OK);
  assert_true(result.stop == MERBIT_STOP_CONVERGED || result.stop == MERBIT_STOP_CAP);
  return result.iterations;
}

/* Runs one graph with and without acceleration; the ranks must agree. */
static void compare(merbit_context *context, const edges *e, double damping, double tolerance,
                    int personal, const char *name, tally *t) {
  double *ranks = (double *)test_allocate(e->n, sizeof *ranks);
  double *plain_ranks = (double *)test_allocate(e->n, sizeof *plain_ranks);
  double *teleport = (double *)test_allocate(e->n, sizeof *teleport);
  merbit_pagerank_desc desc;
  int fast, plain;
  memset(&desc, 0, sizeof desc);
  desc.damping = damping;
  desc.tolerance = tolerance;
  desc.max_iterations = 3000;
  if (personal) {
    teleport[0] += 0.5;
    teleport[e->n / 2] += 0.5;
    desc.personalisation = teleport;
  }
  fast = iterations(context, e, &desc, ranks);
  desc.unaccelerated = 1;
  plain = iterations(context, e, &desc, plain_ranks);
  if (10 * fast > 11 * plain + 20) {
    fail_msg("%s, %" PRId64 " vertices, damping %g, tolerance %g%s: %d iterations for %d", name,
             e->n, damping, tolerance, personal ? ", personalised" : "", fast, plain);
  }
  if (fast < 3000 && plain < 3000) {
    double distance = 0;
    int64_t i;
    for (i = 0; i < e->n; i++) {
      assert_true(ranks[i] >= 0);
      distance += fabs(ranks[i] - plain_ranks[i]);
    }
    assert_true(distance <= 2.1 * tolerance * damping / (1 - damping) + 1e-11);
  }
  t->runs++;
  t->gain += log((double)fast / plain);
  free(ranks);
  free(plain_ranks);
  free(teleport);
}

static void test_families(void **state) {
  static const double tolerances[] = {1e-4, 1e-6, 1e-8, 1e-10, 1e-10, 1e-13};
  const int each = test_effort(40, 400);
  merbit_context *context = cpu_open(NULL, 1);
  tally all = {0, 0};
  int family, seed;
  (void)state;
  for (family = 0; family < GRAPH_FAMILIES; family++) {
    tally t = {0, 0};
    for (seed = 0; seed < each; seed++) {
      edges e = graph_of_family(family, (uint64_t)seed);
      char name[64];
      (void)snprintf(name, sizeof name, "family %d, seed %d", family, seed);
      compare(context, &e, dampings[(seed * 5 + family) % DAMPINGS],
              tolerances[(seed + 2 * family) % 6], seed % 3 == 2, name, &t);
      edges_free(&e);
    }
    /* Links in both directions: scattered, grids, groups. */
    assert_true((family != 4 && family != 15 && family != 20) || t.gain < -0.4 * t.runs);
    all.runs += t.runs;
    all.gain += t.gain;
  }
  assert_true(all.runs == GRAPH_FAMILIES * each && all.gain < -0.1 * all.runs);
  merbit_context_destroy(context);
}

/* The real matrices of the tests, as unweighted graphs. */
static void real_graph(merbit_context *context, const test_matrix *m) {
  tally t = {0, 0};
  if (m->rows == m->cols && m->rows > 1) {
    edges e = edges_random(m);
    int d;
    free((void *)(uintptr_t)e.weight);
    e.weight = NULL;
    for (d = 0; d < DAMPINGS; d++) {
      compare(context, &e, dampings[d], 1e-10, d % 2, m->name, &t);
    }
    edges_free(&e);
  }
}

static void test_real_graphs(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  (void)state;
  assert_true(data_for_each(context, TEST_DATA_DIR "/mtx", real_graph) > 10);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_families),
      cmocka_unit_test(test_real_graphs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
