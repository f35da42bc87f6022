/* All methods except MERBIT on the GPU, and AUTO: every generated matrix in every form and
 * specialisation, the data files, and the descriptions of plans. */
#define TEST_STUDY_METHODS /* in the list of methods */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/products.h"
#include "support/stretched.h"
#include "support/tuning.h"
#include "support/data.h"
#include "support/gpu.h"

static merbit_context *gpu;

/* The shapes of each method, the default first. The first two numbers are for tuning_take. A
 * method that is not listed runs with the shapes of the first row. */
typedef struct method_shape {
  int first, second, threads;
} method_shape;
enum { SHAPES = 6 };
static const struct {
  merbit_method method;
  method_shape shapes[SHAPES];
} tuned[] = {
    {MERBIT_METHOD_AUTO, {{0, 0, 0}, {0, 0, 128}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}},
    {MERBIT_METHOD_SCAN,
     {{0, 0, 0}, {4, 1, 256}, {8, 2, 64}, {12, 0, 1024}, {4, 2, 512}, {32, 1, 128}}},
    {MERBIT_METHOD_ROWS,
     {{0, 0, 0}, {1, 32, 256}, {4, 16, 64}, {8, 1, 1024}, {3, 2, 32}, {2, 8, 96}}},
    {MERBIT_METHOD_SLICED,
     {{0, 0, 0}, {1, 0, 256}, {4, 1, 64}, {8, 1, 1024}, {3, 0, 32}, {16, 0, 96}}},
    {MERBIT_METHOD_DIAGONALS,
     {{0, 0, 0}, {1, 0, 256}, {2, 0, 64}, {4, 0, 1024}, {8, 0, 32}, {1, 0, 96}}},
    {MERBIT_METHOD_BINNED,
     {{0, 0, 0}, {1, 1, 32}, {4, 8, 64}, {28, 2, 1024}, {5, 3, 96}, {12, 8, 256}}},
    {MERBIT_METHOD_HUBS,
     {{0, 0, 0}, {4, 1, 32}, {8, 2, 64}, {16, 220, 1024}, {4, 16, 96}, {32, 1, 256}}},
    {MERBIT_METHOD_CB,
     {{0, 0, 0}, {20, 0, 32}, {40, 0, 64}, {65536, 0, 512}, {21, 0, 96}, {0, 0, 128}}},
    {MERBIT_METHOD_MERGE,
     {{0, 0, 0}, {4, 1, 32}, {8, 3, 64}, {12, 32, 1024}, {4, 2, 96}, {16, 4, 256}}},
    {MERBIT_METHOD_WARP_LOOP,
     {{0, 0, 0}, {4, 1, 32}, {1, 8, 64}, {16, 32, 1024}, {3, 2, 96}, {2, 4, 128}}},
    {MERBIT_METHOD_WARP_TILED,
     {{0, 0, 0}, {32, 1, 32}, {100, 4, 64}, {4096, 2, 1024}, {50, 3, 96}, {999, 1, 128}}},
    {MERBIT_METHOD_NONZERO_SPLIT,
     {{0, 0, 0}, {1, 0, 32}, {16, 0, 64}, {4, 0, 1024}, {3, 0, 96}, {8, 0, 512}}},
    {MERBIT_METHOD_PATH_WALK,
     {{0, 0, 0}, {1, 0, 32}, {16, 0, 64}, {4, 0, 1024}, {3, 0, 96}, {8, 0, 512}}},
    {MERBIT_METHOD_PATH_GLOBAL,
     {{0, 0, 0}, {1, 0, 32}, {16, 0, 64}, {4, 0, 1024}, {300, 0, 96}, {8, 0, 512}}}};
enum { TUNED = sizeof tuned / sizeof tuned[0] };

static const method_shape *shapes_of(merbit_method method) {
  int i = TUNED - 1;
  while (i > 0 && tuned[i].method != method) {
    i--;
  }
  return tuned[i].shapes;
}

/* Methods with their own tests, below or in another program; all others share one. */
static const merbit_method apart[] = {
    MERBIT_METHOD_AUTO, MERBIT_METHOD_MERBIT, MERBIT_METHOD_SCAN,
    MERBIT_METHOD_ROWS, MERBIT_METHOD_SLICED, MERBIT_METHOD_BINNED,
    MERBIT_METHOD_HUBS, MERBIT_METHOD_CB,     MERBIT_METHOD_MERGE};

