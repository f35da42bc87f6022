#ifndef MBI_GPU_SCAN_H
#define MBI_GPU_SCAN_H
#include "spmv/shared/shared.h"
#include "spmv/gpu/scan/build_arguments.cuh"
#include "spmv/gpu/scan/fixup_arguments.cuh"
#include "spmv/gpu/scan/scan_arguments.cuh"
#include "spmv/gpu/scan/whole_arguments.cuh"

/* The state of SCAN: its sizes and schedule. spmv/gpu/scan/scan.cu describes the arrays. */
typedef struct mbi_scan_schedule {
  int steps, threads, resident, depth;
  int pack;   /* nonzeros that a lane loads at once */
  int whole;  /* 1: each block owns whole rows, from block_start, and there is no fix-up */
  int linked; /* 1: blocks take parts of rows from earlier blocks, and there is no fix-up */
  int fitted; /* 1 with `whole`: as many rows as the warps take in one round */
  int dots;   /* 1: products also compute x'A x */
  int held;   /* rows per tile whose old y is copied to shared memory */
  int fills;  /* 1: the product writes the empty rows; 0: the fix-up does */
  uint64_t tiles, blocks, fixup_blocks, empty_rows;
  uint64_t fill_blocks; /* blocks that write empty rows, in addition to `blocks` */
  int fill;             /* rows per thread of those blocks: MBK_FILL */
  mbi_devptr row_ends, block_start;
  mbi_devptr tile_row; /* each tile's first row, then how many tiles earlier that row began */
  void *build, *cut, *product, *sum, *fixup; /* CUfunction; `product`: beta = 0 only */
} mbi_scan_schedule;

#define MBI_SCAN_BUILD_THREADS 128
#define MBI_SCAN_FIXUP_THREADS 256
#define MBI_SCAN_FITTED 12288u /* tiles of the largest matrix whose blocks are fitted */
#define MBI_SCAN_TILE 256.0    /* nonzeros per tile that forecasts assume */
/* The size of x from which a product also computes x'A x if its caller wants it. This pays if
 * rows are short and reading x and A x again would take longer than the extra work. */
#ifndef MBI_SCAN_DOTS
#define MBI_SCAN_DOTS 24000000u /* bytes of a vector */
#endif

/* SCAN's knobs: nonzeros per lane in a tile; 1 if rows may cross blocks, 2 for whole rows. */
enum { MBI_KNOB_SCAN_STEPS, MBI_KNOB_SCAN_WHOLE };

#ifdef MBI_SEPARATE
MBI_INTERNAL mbi_scan_schedule *mbi_scan_of(const merbit_plan *plan);
/* spmv/gpu/scan/sizes.c */
MBI_INTERNAL int mbi_scan_widest(merbit_type type);
MBI_INTERNAL uint64_t mbi_scan_at_once(const merbit_plan *plan, int steps);
MBI_INTERNAL int mbi_scan_aligned(const merbit_plan *plan);
MBI_INTERNAL int mbi_scan_resident(const merbit_plan *plan);
MBI_INTERNAL void mbi_scan_size_rows(merbit_plan *plan);
MBI_INTERNAL uint32_t mbi_scan_fill_rate(const mbi_scan_schedule *s);
MBI_INTERNAL int mbi_scan_asks_sectors(const merbit_plan *plan);
MBI_INTERNAL int mbi_scan_holds_rows(const merbit_plan *plan);
MBI_INTERNAL int mbi_scan_holds_all(const merbit_plan *plan);
MBI_INTERNAL unsigned mbi_scan_held_shared(const merbit_plan *plan, int adds);
MBI_INTERNAL merbit_status mbi_scan_size(merbit_plan *plan);
MBI_INTERNAL unsigned mbi_scan_product_shared(const merbit_plan *plan, int adds);
/* spmv/gpu/scan/scan.c */
MBI_INTERNAL void mbi_scan_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL merbit_status mbi_scan_kernels(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_scan_nonempty(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_scan_schedule_create(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_scan_create(merbit_plan *plan);
MBI_INTERNAL void mbi_scan_destroy(merbit_plan *plan);
MBI_INTERNAL void mbi_scan_bound_tiles(const merbit_plan *plan, uint64_t steps, uint64_t sums,
                                       mbi_bound *bound);
MBI_INTERNAL uint64_t mbi_scan_carry_bytes(const merbit_plan *plan);
MBI_INTERNAL uint64_t mbi_scan_slot_bytes(const merbit_plan *plan);
MBI_INTERNAL uint64_t mbi_scan_dot_parts(const merbit_plan *plan);
MBI_INTERNAL mbi_devptr mbi_scan_dots(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_scan_launch_fixup(merbit_plan *plan, mbi_devptr carries,
                                                 const void *alpha, const void *beta,
                                                 mbi_devptr y, void *stream, int how);
MBI_INTERNAL void mbi_scan_info(const merbit_plan *plan, merbit_plan_info *info);
MBI_INTERNAL double mbi_scan_cost(const merbit_plan *plan);
#endif /* MBI_SEPARATE */

#endif
