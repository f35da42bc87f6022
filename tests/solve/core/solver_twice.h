/* A used solver gives the same results as a new one. Part of solver_cases.h. */
#ifndef TEST_SOLVE_SOLVER_TWICE_H
#define TEST_SOLVE_SOLVER_TWICE_H

/* Makes right-hand side `which` of n rows; number 3 stops the solver at once. */
static void twice_rhs(const linear *l, int which, double *b) {
  int32_t i;
  for (i = 0; i < l->n; i++) {
    b[i] = which == 0 ? l->b[i] : which == 1 ? 3.0 * (i % 4) - 2 : which == 2 ? 0 : 1;
  }
  if (which == 3) {
    b[l->n / 2] = (double)NAN;
  }
}

static solved twice_solve(merbit_solver *solver, const double *b, double *x) {
  solved s;
  memset(&s, 0, sizeof s);
  s.status = merbit_solver_solve(solver, b, x, 0, s.history, 400, &s.result);
  assert_int_equal(s.status, MERBIT_OK);
  return s;
}

/* Uses one solver for `count` right-hand sides, and compares each with a new solver. */
static void check_twice(const linear *l, const merbit_solver_desc *desc, const int *order,
                        int count) {
  const merbit_view view = linear_view(l);
  merbit_solver *used;
  double b[100], x[100], y[100];
  int i;
  assert_int_equal(merbit_solver_create(context, &view, desc, &used), MERBIT_OK);
  for (i = 0; i < count; i++) {
    merbit_solver *fresh;
    solved again, once;
    twice_rhs(l, order[i], b);
    again = twice_solve(used, b, x);
    assert_int_equal(merbit_solver_create(context, &view, desc, &fresh), MERBIT_OK);
    once = twice_solve(fresh, b, y);
    merbit_solver_destroy(fresh);
    if (again.result.iterations != once.result.iterations ||
        again.result.stop != once.result.stop ||
        again.result.restarts != once.result.restarts) {
      fail_msg(
          "method %d, refine %d, right-hand side %d: %d iterations and stop %d, by a fresh "
          "solver %d and %d",
          (int)desc->method, desc->refine, order[i], again.result.iterations,
          (int)again.result.stop, once.result.iterations, (int)once.result.stop);
    }
    assert_string_equal(again.result.description, once.result.description);
    if (order[i] != 3) {
      assert_memory_equal(again.history, once.history, sizeof once.history);
      assert_memory_equal(x, y, (size_t)l->n * sizeof x[0]);
      assert_true(again.result.residual == once.result.residual &&
                  again.result.backward_error == once.result.backward_error);
    }
  }
  merbit_solver_destroy(used);
}

static void test_twice(void **state) {
  static const int order[] = {0, 1, 3, 1, 2, 0};
  const int on_cpu = context->side == MERBIT_SIDE_CPU; /* a GPU may be simulated */
  linear l = linear_grid(on_cpu ? 10 : 4, 0.1, 2, 0),
         even = linear_grid(on_cpu ? 10 : 4, 0, 2, 0);
  int method, refine, cap;
  (void)state;
  for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_GMRES; method++) {
    for (refine = 0; refine <= 1; refine++) {
      for (cap = 0; cap <= 7; cap += 7) {
        merbit_solver_desc desc = solver_desc((merbit_solver_method)method, 1e-9);
        desc.deterministic = 1;
        desc.restart = 5;
        desc.refine = refine;
        desc.max_iterations = cap;
        desc.preconditioner =
            cap == 0 ? MERBIT_PRECONDITIONER_JACOBI : MERBIT_PRECONDITIONER_NONE;
        check_twice(method == MERBIT_SOLVER_CG ? &even : &l, &desc, order, on_cpu ? 6 : 2);
      }
    }
  }
  linear_free(&l);
  linear_free(&even);
}

#endif /* TEST_SOLVE_SOLVER_TWICE_H */
