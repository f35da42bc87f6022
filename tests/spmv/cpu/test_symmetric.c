/* Plans of matrices given by one triangle on the CPU: products and new values in every form,
 * choices and descriptions, and lack of memory. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/effort.h"
#include "support/symmetric.h"
#include "support/squares.h"

static const merbit_method methods[] = {MERBIT_METHOD_SYMMETRIC, MERBIT_METHOD_AUTO,
                                        MERBIT_METHOD_MERGE, MERBIT_METHOD_REFERENCE,
                                        MERBIT_METHOD_BSR};

/* Makes a form by bits: those of products_form_of, then unchecked. */
static products_form form_of(int bits, int method, int operation) {
  products_form form = products_form_of(bits);
  form.plan.method = methods[method];
  form.plan.operation = (merbit_operation)operation;
  form.plan.unchecked = bits >> 6 & 1;
  form.plan.vector_memory = MERBIT_MEMORY_HOST;
  return form;
}

static void all_ones(test_matrix *m) {
  int64_t k;
  for (k = 0; k < m->nnz; k++) {
    m->values[k] = 1;
  }
}

static int check(merbit_context *context, test_matrix *m, products_form form, int symmetry,
                 int upper, uint64_t spoil) {
  form.pattern &= symmetry != MERBIT_SYMMETRY_SKEW;
  if (form.pattern) {
    all_ones(m);
  }
  return symmetric_check(context, m, &form, (merbit_symmetry)symmetry, upper, spoil);
}

/* Every generated matrix in some forms, with NaN and Inf in x. */
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
      const products_form form =
          form_of((int)test_below(&random, 128), (int)test_below(&random, i < 2 ? 1 : 5),
                  (int)test_below(&random, 3));
      test_matrix m;
      test_matrix_make(index, seed, &m);
      products +=
          check(context[i & 1], &m, form, 1 + (int)test_below(&random, 3),
                (int)test_below(&random, 2),
                /* blocks first add duplicates: (a - a) * Inf is not a * Inf - a * Inf */
                form.plan.method == MERBIT_METHOD_BSR ? 0 : test_random(&random) | 1);
      test_matrix_free(&m);
    }
  }
  print_message("%d products\n", products);
  merbit_context_destroy(context[0]);
  merbit_context_destroy(context[1]);
}

/* One matrix in every form. */
static void every_form(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  int bits, method, way;
  (void)state;
  for (bits = 0; bits < 128; bits++) {
    for (method = 0; method < 5; method++) {
      for (way = 0; way < 18; way++) {
        products_form form = form_of(bits, method, way / 6);
        test_matrix m;
        if ((bits + method + way) % 3 != 0) {
          continue; /* each pair of choices occurs anyway */
        }
        form.few_scalars = 1;
        square_grid(5, 7, 8, 5, &m);
        (void)check(context, &m, form, 1 + way % 3, way / 3 % 2, 0);
        test_matrix_free(&m);
      }
    }
  }
  merbit_context_destroy(context);
}

/* Tasks for several threads whose rows write into each other's; also reordered. */
static void several_tasks(void **state) {
  merbit_context *context[2];
  int way, index;
  (void)state;
  context[0] = cpu_open(NULL, 2);
  context[1] = cpu_open(NULL, 7);
  for (way = 0; way < 24; way++) {
    products_form form = form_of(way * 5, way % 4 == 3 ? 2 : 0, way % 3);
    test_matrix m;
    form.few_scalars = 1;
    if (way % 4 == 3) {
      form.plan.reordering = MERBIT_REORDERING_RCM;
    }
    if (way % 2 == 0) {
      square_grid(150, 150, 8, 5, &m);
    } else {
      for (index = test_matrix_first(); index < test_matrix_count();
           index += test_matrix_step()) {
        test_matrix_make(index, 3, &m);
        if (m.nnz > 40000 && m.rows > 10) {
          break;
        }
        test_matrix_free(&m);
      }
    }
    (void)check(context[way / 2 % 2], &m, form, 1 + way / 2 % 3, way & 1, 0);
    test_matrix_free(&m);
  }
  merbit_context_destroy(context[0]);
  merbit_context_destroy(context[1]);
}

