/* Sizes around and beyond 2^24, 2^31 and 2^32: the merge path's search, products on sparse
 * mappings, and MERBIT's tile sizes. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/effort.h"
#include "support/sparse.h"

#define TWO(bits) ((int64_t)1 << (bits))

/* Under AddressSanitizer tests that take gigabytes would take a minute and all memory of a
 * small machine: they run only without it, or with --full. */
#ifdef __SANITIZE_ADDRESS__
static const int slow = 1;
#else
static const int slow = 0;
#endif

static int left_out(void) {
  return test_effort(slow, 0);
}

static int turn; /* from the seed, in quick effort: which number of nonzeros */

/* ---- The search -------------------------------------------------------------------------- */

/* Counts the row ends among the first `diagonal` steps, one by one. */
static int64_t ends_before(const int64_t *row_ptr, int64_t rows, int base, int64_t diagonal) {
  int64_t row, ends = 0;
  for (row = 0; row < rows; row++) {
    ends += row_ptr[row + 1] - base + row + 1 <= diagonal;
  }
  return ends;
}

static void search_beyond_32_bits(void **state) {
  static const int bits[] = {30, 31, 32, 33, 40, 59};
  size_t i;
  int base, row, delta;
  (void)state;
  for (i = 0; i < sizeof bits / sizeof bits[0]; i++) {
    for (base = 0; base < 2; base++) {
      const int64_t b = TWO(bits[i]);
      int64_t row_ptr[9] = {0, 0, 3, b - 1, b - 1, b, b + 1000, 2 * b - 9, 2 * b - 9};
      const int64_t nnz = row_ptr[8];
      merbit_view csr = merbit_csr(8, 1, nnz, row_ptr, NULL, NULL);
      csr.offset_type = MERBIT_INDEX_64;
      csr.base = base;
      for (row = 0; row < 9; row++) {
        row_ptr[row] += base;
      }
      for (row = 0; row <= 8; row++) {
        for (delta = -3; delta <= 3; delta++) {
          const int64_t diagonal = row_ptr[row] - base + row + delta;
          if (diagonal >= 0 && diagonal <= nnz + 8) {
            const mbi_merge_point point = mbi_merge_search(&csr, diagonal);
            const int64_t ends = ends_before(row_ptr, 8, base, diagonal);
            assert_true(point.row == ends && point.entry == diagonal - ends);
          }
        }
      }
    }
  }
}

/* A path is divided without gap or overlap into shares that differ by at most one step. */
static void shares_beyond_32_bits(void **state) {
  static const int64_t counts[] = {
      0, 1, 1000, TWO(31) - 1, TWO(31), TWO(32) + 1, TWO(40) + 12345, 2 * (TWO(60) - 2)};
  size_t i;
  int tasks, task;
  (void)state;
  for (i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    for (tasks = 1; tasks <= 1024; tasks += tasks < 20 ? 1 : 167) {
      assert_true(mbi_share(counts[i], tasks, 0) == 0);
      for (task = 0; task < tasks; task++) {
        const int64_t share =
            mbi_share(counts[i], tasks, task + 1) - mbi_share(counts[i], tasks, task);
        assert_true(share == counts[i] / tasks || share == counts[i] / tasks + 1);
      }
      assert_true(mbi_share(counts[i], tasks, tasks) == counts[i]);
    }
  }
}

/* ---- More nonzeros than 2^31 ------------------------------------------------------------- */

enum { PERIOD = 4096, COLS = 700 };

typedef struct long_matrix { /* 6 rows, some of them very long; the columns repeat */
  int64_t ptr64[7];
  int32_t ptr32[7];
  sparse_array col_ind, values;
  float sample[PERIOD]; /* f32; each lane of eight subtracts what it added */
  int32_t columns[PERIOD];
  merbit_view view;
} long_matrix;

static int long_make(long_matrix *m, int64_t nnz, merbit_index_type type, int base,
                     int single) {
  const int64_t ends[7] = {0, 3, 3, TWO(30) + 1, nnz - 107, nnz - 95, nnz};
  int i;
  for (i = 0; i < PERIOD; i++) {
    m->columns[i] = (i / 16 * 8 + i % 8) % COLS + base;
    m->sample[i] = (float)((i / 16 % 5 + 1) * (i % 16 < 8 ? 1 : -1));
  }
  m->columns[1] += 3; /* a period of 16 would hide a shift by sixteen */
  m->columns[9] += 3;
  for (i = 0; i < 7; i++) {
    m->ptr64[i] = ends[i] + base;
    m->ptr32[i] = (int32_t)m->ptr64[i];
  }
  m->col_ind = sparse_make(nnz, 4, m->columns, PERIOD, 0);
  m->values.data = NULL;
  if (single) {
    m->values = sparse_make(nnz, 4, m->sample, PERIOD, 0);
  }
  if (m->col_ind.data == NULL || (single && m->values.data == NULL)) {
    print_message("no address space for %" PRId64 " nonzeros: not tried\n", nnz);
    sparse_free(&m->col_ind);
    return 0;
  }
  m->view =
      merbit_csr(6, COLS, nnz, type == MERBIT_INDEX_64 ? (void *)m->ptr64 : (void *)m->ptr32,
                 m->col_ind.data, m->values.data);
  m->view.offset_type = type;
  m->view.base = base;
  m->view.value_type = single ? MERBIT_F32 : MERBIT_F64;
  return 1;
}

