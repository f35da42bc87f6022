/* Libraries that lack one function, each in turn, and a driver without error texts. */
#include "support/internal.h"

static int lookups, missing; /* number of the lookup that fails, from 1 */
static char last[64];

static void *some_dlsym(void *library, const char *name);
#define dlsym some_dlsym
#include "core/os/posix.c" /* the only caller; replaces merbit_separate's */
#undef dlsym

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void *some_dlsym(void *library, const char *name) {
  (void)library;
  if (++lookups == missing) {
    (void)snprintf(last, sizeof last, "%s", name);
    return NULL;
  }
  return &lookups;
}

static void every_driver_function(void **state) {
  const char *lacks = "";
  mbi_driver driver;
  (void)state;
  for (missing = 1; lacks != NULL; missing++) {
    lookups = 0;
    memset(&driver, 0, sizeof driver);
    lacks = mbi_driver_load(&driver);
    if (lacks != NULL) {
      assert_int_equal(lookups, missing);
      assert_string_equal(lacks, last);
      assert_int_equal(strncmp(lacks, "cu", 2), 0);
    }
  }
  assert_int_equal(lookups, sizeof driver / sizeof(void *) - 1); /* all but the library */
}

static void every_nvrtc_function(void **state) {
  const char *lacks = "";
  mbi_nvrtc nvrtc;
  (void)state;
  for (missing = 1; lacks != NULL; missing++) {
    lookups = 0;
    memset(&nvrtc, 0, sizeof nvrtc);
    lacks = mbi_nvrtc_load(&nvrtc);
    if (lacks != NULL) {
      assert_int_equal(lookups, missing);
      assert_string_equal(lacks, last);
      assert_int_equal(strncmp(lacks, "nvrtc", 5), 0);
    }
  }
  assert_true(lookups > 10);
}

static mbi_curesult fails(mbi_curesult result, const char **text) {
  *text = "not this";
  return result;
}

static mbi_curesult forgets(mbi_curesult result, const char **text) {
  (void)result;
  *text = NULL;
  return 0;
}

static mbi_curesult tells(mbi_curesult result, const char **text) {
  *text = result == 1 ? "one" : "many";
  return 0;
}

static void a_driver_without_words(void **state) {
  (void)state;
  assert_string_equal(mbi_driver_text(NULL, 1), "no text");
  assert_string_equal(mbi_driver_text(fails, 1), "no text");
  assert_string_equal(mbi_driver_text(forgets, 1), "no text");
  assert_string_equal(mbi_driver_text(tells, 1), "one");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_driver_function),
      cmocka_unit_test(every_nvrtc_function),
      cmocka_unit_test(a_driver_without_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
