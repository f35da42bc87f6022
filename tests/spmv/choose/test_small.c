/* AUTO's choice for a matrix that stays in L2: each limit for small matrices in
 * spmv/choose/choose.c from both sides. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/choose/square_plans.h"

/* 36 MB of columns, values, x and y on an H200, whose L2 has 63 MB; slots are 7/4 of the
 * nonzeros in rows that share warps. */
static void small_matrices(void **state) {
  const uint64_t bytes = (uint64_t)(0.57 * 62914560), vectors = 2 * 500000;
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 500000, 2500000);
  plan.nonempty.slots = 8000000; /* 16 in the longest of 32 rows */
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length; runner-up scan");
  plan.nonempty.block_rows = plan.nonempty.block_cols = 5; /* ROWS is faster */
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length; runner-up scan");
  plan.nonempty.slots = 8000001;
  takes(&plan, MERBIT_METHOD_BSR, "small, of full blocks; runner-up scan");
  plan.nonempty.block_rows = plan.nonempty.block_cols = 1;
  takes(&plan, MERBIT_METHOD_SLICED,
        "small, with short rows of different lengths; runner-up scan");
  plan.desc.expected_calls--; /* too few for slices */
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths; runner-up rows");
  plan.desc.expected_calls++;
  plan.nonempty.longest = 400; /* one lane would walk it */
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths; runner-up rows");
  plan.nonempty.longest = 5;
  plan.nonempty.sorted_slots = 8000001; /* sorting does not help */
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths; runner-up rows");
  plan.nonempty.slots = plan.device.nnz = (bytes - 4 * vectors) / 8;
  takes(&plan, MERBIT_METHOD_ROWS, "small");
  plan.device.nnz++;
  plan.desc.expected_calls = 10;
  takes(&plan, MERBIT_METHOD_ROWS, "forecast");
  square_of(&plan, MERBIT_F64, 500000, (bytes - 8 * vectors) / 12);
  plan.nonempty.longest = 6;
  takes(&plan, MERBIT_METHOD_ROWS, "small");
  plan.device.nnz++;
  plan.nonempty.slots++;
  plan.desc.expected_calls = 10;
  takes(&plan, MERBIT_METHOD_ROWS, "forecast");
  square_of(&plan, MERBIT_F64, 1000, 300000); /* a warp for each row: none waits for another */
  takes(&plan, MERBIT_METHOD_ROWS, "small");
  plan.nonempty.slots = 4 * plan.device.nnz;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
}

/* Few warps wait for the parts of x and of the matrix that L2 does not hold; x counts twice. */
static void few_rows_of_small_matrices(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 980, 980 * 3061);
  plan.device.cols = 1518684;
  plan.nonempty.longest = 3061;
  assert_true(mbi_choose_small(&plan));
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths");
  plan.device.cols = 300000;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  plan.device.rows = plan.nonempty.count = 9800; /* enough of them */
  plan.device.cols = 1518684;
  plan.nonempty.longest = 307;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
}

/* Rows much longer than most that hold most of the nonzeros take many steps, or gather a
 * scattered x with few lanes. (H200, us: 7,782 doubles a side, every 50th row of 4,354, ROWS
 * 16.7, SCAN 12.3; 2,122 rows of 350 or 2,100, 22.0 and 17.0.) */
static void long_rows_apart(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, 7782, 2889758);
  plan.desc.expected_calls = 10; /* too few for slices */
  plan.nonempty.slots = 8 * plan.device.nnz;
  plan.nonempty.longest = 4354;
  plan.nonempty.sectors = 0.12;
  plan.nonempty.typical = 742;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  plan.nonempty.typical = 743;
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths");
  plan.nonempty.longest = 2000; /* 8 steps */
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  square_of(&plan, MERBIT_F64, 2122, 1989266);
  plan.desc.expected_calls = 10;
  plan.device.cols = 66932;
  plan.nonempty.slots = 2 * plan.device.nnz;
  plan.nonempty.longest = 2148;
  plan.nonempty.sectors = 0.81;
  plan.nonempty.typical = 1406;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  plan.nonempty.typical = 1407;
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths");
}

/* Where most rows are empty, ROWS pays up to the time of its gathers and of the loads that its
 * lanes wait for. (1M nonzeros on an H200, us by ROWS and by SCAN: 250,000 of 1M rows, f32 8.3
 * and 11.4; 50,000 of 500,000, f64 10.9 and 12.9; 50,000 of 1.7M, f64 30 and 15.) It does not
 * pay for 1.8 rows per nonzero if no more than one in eight is not empty. */