static void empty_matrices(void **state) {
  static const int32_t none[] = {1, 1, 1, 1};
  merbit_context *context = cpu_open(NULL, 2);
  int rows, method, base;
  (void)state;
  for (rows = 0; rows <= 3; rows += 3) {
    for (method = 0; method < 5; method++) {
      for (base = 0; base < 2; base++) {
        merbit_view view = merbit_csr(rows, rows, 0, none, NULL, NULL);
        double x[] = {1, 2, 3}, y[] = {4, 5, 6};
        merbit_plan_desc desc;
        merbit_plan *plan;
        static const int32_t zero[] = {0, 0, 0, 0};
        memset(&desc, 0, sizeof desc);
        desc.method = methods[method];
        view.row_ptr = base ? none : zero;
        view.base = base;
        view.symmetry = (merbit_symmetry)(1 + (rows + method) % 3);
        assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
        assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
        assert_true(y[0] == (rows > 0 ? 0 : 4) && y[2] == (rows > 0 ? 0 : 6));
        merbit_plan_destroy(plan);
      }
    }
  }
  merbit_context_destroy(context);
}

/* Equal plans, and repeated products, give equal bits. */
static void repeatable(void **state) {
  merbit_context *context = cpu_open(NULL, 4);
  products_form form = form_of(0, 0, 0);
  products_case c;
  test_matrix m;
  symmetric_case h;
  merbit_plan *plan[2];
  merbit_workspace *workspace;
  double beta = 0.5, *again;
  int i;
  (void)state;
  square_grid(90, 90, 8, 5, &m);
  symmetric_make(&m, MERBIT_SYMMETRY_SYMMETRIC, 0, MERBIT_OPERATION_N, &h);
  products_case_make(context, &h.half, &form, &c);
  c.a.view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  again = (double *)test_allocate(h.half.rows, sizeof *again);
  for (i = 0; i < 2; i++) {
    products_done(context, merbit_plan_create(context, &c.a.view, &form.plan, &plan[i]),
                  "plan");
  }
  products_done(context, merbit_workspace_create(plan[1], &workspace), "a workspace");
  memcpy(c.y, c.y0, (size_t)h.half.rows * 8);
  products_done(context, merbit_spmv(plan[0], NULL, NULL, c.x, &beta, c.y, NULL), "a product");
  for (i = 0; i < 20; i++) {
    memcpy(again, c.y0, (size_t)h.half.rows * 8);
    products_done(
        context,
        merbit_spmv(plan[i & 1], i & 1 ? workspace : NULL, NULL, c.x, &beta, again, NULL),
        "a product");
    assert_memory_equal(again, c.y, (size_t)h.half.rows * 8);
  }
  merbit_workspace_destroy(workspace);
  merbit_plan_destroy(plan[0]);
  merbit_plan_destroy(plan[1]);
  free(again);
  products_case_free(&c);
  symmetric_free(&h);
  test_matrix_free(&m);
  merbit_context_destroy(context);
}

/* ---- Choices and descriptions ------------------------------------------------------------ */

static const int32_t row_ptr[] = {0, 1, 3, 5}, row_ind[] = {0, 1, 1, 2, 2},
                     col_ind[] = {0, 0, 1, 0, 1};
static const double values[] = {4, 1, 5, 2, 3};

