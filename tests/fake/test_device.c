/* Messages and edge cases of the device layer, and programs whose cached image the driver
 * refuses. */
#define MBI_LOADED_IDLE 3 /* unused programs that stay loaded */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/scenarios.h"
#include "gpu/kernels.h"

/* Returns a current context; the next calls are counted from 1. */
static merbit_context *enter(const char *cache_dir) {
  merbit_context *context;
  fake_reset();
  context = fake_context(cache_dir);
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  cuda->calls.made = 0;
  return context;
}

static void leave(merbit_context *context) {
  mbi_device_leave(context);
  merbit_context_destroy(context);
  fake_expect_clean();
}

static void fail_next(int code) {
  cuda->calls.made = 0;
  cuda->calls.fail_at = 1;
  cuda->calls.code = code;
}

static void sentences(void **state) {
  merbit_context *context = enter(NULL);
  void *arguments[1] = {NULL};
  mbi_program program;
  void *function = context;
  mbi_devptr address;
  (void)state;
  fail_next(2);
  assert_int_equal(mbi_device_allocate(context, 123456, "tile_x", &address),
                   MERBIT_DEVICE_OUT_OF_MEMORY);
  assert_int_equal(address, 0);
  cpu_expect(
      context, MERBIT_DEVICE_OUT_OF_MEMORY,
      "allocating 123456 bytes for tile_x failed in cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY "
      "(CUDA error 2, injected); free GPU memory or use a smaller matrix");
  memset(&program, 0, sizeof program);
  fail_next(500);
  assert_int_equal(mbi_program_kernel(context, &program, "missing", &function),
                   MERBIT_DEVICE_ERROR);
  assert_null(function);
  cpu_expect(context, MERBIT_DEVICE_ERROR,
             "finding kernel missing failed in cuModuleGetFunction");
  context->device.driver.get_error_name = NULL; /* no error text available */
  assert_int_equal(mbi_device_check(context, 1, "cuX", "trying"), MERBIT_DEVICE_ERROR);
  cpu_expect(context, MERBIT_DEVICE_ERROR,
             "trying failed in cuX: no text (CUDA error 1, injected)");
  fail_next(719);
  assert_int_equal(mbi_device_launch(context, NULL, "mbk_x", 7, 64, 0, NULL, arguments),
                   MERBIT_DEVICE_LOST);
  cpu_expect(
      context, MERBIT_DEVICE_LOST,
      "launching mbk_x (7 blocks of 64 threads, 0 bytes shared) failed in cuLaunchKernel");
  cpu_expect(context, MERBIT_DEVICE_LOST, "destroy the context and make a new one");
  leave(context);
}

/* cuda.h says of these results that the process must be relaunched. */
static void fatal_results(void **state) {
  static const int codes[] = {226, 721, 810, 911};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    merbit_context *context = enter(NULL);
    fail_next(codes[i]);
    assert_int_equal(mbi_device_synchronize(context, NULL), MERBIT_DEVICE_LOST);
    cpu_expect(context, MERBIT_DEVICE_LOST, "destroy the context and make a new one");
    assert_int_equal(mbi_device_synchronize(context, NULL), MERBIT_DEVICE_LOST);
    cpu_expect(context, MERBIT_DEVICE_LOST, "was lost earlier");
    leave(context);
  }
}

/* Sizes of zero make no driver call; sizes beyond the driver's limit do not reach it. */
static void edges(void **state) {
  merbit_context *context = enter(NULL);
  void *arguments[1] = {NULL};
  mbi_devptr address;
  (void)state;
  assert_int_equal(mbi_device_allocate(context, 0, "nothing", &address), MERBIT_OK);
  assert_true(address != 0);
  cuda->calls.made = 0;
  assert_int_equal(mbi_device_upload(context, address, "x", 1), MERBIT_OK);
  assert_int_equal(cuda->calls.made, 2); /* copy and wait */
  assert_int_equal(mbi_device_copy(context, address, address, 1), MERBIT_OK);
  assert_int_equal(cuda->calls.made, 4);
  cuda->calls.made = 0;
  assert_int_equal(mbi_device_upload(context, address, NULL, 0), MERBIT_OK);
  assert_int_equal(mbi_device_download(context, NULL, address, 0), MERBIT_OK);
  assert_int_equal(mbi_device_copy(context, address, address, 0), MERBIT_OK);
  assert_int_equal(mbi_device_zero(context, address, 0, NULL), MERBIT_OK);
  assert_int_equal(mbi_device_launch(context, NULL, "k", 0, 32, 0, NULL, arguments), MERBIT_OK);
  assert_int_equal(mbi_device_reserve_shared(context, NULL, "k", 49152), MERBIT_OK);
  assert_int_equal(
      mbi_device_launch(context, NULL, "k", (int64_t)INT32_MAX + 1, 32, 0, NULL, arguments),
      MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "k would need 2147483648 blocks");
  assert_int_equal(mbi_device_reserve_shared(context, NULL, "k", (227 << 10) + 1),
                   MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE,
             "k needs 232449 bytes of shared memory, Fake 0 has 232448");
  mbi_device_release(context, 0);
  assert_int_equal(cuda->calls.made, 0);
  fail_next(1);
  assert_int_equal(mbi_device_launch(context, NULL, "k", INT32_MAX, 32, 0, NULL, arguments),
                   MERBIT_DEVICE_ERROR);
  cpu_expect(context, MERBIT_DEVICE_ERROR, "k (2147483647 blocks of 32 threads");
  assert_int_equal(mbi_device_owns(context, arguments), 0);
  assert_int_equal(mbi_device_owns(context, mbi_device_pointer(address)), 1);
  fail_next(1); /* no answer: accepted */
  assert_int_equal(mbi_device_owns(context, arguments), 1);
  mbi_device_release(context, address);
  leave(context);
}

