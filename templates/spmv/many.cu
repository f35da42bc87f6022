// Several vectors at once: Y = alpha A X + beta Y, the matrix streamed once for all of them.
// Source: ours; the schedule is the register scan's (spmv/scan.cu), a bit per nonzero for "ends
// its row". X is taken by rows, so that one gather brings what a nonzero multiplies.
//
// A warp owns a tile and is cut into teams of MBK_TEAM lanes. A team walks a run of
// neighbouring nonzeros, one after the other; each of its lanes has MBK_SPAN neighbouring
// columns of X, or two times as many, and keeps their sums in registers. What runs hold of rows
// that cross them is put together by shuffles, what tiles do by mbk_many_fixup, always in the
// same order. Where X and Y come column by column, they pass through copies by rows.
#ifndef MBK_VECTORS
#error "define MBK_VECTORS: columns of X and Y"
#endif
#ifndef MBK_WIDTH
#error "define MBK_WIDTH: MBK_VECTORS; in copies by rows what MBK_SPAN divides"
#endif
#ifndef MBK_SPAN
#error "define MBK_SPAN: columns that a lane loads at once, 16 bytes at most; divides MBK_WIDTH"
#endif
#ifndef MBK_TEAM
#error "define MBK_TEAM: lanes to a nonzero, a power of two up to 32"
#endif
#ifndef MBK_WORDS
#error "define MBK_WORDS: nonzeros of a run by 32, at most MBK_TEAM"
#endif
#ifndef MBK_UNROLL
#error "define MBK_UNROLL: gathers of X in flight, a multiple of 4 that divides 32"
#endif
#ifndef MBK_COLUMNS
#error "define MBK_COLUMNS: 1 if X and Y come column by column"
#endif
#ifndef MBK_ALIGNED
#error "define MBK_ALIGNED: 1 if col_ind and values start at multiples of 16 bytes"
#endif
#include "jit/device.cuh"
#include "spmv/algebra.cuh"

#ifndef MBK_STAGES
#define MBK_STAGES 0
#define MBK_SPREAD 0
#define MBK_PROBE 0
#define MBK_OVER 1
#define MBK_ROWS 0
#define MBK_FAST 0
#endif
#define MBK_STEPS (32 / MBK_TEAM * MBK_WORDS)
#define MBK_PACK 1  // what belongs to the scan's own products
#define MBK_DEPTH 5 // likewise

#include "spmv/scan_tile.cuh"

#include "spmv/scan_build.cuh"

#define MBK_RUN (32 * MBK_WORDS)
#define MBK_CHUNKS ((MBK_WIDTH + MBK_SPAN * MBK_TEAM - 1) / (MBK_SPAN * MBK_TEAM))

#include "spmv/many_run.cuh"

// ---- A tile
// -------------------------------------------------------------------------------------

// The runs of a tile to its rows, as in mbk_scan_commit: those that end in it are committed but
// for the first, whose part goes to firsts[tile]; what follows the last to tails[tile].
template <bool packed, bool fresh>
MBK_DEVICE void mbk_many_join(mbk_many_walk &walk, const mbk_u32 *row_id, mbk_u64 tile,
                              MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE *firsts,
                              MBK_COMPUTE *tails, MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  const mbk_u32 lane = mbk_lane(), team = lane / MBK_TEAM;
  const bool ended = walk.rank != walk.first;
  const mbk_u32 closed = mbk_ballot(MBK_ALL, ended);
  // What the teams from the last one on in which a row ended hold of what is open behind each.
  const mbk_u32 until = closed & (0xffffffffu >> (31 - lane));
  const int last = until != 0 ? (31 - mbk_leading_zeros(until)) / MBK_TEAM : 0;
  (void)row_id;
#pragma unroll
  for (int d = 1; d < 32 / MBK_TEAM; d <<= 1) {
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
      walk.head[c][j] = team > 0 ? MBK_ADD(earlier, walk.head[c][j]) : walk.head[c][j];
    }
  }
#endif
  if (ended && (closed & ((1u << team * MBK_TEAM) - 1)) == 0) {
    mbk_many_carry(firsts, tile, walk.head);
  } else if (ended) {
    const mbk_u64 row = MBK_ROW_OF(walk.first);
    mbk_many_commit<packed, fresh>(y + row * ldy, walk.head, alpha, beta);
  }
  if (team == 32 / MBK_TEAM - 1) {
    mbk_many_carry(tails, tile, walk.sum);
  }
}

