/* Blocks on the GPU: matrices of single entries in blocks of many shapes, BSR views in either
 * order whose padding must not take part, new values, refusals. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/products.h"
#include "support/data.h"
#include "support/gpu.h"

static merbit_context *gpu;

static const int shapes[][2] = {{1, 1}, {2, 2}, {3, 3},  {4, 4},  {5, 5},   {6, 6},  {7, 7},
                                {8, 8}, {3, 5}, {16, 1}, {1, 16}, {16, 16}, {33, 2}, {13, 7}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* ---- Single entries in blocks that they do not fill -------------------------------------- */

static void entries_meet_the_bound(void **state) {
  int i, variant;
  (void)state;
  for (i = 0; i < test_matrix_count(); i += gpu_stride()) {
    test_matrix m;
    test_matrix_make(i, 21, &m);
    for (variant = 0; variant < 4; variant++) {
      const int shape = (i / gpu_stride() * 4 + variant) % (SHAPES + 1);
      products_form form;
      if (gpu_stride() > 1 && variant % 2 != i / gpu_stride() % 2) {
        continue; /* the fake GPU's compiler takes seconds per program */
      }
      memset(&form, 0, sizeof form);
      form.type = variant & 1 ? MERBIT_F32 : MERBIT_F64;
      form.offset_type = i & 1 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
      form.index_type = variant & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
      form.base = variant >> 1 & 1;
      form.format = variant == 3 ? MERBIT_COO : MERBIT_CSR;
      form.device_arrays = variant == 2 || (variant == 3 && i % 2);
      form.device_scalars = variant == 1;
      form.few_scalars = m.nnz > 5000;
      form.plan.method = MERBIT_METHOD_BSR;
      form.plan.side = MERBIT_SIDE_CUDA;
      form.plan.scalar_memory = form.device_scalars ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
      form.plan.vector_memory = variant == 0 ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
      if (shape < SHAPES) { /* else found automatically */
        form.plan.block_rows = shapes[shape][0];
        form.plan.block_cols = shapes[shape][1];
      }
      if (form.plan.block_rows * form.plan.block_cols * m.nnz < 2000000) {
        products_check(gpu, &m, &form);
      }
    }
    test_matrix_free(&m);
  }
}

/* ---- BSR views --------------------------------------------------------------------------- */

typedef struct tiling { /* about 40 block rows, of which some are empty and one is long */
  test_matrix m;        /* every entry inside the matrix */
  int rows, cols;       /* of a block */
  int64_t places, blocks;
  int64_t *row_ptr;
  int32_t *col_ind;
  double *values; /* row-major; NaN beyond the matrix */
} tiling;

static void tiling_free(tiling *t) {
  test_matrix_free(&t->m);
  free(t->row_ptr);
  free(t->col_ind);
  free(t->values);
}

/* Writes the entries of row `row` in CSR order. */
static void tiling_row(tiling *t, int64_t row) {
  const int64_t place = row / t->rows, r = row % t->rows, size = t->rows * t->cols;
  int64_t b, c;
  for (b = t->row_ptr[place]; b < t->row_ptr[place + 1]; b++) {
    for (c = 0; c < t->cols && t->col_ind[b] * t->cols + c < t->m.cols; c++) {
      t->m.col_ind[t->m.nnz] = (int32_t)(t->col_ind[b] * t->cols + c);
      t->values[b * size + r * t->cols + c] = t->m.values[t->m.nnz];
      t->m.nnz++;
    }
  }
  t->m.row_ptr[row + 1] = t->m.nnz;
}

static void tiling_make(int rows, int cols, int edge, tiling *t) {
  const int64_t across = 30, longest = 700;
  uint64_t random = (uint64_t)(rows * 64 + cols);
  int64_t i;
  memset(t, 0, sizeof *t);
  t->rows = rows;
  t->cols = cols;
  t->places = 40;
  t->row_ptr = (int64_t *)test_allocate(t->places + 1, sizeof *t->row_ptr);
  for (i = 0; i < t->places; i++) {
    t->row_ptr[i + 1] = t->row_ptr[i] + (i == 17      ? longest
                                         : i % 5 == 4 ? 0
                                                      : test_below(&random, 9));
  }
  t->blocks = t->row_ptr[t->places];
  t->col_ind = (int32_t *)test_allocate(t->blocks, sizeof *t->col_ind);
  for (i = 0; i < t->blocks; i++) {
    t->col_ind[i] = (int32_t)test_below(&random, across);
  }
  t->values = (double *)test_allocate(t->blocks * rows * cols, sizeof *t->values);
  for (i = 0; i < t->blocks * rows * cols; i++) {
    t->values[i] = (double)NAN;
  }
  (void)snprintf(t->m.name, sizeof t->m.name, "blocks of %d x %d%s", rows, cols,
                 edge ? ", cut" : "");
  t->m.rows = t->places * rows - (edge && rows > 1);
  t->m.cols = across * cols - (edge && cols > 1);
  t->m.row_ptr = (int64_t *)test_allocate(t->m.rows + 1, sizeof *t->m.row_ptr);
  t->m.col_ind = (int32_t *)test_allocate(t->blocks * rows * cols, sizeof *t->m.col_ind);
  t->m.values = (double *)test_allocate(t->blocks * rows * cols, sizeof *t->m.values);
  for (i = 0; i < t->blocks * rows * cols; i++) {
    t->m.values[i] = test_uniform(&random);
  }
  for (i = 0; i < t->m.rows; i++) {
    tiling_row(t, i);
  }
}

