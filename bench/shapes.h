/* Matrices from data and simple shapes: ratings, features, layers, bands, arrows. */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H
#include "builders.h"
#include <math.h>

typedef struct shape_of_rows { /* parameters of this file's functions */
  int64_t rows, cols;
  double length; /* of a row */
  uint64_t lengths, key;
  int bits; /* for the labels of columns */
} shape_of_rows;

static void shape_size(bench_matrix *m, shape_of_rows *s, double rows, double cols,
                       uint64_t seed) {
  memset(s, 0, sizeof *s);
  s->rows = m->rows = bench_whole(rows, 1);
  s->cols = m->cols = bench_whole(cols, 1);
  s->lengths = bench_key(seed, 57);
  s->key = bench_key(seed, 58);
}

/* Returns a row's length: `wish`, but at most the number of columns. */
static int64_t shape_length(const shape_of_rows *s, int64_t wish) {
  return wish < s->cols ? wish : s->cols;
}

/* Fills a row with random columns. */
static void anywhere_fill(const void *parameters, int64_t row, int64_t count,
                          int32_t *columns) {
  const shape_of_rows *s = (const shape_of_rows *)parameters;
  bench_spread(s->key, row, count, 0, s->cols, columns);
}

/* Returns the common length of all rows. */
static int64_t equal_length(const void *parameters, int64_t row) {
  const shape_of_rows *s = (const shape_of_rows *)parameters;
  (void)row;
  return shape_length(s, bench_whole(s->length, 1));
}

/* ---- random-band: nnz / 24 rows of 1 to 47, columns in a band of 2,000 ------------------- */

#define BAND_WIDTH 2000

static int64_t band_length(const void *parameters, int64_t row) {
  const shape_of_rows *s = (const shape_of_rows *)parameters;
  return shape_length(s, bench_draw(s->lengths, row, 1, 47));
}

/* Fills a row. The band keeps its width at both ends. */
static void band_fill(const void *parameters, int64_t row, int64_t count, int32_t *columns) {
  const shape_of_rows *s = (const shape_of_rows *)parameters;
  const int64_t width = s->cols < BAND_WIDTH ? s->cols : BAND_WIDTH;
  int64_t low = row - width / 2;
  low = low < 0 ? 0 : low > s->cols - width ? s->cols - width : low;
  bench_spread(s->key, row, count, low, low + width, columns);
}

static void bench_generate_random_band(bench_matrix *m, int64_t nnz, uint64_t seed) {
  shape_of_rows s;
  shape_size(m, &s, (double)nnz / 24, (double)nnz / 24, seed);
  bench_build_lengths(m, band_length, band_fill, &s);
}

/* ---- near-dense: a square, 94 to 100% of each row, about 97% in all ---------------------- */

static int64_t near_dense_length(const void *parameters, int64_t row) {
  const shape_of_rows *s = (const shape_of_rows *)parameters;
  return bench_draw(s->lengths, row, s->cols - s->cols / 16, s->cols);
}

static void bench_generate_near_dense(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const double side = sqrt((double)nnz / 0.96875);
  shape_of_rows s;
  shape_size(m, &s, side, side, seed);
  bench_build_lengths(m, near_dense_length, anywhere_fill, &s);
}

/* ---- hypersparse: one of every 20 rows has nonzeros, 5 on average ------------------------ */

/* Square, with four rows per nonzero, but at most 2^27 rows, in which case rows are longer. */
#define HYPER_GROUP 20
#define HYPER_ROWS 134217728

static int64_t hypersparse_length(const void *parameters, int64_t row) {
  const shape_of_rows *s = (const shape_of_rows *)parameters;
  const int64_t group = row / HYPER_GROUP, most = (int64_t)(2 * s->length + 0.5) - 1;
  return bench_below(s->key, (uint64_t)group, HYPER_GROUP) == row % HYPER_GROUP
             ? shape_length(s, bench_draw(s->lengths, row, 1, most))
             : 0;
}

