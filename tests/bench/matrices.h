/* Properties of a generated matrix with ascending columns in each row. Include
 * bench/catalogue.h first. */
#ifndef TEST_BENCH_MATRICES_H
#define TEST_BENCH_MATRICES_H

static int64_t length_of(const bench_matrix *m, int64_t row) {
  return m->row_ptr[row + 1] - m->row_ptr[row];
}

static int64_t first_of(const bench_matrix *m, int64_t row) {
  return m->col_ind[m->row_ptr[row]];
}

static int64_t last_of(const bench_matrix *m, int64_t row) {
  return m->col_ind[m->row_ptr[row + 1] - 1];
}

static int64_t rows_of_length(const bench_matrix *m, int64_t least, int64_t most) {
  int64_t row, count = 0;
  for (row = 0; row < m->rows; row++) {
    count += length_of(m, row) >= least && length_of(m, row) <= most;
  }
  return count;
}

/* Returns the number of nonzeros of each column, to be freed. Sets *most to the largest. */
static int32_t *columns_of(const bench_matrix *m, int64_t *most) {
  int32_t *counts = (int32_t *)calloc((size_t)m->cols, sizeof *counts);
  int64_t k;
  assert_non_null(counts);
  *most = 0;
  for (k = 0; k < m->nnz; k++) {
    const int32_t count = ++counts[m->col_ind[k]];
    *most = count > *most ? count : *most;
  }
  return counts;
}

/* Returns the share of the nonzeros in the `top` fullest columns (at most 1,000). */
static double share_of_fullest(const bench_matrix *m, int64_t top) {
  int64_t most, c, n, sum = 0, left = top;
  int32_t *counts = columns_of(m, &most);
  int64_t *bins = (int64_t *)calloc((size_t)most + 1, sizeof *bins);
  assert_non_null(bins);
  for (c = 0; c < m->cols; c++) {
    bins[counts[c]]++;
  }
  for (n = most; n > 0 && left > 0; n--) {
    const int64_t taken = bins[n] < left ? bins[n] : left;
    sum += n * taken;
    left -= taken;
  }
  free(bins);
  free(counts);
  return (double)sum / (double)m->nnz;
}

/* Returns whether the row has a nonzero in the column. */
static int holds(const bench_matrix *m, int64_t row, int64_t column) {
  return bench_matrix_find(m, row, column) >= 0;
}

/* Returns whether each nonzero has its mirror image. */
static int symmetric(const bench_matrix *m) {
  int64_t row, k, mirrored = 0;
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      mirrored += holds(m, m->col_ind[k], row);
    }
  }
  return m->rows == m->cols && mirrored == m->nnz;
}

static void assert_near(double value, double wish, double slack) {
  if (!(fabs(value - wish) <= slack * wish)) {
    fail_msg("%g is not near %g", value, wish);
  }
}
#endif
