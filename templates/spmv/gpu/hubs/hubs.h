#ifndef MBI_GPU_HUBS_H
#define MBI_GPU_HUBS_H
#include "spmv/shared/shared.h"

/* The scan with hubs, beside plan->scan: spmv/gpu/hubs/hubs.c. */
typedef struct mbi_hubs {
  uint64_t room;  /* for this many hubs */
  uint32_t count; /* hubs */
  mbi_devptr hub_col, codes;
  void *kernels[4]; /* CUfunction: assign, encode, product, sum */
} mbi_hubs;

#endif
