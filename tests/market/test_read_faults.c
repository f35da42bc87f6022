/* Every error message of the Matrix Market reader, with its arguments. tests/hostile/ has more
 * files. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "market/read.h"

static const struct {
  const char *text;
  merbit_status status;
  const char *piece; /* if read from memory; a stream may report another error first */
} faults[] = {
    {"", INVALID, "line 1: the input is empty"},
    {"\n", INVALID, "line 1: \"\"; expected a banner"},
    {"\n" G "1 1 0\n", INVALID, "line 1: \"\"; expected a banner"},
    {" " G "1 1 0\n", INVALID, "expected a banner"},
    {"%MatrixMarket matrix coordinate real general\n1 1 0\n", INVALID, "expected a banner"},
    {"%%MatrixMarketX matrix coordinate real general\n1 1 0\n", INVALID, "expected a banner"},
    {"%%MatrixMarket", INVALID, "line 1: the banner ends before its object"},
    {"%%MatrixMarket matrix real", INVALID,
     "the format is \"real\"; expected: coordinate, array"},
    {"%%MatrixMarket matrix coordinate real general x y\n1 1 0\n", INVALID,
     "line 1: \"x y\" follows the symmetry"},
    {"%%MatrixMarket matrix array pattern general\n1 1\n", INVALID, "cannot be a pattern"},
    {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", INVALID,
     "a pattern is general or symmetric"},
    {"%%MatrixMarket matrix coordinate pattern hermitian\n1 1 0\n", INVALID,
     "a pattern is general or symmetric"},
    {"%%MatrixMarket matrix array complex hermitian\n1 1\n1 2\n", INVALID,
     "line 3: \"1 2\" has an imaginary part on the diagonal"},
    {"%%MatrixMarket matrix array complex hermitian\n3 3\n1 0\n2 1\n3 0\n4 5\n6 0\n7 0\n",
     INVALID, "line 6: \"4 5\" has an imaginary part on the diagonal"},
    {G "2 2 1", INVALID, "line 2: 1 entries of at least 4 bytes each cannot be in the 0 bytes"},
    {C "2 2 1\n1 2 5   \n", INVALID, "has no imaginary part"},
    {C "2 2 1\n1 2 5\n", INVALID, "line 3: \"1 2 5\" has no imaginary part"},
    {C "2 2 2\n1 2 5 6\n", INVALID, "line 4: the file ends early, after 1 of 2 entries"},
    {G "2 2 1\n1 1\n", INVALID, "line 3: \"1 1\" has no value"},
    {C "2 2 1\n1 2     \n", INVALID, "has no real part"},
    {C "2 2 1\n1 2 5 6i\n", INVALID, "line 3: \"6i\" is not a number"},
    {C "2 2 1\n1 2 5+6i 0\n", INVALID, "line 3: \"5+6i\" is not a number"},
    {C "2 2 1\n1 2 5 6 7\n", INVALID, "line 3: \"7\" follows the entry"},
    {C "2 2 1\n1 2 5 1e999\n", INVALID, "\"1e999\" is beyond the range of f64"},
    {C "2 2 1\n1 2 1e999 x\n", INVALID, "\"1e999\" is beyond the range of f64"},
    {"%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 2 1 -1e-300\n", INVALID,
     "which is real in a Hermitian matrix"},
    {"%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 2 1 1\n2 1 1 1\n", INVALID,
     "line 4: entry (2, 1) is below the diagonal and earlier ones above it"},
    {"%%MatrixMarket matrix array complex general\n1 2\n1 2\n3  \n", INVALID,
     "has no imaginary part"},
    {"%%MatrixMarket matrix coordinate complex genral\n", INVALID,
     "the symmetry is \"genral\""},
    {G, INVALID, "line 2: the file ends early, before its size line"},
    {G "% only\n\n%comments\n", INVALID, "line 5: the file ends early, before its size line"},
    {G "\n3\n", INVALID, "line 3: the size line \"3\" ends before the number of columns"},
    {G "3 4\n", INVALID, "line 2: the size line \"3 4\" ends before the number of entries"},
    {G "3 4 0 0\n", INVALID, "line 2: \"0\" follows the sizes"},
    {A "3 4 12\n", INVALID, "line 2: \"12\" follows the sizes"},
    {G "3 x 0\n", INVALID, "line 2: \"x\" is not a number of columns"},
    {G "3.0 3 0\n", INVALID, "line 2: \"3.0\" is not a number of rows"},
    {G "1 2147483648 0\n", MERBIT_TOO_LARGE, "2147483648 columns"},
    {G "1 18446744073709551617 0\n", MERBIT_TOO_LARGE,
     "\"18446744073709551617\" is too large a number of columns"},
    {G "1 1 18446744073709551616\n", MERBIT_TOO_LARGE, "too large a number of entries"},
    {G "2000000 1 0\n", MERBIT_TOO_LARGE,
     "line 2: 2000000 rows exceed the limit of 1052288; set max_rows"},
    {G "9 9 1000000000000\n1 1 1\n", INVALID,
     "line 2: 1000000000000 entries of at least 4 bytes each cannot be in the 6 bytes that "
     "follow; "
     "the file ends early"},
    {A "1000000 1000000\n1\n", INVALID, "line 2: 1000000000000 entries of at least 2 bytes"},
    {A "10000 2147483647\n1\n", INVALID, "line 2: 21474836470000 entries of at least 2 bytes"},
    {S "3 4 0\n", INVALID, "line 2: 3 rows and 4 columns; only square"},
    {G "3 3 2\n1 1 1\n% now nothing\n% and nothing\n\n\n", INVALID,
     "line 8: the file ends early, after 1 of 2 entries"},
    {G "3 3 3\n1 1 1\n2 2 0.12345\n3 3", INVALID, "line 5: \"3 3\" has no value"},
    {G "3 3 3\n1 1 1.0000000\n2 2 1.5e", INVALID,
     "line 4: the file ends early, with \"2 2 1.5e\" after 1 of 3 entries"},
    {G "3 3 3\n1 1 1.0000000\n2 2 1.5e\n", INVALID, "line 4: \"1.5e\" is not a number"},
    {G "3 3 1\n1 1 forty-two", INVALID, "line 3: \"forty-two\" is not a number"},
    {G "3 3 1\n1 1 1\n\n2 2 2\n", INVALID, "line 5: \"2 2 2\" follows the last of 1 entries"},
    {G "3 3 0\nx\n", INVALID, "line 3: \"x\" follows the last of 0 entries"},
    {G "3 3 1\n0 1 1\n", INVALID, "line 3: row index 0; indices begin with 1"},
    {G "3 3 1\n4 1 1\n", INVALID, "line 3: row index 4 exceeds the 3 rows"},
    {G "3 3 1\n1 18446744073709551617 1\n", INVALID,
     "line 3: column index 18446744073709551617 exceeds the 3 columns"},
    {G "3 3 1\n00000000000000000000000000000000000000000000000000004 1 1\n", INVALID,
     "exceeds"},
    {G "3 3 1\n-1 1 1\n", INVALID, "line 3: \"-1\" is not a row index"},
    {G "3 3 1\n1.0 1 1\n", INVALID, "line 3: \"1.0\" is not a row index"},
    {G "3 3 1\n1 1e0 1\n", INVALID, "line 3: \"1e0\" is not a column index"},
    {G "3 3 1\n1        \n", INVALID, "line 3: \"1\" has no column index"},
    {G "3 3 1\n1 1      \n", INVALID, "line 3: \"1 1\" has no value"},
    {G "3 3 1\n1 1+1    \n", INVALID, "line 3: \"1+1\" is not a column index"},
    {G "3 3 1\n1 1.5    \n", INVALID, "line 3: \"1.5\" is not a column index"},
    {G "3 3 1\n1+1 5    \n", INVALID, "line 3: \"1+1\" is not a row index"},
    {G "3 3 1\n1 1 forty-two\n", INVALID, "line 3: \"forty-two\" is not a number"},
    {G "3 3 1\n1 1 1,5\n", INVALID, "line 3: \"1,5\" is not a number"},
    {G "3 3 1\n1 1 0x1p3\n", INVALID, "line 3: \"0x1p3\" is not a number"},
    {G "3 3 1\n1 1 1e\n", INVALID, "line 3: \"1e\" is not a number"},
    {G "3 3 1\n1 1 infinite\n", INVALID, "line 3: \"infinite\" is not a number"},
    {G "3 3 1\n1 1 nan(0)\n", INVALID, "line 3: \"nan(0)\" is not a number"},
    {G "3 3 1\n1 1 1.8e308\n", INVALID, "line 3: \"1.8e308\" is beyond the range of f64"},
    {G "3 3 1\n1 1 -1e999999999999999999999\n", INVALID, "is beyond the range of f64"},
    {G "3 3 1\n1 1 1 1\n", INVALID, "line 3: \"1\" follows the entry"},
    {G "3 3 1\n1 1 1 % one\n", INVALID, "line 3: \"% one\" follows the entry"},
    {G "3 3 1\n1 1 nan nan\n", INVALID, "line 3: \"nan\" follows the entry"},
    {P "3 3 1\n1 1 1\n", INVALID, "line 3: \"1\" follows the entry"},
    {I "3 3 1\n1 1 1.5\n", INVALID,
     "line 3: \"1.5\" is not an integer, as the banner promises"},
    {I "3 3 1\n1 1 1e3\n", INVALID, "line 3: \"1e3\" is not an integer"},
    {S "3 3 4\n1 1 1\n2 1 1\n2 2 1\n1 2 1\n", INVALID,
     "line 6: entry (1, 2) is above the diagonal and earlier ones below it; files with a "
     "symmetry have one triangle"},
    {K "3 3 2\n1 2 1\n3 2 1\n", INVALID,
     "line 4: entry (3, 2) is below the diagonal and earlier ones above it"},
    {K "3 3 1\n2 2 0\n", INVALID,
     "line 3: entry (2, 2) is on the diagonal, which skew-symmetric files leave out"},
    {A "2 1\n1\n", INVALID, "line 2: 2 entries of at least 2 bytes"},
    {A "2 1\n1    \n\n\n", INVALID, "line 6: the file ends early, after 1 of 2 entries"},
    {A "2 1\n1\nx\n", INVALID, "line 4: \"x\" is not a number"},
    {A "2 1\n1 2\n", INVALID, "line 3: \"2\" follows the entry"},
    {A "2 1\n1\n2\n3\n", INVALID, "line 5: \"3\" follows the last of 2 entries"},
    {G "3 3 1\n1 1 \x01\xff\n", INVALID, "line 3: \"\\x01\\xff\" is not a number"},
    {G "3 3 1\n1 1 "
       "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
       "abcdefghijklmnopqrstuvwxyz\n",
     INVALID, "uvwxyzabcdefghijklmnopqrs...\" is not a number"},
    {G "3 3 1\r1 1 1\r", INVALID, "line 2: \"1 1 1\" follows the sizes"},
    {"\xff\xfe%", INVALID, "line 1: \"\\xff\\xfe%\"; expected a banner"},
    {"\x1f\x8b\x08 binary", INVALID,
     "line 1: the input is packed with gzip; unpack it first (gunzip)"},
    {"BZh91AY", INVALID, "packed with bzip2"},
    {"\xfd"
     "7zXZ",
     INVALID, "packed with xz"},
    {"\x28\xb5\x2f\xfd", INVALID, "packed with zstd"},
    {"PK\x03\x04", INVALID, "packed with zip"},
};

