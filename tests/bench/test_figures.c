/* The benchmark's figures from its samples: quantiles, pay-back, limits, means. Its kernels
 * compile. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-function" /* the benchmark uses them all */
#include "../../bench/ceilings.h"
#include "../../bench/loop_program.h"
#include "../../bench/summary.h"

static void near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-12 * fabs(expected))) {
    fail_msg("%.17g, not %.17g", value, expected);
  }
}

static void quantiles_are_interpolated(void **state) {
  const double sorted[4] = {1, 2, 3, 5}, shuffled[5] = {9, 1, 5, 3, 7};
  (void)state;
  near(bench_quantile(sorted, 4, 0.5), 2.5);
  near(bench_quantile(sorted, 4, 0.25), 1.75);
  near(bench_quantile(sorted, 4, 1.0), 5);
  near(bench_quantile(sorted, 1, 0.75), 1);
  near(bench_median(shuffled, 5), 5);
}

static void payback_counts_products(void **state) {
  bench_case ours, rival;
  (void)state;
  memset(&ours, 0, sizeof ours);
  memset(&rival, 0, sizeof rival);
  ours.median = 0.75;
  rival.median = 1.0;
  ours.plan_seconds = 2.0;
  rival.plan_seconds = 1.0;
  near(bench_payback(&ours, &rival), 4); /* 2 + 3 = 1 + 4 */
  ours.plan_seconds = 2.01;
  near(bench_payback(&ours, &rival), 5);
  ours.plan_seconds = 0.5;
  near(bench_payback(&ours, &rival), 1);
  ours.median = 1.0;
  assert_true(bench_payback(&ours, &rival) == 0);
}

static void rates_lie_between_measured_ones(void **state) {
  bench_ceilings c;
  (void)state;
  memset(&c, 0, sizeof c);
  c.gather[1][0] = 800;
  c.gather[1][1] = 400;
  c.gather[1][2] = 100;
  near(bench_gather_rate(&c, 1, 1), 800);
  near(bench_gather_rate(&c, 1, 65536), 800);
  near(bench_gather_rate(&c, 1, 65536 * sqrt(2.0)), 400 * sqrt(2.0));
  near(bench_gather_rate(&c, 1, 131072 * sqrt(2.0)), 200);
  near(bench_gather_rate(&c, 1, 262144), 100);
  near(bench_gather_rate(&c, 1, 1e12), 100); /* no larger x was measured */
  assert_true(bench_gather_rate(&c, 0, 65536) == 0);
  c.gather[0][BENCH_GATHER_SIZES - 2] = 7;
  c.gather[0][BENCH_GATHER_SIZES - 1] = 7;
  near(bench_gather_rate(&c, 0, ldexp(1, BENCH_GATHER_LARGEST)), 7);
  near(bench_gather_rate(&c, 0, 1e12), 7);
}

static void the_limit_is_the_larger_of_two(void **state) {
  bench_matrix m;
  bench_problem p;
  bench_ceilings ceilings;
  bench_case c;
  (void)state;
  memset(&m, 0, sizeof m);
  memset(&p, 0, sizeof p);
  memset(&ceilings, 0, sizeof ceilings);
  memset(&c, 0, sizeof c);
  p.m = &m;
  p.single = 1;
  p.size = 4;
  m.cols = 16384;
  m.nnz = 1000;
  assert_true(bench_limit(&ceilings, &p, 4000) == 0);
  ceilings.copy = 1000;
  near(bench_limit(&ceilings, &p, 4000), 4);
  ceilings.gather[1][0] = ceilings.gather[1][1] = 200;
  near(bench_limit(&ceilings, &p, 4000), 5);
  near(bench_limit(&ceilings, &p, 6000), 6);
  c.limit = 6;
  c.median = 8;
  near(bench_percent(&c), 75);
  c.median = 5;
  near(bench_percent(&c), 100);
}

static bench_case case_of(const char *name, int rival, double seconds, int good) {
  bench_case c;
  memset(&c, 0, sizeof c);
  (void)snprintf(c.name, sizeof c.name, "%s", name);
  c.rival = rival;
  c.median = seconds;
  c.limit = 1;
  c.good = good;
  c.of = -1;
  return c;
}

