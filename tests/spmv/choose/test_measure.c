/* Tests what AUTO measures: for which plans, which methods, and how many of them the expected
 * products pay for. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/choose/square_plans.h"

/* If the user chooses the block size nothing is measured, nor for few products, for
 * deterministic plans, nor without nonzeros. */
static void what_is_measured(void **state) {
  mbi_candidate c[MBI_MEASURE_MOST];
  merbit_plan plan;
  int i, *const wishes[] = {&plan.desc.block_threads, &plan.desc.deterministic};
  (void)state;
  square_of(&plan, MERBIT_F64, 4000000, 64000000);
  plan.desc.expected_calls = 2000;
  assert_int_equal(mbi_choose_by_measuring(&plan, c), 3);
  for (i = 0; i < 2; i++) {
    *wishes[i] = 1;
    assert_int_equal(mbi_choose_by_measuring(&plan, c), 0);
    *wishes[i] = 0;
  }
  plan.desc.expected_calls = 100;
  assert_int_equal(mbi_choose_by_measuring(&plan, c), 0);
  plan.desc.expected_calls = 2000;
  plan.device.nnz = 0;
  assert_int_equal(mbi_choose_by_measuring(&plan, c), 0);
}

/* Building and timing the candidates stays within 3% of the expected products. */
static void what_measuring_costs(void **state) {
  /* A schedule, another form, 11 products. */
  static const double scan = 2 + 11, sliced = 2 + 8 + 11;
  const double launch = h200_profile().launch_seconds;
  mbi_candidate c[3] = {
      {MERBIT_METHOD_SLICED, 0, 0}, {MERBIT_METHOD_SCAN, 1, 0}, {MERBIT_METHOD_ROWS, 0, 0}};
  merbit_plan plan;
  int i;
  (void)state;
  square_of(&plan, MERBIT_F64, 4000000, 64000000);
  for (i = 0; i < 3; i++) {
    c[i].seconds = 100e-6 - launch;
  }
  plan.desc.expected_calls = (int)((sliced + scan) / 0.03) + 1;
  assert_int_equal(mbi_measure_affords(&plan, c, 3), 2);
  plan.desc.expected_calls--;
  assert_int_equal(mbi_measure_affords(&plan, c, 3), 0); /* nothing to compare */
  plan.desc.expected_calls = (int)((sliced + 2 * scan) / 0.03) + 1;
  assert_int_equal(mbi_measure_affords(&plan, c, 3), 3);
  assert_int_equal(mbi_measure_affords(&plan, c, 2), 2);
  assert_int_equal(mbi_measure_affords(&plan, c, 1), 0);
  c[2].seconds *= 1.1; /* each candidate counts by its own time */
  assert_int_equal(mbi_measure_affords(&plan, c, 3), 2);
  plan.desc.expected_calls = (int)(100 * (sliced + scan) / 0.03);
  c[1].seconds = 100 * c[0].seconds;
  assert_int_equal(mbi_measure_affords(&plan, c, 2), 2);
  plan.desc.expected_calls /= 10;
  assert_int_equal(mbi_measure_affords(&plan, c, 2), 0);
  square_of(&plan, MERBIT_F32, 100000, 500000); /* small: 41 products */
  plan.desc.expected_calls = (int)(2 * (2 + 41) / 0.03) + 1;
  c[1].seconds = c[2].seconds;
  assert_int_equal(mbi_measure_affords(&plan, c + 1, 2), 2);
  plan.desc.expected_calls--;
  assert_int_equal(mbi_measure_affords(&plan, c + 1, 2), 0);
}

/* SCAN is measured besides the choice, however slow its forecast. */
static void the_safe_method_is_measured(void **state) {
  mbi_candidate c[MBI_MEASURE_MOST];
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 32000000, 64000000); /* SCAN takes twice as long as BINNED */
  plan.nonempty.sectors = 1;
  assert_int_equal(mbi_measure_candidates(&plan, c), 2);
  assert_true(c[0].method == MERBIT_METHOD_BINNED && c[1].method == MERBIT_METHOD_SCAN);
  assert_true(c[1].seconds == mbi_scan_cost(&plan) && c[1].seconds > 1.75 * c[0].seconds);
  with_hubs(&plan); /* the third by its forecast */
  plan.nonempty.hub_share = 0.5;
  assert_int_equal(mbi_measure_candidates(&plan, c), 3);
  assert_int_equal(c[1].method, MERBIT_METHOD_SCAN);
  assert_true(c[0].method == MERBIT_METHOD_HUBS && c[2].method == MERBIT_METHOD_BINNED);
  assert_true(c[0].seconds < c[2].seconds && c[2].seconds < c[1].seconds);
  square_of(&plan, MERBIT_F64, 3000000, 60000000); /* the second of all */
  plan.nonempty.lines = 0.1;
  plan.nonempty.lines_abreast = 0.9;
  assert_int_equal(mbi_measure_candidates(&plan, c), 3);
  assert_true(c[0].method == MERBIT_METHOD_ROWS && c[1].method == MERBIT_METHOD_SCAN);
  assert_int_equal(c[2].method, MERBIT_METHOD_SLICED);
  plan.nonempty.narrow = 1; /* the third */
  plan.nonempty.lines_abreast = 0.1;
  assert_int_equal(mbi_measure_candidates(&plan, c), 3);
  assert_true(c[0].method == MERBIT_METHOD_SLICED && c[1].method == MERBIT_METHOD_SCAN);
  assert_int_equal(c[2].method, MERBIT_METHOD_ROWS);
  square_of(&plan, MERBIT_F32, 100000, 500000);
  plan.nonempty.longest = 8;
  assert_int_equal(mbi_measure_candidates(&plan, c), 3);
  assert_true(c[0].method == MERBIT_METHOD_ROWS && c[1].method == MERBIT_METHOD_SCAN);
  assert_true(c[1].whole == 2 && c[2].method == MERBIT_METHOD_SCAN && c[2].whole == 1);
  plan.nonempty.diagonal_slots = 1;
  assert_int_equal(mbi_measure_candidates(&plan, c), 3);
  assert_true(c[0].method == MERBIT_METHOD_DIAGONALS && c[1].method == MERBIT_METHOD_SCAN);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_measured),
      cmocka_unit_test(what_measuring_costs),
      cmocka_unit_test(the_safe_method_is_measured),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
