/* Several vectors at once on the CPU: products in every form, and refusals. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/effort.h"
#include "support/many.h"
#include "support/rules.h"
#include "support/squares.h"

static merbit_context *threads_of[3]; /* 1, 2 and 5 threads */

static int set_up(void **state) {
  (void)state;
  threads_of[0] = cpu_open(NULL, 1);
  threads_of[1] = cpu_open(NULL, 2);
  threads_of[2] = cpu_open(NULL, 5);
  return 0;
}

static int tear_down(void **state) {
  int i;
  (void)state;
  for (i = 0; i < 3; i++) {
    merbit_context_destroy(threads_of[i]);
  }
  return 0;
}

static const int counts[] = {2, 8, 3, 16, 5, 64, 7, 9, 17, 32, 33, 4};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static void every_matrix(void **state) {
  int index;
  (void)state;
  for (index = test_matrix_first(); index < test_matrix_count(); index += test_matrix_step()) {
    products_form form = products_form_of(index * 7 % 64 & ~16);
    test_matrix m;
    test_matrix_make(index, 5, &m);
    form.plan.vectors = counts[index % COUNTS];
    form.plan.vector_order = (merbit_vector_order)(index / 2 % 2);
    form.plan.method = index % 5 == 0 ? MERBIT_METHOD_MERGE : MERBIT_METHOD_AUTO;
    if (m.nnz * form.plan.vectors < test_effort(1000000, 100000000)) {
      many_check(threads_of[index % 3], &m, &form, index % 4, NULL);
    }
    test_matrix_free(&m);
  }
}

/* Vectors of one element are contiguous in column-major order, too. */
static void one_column_or_row(void **state) {
  int index, found = 0;
  (void)state;
  for (index = test_matrix_first(); index < test_matrix_count(); index += test_matrix_step()) {
    products_form form = products_form_of(index % 2);
    test_matrix m;
    test_matrix_make(index, 5, &m);
    form.plan.vectors = 8 + 4 * (index % 2);
    if ((m.cols == 1 || m.rows == 1) && m.nnz > 1) {
      many_check(threads_of[1], &m, &form, 0, NULL);
      found++;
    }
    test_matrix_free(&m);
  }
  assert_true(found > 1);
}

/* One matrix in every form, with so many threads that rows cross tasks. */
static void every_form(void **state) {
  int bits;
  (void)state;
  for (bits = 0; bits < 256; bits++) {
    products_form form = products_form_of(bits);
    test_matrix m;
    form.plan.vectors = counts[bits % COUNTS];
    form.plan.vector_order = (merbit_vector_order)(bits >> 6 & 1);
    form.plan.operation = bits & 128 ? MERBIT_OPERATION_T : MERBIT_OPERATION_N;
    form.plan.reordering = bits % 3 == 0 ? MERBIT_REORDERING_RCM : MERBIT_REORDERING_NONE;
    square_grid(9, 13, 8, 5, &m);
    many_check(threads_of[bits % 3], &m, &form, bits % 5, NULL);
    test_matrix_free(&m);
  }
}

/* Several vectors multiply a block matrix as a CSR. */
static void blocks(void **state) {
  static const merbit_bsr_desc shape = {2, 3, MERBIT_BLOCK_COLUMN_MAJOR};
  int index;
  (void)state;
  for (index = 0; index < test_matrix_count(); index += 7) {
    products_form form = products_form_of(index % 2);
    test_matrix m;
    test_matrix_make(index, 5, &m);
    form.plan.vectors = 3;
    form.plan.vector_order = (merbit_vector_order)(index % 2);
    many_check(threads_of[1], &m, &form, 1, &shape);
    test_matrix_free(&m);
  }
}

