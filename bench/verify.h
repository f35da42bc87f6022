/* One matrix in one precision, its vectors, its product in long double, and comparisons. */
#ifndef BENCH_VERIFY_H
#define BENCH_VERIFY_H
#include "matrix.h"
#include <math.h>

typedef struct bench_problem {
  const bench_matrix *m;
  int single;  /* 1: f32; 0: f64 */
  size_t size; /* bytes of an element */
  void *values, *x, *y0;
  long double *sum;  /* A x of the inputs as stored */
  double *magnitude; /* |A| |x| */
} bench_problem;

static inline double bench_element(const void *array, int64_t i, int single) {
  return single ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static inline void bench_element_set(void *array, int64_t i, int single, double value) {
  if (single) {
    ((float *)array)[i] = (float)value;
  } else {
    ((double *)array)[i] = value;
  }
}

/* Returns a random vector with elements in [-1, 1). */
static void *bench_random_vector(int64_t count, int single, uint64_t key) {
  void *vector = bench_allocate(count, single ? sizeof(float) : sizeof(double));
  int64_t i;
  BENCH_OMP(parallel for schedule(static))
  for (i = 0; i < count; i++) {
    bench_element_set(vector, i, single, 2.0 * bench_uniform(key, (uint64_t)i) - 1.0);
  }
  return vector;
}

/* Computes the sums for the current x. */
static void bench_reference(bench_problem *p) {
  const bench_matrix *m = p->m;
  int64_t row;
  BENCH_OMP(parallel for schedule(dynamic, 512))
  for (row = 0; row < m->rows; row++) {
    long double sum = 0, magnitude = 0;
    int64_t k;
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      const long double product = (long double)bench_element(p->values, k, p->single) *
                                  bench_element(p->x, m->col_ind[k], p->single);
      sum += product;
      magnitude += fabsl(product);
    }
    p->sum[row] = sum;
    p->magnitude[row] = (double)magnitude * (1.0 + 0x1p-52); /* scaled up, so that rounding
                                                              * cannot make it smaller */
  }
}

static void bench_problem_create(bench_problem *p, const bench_matrix *m, int single) {
  int64_t k;
  p->m = m;
  p->single = single;
  p->size = single ? sizeof(float) : sizeof(double);
  p->values = bench_allocate(m->nnz, p->size);
  BENCH_OMP(parallel for schedule(static))
  for (k = 0; k < m->nnz; k++) {
    bench_element_set(p->values, k, single, m->values[k]);
  }
  p->x = bench_random_vector(m->cols, single, bench_key(1, 20));
  p->y0 = bench_random_vector(m->rows, single, bench_key(1, 21));
  p->sum = (long double *)bench_allocate(m->rows, sizeof *p->sum);
  p->magnitude = (double *)bench_allocate(m->rows, sizeof *p->magnitude);
  bench_reference(p);
}

static void bench_problem_free(bench_problem *p) {
  free(p->values);
  free(p->x);
  free(p->y0);
  free(p->sum);
  free(p->magnitude);
  memset(p, 0, sizeof *p);
}

/* Returns the allowed error of a row with k nonzeros: |y - ref| <= gamma(n) (|alpha| |A| |x| +
 * |beta| |y0|) + n eta with n = k + 2. If gamma is large or undefined (n u >= 1/2, for hubs in
 * f32), 2 n u is used instead: n u bounds inner products of any length (C.-P. Jeannerod, S.
 * Rump, Improved error bounds for inner products, SIMAX 2013). */
static double bench_allowed(int64_t k, double magnitude, int single) {
  const double n = (double)k + 2.0;
  const double nu = n * (single ? 0x1p-24 : 0x1p-53);
  return (nu < 0.5 ? nu / (1.0 - nu) : 2.0 * nu) * magnitude +
         n * (single ? 0x1p-149 : 0x1p-1074);
}

typedef struct bench_verdict {
  int64_t wrong;   /* number of rows outside the bound, including NaN */
  double relative; /* relative error ||y - ref|| / ||ref||, because the bound is loose for long
                    * rows */
} bench_verdict;

/* Compares y with alpha A x + beta y0. */
static bench_verdict bench_compare(const bench_problem *p, double alpha, double beta,
                                   const void *y) {
  bench_verdict verdict;
  int64_t wrong = 0, row;
  double error = 0, norm = 0;
  BENCH_OMP(parallel for schedule(static) reduction(+ : wrong, error, norm))
  for (row = 0; row < p->m->rows; row++) {
    const double y0 = beta != 0 ? bench_element(p->y0, row, p->single) : 0;
    const long double reference = alpha * p->sum[row] + (long double)beta * y0;
    const double magnitude = fabs(alpha) * p->magnitude[row] + fabs(beta * y0);
    const double off = (double)fabsl(bench_element(y, row, p->single) - reference);
    wrong += !(off <= bench_allowed(p->m->row_ptr[row + 1] - p->m->row_ptr[row], magnitude,
                                    p->single));
    error += off * off;
    norm += (double)(reference * reference);
  }
  verdict.wrong = wrong;
  verdict.relative = norm > 0 ? sqrt(error / norm) : error;
  return verdict;
}

/* Returns whether a verdict is good. NaN fails. */
static int bench_verdict_good(const bench_problem *p, bench_verdict verdict) {
  return verdict.wrong == 0 && verdict.relative < (p->single ? 1e-4 : 1e-12);
}

#endif
