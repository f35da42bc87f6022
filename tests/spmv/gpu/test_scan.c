/* SCAN's sizes, without a GPU: tiles, blocks, carries and loads up to sizes that are too large,
 * and refusals. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/plan_sizes.h"

/* Whole rows as long as one block of at most 1024 threads per multiprocessor takes all, with as
 * few steps and threads as that takes, then in smaller blocks; then rows that cross blocks, in
 * short tiles if there are few. */
static void sizes_of_the_scan(void **state) {
  enum { ONE = 31 * 256 * 132, ALL = 31 * 384 * 132, FEW = 16384 * 132, SMALL = 49152 * 132 };
  static const struct {
    merbit_type type;
    merbit_memory scalars;
    uint64_t nnz;
    int steps, threads, whole;
  } cases[] = {{MERBIT_F64, MERBIT_MEMORY_HOST, 0, 2, 128, 0},
               {MERBIT_F64, MERBIT_MEMORY_HOST, 1, 2, 512, 1},
               {MERBIT_F64, MERBIT_MEMORY_HOST, ONE / 4, 2, 1024, 1},
               {MERBIT_F64, MERBIT_MEMORY_HOST, ONE / 4 + 1, 4, 576, 1},
               {MERBIT_F32, MERBIT_MEMORY_HOST, ONE / 4, 2, 1024, 1},
               {MERBIT_F32, MERBIT_MEMORY_HOST, ONE / 2, 4, 1024, 1},
               {MERBIT_F32, MERBIT_MEMORY_HOST, ONE / 2 + 1, 6, 704, 1},
               {MERBIT_F64, MERBIT_MEMORY_HOST, ONE / 2 + 1, 6, 704, 1},
               {MERBIT_F32, MERBIT_MEMORY_HOST, ONE, 8, 1024, 1},
               {MERBIT_F64, MERBIT_MEMORY_DEVICE, ONE, 8, 1024, 1},
               {MERBIT_F32, MERBIT_MEMORY_HOST, ONE + 1, 10, 832, 1},
               {MERBIT_F32, MERBIT_MEMORY_DEVICE, ONE + 1, 10, 832, 1},
               {MERBIT_F64, MERBIT_MEMORY_HOST, ONE + 1, 10, 832, 1},
               {MERBIT_F64, MERBIT_MEMORY_DEVICE, ONE + 1, 4, 512, 1},
               {MERBIT_F64, MERBIT_MEMORY_HOST, ALL, 12, 1024, 1},
               {MERBIT_F64, MERBIT_MEMORY_HOST, ALL + 1, 4, 128, 0},
               {MERBIT_F32, MERBIT_MEMORY_HOST, ALL, 12, 1024, 1},
               {MERBIT_F32, MERBIT_MEMORY_HOST, ALL + 1, 4, 128, 0},
               {MERBIT_F32, MERBIT_MEMORY_HOST, FEW - 1, 4, 128, 0},
               {MERBIT_F32, MERBIT_MEMORY_HOST, FEW, 8, 256, 0},
               {MERBIT_F32, MERBIT_MEMORY_HOST, SMALL - 1, 8, 256, 0},
               {MERBIT_F32, MERBIT_MEMORY_HOST, SMALL, 12, 512, 0},
               {MERBIT_F64, MERBIT_MEMORY_HOST, FEW - 1, 4, 128, 0},
               {MERBIT_F64, MERBIT_MEMORY_HOST, FEW, 8, 256, 0},
               {MERBIT_F64, MERBIT_MEMORY_HOST, SMALL - 1, 8, 256, 0},
               {MERBIT_F64, MERBIT_MEMORY_HOST, SMALL, 8, 512, 0},
               {MERBIT_F64, MERBIT_MEMORY_HOST, TWO(38), 8, 512, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const uint64_t tile = 32 * (uint64_t)cases[i].steps, nnz = cases[i].nnz;
    const uint64_t warps = (uint64_t)cases[i].threads / 32 - (uint64_t)cases[i].whole;
    merbit_plan plan;
    plan_of(&plan, cases[i].type, 10, nnz);
    plan.device.values = 256;
    plan.nonempty.longest = 60;
    plan.desc.scalar_memory = cases[i].scalars;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->steps, cases[i].steps);
    assert_int_equal(mbi_scan_of(&plan)->threads, cases[i].threads);
    assert_int_equal(mbi_scan_of(&plan)->whole, cases[i].whole);
    assert_true(mbi_scan_of(&plan)->tiles == nnz / tile + (nnz % tile != 0));
    assert_true(mbi_scan_of(&plan)->blocks * warps >= mbi_scan_of(&plan)->tiles);
    assert_true(mbi_scan_of(&plan)->blocks * warps < mbi_scan_of(&plan)->tiles + warps);
    assert_true(mbi_scan_of(&plan)->fixup_blocks ==
                (cases[i].whole ? 0 : (mbi_scan_of(&plan)->tiles + 255) / 256));
    assert_true(
        mbi_scan_carry_bytes(&plan) ==
        (cases[i].whole ? 0 : 2 * mbi_type_size(plan.type) * mbi_scan_of(&plan)->tiles));
  }
  {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, 10, ONE + 1);
    context->device.compute_capability = 100;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->steps, 4);
    plan_of(&plan, MERBIT_F32, 40000000, 80000000);
    plan.streaming = 1;
    plan.nonempty.sectors = 1; /* scattered */
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->steps, 12);
    context->device.compute_capability = 0;
  }
  {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F32, 10, 384 * (uint64_t)INT32_MAX);
    plan.device.values = 256;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->steps, 12);
    assert_true(mbi_scan_of(&plan)->tiles == INT32_MAX);
    plan.device.nnz++;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_TOO_LARGE);
    cpu_expect(context, MERBIT_TOO_LARGE,
               "make 2147483648 tiles; raise steps in plan_desc.tuning");
    plan_of(&plan, MERBIT_F32, UINT32_MAX, 5);
    assert_int_equal(mbi_scan_create(&plan), MERBIT_TOO_LARGE);
    cpu_expect(context, MERBIT_TOO_LARGE, "fewer than 2^32 - 1 rows, not 4294967295");
  }
}

