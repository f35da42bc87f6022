/* Generated test matrices: CSR with 64-bit offsets from 0, columns in any order, duplicates
 * allowed. An index and a seed give the same matrix on every machine. */
#ifndef TEST_SUPPORT_MATRICES_H
#define TEST_SUPPORT_MATRICES_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/effort.h"

#define TEST_UNUSED __attribute__((unused))

typedef struct test_matrix {
  char name[64];
  int64_t rows, cols, nnz;
  int64_t *row_ptr;
  int32_t *col_ind;
  double *values;
} test_matrix;

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
 */
TEST_UNUSED static uint64_t test_random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Returns a number in [-1, 1). */
TEST_UNUSED static double test_uniform(uint64_t *state) {
  return (double)(int64_t)(test_random(state) >> 10) * 0x1p-53 - 1.0;
}

TEST_UNUSED static int64_t test_below(uint64_t *state, int64_t bound) {
  return bound > 0 ? (int64_t)(test_random(state) % (uint64_t)bound) : 0;
}

/* Never returns NULL, so that tests need no checks. */
TEST_UNUSED static void *test_allocate(int64_t count, size_t size) {
  void *memory = calloc((size_t)count + 1, size);
  if (memory == NULL) {
    (void)fprintf(stderr, "a test ran out of memory\n");
    abort();
  }
  return memory;
}

typedef enum test_lengths { /* distributions of row lengths; a, b, c are in test_spec */
                            TEST_CONSTANT, /* all a */
                            TEST_RANDOM,   /* uniform in [0, 2a] */
                            TEST_POWER,    /* a / u, at most b: a power law */
                            TEST_ONE,      /* b in row a, c elsewhere */
                            TEST_TOTAL,    /* a nonzeros in all, in random rows */
                            TEST_RISING,   /* a + b * row */
                            TEST_EVERY,    /* b in every a-th row from row c on, else 0 */
                            TEST_HEAD_EMPTY, /* 0 in the first a rows, then b */
                            TEST_TAIL_EMPTY  /* b, then 0 in the last a rows */
} test_lengths;

typedef enum test_columns {
  TEST_ANY,        /* random: unsorted, with duplicates in long rows */
  TEST_SORTED,     /* ascending, distinct; at most `cols` per row */
  TEST_DESCENDING, /* the same, descending */
  TEST_BAND,       /* around the diagonal, ascending, clamped at the edges */
  TEST_FEW,        /* three columns only: many duplicates, not adjacent */
  TEST_LAST        /* always the last column */
} test_columns;

typedef enum test_numbers {
  TEST_UNIFORM, /* [-1, 1) */
  TEST_ONES,
  TEST_WIDE,  /* magnitudes from 2^-30 to 2^30 */
  TEST_ZEROS, /* a third +0, a third -0 */
  TEST_CANCEL /* pairs v, -v: sums much smaller than their terms */
} test_numbers;

typedef struct test_spec {
  const char *name;
  int64_t rows, cols;
  test_lengths lengths;
  int64_t a, b, c;
  test_columns columns;
  test_numbers numbers;
} test_spec;

/* Sizes around the boundaries of MERBIT's forms. A lane takes sigma steps (7, 14, 28) of the
 * path of rows + nnz, a tile omega lanes: 448 = 32 * 14, 224 = 32 * 7 or 16 * 14, 56 = 8 *
 * 7. A block of 128 threads takes 1792 or 896 steps, one of 512 threads 7168 or 3584. The
 * last lane of a tile begins at 434 or 217. With blocks of 32 steps the fix-up takes its
 * second block at 8192 steps, and a row over 24 blocks is long. Names that begin with "path"
 * give rows + nnz. */
