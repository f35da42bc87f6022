/* The data of test_allocation.c: matrices of small integers, so that every product is exact,
 * and a context whose allocator fails on demand. Include merbit.h and cmocka.h first. */
#ifndef TEST_CORE_ALLOCATION_WORLD_H
#define TEST_CORE_ALLOCATION_WORLD_H
#include "support/cpu.h"

typedef struct fixture { /* entries in any order, with duplicates and a long row; the same as
                          * CSR */
  int64_t n, nnz;        /* n x n */
  int32_t *row_ind, *col_ind;
  double *values;
  int32_t *csr_row_ptr, *csr_col_ind;
  double *csr_values;
  int64_t *wide_row_ptr, *wide_col_ind;
  char *text; /* as a Matrix Market file */
  size_t text_size;
} fixture;

typedef enum arrangement {
  PLAIN_CSR,
  WIDE_CSR,
  COO,
  PATTERN_COO,
  BLOCKS,     /* 1 x 1 blocks with the arrays of PLAIN_CSR */
  WIDE_BLOCKS /* 1 x 1 blocks with those of WIDE_CSR */
} arrangement;

typedef struct world {
  cpu_memory memory;
  const fixture *f;
  arrangement form;
  merbit_view view;
  merbit_context *context;
  merbit_error error; /* of merbit_context_create */
  void *out;          /* the call's output */
  merbit_buffer *buffer;
  merbit_matrix *matrix;
  merbit_plan *plan;
  merbit_workspace *workspace;
  merbit_solver *solver;
  merbit_preconditioner *preconditioner;
  double *ranks, value;
  merbit_pagerank_result result;
  char folder[32], path[64]; /* of the files read and written */
  char *sink;                /* data written to a stream */
  size_t sink_size;
} world;

static void fixture_text(fixture *f) {
  int64_t k;
  f->text = (char *)test_allocate(f->nnz + 4, 48);
  f->text_size =
      (size_t)sprintf(f->text, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n",
                      (int)f->n, (int)f->n, (int)f->nnz);
  for (k = 0; k < f->nnz; k++) {
    f->text_size += (size_t)sprintf(f->text + f->text_size, "%d %d %.17g\n", f->row_ind[k] + 1,
                                    f->col_ind[k] + 1, f->values[k]);
  }
}

static void fixture_make(fixture *f, int64_t n, int64_t nnz) {
  uint64_t random = 3;
  int64_t k, *next = (int64_t *)test_allocate(n, 8);
  f->n = n;
  f->nnz = nnz;
  f->row_ind = (int32_t *)test_allocate(nnz, 4);
  f->col_ind = (int32_t *)test_allocate(nnz, 4);
  f->values = (double *)test_allocate(nnz, 8);
  f->csr_row_ptr = (int32_t *)test_allocate(n + 1, 4);
  f->csr_col_ind = (int32_t *)test_allocate(nnz, 4);
  f->csr_values = (double *)test_allocate(nnz, 8);
  f->wide_row_ptr = (int64_t *)test_allocate(n + 1, 8);
  f->wide_col_ind = (int64_t *)test_allocate(nnz, 8);
  for (k = 0; k < nnz; k++) {
    f->row_ind[k] = (int32_t)(k % 3 == 0 ? 1 : test_below(&random, n));
    f->col_ind[k] = (int32_t)test_below(&random, k % 5 == 0 ? 3 : n);
    f->values[k] = (double)(1 + test_below(&random, 8));
    f->csr_row_ptr[f->row_ind[k] + 1]++;
  }
  for (k = 0; k < n; k++) {
    f->csr_row_ptr[k + 1] += f->csr_row_ptr[k];
    next[k] = f->csr_row_ptr[k];
  }
  for (k = 0; k <= n; k++) {
    f->wide_row_ptr[k] = f->csr_row_ptr[k];
  }
  for (k = 0; k < nnz; k++) {
    const int64_t at = next[f->row_ind[k]]++;
    f->csr_col_ind[at] = f->col_ind[k];
    f->wide_col_ind[at] = f->col_ind[k];
    f->csr_values[at] = f->values[k];
  }
  fixture_text(f);
  free(next);
}

static void fixture_free(fixture *f) {
  free(f->row_ind);
  free(f->col_ind);
  free(f->values);
  free(f->csr_row_ptr);
  free(f->csr_col_ind);
  free(f->csr_values);
  free(f->wide_row_ptr);
  free(f->wide_col_ind);
  free(f->text);
}

static merbit_view world_view(const fixture *f, arrangement form) {
  merbit_view view =
      merbit_csr(f->n, f->n, f->nnz, f->csr_row_ptr, f->csr_col_ind, f->csr_values);
  if (form == BLOCKS || form == WIDE_BLOCKS) {
    view.format = MERBIT_BSR;
    view.block_rows = view.block_cols = 1;
  }
  if (form == WIDE_CSR || form == WIDE_BLOCKS) {
    view.offset_type = view.index_type = MERBIT_INDEX_64;
    view.row_ptr = f->wide_row_ptr;
    view.col_ind = f->wide_col_ind;
  } else if (form != PLAIN_CSR && form != BLOCKS) {
    view.format = MERBIT_COO;
    view.row_ptr = NULL;
    view.row_ind = f->row_ind;
    view.col_ind = f->col_ind;
    view.values = form == COO ? f->values : NULL;
  }
  return view;
}

static void world_open(world *w, const fixture *f, arrangement form) {
  const merbit_context_desc desc = cpu_desc(&w->memory, 2);
  w->f = f;
  w->form = form;
  w->view = world_view(f, form);
  assert_int_equal(merbit_context_create(&desc, &w->context, NULL), MERBIT_OK);
}