static void expect_run(merbit_context *context, merbit_status status, int from_cache,
                       long compiled) {
  mbi_program program;
  int values[5];
  const int64_t hits = context->cache.hits;
  assert_int_equal(gpu_run(context, "mbk_seven", &program, values, 5), status);
  assert_true(status != MERBIT_OK || values[4] == 11);
  assert_int_equal(context->cache.hits - hits, from_cache);
  assert_int_equal(nvrtc->compiled, compiled);
  mbi_loaded_trim(context, 0); /* the next run loads it again */
}

/* A program stays loaded for the next plan as long as a plan uses it, and then until
 * MBI_LOADED_IDLE other programs were used. */
static void programs_stay_loaded(void **state) {
  char cache[64];
  merbit_context *context = enter(fake_cache_make(cache));
  mbi_program used, program;
  mbi_preamble preamble;
  int i;
  (void)state;
  gpu_kernels_preamble(&preamble);
  assert_int_equal(mbi_program_create(context, MBI_PREAMBLE_NAME, &preamble, &used), MERBIT_OK);
  assert_false(used.from_cache);
  cuda->calls.only = "cuModuleLoadData";
  cuda->calls.made = 0;
  for (i = 0; i < 3; i++) {
    assert_int_equal(mbi_program_create(context, MBI_PREAMBLE_NAME, &preamble, &program),
                     MERBIT_OK);
    assert_ptr_equal(program.parts[0].module, used.parts[0].module);
    assert_true(program.from_cache);
    mbi_program_destroy(context, &program);
  }
  assert_int_equal(cuda->calls.made, 0);
  assert_int_equal(context->cache.hits, 0);
  for (i = 0; i < MBI_LOADED_IDLE + 2; i++) { /* a different program each */
    mbi_preamble_define_int(&preamble, "MBK_ANOTHER", i);
    assert_int_equal(mbi_program_create(context, MBI_PREAMBLE_NAME, &preamble, &program),
                     MERBIT_OK);
    mbi_program_destroy(context, &program);
    assert_int_equal(cuda->modules, 1 + (i < MBI_LOADED_IDLE ? i + 1 : MBI_LOADED_IDLE));
  }
  assert_int_equal(cuda->calls.made, MBI_LOADED_IDLE + 2);
  assert_int_equal(mbi_program_create(context, MBI_PREAMBLE_NAME, &preamble, &program),
                   MERBIT_OK); /* the last one */
  assert_int_equal(cuda->calls.made, MBI_LOADED_IDLE + 2);
  mbi_program_destroy(context, &program);
  mbi_program_destroy(context, &used);
  assert_int_equal(cuda->modules, MBI_LOADED_IDLE);
  mbi_loaded_trim(context, 2);
  assert_int_equal(cuda->modules, 2);
  cuda->calls.only = NULL;
  leave(context);
  fake_cache_remove(cache);
}

/* A cached image that the driver refuses is dropped and compiled again, once. One that could
 * not be loaded just now is kept. An image that the driver refuses is never stored. */
static void cached_programs(void **state) {
  char cache[64];
  merbit_context *context = enter(fake_cache_make(cache));
  (void)state;
  expect_run(context, MERBIT_OK, 0, 1);
  expect_run(context, MERBIT_OK, 1, 1);
  cuda->calls.only = "cuModuleLoadData";
  fail_next(200);
  expect_run(context, MERBIT_OK, 1, 2);
  expect_run(context, MERBIT_OK, 1, 2);
  fail_next(209);
  cuda->calls.for_good = 1;
  expect_run(context, MERBIT_DEVICE_ERROR, 1, 3);
  cpu_expect(context, MERBIT_DEVICE_ERROR, "loading a compiled program");
  cuda->calls.for_good = 0;
  cuda->calls.fail_at = 0;
  expect_run(context, MERBIT_OK, 0, 4);
  fail_next(2);
  expect_run(context, MERBIT_DEVICE_OUT_OF_MEMORY, 1, 4);
  cpu_expect(context, MERBIT_DEVICE_OUT_OF_MEMORY, "loading a cached program");
  expect_run(context, MERBIT_OK, 1, 4);
  fail_next(304); /* CUDA_ERROR_OPERATING_SYSTEM */
  expect_run(context, MERBIT_DEVICE_ERROR, 1, 4);
  cpu_expect(context, MERBIT_DEVICE_ERROR, "loading a cached program");
  expect_run(context, MERBIT_OK, 1, 4);
  leave(context);
  fake_cache_remove(cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sentences),       cmocka_unit_test(fatal_results),
      cmocka_unit_test(edges),           cmocka_unit_test(programs_stay_loaded),
      cmocka_unit_test(cached_programs),
  };
  fake_open("new");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