static void told(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  double x[] = {1, 10, 100}, y[3];
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan;
  char line[1024];
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.expected_calls = 1;
  view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_int_equal(info.method, MERBIT_METHOD_SYMMETRIC);
  assert_int_equal(info.bytes_per_product, 5 * 12 + 6 * 8 + 4 * 4);
  assert_true(info.expand_seconds > 0 && info.expand_seconds <= info.plan_seconds);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, "symmetric on the CPU"));
  assert_non_null(strstr(line, "; symmetric, given by 5 entries of its lower triangle, checked "
                               "in "));
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_true(y[0] == 214 && y[1] == 351 && y[2] == 32);
  merbit_plan_destroy(plan);
  desc.method = MERBIT_METHOD_MERGE;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_int_equal(info.method, MERBIT_METHOD_MERGE);
  assert_int_equal(info.bytes_per_product, 8 * 12 + 6 * 8 + 4 * 4);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, ", 8 nonzeros"));
  assert_non_null(strstr(line, "of its lower triangle, expanded in "));
  merbit_plan_destroy(plan);
  view.format = MERBIT_COO; /* the reverse: the upper triangle */
  view.row_ind = col_ind;
  view.col_ind = row_ind;
  view.symmetry = MERBIT_SYMMETRY_HERMITIAN;
  desc.method = MERBIT_METHOD_SYMMETRIC;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(
      line, "; Hermitian, given by 5 entries of its upper triangle, copied in row order in "));
  merbit_plan_destroy(plan);
  view.symmetry = MERBIT_SYMMETRY_NONE;
  desc.method = MERBIT_METHOD_AUTO;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_true(info.expand_seconds == 0);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_null(strstr(line, "triangle"));
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

/* Symmetric storage is kept if rows are long, values differ and tasks are separate, or for few
 * products. */
static void chosen(void **state) {
  merbit_context *context = cpu_open(NULL, 4);
  int way;
  (void)state;
  for (way = 0; way < 10; way++) {
    const int scattered = way & 1, few = way / 2 == 1, unsorted = way / 2 == 2;
    const int equal = way / 2 == 3, length = way / 2 == 4 ? 11 : 13;
    const int32_t n = 20000;
    int32_t *ptr = (int32_t *)test_allocate(n + 1, 4),
            *col = (int32_t *)test_allocate(13 * n, 4);
    double *numbers = (double *)test_allocate(13 * n, 8);
    merbit_view view = merbit_csr(n, n, 0, ptr, col, numbers);
    merbit_plan_desc desc;
    merbit_plan_info info;
    merbit_plan *plan;
    uint64_t random = 5;
    int32_t i, k, at = 0;
    for (i = 0; i < n; i++) {
      for (k = 0; k < length; k++) {
        numbers[at] = equal ? 2 : at;
        col[at++] = scattered  ? (int32_t)test_below(&random, i + 1)
                    : i < 12   ? 0
                    : unsorted ? i - k
                               : i - 12 + k;
      }
      ptr[i + 1] = at;
    }
    view.nnz = at;
    view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
    memset(&desc, 0, sizeof desc);
    desc.expected_calls = few ? 49 : 50;
    assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
    assert_int_equal(info.method == MERBIT_METHOD_SYMMETRIC,
                     few || (!scattered && !equal && length == 13));
    merbit_plan_destroy(plan);
    free(ptr);
    free(col);
    free(numbers);
  }
  merbit_context_destroy(context);
}

/* The error names the first entry in the other triangle, for any number of threads. */
static void first_offender(void **state) {
  merbit_context *context = cpu_open(NULL, 5);
  const int32_t n = 200000;
  int32_t *row = (int32_t *)test_allocate(n, 4), *col = (int32_t *)test_allocate(n, 4), i;
  merbit_view view = merbit_csr(n, n, n, NULL, col, NULL);
  (void)state;
  view.format = MERBIT_COO;
  view.row_ind = row;
  view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  view.base = 1;
  for (i = 0; i < n; i++) {
    row[i] = i == 0 ? 1 : i;
    col[i] = i + 1;
  }
  col[0] = 1;
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  row[150000] = row[190000] = n;
  col[150000] = 77;
  assert_int_equal(merbit_view_check(context, &view), MERBIT_INVALID_MATRIX);
  cpu_expect(context, MERBIT_INVALID_MATRIX, "entry 150000, (200000, 77), lies below");
  free(row);
  free(col);
  merbit_context_destroy(context);
}

/* ---- Memory ------------------------------------------------------------------------------ */

