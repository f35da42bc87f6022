/* Descriptors with all defaults: every byte of a field is zero, and the declarations give no
 * warning. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/cpu.h"

static int all_zero(const void *desc, size_t size) {
  const char *bytes = (const char *)desc;
  size_t i;
  for (i = 0; i < size; i++) {
    if (bytes[i] != 0) {
      return 0;
    }
  }
  return 1;
}

/* Leaves nonzero bytes where the next call's variables will be. */
static void dirty_stack(void) {
  volatile char dirt[4096];
  size_t i;
  for (i = 0; i < sizeof dirt; i++) {
    dirt[i] = 0x5a;
  }
}

#define CHECK(noun)                                                                            \
  do {                                                                                         \
    merbit_##noun##_desc desc;                                                                 \
    dirty_stack();                                                                             \
    desc = merbit_##noun##_defaults();                                                         \
    assert_true(all_zero(&desc, sizeof desc));                                                 \
  } while (0)

static void every_default_is_zero(void **state) {
  (void)state;
  CHECK(context);
  CHECK(bsr);
  CHECK(read);
  CHECK(plan);
  CHECK(pagerank);
  CHECK(solver);
  CHECK(eigen);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_default_is_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
