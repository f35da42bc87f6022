/* Scenarios with solvers of a small system, and everything that users do with them. Include
 * scenario_bed.h first. */
#ifndef TEST_FAKE_SOLVER_SCENARIOS_H
#define TEST_FAKE_SOLVER_SCENARIOS_H

enum { SOLVED = 4 };

static int went_without; /* a solver ran without recorded iterations or fused kernels */

typedef struct chain { /* tridiagonal; the values are 4 and -1 */
  int32_t row_ptr[SOLVED + 1], col_ind[3 * SOLVED];
  double values[3 * SOLVED], b[SOLVED];
} chain;

static merbit_view chain_make(chain *c) {
  int row, col, k = 0;
  c->row_ptr[0] = 0;
  for (row = 0; row < SOLVED; row++) {
    for (col = row > 0 ? row - 1 : 0; col <= row + 1 && col < SOLVED; col++, k++) {
      c->col_ind[k] = col;
      c->values[k] = col == row ? 4 : -1;
    }
    c->row_ptr[row + 1] = k;
    c->b[row] = row % 3 - 1 + 0.5 * row;
  }
  return merbit_csr(SOLVED, SOLVED, k, c->row_ptr, c->col_ind, c->values);
}

static void chain_expect(const chain *c, double scale, const double *x) {
  int row, k;
  for (row = 0; row < SOLVED; row++) {
    double rest = c->b[row];
    for (k = c->row_ptr[row]; k < c->row_ptr[row + 1]; k++) {
      rest -= scale * c->values[k] * x[c->col_ind[k]];
    }
    assert_true(fabs(rest) <= 1e-8);
  }
}

/* Returns whether the host launches iterations, or launches separate steps instead of fused
 * kernels. */
static int goes_without(const merbit_solver *solver) {
  const int fuses = solver->method->fused[0] != NULL && solver->v.pre != MBI_PRE_SEPARATE;
  return solver->side == MERBIT_SIDE_CPU || !solver->gpu.loops ||
         (fuses && solver->gpu.fused_blocks == 0);
}

static merbit_status chain_create(merbit_context *context, const merbit_view *view,
                                  merbit_solver_method method, merbit_preconditioner_kind m,
                                  merbit_memory memory, merbit_solver **solver) {
  merbit_solver_desc desc;
  merbit_status status;
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  desc.preconditioner = m;
  desc.vector_memory = memory;
  desc.side = wished;
  status = merbit_solver_create(context, view, &desc, solver);
  assert_true((status == MERBIT_OK) == (*solver != NULL));
  plan_made = status == MERBIT_OK;
  return status;
}

/* Solves with host vectors; the system is the chain with its values times `scale`. */
static merbit_status chain_solve(merbit_solver *solver, const chain *c, double scale,
                                 int start_from_x, double *x) {
  merbit_solver_result result;
  const merbit_status status =
      merbit_solver_solve(solver, c->b, x, start_from_x, NULL, 0, &result);
  if (status == MERBIT_OK) {
    assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
    chain_expect(c, scale, x);
    went_without |= goes_without(solver->inner != NULL ? solver->inner : solver);
  }
  return status;
}

/* CG with a diagonal preconditioner, host vectors, new values. */
TEST_UNUSED static merbit_status solves(merbit_context *context) {
  chain c;
  const merbit_view view = chain_make(&c);
  merbit_solver *solver;
  double x[SOLVED], doubled[3 * SOLVED];
  int k;
  merbit_status status =
      chain_create(context, &view, MERBIT_SOLVER_CG, MERBIT_PRECONDITIONER_JACOBI,
                   MERBIT_MEMORY_HOST, &solver);
  TRY(chain_solve(solver, &c, 1, 0, x));
  for (k = 0; k < view.nnz; k++) {
    doubled[k] = 2 * c.values[k];
  }
  TRY(merbit_solver_update_values(solver, doubled, MERBIT_MEMORY_DEFAULT));
  TRY(chain_solve(solver, &c, 2, 1, x));
  CANNOT_TELL(merbit_solver_destroy(solver));
  return status;
}

