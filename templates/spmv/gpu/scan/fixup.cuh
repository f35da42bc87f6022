// The fix-up of rows that cross tiles, for programs that use spmv/gpu/scan/tile.cuh. It also
// writes the empty rows, unless the product has done so.
#ifndef MBK_TILE_NONZEROS
#error "include spmv/gpu/scan/tile.cuh before"
#endif
#define MBK_PARTS 1
#define MBK_ROW_NUMBER mbk_u32
#define MBK_TILE_ROW_NUMBER(tile) mbk_load(tile_row + (tile))
#include "spmv/shared/fixup.cuh"

#include "spmv/gpu/scan/fixup_arguments.cuh"

// Completes the first row of each tile from firsts and tails by mbk_fixup. Launch: after the
// product, MBK_FIXUP_THREADS tiles per block. Shared: as mbk_fixup.
MBK_KERNEL_2 MBK_RESIDENT(MBK_FIXUP_THREADS, MBK_FIXUP_BLOCKS)
    mbk_scan_fixup(MBK_GRID_CONSTANT mbk_scan_fixup_arguments a) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_fixup(a.tile_row + a.tiles + 1, a.tile_row, a.row_id, a.row_bits, a.firsts, a.tails, a.y,
            a.tiles, a.filled, 0, (MBK_COMPUTE *)shared, MBK_SCALAR_ARGUMENTS);
}
