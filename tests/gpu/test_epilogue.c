/* Products with epilogues: on the CPU, and on the GPU by every method. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/epilogues.h"
#include "support/gpu.h"

static merbit_context *cpu, *gpu;

static void on_the_cpu(void **state) {
  int index, products = 0;
  (void)state;
  for (index = 0; index < test_matrix_count(); index++) {
    static const merbit_method methods[] = {MERBIT_METHOD_AUTO, MERBIT_METHOD_MERGE,
                                            MERBIT_METHOD_REFERENCE, MERBIT_METHOD_SORTED,
                                            MERBIT_METHOD_BSR};
    products_form form = products_form_of(index % 4);
    test_matrix m;
    test_matrix_make(index, 5, &m);
    form.plan.method = methods[index % 5];
    form.plan.operation = index % 7 == 3 ? MERBIT_OPERATION_T : MERBIT_OPERATION_N;
    products += epilogues_check(cpu, &m, &form, index % 2 ? 0x1a : 0x24, 0);
    test_matrix_free(&m);
  }
  print_message("%d products\n", products);
}

typedef struct shape {
  merbit_method method;
  int sigma, omega, threads, fused;
} shape;

/* Those whose kernels take an epilogue; small blocks, so that there are many. */
static const shape shapes[] = {
    {MERBIT_METHOD_SCAN, 4, 1, 32, 1},    {MERBIT_METHOD_ROWS, 0, 8, 32, 1},
    {MERBIT_METHOD_SCAN, 4, 2, 64, 1},    {MERBIT_METHOD_SLICED, 0, 0, 32, 1},
    {MERBIT_METHOD_HUBS, 4, 1, 64, 1},    {MERBIT_METHOD_BINNED, 0, 0, 0, 1},
    {MERBIT_METHOD_AUTO, 0, 0, 0, 1},     {MERBIT_METHOD_MERGE, 0, 0, 0, 0},
    {MERBIT_METHOD_SCAN, 0, 0, 0, 1},     {MERBIT_METHOD_MERBIT, 0, 0, 0, 0},
    {MERBIT_METHOD_ROWS, 0, 0, 0, 1},     {MERBIT_METHOD_BSR, 0, 0, 0, 0},
    {MERBIT_METHOD_SLICED, 0, 1, 256, 1}, {MERBIT_METHOD_CB, 0, 0, 0, 0},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0], FEW = 6 };

static products_form form_of(const shape *s, int bits) {
  products_form form = products_form_of(bits);
  form.plan.method = s->method;
  form.plan.sigma = s->sigma;
  form.plan.omega = s->omega;
  form.plan.block_threads = s->threads;
  return form;
}

/* Where compilation is slow each shape has one type and, beside the one that counts rows, one
 * epilogue. */
static void on_the_gpu(void **state) {
  const int slow = gpu_stride() > 1, few = slow ? FEW : SHAPES;
  int index, products = 0, turn = 0;
  (void)state;
  for (index = 0; index < test_matrix_count(); index += gpu_stride(), turn++) {
    const shape *s = &shapes[turn % few];
    const int at = turn % few;
    const unsigned kinds = slow ? 1u << (1 + at % 5) : index % 2 ? 0x1a : 0x24;
    products_form form = form_of(s, slow ? at / 2 % 2 : index % 8);
    test_matrix m;
    test_matrix_make(index, 5, &m);
    form.plan.operation = index % 11 == 3 ? MERBIT_OPERATION_T : MERBIT_OPERATION_N;
    products += epilogues_check(gpu, &m, &form, kinds, !slow && index % 13 == 5);
    test_matrix_free(&m);
  }
  print_message("%d products\n", products);
}

int main(int argc, char **argv) {
  const struct CMUnitTest before[] = {cmocka_unit_test(on_the_cpu)};
  const struct CMUnitTest tests[] = {cmocka_unit_test(on_the_gpu)};
  int failed;
  if (argc > 1) {
    cmocka_set_test_filter(argv[1]);
  }
  cpu = cpu_open(NULL, 2);
  failed = cmocka_run_group_tests(before, NULL, NULL);
  merbit_context_destroy(cpu);
  if (failed != 0) {
    return failed;
  }
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
