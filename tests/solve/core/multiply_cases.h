/* Products with a solver's own matrix, which the solver may have reordered, scaled or used for
 * solves. Part of solver_cases.h, after scale_cases.h. */
#ifndef TEST_SOLVE_MULTIPLY_CASES_H
#define TEST_SOLVE_MULTIPLY_CASES_H

/* Expects each y[i] within the bound of a product of the values and x as stored. */
static void expect_multiplied(const linear *l, const far_system *f, const void *y) {
  const int single = f->view.value_type == MERBIT_F32;
  const wide u = single ? 0x1p-24L : 0x1p-53L;
  int32_t i, k;
  for (i = 0; i < l->n; i++) {
    const wide found = single ? (wide)((const float *)y)[i] : (wide)((const double *)y)[i];
    const wide n = (wide)(l->row_ptr[i + 1] - l->row_ptr[i] + 2);
    wide sum = 0, size = 0;
    for (k = l->row_ptr[i]; k < l->row_ptr[i + 1]; k++) {
      const wide product = (wide)f->values[k] * (wide)f->x[l->col_ind[k]];
      sum += product;
      size += fabsl(product);
    }
    if (!(fabsl(found - sum) <= n * u / (1 - n * u) * size)) {
      fail_msg("y[%d] is %Lg, not %Lg", (int)i, found, sum);
    }
  }
}

/* Products before and after a solve have the same bits; new values replace old ones. */
static void check_multiply(const linear *l, const merbit_solver_desc *desc, int single,
                           int exponent) {
  const size_t size = single ? sizeof(float) : sizeof(double);
  far_system f, solved_by;
  const void *x = single ? (const void *)f.single_x : f.x;
  double first[FAR_MOST], second[FAR_MOST];
  merbit_solver *solver;
  int i, k;
  far_make(l, single, exponent, 0, &f);
  solved_by = f;
  assert_int_equal(merbit_solver_create(context, &f.view, desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_multiply(solver, x, first), MERBIT_OK);
  expect_multiplied(l, &f, first);
  far_solve(solver, 0, &solved_by);
  assert_int_equal(solved_by.s.result.stop, MERBIT_STOP_CONVERGED);
  assert_int_equal(merbit_solver_multiply(solver, x, second), MERBIT_OK);
  assert_memory_equal(first, second, (size_t)l->n * size);
  for (i = 0; i < l->n; i++) {
    for (k = l->row_ptr[i]; k < l->row_ptr[i + 1]; k++) {
      f.values[k] *= l->col_ind[k] == i ? 2 : 1;
      f.single_values[k] = (float)(single ? f.values[k] : 0);
    }
  }
  assert_int_equal(merbit_solver_update_values(solver, f.view.values, MERBIT_MEMORY_HOST),
                   MERBIT_OK);
  assert_int_equal(merbit_solver_multiply(solver, x, first), MERBIT_OK);
  expect_multiplied(l, &f, first);
  merbit_solver_destroy(solver);
}

static void test_multiply(void **state) {
  linear l = linear_grid(9, 0, 3, 0);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-5);
  int single;
  (void)state;
  for (single = 0; single <= 1; single++) {
    const int far = single ? 60 : 300; /* where solvers scale the values */
    desc = solver_desc(MERBIT_SOLVER_CG, 1e-5);
    check_multiply(&l, &desc, single, 0);
    desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
    check_multiply(&l, &desc, single, far);
    desc.method = MERBIT_SOLVER_BICGSTAB;
    desc.reorder = 1;
    check_multiply(&l, &desc, single, 0);
    check_multiply(&l, &desc, single, -far);
    desc.method = MERBIT_SOLVER_GMRES;
    desc.reorder = 0;
    desc.preconditioner = MERBIT_PRECONDITIONER_BLOCK_JACOBI;
    check_multiply(&l, &desc, single, 1);
  }
  desc = solver_desc(MERBIT_SOLVER_CG, 1e-10);
  desc.refine = 1;
  check_multiply(&l, &desc, 0, 0);
  check_multiply(&l, &desc, 0, 100);
  linear_free(&l);
}

/* y has a normal size, although the scaled values times x would overflow, or be subnormal and
 * lose bits. Some of x is far from the rest. */
static void test_multiply_far(void **state) {
  linear l = linear_grid(9, 0, 3, 0);
  const merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-5);
  int single, sign, k;
  (void)state;
  for (single = 0; single <= 1; single++) {
    for (sign = -1; sign <= 1; sign += 2) {
      merbit_solver *solver;
      double y[FAR_MOST];
      far_system f;
      far_make(&l, single, sign * (single ? 118 : 1010), 0, &f);
      for (k = 0; k < l.n; k++) {
        const int large = single ? 127 : 1023, tiny = single ? -140 : -1060;
        f.x[k] = ldexp(1 + k % 7 / 7.0, k >= 50 ? -sign * 60 : sign < 0 ? large : tiny);
        f.single_x[k] = (float)(single ? f.x[k] : 0);
        f.x[k] = single ? (double)f.single_x[k] : f.x[k];
      }
      assert_int_equal(merbit_solver_create(context, &f.view, &desc, &solver), MERBIT_OK);
      assert_int_equal(
          merbit_solver_multiply(solver, single ? (const void *)f.single_x : f.x, y),
          MERBIT_OK);
      expect_multiplied(&l, &f, y);
      merbit_solver_destroy(solver);
    }
  }
  linear_free(&l);
}

static void test_multiply_refusals(void **state) {
  linear l = linear_grid(5, 0, 1, 0);
  const merbit_view view = linear_view(&l), empty = merbit_csr(0, 0, 0, l.row_ptr, NULL, NULL);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-5);
  merbit_solver *solver;
  double x[30], y[25];
  (void)state;
  assert_int_equal(merbit_solver_multiply(NULL, x, y), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_solver_create(context, &empty, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_multiply(solver, NULL, NULL), MERBIT_OK);
  merbit_solver_destroy(solver);
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_multiply(solver, NULL, y), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_solver_multiply: `x` is NULL");
  assert_int_equal(merbit_solver_multiply(solver, x, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_solver_multiply: `y` is NULL");
  assert_int_equal(merbit_solver_multiply(solver, x, x + 24), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "x and y overlap; use two vectors of 25");
  merbit_solver_destroy(solver);
  desc.vector_memory = MERBIT_MEMORY_DEFAULT;
  if (context->side == MERBIT_SIDE_CUDA) {
    merbit_buffer *there;
    char *begin;
    assert_int_equal(merbit_buffer_create(context, 3 * sizeof y, &there), MERBIT_OK);
    begin = (char *)merbit_buffer_pointer(there);
    assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
    assert_int_equal(merbit_solver_multiply(solver, x, merbit_buffer_pointer(there)),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_solver_multiply: x is host memory");
    assert_int_equal(merbit_solver_multiply(solver, merbit_buffer_pointer(there), y),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_solver_multiply: y is host memory");
    /* Misaligned vectors are refused before anything is computed. */
    assert_int_equal(merbit_solver_solve(solver, begin, begin + sizeof y + 4, 0, NULL, 0, NULL),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_solver_solve: x at ");
    assert_int_equal(merbit_solver_multiply(solver, begin + 4, begin + sizeof y + 8),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_solver_multiply: x at ");
    merbit_solver_destroy(solver);
    merbit_buffer_destroy(there);
  }
  linear_free(&l);
}

#endif /* TEST_SOLVE_MULTIPLY_CASES_H */
