/* Provoked failures: one call of the fake driver, or one allocation of host memory. Include
 * merbit.h and cmocka.h first. */
#ifndef TEST_SWEEP_PROVOKE_H
#define TEST_SWEEP_PROVOKE_H
#include "sweep/bed.h"

/* Lets one of the next driver calls or allocations fail. */
static void provoke(uint64_t *random) {
  const long at = 1 + (long)test_below(random, 30);
  if (sweep.driver != NULL && test_below(random, 3) > 0) {
    sweep.driver->calls.only = NULL;
    sweep.driver->calls.code = test_below(random, 2) ? 2 : 1;
    sweep.driver->calls.for_good = 0;
    sweep.driver->calls.fail_at = sweep.driver->calls.made + at;
  } else {
    sweep.memory.fail_at = sweep.memory.made + at;
  }
}

/* Lets every call succeed again. */
static void provoke_no_more(void) {
  sweep.memory.fail_at = 0;
  if (sweep.driver != NULL) {
    sweep.driver->calls.fail_at = 0;
  }
}

/* Expects that a call that met a failure succeeds nevertheless, or reports it. */
static void provoke_expect(merbit_context *context, merbit_status status, const char *call) {
  if (status != MERBIT_OK && status != MERBIT_OUT_OF_MEMORY &&
      status != MERBIT_DEVICE_OUT_OF_MEMORY && status != MERBIT_DEVICE_ERROR) {
    sweep_fail("%s, provoked: %s: %s", call, merbit_status_name(status),
               sweep_sentence(context));
  }
  if (status != MERBIT_OK && strlen(sweep_sentence(context)) < 10) {
    sweep_fail("%s, provoked: %s without a sentence", call, merbit_status_name(status));
  }
}

#endif /* TEST_SWEEP_PROVOKE_H */