static void test_faults(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    const char *text = faults[i].text;
    const int of_size = strstr(faults[i].piece, "entries of at least") != NULL ||
                        strstr(faults[i].piece, "exceed the limit") != NULL;
    merbit_matrix *m;
    merbit_status status = read_block(context, text, strlen(text), NULL, &m);
    assert_failed(context, text, status, faults[i].status, faults[i].piece, &m);
    status = read_stream(context, text, strlen(text), 1, NULL, &m);
    assert_failed(context, text, status, faults[i].status, of_size ? "line " : faults[i].piece,
                  &m);
  }
  merbit_context_destroy(context);
}

/* Writes a 3 x 3 file with all entries that its kind has, and a fault in number `bad`; none if
 * `bad` is -1. `imaginary`: the fault is an imaginary part on a Hermitian diagonal. Returns the
 * number of entries, or 0 if entry `bad` cannot have that fault. */
static int write_kind(char *text, size_t size, int array, const char *field,
                      const char *symmetry, int bad, int imaginary) {
  const int general = strcmp(symmetry, "general") == 0, skew = symmetry[1] == 'k';
  const int complex = strcmp(field, "complex") == 0, pattern = strcmp(field, "pattern") == 0;
  const int all = general ? 9 : skew ? 3 : 6;
  int row, col, k = 0, suits = 1;
  size_t at = (size_t)snprintf(text, size, "%%%%MatrixMarket matrix %s %s %s\n3 3",
                               array ? "array" : "coordinate", field, symmetry);
  at += (size_t)(array ? snprintf(text + at, size - at, "\n")
                       : snprintf(text + at, size - at, " %d\n", all));
  for (col = 1; col <= 3; col++) {
    for (row = general ? 1 : col + skew; row <= 3; row++, k++) {
      const int wrong = k == bad;
      suits &= !wrong || !imaginary || row == col;
      if (!array) {
        at += (size_t)snprintf(text + at, size - at, "%d %d%s", row, wrong && pattern ? 4 : col,
                               pattern ? "" : " ");
      }
      if (!pattern) {
        at += (size_t)snprintf(text + at, size - at, "%s", wrong && !imaginary ? "x" : "2");
      }
      if (complex) {
        at += (size_t)snprintf(text + at, size - at, " %d", wrong || row != col ? 3 : 0);
      }
      at += (size_t)snprintf(text + at, size - at, "\n");
    }
  }
  return suits ? all : 0;
}

