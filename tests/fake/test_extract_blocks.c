/* Updates the values of extracted blocks after an update that failed at each driver call. Every
 * entry occurs twice, so that there are more values than entries in blocks. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/scenario_bed.h"

enum { SIDE = 30, TWICE = 2 * SIDE * 2 };

static void after_a_failure(void **state) {
  int32_t row_ptr[SIDE + 1], col_ind[TWICE];
  double values[TWICE], x[SIDE], y[SIDE];
  merbit_context_desc context_desc;
  merbit_context *context;
  merbit_plan *plan;
  merbit_plan_desc desc;
  merbit_plan_info before, after;
  merbit_buffer *b[3] = {NULL, NULL, NULL};
  merbit_view view = merbit_csr(SIDE, SIDE, TWICE, NULL, NULL, NULL);
  int i, at, failed = 1;
  (void)state;
  fake_reset();
  context_desc = fake_desc(MERBIT_SIDE_CUDA);
  assert_int_equal(merbit_context_create(&context_desc, &context, NULL), MERBIT_OK);
  for (i = 0; i < TWICE; i++) { /* full blocks of 2 x 2 on the diagonal */
    col_ind[i] = i / 8 * 2 + i % 4 / 2;
    values[i] = 1;
  }
  for (i = 0; i <= SIDE; i++) {
    row_ptr[i] = 4 * i;
    x[i % SIDE] = (double)(i % SIDE);
  }
  assert_int_equal(put(context, row_ptr, sizeof row_ptr, &b[0]), MERBIT_OK);
  assert_int_equal(put(context, col_ind, sizeof col_ind, &b[1]), MERBIT_OK);
  assert_int_equal(put(context, values, sizeof values, &b[2]), MERBIT_OK);
  view.memory = MERBIT_MEMORY_DEVICE;
  view.row_ptr = merbit_buffer_pointer(b[0]);
  view.col_ind = merbit_buffer_pointer(b[1]);
  view.values = merbit_buffer_pointer(b[2]);
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_BSR;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.block_rows = desc.block_cols = 2;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_get_info(plan, &before), MERBIT_OK);
  for (at = 1; failed; at++) {
    cuda->calls.failed = 0;
    cuda->calls.code = 2;
    cuda->calls.fail_at = cuda->calls.made + at;
    (void)merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST);
    failed = cuda->calls.failed > 0;
    cuda->calls.fail_at = 0;
    for (i = 0; i < TWICE; i++) {
      values[i] = at;
    }
    assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST), MERBIT_OK);
    assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
    for (i = 0; i < SIDE; i++) {
      assert_true(y[i] == 2 * at * (x[i / 2 * 2] + x[i / 2 * 2 + 1]));
    }
    assert_int_equal(merbit_plan_get_info(plan, &after), MERBIT_OK);
    assert_int_equal(after.device_bytes, before.device_bytes);
  }
  assert_true(at > 5);
  merbit_plan_destroy(plan);
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(b[i]);
  }
  merbit_context_destroy(context);
  fake_expect_clean();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(after_a_failure),
  };
  fake_open("new");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
