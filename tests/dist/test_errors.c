/* Errors in distributed calls: all ranks report an error of one rank with that rank's
 * message, an error that no other rank notices is refused, and so are requests for another
 * rank's rows. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "dist/solves.h"

enum { AT_FAULT = 1, RANKS = 3 };

/* ---- Errors ------------------------------------------------------------------------------ */

typedef struct mistake {
  const char *says; /* part of the message that every rank reports */
  merbit_status status;
  void (*make)(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange);
} mistake;

static void bad_column(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  ((int64_t *)p->col_ind)[5] = p->view.cols;
}

static void negative_column(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  ((int64_t *)p->col_ind)[5] = -1;
}

static void least_column(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  ((int64_t *)p->col_ind)[5] = INT64_MIN;
}

static void another_index(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->view.index_type = (merbit_index_type)3;
}

static void falling_offsets(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->row_ptr[3] = p->row_ptr[2] - 1;
}

static void offsets_that_begin_late(ranks_part *p, merbit_dist_desc *desc,
                                    merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->row_ptr[0] = 1;
}

static void offsets_that_end_early(ranks_part *p, merbit_dist_desc *desc,
                                   merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->row_ptr[p->view.rows]--;
}

static void other_columns(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->view.cols++;
}

static void a_row_too_few(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->view.rows--;
  p->view.nnz = p->row_ptr[p->view.rows];
}

static void another_type(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->view.value_type = MERBIT_F32;
}

static void whole_rows_here(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)p;
  (void)exchange;
  desc->whole_rows = 1;
}

static void no_values(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->view.values = NULL;
}

static void coordinates(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->view.format = MERBIT_COO;
}

static void complex_values(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->view.value_type = MERBIT_C128;
}

static void too_many_rows(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->view.rows = (int64_t)1 << 31;
}

static void negative_nnz(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->view.nnz = -1;
}

static void no_offsets(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)desc;
  (void)exchange;
  p->view.row_ptr = NULL;
}

static void a_transpose(ranks_part *p, merbit_dist_desc *desc, merbit_exchange *exchange) {
  (void)p;
  (void)exchange;
  desc->plan.operation = MERBIT_OPERATION_T;
}

static void vectors_of_another_type(ranks_part *p, merbit_dist_desc *desc,
                                    merbit_exchange *exchange) {
  (void)p;
  (void)exchange;
  desc->plan.vector_type = MERBIT_F32;
}

static void vectors_elsewhere(ranks_part *p, merbit_dist_desc *desc,
                              merbit_exchange *exchange) {
  (void)p;
  (void)exchange;
  desc->plan.vector_memory = MERBIT_MEMORY_DEVICE;
}

static void a_gpu_that_is_not(ranks_part *p, merbit_dist_desc *desc,
                              merbit_exchange *exchange) {
  (void)p;
  (void)exchange;
  desc->plan.side = MERBIT_SIDE_CUDA;
}

static void messages_on_the_device(ranks_part *p, merbit_dist_desc *desc,
                                   merbit_exchange *exchange) {
  (void)p;
  (void)desc;
  exchange->device_messages = 1;
}

static void a_method_of_the_gpu(ranks_part *p, merbit_dist_desc *desc,
                                merbit_exchange *exchange) {
  (void)p;
  (void)exchange;
  desc->plan.method = MERBIT_METHOD_ROWS;
}

