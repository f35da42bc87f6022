/* A C program that uses merbit: prints its version and a 1 x 1 product, "0.1.0 42". */
#include <merbit.h>
#include <stdio.h>

int main(void) {
  const int row_ptr[] = {0, 1}, col_ind[] = {0};
  const double values[] = {6}, x[] = {7};
  const merbit_view a = merbit_csr(1, 1, 1, row_ptr, col_ind, values);
  merbit_plan_desc desc = {0};
  merbit_context *context = NULL;
  merbit_plan *plan = NULL;
  double y[] = {0};
  int failed;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  failed = merbit_context_create(NULL, &context, NULL) ||
           merbit_plan_create(context, &a, &desc, &plan) ||
           merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL);
  printf("%s %g\n", merbit_version(), y[0]);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
  return failed;
}
