/* AUTO's choice from counts and samples of a matrix: each limit of spmv/choose/choose.c from
 * both sides, and the reasons that it gives. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/choose/square_plans.h"

/* Warps also share the slices of large matrices. (On an H200, f64, us: 60,000 rows of 500 in
 * 120,000 columns: 102, ROWS 152; 10,000 rows of 1,000: 28, ROWS 33; 5,391 rows of 5,391, where
 * some multiprocessors have one slice more than others: 118, SCAN 85.) */
static void slices_that_warps_share(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 60000, 30000000);
  plan.device.cols = 120000;
  plan.nonempty.longest = 500;
  plan.nonempty.sectors = 0.88;
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
  square_of(&plan, MERBIT_F64, 10000, 10000000);
  plan.nonempty.longest = 1000;
  plan.nonempty.sectors = 0.3;
  plan.nonempty.lines = 0.6;
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
  square_of(&plan, MERBIT_F64, 5391, 5391 * 5391);
  plan.nonempty.longest = 5391;
  plan.nonempty.sectors = 0.16;
  plan.nonempty.narrow = 1;
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_SCAN, "rows of similar length");
  square_of(&plan, MERBIT_F64, 30000, 6000000); /* four to a slice hide no gathers */
  plan.device.cols = 3000000;
  plan.nonempty.longest = 200;
  plan.nonempty.sectors = 0.99;
  plan.nonempty.lines = plan.nonempty.lines_abreast = 1;
  plan.desc.expected_calls = 1000;
  assert_int_equal(mbi_sliced_parts(&plan), 4);
  takes(&plan, MERBIT_METHOD_ROWS, "rows of similar length");
}

/* Without nonzeros nothing is forecast, however long the vectors are. */
static void no_nonzeros(void **state) {
  static const uint64_t sizes[] = {0, 1000, 1000000000};
  merbit_plan plan;
  int i;
  (void)state;
  for (i = 0; i < 9; i++) {
    square_of(&plan, MERBIT_F64, sizes[i % 3], 0);
    plan.device.cols = sizes[i / 3];
    plan.nonempty.longest = 0;
    takes(&plan, MERBIT_METHOD_ROWS, "small");
  }
}

/* Even rows: at least 4 nonzeros per row, and at most 5/3 as many slots. */
static void even_rows(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 15000000, 60000000);
  plan.nonempty.narrow = 1;
  plan.nonempty.longest = 4;
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_ROWS, "rows of similar length, forecast scan ");
  assert_non_null(strstr(plan.why, "sliced"));
  plan.device.rows++;
  takes(&plan, MERBIT_METHOD_ROWS, "forecast scan ");
  assert_null(strstr(plan.why, "similar"));
  assert_null(strstr(plan.why, "sliced"));
  plan.device.rows--;
  plan.nonempty.longest = plan.nonempty.typical = 100;
  plan.nonempty.slots = plan.nonempty.sorted_slots = 100000004;
  takes(&plan, MERBIT_METHOD_SCAN, "rows of similar length"); /* the padding makes them slow */
  assert_non_null(strstr(plan.why, "sliced"));
  plan.nonempty.slots = plan.nonempty.sorted_slots = 100000005;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  assert_null(strstr(plan.why, "similar"));
  square_of(&plan, MERBIT_F64, 3000000, 60000000);
  plan.nonempty.narrow = 1;
  takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
  plan.desc.expected_calls = 30; /* saves too little */
  takes(&plan, MERBIT_METHOD_ROWS, "rows of similar length");
  assert_true(mbi_sliced_cost(&plan) < mbi_rows_cost(&plan));
}