static const mistake mistakes[] = {
    {"rank 1: col_ind[5], in row", MERBIT_INVALID_MATRIX, bad_column},
    {"rank 1: col_ind[5], in row", MERBIT_INVALID_MATRIX, negative_column},
    {"is -9223372036854775808: columns are 0 to 224", MERBIT_INVALID_MATRIX, least_column},
    {"rank 1: offset_type is 1, index_type 3; use", MERBIT_INVALID_ARGUMENT, another_index},
    {"rank 1: row_ptr[2] is", MERBIT_INVALID_MATRIX, falling_offsets},
    {"rank 1: row_ptr[0] is 1", MERBIT_INVALID_MATRIX, offsets_that_begin_late},
    {"rank 1: row_ptr ends at", MERBIT_INVALID_MATRIX, offsets_that_end_early},
    {"rank 1: cols is 226, but 225 on rank 0", MERBIT_INVALID_ARGUMENT, other_columns},
    {"the ranks have 224 rows together, but cols is 225", MERBIT_INVALID_ARGUMENT,
     a_row_too_few},
    {"rank 1: value type, side or whole_rows", MERBIT_INVALID_ARGUMENT, another_type},
    {"rank 1: value type, side or whole_rows", MERBIT_INVALID_ARGUMENT, whole_rows_here},
    {"rank 1: `values` is NULL, but on rank 0 it is not", MERBIT_INVALID_ARGUMENT, no_values},
    {"rank 1: rows are given as CSR", MERBIT_NOT_SUPPORTED, coordinates},
    {"rank 1: values are MERBIT_F64 or MERBIT_F32", MERBIT_NOT_SUPPORTED, complex_values},
    {"rank 1: 2147483648 rows", MERBIT_TOO_LARGE, too_many_rows},
    {"rank 1: cols is 225, nnz -1", MERBIT_INVALID_ARGUMENT, negative_nnz},
    {"rank 1: row_ptr is NULL", MERBIT_INVALID_ARGUMENT, no_offsets},
    {"rank 1: plan_desc.operation", MERBIT_NOT_SUPPORTED, a_transpose},
    {"rank 1: plan_desc.vector_type", MERBIT_NOT_SUPPORTED, vectors_of_another_type},
    {"rank 1: plan_desc.vector_memory", MERBIT_NOT_SUPPORTED, vectors_elsewhere},
    {"rank 1: plan_desc.side is MERBIT_SIDE_CUDA", MERBIT_NO_DEVICE, a_gpu_that_is_not},
    {"rank 1: merbit_exchange.device_messages", MERBIT_NOT_SUPPORTED, messages_on_the_device},
    {"rank 1: ", MERBIT_NO_DEVICE, a_method_of_the_gpu},
};
enum { MISTAKES = sizeof mistakes / sizeof mistakes[0] };

typedef struct error_case {
  const test_matrix *m;
  const mistake *mistake;
} error_case;

/* Makes an error on one rank, then does the call correctly with the same exchange. */
static merbit_status mistake_body(merbit_context *context, const merbit_exchange *exchange,
                                  ranks_world *world, void *argument) {
  const error_case *c = (const error_case *)argument;
  const int64_t n = c->m->rows;
  const int64_t first = ranks_first(n, RANKS, exchange->rank, -1);
  const int64_t end = ranks_first(n, RANKS, exchange->rank + 1, -1);
  int right;
  for (right = 0; right < 2; right++) {
    ranks_part p = ranks_part_make(c->m, first, end, 0, 0, 0);
    merbit_exchange mine = *exchange;
    merbit_dist_desc desc;
    merbit_dist *dist = (merbit_dist *)&desc;
    merbit_status status;
    memset(&desc, 0, sizeof desc);
    if (!right && exchange->rank == AT_FAULT) {
      c->mistake->make(&p, &desc, &mine);
    }
    status = merbit_dist_create(context, &mine, &p.view, &desc, &dist);
    if (right) {
      RANKS_CHECK(status == MERBIT_OK);
    } else {
      (void)merbit_last_error(context, world->results + exchange->rank * MERBIT_MESSAGE_SIZE,
                              MERBIT_MESSAGE_SIZE);
      if (status != c->mistake->status) {
        (void)fprintf(stderr, "%s: status %d\n", c->mistake->says, (int)status);
      }
      RANKS_CHECK(status == c->mistake->status && dist == NULL);
    }
    merbit_dist_destroy(dist);
    ranks_part_free(&p);
  }
  RANKS_CHECK(!world->aborted);
  return MERBIT_OK;
}

