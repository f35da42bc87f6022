/* Forecasts for rows that move through the columns together, in ROWS and in SLICED, against
 * sums made by hand; and AUTO's choice of these methods. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/choose/square_plans.h"

/* Rows of 500 random columns of 40,000 move through them together, and find in L1 what
 * others have loaded. (Doubles on an H100, us: 94, SCAN 141, HUBS 115.) Without that HUBS is
 * as fast. */
static void rows_that_move_together(void **state) {
  const merbit_device_profile h100 = profile_of("H100");
  merbit_plan plan;
  double together;
  (void)state;
  square_of(&plan, MERBIT_F64, 40000, 20000000);
  plan.profile = &h100;
  plan.nonempty.longest = 500;
  plan.nonempty.sectors = 0.68;
  plan.nonempty.hub_share = 0.53;
  plan.desc.block_threads = 256; /* a warp for each slice, which is slower */
  takes(&plan, MERBIT_METHOD_ROWS, ", hubs ");
  together = mbi_rows_cost(&plan);
  assert_true(together < 0.75 * mbi_scan_cost(&plan));
  plan.nonempty.typical = 2000; /* as if three of four nonzeros were in rows that move apart */
  assert_true(mbi_rows_cost(&plan) > 1.2 * together);
  plan.nonempty.typical = 500;
  plan.nonempty.slots = plan.nonempty.sorted_slots = 2 * plan.device.nnz; /* a warp for each */
  assert_true(mbi_rows_cost(&plan) > together);
  assert_true(mbi_rows_cost(&plan) < 0.9 * mbi_scan_cost(&plan));
}

/* SLICED has 200,000 rows of 500 in flight at once, which move through 400,000 columns
 * together. (On an H200, us, f32 / f64: SLICED 238 / 286, ROWS 722 / 770, SCAN 708 / 747.) */
static void slices_that_move_together(void **state) {
  int type;
  (void)state;
  for (type = 0; type < 2; type++) {
    merbit_plan plan;
    double together;
    square_of(&plan, type ? MERBIT_F64 : MERBIT_F32, 200000, 100000000);
    plan.device.cols = 400000;
    plan.nonempty.longest = 500;
    plan.nonempty.sectors = 0.98;
    plan.nonempty.lines = plan.nonempty.lines_abreast = 1;
    takes(&plan, MERBIT_METHOD_SLICED, "rows of similar length, forecast ");
    plan.desc.block_threads = 256; /* a warp for each slice */
    together = mbi_sliced_cost(&plan);
    assert_true(together < 0.55 * mbi_scan_cost(&plan));
    plan.nonempty.slots = plan.device.nnz / 4 * 5;
    plan.nonempty.typical = 500;
    assert_true(mbi_sliced_cost(&plan) < 1.05 * together);
    plan.nonempty.slots++; /* rows of different lengths soon read different columns */
    plan.nonempty.sorted_slots = plan.nonempty.slots;
    assert_true(mbi_sliced_cost(&plan) > 1.8 * together);
    plan.nonempty.slots = plan.nonempty.sorted_slots = plan.device.nnz;
    plan.device.cols = 17 * 400000; /* too far apart for L1 */
    assert_true(mbi_sliced_cost(&plan) > 1.8 * together);
    plan.device.cols = 80000;
    plan.device.rows = plan.nonempty.count = plan.device.nnz / 64;
    plan.nonempty.longest = 64;
    together = mbi_sliced_cost(&plan);
    plan.device.rows = plan.nonempty.count = plan.device.nnz / 63; /* short */
    assert_true(mbi_sliced_cost(&plan) > 1.8 * together);
  }
}

/* Long rows that move through an x of random columns together find in L1 what others have
 * loaded, at a tenth of the time of a gather from L2, if they are not too far apart. If x is
 * larger than a part of L2, they find in L2 what any row on the GPU has loaded. */