static double long_x(int64_t column) {
  return (double)(column % 9 + 1);
}

/* Returns the sum of the first `count` entries: whole periods, and the beginning of one. */
static double long_prefix(const long_matrix *m, int64_t count) {
  double period = 0, rest = 0;
  int64_t i;
  for (i = 0; i < PERIOD; i++) {
    const double term = (m->view.values != NULL ? (double)m->sample[i] : 1) *
                        long_x(m->columns[i] - m->view.base);
    period += term;
    rest += i < count % PERIOD ? term : 0;
  }
  return period * (double)(count / PERIOD) + rest;
}

static void long_product(const long_matrix *m, int threads, merbit_method method) {
  const int single = m->view.value_type == MERBIT_F32;
  merbit_context *context = cpu_open(NULL, threads);
  merbit_plan_desc desc;
  merbit_plan *plan;
  double x64[COLS], y64[6] = {0};
  float x32[COLS], y32[6] = {0};
  int i;
  memset(&desc, 0, sizeof desc);
  desc.unchecked = 1;
  desc.method = method;
  for (i = 0; i < COLS; i++) {
    x64[i] = long_x(i);
    x32[i] = (float)x64[i];
  }
  assert_int_equal(merbit_plan_create(context, &m->view, &desc, &plan), MERBIT_OK);
  assert_int_equal(plan->tasks, threads);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, single ? (void *)x32 : x64, NULL,
                               single ? (void *)y32 : y64, NULL),
                   MERBIT_OK);
  for (i = 0; i < 6; i++) {
    const double right = long_prefix(m, m->ptr64[i + 1] - m->view.base) -
                         long_prefix(m, m->ptr64[i] - m->view.base);
    const double y = single ? (double)y32[i] : y64[i];
    if (y != right) {
      fail_msg("nnz %" PRId64 ", %d tasks: y[%d] is %.17g, not %.17g", m->view.nnz, plan->tasks,
               i, y, right);
    }
  }
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

static void long_try(int64_t nnz, merbit_index_type type, int base, int single) {
  const int all = test_effort(0, 1);
  long_matrix m;
  if (!long_make(&m, nnz, type, base, single)) {
    return;
  }
  long_product(&m, 3, MERBIT_METHOD_MERGE);
  if (all) {
    long_product(&m, 1, MERBIT_METHOD_MERGE);
    long_product(&m, 3, MERBIT_METHOD_REFERENCE);
  }
  print_message("%" PRId64 " nonzeros, %s, %d-bit offsets from %d: %d products\n", nnz,
                single ? "f32" : "f64 pattern", type == MERBIT_INDEX_64 ? 64 : 32, base,
                all ? 3 : 1);
  sparse_free(&m.col_ind);
  sparse_free(&m.values);
}

static void products_of_many_nonzeros(void **state) {
  const int all = test_effort(0, 1);
  (void)state;
  if (left_out()) {
    return;
  }
  if (all || turn != 0) {
    long_try(TWO(31) + 100, MERBIT_INDEX_64, 0, 0);
  }
  if (all || turn == 0) {
    long_try(INT32_MAX - 1, MERBIT_INDEX_32, 1, 1); /* the last offset is 2^31 - 1 */
  }
  if (all) {
    long_try(INT32_MAX, MERBIT_INDEX_32, 0, 0);
    long_try(TWO(31) + 100, MERBIT_INDEX_64, 1, 1);
    long_try(TWO(32) + 100, MERBIT_INDEX_64, 1, 0);
  }
}

/* ---- More rows than 2^31 ----------------------------------------------------------------- */

/* Makes nine entries, in the first rows and the last two, with empty rows between. */
static void fill_offsets(int64_t *row_ptr, int64_t rows) {
  static const int64_t head[] = {0, 2, 3, 3}, tail[] = {5, 7, 9};
  int64_t i;
  for (i = 0; i < 7; i++) {
    row_ptr[i < 4 ? i : rows - 6 + i] = i < 4 ? head[i] : tail[i - 4];
  }
}

