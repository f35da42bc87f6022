/* The methods of plans on the GPU, and a CUDA context for the tests that need one. */
#ifndef TEST_SUPPORT_GPU_H
#define TEST_SUPPORT_GPU_H
#include "support/internal.h"
#include "support/gpu_context.h"

#ifdef TEST_STUDY_METHODS
enum { GPU_STUDIES = 1 };
#else
enum { GPU_STUDIES = 0 };
#endif

/* Returns whether plans for one vector of a CSR on the GPU support a method; includes study
 * methods if the program has them. */
static int gpu_takes(const mbi_method *row) {
  return row->number == MERBIT_METHOD_AUTO ||
         (row->cuda != NULL && (row->takes & (MBI_OF_BLOCKS | MBI_TAKES_VECTORS_CUDA)) == 0 &&
          (row->number < MERBIT_METHOD_BSR_ROWS || GPU_STUDIES));
}

/* Returns the number of these methods; below, one of them by its number, where AUTO is 0. */
TEST_UNUSED static int gpu_method_count(void) {
  int count = 0;
  size_t i;
  for (i = 0; mbi_method_row(i) != NULL; i++) {
    count += gpu_takes(mbi_method_row(i));
  }
  return count;
}

TEST_UNUSED static merbit_method gpu_method(int number) {
  size_t i = 0;
  for (number -= gpu_takes(mbi_method_row(i)); number >= 0;) {
    number -= gpu_takes(mbi_method_row(++i));
  }
  return mbi_method_row(i)->number;
}

#endif /* TEST_SUPPORT_GPU_H */
