/* DIAGONALS's sizes, without a GPU: sizes up to those that are too large, refusals, and how a
 * matrix is loaded. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/plan_sizes.h"

static void sizes(void **state) {
  merbit_plan plan;
  (void)state;
  plan_of(&plan, MERBIT_F64, INT32_MAX, UINT32_MAX - 32);
  assert_int_equal(mbi_diagonals_size(&plan), MERBIT_OK);
  assert_true(mbi_diagonals_of(&plan)->slices == TWO(25));
  assert_true(mbi_diagonals_of(&plan)->blocks == TWO(23)); /* four warps a block */
  plan.device.rows++;
  assert_int_equal(mbi_diagonals_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE,
             "2147483648 rows with 4294967263 nonzeros are too many");
  plan.device.rows--;
  plan.device.nnz++;
  assert_int_equal(mbi_diagonals_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "for MERBIT_METHOD_DIAGONALS; use another");
}

/* Eight general values at once in rows of more than eight nonzeros if L2 holds the matrix,
 * otherwise in rows of more than 48. */
static void loads_at_once(void **state) {
  static const struct {
    uint64_t rows, nnz;
    mbi_value_form form;
    int unroll;
  } cases[] = {
      {1000, 8000, MBI_VALUES_GENERAL, 4},        {1000, 8001, MBI_VALUES_GENERAL, 8},
      {1000, 8001, MBI_VALUES_HALF, 4},           {1000000, 48000000, MBI_VALUES_GENERAL, 4},
      {1000000, 48000001, MBI_VALUES_GENERAL, 8}, {1000000, 48000001, MBI_VALUES_HALF, 4}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    plan_of(&plan, MERBIT_F64, cases[i].rows, cases[i].nnz);
    plan.device.values = 16;
    plan.device.form = cases[i].form;
    assert_int_equal(mbi_diagonals_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_diagonals_of(&plan)->unroll, cases[i].unroll);
    plan.tuning[MBI_KNOB_DIAGONALS_UNROLL] = 2;
    assert_int_equal(mbi_diagonals_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_diagonals_of(&plan)->unroll, 2);
  }
}

static void forms_that_nobody_makes(void **state) {
  static const int bad[][2] = {{-1, 0}, {3, 0}, {16, 0}, {0, 31}, {0, 1056}, {0, 48}, {0, -32}};
  static const int good[][2] = {{1, 32}, {2, 96}, {4, 512}, {8, 1024}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0] + sizeof good / sizeof good[0]; i++) {
    const int wrong = i < sizeof bad / sizeof bad[0];
    const int *values = wrong ? bad[i] : good[i - sizeof bad / sizeof bad[0]];
    merbit_plan plan;
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.tuning[MBI_KNOB_DIAGONALS_UNROLL] = values[0];
    plan.desc.block_threads = values[1];
    assert_int_equal(mbi_diagonals_size(&plan), wrong ? MERBIT_INVALID_ARGUMENT : MERBIT_OK);
    if (wrong) {
      cpu_expect(context, MERBIT_INVALID_ARGUMENT, "use 1, 2, 4 or 8, and a multiple of 32");
    }
  }
}

/* A warp for each slice, up to four blocks of four warps per multiprocessor. */
static void warps_that_build(void **state) {
  merbit_plan plan;
  (void)state;
  context->device.multiprocessors = 10;
  plan_of(&plan, MERBIT_F64, 64 * 4 * 39 + 1, 1000);
  assert_int_equal(mbi_diagonals_size(&plan), MERBIT_OK);
  assert_true(mbi_diagonals_build_blocks(&plan) == 40);
  plan.device.rows = 64 * 4 * 38 + 1;
  assert_int_equal(mbi_diagonals_size(&plan), MERBIT_OK);
  assert_true(mbi_diagonals_build_blocks(&plan) == 39);
  plan.device.rows = 64 * 4 * 40 + 1;
  assert_int_equal(mbi_diagonals_size(&plan), MERBIT_OK);
  assert_true(mbi_diagonals_build_blocks(&plan) == 40);
}

/* Streaming loads if L2 does not hold the matrix, whether or not it was sampled. */
static void loads(void **state) {
  static const double slots[] = {0, 1, 1.4};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof slots / sizeof slots[0]; i++) {
    int large;
    for (large = 0; large < 2; large++) {
      merbit_plan plan;
      mbi_preamble preamble;
      plan_of(&plan, MERBIT_F64, 1000, 100000);
      plan.device.values = 16;
      plan.nonempty.diagonal_slots = slots[i];
      plan.streaming = 1;
      {
        merbit_device_profile profile = *plan.profile;
        profile.l2_bytes = large ? 500000 : 5000000; /* the matrix has about 820,000 or more */
        plan.profile = &profile;
        plan.passing = large ? 16 : 0;
        assert_int_equal(mbi_diagonals_size(&plan), MERBIT_OK);
        mbi_diagonals_preamble(&plan, &preamble);
      }
      assert_non_null(strstr(preamble.text, large ? "MBK_STREAMING 1" : "MBK_STREAMING 0"));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(loads_at_once),
                                     cmocka_unit_test(forms_that_nobody_makes),
                                     cmocka_unit_test(warps_that_build),
                                     cmocka_unit_test(loads)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
