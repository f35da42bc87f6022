/* Products of blocks on the CPU in every shape, order and form of arrays, divided into many
 * chunks: BSR views used in place, whose padding is NaN, and blocks made from CSR and COO,
 * whose padding must have no effect. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/blocks.h"
#include "support/cpu.h"
#include "support/effort.h"

static merbit_context *contexts[3]; /* of 1, 2 and 5 threads */
static long products, spoilt_products;

static int set_up(void **state) {
  static const int threads[] = {1, 2, 5};
  int i;
  (void)state;
  for (i = 0; i < 3; i++) {
    contexts[i] = cpu_open(NULL, threads[i]);
  }
  return 0;
}

static int tear_down(void **state) {
  int i;
  (void)state;
  for (i = 0; i < 3; i++) {
    merbit_context_destroy(contexts[i]);
  }
  print_message("%ld products of blocks within the bound\n", products);
  return 0;
}

/* Remakes the plan's schedule with `chunks` chunks. */
static void cut_again(merbit_plan *plan, int chunks) {
  void *memory;
  mbi_release(plan->context, plan->blocks.chunk_index);
  assert_int_equal(mbi_allocate_array(plan->context, chunks + 1, 16, "chunks", &memory),
                   MERBIT_OK);
  plan->blocks.chunk_index = (int64_t *)memory;
  plan->blocks.chunk_row = plan->blocks.chunk_index + chunks + 1;
  plan->tasks = chunks;
  mbi_block_cut(&plan->bsr.view, chunks, plan->blocks.chunk_index, plan->blocks.chunk_row);
  mbi_workspace_free(plan->workspace);
  assert_int_equal(mbi_workspace_make(plan, &plan->workspace), MERBIT_OK);
}

static merbit_plan *plan_of(merbit_context *context, const products_case *c,
                            const merbit_plan_desc *desc) {
  merbit_plan *plan;
  products_done(context, merbit_plan_create(context, &c->a.view, desc, &plan), c->m.name);
  return plan;
}

static merbit_plan_desc blocks_of(int block_rows, int block_cols) {
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_BSR;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.block_rows = block_rows;
  desc.block_cols = block_cols;
  return desc;
}

static void multiply(void *user, const merbit_view *view, const void *alpha, const void *x,
                     const void *beta, void *y) {
  (void)view;
  assert_int_equal(merbit_spmv((merbit_plan *)user, NULL, alpha, x, beta, y, NULL), MERBIT_OK);
}

static void check(products_case *c, merbit_plan *plan) {
  products_once(c, 1, 0, multiply, plan);
  products_once(c, -1, 0.5, multiply, plan);
  products += 2;
}

static void check_in_chunks(products_case *c, merbit_plan *plan) {
  static const int chunks[] = {1, 2, 3, 7, 16, 100};
  size_t i;
  check(c, plan);
  for (i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
    cut_again(plan, chunks[i]);
    check(c, plan);
  }
}

/* Edges: rows and columns that fill the last block, and that do not. In quick effort the seed
 * chooses two of the eight for each shape. */
static void bsr_views_as_they_lie(void **state) {
  const unsigned apart = (unsigned)test_effort(4, 1);
  const uint64_t first = test_rotating_seed();
  unsigned turn = 0;
  int index, edges;
  (void)state;
  for (index = 0; index < BLOCKS_SHAPES; index++) {
    for (edges = 0; edges < 8; edges++, turn++) {
      const products_form form = blocks_form(turn * 7 + turn / 8);
      const merbit_plan_desc desc = blocks_of(0, 0);
      blocks_shape s;
      products_case c;
      merbit_plan *plan;
      if ((first + turn + turn / 8) % apart != 0) {
        continue;
      }
      memset(&s, 0, sizeof s);
      blocks_shape_of(index, &s);
      s.order = edges & 4 ? MERBIT_BLOCK_COLUMN_MAJOR : MERBIT_BLOCK_ROW_MAJOR;
      s.rows = 23 * s.block_rows - (edges & 1 ? s.block_rows / 2 : 0);
      s.cols = 17 * s.block_cols - (edges & 2 ? (s.block_cols + 1) / 2 : 0);
      s.cols = s.cols % s.block_cols == 0 || s.block_cols > 1 ? s.cols : 17;
      s.longest = 9;
      s.long_row = turn % 3 == 0 ? 60 : 0;
      blocks_case_make(&s, &form, turn + 1, &c);
      plan = plan_of(contexts[turn % 3], &c, turn % 2 ? &desc : NULL);
      assert_int_equal(plan->method, MERBIT_METHOD_BSR);
      assert_null(plan->bsr.masks);
      check_in_chunks(&c, plan);
      merbit_plan_destroy(plan);
      products_spoil_x(&c, turn);
      plan = plan_of(contexts[turn % 3], &c, &desc);
      check_in_chunks(&c, plan);
      merbit_plan_destroy(plan);
      blocks_case_free(&c);
    }
  }
}

