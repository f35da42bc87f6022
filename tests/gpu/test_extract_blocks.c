/* Blocks made on the GPU from CSR arrays in GPU memory: the same shape, blocks and bits as from
 * host arrays, also with new values; and the cases that go through the host. */
#define MBI_SHAPE_ENTRIES 2000 /* search shapes in windows, as for large matrices */
#define MBI_SHAPE_WINDOW 50
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/gpu.h"
#include "support/products.h"

static merbit_context *gpu;
static int descents; /* counted in the log */

static void count_descents(void *user, const char *line) {
  (void)user;
  descents += strstr(line, "the columns of a row descend") != NULL;
}

/* Sorts each row by column; equal columns keep their order. */
static void sort_rows(test_matrix *m) {
  int64_t row, k, j;
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row] + 1; k < m->row_ptr[row + 1]; k++) {
      const int32_t column = m->col_ind[k];
      const double value = m->values[k];
      for (j = k; j > m->row_ptr[row] && m->col_ind[j - 1] > column; j--) {
        m->col_ind[j] = m->col_ind[j - 1];
        m->values[j] = m->values[j - 1];
      }
      m->col_ind[j] = column;
      m->values[j] = value;
    }
  }
}

/* ---- Two plans of one matrix, from arrays on either side --------------------------------- */

typedef struct pair {
  products_case ours, theirs; /* with arrays on the GPU and on the host */
  merbit_plan *our_plan, *their_plan;
} pair;

static void pair_make(pair *p, const test_matrix *m, const products_form *form) {
  products_form device = *form;
  device.device_arrays = 1;
  products_case_make(gpu, m, &device, &p->ours);
  products_case_make(gpu, m, form, &p->theirs);
  products_done(gpu, merbit_plan_create(gpu, &p->ours.a.view, &form->plan, &p->our_plan),
                "ours");
  products_done(gpu, merbit_plan_create(gpu, &p->theirs.a.view, &form->plan, &p->their_plan),
                "theirs");
}

static void pair_free(pair *p) {
  merbit_plan_destroy(p->our_plan);
  merbit_plan_destroy(p->their_plan);
  products_case_free(&p->ours);
  products_case_free(&p->theirs);
}

/* Multiplies by both: within the bound, and with the same bits. */
static void pair_multiply(pair *p) {
  products_plan run;
  memset(&run, 0, sizeof run);
  run.context = gpu;
  run.form = &p->ours.form;
  run.plan = p->our_plan;
  products_once(&p->ours, -1, 0.5, products_spmv, &run);
  run.plan = p->their_plan;
  products_once(&p->theirs, -1, 0.5, products_spmv, &run);
  assert_memory_equal(p->ours.y, p->theirs.y,
                      (size_t)p->ours.m.rows * products_size(p->ours.form.type));
}

static void pair_update(pair *p, int device) {
  const test_matrix *m = &p->ours.m;
  merbit_buffer *buffer = NULL;
  void *values;
  const void *from;
  int64_t k;
  for (k = 0; k < m->nnz; k++) { /* of both, which share the arrays */
    m->values[k] = 0.5 - m->values[k] * (double)(k % 5);
  }
  values = products_values(m->values, m->nnz, p->ours.form.type);
  from = device ? products_move(gpu, values, (size_t)m->nnz * products_size(p->ours.form.type),
                                &buffer)
                : values;
  products_done(gpu,
                merbit_plan_update_values(p->our_plan, from,
                                          device ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST),
                "our new values");
  products_done(gpu, merbit_plan_update_values(p->their_plan, values, MERBIT_MEMORY_HOST),
                "their new values");
  merbit_buffer_destroy(buffer);
  free(values);
}