/* The formats of CB: all COO, all dense, all CSR; columns aggregated always and never; tasks by
 * the paper's queue in every other one. */
static const struct {
  double aggregate;
  int coo_max, csr_max;
} forms[SHAPES] = {{0, 0, 0},      {1e-9, 257, 0}, {1, 1, 1},
                   {1e-9, 1, 256}, {1, 8, 40},     {0.5, 1, 0}};

static void cb_take(merbit_plan_desc *desc, int variant) {
  tuning_write(desc, "steps=%d aggregate=%g coo_max=%d csr_max=%d balance=%d",
               shapes_of(MERBIT_METHOD_CB)[variant].first, forms[variant].aggregate,
               forms[variant].coo_max, forms[variant].csr_max, variant % 2);
}

static void every_matrix_meets_the_bound(merbit_method method) {
  const method_shape *shapes = shapes_of(method);
  int i, variant;
  for (i = 0; i < test_matrix_count(); i += gpu_stride()) {
    test_matrix m;
    test_matrix_make(i, 13, &m);
    if (method == MERBIT_METHOD_SLICED && i % 3 != 0) {
      test_matrix_stretch(&m); /* slices of two-byte and of four-byte columns */
    }
    for (variant = 0; variant < 12; variant++) {
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
      form.plan.method = method;
      tuning_take(&form.plan, shapes[variant / 2].first, shapes[variant / 2].second);
      form.plan.block_threads = shapes[variant / 2].threads;
      if (method == MERBIT_METHOD_CB) {
        cb_take(&form.plan, variant / 2);
      }
      form.plan.scalar_memory = form.device_scalars ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
      form.plan.vector_memory = variant == 10 ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
      form.plan.side = MERBIT_SIDE_CUDA;
      products_check(gpu, &m, &form);
    }
    test_matrix_free(&m);
  }
}

static void auto_meets_the_bound(void **state) {
  (void)state;
  every_matrix_meets_the_bound(MERBIT_METHOD_AUTO);
}

static void scan_meets_the_bound(void **state) {
  (void)state;
  every_matrix_meets_the_bound(MERBIT_METHOD_SCAN);
}

static void rows_meet_the_bound(void **state) {
  (void)state;
  every_matrix_meets_the_bound(MERBIT_METHOD_ROWS);
}

static void slices_meet_the_bound(void **state) {
  (void)state;
  every_matrix_meets_the_bound(MERBIT_METHOD_SLICED);
}

static void bins_meet_the_bound(void **state) {
  (void)state;
  every_matrix_meets_the_bound(MERBIT_METHOD_BINNED);
}

static void hubs_meet_the_bound(void **state) {
  (void)state;
  every_matrix_meets_the_bound(MERBIT_METHOD_HUBS);
}

static void blocks_meet_the_bound(void **state) {
  (void)state;
  every_matrix_meets_the_bound(MERBIT_METHOD_CB);
}

static void merge_meets_the_bound(void **state) {
  (void)state;
  every_matrix_meets_the_bound(MERBIT_METHOD_MERGE);
}

/* Study methods, and every method without its own test. */
static void others_meet_the_bound(void **state) {
  int i;
  size_t k;
  (void)state;
  for (i = 0; i < gpu_method_count(); i++) {
    for (k = 0; k < sizeof apart / sizeof apart[0] && apart[k] != gpu_method(i);) {
      k++;
    }
    if (k == sizeof apart / sizeof apart[0]) {
      every_matrix_meets_the_bound(gpu_method(i));
    }
  }
}

/* Blocks of every density. */
static void blocks_of_all_forms_meet_the_bound(void **state) {
  int i, variant;
  (void)state;
  for (i = 0; i < stretched_count(); i += gpu_stride()) {
    test_matrix m;
    stretched_make(i, 13, &m);
    for (variant = 0; variant < 12; variant++) {
      products_form form;
      memset(&form, 0, sizeof form);
      form.type = variant & 1 ? MERBIT_F32 : MERBIT_F64;
      form.device_arrays = variant >> 2 & 1;
      form.few_scalars = m.nnz > 20000;
      form.plan.method = MERBIT_METHOD_CB;
      cb_take(&form.plan, variant / 2);
      products_check(gpu, &m, &form);
    }
    test_matrix_free(&m);
  }
}

