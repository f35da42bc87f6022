// BINNED: y = alpha A x + beta y in two phases, for matrices whose gathers of x would miss the
// caches. Both phases have their random accesses in shared memory.
//
// Data: a strip is MBK_STRIP consecutive columns. A part is MBK_PART_TILES tiles of consecutive
// nonzeros. A run holds the nonzeros of one part in one strip, padded to groups of MBK_GROUP
// slots (32 bytes of products).
//
// Work: in phase 1 a block takes runs of one strip, whose x is in shared memory, and writes
// each group of products to its part. In phase 2 a block loads a part's products into shared
// memory, where each nonzero has a place, and adds them up by a segmented scan.
//
// Source: propagation blocking (Beamer, Asanovic, Patterson, IPDPS 2017) and the two-phase
// product of Buono et al. (ICS 2016), with bins added up in row order.
#ifndef MBK_STRIP
#error "define MBK_STRIP: columns per strip, at most 65536"
#endif
#ifndef MBK_WARP_TILES
#error "define MBK_WARP_TILES: tiles per warp and part"
#endif
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#include "spmv/gpu/scan/tile.cuh"

#include "spmv/gpu/scan/build.cuh"
#include "spmv/gpu/scan/fixup.cuh"

#define MBK_GROUP (32 / (int)sizeof(MBK_COMPUTE))
#define MBK_PART_TILES (MBK_WARP_TILES * (MBK_THREADS / 32))
#define MBK_PART_NONZEROS (MBK_PART_TILES * MBK_TILE_NONZEROS)

#include "spmv/gpu/binned/build.cuh"

#define MBK_IN_FLIGHT 4 // packs that a thread has in flight

// Values stored per row are applied in phase 2, because phase 1 does not know the rows.
#if MBK_BY_ROW
#define MBK_BINNED_UNIT(values, factor) ((MBK_COMPUTE)(factor))
#else
#define MBK_BINNED_UNIT MBK_UNIT
#endif

#include "spmv/gpu/binned/binned_arguments.cuh"

// Phase 1: multiplies. Item i consists of groups items[3 i + 1] to items[3 i + 2] of strip
// items[3 i]. Launch: one block per item. Shared: MBK_VECTOR[MBK_TABLE + MBK_STRIP].
MBK_KERNEL_1 MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_binned_multiply(MBK_GRID_CONSTANT mbk_binned_multiply_arguments a) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  MBK_VECTOR *const strip = (MBK_VECTOR *)shared + MBK_TABLE;
  const mbk_u32 *const item = a.items + 3 * (mbk_u64)mbk_block();
  const mbk_u64 first = (mbk_u64)mbk_load(item) * MBK_STRIP;
  const mbk_u32 width = (mbk_u32)(a.cols - first < MBK_STRIP ? a.cols - first : MBK_STRIP);
  const mbk_u32 group = mbk_load(item + 1), packs = 2 * (mbk_load(item + 2) - group);
  mbk_await();
  MBK_STOP_HERE
  const MBK_COMPUTE factor = MBK_ALPHA;
  if (factor == (MBK_COMPUTE)0) {
    return;
  }
  mbk_table_take(a.table, factor, MBK_THREADS);
  const mbk_u16 *const strip_col = a.strip_col + (mbk_u64)group * MBK_GROUP;
  const mbk_u32 *const target = a.target + group;
#if !MBK_PATTERN
  const MBK_VALUE *const values = a.values + (mbk_u64)group * MBK_GROUP;