/* Diagonals pay if the samples found few empty slots; without samples they are not chosen. */
static void rows_of_diagonals(void **state) {
  int type;
  (void)state;
  for (type = 0; type < 2; type++) {
    merbit_plan plan;
    square_of(&plan, type ? MERBIT_F64 : MERBIT_F32, 3000000, 60000000);
    plan.nonempty.longest = 20;
    plan.nonempty.narrow = 1;
    assert_true(mbi_diagonals_cost(&plan) == HUGE_VAL);
    plan.nonempty.diagonal_slots = 1.02;
    takes(&plan, MERBIT_METHOD_DIAGONALS, ", diagonals ");
    plan.nonempty.diagonal_slots = 2.05; /* a diagonal more for each slice */
    takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
    plan.nonempty.diagonal_slots = 2.051;
    takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
    assert_null(strstr(plan.why, "diagonals"));
    plan.nonempty.diagonal_slots = 1.02;
    plan.nonempty.longest = 100000; /* one lane walks it alone */
    takes(&plan, MERBIT_METHOD_SCAN, "rows of similar length");
    plan.nonempty.longest = 20;
    plan.device.rows = (uint64_t)INT32_MAX + 1;
    assert_true(mbi_diagonals_cost(&plan) == HUGE_VAL);
  }
}

/* Narrow columns pay for slices, unless gathers decide; even rows need none. */
static void columns_of_even_rows(void **state) {
  int type;
  (void)state;
  for (type = 0; type < 2; type++) {
    merbit_plan plan;
    square_of(&plan, type ? MERBIT_F64 : MERBIT_F32, 3000000, 60000000);
    plan.desc.expected_calls = 50;
    takes(&plan, MERBIT_METHOD_ROWS, "rows of similar length");
    plan.nonempty.narrow = 1;
    takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
    plan.nonempty.sectors = 0.5;
    takes(&plan, MERBIT_METHOD_ROWS, "rows of similar length");
  }
}

/* A 27-point stencil in doubles that just fits in L2: slices are hardly faster, and a schedule
 * does not pay. (On an H100, us: ROWS 11.7, SLICED 12.1, SCAN 17.) */
static void short_even_rows(void **state) {
  const merbit_device_profile h100 = profile_of("H100");
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 111111, 3000000);
  plan.profile = &h100;
  plan.nonempty.longest = 27;
  plan.nonempty.typical = 27;
  plan.nonempty.sectors = 0.04;
  plan.nonempty.lines = 0.31;
  plan.nonempty.lines_abreast = 0.1;
  plan.nonempty.narrow = 1;
  plan.desc.expected_calls = 20;
  takes(&plan, MERBIT_METHOD_ROWS, "rows of similar length, forecast");
  assert_true(mbi_rows_cost(&plan) < 0.9 * mbi_scan_cost(&plan));
  assert_true(mbi_rows_cost(&plan) < 1.15 * mbi_sliced_cost(&plan));
}

/* Full blocks need fewer bytes of columns than slices, however narrow the slices' columns. */
static void full_blocks(void **state) {
  int type;
  (void)state;
  for (type = 0; type < 2; type++) {
    merbit_plan plan;
    square_of(&plan, type ? MERBIT_F64 : MERBIT_F32, 864505, 60010400);
    plan.nonempty.narrow = 1;
    takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
    plan.nonempty.block_rows = plan.nonempty.block_cols = 5;
    takes(&plan, MERBIT_METHOD_BSR, ", bsr ");
    plan.nonempty.block_cols = 1; /* one column per 5 values */
    takes(&plan, MERBIT_METHOD_BSR, ", bsr ");
  }
}

/* One thread block adds up the carry-outs of a block row, one row of y after the other. With 16
 * rows of half a million nonzeros that takes longer than everything else. */
static void few_rows_of_full_blocks(void **state) {
  const merbit_device_profile h100 = profile_of("H100");
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 16, 8000000);
  plan.profile = &h100;
  plan.device.cols = plan.nonempty.longest = 500000;
  plan.nonempty.sectors = 0.25;
  plan.nonempty.block_rows = plan.nonempty.block_cols = 16;
  takes(&plan, MERBIT_METHOD_SCAN, ", bsr ");
  plan.nonempty.block_rows = 2;
  takes(&plan, MERBIT_METHOD_BSR, ", bsr ");
}

/* 23,796 rows in blocks of 3 x 3, 35 MB, on an H100, whose L2 keeps 10 of 16 parts: blocks read
 * fewer bytes, but profit less from L2 than lanes per row. (BSR 9.0 us, ROWS 8.9.) */
