/* Every pair of the public interface's features, in random combinations that hold several pairs
 * at once: what goes together gives results within the bound, what does not is refused with a
 * sentence. test_sweep_pairs [cpu | cuda [COMBINATIONS]] */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "sweep/run.h"

static long budget;

static void try_one(const combination *c, uint64_t seed, int taken) {
  sweep_begin(combination_text(c));
  if (setjmp(sweep.out) == 0) {
    run_combination(c, seed, taken);
  }
}

static void every_pair(void **state) {
  static pairs p;
  const uint64_t seed = test_rotating_seed();
  uint64_t round;
  long taken = 0, refused = 0, covers = 0;
  (void)state;
  for (round = 0; taken < budget && sweep.findings < 10; round++) {
    combination c;
    int found;
    pairs_begin(&p, sweep.cuda, seed + round);
    while (taken < budget && sweep.findings < 10 && (found = pairs_next(&p, &c)) != 0) {
      taken += found > 0;
      refused += found < 0;
      try_one(&c, seed + (uint64_t)(taken + refused), found > 0);
    }
    covers += p.left == 0;
  }
  (void)printf("%ld combinations, %ld refused pairs, every pair %ld times\n", taken, refused,
               covers);
  assert_int_equal(sweep.findings, 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_pair)};
  int failed;
  sweep_open(argc > 1 && strcmp(argv[1], "cuda") == 0);
  if (sweep.cuda) {
    merbit_context_destroy(gpu_context()); /* skips the program where there is none */
  }
  budget = argc > 2     ? atol(argv[2])
           : sweep.cuda ? test_effort(3, 1000)
                        : test_effort(600, 100000);
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  gpu_clean();
  return failed;
}
