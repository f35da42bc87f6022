/* Solvers on the CPU: solver_cases.h, and features that only one side has. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/cpu.h"
#include "solve/eigen/eigen_cases.h"
#include "solve/core/gmres_cases.h"
#include "support/unknown.h"

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

typedef struct huge_later { /* 1e200 times r, but r itself in the first `harmless` calls */
  int harmless, calls;
} huge_later;

static int apply_huge(void *user, const void *r, void *z, int64_t n, void *stream) {
  huge_later *h = (huge_later *)user;
  const double factor = h->calls++ < h->harmless ? 1 : 1e200;
  int64_t i;
  (void)stream;
  for (i = 0; i < n; i++) {
    ((double *)z)[i] = factor * ((const double *)r)[i];
  }
  return 0;
}

/* p'Ap overflows, although p and A p do not: alpha would be 0, and x would not move. */
static void test_infinite_curvature(void **state) {
  static const dense d = {3, {1, 0, 0, 0, 2, 0, 0, 0, 4}, {1, 2, 3}};
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  huge_later h = {0, 0};
  double x[3];
  solved s;
  (void)state;
  desc.preconditioner = MERBIT_PRECONDITIONER_CALLBACK;
  desc.apply = apply_huge;
  desc.apply_user = &h;
  s = solve_dense(&d, &desc, x);
  expect_stop(&s, MERBIT_STOP_NOT_FINITE,
              "a number overflowed or was not finite by iteration 0: look at A, b, the first x "
              "and what solver_desc.apply computes");
  h.harmless = 2;
  h.calls = 0;
  s = solve_dense(&d, &desc, x);
  expect_stop(&s, MERBIT_STOP_NOT_FINITE, "if these are finite, the method diverges");
}

typedef struct other_each_time { /* a diagonal that differs each time: GMRES tolerates that */
  const linear *l;
  int calls;
} other_each_time;

