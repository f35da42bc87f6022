/* Products on the CPU with plans: forms, scalars, data files. The GPU's counterpart is
 * gpu/test_product.c. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/products.h"
#include "support/data.h"

static void every_matrix_meets_the_bound(void **state) {
  merbit_context *context = cpu_open(NULL, 3);
  int i, variant;
  (void)state;
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    test_matrix m;
    test_matrix_make(i, 11, &m);
    for (variant = 0; variant < 8; variant++) {
      products_form form;
      memset(&form, 0, sizeof form);
      form.type = variant & 1 ? MERBIT_F32 : MERBIT_F64;
      form.offset_type = variant & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
      form.index_type = variant & 4 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
      form.base = variant >> 1 & 1;
      form.format = variant >= 6 ? MERBIT_COO : MERBIT_CSR;
      form.few_scalars = m.nnz > 20000;
      form.plan.method = variant == 3 ? MERBIT_METHOD_REFERENCE : MERBIT_METHOD_AUTO;
      products_check(context, &m, &form);
    }
    test_matrix_free(&m);
  }
  merbit_context_destroy(context);
}

static void check_data_matrix(merbit_context *context, const test_matrix *m) {
  products_form form;
  memset(&form, 0, sizeof form);
  form.few_scalars = m->nnz > 5000000;
  form.type = MERBIT_F64;
  products_check(context, m, &form);
  form.type = MERBIT_F32;
  products_check(context, m, &form);
}

static void data_files_meet_the_bound(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  const char *more = getenv("MERBIT_TEST_DATA");
  (void)state;
  assert_true(data_for_each(context, TEST_DATA_DIR "/mtx", check_data_matrix) > 5);
  if (more != NULL) {
    print_message("%d matrices of %s\n", data_for_each(context, more, check_data_matrix), more);
  }
  merbit_context_destroy(context);
}

static void pattern_is_a_matrix_of_ones(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  int i, k;
  (void)state;
  for (i = 0; i < test_matrix_count(); i += 5) {
    test_matrix m;
    products_form form;
    test_matrix_make(i, 12, &m);
    for (k = 0; k < m.nnz; k++) {
      m.values[k] = 1.0;
    }
    memset(&form, 0, sizeof form);
    form.pattern = 1;
    for (form.type = MERBIT_F64; form.type <= MERBIT_F32;
         form.type = (merbit_type)(form.type + 1)) {
      products_check(context, &m, &form);
    }
    test_matrix_free(&m);
  }
  merbit_context_destroy(context);
}

/* NaN and Inf in x and in A reach exactly the rows that hold them. */
static void special_values_stay_in_their_rows(void **state) {
  static const int32_t row_ptr[] = {0, 2, 3, 3, 5};
  static const int32_t col_ind[] = {0, 1, 1, 0, 2};
  static const double values[] = {1, 2, 3, 4, (double)INFINITY};
  const double x[] = {1, (double)NAN, 2}, zero = 0, one = 1;
  double y[4] = {7, 7, 7, 7};
  merbit_context *context = cpu_open(NULL, 2);
  merbit_view view = merbit_csr(4, 3, 5, row_ptr, col_ind, values);
  merbit_plan *plan;
  (void)state;
  assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_true(isnan(y[0]) && isnan(y[1]));
  assert_true(y[2] == 0 && !signbit(y[2]));
  assert_true(isinf(y[3]) && y[3] > 0);
  y[0] = y[1] = y[2] = y[3] = 7;
  assert_int_equal(merbit_spmv(plan, NULL, &zero, x, &one, y, NULL), MERBIT_OK);
  assert_true(y[0] == 7 && y[1] == 7 && y[2] == 7 && y[3] == 7);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

static void expect_spmv(merbit_plan *plan, merbit_workspace *workspace, const void *x, void *y,
                        merbit_context *context, const char *piece) {
  assert_int_equal(merbit_spmv(plan, workspace, NULL, x, NULL, y, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, piece);
}

static void bad_vectors_are_refused(void **state) {
  static const int32_t row_ptr[] = {0, 1, 2, 3}, col_ind[] = {0, 1, 2};
  static const double values[] = {1, 2, 3};
  double both[6] = {1, 1, 1, 0, 0, 0};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(3, 3, 3, row_ptr, col_ind, values);
  merbit_plan *plan, *other;
  merbit_workspace *workspace;
  (void)state;
  assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_create(context, &view, NULL, &other), MERBIT_OK);
  assert_int_equal(merbit_workspace_create(other, &workspace), MERBIT_OK);
  assert_int_equal(merbit_spmv(NULL, NULL, NULL, both, NULL, both + 3, NULL),
                   MERBIT_INVALID_ARGUMENT);
  expect_spmv(plan, NULL, NULL, both, context, "`x` is NULL");
  expect_spmv(plan, NULL, both, NULL, context, "`y` is NULL");
  expect_spmv(plan, NULL, both, both + 2, context, "overlap");
  expect_spmv(plan, NULL, both + 2, both, context, "overlap");
  expect_spmv(plan, workspace, both, both + 3, context, "another plan");
  assert_int_equal(merbit_spmv(plan, NULL, NULL, both, NULL, both + 3, NULL), MERBIT_OK);
  assert_true(both[3] == 1 && both[4] == 2 && both[5] == 3);
  merbit_plan_destroy(other); /* its workspace keeps it alive */
  merbit_workspace_destroy(workspace);
  merbit_workspace_destroy(NULL);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_matrix_meets_the_bound),
      cmocka_unit_test(data_files_meet_the_bound),
      cmocka_unit_test(pattern_is_a_matrix_of_ones),
      cmocka_unit_test(special_values_stay_in_their_rows),
      cmocka_unit_test(bad_vectors_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
