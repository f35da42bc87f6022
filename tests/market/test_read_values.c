/* The files that the Matrix Market reader accepts, and the resulting matrices. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "market/read.h"

/* Returns the only entry of a 1 x 1 file. */
static double only_value(merbit_context *context, const char *field, const char *text) {
  char file[256];
  double value;
  merbit_matrix *m;
  (void)snprintf(file, sizeof file,
                 "%%%%MatrixMarket matrix coordinate %s general\n1 1 1\n1 1 %s", field, text);
  assert_int_equal(read_block(context, file, strlen(file), NULL, &m), MERBIT_OK);
  assert_int_equal(merbit_matrix_view(m).nnz, 1);
  value = *(const double *)merbit_matrix_view(m).values;
  merbit_matrix_destroy(m);
  return value;
}

static void test_values(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  (void)state;
  assert_true(only_value(context, "real", "1.5D+03") == 1500);
  assert_true(only_value(context, "real", "+1.5d3") == 1500);
  assert_true(only_value(context, "real", ".5\t\r") == 0.5);
  assert_true(only_value(context, "real", "5.") == 5);
  assert_true(only_value(context, "real", "1e-400") == 0);
  assert_true(only_value(context, "real", "4.9e-324") == 0x1p-1074);
  assert_true(signbit(only_value(context, "real", "-0")));
  assert_true(isnan(only_value(context, "real", "NaN")));
  assert_true(isnan(only_value(context, "real", "-nan")));
  assert_true(only_value(context, "real", "Inf") == (double)INFINITY);
  assert_true(only_value(context, "real", "+infinity") == (double)INFINITY);
  assert_true(only_value(context, "integer", "-INF") == -(double)INFINITY);
  assert_true(only_value(context, "integer", "-9223372036854775808") == -0x1p63);
  assert_true(only_value(context, "integer", "9007199254740993") == 9007199254740992.0);
  assert_true(only_value(context, "integer", "+1000000000000000000000000") == 1e24);
  merbit_context_destroy(context);
}

static char logged[1024];

static void keep_line(void *user, const char *line) {
  const size_t length = strlen(logged);
  (void)user;
  (void)snprintf(logged + length, sizeof logged - length, "%s\n", line);
}

/* Integers that a value may not represent exactly are counted in the log, once per file. */
static void test_large_integers(void **state) {
  static const struct {
    const char *text;
    merbit_type type;
    const char *line;
  } table[] = {
      {I "1 3 3\n1 1 9007199254740991\n1 2 -9007199254740991\n1 3 7\n", MERBIT_F64, ""},
      {I "1 3 3\n% 1\n1 1 9007199254740991\n\n1 2 -9007199254740993\n1 3 99999999999999999999\n",
       MERBIT_F64,
       "a Matrix Market file: line 6: integers of 2^53 and more become the nearest f64; 2 in "
       "all\n"},
      {I "1 3 3\n1 1 16777215\n1 2 16777217\n1 3 -inf\n", MERBIT_F32,
       "a Matrix Market file: line 4: integers of 2^24 and more become the nearest f32; 1 in "
       "all\n"},
      {I "1 1 1\n1 1 16777217\n", MERBIT_C128, ""},
      {"%%MatrixMarket matrix array integer symmetric\n2 2\n1\n9007199254740993\n3\n",
       MERBIT_C128,
       "a Matrix Market file: line 4: integers of 2^53 and more become the nearest f64; 1 in "
       "all\n"},
      {G "1 1 1\n1 1 9007199254740993\n", MERBIT_F64, ""}};
  merbit_context_desc context_desc = cpu_desc(NULL, 1);
  merbit_context *context;
  merbit_read_desc desc;
  size_t i;
  (void)state;
  context_desc.log = keep_line;
  assert_int_equal(merbit_context_create(&context_desc, &context, NULL), MERBIT_OK);
  memset(&desc, 0, sizeof desc);
  for (i = 0; i < sizeof table / sizeof table[0]; i++) {
    merbit_matrix *m;
    desc.value_type = table[i].type;
    logged[0] = '\0';
    assert_int_equal(read_block(context, table[i].text, strlen(table[i].text), &desc, &m),
                     MERBIT_OK);
    assert_string_equal(logged, table[i].line);
    merbit_matrix_destroy(m);
  }
  merbit_context_destroy(context);
}

