/* Plans and solvers that outlive the matrix whose view they were made from, on either side.
 * Vectors are in host memory. AddressSanitizer detects reads of the destroyed matrix. Include
 * merbit.h and cmocka.h first. */
#ifndef TEST_SUPPORT_LIFETIME_H
#define TEST_SUPPORT_LIFETIME_H
#include "support/cpu.h"

enum { LIFE_N = 4, LIFE_CSR = 0, LIFE_BSR = 1, LIFE_HALF = 2 };

static const double life_x[LIFE_N] = {1, -2, 3, 5};

/* Makes a matrix with 4 on the diagonal and -1 next to it: a CSR, blocks of 2 x 2, or the lower
 * triangle. */
static merbit_matrix *life_matrix(merbit_context *context, int kind) {
  static const char half[] = "%%MatrixMarket matrix coordinate real symmetric\n4 4 7\n"
                             "1 1 4\n2 1 -1\n2 2 4\n3 2 -1\n3 3 4\n4 3 -1\n4 4 4\n";
  static const int32_t row_ptr[] = {0, 2, 5, 8, 10}, col_ind[] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3};
  static const double values[] = {4, -1, -1, 4, -1, -1, 4, -1, -1, 4};
  static const merbit_bsr_desc shape = {2, 2, MERBIT_BLOCK_ROW_MAJOR};
  const merbit_view view = merbit_csr(LIFE_N, LIFE_N, 10, row_ptr, col_ind, values);
  merbit_matrix *matrix;
  if (kind == LIFE_HALF) {
    merbit_read_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.keep_half = 1;
    assert_int_equal(merbit_matrix_read_memory(context, half, sizeof half - 1, &desc, &matrix),
                     MERBIT_OK);
  } else {
    assert_int_equal(kind == LIFE_BSR ? merbit_matrix_create_bsr(context, &view, &shape, &matrix)
                                      : merbit_matrix_create(context, &view, &matrix),
                     MERBIT_OK);
  }
  return matrix;
}

/* Doubles the stored values of a view, in its order. */
static void life_new_values(const merbit_view *view, double *values) {
  const int count = (int)view->nnz * (view->format == MERBIT_BSR ? 4 : 1);
  int k;
  for (k = 0; k < count; k++) {
    values[k] = 2 * ((const double *)view->values)[k];
  }
}

/* Expects that y is `scale` times the product with `x`. */
static void life_expect(const double *y, const double *x, double scale) {
  int i;
  for (i = 0; i < LIFE_N; i++) {
    const double sum =
        4 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < LIFE_N - 1 ? x[i + 1] : 0);
    assert_true(fabs(y[i] - scale * sum) <= 1e-8);
  }
}

static void life_multiply(merbit_plan *plan, double scale) {
  double px[LIFE_N], py[LIFE_N], y[LIFE_N];
  assert_int_equal(merbit_plan_reorder(plan, life_x, px, NULL), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, px, NULL, py, NULL), MERBIT_OK);
  assert_int_equal(merbit_plan_restore(plan, py, y, NULL), MERBIT_OK);
  life_expect(y, life_x, scale);
}

/* view -> plan -> matrix destroyed -> products, new values, products -> plan destroyed. With
 * `own`, the caller's values replace the view's. Returns whether the plan kept the matrix. */
TEST_UNUSED static int life_of_plan(merbit_context *context, const cpu_memory *memory, int kind,
                        const merbit_plan_desc *desc, int own) {
  merbit_matrix *matrix = life_matrix(context, kind);
  merbit_view view = merbit_matrix_view(matrix);
  double *values = (double *)malloc(32 * sizeof *values);
  merbit_plan *plan;
  long live;
  assert_non_null(values);
  assert_ptr_equal(view.owner, matrix);
  life_new_values(&view, values);
  view.values = own ? values : view.values;
  assert_int_equal(merbit_plan_create(context, &view, desc, &plan), MERBIT_OK);
  live = memory->live;
  merbit_matrix_destroy(matrix);
  live -= memory->live;
  life_multiply(plan, own ? 2 : 1);
  assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST), MERBIT_OK);
  life_multiply(plan, 2);
  merbit_plan_destroy(plan);
  free(values);
  return live == 0;
}

static void life_solve(merbit_solver *solver, double scale) {
  merbit_solver_result result;
  double x[LIFE_N];
  assert_int_equal(merbit_solver_solve(solver, life_x, x, 0, NULL, 0, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  life_expect(life_x, x, scale);
}

/* view -> solver -> matrix destroyed -> solve, new values, solve -> solver destroyed. */
TEST_UNUSED static void life_of_solver(merbit_context *context, int kind,
                                       const merbit_solver_desc *desc) {
  merbit_matrix *matrix = life_matrix(context, kind);
  const merbit_view view = merbit_matrix_view(matrix);
  double values[32];
  merbit_solver *solver;
  life_new_values(&view, values);
  assert_int_equal(merbit_solver_create(context, &view, desc, &solver), MERBIT_OK);
  merbit_matrix_destroy(matrix);
  life_solve(solver, 1);
  assert_int_equal(merbit_solver_update_values(solver, values, MERBIT_MEMORY_HOST), MERBIT_OK);
  life_solve(solver, 2);
  merbit_solver_destroy(solver);
}
#endif /* TEST_SUPPORT_LIFETIME_H */
