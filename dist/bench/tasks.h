/* The measurements of one matrix on a number of ranks, and the verification of results. */
#ifndef DIST_BENCH_TASKS_H
#define DIST_BENCH_TASKS_H
#include "bed.h"
#include "parts.h"

#define TASK_SAMPLE 2000 /* rows per rank that are recomputed in long double */
#define TASK_FEW 20      /* iterations of a short solve, */
#define TASK_MANY 120    /* and of a long one: the difference gives the time of an iteration */
#define TASK_EPSILON 0x1p-53

typedef struct task_result { /* maximum over all ranks, unless it says otherwise */
  char matrix[32];
  int ranks, strong;
  int64_t global_rows, nnz; /* of all ranks */
  int64_t rows, halo, sent, boundary_rows, own_nnz, halo_nnz, device_bytes;
  int64_t total_halo; /* of all ranks */
  double used_bytes;  /* GPU memory of the whole process */
  int send_ranks, receive_ranks;
  double make_seconds, create_seconds;
  bed_time own, pack, exchange, halo_product, product, sum;
  double cg_seconds, pagerank_seconds; /* seconds of an iteration; NaN: not measured */
  double pagerank_total;               /* sum of the ranks, which should be 1 */
  double hidden;                       /* percent of packing and exchange that overlap hides */
  int64_t wrong;                   /* rows outside the bound on all ranks, plus failed solves */
  double error;                    /* the largest error relative to its bound */
  char about[MERBIT_MESSAGE_SIZE]; /* description of rank 0's operator */
} task_result;

/* ---- Verification ---------------------------------------------------------------------------- */

/* Returns gamma(k + 2) of a row of k entries: the bound's factor. */
static double task_gamma(int64_t entries) {
  const double nu = (double)(entries + 2) * TASK_EPSILON;
  return nu / (1.0 - nu);
}

static void task_compare(double found, double expected, double bound, int64_t *wrong,
                         double *error) {
  const double difference = fabs(found - expected);
  const int good = difference <= bound;
  *wrong += !good;
  if (bound > 0 && !(difference / bound <= *error)) {
    *error = difference / bound;
  }
}

/* Compares y = A x for x = 1 with the row sums of the generated values. */
static void task_verify_sums(const dist_matrix *m, const double *y, int64_t *wrong,
                             double *error) {
  int64_t row, bad = 0;
  double worst = 0;
  BENCH_OMP(parallel for schedule(static) reduction(+ : bad) reduction(max : worst))
  for (row = 0; row < m->rows; row++) {
    long double sum = 0, size = 0;
    int64_t k;
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      sum += m->value[k];
      size += fabsl(m->value[k]);
    }
    task_compare(y[row], (double)sum,
                 (double)size *
                     (task_gamma(m->row_ptr[row + 1] - m->row_ptr[row]) + TASK_EPSILON),
                 &bad, &worst);
  }
  *wrong += bad;
  *error = worst > *error ? worst : *error;
}

/* Generates some rows again, from their numbers alone, and compares y = A x for x = dist_x. */
static void task_verify_sample(const dist_matrix *m, const double *y, int64_t *wrong,
                               double *error) {
  const int64_t count = m->rows < TASK_SAMPLE ? m->rows : TASK_SAMPLE;
  int64_t i, k;
  for (i = 0; i < count; i++) {
    const int64_t local = bench_below(UINT64_C(0x73616d706c65), (uint64_t)i, m->rows);
    const int64_t most = dist_row_most(m, m->first + local);
    int64_t *columns = (int64_t *)bench_allocate(most, sizeof *columns);
    const int64_t entries = dist_row(m, m->first + local, columns);
    double *values = (double *)bench_allocate(entries, sizeof *values);
    long double sum = 0, size = 0;
    dist_row_values(m, m->first + local, columns, entries, values);
    for (k = 0; k < entries; k++) {
      const long double term = (long double)values[k] * dist_x(columns[k]);
      sum += term;
      size += fabsl(term);
    }
    task_compare(y[local], (double)sum, (double)size * (task_gamma(entries) + TASK_EPSILON),
                 wrong, error);
    free(columns);
    free(values);
  }
}

static double task_one(int64_t row) {
  (void)row;
  return 1;
}

static void task_product(bed *b) {
  bed_check(b,
            merbit_dist_spmv(b->dist, NULL, merbit_buffer_pointer(b->x), NULL,
                             merbit_buffer_pointer(b->y), bed_stream(b)),
            "a product");
}

