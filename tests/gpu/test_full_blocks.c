/* AUTO converts a CSR that consists of full or nearly full blocks to blocks: products within
 * the bound, new values, and what the plan keeps. */
static double small_limit;       /* part of L2 that a small matrix takes; 0: none is small */
static double small_with_blocks; /* size from which it is searched for blocks */
#define MBI_SHAPE_ENTRIES 8192   /* of a sample */
#define MBI_SHAPE_WINDOW 64
#define MBI_CHOOSE_SMALL small_limit
#define MBI_CHOOSE_KEPT 0.0 /* of L2: as for the large matrices that these stand for */
#define MBI_CHOOSE_BLOCKS small_with_blocks
#include "support/internal.h"
#include "spmv/choose/choose.c"
#include "spmv/choose/critical_path.c"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/gpu.h"
#include "support/products.h"

static merbit_context *gpu;

/* Puts blocks of `high` x `wide` at the nonzeros of generated matrix `index`. */
static void blow_up(int index, int high, int wide, test_matrix *m) {
  test_matrix places;
  uint64_t state = 5;
  int64_t row, b, k = 0;
  int r, c;
  test_matrix_make(index, 1, &places);
  *m = places;
  m->rows = places.rows * high;
  m->cols = places.cols * wide;
  m->nnz = places.nnz * high * wide;
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (row = 0; row < places.rows; row++) {
    for (r = 0; r < high; r++) {
      m->row_ptr[row * high + r] = k;
      for (b = places.row_ptr[row]; b < places.row_ptr[row + 1]; b++) {
        for (c = 0; c < wide; c++) {
          m->col_ind[k] = (int32_t)(places.col_ind[b] * wide + c);
          m->values[k++] = test_uniform(&state);
        }
      }
    }
  }
  m->row_ptr[m->rows] = k;
  test_matrix_free(&places);
}

/* Removes a share of the entries, at random, and all entries of every fifth row of blocks that
 * are `high` rows high, unless that is 0. */
static void make_holes(double share, int high, test_matrix *m) {
  uint64_t state = 7;
  int64_t row, at = 0, k = 0;
  for (row = 0; row < m->rows; row++) {
    const int64_t end = m->row_ptr[row + 1];
    const int empty = high > 0 && row / high % 5 == 3;
    m->row_ptr[row] = k;
    for (; at < end; at++) {
      if (fabs(test_uniform(&state)) >= share && !empty) {
        m->col_ind[k] = m->col_ind[at];
        m->values[k++] = m->values[at];
      }
    }
  }
  m->row_ptr[m->rows] = m->nnz = k;
}

static void form_make(int bits, products_form *form) {
  memset(form, 0, sizeof *form);
  form->type = bits & 1 ? MERBIT_F32 : MERBIT_F64;
  form->offset_type = bits & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  form->base = bits >> 2 & 1;
  form->device_arrays = bits >> 3 & 1;
  form->few_scalars = 1;
  form->plan.expected_calls = 500;
}

/* Returns AUTO's method for `m`. */
static merbit_method taken(const test_matrix *m, const products_form *form, const char *piece) {
  products_arrays arrays;
  merbit_plan *plan;
  merbit_method method;
  char line[1024];
  products_arrays_make(gpu, m, form, &arrays);
  assert_int_equal(merbit_plan_create(gpu, &arrays.view, &form->plan, &plan), MERBIT_OK);
  method = plan->method;
  assert_true(merbit_plan_describe(plan, line, sizeof line) < sizeof line);
  if (strstr(line, piece) == NULL) {
    fail_msg("%s: \"%s\" is not in \"%s\"", m->name, piece, line);
  }
  merbit_plan_destroy(plan);
  products_arrays_free(&arrays);
  return method;
}

static void full_blocks_are_taken(void **state) {
  static const struct {
    int high, wide;
    const char *piece;
  } shapes[] = {{3, 3, "blocks of 3 x 3, 100.0% filled"},
                {2, 8, "blocks of 2 x 8, 100.0% filled"},
                {16, 1, "blocks of 16 x 1, 100.0% filled"},
                {1, 5, "blocks of 1 x 5, 100.0% filled"}};
  const int index = test_matrix_largest(3000), step = gpu_stride() > 1 ? 11 : 1;
  size_t s;
  int bits;
  (void)state;
  for (s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    for (bits = (int)s; bits < 16; bits += step) {
      test_matrix m;
      products_form form;
      blow_up(index, shapes[s].high, shapes[s].wide, &m);
      make_holes(0, bits % 3 == 2 ? shapes[s].high : 0, &m);
      form_make(bits, &form);
      assert_int_equal(taken(&m, &form, shapes[s].piece), MERBIT_METHOD_BSR);
      products_check(gpu, &m, &form);
      test_matrix_free(&m);
    }
  }
}

