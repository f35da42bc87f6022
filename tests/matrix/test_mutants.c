/* 100,000 mutated matrices, a million with --full: each is refused with the error that the
 * independent checker finds first, or multiplied, built and transposed correctly. Arrays have
 * their exact length, so that AddressSanitizer detects any read beyond them. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/effort.h"
#include "matrix/mutants.h"

typedef struct counts {
  long refused_header, refused_array, multiplied;
} counts;

typedef struct bed {
  merbit_context *alone, *several;
  uint64_t seed;
  long number;
  counts counts;
} bed;

static void wrong(const bed *b, const char *what, const char *sentence) {
  fail_msg("mutant %ld of seed %" PRIu64 ": %s \"%s\"", b->number, b->seed, what, sentence);
}

/* ---- Arrays ------------------------------------------------------------------------------ */

typedef struct arrays {
  merbit_view view;
  void *row_ptr, *row_ind, *col_ind, *values;
} arrays;

static void arrays_make(const mutant *m, arrays *a) {
  const int64_t nnz = m->view.nnz < 0 || m->view.nnz > MUTANT_ROOM ? m->nnz : m->view.nnz;
  const int64_t rows =
      m->view.rows < 0 || m->view.rows >= MUTANT_ROOM ? m->rows : mutant_rows(&m->view);
  const int64_t each = mutant_values(&m->view);
  a->view = m->view;
  a->row_ptr = products_indices(m->ptr, NULL, rows + 1, m->view.offset_type, 0);
  a->row_ind = products_indices(m->row, NULL, nnz, m->view.index_type, 0);
  a->col_ind = products_indices(m->col, NULL, nnz, m->view.index_type, 0);
  a->values =
      products_values(m->value, each > 0 && each <= 9 ? nnz * each : nnz, m->view.value_type);
  a->view.row_ptr = m->view.row_ptr != NULL ? a->row_ptr : NULL;
  a->view.row_ind = m->view.row_ind != NULL ? a->row_ind : NULL;
  a->view.col_ind = m->view.col_ind != NULL ? a->col_ind : NULL;
  a->view.values = m->view.values != NULL ? a->values : NULL;
}

static void arrays_free(arrays *a) {
  free(a->row_ptr);
  free(a->row_ind);
  free(a->col_ind);
  free(a->values);
}

/* ---- Refused ----------------------------------------------------------------------------- */

/* Expects that the last error of `context` names one of the culprits and has its status. */
static void expect_culprit(const bed *b, merbit_context *context, merbit_status status,
                           const culprits *c) {
  char sentence[MERBIT_MESSAGE_SIZE];
  int i;
  assert_int_equal(merbit_last_error(context, sentence, sizeof sentence), status);
  for (i = 0; i < c->count; i++) {
    const size_t length = strlen(c->piece[i]);
    const char next = sentence[length < sizeof sentence ? length : 0];
    if (status == c->status[i] && strncmp(sentence, c->piece[i], length) == 0 &&
        !(next >= '0' && next <= '9')) {
      return;
    }
  }
  print_message("expected \"%s\" and status %d\n", c->piece[0], (int)c->status[0]);
  wrong(b, "the wrong culprit:", sentence);
}

static void expect_refused(const bed *b, const arrays *a, const culprits *c) {
  merbit_context *context = b->number % 2 ? b->alone : b->several;
  merbit_matrix *matrix = (merbit_matrix *)context;
  merbit_plan *plan = (merbit_plan *)context;
  expect_culprit(b, context, merbit_view_check(context, &a->view), c);
  expect_culprit(b, context, merbit_plan_create(context, &a->view, NULL, &plan), c);
  assert_null(plan);
  expect_culprit(b, context,
                 b->number % 4 < 2 ? merbit_matrix_create(context, &a->view, &matrix)
                                   : merbit_matrix_transpose(context, &a->view, &matrix),
                 c);
  assert_null(matrix);
}

/* ---- Multiplied -------------------------------------------------------------------------- */

static int64_t row_of(const mutant *m, int64_t k) {
  int64_t row = 0;
  if (m->view.format == MERBIT_COO) {
    return m->row[k] - m->view.base;
  }
  while (m->ptr[row + 1] - m->view.base <= k) {
    row++;
  }
  return row;
}

typedef struct vectors { /* y = 2 A x - y0 must be `right` */
  int64_t x_count, y_count;
  void *x, *y0, *y, *right;
  size_t y_bytes;
} vectors;

static void vectors_make(const mutant *m, int transposed, vectors *v) {
  const merbit_type type = m->view.value_type;
  const int blocks = m->view.format == MERBIT_BSR;
  const int column_major = blocks && m->view.block_order == MERBIT_BLOCK_COLUMN_MAJOR;
  const int block_rows = blocks ? m->view.block_rows : 1;
  const int block_cols = blocks ? m->view.block_cols : 1;
  const int64_t each = mutant_values(&m->view), by_row = column_major ? block_rows : block_cols;
  double x[MUTANT_ROOM], y0[MUTANT_ROOM], right[MUTANT_ROOM] = {0};
  int64_t i;
  v->x_count = transposed ? m->view.rows : m->view.cols;
  v->y_count = transposed ? m->view.cols : m->view.rows;
  for (i = 0; i < MUTANT_ROOM; i++) {
    x[i] = (double)(i % 7 + 1);
    y0[i] = (double)(i % 5);
  }
  for (i = 0; i < m->view.nnz * each; i++) {
    const int64_t place = i % each;
    const int64_t r = place / by_row, c = place % by_row; /* swapped if column-major */
    const int64_t row = row_of(m, i / each) * block_rows + (column_major ? c : r);
    const int64_t col = (m->col[i / each] - m->view.base) * block_cols + (column_major ? r : c);
    if (row < m->view.rows && col < m->view.cols) {
      right[transposed ? col : row] +=
          (m->view.values != NULL ? m->value[i] : 1) * x[transposed ? row : col];
    }
  }
  for (i = 0; i < v->y_count; i++) {
    right[i] = 2 * right[i] - y0[i];
  }
  v->x = products_values(x, v->x_count, type);
  v->y0 = products_values(y0, v->y_count, type);
  v->y = products_values(y0, v->y_count, type);
  v->right = products_values(right, v->y_count, type);
  v->y_bytes = (size_t)v->y_count * products_size(type);
}

