/* Forecasts for matrices whose parts differ, against sums made by hand, and AUTO's choice for
 * them. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/choose/square_plans.h"

/* Makes each of the first eight parts have `most` rows, which touch `sectors` sectors of x per
 * nonzero, and each of the others `other` rows, which touch `rest`. */
static void halve(merbit_plan *plan, double most, double sectors, double other, double rest) {
  int p;
  plan->nonempty.sampled_parts = 1;
  plan->nonempty.sectors = (sectors + rest) / 2;
  for (p = 0; p < MBI_NONEMPTY_PARTS; p++) {
    plan->nonempty.parts[p].rows = p < 8 ? most : other;
    plan->nonempty.parts[p].sectors = p < 8 ? sectors : rest;
  }
}

/* Makes a matrix with 16M floats in parts like each other. */
static void even(merbit_plan *plan) {
  square_of(plan, MERBIT_F32, 1200000, 16000000);
  halve(plan, 75000, 0.5, 75000, 0.5);
}

/* Makes the first half of the nonzeros lie in 20,000 rows and touch twice the sectors, and the
 * second half none. */
static void uneven(merbit_plan *plan) {
  even(plan);
  halve(plan, 2500, 1, 147500, 0);
}

/* A sample becomes parts: sectors per nonzero, and rows up to the next part, but at least one.
 */
static void parts_are_taken(void **state) {
  uint32_t found[2 * MBI_NONEMPTY_PARTS];
  merbit_plan plan;
  int p;
  (void)state;
  plan_of(&plan, MERBIT_F32, 1000, 160000);
  for (p = 0; p < MBI_NONEMPTY_PARTS; p++) {
    found[p] = (uint32_t)(100 * p);
    found[MBI_NONEMPTY_PARTS + p] = (uint32_t)(p < 14 ? 10 * p : 900);
  }
  mbi_nonempty_take_parts(&plan, found, 16 * 4000.0);
  assert_true(fabs(plan.nonempty.sectors - 12000 / 64000.0) < 1e-12);
  assert_true(fabs(plan.nonempty.parts[3].sectors - 300 / 4000.0) < 1e-12);
  assert_true(plan.nonempty.parts[0].rows == 10 && plan.nonempty.parts[13].rows == 770);
  assert_true(plan.nonempty.parts[14].rows == 1 && plan.nonempty.parts[15].rows == 100);
}

/* Parts like each other change no forecast. */
static void even_parts_change_nothing(void **state) {
  merbit_plan plan, whole;
  (void)state;
  even(&plan);
  whole = plan;
  whole.nonempty.sampled_parts = 0;
  is_about("scan", mbi_scan_cost(&plan), mbi_scan_cost(&whole));
  is_about("rows", mbi_rows_cost(&plan), mbi_rows_cost(&whole));
  is_about("sliced", mbi_sliced_cost(&plan), mbi_sliced_cost(&whole));
}

/* Streams and gathers overlap within a quarter of the matrix, as many nonzeros as the lanes
 * hold at once; at most of 16 parts, and only if parts were sampled. */
static void phases_follow_each_other(void **state) {
  merbit_plan plan;
  double both, power;
  (void)state;
  uneven(&plan);
  power = 0.5 + mbi_choose_passing(&plan) / 16.0;
  both = pow(2.5, power);
  is_about("quarters", mbi_phases_overlap(&plan, 10e-6, 30e-6, NULL),
           5e-6 + 2e-6 * pow(both + pow(15, power), 1 / power));
  is_about("streams", mbi_phases_overlap(&plan, 10e-6, 0, NULL), 10e-6);
  is_about("gathers", mbi_phases_overlap(&plan, 0, 30e-6, NULL), 30e-6);
  plan.device.nnz = 2 * 12 * 270336;
  power = 0.5 + (mbi_choose_passing(&plan) > 8 ? mbi_choose_passing(&plan) : 8) / 16.0;
  is_about("halves", mbi_phases_overlap(&plan, 10e-6, 30e-6, NULL),
           5e-6 + 1e-6 * pow(pow(5, power) + pow(30, power), 1 / power));
  plan.device.nnz--;
  is_about("one part", mbi_phases_overlap(&plan, 10e-6, 30e-6, NULL),
           mbi_choose_overlap(&plan, 10e-6, 30e-6));
  plan.device.nnz = 1000000000;
  plan.nonempty.sampled_parts = 0;
  assert_true(mbi_phases_overlap(&plan, 10e-6, 30e-6, NULL) ==
              mbi_choose_overlap(&plan, 10e-6, 30e-6));
}

