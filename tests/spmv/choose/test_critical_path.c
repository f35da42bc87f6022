/* The time in which one lane, warp or block walks a long row, in each forecast and in each
 * decision that asks whether rows are even. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/choose/square_plans.h"

/* Makes 4 million rows of 8, with 200 adjacent ones of 40,000: unsorted slices waste hardly
 * anything, and yet a lane walks 40,000 nonzeros. */
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
    plan.desc.expected_calls = 1000;
    takes(&plan, MERBIT_METHOD_SCAN, type ? ", sliced 9994 us" : ", sliced 4994 us");
    plan.tuning[MBI_KNOB_SLICED_UNROLL] = 4; /* more loads in flight, fewer steps */
    takes(&plan, MERBIT_METHOD_SCAN, type ? ", sliced 4994 us" : ", sliced 2494 us");
    plan.tuning[MBI_KNOB_SLICED_UNROLL] = 0;
    plan.device.rows = plan.nonempty.count = 2000000;
    plan.nonempty.slots =
        2 * plan.device.nnz + 2; /* even after sorting, but not suitable for lanes per row */
    /* The longest row takes slightly longer than SCAN's product plus the 6 us that all
     * forecasts omit. */
    scan = mbi_scan_cost(&plan);
    plan.nonempty.longest = (uint32_t)((scan + 6e-6) / 1e-6 * step) + 1;
    takes(&plan, MERBIT_METHOD_SCAN, "rows of similar length");
    assert_true(mbi_sliced_cost(&plan) > scan);
    plan.nonempty.longest -= 1 + 15 * (uint32_t)step; /* saves enough */
    plan.nonempty.typical = plan.nonempty.longest;    /* and no row waits for it */
    takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
    assert_true(mbi_sliced_cost(&plan) < scan);
  }
}

/* If the walk takes no longer than the rest, costs equal those of rows of one length. */
static void walks_that_do_not_show(void **state) {
  const mbi_method *row;
  merbit_plan plan;
  size_t i;
  int costs = 0;
  (void)state;
  with_linking_rows(&plan, MERBIT_F32);
  plan.nonempty.longest = 8;
  plan.nonempty.lines = plan.nonempty.lines_abreast = 0.2;
  takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
  for (i = 0; (row = mbi_method_row(i)) != NULL; i++) {
    if (row->cuda != NULL && row->cuda->cost != NULL) {
      double even;
      plan.nonempty.longest = 16; /* whole packs */
      even = row->cuda->cost(&plan);
      plan.nonempty.longest = 24;
      assert_true(row->cuda->cost(&plan) == even);
      costs++;
    }
  }
  assert_true(costs >= 6);
  takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length");
}

/* Lanes per row walk, too: 4 lanes take 16 nonzeros in a step of 1 us. The last of 4 million rows
 * starts when the GPU's 270,336 lanes are left. The forecasts omit 6 us. */
static void long_rows_by_lanes(void **state) {
  const double start = 1 - 270336 / 16e6;
  double base, scan, late;
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 4000000, 64000000);
  plan.device.values = 0;
  plan.desc.expected_calls = 1; /* not worth making a form for */
  plan.nonempty.longest = 16;
  takes(&plan, MERBIT_METHOD_ROWS, "forecast scan ");
  base = mbi_rows_cost(&plan);
  scan = mbi_scan_cost(&plan);
  late = start * (base + 6e-6) - 6e-6;
  assert_true(base + 4e-6 < scan && base > late + 1e-6);
  plan.nonempty.longest = (uint32_t)(16 * (scan - late - 1e-6) / 1e-6);
  takes(&plan, MERBIT_METHOD_ROWS, "forecast scan ");
  assert_true(fabs(mbi_rows_cost(&plan) - (scan - 1e-6)) < 1e-7);
  plan.nonempty.longest = (uint32_t)(16 * (scan - late + 1e-6) / 1e-6);
  takes(&plan, MERBIT_METHOD_SCAN, "forecast scan ");
  plan.device.rows = plan.nonempty.count = 67584; /* all lanes are there from the start */
  plan.device.nnz = plan.nonempty.slots = 16 * 67584;
  plan.device.cols = 64000000; /* not in L2 */
  plan.nonempty.longest = 16000;
  assert_true(fabs(mbi_rows_cost(&plan) - 994e-6) < 1e-6);
}

