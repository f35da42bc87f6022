/* Products on the GPU with plans: every generated matrix in every form and specialisation of
 * MERBIT, the data files, new values for every method, and refusals. The CPU's counterpart is
 * spmv/plan/test_product.c; test_methods.c has the other methods' specialisations,
 * test_streams.c streams. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "gpu/fixture.h"
#include "support/data.h"

static merbit_context *gpu;

static void every_matrix_meets_the_bound(void **state) {
  static const struct {
    int sigma, omega, threads;
  } shapes[] = {{0, 0, 0},   {7, 32, 256},  {14, 16, 64},
                {5, 8, 128}, {28, 32, 128}, {42, 32, 32}};
  const int apart = gpu_stride() > 1 ? 2 : 1;
  int i, variant;
  (void)state;
  for (i = gpu_first(); i < test_matrix_count(); i += gpu_stride()) {
    test_matrix m;
    test_matrix_make(i, 13, &m);
    for (variant = i % apart; variant < 12; variant += apart) {
      products_form form;
      memset(&form, 0, sizeof form);
      form.type = variant & 1 ? MERBIT_F32 : MERBIT_F64;
      form.offset_type = variant & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
      form.index_type = variant & 4 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
      form.base = variant >> 1 & 1;
      form.format = variant == 7 || variant == 8 ? MERBIT_COO : MERBIT_CSR;
      form.device_arrays = variant >= 4 && variant <= 8;
      form.device_scalars = variant == 2 || variant == 5;
      form.few_scalars = m.nnz > 20000;
      form.plan.method = MERBIT_METHOD_MERBIT;
      form.plan.sigma = shapes[variant / 2].sigma;
      form.plan.omega = shapes[variant / 2].omega;
      form.plan.block_threads = shapes[variant / 2].threads;
      form.plan.scalar_memory = form.device_scalars ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
      form.plan.vector_memory = variant == 10 ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
      form.plan.side = MERBIT_SIDE_CUDA;
      products_check(gpu, &m, &form);
    }
    test_matrix_free(&m);
  }
}

static void check_data_matrix(merbit_context *context, const test_matrix *m) {
  products_form form;
  memset(&form, 0, sizeof form);
  form.few_scalars = m->nnz > 5000000;
  form.plan.side = MERBIT_SIDE_CUDA;
  form.plan.method = MERBIT_METHOD_MERBIT;
  form.type = MERBIT_F64;
  products_check(context, m, &form);
  form.type = MERBIT_F32;
  products_check(context, m, &form);
}

static void data_files_meet_the_bound(void **state) {
  const char *more = getenv("MERBIT_TEST_DATA");
  (void)state;
  assert_true(data_for_each(gpu, TEST_DATA_DIR "/mtx", check_data_matrix) > 5);
  if (more != NULL) {
    print_message("%d matrices of %s\n", data_for_each(gpu, more, check_data_matrix), more);
  }
}

static void pattern_is_a_matrix_of_ones(void **state) {
  const int apart = gpu_stride() > 1 ? 25 : 5;
  int i, k;
  (void)state;
  for (i = gpu_first_of(apart); i < test_matrix_count(); i += apart) {
    test_matrix m;
    products_form form;
    test_matrix_make(i, 12, &m);
    for (k = 0; k < m.nnz; k++) {
      m.values[k] = 1.0;
    }
    memset(&form, 0, sizeof form);
    form.pattern = 1;
    form.device_arrays = i & 1;
    form.plan.method = MERBIT_METHOD_MERBIT;
    for (form.type = MERBIT_F64; form.type <= MERBIT_F32;
         form.type = (merbit_type)(form.type + 1)) {
      products_check(gpu, &m, &form);
    }
    test_matrix_free(&m);
  }
}

static void products_are_bitwise_repeatable(void **state) {
  int repeat, k;
  (void)state;
  for (k = 0; k < gpu_method_count(); k++) {
    fixture f;
    double *first;
    fixture_make(&f, gpu, 3, gpu_method(k), 0);
    first = (double *)test_allocate(f.m.rows, 8);
    for (repeat = 0; repeat < (gpu_stride() > 1 ? 3 : 20); repeat++) {
      assert_int_equal(merbit_spmv(f.plan, NULL, NULL, merbit_buffer_pointer(f.x), NULL,
                                   merbit_buffer_pointer(f.y), NULL),
                       MERBIT_OK);
      assert_int_equal(
          merbit_buffer_download(f.y, 0, repeat == 0 ? first : f.host_y, (size_t)f.m.rows * 8),
          MERBIT_OK);
      assert_true(repeat == 0 || memcmp(first, f.host_y, (size_t)f.m.rows * 8) == 0);
    }
    free(first);
    fixture_free(&f);
  }
}

/* Updates values from either side for arrays on either side, twice. */
static void check_new_values(merbit_method method, int device_arrays, int device_values) {
  fixture f;
  merbit_buffer *values;
  int update, k;
  fixture_make(&f, gpu, 4, method, device_arrays);
  for (update = 0; update < 2; update++) {
    for (k = 0; k < f.m.nnz; k++) {
      f.m.values[k] = 3 * f.m.values[k] + 1;
    }
    (void)products_move(gpu, f.m.values, (size_t)f.m.nnz * 8, &values);
    assert_int_equal(
        merbit_plan_update_values(
            f.plan, device_values ? merbit_buffer_pointer(values) : (const void *)f.m.values,
            device_values ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST),
        MERBIT_OK);
    merbit_buffer_destroy(values);
    assert_int_equal(merbit_spmv(f.plan, NULL, NULL, merbit_buffer_pointer(f.x), NULL,
                                 merbit_buffer_pointer(f.y), NULL),
                     MERBIT_OK);
    assert_int_equal(fixture_rows_wrong(&f), 0);
  }
  fixture_free(&f);
}