static void full_blocks_in_l2(void **state) {
  const merbit_device_profile h100 = profile_of("H100");
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 23796, 2847852);
  plan.profile = &h100;
  plan.nonempty.longest = 222;
  plan.nonempty.sectors = 0.1;
  plan.nonempty.block_rows = plan.nonempty.block_cols = 3;
  plan.desc.expected_calls = 1000;
  assert_true(mbi_extracted_cost(&plan) > 0.85 * mbi_rows_cost(&plan));
  square_of(&plan, MERBIT_F64, 237960, 28478520); /* ten times as large: stays in memory */
  plan.profile = &h100;
  plan.nonempty.longest = 222;
  plan.nonempty.sectors = 0.1;
  plan.nonempty.block_rows = plan.nonempty.block_cols = 3;
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_BSR, ", bsr ");
}

/* Bins avoid gathers, but the products pass through memory once more. */
static void gathers_that_miss(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 32000000, 64000000);
  plan.nonempty.sectors = 1;
  takes(&plan, MERBIT_METHOD_BINNED, "forecast scan ");
  plan.nonempty.sectors = 0.1;
  plan.nonempty.slots = 2 * plan.device.nnz + 2; /* no lanes for rows */
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  square_of(&plan, MERBIT_F64, 4000000, 64000000); /* x stays in L2 */
  plan.nonempty.sectors = 1;
  plan.nonempty.slots = plan.nonempty.sorted_slots = 2 * plan.device.nnz + 2;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  plan.type = MERBIT_F32;
  takes(&plan, MERBIT_METHOD_BINNED, "forecast scan ");
  plan.nonempty.slots = plan.nonempty.sorted_slots = plan.device.nnz;
  takes(&plan, MERBIT_METHOD_BINNED, "rows of similar length");
  plan.device.values = 0; /* no method streams ones */
  takes(&plan, MERBIT_METHOD_BINNED, "rows of similar length");
}

/* Lanes that share a warp wait for the longest of their rows. ROWS is not chosen if more than
 * half of them would idle, or more than three quarters with short rows. If each row has a warp,
 * or most rows are empty, any number of slots is accepted. */
static void lanes_that_idle(void **state) {
  merbit_plan plan;
  double even;
  (void)state;
  square_of(&plan, MERBIT_F64, 4000000, 64000000);
  plan.desc.expected_calls = 1; /* not worth making a form for */
  takes(&plan, MERBIT_METHOD_ROWS, "rows of similar length, forecast scan ");
  even = mbi_rows_cost(&plan);
  plan.nonempty.slots = plan.nonempty.sorted_slots = plan.device.nnz / 5 * 9;
  takes(&plan, MERBIT_METHOD_SCAN, ", rows ");
  assert_true(mbi_rows_cost(&plan) > 1.1 * even && mbi_rows_cost(&plan) < 1.2 * even);
  plan.nonempty.slots = plan.nonempty.sorted_slots = 2 * plan.device.nnz;
  takes(&plan, MERBIT_METHOD_SCAN, ", rows ");
  plan.nonempty.slots = ++plan.nonempty.sorted_slots;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  assert_null(strstr(plan.why, "rows"));
  plan.device.rows = plan.nonempty.count = 400000; /* of 160 each */
  takes(&plan, MERBIT_METHOD_ROWS, "rows ");
  even = mbi_rows_cost(&plan);
  plan.nonempty.slots = plan.device.nnz;
  assert_true(mbi_rows_cost(&plan) == even);
  plan.nonempty.sectors = 1; /* but the short ones occupy warps that could gather */
  even = mbi_rows_cost(&plan);
  plan.nonempty.slots = 3 * plan.device.nnz;
  assert_true(mbi_rows_cost(&plan) > 1.2 * even && mbi_rows_cost(&plan) < 1.35 * even);
  square_of(&plan, MERBIT_F64, 64000001, 64000000);
  even = mbi_rows_cost(&plan);
  plan.nonempty.slots = 20 * plan.device.nnz;
  assert_true(mbi_rows_cost(&plan) == even);
  plan.device.rows--;
  assert_true(mbi_rows_cost(&plan) == HUGE_VAL);
}

