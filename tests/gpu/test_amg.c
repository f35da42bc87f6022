/* The multigrid preconditioner on the GPU: solve/amg/amg_cases.h. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_cases.h"

/* Makes a context for each case: the fake driver has no room for the kernels of all. */
static int set_up(void **state) {
  (void)state;
  context = gpu_context();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  merbit_context_destroy(context);
  return 0;
}

int main(void) {
  struct CMUnitTest tests[] = {AMG_CASES};
  size_t i;
  int failed;
  for (i = 0; i < sizeof tests / sizeof *tests; i++) {
    tests[i].setup_func = set_up;
    tests[i].teardown_func = tear_down;
  }
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  gpu_clean();
  return failed;
}