/* A 3 x 3 matrix with entries only below the diagonal, expanded by its symmetry; and real files
 * in complex types. */
static void test_complex(void **state) {
  static const struct {
    const char *banner;
    int array;
    double diagonal, sign, conjugate; /* signs of a mirror image and of its imaginary part */
  } kinds[] = {{"coordinate complex symmetric", 0, 7, 1, 1},
               {"coordinate complex skew-symmetric", 0, 0, -1, -1},
               {"coordinate complex hermitian", 0, 0, 1, -1},
               {"array complex hermitian", 1, 0, 1, -1},
               {"array complex skew-symmetric", 1, 0, -1, -1}};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_read_desc desc;
  size_t i;
  int single;
  (void)state;
  memset(&desc, 0, sizeof desc);
  for (i = 0; i < 2 * sizeof kinds / sizeof kinds[0]; i++) {
    const size_t k = i / 2;
    const int skew = kinds[k].sign < 0;
    char file[256];
    double value[4][2];
    merbit_view view;
    merbit_matrix *m;
    int e;
    single = i % 2 != 0;
    if (kinds[k].array) {
      (void)snprintf(file, sizeof file, "%%%%MatrixMarket matrix %s\n2 2\n%s1.5 -2.1\n%s",
                     kinds[k].banner, skew ? "" : "3 0\n", skew ? "" : "4 -0\n");
    } else {
      (void)snprintf(file, sizeof file,
                     "%%%%MatrixMarket matrix %s\n2 2 %d\n%s2 1\t1.5  -2.1D0 \n%s",
                     kinds[k].banner, skew ? 1 : 3, skew ? "" : "2 2 4 0\n",
                     skew                     ? ""
                     : kinds[k].diagonal != 0 ? "1 1 3 7\n"
                                              : "1 1 3 0\n");
    }
    desc.value_type = single ? MERBIT_C64 : MERBIT_TYPE_DEFAULT;
    assert_int_equal(read_block(context, file, strlen(file), &desc, &m), MERBIT_OK);
    view = merbit_matrix_view(m);
    assert_int_equal(view.value_type, single ? MERBIT_C64 : MERBIT_C128);
    assert_int_equal(view.nnz, skew ? 2 : 4);
    for (e = 0; e < 2 * view.nnz; e++) {
      value[e / 2][e % 2] =
          single ? (double)((const float *)view.values)[e] : ((const double *)view.values)[e];
    }
    if (!skew) {
      assert_true(value[0][0] == 3 && value[0][1] == kinds[k].diagonal);
      assert_true(value[3][0] == 4 && value[3][1] == 0);
    }
    e = skew ? 0 : 1; /* (1, 2), then (2, 1) */
    assert_true(value[e][0] == kinds[k].sign * 1.5 && value[e + 1][0] == 1.5);
    assert_true(value[e + 1][1] == (single ? (double)-2.1f : -2.1));
    assert_true(value[e][1] == kinds[k].conjugate * value[e + 1][1]);
    merbit_matrix_destroy(m);
  }
  for (desc.value_type = MERBIT_C64; desc.value_type <= MERBIT_C128;
       desc.value_type = (merbit_type)(desc.value_type + 1)) {
    static const char real[] = S "2 2 2\n2 1 0.1\n2 1 0.25\n";
    merbit_view view;
    merbit_matrix *m;
    assert_int_equal(read_block(context, real, sizeof real - 1, &desc, &m), MERBIT_OK);
    view = merbit_matrix_view(m);
    assert_int_equal(view.nnz, 2);
    if (desc.value_type == MERBIT_C64) {
      assert_true(((const float *)view.values)[2] == 0.1f + 0.25f);
      assert_true(((const float *)view.values)[3] == 0);
    } else {
      assert_true(((const double *)view.values)[2] == 0.1 + 0.25);
      assert_true(((const double *)view.values)[3] == 0);
    }
    merbit_matrix_destroy(m);
  }
  merbit_context_destroy(context);
}

