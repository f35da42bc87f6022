/* The Matrix Market reader: real files, files that other readers call malformed, every error
 * sentence, every source, truncation and mutation, memory that runs out. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/matrices.h"

#define G "%%MatrixMarket matrix coordinate real general\n"
#define P "%%MatrixMarket matrix coordinate pattern general\n"
#define S "%%MatrixMarket matrix coordinate real symmetric\n"
#define K "%%MatrixMarket matrix coordinate real skew-symmetric\n"
#define I "%%MatrixMarket matrix coordinate integer general\n"
#define A "%%MatrixMarket matrix array real general\n"
#define INVALID MERBIT_INVALID_FILE

/* ---- Support ----------------------------------------------------------------------------- */

typedef struct meter { /* an allocator that counts and fails on demand */
  int64_t live, bytes, peak, calls, fail_at;
} meter;

static void *meter_allocate(void *user, size_t bytes) {
  meter *m = (meter *)user;
  size_t *block;
  if (m->calls++ == m->fail_at) {
    return NULL;
  }
  block = (size_t *)malloc(bytes + 16);
  block[0] = bytes;
  m->live++;
  m->bytes += (int64_t)bytes;
  m->peak = m->bytes > m->peak ? m->bytes : m->peak;
  return (char *)block + 16;
}

static void meter_release(void *user, void *memory) {
  meter *m = (meter *)user;
  size_t *block = (size_t *)(void *)((char *)memory - 16);
  m->live--;
  m->bytes -= (int64_t)block[0];
  free(block);
}

static merbit_context *make_context(meter *m) {
  merbit_context_desc desc;
  merbit_context *context;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = 1;
  if (m != NULL) {
    desc.allocator.allocate = meter_allocate;
    desc.allocator.release = meter_release;
    desc.allocator.user = m;
  }
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  return context;
}

typedef struct stream {
  const char *text;
  size_t left, step;
} stream;

static int64_t stream_read(void *user, void *data, size_t size) {
  stream *s = (stream *)user;
  size = size < s->step ? size : s->step;
  size = size < s->left ? size : s->left;
  memcpy(data, s->text, size);
  s->text += size;
  s->left -= size;
  return (int64_t)size;
}

static merbit_status read_stream(merbit_context *context, const char *text, size_t size,
                                 size_t step, const merbit_read_desc *desc, merbit_matrix **m) {
  stream s;
  s.text = text;
  s.left = size;
  s.step = step;
  return merbit_matrix_read_stream(context, stream_read, &s, desc, m);
}

/* From a block of exactly `size` bytes, so that ASan sees a read beyond it. */
static merbit_status read_block(merbit_context *context, const char *text, size_t size,
                                const merbit_read_desc *desc, merbit_matrix **m) {
  char *block = (char *)malloc(size);
  merbit_status status;
  memcpy(block, text, size);
  *m = (merbit_matrix *)(void *)block; /* must be overwritten */
  status = merbit_matrix_read_memory(context, block, size, desc, m);
  free(block);
  return status;
}

static void assert_same(const merbit_matrix *a, const merbit_matrix *b) {
  const merbit_view v = merbit_matrix_view(a), w = merbit_matrix_view(b);
  assert_int_equal(v.rows, w.rows);
  assert_int_equal(v.cols, w.cols);
  assert_int_equal(v.nnz, w.nnz);
  assert_int_equal(v.value_type, w.value_type);
  assert_int_equal(v.offset_type, MERBIT_INDEX_32);
  assert_memory_equal(v.row_ptr, w.row_ptr, (size_t)(v.rows + 1) * 4);
  assert_memory_equal(v.col_ind, w.col_ind, (size_t)v.nnz * 4);
  assert_int_equal(v.values != NULL, w.values != NULL);
  if (v.values != NULL) {
    assert_memory_equal(v.values, w.values,
                        (size_t)v.nnz * (v.value_type == MERBIT_F32 ? 4 : 8));
  }
}

static void assert_failed(merbit_context *context, const char *text, merbit_status status,
                          merbit_status expected, const char *piece, merbit_matrix **m) {
  char message[MERBIT_MESSAGE_SIZE];
  const merbit_status last = merbit_last_error(context, message, sizeof message);
  if (status != expected || last != expected || strstr(message, piece) == NULL) {
    fail_msg("%.300s\n-> %s: %s\nexpected %s: %s", text, merbit_status_name(status), message,
             merbit_status_name(expected), piece);
  }
  if (m != NULL) {
    assert_null(*m);
  }
}