/* Compares forecasts with sums made by hand: all bytes once, because all gathers hit the
 * caches, the launches after the first, and the steps of the last rows. */
static void forecasts_without_gathers(void **state) {
  const double vectors = 2 * 8 * 4e6, values = 8 * 64e6, offsets = 4 * 4e6, own = 12 / 128.0;
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 4000000, 64000000);
  plan.nonempty.typical = 16;
  is_about("scan", mbi_scan_cost(&plan),
           looked_up(&plan, streamed(vectors + 4 * 64e6 + values), own) + 3e-6);
  plan.nonempty.longest = 16;
  /* 8 rows of 16 at once, in 5 lines of columns and 8, not 9, of values. */
  is_about("rows", mbi_rows_cost(&plan),
           0.9 * looked_up(&plan, streamed(vectors + offsets + 4 * 64e6 + values), 13 / 32.0) +
               0.5e-6);
  plan.nonempty.longest = 100;
  is_about("sliced", mbi_sliced_cost(&plan),
           0.92 * looked_up(&plan, 0.9 * streamed(vectors + 4 * 64e6 + values + 31.25 * 4e6),
                            own / 2) +
               16 / 8.0 * 1e-6);
  is_about("binned", mbi_binned_cost(&plan),
           streamed(vectors + 0.77 * (4.5 * 64e6 + 3 * values)) + 0.7 * 64e6 / 160e9 + 12e-6);
  plan.nonempty.count--; /* one row is empty: y is written twice, and its list is read */
  is_about("binned, empty rows", mbi_binned_cost(&plan),
           streamed(2 * vectors + offsets + 0.77 * (4.5 * 64e6 + 3 * values)) +
               0.7 * 64e6 / 160e9 + 12e-6);
  plan.nonempty.count++;
  plan.nonempty.narrow = 1;
  is_about("narrow", mbi_sliced_cost(&plan),
           0.92 * looked_up(&plan, 0.9 * streamed(vectors + 2 * 64e6 + values + 31.25 * 4e6),
                            own / 2) +
               16 / 8.0 * 1e-6);
  plan.nonempty.diagonal_slots = 1.25; /* slots of 8 bytes and 12 / 64 */
  is_about("diagonals", mbi_diagonals_cost(&plan),
           0.95 * streamed(vectors + 1.25 * 64e6 * (8 + 12 / 64.0) + 4 * 4e6 / 64));
  plan.nonempty.sectors = 0.5; /* in sequence: half of the time of scattered ones */
  is_about("diagonals far apart", mbi_diagonals_cost(&plan),
           0.95 * mbi_choose_overlap(
                      &plan, streamed(vectors + 1.25 * 64e6 * (8 + 12 / 64.0) + 4 * 4e6 / 64),
                      64e6 / 2 * mbi_choose_gather(&plan, 32e6) / 2));
  plan.nonempty.sectors = 0;
  plan.nonempty.block_rows = plan.nonempty.block_cols = 4;
  is_about("bsr", mbi_extracted_cost(&plan), streamed(vectors + 0.25 * 64e6 + values));
  plan.nonempty.slots = plan.nonempty.sorted_slots = 96000000;
  is_about("rows of different lengths", mbi_rows_cost(&plan),
           (0.9 + 0.16 / 2) * looked_up(&plan, streamed(vectors + offsets + 4 * 64e6 + values),
                                        13 / 32.0) +
               16 / 20.0 * 0.5e-6);
  is_about(
      "sorted", mbi_sliced_cost(&plan),
      (0.92 + 0.12 / 2 * log(100 / 16.0)) *
              looked_up(&plan, 0.9 * streamed(vectors + 10 * 98e6 + 35.25 * 4e6), own / 2) +
          24 / 8.0 * 1e-6);
  plan.nonempty.slots = 4 * plan.device.nnz; /* of 64, that 16 come from */
  is_about(
      "far from neighbours", mbi_sliced_cost(&plan),
      (0.92 + 0.2 + 0.12 * log(100 / 16.0)) *
              looked_up(&plan, 0.9 * streamed(vectors + 10 * 98e6 + 35.25 * 4e6), own / 2) +
          24 / 8.0 * 1e-6);
  plan.type = MERBIT_F32; /* 4 lanes of 4 */
  plan.nonempty.longest = 16;
  plan.nonempty.slots = plan.device.nnz;
  is_about("floats", mbi_rows_cost(&plan),
           0.9 * looked_up(&plan, streamed(vectors / 2 + offsets + 4 * 64e6 + values / 2),
                           2 * 5 / 32.0) +
               0.5e-6);
  plan.nonempty.lines = 0.6; /* between these and those of parallel rows, by 4 lanes of 32 */
  plan.nonempty.lines_abreast = 0.2;
  is_about("lines of x", mbi_rows_cost(&plan),
           0.9 * looked_up(&plan, streamed(vectors / 2 + offsets + 4 * 64e6 + values / 2),
                           pow(0.6, 0.4) * pow(0.2, 0.6) + 2 * 5 / 32.0) +
               0.5e-6);
  plan.nonempty.lines_abreast = 0.7; /* no more than along rows */
  is_about("lines along rows", mbi_rows_cost(&plan),
           0.9 * looked_up(&plan, streamed(vectors / 2 + offsets + 4 * 64e6 + values / 2),
                           0.6 + 2 * 5 / 32.0) +
               0.5e-6);
  is_about("lines of consecutive nonzeros", mbi_scan_cost(&plan),
           looked_up(&plan, streamed(vectors / 2 + 4 * 64e6 + values / 2), 0.6 + 8 / 128.0) +
               3e-6);
  square_of(&plan, MERBIT_F64, 4000000, 1000000); /* 14.8 times the lanes of the GPU */
  plan.nonempty.longest = 5;
  is_about("mostly empty rows", mbi_rows_cost(&plan),
           0.9 * looked_up(&plan, streamed(vectors + offsets + 12 * 1e6), 2 / 32.0) +
               (4e6 / 270336 * 3 + 1 / 8.0) * 0.5e-6);
  plan.nonempty.count = 1000000; /* as many sectors of a y that fits in L2, or does not */
  plan.device.rows = 1170000;
  is_about("y in L2", mbi_scan_cost(&plan),
           looked_up(&plan, streamed(8 * 5.17e6 + 4e6 + 1.17e6 / 8 + 12 * 1e6), own) + 3e-6);
  plan.device.rows = 1200000; /* 9.6 MB, of 0.15 of 62.9 */
  is_about(
      "y past its part of L2", mbi_scan_cost(&plan),
      looked_up(&plan, streamed(8 * 5.2e6 + 4e6 + 1.2e6 / 8 + 12 * 1e6 + 160 * 0.2e6), own) +
          3e-6);
  plan.device.rows = 16000000;
  is_about("y past L2", mbi_scan_cost(&plan),
           looked_up(&plan, streamed(8 * 20e6 + 4e6 + 16e6 / 8 + 12 * 1e6 + 160e6), own) +
               3e-6);
}

