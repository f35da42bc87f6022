#ifndef MBI_GPU_MERBIT_H
#define MBI_GPU_MERBIT_H
#include "spmv/shared/shared.h"

/* MERBIT's specialisation and TILE: spmv/gpu/merbit/merbit.c. */
typedef struct mbi_merbit {
  int sigma, omega, threads;
  int dual;            /* dual-buffer commit, for the library's own iterations */
  int coordinate_bits; /* of each offset in a lane descriptor */
  int descriptor_bits; /* 32 or 64 */
  int tile_bytes;      /* of an entry of tile_x and tile_y: 4 or 8 */
  uint64_t path, tiles, blocks;
  mbi_devptr tile_x, tile_y, lane_desc;
  void *build, *product, *fixup; /* CUfunction */
} mbi_merbit;

#endif
