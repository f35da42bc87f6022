// MANY by runs: Y = alpha A X + beta Y for several vectors, in one pass over the matrix.
//
// Data: the tiles and row ends of spmv/gpu/scan/scan.cu. X is read in row order, so that one
// gather brings everything that a nonzero multiplies. X and Y in column order pass through
// copies in row order.
//
// Work: a warp owns a tile. A team of lanes (spmv/gpu/many/lane.cuh) owns a run of consecutive
// nonzeros, which it walks one by one with its sums in registers. Shuffles join rows that cross
// runs, and mbk_many_fixup those that cross tiles, always in the same order.
//
// The method is new here.
#ifndef MBK_WORDS
#error "define MBK_WORDS: nonzeros of a run divided by 32, at most MBK_TEAM"
#endif
#ifndef MBK_PIECE
#error                                                                                         \
    "define MBK_PIECE: nonzeros of a run staged at once; divides the run, a multiple of MBK_UNROLL"
#endif
#include "spmv/gpu/many/lane.cuh"

#define MBK_STEPS (MBK_TEAMS * MBK_WORDS)
#define MBK_PACK 1  // for spmv/gpu/scan/tile.cuh; not used by these products
#define MBK_DEPTH 5 // not used either

#include "spmv/gpu/scan/tile.cuh"

#include "spmv/gpu/scan/build.cuh"

#define MBK_RUN (32 * MBK_WORDS)

#include "spmv/gpu/many/run.cuh"

// ---- A tile ---------------------------------------------------------------------------------

// Joins the runs of a tile, as mbk_scan_commit joins lanes. Writes the rows that end in the
// tile, except the first, whose part goes to firsts[tile]. The carry-out goes to tails[tile].
template <bool packed>
MBK_DEVICE void mbk_many_join(mbk_many_walk &walk, mbk_u32 ends, const mbk_u32 *row_id,
                              mbk_u64 tile, MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE *firsts,
                              MBK_COMPUTE *tails, MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  const mbk_u32 lane = mbk_lane(), team = lane / MBK_TEAM;
  const bool ended = walk.count > 0;
  mbk_many_row head;
  const mbk_u32 closed = mbk_ballot(MBK_ALL, ended);
  // Add up, for each team, the open row's parts since the last team with a row end.
  const mbk_u32 until = closed & (0xffffffffu >> (31 - lane));
  const int last = until != 0 ? (31 - mbk_leading_zeros(until)) / MBK_TEAM : 0;
  mbk_u32 rows = 0; // rows that ended in the run
#pragma unroll
  for (int w = 0; w < MBK_WORDS; w++) {
    rows += (mbk_u32)mbk_popcount(mbk_shuffle(MBK_ALL, ends, (int)(team * MBK_WORDS) + w, 32));
  }
  (void)row_id;
  mbk_many_clear(head);
  if (ended) {
    mbk_many_held(walk, 0, head);
  }
  mbk_many_flush<packed>(walk, row_id, y, ldy, alpha, beta);
#pragma unroll
  for (int d = 1; d < MBK_TEAMS; d <<= 1) {
#pragma unroll
    for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
      for (int j = 0; j < MBK_SPAN; j++) {
        const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, walk.sum[c][j], d * MBK_TEAM, 32);
        if ((int)team - last >= d) {
          walk.sum[c][j] = MBK_ADD(other, walk.sum[c][j]);
        }
      }
    }
  }
#if MBK_TEAM < 32
#pragma unroll
  for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
    for (int j = 0; j < MBK_SPAN; j++) {
      const MBK_COMPUTE earlier = mbk_shuffle_up(MBK_ALL, walk.sum[c][j], MBK_TEAM, 32);
      head[c][j] = team > 0 ? MBK_ADD(earlier, head[c][j]) : head[c][j];
    }
  }
#endif
  if (ended && (closed & ((1u << team * MBK_TEAM) - 1)) == 0) {
    mbk_many_carry(firsts, tile, head);
  } else if (ended) {
    const mbk_u64 row = MBK_ROW_OF(walk.row_number - rows);
    mbk_many_commit<packed>(y + row * ldy, head, alpha, beta);
  }
  if (team == MBK_TEAMS - 1) {
    mbk_many_carry(tails, tile, walk.sum);
  }
}

// Prefetches the rows of Y whose old elements will be read.
MBK_DEVICE void mbk_many_ahead(const MBK_VECTOR *y, mbk_u64 ldy, const mbk_u32 *row_id,
                               mbk_u32 from, mbk_u32 to) {
  (void)row_id;
  mbk_await();
  for (mbk_u32 row_number = from + mbk_lane(); row_number < to; row_number += 32) {
    const mbk_u64 row = MBK_ROW_OF(row_number);
    for (mbk_u32 c = 0; c < MBK_WIDTH; c += 64 / sizeof(MBK_VECTOR)) {
      mbk_prefetch(y + row * ldy + c);
    }
  }
}

