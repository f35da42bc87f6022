/* Solvers for test_allocation: creation, solves, new values, and checks. The system is that of
 * a path, whose solution is known. Include merbit.h and cmocka.h first. */
#ifndef TEST_CORE_ALLOCATION_SOLVERS_H
#define TEST_CORE_ALLOCATION_SOLVERS_H
#include "core/allocation_world.h"

enum { PATH_MOST = 30000 };

/* Makes a matrix with -1, 2.5, -1 on three diagonals, with as many rows as the fixture, in both
 * formats. */
static void with_path(world *w) {
  static int32_t row_ptr[PATH_MOST + 1], row_ind[3 * PATH_MOST], col_ind[3 * PATH_MOST];
  static double values[3 * PATH_MOST];
  const int32_t n = (int32_t)w->f->n;
  int32_t i, j, nnz = 0;
  for (i = 0; i < n; i++) {
    for (j = i > 0 ? i - 1 : 0; j <= i + 1 && j < n; j++) {
      row_ind[nnz] = i;
      col_ind[nnz] = j;
      values[nnz++] = i == j ? 2.5 : -1;
    }
    row_ptr[i + 1] = nnz;
  }
  w->view = merbit_csr(n, n, nnz, row_ptr, col_ind, values);
  if (w->form == COO) {
    w->view.format = MERBIT_COO;
    w->view.row_ptr = NULL;
    w->view.row_ind = row_ind;
  }
}

/* The solvers' descriptors; omitted fields are zero. */
enum { JACOBI_CG, BLOCK_BICGSTAB, BLOCK_GMRES, REORDERED_GMRES, REFINING_CG, SEVERAL_CG };
static const struct {
  merbit_solver_method method;
  merbit_preconditioner_kind preconditioner;
  int restart, reorder, refine, vectors;
} solvers[] = {{MERBIT_SOLVER_CG, MERBIT_PRECONDITIONER_JACOBI, 0, 0, 0, 0},
               {MERBIT_SOLVER_BICGSTAB, MERBIT_PRECONDITIONER_BLOCK_JACOBI, 0, 0, 0, 0},
               {MERBIT_SOLVER_GMRES, MERBIT_PRECONDITIONER_BLOCK_JACOBI, 9, 0, 0, 0},
               {MERBIT_SOLVER_GMRES, MERBIT_PRECONDITIONER_NONE, 0, 1, 0, 0},
               {MERBIT_SOLVER_CG, MERBIT_PRECONDITIONER_JACOBI, 0, 0, 1, 0},
               {MERBIT_SOLVER_CG, MERBIT_PRECONDITIONER_BLOCK_JACOBI, 0, 0, 0, 2}};

static merbit_status make_solver(world *w, int which) {
  merbit_solver_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.method = solvers[which].method;
  desc.preconditioner = solvers[which].preconditioner;
  desc.restart = solvers[which].restart;
  desc.reorder = solvers[which].reorder;
  desc.refine = solvers[which].refine;
  desc.vectors = solvers[which].vectors;
  return merbit_solver_create(w->context, &w->view, &desc, (merbit_solver **)&w->out);
}

static merbit_status solver_create_cg(world *w) {
  return make_solver(w, JACOBI_CG);
}

static merbit_status solver_create_blocks(world *w) {
  return make_solver(w, BLOCK_BICGSTAB);
}

static merbit_status solver_create_gmres(world *w) {
  return make_solver(w, BLOCK_GMRES);
}

static merbit_status solver_create_reordered(world *w) {
  return make_solver(w, REORDERED_GMRES);
}

static merbit_status solver_create_refining(world *w) {
  return make_solver(w, REFINING_CG);
}

static merbit_status solver_create_several(world *w) {
  return make_solver(w, SEVERAL_CG);
}

/* Expects the solution for `factor` times the path and b = `factor` A (1, 2, ..., 7, 1, ...).
 * The smallest eigenvalue of the path is above 0.5, its largest below 4.5. */