/* Rows shared by many tasks, and tasks inside one row. */
static void shared_rows(void **state) {
  static const int64_t row_ptr[] = {0, 3, 90000, 90000, 90001};
  products_form form = products_form_of(0);
  test_matrix m;
  int64_t k;
  (void)state;
  memset(&m, 0, sizeof m);
  (void)snprintf(m.name, sizeof m.name, "shared rows");
  m.rows = 4;
  m.cols = 100;
  m.nnz = 90001;
  m.row_ptr = (int64_t *)test_allocate(5, sizeof *m.row_ptr);
  m.col_ind = (int32_t *)test_allocate(m.nnz, sizeof *m.col_ind);
  m.values = (double *)test_allocate(m.nnz, sizeof *m.values);
  memcpy(m.row_ptr, row_ptr, sizeof row_ptr);
  for (k = 0; k < m.nnz; k++) {
    m.col_ind[k] = (int32_t)(k * 37 % 100);
    m.values[k] = (double)(k % 9) - 3.5;
  }
  for (k = 0; k < 4; k++) {
    form.plan.vectors = k % 2 ? 11 : 8;
    form.plan.vector_order = (merbit_vector_order)(k / 2);
    many_check(threads_of[2], &m, &form, k, NULL);
  }
  test_matrix_free(&m);
}

/* The table of support/rules.h, in every vector. */
static void rules(void **state) {
  int index, turn;
  (void)state;
  for (index = rules_next(-1); index < RULES_COUNT; index = rules_next(index)) {
    for (turn = 0; turn < 8; turn++) {
      enum { VECTORS = 9 };
      const int single = turn & 1, by_rows = turn >> 1 & 1;
      const size_t size = single ? 4 : 8;
      products_form form = products_form_of(single);
      products_arrays a;
      merbit_plan *plan;
      rules_case c;
      double pair[2];
      char *x, *y, *one;
      int64_t i, v;
      rules_make(index, single, turn & 4 ? 9000 : 3, 0, 2, &c);
      products_arrays_make(NULL, &c.m, &form, &a);
      x = (char *)products_exact(VECTORS * c.m.cols, size);
      y = (char *)products_exact(VECTORS * c.m.rows, size);
      one = (char *)products_exact(c.m.rows, size);
      products_set(&pair[0], 0, c.alpha, form.type);
      products_set(&pair[1], 0, c.beta, form.type);
      for (v = 0; v < VECTORS; v++) {
        for (i = 0; i < c.m.cols; i++) {
          products_set(x, by_rows ? i * VECTORS + v : v * c.m.cols + i, c.x[i], form.type);
        }
        for (i = 0; i < c.m.rows; i++) {
          products_set(y, by_rows ? i * VECTORS + v : v * c.m.rows + i, c.y0[i], form.type);
        }
      }
      form.plan.vectors = VECTORS;
      form.plan.vector_order = (merbit_vector_order)by_rows;
      products_done(threads_of[2],
                    merbit_plan_create(threads_of[2], &a.view, &form.plan, &plan), "a plan");
      products_done(threads_of[2],
                    merbit_spmm(plan, NULL, &pair[0], x, by_rows ? VECTORS : c.m.cols, &pair[1],
                                y, by_rows ? VECTORS : c.m.rows, NULL),
                    "a product");
      for (v = 0; v < VECTORS; v++) {
        for (i = 0; i < c.m.rows; i++) {
          memcpy(one + (size_t)i * size,
                 y + (size_t)(by_rows ? i * VECTORS + v : v * c.m.rows + i) * size, size);
        }
        assert_int_equal(rules_wrong(&c, one, single, "several vectors"), 0);
      }
      merbit_plan_destroy(plan);
      products_arrays_free(&a);
      rules_free(&c);
      free(x);
      free(y);
      free(one);
    }
  }
}

/* ---- One vector -------------------------------------------------------------------------- */