/* Short rows stay whole in larger matrices, and lanes load fewer of their nonzeros at once, as
 * they do where the steps ask for it. With large sums they load two if there are many. Floats
 * in scattered columns have shorter tiles. */
static void short_rows(void **state) {
  enum { MOST = 31 * 32 * 99 * 132, FEW = 16384 * 132 };
  static const struct {
    merbit_type type;
    uint64_t rows, nnz;
    uint32_t longest;
    int steps, pack, threads, whole;
    double sectors;
  } cases[] = {{MERBIT_F32, MOST, MOST, 64, 8, 2, 512, 1, 0},
               {MERBIT_F64, MOST, MOST, 64, 4, 2, 512, 1, 0},
               {MERBIT_F32, MOST, MOST, 65, 16, 2, 256, 0, 0},
               {MERBIT_F64, MOST, MOST, 65, 8, 2, 512, 0, 0},
               {MERBIT_F32, MOST, MOST + 1, 64, 16, 2, 256, 0, 0},
               {MERBIT_F32, MOST / 4, MOST, 64, 12, 4, 512, 0, 0},
               {MERBIT_F32, MOST / 4, MOST, 64, 12, 4, 512, 0, 0.7},
               {MERBIT_F32, MOST / 4, MOST, 64, 8, 4, 512, 0, 0.71},
               {MERBIT_F32, MOST, MOST + 1, 64, 16, 2, 256, 0, 0.71},
               {MERBIT_F64, MOST / 4, MOST, 64, 8, 4, 512, 0, 0.71},
               {MERBIT_F32, 10, 300000, 64, 4, 4, 640, 1, 0},
               {MERBIT_F32, 75001, 300000, 64, 4, 2, 640, 1, 0},
               {MERBIT_F32, 10, 100, 64, 2, 2, 512, 1, 0},
               {MERBIT_C64, 10, 100, 64, 2, 2, 512, 1, 0},
               {MERBIT_C128, 10, 100, 64, 4, 1, 512, 1, 0},
               {MERBIT_C128, 10, FEW - 1, 65, 4, 1, 128, 0, 0},
               {MERBIT_C128, 10, FEW, 65, 6, 2, 256, 0, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, cases[i].type, cases[i].rows, cases[i].nnz);
    plan.nonempty.longest = cases[i].longest;
    plan.nonempty.sectors = cases[i].sectors;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->steps, cases[i].steps);
    assert_int_equal(mbi_scan_of(&plan)->pack, cases[i].pack);
    assert_int_equal(mbi_scan_of(&plan)->threads, cases[i].threads);
    assert_int_equal(mbi_scan_of(&plan)->whole, cases[i].whole);
  }
}

