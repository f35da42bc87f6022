/* The arithmetic of the scan, of lanes per row, of slices and of bins, with no GPU: sizes up to
 * what is too large, what is refused, and which method AUTO takes. */
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
  context->device.shared_bytes_per_block = 227 << 10;
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

/* Whole rows while one block of 1024 threads to a multiprocessor takes all, then while the GPU
 * is filled twice; then rows that cross blocks, in short tiles where it is not filled often. */
static void sizes_of_the_scan(void **state) {
  enum { ONE = 31 * 256 * 132, TWICE = 96 * 32 * 132, SMALL = 49152 * 132 };
  static const struct {
    merbit_type type;
    uint64_t nnz;
    int steps, threads, whole;
  } cases[] = {{MERBIT_F64, 0, 4, 128, 0},         {MERBIT_F64, 1, 8, 1024, 1},
               {MERBIT_F32, ONE, 8, 1024, 1},      {MERBIT_F64, ONE, 8, 1024, 1},
               {MERBIT_F32, ONE + 1, 8, 512, 1},   {MERBIT_F64, ONE + 1, 4, 512, 1},
               {MERBIT_F64, 4 * TWICE, 4, 512, 1}, {MERBIT_F64, 4 * TWICE + 1, 4, 128, 0},
               {MERBIT_F32, 8 * TWICE, 8, 512, 1}, {MERBIT_F32, 8 * TWICE + 1, 4, 128, 0},
               {MERBIT_F32, SMALL - 1, 4, 128, 0}, {MERBIT_F32, SMALL, 12, 512, 0},
               {MERBIT_F64, SMALL, 8, 512, 0},     {MERBIT_F64, TWO(38), 8, 512, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const uint64_t tile = 32 * (uint64_t)cases[i].steps, nnz = cases[i].nnz;
    const uint64_t warps = (uint64_t)cases[i].threads / 32 - (uint64_t)cases[i].whole;
    merbit_plan plan;
    plan_of(&plan, cases[i].type, 10, nnz);
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(plan.scan.steps, cases[i].steps);
    assert_int_equal(plan.scan.threads, cases[i].threads);
    assert_int_equal(plan.scan.whole, cases[i].whole);
    assert_true(plan.scan.tiles == nnz / tile + (nnz % tile != 0));
    assert_true(plan.scan.blocks * warps >= plan.scan.tiles);
    assert_true(plan.scan.blocks * warps < plan.scan.tiles + warps);
    assert_true(plan.scan.fixup_blocks == (plan.scan.tiles + 511) / 512);
    assert_true(mbi_scan_carry_bytes(&plan) ==
                (cases[i].whole ? 0 : 2 * mbi_type_size(plan.type) * plan.scan.tiles));
  }
  {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F32, 10, 384 * (uint64_t)INT32_MAX);
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(plan.scan.steps, 12);
    assert_true(plan.scan.tiles == INT32_MAX);
    plan.device.nnz++;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_TOO_LARGE);
    cpu_expect(context, MERBIT_TOO_LARGE, "make 2147483648 tiles; raise plan_desc.sigma");
    plan_of(&plan, MERBIT_F32, UINT32_MAX, 5);
    assert_int_equal(mbi_scan_create(&plan), MERBIT_TOO_LARGE);
    cpu_expect(context, MERBIT_TOO_LARGE, "fewer than 2^32 - 1 rows, not 4294967295");
  }
}

/* A row may keep its block for four rounds, unless the user says so. */
static void whole_rows_are_short(void **state) {
  static const struct {
    uint32_t longest;
    int omega, threads, whole;
  } cases[] = {{4 * 8192, 0, 0, 1}, {4 * 8192 + 1, 0, 0, 0}, {4 * 8192 + 1, 2, 0, 1},
               {5, 1, 0, 0},        {5, 2, 64, 1},           {5, 0, 32, 0},
               {4 * 512, 0, 64, 1}, {4 * 512 + 1, 0, 64, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, 10, 100000);
    plan.ranks.longest = cases[i].longest;
    plan.desc.omega = cases[i].omega;
    plan.desc.block_threads = cases[i].threads;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(plan.scan.whole, cases[i].whole);
  }
}

