/* Restarted GMRES computed independently of the library, in double: modified Gram-Schmidt, and
 * the least squares problem solved anew each time by rotations of a copy. Include after
 * solve/core/solver_reference.h. */
#ifndef TEST_SOLVE_GMRES_REFERENCE_H
#define TEST_SOLVE_GMRES_REFERENCE_H
#include "solve/core/solver_reference.h"

typedef struct arnoldi { /* columns of h have most + 1 entries */
  double *v, *h, *y;
  int most;
} arnoldi;

/* Minimises || length e_1 - H y || over `used` columns. Returns the minimum. */
static double arnoldi_least(const arnoldi *a, int used, double length) {
  const int rows = a->most + 1;
  double *h = (double *)test_allocate((size_t)rows * (size_t)used, sizeof *h);
  double *g = (double *)test_allocate(rows, sizeof *g);
  int j, k;
  double left;
  memcpy(h, a->h, (size_t)rows * (size_t)used * sizeof *h);
  for (k = 0; k < rows; k++) {
    g[k] = k == 0 ? length : 0;
  }
  for (k = 0; k < used; k++) {
    const double upper = h[k * rows + k], lower = h[k * rows + k + 1];
    const double size = hypot(upper, lower), c = upper / size, s = lower / size, old = g[k];
    for (j = k; j < used; j++) {
      const double top = h[j * rows + k], bottom = h[j * rows + k + 1];
      h[j * rows + k] = c * top + s * bottom;
      h[j * rows + k + 1] = c * bottom - s * top;
    }
    g[k] = c * old;
    g[k + 1] = -s * old;
  }
  for (k = used - 1; k >= 0; k--) {
    a->y[k] = g[k];
    for (j = k + 1; j < used; j++) {
      a->y[k] -= h[j * rows + k] * a->y[j];
    }
    a->y[k] /= h[k * rows + k];
  }
  left = fabs(g[used]);
  free(h);
  free(g);
  return left;
}

/* Computes vector `at` + 1 of the basis from A M^-1 v_at. */
static void arnoldi_extend(const arnoldi *a, krylov *k, int at) {
  const int32_t n = k->l->n;
  double *column = a->h + at * (a->most + 1), *made = a->v + (at + 1) * n;
  int32_t i;
  int j;
  for (i = 0; i < n; i++) {
    k->z[i] = k->inverse[i] * a->v[at * n + i];
  }
  krylov_multiply(k, k->z, made);
  for (j = 0; j <= at; j++) {
    column[j] = krylov_dot(k, a->v + j * n, made);
    for (i = 0; i < n; i++) {
      made[i] -= column[j] * a->v[j * n + i];
    }
  }
  column[at + 1] = sqrt(krylov_dot(k, made, made));
  for (i = 0; i < n; i++) {
    made[i] /= column[at + 1];
  }
}

/* Returns the iterations of GMRES from zero until ||r|| <= tolerance ||b||. */
TEST_UNUSED static int reference_gmres(const linear *l, int jacobi, int restart,
                                       double tolerance, int cap) {
  krylov k;
  arnoldi a;
  double goal, left;
  int32_t i;
  int iteration = 0, j;
  krylov_open(&k, l, jacobi);
  a.most = restart;
  a.v = (double *)test_allocate((size_t)(restart + 1) * (size_t)l->n, sizeof *a.v);
  a.h = (double *)test_allocate((size_t)(restart + 1) * (size_t)restart, sizeof *a.h);
  a.y = (double *)test_allocate(restart, sizeof *a.y);
  goal = tolerance * sqrt(k.bb);
  left = sqrt(k.bb);
  while (iteration < cap && left > goal) {
    const double length = sqrt(krylov_dot(&k, k.r, k.r));
    int used = 0;
    for (i = 0; i < l->n; i++) {
      a.v[i] = k.r[i] / length;
    }
    memset(a.h, 0, (size_t)(restart + 1) * (size_t)restart * sizeof *a.h);
    while (used < restart && iteration < cap && left > goal) {
      arnoldi_extend(&a, &k, used++);
      left = arnoldi_least(&a, used, length);
      iteration++;
    }
    for (i = 0; i < l->n; i++) {
      for (j = 0; j < used; j++) {
        k.x[i] += k.inverse[i] * a.y[j] * a.v[j * l->n + i];
      }
    }
    krylov_multiply(&k, k.x, k.q);
    for (i = 0; i < l->n; i++) {
      k.r[i] = l->b[i] - k.q[i];
    }
  }
  krylov_close(&k);
  free(a.v);
  free(a.h);
  free(a.y);
  return iteration;
}

#endif /* TEST_SOLVE_GMRES_REFERENCE_H */
