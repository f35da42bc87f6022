// Samples the columns of a CSR for forecasts.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#include "jit/device.cuh"

#include "spmv/shared/diagonals.cuh"
#include "spmv/shared/pages.cuh"

#include "spmv/shared/csr_sample_arguments.cuh"

#define MBK_SAMPLE_WINDOW 8192
#define MBK_SAMPLE_TABLE 12288
#define MBK_SAMPLE_THREADS 1024
#define MBK_SAMPLE_TOGETHER 8 // loads in flight per thread
#define MBK_SAMPLE_PARTS 16   // parts of the matrix with equally many windows

// Inserts `sector` into the hash table. Returns true if it was not there yet. A plain load
// comes first: it finds most sectors, and many lanes can load at once.
MBK_DEVICE bool mbk_sample_new(mbk_u32 *table, mbk_u32 sector) {
  const mbk_u32 hash = sector * 2654435761u;
  const mbk_u32 step = 6 * (hash >> 21) + 1; // odd and not a multiple of 3, hence coprime to
                                             // the table's size
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

// Empties the block's table.
MBK_DEVICE void mbk_sample_clear(mbk_u32 *table) {
  for (mbk_u32 i = mbk_thread(); i < MBK_SAMPLE_TABLE; i += MBK_SAMPLE_THREADS) {
    table[i] = 0xffffffffu;
  }
  mbk_block_sync();
}

// Returns the number of different 128-byte lines that the lanes' sectors lie in. Lanes without
// `here` do not count. All lanes of the warp must call it.
MBK_DEVICE mbk_u32 mbk_sample_lines(mbk_u32 sector, bool here) {
  const mbk_u32 line = here ? sector / 4 : 0xffffffffu; // greater than every line
  if (mbk_ballot(0xffffffffu, here) == 0) {
    return 0; // past the end of the window, or of all rows
  }
#pragma unroll 1
  for (mbk_u32 d = 1; d < 32; d++) {
    const mbk_u32 other = mbk_shuffle_up(0xffffffffu, line, (int)d, 32);
    here = here && !(mbk_lane() >= d && other == line);
  }
  return (mbk_u32)mbk_popcount(mbk_ballot(0xffffffffu, here));
}

// Adds the sum of `found` over the warp to *sum.
MBK_DEVICE void mbk_sample_add(mbk_u32 *sum, mbk_u32 found) {
  for (int d = 16; d > 0; d >>= 1) {
    found += mbk_shuffle_xor(0xffffffffu, found, d, 32);
  }
  if (mbk_lane() == 0) {
    mbk_atomic_add(sum, found);
  }
}

// Returns the row that holds a nonzero. All lanes of the warp must call it.
MBK_DEVICE mbk_u64 mbk_sample_row(const MBK_ROW_PTR *row_ptr, mbk_u64 rows, mbk_u64 nonzero) {
  mbk_u64 first = 0, count = rows; // it is one of these
  while (count > 1) {
    const mbk_u64 step = (count + 31) / 32, own = step * mbk_lane();
    const bool before =
        own < count && (mbk_u64)(mbk_load(row_ptr + first + own) - MBK_BASE) <= nonzero;
    const mbk_u64 passed = step * ((mbk_u64)mbk_popcount(mbk_ballot(0xffffffffu, before)) - 1);
    first += passed;
    count = count - passed < step ? count - passed : step;
  }
  return first;
}

// Adds to sectors[p] the number of different 32-byte sectors of x that the block's window of
// nonzeros touches, where p is the part of the matrix that the window lies in, and to *lines
// the number of lines that each 32 consecutive nonzeros of it touch. The first window of a part
// also sets part_row[p] to the row that it begins in. Shared: mbk_u32[MBK_SAMPLE_TABLE].
MBK_DEVICE void mbk_sample_sectors(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind,
                                   mbk_u64 rows, mbk_u64 nnz, mbk_u32 windows, mbk_u32 shift,
                                   mbk_u32 *sectors, mbk_u32 *part_row, mbk_u32 *lines,
                                   mbk_u32 *table) {
  const mbk_u64 most = nnz < MBK_SAMPLE_WINDOW ? nnz : MBK_SAMPLE_WINDOW;
  const mbk_u64 first = (nnz - most) / windows * mbk_block();
  const mbk_u32 part = MBK_SAMPLE_PARTS * mbk_block() / windows;
  mbk_u32 found = 0, touched = 0, sector[MBK_SAMPLE_TOGETHER];
  mbk_sample_clear(table);
#pragma unroll
  for (mbk_u32 j = 0; j < MBK_SAMPLE_TOGETHER; j++) {
    const mbk_u64 k = mbk_thread() + j * MBK_SAMPLE_THREADS;
    sector[j] = (mbk_u32)(mbk_load(col_ind + first + (k < most ? k : 0)) - MBK_BASE) >> shift;
  }
#pragma unroll
  for (mbk_u32 j = 0; j < MBK_SAMPLE_TOGETHER; j++) {
    const bool here = mbk_thread() + j * MBK_SAMPLE_THREADS < most;
    touched += mbk_sample_lines(sector[j], here);
    found += here && mbk_sample_new(table, sector[j]);
  }
  mbk_sample_add(sectors + part, found);
  mbk_sample_add(lines, mbk_lane() == 0 ? touched : 0);
  if (mbk_thread() < 32 &&
      (mbk_block() == 0 || MBK_SAMPLE_PARTS * (mbk_block() - 1) / windows != part)) {
    part_row[part] = (mbk_u32)mbk_sample_row(row_ptr, rows, first);
  }
}

// Samples 32 rows that are `apart` rows from each other. Of each row it takes up to
// MBK_SAMPLE_WINDOW / 32 consecutive nonzeros, from the same relative position. Adds to
// found[0] the number of different sectors of x that they touch, to found[1] the number of
// these nonzeros, and to found[2] the number of lines that the nonzeros at the same position of
// all rows touch. Few sectors mean that the rows read the same part of x. Shared: as
// mbk_sample_sectors.
MBK_DEVICE void mbk_sample_abreast(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind,
                                   mbk_u64 rows, mbk_u32 apart, mbk_u32 number, mbk_u32 windows,
                                   mbk_u32 shift, mbk_u32 *found, mbk_u32 *table) {
  const mbk_u64 most = MBK_SAMPLE_WINDOW / 32, span = 32 * (mbk_u64)apart;
  const mbk_u64 row =
      (rows > span ? rows - span : 0) / windows * number + mbk_lane() * (mbk_u64)apart;
  mbk_u64 first = 0, length = 0;
  mbk_u32 sectors = 0, nonzeros = 0, lines = 0;
  if (row < rows) {
    first = (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE);
    length = (mbk_u64)(mbk_load(row_ptr + row + 1) - MBK_BASE) - first;
  }
  if (length > most) {
    first += (length - most) / windows * number;
    length = most;
  }
  mbk_sample_clear(table);
#pragma unroll
  for (mbk_u32 j = 0; j < MBK_SAMPLE_TOGETHER; j++) {
    const mbk_u64 at = mbk_thread() / 32 + MBK_SAMPLE_THREADS / 32 * j;
    const bool here = at < length;
    const mbk_u32 sector =
        here ? (mbk_u32)(mbk_load(col_ind + first + at) - MBK_BASE) >> shift : 0;
    lines += mbk_sample_lines(sector, here);
    sectors += here && mbk_sample_new(table, sector);
    nonzeros += here;
  }
  mbk_sample_add(found, sectors);
  mbk_sample_add(found + 1, nonzeros);
  mbk_sample_add(found + 2, mbk_lane() == 0 ? lines : 0);
}

// Adds 1 to *narrow if the columns of the slice lie in at most MBK_PAGES pages. All lanes of
// the warp must call it.
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
  mbk_warp_sync(0xffffffffu); // until all lanes have added their pages
  if (mbk_lane() == 0 && mbk_peek(set + MBK_PAGE_SLOTS) <= MBK_PAGES) {
    mbk_atomic_add(narrow, 1u);
  }
}

