// SCAN with linked blocks: y = alpha A x + beta y in one launch, for small matrices whose
// nonzeros are mostly in long rows.
//
// Data: the tiles of spmv/gpu/scan/scan.cu, and a slot per block (mbk_post). All slots are
// zero before and after a product.
//
// Work: a block owns MBK_WARPS consecutive tiles, one per warp. Its warps pass the carry-outs
// of open rows to each other through shared memory. If the block's last row continues in the
// next block, its part goes to the block's slot. The block in which a row ends waits for the
// parts in earlier blocks, adds them up and clears their slots.
//
// Source: waiting for earlier blocks in the same launch is from the decoupled look-back of
// Merrill and Garland ("Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016). New
// here: the schedule tells how far back a row begins, so no block waits for the sum of another
// that waits itself.
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#include "spmv/gpu/scan/tile.cuh"

#include "spmv/gpu/scan/products.cuh"

#include "spmv/gpu/scan/build.cuh"

#include "spmv/gpu/scan/fill.cuh"

#include "spmv/gpu/scan/scan_arguments.cuh"

// A slot has a word for every 4 bytes of a sum. A lane that adds up parts of a row waits for
// adjacent slots, so that a warp reads many in one go.
#define MBK_WARPS (MBK_THREADS / 32)
#define MBK_SLOT_WORDS (sizeof(MBK_COMPUTE) / 4)
#define MBK_SLOT_MARK 1u   // of a slot that has a number
#define MBK_SLOTS_AHEAD 4u // adjacent slots for which a lane waits at once

// Adds up the parts of a row in blocks from..to - 1 and clears their slots. A whole warp calls
// it; the sum is complete in all lanes.
MBK_DEVICE MBK_COMPUTE mbk_scan_earlier(mbk_u64 *slots, mbk_u64 from, mbk_u64 to) {
  MBK_COMPUTE sum = MBK_ZERO;
  for (from += MBK_SLOTS_AHEAD * mbk_lane(); from < to; from += MBK_SLOTS_AHEAD * 32) {
    MBK_COMPUTE parts[MBK_SLOTS_AHEAD];
    mbk_u64 *const own = slots + from * MBK_SLOT_WORDS;
    mbk_collect<MBK_SLOTS_AHEAD>(own, MBK_SLOT_MARK, to - from, parts);
#pragma unroll
    for (mbk_u32 i = 0; i < MBK_SLOTS_AHEAD; i++) {
      if (i < to - from) {
        sum = MBK_ADD(sum, parts[i]);
#pragma unroll
        for (mbk_u32 word = 0; word < MBK_SLOT_WORDS; word++) {
          own[i * MBK_SLOT_WORDS + word] = 0;
        }
      }
    }
  }
  return mbk_scan_reduce(sum);
}

