/* Distributed products: every generated square matrix, 1 to 4 ranks, both types, held to the bound of
 * one process; new values; whole_rows with the same bits for any number of ranks; dots; the info and
 * the forecast. */
#define MERBIT_DIST_IMPLEMENTATION
#include "merbit_dist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "dist/ranks.h"
#include "support/bound.h"
#include "support/effort.h"
#include "support/squares.h"

/* How the parts are made and multiplied. */
typedef struct product_case {
  const test_matrix *m;
  int single, narrow, base, without, whole;
  merbit_method method;
  double alpha, beta;
  double *x, *y0; /* of the whole matrix */
} product_case;

static double product_load(const void *v, int64_t i, int single) {
  return single ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

static void product_store(void *v, int64_t i, double value, int single) {
  if (single) {
    ((float *)v)[i] = (float)value;
  } else {
    ((double *)v)[i] = value;
  }
}

/* A rank's product. Its y goes to the world's results. */
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
  merbit_dist *dist;
  merbit_status status;
  char line[1024];
  int64_t i;
  memset(&desc, 0, sizeof desc);
  desc.plan.method = c->method;
  desc.whole_rows = c->whole;
  for (i = first; i < end; i++) {
    product_store(x, i - first, c->x[i], c->single);
    product_store(y, i - first, c->y0[i], c->single);
  }
  /* First with other values, which an update replaces. */
  memcpy(values, p.values, (size_t)p.view.nnz * element);
  memset(p.values, 0, (size_t)p.view.nnz * element);
  status = merbit_dist_create(context, exchange, &p.view, &desc, &dist);
  if (status != MERBIT_OK) {
    return status;
  }
  ranks_part_free(&p); /* nothing of it is needed later */
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
  status = merbit_dist_spmv(dist, alpha, x, beta, y, NULL);
  RANKS_CHECK(status == MERBIT_OK);
  memcpy(world->results + (size_t)first * element, y, (size_t)(end - first) * element);
  /* A second time from the same y0, to the same bits; then a dot of y and x. */
  for (i = first; i < end; i++) {
    product_store(y, i - first, c->y0[i], c->single);
  }
  RANKS_CHECK(merbit_dist_spmv(dist, alpha, x, beta, y, NULL) == MERBIT_OK);
  RANKS_CHECK(memcmp(world->results + (size_t)first * element, y,
                     (size_t)(end - first) * element) == 0);
  {
    double dot = 0;
    long double want = 0, size = 0;
    int64_t to[RANKS_MOST], from[RANKS_MOST];
    RANKS_CHECK(merbit_dist_dot(dist, x, y, &dot, NULL) == MERBIT_OK);
    memset(to, 0, sizeof to);
    RANKS_CHECK(exchange->counts(exchange->user, to, from) == 0); /* all results are there */
    for (i = 0; i < rows; i++) {
      const double xi = c->single ? (double)(float)c->x[i] : c->x[i];
      const long double term = (long double)xi * product_load(world->results, i, c->single);
      want += term;
      size += fabsl(term);
    }
    RANKS_CHECK(fabsl(dot - want) <= (long double)(rows + 8) * 0x1p-53L * size ||
                isnan(want) || isinf(want));
  }
  merbit_dist_destroy(dist);
  free(x);
  free(y);
  free(values);
  return MERBIT_OK;
}

static void product_fill(product_case *c, uint64_t seed) {
  const int64_t n = c->m->rows;
  int64_t i;
  c->x = (double *)test_allocate(n, sizeof *c->x);
  c->y0 = (double *)test_allocate(n, sizeof *c->y0);
  for (i = 0; i < n; i++) {
    c->x[i] = test_uniform(&seed);
    c->y0[i] = c->beta != 0 ? test_uniform(&seed) : NAN;
  }
}

static void product_release(product_case *c) {
  free(c->x);
  free(c->y0);
}