// Rows of Y whose old elements are wanted, closer to where their commits will meet them.
MBK_DEVICE void mbk_many_ahead(const MBK_VECTOR *y, mbk_u64 ldy, const mbk_u32 *row_id,
                               mbk_u32 from, mbk_u32 to) {
  (void)row_id;
  mbk_await();
  for (mbk_u32 rank = from + mbk_lane(); rank < to; rank += 32) {
    const mbk_u64 row = MBK_ROW_OF(rank);
    for (mbk_u32 c = 0; c < MBK_WIDTH; c += 64 / sizeof(MBK_VECTOR)) {
      mbk_prefetch(y + row * ldy + c);
    }
  }
}

#if MBK_STAGES
#define MBK_COLUMN_GAP (MBK_RUN + 4)
#define MBK_VALUE_GAP (MBK_RUN + 16 / (int)sizeof(MBK_VALUE))
#define MBK_STAGE_BYTES (32 / MBK_TEAM * (4 * MBK_COLUMN_GAP + (int)sizeof(MBK_VALUE) * MBK_VALUE_GAP))
MBK_DEVICE void mbk_many_stage(unsigned char *stage, const mbk_i32 *col_ind, const MBK_VALUE *values) {
  mbk_i32 *const columns = (mbk_i32 *)stage;
  MBK_VALUE *const v = (MBK_VALUE *)(stage + 32 / MBK_TEAM * 4 * MBK_COLUMN_GAP);
#pragma unroll
  for (mbk_u32 i = 0; i < MBK_TILE_NONZEROS / 4; i += 32) {
    const mbk_u32 k = 4 * (i + mbk_lane());
    mbk_copy_ahead(columns + k + k / MBK_RUN * 4, col_ind + k);
  }
  const int n = 16 / sizeof(MBK_VALUE);
#pragma unroll
  for (mbk_u32 i = 0; i < MBK_TILE_NONZEROS / n; i += 32) {
    const mbk_u32 k = n * (i + mbk_lane());
    mbk_copy_ahead(v + k + k / MBK_RUN * n, values + k);
  }
}
#endif

// A warp's tile. x_step: bytes from row to row of X; ldy: elements from row to row of Y.
template <bool packed, bool fresh>
MBK_DEVICE void mbk_many_tile(const mbk_u32 *row_ends, const mbk_u32 *tile_row,
                              const mbk_u32 *row_id, const mbk_i32 *col_ind,
                              const MBK_VALUE *values, const MBK_VECTOR *x, mbk_u32 x_step,
                              MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE *firsts,
                              MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_COMPUTE alpha,
                              MBK_COMPUTE beta, const mbk_u64 tile, unsigned char *stage, mbk_u64 ahead, unsigned char *stage_ahead) {
  const mbk_u32 lane = mbk_lane(), team = lane / MBK_TEAM;
  const mbk_u64 begin = tile * MBK_TILE_NONZEROS + team * MBK_RUN;
  const mbk_u32 ends = lane < MBK_STEPS ? mbk_load(row_ends + tile * MBK_STEPS + lane) : 0;
  const mbk_u32 from = mbk_load(tile_row + tile), to = mbk_load(tile_row + tile + 1);
  const mbk_u32 before = mbk_scan_ends_before(ends);
  mbk_many_walk walk;
#pragma unroll
  for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
    for (int j = 0; j < MBK_SPAN; j++) {
      walk.sum[c][j] = walk.head[c][j] = MBK_ZERO;
    }
  }
  walk.first = walk.rank = from + mbk_shuffle(MBK_ALL, before, (int)(team * MBK_WORDS), 32);
  walk.row = 0; // is that of the first row end but one
  if (!MBK_COLUMNS && !fresh && beta != (MBK_COMPUTE)0) {
    mbk_many_ahead(y, ldy, row_id, from, to);
  }
#if MBK_STAGES
  if (packed && alpha != (MBK_COMPUTE)0 && (tile + 1) * MBK_TILE_NONZEROS <= nnz) {
#if MBK_STAGES == 1
    mbk_warp_sync(MBK_ALL);
    mbk_many_stage(stage, col_ind + tile * MBK_TILE_NONZEROS, values + tile * MBK_TILE_NONZEROS);
#endif
    mbk_copy_wait();
    mbk_warp_sync(MBK_ALL);
#if MBK_STAGES == 2
    if ((ahead + 1) * MBK_TILE_NONZEROS <= nnz) {
      mbk_many_stage(stage_ahead, col_ind + ahead * MBK_TILE_NONZEROS, values + ahead * MBK_TILE_NONZEROS);
    }
#endif
    mbk_await_for(x);
    mbk_many_run_staged<fresh>((const mbk_i32 *)stage + team * MBK_COLUMN_GAP, (const MBK_VALUE *)(stage + 32 / MBK_TEAM * 4 * MBK_COLUMN_GAP) + team * MBK_VALUE_GAP,
                               ends, x, x_step, walk, row_id, to, y, ldy, alpha, beta);
  } else
