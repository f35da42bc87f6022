/* Matrices for the tests of multigrid, and naive references in long double. Include
 * support/internal.h and cmocka.h first. */
#ifndef TEST_AMG_BED_H
#define TEST_AMG_BED_H
#include "solve/amg/amg.h"
#include "support/cpu.h"

/* A CSR as the steps of the set-up take it, in memory of the context. */
typedef struct bed_entry {
  int32_t row, column;
  double value;
} bed_entry;

static int bed_before(const void *a, const void *b) {
  const bed_entry *x = (const bed_entry *)a, *y = (const bed_entry *)b;
  return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                          : (x->column > y->column) - (x->column < y->column);
}

/* Makes a matrix from entries in any order; those at the same place add up. */
TEST_UNUSED static mbi_amg_csr bed_csr(merbit_context *context, int rows, int cols,
                                       bed_entry *entries, int count) {
  mbi_amg_csr csr;
  int i;
  memset(&csr, 0, sizeof csr);
  qsort(entries, (size_t)count, sizeof *entries, bed_before);
  csr.rows = rows;
  csr.cols = cols;
  csr.row_ptr = (int32_t *)mbi_allocate(context, ((size_t)rows + 1) * sizeof(int32_t));
  csr.col_ind = (int32_t *)mbi_allocate(context, (size_t)count * sizeof(int32_t));
  csr.values = (double *)mbi_allocate(context, (size_t)count * sizeof(double));
  memset(csr.row_ptr, 0, ((size_t)rows + 1) * sizeof(int32_t));
  for (i = 0; i < count; i++) {
    if (i > 0 && bed_before(&entries[i - 1], &entries[i]) == 0) {
      csr.values[csr.nnz - 1] += entries[i].value;
      continue;
    }
    csr.col_ind[csr.nnz] = entries[i].column;
    csr.values[csr.nnz++] = entries[i].value;
    csr.row_ptr[entries[i].row + 1]++;
  }
  for (i = 0; i < rows; i++) {
    csr.row_ptr[i + 1] += csr.row_ptr[i];
  }
  return csr;
}

/* Returns a number between 0 and 1 that depends only on `number`. */
static double bed_random(uint64_t number) {
  return (double)(mbi_amg_hash(number) >> 11) * (1.0 / 9007199254740992.0);
}

/* The Laplacian of a grid of side^3 points (flat: side^2). Edges along z have the weight
 * `weak`, and all are multiplied by a number between 1 and `jump`. `shift` is added to the
 * diagonal; with `fixed` 1 the faces are Dirichlet boundaries. `only` is the fraction of edges
 * that exist. */
typedef struct bed_grid {
  int side, flat, fixed;
  double weak, jump, shift, only;
} bed_grid;

TEST_UNUSED static mbi_amg_csr bed_laplacian(merbit_context *context, const bed_grid *g) {
  const int n = g->side, layers = g->flat ? 1 : n, rows = n * n * layers;
  bed_entry *entries = (bed_entry *)malloc((size_t)rows * 16 * sizeof *entries);
  mbi_amg_csr csr;
  int count = 0, i, d;
  for (i = 0; i < rows; i++) {
    const int at[3] = {i % n, i / n % n, i / n / n}, steps[3] = {1, n, n * n};
    entries[count].row = entries[count].column = i;
    entries[count++].value = g->shift;
    for (d = 0; d < (g->flat ? 2 : 3); d++) {
      const double weight = (d == 2 - g->flat ? g->weak : 1) *
                            pow(g->jump, bed_random((uint64_t)i * 3 + (uint64_t)d));
      const int j = i + steps[d];
      if (g->fixed) { /* the boundary's part of the diagonal */
        entries[count].row = entries[count].column = i;
        entries[count++].value = weight * ((at[d] == 0) + (at[d] == n - 1));
      }
      if (at[d] == n - 1 || bed_random(77 + (uint64_t)i * 3 + (uint64_t)d) >= g->only) {
        continue;
      }
      entries[count].row = entries[count].column = i;
      entries[count++].value = weight;
      entries[count].row = entries[count].column = j;
      entries[count++].value = weight;
      entries[count].row = i;
      entries[count].column = j;
      entries[count++].value = -weight;
      entries[count].row = j;
      entries[count].column = i;
      entries[count++].value = -weight;
    }
  }
  csr = bed_csr(context, rows, rows, entries, count);
  free(entries);
  return csr;
}