/* Runs a case on `ranks` ranks and holds the result to the bound. */
static void product_run(ranks_world *w, product_case *c) {
  const int64_t n = c->m->rows;
  const merbit_context_desc cpu = {.side = MERBIT_SIDE_CPU, .threads = 1};
  bound_inputs in;
  void *x = test_allocate(n, sizeof(double)), *y0 = test_allocate(n, sizeof(double));
  int64_t i;
  int rank;
  for (i = 0; i < n; i++) {
    product_store(x, i, c->x[i], c->single);
    product_store(y0, i, c->y0[i], c->single);
  }
  assert_int_equal(ranks_run(w, &cpu, w->ranks % 2, product_body, c), 0);
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

static void products_meet_the_bound(void **state) {
  int index, turn = 0;
  (void)state;
  for (index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    product_case c;
    ranks_world *w;
    square_make(index, 1, &m);
    if (m.rows * (int64_t)sizeof(double) > RANKS_RESULTS || m.rows > 100000) {
      test_matrix_free(&m);
      continue;
    }
    w = ranks_world_make(1 + turn % 4);
    memset(&c, 0, sizeof c);
    c.m = &m;
    c.single = turn / 2 % 2;
    c.narrow = turn / 3 % 2;
    c.base = turn / 5 % 2;
    c.without = turn % 3 == 0 ? turn % w->ranks : -1;
    c.whole = turn / 4 % 2;
    c.alpha = turn % 5 == 0 ? 1 : turn % 5 == 1 ? 0 : -1.5;
    c.beta = turn % 3 == 0 ? 0 : 0.75;
    product_fill(&c, (uint64_t)index);
    product_run(w, &c);
    product_release(&c);
    ranks_world_free(w);
    test_matrix_free(&m);
    turn++;
  }
}

/* The rows of a grid, in an order that makes all ranks neighbours, and one row of all columns. */
static void product_grid_with_dense_row(test_matrix *m) {
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

static void a_dense_row_and_unsorted_duplicates(void **state) {
  test_matrix m;
  int ranks;
  (void)state;
  product_grid_with_dense_row(&m);
  for (ranks = 1; ranks <= 4; ranks++) {
    ranks_world *w = ranks_world_make(ranks);
    product_case c;
    memset(&c, 0, sizeof c);
    c.m = &m;
    c.without = -1;
    c.alpha = 1;
    c.beta = -2;
    product_fill(&c, 5);
    product_run(w, &c);
    product_release(&c);
    ranks_world_free(w);
  }
  test_matrix_free(&m);
}

static void whole_rows_have_the_same_bits(void **state) {
  test_matrix m;
  int ranks, single;
  (void)state;
  product_grid_with_dense_row(&m);
  for (single = 0; single < 2; single++) {
    const size_t bytes = (size_t)m.rows * (single ? sizeof(float) : sizeof(double));
    char *first = (char *)test_allocate((int64_t)bytes, 1);
    for (ranks = 1; ranks <= 4; ranks++) {
      ranks_world *w = ranks_world_make(ranks);
      product_case c;
      memset(&c, 0, sizeof c);
      c.m = &m;
      c.single = single;
      c.without = ranks == 3 ? 1 : -1;
      c.whole = 1;
      c.method = MERBIT_METHOD_REFERENCE;
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
  }
  test_matrix_free(&m);
}

static void parts_of_a_partition_become_contiguous(void **state) {
  const int32_t part[] = {2, 0, 1, 0, 2, 2};
  const int32_t wrong[] = {0, 3};
  const int64_t want[] = {3, 0, 2, 1, 4, 5}, want_first[] = {0, 2, 3, 6};
  int64_t number[6], first[4];
  merbit_context *context;
  char sentence[MERBIT_MESSAGE_SIZE];
  const merbit_context_desc cpu = {.side = MERBIT_SIDE_CPU};
  (void)state;
  assert_int_equal(merbit_context_create(&cpu, &context, NULL), MERBIT_OK);
  assert_int_equal(merbit_dist_renumber(context, 6, part, 3, number, first), MERBIT_OK);
  assert_memory_equal(number, want, sizeof want);
  assert_memory_equal(first, want_first, sizeof want_first);
  assert_int_equal(merbit_dist_renumber(context, 2, wrong, 3, number, first),
                   MERBIT_INVALID_ARGUMENT);
  (void)merbit_last_error(context, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, "part[1] is 3"));
  assert_int_equal(merbit_dist_renumber(context, 2, NULL, 3, number, first),
                   MERBIT_INVALID_ARGUMENT);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_meet_the_bound),
      cmocka_unit_test(a_dense_row_and_unsorted_duplicates),
      cmocka_unit_test(whole_rows_have_the_same_bits),
      cmocka_unit_test(parts_of_a_partition_become_contiguous),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
