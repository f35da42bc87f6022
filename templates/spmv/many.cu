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

#define MBK_STEPS (32 / MBK_TEAM * MBK_WORDS)
#define MBK_PACK 1  // what belongs to the scan's own products
#define MBK_DEPTH 5 // likewise

#include "spmv/scan_tile.cuh"

#include "spmv/scan_build.cuh"

#define MBK_RUN (32 * MBK_WORDS)
#define MBK_CHUNKS ((MBK_WIDTH + MBK_SPAN * MBK_TEAM - 1) / (MBK_SPAN * MBK_TEAM))

// What a lane has of a row of X or Y.
typedef MBK_COMPUTE mbk_many_row[MBK_CHUNKS][MBK_SPAN];
typedef mbk_pack<MBK_VECTOR, MBK_SPAN> mbk_many_pack;

// A lane's first column of a chunk. Lanes beyond the last column take the first ones, whose
// sums they do not write.
MBK_DEVICE mbk_u32 mbk_many_column(mbk_u32 chunk) {
  return (chunk * MBK_TEAM + mbk_lane() % MBK_TEAM) * MBK_SPAN;
}
MBK_DEVICE mbk_u32 mbk_many_source(mbk_u32 chunk) {
  const mbk_u32 column = mbk_many_column(chunk);
  return column < MBK_WIDTH ? column : 0;
}

// `packed`: rows of X and Y start at multiples of what a lane loads at once.
template <bool packed> MBK_DEVICE mbk_many_pack mbk_many_load(const MBK_VECTOR *from) {
  mbk_many_pack pack;
  if (packed) {
    return mbk_load_pack<MBK_VECTOR, MBK_SPAN>(from);
  }
#pragma unroll
  for (int j = 0; j < MBK_SPAN; j++) {
    pack.at[j] = mbk_load(from + j);
  }
  return pack;
}

// ---- From sums to rows of Y
// ---------------------------------------------------------------------

// One row of Y, which begins at `y`, but for a copy whose elements are still to be scaled.
template <bool packed>
MBK_DEVICE void mbk_many_commit(MBK_VECTOR *y, const mbk_many_row &sum, MBK_COMPUTE alpha,
                                MBK_COMPUTE beta) {
#pragma unroll
  for (mbk_u32 c = 0; c < MBK_CHUNKS; c++) {
    const mbk_u32 column = mbk_many_column(c);
    if (MBK_CHUNKS * MBK_TEAM * MBK_SPAN == MBK_WIDTH || column < MBK_WIDTH) {
      MBK_VECTOR *const to = y + column;
      mbk_many_pack result = {};
      if (!MBK_COLUMNS && packed && beta != (MBK_COMPUTE)0) {
        result = *(const mbk_many_pack *)to;
      }
#pragma unroll
      for (int j = 0; j < MBK_SPAN; j++) {
        const MBK_COMPUTE final = MBK_ADD(MBK_ZERO, sum[c][j]);
        result.at[j] = MBK_COLUMNS ? (MBK_VECTOR) final
                       : packed    ? MBK_RESULT(final, result.at[j])
                                   : MBK_RESULT(final, to[j]);
      }
      if (packed) {
        mbk_store_pack(to, result);
      } else {
#pragma unroll
        for (int j = 0; j < MBK_SPAN; j++) {
          to[j] = result.at[j];
        }
      }
    }
  }
}

// What a tile leaves for mbk_many_fixup.
MBK_DEVICE void mbk_many_carry(MBK_COMPUTE *carries, mbk_u64 tile, const mbk_many_row &sum) {
#pragma unroll
  for (mbk_u32 c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_SPAN; j++) {
      if (mbk_many_column(c) < MBK_WIDTH) {
        carries[tile * MBK_WIDTH + mbk_many_column(c) + j] = sum[c][j];
      }
    }
  }
}

// ---- A run
// --------------------------------------------------------------------------------------

// Columns and values of MBK_UNROLL neighbours, of which the first `left` are there.
struct mbk_many_batch {
  mbk_i32 column[MBK_UNROLL];
#if !MBK_PATTERN
  MBK_VALUE value[MBK_UNROLL];
#endif
};

