/* HUBS's sizes, without a GPU: shared memory of every size, which columns become hubs, sizes
 * that are too large, and refusals. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/plan_sizes.h"

/* 163 KB or the user's size, less the old y of a block, or what the GPU has. */
static void room_in_shared_memory(void **state) {
  static const struct {
    merbit_type type;
    int kilobytes, shared;
    uint64_t room;
  } sizes[] = {{MERBIT_F32, 0, 227 << 10, 40704},
               {MERBIT_F64, 0, 227 << 10, 19840},
               {MERBIT_F32, 0, 163 << 10, 40704},
               {MERBIT_F32, 0, (163 << 10) - 4, 40703},
               {MERBIT_F64, 0, 162 << 10, 19712},
               {MERBIT_F32, 0, 99 << 10, 24320},
               {MERBIT_F64, 0, 64 << 10, 7168},
               {MERBIT_F32, 0, 48 << 10, 11264},
               {MERBIT_F64, 0, 8200, 1},
               {MERBIT_F64, 0, 8192, 0},
               {MERBIT_F32, 0, 1024, 0},
               {MERBIT_F32, 5, 227 << 10, 256},
               {MERBIT_F64, 9, 227 << 10, 128},
               {MERBIT_F64, 1, 227 << 10, 0},
               {MERBIT_F32, 226, 227 << 10, 56832},
               {MERBIT_F32, 227, 227 << 10, 57088},
               {MERBIT_F64, 227, 227 << 10, 28032},
               {MERBIT_F32, 227, 228 << 10, 57088}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, sizes[i].type, 10, 1000);
    plan.tuning[MBI_KNOB_HUBS_KILOBYTES] = sizes[i].kilobytes;
    context->device.shared_bytes_per_block = sizes[i].shared;
    assert_true(mbi_hubs_capacity(&plan) == sizes[i].room);
    assert_int_equal(mbi_hubs_size(&plan), MERBIT_OK);
    assert_true(mbi_hubs_of(&plan)->capacity == sizes[i].room);
    assert_true(sizes[i].room == 0 || mbi_hubs_shared(&plan, 1) <= (unsigned)sizes[i].shared);
    assert_true(mbi_hubs_shared(&plan, 0) == sizes[i].room * mbi_type_size(plan.type));
  }
  context->device.shared_bytes_per_block = 227 << 10;
}

/* One block per multiprocessor, or fewer. */
static void sizes_of_the_blocks(void **state) {
  static const struct {
    merbit_type type;
    uint64_t nnz;
    int wish, threads, steps;
    uint64_t tiles, blocks;
  } sizes[] = {{MERBIT_F32, 1, 0, 0, 8, 1, 1},
               {MERBIT_F64, 128, 0, 0, 4, 1, 1},
               {MERBIT_F64, 129, 0, 0, 4, 2, 1},
               {MERBIT_F64, 128 * 32, 0, 0, 4, 32, 1},
               {MERBIT_F64, 128 * 32 + 1, 0, 0, 4, 33, 2},
               {MERBIT_F32, 256 * 32 * 132, 0, 0, 8, 32 * 132, 132},
               {MERBIT_F32, 256 * 32 * 132 + 1, 0, 0, 8, 32 * 132 + 1, 132},
               {MERBIT_F32, 100000, 4, 96, 4, 782, 132},
               {MERBIT_F64, 1000, 32, 32, 32, 1, 1},
               {MERBIT_F64, 0, 0, 0, 4, 0, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, sizes[i].type, 10, sizes[i].nnz);
    plan.tuning[MBI_KNOB_HUBS_STEPS] = sizes[i].wish;
    plan.desc.block_threads = sizes[i].threads;
    assert_int_equal(mbi_hubs_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->steps, sizes[i].steps);
    assert_int_equal(mbi_scan_of(&plan)->pack, 16 / mbi_type_size(plan.type));
    assert_int_equal(mbi_scan_of(&plan)->threads,
                     sizes[i].threads != 0 ? sizes[i].threads : 1024);
    assert_int_equal(mbi_scan_of(&plan)->resident, 1);
    assert_int_equal(mbi_scan_of(&plan)->depth, 5);
    assert_true(mbi_scan_of(&plan)->tiles == sizes[i].tiles &&
                mbi_scan_of(&plan)->blocks == sizes[i].blocks);
    assert_int_equal(mbi_scan_of(&plan)->fixup_blocks, (mbi_scan_of(&plan)->tiles + 255) / 256);
  }
}

static void hubs_that_do_not_fit(void **state) {
  merbit_plan plan;
  (void)state;
  plan_of(&plan, MERBIT_F64, 10, 128 * (uint64_t)INT32_MAX);
  assert_int_equal(mbi_hubs_size(&plan), MERBIT_OK);
  assert_true(mbi_scan_of(&plan)->tiles == INT32_MAX);
  plan.device.nnz++;
  assert_int_equal(mbi_hubs_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE,
             "274877906817 nonzeros make 2147483648 tiles; raise steps in plan_desc.tuning");
  plan_of(&plan, MERBIT_F64, UINT32_MAX, 5);
  assert_int_equal(mbi_hubs_create(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "fewer than 2^32 - 1 rows, not 4294967295");
}

static void hubs_that_nobody_makes(void **state) {
  static const int bad[][3] = {{-4, 0, 0},  {33, 0, 0}, {36, 0, 0}, {6, 0, 0},    {0, -1, 0},
                               {0, 228, 0}, {0, 0, 31}, {0, 0, 33}, {0, 0, 1056}, {0, 0, -32}};
  static const int good[][3] = {{4, 1, 32}, {32, 227, 1024}, {12, 3, 96}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0] + sizeof good / sizeof good[0]; i++) {
    const int wrong = i < sizeof bad / sizeof bad[0];
    const int *values = wrong ? bad[i] : good[i - sizeof bad / sizeof bad[0]];
    merbit_plan plan;
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.tuning[MBI_KNOB_HUBS_STEPS] = values[0];
    plan.tuning[MBI_KNOB_HUBS_KILOBYTES] = values[1];
    plan.desc.block_threads = values[2];
    assert_int_equal(mbi_hubs_size(&plan), wrong ? MERBIT_INVALID_ARGUMENT : MERBIT_OK);
    if (wrong) {
      cpu_expect(context, MERBIT_INVALID_ARGUMENT,
                 "use a multiple of 4 up to 32, up to 227 kilobytes of shared memory, and a "
                 "multiple of 32 up to 1024");
    }
  }
}

