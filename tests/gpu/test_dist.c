/* Distributed products on one GPU: several processes share it and exchange through the host.
 * Each is checked against the bound of one process; whole_rows gives the same bits for any
 * number of ranks. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "dist/solves.h"

static void products_meet_the_bound(void **state) {
  static const merbit_method methods[] = {MERBIT_METHOD_ROWS, MERBIT_METHOD_SCAN,
                                          MERBIT_METHOD_MERGE};
  int index, turn = gpu_first_of(8);
  (void)state;
  for (index = gpu_first(); index < test_matrix_count(); index += gpu_stride(), turn++) {
    test_matrix m;
    product_case c;
    ranks_world *w;
    square_make(index, 1, &m);
    w = ranks_world_make(1 + turn % 4);
    memset(&c, 0, sizeof c);
    c.m = &m;
    c.side = MERBIT_SIDE_CUDA;
    c.single = turn / 2 % 2;
    c.without = turn % 3 == 0 ? turn % w->ranks : -1;
    c.whole = turn / 4 % 2;
    c.own_stream = turn % 2;
    c.method = methods[turn % 3];
    c.alpha = turn % 5 == 0 ? 1 : turn % 5 == 1 ? 0 : -1.5;
    c.beta = turn % 3 == 0 ? 0 : 0.75;
    product_fill(&c, (uint64_t)index);
    product_run(w, &c);
    product_release(&c);
    ranks_world_free(w);
    test_matrix_free(&m);
  }
}

static void whole_rows_have_the_same_bits(void **state) {
  (void)state;
  product_same_bits(MERBIT_SIDE_CUDA, 0, MERBIT_METHOD_ROWS, "lanes=8 unroll=2");
}

static void systems_are_solved(void **state) {
  static const int ranks[] = {1, 2, 3, 4};
  (void)state;
  solve_each_on_cuda(ranks, 0, 0);
}

static void pagerank_is_that_of_one_process(void **state) {
  (void)state;
  page_run(MERBIT_SIDE_CUDA, 3, 3, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_meet_the_bound),
      cmocka_unit_test(whole_rows_have_the_same_bits),
      cmocka_unit_test(systems_are_solved),
      cmocka_unit_test(pagerank_is_that_of_one_process),
  };
  int failed;
  (void)product_devices();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  gpu_clean();
  return failed;
}
