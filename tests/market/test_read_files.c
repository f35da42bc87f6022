/* The Matrix Market reader on real files, compared with a reader made of C library
 * functions. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "market/read.h"

static char *load(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *text = (char *)calloc(1, 65536);
  assert_non_null(file);
  *size = fread(text, 1, 65535, file);
  (void)fclose(file);
  return text;
}

typedef struct triplets { /* read by the C library, symmetry expanded, in file order */
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

/* Asserts that every entry of the matrix is the sum, in order, of the triplets at its place,
 * and that all are used. */
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

/* Reads from a path, memory and streams: all equal the C library's result. */
static void test_files(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
