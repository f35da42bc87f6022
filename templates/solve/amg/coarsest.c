#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* Multigrid: the dense inverse of the coarsest matrix, by Gauss-Jordan elimination with pivots
 * on the diagonal, which keeps a symmetric matrix symmetric. */

/* Returns the row whose pivot is the largest part of its diagonal entry, or -1 if all that are
 * left are at most `least` of it. */
static int mbi_coarsest_pivot(const double *m, const double *diagonal, const char *done, int n,
                              double least) {
  int pivot = -1, i;
  for (i = 0; i < n; i++) {
    const double part = fabs(m[i * n + i]) / (diagonal[i] != 0 ? fabs(diagonal[i]) : 1);
    if (!done[i] && part > least) {
      least = part;
      pivot = i;
    }
  }
  return pivot;
}

/* Replaces the n x n matrix m by its inverse. Rows and columns that depend on others, as one
 * does for each null vector, become zero: the result is then a generalised inverse. `diagonal`
 * and `done` have n elements of scratch. */
MBI_INTERNAL void mbi_coarsest_invert(double *m, double *diagonal, char *done, int n,
                                      double least) {
  int i, j, p;
  for (i = 0; i < n; i++) {
    diagonal[i] = m[i * n + i];
    done[i] = 0;
  }
  while ((p = mbi_coarsest_pivot(m, diagonal, done, n, least)) >= 0) {
    const double inverse = 1 / m[p * n + p];
    done[p] = 1;
    m[p * n + p] = 0; /* so that column p stays */
    for (i = 0; i < n; i++) {
      const double factor = m[i * n + p] * inverse;
      for (j = 0; i != p && factor != 0 && j < n; j++) {
        m[i * n + j] -= factor * m[p * n + j];
      }
    }
    for (i = 0; i < n; i++) {
      m[i * n + p] *= -inverse;
      m[p * n + i] *= i != p ? inverse : 0;
    }
    m[p * n + p] = inverse;
  }
  for (i = 0; i < n; i++) {
    for (j = 0; j < n; j++) {
      m[i * n + j] = done[i] && done[j] ? m[i * n + j] : 0;
    }
  }
}

/* Sets *inverse to the inverse of `a` as a CSR that has all entries. Pivots of which
 * elimination leaves no more than `least` count as zero. */
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
  MBI_TRY(mbi_allocate_array(context, 2 * (int64_t)n, sizeof(double), "the coarsest level",
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
  mbi_coarsest_invert(inverse->values, scratch, (char *)(scratch + n), n, least);
  mbi_release(context, scratch);
  return MERBIT_OK;
}
