#ifndef MBI_GPU_ROWS_H
#define MBI_GPU_ROWS_H
#include "spmv/shared/shared.h"

/* Lanes per row: spmv/gpu/rows/rows.c. */
typedef struct mbi_rows {
  int lanes, unroll, threads;
  uint64_t blocks;
  void *product; /* CUfunction */
} mbi_rows;

#endif