template <bool full, class T>
MBK_DEVICE void mbk_many_read(const T *from, mbk_u32 left, T (&some)[MBK_UNROLL]) {
  const int at_once = 16 / sizeof(T);
  if (full && MBK_ALIGNED) {
#pragma unroll
    for (int u = 0; u < MBK_UNROLL; u += at_once) {
      const mbk_pack<T, at_once> pack = MBK_PACK_LOAD<T, at_once>(from + u);
#pragma unroll
      for (int j = 0; j < at_once; j++) {
        some[u + j] = pack.at[j];
      }
    }
  } else {
#pragma unroll
    for (mbk_u32 u = 0; u < MBK_UNROLL; u++) {
      some[u] = full || u < left ? MBK_MATRIX_LOAD(from + u) : (T)0;
    }
  }
}

template <bool full>
MBK_DEVICE void mbk_many_take(const mbk_i32 *col_ind, const MBK_VALUE *values, mbk_u32 at,
                              mbk_u32 count, mbk_many_batch &batch) {
  const mbk_u32 left = at < count ? count - at : 0;
  mbk_many_read<full>(col_ind + at, left, batch.column);
#if !MBK_PATTERN
  mbk_many_read<full>(values + at, left, batch.value);
#else
  (void)values;
#endif
}

// Where a team is: what is open of the row `rank`, and what it had of the first row that ended.
struct mbk_many_walk {
  mbk_many_row sum, head;
  mbk_u32 rank, first; // of the run
  mbk_u32 row;         // that `rank` stands for
};

// A row ends. Row numbers are loaded one row ahead, for no commit is to wait for memory; `to`
// is the rank behind the tile's last row end.
template <bool packed>
MBK_DEVICE void mbk_many_end(mbk_many_walk &walk, const mbk_u32 *row_id, mbk_u32 to,
                             MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  const bool first = walk.rank == walk.first;
  if (!first) {
    mbk_many_commit<packed>(y + walk.row * ldy, walk.sum, alpha, beta);
  }
  walk.rank++;
#if MBK_EMPTY_ROWS
  walk.row = walk.rank < to ? MBK_ROW_OF(walk.rank) : 0;
#else
  walk.row = walk.rank;
  (void)row_id;
  (void)to;
#endif
#pragma unroll
  for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
    for (int j = 0; j < MBK_SPAN; j++) {
      walk.head[c][j] = first ? walk.sum[c][j] : walk.head[c][j];
      walk.sum[c][j] = MBK_ZERO;
    }
  }
}

// The sums over a batch; bit u of `ends` says that a row ends with nonzero u.
template <bool packed, bool full>
MBK_DEVICE void mbk_many_add(const mbk_many_batch &batch, mbk_u32 left, mbk_u32 ends,
                             const MBK_VECTOR *x, mbk_u32 x_step, mbk_many_walk &walk,
                             const mbk_u32 *row_id, mbk_u32 to, MBK_VECTOR *y, mbk_u64 ldy,
                             MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  mbk_many_pack factor[MBK_UNROLL][MBK_CHUNKS];
#pragma unroll
  for (mbk_u32 u = 0; u < MBK_UNROLL; u++) {
    if (full || u < left) {
      const MBK_VECTOR *const row =
          (const MBK_VECTOR *)((const unsigned char *)x +
                               (mbk_u64)(mbk_u32)(batch.column[u] - MBK_BASE) * x_step);
#pragma unroll
      for (mbk_u32 c = 0; c < MBK_CHUNKS; c++) {
        factor[u][c] = mbk_many_load<packed>(row + mbk_many_source(c));
      }
    }
  }
#pragma unroll
  for (mbk_u32 u = 0; u < MBK_UNROLL; u++) {
    if (full || u < left) {
#pragma unroll
      for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
        for (int j = 0; j < MBK_SPAN; j++) {
#if MBK_PATTERN
          const MBK_COMPUTE product = (MBK_COMPUTE)factor[u][c].at[j];
#else
          const MBK_COMPUTE product = MBK_MUL(mbk_value(batch.value[u]), factor[u][c].at[j]);
#endif
          walk.sum[c][j] = MBK_ADD(walk.sum[c][j], product);
        }
      }
    }
    if (ends >> u & 1) {
      mbk_many_end<packed>(walk, row_id, to, y, ldy, alpha, beta);
    }
  }
}

