// The products of a tile in registers: part of the programs that work on tiles of 32 *
// MBK_STEPS nonzeros straight from CSR, whose macros it uses.
#ifndef MBK_TILE_NONZEROS
#error "include spmv/gpu/scan/tile.cuh before"
#endif
#ifndef MBK_ALIGNED
#error "define MBK_ALIGNED: 1 if col_ind and values start at multiples of 16 bytes"
#endif

// What x is to a tile, and its factor for what stands in the place of a column.
#ifndef MBK_GATHER
#define MBK_SOURCE const MBK_VECTOR *
#if MBK_STREAMING
#define MBK_GATHER(source, column) mbk_load_behind((source) + ((column)-MBK_BASE))
#else
#define MBK_GATHER(source, column) mbk_load_after_wait((source) + ((column)-MBK_BASE))
#endif
#endif

// MBK_PACK neighbours at `address`, the first `count` of which are there.
template <bool full, class T>
MBK_DEVICE void mbk_scan_load(const T *address, mbk_u32 count, T (&some)[MBK_PACK]) {
  if (full && MBK_ALIGNED) {
    const int AT_ONCE = MBK_PACK * (int)sizeof(T) > 16 ? 16 / (int)sizeof(T) : MBK_PACK;
#pragma unroll
    for (int i = 0; i < MBK_PACK; i += AT_ONCE) {
      const mbk_pack<T, AT_ONCE> pack = MBK_PACK_LOAD<T, AT_ONCE>(address + i);
#pragma unroll
      for (int j = 0; j < AT_ONCE; j++) {
        some[i + j] = pack.at[j];
      }
    }
  } else {
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_PACK; j++) {
      some[j] = full || j < count ? MBK_MATRIX_LOAD(address + j) : (T)0;
    }
  }
}

// The rows that end in a tile: ranks from `from` up to `to`.
struct mbk_scan_rows {
  const mbk_u32 *row_id;
  const MBK_VECTOR *y;
  mbk_u32 from, to;
  mbk_u32 ends; // as mbk_scan_commit takes them
};

// Where each value stands for its row, as if there were one for each nonzero: those of the
// first `count`. `by_row` has one for each row.
template <bool full>
MBK_DEVICE void mbk_scan_by_row(const MBK_VALUE *by_row, const mbk_scan_rows &rows,
                                mbk_u32 count, MBK_VALUE (&value)[MBK_GROUPS][MBK_PACK]) {
  const mbk_u32 *const row_id = rows.row_id;
  const mbk_u32 before = mbk_scan_ends_before(rows.ends);
  (void)row_id;
#pragma unroll
  for (int g = 0; g < MBK_GROUPS; g++) {
    const int word_lane = MBK_PACK * g + (int)mbk_lane() * MBK_PACK / 32;
    const mbk_u32 word = mbk_shuffle(MBK_ALL, rows.ends, word_lane, 32);
    const mbk_u32 bit = mbk_lane() * MBK_PACK % 32;
    mbk_u32 rank = rows.from + mbk_shuffle(MBK_ALL, before, word_lane, 32) +
                   (mbk_u32)mbk_popcount(word & ((1u << bit) - 1));
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_PACK; j++) {
      if (j > 0 && (word >> (bit + j - 1) & 1) == 0) {
        value[g][j] = value[g][j - 1];
      } else {
        rank += j > 0;
        value[g][j] = full || MBK_PACK * (32 * g + mbk_lane()) + j < count
                          ? mbk_load(by_row + MBK_ROW_OF(rank))
                          : (MBK_VALUE)0;
      }
    }
  }
}

// The old y of the first 32 of them, a lane each: no commit is to wait for memory. What comes
// behind is brought closer where it is contiguous; where nothing does, the first is named
// again, for a branch would cost registers.
MBK_DEVICE MBK_VECTOR mbk_scan_old(const mbk_scan_rows &rows) {
  const mbk_u32 *const row_id = rows.row_id;
  const mbk_u32 lane = mbk_lane(), count = rows.to - rows.from;
#if !MBK_EMPTY_ROWS
  const mbk_u32 ahead = 32 + lane * (128 / sizeof(MBK_VECTOR));
  mbk_prefetch(rows.y + rows.from + (ahead < count ? ahead : 0));
  (void)row_id;
#endif
  return lane < count ? rows.y[MBK_ROW_OF(rows.from + lane)] : (MBK_VECTOR)0;
}

