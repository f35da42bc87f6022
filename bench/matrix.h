/* The benchmark's host matrices, random numbers, and exit on errors. */
#ifndef BENCH_MATRIX_H
#define BENCH_MATRIX_H
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_UNUSED __attribute__((unused))
#ifdef _OPENMP
#include <omp.h>
#define BENCH_PRAGMA(text) _Pragma(#text)
#define BENCH_OMP(clauses) BENCH_PRAGMA(omp clauses)
#else
#define BENCH_OMP(clauses)
#endif

/* A CSR with base 0, columns ascending strictly in each row, and values. */
typedef struct bench_matrix {
  char name[256];
  int64_t rows, cols, nnz;
  int32_t *row_ptr, *col_ind;
  double *values;
  int block_rows, block_cols; /* shape of the dense blocks that it consists of; 0: unknown */
} bench_matrix;

__attribute__((format(printf, 1, 2), noreturn)) static void bench_die(const char *format, ...) {
  va_list arguments;
  (void)fflush(stdout);
  (void)fputs("bench: ", stderr);
  va_start(arguments, format);
  (void)vfprintf(stderr, format, arguments);
  va_end(arguments);
  (void)fputc('\n', stderr);
  exit(1);
}

static void *bench_allocate(int64_t count, size_t size) {
  void *memory = malloc((size_t)(count > 0 ? count : 1) * size);
  if (memory == NULL) {
    bench_die("no memory for %lld elements of %zu bytes", (long long)count, size);
  }
  return memory;
}

static void bench_matrix_free(bench_matrix *m) {
  free(m->row_ptr);
  free(m->col_ind);
  free(m->values);
  memset(m, 0, sizeof *m);
}

