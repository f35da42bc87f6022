/* AUTO on the fake device if memory is short or samples mislead: which method it chooses
 * instead, and that everything is released. */
#define MBI_CHOOSE_SMALL 0u  /* AUTO treats even tiny matrices as large */
#define MBI_CHOOSE_HELD 0.0  /* and their x misses L1 */
#define MBI_MEASURE_ROUNDS 1 /* measurements are as short as possible */
#define MBI_MEASURE_BATCH 1
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fenv.h>

#include "fake/scenarios.h"

enum { HELD = 1 }; /* allocations of a context: a byte that keeps a GPU page mapped */

/* SLICED and HUBS need memory for a second copy of the columns; without it AUTO chooses
 * SCAN. */
static void give_way(merbit_status (*scenario)(merbit_context *), const merbit_method *taking,
                     merbit_method first, long ways) {
  long at, taken[2] = {0, 0};
  for (at = HELD + 1; at < 40; at++) { /* more allocations than there are */
    merbit_context *context;
    fake_reset();
    cuda->calls.only = "cuMemAlloc_v2";
    cuda->calls.code = 2;
    cuda->calls.fail_at = at;
    context = fake_context(NULL);
    if (scenario(context) == MERBIT_OK) {
      assert_int_equal(merbit_last_error(context, NULL, 0), MERBIT_OK);
      taken[*taking == first]++;
      assert_true(*taking == (cuda->calls.failed > 0 ? MERBIT_METHOD_SCAN : first));
    }
    merbit_context_destroy(context);
    fake_expect_clean();
  }
  assert_int_equal(taken[0], ways);
  assert_true(taken[1] > 10);
}

/* Two allocations of SLICED can fail: the slices' shape and their columns. */
static void slices_give_way(void **state) {
  (void)state;
  give_way(even_rows, &even_method, MERBIT_METHOD_SLICED, 2);
}

/* Two allocations of DIAGONALS can fail: where slices begin, and their diagonals. */
static void diagonals_give_way(void **state) {
  (void)state;
  give_way(band, &band_method, MERBIT_METHOD_DIAGONALS, 2);
}

/* Every tenth slice, which the samples see, has three diagonals. The others have one for each
 * nonzero, and AUTO then chooses SCAN. */
