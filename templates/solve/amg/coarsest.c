#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* The dense inverse of the coarsest matrix of multigrid, by Gauss-Jordan elimination with
 * pivots on the diagonal. The changes by four pivots are collected, so that the matrix is read
 * and written once for all four. If it is symmetric, only entries on and right of the diagonal
 * are changed: (i, j) and (j, i) stay equal, or opposite if only one of the rows has been a
 * pivot. */

#ifdef __GNUC__
typedef double mbi_coarsest_lanes __attribute__((vector_size(16)));
#endif

typedef struct mbi_coarsest { /* represents the matrix m - u v */
  double *m, *u, *v;          /* n x n, n x 4 and 4 x n, row by row */
  double *first, *now;        /* n: the original diagonal, and the current one of m - u v */
  char *done;                 /* n: 1 if the row has been a pivot */
  int n, symmetric;
} mbi_coarsest;

/* Returns the row whose pivot is the largest relative to its original diagonal entry, or -1 if
 * no pivot that is left exceeds `least` times that entry. */
static int mbi_coarsest_pivot(const mbi_coarsest *e, double least) {
  int pivot = -1, i;
  for (i = 0; i < e->n; i++) {
    const double part = fabs(e->now[i]) / (e->first[i] != 0 ? fabs(e->first[i]) : 1);
    if (!e->done[i] && part > least) {
      least = part;
      pivot = i;
    }
  }
  return pivot;
}

/* Eliminates with pivot p: clears row and column p of m; the change of the matrix, which also
 * replaces that row and column, becomes column `at` of u times row `at` of v. */
static void mbi_coarsest_eliminate(const mbi_coarsest *e, int p, int at) {
  const double inverse = 1 / e->now[p];
  const int n = e->n;
  double *m = e->m, *u = e->u, *v = e->v;
  int i, s;
  for (i = 0; i < n; i++) {
    double column = m[i * n + p], row = m[p * n + i];
    if (e->symmetric) {
      column = i > p ? (e->done[i] ? -row : row) : column;
      row = i < p ? (e->done[i] ? -column : column) : row;
    }
    for (s = 0; s < at; s++) {
      column -= u[4 * i + s] * v[s * n + p];
      row -= u[4 * p + s] * v[s * n + i];
    }
    m[i * n + p] = m[p * n + i] = 0;
    u[4 * i + at] = column * inverse;
    v[at * n + i] = row;
    e->now[i] -= column * inverse * row;
  }
  for (s = 0; s < at; s++) {
    u[4 * p + s] = v[s * n + p] = 0;
  }
  u[4 * p + at] = -inverse;
  v[at * n + p] = 1;
  e->done[p] = 1;
}

/* Subtracts u v from m. */
static void mbi_coarsest_subtract(const mbi_coarsest *e) {
  const int n = e->n;
  const double *const v = e->v;
  int i, j;
  for (i = 0; i < n; i++) {
    const double *u = e->u + 4 * i;
    const double u0 = u[0], u1 = u[1], u2 = u[2], u3 = u[3];
    double *row = e->m + i * n;
    j = e->symmetric ? i : 0;
#ifdef __GNUC__
    for (; j + 1 < n; j += 2) {
      mbi_coarsest_lanes x, v0, v1, v2, v3;
      memcpy(&x, row + j, sizeof x);
      memcpy(&v0, v + j, sizeof x);
      memcpy(&v1, v + n + j, sizeof x);
      memcpy(&v2, v + 2 * n + j, sizeof x);
      memcpy(&v3, v + 3 * n + j, sizeof x);
      x = x - u0 * v0 - u1 * v1 - u2 * v2 - u3 * v3;
      memcpy(row + j, &x, sizeof x);
    }
#endif
    for (; j < n; j++) {
      row[j] = row[j] - u0 * v[j] - u1 * v[n + j] - u2 * v[2 * n + j] - u3 * v[3 * n + j];
    }
  }
}

/* Returns whether the matrix is symmetric up to the relative tolerance `least`. */
static int mbi_coarsest_symmetric(const double *m, int n, double least) {
  int i, j;
  for (i = 0; i < n; i++) {
    for (j = 0; j < i; j++) {
      if (!(fabs(m[i * n + j] - m[j * n + i]) <=
            least * sqrt(fabs(m[i * n + i])) * sqrt(fabs(m[j * n + j])))) {
        return 0;
      }
    }
  }
  return 1;
}

/* Replaces the n x n matrix m by its inverse. Rows and columns that depend on others, one for
 * each null vector, become zero; the result is then a generalised inverse. `scratch`: 11 n
 * elements. */
MBI_INTERNAL void mbi_coarsest_invert(double *m, double *scratch, int n, double least) {
  mbi_coarsest e;
  int i, j, at;
  e.m = m;
  e.u = scratch;
  e.v = e.u + 4 * n;
  e.first = e.v + 4 * n;
  e.now = e.first + n;
  e.done = (char *)(e.now + n);
  e.n = n;
  e.symmetric = mbi_coarsest_symmetric(m, n, least);
  for (i = 0; i < n; i++) {
    e.first[i] = e.now[i] = m[i * n + i];
    e.done[i] = 0;
  }
  do {
    memset(e.u, 0, 8 * (size_t)n * sizeof *e.u);
    for (at = 0; at < 4 && (i = mbi_coarsest_pivot(&e, least)) >= 0; at++) {
      mbi_coarsest_eliminate(&e, i, at);
    }
    mbi_coarsest_subtract(&e);
  } while (at == 4);
  for (i = 0; i < n; i++) {
    for (j = 0; j < n; j++) {
      m[i * n + j] = !e.done[i] || !e.done[j] ? 0
                     : e.symmetric && j < i   ? m[j * n + i]
                                              : m[i * n + j];
    }
  }
}

/* Sets *inverse to the inverse of `a`, as a CSR with all entries. Pivots of at most `least`
 * times the original diagonal entry count as zero. */
MBI_INTERNAL merbit_status mbi_amg_invert(merbit_context *context, const mbi_amg_csr *a,
                                          double least, mbi_amg_csr *inverse) {
  const int n = (int)a->rows;
  double *scratch;
  int i, k;
  memset(inverse, 0, sizeof *inverse);
  inverse->rows = inverse->cols = n;
  inverse->nnz = (int64_t)n * n;
  MBI_TRY(mbi_allocate_array(context, n + 1, sizeof(int32_t), "the coarsest level",
                             (void **)&inverse->row_ptr));
  MBI_TRY(mbi_allocate_array(context, inverse->nnz, sizeof(int32_t), "the coarsest level",
                             (void **)&inverse->col_ind));
  MBI_TRY(mbi_allocate_array(context, inverse->nnz, sizeof(double), "the coarsest level",
                             (void **)&inverse->values));
  MBI_TRY(mbi_allocate_array(context, 11 * (int64_t)n, sizeof(double), "the coarsest level",
                             (void **)&scratch));
  for (i = 0; i <= n; i++) {
    inverse->row_ptr[i] = i * n;
  }
  for (i = 0; i < n * n; i++) {
    inverse->col_ind[i] = i % n;
    inverse->values[i] = 0;
  }
  for (i = 0; i < n; i++) {
    for (k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
      inverse->values[i * n + a->col_ind[k]] = a->values[k];
    }
  }
  mbi_coarsest_invert(inverse->values, scratch, n, least);
  mbi_release(context, scratch);
  return MERBIT_OK;
}
