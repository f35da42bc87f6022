/* The multigrid preconditioner on the GPU: solve/amg/amg_cases.h. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_cases.h"

int main(void) {
  const struct CMUnitTest tests[] = {AMG_CASES};
  int failed;
  context = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  return failed;
}