#endif
  if (alpha != (MBK_COMPUTE)0 && (tile + 1) * MBK_TILE_NONZEROS <= nnz) {
    mbk_many_run<packed, true, fresh>(col_ind + begin, MBK_PATTERN ? values : values + begin, MBK_RUN,
                               ends, x, x_step, walk, row_id, to, y, ldy, alpha, beta);
  } else { // with alpha 0 nothing is read of the matrix or of X
    const mbk_u64 behind = begin < nnz && alpha != (MBK_COMPUTE)0 ? nnz - begin : 0;
    const mbk_u32 count = behind < MBK_RUN ? (mbk_u32)behind : MBK_RUN;
    const mbk_u64 at = count > 0 ? begin : 0;
    mbk_many_run<packed, false, fresh>(col_ind + at, MBK_PATTERN ? values : values + at, count, ends,
                                x, x_step, walk, row_id, to, y, ldy, alpha, beta);
  }
  mbk_many_join<packed, fresh>(walk, row_id, tile, y, ldy, firsts, tails, alpha, beta);
}

template <bool packed, bool fresh>
MBK_DEVICE void mbk_many_tiles(const mbk_u32 *row_ends, const mbk_u32 *tile_row,
                              const mbk_u32 *row_id, const mbk_i32 *col_ind,
                              const MBK_VALUE *values, const MBK_VECTOR *x, mbk_u32 x_step,
                              MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE *firsts,
                              MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_COMPUTE alpha,
                              MBK_COMPUTE beta) {
  const mbk_u32 warps = MBK_THREADS / 32, warp = mbk_thread() / 32;
#if MBK_STAGES
  MBK_SHARED_MEMORY(shared);
  unsigned char *const stage = shared + warp * MBK_STAGES * MBK_STAGE_BYTES;
#else
  unsigned char *const stage = nullptr;
#endif
#if MBK_SPREAD == 2
  const mbk_u32 each = ((mbk_u32)tiles + mbk_grid() - 1) / mbk_grid();
  const mbk_u64 behind = (mbk_u64)(mbk_block() + 1) * each, until = behind < tiles ? behind : tiles;
#if MBK_STAGES == 2
  {
  const mbk_u64 tile = (mbk_u64)mbk_block() * each + warp;
  if (packed && alpha != (MBK_COMPUTE)0 && tile < until && (tile + 1) * MBK_TILE_NONZEROS <= nnz)
    mbk_many_stage(stage, col_ind + tile * MBK_TILE_NONZEROS, values + tile * MBK_TILE_NONZEROS);
  }
  mbk_u32 turn = 0;
#endif
#pragma unroll 1
  for (mbk_u64 tile = (mbk_u64)mbk_block() * each + warp; tile < until; tile += warps) {
#if MBK_STAGES == 2
    mbk_many_tile<packed, fresh>(row_ends, tile_row, row_id, col_ind, values, x, x_step, y, ldy, firsts,
                      tails, nnz, tiles, alpha, beta, tile, stage + turn * MBK_STAGE_BYTES, tile + warps < until ? tile + warps : nnz, stage + (turn ^ 1) * MBK_STAGE_BYTES);
    turn ^= 1;
#else
    mbk_many_tile<packed, fresh>(row_ends, tile_row, row_id, col_ind, values, x, x_step, y, ldy, firsts,
                      tails, nnz, tiles, alpha, beta, tile, stage, 0, stage);
#endif
  }
#else
#if MBK_SPREAD == 1
  const mbk_u32 blocks = ((mbk_u32)tiles + warps - 1) / warps, each = (blocks + MBK_OVER - 1) / MBK_OVER;
  const mbk_u32 block = mbk_block() % MBK_OVER * each + mbk_block() / MBK_OVER;
#elif MBK_SPREAD == 3 // pieces of 16 blocks to a multiprocessor
  const mbk_u32 b = mbk_block(), wave = b / (MBK_OVER * 16), in = b % (MBK_OVER * 16);
  const mbk_u32 block = wave * (MBK_OVER * 16) + in % MBK_OVER * 16 + in / MBK_OVER;
#else
  const mbk_u32 block = mbk_block();
#endif
  const mbk_u64 tile = (mbk_u64)block * warps + warp;
  if (tile < tiles) {
    mbk_many_tile<packed, fresh>(row_ends, tile_row, row_id, col_ind, values, x, x_step, y, ldy, firsts,
                      tails, nnz, tiles, alpha, beta, tile, stage, 0, stage);
  }
#endif
}

