/* Properties of every preconditioner on both sides: the values of M^-1, its symmetry, the
 * iterations it saves, and refusals. Include after merbit.h, cmocka.h and support/cpu.h;
 * `context` is the test's. */
#ifndef TEST_SOLVE_PRECONDITIONER_CASES_H
#define TEST_SOLVE_PRECONDITIONER_CASES_H
#include "solve/core/solver_reference.h"
#include "solve/precondition/preconditioner_reference.h"
#include "support/gpu_context.h"

static merbit_context *context;

static merbit_preconditioner_desc kind_desc(merbit_preconditioner_kind kind) {
  merbit_preconditioner_desc desc = merbit_preconditioner_defaults();
  desc.kind = kind;
  desc.side = context->side; /* no other side */
  return desc;
}

/* The values of a sparse matrix in a view's type. */
typedef struct typed {
  merbit_view view;
  float single[SPARSE_MOST];
} typed;

static const merbit_view *typed_view(typed *t, const sparse *a, merbit_type type) {
  int k;
  t->view = merbit_csr(a->n, a->n, a->nnz, a->row_ptr, a->col_ind, a->values);
  t->view.value_type = type;
  for (k = 0; k < a->nnz && type == MERBIT_F32; k++) {
    t->single[k] = (float)a->values[k];
    t->view.values = t->single;
  }
  return &t->view;
}

/* Computes z = M^-1 r on the preconditioner's side; the call's vectors have `type`. */
static void apply(merbit_preconditioner *p, int n, merbit_type type, const double *r,
                  double *z) {
  float single[SPARSE_ROWS];
  const size_t bytes = (size_t)n * (type == MERBIT_F32 ? 4 : 8);
  void *const host = type == MERBIT_F32 ? (void *)single : (void *)z;
  merbit_buffer *from, *to;
  int i;
  for (i = 0; i < n; i++) {
    single[i] = (float)r[i];
  }
  assert_int_equal(merbit_buffer_create(context, bytes, &from), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, bytes, &to), MERBIT_OK);
  assert_int_equal(
      merbit_buffer_upload(from, 0, type == MERBIT_F32 ? (const void *)single : r, bytes),
      MERBIT_OK);
  assert_int_equal(merbit_preconditioner_apply(p, merbit_buffer_pointer(from),
                                               merbit_buffer_pointer(to), NULL),
                   MERBIT_OK);
  assert_int_equal(merbit_buffer_download(to, 0, host, bytes), MERBIT_OK);
  for (i = 0; i < n && type == MERBIT_F32; i++) {
    z[i] = (double)single[i];
  }
  merbit_buffer_destroy(from);
  merbit_buffer_destroy(to);
}

