#ifndef MBI_GPU_CB_H
#define MBI_GPU_CB_H
#include "spmv/shared/shared.h"

/* Blocks of 16 x 16: spmv/gpu/cb/cb.c. */
typedef struct mbi_cb {
  int threads, aggregated;
  uint64_t limit; /* steps of a warp */
  uint64_t block_count, data_bytes, forms[3], tasks, parts, splits;
  mbi_devptr words, first, data; /* blocks, their columns, what lies in them */
  mbi_devptr task_block, task_target, split_strip, split_part;
  void *product, *fixup; /* CUfunction */
} mbi_cb;

#endif
