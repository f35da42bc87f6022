#ifndef MBI_STUDY_H
#define MBI_STUDY_H
#include "spmv/shared/shared.h"

#ifdef MERBIT_STUDY_METHODS

/* Chunks of blocks as they come: spmv/study/bsr_study.c. */
typedef struct mbi_bsr_study {
  int threads;
  uint64_t chunk_blocks, chunks;
  mbi_devptr chunk_row;
  void *kernels[3]; /* CUfunction: cut, scale, product */
} mbi_bsr_study;

/* Rows or chunks of a CSR: spmv/study/row_study.c, spmv/study/split_study.c. */
typedef struct mbi_csr_study {
  int threads;
  int lanes, rows, width; /* of spmv/study/row_study.cu */
  int steps;              /* of spmv/study/split_study.cu */
  uint64_t blocks, tiles; /* of the product, there the chunks; of columns */
  mbi_devptr tile_first, mixed, tile_col;
  void *kernels[3]; /* CUfunction: before the product, the product, behind it */
} mbi_csr_study;

#endif /* MERBIT_STUDY_METHODS */

#endif
