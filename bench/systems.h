/* Linear systems made from the structure of a square matrix, and checks of solutions. */
#ifndef BENCH_SYSTEMS_H
#define BENCH_SYSTEMS_H
#include "builders.h"
#include <math.h>

#define BENCH_SHIFT 0.01 /* how much a diagonal exceeds the absolute sum of its row */

typedef enum bench_system {
  BENCH_SYSTEM_SPD,   /* symmetrised, with dominant diagonal; random values, or -1 if equal */
  BENCH_SYSTEM_ONES,  /* undirected graph with ones: for BiCGSTAB in the MERBIT paper, 5.5.2 */
  BENCH_SYSTEM_FLOW,  /* convection and diffusion: like SPD, but stronger against the current */
  BENCH_SYSTEM_GIVEN, /* the matrix itself */
  BENCH_SYSTEMS
} bench_system;
static const char *const bench_system_names[] = {"spd", "ones", "flow", "given"};

static int64_t bench_row_of(const bench_matrix *m, int64_t k) {
  int64_t low = 0, high = m->rows; /* row_ptr[low] <= k < row_ptr[high] */
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (m->row_ptr[middle] <= k) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Gives the matrix's entries as edges, followed by the diagonal. */
static void bench_system_edge(const void *parameters, int64_t edge, int32_t *row,
                              int32_t *column) {
  const bench_matrix *m = (const bench_matrix *)parameters;
  *row = (int32_t)(edge < m->nnz ? bench_row_of(m, edge) : edge - m->nnz);
  *column = edge < m->nnz ? m->col_ind[edge] : *row;
}

static void bench_transposed_edge(const void *parameters, int64_t edge, int32_t *row,
                                  int32_t *column) {
  bench_system_edge(parameters, edge, column, row);
}

/* Returns an off-diagonal value, which depends on the pair, so that both triangles agree. In
 * the flow, entries against the current, towards lower numbers, are three times as strong. */
static double bench_coupling(int64_t row, int64_t column, bench_system system, int equal) {
  const int64_t low = row < column ? row : column, high = row < column ? column : row;
  const double u = equal ? 0.5 : bench_uniform(bench_key((uint64_t)low, 40), (uint64_t)high);
  return -(0.5 + u) * (system == BENCH_SYSTEM_FLOW ? (row < column ? 0.5 : 1.5) : 1.0);
}

static void bench_system_values(bench_matrix *a, bench_system system, int equal) {
  int64_t row;
  a->values = (double *)bench_allocate(a->nnz, sizeof *a->values);
  BENCH_OMP(parallel for schedule(dynamic, 1024))
  for (row = 0; row < a->rows; row++) {
    int64_t k, diagonal = -1;
    double sum = BENCH_SHIFT;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      if (system == BENCH_SYSTEM_ONES) {
        a->values[k] = 1;
      } else if (a->col_ind[k] == row) {
        diagonal = k;
      } else {
        a->values[k] = bench_coupling(row, a->col_ind[k], system, equal);
        sum += fabs(a->values[k]);
      }
    }
    if (diagonal >= 0) {
      a->values[diagonal] = sum;
    }
  }
}

/* Makes the system `a` from the square matrix `m`. */
static void bench_system_make(const bench_matrix *m, bench_system system, int equal,
                              bench_matrix *a) {
  memset(a, 0, sizeof *a);
  (void)snprintf(a->name, sizeof a->name, "%.200s, %s%s", m->name, bench_system_names[system],
                 equal && system != BENCH_SYSTEM_GIVEN ? " of equal values" : "");
  a->rows = a->cols = m->rows;
  if (system == BENCH_SYSTEM_GIVEN) {
    a->nnz = m->nnz;
    a->row_ptr = (int32_t *)bench_allocate(m->rows + 1, sizeof *a->row_ptr);
    a->col_ind = (int32_t *)bench_allocate(m->nnz, sizeof *a->col_ind);
    a->values = (double *)bench_allocate(m->nnz, sizeof *a->values);
    memcpy(a->row_ptr, m->row_ptr, (size_t)(m->rows + 1) * sizeof *a->row_ptr);
    memcpy(a->col_ind, m->col_ind, (size_t)m->nnz * sizeof *a->col_ind);
    memcpy(a->values, m->values, (size_t)m->nnz * sizeof *a->values);
    return;
  }
  bench_build_edges(a, bench_system_edge, m,
                    m->nnz + (system == BENCH_SYSTEM_ONES ? 0 : m->rows), 1);
  bench_system_values(a, system, equal);
}

