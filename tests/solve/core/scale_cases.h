/* Systems whose numbers have squares beyond the range of double: a solve of 2^i A x = 2^j b
 * gives the scaled result of A x = b, bit for bit. Part of solver_cases.h. */
#ifndef TEST_SOLVE_FAR_CASES_H
#define TEST_SOLVE_FAR_CASES_H

enum { FAR_MOST = 100 };

typedef struct far_system { /* in f64 or f32, according to the view */
  merbit_view view;
  double values[5 * FAR_MOST], b[FAR_MOST], x[FAR_MOST];
  float single_values[5 * FAR_MOST], single_b[FAR_MOST], single_x[FAR_MOST];
  solved s;
} far_system;

/* Makes 2^i times the values of l, 2^j times b, and a first x. */
static void far_make(const linear *l, int single, int i, int j, far_system *f) {
  int k;
  memset(f, 0, sizeof *f);
  f->view = linear_view(l);
  f->view.value_type = single ? MERBIT_F32 : MERBIT_F64;
  f->view.values = single ? (const void *)f->single_values : f->values;
  for (k = 0; k < l->nnz; k++) {
    const double value = (double)(float)l->values[k];
    f->values[k] = ldexp(value, i);
    f->single_values[k] = (float)(single ? f->values[k] : 0);
  }
  for (k = 0; k < l->n; k++) {
    f->b[k] = ldexp((double)(float)l->b[k], j);
    f->x[k] = ldexp((double)(float)l->answer[k] + 0.25 * (k % 3), j - i);
    f->single_b[k] = (float)(single ? f->b[k] : 0);
    f->single_x[k] = (float)(single ? f->x[k] : 0);
  }
}

static void far_solve(merbit_solver *solver, int from_x, far_system *f) {
  const int single = f->view.value_type == MERBIT_F32;
  int k;
  memset(f->s.history, 0, sizeof f->s.history);
  f->s.status = merbit_solver_solve(solver, single ? (const void *)f->single_b : f->b,
                                    single ? (void *)f->single_x : f->x, from_x, f->s.history,
                                    400, &f->s.result);
  for (k = 0; k < FAR_MOST && single; k++) {
    f->x[k] = (double)f->single_x[k];
  }
}

static void far_expect(const far_system *f, const far_system *near, int exponent) {
  const merbit_solver_result *found = &f->s.result, *wanted = &near->s.result;
  int k;
  assert_int_equal(f->s.status, MERBIT_OK);
  if (found->stop != wanted->stop || found->iterations != wanted->iterations) {
    fail_msg("stop %d after %d iterations, %d after %d wanted: %s", (int)found->stop,
             found->iterations, (int)wanted->stop, wanted->iterations, found->description);
  }
  assert_string_equal(found->description, wanted->description);
  assert_true(found->residual == wanted->residual && found->restarts == wanted->restarts &&
              found->estimated_residual == wanted->estimated_residual &&
              found->backward_error == wanted->backward_error);
  assert_memory_equal(f->s.history, near->s.history, sizeof near->s.history);
  for (k = 0; k < f->view.rows; k++) {
    assert_true(f->x[k] == ldexp(near->x[k], exponent));
  }
}

typedef struct far_exponents {
  int i, j;
} far_exponents;

/* Numbers of normal scale, then extreme ones by new values, then normal ones again; solvers
 * made for extreme ones; and a given first x. */
static void check_far(const linear *l, const merbit_solver_desc *desc, int single,
                      const far_exponents *e, int count) {
  static far_system f, near;
  merbit_solver *solver, *made;
  int from_x, at;
  for (from_x = 0; from_x <= 1; from_x++) {
    far_make(l, single, 0, 0, &near);
    assert_int_equal(merbit_solver_create(context, &near.view, desc, &solver), MERBIT_OK);
    far_solve(solver, from_x, &near);
    expect_stop(&near.s, MERBIT_STOP_CONVERGED, "at most the tolerance");
    assert_true(near.s.result.iterations > 1);
    for (at = 0; at < count; at++) {
      far_make(l, single, e[at].i, e[at].j, &f);
      assert_int_equal(merbit_solver_create(context, &f.view, desc, &made), MERBIT_OK);
      far_solve(made, from_x, &f);
      far_expect(&f, &near, e[at].j - e[at].i);
      merbit_solver_destroy(made);
      assert_int_equal(merbit_solver_update_values(solver, f.view.values, MERBIT_MEMORY_HOST),
                       MERBIT_OK);
      far_make(l, single, e[at].i, e[at].j, &f);
      far_solve(solver, from_x, &f);
      far_expect(&f, &near, e[at].j - e[at].i);
    }
    far_make(l, single, 0, 0, &f);
    assert_int_equal(merbit_solver_update_values(solver, f.view.values, MERBIT_MEMORY_HOST),
                     MERBIT_OK);
    far_solve(solver, from_x, &f);
    far_expect(&f, &near, 0);
    merbit_solver_destroy(solver);
  }
}

