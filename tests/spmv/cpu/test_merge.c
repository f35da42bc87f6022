/* The merge-path product: any number of tasks, on any number of threads, meets the
 * componentwise bound; the same tasks give the same bits; one task gives the bits of the row
 * loop if rows are short. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/products.h"

typedef struct run {
  merbit_context *context;
  int tasks;
} run;

static void multiply(void *user, const merbit_view *csr, const void *alpha, const void *x,
                     const void *beta, void *y) {
  const run *r = (const run *)user;
  size_t bytes = mbi_merge_scratch_bytes(r->tasks, csr->value_type);
  void *scratch = malloc(bytes);
  memset(scratch, 0xff, bytes); /* NaN: an earlier product's results must not matter */
  mbi_merge_multiply(r->context, csr, csr->values, r->tasks, scratch, alpha, x, beta, y);
  free(scratch);
}

/* Walks the path step by step: at each diagonal the search must find the walker. */
static void search_follows_the_path(void **state) {
  int i, bits;
  (void)state;
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    for (bits = 0; bits < 4; bits += 3) {
      products_case c;
      int64_t row = 0, entry = 0, diagonal;
      products_generate(i, bits, &c);
      for (diagonal = 0; diagonal <= c.m.rows + c.m.nnz; diagonal++) {
        mbi_merge_point point = mbi_merge_search(&c.a.view, diagonal);
        assert_int_equal(point.row, row);
        assert_int_equal(point.entry, entry);
        if (row < c.m.rows && c.m.row_ptr[row + 1] <= entry) {
          row++;
        } else {
          entry++;
        }
      }
      products_generated_free(&c);
    }
  }
}

/* Every form with every number of tasks; alpha and beta change with a counter. */
static void every_matrix_in_every_form(void **state) {
  static const int counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 17, 0};
  run r;
  unsigned turn = 0;
  int i, bits, t;
  (void)state;
  r.context = cpu_open(NULL, 3);
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    for (bits = 0; bits < 16; bits++) {
      products_case c;
      products_generate(i, bits, &c);
      for (t = 0; t < 10; t++, turn++) {
        int64_t path = c.m.rows + c.m.nnz;
        r.tasks = counts[t] > 0 ? counts[t] : path < 300 ? (int)path + 3 : 300;
        products_once(&c, products_scalars[turn % 4], products_scalars[(turn / 4) % 4],
                      multiply, &r);
      }
      products_generated_free(&c);
    }
  }
  merbit_context_destroy(r.context);
}

static void all_scalars(void **state) {
  run r;
  int i, bits, a, b;
  (void)state;
  r.context = cpu_open(NULL, 2);
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    for (bits = 0; bits < 16; bits += 5) {
      products_case c;
      products_generate(i, bits, &c);
      r.tasks = 4;
      for (a = 0; a < 4; a++) {
        for (b = 0; b < 4; b++) {
          products_once(&c, products_scalars[a], products_scalars[b], multiply, &r);
        }
      }
      products_generated_free(&c);
    }
  }
  merbit_context_destroy(r.context);
}

static void nan_and_inf_stay_in_their_rows(void **state) {
  run r;
  int i, bits;
  (void)state;
  r.context = cpu_open(NULL, 2);
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    for (bits = 0; bits < 8; bits += 7) {
      products_case c;
      products_generate(i, bits, &c);
      products_spoil_x(&c, 29);
      for (r.tasks = 1; r.tasks < 40; r.tasks += 6) {
        products_once(&c, 1, 0, multiply, &r);
        products_once(&c, 0.5, -1, multiply, &r);
        products_once(&c, 0, 1, multiply, &r);
      }
      products_generated_free(&c);
    }
  }
  merbit_context_destroy(r.context);
}

static void bits_depend_on_tasks_alone(void **state) {
  merbit_context *contexts[3];
  int i, t, k, tasks;
  (void)state;
  for (t = 0; t < 3; t++) {
    contexts[t] = cpu_open(NULL, 1 + 3 * t);
  }
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    products_case c;
    void *first;
    size_t bytes;
    products_generate(i, 0, &c);
    bytes = (size_t)c.m.rows * 8;
    first = malloc(bytes + 1);
    for (tasks = 1; tasks < 12; tasks += 5) {
      for (k = 0; k < 6; k++) {
        run r;
        r.context = contexts[k % 3];
        r.tasks = tasks;
        products_once(&c, 0.5, -1, multiply, &r);
        if (k == 0) {
          memcpy(first, c.y, bytes);
        }
        assert_memory_equal(first, c.y, bytes);
      }
      if (tasks == 1 && c.m.nnz / MBI_MERGE_LONG < c.m.rows) {
        const double alpha = 0.5, beta = -1;
        memcpy(c.y, c.y0, bytes);
        mbi_reference_multiply(&c.a.view, c.a.view.values, &alpha, c.x, &beta, c.y);
        assert_memory_equal(first, c.y, bytes);
      }
    }
    free(first);
    products_generated_free(&c);
  }
  for (t = 0; t < 3; t++) {
    merbit_context_destroy(contexts[t]);
  }
}