/* A file with a symmetry may give the upper triangle, the mirror image of the lower one. */
static void test_upper_triangles(void **state) {
  static const char *const texts[][2] = {
      {S "3 3 4\n1 1 5\n2 1 0.1\n3 1 7\n3 3 2\n", S "3 3 4\n1 1 5\n1 2 0.1\n1 3 7\n3 3 2\n"},
      {"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 2\n3 3\n",
       "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n3 3\n1 2\n2 3\n"},
      {K "3 3 2\n2 1 0.1\n3 2 -7\n", K "3 3 2\n1 2 -0.1\n2 3 7\n"},
      {"%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n2 1 3 4\n2 2 1 0\n",
       "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 2 3 -4\n2 2 1 0\n"}};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_read_desc desc;
  size_t i;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.keep_half = 1;
  for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    merbit_matrix *lower, *upper, *half, *whole;
    merbit_view view;
    assert_int_equal(read_block(context, texts[i][0], strlen(texts[i][0]), NULL, &lower),
                     MERBIT_OK);
    assert_int_equal(read_block(context, texts[i][1], strlen(texts[i][1]), NULL, &upper),
                     MERBIT_OK);
    assert_same(lower, upper);
    assert_int_equal(read_stream(context, texts[i][1], strlen(texts[i][1]), 3, &desc, &half),
                     MERBIT_OK);
    view = merbit_matrix_view(half);
    assert_int_not_equal(view.symmetry, MERBIT_SYMMETRY_NONE);
    assert_int_equal(merbit_matrix_create(context, &view, &whole), MERBIT_OK);
    assert_same(lower, whole);
    merbit_matrix_destroy(lower);
    merbit_matrix_destroy(upper);
    merbit_matrix_destroy(half);
    merbit_matrix_destroy(whole);
  }
  merbit_context_destroy(context);
}

/* Variants of one file: the same matrix for all. */
static void test_tolerance(void **state) {
  static const char *const texts[] = {
      "%%MATRIXMARKET Matrix COORDINATE Real\tGeneral\r\n2 2 2\r\n1 1 1.0\r\n2 1 3\r\n\r\n",
      "\xef\xbb\xbf" G "2 2 2\n1 1 1\n2 1 3",
      G "%\n\n  % indented\n \t\n\t2  2\t2  \n%between\n\n +01 \t 1   1e0 \n\n%\n2 +1 "
        "3\n\n%end\n \n%",
      G "2 2 3\n2 1 1\n1 1 1\n2 1 2\n",
      A "2 2\n1\n3\n0\n0\n",
  };
  merbit_context *context = cpu_open(NULL, 1);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    merbit_matrix *m, *other;
    merbit_view view;
    const int array = i == 4; /* keeps its explicit zeros */
    assert_int_equal(read_block(context, texts[i], strlen(texts[i]), NULL, &m), MERBIT_OK);
    view = merbit_matrix_view(m);
    assert_int_equal(view.nnz, array ? 4 : 2);
    assert_int_equal(((const int32_t *)view.row_ptr)[1], array ? 2 : 1);
    assert_true(((const double *)view.values)[0] == 1);
    assert_true(((const double *)view.values)[array ? 2 : 1] == 3);
    assert_int_equal(read_stream(context, texts[i], strlen(texts[i]), 1, NULL, &other),
                     MERBIT_OK);
    assert_same(m, other);
    merbit_matrix_destroy(m);
    merbit_matrix_destroy(other);
  }
  merbit_context_destroy(context);
}

