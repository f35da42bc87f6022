/* A symmetric matrix given by its lower triangle. */
#ifndef BENCH_HALF_H
#define BENCH_HALF_H
#include "verify.h"

typedef struct bench_half { /* the arrays of a view */
  int32_t *row_ptr, *col_ind;
  void *values;
} bench_half;

static int bench_half_symmetric(const bench_problem *p) {
  const bench_matrix *m = p->m;
  int64_t row, k;
  for (row = 0; m->rows == m->cols && row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      const int64_t mirror = bench_matrix_find(m, m->col_ind[k], row);
      if (mirror < 0 ||
          memcmp((const char *)p->values + (size_t)k * p->size,
                 (const char *)p->values + (size_t)mirror * p->size, p->size) != 0) {
        return 0;
      }
    }
  }
  return m->rows == m->cols;
}

/* Returns a view of the lower triangle of a symmetric matrix, with arrays in `half`. If the
 * matrix is not symmetric, returns a view without rows. */
static merbit_view bench_half_view(const bench_problem *p, bench_half *half) {
  const bench_matrix *m = p->m;
  merbit_view view;
  int64_t row, k;
  int32_t at = 0;
  memset(half, 0, sizeof *half);
  memset(&view, 0, sizeof view);
  if (!bench_half_symmetric(p)) {
    return view;
  }
  half->row_ptr = (int32_t *)bench_allocate(m->rows + 1, sizeof(int32_t));
  half->col_ind = (int32_t *)bench_allocate(m->nnz, sizeof(int32_t));
  half->values = bench_allocate(m->nnz, p->size);
  for (row = 0; row < m->rows; row++) {
    half->row_ptr[row] = at;
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1] && m->col_ind[k] <= row; k++) {
      half->col_ind[at] = m->col_ind[k];
      memcpy((char *)half->values + (size_t)at++ * p->size,
             (const char *)p->values + (size_t)k * p->size, p->size);
    }
  }
  half->row_ptr[m->rows] = at;
  view = merbit_csr(m->rows, m->cols, at, half->row_ptr, half->col_ind, half->values);
  view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  return view;
}

static void bench_half_free(bench_half *half) {
  free(half->row_ptr);
  free(half->col_ind);
  free(half->values);
}

#endif
