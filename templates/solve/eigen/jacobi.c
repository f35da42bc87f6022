#include "solve/eigen/eigen.h"

/* Eigenvalues and eigenvectors of a small dense symmetric matrix by the cyclic Jacobi method:
 * Golub, Van Loan, "Matrix Computations", section 8.5. */
#define MBI_JACOBI_SWEEPS 40

/* Computes the rotation of rows and columns p and q that makes a(p, q) zero. */
static void mbi_jacobi_angle(const double *a, int n, int p, int q, double *c, double *s) {
  const double half = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
  const double t = (half >= 0 ? 1 : -1) / (fabs(half) + sqrt(1 + half * half));
  *c = 1 / sqrt(1 + t * t);
  *s = t * *c;
}

/* Replaces (x, y) by (c x - s y, s x + c y), for n pairs `stride` apart. */
static void mbi_jacobi_rotate(double *x, double *y, int n, int stride, double c, double s) {
  int k;
  for (k = 0; k < n; k++) {
    const double old = x[k * stride];
    x[k * stride] = c * old - s * y[k * stride];
    y[k * stride] = s * old + c * y[k * stride];
  }
}

/* Runs one sweep, which rotates away off-diagonal entries above `least`. Returns their
 * number. */
static int mbi_jacobi_sweep(double *a, double *vectors, int n, double least) {
  int p, q, turned = 0;
  for (p = 0; p < n; p++) {
    for (q = p + 1; q < n; q++) {
      double c, s;
      if (fabs(a[p * n + q]) <= least) {
        continue;
      }
      mbi_jacobi_angle(a, n, p, q, &c, &s);
      mbi_jacobi_rotate(a + p * n, a + q * n, n, 1, c, s);
      mbi_jacobi_rotate(a + p, a + q, n, n, c, s);
      mbi_jacobi_rotate(vectors + p * n, vectors + q * n, n, 1, c, s);
      a[p * n + q] = a[q * n + p] = 0;
      turned++;
    }
  }
  return turned;
}

/* Diagonalises a, an n x n matrix of finite numbers. Its diagonal becomes the eigenvalues; row
 * q of `vectors` becomes the eigenvector of a(q, q). */
MBI_INTERNAL void mbi_jacobi(double *a, double *vectors, int n) {
  double most = 0;
  int i, sweep;
  for (i = 0; i < n * n; i++) {
    most = fabs(a[i]) > most ? fabs(a[i]) : most;
    vectors[i] = i % (n + 1) == 0 ? 1 : 0;
  }
  for (sweep = 0; sweep < MBI_JACOBI_SWEEPS; sweep++) {
    if (mbi_jacobi_sweep(a, vectors, n, 0.25 * DBL_EPSILON * most / n) == 0) {
      break;
    }
  }
}