static void bench_generate_hypersparse(bench_matrix *m, int64_t nnz, uint64_t seed) {
  int64_t groups = bench_whole((double)nnz / 5, 1);
  shape_of_rows s;
  groups = groups < HYPER_ROWS / HYPER_GROUP ? groups : HYPER_ROWS / HYPER_GROUP;
  shape_size(m, &s, (double)(groups * HYPER_GROUP), (double)(groups * HYPER_GROUP), seed);
  s.length = (double)nnz / (double)groups;
  bench_build_lengths(m, hypersparse_length, anywhere_fill, &s);
}

/* ---- alternating: rows of 1 and of 1,000, 60,000 columns --------------------------------- */

static int64_t alternating_length(const void *parameters, int64_t row) {
  const shape_of_rows *s = (const shape_of_rows *)parameters;
  return row % 2 == 0 ? 1 : (int64_t)s->length;
}

static void bench_generate_alternating(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const double most = nnz > 1000 ? 1000 : nnz > 2 ? (double)nnz - 1 : 1;
  const int64_t pairs = bench_whole((double)nnz / (1 + most), 1);
  shape_of_rows s;
  shape_size(m, &s, 2 * (double)pairs, 60000, seed);
  s.length = most;
  bench_build_lengths(m, alternating_length, anywhere_fill, &s);
}

/* ---- long-rows, features, tall, wide: all rows have the same length ---------------------- */

/* Generates "long-rows": for 50M nonzeros 4,000 rows of 12,500 over 6.2M columns. */
static void bench_generate_long_rows(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const double rows = sqrt((double)nnz / 3.125);
  shape_of_rows s;
  shape_size(m, &s, rows, 1550 * rows, seed);
  s.length = (double)nnz / (double)s.rows;
  bench_build_lengths(m, equal_length, anywhere_fill, &s);
}

/* Generates "features": for 30M nonzeros 60,000 samples with 500 of 120,000 features. */
static void bench_generate_features(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const double samples = sqrt(120 * (double)nnz);
  shape_of_rows s;
  shape_size(m, &s, samples, 2 * samples, seed);
  s.length = (double)nnz / (double)s.rows;
  bench_build_lengths(m, equal_length, anywhere_fill, &s);
}

/* Generates "tall": nnz / 10 samples with ten features each, of which there are sqrt(nnz / 10).
 * "wide" has as many rows as "tall" has columns. */
static void bench_generate_tall(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const double samples = (double)nnz / 10, features = sqrt(samples);
  shape_of_rows s;
  shape_size(m, &s, samples, features > 10 ? features : 10, seed);
  s.length = 10;
  bench_build_lengths(m, equal_length, anywhere_fill, &s);
}

static void bench_generate_wide(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const double samples = (double)nnz / 10;
  shape_of_rows s;
  shape_size(m, &s, samples > 100 ? sqrt(samples) : 10, samples, seed);
  s.length = (double)nnz / (double)s.rows;
  bench_build_lengths(m, equal_length, anywhere_fill, &s);
}

/* ---- pruned: a layer of a neural network, four outputs per input ------------------------- */

/* Returns a row's length: 5 to 15% of the weights are left, a tenth in all. */
static int64_t pruned_length(const void *parameters, int64_t row) {
  const shape_of_rows *s = (const shape_of_rows *)parameters;
  const double share = 0.05 + 0.1 * bench_uniform(s->lengths, (uint64_t)row);
  return bench_whole(share * (double)s->cols, 1);
}

static void bench_generate_pruned(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const double inputs = sqrt((double)nnz / 0.4);
  shape_of_rows s;
  shape_size(m, &s, 4 * inputs, inputs, seed);
  bench_build_lengths(m, pruned_length, anywhere_fill, &s);
}

/* ---- arrow: the diagonal, the last row and the last column ------------------------------- */

static int64_t arrow_length(const void *parameters, int64_t row) {
  const int64_t last = ((const shape_of_rows *)parameters)->rows - 1;
  return row < last ? 2 : last + 1;
}