/* Expects the same description of both, and that blocks are made where it says. */
static void pair_compare(const pair *p) {
  char ours[1024], theirs[1024];
  const char *end;
  assert_true(p->our_plan->extracted.by_shape && p->our_plan->extracted.csr.rows > 0);
  assert_true(!p->their_plan->extracted.by_shape);
  assert_int_equal(p->our_plan->bsr.view.nnz, p->their_plan->bsr.view.nnz);
  assert_int_equal(p->our_plan->bsr.mask_words, p->their_plan->bsr.mask_words);
  (void)merbit_plan_describe(p->our_plan, ours, sizeof ours);
  (void)merbit_plan_describe(p->their_plan, theirs, sizeof theirs);
  end = strstr(ours, "; cubins ");
  assert_non_null(end);
  if (strncmp(ours, theirs, (size_t)(end - ours)) != 0) {
    fail_msg("\"%s\" but \"%s\"", ours, theirs);
  }
}

static void check_pair(const test_matrix *m, const products_form *form, int turn) {
  pair p;
  pair_make(&p, m, form);
  pair_compare(&p);
  pair_multiply(&p);
  if (!form->pattern) {
    pair_update(&p, turn % 2);
    pair_multiply(&p);
    pair_update(&p, 1 - turn % 2);
    pair_multiply(&p);
  }
  pair_free(&p);
}

static void form_make(int bits, products_form *form) {
  memset(form, 0, sizeof *form);
  form->type = bits & 1 ? MERBIT_F32 : MERBIT_F64;
  form->offset_type = bits & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  form->base = bits >> 2 & 1;
  form->index_type = bits & 8 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  form->pattern = bits >> 4 & 1;
  form->plan.method = MERBIT_METHOD_BSR;
  form->plan.vector_memory = MERBIT_MEMORY_HOST;
}

static void the_same_bits(void **state) {
  static const int shapes[][2] = {{1, 1}, {2, 2},  {3, 5},  {16, 1},  {1, 16},
                                  {5, 5}, {33, 2}, {13, 7}, {64, 64}, {1, 64}};
  const int count = (int)(sizeof shapes / sizeof shapes[0]);
  int i, turn = 0;
  (void)state;
  for (i = 0; i < test_matrix_count(); i += gpu_stride()) {
    const int shape = turn % count;
    products_form form;
    test_matrix m;
    test_matrix_make(i, 31, &m);
    sort_rows(&m);
    form_make(turn * 5 + turn / count, &form);
    form.plan.block_rows = shapes[shape][0];
    form.plan.block_cols = shapes[shape][1];
    if (form.pattern) {
      int64_t k;
      for (k = 0; k < m.nnz; k++) {
        m.values[k] = 1;
      }
    }
    if (m.nnz > 0 && m.nnz * shapes[shape][0] * shapes[shape][1] < 2000000) {
      check_pair(&m, &form, turn);
      turn++;
    }
    test_matrix_free(&m);
  }
  assert_true(turn > 0);
}

/* ---- Shapes found ------------------------------------------------------------------------ */

/* Makes `rows` rows of blocks of high x wide entries, of which `missing` percent are missing
 * and `twice` percent occur twice. */
static void make_blocks(int rows, int high, int wide, int missing, int twice, test_matrix *m) {
  const int64_t across = 25;
  uint64_t random = (uint64_t)(high * 64 + wide);
  int64_t row, b, c;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "blocks of %d x %d", high, wide);
  m->rows = rows * high - (high > 2);
  m->cols = across * wide - (wide > 2);
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)test_allocate(2 * m->rows * m->cols, sizeof *m->col_ind);
  m->values = (double *)test_allocate(2 * m->rows * m->cols, sizeof *m->values);
  for (row = 0; row < m->rows; row++) {
    for (b = (row / high * 7) % 5; b < across; b += 5) {
      for (c = b * wide; c < (b + 1) * wide && c < m->cols; c++) {
        int copies = test_below(&random, 100) >= missing;
        copies += copies && test_below(&random, 100) < twice;
        for (; copies > 0; copies--) {
          m->col_ind[m->nnz] = (int32_t)c;
          m->values[m->nnz++] = test_uniform(&random);
        }
      }
    }
    m->row_ptr[row + 1] = m->nnz;
  }
}

