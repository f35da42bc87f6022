// The shape of a tile of blocks, and a lane's part of its products. spmv/gpu/bsr/bsr.cu
// includes this file and describes the layout.
#ifndef MBK_BLOCK_ROWS
#error "define MBK_BLOCK_ROWS: rows of a block"
#endif
#ifndef MBK_BLOCK_COLS
#error "define MBK_BLOCK_COLS: columns of a block"
#endif
#ifndef MBK_COLUMN_MAJOR
#error "define MBK_COLUMN_MAJOR: 1 if blocks are column-major"
#endif
#ifndef MBK_MASKED
#error "define MBK_MASKED: 1 if blocks have masks, a bit for each entry that exists"
#endif
#ifndef MBK_EDGE
#error "define MBK_EDGE: 1 if the last block column reaches beyond the matrix"
#endif
#ifndef MBK_SPLIT
#error "define MBK_SPLIT: lanes that share a row of a block, a power of two"
#endif
#ifndef MBK_TOGETHER
#error "define MBK_TOGETHER: blocks that a lane loads at once, a power of two"
#endif
#ifndef MBK_SLOT_BLOCKS
#error "define MBK_SLOT_BLOCKS: blocks per slot and tile, a multiple of MBK_TOGETHER"
#endif
#ifndef MBK_SHUFFLED
#error "define MBK_SHUFFLED: 1 if a slot's lanes load x together and pass it on by shuffles"
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
#include "spmv/shared/nonempty_rows.cuh"

#define MBK_ENTRIES (MBK_BLOCK_ROWS * MBK_BLOCK_COLS)
#define MBK_PACK (16 / (int)sizeof(MBK_COMPUTE)) // entries that one load brings
// A block with too many rows for one warp is cut into strips of rows, each for its own warp.
#define MBK_STRIPS ((MBK_BLOCK_ROWS * MBK_SPLIT + 31) / 32)
#define MBK_STRIP_ROWS ((MBK_BLOCK_ROWS + MBK_STRIPS - 1) / MBK_STRIPS)
#define MBK_LANE_COLS ((MBK_BLOCK_COLS + MBK_SPLIT - 1) / MBK_SPLIT)
#define MBK_LANES (MBK_STRIP_ROWS * MBK_SPLIT) // of a slot
#define MBK_SLOTS (32 / MBK_LANES)             // of a warp
#define MBK_ACTIVE (MBK_SLOTS * MBK_LANES)
#define MBK_TILE_BLOCKS (MBK_SLOTS * MBK_SLOT_BLOCKS)
#define MBK_GROUPS (MBK_SLOT_BLOCKS / MBK_TOGETHER)
#define MBK_GROUP_ENTRIES (MBK_TOGETHER * MBK_LANE_COLS) // of a lane: a multiple of MBK_PACK
#define MBK_GROUP_PACKS (MBK_GROUP_ENTRIES / MBK_PACK)
#define MBK_GROUP_FACTORS (MBK_TOGETHER * MBK_BLOCK_COLS) // of a slot

// A bit for each of a lane's entries of one group.
#if MBK_GROUP_ENTRIES <= 16
#define MBK_MASK mbk_u16
#else
#define MBK_MASK mbk_u32
#endif

#if MBK_STREAMING
#define MBK_PACK_LOAD mbk_load_pack_streaming
#define MBK_MATRIX_LOAD mbk_load_streaming
#else
#define MBK_PACK_LOAD mbk_load_pack_ahead
#define MBK_MATRIX_LOAD mbk_load_ahead
#endif

// The position of a lane. Lanes beyond the last slot repeat the work of the last slot, and
// write nothing.
struct mbk_bsr_place {
  mbk_u32 slot, lane; // lane: in its slot
  mbk_u32 row, col;   // of its first entry in the strip of the block
};

MBK_DEVICE mbk_bsr_place mbk_bsr_where(mbk_u32 thread) {
  mbk_bsr_place at;
  at.slot = thread / MBK_LANES < MBK_SLOTS ? thread / MBK_LANES : MBK_SLOTS - 1;
  at.lane = thread % MBK_LANES;
  at.row = at.lane / MBK_SPLIT;
  at.col = at.lane % MBK_SPLIT * MBK_LANE_COLS;
  return at;
}

// ---- x --------------------------------------------------------------------------------------

// Loads the elements of x for a lane's entries of a group whose block columns are at `columns`.
// They are zero beyond the block and the matrix, where the stored entries are zero too.
// `neighbours`: elements of x per load.
#if MBK_SHUFFLED

