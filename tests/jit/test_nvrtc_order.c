/* The order in which the major versions of NVRTC are tried: the driver's own, older ones, newer
 * ones, and finally any. Every library is refused, because none supports a compute capability
 * of 0.1. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"

typedef struct trail { /* the names that were tried, each after a space */
  char names[512];
} trail;

/* NVRTC leaks memory when it is unloaded. */
static int keep_loaded(void *user, const char *path) {
  (void)user;
  (void)dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  return 0;
}

static void follow(void *user, const char *line) {
  static const char start[] = "NVRTC: trying ";
  const char *name = line + sizeof start - 1;
  trail *seen = (trail *)user;
  if (strncmp(line, start, sizeof start - 1) != 0) {
    return;
  }
  if (strchr(name, '/') == NULL) {
    const size_t length = strlen(seen->names);
    (void)snprintf(seen->names + length, sizeof seen->names - length, " %s", name);
    (void)keep_loaded(NULL, name);
  } else {
    (void)mbi_files_matching(name, keep_loaded, NULL);
  }
}

static void expect_order(int driver_version, const char *names) {
  merbit_context_desc desc = cpu_desc(NULL, 1);
  merbit_context *context;
  trail seen;
  seen.names[0] = '\0';
  desc.log = follow;
  desc.log_user = &seen;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  context->device.driver_version = driver_version;
  context->device.compute_capability = 1;
  assert_int_equal(mbi_nvrtc_open(context, NULL), MERBIT_NO_COMPILER);
  cpu_expect(context, MERBIT_NO_COMPILER, "no usable NVRTC");
  assert_null(context->device.nvrtc.library);
  assert_string_equal(seen.names, names);
  merbit_context_destroy(context);
}

static void the_drivers_own_comes_first(void **state) {
  (void)state;
  assert_int_equal(unsetenv("MERBIT_NVRTC"), 0);
  expect_order(13000, " libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2 libnvrtc.so");
  expect_order(12080, " libnvrtc.so.12 libnvrtc.so.11.2 libnvrtc.so.13 libnvrtc.so");
  expect_order(11020, " libnvrtc.so.11.2 libnvrtc.so.12 libnvrtc.so.13 libnvrtc.so");
}

/* No driver, and drivers that this header does not know. */
static void strange_drivers(void **state) {
  (void)state;
  expect_order(0, " libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2 libnvrtc.so");
  expect_order(10020, " libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2 libnvrtc.so");
  expect_order(2000000, " libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2 libnvrtc.so");
  expect_order(15010, " libnvrtc.so.15 libnvrtc.so.14 libnvrtc.so.13 libnvrtc.so.12 "
                      "libnvrtc.so.11.2 libnvrtc.so");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_drivers_own_comes_first),
      cmocka_unit_test(strange_drivers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
