/* ROWS's sizes, without a GPU: sizes up to those that are too large, and refusals. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/plan_sizes.h"

static void lanes_per_row(void **state) {
  static const struct {
    merbit_type type;
    uint64_t rows, nnz;
    int lanes, unroll;
  } expected[] = {{MERBIT_F64, 0, 0, 1, 1},      {MERBIT_F64, 10, 10, 1, 2},
                  {MERBIT_F64, 10, 30, 1, 4},    {MERBIT_F64, 10, 31, 1, 4},
                  {MERBIT_F64, 10, 60, 1, 6},    {MERBIT_F64, 10, 61, 2, 4},
                  {MERBIT_F64, 10, 480, 8, 6},   {MERBIT_F64, 10, 481, 16, 4},
                  {MERBIT_F64, 10, 960, 16, 6},  {MERBIT_F64, 10, 961, 32, 4},
                  {MERBIT_F64, 10, 2560, 32, 8}, {MERBIT_F64, 1, 100000, 32, 8},
                  {MERBIT_F32, 10, 70, 1, 7},    {MERBIT_F32, 10, 71, 2, 4},
                  {MERBIT_F32, 10, 140, 2, 7},   {MERBIT_F32, 10, 141, 4, 4},
                  {MERBIT_F32, 10, 2560, 32, 8}, {MERBIT_F32, 1, 100000, 32, 8},
                  {MERBIT_C64, 10, 60, 1, 6},    {MERBIT_C128, 10, 40, 1, 4},
                  {MERBIT_C128, 10, 41, 2, 3}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    plan_of(&plan, expected[i].type, expected[i].rows, expected[i].nnz);
    plan.nonempty.longest = 1000000;
    assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_rows_of(&plan)->lanes, expected[i].lanes);
    assert_int_equal(mbi_rows_of(&plan)->unroll, expected[i].unroll);
    assert_true(mbi_rows_of(&plan)->blocks ==
                (expected[i].rows * (uint64_t)mbi_rows_of(&plan)->lanes + 255) / 256);
  }
  plan_of(&plan, MERBIT_F64, 256 * (uint64_t)INT32_MAX, 5);
  assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
  plan.device.rows++;
  assert_int_equal(mbi_rows_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "too many for MERBIT_METHOD_ROWS");
}

/* Lanes cover the longest row if it is at most 1.2 times as long as the average, otherwise the
 * longest of each 32 up to 1.8 times, or most rows up to 1.2 times where the average has
 * shorter ones from another part of the matrix. Doubles in much longer rows get more lanes. */
static void lanes_cover_longer_rows(void **state) {
  static const struct {
    merbit_type type;
    uint32_t mean, longest;
    double slots, typical; /* nonzeros of a row */
    int lanes, unroll;
  } expected[] = {{MERBIT_F32, 70, 84, 70, 70, 16, 6},   {MERBIT_F32, 70, 85, 70, 70, 16, 5},
                  {MERBIT_F32, 30, 100, 35, 31, 8, 5},   {MERBIT_F32, 30, 100, 53.9, 31, 8, 7},
                  {MERBIT_F32, 30, 100, 54.1, 31, 8, 4}, {MERBIT_F32, 30, 100, 30, 35, 8, 5},
                  {MERBIT_F32, 30, 100, 30, 36.1, 8, 4}, {MERBIT_F32, 4, 9, 7, 5, 1, 7},
                  {MERBIT_F32, 3, 9, 5, 4, 1, 4},        {MERBIT_F64, 24, 99, 48, 48, 4, 6},
                  {MERBIT_F64, 24, 99, 48, 48.1, 8, 3},  {MERBIT_F64, 18, 18, 18, 18, 4, 5}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    const uint64_t rows = 1000000;
    plan_of(&plan, expected[i].type, rows, rows * expected[i].mean);
    plan.nonempty.longest = expected[i].longest;
    plan.nonempty.slots = (uint64_t)(expected[i].slots * (double)rows);
    plan.nonempty.typical = expected[i].typical;
    assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_rows_of(&plan)->lanes, expected[i].lanes);
    assert_int_equal(mbi_rows_of(&plan)->unroll, expected[i].unroll);
  }
  plan.nonempty.sectors = 0.5;
  assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_rows_of(&plan)->lanes, 4);
  plan.nonempty.sectors = 0.51; /* scattered columns */
  assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_rows_of(&plan)->lanes, 8);
}

/* Long rows that move through a large x together have few nonzeros in flight: half a warp each
 * if L1 then serves more of them; four floats per lane if L1 keeps them. L1 has 227 KB. */
