/* The rules of y = alpha A x + beta y for special numbers, row by row: one table that every
 * kernel must follow, bit for bit (any NaN for a NaN).
 *
 *   sum = +0 + a x + a x + ...   over the row's stored entries, zeros among them, in any order
 *
 *   y = alpha sum                if beta is 0, of either sign: the old y is not read
 *
 *   y = alpha sum + beta y       otherwise
 *
 *   sum = +0                     if alpha is 0, of either sign: neither A nor x is read
 *
 * All in IEEE 754's default rounding, with subnormals. A sum that is zero is therefore +0, and
 * a result is -0 only because of alpha or beta: -1 times an empty row, -0 + -0. An empty row
 * times an alpha of Inf is NaN, like Inf * 0. NaN and Inf change exactly the rows whose entries
 * meet them. Three things are left open, and no row of the table depends on them: the order of
 * a sum, whether a product and a sum are fused (rounded once), and hence the sign of a sum in
 * which every term underflows to zero.
 *
 * Rows with equal alpha and beta share a matrix with empty rows and rows of small integers, and
 * are padded with entries whose product is a zero. */
#ifndef TEST_SUPPORT_RULES_H
#define TEST_SUPPORT_RULES_H
#include <float.h>
#include "support/matrices.h"

#define RULES_ENTRIES 4

typedef struct rules_row {
  double alpha, beta, y0; /* y0 is NaN if beta is 0 */
  double result;
  int count;
  double entries[RULES_ENTRIES][2]; /* a, x */
} rules_row;

#define RULES_INF ((double)INFINITY)
#define RULES_NAN ((double)NAN)