template <int neighbours>
MBK_DEVICE void mbk_bsr_factors(const mbk_i32 *columns, const MBK_VECTOR *x, mbk_u64 cols,
                                const mbk_bsr_place &at,
                                MBK_VECTOR (&factor)[MBK_GROUP_ENTRIES]) {
  enum { LOADS = (MBK_GROUP_FACTORS + MBK_LANES - 1) / MBK_LANES };
  mbk_u32 column[LOADS];
  MBK_VECTOR own[LOADS];
#pragma unroll
  for (int i = 0; i < LOADS; i++) {
    const mbk_u32 k = i * MBK_LANES + at.lane;
    column[i] = k < MBK_GROUP_FACTORS ? (mbk_u32)mbk_load(columns + k / MBK_BLOCK_COLS) : 0;
  }
  mbk_await();
#pragma unroll
  for (int i = 0; i < LOADS; i++) {
    const mbk_u32 k = i * MBK_LANES + at.lane;
    const mbk_u64 col = (mbk_u64)column[i] * MBK_BLOCK_COLS + k % MBK_BLOCK_COLS;
    own[i] = (MBK_VECTOR)0;
    if (k < MBK_GROUP_FACTORS && (!MBK_EDGE || col < cols)) {
      own[i] = mbk_load_after_wait(x + col);
    }
  }
#pragma unroll
  for (int k = 0; k < MBK_GROUP_FACTORS; k++) {
    factor[k] = mbk_shuffle(MBK_ALL, own[k / MBK_LANES],
                            (int)(at.slot * MBK_LANES) + k % MBK_LANES, 32);
  }
}

#else

template <int neighbours>
MBK_DEVICE void mbk_bsr_factors(const mbk_i32 *columns, const MBK_VECTOR *x, mbk_u64 cols,
                                const mbk_bsr_place &at,
                                MBK_VECTOR (&factor)[MBK_GROUP_ENTRIES]) {
  enum { PACK = MBK_TOGETHER < 4 ? MBK_TOGETHER : 4 };
  mbk_i32 column[MBK_TOGETHER];
#pragma unroll
  for (int u = 0; u < MBK_TOGETHER; u += PACK) {
    const mbk_pack<mbk_i32, PACK> pack = mbk_load_pack<mbk_i32, PACK>(columns + u);
#pragma unroll
    for (int j = 0; j < PACK; j++) {
      column[u + j] = pack.at[j];
    }
  }
  mbk_await();
#pragma unroll
  for (int u = 0; u < MBK_TOGETHER; u++) {
    const mbk_u64 col = (mbk_u64)(mbk_u32)column[u] * MBK_BLOCK_COLS + at.col;
#pragma unroll
    for (int j = 0; j < MBK_LANE_COLS; j += neighbours) {
      mbk_pack<MBK_VECTOR, neighbours> some = {};
      if ((MBK_LANE_COLS * MBK_SPLIT == MBK_BLOCK_COLS || at.col + j < MBK_BLOCK_COLS) &&
          (!MBK_EDGE || col + j < cols)) {
        some = mbk_load_pack_after_wait<MBK_VECTOR, neighbours>(x + col + j);
      }
#pragma unroll
      for (int n = 0; n < neighbours; n++) {
        factor[u * MBK_LANE_COLS + j + n] = some.at[n];
      }
    }
  }
}

#endif

// The number of elements of x that one load may bring if x is aligned: up to 16 bytes, if that
// divides a lane's columns in every block; 1 if the matrix may end within them.
#define MBK_EVEN (MBK_LANE_COLS * MBK_SPLIT == MBK_BLOCK_COLS && !MBK_EDGE && !MBK_SHUFFLED)
#define MBK_NEIGHBOURS                                                                         \
  (!MBK_EVEN || MBK_LANE_COLS % 2 != 0 ? 1 : MBK_LANE_COLS % MBK_PACK != 0 ? 2 : MBK_PACK)

// ---- Products -------------------------------------------------------------------------------

// Computes what each block of a group adds to the lane's row. `values` and `masks` point to the
// lane's first.
template <int neighbours>
MBK_DEVICE void mbk_bsr_group(const mbk_i32 *columns, const MBK_VALUE *values,
                              const MBK_MASK *masks, const MBK_VECTOR *x, mbk_u64 cols,
                              const mbk_bsr_place &at, MBK_COMPUTE (&sum)[MBK_TOGETHER]) {
  MBK_VECTOR factor[MBK_GROUP_ENTRIES];
#if !MBK_PATTERN
  mbk_pack<MBK_VALUE, MBK_PACK> value[MBK_GROUP_PACKS];
#pragma unroll
  for (int p = 0; p < MBK_GROUP_PACKS; p++) {
    value[p] = MBK_PACK_LOAD<MBK_VALUE, MBK_PACK>(values + p * MBK_ACTIVE * MBK_PACK);
  }
#endif
#if MBK_MASKED
  const mbk_u32 mask = MBK_MATRIX_LOAD(masks);
#endif
  mbk_bsr_factors<neighbours>(columns, x, cols, at, factor);
#pragma unroll
  for (int u = 0; u < MBK_TOGETHER; u++) {
    sum[u] = MBK_ZERO;
#pragma unroll
    for (int j = 0; j < MBK_LANE_COLS; j++) {
      const int e = u * MBK_LANE_COLS + j;
#if MBK_MASKED
      factor[e] = mask >> e & 1 ? factor[e] : (MBK_VECTOR)0;
#endif
#if MBK_PATTERN
      sum[u] = MBK_ADD(sum[u], MBK_UNIT(values, factor[e]));
#else
      sum[u] = MBK_ADD(sum[u], MBK_MUL(value[e / MBK_PACK].at[e % MBK_PACK], factor[e]));
#endif
    }
#pragma unroll
    for (int d = 1; d < MBK_SPLIT; d <<= 1) {
      sum[u] = MBK_ADD(sum[u], mbk_shuffle_xor(MBK_ALL, sum[u], d, 32));
    }
  }
}