static void expect_solution(world *w, merbit_solver *solver, double factor) {
  const int64_t n = w->f->n;
  double *b = (double *)test_allocate(2 * n, 8), *x = (double *)test_allocate(2 * n, 8);
  double length = 0, apart = 0;
  merbit_solver_result result, results[2];
  int64_t i;
  for (i = 0; i < n; i++) {
    b[i] = factor * (2.5 * (double)(i % 7 + 1) - (i > 0 ? (double)((i - 1) % 7 + 1) : 0) -
                     (i < n - 1 ? (double)((i + 1) % 7 + 1) : 0));
    x[i] = (double)NAN;
  }
  if (solver->desc.vectors > 1) { /* the second b is zero */
    assert_int_equal(merbit_solver_solve_many(solver, 2, b, n, x, n, 0, results), MERBIT_OK);
    assert_true(results[1].stop == MERBIT_STOP_CONVERGED && x[2 * n - 1] == 0);
    result = results[0];
  } else {
    assert_int_equal(merbit_solver_solve(solver, b, x, 0, NULL, 0, &result), MERBIT_OK);
  }
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  for (i = 0; i < n; i++) {
    apart += (x[i] - (double)(i % 7 + 1)) * (x[i] - (double)(i % 7 + 1));
    length += (double)((i % 7 + 1) * (i % 7 + 1));
  }
  assert_true(sqrt(apart) <= 4.5 / 0.5 * 1e-10 * sqrt(length));
  free(b);
  free(x);
}

static void solver_made(world *w) {
  expect_solution(w, (merbit_solver *)w->out, 1);
  merbit_solver_destroy((merbit_solver *)w->out);
}

static void with_solver(world *w) {
  with_path(w);
  assert_int_equal(solver_create_blocks(w), MERBIT_OK);
  w->solver = (merbit_solver *)w->out;
}

static void with_refining_solver(world *w) {
  with_path(w);
  assert_int_equal(solver_create_refining(w), MERBIT_OK);
  w->solver = (merbit_solver *)w->out;
}

static void with_several_solver(world *w) {
  with_path(w);
  assert_int_equal(solver_create_several(w), MERBIT_OK);
  w->solver = (merbit_solver *)w->out;
}

static merbit_status solver_solve(world *w) {
  expect_solution(w, w->solver, 1);
  merbit_solver_destroy(w->solver);
  w->solver = NULL;
  return MERBIT_OK;
}

static merbit_status solver_multiply(world *w) {
  const int64_t n = w->view.rows;
  double *x = (double *)test_allocate(n, 8), *y = (double *)test_allocate(n, 8);
  int64_t i;
  for (i = 0; i < n; i++) {
    x[i] = 1;
  }
  assert_int_equal(merbit_solver_multiply(w->solver, x, y), MERBIT_OK);
  for (i = 0; i < n; i++) {
    assert_true(y[i] == 2.5 - (i > 0) - (i < n - 1));
  }
  free(x);
  free(y);
  merbit_solver_destroy(w->solver);
  w->solver = NULL;
  return MERBIT_OK;
}

/* Returns twice the values of the view, to be freed. */
static double *doubled_values(const world *w) {
  double *doubled = (double *)test_allocate(w->view.nnz, 8);
  int64_t k;
  for (k = 0; k < w->view.nnz; k++) {
    doubled[k] = 2 * ((const double *)w->view.values)[k];
  }
  return doubled;
}

static merbit_status solver_update(world *w) {
  double *doubled = doubled_values(w);
  merbit_status status;
  w->out = NULL;
  status = merbit_solver_update_values(w->solver, doubled, MERBIT_MEMORY_HOST);
  free(doubled);
  return status;
}

/* The first update allocates memory that later ones reuse. */
static void with_updated_solver(world *w) {
  with_solver(w);
  assert_int_equal(solver_update(w), MERBIT_OK);
}

static void with_updated_refining_solver(world *w) {
  with_refining_solver(w);
  assert_int_equal(solver_update(w), MERBIT_OK);
}

static void solver_updated(world *w) {
  expect_solution(w, w->solver, 2);
}

/* ---- Preconditioners --------------------------------------------------------------------- */

/* Makes one preconditioner of each kind, also in f32 and without the mean. */
static merbit_status make_preconditioner(world *w, merbit_preconditioner_kind kind,
                                         int wrapped) {
  merbit_preconditioner_desc desc = merbit_preconditioner_defaults();
  desc.kind = kind;
  desc.single = desc.singular = wrapped;
  return merbit_preconditioner_create(w->context, &w->view, &desc,
                                      (merbit_preconditioner **)&w->out);
}

