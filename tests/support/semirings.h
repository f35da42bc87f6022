/* Checks products over semirings through the public interface on either side, bit for bit (any
 * NaN for a NaN), against the definition in the manual. Include merbit.h and cmocka.h first. */
#ifndef TEST_SUPPORT_SEMIRINGS_H
#define TEST_SUPPORT_SEMIRINGS_H
#include "support/products.h"

/* The built-in semirings, then two of the user's: the maximum of a - x, and that of a product
 * with a branch. */
enum { SEMIRINGS_KINDS = 5, SEMIRINGS_DIFFERENCE = 4, SEMIRINGS_BRANCH = 5 };

static const char semirings_user = 0;

static double semirings_max(double a, double b) {
  return isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b;
}

static double semirings_difference_f64(void *user, double a, double x) {
  (void)user;
  return a - x;
}
static float semirings_difference_f32(void *user, float a, float x) {
  (void)user;
  return a - x;
}
static double semirings_branch_f64(void *user, double a, double x) {
  const double square = a * a;
  (void)user;
  return !(a > 0) ? x - 0.1 : fabs(x) / (1 + square);
}
static float semirings_branch_f32(void *user, float a, float x) {
  const float square = a * a;
  (void)user;
  return !(a > 0) ? x - 0.1f : fabsf(x) / (1 + square);
}
static double semirings_max_f64(void *user, double a, double b) {
  return user == &semirings_user ? semirings_max(a, b) : (double)NAN;
}
static float semirings_max_f32(void *user, float a, float b) {
  return user == &semirings_user ? (float)semirings_max(a, b) : (float)NAN;
}

TEST_UNUSED static merbit_operators semirings_operators(int kind) {
  merbit_operators o;
  memset(&o, 0, sizeof o);
  o.add = " max ( a , b )";
  o.multiply = kind == SEMIRINGS_BRANCH ? "!(a > 0) ? x - 0.1 : abs(x) / (1 + a * a)" : "a-x";
  o.zero = -(double)INFINITY;
  o.add_f64 = semirings_max_f64;
  o.add_f32 = semirings_max_f32;
  o.multiply_f64 = kind == SEMIRINGS_BRANCH ? semirings_branch_f64 : semirings_difference_f64;
  o.multiply_f32 = kind == SEMIRINGS_BRANCH ? semirings_branch_f32 : semirings_difference_f32;
  o.user = (void *)(uintptr_t)&semirings_user;
  return o;
}

static double semirings_zero(int kind) {
  return kind == 1 ? (double)INFINITY : kind < SEMIRINGS_DIFFERENCE ? 0.0 : -(double)INFINITY;
}

static double semirings_add(int kind, double a, double b) {
  if (kind == 1) {
    return -semirings_max(-a, -b);
  }
  return kind == 3 ? (double)(a != 0 || b != 0) : semirings_max(a, b);
}

/* Multiplies; the rounding of a double sum or product of two floats is the rounded float
 * result. */
static double semirings_multiply(int kind, int single, double a, double x) {
  const double product = kind == 1                      ? a + x
                         : kind == 2                    ? a * x
                         : kind == 3                    ? (double)(a != 0 && x != 0)
                         : kind == SEMIRINGS_DIFFERENCE ? a - x
                         : single ? (double)semirings_branch_f32(NULL, (float)a, (float)x)
                                  : semirings_branch_f64(NULL, a, x);
  return single ? (double)(float)product : product;
}

