/* CG and BiCGSTAB computed independently of the library, and systems for comparisons. Include
 * after merbit.h and cmocka.h. */
#ifndef TEST_SOLVE_SOLVER_REFERENCE_H
#define TEST_SOLVE_SOLVER_REFERENCE_H
#include "support/matrices.h"

typedef long double wide;

typedef struct linear { /* A x = b with a square CSR and a known solution */
  int32_t n, nnz;
  int32_t *row_ptr, *col_ind;
  double *values, *b, *answer;
} linear;

TEST_UNUSED static void linear_free(linear *l) {
  free(l->row_ptr);
  free(l->col_ind);
  free(l->values);
  free(l->b);
  free(l->answer);
}

static wide linear_row(const linear *l, const wide *x, int32_t row) {
  wide sum = 0;
  int32_t k;
  for (k = l->row_ptr[row]; k < l->row_ptr[row + 1]; k++) {
    sum += (wide)l->values[k] * x[l->col_ind[k]];
  }
  return sum;
}

/* Computes b from the solution. */
TEST_UNUSED static void linear_set_b(linear *l) {
  wide *x = (wide *)test_allocate(l->n, sizeof *x);
  int32_t i;
  for (i = 0; i < l->n; i++) {
    x[i] = (wide)l->answer[i];
  }
  for (i = 0; i < l->n; i++) {
    l->b[i] = (double)linear_row(l, x, i);
  }
  free(x);
}

static void linear_put(linear *l, int32_t col, double value) {
  l->col_ind[l->nnz] = col;
  l->values[l->nnz++] = value;
}

/* Makes the five-point stencil on side x side points. `wind` makes it nonsymmetric; `spread`
 * scales rows and columns by up to that factor, which a diagonal preconditioner undoes; `shift`
 * is subtracted from the diagonal. */
TEST_UNUSED static linear linear_grid(int32_t side, double wind, double spread, double shift) {
  linear l;
  uint64_t seed = 5;
  double *scale = (double *)test_allocate(side * side, sizeof *scale);
  int32_t i, j, k;
  memset(&l, 0, sizeof l);
  l.n = side * side;
  l.row_ptr = (int32_t *)test_allocate(l.n + 1, sizeof *l.row_ptr);
  l.col_ind = (int32_t *)test_allocate(5 * l.n, sizeof *l.col_ind);
  l.values = (double *)test_allocate(5 * l.n, sizeof *l.values);
  l.b = (double *)test_allocate(l.n, sizeof *l.b);
  l.answer = (double *)test_allocate(l.n, sizeof *l.answer);
  for (i = 0; i < l.n; i++) {
    l.answer[i] = test_uniform(&seed);
    scale[i] = pow(spread, test_uniform(&seed));
  }
  for (i = 0; i < side; i++) {
    for (j = 0; j < side; j++) {
      const int32_t row = i * side + j;
      const int32_t at[5] = {row - side, row - 1, row, row + 1, row + side};
      const double value[5] = {-1 - wind, -1 - wind, 4 - shift, -1 + wind, -1 + wind};
      const int there[5] = {i > 0, j > 0, 1, j < side - 1, i < side - 1};
      for (k = 0; k < 5; k++) {
        if (there[k]) {
          linear_put(&l, at[k], value[k] * scale[row] * scale[at[k]]);
        }
      }
      l.row_ptr[row + 1] = l.nnz;
    }
  }
  free(scale);
  linear_set_b(&l);
  return l;
}

/* Returns ||b - A x|| / ||b||. */
TEST_UNUSED static double linear_residual(const linear *l, const void *x, int single) {
  wide *wide_x = (wide *)test_allocate(l->n, sizeof *wide_x), rr = 0, bb = 0;
  int32_t i;
  for (i = 0; i < l->n; i++) {
    wide_x[i] = single ? (wide)((const float *)x)[i] : (wide)((const double *)x)[i];
  }
  for (i = 0; i < l->n; i++) {
    const wide r = (wide)l->b[i] - linear_row(l, wide_x, i);
    rr += r * r;
    bb += (wide)l->b[i] * (wide)l->b[i];
  }
  free(wide_x);
  return (double)sqrtl(rr / bb);
}

/* The vectors of both methods, in double like the library's: with more digits CG takes fewer
 * iterations (n in exact arithmetic), and long double has 113 bits on aarch64. */
typedef struct krylov {
  const linear *l;
  double *inverse, *x, *r, *p, *q, *z, *s, *t, *shadow;
  double bb;
} krylov;

