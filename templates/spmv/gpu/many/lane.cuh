// How the lanes of a warp share rows of X and Y, and the functions that write rows.
// spmv/gpu/many/many.cu and spmv/gpu/many/rows.cu include this file.
//
// A warp is divided into teams of MBK_TEAM lanes. A team multiplies one nonzero after the other
// by rows of X. Each of its lanes owns MBK_SPAN neighbouring columns of X in each of MBK_CHUNKS
// chunks.
#ifndef MBK_VECTORS
#error "define MBK_VECTORS: columns of X and Y"
#endif
#ifndef MBK_WIDTH
#error "define MBK_WIDTH: MBK_VECTORS; in row-major copies a multiple of MBK_SPAN"
#endif
#ifndef MBK_SPAN
#error "define MBK_SPAN: columns that a lane loads at once, 16 bytes at most; divides MBK_WIDTH"
#endif
#ifndef MBK_TEAM
#error "define MBK_TEAM: lanes per nonzero, a power of two up to 32"
#endif
#ifndef MBK_UNROLL
#error "define MBK_UNROLL: gathers of X in flight, 4 or 8"
#endif
#ifndef MBK_COLUMNS
#error "define MBK_COLUMNS: 1 if X and Y are column-major"
#endif
#ifndef MBK_ALIGNED
#error "define MBK_ALIGNED: 1 if col_ind and values start at multiples of 16 bytes"
#endif
#ifndef MBK_STREAMING
#error "define MBK_STREAMING: 1 if the matrix is read by streaming loads"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block of the product, a multiple of 32"
#endif
#ifndef MBK_BLOCKS
#error "define MBK_BLOCKS: thread blocks that a multiprocessor should hold"
#endif
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

// If rows of X and Y are not aligned to packs, addresses take more registers.
#define MBK_BLOCKS_LOOSE (MBK_BLOCKS > 2 ? MBK_BLOCKS - 1 : MBK_BLOCKS)
// Code for compute capability 12.0 and later takes a register or two more, and would spill.
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 1200
#define MBK_BLOCKS_PACKED MBK_BLOCKS_LOOSE
#else
#define MBK_BLOCKS_PACKED MBK_BLOCKS
#endif
#define MBK_TEAMS (32 / MBK_TEAM)
#define MBK_CHUNKS ((MBK_WIDTH + MBK_SPAN * MBK_TEAM - 1) / (MBK_SPAN * MBK_TEAM))

// A lane's accumulators for its columns of a row.
typedef MBK_COMPUTE mbk_many_row[MBK_CHUNKS][MBK_SPAN];
typedef mbk_pack<MBK_VECTOR, MBK_SPAN> mbk_many_pack;
typedef mbk_pack<MBK_COMPUTE, MBK_SPAN> mbk_many_sums;

// Return a lane's first column of a chunk, and the column that it loads. Lanes beyond the last
// column load the first ones, and do not write their sums.
MBK_DEVICE mbk_u32 mbk_many_column(mbk_u32 chunk) {
  return (chunk * MBK_TEAM + mbk_lane() % MBK_TEAM) * MBK_SPAN;
}
MBK_DEVICE mbk_u32 mbk_many_source(mbk_u32 chunk) {
  const mbk_u32 column = mbk_many_column(chunk);
  return column < MBK_WIDTH ? column : 0;
}

// Loads MBK_SPAN elements of a row of X. `packed`: rows of X and Y are aligned to packs.
template <bool packed> MBK_DEVICE mbk_many_pack mbk_many_load(const MBK_VECTOR *from) {
  mbk_many_pack pack;
  if (packed) {
    return mbk_load_pack_after_wait<MBK_VECTOR, MBK_SPAN>(from);
  }
#pragma unroll
  for (int j = 0; j < MBK_SPAN; j++) {
    pack.at[j] = mbk_load_after_wait(from + j);
  }
  return pack;
}

// ---- From sums to rows of Y -----------------------------------------------------------------

// Writes one row of Y, which begins at `y`. In a copy, sums are not scaled yet.
template <bool packed>
MBK_DEVICE void mbk_many_commit(MBK_VECTOR *y, const mbk_many_row &sum, MBK_COMPUTE alpha,
                                MBK_COMPUTE beta) {
#pragma unroll
  for (mbk_u32 c = 0; c < MBK_CHUNKS; c++) {
    const mbk_u32 column = mbk_many_column(c);
    if (MBK_CHUNKS * MBK_TEAM * MBK_SPAN == MBK_WIDTH || column < MBK_WIDTH) {
      MBK_VECTOR *const to = y + column;
      mbk_many_pack result;
      if (MBK_COLUMNS || beta == (MBK_COMPUTE)0) {
#pragma unroll
        for (int j = 0; j < MBK_SPAN; j++) {
          const MBK_COMPUTE final = MBK_ADD(MBK_ZERO, sum[c][j]); // turns -0 into +0
          result.at[j] = (MBK_VECTOR)(MBK_COLUMNS ? final : MBK_MUL(alpha, final));
        }
      } else {
        if (packed) {
          result = *(const mbk_many_pack *)to;
        }
#pragma unroll
        for (int j = 0; j < MBK_SPAN; j++) {
          const MBK_COMPUTE final = MBK_ADD(MBK_ZERO, sum[c][j]);
          result.at[j] = MBK_RESULT(final, (packed ? result.at[j] : to[j]));
        }
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

MBK_DEVICE void mbk_many_clear(mbk_many_row &sum) {
#pragma unroll
  for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
    for (int j = 0; j < MBK_SPAN; j++) {
      sum[c][j] = MBK_ZERO;
    }
  }
}

// ---- Products -------------------------------------------------------------------------------

// The elements that a lane loads from the rows of X of MBK_UNROLL consecutive nonzeros.
typedef mbk_many_pack mbk_many_factors[MBK_UNROLL][MBK_CHUNKS];

// Gathers X for MBK_UNROLL consecutive nonzeros. Unless `full`, only the first `left` exist.
template <bool packed, bool full>
MBK_DEVICE void mbk_many_gather(const mbk_i32 (&column)[MBK_UNROLL], mbk_u32 left,
                                const MBK_VECTOR *x, mbk_u32 x_step, mbk_many_factors &factor) {
#pragma unroll
  for (mbk_u32 c = 0; c < MBK_CHUNKS; c++) {
    const unsigned char *const from = (const unsigned char *)(x + mbk_many_source(c));
#pragma unroll
    for (mbk_u32 u = 0; u < MBK_UNROLL; u++) {
      if (full || u < left) {
        factor[u][c] = mbk_many_load<packed>(
            (const MBK_VECTOR *)(from + (mbk_u64)(mbk_u32)(column[u] - MBK_BASE) * x_step));
      }
    }
  }
}

// Adds a nonzero's product to the accumulators by a fused multiply-add. Products with several
// vectors are plus-times only.
MBK_DEVICE void mbk_many_add(const MBK_VALUE &value, const mbk_many_pack (&factor)[MBK_CHUNKS],
                             mbk_many_row &sum) {
#pragma unroll
  for (int c = 0; c < MBK_CHUNKS; c++) {
#pragma unroll
    for (int j = 0; j < MBK_SPAN; j++) {
#if MBK_PATTERN
      (void)value;
      sum[c][j] = MBK_ADD(sum[c][j], (MBK_COMPUTE)factor[c].at[j]);
#else
      sum[c][j] =
          mbk_fused((MBK_COMPUTE)mbk_value(value), (MBK_COMPUTE)factor[c].at[j], sum[c][j]);
#endif
    }
  }
}