/* ---- The fullest columns ----------------------------------------------------------------- */

static void expect_hubs(const uint32_t *bins, uint64_t sampled, uint32_t worth, uint64_t room,
                        uint32_t least, uint32_t above, double share) {
  mbi_nonempty_rows nonempty;
  memset(&nonempty, 0xff, sizeof nonempty);
  mbi_nonempty_take_hubs(&nonempty, bins, sampled, worth, room);
  assert_int_equal(nonempty.hub_least, least);
  assert_int_equal(nonempty.hub_above, above);
  if (fabs(nonempty.hub_share - share) > 1e-12) {
    fail_msg("hubs have %g of the nonzeros, not %g", nonempty.hub_share, share);
  }
}

static void the_fullest_columns(void **state) {
  static uint32_t
      bins[MBI_NONEMPTY_BINS]; /* 40 columns of one nonzero, 30 of two, 10 of three, 1 of 70 */
  (void)state;
  expect_hubs(bins, 10, 2, 5, 2, 0, 0);
  bins[1] = 40;
  bins[2] = 30;
  bins[3] = 10;
  bins[70] = 1;
  expect_hubs(bins, 200, 2, 0, 70, 0, 0);
  expect_hubs(bins, 200, 2, 1, 3, 1, 0.35);
  expect_hubs(bins, 200, 2, 2, 3, 1, 0.365); /* one of the ten */
  expect_hubs(bins, 200, 2, 10, 3, 1, 0.485);
  expect_hubs(bins, 200, 2, 11, 2, 11, 0.5);
  expect_hubs(bins, 200, 2, 40, 2, 11, 0.79);
  expect_hubs(bins, 200, 2, 41, 2, 11, 0.8);
  expect_hubs(bins, 200, 2, UINT64_MAX, 2, 11, 0.8); /* one nonzero: never a hub */
  expect_hubs(bins, 130, 2, 1, 3, 1, 0);             /* sampled counts are only approximate */
  expect_hubs(bins, 200, 3, 41, 3, 1, 0.5);
  expect_hubs(bins, 200, 4, 41, 4, 1, 0.35);
  expect_hubs(bins, 200, 70, 41, 70, 0, 0.35);
  expect_hubs(bins, 200, 71, 41, 71, 0, 0);
  bins[1] = 0;
  expect_hubs(bins, 160, 2, 41, 2, 11, 1);
  bins[MBI_NONEMPTY_BINS - 1] = 3; /* counted that often or more: their share is the rest */
  expect_hubs(bins, 100160, 2, 2, UINT32_MAX, 0, 0);
  expect_hubs(bins, 100160, 2, 3, 70, 3, 1 - 160 / 100160.0);
  expect_hubs(bins, 100160, 2, 4, 3, 4, 1 - 90 / 100160.0);
  bins[MBI_NONEMPTY_BINS - 2] = 2;
  expect_hubs(bins, 108348, 2, 3, MBI_NONEMPTY_BINS - 2, 3, 1 - 8348 / 108348.0);
}

/* At least two nonzeros of the sample, and no count that shares a bin with others. */
static void columns_worth_a_hub(void **state) {
  static const struct {
    int multiprocessors;
    uint64_t stride;
    uint32_t worth;
  } cases[] = {{132, 1, 33}, {132, 2, 16}, {132, 20, 2}, {3, 1, 2}, {99999, 1, 4094}};
  const int before = context->device.multiprocessors;
  size_t i;
  merbit_plan plan;
  (void)state;
  plan_of(&plan, MERBIT_F32, 10, 1000);
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    context->device.multiprocessors = cases[i].multiprocessors;
    assert_int_equal(mbi_nonempty_worth(&plan, cases[i].stride), cases[i].worth);
  }
  context->device.multiprocessors = before;
}

/* Columns are not counted without nonzeros, nor if they are known. */
static void columns_are_counted_once(void **state) {
  merbit_plan plan;
  (void)state;
  plan_of(&plan, MERBIT_F32, 10, 0);
  assert_int_equal(mbi_nonempty_columns(&plan, 10), MERBIT_OK);
  plan_of(&plan, MERBIT_F32, 10, 1000);
  plan.nonempty.column_counts = 16;
  plan.nonempty.hub_least = 7;
  plan.nonempty.hub_share = 0.25;
  assert_int_equal(mbi_nonempty_columns(&plan, 10), MERBIT_OK);
  assert_true(plan.nonempty.hub_least == 7 && plan.nonempty.hub_share == 0.25);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(room_in_shared_memory),    cmocka_unit_test(sizes_of_the_blocks),
      cmocka_unit_test(hubs_that_do_not_fit),     cmocka_unit_test(hubs_that_nobody_makes),
      cmocka_unit_test(the_fullest_columns),      cmocka_unit_test(columns_worth_a_hub),
      cmocka_unit_test(columns_are_counted_once),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
