// Register scan: y = alpha A x + beta y over tiles of 32 * MBK_STEPS consecutive nonzeros, one
// bit per nonzero for "ends its row", and a segmented sum by shuffles.
// Source: the idea of a bit per nonzero is of CSR5 (Liu, Vinter, ICS 2015) and yaSpMV; tiles in
// coalesced order without shared memory, which leaves L1 to x, are ours.
//
// A warp owns a tile. In step i its lanes take the nonzeros 32 i + lane; the bits of the step
// are word i of the tile's row_ends. Rows are numbered by rank among those that hold something;
// tile_row[t] is the rank of the row of tile t's first nonzero, tile_row[tiles] the number of
// ranks.
#ifndef MBK_VALUE
#error "define MBK_VALUE: the type of the matrix's values in memory"
#endif
#ifndef MBK_PATTERN
#error "define MBK_PATTERN: 1 if every value is one and none is stored"
#endif
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_start, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#ifndef MBK_STEPS
#error "define MBK_STEPS: nonzeros per lane and tile, 1 to 32"
#endif
#ifndef MBK_DEPTH
#error "define MBK_DEPTH: ceil(log2) of the longest row, at most 5"
#endif
#ifndef MBK_EMPTY_ROWS
#error "define MBK_EMPTY_ROWS: 1 if some rows are empty, so that ranks are not rows"
#endif
#ifndef MBK_ONCE
#error "define MBK_ONCE: 1 if the matrix is loaded past the caches"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block of the product, a multiple of 32"
#endif
#ifndef MBK_BLOCKS
#error "define MBK_BLOCKS: blocks of the product that a multiprocessor should hold"
#endif
#include "jit/device.cuh"
#include "spmv/algebra.cuh"

#define MBK_ALL 0xffffffffu
#define MBK_TILE_NONZEROS (32 * MBK_STEPS)

#if MBK_ONCE
#define MBK_MATRIX_LOAD mbk_load_once
#else
#define MBK_MATRIX_LOAD mbk_load
#endif

#if MBK_EMPTY_ROWS
#define MBK_ROW_OF(rank) mbk_load(row_id + (rank))
#else
#define MBK_ROW_OF(rank) (rank)
#endif

#include "spmv/scan_build.cuh"

// The products of a tile; slots at and beyond `count` become zero, for they follow every row
// end. All loads of a lane are in flight together.
template <bool full>
MBK_DEVICE void mbk_scan_products(const mbk_i32 *col_ind, const MBK_VALUE *values,
                                  const MBK_VECTOR *x, mbk_u32 count,
                                  MBK_COMPUTE (&product)[MBK_STEPS]) {
  mbk_i32 column[MBK_STEPS];
#pragma unroll
  for (int i = 0; i < MBK_STEPS; i++) {
    const mbk_u32 k = 32 * i + mbk_lane();
    product[i] = MBK_ZERO;
    if (full || k < count) {
      column[i] = MBK_MATRIX_LOAD(col_ind + k) - MBK_BASE;
#if !MBK_PATTERN
      product[i] = (MBK_COMPUTE)MBK_MATRIX_LOAD(values + k);
#endif
    }
  }
#pragma unroll
  for (int i = 0; i < MBK_STEPS; i++) {
    if (full || 32 * i + mbk_lane() < count) {
#if MBK_PATTERN
      product[i] = (MBK_COMPUTE)mbk_load(x + column[i]);
#else
      product[i] = MBK_MUL(product[i], mbk_load(x + column[i]));
#endif
    }
  }
}

// The sum over the warp, in every lane, in a fixed order.
MBK_DEVICE MBK_COMPUTE mbk_scan_reduce(MBK_COMPUTE sum) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) {
    sum = MBK_ADD(sum, mbk_shuffle_xor(MBK_ALL, sum, d, 32));
  }
  return sum;
}

