#ifndef MBI_GPU_SCAN_H
#define MBI_GPU_SCAN_H
#include "spmv/shared/shared.h"

/* The register scan's specialisation and schedule: spmv/gpu/scan/scan.c. */
typedef struct mbi_scan_schedule {
  int steps, threads, resident, depth;
  int pack;  /* nonzeros that a lane loads at once */
  int whole; /* blocks take whole rows: block_start instead of a fix-up */
  int dots;  /* products add up x'A x: spmv/gpu/scan/scan.cu */
  uint64_t tiles, blocks, fixup_blocks, empty_rows;
  mbi_devptr row_ends, block_start;
  mbi_devptr tile_row; /* each tile's first row, then how many tiles before it that one began */
  void *build, *cut, *product, *sum, *fixup; /* CUfunction; product where beta is zero */
} mbi_scan_schedule;

#endif