static char *load(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *text = (char *)calloc(1, 65536);
  assert_non_null(file);
  *size = fread(text, 1, 65535, file);
  (void)fclose(file);
  return text;
}

/* ---- Real files -------------------------------------------------------------------------- */

typedef struct triplets { /* a naive reading by the C library, symmetry expanded, in file order
                           */
  int64_t rows, cols, count;
  int64_t row[4096], col[4096];
  double value[4096];
} triplets;

static void triplets_add(triplets *t, int64_t row, int64_t col, double value) {
  t->row[t->count] = row;
  t->col[t->count] = col;
  t->value[t->count++] = value;
}

static void triplets_read(triplets *t, const char *path) {
  FILE *file = fopen(path, "r");
  char line[1024], format[32] = "", field[32] = "", symmetry[32] = "";
  int64_t row = 0, col = 1;
  int sized = 0, array, mirror, skew;
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof line, file));
  assert_int_equal(sscanf(line, "%*s %*s %31s %31s %31s", format, field, symmetry), 3);
  array = format[0] == 'a' || format[0] == 'A';
  mirror = symmetry[0] != 'g' && symmetry[0] != 'G';
  skew = strncmp(symmetry, "skew", 4) == 0;
  row = array && skew ? 2 : 1;
  t->count = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    char *at = line, *end;
    double value = 1;
    if (line[0] == '%' || strspn(line, " \t\r\n") == strlen(line)) {
      continue;
    }
    if (!sized) {
      t->rows = strtoll(at, &at, 10);
      t->cols = strtoll(at, &at, 10);
      sized = 1;
      continue;
    }
    if (!array) {
      row = strtoll(at, &at, 10);
      col = strtoll(at, &at, 10);
    }
    if (field[0] != 'p') {
      value = strtod(at, &end);
      assert_ptr_not_equal(at, end);
    }
    triplets_add(t, row - 1, col - 1, value);
    if (mirror && row != col) {
      triplets_add(t, col - 1, row - 1, skew ? -value : value);
    }
    if (array && ++row > t->rows) {
      col++;
      row = mirror ? col + skew : 1;
    }
  }
  (void)fclose(file);
}

/* Every entry of the matrix is the sum, in order, of the triplets of its place, and all are
 * used. */
static void assert_triplets(const merbit_view *view, const triplets *t) {
  const int32_t *row_ptr = (const int32_t *)view->row_ptr,
                *col_ind = (const int32_t *)view->col_ind;
  int64_t row, used = 0;
  assert_int_equal(view->rows, t->rows);
  assert_int_equal(view->cols, t->cols);
  for (row = 0; row < view->rows; row++) {
    int32_t i;
    for (i = row_ptr[row]; i < row_ptr[row + 1]; i++) {
      double sum = 0;
      int64_t k, found = 0;
      for (k = 0; k < t->count; k++) {
        if (t->row[k] == row && t->col[k] == col_ind[i]) {
          sum = found++ == 0 ? t->value[k] : sum + t->value[k];
        }
      }
      used += found;
      assert_true(found > 0);
      if (view->values != NULL && !(((const double *)view->values)[i] == sum)) {
        fail_msg("entry (%d, %d) is %g, not %g", (int)row, (int)col_ind[i],
                 ((const double *)view->values)[i], sum);
      }
    }
  }
  assert_int_equal(used, t->count);
}

static const struct {
  const char *name;
  int64_t rows, cols, nnz;
  int pattern;
} good_files[] = {
    {"LFAT5", 14, 14, 46, 0},
    {"LFAT5_hypersparse", 2000, 2000, 46, 0},
    {"Ragusa16", 24, 24, 81, 0},
    {"array_real", 3, 3, 9, 0},
    {"array_real_symmetric", 4, 4, 16, 0},
    {"array_skew", 3, 3, 6, 0},
    {"ash219", 219, 85, 438, 1},
    {"cage5", 37, 37, 233, 0},
    {"can_24", 24, 24, 160, 1},
    {"dup_general", 3, 3, 5, 0},
    {"empty_3x4", 3, 4, 0, 0},
    {"graphblas_fp64", 7, 7, 12, 0},
    {"int64_values", 7, 7, 12, 0},
    {"karate", 34, 34, 156, 1},
    {"nist_freeformat", 5, 5, 8, 0},
    {"skew_fp64", 6, 6, 20, 0},
    {"skew_int32", 6, 6, 20, 0},
    {"west0067", 67, 67, 294, 0},
    {"west0067_jumbled", 67, 67, 294, 0},
};

