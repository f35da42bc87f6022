/* Once the device is lost no call reaches the driver: here every driver function is a trap.
 * Functions that work on the device return DEVICE_LOST, those that release do nothing. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"

static int calls;

static int trap(void) {
  calls++;
  return 700;
}

static void nothing_reaches_a_dead_driver(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  mbi_device *device = &context->device;
  mbi_program program;
  mbi_preamble preamble;
  mbi_devptr address = 5;
  void *function = &address, *arguments[1];
  char bytes[4] = "abc";
  int (*const every)(void) = trap;
  size_t at;
  (void)state;
  for (at = sizeof(void *); at < sizeof device->driver;
       at += sizeof every) { /* after the library's field */
    memcpy((char *)&device->driver + at, &every, sizeof every);
  }
  device->lost = 700;
  memset(&preamble, 0, sizeof preamble);
  memset(&program, 0, sizeof program);
  program.parts[0].module = &address;
  assert_int_equal(mbi_device_alive(context), MERBIT_DEVICE_LOST);
  cpu_expect(context, MERBIT_DEVICE_LOST, "CUDA error 700");
  assert_int_equal(mbi_device_enter(context), MERBIT_DEVICE_LOST);
  assert_int_equal(mbi_device_enter_alive(context), 0);
  assert_int_equal(mbi_device_allocate(context, 4, "a test", &address), MERBIT_DEVICE_LOST);
  assert_true(address == 0);
  mbi_device_release(context, 5);
  assert_int_equal(mbi_device_upload(context, 5, bytes, 4), MERBIT_DEVICE_LOST);
  assert_int_equal(mbi_device_download(context, bytes, 5, 4), MERBIT_DEVICE_LOST);
  assert_int_equal(mbi_device_copy(context, 5, 6, 4), MERBIT_DEVICE_LOST);
  assert_int_equal(mbi_device_zero(context, 5, 4, NULL), MERBIT_DEVICE_LOST);
  assert_int_equal(mbi_device_synchronize(context, NULL), MERBIT_DEVICE_LOST);
  assert_int_equal(mbi_device_reserve_shared(context, function, "f", 1 << 17),
                   MERBIT_DEVICE_LOST);
  assert_int_equal(mbi_device_launch(context, function, "f", 1, 32, 0, NULL, arguments),
                   MERBIT_DEVICE_LOST);
  assert_int_equal(mbi_device_owns(context, bytes), 1);
  assert_int_equal(
      mbi_program_create(context, "spmv/gpu/merbit/merbit.cu", &preamble, &program),
      MERBIT_DEVICE_LOST);
  program.parts[0].module = &address;
  assert_int_equal(mbi_program_kernel(context, &program, "f", &function), MERBIT_DEVICE_LOST);
  assert_null(function);
  mbi_program_destroy(context, &program);
  assert_null(program.parts[0].module);
  assert_int_equal(calls, 0);
  assert_string_equal(bytes, "abc");
  memset(&device->driver, 0, sizeof device->driver);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_reaches_a_dead_driver),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