// The products of a tile; those at and beyond `count` become zero, for they follow every row
// end. All loads of a lane are in flight together, those of the old y among them
// where it is added to.
template <bool adds, bool full>
MBK_DEVICE void mbk_scan_products(const mbk_i32 *col_ind, const MBK_VALUE *values, MBK_SOURCE x,
                                  mbk_u32 count, const mbk_scan_rows &rows,
                                  MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK],
                                  MBK_VECTOR &old) {
  mbk_i32 column[MBK_GROUPS][MBK_PACK];
#if !MBK_PATTERN || MBK_BY_ROW
  MBK_VALUE value[MBK_GROUPS][MBK_PACK];
#endif
#if MBK_STREAMING // few of the blocks wait: in others loads of the matrix and gathers take turns
  mbk_await();
#endif // gathers are behind it, for their columns are no data that nobody writes
#pragma unroll
  for (int g = 0; g < MBK_GROUPS; g++) {
    const mbk_u32 k = MBK_PACK * (32 * g + mbk_lane()), left = k < count ? count - k : 0;
    mbk_scan_load<full>(col_ind + k, left, column[g]);
#if !MBK_PATTERN
    mbk_scan_load<full>(values + k, left, value[g]);
#endif
  }
#if MBK_BY_ROW
  mbk_scan_by_row<full>(values, rows, count, value);
#endif
#if !MBK_STREAMING
  mbk_await();
#endif
  old = adds ? mbk_scan_old(rows) : (MBK_VECTOR)0;
#pragma unroll
  for (int g = 0; g < MBK_GROUPS; g++) {
#pragma unroll
    for (int j = 0; j < MBK_PACK; j++) {
      product[g][j] = MBK_ZERO;
      if (full || MBK_PACK * (32 * g + mbk_lane()) + j < count) {
        const MBK_VECTOR factor = MBK_GATHER(x, column[g][j]);
#if MBK_PATTERN && !MBK_BY_ROW
        product[g][j] = MBK_UNIT(values, factor);
#else
        product[g][j] = MBK_MUL(mbk_value(value[g][j]), factor);
#endif
      }
    }
  }
}

// The same for the tile whose first nonzero is number `start` of `nnz`; with alpha 0 nothing is
// read of the matrix or of x. Returns the old y of one of the tile's rows, if it is wanted.
template <bool adds>
MBK_DEVICE MBK_VECTOR mbk_scan_multiply(const mbk_i32 *col_ind, const MBK_VALUE *values,
                                        MBK_SOURCE x, mbk_u64 start, mbk_u64 nnz,
                                        const mbk_scan_rows &rows, MBK_SCALAR alpha,
                                        MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK]) {
  MBK_VECTOR old;
  if (MBK_VANISHES(alpha)) {
    mbk_await();
    old = adds ? mbk_scan_old(rows) : (MBK_VECTOR)0;
#pragma unroll
    for (int g = 0; g < MBK_GROUPS; g++) {
#pragma unroll
      for (int j = 0; j < MBK_PACK; j++) {
        product[g][j] = MBK_ZERO;
      }
    }
  } else if (start + MBK_TILE_NONZEROS <= nnz) {
    mbk_scan_products<adds, true>(col_ind + start, MBK_PATTERN ? values : values + start, x, 0,
                                  rows, product, old);
  } else {
    mbk_scan_products<adds, false>(col_ind + start, MBK_PATTERN ? values : values + start, x,
                                   (mbk_u32)(nnz - start), rows, product, old);
  }
  return old;
}

// Tile `tile`, taken by a warp; where `adds` with the old y, which is held in shared memory
// from when the nonzeros are loaded: `old` is the warp's MBK_VECTOR[32]. Without, beta must be
// zero.
template <bool adds, class DOT>
MBK_DEVICE MBK_COMPUTE mbk_scan_take(const mbk_u32 *row_ends, const mbk_u32 *tile_row,
                                     const mbk_u32 *row_id, const mbk_i32 *col_ind,
                                     const MBK_VALUE *values, MBK_SOURCE x, MBK_VECTOR *y,
                                     MBK_COMPUTE *firsts, MBK_COMPUTE *tails, mbk_u64 nnz,
                                     mbk_u64 tile, MBK_SCALAR alpha, MBK_SCALAR beta,
                                     MBK_VECTOR *old, DOT &dot) {
  const mbk_u32 lane = mbk_lane();
  const mbk_u32 ends = lane < MBK_STEPS ? mbk_load(row_ends + tile * MBK_STEPS + lane) : 0;
  const mbk_u32 rank = mbk_load(tile_row + tile);
  MBK_COMPUTE product[MBK_GROUPS][MBK_PACK];
  const mbk_scan_rows rows = {row_id, y, rank, adds ? mbk_load(tile_row + tile + 1) : 0, ends};
  const MBK_VECTOR held = mbk_scan_multiply<adds>(col_ind, values, x, tile * MBK_TILE_NONZEROS,
                                                  nnz, rows, alpha, product);
  if (adds) {
    old[lane] = held;
    mbk_warp_sync(MBK_ALL);
  }
  return mbk_scan_commit(product, ends, rank, tile, row_id, y, firsts, tails, alpha, beta, old,
                         adds ? 32 : 0, dot);
}
