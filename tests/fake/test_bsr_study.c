/* The study methods of blocks on CUDA, on the fake driver: products, new values, what they
 * refuse, and failing calls. */
#define MERBIT_STUDY_METHODS
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/block_scenarios.h"

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

/* Every call to the driver in turn, once. */
static void nothing_leaks(void **state) {
  merbit_context_desc desc = fake_desc(MERBIT_SIDE_CUDA);
  long at = 0, failed = 1;
  (void)state;
  desc.cache_dir = "";
  blocks_method = MERBIT_METHOD_BSR_TEAM;
  for (at = 1; failed > 0; at++) {
    merbit_context *context;
    fake_reset();
    cuda->calls.fail_at = at;
    cuda->calls.code = 2; /* out of memory */
    if (merbit_context_create(&desc, &context, NULL) == MERBIT_OK) {
      (void)device_blocks(context);
      merbit_context_destroy(context);
    }
    failed = cuda->calls.failed;
    fake_expect_clean();
  }
  assert_true(at > 50);
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
  expect_refusal(context, &csr, &desc, MERBIT_NOT_SUPPORTED, "blocks as they come");
  desc = study_desc(MERBIT_METHOD_BSR_TEAM);
  expect_refusal(context, &high, &desc, MERBIT_INVALID_ARGUMENT, "one for each entry");
  desc = study_desc(MERBIT_METHOD_BSR_VECTOR);
  desc.block_threads = 48;
  expect_refusal(context, &high, &desc, MERBIT_INVALID_ARGUMENT, "48 threads");
  desc.block_threads = 0;
  desc.sigma = 65;
  expect_refusal(context, &high, &desc, MERBIT_INVALID_ARGUMENT, "plan_desc.sigma is 65");
  desc = study_desc(37);
  expect_refusal(context, &high, &desc, MERBIT_INVALID_ARGUMENT, "method is 37");
  desc = study_desc(MERBIT_METHOD_BSR_ROW_MAJOR);
  desc.side = MERBIT_SIDE_CPU;
  expect_refusal(context, &high, &desc, MERBIT_NO_DEVICE, "bsr-rowmajor");
  merbit_context_destroy(context);
  fake_expect_clean();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_right),
      cmocka_unit_test(nothing_leaks),
      cmocka_unit_test(refusals),
  };
  fake_open("new");
  scenarios_prepare();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
