/* Several right-hand sides at once on the GPU: solve/core/many_cases.h, and a check that no
 * number passes through the host. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/cpu.h"
#include "support/gpu.h"
#include "solve/core/solver_cases.h"
#include "solve/core/many_cases.h"

/* Iterations are recorded, also with a preconditioner, and the loop ends on the GPU when all
 * vectors have ended. Its memory is reported. */
static void test_many_recorded(void **state) {
  static many_system m;
  int amg, again, k;
  (void)state;
  many_make(&m);
  for (amg = 0; amg <= 1; amg++) {
    const merbit_solver_desc desc =
        many_desc(amg ? MERBIT_PRECONDITIONER_AMG : MERBIT_PRECONDITIONER_JACOBI, 2);
    merbit_solver *solver = many_solver(&m, &desc);
    for (again = 0; again <= 1; again++) {
      assert_int_equal(many_solve(solver, &m, 2, 0), MERBIT_OK);
      many_alone(solver, &m, 2, 0);
      for (k = 0; k < 2; k++) {
        many_expect(&m, k);
        assert_int_equal(m.results[k].recorded, m.result[k].recorded);
        assert_int_equal(m.results[k].synchronizations, m.result[k].synchronizations);
        assert_true(m.results[k].device_bytes == m.result[k].device_bytes);
        assert_true(m.results[k].device_bytes >
                    2 * 5 * MANY_N * 8 + m.results[k].plan.device_bytes);
      }
      assert_int_equal(merbit_solver_update_values(solver, m.l.values, MERBIT_MEMORY_HOST),
                       MERBIT_OK);
    }
    merbit_solver_destroy(solver);
  }
  linear_free(&m.l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MANY_CASES,
      cmocka_unit_test(test_many_recorded),
  };
  int failed;
  context = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  gpu_clean();
  return failed;
}