static void rows_that_move_together(void **state) {
  static const struct {
    merbit_type type;
    uint64_t rows, mean, cols;
    double sectors, slots; /* slots per nonzero */
    int lanes, unroll, threads;
  } expected[] = {{MERBIT_F64, 40000, 500, 40000, 0.7, 1, 16, 2, 512},
                  {MERBIT_F64, 40000, 500, 40000, 0, 0, 16, 2, 512},    /* nothing is known */
                  {MERBIT_F64, 40000, 500, 40000, 0.52, 1, 16, 2, 512}, /* at random: 0.68 */
                  {MERBIT_F64, 40000, 500, 40000, 0.51, 1, 32, 8, 256},
                  {MERBIT_F64, 40000, 500, 40000, 0.7, 1.5, 16, 2, 512},
                  {MERBIT_F64, 40000, 500, 40000, 0.7, 1.6, 32, 2, 512},
                  {MERBIT_F64, 40000, 500, 21792, 0.7, 1, 32, 8, 256}, /* x: 3/4 of L1 */
                  {MERBIT_F64, 40000, 500, 21793, 0.7, 1, 16, 2, 512},
                  {MERBIT_F64, 40000, 255, 40000, 0.7, 1, 32, 8, 256},
                  {MERBIT_F64, 40000, 256, 40000, 0.7, 1, 16, 2, 512},
                  {MERBIT_F64, 6335, 500, 40000, 0.7, 1, 32, 8, 256},
                  {MERBIT_F64, 6336, 500, 40000, 0.7, 1, 32, 2, 512},
                  {MERBIT_F64, 12671, 500, 40000, 0.7, 1, 32, 2, 512},
                  {MERBIT_F64, 12672, 500, 40000, 0.7, 1, 16, 2, 512},
                  {MERBIT_F64, 40000, 500, 136200, 0.7, 1, 16, 2, 512}, /* 32 pass 0.3 of L1 */
                  {MERBIT_F64, 40000, 500, 136250, 0.7, 1, 32, 2, 512},
                  {MERBIT_F32, 40000, 500, 68000, 0.7, 1, 32, 4, 512}, /* 128 pass 0.3 of L1 */
                  {MERBIT_F32, 40000, 500, 68200, 0.7, 1, 16, 2, 512},
                  {MERBIT_F32, 40000, 500, 300000, 0.7, 1, 32, 2, 512}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    plan_of(&plan, expected[i].type, expected[i].rows, expected[i].rows * expected[i].mean);
    plan.device.cols = expected[i].cols;
    plan.nonempty.sectors = expected[i].sectors;
    plan.nonempty.slots = (uint64_t)(expected[i].slots * (double)plan.device.nnz);
    assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_rows_of(&plan)->lanes, expected[i].lanes);
    assert_int_equal(mbi_rows_of(&plan)->unroll, expected[i].unroll);
    assert_int_equal(mbi_rows_of(&plan)->threads, expected[i].threads);
  }
  plan.desc.block_threads = 64;
  plan.tuning[MBI_KNOB_ROWS_LANES] = 8;
  plan.tuning[MBI_KNOB_ROWS_UNROLL] = 5;
  assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_rows_of(&plan)->lanes, 8);
  assert_int_equal(mbi_rows_of(&plan)->unroll, 5);
  assert_int_equal(mbi_rows_of(&plan)->threads, 64);
}

/* Where L2 holds a matrix of mostly empty rows, lanes and loads suit the others: up to 5 loads,
 * and at most four times the GPU's 270,336 lanes. */
static void rows_that_are_mostly_empty(void **state) {
  static const struct {
    merbit_type type;
    uint64_t rows, count, mean; /* `count` rows of `mean` nonzeros */
    int lanes, unroll;
  } expected[] = {
      {MERBIT_F32, 1000000, 250000, 4, 1, 4}, {MERBIT_F64, 1000000, 250000, 4, 1, 4},
      {MERBIT_F32, 200000, 50000, 20, 4, 5},  {MERBIT_F64, 200000, 50000, 20, 4, 5},
      {MERBIT_F32, 500000, 50000, 20, 2, 5},  {MERBIT_F32, 540672, 50000, 20, 2, 5},
      {MERBIT_F32, 540673, 50000, 20, 1, 5},  {MERBIT_F32, 300000, 120000, 10, 2, 5},
      {MERBIT_F32, 300000, 120000, 11, 2, 5}, {MERBIT_F32, 200000, 50000, 21, 4, 5},
      {MERBIT_F32, 100000, 60000, 11, 4, 3}, /* exactly two of five are empty */
      {MERBIT_F32, 100000, 60001, 11, 1, 7}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    plan_of(&plan, expected[i].type, expected[i].rows, expected[i].count * expected[i].mean);
    plan.device.cols = 1000;
    plan.nonempty.count = expected[i].count;
    assert_true(mbi_choose_small(&plan));
    assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_rows_of(&plan)->lanes, expected[i].lanes);
    assert_int_equal(mbi_rows_of(&plan)->unroll, expected[i].unroll);
  }
  plan_of(&plan, MERBIT_F32, 1000000, 1000000);
  plan.nonempty.count = 250000;
  plan.device.cols = 20000000; /* not in L2 */
  assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_rows_of(&plan)->unroll, 2);
  plan.device.cols = 1000;
  plan.nonempty.count = 0; /* not counted */
  assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_rows_of(&plan)->unroll, 2);
}

