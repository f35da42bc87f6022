/* MERBIT's tile sizes, without a GPU: counts around 2^31, 2^32, 2^40 and the largest that a
 * view may claim, the switch from 32- to 64-bit lanes and tile starts, and sizes that are too
 * large. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"

#define TWO(bits) ((int64_t)1 << (bits))
#define MOST (TWO(60) - 2) /* of rows or nnz: the limit of merbit_view_check */

enum { MULTIPROCESSORS = 132 };

/* Makes a plan in the state in which its tiles are counted. */
static void plan_of(merbit_plan *plan, merbit_context *context, merbit_type type, int64_t rows,
                    int64_t nnz) {
  test_plan_clear(plan);
  context->device.multiprocessors = MULTIPROCESSORS;
  context->device.lanes = 2048;
  plan->context = context;
  plan->side = MERBIT_SIDE_CUDA;
  plan->type = type;
  plan->csr = merbit_csr(rows, 1000, nnz, NULL, NULL, NULL);
  plan->device.rows = (uint64_t)rows;
  plan->device.nnz = (uint64_t)nnz;
}

static uint64_t divide_up(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}

/* Checks tiles, blocks and widths of one size, or the message if there are too many tiles. */
static void check_sizes(merbit_context *context, merbit_type type, int sigma, int omega,
                        int threads, int64_t rows, int64_t nnz) {
  const uint64_t steps =
      (uint64_t)(omega != 0 ? omega : 32) * (uint64_t)(sigma != 0           ? sigma
                                                       : type == MERBIT_F32 ? 14
                                                                            : 7);
  const uint64_t path = (uint64_t)rows + (uint64_t)nnz, tiles = divide_up(path, steps);
  const int width = omega != 0 ? omega : 32;
  int block = threads != 0 ? threads : 512;
  merbit_plan plan;
  merbit_status status;
  char sentence[128];
  plan_of(&plan, context, type, rows, nnz);
  plan.desc.sigma = sigma;
  plan.desc.omega = omega;
  plan.desc.block_threads = threads;
  status = mbi_merbit_size(&plan);
  if (tiles > INT32_MAX) {
    assert_int_equal(status, MERBIT_TOO_LARGE);
    (void)snprintf(sentence, sizeof sentence,
                   "%" PRId64 " rows and %" PRId64 " nonzeros make %" PRIu64 " tiles", rows,
                   nnz, tiles);
    cpu_expect(context, MERBIT_TOO_LARGE, sentence);
    return;
  }
  assert_int_equal(status, MERBIT_OK);
  if (threads == 0 && divide_up(tiles, (uint64_t)(block / width)) < 8 * MULTIPROCESSORS) {
    block = 128;
  }
  assert_true(mbi_merbit_of(&plan)->path == path);
  assert_true(mbi_merbit_of(&plan)->tiles == tiles);
  assert_int_equal(mbi_merbit_of(&plan)->threads, block);
  assert_true(mbi_merbit_of(&plan)->blocks == divide_up(tiles, (uint64_t)(block / width)));
  assert_int_equal(mbi_merbit_of(&plan)->tile_bytes, path < (uint64_t)TWO(31) ? 4 : 8);
  assert_true(mbi_merbit_carry_bytes(&plan) ==
              2 * mbi_merbit_of(&plan)->blocks * (uint64_t)(type == MERBIT_F32 ? 4 : 8));
}

static void tiles_of_every_size(void **state) {
  static const int64_t sizes[] = {
      0,           1,       TWO(24) - 1, TWO(24),     TWO(30), TWO(31) - 2,
      TWO(31) - 1, TWO(31), TWO(31) + 1, TWO(32) - 1, TWO(32), TWO(32) + 1,
      TWO(36),     TWO(40), TWO(40) + 1, TWO(59),     MOST};
  enum { SIZES = sizeof sizes / sizeof sizes[0] };
  static const struct {
    int sigma, omega, threads;
  } shapes[] = {{0, 0, 0}, {7, 32, 512}, {14, 16, 64}, {5, 8, 128}, {42, 32, 1024}, {1, 8, 32}};
  merbit_context *context = cpu_open(NULL, 1);
  int i, j, k, single;
  (void)state;
  for (i = 0; i < SIZES; i++) {
    for (j = 0; j < SIZES; j++) {
      for (k = 0; k < 6; k++) {
        for (single = 0; single < 2; single++) {
          check_sizes(context, single ? MERBIT_F32 : MERBIT_F64, shapes[k].sigma,
                      shapes[k].omega, shapes[k].threads, sizes[i], sizes[j]);
        }
      }
    }
  }
  merbit_context_destroy(context);
}