static void check_data_matrix(merbit_context *context, const test_matrix *m) {
  products_form form;
  int k;
  memset(&form, 0, sizeof form);
  form.few_scalars = m->nnz > 5000000;
  form.plan.side = MERBIT_SIDE_CUDA;
  for (k = 0; k < gpu_method_count(); k++) {
    form.plan.method = gpu_method(k);
    form.type = MERBIT_F64;
    products_check(context, m, &form);
    form.type = MERBIT_F32;
    products_check(context, m, &form);
  }
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
  int i, k;
  (void)state;
  for (i = 0; i < test_matrix_count(); i += 5) {
    test_matrix m;
    products_form form;
    test_matrix_make(i, 12, &m);
    for (k = 0; k < m.nnz; k++) {
      m.values[k] = 1.0;
    }
    memset(&form, 0, sizeof form);
    form.pattern = 1;
    form.device_arrays = i & 1;
    for (k = 0; k < gpu_method_count(); k++) {
      form.plan.method = gpu_method(k);
      for (form.type = MERBIT_F64; form.type <= MERBIT_F32;
           form.type = (merbit_type)(form.type + 1)) {
        products_check(gpu, &m, &form);
      }
    }
    test_matrix_free(&m);
  }
}

/* Returns the method for 64 rows of `length`, or for the same nonzeros in one row (`uneven` is
 * 1) or in 41, all but one of which have one (2). */
static merbit_method chosen(int64_t length, int uneven, int calls, merbit_method method,
                            char line[1024]) {
  const int64_t nnz = 64 * length;
  int32_t *row_ptr = (int32_t *)test_allocate(65, sizeof *row_ptr);
  int32_t *col_ind = (int32_t *)test_allocate(nnz, sizeof *col_ind);
  merbit_view view = merbit_csr(64, 10, nnz, row_ptr, col_ind, NULL);
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan;
  int i;
  for (i = 0; i < 64; i++) {
    const int64_t most = uneven == 1 ? nnz : nnz - 40 + (i < 40 ? i : 40);
    row_ptr[i + 1] = (int32_t)(uneven ? most : (i + 1) * length);
  }
  memset(&desc, 0, sizeof desc);
  desc.expected_calls = calls;
  desc.method = method;
  products_done(gpu, merbit_plan_create(gpu, &view, &desc, &plan), "a plan");
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_true(info.device_bytes >= nnz * 4 && info.bytes_per_product >= nnz * 2);
  assert_true(merbit_plan_describe(plan, line, 1024) > 40);
  merbit_plan_destroy(plan);
  free(row_ptr);
  free(col_ind);
  return info.method;
}