/* Half of the slots may be empty, three quarters in slices whose longest rows have 16 nonzeros
 * on average, and any number if each row has a warp. In L2 three fifths may be empty, and more
 * if lanes of one row share a warp with few other rows: with 15, 1.9 of 2.9 slots, with
 * one, 7.5 of 8.5. */
static void lanes_that_idle(void **state) {
  static const struct {
    uint64_t nnz, slots; /* of 1,000 rows */
    int idle, in_l2;
  } cases[] = {{2500, 10000, 0, 0},    {2500, 10001, 1, 1},   {4000, 16000, 0, 0},
               {4000, 16001, 1, 1},    {8000, 16000, 0, 0},   {8000, 16001, 1, 0},
               {8000, 23000, 1, 0},    {8000, 23001, 1, 1},   {80000, 160000, 0, 0},
               {80000, 160001, 1, 0},  {80000, 679999, 1, 0}, {80000, 680001, 1, 1},
               {300000, 9000000, 0, 0}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    plan_of(&plan, MERBIT_F32, 1000, cases[i].nnz);
    plan.nonempty.slots = cases[i].slots;
    assert_int_equal(mbi_rows_idle(&plan), cases[i].idle);
    assert_int_equal(mbi_rows_idle_in_l2(&plan), cases[i].in_l2);
  }
}

/* Lanes hold the old y unless its registers would cost resident threads. */
static void old_results_that_lanes_hold(void **state) {
  static const merbit_type types[] = {MERBIT_F32, MERBIT_F64, MERBIT_C128};
  int type, unroll;
  (void)state;
  for (type = 0; type < 3; type++) {
    for (unroll = 1; unroll <= 8; unroll++) {
      const int holds =
          type == 0 ? unroll != 6 : type == 1 && unroll != 3 && unroll != 5 && unroll != 6;
      mbi_preamble preamble;
      merbit_plan plan;
      plan_of(&plan, types[type], 1000, 10000);
      plan.tuning[MBI_KNOB_ROWS_UNROLL] = unroll;
      assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
      mbi_rows_preamble(&plan, &preamble);
      assert_non_null(strstr(preamble.text, holds ? "MBK_HOLDS 1\n" : "MBK_HOLDS 0\n"));
    }
  }
}

/* Forms for which no kernel exists. */
static void forms_that_nobody_makes(void **state) {
  static const struct {
    int unroll, lanes, threads;
    const char *piece;
  } bad[] = {{0, 3, 0, "lanes is 3"},
             {0, 64, 0, "lanes is 64"},
             {0, -1, 0, "lanes is -1"},
             {33, 0, 0, "unroll is 33"},
             {-1, 0, 0, "unroll is -1"},
             {0, 0, 31, "block_threads 31"},
             {0, 0, 1056, "block_threads 1056"},
             {0, 0, 33, "block_threads 33"}};
  static const int good[][3] = {{1, 1, 32}, {32, 32, 1024}, {4, 16, 96}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.tuning[MBI_KNOB_ROWS_UNROLL] = bad[i].unroll;
    plan.tuning[MBI_KNOB_ROWS_LANES] = bad[i].lanes;
    plan.desc.block_threads = bad[i].threads;
    assert_int_equal(mbi_rows_size(&plan), MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, bad[i].piece);
  }
  for (i = 0; i < sizeof good / sizeof good[0]; i++) {
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.tuning[MBI_KNOB_ROWS_UNROLL] = good[i][0];
    plan.tuning[MBI_KNOB_ROWS_LANES] = good[i][1];
    plan.desc.block_threads = good[i][2];
    assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lanes_per_row),           cmocka_unit_test(lanes_cover_longer_rows),
      cmocka_unit_test(rows_that_move_together), cmocka_unit_test(rows_that_are_mostly_empty),
      cmocka_unit_test(lanes_that_idle),         cmocka_unit_test(old_results_that_lanes_hold),
      cmocka_unit_test(forms_that_nobody_makes),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
