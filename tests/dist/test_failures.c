/* Failures in distributed calls: each function of the exchange fails in turn, or its rank dies
 * in it, and the other ranks return; each allocation of a rank fails once. Nothing hangs and
 * nothing leaks. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "dist/solves.h"

enum { AT_FAULT = 1, RANKS = 3 };

static int allocations_left; /* of this process, until one fails; 0: none fails */
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
  int fail_allocation; /* of rank AT_FAULT, from 1; 0: none */
  int gives_up;        /* whether ranks call abort */
  int jacobi;
} work_case;

/* Does everything that an operator can. Returns the first failure. */
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

/* Runs with each call of each function failing on one rank, until there are no more. */
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

/* One rank's product fails before it sends: the others wait for it, and get the error. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_allocation_fails_once),
      cmocka_unit_test(each_function_of_the_exchange_fails),
      cmocka_unit_test(a_rank_that_dies_is_not_waited_for),
      cmocka_unit_test(a_rank_that_fails_alone_tells_the_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