/* Verifies products with two vectors, the second one twice, which must give the same bits. */
static void task_verify(bed *b, const dist_matrix *m, task_result *r) {
  const size_t bytes = (size_t)m->rows * sizeof(double);
  double *y, *again, error = 0;
  int64_t wrong = 0;
  merbit_buffer *x = b->x;
  b->x = b->b; /* ones */
  task_product(b);
  bed_wait(b);
  y = bed_download(b, b->y, m->rows);
  task_verify_sums(m, y, &wrong, &error);
  free(y);
  b->x = x;
  task_product(b);
  bed_wait(b);
  y = bed_download(b, b->y, m->rows);
  task_verify_sample(m, y, &wrong, &error);
  task_product(b);
  bed_wait(b);
  again = bed_download(b, b->y, m->rows);
  wrong += memcmp(y, again, bytes) != 0;
  free(y);
  free(again);
  r->wrong = (int64_t)crew_sum(b->members, (double)wrong);
  r->error = crew_largest(b->members, error);
}

/* ---- Iterations ------------------------------------------------------------------------------ */

/* Returns the seconds of an iteration of CG with the Jacobi preconditioner. */
static double task_cg(bed *b, const dist_matrix *m, task_result *r) {
  merbit_dist_solver_desc desc;
  merbit_dist_result few, many;
  merbit_buffer *x = bed_vector(b, m, task_one);
  double seconds;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_SOLVER_CG;
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  desc.tolerance = 1e-300;
  desc.max_iterations = TASK_FEW;
  for (int warm = 0; warm < 2; warm++) {
    bed_check(b,
              merbit_dist_solve(b->dist, &desc, merbit_buffer_pointer(b->x),
                                merbit_buffer_pointer(x), 0, bed_stream(b), &few),
              "CG");
    crew_meet(b->members);
  }
  desc.max_iterations = TASK_MANY;
  bed_check(b,
            merbit_dist_solve(b->dist, &desc, merbit_buffer_pointer(b->x),
                              merbit_buffer_pointer(x), 0, bed_stream(b), &many),
            "CG");
  merbit_buffer_destroy(x);
  if (many.iterations <= few.iterations || !(many.residual < few.residual)) {
    (void)fprintf(stderr, "bench: CG of %s is wrong: %d iterations to %g, %d to %g\n", m->name,
                  few.iterations, few.residual, many.iterations, many.residual);
    r->wrong++;
  }
  seconds = (many.seconds - few.seconds) / (many.iterations - few.iterations);
  return crew_largest(b->members, seconds);
}

/* Returns the rank's part of the sums of all columns, which all ranks add up in shared memory.
 */
static merbit_buffer *task_column_sums(bed *b, const dist_matrix *m) {
  double *columns = b->members->columns;
  merbit_buffer *buffer = NULL;
  const size_t bytes = (size_t)m->rows * sizeof *columns;
  int64_t k;
  memset(columns + m->first, 0, bytes);
  crew_meet(b->members);
  BENCH_OMP(parallel for schedule(static))
  for (k = 0; k < m->nnz; k++) {
    double *const sum = columns + m->col_ind[k];
    const double value = m->value[k];
    BENCH_OMP(atomic)
    *sum += value;
  }
  crew_meet(b->members);
  bed_check(b, merbit_buffer_create(b->context, bytes, &buffer), "the sums of columns");
  bed_check(b, merbit_buffer_upload(buffer, 0, columns + m->first, bytes),
            "the sums of columns");
  return buffer;
}

/* Returns the seconds of an iteration of PageRank. */
static double task_pagerank(bed *b, const dist_matrix *m, const merbit_buffer *weights,
                            task_result *r) {
  merbit_dist_pagerank_desc desc;
  merbit_dist_result few, many;
  memset(&desc, 0, sizeof desc);
  desc.out_weights = merbit_buffer_pointer(weights);
  desc.tolerance = 1e-300;
  desc.max_iterations = TASK_FEW;
  for (int warm = 0; warm < 2; warm++) {
    bed_check(
        b,
        merbit_dist_pagerank(b->dist, &desc, merbit_buffer_pointer(b->y), bed_stream(b), &few),
        "PageRank");
    crew_meet(b->members);
  }
  desc.max_iterations = TASK_MANY;
  bed_check(
      b,
      merbit_dist_pagerank(b->dist, &desc, merbit_buffer_pointer(b->y), bed_stream(b), &many),
      "PageRank");
  bed_check(b,
            merbit_dist_dot(b->dist, merbit_buffer_pointer(b->y), merbit_buffer_pointer(b->b),
                            &r->pagerank_total, bed_stream(b)),
            "the sum of ranks");
  if (many.iterations <= few.iterations || !(fabs(r->pagerank_total - 1) < 1e-9)) {
    (void)fprintf(stderr, "bench: PageRank of %s is wrong: %d and %d iterations, sum %.12g\n",
                  m->name, few.iterations, many.iterations, r->pagerank_total);
    r->wrong++;
  }
  return crew_largest(b->members,
                      (many.seconds - few.seconds) / (many.iterations - few.iterations));
}

