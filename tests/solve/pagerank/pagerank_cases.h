/* PageRank on either side: the caller's teleports and first ranks, history, weights of extreme
 * scale, methods, ends. Include after pagerank_reference.h. */
#ifndef TEST_SOLVE_PAGERANK_CASES_H
#define TEST_SOLVE_PAGERANK_CASES_H

#include "solve/pagerank/pagerank_reference.h"
#include "solve/pagerank/pagerank_graphs.h"

/* Makes n vertices with `out` random edges each, every seventh dangling; free with
 * edges_free. */
TEST_UNUSED static edges cases_graph(int64_t n, int out, uint64_t seed) {
  int64_t *from = (int64_t *)test_allocate(n * out, sizeof *from);
  int64_t *to = (int64_t *)test_allocate(n * out, sizeof *to);
  double *weight = (double *)test_allocate(n * out, sizeof *weight);
  int64_t i, count = 0;
  int k;
  for (i = 0; i < n; i++) {
    for (k = 0; k < out && i % 7 != 3; k++) {
      const int64_t a = (int64_t)(test_random(&seed) % (uint64_t)n);
      const int64_t b = (int64_t)(test_random(&seed) % (uint64_t)n);
      from[count] = i;
      to[count] = a < b ? a : b; /* the first vertices are popular */
      weight[count] = (double)(float)(1.5 + test_uniform(&seed));
      count++;
    }
  }
  return edges_of(n, count, from, to, weight);
}

/* Makes weights of the caller in either type; the doubles are floats. */
TEST_UNUSED static double *cases_weights(int64_t n, uint64_t seed) {
  double *weights = (double *)test_allocate(n, sizeof *weights);
  int64_t i;
  for (i = 0; i < n; i++) {
    weights[i] = i % 3 == 1 ? 0 : (double)(float)(2 + test_uniform(&seed));
  }
  return weights;
}

TEST_UNUSED static void *cases_as(merbit_type type, const double *from, int64_t n) {
  void *to = test_allocate(n, 8);
  int64_t i;
  for (i = 0; i < n && from != NULL; i++) {
    if (type == MERBIT_F32) {
      ((float *)to)[i] = (float)from[i];
    } else {
      ((double *)to)[i] = from[i];
    }
  }
  return to;
}

/* Does one run of `type` and checks it. Returns the ranks, to be freed. */
TEST_UNUSED static void *cases_run(merbit_context *context, const edges *e, merbit_type type,
                                   merbit_pagerank_desc desc, const double *teleport,
                                   const double *start, merbit_pagerank_result *result) {
  const double tolerance = type == MERBIT_F32 ? 1e-6 : 1e-12;
  merbit_view view = coo(e);
  void *values = cases_as(type, e->weight, e->count), *ranks = cases_as(type, start, e->n);
  void *where = cases_as(type, teleport, e->n);
  view.value_type = type;
  view.values = e->weight != NULL ? values : NULL;
  desc.tolerance = tolerance;
  desc.personalisation = teleport != NULL ? where : NULL;
  desc.start = start != NULL ? ranks : NULL; /* the same array */
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, result), MERBIT_OK);
  assert_int_equal(result->stop, MERBIT_STOP_CONVERGED);
  check_ranks_from(e, desc.damping != 0 ? desc.damping : 0.85, tolerance, type, teleport, start,
                   ranks, result);
  free(values);
  free(where);
  return ranks;
}

