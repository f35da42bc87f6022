/* Lifetimes on the fake device: cubins outlive their process, objects other objects, work on a
 * stream its call, a context its threads. */
#define MBI_CHOOSE_SMALL 0u /* AUTO treats even tiny matrices as large */
#define MBI_CHOOSE_HELD 0.0 /* and their x misses L1 */
#define MBI_VALUES_LAUNCH 0u
#define MBI_CHOOSE_UNSEEN 0u
#define MBI_MEASURE_ROUNDS 1
#define MBI_MEASURE_BATCH 1
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/wait.h>

#include "fake/scenarios.h"
#include "support/lifetime.h"

enum { PROGRAMS = 8 }; /* of a plan: five that inspect the matrix, and SCAN's three parts */

/* With a cubin cache the first context compiles; later ones do not, even in other processes. */
static void cold_and_warm(void **state) {
  char cache[64];
  merbit_context *context;
  merbit_context_info found;
  int run;
  (void)state;
  (void)fake_cache_make(cache);
  for (run = 0; run < 2; run++) {
    fake_reset();
    context = fake_context(cache);
    assert_int_equal(products(context), MERBIT_OK);
    assert_int_equal(nvrtc->compiled, run == 0 ? PROGRAMS : 0);
    assert_int_equal(merbit_context_get_info(context, &found), MERBIT_OK);
    /* The GPU is not measured for so few products. */
    assert_int_equal(found.cache_misses, run == 0 ? PROGRAMS + 1 : 1);
    assert_int_equal(found.cache_hits,
                     run == 0 ? 0 : PROGRAMS); /* new values use loaded programs */
    assert_int_equal(found.cache_errors, 0);
    assert_string_equal(found.cache_dir, cache);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
  {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
      fake_reset();
      context = fake_context(cache);
      _exit(products(context) == MERBIT_OK && nvrtc->compiled == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  fake_cache_remove(cache);
}

/* Objects keep their context alive, whatever the order of destruction. */
static void any_order_of_destruction(void **state) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  merbit_context *context;
  merbit_buffer *x = NULL;
  merbit_plan *plan = NULL;
  merbit_workspace *workspace = NULL;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  assert_int_equal(put(context, data.x, sizeof data.x, &x), MERBIT_OK);
  assert_int_equal(make_plan(context, &view, NULL, &plan), MERBIT_OK);
  assert_int_equal(merbit_workspace_create(plan, &workspace), MERBIT_OK);
  merbit_context_destroy(context);
  merbit_plan_destroy(plan);
  assert_int_equal(cuda->retained, 1);
  merbit_workspace_destroy(workspace);
  assert_int_equal(cuda->modules, PROGRAMS); /* until the context is destroyed */
  merbit_buffer_destroy(x);
  fake_expect_clean();
}

/* A matrix is destroyed before the plans and solvers made from its view. A plan keeps it only
 * if new values pass through its arrays. */
static void matrices_go_first(void **state) {
  static const struct {
    int kind, keeps;
    merbit_method method;
    merbit_operation operation;
  } plans[] = {{LIFE_CSR, 0, MERBIT_METHOD_SCAN, MERBIT_OPERATION_N},
               {LIFE_CSR, 0, MERBIT_METHOD_CB, MERBIT_OPERATION_N},
               {LIFE_CSR, 1, MERBIT_METHOD_BSR, MERBIT_OPERATION_N},
               {LIFE_CSR, 0, MERBIT_METHOD_SCAN, MERBIT_OPERATION_T},
               {LIFE_BSR, 1, MERBIT_METHOD_SCAN, MERBIT_OPERATION_N},
               {LIFE_BSR, 0, MERBIT_METHOD_BSR, MERBIT_OPERATION_N},
               {LIFE_HALF, 0, MERBIT_METHOD_SCAN, MERBIT_OPERATION_N}};
  merbit_context *context;
  size_t i;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  for (i = 0; i < sizeof plans / sizeof plans[0]; i++) {
    merbit_plan_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.side = MERBIT_SIDE_CUDA;
    desc.method = plans[i].method;
    desc.operation = plans[i].operation;
    desc.vector_memory = MERBIT_MEMORY_HOST;
    assert_int_equal(life_of_plan(context, &host, plans[i].kind, &desc, 0), plans[i].keeps);
  }
  for (i = LIFE_CSR; i <= LIFE_HALF; i++) {
    merbit_solver_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.side = MERBIT_SIDE_CUDA;
    desc.method = MERBIT_SOLVER_CG;
    desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
    desc.vector_memory = MERBIT_MEMORY_HOST;
    life_of_solver(context, (int)i, &desc);
  }
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* Work on a stream is done when someone waits for it: calls with host vectors wait, others
 * leave it to the caller. */
static void streams(void **state) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  merbit_context *context;
  merbit_plan_desc desc;
  merbit_buffer *x = NULL, *y = NULL;
  merbit_plan *plan = NULL;
  double result[ROWS];
  void *stream;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  memset(&desc, 0, sizeof desc);
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  assert_int_equal(context->device.driver.stream_create(&stream, 1), 0);
  assert_int_equal(put(context, data.x, sizeof data.x, &x), MERBIT_OK);
  assert_int_equal(put(context, data.y0, sizeof data.y0, &y), MERBIT_OK);
  assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(x), NULL,
                               merbit_buffer_pointer(y), stream),
                   MERBIT_OK);
  assert_int_equal(merbit_buffer_download(y, 0, result, sizeof result), MERBIT_OK);
  assert_memory_equal(result, data.y0, sizeof result); /* not yet */
  assert_int_equal(mbi_device_synchronize(context, stream), MERBIT_OK);
  assert_int_equal(merbit_buffer_download(y, 0, result, sizeof result), MERBIT_OK);
  expect_product(result, 1, 0, 1);
  merbit_plan_destroy(plan);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, data.x, NULL, result, stream), MERBIT_OK);
  expect_product(result, 1, 0, 1);
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(x);
  merbit_buffer_destroy(y);
  assert_int_equal(context->device.driver.stream_destroy(stream), 0);
  mbi_device_leave(context);
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* A preconditioner is destroyed before the GPU has applied it, on a stream that synchronises
 * with the default one. */
