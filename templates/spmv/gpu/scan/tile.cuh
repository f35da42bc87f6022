// From a tile's products to rows: part of the programs that work on tiles of 32 * MBK_STEPS
// nonzeros, with what they are told. Rows are numbered by rank among those that hold something.
#ifndef MBK_STEPS
#error "define MBK_STEPS: nonzeros per lane and tile, 1 to 32"
#endif
#ifndef MBK_PACK
#error "define MBK_PACK: neighbours that a lane takes, a power of two, at most 32 bytes of sums"
#endif
#ifndef MBK_DEPTH
#error "define MBK_DEPTH: ceil(log2) of the longest row, at most 5"
#endif
#ifndef MBK_STREAMING
#error "define MBK_STREAMING: 1 if the matrix is loaded past the caches"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block of the product, a multiple of 32"
#endif
#ifndef MBK_BLOCKS
#error "define MBK_BLOCKS: blocks of the product that a multiprocessor should hold"
#endif

#include "spmv/shared/nonempty_rows.cuh"

#define MBK_TILE_NONZEROS (32 * MBK_STEPS)
#define MBK_GROUPS (MBK_STEPS / MBK_PACK)

#if MBK_STREAMING
#define MBK_MATRIX_LOAD mbk_load_streaming
#define MBK_PACK_LOAD mbk_load_pack_streaming
#else
#define MBK_MATRIX_LOAD mbk_load
#define MBK_PACK_LOAD mbk_load_pack
#endif

// What a lane adds up of x'A x, for products that do so (spmv/gpu/scan/scan.cu), from the parts of rows
// that it puts together; and what the others have in its place.
struct mbk_scan_no_dot {};
MBK_DEVICE void mbk_scan_meet(mbk_scan_no_dot &, mbk_u32, MBK_COMPUTE) {
}
#if MBK_DOTS
struct mbk_scan_dot {
  const MBK_VECTOR *x;
  double sum;
};
MBK_DEVICE void mbk_scan_meet(mbk_scan_dot &dot, mbk_u32 row, MBK_COMPUTE part) {
  dot.sum += (double)part * (double)mbk_load_after_wait(dot.x + row);
}
#endif

// The tile's row number `ended`, of which the first `held` have their old y at `old`.
template <class DOT>
MBK_DEVICE void mbk_scan_commit_row(mbk_u32 rank, mbk_u32 ended, MBK_COMPUTE sum,
                                    const mbk_u32 *row_id, MBK_VECTOR *y, MBK_SCALAR alpha,
                                    MBK_SCALAR beta, const MBK_VECTOR *old, mbk_u32 held,
                                    DOT &dot) {
  const mbk_u32 row = MBK_ROW_OF(rank + ended);
  const MBK_COMPUTE final = MBK_ADD(MBK_ZERO, sum);
  y[row] = MBK_RESULT(final, (ended < held ? old[ended] : y[row]));
  mbk_scan_meet(dot, row, final);
}

// A lane's word of row ends: how many row ends the words before it hold.
MBK_DEVICE mbk_u32 mbk_scan_ends_before(mbk_u32 ends) {
  mbk_u32 before = (mbk_u32)mbk_popcount(ends);
#pragma unroll
  for (int d = 1; d < MBK_STEPS; d <<= 1) {
    const mbk_u32 other = mbk_shuffle_up(MBK_ALL, before, d, 32);
    before += (int)mbk_lane() >= d ? other : 0;
  }
  return before - (mbk_u32)mbk_popcount(ends);
}

