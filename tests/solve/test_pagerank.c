#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "solve/pagerank_reference.h"

/* ---- Helpers ----------------------------------------------------------------------------- */

static merbit_context *cpu(int threads) {
  merbit_context_desc desc;
  merbit_context *context;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = threads;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  return context;
}

static void assert_close(double value, double expected) {
  assert_true(fabs(value - expected) <= 1e-12);
}

/* ---- Known answers ----------------------------------------------------------------------- */

static void test_two_vertices(void **state) {
  static const int64_t from[] = {0}, to[] = {1};
  const edges e = edges_of(2, 1, from, to, NULL);
  merbit_context *context = cpu(1);
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
  merbit_context *context = cpu(2);
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
  merbit_context *context = cpu(1);
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
  merbit_context *context = cpu(1);
  double *ranks = check_graph(context, &e, 0.85, 1e-14);
  (void)state;
  assert_close(ranks[0], 0.2);
  assert_close(ranks[4], 0.2);
  free(ranks);
  merbit_context_destroy(context);
}

static void test_no_vertices(void **state) {
  const edges e = edges_of(0, 0, NULL, NULL, NULL);
  merbit_context *context = cpu(1);
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
  merbit_context *context = cpu(2);
  double *ranks = check_graph(context, &pattern, 0.85, 1e-13);
  (void)state;
  free(ranks);
  free(check_graph(context, &weighted, 0.85, 1e-13));
  free(check_graph(context, &weighted, 0.5, 1e-13));
  free(check_graph(context, &weighted, 0.99, 1e-9));
  merbit_context_destroy(context);
}

/* CSR from 1 with 32-bit indices, and what `unweighted` does to values that could not be
 * weights. */
static void test_unweighted_csr_from_one(void **state) {
  static const int32_t row_ptr[] = {1, 3, 4, 4}, col_ind[] = {2, 3, 1};
  static const double values[] = {-5.0, 7.0, NAN};
  static const int64_t from[] = {0, 0, 1}, to[] = {1, 2, 0};
  const edges e = edges_of(3, 3, from, to, NULL);
  merbit_context *context = cpu(1);
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
  merbit_context *context = cpu(3);
  (void)state;
  check_random_graphs(context);
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
  merbit_context *context = cpu(1);
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
  w.poison = ranks; /* on the CPU the caller's array is the vector iterated on */
  desc.max_iterations = 0;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_NOT_FINITE);
  assert_int_equal(result.iterations, 4);
  merbit_context_destroy(context);
}

/* ---- Refusals ---------------------------------------------------------------------------- */

static void refused(merbit_context *context, const merbit_view *view,
                    const merbit_pagerank_desc *desc, double *ranks, merbit_status status,
                    const char *part) {
  char message[MERBIT_MESSAGE_SIZE];
  merbit_pagerank_result result;
  memset(&result, 1, sizeof result);
  assert_int_equal(merbit_pagerank(context, view, desc, ranks, &result), status);
  assert_int_equal(merbit_last_error(context, message, sizeof message), status);
  if (strstr(message, part) == NULL) {
    fail_msg("\"%s\" lacks \"%s\"", message, part);
  }
  assert_int_equal(result.iterations, 0);
}

