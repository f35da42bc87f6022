/* Products over semirings on the GPU, bit for bit: every method that supports them, every form
 * of arrays, scalars and vectors; user-defined operators; refusals. */
#define MBI_CHOOSE_UNSEEN 0u /* tiny matrices count as large for one product */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "gpu/shapes.h"
#include "support/cpu.h"
#include "support/gpu.h"
#include "support/semirings.h"
#include "support/squares.h"

static merbit_context *gpu;

/* Only the first FEW if compilation is slow. */
static const shape shapes[] = {
    {MERBIT_METHOD_AUTO, 0, 0, 0},    {MERBIT_METHOD_SCAN, 4, 1, 64},
    {MERBIT_METHOD_MERGE, 0, 0, 0},   {MERBIT_METHOD_ROWS, 0, 0, 0},
    {MERBIT_METHOD_SCAN, 4, 2, 96},   {MERBIT_METHOD_MERGE, 4, 3, 64},
    {MERBIT_METHOD_ROWS, 3, 32, 128}, {MERBIT_METHOD_SCAN, 0, 0, 0},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0], FEW = 4 };

/* Makes a form by bits: those of products_form_of, then device arrays, device scalars, host
 * vectors, T. */
static products_form form_of(int bits, const shape *s) {
  products_form form = products_form_of(bits);
  form.device_arrays = bits >> 6 & 1;
  form.device_scalars = bits >> 7 & 1;
  form.plan.vector_memory = bits & 256 ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
  form.plan.operation = bits & 512 ? MERBIT_OPERATION_T : MERBIT_OPERATION_N;
  form.plan.side = MERBIT_SIDE_CUDA;
  shape_take(s, &form);
  return form;
}

/* If compilation is slow each kind uses one method and one type. */
static void every_method(void **state) {
  const int slow = gpu_stride() > 1;
  uint64_t random = 3;
  int index, kind, products = 0;
  (void)state;
  for (index = slow ? gpu_stride() : 0; index < test_matrix_count();
       index += slow ? 6 * gpu_stride() : 1) {
    for (kind = 1; kind <= SEMIRINGS_KINDS; kind++) {
      const shape *s = &shapes[slow ? kind % FEW : (int)test_below(&random, SHAPES)];
      const int where = (int)test_below(&random, 1024);
      products_form form = form_of(slow ? kind % 2 + (kind == 3 ? 16 : 0) +
                                              (kind == 2 ? 32 : 0) + (where & (64 + 256))
                                        : where,
                                   s);
      test_matrix m;
      test_matrix_make(index, 5, &m);
      products +=
          semirings_check(gpu, &m, &form, kind, (int)test_below(&random, 21), slow ? 4 : 3);
      test_matrix_free(&m);
    }
  }
  print_message("%d products\n", products);
}

/* Every pair of scalars, from either memory, by each method; a reordered plan. */
static void every_scalar(void **state) {
  const int slow = gpu_stride() > 1;
  int kind, s;
  (void)state;
  for (s = 1; s < (slow ? FEW : SHAPES); s++) {
    for (kind = 1; kind <= SEMIRINGS_KINDS; kind++) {
      products_form form = form_of(0, &shapes[s]);
      test_matrix m;
      if (slow && kind != 1 + (s + 1) % 2 * 3) {
        continue;
      }
      form.device_scalars = (s + (slow ? 0 : kind)) % 2;
      form.plan.reordering = s % 3 == 1 ? MERBIT_REORDERING_RCM : MERBIT_REORDERING_NONE;
      square_grid(9, 13, 8, 5, &m);
      (void)semirings_check(gpu, &m, &form, kind, 0, 25);
      test_matrix_free(&m);
    }
  }
}