static void new_values_are_used(void **state) {
  static const int device[][2] = {{0, 0}, {0, 1}, {1, 1}}; /* of arrays, of values */
  const int apart = gpu_stride() > 1 ? 2 : 1;
  int k, way;
  (void)state;
  for (k = 0; k < gpu_method_count(); k++) {
    for (way = (gpu_first_of(apart) + k) % apart; way < 3; way += apart) {
      check_new_values(gpu_method(k), device[way][0], device[way][1]);
    }
  }
}

static void host_pointers_are_refused(void **state) {
  fixture f;
  char sentence[MERBIT_MESSAGE_SIZE];
  (void)state;
  fixture_make(&f, gpu, 5, MERBIT_METHOD_AUTO, 0);
  assert_int_equal(
      merbit_spmv(f.plan, NULL, NULL, f.host_x, NULL, merbit_buffer_pointer(f.y), NULL),
      MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_last_error(gpu, sentence, sizeof sentence), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(sentence, "x at"));
  assert_non_null(strstr(sentence, "host memory"));
  assert_int_equal(
      merbit_spmv(f.plan, NULL, NULL, merbit_buffer_pointer(f.x), NULL, f.host_y, NULL),
      MERBIT_INVALID_ARGUMENT);
  fixture_free(&f);
}

static void bad_device_arrays_are_named(void **state) {
  static const int32_t row_ptr[] = {0, 1, 2, 3};
  int32_t col_ind[] = {0, 3, 1};
  static const double values[] = {1, 2, 3};
  char sentence[MERBIT_MESSAGE_SIZE];
  merbit_view view = merbit_csr(3, 3, 3, NULL, NULL, NULL);
  merbit_buffer *buffers[3];
  merbit_plan *plan;
  int i;
  (void)state;
  view.memory = MERBIT_MEMORY_DEVICE;
  view.row_ptr = products_move(gpu, row_ptr, sizeof row_ptr, &buffers[0]);
  view.col_ind = products_move(gpu, col_ind, sizeof col_ind, &buffers[1]);
  view.values = products_move(gpu, values, sizeof values, &buffers[2]);
  assert_int_equal(merbit_plan_create(gpu, &view, NULL, &plan), MERBIT_INVALID_MATRIX);
  assert_null(plan);
  (void)merbit_last_error(gpu, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, "col_ind[1]"));
  assert_int_equal(merbit_view_check(gpu, &view), MERBIT_INVALID_MATRIX);
  col_ind[1] = 2;
  assert_int_equal(merbit_buffer_upload(buffers[1], 0, col_ind, sizeof col_ind), MERBIT_OK);
  assert_int_equal(merbit_view_check(gpu, &view), MERBIT_OK);
  view.values = values;
  assert_int_equal(merbit_plan_create(gpu, &view, NULL, &plan), MERBIT_INVALID_ARGUMENT);
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(buffers[i]);
  }
}

static void impossible_specialisations_are_refused(void **state) {
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  static const double values[] = {1};
  merbit_view view = merbit_csr(1, 1, 1, row_ptr, col_ind, values);
  char sentence[MERBIT_MESSAGE_SIZE];
  merbit_plan_desc desc;
  merbit_plan *plan;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_MERBIT;
  desc.sigma = 43; /* 2 * 11 + 43 = 65 bits */
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
  (void)merbit_last_error(gpu, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, "with omega 32 use 1 to 42"));
  desc.sigma = 42;
  desc.block_threads = 1024; /* 1024 * 42 * 8 bytes of shared memory */
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
  (void)merbit_last_error(gpu, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, "shared memory"));
  desc.block_threads = 33;
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
  desc.block_threads = 0;
  desc.omega = 31;
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
  desc.omega = 0;
  desc.sigma = -1;
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
  assert_null(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_matrix_meets_the_bound),
      cmocka_unit_test(data_files_meet_the_bound),
      cmocka_unit_test(pattern_is_a_matrix_of_ones),
      cmocka_unit_test(products_are_bitwise_repeatable),
      cmocka_unit_test(new_values_are_used),
      cmocka_unit_test(host_pointers_are_refused),
      cmocka_unit_test(bad_device_arrays_are_named),
      cmocka_unit_test(impossible_specialisations_are_refused),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