static void the_same_shape(void **state) {
  static const struct {
    int rows, high, wide, missing, twice, bits;
  } cases[] = {{200, 3, 3, 0, 0, 0},   {60, 8, 4, 4, 0, 11},   {20, 16, 16, 0, 0, 5},
               {400, 2, 5, 10, 5, 14}, {150, 4, 1, 0, 5, 3},   {10, 7, 7, 0, 0, 16},
               {300, 3, 2, 5, 5, 18},  {700, 1, 1, 70, 0, 12}, {90, 6, 6, 12, 0, 17},
               {30, 5, 5, 0, 10, 16},  {200, 1, 4, 50, 100, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_matrix m;
    products_form form;
    int64_t k;
    make_blocks(cases[i].rows, cases[i].high, cases[i].wide, cases[i].missing, cases[i].twice,
                &m);
    form_make(cases[i].bits, &form);
    for (k = 0; k < m.nnz; k++) { /* other methods would store them once */
      m.values[k] = form.pattern ? 1 : i == 0 ? 2 : m.values[k];
    }
    check_pair(&m, &form, (int)i);
    test_matrix_free(&m);
  }
}

/* ---- Through the host, and refusals ------------------------------------------------------ */

static void rows_that_descend(void **state) {
  int found;
  (void)state;
  for (found = 0; found < 2; found++) {
    const int before = descents;
    test_matrix m;
    products_form form;
    pair p;
    make_blocks(60, 3, 2, 10, 5, &m);
    m.col_ind[m.row_ptr[50]] = (int32_t)m.cols - 1;
    form_make(found ? 0 : 3, &form);
    form.plan.block_rows = found ? 0 : 3;
    form.plan.block_cols = found ? 0 : 2;
    pair_make(&p, &m, &form);
    assert_int_equal(descents, before + 1);
    assert_true(p.our_plan->extracted.csr.rows == 0 && !p.our_plan->extracted.by_shape);
    pair_multiply(&p);
    pair_update(&p, found);
    pair_multiply(&p);
    pair_free(&p);
    test_matrix_free(&m);
  }
}

static merbit_status make(const merbit_view *view, const merbit_plan_desc *desc, char *line,
                          size_t size) {
  merbit_plan *plan = NULL;
  const merbit_status status = merbit_plan_create(gpu, view, desc, &plan);
  (void)merbit_last_error(gpu, line, size);
  merbit_plan_destroy(plan);
  return status;
}

static void what_is_refused(void **state) {
  char line[MERBIT_MESSAGE_SIZE];
  test_matrix m;
  products_form form;
  products_case c;
  merbit_plan plan;
  mbi_extract extract;
  mbi_extract_tally tally;
  (void)state;
  make_blocks(20, 3, 2, 0, 0, &m);
  m.col_ind[5] = (int32_t)m.cols;
  form_make(0, &form);
  form.device_arrays = 1;
  form.plan.block_rows = form.plan.block_cols = 3;
  products_case_make(gpu, &m, &form, &c);
  assert_int_equal(make(&c.a.view, &form.plan, line, sizeof line), MERBIT_INVALID_MATRIX);
  assert_non_null(strstr(line, "col_ind[5]"));
  c.a.view.values = c.a.values;
  form.plan.unchecked = 1;
  assert_int_equal(make(&c.a.view, &form.plan, line, sizeof line), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(line, "is not an address of the GPU"));
  products_case_free(&c);
  test_matrix_free(&m);
  memset(&plan, 0, sizeof plan); /* more rows than fit in memory */
  memset(&extract, 0, sizeof extract);
  plan.context = gpu;
  plan.type = MERBIT_F64;
  plan.extracted.csr.rows = (uint64_t)UINT32_MAX * 2;
  extract.plan = &plan;
  assert_int_equal(mbi_extract_all(&extract, &tally), MERBIT_TOO_LARGE);
  plan.desc.block_rows = plan.desc.block_cols = 2;
  assert_int_equal(mbi_extract_all(&extract, &tally), MERBIT_TOO_LARGE);
  assert_int_equal(merbit_last_error(gpu, line, sizeof line), MERBIT_TOO_LARGE);
  assert_non_null(strstr(line, "8589934590 rows are too many to extract blocks"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_bits),
      cmocka_unit_test(the_same_shape),
      cmocka_unit_test(rows_that_descend),
      cmocka_unit_test(what_is_refused),
  };
  int failed;
  gpu = gpu_context();
  gpu->log = count_descents;
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
