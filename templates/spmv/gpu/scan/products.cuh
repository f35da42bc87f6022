// Loads a tile of 32 * MBK_STEPS nonzeros straight from CSR and multiplies it by x in
// registers. Programs that use spmv/gpu/scan/tile.cuh include this file.
#ifndef MBK_TILE_NONZEROS
#error "include spmv/gpu/scan/tile.cuh before"
#endif
#ifndef MBK_ALIGNED
#error "define MBK_ALIGNED: 1 if col_ind and values start at multiples of 16 bytes"
#endif

// MBK_SOURCE is the type through which a tile reaches x, and MBK_GATHER loads the element of x
// for a column index. A program may define its own.
#ifndef MBK_GATHER
#define MBK_SOURCE const MBK_VECTOR *
#if MBK_STREAMING
#define MBK_GATHER(source, column) mbk_load_behind((source) + (column) - MBK_BASE)
#else
#define MBK_GATHER(source, column) mbk_load_after_wait((source) + (column) - MBK_BASE)
#endif
#endif

// Loads MBK_PACK elements from `address` on. Unless `full`, only the first `count` exist.
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

// The rows that end in a tile: numbers `from` to `to` - 1 among the non-empty rows.
struct mbk_scan_rows {
  const mbk_u32 *row_id;
  const MBK_VECTOR *y;
  mbk_u32 from, to;
  mbk_u32 ends; // the lane's word of row ends, as for mbk_scan_commit
};

// Loads the value of each nonzero where values are stored once per row (`by_row`). Unless
// `full`, only the first `count` nonzeros exist.
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
    mbk_u32 row_number = rows.from + mbk_shuffle(MBK_ALL, before, word_lane, 32) +
                         (mbk_u32)mbk_popcount(word & ((1u << bit) - 1));
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_PACK; j++) {
      if (j > 0 && (word >> (bit + j - 1) & 1) == 0) {
        value[g][j] = value[g][j - 1];
      } else {
        row_number += j > 0;
        value[g][j] = full || MBK_PACK * (32 * g + mbk_lane()) + j < count
                          ? mbk_load(by_row + MBK_ROW_OF(row_number))
                          : (MBK_VALUE)0;
      }
    }
  }
}

// Prefetches the old y of the tile's rows after the first MBK_OLD_ROWS, which mbk_scan_hold
// copies. If some rows are empty, the others are not contiguous, and nothing is prefetched.
MBK_DEVICE void mbk_scan_prefetch_old(const mbk_scan_rows &rows) {
#if !MBK_EMPTY_ROWS
  const mbk_u32 ahead = MBK_OLD_ROWS + mbk_lane() * (128 / sizeof(MBK_VECTOR));
  mbk_prefetch_if(ahead < rows.to - rows.from, rows.y + rows.from + ahead);
#else
  (void)rows;
#endif
}

// Starts copying the old y of the first MBK_OLD_ROWS rows that end in the tile to `old`, in
// shared memory. The copy is asynchronous and occupies no register; mbk_copy_wait completes it.
MBK_DEVICE void mbk_scan_hold(const mbk_scan_rows &rows, MBK_VECTOR *old) {
  const mbk_u32 *const row_id = rows.row_id;
  (void)row_id;
#pragma unroll
  for (mbk_u32 i = 0; i < MBK_OLD_ROWS; i += 32) {
    const mbk_u32 at = i + mbk_lane();
    if (at < rows.to - rows.from) {
      mbk_copy_ahead<sizeof(MBK_VECTOR)>(old + at, rows.y + MBK_ROW_OF(rows.from + at));
    }
  }
}

#ifndef MBK_HOLD // a program that starts these copies earlier defines its own
#define MBK_HOLD(rows, old) mbk_scan_hold(rows, old)
#endif

