/* Corner cases of the CUDA side: contradictory options, arrays that are not where they should
 * be, unchecked 64-bit columns, plan descriptions. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/products.h"
#include "support/gpu.h"
#include "support/tuning.h"

static merbit_context *gpu;

static const int32_t row_ptr[] = {0, 2, 3, 5};
static const int32_t col_ind[] = {0, 2, 1, 0, 2};
static const int64_t wide_columns[] = {0, 2, 1, 0, 2};
static const double values[] = {1, 2, 3, 4, 5}, more[] = {10, 20, 30, 40, 50};
static const double x[] = {1, 10, 100};

static void expect(merbit_status status, const char *piece) {
  char sentence[MERBIT_MESSAGE_SIZE];
  assert_int_equal(merbit_last_error(gpu, sentence, sizeof sentence), status);
  if (strstr(sentence, piece) == NULL) {
    fail_msg("the sentence is \"%s\", without \"%s\"", sentence, piece);
  }
}

typedef struct there { /* the matrix in GPU memory */
  merbit_view view;
  merbit_buffer *row_ptr, *col_ind, *values;
} there;

static void there_make(there *t, int wide) {
  t->view = merbit_csr(3, 3, 5, NULL, NULL, NULL);
  t->view.memory = MERBIT_MEMORY_DEVICE;
  t->view.index_type = wide ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  t->view.row_ptr = products_move(gpu, row_ptr, sizeof row_ptr, &t->row_ptr);
  t->view.col_ind = wide ? products_move(gpu, wide_columns, sizeof wide_columns, &t->col_ind)
                         : products_move(gpu, col_ind, sizeof col_ind, &t->col_ind);
  t->view.values = products_move(gpu, values, sizeof values, &t->values);
}

static void there_free(there *t) {
  merbit_buffer_destroy(t->row_ptr);
  merbit_buffer_destroy(t->col_ind);
  merbit_buffer_destroy(t->values);
}

static void expect_product(merbit_plan *plan, double first, double second, double third) {
  merbit_buffer *bx, *by;
  double y[3] = {-1, -1, -1};
  (void)products_move(gpu, x, sizeof x, &bx);
  (void)products_move(gpu, y, sizeof y, &by);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(bx), NULL,
                               merbit_buffer_pointer(by), NULL),
                   MERBIT_OK);
  assert_int_equal(merbit_buffer_download(by, 0, y, sizeof y), MERBIT_OK);
  assert_true(y[0] == first && y[1] == second && y[2] == third);
  merbit_buffer_destroy(bx);
  merbit_buffer_destroy(by);
}

static void methods_of_the_other_side(void **state) {
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_plan_desc desc;
  merbit_plan *plan;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.method = MERBIT_METHOD_REFERENCE;
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
  expect(MERBIT_INVALID_ARGUMENT, "runs on the CPU, but the plan is for CUDA");
  desc.side = MERBIT_SIDE_CPU;
  desc.method = MERBIT_METHOD_MERBIT;
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_NO_DEVICE);
  expect(MERBIT_NO_DEVICE, "runs on CUDA, but the plan is for the CPU");
  assert_null(plan);
}

static void what_plans_tell(void **state) {
  merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_plan_desc desc;
  merbit_plan *plan;
  char line[1024];
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_MERBIT;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_OK);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, "requested"));
  assert_non_null(strstr(line, "general values"));
  assert_non_null(strstr(line, "staged"));
  merbit_plan_destroy(plan);
  view.values = NULL;
  assert_int_equal(merbit_plan_create(gpu, &view, NULL, &plan), MERBIT_OK);
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_non_null(strstr(line, "small, with rows of "));
  assert_non_null(strstr(line, "values all one"));
  assert_null(strstr(line, "staged"));
  merbit_plan_destroy(plan);
}

/* 64-bit columns are converted to 32 bits on the GPU, checked or not. */
static void unchecked_arrays(void **state) {
  int wide, unchecked;
  (void)state;
  for (wide = 0; wide < 2; wide++) {
    for (unchecked = 0; unchecked < 2; unchecked++) {
      merbit_plan_desc desc;
      merbit_plan *plan;
      there t;
      there_make(&t, wide);
      memset(&desc, 0, sizeof desc);
      desc.unchecked = unchecked;
      assert_int_equal(merbit_plan_create(gpu, &t.view, &desc, &plan), MERBIT_OK);
      expect_product(plan, 201, 30, 504);
      merbit_plan_destroy(plan);
      there_free(&t);
    }
  }
}

