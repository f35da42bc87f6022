/* Complex, short and mixed types on the CPU: products of every kind and form meet the bound,
 * the methods that support them, refusals, lack of memory. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/flush.h"
#include "support/typed.h"
#include "support/unknown.h"

static void every_kind_meets_the_bound(void **state) {
  merbit_context *context = cpu_open(NULL, 4);
  int i, turn = 0;
  (void)state;
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    test_matrix m;
    int repeat;
    test_matrix_make(i, 31, &m);
    for (repeat = 0; repeat < (m.nnz < 3000 ? 12 : 3); repeat++, turn++) {
      typed_form f = typed_form_of(turn);
      f.plan.side = MERBIT_SIDE_CPU;
      f.plan.method = turn % 5 == 4   ? MERBIT_METHOD_REFERENCE
                      : turn % 2 != 0 ? MERBIT_METHOD_MERGE
                                      : MERBIT_METHOD_AUTO;
      if (m.rows == m.cols && turn % 17 == 0 && f.format != MERBIT_BSR) {
        f.plan.operation = MERBIT_OPERATION_N;
      }
      typed_check(context, &m, &f, (uint64_t)turn);
    }
    test_matrix_free(&m);
  }
  merbit_context_destroy(context);
}

/* Every half and every bfloat16, through a plan of a diagonal. Halves also when subnormal
 * floats are flushed: none of their values is one. */
static void every_short_value_is_read_right(void **state) {
  enum { COUNT = 65536 };
  merbit_context *context = cpu_open(NULL, 1);
  int32_t *index = (int32_t *)test_allocate(COUNT + 1, 4);
  uint16_t *values = (uint16_t *)test_allocate(COUNT, 2);
  float *x = (float *)test_allocate(COUNT, 4), *y = (float *)test_allocate(COUNT, 4);
  merbit_view view = merbit_csr(COUNT, COUNT, COUNT, index, index, values);
  int i, turn;
  (void)state;
  for (i = 0; i <= COUNT; i++) {
    index[i] = i;
    values[i % COUNT] = (uint16_t)i;
    x[i % COUNT] = 1;
  }
  values[0] = 0;
  for (turn = 0; turn < 3; turn++) {
    const int type = turn == 1 ? MERBIT_BF16 : MERBIT_F16;
    merbit_plan *plan;
    view.value_type = (merbit_type)type;
    assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
    flush_subnormals(turn == 2);
    assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
    flush_subnormals(0);
    for (i = 0; i < COUNT; i++) {
      const long double value = typed_short((merbit_type)type, (uint16_t)i);
      if (!(y[i] == value || (isnan(y[i]) && isnan(value)))) {
        fail_msg("type %d: bits %04x are read as %g, not %Lg", type, (unsigned)i, (double)y[i],
                 value);
      }
    }
    merbit_plan_destroy(plan);
  }
  free(index);
  free(values);
  free(x);
  free(y);
  merbit_context_destroy(context);
}

static void refused(merbit_context *context, const merbit_view *view,
                    const merbit_plan_desc *desc, const char *piece) {
  merbit_plan *plan;
  assert_int_equal(merbit_plan_create(context, view, desc, &plan), MERBIT_NOT_SUPPORTED);
  assert_null(plan);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, piece);
}

