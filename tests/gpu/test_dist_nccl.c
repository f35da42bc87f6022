/* Distributed products and solves over NCCL: one GPU per rank or, if NCCL allows it
 * (NCCL_MULTI_RANK_GPU_ENABLE=1), several ranks on one. Products meet the bound of one process
 * and are the same in a graph; solves check convergence once in several iterations; if a rank
 * dies, the others' calls end. */
#include "dist/separate.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "dist/solves.h"

static int devices, most; /* number of GPUs; most ranks */

static void products_meet_the_bound(void **state) {
  static const merbit_method methods[] = {MERBIT_METHOD_ROWS, MERBIT_METHOD_SCAN,
                                          MERBIT_METHOD_MERGE};
  int index, turn = gpu_first_of(8);
  (void)state;
  for (index = gpu_first(); index < test_matrix_count(); index += 4 * gpu_stride(), turn++) {
    test_matrix m;
    product_case c;
    ranks_world *w;
    square_make(index, 1, &m);
    w = ranks_world_make(1 + turn % most);
    w->devices = devices;
    memset(&c, 0, sizeof c);
    c.m = &m;
    c.side = MERBIT_SIDE_CUDA;
    c.single = turn / 2 % 2;
    c.without = turn % 3 == 0 ? turn % w->ranks : -1;
    c.whole = turn / 4 % 2;
    c.own_stream = turn % 2;
    c.method = methods[turn % 3];
    c.alpha = turn % 2 == 0 ? 1 : -1.5;
    c.beta = turn % 3 == 0 ? 0 : 0.75;
    product_fill(&c, (uint64_t)index);
    product_run(w, &c);
    product_release(&c);
    ranks_world_free(w);
    test_matrix_free(&m);
  }
}

/* Runs a rank's product in a graph, each time with another x, and compares it with a direct
 * call. */
static merbit_status graph_body(merbit_context *context, const merbit_exchange *exchange,
                                ranks_world *world, void *argument) {
  const test_matrix *m = (const test_matrix *)argument;
  const mbi_driver *driver = &context->device.driver;
  const int64_t first = ranks_first(m->rows, exchange->ranks, exchange->rank, -1);
  const int64_t end = ranks_first(m->rows, exchange->ranks, exchange->rank + 1, -1);
  const size_t bytes = (size_t)(end - first) * sizeof(double);
  ranks_part p = ranks_part_make(m, first, end, 0, 1, 0);
  double *x = (double *)test_allocate(end - first, sizeof *x);
  double *called = (double *)test_allocate(end - first, sizeof *x);
  double *replayed = (double *)test_allocate(end - first, sizeof *x);
  void *const stream = product_stream(context, 1);
  void *graph = NULL, *executable = NULL;
  merbit_buffer *vx = product_vector(context, x, bytes),
                *vy = product_vector(context, x, bytes);
  merbit_dist_desc desc;
  merbit_dist *dist;
  int turn;
  int64_t i;
  (void)world;
  memset(&desc, 0, sizeof desc);
  desc.plan.method = MERBIT_METHOD_ROWS;
  RANKS_CHECK(merbit_dist_create(context, exchange, &p.view, &desc, &dist) == MERBIT_OK);
  for (turn = 0; turn < 3; turn++) {
    for (i = first; i < end; i++) {
      x[i - first] = (double)((i * (turn + 3)) % 17) - 8;
    }
    RANKS_CHECK(merbit_buffer_upload(vx, 0, x, bytes) == MERBIT_OK);
    RANKS_CHECK(merbit_dist_spmv(dist, NULL, merbit_buffer_pointer(vx), NULL,
                                 merbit_buffer_pointer(vy), stream) == MERBIT_OK);
    product_wait(context, stream);
    RANKS_CHECK(merbit_buffer_download(vy, 0, called, bytes) == MERBIT_OK);
    RANKS_CHECK(mbi_device_enter(context) == MERBIT_OK);
    if (turn == 0) {
      RANKS_CHECK(driver->stream_begin_capture(stream, 2) == 0);
      RANKS_CHECK(merbit_dist_spmv(dist, NULL, merbit_buffer_pointer(vx), NULL,
                                   merbit_buffer_pointer(vy), stream) == MERBIT_OK);
      RANKS_CHECK(driver->stream_end_capture(stream, &graph) == 0);
      RANKS_CHECK(driver->graph_instantiate(&executable, graph, 0) == 0);
    }
    memset(replayed, 0xff, bytes);
    RANKS_CHECK(merbit_buffer_upload(vy, 0, replayed, bytes) == MERBIT_OK);
    RANKS_CHECK(driver->graph_launch(executable, stream) == 0);
    RANKS_CHECK(exchange->wait(exchange->user, stream) == 0);
    RANKS_CHECK(merbit_buffer_download(vy, 0, replayed, bytes) == MERBIT_OK);
    RANKS_CHECK(memcmp(called, replayed, bytes) == 0);
    mbi_device_leave(context);
  }
  RANKS_CHECK(mbi_device_enter(context) == MERBIT_OK);
  RANKS_CHECK(driver->graph_exec_destroy(executable) == 0 && driver->graph_destroy(graph) == 0);
  mbi_device_leave(context);
  merbit_dist_destroy(dist);
  product_stream_end(context, stream);
  merbit_buffer_destroy(vx);
  merbit_buffer_destroy(vy);
  ranks_part_free(&p);
  free(x);
  free(called);
  free(replayed);
  return MERBIT_OK;
}