/* Paths that just fit and that just do not: 2^31 - 1 tiles, the last of them full. */
static void the_last_tile(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  int64_t delta;
  (void)state;
  for (delta = -1; delta <= 1; delta++) {
    check_sizes(context, MERBIT_F64, 0, 0, 0, 3, 224 * (int64_t)INT32_MAX - 3 + delta);
    check_sizes(context, MERBIT_F32, 0, 0, 0, 448 * (int64_t)INT32_MAX - 8 + delta, 8);
    check_sizes(context, MERBIT_F64, 42, 32, 0, TWO(40),
                1344 * (int64_t)INT32_MAX - TWO(40) + delta);
    check_sizes(context, MERBIT_F64, 0, 0, 0, 5, TWO(31) - 5 + delta);
    check_sizes(context, MERBIT_F64, 0, 0, 0, TWO(31) - 5 + delta, 5);
    check_sizes(context, MERBIT_F64, 0, 0, 0, 100,
                224 * 16 * 8 * MULTIPROCESSORS - 100 + delta);
  }
  merbit_context_destroy(context);
}

/* A lane's descriptor holds two offsets in the tile and a bit for each of its steps. */
static void lanes_of_32_and_64_bits(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  int omega, sigma, narrow = 0, wide = 0, refused = 0;
  (void)state;
  for (omega = 8; omega <= 32; omega *= 2) {
    int most = 0;
    for (sigma = 1; sigma <= 66; sigma++) {
      int offset = 0, bits;
      merbit_plan plan;
      merbit_status status;
      while ((1 << offset) < omega * sigma) {
        offset++;
      }
      bits = 2 * offset + sigma;
      plan_of(&plan, context, MERBIT_F64, 1000, TWO(33));
      plan.desc.omega = omega;
      plan.desc.sigma = sigma;
      plan.desc.block_threads = 256;
      status = mbi_merbit_size(&plan);
      if (bits > 64) {
        char piece[64];
        (void)snprintf(piece, sizeof piece, "sigma is %d; with omega %d use 1 to %d", sigma,
                       omega, most);
        assert_int_equal(status, MERBIT_INVALID_ARGUMENT);
        cpu_expect(context, status, piece);
        refused++;
        continue;
      }
      assert_int_equal(status, MERBIT_OK);
      most = sigma;
      assert_int_equal(mbi_merbit_of(&plan)->coordinate_bits, offset);
      assert_int_equal(mbi_merbit_of(&plan)->descriptor_bits, bits <= 32 ? 32 : 64);
      narrow += bits <= 32;
      wide += bits > 32;
    }
    assert_int_equal(most, omega == 32 ? 42 : omega == 16 ? 44 : 46);
  }
  assert_true(narrow > 30 && wide > 60 && refused > 40);
  merbit_context_destroy(context);
}

static void shapes_that_are_refused(void **state) {
  static const struct {
    int sigma, omega, threads;
    const char *piece;
  } bad[] = {{0, 4, 0, "omega is 4"},
             {0, 64, 0, "omega is 64"},
             {0, -32, 0, "omega is -32"},
             {65, 0, 0, "sigma is 65"},
             {-1, 0, 0, "sigma is -1"},
             {0, 0, 31, "block_threads is 31"},
             {0, 0, 33, "block_threads is 33"},
             {0, 0, 1056, "block_threads is 1056"},
             {0, 0, -32, "block_threads is -32"},
             {43, 32, 0, "sigma is 43; with omega 32 use 1 to 42"}};
  merbit_context *context = cpu_open(NULL, 1);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    merbit_plan plan;
    plan_of(&plan, context, MERBIT_F64, 10, 10);
    plan.desc.sigma = bad[i].sigma;
    plan.desc.omega = bad[i].omega;
    plan.desc.block_threads = bad[i].threads;
    assert_int_equal(mbi_merbit_size(&plan), MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, bad[i].piece);
  }
  merbit_context_destroy(context);
}

/* merbit_plan_get_info returns the bytes of plans that no machine holds. */
static void bytes_of_large_plans(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  struct { /* as the library allocates them, with a size before each */
    size_t plan_size[2];
    merbit_plan plan;
    size_t workspace_size[2];
    merbit_workspace workspace;
  } held;
  merbit_plan *const plan = &held.plan;
  merbit_plan_info info;
  (void)state;
  memset(&held, 0, sizeof held);
  plan_of(plan, context, MERBIT_F64, TWO(33), TWO(40));
  plan->workspace = &held.workspace;
  plan->desc.sigma = 42;
  assert_int_equal(mbi_merbit_size(plan), MERBIT_OK);
  plan->cuda = &mbi_merbit_method;
  plan->stream_bytes = (uint64_t)TWO(45);
  plan->csr.values = plan;
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_true(info.tiles == (TWO(33) + TWO(40) + 1343) / 1344);
  assert_true(info.bytes_per_product == TWO(45) + (TWO(33) + 1000) * 8);
  plan->side = MERBIT_SIDE_CPU;
  plan->cpu = &mbi_merge_method;
  plan->csr.offset_type = MERBIT_INDEX_64;
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_true(info.bytes_per_product ==
              TWO(40) * 12 + (TWO(33) + 1000) * 8 + (TWO(33) + 1) * 8);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiles_of_every_size),     cmocka_unit_test(the_last_tile),
      cmocka_unit_test(lanes_of_32_and_64_bits), cmocka_unit_test(shapes_that_are_refused),
      cmocka_unit_test(bytes_of_large_plans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
