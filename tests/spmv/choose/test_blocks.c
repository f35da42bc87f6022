/* Where AUTO looks for blocks with holes: each limit in spmv/choose/choose.c. */
#include "support/internal.h"
#include "spmv/choose/choose.c"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/choose/square_plans.h"

static void where_blocks_are_looked_for(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 5000000, 30000000);
  plan.nonempty.block_rows = plan.nonempty.block_cols = 1;
  plan.nonempty.lines = 0.39;
  plan.nonempty.diagonal_slots = 64;
  assert_int_equal(plan.desc.expected_calls, 100); /* the default */
  assert_true(mbi_choose_probes(&plan));
  plan.desc.expected_calls = 40;
  assert_false(mbi_choose_probes(&plan));
  plan.desc.expected_calls = 100;
  plan.nonempty.lines = 0.41;
  assert_false(mbi_choose_probes(&plan));
  plan.nonempty.lines = 0.39;
  plan.device.rows++;
  assert_false(mbi_choose_probes(&plan));
  plan.device.rows--;
  plan.nonempty.diagonal_slots = 1;
  assert_false(mbi_choose_probes(&plan));
  plan.nonempty.diagonal_slots = 64;
  plan.nonempty.block_cols = 4;
  assert_false(mbi_choose_probes(&plan));
  plan.nonempty.block_cols = 1;
  plan.device.form = MBI_VALUES_TABLE;
  assert_false(mbi_choose_probes(&plan));
  plan.device.form = MBI_VALUES_GENERAL;
  plan.device.values = 0;
  assert_false(mbi_choose_probes(&plan));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(where_blocks_are_looked_for),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
