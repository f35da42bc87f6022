#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"

/* Unrolled kernels for blocks: sums[r] += row r of the blocks [at, end) times x, for one shape
 * and order of blocks. The sums stay in registers. The terms of a block's row are added in a
 * tree, so that the chain of dependent additions has one link per block. `step` is rows * cols,
 * or 0 if all blocks share the values of one. */
#define MBI_BLOCK_ROWS_1(M, T, C, a, b) M(0, T, C, a, b)
#define MBI_BLOCK_ROWS_2(M, T, C, a, b) MBI_BLOCK_ROWS_1(M, T, C, a, b) M(1, T, C, a, b)
#define MBI_BLOCK_ROWS_3(M, T, C, a, b) MBI_BLOCK_ROWS_2(M, T, C, a, b) M(2, T, C, a, b)
#define MBI_BLOCK_ROWS_4(M, T, C, a, b) MBI_BLOCK_ROWS_3(M, T, C, a, b) M(3, T, C, a, b)
#define MBI_BLOCK_ROWS_5(M, T, C, a, b) MBI_BLOCK_ROWS_4(M, T, C, a, b) M(4, T, C, a, b)
#define MBI_BLOCK_ROWS_6(M, T, C, a, b) MBI_BLOCK_ROWS_5(M, T, C, a, b) M(5, T, C, a, b)
#define MBI_BLOCK_ROWS_7(M, T, C, a, b) MBI_BLOCK_ROWS_6(M, T, C, a, b) M(6, T, C, a, b)
#define MBI_BLOCK_ROWS_8(M, T, C, a, b) MBI_BLOCK_ROWS_7(M, T, C, a, b) M(7, T, C, a, b)

#define MBI_BLOCK_X_1(T) const T x0 = p[0];
#define MBI_BLOCK_X_2(T) MBI_BLOCK_X_1(T) const T x1 = p[1];
#define MBI_BLOCK_X_3(T) MBI_BLOCK_X_2(T) const T x2 = p[2];
#define MBI_BLOCK_X_4(T) MBI_BLOCK_X_3(T) const T x3 = p[3];
#define MBI_BLOCK_X_5(T) MBI_BLOCK_X_4(T) const T x4 = p[4];
#define MBI_BLOCK_X_6(T) MBI_BLOCK_X_5(T) const T x5 = p[5];
#define MBI_BLOCK_X_7(T) MBI_BLOCK_X_6(T) const T x6 = p[6];
#define MBI_BLOCK_X_8(T) MBI_BLOCK_X_7(T) const T x7 = p[7];

#define MBI_BLOCK_TERM(v, s, k) (v)[k * (s)] * x##k
#define MBI_BLOCK_TWO(v, s, i, k) (MBI_BLOCK_TERM(v, s, i) + MBI_BLOCK_TERM(v, s, k))
#define MBI_BLOCK_THREE(v, s, i, j, k) (MBI_BLOCK_TWO(v, s, i, j) + MBI_BLOCK_TERM(v, s, k))
#define MBI_BLOCK_DOT_1(v, s) MBI_BLOCK_TERM(v, s, 0)
#define MBI_BLOCK_DOT_2(v, s) MBI_BLOCK_TWO(v, s, 0, 1)
#define MBI_BLOCK_DOT_3(v, s) MBI_BLOCK_THREE(v, s, 0, 1, 2)
#define MBI_BLOCK_DOT_4(v, s) (MBI_BLOCK_DOT_2(v, s) + MBI_BLOCK_TWO(v, s, 2, 3))
#define MBI_BLOCK_DOT_5(v, s) (MBI_BLOCK_DOT_3(v, s) + MBI_BLOCK_TWO(v, s, 3, 4))
#define MBI_BLOCK_DOT_6(v, s) (MBI_BLOCK_DOT_3(v, s) + MBI_BLOCK_THREE(v, s, 3, 4, 5))
#define MBI_BLOCK_DOT_7(v, s) (MBI_BLOCK_DOT_4(v, s) + MBI_BLOCK_THREE(v, s, 4, 5, 6))
#define MBI_BLOCK_DOT_8(v, s)                                                                  \
  (MBI_BLOCK_DOT_4(v, s) + (MBI_BLOCK_TWO(v, s, 4, 5) + MBI_BLOCK_TWO(v, s, 6, 7)))

#define MBI_BLOCK_ZERO(r, T, C, a, b) T s##r = 0;
#define MBI_BLOCK_ADD(r, T, C, a, b) s##r += MBI_BLOCK_DOT_##C(v + r * (a), b);
#define MBI_BLOCK_GIVE(r, T, C, a, b) sums[r] += s##r;

#define MBI_BLOCK_HEAD(T, name)                                                                \
  static void mbi_block_##name(const merbit_view *bsr, const T *values, int64_t step,          \
                               const T *x, int64_t at, int64_t end, T *sums)

/* clang-format off: it takes the macros that are statements for expressions */
/* The shape R x C, whose rows are `a` values apart and whose columns are `b` values apart. */
#define MBI_BLOCK_KERNEL(T, name, R, C, a, b)                                                  \
  MBI_BLOCK_HEAD(T, name) {                                                                    \
    const int32_t *col_ind = (const int32_t *)bsr->col_ind;                                    \
    const T *v = values + at * step;                                                           \
    MBI_BLOCK_ROWS_##R(MBI_BLOCK_ZERO, T, C, a, b)                                             \
    for (; at < end; at++, v += step) {                                                        \
      const T *p = x + (int64_t)col_ind[at] * C;                                               \
      MBI_BLOCK_X_##C(T)                                                                       \
      MBI_BLOCK_ROWS_##R(MBI_BLOCK_ADD, T, C, a, b)                                            \
    }                                                                                          \
    MBI_BLOCK_ROWS_##R(MBI_BLOCK_GIVE, T, C, a, b)                                             \
  }

