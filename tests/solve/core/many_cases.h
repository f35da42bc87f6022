/* Several right-hand sides at once, on both sides: each ends as if it were solved alone.
 * Include after solver_cases.h. */
#ifndef TEST_SOLVE_MANY_CASES_H
#define TEST_SOLVE_MANY_CASES_H

enum { MANY_SIDE = 10, MANY_N = MANY_SIDE * MANY_SIDE, MANY = 7, MANY_B = MANY_N + 3 };
enum { MANY_X = MANY_N + 1 };

typedef struct many_system { /* elements between vectors are marked */
  linear l;
  double b[MANY * MANY_B], x[MANY * MANY_X], alone[MANY * MANY_X];
  merbit_solver_result results[MANY], result[MANY]; /* together, and alone */
} many_system;

static const double many_mark = -77.5;

/* Makes right-hand sides that need 0, 1, few and many iterations, some with extreme scales. */
static void many_make(many_system *m) {
  wide *unit = (wide *)test_allocate(MANY_N, sizeof *unit);
  uint64_t seed = 9;
  int i, k;
  memset(m, 0, sizeof *m);
  m->l = linear_grid(MANY_SIDE, 0, 3, 0);
  for (k = 0; k < MANY * MANY_B; k++) {
    m->b[k] = many_mark;
  }
  for (k = 0; k < MANY * MANY_X; k++) {
    m->x[k] = m->alone[k] = many_mark;
  }
  unit[17] = 1;
  for (i = 0; i < MANY_N; i++) {
    m->b[0 * MANY_B + i] = m->l.b[i];
    m->b[1 * MANY_B + i] = 0;
    m->b[2 * MANY_B + i] = ldexp(m->l.b[i], 300);
    m->b[3 * MANY_B + i] = test_uniform(&seed);
    m->b[4 * MANY_B + i] = i == 5;
    m->b[5 * MANY_B + i] = (double)linear_row(&m->l, unit, i);
    m->b[6 * MANY_B + i] = ldexp(m->b[3 * MANY_B + i], -20);
  }
  free(unit);
}

static merbit_solver_desc many_desc(merbit_preconditioner_kind kind, int vectors) {
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
  desc.preconditioner = kind;
  desc.vectors = vectors;
  desc.deterministic = 1;
  return desc;
}

static merbit_solver *many_solver(const many_system *m, const merbit_solver_desc *desc) {
  const merbit_view view = linear_view(&m->l);
  merbit_solver *solver;
  assert_int_equal(merbit_solver_create(context, &view, desc, &solver), MERBIT_OK);
  return solver;
}

static merbit_status many_solve(merbit_solver *solver, many_system *m, int count, int from_x) {
  return merbit_solver_solve_many(solver, count, m->b, MANY_B, m->x, MANY_X, from_x,
                                  m->results);
}

/* Returns the largest possible difference of two solutions in the infinity norm, given their
 * residuals: uses twice the ||A^-1|| of the grid, whose least eigenvalue is 0.16. */
static double many_apart(const many_system *m, int k) {
  double bb = 0;
  int i;
  for (i = 0; i < MANY_N; i++) {
    const double b = m->b[k * MANY_B + i];
    bb = fabs(b) > bb ? fabs(b) : bb;
  }
  return 2 * 9 / 0.16 * MANY_SIDE * bb * (m->results[k].residual + m->result[k].residual);
}

/* Expects that vector k, solved with others, equals the solution found alone, after nearly as
 * many iterations: products of several vectors add up in another order. */
