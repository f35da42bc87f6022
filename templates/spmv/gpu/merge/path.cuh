// The merge path, and where its chunks begin. spmv/gpu/merge/merge.cu and
// spmv/study/split_study.cu include this file.
#ifndef MBK_TILE_NONZEROS
#error "include spmv/gpu/scan/tile.cuh before"
#endif
#ifndef MBK_ROUNDS
#error "define MBK_ROUNDS: chunks per thread block, one after the other"
#endif

// The nonzeros of a chunk fit in the slots of a thread block, with room for those that precede
// its first one in the same pack.
#define MBK_WARPS (MBK_THREADS / 32)
#define MBK_SLOTS (MBK_THREADS * MBK_STEPS)
#define MBK_CHUNK (MBK_SLOTS - MBK_PACK + 1)

// Returns the step of the path at which a chunk begins. The last chunk ends with the path.
MBK_DEVICE mbk_u64 mbk_merge_diagonal(mbk_u64 chunk, mbk_u64 rows, mbk_u64 nnz) {
  const mbk_u64 step = chunk * MBK_CHUNK;
  return step < rows + nnz ? step : rows + nnz;
}

// Returns the offset after the last nonzero of a row. The row's end is step mbk_merge_end + row
// of the path.
MBK_DEVICE mbk_u64 mbk_merge_end(const MBK_ROW_PTR *row_ptr, mbk_u64 row) {
  return (mbk_u64)(mbk_load(row_ptr + row + 1) - MBK_BASE);
}

// Returns the number of rows that end before step `diagonal`. The search advances by powers of
// four, the first of which is the same for all threads. Their first probes thus read the same
// rows, which the caches hold.
MBK_DEVICE mbk_u64 mbk_merge_search(const MBK_ROW_PTR *row_ptr, mbk_u64 rows,
                                    mbk_u64 diagonal) {
  mbk_u64 row = 0, step = 1;
  while (step <= rows / 4) {
    step *= 4;
  }
  for (; step > 0; step /= 4) {
    mbk_u32 count = 0;
#pragma unroll
    for (mbk_u32 i = 1; i < 4; i++) {
      const mbk_u64 probe = row + i * step - 1;
      count += probe < rows && mbk_merge_end(row_ptr, probe) + probe < diagonal;
    }
    row += count * step;
  }
  return row;
}

// Returns twice a chunk's first row, plus one if the row end at which the chunk would begin
// moves to the chunk before. It moves if all nonzeros of its row lie there, so that no row ends
// in a chunk without one of its nonzeros.
MBK_DEVICE mbk_u64 mbk_merge_begin(const MBK_ROW_PTR *row_ptr, mbk_u64 rows, mbk_u64 nnz,
                                   mbk_u64 chunk) {
  const mbk_u64 diagonal = mbk_merge_diagonal(chunk, rows, nnz);
  const mbk_u64 row = mbk_merge_search(row_ptr, rows, diagonal), first = diagonal - row;
  const bool over = row < rows && mbk_merge_end(row_ptr, row) == first &&
                    (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE) < first;
  return over ? 2 * (row + 1) + 1 : 2 * row;
}

// Returns how many chunks before `chunk` its first row began, or MBK_OPEN if that row does not
// end in the chunk or began in it. `ends`: 1 if row ends are steps too, so that nonzero k of
// row r is step k + r.
MBK_DEVICE mbk_u32 mbk_merge_back(const MBK_ROW_PTR *row_ptr, const mbk_u64 *chunk_row,
                                  mbk_u64 chunk, mbk_u32 ends) {
  const mbk_u64 row = chunk_row[chunk] / 2;
  if (chunk_row[chunk + 1] / 2 == row) {
    return MBK_OPEN;
  }
  const mbk_u64 first = (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE);
  const mbk_u64 back = chunk - (first + ends * row) / MBK_CHUNK;
  return back > 0 ? (mbk_u32)back : MBK_OPEN;
}

// A chunk: the rows [row, row + rows) end in it, and it owns the nonzeros [first, first +
// nonzeros).
struct mbk_merge_chunk {
  mbk_u64 row, first;
  mbk_u32 rows, nonzeros;
};

MBK_DEVICE mbk_merge_chunk mbk_merge_between(mbk_u64 chunk, mbk_u64 rows, mbk_u64 nnz,
                                             mbk_u64 begin, mbk_u64 end) {
  const mbk_u64 row = begin / 2, next = end / 2;
  const mbk_u64 first = mbk_merge_diagonal(chunk, rows, nnz) - row + begin % 2;
  const mbk_u64 last = mbk_merge_diagonal(chunk + 1, rows, nnz) - next + end % 2;
  return {row, first, (mbk_u32)(next - row), (mbk_u32)(last - first)};
}