typedef struct handing { /* how the blocks are passed */
  merbit_type type;
  merbit_block_order order;
  int device, pattern, base;
  merbit_index_type offset_type, index_type;
} handing;

/* Returns the blocks' values in their order and type. */
static void *tiling_values(const tiling *t, const handing *how, double factor) {
  const int64_t size = t->rows * t->cols;
  void *values = products_exact(t->blocks * size, products_size(how->type));
  int64_t i;
  for (i = 0; i < t->blocks * size; i++) {
    const int64_t k = i % size;
    const int64_t from =
        how->order == MERBIT_BLOCK_ROW_MAJOR ? k : k % t->rows * t->cols + k / t->rows;
    products_set(values, i, factor * t->values[i - k + from], how->type);
  }
  return values;
}

static void tiling_hand_over(const tiling *t, const handing *how, products_arrays *a) {
  const size_t value = products_size(how->type);
  memset(a, 0, sizeof *a);
  a->row_ptr = products_indices(t->row_ptr, NULL, t->places + 1, how->offset_type, how->base);
  a->col_ind = products_indices(NULL, t->col_ind, t->blocks, how->index_type, how->base);
  a->values = tiling_values(t, how, 1);
  a->view = merbit_bsr(t->m.rows, t->m.cols, t->blocks, t->rows, t->cols, a->row_ptr,
                       a->col_ind, how->pattern ? NULL : a->values);
  a->view.value_type = how->type;
  a->view.offset_type = how->offset_type;
  a->view.index_type = how->index_type;
  a->view.base = how->base;
  a->view.block_order = how->order;
  if (how->device) {
    const size_t offset = how->offset_type == MERBIT_INDEX_64 ? 8 : 4;
    const size_t index = how->index_type == MERBIT_INDEX_64 ? 8 : 4;
    a->view.memory = MERBIT_MEMORY_DEVICE;
    a->view.row_ptr =
        products_move(gpu, a->row_ptr, (size_t)(t->places + 1) * offset, &a->buffers[0]);
    a->view.col_ind = products_move(gpu, a->col_ind, (size_t)t->blocks * index, &a->buffers[1]);
    if (!how->pattern) {
      a->view.values = products_move(
          gpu, a->values, (size_t)(t->blocks * t->rows * t->cols) * value, &a->buffers[2]);
    }
  }
}

/* Multiplies by a plan of the arrays of c. */
static void multiply_all(products_case *c, merbit_plan *plan) {
  const size_t size = products_size(c->form.type);
  products_plan p;
  int i, j;
  memset(&p, 0, sizeof p);
  p.context = gpu;
  p.form = &c->form;
  p.plan = plan;
  p.x_bytes = (size_t)c->m.cols * size;
  p.y_bytes = (size_t)c->m.rows * size;
  products_done(gpu, merbit_buffer_create(gpu, p.x_bytes, &p.x), "x");
  products_done(gpu, merbit_buffer_create(gpu, p.y_bytes, &p.y), "y");
  for (i = 0; i < 4; i++) {
    for (j = 0; j < 4; j++) {
      products_once(c, products_scalars[i], products_scalars[j], products_spmv, &p);
    }
  }
  products_spoil_x(c, 5);
  products_once(c, 1, 0.5, products_spmv, &p);
  merbit_buffer_destroy(p.x);
  merbit_buffer_destroy(p.y);
}

static void new_values(products_case *c, const tiling *t, const handing *how,
                       merbit_plan *plan) {
  const size_t bytes = (size_t)(t->blocks * t->rows * t->cols) * products_size(how->type);
  const int device = how->device && how->base;
  void *values = tiling_values(t, how, -3);
  merbit_buffer *buffer = NULL;
  const void *from = device ? products_move(gpu, values, bytes, &buffer) : values;
  uint64_t random = 17;
  int64_t i;
  for (i = 0; i < c->m.nnz; i++) {
    c->m.values[i] *= -3;
  }
  products_done(
      gpu,
      merbit_plan_update_values(plan, from, device ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST),
      "new values");
  merbit_buffer_destroy(buffer);
  free(values);
  for (i = 0; i < c->m.cols; i++) {
    products_set(c->x, i, test_uniform(&random), c->form.type);
  }
  multiply_all(c, plan);
}

