/* Products on the GPU with streams, graphs, workspaces, the cubin cache and the caller's CUDA
 * context. */
#define TEST_STUDY_METHODS /* in the list of methods */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "gpu/fixture.h"

static merbit_context *gpu;

/* The second context with the same directory loads what the first compiled. */
static void cubins_come_from_the_cache(void **state) {
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  static const float values[] = {1};
  merbit_view view = merbit_csr(1, 1, 1, row_ptr, col_ind, values);
  merbit_plan_desc desc;
  int run;
  (void)state;
  view.value_type = MERBIT_F32;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_MERBIT;
  desc.sigma = 11; /* no other test uses it */
  for (run = 0; run < 2; run++) {
    merbit_context *context = gpu_context();
    merbit_context_info info;
    merbit_plan_info plan_info;
    merbit_plan *plan;
    char line[1024];
    assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(merbit_plan_get_info(plan, &plan_info), MERBIT_OK);
    assert_int_equal(plan_info.cubin_from_cache, run);
    assert_true(run == 1 ? plan_info.compile_seconds == 0 : plan_info.compile_seconds > 0);
    assert_true(merbit_plan_describe(plan, line, sizeof line) > 0);
    assert_non_null(strstr(line, run == 1 ? "from the cache" : "compiled"));
    assert_int_equal(merbit_context_get_info(context, &info), MERBIT_OK);
    assert_int_equal(info.cache_hits > 0, run);
    assert_int_equal(info.cache_misses > 0, 1 - run);
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
  }
}

/* Driver calls that the library itself does not use. */
typedef struct graph_calls {
  int (*stream_create)(void **stream, unsigned flags);
  int (*stream_destroy)(void *stream);
  int (*begin)(void *stream, int mode);
  int (*end)(void *stream, void **graph);
  int (*instantiate)(void **executable, void *graph, unsigned long long flags);
  int (*launch)(void *executable, void *stream);
  int (*destroy)(void *graph);
  int (*exec_destroy)(void *executable);
} graph_calls;

static void check_capture(const graph_calls *calls, merbit_method method) {
  void *stream, *graph, *executable;
  fixture f;
  int replay;
  int64_t i;
  fixture_make(&f, gpu, 6, method, 0);
  assert_int_equal(mbi_device_enter(gpu), MERBIT_OK);
  assert_int_equal(calls->stream_create(&stream, 1), 0);
  assert_int_equal(calls->begin(stream, 0), 0);
  assert_int_equal(merbit_spmv(f.plan, NULL, NULL, merbit_buffer_pointer(f.x), NULL,
                               merbit_buffer_pointer(f.y), stream),
                   MERBIT_OK);
  assert_int_equal(calls->end(stream, &graph), 0);
  assert_int_equal(calls->instantiate(&executable, graph, 0), 0);
  for (replay = 0; replay < 3; replay++) {
    for (i = 0; i < f.m.cols; i++) {
      f.host_x[i] += 0.25;
    }
    assert_int_equal(merbit_buffer_upload(f.x, 0, f.host_x, (size_t)f.m.cols * 8), MERBIT_OK);
    assert_int_equal(calls->launch(executable, stream), 0);
    assert_int_equal(mbi_device_synchronize(gpu, stream), MERBIT_OK);
    assert_int_equal(fixture_rows_wrong(&f), 0);
  }
  assert_int_equal(calls->exec_destroy(executable), 0);
  assert_int_equal(calls->destroy(graph), 0);
  assert_int_equal(calls->stream_destroy(stream), 0);
  mbi_device_leave(gpu);
  fixture_free(&f);
}

static void products_can_be_captured(void **state) {
  void *library = gpu->device.driver.library;
  const int apart = gpu_stride() > 1 ? 2 : 1;
  graph_calls calls;
  int k;
  (void)state;
  assert_true(
      mbi_library_function(library, "cuStreamCreate", &calls.stream_create, sizeof(void *)) &&
      mbi_library_function(library, "cuStreamDestroy_v2", &calls.stream_destroy,
                           sizeof(void *)) &&
      mbi_library_function(library, "cuStreamBeginCapture_v2", &calls.begin, sizeof(void *)) &&
      mbi_library_function(library, "cuStreamEndCapture", &calls.end, sizeof(void *)) &&
      mbi_library_function(library, "cuGraphInstantiateWithFlags", &calls.instantiate,
                           sizeof(void *)) &&
      mbi_library_function(library, "cuGraphLaunch", &calls.launch, sizeof(void *)) &&
      mbi_library_function(library, "cuGraphDestroy", &calls.destroy, sizeof(void *)) &&
      mbi_library_function(library, "cuGraphExecDestroy", &calls.exec_destroy, sizeof(void *)));
  for (k = gpu_first_of(apart); k < gpu_method_count(); k += apart) {
    check_capture(&calls, gpu_method(k));
  }
}

