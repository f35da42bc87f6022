/* PageRank and eigenpairs in a used context, compared with a new context. Include merbit.h and
 * cmocka.h first. */
#ifndef TEST_SWEEP_TWICE_RANKS_H
#define TEST_SWEEP_TWICE_RANKS_H
#include "sweep/twice_solver.h"

enum { MOST_VERTICES = 3000 };

typedef struct ranked { /* a call of merbit_pagerank */
  merbit_view view;
  void *values, *row_ptr, *col_ind, *row_ind;
  void *personalisation, *start;
  merbit_pagerank_desc desc;
  double ranks[MOST_VERTICES], history[HISTORY]; /* ranks of either type */
  merbit_pagerank_result result;
  merbit_buffer *buffers[4];
} ranked;

static void *ranked_weights(merbit_type type, int64_t n, uint64_t *random) {
  void *to = products_exact(n, products_size(type));
  int64_t i;
  for (i = 0; i < n; i++) {
    products_set(to, i, test_below(random, 3) == 0 ? 0 : 1 + test_uniform(random), type);
  }
  products_set(to, 0, 1, type);
  return to;
}

static void ranked_make(ranked *r, merbit_context *context, uint64_t *random) {
  static const merbit_method methods[] = {MERBIT_METHOD_SCAN, MERBIT_METHOD_MERGE,
                                          MERBIT_METHOD_ROWS, MERBIT_METHOD_MERBIT};
  static const double dampings[] = {0, 0.5, 0.99};
  static const char *const shapes[] = {"tridiagonal",      "diagonal",      "path 448",
                                       "power law, small", "random sparse", "rows of 2",
                                       "long row amid",    "path 28"};
  const merbit_type type = test_below(random, 2) ? MERBIT_F32 : MERBIT_F64;
  const char *shape = shapes[test_below(random, 8)];
  products_form form;
  products_arrays a;
  test_matrix m;
  int64_t k;
  int index = 0;
  memset(r, 0, sizeof *r);
  while (strcmp(test_specs[index].name, shape) != 0) {
    index++;
  }
  square_make(index, test_random(random), &m);
  if (test_below(random, 3) == 0) {
    test_matrix half;
    symmetric_fold(&m, MERBIT_SYMMETRY_SYMMETRIC, (int)test_below(random, 2), &half);
    test_matrix_free(&m);
    m = half;
    r->view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  }
  for (k = 0; k < m.nnz; k++) {
    m.values[k] = test_below(random, 9) == 0 ? 0 : 1.5 + m.values[k];
  }
  form = products_form_of((int)test_below(random, 32) * 2 | (type == MERBIT_F32));
  form.device_arrays = sweep.cuda && test_below(random, 2);
  products_arrays_make(context, &m, &form, &a);
  a.view.symmetry = r->view.symmetry;
  r->view = a.view;
  r->values = a.values;
  r->row_ptr = a.row_ptr;
  r->col_ind = a.col_ind;
  r->row_ind = a.row_ind;
  memcpy(r->buffers, a.buffers, sizeof r->buffers);
  r->personalisation = ranked_weights(type, m.rows, random);
  r->start = ranked_weights(type, m.rows, random);
  r->desc.damping = dampings[test_below(random, 3)];
  r->desc.max_iterations = test_below(random, 4) == 0 ? 7 : 0;
  r->desc.unweighted = (int)test_below(random, 2);
  r->desc.personalisation = test_below(random, 2) ? r->personalisation : NULL;
  r->desc.start = test_below(random, 2) ? r->start : NULL;
  r->desc.method = sweep.cuda ? methods[test_below(random, 4)] : MERBIT_METHOD_AUTO;
  r->desc.progress = cancel;
  test_matrix_free(&m);
}

static void ranked_free(ranked *r) {
  int i;
  for (i = 0; i < 4; i++) {
    merbit_buffer_destroy(r->buffers[i]);
  }
  free(r->values);
  free(r->row_ptr);
  free(r->col_ind);
  free(r->row_ind);
  free(r->personalisation);
  free(r->start);
}

static merbit_status ranked_call(ranked *r, merbit_context *context) {
  memset(r->ranks, 0xff, sizeof r->ranks);
  memset(r->history, 0, sizeof r->history);
  memset(&r->result, 0, sizeof r->result);
  r->desc.history = r->history;
  r->desc.history_size = HISTORY;
  return merbit_pagerank(context, &r->view, &r->desc, r->ranks, &r->result);
}

static double ranked_load(const ranked *r, const void *array, int64_t i) {
  return r->view.value_type == MERBIT_F32 ? (double)((const float *)array)[i]
                                          : ((const double *)array)[i];
}

/* Checks that one more iteration of the power method moves converged ranks by at most the
 * tolerance. */