// Launch: one warp per tile. mbk_many_fixup follows. Where MBK_COLUMNS, x and y are copies by
// rows, and mbk_many_spread follows too.
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_many_product(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,
                     const mbk_i32 *col_ind, const MBK_VALUE *values, const MBK_VECTOR *x,
                     mbk_u32 x_step, MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE *firsts,
                     MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_SCALAR_PARAMETERS) {
  mbk_release();
  MBK_SCALARS_LOAD;
#if MBK_FAST
  if (!MBK_COLUMNS && beta == (MBK_COMPUTE)0) {
  mbk_many_tiles<true, true>(row_ends, tile_row, row_id, col_ind, values, x, x_step, y, ldy, firsts,
                      tails, nnz, tiles, alpha, beta);
  return;
  }
#endif
  mbk_many_tiles<true, false>(row_ends, tile_row, row_id, col_ind, values, x, x_step, y, ldy, firsts,
                      tails, nnz, tiles, alpha, beta);
}

#if MBK_SPAN > 1 && !MBK_COLUMNS
// The same for X and Y whose rows start anywhere.
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_many_loose(const mbk_u32 *row_ends, const mbk_u32 *tile_row, const mbk_u32 *row_id,
                   const mbk_i32 *col_ind, const MBK_VALUE *values, const MBK_VECTOR *x,
                   mbk_u32 x_step, MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE *firsts,
                   MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_SCALAR_PARAMETERS) {
  mbk_release();
  MBK_SCALARS_LOAD;
  mbk_many_tiles<false, false>(row_ends, tile_row, row_id, col_ind, values, x, x_step, y, ldy, firsts,
                       tails, nnz, tiles, alpha, beta);
}
#endif

#if MBK_ROWS
#define MBK_EACH (MBK_UNROLL / MBK_TEAM)
#define MBK_ROOM 512 // nonzeros that a warp stages
template <bool full> MBK_DEVICE void mbk_rows_add(const mbk_i32 *column, const MBK_VALUE *value, mbk_i32 left, const MBK_VECTOR *x, mbk_u32 x_step, mbk_many_row &sum) {
  mbk_many_pack factor[MBK_UNROLL][MBK_CHUNKS];
#pragma unroll
  for (mbk_u32 c = 0; c < MBK_CHUNKS; c++) {
    const unsigned char *const from = (const unsigned char *)(x + mbk_many_source(c));
#pragma unroll
    for (int u = 0; u < MBK_UNROLL; u++) {
      const MBK_VECTOR *const at = (const MBK_VECTOR *)(from + (mbk_u64)(mbk_u32)(column[u] - MBK_BASE) * x_step);
      factor[u][c] = mbk_many_load<true>(at);
    }
  }
#pragma unroll
  for (int u = 0; u < MBK_UNROLL; u++) {
    if (full || u < left) {
#pragma unroll
      for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
        for (int j = 0; j < MBK_SPAN; j++) {
#if MBK_FAST
          sum[c][j] = sizeof(MBK_COMPUTE) == 4 ? (MBK_COMPUTE)__fmaf_rn(mbk_value(value[u]), factor[u][c].at[j], sum[c][j]) : (MBK_COMPUTE)__fma_rn(mbk_value(value[u]), factor[u][c].at[j], sum[c][j]);
#else
          sum[c][j] = MBK_ADD(sum[c][j], MBK_MUL(mbk_value(value[u]), factor[u][c].at[j]));
#endif
        }
      }
    }
  }
}
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_many_rows(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind, const MBK_VALUE *values,
                  const MBK_VECTOR *x, mbk_u32 x_step, MBK_VECTOR *y, mbk_u64 ldy, mbk_u64 rows,
                  MBK_SCALAR_PARAMETERS) {
  mbk_release();
  MBK_SCALARS_LOAD;
  const mbk_u32 per = MBK_THREADS / MBK_TEAM, lane = mbk_lane(), l = lane % MBK_TEAM;
#if MBK_SPREAD == 1
  const mbk_u32 blocks = ((mbk_u32)rows + per - 1) / per, each = (blocks + MBK_OVER - 1) / MBK_OVER;
  const mbk_u32 block = mbk_block() % MBK_OVER * each + mbk_block() / MBK_OVER;
#elif MBK_SPREAD == 3
  const mbk_u32 b = mbk_block(), wave = b / (MBK_OVER * 16), in = b % (MBK_OVER * 16);
  const mbk_u32 block = wave * (MBK_OVER * 16) + in % MBK_OVER * 16 + in / MBK_OVER;
#else
  const mbk_u32 block = mbk_block();
#endif
  const mbk_u64 row = (mbk_u64)block * per + mbk_thread() / MBK_TEAM;
  const bool there = row < rows;
  const MBK_ROW_PTR start = mbk_load(row_ptr + (there ? row : rows)), end = there && alpha != (MBK_COMPUTE)0 ? mbk_load(row_ptr + row + 1) : start;
  mbk_i32 left = (mbk_i32)(end - start);
  mbk_many_row sum;
#pragma unroll
  for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
    for (int j = 0; j < MBK_SPAN; j++) {
      sum[c][j] = MBK_ZERO;
    }
  }
