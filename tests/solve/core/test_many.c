/* Several right-hand sides at once on the CPU: many_cases.h, callbacks, and missing memory. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/cpu.h"
#include "solve/core/solver_cases.h"
#include "solve/core/many_cases.h"

/* A callback is called for each vector until it has ended. */
static void test_many_callback(void **state) {
  static many_system m;
  merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_CALLBACK, 5);
  merbit_solver *solver;
  applied a;
  int k, calls;
  (void)state;
  many_make(&m);
  memcpy(&m.b[2 * MANY_B], &m.b[3 * MANY_B], MANY_N * sizeof(double)); /* no scaling here */
  memset(&a, 0, sizeof a);
  a.l = &m.l;
  desc.apply = apply_diagonal;
  desc.apply_user = &a;
  solver = many_solver(&m, &desc);
  assert_int_equal(many_solve(solver, &m, 5, 0), MERBIT_OK);
  calls = a.calls;
  many_alone(solver, &m, 5, 0);
  for (k = 0; k < 5; k++) {
    many_expect(&m, k);
    calls -= m.results[k].iterations + 1;
  }
  assert_int_equal(calls, 0);
  a.stop_at = a.calls + 12;
  assert_int_equal(many_solve(solver, &m, 5, 0), MERBIT_CANCELLED);
  cpu_expect(context, MERBIT_CANCELLED, "solver_desc.apply");
  merbit_solver_destroy(solver);
  linear_free(&m.l);
}

/* A round takes a tenth of a second; then the user stops all vectors. */
static int many_slow(void *user, int iteration, double residual, double seconds) {
  (void)seconds;
  *(int *)user = iteration;
  assert_true(residual > 0 && iteration > 0);
  return 1;
}

static int many_wait(void *user, const void *r, void *z, int64_t n, void *stream) {
  const double begin = mbi_seconds();
  (void)user;
  (void)stream;
  memcpy(z, r, (size_t)n * sizeof(double));
  while (mbi_seconds() - begin < MBI_SOLVE_ROUND_SECONDS / 4) {
  }
  return 0;
}

static void test_many_cancelled(void **state) {
  static many_system m;
  merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_CALLBACK, 2);
  merbit_solver *solver;
  linear l;
  int iteration = 0;
  (void)state;
  many_make(&m);
  desc.apply = many_wait;
  desc.progress = many_slow;
  desc.progress_user = &iteration;
  solver = many_solver(&m, &desc);
  assert_int_equal(many_solve(solver, &m, 2, 0), MERBIT_OK);
  assert_int_equal(m.results[0].stop, MERBIT_STOP_CANCELLED);
  assert_int_equal(m.results[0].iterations, iteration);
  assert_int_equal(m.results[1].stop, MERBIT_STOP_CONVERGED);
  l = m.l;
  assert_true(fabs(m.results[0].residual - linear_residual(&l, m.x, 0)) <= 1e-12);
  merbit_solver_destroy(solver);
  linear_free(&m.l);
}

/* A cancelled vector iterates on until one has ended whose tiny b is scaled. */
static void test_many_cancelled_beside_scaled(void **state) {
  static many_system m;
  merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_CALLBACK, 2);
  merbit_solver *solver;
  int iteration = 0, i;
  (void)state;
  many_make(&m);
  for (i = 0; i < MANY_N; i++) {
    m.b[MANY_B + i] = ldexp(m.l.b[i], -830);
  }
  desc.apply = many_wait;
  desc.progress = many_slow;
  desc.progress_user = &iteration;
  desc.max_iterations = 12;
  solver = many_solver(&m, &desc);
  assert_int_equal(many_solve(solver, &m, 2, 0), MERBIT_OK);
  assert_int_equal(m.results[0].stop, MERBIT_STOP_CANCELLED);
  assert_true(fabs(m.results[0].residual - linear_residual(&m.l, m.x, 0)) <= 1e-12);
  merbit_solver_destroy(solver);
  linear_free(&m.l);
}

static cpu_memory memory;

/* Each allocation fails once: a clean error, and no leak. */
static void test_many_allocations(void **state) {
  static many_system m;
  merbit_context *kept = context;
  int at, failed = 0, done = 0;
  (void)state;
  many_make(&m);
  for (at = 1; !done; at++) {
    cpu_memory counted;
    const merbit_view view = linear_view(&m.l);
    merbit_solver_desc desc;
    merbit_solver *solver;
    merbit_status status;
    context = cpu_open(&counted, 1);
    desc = many_desc(MERBIT_PRECONDITIONER_JACOBI, 4);
    counted.fail_at = counted.made + at;
    status = merbit_solver_create(context, &view, &desc, &solver);
    if (status == MERBIT_OK) {
      status = many_solve(solver, &m, 4, 0); /* one of them is scaled */
    }
    done = counted.made < counted.fail_at;
    if (status != MERBIT_OK) {
      cpu_expect(context, MERBIT_OUT_OF_MEMORY, "memory");
      failed++;
    }
    merbit_solver_destroy(solver);
    merbit_context_destroy(context);
    assert_int_equal(counted.live, 0);
    assert_true(!done || status == MERBIT_OK);
  }
  assert_true(failed > 12);
  context = kept;
  linear_free(&m.l);
}

/* Allocates memory filled with NaN: products also multiply p of a vector that needs no
 * iteration, and are slow for NaN. */
static void *many_of_nan(void *user, size_t bytes) {
  void *block = cpu_allocate(user, bytes);
  return block == NULL ? NULL : memset(block, 0xff, bytes);
}

static void test_many_new_memory(void **state) {
  static many_system m;
  merbit_context *kept = context;
  cpu_memory counted;
  merbit_context_desc desc = cpu_desc(&counted, 1);
  const merbit_solver_desc of_solver = many_desc(MERBIT_PRECONDITIONER_AMG, 4);
  merbit_solver *solver;
  const double *p;
  int64_t i;
  (void)state;
  many_make(&m);
  desc.allocator.allocate = many_of_nan;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  solver = many_solver(&m, &of_solver);
  assert_int_equal(many_solve(solver, &m, 2, 0), MERBIT_OK); /* the second b is zero */
  p = (const double *)solver->many->v.at[MBI_CG_P];
  for (i = 0; i < 4 * solver->many->v.stride; i++) {
    assert_true(p[i] == p[i]);
  }
  merbit_solver_destroy(solver);
  merbit_context_destroy(context);
  assert_int_equal(counted.live, 0);
  context = kept;
  linear_free(&m.l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MANY_CASES,
      cmocka_unit_test(test_many_new_memory),
      cmocka_unit_test(test_many_callback),
      cmocka_unit_test(test_many_cancelled),
      cmocka_unit_test(test_many_cancelled_beside_scaled),
      cmocka_unit_test(test_many_allocations),
  };
  int failed;
  context = cpu_open(&memory, 2);
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  return failed + (memory.live != 0);
}