static void many_expect(const many_system *m, int k) {
  const merbit_solver_result *found = &m->results[k], *wanted = &m->result[k];
  linear l = m->l;
  int i;
  if (found->stop != wanted->stop ||
      abs(found->iterations - wanted->iterations) > 1 + wanted->iterations / 20) {
    fail_msg("vector %d: stop %d after %d iterations, alone %d after %d: %s", k,
             (int)found->stop, found->iterations, (int)wanted->stop, wanted->iterations,
             found->description);
  }
  for (i = 0; i < MANY_N; i++) {
    assert_true(fabs(m->x[k * MANY_X + i] - m->alone[k * MANY_X + i]) <= many_apart(m, k));
  }
  for (i = MANY_N; i < MANY_X; i++) {
    assert_true(m->x[k * MANY_X + i] == many_mark);
  }
  if (found->stop == MERBIT_STOP_CONVERGED && k != 1) {
    l.b = (double *)(uintptr_t)&m->b[k * MANY_B];
    assert_true(linear_residual(&l, &m->x[k * MANY_X], 0) <= 1.001e-9);
    assert_true(found->residual <= 1e-9 && found->estimated_residual <= 1e-9);
    assert_true(found->backward_error > 0 && found->iterate_seconds > 0);
  }
}

/* Solves alone what many_solve has solved. */
static void many_alone(merbit_solver *solver, many_system *m, int count, int from_x) {
  int k;
  for (k = 0; k < count; k++) {
    assert_int_equal(merbit_solver_solve(solver, &m->b[k * MANY_B], &m->alone[k * MANY_X],
                                         from_x, NULL, 0, &m->result[k]),
                     MERBIT_OK);
  }
}

/* Every preconditioner, in groups of all, of 4 and 3, of 3, 3 and 1, and one by one. */
static void test_many_columns(void **state) {
  static many_system m;
  static const int vectors[] = {64, 4, 3, 0};
  int kind, k;
  size_t v;
  (void)state;
  for (kind = MERBIT_PRECONDITIONER_NONE; kind <= MERBIT_PRECONDITIONER_AMG; kind++) {
    if (kind == MERBIT_PRECONDITIONER_CALLBACK) {
      continue;
    }
    many_make(&m);
    for (v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
      const merbit_solver_desc desc = many_desc((merbit_preconditioner_kind)kind, vectors[v]);
      merbit_solver *solver;
      if (context->side == MERBIT_SIDE_CUDA && v % 2 == 0) {
        continue; /* each number has its own kernels */
      }
      solver = many_solver(&m, &desc);
      assert_int_equal(many_solve(solver, &m, MANY, 0), MERBIT_OK);
      many_alone(solver, &m, MANY, 0);
      for (k = 0; k < MANY; k++) {
        many_expect(&m, k);
        assert_int_equal(m.results[k].stop, MERBIT_STOP_CONVERGED);
      }
      assert_string_equal(m.results[1].description, "b is zero, and so is x");
      assert_true(m.results[5].iterations > 0 && m.x[1 * MANY_X] == 0);
      assert_int_equal(strstr(m.results[0].plan_description, "vectors") != NULL,
                       vectors[v] > 0);
      merbit_solver_destroy(solver);
    }
    linear_free(&m.l);
  }
}

/* The bits of a vector do not depend on its neighbours, nor on the run. */
static void test_many_bits(void **state) {
  static many_system m, turned;
  const merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_JACOBI, 4);
  merbit_solver *solver;
  int k;
  (void)state;
  many_make(&m);
  many_make(&turned);
  for (k = 0; k < 4; k++) {
    memcpy(&turned.b[k * MANY_B], &m.b[(3 - k) * MANY_B], MANY_N * sizeof(double));
  }
  solver = many_solver(&m, &desc);
  assert_int_equal(many_solve(solver, &m, 4, 0), MERBIT_OK);
  assert_int_equal(many_solve(solver, &turned, 4, 0), MERBIT_OK);
  for (k = 0; k < 4; k++) {
    assert_memory_equal(&m.x[k * MANY_X], &turned.x[(3 - k) * MANY_X], MANY_N * sizeof(double));
    assert_int_equal(m.results[k].iterations, turned.results[3 - k].iterations);
  }
  memcpy(turned.x, m.x, sizeof m.x);
  assert_int_equal(many_solve(solver, &m, 4, 0), MERBIT_OK);
  assert_memory_equal(m.x, turned.x, sizeof m.x);
  merbit_solver_destroy(solver);
  linear_free(&m.l);
  linear_free(&turned.l);
}

