// Samples the columns of a CSR for forecasts.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#include "jit/device.cuh"

#include "spmv/shared/pages.cuh"

#include "spmv/shared/csr_sample_arguments.cuh"

#define MBK_SAMPLE_WINDOW 8192
#define MBK_SAMPLE_TABLE 12288
#define MBK_SAMPLE_THREADS 1024
#define MBK_SAMPLE_TOGETHER 8 // loads in flight

// Inserts `sector` into the table. Returns true if it was not there. A load comes first,
// because it finds most sectors and many lanes can load at once.
MBK_DEVICE bool mbk_sample_new(mbk_u32 *table, mbk_u32 sector) {
  const mbk_u32 hash = sector * 2654435761u;
  const mbk_u32 step = 6 * (hash >> 21) + 1; // less than the table's size, and coprime to it
  mbk_u32 at = (hash >> 8) % MBK_SAMPLE_TABLE;
  while (true) {
    mbk_u32 there = mbk_peek(table + at);
    if (there == 0xffffffffu) {
      there = mbk_atomic_swap_if(table + at, 0xffffffffu, sector);
    }
    if (there == 0xffffffffu || there == sector) {
      return there != sector;
    }
    at += at + step < MBK_SAMPLE_TABLE ? step : step - MBK_SAMPLE_TABLE;
  }
}

// Adds to *sectors the number of different 32-byte sectors of x that the block's window of
// nonzeros touches. Shared: mbk_u32[MBK_SAMPLE_TABLE].
MBK_DEVICE void mbk_sample_sectors(const mbk_i32 *col_ind, mbk_u64 nnz, mbk_u32 windows,
                                   mbk_u32 shift, mbk_u32 *sectors, mbk_u32 *table) {
  const mbk_u64 most = nnz < MBK_SAMPLE_WINDOW ? nnz : MBK_SAMPLE_WINDOW;
  const mbk_u64 first = (nnz - most) / windows * mbk_block();
  mbk_u32 found = 0;
  for (mbk_u32 i = mbk_thread(); i < MBK_SAMPLE_TABLE; i += MBK_SAMPLE_THREADS) {
    table[i] = 0xffffffffu;
  }
  mbk_block_sync();
  for (mbk_u32 i = mbk_thread(); i < most; i += MBK_SAMPLE_THREADS * MBK_SAMPLE_TOGETHER) {
    mbk_u32 sector[MBK_SAMPLE_TOGETHER];
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_SAMPLE_TOGETHER; j++) {
      const mbk_u32 k = i + j * MBK_SAMPLE_THREADS;
      sector[j] = (mbk_u32)(mbk_load(col_ind + first + (k < most ? k : i)) - MBK_BASE) >> shift;
    }
#pragma unroll
    // The first sector is inserted a second time, which changes nothing.
    for (mbk_u32 j = 0; j < MBK_SAMPLE_TOGETHER; j++) {
      found += mbk_sample_new(table, sector[j]);
    }
  }
  for (int d = 16; d > 0; d >>= 1) {
    found += mbk_shuffle_xor(0xffffffffu, found, d, 32);
  }
  if (mbk_lane() == 0) {
    mbk_atomic_add(sectors, found);
  }
}

// Adds one to *narrow if the columns of slice `slice` lie in at most MBK_PAGES pages. A whole
// warp calls it.
MBK_DEVICE void mbk_sample_pages(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind,
                                 mbk_u64 rows, mbk_u64 slice, mbk_u32 *narrow, mbk_u32 *set) {
  const mbk_u64 row = slice * 32, next = row + 32 < rows ? row + 32 : rows;
  const mbk_u64 end = (mbk_u64)(mbk_load(row_ptr + next) - MBK_BASE);
  mbk_page_begin(set);
  for (mbk_u64 k = (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE) + mbk_lane();
       k < end && mbk_peek(set + MBK_PAGE_SLOTS) <= MBK_PAGES; k += 32 * MBK_SAMPLE_TOGETHER) {
    mbk_u32 column[MBK_SAMPLE_TOGETHER];
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_SAMPLE_TOGETHER; j++) {
      column[j] = (mbk_u32)(mbk_load(col_ind + (k + 32 * j < end ? k + 32 * j : k)) - MBK_BASE);
    }
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_SAMPLE_TOGETHER; j++) {
      mbk_page_add(set, column[j]);
    }
  }
  mbk_warp_sync(0xffffffffu); // all lanes' pages are in the set
  if (mbk_lane() == 0 && mbk_peek(set + MBK_PAGE_SLOTS) <= MBK_PAGES) {
    mbk_atomic_add(narrow, 1u);
  }
}

// Samples the locality of gathers of x. Adds to *sectors the number of different 32-byte
// sectors of x that each window of nonzeros touches. Adds to *narrow the number of slices of 32
// rows, out of 8 per window, whose columns lie in few pages. Both must be zero before. `shift`
// is log2 of the elements in a sector. Launch: one block of MBK_SAMPLE_THREADS per window, and
// as many for the slices. Shared: mbk_u32[MBK_SAMPLE_TABLE].
MBK_KERNEL MBK_BOUNDS(MBK_SAMPLE_THREADS)
    mbk_sample_columns(MBK_GRID_CONSTANT mbk_sample_columns_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const words = (mbk_u32 *)shared;
  const mbk_u32 windows = mbk_grid() / 2, warp = mbk_thread() / 32;
  if (mbk_block() < windows) {
    mbk_sample_sectors(a.col_ind, a.nnz, windows, a.shift, a.sectors, words);
  } else if (warp < 8) {
    const mbk_u64 number = (mbk_block() - windows) * 8 + warp, slices = (a.rows + 31) / 32;
    mbk_sample_pages(a.row_ptr, a.col_ind, a.rows, slices * number / (8 * windows), a.narrow,
                     words + warp * MBK_PAGE_SET);
  }
}
