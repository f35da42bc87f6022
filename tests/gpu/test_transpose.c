/* Plans of transposes and of triangles on the GPU: every method and form, arrays on both sides,
 * blocks, new values; the GPU makes the same arrays as the CPU, every time. */
#define MBI_CHOOSE_SMALL 0u /* even tiny matrices are large */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/gpu.h"
#include "support/symmetric.h"
#include "support/squares.h"
#include "support/transposed.h"

static merbit_context *gpu;

/* Makes a form by bits: those of products_form_of, then host vectors, arrays on the host, H. */
static products_form form_of(int bits) {
  products_form form = products_form_of(bits);
  form.plan.vector_memory = bits & 64 ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
  form.device_arrays = !(bits & 128);
  form.plan.operation = bits & 256 ? MERBIT_OPERATION_H : MERBIT_OPERATION_T;
  form.plan.side = MERBIT_SIDE_CUDA;
  return form;
}

/* Every second method on a slow GPU, because plans differ in little except their method. */
static void every_method(void **state) {
  const int slow = gpu_stride() > 1;
  uint64_t random = 11;
  int index, method, products = 0;
  (void)state;
  for (index = gpu_first(); index < test_matrix_count(); index += gpu_stride()) {
    for (method = slow ? index % 2 : 0; method < gpu_method_count(); method += slow ? 2 : 1) {
      products_form form = form_of((int)test_below(&random, 512));
      test_matrix m;
      form.plan.method = gpu_method(method);
      form.plan.expected_calls = (int)test_below(&random, 2);
      form.device_scalars = (int)test_below(&random, 2);
      form.plan.scalar_memory =
          form.device_scalars ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_DEFAULT;
      test_matrix_make(index, 9, &m);
      products += transposed_check(gpu, &m, &form, NULL);
    }
  }
  print_message("%d products\n", products);
}

/* One matrix in every form, some of them reordered; in the second form another one, for which
 * several blocks sort by columns in three passes. */
static void every_form(void **state) {
  const int apart = gpu_stride() > 1 ? 53 : 1;
  int bits;
  (void)state;
  for (bits = gpu_first_of(apart); bits < 512; bits += apart) {
    products_form form = form_of(bits);
    test_matrix m;
    form.plan.reordering = bits % 3 == 0 ? MERBIT_REORDERING_RCM : MERBIT_REORDERING_NONE;
    square_grid(17, 19, 8, 5, &m); /* two passes of the sort by columns */
    m.nnz -= 3;                    /* no longer symmetric */
    m.row_ptr[m.rows] -= 3;
    if (bits == gpu_first_of(apart) + apart) {
      test_matrix_free(&m);
      test_matrix_make(test_matrix_largest(50000), 9, &m);
      test_matrix_stretch(&m);
      form.plan.reordering = MERBIT_REORDERING_NONE;
    }
    (void)transposed_check(gpu, &m, &form, NULL);
  }
}

/* Matrices given by one triangle, which differ from their transposes only in signs. */
static void one_triangle(void **state) {
  const int apart = gpu_stride() > 1 ? 13 : 1;
  uint64_t random = 29;
  int index, products = 0;
  (void)state;
  for (index = gpu_first_of(apart); index < test_matrix_count(); index += apart) {
    products_form form = form_of((int)test_below(&random, 512));
    const int symmetry = 1 + (int)test_below(&random, 3);
    test_matrix m;
    form.plan.operation = (merbit_operation)test_below(&random, 3);
    form.plan.method = index % 5 == 0 ? MERBIT_METHOD_BSR : MERBIT_METHOD_AUTO;
    if (index % 3 == 0) {
      form.plan.reordering = MERBIT_REORDERING_RCM;
      form.plan.method = MERBIT_METHOD_AUTO;
      form.plan.vector_memory = MERBIT_MEMORY_HOST;
    }
    form.pattern = 0;
    test_matrix_make(index, 9, &m);
    products += symmetric_check(gpu, &m, &form, (merbit_symmetry)symmetry,
                                (int)test_below(&random, 2), 0);
    test_matrix_free(&m);
  }
  print_message("%d products\n", products);
}

/* BSR views, multiplied in their blocks, in others and in none; and blocks made from
 * entries. */