/* From a given x, with new values, and with values that are scaled. */
static void test_many_again(void **state) {
  static many_system m;
  merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_JACOBI, 3);
  double found[MANY_N], values[5 * MANY_N];
  int far, k;
  (void)state;
  for (far = 0; far <= 1; far++) {
    merbit_solver *solver;
    many_make(&m);
    for (k = 0; k < m.l.nnz; k++) {
      m.l.values[k] = ldexp(m.l.values[k], 280 * far);
    }
    solver = many_solver(&m, &desc);
    assert_int_equal(many_solve(solver, &m, 3, 0), MERBIT_OK);
    memcpy(found, m.x, sizeof found);
    m.x[2 * MANY_X + 3] += ldexp(1, 299 - 280 * far);
    assert_int_equal(many_solve(solver, &m, 3, 1), MERBIT_OK);
    assert_true(m.results[0].iterations == 0 && m.results[2].iterations > 0);
    assert_memory_equal(found, m.x, sizeof found);
    for (k = 0; k < 3; k++) {
      assert_int_equal(m.results[k].stop, MERBIT_STOP_CONVERGED);
    }
    for (k = 0; k < m.l.nnz; k++) {
      values[k] = 4 * m.l.values[k];
    }
    assert_int_equal(merbit_solver_update_values(solver, values, MERBIT_MEMORY_HOST),
                     MERBIT_OK);
    assert_int_equal(many_solve(solver, &m, 3, 0), MERBIT_OK);
    for (k = 0; k < MANY_N; k++) {
      assert_true(4 * m.x[k] == found[k]); /* powers of two round alike */
    }
    merbit_solver_destroy(solver);
    linear_free(&m.l);
  }
}

/* One stops at NaN, one converges, others reach the cap, independently. */
static void test_many_stops(void **state) {
  static many_system m;
  merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_NONE, 5);
  merbit_solver *solver;
  watch w;
  int k;
  (void)state;
  many_make(&m);
  m.b[2 * MANY_B + 9] = (double)NAN;
  for (k = 0; k < MANY_N; k++) { /* an eigenvector of the even grid */
    const int row = k / MANY_SIDE, col = k % MANY_SIDE;
    m.b[3 * MANY_B + k] = sin(acos(-1.0) * (row + 1) / (MANY_SIDE + 1)) *
                          sin(acos(-1.0) * (col + 1) / (MANY_SIDE + 1));
  }
  linear_free(&m.l);
  m.l = linear_grid(MANY_SIDE, 0, 1, 0);
  desc.max_iterations = 12;
  solver = many_solver(&m, &desc);
  assert_int_equal(many_solve(solver, &m, 5, 0), MERBIT_OK);
  assert_int_equal(m.results[0].stop, MERBIT_STOP_CAP);
  assert_non_null(strstr(m.results[0].description, "max_iterations = 12"));
  assert_int_equal(m.results[1].stop, MERBIT_STOP_CONVERGED);
  assert_int_equal(m.results[2].stop, MERBIT_STOP_NOT_FINITE);
  assert_int_equal(m.results[3].stop, MERBIT_STOP_CONVERGED);
  assert_true(m.results[3].iterations <= 2 && m.results[0].iterations == 12);
  assert_int_equal(m.results[4].stop, MERBIT_STOP_CAP);
  many_alone(solver, &m, 5, 0);
  for (k = 0; k < 5; k++) {
    if (k != 2) {
      assert_true(m.results[k].stop == m.result[k].stop &&
                  fabs(m.results[k].residual - m.result[k].residual) <=
                      1e-6 * m.result[k].residual + 1e-14);
    }
  }
  merbit_solver_destroy(solver);
  memset(&w, 0, sizeof w);
  w.cancel_at = 1;
  desc.max_iterations = 3; /* the last ones reach it */
  desc.tolerance = 1e-14;
  desc.progress = watch_progress;
  desc.progress_user = &w;
  linear_free(&m.l);
  m.l = linear_grid(MANY_SIDE, 0, 1, 7.9); /* eigenvalues from -7.7 to 0 */
  solver = many_solver(&m, &desc);
  assert_int_equal(many_solve(solver, &m, 2, 0), MERBIT_OK);
  assert_int_equal(m.results[0].stop, MERBIT_STOP_BREAKDOWN);
  assert_non_null(strstr(m.results[0].description, "not positive"));
  assert_int_equal(m.results[1].stop, MERBIT_STOP_CONVERGED);
  assert_true(m.results[0].residual == 1 && m.x[4] == 0 && w.calls == 1);
  merbit_solver_destroy(solver);
  linear_free(&m.l);
}