static void one_vector(void **state) {
  static const int32_t row_ptr[] = {0, 1, 2}, col_ind[] = {1, 0};
  static const double values[] = {2, 3};
  const merbit_view view = merbit_csr(2, 2, 2, row_ptr, col_ind, values);
  merbit_context *context = threads_of[0];
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan;
  int order;
  (void)state;
  memset(&desc, 0, sizeof desc);
  for (order = 0; order < 2; order++) {
    double x[] = {5, 7, 9}, y[] = {1, 1, 1};
    desc.vector_order = (merbit_vector_order)order;
    desc.vectors = order;
    products_done(context, merbit_plan_create(context, &view, &desc, &plan), "one");
    assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
    assert_int_equal(info.vectors, 1);
    assert_int_equal(
        merbit_spmm(plan, NULL, NULL, x, order ? 1 : 3, NULL, y, order ? 1 : 2, NULL),
        MERBIT_OK);
    assert_true(y[0] == 14 && y[1] == 15 && y[2] == 1);
    if (order == 1) {
      assert_int_equal(merbit_spmm(plan, NULL, NULL, x, 2, NULL, y, 1, NULL),
                       MERBIT_NOT_SUPPORTED);
      cpu_expect(context, MERBIT_NOT_SUPPORTED, "ldx is 2 and ldy 1; a row-major plan");
      assert_int_equal(merbit_spmm(plan, NULL, NULL, x, 1, NULL, y, 2, NULL),
                       MERBIT_NOT_SUPPORTED);
      cpu_expect(
          context, MERBIT_NOT_SUPPORTED,
          "ldx is 1 and ldy 2; a row-major plan for one vector takes 1, contiguous elements: "
          "copy the vector");
      assert_true(y[0] == 14 && y[1] == 15 && y[2] == 1);
    }
    merbit_plan_destroy(plan);
  }
}

/* ---- Refusals ---------------------------------------------------------------------------- */

static const int32_t some_row_ptr[] = {0, 1, 2, 3}, some_col_ind[] = {1, 0, 1};
static const double some_values[] = {2, 3, 4};

static merbit_plan_desc several(int vectors, merbit_vector_order order) {
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.vectors = vectors;
  desc.vector_order = order;
  return desc;
}

static void expect_plan_of(merbit_type type, const merbit_plan_desc *desc, merbit_status status,
                           const char *text) {
  merbit_view view = merbit_csr(3, 2, 3, some_row_ptr, some_col_ind, some_values);
  merbit_plan *plan;
  view.value_type = type;
  assert_int_equal(merbit_plan_create(threads_of[0], &view, desc, &plan), status);
  assert_null(plan);
  cpu_expect(threads_of[0], status, text);
}

static void expect_plan(const merbit_plan_desc *desc, merbit_status status, const char *text) {
  expect_plan_of(MERBIT_F64, desc, status, text);
}

static void refused_plans(void **state) {
  merbit_plan_desc desc = several(-1, MERBIT_VECTORS_ROW_MAJOR);
  int method;
  (void)state;
  expect_plan(&desc, MERBIT_INVALID_ARGUMENT, "plan_desc.vectors is -1; use 1 to 64");
  desc.vectors = 65;
  expect_plan(&desc, MERBIT_INVALID_ARGUMENT, "plan_desc.vectors is 65; use 1 to 64");
  desc.vectors = 2;
  desc.vector_order = (merbit_vector_order)2;
  expect_plan(&desc, MERBIT_INVALID_ARGUMENT, "plan_desc.vector_order is 2");
  desc.vector_order = MERBIT_VECTORS_ROW_MAJOR;
  for (method = MERBIT_METHOD_REFERENCE; method < MERBIT_METHOD_MANY; method++) {
    if (method != MERBIT_METHOD_MERGE) {
      char text[80];
      desc.method = (merbit_method)method;
      (void)snprintf(text, sizeof text, "%s, which does not take 2 vectors",
                     mbi_method_identifier(desc.method));
      expect_plan(&desc, MERBIT_NOT_SUPPORTED, text);
    }
  }
  desc.method = MERBIT_METHOD_AUTO;
  desc.vector_type = MERBIT_F64;
  expect_plan_of(MERBIT_F32, &desc, MERBIT_NOT_SUPPORTED, "in f64 or f32 throughout, not with");
  desc.vector_type = MERBIT_TYPE_DEFAULT;
  expect_plan_of(MERBIT_C128, &desc, MERBIT_NOT_SUPPORTED,
                 "in f64 or f32 throughout, not with");
  desc.method = MERBIT_METHOD_MANY;
  expect_plan(&desc, MERBIT_NO_DEVICE, "MERBIT_METHOD_MANY, which runs on CUDA");
  desc.vectors = 1;
  expect_plan(&desc, MERBIT_INVALID_ARGUMENT, "MERBIT_METHOD_MANY, but plan_desc.vectors is 1");
}

