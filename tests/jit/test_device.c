/* The device layer without a GPU: CUDA fails with the reason, and AUTO falls back to the CPU.
 * fake/ (failing on demand) and gpu/ (real) test the driver's answers. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void without_a_gpu(void **state) {
  merbit_context_desc desc;
  merbit_context *context;
  merbit_context_info info;
  merbit_error error;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.cache_dir = "";
  desc.side = MERBIT_SIDE_CUDA;
  if (merbit_context_create(&desc, &context, &error) == MERBIT_OK) {
    merbit_context_destroy(context);
    print_message("there is a GPU\n");
    skip();
  }
  assert_null(context);
  assert_true(error.status == MERBIT_NO_DEVICE || error.status == MERBIT_NO_COMPILER);
  assert_true(strlen(error.message) > 20);
  desc.side = MERBIT_SIDE_AUTO;
  assert_int_equal(merbit_context_create(&desc, &context, &error), MERBIT_OK);
  assert_int_equal(error.status, MERBIT_OK);
  assert_int_equal(merbit_context_get_info(context, &info), MERBIT_OK);
  assert_int_equal(info.side, MERBIT_SIDE_CPU);
  assert_true(strlen(info.reason) > 20);
  assert_int_equal(merbit_last_error(context, NULL, 0), MERBIT_OK);
  print_message("%s\n", info.reason);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(without_a_gpu)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