static void arrow_fill(const void *parameters, int64_t row, int64_t count, int32_t *columns) {
  const int64_t last = ((const shape_of_rows *)parameters)->rows - 1;
  bench_stride(row < last ? row : 0, row < last ? last - row : 1, count, columns);
}

static void bench_generate_arrow(bench_matrix *m, int64_t nnz, uint64_t seed) {
  shape_of_rows s;
  shape_size(m, &s, ((double)nnz + 2) / 3, ((double)nnz + 2) / 3, seed);
  bench_build_lengths(m, arrow_length, arrow_fill, &s);
}

/* ---- user-item --------------------------------------------------------------------------- */

/* nnz / 11.5 users who rated nnz / 6.6 items. The n-th longest of N rows has a length in
 * proportion to sqrt(N / n), up to BENCH_ROW_MOST. Items follow Zipf's law: an octave of the
 * ranks is chosen at random, then one of its items. Their labels are permuted at random.
 * Duplicates are dropped; the least length is raised to make up for them. */
static int user_item_row(const void *parameters, int64_t row, int32_t *columns) {
  const shape_of_rows *s = (const shape_of_rows *)parameters;
  const uint64_t own = bench_random(s->key, (uint64_t)row);
  const double wish = s->length / sqrt(1.0 - bench_uniform(s->lengths, (uint64_t)row));
  const int count = (int)(wish < BENCH_ROW_MOST ? wish : BENCH_ROW_MOST);
  int i;
  for (i = 0; i < count; i++) {
    const int64_t octave = (int64_t)1 << bench_below(own, 2 * (uint64_t)i, s->bits);
    const int64_t rank = octave - 1 + bench_below(own, 2 * (uint64_t)i + 1, octave);
    columns[i] = (int32_t)bench_permute_below(s->key, s->bits, s->cols, rank % s->cols);
  }
  return count;
}

static void bench_generate_user_item(bench_matrix *m, int64_t nnz, uint64_t seed) {
  int round;
  shape_of_rows s;
  shape_size(m, &s, (double)nnz / 11.46, (double)nnz / 6.587, seed);
  s.bits = bench_bits(s.cols);
  s.length = 6;
  for (round = 0; round < 6; round++) {
    const double mean = bench_mean_length(m, user_item_row, &s);
    s.length *= (double)nnz / (double)s.rows / (mean > 1 ? mean : 1);
    s.length = s.length < 1 ? 1 : s.length > 100 ? 100 : s.length;
  }
  bench_build_rows(m, user_item_row, &s);
}

/* ---- preferential ------------------------------------------------------------------------ */

/* Symmetric, by preferential attachment (A.-L. Barabasi, R. Albert, Science 286, 1999): each of
 * nnz / 16 vertices joins eight earlier ones. Each of them is a random end of an earlier edge,
 * which prefers vertices that many have joined. The choice is a function of the edge alone (P.
 * Sanders, C. Schulz, Information Processing Letters 116, 2016). Labels are in order of age. */
#define PREFERENTIAL_EDGES 8

static void preferential_edge(const void *parameters, int64_t edge, int32_t *row,
                              int32_t *column) {
  const uint64_t key = *(const uint64_t *)parameters;
  int64_t end = 2 * edge + 1; /* edge e begins at end 2 e; its other end is 2 e + 1 */
  while (end % 2 != 0) {
    end = bench_below(key, (uint64_t)end, end);
  }
  *row = (int32_t)(edge / PREFERENTIAL_EDGES);
  *column = (int32_t)(end / 2 / PREFERENTIAL_EDGES);
}

static void bench_generate_preferential(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const int64_t edges = bench_whole((double)nnz / 2, 1);
  const uint64_t key = bench_key(seed, 59);
  m->rows = m->cols = (edges + PREFERENTIAL_EDGES - 1) / PREFERENTIAL_EDGES;
  bench_build_edges(m, preferential_edge, &key, edges, 1);
}

#endif