/* A slice of 101 diagonals is walked in steps of eight. L2 holds a quarter of the matrix, or
 * all of it. */
static void steps_of_many_diagonals(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 120000, 9720000);
  plan.nonempty.longest = 81;
  plan.nonempty.diagonal_slots = 1.25;
  assert_int_equal(mbi_choose_passing(&plan), 12);
  is_about("steps past L2", mbi_diagonals_cost(&plan),
           101.25 / 8 * (5 * 0.2e-6 + 0.75 * 0.5e-6));
  square_of(&plan, MERBIT_F32, 50000, 4050000);
  plan.nonempty.longest = 27;
  plan.nonempty.diagonal_slots = 0.5; /* as if half of the rows were like others */
  is_about("steps in L2", mbi_diagonals_cost(&plan), 40.5 / 8 * 5 * 0.2e-6);
}

/* Tests which part of a matrix L2 keeps after the vectors have taken theirs: as many sixteenths
 * as an H100 has room for, with few different values, and none of blocks. */
static void nonzeros_that_stay_in_l2(void **state) {
  static const struct {
    uint64_t rows, nnz;
    int passing;
  } cases[] = {{1000000, 3000000, 13}, /* 7.6 MB of 36 MB */
               {100000, 3900000, 10},  /* 22 MB of 47 MB: 7, less one */
               {100000, 2358000, 4},   /* 29.9 MB, 22 of 28.3: 12 */
               {100000, 2357000, 0},   /* 29.9 MB: L2 holds all of it */
               {3000000, 100, 16},     /* vectors alone take more */
               {100000, 29400000, 16}, /* less than a sixteenth */
               {100000, 29200000, 15}, {0, 0, 0}};
  const merbit_device_profile h100 = profile_of("H100");
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    square_of(&plan, MERBIT_F64, cases[i].rows, cases[i].nnz);
    plan.profile = &h100;
    assert_int_equal(mbi_choose_passing(&plan), cases[i].passing);
    is_about("bytes", mbi_choose_stream(&plan) * 0.98 * h100.copy_rate,
             0.5 + cases[i].passing / 32.0);
  }
  square_of(&plan, MERBIT_F64, 100000, 1800000);
  plan.profile = &h100;
  plan.view.format = MERBIT_BSR;
  assert_int_equal(mbi_choose_passing(&plan), 16);
  plan.view.format = MERBIT_CSR;
  plan.desc.vectors = 20; /* the vectors take 32 MB */
  assert_int_equal(mbi_choose_passing(&plan), 16);
}

