// A team's run of nonzeros. spmv/gpu/many/many.cu includes this file and defines its macros.
#ifndef MBK_RUN
#error "include spmv/gpu/many/many.cu, which opens with the list of macros"
#endif

// Writes a tile's part of a row for mbk_many_fixup.
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

// ---- Columns and values through shared memory -----------------------------------------------

// The distance between the pieces of two runs in shared memory. It keeps teams on different
// banks.
#define MBK_GAP(T) (MBK_PIECE + 16 / (int)sizeof(T))
#define MBK_STAGE_BYTES                                                                        \
  (MBK_TEAMS *                                                                                 \
   (4 * MBK_GAP(mbk_i32) + (MBK_PATTERN ? 0 : (int)sizeof(MBK_VALUE) * MBK_GAP(MBK_VALUE))))

// Starts copying a piece of each run of a tile to shared memory: the nonzeros from number
// `piece` of the run on. The tile begins at `from` and has `left` nonzeros. Neighbouring lanes
// copy neighbouring elements. mbk_copy_wait completes the copy.
template <bool full, class T>
MBK_DEVICE void mbk_many_stage(T *stage, const T *from, mbk_u32 piece, mbk_u64 left) {
  const mbk_u32 all = MBK_TEAMS * MBK_PIECE, n = full && MBK_ALIGNED ? 16 / sizeof(T) : 1;
  constexpr int in_flight = full ? 32 : 2;
#pragma unroll in_flight
  for (mbk_u32 i = 0; i < all; i += 32 * n) {
    const mbk_u32 k = i + n * mbk_lane(), run = k / MBK_PIECE, in = k % MBK_PIECE;
    const mbk_u32 at = run * MBK_RUN + piece + in;
    T *const to = stage + run * MBK_GAP(T) + in;
    if (all % (32 * n) != 0 && k >= all) {
      continue;
    }
    if (full && MBK_ALIGNED) {
      mbk_copy_ahead<16>(to, from + at);
    } else {
      *to = full || at < left ? MBK_MATRIX_LOAD(from + at) : (T)0;
    }
  }
}

// Loads N consecutive staged elements.
template <class T, int N> MBK_DEVICE void mbk_many_take(const T *from, T (&some)[N]) {
  const int at_once = 16 / sizeof(T) < N ? 16 / sizeof(T) : N;
#pragma unroll
  for (int u = 0; u < N; u += at_once) {
    const mbk_pack<T, at_once> pack = *(const mbk_pack<T, at_once> *)(from + u);
#pragma unroll
    for (int j = 0; j < at_once; j++) {
      some[u + j] = pack.at[j];
    }
  }
}

// ---- Rows that end --------------------------------------------------------------------------

// The state of a team that walks its run. A row end in one team must not make the others wait.
// A finished row is therefore stored, without a branch, in the lane's own space in shared
// memory, and written to Y when that is full. The first finished row stays until the end,
// because earlier runs may hold a part of it.
struct mbk_many_walk {
  mbk_many_row sum;    // of the open row
  mbk_many_sums *held; // the lane's finished rows: MBK_CHUNKS packs each, 32 packs apart
  mbk_u32 count;       // number of finished rows held
  mbk_u32 row_number;  // number of the second held row among the non-empty rows
};
#define MBK_HELD 5 // the same number as in mbi_many_size_shared
#define MBK_HELD_BYTES (MBK_HELD * MBK_CHUNKS * 32 * (int)sizeof(mbk_many_sums))

// Loads held row number `which` into `sum`.
MBK_DEVICE void mbk_many_held(const mbk_many_walk &walk, mbk_u32 which, mbk_many_row &sum) {
#pragma unroll
  for (int c = 0; c < MBK_CHUNKS; c++) {
    const mbk_many_sums pack = walk.held[(which * MBK_CHUNKS + c) * 32];
#pragma unroll
    for (int j = 0; j < MBK_SPAN; j++) {
      sum[c][j] = pack.at[j];
    }
  }
}