static void check_tiling_by(int rows, int cols, int edge, const handing *how,
                            const merbit_plan_desc *desc) {
  products_case c;
  products_form form;
  products_arrays own;
  merbit_plan *plan;
  tiling t;
  int64_t i;
  tiling_make(rows, cols, edge, &t);
  for (i = 0; how->pattern && i < t.m.nnz; i++) {
    t.m.values[i] = 1;
  }
  memset(&form, 0, sizeof form);
  form.type = how->type;
  products_case_make(gpu, &t.m, &form, &c);
  tiling_hand_over(&t, how, &own);
  products_done(gpu, merbit_plan_create(gpu, &own.view, desc, &plan), t.m.name);
  multiply_all(&c, plan);
  if (!how->pattern) {
    new_values(&c, &t, how, plan);
  }
  merbit_plan_destroy(plan);
  products_arrays_free(&own);
  products_case_free(&c);
  tiling_free(&t);
}

static void check_tiling(int rows, int cols, int edge, const handing *how) {
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_BSR;
  check_tiling_by(rows, cols, edge, how, &desc);
}

static void blocks_meet_the_bound(void **state) {
  const int step = gpu_stride() > 3 ? 3 : gpu_stride();
  int i, shape;
  (void)state;
  for (shape = 0; shape < SHAPES; shape += step) {
    for (i = 0; i < (gpu_stride() > 1 ? 2 : 8); i++) {
      handing how;
      memset(&how, 0, sizeof how);
      how.type = (i ^ shape) & 1 ? MERBIT_F32 : MERBIT_F64;
      how.order = i & 2 ? MERBIT_BLOCK_COLUMN_MAJOR : MERBIT_BLOCK_ROW_MAJOR;
      how.device = (i + shape / 2) & 1;
      how.pattern = i == 5;
      how.base = shape & 1;
      how.offset_type = i & 4 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
      how.index_type = (i + shape) % 3 == 0 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
      check_tiling(shapes[shape][0], shapes[shape][1], i % 2, &how);
    }
  }
}

/* The four kernels for comparison, with different threads per block and blocks per GPU. */
static void studies_of_blocks_meet_the_bound(void **state) {
  static const int few[][2] = {{5, 5}, {3, 5}, {16, 1}, {13, 7}, {1, 16}, {2, 2}};
  static const struct {
    const char *tuning;
    int threads;
  } sizes[] = {{NULL, 0}, {"waves=1", 1024}, {"waves=3", 128}, {"waves=4", 512}};
  const int step = gpu_stride() > 1 ? 6 : 1;
  int method, i;
  (void)state;
  for (method = MERBIT_METHOD_BSR_ROW_MAJOR; method <= (int)MERBIT_METHOD_BSR_VECTOR;
       method++) {
    for (i = gpu_first_of(step); i < 12; i += step) {
      const int *shape = few[(i + method) % 6];
      merbit_plan_desc desc;
      handing how;
      memset(&desc, 0, sizeof desc);
      memset(&how, 0, sizeof how);
      desc.method = (merbit_method)method;
      desc.tuning = sizes[i % 4].tuning;
      desc.block_threads = sizes[i % 4].threads;
      how.type = i & 1 ? MERBIT_F32 : MERBIT_F64;
      how.order = i & 2 ? MERBIT_BLOCK_COLUMN_MAJOR : MERBIT_BLOCK_ROW_MAJOR;
      how.device = i % 3 == 0;
      how.pattern = i == 7;
      how.base = i / 4 & 1;
      how.offset_type = i & 4 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
      check_tiling_by(shape[0], shape[1], i % 2, &how, &desc);
    }
  }
}

/* ---- New values of single entries, with the structure on either side --------------------- */

static void new_values_of_entries(void **state) {
  int device, k;
  (void)state;
  for (device = 0; device < 2; device++) {
    products_case c;
    products_form form;
    merbit_plan_desc desc;
    merbit_plan *plan;
    test_matrix m;
    void *values;
    test_matrix_make(20, 3, &m);
    memset(&form, 0, sizeof form);
    form.device_arrays = device;
    products_case_make(gpu, &m, &form, &c);
    memset(&desc, 0, sizeof desc);
    desc.method = MERBIT_METHOD_BSR;
    desc.block_rows = 3;
    desc.block_cols = 2;
    products_done(gpu, merbit_plan_create(gpu, &c.a.view, &desc, &plan), m.name);
    for (k = 0; k < m.nnz; k++) {
      m.values[k] = 0.5 - m.values[k];
    }
    values = products_values(m.values, m.nnz, MERBIT_F64);
    products_done(gpu, merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST), "values");
    multiply_all(&c, plan);
    merbit_plan_destroy(plan);
    free(values);
    products_case_free(&c);
    test_matrix_free(&m);
  }
}