#define MBK_SAMPLE_DIAGONALS 256 // the most diagonals per slice
// Adds the number of diagonals of a slice of 64 rows to found[0], and of its nonzeros to
// found[1]. If most diagonals have few nonzeros, or if there are too many, each nonzero counts
// as a diagonal. All lanes of the warp must call it.
MBK_DEVICE void mbk_sample_diagonals(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind,
                                     mbk_u64 rows, mbk_u64 slice, mbk_u32 *found) {
  const mbk_u64 first = slice * MBK_SLICE, next = first + MBK_SLICE;
  const mbk_u64 row = first + mbk_lane();
  mbk_u64 nonzeros =
      (mbk_u64)(mbk_load(row_ptr + (next < rows ? next : rows)) - mbk_load(row_ptr + first));
  mbk_row_walk low = mbk_row_begin(row_ptr, col_ind, row, rows);
  mbk_row_walk high = mbk_row_begin(row_ptr, col_ind, row + 32, rows);
  mbk_u64 count = 0, passed = 0;
  mbk_i32 diagonal;
  while ((diagonal = mbk_next_diagonal(low, high)) != MBK_NO_DIAGONAL) {
    passed += (mbk_u64)mbk_popcount(mbk_ballot(0xffffffffu, low.offset == diagonal)) +
              (mbk_u64)mbk_popcount(mbk_ballot(0xffffffffu, high.offset == diagonal));
    count++;
    if (count > MBK_SAMPLE_DIAGONALS || count * (MBK_SLICE / 2) > passed + 1024) {
      nonzeros =
          nonzeros < 1u << 20 ? nonzeros : 1u << 20; // so that 1,024 slices do not overflow
      count = nonzeros;
      break;
    }
    mbk_row_pass(low, col_ind, diagonal);
    mbk_row_pass(high, col_ind, diagonal);
  }
  if (mbk_lane() == 0) {
    mbk_atomic_add(found, (mbk_u32)count);
    mbk_atomic_add(found + 1, (mbk_u32)nonzeros);
  }
}