static void test_far(void **state) {
  static const far_exponents wide_range[] = {
      {-550, -550}, {0, -510},   {500, 0},   {0, -1000},     {0, 450},
      {0, 1000},    {-550, 0},   {500, 500}, {-1000, -1000}, {1000, 1000},
      {500, -400},  {-400, 500}, {150, -90}};
  static const far_exponents narrow[] = {{-100, -100}, {0, -90}, {0, 90},   {-90, 0},
                                         {90, 0},      {90, 90}, {-60, 60}, {60, -40}};
  const int on_cpu = context->side == MERBIT_SIDE_CPU; /* a GPU may be simulated */
  linear l = linear_grid(on_cpu ? 10 : 4, 0.1, 2, 0),
         even = linear_grid(on_cpu ? 10 : 4, 0, 2, 0);
  int method, kind, pre;
  (void)state;
  for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_GMRES; method++) {
    for (kind = 0; kind < 3; kind++) { /* f64, f32, refinement in f32 */
      for (pre = MERBIT_PRECONDITIONER_NONE; pre <= MERBIT_PRECONDITIONER_BLOCK_JACOBI; pre++) {
        merbit_solver_desc desc =
            solver_desc((merbit_solver_method)method, kind == 1 ? 1e-5 : 1e-10);
        desc.deterministic = 1;
        desc.preconditioner = (merbit_preconditioner_kind)pre;
        desc.refine = kind == 2;
        if (on_cpu || pre == kind) {
          check_far(method == MERBIT_SOLVER_CG ? &even : &l, &desc, kind == 1,
                    kind == 1 ? narrow : wide_range,
                    !on_cpu     ? 1
                    : kind == 1 ? 8
                                : 13);
        }
      }
    }
  }
  linear_free(&l);
  linear_free(&even);
}

/* Systems that cannot be scaled are refused: an x that its type cannot represent, and a matrix
 * whose smallest values would be lost. */
static void test_too_far(void **state) {
  static const dense apart = {2, {1e200, 0, 0, 1e-160}, {1e200, 1e-160}};
  static const dense lost = {2, {1e21, 0, 0, 1e-50}, {1e21, 1e-50}};
  static const far_exponents e[] = {{600, -600}, {-600, 600}, {0, -1072}};
  linear l = linear_grid(4, 0, 1, 0);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  static far_system f;
  merbit_solver *solver;
  double x[2];
  solved s;
  int at;
  (void)state;
  for (at = context->side == MERBIT_SIDE_CPU ? 0 : 2; at < 3; at++) {
    far_make(&l, 0, e[at].i, e[at].j, &f);
    assert_int_equal(merbit_solver_create(context, &f.view, &desc, &solver), MERBIT_OK);
    far_solve(solver, 0, &f);
    expect_stop(&f.s, MERBIT_STOP_NOT_FINITE, "which f64 does not hold: scale A or b");
    assert_true(!(f.s.result.residual <= 1e-3) && !(f.s.result.backward_error <= 1e-3));
    merbit_solver_destroy(solver);
  }
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  s = solve_dense(&apart, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  desc.preconditioner = MERBIT_PRECONDITIONER_NONE; /* in f32 the small entry becomes zero */
  desc.refine = 1;
  s = solve_dense(&lost, &desc, x);
  expect_stop(&s, MERBIT_STOP_CONVERGED, "");
  assert_true(fabs(x[0] - 1) <= 1e-9);
  linear_free(&l);
}

/* A preconditioner in f32 would lose the smallest values: a new solver refuses them, and so
 * does an update. */
static void test_too_far_single(void **state) {
  static const dense apart = {2, {1e200, 1e100, 1e100, 1e200}, {1, 1}};
  static const dense even = {2, {2, 1, 1, 2}, {1, 1}};
  const char *const message = "is 1e+200, which f32 cannot represent; set preconditioner_desc";
  linear l = linear_dense(&even), far = linear_dense(&apart);
  const merbit_view view = linear_view(&l), far_view = linear_view(&far);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  merbit_preconditioner_desc options = merbit_preconditioner_defaults();
  merbit_solver *solver;
  (void)state;
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  desc.precondition = &options;
  options.single = 1;
  assert_int_equal(merbit_solver_create(context, &far_view, &desc, &solver),
                   MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, message);
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_update_values(solver, far.values, MERBIT_MEMORY_HOST),
                   MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, message);
  merbit_solver_destroy(solver);
  linear_free(&l);
  linear_free(&far);
}

