#ifndef MBI_GPU_MERGE_H
#define MBI_GPU_MERGE_H
#include "spmv/shared/shared.h"
#include "spmv/gpu/merge/merge_arguments.cuh"

/* The state of MERGE: the merge path and its chunks (spmv/gpu/merge/merge.cu). */
typedef struct mbi_merge_path {
  int steps, threads, resident;
  int pack;   /* nonzeros that a lane loads at once */
  int rounds; /* chunks that a block takes, one after the other */
  uint64_t chunks, blocks;
  void *cut, *product, *sum, *fixup; /* CUfunction; `product`: beta = 0 only */
} mbi_merge_path;

/* Upper limits. */
#define MBI_MERGE_STEPS 16
#define MBI_MERGE_ROUNDS 32
#define MBI_MERGE_CUT_THREADS 128

/* MERGE's knobs: nonzeros per lane in a chunk; chunks that a block takes, one after the
 * other. */
enum { MBI_KNOB_MERGE_STEPS, MBI_KNOB_MERGE_ROUNDS };

#ifdef MBI_SEPARATE
MBI_INTERNAL mbi_merge_path *mbi_merge_path_of(const merbit_plan *plan);
/* spmv/gpu/merge/merge.c */
MBI_INTERNAL merbit_status mbi_merge_size(merbit_plan *plan);
MBI_INTERNAL unsigned mbi_merge_shared(const merbit_plan *plan, int adds);
MBI_INTERNAL void mbi_merge_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL uint64_t mbi_merge_carry_bytes(const merbit_plan *plan);
MBI_INTERNAL void mbi_merge_info(const merbit_plan *plan, merbit_plan_info *info);
#endif /* MBI_SEPARATE */

#endif