/* A plan that borrows the caller's values allocates an array for new ones; a plan that stores
 * them shorter has one. */
static void new_values_from_either_side(void **state) {
  int changing;
  (void)state;
  for (changing = 0; changing < 2; changing++) {
    merbit_buffer *fresh;
    merbit_plan_desc desc;
    merbit_plan_info before, after;
    merbit_plan *plan;
    there t;
    there_make(&t, 0);
    (void)products_move(gpu, more, sizeof more, &fresh);
    memset(&desc, 0, sizeof desc);
    desc.changing_values = changing;
    assert_int_equal(merbit_plan_create(gpu, &t.view, &desc, &plan), MERBIT_OK);
    assert_int_equal(merbit_plan_get_info(plan, &before), MERBIT_OK);
    assert_int_equal(
        merbit_plan_update_values(plan, merbit_buffer_pointer(fresh), MERBIT_MEMORY_DEFAULT),
        MERBIT_OK);
    expect_product(plan, 2010, 300, 5040);
    assert_int_equal(merbit_plan_update_values(plan, more, MERBIT_MEMORY_DEFAULT),
                     MERBIT_INVALID_ARGUMENT);
    expect(MERBIT_INVALID_ARGUMENT, "is not an address of the GPU");
    assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST), MERBIT_OK);
    expect_product(plan, 201, 30, 504);
    assert_int_equal(merbit_plan_get_info(plan, &after), MERBIT_OK);
    assert_int_equal(after.device_bytes - before.device_bytes, changing ? sizeof values : 0);
    merbit_plan_destroy(plan);
    merbit_buffer_destroy(fresh);
    there_free(&t);
  }
}

/* A plan of one triangle in GPU memory accepts new values from host memory, too; by default
 * they are where the triangle is. */
static void new_values_of_a_triangle(void **state) {
  static const int32_t lower_ptr[] = {0, 1, 3, 5}, lower_ind[] = {0, 0, 1, 1, 2};
  merbit_buffer *fresh;
  merbit_plan *plan;
  there t;
  (void)state;
  there_make(&t, 0);
  assert_int_equal(merbit_buffer_upload(t.row_ptr, 0, lower_ptr, sizeof lower_ptr), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(t.col_ind, 0, lower_ind, sizeof lower_ind), MERBIT_OK);
  (void)products_move(gpu, more, sizeof more, &fresh);
  t.view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  assert_int_equal(merbit_plan_create(gpu, &t.view, NULL, &plan), MERBIT_OK);
  expect_product(plan, 21, 432, 540);
  assert_int_equal(
      merbit_plan_update_values(plan, merbit_buffer_pointer(fresh), MERBIT_MEMORY_DEFAULT),
      MERBIT_OK);
  expect_product(plan, 210, 4320, 5400);
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(fresh);
  there_free(&t);
}

/* Each method by name: general values, ones, and a matrix without nonzeros, whose values can
 * also be updated. */
static void every_method_on_little(void **state) {
  static const int32_t nothing[4] = {0, 0, 0, 0};
  int i;
  int form;
  (void)state;
  for (i = 1; i < gpu_method_count(); i++) { /* AUTO is the first */
    for (form = 0; form < 3; form++) {
      merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, form == 1 ? NULL : values);
      char line[1024], part[32];
      merbit_plan_desc desc;
      merbit_plan_info info;
      merbit_plan *plan;
      int lanes;
      if (form == 2) {
        view = merbit_csr(3, 3, 0, nothing, NULL, values);
      }
      memset(&desc, 0, sizeof desc);
      desc.method = gpu_method(i);
      lanes = desc.method == MERBIT_METHOD_ROWS ? 1 + form % 2 : 0;
      tuning_take(&desc, 0, lanes);
      assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_OK);
      (void)merbit_plan_describe(plan, line, sizeof line);
      (void)snprintf(part, sizeof part, "%d lane%s per row", lanes, lanes == 1 ? "" : "s");
      assert_true(lanes == 0 || strstr(line, part) != NULL);
      assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
      assert_true(info.method == gpu_method(i) && (form == 2 || info.block_threads >= 32));
      if (form == 0) {
        expect_product(plan, 201, 30, 504);
      } else if (form == 1) {
        expect_product(plan, 101, 10, 101);
      } else {
        assert_int_equal(merbit_plan_update_values(plan, more, MERBIT_MEMORY_HOST), MERBIT_OK);
        expect_product(plan, 0, 0, 0);
      }
      merbit_plan_destroy(plan);
    }
  }
}