static void ranked_check(const ranked *r) {
  const int64_t n = r->view.rows;
  const int single = r->view.value_type == MERBIT_F32;
  const double damping = r->desc.damping != 0 ? r->desc.damping : 0.85;
  merbit_view host = r->view;
  double *next = (double *)test_allocate(n, 8), *out = (double *)test_allocate(n, 8);
  double loose = 0, teleports = 0, sum = 0, change = 0;
  entries e;
  int64_t k;
  host.memory = MERBIT_MEMORY_HOST;
  host.row_ptr = host.format == MERBIT_COO ? NULL : r->row_ptr;
  host.row_ind = r->row_ind;
  host.col_ind = r->col_ind;
  host.values = r->view.values != NULL ? r->values : NULL;
  entries_of_view(&host, &e);
  for (k = 0; k < e.count; k++) {
    out[e.row[k]] += e.values == NULL || r->desc.unweighted ? 1 : ranked_load(r, e.values, k);
  }
  for (k = 0; k < n; k++) {
    const double rank = ranked_load(r, r->ranks, k);
    loose += out[k] > 0 ? 0 : rank;
    sum += rank;
    teleports +=
        r->desc.personalisation != NULL ? ranked_load(r, r->desc.personalisation, k) : 1;
  }
  for (k = 0; k < e.count; k++) {
    const double weight =
        e.values == NULL || r->desc.unweighted ? 1 : ranked_load(r, e.values, k);
    if (out[e.row[k]] > 0) {
      next[e.col[k]] += damping * weight / out[e.row[k]] * ranked_load(r, r->ranks, e.row[k]);
    }
  }
  for (k = 0; k < n; k++) {
    const double part =
        (r->desc.personalisation != NULL ? ranked_load(r, r->desc.personalisation, k) : 1) /
        teleports;
    next[k] += part * (damping * loose + (1 - damping));
    change += fabs(next[k] - ranked_load(r, r->ranks, k));
  }
  if (r->result.stop != MERBIT_STOP_CONVERGED) {
    change = 0;
  }
  if (!(fabs(sum - 1) <= (single ? 1e-4 : 1e-10)) || !(change <= (single ? 2e-5 : 1e-9))) {
    sweep_fail("ranks add up to %.17g and change by %g (stop %d, change %g)", sum, change,
               (int)r->result.stop, r->result.change);
  }
  entries_free(&e);
  free(next);
  free(out);
}

static void ranked_compare(const ranked *r, const ranked *fresh) {
  const size_t bytes = (size_t)r->view.rows * products_size(r->view.value_type);
  const merbit_pagerank_result *a = &r->result, *b = &fresh->result;
  int64_t i;
  if (a->stop != b->stop || a->iterations != b->iterations || a->dangling != b->dangling ||
      a->device_bytes != b->device_bytes) {
    sweep_fail("stop %d, %d iterations, %lld dangling, %lld bytes of the device; a fresh "
               "context gives %d, %d, %lld, %lld",
               (int)a->stop, a->iterations, (long long)a->dangling, (long long)a->device_bytes,
               (int)b->stop, b->iterations, (long long)b->dangling, (long long)b->device_bytes);
  }
  for (i = 0; r->desc.method == MERBIT_METHOD_MERBIT && i < r->view.rows;
       i++) { /* it adds atomically */
    if (!(fabs(ranked_load(r, r->ranks, i) - ranked_load(r, fresh->ranks, i)) <= 1e-4)) {
      sweep_fail("rank %lld differs", (long long)i);
    }
  }
  if (r->desc.method != MERBIT_METHOD_MERBIT &&
      (memcmp(r->ranks, fresh->ranks, bytes) != 0 ||
       memcmp(r->history, fresh->history, sizeof r->history) != 0)) {
    sweep_fail("the ranks or their history are not a fresh context's");
  }
}

static void ranked_name(const ranked *r, uint64_t seed) {
  (void)snprintf(sweep.what, sizeof sweep.what,
                 "PageRank seed %llu: n %d, nnz %d, %s, %s, pattern %d, symmetry %d, device "
                 "%d, damping %g, unweighted %d, "
                 "personal %d, start %d, method %d, cap %d",
                 (unsigned long long)seed, (int)r->view.rows, (int)r->view.nnz,
                 r->view.value_type == MERBIT_F32 ? "f32" : "f64",
                 r->view.format == MERBIT_COO ? "COO" : "CSR", r->view.values == NULL,
                 (int)r->view.symmetry, r->view.memory == MERBIT_MEMORY_DEVICE, r->desc.damping,
                 r->desc.unweighted, r->desc.personalisation != NULL, r->desc.start != NULL,
                 (int)r->desc.method, r->desc.max_iterations);
}

