/* Plans on the CPU: refusals, descriptions, new values. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/unknown.h"

static const int32_t row_ptr[] = {0, 2, 3, 5}, col_ind[] = {0, 2, 1, 0, 2};
static const double values[] = {1, 2, 3, 4, 5};

static void expect(merbit_context *context, const merbit_view *view,
                   const merbit_plan_desc *desc, merbit_status status, const char *piece) {
  merbit_plan *plan = (merbit_plan *)1;
  assert_int_equal(merbit_plan_create(context, view, desc, &plan), status);
  assert_null(plan);
  cpu_expect(context, status, piece);
}

static void bad_descriptors_are_named(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_plan_desc zero, desc;
  merbit_plan *plan;
  (void)state;
  memset(&zero, 0, sizeof zero);
  assert_int_equal(merbit_plan_create(NULL, &view, NULL, &plan), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_plan_create(context, &view, NULL, NULL), MERBIT_INVALID_ARGUMENT);
  expect(context, NULL, NULL, MERBIT_INVALID_ARGUMENT, "`view` is NULL");
#define EXPECT(field, value, status, piece)                                                    \
  desc = zero;                                                                                 \
  desc.field = value;                                                                          \
  expect(context, &view, &desc, status, piece)
  EXPECT(side, (merbit_side)9, MERBIT_INVALID_ARGUMENT, "side is 9");
  EXPECT(side, MERBIT_SIDE_CUDA, MERBIT_NO_DEVICE, "context computes on the CPU");
  EXPECT(operation, (merbit_operation)3, MERBIT_INVALID_ARGUMENT, "operation is 3");
  EXPECT(vector_type, MERBIT_F32, MERBIT_NOT_SUPPORTED, "vectors of MERBIT_F32");
  EXPECT(vector_type, MERBIT_C128, MERBIT_NOT_SUPPORTED, "vectors of MERBIT_C128");
  EXPECT(method, (merbit_method)99, MERBIT_INVALID_ARGUMENT, "method is 99");
  EXPECT(method, unknown_method(), MERBIT_INVALID_ARGUMENT,
         unknown_words("method", (int)unknown_method()));
  EXPECT(method, (merbit_method)31, MERBIT_INVALID_ARGUMENT, "method is 31");
  EXPECT(block_rows, 3, MERBIT_INVALID_ARGUMENT, "block_rows is 3 and block_cols 0");
  EXPECT(block_cols, -1, MERBIT_INVALID_ARGUMENT, "block_rows is 0 and block_cols -1");
  EXPECT(method, (merbit_method)-1, MERBIT_INVALID_ARGUMENT, "method is -1");
  EXPECT(method, MERBIT_METHOD_MERBIT, MERBIT_NO_DEVICE, "MERBIT, which runs on CUDA");
  EXPECT(method, MERBIT_METHOD_SCAN, MERBIT_NO_DEVICE, "SCAN, which runs on CUDA");
  EXPECT(method, MERBIT_METHOD_ROWS, MERBIT_NO_DEVICE, "ROWS, which runs on CUDA");
  EXPECT(method, MERBIT_METHOD_SLICED, MERBIT_NO_DEVICE, "SLICED, which runs on CUDA");
  EXPECT(method, MERBIT_METHOD_BINNED, MERBIT_NO_DEVICE, "BINNED, which runs on CUDA");
  EXPECT(method, MERBIT_METHOD_CB, MERBIT_NO_DEVICE, "CB, which runs on CUDA");
  EXPECT(method, MERBIT_METHOD_HUBS, MERBIT_NO_DEVICE, "HUBS, which runs on CUDA");
  EXPECT(vector_memory, (merbit_memory)5, MERBIT_INVALID_ARGUMENT, "vector_memory is 5");
  EXPECT(vector_memory, MERBIT_MEMORY_DEVICE, MERBIT_INVALID_ARGUMENT, "for the CPU");
  EXPECT(scalar_memory, MERBIT_MEMORY_DEVICE, MERBIT_INVALID_ARGUMENT, "for the CPU");
  EXPECT(expected_calls, -1, MERBIT_INVALID_ARGUMENT, "expected_calls is -1");
#undef EXPECT
  merbit_context_destroy(context);
}

static void bad_matrices_are_named(void **state) {
  static const int32_t far_column[] = {0, 2, 1, 3, 2};
  merbit_context *context = cpu_open(NULL, 2);
  merbit_view view = merbit_csr(3, 3, 5, row_ptr, far_column, values);
  (void)state;
  expect(context, &view, NULL, MERBIT_INVALID_MATRIX, "col_ind[3]");
  view.col_ind = col_ind;
  view.memory = MERBIT_MEMORY_DEVICE;
  expect(context, &view, NULL, MERBIT_INVALID_ARGUMENT, "DEVICE, but the plan");
  view.memory = MERBIT_MEMORY_HOST;
  view.format = MERBIT_BSR;
  expect(context, &view, NULL, MERBIT_INVALID_ARGUMENT, "block_rows is 0");
  view.format = MERBIT_CSR;
  view.value_type = unknown_type();
  expect(context, &view, NULL, MERBIT_INVALID_ARGUMENT,
         unknown_words("value_type", (int)unknown_type()));
  merbit_context_destroy(context);
}

static void a_plan_tells_what_it_is(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan;
  char line[1024], start[8];
  size_t length;
  (void)state;
  assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
  length = merbit_plan_describe(plan, line, sizeof line);
  assert_int_equal(length, strlen(line));
  assert_non_null(strstr(line, "merge on the CPU"));
  assert_non_null(strstr(line, "3 x 3, 5 nonzeros"));
  assert_null(strchr(line, '\n'));
  assert_int_equal(merbit_plan_describe(plan, start, sizeof start), length);
  assert_string_equal(start, "merge o");
  assert_int_equal(merbit_plan_describe(plan, NULL, 0), length);
  length = merbit_plan_describe(NULL, line, sizeof line);
  assert_int_equal(length, strlen(line));
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_int_equal(info.side, MERBIT_SIDE_CPU);
  assert_int_equal(info.method, MERBIT_METHOD_MERGE);
  assert_int_equal(info.bytes_per_product, 5 * 12 + 4 * 4 + 6 * 8);
  assert_true(info.plan_seconds > 0);
  assert_int_equal(merbit_plan_get_info(NULL, &info), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_plan_get_info(plan, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(plan->context, MERBIT_INVALID_ARGUMENT, "merbit_plan_get_info: `info` is NULL");
  merbit_plan_destroy(plan);
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_REFERENCE;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, "reference on the CPU (requested)"));
  merbit_plan_destroy(plan);
  merbit_plan_destroy(NULL);
  merbit_context_destroy(context);
}

/* New values in CSR, and in COO where two entries at one position add up. */
static void new_values_are_used(void **state) {
  static const int32_t row_ind[] = {2, 0, 2, 1}, coo_col[] = {0, 1, 0, 2};
  static const double coo_values[] = {1, 2, 3, 4}, new_values[] = {10, 20, 30, 40, 50};
  const double x[] = {1, 10, 100};
  double y[3];
  merbit_context *context = cpu_open(NULL, 2);
  merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_plan *plan;
  (void)state;
  assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_update_values(plan, new_values, MERBIT_MEMORY_DEFAULT),
                   MERBIT_OK);
  assert_int_equal(merbit_plan_update_values(plan, new_values, MERBIT_MEMORY_HOST), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_true(y[0] == 2010 && y[1] == 300 && y[2] == 5040);
  assert_int_equal(merbit_plan_update_values(plan, NULL, MERBIT_MEMORY_HOST),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_plan_update_values(plan, x, MERBIT_MEMORY_DEVICE),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_plan_update_values(NULL, x, MERBIT_MEMORY_HOST),
                   MERBIT_INVALID_ARGUMENT);
  merbit_plan_destroy(plan);
  memset(&view, 0, sizeof view);
  view.format = MERBIT_COO;
  view.rows = view.cols = 3;
  view.nnz = 4;
  view.row_ind = row_ind;
  view.col_ind = coo_col;
  view.values = coo_values;
  assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_true(y[0] == 20 && y[1] == 400 && y[2] == 4);
  assert_int_equal(merbit_plan_update_values(plan, new_values, MERBIT_MEMORY_HOST), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_true(y[0] == 200 && y[1] == 4000 && y[2] == 40);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

/* A pattern stays a pattern even if its duplicates, added up, give the plan values. */
static void patterns_take_no_values(void **state) {
  static const int32_t rows[] = {0, 0, 1}, cols[] = {1, 1, 0}, blocks[] = {0, 2},
                       twice[] = {0, 0};
  const double fresh[] = {1, 2, 3, 4, 5, 6, 7, 8};
  merbit_context *context = cpu_open(NULL, 2);
  merbit_view views[2];
  merbit_plan_desc desc;
  int i;
  (void)state;
  views[0] = merbit_csr(2, 2, 3, NULL, cols, NULL);
  views[0].format = MERBIT_COO;
  views[0].row_ind = rows;
  views[1] = merbit_bsr(2, 2, 2, 2, 2, blocks, twice, NULL);
  memset(&desc, 0, sizeof desc);
  for (i = 0; i < 4; i++) {
    merbit_plan *plan;
    desc.operation = i / 2 ? MERBIT_OPERATION_T : MERBIT_OPERATION_N;
    assert_int_equal(merbit_plan_create(context, &views[i % 2], &desc, &plan), MERBIT_OK);
    assert_int_equal(merbit_plan_update_values(plan, fresh, MERBIT_MEMORY_HOST),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "a pattern of ones");
    merbit_plan_destroy(plan);
  }
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_descriptors_are_named), cmocka_unit_test(bad_matrices_are_named),
      cmocka_unit_test(a_plan_tells_what_it_is),   cmocka_unit_test(new_values_are_used),
      cmocka_unit_test(patterns_take_no_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