/* Rows of four nonzeros are streamed, shorter ones if L2 then keeps a part. */
static void rows_past_the_caches(void **state) {
  static const struct {
    uint64_t rows, nnz;
    int streams;
  } cases[] = {{1000000, 1600000, 0},     /* all of it stays */
               {1000000, 1700000, 1},     /* a part */
               {6000000, 18000000, 1},    /* x */
               {7900000, 23000000, 0},    /* nothing */
               {7900000, 4 * 7900000, 1}, /* nothing, but rows are long */
               {10000, 40000, 0}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    mbi_preamble preamble;
    memset(&preamble, 0, sizeof preamble);
    square_of(&plan, MERBIT_F64, cases[i].rows, cases[i].nnz);
    plan.streaming = cases[i].nnz >= 4 * cases[i].rows;
    plan.passing = mbi_choose_passing(&plan);
    mbi_choose_loads(&plan, &preamble, mbi_device_csr_stream_bytes(&plan), 1, 1);
    assert_non_null(
        strstr(preamble.text, cases[i].streams ? "MBK_STREAMING 1" : "MBK_STREAMING 0"));
  }
}

/* Tests what a kernel is told about it. ROWS keeps a part of the matrix if it uses one or two
 * lanes per row, but not of floats. A matrix that fits in L2 is loaded without hints. */
static void loads_that_keep(void **state) {
  static const struct {
    merbit_type type;
    uint64_t nnz;
    int passing, lanes;
    const char *kept, *streams; /* NULL: nothing is kept */
  } cases[] = {
      {MERBIT_F64, 3000000, 16, 1, NULL, "MBK_STREAMING 1"},
      {MERBIT_F64, 3000000, 12, 1, "MBK_KEPT 4\n", "MBK_STREAMING 1"},
      {MERBIT_F32, 5000000, 12, 1, NULL, "MBK_STREAMING 1"},
      {MERBIT_F64, 3000000, 12, 2, "MBK_KEPT 4\n", "MBK_STREAMING 1"},
      {MERBIT_F64, 3000000, 12, 4, NULL, "MBK_STREAMING 0"},
      {MERBIT_F64, 1600000, 0, 1, "MBK_KEPT 8\n", "MBK_STREAMING 1"}, /* not with offsets */
      {MERBIT_F64, 1200000, 12, 1, NULL, "MBK_STREAMING 0"},
      {MERBIT_F64, 1900000, 16, 4, NULL, "MBK_STREAMING 0"},
      {MERBIT_F64, 2500000, 16, 4, NULL, "MBK_STREAMING 1"}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    mbi_preamble preamble;
    merbit_plan plan;
    square_of(&plan, cases[i].type, 1000000, cases[i].nnz);
    plan.streaming = cases[i].passing == 16;
    plan.passing = cases[i].passing;
    plan.tuning[MBI_KNOB_ROWS_LANES] = cases[i].lanes;
    assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
    mbi_rows_preamble(&plan, &preamble);
    assert_non_null(strstr(preamble.text, cases[i].streams));
    if (cases[i].kept != NULL) {
      assert_non_null(strstr(preamble.text, cases[i].kept));
    } else {
      assert_null(strstr(preamble.text, "MBK_KEPT"));
    }
  }
}

