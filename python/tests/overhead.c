/* The time of merbit_spmv alone, for overhead.py, which compiles this file as a library. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <time.h>

static double now(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Returns the least seconds per call over `batches` batches. Waits after each, so that the
 * GPU's queue does not fill. */
static double least(merbit_plan *plan, merbit_buffer *x, merbit_buffer *y, int calls,
                    int batches) {
  double seconds = 1e9, host[3];
  for (int batch = 0; batch < batches; ++batch) {
    double begin = now(), taken;
    for (int call = 0; call < calls; ++call) {
      if (merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(x), NULL,
                      merbit_buffer_pointer(y), NULL) != MERBIT_OK) {
        return -1;
      }
    }
    taken = (now() - begin) / calls;
    seconds = taken < seconds ? taken : seconds;
    if (merbit_buffer_download(y, 0, host, sizeof host) != MERBIT_OK) {
      return -1;
    }
  }
  return seconds;
}

/* Times products with the identity of 3 rows in double precision, on the CPU or on CUDA.
 * Returns -1 on failure. */
double seconds_of_merbit_spmv(int cuda, const char *nvrtc, int calls, int batches) {
  static const int row_ptr[] = {0, 1, 2, 3}, col_ind[] = {0, 1, 2};
  static const double ones[] = {1, 1, 1};
  merbit_context_desc desc = merbit_context_defaults();
  merbit_context *context = NULL;
  merbit_plan *plan = NULL;
  merbit_buffer *x = NULL, *y = NULL;
  merbit_view view = merbit_csr(3, 3, 3, row_ptr, col_ind, ones);
  double seconds = -1;
  desc.side = cuda ? MERBIT_SIDE_CUDA : MERBIT_SIDE_CPU;
  desc.nvrtc_path = nvrtc;
  if (merbit_context_create(&desc, &context, NULL) == MERBIT_OK &&
      merbit_plan_create(context, &view, NULL, &plan) == MERBIT_OK &&
      merbit_buffer_create(context, sizeof ones, &x) == MERBIT_OK &&
      merbit_buffer_create(context, sizeof ones, &y) == MERBIT_OK &&
      merbit_buffer_upload(x, 0, ones, sizeof ones) == MERBIT_OK) {
    seconds = least(plan, x, y, calls, batches);
  }
  merbit_buffer_destroy(x);
  merbit_buffer_destroy(y);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
  return seconds;
}
