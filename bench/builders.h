/* CSR arrays built in parallel from a function of the row or of the edge. The result is the
 * same for any number of threads. */
#ifndef BENCH_BUILDERS_H
#define BENCH_BUILDERS_H
#include "matrix.h"

#define BENCH_ROW_MOST 1024 /* the most columns that a row function may return */
#define BENCH_SAMPLE 65536  /* number of rows that bench_mean_length samples */

/* Writes a row's columns in any order; duplicates are allowed. Returns their number. */
typedef int (*bench_row_function)(const void *parameters, int64_t row, int32_t *columns);
typedef void (*bench_edge_function)(const void *parameters, int64_t edge, int32_t *row,
                                    int32_t *column);

static void bench_insertion_sort(int32_t *a, int64_t count) {
  int64_t i, j;
  for (i = 1; i < count; i++) {
    const int32_t item = a[i];
    for (j = i; j > 0 && a[j - 1] > item; j--) {
      a[j] = a[j - 1];
    }
    a[j] = item;
  }
}

/* Sorts by bytes from the lowest one, because long rows have millions of entries. */
static void bench_sort(int32_t *a, int64_t count, int64_t bound) {
  int32_t *from = a, *to, *spare;
  int shift;
  if (count <= 48) {
    bench_insertion_sort(a, count);
    return;
  }
  spare = (int32_t *)bench_allocate(count, sizeof *spare);
  to = spare;
  for (shift = 0; shift < 32 && (bound - 1) >> shift > 0; shift += 8) {
    int64_t start[257] = {0}, i;
    int32_t *swap;
    for (i = 0; i < count; i++) {
      start[((uint32_t)from[i] >> shift & 255) + 1]++;
    }
    for (i = 0; i < 256; i++) {
      start[i + 1] += start[i];
    }
    for (i = 0; i < count; i++) {
      to[start[(uint32_t)from[i] >> shift & 255]++] = from[i];
    }
    swap = from;
    from = to;
    to = swap;
  }
  if (from != a) {
    memcpy(a, from, (size_t)count * sizeof *a);
  }
  free(spare);
}

/* Drops duplicates from a sorted row. Returns the number of entries that are left. */
static int64_t bench_drop_duplicates(int32_t *a, int64_t count) {
  int64_t i, kept = count > 0;
  for (i = 1; i < count; i++) {
    if (a[i] != a[kept - 1]) {
      a[kept++] = a[i];
    }
  }
  return kept;
}

/* Replaces each count by the sum of those before it. Returns the total. */
static int64_t bench_scan(int32_t *counts, int64_t rows) {
  int64_t sum = 0, row;
  for (row = 0; row < rows; row++) {
    const int32_t count = counts[row];
    counts[row] = (int32_t)sum;
    sum += count;
    if (sum > INT32_MAX) {
      bench_die("the generated matrix would have 2^31 nonzeros or more; ask for fewer");
    }
  }
  return sum;
}

static int bench_sorted_row(bench_row_function function, const void *parameters, int64_t row,
                            int64_t cols, int32_t *columns) {
  const int count = function(parameters, row, columns);
  bench_sort(columns, count, cols);
  return (int)bench_drop_duplicates(columns, count);
}

/* Returns the mean length of up to BENCH_SAMPLE evenly spaced rows. */
static double bench_mean_length(const bench_matrix *m, bench_row_function function,
                                const void *parameters) {
  const int64_t sample = m->rows < BENCH_SAMPLE ? m->rows : BENCH_SAMPLE;
  int64_t sum = 0, i;
  BENCH_OMP(parallel for schedule(dynamic, 256) reduction(+ : sum))
  for (i = 0; i < sample; i++) {
    int32_t columns[BENCH_ROW_MOST];
    sum += bench_sorted_row(function, parameters, i * m->rows / sample, m->cols, columns);
  }
  return (double)sum / (double)sample;
}

/* Builds a CSR from a function of the row. m->rows and m->cols must be set. Calls the function
 * twice per row: to count and to store. */