/* Half a minute on two cores. */
static void products_of_many_rows(void **state) {
  static const int32_t col_ind[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  static const float x[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, zero = 0;
  const int64_t rows = TWO(31) + 100;
  sparse_array row_ptr, y;
  merbit_view view;
  int threads;
  (void)state;
  if (test_effort(1, 0)) {
    return;
  }
  row_ptr = sparse_constant_i64(rows + 1, 5);
  y = sparse_make(rows, sizeof(float), &zero, 1, 1);
  view = merbit_csr(rows, 10, 9, row_ptr.data, col_ind, NULL);
  if (row_ptr.data == NULL || y.data == NULL) {
    print_message("no address space for %" PRId64 " rows: not tried\n", rows);
    sparse_free(&row_ptr);
    sparse_free(&y);
    return;
  }
  fill_offsets((int64_t *)row_ptr.data, rows);
  view.offset_type = MERBIT_INDEX_64;
  view.value_type = MERBIT_F32;
  for (threads = 1; threads <= 3; threads += 2) {
    merbit_context *context = cpu_open(NULL, threads);
    float *result = (float *)y.data;
    int64_t diagonal;
    int32_t i;
    merbit_plan_desc desc;
    merbit_plan *plan;
    memset(&desc, 0, sizeof desc);
    desc.unchecked = 1;
    assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(plan->tasks, threads);
    for (i = 0; i < 50; i++) { /* NaN at both ends; both write the middle */
      result[i] = result[rows - 1 - i] = (float)NAN;
    }
    assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, result, NULL), MERBIT_OK);
    assert_true(result[0] == 3 && result[1] == 3 && result[2] == 0 && result[3] == 9);
    assert_true(result[rows - 2] == 13 && result[rows - 1] == 17);
    for (i = 4; i < 50; i++) {
      assert_true(result[i] == 0 && result[rows + 1 - i - 2] == 0);
    }
    for (diagonal = TWO(31) - 5; diagonal < TWO(31) + 50; diagonal++) {
      const mbi_merge_point point = mbi_merge_search(&plan->csr, diagonal);
      assert_true(point.row == diagonal - 5 && point.entry == 5);
    }
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
  }
  assert_true(mbi_row_of(&view, 4) == 3 && mbi_row_of(&view, 5) == rows - 2 &&
              mbi_row_of(&view, 8) == rows - 1);
  print_message("%" PRId64 " rows\n", rows);
  sparse_free(&row_ptr);
  sparse_free(&y);
}

/* ---- Around 2^24, where floats stop counting --------------------------------------------- */

static void products_around_2_24(void **state) {
  int64_t n, i;
  (void)state;
  for (n = left_out() ? TWO(24) + 1 : TWO(24) - 1; n <= TWO(24) + 1; n++) {
    merbit_context *context = cpu_open(NULL, 3);
    int32_t *row_ptr = (int32_t *)test_allocate(n + 1, 4),
            *col_ind = (int32_t *)test_allocate(n, 4);
    float *x = (float *)test_allocate(n, 4), *y = (float *)test_allocate(n, 4);
    merbit_view view = merbit_csr(n, n, n, row_ptr, col_ind, NULL);
    merbit_plan *plan;
    view.value_type = MERBIT_F32;
    for (i = 0; i <= n; i++) {
      row_ptr[i] = (int32_t)i;
    }
    for (i = 0; i < n; i++) {
      col_ind[i] = (int32_t)(n - 1 - i);
      x[i] = (float)(i % 1021);
    }
    assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
    assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
    for (i = 0; i < n; i++) {
      if (y[i] != (float)((n - 1 - i) % 1021)) {
        fail_msg("n %" PRId64 ": y[%" PRId64 "] is %g", n, i, (double)y[i]);
      }
    }
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    free(row_ptr);
    free(col_ind);
    free(x);
    free(y);
  }
}

static float sum_of_ones(const merbit_view *view, int threads, merbit_method method) {
  merbit_context *context = cpu_open(NULL, threads);
  const float x = 1;
  float y = 7;
  merbit_plan_desc desc;
  merbit_plan *plan;
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  assert_int_equal(merbit_plan_create(context, view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, &x, NULL, &y, NULL), MERBIT_OK);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
  return y;
}

/* A chain of float additions of 1 stops at 2^24; a row in lanes or parts gets further. All
 * follows IEEE 754: 2^24 + 3 is rounded to even. */
static void a_row_of_2_24_ones(void **state) {
  const int64_t n = TWO(24) + 3;
  const int32_t row_ptr[2] = {0, (int32_t)n};
  int32_t *col_ind = (int32_t *)test_allocate(n, 4);
  merbit_view view = merbit_csr(1, 1, n, row_ptr, col_ind, NULL);
  (void)state;
  view.value_type = MERBIT_F32;
  assert_true(sum_of_ones(&view, 3, MERBIT_METHOD_REFERENCE) == 0x1p24f);
  assert_true(sum_of_ones(&view, 1, MERBIT_METHOD_MERGE) == 0x1p24f + 4);
  assert_true(sum_of_ones(&view, 1, MERBIT_METHOD_SORTED) == 0x1p24f + 4);
  assert_true(sum_of_ones(&view, 3, MERBIT_METHOD_MERGE) == 0x1p24f + 4);
  free(col_ind);
}

int main(void) {
  turn = (int)(test_rotating_seed() % 2);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(search_beyond_32_bits),     cmocka_unit_test(shares_beyond_32_bits),
      cmocka_unit_test(products_of_many_nonzeros), cmocka_unit_test(products_of_many_rows),
      cmocka_unit_test(products_around_2_24),      cmocka_unit_test(a_row_of_2_24_ones),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
