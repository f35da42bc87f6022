/* The life of a distributed operator on the fake driver while each driver call, and each
 * allocation of host memory, fails once and for good: a clean error, no leak, no fault. Vectors
 * that no kernel could read are refused. One process is the first of two ranks; the other rank
 * is simulated. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <cmocka.h>
#include "fake/support.h"
#include "support/effort.h"

enum { ROWS = 40, WANTED = 2 };

/* The simulated second rank: it has as many rows, and needs the first two elements of x. */
typedef struct played {
  int calls, setup;
  const merbit_message *sends, *receives;
} played;

static int played_counts(void *user, const int64_t *to, int64_t *from) {
  played *p = (played *)user;
  p->calls++;
  from[0] = to[0];
  from[1] = p->calls == 6 ? WANTED : to[1];
  return 0;
}

static int played_start(void *user, const merbit_message *sends, int send_count,
                        const merbit_message *receives, int receive_count, void *stream) {
  played *p = (played *)user;
  assert_int_equal(send_count, 1);
  assert_int_equal(receive_count, 1);
  assert_null(stream);
  p->setup = p->sends == NULL;
  p->sends = sends;
  p->receives = receives;
  return 0;
}

/* In set-up sends the list of elements that it needs; later sends its x, which is all
 * threes. */
static int played_finish(void *user, void *stream) {
  const played *p = (const played *)user;
  const size_t count = p->receives->bytes / sizeof(double);
  size_t i;
  assert_null(stream);
  for (i = 0; i < count; i++) {
    if (p->setup) {
      ((int64_t *)p->receives->data)[i] = (int64_t)i;
    } else {
      ((double *)p->receives->data)[i] = 3;
    }
  }
  return 0;
}

/* Returns the rows: 4 on the diagonal, -1 for its neighbours and for the same row of the other
 * rank. */
static merbit_view first_rows(void) {
  static int64_t row_ptr[ROWS + 1], col_ind[4 * ROWS];
  static double values[4 * ROWS];
  merbit_view view;
  int64_t i, at = 0;
  for (i = 0; i < ROWS; i++) {
    const int64_t columns[] = {i, i - 1, i + 1, i + ROWS};
    int k;
    for (k = 0; k < 4; k++) {
      if (columns[k] >= 0) {
        col_ind[at] = columns[k];
        values[at++] = k == 0 ? 4 : -1;
      }
    }
    row_ptr[i + 1] = at;
  }
  memset(&view, 0, sizeof view);
  view.rows = ROWS;
  view.cols = 2 * ROWS;
  view.nnz = at;
  view.offset_type = view.index_type = MERBIT_INDEX_64;
  view.row_ptr = row_ptr;
  view.col_ind = col_ind;
  view.values = values;
  return view;
}

static merbit_status operator_make(merbit_context *context, played *other, merbit_dist **dist) {
  const merbit_view view = first_rows();
  merbit_dist_desc desc;
  merbit_exchange exchange;
  memset(&desc, 0, sizeof desc);
  memset(&exchange, 0, sizeof exchange);
  memset(other, 0, sizeof *other);
  exchange.ranks = 2;
  exchange.counts = played_counts;
  exchange.start = played_start;
  exchange.finish = played_finish;
  exchange.user = other;
  desc.plan.method = MERBIT_METHOD_ROWS;
  return merbit_dist_create(context, &exchange, &view, &desc, dist);
}

/* Does everything that an operator can. Returns the first failure. */
static merbit_status live(void) {
  merbit_context_desc context_desc = fake_desc(MERBIT_SIDE_CUDA);
  const merbit_view view = first_rows();
  merbit_dist_solver_desc solver;
  merbit_context *context = NULL;
  merbit_buffer *x = NULL, *y = NULL;
  merbit_dist *dist = NULL;
  merbit_status status;
  merbit_error error;
  played other;
  double ones[ROWS], result[ROWS], dot = 0;
  int i;
  memset(&solver, 0, sizeof solver);
  for (i = 0; i < ROWS; i++) {
    ones[i] = 1;
  }
  solver.method = MERBIT_SOLVER_CG;
  solver.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  solver.max_iterations = 1;
  status = merbit_context_create(&context_desc, &context, &error);
  if (status != MERBIT_OK) {
    return status;
  }
  status = merbit_buffer_create(context, sizeof ones, &x);
  if (status == MERBIT_OK) {
    status = merbit_buffer_create(context, sizeof ones, &y);
  }
  if (status == MERBIT_OK) {
    status = merbit_buffer_upload(x, 0, ones, sizeof ones);
  }
  if (status == MERBIT_OK) {
    status = operator_make(context, &other, &dist);
    assert_true((status == MERBIT_OK) == (dist != NULL));
  }
  if (status == MERBIT_OK) {
    status = merbit_dist_spmv(dist, NULL, merbit_buffer_pointer(x), NULL,
                              merbit_buffer_pointer(y), NULL);
  }
  if (status == MERBIT_OK) {
    status = merbit_buffer_download(y, 0, result, sizeof result);
  }
  for (i = 0; i < ROWS && status == MERBIT_OK; i++) { /* 4 - 1 - 1 - 3; others at the ends */
    assert_true(result[i] == (i == 0 ? 0 : i == ROWS - 1 ? -3 : -1));
  }
  if (status == MERBIT_OK) {
    status =
        merbit_dist_dot(dist, merbit_buffer_pointer(x), merbit_buffer_pointer(x), &dot, NULL);
    assert_true(status != MERBIT_OK || dot == 2 * ROWS); /* both ranks contribute the same */
  }
  if (status == MERBIT_OK) {
    status = merbit_dist_update_values(dist, view.values);
  }
  if (status == MERBIT_OK) {
    status = merbit_dist_solve(dist, &solver, merbit_buffer_pointer(x),
                               merbit_buffer_pointer(y), 0, NULL, NULL);
  }
  if (status != MERBIT_OK) {
    char sentence[MERBIT_MESSAGE_SIZE];
    assert_int_equal(merbit_last_error(context, sentence, sizeof sentence), status);
    assert_true(sentence[0] != '\0');
  }
  merbit_dist_destroy(dist);
  merbit_buffer_destroy(x);
  merbit_buffer_destroy(y);
  merbit_context_destroy(context);
  return status;
}