static void bench_build_rows(bench_matrix *m, bench_row_function function,
                             const void *parameters) {
  const int64_t rows = m->rows;
  int64_t row;
  m->row_ptr = (int32_t *)bench_allocate(rows + 1, sizeof *m->row_ptr);
  BENCH_OMP(parallel for schedule(dynamic, 4096))
  for (row = 0; row < rows; row++) {
    int32_t columns[BENCH_ROW_MOST];
    m->row_ptr[row] = bench_sorted_row(function, parameters, row, m->cols, columns);
  }
  m->nnz = bench_scan(m->row_ptr, rows);
  m->row_ptr[rows] = (int32_t)m->nnz;
  m->col_ind = (int32_t *)bench_allocate(m->nnz, sizeof *m->col_ind);
  BENCH_OMP(parallel for schedule(dynamic, 4096))
  for (row = 0; row < rows; row++) {
    int32_t columns[BENCH_ROW_MOST];
    const int count = bench_sorted_row(function, parameters, row, m->cols, columns);
    memcpy(m->col_ind + m->row_ptr[row], columns, (size_t)count * sizeof *columns);
  }
}

/* ---- Rows whose lengths are known and unlimited ------------------------------------------ */

typedef int64_t (*bench_length_function)(const void *parameters, int64_t row);
/* Writes the `count` columns of a row, ascending and without duplicates. */
typedef void (*bench_fill_function)(const void *parameters, int64_t row, int64_t count,
                                    int32_t *columns);

/* Builds a CSR from each row's length and columns. m->rows and m->cols must be set, and no row
 * may be longer than m->cols. */
static void bench_build_lengths(bench_matrix *m, bench_length_function length,
                                bench_fill_function fill, const void *parameters) {
  int64_t row;
  m->row_ptr = (int32_t *)bench_allocate(m->rows + 1, sizeof *m->row_ptr);
  BENCH_OMP(parallel for schedule(static))
  for (row = 0; row < m->rows; row++) {
    m->row_ptr[row] = (int32_t)length(parameters, row);
  }
  m->nnz = bench_scan(m->row_ptr, m->rows);
  m->row_ptr[m->rows] = (int32_t)m->nnz;
  m->col_ind = (int32_t *)bench_allocate(m->nnz, sizeof *m->col_ind);
  BENCH_OMP(parallel for schedule(dynamic, 64))
  for (row = 0; row < m->rows; row++) {
    fill(parameters, row, m->row_ptr[row + 1] - m->row_ptr[row], m->col_ind + m->row_ptr[row]);
  }
}

/* Writes `count` ascending, distinct columns of [low, high): one at random from each of `count`
 * equal parts. `count` is at most high - low. */
static void bench_spread(uint64_t key, int64_t row, int64_t count, int64_t low, int64_t high,
                         int32_t *columns) {
  const uint64_t own = bench_random(key, (uint64_t)row);
  int64_t i;
  for (i = 0; i < count; i++) {
    const int64_t from = i * (high - low) / count, to = (i + 1) * (high - low) / count;
    columns[i] = (int32_t)(low + from + bench_below(own, (uint64_t)i, to - from));
  }
}

/* Writes `count` columns from `first` on, `step` apart. */
static void bench_stride(int64_t first, int64_t step, int64_t count, int32_t *columns) {
  int64_t i;
  for (i = 0; i < count; i++) {
    columns[i] = (int32_t)(first + i * step);
  }
}

/* Returns a number in [low, high] that depends only on the key and the row. */
static int64_t bench_draw(uint64_t key, int64_t row, int64_t low, int64_t high) {
  return low + bench_below(key, (uint64_t)row, high - low + 1);
}

/* Returns the whole number nearest to `wish`, but at least `least`. */
static int64_t bench_whole(double wish, int64_t least) {
  return wish > (double)least ? (int64_t)(wish + 0.5) : least;
}

/* Closes the gaps that duplicates left: row r has kept[r] columns from row_ptr[r] on. */
static void bench_compact(bench_matrix *m, const int32_t *kept) {
  int32_t *row_ptr = (int32_t *)bench_allocate(m->rows + 1, sizeof *row_ptr), *col_ind;
  int64_t row;
  memcpy(row_ptr, kept, (size_t)m->rows * sizeof *row_ptr);
  m->nnz = bench_scan(row_ptr, m->rows);
  row_ptr[m->rows] = (int32_t)m->nnz;
  col_ind = (int32_t *)bench_allocate(m->nnz, sizeof *col_ind);
  BENCH_OMP(parallel for schedule(dynamic, 4096))
  for (row = 0; row < m->rows; row++) {
    memcpy(col_ind + row_ptr[row], m->col_ind + m->row_ptr[row],
           (size_t)kept[row] * sizeof *col_ind);
  }
  free(m->row_ptr);
  free(m->col_ind);
  m->row_ptr = row_ptr;
  m->col_ind = col_ind;
}