/* One cannot improve in f32 while another converges; and the result for a tolerance that the
 * true residual misses at first. */
static void test_many_limits(void **state) {
  linear l = linear_grid(10, 0, 2, 0);
  float values[500], b[200], x[200];
  merbit_view view = linear_view(&l);
  merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_JACOBI, 2);
  merbit_solver *solver;
  merbit_solver_result results[2];
  int i;
  (void)state;
  for (i = 0; i < l.nnz; i++) {
    values[i] = (float)l.values[i];
  }
  for (i = 0; i < l.n; i++) {
    b[i] = (float)l.b[i];
    b[100 + i] = 0;
  }
  view.value_type = MERBIT_F32;
  view.values = values;
  desc.tolerance = 1e-12;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve_many(solver, 2, b, 100, x, 100, 0, results), MERBIT_OK);
  assert_int_equal(results[0].stop, MERBIT_STOP_STAGNATED);
  assert_true(results[0].restarts >= 1 && results[0].residual < 1e-4);
  assert_int_equal(results[1].stop, MERBIT_STOP_CONVERGED);
  merbit_solver_destroy(solver);
  linear_free(&l);
}

/* Vectors where the context computes, the mean removed, no results requested. */
static void test_many_buffers(void **state) {
  linear l = linear_grid(8, 0, 1, 0);
  const merbit_view view = linear_view(&l);
  merbit_preconditioner_desc options;
  merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_JACOBI, 2);
  merbit_buffer *b, *x;
  merbit_solver *solver;
  double both[128], mean[2] = {0, 0};
  int i, k;
  (void)state;
  memset(&options, 0, sizeof options);
  options.singular = 1;
  desc.precondition = &options;
  desc.vector_memory = MERBIT_MEMORY_DEFAULT;
  for (i = 0; i < l.n; i++) { /* the Laplacian of the grid */
    double sum = 0;
    for (k = l.row_ptr[i]; k < l.row_ptr[i + 1]; k++) {
      sum += l.col_ind[k] == i ? 0 : l.values[k];
    }
    for (k = l.row_ptr[i]; k < l.row_ptr[i + 1]; k++) {
      l.values[k] = l.col_ind[k] == i ? -sum : l.values[k];
    }
    both[i] = i == 3 ? 1 : i == 40 ? -1 : 0;
    both[64 + i] = i % 2 == 0 ? 1 : -1;
  }
  assert_int_equal(merbit_buffer_create(context, sizeof both, &b), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, sizeof both, &x), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(b, 0, both, sizeof both), MERBIT_OK);
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve_many(solver, 2, merbit_buffer_pointer(b), 64,
                                            merbit_buffer_pointer(x), 64, 0, NULL),
                   MERBIT_OK);
  memcpy(l.b, both, sizeof(double) * 64);
  assert_int_equal(merbit_buffer_download(x, 0, both, sizeof both), MERBIT_OK);
  assert_true(linear_residual(&l, both, 0) <= 1.001e-9);
  for (i = 0; i < 64; i++) {
    l.b[i] = i % 2 == 0 ? 1 : -1;
    mean[0] += both[i];
    mean[1] += both[64 + i];
  }
  assert_true(linear_residual(&l, both + 64, 0) <= 1.001e-9);
  assert_true(fabs(mean[0]) <= 1e-12 && fabs(mean[1]) <= 1e-12);
  if (context->side == MERBIT_SIDE_CUDA) {
    assert_int_equal(
        merbit_solver_solve_many(solver, 2, both, 64, merbit_buffer_pointer(x), 64, 0, NULL),
        MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_solver_solve_many: b is host memory");
  }
  merbit_solver_destroy(solver);
  merbit_buffer_destroy(b);
  merbit_buffer_destroy(x);
  linear_free(&l);
}