/* 548 rows of 5,474: a warp has 256 nonzeros in flight, of the 16,384 that its share of a
 * multiprocessor could have. */
static void few_rows_do_not_fill_the_gpu(void **state) {
  const merbit_device_profile h100 = profile_of("H100");
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 548, 548 * 5474);
  plan.profile = &h100;
  plan.device.cols = 375000;
  plan.nonempty.longest = 5474;
  plan.nonempty.sectors = 0.97;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast");
  assert_true(mbi_rows_cost(&plan) > 1.9 * mbi_scan_cost(&plan));
  plan.device.rows = plan.nonempty.count = 54800; /* enough rows */
  plan.device.nnz *= 100;
  plan.nonempty.slots = plan.nonempty.sorted_slots = 2 * plan.device.nnz; /* no slices */
  takes(&plan, MERBIT_METHOD_ROWS, "forecast");
}

/* 3,098 rows of 9,684 are in flight at once, and gather from the part of an x of 38 MB that is
 * in L2. SCAN's warps are scattered over all of x. */
static void rows_in_flight_gather_from_l2(void **state) {
  const merbit_device_profile h100 = profile_of("H100");
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 3098, 3098 * 9684);
  plan.profile = &h100;
  plan.device.cols = 4750000;
  plan.nonempty.longest = 9684;
  plan.nonempty.sectors = plan.nonempty.lines = plan.nonempty.lines_abreast = 1;
  plan.nonempty.slots = plan.nonempty.sorted_slots = 2 * plan.device.nnz; /* no slices */
  takes(&plan, MERBIT_METHOD_ROWS, "forecast");
  plan.device.cols *= 10;
  takes(&plan, MERBIT_METHOD_ROWS, "forecast");
  plan.device.rows = plan.nonempty.count = 2048 / 32 * 132 + 1; /* one waits for its turn */
  plan.device.nnz = plan.device.rows * 9684;
  plan.desc.block_threads = 256;                /* a warp for each slice */
  takes(&plan, MERBIT_METHOD_ROWS, "forecast"); /* all move through the columns together */
}

/* Nonzeros in hubs gather from shared memory, which pays if they are more than the caches serve
 * anyway. */
static void hubs_that_many_meet(void **state) {
  merbit_plan plan;
  (void)state;
  with_hubs(&plan);
  takes(&plan, MERBIT_METHOD_HUBS, "forecast scan ");
  plan.nonempty.slots = plan.nonempty.sorted_slots = plan.device.nnz;
  takes(&plan, MERBIT_METHOD_HUBS, "rows of similar length, forecast scan ");
  plan.nonempty.slots = plan.nonempty.sorted_slots = 4 * plan.device.nnz;
  plan.nonempty.hub_share = 0.09; /* less than the caches serve */
  takes(&plan, MERBIT_METHOD_BINNED, "forecast scan ");
  assert_null(strstr(plan.why, "hubs"));
  plan.nonempty.hub_share = 0.15;
  takes(&plan, MERBIT_METHOD_BINNED, ", hubs ");
  plan.nonempty.hub_share = 0.35; /* both pay */
  takes(&plan, MERBIT_METHOD_BINNED, ", hubs ");
  plan.nonempty.hub_share = 0.5;
  takes(&plan, MERBIT_METHOD_HUBS, ", binned ");
  plan.type = MERBIT_F64; /* bins cost more */
  plan.nonempty.hub_share = 0.75;
  takes(&plan, MERBIT_METHOD_HUBS, ", binned ");
  plan.desc.expected_calls = 1;
  takes(&plan, MERBIT_METHOD_SCAN, "hubs ");
  plan.device.rows = plan.device.nnz / 4 + 1; /* rows are too short for them */
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  assert_null(strstr(plan.why, "hubs"));
}

