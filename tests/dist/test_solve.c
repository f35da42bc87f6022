/* CG, BiCGSTAB and PageRank on 1 to 4 ranks: the true residual meets the tolerance, iterations
 * are about as many as merbit's solver needs on one process, and every solve stops where it
 * should. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "dist/solves.h"

static void systems_are_solved_as_by_one_process(void **state) {
  int which;
  (void)state;
  for (which = 0; which < 8; which++) {
    test_matrix m;
    solve_case c;
    memset(&c, 0, sizeof c);
    c.m = &m;
    c.single = which / 4;
    c.desc.method = which % 2 ? MERBIT_SOLVER_BICGSTAB : MERBIT_SOLVER_CG;
    c.desc.preconditioner =
        which / 2 % 2 ? MERBIT_PRECONDITIONER_JACOBI : MERBIT_PRECONDITIONER_NONE;
    c.desc.tolerance = c.single ? 1e-4 : 1e-9;
    solve_matrix(23, which % 2 ? 0.4 : 0, &m);
    solve_split_diagonal(&m);
    c.iterations = solve_alone(&c);
    assert_true(c.iterations > 5);
    solve_run(&c);
    c.updated = 1;
    solve_run(&c);
    test_matrix_free(&m);
  }
}

static void each_stop_is_told(void **state) {
  test_matrix m;
  solve_case c;
  int64_t k;
  (void)state;
  solve_matrix(15, 0, &m);
  memset(&c, 0, sizeof c);
  c.m = &m;
  c.desc.method = MERBIT_SOLVER_CG;
  c.desc.tolerance = 1e-9;
  c.start_from_x = 1; /* from a given x */
  solve_run(&c);
  c.zero_b = 1; /* x = 0 */
  solve_run(&c);
  c.zero_b = 0;
  c.start_from_x = 0;
  c.desc.max_iterations = 3;
  c.stop = MERBIT_STOP_CAP;
  solve_run(&c);
  c.desc.max_iterations = 0;
  for (k = 0; k < m.nnz; k++) { /* negative definite: p'q < 0 */
    m.values[k] = -m.values[k];
  }
  c.stop = MERBIT_STOP_BREAKDOWN;
  solve_run(&c);
  m.values[m.nnz / 2] = INFINITY;
  c.stop = MERBIT_STOP_NOT_FINITE;
  c.start_from_x = 1;
  solve_run(&c);
  test_matrix_free(&m);
}

/* A p has only finite elements, but its products with p and with itself overflow. */
static void a_sum_that_overflows_leaves_x(void **state) {
  static const double sizes[] = {2e306, 1e160};
  size_t s;
  (void)state;
  for (s = 0; s < 2; s++) {
    test_matrix m;
    solve_case c;
    int64_t k;
    solve_matrix(15, 0, &m);
    for (k = 0; k < m.nnz; k++) {
      m.values[k] *= sizes[s];
    }
    memset(&c, 0, sizeof c);
    c.m = &m;
    c.desc.method = s == 0 ? MERBIT_SOLVER_CG : MERBIT_SOLVER_BICGSTAB;
    c.desc.max_iterations = 9;
    c.stop = MERBIT_STOP_NOT_FINITE;
    solve_run(&c);
    c.desc.method = MERBIT_SOLVER_BICGSTAB;
    solve_run(&c);
    test_matrix_free(&m);
  }
}

/* A residual relative to ||b|| cannot be told, and 0 would be that of a solution. */
static void a_tiny_b_has_no_residual(void **state) {
  test_matrix m;
  solve_case c;
  (void)state;
  solve_matrix(15, 0, &m);
  memset(&c, 0, sizeof c);
  c.m = &m;
  c.desc.method = MERBIT_SOLVER_CG;
  c.tiny_b = c.start_from_x = 1;
  c.stop = MERBIT_STOP_NOT_FINITE;
  solve_run(&c);
  test_matrix_free(&m);
}

static void pagerank_is_that_of_one_process(void **state) {
  (void)state;
  page_run(MERBIT_SIDE_CPU, 1, 4, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(systems_are_solved_as_by_one_process),
      cmocka_unit_test(each_stop_is_told),
      cmocka_unit_test(a_sum_that_overflows_leaves_x),
      cmocka_unit_test(a_tiny_b_has_no_residual),
      cmocka_unit_test(pagerank_is_that_of_one_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
