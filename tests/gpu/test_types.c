/* Complex, short and mixed types on the GPU: every kind by every method that supports it, in
 * all forms, the kernels' sizes, AUTO's choice, and refusals. The CPU's counterpart is
 * spmv/plan/test_types.c. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/gpu.h"
#include "support/tuning.h"
#include "support/typed.h"

static merbit_context *gpu;

static const merbit_method methods[] = {MERBIT_METHOD_SCAN, MERBIT_METHOD_MERGE,
                                        MERBIT_METHOD_ROWS, MERBIT_METHOD_AUTO};

static void every_kind_meets_the_bound(void **state) {
  const int many = gpu_stride() == 1 ? 7 : 1; /* each form is compiled */
  int i, turn = 0;
  (void)state;
  for (i = gpu_first(); i < test_matrix_count(); i += gpu_stride()) {
    test_matrix m;
    int repeat;
    test_matrix_make(i, 41, &m);
    for (repeat = 0; repeat < (m.nnz < 3000 || many == 1 ? many : 2); repeat++) {
      typed_form f = typed_form_of(turn);
      f.plan.side = MERBIT_SIDE_CUDA;
      f.plan.method = methods[turn / 5 % 4];
      f.plan.expected_calls = turn % 9 == 0;
      tuning_take(&f.plan, 0, f.plan.method == MERBIT_METHOD_SCAN ? 1 + turn % 2 : 0);
      f.plan.vector_memory = turn % 8 == 6 ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
      f.plan.scalar_memory = turn % 4 == 3 ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
      f.device_arrays = turn % 6 == 2 || turn % 6 == 5;
      typed_check(gpu, &m, &f, (uint64_t)turn);
      turn += many == 1 ? 7 : 1;
    }
    test_matrix_free(&m);
  }
}

/* Rows over many tiles and chunks, and sizes beyond those that plans choose. */
static void every_size_meets_the_bound(void **state) {
  static const int sizes[][3] = {{0, 0, 0}, {4, 2, 96}, {16, 2, 64}, {8, 3, 128}};
  static const int lengths[] = {0, 1, 2, 9000, 31, 0, 0, 40000, 3};
  enum { ROWS = sizeof lengths / sizeof lengths[0] };
  test_matrix m;
  size_t s;
  int kind, k, row;
  (void)state;
  memset(&m, 0, sizeof m);
  m.rows = ROWS;
  m.cols = 50000;
  m.row_ptr = (int64_t *)test_allocate(ROWS + 1, 8);
  for (row = 0; row < ROWS; row++) {
    m.row_ptr[row + 1] = m.row_ptr[row] + lengths[row];
  }
  m.nnz = m.row_ptr[ROWS];
  m.col_ind = (int32_t *)test_allocate(m.nnz, 4);
  for (k = 0; k < m.nnz; k++) {
    m.col_ind[k] = (int32_t)(((int64_t)k * 7919) % m.cols);
  }
  for (kind = 0; kind < TYPED_KINDS; kind++) {
    for (s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      typed_form f;
      if (gpu_stride() > 1 && (s != (size_t)kind % 4 || kind == TYPED_KINDS - 1)) {
        continue;
      }
      memset(&f, 0, sizeof f);
      f.kind = &typed_kinds[kind];
      f.plan.side = MERBIT_SIDE_CUDA;
      f.plan.method = s % 2 != 0 ? MERBIT_METHOD_MERGE : MERBIT_METHOD_SCAN;
      tuning_take(&f.plan, sizes[s][0], sizes[s][1]);
      f.plan.block_threads = sizes[s][2];
      f.plan.operation = kind % 2 != 0 ? MERBIT_OPERATION_H : MERBIT_OPERATION_N;
      typed_check(gpu, &m, &f, (uint64_t)kind);
    }
  }
  free(m.row_ptr);
  free(m.col_ind);
}

static void expect(merbit_status status, merbit_status wanted, const char *piece) {
  char sentence[MERBIT_MESSAGE_SIZE];
  assert_int_equal(status, wanted);
  (void)merbit_last_error(gpu, sentence, sizeof sentence);
  if (strstr(sentence, piece) == NULL) {
    fail_msg("the sentence is \"%s\", without \"%s\"", sentence, piece);
  }
}