/* Lanes take twice as many neighbours of a large pattern whose rows are not short, in f32 in
 * tiles of another size; but not with general values or values of rows, for other types, over
 * semirings, nor if the user's steps do not allow it. */
static void patterns(void **state) {
  enum { SMALL = 49152 * 132 };
  static const struct {
    merbit_type type;
    uint64_t rows, nnz;
    mbi_value_form form;
    int wish, steps, pack, threads;
  } cases[] = {{MERBIT_F64, SMALL / 4, SMALL, MBI_VALUES_GENERAL, 0, 8, 4, 512},
               {MERBIT_F64, SMALL / 4 + 1, SMALL, MBI_VALUES_GENERAL, 0, 8, 2, 512},
               {MERBIT_F64, SMALL / 4 - 1, SMALL - 1, MBI_VALUES_GENERAL, 0, 8, 2, 256},
               {MERBIT_F64, SMALL / 4, SMALL, MBI_VALUES_EQUAL, 12, 12, 4, 512},
               {MERBIT_F64, SMALL / 4, SMALL, MBI_VALUES_COLUMN, 14, 14, 2, 512},
               {MERBIT_F64, SMALL / 4, SMALL, MBI_VALUES_ROW, 0, 8, 2, 512},
               {MERBIT_F32, SMALL / 8, SMALL, MBI_VALUES_GENERAL, 0, 16, 8, 256},
               {MERBIT_F32, SMALL / 8 + 1, SMALL, MBI_VALUES_GENERAL, 0, 12, 4, 512},
               {MERBIT_F32, SMALL / 8 - 1, SMALL - 1, MBI_VALUES_GENERAL, 0, 8, 4, 256},
               {MERBIT_F32, SMALL / 8, SMALL, MBI_VALUES_GENERAL, 12, 12, 4, 512},
               {MERBIT_F32, SMALL / 8, SMALL, MBI_VALUES_EQUAL, 8, 8, 8, 256}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    plan_of(&plan, cases[i].type, cases[i].rows, cases[i].nnz);
    plan.device.form = cases[i].form;
    plan.device.values = cases[i].form != MBI_VALUES_GENERAL ? 256 : 0;
    plan.tuning[MBI_KNOB_SCAN_STEPS] = cases[i].wish;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->steps, cases[i].steps);
    assert_int_equal(mbi_scan_of(&plan)->pack, cases[i].pack);
    assert_int_equal(mbi_scan_of(&plan)->threads, cases[i].threads);
  }
  plan_of(&plan, MERBIT_F64, SMALL / 8, SMALL);
  plan.device.values = 256;
  assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_scan_of(&plan)->pack, 2);
  plan_of(&plan, MERBIT_C64, SMALL / 8, SMALL);
  assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_scan_of(&plan)->pack, 2);
  plan_of(&plan, MERBIT_F64, SMALL / 8, SMALL);
  plan.desc.semiring = MERBIT_SEMIRING_MIN_PLUS;
  assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_scan_of(&plan)->pack, 2);
}

/* Tiles hold the old y of as many rows as end in one on average, plus half as many; of more
 * rows if lengths vary much; and of 32 if most rows are empty. */
static void rows_held(void **state) {
  static const struct {
    merbit_type type;
    uint64_t rows, count, slots;
    int held; /* of 7,000,000 nonzeros, in tiles of 384 in f32, of 256 in f64 */
  } cases[] = {
      {MERBIT_F32, 350000, 350000, 7000000, 32},    {MERBIT_F32, 400000, 400000, 7000000, 64},
      {MERBIT_F32, 400000, 400000, 14000001, 64},   {MERBIT_F32, 690000, 690000, 14000001, 96},
      {MERBIT_F32, 1700000, 1700000, 7000000, 128}, {MERBIT_F32, 1700000, 850000, 7000000, 96},
      {MERBIT_F32, 1700001, 850000, 7000000, 32},   {MERBIT_F64, 1700000, 1700000, 7000000, 64},
      {MERBIT_C128, 1700000, 1700000, 7000000, 32}, {MERBIT_F64, 500000, 500000, 7000000, 32}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, cases[i].type, cases[i].rows, 7000000);
    plan.device.values = 256;
    plan.nonempty.count = cases[i].count;
    plan.nonempty.slots = cases[i].slots;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->held, cases[i].held);
  }
}

