/* AUTO between two methods whose forecasts hardly differ (mbi_choose_tie). */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/choose/square_plans.h"

/* If the forecasts of ROWS and SLICED differ by less than 2%, SLICED is taken for matrices most
 * of which does not stay in L2. */
static void ties_of_rows_and_slices(void **state) {
  int large, i, seen[2][3] = {{0, 0, 0}, {0, 0, 0}};
  (void)state;
  for (large = 0; large < 2; large++) {
    for (i = 0; i <= 500; i++) {
      merbit_plan plan;
      double rows, slices;
      merbit_method expected;
      square_of(&plan, MERBIT_F64, large ? 500000 : 100000, large ? 20000000 : 4000000);
      plan.desc.expected_calls = 1000000;
      plan.nonempty.longest = 49;
      plan.nonempty.sectors = 0.3;
      plan.nonempty.lines = large ? 0.3 : 0.9;
      plan.nonempty.narrow = large ? 0.2 : 1;
      plan.nonempty.lines_abreast = i / 500.0;
      assert_int_equal(mbi_choose_passing(&plan) >= 12, large);
      rows = mbi_rows_cost(&plan);
      slices = mbi_sliced_cost(&plan);
      expected = slices < (large ? 1.02 : 1) * rows ? MERBIT_METHOD_SLICED : MERBIT_METHOD_ROWS;
      if (mbi_scan_cost(&plan) > rows && mbi_scan_cost(&plan) > slices) {
        assert_int_equal(mbi_choose_method(&plan), expected);
        seen[large][slices < rows ? 0 : slices < 1.02 * rows ? 1 : 2]++;
      }
    }
  }
  assert_true(seen[0][1] > 0 && seen[1][0] > 0 && seen[1][1] > 0 && seen[1][2] > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ties_of_rows_and_slices),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