/* Three right-hand sides, two at a time, new values. */
TEST_UNUSED static merbit_status solves_for_many(merbit_context *context) {
  chain c;
  const merbit_view view = chain_make(&c);
  merbit_solver_desc desc = merbit_solver_defaults();
  merbit_solver_result results[3];
  merbit_solver *solver = NULL;
  double b[3 * SOLVED], x[3 * SOLVED];
  int i, again;
  merbit_status status;
  desc.method = MERBIT_SOLVER_CG;
  desc.preconditioner = MERBIT_PRECONDITIONER_BLOCK_JACOBI;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = wished;
  desc.vectors = 2;
  for (i = 0; i < 3 * SOLVED; i++) {
    b[i] = c.b[i % SOLVED];
  }
  status = merbit_solver_create(context, &view, &desc, &solver);
  plan_made = status == MERBIT_OK;
  for (again = 0; again <= 1; again++) {
    if (TRY(merbit_solver_solve_many(solver, 3, b, SOLVED, x, SOLVED, 0, results)) ==
        MERBIT_OK) {
      for (i = 0; i < 3; i++) {
        assert_int_equal(results[i].stop, MERBIT_STOP_CONVERGED);
        chain_expect(&c, 1, x + i * SOLVED);
      }
      went_without |= goes_without(solver) || /* solves the third one */
                      (solver->many != NULL && goes_without(solver->many));
    }
    TRY(merbit_solver_update_values(solver, c.values, MERBIT_MEMORY_HOST));
  }
  CANNOT_TELL(merbit_solver_destroy(solver));
  return status;
}

/* BiCGSTAB with block Jacobi, vectors in buffers. */
TEST_UNUSED static merbit_status solves_in_buffers(merbit_context *context) {
  chain c;
  const merbit_view view = chain_make(&c);
  merbit_solver *solver = NULL;
  merbit_buffer *b = NULL, *x = NULL;
  double answer[SOLVED];
  merbit_status status = put(context, c.b, sizeof c.b, &b);
  TRY(put(context, c.b, sizeof c.b, &x));
  TRY(chain_create(context, &view, MERBIT_SOLVER_BICGSTAB, MERBIT_PRECONDITIONER_BLOCK_JACOBI,
                   MERBIT_MEMORY_DEFAULT, &solver));
  if (TRY(merbit_solver_solve(solver, merbit_buffer_pointer(b), merbit_buffer_pointer(x), 0,
                              NULL, 0, NULL)) == MERBIT_OK) {
    went_without = goes_without(solver);
  }
  if (TRY(merbit_buffer_download(x, 0, answer, sizeof answer)) == MERBIT_OK) {
    chain_expect(&c, 1, answer);
  }
  CANNOT_TELL(merbit_solver_destroy(solver));
  merbit_buffer_destroy(b);
  merbit_buffer_destroy(x);
  return status;
}

/* Iterative refinement in f32 for a matrix in GPU memory. */
TEST_UNUSED static merbit_status refines_there(merbit_context *context) {
  chain c;
  merbit_view view = chain_make(&c);
  merbit_solver_desc desc;
  merbit_solver *solver = NULL;
  merbit_buffer *arrays[3] = {NULL, NULL, NULL};
  double x[SOLVED];
  int i;
  merbit_status status = put_csr(context, &view, arrays);
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_SOLVER_CG;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = wished;
  desc.refine = 1;
  TRY(merbit_solver_create(context, &view, &desc, &solver));
  plan_made = status == MERBIT_OK;
  TRY(chain_solve(solver, &c, 1, 0, x));
  TRY(merbit_solver_update_values(solver, view.values, MERBIT_MEMORY_DEVICE));
  TRY(chain_solve(solver, &c, 1, 0, x));
  CANNOT_TELL(merbit_solver_destroy(solver));
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(arrays[i]);
  }
  return status;
}

/* A matrix in GPU memory and a right-hand side that have to be scaled. */
TEST_UNUSED static merbit_status solves_far_there(merbit_context *context) {
  chain c;
  merbit_view view = chain_make(&c);
  merbit_solver *solver = NULL;
  merbit_buffer *arrays[3] = {NULL, NULL, NULL};
  double x[SOLVED];
  int i, k;
  merbit_status status;
  for (k = 0; k < view.nnz; k++) {
    c.values[k] = ldexp(c.values[k], -600);
  }
  for (k = 0; k < SOLVED; k++) {
    c.b[k] = ldexp(c.b[k], -500);
  }
  status = put_csr(context, &view, arrays);
  TRY(chain_create(context, &view, MERBIT_SOLVER_CG, MERBIT_PRECONDITIONER_JACOBI,
                   MERBIT_MEMORY_HOST, &solver));
  if (TRY(chain_solve(solver, &c, 1, 0, x)) == MERBIT_OK) {
    for (k = 0; k < view.nnz; k++) {
      c.values[k] = ldexp(c.values[k], 600);
    }
    for (k = 0; k < SOLVED; k++) {
      c.b[k] = ldexp(c.b[k], 500);
    }
    chain_expect(&c, ldexp(1, -100), x);
  }
  CANNOT_TELL(merbit_solver_destroy(solver));
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(arrays[i]);
  }
  return status;
}

