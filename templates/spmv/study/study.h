#ifndef MBI_STUDY_H
#define MBI_STUDY_H
#include "spmv/cpu/cpu.h"
#ifdef MERBIT_STUDY_METHODS
#include "spmv/study/bsr_study_arguments.cuh"
#include "spmv/study/row_study_arguments.cuh"
#include "spmv/study/split_study_arguments.cuh"
#include "spmv/study/walk_study_arguments.cuh"

/* The state of the methods that multiply chunks of blocks in the user's order:
 * spmv/study/bsr_study.c. */
typedef struct mbi_bsr_study {
  int threads;
  uint64_t chunk_blocks, chunks;
  mbi_devptr chunk_row;
  void *kernels[3]; /* CUfunction: cut, scale, product */
} mbi_bsr_study;

/* The state of the methods that split a CSR: spmv/study/row_study.c, split_study.c,
 * walk_study.c. */
typedef struct mbi_csr_study {
  int threads;
  int lanes, rows, width; /* for spmv/study/row_study.cu */
  int steps;              /* for spmv/study/split_study.cu and walk_study.cu */
  uint64_t blocks, tiles; /* blocks of the product, or chunks; tiles of columns, or walks */
  mbi_devptr tile_first, mixed, tile_col;
  void *kernels[3]; /* CUfunction: before the product, the product, after it */
} mbi_csr_study;

/* Knobs. WAVES: how often the thread blocks of bsr_study.cu fill the GPU. CHUNKS: chunks per
 * thread on the CPU. WARP_LOOP: rows that lanes take at a time, and lanes per row. WARP_TILED:
 * columns of a tile, and rows per warp. SPLIT: steps per thread. */
enum { MBI_KNOB_BSR_STUDY_WAVES };
enum { MBI_KNOB_CHUNKS };
enum { MBI_KNOB_WARP_LOOP_ROWS, MBI_KNOB_WARP_LOOP_LANES };
enum { MBI_KNOB_WARP_TILED_COLUMNS, MBI_KNOB_WARP_TILED_ROWS };
enum { MBI_KNOB_SPLIT_STEPS };

#endif /* MERBIT_STUDY_METHODS */

#ifdef MBI_SEPARATE
MBI_INTERNAL mbi_csr_study *mbi_csr_study_of(const merbit_plan *plan);
MBI_INTERNAL mbi_bsr_study *mbi_bsr_study_of(const merbit_plan *plan);
/* spmv/study/knobs.c */
MBI_INTERNAL const char *mbi_study_knobs(const merbit_plan *plan);
/* spmv/study/block_study.c */
MBI_INTERNAL int mbi_study_method(merbit_method method);
MBI_INTERNAL merbit_status mbi_study_tasks(merbit_plan *plan);
MBI_INTERNAL void mbi_study_prepare(merbit_plan *plan);
MBI_INTERNAL size_t mbi_study_scratch_bytes(const merbit_plan *plan);
MBI_INTERNAL void mbi_study_multiply_f64(const merbit_plan *plan, void *scratch,
                                         mbi_block_call_f64 *call);
MBI_INTERNAL void mbi_study_multiply_f32(const merbit_plan *plan, void *scratch,
                                         mbi_block_call_f32 *call);
/* spmv/study/bsr_study.c */
MBI_INTERNAL merbit_status mbi_bsr_study_size(merbit_plan *plan);
MBI_INTERNAL void mbi_bsr_study_preamble(const merbit_plan *plan, mbi_preamble *preamble);
/* spmv/study/row_study.c */
MBI_INTERNAL merbit_status mbi_row_study_size(merbit_plan *plan);
MBI_INTERNAL void mbi_row_study_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL void mbi_csr_study_destroy(merbit_plan *plan);
/* spmv/study/split_study.c */
MBI_INTERNAL merbit_status mbi_split_size(merbit_plan *plan);
MBI_INTERNAL unsigned mbi_split_shared(const merbit_plan *plan);
MBI_INTERNAL void mbi_split_preamble(const merbit_plan *plan, mbi_preamble *preamble);
/* spmv/study/walk_study.c */
MBI_INTERNAL merbit_status mbi_walk_size(merbit_plan *plan);
MBI_INTERNAL void mbi_walk_preamble(const merbit_plan *plan, mbi_preamble *preamble);
#endif /* MBI_SEPARATE */

#endif