static void rows_that_are_mostly_empty(void **state) {
  static const struct {
    merbit_type type;
    uint64_t rows, count, mean;
    double waves, steps; /* lanes of all rows, over those of the GPU; steps of a row */
    merbit_method method;
  } expected[] = {{MERBIT_F32, 1000000, 250000, 4, 1000000 / 270336.0, 1, MERBIT_METHOD_ROWS},
                  {MERBIT_F64, 1000000, 250000, 4, 1000000 / 270336.0, 1, MERBIT_METHOD_ROWS},
                  {MERBIT_F32, 500000, 50000, 20, 1000000 / 270336.0, 2, MERBIT_METHOD_ROWS},
                  {MERBIT_F64, 500000, 50000, 20, 1000000 / 270336.0, 2, MERBIT_METHOD_ROWS},
                  {MERBIT_F32, 720001, 50000, 8, 720001 / 270336.0, 2, MERBIT_METHOD_SCAN},
                  {MERBIT_F32, 720000, 50000, 8, 720000 / 270336.0, 2, MERBIT_METHOD_ROWS},
                  {MERBIT_F32, 400000, 50000, 4, 400000 / 270336.0, 1, MERBIT_METHOD_SCAN},
                  {MERBIT_F32, 399999, 50000, 4, 399999 / 270336.0, 1, MERBIT_METHOD_ROWS},
                  {MERBIT_F64, 1500000, 45000, 20, 1500000 / 270336.0, 4, MERBIT_METHOD_SCAN}};
  int sample, seen[3][2] = {{0, 0}, {0, 0}, {0, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    const uint64_t nnz = expected[i].count * expected[i].mean;
    const int is_single = expected[i].type == MERBIT_F32;
    const int lonely = (double)expected[i].rows > 1.8 * (double)nnz &&
                       8 * expected[i].count <= expected[i].rows;
    merbit_plan plan;
    double walks, gathers;
    square_of(&plan, expected[i].type, expected[i].rows, nnz);
    plan.nonempty.count = expected[i].count;
    plan.nonempty.longest = (uint32_t)expected[i].mean;
    plan.nonempty.typical = (double)expected[i].mean;
    plan.nonempty.slots = plan.nonempty.sorted_slots = 10 * nnz;
    assert_true(mbi_choose_small(&plan));
    walks = expected[i].waves * (1 + 2 * expected[i].steps) * plan.profile->l2_load_seconds;
    gathers = (double)nnz / (is_single ? 160e9 : 155e9);
    for (sample = 0; sample < 3; sample++) {
      const double found = sample == 0 ? 1 : sample == 1 ? 0.5 : 0.01;
      const double rows =
          (is_single ? 1.2 : 1.3) * pow(pow(walks, 1.5) + pow(found * gathers, 1.5), 2 / 3.0);
      int pays;
      plan.nonempty.sectors = found;
      pays = !lonely && rows <= mbi_scan_cost(&plan);
      takes(&plan, pays ? MERBIT_METHOD_ROWS : MERBIT_METHOD_SCAN, "small");
      seen[sample][pays] = 1;
      if (sample == 0) {
        assert_true(pays == (expected[i].method == MERBIT_METHOD_ROWS));
      }
    }
    plan.nonempty.sectors = 0; /* no sample: as if scattered */
    takes(&plan, expected[i].method, "small");
  }
  for (sample = 0; sample < 3; sample++) {
    assert_true(seen[sample][0] && seen[sample][1]);
  }
}

/* Three steps of ROWS always pay where SCAN has the whole matrix in flight at once. */
static void three_steps(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 100000, 500000);
  plan.nonempty.longest = 3 * 5; /* one lane takes 5 at once */
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  plan.nonempty.longest = 3 * 5 + 1;
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths");
  plan.tuning[MBI_KNOB_ROWS_LANES] = 4; /* lanes of two nonzeros each: 8 at once */
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
}

/* More than three steps of ROWS pay up to a quarter of SCAN's time, if half of the GPU's lanes
 * have rows, and if long rows do not hold most nonzeros. */
