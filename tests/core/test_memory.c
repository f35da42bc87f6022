/* The two functions that allocate: impossible sizes, lack of memory, the user's pointer. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"

static void sizes(void **state) {
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  long before = memory.live;
  char *block;
  void *array;
  (void)state;
  block = (char *)mbi_allocate(context, 0); /* not NULL, which would mean a failure */
  assert_non_null(block);
  assert_int_equal(memory.live, before + 1);
  mbi_release(context, block);
  mbi_release(context, NULL);
  assert_int_equal(memory.live, before);
  assert_int_equal(mbi_allocate_array(context, 0, 8, "nothing", &array), MERBIT_OK);
  assert_non_null(array);
  mbi_release(context, array);
  assert_int_equal(mbi_allocate_array(context, 100, 8, "a hundred", &array), MERBIT_OK);
  memset(array, 1, 800);
  mbi_release(context, array);
  assert_int_equal(memory.live, before);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

static void sizes_that_cannot_be(void **state) {
  static const struct {
    int64_t count;
    size_t size;
  } cases[] = {{-1, 1},
               {INT64_MIN, 8},
               {INT64_MAX, 2},
               {PTRDIFF_MAX / 8 + 1, 8},
               {INT64_MAX, SIZE_MAX / 2}};
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  long made = memory.made;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    void *array = &memory;
    assert_int_equal(
        mbi_allocate_array(context, cases[i].count, cases[i].size, "the pears", &array),
        MERBIT_OUT_OF_MEMORY);
    assert_null(array);
    cpu_expect(context, MERBIT_OUT_OF_MEMORY, "the pears of ");
    cpu_expect(context, MERBIT_OUT_OF_MEMORY, "exceeds the address space");
  }
  assert_int_equal(memory.made, made); /* the allocator was not even called */
  merbit_context_destroy(context);
}

static void no_memory(void **state) {
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  void *array = &memory;
  (void)state;
  memory.limit = 1000 + 16; /* the size precedes each block */
  assert_null(mbi_allocate(context, 1001));
  assert_int_equal(mbi_allocate_array(context, 126, 8, "the plums", &array),
                   MERBIT_OUT_OF_MEMORY);
  assert_null(array);
  cpu_expect(context, MERBIT_OUT_OF_MEMORY, "no memory for the plums: 1008 bytes");
  assert_int_equal(mbi_allocate_array(context, 125, 8, "the plums", &array), MERBIT_OK);
  mbi_release(context, array);
  assert_int_equal(mbi_allocate_array(context, PTRDIFF_MAX / 8, 8, "the plums", &array),
                   MERBIT_OUT_OF_MEMORY);
  cpu_expect(context, MERBIT_OUT_OF_MEMORY,
             "no memory for the plums: 9223372036854775800 bytes");
  merbit_context_destroy(context);
}

static void default_allocator(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  void *block = mbi_allocate(context, 64);
  (void)state;
  assert_non_null(block);
  assert_int_equal((uintptr_t)block % sizeof(double), 0);
  memset(block, 7, 64);
  mbi_release(context, block);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes),
      cmocka_unit_test(sizes_that_cannot_be),
      cmocka_unit_test(no_memory),
      cmocka_unit_test(default_allocator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