/* From the path, memory and streams: the same, and what the C library reads. */
static void test_files(void **state) {
  merbit_context *context = make_context(NULL);
  triplets *t = (triplets *)malloc(sizeof *t);
  size_t i, size, step;
  (void)state;
  for (i = 0; i < sizeof good_files / sizeof good_files[0]; i++) {
    char path[512], *text;
    merbit_matrix *from_path, *other;
    merbit_view view;
    (void)snprintf(path, sizeof path, TEST_DATA_DIR "/mtx/%s.mtx", good_files[i].name);
    assert_int_equal(merbit_matrix_read_file(context, path, NULL, &from_path), MERBIT_OK);
    view = merbit_matrix_view(from_path);
    assert_int_equal(view.rows, good_files[i].rows);
    assert_int_equal(view.cols, good_files[i].cols);
    assert_int_equal(view.nnz, good_files[i].nnz);
    assert_int_equal(view.values == NULL, good_files[i].pattern);
    triplets_read(t, path);
    assert_triplets(&view, t);
    text = load(path, &size);
    assert_int_equal(read_block(context, text, size, NULL, &other), MERBIT_OK);
    assert_same(from_path, other);
    merbit_matrix_destroy(other);
    for (step = 1; step < 100000; step *= 37) {
      assert_int_equal(read_stream(context, text, size, step, NULL, &other), MERBIT_OK);
      assert_same(from_path, other);
      merbit_matrix_destroy(other);
    }
    free(text);
    merbit_matrix_destroy(from_path);
  }
  free(t);
  merbit_context_destroy(context);
}

