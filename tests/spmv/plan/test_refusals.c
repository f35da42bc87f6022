/* Corner cases of plans and products on the CPU: NULL where nothing needs a pointer, options at
 * their limits, unusual views. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/unknown.h"

static const int32_t row_ptr[] = {0, 2, 3, 5}, col_ind[] = {0, 2, 1, 0, 2};
static const double values[] = {1, 2, 3, 4, 5};

static merbit_plan *plan_of(merbit_context *context, const merbit_view *view,
                            const merbit_plan_desc *desc) {
  merbit_plan *plan;
  assert_int_equal(merbit_plan_create(context, view, desc, &plan), MERBIT_OK);
  return plan;
}

/* An empty x or y may be NULL; no other may. */
static void vectors_without_elements(void **state) {
  static const int32_t none[] = {0, 0, 0};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(2, 0, 0, none, NULL, NULL);
  merbit_plan *plan = plan_of(context, &view, NULL);
  double x[2] = {1, 2}, y[2] = {(double)NAN, (double)NAN};
  (void)state;
  assert_int_equal(merbit_spmv(plan, NULL, NULL, NULL, NULL, y, NULL), MERBIT_OK);
  assert_true(y[0] == 0 && y[1] == 0);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, NULL, NULL, NULL, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`y` is NULL");
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, x, NULL), MERBIT_OK);
  merbit_plan_destroy(plan);
  view = merbit_csr(0, 2, 0, NULL, NULL, NULL);
  plan = plan_of(context, &view, NULL);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, NULL, NULL), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, NULL, NULL, NULL, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`x` is NULL");
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

static void wishes_that_fit(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  const double x[] = {1, 10, 100};
  double y[3];
  merbit_plan_desc desc;
  merbit_plan *plan;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.vector_type = MERBIT_F64;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.scalar_memory = MERBIT_MEMORY_HOST;
  desc.expected_calls = 1;
  desc.unchecked = 1;
  plan = plan_of(context, &view, &desc);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_true(y[0] == 201 && y[1] == 30 && y[2] == 504);
  merbit_plan_destroy(plan);
  desc.scalar_memory = (merbit_memory)7;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "scalar_memory 7");
  desc.scalar_memory = (merbit_memory)-1;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
  desc.scalar_memory = MERBIT_MEMORY_DEFAULT;
  desc.vector_type = MERBIT_F32;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_NOT_SUPPORTED);
  assert_null(plan);
  merbit_context_destroy(context);
}

static void workspaces_without_a_place(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_plan *plan = plan_of(context, &view, NULL);
  merbit_workspace *workspace = (merbit_workspace *)1;
  (void)state;
  assert_int_equal(merbit_workspace_create(NULL, &workspace), MERBIT_INVALID_ARGUMENT);
  assert_null(workspace);
  assert_int_equal(merbit_workspace_create(NULL, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_workspace_create(plan, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`workspace` is NULL");
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

static void values_of_patterns_and_of_nothing(void **state) {
  static const int32_t none[] = {0, 0};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, NULL);
  merbit_plan *plan = plan_of(context, &view, NULL);
  char line[1024];
  (void)state;
  assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "pattern of ones");
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, "values all one"));
  (void)merbit_plan_describe(plan, line, 0);
  assert_non_null(strstr(line, "values all one"));
  merbit_plan_destroy(plan);
  view = merbit_csr(1, 1, 0, none, col_ind, values);
  plan = plan_of(context, &view, NULL);
  assert_int_equal(merbit_plan_update_values(plan, NULL, MERBIT_MEMORY_HOST), MERBIT_OK);
  assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_DEVICE),
                   MERBIT_INVALID_ARGUMENT);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

/* Numbers on both sides of the known kinds. */
static void kinds_of_views(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  const merbit_view good = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_view view;
  (void)state;
#define EXPECT(field, value, status, piece)                                                    \
  view = good;                                                                                 \
  view.field = value;                                                                          \
  assert_int_equal(merbit_view_check(context, &view), status);                                 \
  cpu_expect(context, status, piece)
  EXPECT(value_type, (merbit_type)-1, MERBIT_INVALID_ARGUMENT, "value_type is -1");
  EXPECT(value_type, unknown_type(), MERBIT_INVALID_ARGUMENT,
         unknown_words("value_type", (int)unknown_type()));
  EXPECT(memory, (merbit_memory)-1, MERBIT_INVALID_ARGUMENT, "memory is -1");
  EXPECT(memory, (merbit_memory)3, MERBIT_INVALID_ARGUMENT, "memory is 3");
  EXPECT(memory, MERBIT_MEMORY_DEVICE, MERBIT_INVALID_ARGUMENT, "computes on the CPU");
  EXPECT(format, (merbit_format)9, MERBIT_INVALID_ARGUMENT, "format is 9");
  EXPECT(offset_type, (merbit_index_type)9, MERBIT_INVALID_ARGUMENT, "offset_type is 9");
  EXPECT(index_type, (merbit_index_type)9, MERBIT_INVALID_ARGUMENT, "index_type is 9");
  EXPECT(base, 2, MERBIT_INVALID_ARGUMENT, "base is 2");
#undef EXPECT
  assert_int_equal(merbit_view_check(NULL, &good), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_view_check(context, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_view_check(context, &good), MERBIT_OK);
  merbit_context_destroy(context);
}

/* 32-bit indices into more rows than 32 bits count: only those below the base are out of
 * range. */
static void rows_beyond_their_indices(void **state) {
  static const int64_t more[] = {-2, 0, 1, 2, (int64_t)1 << 32};
  const int32_t columns[] = {1, 2, 1};
  merbit_context *context = cpu_open(NULL, 1);
  int i;
  (void)state;
  for (i = 0; i < 10; i++) {
    int32_t rows[] = {1, INT32_MAX, 77};
    merbit_view view =
        merbit_csr(((int64_t)1 << 32) + more[i / 2], 3, 3, NULL, columns, values);
    view.format = MERBIT_COO;
    view.row_ind = rows;
    view.base = i % 2;
    assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
    rows[2] = -1;
    assert_int_equal(merbit_view_check(context, &view), MERBIT_INVALID_MATRIX);
    cpu_expect(context, MERBIT_INVALID_MATRIX, "row_ind[2] is -1");
    rows[2] = 0;
    assert_int_equal(merbit_view_check(context, &view),
                     view.base == 0 ? MERBIT_OK : MERBIT_INVALID_MATRIX);
  }
  merbit_context_destroy(context);
}

/* Without a context there is still a message, if there is room for it. */
static void errors_without_a_context(void **state) {
  char text[32] = "kept";
  (void)state;
  assert_int_equal(merbit_last_error(NULL, NULL, sizeof text), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_last_error(NULL, text, 0), MERBIT_INVALID_ARGUMENT);
  assert_string_equal(text, "kept");
  assert_int_equal(merbit_last_error(NULL, text, sizeof text), MERBIT_INVALID_ARGUMENT);
  assert_string_equal(text, "the context is NULL");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_without_elements),
      cmocka_unit_test(wishes_that_fit),
      cmocka_unit_test(workspaces_without_a_place),
      cmocka_unit_test(values_of_patterns_and_of_nothing),
      cmocka_unit_test(kinds_of_views),
      cmocka_unit_test(rows_beyond_their_indices),
      cmocka_unit_test(errors_without_a_context),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
