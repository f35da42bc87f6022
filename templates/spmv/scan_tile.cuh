// From a tile's products to rows: part of the programs that work on tiles of 32 * MBK_STEPS
// nonzeros, whose macros it uses. Rows are numbered by rank among those that hold something.
#ifndef MBK_STEPS
#error "include spmv/scan.cu or spmv/binned.cu, which open with the list of macros"
#endif

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

// The sum over the warp, in every lane, in a fixed order.
MBK_DEVICE MBK_COMPUTE mbk_scan_reduce(MBK_COMPUTE sum) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) {
    sum = MBK_ADD(sum, mbk_shuffle_xor(MBK_ALL, sum, d, 32));
  }
  return sum;
}

// A warp's tile: product[i] of a lane is of the nonzero 32 i + lane, and bit `lane` of word i,
// which lane i holds as `ends`, says that its row ends there; products after the last nonzero
// are zero. The rows that end in the tile are committed but for the first, whose part goes to
// firsts[tile]; what follows the last row end goes to tails[tile]. mbk_scan_fixup puts these
// together. `rank` is that of the tile's first row.
MBK_DEVICE void mbk_scan_commit(const MBK_COMPUTE (&product)[MBK_STEPS], mbk_u32 ends,
                                mbk_u32 rank, mbk_u64 tile, const mbk_u32 *row_id,
                                MBK_VECTOR *y, MBK_COMPUTE *firsts, MBK_COMPUTE *tails,
                                MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  const mbk_u32 lane = mbk_lane();
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