static void twice_ranks(uint64_t seed) {
  static ranked first, used, fresh;
  uint64_t random = seed, again;
  const int threads = 1 + (int)test_below(&random, 3);
  merbit_context *context = sweep_context(threads, 0), *other = sweep_context(threads, 0);
  merbit_status status;
  int calls;
  for (calls = (int)test_below(&random, 3); calls >= 0; calls--) {
    ranked_make(&first, context, &random);
    ranked_name(&first, seed);
    cancel_at = test_below(&random, 3) == 0 ? (int)test_below(&random, 3) : -1;
    if (calls > 0) {
      provoke(&random);
    }
    status = ranked_call(&first, context);
    provoke_no_more();
    if (calls > 0) {
      provoke_expect(context, status, "merbit_pagerank");
    } else {
      sweep_done(context, status, "merbit_pagerank");
    }
    cancel_at = -1;
    if (status == MERBIT_OK && first.result.stop != MERBIT_STOP_CANCELLED) {
      ranked_check(&first);
    }
    ranked_free(&first);
  }
  again = random;
  ranked_make(&used, context, &random);
  ranked_name(&used, seed);
  sweep_done(context, ranked_call(&used, context), "merbit_pagerank");
  ranked_check(&used);
  ranked_make(&fresh, other, &again);
  sweep_done(other, ranked_call(&fresh, other), "merbit_pagerank");
  ranked_compare(&used, &fresh);
  ranked_free(&used);
  ranked_free(&fresh);
  merbit_context_destroy(other);
  sweep_close(context);
}

/* ---- Eigenpairs -------------------------------------------------------------------------- */

typedef struct eigen_answer {
  double values[4], vectors[4 * MOST_UNKNOWNS]; /* of either type */
  merbit_eigen_result result;
} eigen_answer;

static void eigen_desc_make(merbit_eigen_desc *d, const system_of *s, uint64_t *random) {
  memset(d, 0, sizeof *d);
  d->method = (merbit_eigen_method)(test_below(random, 4) == 0);
  if (d->method == MERBIT_EIGEN_LANCZOS) {
    d->which = (merbit_eigen_which)test_below(random, 4);
    d->count = 1 + (int)test_below(random, 4);
    d->basis = (int)test_below(random, 2) * (d->count + 5);
  }
  d->tolerance = s->single ? 1e-3 : 1e-7;
  d->max_iterations = test_below(random, 4) == 0 ? 9 : 3000;
  d->seed = test_random(random);
  d->deterministic = 1;
  d->progress = cancel;
}

static merbit_status eigen_call(const system_of *s, merbit_context *context,
                                const merbit_eigen_desc *desc, eigen_answer *a) {
  memset(a, 0, sizeof *a);
  return merbit_eigen(context, &s->view, desc, a->values, a->vectors, &a->result);
}

static void eigen_compare(const eigen_answer *used, const eigen_answer *fresh) {
  const merbit_eigen_result *a = &used->result, *b = &fresh->result;
  if (a->stop != b->stop || a->iterations != b->iterations || a->restarts != b->restarts ||
      a->converged != b->converged || a->device_bytes != b->device_bytes ||
      memcmp(used->values, fresh->values, sizeof used->values) != 0 ||
      memcmp(used->vectors, fresh->vectors, sizeof used->vectors) != 0) {
    sweep_fail("stop %d, %d products, %d restarts, %d pairs, first %.17g, %lld bytes; a fresh "
               "context gives %d, %d, %d, "
               "%d, %.17g, %lld",
               (int)a->stop, a->iterations, a->restarts, a->converged, used->values[0],
               (long long)a->device_bytes, (int)b->stop, b->iterations, b->restarts,
               b->converged, fresh->values[0], (long long)b->device_bytes);
  }
}

static void twice_eigen(uint64_t seed) {
  static eigen_answer first, used, fresh;
  uint64_t random = seed, again;
  const int threads = 1 + (int)test_below(&random, 3);
  merbit_context *context = sweep_context(threads, 0), *other = sweep_context(threads, 0);
  merbit_eigen_desc desc;
  merbit_status status;
  system_of s;
  int calls;
  for (calls = (int)test_below(&random, 3); calls >= 0; calls--) {
    system_make(&s, context, test_below(&random, 4) == 0 ? 0.3 : 0, &random);
    eigen_desc_make(&desc, &s, &random);
    cancel_at = test_below(&random, 3) == 0 ? (int)test_below(&random, 3) : -1;
    if (calls > 0) {
      provoke(&random);
    }
    status = eigen_call(&s, context, &desc, &first);
    provoke_no_more();
    provoke_expect(context, status, "merbit_eigen");
    cancel_at = -1;
    system_free(&s);
  }
  again = random;
  system_make(&s, context, 0, &random);
  eigen_desc_make(&desc, &s, &random);
  (void)snprintf(
      sweep.what, sizeof sweep.what,
      "eigen seed %llu: method %d, which %d, count %d, basis %d, %s, n %d, device %d",
      (unsigned long long)seed, (int)desc.method, (int)desc.which, desc.count, desc.basis,
      s.single ? "f32" : "f64", s.grid.n, s.device);
  sweep_done(context, eigen_call(&s, context, &desc, &used), "merbit_eigen");
  system_free(&s);
  system_make(&s, other, 0, &again);
  sweep_done(other, eigen_call(&s, other, &desc, &fresh), "merbit_eigen");
  system_free(&s);
  eigen_compare(&used, &fresh);
  merbit_context_destroy(other);
  sweep_close(context);
}

#endif /* TEST_SWEEP_TWICE_RANKS_H */
