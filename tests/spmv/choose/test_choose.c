/* Which method AUTO takes, from counts and samples of a matrix: each limit of
 * spmv/choose/choose.c from both sides, and what it says of its reasons. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/choose/square_plans.h"

/* 40 MB of columns and values on an H200, whose L2 has 63 MB; slots 8/5 of the nonzeros, of
 * rows of any length. */
static void small_matrices(void **state) {
  const uint64_t bytes = (uint64_t)(0.636 * 62914560);
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 1000000, 5000000);
  plan.nonempty.slots = 8000007;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with even rows; runner-up scan");
  plan.nonempty.slots = 8000008;
  takes(&plan, MERBIT_METHOD_SCAN, "small, with uneven rows; runner-up rows");
  plan.nonempty.slots = plan.device.nnz = bytes / 8;
  takes(&plan, MERBIT_METHOD_ROWS, "small");
  plan.device.nnz++;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast");
  square_of(&plan, MERBIT_F64, 1000000, bytes / 12);
  takes(&plan, MERBIT_METHOD_ROWS, "small");
  plan.device.nnz++;
  plan.nonempty.slots++;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast");
  square_of(&plan, MERBIT_F64, 0, 0);
  plan.nonempty.longest = 0;
  takes(&plan, MERBIT_METHOD_ROWS, "small");
  square_of(&plan, MERBIT_F64, 1000, 300000);
  takes(&plan, MERBIT_METHOD_ROWS, "small");
}

/* Even: at least 4 nonzeros a row, and slots within 5/3 of them. */
static void even_rows(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 15000000, 60000000);
  plan.nonempty.narrow = 1;
  takes(&plan, MERBIT_METHOD_SLICED, "even rows, forecast scan ");
  plan.device.rows++;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  assert_null(strstr(plan.why, "even"));
  plan.device.rows--;
  plan.nonempty.slots = plan.nonempty.sorted_slots = 100000004;
  takes(&plan, MERBIT_METHOD_SCAN, "even rows"); /* which the padding makes slow */
  plan.nonempty.slots = plan.nonempty.sorted_slots = 100000005;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  assert_null(strstr(plan.why, "even"));
  plan.nonempty.slots = plan.nonempty.sorted_slots = 60000000 / 8 * 9; /* not counted */
  takes(&plan, MERBIT_METHOD_SLICED, "sliced 172 us");
  plan.nonempty.slots = plan.nonempty.sorted_slots = 60000000 / 8 * 10;
  takes(&plan, MERBIT_METHOD_SLICED, "sliced 186 us");
}

/* In f32 only narrow columns make slices faster; in f64 wide ones do, unless gathers decide. */
static void columns_of_even_rows(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 3000000, 60000000);
  takes(&plan, MERBIT_METHOD_SCAN, "even rows");
  plan.nonempty.narrow = 1;
  takes(&plan, MERBIT_METHOD_SLICED, "even rows");
  square_of(&plan, MERBIT_F64, 3000000, 60000000);
  takes(&plan, MERBIT_METHOD_SLICED, "even rows");
  plan.nonempty.sectors = 0.5;
  takes(&plan, MERBIT_METHOD_SCAN, "even rows");
}

/* Full blocks want fewer bytes of columns than slices, however short their columns; and no row
 * ends either, so that doubles gain as much as those. */
static void full_blocks(void **state) {
  int type;
  (void)state;
  for (type = 0; type < 2; type++) {
    merbit_plan plan;
    square_of(&plan, type ? MERBIT_F64 : MERBIT_F32, 864505, 60010400);
    plan.nonempty.narrow = 1;
    takes(&plan, MERBIT_METHOD_SLICED, "even rows");
    plan.nonempty.block_rows = plan.nonempty.block_cols = 5;
    takes(&plan, MERBIT_METHOD_BSR, type ? ", sliced 118 us" : ", sliced 87 us");
    assert_non_null(strstr(plan.why, type ? ", bsr 104 us" : ", bsr 66 us"));
  }
}

