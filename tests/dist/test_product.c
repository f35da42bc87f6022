/* Distributed products: every generated square matrix, 1 to 4 ranks, both types, against the
 * bound of one process; new values; whole_rows with the same bits for any number of ranks;
 * dots; info and forecast; columns beyond 2^31. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "dist/products.h"

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

/* Multiplies by m, which it frees, on 1 to 4 ranks. */
static void run_on_one_to_four(test_matrix *m, double beta, uint64_t seed) {
  int ranks;
  for (ranks = 1; ranks <= 4; ranks++) {
    ranks_world *w = ranks_world_make(ranks);
    product_case c;
    memset(&c, 0, sizeof c);
    c.m = m;
    c.without = -1;
    c.alpha = 1;
    c.beta = beta;
    product_fill(&c, seed);
    product_run(w, &c);
    product_release(&c);
    ranks_world_free(w);
  }
  test_matrix_free(m);
}

static void a_dense_row_and_unsorted_duplicates(void **state) {
  test_matrix m;
  (void)state;
  product_grid_with_dense_row(&m);
  run_on_one_to_four(&m, -2, 5);
}

/* Vectors that several CPU tasks share, or on 4 ranks one. */
static void vectors_of_several_tasks(void **state) {
  enum { N = 40001 };
  test_matrix m;
  int64_t i, d, at = 0;
  (void)state;
  memset(&m, 0, sizeof m);
  (void)snprintf(m.name, sizeof m.name, "three diagonals");
  m.rows = m.cols = N;
  m.row_ptr = (int64_t *)test_allocate(N + 1, sizeof *m.row_ptr);
  m.col_ind = (int32_t *)test_allocate(3 * N, sizeof *m.col_ind);
  m.values = (double *)test_allocate(3 * N, sizeof *m.values);
  for (i = 0; i < N; i++) {
    for (d = 0; d < 3; d++) {
      m.col_ind[at] = (int32_t)((i + d * 20011) % N);
      m.values[at++] = 1 + (double)(i % 5) - 2 * (double)d;
    }
    m.row_ptr[i + 1] = at;
  }
  m.nnz = at;
  run_on_one_to_four(&m, 0.5, 6);
}