/* ---- One matrix ------------------------------------------------------------------------------ */

/* Collects facts about the operator: the maximum over all ranks. */
static void task_describe(bed *b, const dist_matrix *m, task_result *r) {
  crew *c = b->members;
  merbit_dist_info info;
  size_t free_bytes = 0, all = 0;
  bed_check(b, merbit_dist_get_info(b->dist, &info), "the operator");
  (void)merbit_dist_describe(b->dist, r->about, sizeof r->about);
  r->global_rows = info.global_rows;
  r->nnz = (int64_t)crew_sum(c, (double)m->nnz);
  r->total_halo = (int64_t)crew_sum(c, (double)info.halo);
  r->rows = (int64_t)crew_largest(c, (double)info.rows);
  r->halo = (int64_t)crew_largest(c, (double)info.halo);
  r->sent = (int64_t)crew_largest(c, (double)info.sent);
  r->boundary_rows = (int64_t)crew_largest(c, (double)info.boundary_rows);
  r->own_nnz = (int64_t)crew_largest(c, (double)info.own_nnz);
  r->halo_nnz = (int64_t)crew_largest(c, (double)info.halo_nnz);
  r->device_bytes = (int64_t)crew_largest(c, (double)info.device_bytes);
  r->send_ranks = (int)crew_largest(c, info.send_ranks);
  r->receive_ranks = (int)crew_largest(c, info.receive_ranks);
  r->create_seconds = crew_largest(c, info.create_seconds);
  if (b->cuda && b->memory_info(&free_bytes, &all) == 0) {
    r->used_bytes = crew_largest(c, (double)(all - free_bytes));
  }
}

static void task_times(bed *b, task_result *r) {
  double serial;
  bed_measure(b, task_product, &r->product);
  bed_measure(b, parts_own, &r->own);
  bed_measure(b, parts_pack, &r->pack);
  bed_measure(b, parts_exchange, &r->exchange);
  bed_measure(b, parts_halo, &r->halo_product);
  if (b->exchange.sum != NULL) {
    bed_measure(b, parts_sum, &r->sum);
  }
  serial = r->own.median + r->halo_product.median + r->pack.median + r->exchange.median;
  r->hidden = 100 * (serial - r->product.median) / (r->pack.median + r->exchange.median);
}

static void task_run(bed *b, const char *name, int64_t nnz, int strong, task_result *r) {
  crew *c = b->members;
  dist_matrix m;
  merbit_view view;
  merbit_dist_desc desc;
  merbit_buffer *weights = NULL;
  double began = mbi_seconds();
  memset(r, 0, sizeof *r);
  dist_matrix_size(&m, name, nnz);
  dist_matrix_make(&m, c->rank, c->ranks);
  r->cg_seconds = r->pagerank_seconds = NAN;
  (void)snprintf(r->matrix, sizeof r->matrix, "%s", name);
  r->ranks = c->ranks;
  r->strong = strong;
  r->make_seconds = crew_largest(c, mbi_seconds() - began);
  view = merbit_csr(m.rows, m.global_rows, m.nnz, NULL, NULL, m.value);
  view.offset_type = view.index_type = MERBIT_INDEX_64;
  view.row_ptr = m.row_ptr;
  view.col_ind = m.col_ind;
  memset(&desc, 0, sizeof desc);
  desc.plan.expected_calls = 1000;
  bed_check(b, merbit_dist_create(b->context, &b->exchange, &view, &desc, &b->dist), name);
  b->x = bed_vector(b, &m, dist_x);
  b->y = bed_vector(b, &m, dist_x);
  b->b = bed_vector(b, &m, task_one);
  task_describe(b, &m, r);
  task_verify(b, &m, r);
  if (m.graph) {
    weights = task_column_sums(b, &m);
  }
  dist_matrix_drop(&m);
  task_times(b, r);
  if (m.symmetric && m.narrow != NULL) {
    r->cg_seconds = task_cg(b, &m, r);
  }
  if (m.graph) {
    r->pagerank_seconds = task_pagerank(b, &m, weights, r);
  }
  merbit_dist_destroy(b->dist);
  merbit_buffer_destroy(b->x);
  merbit_buffer_destroy(b->y);
  merbit_buffer_destroy(b->b);
  merbit_buffer_destroy(weights);
  dist_matrix_free(&m);
  crew_meet(c);
}

#endif