/* Of the packs of 16 bytes that a lane loads at once there are whole ones. */
static void steps_of_the_scan(void **state) {
  int steps, single;
  (void)state;
  for (single = 0; single < 2; single++) {
    for (steps = -4; steps <= 36; steps++) {
      const int pack = single ? 4 : 2;
      const int good = steps >= 0 && steps <= 32 && steps % pack == 0; /* 0 is the default */
      merbit_plan plan;
      plan_of(&plan, single ? MERBIT_F32 : MERBIT_F64, 10, 1000);
      plan.desc.sigma = steps;
      assert_int_equal(mbi_scan_size(&plan), good ? MERBIT_OK : MERBIT_INVALID_ARGUMENT);
      if (!good) {
        cpu_expect(context, MERBIT_INVALID_ARGUMENT,
                   single ? "the scan takes multiples of 4 up to 32"
                          : "the scan takes multiples of 2 up to 32");
      }
    }
  }
}

/* Packs are loaded at once only where neither columns nor values are off by an element. */
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
  static const int capabilities[] = {75, 90, 120};
  int i, steps, threads;
  (void)state;
  for (i = 0; i < 6; i++) {
    const merbit_type type = i % 2 ? MERBIT_F32 : MERBIT_F64;
    const int pack = mbi_scan_pack(type);
    merbit_plan plan;
    plan_of(&plan, type, 10, 1000);
    context->device.compute_capability = capabilities[i / 2];
    for (steps = pack; steps <= 32; steps += pack) {
      const int room = steps > 14 * pack ? 384 : steps > 16 ? 512 : 1536;
      for (threads = 32; threads <= 1024; threads += 32) {
        int blocks;
        plan.scan.steps = steps;
        plan.scan.threads = threads;
        blocks = mbi_scan_resident(&plan);
        assert_in_range(blocks, 1, 16);
        assert_true(blocks * threads <= (threads > room ? threads : room));
      }
    }
    plan.scan.steps = type == MERBIT_F32 ? 12 : 8; /* aligned; then not */
    plan.scan.threads = 512;
    assert_int_equal(mbi_scan_resident(&plan), capabilities[i / 2] == 90 ? 3 : 2);
    plan.device.col_ind = 4;
    assert_int_equal(mbi_scan_resident(&plan), 2);
  }
  context->device.compute_capability = 0;
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

