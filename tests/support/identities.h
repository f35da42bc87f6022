/* Identities that hold for any product, whatever the order of its sums: linearity, <A x, w> =
 * <x, A' w>, renumbered rows and columns, sums of matrices, exact scaling. The allowed errors
 * follow from the bound |y - ref| <= E = gamma(k + 2) (|alpha| |A| |x| + |beta| |y0|) + (k + 2)
 * eta of each product involved (support/bound.h). Include merbit.h and cmocka.h first.
 *
 * The vectors are multiples of 2^-10 and the scalars of 2^-4, small enough that sums of two
 * scaled vectors are exact in f32. */
#ifndef TEST_SUPPORT_IDENTITIES_H
#define TEST_SUPPORT_IDENTITIES_H
#include <float.h>
#include "support/matrices.h"

/* Computes y = alpha m x + beta y in f32 or f64; vectors are passed as doubles. */
typedef void (*identities_multiply)(void *user, const test_matrix *m, int single, double alpha,
                                    const double *x, double beta, double *y);

typedef struct identities_bed {
  identities_multiply multiply;
  void *user;
  merbit_context *context; /* for transposes */
  int single;
  int by_columns; /* the order of a row's sum depends on its column numbers */
  long checked; /* components and inner products */
} identities_bed;

static double identities_value(const identities_bed *bed, const test_matrix *m, int64_t k) {
  return bed->single ? (double)(float)m->values[k] : m->values[k];
}

/* Returns E of a row, where |alpha| multiplies its |A| |x| and `scaled` is |beta| |y0|. */
static long double identities_error(const identities_bed *bed, const test_matrix *m, int64_t row,
                                    double alpha, const double *x, long double scaled) {
  const long double u = bed->single ? 0x1p-24L : 0x1p-53L;
  const long double eta = bed->single ? 0x1p-149L : 0x1p-1074L;
  const long double n = (long double)(m->row_ptr[row + 1] - m->row_ptr[row] + 2);
  long double size = 0;
  int64_t k;
  for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
    size += fabsl((long double)identities_value(bed, m, k) * (long double)x[m->col_ind[k]]);
  }
  size = fabsl((long double)alpha) * size + scaled;
  /* The last factor covers the roundings of this long double sum. */
  return (n * u / (1 - n * u) * size + n * eta) * (1 + (n + 8) * LDBL_EPSILON);
}

static double *identities_vector(int64_t count, uint64_t *random) {
  double *v = (double *)test_allocate(count, sizeof *v);
  int64_t i;
  for (i = 0; i < count; i++) {
    v[i] = (double)(test_below(random, 2049) - 1024) / 1024;
  }
  return v;
}

static double *identities_product(const identities_bed *bed, const test_matrix *m, double alpha,
                                  const double *x) {
  double *y = (double *)test_allocate(m->rows, sizeof *y);
  bed->multiply(bed->user, m, bed->single, alpha, x, 0, y);
  return y;
}

static void identities_near(identities_bed *bed, const test_matrix *m, const char *what,
                            int64_t row, double a, double b, long double allowed) {
  bed->checked++;
  if (!(fabsl((long double)a - (long double)b) <= allowed)) {
    fail_msg("%s, %s, %s: row %lld is %.17g and %.17g, more than %.3Lg apart", m->name,
             bed->single ? "f32" : "f64", what, (long long)row, a, b, allowed);
  }
}