static void destroyed_while_applied(void **state) {
  merbit_preconditioner_desc desc = merbit_preconditioner_defaults();
  merbit_buffer *arrays[3] = {NULL, NULL, NULL}, *r = NULL, *z = NULL;
  double expected[SOLVED], answer[SOLVED];
  merbit_preconditioner *p;
  merbit_context *context;
  merbit_view view;
  void *stream;
  int i, waits;
  chain c;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  view = chain_make(&c);
  desc.kind = MERBIT_PRECONDITIONER_CHEBYSHEV;
  desc.side = MERBIT_SIDE_CUDA;
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  assert_int_equal(context->device.driver.stream_create(&stream, 0), 0);
  assert_int_equal(put_csr(context, &view, arrays), MERBIT_OK);
  assert_int_equal(put(context, c.b, sizeof c.b, &r), MERBIT_OK);
  for (waits = 1; waits >= 0; waits--) {
    assert_int_equal(put(context, c.b, sizeof c.b, &z), MERBIT_OK);
    assert_int_equal(merbit_preconditioner_create(context, &view, &desc, &p), MERBIT_OK);
    assert_int_equal(merbit_preconditioner_apply(p, merbit_buffer_pointer(r),
                                                 merbit_buffer_pointer(z), stream),
                     MERBIT_OK);
    if (waits) {
      assert_int_equal(merbit_buffer_download(z, 0, expected, sizeof expected), MERBIT_OK);
    }
    merbit_preconditioner_destroy(p);
    assert_int_equal(merbit_buffer_download(z, 0, answer, sizeof answer), MERBIT_OK);
    assert_memory_equal(answer, expected, sizeof answer);
    merbit_buffer_destroy(z);
  }
  merbit_buffer_destroy(r);
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(arrays[i]);
  }
  assert_int_equal(context->device.driver.stream_destroy(stream), 0);
  mbi_device_leave(context);
  merbit_context_destroy(context);
  fake_expect_clean();
}

static void *use_in_thread(void *argument) {
  return products((merbit_context *)argument) == MERBIT_OK ? NULL : argument;
}

/* Threads share a context, and each finds its own stack of contexts unchanged. */
static void threads(void **state) {
  merbit_context *context;
  pthread_t workers[3];
  int i;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  for (i = 0; i < 3; i++) {
    assert_int_equal(pthread_create(&workers[i], NULL, use_in_thread, context), 0);
  }
  for (i = 0; i < 3; i++) {
    void *wrong;
    assert_int_equal(pthread_join(workers[i], &wrong), 0);
    assert_null(wrong);
  }
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* Values in GPU memory that were rounded for a solver or a preconditioner on the CPU are
 * released. A solver refuses such a matrix only after that. */
static void rounded_for_the_cpu(void **state) {
  merbit_solver_desc desc = merbit_solver_defaults();
  merbit_preconditioner_desc diagonal = merbit_preconditioner_defaults();
  merbit_buffer *arrays[3] = {NULL, NULL, NULL};
  merbit_solver *solver;
  merbit_preconditioner *M;
  merbit_context *context;
  merbit_view view;
  double z[SOLVED];
  long blocks;
  chain c;
  int i;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  view = chain_make(&c);
  assert_int_equal(put_csr(context, &view, arrays), MERBIT_OK);
  blocks = cuda->blocks;
  desc.method = MERBIT_SOLVER_CG;
  desc.side = MERBIT_SIDE_CPU;
  desc.refine = 1;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(cuda->blocks, blocks);
  diagonal.kind = MERBIT_PRECONDITIONER_JACOBI;
  diagonal.side = MERBIT_SIDE_CPU;
  diagonal.single = 1;
  assert_int_equal(merbit_preconditioner_create(context, &view, &diagonal, &M), MERBIT_OK);
  assert_int_equal(merbit_preconditioner_apply(M, c.b, z, NULL), MERBIT_OK);
  for (i = 0; i < SOLVED; i++) {
    assert_true(z[i] == c.b[i] / 4);
  }
  merbit_preconditioner_destroy(M);
  assert_int_equal(cuda->blocks, blocks);
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(arrays[i]);
  }
  merbit_context_destroy(context);
  fake_expect_clean();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cold_and_warm),           cmocka_unit_test(any_order_of_destruction),
      cmocka_unit_test(matrices_go_first),       cmocka_unit_test(streams),
      cmocka_unit_test(destroyed_while_applied), cmocka_unit_test(threads),
      cmocka_unit_test(rounded_for_the_cpu),
  };
  fake_open("new");
  scenarios_prepare();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