/* Forms of the scan and of lanes per row that no kernel is compiled for. */
static void forms_that_nobody_makes(void **state) {
  static const struct {
    int rows, sigma, omega, threads;
    const char *piece;
  } bad[] = {{1, 0, 3, 0, "omega is 3"},
             {1, 0, 64, 0, "omega is 64"},
             {1, 0, -1, 0, "omega is -1"},
             {1, 33, 0, 0, "sigma is 33"},
             {1, -1, 0, 0, "sigma is -1"},
             {1, 0, 0, 31, "block_threads 31"},
             {1, 0, 0, 1056, "block_threads 1056"},
             {1, 0, 0, 33, "block_threads 33"},
             {0, 6, 0, 0, "sigma is 6"},
             {0, 36, 0, 0, "sigma is 36"},
             {0, -4, 0, 0, "sigma is -4"},
             {0, 0, 0, 31, "block_threads is 31"},
             {0, 0, 3, 0, "omega is 3 and block_threads 128"},
             {0, 0, -1, 0, "omega is -1"},
             {0, 0, 2, 32, "omega is 2 and block_threads 32"},
             {0, 0, 0, 1056, "block_threads is 1056"},
             {0, 0, 0, 48, "block_threads is 48"}};
  static const int good[][3] = {{1, 1, 32}, {32, 32, 1024}, {4, 16, 96}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.desc.sigma = bad[i].sigma;
    plan.desc.omega = bad[i].omega;
    plan.desc.block_threads = bad[i].threads;
    assert_int_equal(bad[i].rows ? mbi_rows_size(&plan) : mbi_scan_size(&plan),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, bad[i].piece);
  }
  for (i = 0; i < sizeof good / sizeof good[0]; i++) {
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.desc.sigma = good[i][0];
    plan.desc.omega = good[i][1];
    plan.desc.block_threads = good[i][2];
    assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
    plan.desc.sigma = (good[i][0] + 3) / 4 * 4;
    plan.desc.omega = (int)i;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  }
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
  /* Every slice wide and four slots of f32 with one nonzero at its end: columns are counted
   * by two bytes. */
  plan_of(&plan, MERBIT_F32, 100, 5);
  assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
  plan.ranks.longest = INT32_MAX;
  plan.ranks.slots = 32 * (TWO(31) - 13);
  assert_int_equal(mbi_sliced_check(&plan), MERBIT_OK);
  assert_true(2 * (plan.ranks.slots / 32 + 3 * plan.sliced.slices) <= UINT32_MAX);
  plan.ranks.slots += 32;
  assert_int_equal(mbi_sliced_check(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "would take 68719476352 slots");
  plan.ranks.slots = 32;
  plan.ranks.longest++;
  assert_int_equal(mbi_sliced_check(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "2147483648 for one row; use another");
}

static void slices_that_nobody_makes(void **state) {
  static const int bad[][2] = {{-1, 0}, {17, 0}, {0, 31}, {0, 1056}, {0, 48}, {0, -32}};
  static const int good[][2] = {{1, 32}, {16, 1024}, {0, 96}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0] + sizeof good / sizeof good[0]; i++) {
    const int wrong = i < sizeof bad / sizeof bad[0];
    const int *values = wrong ? bad[i] : good[i - sizeof bad / sizeof bad[0]];
    merbit_plan plan;
    plan_of(&plan, MERBIT_F32, 10, 1000);
    plan.desc.sigma = values[0];
    plan.desc.block_threads = values[1];
    assert_int_equal(mbi_sliced_size(&plan), wrong ? MERBIT_INVALID_ARGUMENT : MERBIT_OK);
    if (wrong) {
      cpu_expect(context, MERBIT_INVALID_ARGUMENT, "use 1 to 16, and a multiple of 32");
    }
  }
}

/* Rows are sorted where that may save more than one slot in 33, unless the user says no. */
static void slices_that_are_sorted(void **state) {
  static const struct {
    uint64_t nnz, slots;
    int omega, sorted;
  } cases[] = {{3200, 3200, 0, 0}, {3200, 3300, 0, 0}, {3200, 3301, 0, 1},
               {3200, 9999, 1, 0}, {3200, 9999, 2, 1}, {0, 0, 0, 0},
               {1, 32, 0, 1},      {31, 32, 0, 1},     {32, 32, 0, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    mbi_preamble preamble;
    merbit_plan plan;
    plan_of(&plan, MERBIT_F64, 100, cases[i].nnz);
    plan.ranks.slots = cases[i].slots;
    plan.desc.omega = cases[i].omega;
    assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
    assert_int_equal(plan.sliced.sorted, cases[i].sorted);
    mbi_sliced_preamble(&plan, &preamble);
    assert_non_null(strstr(preamble.text,
                           cases[i].sorted ? "#define MBK_SORTED 1" : "#define MBK_SORTED 0"));
  }
}

/* Narrow strips where runs are long, wide ones else; half of it where shared memory is short.
 */
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
    assert_int_equal(plan.binned.strip, sizes[i].strip);
    assert_int_equal(plan.binned.warp_tiles, sizes[i].tiles);
    assert_int_equal(plan.scan.threads, sizes[i].threads);
    assert_int_equal(plan.scan.resident, sizes[i].resident);
    assert_int_equal(plan.scan.steps, 8);
    assert_int_equal(plan.binned.part_nonzeros, part);
    assert_int_equal(plan.binned.parts, (sizes[i].nnz + part - 1) / part);
    assert_int_equal(plan.binned.strips, (sizes[i].cols + sizes[i].strip - 1) / sizes[i].strip);
    assert_int_equal(plan.scan.tiles, (sizes[i].nnz + 255) / 256);
    assert_int_equal(plan.scan.fixup_blocks, (plan.scan.tiles + 511) / 512);
    /* Both phases fit: each part has room for a padded group at every eighth one. */
    assert_true(plan.binned.strip * size <= (uint64_t)sizes[i].room);
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
  assert_true(plan.scan.tiles == INT32_MAX);
  plan.device.nnz++;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "parts are too many; use another plan_desc.method");
  plan_of(&plan, MERBIT_F64, 10, 1000);
  plan.desc.sigma = 1;
  plan.device.cols = (227 << 10) / 12 * 1024; /* three words a strip */
  assert_int_equal(mbi_binned_size(&plan), MERBIT_OK);
  assert_true(plan.binned.strips == (227 << 10) / 12);
  plan.device.cols++;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "19371 strips of columns and 1 parts are too many");
  plan_of(&plan, MERBIT_F64, 10, 1000);
  plan.device.cols = 10;
  plan.desc.sigma = 28;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_OK);
  plan.desc.sigma = 29;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "29696 columns takes 237568 bytes");
  plan_of(&plan, MERBIT_F64, UINT32_MAX, 5);
  assert_int_equal(mbi_binned_create(&plan), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "fewer than 2^32 - 1 rows, not 4294967295");

  /* Groups of the parts: one above what a place of 16 bits can name, above what fits. */
  plan_of(&plan, MERBIT_F32, 10, 3 * 1024);
  plan.desc.omega = 1;
  plan.desc.block_threads = 32;
  plan.device.cols = 10;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_OK);
  plan.binned.parts = 2;
  groups[0] = 5;
  groups[1] = ((227 << 10) - 1024) / 32 + 1;
  assert_int_equal(mbi_binned_place_parts(&plan, groups), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "7238 groups of products, 7233 of them in one part");
  context->device.shared_bytes_per_block = 1 << 20;
  plan.binned.groups = plan.binned.part_groups = 0;
  groups[0] = 5;
  groups[1] = 8193;
  assert_int_equal(mbi_binned_place_parts(&plan, groups), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "8193 of them in one part, are too many");
  plan.binned.part_groups = 0;
  plan.binned.groups = (uint64_t)UINT32_MAX - 1;
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
    plan.desc.sigma = values[0];
    plan.desc.omega = values[1];
    plan.desc.block_threads = values[2];
    assert_int_equal(mbi_binned_size(&plan), wrong ? MERBIT_INVALID_ARGUMENT : MERBIT_OK);
    if (wrong) {
      cpu_expect(context, MERBIT_INVALID_ARGUMENT, "use 1 to 64, 1 to 8, and a multiple of 32");
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_of_the_scan),      cmocka_unit_test(whole_rows_are_short),
      cmocka_unit_test(steps_of_the_scan),      cmocka_unit_test(alignment_of_the_scan),
      cmocka_unit_test(empty_rows_have_blocks), cmocka_unit_test(resident_blocks_are_possible),
      cmocka_unit_test(lanes_per_row),          cmocka_unit_test(forms_that_nobody_makes),
      cmocka_unit_test(slices_that_do_not_fit), cmocka_unit_test(slices_that_nobody_makes),
      cmocka_unit_test(slices_that_are_sorted), cmocka_unit_test(sizes_of_the_bins),
      cmocka_unit_test(bins_that_do_not_fit),   cmocka_unit_test(bins_that_nobody_makes),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
