/* Distributed solves and PageRank of small problems, on either side, on 1 to 4 ranks, and
 * references for their results. Include merbit_dist.h and cmocka.h first. */
#ifndef TEST_DIST_SOLVES_H
#define TEST_DIST_SOLVES_H
#include "dist/products.h"

typedef struct solve_case {
  const test_matrix *m;
  merbit_side side;
  int single, start_from_x, zero_b;
  int tiny_b; /* 1: the square of ||b|| is 0, but b is not */
  merbit_dist_solver_desc desc;
  merbit_stop stop;
  int iterations; /* of one process; 0: not compared */
  int updated;    /* 1: the operator is made with other values, which are then replaced */
  int from, to;   /* numbers of ranks; 0: 1 to 4 */
  int devices;    /* as in ranks_world */
} solve_case;

/* Makes the symmetric positive definite matrix of a grid, or with `wind` a nonsymmetric one. */
TEST_UNUSED static void solve_matrix(int64_t width, double wind, test_matrix *m) {
  const int64_t n = width * width;
  int64_t i, d, at = 0;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "a grid with wind %g", wind);
  m->rows = m->cols = n;
  m->row_ptr = (int64_t *)test_allocate(n + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)test_allocate(5 * n, sizeof *m->col_ind);
  m->values = (double *)test_allocate(5 * n, sizeof *m->values);
  for (i = 0; i < n; i++) {
    const int64_t x = i % width, y = i / width;
    const int64_t neighbour[] = {i, x > 0 ? i - 1 : -1, x < width - 1 ? i + 1 : -1,
                                 y > 0 ? i - width : -1, y < width - 1 ? i + width : -1};
    const double value[] = {4.0 + 0.1 * (double)(i % 9), -1 - wind, -1 + wind, -1, -1};
    for (d = 0; d < 5; d++) {
      if (neighbour[d] >= 0) {
        m->col_ind[at] = (int32_t)neighbour[d];
        m->values[at++] = value[d];
      }
    }
    m->row_ptr[i + 1] = at;
  }
  m->nnz = at;
}

/* Splits the diagonal of each third row into two entries, the second with a hundredth of it. */
TEST_UNUSED static void solve_split_diagonal(test_matrix *m) {
  int32_t *col_ind = (int32_t *)test_allocate(2 * m->nnz, sizeof *col_ind);
  double *values = (double *)test_allocate(2 * m->nnz, sizeof *values);
  int64_t at = 0, i, k = 0;
  for (i = 0; i < m->rows; i++) {
    for (; k < m->row_ptr[i + 1]; k++) {
      const int split = i % 3 == 0 && m->col_ind[k] == i;
      col_ind[at] = m->col_ind[k];
      values[at++] = (split ? 0.99 : 1) * m->values[k];
      if (split) {
        col_ind[at] = m->col_ind[k];
        values[at++] = 0.01 * m->values[k];
      }
    }
    m->row_ptr[i + 1] = at;
  }
  free(m->col_ind);
  free(m->values);
  m->col_ind = col_ind;
  m->values = values;
  m->nnz = at;
}

TEST_UNUSED static double solve_b(const solve_case *c, int64_t i) {
  return c->zero_b ? 0 : c->tiny_b ? 1e-200 : 1 + (double)(i % 7) / 8;
}