static void test_hermitian_real_is_symmetric(void **state) {
  static const char herm[] =
      "%%MatrixMarket matrix coordinate real hermitian\n2 2 2\n2 1 5\n2 2 1\n",
                    symm[] = S "2 2 2\n2 1 5\n2 2 1\n";
  merbit_context *context = cpu_open(NULL, 1);
  merbit_matrix *a, *b;
  (void)state;
  assert_int_equal(read_block(context, herm, sizeof herm - 1, NULL, &a), MERBIT_OK);
  assert_int_equal(read_block(context, symm, sizeof symm - 1, NULL, &b), MERBIT_OK);
  assert_int_equal(merbit_matrix_view(a).nnz, 3);
  assert_same(a, b);
  merbit_matrix_destroy(a);
  merbit_matrix_destroy(b);
  merbit_context_destroy(context);
}

/* The shortest texts of entries: the reader's check of the input's length must accept them. */
static void test_shortest(void **state) {
  static const char *const texts[] = {G "1 1 1\n1 1 1",    P "1 1 1\n1 1",
                                      A "1 1\n1",          G "1 2 2\n1 1 1\n1 2 1",
                                      P "1 2 2\n1 1\n1 2", A "1 2\n1\n2"};
  merbit_context *context = cpu_open(NULL, 1);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    merbit_matrix *m;
    assert_int_equal(read_block(context, texts[i], strlen(texts[i]), NULL, &m), MERBIT_OK);
    assert_int_equal(merbit_matrix_view(m).nnz, i < 3 ? 1 : 2);
    merbit_matrix_destroy(m);
  }
  merbit_context_destroy(context);
}

static void test_empty_shapes(void **state) {
  static const char *const texts[] = {G "0 0 0\n",
                                      G "0 5 0",
                                      P "5 0 0\n",
                                      S "0 0 0\n",
                                      A "0 3\n",
                                      A "3 0",
                                      "%%MatrixMarket matrix array real skew-symmetric\n1 1\n"};
  merbit_context *context = cpu_open(NULL, 1);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    merbit_matrix *m;
    assert_int_equal(read_block(context, texts[i], strlen(texts[i]), NULL, &m), MERBIT_OK);
    assert_int_equal(merbit_matrix_view(m).nnz, 0);
    merbit_matrix_destroy(m);
    assert_int_equal(read_stream(context, texts[i], strlen(texts[i]), 5, NULL, &m), MERBIT_OK);
    merbit_matrix_destroy(m);
  }
  merbit_context_destroy(context);
}

/* Each decimal is rounded to float once: 1 + 2^-24 + a little lies above the midpoint, but its
 * nearest double is the midpoint, which would round to 1. */
static void test_f32(void **state) {
  static const char text[] =
      G "1 3 3\n1 1 1.0000000596046447754\n1 2 1e-46\n1 3 3.4028235e38\n",
                    above[] = G "1 1 1\n1 1 3.4028236e38\n";
  merbit_context *context = cpu_open(NULL, 1);
  merbit_read_desc desc;
  merbit_matrix *m;
  const float *values;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.value_type = MERBIT_F32;
  assert_int_equal(read_block(context, text, sizeof text - 1, &desc, &m), MERBIT_OK);
  assert_int_equal(merbit_matrix_view(m).value_type, MERBIT_F32);
  values = (const float *)merbit_matrix_view(m).values;
  assert_true(values[0] == 1.0f + 0x1p-23f);
  assert_true((float)1.0000000596046447754 == 1.0f);
  assert_true(values[1] == 0.0f);
  assert_true(values[2] == FLT_MAX);
  merbit_matrix_destroy(m);
  assert_failed(
      context, above, read_block(context, above, sizeof above - 1, &desc, &m), INVALID,
      "line 3: \"3.4028236e38\" is beyond the range of f32; read the file as f64", &m);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_large_integers),
      cmocka_unit_test(test_upper_triangles),
      cmocka_unit_test(test_complex),
      cmocka_unit_test(test_tolerance),
      cmocka_unit_test(test_hermitian_real_is_symmetric),
      cmocka_unit_test(test_shortest),
      cmocka_unit_test(test_empty_shapes),
      cmocka_unit_test(test_f32),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