/* Calls a function of an operator of its own: with vectors in GPU memory, then with the first,
 * and with the second, in the middle of an element, and in host memory. */
static void refuse_vectors(merbit_status (*call)(merbit_dist *dist, double *first,
                                                 double *second)) {
  int wrong;
  for (wrong = 0; wrong < 5; wrong++) {
    static double elsewhere[ROWS], ones[2 * ROWS + 2];
    const char *const why = wrong < 3 ? "does not begin at a multiple" : "is host memory";
    merbit_context *context = fake_context(NULL);
    merbit_buffer *there;
    merbit_dist *dist;
    played other;
    char sentence[MERBIT_MESSAGE_SIZE];
    double *vectors[2];
    int i;
    for (i = 0; i < 2 * ROWS + 2; i++) {
      ones[i] = 1;
    }
    assert_int_equal(merbit_buffer_create(context, sizeof ones, &there), MERBIT_OK);
    assert_int_equal(merbit_buffer_upload(there, 0, ones, sizeof ones), MERBIT_OK);
    for (i = 0; i < 2; i++) {
      char *const at = (char *)merbit_buffer_pointer(there) + i * (ROWS + 1) * sizeof *ones;
      vectors[i] = (double *)(void *)(at + (wrong == 1 + i ? 4 : 0));
      vectors[i] = wrong == 3 + i ? elsewhere : vectors[i];
    }
    assert_int_equal(operator_make(context, &other, &dist), MERBIT_OK);
    if (wrong == 0) {
      assert_int_equal(call(dist, vectors[0], vectors[1]), MERBIT_OK);
    } else {
      assert_int_equal(call(dist, vectors[0], vectors[1]), MERBIT_INVALID_ARGUMENT);
      (void)merbit_last_error(context, sentence, sizeof sentence);
      assert_non_null(strstr(sentence, why));
    }
    merbit_dist_destroy(dist);
    merbit_buffer_destroy(there);
    merbit_context_destroy(context);
  }
}

static merbit_status call_spmv(merbit_dist *dist, double *x, double *y) {
  return merbit_dist_spmv(dist, NULL, x, NULL, y, NULL);
}

static merbit_status call_dot(merbit_dist *dist, double *x, double *y) {
  double dot;
  return merbit_dist_dot(dist, x, y, &dot, NULL);
}

static merbit_status call_solve(merbit_dist *dist, double *b, double *x) {
  merbit_dist_solver_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_SOLVER_CG;
  desc.max_iterations = 1;
  return merbit_dist_solve(dist, &desc, b, x, 0, NULL, NULL);
}

static merbit_status call_pagerank(merbit_dist *dist, double *ranks, double *weights) {
  merbit_dist_pagerank_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.max_iterations = 1;
  desc.out_weights = weights;
  return merbit_dist_pagerank(dist, &desc, ranks, NULL, NULL);
}

static void wrong_vectors_are_refused(void **state) {
  (void)state;
  fake_reset();
  refuse_vectors(call_spmv);
  refuse_vectors(call_dot);
  refuse_vectors(call_solve);
  refuse_vectors(call_pagerank);
}

static void expect_clean(void) {
  fake_expect_clean();
  if (cuda->dead == 0 && cuda->refused_pushes == 0) {
    assert_int_equal(cuda->events, 0);
    assert_int_equal(cuda->pinned, 0);
  }
}

static void a_life_is_clean(void **state) {
  (void)state;
  fake_reset();
  assert_int_equal(live(), MERBIT_OK);
  assert_true(cuda->calls.made > 100);
  expect_clean();
}

static void each_driver_call_fails(void **state) {
  static const int codes[] = {2, 1, 719}; /* no memory; an error; the device is lost */
  const int apart = test_effort(5, 1);
  const long first = 1 + (long)(test_rotating_seed() % (uint64_t)apart);
  long calls, at, tried = 0, told = 0;
  int code, good;
  (void)state;
  fake_reset();
  assert_int_equal(live(), MERBIT_OK);
  calls = cuda->calls.made;
  for (code = 0; code < 3; code++) {
    for (good = 0; good < 2; good++) {
      for (at = first; at <= calls; at += apart) {
        merbit_status status;
        fake_reset();
        cuda->calls.fail_at = at;
        cuda->calls.code = codes[code];
        cuda->calls.for_good = good;
        status = live();
        told += status != MERBIT_OK;
        tried++;
        expect_clean();
      }
    }
  }
  assert_true(2 * told > tried); /* the other calls release something or have a fallback */
}

static void each_allocation_fails(void **state) {
  long at;
  int reached = 1;
  (void)state;
  for (at = 1; reached; at++) {
    merbit_status status;
    fake_reset();
    host.fail_at = at;
    status = live();
    reached = host.made >= at;
    assert_true(reached ? status == MERBIT_OUT_OF_MEMORY || status == MERBIT_OK
                        : status == MERBIT_OK);
    expect_clean();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_life_is_clean),
      cmocka_unit_test(wrong_vectors_are_refused),
      cmocka_unit_test(each_driver_call_fails),
      cmocka_unit_test(each_allocation_fails),
  };
  fake_open("new");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
