/* The whole CUDA side on the fake device, where only a fake can look: what a product asks of
 * the driver, what a second process compiles, and that all is given back. The products,
 * PageRank and the device layer themselves are run there by the programs of tests/gpu/. */
#define MERBIT_IMPLEMENTATION
#define MBI_CHOOSE_SMALL 0u  /* AUTO takes even little matrices for large ones */
#define MBI_VALUES_LAUNCH 0u /* and multiplies x by values of columns */
#define MBI_CHOOSE_UNSEEN 0u
#define MBI_MEASURE_ROUNDS 1 /* and measures as little as it can */
#define MBI_MEASURE_BATCH 1
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/wait.h>

#include "fake/scenarios.h"
#include "support/effort.h"

static void info(void **state) {
  merbit_context *context;
  merbit_context_info found;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  assert_int_equal(merbit_context_get_info(context, &found), MERBIT_OK);
  assert_int_equal(found.side, MERBIT_SIDE_CUDA);
  assert_string_equal(found.device, "Fake 0");
  assert_string_equal(found.reason, "");
  assert_string_equal(found.nvrtc, FAKE_FOLDER "/new/libnvrtc.so.13");
  assert_string_equal(found.cache_off_reason, "context_desc.cache_dir is empty");
  assert_int_equal(found.compute_capability, 90);
  assert_int_equal(found.driver_version, 13000);
  assert_int_equal(found.nvrtc_version, 13000);
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* Under many schedules. */
static void every_scenario(void **state) {
  static merbit_status (*const all[])(merbit_context *) = {products,
                                                           merbit_products,
                                                           crossing_products,
                                                           rows_products,
                                                           sliced_products,
                                                           binned_products,
                                                           merge_products,
                                                           one_product,
                                                           hubs_products,
                                                           cb_products,
                                                           cb_parts,
                                                           even_rows,
                                                           full_columns,
                                                           shorter_values,
                                                           column_values,
                                                           table_values,
                                                           empty_matrices,
                                                           host_vectors,
                                                           device_csr,
                                                           shifted_csr,
                                                           device_coo,
                                                           ranks,
                                                           ordered_products,
                                                           ordered_coo,
                                                           copied_vectors,
                                                           ordered_host_vectors,
                                                           transposed_products,
                                                           transposed_device_csr,
                                                           transposed_and_reordered,
                                                           transposed_blocks,
                                                           transposed_host_vectors,
                                                           custom_products,
                                                           half_products,
                                                           half_device_coo,
                                                           solves,
                                                           solves_in_buffers,
                                                           solves_by_gmres,
                                                           eigenpairs,
                                                           refines_there};
  const uint64_t seed = test_rotating_seed();
  int repeat;
  size_t i;
  (void)state;
  wished = MERBIT_SIDE_CUDA;
  for (repeat = 0; repeat < test_effort(5, 100); repeat++) {
    for (i = 0; i < sizeof all / sizeof all[0]; i++) {
      merbit_context *context;
      fake_reset();
      cuda->seed = seed + (uint64_t)repeat * 1000;
      context = fake_context(NULL);
      assert_int_equal(all[i](context), MERBIT_OK);
      assert_int_equal(merbit_last_error(context, NULL, 0), MERBIT_OK);
      merbit_context_destroy(context);
      fake_expect_clean();
    }
  }
}

/* After its plan is made only what products use stays allocated; the programs stay loaded. */
static void what_a_plan_keeps(void **state) {
  static const struct {
    merbit_method method;
    long blocks; /* with the CSR's three arrays and, where there are any, carries */
  } kept[] = {{MERBIT_METHOD_MERBIT, 4 + 1}, /* tile_x, tile_y, lane_desc */
              /* row_id, empty_id; row_ends, tile_row, block_start; no carries */
              {MERBIT_METHOD_SCAN, 3 + 2},
              {MERBIT_METHOD_ROWS, 3},
              {MERBIT_METHOD_MERGE, 4},
              /* length, row_id, slice_start, column_start, slice_base; columns, values */
              {MERBIT_METHOD_SLICED, 3 + 2},
              /* as SCAN, then runs, part_start, items, what lies in strips */
              {MERBIT_METHOD_BINNED, 4 + 2 + 4},
              {MERBIT_METHOD_HUBS, 4 + 2 + 1}, /* hub_col, codes */
              /* words, first, data, task_block, task_target */
              {MERBIT_METHOD_CB, 3 + 5}};
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof kept / sizeof kept[0]; i++) {
    merbit_context *context;
    merbit_plan_desc desc;
    merbit_plan *plan = NULL;
    fake_reset();
    context = fake_context(NULL);
    memset(&desc, 0, sizeof desc);
    desc.method = kept[i].method;
    assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
    assert_in_range(cuda->modules, 1, 2); /* the method's; the arrays' where rows are counted */
    assert_int_equal(cuda->blocks, kept[i].blocks);
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
}

/* Slices and codes need room for a second copy of columns; without it AUTO takes the scan. */
static void give_way(merbit_status (*scenario)(merbit_context *), const merbit_method *taking,
                     merbit_method first, long ways) {
  long at, taken[2] = {0, 0};
  for (at = 1; at < 40; at++) { /* more than there are */
    merbit_context *context;
    fake_reset();
    cuda->calls.only = "cuMemAlloc_v2";
    cuda->calls.code = 2;
    cuda->calls.fail_at = at;
    context = fake_context(NULL);
    if (scenario(context) == MERBIT_OK) {
      assert_int_equal(merbit_last_error(context, NULL, 0), MERBIT_OK);
      taken[*taking == first]++;
      assert_true(*taking == (cuda->calls.failed > 0 ? MERBIT_METHOD_SCAN : first));
    }
    merbit_context_destroy(context);
    fake_expect_clean();
  }
  assert_int_equal(taken[0], ways);
  assert_true(taken[1] > 10);
}

/* What is known of slices; columns */
static void slices_give_way(void **state) {
  (void)state;
  give_way(even_rows, &even_method, MERBIT_METHOD_SLICED, 2);
}

/* Counts of columns; ranks of rows, where they start, tiles, codes of the matrix, codes of
 * columns */
static void hubs_give_way(void **state) {
  (void)state;
  give_way(full_columns, &full_method, MERBIT_METHOD_HUBS, 1 + 5);
}

/* A product allocates nothing and waits for nothing: it enters, launches once or, where rows
 * cross blocks, twice, and leaves; where values are those of columns, x is multiplied by them
 * first. */
static void calls_of_products(int launches_each, int by_column) {
  int32_t row_ptr[SIDE + 1], col_ind[SIDE * SIDE];
  double values[SIDE * SIDE];
  const merbit_view view =
      by_column ? merbit_csr(SIDE, SIDE, SIDE * SIDE, row_ptr, col_ind, values)
                : merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  merbit_context *context;
  merbit_buffer *x = NULL, *y = NULL;
  merbit_plan *plan = NULL;
  long made, launches, host_blocks;
  merbit_plan_desc desc;
  int i;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_SCAN;
  desc.omega = 3 - launches_each;
  launches_each += by_column;
  for (i = 0; i < SIDE * SIDE; i++) {
    row_ptr[i / SIDE + 1] = i + 1;
    col_ind[i] = i % SIDE;
    values[i] = 1 + col_ind[i];
  }
  row_ptr[0] = 0;
  fake_reset();
  context = fake_context(NULL);
  assert_int_equal(put(context, data.x, sizeof data.x, &x), MERBIT_OK);
  assert_int_equal(put(context, data.y0, sizeof data.y0, &y), MERBIT_OK);
  assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
  for (i = 0; i < 3; i++) { /* the first one also asks whose the two addresses are */
    made = cuda->calls.made;
    launches = cuda->launches;
    host_blocks = host.made;
    assert_int_equal(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(x), NULL,
                                 merbit_buffer_pointer(y), NULL),
                     MERBIT_OK);
    assert_int_equal(cuda->calls.made - made, launches_each + (i == 0 ? 4 : 2));
    assert_int_equal(cuda->launches - launches, launches_each);
    assert_int_equal(host.made, host_blocks);
  }
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(x);
  merbit_buffer_destroy(y);
  merbit_context_destroy(context);
  fake_expect_clean();
}