/* Two launches take two steps, up to eight nonzeros per lane of the GPU or, if columns are
 * scattered, twelve, and up to 64 nonzeros per row that is not empty. */
static void shortest_tiles(void **state) {
  enum { ONE = 31 * 256 * 132, ALL = 31 * 384 * 132, ROWS = ONE / 64 };
  static const struct {
    merbit_type type;
    uint64_t rows, count, nnz;
    double sectors;
    int wish, steps, pack;
  } cases[] = {{MERBIT_F64, ROWS, ROWS, ONE, 0, 0, 2, 2},
               {MERBIT_F32, ROWS, ROWS, ONE, 0, 0, 2, 2},
               {MERBIT_F32, ROWS, ROWS, ONE, 0, 4, 4, 4},
               {MERBIT_F32, ROWS - 1, ROWS - 1, ONE, 0, 2, 2, 2}, /* a plan made again */
               {MERBIT_F32, ROWS - 1, ROWS - 1, ONE, 0, 0, 4, 4},
               {MERBIT_F64, 2 * ROWS, ROWS - 1, ONE, 0, 0, 4, 2},
               {MERBIT_F64, ALL, ALL, ONE + 1, 0.5, 0, 4, 2},
               {MERBIT_F64, ALL, ALL, ALL, 0.51, 0, 2, 2},
               {MERBIT_F32, ALL, ALL, ALL + 1, 0.51, 0, 4, 4},
               {MERBIT_C64, ROWS, ROWS, ONE, 0, 0, 4, 2}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, cases[i].type, cases[i].rows, cases[i].nnz);
    plan.streaming = 1;
    plan.nonempty.count = cases[i].count;
    plan.nonempty.longest = 8193;
    plan.nonempty.sectors = cases[i].sectors;
    plan.tuning[MBI_KNOB_SCAN_STEPS] = cases[i].wish;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->whole, 0);
    assert_int_equal(mbi_scan_of(&plan)->steps, cases[i].steps);
    assert_int_equal(mbi_scan_of(&plan)->pack, cases[i].pack);
  }
}

/* Rows that cross blocks are taken where whole rows and the empty rows do not fit at once. */
static void empty_rows_crowd(void **state) {
  static const struct {
    merbit_type type;
    uint64_t rows, count, nnz;
    uint32_t longest;
    int whole, steps;
  } cases[] = {
      {MERBIT_F32, 2500000, 125000, 1000000, 8, 0, 2},
      {MERBIT_F64, 2500000, 125000, 1000000, 8, 0, 2},
      {MERBIT_F32, 1000000, 50000, 400000, 8, 1, 4},
      {MERBIT_F32, 32768 * 48 - 1, 125000, 11904 * 84, 8, 1, 12}, /* 48 and 84 blocks */
      {MERBIT_F32, 32768 * 48, 125000, 11904 * 84, 8, 0, 2},
      {MERBIT_F32, 2500000, 2500000, 1000000, 8, 1, 8},
      {MERBIT_F32, 100000, 100000, 11904 * 132, 500, 1, 12}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, cases[i].type, cases[i].rows, cases[i].nnz);
    plan.nonempty.count = cases[i].count;
    plan.nonempty.longest = cases[i].longest;
    plan.nonempty.typical = cases[i].longest;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->whole, cases[i].whole);
    assert_int_equal(mbi_scan_of(&plan)->steps, cases[i].steps);
  }
}

/* A row may occupy its block for two rounds and have 8192 nonzeros, unless the user says
 * otherwise. */
static void whole_rows_are_short(void **state) {
  static const struct {
    uint32_t longest;
    int wish, threads, whole, steps;
  } cases[] = {{8192, 0, 0, 1, 4}, {8193, 0, 0, 0, 4}, {8193, 2, 0, 1, 6}, {5, 1, 0, 0, 4},
               {5, 2, 64, 1, 2},   {5, 0, 32, 0, 4},   {256, 0, 64, 1, 2}, {257, 0, 64, 0, 4},
               {4096, 0, 0, 1, 2}, {4097, 0, 0, 1, 4}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, 10, 100000);
    plan.nonempty.longest = cases[i].longest;
    plan.tuning[MBI_KNOB_SCAN_WHOLE] = cases[i].wish;
    plan.desc.block_threads = cases[i].threads;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->whole, cases[i].whole);
    assert_int_equal(mbi_scan_of(&plan)->steps, cases[i].steps);
  }
}