/* A row of ones over all tasks: the sum is exact, however it is divided, and y is added
 * once. */
static void one_row_over_all_tasks(void **state) {
  enum { LENGTH = 1000 };
  static const int32_t col_ind[LENGTH] = {0};
  run r;
  (void)state;
  r.context = cpu_open(NULL, 4);
  for (r.tasks = 1; r.tasks <= 1024; r.tasks++) {
    const int32_t row_ptr[] = {0, LENGTH};
    const double two = 2, half = 0.5, x = 1;
    double y = 100;
    merbit_view view = merbit_csr(1, 1, LENGTH, row_ptr, col_ind, NULL);
    view.value_type = MERBIT_F64;
    multiply(&r, &view, &two, &x, &half, &y);
    assert_true(y == 2050);
  }
  merbit_context_destroy(r.context);
}

static void alpha_zero_reads_only_y(void **state) {
  const double zero = 0, half = 0.5;
  double y[101];
  merbit_view view = merbit_csr(100, 3, 9, NULL, NULL, NULL);
  run r;
  int i;
  (void)state;
  view.value_type = MERBIT_F64;
  r.context = cpu_open(NULL, 2);
  for (r.tasks = 1; r.tasks <= 120; r.tasks++) {
    for (i = 0; i < 101; i++) {
      y[i] = i;
    }
    multiply(&r, &view, &zero, NULL, &half, y);
    for (i = 0; i < 101; i++) {
      assert_true(y[i] == (i < 100 ? 0.5 * i : 100));
    }
    y[0] = (double)NAN;
    multiply(&r, &view, &zero, NULL, &zero, y);
    for (i = 0; i < 100; i++) {
      assert_true(y[i] == 0);
    }
  }
  merbit_context_destroy(r.context);
}

static void missing_arrays_of_an_empty_matrix(void **state) {
  static const int32_t row_ptr[] = {1, 1, 1};
  const double one = 1, zero = 0;
  double y[2];
  merbit_view view = merbit_csr(2, 0, 0, row_ptr, NULL, NULL);
  run r;
  (void)state;
  view.base = 1;
  view.value_type = MERBIT_F64;
  r.context = cpu_open(NULL, 2);
  for (r.tasks = 1; r.tasks < 6; r.tasks++) {
    y[0] = (double)NAN;
    y[1] = (double)NAN;
    multiply(&r, &view, &one, NULL, &zero, y);
    assert_true(y[0] == 0 && y[1] == 0);
  }
  view = merbit_csr(0, 2, 0, NULL, NULL, NULL);
  multiply(&r, &view, &one, y, &zero, NULL);
  merbit_context_destroy(r.context);
}

static void short_paths_get_few_tasks(void **state) {
  merbit_context *context = cpu_open(NULL, 5);
  merbit_view view = merbit_csr(0, 9, 0, NULL, NULL, NULL);
  (void)state;
  assert_int_equal(mbi_merge_tasks(context, &view), 1);
  view.rows = 6383;
  view.nnz = 10000;
  assert_int_equal(mbi_merge_tasks(context, &view), 1);
  view.rows = 6384;
  assert_int_equal(mbi_merge_tasks(context, &view), 2);
  view.nnz = 10000000;
  assert_int_equal(mbi_merge_tasks(context, &view), 5);
  view.rows = (int64_t)1 << 40; /* beyond 32 bits of steps */
  assert_int_equal(mbi_merge_tasks(context, &view), 5);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(search_follows_the_path),
      cmocka_unit_test(every_matrix_in_every_form),
      cmocka_unit_test(all_scalars),
      cmocka_unit_test(nan_and_inf_stay_in_their_rows),
      cmocka_unit_test(bits_depend_on_tasks_alone),
      cmocka_unit_test(one_row_over_all_tasks),
      cmocka_unit_test(alpha_zero_reads_only_y),
      cmocka_unit_test(missing_arrays_of_an_empty_matrix),
      cmocka_unit_test(short_paths_get_few_tasks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
