/* SORTED on the CPU: any number of threads meets the componentwise bound, in every form of the
 * values; the same bits with any pool; new values; failing allocations; rows moved in the
 * view's arrays; AUTO's choice. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/products.h"

/* Makes a plan of a view with the test's own number of tasks: small matrices have only one. */
static merbit_status sorted_plan(merbit_context *context, const merbit_view *view, int tasks,
                                 int far_x, merbit_plan **plan) {
  merbit_plan_desc desc;
  merbit_status status;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_SORTED;
  status = merbit_plan_create(context, view, &desc, plan);
  if (status == MERBIT_OK && tasks != (*plan)->tasks) {
    mbi_sorted_destroy(*plan);
    mbi_workspace_free((*plan)->workspace);
    (*plan)->workspace = NULL;
    (*plan)->tasks = tasks;
    assert_int_equal(mbi_sorted_create(*plan), MERBIT_OK);
    assert_int_equal(mbi_workspace_make(*plan, &(*plan)->workspace), MERBIT_OK);
  }
  if (status == MERBIT_OK) {
    (*plan)->sorted.far_x = far_x;
  }
  return status;
}

static void multiply(void *user, const merbit_view *view, const void *alpha, const void *x,
                     const void *beta, void *y) {
  merbit_plan *plan = (merbit_plan *)user;
  (void)view;
  /* NaN: an earlier product's results must not matter */
  memset(plan->workspace->carries, 0xff, mbi_merge_scratch_bytes(plan->tasks, plan->type));
  assert_int_equal(merbit_spmv(plan, NULL, alpha, x, beta, y, NULL), MERBIT_OK);
}

/* Every form with every number of tasks; alpha and beta change with a counter. Bits above those
 * of products_generate: values all equal to 3, distant x. */
static void every_matrix_in_every_form(void **state) {
  static const int counts[] = {1, 2, 3, 5, 8, 0};
  merbit_context *context = cpu_open(NULL, 3);
  unsigned turn = 0;
  int i, bits, t;
  int64_t k;
  (void)state;
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    for (bits = i % 2; bits < 64; bits += 3) {
      products_case c;
      products_generate(i, bits & 15, &c);
      for (k = 0; (bits & 24) == 16 && k < c.m.nnz; k++) {
        c.m.values[k] = 3;
        products_set(c.a.values, k, 3, c.form.type);
      }
      if (bits % 5 == 0) {
        products_spoil_x(&c, 29);
      }
      for (t = 0; t < 6; t++, turn++) {
        const int64_t path = c.m.rows + c.m.nnz;
        merbit_plan *plan;
        assert_int_equal(sorted_plan(context, &c.a.view,
                                     counts[t] > 0 ? counts[t]
                                     : path < 300  ? (int)path + 3
                                                   : 300,
                                     bits >> 5 & 1, &plan),
                         MERBIT_OK);
        if ((bits & 24) == 16) {
          assert_null(plan->sorted.values);
        }
        products_once(&c, products_scalars[turn % 4], products_scalars[(turn / 4) % 4],
                      multiply, plan);
        merbit_plan_destroy(plan);
      }
      products_generated_free(&c);
    }
  }
  merbit_context_destroy(context);
}

/* Makes rows of every length around the unrolled loops, over several windows, and one as long
 * as many windows: a window has many lengths, out of order. */
static void make_ragged(test_matrix *m) {
  enum { ROWS = 3 * MBI_SORTED_WINDOW + 77, COLS = 5000 };
  uint64_t random = 9;
  int64_t row, k;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "ragged");
  m->rows = ROWS;
  m->cols = COLS;
  m->row_ptr = (int64_t *)test_allocate(ROWS + 1, sizeof(int64_t));
  m->row_ptr[0] = 0;
  for (row = 0; row < ROWS; row++) {
    const int64_t length = row == 5000     ? 30000
                           : row % 97 == 0 ? test_below(&random, 90)
                                           : test_below(&random, 12);
    m->row_ptr[row + 1] = m->row_ptr[row] + length;
  }
  m->nnz = m->row_ptr[ROWS];
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof(int32_t));
  m->values = (double *)test_allocate(m->nnz, sizeof(double));
  for (k = 0; k < m->nnz; k++) {
    m->col_ind[k] = (int32_t)test_below(&random, COLS);
    m->values[k] = test_uniform(&random);
  }
}