/* Restarted GMRES, host vectors. */
TEST_UNUSED static merbit_status solves_by_gmres(merbit_context *context) {
  chain c;
  const merbit_view view = chain_make(&c);
  merbit_solver *solver;
  double x[SOLVED];
  merbit_status status = chain_create(context, &view, MERBIT_SOLVER_GMRES,
                                      MERBIT_PRECONDITIONER_NONE, MERBIT_MEMORY_HOST, &solver);
  TRY(chain_solve(solver, &c, 1, 0, x));
  CANNOT_TELL(merbit_solver_destroy(solver));
  return status;
}

/* A preconditioner of a matrix in GPU memory: applied, with new values, in a solver. */
static merbit_status preconditions_by(merbit_context *context, merbit_preconditioner_kind kind,
                                      int wrapped) {
  chain c;
  merbit_view view = chain_make(&c);
  merbit_preconditioner_desc options = merbit_preconditioner_defaults();
  merbit_solver_desc desc = merbit_solver_defaults();
  merbit_preconditioner *p = NULL;
  merbit_preconditioner_info info;
  merbit_solver *solver = NULL;
  merbit_buffer *arrays[3] = {NULL, NULL, NULL}, *r = NULL, *z = NULL;
  double answer[SOLVED], x[SOLVED], product = 0;
  char line[512];
  int i;
  merbit_status status = put_csr(context, &view, arrays);
  options.kind = kind;
  options.side = wished;
  options.single = wrapped;
  desc.method = MERBIT_SOLVER_CG;
  desc.preconditioner = kind;
  desc.precondition = &options;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.side = wished;
  TRY(put(context, c.b, sizeof c.b, &r));
  TRY(put(context, c.b, sizeof c.b, &z));
  if (TRY(merbit_preconditioner_create(context, &view, &options, &p)) == MERBIT_OK) {
    assert_true(merbit_preconditioner_describe(p, line, sizeof line) > 20);
    assert_int_equal(merbit_preconditioner_get_info(p, &info), MERBIT_OK);
  }
  TRY(merbit_preconditioner_update_values(p, view.values, MERBIT_MEMORY_DEVICE));
  TRY(merbit_preconditioner_apply(p, merbit_buffer_pointer(r), merbit_buffer_pointer(z), NULL));
  if (TRY(merbit_buffer_download(z, 0, answer, sizeof answer)) == MERBIT_OK) {
    for (i = 0; i < SOLVED; i++) { /* the eigenvalues of the chain lie between 2 and 6 */
      product += answer[i] * c.b[i];
    }
    assert_true(product > 0.125 && product < 2);
  }
  CANNOT_TELL(merbit_preconditioner_destroy(p));
  TRY(merbit_solver_create(context, &view, &desc, &solver));
  plan_made = status == MERBIT_OK;
  TRY(chain_solve(solver, &c, 1, 0, x));
  TRY(merbit_solver_update_values(solver, view.values, MERBIT_MEMORY_DEVICE));
  TRY(chain_solve(solver, &c, 1, 0, x));
  CANNOT_TELL(merbit_solver_destroy(solver));
  merbit_buffer_destroy(r);
  merbit_buffer_destroy(z);
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(arrays[i]);
  }
  return status;
}

TEST_UNUSED static merbit_status preconditions_by_blocks(merbit_context *context) {
  return preconditions_by(context, MERBIT_PRECONDITIONER_BLOCK_JACOBI, 1);
}

TEST_UNUSED static merbit_status preconditions_by_chebyshev(merbit_context *context) {
  return preconditions_by(context, MERBIT_PRECONDITIONER_CHEBYSHEV, 0);
}

TEST_UNUSED static merbit_status preconditions_by_chebyshev_in_f32(merbit_context *context) {
  return preconditions_by(context, MERBIT_PRECONDITIONER_CHEBYSHEV, 1);
}

TEST_UNUSED static merbit_status preconditions_by_fsai(merbit_context *context) {
  return preconditions_by(context, MERBIT_PRECONDITIONER_FSAI, 0);
}

/* Computes the largest eigenvalue of the chain, 4 + 2 cos(pi / (SOLVED + 1)), and its
 * eigenvector. */
