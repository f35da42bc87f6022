/* Reordered plans on the GPU: every method, vectors in buffers and on the host, new values from
 * both sides, vectors in streams and graphs, and refusals. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/gpu.h"
#include "support/reordered.h"

static merbit_context *gpu;

/* Makes a form by bits: those of products_form_of, then host vectors, arrays on the host. */
static products_form form_of(int bits) {
  products_form form = products_form_of(bits);
  form.plan.vector_memory = bits & 64 ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
  form.device_arrays = !(bits & 128);
  form.plan.side = MERBIT_SIDE_CUDA;
  return form;
}

/* Fewer matrices on a slow GPU, because plans differ in little except their method. */
static void every_method(void **state) {
  const int stride = gpu_stride() > 1 ? 5 * gpu_stride() : 1;
  uint64_t random = 11;
  int index, method, products = 0;
  (void)state;
  for (index = gpu_first(); index < test_matrix_count(); index += stride) {
    for (method = 0; method < gpu_method_count(); method++) {
      products_form form = form_of((int)test_below(&random, 256));
      test_matrix m;
      form.plan.method = gpu_method(method);
      form.plan.reordering =
          test_below(&random, 2) ? MERBIT_REORDERING_RCM : MERBIT_REORDERING_DEGREE;
      square_make(index, 9, &m);
      products += reordered_check(gpu, &m, &form);
    }
  }
  print_message("%d products\n", products);
}

static void every_form(void **state) {
  const int apart = gpu_stride() > 1 ? 31 : 1;
  int bits;
  (void)state;
  for (bits = gpu_first_of(apart); bits < 256; bits += apart) {
    products_form form = form_of(bits);
    test_matrix m;
    form.plan.reordering = MERBIT_REORDERING_RCM;
    square_grid(9, 13, 8, 5, &m);
    (void)reordered_check(gpu, &m, &form);
  }
}

/* Besides its method's memory a plan holds the order and the places of values; matrices in GPU
 * memory are reordered like others. */
