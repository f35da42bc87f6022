/* Solvers on the CPU: solver_cases.h, and what only one side has. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/cpu.h"
#include "solve/eigen_cases.h"
#include "solve/gmres_cases.h"

static void test_callback(void **state) {
  linear l = linear_grid(9, 0, 3, 0), windy = linear_grid(9, 0.3, 2, 0);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
  applied a;
  double x[81];
  solved s;
  (void)state;
  memset(&a, 0, sizeof a);
  a.l = &l;
  desc.preconditioner = MERBIT_PRECONDITIONER_CALLBACK;
  desc.apply = apply_diagonal;
  desc.apply_user = &a;
  s = solve_once(&l, &desc, x);
  check_converged(&l, &s, 1e-9, reference_cg(&l, 1, 1e-9, 1000), x);
  assert_int_equal(a.calls, s.result.iterations + 1);
  a.stop_at = a.calls + 5;
  s = solve_once(&l, &desc, x);
  assert_int_equal(s.status, MERBIT_CANCELLED);
  cpu_expect(context, MERBIT_CANCELLED, "solver_desc.apply");
  a.l = &windy;
  a.calls = a.stop_at = 0;
  desc.method = MERBIT_SOLVER_BICGSTAB;
  s = solve_once(&windy, &desc, x);
  check_converged(&windy, &s, 1e-9, reference_bicgstab(&windy, 1, 1e-9, 1000), x);
  linear_free(&l);
  linear_free(&windy);
}

typedef struct other_each_time { /* a diagonal that is not the same twice: GMRES bears that */
  const linear *l;
  int calls;
} other_each_time;

static int apply_other(void *user, const void *r, void *z, int64_t n, void *stream) {
  other_each_time *o = (other_each_time *)user;
  int64_t i;
  (void)stream;
  o->calls++;
  for (i = 0; i < n; i++) {
    ((double *)z)[i] = ((const double *)r)[i] * (o->calls % 2 == 0 ? 0.2 : 0.3 + 0.1 * (double)(i % 3));
  }
  return 0;
}

static void test_flexible_callback(void **state) {
  linear l = linear_grid(9, 0.3, 1, 0);
  merbit_solver_desc desc = gmres_desc(12, 1e-9);
  other_each_time o = {&l, 0};
  double x[81];
  solved s;
  (void)state;
  desc.preconditioner = MERBIT_PRECONDITIONER_CALLBACK;
  desc.apply = apply_other;
  desc.apply_user = &o;
  s = solve_once(&l, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  assert_true(o.calls == s.result.iterations && s.result.restarts > 0);
  assert_true(linear_residual(&l, x, 0) <= 1.001e-9);
  assert_true(fabs(s.result.residual - s.result.estimated_residual) <= 1e-12);
  linear_free(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SOLVER_CASES,
      GMRES_CASES,
      EIGEN_CASES,
      cmocka_unit_test(test_callback),
      cmocka_unit_test(test_flexible_callback),
  };
  cpu_memory memory;
  int failed;
  context = cpu_open(&memory, 2);
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  return failed + (memory.live != 0);
}