/* Without measuring, which would take the fastest on this device. */
static void nearly_full_blocks_are_taken(void **state) {
  const int index = test_matrix_largest(300), step = gpu_stride() > 1 ? 7 : 1;
  int bits;
  (void)state;
  for (bits = 0; bits < 16; bits += step) {
    test_matrix m;
    products_form form;
    blow_up(index, 4, 8, &m);
    make_holes(0.1, 0, &m);
    form_make(bits, &form);
    form.plan.deterministic = 1;
    form.plan.expected_calls = 100000000;
    assert_int_equal(taken(&m, &form, "blocks of 4 x 4, "), MERBIT_METHOD_BSR);
    products_check(gpu, &m, &form);
    form.plan.expected_calls = 500; /* too few to look for such blocks */
    assert_int_not_equal(taken(&m, &form, "forecast"), MERBIT_METHOD_BSR);
    test_matrix_free(&m);
  }
}

/* If columns descend or entries repeat. */
static void unsorted_blocks_are_not(void **state) {
  int repeat;
  (void)state;
  for (repeat = 0; repeat < 2; repeat++) {
    test_matrix m;
    products_form form;
    int32_t first;
    blow_up(test_matrix_largest(300), 4, 8, &m);
    make_holes(0.1, 0, &m);
    form_make(0, &form);
    form.plan.deterministic = 1;
    form.plan.expected_calls = 100000000;
    first = m.col_ind[0];
    m.col_ind[0] = m.col_ind[1];
    m.col_ind[1] = repeat ? m.col_ind[1] : first;
    assert_int_not_equal(taken(&m, &form, "forecast"), MERBIT_METHOD_BSR);
    test_matrix_free(&m);
  }
}

/* Blocks of 8 x 8 in the 12 windows of the sample, which are 336 rows apart, and runs of 6
 * elsewhere. */
static void a_sample_may_mislead(void **state) {
  enum { ROWS = 4096, APART = 336, BLOCKS = 72 };
  test_matrix m;
  products_form form;
  int64_t row, k = 0;
  int c;
  (void)state;
  memset(&m, 0, sizeof m);
  (void)snprintf(m.name, sizeof m.name, "blocks in windows");
  m.rows = m.cols = ROWS;
  m.row_ptr = (int64_t *)test_allocate(ROWS + 1, sizeof *m.row_ptr);
  m.col_ind = (int32_t *)test_allocate(16 * ROWS, sizeof *m.col_ind);
  m.values = (double *)test_allocate(16 * ROWS, sizeof *m.values);
  for (row = 0; row < ROWS; row++) {
    const int inside = row % APART < BLOCKS;
    const int64_t first = inside ? row / 16 * 16 : row * 53 % (ROWS - 6);
    m.row_ptr[row] = k;
    for (c = 0; c < (inside ? 16 : 6); c++) {
      m.col_ind[k] = (int32_t)(first + c);
      m.values[k++] = 1.0 / (double)(row + c + 2);
    }
  }
  m.row_ptr[ROWS] = m.nnz = k;
  form_make(0, &form);
  form.plan.deterministic = 1;
  form.plan.expected_calls = 100000000;
  assert_int_not_equal(
      taken(&m, &form, "failed: blocks of 8 x 8 take more memory than the CSR"),
      MERBIT_METHOD_BSR);
  test_matrix_free(&m);
}

/* One entry more or less, few products, or values whose form will change. */
static void others_are_not(void **state) {
  const int index = test_matrix_largest(3000);
  test_matrix m;
  products_form form;
  (void)state;
  blow_up(index, 3, 3, &m);
  form_make(0, &form);
  m.row_ptr[1]++;
  assert_int_not_equal(taken(&m, &form, "forecast"), MERBIT_METHOD_BSR);
  m.row_ptr[1]--;
  form.plan.expected_calls = 2;
  assert_int_not_equal(taken(&m, &form, "forecast"), MERBIT_METHOD_BSR);
  form.plan.expected_calls = 500;
  {
    int64_t k;
    for (k = 0; k < m.nnz; k++) {
      m.values[k] = 2;
    }
  }
  assert_int_not_equal(taken(&m, &form, "values all equal"), MERBIT_METHOD_BSR);
  test_matrix_free(&m);
}

