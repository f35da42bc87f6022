// MERGE, the merge path: y = alpha A x + beta y straight from CSR, without a schedule built
// beforehand.
//
// Data: the merge path has rows + nnz steps, one for each nonzero and one for each row end. It
// is cut into chunks of MBK_CHUNK steps, so that every block has the same work on any matrix.
// Work: a block owns MBK_ROUNDS chunks, one after the other. It marks in shared memory which
// nonzeros end a row, keeps the products in registers and adds them up by a segmented scan.
// mbk_merge_fixup completes rows that cross chunks, in a fixed order; every row is written
// once.
//
// Source: D. Merrill, M. Garland, Merge-based Parallel Sparse Matrix-Vector Multiplication,
// SC16, section III.E. There each thread walks its part of the path; here none does.
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#define MBK_DEPTH 5      // for rows of any length
#define MBK_EMPTY_ROWS 0 // empty rows are steps of the path too

#include "spmv/gpu/scan/tile.cuh"

#include "spmv/gpu/scan/products.cuh"

#include "spmv/gpu/merge/path.cuh"

#include "spmv/gpu/merge/tile.cuh"

#define MBK_CUT_THREADS 128

// The row ends that a thread loads together with its nonzeros.
#define MBK_AHEAD 2

// Multiplies a warp's nonzeros. Slots outside the chunk give zero; they lie before its first
// row or after every row end. `base`: the nonzero of the block's first slot.
MBK_DEVICE void mbk_merge_multiply(const mbk_merge_chunk &at, mbk_u64 base,
                                   const mbk_i32 *col_ind, const MBK_VALUE *values,
                                   const MBK_VECTOR *x, MBK_SCALAR alpha,
                                   MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK]) {
  const mbk_u32 skip = (mbk_u32)(at.first - base), filled = skip + at.nonzeros;
  const mbk_u32 slot = mbk_thread() / 32 * MBK_TILE_NONZEROS;
  const mbk_scan_rows none = {};
  MBK_VECTOR *const no_old = (MBK_VECTOR *)0;
  if (MBK_VANISHES(alpha) || slot >= filled) {
    mbk_await();
#pragma unroll
    for (int g = 0; g < MBK_GROUPS; g++) {
#pragma unroll
      for (int j = 0; j < MBK_PACK; j++) {
        product[g][j] = MBK_ZERO;
      }
    }
    return;
  }
  col_ind += base + slot;
  values += MBK_PATTERN ? 0 : base + slot;
  if (slot + MBK_TILE_NONZEROS <= filled) {
    mbk_scan_products<false, true>(col_ind, values, x, 0, none, product, no_old);
  } else {
    mbk_scan_products<false, false>(col_ind, values, x, filled - slot, none, product, no_old);
  }
#pragma unroll
  for (mbk_u32 j = 0; j < MBK_PACK; j++) {
    product[0][j] = MBK_PACK * mbk_thread() + j < skip ? MBK_ZERO : product[0][j];
  }
}

// Multiplies a block's chunks and writes their rows. With `adds` the old y is read. Without
// `adds`, beta must be zero.
template <bool adds>
MBK_DEVICE void mbk_merge_run(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind,
                              const MBK_VALUE *values, const MBK_VECTOR *x, MBK_VECTOR *y,
                              const mbk_u64 *chunk_row, MBK_COMPUTE *firsts, MBK_COMPUTE *tails,
                              mbk_u64 rows, mbk_u64 nnz, mbk_u64 chunks, MBK_SCALAR alpha,
                              MBK_SCALAR beta, unsigned char *shared) {
  const mbk_merge_memory m = mbk_merge_places<adds>(shared);
  const mbk_u64 block_chunk = (mbk_u64)mbk_block() * MBK_ROUNDS;
  // Threads take row ends in reverse order: the last warps have the fewest nonzeros.
  const mbk_u32 place = MBK_THREADS - 1 - mbk_thread();
  mbk_u16 *const marks =
      m.marks + mbk_thread() / 32 * MBK_TILE_NONZEROS + MBK_PACK * mbk_lane();
  mbk_pack<mbk_u16, MBK_PACK> none;
#pragma unroll
  for (int j = 0; j < MBK_PACK; j++) {
    none.at[j] = MBK_NO_ROW;
  }
#pragma unroll
  for (int g = 0; g < MBK_GROUPS; g++) {
    mbk_store_pack(marks + 32 * MBK_PACK * g, none);
  }
  mbk_await(); // mbk_merge_cut writes chunk_row
  mbk_block_sync();
  for (mbk_u32 i = 0; i < MBK_ROUNDS && block_chunk + i < chunks; i++) {
    const mbk_u64 chunk = block_chunk + i;
    const mbk_merge_chunk at =
        mbk_merge_between(chunk, rows, nnz, chunk_row[chunk], chunk_row[chunk + 1]);
    const mbk_u64 base = at.first - at.first % MBK_PACK;
    mbk_u32 *const crossing = m.crossing + i % 2;
    MBK_COMPUTE product[MBK_GROUPS][MBK_PACK];
    MBK_ROW_PTR row_end[MBK_AHEAD];
#pragma unroll
    for (mbk_u32 a = 0; a < MBK_AHEAD; a++) {
      const mbk_u32 row = place + a * MBK_THREADS;
      if (row < at.rows) {
        row_end[a] = mbk_load(row_ptr + at.row + row + 1);
      }
    }
    mbk_merge_multiply(at, base, col_ind, values, x, alpha, product);
#pragma unroll
    for (mbk_u32 a = 0; a < MBK_AHEAD; a++) {
      const mbk_u32 row = place + a * MBK_THREADS;
      if (row < at.rows) {
        const MBK_ROW_PTR row_start = mbk_load(row_ptr + at.row + row); // already in L1
        mbk_merge_mark<adds>(m, y + at.row, row, row_start, row_end[a], base, alpha, beta);
        if (row == 0) {
          *crossing = (mbk_u64)(row_start - MBK_BASE) < at.first;
        }
      }
    }
    for (mbk_u32 row = place + MBK_AHEAD * MBK_THREADS; row < at.rows; row += MBK_THREADS) {
      mbk_merge_mark<adds>(m, y + at.row, row, mbk_load(row_ptr + at.row + row),
                           mbk_load(row_ptr + at.row + row + 1), base, alpha, beta);
    }
    mbk_block_sync();
    mbk_merge_scan<adds>(m, product, y + at.row, alpha, beta);
    mbk_block_sync();
    mbk_merge_join<adds>(m, *crossing != 0, y + at.row, firsts + chunk, tails + chunk, alpha,
                         beta);
  }
}

