/* AUTO between two methods whose forecasts hardly differ (mbi_choose_tie). */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/choose/square_plans.h"

/* If the forecasts of SLICED and of SCAN or ROWS differ by less than 2%, SLICED is taken for
 * matrices most of which does not stay in L2. */
static void ties_with_slices(void **state) {
  int large, i, seen[2][3] = {{0, 0, 0}, {0, 0, 0}};
  (void)state;
  for (large = 0; large < 2; large++) {
    for (i = 0; i <= 500; i++) {
      merbit_plan plan;
      double rows, scan, slices, least;
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
      scan = mbi_scan_cost(&plan);
      slices = mbi_sliced_cost(&plan);
      least = scan < rows ? scan : rows;
      expected = slices < (large ? 1.02 : 1) * least ? MERBIT_METHOD_SLICED
                 : scan < rows                       ? MERBIT_METHOD_SCAN
                                                     : MERBIT_METHOD_ROWS;
      assert_int_equal(mbi_choose_method(&plan), expected);
      seen[large][slices < least ? 0 : slices < 1.02 * least ? 1 : 2]++;
    }
  }
  assert_true(seen[0][1] > 0 && seen[1][0] > 0 && seen[1][1] > 0 && seen[1][2] > 0);
}

/* The same for SLICED and HUBS or BINNED, which are compared after it. */
static void ties_with_hubs_and_bins(void **state) {
  int bins, i, seen[2][3] = {{0, 0, 0}, {0, 0, 0}};
  (void)state;
  for (bins = 0; bins < 2; bins++) {
    for (i = 0; i <= 1000; i++) {
      merbit_plan plan;
      double other, slices;
      square_of(&plan, MERBIT_F32, 2000000, 32000000);
      plan.desc.expected_calls = 1000000;
      plan.nonempty.longest = 16;
      plan.nonempty.sectors = bins ? 0.4 + i / 2000.0 : 0.8;
      plan.nonempty.lines = 1;
      plan.nonempty.lines_abreast = 0.5;
      plan.nonempty.hub_share = bins ? 0 : 0.3 + i / 2000.0;
      slices = mbi_sliced_cost(&plan);
      other = bins ? mbi_binned_cost(&plan) : mbi_hubs_cost(&plan);
      if (other < mbi_rows_cost(&plan) && other < mbi_scan_cost(&plan) &&
          (bins || other < mbi_binned_cost(&plan))) {
        assert_int_equal(mbi_choose_method(&plan), slices <= 1.02 * other ? MERBIT_METHOD_SLICED
                                                   : bins                 ? MERBIT_METHOD_BINNED
                                                                          : MERBIT_METHOD_HUBS);
        seen[bins][slices < other ? 0 : slices < 1.02 * other ? 1 : 2]++;
      }
    }
  }
  for (bins = 0; bins < 2; bins++) {
    if (seen[bins][0] == 0 || seen[bins][1] == 0 || seen[bins][2] == 0) {
      fail_msg("%s: %d, %d, %d", bins ? "bins" : "hubs", seen[bins][0], seen[bins][1],
               seen[bins][2]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ties_with_slices),
      cmocka_unit_test(ties_with_hubs_and_bins),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