#if MBK_ROWS == 2
  MBK_SHARED_MEMORY(shared);
  mbk_i32 *const s_columns = (mbk_i32 *)(shared + mbk_thread() / 32 * MBK_ROOM * (4 + sizeof(MBK_VALUE)));
  MBK_VALUE *const s_values = (MBK_VALUE *)(s_columns + MBK_ROOM);
  const mbk_u32 first = ((mbk_u32)mbk_shuffle(MBK_ALL, start, 0, 32) - MBK_BASE) & ~3u;
  const mbk_u32 last = (mbk_u32)mbk_shuffle(MBK_ALL, end, 31, 32) - MBK_BASE;
  if (last - first <= MBK_ROOM) { // reads a little beyond the last
    for (mbk_u32 k = 4 * lane; k < last - first; k += 128) mbk_copy_ahead(s_columns + k, col_ind + first + k);
    const mbk_u32 n = 16 / sizeof(MBK_VALUE);
    for (mbk_u32 k = n * lane; k < last - first; k += 32 * n) mbk_copy_ahead(s_values + k, values + first + k);
    mbk_copy_wait();
    mbk_warp_sync(MBK_ALL);
    mbk_await_for(x);
    const mbk_i32 *column = s_columns + (start - MBK_BASE - first);
    const MBK_VALUE *value = s_values + (start - MBK_BASE - first);
    mbk_i32 c[MBK_UNROLL];
    MBK_VALUE v[MBK_UNROLL];
#pragma unroll
    for (int u = 0; u < MBK_UNROLL; u++) { c[u] = MBK_BASE; v[u] = (MBK_VALUE)0; }
#pragma unroll 1
    for (; left > 0; left -= MBK_UNROLL, column += MBK_UNROLL, value += MBK_UNROLL) {
#pragma unroll
      for (int u = 0; u < MBK_UNROLL; u++) {
        if (u < left) { c[u] = column[u]; v[u] = value[u]; }
      }
      mbk_rows_add<false>(c, v, left, x, x_step, sum);
    }
  } else
#endif
  {
    mbk_i32 own_column[MBK_EACH];
    MBK_VALUE own_value[MBK_EACH];
    const mbk_i32 *column = col_ind + (start - MBK_BASE) + l;
    const MBK_VALUE *value = values + (start - MBK_BASE) + l;
#pragma unroll
    for (int i = 0; i < MBK_EACH; i++) {
      own_column[i] = MBK_BASE;
      own_value[i] = (MBK_VALUE)0;
      if ((mbk_i32)l + i * MBK_TEAM < left) { own_column[i] = MBK_MATRIX_LOAD(column + i * MBK_TEAM); own_value[i] = MBK_MATRIX_LOAD(value + i * MBK_TEAM); }
    }
    mbk_await_for(x);
#pragma unroll 1
    while (mbk_ballot(MBK_ALL, left > 0) != 0) {
      mbk_i32 c[MBK_UNROLL];
      MBK_VALUE v[MBK_UNROLL];
#pragma unroll
      for (int u = 0; u < MBK_UNROLL; u++) {
        c[u] = mbk_shuffle(MBK_ALL, own_column[u / MBK_TEAM], u % MBK_TEAM, MBK_TEAM);
        v[u] = mbk_shuffle(MBK_ALL, own_value[u / MBK_TEAM], u % MBK_TEAM, MBK_TEAM);
      }
      column += MBK_UNROLL;
      value += MBK_UNROLL;
#pragma unroll
      for (int i = 0; i < MBK_EACH; i++) {
        if ((mbk_i32)l + i * MBK_TEAM + MBK_UNROLL < left) { own_column[i] = MBK_MATRIX_LOAD(column + i * MBK_TEAM); own_value[i] = MBK_MATRIX_LOAD(value + i * MBK_TEAM); }
      }
      mbk_rows_add<false>(c, v, left, x, x_step, sum);
      left -= MBK_UNROLL;
    }
  }
  if (there) {
    mbk_await();
    mbk_many_commit<true, false>(y + row * ldy, sum, alpha, beta);
  }
}
#endif

