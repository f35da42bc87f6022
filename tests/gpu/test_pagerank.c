/* PageRank on the GPU, where batches of iterations run ahead of the host. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "solve/pagerank/pagerank_cases.h"
#include "support/gpu.h"
#include "support/cpu.h"
#include "support/products.h"

static merbit_context *context;

static void test_random_graphs(void **state) {
  (void)state;
  check_random_graphs(context, gpu_stride());
}

typedef struct watch {
  int calls, last_iteration, cancel_at_call;
} watch;

static int watch_progress(void *user, int iteration, double change, double seconds) {
  watch *w = (watch *)user;
  assert_true(iteration > w->last_iteration && change >= 0 && seconds >= 0);
  w->last_iteration = iteration;
  w->calls++;
  return w->calls == w->cancel_at_call;
}

static void test_stops(void **state) {
  static const int64_t from[] = {0, 1, 2, 0, 3}, to[] = {1, 2, 0, 2, 1};
  const edges e = edges_of(5, 5, from, to, NULL);
  static const int64_t one_by_one[] = {0, 1, 2, 3, 4};
  static const int64_t next[] = {1, 2, 3, 4, 0};
  static const double one[] = {1, 0, 0, 0, 0};
  const edges ring = edges_of(5, 5, one_by_one, next, NULL);
  merbit_view view = coo(&e), ring_view = coo(&ring);
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  watch w;
  double ranks[5];
  int cap;
  (void)state;
  memset(&desc, 0, sizeof desc);
  memset(&w, 0, sizeof w);
  desc.progress = watch_progress;
  desc.progress_user = &w;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_int_equal(result.plan.side, MERBIT_SIDE_CUDA);
  assert_int_equal(w.last_iteration, result.iterations);
  assert_true(w.calls < result.iterations); /* one check per batch */
  assert_int_equal(result.synchronizations, w.calls);
  assert_true(result.synchronizations <= 2 * (1 + result.iterations / 100));
  assert_true(result.device_bytes > result.plan.device_bytes + 3 * (int64_t)sizeof ranks);
  check_ranks(&e, 0.85, 1e-10, MERBIT_F64, ranks, &result);

  memset(&w, 0, sizeof w);
  w.cancel_at_call = 2;
  desc.damping = 0.99999; /* too slow for two batches if a GPU takes 4 us per iteration */
  desc.max_iterations = 1000000;
  desc.personalisation = one;
  assert_int_equal(merbit_pagerank(context, &ring_view, &desc, ranks, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CANCELLED);
  assert_int_equal(result.iterations, w.last_iteration);
  assert_true(result.iterations >= MBI_SOLVE_ROUND_FIRST * result.recorded + MBI_SOLVE_ROUND_LEAST);
  check_ranks_from(&ring, 0.99999, 1e-10, MERBIT_F64, one, NULL, ranks, &result);

  desc.progress = NULL;
  desc.damping = 0;
  desc.personalisation = NULL;
  for (cap = 1; cap <= 19; cap += 3) {
    desc.max_iterations = cap;
    assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
    assert_int_equal(result.stop, MERBIT_STOP_CAP);
    assert_int_equal(result.iterations, cap);
    check_ranks(&e, 0.85, 1e-10, MERBIT_F64, ranks, &result);
  }
}

static int make_buffer(void *user, int iteration, double change, double seconds) {
  merbit_buffer **buffer = (merbit_buffer **)user;
  (void)iteration;
  (void)change;
  (void)seconds;
  return *buffer == NULL && merbit_buffer_create(context, 64, buffer) != MERBIT_OK;
}

/* A buffer made meanwhile has its own memory, although the plan of a graph in GPU memory uses
 * memory that its transpose has freed. */
static void test_buffer_meanwhile(void **state) {
  enum { N = 3000, DEGREE = 8 };
  static int32_t row_ptr[N + 1], col_ind[N * DEGREE];
  static double ranks[N];
  merbit_view view;
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  merbit_buffer *buffer = NULL, *rows, *columns;
  char bytes[64] = "kept", back[64];
  int i;
  (void)state;
  for (i = 0; i < N * DEGREE; i++) {
    row_ptr[i / DEGREE + 1] = (i / DEGREE + 1) * DEGREE;
    col_ind[i] = (int32_t)((i / DEGREE * 37 + i % DEGREE * 11 + i / 100) % N);
  }
  assert_int_equal(merbit_buffer_create(context, sizeof row_ptr, &rows), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, sizeof col_ind, &columns), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(rows, 0, row_ptr, sizeof row_ptr), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(columns, 0, col_ind, sizeof col_ind), MERBIT_OK);
  view = merbit_csr(N, N, N * DEGREE, merbit_buffer_pointer(rows),
                    merbit_buffer_pointer(columns), NULL);
  view.memory = MERBIT_MEMORY_DEVICE;
  memset(&desc, 0, sizeof desc);
  desc.progress = make_buffer;
  desc.progress_user = &buffer;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
  assert_non_null(buffer);
  assert_int_equal(merbit_buffer_upload(buffer, 0, bytes, sizeof bytes), MERBIT_OK);
  assert_int_equal(merbit_buffer_download(buffer, 0, back, sizeof back), MERBIT_OK);
  assert_memory_equal(bytes, back, sizeof bytes);
  merbit_buffer_destroy(buffer);
  merbit_buffer_destroy(rows);
  merbit_buffer_destroy(columns);
}

