/* Plans of transposes on the CPU: products and new values in every form, descriptions,
 * refusals, and lack of memory. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/effort.h"
#include "support/squares.h"
#include "support/transposed.h"

/* Makes a form by bits: those of products_form_of, then REFERENCE or, from base 1, SORTED;
 * H. */
static products_form form_of(int bits) {
  products_form form = products_form_of(bits);
  form.plan.method = !(bits & 64) ? MERBIT_METHOD_AUTO
                     : bits & 8   ? MERBIT_METHOD_SORTED
                                  : MERBIT_METHOD_REFERENCE;
  form.plan.operation = bits & 128 ? MERBIT_OPERATION_H : MERBIT_OPERATION_T;
  form.plan.unchecked = bits >> 2 & 1;
  form.plan.vector_memory = MERBIT_MEMORY_HOST;
  return form;
}

/* Every generated matrix in some forms. */
static void every_matrix(void **state) {
  const uint64_t seed = test_rotating_seed();
  merbit_context *context[2];
  uint64_t random = seed;
  int index, i, products = 0;
  (void)state;
  context[0] = cpu_open(NULL, 1);
  context[1] = cpu_open(NULL, 3);
  for (index = test_matrix_first(); index < test_matrix_count(); index += test_matrix_step()) {
    for (i = 0; i < 4; i++) {
      const products_form form = form_of((int)test_below(&random, 256));
      test_matrix m;
      test_matrix_make(index, seed, &m);
      products += transposed_check(context[index & 1], &m, &form, NULL);
    }
  }
  print_message("%d products\n", products);
  merbit_context_destroy(context[0]);
  merbit_context_destroy(context[1]);
}

/* One matrix in every form, with tasks for several threads; half of them reordered. */
static void every_form(void **state) {
  merbit_context *context = cpu_open(NULL, 4);
  int bits;
  (void)state;
  for (bits = 0; bits < 512; bits++) {
    products_form form = form_of(bits);
    const int large = (bits & 15) == 3;
    test_matrix m;
    form.plan.reordering = bits & 256 ? MERBIT_REORDERING_RCM : MERBIT_REORDERING_NONE;
    square_grid(large ? 150 : 9, large ? 150 : 13, 8, 5, &m);
    m.nnz -= 3; /* no longer symmetric */
    m.row_ptr[m.rows] -= 3;
    (void)transposed_check(context, &m, &form, NULL);
  }
  merbit_context_destroy(context);
}

/* BSR views, multiplied in their blocks, in others and in none; and blocks made from
 * entries. */
static void blocks(void **state) {
  static const merbit_bsr_desc shapes[] = {{1, 1, MERBIT_BLOCK_ROW_MAJOR},
                                           {2, 3, MERBIT_BLOCK_COLUMN_MAJOR},
                                           {4, 1, MERBIT_BLOCK_ROW_MAJOR},
                                           {3, 5, MERBIT_BLOCK_ROW_MAJOR}};
  merbit_context *context = cpu_open(NULL, 3);
  int index, way, products = 0;
  (void)state;
  for (index = 0; index < test_matrix_count(); index += 3) {
    for (way = 0; way < 4; way++) {
      const merbit_bsr_desc *shape = &shapes[(index / 3 + way) % 4];
      products_form form = form_of(index % 2);
      test_matrix m;
      form.plan.method = way == 1   ? MERBIT_METHOD_MERGE
                         : way == 0 ? MERBIT_METHOD_AUTO
                                    : MERBIT_METHOD_BSR;
      form.plan.block_rows = way >= 2 ? 2 : 0;
      form.plan.block_cols = way >= 2 ? 4 : 0;
      test_matrix_make(index, 7, &m);
      products += transposed_check(context, &m, &form, way == 3 ? NULL : shape);
    }
  }
  print_message("%d products\n", products);
  merbit_context_destroy(context);
}

