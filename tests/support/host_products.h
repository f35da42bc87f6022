/* Products on host arrays, straight through an internal function, held to the componentwise
 * bound. Include merbit.h, cmocka.h and support/products.h first. */
#ifndef TEST_SUPPORT_HOST_PRODUCTS_H
#define TEST_SUPPORT_HOST_PRODUCTS_H
#include "support/bound.h"

typedef void (*host_multiply)(void *user, const merbit_view *csr, const void *values,
                              const void *alpha, const void *x, const void *beta, void *y);

static const double host_scalars[] = {0, 1, -1, 0.5};

typedef struct host_case { /* one matrix in one form, and vectors of its type */
  test_matrix m;
  products_form form;
  products_arrays a;
  void *x, *y0, *y;
} host_case;

TEST_UNUSED static void host_set(void *array, int64_t i, double value, merbit_type type) {
  if (type == MERBIT_F32) {
    ((float *)array)[i] = (float)value;
  } else {
    ((double *)array)[i] = value;
  }
}

/* Bits of `bits`: 64-bit offsets, base 1, f32, pattern. */
TEST_UNUSED static void host_case_make(int index, int bits, host_case *c) {
  uint64_t random = 17;
  int64_t i;
  size_t size;
  memset(c, 0, sizeof *c);
  test_matrix_make(index, 4, &c->m);
  c->form.offset_type = bits & 1 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  c->form.base = (bits >> 1) & 1;
  c->form.type = bits & 4 ? MERBIT_F32 : MERBIT_F64;
  c->form.pattern = (bits >> 3) & 1;
  for (i = 0; c->form.pattern && i < c->m.nnz; i++) {
    c->m.values[i] = 1;
  }
  products_arrays_make(NULL, &c->m, &c->form, &c->a);
  size = c->form.type == MERBIT_F32 ? 4 : 8;
  c->x = malloc((size_t)c->m.cols * size + 1); /* no slack: AddressSanitizer looks on */
  c->y = malloc((size_t)c->m.rows * size + 1);
  c->y0 = malloc((size_t)c->m.rows * size + 1);
  for (i = 0; i < c->m.cols; i++) {
    host_set(c->x, i, test_uniform(&random), c->form.type);
  }
  for (i = 0; i < c->m.rows; i++) {
    host_set(c->y0, i, test_uniform(&random), c->form.type);
  }
}

TEST_UNUSED static void host_case_free(host_case *c) {
  products_arrays_free(&c->a);
  test_matrix_free(&c->m);
  free(c->x);
  free(c->y0);
  free(c->y);
}

/* One product; y holds y0, or NaN where beta is 0. Fails the test on any row outside the bound.
 */
TEST_UNUSED static void host_product(host_case *c, double alpha, double beta,
                                     host_multiply multiply, void *user) {
  const int single = c->form.type == MERBIT_F32;
  const size_t size = single ? 4 : 8;
  double alpha_bytes, beta_bytes;
  int64_t i;
  int wrong;
  host_set(&alpha_bytes, 0, alpha, c->form.type);
  host_set(&beta_bytes, 0, beta, c->form.type);
  memcpy(c->y, c->y0, (size_t)c->m.rows * size);
  for (i = 0; beta == 0 && i < c->m.rows; i++) {
    host_set(c->y, i, (double)NAN, c->form.type);
  }
  multiply(user, &c->a.view, c->a.view.values, &alpha_bytes, c->x, &beta_bytes, c->y);
  wrong = single ? bound_rows_wrong_f32(&c->m, (float)alpha, (const float *)c->x, (float)beta,
                                        (const float *)c->y0, (const float *)c->y)
                 : bound_rows_wrong_f64(&c->m, alpha, (const double *)c->x, beta,
                                        (const double *)c->y0, (const double *)c->y);
  if (wrong != 0) {
    fail_msg("%s: %d rows outside the bound (offsets %d, base %d)", c->m.name, wrong,
             (int)c->form.offset_type, c->form.base);
  }
}

/* Inf, -Inf and NaN in a few entries of x: they must reach the rows that have those columns,
 * and no other. */
TEST_UNUSED static void host_spoil_x(host_case *c, uint64_t seed) {
  static const double bad[] = {INFINITY, -INFINITY, NAN};
  uint64_t random = seed;
  int i;
  for (i = 0; i < 3 && c->m.cols > 0; i++) {
    host_set(c->x, test_below(&random, c->m.cols), bad[i], c->form.type);
  }
}

#endif /* TEST_SUPPORT_HOST_PRODUCTS_H */