#define MANY_REFUSED(status, piece, ...)                                                       \
  assert_int_equal(merbit_solver_solve_many(solver, __VA_ARGS__, 0, m.results), status);       \
  cpu_expect(context, status, piece)

static void test_many_refusals(void **state) {
  static const merbit_solver_result none;
  static many_system m;
  const int64_t vast = INT64_MAX / 8;
  merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_NONE, 3);
  merbit_view view, empty;
  merbit_solver *solver;
  (void)state;
  many_make(&m);
  view = linear_view(&m.l);
  empty = merbit_csr(0, 0, 0, m.l.row_ptr, NULL, NULL);
  solver = many_solver(&m, &desc);
  MANY_REFUSED(MERBIT_INVALID_ARGUMENT, "count is -1", -1, m.b, MANY_B, m.x, MANY_X);
  MANY_REFUSED(MERBIT_INVALID_ARGUMENT, "ldb 99, ldx 101; count must", 2, m.b, 99, m.x, MANY_X);
  MANY_REFUSED(MERBIT_INVALID_ARGUMENT, "ldx -5", 2, m.b, MANY_B, m.x, -5);
  MANY_REFUSED(MERBIT_TOO_LARGE, "exceed the address space", 2, m.b, vast, m.x, MANY_X);
  MANY_REFUSED(MERBIT_TOO_LARGE, "exceed the address space", 2, m.b, MANY_B, m.x, vast);
  MANY_REFUSED(MERBIT_INVALID_ARGUMENT, "`b` is NULL", 2, NULL, MANY_B, m.x, MANY_X);
  MANY_REFUSED(MERBIT_INVALID_ARGUMENT, "`x` is NULL", 2, m.b, MANY_B, NULL, MANY_X);
  MANY_REFUSED(MERBIT_INVALID_ARGUMENT, "b and x overlap", 2, m.b, MANY_B,
               m.b + MANY_B + MANY_N - 1, MANY_X);
  memset(m.results, 1, sizeof m.results);
  MANY_REFUSED(MERBIT_INVALID_ARGUMENT, "`b` is NULL", 2, NULL, MANY_B, m.x, MANY_X);
  assert_memory_equal(&m.results[1], &none, sizeof none);
  assert_int_not_equal(m.results[2].iterations, 0);
  assert_int_equal(merbit_solver_solve_many(solver, 0, NULL, MANY_B, NULL, MANY_X, 0, NULL),
                   MERBIT_OK);
  assert_int_equal(merbit_solver_solve_many(NULL, 1, m.b, MANY_B, m.x, MANY_X, 0, NULL),
                   MERBIT_INVALID_ARGUMENT);
  merbit_solver_destroy(solver);
  assert_int_equal(merbit_solver_create(context, &empty, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve_many(solver, 2, NULL, 0, NULL, 0, 0, m.results),
                   MERBIT_OK);
  assert_int_equal(m.results[1].stop, MERBIT_STOP_CONVERGED);
  assert_int_equal(merbit_solver_solve_many(solver, 2, NULL, 5, NULL, 5, 0, m.results),
                   MERBIT_OK); /* no two elements overlap */
  merbit_solver_destroy(solver);
  desc.vectors = 65;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "solver_desc.vectors is 65");
  desc.vectors = -1;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver),
                   MERBIT_INVALID_ARGUMENT);
  desc.vectors = 2;
  desc.reorder = 1;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_NOT_SUPPORTED);
  desc.reorder = 0;
  desc.refine = 1;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_NOT_SUPPORTED);
  desc.refine = 0;
  desc.method = MERBIT_SOLVER_GMRES;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "solver_desc.vectors is 2, which takes");
  desc.vectors = 1; /* one after the other */
  solver = many_solver(&m, &desc);
  assert_int_equal(many_solve(solver, &m, 3, 0), MERBIT_OK);
  many_alone(solver, &m, 3, 0);
  many_expect(&m, 0);
  many_expect(&m, 2);
  merbit_solver_destroy(solver);
  linear_free(&m.l);
}

/* A callback that cancels is first asked when residuals are known: vectors whose tiny b is
 * scaled begin again, and keep their x, whether the other vector is scaled, too, or not. */
