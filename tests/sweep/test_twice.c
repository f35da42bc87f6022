/* Every object that is used again, with other input, new values, after failures and cancelled
 * solves, gives the same bits, iterations and counts as a new object, and leaves nothing
 * behind.
 *
 * test_sweep_twice [cpu | cuda [TRIALS [FIRST]]] */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "sweep/twice_plan.h"
#include "sweep/twice_ranks.h"

static long trials, first_trial;

static void try_all(void (*trial)(uint64_t seed)) {
  const uint64_t seed = test_rotating_seed();
  const long before = sweep.findings;
  long i;
  for (i = first_trial; i < first_trial + trials && sweep.findings < before + 10; i++) {
    sweep_begin("");
    if (setjmp(sweep.out) == 0) {
      trial(seed * 1000003 + (uint64_t)i);
    }
  }
  assert_int_equal(sweep.findings, before);
}

static void solvers(void **state) {
  (void)state;
  try_all(twice_solver);
}

static void plans(void **state) {
  (void)state;
  try_all(twice_plan);
}

static void ranks(void **state) {
  (void)state;
  try_all(twice_ranks);
}

static void eigenpairs(void **state) {
  (void)state;
  try_all(twice_eigen);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(plans), cmocka_unit_test(solvers),
                                     cmocka_unit_test(ranks), cmocka_unit_test(eigenpairs)};
  int failed;
  sweep_open(argc > 1 && strcmp(argv[1], "cuda") == 0);
  if (sweep.cuda) {
    merbit_context_destroy(gpu_context()); /* skips the program without a GPU */
  }
  trials = argc > 2     ? atol(argv[2])
           : sweep.cuda ? test_effort(1, 500)
                        : test_effort(100, 30000);
  first_trial = argc > 3 ? atol(argv[3]) : 0;
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  gpu_clean();
  return failed;
}