#endif
  MBK_COMPUTE *const products = a.products + mbk_thread() % 2 * MBK_PACK;
  for (mbk_u32 i = mbk_thread(); i < width; i += MBK_THREADS) {
    strip[i] = mbk_load_after_wait(a.x + first + i);
  }
  mbk_block_sync();
  for (mbk_u32 at = mbk_thread(); at < packs; at += MBK_IN_FLIGHT * MBK_THREADS) {
    mbk_pack<mbk_u16, MBK_PACK> column[MBK_IN_FLIGHT];
#if !MBK_PATTERN
    mbk_pack<MBK_VALUE, MBK_PACK> value[MBK_IN_FLIGHT];
#endif
    mbk_u32 to[MBK_IN_FLIGHT];
#pragma unroll
    for (int i = 0; i < MBK_IN_FLIGHT; i++) {
      const mbk_u32 pack = at + i * MBK_THREADS;
      if (pack < packs) {
#if !MBK_PATTERN
        value[i] = MBK_PACK_LOAD<MBK_VALUE, MBK_PACK>(values + pack * MBK_PACK);
#endif
        column[i] = MBK_PACK_LOAD<mbk_u16, MBK_PACK>(strip_col + pack * MBK_PACK);
        to[i] = MBK_MATRIX_LOAD(target + pack / 2);
      }
    }
#pragma unroll
    for (int i = 0; i < MBK_IN_FLIGHT; i++) {
      if (at + i * MBK_THREADS < packs) {
        mbk_pack<MBK_COMPUTE, MBK_PACK> product;
#pragma unroll
        for (int j = 0; j < MBK_PACK; j++) {
#if MBK_PATTERN
          product.at[j] = MBK_BINNED_UNIT(a.values, strip[column[i].at[j]]);
#else
          product.at[j] = MBK_MUL(mbk_value(value[i].at[j]), strip[column[i].at[j]]);
#endif
        }
        mbk_store_pack(products + (mbk_u64)to[i] * MBK_GROUP, product);
      }
    }
  }
}

// Adds up a warp's tile, of which each lane has MBK_STEPS consecutive nonzeros, and writes the
// rows that end in it. The sum of the first of these rows goes to firsts[tile] instead, and the
// carry-out to tails[tile]. `sums` has space for as many sums as the tile has nonzeros.
MBK_DEVICE void mbk_binned_commit(const MBK_COMPUTE (&product)[MBK_STEPS], mbk_u32 ends,
                                  mbk_u32 row_number, mbk_u64 tile, const mbk_u32 *row_id,
                                  MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails,
                                  MBK_COMPUTE *sums, MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  const mbk_u32 lane = mbk_lane(), own = (mbk_u32)mbk_popcount(ends);
  mbk_u32 ended = own; // row ends up to this lane
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    const mbk_u32 other = mbk_shuffle_up(MBK_ALL, ended, d, 32);
    ended += (int)lane >= d ? other : 0;
  }
  const mbk_u32 count = mbk_shuffle(MBK_ALL, ended, 31, 32);
  mbk_u32 at = ended - own;
  MBK_COMPUTE sum = MBK_ZERO, head = MBK_ZERO;
#pragma unroll
  for (int i = 0; i < MBK_STEPS; i++) {
    sum = MBK_ADD(sum, product[i]);
    if (ends >> i & 1) {
      if (at == ended - own) {
        head = sum; // earlier lanes may hold a part of this row
      } else {
        sums[at] = sum;
      }
      at++;
      sum = MBK_ZERO;
    }
  }
  // Add up, for each lane, the parts of the open row in the lanes before it.
  bool closed = own > 0;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, d, 32);
    const bool stop = mbk_shuffle_up(MBK_ALL, (mbk_u32)closed, d, 32) != 0;
    if ((int)lane >= d && !closed) {
      sum = MBK_ADD(other, sum);
      closed = stop;
    }
  }
  const MBK_COMPUTE before = mbk_shuffle_up(MBK_ALL, sum, 1, 32);
  if (own > 0) {
    sums[ended - own] = lane > 0 ? MBK_ADD(before, head) : head;
  }
  mbk_warp_sync(MBK_ALL);
  for (mbk_u32 i = lane; i < count; i += 32) {
    if (i == 0) {
      firsts[tile] = sums[0];
    } else {
      MBK_COMMIT(MBK_ROW_OF(row_number + i), MBK_ADD(MBK_ZERO, sums[i]));
    }
  }
  mbk_warp_sync(MBK_ALL);
  if (lane == 31) {
    tails[tile] = sum;
  }
}

#if MBK_BY_ROW
// Multiplies the first `left` products of a lane by the value of their row. Other arguments as
// for mbk_binned_commit.
MBK_DEVICE void mbk_binned_by_row(MBK_COMPUTE (&product)[MBK_STEPS], mbk_u32 ends,
                                  mbk_u32 row_number, const mbk_u32 *row_id,
                                  const MBK_VALUE *by_row, mbk_u64 left) {
  const mbk_u32 own = (mbk_u32)mbk_popcount(ends);
  mbk_u32 ended = own;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    const mbk_u32 other = mbk_shuffle_up(MBK_ALL, ended, d, 32);
    ended += (int)mbk_lane() >= d ? other : 0;
  }
  row_number += ended - own;
  (void)row_id;