static void what_does_not_fit_is_refused(void **state) {
  static const int32_t row_ptr[] = {0, 1, 2}, col_ind[] = {0, 1};
  static const double values[4] = {1, 2, 3, 4};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(2, 2, 2, row_ptr, col_ind, values);
  merbit_plan_desc desc;
  merbit_matrix *matrix;
  merbit_block_info info;
  merbit_plan *plan;
  double ranks[4];
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.vector_type = MERBIT_F32;
  refused(context, &view, &desc, "MERBIT_F64 values with vectors of MERBIT_F32");
  view.value_type = MERBIT_F32;
  desc.vector_type = MERBIT_F64;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(mbi_plan_accumulator(plan), MERBIT_F64);
  merbit_plan_destroy(plan);
  desc.method = MERBIT_METHOD_BSR;
  refused(context, &view, &desc, "MERBIT_METHOD_BSR, which does not take f32 values with f64");
  desc.vector_type = MERBIT_TYPE_DEFAULT;
  view.value_type = MERBIT_C64;
  refused(context, &view, &desc, "use MERBIT_METHOD_MERGE, on CUDA also");
  desc.method = MERBIT_METHOD_AUTO;
  desc.vector_type = MERBIT_C128;
  refused(context, &view, &desc, "MERBIT_C64 values with vectors of MERBIT_C128");
  view.value_type = MERBIT_F16;
  desc.vector_type = MERBIT_F16;
  refused(context, &view, &desc, "MERBIT_F32 for values of MERBIT_F16");
  desc.vector_type = unknown_type();
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT,
             unknown_words("vector_type", (int)unknown_type()));
  assert_int_equal(merbit_matrix_create_bsr(context, &view, NULL, &matrix),
                   MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "blocks are made of MERBIT_F64 and MERBIT_F32");
  assert_int_equal(merbit_view_find_blocks(context, &view, NULL, &info), MERBIT_NOT_SUPPORTED);
  assert_int_equal(merbit_matrix_write_file(context, &view, "/tmp/never"),
                   MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "MERBIT_F16; write a copy");
  assert_int_equal(merbit_pagerank(context, &view, NULL, ranks, NULL), MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "merbit_pagerank takes MERBIT_F64");
  merbit_context_destroy(context);
}

/* Sums of duplicates: complex ones part by part; short ones only within a plan. */
static void duplicates_add_up(void **state) {
  static const int32_t rows[] = {1, 0, 1, 1}, cols[] = {0, 1, 0, 2};
  static const double complex[] = {1, 2, 3, 4, 10, 20, 5, 6};
  static const uint16_t halves[] = {0x6800, 0x3c00, 0x3c00, 0x3c00}; /* 2048, then ones */
  static const float x[] = {1, 1, 1};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(2, 3, 4, NULL, cols, complex), made;
  merbit_matrix *matrix;
  merbit_plan *plan;
  float y[2];
  (void)state;
  view.format = MERBIT_COO;
  view.row_ind = rows;
  view.value_type = MERBIT_C128;
  assert_int_equal(merbit_matrix_create(context, &view, &matrix), MERBIT_OK);
  made = merbit_matrix_view(matrix);
  assert_int_equal(made.nnz, 3);
  assert_int_equal(made.value_type, MERBIT_C128);
  assert_true(((const double *)made.values)[2] == 11 && ((const double *)made.values)[3] == 22);
  merbit_matrix_destroy(matrix);
  view.values = NULL; /* a pattern's become numbers */
  assert_int_equal(merbit_matrix_create(context, &view, &matrix), MERBIT_OK);
  made = merbit_matrix_view(matrix);
  assert_true(((const double *)made.values)[2] == 2 && ((const double *)made.values)[3] == 0);
  merbit_matrix_destroy(matrix);
  view.values = halves;
  view.value_type = MERBIT_F16;
  assert_int_equal(merbit_matrix_create(context, &view, &matrix), MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "entry (1, 0) occurs twice");
  assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_true(y[0] == 1 && y[1] == 2050); /* as a half 2049 would be 2048 */
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

/* Long unsorted rows are sorted in scratch whose columns follow short values, also if the
 * number of values is odd. */
static void short_values_of_long_rows_are_sorted(void **state) {
  enum { LENGTH = 77 };
  merbit_context *context = cpu_open(NULL, 1);
  const int32_t row_ptr[] = {0, LENGTH};
  int32_t col_ind[LENGTH];
  uint16_t values[LENGTH];
  merbit_view view = merbit_csr(1, LENGTH, LENGTH, row_ptr, col_ind, values), made;
  merbit_matrix *matrix;
  int type, i;
  (void)state;
  for (i = 0; i < LENGTH; i++) {
    col_ind[i] = i * 5 % LENGTH;
    values[i] = (uint16_t)(0x3c00 + col_ind[i]);
  }
  for (type = MERBIT_F16; type <= MERBIT_BF16; type++) {
    view.value_type = (merbit_type)type;
    assert_int_equal(merbit_matrix_create(context, &view, &matrix), MERBIT_OK);
    made = merbit_matrix_view(matrix);
    for (i = 0; i < LENGTH; i++) {
      assert_int_equal(((const int32_t *)made.col_ind)[i], i);
      assert_int_equal(((const uint16_t *)made.values)[i], 0x3c00 + i);
    }
    merbit_matrix_destroy(matrix);
  }
  merbit_context_destroy(context);
}

/* A solver's order permutes values and vectors of any type. */
static void reordered_plans_multiply_in_their_order(void **state) {
  enum { N = 40 };
  merbit_context *context = cpu_open(NULL, 2);
  int32_t row_ptr[N + 1], col_ind[3 * N];
  double values[6 * N], x[2 * N], px[2 * N], py[2 * N], y[2 * N], plain[2 * N];
  merbit_view view = merbit_csr(N, N, 0, row_ptr, col_ind, values);
  merbit_plan_desc desc;
  merbit_plan *plan, *ordered;
  uint64_t random = 5;
  int i, k;
  (void)state;
  for (i = 0; i < N; i++) {
    row_ptr[i] = (int32_t)view.nnz;
    for (k = 0; k < 3; k++) {
      col_ind[view.nnz++] = (int32_t)((i * 7 + k * 11) % N);
    }
  }
  row_ptr[N] = (int32_t)view.nnz;
  view.value_type = MERBIT_C128;
  typed_fill(MERBIT_C128, values, view.nnz, &random, 0);
  typed_fill(MERBIT_C128, x, N, &random, 0);
  memset(&desc, 0, sizeof desc);
  desc.operation = MERBIT_OPERATION_H;
  desc.method = MERBIT_METHOD_REFERENCE;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  desc.reordering = MERBIT_REORDERING_RCM;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &ordered), MERBIT_OK);
  for (k = 0; k < 2; k++) {
    assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, plain, NULL), MERBIT_OK);
    assert_int_equal(merbit_plan_reorder(ordered, x, px, NULL), MERBIT_OK);
    assert_int_equal(merbit_spmv(ordered, NULL, NULL, px, NULL, py, NULL), MERBIT_OK);
    assert_int_equal(merbit_plan_restore(ordered, py, y, NULL), MERBIT_OK);
    for (i = 0; i < 2 * N; i++) {
      assert_true(fabs(y[i] - plain[i]) <= 8 * 0x1p-53 * 6);
    }
    typed_fill(MERBIT_C128, values, view.nnz, &random, 0);
    assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST), MERBIT_OK);
    assert_int_equal(merbit_plan_update_values(ordered, values, MERBIT_MEMORY_HOST), MERBIT_OK);
  }
  merbit_plan_destroy(plan);
  merbit_plan_destroy(ordered);
  merbit_context_destroy(context);
}

