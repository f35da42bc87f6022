/* PageRank computed independently of the library, and graphs for comparisons. Include after
 * merbit.h and cmocka.h. */
#ifndef TEST_SOLVE_PAGERANK_REFERENCE_H
#define TEST_SOLVE_PAGERANK_REFERENCE_H
#include "support/matrices.h"

typedef struct edges { /* of a graph with n vertices; duplicates are allowed */
  int64_t n, count;
  const int64_t *from, *to;
  const double *weight; /* NULL: ones */
} edges;

typedef struct reference {
  long double *ranks, *change; /* change[k]: of iteration k + 1 */
  long double *error;          /* largest rounding error of each rank */
  long double *slack;          /* and of each change */
  int *relaxed;                /* accelerated iterations */
  int iterations;
  int64_t dangling;
} reference;

typedef struct reference_run { /* parameters of a run */
  double damping, tolerance;
  merbit_type type;
  int cap, plain; /* most iterations; plain: without relaxation */
  const double *teleport, *start;
} reference_run;

/* Sets target[i] to weights[i] over their sum; NULL: all equal. */
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

typedef struct reference_work { /* weights that leave and enter a graph's vertices */
  long double *out, *share, *next, *next_error, *past, *past_error;
  int64_t *in, *leaving;
} reference_work;

TEST_UNUSED static void reference_free(reference *r) {
  free(r->ranks);
  free(r->change);
  free(r->error);
  free(r->slack);
  free(r->relaxed);
}

/* Computes target = damping P^T from + (base + damping lost) share, where the weights of P, as
 * in mbi_pagerank, add up to 1 for each vertex. */
TEST_UNUSED static void reference_step(const edges *e, const reference_work *w,
                                       long double damping, long double base,
                                       const long double *from, long double *target) {
  long double lost = 0;
  int64_t i, k;
  for (i = 0; i < e->n; i++) {
    target[i] = 0;
    lost += w->out[i] == 0 ? from[i] : 0;
  }
  for (k = 0; k < e->count; k++) {
    if (w->out[e->from[k]] > 0) {
      target[e->to[k]] += from[e->from[k]] / w->out[e->from[k]] *
                          (e->weight != NULL ? (long double)e->weight[k] : 1.0L);
    }
  }
  for (i = 0; i < e->n; i++) {
    target[i] = damping * target[i] + (base + damping * lost) * w->share[i];
  }
}

TEST_UNUSED static reference_work reference_work_make(const edges *e, reference *r,
                                                      const reference_run *run) {
  reference_work w;
  int64_t i, k;
  memset(r, 0, sizeof *r);
  w.out = (long double *)test_allocate(e->n, sizeof *w.out);
  w.share = (long double *)test_allocate(e->n, sizeof *w.share);
  w.next = (long double *)test_allocate(e->n, sizeof *w.next);
  w.next_error = (long double *)test_allocate(e->n, sizeof *w.next_error);
  w.past = (long double *)test_allocate(e->n, sizeof *w.past);
  w.past_error = (long double *)test_allocate(e->n, sizeof *w.past_error);
  w.in = (int64_t *)test_allocate(e->n, sizeof *w.in);
  w.leaving = (int64_t *)test_allocate(e->n, sizeof *w.leaving);
  r->ranks = (long double *)test_allocate(e->n, sizeof *r->ranks);
  r->error = (long double *)test_allocate(e->n, sizeof *r->error);
  for (k = 0; k < e->count; k++) {
    w.out[e->from[k]] += e->weight != NULL ? (long double)e->weight[k] : 1.0L;
    w.in[e->to[k]]++;
    w.leaving[e->from[k]]++;
  }
  reference_shares(run->start, e->n, r->ranks);
  reference_shares(run->teleport, e->n, w.share);
  for (i = 0; i < e->n; i++) {
    r->dangling += w.out[i] == 0;
  }
  return w;
}