TEST_UNUSED static merbit_status eigenpairs(merbit_context *context) {
  chain c;
  const merbit_view view = chain_make(&c);
  const double wanted = 4 + 2 * cos(acos(-1.0) / (SOLVED + 1));
  merbit_eigen_desc desc;
  merbit_eigen_result result;
  double value = 0, vector[SOLVED];
  merbit_status status;
  int row, k;
  memset(&desc, 0, sizeof desc);
  desc.which = MERBIT_EIGEN_LARGEST;
  desc.side = wished;
  plan_made = 1;
  went_without = 1; /* the result does not tell */
  status = merbit_eigen(context, &view, &desc, &value, vector, &result);
  if (status == MERBIT_OK) {
    assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
    assert_true(fabs(value - wanted) <= 1e-9);
    for (row = 0; row < SOLVED; row++) {
      double rest = -value * vector[row];
      for (k = c.row_ptr[row]; k < c.row_ptr[row + 1]; k++) {
        rest += c.values[k] * vector[c.col_ind[k]];
      }
      assert_true(fabs(rest) <= 1e-8);
    }
  }
  return status;
}

/* ---- A test ------------------------------------------------------------------------------ */

/* One call launches all iterations of a solver except the first, and the host waits once for
 * fifty or more. The results are the same without conditional nodes, with a driver that refuses
 * them, without graphs, and on the user's stream where recording lacks a stream of its own.
 * Later solves reuse what was recorded until the values change. */
TEST_UNUSED static void solver_without_the_host(void **state) {
  static const int drivers[] = {12040, 12030, 11000, 12040, 12040};
  static const int recorded[] = {2, 1, 0, 1, 0};
  int32_t row_ptr[202], col_ind[603];
  double values[603], b[201], x[5][201];
  merbit_view view;
  int row, col, k = 0, d;
  (void)state;
  row_ptr[0] = 0;
  for (row = 0; row < 201; row++) {
    for (col = row > 0 ? row - 1 : 0; col <= row + 1 && col < 201; col++, k++) {
      col_ind[k] = col;
      values[k] = col == row ? 2.0001 : -1;
    }
    row_ptr[row + 1] = k;
    b[row] = row % 7 - 2.5;
  }
  view = merbit_csr(201, 201, k, row_ptr, col_ind, values);
  for (d = 0; d < 5; d++) {
    merbit_solver_desc desc;
    merbit_solver *solver;
    merbit_solver_result result;
    merbit_context *context;
    int again;
    fake_reset();
    cuda->driver_version = drivers[d];
    context = fake_context(NULL);
    memset(&desc, 0, sizeof desc);
    if (d == 2) { /* as if it could not record */
      context->device.driver.graph_launch = NULL;
    } else if (d == 3) {
      cuda->calls.only = "cuGraphConditionalHandleCreate";
      cuda->calls.code = 801;
      cuda->calls.for_good = cuda->calls.fail_at = 1;
    } else if (d == 4) {
      assert_int_equal(mbi_device_enter(context), MERBIT_OK);
      assert_int_equal(context->device.driver.stream_create(&desc.stream, 0), 0);
      mbi_device_leave(context);
      context->device.driver.stream_create = NULL;
    }
    desc.method = MERBIT_SOLVER_CG;
    desc.vector_memory = MERBIT_MEMORY_HOST;
    desc.deterministic = 1; /* else measured times decide the rounding */
    desc.tolerance = 1e-6;
    assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
    for (again = 0; again < 3; again++) {
      const long waits = cuda->waits, launches = cuda->launches, graphs = cuda->graph_launches;
      assert_int_equal(merbit_solver_solve(solver, b, x[d], 0, NULL, 0, &result), MERBIT_OK);
      assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
      assert_int_equal(result.recorded, recorded[d]);
      assert_true(result.iterations >= 100);
      assert_true(result.synchronizations <= result.iterations / MBI_SOLVE_ROUND_LEAST + 2);
      assert_true(d == 4 || /* b in, x out; a user's stream waits for the default stream, too */
                  cuda->waits - waits <= result.synchronizations + 2);
      assert_true(d > 0 || result.synchronizations == 1);
      assert_true(recorded[d] == 0 || cuda->launches - launches <
                                          20 + (again == 1 ? 0 : 4 * MBI_CG_LOOP_ITERATIONS));
      assert_true(again == 1 || cuda->launches - launches > 2 * MBI_CG_LOOP_ITERATIONS);
      assert_int_equal(cuda->graph_launches > graphs, recorded[d] != 0);
      assert_true(d > 0 || cuda->graph_launches - graphs == result.synchronizations);
      assert_true(cuda->graph_launches - graphs <= result.iterations / 5);
      assert_memory_equal(x[d], x[0], sizeof x[0]);
      if (again == 1) {
        assert_int_equal(merbit_solver_update_values(solver, values, MERBIT_MEMORY_DEFAULT),
                         MERBIT_OK);
      }
    }
    CANNOT_TELL(merbit_solver_destroy(solver));
    if (desc.stream != NULL) {
      assert_int_equal(mbi_device_enter(context), MERBIT_OK);
      assert_int_equal(context->device.driver.stream_destroy(desc.stream), 0);
      mbi_device_leave(context);
    }
    merbit_context_destroy(context);
    cuda->calls.failed = 0;
    fake_expect_clean();
  }
}