static void steps_that_pay(void **state) {
  const uint64_t half = 132 * 1024;
  double most;
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, half, 4 * half);
  most = 4 * (1.5 + mbi_scan_cost(&plan) / 4 / (2 * mbi_walk_load(&plan)));
  assert_true(most > 3 * 4 + 1);
  plan.nonempty.longest = (uint32_t)most;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  plan.nonempty.typical = 8;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  plan.nonempty.typical = 8.01;
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths");
  plan.nonempty.typical = 8;
  plan.nonempty.longest += 2;
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths");
  plan.nonempty.longest -= 2;
  plan.device.rows = plan.nonempty.count = half - 1;
  plan.device.nnz = plan.nonempty.slots = 4 * (half - 1);
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths");
}

/* If samples of a small matrix find diagonals, DIAGONALS comes first, from 0.45 of L2 on. */
static void small_matrices_of_diagonals(void **state) {
  const uint64_t nnz = 62914560 / 20 * 9 / 8;
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 505564, nnz);
  plan.nonempty.longest = 7;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length; runner-up scan");
  plan.nonempty.diagonal_slots = 1;
  takes(&plan, MERBIT_METHOD_DIAGONALS, "small, with few diagonals; runner-up scan");
  plan.device.nnz--;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length; runner-up scan");
  plan.device.nnz++;
  plan.nonempty.slots = plan.nonempty.sorted_slots = 5 * nnz; /* uneven rows, or full blocks */
  plan.nonempty.block_rows = plan.nonempty.block_cols = 3;
  takes(&plan, MERBIT_METHOD_DIAGONALS, "small, with few diagonals; runner-up scan");
  plan.nonempty.block_rows = plan.nonempty.block_cols = 0;
  plan.nonempty.diagonal_slots = 1.15; /* 8.05 of a slice, 4 in each step */
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths; runner-up rows");
  plan.nonempty.diagonal_slots = 1;
  plan.nonempty.longest = 5000; /* one lane would walk it */
  takes(&plan, MERBIT_METHOD_SCAN, "small, with rows of different lengths; runner-up rows");
}

/* Blocks of 3 x 3 have diagonals that are mostly full, but so many that a lane walks too
 * long. (40,500 rows in f32, us: DIAGONALS 15 on an H100; ROWS 6.4 and SLICED with shared
 * slices 5.3 there, 6.2 and 6.0 on an H200.) 16 diagonals take two steps. Slices are not shared
 * where rows have fewer than 32 nonzeros or read little of x. */
static void small_matrices_of_many_diagonals(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 40500, 3000000);
  plan.nonempty.longest = 81;
  plan.nonempty.diagonal_slots = 1.26;
  takes(&plan, MERBIT_METHOD_ROWS,
        "small, with rows of similar length"); /* without a sample of the columns */
  plan.nonempty.sectors = 0.02;
  plan.nonempty.narrow = 1;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  assert_false(mbi_diagonals_trusted(&plan));
  plan.device.rows = plan.nonempty.count = plan.device.nnz / 32;
  plan.nonempty.longest = 32;
  plan.nonempty.diagonal_slots = 0;
  plan.nonempty.sectors = 0.3;
  plan.nonempty.lines = plan.nonempty.lines_abreast = 0.9;
  takes(&plan, MERBIT_METHOD_SLICED, "small, with long rows");
  plan.device.rows = ++plan.nonempty.count;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  square_of(&plan, MERBIT_F32, 225000, 225000 * 16);
  plan.nonempty.longest = 17;
  plan.nonempty.diagonal_slots = 1;
  takes(&plan, MERBIT_METHOD_DIAGONALS, "small, with few diagonals");
  plan.nonempty.diagonal_slots = 1.01;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
}

/* Warps share the slices of a small matrix of long rows if they read more of x than any method
 * finds in L1, for enough products. (On an H200, us: 18,974 rows of 158 floats in 37,947
 * columns: 8.1, ROWS 11.8, SCAN 13.9; 1,760 rows of 1,705: 8.5, 6.4, 7.9.) */
