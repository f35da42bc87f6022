/* plan_desc.tuning, without a GPU: names and numbers of every method, and each error
 * message. */
#include "support/internal.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/plan_sizes.h"
#include "support/tuning.h"

static merbit_status take(merbit_plan *plan, merbit_method method, const char *tuning) {
  merbit_status status;
  test_plan_clear(plan);
  plan->context = context;
  plan->side = MERBIT_SIDE_CUDA;
  mbi_method_take(plan, method);
  plan->desc.method = method;
  plan->desc.tuning = tuning;
  status = mbi_tuning_take(plan);
  assert_null(plan->desc.tuning); /* not read again */
  return status;
}

static void numbers_that_are_taken(void **state) {
  static const struct {
    merbit_method method;
    const char *tuning;
    double values[MBI_KNOBS];
  } list[] = {{MERBIT_METHOD_AUTO, NULL, {0, 0, 0, 0}},
              {MERBIT_METHOD_AUTO, "", {0, 0, 0, 0}},
              {MERBIT_METHOD_MERBIT, "  ", {0, 0, 0, 0}},
              {MERBIT_METHOD_SCAN, "steps=8", {8, 0, 0, 0}},
              {MERBIT_METHOD_SCAN, " whole=2   steps=16 ", {16, 2, 0, 0}},
              {MERBIT_METHOD_ROWS, "lanes=32", {0, 32, 0, 0}},
              {MERBIT_METHOD_ROWS, "unroll=-3 lanes=0", {-3, 0, 0, 0}},
              {MERBIT_METHOD_MERGE, "steps=1e1 rounds=4.0", {10, 4, 0, 0}},
              {MERBIT_METHOD_HUBS, "kilobytes=2147483647", {0, INT32_MAX, 0, 0}},
              {MERBIT_METHOD_CB, "aggregate=0.15", {0, 0.15, 0, 0}},
              {MERBIT_METHOD_CB, "csr_max=4 coo_max=3 aggregate=1e-9 steps=1", {1, 1e-9, 3, 4}},
              {MERBIT_METHOD_WARP_TILED, "columns=64 rows=2", {64, 2, 0, 0}},
              {MERBIT_METHOD_BSR_TEAM, "waves=5", {5, 0, 0, 0}}};
  merbit_plan plan;
  size_t i;
  (void)state;
  (void)setlocale(LC_ALL, "de_DE.UTF-8"); /* if it exists, with a decimal comma */
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    assert_int_equal(take(&plan, list[i].method, list[i].tuning), MERBIT_OK);
    assert_memory_equal(plan.tuning, list[i].values, sizeof plan.tuning);
  }
  (void)setlocale(LC_ALL, "C");
}

static void sentences_of_what_is_refused(void **state) {
  static const struct {
    merbit_method method;
    const char *tuning, *piece;
  } list[] = {
      {MERBIT_METHOD_AUTO, "steps=8",
       "plan_desc.tuning is \"steps=8\", but plan_desc.method is MERBIT_METHOD_AUTO; name the "
       "method to tune"},
      {MERBIT_METHOD_MERBIT, "sigma=7",
       "plan_desc.tuning is \"sigma=7\", but MERBIT_METHOD_MERBIT is tuned by plan_desc.sigma "
       "and plan_desc.omega"},
      {MERBIT_METHOD_SCAN, "lanes=8",
       "plan_desc.tuning has \"lanes=8\", but the names of MERBIT_METHOD_SCAN are steps, "
       "whole"},
      {MERBIT_METHOD_CB, "aggregate.=1", "are steps, aggregate, coo_max, csr_max"},
      {MERBIT_METHOD_SCAN, "step=8", "has \"step=8\", but"},
      {MERBIT_METHOD_SCAN, "stepss=8", "has \"stepss=8\", but"},
      {MERBIT_METHOD_SCAN, "steps=8,whole=1", "has \"steps=8,whole=1\"; write"},
      {MERBIT_METHOD_SCAN, "=8", "has \"=8\", but"},
      {MERBIT_METHOD_SCAN, "steps", "has \"steps\"; write steps=NUMBER with a whole number"},
      {MERBIT_METHOD_SCAN, "steps=", "has \"steps=\"; write"},
      {MERBIT_METHOD_SCAN, "steps= 8", "has \"steps=\"; write"},
      {MERBIT_METHOD_SCAN, "steps=eight", "has \"steps=eight\"; write"},
      {MERBIT_METHOD_SCAN, "steps=8x", "has \"steps=8x\"; write"},
      {MERBIT_METHOD_SCAN, "steps=2.5", "has \"steps=2.5\"; write"},
      {MERBIT_METHOD_SCAN, "steps=2147483648", "has \"steps=2147483648\"; write"},
      {MERBIT_METHOD_SCAN, "steps=-2147483648", "has \"steps=-2147483648\"; write"},
      {MERBIT_METHOD_SCAN, "steps=1e999", "has \"steps=1e999\"; write"},
      {MERBIT_METHOD_SCAN, "steps=000000000000000000000000000000008", "write steps=NUMBER"},
      {MERBIT_METHOD_CB, "aggregate=0,15", "write aggregate=NUMBER with a number"},
      {MERBIT_METHOD_CB, "aggregate=inf", "write aggregate=NUMBER with a number"},
      {MERBIT_METHOD_SCAN, "steps=8 whole=1 steps=8", "sets steps twice; set it once"}};
  merbit_plan plan;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    assert_int_equal(take(&plan, list[i].method, list[i].tuning), MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, list[i].piece);
  }
}