/* Bins take the gathers away, and cost a pass of the products through memory. */
static void gathers_that_miss(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 32000000, 64000000);
  plan.nonempty.sectors = 1;
  takes(&plan, MERBIT_METHOD_BINNED, "forecast scan ");
  plan.nonempty.sectors = 0.1;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  square_of(&plan, MERBIT_F64, 4000000, 64000000); /* x stays in L2 */
  plan.nonempty.sectors = 1;
  plan.nonempty.slots = plan.nonempty.sorted_slots = 2 * plan.device.nnz;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  plan.type = MERBIT_F32;
  takes(&plan, MERBIT_METHOD_BINNED, "forecast scan ");
  plan.nonempty.slots = plan.nonempty.sorted_slots = plan.device.nnz;
  takes(&plan, MERBIT_METHOD_BINNED, "even rows");
  plan.device.values = 0; /* ones are not streamed by any */
  takes(&plan, MERBIT_METHOD_BINNED, "even rows");
}

/* Lanes of a row where doubles are gathered from a sector each, no nonzero has a value, and
 * lanes idle half the time at most. */
static void gathers_alone(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 4000000, 64000000);
  plan.device.values = 0;
  plan.nonempty.sectors = 1;
  plan.nonempty.slots = plan.nonempty.sorted_slots = 2 * plan.device.nnz + 1;
  takes(&plan, MERBIT_METHOD_ROWS, "forecast scan 534 us, rows 518 us, binned");
  plan.nonempty.slots = ++plan.nonempty.sorted_slots;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan 534 us, binned");
  plan.nonempty.slots = plan.nonempty.sorted_slots = plan.device.nnz;
  takes(&plan, MERBIT_METHOD_ROWS, "even rows, forecast scan 534 us, rows 518 us, sliced");
  plan.desc.expected_calls = 1; /* nothing is made for them */
  takes(&plan, MERBIT_METHOD_ROWS, "rows 518 us");
  plan.nonempty.sectors = 0.9;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  plan.nonempty.sectors = 0.901;
  takes(&plan, MERBIT_METHOD_ROWS, "rows ");
  plan.device.values = 16;
  plan.nonempty.sectors = 1;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  plan.device.values = 0;
  plan.type = MERBIT_F32;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
}

/* The nonzeros in hubs gather from shared memory: that pays where they are more than what the
 * caches catch anyway. */
static void hubs_that_many_meet(void **state) {
  merbit_plan plan;
  (void)state;
  with_hubs(&plan);
  takes(&plan, MERBIT_METHOD_HUBS, ", hubs 313 us");
  plan.nonempty.slots = plan.nonempty.sorted_slots = plan.device.nnz;
  takes(&plan, MERBIT_METHOD_HUBS, "even rows, forecast scan ");
  plan.nonempty.hub_share = 0.1; /* what the caches catch, too */
  takes(&plan, MERBIT_METHOD_BINNED, "hubs 493 us");
  plan.nonempty.hub_share = 0.15;
  takes(&plan, MERBIT_METHOD_BINNED, "hubs 473 us");
  plan.type = MERBIT_F64; /* bins cost more */
  plan.nonempty.hub_share = 0.55;
  takes(&plan, MERBIT_METHOD_HUBS, "hubs ");
  plan.desc.expected_calls = 1;
  takes(&plan, MERBIT_METHOD_SCAN, "hubs ");
  plan.device.rows = plan.device.nnz / 4 + 1; /* rows are too short for them */
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  assert_null(strstr(plan.why, "hubs"));
  plan.device.rows = 4000000;
  plan.type = MERBIT_F32; /* both pay, and bins end at 381 us */
  plan.desc.expected_calls = 1000;
  plan.nonempty.hub_share = 0.35;
  takes(&plan, MERBIT_METHOD_BINNED, "hubs 393 us");
  plan.nonempty.hub_share = 0.4;
  takes(&plan, MERBIT_METHOD_HUBS, "hubs 373 us");
}

/* From so many products on another form pays for itself, that takes as long as `making` of them
 * to make. */
static int calls_that_pay(const merbit_plan *plan, double then, double making) {
  return (int)(making * then / (mbi_scan_cost(plan) - then)) + 1;
}

/* Hubs cost less to make than bins, and both less where memory is at hand. */
static void what_making_costs(void **state) {
  merbit_plan plan;
  (void)state;
  with_hubs(&plan);
  plan.desc.expected_calls = calls_that_pay(&plan, mbi_hubs_cost(&plan), 8) - 1;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  plan.desc.expected_calls++;
  takes(&plan, MERBIT_METHOD_HUBS, "forecast scan ");
  plan.nonempty.hub_share = 0;
  plan.desc.expected_calls = calls_that_pay(&plan, mbi_binned_cost(&plan), 12) - 1;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  plan.desc.expected_calls++;
  takes(&plan, MERBIT_METHOD_BINNED, "forecast scan ");
  plan.arena.at = 256;
  plan.desc.expected_calls = calls_that_pay(&plan, mbi_binned_cost(&plan), 8) - 1;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  plan.desc.expected_calls++;
  takes(&plan, MERBIT_METHOD_BINNED, "forecast scan ");
}