// Multiplies a tile. Unless `full`, only the first `count` nonzeros exist; the other products
// are zero and follow every row end. All loads of a lane are in flight together, including
// those of the old y if it is read.
template <bool adds, bool full>
MBK_DEVICE void mbk_scan_products(const mbk_i32 *col_ind, const MBK_VALUE *values, MBK_SOURCE x,
                                  mbk_u32 count, const mbk_scan_rows &rows,
                                  MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK],
                                  MBK_VECTOR *old) {
  mbk_i32 column[MBK_GROUPS][MBK_PACK];
#if !MBK_PATTERN || MBK_BY_ROW
  MBK_VALUE value[MBK_GROUPS][MBK_PACK];
#endif
  if (adds) {
    mbk_scan_prefetch_old(rows);
  }
  // A large matrix waits first, as mbk_load_behind requires. Only the first blocks lose time by
  // that; later, matrix loads of some blocks overlap with gathers of others.
#if MBK_STREAMING
  mbk_await();
#endif
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
  // The copies of the old y start after the matrix loads, which would otherwise wait for the
  // load of tile_row. If some rows are empty, they start after the gathers, which would
  // otherwise wait for the loads of row_id.
  if (adds && !MBK_EMPTY_ROWS) {
    MBK_HOLD(rows, old);
  }
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
  if (adds && MBK_EMPTY_ROWS) {
    MBK_HOLD(rows, old);
  }
}

// Multiplies the tile that begins at nonzero `start` of `nnz`. If alpha is 0, reads neither the
// matrix nor x. With `adds`, also copies the old y of the first MBK_OLD_ROWS rows to `old`.
template <bool adds>
MBK_DEVICE void
mbk_scan_multiply(const mbk_i32 *col_ind, const MBK_VALUE *values, MBK_SOURCE x, mbk_u64 start,
                  mbk_u64 nnz, const mbk_scan_rows &rows, MBK_SCALAR alpha,
                  MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK], MBK_VECTOR *old) {
  if (MBK_VANISHES(alpha)) {
    mbk_await();
    if (adds) {
      MBK_HOLD(rows, old);
    }
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
  if (adds) {
    mbk_copy_wait();
    mbk_warp_sync(MBK_ALL);
  }
}

// Multiplies tile `tile` with one warp and writes its rows. With `adds`, the old y is copied to
// `old`, the warp's MBK_VECTOR[MBK_OLD_ROWS] in shared memory, while the nonzeros are loaded.
// Without `adds`, beta must be zero. Lane 31 returns the carry-out.
template <bool adds, class DOT>
MBK_DEVICE MBK_COMPUTE mbk_scan_take(const mbk_u32 *row_ends, const mbk_u32 *tile_row,
                                     const mbk_u32 *row_id, const mbk_i32 *col_ind,
                                     const MBK_VALUE *values, MBK_SOURCE x, MBK_VECTOR *y,
                                     MBK_COMPUTE *firsts, MBK_COMPUTE *tails, mbk_u64 nnz,
                                     mbk_u64 tile, MBK_SCALAR alpha, MBK_SCALAR beta,
                                     MBK_VECTOR *old, DOT &dot) {
  const mbk_u32 lane = mbk_lane();
  const mbk_u32 ends = lane < MBK_STEPS ? mbk_load(row_ends + tile * MBK_STEPS + lane) : 0;
  const mbk_u32 row_number = mbk_load(tile_row + tile);
  MBK_COMPUTE product[MBK_GROUPS][MBK_PACK];
  const mbk_scan_rows rows = {row_id, y, row_number, adds ? mbk_load(tile_row + tile + 1) : 0,
                              ends};
  mbk_scan_multiply<adds>(col_ind, values, x, tile * MBK_TILE_NONZEROS, nnz, rows, alpha,
                          product, old);
  return mbk_scan_commit(product, ends, row_number, tile, row_id, y, firsts, tails, alpha, beta,
                         old, adds ? MBK_OLD_ROWS : 0, dot);
}
