/* The study methods on the fake driver: products, new values, refused matrices, and failing
 * calls. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/scenarios.h"

static merbit_plan_desc study_desc(int method) {
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.method = (merbit_method)method;
  return desc;
}

static void products_are_right(void **state) {
  merbit_context_desc desc = fake_desc(MERBIT_SIDE_CUDA);
  int method;
  (void)state;
  fake_reset();
  desc.cache_dir = "";
  for (method = MERBIT_METHOD_BSR_ROW_MAJOR; method <= (int)MERBIT_METHOD_BSR_VECTOR;
       method++) {
    merbit_context *context;
    assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
    blocks_method = (merbit_method)method;
    assert_int_equal(host_blocks(context), MERBIT_OK);
    assert_int_equal(device_blocks(context), MERBIT_OK);
    merbit_context_destroy(context);
  }
  fake_expect_clean();
}

static merbit_status tiled_products(merbit_context *context) {
  return products_by(context, MERBIT_METHOD_WARP_TILED, 0, 0);
}

/* Uses a workspace besides the plan's own, and twice the values. */
static void products_of_csr_are_right(void **state) {
  int method;
  (void)state;
  for (method = MERBIT_METHOD_WARP_LOOP; method <= (int)MERBIT_METHOD_PATH_GLOBAL; method++) {
    merbit_context *context;
    int seed;
    for (seed = 0; seed < 5; seed++) {
      fake_reset();
      cuda->seed = (uint64_t)seed;
      context = fake_context(NULL);
      assert_int_equal(products_by(context, (merbit_method)method, 0, 0), MERBIT_OK);
      merbit_context_destroy(context);
      fake_expect_clean();
    }
  }
}

/* Nothing to add and nothing to write. */
static void nothing_to_multiply(void **state) {
  static const int32_t row_ptr[] = {0, 0, 0, 0};
  static const double alpha = 1, beta = 2;
  int method, rows;
  (void)state;
  fake_reset();
  for (method = MERBIT_METHOD_WARP_LOOP; method <= (int)MERBIT_METHOD_PATH_GLOBAL; method++) {
    for (rows = 0; rows <= 3; rows += 3) {
      const merbit_view view = merbit_csr(rows, 0, 0, row_ptr, row_ptr, NULL);
      const merbit_plan_desc desc = study_desc(method);
      double y[3] = {1, 2, 3};
      merbit_context *context = fake_context(NULL);
      merbit_buffer *ys;
      merbit_plan *plan;
      assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
      assert_int_equal(put(context, y, sizeof y, &ys), MERBIT_OK);
      assert_int_equal(
          merbit_spmv(plan, NULL, &alpha, NULL, &beta, merbit_buffer_pointer(ys), NULL),
          MERBIT_OK);
      assert_int_equal(merbit_buffer_download(ys, 0, y, sizeof y), MERBIT_OK);
      assert_true(y[0] == (rows > 0 ? 2 : 1) && y[2] == (rows > 0 ? 6 : 3));
      merbit_buffer_destroy(ys);
      merbit_plan_destroy(plan);
      merbit_context_destroy(context);
    }
  }
  fake_expect_clean();
}

/* Lets every driver call fail in turn, once. */
static void expect_no_leak(merbit_status (*work)(merbit_context *)) {
  merbit_context_desc desc = fake_desc(MERBIT_SIDE_CUDA);
  long at = 0, failed = 1;
  for (at = 1; failed > 0; at++) {
    merbit_context *context;
    fake_reset();
    cuda->calls.fail_at = at;
    cuda->calls.code = 2; /* out of memory */
    if (merbit_context_create(&desc, &context, NULL) == MERBIT_OK) {
      (void)work(context);
      merbit_context_destroy(context);
    }
    failed = cuda->calls.failed;
    fake_expect_clean();
  }
  assert_true(at > 50);
}

static void nothing_leaks(void **state) {
  (void)state;
  blocks_method = MERBIT_METHOD_BSR_TEAM;
  expect_no_leak(device_blocks);
  expect_no_leak(tiled_products);
}

static void expect_refusal(merbit_context *context, const merbit_view *view,
                           const merbit_plan_desc *desc, merbit_status expected,
                           const char *part) {
  char sentence[MERBIT_MESSAGE_SIZE];
  merbit_plan *plan = NULL;
  assert_int_equal(merbit_plan_create(context, view, desc, &plan), expected);
  assert_null(plan);
  (void)merbit_last_error(context, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, part));
}