static void blocks(void **state) {
  static const merbit_bsr_desc shapes[] = {{2, 3, MERBIT_BLOCK_COLUMN_MAJOR},
                                           {4, 1, MERBIT_BLOCK_ROW_MAJOR},
                                           {3, 5, MERBIT_BLOCK_ROW_MAJOR}};
  const int slow = gpu_stride() > 1;
  int index, way, products = 0;
  (void)state;
  for (index = gpu_first(); index < test_matrix_count(); index += slow ? gpu_stride() : 2) {
    for (way = slow ? index % 2 : 0; way < 4; way += slow ? 2 : 1) {
      products_form form = form_of((index + way) % 2 + (way % 2 ? 128 : 0));
      test_matrix m;
      form.plan.method = way == 0 ? MERBIT_METHOD_AUTO : MERBIT_METHOD_BSR;
      form.plan.block_rows = way >= 2 ? 2 : 0;
      form.plan.block_cols = way >= 2 ? 4 : 0;
      test_matrix_make(index, 7, &m);
      products +=
          transposed_check(gpu, &m, &form, way == 3 ? NULL : &shapes[(index + way) % 3]);
    }
  }
  print_message("%d products\n", products);
}

/* A CSR that consists of full blocks: AUTO converts its transpose to blocks. */
static void full_blocks(void **state) {
  enum { SIDE = 400, WIDE = 4, MOST = 24 };
  products_form form = form_of(1); /* f32 */
  products_arrays a;
  merbit_plan *plan;
  test_matrix m, given;
  uint64_t random = 5;
  int64_t row, k, *places;
  (void)state;
  memset(&m, 0, sizeof m);
  (void)snprintf(m.name, sizeof m.name, "full blocks");
  m.rows = m.cols = SIDE * WIDE;
  m.row_ptr = (int64_t *)test_allocate(m.rows + 1, sizeof *m.row_ptr);
  m.col_ind = (int32_t *)test_allocate(m.rows * MOST * WIDE, sizeof *m.col_ind);
  m.values = (double *)test_allocate(m.rows * MOST * WIDE, sizeof *m.values);
  for (row = 0; row < m.rows; row++) { /* uneven, so that slices do not pay */
    const int64_t block = row / WIDE, count = block % 8 == 0 ? MOST : 1 + block % 3;
    for (k = 0; k < count * WIDE; k++, m.nnz++) {
      m.col_ind[m.nnz] = (int32_t)((block * 7 + k / WIDE * 5) % SIDE * WIDE + k % WIDE);
      m.values[m.nnz] = test_uniform(&random);
    }
    m.row_ptr[row + 1] = m.nnz;
  }
  form.plan.expected_calls = 500;
  places = (int64_t *)test_allocate(m.nnz, sizeof *places);
  transposed_make(&m, &given, places);
  products_arrays_make(gpu, &given, &form, &a);
  products_done(gpu, merbit_plan_create(gpu, &a.view, &form.plan, &plan), m.name);
  assert_int_equal(plan->method, MERBIT_METHOD_BSR);
  merbit_plan_destroy(plan);
  products_arrays_free(&a);
  test_matrix_free(&given);
  free(places);
  (void)transposed_check(gpu, &m, &form, NULL);
}

static void expect_same(mbi_devptr array, const void *wanted, size_t bytes) {
  void *found = products_exact((int64_t)bytes, 1);
  if (bytes > 0) {
    assert_int_equal(mbi_device_download(gpu, found, array, bytes), MERBIT_OK);
    assert_memory_equal(found, wanted, bytes);
  }
  free(found);
}