/* Teleports, and the mass of dangling vertices, go where the caller says. */
TEST_UNUSED static void cases_personalised(merbit_context *context) {
  static const double one[] = {0, 0, 5, 0};
  static const int64_t from[] = {2, 0}, to[] = {0, 1};
  const edges chain = edges_of(4, 2, from, to, NULL);
  const merbit_type types[] = {MERBIT_F64, MERBIT_F32};
  edges e = cases_graph(700, 5, 3), pattern = e;
  double *teleport = cases_weights(e.n, 4), *start = cases_weights(e.n, 5), *ranks;
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  int t;
  memset(&desc, 0, sizeof desc);
  pattern.weight = NULL;
  for (t = 0; t < 2; t++) {
    free(cases_run(context, &e, types[t], desc, teleport, NULL, &result));
    free(cases_run(context, &e, types[t], desc, teleport, start, &result));
    free(cases_run(context, &pattern, types[t], desc, NULL, start, &result));
  }
  /* 2 -> 0 -> 1, all others from and to 2: nothing reaches 3. */
  ranks = (double *)cases_run(context, &chain, MERBIT_F64, desc, one, NULL, &result);
  assert_true(fabs(ranks[0] - 0.85 * ranks[2]) < 1e-11);
  assert_true(fabs(ranks[1] - 0.85 * ranks[0]) < 1e-11);
  assert_true(ranks[3] < 1e-11);
  free(ranks);
  /* Numbers whose sum exceeds the type. */
  for (t = 0; t < 700; t++) {
    teleport[t] = t % 2 == 0 ? 1.5e308 : 0;
    start[t] = t % 2 == 0 ? 1 : 0;
  }
  {
    double *huge = (double *)cases_as(MERBIT_F64, teleport, e.n), *found;
    merbit_view view = coo(&e);
    found = (double *)test_allocate(e.n, sizeof *found);
    desc.personalisation = huge;
    assert_int_equal(merbit_pagerank(context, &view, &desc, found, &result), MERBIT_OK);
    check_ranks_from(&e, 0.85, 1e-10, MERBIT_F64, start, NULL, found, &result);
    free(huge);
    free(found);
  }
  free(teleport);
  free(start);
  edges_free(&e);
}

/* Ranks of nearly the same graph save iterations; those of the same graph nearly all. */
TEST_UNUSED static void cases_warm(merbit_context *context) {
  edges e = cases_graph(900, 4, 8);
  merbit_pagerank_desc desc;
  merbit_pagerank_result cold, warm, changed;
  double *first, *second;
  memset(&desc, 0, sizeof desc);
  first = (double *)cases_run(context, &e, MERBIT_F64, desc, NULL, NULL, &cold);
  second = (double *)cases_run(context, &e, MERBIT_F64, desc, NULL, first, &warm);
  free(second);
  ((double *)(uintptr_t)e.weight)[5] += 1;
  second = (double *)cases_run(context, &e, MERBIT_F64, desc, NULL, first, &changed);
  assert_true(warm.iterations <= 2 && cold.iterations > 20);
  assert_true(warm.iterations < changed.iterations && changed.iterations < cold.iterations);
  free(first);
  free(second);
  edges_free(&e);
}

/* Records the changes of the first iterations, as many as fit. */
TEST_UNUSED static void cases_history(merbit_context *context) {
  edges e = cases_graph(300, 4, 6);
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  double history[300], *ranks;
  reference r;
  reference_run run;
  int size, k;
  memset(&desc, 0, sizeof desc);
  memset(&run, 0, sizeof run);
  run.damping = 0.85;
  run.tolerance = 1e-12;
  run.cap = 1000;
  for (size = 0; size <= 260; size += 130) {
    for (k = 0; k < 300; k++) {
      history[k] = -1;
    }
    desc.history = history;
    desc.history_size = size / 10 * (size > 130 ? 10 : 1); /* 0, 13, 260 */
    ranks = (double *)cases_run(context, &e, MERBIT_F64, desc, NULL, NULL, &result);
    r = reference_make(&e, result.iterations, &run);
    assert_true(result.iterations > 13 && result.iterations < 260);
    for (k = 0; k < 300; k++) {
      if (k < desc.history_size && k < result.iterations) {
        assert_true(fabsl((long double)history[k] - r.change[k]) <= r.slack[k]);
      } else {
        assert_true(history[k] == -1);
      }
    }
    assert_true(size < 260 || history[result.iterations - 1] == result.change);
    reference_free(&r);
    free(ranks);
  }
  edges_free(&e);
}

/* Returns the iterations of the power method until one changes less than 1e-12. */
TEST_UNUSED static int cases_plain(const edges *e) {
  reference_run run;
  reference r;
  int k = 0;
  memset(&run, 0, sizeof run);
  run.damping = 0.85;
  run.plain = 1;
  run.tolerance = 1e-12;
  run.cap = 1000;
  r = reference_make(e, 200, &run);
  while (k < 200 && r.change[k] >= 1e-12L) {
    k++;
  }
  reference_free(&r);
  return k + 1;
}

/* With links in both directions it takes less than half of the iterations, with directed
 * circles hardly more than without acceleration; at a damping of 0.99 a quarter. */
