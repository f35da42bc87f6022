/* Values that a plan stores shorter: which are, by every method and in both types, that
 * products do not change by it, and what becomes of new values. All numbers are such that every
 * sum is exact. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/products.h"
#include "support/gpu.h"

enum { ROWS = 70, COLS = 40, MOST = 12 * ROWS };
enum { GENERAL, EQUAL, FLOATS, FINE, FORMS }; /* FINE: all equal, but no float */

static merbit_context *gpu;
static int32_t row_ptr[ROWS + 1], col_ind[MOST];
static int64_t nnz;

static void structure(void) {
  uint64_t state = 7;
  int row, k;
  for (row = 0; row < ROWS; row++) {
    const int length = row % 9 == 4 ? 0 : 1 + (int)test_below(&state, 11);
    for (k = 0; k < length; k++) {
      col_ind[nnz++] = (int32_t)test_below(&state, COLS);
    }
    row_ptr[row + 1] = (int32_t)nnz;
  }
}

/* Nonzero k of `form`; in f64 general ones are no floats. */
static double value_of(int form, int64_t k, double scale, merbit_type type) {
  const double fine = type == MERBIT_F32 ? 1.0 / 1024 : 1.0 / 1099511627776.0; /* 2^-40 */
  switch (form) {
  case EQUAL:
    return 0.75 * scale;
  case FINE:
    return (1 + fine) * scale;
  case FLOATS:
    return (double)(k % 13 - 6) / 8 * scale;
  default:
    return (double)(k % 13 - 6) * scale + (double)(k % 5) * fine;
  }
}

static void *numbers(int form, double scale, merbit_type type) {
  void *made = products_exact(nnz, products_size(type));
  int64_t k;
  for (k = 0; k < nnz; k++) {
    products_set(made, k, value_of(form, k, scale, type), type);
  }
  return made;
}

static double number(const void *array, int64_t i, merbit_type type) {
  return type == MERBIT_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void expect_product(merbit_plan *plan, const void *values, merbit_type type) {
  char x[COLS * 8], y[ROWS * 8];
  int64_t row, k;
  for (k = 0; k < COLS; k++) {
    products_set(x, k, (double)(k % 7 - 3), type);
  }
  memset(y, 0xff, sizeof y);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  for (row = 0; row < ROWS; row++) {
    double sum = 0;
    for (k = row_ptr[row]; k < row_ptr[row + 1]; k++) {
      sum += number(values, k, type) * (double)(col_ind[k] % 7 - 3);
    }
    if (number(y, row, type) != sum) {
      fail_msg("y[%d] is %a, not %a", (int)row, number(y, row, type), sum);
    }
  }
}

static void expect_form(const merbit_plan *plan, const char *form) {
  char line[1024];
  (void)merbit_plan_describe(plan, line, sizeof line);
  if (strstr(line, form) == NULL) {
    fail_msg("not \"%s\": %s", form, line);
  }
}

static merbit_plan *plan_of(merbit_view *view, merbit_method method, int calls, int changing) {
  merbit_plan_desc desc;
  merbit_plan *plan;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.method = method;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.expected_calls = calls;
  desc.changing_values = changing;
  assert_int_equal(merbit_plan_create(gpu, view, &desc, &plan), MERBIT_OK);
  return plan;
}

/* What a plan with many calls stores; `single`: of f32. */
static const char *expected(int form, int single, int method, int calls, int changing) {
  return gpu_methods[method] == MERBIT_METHOD_MERBIT || changing || calls < 8 ? "general values"
         : form == EQUAL || form == FINE ? "values all equal"
         : form == FLOATS && !single     ? "values exact in f32"
                                         : "general values";
}

static void every_method_takes_every_form(void **state) {
  int method, form, single, way;
  (void)state;
  for (method = 0; method < GPU_METHODS; method++) {
    for (form = 0; form < FORMS; form++) {
      for (single = 0; single < 2; single++) {
        for (way = 0; way < 3; way++) {
          const merbit_type type = single ? MERBIT_F32 : MERBIT_F64;
          const int calls = way == 1 ? 7 : 8, changing = way == 2;
          void *values = numbers(form, 1, type);
          merbit_view view = merbit_csr(ROWS, COLS, nnz, row_ptr, col_ind, values);
          merbit_plan *plan;
          view.value_type = type;
          plan = plan_of(&view, gpu_methods[method], calls, changing);
          expect_form(plan, expected(form, single, method, calls, changing));
          expect_product(plan, values, type);
          merbit_plan_destroy(plan);
          free(values);
        }
      }
    }
  }
}

/* New values that fit stay short; others make the plan general for good. A borrowed array is
 * left alone. */
static void new_values_of_every_form(void **state) {
  int method, form, then, single, device;
  (void)state;
  for (method = 0; method < GPU_METHODS; method++) {
    for (form = 0; form < FORMS * FORMS * 4; form++) {
      const char *now;
      void *values, *fresh;
      merbit_buffer *buffers[4];
      merbit_view view;
      merbit_plan *plan;
      merbit_type type;
      size_t bytes;
      then = form / 4 % FORMS;
      single = form & 1;
      device = form >> 1 & 1;
      type = single ? MERBIT_F32 : MERBIT_F64;
      bytes = (size_t)nnz * products_size(type);
      values = numbers(form / 4 / FORMS, 1, type);
      fresh = numbers(then, 2, type);
      view = merbit_csr(ROWS, COLS, nnz, row_ptr, col_ind, values);
      view.value_type = type;
      (void)products_move(gpu, row_ptr, sizeof row_ptr, &buffers[0]);
      (void)products_move(gpu, col_ind, (size_t)nnz * 4, &buffers[1]);
      (void)products_move(gpu, values, bytes, &buffers[2]);
      (void)products_move(gpu, fresh, bytes, &buffers[3]);
      if (device) {
        view.memory = MERBIT_MEMORY_DEVICE;
        view.row_ptr = merbit_buffer_pointer(buffers[0]);
        view.col_ind = merbit_buffer_pointer(buffers[1]);
        view.values = merbit_buffer_pointer(buffers[2]);
      }
      plan = plan_of(&view, gpu_methods[method], 0, 0);
      now = expected(form / 4 / FORMS, single, method, 100, 0);
      expect_form(plan, now);
      if (strcmp(now, "values all equal") == 0 && then != EQUAL && then != FINE) {
        now = "general values";
      } else if (strcmp(now, "values exact in f32") == 0 && (then == GENERAL || then == FINE)) {
        now = "general values";
      }
      assert_int_equal(merbit_plan_update_values(
                           plan, form / 8 % 2 ? merbit_buffer_pointer(buffers[3]) : fresh,
                           form / 8 % 2 ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST),
                       MERBIT_OK);
      expect_form(plan, now);
      expect_product(plan, fresh, type);
      assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST), MERBIT_OK);
      expect_product(plan, values, type);
      assert_int_equal(merbit_buffer_download(buffers[2], 0, fresh, bytes), MERBIT_OK);
      assert_memory_equal(fresh, values, bytes);
      merbit_plan_destroy(plan);
      for (then = 0; then < 4; then++) {
        merbit_buffer_destroy(buffers[then]);
      }
      free(values);
      free(fresh);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method_takes_every_form),
      cmocka_unit_test(new_values_of_every_form),
  };
  int failed;
  structure();
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