/* 20,000 rows occupy 79 of 132 multiprocessors, one block of 256 lanes each, or all of them
 * with blocks of 64, some with three and some with two. A matrix of short rows fills them. */
static void long_rows_are_few(void **state) {
  const double full = 1 + 2300 / (2048.0 * 8);
  const mbi_walkers large = {1, 8, 256, 2300, 0}, more = {16, 32, 256, 2300, 0};
  const mbi_walkers blocks64 = {1, 8, 64, 300, 0};
  merbit_plan plan;
  int p;
  (void)state;
  uneven(&plan);
  is_about("blocks of 256", mbi_phases_overlap(&plan, 0, 1e-3, &large),
           1e-3 * 132 / 79 * (1 + 2300 / (256.0 * 8)) / full);
  is_about("blocks of 64", mbi_phases_overlap(&plan, 0, 1e-3, &blocks64),
           1e-3 * 3 * 132 / 313 * (1 + 300 / (3 * 64.0 * 8)) / (1 + 300 / (2048.0 * 8)));
  is_about("16 lanes per row", mbi_phases_overlap(&plan, 0, 1e-3, &more), 1e-3);
  plan.device.nnz = 4000000; /* streams and gathers overlap, but blocks are as few */
  is_about("4M nonzeros", mbi_phases_overlap(&plan, 0, 1e-3, &large),
           1e-3 * 132 / 79 * (1 + 2300 / (256.0 * 8)) / full);
  for (p = 0; p < 4; p++) { /* more than half as long: they count as long rows */
    plan.nonempty.parts[p].rows = 4900;
  }
  is_about("two kinds of long rows", mbi_phases_overlap(&plan, 0, 1e-3, &large),
           1e-3 * 132 / 116 * (1 + 2300 / (256.0 * 8)) / full);
}

/* Rows of 400 take 25 steps of 16 nonzeros, those of 6.8 one; the lanes are chosen for the
 * mean of 13. */
static void long_rows_take_many_steps(void **state) {
  const mbi_walkers walkers = {16, 16, 256, 2300, 1}, all = {16, 400, 256, 2300, 1};
  merbit_plan plan;
  int p;
  (void)state;
  uneven(&plan);
  is_about("steps", mbi_phases_overlap(&plan, 0, 1e-3, &walkers),
           1e-3 * (1 + 0.5 * (1 - 16 / 400.0)));
  is_about("streams as well", mbi_phases_overlap(&plan, 1e-3, 0, &walkers),
           0.5e-3 + 0.5e-3 * (1 + 0.5 * (1 - 16 / 400.0)));
  is_about("one step", mbi_phases_overlap(&plan, 0, 1e-3, &all), 1e-3);
  even(&plan);
  plan.device.rows = 16000; /* rows of 1,000 everywhere */
  for (p = 0; p < MBI_NONEMPTY_PARTS; p++) {
    plan.nonempty.parts[p].rows = 1000;
  }
  is_about("chosen for them", mbi_phases_overlap(&plan, 0, 1e-3, &walkers), 1e-3);
}

/* SLICED takes small blocks if an eighth of the nonzeros lie together in long rows that are
 * fewer than the 270,336 lanes of 132 multiprocessors. */
static void small_blocks_for_few_rows(void **state) {
  merbit_plan plan;
  int p;
  (void)state;
  even(&plan);
  assert_false(mbi_phases_few(&plan));
  assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_sliced_of(&plan)->threads, 256);
  for (p = 0; p < 2; p++) {
    plan.nonempty.parts[p].rows = 37000; /* less than half of the mean */
  }
  assert_true(mbi_phases_few(&plan));
  assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_sliced_of(&plan)->threads, 64);
  plan.nonempty.sampled_parts = 0;
  assert_false(mbi_phases_few(&plan));
  plan.nonempty.sampled_parts = 1;
  plan.nonempty.parts[1].rows = 37501;
  assert_false(mbi_phases_few(&plan));
  plan.device.rows = 4800000;
  halve(&plan, 33791, 0.5, 566209, 0.5);
  assert_true(mbi_phases_few(&plan)); /* 270,328 */
  halve(&plan, 33792, 0.5, 566208, 0.5);
  assert_false(mbi_phases_few(&plan));
  plan.device.rows = 160000; /* few rows, but all alike */
  for (p = 0; p < MBI_NONEMPTY_PARTS; p++) {
    plan.nonempty.parts[p].rows = 10000;
  }
  assert_false(mbi_phases_few(&plan));
}