/* Checks A (a x + b y) = a A x + b A y; the right side takes two products that add to y. */
static void identities_linear(identities_bed *bed, const test_matrix *m, uint64_t *random) {
  const double a = (double)(1 + test_below(random, 31)) / 16, b = -0.6875;
  double *x = identities_vector(m->cols, random), *y = identities_vector(m->cols, random);
  double *z = (double *)test_allocate(m->cols, sizeof *z), *left, *first, *right;
  int64_t i;
  for (i = 0; i < m->cols; i++) {
    z[i] = a * x[i] + b * y[i]; /* exact */
  }
  left = identities_product(bed, m, 1, z);
  first = identities_product(bed, m, a, x);
  right = (double *)test_allocate(m->rows, sizeof *right);
  memcpy(right, first, (size_t)m->rows * sizeof *right);
  bed->multiply(bed->user, m, bed->single, b, y, 1, right);
  for (i = 0; i < m->rows; i++) {
    identities_near(bed, m, "A (a x + b y) and a A x + b A y", i, left[i], right[i],
                    identities_error(bed, m, i, 1, z, 0) + identities_error(bed, m, i, a, x, 0) +
                        identities_error(bed, m, i, b, y, fabsl((long double)first[i])));
  }
  free(x);
  free(y);
  free(z);
  free(left);
  free(first);
  free(right);
}

/* Checks A = B + C for a random division of the entries: A x = C x + 1 * (B x). */
static void identities_split(identities_bed *bed, const test_matrix *m, uint64_t *random) {
  double *x = identities_vector(m->cols, random), *whole, *first, *sum;
  test_matrix part[2];
  int64_t row, k;
  int p;
  for (p = 0; p < 2; p++) {
    part[p] = *m;
    part[p].nnz = 0;
    part[p].row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof(int64_t));
    part[p].col_ind = (int32_t *)test_allocate(m->nnz, sizeof(int32_t));
    part[p].values = (double *)test_allocate(m->nnz, sizeof(double));
  }
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      test_matrix *to = &part[test_below(random, 2)];
      to->col_ind[to->nnz] = m->col_ind[k];
      to->values[to->nnz++] = m->values[k];
    }
    part[0].row_ptr[row + 1] = part[0].nnz;
    part[1].row_ptr[row + 1] = part[1].nnz;
  }
  whole = identities_product(bed, m, 1, x);
  first = identities_product(bed, &part[0], 1, x);
  sum = (double *)test_allocate(m->rows, sizeof *sum);
  memcpy(sum, first, (size_t)m->rows * sizeof *sum);
  bed->multiply(bed->user, &part[1], bed->single, 1, x, 1, sum);
  for (row = 0; row < m->rows; row++) {
    identities_near(bed, m, "(B + C) x and B x + C x", row, whole[row], sum[row],
                    identities_error(bed, m, row, 1, x, 0) +
                        identities_error(bed, &part[0], row, 1, x, 0) +
                        identities_error(bed, &part[1], row, 1, x, fabsl((long double)first[row])));
  }
  test_matrix_free(&part[0]);
  test_matrix_free(&part[1]);
  free(x);
  free(whole);
  free(first);
  free(sum);
}