static void diagonals_that_no_sample_saw(void **state) {
  enum { SLICES = 80, WIDE = 64 * SLICES };
  int32_t *const row_ptr = test_allocate(WIDE + 1, sizeof *row_ptr);
  int32_t *const col_ind = test_allocate(3 * WIDE, sizeof *col_ind);
  int poor;
  (void)state;
  for (poor = 0; poor < 2; poor++) {
    merbit_context *context;
    merbit_plan_desc desc;
    merbit_plan *plan = NULL;
    merbit_view view;
    int i, j, k = 0;
    for (i = 0; i < WIDE; i++) {
      row_ptr[i] = k;
      if (poor && i / 64 % 10 != 0) {
        col_ind[k++] = i + i % 64; /* offsets are columns minus rows */
      } else {
        for (j = 0; j < 3; j++) {
          col_ind[k++] = i + 100 * j;
        }
      }
    }
    row_ptr[WIDE] = k;
    view = merbit_csr(WIDE, WIDE + 300, k, row_ptr, col_ind, NULL);
    memset(&desc, 0, sizeof desc);
    desc.side = MERBIT_SIDE_CUDA;
    fake_reset();
    context = fake_context(NULL);
    forget_latencies(context);
    assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(plan->method, poor ? MERBIT_METHOD_SCAN : MERBIT_METHOD_DIAGONALS);
    assert_true((strstr(plan->why, "the slices have") != NULL) == poor);
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
  free(row_ptr);
  free(col_ind);
}

/* First rows whose columns continue those of the row before, then rows of two lengths, of which
 * the sample takes every 16th: each starts a new line of 16 doubles. */
static void lines_are_sampled(void **state) {
  enum { HIGH = 1024, WIDE = 4 * HIGH + 8 };
  static const double lines[] = {2 / 32.0, 3 / 32.0}, abreast[] = {8 / 32.0, 1};
  int32_t *const row_ptr = test_allocate(HIGH + 1, sizeof *row_ptr);
  int32_t *const col_ind = test_allocate(4 * HIGH, sizeof *col_ind);
  int uneven;
  (void)state;
  for (uneven = 0; uneven < 2; uneven++) {
    merbit_context *context;
    merbit_plan_desc desc;
    merbit_plan *plan = NULL;
    merbit_view view;
    int i, j, k = 0;
    for (i = 0; i < HIGH; i++) {
      row_ptr[i] = k;
      for (j = 0; j < (!uneven ? 4 : i % 2 ? 6 : 2); j++) {
        col_ind[k++] = 4 * i + j;
      }
    }
    row_ptr[HIGH] = k;
    view = merbit_csr(HIGH, WIDE, k, row_ptr, col_ind, NULL);
    memset(&desc, 0, sizeof desc);
    desc.side = MERBIT_SIDE_CUDA;
    fake_reset();
    context = fake_context(NULL);
    assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
    assert_true(plan->nonempty.lines == lines[uneven]);
    assert_true(plan->nonempty.lines_abreast == abreast[uneven]);
    assert_true(plan->nonempty.abreast == 0); /* rows are short */
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
  free(row_ptr);
  free(col_ind);
}

/* The allocations of HUBS: counts of columns; non-empty rows and their starts, tiles, codes. */
static void hubs_give_way(void **state) {
  (void)state;
  give_way(full_columns, &full_method, MERBIT_METHOD_HUBS, 1 + 3);
}

/* If a launch fails while HUBS is made, what has been allocated for it is released. */
static void failed_launches_leave_nothing(void **state) {
  long at = 0;
  (void)state;
  do {
    merbit_context *context;
    fake_reset();
    cuda->calls.only = "cuLaunchKernel";
    cuda->calls.code = 701; /* CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES */
    cuda->calls.fail_at = ++at;
    context = fake_context(NULL);
    (void)full_columns(context);
    merbit_context_destroy(context);
    fake_expect_clean();
  } while (cuda->calls.failed > 0);
  assert_true(at > 5);
}

/* Columns are counted, in their own memory, only if some sectors of x are read more than once;
 * otherwise no column can be a hub. */
static void columns_are_counted_for_hubs(void **state) {
  static const int32_t row_ptr[] = {0, 2 * FULL};
  int32_t col_ind[2 * FULL];
  const merbit_view view = merbit_csr(1, 8 * FULL, 2 * FULL, row_ptr, col_ind, NULL);
  int again;
  (void)state;
  for (again = 0; again < 2; again++) {
    merbit_context *context;
    merbit_plan_desc desc;
    merbit_plan *plan = NULL;
    int i;
    for (i = 0; i < 2 * FULL; i++) {
      col_ind[i] = 4 * (again && i < FULL / 2 ? i + FULL / 2 : i); /* one sector each */
    }
    memset(&desc, 0, sizeof desc);
    desc.side = MERBIT_SIDE_CUDA;
    desc.expected_calls = 500;
    fake_reset();
    context = fake_context(NULL);
    forget_latencies(context);
    slow_gathers(context);
    cuda->calls.only = "cuMemAlloc_v2";
    cuda->calls.made = 0;
    assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(plan->method, again ? MERBIT_METHOD_HUBS : MERBIT_METHOD_SCAN);
    assert_true(again || cuda->calls.made == 4); /* counts would be the fifth */
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
}

/* Nothing is divided by the sizes of a matrix without nonzeros: the program may have asked for
 * a signal then. */
static void nothing_is_divided_by_zero(void **state) {
  static const int32_t row_ptr[3];
  int size;
  (void)state;
  for (size = 0; size < 4; size++) {
    const merbit_view view = merbit_csr(size & 2, size & 1, 0, row_ptr, NULL, NULL);
    merbit_context *context;
    merbit_plan *plan = NULL;
    fake_reset();
    context = fake_context(NULL);
    assert_int_equal(feclearexcept(FE_ALL_EXCEPT), 0);
    assert_int_equal(make_plan(context, &view, NULL, &plan), MERBIT_OK);
    assert_int_equal(fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW), 0);
    assert_int_equal(plan->method, MERBIT_METHOD_ROWS);
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
}

/* The device is lost after full blocks have been made there, while the plan waits for its work.
 * AUTO then makes blocks on the CPU, which take new values. */
static void blocks_of_a_lost_device(void **state) {
  enum { HIGH = 1024, EACH_ROW = 8 };
  static double values[2][EACH_ROW * HIGH], x[HIGH], y[HIGH];
  static int32_t row_ptr[HIGH + 1], col_ind[EACH_ROW * HIGH];
  const merbit_view view = merbit_csr(HIGH, HIGH, EACH_ROW * HIGH, row_ptr, col_ind, values[0]);
  long waits = 0;
  int lost, i, k;
  (void)state;
  for (i = 0; i < HIGH; i++) {
    row_ptr[i + 1] = EACH_ROW * (i + 1);
    x[i] = i % 5 - 2;
    for (k = 0; k < EACH_ROW; k++) { /* two blocks of 4 x 4 in each row */
      const int at = EACH_ROW * i + k, first = i / 4 < HIGH / 8 ? 0 : HIGH / 2;
      col_ind[at] =
          first + (k < 4 ? i % (HIGH / 2) / 8 * 4 : HIGH / 4 + i % 64 / 4 * 4) + k % 4;
      values[0][at] = 1 + at * 7 % 1000;
      values[1][at] = 1 + at * 3 % 700;
    }
  }
  for (lost = 0; lost < 2; lost++) {
    merbit_context_desc own = fake_desc(MERBIT_SIDE_AUTO);
    merbit_context *context;
    merbit_plan_desc desc;
    merbit_plan *plan = NULL;
    fake_reset();
    assert_int_equal(merbit_context_create(&own, &context, NULL), MERBIT_OK);
    forget_latencies(context);
    memset(&desc, 0, sizeof desc);
    desc.vector_memory = MERBIT_MEMORY_HOST;
    desc.changing_values = 1; /* no shorter form of the values */
    cuda->calls.only = "cuStreamSynchronize";
    cuda->calls.made = 0;
    cuda->calls.code = 700;
    cuda->calls.fail_at = lost ? waits : 0; /* the last wait */
    assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
    waits = cuda->calls.made;
    assert_int_equal(plan->side, lost ? MERBIT_SIDE_CPU : MERBIT_SIDE_CUDA);
    assert_int_equal(plan->method, MERBIT_METHOD_BSR);
    assert_int_equal(merbit_plan_update_values(plan, values[1], MERBIT_MEMORY_HOST), MERBIT_OK);
    assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
    for (i = 0; i < HIGH; i++) {
      double sum = 0;
      for (k = EACH_ROW * i; k < EACH_ROW * (i + 1); k++) {
        sum += values[1][k] * x[col_ind[k]];
      }
      assert_true(y[i] == sum);
    }
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
}

/* Makes a plan for many products. Writes the reason for its method to `why`. */
static merbit_status measure_columns(merbit_context *context, int columns, char *why) {
  const merbit_view view =
      merbit_csr(ROWS, columns, data_nnz(), data.row_ptr, data.col_ind, data.values);
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.changing_values = 1;
  desc.expected_calls = 2000;
  forget_latencies(context); /* else SCAN is the only candidate */
  cuda->calls.made = 0;
  status = make_plan(context, &view, &desc, &plan);
  why[0] = '\0';
  if (status == MERBIT_OK) {
    (void)snprintf(why, sizeof plan->why, "%s", plan->why);
  }
  merbit_plan_destroy(plan);
  return status;
}

/* Without memory for the vectors of a measurement AUTO goes by its forecasts. A method that
 * finds no memory to be measured in is measured by the next plan, and then remembered. */
static void shortage_is_not_remembered(void **state) {
  char cache[64], why[sizeof((merbit_plan *)NULL)->why];
  int at, turn, failed = 1, ruled_out = 0, forecasts = 0;
  (void)state;
  (void)fake_cache_make(cache);
  for (at = 1; failed; at++) {
    for (turn = 0; turn < 3; turn++) {
      merbit_context *context;
      merbit_status status;
      fake_reset();
      context = fake_context(cache);
      cuda->calls.only = "cuMemAlloc_v2";
      cuda->calls.code = 2;
      cuda->calls.fail_at = turn == 0 ? at : 0;
      status = measure_columns(context, COLS + at, why); /* another matrix each time */
      if (turn == 0) {
        failed = cuda->calls.failed > 0;
        ruled_out += strstr(why, " failed,") != NULL || strstr(why, "binned failed") != NULL;
        forecasts += strncmp(why, "forecast ", 9) == 0;
      } else {
        assert_int_equal(status, MERBIT_OK);
        if (strstr(why, "measured scan") == NULL || strstr(why, " us, binned ") == NULL ||
            strstr(why, "failed") != NULL || strstr(why, "inf") != NULL) {
          fail_msg("after a failure of allocation %d: %s", at, why);
        }
        assert_true(turn == 1 || strncmp(why, "remembered: ", 12) == 0);
      }
      merbit_context_destroy(context);
      fake_expect_clean();
    }
  }
  fake_cache_remove(cache);
  assert_true(ruled_out > 5);
  assert_int_equal(forecasts, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slices_give_way),
      cmocka_unit_test(diagonals_give_way),
      cmocka_unit_test(diagonals_that_no_sample_saw),
      cmocka_unit_test(lines_are_sampled),
      cmocka_unit_test(hubs_give_way),
      cmocka_unit_test(failed_launches_leave_nothing),
      cmocka_unit_test(columns_are_counted_for_hubs),
      cmocka_unit_test(shortage_is_not_remembered),
      cmocka_unit_test(nothing_is_divided_by_zero),
      cmocka_unit_test(blocks_of_a_lost_device),
  };
  fake_open("new");
  scenarios_prepare();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
