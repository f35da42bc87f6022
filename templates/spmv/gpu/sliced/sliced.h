#ifndef MBI_GPU_SLICED_H
#define MBI_GPU_SLICED_H
#include "spmv/shared/shared.h"
#include "spmv/gpu/sliced/build_arguments.cuh"
#include "spmv/gpu/sliced/sliced_arguments.cuh"

/* The state of SLICED: spmv/gpu/sliced/sliced.cu. */
typedef struct mbi_sliced {
  int unroll, threads;
  int parts;        /* warps that share a slice: 1, or all of a block */
  int pack;         /* consecutive nonzeros of a row that one load brings */
  int length_bytes; /* bytes of a stored row length: 1 or 4 */
  int sorted;       /* 1: rows are sorted by length within windows */
  uint64_t slices, blocks;
  uint64_t slots, column_slots; /* slots of values; slots of two-byte columns */
  mbi_devptr length, row_id, slice_start, column_start, pages, columns, values;
  void *kernels[4]; /* CUfunction: order, width, fill, product */
} mbi_sliced;

#define MBI_SLICED_WINDOW 1024
#define MBI_SLICED_BUILD_THREADS 128
/* MBK_PAGE_SET of spmv/shared/pages.cuh: words of shared memory per warp that builds a list. */
#define MBI_PAGE_SET 65

/* SLICED's knobs: loads of values that a lane keeps in flight; 1 to leave rows unsorted; warps
 * that share a slice. */
enum { MBI_KNOB_SLICED_UNROLL, MBI_KNOB_SLICED_UNSORTED, MBI_KNOB_SLICED_PARTS };

#ifdef MBI_SEPARATE
/* spmv/gpu/sliced/sizes.c */
MBI_INTERNAL mbi_sliced *mbi_sliced_of(const merbit_plan *plan);
MBI_INTERNAL int mbi_sliced_parts(const merbit_plan *plan);
MBI_INTERNAL double mbi_sliced_bytes(const merbit_plan *plan);
MBI_INTERNAL double mbi_sliced_walk(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_sliced_size(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_sliced_check(const merbit_plan *plan);
MBI_INTERNAL int mbi_sliced_trusted(const merbit_plan *plan);
MBI_INTERNAL int mbi_sliced_shares(const merbit_plan *plan);
MBI_INTERNAL double mbi_sliced_cost(const merbit_plan *plan);
/* spmv/gpu/sliced/sliced.c */
MBI_INTERNAL void mbi_sliced_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL int64_t mbi_sliced_build_blocks(const mbi_sliced *s);
#endif /* MBI_SEPARATE */

#endif