/* A fault in any entry of any kind of file is refused, and the sentence names its line. */
static void test_every_line(void **state) {
  static const char *const fields[] = {"real", "integer", "complex", "pattern"};
  static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric",
                                           "hermitian"};
  merbit_context *context = cpu_open(NULL, 1);
  char text[512], piece[24];
  int kind, refused = 0;
  (void)state;
  for (kind = 0; kind < 64; kind++) {
    const int array = kind & 1, imaginary = kind >> 5;
    const char *field = fields[kind >> 1 & 3], *symmetry = symmetries[kind >> 3 & 3];
    const int hermitian = symmetry[0] == 'h' && field[0] == 'c';
    merbit_matrix *m;
    int bad, all;
    if ((field[0] == 'p' && (array || symmetry[1] == 'k' || symmetry[0] == 'h')) ||
        (imaginary && !hermitian)) {
      continue;
    }
    all = write_kind(text, sizeof text, array, field, symmetry, -1, 0);
    assert_int_equal(read_block(context, text, strlen(text), NULL, &m), MERBIT_OK);
    merbit_matrix_destroy(m);
    for (bad = 0; bad < all; bad++) {
      merbit_status status;
      if (write_kind(text, sizeof text, array, field, symmetry, bad, imaginary) > 0) {
        (void)snprintf(piece, sizeof piece, "line %d: ", 3 + bad);
        status = read_block(context, text, strlen(text), NULL, &m);
        assert_failed(context, text, status, INVALID, piece, &m);
        status = read_stream(context, text, strlen(text), 1, NULL, &m);
        assert_failed(context, text, status, INVALID, piece, &m);
        refused++;
      }
    }
  }
  assert_int_equal(refused, 2 * 3 * (9 + 6 + 3 + 6) + 9 + 6 + 2 * 3);
  merbit_context_destroy(context);
}

