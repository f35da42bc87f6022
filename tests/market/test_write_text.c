/* The text made by the Matrix Market writer: it reads back bit for bit, in any locale. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fenv.h>
#include "market/write.h"
#include "support/flush.h"

static void assert_written(merbit_context *context, const merbit_view *view,
                           const char *expected) {
  text t = {NULL, 0, 0, 0};
  assert_int_equal(merbit_matrix_write_stream(context, view, text_write, &t), MERBIT_OK);
  assert_string_equal(t.data, expected);
  free(t.data);
}

static void test_csr(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  (void)state;
  assert_written(context, &view, csr_text);
  view.values = NULL;
  assert_written(context, &view,
                 "%%MatrixMarket matrix coordinate pattern general\n3 4 3\n1 4\n1 1\n3 2\n");
  merbit_context_destroy(context);
}

/* Both parts read back bit for bit. */
static void test_complex(void **state) {
  static const double wide[] = {0.1, -0.0, 1.0 / 3, -5e-324, (double)INFINITY, 1e300};
  static const float single[] = {0.1f, -0.0f, 1.0f / 3, -1e-45f, -(float)INFINITY, 1e30f};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, wide), back;
  int type;
  (void)state;
  for (type = MERBIT_C64; type <= MERBIT_C128; type++) {
    text t = {NULL, 0, 0, 0};
    merbit_read_desc desc;
    merbit_matrix *m, *sorted;
    memset(&desc, 0, sizeof desc);
    desc.value_type = view.value_type = (merbit_type)type;
    view.values = type == MERBIT_C64 ? (const void *)single : (const void *)wide;
    assert_int_equal(merbit_matrix_write_stream(context, &view, text_write, &t), MERBIT_OK);
    assert_non_null(
        strstr(t.data, "coordinate complex general\n3 4 3\n1 4 0.1 -0\n1 1 0.33333"));
    assert_int_equal(merbit_matrix_read_memory(context, t.data, t.size, &desc, &m), MERBIT_OK);
    assert_int_equal(merbit_matrix_create(context, &view, &sorted), MERBIT_OK);
    back = merbit_matrix_view(m);
    assert_int_equal(back.value_type, type);
    assert_memory_equal(back.values, merbit_matrix_view(sorted).values,
                        type == MERBIT_C64 ? 24 : 48);
    merbit_matrix_destroy(m);
    merbit_matrix_destroy(sorted);
    free(t.data);
  }
  merbit_context_destroy(context);
}

static void test_kinds_of_views(void **state) {
  static const int64_t rows64[] = {3, 1, 1}, cols64[] = {1, 2, 2};
  static const int32_t rows32[] = {2, 0, 0}, cols32[] = {0, 1, 1};
  static const int64_t row_ptr64[] = {1, 3, 3, 4}, cols_csr[] = {2, 2, 1};
  static const float floats[] = {0.1f, 16777216.0f, -1e-45f},
                     in_rows[] = {16777216.0f, -1e-45f, 0.1f};
  static const char coo[] = "%%MatrixMarket matrix coordinate real general\n3 2 3\n3 1 0.1\n"
                            "1 2 16777216\n1 2 -1.4013e-45\n",
                    csr[] =
                        "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 2 16777216\n"
                        "1 2 -1.4013e-45\n3 1 0.1\n";
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view;
  (void)state;
  memset(&view, 0, sizeof view);
  view.format = MERBIT_COO;
  view.value_type = MERBIT_F32;
  view.rows = 3;
  view.cols = 2;
  view.nnz = 3;
  view.row_ind = rows32;
  view.col_ind = cols32;
  view.values = floats;
  assert_written(context, &view, coo);
  view.base = 1;
  view.index_type = MERBIT_INDEX_64;
  view.row_ind = rows64;
  view.col_ind = cols64;
  assert_written(context, &view, coo);
  view.format = MERBIT_CSR;
  view.offset_type = MERBIT_INDEX_64;
  view.row_ptr = row_ptr64;
  view.col_ind = cols_csr;
  view.values = in_rows;
  assert_written(context, &view, csr);
  merbit_context_destroy(context);
}

static void test_empty(void **state) {
  static const int32_t row_ptr[] = {0, 0};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(1, 0, 0, row_ptr, NULL, NULL);
  (void)state;
  assert_written(context, &view, "%%MatrixMarket matrix coordinate pattern general\n1 0 0\n");
  view.rows = 0;
  assert_written(context, &view, "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n");
  view.rows = view.cols = 1; /* patterns cannot be skew-symmetric */
  view.symmetry = MERBIT_SYMMETRY_SKEW;
  assert_written(context, &view, "%%MatrixMarket matrix coordinate pattern symmetric\n1 1 0\n");
  merbit_context_destroy(context);
}

