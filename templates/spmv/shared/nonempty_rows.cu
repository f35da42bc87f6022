// Counts and lists the non-empty rows of a CSR, and measures how equal their lengths are.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#include "jit/device.cuh"

#include "spmv/shared/nonempty_rows_arguments.cuh"

// Rows per block of mbk_nonempty_count and mbk_nonempty_compact: four per thread.
#define MBK_ROWS_PER_BLOCK 1024

// The limit on one factor of a squared length, so that the sum of squares fits into 64 bits.
#define MBK_LENGTH_MOST (1u << 20)

// Bins of row lengths: one for each length below 32, then 16 for each power of two. The rest
// are zeros that make up two bins per thread.
#define MBK_LENGTH_BINS 512

MBK_DEVICE mbk_u32 mbk_length_bin(mbk_u32 length) {
  const mbk_u32 power = 31 - (mbk_u32)mbk_leading_zeros(length | 32);
  return length < 32 ? length : 32 + (power - 5) * 16 + (length >> (power - 4) & 15);
}

// Returns the number of different lengths that share a bin.
MBK_DEVICE mbk_u64 mbk_length_bin_size(mbk_u32 bin) {
  return bin < 32 ? bin > 0 : (mbk_u64)2 << (bin - 32) / 16;
}

// Returns the thread's share of the total width of the slices of 32 rows that the block's rows
// would form if they were sorted by length. The total is the sum, over all lengths, of the
// number of slices with a row of at least that length. Lengths that share a bin count as the
// longest of them. 256 threads call it. `sums` has a word per warp.
MBK_DEVICE mbk_u64 mbk_length_widths(const mbk_u32 *bins, mbk_u32 *sums) {
  const mbk_u32 low = bins[2 * mbk_thread()], high = bins[2 * mbk_thread() + 1];
  mbk_u32 longer = low + high; // rows in the bins of this lane and of later lanes
  for (int d = 1; d < 32; d <<= 1) {
    const mbk_u32 behind = mbk_shuffle_down(0xffffffffu, longer, d, 32);
    longer += mbk_lane() + (mbk_u32)d < 32 ? behind : 0;
  }
  if (mbk_lane() == 0) {
    sums[mbk_thread() / 32] = longer;
  }
  mbk_block_sync();
  for (mbk_u32 warp = mbk_thread() / 32 + 1; warp < 8; warp++) {
    longer += sums[warp];
  }
  return mbk_length_bin_size(2 * mbk_thread()) * ((longer + 31) / 32) +
         mbk_length_bin_size(2 * mbk_thread() + 1) * ((longer - low + 31) / 32);
}

// Writes counts[block], the number of non-empty rows of the block. Updates *longest, the length
// of the longest row (at most 2^32 - 1); *widths, the sum over slices of 32 rows of their
// longest row; *sorted, an upper bound of the same sum for rows sorted within each block; and
// *squares, the sum of the lengths, each times itself or MBK_LENGTH_MOST. All must be zero
// before. Shared: mbk_u64[3], mbk_u32[MBK_LENGTH_BINS + 10].
MBK_KERNEL MBK_BOUNDS(256)
    mbk_nonempty_count(MBK_GRID_CONSTANT mbk_nonempty_count_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 *const width = (mbk_u64 *)shared;
  mbk_u64 *const sorted = width + 1, *const squares = width + 2;
  mbk_u32 *const bins = (mbk_u32 *)(width + 3), *const total = bins + MBK_LENGTH_BINS;
  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_ROWS_PER_BLOCK + mbk_thread();
  mbk_u64 slots = 0, square = 0;
  mbk_u32 count = 0, most = 0;
  if (mbk_thread() == 0) {
    *width = *sorted = *squares = 0;
    *total = 0;
  }
  bins[mbk_thread()] = bins[mbk_thread() + 256] = 0;
  mbk_block_sync();
  for (int i = 0; i < 4; i++) {
    const mbk_u64 row = first + (mbk_u64)i * 256;
    mbk_u32 slice = 0;
    if (row < a.rows) {
      const mbk_u64 length = (mbk_u64)(a.row_ptr[row + 1] - a.row_ptr[row]);
      slice = length < 0xffffffffull ? (mbk_u32)length : 0xffffffffu;
    }
    square += (mbk_u64)slice * (slice < MBK_LENGTH_MOST ? slice : MBK_LENGTH_MOST);
    count += (mbk_u32)mbk_popcount(mbk_ballot(0xffffffffu, slice > 0));
    const mbk_u32 bin = mbk_length_bin(slice);
    if (mbk_ballot(0xffffffffu, bin != mbk_shuffle(0xffffffffu, bin, 0, 32)) != 0) {
      mbk_atomic_add(bins + bin, 1u);
    } else if (mbk_lane() == 0) { // one add for rows of equal length, whose atomics would wait
                                  // for each other
      mbk_atomic_add(bins + bin, 32u);
    }
    for (int d = 16; d > 0; d >>= 1) {
      const mbk_u32 other = mbk_shuffle_xor(0xffffffffu, slice, d, 32);
      slice = other > slice ? other : slice;
    }
    slots += slice;
    most = slice > most ? slice : most;
  }
  mbk_atomic_add(squares, square);
  if (mbk_lane() == 0) {
    mbk_atomic_add(width, slots);
    mbk_atomic_add(total, count);
    mbk_atomic_max(a.longest, most);
  }
  mbk_block_sync();
  mbk_atomic_add(sorted, mbk_length_widths(bins, total + 2));
  mbk_block_sync();
  if (mbk_thread() == 0) {
    a.counts[mbk_block()] = *total;
    mbk_atomic_add(a.widths, *width);
    mbk_atomic_add(a.sorted, *sorted);
    mbk_atomic_add(a.squares, *squares);
  }
}