static merbit_status solve_body(merbit_context *context, const merbit_exchange *exchange,
                                ranks_world *world, void *argument) {
  const solve_case *c = (const solve_case *)argument;
  const int64_t n = c->m->rows;
  const int64_t first = ranks_first(n, exchange->ranks, exchange->rank, -1);
  const int64_t end = ranks_first(n, exchange->ranks, exchange->rank + 1, -1);
  const size_t element = c->single ? sizeof(float) : sizeof(double);
  ranks_part p = ranks_part_make(c->m, first, end, c->single, 1, 0);
  void *b = test_allocate(end - first, sizeof(double));
  void *x = test_allocate(end - first, sizeof(double));
  double history[4] = {-1, -1, -1, -1};
  merbit_dist_solver_desc desc = c->desc;
  merbit_dist_result result;
  const size_t bytes = (size_t)(end - first) * element;
  merbit_buffer *vb, *vx;
  void *const stream = product_stream(context, exchange->ranks % 2);
  merbit_dist_desc operator_desc;
  merbit_dist *dist;
  merbit_status status;
  int64_t i;
  memset(&operator_desc, 0, sizeof operator_desc);
  operator_desc.plan.method =
      c->side == MERBIT_SIDE_CUDA ? MERBIT_METHOD_ROWS : MERBIT_METHOD_AUTO;
  if (c->updated) {
    void *const other = test_allocate(p.view.nnz, sizeof(double));
    merbit_view view = p.view;
    view.values = other;
    for (i = 0; i < p.view.nnz; i++) {
      product_store(other, i, (i % 3 ? 1 : 30) * product_load(p.values, i, c->single),
                    c->single);
    }
    status = merbit_dist_create(context, exchange, &view, &operator_desc, &dist);
    RANKS_CHECK(status == MERBIT_OK);
    RANKS_CHECK(merbit_dist_update_values(dist, p.values) == MERBIT_OK);
    free(other);
  } else {
    status = merbit_dist_create(context, exchange, &p.view, &operator_desc, &dist);
    RANKS_CHECK(status == MERBIT_OK);
  }
  for (i = first; i < end; i++) {
    product_store(b, i - first, solve_b(c, i), c->single);
    product_store(x, i - first, c->start_from_x ? 0.25 : NAN, c->single);
  }
  vb = product_vector(context, b, bytes);
  vx = product_vector(context, x, bytes);
  desc.history = history;
  desc.history_size = 4;
  status = merbit_dist_solve(dist, &desc, merbit_buffer_pointer(vb), merbit_buffer_pointer(vx),
                             c->start_from_x, stream, &result);
  if (status == MERBIT_OK) {
    RANKS_CHECK(result.stop == c->stop);
    RANKS_CHECK((isnan(result.residual) != 0) == c->tiny_b);
    RANKS_CHECK((isnan(result.estimated_residual) != 0) == c->tiny_b);
    RANKS_CHECK(result.stop != MERBIT_STOP_CONVERGED || c->zero_b || history[0] > 0);
    RANKS_CHECK(context->side == MERBIT_SIDE_CUDA || result.iterations < 4 ||
                history[3] != -1); /* each iteration is a check */
    RANKS_CHECK(c->iterations == 0 ||
                abs(result.iterations - c->iterations) <= 1 + c->iterations / 10);
    RANKS_CHECK(merbit_buffer_download(vx, 0, world->results + (size_t)first * element,
                                       bytes) == MERBIT_OK);
    RANKS_CHECK(result.synchronizations == 0 || context->side == MERBIT_SIDE_CUDA);
    /* With sums on the device the host waits once in check_every iterations, and at the start
     * and the end. */
    RANKS_CHECK(c->devices == 0 ||
                result.synchronizations <= result.iterations / c->desc.check_every + 6);
    ((int *)(world->results + RANKS_RESULTS / 2))[exchange->rank] = result.iterations;
    ((double *)(world->results + RANKS_RESULTS / 4 * 3))[exchange->rank] = result.residual;
  }
  merbit_dist_destroy(dist);
  product_stream_end(context, stream);
  merbit_buffer_destroy(vb);
  merbit_buffer_destroy(vx);
  ranks_part_free(&p);
  free(b);
  free(x);
  return status;
}

/* Runs a case on 1 to 4 ranks. */
TEST_UNUSED static void solve_run(solve_case *c) {
  const merbit_context_desc desc = product_context(c->side);
  int ranks, rank;
  for (ranks = c->from > 0 ? c->from : 1; ranks <= (c->to > 0 ? c->to : 4); ranks++) {
    ranks_world *w = ranks_world_make(ranks);
    const int *iterations = (const int *)(w->results + RANKS_RESULTS / 2);
    const double *residual = (const double *)(w->results + RANKS_RESULTS / 4 * 3);
    long double rr = 0, bb = 0;
    int64_t i, k;
    w->devices = c->devices;
    assert_int_equal(ranks_run(w, &desc, ranks % 2, solve_body, c), 0);
    for (rank = 0; rank < ranks; rank++) {
      if (w->status[rank] != MERBIT_OK) {
        fail_msg("rank %d: %s", rank, w->sentence[rank]);
      }
      assert_int_equal(iterations[rank], iterations[0]);
      assert_memory_equal(&residual[rank], &residual[0], sizeof residual[0]);
    }
    for (i = 0; i < c->m->rows; i++) {
      const double b = c->single ? (double)(float)solve_b(c, i) : solve_b(c, i);
      long double r = b;
      for (k = c->m->row_ptr[i]; k < c->m->row_ptr[i + 1]; k++) {
        const double value = c->single ? (double)(float)c->m->values[k] : c->m->values[k];
        r -= (long double)value * product_load(w->results, c->m->col_ind[k], c->single);
      }
      rr += r * r;
      bb += (long double)b * b;
    }
    if (c->stop == MERBIT_STOP_CONVERGED) {
      const long double tolerance = c->desc.tolerance;
      assert_true(sqrtl(rr) <= 1.02L * tolerance * sqrtl(bb));
      assert_true(bb == 0 || fabsl(sqrtl(rr / bb) - residual[0]) <= 0.05L * tolerance);
    }
    if (c->stop == MERBIT_STOP_NOT_FINITE && !c->start_from_x) { /* x is still 0 */
      assert_true(residual[0] == 1 && iterations[0] == 0);
    }
    ranks_world_free(w);
  }
}