/* Blocks are fitted if a row may be longer than a tile, in as many threads as leave a few
 * blocks to spare, hold the longest row in one round if possible, and write empty rows at once.
 * They may need more entries, and do not list the tiles of a large matrix in shared memory. */
static void blocks_are_fitted(void **state) {
  static const struct {
    uint64_t nnz, empty;
    uint32_t longest;
    double typical;
    int wish, steps, threads, fitted;
  } cases[] = {
      {500000, 0, 128, 20, 0, 4, 1024, 0},        {500000, 0, 129, 20, 0, 4, 1024, 1},
      {379263, 0, 980, 18, 0, 4, 768, 1},         {379263, 100000, 980, 18, 0, 4, 832, 1},
      {379263, 0, 3100, 18, 0, 4, 832, 1},        {393000, 0, 980, 18, 0, 4, 832, 1},
      {595118, 0, 2878, 132, 0, 6, 832, 1},       {12288 * 128, 0, 200, 20, 4, 4, 512, 1},
      {12288 * 128 + 1, 0, 200, 20, 4, 4, 512, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const mbi_scan_schedule *s;
    uint64_t warps;
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, 100000 + cases[i].empty, cases[i].nnz);
    plan.device.values = 256;
    plan.nonempty.count = 100000;
    plan.nonempty.longest = cases[i].longest;
    plan.nonempty.typical = cases[i].typical;
    plan.tuning[MBI_KNOB_SCAN_STEPS] = cases[i].wish;
    plan.tuning[MBI_KNOB_SCAN_WHOLE] = 2;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    s = mbi_scan_of(&plan);
    warps = (uint64_t)s->threads / 32 - 1;
    assert_int_equal(s->steps, cases[i].steps);
    assert_int_equal(s->threads, cases[i].threads);
    assert_int_equal(s->fitted, cases[i].fitted);
    assert_true(s->blocks ==
                (s->tiles + warps - 1) / warps * (s->fitted ? 2 : 1) + (s->fitted ? 2 : 0));
  }
}

/* Refuses forms without a kernel: the steps must be a number of whole packs of 16 bytes, which
 * a lane loads at once, and blocks must consist of whole warps. */
static void forms_of_the_scan(void **state) {
  static const struct {
    int steps, whole, threads;
    const char *piece;
  } bad[] = {{6, 0, 0, "steps is 6"},
             {36, 0, 0, "steps is 36"},
             {-4, 0, 0, "steps is -4"},
             {0, 0, 31, "block_threads is 31"},
             {0, 3, 0, "whole is 3 and plan_desc.block_threads 128"},
             {0, -1, 0, "whole is -1"},
             {0, 2, 32, "whole is 2 and plan_desc.block_threads 32"},
             {0, 0, 1056, "block_threads is 1056"},
             {0, 0, 48, "block_threads is 48"}};
  static const int good[][3] = {{4, 0, 32}, {32, 1, 1024}, {4, 2, 96}};
  merbit_plan plan;
  size_t i;
  int steps, single;
  (void)state;
  for (single = 0; single < 2; single++) {
    for (steps = -4; steps <= 36; steps++) {
      const int pack = single ? 4 : 2;
      const int good = steps >= 0 && steps <= 32 && steps % pack == 0; /* 0 is the default */
      plan_of(&plan, single ? MERBIT_F32 : MERBIT_F64, 10, 1000);
      plan.tuning[MBI_KNOB_SCAN_STEPS] = steps;
      assert_int_equal(mbi_scan_size(&plan), good ? MERBIT_OK : MERBIT_INVALID_ARGUMENT);
      if (!good) {
        cpu_expect(context, MERBIT_INVALID_ARGUMENT,
                   single ? "the scan takes multiples of 4 up to 32"
                          : "the scan takes multiples of 2 up to 32");
      }
    }
  }
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.tuning[MBI_KNOB_SCAN_STEPS] = bad[i].steps;
    plan.tuning[MBI_KNOB_SCAN_WHOLE] = bad[i].whole;
    plan.desc.block_threads = bad[i].threads;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, bad[i].piece);
  }
  for (i = 0; i < sizeof good / sizeof good[0]; i++) {
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.tuning[MBI_KNOB_SCAN_STEPS] = good[i][0];
    plan.tuning[MBI_KNOB_SCAN_WHOLE] = good[i][1];
    plan.desc.block_threads = good[i][2];
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  }
}

