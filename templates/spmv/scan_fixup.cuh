// Rows that cross tiles, after the kernel that used spmv/scan_tile.cuh; and empty rows.
#ifndef MBK_TILE_NONZEROS
#error "include spmv/scan_tile.cuh before"
#endif

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
  MBK_SHARED_MEMORY(shared);
  MBK_COMPUTE *const partial = (MBK_COMPUTE *)shared;
  mbk_u32 *const very_long = (mbk_u32 *)(partial + MBK_FIXUP_THREADS / 32);
  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_FIXUP_THREADS + mbk_thread();
  const mbk_u32 warp = mbk_thread() / 32;
  mbk_u64 from = 0;
  mbk_u32 rank = 0, length = 0; // of the row before this tile, in tiles
  bool ending = false;
  MBK_COMPUTE own = MBK_ZERO;
  mbk_release();
  if (at < tiles) {
    rank = mbk_load(tile_row + at);
    ending = mbk_load(tile_row + at + 1) > rank;
    if (ending) {
      from = (mbk_u64)(mbk_load(row_start + rank) - MBK_BASE) / MBK_TILE_NONZEROS;
      length = (mbk_u32)(at - from);
    }
  }
  mbk_await();
  MBK_SCALARS_LOAD;
#if MBK_EMPTY_ROWS
  for (mbk_u64 i = at; i < empty_rows; i += (mbk_u64)mbk_grid() * MBK_FIXUP_THREADS) {
    MBK_COMMIT(mbk_load(empty_id + i), MBK_ZERO);
  }
#endif
  if (ending) {
    own = firsts[at];
    if (length <= MBK_FIXUP_LONG) {
      MBK_COMPUTE sum = MBK_ZERO;
      for (; from < at; from++) {
        sum = MBK_ADD(sum, tails[from]);
      }
      MBK_COMMIT(MBK_ROW_OF(rank), MBK_ADD(sum, own));
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