#include "spmv/gpu/merge/merge_arguments.cuh"

// Writes chunk_row, where each chunk begins, as mbk_merge_begin returns it. Launch: one thread
// per chunk, and one more.
MBK_KERNEL MBK_BOUNDS(MBK_CUT_THREADS) mbk_merge_cut(MBK_BY_FIELD(mbk_merge_cut_arguments, a)) {
  const mbk_u64 chunk = (mbk_u64)mbk_block() * MBK_CUT_THREADS + mbk_thread();
  mbk_release();
  const mbk_u64 begin =
      chunk <= a.chunks ? mbk_merge_begin(a.row_ptr, a.rows, a.nnz, chunk) : 0;
  mbk_await(); // the fix-up of the previous product may still read chunk_row
  if (chunk <= a.chunks) {
    a.chunk_row[chunk] = begin;
  }
}

// Computes the product for beta = 0, after mbk_merge_cut and before mbk_merge_fixup. Launch:
// one block per MBK_ROUNDS chunks. Shared: mbk_u16[MBK_SLOTS], MBK_COMPUTE[2 * MBK_WARPS],
// mbk_u32[MBK_WARPS + 2].
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_merge_product(MBK_BY_FIELD(mbk_merge_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  mbk_merge_run<false>(a.row_ptr, a.col_ind, a.values, a.x, a.y, a.chunk_row, a.firsts, a.tails,
                       a.rows, a.nnz, a.chunks, MBK_ALPHA, MBK_ABSENT, shared);
}

// Reading the old y takes registers, so fewer blocks are resident.
#define MBK_SUM_BLOCKS (MBK_BLOCKS > 4 ? 5 * MBK_BLOCKS / 6 : (2 * MBK_BLOCKS + 1) / 3)

// Computes the product for any beta. Launch: as mbk_merge_product. Shared: also
// MBK_VECTOR[MBK_THREADS + MBK_WARPS].
MBK_KERNEL_1 MBK_RESIDENT(MBK_THREADS, MBK_SUM_BLOCKS)
    mbk_merge_sum(MBK_BY_FIELD(mbk_merge_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  MBK_SCALARS_LOAD;
  mbk_merge_run<true>(a.row_ptr, a.col_ind, a.values, a.x, a.y, a.chunk_row, a.firsts, a.tails,
                      a.rows, a.nnz, a.chunks, alpha, beta, shared);
}

// ---- Rows over several chunks ---------------------------------------------------------------

#define MBK_PARTS 1
#define MBK_ROW_NUMBER mbk_u64
#define MBK_TILE_ROW_NUMBER(chunk) (tile_row[chunk] / 2)
#define MBK_BACK MBK_ROW_PTR
#define MBK_TILE_BACK(chunk) mbk_merge_back(tile_back, tile_row, chunk, 1)
#include "spmv/shared/fixup.cuh"

// Completes rows that cross chunks. Launch: MBK_FIXUP_THREADS chunks per block. Shared: as
// mbk_fixup.
MBK_KERNEL_2 MBK_RESIDENT(MBK_FIXUP_THREADS, MBK_FIXUP_BLOCKS)
    mbk_merge_fixup(MBK_GRID_CONSTANT mbk_merge_fixup_arguments a) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  mbk_await(); // waits for chunk_row and the sums of the product
  mbk_fixup(a.row_ptr, a.chunk_row, (const mbk_u32 *)0, (const mbk_u32 *)0, a.firsts, a.tails,
            a.y, a.chunks, 0, 0, (MBK_COMPUTE *)shared, MBK_SCALAR_ARGUMENTS);
}