static merbit_preconditioner *make(const merbit_view *view,
                                   const merbit_preconditioner_desc *desc) {
  merbit_preconditioner *p = NULL;
  if (merbit_preconditioner_create(context, view, desc, &p) != MERBIT_OK) {
    char sentence[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(context, sentence, sizeof sentence);
    fail_msg("%s", sentence);
  }
  return p;
}

/* ---- Values of M^-1 ---------------------------------------------------------------------- */

/* Compares M^-1 with the reference, column by column (on CUDA, which may be a slow fake, only
 * some), relative to the largest entry. */
static void expect_inverse(merbit_preconditioner *p, const sparse *a, merbit_type type,
                           const long double *wanted, double tolerance) {
  double r[SPARSE_ROWS] = {0}, z[SPARSE_ROWS];
  long double most = 0;
  int i, j;
  for (i = 0; i < a->n * a->n; i++) {
    most = fabsl(wanted[i]) > most ? fabsl(wanted[i]) : most;
  }
  for (j = 0; j < a->n; j += context->side == MERBIT_SIDE_CUDA ? 19 : 1) {
    r[j] = 1;
    apply(p, a->n, type, r, z);
    r[j] = 0;
    for (i = 0; i < a->n; i++) {
      if (!(fabsl((long double)z[i] - wanted[i * a->n + j]) <= (long double)tolerance * most)) {
        fail_msg("M^-1(%d, %d) is %.17g, not %.17g", i, j, z[i], (double)wanted[i * a->n + j]);
      }
    }
  }
}

/* Computes the reference's M^-1 of a kind; a polynomial's interval is read from the
 * description. */
static void reference(merbit_preconditioner *p, const sparse *a,
                      const merbit_preconditioner_desc *desc, long double *inverse) {
  char line[512];
  double low, high;
  const char *at;
  switch (desc->kind) {
  case MERBIT_PRECONDITIONER_JACOBI:
    reference_blocks(a, 1, inverse);
    return;
  case MERBIT_PRECONDITIONER_BLOCK_JACOBI:
    reference_blocks(a, desc->block_size > 0 ? desc->block_size : 4, inverse);
    return;
  case MERBIT_PRECONDITIONER_FSAI:
    reference_fsai(a, inverse);
    return;
  default:
    (void)merbit_preconditioner_describe(p, line, sizeof line);
    at = strstr(line, "from ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "from %lf to %lf", &low, &high), 2);
    assert_true(low > 0 && high > low);
    reference_chebyshev(a, low, high, desc->degree > 0 ? desc->degree : 4, inverse);
  }
}

/* The kinds and options that have a reference. */
static const struct {
  merbit_preconditioner_kind kind;
  int block_size, degree;
} forms[] = {
    {MERBIT_PRECONDITIONER_JACOBI, 0, 0},       {MERBIT_PRECONDITIONER_BLOCK_JACOBI, 0, 0},
    {MERBIT_PRECONDITIONER_BLOCK_JACOBI, 7, 0}, {MERBIT_PRECONDITIONER_CHEBYSHEV, 0, 0},
    {MERBIT_PRECONDITIONER_CHEBYSHEV, 0, 1},    {MERBIT_PRECONDITIONER_CHEBYSHEV, 0, 7},
    {MERBIT_PRECONDITIONER_FSAI, 0, 0}};
enum { FORMS = sizeof forms / sizeof forms[0] };

static merbit_preconditioner_desc form_desc(int form) {
  merbit_preconditioner_desc desc = kind_desc(forms[form].kind);
  desc.block_size = forms[form].block_size;
  desc.degree = forms[form].degree;
  return desc;
}

static void test_inverse(void **state) {
  static long double wanted[SPARSE_ROWS * SPARSE_ROWS];
  static sparse systems[3];
  static typed t;
  int which, form, type;
  (void)state;
  systems[0] = sparse_mesh(4, 4, 4, 0.3);
  systems[1] = sparse_random(83, 5, 1);
  systems[2] = sparse_arrow(SPARSE_ROWS); /* a row with more places than FSAI takes */
  for (which = 0; which < 3; which++) {
    const sparse *a = &systems[which];
    for (form = 0; form < FORMS; form++) {
      for (type = 0; type < 3; type++) { /* f64; f32 in f64; f32 */
        merbit_preconditioner_desc desc = form_desc(form);
        const merbit_type of = type == 2 ? MERBIT_F32 : MERBIT_F64;
        merbit_preconditioner *p;
        desc.single = type == 1;
        p = make(typed_view(&t, a, of), &desc);
        reference(p, a, &desc, wanted);
        expect_inverse(p, a, of, wanted,
                       type > 0                                       ? 2e-5
                       : desc.kind == MERBIT_PRECONDITIONER_CHEBYSHEV ? 2e-5 /* 6 digits */
                                                                      : 1e-13);
        merbit_preconditioner_destroy(p);
      }
    }
  }
}

/* Checks x'M^-1 y = y'M^-1 x, x'M^-1 x > 0, and the same bits each time. */
static void test_symmetry(void **state) {
  static sparse a;
  static typed t;
  uint64_t seed = 9;
  double x[SPARSE_ROWS], y[SPARSE_ROWS], mx[SPARSE_ROWS], my[SPARSE_ROWS], again[SPARSE_ROWS];
  int form, singular, i;
  (void)state;
  for (singular = 0; singular <= 1; singular++) {
    a = singular ? sparse_laplacian(90, 4, 2) : sparse_random(90, 4, 2);
    for (form = 0; form < FORMS; form++) {
      merbit_preconditioner_desc desc = form_desc(form);
      double xmy = 0, ymx = 0, xmx = 0, size = 0, mean = 0;
      merbit_preconditioner *p;
      desc.singular = singular;
      p = make(typed_view(&t, &a, MERBIT_F64), &desc);
      for (i = 0; i < a.n; i++) {
        x[i] = test_uniform(&seed);
        y[i] = test_uniform(&seed);
      }
      apply(p, a.n, MERBIT_F64, x, mx);
      apply(p, a.n, MERBIT_F64, y, my);
      apply(p, a.n, MERBIT_F64, x, again);
      assert_memory_equal(mx, again, (size_t)a.n * sizeof mx[0]);
      for (i = 0; i < a.n; i++) {
        xmy += x[i] * my[i];
        ymx += y[i] * mx[i];
        xmx += x[i] * mx[i];
        size += fabs(x[i] * my[i]);
        mean += mx[i];
      }
      assert_true(fabs(xmy - ymx) <= 1e-12 * size);
      assert_true(desc.degree % 2 == 1 || xmx > 0);
      assert_true(!singular || fabs(mean) <= 1e-12 * size);
      merbit_preconditioner_destroy(p);
    }
  }
}

/* Expects that two vectors are equal; nearly so on CUDA, where a plan may store new values in
 * another form. */
static void expect_equal(const double *found, const double *wanted, int n, merbit_type type) {
  const double tolerance = context->side == MERBIT_SIDE_CPU ? 0
                           : type == MERBIT_F32             ? 1e-4
                                                            : 1e-10;
  double most = 0;
  int i;
  for (i = 0; i < n; i++) {
    most = fabs(wanted[i]) > most ? fabs(wanted[i]) : most;
  }
  for (i = 0; i < n; i++) {
    assert_true(fabs(found[i] - wanted[i]) <= tolerance * most);
  }
}

/* After new values the preconditioner equals one made from them. */
static void test_update(void **state) {
  static sparse a, b;
  static typed t, u;
  double r[SPARSE_ROWS], z[SPARSE_ROWS], wanted[SPARSE_ROWS];
  uint64_t seed = 9;
  int form, type, i;
  (void)state;
  a = sparse_mesh(5, 5, 3, 0.2);
  b = sparse_mesh(5, 5, 3, 0.9);
  for (i = 0; i < a.n; i++) {
    r[i] = test_uniform(&seed);
  }
  for (form = 0; form < FORMS; form++) {
    for (type = 0; type < 4; type++) {
      merbit_preconditioner_desc desc = form_desc(form);
      const merbit_type of = type == 2 ? MERBIT_F32 : MERBIT_F64;
      merbit_preconditioner *p, *q;
      merbit_preconditioner_info info;
      desc.single = type == 1;
      desc.singular = type == 3;
      p = make(typed_view(&t, &a, of), &desc);
      q = make(typed_view(&u, &b, of), &desc);
      assert_int_equal(
          merbit_preconditioner_update_values(p, u.view.values, MERBIT_MEMORY_HOST), MERBIT_OK);
      apply(p, a.n, of, r, z);
      apply(q, a.n, of, r, wanted);
      expect_equal(z, wanted, a.n, desc.single ? MERBIT_F32 : of);
      assert_int_equal(merbit_preconditioner_get_info(p, &info), MERBIT_OK);
      assert_true(info.setup_seconds > 0);
      merbit_preconditioner_destroy(p);
      merbit_preconditioner_destroy(q);
    }
  }
}

/* ---- In solvers -------------------------------------------------------------------------- */

static merbit_solver_result solve(const merbit_view *view, const merbit_solver_desc *desc,
                                  const double *b, double *x) {
  merbit_solver *solver = NULL;
  merbit_solver_result result;
  if (merbit_solver_create(context, view, desc, &solver) != MERBIT_OK) {
    char sentence[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(context, sentence, sizeof sentence);
    fail_msg("%s", sentence);
  }
  assert_int_equal(merbit_solver_solve(solver, b, x, 0, NULL, 0, &result), MERBIT_OK);
  merbit_solver_destroy(solver);
  return result;
}

static merbit_solver_desc solver_of(merbit_preconditioner_kind kind) {
  merbit_solver_desc desc = merbit_solver_defaults();
  desc.method = MERBIT_SOLVER_CG;
  desc.preconditioner = kind;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = context->side;
  desc.tolerance = 1e-8;
  return desc;
}

/* Checks the result of a solve by b - A x in long double. */
static void expect_solved(const merbit_solver_result *r, const sparse *a, const double *b,
                          const double *x) {
  if (r->stop != MERBIT_STOP_CONVERGED || !(sparse_residual(a, b, x) <= 1.001e-8)) {
    fail_msg("%g after %d iterations: %s", sparse_residual(a, b, x), r->iterations,
             r->description);
  }
}

/* On a mesh they need fewer iterations than Jacobi, in every solver and type. */
static void test_fewer_iterations(void **state) {
  static const merbit_preconditioner_kind kinds[] = {MERBIT_PRECONDITIONER_CHEBYSHEV,
                                                     MERBIT_PRECONDITIONER_FSAI};
  static sparse a;
  static typed t;
  static double b[SPARSE_ROWS], x[SPARSE_ROWS];
  int method, k, form, i;
  (void)state;
  a = sparse_mesh(8, 7, 3, 0);
  for (i = 0; i < a.n; i++) {
    b[i] = 1 + i % 5;
  }
  (void)typed_view(&t, &a, MERBIT_F64);
  for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_GMRES; method++) {
    merbit_solver_desc desc = solver_of(MERBIT_PRECONDITIONER_JACOBI);
    merbit_solver_result jacobi, r;
    desc.method = (merbit_solver_method)method;
    jacobi = solve(&t.view, &desc, b, x);
    expect_solved(&jacobi, &a, b, x);
    for (k = 0; k < 2; k++) {
      for (form = 0; form < 3; form++) { /* f64; M in f32; refinement */
        merbit_preconditioner_desc options = merbit_preconditioner_defaults();
        options.single = form == 1;
        desc.preconditioner = kinds[k];
        desc.precondition = form == 1 ? &options : NULL;
        desc.refine = form == 2;
        r = solve(&t.view, &desc, b, x);
        expect_solved(&r, &a, b, x);
        assert_true(k == 0 ? 2 * r.iterations < jacobi.iterations + 2
                           : 4 * r.iterations < 3 * jacobi.iterations + 8);
      }
    }
  }
}

/* A solver's new values reach its preconditioner: it then needs as many iterations as a new
 * one. */
static void test_solver_update(void **state) {
  static sparse a, b;
  static typed t, u;
  static double rhs[SPARSE_ROWS], x[SPARSE_ROWS], wanted[SPARSE_ROWS];
  int form, refine, i;
  (void)state;
  a = sparse_mesh(6, 6, 3, 0);
  b = sparse_mesh(6, 6, 3, 0.95);
  for (i = 0; i < a.n; i++) {
    rhs[i] = 1 + i % 3;
  }
  (void)typed_view(&t, &a, MERBIT_F64);
  (void)typed_view(&u, &b, MERBIT_F64);
  for (refine = 0; refine <= 1; refine++) {
    for (form = 0; form < FORMS; form++) {
      merbit_preconditioner_desc options = form_desc(form);
      merbit_solver_desc desc = solver_of(options.kind);
      merbit_solver *solver;
      merbit_solver_result r, again;
      options.single = 1; /* Jacobi and blocks are then objects, too */
      desc.precondition = &options;
      desc.refine = refine;
      assert_int_equal(merbit_solver_create(context, &t.view, &desc, &solver), MERBIT_OK);
      assert_int_equal(merbit_solver_solve(solver, rhs, x, 0, NULL, 0, &r), MERBIT_OK);
      expect_solved(&r, &a, rhs, x);
      assert_int_equal(merbit_solver_update_values(solver, b.values, MERBIT_MEMORY_HOST),
                       MERBIT_OK);
      assert_int_equal(merbit_solver_solve(solver, rhs, x, 0, NULL, 0, &r), MERBIT_OK);
      expect_solved(&r, &b, rhs, x);
      again = solve(&u.view, &desc, rhs, wanted);
      assert_true(abs(r.iterations - again.iterations) <= (context->side == MERBIT_SIDE_CUDA));
      if (r.iterations == again.iterations) {
        expect_equal(x, wanted, a.n, MERBIT_F32);
      }
      merbit_solver_destroy(solver);
    }
  }
}

#include "solve/precondition/singular_cases.h"

/* If an option does not suit the matrix, the solve does not converge, and the description names
 * the option. */
static void test_hints(void **state) {
  static sparse a;
  static typed t;
  static double b[SPARSE_ROWS], x[SPARSE_ROWS];
  merbit_preconditioner_desc options = merbit_preconditioner_defaults();
  merbit_solver_desc desc = solver_of(MERBIT_PRECONDITIONER_FSAI);
  merbit_solver_result r;
  int i;
  (void)state;
  a = sparse_mesh(6, 6, 4, 0);
  for (i = 0; i < a.n; i++) {
    b[i] = 1 + i % 5;
  }
  options.singular = 1;
  desc.precondition = &options;
  r = solve(typed_view(&t, &a, MERBIT_F64), &desc, b, x);
  assert_int_not_equal(r.stop, MERBIT_STOP_CONVERGED);
  assert_non_null(strstr(r.description, "; preconditioner_desc.singular needs an A"));
  options.singular = 0;
  options.single = 1;
  desc.max_iterations = 2;
  r = solve(typed_view(&t, &a, MERBIT_F64), &desc, b, x);
  assert_int_equal(r.stop, MERBIT_STOP_CAP);
  assert_non_null(strstr(r.description, "; preconditioner_desc.single may be"));
  desc.refine = 1; /* M is in f32 with or without `single` */
  r = solve(typed_view(&t, &a, MERBIT_F64), &desc, b, x);
  assert_int_equal(r.stop, MERBIT_STOP_CAP);
  assert_null(strstr(r.description, "single"));
}

#include "solve/precondition/preconditioner_failures.h"
#include "solve/precondition/info_cases.h"

/* No rows, one row, a diagonal matrix. */
static void test_small(void **state) {
  static typed t;
  int form, n, i;
  (void)state;
  for (form = 0; form < FORMS; form++) {
    for (n = 0; n <= 5; n++) {
      const merbit_preconditioner_desc desc = form_desc(form);
      sparse a = {0};
      double r[5], z[5];
      merbit_preconditioner *p;
      a.n = a.nnz = n;
      for (i = 0; i < n; i++) {
        a.row_ptr[i + 1] = i + 1;
        a.col_ind[i] = i;
        a.values[i] = i + 2;
        r[i] = i + 2;
      }
      p = make(typed_view(&t, &a, MERBIT_F64), &desc);
      assert_int_equal(merbit_preconditioner_apply(p, NULL, NULL, NULL),
                       n > 0 ? MERBIT_INVALID_ARGUMENT : MERBIT_OK);
      if (n > 0) {
        apply(p, n, MERBIT_F64, r, z);
      }
      for (i = 0; i < n; i++) {
        assert_true(fabs(z[i] - 1) <=
                    (desc.kind == MERBIT_PRECONDITIONER_CHEBYSHEV ? 0.05 : 1e-14));
      }
      merbit_preconditioner_destroy(p);
    }
  }
}

/* Few eigenvalues, some of them close: Lanczos vectors then become nearly 0, and their
 * remainders are not symmetric. Pairs of rows have the eigenvalues 1 - c and 1 + c, for two
 * numbers c. */
static void test_close_eigenvalues(void **state) {
  static typed t;
  const merbit_preconditioner_desc desc = kind_desc(MERBIT_PRECONDITIONER_CHEBYSHEV);
  int power, i;
  (void)state;
  for (power = 4; power <= 48; power += 2) {
    sparse a = {0};
    a.n = 24;
    for (i = 0; i < a.n; i++) {
      const double c = 0.5 + (i / 2 % 3 == 0 ? ldexp(1, -power) : 0);
      a.col_ind[a.nnz] = i - i % 2;
      a.values[a.nnz++] = i % 2 == 0 ? 1 : c;
      a.col_ind[a.nnz] = i - i % 2 + 1;
      a.values[a.nnz++] = i % 2 == 0 ? c : 1;
      a.row_ptr[i + 1] = a.nnz;
    }
    merbit_preconditioner_destroy(make(typed_view(&t, &a, MERBIT_F64), &desc));
    merbit_preconditioner_destroy(make(typed_view(&t, &a, MERBIT_F32), &desc));
  }
}

static const struct CMUnitTest preconditioner_cases[] = {
    cmocka_unit_test(test_inverse),         cmocka_unit_test(test_symmetry),
    cmocka_unit_test(test_update),          cmocka_unit_test(test_fewer_iterations),
    cmocka_unit_test(test_solver_update),   cmocka_unit_test(test_singular),
    cmocka_unit_test(test_constant),        cmocka_unit_test(test_large_mean),
    cmocka_unit_test(test_large_sum),       cmocka_unit_test(test_uneven_laplacian),
    cmocka_unit_test(test_bad_matrices),    cmocka_unit_test(test_inverse_too_large),
    cmocka_unit_test(test_refusals),        cmocka_unit_test(test_description),
    cmocka_unit_test(test_triangle_info),   cmocka_unit_test(test_padding_info),
    cmocka_unit_test(test_small),           cmocka_unit_test(test_too_large),
    cmocka_unit_test(test_block_size),      cmocka_unit_test(test_tiny),
    cmocka_unit_test(test_hints),           cmocka_unit_test(test_close_eigenvalues),
    cmocka_unit_test(test_singular_advice), cmocka_unit_test(test_far_first_x),
};

#endif /* TEST_SOLVE_PRECONDITIONER_CASES_H */