static const test_spec test_specs[] = {
    {"0 x 0", 0, 0, TEST_CONSTANT, 0, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"0 x 5", 0, 5, TEST_CONSTANT, 0, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"5 x 0", 5, 0, TEST_CONSTANT, 0, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"1 x 1 empty", 1, 1, TEST_CONSTANT, 0, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"1 x 1 full", 1, 1, TEST_CONSTANT, 1, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"1 x 1 five duplicates", 1, 1, TEST_CONSTANT, 5, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"2 x 3", 2, 3, TEST_CONSTANT, 2, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"1000 empty rows", 1000, 7, TEST_CONSTANT, 0, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"448 empty rows", 448, 448, TEST_CONSTANT, 0, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"449 empty rows", 449, 1, TEST_CONSTANT, 0, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"one column, full", 300, 1, TEST_CONSTANT, 1, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"one column, sparse", 999, 1, TEST_EVERY, 7, 1, 3, TEST_ANY, TEST_UNIFORM},
    {"one column, duplicates", 50, 1, TEST_RANDOM, 9, 0, 0, TEST_ANY, TEST_CANCEL},
    {"one row, 1 entry", 1, 1000, TEST_CONSTANT, 1, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"one row, 447", 1, 1000, TEST_CONSTANT, 447, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"one row, 448", 1, 1000, TEST_CONSTANT, 448, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"one row, 4999", 1, 6000, TEST_CONSTANT, 4999, 0, 0, TEST_SORTED, TEST_WIDE},
    {"diagonal", 500, 500, TEST_CONSTANT, 1, 0, 0, TEST_BAND, TEST_UNIFORM},
    {"tridiagonal", 700, 700, TEST_CONSTANT, 3, 0, 0, TEST_BAND, TEST_UNIFORM},
    {"band of 27", 150, 150, TEST_CONSTANT, 27, 0, 0, TEST_BAND, TEST_UNIFORM},
    {"wide", 40, 3000, TEST_CONSTANT, 60, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"tall", 2000, 11, TEST_RANDOM, 1, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"first rows empty", 1200, 80, TEST_HEAD_EMPTY, 900, 8, 0, TEST_SORTED, TEST_UNIFORM},
    {"first tile empty exactly", 500, 80, TEST_HEAD_EMPTY, 448, 8, 0, TEST_SORTED,
     TEST_UNIFORM},
    {"last rows empty", 1200, 80, TEST_TAIL_EMPTY, 900, 8, 0, TEST_SORTED, TEST_UNIFORM},
    {"last tile empty exactly", 896, 80, TEST_TAIL_EMPTY, 840, 7, 0, TEST_ANY, TEST_UNIFORM},
    {"only row 0", 600, 2500, TEST_ONE, 0, 2500, 0, TEST_SORTED, TEST_UNIFORM},
    {"only row 300", 600, 2500, TEST_ONE, 300, 2500, 0, TEST_SORTED, TEST_UNIFORM},
    {"only last row", 600, 2500, TEST_ONE, 599, 2500, 0, TEST_SORTED, TEST_UNIFORM},
    {"long row 0", 400, 2000, TEST_ONE, 0, 2000, 3, TEST_ANY, TEST_UNIFORM},
    {"long row amid", 400, 2000, TEST_ONE, 200, 1900, 3, TEST_ANY, TEST_UNIFORM},
    {"long last row", 400, 2000, TEST_ONE, 399, 2000, 3, TEST_ANY, TEST_UNIFORM},
    {"long row, one tile", 200, 900, TEST_ONE, 100, 448, 1, TEST_SORTED, TEST_UNIFORM},
    {"long row, tile less one", 200, 900, TEST_ONE, 100, 447, 1, TEST_SORTED, TEST_UNIFORM},
    {"long rows every 100", 500, 1000, TEST_EVERY, 100, 700, 50, TEST_SORTED, TEST_UNIFORM},
    {"entry every 32 rows", 2048, 64, TEST_EVERY, 32, 1, 31, TEST_ANY, TEST_UNIFORM},
    {"every other row empty", 900, 90, TEST_EVERY, 2, 6, 0, TEST_SORTED, TEST_UNIFORM},
    {"every other row empty, odd", 900, 90, TEST_EVERY, 2, 6, 1, TEST_SORTED, TEST_UNIFORM},
    {"rows of 2", 1500, 1500, TEST_CONSTANT, 2, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"rows of 6, lane of 7", 640, 700, TEST_CONSTANT, 6, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"rows of 7", 600, 700, TEST_CONSTANT, 7, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"rows of 13, lane of 14", 320, 700, TEST_CONSTANT, 13, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"rows of 14", 320, 700, TEST_CONSTANT, 14, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"rows of 31", 128, 700, TEST_CONSTANT, 31, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"rows of 223", 16, 700, TEST_CONSTANT, 223, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"rows of 447", 10, 700, TEST_CONSTANT, 447, 0, 0, TEST_SORTED, TEST_UNIFORM},
    {"path 6", 3, 5, TEST_TOTAL, 3, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 7", 3, 5, TEST_TOTAL, 4, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 8", 3, 5, TEST_TOTAL, 5, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 13", 3, 5, TEST_TOTAL, 10, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 14", 3, 5, TEST_TOTAL, 11, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 15", 3, 5, TEST_TOTAL, 12, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 27", 9, 20, TEST_TOTAL, 18, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 28", 9, 20, TEST_TOTAL, 19, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 29", 9, 20, TEST_TOTAL, 20, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 55", 20, 40, TEST_TOTAL, 35, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 56", 20, 40, TEST_TOTAL, 36, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 57", 20, 40, TEST_TOTAL, 37, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 216", 60, 40, TEST_TOTAL, 156, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 217", 60, 40, TEST_TOTAL, 157, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 218", 60, 40, TEST_TOTAL, 158, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 223", 60, 40, TEST_TOTAL, 163, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 224", 60, 40, TEST_TOTAL, 164, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 225", 60, 40, TEST_TOTAL, 165, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 433", 100, 90, TEST_TOTAL, 333, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 434", 100, 90, TEST_TOTAL, 334, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 435", 100, 90, TEST_TOTAL, 335, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 447", 100, 90, TEST_TOTAL, 347, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 448", 100, 90, TEST_TOTAL, 348, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 449", 100, 90, TEST_TOTAL, 349, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 895", 300, 90, TEST_TOTAL, 595, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 896", 300, 90, TEST_TOTAL, 596, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 897", 300, 90, TEST_TOTAL, 597, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 1791", 600, 200, TEST_TOTAL, 1191, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 1792", 600, 200, TEST_TOTAL, 1192, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 1793", 600, 200, TEST_TOTAL, 1193, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 3583", 1000, 500, TEST_TOTAL, 2583, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 3584", 1000, 500, TEST_TOTAL, 2584, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 3585", 1000, 500, TEST_TOTAL, 2585, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 7167", 2000, 500, TEST_TOTAL, 5167, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 7168", 2000, 500, TEST_TOTAL, 5168, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 7169", 2000, 500, TEST_TOTAL, 5169, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 8191", 3000, 700, TEST_TOTAL, 5191, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 8192", 3000, 700, TEST_TOTAL, 5192, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"path 8193", 3000, 700, TEST_TOTAL, 5193, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"255 rows", 255, 255, TEST_CONSTANT, 1, 0, 0, TEST_BAND, TEST_UNIFORM},
    {"256 rows", 256, 256, TEST_CONSTANT, 1, 0, 0, TEST_BAND, TEST_UNIFORM},
    {"257 rows", 257, 257, TEST_CONSTANT, 1, 0, 0, TEST_BAND, TEST_UNIFORM},
    {"rows of 24 to 27 times 32", 20, 900, TEST_RISING, 767, 5, 0, TEST_ANY, TEST_UNIFORM},
    {"duplicates in few columns", 300, 90, TEST_RANDOM, 7, 0, 0, TEST_FEW, TEST_UNIFORM},
    {"duplicates cancel", 200, 90, TEST_CONSTANT, 12, 0, 0, TEST_FEW, TEST_CANCEL},
    {"last column only", 300, 900, TEST_RANDOM, 4, 0, 0, TEST_LAST, TEST_UNIFORM},
    {"descending columns", 300, 900, TEST_RANDOM, 7, 0, 0, TEST_DESCENDING, TEST_UNIFORM},
    {"zeros of both signs", 300, 300, TEST_RANDOM, 5, 0, 0, TEST_SORTED, TEST_ZEROS},
    {"ones", 400, 400, TEST_RANDOM, 6, 0, 0, TEST_SORTED, TEST_ONES},
    {"wide magnitudes", 300, 400, TEST_RANDOM, 8, 0, 0, TEST_ANY, TEST_WIDE},
    {"power law, small", 500, 500, TEST_POWER, 2, 400, 0, TEST_ANY, TEST_UNIFORM},
    {"power law, wide", 700, 5000, TEST_POWER, 1, 1500, 0, TEST_ANY, TEST_WIDE},
    {"random square", 800, 800, TEST_RANDOM, 3, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"random sparse", 3000, 3000, TEST_TOTAL, 900, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"large random", 12000, 9000, TEST_RANDOM, 4, 0, 0, TEST_ANY, TEST_UNIFORM},
    {"large power law", 11000, 11000, TEST_POWER, 1, 5000, 0, TEST_ANY, TEST_UNIFORM},
    {"large, one row of 30000", 6000, 40000, TEST_ONE, 4321, 30000, 2, TEST_SORTED,
     TEST_UNIFORM},
    {"large, mostly empty", 60000, 500, TEST_EVERY, 50, 12, 7, TEST_SORTED, TEST_UNIFORM},
};

TEST_UNUSED static int test_matrix_count(void) {
  return (int)(sizeof test_specs / sizeof test_specs[0]);
}

TEST_UNUSED static int64_t test_row_length(const test_spec *spec, int64_t row,
                                           uint64_t *state) {
  double wish;
  switch (spec->lengths) {
  case TEST_CONSTANT:
    return spec->a;
  case TEST_RANDOM:
    return test_below(state, 2 * spec->a + 1);
  case TEST_RISING:
    return spec->a + spec->b * row;
  case TEST_POWER:
    wish = (double)spec->a / (0.5 * test_uniform(state) + 0.5 + 1e-9) - 0.5 * (double)spec->a;
    return wish < (double)spec->b ? (int64_t)wish : spec->b;
  case TEST_ONE:
    return row == spec->a ? spec->b : spec->c;
  case TEST_EVERY:
    return row % spec->a == spec->c ? spec->b : 0;
  case TEST_HEAD_EMPTY:
    return row < spec->a ? 0 : spec->b;
  case TEST_TAIL_EMPTY:
    return row >= spec->rows - spec->a ? 0 : spec->b;
  default:
    return 0;
  }
}

/* Returns the column of entry i of `length` in a row; for `descending` the caller reverses
 * i. */
TEST_UNUSED static int64_t test_column(const test_spec *spec, int64_t row, int64_t i,
                                       int64_t length, uint64_t *state) {
  int64_t low, high;
  switch (spec->columns) {
  case TEST_SORTED:
  case TEST_DESCENDING:
    low = i * spec->cols / length;
    high = (i + 1) * spec->cols / length;
    return low + test_below(state, high - low);
  case TEST_BAND:
    low = row + i - length / 2;
    return low < 0 ? 0 : low >= spec->cols ? spec->cols - 1 : low;
  case TEST_FEW:
    return (7 * test_below(state, 3) + row) % spec->cols;
  case TEST_LAST:
    return spec->cols - 1;
  default:
    return test_below(state, spec->cols);
  }
}

TEST_UNUSED static double test_number(test_numbers numbers, int64_t i, double before,
                                      uint64_t *state) {
  double uniform = test_uniform(state);
  switch (numbers) {
  case TEST_ONES:
    return 1.0;
  case TEST_WIDE:
    return ldexp(uniform, (int)test_below(state, 61) - 30);
  case TEST_ZEROS:
    return i % 3 == 0 ? 0.0 : i % 3 == 1 ? -0.0 : uniform;
  case TEST_CANCEL:
    return i % 2 == 1 ? -before : uniform;
  default:
    return uniform;
  }
}

TEST_UNUSED static void test_matrix_make(int index, uint64_t seed, test_matrix *m) {
  const test_spec *spec = &test_specs[index];
  uint64_t state = seed * 1000003u + (uint64_t)index;
  int64_t row, i, j;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "%s", spec->name);
  m->rows = spec->rows;
  m->cols = spec->cols;
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  if (spec->lengths == TEST_TOTAL) {
    for (i = 0; i < spec->a; i++) {
      m->row_ptr[test_below(&state, m->rows) + 1]++;
    }
  }
  for (row = 0; row < m->rows; row++) {
    m->row_ptr[row + 1] += m->row_ptr[row] + test_row_length(spec, row, &state);
  }
  m->nnz = m->row_ptr[m->rows];
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (row = 0; row < m->rows; row++) {
    int64_t length = m->row_ptr[row + 1] - m->row_ptr[row];
    for (i = 0; i < length; i++) {
      j = spec->columns == TEST_DESCENDING ? length - 1 - i : i;
      m->col_ind[m->row_ptr[row] + i] = (int32_t)test_column(spec, row, j, length, &state);
    }
  }
  for (i = 0; i < m->nnz; i++) {
    m->values[i] = test_number(spec->numbers, i, i > 0 ? m->values[i - 1] : 0.0, &state);
  }
}