/* Releases everything that the case left; then nothing may be alive. */
static void world_close(world *w) {
  merbit_buffer_destroy(w->buffer);
  merbit_matrix_destroy(w->matrix);
  merbit_workspace_destroy(w->workspace);
  merbit_plan_destroy(w->plan);
  merbit_solver_destroy(w->solver);
  merbit_preconditioner_destroy(w->preconditioner);
  merbit_context_destroy(w->context);
  free(w->ranks);
  free(w->sink);
  if (w->path[0] != '\0') {
    (void)unlink(w->path);
    assert_int_equal(rmdir(w->folder), 0); /* no temporary file is left */
  }
  assert_int_equal(w->memory.live, 0);
}

/* ---- Expected results -------------------------------------------------------------------- */

/* Expects that the product of `plan` is `factor` times the fixture's, bit for bit. */
static void world_expect_product(const world *w, merbit_plan *plan, merbit_workspace *workspace,
                                 int transposed, double factor) {
  const fixture *f = w->f;
  double *x = (double *)test_allocate(f->n, 8), *y = (double *)test_allocate(f->n, 8);
  double *right = (double *)test_allocate(f->n, 8);
  int64_t k;
  for (k = 0; k < f->n; k++) {
    x[k] = (double)(k % 7 + 1);
    y[k] = (double)NAN;
  }
  for (k = 0; k < f->nnz; k++) {
    const double value = w->form == PATTERN_COO ? 1 : factor * f->values[k];
    const int64_t row = transposed ? f->col_ind[k] : f->row_ind[k];
    right[row] += value * x[transposed ? f->row_ind[k] : f->col_ind[k]];
  }
  assert_int_equal(merbit_spmv(plan, workspace, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_memory_equal(y, right, (size_t)f->n * 8);
  free(x);
  free(y);
  free(right);
}

/* The same for three vectors, each twice the one before. */
static void world_expect_many(const world *w, merbit_plan *plan) {
  const fixture *f = w->f;
  double *x = (double *)test_allocate(3 * f->n, 8), *y = (double *)test_allocate(3 * f->n, 8);
  double *right = (double *)test_allocate(3 * f->n, 8);
  int64_t k, v;
  for (k = 0; k < 3 * f->n; k++) {
    x[k] = (double)((k % f->n % 7 + 1) << k / f->n);
    y[k] = (double)NAN;
  }
  for (v = 0; v < 3; v++) {
    for (k = 0; k < f->nnz; k++) {
      right[v * f->n + f->row_ind[k]] +=
          (w->form == PATTERN_COO ? 1 : f->values[k]) * x[v * f->n + f->col_ind[k]];
    }
  }
  assert_int_equal(merbit_spmm(plan, NULL, NULL, x, f->n, NULL, y, f->n, NULL), MERBIT_OK);
  assert_memory_equal(y, right, (size_t)(3 * f->n) * 8);
  free(x);
  free(y);
  free(right);
}

/* The same through the order of a reordered plan. */
static void world_expect_reordered(const world *w, merbit_plan *plan, double factor) {
  const fixture *f = w->f;
  double *x = (double *)test_allocate(f->n, 8), *px = (double *)test_allocate(f->n, 8);
  double *py = (double *)test_allocate(f->n, 8), *y = (double *)test_allocate(f->n, 8);
  double *right = (double *)test_allocate(f->n, 8);
  int64_t *order = (int64_t *)test_allocate(f->n, 8), k;
  for (k = 0; k < f->n; k++) {
    x[k] = (double)(k % 7 + 1);
  }
  for (k = 0; k < f->nnz; k++) {
    right[f->row_ind[k]] +=
        (w->form == PATTERN_COO ? 1 : factor * f->values[k]) * x[f->col_ind[k]];
  }
  assert_int_equal(merbit_plan_reorder(plan, x, px, NULL), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, px, NULL, py, NULL), MERBIT_OK);
  assert_int_equal(merbit_plan_restore(plan, py, y, NULL), MERBIT_OK);
  assert_memory_equal(y, right, (size_t)f->n * 8);
  assert_int_equal(merbit_plan_get_order(plan, order, f->n), MERBIT_OK);
  for (k = 0; k < f->n; k++) {
    assert_true(px[k] == x[order[k]]);
  }
  free(x);
  free(px);
  free(py);
  free(y);
  free(right);
  free(order);
}

static void world_expect_matrix(const world *w, const merbit_matrix *matrix, int transposed) {
  const merbit_view view = merbit_matrix_view(matrix);
  merbit_plan *plan;
  assert_int_equal(merbit_plan_create(w->context, &view, NULL, &plan), MERBIT_OK);
  world_expect_product(w, plan, NULL, transposed, 1);
  merbit_plan_destroy(plan);
}

/* Expects that `text` is a file of the fixture's matrix. */
static void world_expect_text(const world *w, const void *text, size_t size) {
  merbit_matrix *matrix;
  assert_int_equal(merbit_matrix_read_memory(w->context, text, size, NULL, &matrix), MERBIT_OK);
  world_expect_matrix(w, matrix, 0);
  merbit_matrix_destroy(matrix);
}

/* Writes a file in a new folder. */
static void world_file(world *w, const char *text, size_t size) {
  FILE *file;
  (void)snprintf(w->folder, sizeof w->folder, "/tmp/merbit-test-XXXXXX");
  assert_non_null(mkdtemp(w->folder));
  (void)snprintf(w->path, sizeof w->path, "%s/matrix.mtx", w->folder);
  file = fopen(w->path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

#endif /* TEST_CORE_ALLOCATION_WORLD_H */