static void sums_are_geometric_means_of_verified_results(void **state) {
  bench_summary sum;
  bench_matrix m;
  bench_problem p;
  bench_case cases[3];
  bench_tally *t = &sum.tallies[0][0];
  (void)state;
  memset(&sum, 0, sizeof sum);
  memset(&m, 0, sizeof m);
  memset(&p, 0, sizeof p);
  p.m = &m;
  (void)snprintf(m.name, sizeof m.name, "one");
  cases[0] = case_of("quick and wrong", 1, 1, 0);
  cases[1] = case_of("right", 1, 4, 1);
  cases[2] = case_of("auto", 0, 2, 1);
  assert_int_equal(bench_basis(cases, 3, 2), 1);
  bench_sum_up(&sum, &p, cases, 3);
  (void)snprintf(m.name, sizeof m.name, "two");
  cases[1].median = 1;
  bench_sum_up(&sum, &p, cases, 3);
  assert_int_equal(t->count, 2);
  near(exp(t->log_speedup / 2), 1);
  near(t->worst, 0.5);
  assert_string_equal(t->worst_input, "two");
  assert_int_equal(t->slower, 1);
  assert_int_equal(t->far, 2);
  assert_int_equal(sum.wrong, 0);
  assert_int_equal(sum.wrong_rivals, 2);
  cases[1].median = 2;
  bench_sum_up(&sum, &p, cases, 3);
  assert_int_equal(t->slower, 1);
  cases[2].good = 0;
  bench_sum_up(&sum, &p, cases, 3);
  assert_int_equal(t->count, 3);
  assert_int_equal(sum.wrong, 1);
}

static double slow_or_not(void *clock, bench_case *c, int count) {
  (void)clock;
  c->parity += count;
  return count * (strcmp(c->name, "slow") == 0 ? 6e-3 : 1e-3);
}

static void slow_cases_get_few_rounds(void **state) {
  bench_case cases[3];
  (void)state;
  cases[0] = case_of("slow", 1, 0, 1);
  cases[1] = case_of("fast", 1, 0, 1);
  cases[2] = case_of("slow", 1, 0, 1);
  cases[2].kind = BENCH_TILE; /* nothing to compare with */
  bench_time(cases, 3, 9, 1e-2, slow_or_not, NULL);
  assert_int_equal(cases[0].rounds, BENCH_FEW_ROUNDS);
  assert_int_equal(cases[1].rounds, 9);
  assert_int_equal(cases[2].rounds, 9);
  near(cases[0].median, 6e-3);
  near(bench_paired_ratio(&cases[0], &cases[1]), 6);
}

static void kernels_compile(void **state) {
  merbit_context_desc desc;
  merbit_context *context = NULL;
  merbit_error error;
  int single;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  assert_int_equal(merbit_context_create(&desc, &context, &error), MERBIT_OK);
  if (mbi_nvrtc_open(context, NULL) != MERBIT_OK) {
    merbit_context_destroy(context);
    skip();
  }
  context->device.compute_capability = 90;
  for (single = 0; single < 2; single++) {
    char message[MERBIT_MESSAGE_SIZE] = "";
    void *function = NULL;
    if (bench_gather_load(context, single, NULL, &function) != MERBIT_OK ||
        bench_loop_load(context, single, NULL) != MERBIT_OK) {
      (void)merbit_last_error(context, message, sizeof message);
      fail_msg("%s", message);
    }
  }
  mbi_nvrtc_close(&context->device.nvrtc);
  context->device.compute_capability = 0;
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles_are_interpolated),
      cmocka_unit_test(payback_counts_products),
      cmocka_unit_test(rates_lie_between_measured_ones),
      cmocka_unit_test(the_limit_is_the_larger_of_two),
      cmocka_unit_test(sums_are_geometric_means_of_verified_results),
      cmocka_unit_test(slow_cases_get_few_rounds),
      cmocka_unit_test(kernels_compile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
