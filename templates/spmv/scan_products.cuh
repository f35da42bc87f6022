// The products of a tile in registers: part of the programs that work on tiles of 32 * MBK_STEPS
// nonzeros straight from CSR, whose macros it uses.
#ifndef MBK_TILE_NONZEROS
#error "include spmv/scan_tile.cuh before"
#endif

#if MBK_ONCE
#define MBK_PACK_LOAD mbk_load_pack_once
#else
#define MBK_PACK_LOAD mbk_load_pack
#endif

// MBK_PACK neighbours at `address`, the first `count` of which are there.
template <bool full, class T>
MBK_DEVICE void mbk_scan_load(const T *address, mbk_u32 count, T (&some)[MBK_PACK]) {
  if (full && MBK_ALIGNED) {
    const mbk_pack<T, MBK_PACK> pack = MBK_PACK_LOAD<T, MBK_PACK>(address);
#pragma unroll
    for (int j = 0; j < MBK_PACK; j++) {
      some[j] = pack.at[j];
    }
  } else {
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_PACK; j++) {
      some[j] = full || j < count ? MBK_MATRIX_LOAD(address + j) : (T)0;
    }
  }
}

// The products of a tile; those at and beyond `count` become zero, for they follow every row
// end. All loads of a lane are in flight together.
template <bool full>
MBK_DEVICE void mbk_scan_products(const mbk_i32 *col_ind, const MBK_VALUE *values,
                                  const MBK_VECTOR *x, mbk_u32 count,
                                  MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK]) {
  mbk_i32 column[MBK_GROUPS][MBK_PACK];
#if !MBK_PATTERN
  MBK_VALUE value[MBK_GROUPS][MBK_PACK];
#endif
#pragma unroll
  for (int g = 0; g < MBK_GROUPS; g++) {
    const mbk_u32 k = MBK_PACK * (32 * g + mbk_lane()), left = k < count ? count - k : 0;
    mbk_scan_load<full>(col_ind + k, left, column[g]);
#if !MBK_PATTERN
    mbk_scan_load<full>(values + k, left, value[g]);
#endif
  }
#pragma unroll
  for (int g = 0; g < MBK_GROUPS; g++) {
#pragma unroll
    for (int j = 0; j < MBK_PACK; j++) {
      product[g][j] = MBK_ZERO;
      if (full || MBK_PACK * (32 * g + mbk_lane()) + j < count) {
        const MBK_VECTOR factor = mbk_load(x + (column[g][j] - MBK_BASE));
#if MBK_PATTERN
        product[g][j] = MBK_UNIT(values, factor);
#else
        product[g][j] = MBK_MUL(value[g][j], factor);
#endif
      }
    }
  }
}

// The same for the tile whose first nonzero is number `start` of `nnz`; with alpha 0 nothing is
// read.
MBK_DEVICE void mbk_scan_multiply(const mbk_i32 *col_ind, const MBK_VALUE *values,
                                  const MBK_VECTOR *x, mbk_u64 start, mbk_u64 nnz,
                                  MBK_COMPUTE alpha,
                                  MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK]) {
  if (alpha == (MBK_COMPUTE)0) {
#pragma unroll
    for (int g = 0; g < MBK_GROUPS; g++) {
#pragma unroll
      for (int j = 0; j < MBK_PACK; j++) {
        product[g][j] = MBK_ZERO;
      }
    }
  } else if (start + MBK_TILE_NONZEROS <= nnz) {
    mbk_scan_products<true>(col_ind + start, MBK_PATTERN ? values : values + start, x, 0,
                            product);
  } else {
    mbk_scan_products<false>(col_ind + start, MBK_PATTERN ? values : values + start, x,
                             (mbk_u32)(nnz - start), product);
  }
}

// With beta the old y is wanted last, when nothing hides its latency. `rank` is that of the
// tile's first row.
MBK_DEVICE void mbk_scan_prefetch(const mbk_u32 *tile_row, mbk_u64 tile, mbk_u32 rank,
                                  const MBK_VECTOR *y, MBK_COMPUTE beta) {
#if !MBK_EMPTY_ROWS
  if (beta != (MBK_COMPUTE)0) {
    const mbk_u32 ahead = rank + mbk_lane() * (128 / sizeof(MBK_VECTOR));
    if (ahead < mbk_load(tile_row + tile + 1)) {
      mbk_prefetch(y + ahead);
    }
  }
#endif
}
