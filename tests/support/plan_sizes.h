/* Plans with known counts only, on a CPU context with the record of a GPU: the starting point
 * for tests of a method's sizes and of AUTO's choice. Include merbit.h and cmocka.h first. */
#ifndef TEST_SUPPORT_PLAN_SIZES_H
#define TEST_SUPPORT_PLAN_SIZES_H
#include "support/cpu.h"
#include "support/gpus.h"

#define TWO(bits) ((uint64_t)1 << (bits))

static merbit_context *context;

/* Returns the estimated profile of one of `gpus`. */
static merbit_device_profile profile_of(const char *name) {
  merbit_device_profile profile;
  size_t i = 0;
  while (i + 1 < GPUS && strcmp(gpus[i].name, name) != 0) {
    i++;
  }
  mbi_profile_estimate(gpus[i].multiprocessors, &gpus[i].facts, &profile);
  return profile;
}

static merbit_device_profile h200_profile(void) {
  return profile_of("H200");
}

static int set_up(void **state) {
  (void)state;
  context = cpu_open(NULL, 1);
  context->device.multiprocessors = 132;
  context->device.lanes = 2048;
  context->device.shared_bytes_per_block = 227 << 10;
  context->device.estimate = h200_profile();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  merbit_context_destroy(context);
  return 0;
}

static void plan_of(merbit_plan *plan, merbit_type type, uint64_t rows, uint64_t nnz) {
  test_plan_clear(plan);
  plan->context = context;
  plan->profile = &context->device.estimate;
  plan->type = type;
  plan->device.rows = plan->nonempty.count = rows;
  plan->device.nnz = nnz;
  plan->nonempty.longest = 100;
  plan->streaming = nnz >= 4 * rows;
}

#endif /* TEST_SUPPORT_PLAN_SIZES_H */