static void calls_of_a_product(void **state) {
  (void)state;
  calls_of_products(1, 0);
  calls_of_products(2, 0);
  calls_of_products(1, 1);
  calls_of_products(2, 1);
}

/* A plan for one product of a matrix in device memory, or of that method for many, launches the
 * check of its arrays, if that, and the product itself one kernel, or two where rows may lie in
 * several chunks. */
static void no_look_at_the_matrix(void **state) {
  int unchecked, crossing;
  (void)state;
  assert_int_equal(data.row_ptr[1], 0); /* row 0 is left out, so that another one is cut */
  for (unchecked = 0; unchecked < 2; unchecked++) {
    for (crossing = 0; crossing < 2; crossing++) {
      merbit_view view = merbit_csr(ROWS - 1, COLS, data_nnz(), NULL, NULL, NULL);
      merbit_buffer *b[5] = {NULL, NULL, NULL, NULL, NULL};
      merbit_context *context;
      merbit_plan_desc desc;
      merbit_plan_info info;
      merbit_plan *plan = NULL;
      double y[ROWS];
      char line[1024];
      int i;
      fake_reset();
      context = fake_context(NULL);
      assert_int_equal(put(context, data.row_ptr + 1, ROWS * 4, &b[0]), MERBIT_OK);
      assert_int_equal(put(context, data.col_ind, (size_t)data_nnz() * 4, &b[1]), MERBIT_OK);
      assert_int_equal(put(context, data.values, (size_t)data_nnz() * 8, &b[2]), MERBIT_OK);
      assert_int_equal(put(context, data.x, sizeof data.x, &b[3]), MERBIT_OK);
      assert_int_equal(put(context, data.y0, sizeof data.y0, &b[4]), MERBIT_OK);
      view.memory = MERBIT_MEMORY_DEVICE;
      view.row_ptr = merbit_buffer_pointer(b[0]);
      view.col_ind = merbit_buffer_pointer(b[1]);
      view.values = merbit_buffer_pointer(b[2]);
      memset(&desc, 0, sizeof desc);
      desc.method = crossing ? MERBIT_METHOD_MERGE : MERBIT_METHOD_AUTO;
      desc.expected_calls = crossing ? 100 : 1;
      desc.unchecked = unchecked;
      desc.sigma = crossing ? 2 : 0;
      desc.block_threads = crossing ? 32 : 0;
      assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
      assert_int_equal(cuda->blocks, 5 + 1); /* the carries; the check's answer is gone */
      assert_int_equal(cuda->launches, !unchecked);
      assert_int_equal(nvrtc->compiled, unchecked ? 1 : 2);
      assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
      assert_int_equal(info.method, MERBIT_METHOD_MERGE);
      assert_true(crossing ? info.tiles > 1 : info.tiles == 1);
      (void)merbit_plan_describe(plan, line, sizeof line);
      assert_non_null(strstr(line, crossing ? "(as asked)"
                                            : "(for 1 product without a look at the "
                                              "matrix)"));
      assert_int_equal(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(b[3]), NULL,
                                   merbit_buffer_pointer(b[4]), NULL),
                       MERBIT_OK);
      assert_int_equal(cuda->launches, !unchecked + 2 + crossing);
      assert_int_equal(cuda->early, 2 + crossing);
      assert_int_equal(merbit_buffer_download(b[4], 0, y + 1, sizeof y - sizeof *y), MERBIT_OK);
      y[0] = 0;
      expect_product(y, 1, 0, 1);
      merbit_plan_destroy(plan);
      for (i = 0; i < 5; i++) {
        merbit_buffer_destroy(b[i]);
      }
      merbit_context_destroy(context);
      fake_expect_clean();
    }
  }
}

