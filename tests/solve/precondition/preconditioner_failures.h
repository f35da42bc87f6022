/* Refusals of preconditioners: matrices, options, sizes. Part of preconditioner_cases.h, after
 * the functions that make and apply them. */
#ifndef TEST_SOLVE_PRECONDITIONER_FAILURES_H
#define TEST_SOLVE_PRECONDITIONER_FAILURES_H

static void expect_refused(const merbit_view *view, const merbit_preconditioner_desc *desc,
                           merbit_status status, const char *piece) {
  merbit_preconditioner *p = (merbit_preconditioner *)1;
  assert_int_equal(merbit_preconditioner_create(context, view, desc, &p), status);
  assert_null(p);
  cpu_expect(context, status, piece);
}

/* Expects that a matrix with one changed entry (and its mirror image, if `both`) is refused,
 * also by the solver, with a message that contains `piece`. */
static void expect_bad(merbit_preconditioner_kind kind, int row, int column, double value,
                       int both, const char *piece) {
  static sparse a;
  static typed t;
  merbit_preconditioner_desc desc = kind_desc(kind);
  merbit_solver_desc of_solver = solver_of(kind);
  merbit_solver *solver = (merbit_solver *)1;
  merbit_preconditioner *p;
  int single;
  for (single = 0; single <= 1; single++) {
    desc.single = single;
    of_solver.precondition = &desc;
    a = sparse_mesh(4, 4, 4, 0);
    p = make(typed_view(&t, &a, MERBIT_F64), &desc);
    *sparse_entry(&a, row, column) = value;
    if (both) {
      *sparse_entry(&a, column, row) = value;
    }
    expect_refused(&t.view, &desc, MERBIT_INVALID_MATRIX, piece);
    assert_int_equal(merbit_solver_create(context, &t.view, &of_solver, &solver),
                     MERBIT_INVALID_MATRIX);
    assert_null(solver);
    assert_int_equal(merbit_preconditioner_update_values(p, a.values, MERBIT_MEMORY_HOST),
                     MERBIT_INVALID_MATRIX);
    cpu_expect(context, MERBIT_INVALID_MATRIX, piece);
    merbit_preconditioner_destroy(p);
  }
}

/* An inverse that f32 cannot hold: of an entry, and of a block. */
static void test_inverse_too_large(void **state) {
  const double dense[] = {1e-39, 0, 0, 1};
  static sparse a;
  static typed t;
  merbit_preconditioner_desc desc = kind_desc(MERBIT_PRECONDITIONER_JACOBI);
  (void)state;
  a = sparse_take(dense, 2);
  expect_refused(typed_view(&t, &a, MERBIT_F32), &desc, MERBIT_INVALID_MATRIX,
                 "A(0, 0), counted from 0, is 1e-39");
  desc.kind = MERBIT_PRECONDITIONER_BLOCK_JACOBI;
  expect_refused(&t.view, &desc, MERBIT_INVALID_MATRIX, "from row 0");
  merbit_preconditioner_destroy(make(typed_view(&t, &a, MERBIT_F64), &desc));
}

static void test_bad_matrices(void **state) {
  static const merbit_preconditioner_kind definite[] = {MERBIT_PRECONDITIONER_CHEBYSHEV,
                                                        MERBIT_PRECONDITIONER_FSAI};
  int k;
  (void)state;
  expect_bad(MERBIT_PRECONDITIONER_JACOBI, 9, 9, 0, 0, "A(9, 9), counted from 0, is 0");
  expect_bad(MERBIT_PRECONDITIONER_JACOBI, 9, 9, (double)NAN, 0,
             "A(9, 9), counted from 0, is nan");
  expect_bad(MERBIT_PRECONDITIONER_BLOCK_JACOBI, 9, 9, (double)NAN, 0, "from row 8 on");
  for (k = 0; k < 2; k++) {
    expect_bad(definite[k], 9, 9, 0, 0, "A(9, 9), counted from 0, is 0");
    expect_bad(definite[k], 9, 9, -2, 0, "A(9, 9), counted from 0, is -2");
    expect_bad(definite[k], 9, 9, (double)NAN, 0, "A(9, 9), counted from 0, is nan");
    expect_bad(definite[k], 9, 8, (double)NAN, 1, "is nan, which is not finite");
    expect_bad(definite[k], 9, 8, 1.5, 0, "but A(");
    expect_bad(definite[k], 9, 8, -40, 1, "positive definite matrix");
  }
}