static void test_cpu_on_a_cuda_context(void **state) {
  static const int64_t from[] = {0, 1, 2}, to[] = {1, 2, 0};
  const edges e = edges_of(4, 3, from, to, NULL);
  merbit_view view = coo(&e);
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  double ranks[4];
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
  assert_int_equal(result.plan.side, MERBIT_SIDE_CPU);
  check_ranks(&e, 0.85, 1e-10, MERBIT_F64, ranks, &result);
}

/* A graph in GPU memory, 32-bit CSR. */
static void test_device_graph(void **state) {
  static const int32_t row_ptr[] = {0, 2, 3, 4}, col_ind[] = {1, 2, 0, 1};
  static const double values[] = {1, 3, 1, 2};
  static const int64_t from[] = {0, 0, 1, 2}, to[] = {1, 2, 0, 1};
  const edges e = edges_of(3, 4, from, to, values);
  merbit_buffer *buffers[3];
  merbit_view view;
  merbit_pagerank_result result;
  double ranks[3];
  int i;
  (void)state;
  assert_int_equal(merbit_buffer_create(context, sizeof row_ptr, &buffers[0]), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, sizeof col_ind, &buffers[1]), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, sizeof values, &buffers[2]), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(buffers[0], 0, row_ptr, sizeof row_ptr), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(buffers[1], 0, col_ind, sizeof col_ind), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(buffers[2], 0, values, sizeof values), MERBIT_OK);
  view = merbit_csr(3, 3, 4, merbit_buffer_pointer(buffers[0]),
                    merbit_buffer_pointer(buffers[1]), merbit_buffer_pointer(buffers[2]));
  view.memory = MERBIT_MEMORY_DEVICE;
  assert_int_equal(merbit_pagerank(context, &view, NULL, ranks, &result), MERBIT_OK);
  check_ranks(&e, 0.85, 1e-10, MERBIT_F64, ranks, &result);
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(buffers[i]);
  }
}

/* Its arrays are checked in place, before anything counts or sorts them. */
static void test_bad_device_graph(void **state) {
  static const int32_t row_ptr[] = {0, 2, 3, 4}, bad_row_ptr[] = {0, 2, 1, 4};
  static const int32_t col_ind[] = {1, 2, 0, 1}, bad_col_ind[] = {1, 2, 3, 1};
  static const double values[] = {1, 3, 1, 2};
  static const merbit_method methods[] = {MERBIT_METHOD_AUTO, MERBIT_METHOD_MERBIT};
  merbit_buffer *buffers[3];
  merbit_view view;
  merbit_pagerank_desc desc;
  double ranks[3];
  int i, bad;
  (void)state;
  memset(&desc, 0, sizeof desc);
  assert_int_equal(merbit_buffer_create(context, sizeof row_ptr, &buffers[0]), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, sizeof col_ind, &buffers[1]), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, sizeof values, &buffers[2]), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(buffers[2], 0, values, sizeof values), MERBIT_OK);
  view = merbit_csr(3, 3, 4, merbit_buffer_pointer(buffers[0]),
                    merbit_buffer_pointer(buffers[1]), NULL);
  view.memory = MERBIT_MEMORY_DEVICE;
  for (bad = 0; bad < 2; bad++) {
    assert_int_equal(merbit_buffer_upload(buffers[0], 0, bad == 0 ? bad_row_ptr : row_ptr,
                                          sizeof row_ptr),
                     MERBIT_OK);
    assert_int_equal(merbit_buffer_upload(buffers[1], 0, bad == 1 ? bad_col_ind : col_ind,
                                          sizeof col_ind),
                     MERBIT_OK);
    for (i = 0; i < 6; i++) { /* a pattern, weights, and weights that are ignored */
      view.values = i / 2 > 0 ? merbit_buffer_pointer(buffers[2]) : NULL;
      desc.unweighted = i / 2 == 2;
      desc.method = methods[i % 2];
      assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, NULL),
                       MERBIT_INVALID_MATRIX);
      cpu_expect(context, MERBIT_INVALID_MATRIX, bad == 0 ? "row_ptr[2]" : "col_ind[2]");
    }
  }
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(buffers[i]);
  }
}

/* A symmetric graph by one triangle: the links of both count, from either memory, with and
 * without weights. */