TEST_UNUSED static void reference_work_free(reference_work *w) {
  free(w->out);
  free(w->share);
  free(w->next);
  free(w->next_error);
  free(w->past);
  free(w->past_error);
  free(w->in);
  free(w->leaving);
}

/* Returns the relative error that an iteration of the power method adds: 2 k + 8 u, where k is
 * the most edges into a vertex (for their products and the sums of duplicates) and the rest is
 * for z and back, the weight, the damping and the base; and in double the error of summing the
 * weights that leave a vertex, the dangling ranks (8192: those added one by one, then their
 * sums) and the two distributions. */
TEST_UNUSED static long double reference_rounding(const edges *e, const reference_work *w,
                                                  const reference *r,
                                                  const reference_run *run) {
  const long double u = run->type == MERBIT_F32 ? 0x1p-24L : 0x1p-53L;
  int64_t most_in = 0, most_out = 0, i;
  for (i = 0; i < e->n; i++) {
    most_in = w->in[i] > most_in ? w->in[i] : most_in;
    most_out = w->leaving[i] > most_out ? w->leaving[i] : most_out;
  }
  return (2.0L * (long double)most_in + 8) * u +
         0x1p-53L *
             (long double)((r->dangling < 8192 ? r->dangling : 8192) + r->dangling / 8192 +
                           most_out + (run->teleport != NULL ? e->n + 4 : 0) +
                           (run->start != NULL ? e->n + 4 : 0));
}

/* Does exactly `iterations` steps. The library decides, from these changes, how far each step
 * goes; the result, and the rounding error it may have, is computed here. */
TEST_UNUSED static reference reference_make(const edges *e, int iterations,
                                            const reference_run *run) {
  reference r;
  reference_work w = reference_work_make(e, &r, run);
  const long double step = reference_rounding(e, &w, &r, run), d = (long double)run->damping;
  mbi_solve_memory *memory = (mbi_solve_memory *)test_allocate(1, sizeof *memory);
  double *scalar = memory->state.scalar;
  int64_t i;
  int k;
  r.iterations = iterations;
  r.change = (long double *)test_allocate(iterations, sizeof *r.change);
  r.slack = (long double *)test_allocate(iterations, sizeof *r.slack);
  r.relaxed = (int *)test_allocate(iterations, sizeof *r.relaxed);
  scalar[MBI_PAGERANK_DAMPING] = run->damping;
  scalar[MBI_PAGERANK_SUM] = 1;
  scalar[MBI_PAGERANK_LEAST] = DBL_MAX;
  scalar[MBI_PAGERANK_MOST] = run->plain ? 1 : 2;
  mbi_pagerank_relax(&memory->state, 1);
  memory->state.tolerance = run->tolerance;
  memory->state.cap = run->cap;
  for (i = 0; i < e->n; i++) {
    r.error[i] = step * r.ranks[i];
  }
  for (k = 0; k < iterations; k++) {
    const long double factor = (long double)scalar[MBI_PAGERANK_RELAX];
    r.relaxed[k] = factor > 1;
    reference_step(e, &w, d, 1 - d, r.ranks, w.next);
    reference_step(e, &w, d, 0, r.error, w.next_error);
    for (i = 0; i < e->n; i++) {
      const long double old = r.ranks[i], old_error = r.error[i];
      const long double error = w.next_error[i] + step * fabsl(w.next[i]);
      r.change[k] += fabsl(w.next[i] - old);
      r.slack[k] += error + old_error + step * (fabsl(w.next[i]) + fabsl(old));
      r.ranks[i] = factor * w.next[i] + (1 - factor) * w.past[i];
      r.error[i] =
          factor * error + (factor - 1) * w.past_error[i] +
          (factor > 1 ? step * (factor * fabsl(w.next[i]) + (factor - 1) * fabsl(w.past[i]))
                      : 0);
      w.past[i] = old;
      w.past_error[i] = old_error;
    }
    memory->state.stop = MBI_SOLVE_RUNNING; /* the library may stop later */
    mbi_pagerank_decide(memory, (double)r.change[k], 0);
  }
  free(memory);
  reference_work_free(&w);
  return r;
}