static void forecasts_of_rows_together(void **state) {
  static const struct together {
    merbit_type type;
    uint64_t rows, mean, cols;
    double at_once; /* rows on a multiprocessor */
    int reuses;     /* whether L1 keeps the columns that they pass */
    double part;    /* slowdown by few rows */
  } cases[] = {
      {MERBIT_F64, 40000, 500, 40000, 128, 1, 1},
      {MERBIT_F64, 40000, 500, 500000, 64, 0, 1},
      {MERBIT_F64, 40000, 500, 8000000, 64, 0, 1},
      {MERBIT_F32, 40000, 500, 120000, 128, 1, 1},
      {MERBIT_F32, 40000, 1500, 120000, 64, 1, 1},
      {MERBIT_F64, 6336, 3000, 200000, 48, 1, (1 + 2300 / (48 * 64.0)) / (1 + 2300 / 4096.0)}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct together *c = &cases[i];
    const double size = c->type == MERBIT_F32 ? 4 : 8, nnz = (double)(c->rows * c->mean);
    const double bytes = (4 + size) * nnz + 4 * (double)c->rows +
                         size * (double)(c->rows + c->cols) * (c->cols > 1000000 ? 1 : 0.5);
    const double sectors = size * (double)c->cols / 32, mean = (double)c->mean;
    const double own = c->at_once * mean / sectors, all = 132 * own;
    const double fresh = c->reuses ? (1 - exp(-own)) / own : 0.9;
    const double missed = c->cols > 1000000 ? (1 - exp(-all)) / all : 0;
    const double in_l2 = 1 / 160e9;
    merbit_plan plan;
    square_of(&plan, c->type, c->rows, c->rows * c->mean);
    plan.device.cols = c->cols;
    plan.nonempty.sectors = 0.9;
    is_about(
        "together", mbi_rows_cost(&plan),
        (size == 4 ? 1.0 : 0.97) *
            mbi_choose_overlap(
                &plan, streamed(bytes) * (16 + mbi_choose_passing(&plan)) / 32,
                c->part * nnz *
                    ((1 - fresh) * 0.1 * in_l2 +
                     fresh * ((1 - missed) * in_l2 +
                              missed * mbi_choose_gather(&plan, size * (double)c->cols)))));
  }
}

/* SLICED has a row for each lane in flight, if there are enough rows, and no lane waits for
 * others at the end. In f64 a lane takes 4 nonzeros at once. */
static void forecasts_of_slices_together(void **state) {
  static const uint64_t rows[] = {132000, 400000};
  size_t i;
  (void)state;
  for (i = 0; i < 2; i++) {
    const double n = (double)rows[i], nnz = 200 * n;
    const double loads = (n / 132 < 2048 ? n / 132 : 2048) * 200, sectors = 300000 / 4.0;
    const double fresh = sectors / loads * (1 - exp(-loads / sectors));
    merbit_plan plan;
    square_of(&plan, MERBIT_F64, rows[i], (uint64_t)nnz);
    plan.device.cols = 300000;
    plan.desc.block_threads = 256;
    plan.nonempty.longest = 200;
    plan.nonempty.sectors = 0.9;
    is_about("slices", mbi_sliced_cost(&plan),
             0.92 * mbi_choose_overlap(&plan,
                                       0.9 * streamed(12 * nnz + 31.25 * n + 4 * (n + 300000)) *
                                           (16 + mbi_choose_passing(&plan)) / 32,
                                       nnz * (0.1 * (1 - fresh) + fresh) / 160e9));
  }
}

/* If eight warps share a slice, a multiprocessor has fewer rows at once. Half of what they
 * load counts towards what L1 must keep. No rows wait at the end if sorted rows have equal
 * lengths. */
static void forecasts_of_shared_slices(void **state) {
  const double nnz = 18976 * 158.0, loads = 18976 / 132.0 * 158, sectors = 38000 / 4.0;
  const double fresh = sectors / loads * (1 - exp(-loads / sectors));
  merbit_plan plan;
  double together;
  (void)state;
  square_of(&plan, MERBIT_F64, 18976, (uint64_t)nnz);
  plan.device.cols = 38000;
  plan.nonempty.longest = 158;
  plan.nonempty.sectors = 0.9;
  assert_int_equal(mbi_sliced_parts(&plan), 8);
  together = 1.08 * mbi_choose_overlap(
                        &plan,
                        0.9 * streamed(12 * nnz + 31.25 * 18976 + 4 * (18976.0 + 38000)) *
                            (16 + mbi_choose_passing(&plan)) / 32,
                        nnz * (0.1 * (1 - fresh) + fresh) / 160e9);
  is_about("shared slices", mbi_sliced_cost(&plan), together);
  plan.nonempty.slots = 2 * plan.device.nnz; /* sorted, the rows of a slice have equal lengths */
  plan.nonempty.sorted_slots = plan.device.nnz + plan.device.nnz / 20;
  assert_true(mbi_sliced_cost(&plan) < 1.1 * together);
  plan.nonempty.sorted_slots++;
  assert_true(mbi_sliced_cost(&plan) > 1.25 * together);
  plan.nonempty.sorted_slots = plan.device.nnz;
  plan.device.cols = 38000 * 5;
  assert_true(mbi_sliced_cost(&plan) > 1.2 * together);
}