/* Blocks made by the library: their holes are not entries. */
static void csr_and_coo_in_blocks(void **state) {
  unsigned turn = 0;
  int i, spoilt;
  (void)state;
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    for (spoilt = 0; spoilt < 3; spoilt++, turn++) {
      products_form form = blocks_form(turn * 5);
      merbit_plan_desc desc;
      blocks_shape s;
      products_case c;
      merbit_plan *plan;
      test_matrix m;
      int64_t k;
      test_matrix_make(i, 6, &m);
      form.format = turn % 4 == 0 ? MERBIT_COO : MERBIT_CSR;
      for (k = 0; form.pattern && k < m.nnz; k++) {
        m.values[k] = 1;
      }
      blocks_shape_of((int)(turn * 11 % (unsigned)(BLOCKS_SHAPES - 1)), &s);
      desc = spoilt == 2 ? blocks_of(0, 0) : blocks_of(s.block_rows, s.block_cols);
      products_case_make(NULL, &m, &form, &c);
      plan = plan_of(contexts[turn % 3], &c, &desc);
      if (spoilt > 0 && plan->bsr.entries == m.nnz) { /* Inf - Inf is not (1 - 1) Inf */
        products_spoil_x(&c, turn);
        spoilt_products++;
      }
      assert_true(
          plan->bsr.masks != NULL || plan->bsr.entries >= mbi_view_values(&plan->bsr.view) ||
          m.rows % plan->bsr.view.block_rows != 0 || m.cols % plan->bsr.view.block_cols != 0);
      check_in_chunks(&c, plan);
      merbit_plan_destroy(plan);
      products_case_free(&c);
      test_matrix_free(&m);
    }
  }
  assert_true(spoilt_products > 60 / test_matrix_step());
}

/* A BSR view in other blocks than its own, and with methods that do not use blocks. */
static void bsr_views_in_other_forms(void **state) {
  static const merbit_method others[] = {MERBIT_METHOD_MERGE, MERBIT_METHOD_REFERENCE};
  unsigned turn;
  (void)state;
  for (turn = 0; turn < 60; turn++) {
    products_form form = blocks_form(turn);
    merbit_plan_desc desc = blocks_of(1 + (int)turn % 9, 1 + (int)turn % 4);
    blocks_shape s;
    products_case c;
    merbit_plan *plan;
    memset(&s, 0, sizeof s);
    blocks_shape_of((int)turn % BLOCKS_SHAPES, &s);
    s.order = (merbit_block_order)(turn / 2 % 2);
    s.rows = 40 + turn;
    s.cols = 50 + turn % 7;
    s.longest = 4;
    blocks_case_make(&s, &form, turn, &c);
    plan = plan_of(contexts[turn % 3], &c, &desc);
    assert_int_equal(plan->bsr.view.block_rows, desc.block_rows);
    check_in_chunks(&c, plan);
    merbit_plan_destroy(plan);
    desc = blocks_of(0, 0);
    desc.method = others[turn % 2];
    plan = plan_of(contexts[turn % 3], &c, &desc);
    assert_int_equal(plan->method, desc.method);
    check(&c, plan);
    merbit_plan_destroy(plan);
    blocks_case_free(&c);
  }
}

/* Changes the case's values, in its arrays and in those for the bound. */
static void change(products_case *c) {
  const merbit_view *view = &c->a.view;
  int64_t i, count = mbi_view_values(view);
  for (i = 0; i < c->m.nnz; i++) {
    c->m.values[i] *= -0.5;
  }
  for (i = 0; i < count; i++) {
    if (c->form.type == MERBIT_F32) {
      ((float *)c->a.values)[i] *= -0.5f;
    } else {
      ((double *)c->a.values)[i] *= -0.5;
    }
  }
}

/* Twice: the first update of borrowed arrays makes the plan's own. The arrays from which the
 * plan was made keep their old values. */