static void test_one_triangle(void **state) {
  static const int32_t row_ptr[] = {0, 0, 1, 3, 4}, col_ind[] = {0, 0, 1, 2};
  static const double values[] = {1, 3, 1, 2};
  static const int64_t from[] = {1, 2, 2, 3, 0, 0, 1, 2}, to[] = {0, 0, 1, 2, 1, 2, 2, 3};
  static const double both[] = {1, 3, 1, 2, 1, 3, 1, 2};
  const edges weighted = edges_of(4, 8, from, to, both), links = edges_of(4, 8, from, to, NULL);
  merbit_buffer *buffers[3];
  const void *there[3];
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  double ranks[4];
  int i, device;
  (void)state;
  memset(&desc, 0, sizeof desc);
  there[0] = products_move(context, row_ptr, sizeof row_ptr, &buffers[0]);
  there[1] = products_move(context, col_ind, sizeof col_ind, &buffers[1]);
  there[2] = products_move(context, values, sizeof values, &buffers[2]);
  for (device = 0; device < 2; device++) {
    merbit_view view = device ? merbit_csr(4, 4, 4, there[0], there[1], NULL)
                              : merbit_csr(4, 4, 4, row_ptr, col_ind, NULL);
    view.memory = device ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
    view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
    for (i = 0; i < 3; i++) { /* ones, weights, and weights that are ignored */
      view.values = i == 0 ? NULL : device ? there[2] : values;
      desc.unweighted = i == 2;
      assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
      assert_int_equal(result.plan.side, MERBIT_SIDE_CUDA);
      check_ranks(i == 1 ? &weighted : &links, 0.85, 1e-10, MERBIT_F64, ranks, &result);
    }
  }
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(buffers[i]);
  }
}

static void test_cases(void **state) {
  static const merbit_method methods[] = {
      MERBIT_METHOD_AUTO,   MERBIT_METHOD_MERBIT, MERBIT_METHOD_SCAN,   MERBIT_METHOD_ROWS,
      MERBIT_METHOD_SLICED, MERBIT_METHOD_MERGE,  MERBIT_METHOD_MERBIT, MERBIT_METHOD_BINNED};
  (void)state;
  cases_personalised(context);
  cases_warm(context);
  cases_history(context);
  cases_accelerated(context);
  cases_not_negative(context);
  cases_far(context);
  cases_far_triangle(context);
  cases_stagnates(context, 11);
  cases_methods(context, methods, 4);
}

/* A second run gives the same result, although GPU memory holds NaN left by others. */
static void test_twice(void **state) {
  static const merbit_method methods[] = {MERBIT_METHOD_AUTO, MERBIT_METHOD_MERBIT,
                                          MERBIT_METHOD_SCAN};
  enum { N = 900, DEGREE = 4 };
  static int32_t row_ptr[N + 1], col_ind[N * DEGREE];
  static double first[N], again[N];
  static unsigned char left[1 << 18];
  const merbit_view view = merbit_csr(N, N, N * DEGREE, row_ptr, col_ind, NULL);
  int i;
  size_t m;
  (void)state;
  memset(left, 0xff, sizeof left);
  for (i = 0; i < N * DEGREE; i++) {
    row_ptr[i / DEGREE + 1] = (i / DEGREE + 1) * DEGREE;
    col_ind[i] = (int32_t)((i / DEGREE * 37 + i % DEGREE * 11 + i / 100) % N);
  }
  for (m = 0; m < sizeof methods / sizeof methods[0]; m++) {
    merbit_pagerank_desc desc;
    merbit_pagerank_result wanted, found;
    merbit_buffer *buffer;
    memset(&desc, 0, sizeof desc);
    desc.method = methods[m];
    assert_int_equal(merbit_pagerank(context, &view, &desc, first, &wanted), MERBIT_OK);
    assert_int_equal(wanted.stop, MERBIT_STOP_CONVERGED);
    assert_int_equal(merbit_buffer_create(context, sizeof left, &buffer), MERBIT_OK);
    assert_int_equal(merbit_buffer_upload(buffer, 0, left, sizeof left), MERBIT_OK);
    merbit_buffer_destroy(buffer);
    assert_int_equal(merbit_pagerank(context, &view, &desc, again, &found), MERBIT_OK);
    assert_true(found.stop == wanted.stop && found.iterations == wanted.iterations);
    for (i = 0; i < N; i++) {
      assert_true(fabs(again[i] - first[i]) <= 1e-13 * first[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_graphs),         cmocka_unit_test(test_stops),
      cmocka_unit_test(test_buffer_meanwhile),      cmocka_unit_test(test_cases),
      cmocka_unit_test(test_cpu_on_a_cuda_context), cmocka_unit_test(test_device_graph),
      cmocka_unit_test(test_bad_device_graph),      cmocka_unit_test(test_one_triangle),
      cmocka_unit_test(test_twice),
  };
  int failed;
  context = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  gpu_clean();
  return failed;
}
