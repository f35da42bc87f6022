// Threads that walk equal parts of a matrix: two kernels of Marconi (Optimization for SpMV,
// report, Trento 2025, section IV), for comparison. MBK_STUDY selects what the parts have in
// equal numbers:
//   0  nonzero split ("merge based"): nonzeros; rows are found by search
//   1  three-kernel merge path (Algorithm 3): steps of the path of row ends and nonzeros,
//      as in spmv/gpu/merge/merge.cu, where threads do not walk
// A first kernel splits the matrix into chunks. In the second, a thread block multiplies each
// chunk, and its threads walk through the products in shared memory. A third kernel completes
// rows that cross chunks. Unlike in the report, nothing is added to y with atomics: the
// threads' parts of a row are added up in order, so that products repeat bit for bit. The
// kernels ask for one resident block. Otherwise the compiler limits registers for as many
// blocks as possible, and spills.
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"
#ifndef MBK_STUDY
#error "define MBK_STUDY: 0 or 1"
#endif

#define MBK_PACK 1
#define MBK_ROUNDS 1
#define MBK_BLOCKS 1
#define MBK_DEPTH 5
#define MBK_EMPTY_ROWS 0

#include "spmv/gpu/scan/tile.cuh"

#include "spmv/gpu/merge/path.cuh"

#define MBK_CUT_THREADS 128

// ---- Chunks ---------------------------------------------------------------------------------

#if MBK_STUDY == 0