/* AUTO chooses a method for semirings without measuring. */
static void choice(int uneven, int calls, merbit_method method, const char *why) {
  enum { ROWS = 300 };
  static int32_t row_ptr[ROWS + 1], col_ind[4 * ROWS];
  merbit_view view;
  merbit_plan_desc desc;
  merbit_plan *plan;
  char line[512];
  int i;
  for (i = 0; i < 4 * ROWS; i++) {
    col_ind[i] = (i * 7) % ROWS;
  }
  for (i = 0; i < ROWS; i++) { /* each row has four, or each eighth has 25 and the others one */
    row_ptr[i + 1] = uneven ? i / 8 * 32 + 25 + i % 8 : 4 * (i + 1);
  }
  view = merbit_csr(ROWS, ROWS, row_ptr[ROWS] < 4 * ROWS ? row_ptr[ROWS] : 4 * ROWS, row_ptr,
                    col_ind, NULL);
  for (i = 0; i <= ROWS; i++) {
    row_ptr[i] = row_ptr[i] < view.nnz ? row_ptr[i] : (int32_t)view.nnz;
  }
  memset(&desc, 0, sizeof desc);
  desc.semiring = MERBIT_SEMIRING_OR_AND;
  desc.side = MERBIT_SIDE_CUDA;
  desc.expected_calls = calls;
  products_done(gpu, merbit_plan_create(gpu, &view, &desc, &plan), "a choice");
  (void)merbit_plan_describe(plan, line, sizeof line);
  assert_int_equal(plan->method, method);
  assert_non_null(strstr(line, "f64 or-and"));
  assert_non_null(strstr(line, why));
  assert_non_null(strstr(line, "values all one"));
  merbit_plan_destroy(plan);
}

static void choices(void **state) {
  (void)state;
  choice(0, 5000, MERBIT_METHOD_ROWS, "small, with rows of similar length; runner-up scan");
  choice(1, 0, MERBIT_METHOD_SCAN, "default for semirings; runner-up merge");
  choice(0, 1, MERBIT_METHOD_MERGE, "for 1 product without inspecting");
}

static void refusals(void **state) {
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  static const double values[] = {2};
  static const merbit_method others[] = {MERBIT_METHOD_MERBIT, MERBIT_METHOD_SLICED,
                                         MERBIT_METHOD_BINNED, MERBIT_METHOD_BSR,
                                         MERBIT_METHOD_CB,     MERBIT_METHOD_HUBS};
  merbit_view view = merbit_csr(1, 1, 1, row_ptr, col_ind, values);
  merbit_operators good = semirings_operators(SEMIRINGS_DIFFERENCE), o = good;
  merbit_plan_desc desc;
  size_t i;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.semiring = MERBIT_SEMIRING_MIN_PLUS;
  for (i = 0; i < sizeof others / sizeof others[0]; i++) {
    desc.method = others[i];
    cpu_refuses_plan(gpu, &view, &desc, MERBIT_NOT_SUPPORTED,
                     "MERBIT_METHOD_MERGE, on CUDA also");
  }
  desc.method = MERBIT_METHOD_REFERENCE;
  desc.side = MERBIT_SIDE_CUDA;
  cpu_refuses_plan(gpu, &view, &desc, MERBIT_INVALID_ARGUMENT,
                   "REFERENCE, which runs on the CPU");
  desc.method = MERBIT_METHOD_AUTO;
  desc.semiring = MERBIT_SEMIRING_CUSTOM;
  desc.operators = &o;
  o.add = NULL;
  cpu_refuses_plan(gpu, &view, &desc, MERBIT_NOT_SUPPORTED, "needs both expressions");
  o = good;
  o.multiply = NULL;
  desc.side = MERBIT_SIDE_AUTO;
  cpu_refuses_plan(gpu, &view, &desc, MERBIT_NOT_SUPPORTED, "needs both expressions");
  o = good;
  o.multiply = "a * x;";
  cpu_refuses_plan(gpu, &view, &desc, MERBIT_INVALID_ARGUMENT, "\";\" at position 6");
}

/* Equal programs are compiled once, however the user writes them; different ones separately. */
static void programs(void **state) {
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  static const double values[] = {2};
  static const char *const spelt[] = {"a+x", " ( a + x ) ", "a-x"};
  merbit_view view = merbit_csr(1, 1, 1, row_ptr, col_ind, values);
  merbit_operators o = semirings_operators(SEMIRINGS_DIFFERENCE);
  merbit_plan_desc desc;
  merbit_plan *plan;
  merbit_plan_info info;
  int i;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.method = MERBIT_METHOD_ROWS;
  desc.semiring = MERBIT_SEMIRING_CUSTOM;
  desc.operators = &o;
  desc.tuning = "unroll=7"; /* unlike any plan before */
  for (i = 0; i < 3; i++) {
    o.multiply = spelt[i];
    products_done(gpu, merbit_plan_create(gpu, &view, &desc, &plan), spelt[i]);
    assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
    assert_int_equal(info.cubin_from_cache, i == 1);
    merbit_plan_destroy(plan);
  }
}

/* Takes a pattern of tests' names, because programs are compiled one by one. */
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method), cmocka_unit_test(every_scalar), cmocka_unit_test(choices),
      cmocka_unit_test(refusals),     cmocka_unit_test(programs),
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
