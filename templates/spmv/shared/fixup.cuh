// The fix-up of rows that cross tiles, and the commit of empty rows. It runs after a kernel
// that left each tile's part of its first row in `firsts` and its carry-out in `tails`. A row
// has MBK_PARTS consecutive entries of y, and so has each entry of firsts and tails.
#ifndef MBK_PARTS
#error "define MBK_PARTS: entries of y per row: 1, or a block's rows"
#endif
#ifndef MBK_TILE_ROW_NUMBER
#error "define MBK_TILE_ROW_NUMBER(tile): the number of its first row among the non-empty"
#endif
#ifndef MBK_ROW_NUMBER
#error "define MBK_ROW_NUMBER: the type of numbers among the non-empty rows, as in tile_row"
#endif

#ifndef MBK_TILE_BACK
#define MBK_BACK mbk_u32 // the type of `tile_back`
// Returns how many tiles before `tile` its first row began, or MBK_OPEN if the fix-up must
// leave it alone.
#define MBK_TILE_BACK(tile) mbk_load(tile_back + (tile))
#endif

#ifndef MBK_LEADING
#define MBK_LEADING 0 // 1: rows of y are `rows` elements apart, not MBK_PARTS
#endif

// A row over many tiles is added up by a warp, over very many by the thread block.
// Blocks are small, so that they start where a block of the product, which may be as small,
// has finished, and so that there are several to a multiprocessor before there is a second
// round of them.
#define MBK_FIXUP_THREADS 256
// Blocks that a multiprocessor should hold; 0: as NVRTC likes, which for semirings and complex
// sums aims at so many that some spill.
#define MBK_FIXUP_BLOCKS (MBK_SEMIRING || mbk_parts<MBK_COMPUTE>::count > 1 ? 4 : 0)
#define MBK_FIXUP_LONG 8        // tiles beyond which the warp helps
#define MBK_FIXUP_VERY_LONG 128 // and the thread block
#define MBK_FIXUP_AHEAD 8       // tails that a thread loads at once

// Returns one thread's share of tails[from..to) of one part of a row: thread number `thread` of
// `threads`. Loads outside the range give zero instead of ending the loop, because a loop for
// the remainder would load one after the other.
MBK_DEVICE MBK_COMPUTE mbk_fixup_tails(const MBK_COMPUTE *tails, mbk_u64 from, mbk_u64 to,
                                       mbk_u32 thread, mbk_u32 threads) {
  MBK_COMPUTE sum = MBK_ZERO;
  for (from += thread; from < to; from += MBK_FIXUP_AHEAD * threads) {
    MBK_COMPUTE some[MBK_FIXUP_AHEAD];
#pragma unroll
    for (mbk_u32 i = 0; i < MBK_FIXUP_AHEAD; i++) {
      const mbk_u64 at = from + i * threads;
      some[i] = at < to ? tails[at * MBK_PARTS] : MBK_ZERO;
    }
#pragma unroll
    for (mbk_u32 i = 0; i < MBK_FIXUP_AHEAD; i++) {
      sum = MBK_ADD(sum, some[i]);
    }
  }
  return sum;
}

// Commits one part of a row. The last block of rows may reach past the matrix.
MBK_DEVICE void mbk_fixup_commit(MBK_VECTOR *y, mbk_u64 row, mbk_u32 part, mbk_u64 rows,
                                 MBK_COMPUTE sum, MBK_SCALAR alpha, MBK_SCALAR beta) {
  if (MBK_LEADING) {
    MBK_COMMIT(row * rows + part, sum);
  } else if (MBK_PARTS == 1) {
    MBK_COMMIT(row, sum);
  } else if (row * MBK_PARTS + part < rows) {
    MBK_COMMIT(row * MBK_PARTS + part, sum);
  }
}

