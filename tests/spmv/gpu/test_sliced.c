/* SLICED's sizes, without a GPU: sizes up to those that are too large, refusals, when rows are
 * sorted, and how many warps share a slice. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/plan_sizes.h"

static void slices_that_do_not_fit(void **state) {
  merbit_plan plan;
  (void)state;
  plan_of(&plan, MERBIT_F64, UINT32_MAX - 1, 5);
  assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
  assert_true(mbi_sliced_of(&plan)->slices == TWO(27));
  plan.device.rows++;
  assert_int_equal(mbi_sliced_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "too many for MERBIT_METHOD_SLICED");
  /* Every slice is wide, and four slots of f32 have one nonzero at their end: columns count as
   * two bytes. */
  plan_of(&plan, MERBIT_F32, 100, 5);
  assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
  plan.nonempty.longest = INT32_MAX;
  plan.nonempty.slots = 32 * (TWO(31) - 13);
  assert_int_equal(mbi_sliced_check(&plan), MERBIT_OK);
  assert_true(2 * (plan.nonempty.slots / 32 + 3 * mbi_sliced_of(&plan)->slices) <= UINT32_MAX);
  plan.nonempty.slots += 32;
  assert_int_equal(mbi_sliced_check(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "would take 68719476352 slots");
  plan.nonempty.slots = 32;
  plan.nonempty.longest++;
  assert_int_equal(mbi_sliced_check(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "2147483648 for one row; use another");
}

static void slices_that_nobody_makes(void **state) {
  static const int bad[][3] = {{-1, 0, 0},  {17, 0, 0}, {0, 31, 0}, {0, 1056, 0}, {0, 48, 0},
                               {0, -32, 0}, {0, 64, 3}, {0, 0, 33}, {0, 0, -1}};
  static const int good[][3] = {{1, 32, 0}, {16, 1024, 0}, {0, 96, 0},
                                {0, 96, 3}, {0, 96, 1},    {0, 0, 32}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0] + sizeof good / sizeof good[0]; i++) {
    const int wrong = i < sizeof bad / sizeof bad[0];
    const int *values = wrong ? bad[i] : good[i - sizeof bad / sizeof bad[0]];
    char text[256];
    merbit_plan plan;
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.tuning[MBI_KNOB_SLICED_UNROLL] = values[0];
    plan.desc.block_threads = values[1];
    plan.tuning[MBI_KNOB_SLICED_PARTS] = values[2];
    assert_int_equal(mbi_sliced_size(&plan), wrong ? MERBIT_INVALID_ARGUMENT : MERBIT_OK);
    if (wrong) {
      cpu_expect(context, MERBIT_INVALID_ARGUMENT, "use 1 to 16, 1 or block_threads / 32");
    } else {
      assert_int_equal(mbi_sliced_of(&plan)->parts, values[2] > 1 ? values[2] : 1);
      assert_int_equal(mbi_sliced_of(&plan)->threads,
                       values[1] != 0 ? values[1] : 32 * values[2]);
      assert_true(mbi_sliced_method.describe(&plan, text, sizeof text) < (int)sizeof text);
      assert_int_equal(strstr(text, " threads per slice") != NULL, values[2] > 1);
    }
  }
}

/* Rows are sorted if that may save more than one slot in 33, unless the user says no. */
static void slices_that_are_sorted(void **state) {
  static const struct {
    uint64_t nnz, slots;
    int unsorted, sorted;
  } cases[] = {{3200, 3200, 0, 0}, {3200, 3300, 0, 0}, {3200, 3301, 0, 1},
               {3200, 9999, 1, 0}, {3200, 9999, 2, 1}, {0, 0, 0, 0},
               {1, 32, 0, 1},      {31, 32, 0, 1},     {32, 32, 0, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    mbi_preamble preamble;
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, 100, cases[i].nnz);
    plan.nonempty.slots = cases[i].slots;
    plan.tuning[MBI_KNOB_SLICED_UNSORTED] = cases[i].unsorted;
    assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_sliced_of(&plan)->sorted, cases[i].sorted);
    mbi_sliced_preamble(&plan, &preamble);
    assert_non_null(strstr(preamble.text,
                           cases[i].sorted ? "#define MBK_SORTED 1" : "#define MBK_SORTED 0"));
  }
}

/* A load takes 8 bytes instead of 16 if rows, which are padded to whole loads, then save a
 * sixteenth of the slots: with certain equal lengths, or short rows of different lengths. */
static void loads_that_are_shorter(void **state) {
  static const struct {
    merbit_type type;
    uint64_t rows, nnz, slots;
    uint32_t longest;
    int pack, unroll;
  } cases[] = {{MERBIT_F64, 1000, 3000, 3000, 3, 1, 4}, /* 3 slots, not 4 */
               {MERBIT_F64, 1000, 2000, 2000, 2, 2, 2}, /* 2 either way */
               {MERBIT_F64, 1000, 15000, 15000, 15, 1, 4},
               {MERBIT_F64, 1000, 17000, 17000, 17, 2, 2}, /* saves less */
               {MERBIT_F32, 1000, 2000, 2000, 2, 2, 2},
               {MERBIT_F32, 1000, 3000, 3000, 3, 4, 2},
               {MERBIT_F32, 1000, 4000, 4000, 4, 4, 2},
               {MERBIT_F32, 1000, 5000, 5000, 5, 2, 2},
               {MERBIT_F64, 1000, 8000, 16000, 40, 1, 4}, /* half a slot per row on average */
               {MERBIT_F64, 1000, 8008, 16000, 40, 2, 2},
               {MERBIT_F32, 1000, 16000, 32000, 300, 2, 2},
               {MERBIT_F32, 1000, 16008, 32000, 300, 4, 2},
               {MERBIT_C128, 1000, 3000, 3000, 3, 1, 2}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, cases[i].type, cases[i].rows, cases[i].nnz);
    plan.nonempty.slots = cases[i].slots;
    plan.nonempty.longest = cases[i].longest;
    assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_sliced_of(&plan)->pack, cases[i].pack);
    assert_int_equal(mbi_sliced_of(&plan)->unroll, cases[i].unroll);
    assert_int_equal(mbi_sliced_of(&plan)->length_bytes, cases[i].longest > 255 ? 4 : 1);
    plan.device.form = MBI_VALUES_TABLE; /* codes of one byte, at least two at once */
    assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
    assert_true(mbi_sliced_of(&plan)->pack >= 2 || cases[i].type == MERBIT_C128);
  }
}