// Returns the row in [low, high) that contains nonzero `at`: low plus the number of rows that
// end at or before `at`.
MBK_DEVICE mbk_u64 mbk_split_search(const MBK_ROW_PTR *row_ptr, mbk_u64 low, mbk_u64 high,
                                    mbk_u64 at) {
  while (low < high) {
    const mbk_u64 middle = low + (high - low) / 2;
    if (mbk_merge_end(row_ptr, middle) <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Returns twice the row of a chunk's first nonzero, in the format of mbk_merge_begin. Rows that
// end where a chunk ends belong to the chunk, and so do the empty rows after them.
MBK_DEVICE mbk_u64 mbk_split_begin(const MBK_ROW_PTR *row_ptr, mbk_u64 rows, mbk_u64 nnz,
                                   mbk_u64 chunk) {
  const mbk_u64 at = chunk * MBK_CHUNK;
  return chunk == 0 ? 0 : at < nnz ? 2 * mbk_split_search(row_ptr, 0, rows, at) : 2 * rows;
}

MBK_DEVICE mbk_u64 mbk_split_diagonal(mbk_u64 chunk, mbk_u64 nnz) {
  return chunk * MBK_CHUNK < nnz ? chunk * MBK_CHUNK : nnz;
}

#else

MBK_DEVICE mbk_u64 mbk_split_begin(const MBK_ROW_PTR *row_ptr, mbk_u64 rows, mbk_u64 nnz,
                                   mbk_u64 chunk) {
  return mbk_merge_begin(row_ptr, rows, nnz, chunk);
}

#endif

// A chunk. Rows [row, last_row) end in it; nonzeros [first, first + nonzeros) lie in it.
struct mbk_split_chunk {
  mbk_u64 row, last_row, first;
  mbk_u32 nonzeros;
};

MBK_DEVICE mbk_split_chunk mbk_split_take(mbk_u64 chunk, mbk_u64 rows, mbk_u64 nnz,
                                          const mbk_u64 *chunk_row) {
  const mbk_u64 begin = chunk_row[chunk], end = chunk_row[chunk + 1];
#if MBK_STUDY == 0
  const mbk_u64 first = mbk_split_diagonal(chunk, nnz);
  (void)rows;
  return {begin / 2, end / 2, first, (mbk_u32)(mbk_split_diagonal(chunk + 1, nnz) - first)};
#else
  const mbk_merge_chunk at = mbk_merge_between(chunk, rows, nnz, begin, end);
  return {at.row, at.row + at.rows, at.first, at.nonzeros};
#endif
}

#include "spmv/study/split_study_arguments.cuh"

// Writes chunk_row, the row at which each chunk begins. Launch: a thread per chunk and one
// more.
MBK_KERNEL MBK_BOUNDS(MBK_CUT_THREADS)
    mbk_split_cut(MBK_BY_FIELD(mbk_split_cut_arguments, a)) {
  const mbk_u64 chunk = (mbk_u64)mbk_block() * MBK_CUT_THREADS + mbk_thread();
  mbk_release();
  const mbk_u64 begin = chunk > a.chunks    ? 0
                        : chunk == a.chunks ? 2 * a.rows
                                            : mbk_split_begin(a.row_ptr, a.rows, a.nnz, chunk);
  mbk_await(); // the fix-up of a previous product may still read chunk_row
  if (chunk <= a.chunks) {
    a.chunk_row[chunk] = begin;
  }
}

// ---- Threads --------------------------------------------------------------------------------

// The result of a thread's walk. `row` is the first row that ended, and `head` the thread's
// part of it; earlier threads may hold other parts. `tail` is the thread's part of the row that
// is open at its end. The rows between have been written.
struct mbk_split_walk {
  bool ended;
  mbk_u64 row;
  MBK_COMPUTE head, tail;
};

MBK_DEVICE void mbk_split_end(mbk_split_walk &w, mbk_u64 row, MBK_VECTOR *y, MBK_SCALAR alpha,
                              MBK_SCALAR beta) {
  if (w.ended) {
    MBK_COMMIT(row, w.tail);
  } else {
    w.ended = true;
    w.row = row;
    w.head = w.tail;
  }
  w.tail = MBK_ZERO;
}

#if MBK_STUDY == 0

// Walks over MBK_STEPS nonzeros. Empty rows are skipped by another search, and written by all
// threads of the block together.
MBK_DEVICE mbk_split_walk mbk_split_thread(const mbk_split_chunk &c, const MBK_ROW_PTR *row_ptr,
                                           const MBK_COMPUTE *product, mbk_u32 *, MBK_VECTOR *y,
                                           MBK_SCALAR alpha, MBK_SCALAR beta) {
  mbk_split_walk w = {false, 0, MBK_ZERO, MBK_ZERO};
  const mbk_u32 begin = mbk_thread() * MBK_STEPS;
  const mbk_u32 end = begin + MBK_STEPS < c.nonzeros ? begin + MBK_STEPS : c.nonzeros;
  for (mbk_u64 row = c.row + mbk_thread(); row < c.last_row; row += MBK_THREADS) {
    if (mbk_load(row_ptr + row) == mbk_load(row_ptr + row + 1)) {
      MBK_COMMIT(row, MBK_ZERO);
    }
  }
  if (begin < end) {
    mbk_u64 row = mbk_split_search(row_ptr, c.row, c.last_row, c.first + begin);
    // The row may stay open at the end of the chunk; it is then not in [c.row, c.last_row).
    mbk_u64 stop = row < c.last_row ? mbk_merge_end(row_ptr, row) - c.first : c.nonzeros + 1;
    for (mbk_u32 k = begin; k < end; k++) {
      w.tail = MBK_ADD(w.tail, product[k]);
      if (k + 1 == stop) {
        mbk_split_end(w, row, y, alpha, beta);
        row++;
        stop = row < c.last_row ? mbk_merge_end(row_ptr, row) - c.first : c.nonzeros + 1;
        if (stop == k + 1) {
          row = mbk_split_search(row_ptr, row, c.last_row, c.first + k + 1);
          stop = row < c.last_row ? mbk_merge_end(row_ptr, row) - c.first : c.nonzeros + 1;
        }
      }
    }
  }
  return w;
}

#else

// Walks over MBK_STEPS steps of the chunk's path. If a row ends at nonzero k, its end comes
// before the nonzero. The last thread also takes the extra step that a chunk may have. stop[i]
// is where row c.row + i ends.
MBK_DEVICE mbk_split_walk mbk_split_thread(const mbk_split_chunk &c, const MBK_ROW_PTR *,
                                           const MBK_COMPUTE *product, const mbk_u32 *stop,
                                           MBK_VECTOR *y, MBK_SCALAR alpha, MBK_SCALAR beta) {
  mbk_split_walk w = {false, 0, MBK_ZERO, MBK_ZERO};
  const mbk_u32 rows = (mbk_u32)(c.last_row - c.row), steps = rows + c.nonzeros;
  const mbk_u32 begin = mbk_thread() * MBK_STEPS;
  const mbk_u32 end =
      mbk_thread() == MBK_THREADS - 1 || begin + MBK_STEPS > steps ? steps : begin + MBK_STEPS;
  if (begin < end) {
    mbk_u32 low = begin > c.nonzeros ? begin - c.nonzeros : 0,
            high = begin < rows ? begin : rows;
    while (low < high) {
      const mbk_u32 middle = (low + high) / 2;
      if (stop[middle] + middle < begin) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    mbk_u32 row = low, k = begin - low;
    for (mbk_u32 step = begin; step < end; step++) {
      if (row < rows && stop[row] == k) {
        mbk_split_end(w, c.row + row, y, alpha, beta);
        row++;
      } else {
        w.tail = MBK_ADD(w.tail, product[k]);
        k++;
      }
    }
  }
  return w;
}

#endif

// Writes the products of a chunk to shared memory. Without `multiply`, writes zeros and reads
// nothing.
MBK_DEVICE void mbk_split_multiply(const mbk_split_chunk &c, const mbk_i32 *col_ind,
                                   const MBK_VALUE *values, const MBK_VECTOR *x, bool multiply,
                                   MBK_COMPUTE *product) {
  col_ind += c.first;
  values += MBK_PATTERN ? 0 : c.first;
#pragma unroll
  for (mbk_u32 i = 0; i < MBK_STEPS; i++) {
    const mbk_u32 k = i * MBK_THREADS + mbk_thread();
    if (k < c.nonzeros && !multiply) {
      product[k] = MBK_ZERO;
    } else if (k < c.nonzeros) {
      const MBK_VECTOR factor =
          mbk_load_after_wait(x + (MBK_MATRIX_LOAD(col_ind + k) - MBK_BASE));
#if MBK_PATTERN
      product[k] = MBK_UNIT(values, factor);
#else
      product[k] = MBK_MUL(mbk_value(MBK_MATRIX_LOAD(values + k)), factor);
#endif
    }
  }
}

// ---- Thread blocks --------------------------------------------------------------------------

// Returns the part of the open row at the start of warp `warp`: the sum, in order, of the tails
// of the warps before it, starting with the last one in which a row ended.
MBK_DEVICE MBK_COMPUTE mbk_split_before(const MBK_COMPUTE *tails, const mbk_u32 *ended,
                                        mbk_u32 warp) {
  MBK_COMPUTE sum = MBK_ZERO;
  mbk_u32 from = warp;
  while (from > 0 && (from == warp || ended[from] == 0)) {
    from--;
  }
  for (; from < warp; from++) {
    sum = MBK_ADD(sum, tails[from]);
  }
  return sum;
}

// Completes the threads' first rows with the parts of earlier threads, and computes the part
// after the chunk's last row end. If an earlier chunk began the chunk's first row, the part of
// that row goes to *first.
MBK_DEVICE void mbk_split_join(const mbk_split_chunk &c, const mbk_split_walk &w, bool crossing,
                               MBK_COMPUTE *tails, mbk_u32 *ended, MBK_VECTOR *y,
                               MBK_COMPUTE *first, MBK_COMPUTE *tail, MBK_SCALAR alpha,
                               MBK_SCALAR beta) {
  const mbk_u32 lane = mbk_lane(), warp = mbk_thread() / 32;
  const mbk_u32 closed = mbk_ballot(MBK_ALL, w.ended);
  const mbk_u32 until = closed & (MBK_ALL >> (31 - lane));
  const int distance = (int)lane - (until != 0 ? 31 - mbk_leading_zeros(until) : 0);
  MBK_COMPUTE sum = w.tail;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, d, 32);
    if (distance >= d) {
      sum = MBK_ADD(other, sum);
    }
  }
  MBK_COMPUTE open = mbk_shuffle_up(MBK_ALL, sum, 1, 32);
  open = lane > 0 ? open : MBK_ZERO;
  if (lane == 31) {
    tails[warp] = sum;
    ended[warp] = closed;
  }
  mbk_block_sync();
  if (w.ended) {
    if ((closed & ((1u << lane) - 1)) == 0) {
      open = MBK_ADD(mbk_split_before(tails, ended, warp), open);
    }
    const MBK_COMPUTE whole = MBK_ADD(open, w.head);
    if (crossing && w.row == c.row) {
      *first = whole;
    } else {
      MBK_COMMIT(w.row, whole);
    }
  }
  if (mbk_thread() == 0) {
    *tail = mbk_split_before(tails, ended, MBK_WARPS);
  }
}

// Computes the rows of a chunk. Launch: a block per chunk, after mbk_split_cut and before
// mbk_split_fixup. Shared: MBK_COMPUTE[MBK_SLOTS + 1 + MBK_WARPS], then mbk_u32[MBK_WARPS]. Row
// ends are stored after the products: a chunk has at most MBK_SLOTS + 1 of both together, and
// an end is no longer than a product.
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, 1)
    mbk_split_product(MBK_BY_FIELD(mbk_split_product_arguments, a)) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  MBK_COMPUTE *const product = (MBK_COMPUTE *)shared;
  MBK_COMPUTE *const warp_tails = product + MBK_SLOTS + 1;
  mbk_u32 *const warp_ended = (mbk_u32 *)(warp_tails + MBK_WARPS);
  mbk_release();
  mbk_await(); // mbk_split_cut has written chunk_row
  MBK_SCALARS_LOAD;
  const mbk_split_chunk c = mbk_split_take(mbk_block(), a.rows, a.nnz, a.chunk_row);
  mbk_u32 *const stop = (mbk_u32 *)(product + c.nonzeros);
#if MBK_STUDY == 1
  for (mbk_u32 i = mbk_thread(); i < c.last_row - c.row; i += MBK_THREADS) {
    stop[i] = (mbk_u32)(mbk_merge_end(a.row_ptr, c.row + i) - c.first);
  }
#endif
  mbk_split_multiply(c, a.col_ind, a.values, a.x, !MBK_VANISHES(alpha), product);
  mbk_block_sync();
  const mbk_split_walk w = mbk_split_thread(c, a.row_ptr, product, stop, a.y, alpha, beta);
  const bool crossing =
      c.row < c.last_row && (mbk_u64)(mbk_load(a.row_ptr + c.row) - MBK_BASE) < c.first;
  mbk_split_join(c, w, crossing, warp_tails, warp_ended, a.y, a.firsts + mbk_block(),
                 a.tails + mbk_block(), alpha, beta);
}

// ---- Rows that cross chunks -----------------------------------------------------------------

#define MBK_PARTS 1
#define MBK_ROW_NUMBER mbk_u64
#define MBK_TILE_ROW_NUMBER(chunk) (tile_row[chunk] / 2)
#define MBK_BACK MBK_ROW_PTR
#define MBK_TILE_BACK(chunk) mbk_merge_back(tile_back, tile_row, chunk, MBK_STUDY)
#include "spmv/shared/fixup.cuh"

// Completes the rows that cross chunks. Launch: MBK_FIXUP_THREADS chunks per block. Shared: as
// mbk_fixup.
MBK_KERNEL MBK_RESIDENT(MBK_FIXUP_THREADS, 2)
    mbk_split_fixup(MBK_GRID_CONSTANT mbk_split_fixup_arguments a) {
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  mbk_release();
  mbk_await(); // mbk_split_cut has written chunk_row
  mbk_fixup(a.row_ptr, a.chunk_row, (const mbk_u32 *)0, (const mbk_u32 *)0, a.firsts, a.tails,
            a.y, a.chunks, 0, 0, (MBK_COMPUTE *)shared, MBK_SCALAR_ARGUMENTS);
}