/* Without a GPU's profile on disk, only what the plan needs decides. */
static void which_profile(void **state) {
  merbit_device_profile *const measured = &context->device.profile;
  merbit_plan plan;
  (void)state;
  *measured = h200_profile();
  context->device.profile_ready = 1;
  square_of(&plan, MERBIT_F64, 4000000, 64000000);
  assert_ptr_equal(mbi_choose_profile(&plan), measured);
  plan.desc.deterministic = 1;
  assert_ptr_equal(mbi_choose_profile(&plan), &context->device.estimate);
  plan.desc.deterministic = 0;
  plan.desc.expected_calls = 1; /* MERGE, nothing inspected */
  assert_ptr_equal(mbi_choose_profile(&plan), &context->device.estimate);
  square_of(&plan, MERBIT_F64, 1000000, 3000000);
  assert_ptr_equal(mbi_choose_profile(&plan), &context->device.estimate);
  context->device.profile_ready = 0;
}

/* Rows that are even only once sorted. */
static void rows_that_sorting_makes_even(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 1250000, 30000000); /* 1 to 47, in a band */
  plan.nonempty.slots = 57000000;
  plan.nonempty.sorted_slots = 31000000;
  plan.nonempty.longest = 47;
  plan.nonempty.narrow = 1;
  plan.nonempty.sectors = 0.05;
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_SLICED, "even rows");
  plan.nonempty.sorted_slots = 49000000; /* most of the padding stays */
  takes(&plan, MERBIT_METHOD_SCAN, "scan");
  plan.nonempty.sorted_slots = 31000000;
  plan.tuning[MBI_KNOB_SLICED_UNSORTED] = 1;
  takes(&plan, MERBIT_METHOD_SCAN, "scan");
}

/* Long rows of doubles: a warp streams one while others wait for x. */
static void rows_that_fill_warps(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 4000, 50000000);
  plan.device.cols = 6200000;
  plan.nonempty.longest = 12500;
  plan.nonempty.sectors = 1;
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_ROWS, "rows 4");
  plan.type = MERBIT_F32; /* SCAN keeps up */
  assert_int_not_equal(mbi_choose_method(&plan), MERBIT_METHOD_ROWS);
  plan.type = MERBIT_F64;
  plan.nonempty.longest = 200000; /* of one row */
  assert_int_not_equal(mbi_choose_method(&plan), MERBIT_METHOD_ROWS);
  square_of(&plan, MERBIT_F64, 1226, 1226 * 1187); /* in L2, and in flight at once */
  plan.nonempty.longest = 1187;
  takes(&plan, MERBIT_METHOD_SCAN, "small, with uneven rows");
  plan.nonempty.longest = 3 * 256;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with even rows");
}

/* 19 of 20 rows are empty: their list is not read by MERGE. */
static void mostly_empty_rows(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 80000000, 20000000);
  plan.nonempty.count = 4000000;
  plan.nonempty.slots = 20 * plan.device.nnz;
  plan.nonempty.sectors = 1;
  plan.desc.expected_calls = 1;
  takes(&plan, MERBIT_METHOD_MERGE, "forecast merge 9");
  plan.device.form = MBI_VALUES_SINGLE; /* which MERGE cannot read */
  takes(&plan, MERBIT_METHOD_SCAN, "scan");
  plan.device.form = MBI_VALUES_TABLE; /* SCAN can, although it does not pay there */
  takes(&plan, MERBIT_METHOD_SCAN, "scan");
  assert_true(mbi_method_cost(&plan, mbi_method_find(MERBIT_METHOD_MERGE)) == HUGE_VAL);
  plan.device.form = MBI_VALUES_GENERAL;
  plan.device.nnz = 45000000; /* the path costs more */
  takes(&plan, MERBIT_METHOD_SCAN, "scan");
}

/* From 2^32 - 1 rows on, of which 32 bits number each but leave none for no row, AUTO takes
 * MERBIT, whatever their values, and MERGE for a semiring. */