static void refusals(void **state) {
  const merbit_view csr =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  const merbit_view high = merbit_bsr(64, 64, 1, 64, 64, row_ptr, col_ind, NULL);
  merbit_context_desc context_desc = fake_desc(MERBIT_SIDE_CUDA);
  merbit_plan_desc desc;
  merbit_context *context;
  (void)state;
  fake_reset();
  assert_int_equal(merbit_context_create(&context_desc, &context, NULL), MERBIT_OK);
  desc = study_desc(MERBIT_METHOD_BSR_VECTOR);
  desc.block_rows = desc.block_cols = 2;
  expect_refusal(context, &csr, &desc, MERBIT_NOT_SUPPORTED, "only blocks without masks");
  desc = study_desc(MERBIT_METHOD_BSR_TEAM);
  expect_refusal(context, &high, &desc, MERBIT_INVALID_ARGUMENT, "one for each entry");
  desc = study_desc(MERBIT_METHOD_BSR_VECTOR);
  desc.block_threads = 48;
  expect_refusal(context, &high, &desc, MERBIT_INVALID_ARGUMENT, "48 threads");
  desc.block_threads = 0;
  desc.tuning = "waves=65";
  expect_refusal(context, &high, &desc, MERBIT_INVALID_ARGUMENT, "waves is 65");
  desc = study_desc(37);
  expect_refusal(context, &high, &desc, MERBIT_INVALID_ARGUMENT, "method is 37");
  desc = study_desc(MERBIT_METHOD_BSR_ROW_MAJOR);
  desc.side = MERBIT_SIDE_CPU;
  expect_refusal(context, &high, &desc, MERBIT_NO_DEVICE, "bsr-rowmajor");
  merbit_context_destroy(context);
  fake_expect_clean();
}

static void refusals_of_csr(void **state) {
  static const struct {
    merbit_method method;
    int first, second, threads;
    const char *part;
  } list[] = {{MERBIT_METHOD_WARP_LOOP, 17, 0, 0, "1 to 16 rows at once"},
              {MERBIT_METHOD_WARP_LOOP, 0, 12, 0, "a power of two up to 32"},
              {MERBIT_METHOD_WARP_LOOP, 0, 0, 48, "block_threads 48"},
              {MERBIT_METHOD_WARP_TILED, 4097, 0, 0, "32 to 4096 columns"},
              {MERBIT_METHOD_WARP_TILED, 31, 0, 0, "columns is 31"},
              {MERBIT_METHOD_WARP_TILED, 0, 5, 0, "1 to 4 rows a warp"},
              {MERBIT_METHOD_NONZERO_SPLIT, 17, 0, 0, "method nonzero-split takes 1 to 16"},
              {MERBIT_METHOD_PATH_WALK, -1, 0, 0, "steps is -1"},
              {MERBIT_METHOD_PATH_WALK, 5, 0, 1024, "together up to 4096"},
              {MERBIT_METHOD_PATH_GLOBAL, 1025, 0, 0, "steps is 1025"},
              {MERBIT_METHOD_PATH_GLOBAL, 0, 0, 48, "block_threads 48"}};
  merbit_context *context;
  merbit_view csr = merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  merbit_plan_desc desc;
  size_t i;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    desc = study_desc((int)list[i].method);
    tuning_take(&desc, list[i].first, list[i].second);
    desc.block_threads = list[i].threads;
    expect_refusal(context, &csr, &desc, MERBIT_INVALID_ARGUMENT, list[i].part);
  }
  desc = study_desc(MERBIT_METHOD_WARP_LOOP);
  desc.side = MERBIT_SIDE_CPU;
  expect_refusal(context, &csr, &desc, MERBIT_NO_DEVICE, "warp-loop");
  merbit_context_destroy(context);
  fake_expect_clean();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_right),
      cmocka_unit_test(products_of_csr_are_right),
      cmocka_unit_test(nothing_to_multiply),
      cmocka_unit_test(nothing_leaks),
      cmocka_unit_test(refusals),
      cmocka_unit_test(refusals_of_csr),
  };
  fake_open("new");
  scenarios_prepare();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