/* ||A|| ||x|| overflows, but the backward error does not: A has values too far apart to scale.
 */
static void test_far_backward_error(void **state) {
  static const dense apart = {2, {1e155, 0, 0, 1e-155}, {1, 0.101}};
  static const dense infinite = {2, {1.7e308, 1.7e308, 0, 1e-300}, {1, 0}}; /* its norm */
  linear l = linear_dense(&apart);
  double x[2];
  static far_system f;
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  merbit_solver *solver;
  (void)state;
  memset(&f, 0, sizeof f);
  f.view = linear_view(&l);
  memcpy(f.b, l.b, 2 * sizeof f.b[0]);
  f.x[1] = 1e154; /* the residual is 1 and 0.001 */
  desc.max_iterations = 1;
  assert_int_equal(merbit_solver_create(context, &f.view, &desc, &solver), MERBIT_OK);
  far_solve(solver, 1, &f);
  expect_stop(&f.s, MERBIT_STOP_CAP, "max_iterations = 1");
  assert_true(fabs(f.s.result.backward_error - 1e-312) <= 1e-314);
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  merbit_solver_destroy(solver);
  assert_int_equal(merbit_solver_create(context, &f.view, &desc, &solver), MERBIT_OK);
  far_solve(solver, 0, &f);
  expect_stop(&f.s, MERBIT_STOP_CONVERGED, "at most the tolerance");
  assert_true(f.s.result.backward_error <= 1e-15);
  merbit_solver_destroy(solver);
  desc.method = MERBIT_SOLVER_BICGSTAB;
  f.s = solve_dense(&infinite, &desc, x);
  expect_stop(&f.s, MERBIT_STOP_CONVERGED, "at most the tolerance");
  assert_false(isnan(f.s.result.backward_error));
  desc.preconditioner = MERBIT_PRECONDITIONER_NONE;
  f.s = solve_dense(&infinite, &desc, x);
  expect_stop(&f.s, MERBIT_STOP_NOT_FINITE, "");
  assert_true(x[0] == 0 && x[1] == 0 && f.s.result.backward_error == 1);
  linear_free(&l);
}

/* Messages that name a scaled value say so. */
static void test_scaled_message(void **state) {
  static const dense even = {2, {2, 1, 1, 2}, {1, 1}};
  static const dense uneven = {2, {1e250, 2e249, 3e249, 1e250}, {1, 1}};
  const char *const message = "with A times 2^-830: A(0, 1), counted from 0, is 0.";
  linear l = linear_dense(&even), far = linear_dense(&uneven);
  const merbit_view view = linear_view(&l), far_view = linear_view(&far);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  merbit_solver *solver;
  (void)state;
  desc.preconditioner = MERBIT_PRECONDITIONER_FSAI;
  assert_int_equal(merbit_solver_create(context, &far_view, &desc, &solver),
                   MERBIT_INVALID_MATRIX);
  cpu_expect(context, MERBIT_INVALID_MATRIX, message);
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_update_values(solver, far.values, MERBIT_MEMORY_HOST),
                   MERBIT_INVALID_MATRIX);
  cpu_expect(context, MERBIT_INVALID_MATRIX, message);
  merbit_solver_destroy(solver);
  linear_free(&l);
  linear_free(&far);
}

/* Solves a system of two rows in f64 or f32, and expects `stop` with the residual of the x that
 * is returned. */
static void expect_rounded(const dense *d, int single, merbit_stop stop) {
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_BICGSTAB, 0);
  linear l = linear_dense(d);
  static far_system f;
  merbit_solver *solver;
  double residual;
  int k;
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  memset(&f, 0, sizeof f);
  f.view = linear_view(&l);
  f.view.value_type = single ? MERBIT_F32 : MERBIT_F64;
  f.view.values = single ? (const void *)f.single_values : l.values;
  for (k = 0; k < 2; k++) {
    f.b[k] = l.b[k];
    f.single_b[k] = (float)(single ? l.b[k] : 0);
    f.single_values[k] = (float)(single ? l.values[k] : 0);
  }
  assert_int_equal(merbit_solver_create(context, &f.view, &desc, &solver), MERBIT_OK);
  far_solve(solver, 0, &f);
  expect_stop(&f.s, stop,
              stop == MERBIT_STOP_CONVERGED ? "at most the tolerance"
              : single                      ? "which f32 does not hold: scale A or b"
                                            : "which f64 does not hold: scale A or b");
  residual = linear_residual(&l, f.x, 0);
  assert_true(fabs(f.s.result.residual - residual) <= 1e-6 * residual);
  merbit_solver_destroy(solver);
  linear_free(&l);
}

