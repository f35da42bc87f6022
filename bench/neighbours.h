/* Matrices whose rows read a part of x with their neighbours: fronts, graphs, runs, blocks. */
#ifndef BENCH_NEIGHBOURS_H
#define BENCH_NEIGHBOURS_H
#include "builders.h"
#include <math.h>

typedef struct neighbourhood { /* parameters of this file's functions */
  int64_t rows, width;         /* columns that a row may have */
  uint64_t lengths, key;
} neighbourhood;

/* Sets the sizes of a square matrix with `mean` nonzeros per row. */
static void neighbourhood_size(bench_matrix *m, neighbourhood *n, int64_t nnz, double mean,
                               int64_t width, uint64_t seed) {
  n->rows = m->rows = m->cols = bench_whole((double)nnz / mean, 1);
  n->width = width < n->rows ? width : n->rows;
  n->lengths = bench_key(seed, 71);
  n->key = bench_key(seed, 72);
}

/* Returns the first column that a row may have. Its columns keep their number at both ends. */
static int64_t neighbourhood_low(const neighbourhood *n, int64_t row) {
  const int64_t low = row - n->width / 2, last = n->rows - n->width;
  return low < 0 ? 0 : low > last ? last : low;
}

/* Fills a row with scattered columns of its neighbourhood. */
static void neighbourhood_fill(const void *parameters, int64_t row, int64_t count,
                               int32_t *columns) {
  const neighbourhood *n = (const neighbourhood *)parameters;
  const int64_t low = neighbourhood_low(n, row);
  bench_spread(n->key, row, count, low, low + n->width, columns);
}

/* ---- growing: rows of 0 to 100, each as long as the one before, or longer ---------------- */

static int64_t growing_length(const void *parameters, int64_t row) {
  const neighbourhood *n = (const neighbourhood *)parameters;
  const int64_t most = n->width < 100 ? n->width : 100;
  return (2 * row + 1) * most / (2 * n->rows);
}

static void bench_generate_growing(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const double half = sqrt((double)nnz / 2); /* of the longest row, in a triangle */
  neighbourhood n;
  neighbourhood_size(m, &n, nnz, half < 49.5 ? half : 49.5, 20000, seed);
  bench_build_lengths(m, growing_length, neighbourhood_fill, &n);
}

/* ---- log-normal: rows of 25 on average whose logarithms are normally distributed --------- */

#define LOG_NORMAL_SIGMA 0.7

static int64_t log_normal_length(const void *parameters, int64_t row) {
  const neighbourhood *n = (const neighbourhood *)parameters;
  const double u = bench_uniform(n->lengths, (uint64_t)(2 * row));
  const double v = bench_uniform(n->lengths, (uint64_t)(2 * row + 1));
  const double normal = sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
  const double mean = log(25) - LOG_NORMAL_SIGMA * LOG_NORMAL_SIGMA / 2;
  const int64_t wish = bench_whole(exp(mean + LOG_NORMAL_SIGMA * normal), 0);
  return wish < n->width ? wish : n->width;
}

static void bench_generate_log_normal(bench_matrix *m, int64_t nnz, uint64_t seed) {
  neighbourhood n;
  neighbourhood_size(m, &n, nnz, 25, 5000, seed);
  bench_build_lengths(m, log_normal_length, neighbourhood_fill, &n);
}

/* ---- small-world: a ring, each vertex joined to the next ten; one in 20 joins anywhere --- */

static int small_world_row(const void *parameters, int64_t row, int32_t *columns) {
  const neighbourhood *n = (const neighbourhood *)parameters;
  int i;
  for (i = 0; i < 10; i++) {
    const uint64_t edge = (uint64_t)(20 * row + 2 * i);
    const int64_t step = i < 5 ? i - 5 : i - 4;
    columns[i] = (int32_t)(bench_below(n->lengths, edge, 20) == 0
                               ? bench_below(n->key, edge, n->rows)
                               : (row + step + 5 * n->rows) % n->rows);
  }
  return 10;
}

static void bench_generate_small_world(bench_matrix *m, int64_t nnz, uint64_t seed) {
  neighbourhood n;
  neighbourhood_size(m, &n, nnz, 10, nnz, seed);
  bench_build_rows(m, small_world_row, &n);
}

/* ---- runs: rows of 1 to 9 runs of four neighbouring columns ------------------------------ */

static int runs_row(const void *parameters, int64_t row, int32_t *columns) {
  const neighbourhood *n = (const neighbourhood *)parameters;
  const int64_t runs = bench_draw(n->lengths, row, 1, 9), low = neighbourhood_low(n, row);
  int64_t i;
  for (i = 0; i < 4 * runs; i++) {
    const int64_t first = bench_below(n->key, (uint64_t)(9 * row + i / 4), n->width - 3);
    columns[i] = (int32_t)(low + first + i % 4);
  }
  return (int)(4 * runs);
}

static void bench_generate_runs(bench_matrix *m, int64_t nnz, uint64_t seed) {
  neighbourhood n;
  neighbourhood_size(m, &n, nnz < 80 ? 80 : nnz, 20, 20000, seed);
  bench_build_rows(m, runs_row, &n);
}

/* ---- diagonal-blocks: dense blocks of 5 to 30 rows on the diagonal, two of 35 rows ------- */

static int diagonal_blocks_row(const void *parameters, int64_t row, int32_t *columns) {
  const neighbourhood *n = (const neighbourhood *)parameters;
  const int64_t pair = row / 35, half = bench_draw(n->lengths, pair, 18, 30);
  const int64_t first = 35 * pair + (row % 35 < half ? 0 : half);
  const int64_t wish = row % 35 < half ? half : 35 - half, left = n->rows - first;
  const int64_t count = wish < left ? wish : left;
  bench_stride(first, 1, count, columns);
  return (int)count;
}

static void bench_generate_diagonal_blocks(bench_matrix *m, int64_t nnz, uint64_t seed) {
  neighbourhood n;
  neighbourhood_size(m, &n, nnz, 20.7, nnz, seed);
  bench_build_rows(m, diagonal_blocks_row, &n);
}

/* ---- holes: twelve diagonals anywhere in a band, 60% of each ----------------------------- */

static int holes_row(const void *parameters, int64_t row, int32_t *columns) {
  const neighbourhood *n = (const neighbourhood *)parameters;
  const int64_t reach = n->rows / 50 > 6 ? n->rows / 50 : 6;
  int i, count = 0;
  for (i = 0; i < 12; i++) {
    const int64_t part = (i - 6) * reach / 6, next = (i - 5) * reach / 6;
    const int64_t column = row + part + bench_below(n->key, (uint64_t)i, next - part);
    if (column >= 0 && column < n->rows &&
        bench_below(n->lengths, (uint64_t)(12 * row + i), 5) < 3) {
      columns[count++] = (int32_t)column;
    }
  }
  return count;
}

static void bench_generate_holes(bench_matrix *m, int64_t nnz, uint64_t seed) {
  neighbourhood n;
  neighbourhood_size(m, &n, nnz, 7.2, nnz, seed);
  bench_build_rows(m, holes_row, &n);
}

#endif
