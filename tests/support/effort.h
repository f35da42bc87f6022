/* How much to test. `sh tests/run.sh --full` sets MERBIT_TEST_FULL. A run prints its
 * MERBIT_TEST_SEED; setting it repeats that run. */
#ifndef TEST_SUPPORT_EFFORT_H
#define TEST_SUPPORT_EFFORT_H
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns `full` with MERBIT_TEST_FULL, else `quick`. */
static inline int test_effort(int quick, int full) {
  return getenv("MERBIT_TEST_FULL") != NULL ? full : quick;
}

/* Returns a seed that changes from run to run, and prints it so that a failure can be
 * repeated. */
static inline uint64_t test_rotating_seed(void) {
  const char *text = getenv("MERBIT_TEST_SEED");
  const uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 1;
  (void)printf("MERBIT_TEST_SEED=%" PRIu64 "\n", seed);
  return seed;
}

#endif /* TEST_SUPPORT_EFFORT_H */
