#ifndef MBI_GPU_SLICED_H
#define MBI_GPU_SLICED_H
#include "spmv/shared/shared.h"

/* Sliced storage: spmv/gpu/sliced/sliced.c. */
typedef struct mbi_sliced {
  int unroll, threads;
  int sorted; /* rows sorted by length within windows */
  uint64_t slices, blocks;
  uint64_t slots, column_slots; /* of values; of two-byte columns */
  mbi_devptr length, row_id, slice_start, column_start, pages, columns, values;
  void *kernels[4]; /* CUfunction: order, width, fill, product */
} mbi_sliced;

#endif