// Samples the columns in windows of nonzeros, and adds to found[], which must be zero before:
//   [0]       out of 8 slices of 32 rows per window, those whose columns lie in few pages;
//   [1] [2]   diagonals and nonzeros of as many slices of 64 rows;
//   [3]-[5]   sectors, nonzeros and lines of as many windows of mbk_sample_abreast;
//   [6]       lines that each 32 consecutive nonzeros of the windows touch;
//   [7]-[22]  different 32-byte sectors of x that each window touches, by the part of the
//             matrix that the window lies in;
//   [23]-[38] the row in which each part begins, if it has a window.
// `shift` is log2 of the elements in a sector. Launch: blocks of MBK_SAMPLE_THREADS, one per
// window, then as many for the slices and as many for mbk_sample_abreast. Shared:
// mbk_u32[MBK_SAMPLE_TABLE].
MBK_KERNEL MBK_RESIDENT(MBK_SAMPLE_THREADS, 1)
    mbk_sample_columns(MBK_GRID_CONSTANT mbk_sample_columns_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const words = (mbk_u32 *)shared;
  const mbk_u32 windows = a.windows, warp = mbk_thread() / 32;
  if (mbk_block() < windows) {
    mbk_sample_sectors(a.row_ptr, a.col_ind, a.rows, a.nnz, windows, a.shift, a.found + 7,
                       a.found + 7 + MBK_SAMPLE_PARTS, a.found + 6, words);
  } else if (mbk_block() >= 2 * windows) {
    mbk_sample_abreast(a.row_ptr, a.col_ind, a.rows, a.apart, mbk_block() - 2 * windows,
                       windows, a.shift, a.found + 3, words);
  } else if (warp < 16) {
    const mbk_u64 number = (mbk_block() - windows) * 8 + warp % 8;
    const mbk_u64 size = warp < 8 ? 32 : MBK_SLICE;
    const mbk_u64 slice = (a.rows + size - 1) / size * number / (8 * windows);
    if (warp < 8) {
      mbk_sample_pages(a.row_ptr, a.col_ind, a.rows, slice, a.found,
                       words + warp * MBK_PAGE_SET);
    } else {
      mbk_sample_diagonals(a.row_ptr, a.col_ind, a.rows, slice, a.found + 1);
    }
  }
}
