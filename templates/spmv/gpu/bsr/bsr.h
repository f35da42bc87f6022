#ifndef MBI_GPU_BSR_H
#define MBI_GPU_BSR_H
#include "spmv/shared/shared.h"
#include "spmv/gpu/bsr/bsr_arguments.cuh"
#include "spmv/gpu/bsr/build_arguments.cuh"

#define MBI_BSR_KERNELS 6

/* The state of BSR: tiles of blocks. spmv/gpu/bsr/bsr.cu describes the layout. */
typedef struct mbi_bsr_tiles {
  int block_rows, block_cols;
  int edge;                  /* 1: the last column of blocks extends beyond the matrix */
  int split, lane_cols;      /* lanes per row of a block, and the columns of each */
  int strips, lanes, slots;  /* strips of a block, lanes of a slot, slots of a warp */
  int together, slot_blocks; /* blocks per slot: loaded at once, and in a tile */
  int shuffled;              /* 1: the lanes of a slot load x together and pass it on by
                              * shuffles */
  int threads, resident;
  uint64_t tiles, blocks, empty_rows, parts, words, groups, places;
  mbi_devptr row_ends, slot_row, columns, mask_words, masks, packs;
  void *
      kernels[MBI_BSR_KERNELS]; /* CUfunction: schedule, columns, fill, product, fixup, masks */
} mbi_bsr_tiles;

#define MBI_BSR_BUILD_THREADS 256

/* BSR's knobs: blocks per slot and tile; 1 if each lane loads x for itself, 2 if lanes share x
 * by shuffles. */
enum { MBI_KNOB_BSR_BLOCKS, MBI_KNOB_BSR_SHUFFLE };

/* Bytes of entries per lane and tile, fitted on an H200. */
#define MBI_BSR_TILE_BYTES 256

#ifdef MBI_SEPARATE
MBI_INTERNAL mbi_bsr_tiles *mbi_bsr_tiles_of(const merbit_plan *plan);
/* spmv/gpu/bsr/sizes.c */
MBI_INTERNAL int mbi_ceiling(int a, int b);
MBI_INTERNAL merbit_status mbi_bsr_size(merbit_plan *plan);
MBI_INTERNAL uint64_t mbi_bsr_entries(const mbi_bsr_tiles *t);
MBI_INTERNAL uint64_t mbi_bsr_mask_bytes(const mbi_bsr_tiles *t);
/* spmv/gpu/bsr/bsr.c */
MBI_INTERNAL void mbi_bsr_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL merbit_status mbi_bsr_fill(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_bsr_take_values(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_bsr_create(merbit_plan *plan);
MBI_INTERNAL void mbi_bsr_destroy(merbit_plan *plan);
MBI_INTERNAL uint64_t mbi_bsr_carry_bytes(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_bsr_multiply(merbit_plan *plan, mbi_devptr carries,
                                            const void *alpha, mbi_devptr x, const void *beta,
                                            mbi_devptr y, void *stream);
MBI_INTERNAL void mbi_bsr_info(const merbit_plan *plan, merbit_plan_info *info);
MBI_INTERNAL int mbi_bsr_describe(const merbit_plan *plan, char *text, size_t size);
#endif /* MBI_SEPARATE */

#endif