// ---- Copies by rows
// -------------------------------------------------------------------------------

#if MBK_COLUMNS
// X, which comes column by column; what fills up a row is zero. Launch: any grid of 256
// threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_many_collect(const MBK_VECTOR *x, mbk_u64 ldx, mbk_u64 cols,
                                            MBK_VECTOR *copy, MBK_SCALAR_PARAMETERS) {
  mbk_release();
  mbk_await_for(x);
  if (MBK_ALPHA == (MBK_COMPUTE)0) {
    return;
  }
  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < cols;
       i += (mbk_u64)mbk_grid() * 256) {
#pragma unroll 4
    for (mbk_u32 c = 0; c < MBK_WIDTH; c += MBK_SPAN) {
      mbk_many_pack pack;
#pragma unroll
      for (mbk_u32 j = 0; j < MBK_SPAN; j++) {
        pack.at[j] = c + j < MBK_VECTORS ? mbk_load(x + (c + j) * ldx + i) : (MBK_VECTOR)0;
      }
      mbk_store_pack(copy + i * MBK_WIDTH + c, pack);
    }
  }
}

// The sums of all rows to Y, column by column. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_many_spread(const MBK_VECTOR *copy, mbk_u64 rows, MBK_VECTOR *y,
                                           mbk_u64 ldy, MBK_SCALAR_PARAMETERS) {
  mbk_release();
  mbk_await_for(copy);
  MBK_SCALARS_LOAD;
  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < rows;
       i += (mbk_u64)mbk_grid() * 256) {
#pragma unroll 4
    for (mbk_u32 c = 0; c < MBK_WIDTH; c += MBK_SPAN) {
      const mbk_many_pack pack = mbk_load_pack<MBK_VECTOR, MBK_SPAN>(copy + i * MBK_WIDTH + c);
#pragma unroll
      for (mbk_u32 j = 0; j < MBK_SPAN; j++) {
        if (c + j < MBK_VECTORS) {
          MBK_COMMIT((c + j) * ldy + i, (MBK_COMPUTE)pack.at[j]);
        }
      }
    }
  }
}
#endif

// ---- Rows over several tiles
// --------------------------------------------------------------------------

#define MBK_PARTS MBK_WIDTH
#define MBK_LEADING 1
#define MBK_RANK mbk_u32
#define MBK_CROSSING 0
#define MBK_TILE_OF(rank)                                                                      \
  ((mbk_u64)(mbk_load(row_start + (rank)) - MBK_BASE) / MBK_TILE_NONZEROS)
#define MBK_TILE_RANK(tile) mbk_load(tile_row + (tile))
#include "spmv/fixup.cuh"

// Launch: MBK_FIXUP_THREADS columns of tiles per block. Shared: as mbk_fixup. To a copy by rows
// with alpha 1 and beta 0.
// Two blocks to a multiprocessor: with what more would leave it, columns would spill.
MBK_KERNEL MBK_RESIDENT(MBK_FIXUP_THREADS, 2)
    mbk_many_fixup(const MBK_ROW_PTR *row_start, const mbk_u32 *tile_row, const mbk_u32 *row_id,
                   const mbk_u32 *empty_id, const MBK_COMPUTE *firsts, const MBK_COMPUTE *tails,
                   MBK_VECTOR *y, mbk_u64 ldy, mbk_u64 tiles, mbk_u64 empty_rows,
                   MBK_SCALAR_PARAMETERS) {
  MBK_SHARED_MEMORY(shared);
  mbk_fixup(row_start, tile_row, row_id, empty_id, firsts, tails, y, tiles, empty_rows, ldy,
            (MBK_COMPUTE *)shared, MBK_SCALAR_ARGUMENTS);
}
