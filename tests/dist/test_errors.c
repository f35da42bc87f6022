/* Failures of distributed calls: each mistake on one rank is told to all with that
 * rank's sentence; each function of the exchange fails in turn, or its rank dies in it, and the
 * others come back; each allocation of a rank fails once. Nothing hangs and nothing leaks. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "dist/solves.h"

enum { AT_FAULT = 1, RANKS = 3 };

/* ---- Mistakes ---------------------------------------------------------------------------- */

typedef struct mistake {
  const char *says; /* part of the sentence that every rank gives */
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
    {"rank 1: row_ptr[2] is", MERBIT_INVALID_MATRIX, falling_offsets},
    {"rank 1: row_ptr[0] is 1", MERBIT_INVALID_MATRIX, offsets_that_begin_late},
    {"rank 1: row_ptr ends at", MERBIT_INVALID_MATRIX, offsets_that_end_early},
    {"rank 1: cols is 226, but 225 on rank 0", MERBIT_INVALID_ARGUMENT, other_columns},
    {"the ranks have 224 rows together, but cols is 225", MERBIT_INVALID_ARGUMENT,
     a_row_too_few},
    {"rank 1: value type, side, whole_rows", MERBIT_INVALID_ARGUMENT, another_type},
    {"rank 1: value type, side, whole_rows", MERBIT_INVALID_ARGUMENT, whole_rows_here},
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

/* A rank that makes its mistake, then does it right with the same exchange. */
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

/* ---- Mistakes that no other rank hears of ------------------------------------------------ */

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
  double x[9] = {0}, y[9], dot;
  char sentence[MERBIT_MESSAGE_SIZE];
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
  merbit_dist_destroy(NULL);
  assert_int_equal(merbit_dist_create(context, &good, &p.view, NULL, &dist), MERBIT_OK);
  assert_int_equal(merbit_dist_get_info(dist, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_update_values(dist, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_solve(dist, NULL, x, y, 0, NULL, NULL), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_dist_spmv(dist, NULL, x, NULL, y, NULL), MERBIT_OK); /* still works */
  assert_int_equal(merbit_dist_dot(dist, x, y, NULL, NULL), MERBIT_INVALID_ARGUMENT);
  /* The ranks may now be at different places. */
  assert_int_equal(merbit_dist_dot(dist, x, y, &dot, NULL), MERBIT_IO_ERROR);
  (void)merbit_last_error(context, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, "destroy the operator"));
  merbit_dist_destroy(dist);
  assert_int_equal(merbit_dist_create(context, &good, &p.view, NULL, &dist), MERBIT_OK);
  assert_int_equal(merbit_dist_spmv(dist, NULL, x, NULL, NULL, NULL), MERBIT_INVALID_ARGUMENT);
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

/* ---- Failing exchanges and allocations --------------------------------------------------- */

static int allocations_left; /* of this process, until one fails; 0: none does */
static long allocations_alive;

static void *allocate_or_fail(void *user, size_t bytes) {
  void *memory;
  (void)user;
  if (allocations_left > 0 && --allocations_left == 0) {
    return NULL;
  }
  memory = malloc(bytes);
  allocations_alive += memory != NULL;
  return memory;
}

static void release_counted(void *user, void *memory) {
  (void)user;
  allocations_alive--;
  free(memory);
}

typedef struct work_case {
  const test_matrix *m;
  int fail_allocation; /* of rank AT_FAULT, counted from 1; 0: none */
  int gives_up;        /* whether ranks call abort */
  int jacobi;
} work_case;

/* All that an operator can do. Returns the first failure. */
static merbit_status work(merbit_context *context, const merbit_exchange *exchange,
                          const ranks_part *p, const work_case *c, double *x, double *y) {
  merbit_dist_solver_desc solver;
  merbit_dist *dist;
  merbit_status status = merbit_dist_create(context, exchange, &p->view, NULL, &dist);
  double dot;
  memset(&solver, 0, sizeof solver);
  solver.method = MERBIT_SOLVER_CG;
  solver.max_iterations = 2;
  solver.preconditioner = c->jacobi ? MERBIT_PRECONDITIONER_JACOBI : MERBIT_PRECONDITIONER_NONE;
  if (status == MERBIT_OK) {
    status = merbit_dist_spmv(dist, NULL, x, NULL, y, NULL);
  }
  if (status == MERBIT_OK) {
    status = merbit_dist_dot(dist, x, y, &dot, NULL);
  }
  if (status == MERBIT_OK) {
    status = merbit_dist_update_values(dist, p->values);
  }
  if (status == MERBIT_OK) {
    status = merbit_dist_solve(dist, &solver, x, y, 0, NULL, NULL);
  }
  merbit_dist_destroy(dist);
  return status;
}

static merbit_status work_body(merbit_context *context, const merbit_exchange *exchange,
                               ranks_world *world, void *argument) {
  const work_case *c = (const work_case *)argument;
  const int64_t n = c->m->rows;
  const int64_t first = ranks_first(n, RANKS, exchange->rank, -1);
  const int64_t end = ranks_first(n, RANKS, exchange->rank + 1, -1);
  ranks_part p = ranks_part_make(c->m, first, end, 0, 0, 0);
  double *x = (double *)test_allocate(n, sizeof *x), *y = (double *)test_allocate(n, sizeof *y);
  const long alive = allocations_alive;
  merbit_exchange mine = *exchange;
  merbit_status status;
  int64_t i;
  (void)world;
  mine.abort = c->gives_up ? exchange->abort : NULL;
  for (i = 0; i < n; i++) {
    x[i] = 1;
  }
  allocations_left = exchange->rank == AT_FAULT ? c->fail_allocation : 0;
  status = work(context, &mine, &p, c, x, y);
  ((int *)world->results)[exchange->rank] = allocations_left;
  allocations_left = 0;
  RANKS_CHECK(allocations_alive == alive);
  ranks_part_free(&p);
  free(x);
  free(y);
  return status;
}

static void each_allocation_fails_once(void **state) {
  merbit_context_desc cpu = product_context(MERBIT_SIDE_CPU);
  test_matrix m;
  work_case c;
  int rank, reached = 1;
  (void)state;
  cpu.allocator.allocate = allocate_or_fail;
  cpu.allocator.release = release_counted;
  solve_matrix(9, 0, &m);
  memset(&c, 0, sizeof c);
  c.m = &m;
  c.jacobi = 1;
  c.gives_up = 1;
  for (c.fail_allocation = 1; reached; c.fail_allocation++) {
    ranks_world *w = ranks_world_make(RANKS);
    assert_int_equal(ranks_run(w, &cpu, 0, work_body, &c), 0);
    reached = ((const int *)w->results)[AT_FAULT] == 0;
    for (rank = 0; rank < RANKS; rank++) {
      assert_int_equal(w->status[rank], reached ? MERBIT_OUT_OF_MEMORY : MERBIT_OK);
      if (reached && rank != AT_FAULT) {
        assert_true(strncmp(w->sentence[rank], "rank 1: no memory for ", 22) == 0);
      }
    }
    ranks_world_free(w);
  }
  assert_true(c.fail_allocation > 30);
  test_matrix_free(&m);
}

/* Runs with each call of each function going wrong on one rank, until there are no more. */
static void faults(int dies, int gives_up, int with_sum, int step) {
  const merbit_context_desc cpu = product_context(MERBIT_SIDE_CPU);
  const ranks_function functions[] = {RANKS_COUNTS, RANKS_START, RANKS_FINISH, RANKS_SUM};
  test_matrix m;
  work_case c;
  int f, rank, dead;
  solve_matrix(9, 0, &m);
  memset(&c, 0, sizeof c);
  c.m = &m;
  c.gives_up = gives_up;
  for (f = 0; f < (with_sum ? 4 : 3); f++) {
    long call;
    int reached = 1;
    for (call = 1; reached; call += call < 16 ? step : 8 * step) {
      ranks_world *w = ranks_world_make(RANKS);
      w->fault.rank = AT_FAULT;
      w->fault.function = functions[f];
      w->fault.call = call;
      w->fault.dies = dies;
      w->patience = gives_up ? 60 : 1;
      dead = ranks_run(w, &cpu, with_sum, work_body, &c);
      reached = w->calls[AT_FAULT][functions[f]] >= call;
      assert_int_equal(dead, dies && reached);
      for (rank = 0; rank < RANKS; rank++) {
        if (!(dies && reached && rank == AT_FAULT)) {
          assert_int_equal(w->status[rank], reached ? MERBIT_IO_ERROR : MERBIT_OK);
        }
      }
      if (reached && !dies) {
        assert_non_null(strstr(w->sentence[AT_FAULT], "rank 1: merbit_exchange."));
        assert_non_null(strstr(w->sentence[AT_FAULT], "failed: planned"));
      }
      if (reached && !gives_up) {
        assert_non_null(strstr(w->sentence[0], "rank 0: merbit_exchange."));
      }
      ranks_world_free(w);
    }
    assert_true(call > 2);
  }
  test_matrix_free(&m);
}

static void each_function_of_the_exchange_fails(void **state) {
  (void)state;
  faults(0, 1, 0, 1);
  faults(0, 1, 1, 5);
}

static void a_rank_that_dies_is_not_waited_for(void **state) {
  (void)state;
  faults(1, 0, 0, 5);
}

/* One rank's product fails before it sends: the others wait for it, and are told. */
static merbit_status left_alone_body(merbit_context *context, const merbit_exchange *exchange,
                                     ranks_world *world, void *argument) {
  const test_matrix *m = (const test_matrix *)argument;
  const int64_t first = ranks_first(m->rows, RANKS, exchange->rank, -1);
  const int64_t end = ranks_first(m->rows, RANKS, exchange->rank + 1, -1);
  ranks_part p = ranks_part_make(m, first, end, 0, 0, 0);
  double *x = (double *)test_allocate(m->rows, sizeof *x);
  double *y = (double *)test_allocate(m->rows, sizeof *y);
  merbit_dist *dist;
  merbit_status status;
  (void)world;
  RANKS_CHECK(merbit_dist_create(context, exchange, &p.view, NULL, &dist) == MERBIT_OK);
  status = merbit_dist_spmv(dist, NULL, x, NULL, exchange->rank == AT_FAULT ? NULL : y, NULL);
  merbit_dist_destroy(dist);
  ranks_part_free(&p);
  free(x);
  free(y);
  return status;
}

static void a_rank_that_fails_alone_tells_the_others(void **state) {
  const merbit_context_desc cpu = product_context(MERBIT_SIDE_CPU);
  ranks_world *w = ranks_world_make(RANKS);
  test_matrix m;
  int rank;
  (void)state;
  solve_matrix(9, 0, &m);
  assert_int_equal(ranks_run(w, &cpu, 0, left_alone_body, &m), 0);
  for (rank = 0; rank < RANKS; rank++) {
    assert_int_equal(w->status[rank],
                     rank == AT_FAULT ? MERBIT_INVALID_ARGUMENT : MERBIT_IO_ERROR);
    assert_true(rank == AT_FAULT || strstr(w->sentence[rank], "another rank has given up"));
  }
  ranks_world_free(w);
  test_matrix_free(&m);
}

/* ---- More columns than an int has -------------------------------------------------------- */

/* The other rank of two, played: it has 2^40 rows and needs nothing; x there is the number of
 * the row modulo 1000. */
typedef struct giant {
  int calls;
  int64_t wanted[8];
  int count; /* of those */
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
  /* Far apart: a sorted list. Close together, beyond 2^31: a bitmap. */
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

/* ---- An exchange that confuses ranks ----------------------------------------------------- */

/* The other rank of two, played: it has as many rows and asks for the one element `wish`. */
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

/* A rank that is asked for another one's row says so; one of its own it will send. */
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
      cmocka_unit_test(each_allocation_fails_once),
      cmocka_unit_test(each_function_of_the_exchange_fails),
      cmocka_unit_test(a_rank_that_dies_is_not_waited_for),
      cmocka_unit_test(a_rank_that_fails_alone_tells_the_others),
      cmocka_unit_test(columns_exceed_an_int),
      cmocka_unit_test(rows_of_another_rank_are_not_sent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
