#define MERBIT_IMPLEMENTATION
#include "merbit.h"

int main(void) {
  int row_ptr[] = {0, 2, 3, 5}, col_ind[] = {0, 2, 1, 0, 2};
  double values[] = {1, 2, 3, 4, 5}, x[] = {1, 10, 100}, y[] = {0, 0, 0};
  merbit_view a = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_context *context; merbit_plan *plan; merbit_buffer *in, *out; char text[512];
  merbit_context_create(NULL, &context, NULL);  /* the GPU if there is one, else the CPU */
  merbit_plan_create(context, &a, NULL, &plan); /* kernels compiled for this matrix */
  merbit_buffer_create(context, sizeof x, &in); merbit_buffer_create(context, sizeof y, &out);
  merbit_buffer_upload(in, 0, x, sizeof x);
  merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(in), NULL, merbit_buffer_pointer(out), NULL);
  merbit_buffer_download(out, 0, y, sizeof y);
  merbit_plan_describe(plan, text, sizeof text);
  printf("%g %g %g\n%s\n", y[0], y[1], y[2], text);
  return merbit_last_error(context, text, sizeof text) != MERBIT_OK;
}
