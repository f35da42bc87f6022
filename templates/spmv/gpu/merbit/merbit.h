#ifndef MBI_GPU_MERBIT_H
#define MBI_GPU_MERBIT_H
#include "spmv/shared/shared.h"
#include "spmv/gpu/merbit/merbit_arguments.cuh"
#include "spmv/gpu/merbit/tile_arguments.cuh"

/* The state of MERBIT: its sizes and the TILE arrays (spmv/gpu/merbit/merbit.cu). */
typedef struct mbi_merbit {
  int sigma, omega, threads;
  int dual;            /* dual-buffer commit, for the library's own iterations */
  int coordinate_bits; /* bits of each offset in a lane descriptor */
  int descriptor_bits; /* 32 or 64 */
  int tile_bytes;      /* bytes of an entry of tile_x and tile_y: 4 or 8 */
  uint64_t path, tiles, blocks;
  mbi_devptr tile_x, tile_y, lane_desc;
  void *build, *product, *fixup; /* CUfunction */
} mbi_merbit;

#define MBI_MERBIT_BUILD_THREADS 128
#define MBI_MERBIT_FIXUP_THREADS 256

#ifdef MBI_SEPARATE
MBI_INTERNAL mbi_merbit *mbi_merbit_of(const merbit_plan *plan);
/* spmv/gpu/merbit/merbit.c */
MBI_INTERNAL int mbi_log2_ceiling(uint64_t value);
MBI_INTERNAL merbit_status mbi_merbit_size(merbit_plan *plan);
MBI_INTERNAL unsigned mbi_merbit_product_shared(const mbi_merbit *m, merbit_type type);
MBI_INTERNAL unsigned mbi_merbit_build_shared(const mbi_merbit *m);
MBI_INTERNAL void mbi_merbit_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL merbit_status mbi_merbit_build(merbit_plan *plan, void *stream);
MBI_INTERNAL uint64_t mbi_merbit_carry_bytes(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_merbit_multiply_dual(merbit_plan *plan, mbi_devptr x,
                                                    mbi_devptr y, mbi_devptr z, void *stream);
#endif /* MBI_SEPARATE */

#endif
