/* Solvers on the CPU: solver_cases.h, and what only one side has. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/cpu.h"
#include "solve/gmres_cases.h"

int main(void) {
  const struct CMUnitTest tests[] = {
      SOLVER_CASES,
      GMRES_CASES,
  };
  cpu_memory memory;
  int failed;
  context = cpu_open(&memory, 2);
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  return failed + (memory.live != 0);
}