/* Packs are loaded at once only if neither columns nor values are misaligned by an element. */
static void alignment_of_the_scan(void **state) {
  static const struct {
    mbi_devptr col_ind, values;
    const char *line;
  } arrays[] = {{4096, 8192, "#define MBK_ALIGNED 1"},
                {4096, 8192 + 4, "#define MBK_ALIGNED 0"},
                {4096 + 4, 8192, "#define MBK_ALIGNED 0"},
                {4096 + 8, 8192 + 8, "#define MBK_ALIGNED 0"},
                {4096 + 16, 8192 + 32, "#define MBK_ALIGNED 1"},
                {4096, 0, "#define MBK_ALIGNED 1"},
                {4096 + 12, 0, "#define MBK_ALIGNED 0"}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    mbi_preamble preamble;
    merbit_plan plan;
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.device.col_ind = arrays[i].col_ind;
    plan.device.values = arrays[i].values;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    mbi_scan_preamble(&plan, &preamble);
    assert_non_null(strstr(preamble.text, arrays[i].line));
  }
}

/* Blocks for the empty rows: in addition to those that multiply, of which there is at least
 * one, each for 8 rows per thread; or in the fix-up of methods whose products do not write
 * them, at most eight per multiprocessor. */
static void empty_rows_have_blocks(void **state) {
  static const uint64_t empties[] = {0, 1, 252, 253, 5000, TWO(30)};
  static const uint64_t fill[] = {0, 1, 1, 1, 5, TWO(30) / 1024 + 1};
  static const uint64_t fixup[] = {0, 1, 1, 2, 20, 8 * 132};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof empties / sizeof empties[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, empties[i] + 3, 0);
    plan.nonempty.count = 3;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_true(mbi_scan_of(&plan)->blocks == (i > 0));
    assert_true(mbi_scan_of(&plan)->fill_blocks == fill[i]);
    assert_true(mbi_scan_of(&plan)->fixup_blocks == 0);
    mbi_scan_of(&plan)->fills = 0;
    mbi_scan_size_rows(&plan);
    assert_true(mbi_scan_of(&plan)->fixup_blocks == fixup[i]);
    assert_true(mbi_scan_of(&plan)->fill_blocks == 0);
    plan.device.nnz = 256 * 256 * 2000;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_true(mbi_scan_of(&plan)->fixup_blocks == 2000);
    assert_true(mbi_scan_of(&plan)->blocks == 256 * 2000 / 16);
  }
}

/* Blocks that write empty rows prefetch sectors of y if y takes more than 0.45 of L2, and take
 * more rows if all blocks of the product run at once. */
static void empty_rows_have_forms(void **state) {
  static const struct {
    double part; /* of y in L2 */
    uint64_t empty, nnz;
    const char *fill, *ahead; /* NULL: no row is empty */
  } cases[] = {{0.44, 1000, 3000000, "MBK_FILL 8\n", "MBK_FILL_AHEAD 0\n"},
               {0.46, 1000, 3000000, "MBK_FILL 8\n", "MBK_FILL_AHEAD 1\n"},
               {0.44, 1000, 300000, "MBK_FILL 32\n", "MBK_FILL_AHEAD 0\n"},
               {0.46, 0, 3000000, NULL, NULL}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_plan plan;
    mbi_preamble preamble;
    plan_of(&plan, MERBIT_F64, 1000, cases[i].nnz);
    plan.streaming = 0;
    plan.nonempty.longest = 9;
    plan.device.rows = (uint64_t)(cases[i].part * plan.profile->l2_bytes / 8);
    plan.nonempty.count = plan.device.rows - cases[i].empty;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_true(mbi_scan_of(&plan)->whole); /* short rows */
    memset(&preamble, 0, sizeof preamble);
    mbi_scan_preamble(&plan, &preamble);
    if (cases[i].fill != NULL) {
      assert_non_null(strstr(preamble.text, cases[i].fill));
      assert_non_null(strstr(preamble.text, cases[i].ahead));
    } else {
      assert_null(strstr(preamble.text, "MBK_FILL"));
    }
  }
}