static void empty_matrices(void **state) {
  static const int32_t none[] = {0, 0, 0, 0};
  merbit_context *context = cpu_open(NULL, 2);
  int rows, cols;
  (void)state;
  for (rows = 0; rows <= 3; rows += 3) {
    for (cols = 0; cols <= 2; cols += 2) {
      const merbit_view view = merbit_csr(rows, cols, 0, none, NULL, NULL);
      double x[] = {1, 2, 3}, y[] = {4, 5};
      merbit_plan_desc desc;
      merbit_plan *plan;
      memset(&desc, 0, sizeof desc);
      desc.operation = MERBIT_OPERATION_T;
      assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
      assert_int_equal(
          merbit_spmv(plan, NULL, NULL, rows > 0 ? x : NULL, NULL, cols > 0 ? y : NULL, NULL),
          MERBIT_OK);
      assert_true(y[0] == (cols > 0 ? 0 : 4) && y[1] == (cols > 0 ? 0 : 5));
      merbit_plan_destroy(plan);
    }
  }
  merbit_context_destroy(context);
}

static const int32_t row_ptr[] = {0, 2, 3}, row_ind[] = {0, 0, 1}, col_ind[] = {0, 3, 3};
static const double values[] = {1, 2, 3};

/* Sizes are those of the transpose; duplicates and equal plans. */
static void told(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(2, 4, 3, row_ptr, col_ind, values);
  double x[2] = {1, 10}, y[4];
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan;
  char line[1024];
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.operation = MERBIT_OPERATION_H;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_int_equal(info.bytes_per_product, 3 * 12 + 6 * 8 + 5 * 4);
  assert_true(info.transpose_seconds > 0 && info.transpose_seconds <= info.plan_seconds);
  assert_true(info.reorder_seconds == 0);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, ": 4 x 2, 3 nonzeros"));
  assert_non_null(strstr(line, "; transposed from 2 x 4 on the CPU in "));
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_true(y[0] == 1 && y[1] == 0 && y[2] == 0 && y[3] == 32);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, y + 2, NULL, y, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "x (2 elements at ");
  assert_int_equal(merbit_spmv(plan, NULL, NULL, NULL, NULL, y, NULL), MERBIT_INVALID_ARGUMENT);
  merbit_plan_destroy(plan);
  view.format = MERBIT_COO;
  view.row_ind = row_ind;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, "; transposed from 2 x 4 by swapping indices"));
  merbit_plan_destroy(plan);
  desc.operation = MERBIT_OPERATION_N;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_true(info.transpose_seconds == 0);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_null(strstr(line, "transposed"));
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

static void expect(merbit_context *context, const merbit_view *view,
                   const merbit_plan_desc *desc, merbit_status status, const char *piece) {
  merbit_plan *plan = (merbit_plan *)1;
  assert_int_equal(merbit_plan_create(context, view, desc, &plan), status);
  assert_null(plan);
  cpu_expect(context, status, piece);
}

/* Errors name rows and columns of the user's matrix. */
static void refused(void **state) {
  static const int32_t bad[] = {0, 7, 3};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(2, 4, 3, row_ptr, bad, values);
  merbit_plan_desc desc;
  merbit_plan *plan;
  int method;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.operation = (merbit_operation)3;
  expect(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "plan_desc.operation is 3");
  desc.operation = (merbit_operation)-1;
  expect(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "plan_desc.operation is -1");
  desc.operation = MERBIT_OPERATION_T;
  for (method = 0; method < 2; method++) {
    desc.method = method == 0 ? MERBIT_METHOD_AUTO : MERBIT_METHOD_BSR;
    view.format = MERBIT_CSR;
    expect(context, &view, &desc, MERBIT_INVALID_MATRIX, "col_ind[1]");
    view.format = MERBIT_COO;
    view.row_ind = row_ind;
    expect(context, &view, &desc, MERBIT_INVALID_MATRIX, "col_ind[1]");
  }
  desc.method = MERBIT_METHOD_AUTO;
  view = merbit_csr((int64_t)INT32_MAX + 1, 4, 3, row_ptr, col_ind, values);
  expect(context, &view, &desc, MERBIT_TOO_LARGE, "view.rows is 2147483648");
  view = merbit_csr(2, 4, 3, row_ptr, col_ind, values);
  desc.reordering = MERBIT_REORDERING_RCM;
  expect(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "takes square matrices");
  desc.reordering = MERBIT_REORDERING_NONE;
  view.values = NULL;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "pattern of ones");
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