static void test_many_scaled_cancel(void **state) {
  linear l = linear_grid(10, 0, 2, 0);
  const merbit_view view = linear_view(&l);
  merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_JACOBI, 2);
  merbit_solver_result results[2];
  merbit_solver *solver;
  double b[200], x[200];
  watch w;
  int i, turn;
  (void)state;
  desc.tolerance = 1e-12;
  desc.max_iterations = 3;
  desc.progress = watch_progress;
  desc.progress_user = &w;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  for (turn = 0; turn < 2; turn++) {
    memset(&w, 0, sizeof w);
    w.cancel_at = 1;
    for (i = 0; i < 200; i++) {
      b[i] = i < 100 && turn == 1 ? 1 : 1e-250;
      x[i] = 3 * b[i];
    }
    assert_int_equal(merbit_solver_solve_many(solver, 2, b, 100, x, 100, 1, results),
                     MERBIT_OK);
    for (i = 0; i < 2; i++) {
      assert_true(results[i].stop == MERBIT_STOP_CANCELLED ||
                  results[i].stop == MERBIT_STOP_CAP);
      assert_true(results[i].iterations == 3 && results[i].residual > 0);
    }
    for (i = 0; i < 200; i++) {
      assert_true(fabs(x[i]) > 1e-2 * b[i] && fabs(x[i]) < 1e3 * b[i]);
    }
    assert_int_equal(w.calls, 1);
  }
  merbit_solver_destroy(solver);
  linear_free(&l);
}

/* Solves for all vectors with a callback that asks to stop when it is first called. Expects
 * that vectors from `begun` on have not begun: they keep their x if from_x, and have a zero x
 * else. */
static void many_cancel(merbit_solver *solver, many_system *m, watch *w, int begun,
                        int from_x) {
  static many_system before;
  linear l = m->l;
  int i, k;
  for (k = 0; k < MANY; k++) {
    for (i = 0; i < MANY_N; i++) {
      m->x[k * MANY_X + i] = k == 1 ? 0.25 : m->b[k * MANY_B + i] / 7;
    }
  }
  memcpy(before.x, m->x, sizeof m->x);
  memset(w, 0, sizeof *w);
  w->cancel_at = 1;
  assert_int_equal(many_solve(solver, m, MANY, from_x), MERBIT_OK);
  assert_int_equal(w->calls, 1);
  for (k = begun; k < MANY; k++) {
    const merbit_solver_result *found = &m->results[k];
    double residual;
    for (i = 0; i < MANY_N; i++) {
      assert_true(m->x[k * MANY_X + i] == (from_x ? before.x[k * MANY_X + i] : 0));
    }
    l.b = &m->b[k * MANY_B];
    residual = k != 1   ? linear_residual(&l, &m->x[k * MANY_X], 0)
               : from_x ? HUGE_VAL
                        : 0; /* of b = 0 */
    assert_int_equal(found->stop, MERBIT_STOP_CANCELLED);
    assert_true(found->iterations == 0 && found->restarts == 0);
    assert_true(residual > DBL_MAX ? found->residual == residual
                                   : fabs(found->residual - residual) <= 1e-14 * residual);
    assert_true(found->estimated_residual == found->residual);
    assert_true(from_x || found->backward_error == (k != 1));
    assert_non_null(strstr(found->description, "asked to stop before this solve began"));
    assert_true(found->plan_description[0] != '\0');
  }
  for (k = 0; k < MANY; k++) {
    assert_true(m->x[k * MANY_X + MANY_N] == many_mark);
  }
  memcpy(m->alone, m->x, sizeof m->x);
  memcpy(m->x, before.x, sizeof m->x);
  memset(w, 0, sizeof *w);
  w->cancel_at = 1;
  assert_int_equal(
      merbit_solver_solve_many(solver, MANY, m->b, MANY_B, m->x, MANY_X, from_x, NULL),
      MERBIT_OK);
  assert_int_equal(w->calls, 1);
  for (k = begun; k < MANY; k++) {
    assert_memory_equal(&m->x[k * MANY_X], &m->alone[k * MANY_X], MANY_X * sizeof(double));
  }
}