/* Slices that are too few for an H200's lanes are shared by warps; with many or short rows a
 * slice has one warp. */
static void slices_that_warps_share(void **state) {
  static const struct {
    merbit_type type;
    uint64_t rows, nnz, slots;
    uint32_t longest;
    int parts;
  } cases[] = {{MERBIT_F32, 60000, 30000000, 30000000, 500, 8},
               {MERBIT_F32, 18974, 2997892, 2997892, 158, 8},
               {MERBIT_F64, 18974, 2997892, 2997892, 158, 8},
               {MERBIT_F64, 10000, 10000000, 10000000, 1000, 16},
               {MERBIT_F64, 3000, 600000, 1000000, 300, 32},
               {MERBIT_F64, 548, 3000000, 3000000, 5474, 32},
               {MERBIT_F64, 50000, 3000000, 3000000, 60, 4},
               /* too few for the GPU with 16 warps; as many as fit with 4 */
               {MERBIT_F32, 4472, 9999392, 9999392, 2236, 32},
               {MERBIT_F64, 34641, 10011249, 10011249, 289, 4},
               /* 1 and 1,000 in turn: half of the slices end at once */
               {MERBIT_F32, 19980, 9999990, 19980000, 1000, 16},
               {MERBIT_F32, 172032, 3000000, 3300000, 24, 1},
               {MERBIT_F64, 1000000, 27000000, 27000000, 27, 1},
               {MERBIT_F64, 1000000, 500000000, 500000000, 500, 1},
               /* 79 to 237 per row: the slices of short rows take up warps, too */
               {MERBIT_F64, 6325, 1000000, 1450000, 237, 16},
               /* the longest row of many short ones is not what counts */
               {MERBIT_F64, 1000000, 30000000, 45000000, 1000000, 1},
               {MERBIT_F64, 10000, 190000, 190000, 19, 1}, /* too short */
               {MERBIT_F64, 100, 0, 0, 0, 1}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, cases[i].type, cases[i].rows, cases[i].nnz);
    plan.nonempty.slots = cases[i].slots;
    plan.nonempty.sorted_slots = cases[i].nnz;
    plan.nonempty.longest = cases[i].longest;
    if (mbi_sliced_parts(&plan) != cases[i].parts) {
      fail_msg("%d warps, not %d, share a slice of %u x %u nonzeros", mbi_sliced_parts(&plan),
               cases[i].parts, (unsigned)cases[i].rows, (unsigned)cases[i].longest);
    }
    plan.desc.block_threads = 256; /* the user's blocks take several slices */
    assert_int_equal(mbi_sliced_parts(&plan), 1);
  }
}

/* Blocks are large, and warps share no slices of short rows, if neighbouring rows read
 * scattered columns of a part of x. */
static void blocks_for_parts_of_x(void **state) {
  static const struct {
    uint64_t rows, mean;
    double sectors, lines;
    int parts, threads;
  } expected[] = {{300000, 50, 0.13, 0.5, 1, 512},  {300000, 50, 0.12, 0.5, 2, 64},
                  {300000, 50, 0.89, 0.5, 1, 512},  {300000, 50, 0.9, 0.5, 2, 64},
                  {300000, 50, 0.13, 0.41, 1, 512}, {300000, 50, 0.13, 0.4, 2, 64},
                  {300000, 63, 0.13, 0.5, 1, 512},  {300000, 64, 0.13, 0.5, 2, 64},
                  {300000, 10, 0.13, 0.5, 1, 512},  {300000, 10, 0.12, 0.5, 1, 256},
                  {270336, 10, 0.13, 0.5, 1, 512},  {270335, 10, 0.13, 0.5, 1, 256}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, expected[i].rows, expected[i].rows * expected[i].mean);
    plan.nonempty.slots = plan.nonempty.sorted_slots = plan.device.nnz;
    plan.nonempty.longest = (uint32_t)(2 * expected[i].mean);
    plan.nonempty.sectors = expected[i].sectors;
    plan.nonempty.lines = expected[i].lines;
    assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_sliced_of(&plan)->parts, expected[i].parts);
    assert_int_equal(mbi_sliced_of(&plan)->threads, expected[i].threads);
    plan.desc.block_threads = 128; /* what the user asks for */
    assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_sliced_of(&plan)->threads, 128);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slices_that_do_not_fit),  cmocka_unit_test(slices_that_nobody_makes),
      cmocka_unit_test(slices_that_are_sorted),  cmocka_unit_test(loads_that_are_shorter),
      cmocka_unit_test(slices_that_warps_share), cmocka_unit_test(blocks_for_parts_of_x),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