static void impossible_forms_are_refused(void **state) {
  static const struct {
    merbit_method method;
    int first, second, threads;
    const char *piece;
  } bad[] = {
      {MERBIT_METHOD_SCAN, 33, 0, 0, "steps is 33; the scan takes multiples of 2"},
      {MERBIT_METHOD_SCAN, -2, 0, 0, "steps is -2"},
      {MERBIT_METHOD_SCAN, 7, 0, 0, "steps is 7"},
      {MERBIT_METHOD_SCAN, 0, 0, 33, "block_threads is 33"},
      {MERBIT_METHOD_SCAN, 0, 0, 2048, "block_threads is 2048"},
      {MERBIT_METHOD_ROWS, 0, 3, 0, "lanes is 3; lanes per row are a power of two"},
      {MERBIT_METHOD_ROWS, 0, 64, 0, "lanes is 64"},
      {MERBIT_METHOD_ROWS, 33, 0, 0, "unroll is 33"},
      {MERBIT_METHOD_ROWS, 0, 0, 16, "block_threads 16"},
      {MERBIT_METHOD_SLICED, 17, 0, 0, "unroll is 17"},
      {MERBIT_METHOD_SLICED, 0, 0, 1025, "block_threads 1025"},
      {MERBIT_METHOD_DIAGONALS, 3, 0, 0, "unroll is 3"},
      {MERBIT_METHOD_DIAGONALS, 16, 0, 0, "unroll is 16"},
      {MERBIT_METHOD_DIAGONALS, 0, 0, 40, "block_threads 40; use 1, 2, 4 or 8"},
      {MERBIT_METHOD_BINNED, 65, 0, 0, "strip is 65, tiles 0"},
      {MERBIT_METHOD_BINNED, 0, 9, 0, "tiles 9 and plan_desc.block_threads 0; use"},
      {MERBIT_METHOD_BINNED, 0, 0, 40, "block_threads 40"},
      {MERBIT_METHOD_HUBS, 3, 0, 0, "steps is 3, kilobytes 0"},
      {MERBIT_METHOD_HUBS, 0, 228, 0, "kilobytes 228 and plan_desc.block_threads 0; use"},
      {MERBIT_METHOD_HUBS, 0, 0, 1056, "block_threads 1056"},
      {MERBIT_METHOD_CB, 19, 0, 0,
       "steps is 19 and plan_desc.block_threads 128; use 20 to 65536"},
      {MERBIT_METHOD_CB, 65537, 0, 0, "steps is 65537"},
      {MERBIT_METHOD_CB, 0, 0, 16, "block_threads 16"},
      {MERBIT_METHOD_CB, 0, 0, 40, "block_threads 40"},
      {MERBIT_METHOD_CB, 0, 0, 1024, "block_threads 1024; use 20 to 65536, and a mul"},
      {MERBIT_METHOD_MERGE, 3, 0, 0,
       "steps is 3 and plan_desc.block_threads 256; the merge path"},
      {MERBIT_METHOD_MERGE, 18, 0, 0, "steps is 18"},
      {MERBIT_METHOD_MERGE, -2, 0, 0, "steps is -2"},
      {MERBIT_METHOD_MERGE, 0, -1, 0, "rounds is -1; a block takes 1 to 32 chunks"},
      {MERBIT_METHOD_MERGE, 0, 33, 0, "rounds is 33"},
      {MERBIT_METHOD_MERGE, 0, 0, 16, "block_threads 16"},
      {MERBIT_METHOD_MERGE, 0, 0, 40, "block_threads 40"},
      {MERBIT_METHOD_MERGE, 2, 0, 1056, "block_threads 1056"},
      {MERBIT_METHOD_REFERENCE, 0, 0, 0, "runs on the CPU"}};
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, NULL);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    merbit_plan_desc desc;
    merbit_plan *plan;
    memset(&desc, 0, sizeof desc);
    desc.side = MERBIT_SIDE_CUDA;
    desc.method = bad[i].method;
    tuning_take(&desc, bad[i].first, bad[i].second);
    desc.block_threads = bad[i].threads;
    assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
    assert_null(plan);
    expect(MERBIT_INVALID_ARGUMENT, bad[i].piece);
  }
}