/* Systems whose x loses bits when it is scaled back: the residual is that of the rounded x, and
 * the solve has converged only if that residual is small enough. */
static void test_rounded(void **state) {
  const dense first = {2, {1e60, 0, 0, 1}, {1e-265, 1e-265}};
  const dense single = {2, {ldexp(1, 46), 0, 0, 1}, {ldexp(3, -104), ldexp(3, -104)}};
  const dense small = {2, {1e60, 0, 0, 1}, {1e-280, 1e-265}};
  const dense exact = {2, {1, 0, 0, 2}, {ldexp(1, -1030), ldexp(1, -1029)}};
  const dense scaled = {2, {1e200, 0, 0, 1e-100}, {1e-150, 1e-210}};
  (void)state;
  expect_rounded(&first, 0, MERBIT_STOP_NOT_FINITE);
  expect_rounded(&single, 1, MERBIT_STOP_NOT_FINITE);
  expect_rounded(&scaled, 0, MERBIT_STOP_NOT_FINITE);
  expect_rounded(&small, 0, MERBIT_STOP_CONVERGED); /* x[0] becomes 0, which hardly matters */
  expect_rounded(&exact, 0, MERBIT_STOP_CONVERGED);
}

/* A refused update changes nothing, whether or not the solver has scaled its matrix. */
static void test_refused_update(void **state) {
  const int on_cpu = context->side == MERBIT_SIDE_CPU;
  const merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  linear l = linear_grid(on_cpu ? 10 : 4, 0, 1, 0);
  static far_system before, f;
  merbit_solver *solver;
  int far;
  (void)state;
  for (far = 0; far <= 1; far++) {
    far_make(&l, 0, -550 * far, 0, &before);
    f = before;
    assert_int_equal(merbit_solver_create(context, &before.view, &desc, &solver), MERBIT_OK);
    far_solve(solver, 0, &before);
    expect_stop(&before.s, MERBIT_STOP_CONVERGED, "");
    assert_int_equal(merbit_solver_update_values(solver, NULL, MERBIT_MEMORY_HOST),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "the new values are NULL");
    assert_int_equal(merbit_solver_update_values(solver, f.values, (merbit_memory)9),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "of the new values is 9");
    if (on_cpu) {
      assert_int_equal(merbit_solver_update_values(solver, f.values, MERBIT_MEMORY_DEVICE),
                       MERBIT_INVALID_ARGUMENT);
      cpu_expect(context, MERBIT_INVALID_ARGUMENT, "the plan is for the CPU");
    }
    far_solve(solver, 0, &f);
    far_expect(&f, &before, 0);
    merbit_solver_destroy(solver);
  }
  linear_free(&l);
}

/* Padding of blocks is no part of the matrix: whatever it holds, values are scaled, and rounded
 * to f32, as if it were not there. */
static void test_padding(void **state) {
  static const int32_t row_ptr[] = {0, 2, 4}, col_ind[] = {0, 1, 0, 1};
  static const double entries[] = {4, -1, -1, 4, 0, 9, -1, 9, 0, -1, 9, 9, 4, 9, 9, 9};
  static const double padding[] = {(double)NAN, 1e300, 1e-320};
  static const int exponents[] = {0, 600, -550};
  double values[16] = {0}, b[3], x[3];
  merbit_view view = merbit_bsr(3, 3, 4, 2, 2, row_ptr, col_ind, values);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  merbit_solver *solver;
  solved s;
  int at, k, turn;
  (void)state;
  for (at = 0; at < 9; at++) {
    for (k = 0; k < 16; k++) {
      values[k] = entries[k] == 9 ? padding[at % 3] : ldexp(entries[k], exponents[at / 3]);
    }
    for (k = 0; k < 3; k++) {
      b[k] = ldexp(k == 1 ? 2 : 3, exponents[at / 3]);
    }
    desc.refine = at % 2;
    assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
    for (turn = 0; turn < 2; turn++) {
      s.status = merbit_solver_solve(solver, b, x, 0, NULL, 0, &s.result);
      expect_stop(&s, MERBIT_STOP_CONVERGED, "");
      assert_true(fabs(x[0] - 1) <= 1e-9 && fabs(x[1] - 1) <= 1e-9 && fabs(x[2] - 1) <= 1e-9);
      assert_int_equal(merbit_solver_update_values(solver, values, MERBIT_MEMORY_HOST),
                       MERBIT_OK);
    }
    merbit_solver_destroy(solver);
  }
}

#endif /* TEST_SOLVE_FAR_CASES_H */
