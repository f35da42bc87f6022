/* Preconditioners on the CPU: preconditioner_cases.h with one and with three threads. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/cpu.h"
#include "solve/precondition/preconditioner_cases.h"

static int open_one(void **state) {
  (void)state;
  context = cpu_open(NULL, 1);
  return 0;
}

static int open_three(void **state) {
  (void)state;
  context = cpu_open(NULL, 3);
  return 0;
}

static int close_it(void **state) {
  (void)state;
  merbit_context_destroy(context);
  return 0;
}

/* A context without a GPU cannot make a preconditioner there, nor read values from there. */
static void test_no_device(void **state) {
  static sparse a;
  static typed t;
  merbit_preconditioner *p;
  merbit_preconditioner_desc desc = kind_desc(MERBIT_PRECONDITIONER_FSAI);
  (void)state;
  a = sparse_mesh(3, 3, 3, 0);
  desc.side = MERBIT_SIDE_CUDA;
  expect_refused(typed_view(&t, &a, MERBIT_F64), &desc, MERBIT_NO_DEVICE,
                 "preconditioner_desc.side is MERBIT_SIDE_CUDA");
  desc.side = MERBIT_SIDE_CPU;
  p = make(&t.view, &desc);
  assert_int_equal(merbit_preconditioner_update_values(p, a.values, MERBIT_MEMORY_DEVICE),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`memory` is MERBIT_MEMORY_DEVICE");
  merbit_preconditioner_destroy(p);
}

/* Values are not read if there are fewer of them than the view says, or if they are in the
 * memory of a GPU that is not there. */
static void test_wrong_values(void **state) {
  static sparse a;
  static typed t;
  merbit_preconditioner_desc desc = kind_desc(MERBIT_PRECONDITIONER_JACOBI);
  merbit_view view;
  (void)state;
  a = sparse_mesh(3, 3, 3, 0);
  view = *typed_view(&t, &a, MERBIT_F64);
  view.nnz = 1 << 24;
  desc.single = 1;
  expect_refused(&view, &desc, MERBIT_INVALID_MATRIX, "but nnz is 16777216");
  view = t.view;
  view.memory = MERBIT_MEMORY_DEVICE;
  expect_refused(&view, &desc, MERBIT_INVALID_ARGUMENT, "this context computes on the CPU");
}

int main(void) {
  const struct CMUnitTest own[] = {cmocka_unit_test(test_no_device),
                                   cmocka_unit_test(test_wrong_values)};
  int failed = cmocka_run_group_tests(preconditioner_cases, open_one, close_it);
  failed += cmocka_run_group_tests(preconditioner_cases, open_three, close_it);
  return failed + cmocka_run_group_tests(own, open_one, close_it);
}