// Launch: one warp per tile. The rows that end in a tile are committed but for the first, whose
// part goes to firsts[tile]; what follows the last row end goes to tails[tile]. mbk_scan_fixup
// puts these together.
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_scan_product(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,
                     const mbk_i32 *col_ind, const MBK_VALUE *values, const MBK_VECTOR *x,
                     MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails, mbk_u64 nnz,
                     mbk_u64 tiles, MBK_SCALAR_PARAMETERS) {
  const mbk_u32 tile = mbk_block() * (MBK_THREADS / 32) + mbk_thread() / 32;
  const mbk_u32 lane = mbk_lane();
  if (tile >= tiles) {
    return;
  }
  const mbk_u64 start = (mbk_u64)tile * MBK_TILE_NONZEROS;
  const mbk_u32 ends =
      lane < MBK_STEPS ? mbk_load(row_ends + (mbk_u64)tile * MBK_STEPS + lane) : 0;
  mbk_u32 rank = mbk_load(tile_row + tile);
  MBK_COMPUTE product[MBK_STEPS];
  MBK_SCALARS_LOAD;
#if !MBK_EMPTY_ROWS
  if (beta != (MBK_COMPUTE)0) { // the old y is wanted last, when nothing hides its latency
    const mbk_u32 ahead = rank + lane * (128 / sizeof(MBK_VECTOR));
    if (ahead < mbk_load(tile_row + tile + 1)) {
      mbk_prefetch(y + ahead);
    }
  }
#endif
  if (alpha == (MBK_COMPUTE)0) {
#pragma unroll
    for (int i = 0; i < MBK_STEPS; i++) {
      product[i] = MBK_ZERO;
    }
  } else if (start + MBK_TILE_NONZEROS <= nnz) {
    mbk_scan_products<true>(col_ind + start, MBK_PATTERN ? values : values + start, x, 0,
                            product);
  } else {
    mbk_scan_products<false>(col_ind + start, MBK_PATTERN ? values : values + start, x,
                             (mbk_u32)(nnz - start), product);
  }

  MBK_COMPUTE carry = MBK_ZERO; // of the open row: what each lane holds of it
  bool spread = false;          // more than lane 31 holds some
  bool first = true;            // no row has ended in this tile
  const mbk_u32 below = (1u << lane) - 1;
#pragma unroll
  for (int i = 0; i < MBK_STEPS; i++) {
    const mbk_u32 word = mbk_shuffle(MBK_ALL, ends, i, 32);
    if (word == 0) {
      carry = MBK_ADD(carry, product[i]);
      spread = true;
      continue;
    }
    const MBK_COMPUTE before =
        spread ? mbk_scan_reduce(carry) : mbk_shuffle(MBK_ALL, carry, 31, 32);
    const mbk_u32 earlier = word & below;
    const int distance = (int)lane - (32 - mbk_leading_zeros(earlier));
    MBK_COMPUTE sum = lane == 0 ? MBK_ADD(before, product[i]) : product[i];
#pragma unroll
    for (int d = 1; d < 1 << MBK_DEPTH; d <<= 1) {
      const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, d, 32);
      if (distance >= d) {
        sum = MBK_ADD(other, sum);
      }
    }
    if (word >> lane & 1) {
      if (first && earlier == 0) {
        firsts[tile] = sum;
      } else {
        const mbk_u32 ended = rank + (mbk_u32)mbk_popcount(earlier);
        MBK_COMMIT(MBK_ROW_OF(ended), MBK_ADD(MBK_ZERO, sum));
      }
    }
    rank += (mbk_u32)mbk_popcount(word);
    first = false;
    spread = false;
    carry = lane == 31 && !(word >> 31) ? sum : MBK_ZERO;
  }
  if (spread) {
    carry = mbk_scan_reduce(carry);
  }
  if (lane == 31) {
    tails[tile] = carry;
  }
}

// The first row that ends in each tile: what the tiles before it hold of it, in their order,
// then the tile's own part; and the rows that hold nothing. A row over many tiles is added up
// by its warp, over very many by the thread block. Launch: MBK_FIXUP_THREADS tiles per block.
// Shared: MBK_COMPUTE[MBK_FIXUP_THREADS / 32], then mbk_u32[MBK_FIXUP_THREADS / 32].
#define MBK_FIXUP_THREADS 512
#define MBK_FIXUP_LONG 8         // tiles beyond which the warp helps
#define MBK_FIXUP_VERY_LONG 1024 // and the thread block

// tails[from..to) of one row, dealt to `threads` threads of which this is number `thread`.
MBK_DEVICE MBK_COMPUTE mbk_scan_tails(const MBK_COMPUTE *tails, mbk_u64 from, mbk_u64 to,
                                      mbk_u32 thread, mbk_u32 threads) {
  MBK_COMPUTE sum = MBK_ZERO;
#pragma unroll 4
  for (from += thread; from < to; from += threads) {
    sum = MBK_ADD(sum, tails[from]);
  }
  return sum;
}

