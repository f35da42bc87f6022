/* PageRank on the CPU: known results, random graphs, stops, threads. Refusals are in
 * test_refusals.c. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "solve/pagerank/pagerank_cases.h"

static void assert_close(double value, double expected) {
  assert_true(fabs(value - expected) <= 1e-12);
}

/* ---- Known results ----------------------------------------------------------------------- */

static void test_two_vertices(void **state) {
  static const int64_t from[] = {0}, to[] = {1};
  const edges e = edges_of(2, 1, from, to, NULL);
  merbit_context *context = cpu_open(NULL, 1);
  double *ranks = check_graph(context, &e, 0.85, 1e-14);
  (void)state;
  assert_close(ranks[0], 1 / 2.85); /* x1 = x0 + 0.85 x0 */
  assert_close(ranks[1], 1.85 / 2.85);
  free(ranks);
  merbit_context_destroy(context);
}

static void test_star(void **state) {
  int64_t from[9], to[9], i;
  const edges e = edges_of(10, 9, from, to, NULL);
  merbit_context *context = cpu_open(NULL, 2);
  double *ranks;
  (void)state;
  for (i = 0; i < 9; i++) {
    from[i] = i + 1;
    to[i] = 0;
  }
  ranks = check_graph(context, &e, 0.85, 1e-14);
  assert_close(ranks[0], (1 + 0.85 * 9) / (1 + 1.85 * 9));
  for (i = 1; i < 10; i++) {
    assert_close(ranks[i], 1 / (1 + 1.85 * 9));
  }
  free(ranks);
  merbit_context_destroy(context);
}

static void test_cycle_is_uniform_at_once(void **state) {
  int64_t from[7], to[7], i;
  edges e = edges_of(7, 7, from, to, NULL);
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view;
  merbit_pagerank_result result;
  double ranks[7];
  (void)state;
  for (i = 0; i < 7; i++) {
    from[i] = i;
    to[i] = (i + 1) % 7;
  }
  view = coo(&e);
  assert_int_equal(merbit_pagerank(context, &view, NULL, ranks, &result), MERBIT_OK);
  assert_int_equal(result.iterations, 1);
  assert_int_equal(result.dangling, 0);
  assert_true(result.plan.side == MERBIT_SIDE_CPU);
  assert_true(result.prepare_seconds >= 0 && result.iterate_seconds >= 0);
  for (i = 0; i < 7; i++) {
    assert_close(ranks[i], 1.0 / 7);
  }
  merbit_context_destroy(context);
}

static void test_all_dangling(void **state) {
  const edges e = edges_of(5, 0, NULL, NULL, NULL);
  merbit_context *context = cpu_open(NULL, 1);
  double *ranks = check_graph(context, &e, 0.85, 1e-14);
  (void)state;
  assert_close(ranks[0], 0.2);
  assert_close(ranks[4], 0.2);
  free(ranks);
  merbit_context_destroy(context);
}