/* Ways to be without fused kernels; 0: with them. */
enum {
  SWEEPS,
  SWEEPS_NO_DEVICE,
  SWEEPS_NO_LAUNCH,
  SWEEPS_NO_OCCUPANCY,
  SWEEPS_NO_ROOM,
  SWEEPS_REFUSED,
  SWEEPS_UNRECORDED,
  SWEEPS_UNTOLD,
  SWEEPS_BLOCKS,
  SWEEPS_WAYS
};

/* `launched`: number of fused kernels before iterations are recorded. */
static void fused_solve(int way, merbit_solver_method method, int launched) {
  chain c;
  const merbit_view view = chain_make(&c);
  merbit_context *context;
  merbit_solver *solver;
  merbit_solver_result result;
  double x[SOLVED];
  fake_reset();
  cuda->cooperative = way != SWEEPS_NO_DEVICE;
  context = fake_context(NULL);
  if (way == SWEEPS_NO_LAUNCH) {
    context->device.driver.launch_cooperative = NULL;
  } else if (way == SWEEPS_NO_OCCUPANCY) {
    context->device.driver.occupancy = NULL;
  }
  assert_int_equal(mbi_device_examine(context), MERBIT_OK);
  assert_int_equal(context->device.cooperative, way != SWEEPS_NO_DEVICE &&
                                                    way != SWEEPS_NO_LAUNCH &&
                                                    way != SWEEPS_NO_OCCUPANCY);
  if (way == SWEEPS_NO_ROOM) {
    cuda->resident_threads = 255;
  }
  cuda->calls.only = way == SWEEPS_REFUSED || way == SWEEPS_UNRECORDED
                         ? "cuLaunchCooperativeKernel"
                     : way == SWEEPS_UNTOLD ? "cuOccupancyMaxActiveBlocksPerMultiprocessor"
                                            : NULL;
  cuda->calls.code = 720;
  cuda->calls.made = 0;
  cuda->calls.for_good = 1;
  cuda->calls.fail_at = way == SWEEPS_UNRECORDED ? 1 + launched : cuda->calls.only != NULL;
  assert_int_equal(chain_create(context, &view, method,
                                way == SWEEPS_BLOCKS ? MERBIT_PRECONDITIONER_BLOCK_JACOBI
                                                     : MERBIT_PRECONDITIONER_JACOBI,
                                MERBIT_MEMORY_HOST, &solver),
                   MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, c.b, x, 0, NULL, 0, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_int_equal(result.recorded, 2);
  assert_int_equal(result.restarts, 0);
  chain_expect(&c, 1, x);
  assert_int_equal(solver->gpu.fused_blocks > 0, way == SWEEPS);
  assert_int_equal(cuda->together > 0, way == SWEEPS || way == SWEEPS_UNRECORDED);
  CANNOT_TELL(merbit_solver_destroy(solver));
  merbit_context_destroy(context);
  cuda->calls.failed = 0;
  fake_expect_clean();
}

/* Steps run in one cooperative launch if that is allowed, else separately; recorded in either
 * case. */
TEST_UNUSED static void solver_in_fused_kernels(void **state) {
  int way;
  (void)state;
  wished = MERBIT_SIDE_CUDA;
  for (way = SWEEPS; way < SWEEPS_WAYS; way++) {
    fused_solve(way, MERBIT_SOLVER_CG, MBI_CG_LOOP_ITERATIONS);
    fused_solve(way, MERBIT_SOLVER_BICGSTAB, 2 * MBI_RECORDED_LOOP);
  }
  wished = MERBIT_SIDE_AUTO;
}

#endif /* TEST_FAKE_SOLVER_SCENARIOS_H */