// A team's run, of which `count` nonzeros are there to multiply: col_ind and values begin with
// it. `ends` are the tile's words, a lane each. Columns and values are loaded a batch ahead.
template <bool packed, bool full>
MBK_DEVICE void mbk_many_run(const mbk_i32 *col_ind, const MBK_VALUE *values, mbk_u32 count,
                             mbk_u32 ends, const MBK_VECTOR *x, mbk_u32 x_step,
                             mbk_many_walk &walk, const mbk_u32 *row_id, mbk_u32 to,
                             MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  mbk_many_batch batch, next;
  mbk_many_take<full>(col_ind, values, 0, count, next);
  mbk_await_for(x);
#pragma unroll 1
  for (mbk_u32 w = 0; w < MBK_WORDS; w++) {
    const mbk_u32 word =
        mbk_shuffle(MBK_ALL, ends, (int)(mbk_lane() / MBK_TEAM * MBK_WORDS + w), 32);
#pragma unroll 1
    for (mbk_u32 bit = 0; bit < 32; bit += MBK_UNROLL) {
      const mbk_u32 at = 32 * w + bit;
      batch = next;
      if (at + MBK_UNROLL < MBK_RUN) {
        mbk_many_take<full>(col_ind, values, at + MBK_UNROLL, count, next);
      }
      mbk_many_add<packed, full>(batch, at < count ? count - at : 0, word >> bit, x, x_step,
                                 walk, row_id, to, y, ldy, alpha, beta);
    }
  }
}

// ---- A tile
// -------------------------------------------------------------------------------------

// The runs of a tile to its rows, as in mbk_scan_commit: those that end in it are committed but
// for the first, whose part goes to firsts[tile]; what follows the last to tails[tile].
template <bool packed>
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
    mbk_many_commit<packed>(y + row * ldy, walk.head, alpha, beta);
  }
  if (team == 32 / MBK_TEAM - 1) {
    mbk_many_carry(tails, tile, walk.sum);
  }
}

// A warp's tile. x_step: bytes from row to row of X; ldy: elements from row to row of Y.
template <bool packed>
MBK_DEVICE void mbk_many_tile(const mbk_u32 *row_ends, const mbk_u32 *tile_row,
                              const mbk_u32 *row_id, const mbk_i32 *col_ind,
                              const MBK_VALUE *values, const MBK_VECTOR *x, mbk_u32 x_step,
                              MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE *firsts,
                              MBK_COMPUTE *tails, mbk_u64 nnz, mbk_u64 tiles, MBK_COMPUTE alpha,
                              MBK_COMPUTE beta) {
  const mbk_u64 tile = (mbk_u64)mbk_block() * (MBK_THREADS / 32) + mbk_thread() / 32;
  const mbk_u32 lane = mbk_lane(), team = lane / MBK_TEAM;
  if (tile >= tiles) {
    return;
  }
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
  if (alpha != (MBK_COMPUTE)0 && (tile + 1) * MBK_TILE_NONZEROS <= nnz) {
    mbk_many_run<packed, true>(col_ind + begin, MBK_PATTERN ? values : values + begin, MBK_RUN,
                               ends, x, x_step, walk, row_id, to, y, ldy, alpha, beta);
  } else { // with alpha 0 nothing is read of the matrix or of X
    const mbk_u64 behind = begin < nnz && alpha != (MBK_COMPUTE)0 ? nnz - begin : 0;
    const mbk_u32 count = behind < MBK_RUN ? (mbk_u32)behind : MBK_RUN;
    const mbk_u64 at = count > 0 ? begin : 0;
    mbk_many_run<packed, false>(col_ind + at, MBK_PATTERN ? values : values + at, count, ends,
                                x, x_step, walk, row_id, to, y, ldy, alpha, beta);
  }
  mbk_many_join<packed>(walk, row_id, tile, y, ldy, firsts, tails, alpha, beta);
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
  mbk_many_tile<true>(row_ends, tile_row, row_id, col_ind, values, x, x_step, y, ldy, firsts,
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
  mbk_many_tile<false>(row_ends, tile_row, row_id, col_ind, values, x, x_step, y, ldy, firsts,
                       tails, nnz, tiles, alpha, beta);
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
MBK_KERNEL MBK_BOUNDS(MBK_FIXUP_THREADS)
    mbk_many_fixup(const MBK_ROW_PTR *row_start, const mbk_u32 *tile_row, const mbk_u32 *row_id,
                   const mbk_u32 *empty_id, const MBK_COMPUTE *firsts, const MBK_COMPUTE *tails,
                   MBK_VECTOR *y, mbk_u64 ldy, mbk_u64 tiles, mbk_u64 empty_rows,
                   MBK_SCALAR_PARAMETERS) {
  MBK_SHARED_MEMORY(shared);
  mbk_fixup(row_start, tile_row, row_id, empty_id, firsts, tails, y, tiles, empty_rows, ldy,
            (MBK_COMPUTE *)shared, MBK_SCALAR_ARGUMENTS);
}
