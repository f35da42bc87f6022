/* The systems pde:NAME:SIDE: symmetry, signs and row sums, and convection against its
 * definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-function" /* the benchmark uses them all */
#include "../../bench/pde.h"

static void system_of(const char *name, int side, bench_matrix *m) {
  char spec[64];
  double *near;
  (void)snprintf(spec, sizeof spec, "pde:%s:%d", name, side);
  assert_true(bench_pde_find(spec, m, &near));
  assert_null(near);
}

static double entry(const bench_matrix *m, int64_t row, int64_t column) {
  const int64_t at = bench_matrix_find(m, row, column);
  return at < 0 ? 0 : m->values[at];
}

static void rows_are_those_of_m_matrices(void **state) {
  int i;
  (void)state;
  for (i = 0; i < BENCH_PDES; i++) {
    int64_t row, k, unequal = 0;
    bench_matrix m;
    system_of(bench_pdes[i].name, 6, &m);
    for (row = 0; row < m.rows; row++) {
      double sum = 0, size = 0;
      for (k = m.row_ptr[row]; k < m.row_ptr[row + 1]; k++) {
        assert_true(k == m.row_ptr[row] || m.col_ind[k] > m.col_ind[k - 1]);
        assert_true((m.col_ind[k] == row) == (m.values[k] > 0));
        sum += m.values[k];
        size += fabs(m.values[k]);
        unequal += entry(&m, m.col_ind[k], row) != m.values[k];
      }
      assert_true(sum >= -1e-14 * size);
    }
    assert_true((unequal > 0) == (bench_pdes[i].wind > 0));
    bench_matrix_free(&m);
  }
}

/* -u'' + 10 w u' with upwind differences, times h^2. */
static void convection_is_upwind(void **state) {
  const int side = 7;
  bench_matrix m;
  int axes, at[3], axis, step;
  (void)state;
  for (axes = 2; axes <= 3; axes++) {
    system_of(axes == 2 ? "convection2d" : "convection3d", side, &m);
    for (at[2] = 0; at[2] < (axes == 3 ? side : 1); at[2]++) {
      for (at[1] = 0; at[1] < side; at[1]++) {
        for (at[0] = 0; at[0] < side; at[0]++) {
          const int64_t row = (at[2] * side + at[1]) * side + at[0];
          const double x = (at[0] - 3) / 4.0, y = (at[1] - 3) / 4.0;
          const double wind[3] = {2 * y * (1 - x * x), -2 * x * (1 - y * y), 1};
          double diagonal = 0;
          int64_t stride = 1;
          for (axis = 0; axis < axes; axis++, stride *= side) {
            diagonal += 2 + 10 * fabs(wind[axis]);
            for (step = -1; step <= 1; step += 2) {
              const double blows = -step * wind[axis] > 0 ? fabs(wind[axis]) : 0;
              if (at[axis] + step >= 0 && at[axis] + step < side) {
                assert_true(fabs(entry(&m, row, row + step * stride) + 1 + 10 * blows) < 1e-13);
              }
            }
          }
          assert_true(fabs(entry(&m, row, row) - diagonal) < 1e-12);
        }
      }
    }
    bench_matrix_free(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_those_of_m_matrices),
      cmocka_unit_test(convection_is_upwind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
