/* Several vectors at once: the sizes that plans on CUDA choose, without a GPU. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/plan_sizes.h"

/* Checks the sizes of the forms in tests/simt/test_many.cpp. */
static void shapes(void **state) {
  static const struct {
    merbit_type type;
    int vectors, columns, width, span, team, words;
  } expected[] = {{MERBIT_F32, 2, 0, 2, 2, 1, 1},    {MERBIT_F32, 3, 1, 4, 4, 1, 1},
                  {MERBIT_F32, 5, 0, 5, 1, 8, 2},    {MERBIT_F32, 8, 0, 8, 4, 2, 1},
                  {MERBIT_F32, 7, 1, 8, 4, 2, 1},    {MERBIT_F32, 33, 1, 36, 4, 16, 4},
                  {MERBIT_F32, 64, 0, 64, 4, 16, 4}, {MERBIT_F32, 33, 0, 33, 1, 32, 8},
                  {MERBIT_F64, 2, 1, 2, 2, 1, 1},    {MERBIT_F64, 4, 0, 4, 2, 2, 1},
                  {MERBIT_F64, 8, 0, 8, 2, 4, 1},    {MERBIT_F64, 17, 0, 17, 1, 32, 8},
                  {MERBIT_F64, 32, 0, 32, 2, 16, 4}, {MERBIT_F64, 64, 1, 64, 2, 32, 8}};
  merbit_plan plan;
  size_t i;
  int vectors, form;
  (void)state;
  for (i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    test_plan_clear(&plan);
    plan.type = expected[i].type;
    plan.desc.vectors = expected[i].vectors;
    plan.desc.vector_order = (merbit_vector_order)!expected[i].columns;
    mbi_many_shape(&plan, mbi_many_of(&plan));
    assert_int_equal(mbi_many_of(&plan)->width, expected[i].width);
    assert_int_equal(mbi_many_of(&plan)->span, expected[i].span);
    assert_int_equal(mbi_many_of(&plan)->team, expected[i].team);
    assert_int_equal(mbi_many_of(&plan)->words, expected[i].words);
  }
  for (vectors = 2; vectors <= 64; vectors++) {
    for (form = 0; form < 4; form++) {
      const mbi_many *many = mbi_many_of(&plan);
      test_plan_clear(&plan);
      plan.type = form & 1 ? MERBIT_F32 : MERBIT_F64;
      plan.desc.vectors = vectors;
      plan.desc.vector_order = (merbit_vector_order)(form >> 1);
      mbi_many_shape(&plan, mbi_many_of(&plan));
      assert_int_equal(many->width % many->span, 0);
      assert_in_range(many->width, vectors, form & 2 ? vectors : vectors + many->span - 1);
      assert_true(many->span * (int)mbi_type_size(plan.type) <= 16);
      assert_true(many->team <= 32 && many->words <= many->team);
      assert_true(2 * many->span * many->team >= many->width);
    }
  }
}

/* Runs of every type and number of vectors fit if a block has at most 48 KiB. */
static void small_blocks(void **state) {
  merbit_plan plan;
  int vectors, type, far, most = 0;
  (void)state;
  for (vectors = 2; vectors <= 64; vectors++) {
    for (type = 0; type < 4; type++) {
      test_plan_clear(&plan);
      plan.context = context;
      plan.profile = &context->device.estimate;
      plan.type = type % 2 == 0 ? MERBIT_F32 : MERBIT_F64;
      plan.device.nnz = plan.device.rows = 1000000;
      far = type / 2;
      plan.device.cols = far ? 1 << 28 : 1000;
      plan.nonempty.slots = UINT64_MAX;
      plan.desc.vectors = vectors;
      plan.desc.vector_order = MERBIT_VECTORS_ROW_MAJOR;
      context->device.shared_bytes_per_block = 0;
      assert_int_equal(mbi_many_size(&plan), MERBIT_OK);
      assert_int_equal(mbi_many_of(&plan)->threads, vectors * (type % 2 == 0 ? 4 : 8) > 32 ? 128
                                                    : far && type % 2 == 0                 ? 512
                                                                           : 256);
      most =
          mbi_many_of(&plan)->shared > (unsigned)most ? (int)mbi_many_of(&plan)->shared : most;
      context->device.shared_bytes_per_block = 49152;
      assert_int_equal(mbi_many_size(&plan), MERBIT_OK);
      assert_in_range(mbi_many_of(&plan)->shared, 1, 49152);
      assert_true(mbi_many_of(&plan)->threads >= 32 && mbi_many_of(&plan)->resident >= 1);
      assert_true(mbi_scan_of(&plan)->blocks * (uint64_t)(mbi_many_of(&plan)->threads / 32) >=
                  mbi_scan_of(&plan)->tiles);
    }
  }
  context->device.shared_bytes_per_block = 0;
  assert_true(most > 49152); /* else nothing was tested */
}