/* Sets all values of up to three columns to Inf, -Inf and NaN, one each. */
TEST_UNUSED static void test_matrix_wild(test_matrix *m, uint64_t *state) {
  static const double bad[] = {INFINITY, -INFINITY, NAN};
  int64_t i;
  int k;
  for (k = 0; k < 3 && m->nnz > 0; k++) {
    int32_t column = m->col_ind[test_below(state, m->nnz)];
    for (i = 0; i < m->nnz; i++) {
      m->values[i] = m->col_ind[i] == column ? bad[k] : m->values[i];
    }
  }
}

/* Spreads the columns over more than 2^16, in the same order. */
TEST_UNUSED static void test_matrix_stretch(test_matrix *m) {
  const int64_t factor = m->cols > 1 ? 100000 / m->cols + 1 : 1;
  const size_t end = strlen(m->name);
  int64_t i;
  for (i = 0; i < m->nnz; i++) {
    m->col_ind[i] = (int32_t)(m->col_ind[i] * factor);
  }
  m->cols = m->cols > 0 ? (m->cols - 1) * factor + 1 : 0;
  (void)snprintf(m->name + end, sizeof m->name - end, ", stretched");
}

TEST_UNUSED static void test_matrix_free(test_matrix *m) {
  free(m->row_ptr);
  free(m->col_ind);
  free(m->values);
  memset(m, 0, sizeof *m);
}

/* Returns the step for a loop over the matrices: 1, but 2 under AddressSanitizer in quick
 * effort, because a build without it tests them all. */
TEST_UNUSED static int test_matrix_step(void) {
#ifdef __SANITIZE_ADDRESS__
  return test_effort(2, 1);
#else
  return 1;
#endif
}

/* Returns the index of the first matrix for a loop with steps of test_matrix_step. */
TEST_UNUSED static int test_matrix_first(void) {
  const char *seed = getenv("MERBIT_TEST_SEED");
  return seed != NULL ? (int)(strtoull(seed, NULL, 10) % (unsigned)test_matrix_step()) : 0;
}

/* Returns the index of the generated matrix with the most nonzeros below `limit`. */
TEST_UNUSED static int test_matrix_largest(int64_t limit) {
  int64_t most = 0;
  int index, found = 0;
  for (index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    test_matrix_make(index, 1, &m);
    if (m.nnz > most && m.nnz < limit) {
      most = m.nnz;
      found = index;
    }
    test_matrix_free(&m);
  }
  return found;
}

#endif /* TEST_SUPPORT_MATRICES_H */
