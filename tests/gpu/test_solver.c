/* Solvers on the GPU: solve/solver_cases.h, and what only the GPU has. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/cpu.h"
#include "support/gpu.h"
#include "solve/eigen_cases.h"
#include "solve/gmres_cases.h"

int main(void) {
  const struct CMUnitTest tests[] = {
      SOLVER_CASES,
      GMRES_CASES,
      EIGEN_CASES,
  };
  int failed;
  context = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  gpu_clean();
  return failed;
}
