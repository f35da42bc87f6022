/* The merge path's sizes on the GPU, without one: chunks of every size, chunks per block, sizes
 * that are too large; and when AUTO chooses it. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/plan_sizes.h"

/* Two nonzeros at once if f32 rows hold fewer than 4, else 16 bytes of sums. A chunk leaves
 * room for the nonzeros before its first one in the same pack. */
static void chunks_of_the_path(void **state) {
  static const struct {
    merbit_type type;
    uint64_t rows, nnz, chunks;
    int pack;
  } sizes[] = {{MERBIT_F32, 1000, 1047, 1, 2},
               {MERBIT_F32, 1000, 1048, 2, 2},
               {MERBIT_F32, 409, 1636, 1, 4},
               {MERBIT_F32, 409, 1637, 2, 4},
               {MERBIT_F64, 1000, 1047, 1, 2},
               {MERBIT_F64, 500, 1548, 2, 2},
               {MERBIT_F32, 1, 0, 1, 2},
               {MERBIT_F64, 2047, 0, 1, 2},
               {MERBIT_F64, 2048, 0, 2, 2},
               {MERBIT_F64, 0, 0, 0, 2},
               {MERBIT_F64, TWO(31), 0, 1049089, 2},
               {MERBIT_F64, 1, TWO(31) - 1, 1049089, 2}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    merbit_plan plan;
    merbit_plan_info info;
    plan_of(&plan, sizes[i].type, sizes[i].rows, sizes[i].nnz);
    assert_int_equal(mbi_merge_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_merge_path_of(&plan)->pack, sizes[i].pack);
    if (mbi_merge_path_of(&plan)->chunks != sizes[i].chunks) {
      fail_msg("%d: %d chunks", (int)i, (int)mbi_merge_path_of(&plan)->chunks);
    }
    assert_true(mbi_merge_carry_bytes(&plan) ==
                (sizes[i].chunks > 0 ? (sizes[i].chunks + 2) / 2 * 16 +
                                           2 * sizes[i].chunks * mbi_type_size(plan.type)
                                     : 0));
    memset(&info, 0, sizeof info);
    mbi_merge_info(&plan, &info);
    assert_int_equal(info.tiles, sizes[i].chunks);
    assert_int_equal(mbi_merge_path_of(&plan)->steps, 8);
    assert_true(info.sigma == 0 && info.omega == 0);
    assert_int_equal(info.block_threads, 256);
  }
}

/* Several chunks per block if many blocks remain for each resident one. */
static void chunks_of_a_block(void **state) {
  static const struct {
    merbit_type type;
    uint64_t chunks;
    int rounds, blocks;
  } sizes[] = {{MERBIT_F64, 1, 1, 1},        {MERBIT_F64, 4224, 1, 4224},
               {MERBIT_F64, 4225, 2, 2113},  {MERBIT_F64, 16897, 2, 8449},
               {MERBIT_F32, 4224, 1, 4224},  {MERBIT_F32, 4225, 2, 2113},
               {MERBIT_F32, 16896, 2, 8448}, {MERBIT_F32, 16897, 4, 4225}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    merbit_plan plan;
    /* With 4 * 132 resident blocks. */
    plan_of(&plan, sizes[i].type, 1,
            sizes[i].chunks * (sizes[i].type == MERBIT_F32 ? 2045 : 2047) - 1);
    assert_int_equal(mbi_merge_size(&plan), MERBIT_OK);
    assert_true(mbi_merge_path_of(&plan)->chunks == sizes[i].chunks);
    assert_int_equal(mbi_merge_path_of(&plan)->rounds, sizes[i].rounds);
    assert_true(mbi_merge_path_of(&plan)->blocks == (uint64_t)sizes[i].blocks);
    plan.tuning[MBI_KNOB_MERGE_ROUNDS] = 3;
    assert_int_equal(mbi_merge_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_merge_path_of(&plan)->rounds, 3);
    assert_true(mbi_merge_path_of(&plan)->blocks == (sizes[i].chunks + 2) / 3);
  }
}

/* No form needs more shared memory than a kernel gets without opt-in; with large sums, sizes
 * that do are refused. */
static void shared_memory(void **state) {
  merbit_plan large;
  int threads, steps, adds;
  (void)state;
  for (threads = 32; threads <= 1024; threads += 32) {
    for (steps = 2; steps <= MBI_MERGE_STEPS; steps += 2) {
      merbit_plan plan;
      plan_of(&plan, MERBIT_F64, 10, 100);
      plan.tuning[MBI_KNOB_MERGE_STEPS] = steps;
      plan.desc.block_threads = threads;
      plan.tuning[MBI_KNOB_MERGE_ROUNDS] = MBI_MERGE_ROUNDS;
      assert_int_equal(mbi_merge_size(&plan), MERBIT_OK);
      assert_in_range(mbi_merge_path_of(&plan)->resident, 1, 16);
      for (adds = 0; adds < 2; adds++) {
        assert_true(mbi_merge_shared(&plan, adds) <= MBI_SHARED_WITHOUT_ASKING);
      }
    }
  }
  plan_of(&large, MERBIT_C128, 10, 100);
  large.desc.block_threads = 1024;
  large.tuning[MBI_KNOB_MERGE_STEPS] = 15;
  assert_int_equal(mbi_merge_size(&large), MERBIT_OK);
  large.tuning[MBI_KNOB_MERGE_STEPS] = 16;
  assert_int_equal(mbi_merge_size(&large), MERBIT_INVALID_ARGUMENT);
  cpu_expect(
      context, MERBIT_INVALID_ARGUMENT,
      "steps is 16 and plan_desc.block_threads 1024, for which a block needs 50824 bytes");
}

static void too_many_chunks(void **state) {
  merbit_plan plan;
  (void)state;
  plan_of(&plan, MERBIT_F64, 1, TWO(31) * 63 - 63 - 1);
  plan.tuning[MBI_KNOB_MERGE_STEPS] = 2;
  plan.desc.block_threads = 32;
  assert_int_equal(mbi_merge_size(&plan), MERBIT_OK);
  assert_true(mbi_merge_path_of(&plan)->chunks == INT32_MAX);
  plan.device.nnz++;
  assert_int_equal(mbi_merge_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE,
             "raise steps in plan_desc.tuning, or plan_desc.block_threads");
  plan.desc.block_threads = 64;
  assert_int_equal(mbi_merge_size(&plan), MERBIT_OK);
}

/* For one product MERGE is chosen from this many bytes of columns and values on: a million on
 * an H200. */
static void unseen_matrices(void **state) {
  merbit_plan plan;
  (void)state;
  plan_of(&plan, MERBIT_F32, 1000, 1);
  plan.device.nnz = (uint64_t)ceil(mbi_choose_launch_bytes(&plan, MBI_CHOOSE_UNSEEN) / 8);
  assert_in_range(plan.device.nnz, 120000, 130000);
  plan.device.values = 16;
  plan.desc.expected_calls = 1;
  assert_true(mbi_choose_unseen(&plan));
  plan.device.nnz--;
  assert_false(mbi_choose_unseen(&plan));
  plan.device.nnz++;
  plan.desc.expected_calls = 2;
  assert_false(mbi_choose_unseen(&plan));
  plan.desc.expected_calls = 1;
  plan.device.values = 0;
  assert_false(mbi_choose_unseen(&plan));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chunks_of_the_path), cmocka_unit_test(chunks_of_a_block),
      cmocka_unit_test(shared_memory),      cmocka_unit_test(too_many_chunks),
      cmocka_unit_test(unseen_matrices),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
