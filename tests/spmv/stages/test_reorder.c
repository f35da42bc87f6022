/* Reordered plans on the CPU: products and new values in every form, descriptions, refusals,
 * and lack of memory. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/effort.h"
#include "support/reordered.h"

static const int32_t row_ptr[] = {0, 2, 3, 5, 6}, col_ind[] = {0, 2, 3, 0, 2, 1};
static const double values[] = {1, 2, 3, 4, 5, 6};

static merbit_view view_of(void) {
  return merbit_csr(4, 4, 6, row_ptr, col_ind, values);
}

/* Makes a form by bits: those of products_form_of, then REFERENCE or, from base 1, SORTED. */
static products_form form_of(int bits, merbit_reordering reordering) {
  products_form form = products_form_of(bits);
  form.plan.method = !(bits & 64) ? MERBIT_METHOD_AUTO
                     : bits & 8   ? MERBIT_METHOD_SORTED
                                  : MERBIT_METHOD_REFERENCE;
  form.plan.unchecked = bits >> 2 & 1;
  form.plan.reordering = reordering;
  return form;
}

/* Every generated matrix in some forms. */
static void products_in_order(void **state) {
  const uint64_t seed = test_rotating_seed();
  merbit_context *context[2];
  uint64_t random = seed;
  int index, products = 0;
  (void)state;
  context[0] = cpu_open(NULL, 1);
  context[1] = cpu_open(NULL, 3);
  for (index = 0; index < test_matrix_count(); index++) {
    int reordering;
    for (reordering = 0; reordering < 3; reordering++) {
      const products_form form =
          form_of((int)test_below(&random, 128), (merbit_reordering)reordering);
      test_matrix m;
      square_make(index, seed, &m);
      products += reordered_check(context[index & 1], &m, &form);
    }
  }
  print_message("%d products\n", products);
  merbit_context_destroy(context[0]);
  merbit_context_destroy(context[1]);
}

/* One matrix in every form, with tasks for several threads. */
static void every_form(void **state) {
  merbit_context *context = cpu_open(NULL, 4);
  int bits;
  (void)state;
  for (bits = 0; bits < 128; bits++) {
    const products_form form = form_of(bits, MERBIT_REORDERING_RCM);
    const int large = (bits & 15) == 3;
    test_matrix m;
    square_grid(large ? 150 : 9, large ? 150 : 13, 8, 5, &m);
    (void)reordered_check(context, &m, &form);
  }
  merbit_context_destroy(context);
}

/* A default plan copies vectors, of its rows or its columns. */
static void plans_as_they_come(void **state) {
  static const int32_t wide_ptr[] = {0, 1, 2}, wide_col[] = {0, 2};
  merbit_context *context = cpu_open(NULL, 1);
  const merbit_view view = merbit_csr(2, 3, 2, wide_ptr, wide_col, NULL);
  double x[] = {1, 2, 3}, px[] = {0, 0, 0, 7}, y[] = {0, 0, 7};
  int64_t order[] = {7, 7, 7};
  merbit_plan_info info;
  merbit_plan *plan;
  char line[1024];
  (void)state;
  assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_reorder(plan, x, px, NULL), MERBIT_OK);
  assert_true(px[0] == 1 && px[1] == 2 && px[2] == 3 && px[3] == 7);
  assert_int_equal(merbit_plan_restore(plan, x, y, NULL), MERBIT_OK);
  assert_true(y[0] == 1 && y[1] == 2 && y[2] == 7);
  assert_int_equal(merbit_plan_get_order(plan, order, 2), MERBIT_OK);
  assert_true(order[0] == 0 && order[1] == 1 && order[2] == 7);
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_true(info.reorder_seconds == 0 && info.bandwidth == 0 && info.bandwidth_before == 0);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_null(strstr(line, "reordered"));
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