static void whole_rows_have_the_same_bits(void **state) {
  (void)state;
  product_same_bits(MERBIT_SIDE_CPU, 0, MERBIT_METHOD_REFERENCE, NULL);
  product_same_bits(MERBIT_SIDE_CPU, 1, MERBIT_METHOD_REFERENCE, NULL);
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

/* Rank 0 has no rows and rank 2 no entries; their arrays may be NULL. *argument: the matrix is
 * a pattern, and the empty arrays of values are not NULL. */
static merbit_status empty_body(merbit_context *context, const merbit_exchange *exchange,
                                ranks_world *world, void *argument) {
  const int pattern = *(const int *)argument, full = exchange->rank == 1;
  const int32_t row_ptr[] = {0, 2, 3}, none[] = {0, 0}, col_ind[] = {2, 0, 1};
  const double first[] = {1, 2, 3}, later[] = {10, 20, 30}, x[] = {5, 7};
  const merbit_view views[] = {merbit_csr(0, 3, 0, NULL, NULL, pattern ? first : NULL),
                               merbit_csr(2, 3, 3, row_ptr, col_ind, pattern ? NULL : first),
                               merbit_csr(1, 3, 0, none, NULL, pattern ? first : NULL)};
  double y[2] = {-1, -1};
  merbit_dist_info info;
  merbit_dist *dist;
  merbit_status status;
  (void)world;
  status = merbit_dist_create(context, exchange, &views[exchange->rank], NULL, &dist);
  if (status != MERBIT_OK) {
    return status;
  }
  RANKS_CHECK(merbit_dist_forecast(context, &views[exchange->rank], 0, &info) == MERBIT_OK);
  RANKS_CHECK(merbit_dist_spmv(dist, NULL, x, NULL, y, NULL) == MERBIT_OK);
  RANKS_CHECK(!full || (y[0] == (pattern ? 10 : 15) && y[1] == (pattern ? 7 : 21)));
  RANKS_CHECK(exchange->rank != 2 || y[0] == 0);
  status = merbit_dist_update_values(dist, full ? later : NULL);
  RANKS_CHECK(status == (pattern ? MERBIT_INVALID_ARGUMENT : MERBIT_OK));
  RANKS_CHECK(merbit_dist_spmv(dist, NULL, x, NULL, y, NULL) == MERBIT_OK);
  RANKS_CHECK(!full || (y[0] == (pattern ? 10 : 150) && y[1] == (pattern ? 7 : 210)));
  merbit_dist_destroy(dist);
  return MERBIT_OK;
}

static void ranks_without_entries_may_pass_null(void **state) {
  const merbit_context_desc cpu = product_context(MERBIT_SIDE_CPU);
  int pattern, rank;
  (void)state;
  for (pattern = 0; pattern < 2; pattern++) {
    ranks_world *w = ranks_world_make(3);
    assert_int_equal(ranks_run(w, &cpu, 0, empty_body, &pattern), 0);
    for (rank = 0; rank < 3; rank++) {
      if (w->status[rank] != MERBIT_OK) {
        fail_msg("rank %d: %s", rank, w->sentence[rank]);
      }
    }
    ranks_world_free(w);
  }
}

/* The other of two ranks, simulated: it has 2^40 rows and needs nothing; its x is the row
 * number modulo 1000. */
typedef struct giant {
  int calls;
  int64_t wanted[8];
  int count; /* number of them */
  const merbit_message *receives;
} giant;

#define GIANT_ROWS ((int64_t)1 << 40)

static int giant_counts(void *user, const int64_t *to, int64_t *from) {
  giant *g = (giant *)user;
  g->calls++;
  from[0] = to[0];
  from[1] = g->calls == 4 ? GIANT_ROWS : g->calls == 6 ? 0 : to[1];
  return 0;
}

static int giant_start(void *user, const merbit_message *sends, int send_count,
                       const merbit_message *receives, int receive_count, void *stream) {
  giant *g = (giant *)user;
  (void)stream;
  if (send_count == 1) { /* set-up: the list of columns */
    g->count = (int)(sends[0].bytes / sizeof g->wanted[0]);
    memcpy(g->wanted, sends[0].data, sends[0].bytes);
  }
  g->receives = receive_count == 1 ? receives : NULL;
  return 0;
}

static int giant_finish(void *user, void *stream) {
  const giant *g = (const giant *)user;
  int i;
  (void)stream;
  for (i = 0; g->receives != NULL && i < g->count; i++) {
    ((double *)g->receives[0].data)[i] = (double)(g->wanted[i] % 1000);
  }
  return 0;
}

static void columns_exceed_an_int(void **state) {
  const merbit_context_desc cpu = product_context(MERBIT_SIDE_CPU);
  /* Distant columns: a sorted list. Columns close together beyond 2^31: a bitmap. */
  const int64_t columns[2][6] = {{2, GIANT_ROWS + 2, 5000000000, 1, GIANT_ROWS + 2, 70},
                                 {2, 5000000100, 5000000000, 1, 5000000100, 5000000063}};
  const int32_t row_ptr[] = {0, 2, 2, 6};
  const double values[] = {1, 2, 3, 4, 5, 6}, x[] = {10, 20, 30};
  int which;
  (void)state;
  for (which = 0; which < 2; which++) {
    giant g;
    merbit_exchange exchange;
    merbit_context *context;
    merbit_dist *dist;
    merbit_dist_info info;
    merbit_view view;
    const int64_t *c = columns[which];
    double y[3] = {-1, -1, -1};
    memset(&g, 0, sizeof g);
    memset(&exchange, 0, sizeof exchange);
    memset(&view, 0, sizeof view);
    exchange.ranks = 2;
    exchange.counts = giant_counts;
    exchange.start = giant_start;
    exchange.finish = giant_finish;
    exchange.user = &g;
    view.rows = 3;
    view.cols = GIANT_ROWS + 3;
    view.nnz = 6;
    view.index_type = MERBIT_INDEX_64;
    view.row_ptr = row_ptr;
    view.col_ind = columns[which];
    view.values = values;
    assert_int_equal(merbit_context_create(&cpu, &context, NULL), MERBIT_OK);
    assert_int_equal(merbit_dist_create(context, &exchange, &view, NULL, &dist), MERBIT_OK);
    assert_int_equal(merbit_dist_get_info(dist, &info), MERBIT_OK);
    assert_true(info.global_rows == GIANT_ROWS + 3 && info.halo == 3 && g.count == 3);
    assert_int_equal(merbit_dist_spmv(dist, NULL, x, NULL, y, NULL), MERBIT_OK);
    assert_true(y[0] == 30 + 2 * (double)(c[1] % 1000) && y[1] == 0);
    assert_true(y[2] == 3 * (double)(c[2] % 1000) + 4 * 20 + 5 * (double)(c[4] % 1000) +
                            6 * (double)(c[5] % 1000));
    assert_int_equal(merbit_dist_forecast(context, &view, 0, &info), MERBIT_OK);
    assert_true(info.halo == 3 && info.boundary_rows == 2 && info.halo_nnz == 4);
    merbit_dist_destroy(dist);
    merbit_context_destroy(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_meet_the_bound),
      cmocka_unit_test(a_dense_row_and_unsorted_duplicates),
      cmocka_unit_test(vectors_of_several_tasks),
      cmocka_unit_test(whole_rows_have_the_same_bits),
      cmocka_unit_test(parts_of_a_partition_become_contiguous),
      cmocka_unit_test(ranks_without_entries_may_pass_null),
      cmocka_unit_test(columns_exceed_an_int),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