static void memory_may_run_out(void **state) {
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 2);
  const long before = memory.live;
  test_matrix m;
  int kind, failures = 0;
  (void)state;
  test_matrix_make(20, 3, &m);
  for (kind = 0; kind < TYPED_KINDS; kind++) {
    int64_t *rows = (int64_t *)test_allocate(m.nnz, 8), row, k;
    void *values = test_allocate(m.nnz, 16);
    merbit_view view = merbit_csr(m.rows, m.cols, m.nnz, NULL, m.col_ind, values);
    merbit_plan *plan = NULL;
    merbit_status status = MERBIT_OUT_OF_MEMORY;
    long call;
    for (row = 0; row < m.rows; row++) {
      for (k = m.row_ptr[row]; k < m.row_ptr[row + 1]; k++) {
        rows[k] = row;
      }
    }
    view.format = MERBIT_COO;
    view.value_type = typed_kinds[kind].values;
    view.row_ind = typed_indices(rows, m.nnz, MERBIT_INDEX_32, 0);
    for (call = 1; status != MERBIT_OK; call++) {
      memory.fail_at = memory.made + call;
      status = merbit_plan_create(context, &view, NULL, &plan);
      failures += status != MERBIT_OK;
      assert_true(status == MERBIT_OK || (status == MERBIT_OUT_OF_MEMORY && plan == NULL));
      memory.fail_at = 0;
    }
    merbit_plan_destroy(plan);
    assert_int_equal(memory.live, before);
    free((void *)(uintptr_t)view.row_ind);
    free(rows);
    free(values);
  }
  assert_true(failures >= 5 * TYPED_KINDS);
  test_matrix_free(&m);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_meets_the_bound),
      cmocka_unit_test(every_short_value_is_read_right),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(duplicates_add_up),
      cmocka_unit_test(short_values_of_long_rows_are_sorted),
      cmocka_unit_test(reordered_plans_multiply_in_their_order),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