/* Writes values of any bits and reads them back. */
static void round_trip(merbit_context *context, merbit_type type, const void *values,
                       int count) {
  const size_t size = type == MERBIT_F32 ? 4 : 8;
  int32_t row_ptr[2] = {0, 0}, *col_ind = (int32_t *)malloc((size_t)count * sizeof *col_ind);
  text t = {NULL, 0, 0, 0};
  merbit_read_desc desc;
  merbit_matrix *m;
  merbit_view view;
  int i;
  for (i = 0; i < count; i++) {
    col_ind[i] = i;
  }
  row_ptr[1] = count;
  view = merbit_csr(1, count, count, row_ptr, col_ind, values);
  view.value_type = type;
  assert_int_equal(merbit_matrix_write_stream(context, &view, text_write, &t), MERBIT_OK);
  assert_true(t.calls > 1);
  memset(&desc, 0, sizeof desc);
  desc.value_type = type;
  assert_int_equal(merbit_matrix_read_memory(context, t.data, t.size, &desc, &m), MERBIT_OK);
  assert_int_equal(merbit_matrix_view(m).nnz, count);
  assert_memory_equal(merbit_matrix_view(m).values, values, (size_t)count * size);
  merbit_matrix_destroy(m);
  free(t.data);
  free(col_ind);
}

/* The same for both types. Frees the arrays. */
static void round_trips(double *doubles, float *floats, int count) {
  merbit_context *context = cpu_open(NULL, 1);
  round_trip(context, MERBIT_F64, doubles, count);
  round_trip(context, MERBIT_F32, floats, count);
  free(doubles);
  free(floats);
  merbit_context_destroy(context);
}

static void test_round_trip(void **state) {
  enum { COUNT = 20000 };
  double *doubles = (double *)malloc(COUNT * sizeof *doubles);
  float *floats = (float *)malloc(COUNT * sizeof *floats);
  uint64_t seed = 6;
  int i;
  (void)state;
  for (i = 0; i < COUNT; i++) {
    const uint64_t bits = test_random(&seed);
    const uint32_t bits32 = (uint32_t)(bits >> 7);
    memcpy(&doubles[i], &bits, 8);
    memcpy(&floats[i], &bits32, 4);
    if (isnan(doubles[i]) || i % 4 == 0) {
      doubles[i] = (double)(bits >> 40) / 1000;
    }
    if (isnan(floats[i]) || i % 4 == 0) {
      floats[i] = (float)(bits >> 50) / 10;
    }
  }
  doubles[0] = -0.0;
  doubles[1] = (double)INFINITY;
  doubles[2] = -(double)INFINITY;
  doubles[3] = 0x1p-1074;
  doubles[4] = DBL_MAX;
  floats[0] = -0.0f;
  floats[1] = FLT_MAX;
  round_trips(doubles, floats, COUNT);
}

/* The same for subnormal numbers if the program flushes them to zero. */
static void test_flushed(void **state) {
  enum { COUNT = 4000 };
  double *doubles = (double *)malloc(COUNT * sizeof *doubles);
  float *floats = (float *)malloc(COUNT * sizeof *floats);
  uint64_t seed = 7;
  int i;
  (void)state;
  for (i = 0; i < COUNT; i++) {
    const uint64_t bits = test_random(&seed) & UINT64_C(0x801fffffffffffff);
    const uint32_t bits32 = (uint32_t)(test_random(&seed) & 0x80ffffff);
    memcpy(&doubles[i], &bits, 8);
    memcpy(&floats[i], &bits32, 4);
  }
  flush_subnormals(1);
  round_trips(doubles, floats, COUNT);
  flush_subnormals(0);
}

static void test_nan(void **state) {
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  const double nan_value = (double)NAN;
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(1, 1, 1, row_ptr, col_ind, &nan_value);
  (void)state;
  assert_written(context, &view,
                 "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 nan\n");
  merbit_context_destroy(context);
}

/* The writer corrects printf's output of 1.5 in locales with a comma or U+066B. tests/hostile/
 * tests real locales. */
static void test_decimal_separators(void **state) {
  char comma[32] = "-1,5e+10",
       arabic[32] = "1\xd9\xab"
                    "5e-10",
       plain[32] = "15";
  (void)state;
  mbi_mm_mend_point(comma);
  assert_string_equal(comma, "-1.5e+10");
  mbi_mm_mend_point(arabic);
  assert_string_equal(arabic, "1.5e-10");
  mbi_mm_mend_point(plain);
  assert_string_equal(plain, "15");
}

/* Numbers are read back bit for bit in whichever direction the program rounds. */
static void test_rounding(void **state) {
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  enum { COUNT = 500 };
  double values[COUNT];
  int32_t row_ptr[2] = {0, COUNT}, col_ind[COUNT];
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(1, COUNT, COUNT, row_ptr, col_ind, values);
  size_t mode;
  int i;
  (void)state;
  for (i = 0; i < COUNT; i++) {
    values[i] = 0.1 + (double)i / 9973 / 17;
    col_ind[i] = i;
  }
  for (mode = 0; mode < sizeof modes / sizeof modes[0]; mode++) {
    text t = {NULL, 0, 0, 0};
    merbit_matrix *m;
    merbit_status status;
    assert_int_equal(fesetround(modes[mode]), 0);
    status = merbit_matrix_write_stream(context, &view, text_write, &t);
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    assert_int_equal(status, MERBIT_OK);
    assert_int_equal(merbit_matrix_read_memory(context, t.data, t.size, NULL, &m), MERBIT_OK);
    assert_memory_equal(merbit_matrix_view(m).values, values, sizeof values);
    merbit_matrix_destroy(m);
    free(t.data);
  }
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_csr),
      cmocka_unit_test(test_complex),
      cmocka_unit_test(test_kinds_of_views),
      cmocka_unit_test(test_empty),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_flushed),
      cmocka_unit_test(test_nan),
      cmocka_unit_test(test_rounding),
      cmocka_unit_test(test_decimal_separators),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