/* M is the largest number, N the least normal one and T the least subnormal one of the type. */
/* clang-format off */
#define RULES_TABLE(M, N, T)                                                                    \
  /* Sums. */                                                                                   \
  {1, 0, RULES_NAN, +0.0, 0, {{0, 0}}},                                                         \
  {1, 0, RULES_NAN, 6, 1, {{2, 3}}},                                                            \
  {1, 0, RULES_NAN, +0.0, 1, {{-0.0, 1}}},                                                      \
  {1, 0, RULES_NAN, +0.0, 1, {{1, -0.0}}},                                                      \
  {1, 0, RULES_NAN, +0.0, 2, {{0, -1}, {-0.0, 3}}},                                             \
  {1, 0, RULES_NAN, +0.0, 2, {{1, 5}, {-1, 5}}},                                                \
  {1, 0, RULES_NAN, +0.0, 2, {{1, M}, {1, -M}}},                                                \
  {1, 0, RULES_NAN, RULES_NAN, 1, {{1, RULES_NAN}}},                                            \
  {1, 0, RULES_NAN, RULES_NAN, 2, {{RULES_NAN, 0}, {1, 1}}},                                    \
  {1, 0, RULES_NAN, RULES_INF, 2, {{2, RULES_INF}, {1, -M}}},                                   \
  {1, 0, RULES_NAN, -RULES_INF, 1, {{-2, RULES_INF}}},                                          \
  {1, 0, RULES_NAN, RULES_INF, 2, {{RULES_INF, 2}, {RULES_INF, 1}}},                            \
  {1, 0, RULES_NAN, RULES_INF, 1, {{1, RULES_INF}}},                                            \
  {1, 0, RULES_NAN, RULES_NAN, 1, {{0, RULES_INF}}},                                            \
  {1, 0, RULES_NAN, RULES_NAN, 1, {{-RULES_INF, 0}}},                                           \
  {1, 0, RULES_NAN, RULES_NAN, 2, {{1, RULES_INF}, {1, -RULES_INF}}},                           \
  {1, 0, RULES_NAN, RULES_NAN, 3, {{1, RULES_INF}, {1, RULES_NAN}, {1, 1}}},                    \
  {1, 0, RULES_NAN, RULES_INF, 2, {{1, M}, {1, M}}},                                            \
  {1, 0, RULES_NAN, -RULES_INF, 2, {{1, -M}, {1, -M}}},                                         \
  {1, 0, RULES_NAN, RULES_INF, 1, {{M, 2}}},                                                    \
  {1, 0, RULES_NAN, M, 1, {{1, M}}},                                                            \
  {1, 0, RULES_NAN, T, 1, {{1, T}}},                                                            \
  {1, 0, RULES_NAN, -3 * (T), 3, {{1, -(T)}, {1, -(T)}, {1, -(T)}}},                            \
  {1, 0, RULES_NAN, (N) / 2, 2, {{1, 1.5 * (N)}, {1, -(N)}}},                                   \
  {1, 0, RULES_NAN, (T) * 0x1p100, 1, {{T, 0x1p100}}},                                          \
  {1, 0, RULES_NAN, (T) * 0x1p100, 1, {{0x1p100, T}}},                                          \
  {1, 0, RULES_NAN, +0.0, 1, {{T, 0.5}}},                                                       \
  {1, 0, RULES_NAN, T, 1, {{0.75, T}}},                                                         \
  {1, 0, RULES_NAN, +0.0, 1, {{N, N}}},                                                         \
  /* alpha times a sum. */                                                                      \
  {-1, 0, RULES_NAN, -0.0, 0, {{0, 0}}},                                                        \
  {-1, 0, RULES_NAN, -0.0, 2, {{1, 5}, {-1, 5}}},                                               \
  {-1, 0, RULES_NAN, -0.0, 1, {{1, -0.0}}},                                                     \
  {-1, 0, RULES_NAN, -6, 1, {{2, 3}}},                                                          \
  {-1, 0, RULES_NAN, -RULES_INF, 1, {{1, RULES_INF}}},                                          \
  {-1, 0, RULES_NAN, RULES_NAN, 1, {{1, RULES_NAN}}},                                           \
  {-1, 0, RULES_NAN, -(T), 1, {{1, T}}},                                                        \
  {2, 0, RULES_NAN, RULES_INF, 1, {{1, M}}},                                                    \
  {2, 0, RULES_NAN, -RULES_INF, 1, {{-1, M}}},                                                  \
  {2, 0, RULES_NAN, 2 * (T), 1, {{1, T}}},                                                      \
  {0.5, 0, RULES_NAN, RULES_INF, 2, {{1, M}, {1, M}}},                                          \
  {0.5, 0, RULES_NAN, +0.0, 1, {{1, T}}},                                                       \
  {0.5, 0, RULES_NAN, -0.0, 1, {{-1, T}}},                                                      \
  {0.5, 0, RULES_NAN, 2 * (T), 1, {{1, 3 * (T)}}},                                              \
  {M, 0, RULES_NAN, RULES_INF, 1, {{1, 2}}},                                                    \
  {M, 0, RULES_NAN, (M) / 2, 1, {{1, 0.5}}},                                                    \
  {M, 0, RULES_NAN, +0.0, 0, {{0, 0}}},                                                         \
  {T, 0, RULES_NAN, (T) * 0x1p100, 1, {{1, 0x1p100}}},                                          \
  {T, 0, RULES_NAN, RULES_INF, 1, {{1, RULES_INF}}},                                            \
  {T, 0, RULES_NAN, RULES_NAN, 1, {{1, RULES_NAN}}},                                            \
  {T, 0, RULES_NAN, +0.0, 0, {{0, 0}}},                                                         \
  {-(T), 0, RULES_NAN, -0.0, 1, {{1, 0.5}}},                                                    \
  {RULES_INF, 0, RULES_NAN, RULES_NAN, 0, {{0, 0}}},                                            \
  {RULES_INF, 0, RULES_NAN, RULES_NAN, 2, {{1, 5}, {-1, 5}}},                                   \
  {RULES_INF, 0, RULES_NAN, RULES_INF, 1, {{1, T}}},                                            \
  {RULES_INF, 0, RULES_NAN, -RULES_INF, 1, {{1, -RULES_INF}}},                                  \
  {-RULES_INF, 0, RULES_NAN, RULES_NAN, 0, {{0, 0}}},                                           \
  {-RULES_INF, 0, RULES_NAN, -RULES_INF, 1, {{1, 2}}},                                          \
  {RULES_NAN, 0, RULES_NAN, RULES_NAN, 0, {{0, 0}}},                                            \
  {RULES_NAN, 0, RULES_NAN, RULES_NAN, 1, {{1, 2}}},                                            \
  /* alpha 0: no entry is read. */                                                              \
  {0, 0, RULES_NAN, +0.0, 0, {{0, 0}}},                                                         \
  {0, 0, RULES_NAN, +0.0, 1, {{1, RULES_NAN}}},                                                 \
  {0, 0, RULES_NAN, +0.0, 2, {{RULES_INF, 1}, {-1, 1}}},                                        \
  {-0.0, 0, RULES_NAN, -0.0, 0, {{0, 0}}},                                                      \
  {-0.0, 0, RULES_NAN, -0.0, 2, {{RULES_NAN, 1}, {1, 2}}},                                      \
  {0, 1, 5, 5, 1, {{1, RULES_NAN}}},                                                            \
  {0, 1, -0.0, +0.0, 1, {{-1, 5}}},                                                             \
  {0, 1, RULES_NAN, RULES_NAN, 1, {{1, 1}}},                                                    \
  {0, 1, RULES_INF, RULES_INF, 1, {{1, -RULES_INF}}},                                           \
  {0, 1, -(T), -(T), 1, {{1, 1}}},                                                              \
  {-0.0, 1, -0.0, -0.0, 1, {{1, RULES_INF}}},                                                   \
  {-0.0, 1, 0, +0.0, 0, {{0, 0}}},                                                              \
  {0, 2, M, RULES_INF, 1, {{1, -RULES_INF}}},                                                   \
  {0, 2, T, 2 * (T), 0, {{0, 0}}},                                                              \
  {0, -1, 0, +0.0, 1, {{1, 3}}},                                                                \
  {0, -1, 3, -3, 1, {{RULES_NAN, 3}}},                                                          \
  {0, RULES_INF, 0, RULES_NAN, 0, {{0, 0}}},                                                    \
  {0, RULES_INF, -1, -RULES_INF, 1, {{1, RULES_NAN}}},                                          \
  {0, RULES_NAN, 1, RULES_NAN, 1, {{1, 2}}},                                                    \
  /* beta 0: y is not read. */                                                                  \
  {1, -0.0, RULES_NAN, 6, 1, {{2, 3}}},                                                         \
  {1, -0.0, RULES_NAN, +0.0, 0, {{0, 0}}},                                                      \
  {-1, -0.0, RULES_NAN, -0.0, 0, {{0, 0}}},                                                     \
  /* Both. */                                                                                   \
  {1, 1, -0.0, +0.0, 0, {{0, 0}}},                                                              \
  {1, 1, -0.0, +0.0, 2, {{1, 5}, {-1, 5}}},                                                     \
  {1, 1, 5, 5, 0, {{0, 0}}},                                                                    \
  {1, 1, 4, 10, 1, {{2, 3}}},                                                                   \
  {1, 1, RULES_NAN, RULES_NAN, 1, {{1, 1}}},                                                    \
  {1, 1, RULES_INF, RULES_INF, 1, {{1, -M}}},                                                   \
  {1, 1, RULES_INF, RULES_NAN, 1, {{1, -RULES_INF}}},                                           \
  {1, 1, 1, RULES_NAN, 1, {{0, RULES_INF}}},                                                    \
  {1, 1, M, RULES_INF, 1, {{1, M}}},                                                            \
  {1, 1, T, 2 * (T), 1, {{1, T}}},                                                              \
  {1, 1, -(N), (N) / 2, 1, {{1, 1.5 * (N)}}},                                                   \
  {1, 1, -6, +0.0, 1, {{2, 3}}},                                                                \
  {-1, 1, -0.0, -0.0, 0, {{0, 0}}},                                                             \
  {-1, 1, 0, +0.0, 0, {{0, 0}}},                                                                \
  {-1, 1, -0.0, -0.0, 2, {{1, 5}, {-1, 5}}},                                                    \
  {-1, 1, RULES_INF, RULES_NAN, 1, {{1, RULES_INF}}},                                           \
  {1, -1, 0, +0.0, 0, {{0, 0}}},                                                                \
  {1, -1, RULES_INF, -RULES_INF, 1, {{1, 7}}},                                                  \
  {-1, -1, 0, -0.0, 0, {{0, 0}}},                                                               \
  {-1, -1, 4, -10, 1, {{2, 3}}},                                                                \
  {1, T, 0x1p100, (T) * 0x1p100, 0, {{0, 0}}},                                                  \
  {1, T, RULES_NAN, RULES_NAN, 0, {{0, 0}}},                                                    \
  {1, T, RULES_INF, RULES_INF, 1, {{1, 1}}},                                                    \
  {1, RULES_INF, 0, RULES_NAN, 0, {{0, 0}}},                                                    \
  {1, RULES_INF, -1, -RULES_INF, 0, {{0, 0}}},                                                  \
  {1, RULES_INF, 1, RULES_INF, 1, {{1, 2}}},                                                    \
  {1, RULES_INF, 1, RULES_NAN, 1, {{1, -RULES_INF}}},                                           \
  {1, RULES_NAN, 1, RULES_NAN, 1, {{1, 2}}},                                                    \
  {RULES_INF, 1, -RULES_INF, RULES_NAN, 1, {{1, 2}}},                                           \
  {RULES_INF, 1, 1, RULES_INF, 1, {{1, 2}}},                                                    \
  {RULES_INF, 1, 1, RULES_NAN, 0, {{0, 0}}},                                                    \
  {RULES_NAN, 1, 1, RULES_NAN, 1, {{1, 2}}}