/* In f32 a warp stages more of a run if gathers are scattered. */
static void staged_columns(void **state) {
  merbit_plan plan;
  int far;
  (void)state;
  for (far = 0; far < 2; far++) {
    test_plan_clear(&plan);
    plan.context = context;
    plan.profile = &context->device.estimate;
    plan.type = MERBIT_F32;
    plan.device.nnz = plan.device.rows = 1000000;
    plan.device.cols = far ? 1 << 28 : 1000;
    plan.device.values = 256;
    plan.nonempty.slots = UINT64_MAX;
    plan.desc.vectors = 8;
    plan.desc.vector_order = MERBIT_VECTORS_ROW_MAJOR;
    assert_int_equal(mbi_many_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_many_of(&plan)->piece, far ? 32 : 16); /* 16 runs of 8 bytes */
  }
}

/* The product needs L1, which gets what the blocks of a multiprocessor leave of 256 KB: at
 * least 96 KB in f64, with few or many vectors. */
static void room_for_the_cache(void **state) {
  merbit_plan plan;
  int vectors;
  (void)state;
  for (vectors = 2; vectors <= 64; vectors++) {
    unsigned block, blocks;
    test_plan_clear(&plan);
    plan.context = context;
    plan.profile = &context->device.estimate;
    plan.type = MERBIT_F64;
    plan.device.nnz = 43000000;
    plan.device.rows = plan.device.cols = 2000000;
    plan.device.values = 256;
    plan.nonempty.slots = UINT64_MAX;
    plan.desc.vectors = vectors;
    plan.desc.vector_order = MERBIT_VECTORS_ROW_MAJOR;
    assert_int_equal(mbi_many_size(&plan), MERBIT_OK);
    block = mbi_many_of(&plan)->shared + 1024;
    blocks = (228u << 10) / block;
    blocks = blocks < (unsigned)mbi_many_of(&plan)->resident
                 ? blocks
                 : (unsigned)mbi_many_of(&plan)->resident;
    assert_in_range(blocks, 1, 16);
    assert_true(blocks * block <= 160u << 10);
  }
}

/* Rows of equal length are not divided if a row of X is one sector. */
static void rows_or_runs(void **state) {
  merbit_plan plan;
  int vectors, type;
  (void)state;
  for (vectors = 2; vectors <= 64; vectors++) {
    for (type = 0; type < 2; type++) {
      test_plan_clear(&plan);
      plan.context = context;
      plan.profile = &context->device.estimate;
      plan.type = type == 0 ? MERBIT_F32 : MERBIT_F64;
      plan.device.nnz = 5000000;
      plan.device.rows = plan.device.cols = 1000000;
      plan.nonempty.count = plan.device.rows;
      plan.nonempty.longest = 5;
      plan.nonempty.slots = plan.device.nnz;
      plan.desc.vectors = vectors;
      plan.desc.vector_order = MERBIT_VECTORS_ROW_MAJOR;
      assert_int_equal(mbi_many_size(&plan), MERBIT_OK);
      assert_int_equal(mbi_many_of(&plan)->staged > 0, vectors * (type == 0 ? 4 : 8) <= 32);
    }
  }
}

static void sizes_refused(void **state) {
  static const int wishes[][3] = {{3, 0, 0},  {-1, 0, 0}, {0, 5, 0},   {0, 16, 0},
                                  {0, 0, 33}, {0, 0, 16}, {0, 0, 2048}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
    test_plan_clear(&plan);
    plan.context = context;
    plan.profile = &context->device.estimate;
    plan.type = MERBIT_F32;
    plan.desc.vectors = 8;
    plan.desc.vector_order = MERBIT_VECTORS_ROW_MAJOR;
    plan.tuning[MBI_KNOB_MANY_RUN] = wishes[i][0];
    plan.tuning[MBI_KNOB_MANY_UNROLL] = wishes[i][1];
    plan.desc.block_threads = wishes[i][2];
    assert_int_equal(mbi_many_size(&plan), MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "8 vectors take run 1 to 2");
  }
  test_plan_clear(&plan);
  plan.context = context;
  plan.profile = &context->device.estimate;
  plan.type = MERBIT_F64;
  plan.device.nnz = (uint64_t)1 << 60;
  plan.desc.vectors = 8;
  plan.desc.vector_order = MERBIT_VECTORS_ROW_MAJOR;
  plan.tuning[MBI_KNOB_MANY_RUN] = 1; /* runs, not rows */
  assert_int_equal(mbi_many_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "tiles for 8 vectors");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes),         cmocka_unit_test(small_blocks),
      cmocka_unit_test(staged_columns), cmocka_unit_test(room_for_the_cache),
      cmocka_unit_test(rows_or_runs),   cmocka_unit_test(sizes_refused),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