/* Warps that share slices find all of x in L1 if it fits. If the matrix is in L2, no loads from
 * memory hide their wait for the warps of longer rows, and few slices leave multiprocessors
 * idle. */
static void forecasts_of_shared_slices_in_l2(void **state) {
  const double nnz = 10000 * 200.0, loads = 10000 / 132.0 * 200, sectors = 10000 / 8.0;
  const double fresh = sectors / loads * (1 - exp(-loads / sectors));
  const double bytes = 8 * nnz + 31.25 * 10000 + 2 * 20000.0;
  merbit_plan plan;
  double even;
  (void)state;
  square_of(&plan, MERBIT_F32, 10000, (uint64_t)nnz);
  plan.nonempty.longest = 200;
  plan.nonempty.sectors = 0.9;
  assert_int_equal(mbi_sliced_parts(&plan), 16);
  assert_int_equal(mbi_choose_passing(&plan), 0);
  even = 1.08 * 1.1 *
         mbi_choose_overlap(&plan, 0.9 * streamed(bytes) / 2,
                            nnz * (0.1 * (1 - fresh) + fresh) / 160e9);
  is_about("in L2", mbi_sliced_cost(&plan), even);
  plan.nonempty.sectors = fresh / 20; /* a sample that found less */
  assert_true(mbi_sliced_cost(&plan) < 0.9 * even);
  plan.nonempty.sectors = 0.9;
  plan.nonempty.slots = plan.device.nnz * 3 / 2; /* sorted */
  assert_true(mbi_sliced_cost(&plan) > 1.2 * even && mbi_sliced_cost(&plan) < 1.4 * even);
  plan.nonempty.slots = plan.device.nnz;
  plan.device.rows = plan.nonempty.count = 2112; /* slices for half of the multiprocessors */
  plan.nonempty.longest = 947;
  assert_true(mbi_sliced_cost(&plan) > 1.8 * even && mbi_sliced_cost(&plan) < 2.0 * even);
}

/* Rows on which 32 warps take more steps than their loads need: 5 loads per step, from L2 if it
 * holds the matrix, else mostly from memory. */
static void steps_of_shared_slices(void **state) {
  merbit_plan plan;
  double kept;
  (void)state;
  square_of(&plan, MERBIT_F64, 320, 320 * 20000);
  plan.device.cols = 30000;
  plan.nonempty.longest = 20000;
  plan.nonempty.sectors = 0.1;
  assert_int_equal(mbi_sliced_parts(&plan), 32);
  kept = (16 - mbi_choose_passing(&plan)) / 16.0;
  assert_true(kept > 0 && kept < 1);
  is_about("steps", mbi_sliced_cost(&plan),
           20000 / 128.0 * 5 *
               (kept * plan.profile->l2_load_seconds +
                (1 - kept) * plan.profile->memory_load_seconds));
  square_of(&plan, MERBIT_F32, 32, 32 * 20000);
  plan.nonempty.longest = 20000;
  plan.nonempty.sectors = 0.1;
  is_about("steps in L2", mbi_sliced_walk(&plan),
           20000 / 256.0 * 5 * plan.profile->l2_load_seconds);
}

/* Rows of 3,873 columns: half of the columns are every 3,873rd, and neighbours differ by one.
 * ROWS finds in L1 a part of what other rows read, SLICED reads whole lines. */
