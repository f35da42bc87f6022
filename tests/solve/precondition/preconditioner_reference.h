/* Small sparse matrices, and M^-1 of each kind as a dense matrix in long double. */
#ifndef TEST_SOLVE_PRECONDITIONER_REFERENCE_H
#define TEST_SOLVE_PRECONDITIONER_REFERENCE_H
#include "support/matrices.h"

enum { SPARSE_ROWS = 168, SPARSE_MOST = 4000 };

typedef struct sparse {
  int n, nnz;
  int32_t row_ptr[SPARSE_ROWS + 1], col_ind[SPARSE_MOST];
  double values[SPARSE_MOST];
} sparse;

/* Takes the nonzeros of a dense matrix, and its diagonal. */
static sparse sparse_take(const double *dense, int n) {
  sparse a;
  int i, j;
  memset(&a, 0, sizeof a);
  a.n = n;
  for (i = 0; i < n; i++) {
    for (j = 0; j < n; j++) {
      if (dense[i * n + j] != 0 || i == j) {
        a.col_ind[a.nnz] = j;
        a.values[a.nnz++] = dense[i * n + j];
      }
    }
    a.row_ptr[i + 1] = a.nnz;
  }
  return a;
}

static double *sparse_entry(sparse *a, int row, int column) {
  int k = a->row_ptr[row];
  while (k < a->row_ptr[row + 1] && a->col_ind[k] != column) {
    k++;
  }
  assert_true(k < a->row_ptr[row + 1]);
  return &a->values[k];
}

static double sparse_dense[SPARSE_ROWS * SPARSE_ROWS];

/* Adds a coupling of two vertices, as in a Laplacian. */
static void sparse_couple(int n, int i, int j, double size) {
  sparse_dense[i * n + j] -= size;
  sparse_dense[j * n + i] -= size;
  sparse_dense[i * n + i] += size;
  sparse_dense[j * n + j] += size;
}

/* Makes a seven-point mesh with zero boundary values; couplings in x are (1 - uneven) times as
 * strong. */
static sparse sparse_mesh(int nx, int ny, int nz, double uneven) {
  const int n = nx * ny * nz;
  int x, y, z;
  memset(sparse_dense, 0, sizeof sparse_dense);
  for (z = 0; z < nz; z++) {
    for (y = 0; y < ny; y++) {
      for (x = 0; x < nx; x++) {
        const int i = (z * ny + y) * nx + x;
        if (x > 0) {
          sparse_couple(n, i, i - 1, 1 - uneven);
        }
        if (y > 0) {
          sparse_couple(n, i, i - nx, 1);
        }
        if (z > 0) {
          sparse_couple(n, i, i - nx * ny, 1);
        }
        sparse_dense[i * n + i] +=
            (x == 0) + (x == nx - 1) + (y == 0) + (y == ny - 1) + (z == 0) + (z == nz - 1);
      }
    }
  }
  return sparse_take(sparse_dense, n);
}

/* Makes the Laplacian of a connected random graph: a ring and `more` random edges for each
 * vertex. */
static sparse sparse_laplacian(int n, int more, uint64_t seed) {
  int i, k;
  memset(sparse_dense, 0, sizeof sparse_dense);
  for (i = 0; i < n; i++) {
    sparse_couple(n, i, (i + 1) % n, 1);
    for (k = 0; k < more; k++) {
      const int j = (int)test_below(&seed, n);
      if (j != i) {
        sparse_couple(n, i, j, 0.1 + fabs(test_uniform(&seed)));
      }
    }
  }
  return sparse_take(sparse_dense, n);
}

/* Makes a random symmetric positive definite matrix with diagonal entries of different
 * sizes. */