/* The arrays bit for bit: they do not depend on how threads are scheduled. */
static void as_on_the_cpu(void **state) {
  int index;
  (void)state;
  for (index = 0; index < test_matrix_count(); index += gpu_stride()) {
    products_form form = form_of(index % 2 ? 128 : 8);
    products_arrays host, a;
    merbit_matrix *flipped;
    merbit_plan *plan;
    test_matrix m;
    void *places;
    test_matrix_make(index, 3, &m);
    form.plan.method = MERBIT_METHOD_ROWS;
    form.plan.changing_values = 1; /* stored unchanged */
    products_arrays_make(gpu, &m, &form, &a);
    form.device_arrays = 0;
    products_arrays_make(NULL, &m, &form, &host);
    assert_int_equal(mbi_matrix_transpose_map(gpu, &host.view, &flipped, &places), MERBIT_OK);
    products_done(gpu, merbit_plan_create(gpu, &a.view, &form.plan, &plan), m.name);
    assert_int_equal(plan->transpose.on_gpu, m.nnz > 0);
    assert_int_equal(mbi_device_enter(gpu), MERBIT_OK);
    expect_same(plan->device.row_ptr, flipped->view.row_ptr, (size_t)(m.cols + 1) * 4);
    expect_same(plan->device.col_ind, flipped->view.col_ind, (size_t)m.nnz * 4);
    expect_same(plan->device.values, flipped->view.values, (size_t)m.nnz * 8);
    if (m.nnz > 0) {
      expect_same(plan->reorder.device_places, places, (size_t)m.nnz * 4);
    }
    mbi_device_leave(gpu);
    merbit_plan_destroy(plan);
    mbi_release(gpu, places);
    merbit_matrix_destroy(flipped);
    products_arrays_free(&a);
    products_arrays_free(&host);
    test_matrix_free(&m);
  }
}

static void what_a_plan_tells(void **state) {
  static const int32_t row_ptr[] = {0, 2, 3}, col_ind[] = {0, 3, 3};
  static const double values[] = {1, 2, 3};
  const merbit_view view = merbit_csr(2, 4, 3, row_ptr, col_ind, values);
  merbit_plan_info info;
  merbit_plan_desc desc;
  merbit_plan *plan;
  char line[1024];
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.operation = MERBIT_OPERATION_T;
  desc.method = MERBIT_METHOD_ROWS;
  desc.changing_values = 1;
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_int_equal(info.device_bytes, 5 * 4 + 3 * 4 + 3 * 8 + 3 * 4); /* the last are places */
  assert_int_equal(info.bytes_per_product, 3 * 12 + 6 * 8 + 5 * 4);
  assert_true(info.transpose_seconds > 0 && info.transpose_seconds <= info.plan_seconds);
  assert_true(info.reorder_seconds == 0);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, ": 4 x 2, 3 nonzeros"));
  assert_non_null(strstr(line, "; transposed from 2 x 4 on the GPU in "));
  assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_DEVICE),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "says that the new values are in device memory");
  merbit_plan_destroy(plan);
}

/* Refusals name entries by their original row and column, from either memory. */
static void refused(void **state) {
  static const int32_t row_ptr[] = {0, 2, 3}, row_ind[] = {0, 0, 1}, col_ind[] = {0, 7, 3};
  merbit_view view = merbit_csr(2, 4, 3, row_ptr, col_ind, NULL);
  merbit_buffer *b[3];
  merbit_plan_desc desc;
  merbit_plan *plan;
  int way;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.operation = MERBIT_OPERATION_T;
  desc.side = MERBIT_SIDE_CUDA;
  view.row_ind = row_ind;
  for (way = 0; way < 4; way++) {
    view.format = way % 2 ? MERBIT_COO : MERBIT_CSR;
    if (way == 2) {
      view.row_ptr = products_move(gpu, row_ptr, sizeof row_ptr, &b[0]);
      view.row_ind = products_move(gpu, row_ind, sizeof row_ind, &b[1]);
      view.col_ind = products_move(gpu, col_ind, sizeof col_ind, &b[2]);
      view.memory = MERBIT_MEMORY_DEVICE;
    }
    assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_MATRIX);
    assert_null(plan);
    cpu_expect(gpu, MERBIT_INVALID_MATRIX, "col_ind[1]");
  }
  view.format = MERBIT_CSR;
  view.col_ind = col_ind;
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
  cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "is not an address of the GPU");
  for (way = 0; way < 3; way++) {
    merbit_buffer_destroy(b[way]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_triangle),      cmocka_unit_test(every_method),
      cmocka_unit_test(every_form),        cmocka_unit_test(blocks),
      cmocka_unit_test(full_blocks),       cmocka_unit_test(as_on_the_cpu),
      cmocka_unit_test(what_a_plan_tells), cmocka_unit_test(refused),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
