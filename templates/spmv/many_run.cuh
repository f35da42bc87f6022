// A team's run of nonzeros, and what a lane holds of rows of X and Y: part of spmv/many.cu,
// whose macros it uses.
#ifndef MBK_CHUNKS
#error "include spmv/many.cu, which opens with the list of macros"
#endif

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
template <bool packed, bool fresh>
MBK_DEVICE void mbk_many_commit(MBK_VECTOR *y, const mbk_many_row &sum, MBK_COMPUTE alpha,
                                MBK_COMPUTE beta) {
#pragma unroll
  for (mbk_u32 c = 0; c < MBK_CHUNKS; c++) {
    const mbk_u32 column = mbk_many_column(c);
    if (MBK_CHUNKS * MBK_TEAM * MBK_SPAN == MBK_WIDTH || column < MBK_WIDTH) {
      MBK_VECTOR *const to = y + column;
      mbk_many_pack result = {};
      if (!MBK_COLUMNS && packed && !fresh && beta != (MBK_COMPUTE)0) {
        result = *(const mbk_many_pack *)to;
      }
#pragma unroll
      for (int j = 0; j < MBK_SPAN; j++) {
        const MBK_COMPUTE final = MBK_ADD(MBK_ZERO, sum[c][j]);
        result.at[j] = MBK_COLUMNS ? (MBK_VECTOR) final
                       : fresh ? (MBK_VECTOR)(alpha * final) : packed    ? MBK_RESULT(final, result.at[j])
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

#if MBK_STAGES
// The same from what a warp has staged.
template <class T>
MBK_DEVICE void mbk_many_read_staged(const T *from, T (&some)[MBK_UNROLL]) {
  const int at_once = 16 / sizeof(T);
#pragma unroll
  for (int u = 0; u < MBK_UNROLL; u += at_once) {
    const mbk_pack<T, at_once> pack = *(const mbk_pack<T, at_once> *)(from + u);
#pragma unroll
    for (int j = 0; j < at_once; j++) {
      some[u + j] = pack.at[j];
    }
  }
}
#endif

// Where a team is: what is open of the row `rank`, and what it had of the first row that ended.
struct mbk_many_walk {
  mbk_many_row sum, head;
  mbk_u32 rank, first; // of the run
  mbk_u32 row;         // that `rank` stands for
};

// A row ends. Row numbers are loaded one row ahead, for no commit is to wait for memory; `to`
// is the rank behind the tile's last row end.
template <bool packed, bool fresh>
MBK_DEVICE void mbk_many_end(mbk_many_walk &walk, const mbk_u32 *row_id, mbk_u32 to,
                             MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  const bool first = walk.rank == walk.first;
  if (!first) {
    mbk_many_commit<packed, fresh>(y + walk.row * ldy, walk.sum, alpha, beta);
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
template <bool packed, bool full, bool fresh>
MBK_DEVICE void mbk_many_add(const mbk_many_batch &batch, mbk_u32 left, mbk_u32 ends,
                             const MBK_VECTOR *x, mbk_u32 x_step, mbk_many_walk &walk,
                             const mbk_u32 *row_id, mbk_u32 to, MBK_VECTOR *y, mbk_u64 ldy,
                             MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  mbk_many_pack factor[MBK_UNROLL][MBK_CHUNKS];
#pragma unroll
  for (mbk_u32 c = 0; c < MBK_CHUNKS; c++) {
    const unsigned char *const from = (const unsigned char *)(x + mbk_many_source(c));
#pragma unroll
    for (mbk_u32 u = 0; u < MBK_UNROLL; u++) {
      const mbk_u32 k = (mbk_u32)(MBK_PROBE & 2 ? batch.column[u] & 1023 : MBK_PROBE & 16 ? batch.column[u] & 7 : batch.column[u] - MBK_BASE);
      const MBK_VECTOR *const at = (const MBK_VECTOR *)(from + (mbk_u64)k * x_step);
      if (full || u < left) {
        if (MBK_PROBE & 4) {
          for (int j = 0; j < MBK_SPAN; j++) factor[u][c].at[j] = (MBK_VECTOR)batch.column[u];
        } else
        factor[u][c] = mbk_many_load<packed>(at);
      }
    }
  }
#if MBK_FAST
  const mbk_u32 own = ends & ((1u << MBK_UNROLL) - 1), until = own ^ (own - 1);
  if (mbk_ballot(MBK_ALL, (own & ~until) != 0) == 0) {
    mbk_many_row behind;
#pragma unroll
    for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
      for (int j = 0; j < MBK_SPAN; j++) {
        behind[c][j] = MBK_ZERO;
      }
    }
#pragma unroll
    for (mbk_u32 u = 0; u < MBK_UNROLL; u++) {
#pragma unroll
      for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
        for (int j = 0; j < MBK_SPAN; j++) {
#if MBK_PATTERN
          const MBK_COMPUTE product = (MBK_COMPUTE)factor[u][c].at[j];
#else
          const MBK_COMPUTE product = MBK_MUL(mbk_value(batch.value[u]), factor[u][c].at[j]);
#endif
          if (until >> u & 1) {
            if (full || u < left)
              walk.sum[c][j] = MBK_ADD(walk.sum[c][j], product);
          } else {
            if (full || u < left)
              behind[c][j] = MBK_ADD(behind[c][j], product);
          }
        }
      }
    }
    if (own != 0) {
      mbk_many_end<packed, fresh>(walk, row_id, to, y, ldy, alpha, beta);
#pragma unroll
      for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
        for (int j = 0; j < MBK_SPAN; j++) {
          walk.sum[c][j] = behind[c][j];
        }
      }
    }
    return;
  }
#endif
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
    if (!(MBK_PROBE & 1) && (ends >> u & 1)) {
      mbk_many_end<packed, fresh>(walk, row_id, to, y, ldy, alpha, beta);
    }
  }
}

// A team's run, of which `count` nonzeros are there to multiply: col_ind and values begin with
// it. `ends` are the tile's words, a lane each. Columns and values are loaded a batch ahead.
template <bool packed, bool full, bool fresh>
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
      mbk_many_add<packed, full, fresh>(batch, at < count ? count - at : 0, word >> bit, x, x_step,
                                 walk, row_id, to, y, ldy, alpha, beta);
    }
  }
}

#if MBK_STAGES
template <bool fresh>
MBK_DEVICE void mbk_many_run_staged(const mbk_i32 *col_ind, const MBK_VALUE *values,
                             mbk_u32 ends, const MBK_VECTOR *x, mbk_u32 x_step,
                             mbk_many_walk &walk, const mbk_u32 *row_id, mbk_u32 to,
                             MBK_VECTOR *y, mbk_u64 ldy, MBK_COMPUTE alpha, MBK_COMPUTE beta) {
  mbk_many_batch batch;
#pragma unroll 1
  for (mbk_u32 w = 0; w < MBK_WORDS; w++) {
    const mbk_u32 word =
        mbk_shuffle(MBK_ALL, ends, (int)(mbk_lane() / MBK_TEAM * MBK_WORDS + w), 32);
#pragma unroll 1
    for (mbk_u32 bit = 0; bit < 32; bit += MBK_UNROLL) {
      const mbk_u32 at = 32 * w + bit;
      mbk_many_read_staged(col_ind + at, batch.column);
#if !MBK_PATTERN
      mbk_many_read_staged(values + at, batch.value);
#endif
      mbk_many_add<true, true, fresh>(batch, MBK_UNROLL, word >> bit, x, x_step,
                                 walk, row_id, to, y, ldy, alpha, beta);
    }
  }
}
#endif