static void shares_of_the_nonzeros(void **state) {
  merbit_plan plan;
  (void)state;
  uneven(&plan);
  assert_true(mbi_phases_share(&plan, 0.1, 0.9) == 0);
  assert_true(mbi_phases_share(&plan, 0.1, 1.1) == 0.5);
  plan.nonempty.sampled_parts = 0; /* 0.5 everywhere */
  assert_true(mbi_phases_share(&plan, 0.1, 0.9) == 1);
  assert_true(mbi_phases_share(&plan, 0.1, 0.5) == 0);
  assert_true(mbi_phases_share(&plan, 0.5, 0.9) == 0);
}

/* Long rows together: SLICED has too few lanes for them. (20,000 rows of 400 random floats,
 * then a tridiagonal matrix, on an H200, us: SCAN 77, SLICED 153, ROWS 204.) */
static void auto_sees_phases(void **state) {
  merbit_plan plan;
  (void)state;
  even(&plan);
  plan.nonempty.longest = 400;
  plan.nonempty.typical = 200;
  plan.nonempty.lines = 0.6;
  takes(&plan, MERBIT_METHOD_SLICED, "forecast ");
  uneven(&plan);
  plan.nonempty.longest = 400;
  plan.nonempty.typical = 200;
  plan.nonempty.lines = 0.6;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast ");
}

/* A matrix that L2 holds, with long rows together: ROWS and SLICED are compared with SCAN by
 * forecasts. */
static void auto_sees_phases_in_l2(void **state) {
  merbit_plan plan;
  double together;
  (void)state;
  square_of(&plan, MERBIT_F32, 290000, 4000000);
  plan.nonempty.longest = 400;
  plan.nonempty.typical = 25;
  plan.desc.expected_calls = 10;
  halve(&plan, 625, 1, 35625, 0);
  assert_true(mbi_choose_small(&plan));
  takes(&plan, MERBIT_METHOD_SCAN, "small");
  plan.desc.expected_calls = 1000; /* enough for slices */
  takes(&plan, MERBIT_METHOD_SCAN, "small");
  plan.nonempty.slots = 5 * plan.device.nnz; /* too uneven for ROWS, not for SLICED */
  plan.nonempty.longest = 100;
  takes(&plan, MERBIT_METHOD_SCAN, "small");
  plan.nonempty.sampled_parts = 0;
  takes(&plan, MERBIT_METHOD_SLICED, "small");
  plan.nonempty.slots = plan.device.nnz;
  plan.nonempty.longest = 400;
  takes(&plan, MERBIT_METHOD_ROWS, "small");
  square_of(&plan, MERBIT_F32, 200000, 4000000); /* rows of 42 and of 13: few, but no matter */
  plan.nonempty.longest = 50;
  plan.nonempty.typical = 30;
  plan.desc.expected_calls = 10;
  halve(&plan, 6000, 0.02, 19000, 0.02);
  assert_true(mbi_phases_few(&plan));
  together = mbi_rows_cost(&plan);
  assert_true(together <= mbi_scan_cost(&plan));
  takes(&plan, MERBIT_METHOD_ROWS, "small");
  plan.nonempty.longest = 400; /* rows that lie together start early, others may be the last */
  assert_true(mbi_rows_cost(&plan) == together);
  plan.nonempty.sampled_parts = 0;
  assert_true(mbi_rows_cost(&plan) > 1.1 * together);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_are_taken),           cmocka_unit_test(even_parts_change_nothing),
      cmocka_unit_test(phases_follow_each_other),  cmocka_unit_test(long_rows_are_few),
      cmocka_unit_test(long_rows_take_many_steps), cmocka_unit_test(small_blocks_for_few_rows),
      cmocka_unit_test(shares_of_the_nonzeros),    cmocka_unit_test(auto_sees_phases),
      cmocka_unit_test(auto_sees_phases_in_l2)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