/* Invalid limits of CB-SpMV's formats. */
static void impossible_blocks_are_refused(void **state) {
  static const struct {
    const char *tuning, *piece;
  } bad[] = {{"aggregate=-0.1", "aggregate is -0.1, coo_max 0 and csr_max 0; use up to 1, "},
             {"aggregate=1.5", "aggregate is 1.5"},
             {"aggregate=nan", "has \"aggregate=nan\"; write aggregate=NUMBER with a number"},
             {"coo_max=-1", "coo_max -1"},
             {"coo_max=258", "coo_max 258"},
             {"csr_max=-1", "csr_max -1"},
             {"csr_max=257", "csr_max 257"}};
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, NULL);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    merbit_plan_desc desc;
    merbit_plan *plan;
    memset(&desc, 0, sizeof desc);
    desc.method = MERBIT_METHOD_CB;
    desc.tuning = bad[i].tuning;
    assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
    assert_null(plan);
    expect(MERBIT_INVALID_ARGUMENT, bad[i].piece);
  }
}

/* sigma, omega and tuning with methods that do not support them. */
static void tuning_that_is_refused(void **state) {
  static const struct {
    merbit_method method;
    merbit_side side;
    int sigma, omega;
    const char *tuning, *piece;
  } bad[] = {
      {MERBIT_METHOD_SCAN, MERBIT_SIDE_CUDA, 8, 0, NULL,
       "sigma is 8, which MERBIT_METHOD_MERBIT alone takes, but plan_desc.method is "
       "MERBIT_METHOD_SCAN; use plan_desc.tuning with its names: steps, whole"},
      {MERBIT_METHOD_AUTO, MERBIT_SIDE_CUDA, 0, 16, NULL, "is MERBIT_METHOD_AUTO; leave it 0"},
      {MERBIT_METHOD_MERGE, MERBIT_SIDE_CPU, 8, 0, NULL, "is MERBIT_METHOD_MERGE; leave it 0"},
      {MERBIT_METHOD_AUTO, MERBIT_SIDE_CUDA, 0, 0, "steps=8", "name the method to tune"},
      {MERBIT_METHOD_MERGE, MERBIT_SIDE_CPU, 0, 0, "steps=8", "the plan is for the CPU"},
      {MERBIT_METHOD_MERBIT, MERBIT_SIDE_CUDA, 0, 0, "sigma=8", "by plan_desc.sigma and"},
      {MERBIT_METHOD_MERGE, MERBIT_SIDE_CUDA, 0, 0, "whole=1",
       "\"whole=1\", but the names of MERBIT_METHOD_MERGE are steps, rounds"}};
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, NULL);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    merbit_plan_desc desc;
    merbit_plan *plan;
    memset(&desc, 0, sizeof desc);
    desc.method = bad[i].method;
    desc.side = bad[i].side;
    desc.sigma = bad[i].sigma;
    desc.omega = bad[i].omega;
    desc.tuning = bad[i].tuning;
    assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_INVALID_ARGUMENT);
    assert_null(plan);
    expect(MERBIT_INVALID_ARGUMENT, bad[i].piece);
  }
}

/* A host pointer in a device view, and empty device arrays. */
static void arrays_elsewhere(void **state) {
  merbit_matrix *matrix;
  merbit_view view;
  there t;
  (void)state;
  there_make(&t, 0);
  view = t.view;
  view.values = values;
  assert_int_equal(merbit_matrix_create(gpu, &view, &matrix), MERBIT_INVALID_ARGUMENT);
  expect(MERBIT_INVALID_ARGUMENT, "is not an address of the GPU");
  assert_null(matrix);
  assert_int_equal(merbit_view_check(gpu, &view), MERBIT_INVALID_ARGUMENT);
  view = t.view;
  view.format = MERBIT_COO;
  view.row_ind = t.view.col_ind;
  view.nnz = 0;
  assert_int_equal(merbit_matrix_create(gpu, &view, &matrix), MERBIT_OK);
  assert_int_equal(merbit_matrix_view(matrix).nnz, 0);
  merbit_matrix_destroy(matrix);
  there_free(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(methods_of_the_other_side),
      cmocka_unit_test(what_plans_tell),
      cmocka_unit_test(unchecked_arrays),
      cmocka_unit_test(new_values_from_either_side),
      cmocka_unit_test(new_values_of_a_triangle),
      cmocka_unit_test(every_method_on_little),
      cmocka_unit_test(impossible_forms_are_refused),
      cmocka_unit_test(impossible_blocks_are_refused),
      cmocka_unit_test(tuning_that_is_refused),
      cmocka_unit_test(arrays_elsewhere),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
