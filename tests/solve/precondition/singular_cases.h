/* Laplacians: `singular` of preconditioners and solvers. Part of preconditioner_cases.h. */
#ifndef TEST_SOLVE_SINGULAR_CASES_H
#define TEST_SOLVE_SINGULAR_CASES_H

/* A Laplacian: the mean of b is removed, x has mean zero, and the residual refers to the rest
 * of b. With a stride among matrices, half of the forms in each precision, chosen by the seed.
 */
static void test_singular(void **state) {
  static sparse a;
  static typed t;
  static double b[SPARSE_ROWS], x[SPARSE_ROWS];
  double mean = 0;
  int form, single, method, i;
  (void)state;
  a = sparse_laplacian(SPARSE_ROWS, 4, 5);
  (void)typed_view(&t, &a, MERBIT_F64);
  for (i = 0; i < a.n; i++) {
    b[i] = 3 + i % 7;
    mean += b[i] / a.n;
  }
  for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_GMRES; method++) {
    for (form = 0; form < FORMS; form++) {
      const int only = gpu_stride() > 1, turn = only ? (form + gpu_first_of(2)) % 2 : 0;
      for (single = turn; single <= (only ? turn : 1); single++) {
        merbit_preconditioner_desc options = form_desc(form);
        merbit_solver_desc desc = solver_of(options.kind);
        merbit_solver_result r;
        double left[SPARSE_ROWS], sum = 0, most = 0;
        options.singular = 1;
        options.single = single;
        desc.method = (merbit_solver_method)method;
        desc.precondition = &options;
        r = solve(&t.view, &desc, b, x);
        for (i = 0; i < a.n; i++) {
          left[i] = b[i] - mean;
          sum += x[i];
          most = fabs(x[i]) > most ? fabs(x[i]) : most;
        }
        expect_solved(&r, &a, left, x);
        assert_true(fabs(sum) <= 1e-9 * most * a.n);
      }
    }
  }
}

/* A constant b is zero without its mean, and so is x. */
static void test_constant(void **state) {
  static const double constants[] = {0.1, 1.0 / 3, 1e-9, -7e11};
  static sparse a;
  static typed t;
  double b[SPARSE_ROWS], x[SPARSE_ROWS];
  size_t at;
  int method, i;
  (void)state;
  a = sparse_laplacian(SPARSE_ROWS, 4, 5);
  for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_GMRES; method++) {
    for (at = 0; at < sizeof constants / sizeof constants[0]; at++) {
      merbit_preconditioner_desc options = merbit_preconditioner_defaults();
      merbit_solver_desc desc = solver_of(MERBIT_PRECONDITIONER_JACOBI);
      merbit_solver_result r;
      options.singular = 1;
      desc.method = (merbit_solver_method)method;
      desc.precondition = &options;
      for (i = 0; i < a.n; i++) {
        b[i] = constants[at];
        x[i] = 1;
      }
      r = solve(typed_view(&t, &a, MERBIT_F64), &desc, b, x);
      if (r.stop != MERBIT_STOP_CONVERGED) {
        fail_msg("method %d, %g: %s", method, constants[at], r.description);
      }
      assert_string_equal(r.description, "b without its mean is zero, and so is x");
      assert_true(r.residual == 0 && r.iterations == 0);
      for (i = 0; i < a.n; i++) {
        assert_true(x[i] == 0);
      }
    }
  }
}

/* The mean of b is far larger than the rest of b, and that of the first x than the solution. */
static void test_large_mean(void **state) {
  static sparse a;
  static typed t;
  const merbit_view *view;
  int method, i;
  (void)state;
  a = sparse_laplacian(SPARSE_ROWS, 4, 5);
  view = typed_view(&t, &a, MERBIT_F64);
  for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_GMRES; method++) {
    merbit_preconditioner_desc options = merbit_preconditioner_defaults();
    merbit_solver_desc desc = solver_of(MERBIT_PRECONDITIONER_JACOBI);
    merbit_solver *solver;
    merbit_solver_result r;
    double b[SPARSE_ROWS], x[SPARSE_ROWS], mean = 0, most = 0;
    options.singular = 1;
    desc.method = (merbit_solver_method)method;
    desc.precondition = &options;
    for (i = 0; i < a.n; i++) {
      b[i] = 1e9 / 3 + sin(1.7 * i);
      x[i] = 1e9 / 3 + cos(1.7 * i);
    }
    assert_int_equal(merbit_solver_create(context, view, &desc, &solver), MERBIT_OK);
    assert_int_equal(merbit_solver_solve(solver, b, x, 1, NULL, 0, &r), MERBIT_OK);
    if (r.stop != MERBIT_STOP_CONVERGED) {
      fail_msg("method %d: %s", method, r.description);
    }
    for (i = 0; i < a.n; i++) {
      mean += x[i] / a.n;
      most = fabs(x[i]) > most ? fabs(x[i]) : most;
    }
    assert_true(fabs(mean) <= 1e-12 * most);
    merbit_solver_destroy(solver);
  }
}

