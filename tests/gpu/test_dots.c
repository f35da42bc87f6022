/* CG's products: they compute p'A p, for matrices that stand for large ones with short rows,
 * and stop when the solver has. */
#define MBI_VALUES_LAUNCH 0u
#define MBI_CHOOSE_SMALL 0u /* even tiny matrices are large */
#define MBI_SCAN_DOTS 1u    /* and their vectors */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/gpu.h"

enum { N = 13001, NNZ = 3 * N - 2 }; /* the first row exceeds one round of a thread block */

static merbit_context *gpu;
static int row_ptr[N + 1], col_ind[5 * N];
static double values[5 * N], b[N], x[N], again[N];

/* Returns a positive definite matrix of a diagonal and a full first row and column. */
static merbit_view arrow(void) {
  int i, k = N;
  for (i = 0; i < N; i++) {
    const double side = 0.0625 * (1 + i % 3);
    col_ind[i] = i;
    values[i] = i == 0 ? N : side;
    b[i] = 1 + i % 5;
    if (i > 0) {
      col_ind[k] = 0;
      values[k++] = side;
      col_ind[k] = i;
      values[k++] = 4 + i % 7;
    }
    row_ptr[i + 1] = k;
  }
  return merbit_csr(N, N, NNZ, row_ptr, col_ind, values);
}

/* Returns ||b - A x|| / ||b||, in higher precision. */
static double residual(const double *found) {
  long double above = 0, below = 0;
  int i, k;
  for (i = 0; i < N; i++) {
    long double r = b[i];
    for (k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
      r -= (long double)values[k] * found[col_ind[k]];
    }
    above += r * r;
    below += (long double)b[i] * b[i];
  }
  return (double)sqrtl(above / below);
}

static merbit_solver_desc cg(void) {
  merbit_solver_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_SOLVER_CG;
  desc.tolerance = 1e-11;
  desc.side = MERBIT_SIDE_CUDA;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  return desc;
}

static void solves(merbit_preconditioner_kind preconditioner) {
  const merbit_view view = arrow();
  merbit_solver_desc desc = cg();
  merbit_solver_result result, reference;
  merbit_solver *solver;
  desc.preconditioner = preconditioner;
  desc.side = MERBIT_SIDE_CPU;
  assert_int_equal(merbit_solver_create(gpu, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, b, x, 0, NULL, 0, &reference), MERBIT_OK);
  merbit_solver_destroy(solver);
  desc.side = MERBIT_SIDE_CUDA;
  assert_int_equal(merbit_solver_create(gpu, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(mbi_scan_of(solver->plan)->dots, 1);
  assert_int_equal(merbit_solver_solve(solver, b, x, 0, NULL, 0, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_true(residual(x) <= 1.001e-11 && result.residual <= 1e-11);
  assert_true(result.iterations > 1 && reference.iterations - 1 <= result.iterations &&
              result.iterations <= reference.iterations + 1);
  assert_int_equal(merbit_solver_solve(solver, b, again, 0, NULL, 0, &result), MERBIT_OK);
  assert_memory_equal(x, again, sizeof x);
  merbit_solver_destroy(solver);
}

static void as_it_is(void **state) {
  (void)state;
  solves(MERBIT_PRECONDITIONER_NONE);
}

static void by_its_diagonal(void **state) {
  (void)state;
  solves(MERBIT_PRECONDITIONER_JACOBI);
}

/* Adds a neighbour on both sides of the diagonal to the arrow: four nonzeros per row. */
static merbit_view wider(void) {
  int i, j, k = 0;
  for (i = 0; i < N; i++) {
    for (j = 0; j < N; j++) {
      if (i == 0 || j == 0 || abs(i - j) <= 1) {
        col_ind[k] = j;
        values[k++] = i == 0 && j == 0 ? N : i == j ? 6 + i % 7 : 0.5;
      }
    }
    row_ptr[i + 1] = k;
  }
  return merbit_csr(N, N, k, row_ptr, col_ind, values);
}

/* Products with values equal in each column compute no dots, also after an update to other
 * values, which the plan stores in its existing memory. */
static void no_longer_by_columns(void **state) {
  const merbit_solver_desc desc = cg();
  merbit_solver_result result;
  merbit_solver *solver;
  merbit_view view = wider();
  int k;
  (void)state;
  for (k = 0; k < row_ptr[N]; k++) {
    values[k] = sqrt(2 + col_ind[k]);
  }
  assert_int_equal(merbit_solver_create(gpu, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(solver->plan->method, MERBIT_METHOD_SCAN);
  assert_int_equal(solver->plan->device.form, MBI_VALUES_COLUMN);
  assert_int_equal(mbi_scan_of(solver->plan)->dots, 0);
  view = wider();
  assert_int_equal(merbit_solver_update_values(solver, values, MERBIT_MEMORY_HOST), MERBIT_OK);
  assert_int_equal(solver->plan->device.form, MBI_VALUES_GENERAL);
  assert_int_equal(mbi_scan_of(solver->plan)->dots, 0);
  assert_int_equal(merbit_solver_solve(solver, b, x, 0, NULL, 0, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_true(residual(x) <= 1.001e-11);
  merbit_solver_destroy(solver);
}

/* A buffer made after a solver has its own memory, although the solver's plan lies after the
 * solver's vectors. */
static void buffer_behind_a_solver(void **state) {
  const merbit_view view = arrow();
  const merbit_solver_desc desc = cg();
  merbit_solver *solver;
  merbit_buffer *buffer;
  double back[8];
  (void)state;
  assert_int_equal(merbit_solver_create(gpu, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(gpu, sizeof back, &buffer), MERBIT_OK);
  merbit_solver_destroy(solver);
  assert_int_equal(merbit_buffer_upload(buffer, 0, b, sizeof back), MERBIT_OK);
  assert_int_equal(merbit_buffer_download(buffer, 0, back, sizeof back), MERBIT_OK);
  assert_memory_equal(b, back, sizeof back);
  merbit_buffer_destroy(buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(as_it_is), cmocka_unit_test(by_its_diagonal),
      cmocka_unit_test(no_longer_by_columns), cmocka_unit_test(buffer_behind_a_solver)};
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
