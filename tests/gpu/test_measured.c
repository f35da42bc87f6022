/* AUTO for thousands of products: methods are measured and the result is stored with the
 * cubins; a wrong stored result is not believed; some kinds of values are not measured. */
static double small_limit = 0.57; /* part of L2 that a small matrix takes */
#define MBI_CHOOSE_SMALL small_limit
#include "support/internal.h"
#include "spmv/choose/critical_path.c"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/gpu.h"
#include "support/products.h"

/* The largest test matrix with fewer nonzeros has even rows. With more, if the matrix counts as
 * large, no method's forecast is close to SCAN's. */
enum { EVEN = 50000 };

static merbit_plan_desc desc;
static char line[1024];

/* Makes a plan of matrix `index` by `desc` in a new context, and writes its description to
 * `line`; its product meets the bound. */
static merbit_method measured(int index, merbit_type type) {
  merbit_context *context = gpu_context();
  products_form form;
  products_arrays arrays;
  test_matrix m;
  merbit_plan *plan;
  merbit_method method;
  memset(&form, 0, sizeof form);
  form.type = type;
  form.plan = desc;
  test_matrix_make(index, 1, &m);
  products_arrays_make(context, &m, &form, &arrays);
  assert_int_equal(merbit_plan_create(context, &arrays.view, &form.plan, &plan), MERBIT_OK);
  assert_true(merbit_plan_describe(plan, line, sizeof line) < sizeof line);
  method = plan->method;
  form.few_scalars = 1;
  products_check(context, &m, &form);
  merbit_plan_destroy(plan);
  products_arrays_free(&arrays);
  test_matrix_free(&m);
  merbit_context_destroy(context);
  return method;
}

static void set_calls(int calls) {
  memset(&desc, 0, sizeof desc);
  desc.expected_calls = calls;
}

/* Measured once per structure, type and device, whatever the size; then remembered. */
static void answers_are_remembered(void **state) {
  int small, single;
  (void)state;
  for (small = 0; small < 2; small++) {
    const int index = test_matrix_largest(small ? 1000 : EVEN);
    small_limit = small ? 0.57 : 0;
    for (single = 0; single < 2; single++) {
      const merbit_type type = single ? MERBIT_F32 : MERBIT_F64;
      merbit_method method;
      set_calls(20000);
      method = measured(index, type);
      assert_non_null(strstr(line, "measured "));
      assert_null(strstr(line, "remembered"));
      assert_int_equal(measured(index, type), method);
      assert_non_null(strstr(line, "remembered: measured "));
    }
  }
  small_limit = 0.57;
}

/* Not for few products, nor against the user's options, nor if no method is close to SCAN. */
static void who_does_not_measure(void **state) {
  const int index = test_matrix_largest(INT64_MAX);
  (void)state;
  set_calls(100);
  (void)measured(index, MERBIT_F64);
  assert_null(strstr(line, "measured"));
  set_calls(20000);
  desc.deterministic = 1;
  (void)measured(index, MERBIT_F64);
  assert_null(strstr(line, "measured"));
  set_calls(20000);
  desc.method = MERBIT_METHOD_ROWS;
  (void)measured(index, MERBIT_F64);
  assert_null(strstr(line, "measured"));
  set_calls(20000);
  desc.block_threads = 256;
  (void)measured(index, MERBIT_F64);
  assert_null(strstr(line, "measured"));
  set_calls(20000);
  small_limit = 0;
  assert_int_equal(measured(index, MERBIT_F64), MERBIT_METHOD_SCAN);
  assert_null(strstr(line, "measured"));
  small_limit = 0.57;
}