static void test_no_vertices(void **state) {
  const edges e = edges_of(0, 0, NULL, NULL, NULL);
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = coo(&e);
  merbit_pagerank_result result;
  (void)state;
  memset(&result, 1, sizeof result);
  assert_int_equal(merbit_pagerank(context, &view, NULL, NULL, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_int_equal(result.iterations, 0);
  merbit_context_destroy(context);
}

static void test_self_loops_duplicates_weights(void **state) {
  /* 0 -> 0 once, 0 -> 1 twice, 1 -> 0, 2 -> 2 with weight, 3 only with weight 0. */
  static const int64_t from[] = {0, 1, 0, 0, 2, 2, 3}, to[] = {1, 0, 0, 1, 2, 0, 1};
  static const double weight[] = {0.25, 3.0, 1.0, 1.75, 0.1, 0.7, -0.0};
  const edges pattern = edges_of(4, 7, from, to, NULL),
              weighted = edges_of(4, 7, from, to, weight);
  merbit_context *context = cpu_open(NULL, 2);
  double *ranks = check_graph(context, &pattern, 0.85, 1e-13);
  (void)state;
  free(ranks);
  free(check_graph(context, &weighted, 0.85, 1e-13));
  free(check_graph(context, &weighted, 0.5, 1e-13));
  free(check_graph(context, &weighted, 0.99, 1e-9));
  merbit_context_destroy(context);
}

/* CSR from 1 with 32-bit indices, and `unweighted` with values that are invalid as weights. */
static void test_unweighted_csr_from_one(void **state) {
  static const int32_t row_ptr[] = {1, 3, 4, 4}, col_ind[] = {2, 3, 1};
  static const double values[] = {-5.0, 7.0, NAN};
  static const int64_t from[] = {0, 0, 1}, to[] = {1, 2, 0};
  const edges e = edges_of(3, 3, from, to, NULL);
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(3, 3, 3, row_ptr, col_ind, values);
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  double ranks[3];
  (void)state;
  view.base = 1;
  memset(&desc, 0, sizeof desc);
  desc.unweighted = 1;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
  check_ranks(&e, 0.85, 1e-10, MERBIT_F64, ranks, &result);
  merbit_context_destroy(context);
}

static void test_random_graphs(void **state) {
  merbit_context *context = cpu_open(NULL, 3);
  (void)state;
  check_random_graphs(context, 1);
  merbit_context_destroy(context);
}

/* ---- Stops ------------------------------------------------------------------------------- */

typedef struct watch {
  int calls, last_iteration, cancel_at;
  double last_change, *poison;
} watch;

static int watch_progress(void *user, int iteration, double change, double seconds) {
  watch *w = (watch *)user;
  assert_int_equal(iteration, w->last_iteration + 1);
  assert_true(seconds >= 0);
  w->calls++;
  w->last_iteration = iteration;
  w->last_change = change;
  if (w->poison != NULL && iteration == 3) {
    *w->poison = NAN;
  }
  return iteration == w->cancel_at;
}

static void test_stops(void **state) {
  static const int64_t from[] = {0, 1, 2, 0, 3}, to[] = {1, 2, 0, 2, 1};
  const edges e = edges_of(4, 5, from, to, NULL);
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = coo(&e);
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  watch w;
  double ranks[4];
  (void)state;
  memset(&desc, 0, sizeof desc);
  memset(&w, 0, sizeof w);
  desc.progress = watch_progress;
  desc.progress_user = &w;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_int_equal(w.calls, result.iterations);
  assert_true(w.last_change == result.change && result.change < 1e-10);

  memset(&w, 0, sizeof w);
  w.cancel_at = 5;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CANCELLED);
  assert_int_equal(result.iterations, 5);
  check_ranks(&e, 0.85, 1e-10, MERBIT_F64, ranks, &result);

  memset(&w, 0, sizeof w);
  desc.max_iterations = 6;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CAP);
  assert_int_equal(result.iterations, 6);
  check_ranks(&e, 0.85, 1e-10, MERBIT_F64, ranks, &result);

  memset(&w, 0, sizeof w);
  w.poison = ranks; /* on the CPU the caller's array is the vector of the iteration */
  desc.max_iterations = 0;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_NOT_FINITE);
  assert_int_equal(result.iterations, 4);
  merbit_context_destroy(context);
}

/* ---- Cases of both sides ----------------------------------------------------------------- */

static void test_cases(void **state) {
  static const merbit_method methods[] = {MERBIT_METHOD_AUTO, MERBIT_METHOD_REFERENCE,
                                          MERBIT_METHOD_MERGE, MERBIT_METHOD_SORTED,
                                          MERBIT_METHOD_BSR};
  merbit_context *context = cpu_open(NULL, 2);
  (void)state;
  cases_personalised(context);
  cases_warm(context);
  cases_history(context);
  cases_accelerated(context);
  cases_not_negative(context);
  cases_far(context);
  cases_far_triangle(context);
  cases_stagnates(context, 3);
  cases_methods(context, methods, 5);
  merbit_context_destroy(context);
}

/* ---- Threads ----------------------------------------------------------------------------- */

/* No vertex has more than two incoming edges, so that a product has the same bits however rows
 * are divided among threads; then the ranks must have the same bits, too. */