static void what_a_plan_tells(void **state) {
  int on_gpu;
  (void)state;
  for (on_gpu = 0; on_gpu < 2; on_gpu++) {
    merbit_plan_info info;
    products_form form = form_of(on_gpu ? 0 : 128);
    products_arrays a;
    merbit_plan *plan, *plain;
    test_matrix m;
    char line[1024];
    int64_t bytes;
    square_grid(20, 30, 4, 3, &m);
    products_arrays_make(gpu, &m, &form, &a);
    form.plan.method = MERBIT_METHOD_ROWS;
    assert_int_equal(merbit_plan_create(gpu, &a.view, &form.plan, &plain), MERBIT_OK);
    assert_int_equal(merbit_plan_get_info(plain, &info), MERBIT_OK);
    bytes = info.device_bytes;
    form.plan.reordering = MERBIT_REORDERING_RCM;
    assert_int_equal(merbit_plan_create(gpu, &a.view, &form.plan, &plan), MERBIT_OK);
    assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
    assert_true(info.reorder_seconds > 0 && info.reorder_seconds < info.plan_seconds);
    assert_true(info.bandwidth_before > 400 && info.bandwidth <= 21);
    assert_true(on_gpu || info.device_bytes == bytes + 4 * m.rows + 4 * m.nnz);
    (void)merbit_plan_describe(plan, line, sizeof line);
    assert_non_null(strstr(line, "; reordered by reverse Cuthill-McKee in "));
    merbit_plan_destroy(plan);
    merbit_plan_destroy(plain);
    products_arrays_free(&a);
    test_matrix_free(&m);
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

static void find(const char *name, void *call) {
  assert_true(
      mbi_library_function(gpu->device.driver.library, name, call, sizeof(void (*)(void))));
}

/* Permutes a vector and back in a graph: it is unchanged. */
static void captured(void **state) {
  static const int32_t row_ptr[] = {0, 1, 3, 5, 6}, col_ind[] = {3, 2, 0, 1, 3, 0};
  const merbit_view view = merbit_csr(4, 4, 6, row_ptr, col_ind, NULL);
  graph_calls calls;
  int reordering;
  (void)state;
  find("cuStreamCreate", &calls.stream_create);
  find("cuStreamDestroy_v2", &calls.stream_destroy);
  find("cuStreamBeginCapture_v2", &calls.begin);
  find("cuStreamEndCapture", &calls.end);
  find("cuGraphInstantiateWithFlags", &calls.instantiate);
  find("cuGraphLaunch", &calls.launch);
  find("cuGraphDestroy", &calls.destroy);
  find("cuGraphExecDestroy", &calls.exec_destroy);
  for (reordering = 0; reordering < 3; reordering++) {
    double x[4] = {1, 2, 3, 4}, px[4], back[4];
    int64_t order[4];
    merbit_buffer *b[3];
    merbit_plan_desc desc;
    merbit_plan *plan;
    void *stream, *graph, *executable;
    int i, replay;
    memset(&desc, 0, sizeof desc);
    desc.reordering = (merbit_reordering)reordering;
    assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(merbit_plan_get_order(plan, order, 4), MERBIT_OK);
    for (i = 0; i < 3; i++) {
      (void)products_move(gpu, x, sizeof x, &b[i]);
    }
    assert_int_equal(mbi_device_enter(gpu), MERBIT_OK);
    assert_int_equal(calls.stream_create(&stream, 1), 0);
    assert_int_equal(calls.begin(stream, 0), 0);
    assert_int_equal(merbit_plan_reorder(plan, merbit_buffer_pointer(b[0]),
                                         merbit_buffer_pointer(b[1]), stream),
                     MERBIT_OK);
    assert_int_equal(merbit_plan_restore(plan, merbit_buffer_pointer(b[1]),
                                         merbit_buffer_pointer(b[2]), stream),
                     MERBIT_OK);
    assert_int_equal(calls.end(stream, &graph), 0);
    assert_int_equal(calls.instantiate(&executable, graph, 0), 0);
    for (replay = 0; replay < 3; replay++) {
      x[replay] += 10;
      assert_int_equal(merbit_buffer_upload(b[0], 0, x, sizeof x), MERBIT_OK);
      assert_int_equal(calls.launch(executable, stream), 0);
      assert_int_equal(mbi_device_synchronize(gpu, stream), MERBIT_OK);
      assert_int_equal(merbit_buffer_download(b[1], 0, px, sizeof px), MERBIT_OK);
      assert_int_equal(merbit_buffer_download(b[2], 0, back, sizeof back), MERBIT_OK);
      assert_memory_equal(back, x, sizeof x);
      for (i = 0; i < 4; i++) {
        assert_true(px[i] == x[order[i]]);
      }
    }
    assert_int_equal(calls.exec_destroy(executable), 0);
    assert_int_equal(calls.destroy(graph), 0);
    assert_int_equal(calls.stream_destroy(stream), 0);
    mbi_device_leave(gpu);
    for (i = 0; i < 3; i++) {
      merbit_buffer_destroy(b[i]);
    }
    merbit_plan_destroy(plan);
  }
}

static void refused(void **state) {
  static const int32_t row_ptr[] = {0, 1, 2}, col_ind[] = {1, 0};
  static const double values[] = {2, 3};
  double x[2] = {1, 2}, y[2];
  merbit_view view = merbit_csr(2, 2, 2, row_ptr, col_ind, values);
  merbit_buffer *b[2];
  merbit_plan_desc desc;
  merbit_plan *plan;
  void *at;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.reordering = MERBIT_REORDERING_RCM;
  (void)products_move(gpu, x, sizeof x, &b[0]);
  (void)products_move(gpu, x, sizeof x, &b[1]);
  at = merbit_buffer_pointer(b[0]);
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_reorder(plan, x, at, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "is host memory, but the plan computes on CUDA");
  assert_int_equal(merbit_plan_restore(plan, at, y, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "merbit_plan_restore: ");
  assert_int_equal(merbit_plan_reorder(plan, at, at, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "overlap; use two vectors");
  assert_int_equal(merbit_plan_restore(plan, (char *)merbit_buffer_pointer(b[1]) + 1, at, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "does not begin at a multiple of");
  assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_DEVICE),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "says that the new values are in device memory");
  merbit_plan_destroy(plan);
  view.memory = MERBIT_MEMORY_DEVICE;
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
  assert_null(plan);
  cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "is not an address of the GPU");
  merbit_buffer_destroy(b[0]);
  merbit_buffer_destroy(b[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method),      cmocka_unit_test(every_form),
      cmocka_unit_test(what_a_plan_tells), cmocka_unit_test(captured),
      cmocka_unit_test(refused),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
