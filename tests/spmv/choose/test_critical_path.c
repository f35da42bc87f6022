/* The time in which one lane, warp or block walks a long row, in each forecast and in each
 * decision that asks whether rows are even. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/choose/square_plans.h"

/* 4 million rows of 8, and 200 side by side of 40,000: slices as they come waste next to
 * nothing, and yet a lane walks 40,000 nonzeros. */
static void with_linking_rows(merbit_plan *plan, merbit_type type) {
  square_of(plan, type, 4000000, 8 * (4000000 - 200) + 200 * 40000);
  plan->nonempty.longest = 40000;
  plan->nonempty.slots = plan->nonempty.sorted_slots = 8 * (4000000 - 224) + 7 * 32 * 40000;
  plan->nonempty.narrow = 1;
}

static void long_rows_among_even_ones(void **state) {
  int type;
  (void)state;
  for (type = 0; type < 2; type++) {
    merbit_plan plan;
    double scan;
    int step = type ? 4 : 8;
    with_linking_rows(&plan, type ? MERBIT_F64 : MERBIT_F32);
    takes(&plan, MERBIT_METHOD_SCAN, type ? ", sliced 9994 us" : ", sliced 4994 us");
    plan.tuning[MBI_KNOB_SLICED_UNROLL] = 4; /* more in flight, fewer steps */
    takes(&plan, MERBIT_METHOD_SCAN, type ? ", sliced 4994 us" : ", sliced 2494 us");
    plan.tuning[MBI_KNOB_SLICED_UNROLL] = 0;
    /* The longest row takes a little longer than SCAN's product plus the 6 us that all
     * forecasts leave out. */
    scan = mbi_scan_cost(&plan);
    plan.nonempty.longest = (uint32_t)((scan + 6e-6) / 1e-6 * step) + 1;
    takes(&plan, MERBIT_METHOD_SCAN, "even rows");
    assert_true(mbi_sliced_cost(&plan) > scan);
    plan.nonempty.longest -= 1 + 15 * (uint32_t)step; /* saves enough */
    takes(&plan, MERBIT_METHOD_SLICED, "even rows");
    assert_true(mbi_sliced_cost(&plan) < scan);
  }
}

/* If the walk takes no longer than the rest, costs are those of rows of one length. */
static void walks_that_do_not_show(void **state) {
  const mbi_method *row;
  merbit_plan plan;
  size_t i;
  int costs = 0;
  (void)state;
  with_linking_rows(&plan, MERBIT_F32);
  plan.nonempty.longest = 8;
  takes(&plan, MERBIT_METHOD_SLICED, "even rows");
  for (i = 0; (row = mbi_method_row(i)) != NULL; i++) {
    if (row->cuda != NULL && row->cuda->cost != NULL) {
      double even;
      plan.nonempty.longest = 8;
      even = row->cuda->cost(&plan);
      plan.nonempty.longest = 400;
      assert_true(row->cuda->cost(&plan) == even);
      costs++;
    }
  }
  assert_true(costs >= 6);
  takes(&plan, MERBIT_METHOD_SLICED, "even rows");
}

/* Lanes per row walk too: 4 lanes take 20 nonzeros a step of 1 us, of a small matrix 6 by one
 * lane in 0.4 us. */
static void long_rows_by_lanes(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 4000000, 64000000);
  plan.device.values = 0;
  plan.nonempty.sectors = 1;
  plan.nonempty.longest = 20 * 522;
  takes(&plan, MERBIT_METHOD_ROWS, "rows 518 us");
  plan.nonempty.longest = 20 * 532;
  takes(&plan, MERBIT_METHOD_ROWS, "rows 526 us");
  plan.nonempty.longest = 20 * 540;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan 534 us, rows 534 us, sliced 2694 us");
  square_of(&plan, MERBIT_F32, 100000, 500000);
  plan.nonempty.longest = 3 * 6; /* all of it in flight at once by SCAN */
  takes(&plan, MERBIT_METHOD_ROWS, "small, with even rows");
  plan.nonempty.longest = 3 * 6 + 1;
  takes(&plan, MERBIT_METHOD_SCAN, "small, with uneven rows");
  plan.tuning[MBI_KNOB_ROWS_LANES] = 4; /* lanes of two nonzeros each: 8 at once */
  takes(&plan, MERBIT_METHOD_ROWS, "small, with even rows");
}

