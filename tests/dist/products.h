/* A distributed product of a generated matrix, on either side: each rank's body, and the run
 * that compares all ranks' y with the error bound of one process. Include merbit_dist.h and
 * cmocka.h first. */
#ifndef TEST_DIST_PRODUCTS_H
#define TEST_DIST_PRODUCTS_H
#include "dist/ranks.h"
#include "support/bound.h"
#include "support/gpu_context.h"
#include "support/squares.h"

/* How the parts are made and multiplied. */
typedef struct product_case {
  const test_matrix *m;
  int single, narrow, base, without, whole;
  merbit_side side;
  int own_stream; /* CUDA: a stream that is not ordered with the default stream */
  merbit_method method;
  const char *tuning;
  double alpha, beta;
  double *x, *y0; /* of the whole matrix */
} product_case;

TEST_UNUSED static double product_load(const void *v, int64_t i, int single) {
  return single ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

TEST_UNUSED static void product_store(void *v, int64_t i, double value, int single) {
  if (single) {
    ((float *)v)[i] = (float)value;
  } else {
    ((double *)v)[i] = value;
  }
}

/* Makes a stream of the context, or NULL. */
static void *product_stream(merbit_context *context, int wanted) {
  void *stream = NULL;
  if (wanted && context->side == MERBIT_SIDE_CUDA && mbi_device_enter(context) == MERBIT_OK) {
    (void)context->device.driver.stream_create(&stream, MBI_STREAM_NON_BLOCKING);
    mbi_device_leave(context);
  }
  return stream;
}

/* Waits for a stream and destroys it. */
static void product_stream_end(merbit_context *context, void *stream) {
  if (stream != NULL && mbi_device_enter(context) == MERBIT_OK) {
    (void)context->device.driver.stream_synchronize(stream);
    (void)context->device.driver.stream_destroy(stream);
    mbi_device_leave(context);
  }
}

static void product_wait(merbit_context *context, void *stream) {
  if (context->side == MERBIT_SIDE_CUDA && mbi_device_enter(context) == MERBIT_OK) {
    (void)context->device.driver.stream_synchronize(stream);
    mbi_device_leave(context);
  }
}

/* Returns the descriptor of the ranks' contexts. */
static merbit_context_desc product_context(merbit_side side) {
  merbit_context_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.side = side == MERBIT_SIDE_CUDA ? MERBIT_SIDE_CUDA : MERBIT_SIDE_CPU;
  desc.threads = 1;
  desc.cache_dir = side == MERBIT_SIDE_CUDA ? gpu_cache() : "";
  return desc;
}

/* Makes a vector where the context computes. */
static merbit_buffer *product_vector(merbit_context *context, const void *values,
                                     size_t bytes) {
  merbit_buffer *buffer = NULL;
  if (merbit_buffer_create(context, bytes, &buffer) != MERBIT_OK ||
      merbit_buffer_upload(buffer, 0, values, bytes) != MERBIT_OK) {
    (void)fprintf(stderr, "no vector\n");
    exit(98);
  }
  return buffer;
}

/* Computes a rank's product. Its y goes to the world's results. */
static merbit_status product_body(merbit_context *context, const merbit_exchange *exchange,
                                  ranks_world *world, void *argument) {
  const product_case *c = (const product_case *)argument;
  const int64_t rows = c->m->rows;
  const int64_t first = ranks_first(rows, exchange->ranks, exchange->rank, c->without);
  const int64_t end = ranks_first(rows, exchange->ranks, exchange->rank + 1, c->without);
  ranks_part p = ranks_part_make(c->m, first, end, c->single, c->narrow, c->base);
  const size_t element = c->single ? sizeof(float) : sizeof(double);
  void *x = test_allocate(end - first, sizeof(double));
  void *y = test_allocate(end - first, sizeof(double));
  void *values = test_allocate(p.view.nnz, sizeof(double));
  float alpha32 = (float)c->alpha, beta32 = (float)c->beta;
  const void *alpha = c->single ? (const void *)&alpha32 : &c->alpha;
  const void *beta = c->single ? (const void *)&beta32 : &c->beta;
  merbit_dist_desc desc;
  merbit_dist_info info, forecast;
  const size_t bytes = (size_t)(end - first) * element;
  void *const stream = product_stream(context, c->own_stream);
  char *const result = world->results + (size_t)first * element;
  merbit_buffer *vx, *vy;
  merbit_dist *dist;
  merbit_status status;
  char line[2048];
  int64_t i;
  memset(&desc, 0, sizeof desc);
  desc.plan.method = c->method;
  desc.plan.tuning = c->tuning;
  desc.whole_rows = c->whole;
  for (i = first; i < end; i++) {
    product_store(x, i - first, c->x[i], c->single);
    product_store(y, i - first, c->y0[i], c->single);
  }
  vx = product_vector(context, x, bytes);
  vy = product_vector(context, y, bytes);
  /* Starts with other values, which an update replaces. */
  memcpy(values, p.values, (size_t)p.view.nnz * element);
  memset(p.values, 0, (size_t)p.view.nnz * element);
  status = merbit_dist_create(context, exchange, &p.view, &desc, &dist);
  if (status != MERBIT_OK) {
    return status;
  }
  ranks_part_free(&p); /* no longer needed */
  RANKS_CHECK(merbit_dist_update_values(dist, values) == MERBIT_OK);
  RANKS_CHECK(merbit_dist_get_info(dist, &info) == MERBIT_OK);
  RANKS_CHECK(info.rank == exchange->rank && info.ranks == exchange->ranks);
  RANKS_CHECK(info.rows == end - first && info.first_row == first && info.global_rows == rows);
  RANKS_CHECK(info.own_nnz + info.halo_nnz == c->m->row_ptr[end] - c->m->row_ptr[first]);
  RANKS_CHECK(exchange->ranks > 1 || (info.halo == 0 && info.sent == 0));
  RANKS_CHECK(merbit_dist_describe(dist, line, sizeof line) == strlen(line));
  RANKS_CHECK(strstr(line, "rank") == line);
  p = ranks_part_make(c->m, first, end, c->single, c->narrow, c->base);
  p.view.values = NULL;
  RANKS_CHECK(merbit_dist_forecast(context, &p.view, first, &forecast) == MERBIT_OK);
  RANKS_CHECK(forecast.halo == info.halo && forecast.boundary_rows == info.boundary_rows);
  RANKS_CHECK(c->whole || forecast.halo_nnz == info.halo_nnz);
  ranks_part_free(&p);
  RANKS_CHECK(info.side == context->side);
  status = merbit_dist_spmv(dist, alpha, merbit_buffer_pointer(vx), beta,
                            merbit_buffer_pointer(vy), stream);
  RANKS_CHECK(status == MERBIT_OK);
  product_wait(context, stream);
  RANKS_CHECK(merbit_buffer_download(vy, 0, result, bytes) == MERBIT_OK);
  /* Multiplies another vector, then the first again: the same bits. Then computes a dot of y
   * and x. */
  RANKS_CHECK(merbit_dist_spmv(dist, NULL, merbit_buffer_pointer(vx), NULL,
                               merbit_buffer_pointer(vy), stream) == MERBIT_OK);
  product_wait(context, stream);
  RANKS_CHECK(merbit_buffer_upload(vy, 0, y, bytes) == MERBIT_OK);
  RANKS_CHECK(merbit_dist_spmv(dist, alpha, merbit_buffer_pointer(vx), beta,
                               merbit_buffer_pointer(vy), stream) == MERBIT_OK);
  {
    double dot = 0;
    long double want = 0, size = 0;
    int64_t to[RANKS_MOST], from[RANKS_MOST];
    RANKS_CHECK(merbit_dist_dot(dist, merbit_buffer_pointer(vx), merbit_buffer_pointer(vy),
                                &dot, stream) == MERBIT_OK);
    RANKS_CHECK(merbit_buffer_download(vy, 0, y, bytes) == MERBIT_OK);
    RANKS_CHECK(bytes == 0 || memcmp(result, y, bytes) == 0);
    memset(to, 0, sizeof to);
    RANKS_CHECK(exchange->counts(exchange->user, to, from) == 0); /* all results have arrived */
    for (i = 0; i < rows; i++) {
      const double xi = c->single ? (double)(float)c->x[i] : c->x[i];
      const long double term = (long double)xi * product_load(world->results, i, c->single);
      want += term;
      size += fabsl(term);
    }
    RANKS_CHECK(fabsl(dot - want) <= (long double)(rows + 8) * 0x1p-53L * size || isnan(want) ||
                isinf(want));
  }
  merbit_dist_destroy(dist);
  product_stream_end(context, stream);
  merbit_buffer_destroy(vx);
  merbit_buffer_destroy(vy);
  free(x);
  free(y);
  free(values);
  return MERBIT_OK;
}

TEST_UNUSED static void product_fill(product_case *c, uint64_t seed) {
  const int64_t n = c->m->rows;
  int64_t i;
  c->x = (double *)test_allocate(n, sizeof *c->x);
  c->y0 = (double *)test_allocate(n, sizeof *c->y0);
  for (i = 0; i < n; i++) {
    c->x[i] = test_uniform(&seed);
    c->y0[i] = c->beta != 0 ? test_uniform(&seed) : NAN;
  }
}

TEST_UNUSED static void product_release(product_case *c) {
  free(c->x);
  free(c->y0);
}

/* Returns the number of GPUs, or skips the program if there is none. A child process finds out,
 * because a process that has used a GPU must not fork ranks. */
TEST_UNUSED static int product_devices(void) {
  const char *cache = gpu_cache(); /* made here, so that all processes share it */
  int end = 0;
  const pid_t child = cache != NULL ? fork() : -1;
  if (child == 0) {
    merbit_context *context = gpu_context();
    int devices = 0;
    (void)context->device.driver.device_get_count(&devices);
    merbit_context_destroy(context);
    exit(devices < 1 || devices >= TEST_SKIPPED ? 1 : 100 + devices);
  }
  if (child < 0 || waitpid(child, &end, 0) != child || !WIFEXITED(end)) {
    exit(1);
  }
  if (WEXITSTATUS(end) < 100) {
    exit(WEXITSTATUS(end));
  }
  return WEXITSTATUS(end) - 100;
}

/* Runs a case on `ranks` ranks and checks the result against the bound. */
TEST_UNUSED static void product_run(ranks_world *w, product_case *c) {
  const int64_t n = c->m->rows;
  const merbit_context_desc desc = product_context(c->side);
  bound_inputs in;
  void *x = test_allocate(n, sizeof(double)), *y0 = test_allocate(n, sizeof(double));
  int64_t i;
  int rank;
  for (i = 0; i < n; i++) {
    product_store(x, i, c->x[i], c->single);
    product_store(y0, i, c->y0[i], c->single);
  }
  assert_int_equal(ranks_run(w, &desc, w->ranks % 2, product_body, c), 0);
  for (rank = 0; rank < w->ranks; rank++) {
    if (w->status[rank] != MERBIT_OK) {
      fail_msg("%s, rank %d: %s", c->m->name, rank, w->sentence[rank]);
    }
  }
  in.m = c->m;
  in.single = c->single;
  in.alpha = c->single ? (double)(float)c->alpha : c->alpha;
  in.beta = c->single ? (double)(float)c->beta : c->beta;
  in.x = x;
  in.y0 = y0;
  in.y = w->results;
  if (bound_rows_wrong(&in) != 0) {
    fail_msg("%s on %d ranks, single %d, whole %d", c->m->name, w->ranks, c->single, c->whole);
  }
  free(x);
  free(y0);
}

/* Makes the rows of a grid in an order that makes all ranks neighbours, and one row with all
 * columns. */
TEST_UNUSED static void product_grid_with_dense_row(test_matrix *m) {
  int64_t dense = 100, k;
  test_matrix grid;
  square_grid(20, 20, 8, 3, &grid);
  *m = grid;
  m->nnz = grid.nnz + m->cols;
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (k = 0; k < m->nnz; k++) {
    const int64_t begin = grid.row_ptr[dense];
    const int64_t old = k < begin ? k : k < begin + m->cols ? -1 : k - m->cols;
    m->col_ind[k] = old >= 0 ? grid.col_ind[old] : (int32_t)(m->cols - 1 - (k - begin));
    m->values[k] = old >= 0 ? grid.values[old] * 0.3 : 1.0 / (double)(3 + k % 17);
  }
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  for (k = 0; k <= m->rows; k++) {
    m->row_ptr[k] = grid.row_ptr[k] + (k > dense ? m->cols : 0);
  }
  test_matrix_free(&grid);
}

/* Multiplies with whole_rows on 1 to 4 ranks, and compares the bits. */
TEST_UNUSED static void product_same_bits(merbit_side side, int single, merbit_method method,
                                          const char *tuning) {
  test_matrix m;
  size_t bytes;
  char *first;
  int ranks;
  product_grid_with_dense_row(&m);
  bytes = (size_t)m.rows * (single ? sizeof(float) : sizeof(double));
  first = (char *)test_allocate((int64_t)bytes, 1);
  for (ranks = 1; ranks <= 4; ranks++) {
    ranks_world *w = ranks_world_make(ranks);
    product_case c;
    memset(&c, 0, sizeof c);
    c.m = &m;
    c.side = side;
    c.single = single;
    c.without = ranks == 3 ? 1 : -1;
    c.whole = 1;
    c.own_stream = side == MERBIT_SIDE_CUDA;
    c.method = method;
    c.tuning = tuning;
    c.alpha = 0.7;
    c.beta = 0.3;
    product_fill(&c, 9);
    product_run(w, &c);
    if (ranks == 1) {
      memcpy(first, w->results, bytes);
    }
    assert_memory_equal(first, w->results, bytes);
    product_release(&c);
    ranks_world_free(w);
  }
  free(first);
  test_matrix_free(&m);
}

#endif /* TEST_DIST_PRODUCTS_H */