// Replaces counts by its exclusive prefix sum and writes the total to *total, which may be
// counts + blocks. Launch: one block of 1024 threads. Shared: mbk_u32[33].
MBK_KERNEL MBK_BOUNDS(1024)
    mbk_nonempty_offsets(MBK_GRID_CONSTANT mbk_nonempty_offsets_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const warps = (mbk_u32 *)shared; // sums of the warps, then their prefix sums
  mbk_u32 base = 0;
  for (mbk_u64 from = 0; from < a.blocks; from += 1024) {
    const mbk_u64 i = from + mbk_thread();
    const mbk_u32 own = i < a.blocks ? a.counts[i] : 0;
    mbk_u32 sum = own;
    for (int d = 1; d < 32; d <<= 1) {
      const mbk_u32 before = mbk_shuffle_up(0xffffffffu, sum, d, 32);
      sum += mbk_lane() >= (mbk_u32)d ? before : 0;
    }
    if (mbk_lane() == 31) {
      warps[mbk_thread() / 32] = sum;
    }
    mbk_block_sync();
    if (mbk_thread() < 32) {
      const mbk_u32 warp = warps[mbk_thread()];
      mbk_u32 before = warp;
      for (int d = 1; d < 32; d <<= 1) {
        const mbk_u32 other = mbk_shuffle_up(0xffffffffu, before, d, 32);
        before += mbk_lane() >= (mbk_u32)d ? other : 0;
      }
      warps[mbk_thread()] = before - warp;
      if (mbk_thread() == 31) {
        warps[32] = before;
      }
    }
    mbk_block_sync();
    if (i < a.blocks) {
      a.counts[i] = base + warps[mbk_thread() / 32] + sum - own;
    }
    base += warps[32];
    mbk_block_sync();
  }
  if (mbk_thread() == 0) {
    *a.total = base;
  }
}

// Lists the non-empty rows in row_id, in order, and their offsets in row_start, which ends with
// the end of the last row. Bit i of row_bits[w] is 0 if row 32 w + i is empty. `offsets` comes
// from mbk_nonempty_offsets. Launch: as mbk_nonempty_count. Shared: mbk_u32[8].
MBK_KERNEL MBK_BOUNDS(256)
    mbk_nonempty_compact(MBK_GRID_CONSTANT mbk_nonempty_compact_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const warps = (mbk_u32 *)shared;
  mbk_u32 row_number = a.offsets[mbk_block()];
  for (int i = 0; i < 4; i++) {
    const mbk_u64 row =
        (mbk_u64)mbk_block() * MBK_ROWS_PER_BLOCK + (mbk_u64)i * 256 + mbk_thread();
    const bool holds = row < a.rows && a.row_ptr[row] < a.row_ptr[row + 1];
    const mbk_u32 ballot = mbk_ballot(0xffffffffu, holds);
    const mbk_u32 bits = ballot | mbk_ballot(0xffffffffu, row >= a.rows);
    if (mbk_lane() == 0) {
      if (row < a.rows) {
        a.row_bits[row / 32] = bits;
      }
      warps[mbk_thread() / 32] = (mbk_u32)mbk_popcount(ballot);
    }
    mbk_block_sync();
    mbk_u32 before = row_number, all = 0;
    for (mbk_u32 w = 0; w < 8; w++) {
      before += w < mbk_thread() / 32 ? warps[w] : 0;
      all += warps[w];
    }
    before += (mbk_u32)mbk_popcount(ballot & ((1u << mbk_lane()) - 1));
    if (holds) {
      a.row_id[before] = (mbk_u32)row;
      a.row_start[before] = a.row_ptr[row];
    }
    if (row + 1 == a.rows) {
      a.row_start[before + holds] = a.row_ptr[a.rows];
    }
    row_number += all;
    mbk_block_sync();
  }
}