/* What the definition makes of files that other readers' authors call malformed. */
static const struct {
  const char *name;
  merbit_status status;
  const char *piece;
} odd_files[] = {
    {"mtx/GD99_cc", MERBIT_NOT_SUPPORTED, "line 1: the field is complex"},
    {"mtx/hermitian_c", MERBIT_NOT_SUPPORTED, "line 1: the field is complex"},
    {"malformed/LAGraph__mangled1", INVALID, "line 1: the object is \"mangled\""},
    {"malformed/LAGraph__mangled10", INVALID, "line 4: 3 entries of at least 6 bytes"},
    {"malformed/LAGraph__mangled12", INVALID, "line 5: \"1 1\" has no value"},
    {"malformed/LAGraph__mangled13", INVALID,
     "line 7: column index 9999 exceeds the 4 columns"},
    {"malformed/LAGraph__mangled15", INVALID, "line 5: \".959\" follows the entry"},
    {"malformed/LAGraph__mangled16", INVALID, "line 5: \".959\" follows the entry"},
    {"malformed/LAGraph__mangled3", INVALID, "line 1: the field is \"mangled\""},
    {"malformed/LAGraph__mangled4", INVALID, "line 1: the symmetry is \"mangled\""},
    {"malformed/LAGraph__mangled6", INVALID, "line 5: \"1\" follows the entry"},
    {"malformed/LAGraph__mangled7", INVALID, "line 4: 3 entries of at least 6 bytes"},
    {"malformed/LAGraph__mangled9", INVALID, "line 4: 3 rows and 4 columns"},
    /* legal: only their comments contradict them */
    {"malformed/LAGraph__mangled_bool", MERBIT_OK, ""},
    {"malformed/LAGraph__mangled_int16", MERBIT_OK, ""},
    {"malformed/LAGraph__mangled_int32", MERBIT_OK, ""},
    {"malformed/LAGraph__mangled_skew", MERBIT_OK, ""},
    {"malformed/LAGraph__mangled_uint16", MERBIT_OK, ""},
    {"malformed/LAGraph__mangled_uint8", MERBIT_OK, ""},
    {"malformed/SuiteSparse__bad_header", INVALID, "line 1: the symmetry is \"bogus\""},
    {"malformed/SuiteSparse__bad_matrix_type", MERBIT_NOT_SUPPORTED, "complex"},
    {"malformed/SuiteSparse__mangle1", INVALID, "line 1: the object is \"junk\""},
    {"malformed/SuiteSparse__mangle3", INVALID, "line 1: the field is \"junk\""},
    {"malformed/SuiteSparse__mangle4", INVALID, "line 1: the symmetry is \"junk\""},
    {"malformed/fast_matrix_market__invalid_bad_banner", INVALID, "expected a banner"},
    {"malformed/fast_matrix_market__invalid_bad_banner_2", INVALID, "expected a banner"},
    {"malformed/fast_matrix_market__invalid_bad_format", INVALID, "the format is \"____\""},
    {"malformed/fast_matrix_market__invalid_bad_object", INVALID, "the object is \"___\""},
    {"malformed/fast_matrix_market__invalid_bad_value", INVALID, "the field is \"double\""},
    {"malformed/fast_matrix_market__invalid_bad_value_2", INVALID, "the object is \"vector\""},
    {"malformed/fast_matrix_market__invalid_bad_value_4", INVALID, "the object is \"vector\""},
    {"malformed/fast_matrix_market__invalid_dimensions_out_of_range_1", INVALID,
     "line 3: \"-3\" is not a number of rows"},
    {"malformed/fast_matrix_market__invalid_dimensions_out_of_range_3", INVALID,
     "line 3: \"-3\" is not a number of entries"},
    {"malformed/fast_matrix_market__invalid_indices_out_of_range_1", INVALID,
     "line 5: row index 5000 exceeds the 7 rows"},
    {"malformed/fast_matrix_market__invalid_indices_out_of_range_3", INVALID,
     "line 5: row index 0"},
    {"malformed/fast_matrix_market__invalid_indices_out_of_range_4", INVALID,
     "line 6: column index 0"},
    {"malformed/fast_matrix_market__invalid_indices_out_of_range_6", INVALID,
     "line 6: \"-2\" is not a column index"},
    {"malformed/fast_matrix_market__invalid_matrix_coord_too_long", INVALID,
     "line 7: \"3 3 2\" follows the last of 3 entries"},
    {"malformed/fast_matrix_market__invalid_truncated_header_1", INVALID,
     "line 3: the input ends before its size line"},
    {"malformed/fast_matrix_market__invalid_truncated_header_2", INVALID,
     "line 1: the banner ends before its symmetry"},
    {"malformed/fast_matrix_market__invalid_truncated_line_2", INVALID, "line 2: 12 entries"},
    {"malformed/fast_matrix_market__invalid_truncated_lines", INVALID, "is \"double\""},
    {"malformed/fast_matrix_market__invalid_vector_coord_too_long", INVALID, "is \"vector\""},
    {"malformed/fast_matrix_market__invalid_vector_index_out_of_range_1", INVALID,
     "\"vector\""},
    {"malformed/fast_matrix_market__invalid_vector_negative_length", INVALID, "is \"vector\""},
    {"malformed/fast_matrix_market__overflow_dim_gt_int64", MERBIT_TOO_LARGE,
     "line 2: \"19223372036854775808\" is too large a number of rows"},
    {"malformed/fast_matrix_market__overflow_index_gt_int8", MERBIT_OK, ""},
    {"malformed/fast_matrix_market__overflow_value_gt_complex128", MERBIT_NOT_SUPPORTED,
     "line 1: the field is complex"},
    {"malformed/fast_matrix_market__overflow_value_gt_float64", INVALID,
     "line 4: \"1E310\" is beyond the range of f64"},
    {"malformed/fast_matrix_market__overflow_value_gt_int32", MERBIT_OK, ""},
};

static void test_malformed(void **state) {
  merbit_context *context = make_context(NULL);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof odd_files / sizeof odd_files[0]; i++) {
    char path[512];
    merbit_matrix *m = NULL;
    merbit_status status;
    (void)snprintf(path, sizeof path, TEST_DATA_DIR "/%s.mtx", odd_files[i].name);
    status = merbit_matrix_read_file(context, path, NULL, &m);
    if (odd_files[i].status == MERBIT_OK) {
      assert_int_equal(status, MERBIT_OK);
      assert_non_null(m);
      merbit_matrix_destroy(m);
    } else {
      assert_failed(context, path, status, odd_files[i].status, odd_files[i].piece, &m);
    }
  }
  merbit_context_destroy(context);
}

/* ---- Sentences --------------------------------------------------------------------------- */