static void test_refused_arguments(void **state) {
  static const int64_t from[] = {0, 1}, to[] = {1, 0};
  const edges e = edges_of(2, 2, from, to, NULL);
  merbit_context *context = cpu(1);
  merbit_view good = coo(&e), view;
  merbit_pagerank_desc desc, zero;
  double ranks[2];
  (void)state;
  memset(&zero, 0, sizeof zero);
  assert_int_equal(merbit_pagerank(NULL, &good, NULL, ranks, NULL), MERBIT_INVALID_ARGUMENT);
  refused(context, NULL, NULL, ranks, MERBIT_INVALID_ARGUMENT, "NULL");
  refused(context, &good, NULL, NULL, MERBIT_INVALID_ARGUMENT, "`ranks` is NULL");
  view = good;
  view.format = MERBIT_BSR;
  refused(context, &view, NULL, ranks, MERBIT_NOT_SUPPORTED, "BSR");
  view = good;
  view.cols = 3;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "2 x 3");
  view = good;
  view.memory = MERBIT_MEMORY_DEVICE;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_ARGUMENT, "device memory");
  desc = zero;
  desc.damping = 1;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "damping is 1;");
  desc.damping = -0.5;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "damping is -0.5");
  desc.damping = NAN;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "damping");
  desc = zero;
  desc.tolerance = -1e-3;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "tolerance is -0.001");
  desc.tolerance = INFINITY;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "tolerance is inf");
  desc.tolerance = NAN;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "tolerance");
  desc = zero;
  desc.max_iterations = -1;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "max_iterations is -1");
  desc = zero;
  desc.side = (merbit_side)3;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "side is 3");
  desc.side = MERBIT_SIDE_CUDA;
  refused(context, &good, &desc, ranks, MERBIT_NO_DEVICE, "CUDA");
  merbit_context_destroy(context);
}

static void test_refused_graphs(void **state) {
  int64_t from[] = {0, 2, 1, 0}, to[] = {1, 1, 0, 2};
  double weight[] = {1, 1, 1, 1};
  static const int32_t row_ptr[] = {0, 2, 3, 4}, col_ind[] = {1, 2, 0, 1};
  const edges e = edges_of(3, 4, from, to, weight);
  merbit_context *context = cpu(1);
  merbit_view view = coo(&e), csr = merbit_csr(3, 3, 4, row_ptr, col_ind, weight);
  float single[] = {1, 1, 1, -1};
  double ranks[3];
  (void)state;
  weight[1] = -2.5;
  weight[3] = NAN; /* not the first */
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "values[1] is -2.5");
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "edge (2, 1)");
  refused(context, &csr, NULL, ranks, MERBIT_INVALID_MATRIX, "edge (0, 2)");
  weight[1] = 1;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "nan");
  weight[3] = INFINITY;
  refused(context, &csr, NULL, ranks, MERBIT_INVALID_MATRIX, "values[3] is inf");
  weight[0] = weight[3] = 1e308; /* each is fine, their sum is not */
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "vertex 0");
  csr.value_type = MERBIT_F32;
  csr.values = single;
  refused(context, &csr, NULL, ranks, MERBIT_INVALID_MATRIX, "edge (2, 1)");
  to[3] = 3;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "col_ind[3]");
  merbit_context_destroy(context);
}

/* ---- A GPU that fails when the plan is made ---------------------------------------------- */

static mbi_curesult fake_push_answer;

static mbi_curesult fake_push(void *context) {
  (void)context;
  return fake_push_answer;
}

static mbi_curesult fake_pop(void **context) {
  *context = NULL;
  return 0;
}

static mbi_curesult fake_alloc(mbi_devptr *address, size_t bytes) {
  (void)bytes;
  *address = 0;
  return 2; /* CUDA_ERROR_OUT_OF_MEMORY */
}

static mbi_curesult fake_text(mbi_curesult result, const char **text) {
  (void)result;
  *text = "a fake";
  return 0;
}

static void count_lines(void *user, const char *line) {
  *(int *)user += strstr(line, "this PageRank computes on the CPU") != NULL;
}