MBK_KERNEL MBK_BOUNDS(MBK_FIXUP_THREADS)
    mbk_scan_fixup(const MBK_ROW_PTR *row_start, const mbk_u32 *tile_row, const mbk_u32 *row_id,
                   const mbk_u32 *empty_id, const MBK_COMPUTE *firsts, const MBK_COMPUTE *tails,
                   MBK_VECTOR *y, mbk_u64 tiles, mbk_u64 empty_rows, MBK_SCALAR_PARAMETERS) {
  MBK_SCALARS_LOAD;
  MBK_SHARED_MEMORY(shared);
  MBK_COMPUTE *const partial = (MBK_COMPUTE *)shared;
  mbk_u32 *const very_long = (mbk_u32 *)(partial + MBK_FIXUP_THREADS / 32);
  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_FIXUP_THREADS + mbk_thread();
  const mbk_u32 warp = mbk_thread() / 32;
#if MBK_EMPTY_ROWS
  for (mbk_u64 i = at; i < empty_rows; i += (mbk_u64)mbk_grid() * MBK_FIXUP_THREADS) {
    MBK_COMMIT(mbk_load(empty_id + i), MBK_ZERO);
  }
#endif
  mbk_u64 from = 0;
  mbk_u32 rank = 0, length = 0; // of the row before this tile, in tiles
  MBK_COMPUTE own = MBK_ZERO;
  if (at < tiles) {
    rank = tile_row[at];
    if (tile_row[at + 1] > rank) {
      from = (mbk_u64)(row_start[rank] - MBK_BASE) / MBK_TILE_NONZEROS;
      length = (mbk_u32)(at - from);
      own = firsts[at];
      if (length <= MBK_FIXUP_LONG) {
        MBK_COMPUTE sum = MBK_ZERO;
        for (; from < at; from++) {
          sum = MBK_ADD(sum, tails[from]);
        }
        MBK_COMMIT(MBK_ROW_OF(rank), MBK_ADD(sum, own));
      }
    }
  }
  mbk_u32 left = mbk_ballot(MBK_ALL, length > MBK_FIXUP_LONG && length <= MBK_FIXUP_VERY_LONG);
  for (; left != 0; left &= left - 1) {
    const int leader = 31 - mbk_leading_zeros(left & (0u - left));
    const mbk_u64 begin = mbk_shuffle(MBK_ALL, from, leader, 32);
    const mbk_u64 end = mbk_shuffle(MBK_ALL, at, leader, 32);
    const MBK_COMPUTE sum = mbk_scan_reduce(mbk_scan_tails(tails, begin, end, mbk_lane(), 32));
    if ((int)mbk_lane() == leader) {
      MBK_COMMIT(MBK_ROW_OF(rank), MBK_ADD(sum, own));
    }
  }
  const mbk_u32 ballot = mbk_ballot(MBK_ALL, length > MBK_FIXUP_VERY_LONG);
  if (mbk_lane() == 0) {
    very_long[warp] = ballot;
  }
  mbk_block_sync();
  for (mbk_u32 w = 0; w < MBK_FIXUP_THREADS / 32; w++) {
    for (left = very_long[w]; left != 0; left &= left - 1) {
      const mbk_u32 leader = 31 - (mbk_u32)mbk_leading_zeros(left & (0u - left));
      const mbk_u64 end = (mbk_u64)mbk_block() * MBK_FIXUP_THREADS + w * 32 + leader;
      const mbk_u64 begin = (mbk_u64)(row_start[tile_row[end]] - MBK_BASE) / MBK_TILE_NONZEROS;
      const MBK_COMPUTE part =
          mbk_scan_reduce(mbk_scan_tails(tails, begin, end, mbk_thread(), MBK_FIXUP_THREADS));
      if (mbk_lane() == 0) {
        partial[warp] = part;
      }
      mbk_block_sync();
      if (mbk_thread() == w * 32 + leader) {
        MBK_COMPUTE sum = MBK_ZERO;
        for (mbk_u32 p = 0; p < MBK_FIXUP_THREADS / 32; p++) {
          sum = MBK_ADD(sum, partial[p]);
        }
        MBK_COMMIT(MBK_ROW_OF(rank), MBK_ADD(sum, own));
      }
      mbk_block_sync();
    }
  }
}