/* Returns the number of products from which a form pays that takes as long to make as `making`
 * of them. */
static int calls_that_pay(const merbit_plan *plan, double then, double making) {
  return (int)(making * then / (mbi_scan_cost(plan) - then)) + 1;
}

/* Hubs cost less to make than bins, and both less if memory is at hand. */
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

/* Only plans whose choice depends on forecasts use the measured profile. */
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
  square_of(&plan, MERBIT_F64, 500000, 2000000); /* small */
  assert_ptr_equal(mbi_choose_profile(&plan), &context->device.estimate);
  context->device.profile_ready = 0;
}

/* Rows that are even only after sorting. */
static void rows_that_sorting_makes_even(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 1250000, 30000000); /* 1 to 47, in a band */
  plan.nonempty.slots = 57000000;
  plan.nonempty.sorted_slots = 31000000;
  plan.nonempty.longest = 47;
  plan.nonempty.typical = 32;
  plan.nonempty.narrow = 1;
  plan.nonempty.sectors = 0.05;
  plan.nonempty.lines = 0.9;
  plan.nonempty.lines_abreast = 0.76;
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
  plan.nonempty.sorted_slots = 56000000; /* most of the padding remains */
  takes(&plan, MERBIT_METHOD_SCAN, "scan");
  plan.nonempty.sorted_slots = 31000000;
  plan.tuning[MBI_KNOB_SLICED_UNSORTED] = 1;
  takes(&plan, MERBIT_METHOD_SCAN, "scan");
}

/* Blocks with holes by their bytes. (5 x 5, 86% filled, on an H200: BSR 39 us, SLICED 59.) */
static void blocks_with_holes(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 1449275, 30045467);
  plan.nonempty.slots = 37500000;
  plan.nonempty.sorted_slots = 32800000;
  plan.nonempty.longest = 30;
  plan.nonempty.typical = 22;
  plan.nonempty.narrow = 1;
  plan.nonempty.sectors = 0.01;
  plan.nonempty.lines = 0.06;
  plan.nonempty.lines_abreast = 0.55;
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
  plan.nonempty.block_rows = plan.nonempty.block_cols = 1;
  plan.nonempty.masked_side = 5;
  plan.nonempty.masked_bytes = 5.3;
  takes(&plan, MERBIT_METHOD_BSR, "bsr");
  plan.nonempty.sectors = 0;
  is_about("blocks with holes", mbi_extracted_cost(&plan),
           mbi_traffic_of(&plan).vectors + 65 / 64.0 * streamed(1.1 * 5.3 * 30045467) +
               5 * mbi_walk_fixup(&plan, 32 * 256 / 4.0 / 5));
  plan.nonempty.masked_bytes = 8; /* as many as a CSR has */
  takes(&plan, MERBIT_METHOD_SLICED, "bsr");
  plan.nonempty.masked_bytes = 5.3;
  plan.device.form = MBI_VALUES_TABLE;
  assert_true(mbi_extracted_cost(&plan) == HUGE_VAL);
}

/* Long rows of doubles that all gather from L2: warps share slices, or take one each if blocks
 * of 256 threads take several slices. */
static void rows_that_fill_warps(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 4000, 50000000);
  plan.device.cols = 6200000;
  plan.nonempty.longest = 12500;
  plan.nonempty.sectors = 1;
  plan.desc.expected_calls = 1000;
  takes(&plan, MERBIT_METHOD_SLICED, "rows 3");
  plan.desc.block_threads = 256;
  takes(&plan, MERBIT_METHOD_ROWS, "rows 3");
  plan.type = MERBIT_F32; /* bins cost less */
  assert_int_not_equal(mbi_choose_method(&plan), MERBIT_METHOD_ROWS);
  plan.type = MERBIT_F64;
  plan.nonempty.longest = 200000; /* of one row */
  assert_int_not_equal(mbi_choose_method(&plan), MERBIT_METHOD_ROWS);
  square_of(&plan, MERBIT_F64, 1226, 1226 * 1187); /* in L2, and in flight at once */
  plan.nonempty.longest = 1187;
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths");
  plan.nonempty.longest = 3 * 256;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
}