static void test_zero_bytes(void **state) {
  static const char in_data[] = G "2 2 1\n1 1\0 1\n", in_comment[] = G "%a\0b\n2 2 1\n1 1 1\n";
  merbit_context *context = cpu_open(NULL, 1);
  merbit_matrix *m;
  merbit_status status;
  (void)state;
  status = read_block(context, in_data, sizeof in_data - 1, NULL, &m);
  assert_failed(context, in_data, status, INVALID, "line 3: a zero byte", &m);
  status = read_block(context, in_comment, sizeof in_comment - 1, NULL, &m);
  assert_failed(context, in_comment, status, INVALID, "line 2: a zero byte", &m);
  status = read_stream(context, in_comment, sizeof in_comment - 1, 3, NULL, &m);
  assert_failed(context, in_comment, status, INVALID, "line 2: a zero byte", &m);
  merbit_context_destroy(context);
}

static int64_t read_nothing_good(void *user, void *data, size_t size) {
  (void)data;
  return *(const int *)user ? (int64_t)size + 1 : -5;
}

static void test_sources_fail(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_matrix *m = NULL;
  merbit_status status;
  int too_much = 0;
  (void)state;
  status = merbit_matrix_read_file(context, "/nonexistent/a.mtx", NULL, &m);
  assert_failed(context, "", status, MERBIT_IO_ERROR,
                "cannot open /nonexistent/a.mtx: No such file or directory", &m);
  status = merbit_matrix_read_file(context, "/", NULL, &m);
  assert_failed(context, "", status, MERBIT_IO_ERROR, "cannot open /: Is a directory", &m);
  status = merbit_matrix_read_file(context, "/dev/null", NULL, &m);
  assert_failed(context, "", status, INVALID, "line 1: the input is empty", &m);
  status = merbit_matrix_read_file(context, "/proc/self/mem", NULL, &m);
  assert_failed(context, "", status, MERBIT_IO_ERROR, "/proc/self/mem", &m);
  status = merbit_matrix_read_stream(context, read_nothing_good, &too_much, NULL, &m);
  assert_failed(context, "", status, MERBIT_IO_ERROR, "the read callback returned -5", &m);
  too_much = 1;
  status = merbit_matrix_read_stream(context, read_nothing_good, &too_much, NULL, &m);
  assert_failed(context, "", status, MERBIT_IO_ERROR, "the read callback returned", &m);
  merbit_context_destroy(context);
}