TEST_UNUSED static void cases_accelerated(merbit_context *context) {
  enum { SIDE = 20, VERTICES = SIDE * SIDE };
  static int64_t from[4 * VERTICES], to[4 * VERTICES];
  static double ranks[VERTICES];
  edges grid = edges_of(VERTICES, 0, from, to, NULL), circles;
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  merbit_view view;
  int64_t i, one[12], next[12];
  memset(&desc, 0, sizeof desc);
  for (i = 0; i < VERTICES; i++) {
    const int64_t right = i % SIDE + 1 < SIDE ? i + 1 : -1, down = i + SIDE;
    int k;
    for (k = 0; k < 2; k++) {
      const int64_t other = k == 0 ? right : down;
      if (other >= 0 && other < VERTICES) {
        from[grid.count] = to[grid.count + 1] = i;
        to[grid.count] = from[grid.count + 1] = other;
        grid.count += 2;
      }
    }
  }
  view = coo(&grid);
  free(cases_run(context, &grid, MERBIT_F64, desc, NULL, NULL, &result));
  assert_true(2 * result.iterations < cases_plain(&grid));
  free(cases_run(context, &grid, MERBIT_F32, desc, NULL, NULL, &result));
  desc.unaccelerated = 1;
  desc.tolerance = 1e-12;
  assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
  assert_true(abs(result.iterations - cases_plain(&grid)) <= 1); /* rounding at the tolerance */
  desc.unaccelerated = 0;
  desc.damping = 0.99;
  free(cases_run(context, &grid, MERBIT_F64, desc, NULL, NULL, &result));
  assert_true(4 * result.iterations < 2749); /* log(1e-12) / log(0.99) */
  desc.damping = 0;
  for (i = 0; i < 12; i++) { /* circles of three, four and five */
    static const int64_t nexts[] = {1, 2, 0, 4, 5, 6, 3, 8, 9, 10, 11, 7};
    one[i] = i;
    next[i] = nexts[i];
  }
  circles = edges_of(12, 12, one, next, NULL);
  {
    double start[12] = {1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0};
    free(cases_run(context, &circles, MERBIT_F64, desc, NULL, start, &result));
    assert_true(result.iterations < 200);
  }
}

/* A run that ends at its cap, soon after an accelerated iteration, returns no negative rank. */
TEST_UNUSED static void cases_not_negative(merbit_context *context) {
  static const struct {
    int family, seed, cap;
  } graphs[] = {{10, 39, 11}, {3, 36, 11}, {16, 20, 8}};
  int g;
  for (g = 0; g < 3; g++) {
    edges e = graph_of_family(graphs[g].family, (uint64_t)graphs[g].seed);
    double *teleport = (double *)test_allocate(e.n, sizeof *teleport);
    double *ranks = (double *)test_allocate(e.n, sizeof *ranks);
    merbit_view view = coo(&e);
    merbit_pagerank_desc desc;
    merbit_pagerank_result result;
    reference_run run;
    reference r;
    long double least = 0;
    int64_t i;
    teleport[0] += 0.5;
    teleport[e.n / 2] += 0.5;
    memset(&desc, 0, sizeof desc);
    desc.max_iterations = graphs[g].cap;
    desc.personalisation = teleport;
    assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
    assert_int_equal(result.stop, MERBIT_STOP_CAP);
    check_ranks_from(&e, 0.85, 1e-10, MERBIT_F64, teleport, NULL, ranks, &result);
    memset(&run, 0, sizeof run);
    run.damping = 0.85;
    run.tolerance = 1e-10;
    run.type = MERBIT_F64;
    run.cap = graphs[g].cap;
    run.teleport = teleport;
    r = reference_make(&e, run.cap, &run);
    for (i = 0; i < e.n; i++) {
      least = r.ranks[i] < least ? r.ranks[i] : least;
    }
    assert_true(least < -1e-4L); /* else this tests nothing */
    reference_free(&r);
    free(teleport);
    free(ranks);
    edges_free(&e);
  }
}

/* Scaling all edges of a vertex by a power of two changes nothing, not even where z = rank / W
 * would leave the type's range without precautions. */
TEST_UNUSED static void cases_far(merbit_context *context) {
  const merbit_type types[] = {MERBIT_F64, MERBIT_F32};
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  int t;
  memset(&desc, 0, sizeof desc);
  for (t = 0; t < 2; t++) {
    const int power = types[t] == MERBIT_F64 ? 1000 : 120;
    edges e = cases_graph(400, 5, 12);
    void *near_one = cases_run(context, &e, types[t], desc, NULL, NULL, &result), *far;
    int64_t k;
    for (k = 0; k < e.count; k++) {
      ((double *)(uintptr_t)e.weight)[k] *= ldexp(1, (int)(e.from[k] % 3 - 1) * power);
    }
    far = cases_run(context, &e, types[t], desc, NULL, NULL, &result);
    assert_memory_equal(near_one, far, (size_t)e.n * (t == 0 ? 8 : 4));
    free(far);
    free(near_one);
    edges_free(&e);
  }
}