static void test_auto_falls_back(void **state) {
  static const int64_t from[] = {0, 1, 2}, to[] = {1, 2, 0};
  const edges e = edges_of(4, 3, from, to, NULL);
  merbit_view view = coo(&e);
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  merbit_context_desc context_desc;
  merbit_context *context;
  double ranks[4];
  int told = 0;
  (void)state;
  memset(&desc, 0, sizeof desc);
  memset(&context_desc, 0, sizeof context_desc);
  context_desc.side = MERBIT_SIDE_CPU;
  context_desc.log = count_lines;
  context_desc.log_user = &told;
  assert_int_equal(merbit_context_create(&context_desc, &context, NULL), MERBIT_OK);
  context->side = MERBIT_SIDE_CUDA;
  context->device.driver.ctx_push = fake_push;
  context->device.driver.ctx_pop = fake_pop;
  context->device.driver.mem_alloc = fake_alloc;
  context->device.driver.get_error_name = fake_text;
  context->device.driver.get_error_string = fake_text;
  assert_int_equal(merbit_pagerank(context, &view, NULL, ranks, &result), MERBIT_OK);
  check_ranks(&e, 0.85, 1e-10, MERBIT_F64, ranks, &result);
  assert_int_equal(result.plan.side, MERBIT_SIDE_CPU);
  assert_non_null(strstr(result.description, "not on CUDA: "));
  assert_non_null(strstr(result.description, "cuMemAlloc"));
  assert_int_equal(told, 1);
  desc.side = MERBIT_SIDE_CUDA;
  refused(context, &view, &desc, ranks, MERBIT_DEVICE_OUT_OF_MEMORY, "cuMemAlloc");
  view.col_ind = NULL;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_ARGUMENT, "col_ind is NULL");
  view.col_ind = to;
  fake_push_answer = 700; /* CUDA_ERROR_ILLEGAL_ADDRESS: the context is dead */
  refused(context, &view, NULL, ranks, MERBIT_DEVICE_LOST, "CUDA error 700");
  refused(context, &view, NULL, ranks, MERBIT_DEVICE_LOST, "lost earlier");
  assert_int_equal(told, 1);
  memset(&context->device, 0, sizeof context->device);
  context->side = MERBIT_SIDE_CPU;
  merbit_context_destroy(context);
}

/* ---- Memory ------------------------------------------------------------------------------ */

typedef struct meter {
  int64_t alive, calls, fail_at; /* 0: never */
} meter;

static void *meter_allocate(void *user, size_t bytes) {
  meter *m = (meter *)user;
  if (++m->calls == m->fail_at) {
    return NULL;
  }
  m->alive++;
  return malloc(bytes);
}

static void meter_release(void *user, void *memory) {
  ((meter *)user)->alive--;
  free(memory);
}

static void sweep_allocations(const double *weight) {
  static const int64_t from[] = {0, 1, 0, 2, 2}, to[] = {1, 0, 2, 2, 1};
  const edges e = edges_of(3, 5, from, to, weight);
  merbit_view view = coo(&e);
  merbit_context_desc desc;
  merbit_context *context;
  meter m;
  int64_t before, failures = 0, n;
  double ranks[3];
  memset(&m, 0, sizeof m);
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = 1;
  desc.allocator.allocate = meter_allocate;
  desc.allocator.release = meter_release;
  desc.allocator.user = &m;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  before = m.alive;
  for (n = 1;; n++) {
    merbit_status status;
    m.calls = 0;
    m.fail_at = n;
    status = merbit_pagerank(context, &view, NULL, ranks, NULL);
    assert_int_equal(m.alive, before);
    if (m.calls < n) {
      assert_int_equal(status, MERBIT_OK);
      break;
    }
    assert_int_equal(status, MERBIT_OUT_OF_MEMORY);
    failures++;
  }
  assert_true(failures >= 8);
  m.fail_at = 0;
  merbit_context_destroy(context);
  assert_int_equal(m.alive, 0);
}

static void test_failing_allocator(void **state) {
  static const double weight[] = {1, 2, 3, 4, 5};
  (void)state;
  sweep_allocations(NULL);
  sweep_allocations(weight);
}

/* ---- Threads ----------------------------------------------------------------------------- */

/* No vertex has more than two edges coming in, so that a product has the same bits however rows
 * are dealt to threads; then so must the ranks. */
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
  contexts[0] = cpu(1);
  contexts[1] = cpu(4);
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

/* Zachary's karate club from a file: the two heads of the club come first. */
static void test_karate(void **state) {
  merbit_context *context = cpu(2);
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
      cmocka_unit_test(test_refused_arguments),
      cmocka_unit_test(test_refused_graphs),
      cmocka_unit_test(test_auto_falls_back),
      cmocka_unit_test(test_failing_allocator),
      cmocka_unit_test(test_threads_do_not_change_bits),
      cmocka_unit_test(test_karate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
