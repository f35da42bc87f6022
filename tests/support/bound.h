/* The componentwise error bound that every product must meet, computed in long double from the
 * inputs as stored:
 *
 * |y - ref| <= gamma(k + 2) (|alpha| |A| |x| + |beta| |y0|) + (k + 2) eta
 *
 * k is the number of entries of the row, including duplicates; gamma(n) = n u / (1 - n u); u is
 * half an ulp of 1 and eta the least subnormal number (N. J. Higham, Accuracy and Stability of
 * Numerical Algorithms, section 3.1). */
#ifndef TEST_SUPPORT_BOUND_H
#define TEST_SUPPORT_BOUND_H
#include "support/matrices.h"

typedef struct bound_inputs {
  const test_matrix *m;
  int single; /* arrays of float, values rounded to float; else double */
  double alpha, beta;
  const void *x, *y0, *y;
} bound_inputs;

TEST_UNUSED static long double bound_load(const void *array, int64_t i, int single) {
  return single ? (long double)((const float *)array)[i]
                : (long double)((const double *)array)[i];
}

/* Returns whether y[row] is within the bound. NaN and Inf of the reference must be matched. */
TEST_UNUSED static int bound_row_holds(const bound_inputs *in, int64_t row, long double *ref,
                                       long double *allowed) {
  const test_matrix *m = in->m;
  long double u = in->single ? 0x1p-24L : 0x1p-53L;
  long double eta = in->single ? 0x1p-149L : 0x1p-1074L;
  long double n = (long double)(m->row_ptr[row + 1] - m->row_ptr[row] + 2);
  long double sum = 0, size = 0, y = bound_load(in->y, row, in->single);
  int64_t i;
  for (i = m->row_ptr[row]; in->alpha != 0 && i < m->row_ptr[row + 1]; i++) {
    long double value =
        in->single ? (long double)(float)m->values[i] : (long double)m->values[i];
    long double product =
        (long double)in->alpha * value * bound_load(in->x, m->col_ind[i], in->single);
    sum += product;
    size += fabsl(product);
  }
  if (in->beta != 0) {
    long double product = (long double)in->beta * bound_load(in->y0, row, in->single);
    sum += product;
    size += fabsl(product);
  }
  *ref = sum;
  *allowed = n * u / (1 - n * u) * size + n * eta;
  if (isnan(sum)) {
    return isnan(y) != 0;
  }
  if (isinf(sum)) {
    return y == sum;
  }
  return fabsl(y - sum) <= *allowed; /* false for NaN */
}

TEST_UNUSED static int bound_rows_wrong(const bound_inputs *in) {
  int wrong = 0;
  int64_t row;
  for (row = 0; row < in->m->rows; row++) {
    long double ref, allowed;
    if (bound_row_holds(in, row, &ref, &allowed)) {
      continue;
    }
    if (wrong == 0) {
      (void)fprintf(stderr,
                    "%s, %s, alpha %g, beta %g: y[%lld] is %.17Lg, not %.17Lg within %.3Lg\n",
                    in->m->name, in->single ? "f32" : "f64", in->alpha, in->beta,
                    (long long)row, bound_load(in->y, row, in->single), ref, allowed);
    }
    wrong++;
  }
  return wrong;
}

/* Returns how many rows exceed the bound, and prints the first. x, y0 and y may be NULL if they
 * are empty; y0 also if beta is 0. */
TEST_UNUSED static int bound_rows_wrong_f64(const test_matrix *m, double alpha, const double *x,
                                            double beta, const double *y0, const double *y) {
  bound_inputs in;
  in.m = m;
  in.single = 0;
  in.alpha = alpha;
  in.beta = beta;
  in.x = x;
  in.y0 = y0;
  in.y = y;
  return bound_rows_wrong(&in);
}

TEST_UNUSED static int bound_rows_wrong_f32(const test_matrix *m, float alpha, const float *x,
                                            float beta, const float *y0, const float *y) {
  bound_inputs in;
  in.m = m;
  in.single = 1;
  in.alpha = (double)alpha;
  in.beta = (double)beta;
  in.x = x;
  in.y0 = y0;
  in.y = y;
  return bound_rows_wrong(&in);
}

#endif /* TEST_SUPPORT_BOUND_H */