#pragma unroll
  for (int i = 0; i < MBK_STEPS; i++) {
    if ((mbk_u64)i < left) {
      product[i] = MBK_MUL(mbk_load(by_row + MBK_ROW_OF(row_number)), product[i]);
    }
    row_number += ends >> i & 1;
  }
}
#endif

// Phase 2: adds up the products; mbk_scan_fixup follows. Launch: one block per part. Shared:
// MBK_COMPUTE[MBK_THREADS / 32][MBK_TILE_NONZEROS], then MBK_COMPUTE[slots of the largest
// part].
MBK_KERNEL_1 MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_binned_sum(MBK_GRID_CONSTANT mbk_binned_sum_arguments a) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  MBK_COMPUTE *const sums = (MBK_COMPUTE *)shared + mbk_thread() / 32 * MBK_TILE_NONZEROS;
  MBK_COMPUTE *const slots = (MBK_COMPUTE *)shared + MBK_THREADS / 32 * MBK_TILE_NONZEROS;
  const mbk_u32 lane = mbk_lane();
  const mbk_u64 tile = (mbk_u64)mbk_block() * MBK_PART_TILES + mbk_thread() / 32;
  const mbk_u32 from = mbk_load(a.part_start + mbk_block());
  const mbk_u32 packs = 2 * (mbk_load(a.part_start + mbk_block() + 1) - from);
  mbk_release();
  mbk_await();
  MBK_STOP_HERE
  MBK_SCALARS_LOAD;
  if (alpha != (MBK_COMPUTE)0) {
    const MBK_COMPUTE *const products = a.products + (mbk_u64)from * MBK_GROUP;
    for (mbk_u32 i = mbk_thread(); i < packs; i += MBK_THREADS) {
      mbk_copy_ahead<16>(slots + i * MBK_PACK, products + i * MBK_PACK);
    }
  }
  // Meanwhile, load the places, row ends and row numbers of the warp's tiles.
  mbk_pack<mbk_u16, MBK_STEPS> place[MBK_WARP_TILES];
  mbk_u32 ends[MBK_WARP_TILES], row_number[MBK_WARP_TILES];
#pragma unroll
  for (int t = 0; t < MBK_WARP_TILES; t++) {
    const mbk_u64 at = tile + t * (MBK_THREADS / 32);
    if (at < a.tiles) {
      place[t] = MBK_PACK_LOAD<mbk_u16, MBK_STEPS>(a.places + at * MBK_TILE_NONZEROS +
                                                   lane * MBK_STEPS);
      ends[t] = mbk_load(a.row_ends + at * MBK_STEPS + lane * MBK_STEPS / 32);
      row_number[t] = mbk_load(a.tile_row + at);
    }
  }
  mbk_copy_wait();
  mbk_block_sync();
#pragma unroll
  for (int t = 0; t < MBK_WARP_TILES; t++) {
    const mbk_u64 at = tile + t * (MBK_THREADS / 32);
    if (at < a.tiles) {
      const mbk_u64 first = at * MBK_TILE_NONZEROS + lane * MBK_STEPS;
      MBK_COMPUTE product[MBK_STEPS];
#pragma unroll
      for (int i = 0; i < MBK_STEPS; i++) {
        product[i] =
            first + i < a.nnz && alpha != (MBK_COMPUTE)0 ? slots[place[t].at[i]] : MBK_ZERO;
      }
      const mbk_u32 own = ends[t] >> lane * MBK_STEPS % 32 & ((1u << MBK_STEPS) - 1);
#if MBK_BY_ROW
      mbk_binned_by_row(product, own, row_number[t], a.row_id, a.by_row,
                        first < a.nnz && alpha != (MBK_COMPUTE)0 ? a.nnz - first : 0);
#endif
      mbk_binned_commit(product, own, row_number[t], at, a.row_id, a.y, a.firsts, a.tails, sums,
                        alpha, beta);
    }
  }
}
