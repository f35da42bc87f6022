#ifndef MBI_GPU_HUBS_H
#define MBI_GPU_HUBS_H
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/hubs/build_arguments.cuh"
#include "spmv/gpu/hubs/hubs_arguments.cuh"

/* The state of HUBS: SCAN's schedule and the hubs (spmv/gpu/hubs/hubs.cu). */
typedef struct mbi_hubs {
  mbi_scan_schedule scan; /* first, so that mbi_scan_of finds it */
  uint64_t capacity;      /* the number of hubs that fit in shared memory */
  uint32_t count;         /* the number of hubs found */
  mbi_devptr hub_col, codes;
  void *kernels[4]; /* CUfunction: assign, encode, product, sum */
} mbi_hubs;

/* HUBS' knobs: nonzeros per lane in a tile; kilobytes of shared memory per block. */
enum { MBI_KNOB_HUBS_STEPS, MBI_KNOB_HUBS_KILOBYTES };

#ifdef MBI_SEPARATE
MBI_INTERNAL mbi_hubs *mbi_hubs_of(const merbit_plan *plan);
/* spmv/gpu/hubs/hubs.c */
MBI_INTERNAL uint64_t mbi_hubs_capacity(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_hubs_size(merbit_plan *plan);
MBI_INTERNAL void mbi_hubs_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL unsigned mbi_hubs_shared(const merbit_plan *plan, int adds);
MBI_INTERNAL merbit_status mbi_hubs_create(merbit_plan *plan);
MBI_INTERNAL double mbi_hubs_cost(const merbit_plan *plan);
#endif /* MBI_SEPARATE */

#endif
