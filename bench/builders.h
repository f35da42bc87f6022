/* CSR arrays from a function of the row or of the edge, in parallel, the same for any number of
 * threads. */
#ifndef BENCH_BUILDERS_H
#define BENCH_BUILDERS_H
#include "matrix.h"

#define BENCH_ROW_MOST 1024 /* columns that a row function may give */
#define BENCH_SAMPLE 65536  /* rows that bench_mean_length looks at */

/* Columns of a row in any order, duplicates allowed; returns how many. */
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

/* Byte by byte from the lowest: long rows hold millions. */
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

/* Drops duplicates from a sorted row. Returns how many entries are left. */
static int64_t bench_drop_duplicates(int32_t *a, int64_t count) {
  int64_t i, kept = count > 0;
  for (i = 1; i < count; i++) {
    if (a[i] != a[kept - 1]) {
      a[kept++] = a[i];
    }
  }
  return kept;
}

/* counts[row] becomes the sum of those before it; returns the whole. */
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

/* The mean length of up to BENCH_SAMPLE rows, evenly spaced. */
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

/* m->rows and cols are set. The function is called twice per row: to count and to store. */
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

/* Close the gaps that duplicates left: row r has kept[r] columns from row_ptr[r] on. */
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

/* Edges wait in a few bins of each thread, so that all threads do not fight for the counter of
 * one hub. */
#define BENCH_BINS 64
#define BENCH_BIN_MOST 30

typedef struct bench_bin {
  int32_t row, count;
  int32_t columns[BENCH_BIN_MOST];
} bench_bin;

/* Without `col_ind` the entries are only counted. */
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

/* Every edge to its row: counted in next[row], or stored at next[row], which moves on. Threads
 * do so in any order. */
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

/* m->rows and cols are set. With `symmetric` every edge also gives its mirror image. Sorting
 * each row makes the result one and the same, in whatever order the edges were dealt. */
static void bench_build_edges(bench_matrix *m, bench_edge_function function,
                              const void *parameters, int64_t edges, int symmetric) {
  /* offsets[row + 1] is the row's count, then its start, and after placing its end. */
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
