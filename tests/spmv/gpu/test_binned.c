/* BINNED's sizes, without a GPU: strips and parts for shared memory of every size, sizes that
 * are too large, and refusals. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/plan_sizes.h"

/* Narrow strips if runs are long, else wide ones; half of it if shared memory is small. */
static void sizes_of_the_bins(void **state) {
  static const struct {
    merbit_type type;
    uint64_t cols, nnz;
    int room;
    uint64_t strip;
    int tiles, threads, resident;
  } sizes[] = {
      {MERBIT_F32, 1, 1000, 227 << 10, 24576, 4, 512, 2},
      {MERBIT_F64, 1, 1, 227 << 10, 24576, 2, 1024, 1}, /* a run of one nonzero is short */
      {MERBIT_F64, 100000, 10000000, 227 << 10, 12288, 2, 512, 2},
      {MERBIT_F32, 10000000, 100000000, 227 << 10, 24576, 4, 512, 2},
      {MERBIT_F32, 50000000, 100000000, 227 << 10, 49152, 4, 1024, 1},
      {MERBIT_F64, 50000000, 100000000, 227 << 10, 24576, 2, 1024, 1},
      {MERBIT_F64, 50000000, 100000000, 224 << 10, 24576, 2, 1024, 1},
      {MERBIT_F64, 50000000, 100000000, (224 << 10) - 1, 13312, 2, 256, 2},
      {MERBIT_F32, 100000, 10000000, 99 << 10, 12288, 4, 256, 2},
      {MERBIT_F64, 100000, 10000000, 99 << 10, 6144, 2, 256, 2},
      {MERBIT_F64, 100000, 10000000, 64 << 10, 4096, 2, 256, 1}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const uint64_t size = sizes[i].type == MERBIT_F32 ? 4 : 8;
    const uint64_t part = (uint64_t)(sizes[i].tiles * sizes[i].threads * 8);
    merbit_plan plan;
    plan_of(&plan, sizes[i].type, 10, sizes[i].nnz);
    plan.device.cols = sizes[i].cols;
    context->device.shared_bytes_per_block = sizes[i].room;
    assert_int_equal(mbi_binned_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_binned_of(&plan)->strip, sizes[i].strip);
    assert_int_equal(mbi_binned_of(&plan)->warp_tiles, sizes[i].tiles);
    assert_int_equal(mbi_scan_of(&plan)->threads, sizes[i].threads);
    assert_int_equal(mbi_scan_of(&plan)->resident, sizes[i].resident);
    assert_int_equal(mbi_scan_of(&plan)->steps, 8);
    assert_int_equal(mbi_binned_of(&plan)->part_nonzeros, part);
    assert_int_equal(mbi_binned_of(&plan)->parts, (sizes[i].nnz + part - 1) / part);
    assert_int_equal(mbi_binned_of(&plan)->strips,
                     (sizes[i].cols + sizes[i].strip - 1) / sizes[i].strip);
    assert_int_equal(mbi_scan_of(&plan)->tiles, (sizes[i].nnz + 255) / 256);
    assert_int_equal(mbi_scan_of(&plan)->fixup_blocks, (mbi_scan_of(&plan)->tiles + 255) / 256);
    /* Both phases fit: each part has room for a padded group at every eighth slot. */
    assert_true(mbi_binned_of(&plan)->strip * size <= (uint64_t)sizes[i].room);
    assert_true(mbi_binned_sum_shared(&plan, part * size / 32 * 9 / 8) <=
                (uint64_t)sizes[i].room);
  }
  context->device.shared_bytes_per_block = 227 << 10;
}

static void bins_that_do_not_fit(void **state) {
  uint32_t groups[4];
  merbit_plan plan;
  (void)state;
  plan_of(&plan, MERBIT_F32, 10, 256 * (uint64_t)INT32_MAX);
  plan.device.cols = 10;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_OK);
  assert_true(mbi_scan_of(&plan)->tiles == INT32_MAX);
  plan.device.nnz++;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "parts are too many; use another plan_desc.method");
  plan_of(&plan, MERBIT_F64, 10, 1000);
  plan.tuning[MBI_KNOB_BINNED_STRIP] = 1;
  plan.device.cols = (227 << 10) / 12 * 1024; /* three words per strip */
  assert_int_equal(mbi_binned_size(&plan), MERBIT_OK);
  assert_true(mbi_binned_of(&plan)->strips == (227 << 10) / 12);
  plan.device.cols++;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "19371 strips of columns and 1 parts are too many");
  plan_of(&plan, MERBIT_F64, 10, 1000);
  plan.device.cols = 10;
  plan.tuning[MBI_KNOB_BINNED_STRIP] = 28;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_OK);
  plan.tuning[MBI_KNOB_BINNED_STRIP] = 29;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "29696 columns takes 237568 bytes");
  plan_of(&plan, MERBIT_F64, UINT32_MAX, 5);
  assert_int_equal(mbi_binned_create(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "fewer than 2^32 - 1 rows, not 4294967295");

  /* Groups of the parts: one more than 16 bits can number, more than fit. */
  plan_of(&plan, MERBIT_F32, 10, 3 * 1024);
  plan.tuning[MBI_KNOB_BINNED_TILES] = 1;
  plan.desc.block_threads = 32;
  plan.device.cols = 10;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_OK);
  mbi_binned_of(&plan)->parts = 2;
  groups[0] = 5;
  groups[1] = ((227 << 10) - 1024) / 32 + 1;
  assert_int_equal(mbi_binned_place_parts(&plan, groups), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "7238 groups of products, 7233 of them in one part");
  context->device.shared_bytes_per_block = 1 << 20;
  mbi_binned_of(&plan)->groups = mbi_binned_of(&plan)->part_groups = 0;
  groups[0] = 5;
  groups[1] = 8193;
  assert_int_equal(mbi_binned_place_parts(&plan, groups), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "8193 of them in one part, are too many");
  mbi_binned_of(&plan)->part_groups = 0;
  mbi_binned_of(&plan)->groups = (uint64_t)UINT32_MAX - 1;
  groups[0] = groups[1] = 1;
  assert_int_equal(mbi_binned_place_parts(&plan, groups), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "4294967296 groups of products, 1 of them");
  context->device.shared_bytes_per_block = 227 << 10;
}

static void bins_that_nobody_makes(void **state) {
  static const int bad[][3] = {{-1, 0, 0}, {65, 0, 0}, {0, -1, 0},   {0, 9, 0},
                               {0, 0, 31}, {0, 0, 33}, {0, 0, 1056}, {0, 0, -32}};
  static const int good[][3] = {{1, 1, 32}, {56, 8, 1024}, {7, 3, 96}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0] + sizeof good / sizeof good[0]; i++) {
    const int wrong = i < sizeof bad / sizeof bad[0];
    const int *values = wrong ? bad[i] : good[i - sizeof bad / sizeof bad[0]];
    merbit_plan plan;
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.device.cols = 10;
    plan.tuning[MBI_KNOB_BINNED_STRIP] = values[0];
    plan.tuning[MBI_KNOB_BINNED_TILES] = values[1];
    plan.desc.block_threads = values[2];
    assert_int_equal(mbi_binned_size(&plan), wrong ? MERBIT_INVALID_ARGUMENT : MERBIT_OK);
    if (wrong) {
      cpu_expect(context, MERBIT_INVALID_ARGUMENT, "use 1 to 64, 1 to 8, and a multiple of 32");
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_of_the_bins),
      cmocka_unit_test(bins_that_do_not_fit),
      cmocka_unit_test(bins_that_nobody_makes),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
