/* Buffers on the CPU: copies in and out, ranges, failures. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"

static void copies(void **state) {
  static const char text[] = "0123456789";
  merbit_context *context = cpu_open(NULL, 1);
  merbit_buffer *buffer;
  char back[11];
  (void)state;
  assert_int_equal(merbit_buffer_create(context, 10, &buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(buffer, 0, text, 10), MERBIT_OK);
  assert_memory_equal(merbit_buffer_pointer(buffer), text, 10);
  assert_int_equal(merbit_buffer_upload(buffer, 4, "xy", 2), MERBIT_OK);
  memset(back, 'z', sizeof back);
  assert_int_equal(merbit_buffer_download(buffer, 3, back, 4), MERBIT_OK);
  assert_memory_equal(back, "3xy6z", 5);
  assert_int_equal(merbit_buffer_download(buffer, 0, back, 10), MERBIT_OK);
  assert_memory_equal(back, "0123xy6789z", 11);
  assert_int_equal(merbit_buffer_upload(buffer, 9, "!", 1), MERBIT_OK);
  assert_int_equal(((char *)merbit_buffer_pointer(buffer))[9], '!');
  merbit_buffer_destroy(buffer);
  merbit_context_destroy(context);
}

static void empty_ranges(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_buffer *buffer;
  char back = 'z';
  (void)state;
  assert_int_equal(merbit_buffer_create(context, 0, &buffer), MERBIT_OK);
  assert_non_null(buffer);
  assert_int_equal(merbit_buffer_upload(buffer, 0, NULL, 0), MERBIT_OK);
  assert_int_equal(merbit_buffer_download(buffer, 0, &back, 0), MERBIT_OK);
  assert_int_equal(back, 'z');
  assert_int_equal(merbit_buffer_upload(buffer, 0, "a", 1), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT,
             "1 bytes at offset 0 exceed the buffer's 0 bytes");
  merbit_buffer_destroy(buffer);
  merbit_context_destroy(context);
}

/* Sizes that no memory has, as from a negative number of elements. */
static void vast_buffers(void **state) {
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX - 8, SIZE_MAX - 16,
                                 SIZE_MAX / 2};
  merbit_context *context = cpu_open(NULL, 1);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    merbit_buffer *buffer = (merbit_buffer *)&buffer;
    assert_int_equal(merbit_buffer_create(context, sizes[i], &buffer), MERBIT_OUT_OF_MEMORY);
    assert_null(buffer);
  }
  merbit_context_destroy(context);
}

static void ranges_outside(void **state) {
  static const struct {
    size_t offset, bytes;
  } ranges[] = {{0, 11},
                {10, 1},
                {11, 0},
                {5, 6},
                {SIZE_MAX, 1},
                {1, SIZE_MAX},
                {SIZE_MAX, SIZE_MAX},
                {6, SIZE_MAX - 5}};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_buffer *buffer;
  char bytes[16] = "";
  size_t i;
  (void)state;
  assert_int_equal(merbit_buffer_create(context, 10, &buffer), MERBIT_OK);
  for (i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    assert_int_equal(merbit_buffer_upload(buffer, ranges[i].offset, bytes, ranges[i].bytes),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_buffer_upload: ");
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "exceed the buffer's 10 bytes");
    assert_int_equal(merbit_buffer_download(buffer, ranges[i].offset, bytes, ranges[i].bytes),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_buffer_download: ");
  }
  assert_int_equal(merbit_buffer_upload(buffer, 10, NULL, 0), MERBIT_OK);
  merbit_buffer_destroy(buffer);
  merbit_context_destroy(context);
}

static void missing_arguments(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_buffer *buffer = (merbit_buffer *)&context;
  char byte = 0;
  (void)state;
  assert_int_equal(merbit_buffer_create(NULL, 1, &buffer), MERBIT_INVALID_ARGUMENT);
  assert_null(buffer);
  assert_int_equal(merbit_buffer_create(NULL, 1, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_buffer_create(context, 1, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`buffer` is NULL");
  assert_int_equal(merbit_buffer_upload(NULL, 0, &byte, 1), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_buffer_download(NULL, 0, &byte, 1), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_buffer_create(context, 1, &buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(buffer, 0, NULL, 1), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT,
             "merbit_buffer_upload: the host pointer is NULL");
  assert_int_equal(merbit_buffer_download(buffer, 0, NULL, 1), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT,
             "merbit_buffer_download: the host pointer is NULL");
  assert_null(merbit_buffer_pointer(NULL));
  merbit_buffer_destroy(buffer);
  merbit_buffer_destroy(NULL);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies),
      cmocka_unit_test(empty_ranges),
      cmocka_unit_test(vast_buffers),
      cmocka_unit_test(ranges_outside),
      cmocka_unit_test(missing_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