// A warp's tile. Lane l has, of each group g of 32 * MBK_PACK nonzeros, MBK_PACK from number
// MBK_PACK * l on, as product[g]; products after the last nonzero are zero. Bit k % 32 of word
// k / 32, which lane k / 32 holds as `ends`, says that a row ends with nonzero k. The rows that
// end in the tile are committed but for the first, whose part goes to firsts[tile]; what
// follows the last row end goes to tails[tile], and is lane 31's answer. mbk_scan_fixup puts
// these together. `rank` is that of the tile's first row; the first `held` of its rows have
// their old y at `old`. `dot` gets all but what is behind the last row end.
template <class DOT>
MBK_DEVICE MBK_COMPUTE mbk_scan_commit(const MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK],
                                       mbk_u32 ends, mbk_u32 rank, mbk_u64 tile,
                                       const mbk_u32 *row_id, MBK_VECTOR *y,
                                       MBK_COMPUTE *firsts, MBK_COMPUTE *tails,
                                       MBK_SCALAR alpha, MBK_SCALAR beta, const MBK_VECTOR *old,
                                       mbk_u32 held, DOT &dot) {
  const mbk_u32 lane = mbk_lane();
  const mbk_u32 before = mbk_scan_ends_before(ends);
  MBK_COMPUTE carry = MBK_ZERO; // of the open row: what each lane holds of it
  bool spread = false;          // more than lane 31 holds some
#pragma unroll
  for (int g = 0; g < MBK_GROUPS; g++) {
    const int word_lane = MBK_PACK * g + (int)lane * MBK_PACK / 32;
    const mbk_u32 word = mbk_shuffle(MBK_ALL, ends, word_lane, 32);
    const mbk_u32 bit = lane * MBK_PACK % 32;
    const mbk_u32 own = word >> bit & ((1u << MBK_PACK) - 1);
    const mbk_u32 closed = mbk_ballot(MBK_ALL, own != 0);
    if (closed == 0) {
#pragma unroll
      for (int j = 0; j < MBK_PACK; j++) {
        carry = MBK_ADD(carry, product[g][j]);
      }
      spread = true;
      continue;
    }
    const MBK_COMPUTE open =
        spread ? mbk_scan_reduce(carry) : mbk_shuffle(MBK_ALL, carry, 31, 32);
    mbk_u32 ended = mbk_shuffle(MBK_ALL, before, word_lane, 32) +
                    (mbk_u32)mbk_popcount(word & ((1u << bit) - 1));
    const mbk_u32 first = ended;
    MBK_COMPUTE sum = lane == 0 ? open : MBK_ZERO, head = MBK_ZERO;
#pragma unroll
    for (int j = 0; j < MBK_PACK; j++) {
      sum = MBK_ADD(sum, product[g][j]);
      if (own >> j & 1) {
        if (ended == first) {
          head = sum; // the lanes before may hold some of it
        } else {
          mbk_scan_commit_row(rank, ended, sum, row_id, y, alpha, beta, old, held, dot);
        }
        ended++;
        sum = MBK_ZERO;
      }
    }
    // What the lanes from the last closed one on hold of the row that is open behind each.
    const mbk_u32 until = closed & (0xffffffffu >> (31 - lane));
    const int distance = (int)lane - (until != 0 ? 31 - mbk_leading_zeros(until) : 0);
#pragma unroll
    for (int d = 1; d < 1 << MBK_DEPTH; d <<= 1) {
      const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, d, 32);
      if (distance >= d) {
        sum = MBK_ADD(other, sum);
      }
    }
    const MBK_COMPUTE earlier = mbk_shuffle_up(MBK_ALL, sum, 1, 32);
    if (own != 0) {
      head = lane > 0 ? MBK_ADD(earlier, head) : head;
      if (first == 0) {
        firsts[tile] = head;
        mbk_scan_meet(dot, MBK_ROW_OF(rank), head);
      } else {
        mbk_scan_commit_row(rank, first, head, row_id, y, alpha, beta, old, held, dot);
      }
    }
    spread = false;
    carry = lane == 31 ? sum : MBK_ZERO;
  }
  if (spread) {
    carry = mbk_scan_reduce(carry);
  }
  if (lane == 31) {
    tails[tile] = carry;
  }
  return carry;
}