static void refused_products(void **state) {
  const merbit_view view = merbit_csr(3, 2, 3, some_row_ptr, some_col_ind, some_values);
  merbit_context *context = threads_of[0];
  double x[64] = {0}, y[64] = {0};
  merbit_workspace *other;
  merbit_plan *plan, *second;
  int order;
  (void)state;
  assert_int_equal(merbit_spmm(NULL, NULL, NULL, x, 4, NULL, y, 4, NULL),
                   MERBIT_INVALID_ARGUMENT);
  for (order = 0; order < 2; order++) {
    const merbit_plan_desc desc = several(4, (merbit_vector_order)order);
    const int ldx = order ? 4 : 2, ldy = order ? 4 : 3;
    products_done(context, merbit_plan_create(context, &view, &desc, &plan), "a plan");
    products_done(context, merbit_plan_create(context, &view, &desc, &second), "a plan");
    products_done(context, merbit_workspace_create(second, &other), "a workspace");
    assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "the plan is for 4 vectors; use merbit_spmm");
    assert_int_equal(merbit_spmm(plan, other, NULL, x, ldx, NULL, y, ldy, NULL),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "belongs to another plan");
    assert_int_equal(merbit_spmm(plan, NULL, NULL, NULL, ldx, NULL, y, ldy, NULL),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`x` is NULL");
    assert_int_equal(merbit_spmm(plan, NULL, NULL, x, ldx, NULL, NULL, ldy, NULL),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`y` is NULL");
    assert_int_equal(merbit_spmm(plan, NULL, NULL, x, ldx - 1, NULL, y, ldy, NULL),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT,
               order ? "ldx is 3; row-major it is at least 4"
                     : "ldx is 1; column-major it is at least 2");
    assert_int_equal(merbit_spmm(plan, NULL, NULL, x, ldx, NULL, y, ldy - 1, NULL),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT,
               order ? "ldy is 3; row-major it is at least 4"
                     : "ldy is 2; column-major it is at least 3");
    assert_int_equal(merbit_spmm(plan, NULL, NULL, x, INT64_MAX / 4, NULL, y, ldy, NULL),
                     MERBIT_TOO_LARGE);
    cpu_expect(context, MERBIT_TOO_LARGE, "ldx is 2305843009213693951");
    /* The last element of x is the first of y; then they are adjacent. */
    assert_int_equal(
        merbit_spmm(plan, NULL, NULL, x, 7, NULL, x + (order ? 10 : 22), ldy, NULL),
        MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, "overlap; use two arrays");
    assert_int_equal(
        merbit_spmm(plan, NULL, NULL, x, 7, NULL, x + (order ? 11 : 23), ldy, NULL), MERBIT_OK);
    merbit_workspace_destroy(other);
    merbit_plan_destroy(plan);
    merbit_plan_destroy(second);
  }
}

static void what_a_plan_tells(void **state) {
  const merbit_view view = merbit_csr(3, 2, 3, some_row_ptr, some_col_ind, some_values);
  const merbit_plan_desc desc = several(8, MERBIT_VECTORS_ROW_MAJOR);
  merbit_plan_info info;
  merbit_plan *plan;
  char line[1024];
  (void)state;
  products_done(threads_of[0], merbit_plan_create(threads_of[0], &view, &desc, &plan),
                "a plan");
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_int_equal(info.vectors, 8);
  assert_int_equal(info.bytes_per_product, 3 * 12 + 4 * 4 + 5 * 8 * 8);
  assert_int_equal(info.method, MERBIT_METHOD_MERGE);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, "runner-up none"));
  assert_non_null(strstr(line, "; 8 vectors, row-major"));
  merbit_plan_destroy(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_matrix),     cmocka_unit_test(one_column_or_row),
      cmocka_unit_test(every_form),       cmocka_unit_test(blocks),
      cmocka_unit_test(shared_rows),      cmocka_unit_test(rules),
      cmocka_unit_test(one_vector),       cmocka_unit_test(refused_plans),
      cmocka_unit_test(refused_products), cmocka_unit_test(what_a_plan_tells),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
