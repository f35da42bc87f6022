/* Matrices of random columns whose rows follow a law: Poisson's, or one law after the other. */
#ifndef BENCH_RANDOM_ROWS_H
#define BENCH_RANDOM_ROWS_H
#include "neighbours.h"

/* ---- random4, random60: rows after Poisson, 4 or 60 nonzeros on average ------------------ */

typedef struct random_rows {
  neighbourhood all; /* every row may have every column */
  double mean;
} random_rows;

/* Returns the number of nonzeros whose chance exceeds a uniform number: by inversion. */
static int64_t random_length(const void *parameters, int64_t row) {
  const random_rows *r = (const random_rows *)parameters;
  const double u = bench_uniform(r->all.lengths, (uint64_t)row);
  double chance = exp(-r->mean), sum = chance;
  int64_t count = 0;
  while (sum < u && count < 10 * (int64_t)r->mean) {
    count++;
    chance *= r->mean / (double)count;
    sum += chance;
  }
  return count < r->all.width ? count : r->all.width;
}

static void random_fill(const void *parameters, int64_t row, int64_t count, int32_t *columns) {
  neighbourhood_fill(&((const random_rows *)parameters)->all, row, count, columns);
}

static void random_generate(bench_matrix *m, int64_t nnz, double mean, uint64_t seed) {
  const double most = sqrt((double)nnz); /* of a dense matrix */
  random_rows r;
  r.mean = mean < most ? mean : most;
  neighbourhood_size(m, &r.all, nnz, r.mean, INT32_MAX, seed);
  bench_build_lengths(m, random_length, random_fill, &r);
}

static void bench_generate_random4(bench_matrix *m, int64_t nnz, uint64_t seed) {
  random_generate(m, nnz, 4, seed);
}

static void bench_generate_random60(bench_matrix *m, int64_t nnz, uint64_t seed) {
  random_generate(m, nnz, 60, seed);
}

/* ---- phases: a grid's rows, then rows of a band, then long random rows ------------------- */

/* Half of the rows have 5 neighbouring columns, four tenths 20 among 1,000 neighbours, and the
 * last tenth, with 60% of the nonzeros, 150 anywhere. */
static int64_t phases_length(const void *parameters, int64_t row) {
  const neighbourhood *n = (const neighbourhood *)parameters;
  const int64_t wish = row < n->rows / 2 ? 5 : row < n->rows / 10 * 9 ? 20 : 150;
  return wish < n->rows ? wish : n->rows;
}

static void phases_fill(const void *parameters, int64_t row, int64_t count, int32_t *columns) {
  neighbourhood n = *(const neighbourhood *)parameters;
  n.width = count <= 5 ? count : count <= 20 ? 1000 : n.rows;
  n.width = n.width < n.rows ? n.width : n.rows;
  neighbourhood_fill(&n, row, count, columns);
}

static void bench_generate_phases(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const double most = 0.65 * sqrt((double)nnz); /* if long rows cannot have 150 */
  neighbourhood n;
  neighbourhood_size(m, &n, nnz, most < 25.5 ? most : 25.5, INT32_MAX, seed);
  bench_build_lengths(m, phases_length, phases_fill, &n);
}
#endif
