#ifndef MBI_GPU_BSR_H
#define MBI_GPU_BSR_H
#include "spmv/shared/shared.h"

#define MBI_BSR_KERNELS 6

/* Tiles of blocks: spmv/gpu/bsr/bsr.c. */
typedef struct mbi_bsr_tiles {
  int block_rows, block_cols;
  int edge;                  /* the last column of blocks reaches beyond the matrix */
  int split, lane_cols;      /* lanes to a row of a block, and what each takes of it */
  int strips, lanes, slots;  /* of a block; of a slot; of a warp */
  int together, slot_blocks; /* blocks of a slot: at once, and in a tile */
  int shuffled;              /* lanes pass x on */
  int threads, resident;
  uint64_t tiles, blocks, empty_rows, parts, words, groups, places;
  mbi_devptr row_ends, slot_row, columns, mask_words, masks, packs;
  void *kernels[MBI_BSR_KERNELS]; /* CUfunction: schedule, columns, fill, product, fixup, masks */
} mbi_bsr_tiles;

#endif