/* Streaming and gathering hide a part of each other: the time is at least the longer of them,
 * and at most their sum, as when L2 keeps half of the matrix. */
static void forecasts_with_gathers(void **state) {
  const double both = pow(2.0, 2 / 3.0);
  double part;
  const merbit_device_profile h100 = profile_of("H100");
  merbit_plan plan, kept, most;
  (void)state;
  square_of(&plan, MERBIT_F64, 1000000, 50000000);
  square_of(&kept, MERBIT_F64, 100000, 3500000);
  assert_int_equal(mbi_choose_passing(&kept), 8);
  square_of(&most, MERBIT_F64, 100000, 2358000);
  most.profile = &h100;
  assert_int_equal(mbi_choose_passing(&most), 4);
  for (part = 1e-6; part < 1; part *= 10) {
    is_about("only streaming", mbi_choose_overlap(&plan, part, 0), part);
    is_about("only gathering", mbi_choose_overlap(&plan, 0, part), part);
    is_about("as much of both", mbi_choose_overlap(&plan, part, part), both * part);
    is_about("4 of 1", mbi_choose_overlap(&plan, 4 * part, part), pow(9, 2 / 3.0) * part);
    is_about("1 of 4", mbi_choose_overlap(&plan, part, 4 * part), pow(9, 2 / 3.0) * part);
    is_about("in L2", mbi_choose_overlap(&kept, part, 3 * part), 4 * part);
    is_about("most in L2", mbi_choose_overlap(&most, part, 3 * part), 4 * part);
  }
}

static const double thin = (1 + 2300 / 4096.0) / (1 + 2300 / 8192.0); /* of gathers, by 4096 */

/* If L2 keeps half of the matrix, gathers add their whole time, and all of HUBS takes half as
 * long again. */
static void gathers_beside_a_kept_matrix(void **state) {
  const double gathers = 3500000 / 160e9, part = 0.75, vectors = 8e5;
  const double matrix = part * streamed(12 * 3.5e6 + vectors), own = 12 / 128.0;
  merbit_plan plan;
  double hubs;
  (void)state;
  square_of(&plan, MERBIT_F64, 100000, 3500000);
  plan.desc.block_threads = 256; /* a warp for each slice */
  assert_int_equal(mbi_choose_passing(&plan), 8);
  plan.nonempty.typical = 35;
  plan.nonempty.sectors = 1;
  plan.nonempty.hub_share = 0.5;
  is_about("scan", mbi_scan_cost(&plan), looked_up(&plan, matrix + gathers, own) + 3e-6);
  is_about("sliced", mbi_sliced_cost(&plan),
           0.92 * looked_up(&plan,
                            0.9 * part * streamed(12 * 3.5e6 + 31.25e5 + vectors) + gathers,
                            own / 2) +
               mbi_walk_end(&plan, 35, 8));
  is_about("rows", mbi_rows_cost(&plan), /* two of 35, 16 lanes each, at once */
           0.9 * looked_up(&plan, matrix + part * streamed(4e5) + 1.1 * gathers, 4 / 32.0) +
               mbi_walk_end(&plan, 35, 96));
  hubs = mbi_hubs_cost(&plan);
  plan.nonempty.hub_share = 0.75;
  is_about("hubs", hubs - mbi_hubs_cost(&plan), 1.5 * thin * gathers / 4);
  plan.nonempty.slots = 4000000; /* sorted */
  is_about("sorted", mbi_sliced_cost(&plan),
           (0.92 + 0.12 / 7 * log(100 / 35.0) + 0.3 / 2) *
                   looked_up(&plan,
                             0.9 * part * streamed(12 * 3.5e6 + 39.25e5 + vectors) + gathers,
                             own / 2) +
               mbi_walk_end(&plan, 35, 8));
}

/* If x is hardly larger than L1, of 227 KB, windows of nonzeros find what others before them
 * have loaded; the less so, the more of the matrix L2 holds. */