static const struct {
  const char *text;
  merbit_status status;
  const char *piece; /* as read from memory; a stream may notice another fault first */
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
    {"%%MatrixMarket matrix array complex hermitian\n1 1\n1 0\n", MERBIT_NOT_SUPPORTED,
     "complex"},
    {"%%MatrixMarket matrix coordinate complex genral\n", INVALID,
     "the symmetry is \"genral\""},
    {G, INVALID, "line 2: the input ends before its size line"},
    {G "% only\n\n%comments\n", INVALID, "line 5: the input ends before its size line"},
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
     "line 2: 1000000000000 entries of at least 6 bytes"},
    {A "1000000 1000000\n1\n", INVALID, "line 2: 1000000000000 entries of at least 2 bytes"},
    {A "10000 2147483647\n1\n", INVALID, "line 2: 21474836470000 entries of at least 2 bytes"},
    {S "3 4 0\n", INVALID, "line 2: 3 rows and 4 columns; only square"},
    {G "3 3 2\n1 1 1\n% now nothing\n% and nothing\n\n\n", INVALID,
     "line 8: the input ends after 1 of 2 entries"},
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
    {S "3 3 1\n1 2 1\n", INVALID, "line 3: entry (1, 2) is not below the diagonal or on it"},
    {K "3 3 1\n1 2 1\n", INVALID, "line 3: entry (1, 2) is not below the diagonal,"},
    {K "3 3 1\n2 2 0\n", INVALID, "line 3: entry (2, 2) is not below the diagonal,"},
    {A "2 1\n1\n", INVALID, "line 2: 2 entries of at least 2 bytes"},
    {A "2 1\n1    \n\n\n", INVALID, "line 6: the input ends after 1 of 2 entries"},
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
  merbit_context *context = make_context(NULL);
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

