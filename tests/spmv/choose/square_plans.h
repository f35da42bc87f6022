/* Plans of square matrices that were counted and sampled but never built, and AUTO's choice for
 * them. Include merbit.h and cmocka.h first. */
#ifndef TEST_SQUARE_PLANS_H
#define TEST_SQUARE_PLANS_H
#include "support/plan_sizes.h"

/* Makes a square matrix with full slices, gathers that hit the caches, and wide columns. */
static void square_of(merbit_plan *plan, merbit_type type, uint64_t rows, uint64_t nnz) {
  plan_of(plan, type, rows, nnz);
  plan->nonempty.sorted_slots = nnz;
  plan->desc.expected_calls = 100;
  plan->device.cols = rows;
  plan->device.values = 16;
  plan->nonempty.slots = nnz;
}

TEST_UNUSED static void takes(merbit_plan *plan, merbit_method method, const char *why) {
  const merbit_method taken = mbi_choose_method(plan);
  if (taken != method || strstr(plan->why, why) == NULL) {
    fail_msg("%s (%s) instead of %s (%s)", mbi_method_name(taken), plan->why,
             mbi_method_name(method), why);
  }
}

/* Makes rows uneven, with more than half of the nonzeros in hubs. */
TEST_UNUSED static void with_hubs(merbit_plan *plan) {
  square_of(plan, MERBIT_F32, 4000000, 64000000);
  plan->nonempty.slots = plan->nonempty.sorted_slots = 4 * plan->device.nnz;
  plan->nonempty.sectors = 0.9;
  plan->nonempty.hub_share = 0.55;
}

/* Returns the seconds in which an H200 streams `bytes`, at the 0.98 of its copy rate that
 * products reach. */
TEST_UNUSED static double streamed(double bytes) {
  return bytes / (0.98 * 4.28e12);
}

/* Returns the seconds of a product whose traffic takes `seconds` if L1 looks up `lines` lines
 * per nonzero: on an H200 a lookup takes 0.28 of the time of a sector from L2. */
TEST_UNUSED static double looked_up(const merbit_plan *plan, double seconds, double lines) {
  const double looking = (double)plan->device.nnz * lines * 0.28 / 160e9;
  return pow(pow(seconds, 1.5) + pow(looking, 1.5), 2 / 3.0);
}

TEST_UNUSED static void is_about(const char *what, double seconds, double expected) {
  if (!(fabs(seconds / expected - 1) < 0.005)) {
    fail_msg("%s: %.2f us instead of %.2f", what, 1e6 * seconds, 1e6 * expected);
  }
}

#endif
