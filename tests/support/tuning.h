/* Sets a method's sizes in a descriptor from the tables of tests: two numbers, 0 for the
 * method's own choice. Include support/internal.h and cmocka.h first. */
#ifndef TEST_SUPPORT_TUNING_H
#define TEST_SUPPORT_TUNING_H
#include "support/matrices.h"

#define TUNING_TEXTS 16
#define TUNING_TEXT 96

/* Sets desc->tuning. The text stays valid until TUNING_TEXTS others have been written. */
static void tuning_write(merbit_plan_desc *desc, const char *format, ...) {
  static char texts[TUNING_TEXTS][TUNING_TEXT];
  static int written;
  char *text = texts[written++ % TUNING_TEXTS];
  va_list arguments;
  va_start(arguments, format);
  assert_in_range(vsnprintf(text, TUNING_TEXT, format, arguments), 0, TUNING_TEXT - 1);
  va_end(arguments);
  desc->tuning = text;
}

/* Sets the first two sizes of desc->method: MERBIT's sigma and omega, else those that the
 * method's table names. */
TEST_UNUSED static void tuning_take(merbit_plan_desc *desc, int first, int second) {
  const mbi_method *method = mbi_method_find(desc->method);
  const char *names, *other;
  desc->sigma = desc->omega = 0;
  desc->tuning = NULL;
  if (desc->method == MERBIT_METHOD_MERBIT) {
    desc->sigma = first;
    desc->omega = second;
  } else if (first != 0 || second != 0) {
    assert_true(method != NULL && method->cuda != NULL && method->cuda->knobs != NULL);
    names = method->cuda->knobs;
    other = strchr(names, ' ');
    assert_true(other != NULL || second == 0);
    if (second == 0) {
      tuning_write(desc, "%.*s=%d", (int)strcspn(names, " ."), names, first);
    } else {
      tuning_write(desc, "%.*s=%d %.*s=%d", (int)strcspn(names, " ."), names, first,
                   (int)strcspn(other + 1, " ."), other + 1, second);
    }
  }
}

#endif /* TEST_SUPPORT_TUNING_H */