/* ---- Descriptions and refusals ----------------------------------------------------------- */

static merbit_status make(const merbit_view *view, const merbit_plan_desc *desc, char *line,
                          size_t size) {
  merbit_plan *plan = NULL;
  const merbit_status status = merbit_plan_create(gpu, view, desc, &plan);
  if (status == MERBIT_OK) {
    (void)merbit_plan_describe(plan, line, size);
  } else {
    (void)merbit_last_error(gpu, line, size);
    assert_null(plan);
  }
  merbit_plan_destroy(plan);
  return status;
}

static void a_plan_tells_its_blocks(void **state) {
  handing how;
  products_arrays a;
  merbit_plan_desc desc;
  char line[MERBIT_MESSAGE_SIZE];
  tiling t;
  (void)state;
  memset(&how, 0, sizeof how);
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_BSR;
  tiling_make(5, 5, 0, &t);
  tiling_hand_over(&t, &how, &a);
  assert_int_equal(make(&a.view, &desc, line, sizeof line), MERBIT_OK);
  assert_non_null(strstr(line, "bsr on "));
  assert_non_null(strstr(line, " blocks of 5 x 5, 100.0% filled, "));
  assert_non_null(strstr(line, "x by shuffles"));
  desc.tuning = "blocks=7";
  assert_int_equal(make(&a.view, &desc, line, sizeof line), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(line, "blocks is 7; blocks of 5 x 5 take multiples of 2"));
  desc.tuning = NULL;
  desc.block_threads = 33;
  assert_int_equal(make(&a.view, &desc, line, sizeof line), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(line, "block_threads is 33"));
  desc.block_threads = 0;
  desc.tuning = "shuffle=3";
  assert_int_equal(make(&a.view, &desc, line, sizeof line), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(line, "shuffle is 3"));
  desc.tuning = "shuffle=1";
  assert_int_equal(make(&a.view, &desc, line, sizeof line), MERBIT_OK);
  assert_null(strstr(line, "x by shuffles"));
  products_arrays_free(&a);
  tiling_free(&t);
}

static void bad_device_arrays_are_refused(void **state) {
  handing how;
  products_arrays a;
  merbit_plan_desc desc;
  char line[MERBIT_MESSAGE_SIZE];
  tiling t;
  (void)state;
  memset(&how, 0, sizeof how);
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_BSR;
  how.device = 1;
  tiling_make(3, 3, 1, &t);
  t.col_ind[5] = 30;
  tiling_hand_over(&t, &how, &a);
  assert_int_equal(make(&a.view, &desc, line, sizeof line), MERBIT_INVALID_MATRIX);
  assert_non_null(strstr(line, "col_ind[5]"));
  desc.unchecked = 1;
  a.view.values = (const char *)a.view.values + 4;
  assert_int_equal(make(&a.view, &desc, line, sizeof line), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(line, "view.values at"));
  a.view.values = a.values;
  assert_int_equal(make(&a.view, &desc, line, sizeof line), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(line, "is not an address of the GPU"));
  products_arrays_free(&a);
  tiling_free(&t);
}

static void no_blocks_and_no_rows(void **state) {
  static const int32_t row_ptr[4] = {0, 0, 0, 0};
  static const double x[6] = {1, 2, 3, 4, 5, 6};
  double y[5] = {1, 2, 3, 4, 5};
  const double beta = 2;
  merbit_plan_desc desc;
  merbit_view view = merbit_bsr(5, 6, 0, 2, 3, row_ptr, row_ptr, x);
  merbit_plan *plan;
  int i;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_BSR;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  products_done(gpu, merbit_plan_create(gpu, &view, &desc, &plan), "no blocks");
  products_done(gpu, merbit_spmv(plan, NULL, NULL, x, &beta, y, NULL), "no blocks");
  for (i = 0; i < 5; i++) {
    assert_true(y[i] == 2 * (i + 1));
  }
  merbit_plan_destroy(plan);
  view = merbit_bsr(0, 6, 0, 2, 3, row_ptr, row_ptr, x);
  products_done(gpu, merbit_plan_create(gpu, &view, &desc, &plan), "no rows");
  products_done(gpu, merbit_spmv(plan, NULL, NULL, x, &beta, y, NULL), "no rows");
  merbit_plan_destroy(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_meet_the_bound),
      cmocka_unit_test(blocks_meet_the_bound),
      cmocka_unit_test(studies_of_blocks_meet_the_bound),
      cmocka_unit_test(new_values_of_entries),
      cmocka_unit_test(a_plan_tells_its_blocks),
      cmocka_unit_test(bad_device_arrays_are_refused),
      cmocka_unit_test(no_blocks_and_no_rows),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