// Multiplies a warp's tile and writes its rows. x_step: bytes from row to row of X. ldy:
// elements from row to row of Y.
template <bool packed>
MBK_DEVICE void mbk_many_tile(const mbk_u32 *row_ends, const mbk_u32 *tile_row,
                              const mbk_u32 *row_id, const mbk_i32 *col_ind,
                              const MBK_VALUE *values, const MBK_VECTOR *x, mbk_u32 x_step,
                              MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE *firsts,
                              MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_COMPUTE alpha,
                              MBK_COMPUTE beta) {
  MBK_SHARED_MEMORY(stages);
  const mbk_u32 warp = mbk_thread() / 32, tile = mbk_block() * (MBK_THREADS / 32) + warp;
  unsigned char *const stage = stages + warp * (MBK_STAGE_BYTES + MBK_HELD_BYTES);
  if (tile >= tiles) {
    return;
  }
  const mbk_u32 lane = mbk_lane(), team = lane / MBK_TEAM;
  const mbk_u64 begin = (mbk_u64)tile * MBK_TILE_NONZEROS;
  const mbk_u32 ends =
      lane < MBK_STEPS ? mbk_load(row_ends + (mbk_u64)tile * MBK_STEPS + lane) : 0;
  const mbk_u32 from = mbk_load(tile_row + tile), to = mbk_load(tile_row + tile + 1);
  const mbk_u32 before = mbk_scan_ends_before(ends);
  mbk_many_walk walk;
  mbk_many_clear(walk.sum);
  walk.held = (mbk_many_sums *)(stage + MBK_STAGE_BYTES) + lane;
  walk.count = 0;
  walk.row_number = from + mbk_shuffle(MBK_ALL, before, (int)(team * MBK_WORDS), 32) + 1;
  if (!MBK_COLUMNS && beta != (MBK_COMPUTE)0) {
    mbk_many_ahead(y, ldy, row_id, from, to);
  }
  if (alpha != (MBK_COMPUTE)0 && begin + MBK_TILE_NONZEROS <= nnz) {
    mbk_many_run<packed, true>(col_ind + begin, MBK_PATTERN ? values : values + begin,
                               MBK_TILE_NONZEROS, stage, ends, x, x_step, walk, row_id, y, ldy,
                               alpha, beta);
  } else { // if alpha is 0, neither the matrix nor X is read
    mbk_many_run<packed, false>(col_ind + begin, MBK_PATTERN ? values : values + begin,
                                alpha != (MBK_COMPUTE)0 ? nnz - begin : 0, stage, ends, x,
                                x_step, walk, row_id, y, ldy, alpha, beta);
  }
  mbk_many_join<packed>(walk, ends, row_id, tile, y, ldy, firsts, tails, alpha, beta);
}

#include "spmv/gpu/many/many_arguments.cuh"

// The distances between rows, of Y in elements, of X in bytes. Those of copies are constants,
// which saves registers. (Not so for X if a lane takes whole rows: with a constant distance,
// ptxas would spill with four vectors of floats.)
#define MBK_Y_STEP(a) (MBK_COLUMNS ? (mbk_u64)MBK_WIDTH : (a).ldy)
#define MBK_X_STEP(a)                                                                          \
  (MBK_COLUMNS && MBK_TEAM > 1 ? MBK_WIDTH * (mbk_u32)sizeof(MBK_VECTOR) : (a).x_step)

// Computes the product; mbk_many_fixup follows. With MBK_COLUMNS, x and y are copies in row
// order, and mbk_many_spread follows too. Launch: one warp per tile. Shared: MBK_STAGE_BYTES +
// MBK_HELD_BYTES per warp.
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS_PACKED)
    mbk_many_product(MBK_BY_FIELD(mbk_many_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  mbk_release();
  MBK_SCALARS_LOAD;
  mbk_many_tile<true>(a.row_ends, a.tile_row, a.row_id, a.col_ind, a.values, a.x, MBK_X_STEP(a),
                      a.y, MBK_Y_STEP(a), a.firsts, a.tails, a.nnz, a.tiles, alpha, beta);
}

#if MBK_SPAN > 1 && !MBK_COLUMNS
// Computes the product for X and Y whose rows need not be aligned to packs. Launch and shared
// memory: as mbk_many_product.
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS_LOOSE)
    mbk_many_loose(MBK_BY_FIELD(mbk_many_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  mbk_release();
  MBK_SCALARS_LOAD;
  mbk_many_tile<false>(a.row_ends, a.tile_row, a.row_id, a.col_ind, a.values, a.x, a.x_step,
                       a.y, a.ldy, a.firsts, a.tails, a.nnz, a.tiles, alpha, beta);
}
#endif

#include "spmv/gpu/many/copies.cuh"

// ---- Rows over several tiles ----------------------------------------------------------------

#define MBK_PARTS MBK_WIDTH
#define MBK_LEADING 1
#define MBK_ROW_NUMBER mbk_u32
#define MBK_TILE_ROW_NUMBER(tile) mbk_load(tile_row + (tile))
#include "spmv/shared/fixup.cuh"

// Completes rows that cross tiles; those of a copy with alpha = 1 and beta = 0. Launch: one
// thread per tile and column, MBK_FIXUP_THREADS per block. Shared: as mbk_fixup. With more than
// four blocks per multiprocessor, registers would spill.
MBK_KERNEL MBK_RESIDENT(MBK_FIXUP_THREADS, 4)
    mbk_many_fixup(MBK_GRID_CONSTANT mbk_many_fixup_arguments a) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_fixup(a.tile_row + a.tiles + 1, a.tile_row, a.row_id, a.row_bits, a.firsts, a.tails, a.y,
            a.tiles, a.filled, a.ldy, (MBK_COMPUTE *)shared, MBK_SCALAR_ARGUMENTS);
}