TEST_UNUSED static mbi_amg_csr bed_poisson(merbit_context *context, int side, int flat) {
  const bed_grid g = {side, flat, 1, 1, 1, 0, 1};
  return bed_laplacian(context, &g);
}

/* Makes convection and diffusion on side^2 points by upwind differences, in a wind that circles
 * the middle. `peclet` is that of a cell where the wind's speed is 1. */
TEST_UNUSED static mbi_amg_csr bed_wind(merbit_context *context, int side, double peclet) {
  bed_entry *entries = (bed_entry *)malloc((size_t)side * (size_t)side * 8 * sizeof *entries);
  mbi_amg_csr csr;
  int count = 0, i, d;
  for (i = 0; i < side * side; i++) {
    const int at[2] = {i % side, i / side}, steps[2] = {1, side};
    const double x = 2.0 * (at[0] + 1) / (side + 1) - 1, y = 2.0 * (at[1] + 1) / (side + 1) - 1;
    const double speed[2] = {2 * y * (1 - x * x), -2 * x * (1 - y * y)};
    for (d = 0; d < 4; d++) { /* from the neighbour before and after, along each axis */
      const int axis = d / 2, to = at[axis] + (d % 2 != 0 ? 1 : -1);
      const double from = d % 2 != 0 ? -speed[axis] : speed[axis];
      const double weight = 1 + (from > 0 ? peclet * from : 0);
      entries[count].row = entries[count].column = i;
      entries[count++].value = weight;
      if (to >= 0 && to < side) {
        entries[count].row = i;
        entries[count].column = i + (d % 2 != 0 ? steps[axis] : -steps[axis]);
        entries[count++].value = -weight;
      }
    }
  }
  csr = bed_csr(context, side * side, side * side, entries, count);
  free(entries);
  return csr;
}

/* Makes strongly coupled pairs of nodes, each with ten weak neighbours in one direction:
 * nonsymmetric, and the next level has nearly as many entries. */
TEST_UNUSED static mbi_amg_csr bed_pairs(merbit_context *context, int nodes) {
  bed_entry *entries = (bed_entry *)malloc((size_t)nodes * 12 * sizeof *entries);
  mbi_amg_csr csr;
  int count = 0, i, k;
  for (i = 0; i < nodes; i++) {
    for (k = 0; k < 12; k++) {
      entries[count].row = i;
      entries[count].column = k == 0 ? i
                              : k == 1
                                  ? i ^ 1
                                  : (int)(bed_random((uint64_t)(i * 12 + k)) * (nodes - 1));
      entries[count++].value = k == 0 ? 4 : k == 1 ? -1 : -0.2;
    }
  }
  csr = bed_csr(context, nodes, nodes, entries, count);
  free(entries);
  return csr;
}

/* Returns the Kronecker product of a matrix with a symmetric positive definite block of 3 x 3:
 * three unknowns per node. */
TEST_UNUSED static mbi_amg_csr bed_blocks(merbit_context *context, const mbi_amg_csr *a) {
  static const double block[3][3] = {{2, 0.5, 0.25}, {0.5, 1, -0.25}, {0.25, -0.25, 1.5}};
  bed_entry *entries = (bed_entry *)malloc((size_t)a->nnz * 9 * sizeof *entries);
  mbi_amg_csr csr;
  int count = 0, i, j, row, k;
  for (row = 0; row < a->rows; row++) {
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) {
          entries[count].row = 3 * row + i;
          entries[count].column = 3 * a->col_ind[k] + j;
          entries[count++].value = block[i][j] * a->values[k];
        }
      }
    }
  }
  csr = bed_csr(context, 3 * (int)a->rows, 3 * (int)a->cols, entries, count);
  free(entries);
  return csr;
}

/* Returns the entry in a row and column, or 0. */
TEST_UNUSED static double bed_at(const mbi_amg_csr *csr, int64_t row, int64_t column) {
  int64_t k;
  for (k = csr->row_ptr[row]; k < csr->row_ptr[row + 1]; k++) {
    if (csr->col_ind[k] == column) {
      return csr->values[k];
    }
  }
  return 0;
}