static void several_windows(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  test_matrix m;
  int bits, tasks;
  (void)state;
  make_ragged(&m);
  for (bits = 0; bits < 16; bits += 5) {
    for (tasks = 1; tasks < 8; tasks += 2) {
      products_form form = products_form_of((bits & 3) | (bits & 4) << 1);
      products_case c;
      merbit_plan *plan;
      products_case_make(NULL, &m, &form, &c);
      assert_int_equal(sorted_plan(context, &c.a.view, tasks, bits & 1, &plan), MERBIT_OK);
      products_once(&c, 0.5, -1, multiply, plan);
      products_once(&c, 1, 0, multiply, plan);
      merbit_plan_destroy(plan);
      products_case_free(&c);
    }
  }
  test_matrix_free(&m);
  merbit_context_destroy(context);
}

static void the_same_bits_from_any_pool(void **state) {
  products_form form = products_form_of(0);
  void *first = NULL;
  test_matrix m;
  int threads, repeat;
  (void)state;
  make_ragged(&m);
  for (threads = 1; threads <= 4; threads++) {
    merbit_context *context = cpu_open(NULL, threads);
    merbit_plan *plan;
    products_case c;
    const size_t bytes = (size_t)m.rows * sizeof(double);
    products_case_make(NULL, &m, &form, &c);
    assert_int_equal(sorted_plan(context, &c.a.view, 4, threads & 1, &plan), MERBIT_OK);
    for (repeat = 0; repeat < 3; repeat++) {
      products_once(&c, 0.5, -1, multiply, plan);
      if (first == NULL) {
        first = malloc(bytes);
        memcpy(first, c.y, bytes);
      }
      assert_memory_equal(first, c.y, bytes);
    }
    merbit_plan_destroy(plan);
    products_case_free(&c);
    merbit_context_destroy(context);
  }
  free(first);
  test_matrix_free(&m);
}

/* New equal values, then general ones, then equal ones again: each gives the same as a plan
 * made of them. */
static void new_values(void **state) {
  products_form form = products_form_of(0);
  merbit_context *context = cpu_open(NULL, 2);
  merbit_plan *plan;
  test_matrix m;
  products_case c;
  char line[1024];
  int turn;
  int64_t k;
  (void)state;
  make_ragged(&m);
  for (k = 0; k < m.nnz; k++) {
    m.values[k] = 7;
  }
  products_case_make(NULL, &m, &form, &c);
  assert_int_equal(sorted_plan(context, &c.a.view, 3, 0, &plan), MERBIT_OK);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, "values all equal"));
  for (turn = 0; turn < 4; turn++) {
    double *fresh = (double *)test_allocate(m.nnz, sizeof(double));
    for (k = 0; k < m.nnz; k++) {
      m.values[k] = turn % 2 == 0 ? 2.5 : (double)(k % 11) - 5;
      fresh[k] = m.values[k];
    }
    assert_int_equal(merbit_plan_update_values(plan, fresh, MERBIT_MEMORY_HOST), MERBIT_OK);
    free(fresh);
    c.m = m;
    products_once(&c, 0.5, -1, multiply, plan);
    assert_int_equal(plan->sorted.values != NULL, turn > 0);
    assert_null(plan->own_values);
  }
  merbit_plan_destroy(plan);
  products_case_free(&c);
  test_matrix_free(&m);
  merbit_context_destroy(context);
}