static void two_workspaces_serve_two_streams(void **state) {
  fixture f, g;
  merbit_workspace *workspace;
  void *streams[2];
  int (*create)(void **, unsigned);
  int (*destroy)(void *);
  int i;
  (void)state;
  fixture_make(&f, gpu, 8, MERBIT_METHOD_AUTO, 0);
  g = f;
  assert_int_equal(merbit_buffer_create(gpu, (size_t)f.m.rows * 8, &g.y), MERBIT_OK);
  assert_int_equal(merbit_workspace_create(f.plan, &workspace), MERBIT_OK);
  assert_true(mbi_library_function(gpu->device.driver.library, "cuStreamCreate", &create,
                                   sizeof(void *)));
  assert_true(mbi_library_function(gpu->device.driver.library, "cuStreamDestroy_v2", &destroy,
                                   sizeof(void *)));
  assert_int_equal(mbi_device_enter(gpu), MERBIT_OK);
  assert_true(create(&streams[0], 1) == 0 && create(&streams[1], 1) == 0);
  for (i = 0; i < (gpu_stride() > 1 ? 10 : 50); i++) {
    assert_int_equal(merbit_spmv(f.plan, NULL, NULL, merbit_buffer_pointer(f.x), NULL,
                                 merbit_buffer_pointer(f.y), streams[0]),
                     MERBIT_OK);
    assert_int_equal(merbit_spmv(f.plan, workspace, NULL, merbit_buffer_pointer(f.x), NULL,
                                 merbit_buffer_pointer(g.y), streams[1]),
                     MERBIT_OK);
  }
  assert_int_equal(mbi_device_synchronize(gpu, streams[0]), MERBIT_OK);
  assert_int_equal(mbi_device_synchronize(gpu, streams[1]), MERBIT_OK);
  assert_true(destroy(streams[0]) == 0 && destroy(streams[1]) == 0);
  mbi_device_leave(gpu);
  assert_int_equal(fixture_rows_wrong(&f), 0);
  assert_int_equal(fixture_rows_wrong(&g), 0);
  merbit_workspace_destroy(workspace);
  merbit_buffer_destroy(g.y);
  fixture_free(&f);
}

/* The epilogue of a chain: each product computes a sum that the next one reads. */
static const merbit_epilogue chained = {
    "ax / 64 + v0 / (2 + s0 * s0)", {"v0 * y", NULL}, 1, 1, NULL, NULL};

/* Repeats y = A x / 64 + y / 2, or what `chained` says, each time with the previous y as x;
 * with `waiting`, waits for each product. The last two vectors go to `ends`. */
static void run_chain(merbit_plan *plan, int64_t rows, int products, int waiting,
                      double *ends) {
  static const double alpha = 1.0 / 64, beta = 0.5, none[4] = {0};
  const size_t bytes = (size_t)rows * sizeof(double);
  merbit_buffer *v[2], *pairs;
  double *const sums = (double *)(uintptr_t)products_move(gpu, none, sizeof none, &pairs);
  uint64_t state = 3;
  int64_t i;
  int k;
  for (i = 0; i < 2 * rows; i++) {
    ends[i] = test_uniform(&state);
  }
  (void)products_move(gpu, ends, bytes, &v[0]);
  (void)products_move(gpu, ends + rows, bytes, &v[1]);
  for (k = 0; k < products; k++) {
    const void *const x = merbit_buffer_pointer(v[k % 2]);
    void *const y = merbit_buffer_pointer(v[1 - k % 2]);
    assert_int_equal(mbi_plan_has_epilogue(plan)
                         ? merbit_spmv_epilogue(plan, NULL, x, y, &x, sums + k % 2 * 2,
                                                sums + (1 - k % 2) * 2, NULL, NULL)
                         : merbit_spmv(plan, NULL, &alpha, x, k % 3 ? &beta : NULL, y, NULL),
                     MERBIT_OK);
    if (waiting) {
      assert_int_equal(mbi_device_enter(gpu), MERBIT_OK);
      assert_int_equal(mbi_device_synchronize(gpu, NULL), MERBIT_OK);
      mbi_device_leave(gpu);
    }
  }
  for (k = 0; k < 2; k++) {
    assert_int_equal(merbit_buffer_download(v[k], 0, ends + k * rows, bytes), MERBIT_OK);
    merbit_buffer_destroy(v[k]);
  }
  merbit_buffer_destroy(pairs);
}

/* Products in a chain, and the number of chains that overlap; fewer on a slow GPU. */
static int chain_products(int products) {
  return gpu_stride() > 1 ? products / 5 : products;
}
static int chain_rounds(void) {
  return gpu_stride() > 1 ? 1 : 3;
}

/* Overlapping launches give the same bits as separate ones if every product reads what the one
 * before has written. */
