#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* The inverse diagonal and the largest eigenvalue of D^-1 A, for multigrid. The largest row sum
 * of |D^-1 A| is an upper bound. If rows are not diagonally dominant, that bound is much too
 * large, and a few Lanczos steps on S |D|^-1/2 A |D|^-1/2, where S has the signs of D, estimate
 * the eigenvalue (Saad, "Iterative Methods for Sparse Linear Systems", section 6.6). */

#define MBI_LAMBDA_CHUNK 8192 /* rows whose sums are added up together */

typedef struct mbi_lambda {
  mbi_amg_level *level;
  double *v, *u, *w, *x; /* current, previous and next Lanczos vector; |D|^-1/2 v */
  double *root, *parts;  /* the diagonal of |D|^-1/2; partial sums of chunks */
  double alpha, beta;
} mbi_lambda;

/* Declares what the tasks begin with: their argument `e`, the chunk's first row `row`, and the
 * end `end` of its rows. */
#define MBI_LAMBDA_ROWS(e, row, end)                                                           \
  mbi_lambda *e = (mbi_lambda *)argument;                                                      \
  int64_t row = (int64_t)chunk * MBI_LAMBDA_CHUNK;                                             \
  const int64_t rows = e->level->a.rows;                                                       \
  const int64_t end = row + MBI_LAMBDA_CHUNK < rows ? row + MBI_LAMBDA_CHUNK : rows

/* Returns the sum of magnitudes in a row of D^-1 A. */
static double mbi_lambda_sum(const mbi_amg_level *level, int64_t row) {
  const mbi_amg_csr *a = &level->a;
  double sum = 0;
  int64_t k;
  for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
    sum += fabs(a->values[k]);
  }
  return sum * fabs(level->inverse[row]);
}

static void mbi_lambda_diagonal(void *argument, int chunk) {
  MBI_LAMBDA_ROWS(e, row, end);
  const mbi_amg_csr *a = &e->level->a;
  int64_t k;
  double most = 0;
  for (; row < end; row++) {
    double diagonal = 0, sum;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      diagonal = a->col_ind[k] == row ? a->values[k] : diagonal;
    }
    e->level->inverse[row] = diagonal != 0 ? 1 / diagonal : 0;
    sum = mbi_lambda_sum(e->level, row);
    most = sum > most || sum - sum != 0 ? sum : most;
  }
  e->parts[chunk] = most;
}

/* Fills v with numbers between -1 and 1 that depend on the row alone. */
static void mbi_lambda_start(void *argument, int chunk) {
  MBI_LAMBDA_ROWS(e, row, end);
  double sum = 0;
  for (; row < end; row++) {
    e->v[row] = (double)(mbi_amg_hash((uint64_t)row) >> 11) * (1.0 / 4503599627370496.0) - 1;
    e->u[row] = 0;
    e->root[row] = sqrt(fabs(e->level->inverse[row]));
    sum += e->v[row] * e->v[row];
  }
  e->parts[chunk] = sum;
}

/* Multiplies v by 1 / beta, and computes x. */
static void mbi_lambda_scale(void *argument, int chunk) {
  MBI_LAMBDA_ROWS(e, row, end);
  for (; row < end; row++) {
    e->v[row] /= e->beta;
    e->x[row] = e->root[row] * e->v[row];
  }
}

/* Computes w = S |D|^-1/2 A x - beta u, and v'w. */
static void mbi_lambda_multiply(void *argument, int chunk) {
  MBI_LAMBDA_ROWS(e, row, end);
  const mbi_amg_csr *a = &e->level->a;
  int64_t k;
  double dot = 0;
  for (; row < end; row++) {
    double sum = 0;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      sum += a->values[k] * e->x[a->col_ind[k]];
    }
    e->w[row] = copysign(e->root[row], e->level->inverse[row]) * sum - e->beta * e->u[row];
    dot += e->w[row] * e->v[row];
  }
  e->parts[chunk] = dot;
}

/* Computes w -= alpha v, and w'w. */
static void mbi_lambda_subtract(void *argument, int chunk) {
  MBI_LAMBDA_ROWS(e, row, end);
  double sum = 0;
  for (; row < end; row++) {
    e->w[row] -= e->alpha * e->v[row];
    sum += e->w[row] * e->w[row];
  }
  e->parts[chunk] = sum;
}

/* Runs `task` on all chunks and returns the sum of their partial sums. */
MBI_NOINLINE static double mbi_lambda_run(merbit_context *context, mbi_lambda *e,
                                          mbi_task task) {
  const int chunks = (int)mbi_block_count(e->level->a.rows, MBI_LAMBDA_CHUNK);
  double sum = 0;
  int i;
  mbi_parallel(context, chunks, task, e);
  for (i = 0; i < chunks; i++) {
    sum += e->parts[i];
  }
  return sum;
}