/* clang-format on */

static const rules_row rules_f64[] = {RULES_TABLE(DBL_MAX, DBL_MIN, 0x1p-1074)};
static const rules_row rules_f32[] = {RULES_TABLE((double)FLT_MAX, (double)FLT_MIN, 0x1p-149)};

enum {
  RULES_COUNT = sizeof rules_f64 / sizeof rules_f64[0],
  RULES_SPECIAL = 8 /* columns before those of the special rows */
};

typedef struct rules_case { /* the rows with one alpha and beta, as one product */
  test_matrix m;
  double alpha, beta;
  double *x, *y0, *want;
} rules_case;

TEST_UNUSED static int rules_same(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* Returns whether rows a and b of the table have the same alpha and beta. */
TEST_UNUSED static int rules_pair(const rules_row *a, const rules_row *b) {
  return rules_same(a->alpha, b->alpha) && rules_same(a->beta, b->beta);
}

/* Returns the next row after `index` whose pair of alpha and beta is new; start with -1;
 * RULES_COUNT is the end. */
TEST_UNUSED static int rules_next(int index) {
  int before;
  do {
    index++;
    for (before = 0; before < index && index < RULES_COUNT &&
                     !rules_pair(&rules_f64[before], &rules_f64[index]);
         before++) {
    }
  } while (index < RULES_COUNT && before < index);
  return index;
}

TEST_UNUSED static int rules_all_ones(const rules_row *rule) {
  int i;
  for (i = 0; i < rule->count; i++) {
    if (rule->entries[i][0] != 1) {
      return 0;
    }
  }
  return 1;
}

TEST_UNUSED static double rules_round(double value, int single) {
  return single ? (double)(float)value : value;
}

/* Makes an empty row or one of small integers, which is exact in any order. */
TEST_UNUSED static void rules_plain_row(rules_case *c, int single, int ones, uint64_t *random) {
  static const double old[] = {1, 2, -4, 0.5};
  test_matrix *m = &c->m;
  const int length = (int)test_below(random, 4);
  double sum = 0, scaled;
  int i;
  for (i = 0; i < length; i++) {
    const int column = 2 + (int)test_below(random, RULES_SPECIAL - 2);
    m->col_ind[m->nnz] = column;
    m->values[m->nnz] = ones ? 1 : (double)(1 + test_below(random, 3));
    sum += c->alpha != 0 ? m->values[m->nnz] * c->x[column] : 0;
    m->nnz++;
  }
  c->y0[m->rows] = c->beta == 0 ? RULES_NAN : old[test_below(random, 4)];
  scaled = rules_round(c->alpha * sum, single);
  c->want[m->rows] =
      c->beta == 0
          ? scaled
          : rules_round(scaled + rules_round(c->beta * c->y0[m->rows], single), single);
  m->row_ptr[++m->rows] = m->nnz;
}

/* Makes a row of the table among `fill` entries whose products are zeros of either sign. */
TEST_UNUSED static void rules_special_row(rules_case *c, const rules_row *rule, int64_t fill,
                                          int ones, uint64_t *random) {
  test_matrix *m = &c->m;
  int placed = 0;
  int64_t left = fill + rule->count;
  for (; left > 0; left--) {
    if (test_below(random, left) < rule->count - placed) {
      m->col_ind[m->nnz] = (int32_t)m->cols;
      m->values[m->nnz++] = rule->entries[placed][0];
      c->x[m->cols++] = rule->entries[placed++][1];
    } else {
      m->col_ind[m->nnz] = ones ? 0 : (int32_t)test_below(random, 2);
      m->values[m->nnz++] = ones || test_below(random, 2) ? 1 : -1;
    }
  }
  c->y0[m->rows] = rule->y0;
  c->want[m->rows] = rule->result;
  m->row_ptr[++m->rows] = m->nnz;
}

/* Makes the product of all rows with the alpha and beta of row `index` of the table, in random
 * order, each with `fill` extra zeros; with `ones`, only rows that a pattern can have. */
TEST_UNUSED static void rules_make(int index, int single, int64_t fill, int ones, uint64_t seed,
                                   rules_case *c) {
  const rules_row *table = single ? rules_f32 : rules_f64;
  const int64_t most = RULES_COUNT;
  uint64_t random = seed * 1000003u + (uint64_t)index;
  int i, j, order[RULES_COUNT], count = 0;
  memset(c, 0, sizeof *c);
  c->alpha = table[index].alpha;
  c->beta = table[index].beta;
  (void)snprintf(c->m.name, sizeof c->m.name, "rules, alpha %g, beta %g, %lld zeros%s",
                 c->alpha, c->beta, (long long)fill, ones ? ", ones" : "");
  c->m.row_ptr = (int64_t *)test_allocate(4 * most + 1, sizeof *c->m.row_ptr);
  c->m.col_ind = (int32_t *)test_allocate(most * (fill + 16), sizeof *c->m.col_ind);
  c->m.values = (double *)test_allocate(most * (fill + 16), sizeof *c->m.values);
  c->x = (double *)test_allocate(most * RULES_ENTRIES + RULES_SPECIAL, sizeof(double));
  c->y0 = (double *)test_allocate(4 * most, sizeof(double));
  c->want = (double *)test_allocate(4 * most, sizeof(double));
  for (i = 0; i < RULES_SPECIAL; i++) {
    c->x[i] = i < 2 ? 0 : (double)(i - 1); /* two columns of +0, then 1, 2, ... */
  }
  c->x[1] = ones ? 0 : -0.0;
  c->m.cols = RULES_SPECIAL;
  for (i = 0; i < RULES_COUNT; i++) {
    if (rules_pair(&table[i], &table[index]) && (!ones || rules_all_ones(&table[i]))) {
      j = (int)test_below(&random, count + 1);
      order[count++] = order[j];
      order[j] = i;
    }
  }
  rules_plain_row(c, single, ones, &random);
  for (i = 0; i < count; i++) {
    rules_special_row(c, &table[order[i]], fill, ones, &random);
    if (test_below(&random, 2) == 0) { /* else two special rows are adjacent */
      rules_plain_row(c, single, ones, &random);
    }
  }
  rules_plain_row(c, single, ones, &random);
}

TEST_UNUSED static void rules_free(rules_case *c) {
  test_matrix_free(&c->m);
  free(c->x);
  free(c->y0);
  free(c->want);
  memset(c, 0, sizeof *c);
}

/* Returns how many rows differ from the table, and prints the first. */
TEST_UNUSED static int rules_wrong(const rules_case *c, const void *y, int single,
                                   const char *who) {
  int wrong = 0;
  int64_t row;
  for (row = 0; row < c->m.rows; row++) {
    const double got = single ? (double)((const float *)y)[row] : ((const double *)y)[row];
    if (rules_same(got, c->want[row])) {
      continue;
    }
    if (wrong++ == 0) {
      (void)fprintf(stderr, "%s, %s, %s: y[%lld] of %lld is %g (%a), not %g (%a); it was %g\n",
                    who, single ? "f32" : "f64", c->m.name, (long long)row,
                    (long long)c->m.rows, got, got, c->want[row], c->want[row], c->y0[row]);
    }
  }
  return wrong;
}

#endif /* TEST_SUPPORT_RULES_H */
