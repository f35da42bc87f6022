/* Several vectors at once on the GPU: every generated matrix, every form, and refusals. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/gpu.h"
#include "support/many.h"
#include "support/squares.h"
#include "support/tuning.h"

static merbit_context *gpu;

static const int counts[] = {8, 2, 5, 16, 3, 64, 8, 33, 4, 32, 7, 17};
enum { COUNTS = sizeof counts / sizeof counts[0] };

/* Makes a form by bits: those of products_form_of, then row-major, host vectors, arrays on the
 * host, scalars on the device. */
static products_form form_of(int bits, int vectors) {
  products_form form = products_form_of(bits);
  form.plan.vectors = vectors;
  form.plan.vector_order = bits & 64 ? MERBIT_VECTORS_ROW_MAJOR : MERBIT_VECTORS_COLUMN_MAJOR;
  form.plan.vector_memory = bits & 128 ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
  form.device_arrays = !(bits & 256);
  form.device_scalars = bits & 512 ? 1 : 0;
  form.plan.scalar_memory = bits & 512 ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_DEFAULT;
  form.plan.side = MERBIT_SIDE_CUDA;
  return form;
}

/* Each specialisation is compiled: a few forms for all matrices, and fewer on a slow GPU. */
static const int few[] = {1 + 64, 2 + 8, 64 + 256, 512, 64 + 32 + 16 + 128, 1 + 64 + 4};
static const int few_counts[] = {8, 3, 6, 7, 5, 64};
enum { FEW = sizeof few / sizeof few[0] };

/* Gaps of 8 keep all rows aligned, those of 4 only X's. */
static void every_matrix(void **state) {
  const int slow = gpu_stride() > 1;
  int index, way, products = 0;
  (void)state;
  for (index = gpu_first(); index < test_matrix_count(); index += gpu_stride()) {
    for (way = slow ? products % 2 : 0; way < (slow ? products % 2 + 1 : FEW); way++) {
      products_form form = form_of(few[way] & ~16, slow ? 8 : few_counts[way]);
      test_matrix m;
      form.plan.method = way % 2 ? MERBIT_METHOD_MANY : MERBIT_METHOD_AUTO;
      test_matrix_make(index, 9, &m);
      many_check(gpu, &m, &form, (way + index / gpu_stride()) % 3 * 4, NULL);
      test_matrix_free(&m);
    }
    products++;
  }
  print_message("%d matrices\n", products);
}

/* One matrix in many forms; some transposed, some reordered. */
static void every_form(void **state) {
  static const int shapes[][3] = {{0, 0, 0}, {1, 8, 64}, {2, 4, 512}, {1, 4, 32}};
  const int slow = gpu_stride() > 1;
  int turn;
  (void)state;
  for (turn = 0; turn < (slow ? FEW - 1 : 79); turn++) {
    const int bits = slow ? few[turn] : 13 * turn;
    products_form form = form_of(bits, slow ? few_counts[turn] : counts[bits % COUNTS]);
    const int shape = form.plan.vectors == 8 ? turn % 4 : 0;
    test_matrix m;
    form.plan.operation = turn % 3 == 1 ? MERBIT_OPERATION_T : MERBIT_OPERATION_N;
    form.plan.reordering = turn % 4 == 3 ? MERBIT_REORDERING_RCM : MERBIT_REORDERING_NONE;
    if (shape > 0) {
      form.plan.method = MERBIT_METHOD_MANY;
    }
    tuning_take(&form.plan, shapes[shape][0], shapes[shape][1]);
    form.plan.block_threads = shapes[shape][2];
    square_grid(9, 13, 8, 5, &m);
    many_check(gpu, &m, &form, turn % 5, NULL);
    test_matrix_free(&m);
  }
}

/* Rows of nearly equal length, multiplied row by row; if a run length is given, in runs. */
static void even_rows(void **state) {
  const int slow = gpu_stride() > 1;
  int turn;
  (void)state;
  for (turn = 0; turn < (slow ? FEW : 40); turn++) {
    const int bits = (slow ? few[turn] : 7 * turn) & ~128;
    products_form form = form_of(bits, slow ? few_counts[turn] : counts[turn % COUNTS]);
    const int64_t rows = 32 * (1 + turn % 3), length = 1 + turn * 5 % 37;
    test_matrix m;
    int64_t k;
    memset(&m, 0, sizeof m);
    (void)snprintf(m.name, sizeof m.name, "even rows of %d", (int)length);
    m.rows = rows;
    m.cols = 150;
    m.nnz = rows * length - 1; /* arrays do not end at multiples of 16 bytes */
    m.row_ptr = (int64_t *)test_allocate(rows + 1, sizeof *m.row_ptr);
    m.col_ind = (int32_t *)test_allocate(m.nnz, sizeof *m.col_ind);
    m.values = (double *)test_allocate(m.nnz, sizeof *m.values);
    for (k = 0; k <= rows; k++) {
      m.row_ptr[k] = k < rows ? k * length : m.nnz;
    }
    for (k = 0; k < m.nnz; k++) {
      m.col_ind[k] = (int32_t)(k / length + k % length);
      m.values[k] = (double)(k % 11) - 4;
    }
    many_check(gpu, &m, &form, turn % 5, NULL);
    test_matrix_free(&m);
  }
}