/* Returns the position of a column's entry in row `row`, or -1 if the row has none. */
BENCH_UNUSED static int64_t bench_matrix_find(const bench_matrix *m, int64_t row,
                                              int64_t column) {
  int64_t low = m->row_ptr[row], high = m->row_ptr[row + 1];
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (m->col_ind[middle] < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < m->row_ptr[row + 1] && m->col_ind[low] == column ? low : -1;
}

static int64_t bench_longest_row(const bench_matrix *m) {
  int64_t longest = 0, row;
  for (row = 0; row < m->rows; row++) {
    const int64_t length = m->row_ptr[row + 1] - m->row_ptr[row];
    longest = length > longest ? length : longest;
  }
  return longest;
}

BENCH_UNUSED static double bench_mean_row(const bench_matrix *m) {
  return m->rows > 0 ? (double)m->nnz / (double)m->rows : 0;
}

/* Returns the standard deviation of the row lengths over their mean; 0 without nonzeros. */
BENCH_UNUSED static double bench_row_variation(const bench_matrix *m) {
  const double mean = bench_mean_row(m);
  double sum = 0;
  int64_t row;
  for (row = 0; row < m->rows; row++) {
    const double off = (double)(m->row_ptr[row + 1] - m->row_ptr[row]) - mean;
    sum += off * off;
  }
  return mean > 0 ? sqrt(sum / (double)m->rows) / mean : 0;
}

/* ---- Random numbers, which depend only on a key and a counter, never on the thread ------- */

/* Returns the i-th number of splitmix64 from state `key` (Steele, Lea, Flood, OOPSLA 2014). */
static inline uint64_t bench_random(uint64_t key, uint64_t i) {
  uint64_t z = key + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Returns a key of its own for each purpose. */
static inline uint64_t bench_key(uint64_t seed, uint64_t purpose) {
  return bench_random(bench_random(seed, purpose), UINT64_C(0x6d6572626974));
}

/* Returns a number in [0, 1). */
static inline double bench_uniform(uint64_t key, uint64_t i) {
  return (double)(bench_random(key, i) >> 11) * 0x1p-53;
}

/* Returns a number in [0, bound). */
static inline int64_t bench_below(uint64_t key, uint64_t i, int64_t bound) {
  return (int64_t)(bench_uniform(key, i) * (double)bound);
}

/* Applies a keyed permutation of [0, 2^bits): four Feistel rounds; the halves may differ by a
 * bit. */
static inline uint64_t bench_permute(uint64_t key, int bits, uint64_t i) {
  const int low_bits = bits / 2;
  const uint64_t low_mask = ((uint64_t)1 << low_bits) - 1;
  const uint64_t high_mask = ((uint64_t)1 << (bits - low_bits)) - 1;
  uint64_t low = i & low_mask, high = i >> low_bits;
  high ^= bench_random(key, low) & high_mask;
  low ^= bench_random(key + 1, high) & low_mask;
  high ^= bench_random(key + 2, low) & high_mask;
  low ^= bench_random(key + 3, high) & low_mask;
  return high << low_bits | low;
}

static inline uint64_t bench_unpermute(uint64_t key, int bits, uint64_t i) {
  const int low_bits = bits / 2;
  const uint64_t low_mask = ((uint64_t)1 << low_bits) - 1;
  const uint64_t high_mask = ((uint64_t)1 << (bits - low_bits)) - 1;
  uint64_t low = i & low_mask, high = i >> low_bits;
  low ^= bench_random(key + 3, high) & low_mask;
  high ^= bench_random(key + 2, low) & high_mask;
  low ^= bench_random(key + 1, high) & low_mask;
  high ^= bench_random(key, low) & high_mask;
  return high << low_bits | low;
}

/* Applies a keyed permutation of [0, count), count <= 2^bits. Follows the cycle of a larger
 * permutation until it is back in range. */
static inline int64_t bench_permute_below(uint64_t key, int bits, int64_t count, int64_t i) {
  uint64_t at = (uint64_t)i;
  do {
    at = bench_permute(key, bits, at);
  } while (at >= (uint64_t)count);
  return (int64_t)at;
}

static inline int64_t bench_unpermute_below(uint64_t key, int bits, int64_t count, int64_t i) {
  uint64_t at = (uint64_t)i;
  do {
    at = bench_unpermute(key, bits, at);
  } while (at >= (uint64_t)count);
  return (int64_t)at;
}

/* Returns the `bits` for which bench_permute_below can permute `count` numbers. */
static int bench_bits(int64_t count) {
  int bits = 1;
  while ((int64_t)1 << bits < count) {
    bits++;
  }
  return bits;
}

/* Sets random values in [0.5, 1.5), which have one order of magnitude. */
static void bench_fill_values(bench_matrix *m, uint64_t seed) {
  const uint64_t key = bench_key(seed, 1);
  int64_t k;
  m->values = (double *)bench_allocate(m->nnz, sizeof(double));
  BENCH_OMP(parallel for schedule(static))
  for (k = 0; k < m->nnz; k++) {
    m->values[k] = 0.5 + bench_uniform(key, (uint64_t)k);
  }
}

/* Kinds of values: as the generator made them, or replaced. */
enum {
  BENCH_VALUES_GENERAL,
  BENCH_VALUES_EQUAL,
  BENCH_VALUES_ROW,
  BENCH_VALUES_COLUMN,
  BENCH_VALUES_FEW,
  BENCH_VALUES_HALF,
  BENCH_VALUES_KINDS
};
BENCH_UNUSED static const char *const bench_value_kinds[] = {"general", "equal", "row",
                                                             "column",  "few",   "half"};

/* Replaces the values by others in [0.5, 1.5). BENCH_VALUES_FEW are 200 different ones,
 * BENCH_VALUES_HALF 1,024 that are exact in f16. */
BENCH_UNUSED static void bench_make_values(bench_matrix *m, int kind) {
  const uint64_t key = bench_key(7, 1);
  int64_t row, k;
  BENCH_OMP(parallel for schedule(dynamic, 1024) private(k))
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      const double drawn =
          bench_uniform(key, (uint64_t)(kind == BENCH_VALUES_ROW      ? row
                                        : kind == BENCH_VALUES_COLUMN ? m->col_ind[k]
                                                                      : k));
      m->values[k] = kind == BENCH_VALUES_EQUAL  ? 1.0
                     : kind == BENCH_VALUES_FEW  ? 0.5 + (double)(int)(200 * drawn) / 200
                     : kind == BENCH_VALUES_HALF ? 0.5 + (double)(int)(1024 * drawn) / 1024
                                                 : 0.5 + drawn;
    }
  }
}

#endif