/* Scalars that are not given are NaN. */
static void semirings_naive(const test_matrix *m, const products_form *form, int kind,
                            const double *values, double alpha, const double *x, double beta,
                            const double *y0, double *y) {
  const int single = form->type == MERBIT_F32,
            flipped = form->plan.operation != MERBIT_OPERATION_N;
  const int64_t count = flipped ? m->cols : m->rows;
  const double zero = semirings_zero(kind);
  int64_t row, k;
  for (row = 0; row < count; row++) {
    y[row] = zero;
  }
  for (row = 0; alpha != zero && row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      double *to = y + (flipped ? m->col_ind[k] : row);
      const double a = form->pattern ? 1 : values[k];
      *to = semirings_add(
          kind, *to, semirings_multiply(kind, single, a, x[flipped ? row : m->col_ind[k]]));
    }
  }
  for (row = 0; row < count; row++) {
    if (!isnan(alpha) && alpha != zero) {
      y[row] = semirings_multiply(kind, single, alpha, y[row]);
    }
    if (!isnan(beta) && beta != zero) {
      y[row] = semirings_add(kind, y[row], semirings_multiply(kind, single, beta, y0[row]));
    }
  }
}

/* Compares results: min and max give +0; the user's operators may give either zero. */
static int semirings_same(int kind, double got, double want) {
  return (isnan(got) && isnan(want)) ||
         (got == want && (kind > 3 || got != 0 || !signbit(got)));
}

/* Fills multiples of 1/8, so that many are equal; rarely Inf or NaN if `wild`. */
static void semirings_fill(double *numbers, int64_t count, int wild, uint64_t *random) {
  static const double rare[] = {-0.0, (double)INFINITY, (double)NAN, -(double)INFINITY};
  int64_t i;
  for (i = 0; i < count; i++) {
    const int64_t dice = test_below(random, 50);
    numbers[i] = rint(8 * test_uniform(random)) / 8;
    numbers[i] = dice == 0 || (wild && dice < 4) ? rare[dice] : numbers[i];
  }
}

typedef struct semirings_bed {
  merbit_context *context;
  merbit_plan *plan;
  products_form form;
  int kind;
  const test_matrix *m;
  const char *line; /* the plan's */
} semirings_bed;

/* Computes one product of the matrix with `values`. On the CPU buffers count as host
 * vectors. */
static void semirings_product(const semirings_bed *b, const double *values, double alpha,
                              double beta, uint64_t *random) {
  const merbit_type type = b->form.type;
  const size_t size = products_size(type);
  const int flipped = b->form.plan.operation != MERBIT_OPERATION_N;
  const int64_t cols = flipped ? b->m->rows : b->m->cols,
                rows = flipped ? b->m->cols : b->m->rows;
  const int reads = !isnan(beta) && beta != semirings_zero(b->kind);
  const int staged = b->form.plan.vector_memory == MERBIT_MEMORY_HOST;
  const int reordered = b->form.plan.reordering != MERBIT_REORDERING_NONE;
  double *x = (double *)test_allocate(cols, 8), *y0 = (double *)test_allocate(rows, 8);
  double *want = (double *)test_allocate(rows, 8), pair[2];
  void *typed_x, *typed_y, *scalars;
  const void *at_x, *at_y, *at;
  merbit_buffer *buffers[5] = {NULL, NULL, NULL, NULL, NULL};
  int64_t i;
  pair[0] = alpha;
  pair[1] = beta;
  semirings_fill(x, cols, test_below(random, 3) == 0, random);
  if (test_below(random, 4) == 0) { /* no result near 0 */
    for (i = 0; i < cols; i++) {
      x[i] = 3 + fabs(x[i]);
    }
  }
  semirings_fill(y0, rows, 0, random);
  for (i = 0; i < rows && !reads; i++) {
    y0[i] = (double)NAN;
  }
  typed_x = products_values(x, cols, type);
  typed_y = products_values(y0, rows, type);
  scalars = products_values(pair, 2, type);
  at_x = products_move(b->context, typed_x, (size_t)cols * size, &buffers[0]);
  at_y = products_move(b->context, typed_y, (size_t)rows * size, &buffers[1]);
  at = products_move(b->context, scalars, 2 * size, &buffers[2]);
  at = b->form.device_scalars ? at : scalars;
  if (reordered) {
    const void *px = products_move(b->context, typed_x, (size_t)cols * size, &buffers[3]);
    const void *py = products_move(b->context, typed_y, (size_t)rows * size, &buffers[4]);
    assert_int_equal(merbit_plan_reorder(b->plan, at_x, (void *)(uintptr_t)px, NULL),
                     MERBIT_OK);
    assert_int_equal(merbit_plan_reorder(b->plan, at_y, (void *)(uintptr_t)py, NULL),
                     MERBIT_OK);
    at_x = px;
    at_y = py;
  }
  at_x = staged ? typed_x : at_x;
  at_y = staged ? typed_y : at_y;
  products_done(b->context,
                merbit_spmv(b->plan, NULL, isnan(alpha) ? NULL : at, at_x,
                            isnan(beta) ? NULL : (const char *)at + size,
                            (void *)(uintptr_t)at_y, NULL),
                b->line);
  if (reordered) {
    assert_int_equal(
        merbit_plan_restore(b->plan, at_y, merbit_buffer_pointer(buffers[1]), NULL), MERBIT_OK);
  }
  if (!staged) {
    assert_int_equal(merbit_buffer_download(buffers[1], 0, typed_y, (size_t)rows * size),
                     MERBIT_OK);
  }
  semirings_naive(b->m, &b->form, b->kind, values, alpha, x, beta, y0, want);
  for (i = 0; i < rows; i++) {
    const double got =
        type == MERBIT_F32 ? (double)((float *)typed_y)[i] : ((double *)typed_y)[i];
    if (!semirings_same(b->kind, got, want[i])) {
      fail_msg("%s, %s, alpha %g, beta %g: y[%lld] is %a, not %a", b->m->name, b->line, alpha,
               beta, (long long)i, got, want[i]);
    }
  }
  for (i = 0; i < 5; i++) {
    merbit_buffer_destroy(buffers[i]);
  }
  free(typed_x);
  free(typed_y);
  free(scalars);
  free(x);
  free(y0);
  free(want);
}