static void chains_of_products(void **state) {
  int k, index, round;
  (void)state;
  for (index = gpu_first(); index < test_matrix_count(); index += 7 * gpu_stride()) {
    test_matrix m;
    test_matrix_make(index, 2, &m);
    for (k = 0; k < gpu_method_count() && m.rows == m.cols && m.rows > 0; k++) {
      double *ends[2];
      merbit_plan_desc desc;
      merbit_plan *plan;
      products_form form;
      products_arrays arrays;
      memset(&form, 0, sizeof form);
      memset(&desc, 0, sizeof desc);
      form.type = MERBIT_F64;
      desc.method = gpu_method(k);
      products_arrays_make(gpu, &m, &form, &arrays);
      assert_int_equal(merbit_plan_create(gpu, &arrays.view, &desc, &plan), MERBIT_OK);
      ends[0] = (double *)test_allocate(2 * m.rows, sizeof(double));
      ends[1] = (double *)test_allocate(2 * m.rows, sizeof(double));
      run_chain(plan, m.rows, chain_products(100), 1, ends[0]);
      for (round = 0; round < chain_rounds(); round++) {
        run_chain(plan, m.rows, chain_products(100), 0, ends[1]);
        if (memcmp(ends[0], ends[1], (size_t)m.rows * 2 * sizeof(double)) != 0) {
          fail_msg("%s on %s: products that overlap differ from those that do not",
                   mbi_method_name(plan->method), m.name);
        }
      }
      free(ends[0]);
      free(ends[1]);
      merbit_plan_destroy(plan);
      products_arrays_free(&arrays);
    }
    test_matrix_free(&m);
  }
}

/* Makes three rows that read all of x, then rows of 24 random nonzeros. */
static void dense_first(int64_t rows, test_matrix *m) {
  const int64_t length = 24;
  uint64_t random = 5;
  int64_t row, i;
  memset(m, 0, sizeof *m);
  m->rows = m->cols = rows;
  m->nnz = 3 * rows + (rows - 3) * length;
  m->row_ptr = (int64_t *)test_allocate(rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (row = 0; row < rows; row++) {
    const int64_t from = m->row_ptr[row], count = row < 3 ? rows : length;
    const int64_t first = (int64_t)(test_random(&random) % (uint64_t)(rows - length));
    m->row_ptr[row + 1] = from + count;
    for (i = 0; i < count; i++) {
      m->col_ind[from + i] = (int32_t)(row < 3 ? i : first + i);
      m->values[from + i] = (row < 3 ? 64.0 / (double)rows : 2.0) * test_uniform(&random);
    }
  }
}

/* The same for a matrix that exceeds the caches, whose first blocks start while others still
 * write what they read; also with a kernel between two products that starts early. */
static void chains_of_large_products(void **state) {
  static const merbit_method methods[] = {MERBIT_METHOD_AUTO, MERBIT_METHOD_SCAN,
                                          MERBIT_METHOD_HUBS, MERBIT_METHOD_SLICED};
  test_matrix m;
  products_form form;
  products_arrays arrays;
  double *ends[2];
  int k, round;
  (void)state;
  dense_first(2000 * (int64_t)gpu->device.multiprocessors, &m);
  memset(&form, 0, sizeof form);
  form.type = MERBIT_F64;
  form.device_arrays = 1;
  products_arrays_make(gpu, &m, &form, &arrays);
  ends[0] = (double *)test_allocate(2 * m.rows, sizeof(double));
  ends[1] = (double *)test_allocate(2 * m.rows, sizeof(double));
  for (k = 0; k < 8; k++) {
    merbit_plan_desc desc;
    merbit_plan *plan;
    memset(&desc, 0, sizeof desc);
    desc.method = methods[k / 2];
    desc.epilogue = k % 2 ? &chained : NULL;
    assert_int_equal(merbit_plan_create(gpu, &arrays.view, &desc, &plan), MERBIT_OK);
    run_chain(plan, m.rows, chain_products(30), 1, ends[0]);
    for (round = 0; round < chain_rounds(); round++) {
      run_chain(plan, m.rows, chain_products(30), 0, ends[1]);
      if (memcmp(ends[0], ends[1], (size_t)m.rows * 2 * sizeof(double)) != 0) {
        fail_msg("%s%s: products that overlap differ from those that do not",
                 mbi_method_name(plan->method), k % 2 ? " with a sum" : "");
      }
    }
    merbit_plan_destroy(plan);
  }
  free(ends[0]);
  free(ends[1]);
  products_arrays_free(&arrays);
  test_matrix_free(&m);
}

static void the_callers_context_is_used_and_restored(void **state) {
  void *mine = gpu->device.cuda_context, *current = NULL;
  merbit_context_desc desc;
  merbit_context *context;
  merbit_buffer *buffer;
  int (*get_current)(void **);
  (void)state;
  assert_true(mbi_library_function(gpu->device.driver.library, "cuCtxGetCurrent", &get_current,
                                   sizeof(void *)));
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.cuda_context = mine;
  desc.cache_dir = "";
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  assert_int_equal(get_current(&current), 0);
  assert_null(current);
  assert_int_equal(merbit_buffer_create(context, 100, &buffer), MERBIT_OK);
  assert_int_equal(get_current(&current), 0);
  assert_null(current);
  merbit_context_destroy(context); /* the buffer keeps it alive */
  merbit_buffer_destroy(buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cubins_come_from_the_cache),
      cmocka_unit_test(products_can_be_captured),
      cmocka_unit_test(chains_of_products),
      cmocka_unit_test(chains_of_large_products),
      cmocka_unit_test(two_workspaces_serve_two_streams),
      cmocka_unit_test(the_callers_context_is_used_and_restored),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
