/* Matrices from optimisation: linear programs, assignment, networks, interior-point methods. */
#ifndef BENCH_LINEAR_PROGRAMS_H
#define BENCH_LINEAR_PROGRAMS_H
#include "builders.h"
#include <math.h>

/* ---- block-angular ----------------------------------------------------------------------- */

/* A linear program in blocks with linking rows (G. Dantzig, P. Wolfe, Operations Research 8,
 * 1960). Four fifths of the nonzeros are in rows of 8, in diagonal blocks of 5,000 x 7,000. The
 * others are in sqrt(nnz / 1000) rows below them with random columns: 200 rows of 40,000 for
 * 40M nonzeros. */
#define ANGULAR_BLOCK 5000

typedef struct angular {
  int64_t inner, cols, linking; /* rows in blocks; columns; length of a linking row */
  uint64_t key;
} angular;

static int64_t angular_first(int64_t block) {
  return block * ANGULAR_BLOCK / 5 * 7;
}

static int64_t angular_length(const void *parameters, int64_t row) {
  const angular *a = (const angular *)parameters;
  const int64_t wish = row < a->inner ? 8 : a->linking;
  const int64_t low = row < a->inner ? angular_first(row / ANGULAR_BLOCK) : 0;
  return wish < a->cols - low ? wish : a->cols - low;
}

static void angular_fill(const void *parameters, int64_t row, int64_t count, int32_t *columns) {
  const angular *a = (const angular *)parameters;
  int64_t low = 0, high = a->cols;
  if (row < a->inner) {
    low = angular_first(row / ANGULAR_BLOCK);
    high = angular_first(row / ANGULAR_BLOCK + 1);
  }
  bench_spread(a->key, row, count, low, high < a->cols ? high : a->cols, columns);
}

static void bench_generate_block_angular(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const int64_t rows = bench_whole(sqrt((double)nnz / 1000), 1);
  angular a;
  a.inner = bench_whole((double)nnz / 10, 1);
  a.cols = a.inner / 5 * 7 + 8; /* so that the last block has space for a row */
  a.linking = bench_whole((double)nnz / 5 / (double)rows, 1);
  a.key = bench_key(seed, 50);
  m->rows = a.inner + rows;
  m->cols = a.cols;
  bench_build_lengths(m, angular_length, angular_fill, &a);
}

/* ---- wide-lp: set partitioning, as in crew scheduling ------------------------------------ */

/* 36 rows, nnz / 7.28 columns. The fullest row has two columns in five, the emptiest 1 / 71 of
 * that; the rows are in random order. */
#define WIDE_LP_ROWS 36

typedef struct wide_lp {
  int64_t cols;
  uint64_t order, key;
} wide_lp;

static int64_t wide_lp_length(const void *parameters, int64_t row) {
  const wide_lp *w = (const wide_lp *)parameters;
  const int64_t rank = bench_permute_below(w->order, 6, WIDE_LP_ROWS, row);
  return bench_whole(0.4045 * (double)(2 * rank + 1) / (2 * WIDE_LP_ROWS) * (double)w->cols, 1);
}

static void wide_lp_fill(const void *parameters, int64_t row, int64_t count, int32_t *columns) {
  const wide_lp *w = (const wide_lp *)parameters;
  bench_spread(w->key, row, count, 0, w->cols, columns);
}

static void bench_generate_wide_lp(bench_matrix *m, int64_t nnz, uint64_t seed) {
  wide_lp w;
  w.cols = bench_whole((double)nnz / 7.28, 1);
  w.order = bench_key(seed, 51);
  w.key = bench_key(seed, 52);
  m->rows = WIDE_LP_ROWS;
  m->cols = w.cols;
  bench_build_lengths(m, wide_lp_length, wide_lp_fill, &w);
}

/* ---- assignment: n agents and n tasks, a column for each pair ---------------------------- */

/* 2 n rows of n columns: n consecutive ones for an agent, every n-th one for a task. */
static int64_t assignment_length(const void *parameters, int64_t row) {
  (void)row;
  return *(const int64_t *)parameters;
}

static void assignment_fill(const void *parameters, int64_t row, int64_t count,
                            int32_t *columns) {
  const int64_t n = *(const int64_t *)parameters;
  bench_stride(row < n ? row * n : row - n, row < n ? 1 : n, count, columns);
}

static void bench_generate_assignment(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const int64_t n = bench_whole(sqrt((double)nnz / 2), 1);
  (void)seed;
  m->rows = 2 * n;
  m->cols = n * n;
  bench_build_lengths(m, assignment_length, assignment_fill, &n);
}

/* ---- incidence: nodes and arcs of a network ---------------------------------------------- */

/* nnz / 2 arcs (columns) and an eighth as many nodes (rows). An arc leads from its node to
 * another one: in one case of ten to any, otherwise to one at most 100 nodes further. */
typedef struct incidence {
  int64_t nodes;
  uint64_t kinds, heads;
} incidence;

static void incidence_edge(const void *parameters, int64_t edge, int32_t *row,
                           int32_t *column) {
  const incidence *n = (const incidence *)parameters;
  const int64_t arc = edge / 2, tail = arc / 8 % n->nodes;
  const int far = bench_uniform(n->kinds, (uint64_t)arc) < 0.1;
  const int64_t reach = far || n->nodes < 102 ? n->nodes - 1 : 100;
  const int64_t step = 1 + bench_below(n->heads, (uint64_t)arc, reach);
  *row = (int32_t)(edge % 2 == 0 ? tail : (tail + step) % n->nodes);
  *column = (int32_t)arc;
}

static void bench_generate_incidence(bench_matrix *m, int64_t nnz, uint64_t seed) {
  incidence n;
  m->cols = bench_whole((double)nnz / 2, 1);
  m->rows = n.nodes = (m->cols + 7) / 8 + 1;
  n.kinds = bench_key(seed, 53);
  n.heads = bench_key(seed, 54);
  bench_build_edges(m, incidence_edge, &n, 2 * m->cols, 0);
}

/* ---- kkt: the saddle point of an interior-point method or a constrained PDE -------------- */

/* Symmetric, (H, A'; A, 0): H is a 5-point stencil on nnz / 9 variables. A has half as many
 * constraints, each on 4 variables within 64 of each other. */
typedef struct kkt {
  int64_t variables, side;
  uint64_t key;
} kkt;

static void kkt_edge(const void *parameters, int64_t edge, int32_t *row, int32_t *column) {
  const kkt *k = (const kkt *)parameters;
  const int64_t n = k->variables;
  if (edge < 3 * n) {
    const int64_t steps[3] = {0, 1, k->side};
    *row = (int32_t)(edge / 3);
    *column = (int32_t)((edge / 3 + steps[edge % 3]) % n);
  } else {
    const int64_t constraint = (edge - 3 * n) / 4, i = (edge - 3 * n) % 4;
    *row = (int32_t)(n + constraint);
    *column =
        (int32_t)((2 * constraint + 16 * i + bench_below(k->key, (uint64_t)edge, 16)) % n);
  }
}

static void bench_generate_kkt(bench_matrix *m, int64_t nnz, uint64_t seed) {
  kkt k;
  k.variables = bench_whole((double)nnz / 9, 1);
  k.side = bench_whole(sqrt((double)k.variables), 2);
  k.key = bench_key(seed, 55);
  m->rows = m->cols = k.variables + k.variables / 2;
  bench_build_edges(m, kkt_edge, &k, 3 * k.variables + 4 * (k.variables / 2), 1);
}

#endif