static void a_graph_repeats_a_product(void **state) {
  const merbit_context_desc desc = product_context(MERBIT_SIDE_CUDA);
  ranks_world *w = ranks_world_make(most);
  test_matrix m;
  (void)state;
  solve_matrix(20, 0.3, &m);
  w->devices = devices;
  assert_int_equal(ranks_run(w, &desc, 0, graph_body, &m), 0);
  ranks_world_free(w);
  test_matrix_free(&m);
}

static void systems_are_solved(void **state) {
  int ranks[4], which;
  (void)state;
  for (which = 0; which < 4; which++) {
    ranks[which] = which < most ? most - which : 1;
  }
  solve_each_on_cuda(ranks, 5, devices);
}

static void pagerank_is_that_of_one_process(void **state) {
  (void)state;
  page_run(MERBIT_SIDE_CUDA, most, most, devices);
}

/* Rank 1 dies after set-up. The others' next waiting call fails, and so do all later ones. */
static merbit_status death_body(merbit_context *context, const merbit_exchange *exchange,
                                ranks_world *world, void *argument) {
  const test_matrix *m = (const test_matrix *)argument;
  const int64_t first = ranks_first(m->rows, exchange->ranks, exchange->rank, -1);
  const int64_t end = ranks_first(m->rows, exchange->ranks, exchange->rank + 1, -1);
  const size_t bytes = (size_t)(end - first) * sizeof(double);
  ranks_part p = ranks_part_make(m, first, end, 0, 1, 0);
  void *const stream = product_stream(context, 1);
  merbit_buffer *vx = product_vector(context, p.values, bytes);
  merbit_buffer *vy = product_vector(context, p.values, bytes);
  void *const x = merbit_buffer_pointer(vx), *const y = merbit_buffer_pointer(vy);
  merbit_status status;
  merbit_dist *dist;
  double dot;
  RANKS_CHECK(merbit_dist_create(context, exchange, &p.view, NULL, &dist) == MERBIT_OK);
  if (exchange->rank == 1) {
    _exit(99);
  }
  (void)merbit_dist_spmv(dist, NULL, x, NULL, y,
                         stream); /* may be enqueued before rank 1's death is noticed */
  status = merbit_dist_dot(dist, x, y, &dot, stream);
  (void)merbit_last_error(context, world->results + exchange->rank * MERBIT_MESSAGE_SIZE,
                          MERBIT_MESSAGE_SIZE);
  RANKS_CHECK(merbit_dist_spmv(dist, NULL, x, NULL, y, stream) == MERBIT_IO_ERROR);
  RANKS_CHECK(merbit_dist_dot(dist, x, y, &dot, stream) == MERBIT_IO_ERROR);
  merbit_dist_destroy(dist);
  product_stream_end(context, stream);
  merbit_buffer_destroy(vx);
  merbit_buffer_destroy(vy);
  ranks_part_free(&p);
  return status;
}

static void a_rank_that_dies_ends_the_others(void **state) {
  const merbit_context_desc desc = product_context(MERBIT_SIDE_CUDA);
  ranks_world *w;
  test_matrix m;
  int rank;
  (void)state;
  if (most < 2) {
    skip();
  }
  solve_matrix(20, 0.3, &m);
  w = ranks_world_make(most);
  w->devices = devices;
  w->patience = 4;
  assert_int_equal(ranks_run(w, &desc, 0, death_body, &m), 1);
  for (rank = 0; rank < most; rank++) {
    const char *sentence = w->results + rank * MERBIT_MESSAGE_SIZE;
    if (rank != 1) {
      assert_int_equal(w->status[rank], MERBIT_IO_ERROR);
      if (strstr(sentence, "another rank may have ended") == NULL &&
          strstr(sentence, "NCCL error") == NULL) {
        fail_msg("rank %d: %s", rank, sentence);
      }
    }
  }
  ranks_world_free(w);
  test_matrix_free(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_meet_the_bound),
      cmocka_unit_test(a_graph_repeats_a_product),
      cmocka_unit_test(systems_are_solved),
      cmocka_unit_test(pagerank_is_that_of_one_process),
      cmocka_unit_test(a_rank_that_dies_ends_the_others),
  };
  const char *library = getenv("MERBIT_NCCL");
  int failed;
  devices = product_devices();
  if (dlopen(library != NULL ? library : "libnccl.so.2", RTLD_NOW) == NULL) {
    (void)printf("skipped: %s\n", dlerror());
    return TEST_SKIPPED;
  }
  most = devices < 4 ? devices : 4;
  most = getenv("NCCL_MULTI_RANK_GPU_ENABLE") != NULL ? 4 : most;
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  gpu_clean();
  return failed;
}