/* Checks a plan of the matrix, whose values change here: `pairs` products with pairs of alpha
 * and beta from number `first` of 25 on, and as many with new values. */
TEST_UNUSED static int semirings_check(merbit_context *context, test_matrix *m,
                                       const products_form *form, int kind, int first,
                                       int pairs) {
  const double scalars[] = {(double)NAN, semirings_zero(kind), 0.5, -2, 1};
  merbit_operators operators = semirings_operators(kind);
  uint64_t random = (uint64_t)first + 77;
  products_arrays a;
  semirings_bed b;
  char line[512];
  int round, p;
  memset(&b, 0, sizeof b);
  b.context = context;
  b.form = *form;
  b.kind = kind;
  b.m = m;
  b.line = line;
  b.form.plan.semiring = (merbit_semiring)(kind < 4 ? kind : 4);
  b.form.plan.operators = kind < 4 ? NULL : &operators;
  b.form.plan.scalar_memory =
      form->device_scalars ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_DEFAULT;
  semirings_fill(m->values, m->nnz, first % 3 == 0, &random);
  if (first % 4 == 1) { /* a form of values */
    for (p = 0; p < m->nnz; p++) {
      m->values[p] = 0.75;
    }
  }
  products_arrays_make(context, m, &b.form, &a);
  products_done(context, merbit_plan_create(context, &a.view, &b.form.plan, &b.plan), m->name);
  memset(&operators, 0xff, sizeof operators); /* no longer borrowed */
  (void)merbit_plan_describe(b.plan, line, sizeof line);
  for (round = 0; round < 2; round++) {
    void *fresh;
    for (p = first; p < first + pairs; p++) {
      semirings_product(&b, m->values, scalars[p % 5], scalars[p / 5 % 5], &random);
    }
    if (form->pattern || m->nnz == 0) {
      break;
    }
    semirings_fill(m->values, m->nnz, 0, &random);
    fresh = products_values(m->values, m->nnz, form->type);
    if (round == 0) {
      products_done(context, merbit_plan_update_values(b.plan, fresh, MERBIT_MEMORY_HOST),
                    line);
    }
    free(fresh);
  }
  merbit_plan_destroy(b.plan);
  products_arrays_free(&a);
  return 2 * pairs;
}

#endif /* TEST_SUPPORT_SEMIRINGS_H */
