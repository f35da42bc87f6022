#ifndef MBI_GPU_BINNED_H
#define MBI_GPU_BINNED_H
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/binned/binned_arguments.cuh"
#include "spmv/gpu/binned/build_arguments.cuh"

/* The state of BINNED: SCAN's schedule, and the runs of nonzeros
 * (spmv/gpu/binned/binned.cu). */
typedef struct mbi_binned {
  mbi_scan_schedule scan;        /* first, so that mbi_scan_of finds it */
  int warp_tiles;                /* tiles per warp and part */
  uint64_t strip, part_nonzeros; /* columns per strip; nonzeros per part */
  uint64_t strips, parts, items;
  uint64_t groups, part_groups; /* groups of 32 bytes of products: in total, and in the largest
                                 * part */
  mbi_devptr runs, part_start, item_list, strip_col, values, target, places;
  void *kernels[6]; /* CUfunction: count, total, offsets, fill, multiply, sum */
} mbi_binned;

#define MBI_BINNED_BUILD_THREADS 512
#define MBI_BINNED_STEPS 8
/* The most groups per item of phase 1: enough to pay for loading a strip of x. */
#define MBI_BINNED_ITEM 4096u

/* BINNED's knobs: columns per strip, divided by 1024; tiles per warp and part. */
enum { MBI_KNOB_BINNED_STRIP, MBI_KNOB_BINNED_TILES };

#ifdef MBI_SEPARATE
MBI_INTERNAL mbi_binned *mbi_binned_of(const merbit_plan *plan);
/* spmv/gpu/binned/sizes.c */
MBI_INTERNAL uint64_t mbi_binned_group(const merbit_plan *plan);
MBI_INTERNAL uint64_t mbi_binned_multiply_shared(const merbit_plan *plan);
MBI_INTERNAL uint64_t mbi_binned_sum_shared(const merbit_plan *plan, uint64_t groups);
MBI_INTERNAL uint64_t mbi_binned_fill_shared(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_binned_size(merbit_plan *plan);
MBI_INTERNAL void mbi_binned_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL merbit_status mbi_binned_specialise(merbit_plan *plan);
/* spmv/gpu/binned/binned.c */
MBI_INTERNAL merbit_status mbi_binned_place_parts(merbit_plan *plan, uint32_t *groups);
MBI_INTERNAL merbit_status mbi_binned_create(merbit_plan *plan);
MBI_INTERNAL double mbi_binned_cost(const merbit_plan *plan);
#endif /* MBI_SEPARATE */

#endif