/* Several vectors multiply a block matrix as a CSR. */
static void blocks(void **state) {
  static const merbit_bsr_desc shape = {2, 3, MERBIT_BLOCK_COLUMN_MAJOR};
  products_form form = form_of(256 + 64, 8);
  test_matrix m;
  (void)state;
  form.plan.side = MERBIT_SIDE_AUTO;
  test_matrix_make(20, 5, &m);
  many_check(gpu, &m, &form, 0, &shape);
  test_matrix_free(&m);
}

/* ---- A small matrix ---------------------------------------------------------------------- */

static const int32_t row_ptr[] = {0, 2, 2, 3}, col_ind[] = {0, 3, 3};
static const double values[] = {1, 2, 3};

static merbit_plan *small(merbit_vector_order order, int vectors, merbit_memory memory) {
  const merbit_view view = merbit_csr(3, 4, 3, row_ptr, col_ind, values);
  merbit_plan_desc desc;
  merbit_plan *plan;
  memset(&desc, 0, sizeof desc);
  desc.vectors = vectors;
  desc.vector_order = order;
  desc.vector_memory = memory;
  products_done(gpu, merbit_plan_create(gpu, &view, &desc, &plan), "a plan");
  return plan;
}

static void what_a_plan_tells(void **state) {
  merbit_plan *plan = small(MERBIT_VECTORS_ROW_MAJOR, 8, MERBIT_MEMORY_DEFAULT);
  merbit_plan_info info;
  char line[1024];
  (void)state;
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_int_equal(info.method, MERBIT_METHOD_MANY);
  assert_int_equal(info.vectors, 8);
  assert_int_equal(info.tiles, 1);
  /* Row ends and rows of tiles, firsts and tails, empty rows, the CSR, X and Y. */
  assert_int_equal(
      info.bytes_per_product,
      (int64_t)(mbi_scan_of(plan)->steps * 4 + (3 + 1) * 4 + 4 * 64 + 3 * 4 + 3 * 12 + 7 * 64));
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, "many on "));
  assert_non_null(strstr(line, "(for several vectors), f64"));
  assert_non_null(strstr(line, "1 tiles of 8 runs of 32, 4 lanes of 2 columns per nonzero"));
  assert_non_null(strstr(line, "general values"));
  assert_non_null(strstr(line, "; 8 vectors, row-major"));
  merbit_plan_destroy(plan);
  plan = small(MERBIT_VECTORS_COLUMN_MAJOR, 8, MERBIT_MEMORY_DEFAULT);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, ", row-major copies"));
  merbit_plan_destroy(plan);
}

/* 32 rows of one nonzero; if a run length is given, in runs. */
static void what_even_rows_tell(void **state) {
  int32_t begins[33], columns[32];
  merbit_view view;
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan;
  char line[1024];
  int i;
  (void)state;
  for (i = 0; i <= 32; i++) {
    begins[i] = i;
    columns[i % 32] = i % 32;
  }
  view = merbit_csr(32, 32, 32, begins, columns, NULL);
  view.value_type = MERBIT_F32;
  memset(&desc, 0, sizeof desc);
  desc.vectors = 8;
  desc.vector_order = MERBIT_VECTORS_ROW_MAJOR;
  products_done(gpu, merbit_plan_create(gpu, &view, &desc, &plan), "a plan");
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_int_equal(mbi_many_of(plan)->unroll, 4);
  assert_int_equal(info.tiles, 0);
  /* The CSR with row_ptr, X and Y. */
  assert_int_equal(info.bytes_per_product, 32 * 4 + 33 * 4 + 64 * 32);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(
      strstr(line, "rows of similar length, 2 lanes of 4 columns per row, 256 threads"));
  merbit_plan_destroy(plan);
  desc.method = MERBIT_METHOD_MANY;
  desc.tuning = "run=1";
  products_done(gpu, merbit_plan_create(gpu, &view, &desc, &plan), "a plan");
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, "1 tiles of 16 runs of 32"));
  merbit_plan_destroy(plan);
}