static void a_mistake_of_one_rank_is_told_to_all(void **state) {
  const merbit_context_desc cpu = product_context(MERBIT_SIDE_CPU);
  test_matrix m;
  error_case c;
  int k, rank;
  (void)state;
  solve_matrix(15, 0, &m);
  c.m = &m;
  for (k = 0; k < MISTAKES; k++) {
    ranks_world *w = ranks_world_make(RANKS);
    c.mistake = &mistakes[k];
    assert_int_equal(ranks_run(w, &cpu, 0, mistake_body, &c), 0);
    for (rank = 0; rank < RANKS; rank++) {
      const char *sentence = w->results + rank * MERBIT_MESSAGE_SIZE;
      if (strstr(sentence, rank == AT_FAULT && strncmp(c.mistake->says, "rank 1: ", 8) == 0
                               ? c.mistake->says + 8
                               : c.mistake->says) == NULL) {
        fail_msg("rank %d says \"%s\", without \"%s\"", rank, sentence, c.mistake->says);
      }
    }
    ranks_world_free(w);
  }
  test_matrix_free(&m);
}

/* ---- Errors that no other rank notices --------------------------------------------------- */

static void mistakes_of_a_single_process(void **state) {
  const merbit_context_desc cpu = product_context(MERBIT_SIDE_CPU);
  ranks_world *w = ranks_world_make(1);
  ranks_user user = {w, 0, NULL, 0, NULL};
  merbit_exchange good, bad;
  merbit_context *context;
  merbit_dist *dist = NULL;
  merbit_dist_info info;
  test_matrix m;
  ranks_part p;
  double x[10] = {0}, y[9], dot;
  char sentence[MERBIT_MESSAGE_SIZE];
  merbit_dist_solver_desc solver;
  merbit_dist_result result;
  (void)state;
  memset(&good, 0, sizeof good);
  good.ranks = 1;
  good.counts = ranks_counts;
  good.start = ranks_start;
  good.finish = ranks_finish;
  good.user = &user;
  solve_matrix(3, 0, &m);
  p = ranks_part_make(&m, 0, 9, 0, 1, 0);
  assert_int_equal(merbit_context_create(&cpu, &context, NULL), MERBIT_OK);
  assert_int_equal(merbit_dist_create(NULL, &good, &p.view, NULL, &dist),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_create(context, NULL, &p.view, NULL, &dist),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_create(context, &good, &p.view, NULL, NULL),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_create(context, &good, NULL, NULL, &dist),
                   MERBIT_INVALID_ARGUMENT);
  bad = good;
  bad.finish = NULL;
  bad.abort = ranks_abort;
  assert_int_equal(merbit_dist_create(context, &bad, &p.view, NULL, &dist),
                   MERBIT_INVALID_ARGUMENT);
  assert_null(dist);
  assert_int_equal(w->aborted, 1); /* others need not wait */
  w->aborted = 0;
  bad = good;
  bad.rank = 1;
  assert_int_equal(merbit_dist_create(context, &bad, &p.view, NULL, &dist),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_forecast(NULL, &p.view, 0, &info), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_forecast(context, NULL, 0, &info), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_forecast(context, &p.view, 0, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_forecast(context, &p.view, 1, &info), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_renumber(NULL, 0, NULL, 1, NULL, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_spmv(NULL, NULL, x, NULL, y, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_get_info(NULL, &info), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_describe(NULL, sentence, sizeof sentence), 0);
  assert_string_equal(sentence, "");
  merbit_dist_destroy(NULL);
  assert_int_equal(merbit_dist_create(context, &good, &p.view, NULL, &dist), MERBIT_OK);
  assert_int_equal(merbit_dist_get_info(dist, NULL), MERBIT_INVALID_ARGUMENT);
  assert_true(merbit_dist_describe(dist, NULL, sizeof sentence) > 0);
  assert_int_equal(merbit_dist_update_values(dist, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_solve(dist, NULL, x, y, 0, NULL, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_spmv(dist, NULL, x, NULL, y, NULL), MERBIT_OK); /* still works */
  dist->mixed = 1; /* as after an update that failed on another rank */
  assert_int_equal(merbit_dist_spmv(dist, NULL, x, NULL, y, NULL), MERBIT_INVALID_ARGUMENT);
  (void)merbit_last_error(context, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, "merbit_dist_update_values failed; call it again"));
  assert_int_equal(merbit_dist_update_values(dist, p.view.values), MERBIT_OK);
  assert_int_equal(merbit_dist_spmv(dist, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_int_equal(merbit_dist_dot(dist, x, y, NULL, NULL), MERBIT_INVALID_ARGUMENT);
  /* The ranks may now be at different places. */
  assert_int_equal(merbit_dist_dot(dist, x, y, &dot, NULL), MERBIT_IO_ERROR);
  (void)merbit_last_error(context, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, "destroy the operator"));
  merbit_dist_destroy(dist);
  assert_int_equal(merbit_dist_create(context, &good, &p.view, NULL, &dist), MERBIT_OK);
  assert_int_equal(merbit_dist_spmv(dist, NULL, x, NULL, NULL, NULL), MERBIT_INVALID_ARGUMENT);
  merbit_dist_destroy(dist);
  assert_int_equal(merbit_dist_create(context, &good, &p.view, NULL, &dist), MERBIT_OK);
  memset(&solver, 0, sizeof solver);
  solver.method = MERBIT_SOLVER_CG;
  assert_int_equal(merbit_dist_solve(dist, &solver, x, y, 0, NULL, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED); /* b is 0 */
  x[4] = 1e-170;
  assert_int_equal(merbit_dist_solve(dist, &solver, x, y, 0, NULL, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_NOT_FINITE); /* ||b||^2 is 0 */
  assert_int_equal(merbit_dist_solve(dist, &solver, x, x, 0, NULL, &result),
                   MERBIT_INVALID_ARGUMENT);
  (void)merbit_last_error(context, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, "rank 0: b and x overlap"));
  assert_int_equal(merbit_dist_solve(dist, &solver, x, x + 1, 0, NULL, &result),
                   MERBIT_INVALID_ARGUMENT);
  assert_true(x[4] == 1e-170); /* b is unchanged, and the operator still works */
  assert_int_equal(merbit_dist_solve(dist, &solver, x, y, 0, NULL, &result), MERBIT_OK);
  assert_int_equal(merbit_dist_spmv(dist, NULL, x, NULL, x + 1, NULL), MERBIT_INVALID_ARGUMENT);
  (void)merbit_last_error(context, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, "x and y overlap"));
  merbit_dist_destroy(dist);
  p.view.values = NULL;
  assert_int_equal(merbit_dist_create(context, &good, &p.view, NULL, &dist), MERBIT_OK);
  assert_int_equal(merbit_dist_update_values(dist, x), MERBIT_INVALID_ARGUMENT);
  merbit_dist_destroy(dist);
  merbit_context_destroy(context);
  ranks_part_free(&p);
  test_matrix_free(&m);
  ranks_world_free(w);
}

/* One of many ranks, alone: all others pass the same numbers. */
static int alike_counts(void *user, const int64_t *to, int64_t *from) {
  ++*(int *)user;
  memcpy(from, to, 65 * sizeof *from);
  return 0;
}

static void many_ranks_are_told_of_a_mistake(void **state) {
  const merbit_context_desc cpu = product_context(MERBIT_SIDE_CPU);
  const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  const double values[] = {1};
  merbit_view view = merbit_csr(1, 65, 1, row_ptr, col_ind, values);
  char sentence[MERBIT_MESSAGE_SIZE];
  merbit_exchange exchange;
  merbit_context *context;
  merbit_dist *dist;
  int calls = 0;
  (void)state;
  memset(&exchange, 0, sizeof exchange);
  exchange.ranks = 65;
  exchange.counts = alike_counts;
  exchange.start = ranks_start;
  exchange.finish = ranks_finish;
  exchange.user = &calls;
  view.format = MERBIT_COO;
  assert_int_equal(merbit_context_create(&cpu, &context, NULL), MERBIT_OK);
  assert_int_equal(merbit_dist_create(context, &exchange, &view, NULL, &dist),
                   MERBIT_NOT_SUPPORTED);
  (void)merbit_last_error(context, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, "rank 0: rows are given as CSR"));
  assert_true(calls > 0);
  merbit_context_destroy(context);
}

/* New values that one rank cannot take change those of no rank. */
static merbit_status update_body(merbit_context *context, const merbit_exchange *exchange,
                                 ranks_world *world, void *argument) {
  const test_matrix *m = (const test_matrix *)argument;
  const int64_t first = ranks_first(m->rows, RANKS, exchange->rank, -1);
  const int64_t end = ranks_first(m->rows, RANKS, exchange->rank + 1, -1);
  ranks_part p = ranks_part_make(m, first, end, 0, 0, 0);
  double *x = (double *)test_allocate(end - first, sizeof *x);
  double *y = (double *)test_allocate(2 * (end - first), sizeof *y);
  double *values = (double *)test_allocate(p.view.nnz, sizeof *values);
  merbit_dist *dist;
  int64_t i;
  (void)world;
  for (i = 0; i < end - first; i++) {
    x[i] = (double)(i % 5) + 1;
  }
  for (i = 0; i < p.view.nnz; i++) {
    values[i] = 10;
  }
  RANKS_CHECK(merbit_dist_create(context, exchange, &p.view, NULL, &dist) == MERBIT_OK);
  RANKS_CHECK(merbit_dist_spmv(dist, NULL, x, NULL, y, NULL) == MERBIT_OK);
  RANKS_CHECK(merbit_dist_update_values(dist, exchange->rank == AT_FAULT ? NULL : values) ==
              MERBIT_INVALID_ARGUMENT);
  RANKS_CHECK(merbit_dist_spmv(dist, NULL, x, NULL, y + (end - first), NULL) == MERBIT_OK);
  RANKS_CHECK(memcmp(y, y + (end - first), (size_t)(end - first) * sizeof *y) == 0);
  merbit_dist_destroy(dist);
  ranks_part_free(&p);
  free(x);
  free(y);
  free(values);
  return MERBIT_OK;
}

static void a_failed_update_changes_nothing(void **state) {
  const merbit_context_desc cpu = product_context(MERBIT_SIDE_CPU);
  ranks_world *w = ranks_world_make(RANKS);
  test_matrix m;
  (void)state;
  solve_matrix(15, 0, &m);
  assert_int_equal(ranks_run(w, &cpu, 0, update_body, &m), 0);
  ranks_world_free(w);
  test_matrix_free(&m);
}

/* Options that one rank has otherwise would let it iterate while the others have returned. */
static merbit_status options_body(merbit_context *context, const merbit_exchange *exchange,
                                  ranks_world *world, void *argument) {
  const test_matrix *m = (const test_matrix *)argument;
  const int64_t first = ranks_first(m->rows, RANKS, exchange->rank, -1);
  const int64_t end = ranks_first(m->rows, RANKS, exchange->rank + 1, -1);
  const int other = exchange->rank == AT_FAULT;
  ranks_part p = ranks_part_make(m, first, end, 0, 0, 0);
  double *b = (double *)test_allocate(end - first, sizeof *b);
  double *x = (double *)test_allocate(end - first, sizeof *x), history[1];
  char sentence[MERBIT_MESSAGE_SIZE];
  merbit_dist_pagerank_desc page;
  merbit_dist *dist;
  int k;
  (void)world;
  b[0] = 1;
  RANKS_CHECK(merbit_dist_create(context, exchange, &p.view, NULL, &dist) == MERBIT_OK);
  for (k = 0; k < 6; k++) { /* the last differs in the history alone, which it may */
    merbit_dist_solver_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.method = other && k == 0 ? MERBIT_SOLVER_BICGSTAB : MERBIT_SOLVER_CG;
    desc.max_iterations = other && k == 1 ? 1 : 5;
    desc.tolerance = other && k == 2 ? 0.5 : 0;
    desc.preconditioner =
        other && k == 3 ? MERBIT_PRECONDITIONER_JACOBI : MERBIT_PRECONDITIONER_NONE;
    desc.check_every = other && k == 4 ? 2 : 0;
    desc.history = other && k == 5 ? history : NULL;
    desc.history_size = other && k == 5;
    RANKS_CHECK(merbit_dist_solve(dist, &desc, b, x, 0, NULL, NULL) ==
                (k == 5 ? MERBIT_OK : MERBIT_INVALID_ARGUMENT));
    (void)merbit_last_error(context, sentence, sizeof sentence);
    RANKS_CHECK(k == 5 ||
                strstr(sentence, "rank 1: method, tolerance, max_iterations") != NULL);
  }
  memset(&page, 0, sizeof page);
  page.max_iterations = other ? 1 : 3;
  RANKS_CHECK(merbit_dist_pagerank(dist, &page, x, NULL, NULL) == MERBIT_INVALID_ARGUMENT);
  (void)merbit_last_error(context, sentence, sizeof sentence);
  RANKS_CHECK(strstr(sentence, "rank 1: damping, tolerance, max_iterations") != NULL);
  merbit_dist_destroy(dist);
  ranks_part_free(&p);
  free(b);
  free(x);
  return MERBIT_OK;
}

static void options_that_differ_are_refused(void **state) {
  const merbit_context_desc cpu = product_context(MERBIT_SIDE_CPU);
  ranks_world *w = ranks_world_make(RANKS);
  test_matrix m;
  (void)state;
  solve_matrix(15, 0, &m);
  assert_int_equal(ranks_run(w, &cpu, 0, options_body, &m), 0);
  ranks_world_free(w);
  test_matrix_free(&m);
}

/* ---- An exchange that mixes up ranks ----------------------------------------------------- */

/* The other of two ranks, simulated: it has as many rows and requests element `wish`. */
typedef struct stranger {
  int calls;
  int64_t wish;
  const merbit_message *receives;
} stranger;

static int stranger_counts(void *user, const int64_t *to, int64_t *from) {
  stranger *s = (stranger *)user;
  s->calls++;
  from[0] = to[0];
  from[1] = s->calls == 6 ? 1 : to[1];
  return 0;
}

static int stranger_start(void *user, const merbit_message *sends, int send_count,
                          const merbit_message *receives, int receive_count, void *stream) {
  (void)sends;
  (void)stream;
  assert_int_equal(send_count, 0);
  assert_int_equal(receive_count, 1);
  ((stranger *)user)->receives = receives;
  return 0;
}

static int stranger_finish(void *user, void *stream) {
  const stranger *s = (const stranger *)user;
  (void)stream;
  *(int64_t *)s->receives[0].data = s->wish;
  return 0;
}

/* A rank that is asked for another one's row reports it; it sends its own. */
static void rows_of_another_rank_are_not_sent(void **state) {
  const merbit_context_desc cpu = product_context(MERBIT_SIDE_CPU);
  const int64_t wishes[] = {0, 2, 3, -1};
  const int32_t row_ptr[] = {0, 1, 2, 3}, col_ind[] = {0, 1, 2};
  const double values[] = {1, 2, 3};
  char sentence[MERBIT_MESSAGE_SIZE], expected[64];
  size_t k;
  (void)state;
  for (k = 0; k < sizeof wishes / sizeof wishes[0]; k++) {
    const int own = wishes[k] >= 0 && wishes[k] < 3;
    merbit_view view = merbit_csr(3, 6, 3, row_ptr, col_ind, values);
    merbit_exchange exchange;
    merbit_context *context;
    merbit_dist *dist;
    stranger s;
    memset(&s, 0, sizeof s);
    memset(&exchange, 0, sizeof exchange);
    s.wish = wishes[k];
    exchange.ranks = 2;
    exchange.counts = stranger_counts;
    exchange.start = stranger_start;
    exchange.finish = stranger_finish;
    exchange.user = &s;
    assert_int_equal(merbit_context_create(&cpu, &context, NULL), MERBIT_OK);
    assert_int_equal(merbit_dist_create(context, &exchange, &view, NULL, &dist),
                     own ? MERBIT_OK : MERBIT_IO_ERROR);
    (void)merbit_last_error(context, sentence, sizeof sentence);
    (void)snprintf(expected, sizeof expected, "row %d is asked for", (int)wishes[k]);
    assert_int_equal(own, strstr(sentence, expected) == NULL);
    merbit_dist_destroy(dist);
    merbit_context_destroy(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_mistake_of_one_rank_is_told_to_all),
      cmocka_unit_test(mistakes_of_a_single_process),
      cmocka_unit_test(many_ranks_are_told_of_a_mistake),
      cmocka_unit_test(a_failed_update_changes_nothing),
      cmocka_unit_test(options_that_differ_are_refused),
      cmocka_unit_test(rows_of_another_rank_are_not_sent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
