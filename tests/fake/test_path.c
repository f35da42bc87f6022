/* The whole CUDA side on the fake device, for what only a fake can check: which driver calls a
 * plan and a product make, and that everything is released. The programs of tests/gpu/ also run
 * on it and test products, PageRank and the device layer. */
#define MBI_CHOOSE_SMALL 0u  /* AUTO treats even tiny matrices as large */
#define MBI_CHOOSE_HELD 0.0  /* and their x misses L1 */
#define MBI_VALUES_LAUNCH 0u /* x may be multiplied by the values of columns */
#define MBI_CHOOSE_UNSEEN 0u
#define MBI_MEASURE_ROUNDS 1 /* and measurements are as short as possible */
#define MBI_MEASURE_BATCH 1
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/scenarios.h"
#include "support/effort.h"

enum { HELD = 1 }; /* allocations of a context: a byte that keeps a GPU page mapped */

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

/* Runs every scenario under many schedules. */
static void every_scenario(void **state) {
  static merbit_status (*const all[])(merbit_context *) = {products,
                                                           merbit_products,
                                                           crossing_products,
                                                           rows_products,
                                                           sliced_products,
                                                           binned_products,
                                                           merge_products,
                                                           one_product,
                                                           many_products,
                                                           hubs_products,
                                                           cb_products,
                                                           cb_parts,
                                                           even_rows,
                                                           band,
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
                                                           solves_for_many,
                                                           eigenpairs,
                                                           refines_there,
                                                           preconditions_by_blocks,
                                                           preconditions_by_chebyshev,
                                                           preconditions_by_chebyshev_in_f32,
                                                           preconditions_by_fsai};
  const uint64_t seed = test_rotating_seed();
  int repeat;
  size_t i;
  (void)state;
  wished = MERBIT_SIDE_CUDA;
  for (repeat = 0; repeat < test_effort(2, 100); repeat++) {
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

/* A finished plan keeps only the arrays that products use, and the counts of its rows; its
 * programs stay loaded. */
static void what_a_plan_keeps(void **state) {
  static const struct {
    merbit_method method;
    long blocks; /* including the CSR's three arrays, and the carries if there are any */
  } kept[] = {{MERBIT_METHOD_MERBIT, 4 + 1}, /* tile_x, tile_y, lane_desc */
              /* row_id, empty_id; row_ends, tile_row, block_start; no carries */
              {MERBIT_METHOD_SCAN, 3 + 1 + 2},
              {MERBIT_METHOD_ROWS, 3 + 1},
              {MERBIT_METHOD_MERGE, 4},
              /* length, row_id, slice_start, column_start, pages; columns, values */
              {MERBIT_METHOD_SLICED, 3 + 1 + 2},
              {MERBIT_METHOD_DIAGONALS, 3 + 1 + 1 + 1}, /* start; present, slots, offsets */
              /* as SCAN; then runs, part_start, items, the strips' contents */
              {MERBIT_METHOD_BINNED, 4 + 1 + 2 + 4},
              {MERBIT_METHOD_HUBS, 4 + 1 + 2 + 2}, /* hub_col, codes; counts */
              /* words, first, data, task_block, task_target */
              {MERBIT_METHOD_CB, 3 + 1 + 5}};
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
    /* The method's parts, and the programs that count rows and columns and inspect values. */
    assert_in_range(cuda->modules, 1, MBI_PARTS + 4);
    assert_int_equal(cuda->blocks, HELD + kept[i].blocks);
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
}

/* Products launch as many fitted blocks as own rows: of 32 rows of 200, a block of 16 warps,
 * each of which takes 64 nonzeros, holds five. */
static void blocks_that_own_rows(void **state) {
  enum { LONG = 200, MANY = 32 };
  static int32_t row_ptr[MANY + 1], col_ind[MANY * LONG];
  static double values[MANY * LONG];
  const merbit_view view = merbit_csr(MANY, LONG, MANY * LONG, row_ptr, col_ind, values);
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_context *context;
  int k;
  (void)state;
  for (k = 0; k < MANY * LONG; k++) {
    row_ptr[k / LONG + 1] = (k / LONG + 1) * LONG;
    col_ind[k] = k % LONG;
    values[k] = 1 + 0.1 * k;
  }
  fake_reset();
  context = fake_context(NULL);
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_SCAN;
  desc.block_threads = 512;
  desc.tuning = "steps=2 whole=2";
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(mbi_scan_of(plan)->fitted, 1);
  assert_int_equal(mbi_scan_of(plan)->blocks, 7);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* A plan reports as many bytes as it has allocated, except for the rounding of arrays' ends. */
static void bytes_of_a_plan(void **state) {
  enum { MANY = 3000, ROUNDING = 256, ARRAYS = 16 };
  static const merbit_method methods[] = {
      MERBIT_METHOD_SCAN,   MERBIT_METHOD_ROWS, MERBIT_METHOD_MERGE, MERBIT_METHOD_SLICED,
      MERBIT_METHOD_BINNED, MERBIT_METHOD_HUBS, MERBIT_METHOD_MERBIT};
  static int32_t row_ptr[MANY + 1], col_ind[2 * MANY];
  static double values[2 * MANY];
  const merbit_view view = merbit_csr(MANY, MANY, 2 * MANY, row_ptr, col_ind, values);
  merbit_epilogue epilogue;
  size_t i;
  int k;
  (void)state;
  for (k = 0; k < 2 * MANY; k++) {
    row_ptr[k / 2 + 1] = k / 2 * 2 + 2;
    col_ind[k] = (k / 2 + k % 2 * 7) % MANY;
    values[k] = 1 + 0.1 * k;
  }
  memset(&epilogue, 0, sizeof epilogue);
  epilogue.result = "2 * ax";
  epilogue.sums[0] = "ax";
  for (i = 0; i < 2 * sizeof methods / sizeof methods[0]; i++) {
    merbit_context *context;
    merbit_plan_desc desc;
    merbit_plan_info found;
    merbit_plan *plan = NULL;
    memset(&desc, 0, sizeof desc);
    desc.method = methods[i / 2];
    desc.vector_memory = i % 2 ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEVICE;
    desc.epilogue = i % 2 ? NULL : &epilogue;
    fake_reset();
    context = fake_context(NULL);
    assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(merbit_plan_get_info(plan, &found), MERBIT_OK);
    assert_in_range(cuda->bytes, found.device_bytes, found.device_bytes + ARRAYS * ROUNDING);
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
}

/* A plan that borrows device arrays gets its own copy of new values, which it reports, and the
 * GPU has them when the call returns. */
static void bytes_after_new_values(void **state) {
  enum { MANY = 3000, ROUNDING = 256, ARRAYS = 16 };
  static const merbit_method methods[] = {MERBIT_METHOD_SCAN, MERBIT_METHOD_SLICED};
  static int32_t row_ptr[MANY + 1], col_ind[2 * MANY];
  static double values[2 * MANY];
  size_t i;
  int k;
  (void)state;
  for (k = 0; k < 2 * MANY; k++) {
    row_ptr[k / 2 + 1] = k / 2 * 2 + 2;
    col_ind[k] = (k / 2 + k % 2 * 7) % MANY;
    values[k] = 1 + 0.1 * k;
  }
  for (i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    merbit_view view = merbit_csr(MANY, MANY, 2 * MANY, row_ptr, col_ind, values);
    merbit_buffer *buffers[3] = {NULL, NULL, NULL};
    merbit_context *context;
    merbit_plan_desc desc;
    merbit_plan_info found;
    merbit_plan *plan = NULL;
    long before;
    fake_reset();
    context = fake_context(NULL);
    assert_int_equal(put_csr(context, &view, buffers), MERBIT_OK);
    before = cuda->bytes;
    memset(&desc, 0, sizeof desc);
    desc.method = methods[i];
    desc.changing_values = 1;
    assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST), MERBIT_OK);
    assert_int_equal(cuda->unwaited, 0);
    assert_int_equal(merbit_plan_get_info(plan, &found), MERBIT_OK);
    assert_in_range(cuda->bytes - before, found.device_bytes,
                    found.device_bytes + ARRAYS * ROUNDING);
    merbit_plan_destroy(plan);
    for (k = 0; k < 3; k++) {
      merbit_buffer_destroy(buffers[k]);
    }
    merbit_context_destroy(context);
    fake_expect_clean();
  }
}

/* Lists of non-empty rows: the starts of rows are a separate allocation if they are large, and
 * are released when the plan is made. A failure releases everything. */
static void lists_of_rows(void **state) {
  static const char *const failing[] = {NULL, "cuMemAlloc_v2", "cuLaunchKernel"};
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  int apart, way;
  (void)state;
  for (apart = 0; apart < 2; apart++) {
    for (way = 0; way < 3; way++) {
      merbit_context *context;
      merbit_plan_desc desc;
      merbit_plan *plan = NULL;
      long blocks;
      fake_reset();
      context = fake_context(NULL);
      memset(&desc, 0, sizeof desc);
      desc.method = MERBIT_METHOD_MERGE; /* needs no lists */
      assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
      assert_int_equal(mbi_device_enter(context), MERBIT_OK);
      assert_int_equal(mbi_nonempty_need(plan), MERBIT_OK);
      assert_in_range(plan->nonempty.count, 1, ROWS - 1);
      if (apart) {
        plan->nonempty.count = 5000000; /* simulates so many rows */
      }
      blocks = cuda->blocks;
      cuda->calls.only = failing[way];
      cuda->calls.code = way == 1 ? 2 : 1;
      cuda->calls.made = 0;
      cuda->calls.fail_at = way == 0 ? 0 : way == 1 ? 1 + apart : 1; /* the last array */
      assert_int_equal(mbi_nonempty_compact(plan), way == 0   ? MERBIT_OK
                                                   : way == 1 ? MERBIT_DEVICE_OUT_OF_MEMORY
                                                              : MERBIT_DEVICE_ERROR);
      assert_int_equal(cuda->calls.failed, way != 0);
      assert_int_equal(cuda->blocks - blocks, way == 0 ? 1 + apart : 0);
      mbi_nonempty_finish(plan, &plan->nonempty);
      assert_int_equal(cuda->blocks - blocks, way == 0);
      mbi_device_leave(context);
      merbit_plan_destroy(plan);
      merbit_context_destroy(context);
      fake_expect_clean();
    }
  }
}

/* Methods are also measured for the products of CG, whose kernels take a stop flag instead of
 * alpha and beta. */
static void solver_measures(void **state) {
  int32_t row_ptr[SIDE + 1], col_ind[SIDE * SIDE];
  double values[SIDE * SIDE], b[SIDE], x[SIDE];
  const merbit_view view = merbit_csr(SIDE, SIDE, SIDE * SIDE, row_ptr, col_ind, values);
  merbit_solver_desc desc = merbit_solver_defaults();
  merbit_context *context;
  merbit_solver *solver;
  int i;
  (void)state;
  for (i = 0; i < SIDE * SIDE; i++) {
    row_ptr[i / SIDE] = i - i % SIDE;
    col_ind[i] = i % SIDE;
    values[i] = i / SIDE == i % SIDE ? SIDE : 1;
    b[i / SIDE] = 2 * SIDE - 1;
  }
  row_ptr[SIDE] = SIDE * SIDE;
  desc.method = MERBIT_SOLVER_CG;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = MERBIT_SIDE_CUDA;
  desc.expected_solves = 10;
  fake_reset();
  context = fake_context(NULL);
  forget_latencies(context);
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_true(solver->plan->stops);
  if (strncmp(solver->plan->why, "measured ", 9) != 0) {
    fail_msg("not measured: %s", solver->plan->why);
  }
  assert_int_equal(merbit_solver_solve(solver, b, x, 0, NULL, 0, NULL), MERBIT_OK);
  for (i = 0; i < SIDE; i++) {
    assert_true(fabs(x[i] - 1) <= 1e-6);
  }
  merbit_solver_destroy(solver);
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* The GPU dies in every call that records a solver's iterations: the error is reported, and the
 * driver is not called again. */
static void solver_dies_recording(void **state) {
  static const char *const calls[] = {"cuStreamCreate",
                                      "cuGraphCreate",
                                      "cuGraphConditionalHandleCreate",
                                      "cuGraphAddNode_v2",
                                      "cuStreamBeginCaptureToGraph",
                                      "cuStreamEndCapture",
                                      "cuStreamDestroy_v2",
                                      "cuGraphInstantiateWithFlags",
                                      "cuGraphDestroy"};
  size_t i;
  (void)state;
  wished = MERBIT_SIDE_CUDA;
  for (i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    chain c;
    const merbit_view view = chain_make(&c);
    merbit_context *context;
    merbit_solver *solver;
    merbit_status status;
    double x[SOLVED];
    fake_reset();
    context = fake_context(NULL);
    assert_int_equal(chain_create(context, &view, MERBIT_SOLVER_CG, MERBIT_PRECONDITIONER_NONE,
                                  MERBIT_MEMORY_HOST, &solver),
                     MERBIT_OK);
    cuda->calls.only = calls[i];
    cuda->calls.code = 719;
    cuda->calls.made = 0;
    cuda->calls.fail_at = 1;
    status = chain_solve(solver, &c, 1, 0, x);
    if (status != MERBIT_DEVICE_LOST || cuda->calls.failed != 1 || cuda->after_death != 0) {
      fail_msg("%s failed %ld times: %s; %ld calls of a dead GPU", calls[i], cuda->calls.failed,
               merbit_status_name(status), cuda->after_death);
    }
    merbit_solver_destroy(solver);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
  wished = MERBIT_SIDE_AUTO;
}

/* A product allocates nothing and waits for nothing. It enters the context, launches once, or
 * twice if rows cross blocks, and leaves; if values are those of columns, another launch
 * multiplies x by them first. */
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
  tuning_take(&desc, 0, 3 - launches_each);
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
  for (i = 0; i < 3; i++) { /* the first one also checks the two addresses */
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

/* A plan for one product of a matrix in device memory, or one for many with that method,
 * launches only the check of its arrays, if at all. A product is one kernel, or two if rows may
 * lie in several chunks. */
static void no_look_at_the_matrix(void **state) {
  int unchecked, crossing;
  (void)state;
  assert_int_equal(data.row_ptr[1], 0); /* row 0 is left out, so that another row is cut */
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
      desc.tuning = crossing ? "steps=2" : NULL;
      desc.block_threads = crossing ? 32 : 0;
      assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
      assert_int_equal(cuda->blocks,
                       HELD + 5 + 1); /* the carries; the check's answer is released */
      assert_int_equal(cuda->launches, !unchecked);
      assert_int_equal(nvrtc->compiled, unchecked ? 3 : 4); /* MERGE's parts; the check */
      assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
      assert_int_equal(info.method, MERBIT_METHOD_MERGE);
      assert_true(crossing ? info.tiles > 1 : info.tiles == 1);
      (void)merbit_plan_describe(plan, line, sizeof line);
      assert_non_null(strstr(line, crossing ? "(requested)"
                                            : "(for 1 product without inspecting the "
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

/* AUTO cannot fall back to the CPU if the user's operators have no functions: it reports the
 * GPU's failure. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(info),
      cmocka_unit_test(solver_without_the_host),
      cmocka_unit_test(solver_in_fused_kernels),
      cmocka_unit_test(every_scenario),
      cmocka_unit_test(what_a_plan_keeps),
      cmocka_unit_test(blocks_that_own_rows),
      cmocka_unit_test(bytes_of_a_plan),
      cmocka_unit_test(bytes_after_new_values),
      cmocka_unit_test(lists_of_rows),
      cmocka_unit_test(solver_measures),
      cmocka_unit_test(solver_dies_recording),
      cmocka_unit_test(calls_of_a_product),
      cmocka_unit_test(no_look_at_the_matrix),
      cmocka_unit_test(expressions_alone),
  };
  fake_open("new");
  scenarios_prepare();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