/* With a cubin cache the first context compiles, later ones do not, in other processes neither.
 */
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
    assert_int_equal(nvrtc->compiled, run == 0 ? 2 : 0); /* the arrays' program, the scan's */
    assert_int_equal(merbit_context_get_info(context, &found), MERBIT_OK);
    assert_int_equal(found.cache_misses, run == 0 ? 2 : 0);
    assert_int_equal(found.cache_hits,
                     run == 0 ? 0 : 2); /* new values find the arrays' loaded */
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

/* Objects keep their context alive, in whatever order they go. */
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
  assert_int_equal(cuda->modules, 2); /* until the context goes */
  merbit_buffer_destroy(x);
  fake_expect_clean();
}

/* Work on a stream is done when somebody waits for it: host vectors do, others leave it to the
 * caller. */
static void streams(void **state) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  int (*create)(void **, unsigned), (*destroy)(void *);
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
  assert_true(mbi_library_function(context->device.driver.library, "cuStreamCreate", &create,
                                   sizeof create) &&
              mbi_library_function(context->device.driver.library, "cuStreamDestroy_v2",
                                   &destroy, sizeof destroy));
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  assert_int_equal(create(&stream, 1), 0);
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
  assert_int_equal(destroy(stream), 0);
  mbi_device_leave(context);
  merbit_context_destroy(context);
  fake_expect_clean();
}

static void *use_in_thread(void *argument) {
  return products((merbit_context *)argument) == MERBIT_OK ? NULL : argument;
}

/* AUTO takes no CPU where the user's operators have no functions: the GPU's failure is told. */
static void expressions_alone(void **state) {
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  merbit_operators operators = {"max(a, b)", "a * x", 0, NULL, NULL, NULL, NULL, NULL};
  merbit_context *context;
  merbit_plan_desc desc;
  merbit_plan *plan;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.semiring = MERBIT_SEMIRING_CUSTOM;
  desc.operators = &operators;
  nvrtc->calls.fail_at = nvrtc->calls.made + 1;
  nvrtc->calls.code = 6;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_NO_COMPILER);
  assert_null(plan);
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* Threads share a context, and each finds its own stack of contexts as it left it. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(info),
      cmocka_unit_test(solver_without_the_host),
      cmocka_unit_test(solver_in_sweeps),
      cmocka_unit_test(every_scenario),
      cmocka_unit_test(what_a_plan_keeps),
      cmocka_unit_test(slices_give_way),
      cmocka_unit_test(hubs_give_way),
      cmocka_unit_test(calls_of_a_product),
      cmocka_unit_test(no_look_at_the_matrix),
      cmocka_unit_test(cold_and_warm),
      cmocka_unit_test(any_order_of_destruction),
      cmocka_unit_test(expressions_alone),
      cmocka_unit_test(streams),
      cmocka_unit_test(threads),
  };
  fake_open("new");
  scenarios_prepare();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