/* Checks the L1 distance of `ranks` from the fixed point: for the power method, once an
 * iteration has changed less than the tolerance, at most d / (1 - d) times that, plus
 * rounding. */
TEST_UNUSED static void check_fixed_point(const edges *e, const reference_run *run,
                                          const void *ranks) {
  reference r;
  reference_work w = reference_work_make(e, &r, run);
  const long double step = reference_rounding(e, &w, &r, run), d = (long double)run->damping;
  long double change = 1, error = 0;
  int64_t i;
  int k;
  for (k = 0; k < 5000 && change > 0x1p-60L * (1 - d); k++) {
    reference_step(e, &w, d, 1 - d, r.ranks, w.next);
    change = 0;
    for (i = 0; i < e->n; i++) {
      change += fabsl(w.next[i] - r.ranks[i]);
      r.ranks[i] = w.next[i];
    }
  }
  for (i = 0; i < e->n; i++) {
    const long double rank = run->type == MERBIT_F32 ? (long double)((const float *)ranks)[i]
                                                     : (long double)((const double *)ranks)[i];
    error += fabsl(rank - r.ranks[i]);
  }
  assert_true(error <= (d * ((long double)run->tolerance + change) + 2 * step) / (1 - d));
  reference_free(&r);
  reference_work_free(&w);
}

/* In f64 the ranks of every iteration are known up to rounding. In f32 rounding decides how far
 * an iteration goes, and only the limit is known. */
TEST_UNUSED static void check_ranks_from(const edges *e, double damping, double tolerance,
                                         merbit_type type, const double *teleport,
                                         const double *start, const void *ranks,
                                         const merbit_pagerank_result *result) {
  const int last = result->iterations - 1;
  const long double u = type == MERBIT_F32 ? 0x1p-24L : 0x1p-53L;
  int known;
  reference_run run;
  reference r;
  long double sum = 0, all = 0;
  int64_t i;
  run.damping = damping;
  run.tolerance = tolerance;
  run.type = type;
  run.cap = result->stop == MERBIT_STOP_CAP ? result->iterations : INT_MAX;
  run.plain = result->plan.method == MERBIT_METHOD_MERBIT;
  run.teleport = teleport;
  run.start = start;
  known = type == MERBIT_F64 || run.plain;
  assert_true(result->iterations >= 1);
  r = reference_make(e, result->iterations, &run);
  for (i = 0; i < e->n; i++) {
    const long double rank = type == MERBIT_F32 ? (long double)((const float *)ranks)[i]
                                                : (long double)((const double *)ranks)[i];
    const long double most = r.error[i] + 2 * u * fabsl(rank); /* converted back from z */
    const long double below = known && r.ranks[i] < 0 ? r.ranks[i] : 0; /* returned as 0 */
    assert_true(rank >= 0);
    assert_true(!known || fabsl(rank - (r.ranks[i] - below)) <= most);
    sum += rank + below;
    all += most;
  }
  assert_true(fabsl(sum - 1) <= all);
  assert_int_equal(result->dangling, r.dangling);
  if (result->stop == MERBIT_STOP_CONVERGED) {
    assert_true((long double)result->change < (long double)tolerance);
    check_fixed_point(e, &run, ranks);
  }
  if (known) {
    assert_true(fabsl((long double)result->change - r.change[last]) <= r.slack[last]);
    assert_true(result->stop != MERBIT_STOP_CONVERGED || last == 0 || r.relaxed[last - 1] ||
                r.change[last - 1] >= (long double)tolerance - r.slack[last - 1]);
    assert_true(!r.relaxed[last] ||
                (result->stop != MERBIT_STOP_CONVERGED && result->stop != MERBIT_STOP_CAP));
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

/* Compares the same graph in f64 and f32 with the reference. Returns the f64 ranks, to be
 * freed. */
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

/* Makes the edges of a generated square matrix with positive weights; free from, to and
 * weight. */
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

/* Checks every `stride`-th generated matrix. */
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