/* Each allocation of a plan and of an update fails once, and then for good. */
static void memory_runs_out(void **state) {
  static const merbit_method made_by[] = {MERBIT_METHOD_SYMMETRIC, MERBIT_METHOD_AUTO,
                                          MERBIT_METHOD_MERGE, MERBIT_METHOD_BSR};
  int way, failures = 0;
  (void)state;
  for (way = 0; way < 32; way++) {
    cpu_memory memory;
    merbit_context *context = cpu_open(&memory, 1);
    const products_form form = form_of(way & 4 ? 32 : 0, 0, 0);
    products_arrays a;
    test_matrix m;
    symmetric_case h;
    merbit_plan_desc desc;
    merbit_plan *plan = NULL;
    const long before = memory.live;
    long nth;
    merbit_status status = MERBIT_OUT_OF_MEMORY;
    memset(&desc, 0, sizeof desc);
    desc.method = made_by[way & 3];
    square_grid(5, 7, 8, 5, &m);
    symmetric_make(&m, MERBIT_SYMMETRY_SKEW, way >> 3 & 1, MERBIT_OPERATION_N, &h);
    products_arrays_make(NULL, &h.half, &form, &a);
    a.view.symmetry = MERBIT_SYMMETRY_SKEW;
    for (nth = 1; status != MERBIT_OK; nth++) {
      memory.made = 0;
      memory.fail_at = nth;
      memory.for_good = way >> 4;
      status = merbit_plan_create(context, &a.view, &desc, &plan);
      if (status != MERBIT_OK) {
        assert_int_equal(status, MERBIT_OUT_OF_MEMORY);
        cpu_expect(context, MERBIT_OUT_OF_MEMORY, "memory");
        assert_null(plan);
        assert_int_equal(memory.live, before);
        failures++;
      }
    }
    for (nth = 1, status = MERBIT_OUT_OF_MEMORY; status != MERBIT_OK; nth++) {
      memory.made = 0;
      memory.fail_at = nth;
      status = merbit_plan_update_values(plan, a.values, MERBIT_MEMORY_DEFAULT);
      assert_true(status == MERBIT_OK || status == MERBIT_OUT_OF_MEMORY);
    }
    memory.fail_at = 0;
    merbit_plan_destroy(plan);
    assert_int_equal(memory.live, before);
    products_arrays_free(&a);
    symmetric_free(&h);
    test_matrix_free(&m);
    merbit_context_destroy(context);
    assert_int_equal(memory.live, 0);
  }
  print_message("%d failures\n", failures);
}

/* Each allocation of a reader and of an expansion fails. */
static void readers_run_out(void **state) {
  static const char text[] =
      "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n3 3 4\n2 1 1\n3 1 2.5\n3 1 -3\n";
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  const long before = memory.live;
  merbit_matrix *half = NULL, *full = NULL;
  merbit_read_desc desc;
  merbit_status status = MERBIT_OUT_OF_MEMORY;
  long nth;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.keep_half = 1;
  for (nth = 1; status != MERBIT_OK; nth++) {
    merbit_view view;
    memory.made = 0;
    memory.fail_at = nth;
    status = merbit_matrix_read_memory(context, text, sizeof text - 1, &desc, &half);
    view = merbit_matrix_view(half);
    if (status == MERBIT_OK) {
      status = merbit_matrix_create(context, &view, &full);
    }
    assert_true(status == MERBIT_OK || status == MERBIT_OUT_OF_MEMORY);
    assert_true((full != NULL) == (status == MERBIT_OK));
    merbit_matrix_destroy(half);
    merbit_matrix_destroy(full);
    assert_int_equal(memory.live, before);
  }
  assert_true(nth > 12);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_matrix),    cmocka_unit_test(every_form),
      cmocka_unit_test(several_tasks),   cmocka_unit_test(empty_matrices),
      cmocka_unit_test(repeatable),      cmocka_unit_test(told),
      cmocka_unit_test(chosen),          cmocka_unit_test(memory_runs_out),
      cmocka_unit_test(readers_run_out), cmocka_unit_test(first_offender),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