/* 19 of 20 rows are empty: SCAN has a bit for each, ROWS a lane. MERGE is never forecast. */
static void mostly_empty_rows(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 80000000, 20000000);
  plan.nonempty.count = 4000000;
  plan.nonempty.slots = 20 * plan.device.nnz;
  plan.nonempty.sectors = 1;
  plan.desc.expected_calls = 1;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  assert_true(mbi_method_cost(&plan, mbi_method_find(MERBIT_METHOD_MERGE)) == HUGE_VAL);
  plan.nonempty.longest = 10000;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  plan.device.form = MBI_VALUES_TABLE; /* SCAN can read it, although it does not pay */
  takes(&plan, MERBIT_METHOD_SCAN, "scan");
}

/* From 2^32 - 1 rows on, 32 bits number all rows but leave no value for "no row": AUTO chooses
 * MERBIT, whatever the values, and MERGE for a semiring. */
static void most_rows(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, UINT32_MAX, 3000000);
  assert_int_equal(mbi_choose_auto(&plan), MERBIT_OK);
  assert_int_equal(plan.method, MERBIT_METHOD_MERBIT);
  assert_string_equal(plan.why, "too many rows for other methods");
  assert_int_equal(mbi_choose_values(&plan), MERBIT_OK); /* not inspected without a GPU */
  assert_int_equal(mbi_scan_nonempty(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "fewer than 2^32 - 1 rows, not 4294967295");
  plan.desc.semiring = MERBIT_SEMIRING_MIN_PLUS;
  assert_int_equal(mbi_choose_auto(&plan), MERBIT_OK);
  assert_int_equal(plan.method, MERBIT_METHOD_MERGE);
  assert_string_equal(plan.why, "too many rows for other methods");
  square_of(&plan, MERBIT_F64, UINT32_MAX - 1, 0);
  plan.nonempty.row_start = 256; /* counted */
  plan.nonempty.longest = 0;
  assert_int_equal(mbi_choose_auto(&plan), MERBIT_OK);
  assert_int_equal(plan.method, MERBIT_METHOD_ROWS);
  assert_int_equal(mbi_scan_nonempty(&plan), MERBIT_OK);
}

static void few_calls(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 32000000, 64000000);
  plan.nonempty.slots = plan.nonempty.sorted_slots = 4 * plan.device.nnz;
  plan.nonempty.sectors = 1;
  plan.desc.expected_calls = 1;
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  plan.desc.expected_calls = 10;
  takes(&plan, MERBIT_METHOD_BINNED, "forecast scan ");
}

/* The rate of gathers falls continuously with the size of x. */
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

/* The bytes that a launch is worth follow from the GPU's launch time and memory rate. */
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
      cmocka_unit_test(slices_that_warps_share),
      cmocka_unit_test(no_nonzeros),
      cmocka_unit_test(even_rows),
      cmocka_unit_test(rows_of_diagonals),
      cmocka_unit_test(columns_of_even_rows),
      cmocka_unit_test(short_even_rows),
      cmocka_unit_test(gathers_that_miss),
      cmocka_unit_test(lanes_that_idle),
      cmocka_unit_test(few_rows_do_not_fill_the_gpu),
      cmocka_unit_test(rows_in_flight_gather_from_l2),
      cmocka_unit_test(hubs_that_many_meet),
      cmocka_unit_test(what_making_costs),
      cmocka_unit_test(few_calls),
      cmocka_unit_test(rates_of_gathers),
      cmocka_unit_test(bytes_of_launches),
      cmocka_unit_test(full_blocks),
      cmocka_unit_test(few_rows_of_full_blocks),
      cmocka_unit_test(full_blocks_in_l2),
      cmocka_unit_test(which_profile),
      cmocka_unit_test(rows_that_sorting_makes_even),
      cmocka_unit_test(blocks_with_holes),
      cmocka_unit_test(rows_that_fill_warps),
      cmocka_unit_test(mostly_empty_rows),
      cmocka_unit_test(most_rows),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