static void sectors_that_l1_holds(void **state) {
  static const struct {
    uint64_t rows, nnz, cols;
    double held; /* the part that earlier windows have loaded counts so much */
  } cases[] = {{5000000, 60000000, 60000, 1},
               {5000000, 60000000, 63924, 0},
               {5000000, 60000000, 63923, 1},
               {100000, 12000000, 30000, 4 / 8.0},
               {100000, 4000000, 30000, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const double again = exp(-8192 / ((double)cases[i].cols / 8));
    merbit_plan plan;
    square_of(&plan, MERBIT_F32, cases[i].rows, cases[i].nnz);
    plan.device.cols = cases[i].cols;
    plan.nonempty.sectors = 0.9;
    is_about("gathers", mbi_traffic_of(&plan).gathers,
             (double)cases[i].nnz * (0.9 - cases[i].held * (0.9 - again)) / 160e9);
    plan.nonempty.sectors = again / 2; /* neighbouring columns */
    is_about("neighbours", mbi_traffic_of(&plan).gathers,
             (double)cases[i].nnz * again / 2 / 160e9);
  }
}

/* Hubs leave the other columns to gathers, which L2 serves only if x and y fit together,
 * without empty rows and as many columns. */
static void gathers_of_rare_columns(void **state) {
  merbit_plan plan;
  mbi_traffic t;
  double of_both;
  (void)state;
  square_of(&plan, MERBIT_F64, 2500000, 20000000);
  assert_int_equal(mbi_choose_passing(&plan), 16);
  plan.nonempty.sectors = 1;
  plan.nonempty.hub_share = 0.5;
  of_both = mbi_choose_gather(&plan, 40e6);
  assert_true(of_both > 1.1 * mbi_choose_gather(&plan, 20e6));
  is_about("half of the nonzeros", mbi_hubs_cost(&plan),
           mbi_choose_overlap(&plan, streamed(12 * 20e6 + 40e6), 10e6 * thin * of_both) +
               plan.profile->launch_seconds + 4 * 2 * plan.profile->l2_load_seconds +
               2500000 / (132 * 1024.0) * plan.profile->memory_load_seconds);
  plan.nonempty.count = 1250000;
  t = mbi_traffic_of(&plan);
  is_about("half of the rows", mbi_hubs_cost(&plan),
           mbi_choose_overlap(&plan, t.vectors + t.lists + t.shared + t.stream,
                              10e6 * thin * mbi_choose_gather(&plan, 20e6)) +
               plan.profile->launch_seconds + 4 * 2 * plan.profile->l2_load_seconds +
               1250000 / (132 * 1024.0) * plan.profile->memory_load_seconds);
}

/* In f64 bins write and read 1.1 * 28.5 bytes per nonzero: of these 110 MB, L2 keeps three
 * sixteenths, although it would keep half of the matrix. Three launches follow each other. */
static void bins_beside_l2(void **state) {
  const double bytes = 1.1 * 28.5 * 3500000;
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 100000, 3500000);
  plan.desc.block_threads = 256; /* a warp for each slice */
  assert_int_equal(mbi_choose_passing(&plan), 8);
  assert_int_equal(mbi_choose_passing_of(&plan, (uint64_t)bytes), 13);
  is_about("bins", mbi_binned_cost(&plan),
           mbi_traffic_of(&plan).vectors + 2 * plan.profile->launch_seconds +
               0.7 * streamed(bytes) * 29 / 32 +
               3500000 * 0.7 * mbi_choose_gather(&plan, plan.profile->l2_bytes / 4));
}

/* Vectors count half if they take at most 0.45 of L2, which then keeps them. */
static void vectors_that_l2_keeps(void **state) {
  const uint64_t most = (uint64_t)(0.45 * 62914560) / 16;
  merbit_plan plan;
  double kept;
  (void)state;
  square_of(&plan, MERBIT_F64, most, 60000000);
  kept = mbi_traffic_of(&plan).vectors;
  is_about("kept", kept, streamed(16.0 * (double)most) / 2);
  plan.device.rows += 16;
  is_about("streamed", mbi_traffic_of(&plan).vectors, 2 * kept);
}

/* Few rows slow down gathers: 132 multiprocessors reach half their gather rate with 2,300
 * nonzeros in flight each, and can have 2,048 lanes of 8. */