/* Returns the largest eigenvalue of the Lanczos tridiagonal matrix, but at most `most`; returns
 * `most` if no eigenvalue is positive. */
MBI_INTERNAL double mbi_amg_largest(const double *alpha, const double *beta, int steps,
                                    double most) {
  double t[3 * MBI_LAMBDA_STEPS], value;
  int i;
  for (i = 0; i < steps; i++) {
    t[3 * i] = alpha[i];
    t[3 * i + 1] = beta[i];
  }
  value = mbi_lanczos_value(t, steps, steps - 1);
  return value > 0 ? fmin(value, most) : most;
}

static double mbi_lambda_lanczos(merbit_context *context, mbi_lambda *e) {
  double alpha[MBI_LAMBDA_STEPS], beta[MBI_LAMBDA_STEPS + 1], *next;
  int step = 0;
  beta[0] = 0;
  e->beta = sqrt(mbi_lambda_run(context, e, mbi_lambda_start));
  while (step < MBI_LAMBDA_STEPS && (step == 0 || e->beta > MBI_LAMBDA_LEAST)) {
    (void)mbi_lambda_run(context, e, mbi_lambda_scale);
    e->beta = beta[step];
    e->alpha = alpha[step] = mbi_lambda_run(context, e, mbi_lambda_multiply);
    e->beta = beta[++step] = sqrt(mbi_lambda_run(context, e, mbi_lambda_subtract));
    next = e->u;
    e->u = e->v;
    e->v = e->w;
    e->w = next;
  }
  return mbi_amg_largest(alpha, beta, step, e->level->lambda);
}

/* Fails because a row's sum of |D^-1 A|, on a level of `rows` rows, is not finite. */
MBI_INTERNAL merbit_status mbi_amg_fail_bound(merbit_context *context, int64_t row,
                                              int64_t rows) {
  return mbi_fail(context, MERBIT_INVALID_MATRIX,
                  "row %" PRId64 ", counted from 0, of the matrix of %" PRId64
                  " rows has entries that are Inf or NaN, or too large for its diagonal; "
                  "multigrid cannot be set up: check the values",
                  row, rows);
}

/* Fails because the diagonal entry of `row` has no inverse. */
MBI_INTERNAL merbit_status mbi_amg_fail_diagonal(merbit_context *context, int64_t row) {
  return mbi_fail(context, MERBIT_INVALID_MATRIX,
                  "row %" PRId64
                  ", counted from 0, has no diagonal entry, or it is 0; multigrid divides by "
                  "it: use MERBIT_PRECONDITIONER_NONE, or add the entry",
                  row);
}

MBI_INTERNAL merbit_status mbi_amg_diagonal(merbit_context *context, mbi_amg_level *level) {
  const int64_t rows = level->a.rows, chunks = mbi_block_count(rows, MBI_LAMBDA_CHUNK);
  mbi_lambda e;
  merbit_status status = MERBIT_OK;
  double *vectors = NULL;
  int64_t i;
  e.level = level;
  MBI_TRY(mbi_allocate_array(context, rows, sizeof(double), "the inverse diagonal",
                             (void **)&level->inverse));
  MBI_TRY(
      mbi_allocate_array(context, chunks, sizeof(double), "sums of rows", (void **)&e.parts));
  (void)mbi_lambda_run(context, &e, mbi_lambda_diagonal);
  level->lambda = 0;
  for (i = 0; i < chunks; i++) {
    level->lambda =
        e.parts[i] > level->lambda || e.parts[i] - e.parts[i] != 0 ? e.parts[i] : level->lambda;
  }
  if (level->lambda - level->lambda != 0) {
    mbi_release(context, e.parts);
    for (i = 0; i + 1 < rows; i++) {
      const double sum = mbi_lambda_sum(level, i);
      if (sum - sum != 0) {
        break;
      }
    }
    return mbi_amg_fail_bound(context, i, rows);
  }
  if (level->lambda > MBI_LAMBDA_DOMINANT) {
    status =
        mbi_allocate_array(context, 5 * rows, sizeof(double), "Lanczos vectors", (void **)&e.v);
    vectors = e.v;
    if (status == MERBIT_OK) {
      e.u = vectors + rows;
      e.w = vectors + 2 * rows;
      e.x = vectors + 3 * rows;
      e.root = vectors + 4 * rows;
      level->lambda = fmin(level->lambda, MBI_LAMBDA_SAFETY * mbi_lambda_lanczos(context, &e));
    }
  }
  mbi_release(context, vectors);
  mbi_release(context, e.parts);
  return status;
}
