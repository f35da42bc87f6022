/* The schedules of blocks that exist for comparison: the same products, in the same forms, as
 * repeatable as the method itself. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/blocks.h"
#include "support/cpu.h"

static merbit_context *contexts[3]; /* of 1, 2 and 5 threads */

static int set_up(void **state) {
  static const int threads[] = {1, 2, 5};
  int i;
  (void)state;
  for (i = 0; i < 3; i++) {
    contexts[i] = cpu_open(NULL, threads[i]);
  }
  return 0;
}

static int tear_down(void **state) {
  int i;
  (void)state;
  for (i = 0; i < 3; i++) {
    merbit_context_destroy(contexts[i]);
  }
  return 0;
}

static void multiply(void *user, const merbit_view *view, const void *alpha, const void *x,
                     const void *beta, void *y) {
  (void)view;
  assert_int_equal(merbit_spmv((merbit_plan *)user, NULL, alpha, x, beta, y, NULL), MERBIT_OK);
}

/* Checks that two products have the same bits; alpha 0 is among the scalars. Returns the plan's
 * tasks, or with BSR_SPLIT and BSR_MAXIMUM its pieces. */
static int64_t check_tuned(merbit_context *context, products_case *c, int method,
                           const char *tuning) {
  static const double scalars[][2] = {{1, 0}, {-1, 0.5}, {0, 2}};
  const size_t bytes = (size_t)c->m.rows * products_size(c->form.type);
  void *first = products_exact((int64_t)bytes, 1);
  merbit_plan_desc desc;
  merbit_plan *plan;
  int64_t tasks;
  int i;
  memset(&desc, 0, sizeof desc);
  desc.method = (merbit_method)method;
  desc.tuning = tuning;
  products_done(context, merbit_plan_create(context, &c->a.view, &desc, &plan), c->m.name);
  assert_int_equal(plan->method, method);
  for (i = 0; i < 3; i++) {
    products_once(c, scalars[i][0], scalars[i][1], multiply, plan);
    memcpy(first, c->y, bytes);
    products_once(c, scalars[i][0], scalars[i][1], multiply, plan);
    assert_memory_equal(first, c->y, bytes);
  }
  tasks = method == MERBIT_METHOD_BSR_SPLIT || method == MERBIT_METHOD_BSR_MAXIMUM
              ? plan->blocks.chunk_index[plan->tasks]
              : plan->tasks;
  merbit_plan_destroy(plan);
  free(first);
  return tasks;
}

/* Returns the number of chunks that the library chooses on five threads. */
static int64_t plan_tasks(const products_case *c) {
  return mbi_block_chunks(contexts[2], &c->a.view);
}

static void check(merbit_context *context, products_case *c, int method) {
  (void)check_tuned(context, c, method, NULL);
}

static void every_schedule(void **state) {
  unsigned turn = 0;
  int index, method;
  (void)state;
  for (index = 0; index < BLOCKS_SHAPES; index++, turn++) {
    for (method = MERBIT_METHOD_BSR_ROWS; method <= MERBIT_METHOD_BSR_FIXED; method++) {
      const products_form form = blocks_form(turn);
      blocks_shape s;
      products_case c;
      memset(&s, 0, sizeof s);
      blocks_shape_of(index, &s);
      s.order = (merbit_block_order)(turn / 2 % 2);
      s.rows = turn % 11 == 0
                   ? 0
                   : 25 * s.block_rows - turn % 3 * (turn % 3 < (unsigned)s.block_rows);
      s.cols = 19 * s.block_cols - turn % 2 * (s.block_cols > 1);
      s.longest = 7;
      s.long_row = turn % 2 == 0 ? 90 : 0;
      blocks_case_make(&s, &form, turn + 1, &c);
      check(contexts[(int)turn % 3], &c, method);
      products_spoil_x(&c, turn);
      check(contexts[(int)turn % 3], &c, method);
      blocks_case_free(&c);
    }
  }
}

/* Enough blocks for every thread, with one block row longer than all others together. */
static void large_matrices(void **state) {
  int method, t;
  (void)state;
  for (method = MERBIT_METHOD_BSR_ROWS; method <= MERBIT_METHOD_BSR_FIXED; method++) {
    for (t = 0; t < 3; t++) {
      const products_form form = blocks_form((unsigned)method);
      blocks_shape s;
      products_case c;
      memset(&s, 0, sizeof s);
      s.block_rows = 4;
      s.block_cols = 3;
      s.rows = 2001;
      s.cols = 1000;
      s.longest = 14;
      s.long_row = method == MERBIT_METHOD_BSR_NAIVE ? 0 : 4000;
      blocks_case_make(&s, &form, (uint64_t)t, &c);
      check(contexts[t], &c, method);
      blocks_case_free(&c);
    }
  }
}

