/* The device layer with a real driver: memory, programs and their cache, the caller's
 * context. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "gpu/kernels.h"

static merbit_context *gpu;

static void memory(void **state) {
  char sent[1000], back[1000];
  mbi_devptr one, two;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof sent; i++) {
    sent[i] = (char)(i * 7);
  }
  assert_int_equal(mbi_device_enter(gpu), MERBIT_OK);
  assert_int_equal(mbi_device_allocate(gpu, sizeof sent, "one", &one), MERBIT_OK);
  assert_int_equal(mbi_device_allocate(gpu, 0, "two", &two), MERBIT_OK);
  assert_true(one != 0 && two != 0 && one != two);
  assert_int_equal(mbi_device_upload(gpu, one, sent, sizeof sent), MERBIT_OK);
  assert_int_equal(mbi_device_zero(gpu, one + 10, 20, NULL), MERBIT_OK);
  memset(sent + 10, 0, 20);
  assert_int_equal(mbi_device_copy(gpu, one + 500, one, 100), MERBIT_OK);
  memcpy(sent + 500, sent, 100);
  assert_int_equal(mbi_device_download(gpu, back, one, sizeof back), MERBIT_OK);
  assert_memory_equal(sent, back, sizeof sent);
  assert_int_equal(mbi_device_owns(gpu, mbi_device_pointer(one)), 1);
  assert_int_equal(mbi_device_owns(gpu, mbi_device_pointer(one + 999)), 1);
  assert_int_equal(mbi_device_owns(gpu, sent), 0);
  mbi_device_release(gpu, two);
  assert_int_equal(mbi_device_allocate(gpu, (uint64_t)1 << 50, "too much", &two),
                   MERBIT_DEVICE_OUT_OF_MEMORY);
  assert_int_equal(two, 0);
  mbi_device_release(gpu, one);
  mbi_device_leave(gpu);
}

/* Stores a validly sealed entry for the kernels of gpu/kernels.h that no driver accepts. */
static void spoil_the_cache(void) {
  static const char image[1000];
  mbi_preamble preamble;
  mbi_target target;
  size_t size;
  char *key;
  gpu_kernels_preamble(&preamble);
  assert_int_equal(mbi_target_choose(gpu, MBI_PREAMBLE_NAME, &preamble,
                                     gpu->device.compute_capability, &target),
                   MERBIT_OK);
  key = mbi_key_create(gpu, MBI_PREAMBLE_NAME, &preamble, &target, &size);
  mbi_cache_store(gpu, key, size, image, sizeof image);
  mbi_release(gpu, key);
}

static void run_seven(int from_cache) {
  mbi_program program;
  int values[100], k;
  memset(values, 0, sizeof values);
  assert_int_equal(gpu_run(gpu, "mbk_seven", &program, values, 100), MERBIT_OK);
  for (k = 0; k < 100; k++) {
    assert_int_equal(values[k], 7 + k);
  }
  assert_int_equal(gpu->cache.hits, from_cache);
  mbi_loaded_trim(gpu, 0); /* the next run loads it again */
}

/* Programs are compiled once, then loaded from the cache, and compiled again if the driver
 * refuses the cached image. */
static void programs(void **state) {
  (void)state;
  assert_int_equal(mbi_device_enter(gpu), MERBIT_OK);
  run_seven(0);
  run_seven(1);
  run_seven(2);
  assert_int_equal(gpu->cache.misses, 1);
  spoil_the_cache();
  run_seven(3); /* read, but refused */
  run_seven(4);
  assert_int_equal(gpu->cache.misses, 1);
  assert_int_equal(gpu->cache.errors, 0);
  mbi_device_leave(gpu);
}

/* The caller's current context is restored; a context given by the caller is used. */
static void contexts(void **state) {
  mbi_driver *driver = &gpu->device.driver;
  merbit_context *other;
  merbit_context_desc desc;
  void *popped = NULL;
  (void)state;
  assert_int_equal(driver->ctx_push(gpu->device.cuda_context), 0);
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.cache_dir = "";
  desc.cuda_context = gpu->device.cuda_context;
  assert_int_equal(merbit_context_create(&desc, &other, NULL), MERBIT_OK);
  assert_int_equal(other->device.primary, 0);
  assert_int_equal(other->device.ordinal, gpu->device.ordinal);
  assert_int_equal(mbi_device_enter(other), MERBIT_OK);
  mbi_device_leave(other);
  merbit_context_destroy(other);
  assert_int_equal(driver->ctx_pop(&popped), 0);
  assert_ptr_equal(popped, gpu->device.cuda_context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory),
      cmocka_unit_test(programs),
      cmocka_unit_test(contexts),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