/* No rows, and no entries. */
static void empty_matrices(void **state) {
  static const int32_t none[] = {0, 0, 0, 0};
  merbit_context *context = cpu_open(NULL, 2);
  int rows, reordering;
  (void)state;
  for (rows = 0; rows <= 3; rows += 3) {
    for (reordering = 1; reordering < 3; reordering++) {
      const merbit_view view = merbit_csr(rows, rows, 0, none, NULL, NULL);
      double x[] = {1, 2, 3}, px[] = {0, 0, 0}, y[] = {4, 5, 6};
      merbit_plan_desc desc;
      merbit_plan *plan;
      memset(&desc, 0, sizeof desc);
      desc.reordering = (merbit_reordering)reordering;
      assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
      assert_int_equal(
          merbit_plan_reorder(plan, rows > 0 ? x : NULL, rows > 0 ? px : NULL, NULL),
          MERBIT_OK);
      assert_int_equal(merbit_spmv(plan, NULL, NULL, px, NULL, y, NULL), MERBIT_OK);
      assert_true(y[0] == (rows > 0 ? 0 : 4) && px[0] + px[1] + px[2] == (rows > 0 ? 6 : 0));
      assert_int_equal(merbit_plan_get_order(plan, NULL, rows),
                       rows > 0 ? MERBIT_INVALID_ARGUMENT : MERBIT_OK);
      merbit_plan_destroy(plan);
    }
  }
  merbit_context_destroy(context);
}

static void told(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view;
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan;
  test_matrix m;
  products_form form = form_of(0, MERBIT_REORDERING_RCM);
  products_arrays a;
  char line[1024], bandwidth[80], little[20];
  size_t length;
  (void)state;
  square_grid(20, 30, 4, 3, &m);
  products_arrays_make(NULL, &m, &form, &a);
  desc = form.plan;
  assert_int_equal(merbit_plan_create(context, &a.view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_true(info.reorder_seconds > 0 && info.reorder_seconds <= info.plan_seconds);
  assert_true(info.bandwidth_before > 400 && info.bandwidth >= 20 && info.bandwidth <= 21);
  length = merbit_plan_describe(plan, line, sizeof line);
  assert_int_equal(length, strlen(line));
  (void)snprintf(bandwidth, sizeof bandwidth, " ms, bandwidth %d to %d",
                 (int)info.bandwidth_before, (int)info.bandwidth);
  assert_non_null(strstr(line, "; reordered by reverse Cuthill-McKee in "));
  assert_non_null(strstr(line, bandwidth));
  assert_int_equal(merbit_plan_describe(plan, little, sizeof little), length);
  assert_int_equal(strlen(little), sizeof little - 1);
  merbit_plan_destroy(plan);
  view = view_of();
  desc.reordering = MERBIT_REORDERING_DEGREE;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, "; reordered by falling degree in "));
  merbit_plan_destroy(plan);
  products_arrays_free(&a);
  test_matrix_free(&m);
  merbit_context_destroy(context);
}

static void expect(merbit_context *context, const merbit_view *view,
                   const merbit_plan_desc *desc, merbit_status status, const char *piece) {
  merbit_plan *plan = (merbit_plan *)1;
  assert_int_equal(merbit_plan_create(context, view, desc, &plan), status);
  assert_null(plan);
  cpu_expect(context, status, piece);
}