static void forecasts_of_rows_abreast(void **state) {
  const double rows = 7746, mean = 3873, cols = 3873.0 * 3873, nnz = rows * mean;
  merbit_plan plan;
  double gather;
  (void)state;
  square_of(&plan, MERBIT_F32, (uint64_t)rows, (uint64_t)nnz);
  plan.device.cols = (uint64_t)cols;
  plan.nonempty.longest = (uint32_t)mean;
  plan.nonempty.typical = mean;
  plan.nonempty.sectors = 0.332;
  gather = nnz * mbi_choose_gather(&plan, plan.profile->l2_bytes / 4); /* all in flight */
  plan.nonempty.abreast = 0.14;
  is_about("rows abreast", mbi_rows_cost(&plan) - mbi_walk_end(&plan, mean / 512, 1),
           1.1 * mbi_choose_overlap(&plan, streamed(8 * nnz + 8 * rows + 4 * cols),
                                    0.8 * (0.332 + 0.14) / 2 * gather));
  is_about("slices abreast", mbi_sliced_cost(&plan),
           1.08 * 2 / (rows / 32 / 132) *
               mbi_choose_overlap(
                   &plan,
                   0.9 * streamed(4 * (rows + cols) + mbi_sliced_bytes(&plan) + 28 * rows),
                   0.14 / 2 * nnz * mbi_choose_gather(&plan, 4 * cols)));
  plan.nonempty.abreast = 0; /* not sampled */
  is_about("rows apart", mbi_rows_cost(&plan) - mbi_walk_end(&plan, mean / 512, 1),
           1.0 * looked_up(&plan,
                           mbi_choose_overlap(&plan, streamed(8 * nnz + 8 * rows + 4 * cols),
                                              0.8 * 0.332 * gather),
                           2 / 32.0));
}

/* Slices whose columns are too far apart for L1 gather as usual, and their last rows count. */
static void forecasts_of_slices_apart(void **state) {
  const double n = 132000, nnz = 200 * n;
  merbit_plan plan;
  (void)state;
  square_of(&plan, MERBIT_F64, (uint64_t)n, (uint64_t)nnz);
  plan.device.cols = 3000000;
  plan.desc.block_threads = 256;
  plan.nonempty.longest = 200;
  plan.nonempty.sectors = 0.9;
  plan.nonempty.lines_abreast = 0.8;
  is_about("slices apart", mbi_sliced_cost(&plan),
           0.92 * looked_up(&plan,
                            mbi_choose_overlap(
                                &plan, 0.9 * streamed(12 * nnz + 31.25 * n + 4 * (n + 3e6)),
                                0.9 * nnz * mbi_choose_gather(&plan, 24e6)),
                            (0.8 + 12 / 128.0) / 2) +
               mbi_walk_end(&plan, 200, 8));
}

/* Rows with a warp each that move together partly wait for longer ones. */
static void forecasts_of_uneven_rows_together(void **state) {
  merbit_plan plan;
  double gathers;
  (void)state;
  square_of(&plan, MERBIT_F64, 40000, 20000000);
  plan.device.cols = 40000;
  plan.nonempty.longest = 1000;
  plan.nonempty.sectors = 0.9;
  plan.nonempty.slots = 2 * plan.device.nnz;
  gathers = 1.15 * 20e6 * (0.1 + 0.9 * (1 - exp(-3.2)) / 3.2) / 160e9;
  is_about("uneven", mbi_rows_cost(&plan),
           0.97 * mbi_choose_overlap(&plan,
                                     streamed(12 * 20e6 + 4 * 80000 + 4 * 40000) *
                                         (16 + mbi_choose_passing(&plan)) / 32,
                                     gathers));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_that_move_together),
      cmocka_unit_test(slices_that_move_together),
      cmocka_unit_test(forecasts_of_rows_together),
      cmocka_unit_test(forecasts_of_slices_together),
      cmocka_unit_test(forecasts_of_shared_slices),
      cmocka_unit_test(forecasts_of_shared_slices_in_l2),
      cmocka_unit_test(steps_of_shared_slices),
      cmocka_unit_test(forecasts_of_rows_abreast),
      cmocka_unit_test(forecasts_of_slices_apart),
      cmocka_unit_test(forecasts_of_uneven_rows_together),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
