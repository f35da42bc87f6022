#ifndef MBI_GPU_MANY_H
#define MBI_GPU_MANY_H
#include "spmv/shared/shared.h"

/* Several vectors, beside plan->scan: spmv/gpu/many/many.c. */
typedef struct mbi_many {
  int width; /* columns that are multiplied: the vectors, in copies some more */
  int span;  /* that a lane loads at once */
  int team;  /* lanes to a nonzero */
  int words; /* nonzeros of a run by 32 */
  int piece; /* nonzeros of it that are staged at once */
  int room;  /* nonzeros that a warp stages where each team has a row; 0: in runs */
  int unroll, threads, resident;
  unsigned shared; /* bytes of a block */
  void *loose, *collect, *spread; /* CUfunction */
} mbi_many;

#endif