/* One triangle counts for both, with weights so far apart that rows are scaled. */
TEST_UNUSED static void cases_far_triangle(merbit_context *context) {
  enum { HALF = 5 };
  static const int32_t rows[HALF] = {1, 2, 2, 3, 3}, cols[HALF] = {0, 0, 1, 2, 3};
  const merbit_type types[] = {MERBIT_F64, MERBIT_F32};
  int64_t from[2 * HALF], to[2 * HALF];
  double both[2 * HALF], ranks[4];
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  int t, k;
  memset(&desc, 0, sizeof desc);
  desc.tolerance = 1e-6;
  for (t = 0; t < 2; t++) {
    const double far = ldexp(1, types[t] == MERBIT_F64 ? 700 : 70);
    const double half[HALF] = {3 * far, 1, 2, 5 / far, 1 / far};
    void *values = cases_as(types[t], half, HALF);
    merbit_view view = merbit_coo(4, 4, HALF, rows, cols, values);
    edges e = edges_of(4, 0, from, to, both);
    for (k = 0; k < 2 * HALF; k++) {
      const int i = k / 2;
      if (k % 2 == 0 || rows[i] != cols[i]) {
        from[e.count] = k % 2 == 0 ? rows[i] : cols[i];
        to[e.count] = k % 2 == 0 ? cols[i] : rows[i];
        both[e.count++] = half[i];
      }
    }
    view.value_type = types[t];
    view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
    assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
    check_ranks(&e, 0.85, 1e-6, types[t], ranks, &result);
    free(values);
  }
}

/* A tolerance below the rounding error is never reached, and the run reports it, unless the
 * ranks stop changing altogether, as most do: those of `seed` do not on either side. */
TEST_UNUSED static void cases_stagnates(merbit_context *context, int seed) {
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  int stagnated = 0;
  memset(&desc, 0, sizeof desc);
  desc.tolerance = 1e-300;
  for (; seed < 60 && stagnated == 0; seed++) {
    edges e = cases_graph(900, 6, (uint64_t)seed);
    merbit_view view = coo(&e);
    double *ranks = (double *)test_allocate(e.n, sizeof *ranks);
    assert_int_equal(merbit_pagerank(context, &view, &desc, ranks, &result), MERBIT_OK);
    assert_true(result.stop == MERBIT_STOP_STAGNATED ||
                (result.stop == MERBIT_STOP_CONVERGED && result.change == 0));
    assert_true(result.change < 1e-15 && result.iterations < 500);
    check_ranks(&e, 0.85, 1e-300, MERBIT_F64, ranks, &result);
    stagnated += result.stop == MERBIT_STOP_STAGNATED;
    free(ranks);
    edges_free(&e);
  }
  assert_true(stagnated >= 1);
}

/* Runs each method, in turn with f64 of a pattern and f32 with weights; a second run has the
 * same bits, except with MERBIT on CUDA. */
TEST_UNUSED static void cases_methods(merbit_context *context, const merbit_method *methods,
                                      int count) {
  edges e = cases_graph(1500, 6, 21), pattern = e;
  double *teleport = cases_weights(e.n, 4);
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  int m;
  memset(&desc, 0, sizeof desc);
  pattern.weight = NULL;
  for (m = 0; m < count; m++) {
    const edges *graph = m % 2 == 0 ? &pattern : &e;
    const merbit_type type = m % 2 == 0 ? MERBIT_F64 : MERBIT_F32;
    const double *where = m % 2 == 0 ? teleport : NULL;
    void *first, *second;
    desc.method = methods[m];
    first = cases_run(context, graph, type, desc, where, NULL, &result);
    assert_true(desc.method == MERBIT_METHOD_AUTO || result.plan.method == desc.method);
    second = cases_run(context, graph, type, desc, where, NULL, &result);
    if (desc.method != MERBIT_METHOD_MERBIT) {
      assert_memory_equal(first, second, (size_t)e.n * (m % 2 == 0 ? 8 : 4));
    }
    free(first);
    free(second);
  }
  free(teleport);
  edges_free(&e);
}

#endif /* TEST_SOLVE_PAGERANK_CASES_H */