static void refused(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  static const int32_t bad[] = {0, 2, 3, 0, 4, 1};
  merbit_view view = view_of();
  double x[8] = {1, 2, 3, 4}, y[4];
  int64_t order[4];
  merbit_plan_desc desc;
  merbit_plan *plan;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.reordering = (merbit_reordering)3;
  expect(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "plan_desc.reordering is 3");
  desc.reordering = (merbit_reordering)-1;
  expect(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "plan_desc.reordering is -1");
  desc.reordering = MERBIT_REORDERING_DEGREE;
  view.cols = 5;
  expect(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "view.rows is 4 and view.cols 5");
  view.cols = 4;
  desc.method = MERBIT_METHOD_BSR;
  expect(context, &view, &desc, MERBIT_NOT_SUPPORTED, "break the method's blocks apart");
  desc.method = MERBIT_METHOD_AUTO;
  view.col_ind = bad;
  expect(context, &view, &desc, MERBIT_INVALID_MATRIX, "4");
  view = merbit_bsr(4, 4, 2, 2, 2, row_ptr, col_ind, NULL);
  expect(context, &view, &desc, MERBIT_NOT_SUPPORTED, "break the view's blocks apart");
  view = view_of();
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_reorder(NULL, x, y, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_plan_restore(NULL, x, y, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_plan_get_order(NULL, order, 4), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_plan_reorder(plan, NULL, y, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT,
             "merbit_plan_reorder: the vector to read is NULL");
  assert_int_equal(merbit_plan_restore(plan, x, NULL, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT,
             "merbit_plan_restore: the vector to write is NULL");
  assert_int_equal(merbit_plan_restore(plan, x, x + 3, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "overlap; use two vectors");
  assert_int_equal(merbit_plan_reorder(plan, x + 4, x, NULL), MERBIT_OK);
  assert_int_equal(merbit_plan_get_order(plan, order, 3), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`count` is 3");
  assert_int_equal(merbit_plan_get_order(plan, NULL, 4), MERBIT_INVALID_ARGUMENT);
  merbit_plan_destroy(plan);
  view.values = NULL;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "pattern of ones");
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

/* More entries in a row than a key holds; none of it is read. */
static void rows_too_long(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  mbi_permute p;
  static const int64_t starts[] = {0, (int64_t)UINT32_MAX + 1};
  static int32_t order[1], inverse[1];
  int64_t made[2], keys;
  merbit_view view = merbit_csr(1, 1, starts[1], starts, NULL, NULL);
  (void)state;
  view.offset_type = MERBIT_INDEX_64;
  memset(&p, 0, sizeof p);
  p.context = context;
  p.from = &view;
  p.order = order;
  p.inverse = inverse;
  p.tasks = 1;
  p.to = view;
  p.row_ptr = made;
  p.to.row_ptr = made;
  assert_int_equal(mbi_permute_measure(&p, &keys), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "a row has 4294967296 entries");
  merbit_context_destroy(context);
}

/* Each allocation of a plan and of an update fails in turn: nothing is left behind. */
static void memory_runs_out(void **state) {
  int bits, reordering;
  (void)state;
  for (bits = 0; bits < 64; bits += 9) {
    for (reordering = 1; reordering < 3; reordering++) {
      const products_form form = form_of(bits & ~16, (merbit_reordering)reordering);
      cpu_memory memory;
      merbit_context *context = cpu_open(&memory, 2);
      products_arrays a;
      test_matrix m;
      merbit_plan *plan = NULL;
      merbit_status status = MERBIT_OUT_OF_MEMORY;
      int fail;
      square_grid(6, 70, 8, 2, &m);
      m.nnz -= bits & 1; /* no longer symmetric */
      m.row_ptr[m.rows] -= bits & 1;
      products_arrays_make(NULL, &m, &form, &a);
      for (fail = 1; status != MERBIT_OK; fail++) {
        const long live = memory.live;
        memory.fail_at = memory.made + fail;
        status = merbit_plan_create(context, &a.view, &form.plan, &plan);
        memory.fail_at = 0;
        assert_true(status == MERBIT_OK || (status == MERBIT_OUT_OF_MEMORY && plan == NULL));
        assert_true(status == MERBIT_OK || memory.live == live);
      }
      assert_true(fail > 8);
      merbit_plan_destroy(plan);
      products_arrays_free(&a);
      test_matrix_free(&m);
      merbit_context_destroy(context);
      assert_int_equal(memory.live, 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_in_order),
      cmocka_unit_test(every_form),
      cmocka_unit_test(plans_as_they_come),
      cmocka_unit_test(empty_matrices),
      cmocka_unit_test(told),
      cmocka_unit_test(refused),
      cmocka_unit_test(rows_too_long),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