/* Computes y = A x. */
static void bench_host_product(const bench_matrix *a, const double *x, double *y) {
  int64_t row;
  BENCH_OMP(parallel for schedule(dynamic, 1024))
  for (row = 0; row < a->rows; row++) {
    long double sum = 0; /* millions of equal terms would all be rounded the same way */
    int64_t k;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      sum += (long double)a->values[k] * x[a->col_ind[k]];
    }
    y[row] = (double)sum;
  }
}

/* Returns ||b - A x|| / ||b||. Sums are in long double. */
static double bench_true_residual(const bench_matrix *a, const double *b, const double *x) {
  double *y = (double *)bench_allocate(a->rows, sizeof *y);
  long double rr = 0, bb = 0;
  int64_t i;
  bench_host_product(a, x, y);
  for (i = 0; i < a->rows; i++) {
    rr += ((long double)b[i] - y[i]) * ((long double)b[i] - y[i]);
    bb += (long double)b[i] * b[i];
  }
  free(y);
  return bb > 0 ? (double)sqrtl(rr / bb) : 0;
}

/* ---- PageRank ---------------------------------------------------------------------------- */

/* Makes the transition matrix P' of the graph `m`, in which every edge counts as one, and marks
 * the dangling vertices, which have no outgoing edges. Returns their number. */
static int64_t bench_transition(const bench_matrix *m, bench_matrix *p,
                                unsigned char *dangling) {
  int64_t count = 0, i;
  memset(p, 0, sizeof *p);
  (void)snprintf(p->name, sizeof p->name, "%s", m->name);
  p->rows = p->cols = m->rows;
  bench_build_edges(p, bench_transposed_edge, m, m->nnz, 0);
  p->values = (double *)bench_allocate(p->nnz, sizeof *p->values);
  for (i = 0; i < m->rows; i++) {
    dangling[i] = m->row_ptr[i] == m->row_ptr[i + 1];
    count += dangling[i];
  }
  BENCH_OMP(parallel for schedule(static))
  for (i = 0; i < p->nnz; i++) {
    const int64_t source = p->col_ind[i];
    p->values[i] = 1.0 / (double)(m->row_ptr[source + 1] - m->row_ptr[source]);
  }
  return count;
}

/* Performs one iteration in double. Returns the L1 change. */
static double bench_rank_step(const bench_matrix *p, const unsigned char *dangling,
                              double damping, double *x, double *y) {
  const double n = (double)p->rows;
  double mass = 0, change = 0, base;
  int64_t i;
  BENCH_OMP(parallel for schedule(static) reduction(+ : mass))
  for (i = 0; i < p->rows; i++) {
    mass += dangling[i] ? x[i] : 0;
  }
  bench_host_product(p, x, y);
  base = (1 - damping + damping * mass) / n;
  BENCH_OMP(parallel for schedule(static) reduction(+ : change))
  for (i = 0; i < p->rows; i++) {
    const double rank = damping * y[i] + base;
    change += fabs(rank - x[i]);
    x[i] = rank;
  }
  return change;
}

/* Computes the ranks to the last bits. x may hold any ranks initially, because the iteration
 * always converges to the same ones. */
static void bench_rank_reference(const bench_matrix *p, const unsigned char *dangling,
                                 double damping, double *x) {
  double *y = (double *)bench_allocate(p->rows, sizeof *y);
  double change = 1, before = 2;
  int i;
  for (i = 0; i < 400 && change > 1e-15 && (change > 1e-13 || change < 0.95 * before); i++) {
    before = change;
    change = bench_rank_step(p, dangling, damping, x, y);
  }
  free(y);
}

/* Performs `count` iterations on the ranks in x. */
static void bench_rank_steps(const bench_matrix *p, const unsigned char *dangling,
                             double damping, int count, double *x) {
  double *y = (double *)bench_allocate(p->rows, sizeof *y);
  int i;
  for (i = 0; i < count; i++) {
    (void)bench_rank_step(p, dangling, damping, x, y);
  }
  free(y);
}

typedef struct bench_rank_error {
  double relative; /* the largest of all vertices: ERR in the MERBIT paper, 5.5.1 */
  double sum;      /* L1 */
} bench_rank_error;

static bench_rank_error bench_rank_compare(const double *reference, const void *ranks,
                                           int single, int64_t n) {
  bench_rank_error error;
  double relative = 0, sum = 0;
  int64_t i;
  BENCH_OMP(parallel for schedule(static) reduction(+ : sum) reduction(max : relative))
  for (i = 0; i < n; i++) {
    const double rank = single ? (double)((const float *)ranks)[i] : ((const double *)ranks)[i];
    const double off = fabs(rank - reference[i]);
    sum += off;
    relative = !(off / reference[i] <= relative) ? off / reference[i] : relative;
  }
  error.relative = relative;
  error.sum = sum;
  return error;
}

#endif