// Multiplies a block's tiles and writes the rows that end in them. With `adds` the old y is
// loaded into shared memory together with the nonzeros. Without `adds`, beta must be zero.
template <bool adds>
MBK_DEVICE void mbk_scan_run(const mbk_scan_product_arguments &a, mbk_u32 block,
                             MBK_SCALAR alpha, MBK_SCALAR beta, char *shared) {
  MBK_COMPUTE *const firsts = (MBK_COMPUTE *)shared;
  MBK_COMPUTE *const tails = firsts + MBK_WARPS;
  MBK_VECTOR *const olds = (MBK_VECTOR *)(tails + MBK_WARPS);
  MBK_VECTOR *const old = olds + mbk_thread() / 32 * MBK_OLD_ROWS;
  mbk_u32 *const closes = (mbk_u32 *)(olds + (adds ? MBK_WARPS * MBK_OLD_ROWS : 0));
  const mbk_u32 *const row_id = a.row_id;
  const mbk_u32 warp = mbk_thread() / 32, lane = mbk_lane();
  const mbk_u32 tile = block * MBK_WARPS + warp; // there are fewer than 2^31 tiles
  const mbk_u32 held = adds ? MBK_OLD_ROWS : 0;
  mbk_u32 ends = 0, row_number = 0, back = MBK_OPEN;
  mbk_scan_no_dot none;
  if (tile < a.tiles) {
    MBK_COMPUTE product[MBK_GROUPS][MBK_PACK];
    ends = lane < MBK_STEPS ? mbk_load(a.row_ends + tile * MBK_STEPS + lane) : 0;
    row_number = mbk_load(a.tile_row + tile);
    back = mbk_load(a.tile_row + a.tiles + 1 + tile);
    const mbk_scan_rows rows = {row_id, a.y, row_number,
                                adds ? mbk_load(a.tile_row + tile + 1) : 0, ends};
    mbk_scan_multiply<adds>(a.col_ind, a.values, a.x, (mbk_u64)tile * MBK_TILE_NONZEROS, a.nnz,
                            rows, alpha, product, old);
    (void)mbk_scan_commit(product, ends, row_number, warp, row_id, a.y, firsts, tails, alpha,
                          beta, old, held, none);
  } else if (lane == 31) {
    tails[warp] = MBK_ZERO;
  }
  const bool closing = back != MBK_OPEN; // a row ends in this tile
  if (lane == 0) {
    closes[warp] = closing;
  }
  mbk_block_sync();
  const MBK_COMPUTE tail = lane < MBK_WARPS ? tails[lane] : MBK_ZERO;
  const mbk_u32 closers = mbk_ballot(MBK_ALL, lane < MBK_WARPS && closes[lane] != 0);
  if (warp == MBK_WARPS - 1 && tile + 1 < a.tiles) { // a row ends with the last tile
    const mbk_u32 closer = closers != 0 ? 31 - (mbk_u32)mbk_leading_zeros(closers) : 0;
    const MBK_COMPUTE part = mbk_scan_reduce(lane >= closer ? tail : MBK_ZERO);
    if (lane == MBK_STEPS - 1 && ends >> 31 == 0) {
      mbk_post(a.slots + (mbk_u64)block * MBK_SLOT_WORDS, part, MBK_SLOT_MARK);
    }
  }
  // The warp's first row includes earlier warps' tails, back to the last with a row end, and,
  // if there is none, the parts in earlier blocks.
  if (closing) {
    const mbk_u32 before = closers & ((1u << warp) - 1);
    const mbk_u32 from = before != 0 ? 31 - (mbk_u32)mbk_leading_zeros(before) : 0;
    MBK_COMPUTE sum = mbk_scan_reduce(lane >= from && lane < warp ? tail : MBK_ZERO);
    if (back > warp) {
      sum = MBK_ADD(mbk_scan_earlier(a.slots, (tile - back) / MBK_WARPS, block), sum);
    }
    if (lane == 0) {
      mbk_scan_commit_row(row_number, 0, MBK_ADD(sum, firsts[warp]), row_id, a.y, alpha, beta,
                          old, held, none);
    }
  }
}

// Computes the product for beta = 0. Launch: MBK_WARPS tiles per block, and the blocks of
// spmv/gpu/scan/fill.cuh. Shared: MBK_COMPUTE[MBK_TABLE + 2 * MBK_WARPS], mbk_u32[MBK_WARPS].
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_scan_linked(MBK_BY_FIELD(mbk_scan_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  MBK_STOP_HERE
  const MBK_SCALAR factor = MBK_ALPHA;
  mbk_u32 block;
  if (mbk_scan_fill<false>(a.row_bits, a.y, a.rows, a.fill_rate, factor, MBK_ABSENT, block)) {
    return;
  }
  mbk_table_take(a.table, factor, MBK_THREADS);
  mbk_scan_run<false>(a, block, factor, MBK_ABSENT,
                      (char *)((MBK_COMPUTE *)shared + MBK_TABLE));
}

// Computes the product for any beta. Launch: as mbk_scan_linked. Shared: also
// MBK_VECTOR[MBK_WARPS * MBK_OLD_ROWS].
MBK_KERNEL_1 MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_scan_linked_sum(MBK_BY_FIELD(mbk_scan_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  MBK_SCALARS_LOAD;
  mbk_u32 block;
  if (mbk_scan_fill<true>(a.row_bits, a.y, a.rows, a.fill_rate, alpha, beta, block)) {
    return;
  }
  mbk_table_take(a.table, alpha, MBK_THREADS);
  mbk_scan_run<true>(a, block, alpha, beta, (char *)((MBK_COMPUTE *)shared + MBK_TABLE));
}