/* A product has the right number of blocks that write empty rows, spread evenly: before any
 * block their number is right within one. */
static void fill_blocks_are_spread(void **state) {
  static const uint64_t counts[][2] = {{1, 1},    {1, 5},      {7, 3},           {1571, 159},
                                       {4, 2930}, {732, 2930}, {TWO(24), 12345}, {3, TWO(24)}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    mbi_scan_schedule s;
    uint64_t rate, block, all;
    memset(&s, 0, sizeof s);
    s.blocks = counts[i][0];
    s.fill_blocks = counts[i][1];
    all = s.blocks + s.fill_blocks;
    rate = mbi_scan_fill_rate(&s);
    assert_true(all * rate >> 32 == s.fill_blocks);
    for (block = 0; block < all; block += 1 + all / 5000) {
      const uint64_t before = block * rate >> 32, even = block * s.fill_blocks / all;
      assert_true(before == even || before == even + 1);
    }
  }
}

/* No launch bound asks for more than 2048 threads, or for no block. Where all blocks of whole
 * rows run at once, it leaves room for one block of the next launch. */
static void resident_blocks_are_possible(void **state) {
  static const int capabilities[] = {75, 90, 120};
  int i, steps, threads;
  (void)state;
  for (i = 0; i < 2; i++) {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, 10, i == 0 ? 100 : 31 * 32 * 12 * 132 + 1);
    plan.nonempty.longest = 60;
    plan.tuning[MBI_KNOB_SCAN_STEPS] = 2;
    plan.tuning[MBI_KNOB_SCAN_WHOLE] = 2;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->threads, 512);
    assert_int_equal(mbi_scan_of(&plan)->resident, i == 0 ? 2 : 3);
  }
  for (i = 0; i < 6; i++) {
    const merbit_type type = i % 2 ? MERBIT_F32 : MERBIT_F64;
    const int pack = mbi_scan_widest(type);
    merbit_plan plan;
    plan_of(&plan, type, 10, 1000);
    mbi_scan_of(&plan)->pack = pack;
    context->device.compute_capability = capabilities[i / 2];
    for (steps = pack; steps <= 32; steps += pack) {
      const int room = steps > 14 * pack ? 384 : steps > 16 ? 512 : 1536;
      for (threads = 32; threads <= 1024; threads += 32) {
        int blocks;
        mbi_scan_of(&plan)->steps = steps;
        mbi_scan_of(&plan)->threads = threads;
        blocks = mbi_scan_resident(&plan);
        assert_in_range(blocks, 1, 16);
        assert_true(blocks * threads <= (threads > room ? threads : room));
      }
    }
    mbi_scan_of(&plan)->steps = type == MERBIT_F32 ? 12 : 8; /* aligned; then not */
    mbi_scan_of(&plan)->threads = 512;
    assert_int_equal(mbi_scan_resident(&plan), capabilities[i / 2] == 90 ? 3 : 2);
    mbi_scan_of(&plan)->pack = 1;
    assert_int_equal(mbi_scan_resident(&plan), 2);
    mbi_scan_of(&plan)->pack = pack;
    plan.device.col_ind = 4;
    assert_int_equal(mbi_scan_resident(&plan), 2);
  }
  context->device.compute_capability = 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_of_the_scan),
      cmocka_unit_test(rows_held),
      cmocka_unit_test(shortest_tiles),
      cmocka_unit_test(empty_rows_crowd),
      cmocka_unit_test(whole_rows_are_short),
      cmocka_unit_test(blocks_are_fitted),
      cmocka_unit_test(short_rows),
      cmocka_unit_test(patterns),
      cmocka_unit_test(forms_of_the_scan),
      cmocka_unit_test(alignment_of_the_scan),
      cmocka_unit_test(empty_rows_have_blocks),
      cmocka_unit_test(empty_rows_have_forms),
      cmocka_unit_test(fill_blocks_are_spread),
      cmocka_unit_test(resident_blocks_are_possible),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