static int apply_other(void *user, const void *r, void *z, int64_t n, void *stream) {
  other_each_time *o = (other_each_time *)user;
  int64_t i;
  (void)stream;
  o->calls++;
  for (i = 0; i < n; i++) {
    ((double *)z)[i] =
        ((const double *)r)[i] * (o->calls % 2 == 0 ? 0.2 : 0.3 + 0.1 * (double)(i % 3));
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

static cpu_memory memory;

/* A failing allocation is reported or done without, and nothing leaks. */
static void test_allocation(void **state) {
  linear l = eigen_path(30, 1);
  const merbit_eigen_desc desc = eigen_desc(MERBIT_EIGEN_LARGEST, 2, 1e-6);
  const merbit_solver_desc gmres = gmres_desc(5, 1e-3);
  const long live = memory.live;
  double x[30];
  int solves, at, refused = 0;
  (void)state;
  l.b = (double *)test_allocate(30, sizeof *l.b);
  l.b[3] = 1;
  for (solves = 0; solves <= 1; solves++) {
    at = 0;
    do {
      static pairs p;
      merbit_status status;
      memory.fail_at = memory.made + ++at;
      if (solves) {
        status = solve_once(&l, &gmres, x).status;
      } else {
        eigen_once(&l, &desc, &p);
        status = p.status;
      }
      assert_true(status == MERBIT_OK || status == MERBIT_OUT_OF_MEMORY);
      assert_int_equal(memory.live, live);
      refused += status != MERBIT_OK;
    } while (memory.made >= memory.fail_at);
    assert_true(at > 6);
  }
  assert_true(refused > 12);
  memory.fail_at = 0;
  linear_free(&l);
}

static merbit_status try_create(const merbit_solver_desc *desc, const merbit_view *view) {
  merbit_solver *solver = (merbit_solver *)context;
  const merbit_status status = merbit_solver_create(context, view, desc, &solver);
  assert_true((status == MERBIT_OK) == (solver != NULL));
  merbit_solver_destroy(solver);
  return status;
}

#define REFUSED(change, status, piece)                                                         \
  {                                                                                            \
    merbit_solver_desc d = good;                                                               \
    merbit_view v = view;                                                                      \
    change;                                                                                    \
    assert_int_equal(try_create(&d, &v), status);                                              \
    cpu_expect(context, status, piece);                                                        \
  }

static void test_refusals(void **state) {
  linear l = linear_grid(3, 0, 1, 0);
  const merbit_view view = linear_view(&l);
  const merbit_solver_desc good = solver_desc(MERBIT_SOLVER_CG, 0);
  merbit_solver_result result;
  merbit_solver *solver;
  double x[9];
  (void)state;
  REFUSED(d.method = (merbit_solver_method)0, MERBIT_INVALID_ARGUMENT,
          "choose MERBIT_SOLVER_CG")
  REFUSED(d.method = unknown_solver(), MERBIT_INVALID_ARGUMENT,
          unknown_words("method", (int)unknown_solver()))
  REFUSED(d.tolerance = -1, MERBIT_INVALID_ARGUMENT, "tolerance is -1")
  REFUSED(d.tolerance = 1, MERBIT_INVALID_ARGUMENT, "tolerance is 1")
  REFUSED(d.tolerance = (double)NAN, MERBIT_INVALID_ARGUMENT, "tolerance is")
  REFUSED(d.max_iterations = -2, MERBIT_INVALID_ARGUMENT, "max_iterations is -2")
  REFUSED(d.side = (merbit_side)7, MERBIT_INVALID_ARGUMENT, "side is 7")
  REFUSED(d.side = MERBIT_SIDE_CUDA, MERBIT_NO_DEVICE, "CUDA")
  REFUSED(d.vector_memory = (merbit_memory)9, MERBIT_INVALID_ARGUMENT, "vector_memory is 9")
  REFUSED(d.vector_memory = MERBIT_MEMORY_DEVICE, MERBIT_INVALID_ARGUMENT,
          "computes on the CPU")
  REFUSED(d.preconditioner = (merbit_preconditioner_kind)8, MERBIT_INVALID_ARGUMENT, "is 8")
  REFUSED(d.preconditioner = MERBIT_PRECONDITIONER_CALLBACK, MERBIT_INVALID_ARGUMENT, "NULL")
  REFUSED(d.block_size = 33, MERBIT_INVALID_ARGUMENT, "block_size is 33")
  REFUSED(d.block_size = 3, MERBIT_INVALID_ARGUMENT,
          "block_size is 3, but solver_desc.preconditioner is MERBIT_PRECONDITIONER_NONE")
  REFUSED(d.block_size = 1;
          d.preconditioner = MERBIT_PRECONDITIONER_JACOBI, MERBIT_INVALID_ARGUMENT,
          "is MERBIT_PRECONDITIONER_JACOBI; use MERBIT_PRECONDITIONER_BLOCK_JACOBI")
  REFUSED(d.apply = apply_other, MERBIT_INVALID_ARGUMENT,
          "apply is given, but solver_desc.preconditioner is MERBIT_PRECONDITIONER_NONE")
  REFUSED(d.apply = apply_other;
          d.preconditioner = MERBIT_PRECONDITIONER_BLOCK_JACOBI, MERBIT_INVALID_ARGUMENT,
          "is MERBIT_PRECONDITIONER_BLOCK_JACOBI; use MERBIT_PRECONDITIONER_CALLBACK")
  REFUSED(d.expected_solves = -1, MERBIT_INVALID_ARGUMENT, "expected_solves is -1")
  REFUSED(v.cols = 10, MERBIT_INVALID_MATRIX, "9 x 10")
  REFUSED(v.nnz = 1 << 24, MERBIT_INVALID_MATRIX, "row_ptr[rows] is 33 but nnz is 16777216")
  REFUSED(v.nnz = 1 << 24;
          d.refine = 1, MERBIT_INVALID_MATRIX, "row_ptr[rows] is 33 but nnz is 16777216")
  REFUSED(v.memory = MERBIT_MEMORY_DEVICE;
          d.refine = 1, MERBIT_INVALID_ARGUMENT, "this context computes on the CPU")
  REFUSED(v.value_type = MERBIT_C128, MERBIT_NOT_SUPPORTED, "solvers take")
  REFUSED(d.refine = 1;
          v.value_type = MERBIT_F32, MERBIT_NOT_SUPPORTED, "refine needs MERBIT_F64")
  REFUSED(d.refine = 1; d.reorder = 1, MERBIT_NOT_SUPPORTED,
                        "together with solver_desc.reorder 1, which it does not support")
  REFUSED(d.refine = 1; d.apply = apply_other;
          d.preconditioner = MERBIT_PRECONDITIONER_CALLBACK, MERBIT_NOT_SUPPORTED,
          "together with MERBIT_PRECONDITIONER_CALLBACK, which it does not support")
  REFUSED(d.reorder = 1; v.format = MERBIT_BSR;
          v.block_rows = v.block_cols = 1, MERBIT_NOT_SUPPORTED, "solver_desc.reorder moves")
  assert_int_equal(merbit_solver_create(NULL, &view, &good, &solver), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_solver_create(context, NULL, &good, &solver),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_solver_create(context, &view, &good, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_solver_create(context, &view, NULL, &solver),
                   MERBIT_INVALID_ARGUMENT);
  assert_null(solver);
  assert_int_equal(merbit_solver_create(context, &view, &good, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(NULL, l.b, x, 0, NULL, 0, NULL),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_solver_solve(solver, NULL, x, 0, NULL, 0, &result),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`b` is NULL");
  assert_int_equal(merbit_solver_solve(solver, l.b, l.b + 4, 0, NULL, 0, &result),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "b and x overlap");
  assert_int_equal(merbit_solver_update_values(NULL, l.values, MERBIT_MEMORY_HOST),
                   MERBIT_INVALID_ARGUMENT);
  merbit_solver_destroy(solver);
  merbit_solver_destroy(NULL);
  linear_free(&l);
}

/* A plan is made for 1000 products per solve, up to the limit of its field. */
static void test_expected_solves(void **state) {
  static const struct {
    int64_t solves;
    int calls;
  } table[] = {{0, 1000},
               {1, 1000},
               {7, 7000},
               {INT32_MAX / 1000, INT32_MAX / 1000 * 1000},
               {INT32_MAX / 1000 + 1, INT32_MAX},
               {INT64_C(1) << 40, INT32_MAX},
               {INT64_C(18446744073709552), INT32_MAX}, /* times 1000: 384 if 64 bits wrap */
               {INT64_MAX, INT32_MAX}};
  linear l = linear_grid(3, 0, 1, 0);
  const merbit_view view = linear_view(&l);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  size_t i;
  (void)state;
  desc.reorder = -1;
  for (i = 0; i < sizeof table / sizeof table[0]; i++) {
    merbit_solver *solver;
    desc.expected_solves = table[i].solves;
    assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
    assert_int_equal(solver->plan->desc.expected_calls, table[i].calls);
    merbit_solver_destroy(solver);
  }
  linear_free(&l);
}

/* Each allocation fails once: a clean error, and no leak. */
static void check_allocations(const linear *l) {
  const merbit_view view = linear_view(l);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  merbit_context *kept = context;
  long at, failed = 0;
  desc.preconditioner = MERBIT_PRECONDITIONER_BLOCK_JACOBI;
  for (at = 1; at < 200; at++) {
    cpu_memory memory;
    merbit_solver *solver;
    double x[16];
    merbit_status status;
    int done;
    context = cpu_open(&memory, 1);
    memory.fail_at = memory.made + at;
    desc.refine = at % 2;
    status = merbit_solver_create(context, &view, &desc, &solver);
    if (status == MERBIT_OK) {
      status = merbit_solver_solve(solver, l->b, x, 0, NULL, 0, NULL);
    }
    done = memory.made < memory.fail_at;
    if (status != MERBIT_OK) {
      assert_int_equal(status, MERBIT_OUT_OF_MEMORY);
      cpu_expect(context, MERBIT_OUT_OF_MEMORY, "memory");
      failed++;
    } else {
      assert_true(linear_residual(l, x, 0) <= 1.001e-10);
    }
    merbit_solver_destroy(solver);
    merbit_context_destroy(context);
    assert_int_equal(memory.live, 0);
    if (done && at > 60) {
      break;
    }
  }
  assert_true(failed > 12);
  context = kept;
}

static void test_allocations(void **state) {
  linear l = linear_grid(4, 0, 1, 0);
  int32_t k;
  (void)state;
  check_allocations(&l);
  for (k = 0; k < l.nnz; k++) { /* values that are scaled, and then b */
    l.values[k] = ldexp(l.values[k], -550);
  }
  check_allocations(&l);
  for (k = 0; k < l.n; k++) {
    l.b[k] = ldexp(l.b[k], -600);
  }
  check_allocations(&l);
  linear_free(&l);
}

static void test_stop_names(void **state) {
  (void)state;
  assert_string_equal(merbit_stop_name(MERBIT_STOP_CONVERGED), "MERBIT_STOP_CONVERGED");
  assert_string_equal(merbit_stop_name(MERBIT_STOP_CAP), "MERBIT_STOP_CAP");
  assert_string_equal(merbit_stop_name(MERBIT_STOP_CANCELLED), "MERBIT_STOP_CANCELLED");
  assert_string_equal(merbit_stop_name(MERBIT_STOP_NOT_FINITE), "MERBIT_STOP_NOT_FINITE");
  assert_string_equal(merbit_stop_name(MERBIT_STOP_STAGNATED), "MERBIT_STOP_STAGNATED");
  assert_string_equal(merbit_stop_name(MERBIT_STOP_BREAKDOWN), "MERBIT_STOP_BREAKDOWN");
  assert_string_equal(merbit_stop_name((merbit_stop)6), "MERBIT_UNKNOWN_STOP");
  assert_string_equal(merbit_stop_name((merbit_stop)-1), "MERBIT_UNKNOWN_STOP");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SOLVER_CASES,
      cmocka_unit_test(test_stop_names),
      GMRES_CASES,
      EIGEN_CASES,
      cmocka_unit_test(test_callback),
      cmocka_unit_test(test_infinite_curvature),
      cmocka_unit_test(test_flexible_callback),
      cmocka_unit_test(test_allocation),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_expected_solves),
      cmocka_unit_test(test_allocations),
  };
  int failed;
  context = cpu_open(&memory, 2);
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  return failed + (memory.live != 0);
}