static void most_rows(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, UINT32_MAX, 3000000);
  assert_int_equal(mbi_choose_auto(&plan), MERBIT_OK);
  assert_int_equal(plan.method, MERBIT_METHOD_MERBIT);
  assert_string_equal(plan.why, "more rows than the others take");
  assert_int_equal(mbi_choose_values(&plan), MERBIT_OK); /* not inspected, for want of a GPU */
  assert_int_equal(mbi_scan_nonempty(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "fewer than 2^32 - 1 rows, not 4294967295");
  plan.desc.semiring = MERBIT_SEMIRING_MIN_PLUS;
  assert_int_equal(mbi_choose_auto(&plan), MERBIT_OK);
  assert_int_equal(plan.method, MERBIT_METHOD_MERGE);
  assert_string_equal(plan.why, "more rows than the others take");
  square_of(&plan, MERBIT_F64, UINT32_MAX - 1, 3000000);
  plan.nonempty.row_start = 256; /* counted */
  assert_int_equal(mbi_choose_auto(&plan), MERBIT_OK);
  assert_int_equal(plan.method, MERBIT_METHOD_ROWS);
  assert_int_equal(mbi_scan_nonempty(&plan), MERBIT_OK);
}

static void few_calls(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 32000000, 64000000);
  plan.nonempty.sectors = 1;
  plan.desc.expected_calls = 1;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  plan.desc.expected_calls = 10;
  takes(&plan, MERBIT_METHOD_BINNED, "forecast scan ");
}

/* The rate of gathers falls with the size of x, without a step. */
static void rates_of_gathers(void **state) {
  double bytes, before = 0;
  merbit_device_profile own;
  merbit_plan plan;
  size_t i;
  int type;
  (void)state;
  for (type = 0; type < 2; type++) {
    static const double rates[][2] = {{0, 160e9},     {16e6, 160e9}, {32e6, 140e9},
                                      {67e6, 76e9},   {134e6, 53e9}, {268e6, 45e9},
                                      {1074e6, 40e9}, {1e12, 40e9}};
    plan_of(&plan, type ? MERBIT_F64 : MERBIT_F32, 1, 1);
    for (i = 0; i < sizeof rates / sizeof rates[0]; i++) {
      assert_true(fabs(mbi_choose_gather(&plan, rates[i][0]) * rates[i][1] - 1) < 0.01);
    }
  }
  own = h200_profile();
  own.gather_rate_f32[2] = 1e9; /* each type has its own */
  plan.profile = &own;
  assert_true(fabs(mbi_choose_gather(&plan, own.gather_bytes[2]) * 76e9 - 1) < 0.01);
  plan.type = MERBIT_F32;
  assert_true(mbi_choose_gather(&plan, own.gather_bytes[2]) == 1e-9);
  plan_of(&plan, MERBIT_F32, 1, 1);
  for (bytes = 1e6; bytes < 4e9; bytes *= 1.01) {
    const double now = mbi_choose_gather(&plan, bytes);
    assert_true(now >= before && (before == 0 || now < 1.05 * before));
    before = now;
  }
}

/* The bytes that a launch costs follow from the GPU's launches and its memory. */
static void bytes_of_launches(void **state) {
  merbit_device_profile own = h200_profile();
  merbit_plan plan;
  (void)state;
  plan_of(&plan, MERBIT_F64, 1, 1);
  assert_true(fabs(mbi_choose_launch_bytes(&plan, MBI_VALUES_LAUNCH) / 4e6 - 1) < 0.01);
  own.launch_seconds *= 3;
  own.copy_rate /= 2;
  plan.profile = &own;
  assert_true(fabs(mbi_choose_launch_bytes(&plan, MBI_VALUES_LAUNCH) / 6e6 - 1) < 0.01);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_matrices),
      cmocka_unit_test(even_rows),
      cmocka_unit_test(columns_of_even_rows),
      cmocka_unit_test(gathers_that_miss),
      cmocka_unit_test(gathers_alone),
      cmocka_unit_test(hubs_that_many_meet),
      cmocka_unit_test(what_making_costs),
      cmocka_unit_test(few_calls),
      cmocka_unit_test(rates_of_gathers),
      cmocka_unit_test(bytes_of_launches),
      cmocka_unit_test(full_blocks),
      cmocka_unit_test(which_profile),
      cmocka_unit_test(rows_that_sorting_makes_even),
      cmocka_unit_test(rows_that_fill_warps),
      cmocka_unit_test(mostly_empty_rows),
      cmocka_unit_test(most_rows),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