/* Returns the iterations of merbit_solver_solve on one process. */
TEST_UNUSED static int solve_alone(const solve_case *c) {
  const merbit_context_desc cpu = {.side = MERBIT_SIDE_CPU, .threads = 1};
  ranks_part p = ranks_part_make(c->m, 0, c->m->rows, c->single, 1, 0);
  void *b = test_allocate(c->m->rows, sizeof(double)), *x = test_allocate(c->m->rows, 8);
  merbit_solver_desc desc = merbit_solver_defaults();
  merbit_solver_result result;
  merbit_context *context;
  merbit_solver *solver;
  int64_t i;
  for (i = 0; i < c->m->rows; i++) {
    product_store(b, i, solve_b(c, i), c->single);
  }
  desc.method = c->desc.method;
  desc.preconditioner = c->desc.preconditioner;
  desc.tolerance = c->desc.tolerance;
  assert_int_equal(merbit_context_create(&cpu, &context, NULL), MERBIT_OK);
  assert_int_equal(merbit_solver_create(context, &p.view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, b, x, 0, NULL, 0, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  merbit_solver_destroy(solver);
  merbit_context_destroy(context);
  ranks_part_free(&p);
  free(b);
  free(x);
  return result.iterations;
}

/* ---- PageRank ---------------------------------------------------------------------------- */

typedef struct page_case {
  const test_matrix *links; /* row i has the links to i; a pattern */
  merbit_side side;
  int single, weights; /* weights: pass out_weights, not scaled values */
  const double *out;   /* number of links from each vertex */
} page_case;

/* Solves by both methods, with and without the preconditioner, in both types, on ranks[0] to
 * ranks[3] ranks. */
TEST_UNUSED static void solve_each_on_cuda(const int *ranks, int check_every, int devices) {
  int which;
  for (which = 0; which < 4; which++) {
    test_matrix m;
    solve_case c;
    memset(&c, 0, sizeof c);
    c.m = &m;
    c.side = MERBIT_SIDE_CUDA;
    c.single = which / 2 != which % 2;
    c.desc.method = which % 2 ? MERBIT_SOLVER_BICGSTAB : MERBIT_SOLVER_CG;
    c.desc.preconditioner =
        which / 2 % 2 ? MERBIT_PRECONDITIONER_JACOBI : MERBIT_PRECONDITIONER_NONE;
    c.desc.tolerance = c.single ? 1e-4 : 1e-9;
    c.desc.check_every = check_every;
    c.from = c.to = ranks[which];
    c.devices = devices;
    solve_matrix(9, which % 2 ? 0.4 : 0, &m);
    c.iterations = solve_alone(&c);
    solve_run(&c);
    test_matrix_free(&m);
  }
}

static merbit_status page_body(merbit_context *context, const merbit_exchange *exchange,
                               ranks_world *world, void *argument) {
  const page_case *c = (const page_case *)argument;
  const int64_t n = c->links->rows;
  const int64_t first = ranks_first(n, exchange->ranks, exchange->rank, 0);
  const int64_t end = ranks_first(n, exchange->ranks, exchange->rank + 1, 0);
  const size_t element = c->single ? sizeof(float) : sizeof(double);
  ranks_part p = ranks_part_make(c->links, first, end, c->single, 0, 0);
  void *weights = test_allocate(end - first, sizeof(double));
  void *ranks = test_allocate(end - first, sizeof(double));
  const size_t bytes = (size_t)(end - first) * element;
  merbit_buffer *vw, *vr;
  merbit_dist_desc operator_desc;
  merbit_dist_pagerank_desc desc;
  merbit_dist_result result;
  merbit_dist *dist;
  merbit_status status;
  int64_t i;
  memset(&desc, 0, sizeof desc);
  memset(&operator_desc, 0, sizeof operator_desc);
  operator_desc.plan.method =
      c->side == MERBIT_SIDE_CUDA ? MERBIT_METHOD_ROWS : MERBIT_METHOD_AUTO;
  for (i = first; i < end; i++) {
    product_store(weights, i - first, c->out[i], c->single);
  }
  vw = product_vector(context, weights, bytes);
  vr = product_vector(context, ranks, bytes);
  if (c->weights) {
    p.view.values = NULL;
    desc.out_weights = merbit_buffer_pointer(vw);
  }
  status = merbit_dist_create(context, exchange, &p.view, &operator_desc, &dist);
  RANKS_CHECK(status == MERBIT_OK);
  status = merbit_dist_pagerank(dist, &desc, merbit_buffer_pointer(vr), NULL, &result);
  RANKS_CHECK(status == MERBIT_OK && result.stop == MERBIT_STOP_CONVERGED);
  RANKS_CHECK(merbit_buffer_download(vr, 0, world->results + (size_t)first * element, bytes) ==
              MERBIT_OK);
  if (c->weights && end > first) {
    product_store(weights, 0, -1, c->single);
    RANKS_CHECK(merbit_buffer_upload(vw, 0, weights, bytes) == MERBIT_OK);
  }
  status = merbit_dist_pagerank(dist, &desc, merbit_buffer_pointer(vr), NULL, NULL);
  merbit_dist_destroy(dist);
  merbit_buffer_destroy(vw);
  merbit_buffer_destroy(vr);
  ranks_part_free(&p);
  free(weights);
  free(ranks);
  return status;
}

/* Runs PageRank of a random graph on 1 to 4 ranks, in both types, from patterns and from
 * values. */
TEST_UNUSED static void page_run(merbit_side side, int from, int to, int devices) {
  const merbit_context_desc desc = product_context(side);
  enum { N = 300 };
  test_matrix links; /* transposed: row i has the vertices that link to i */
  double out[N];
  int64_t i, k, at = 0;
  uint64_t seed = 77;
  int which, ranks, rank;
  memset(&links, 0, sizeof links);
  memset(out, 0, sizeof out);
  links.rows = links.cols = N;
  links.row_ptr = (int64_t *)test_allocate(N + 1, sizeof *links.row_ptr);
  links.col_ind = (int32_t *)test_allocate(8 * N, sizeof *links.col_ind);
  links.values = (double *)test_allocate(8 * N, sizeof *links.values);
  for (i = 0; i < N; i++) {
    for (k = test_below(&seed, 8); k > 0; k--) {
      const int64_t from = test_below(&seed, N);
      if (from % 11 != 0) { /* the others are dangling */
        links.col_ind[at++] = (int32_t)from;
        out[from]++;
      }
    }
    links.row_ptr[i + 1] = at;
  }
  links.nnz = at;
  for (k = 0; k < at; k++) {
    links.values[k] = 1 / out[links.col_ind[k]];
  }
  for (which = 0; which < 4; which++) {
    double want[N], next[N];
    const double allowed = which / 2 ? 1e-6 : 1e-9;
    int step;
    for (i = 0; i < N; i++) {
      want[i] = 1.0 / N;
    }
    for (step = 0; step < 300; step++) { /* the textbook's power method */
      double dangling = 0;
      for (i = 0; i < N; i++) {
        dangling += out[i] == 0 ? want[i] : 0;
      }
      for (i = 0; i < N; i++) {
        next[i] = (0.15 + 0.85 * dangling) / N;
        for (k = links.row_ptr[i]; k < links.row_ptr[i + 1]; k++) {
          next[i] += 0.85 * want[links.col_ind[k]] / out[links.col_ind[k]];
        }
      }
      memcpy(want, next, sizeof want);
    }
    for (ranks = from; ranks <= to; ranks++) {
      ranks_world *w = ranks_world_make(ranks);
      page_case c;
      double sum = 0;
      c.links = &links;
      c.side = side;
      w->devices = devices;
      c.single = which / 2;
      c.weights = which % 2;
      c.out = out;
      assert_int_equal(ranks_run(w, &desc, ranks % 2, page_body, &c), 0);
      for (rank = 0; rank < ranks; rank++) {
        assert_int_equal(w->status[rank], c.weights ? MERBIT_INVALID_ARGUMENT : MERBIT_OK);
        assert_true(!c.weights || strstr(w->sentence[rank], "out_weights of vertex 0") != NULL);
      }
      for (i = 0; i < N; i++) {
        sum += product_load(w->results, i, c.single);
        assert_true(fabs(product_load(w->results, i, c.single) - want[i]) <= allowed);
      }
      assert_true(fabs(sum - 1) <= N * allowed);
      ranks_world_free(w);
    }
  }
  test_matrix_free(&links);
}

#endif /* TEST_DIST_SOLVES_H */
