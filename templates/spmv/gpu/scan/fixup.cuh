// The fix-up of rows that cross tiles, launched after a kernel that uses
// spmv/gpu/scan/tile.cuh. It also writes the empty rows.
#ifndef MBK_TILE_NONZEROS
#error "include spmv/gpu/scan/tile.cuh before"
#endif
#define MBK_PARTS 1
#define MBK_ROW_NUMBER mbk_u32
#define MBK_TILE_ROW_NUMBER(tile) mbk_load(tile_row + (tile))
#include "spmv/shared/fixup.cuh"

// Joins firsts and tails (see mbk_fixup). Launch: MBK_FIXUP_THREADS tiles per block. Shared: as
// mbk_fixup.
MBK_KERNEL MBK_RESIDENT(MBK_FIXUP_THREADS, MBK_FIXUP_BLOCKS)
    mbk_scan_fixup(const mbk_u32 *tile_row, const mbk_u32 *row_id, const mbk_u32 *empty_id,
                   const MBK_COMPUTE *firsts, const MBK_COMPUTE *tails, MBK_VECTOR *y,
                   mbk_u64 tiles, mbk_u64 empty_rows, MBK_SCALAR_PARAMETERS) {
  MBK_SHARED_MEMORY(shared);
  mbk_fixup(tile_row + tiles + 1, tile_row, row_id, empty_id, firsts, tails, y, tiles,
            empty_rows, 0, (MBK_COMPUTE *)shared, MBK_SCALAR_ARGUMENTS);
}