static double krylov_dot(const krylov *k, const double *a, const double *b) {
  double sum = 0;
  int32_t i;
  for (i = 0; i < k->l->n; i++) {
    sum += a[i] * b[i];
  }
  return sum;
}

static void krylov_multiply(const krylov *k, const double *x, double *y) {
  const linear *l = k->l;
  int32_t i, j;
  for (i = 0; i < l->n; i++) {
    y[i] = 0;
    for (j = l->row_ptr[i]; j < l->row_ptr[i + 1]; j++) {
      y[i] += l->values[j] * x[l->col_ind[j]];
    }
  }
}

static void krylov_open(krylov *k, const linear *l, int jacobi) {
  double **vectors[] = {&k->inverse, &k->x, &k->r, &k->p,     &k->q,
                        &k->z,       &k->s, &k->t, &k->shadow};
  size_t v;
  int32_t i, j;
  k->l = l;
  for (v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
    *vectors[v] = (double *)test_allocate(l->n, sizeof(double));
  }
  for (i = 0; i < l->n; i++) {
    k->inverse[i] = 1;
    for (j = l->row_ptr[i]; j < l->row_ptr[i + 1] && jacobi; j++) {
      k->inverse[i] = l->col_ind[j] == i ? 1 / l->values[j] : k->inverse[i];
    }
    k->r[i] = l->b[i];
  }
  k->bb = krylov_dot(k, k->r, k->r);
}

static void krylov_close(krylov *k) {
  double *vectors[] = {k->inverse, k->x, k->r, k->p, k->q, k->z, k->s, k->t, k->shadow};
  size_t v;
  for (v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
    free(vectors[v]);
  }
}

/* Returns the iterations of CG from zero until ||r|| <= tolerance ||b||. */
TEST_UNUSED static int reference_cg(const linear *l, int jacobi, double tolerance, int cap) {
  krylov k;
  double rz, beta;
  int32_t i;
  int iteration = 0;
  krylov_open(&k, l, jacobi);
  for (i = 0; i < l->n; i++) {
    k.p[i] = k.z[i] = k.inverse[i] * k.r[i];
  }
  rz = krylov_dot(&k, k.r, k.z);
  while (iteration < cap && krylov_dot(&k, k.r, k.r) > tolerance * tolerance * k.bb) {
    double alpha;
    krylov_multiply(&k, k.p, k.q);
    alpha = rz / krylov_dot(&k, k.p, k.q);
    for (i = 0; i < l->n; i++) {
      k.r[i] -= alpha * k.q[i];
      k.z[i] = k.inverse[i] * k.r[i];
    }
    beta = krylov_dot(&k, k.r, k.z) / rz;
    rz *= beta;
    for (i = 0; i < l->n; i++) {
      k.p[i] = k.z[i] + beta * k.p[i];
    }
    iteration++;
  }
  krylov_close(&k);
  return iteration;
}

/* The same for BiCGSTAB. */
TEST_UNUSED static int reference_bicgstab(const linear *l, int jacobi, double tolerance,
                                          int cap) {
  krylov k;
  double rho;
  int32_t i;
  int iteration = 0;
  krylov_open(&k, l, jacobi);
  for (i = 0; i < l->n; i++) {
    k.p[i] = k.shadow[i] = k.r[i];
  }
  rho = krylov_dot(&k, k.shadow, k.r);
  while (iteration < cap && krylov_dot(&k, k.r, k.r) > tolerance * tolerance * k.bb) {
    double alpha, omega, next;
    for (i = 0; i < l->n; i++) {
      k.z[i] = k.inverse[i] * k.p[i];
    }
    krylov_multiply(&k, k.z, k.q);
    alpha = rho / krylov_dot(&k, k.shadow, k.q);
    for (i = 0; i < l->n; i++) {
      k.s[i] = k.r[i] - alpha * k.q[i];
      k.z[i] = k.inverse[i] * k.s[i];
    }
    krylov_multiply(&k, k.z, k.t);
    omega = krylov_dot(&k, k.t, k.s) / krylov_dot(&k, k.t, k.t);
    for (i = 0; i < l->n; i++) {
      k.r[i] = k.s[i] - omega * k.t[i];
    }
    next = krylov_dot(&k, k.shadow, k.r);
    for (i = 0; i < l->n; i++) {
      k.p[i] = k.r[i] + next / rho * (alpha / omega) * (k.p[i] - omega * k.q[i]);
    }
    rho = next;
    iteration++;
  }
  krylov_close(&k);
  return iteration;
}

#endif /* TEST_SOLVE_SOLVER_REFERENCE_H */
