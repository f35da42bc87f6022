// Adds up the products of a tile of 32 * MBK_STEPS nonzeros to rows by a segmented scan. Every
// program that works on such tiles includes this file, which lists the macros that they need.
// Row numbers count only the non-empty rows.
#ifndef MBK_STEPS
#error "define MBK_STEPS: nonzeros per lane and tile, 1 to 32"
#endif
#ifndef MBK_PACK
#error "define MBK_PACK: consecutive nonzeros per load, a power of two, up to 32 bytes of sums"
#endif
#ifndef MBK_DEPTH
#error "define MBK_DEPTH: ceil(log2) of the longest row, at most 5"
#endif
#ifndef MBK_STREAMING
#error "define MBK_STREAMING: 1 if the matrix is read by streaming loads"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block of the product, a multiple of 32"
#endif
#ifndef MBK_BLOCKS
#error "define MBK_BLOCKS: thread blocks that a multiprocessor should hold"
#endif

#ifndef MBK_OLD_ROWS
// Rows per tile whose old y is copied to shared memory: a multiple of 32.
#define MBK_OLD_ROWS 32
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

// A lane's part of x'A x, for products that compute it (spmv/gpu/scan/scan.cu). Other products
// pass mbk_scan_no_dot, which does nothing.
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

// Writes the row that is number `ended` among those that end in the tile. `old` holds the old y
// of the first `held` of these rows.
template <class DOT>
MBK_DEVICE void mbk_scan_commit_row(mbk_u32 row_number, mbk_u32 ended, MBK_COMPUTE sum,
                                    const mbk_u32 *row_id, MBK_VECTOR *y, MBK_SCALAR alpha,
                                    MBK_SCALAR beta, const MBK_VECTOR *old, mbk_u32 held,
                                    DOT &dot) {
  const mbk_u32 row = MBK_ROW_OF(row_number + ended);
  const MBK_COMPUTE final = MBK_ADD(MBK_ZERO, sum);
  y[row] = MBK_RESULT(final, (ended < held ? old[ended] : y[row]));
  mbk_scan_meet(dot, row, final);
}

// Returns the number of row ends before this lane's word of row ends.
MBK_DEVICE mbk_u32 mbk_scan_ends_before(mbk_u32 ends) {
  mbk_u32 before = (mbk_u32)mbk_popcount(ends);
#pragma unroll
  for (int d = 1; d < MBK_STEPS; d <<= 1) {
    const mbk_u32 other = mbk_shuffle_up(MBK_ALL, before, d, 32);
    before += (int)mbk_lane() >= d ? other : 0;
  }
  return before - (mbk_u32)mbk_popcount(ends);
}

// Adds up a warp's tile and writes the rows that end in it.
//
// `product`: product[g] of lane l holds nonzeros MBK_PACK * l to MBK_PACK * (l + 1) - 1 of
// group g, each group having 32 * MBK_PACK nonzeros; products after the last nonzero are zero.
// `ends`: lane w holds word w of the tile's row ends; bit i says that nonzero 32 w + i ends a
// row. `row_number`: the number of the tile's first row among the non-empty rows. `old`: the
// old y of the first `held` rows.
//
// The first row that ends may have begun in an earlier tile. It is not written; its sum goes to
// firsts[tile]. What follows the last row end, the carry-out, goes to tails[tile], and lane 31
// returns it. mbk_scan_fixup joins the two. `dot` receives everything but the carry-out.
template <class DOT>
MBK_DEVICE MBK_COMPUTE mbk_scan_commit(const MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK],
                                       mbk_u32 ends, mbk_u32 row_number, mbk_u64 tile,
                                       const mbk_u32 *row_id, MBK_VECTOR *y,
                                       MBK_COMPUTE *firsts, MBK_COMPUTE *tails,
                                       MBK_SCALAR alpha, MBK_SCALAR beta, const MBK_VECTOR *old,
                                       mbk_u32 held, DOT &dot) {
  const mbk_u32 lane = mbk_lane();
  const mbk_u32 before = mbk_scan_ends_before(ends);
  MBK_COMPUTE carry = MBK_ZERO; // each lane's part of the open row
  bool spread = false;          // lanes other than 31 hold a part
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
          head = sum; // earlier lanes may hold a part of this row
        } else {
          mbk_scan_commit_row(row_number, ended, sum, row_id, y, alpha, beta, old, held, dot);
        }
        ended++;
        sum = MBK_ZERO;
      }
    }
    // Add up, for each lane, the open row's parts since the last lane with a row end.
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
        mbk_scan_meet(dot, MBK_ROW_OF(row_number), head);
      } else {
        mbk_scan_commit_row(row_number, first, head, row_id, y, alpha, beta, old, held, dot);
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