/* A stored result under the right key that no version of the library has written. */
static void strange_answers_are_not_believed(void **state) {
  static const mbi_measured good = {MERBIT_METHOD_SCAN, 2, "measured"};
  mbi_measured bad;
  merbit_plan plan;
  (void)state;
  memset(&plan, 0, sizeof plan);
  plan.nonempty.block_rows = plan.nonempty.block_cols = 1;
  assert_true(mbi_measured_valid(&plan, &good, sizeof good));
  assert_false(mbi_measured_valid(&plan, &good, sizeof good - 1));
  bad = good;
  bad.method = MERBIT_METHOD_MERBIT;
  assert_false(mbi_measured_valid(&plan, &bad, sizeof bad));
  bad.method = -1;
  assert_false(mbi_measured_valid(&plan, &bad, sizeof bad));
  bad = good;
  bad.whole = 3;
  assert_false(mbi_measured_valid(&plan, &bad, sizeof bad));
  bad.whole = -1;
  assert_false(mbi_measured_valid(&plan, &bad, sizeof bad));
  bad = good;
  bad.method = MERBIT_METHOD_ROWS; /* does not support whole rows from here on */
  assert_false(mbi_measured_valid(&plan, &bad, sizeof bad));
  bad.method = MERBIT_METHOD_BSR; /* for a matrix without blocks */
  bad.whole = 0;
  assert_false(mbi_measured_valid(&plan, &bad, sizeof bad));
  plan.nonempty.block_cols = 4;
  assert_true(mbi_measured_valid(&plan, &bad, sizeof bad));
  plan.nonempty.block_cols = 1;
  plan.nonempty.masked_side = 5;
  assert_true(mbi_measured_valid(&plan, &bad, sizeof bad));
  bad = good;
  memset(bad.why, 'x', sizeof bad.why);
  assert_false(mbi_measured_valid(&plan, &bad, sizeof bad));
}

/* The fastest three, in order. */
static void candidates_are_ranked(void **state) {
  static const double seconds[] = {5, 3, 4, 1, 9, 2};
  mbi_candidate c[MBI_MEASURE_MOST];
  int count = 0, i;
  (void)state;
  for (i = 0; i < 6; i++) {
    count = mbi_measure_add(c, count, MERBIT_METHOD_SCAN, i, seconds[i]);
    assert_int_equal(count, i < 3 ? i + 1 : 3);
  }
  assert_true(c[0].seconds == 1 && c[1].seconds == 2 && c[2].seconds == 3);
  assert_true(c[0].whole == 3 && c[1].whole == 5 && c[2].whole == 1);
}

/* The fastest wins, and the description lists all. */
static void the_quickest_answers(void **state) {
  static const mbi_candidate c[] = {{MERBIT_METHOD_SCAN, 1, 3e-6},
                                    {MERBIT_METHOD_SCAN, 2, 2.25e-6},
                                    {MERBIT_METHOD_ROWS, 0, 2.5e-6}};
  static const mbi_candidate failed[] = {{MERBIT_METHOD_SCAN, 2, HUGE_VAL},
                                         {MERBIT_METHOD_ROWS, 0, 2.5e-6}};
  mbi_measured answer;
  (void)state;
  mbi_measure_answer(c, 3, &answer);
  assert_int_equal(answer.method, MERBIT_METHOD_SCAN);
  assert_int_equal(answer.whole, 2);
  assert_string_equal(answer.why,
                      "measured scan 3.0 us, scan of whole rows 2.2 us, rows 2.5 us");
  mbi_measure_answer(c + 2, 1, &answer);
  assert_int_equal(answer.method, MERBIT_METHOD_ROWS);
  mbi_measure_answer(failed, 2, &answer);
  assert_int_equal(answer.method, MERBIT_METHOD_ROWS);
  assert_string_equal(answer.why, "measured scan of whole rows failed, rows 2.5 us");
}

/* Expects a choice without measuring, for rows of four, or of two and eight in turn, with a
 * kind of values. */