static void test_threads_do_not_change_bits(void **state) {
  const int64_t n = 30011;
  int64_t *from = (int64_t *)test_allocate(2 * n, sizeof *from);
  int64_t *to = (int64_t *)test_allocate(2 * n, sizeof *to);
  double *weight = (double *)test_allocate(2 * n, sizeof *weight);
  double *one = (double *)test_allocate(n, sizeof *one);
  double *four = (double *)test_allocate(n, sizeof *four);
  const edges e = edges_of(n, 2 * n, from, to, weight);
  merbit_context *contexts[2];
  merbit_pagerank_result results[2];
  merbit_view view;
  uint64_t random = 5;
  int64_t i;
  (void)state;
  for (i = 0; i < n; i++) {
    from[2 * i] = i / 3; /* most vertices dangle */
    to[2 * i] = i;
    from[2 * i + 1] = i * 7919 % n;
    to[2 * i + 1] = i;
    weight[2 * i] = fabs(test_uniform(&random));
    weight[2 * i + 1] = i % 5 == 0 ? 0 : fabs(test_uniform(&random));
  }
  contexts[0] = cpu_open(NULL, 1);
  contexts[1] = cpu_open(NULL, 4);
  view = coo(&e);
  assert_int_equal(merbit_pagerank(contexts[0], &view, NULL, one, &results[0]), MERBIT_OK);
  assert_int_equal(merbit_pagerank(contexts[1], &view, NULL, four, &results[1]), MERBIT_OK);
  assert_true(results[0].change == results[1].change);
  assert_int_equal(results[0].iterations, results[1].iterations);
  assert_memory_equal(one, four, (size_t)n * sizeof *one);
  check_ranks(&e, 0.85, 1e-10, MERBIT_F64, four, &results[1]);
  merbit_context_destroy(contexts[0]);
  merbit_context_destroy(contexts[1]);
  free(from);
  free(to);
  free(weight);
  free(one);
  free(four);
}

/* Zachary's karate club from a file: the two leaders of the club come first. */
static void test_karate(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  merbit_matrix *matrix;
  merbit_view view;
  merbit_pagerank_result result;
  int64_t from[200], to[200], row, k;
  edges e;
  double ranks[34];
  (void)state;
  assert_int_equal(
      merbit_matrix_read_file(context, TEST_DATA_DIR "/mtx/karate.mtx", NULL, &matrix),
      MERBIT_OK);
  view = merbit_matrix_view(matrix);
  assert_int_equal(view.rows, 34);
  assert_int_equal(view.nnz, 156);
  for (row = 0; row < 34; row++) {
    for (k = ((const int32_t *)view.row_ptr)[row]; k < ((const int32_t *)view.row_ptr)[row + 1];
         k++) {
      from[k] = row;
      to[k] = ((const int32_t *)view.col_ind)[k];
    }
  }
  e = edges_of(34, 156, from, to, NULL);
  assert_int_equal(merbit_pagerank(context, &view, NULL, ranks, &result), MERBIT_OK);
  check_ranks(&e, 0.85, 1e-10, MERBIT_F64, ranks, &result);
  for (row = 0; row < 33; row++) {
    assert_true(ranks[row] < ranks[33]);
    assert_true(row == 0 || ranks[row] < ranks[0]);
  }
  merbit_matrix_destroy(matrix);
  merbit_context_destroy(context);
}

/* log(1e-10 / 2) / log(0.85) is 145.9; on the GPU a sixth of it, and at most the cap. */
static void test_products_to_count_on(void **state) {
  static const struct {
    double tolerance;
    int cap, cpu, cuda;
  } cases[] = {{1e-10, 1000, 146, 25},    {1e-10, 15, 15, 15}, {1e-10, 100, 100, 25},
               {1e-300, 9000, 1000, 710}, {2, 1000, 1, 1},     {3, 1000, 1, 1}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_pagerank_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.damping = 0.85;
    desc.tolerance = cases[i].tolerance;
    desc.max_iterations = cases[i].cap;
    assert_int_equal(mbi_pagerank_calls(&desc, MERBIT_SIDE_CPU), cases[i].cpu);
    assert_int_equal(mbi_pagerank_calls(&desc, MERBIT_SIDE_CUDA), cases[i].cuda);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_two_vertices),
      cmocka_unit_test(test_star),
      cmocka_unit_test(test_cycle_is_uniform_at_once),
      cmocka_unit_test(test_all_dangling),
      cmocka_unit_test(test_no_vertices),
      cmocka_unit_test(test_self_loops_duplicates_weights),
      cmocka_unit_test(test_unweighted_csr_from_one),
      cmocka_unit_test(test_random_graphs),
      cmocka_unit_test(test_stops),
      cmocka_unit_test(test_products_to_count_on),
      cmocka_unit_test(test_cases),
      cmocka_unit_test(test_threads_do_not_change_bits),
      cmocka_unit_test(test_karate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