/* Returns 0, 1, ..., count - 1 in random order. */
static int64_t *identities_order(int64_t count, uint64_t *random) {
  int64_t *order = (int64_t *)test_allocate(count, sizeof *order), i, j;
  for (i = 0; i < count; i++) {
    j = test_below(random, i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

/* Renumbers columns and rows. Other column numbers change no bit, because entries keep their
 * order, unless the method orders them itself. Other row numbers move the tiles' boundaries:
 * results differ by at most twice the error. */
static void identities_renumbered(identities_bed *bed, const test_matrix *m, uint64_t *random) {
  int64_t *columns = identities_order(m->cols, random), *rows = identities_order(m->rows, random);
  double *x = identities_vector(m->cols, random), *moved_x, *y, *same, *moved;
  test_matrix other = *m;
  int64_t i, k;
  other.row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof(int64_t));
  other.col_ind = (int32_t *)test_allocate(m->nnz, sizeof(int32_t));
  other.values = (double *)test_allocate(m->nnz, sizeof(double));
  moved_x = (double *)test_allocate(m->cols, sizeof *moved_x);
  for (i = 0; i < m->cols; i++) {
    moved_x[columns[i]] = x[i];
  }
  for (k = 0; k < m->nnz; k++) {
    other.col_ind[k] = (int32_t)columns[m->col_ind[k]];
  }
  memcpy(other.row_ptr, m->row_ptr, (size_t)(m->rows + 1) * sizeof(int64_t));
  memcpy(other.values, m->values, (size_t)m->nnz * sizeof(double));
  y = identities_product(bed, m, 0.75, x);
  same = identities_product(bed, &other, 0.75, moved_x);
  if (!bed->by_columns && memcmp(y, same, (size_t)m->rows * sizeof *y) != 0) {
    fail_msg("%s: other numbers for the columns change the sums", m->name);
  }
  for (i = 0; i < m->rows; i++) {
    identities_near(bed, m, "other numbers for the columns", i, y[i], same[i],
                    2 * identities_error(bed, m, i, 0.75, x, 0));
  }
  for (i = 0, k = 0; i < m->rows; i++) { /* row i is rows[i] of m */
    int64_t from = m->row_ptr[rows[i]], length = m->row_ptr[rows[i] + 1] - from;
    memcpy(other.col_ind + k, m->col_ind + from, (size_t)length * sizeof(int32_t));
    memcpy(other.values + k, m->values + from, (size_t)length * sizeof(double));
    k += length;
    other.row_ptr[i + 1] = k;
  }
  moved = identities_product(bed, &other, 0.75, x);
  for (i = 0; i < m->rows; i++) {
    identities_near(bed, m, "a row and its copy elsewhere", rows[i], y[rows[i]], moved[i],
                    2 * identities_error(bed, m, rows[i], 0.75, x, 0));
  }
  test_matrix_free(&other);
  free(columns);
  free(rows);
  free(x);
  free(moved_x);
  free(y);
  free(same);
  free(moved);
}

/* Checks that A (-4 x) is -4 A x bit for bit, apart from zeros, which stay +0: powers of two
 * and signs commute with rounding. No number here is close to the ends of the range. */
static void identities_scaled(identities_bed *bed, const test_matrix *m, uint64_t *random) {
  double *x = identities_vector(m->cols, random), *y, *scaled;
  int64_t i;
  y = identities_product(bed, m, 1, x);
  for (i = 0; i < m->cols; i++) {
    x[i] *= -4;
  }
  scaled = identities_product(bed, m, 1, x);
  for (i = 0; i < m->rows; i++) {
    identities_near(bed, m, "-4 A x and A (-4 x)", i, -4 * y[i], scaled[i], 0);
    assert_false(y[i] == 0 && (signbit(y[i]) || signbit(scaled[i])));
  }
  free(x);
  free(y);
  free(scaled);
}

/* Returns <a, b> and the bound of its own rounding error. */
static long double identities_dot(const double *a, const double *b, int64_t count,
                                  long double *error) {
  long double sum = 0, size = 0;
  int64_t i;
  for (i = 0; i < count; i++) {
    sum += (long double)a[i] * (long double)b[i];
    size += fabsl((long double)a[i] * (long double)b[i]);
  }
  *error += (long double)(count + 2) * LDBL_EPSILON * size;
  return sum;
}

/* Checks <A x, w> = <x, A' w>. The transpose adds duplicates: with d duplicates in an entry the
 * values are off by gamma(d - 1) and the products by gamma(k - d + 3), together at most gamma(k
 * + 2) of the original row. */
static void identities_transposed(identities_bed *bed, const test_matrix *m, uint64_t *random) {
  double *x = identities_vector(m->cols, random), *w = identities_vector(m->rows, random);
  int32_t *row_ptr = (int32_t *)test_allocate(m->rows + 1, sizeof *row_ptr);
  float *singles = (float *)test_allocate(m->nnz, sizeof *singles);
  merbit_view view = merbit_csr(m->rows, m->cols, m->nnz, row_ptr, m->col_ind, m->values);
  test_matrix t, plain; /* merbit's transpose; the same with duplicates */
  merbit_matrix *made;
  long double allowed = 0, left, right;
  double *y, *z;
  int64_t i, k;
  for (i = 0; i <= m->rows; i++) {
    row_ptr[i] = (int32_t)m->row_ptr[i];
  }
  for (k = 0; k < m->nnz; k++) {
    singles[k] = (float)m->values[k];
  }
  if (bed->single) {
    view.value_type = MERBIT_F32;
    view.values = singles;
  }
  assert_int_equal(merbit_matrix_transpose(bed->context, &view, &made), MERBIT_OK);
  view = merbit_matrix_view(made);
  t = *m;
  t.rows = m->cols;
  t.cols = m->rows;
  plain = t;
  plain.row_ptr = (int64_t *)test_allocate(t.rows + 2, sizeof(int64_t));
  plain.col_ind = (int32_t *)test_allocate(m->nnz, sizeof(int32_t));
  plain.values = (double *)test_allocate(m->nnz, sizeof(double));
  for (k = 0; k < m->nnz; k++) { /* row_ptr[c + 1]: where row c starts, then where it ends */
    plain.row_ptr[m->col_ind[k] + 2]++;
  }
  for (i = 0; i < t.rows; i++) {
    plain.row_ptr[i + 2] += plain.row_ptr[i + 1];
  }
  for (i = 0; i < m->rows; i++) {
    for (k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
      int64_t at = plain.row_ptr[m->col_ind[k] + 1]++;
      plain.col_ind[at] = (int32_t)i;
      plain.values[at] = m->values[k];
    }
  }
  t.nnz = view.nnz;
  t.row_ptr = (int64_t *)test_allocate(t.rows + 1, sizeof(int64_t));
  t.col_ind = (int32_t *)test_allocate(t.nnz, sizeof(int32_t));
  t.values = (double *)test_allocate(t.nnz, sizeof(double));
  assert_int_equal(view.offset_type == MERBIT_INDEX_64, 0);
  for (i = 0; i <= t.rows; i++) {
    t.row_ptr[i] = ((const int32_t *)view.row_ptr)[i];
  }
  for (k = 0; k < t.nnz; k++) {
    t.col_ind[k] = ((const int32_t *)view.col_ind)[k];
    t.values[k] = bed->single ? (double)((const float *)view.values)[k]
                              : ((const double *)view.values)[k];
  }
  merbit_matrix_destroy(made);
  y = identities_product(bed, m, 1, x);
  z = identities_product(bed, &t, 1, w);
  left = identities_dot(y, w, m->rows, &allowed);
  right = identities_dot(x, z, m->cols, &allowed);
  for (i = 0; i < m->rows; i++) {
    allowed += fabsl((long double)w[i]) * identities_error(bed, m, i, 1, x, 0);
  }
  for (i = 0; i < m->cols; i++) {
    allowed += fabsl((long double)x[i]) * identities_error(bed, &plain, i, 1, w, 0);
  }
  bed->checked++;
  if (!(fabsl(left - right) <= allowed)) {
    fail_msg("%s, %s: <A x, w> is %.17Lg, <x, A' w> %.17Lg, more than %.3Lg apart", m->name,
             bed->single ? "f32" : "f64", left, right, allowed);
  }
  test_matrix_free(&t);
  test_matrix_free(&plain);
  free(x);
  free(w);
  free(y);
  free(z);
  free(row_ptr);
  free(singles);
}

/* Checks all identities on one matrix. */
TEST_UNUSED static void identities_check(identities_bed *bed, const test_matrix *m,
                                         uint64_t seed) {
  identities_linear(bed, m, &seed);
  identities_split(bed, m, &seed);
  identities_renumbered(bed, m, &seed);
  identities_scaled(bed, m, &seed);
  identities_transposed(bed, m, &seed);
}

#endif /* TEST_SUPPORT_IDENTITIES_H */