/* Any shape of at most MBI_BLOCK_UNROLLED rows and columns, with the same order of
 * additions. */
#define MBI_BLOCK_WIDTH(T, C)                                                                  \
  case C: {                                                                                    \
    MBI_BLOCK_X_##C(T)                                                                         \
    for (r = 0; r < rows; r++) {                                                               \
      s[r] += MBI_BLOCK_DOT_##C(v + r * a, b);                                                 \
    }                                                                                          \
    break;                                                                                     \
  }
#define MBI_BLOCK_SMALL(T, S)                                                                  \
  MBI_BLOCK_HEAD(T, small_##S) {                                                               \
    const int32_t *col_ind = (const int32_t *)bsr->col_ind;                                    \
    const int rows = bsr->block_rows, cols = bsr->block_cols;                                  \
    const int a = mbi_block_row_stride(bsr), b = mbi_block_column_stride(bsr);                 \
    const T *v = values + at * step;                                                           \
    T s[MBI_BLOCK_UNROLLED] = {0};                                                             \
    int r;                                                                                     \
    for (; at < end; at++, v += step) {                                                        \
      const T *p = x + (int64_t)col_ind[at] * cols;                                            \
      switch (cols) {                                                                          \
        MBI_BLOCK_WIDTH(T, 2)                                                                  \
        MBI_BLOCK_WIDTH(T, 3)                                                                  \
        MBI_BLOCK_WIDTH(T, 4)                                                                  \
        MBI_BLOCK_WIDTH(T, 5)                                                                  \
        MBI_BLOCK_WIDTH(T, 6)                                                                  \
        MBI_BLOCK_WIDTH(T, 7)                                                                  \
        MBI_BLOCK_WIDTH(T, 8)                                                                  \
      }                                                                                        \
    }                                                                                          \
    for (r = 0; r < rows; r++) {                                                               \
      sums[r] += s[r];                                                                         \
    }                                                                                          \
  }

/* The shapes with a loop of their own. LINE: a single row or column, the same in both orders.
 * SHAPE: the others. */
#define MBI_BLOCK_SHAPES(LINE, SHAPE, T, S)                                                    \
  LINE(T, S, 1, 1) LINE(T, S, 1, 2) LINE(T, S, 1, 3) LINE(T, S, 1, 4) LINE(T, S, 2, 1)         \
  LINE(T, S, 3, 1) LINE(T, S, 4, 1) LINE(T, S, 5, 1) LINE(T, S, 6, 1) LINE(T, S, 7, 1)         \
  LINE(T, S, 8, 1) SHAPE(T, S, 2, 2) SHAPE(T, S, 2, 3) SHAPE(T, S, 2, 4) SHAPE(T, S, 3, 2)     \
  SHAPE(T, S, 3, 3) SHAPE(T, S, 3, 4) SHAPE(T, S, 4, 2) SHAPE(T, S, 4, 3) SHAPE(T, S, 4, 4)    \
  SHAPE(T, S, 5, 5) SHAPE(T, S, 6, 6) SHAPE(T, S, 7, 7) SHAPE(T, S, 8, 8)
#define MBI_BLOCK_LINE_KERNEL(T, S, R, C) MBI_BLOCK_KERNEL(T, row_##R##x##C##_##S, R, C, C, 1)
#define MBI_BLOCK_SHAPE_KERNELS(T, S, R, C)                                                    \
  MBI_BLOCK_LINE_KERNEL(T, S, R, C)                                                            \
  MBI_BLOCK_KERNEL(T, column_##R##x##C##_##S, R, C, 1, R)
#define MBI_BLOCK_KEY(R, C) ((R) * (MBI_BLOCK_UNROLLED + 1) + (C))
#define MBI_BLOCK_LINE_CASE(T, S, R, C)                                                        \
  case MBI_BLOCK_KEY(R, C): return mbi_block_row_##R##x##C##_##S;
#define MBI_BLOCK_SHAPE_CASE(T, S, R, C)                                                       \
  case MBI_BLOCK_KEY(R, C):                                                                    \
    return by_columns ? mbi_block_column_##R##x##C##_##S : mbi_block_row_##R##x##C##_##S;

/* mbi_block_kernel_of returns NULL for a shape with more than MBI_BLOCK_UNROLLED rows or
 * columns. */
#define MBI_BLOCK_KERNELS(T, S)                                                                \
  MBI_BLOCK_SHAPES(MBI_BLOCK_LINE_KERNEL, MBI_BLOCK_SHAPE_KERNELS, T, S)                       \
  MBI_BLOCK_SMALL(T, S)                                                                        \
  MBI_INTERNAL mbi_block_kernel_##S mbi_block_kernel_of_##S(int rows, int cols,                \
                                                            int by_columns) {                  \
    if (rows > MBI_BLOCK_UNROLLED || cols > MBI_BLOCK_UNROLLED) {                              \
      return NULL;                                                                             \
    }                                                                                          \
    switch (MBI_BLOCK_KEY(rows, cols)) {                                                       \
      MBI_BLOCK_SHAPES(MBI_BLOCK_LINE_CASE, MBI_BLOCK_SHAPE_CASE, T, S)                        \
    default:                                                                                   \
      return mbi_block_small_##S;                                                              \
    }                                                                                          \
  }
MBI_BLOCK_KERNELS(double, f64)
MBI_BLOCK_KERNELS(float, f32)