static void choice(int uneven, merbit_type type, merbit_semiring semiring, merbit_method method,
                   const char *why) {
  enum { ROWS = 320, LONG = 8 };
  static int32_t row_ptr[ROWS + 1], col_ind[LONG * ROWS];
  static double values[2 * LONG * ROWS];
  merbit_context *context = gpu_context();
  merbit_view view;
  merbit_plan *plan;
  int i;
  for (i = 0; i < LONG * ROWS; i++) {
    col_ind[i] = (i * 7) % ROWS;
  }
  for (i = 0; i < ROWS; i++) {
    row_ptr[i + 1] = row_ptr[i] + (!uneven ? 4 : i % 2 == 0 ? 2 : LONG);
  }
  view = merbit_csr(ROWS, ROWS, row_ptr[ROWS], row_ptr, col_ind, values);
  view.value_type = type;
  set_calls(20000);
  desc.side = MERBIT_SIDE_CUDA;
  desc.semiring = semiring;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_true(merbit_plan_describe(plan, line, sizeof line) < sizeof line);
  assert_int_equal(plan->method, method);
  assert_non_null(strstr(line, why));
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

static void large_ones_of_other_kinds(void **state) {
  (void)state;
  small_limit = 0;
  choice(0, MERBIT_F16, MERBIT_SEMIRING_PLUS_TIMES, MERBIT_METHOD_ROWS,
         "short rows of equal length, f16");
  choice(1, MERBIT_F16, MERBIT_SEMIRING_PLUS_TIMES, MERBIT_METHOD_SCAN, "default for f16");
  choice(0, MERBIT_C64, MERBIT_SEMIRING_PLUS_TIMES, MERBIT_METHOD_ROWS,
         "short rows of equal length, c64");
  choice(0, MERBIT_F64, MERBIT_SEMIRING_MIN_PLUS, MERBIT_METHOD_ROWS,
         "short f64 rows of similar length; runner-up scan");
  choice(1, MERBIT_F64, MERBIT_SEMIRING_MIN_PLUS, MERBIT_METHOD_ROWS,
         "short f64 rows of similar length");
  choice(0, MERBIT_F32, MERBIT_SEMIRING_MIN_PLUS, MERBIT_METHOD_SCAN,
         "default for semirings; runner-up merge");
  small_limit = 0.57;
}

/* Measuring makes a plan, dismantles it and makes it again: the same columns are hubs each
 * time, although codes have replaced their counts. */
static void hubs_are_found_again(void **state) {
  enum { ROWS = 3000, LONG = 8, HUBS = 16 };
  static int32_t row_ptr[ROWS + 1], col_ind[LONG * ROWS];
  static double values[LONG * ROWS];
  merbit_context *context = gpu_context();
  merbit_view view;
  merbit_plan *plan;
  uint32_t count;
  int i;
  (void)state;
  for (i = 0; i < LONG * ROWS; i++) { /* half of them in the hubs, the others once or twice */
    col_ind[i] = i % LONG < LONG / 2 ? i % HUBS : HUBS + (i * 7) % (ROWS - HUBS);
  }
  for (i = 0; i < ROWS; i++) {
    row_ptr[i + 1] = row_ptr[i] + LONG;
  }
  view = merbit_csr(ROWS, ROWS, row_ptr[ROWS], row_ptr, col_ind, values);
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.method = MERBIT_METHOD_HUBS;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  count = mbi_hubs_of(plan)->count;
  assert_in_range(count, 1, ROWS - 1);
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  mbi_nonempty_destroy(plan, &plan->nonempty); /* made again below, as for a new plan */
  for (i = 0; i < 2; i++) {
    mbi_method_destroy(plan);
    assert_int_equal(mbi_method_create(plan), MERBIT_OK);
    assert_int_equal(mbi_hubs_of(plan)->count, count);
  }
  mbi_nonempty_finish(plan, &plan->nonempty);
  mbi_device_leave(context);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_are_remembered),
      cmocka_unit_test(who_does_not_measure),
      cmocka_unit_test(strange_answers_are_not_believed),
      cmocka_unit_test(candidates_are_ranked),
      cmocka_unit_test(the_quickest_answers),
      cmocka_unit_test(large_ones_of_other_kinds),
      cmocka_unit_test(hubs_are_found_again),
  };
  int failed;
  merbit_context_destroy(gpu_context()); /* skips without a GPU */
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  gpu_clean();
  return failed;
}
