#ifndef MBI_GPU_MERGE_H
#define MBI_GPU_MERGE_H
#include "spmv/shared/shared.h"

/* Chunks of the merge path: spmv/gpu/merge/merge.c. */
typedef struct mbi_merge_path {
  int steps, threads, resident;
  int pack;   /* nonzeros that a lane loads at once */
  int rounds; /* chunks that a block takes, one after the other */
  uint64_t chunks, blocks;
  void *cut, *product, *sum, *fixup; /* CUfunction; product where beta is zero */
} mbi_merge_path;

#endif
