/* PageRank computed independently of the library, and graphs to compare on. Include after
 * merbit.h and cmocka.h. */
#ifndef TEST_SOLVE_PAGERANK_REFERENCE_H
#define TEST_SOLVE_PAGERANK_REFERENCE_H
#include "support/matrices.h"

typedef struct edges { /* of a graph with n vertices; duplicates allowed */
  int64_t n, count;
  const int64_t *from, *to;
  const double *weight; /* NULL: ones */
} edges;

typedef struct reference {
  long double *ranks, *change; /* change[k]: of iteration k + 1 */
  int iterations;
  int64_t dangling, most_in, most_out; /* edges into or out of a vertex */
} reference;

/* target[i] = weights[i] of their sum; NULL: all alike. */
TEST_UNUSED static void reference_shares(const double *weights, int64_t n,
                                         long double *target) {
  long double sum = 0;
  int64_t i;
  for (i = 0; i < n; i++) {
    sum += weights != NULL ? (long double)weights[i] : 1;
  }
  for (i = 0; i < n; i++) {
    target[i] = (weights != NULL ? (long double)weights[i] : 1) / sum;
  }
}

/* Exactly `iterations` steps from ranks like `start`, teleports like `teleport`; NULL: all
 * alike. */
TEST_UNUSED static reference reference_make(const edges *e, double damping, int iterations,
                                            const double *teleport, const double *start) {
  reference r;
  long double *share = (long double *)test_allocate(e->n, sizeof *share);
  long double *out = (long double *)test_allocate(e->n, sizeof *out);
  long double *next = (long double *)test_allocate(e->n, sizeof *next);
  int64_t *in = (int64_t *)test_allocate(e->n, sizeof *in);
  int64_t *leaving = (int64_t *)test_allocate(e->n, sizeof *leaving);
  const long double d = (long double)damping;
  int64_t i, k;
  int step;
  memset(&r, 0, sizeof r);
  r.iterations = iterations;
  r.ranks = (long double *)test_allocate(e->n, sizeof *r.ranks);
  r.change = (long double *)test_allocate(iterations, sizeof *r.change);
  for (k = 0; k < e->count; k++) {
    out[e->from[k]] += e->weight != NULL ? (long double)e->weight[k] : 1.0L;
    in[e->to[k]]++;
    leaving[e->from[k]]++;
  }
  reference_shares(start, e->n, r.ranks);
  reference_shares(teleport, e->n, share);
  for (i = 0; i < e->n; i++) {
    r.dangling += out[i] == 0;
    r.most_in = in[i] > r.most_in ? in[i] : r.most_in;
    r.most_out = leaving[i] > r.most_out ? leaving[i] : r.most_out;
  }
  for (step = 0; step < iterations; step++) {
    long double lost = 0;
    for (i = 0; i < e->n; i++) {
      next[i] = 0;
      lost += out[i] == 0 ? r.ranks[i] : 0;
    }
    for (k = 0; k < e->count; k++) {
      if (out[e->from[k]] > 0) {
        next[e->to[k]] += r.ranks[e->from[k]] / out[e->from[k]] *
                          (e->weight != NULL ? (long double)e->weight[k] : 1.0L);
      }
    }
    for (i = 0; i < e->n; i++) {
      long double rank = d * next[i] + (1 - d + d * lost) * share[i];
      r.change[step] += fabsl(rank - r.ranks[i]);
      r.ranks[i] = rank;
    }
  }
  free(share);
  free(out);
  free(next);
  free(in);
  free(leaving);
  return r;
}

TEST_UNUSED static void reference_free(reference *r) {
  free(r->ranks);
  free(r->change);
}

/* All terms are positive, so an iteration adds at most `step` to every relative error: (2 k +
 * 8) u (k: the most edges into a vertex, for their product and for the sums of duplicates; the
 * rest for z and back, the weight, the damping and the base in u), and in double what summing
 * the weights that leave a vertex, the dangling ranks (8192: those that are added up one by
 * one, then their sums) and the two distributions costs. In the sum of all errors the old ones
 * shrink by d: it stays below step / (1 - d). */