/* Decisions by even rows elsewhere: semirings, measuring, forms of values, several vectors. */
static void long_rows_elsewhere(void **state) {
  mbi_candidate candidates[MBI_MEASURE_MOST];
  merbit_plan plan;
  uint32_t forms = 0;
  int i, count;
  (void)state;
  square_of(&plan, MERBIT_F32, 100000, 500000);
  plan.nonempty.row_start = 256; /* counted */
  plan.nonempty.longest = 8;
  assert_int_equal(mbi_choose_semiring(&plan), MERBIT_OK);
  assert_int_equal(plan.method, MERBIT_METHOD_ROWS);
  assert_int_equal(mbi_measure_candidates(&plan, candidates), 3);
  plan.nonempty.longest = 40000;
  assert_int_equal(mbi_choose_semiring(&plan), MERBIT_OK);
  assert_int_equal(plan.method, MERBIT_METHOD_SCAN);
  assert_int_equal(mbi_measure_candidates(&plan, candidates), 2);
  with_linking_rows(&plan, MERBIT_F64);
  count = mbi_measure_candidates(&plan, candidates);
  for (i = 0; i < count; i++) {
    assert_int_not_equal(candidates[i].method, MERBIT_METHOD_SLICED);
    assert_int_not_equal(candidates[i].method, MERBIT_METHOD_ROWS);
  }
  plan.desc.expected_calls = MBI_VALUES_MORE_CALLS;
  plan.nonempty.block_rows = plan.nonempty.block_cols = 1; /* known */
  assert_int_equal(mbi_choose_forms(&plan, &forms), MERBIT_OK);
  assert_int_equal(forms & MBI_FORMS_SLOW, 0);
  plan.nonempty.longest = 8;
  assert_int_equal(mbi_choose_forms(&plan, &forms), MERBIT_OK);
  assert_int_equal(forms & MBI_FORMS_SLOW, MBI_FORMS_SLOW);
  plan.desc.vectors = 4;
  plan.desc.vector_order = MERBIT_VECTORS_ROW_MAJOR;
  assert_int_equal(mbi_many_size(&plan), MERBIT_OK);
  assert_true(mbi_many_of(&plan)->staged > 0);
  plan.nonempty.longest = 40000;
  assert_int_equal(mbi_many_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_many_of(&plan)->staged, 0);
}

/* A row that crosses very many tiles is added up by one block of the fix-up, in each method
 * that cuts rows into tiles. */
static void rows_that_the_fixup_walks(void **state) {
  static const merbit_method cut[] = {MERBIT_METHOD_SCAN, MERBIT_METHOD_BINNED,
                                      MERBIT_METHOD_HUBS, MERBIT_METHOD_BSR,
                                      MERBIT_METHOD_MERGE};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cut / sizeof cut[0]; i++) {
    const mbi_cuda_method *const method = mbi_method_find(cut[i])->cuda;
    merbit_plan plan;
    double before;
    with_hubs(&plan);
    plan.nonempty.block_rows = plan.nonempty.block_cols = 4;
    if (cut[i] == MERBIT_METHOD_MERGE) {
      plan.device.rows = 3 * plan.device.nnz;
    }
    before = method->cost(&plan);
    assert_true(before < HUGE_VAL);
    plan.nonempty.longest = 30000;
    assert_true(method->cost(&plan) == before);
    plan.nonempty.longest = 60000000;
    assert_true(method->cost(&plan) > before + 5e-6);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_rows_among_even_ones), cmocka_unit_test(walks_that_do_not_show),
      cmocka_unit_test(long_rows_by_lanes),        cmocka_unit_test(long_rows_elsewhere),
      cmocka_unit_test(rows_that_the_fixup_walks),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