static sparse sparse_random(int n, int more, uint64_t seed) {
  int i, j;
  (void)sparse_laplacian(n, more, seed);
  for (i = 0; i < n; i++) {
    sparse_dense[i * n + i] += 0.3;
  }
  for (i = 0; i < n; i++) {
    const double size = 0.5 + (i % 5), sign = i % 3 == 0 ? -1 : 1;
    for (j = 0; j < n; j++) {
      sparse_dense[i * n + j] *= size * sign;
      sparse_dense[j * n + i] *= size * sign;
    }
  }
  return sparse_take(sparse_dense, n);
}

/* Makes a diagonal with a full last row and column of different sizes. */
static sparse sparse_arrow(int n) {
  int i;
  memset(sparse_dense, 0, sizeof sparse_dense);
  for (i = 0; i < n - 1; i++) {
    const double size = 0.01 + 0.001 * (double)(i * 37 % n);
    sparse_dense[i * n + i] = 1 + i % 4;
    sparse_dense[i * n + n - 1] = sparse_dense[(n - 1) * n + i] = i % 2 ? size : -size;
  }
  sparse_dense[n * n - 1] = 7;
  return sparse_take(sparse_dense, n);
}

static void sparse_expand(const sparse *a, long double *dense) {
  int i, k;
  memset(dense, 0, (size_t)(a->n * a->n) * sizeof *dense);
  for (i = 0; i < a->n; i++) {
    for (k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
      dense[i * a->n + a->col_ind[k]] += (long double)a->values[k];
    }
  }
}

/* Returns ||b - A x|| / ||b||. */
static double sparse_residual(const sparse *a, const double *b, const double *x) {
  long double rest = 0, size = 0;
  int i, k;
  for (i = 0; i < a->n; i++) {
    long double r = (long double)b[i];
    for (k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
      r -= (long double)a->values[k] * (long double)x[a->col_ind[k]];
    }
    rest += r * r;
    size += (long double)b[i] * (long double)b[i];
  }
  return (double)sqrtl(rest / size);
}

/* Solves a X = B for an n x n matrix a and n x m right-hand sides by Gauss-Jordan elimination
 * with pivots. Overwrites a; b becomes X. */
static void dense_solve(long double *a, int n, long double *b, int m) {
  int i, j, k;
  for (k = 0; k < n; k++) {
    int pivot = k;
    for (i = k + 1; i < n; i++) {
      pivot = fabsl(a[i * n + k]) > fabsl(a[pivot * n + k]) ? i : pivot;
    }
    for (j = 0; j < n + m; j++) {
      long double *row = j < n ? &a[k * n + j] : &b[k * m + j - n];
      long double *other = j < n ? &a[pivot * n + j] : &b[pivot * m + j - n];
      const long double kept = *row;
      *row = *other;
      *other = kept;
    }
    for (i = 0; i < n; i++) {
      const long double factor = i != k ? a[i * n + k] / a[k * n + k] : 0;
      for (j = k; j < n && factor != 0; j++) {
        a[i * n + j] -= factor * a[k * n + j];
      }
      for (j = 0; j < m && factor != 0; j++) {
        b[i * m + j] -= factor * b[k * m + j];
      }
    }
  }
  for (i = 0; i < n * m; i++) {
    b[i] /= a[i / m * n + i / m];
  }
}

static long double reference_a[SPARSE_ROWS * SPARSE_ROWS];

/* Computes the inverses of the diagonal blocks of `size` rows. */
static void reference_blocks(const sparse *a, int size, long double *inverse) {
  static long double block[SPARSE_ROWS * SPARSE_ROWS], answer[SPARSE_ROWS * SPARSE_ROWS];
  const int n = a->n;
  int first, i;
  sparse_expand(a, reference_a);
  memset(inverse, 0, (size_t)(n * n) * sizeof *inverse);
  for (first = 0; first < n; first += size) {
    const int rows = n - first < size ? n - first : size;
    for (i = 0; i < rows * rows; i++) {
      block[i] = reference_a[(first + i / rows) * n + first + i % rows];
      answer[i] = i / rows == i % rows;
    }
    dense_solve(block, rows, answer, rows);
    for (i = 0; i < rows * rows; i++) {
      inverse[(first + i / rows) * n + first + i % rows] = answer[i];
    }
  }
}