// Completes the first row of each tile, if it ends there: the carry-outs of the tiles before
// it, in their order, then the tile's own part. Writes the empty rows too. `rows` is needed if
// MBK_PARTS is not 1, or with MBK_LEADING. The loads that say where rows are do not depend on
// the product's results, nor the loads of carries on them, so that a launch takes little more
// than two loads after each other. Launch: MBK_FIXUP_THREADS parts of tiles per block. Shared:
// MBK_COMPUTE[MBK_FIXUP_THREADS / 32], then mbk_u32[MBK_FIXUP_THREADS / 32].
MBK_DEVICE void mbk_fixup(const MBK_BACK *tile_back, const MBK_ROW_NUMBER *tile_row,
                          const mbk_u32 *row_id, const mbk_u32 *empty_id,
                          const MBK_COMPUTE *firsts, const MBK_COMPUTE *tails, MBK_VECTOR *y,
                          mbk_u64 tiles, mbk_u64 empty_rows, mbk_u64 rows, MBK_COMPUTE *partial,
                          MBK_SCALAR_PARAMETERS) {
  mbk_u32 *const very_long = (mbk_u32 *)(partial + MBK_FIXUP_THREADS / 32);
  const mbk_u64 block_first = (mbk_u64)mbk_block() * MBK_FIXUP_THREADS;
  const mbk_u64 item = block_first + mbk_thread();
  const mbk_u64 at = item / MBK_PARTS;
  const mbk_u32 part = (mbk_u32)(item % MBK_PARTS), warp = mbk_thread() / 32;
  mbk_u64 row = 0;
  mbk_u32 back = MBK_OPEN;
  MBK_COMPUTE own = MBK_ZERO, before = MBK_ZERO;
  mbk_release();
  if (at < tiles) {
    back = MBK_TILE_BACK(at);
    row = MBK_ROW_OF(MBK_TILE_ROW_NUMBER(at));
  }
  mbk_await();
  MBK_STOP_HERE
  MBK_SCALARS_LOAD;
  // No row is open before a row that begins with its tile; `before` is then zero.
  if (back != MBK_OPEN) { // known before the wait of a dependent launch
    own = firsts[item];
    before = at > 0 ? tails[item - MBK_PARTS] : MBK_ZERO;
  }
  const mbk_u32 ballot = mbk_ballot(MBK_ALL, back > MBK_FIXUP_VERY_LONG && back != MBK_OPEN);
  if (mbk_lane() == 0) {
    very_long[warp] = ballot;
  }
  mbk_block_sync(); // here all warps wait for loads anyway
#if MBK_EMPTY_ROWS
  for (mbk_u64 i = item; i < empty_rows * MBK_PARTS;
       i += (mbk_u64)mbk_grid() * MBK_FIXUP_THREADS) {
    mbk_fixup_commit(y, mbk_load(empty_id + i / MBK_PARTS), (mbk_u32)(i % MBK_PARTS), rows,
                     MBK_ZERO, alpha, beta);
  }
#endif
  if (back <= MBK_FIXUP_LONG) {
    const MBK_COMPUTE sum = back > 1 ? mbk_fixup_tails(tails + part, at - back, at, 0, 1)
                                     : MBK_ADD(MBK_ZERO, before);
    mbk_fixup_commit(y, row, part, rows, MBK_ADD(sum, own), alpha, beta);
  }
  mbk_u32 left = mbk_ballot(MBK_ALL, back > MBK_FIXUP_LONG && back <= MBK_FIXUP_VERY_LONG);
  for (; left != 0; left &= left - 1) {
    const int leader = 31 - mbk_leading_zeros(left & (0u - left));
    const mbk_u64 end = mbk_shuffle(MBK_ALL, at, leader, 32);
    const mbk_u64 begin = end - mbk_shuffle(MBK_ALL, back, leader, 32);
    const mbk_u32 column = (mbk_u32)mbk_shuffle(MBK_ALL, part, leader, 32);
    const MBK_COMPUTE sum =
        mbk_scan_reduce(mbk_fixup_tails(tails + column, begin, end, mbk_lane(), 32));
    if ((int)mbk_lane() == leader) {
      mbk_fixup_commit(y, row, part, rows, MBK_ADD(sum, own), alpha, beta);
    }
  }
  for (mbk_u32 w = 0; w < MBK_FIXUP_THREADS / 32; w++) {
    for (left = very_long[w]; left != 0; left &= left - 1) {
      const mbk_u32 leader = 31 - (mbk_u32)mbk_leading_zeros(left & (0u - left));
      const mbk_u64 that = block_first + w * 32 + leader, end = that / MBK_PARTS;
      const mbk_u64 begin = end - MBK_TILE_BACK(end);
      const MBK_COMPUTE share = mbk_scan_reduce(mbk_fixup_tails(
          tails + that % MBK_PARTS, begin, end, mbk_thread(), MBK_FIXUP_THREADS));
      if (mbk_lane() == 0) {
        partial[warp] = share;
      }
      mbk_block_sync();
      if (mbk_thread() == w * 32 + leader) {
        MBK_COMPUTE sum = MBK_ZERO;
        for (mbk_u32 p = 0; p < MBK_FIXUP_THREADS / 32; p++) {
          sum = MBK_ADD(sum, partial[p]);
        }
        mbk_fixup_commit(y, row, part, rows, MBK_ADD(sum, own), alpha, beta);
      }
      mbk_block_sync();
    }
  }
}