static void forecasts_of_few_rows(void **state) {
  static const struct few {
    uint64_t rows;
    double factor; /* (1 + 2300 / nonzeros in flight) / (1 + 2300 / 16384) */
  } few[] = {{132, (1 + 2300 / 256.0) / (1 + 2300 / 16384.0)},
             {1320, (1 + 2300 / 2560.0) / (1 + 2300 / 16384.0)},
             {6335, (1 + 2300 / (6335 * 256 / 132.0)) / (1 + 2300 / 16384.0)}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof few / sizeof few[0]; i++) {
    const double rows = (double)few[i].rows, stream = 12 * 4096 * rows,
                 end = 4096 / 256 * 0.5e-6;
    merbit_plan plan;
    double bytes;
    square_of(&plan, MERBIT_F64, few[i].rows, few[i].rows * 4096);
    plan.device.cols = 8000000;
    plan.nonempty.sectors = 1e-9;
    bytes = stream + 8 * (rows + 8e6) + 4 * rows;
    is_about("few rows", mbi_rows_cost(&plan), streamed(bytes) + end);
    /* Rows in flight at once gather at L2's rate. */
    plan.nonempty.sectors = 1;
    plan.device.cols = 200000000;
    bytes = stream + 8 * (rows + 200e6) + 4 * rows;
    is_about(
        "gathers", mbi_rows_cost(&plan),
        mbi_choose_overlap(&plan, streamed(bytes), 0.8 * few[i].factor * rows * 4096 / 160e9) +
            end);
  }
}

/* Rows of 250 with a warp each are too short to move through x together: they gather from L2 if
 * all are in flight at once, else from memory. */
static void forecasts_of_rows_in_flight(void **state) {
  int more;
  (void)state;
  for (more = 0; more < 2; more++) {
    const double rows = 8448 + more, nnz = 250 * rows;
    merbit_plan plan;
    square_of(&plan, MERBIT_F64, (uint64_t)rows, (uint64_t)nnz);
    plan.device.cols = 200000000;
    plan.nonempty.longest = 250;
    plan.nonempty.sectors = 1;
    is_about("in flight", mbi_rows_cost(&plan),
             0.9 * mbi_choose_overlap(&plan, streamed(12 * nnz + 8 * (rows + 200e6) + 4 * rows),
                                      more ? 1.1 * nnz / 40e9 : 0.8 * nnz / 160e9) +
                 250 / 256.0 * 0.5e-6);
  }
}

/* Other decisions that depend on even rows: semirings, measuring, forms of values, several
 * vectors. */
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

/* A row over very many tiles is added up by one block of the fix-up, in each method that
 * divides rows into tiles. */
static void rows_that_the_fixup_walks(void **state) {
  static const merbit_method cut[] = {MERBIT_METHOD_SCAN, MERBIT_METHOD_BINNED,
                                      MERBIT_METHOD_HUBS, MERBIT_METHOD_BSR};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cut / sizeof cut[0]; i++) {
    const mbi_cuda_method *const method = mbi_method_find(cut[i])->cuda;
    merbit_plan plan;
    double before;
    with_hubs(&plan);
    plan.nonempty.block_rows = plan.nonempty.block_cols = 4;
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
      cmocka_unit_test(long_rows_among_even_ones),
      cmocka_unit_test(walks_that_do_not_show),
      cmocka_unit_test(long_rows_by_lanes),
      cmocka_unit_test(long_rows_elsewhere),
      cmocka_unit_test(rows_that_the_fixup_walks),
      cmocka_unit_test(forecasts_without_gathers),
      cmocka_unit_test(forecasts_with_gathers),
      cmocka_unit_test(gathers_beside_a_kept_matrix),
      cmocka_unit_test(sectors_that_l1_holds),
      cmocka_unit_test(gathers_of_rare_columns),
      cmocka_unit_test(bins_beside_l2),
      cmocka_unit_test(vectors_that_l2_keeps),
      cmocka_unit_test(forecasts_of_few_rows),
      cmocka_unit_test(forecasts_of_rows_in_flight),
      cmocka_unit_test(steps_of_many_diagonals),
      cmocka_unit_test(nonzeros_that_stay_in_l2),
      cmocka_unit_test(rows_past_the_caches),
      cmocka_unit_test(loads_that_keep),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