static void test_arguments(void **state) {
  static const char text[] = G "2000000 2 1\n1999999 1 1\n";
  merbit_context *context = cpu_open(NULL, 1);
  merbit_read_desc desc;
  merbit_matrix *m = (merbit_matrix *)(void *)context;
  const size_t size = sizeof text - 1;
  (void)state;
  memset(&desc, 0, sizeof desc);
  assert_int_equal(merbit_matrix_read_memory(NULL, text, size, NULL, &m),
                   MERBIT_INVALID_ARGUMENT);
  assert_null(m);
  assert_failed(context, "", merbit_matrix_read_memory(context, text, size, NULL, NULL),
                MERBIT_INVALID_ARGUMENT, "`matrix` is NULL", NULL);
  assert_failed(context, "", merbit_matrix_read_memory(context, NULL, 1, NULL, &m),
                MERBIT_INVALID_ARGUMENT, "`data` is NULL", &m);
  assert_failed(context, "", merbit_matrix_read_memory(context, NULL, 0, NULL, &m), INVALID,
                "the input is empty", &m);
  assert_failed(context, "", merbit_matrix_read_file(context, NULL, NULL, &m),
                MERBIT_INVALID_ARGUMENT, "`path` is NULL", &m);
  assert_failed(context, "", merbit_matrix_read_file(context, "", NULL, &m),
                MERBIT_INVALID_ARGUMENT, "`path` is empty", &m);
  assert_failed(context, "", merbit_matrix_read_stream(context, NULL, NULL, NULL, &m),
                MERBIT_INVALID_ARGUMENT, "`read` is NULL", &m);
  desc.value_type = MERBIT_BF16;
  assert_failed(context, "", read_block(context, text, size, &desc, &m), MERBIT_NOT_SUPPORTED,
                "read_desc.value_type is MERBIT_BF16; use MERBIT_F64", &m);
  desc.value_type = MERBIT_F32;
  assert_failed(context, "", read_block(context, C "1 1 0\n", sizeof C + 5, &desc, &m),
                MERBIT_NOT_SUPPORTED, "the field is complex, but read_desc.value_type", &m);
  desc.value_type = MERBIT_C64;
  assert_failed(context, "",
                read_block(context, C "1 1 1\n1 1 0 1e39\n", sizeof C + 16, &desc, &m), INVALID,
                "\"1e39\" is beyond the range of f32; read the file as c128", &m);
  desc.value_type = MERBIT_F64;
  desc.max_rows = -1;
  assert_failed(context, "", read_block(context, text, size, &desc, &m),
                MERBIT_INVALID_ARGUMENT, "read_desc.max_rows is -1", &m);
  desc.max_rows = 1999999;
  assert_failed(context, "", read_block(context, text, size, &desc, &m), MERBIT_TOO_LARGE,
                "line 2: 2000000 rows exceed the limit of 1999999", &m);
  assert_failed(context, "", read_stream(context, text, size, 9, &desc, &m), MERBIT_TOO_LARGE,
                "line 2: 2000000 rows exceed the limit of 1999999", &m);
  desc.max_rows = 2000000;
  assert_int_equal(read_block(context, text, size, &desc, &m), MERBIT_OK);
  assert_int_equal(merbit_matrix_view(m).rows, 2000000);
  assert_int_equal(((const int32_t *)merbit_matrix_view(m).row_ptr)[1999998], 0);
  assert_int_equal(((const int32_t *)merbit_matrix_view(m).row_ptr)[1999999], 1);
  merbit_matrix_destroy(m);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_faults),     cmocka_unit_test(test_every_line),
      cmocka_unit_test(test_zero_bytes), cmocka_unit_test(test_sources_fail),
      cmocka_unit_test(test_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