/* A value beyond the range of f32. */
static void test_too_large(void **state) {
  static sparse a;
  static typed t;
  merbit_preconditioner_desc desc = kind_desc(MERBIT_PRECONDITIONER_FSAI);
  (void)state;
  a = sparse_mesh(4, 4, 4, 0);
  *sparse_entry(&a, 9, 9) = 1e39;
  merbit_preconditioner_destroy(make(typed_view(&t, &a, MERBIT_F64), &desc));
  desc.single = 1;
  expect_refused(&t.view, &desc, MERBIT_NOT_SUPPORTED, "set preconditioner_desc.single to 0");
  *sparse_entry(&a, 9, 9) = (double)INFINITY;
  desc.single = 0;
  expect_refused(&t.view, &desc, MERBIT_INVALID_MATRIX, "is inf, which is not finite");
}

static void test_refusals(void **state) {
  static sparse a;
  static typed t;
  const merbit_view *view;
  merbit_view other;
  merbit_preconditioner_desc desc = kind_desc(MERBIT_PRECONDITIONER_JACOBI);
  merbit_preconditioner *p = NULL;
  merbit_preconditioner_info info;
  merbit_solver_desc of_solver = solver_of(MERBIT_PRECONDITIONER_NONE);
  merbit_solver *solver;
  char line[512];
  double r[64] = {0}, vectors[64] = {0};
  (void)state;
  a = sparse_mesh(4, 4, 4, 0);
  view = typed_view(&t, &a, MERBIT_F64);
#define REFUSED(change, status, piece)                                                         \
  {                                                                                            \
    merbit_preconditioner_desc d = desc;                                                       \
    change;                                                                                    \
    expect_refused(view, &d, status, piece);                                                   \
  }
  REFUSED(d.kind = MERBIT_PRECONDITIONER_NONE, MERBIT_INVALID_ARGUMENT, "kind is 0")
  REFUSED(d.kind = MERBIT_PRECONDITIONER_CALLBACK, MERBIT_INVALID_ARGUMENT, "kind is 3")
  REFUSED(d.kind = (merbit_preconditioner_kind)9, MERBIT_INVALID_ARGUMENT, "kind is 9")
  REFUSED(d.kind = (merbit_preconditioner_kind)-1, MERBIT_INVALID_ARGUMENT, "kind is -1")
  REFUSED(d.side = (merbit_side)5, MERBIT_INVALID_ARGUMENT, "side is 5")
  REFUSED(d.block_size = 2, MERBIT_INVALID_ARGUMENT, "block_size is 2")
  REFUSED((d.kind = MERBIT_PRECONDITIONER_BLOCK_JACOBI, d.block_size = 33),
          MERBIT_INVALID_ARGUMENT, "use 1 to 32")
  REFUSED((d.kind = MERBIT_PRECONDITIONER_BLOCK_JACOBI, d.block_size = -1),
          MERBIT_INVALID_ARGUMENT, "block_size is -1")
  REFUSED(d.degree = 3, MERBIT_INVALID_ARGUMENT, "degree is 3")
  REFUSED((d.kind = MERBIT_PRECONDITIONER_CHEBYSHEV, d.degree = 33), MERBIT_INVALID_ARGUMENT,
          "degree is 33")
  REFUSED(d.near_nullspace_count = 1, MERBIT_INVALID_ARGUMENT, "near_nullspace_count is 1")
  REFUSED((d.kind = MERBIT_PRECONDITIONER_AMG, d.near_nullspace_count = 1),
          MERBIT_INVALID_ARGUMENT, "near_nullspace is NULL")
  REFUSED((d.kind = MERBIT_PRECONDITIONER_AMG, d.near_nullspace = vectors),
          MERBIT_INVALID_ARGUMENT, "near_nullspace is given")
  REFUSED((d.kind = MERBIT_PRECONDITIONER_AMG, d.block_size = 5), MERBIT_INVALID_ARGUMENT,
          "does not divide the 64 rows")
#undef REFUSED
  other = *view;
  other.cols = 65;
  expect_refused(&other, &desc, MERBIT_INVALID_MATRIX, "64 x 65");
  other = *view;
  other.value_type = MERBIT_C64;
  expect_refused(&other, &desc, MERBIT_NOT_SUPPORTED, "MERBIT_C64");
  other = *view;
  a.col_ind[3] = 64;
  expect_refused(&other, &desc, MERBIT_INVALID_MATRIX, "64");
  a = sparse_mesh(4, 4, 4, 0);
  assert_int_equal(merbit_preconditioner_create(NULL, view, &desc, &p),
                   MERBIT_INVALID_ARGUMENT);
  expect_refused(NULL, &desc, MERBIT_INVALID_ARGUMENT, "`view` is NULL");
  expect_refused(view, NULL, MERBIT_INVALID_ARGUMENT, "`desc` is NULL");
  assert_int_equal(merbit_preconditioner_create(context, view, &desc, NULL),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_preconditioner_update_values(NULL, r, MERBIT_MEMORY_HOST),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_preconditioner_apply(NULL, r, vectors, NULL),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_preconditioner_get_info(NULL, &info), MERBIT_INVALID_ARGUMENT);
  assert_true(merbit_preconditioner_describe(NULL, line, sizeof line) > 0);
  merbit_preconditioner_destroy(NULL);
  p = make(view, &desc);
  assert_int_equal(merbit_preconditioner_apply(p, NULL, vectors, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`r` is NULL");
  assert_int_equal(merbit_preconditioner_apply(p, r, NULL, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_preconditioner_apply(p, r, r + 1, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "overlap");
  assert_int_equal(merbit_preconditioner_update_values(p, NULL, MERBIT_MEMORY_HOST),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "give as many as the view has");
  assert_int_equal(merbit_preconditioner_update_values(p, a.values, (merbit_memory)9),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`memory` of the new values is 9");
  assert_int_equal(merbit_preconditioner_get_info(p, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_preconditioner_get_info: `info` is");
  merbit_preconditioner_destroy(p);
  of_solver.precondition = &desc;
  assert_int_equal(merbit_solver_create(context, view, &of_solver, &solver),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT,
             "MERBIT_PRECONDITIONER_NONE, which has no options");
  of_solver.preconditioner = MERBIT_PRECONDITIONER_FSAI;
  assert_int_equal(merbit_solver_create(context, view, &of_solver, &solver),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "make them equal");
  desc.kind = MERBIT_PRECONDITIONER_NONE;
  desc.singular = 1;
  of_solver.refine = 1;
  assert_int_equal(merbit_solver_create(context, view, &of_solver, &solver),
                   MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "singular");
  of_solver.refine = 0;
  of_solver.reorder = 1;
  assert_int_equal(merbit_solver_create(context, view, &of_solver, &solver),
                   MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "reorder");
  of_solver.preconditioner = MERBIT_PRECONDITIONER_JACOBI; /* as an object */
  assert_int_equal(merbit_solver_create(context, view, &of_solver, &solver),
                   MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "reorder");
  of_solver.reorder = 0;
  of_solver.preconditioner = MERBIT_PRECONDITIONER_BLOCK_JACOBI;
  of_solver.block_size = 4;
  desc.block_size = 8;
  assert_int_equal(merbit_solver_create(context, view, &of_solver, &solver),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "solver_desc.block_size is 4");
}

/* The block size may be given in either descriptor. */
static void test_block_size(void **state) {
  static sparse a;
  static typed t;
  static double b[SPARSE_ROWS], x[2][SPARSE_ROWS];
  merbit_preconditioner_desc options = merbit_preconditioner_defaults();
  merbit_solver_desc desc = solver_of(MERBIT_PRECONDITIONER_BLOCK_JACOBI);
  int iterations[3], k, i;
  (void)state;
  a = sparse_mesh(6, 6, 4, 0);
  for (i = 0; i < a.n; i++) {
    b[i] = 1 + i % 5;
  }
  for (k = 0; k < 3; k++) { /* blocks of 4; of 6 by the solver's descriptor; by the other one */
    desc.block_size = k == 1 ? 6 : 0;
    options.block_size = 6;
    desc.precondition = k == 2 ? &options : NULL;
    iterations[k] = solve(typed_view(&t, &a, MERBIT_F64), &desc, b, x[k == 2]).iterations;
  }
  assert_true(iterations[0] != iterations[1] && iterations[1] == iterations[2]);
  assert_memory_equal(x[0], x[1], (size_t)a.n * sizeof x[0][0]);
}

/* Values that f32 cannot represent: the solver scales them, the object's error names f32. */
static void test_tiny(void **state) {
  static sparse a, tiny;
  static typed t;
  static double b[SPARSE_ROWS], x[SPARSE_ROWS];
  merbit_preconditioner_desc options = kind_desc(MERBIT_PRECONDITIONER_FSAI);
  merbit_solver_desc desc = solver_of(MERBIT_PRECONDITIONER_FSAI);
  merbit_solver_result wanted, r;
  int exponent, i;
  (void)state;
  a = tiny = sparse_mesh(6, 6, 4, 0.4);
  options.single = 1;
  desc.precondition = &options;
  for (i = 0; i < a.n; i++) {
    b[i] = 1 + i % 5;
  }
  wanted = solve(typed_view(&t, &a, MERBIT_F64), &desc, b, x);
  for (exponent = -147; exponent >= -180; exponent -= 33) { /* few bits in f32; none */
    for (i = 0; i < a.nnz; i++) {
      tiny.values[i] = ldexp(a.values[i], exponent);
    }
    r = solve(typed_view(&t, &tiny, MERBIT_F64), &desc, b, x);
    expect_solved(&r, &tiny, b, x);
    assert_int_equal(r.iterations, wanted.iterations);
  }
  expect_refused(&t.view, &options, MERBIT_INVALID_MATRIX,
                 "in f32, for preconditioner_desc.single: A(0, 0)");
}

#endif /* TEST_SOLVE_PRECONDITIONER_FAILURES_H */
