// The fix-up: completes the rows that cross tiles, and writes empty rows. It runs after a
// kernel that has stored, for each tile, the part of its first row in `firsts` and its
// carry-out in `tails`. A row stands for MBK_PARTS consecutive elements of y, and so does each
// entry of firsts and tails.
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
#define MBK_BACK mbk_u32 // the type of tile_back
// Returns how many tiles before `tile` its first row begins, or MBK_OPEN if the row does not
// end in `tile`.
#define MBK_TILE_BACK(tile) mbk_load(tile_back + (tile))
#endif

#ifndef MBK_LEADING
#define MBK_LEADING 0 // 1: the parts of a row are `rows` elements of y apart, not adjacent
#endif

// A thread adds up a row over a few tiles, a warp over many, the thread block over very many.
// Blocks have few threads, so that one can start as soon as a block of the product, which may
// be no larger, has finished, and so that several fit on a multiprocessor.
#define MBK_FIXUP_THREADS 256
// Resident blocks per multiprocessor; 0: NVRTC decides. For semirings and complex sums NVRTC
// would aim at so many blocks that registers spill.
#define MBK_FIXUP_BLOCKS (MBK_SEMIRING || mbk_parts<MBK_COMPUTE>::count > 1 ? 4 : 0)
#define MBK_FIXUP_LONG 8        // with more tiles, the warp adds up
#define MBK_FIXUP_VERY_LONG 128 // with more tiles, the thread block adds up
#define MBK_FIXUP_AHEAD 8       // tails that a thread loads at once
#define MBK_NOWHERE 0xffffffffffffffffull

// Returns the contribution of thread `thread` of `threads` to the sum of tails[from..to) for
// one part of a row. Loads outside the range yield zero. This avoids a remainder loop, which
// would load one element after the other.
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

// Returns the index in y of one part of a row, or MBK_NOWHERE if it is outside: the last block
// row may extend beyond the matrix.
MBK_DEVICE mbk_u64 mbk_fixup_place(mbk_u64 row, mbk_u32 part, mbk_u64 rows) {
  const mbk_u64 place = MBK_LEADING ? row * rows + part : row * MBK_PARTS + part;
  return MBK_LEADING || MBK_PARTS == 1 || place < rows ? place : MBK_NOWHERE;
}

// Returns the old y at an index, or zero if the product does not read it.
MBK_DEVICE MBK_VECTOR mbk_fixup_old(const MBK_VECTOR *y, mbk_u64 place, MBK_SCALAR beta) {
  return MBK_FORGETS(beta) || place == MBK_NOWHERE ? (MBK_VECTOR)0 : y[place];
}

// Writes one part of a row.
MBK_DEVICE void mbk_fixup_commit(MBK_VECTOR *y, mbk_u64 place, MBK_COMPUTE sum, MBK_VECTOR old,
                                 MBK_SCALAR alpha, MBK_SCALAR beta) {
  if (place != MBK_NOWHERE) {
    y[place] = MBK_RESULT(sum, old);
  }
}

// Completes the first row of each tile in which that row ends: adds up the carry-outs of the
// tiles before, in their order, then the tile's own part. Also writes the empty rows among the
// first `filled` rows, by their bits in row_bits (mbk_nonempty_compact). `rows` is used only if
// MBK_PARTS is not 1, or with MBK_LEADING. The loads of row numbers do not wait for the
// product, and the loads of carries do not depend on them, so a launch takes little longer than
// two dependent loads. Launch: MBK_FIXUP_THREADS parts of tiles per block. Shared:
// MBK_COMPUTE[MBK_FIXUP_THREADS / 32], then mbk_u32[MBK_FIXUP_THREADS / 32].
MBK_DEVICE void mbk_fixup(const MBK_BACK *tile_back, const MBK_ROW_NUMBER *tile_row,
                          const mbk_u32 *row_id, const mbk_u32 *row_bits,
                          const MBK_COMPUTE *firsts, const MBK_COMPUTE *tails, MBK_VECTOR *y,
                          mbk_u64 tiles, mbk_u64 filled, mbk_u64 rows, MBK_COMPUTE *partial,
                          MBK_SCALAR_PARAMETERS) {
  mbk_u32 *const very_long = (mbk_u32 *)(partial + MBK_FIXUP_THREADS / 32);
  const mbk_u64 block_first = (mbk_u64)mbk_block() * MBK_FIXUP_THREADS;
  const mbk_u64 item = block_first + mbk_thread();
  const mbk_u64 at = item / MBK_PARTS;
  const mbk_u32 part = (mbk_u32)(item % MBK_PARTS), warp = mbk_thread() / 32;
  mbk_u64 row = 0;
  mbk_u32 back = MBK_OPEN;
  MBK_COMPUTE own = MBK_ZERO, before = MBK_ZERO;
  MBK_VECTOR old = (MBK_VECTOR)0;
  mbk_release();
  if (at < tiles) {
    back = MBK_TILE_BACK(at);
    row = MBK_ROW_OF(MBK_TILE_ROW_NUMBER(at));
  }
  mbk_await();
  MBK_STOP_HERE
  MBK_SCALARS_LOAD;
  const mbk_u64 place = mbk_fixup_place(row, part, rows);
  // If a row begins with its tile, no earlier tile has a part of it, and `before` is zero.
  if (back != MBK_OPEN) { // `back` was loaded before the wait
    own = firsts[item];
    before = at > 0 ? tails[item - MBK_PARTS] : MBK_ZERO;
    old = mbk_fixup_old(y, place, beta);
  }
  const mbk_u32 ballot = mbk_ballot(MBK_ALL, back > MBK_FIXUP_VERY_LONG && back != MBK_OPEN);
  if (mbk_lane() == 0) {
    very_long[warp] = ballot;
  }
  mbk_block_sync(); // costs nothing: all warps wait for their loads here
#if MBK_EMPTY_ROWS
  for (mbk_u64 i = item; i < filled * MBK_PARTS; i += (mbk_u64)mbk_grid() * MBK_FIXUP_THREADS) {
    if (!mbk_nonempty_has(row_bits, i / MBK_PARTS)) {
      const mbk_u64 to = mbk_fixup_place(i / MBK_PARTS, (mbk_u32)(i % MBK_PARTS), rows);
      mbk_fixup_commit(y, to, MBK_ZERO, mbk_fixup_old(y, to, beta), alpha, beta);
    }
  }
#endif
  if (back <= MBK_FIXUP_LONG) {
    const MBK_COMPUTE sum = back > 1 ? mbk_fixup_tails(tails + part, at - back, at, 0, 1)
                                     : MBK_ADD(MBK_ZERO, before);
    mbk_fixup_commit(y, place, MBK_ADD(sum, own), old, alpha, beta);
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
      mbk_fixup_commit(y, place, MBK_ADD(sum, own), old, alpha, beta);
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
        mbk_fixup_commit(y, place, MBK_ADD(sum, own), old, alpha, beta);
      }
      mbk_block_sync();
    }
  }
}
