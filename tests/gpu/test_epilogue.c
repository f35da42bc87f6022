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

static void on_the_gpu(void **state) {
  int index, products = 0;
  (void)state;
  for (index = 0; index < test_matrix_count(); index += gpu_stride()) {
    products_form form = products_form_of(index % 2);
    test_matrix m;
    test_matrix_make(index, 5, &m);
    form.plan.method = gpu_methods[index / gpu_stride() % GPU_METHODS];
    products += epilogues_check(gpu, &m, &form, index % 2 ? 0x1a : 0x24, 0);
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