static merbit_status preconditioner_create_blocks(world *w) {
  return make_preconditioner(w, MERBIT_PRECONDITIONER_BLOCK_JACOBI, 0);
}

static merbit_status preconditioner_create_chebyshev(world *w) {
  return make_preconditioner(w, MERBIT_PRECONDITIONER_CHEBYSHEV, 1);
}

static merbit_status preconditioner_create_fsai(world *w) {
  return make_preconditioner(w, MERBIT_PRECONDITIONER_FSAI, 0);
}

static merbit_status preconditioner_create_wrapped_fsai(world *w) {
  return make_preconditioner(w, MERBIT_PRECONDITIONER_FSAI, 1);
}

/* Makes a solver that makes its own preconditioner. */
static merbit_status solver_create_fsai(world *w) {
  merbit_solver_desc desc = merbit_solver_defaults();
  desc.method = MERBIT_SOLVER_CG;
  desc.preconditioner = MERBIT_PRECONDITIONER_FSAI;
  return merbit_solver_create(w->context, &w->view, &desc, (merbit_solver **)&w->out);
}

/* (1, -1, 1, ...) is nearly an eigenvector of `factor` times the path, with eigenvalue 4.5
 * `factor`; M^-1, which approximates A^-1, divides it by nearly as much. */
static void expect_near(world *w, merbit_preconditioner *p, double factor) {
  const int64_t n = w->f->n;
  double *r = (double *)test_allocate(n, 8), *z = (double *)test_allocate(n, 8);
  double product = 0;
  int64_t i;
  for (i = 0; i < n; i++) {
    r[i] = factor * (i % 2 ? 1 : -1);
  }
  assert_int_equal(merbit_preconditioner_apply(p, r, z, NULL), MERBIT_OK);
  for (i = 0; i < n; i++) {
    product += factor * z[i] * r[i] / factor / factor / (double)n;
  }
  assert_true(product > 0.15 && product < 0.45);
  free(r);
  free(z);
}

static void preconditioner_made(world *w) {
  expect_near(w, (merbit_preconditioner *)w->out, 1);
  merbit_preconditioner_destroy((merbit_preconditioner *)w->out);
}

static void with_preconditioner(world *w) {
  with_path(w);
  assert_int_equal(preconditioner_create_wrapped_fsai(w), MERBIT_OK);
  w->preconditioner = (merbit_preconditioner *)w->out;
}

static merbit_status preconditioner_apply(world *w) {
  merbit_preconditioner *p = w->preconditioner;
  merbit_preconditioner_info info;
  char line[512];
  expect_near(w, p, 1);
  assert_int_equal(merbit_preconditioner_get_info(p, &info), MERBIT_OK);
  assert_true(merbit_preconditioner_describe(p, line, sizeof line) > 0);
  merbit_preconditioner_destroy(p);
  w->preconditioner = NULL;
  return MERBIT_OK;
}

static merbit_status preconditioner_update(world *w) {
  double *doubled = doubled_values(w);
  merbit_status status;
  w->out = NULL;
  status = merbit_preconditioner_update_values(w->preconditioner, doubled, MERBIT_MEMORY_HOST);
  free(doubled);
  return status;
}

static void preconditioner_updated(world *w) {
  expect_near(w, w->preconditioner, 2);
}

static void with_updated_preconditioner(world *w) {
  with_preconditioner(w);
  assert_int_equal(preconditioner_update(w), MERBIT_OK);
}

/* ---- Eigenvalues ------------------------------------------------------------------------- */

static merbit_status find_largest(world *w, merbit_eigen_method method) {
  merbit_eigen_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  desc.tolerance = 1e-4;
  w->out = NULL;
  return merbit_eigen(w->context, &w->view, &desc, &w->value, NULL, NULL);
}

static merbit_status eigen(world *w) {
  return find_largest(w, MERBIT_EIGEN_LANCZOS);
}

static merbit_status eigen_power(world *w) {
  return find_largest(w, MERBIT_EIGEN_POWER);
}

static void eigen_right(world *w) { /* Expects 2.5 + 2 cos(pi / (n + 1)) and the next ones. */
  assert_true(w->value > 4.48 && w->value < 4.5);
}

#endif /* TEST_CORE_ALLOCATION_SOLVERS_H */
