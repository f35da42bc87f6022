/* The table of support/rules.h, the identities and the promised bits on a GPU. The CPU's
 * counterparts are spmv/choose/test_rules.c and spmv/plan/test_identities.c, that of the
 * kernels on the CPU simt/test_rules.cpp. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "gpu/shapes.h"
#include "support/gpu.h"
#include "support/identities.h"
#include "support/rules.h"

static merbit_context *gpu;
static long rows_checked;

/* Each method with its own choice of sizes, then these. Identities run those before the
 * third. */
static const shape tuned[] = {
    {MERBIT_METHOD_BINNED, 1, 1, 32},   {MERBIT_METHOD_CB, 20, 0, 64},
    {MERBIT_METHOD_MERGE, 4, 3, 64},    {MERBIT_METHOD_MERBIT, 7, 32, 64},
    {MERBIT_METHOD_MERBIT, 1, 8, 32},   {MERBIT_METHOD_SCAN, 4, 1, 64},
    {MERBIT_METHOD_ROWS, 3, 32, 128},   {MERBIT_METHOD_SLICED, 3, 1, 64},
    {MERBIT_METHOD_SCAN, 4, 2, 96},     {MERBIT_METHOD_HUBS, 4, 1, 96},
    {MERBIT_METHOD_DIAGONALS, 2, 0, 64}};
enum { TUNED = sizeof tuned / sizeof tuned[0], TUNED_IDENTITIES = 2 };

static int shape_count(int more) {
  return gpu_method_count() - 1 + more; /* without AUTO */
}

static shape shape_of(int number) {
  const int methods = gpu_method_count() - 1;
  shape own = {MERBIT_METHOD_AUTO, 0, 0, 0};
  if (number >= methods) {
    return tuned[number - methods];
  }
  own.method = gpu_method(number + 1);
  return own;
}

/* Computes y = alpha m x + beta y with a new plan in `context`; vectors are passed as
 * doubles. */
static void product(merbit_context *context, const test_matrix *m, products_form *form,
                    double alpha, const double *x, double beta, double *y) {
  const merbit_type type = form->type;
  const size_t size = type == MERBIT_F32 ? 4 : 8;
  const double pair[2] = {alpha, beta};
  char *scalars = (char *)products_values(pair, 2, type);
  void *typed_x = products_values(x, m->cols, type),
       *typed_y = products_values(y, m->rows, type);
  merbit_buffer *buffers[3];
  const void *at_x = products_move(context, typed_x, (size_t)m->cols * size, &buffers[0]);
  const void *at_y = products_move(context, typed_y, (size_t)m->rows * size, &buffers[1]);
  const char *at = (const char *)products_move(context, scalars, 2 * size, &buffers[2]);
  products_arrays a;
  merbit_plan *plan;
  int64_t i;
  products_arrays_make(context, m, form, &a);
  at = form->device_scalars ? at : scalars;
  form->plan.side = MERBIT_SIDE_CUDA;
  form->plan.scalar_memory = form->device_scalars ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
  assert_int_equal(merbit_plan_create(context, &a.view, &form->plan, &plan), MERBIT_OK);
  if (form->plan.vector_memory == MERBIT_MEMORY_HOST) {
    assert_int_equal(merbit_spmv(plan, NULL, at, typed_x, at + size, typed_y, NULL), MERBIT_OK);
  } else {
    assert_int_equal(
        merbit_spmv(plan, NULL, at, at_x, at + size, (void *)(uintptr_t)at_y, NULL), MERBIT_OK);
    assert_int_equal(merbit_buffer_download(buffers[1], 0, typed_y, (size_t)m->rows * size),
                     MERBIT_OK);
  }
  for (i = 0; i < m->rows; i++) {
    y[i] = type == MERBIT_F32 ? (double)((float *)typed_y)[i] : ((double *)typed_y)[i];
  }
  merbit_plan_destroy(plan);
  products_arrays_free(&a);
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(buffers[i]);
  }
  free(scalars);
  free(typed_x);
  free(typed_y);
}

static void form_make(int variant, products_form *form) {
  memset(form, 0, sizeof *form);
  form->type = variant & 1 ? MERBIT_F32 : MERBIT_F64;
  form->offset_type = variant & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  form->base = variant >> 1 & 1;
  form->device_scalars = variant >> 2 & 1;
  form->device_arrays = variant >> 1 & 1;
  form->plan.vector_memory = variant == 1 ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
}

