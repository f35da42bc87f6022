/* Properties of a generated matrix with ascending columns in each row. Include
 * bench/catalogue.h first. */
#ifndef TEST_BENCH_MATRICES_H
#define TEST_BENCH_MATRICES_H

static int64_t length_of(const bench_matrix *m, int64_t row) {
  return m->row_ptr[row + 1] - m->row_ptr[row];
}

static int64_t rows_of_length(const bench_matrix *m, int64_t least, int64_t most) {
  int64_t row, count = 0;
  for (row = 0; row < m->rows; row++) {
    count += length_of(m, row) >= least && length_of(m, row) <= most;
  }
  return count;
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
#endif