TEST_UNUSED static void check_ranks_from(const edges *e, double damping, double tolerance,
                                         merbit_type type, const double *teleport,
                                         const double *start, const void *ranks,
                                         const merbit_pagerank_result *result) {
  reference r = reference_make(e, damping, result->iterations, teleport, start);
  const long double u = type == MERBIT_F32 ? 0x1p-24L : 0x1p-53L;
  const long double sums =
      (long double)((r.dangling < 8192 ? r.dangling : 8192) + r.dangling / 8192 + r.most_out +
                    (teleport != NULL ? e->n + 4 : 0) + (start != NULL ? e->n + 4 : 0));
  const long double step = (2.0L * (long double)r.most_in + 8) * u + sums * 0x1p-53L;
  const long double all = step / (1 - (long double)damping);
  long double error = 0, sum = 0, last;
  int64_t i;
  for (i = 0; i < e->n; i++) {
    const long double rank = type == MERBIT_F32 ? (long double)((const float *)ranks)[i]
                                                : (long double)((const double *)ranks)[i];
    assert_true(fabsl(rank - r.ranks[i]) <=
                step * (long double)(result->iterations + 1) * r.ranks[i]);
    error += fabsl(rank - r.ranks[i]);
    sum += rank;
  }
  assert_true(error <= all);
  assert_true(fabsl(sum - 1) <= all);
  assert_int_equal(result->dangling, r.dangling);
  assert_true(result->iterations >= 1);
  last = r.change[result->iterations - 1];
  assert_true(fabsl((long double)result->change - last) <= 2 * all);
  if (result->stop == MERBIT_STOP_CONVERGED) {
    assert_true(last < (long double)tolerance + 2 * all);
    assert_true(result->iterations == 1 ||
                r.change[result->iterations - 2] >= (long double)tolerance - 2 * all);
  }
  reference_free(&r);
}

TEST_UNUSED static void check_ranks(const edges *e, double damping, double tolerance,
                                    merbit_type type, const void *ranks,
                                    const merbit_pagerank_result *result) {
  check_ranks_from(e, damping, tolerance, type, NULL, NULL, ranks, result);
}

/* A COO view with 64-bit indices. */
TEST_UNUSED static merbit_view coo(const edges *e) {
  merbit_view view;
  memset(&view, 0, sizeof view);
  view.format = MERBIT_COO;
  view.index_type = MERBIT_INDEX_64;
  view.rows = view.cols = e->n;
  view.nnz = e->count;
  view.row_ind = e->from;
  view.col_ind = e->to;
  view.values = e->weight;
  return view;
}

/* The same graph in f64 and f32 against the reference; the f64 ranks are returned to be freed.
 */
TEST_UNUSED static double *check_graph(merbit_context *context, const edges *e, double damping,
                                       double tolerance) {
  double *ranks = (double *)test_allocate(e->n, sizeof *ranks);
  float *ranks_f32 = (float *)test_allocate(e->n, sizeof *ranks_f32);
  float *weight_f32 = (float *)test_allocate(e->count, sizeof *weight_f32);
  double *rounded = (double *)test_allocate(e->count, sizeof *rounded);
  edges single = *e;
  merbit_view view = coo(e);
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  int64_t k;
  memset(&desc, 0, sizeof desc);
  desc.damping = damping;
  desc.tolerance = tolerance;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_true(strlen(result.description) > 10);
  check_ranks(e, damping, tolerance, MERBIT_F64, ranks, &result);
  for (k = 0; k < e->count && e->weight != NULL; k++) {
    weight_f32[k] = (float)e->weight[k];
    rounded[k] = (double)weight_f32[k];
  }
  single.weight = e->weight != NULL ? rounded : NULL;
  view.value_type = MERBIT_F32;
  view.values = e->weight != NULL ? weight_f32 : NULL;
  desc.tolerance = 1e-6;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks_f32, &result), MERBIT_OK);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  check_ranks(&single, damping, 1e-6, MERBIT_F32, ranks_f32, &result);
  free(ranks_f32);
  free(weight_f32);
  free(rounded);
  return ranks;
}

TEST_UNUSED static edges edges_of(int64_t n, int64_t count, const int64_t *from,
                                  const int64_t *to, const double *weight) {
  edges e;
  e.n = n;
  e.count = count;
  e.from = from;
  e.to = to;
  e.weight = weight;
  return e;
}

/* Edges of a generated square matrix, weights without sign; free from, to and weight. */
TEST_UNUSED static edges edges_random(const test_matrix *m) {
  int64_t *from = (int64_t *)test_allocate(m->nnz, sizeof *from);
  int64_t *to = (int64_t *)test_allocate(m->nnz, sizeof *to);
  double *weight = (double *)test_allocate(m->nnz, sizeof *weight);
  int64_t row, k;
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      from[k] = row;
      to[k] = m->col_ind[k];
      weight[k] = fabs(m->values[k]);
    }
  }
  return edges_of(m->rows, m->nnz, from, to, weight);
}

TEST_UNUSED static void edges_free(edges *e) {
  free((void *)(uintptr_t)e->from);
  free((void *)(uintptr_t)e->to);
  free((void *)(uintptr_t)e->weight);
}

/* Every `stride`-th of the generated matrices. */
TEST_UNUSED static void check_random_graphs(merbit_context *context, int stride) {
  int index, tried = 0;
  for (index = 0; index < test_matrix_count(); index += stride) {
    test_matrix m;
    test_matrix_make(index, 11, &m);
    if (m.rows == m.cols && m.rows > 0) {
      edges e = edges_random(&m);
      free(check_graph(context, &e, 0.85, 1e-12));
      edges_free(&e);
      tried++;
    }
    test_matrix_free(&m);
  }
  assert_true(tried >= 10 / stride);
}

#endif /* TEST_SOLVE_PAGERANK_REFERENCE_H */