static void every_rule(void **state) {
  static const int64_t fills[] = {0, 9, 300, 1500, 8000};
  int index, f, s, variant;
  (void)state;
  for (index = rules_next(-1); index < RULES_COUNT; index = rules_next(index)) {
    for (f = 0; f < 5; f++) {
      for (s = 0; s < shape_count(TUNED); s++) {
        const shape how = shape_of(s);
        products_form form;
        rules_case c;
        int64_t i;
        variant = (index + f + s) % 8;
        form_make(variant, &form);
        shape_take(&how, &form);
        form.pattern = f == 2 && s % 2;
        rules_make(index, form.type == MERBIT_F32, fills[f], form.pattern, 7, &c);
        product(gpu, &c.m, &form, c.alpha, c.x, c.beta, c.y0);
        for (i = 0; i < c.m.rows; i++) {
          rows_checked++;
          if (!rules_same(c.y0[i], c.want[i])) {
            fail_msg("%s, %s, variant %d, shape %d: y[%lld] is %g (%a), not %g (%a)", c.m.name,
                     form.type == MERBIT_F32 ? "f32" : "f64", variant, s, (long long)i, c.y0[i],
                     c.y0[i], c.want[i], c.want[i]);
          }
        }
        rules_free(&c);
      }
    }
  }
  print_message("%d rules, %ld rows of y, each what the table says\n", (int)RULES_COUNT,
                rows_checked);
}

static void multiply(void *user, const test_matrix *m, int single, double alpha,
                     const double *x, double beta, double *y) {
  products_form form;
  form_make(0, &form);
  form.type = single ? MERBIT_F32 : MERBIT_F64;
  shape_take((const shape *)user, &form);
  product(gpu, m, &form, alpha, x, beta, y);
}

static void identities_hold(void **state) {
  identities_bed bed;
  int i, s;
  (void)state;
  memset(&bed, 0, sizeof bed);
  bed.context = gpu;
  bed.multiply = multiply;
  for (i = gpu_first(); i < test_matrix_count(); i += 2 * gpu_stride()) {
    test_matrix m;
    test_matrix_make(i, 17, &m);
    for (s = 0; s < shape_count(TUNED_IDENTITIES); s++) {
      shape how = shape_of(s);
      bed.user = &how;
      bed.by_columns = how.method == MERBIT_METHOD_CB; /* which blocks hold a row */
      for (bed.single = 0; bed.single < 2; bed.single++) {
        identities_check(&bed, &m, 17);
      }
    }
    test_matrix_free(&m);
  }
  print_message("%ld components within what the bound allows\n", bed.checked);
}

/* A specialisation gives the same bits in every context, from host and device arrays, with
 * offsets of either width, base 0 or 1, and scalars in either memory. */
static void bits_repeat(void **state) {
  merbit_context *contexts[2];
  int i, s, variant, single;
  contexts[0] = gpu;
  contexts[1] = gpu_context();
  (void)state;
  for (i = gpu_first(); i < test_matrix_count(); i += 3 * gpu_stride()) {
    test_matrix m;
    double *x, *first, *y;
    uint64_t random = 3;
    int64_t k;
    test_matrix_make(i, 19, &m);
    x = (double *)test_allocate(m.cols, sizeof(double));
    first = (double *)test_allocate(m.rows, sizeof(double));
    y = (double *)test_allocate(m.rows, sizeof(double));
    for (k = 0; k < m.cols; k++) {
      x[k] = test_uniform(&random);
    }
    for (s = 0; s < shape_count(TUNED_IDENTITIES); s++) {
      const shape how = shape_of(s);
      for (single = 0; single < 2; single++) {
        for (variant = single; variant < 8; variant += 2) {
          products_form form;
          form_make(variant, &form);
          shape_take(&how, &form);
          for (k = 0; k < m.rows; k++) {
            y[k] = 0.5;
          }
          product(contexts[variant >> 1 & 1], &m, &form, 0.3, x, -1.7, y);
          if (variant < 2) {
            memcpy(first, y, (size_t)m.rows * sizeof *y);
          } else if (memcmp(first, y, (size_t)m.rows * sizeof *y) != 0) {
            fail_msg("%s, variant %d, shape %d: other bits", m.name, variant, s);
          }
        }
      }
    }
    free(x);
    free(first);
    free(y);
    test_matrix_free(&m);
  }
  merbit_context_destroy(contexts[1]);
}

/* Takes a pattern of tests' names, because programs are compiled one by one. */
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_rule),
      cmocka_unit_test(identities_hold),
      cmocka_unit_test(bits_repeat),
  };
  int failed;
  if (argc > 1) {
    cmocka_set_test_filter(argv[1]);
  }
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
