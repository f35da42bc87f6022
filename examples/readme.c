#define MERBIT_IMPLEMENTATION /* in one file of a program, before any system header */
#include "merbit.h"
#include <stdio.h>

int main(void) {
  int row_ptr[] = {0, 2, 3, 5}, col_ind[] = {0, 2, 1, 0, 2};
  double values[] = {1, 2, 3, 4, 5}, x[] = {1, 10, 100}, y[3];
  merbit_view a = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_plan_desc desc = {.vector_memory = MERBIT_MEMORY_HOST}; /* x and y are host arrays */
  merbit_context *context = NULL;
  merbit_plan *plan = NULL;
  merbit_error error = {MERBIT_OK, ""};
  int failed = merbit_context_create(NULL, &context, &error) || /* the GPU, else the CPU */
               merbit_plan_create(context, &a, &desc, &plan) ||
               merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL); /* y = A x */
  if (failed && context != NULL) {
    merbit_last_error(context, error.message, sizeof error.message);
  } else if (!failed) {
    printf("%g %g %g\n", y[0], y[1], y[2]);
    merbit_plan_describe(plan, error.message, sizeof error.message);
  }
  puts(error.message); /* what went wrong, or how the plan computes */
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
  return failed;
}