static void vectors_free(vectors *v) {
  free(v->x);
  free(v->y0);
  free(v->y);
  free(v->right);
}

static void expect_right(const bed *b, vectors *v, const char *who) {
  if (memcmp(v->y, v->right, v->y_bytes) != 0) {
    wrong(b, "the wrong product:", who);
  }
  memcpy(v->y, v->y0, v->y_bytes);
}

static void expect_product(const bed *b, merbit_context *context, const merbit_view *view,
                           merbit_method method, vectors *v) {
  double alpha, beta; /* for either type */
  merbit_plan_desc desc;
  merbit_plan *plan;
  int tasks;
  products_set(&alpha, 0, 2, view->value_type);
  products_set(&beta, 0, -1, view->value_type);
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  products_done(context, merbit_plan_create(context, view, &desc, &plan), "a plan");
  assert_int_equal(merbit_spmv(plan, NULL, &alpha, v->x, &beta, v->y, NULL), MERBIT_OK);
  expect_right(b, v, mbi_method_name(method));
  for (tasks = 3; method == MERBIT_METHOD_MERGE && tasks < 8; tasks += 4) {
    double scratch[8 * 4];
    assert_true(mbi_merge_scratch_bytes(tasks, plan->type) <= sizeof scratch);
    mbi_merge_multiply(context, &plan->csr, plan->values, tasks, scratch, &alpha, v->x, &beta,
                       v->y);
    expect_right(b, v, "merge in several tasks");
  }
  merbit_plan_destroy(plan);
}

static void expect_multiplied(const bed *b, const mutant *m, const arrays *a) {
  merbit_context *context = b->number % 2 ? b->alone : b->several;
  merbit_matrix *matrix;
  merbit_view view;
  vectors v;
  products_done(context, merbit_view_check(context, &a->view), "a check");
  vectors_make(m, 0, &v);
  expect_product(b, context, &a->view, MERBIT_METHOD_MERGE, &v);
  expect_product(b, context, &a->view, MERBIT_METHOD_REFERENCE, &v);
  expect_product(b, context, &a->view, MERBIT_METHOD_BSR, &v);
  products_done(context, merbit_matrix_create(context, &a->view, &matrix), "a matrix");
  view = merbit_matrix_view(matrix);
  expect_product(b, context, &view, MERBIT_METHOD_REFERENCE, &v);
  vectors_free(&v);
  merbit_matrix_destroy(matrix);
  vectors_make(m, 1, &v);
  products_done(context, merbit_matrix_transpose(context, &a->view, &matrix), "a transpose");
  view = merbit_matrix_view(matrix);
  expect_product(b, context, &view, MERBIT_METHOD_REFERENCE, &v);
  vectors_free(&v);
  merbit_matrix_destroy(matrix);
}

/* ---- All mutants ------------------------------------------------------------------------- */

static void one_mutant(bed *b) {
  uint64_t random = b->seed * UINT64_C(1000003) + (uint64_t)b->number;
  mutant m, before;
  culprits c;
  arrays a;
  do {
    mutant_make(&random, &m);
    assert_true(mutant_culprits(&m, &c) && c.count == 0);
    before = m;
    mutant_spoil(&random, &m);
  } while (memcmp(&m, &before, sizeof m) == 0 || !mutant_culprits(&m, &c));
  arrays_make(&m, &a);
  if (c.count > 0) {
    expect_refused(b, &a, &c);
    b->counts.refused_header += c.status[0] != MERBIT_INVALID_MATRIX;
    b->counts.refused_array += c.status[0] == MERBIT_INVALID_MATRIX;
  } else {
    expect_multiplied(b, &m, &a);
    b->counts.multiplied++;
  }
  arrays_free(&a);
}

static void run(uint64_t seed) {
  const long count = test_effort(50000, 500000);
  cpu_memory memory[2];
  bed b;
  memset(&b, 0, sizeof b);
  b.seed = seed;
  b.alone = cpu_open(&memory[0], 1);
  b.several = cpu_open(&memory[1], 3);
  for (b.number = 0; b.number < count; b.number++) {
    one_mutant(&b);
  }
  merbit_context_destroy(b.alone);
  merbit_context_destroy(b.several);
  assert_int_equal(memory[0].live + memory[1].live, 0);
  print_message("seed %" PRIu64 ": %ld mutants, refused for the header %ld, for an array %ld, "
                "multiplied %ld\n",
                seed, count, b.counts.refused_header, b.counts.refused_array,
                b.counts.multiplied);
  assert_true(b.counts.refused_header > count / 10);
  assert_true(b.counts.refused_array > count / 5);
  assert_true(b.counts.multiplied > count / 10);
}

static void mutants_of_the_fixed_seed(void **state) {
  (void)state;
  run(2026);
}

static void mutants_of_the_rotating_seed(void **state) {
  (void)state;
  run(test_rotating_seed());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mutants_of_the_fixed_seed),
      cmocka_unit_test(mutants_of_the_rotating_seed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