// Writes all held rows but the first.
template <bool packed>
MBK_DEVICE void mbk_many_flush(mbk_many_walk &walk, const mbk_u32 *row_id, MBK_VECTOR *y,
                               mbk_u64 ldy, MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  (void)row_id;
#pragma unroll 1
  for (mbk_u32 i = 1; i < walk.count; i++) {
    const mbk_u64 row = MBK_ROW_OF(walk.row_number);
    mbk_many_row sum;
    mbk_many_held(walk, i, sum);
    mbk_many_commit<packed>(y + row * ldy, sum, alpha, beta);
    walk.row_number++;
  }
  walk.count = walk.count > 0 ? 1 : 0;
}

// Adds the open row to the held ones if it ends.
MBK_DEVICE void mbk_many_end(mbk_many_walk &walk, bool ends) {
  if (ends) {
#pragma unroll
    for (int c = 0; c < MBK_CHUNKS; c++) {
      mbk_many_sums pack;
#pragma unroll
      for (int j = 0; j < MBK_SPAN; j++) {
        pack.at[j] = walk.sum[c][j];
      }
      walk.held[(walk.count * MBK_CHUNKS + c) * 32] = pack;
    }
  }
  walk.count += ends ? 1 : 0;
#pragma unroll
  for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
    for (int j = 0; j < MBK_SPAN; j++) {
      walk.sum[c][j] = ends ? MBK_ZERO : walk.sum[c][j];
    }
  }
}

// ---- A run ----------------------------------------------------------------------------------

#define MBK_ROUND (MBK_HELD - 1) // nonzeros between flushes; divides MBK_UNROLL

// Multiplies each team's run of a tile, which begins at col_ind and values and has `left`
// nonzeros. `ends`: the tile's words of row ends, one per lane.
template <bool packed, bool full>
MBK_DEVICE void mbk_many_run(const mbk_i32 *col_ind, const MBK_VALUE *values, mbk_u64 left,
                             unsigned char *stage, mbk_u32 ends, const MBK_VECTOR *x,
                             mbk_u32 x_step, mbk_many_walk &walk, const mbk_u32 *row_id,
                             MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  const mbk_u32 team = mbk_lane() / MBK_TEAM;
  const mbk_u32 count = left > team * MBK_RUN ? (mbk_u32)(left - team * MBK_RUN) : 0;
  mbk_i32 *const columns = (mbk_i32 *)stage;
  MBK_VALUE *const factors = (MBK_VALUE *)(columns + MBK_TEAMS * MBK_GAP(mbk_i32));
#pragma unroll 1
  for (mbk_u32 piece = 0; piece < MBK_RUN; piece += MBK_PIECE) {
    mbk_warp_sync(MBK_ALL);
    mbk_many_stage<full>(columns, col_ind, piece, left);
    if (!MBK_PATTERN) {
      mbk_many_stage<full>(factors, values, piece, left);
    }
    mbk_copy_wait();
    mbk_warp_sync(MBK_ALL);
    mbk_await();
#pragma unroll 1
    for (mbk_u32 in = 0; in < MBK_PIECE; in += MBK_UNROLL) {
      const mbk_u32 at = piece + in, there = at < count ? count - at : 0;
      const mbk_u32 word =
          mbk_shuffle(MBK_ALL, ends, (int)(team * MBK_WORDS + at / 32), 32) >> at % 32;
      mbk_i32 column[MBK_UNROLL];
      mbk_many_factors factor;
      mbk_many_take(columns + team * MBK_GAP(mbk_i32) + in, column);
      mbk_many_gather<packed, full>(column, there, x, x_step, factor);
#pragma unroll
      for (int r = 0; r < MBK_UNROLL; r += MBK_ROUND) {
        MBK_VALUE value[MBK_ROUND] = {};
        const mbk_u32 more = (mbk_u32)mbk_popcount(word >> r & ((1u << MBK_ROUND) - 1));
        if (mbk_ballot(MBK_ALL, walk.count + more > MBK_HELD) != 0) {
          mbk_many_flush<packed>(walk, row_id, y, ldy, alpha, beta);
        }
        if (!MBK_PATTERN) {
          mbk_many_take(factors + team * MBK_GAP(MBK_VALUE) + in + r, value);
        }
#pragma unroll
        for (int u = 0; u < MBK_ROUND; u++) {
          if (full || (mbk_u32)(r + u) < there) {
            mbk_many_add(value[u], factor[r + u], walk.sum);
          }
          mbk_many_end(walk, (word >> (r + u) & 1) != 0);
        }
      }
    }
  }
}