/* Each thread collects edges in a few bins, so that the threads do not all compete for the
 * counter of one hub. */
#define BENCH_BINS 64
#define BENCH_BIN_MOST 30

typedef struct bench_bin {
  int32_t row, count;
  int32_t columns[BENCH_BIN_MOST];
} bench_bin;

/* Moves a bin's entries to their row. Only counts them if `col_ind` is NULL. */
static inline void bench_bin_empty(bench_bin *bin, int32_t *next, int32_t *col_ind) {
  const int32_t count = bin->count;
  int32_t *const counter = next + bin->row;
  int32_t at;
  if (count > 0) {
    BENCH_OMP(atomic capture) {
      at = *counter;
      *counter += count;
    }
    if (col_ind != NULL) {
      memcpy(col_ind + at, bin->columns, (size_t)count * sizeof *col_ind);
    }
    bin->count = 0;
  }
}

static inline void bench_bin_add(bench_bin *bins, int32_t *next, int32_t *col_ind, int32_t row,
                                 int32_t column) {
  bench_bin *bin = &bins[(uint32_t)row * UINT32_C(2654435769) >> 26];
  if (bin->row != row || bin->count == BENCH_BIN_MOST) {
    bench_bin_empty(bin, next, col_ind);
    bin->row = row;
  }
  bin->columns[bin->count++] = column;
}

/* Assigns each edge to its row: counts it in next[row], or stores its column at next[row] and
 * advances that. The order depends on the threads. */
static void bench_deal_edges(int32_t *next, int32_t *col_ind, bench_edge_function function,
                             const void *parameters, int64_t edges, int symmetric) {
  BENCH_OMP(parallel) {
    bench_bin bins[BENCH_BINS];
    int64_t i;
    memset(bins, 0, sizeof bins);
    BENCH_OMP(for schedule(static))
    for (i = 0; i < edges; i++) {
      int32_t row, column;
      function(parameters, i, &row, &column);
      bench_bin_add(bins, next, col_ind, row, column);
      if (symmetric) {
        bench_bin_add(bins, next, col_ind, column, row);
      }
    }
    for (i = 0; i < BENCH_BINS; i++) {
      bench_bin_empty(&bins[i], next, col_ind);
    }
  }
}

/* Builds a CSR from edges. m->rows and m->cols must be set. If `symmetric`, each edge also
 * yields its mirror image. Rows are sorted, so the result does not depend on the order in which
 * threads assign the edges. */
static void bench_build_edges(bench_matrix *m, bench_edge_function function,
                              const void *parameters, int64_t edges, int symmetric) {
  /* offsets[row + 1] is first the row's count, then its start, and finally its end. */
  int32_t *offsets = (int32_t *)calloc((size_t)m->rows + 1, sizeof *offsets);
  int32_t *kept = (int32_t *)bench_allocate(m->rows, sizeof *kept);
  int64_t total, left = 0, i;
  if (offsets == NULL) {
    bench_die("no memory for %lld rows", (long long)m->rows);
  }
  bench_deal_edges(offsets + 1, NULL, function, parameters, edges, symmetric);
  total = bench_scan(offsets + 1, m->rows);
  m->row_ptr = offsets;
  m->col_ind = (int32_t *)bench_allocate(total, sizeof *m->col_ind);
  bench_deal_edges(offsets + 1, m->col_ind, function, parameters, edges, symmetric);
  BENCH_OMP(parallel for schedule(dynamic, 1024) reduction(+ : left))
  for (i = 0; i < m->rows; i++) {
    int32_t *columns = m->col_ind + m->row_ptr[i];
    const int64_t count = m->row_ptr[i + 1] - m->row_ptr[i];
    bench_sort(columns, count, m->cols);
    kept[i] = (int32_t)bench_drop_duplicates(columns, count);
    left += kept[i];
  }
  m->nnz = total;
  if (left < total) {
    bench_compact(m, kept);
  }
  free(kept);
}

#endif
