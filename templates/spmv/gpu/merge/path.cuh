// The merge path and where its chunks begin: part of the program that works on them.
#ifndef MBK_TILE_NONZEROS
#error "include spmv/gpu/scan/tile.cuh before"
#endif
#ifndef MBK_ROUNDS
#error "define MBK_ROUNDS: chunks that a block takes, one after the other"
#endif

// A chunk's nonzeros, with those before its first in the same pack, fill a thread block.
#define MBK_WARPS (MBK_THREADS / 32)
#define MBK_SLOTS (MBK_THREADS * MBK_STEPS)
#define MBK_CHUNK (MBK_SLOTS - MBK_PACK + 1)

// The step of the path at which a chunk begins; the last one ends with the path.
MBK_DEVICE mbk_u64 mbk_merge_diagonal(mbk_u64 chunk, mbk_u64 rows, mbk_u64 nnz) {
  const mbk_u64 step = chunk * MBK_CHUNK;
  return step < rows + nnz ? step : rows + nnz;
}

// Where the nonzeros of a row end. Its end is step mbk_merge_end + row of the path.
MBK_DEVICE mbk_u64 mbk_merge_end(const MBK_ROW_PTR *row_ptr, mbk_u64 row) {
  return (mbk_u64)(mbk_load(row_ptr + row + 1) - MBK_BASE);
}

// How many rows end before step `diagonal`. Quarters of a power of four, wherever the diagonal
// is: the first turns of all threads then ask for the same rows, which the caches hold.
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

// A chunk's first row, times two, plus one where the end of the row before would have been the
// first step of the chunk: that end goes with the row's last nonzero, so that no row ends in a
// chunk that has none of its nonzeros.
MBK_DEVICE mbk_u64 mbk_merge_begin(const MBK_ROW_PTR *row_ptr, mbk_u64 rows, mbk_u64 nnz,
                                   mbk_u64 chunk) {
  const mbk_u64 diagonal = mbk_merge_diagonal(chunk, rows, nnz);
  const mbk_u64 row = mbk_merge_search(row_ptr, rows, diagonal), first = diagonal - row;
  const bool over = row < rows && mbk_merge_end(row_ptr, row) == first &&
                    (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE) < first;
  return over ? 2 * (row + 1) + 1 : 2 * row;
}

// How many chunks before `chunk` its first row began, if it ends there and did not begin there.
// `ends`: 1 if row ends are steps too, so that nonzero k of row r is step k + r.
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

// A chunk: the rows [row, row + rows) end in it, the nonzeros [first, first + nonzeros) are its
// own.
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