/* Computes M^-1 = (I - T_k((theta - D^-1 A) / delta) / T_k(theta / delta)) A^-1 with k =
 * degree + 1, by the recurrence of Chebyshev's polynomials T_k, from the columns of the
 * exact inverse. */
static void reference_chebyshev(const sparse *a, double low, double high, int degree,
                                long double *inverse) {
  const long double theta = 0.5L * ((long double)low + (long double)high);
  const long double delta = 0.5L * ((long double)high - (long double)low);
  const int n = a->n;
  int i, j, k, column;
  reference_blocks(a, n, inverse);
  for (column = 0; column < n; column++) {
    long double now[SPARSE_ROWS], last[SPARSE_ROWS], next[SPARSE_ROWS];
    long double t = 1, t_last = 0, t_next;
    for (i = 0; i < n; i++) {
      now[i] = inverse[i * n + column];
      last[i] = 0;
    }
    for (k = 0; k <= degree; k++) {
      const int twice = k == 0 ? 1 : 2;
      for (i = 0; i < n; i++) {
        long double product = 0;
        for (j = a->row_ptr[i]; j < a->row_ptr[i + 1]; j++) {
          product += (long double)a->values[j] * now[a->col_ind[j]];
        }
        next[i] = twice * (theta * now[i] - product / reference_a[i * n + i]) / delta - last[i];
      }
      memcpy(last, now, sizeof last);
      memcpy(now, next, sizeof now);
      t_next = twice * theta / delta * t - t_last;
      t_last = t;
      t = t_next;
    }
    for (i = 0; i < n; i++) {
      inverse[i * n + column] -= now[i] / t;
    }
  }
}

/* Computes M^-1 = G'G: row i of G is y / sqrt(y_i), A(J, J) y = e_i, where J are at most 64
 * places of the lower triangle: i, and those of the largest |a_ij| / sqrt(a_jj). */
static void reference_fsai(const sparse *a, long double *inverse) {
  static long double g[SPARSE_ROWS * SPARSE_ROWS], block[64 * 64];
  const int n = a->n;
  int i, j, k;
  sparse_expand(a, reference_a);
  memset(g, 0, sizeof g);
  for (i = 0; i < n; i++) {
    int places[SPARSE_ROWS], count = 0;
    long double y[64];
    for (j = 0; j < i; j++) {
      if (reference_a[i * n + j] != 0) {
        places[count++] = j;
      }
    }
    while (count > 63) {
      int least = 0;
      for (k = 1; k < count; k++) {
        const int p = places[k], q = places[least];
        if (fabsl(reference_a[i * n + p]) / sqrtl(reference_a[p * n + p]) <
            fabsl(reference_a[i * n + q]) / sqrtl(reference_a[q * n + q])) {
          least = k;
        }
      }
      for (count--, k = least; k < count; k++) {
        places[k] = places[k + 1];
      }
    }
    places[count++] = i;
    for (j = 0; j < count * count; j++) {
      block[j] = reference_a[places[j / count] * n + places[j % count]];
    }
    for (j = 0; j < count; j++) {
      y[j] = j == count - 1;
    }
    dense_solve(block, count, y, 1);
    for (j = 0; j < count; j++) {
      g[i * n + places[j]] = y[j] / sqrtl(y[count - 1]);
    }
  }
  for (i = 0; i < n; i++) {
    for (j = 0; j < n; j++) {
      long double sum = 0;
      for (k = 0; k < n; k++) {
        sum += g[k * n + i] * g[k * n + j];
      }
      inverse[i * n + j] = sum;
    }
  }
}

#endif /* TEST_SOLVE_PRECONDITIONER_REFERENCE_H */
