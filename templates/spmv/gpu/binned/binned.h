#ifndef MBI_GPU_BINNED_H
#define MBI_GPU_BINNED_H
#include "spmv/shared/shared.h"

/* The binned product's specialisation and runs, beside plan->scan: spmv/gpu/binned/binned.c. */
typedef struct mbi_binned {
  int warp_tiles;                /* tiles of a warp in a part */
  uint64_t strip, part_nonzeros; /* columns; nonzeros */
  uint64_t strips, parts, items;
  uint64_t groups, part_groups; /* of 32 bytes of products: in all, and of the largest part */
  mbi_devptr runs, part_start, item_list, strip_col, values, target, places;
  void *kernels[6]; /* CUfunction: count, total, offsets, fill, multiply, sum */
} mbi_binned;

#endif