static void test_zero_bytes(void **state) {
  static const char in_data[] = G "2 2 1\n1 1\0 1\n", in_comment[] = G "%a\0b\n2 2 1\n1 1 1\n";
  merbit_context *context = make_context(NULL);
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

/* ---- What is accepted -------------------------------------------------------------------- */

/* The one entry of a 1 x 1 file. */
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
  merbit_context *context = make_context(NULL);
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

/* Variants of one matrix: the same result for all. */
static void test_tolerance(void **state) {
  static const char *const texts[] = {
      "%%MATRIXMARKET Matrix COORDINATE Real\tGeneral\r\n2 2 2\r\n1 1 1.0\r\n2 1 3\r\n\r\n",
      "\xef\xbb\xbf" G "2 2 2\n1 1 1\n2 1 3",
      G "%\n\n  % indented\n \t\n\t2  2\t2  \n%between\n\n +01 \t 1   1e0 \n\n%\n2 +1 "
        "3\n\n%end\n \n%",
      G "2 2 3\n2 1 1\n1 1 1\n2 1 2\n",
      A "2 2\n1\n3\n0\n0\n",
  };
  merbit_context *context = make_context(NULL);
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
  merbit_context *context = make_context(NULL);
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

/* Nothing shorter can hold an entry: the length of the input must not be held against these. */
static void test_shortest(void **state) {
  static const char *const texts[] = {G "1 1 1\n1 1 1",    P "1 1 1\n1 1",
                                      A "1 1\n1",          G "1 2 2\n1 1 1\n1 2 1",
                                      P "1 2 2\n1 1\n1 2", A "1 2\n1\n2"};
  merbit_context *context = make_context(NULL);
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
  merbit_context *context = make_context(NULL);
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

/* Each decimal is rounded to float once: 1 + 2^-24 + a little lies above the halfway point, but
 * its nearest double is the halfway point, which would round to 1. */
static void test_f32(void **state) {
  static const char text[] =
      G "1 3 3\n1 1 1.0000000596046447754\n1 2 1e-46\n1 3 3.4028235e38\n",
                    above[] = G "1 1 1\n1 1 3.4028236e38\n";
  merbit_context *context = make_context(NULL);
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

/* ---- Large inputs ------------------------------------------------------------------------ */

/* Several windows, comments longer than one, values that can be told. */
static char *make_large(int entries, size_t comment, size_t *size) {
  char *text = (char *)malloc((size_t)entries * 40 + 2 * comment + 1000);
  size_t at = strlen(G);
  int i;
  memcpy(text, G, at);
  text[at++] = '%';
  memset(text + at, 'c', comment);
  at += comment;
  at += (size_t)sprintf(text + at, "\n%d 9 %d\n", entries, entries);
  for (i = 0; i < entries; i++) {
    at += (size_t)sprintf(text + at, "%d %d %.17g\n", i + 1, i % 9 + 1, i / 7.0);
    if (i == entries / 2) {
      text[at++] = '%';
      memset(text + at, 'x', comment);
      at += comment;
      text[at++] = '\n';
    }
  }
  *size = at - 1; /* without the last newline */
  return text;
}

static void test_large(void **state) {
  merbit_context *context = make_context(NULL);
  const size_t comments[] = {10, MBI_MM_WINDOW - 60, MBI_MM_WINDOW, 3 * MBI_MM_WINDOW + 17};
  size_t k, size;
  (void)state;
  for (k = 0; k < sizeof comments / sizeof comments[0]; k++) {
    const int entries = 60000;
    char *text = make_large(entries, comments[k], &size);
    merbit_matrix *m, *other;
    int i;
    assert_int_equal(read_block(context, text, size, NULL, &m), MERBIT_OK);
    assert_int_equal(merbit_matrix_view(m).nnz, entries);
    for (i = 0; i < entries; i++) {
      assert_true(((const double *)merbit_matrix_view(m).values)[i] == i / 7.0);
      assert_true(((const int32_t *)merbit_matrix_view(m).col_ind)[i] == i % 9);
    }
    assert_int_equal(read_stream(context, text, size, 65521, NULL, &other), MERBIT_OK);
    assert_same(m, other);
    merbit_matrix_destroy(other);
    merbit_matrix_destroy(m);
    text[size - 1] = 'x'; /* the line number survives windows and long comments */
    assert_failed(context, "large", read_block(context, text, size, NULL, &m), INVALID,
                  "line 60004: ", &m);
    assert_failed(context, "large", read_stream(context, text, size, 4096, NULL, &m), INVALID,
                  "line 60004: ", &m);
    free(text);
  }
  merbit_context_destroy(context);
}

static void test_long_lines(void **state) {
  merbit_context *context = make_context(NULL);
  const size_t size = 2 * MBI_MM_WINDOW;
  char *text = (char *)malloc(size + 64);
  merbit_matrix *m;
  (void)state;
  memset(text, '0', size + 64);
  memcpy(text, G "1 1 1\n1 1 ", strlen(G) + 10);
  assert_failed(context, "zeros", read_block(context, text, size, NULL, &m), INVALID,
                "line 3: longer than 262144 bytes", &m);
  assert_failed(context, "zeros", read_stream(context, text, size, 1000, NULL, &m), INVALID,
                "line 3: longer than 262144 bytes", &m);
  memset(text, '%', size);
  assert_failed(context, "banner", read_block(context, text, size, NULL, &m), INVALID,
                "line 1: longer than 262144 bytes", &m);
  /* a number of 200,000 digits fits a line: 0.000...1 with an exponent that makes it 1 */
  memset(text, '0', size);
  memcpy(text, G "1 1 1\n1 1 .", strlen(G) + 11);
  memcpy(text + strlen(G) + 11 + 199999, "1e200000", 8);
  assert_int_equal(read_block(context, text, strlen(G) + 11 + 199999 + 8, NULL, &m), MERBIT_OK);
  assert_true(*(const double *)merbit_matrix_view(m).values == 1.0);
  merbit_matrix_destroy(m);
  free(text);
  merbit_context_destroy(context);
}

/* A stream whose header claims the moon costs what it delivers. */
static void test_memory_follows_the_input(void **state) {
  static const char *const texts[] = {
      G "1000 1000 900000000000000000\n1 1 1\n", S "1000 1000 900000000000000000\n1 1 1\n",
      A "1000 2000000000\n1\n",
      "%%MatrixMarket matrix array real symmetric\n2000000000 2000000000\n1\n",
      G "900000000000000000 1000 1\n1 1 1\n"};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    meter m = {0, 0, 0, 0, -1};
    merbit_context *context = make_context(&m);
    merbit_matrix *matrix;
    const merbit_status status =
        read_stream(context, texts[i], strlen(texts[i]), 64, NULL, &matrix);
    assert_failed(context, texts[i], status, i == 4 ? MERBIT_TOO_LARGE : INVALID, "line ",
                  &matrix);
    assert_true(m.peak < 512 * 1024);
    merbit_context_destroy(context);
    assert_int_equal(m.live, 0);
  }
}

/* ---- Trouble ----------------------------------------------------------------------------- */

/* Cut anywhere: an error, or a matrix where the cut left a legal file. */
static void test_truncation(void **state) {
  static const char text[] =
      "%%MatrixMarket matrix coordinate real symmetric\n% c\n\n3 3 4\n1 1 1.25e1\n"
      "2 1 -7\n\n3 2 0.125\n% x\n3 3 12345678901234567890\n";
  merbit_context *context = make_context(NULL);
  size_t size;
  int whole = 0;
  (void)state;
  for (size = 0; size < sizeof text; size++) {
    merbit_matrix *m, *other;
    const merbit_status status = read_block(context, text, size, NULL, &m);
    const merbit_status streamed = read_stream(context, text, size, 1 + size % 5, NULL, &other);
    assert_int_equal(status, streamed);
    assert_int_equal(status == MERBIT_OK, m != NULL);
    assert_true(status == MERBIT_OK || status == INVALID);
    if (status == MERBIT_OK) {
      assert_true(size > sizeof text - 24);
      assert_same(m, other);
      merbit_matrix_destroy(m);
      merbit_matrix_destroy(other);
      whole++;
    }
  }
  assert_int_equal(whole, 21); /* the last value has 20 digits, then its newline */
  merbit_context_destroy(context);
}

/* Bytes replaced, removed, doubled: never a crash, and every sentence names a line. */
static void test_mutation(void **state) {
  static const char *const seeds[] = {
      S "3 3 4\n1 1 1.25e1\n2 1 -7\n3 2 0.125\n3 3 12\n", P "3 3 3\n1 1\n2 2\n% c\n3 3\n",
      A "2 3\n1\n2\n3\n4e5\ninf\n-nan\n", I "9 9 2\n1 2 3\n4 5 6\n"};
  static const char bytes[] = "0123456789+-.eE%\n\r\t dDinfa\xff,";
  merbit_context *context = make_context(NULL);
  uint64_t seed = 5;
  int i;
  (void)state;
  for (i = 0; i < 30000; i++) {
    const char *from = seeds[i % 4];
    size_t size = strlen(from);
    char text[256], message[MERBIT_MESSAGE_SIZE];
    int changes = 1 + (int)test_below(&seed, 4);
    merbit_matrix *m, *other;
    merbit_status status;
    memcpy(text, from, size);
    while (changes-- > 0) {
      const size_t at = (size_t)test_below(&seed, (int64_t)size);
      const int64_t kind = test_below(&seed, 3);
      if (kind == 0) {
        text[at] = bytes[test_below(&seed, sizeof bytes - 1)];
      } else if (kind == 1) {
        memmove(text + at, text + at + 1, size - at - 1);
        size--;
      } else {
        memmove(text + at + 1, text + at, size - at);
        size++;
      }
    }
    status = read_block(context, text, size, NULL, &m);
    assert_int_equal(status == MERBIT_OK, m != NULL);
    if (status != MERBIT_OK) {
      (void)merbit_last_error(context, message, sizeof message);
      assert_memory_equal(message, "line ", 5);
    }
    assert_int_equal(
        read_stream(context, text, size, 1 + (size_t)test_below(&seed, 50), NULL, &other),
        status);
    if (status == MERBIT_OK) {
      assert_same(m, other);
    }
    merbit_matrix_destroy(m);
    merbit_matrix_destroy(other);
  }
  merbit_context_destroy(context);
}

static void test_memory_runs_out(void **state) {
  static const char text[] = S "3 3 4\n1 1 1.25e1\n2 1 -7\n3 2 0.125\n3 3 12\n";
  int streamed;
  (void)state;
  for (streamed = 0; streamed < 2; streamed++) {
    meter m = {0, 0, 0, 0, -1};
    merbit_context *context = make_context(&m);
    const int64_t calls = m.calls, live = m.live;
    merbit_matrix *matrix = NULL;
    int64_t n;
    for (n = 0; matrix == NULL; n++) {
      merbit_status status;
      m.calls = 0;
      m.fail_at = n;
      status = streamed ? read_stream(context, text, sizeof text - 1, 9, NULL, &matrix)
                        : read_block(context, text, sizeof text - 1, NULL, &matrix);
      if (status != MERBIT_OK) {
        assert_failed(context, text, status, MERBIT_OUT_OF_MEMORY, "no memory for", &matrix);
        assert_int_equal(m.live, live);
      }
    }
    assert_true(n > 6);
    assert_true(calls > 0);
    merbit_matrix_destroy(matrix);
    assert_int_equal(m.live, live);
    merbit_context_destroy(context);
    assert_int_equal(m.live, 0);
  }
}

typedef struct reports {
  int calls, cancel_at;
  int64_t done, total;
} reports;

static int report(void *user, int64_t done, int64_t total) {
  reports *r = (reports *)user;
  assert_true(done >= r->done);
  r->done = done;
  r->total = total;
  return ++r->calls == r->cancel_at;
}

static void test_progress(void **state) {
  merbit_context *context = make_context(NULL);
  merbit_read_desc desc;
  size_t size;
  char *text = make_large(1000, 20 * 1024 * 1024, &size);
  int cancel, streamed;
  (void)state;
  for (cancel = 0; cancel < 4; cancel++) {
    for (streamed = 0; streamed < 2; streamed++) {
      reports r = {0, 0, 0, 0};
      merbit_matrix *m;
      merbit_status status;
      memset(&desc, 0, sizeof desc);
      r.cancel_at = cancel;
      desc.progress = report;
      desc.progress_user = &r;
      status = streamed ? read_stream(context, text, size, size, &desc, &m)
                        : merbit_matrix_read_memory(context, text, size, &desc, &m);
      assert_int_equal(r.total, streamed ? 0 : (int64_t)size);
      if (cancel == 0) {
        assert_int_equal(status, MERBIT_OK);
        assert_int_equal(r.calls, 3); /* 40 MiB: twice on the way, once at the end */
        assert_int_equal(r.done, size);
        merbit_matrix_destroy(m);
      } else {
        assert_int_equal(r.calls, cancel);
        assert_failed(context, "large", status, MERBIT_CANCELLED, "cancelled the read after",
                      &m);
      }
    }
  }
  free(text);
  merbit_context_destroy(context);
}

static int64_t read_nothing_good(void *user, void *data, size_t size) {
  (void)data;
  return *(const int *)user ? (int64_t)size + 1 : -5;
}

static void test_sources_fail(void **state) {
  merbit_context *context = make_context(NULL);
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

static void test_pipe(void **state) {
  static const char text[] = S "3 3 4\n1 1 1.25e1\n2 1 -7\n3 2 0.125\n3 3 12\n";
  merbit_context *context = make_context(NULL);
  merbit_matrix *m, *other;
  char path[64];
  int ends[2];
  (void)state;
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], text, sizeof text - 1), sizeof text - 1);
  assert_int_equal(close(ends[1]), 0);
  (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  assert_int_equal(merbit_matrix_read_file(context, path, NULL, &m), MERBIT_OK);
  assert_int_equal(close(ends[0]), 0);
  assert_int_equal(read_block(context, text, sizeof text - 1, NULL, &other), MERBIT_OK);
  assert_same(m, other);
  merbit_matrix_destroy(m);
  merbit_matrix_destroy(other);
  merbit_context_destroy(context);
}

static void test_arguments(void **state) {
  static const char text[] = G "2000000 2 1\n1999999 1 1\n";
  merbit_context *context = make_context(NULL);
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
  assert_failed(context, "", merbit_matrix_read_stream(context, NULL, NULL, NULL, &m),
                MERBIT_INVALID_ARGUMENT, "`read` is NULL", &m);
  desc.value_type = MERBIT_BF16;
  assert_failed(context, "", read_block(context, text, size, &desc, &m), MERBIT_NOT_SUPPORTED,
                "read_desc.value_type is 4", &m);
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
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_malformed),
      cmocka_unit_test(test_faults),
      cmocka_unit_test(test_zero_bytes),
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_tolerance),
      cmocka_unit_test(test_hermitian_real_is_symmetric),
      cmocka_unit_test(test_shortest),
      cmocka_unit_test(test_empty_shapes),
      cmocka_unit_test(test_f32),
      cmocka_unit_test(test_large),
      cmocka_unit_test(test_long_lines),
      cmocka_unit_test(test_memory_follows_the_input),
      cmocka_unit_test(test_truncation),
      cmocka_unit_test(test_mutation),
      cmocka_unit_test(test_memory_runs_out),
      cmocka_unit_test(test_progress),
      cmocka_unit_test(test_sources_fail),
      cmocka_unit_test(test_pipe),
      cmocka_unit_test(test_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