static void changing_values_are_general(void **state) {
  static const int32_t row_ptr[] = {0, 2, 3}, col_ind[] = {0, 1, 1};
  static const float values[] = {2, 2, 2}, fresh[] = {1, 2, 3}, x[] = {1, 10};
  merbit_view view = merbit_csr(2, 2, 3, row_ptr, col_ind, values);
  merbit_context *context = cpu_open(NULL, 1);
  merbit_plan_desc desc;
  merbit_plan *plan;
  float y[2];
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_SORTED;
  desc.changing_values = 1;
  view.value_type = MERBIT_F32;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_non_null(plan->sorted.values);
  assert_int_equal(merbit_plan_update_values(plan, fresh, MERBIT_MEMORY_DEFAULT), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_true(y[0] == 21 && y[1] == 30);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

/* Fails each allocation of a plan by SORTED, and of AUTO's, which can do without: no leak, and
 * an error status or the right y. */
static void failing_allocations(void **state) {
  products_form form = products_form_of(0);
  int automatic;
  (void)state;
  for (automatic = 0; automatic < 2; automatic++) {
    test_matrix m;
    products_case c;
    long call, merges = 0;
    int done = 0;
    make_ragged(&m);
    products_case_make(NULL, &m, &form, &c);
    for (call = 1; !done; call++) {
      cpu_memory memory;
      merbit_context *context = cpu_open(&memory, 2);
      merbit_plan_desc desc;
      merbit_plan *plan = NULL;
      merbit_status status;
      memset(&desc, 0, sizeof desc);
      desc.method = automatic ? MERBIT_METHOD_AUTO : MERBIT_METHOD_SORTED;
      memory.made = 0;
      memory.fail_at = call;
      status = merbit_plan_create(context, &c.a.view, &desc, &plan);
      done = memory.made < call;
      memory.fail_at = 0;
      if (status == MERBIT_OK) {
        products_once(&c, 0.5, -1, multiply, plan);
        merges += plan->method == MERBIT_METHOD_MERGE;
      } else {
        assert_int_equal(status, MERBIT_OUT_OF_MEMORY);
        assert_null(plan);
      }
      merbit_plan_destroy(plan);
      merbit_context_destroy(context);
      assert_int_equal(memory.live, 0);
    }
    assert_int_equal(merges, automatic ? 6 : 0); /* each of the arrays of sorted rows */
    products_case_free(&c);
    test_matrix_free(&m);
  }
}

/* Makes a plan that reorders the arrays of its view. Fails each allocation in turn: AUTO then
 * chooses MERGE, which needs the original arrays. Then updates values. If all allocations
 * succeed, repeats this, because tasks can disturb each other only if they run at the same
 * time. */
static void reorders_in_place(void **state) {
  enum { OFTEN = 50 };
  const double one = 1, zero = 0;
  mbi_plan_making making;
  test_matrix m;
  double *x, *y, *fresh;
  int turn;
  int64_t k;
  (void)state;
  memset(&making, 0, sizeof making);
  making.in_place = 1;
  make_ragged(&m);
  x = (double *)test_allocate(m.cols, sizeof *x);
  y = (double *)test_allocate(2 * m.rows, sizeof *y);
  fresh = (double *)test_allocate(m.nnz, sizeof *fresh);
  for (k = 0; k < m.cols; k++) { /* integers: sums are exact in any order */
    x[k] = (double)(k % 13);
  }
  for (k = 0; k < m.nnz; k++) {
    fresh[k] = (double)(k % 11) - 5;
  }
  for (turn = 0; turn < 4; turn++) {
    merbit_method method = MERBIT_METHOD_AUTO;
    int done = 0, update;
    long call;
    for (k = 0; k < m.nnz; k++) {
      m.values[k] = turn % 2 == 0 ? 3 : (double)(k / 2 % 7);
    }
    for (call = 1; done < (turn < 2 ? 1 : OFTEN); call++) {
      cpu_memory memory;
      merbit_context *context = cpu_open(&memory, turn < 2 ? 1 : 3);
      int32_t *columns = (int32_t *)test_allocate(m.nnz + MBI_SORTED_PADDING, sizeof *columns);
      double *values = (double *)test_allocate(m.nnz, sizeof *values);
      merbit_view view = merbit_csr(m.rows, m.cols, m.nnz, NULL, columns, values);
      merbit_view same = merbit_csr(m.rows, m.cols, m.nnz, NULL, m.col_ind, m.values);
      merbit_plan *plan = NULL;
      merbit_status status;
      view.offset_type = same.offset_type = MERBIT_INDEX_64;
      view.row_ptr = same.row_ptr = m.row_ptr;
      memcpy(columns, m.col_ind, (size_t)m.nnz * sizeof *columns);
      memcpy(values, m.values, (size_t)m.nnz * sizeof *values);
      memory.made = 0;
      memory.fail_at = call;
      status = mbi_plan_create(context, &view, NULL, &making, &plan);
      done += memory.made < call;
      memory.fail_at = 0;
      assert_int_equal(status, plan != NULL ? MERBIT_OK : MERBIT_OUT_OF_MEMORY);
      for (update = 0; plan != NULL && update < 2; update++) {
        method = plan->method;
        assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
        mbi_reference_multiply(&same, update ? fresh : m.values, &one, x, &zero, y + m.rows);
        assert_memory_equal(y, y + m.rows, (size_t)m.rows * sizeof *y);
        assert_int_equal(merbit_plan_update_values(plan, fresh, MERBIT_MEMORY_HOST), MERBIT_OK);
      }
      merbit_plan_destroy(plan);
      merbit_context_destroy(context);
      assert_int_equal(memory.live, 0);
      free(columns);
      free(values);
    }
    assert_int_equal(method, MERBIT_METHOD_SORTED);
  }
  free(x);
  free(y);
  free(fresh);
  test_matrix_free(&m);
}

static merbit_method taken(merbit_context *context, const merbit_view *view, int calls,
                           const char *why) {
  merbit_plan_desc desc;
  merbit_plan *plan;
  merbit_plan_info info;
  char line[1024];
  memset(&desc, 0, sizeof desc);
  desc.expected_calls = calls;
  assert_int_equal(merbit_plan_create(context, view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  (void)merbit_plan_describe(plan, line, sizeof line);
  if (strstr(line, why) == NULL) {
    fail_msg("\"%s\" lacks \"%s\"", line, why);
  }
  merbit_plan_destroy(plan);
  return info.method;
}

/* Makes rows of `length` blocks of `block` with different values; base 1. */
static void make_blocked(int rows, int length, int block, int32_t *row_ptr, int32_t *col_ind,
                         double *values) {
  int row, k;
  row_ptr[0] = 1;
  for (row = 0; row < rows; row++) {
    for (k = 0; k < length * block; k++) {
      const int at = row * length * block + k;
      col_ind[at] = 1 + (row / block * 7 + k / block * 5) % (rows / block) * block + k % block;
      values[at] = 1 + at % 101;
    }
    row_ptr[row + 1] = row_ptr[row] + length * block;
  }
}

static void auto_takes_full_blocks(void **state) {
  enum { ROWS = 420, LENGTH = 4, MOST = ROWS * LENGTH * 8 };
  merbit_context *context = cpu_open(NULL, 2);
  int32_t row_ptr[ROWS + 1];
  int32_t *col_ind = (int32_t *)test_allocate(MOST, sizeof *col_ind);
  double *values = (double *)test_allocate(MOST, sizeof *values);
  double *x = (double *)test_allocate(ROWS, sizeof *x);
  double *y = (double *)test_allocate(2 * ROWS, sizeof *y);
  const double one = 1, zero = 0;
  int block, i, turn;
  (void)state;
  for (i = 0; i < ROWS; i++) {
    x[i] = 1 + i % 13;
  }
  for (block = 3; block <= 7; block++) {
    const int nnz = ROWS * LENGTH * block;
    merbit_view view = merbit_csr(ROWS, ROWS, nnz, row_ptr, col_ind, values);
    merbit_plan *plan;
    char why[64];
    if (ROWS % block != 0) {
      continue;
    }
    make_blocked(ROWS, LENGTH, block, row_ptr, col_ind, values);
    view.base = 1;
    (void)snprintf(why, sizeof why, "blocks of %d x %d", block, block);
    assert_int_equal(taken(context, &view, 0, "bsr on the CPU (full blocks, forecast "),
                     MERBIT_METHOD_BSR);
    assert_int_equal(taken(context, &view, 0, why), MERBIT_METHOD_BSR);
    assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
    for (turn = 0; turn < 2; turn++) { /* integers: sums are exact in any order */
      assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
      mbi_reference_multiply(&view, values, &one, x, &zero, y + ROWS);
      assert_memory_equal(y, y + ROWS, ROWS * sizeof *y);
      for (i = 0; i < nnz; i++) {
        values[i] = 3 + i % 17;
      }
      assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST), MERBIT_OK);
    }
    merbit_plan_destroy(plan);
    col_ind[nnz - 1] = col_ind[nnz - 2]; /* the last block has a duplicate */
    assert_int_equal(taken(context, &view, 0, "runner-up merge"), MERBIT_METHOD_SORTED);
    make_blocked(ROWS, LENGTH, block, row_ptr, col_ind, values);
    row_ptr[ROWS - 1] -= 1; /* rows of the block differ in length */
    assert_int_equal(taken(context, &view, 0, "runner-up merge"), MERBIT_METHOD_SORTED);
    make_blocked(ROWS, LENGTH, block, row_ptr, col_ind, values);
    row_ptr[ROWS] -= 1; /* the last row is a prefix of those above it */
    view.nnz = nnz - 1;
    assert_int_equal(taken(context, &view, 0, "runner-up merge"), MERBIT_METHOD_SORTED);
    view.nnz = nnz;
    make_blocked(ROWS, LENGTH, block, row_ptr, col_ind, values);
    for (i = 0; i < nnz; i++) {
      values[i] = 4;
    }
    assert_int_equal(taken(context, &view, 0, "values all equal"), MERBIT_METHOD_SORTED);
  }
  free(col_ind);
  free(values);
  free(x);
  free(y);
  merbit_context_destroy(context);
}

static void auto_leaves_long_rows(void **state) {
  enum { ROWS = 90, LENGTH = 101 };
  merbit_context *context = cpu_open(NULL, 2);
  int32_t row_ptr[ROWS + 1], col_ind[ROWS * LENGTH];
  float values[ROWS * LENGTH];
  merbit_view view = merbit_csr(ROWS, 1000, ROWS * LENGTH, row_ptr, col_ind, values);
  int i;
  (void)state;
  for (i = 0; i <= ROWS; i++) {
    row_ptr[i] = i * LENGTH;
  }
  for (i = 0; i < ROWS * LENGTH; i++) {
    col_ind[i] = i * 7 % 1000;
    values[i] = (float)i;
  }
  view.value_type = MERBIT_F32;
  assert_int_equal(taken(context, &view, 0, "runner-up sorted"), MERBIT_METHOD_MERGE);
  view.values = NULL;
  assert_int_equal(taken(context, &view, 0, "runner-up merge"), MERBIT_METHOD_SORTED);
  merbit_context_destroy(context);
}

static void what_auto_takes(void **state) {
  products_form form = products_form_of(0);
  merbit_context *context = cpu_open(NULL, 2);
  test_matrix m;
  products_case c;
  (void)state;
  make_ragged(&m);
  products_case_make(NULL, &m, &form, &c);
  assert_int_equal(taken(context, &c.a.view, 0, " us for 100 products, runner-up merge "),
                   MERBIT_METHOD_SORTED);
  assert_int_equal(taken(context, &c.a.view, 1, "for 1 product without inspecting the matrix"),
                   MERBIT_METHOD_MERGE);
  assert_int_equal(taken(context, &c.a.view, 12, "for 12 products without inspecting"),
                   MERBIT_METHOD_MERGE);
  assert_int_equal(taken(context, &c.a.view, 13, "for 13 products, runner-up sorted "),
                   MERBIT_METHOD_MERGE);
  c.a.view.rows = 300;
  c.a.view.nnz = m.row_ptr[300];
  assert_int_equal(taken(context, &c.a.view, 0, "small; runner-up sorted"),
                   MERBIT_METHOD_MERGE);
  products_case_free(&c);
  test_matrix_free(&m);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_matrix_in_every_form),  cmocka_unit_test(several_windows),
      cmocka_unit_test(the_same_bits_from_any_pool), cmocka_unit_test(new_values),
      cmocka_unit_test(changing_values_are_general), cmocka_unit_test(failing_allocations),
      cmocka_unit_test(reorders_in_place),           cmocka_unit_test(what_auto_takes),
      cmocka_unit_test(auto_takes_full_blocks),      cmocka_unit_test(auto_leaves_long_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
