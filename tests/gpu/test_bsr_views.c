/* BSR views on either side, in a context on the GPU: checked, converted, multiplied by methods
 * without blocks, with new values; a plan that falls back to the CPU keeps the blocks. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/blocks.h"
#include "support/gpu.h"

static merbit_context *gpu;

static void make(unsigned turn, int patterns, products_case *c) {
  products_form form = blocks_form(turn * 5);
  blocks_shape s;
  memset(&s, 0, sizeof s);
  form.pattern &= patterns;
  blocks_shape_of((int)turn % BLOCKS_SHAPES, &s);
  s.order = (merbit_block_order)(turn % 2);
  s.rows = 70 + turn;
  s.cols = 60 + turn % 7;
  s.longest = 6;
  blocks_case_make(&s, &form, turn, c);
}

static void products_of_every_form(void **state) {
  static const merbit_method methods[] = {MERBIT_METHOD_AUTO, MERBIT_METHOD_SCAN,
                                          MERBIT_METHOD_SLICED};
  unsigned turn;
  (void)state;
  for (turn = 0; turn < 4 * BLOCKS_SHAPES; turn += (unsigned)gpu_stride()) {
    products_case c;
    make(turn, 1, &c);
    if (turn % 4 < 2) {
      blocks_case_move(gpu, &c);
    }
    c.form.few_scalars = 1;
    c.form.plan.side = MERBIT_SIDE_CUDA;
    c.form.plan.method = methods[turn % 3];
    products_check_case(gpu, &c);
    blocks_case_free(&c);
  }
}

/* New values from either side for arrays on either side. */
static void new_values(void **state) {
  unsigned turn;
  (void)state;
  for (turn = 0; turn < 16; turn++) {
    const size_t size = products_size(blocks_form(turn * 5).type);
    products_case c;
    products_plan p;
    merbit_buffer *fresh = NULL;
    const void *values;
    int64_t i, count;
    make(turn, 0, &c);
    count = c.a.view.nnz * c.a.view.block_rows * c.a.view.block_cols;
    memset(&p, 0, sizeof p);
    c.form.plan.vector_memory = MERBIT_MEMORY_HOST;
    c.form.plan.side = MERBIT_SIDE_CUDA;
    p.context = gpu;
    p.form = &c.form;
    if (turn % 2) {
      blocks_case_move(gpu, &c);
    }
    products_done(gpu, merbit_plan_create(gpu, &c.a.view, &c.form.plan, &p.plan), "a plan");
    for (i = 0; i < c.m.nnz; i++) {
      c.m.values[i] *= -2;
    }
    for (i = 0; i < count; i++) {
      const double old = c.form.type == MERBIT_F32 ? (double)((float *)c.a.values)[i]
                                                   : ((double *)c.a.values)[i];
      products_set(c.a.values, i, -2 * old, c.form.type);
    }
    values = turn / 2 % 2 ? products_move(gpu, c.a.values, (size_t)count * size, &fresh)
                          : c.a.values;
    products_done(gpu,
                  merbit_plan_update_values(
                      p.plan, values, turn / 2 % 2 ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST),
                  "new values");
    products_once(&c, 1, 0.5, products_spmv, &p);
    merbit_plan_destroy(p.plan);
    merbit_buffer_destroy(fresh);
    blocks_case_free(&c);
  }
}

static void conversions_of_device_arrays(void **state) {
  unsigned turn;
  (void)state;
  for (turn = 0; turn < 20; turn++) {
    products_case c;
    merbit_matrix *of_host[2], *of_device[2];
    merbit_bsr_desc desc = {3, 2, MERBIT_BLOCK_ROW_MAJOR};
    merbit_block_info host_info, device_info;
    int i;
    make(turn * 3, 1, &c);
    products_done(gpu, merbit_matrix_create(gpu, &c.a.view, &of_host[0]), "CSR");
    products_done(gpu, merbit_matrix_create_bsr(gpu, &c.a.view, &desc, &of_host[1]), "BSR");
    products_done(gpu, merbit_view_find_blocks(gpu, &c.a.view, NULL, &host_info), "a shape");
    blocks_case_move(gpu, &c);
    products_done(gpu, merbit_view_check(gpu, &c.a.view), "a check");
    products_done(gpu, merbit_matrix_create(gpu, &c.a.view, &of_device[0]), "CSR");
    products_done(gpu, merbit_matrix_create_bsr(gpu, &c.a.view, &desc, &of_device[1]), "BSR");
    products_done(gpu, merbit_view_find_blocks(gpu, &c.a.view, NULL, &device_info), "a shape");
    assert_memory_equal(&host_info, &device_info, sizeof host_info);
    for (i = 0; i < 2; i++) {
      const merbit_view a = merbit_matrix_view(of_host[i]),
                        b = merbit_matrix_view(of_device[i]);
      assert_int_equal(a.nnz, b.nnz);
      assert_memory_equal(a.col_ind, b.col_ind, (size_t)a.nnz * 4);
      merbit_matrix_destroy(of_host[i]);
      merbit_matrix_destroy(of_device[i]);
    }
    blocks_case_free(&c);
  }
}

static void bad_blocks_are_named(void **state) {
  static const int32_t row_ptr[] = {0, 1, 3};
  static const int32_t col_ind[] = {0, 1, 2};
  char sentence[MERBIT_MESSAGE_SIZE];
  merbit_view view = merbit_bsr(4, 3, 3, 2, 2, NULL, NULL, NULL);
  merbit_buffer *buffers[2];
  merbit_plan *plan;
  (void)state;
  view.memory = MERBIT_MEMORY_DEVICE;
  view.row_ptr = products_move(gpu, row_ptr, sizeof row_ptr, &buffers[0]);
  view.col_ind = products_move(gpu, col_ind, sizeof col_ind, &buffers[1]);
  assert_int_equal(merbit_view_check(gpu, &view), MERBIT_INVALID_MATRIX);
  assert_int_equal(merbit_plan_create(gpu, &view, NULL, &plan), MERBIT_INVALID_MATRIX);
  (void)merbit_last_error(gpu, sentence, sizeof sentence);
  assert_non_null(strstr(sentence, "col_ind[2] (block row 1) is 2"));
  view.col_ind = col_ind;
  assert_int_equal(merbit_view_check(gpu, &view), MERBIT_INVALID_ARGUMENT);
  merbit_buffer_destroy(buffers[0]);
  merbit_buffer_destroy(buffers[1]);
}

/* With a compiler that refuses everything the plan computes on the CPU, in blocks. */
static void a_plan_falls_back_to_blocks(void **state) {
  products_case c;
  products_plan p;
  (void)state;
  make(28, 0, &c); /* 4 x 5 blocks, general values */
  memset(&p, 0, sizeof p);
  c.form.plan.vector_memory = MERBIT_MEMORY_HOST;
  p.context = gpu;
  p.form = &c.form;
  gpu->device.compute_capability = 20;
  products_done(gpu, merbit_plan_create(gpu, &c.a.view, &c.form.plan, &p.plan), "a plan");
  gpu->device.compute_capability = 90;
  assert_int_equal(p.plan->side, MERBIT_SIDE_CPU);
  assert_int_equal(p.plan->method, MERBIT_METHOD_BSR);
  assert_true(p.plan->reason[0] != '\0');
  products_once(&c, 1, 0.5, products_spmv, &p);
  merbit_plan_destroy(p.plan);
  blocks_case_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_of_every_form),       cmocka_unit_test(new_values),
      cmocka_unit_test(conversions_of_device_arrays), cmocka_unit_test(bad_blocks_are_named),
      cmocka_unit_test(a_plan_falls_back_to_blocks),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