/* sigma and omega are for MERBIT, also in the library's iterations with it; on the CPU nothing
 * is tuned. */
static void sigma_and_omega(void **state) {
  merbit_plan plan;
  (void)state;
  assert_int_equal(take(&plan, MERBIT_METHOD_MERBIT, NULL), MERBIT_OK);
  plan.desc.sigma = 7;
  plan.desc.omega = 16;
  assert_int_equal(mbi_tuning_take(&plan), MERBIT_OK);
  plan.desc.method = MERBIT_METHOD_AUTO; /* the dual-buffer commit */
  assert_int_equal(mbi_tuning_take(&plan), MERBIT_OK);
  mbi_method_take(&plan, MERBIT_METHOD_SCAN);
  plan.desc.omega = 0;
  assert_int_equal(mbi_tuning_take(&plan), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT,
             "plan_desc.sigma is 7, which MERBIT_METHOD_MERBIT alone takes, but "
             "plan_desc.method is MERBIT_METHOD_SCAN; use plan_desc.tuning with its names: "
             "steps, whole");
  plan.desc.sigma = 0;
  plan.desc.omega = 16;
  mbi_method_take(&plan, MERBIT_METHOD_AUTO);
  assert_int_equal(mbi_tuning_take(&plan), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT,
             "plan_desc.omega is 16, which MERBIT_METHOD_MERBIT alone takes, but "
             "plan_desc.method is MERBIT_METHOD_AUTO; leave it 0");
  mbi_method_take(&plan, MERBIT_METHOD_MERGE);
  plan.side = MERBIT_SIDE_CPU;
  assert_int_equal(mbi_tuning_take(&plan), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "is MERBIT_METHOD_MERGE; leave it 0");
  plan.desc.omega = 0;
  plan.desc.tuning = "steps=8";
  assert_int_equal(mbi_tuning_take(&plan), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT,
             "plan_desc.tuning is \"steps=8\", but the plan is for the CPU, whose methods have "
             "nothing to tune; leave it NULL");
}

/* Each method's names and state fit in a plan, and the first two names are set from a test's
 * table. */
static void names_of_all_methods(void **state) {
  const mbi_method *row;
  size_t i;
  int tuned = 0;
  (void)state;
  for (i = 0; (row = mbi_method_row(i)) != NULL; i++) {
    const char *knobs = row->cuda != NULL ? row->cuda->knobs : NULL;
    int count = knobs != NULL;
    merbit_plan_desc desc;
    merbit_plan plan;
    assert_true(row->cuda == NULL ||
                (row->cuda->state_bytes > 0 && row->cuda->state_bytes <= MBI_STATE_MOST));
    if (knobs == NULL) {
      continue;
    }
    while ((knobs = strchr(knobs, ' ')) != NULL) {
      knobs++;
      count++;
    }
    assert_in_range(count, 1, MBI_KNOBS);
    memset(&desc, 0, sizeof desc);
    desc.method = row->number;
    tuning_take(&desc, 5, count > 1 ? 1 : 0);
    assert_int_equal(take(&plan, row->number, desc.tuning), MERBIT_OK);
    assert_true(plan.tuning[0] == 5 && plan.tuning[1] == (count > 1 ? 1 : 0));
    assert_int_equal(mbi_knob(&plan, 0), 5);
    tuned++;
  }
  assert_in_range(tuned, 17, 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_that_are_taken), cmocka_unit_test(sentences_of_what_is_refused),
      cmocka_unit_test(sigma_and_omega), cmocka_unit_test(names_of_all_methods)};
  return cmocka_run_group_tests_name("spmv/plan/tuning", tests, set_up, tear_down);
}