/* Once the callback has asked to stop, no other vector begins: whether the first is cancelled
 * or just then converges. The next call solves again. */
static void test_many_cancelled_rest(void **state) {
  static const struct {
    merbit_solver_method method;
    int vectors, refine, begun;
  } turns[] = {{MERBIT_SOLVER_CG, 0, 0, 1},
               {MERBIT_SOLVER_CG, 3, 0, 3},
               {MERBIT_SOLVER_CG, 0, 1, 1},
               {MERBIT_SOLVER_BICGSTAB, 0, 0, 1},
               {MERBIT_SOLVER_GMRES, 0, 0, 1}};
  static many_system m;
  int from_x, i, cancelled = 0, converged = 0;
  size_t t;
  (void)state;
  many_make(&m);
  for (i = 0; i < MANY_N; i++) {
    m.b[5 * MANY_B + i] = ldexp(m.b[5 * MANY_B + i], 600); /* its square overflows */
  }
  for (t = 0; t < 2 * (sizeof turns / sizeof turns[0]); t++) {
    merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_NONE, turns[t / 2].vectors);
    merbit_solver *solver;
    watch w;
    desc.method = turns[t / 2].method;
    desc.refine = turns[t / 2].refine;
    desc.tolerance = t % 2 == 0 ? 1e-9 : 1e-200;
    desc.progress = watch_progress;
    desc.progress_user = &w;
    solver = many_solver(&m, &desc);
    for (from_x = 0; from_x <= 1; from_x++) {
      many_cancel(solver, &m, &w, turns[t / 2].begun, from_x);
      cancelled += m.results[0].stop == MERBIT_STOP_CANCELLED;
      converged += m.results[0].stop == MERBIT_STOP_CONVERGED;
    }
    if (t % 2 == 0) {
      memset(&w, 0, sizeof w);
      assert_int_equal(many_solve(solver, &m, 1, 0), MERBIT_OK);
      assert_int_equal(m.results[0].stop, MERBIT_STOP_CONVERGED);
    }
    merbit_solver_destroy(solver);
  }
  assert_true(cancelled > 0 && converged > 0);
  linear_free(&m.l);
}

/* One whose x loses bits when it is scaled back has not converged; its neighbours have. */
static void test_many_rounded(void **state) {
  static const dense d = {2, {1e60, 0, 0, 1}, {1e-265, 1e-265}};
  const double b[6] = {1e-265, 1e-265, 1, 1, 1e-280, 1e-265};
  merbit_solver_desc desc = many_desc(MERBIT_PRECONDITIONER_JACOBI, 3);
  linear l = linear_dense(&d);
  const merbit_view view = linear_view(&l);
  merbit_solver *solver;
  merbit_solver_result results[3];
  double x[6];
  int k;
  (void)state;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve_many(solver, 3, b, 2, x, 2, 0, results), MERBIT_OK);
  for (k = 0; k < 3; k++) {
    double residual;
    memcpy(l.b, b + 2 * k, 2 * sizeof(double));
    residual = linear_residual(&l, x + 2 * k, 0);
    assert_int_equal(results[k].stop, k == 0 ? MERBIT_STOP_NOT_FINITE : MERBIT_STOP_CONVERGED);
    assert_true(fabs(results[k].residual - residual) <= 1e-6 * residual + 1e-16);
  }
  assert_non_null(strstr(results[0].description, "which f64 does not hold: scale A or b"));
  merbit_solver_destroy(solver);
  linear_free(&l);
}

#define MANY_CASES                                                                             \
  cmocka_unit_test(test_many_columns), cmocka_unit_test(test_many_bits),                       \
      cmocka_unit_test(test_many_again), cmocka_unit_test(test_many_stops),                    \
      cmocka_unit_test(test_many_limits), cmocka_unit_test(test_many_buffers),                 \
      cmocka_unit_test(test_many_refusals), cmocka_unit_test(test_many_scaled_cancel),         \
      cmocka_unit_test(test_many_rounded), cmocka_unit_test(test_many_cancelled_rest)

#endif /* TEST_SOLVE_MANY_CASES_H */
