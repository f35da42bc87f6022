#ifndef MBI_GPU_DIAGONALS_H
#define MBI_GPU_DIAGONALS_H
#include "spmv/shared/shared.h"
#include "spmv/gpu/diagonals/diagonals_arguments.cuh"

/* The state of DIAGONALS: spmv/gpu/diagonals/diagonals.cu. */
typedef struct mbi_diagonals {
  int unroll, threads;
  uint64_t slices, blocks;
  uint64_t count; /* number of diagonals in all slices */
  mbi_devptr start, offsets, present, slots;
  void *kernels[4]; /* CUfunction: count, fill, product, values (general values alone) */
} mbi_diagonals;

/* Rows per slice: MBK_SLICE of spmv/shared/diagonals.cuh. */
#define MBI_SLICE 64
#define MBI_DIAGONALS_BUILD_THREADS 128
#define MBI_DIAGONALS_RESIDENT 4 /* blocks per multiprocessor that build slices */

/* DIAGONALS' knob: diagonals that a lane loads at once. */
enum { MBI_KNOB_DIAGONALS_UNROLL };

#ifdef MBI_SEPARATE
/* spmv/gpu/diagonals/diagonals.c */
MBI_INTERNAL mbi_diagonals *mbi_diagonals_of(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_diagonals_size(merbit_plan *plan);
MBI_INTERNAL void mbi_diagonals_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL int64_t mbi_diagonals_build_blocks(const merbit_plan *plan);
MBI_INTERNAL int mbi_diagonals_trusted(const merbit_plan *plan);
MBI_INTERNAL double mbi_diagonals_steps(const merbit_plan *plan);
MBI_INTERNAL double mbi_diagonals_cost(const merbit_plan *plan);
#endif /* MBI_SEPARATE */

#endif