/* Entry by entry: duplicates are kept, in the order of the rows. */
static void flipped(void **state) {
  static const int32_t ptr[] = {0, 3, 5}, cols[] = {2, 0, 2, 2, 1};
  static const double numbers[] = {1, 2, 3, 4, 5}, wanted[] = {2, 5, 1, 3, 4};
  static const int32_t wanted_ptr[] = {0, 1, 2, 5}, wanted_cols[] = {0, 1, 0, 0, 1};
  static const int32_t wanted_places[] = {1, 4, 0, 2, 3};
  merbit_context *context = cpu_open(NULL, 1);
  const merbit_view view = merbit_csr(2, 3, 5, ptr, cols, numbers);
  merbit_matrix *matrix;
  void *places;
  (void)state;
  assert_int_equal(mbi_matrix_transpose_map(context, &view, &matrix, &places), MERBIT_OK);
  assert_memory_equal(matrix->view.row_ptr, wanted_ptr, sizeof wanted_ptr);
  assert_memory_equal(matrix->view.col_ind, wanted_cols, sizeof wanted_cols);
  assert_memory_equal(matrix->view.values, wanted, sizeof wanted);
  assert_memory_equal(places, wanted_places, sizeof wanted_places);
  mbi_release(context, places);
  merbit_matrix_destroy(matrix);
  merbit_context_destroy(context);
}

/* Each allocation of a plan and of an update fails in turn: nothing is left behind, and the
 * plan is unchanged. */
static void memory_runs_out(void **state) {
  static const merbit_bsr_desc shape = {2, 3, MERBIT_BLOCK_ROW_MAJOR};
  int way;
  (void)state;
  for (way = 0; way < 6; way++) {
    cpu_memory memory;
    merbit_context *context = cpu_open(&memory, 2);
    products_form form = form_of(way == 1 ? 32 : way == 2 ? 4 : 0);
    transposed t;
    test_matrix m;
    merbit_status status = MERBIT_OUT_OF_MEMORY;
    void *fresh;
    int fail;
    memset(&t, 0, sizeof t);
    form.plan.reordering = way == 3 ? MERBIT_REORDERING_RCM : MERBIT_REORDERING_NONE;
    form.plan.method = way == 5 ? MERBIT_METHOD_BSR : MERBIT_METHOD_AUTO;
    t.blocks.block_rows = way == 4 ? shape.block_rows : 0;
    t.blocks.block_cols = way == 4 ? shape.block_cols : 0;
    square_grid(6, 70, 8, 2, &m);
    t.places = (int64_t *)test_allocate(m.nnz, sizeof *t.places);
    transposed_make(&m, &t.given, t.places);
    products_case_make(NULL, &m, &form, &t.c);
    transposed_view(&t, context);
    for (fail = 1; status != MERBIT_OK; fail++) {
      merbit_plan *plan = NULL;
      const long live = memory.live;
      memory.fail_at = memory.made + fail;
      status = merbit_plan_create(context, &t.c.a.view, &form.plan, &plan);
      memory.fail_at = 0;
      assert_true(status == MERBIT_OK || (status == MERBIT_OUT_OF_MEMORY && plan == NULL));
      assert_true(status == MERBIT_OK || memory.live == live);
      merbit_plan_destroy(plan);
    }
    assert_true(fail > 6);
    transposed_open(&t, context);
    fresh = products_exact(mbi_view_values(&t.c.a.view), sizeof(double));
    memset(fresh, 0, (size_t)mbi_view_values(&t.c.a.view) * sizeof(double));
    status = MERBIT_OUT_OF_MEMORY;
    for (fail = 1; status != MERBIT_OK; fail++) {
      products_once(&t.c, 1, 0, transposed_spmv, &t);
      memory.fail_at = memory.made + fail;
      status = merbit_plan_update_values(t.p.plan, fresh, MERBIT_MEMORY_HOST);
      memory.fail_at = 0;
      assert_true(status == MERBIT_OK || status == MERBIT_OUT_OF_MEMORY);
    }
    transposed_update(&t, 3, 0);
    products_once(&t.c, 1, 0, transposed_spmv, &t);
    free(fresh);
    transposed_close(&t);
    merbit_context_destroy(context);
    assert_int_equal(memory.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_matrix), cmocka_unit_test(every_form),
      cmocka_unit_test(blocks),       cmocka_unit_test(empty_matrices),
      cmocka_unit_test(told),         cmocka_unit_test(refused),
      cmocka_unit_test(flipped),      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