/* Blocks made from CSR, whose holes must have no effect. */
static void masked_blocks(void **state) {
  int i, method;
  (void)state;
  for (i = 0; i < test_matrix_count(); i += 3) {
    for (method = MERBIT_METHOD_BSR_ROWS; method <= MERBIT_METHOD_BSR_FIXED; method++) {
      products_form form;
      products_case c;
      test_matrix m;
      memset(&form, 0, sizeof form);
      test_matrix_make(i, 3, &m);
      if (m.nnz < 3000) {
        products_case_make(NULL, &m, &form, &c);
        check(contexts[i % 3], &c, method);
        products_case_free(&c);
      }
      test_matrix_free(&m);
    }
  }
}

/* One block row of 4,000 blocks: in chunks of equal size, or in pieces of at most that size. */
static void chunks_are_as_many_as_asked_for(void **state) {
  static const struct {
    const char *tuning;
    int chunks;
  } list[] = {{"chunks=1", 1}, {"chunks=3", 3}, {NULL, 8}, {"chunks=200", 200}};
  const products_form form = blocks_form(0);
  blocks_shape s;
  products_case c;
  size_t i;
  (void)state;
  memset(&s, 0, sizeof s);
  s.block_rows = s.block_cols = 3;
  s.rows = 3;
  s.cols = 12000;
  s.longest = 1;
  s.long_row = 4000;
  blocks_case_make(&s, &form, 1, &c);
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    const int64_t blocks = c.a.view.nnz, all = 5 * list[i].chunks, most = blocks / all;
    assert_int_equal(check_tuned(contexts[2], &c, MERBIT_METHOD_BSR_FIXED, list[i].tuning),
                     list[i].tuning != NULL ? all : plan_tasks(&c));
    assert_int_equal(check_tuned(contexts[2], &c, MERBIT_METHOD_BSR, list[i].tuning),
                     list[i].tuning != NULL ? all : plan_tasks(&c));
    assert_int_equal(check_tuned(contexts[2], &c, MERBIT_METHOD_BSR_SPLIT, list[i].tuning),
                     (blocks + most - 1) / most);
    assert_int_equal(check_tuned(contexts[2], &c, MERBIT_METHOD_BSR_MAXIMUM, list[i].tuning),
                     (blocks + most - 1) / most);
    assert_int_equal(check_tuned(contexts[2], &c, MERBIT_METHOD_BSR_NAIVE, list[i].tuning), 5);
  }
  blocks_case_free(&c);
}

static void wrong_chunks_are_refused(void **state) {
  static const char *const list[][2] = {
      {"chunks=4097", "chunks is 4097; give a thread 1 to 4096"},
      {"chunks=-1", "chunks is -1"},
      {"waves=2", "the names of bsr-fixed are chunks"}};
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  const merbit_view view = merbit_bsr(2, 2, 1, 2, 2, row_ptr, col_ind, NULL);
  merbit_plan_desc desc;
  merbit_plan *plan;
  size_t i;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_BSR_FIXED;
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    desc.tuning = list[i][0];
    assert_int_equal(merbit_plan_create(contexts[1], &view, &desc, &plan),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(contexts[1], MERBIT_INVALID_ARGUMENT, list[i][1]);
  }
}

static void they_are_named_and_stay_on_the_cpu(void **state) {
  static const char *const names[] = {"bsr-rows on the CPU (requested)", "bsr-naive",
                                      "bsr-split", "bsr-maximum", "bsr-fixed"};
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  const merbit_view view = merbit_bsr(2, 2, 1, 2, 2, row_ptr, col_ind, NULL);
  merbit_plan_desc desc;
  merbit_plan *plan;
  char line[1024];
  int i;
  (void)state;
  memset(&desc, 0, sizeof desc);
  for (i = 0; i < 5; i++) {
    desc.method = (merbit_method)(MERBIT_METHOD_BSR_ROWS + i);
    assert_int_equal(merbit_plan_create(contexts[0], &view, &desc, &plan), MERBIT_OK);
    (void)merbit_plan_describe(plan, line, sizeof line);
    assert_ptr_equal(strstr(line, names[i]), line);
    merbit_plan_destroy(plan);
    assert_false(mbi_method_runs(desc.method, 1));
  }
  desc.method = (merbit_method)(MERBIT_METHOD_BSR_FIXED + 1);
  assert_int_equal(merbit_plan_create(contexts[0], &view, &desc, &plan),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(contexts[0], MERBIT_INVALID_ARGUMENT, "method is 37");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_schedule),
      cmocka_unit_test(large_matrices),
      cmocka_unit_test(masked_blocks),
      cmocka_unit_test(chunks_are_as_many_as_asked_for),
      cmocka_unit_test(wrong_chunks_are_refused),
      cmocka_unit_test(they_are_named_and_stay_on_the_cpu),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