/* The sum of b overflows, but neither its mean nor the rest does. */
static void test_large_sum(void **state) {
  const double dense[] = {1, -1, -1, 1}, b[] = {1.7e308, 1e308};
  static sparse a;
  static typed t;
  merbit_preconditioner_desc options = merbit_preconditioner_defaults();
  merbit_solver_desc desc = solver_of(MERBIT_PRECONDITIONER_JACOBI);
  merbit_solver_result r;
  double x[2];
  (void)state;
  a = sparse_take(dense, 2);
  options.singular = 1;
  desc.precondition = &options;
  r = solve(typed_view(&t, &a, MERBIT_F64), &desc, b, x);
  assert_int_equal(r.stop, MERBIT_STOP_CONVERGED);
  assert_true(fabs(x[0] - 1.75e307) <= 1e-6 * x[0] && fabs(x[0] + x[1]) <= 1e-6 * x[0]);
}

/* A regular matrix, for which `singular` is wrong: no method advises it again. */
static void test_singular_advice(void **state) {
  const double dense[] = {2, -1, 0, -1, 2, -1, 0, -1, 2}, b[] = {1, 2, -3.5};
  static sparse a;
  static typed t;
  merbit_preconditioner_desc options = merbit_preconditioner_defaults();
  merbit_solver_desc desc = solver_of(MERBIT_PRECONDITIONER_JACOBI);
  merbit_solver_result r;
  double x[3];
  int method;
  (void)state;
  a = sparse_take(dense, 3);
  options.singular = 1;
  desc.precondition = &options;
  for (method = MERBIT_SOLVER_BICGSTAB; method <= MERBIT_SOLVER_GMRES; method++) {
    desc.method = (merbit_solver_method)method;
    r = solve(typed_view(&t, &a, MERBIT_F64), &desc, b, x);
    assert_int_not_equal(r.stop, MERBIT_STOP_CONVERGED);
    assert_null(strstr(r.description, "for a Laplacian"));
    assert_non_null(strstr(r.description, "singular needs an A that"));
  }
}

/* Weights so uneven that rounding errors give the sums in x a mean. */
static void test_uneven_laplacian(void **state) {
  enum { N = 20 };
  static double dense[N * N];
  static sparse a;
  static typed t;
  merbit_preconditioner_desc options = merbit_preconditioner_defaults();
  merbit_solver_desc desc = solver_of(MERBIT_PRECONDITIONER_JACOBI);
  merbit_solver_result r;
  double b[N], x[N], sum = 0, most = 0;
  int i;
  (void)state;
  memset(dense, 0, sizeof dense);
  for (i = 0; i < N - 1; i++) { /* a path */
    const double weight = pow(10, i * 5 % 7);
    dense[i * N + i] += weight;
    dense[(i + 1) * N + i + 1] += weight;
    dense[i * N + i + 1] = dense[(i + 1) * N + i] = -weight;
  }
  for (i = 0; i < N; i++) {
    b[i] = sin(1.7 * i);
  }
  a = sparse_take(dense, N);
  options.singular = 1;
  desc.method = MERBIT_SOLVER_GMRES;
  desc.precondition = &options;
  r = solve(typed_view(&t, &a, MERBIT_F64), &desc, b, x);
  assert_int_equal(r.stop, MERBIT_STOP_CONVERGED);
  for (i = 0; i < N; i++) {
    sum += x[i];
    most = fmax(most, fabs(x[i]));
  }
  assert_true(fabs(sum) <= 1e-14 * N * most);
}

/* A first x so far from the solution that its rounding errors give the sum a mean of thousands.
 * The residual is that of the x that is returned, without this mean. */
static void test_far_first_x(void **state) {
  const double weights[] = {64, 98304, 1572864, 16384, 524288, 48}, b[] = {-3, 1, 1, 0};
  static sparse a;
  static typed t;
  double dense[16] = {0};
  merbit_preconditioner_desc options = merbit_preconditioner_defaults();
  merbit_solver_desc desc = solver_of(MERBIT_PRECONDITIONER_JACOBI);
  const merbit_view *view;
  int method, i, j, k = 0;
  (void)state;
  for (i = 0; i < 4; i++) {
    for (j = i + 1; j < 4; j++, k++) {
      dense[4 * i + j] = dense[4 * j + i] = -weights[k];
      dense[5 * i] += weights[k];
      dense[5 * j] += weights[k];
    }
  }
  a = sparse_take(dense, 4);
  view = typed_view(&t, &a, MERBIT_F64);
  options.singular = options.single = 1;
  desc.precondition = &options;
  for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_GMRES; method++) {
    double x[] = {-281474976710656., 140737488355328., 103079215104., 2305843009213693952.};
    double square = 0, found;
    merbit_solver *solver;
    merbit_solver_result r;
    desc.method = (merbit_solver_method)method;
    assert_int_equal(merbit_solver_create(context, view, &desc, &solver), MERBIT_OK);
    assert_int_equal(merbit_solver_solve(solver, b, x, 1, NULL, 0, &r), MERBIT_OK);
    merbit_solver_destroy(solver);
    for (i = 0; i < 4; i++) {
      double left = b[i] + 0.25;
      for (j = 0; j < 4; j++) {
        left -= dense[4 * i + j] * x[j];
      }
      square += left * left;
    }
    found = sqrt(square / 10.75); /* ||b||^2 without the mean of b */
    if (fabs(r.residual - found) > 0.01 * found) {
      fail_msg("method %d: %s, but it is %g", method, r.description, found);
    }
  }
}

#endif /* TEST_SOLVE_SINGULAR_CASES_H */