static void refused(void **state) {
  double x[64] = {0}, y[64] = {0};
  merbit_plan *plan = small(MERBIT_VECTORS_ROW_MAJOR, 8, MERBIT_MEMORY_DEFAULT);
  const merbit_view view = merbit_csr(3, 4, 3, row_ptr, col_ind, values);
  merbit_plan_desc desc;
  merbit_plan *none;
  (void)state;
  assert_int_equal(merbit_spmm(plan, NULL, NULL, x, 8, NULL, y, 8, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "is host memory, but the plan computes on CUDA");
  assert_int_equal(merbit_spmm(plan, NULL, NULL, x, (int64_t)1 << 29, NULL, y, 8, NULL),
                   MERBIT_TOO_LARGE);
  cpu_expect(gpu, MERBIT_TOO_LARGE,
             "ldx is 536870912; row-major vectors in GPU memory have at most 536870911");
  assert_int_equal(merbit_spmm(plan, NULL, NULL, x, 8, NULL, y, (int64_t)1 << 29, NULL),
                   MERBIT_INVALID_ARGUMENT); /* only because the arrays are on the host */
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_INVALID_ARGUMENT);
  merbit_plan_destroy(plan);
  plan = small(MERBIT_VECTORS_ROW_MAJOR, 1, MERBIT_MEMORY_DEFAULT);
  assert_int_equal(merbit_spmm(plan, NULL, NULL, (const void *)(UINTPTR_MAX / 16 + 1),
                               (int64_t)1 << 29, NULL, y, 1, NULL),
                   MERBIT_NOT_SUPPORTED);
  assert_int_equal(merbit_spmm(plan, NULL, NULL, x, 1, NULL, y, 1, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "merbit_spmm: x at ");
  merbit_plan_destroy(plan);
  { /* alpha and beta that lie between two numbers */
    merbit_buffer *buffer;
    char *there;
    assert_int_equal(merbit_buffer_create(gpu, 2048, &buffer), MERBIT_OK);
    there = (char *)merbit_buffer_pointer(buffer);
    memset(&desc, 0, sizeof desc);
    desc.vectors = 8;
    desc.scalar_memory = MERBIT_MEMORY_DEVICE;
    assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(merbit_spmm(plan, NULL, there + 4, there, 8, NULL, there + 1024, 8, NULL),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "alpha at");
    assert_int_equal(merbit_spmm(plan, NULL, NULL, there, 8, there + 4, there + 1024, 8, NULL),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "beta at");
    merbit_plan_destroy(plan);
    merbit_buffer_destroy(buffer);
  }
  memset(&desc, 0, sizeof desc);
  desc.vectors = 8;
  desc.method = MERBIT_METHOD_MERGE;
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &none), MERBIT_NOT_SUPPORTED);
  cpu_expect(gpu, MERBIT_NOT_SUPPORTED, "MERBIT_METHOD_MERGE, which does not take 8 vectors");
  desc.method = MERBIT_METHOD_MANY;
  desc.tuning = "run=5";
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &none), MERBIT_INVALID_ARGUMENT);
  cpu_expect(gpu, MERBIT_INVALID_ARGUMENT, "8 vectors take run 1 to 4");
}

/* Host vectors that need several bounce buffers, row-major and column-major, with and without
 * gaps. */
static void long_host_vectors(void **state) {
  const int64_t most = gpu_stride() > 1 ? 3000 : 9000;
  int way;
  (void)state;
  for (way = 0; way < (gpu_stride() > 1 ? 2 : 4); way++) {
    products_form form = form_of(128 + 256 + (way % 2 ? 64 : 0), 8);
    test_matrix m;
    int64_t i;
    memset(&m, 0, sizeof m);
    (void)snprintf(m.name, sizeof m.name, "long host vectors");
    m.rows = m.cols = m.nnz = most;
    m.row_ptr = (int64_t *)test_allocate(m.rows + 1, sizeof *m.row_ptr);
    m.col_ind = (int32_t *)test_allocate(m.nnz, sizeof *m.col_ind);
    m.values = (double *)test_allocate(m.nnz, sizeof *m.values);
    for (i = 0; i < most; i++) {
      m.row_ptr[i + 1] = i + 1;
      m.col_ind[i] = (int32_t)(most - 1 - i);
      m.values[i] = (double)(i % 5);
    }
    many_check(gpu, &m, &form, way < 2 ? 3 : 0, NULL);
    test_matrix_free(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_matrix), cmocka_unit_test(every_form),
      cmocka_unit_test(even_rows),    cmocka_unit_test(what_even_rows_tell),
      cmocka_unit_test(blocks),       cmocka_unit_test(what_a_plan_tells),
      cmocka_unit_test(refused),      cmocka_unit_test(long_host_vectors),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