static void a_plan_tells_its_choice(void **state) {
  char line[1024];
  (void)state;
  assert_int_equal(chosen(8, 0, 0, MERBIT_METHOD_SLICED, line), MERBIT_METHOD_SLICED);
  assert_non_null(strstr(line, "sliced on "));
  assert_non_null(strstr(line, "2 slices of 32 rows, 100.0% of the slots filled, 2.0 bytes per "
                               "column, 256 threads"));
  assert_int_equal(chosen(1, 1, 0, MERBIT_METHOD_SLICED, line), MERBIT_METHOD_SLICED);
  assert_non_null(strstr(line, "2 slices of 32 rows sorted in windows of 1024, 3.1% of"));
  assert_int_equal(chosen(8, 0, 0, MERBIT_METHOD_AUTO, line), MERBIT_METHOD_ROWS);
  assert_non_null(strstr(line, "small, with rows of similar length; runner-up scan"));
  assert_int_equal(chosen(8, 2, 0, MERBIT_METHOD_AUTO, line), MERBIT_METHOD_SCAN); /* one row */
  assert_non_null(strstr(line, "scan on "));
  assert_non_null(strstr(line, "8 tiles of 32 x 2, scan depth 5, 23 empty rows, 512 threads "
                               "with whole rows"));
  assert_int_equal(chosen(9, 0, 0, MERBIT_METHOD_SCAN, line), MERBIT_METHOD_SCAN);
  assert_non_null(strstr(line, "scan depth 3, 0 empty rows, 512 threads with whole rows; "));
  assert_non_null(strstr(line, "requested"));
  assert_int_equal(chosen(20, 0, 0, MERBIT_METHOD_ROWS, line), MERBIT_METHOD_ROWS);
  assert_non_null(strstr(line, "4 lanes per row, 5 nonzeros in flight, 256 threads"));
  assert_int_equal(chosen(2, 0, 0, MERBIT_METHOD_MERBIT, line), MERBIT_METHOD_MERBIT);
  assert_non_null(strstr(line, "carry-out commit, 0.00% of the tiles within one row"));
  assert_int_equal(chosen(30, 0, 0, MERBIT_METHOD_BINNED, line), MERBIT_METHOD_BINNED);
  assert_non_null(strstr(line,
                         "1 strips of 12288 columns, 1 parts of 8192 nonzeros, 2 tiles per "
                         "warp, 100.0% of the slots filled, 512 threads"));
  assert_int_equal(chosen(30, 0, 0, MERBIT_METHOD_HUBS, line), MERBIT_METHOD_HUBS);
  assert_non_null(strstr(line, "15 tiles of 32 x 4, 1 hubs with 100% of the nonzeros in shared "
                               "memory, 0 empty rows, 1024 threads"));
  assert_int_equal(chosen(30, 0, 0, MERBIT_METHOD_MERGE, line), MERBIT_METHOD_MERGE);
  assert_non_null(strstr(line, "merge on "));
  assert_non_null(strstr(line, "1 chunks of 256 x 8 steps, 1 per block, matrix by streaming"));
  assert_int_equal(chosen(9, 0, 0, MERBIT_METHOD_WARP_LOOP, line), MERBIT_METHOD_WARP_LOOP);
  assert_non_null(strstr(line, "8 blocks of 256 threads, 32 lanes per row, 1 at once"));
  assert_int_equal(chosen(9, 0, 0, MERBIT_METHOD_WARP_TILED, line), MERBIT_METHOD_WARP_TILED);
  assert_non_null(strstr(line, "8 tiles of 2024 columns for 8 blocks of 8 rows"));
  assert_int_equal(chosen(9, 0, 0, MERBIT_METHOD_NONZERO_SPLIT, line),
                   MERBIT_METHOD_NONZERO_SPLIT);
  assert_non_null(strstr(line, "nonzero-split on "));
  assert_non_null(strstr(line, "1 chunks of 256 x 7 nonzeros"));
  assert_int_equal(chosen(29, 0, 0, MERBIT_METHOD_PATH_WALK, line), MERBIT_METHOD_PATH_WALK);
  assert_non_null(strstr(line, "2 chunks of 256 x 7 steps of the path"));
  assert_int_equal(chosen(9, 0, 0, MERBIT_METHOD_PATH_GLOBAL, line), MERBIT_METHOD_PATH_GLOBAL);
  assert_non_null(strstr(line, "92 threads of 7 steps of the path; sums by atomics"));
  assert_int_equal(chosen(9, 0, 0, MERBIT_METHOD_CB, line), MERBIT_METHOD_CB);
  assert_non_null(
      strstr(line, "0 COO, 4 CSR and 0 dense blocks of 16 x 16, columns not aggregated, "));
  assert_non_null(strstr(line,
                         " times the bytes of CSR, 2 warps of up to 20 steps, 0 parts of 0 "
                         "block rows, 128 threads"));
}

/* Takes a pattern of tests' names, because programs are compiled one by one. */
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(auto_meets_the_bound),
      cmocka_unit_test(scan_meets_the_bound),
      cmocka_unit_test(rows_meet_the_bound),
      cmocka_unit_test(slices_meet_the_bound),
      cmocka_unit_test(bins_meet_the_bound),
      cmocka_unit_test(hubs_meet_the_bound),
      cmocka_unit_test(blocks_meet_the_bound),
      cmocka_unit_test(merge_meets_the_bound),
      cmocka_unit_test(others_meet_the_bound),
      cmocka_unit_test(blocks_of_all_forms_meet_the_bound),
      cmocka_unit_test(data_files_meet_the_bound),
      cmocka_unit_test(pattern_is_a_matrix_of_ones),
      cmocka_unit_test(a_plan_tells_its_choice),
  };
  int failed;
  if (argc > 1) {
    cmocka_set_test_filter(argv[1]);
  }
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
