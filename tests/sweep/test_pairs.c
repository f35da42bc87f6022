/* Every pair of the public interface's features, in random combinations that cover several
 * pairs at once: compatible features give results within the bound, incompatible ones are
 * refused with a message.
 *
 * test_sweep_pairs [cpu | cuda [COMBINATIONS]] */
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

enum { NEAR_ROWS = 3000, NEAR_LENGTH = 8 };

/* Returns the factor by which the forecast for a method may exceed the memory held: slices may
 * have to be padded 32 times, and AUTO may choose the largest of its methods, or buffers of
 * threads. */
static double near_factor(const mbi_method *row) {
  return row->number == MERBIT_METHOD_SLICED ? 20 : row->number == MERBIT_METHOD_AUTO ? 6 : 4;
}

static void near_one(merbit_context *context, const merbit_view *view, const mbi_method *row) {
  merbit_plan_desc desc = merbit_plan_defaults();
  merbit_plan_memory m;
  merbit_plan_info info;
  merbit_plan *plan;
  double held, most;
  desc.method = row->number;
  desc.vectors = row->number == MERBIT_METHOD_MANY ? 4 : 1;
  if (merbit_plan_forecast(context, view, &desc, &m) != MERBIT_OK) {
    sweep_refused(context, MERBIT_NOT_SUPPORTED, "merbit_plan_forecast");
    assert_true(row->number == MERBIT_METHOD_CB || (int)row->number >= 32); /* study */
    return;
  }
  sweep_done(context, merbit_plan_create(context, view, &desc, &plan), "merbit_plan_create");
  sweep_done(context, merbit_plan_get_info(plan, &info), "merbit_plan_get_info");
  held = (double)(info.host_bytes + info.device_bytes);
  most = (double)(m.host_bytes + m.device_bytes);
  if (held > most || most > near_factor(row) * held + 131072) {
    sweep_fail("%s holds %.0f bytes, the forecast is %.0f", row->name, held, most);
  }
  merbit_plan_destroy(plan);
}

/* A forecast does not greatly exceed what plans hold, so that it is useful. The matrix consists
 * of full blocks, of which BSR gets a view. */
static void forecasts_are_near(void **state) {
  static int32_t row_ptr[NEAR_ROWS + 1], col_ind[NEAR_ROWS * NEAR_LENGTH];
  static int32_t block_ptr[NEAR_ROWS / 2 + 1], block_col[NEAR_ROWS * NEAR_LENGTH / 4];
  static double values[NEAR_ROWS * NEAR_LENGTH];
  merbit_view entries, blocks;
  const mbi_method *row;
  size_t i;
  int k;
  (void)state;
  for (k = 0; k < NEAR_ROWS * NEAR_LENGTH; k++) {
    const int at = k / NEAR_LENGTH, place = k % NEAR_LENGTH;
    row_ptr[at + 1] = k + 1;
    col_ind[k] = 2 * (at / 2 * 7 % (NEAR_ROWS / 2 - 40) + place / 2 * 11) + place % 2;
    values[k] = 1.0 / (k + 3);
    block_ptr[at / 2 + 1] = (at / 2 + 1) * NEAR_LENGTH / 2;
    block_col[at / 2 * NEAR_LENGTH / 2 + place / 2] = col_ind[k] / 2;
  }
  entries = merbit_csr(NEAR_ROWS, NEAR_ROWS, NEAR_ROWS * NEAR_LENGTH, row_ptr, col_ind, values);
  blocks = merbit_bsr(NEAR_ROWS, NEAR_ROWS, NEAR_ROWS * NEAR_LENGTH / 4, 2, 2, block_ptr,
                      block_col, values);
  for (i = 0; (row = mbi_method_row(i)) != NULL; i++) {
    if (mbi_method_runs(row->number, sweep.cuda) && row->number != MERBIT_METHOD_SYMMETRIC) {
      const int block = row->number == MERBIT_METHOD_BSR;
      sweep_begin(row->name);
      if (setjmp(sweep.out) == 0) {
        merbit_context *context = sweep_context(2, 0);
        near_one(context, block ? &blocks : &entries, row);
        sweep_close(context);
      }
    }
  }
  assert_int_equal(sweep.findings, 0);
}

/* A forecast refuses what it cannot bound, and what a plan refuses. */
static void wrong_forecasts_are_refused(void **state) {
  static const int32_t unread[1];
  merbit_view view = merbit_csr(4, 4, 4, unread, unread, NULL);
  merbit_plan_desc desc = merbit_plan_defaults();
  merbit_plan_memory m;
  merbit_context *context;
  (void)state;
  sweep_begin("wrong forecasts");
  context = sweep_context(1, 0);
  assert_int_equal(merbit_plan_forecast(NULL, &view, NULL, &m), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_plan_forecast(context, NULL, NULL, &m), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(sweep_sentence(context), "`view` is NULL"));
  assert_int_equal(merbit_plan_forecast(context, &view, NULL, NULL), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(sweep_sentence(context), "`memory` is NULL"));
  desc.vectors = 1000;
  assert_int_equal(merbit_plan_forecast(context, &view, &desc, &m), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(sweep_sentence(context), "plan_desc.vectors is 1000"));
  desc.vectors = 1;
  desc.method = MERBIT_METHOD_BSR;
  assert_int_equal(merbit_plan_forecast(context, &view, &desc, &m), MERBIT_NOT_SUPPORTED);
  assert_non_null(strstr(sweep_sentence(context), "the number of blocks depends"));
  assert_int_equal(m.host_bytes, 0);
  view = merbit_bsr(4, 6, 4, 2, 3, unread, unread, NULL); /* 3 x 2 in the transpose */
  desc.operation = MERBIT_OPERATION_T;
  desc.block_rows = 2;
  desc.block_cols = 3;
  assert_int_equal(merbit_plan_forecast(context, &view, &desc, &m), MERBIT_NOT_SUPPORTED);
  desc.block_rows = 3;
  desc.block_cols = 2;
  assert_int_equal(merbit_plan_forecast(context, &view, &desc, &m), MERBIT_OK);
  assert_true(m.host_bytes > 0);
  merbit_context_destroy(context);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_forecasts_are_refused),
                                     cmocka_unit_test(forecasts_are_near),
                                     cmocka_unit_test(every_pair)};
  int failed;
  sweep_open(argc > 1 && strcmp(argv[1], "cuda") == 0);
  if (sweep.cuda) {
    merbit_context_destroy(gpu_context()); /* skips the program without a GPU */
  }
  budget = argc > 2     ? atol(argv[2])
           : sweep.cuda ? test_effort(3, 1000)
                        : test_effort(400, 100000);
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  gpu_clean();
  return failed;
}