/* Small matrices get blocks from a certain size and number of products on, if a long row keeps
 * them from ROWS. */
static void small_ones_where_it_pays(void **state) {
  test_matrix m;
  products_form form;
  (void)state;
  small_limit = 0.57;
  blow_up(test_matrix_largest(3200), 3, 3, &m);
  form_make(0, &form);
  form.plan.expected_calls = 300;
  assert_int_equal(taken(&m, &form, "small, of full blocks"), MERBIT_METHOD_BSR);
  products_check(gpu, &m, &form);
  form.plan.expected_calls = 299;
  assert_int_not_equal(taken(&m, &form, "small, with"), MERBIT_METHOD_BSR);
  form.type = MERBIT_F32; /* pays sooner */
  form.plan.expected_calls = 100;
  assert_int_equal(taken(&m, &form, "small, of full blocks"), MERBIT_METHOD_BSR);
  form.plan.expected_calls = 99;
  assert_int_not_equal(taken(&m, &form, "small, with"), MERBIT_METHOD_BSR);
  form.type = MERBIT_F64;
  form.plan.expected_calls = 300;
  small_with_blocks = 0.625;
  assert_int_not_equal(taken(&m, &form, "small, with"), MERBIT_METHOD_BSR);
  small_with_blocks = 0;
  form.plan.expected_calls = 20000;
  (void)taken(&m, &form, "bsr ");
  (void)taken(&m, &form, "measured ");
  small_limit = 0;
  test_matrix_free(&m);
}

/* New values in CSR order, from either memory, for full blocks and for others. */
static void new_values(void **state) {
  int kind;
  (void)state;
  for (kind = 0; kind < 4; kind++) {
    const int device = kind % 2, holes = kind / 2;
    test_matrix m;
    products_form form;
    products_case c;
    merbit_plan *plan;
    merbit_buffer *x, *y, *values = NULL;
    int64_t k;
    int turn;
    blow_up(test_matrix_largest(holes ? 300 : 3200), holes ? 4 : 2, holes ? 8 : 3, &m);
    form_make(device ? 8 : 2, &form);
    if (holes) {
      make_holes(0.1, 0, &m);
      form.plan.deterministic = 1;
      form.plan.expected_calls = 100000000;
    }
    products_case_make(gpu, &m, &form, &c);
    assert_int_equal(merbit_plan_create(gpu, &c.a.view, &form.plan, &plan), MERBIT_OK);
    assert_int_equal(plan->method, MERBIT_METHOD_BSR);
    assert_true(plan->device.values == 0); /* so new values are read where they are */
    (void)products_move(gpu, c.x, (size_t)m.cols * 8, &x);
    (void)products_move(gpu, c.y0, (size_t)m.rows * 8, &y);
    for (turn = 0; turn < 3; turn++) {
      const void *from = m.values;
      for (k = 0; k < m.nnz; k++) {
        m.values[k] = (double)(turn + 1) / (double)(k % 17 + 2);
      }
      if (device) {
        from = products_move(gpu, m.values, (size_t)m.nnz * 8, &values);
      }
      assert_int_equal(merbit_plan_update_values(plan, from, MERBIT_MEMORY_DEFAULT), MERBIT_OK);
      merbit_buffer_destroy(values);
      values = NULL;
      assert_int_equal(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(x), NULL,
                                   merbit_buffer_pointer(y), NULL),
                       MERBIT_OK);
      assert_int_equal(merbit_buffer_download(y, 0, c.y, (size_t)m.rows * 8), MERBIT_OK);
      assert_int_equal(
          bound_rows_wrong_f64(&m, 1, (const double *)c.x, 0, NULL, (const double *)c.y), 0);
    }
    merbit_plan_destroy(plan);
    merbit_buffer_destroy(x);
    merbit_buffer_destroy(y);
    products_case_free(&c);
    test_matrix_free(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(full_blocks_are_taken),
      cmocka_unit_test(nearly_full_blocks_are_taken),
      cmocka_unit_test(unsorted_blocks_are_not),
      cmocka_unit_test(a_sample_may_mislead),
      cmocka_unit_test(others_are_not),
      cmocka_unit_test(small_ones_where_it_pays),
      cmocka_unit_test(new_values),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
