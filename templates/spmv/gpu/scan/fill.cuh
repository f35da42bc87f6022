// Blocks of SCAN that write the empty rows. They are spread evenly among the blocks that
// multiply. If each of those wrote a share of the empty rows instead, it would have to wait for
// their bits and old y after its tile. spmv/gpu/scan/scan.cu and whole.cu include this file
// after tile.cuh.
//
// Launch, if some rows are empty: T blocks that multiply, at least one, and F = ceil(rows /
// (MBK_THREADS * MBK_FILL)) more. The kernel's fill_rate is ceil(F * 2^32 / (T + F)).
#ifndef MBK_TILE_NONZEROS
#error "include spmv/gpu/scan/tile.cuh before"
#endif

#if MBK_EMPTY_ROWS
#ifndef MBK_FILL
#error "define MBK_FILL: words of row_bits per warp that writes empty rows: 8, 16, 24 or 32"
#endif
#ifndef MBK_FILL_AHEAD
#error "define MBK_FILL_AHEAD: 1 if y does not stay in L2"
#endif
#define MBK_FILL_AT_ONCE 8 // words of row_bits whose old y a warp loads before it writes

// Returns whether this lane's row is empty. Lane i holds the bits of the 32 rows as `word`.
MBK_DEVICE bool mbk_scan_empty(mbk_u32 word, int i) {
  return !(mbk_shuffle(MBK_ALL, word, i, 32) >> mbk_lane() & 1);
}

// Returns how many of a product's first `block` blocks write empty rows. They are spread
// evenly, so that most sectors of y are written by blocks that run at the same time.
MBK_DEVICE mbk_u32 mbk_scan_fillers(mbk_u32 block, mbk_u32 rate) {
  return (mbk_u32)((mbk_u64)block * rate >> 32);
}

// Prefetches into L2 the sectors of y that hold both empty and other rows. Otherwise L2 would
// write each part of such a sector to memory separately, which takes longer.
MBK_DEVICE void mbk_scan_fill_ahead(mbk_u32 word, const MBK_VECTOR *own_y) {
  const mbk_u32 rows = 32 / sizeof(MBK_VECTOR); // per sector
  const mbk_u32 all = (1u << rows) - 1;
#pragma unroll
  for (int i = 0; i < MBK_FILL; i++) {
    const mbk_u32 bits = mbk_shuffle(MBK_ALL, word, i, 32) >> mbk_lane() & all;
    mbk_prefetch_if(mbk_lane() % rows == 0 && bits != 0 && bits != all, own_y + 32 * i);
  }
}
#endif

// Returns whether this block writes empty rows, and if so has written its share: each warp
// covers MBK_FILL words of row_bits. Otherwise sets `number` to the block's number among those
// that multiply. Without `adds`, beta must be zero.
template <bool adds>
MBK_DEVICE bool mbk_scan_fill(const mbk_u32 *row_bits, MBK_VECTOR *y, mbk_u64 rows,
                              mbk_u32 rate, MBK_SCALAR alpha, MBK_SCALAR beta,
                              mbk_u32 &number) {
#if MBK_EMPTY_ROWS
  const mbk_u32 before = mbk_scan_fillers(mbk_block(), rate);
  number = mbk_block() - before;
  if (mbk_scan_fillers(mbk_block() + 1, rate) == before) {
    return false;
  }
  const mbk_u32 first = (before * (MBK_THREADS / 32) + mbk_thread() / 32) * MBK_FILL;
  const mbk_u32 own = first + mbk_lane();
  const mbk_u32 word =
      mbk_lane() < MBK_FILL && (mbk_u64)own * 32 < rows ? mbk_load(row_bits + own) : MBK_ALL;
  MBK_VECTOR *const own_y = y + (mbk_u64)first * 32 + mbk_lane();
  mbk_await();
  if (!adds && MBK_FILL_AHEAD) { // with `adds`, the old y brings whole sectors
    mbk_scan_fill_ahead(word, own_y);
  }
#pragma unroll
  for (int i = 0; i < MBK_FILL; i += MBK_FILL_AT_ONCE) {
    MBK_VECTOR old[MBK_FILL_AT_ONCE];
#pragma unroll
    for (int j = 0; j < MBK_FILL_AT_ONCE; j++) {
      old[j] = adds && mbk_scan_empty(word, i + j) ? own_y[32 * (i + j)] : (MBK_VECTOR)0;
    }
#pragma unroll
    for (int j = 0; j < MBK_FILL_AT_ONCE; j++) {
      if (mbk_scan_empty(word, i + j)) {
        own_y[32 * (i + j)] = MBK_RESULT(MBK_ZERO, old[j]);
      }
    }
  }
  return true;
#else
  (void)row_bits, (void)y, (void)rows, (void)rate, (void)alpha, (void)beta;
  number = mbk_block();
  return false;
#endif
}
