/* The arithmetic of the scan, of lanes per row and of slices, with no GPU: sizes up to what is
 * too large, what is refused, and which method AUTO takes. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"

#define TWO(bits) ((uint64_t)1 << (bits))

static merbit_context *context;

static int set_up(void **state) {
  (void)state;
  context = cpu_open(NULL, 1);
  context->device.multiprocessors = 132;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  merbit_context_destroy(context);
  return 0;
}

static void plan_of(merbit_plan *plan, merbit_type type, uint64_t rows, uint64_t nnz) {
  memset(plan, 0, sizeof *plan);
  plan->context = context;
  plan->type = type;
  plan->device.rows = plan->ranks.count = rows;
  plan->device.nnz = nnz;
  plan->ranks.longest = 100;
}

static void sizes_of_the_scan(void **state) {
  static const uint64_t sizes[] = {
      0, 1, 255, 256, 257, 512 * 4096 * 33, TWO(31), TWO(31) + 1, TWO(38) - 1, TWO(38)};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, 10, sizes[i]);
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(plan.scan.steps, 8);
    assert_true(plan.scan.tiles == sizes[i] / 256 + (sizes[i] % 256 != 0));
    assert_int_equal(plan.scan.threads, plan.scan.tiles < 132 * 128 ? 128 : 512);
    assert_true(plan.scan.blocks * (uint64_t)plan.scan.threads >= plan.scan.tiles * 32);
    assert_true(plan.scan.fixup_blocks == (plan.scan.tiles + 511) / 512);
    assert_true(mbi_scan_carry_bytes(&plan) == 16 * plan.scan.tiles);
  }
  {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F32, 10, 512 * (uint64_t)INT32_MAX);
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_true(plan.scan.tiles == INT32_MAX);
    plan.device.nnz++;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_TOO_LARGE);
    cpu_expect(context, MERBIT_TOO_LARGE, "make 2147483648 tiles; raise plan_desc.sigma");
    plan_of(&plan, MERBIT_F32, UINT32_MAX, 5);
    assert_int_equal(mbi_scan_create(&plan), MERBIT_TOO_LARGE);
    cpu_expect(context, MERBIT_TOO_LARGE, "fewer than 2^32 - 1 rows, not 4294967295");
  }
}

/* Blocks for the empty rows: some for few of them, at most eight for each multiprocessor. */
static void empty_rows_have_blocks(void **state) {
  static const uint64_t empties[] = {0, 1, 511, 512, 5000, TWO(30)};
  static const uint64_t blocks[] = {0, 1, 1, 2, 10, 8 * 132};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof empties / sizeof empties[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, empties[i] + 3, 0);
    plan.ranks.count = 3;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_true(plan.scan.fixup_blocks == blocks[i]);
    plan.device.nnz = 256 * 512 * 2000;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_true(plan.scan.fixup_blocks == 2000);
  }
}

/* No launch bound asks for more than 2048 threads, or for no block. */
static void resident_blocks_are_possible(void **state) {
  int single, steps, threads;
  (void)state;
  for (single = 0; single < 2; single++) {
    for (steps = 1; steps <= 32; steps++) {
      for (threads = 32; threads <= 1024; threads += 32) {
        const int blocks = mbi_scan_resident(single ? MERBIT_F32 : MERBIT_F64, steps, threads);
        assert_in_range(blocks, 1, 16);
        assert_true(blocks * threads <= 2048);
        assert_true(steps <= 16 || blocks * threads <= (threads > 512 ? threads : 512));
      }
    }
  }
}

static void lanes_per_row(void **state) {
  static const struct {
    uint64_t rows, nnz;
    int lanes, unroll;
  } expected[] = {{0, 0, 1, 1},    {10, 10, 1, 2},  {10, 80, 1, 8},    {10, 81, 2, 5},
                  {10, 160, 2, 8}, {10, 161, 4, 5}, {10, 2560, 32, 8}, {1, 100000, 32, 8}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    plan_of(&plan, MERBIT_F64, expected[i].rows, expected[i].nnz);
    assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
    assert_int_equal(plan.rows.lanes, expected[i].lanes);
    assert_int_equal(plan.rows.unroll, expected[i].unroll);
    assert_true(plan.rows.blocks == (expected[i].rows * (uint64_t)plan.rows.lanes + 255) / 256);
  }
  plan_of(&plan, MERBIT_F64, 256 * (uint64_t)INT32_MAX, 5);
  assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
  plan.device.rows++;
  assert_int_equal(mbi_rows_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "too many for lanes per row");
}

static void slices_that_do_not_fit(void **state) {
  merbit_plan plan;
  (void)state;
  plan_of(&plan, MERBIT_F64, UINT32_MAX - 1, 5);
  assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
  assert_true(plan.sliced.slices == TWO(27));
  plan.device.rows++;
  assert_int_equal(mbi_sliced_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "too many for slices");
  plan_of(&plan, MERBIT_F64, 100, 5);
  plan.ranks.longest = INT32_MAX;
  plan.ranks.slots = 32 * (TWO(32) - 1);
  assert_int_equal(mbi_sliced_check(&plan), MERBIT_OK);
  plan.ranks.slots += 32;
  assert_int_equal(mbi_sliced_check(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "would take 137438953472 slots");
  plan.ranks.slots = 32;
  plan.ranks.longest++;
  assert_int_equal(mbi_sliced_check(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "2147483648 for one row; use another");
}

static void what_auto_takes(void **state) {
  static const struct {
    int calls, sliced;
    uint64_t rows, nnz, slots;
  } cases[] = {{100, 1, 1000, 4000, 4000}, {100, 0, 1000, 3999, 3999},
               {49, 0, 1000, 4000, 4000},  {50, 1, 1000, 4000, 4000},
               {100, 1, 1000, 6000, 9999}, {100, 0, 1000, 6000, 10005}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, cases[i].rows, cases[i].nnz);
    plan.desc.expected_calls = cases[i].calls;
    plan.ranks.slots = cases[i].slots;
    assert_int_equal(mbi_choose_sliced(&plan), cases[i].sliced);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_of_the_scan),
      cmocka_unit_test(empty_rows_have_blocks),
      cmocka_unit_test(resident_blocks_are_possible),
      cmocka_unit_test(lanes_per_row),
      cmocka_unit_test(slices_that_do_not_fit),
      cmocka_unit_test(what_auto_takes),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