static void new_values(void **state) {
  unsigned turn;
  (void)state;
  for (turn = 0; turn < 96; turn++) {
    products_form form = blocks_form(turn % 16);
    merbit_plan_desc desc = blocks_of(turn % 3 == 1 ? 3 : 0, turn % 3 == 1 ? 2 : 0);
    blocks_shape s;
    products_case c;
    products_arrays kept;
    merbit_plan *plan;
    test_matrix m;
    int update;
    desc.method = turn % 5 == 4 ? MERBIT_METHOD_MERGE : MERBIT_METHOD_BSR;
    memset(&s, 0, sizeof s);
    if (turn < 48) {
      blocks_shape_of((int)turn * 5 % BLOCKS_SHAPES, &s);
      s.order = (merbit_block_order)(turn % 2);
      s.rows = s.cols = 60 + turn;
      s.longest = 5;
      blocks_case_make(&s, &form, turn, &c);
    } else {
      form.format = turn % 2 ? MERBIT_COO : MERBIT_CSR;
      test_matrix_make(60 + (int)turn % 40, 7, &m);
      products_case_make(NULL, &m, &form, &c);
    }
    kept = c.a;
    kept.values = products_exact(mbi_view_values(&c.a.view), products_size(form.type));
    memcpy(kept.values, c.a.values,
           (size_t)mbi_view_values(&c.a.view) * products_size(form.type));
    kept.view.values = kept.values;
    products_done(contexts[turn % 3],
                  merbit_plan_create(contexts[turn % 3], &kept.view, &desc, &plan), c.m.name);
    for (update = 0; update < 2; update++) {
      change(&c);
      products_done(contexts[turn % 3],
                    merbit_plan_update_values(plan, c.a.values, MERBIT_MEMORY_HOST),
                    "new values");
      check(&c, plan);
    }
    merbit_plan_destroy(plan);
    free(kept.values);
    products_case_free(&c);
    test_matrix_free(&c.m);
  }
}

/* The same bits for the same number of threads, whatever the timing. */
static void products_repeat(void **state) {
  const products_form form = blocks_form(0);
  const merbit_plan_desc desc = blocks_of(0, 0);
  const double alpha = 0.7, beta = 0;
  blocks_shape s;
  products_case c;
  double *first;
  int t, run;
  (void)state;
  memset(&s, 0, sizeof s);
  s.block_rows = 3;
  s.block_cols = 4;
  s.rows = 900;
  s.cols = 700;
  s.longest = 30;
  s.long_row = 5000;
  blocks_case_make(&s, &form, 5, &c);
  first = (double *)test_allocate(s.rows, 8);
  for (t = 0; t < 3; t++) {
    for (run = 0; run < 20; run++) {
      merbit_plan *plan = plan_of(contexts[t], &c, &desc);
      assert_true(t == 0 ? plan->tasks == 1 : plan->tasks > 8);
      multiply(plan, NULL, &alpha, c.x, &beta, c.y);
      if (run == 0) {
        memcpy(first, c.y, (size_t)s.rows * 8);
      }
      assert_memory_equal(first, c.y, (size_t)s.rows * 8);
      merbit_plan_destroy(plan);
    }
  }
  free(first);
  blocks_case_free(&c);
}

/* Numbers of blocks per chunk differ by at most one; each row ends in one chunk. */
static void chunks_are_even(void **state) {
  const products_form form = blocks_form(0);
  int chunks, i;
  (void)state;
  for (chunks = 1; chunks < 40; chunks++) {
    int64_t index[41], row[41];
    blocks_shape s;
    products_case c;
    memset(&s, 0, sizeof s);
    s.block_rows = 2;
    s.block_cols = 3;
    s.rows = 61;
    s.cols = 50;
    s.longest = 5;
    blocks_case_make(&s, &form, (uint64_t)chunks, &c);
    mbi_block_cut(&c.a.view, chunks, index, row);
    assert_int_equal(index[0], 0);
    assert_int_equal(row[0], 0);
    assert_int_equal(index[chunks], c.a.view.nnz);
    assert_int_equal(row[chunks], 31);
    for (i = 0; i < chunks; i++) {
      const int64_t size = index[i + 1] - index[i];
      assert_true(size == c.a.view.nnz / chunks || size == c.a.view.nnz / chunks + 1);
      assert_true(row[i] <= row[i + 1]);
      assert_true(i == 0 || row[i] == 31 ||
                  ((const int32_t *)c.a.row_ptr)[row[i] + 1] > index[i]);
      assert_true(i == 0 || row[i] == 0 || ((const int32_t *)c.a.row_ptr)[row[i]] <= index[i]);
    }
    blocks_case_free(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bsr_views_as_they_lie),    cmocka_unit_test(csr_and_coo_in_blocks),
      cmocka_unit_test(bsr_views_in_other_forms), cmocka_unit_test(new_values),
      cmocka_unit_test(products_repeat),          cmocka_unit_test(chunks_are_even),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