/* Returns whether A_F keeps entry k of A, which is in `row`. */
TEST_UNUSED static int bed_kept(const mbi_amg_level *level, int64_t row, int64_t k) {
  k -= level->a.row_ptr[row];
  return mbi_amg_kept(level, row)[k / 8] >> k % 8 & 1;
}

/* Returns a dense copy in long double, row by row; of the magnitudes if `sizes` is 1. */
TEST_UNUSED static long double *bed_dense(const mbi_amg_csr *csr, int sizes) {
  long double *dense =
      (long double *)calloc((size_t)(csr->rows * csr->cols) + 1, sizeof *dense);
  int64_t row, k;
  for (row = 0; row < csr->rows; row++) {
    for (k = csr->row_ptr[row]; k < csr->row_ptr[row + 1]; k++) {
      dense[row * csr->cols + csr->col_ind[k]] +=
          sizes ? fabsl((long double)csr->values[k]) : (long double)csr->values[k];
    }
  }
  return dense;
}

/* Returns the product of an m x k and a k x n matrix. */
TEST_UNUSED static long double *bed_times(const long double *a, const long double *b, int64_t m,
                                          int64_t k, int64_t n) {
  long double *c = (long double *)calloc((size_t)(m * n) + 1, sizeof *c);
  int64_t i, j, l;
  for (i = 0; i < m; i++) {
    for (l = 0; l < k; l++) {
      for (j = 0; a[i * k + l] != 0 && j < n; j++) {
        c[i * n + j] += a[i * k + l] * b[l * n + j];
      }
    }
  }
  return c;
}

/* Checks that rows are sorted, without duplicates, and within bounds. */
TEST_UNUSED static void bed_check_form(const mbi_amg_csr *csr) {
  int64_t row, k;
  assert_int_equal(csr->row_ptr[0], 0);
  assert_int_equal(csr->row_ptr[csr->rows], csr->nnz);
  for (row = 0; row < csr->rows; row++) {
    for (k = csr->row_ptr[row]; k < csr->row_ptr[row + 1]; k++) {
      assert_in_range(csr->col_ind[k], 0, csr->cols - 1);
      assert_true(k == csr->row_ptr[row] || csr->col_ind[k] > csr->col_ind[k - 1]);
    }
  }
}

TEST_UNUSED static void bed_check_equal(const mbi_amg_csr *a, const mbi_amg_csr *b) {
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->cols, b->cols);
  assert_int_equal(a->nnz, b->nnz);
  assert_memory_equal(a->row_ptr, b->row_ptr, ((size_t)a->rows + 1) * sizeof *a->row_ptr);
  assert_memory_equal(a->col_ind, b->col_ind, (size_t)a->nnz * sizeof *a->col_ind);
  if (a->values != NULL) {
    assert_memory_equal(a->values, b->values, (size_t)a->nnz * sizeof *a->values);
  }
}

/* Makes a level whose aggregates are known. `modes` is NULL for constants, one for each unknown
 * of a node. Takes over `a`. */
TEST_UNUSED static void bed_level(merbit_context *context, mbi_amg_csr a, int block,
                                  int vectors, double theta, mbi_amg_level *level) {
  int64_t i;
  int j;
  memset(level, 0, sizeof *level);
  level->a = a;
  level->block = block;
  level->vectors = vectors;
  level->modes =
      (double *)mbi_allocate(context, (size_t)(a.rows * vectors + 1) * sizeof(double));
  for (i = 0; i < a.rows; i++) {
    for (j = 0; j < vectors; j++) {
      level->modes[i * vectors + j] =
          j < block ? i % block == j : bed_random((uint64_t)(i * vectors + j));
    }
  }
  assert_int_equal(mbi_amg_diagonal(context, level), MERBIT_OK);
  assert_int_equal(mbi_amg_strength(context, theta, level), MERBIT_OK);
  assert_int_equal(mbi_amg_aggregate(context, level), MERBIT_OK);
}

/* Releases the results of mbi_amg_coarsen for a level. */
TEST_UNUSED static void bed_again(merbit_context *context, mbi_amg_level *level) {
  mbi_amg_csr_release(context, &level->strong);
  mbi_release(context, level->kept);
  mbi_release(context, level->strongest);
  mbi_release(context, level->aggregate);
  mbi_release(context, level->inverse);
  level->strongest = level->aggregate = NULL;
  level->kept = NULL;
  level->inverse = NULL;
}
#endif