static void small_matrices_of_long_rows(void **state) {
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 18974, 2997892);
  plan.device.cols = 37947;
  plan.nonempty.longest = 158;
  plan.nonempty.sectors = 0.5;
  plan.nonempty.narrow = 1;
  takes(&plan, MERBIT_METHOD_SLICED, "small, with long rows; runner-up scan");
  plan.desc.expected_calls = 99;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  plan.desc.expected_calls = 100;
  plan.nonempty.sectors = 0; /* no sample */
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  square_of(&plan, MERBIT_F32, 50000, 3000000); /* x: 0.15 of L1, or less */
  plan.device.cols = 8720;
  plan.nonempty.longest = 96;
  plan.nonempty.sectors = 0.27;
  plan.nonempty.lines = plan.nonempty.lines_abreast = 0.95;
  takes(&plan, MERBIT_METHOD_SLICED, "small, with long rows");
  plan.device.cols = 8715;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  plan.device.cols = 20000;
  plan.nonempty.sectors = 0.121;
  takes(&plan, MERBIT_METHOD_SLICED, "small, with long rows");
  plan.nonempty.sectors = 0.119;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  plan.device.cols = 58112; /* all of L1, or more */
  plan.nonempty.sectors = 0.65;
  takes(&plan, MERBIT_METHOD_SLICED, "small, with long rows");
  plan.device.cols++;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  square_of(&plan, MERBIT_F32, 1760, 1760 * 1705);
  plan.nonempty.longest = 1760;
  plan.nonempty.sectors = 0.03;
  plan.nonempty.narrow = 1;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  square_of(&plan, MERBIT_F32, 10954, 3008146); /* a layer of 2,739 inputs */
  plan.device.cols = 2739;
  plan.nonempty.longest = 275;
  plan.nonempty.sectors = 0.05;
  plan.nonempty.narrow = 1;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  square_of(&plan, MERBIT_F32, 980, 2999780); /* each gathers from all of L2 */
  plan.device.cols = 1519000;
  plan.nonempty.longest = 3061;
  plan.nonempty.sectors = 0.98;
  assert_int_equal(plan.desc.expected_calls, 100);
  assert_int_not_equal(mbi_choose_method(&plan), MERBIT_METHOD_SLICED);
  square_of(&plan, MERBIT_F64, 800, 800 * 2500); /* ROWS seems slower, but SCAN faster */
  plan.device.cols = 40000;
  plan.nonempty.longest = 2500;
  plan.nonempty.sectors = 0.7;
  plan.nonempty.abreast = 0.16; /* rows of random columns that read most of x */
  plan.nonempty.narrow = 1;
  plan.desc.expected_calls = 300;
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  square_of(&plan, MERBIT_F32, 2450, 2450 * 1225); /* parallel rows share lines of x */
  plan.device.cols = 1225 * 1225;
  plan.nonempty.longest = 1225;
  plan.nonempty.sectors = 0.19;
  plan.nonempty.abreast = 0.14;
  takes(&plan, MERBIT_METHOD_SLICED, "small, with long rows");
  plan.nonempty.abreast = 0.17; /* no whole lines */
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  plan.nonempty.abreast = 0.14;
  plan.nonempty.sectors = 0.97; /* windows of nonzeros find columns at random */
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  plan.nonempty.sectors = 0.15; /* windows of nonzeros read as little */
  takes(&plan, MERBIT_METHOD_ROWS, "small, with rows of similar length");
  square_of(&plan, MERBIT_F32, 1800, 1800 * 900); /* the forecast of ROWS is the least */
  plan.device.cols = 900 * 900;
  plan.nonempty.longest = 900;
  plan.nonempty.sectors = 0.19;
  plan.nonempty.abreast = 0.14;
  takes(&plan, MERBIT_METHOD_SLICED, "small, with long rows");
}

/* Either of the vectors alone takes L2 from the matrix. */
static void vectors_count_for_small_matrices(void **state) {
  const merbit_device_profile h100 = profile_of("H100");
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F32, 980, 980 * 3061);
  plan.profile = &h100;
  assert_true(mbi_choose_small(&plan));
  plan.device.cols = 1500000; /* x has 6 MB */
  assert_false(mbi_choose_small(&plan));
  plan.device.cols = 980;
  plan.device.rows = 1500000;
  assert_false(mbi_choose_small(&plan));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_matrices),
      cmocka_unit_test(few_rows_of_small_matrices),
      cmocka_unit_test(long_rows_apart),
      cmocka_unit_test(rows_that_are_mostly_empty),
      cmocka_unit_test(three_steps),
      cmocka_unit_test(steps_that_pay),
      cmocka_unit_test(small_matrices_of_diagonals),
      cmocka_unit_test(small_matrices_of_many_diagonals),
      cmocka_unit_test(small_matrices_of_long_rows),
      cmocka_unit_test(vectors_count_for_small_matrices),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