static void what_does_not_fit_is_refused(void **state) {
  static const merbit_method others[] = {MERBIT_METHOD_MERBIT, MERBIT_METHOD_SLICED,
                                         MERBIT_METHOD_BINNED, MERBIT_METHOD_HUBS,
                                         MERBIT_METHOD_CB,     MERBIT_METHOD_BSR};
  static const int32_t row_ptr[] = {0, 1, 2}, col_ind[] = {0, 1};
  static const double values[] = {1, 2, 3, 4};
  merbit_view view = merbit_csr(2, 2, 2, row_ptr, col_ind, values);
  merbit_buffer *buffers[4];
  merbit_plan_desc desc;
  merbit_plan *plan;
  char *x;
  size_t k;
  (void)state;
  memset(&desc, 0, sizeof desc);
  view.value_type = MERBIT_C128;
  for (k = 0; k < sizeof others / sizeof others[0]; k++) {
    desc.method = others[k];
    expect(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_NOT_SUPPORTED,
           "use MERBIT_METHOD_MERGE, on CUDA also");
  }
  assert_int_equal(merbit_plan_create(gpu, &view, NULL, &plan), MERBIT_OK);
  (void)typed_move(gpu, 1, values, sizeof values, &buffers[0]);
  x = (char *)merbit_buffer_pointer(buffers[0]);
  assert_int_equal(merbit_buffer_create(gpu, 64, &buffers[1]), MERBIT_OK);
  expect(merbit_spmv(plan, NULL, NULL, x + 8, NULL, merbit_buffer_pointer(buffers[1]), NULL),
         MERBIT_INVALID_ARGUMENT, "multiple of 16 bytes");
  expect(merbit_spmv(plan, NULL, NULL, x, NULL, (char *)merbit_buffer_pointer(buffers[1]) + 8,
                     NULL),
         MERBIT_INVALID_ARGUMENT, "y at");
  expect(merbit_plan_update_values(plan, x + 8, MERBIT_MEMORY_DEVICE), MERBIT_INVALID_ARGUMENT,
         "the new values at");
  merbit_plan_destroy(plan);
  view.memory = MERBIT_MEMORY_DEVICE;
  view.row_ptr = typed_move(gpu, 1, row_ptr, sizeof row_ptr, &buffers[2]);
  view.col_ind = typed_move(gpu, 1, col_ind, sizeof col_ind, &buffers[3]);
  view.values = x + 8;
  expect(merbit_plan_create(gpu, &view, NULL, &plan), MERBIT_INVALID_ARGUMENT, "view.values");
  view.values = x;
  view.col_ind = (const char *)view.col_ind + 2;
  expect(merbit_plan_create(gpu, &view, NULL, &plan), MERBIT_INVALID_ARGUMENT, "view.col_ind");
  view.col_ind = merbit_buffer_pointer(buffers[3]);
  view.row_ptr = (const char *)view.row_ptr + 2;
  expect(merbit_plan_create(gpu, &view, NULL, &plan), MERBIT_INVALID_ARGUMENT, "view.row_ptr");
  for (k = 0; k < 4; k++) {
    merbit_buffer_destroy(buffers[k]);
  }
}

static void products_are_bitwise_repeatable(void **state) {
  test_matrix m;
  size_t method;
  int repeat;
  (void)state;
  test_matrix_make(9, 5, &m);
  for (method = 0; method < (gpu_stride() > 1 ? 2 : 3); method++) {
    double *values = (double *)test_allocate(m.nnz, 16),
           *x = (double *)test_allocate(m.cols, 16);
    double *y = (double *)test_allocate(m.rows, 16),
           *first = (double *)test_allocate(m.rows, 16);
    uint64_t random = 3;
    int32_t *row_ptr = (int32_t *)typed_indices(m.row_ptr, m.rows + 1, MERBIT_INDEX_32, 0);
    merbit_view view = merbit_csr(m.rows, m.cols, m.nnz, row_ptr, m.col_ind, values);
    merbit_plan_desc desc;
    merbit_plan *plan;
    typed_fill(MERBIT_C128, values, m.nnz, &random, 0);
    typed_fill(MERBIT_C128, x, m.cols, &random, 0);
    memset(&desc, 0, sizeof desc);
    desc.method = methods[method];
    desc.vector_memory = MERBIT_MEMORY_HOST;
    view.value_type = MERBIT_C128;
    assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_OK);
    for (repeat = 0; repeat < 5; repeat++) {
      assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, repeat == 0 ? first : y, NULL),
                       MERBIT_OK);
      assert_true(repeat == 0 || memcmp(first, y, (size_t)m.rows * 16) == 0);
    }
    merbit_plan_destroy(plan);
    free(values);
    free(x);
    free(y);
    free(first);
    free(row_ptr);
  }
  test_matrix_free(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_meets_the_bound),
      cmocka_unit_test(every_size_meets_the_bound),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(products_are_bitwise_repeatable),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
