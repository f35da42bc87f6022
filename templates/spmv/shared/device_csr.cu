// Kernels on a plan's CSR arrays in device memory: the check, narrowing to 32-bit columns,
// counts of rows and columns, samples, and a hash of the structure.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_COLUMN
#error "define MBK_COLUMN: the type of col_ind, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#include "jit/device.cuh"

#include "spmv/shared/sample.cuh"

#include "spmv/shared/device_csr_arguments.cuh"

// Sets *bad to 1 if row_ptr does not rise from the base to nnz + base, or a column is out of
// range. Launch: any grid of 256 threads; each strides over both arrays.
MBK_KERNEL MBK_BOUNDS(256) mbk_arrays_check(MBK_GRID_CONSTANT mbk_arrays_check_arguments a) {
  const mbk_i64 stride = (mbk_i64)mbk_grid() * 256;
  const mbk_i64 first = (mbk_i64)mbk_block() * 256 + mbk_thread();
  bool wrong =
      first == 0 && (a.row_ptr[0] != MBK_BASE || a.row_ptr[a.rows] != a.nnz + MBK_BASE);
  for (mbk_i64 i = first; i < a.rows; i += stride) {
    wrong |= a.row_ptr[i] > a.row_ptr[i + 1];
  }
  for (mbk_i64 k = first; k < a.nnz; k += stride) {
    const mbk_i64 column = (mbk_i64)a.col_ind[k] - MBK_BASE;
    wrong |= column < 0 || column >= a.cols;
  }
  if (wrong) {
    mbk_atomic_or(a.bad, 1u);
  }
}

// Narrows 64-bit columns to 32 bits. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_arrays_narrow(MBK_GRID_CONSTANT mbk_arrays_narrow_arguments a) {
  for (mbk_i64 k = (mbk_i64)mbk_block() * 256 + mbk_thread(); k < a.nnz;
       k += (mbk_i64)mbk_grid() * 256) {
    a.narrow[k] = (mbk_i32)a.wide[k];
  }
}

// ---- Non-empty rows -------------------------------------------------------------------------

// Rows per block of the two kernels below: four for each of 256 threads.
#define MBK_ROWS_PER_BLOCK 1024

// Bins of row lengths: one for each length below 32, then 16 for each power of two; and zeros
// up to two for each thread.
#define MBK_LENGTH_BINS 512

MBK_DEVICE mbk_u32 mbk_length_bin(mbk_u32 length) {
  const mbk_u32 power = 31 - (mbk_u32)mbk_leading_zeros(length | 32);
  return length < 32 ? length : 32 + (power - 5) * 16 + (length >> (power - 4) & 15);
}

// Returns the number of lengths in a bin.
MBK_DEVICE mbk_u64 mbk_length_bin_size(mbk_u32 bin) {
  return bin < 32 ? bin > 0 : (mbk_u64)2 << (bin - 32) / 16;
}

// Returns the thread's share of the sum of widths of the slices of 32 rows that the block's
// rows would make if they were sorted by length: for each length, the number of slices with a
// row of at least that length. Lengths that share a bin count as the longest of it. 256 threads
// call it. `sums` has a word per warp.
MBK_DEVICE mbk_u64 mbk_length_widths(const mbk_u32 *bins, mbk_u32 *sums) {
  const mbk_u32 low = bins[2 * mbk_thread()], high = bins[2 * mbk_thread() + 1];
  mbk_u32 longer = low + high; // rows in the bins of this lane and of those behind
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

// Writes counts[block], the number of the block's rows with a nonzero. Updates *longest, the
// length of the longest row (at most 2^32 - 1), *widths, the sum over slices of 32 rows of
// their longest row, and *sorted, at least the same of rows that are sorted within each block;
// all must be zero. Shared: mbk_u64[2], mbk_u32[MBK_LENGTH_BINS + 10].
MBK_KERNEL MBK_BOUNDS(256) mbk_arrays_count(MBK_GRID_CONSTANT mbk_arrays_count_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 *const width = (mbk_u64 *)shared;
  mbk_u64 *const sorted = width + 1;
  mbk_u32 *const bins = (mbk_u32 *)(width + 2), *const total = bins + MBK_LENGTH_BINS;
  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_ROWS_PER_BLOCK + mbk_thread();
  mbk_u64 slots = 0;
  mbk_u32 count = 0, most = 0;
  if (mbk_thread() == 0) {
    *width = *sorted = 0;
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
    count += (mbk_u32)mbk_popcount(mbk_ballot(0xffffffffu, slice > 0));
    const mbk_u32 bin = mbk_length_bin(slice);
    if (mbk_ballot(0xffffffffu, bin != mbk_shuffle(0xffffffffu, bin, 0, 32)) != 0) {
      mbk_atomic_add(bins + bin, 1u);
    } else if (mbk_lane() == 0) { // rows of one length would wait for each other
      mbk_atomic_add(bins + bin, 32u);
    }
    for (int d = 16; d > 0; d >>= 1) {
      const mbk_u32 other = mbk_shuffle_xor(0xffffffffu, slice, d, 32);
      slice = other > slice ? other : slice;
    }
    slots += slice;
    most = slice > most ? slice : most;
  }
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
  }
}

// Replaces counts by its exclusive prefix sum and writes the total to *total, which may be
// counts + blocks. Launch: one block of 1024 threads. Shared: mbk_u32[33].
MBK_KERNEL MBK_BOUNDS(1024)
    mbk_arrays_offsets(MBK_GRID_CONSTANT mbk_arrays_offsets_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const warps = (mbk_u32 *)shared; // sums of the warps, then of all warps before each
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

// Lists the non-empty rows in row_id, in order, and their offsets in row_start; the last offset
// is the end of the last row. Lists the empty rows in empty_id. `offsets` comes from
// mbk_arrays_offsets. Launch: as mbk_arrays_count. Shared: mbk_u32[8].
MBK_KERNEL MBK_BOUNDS(256)
    mbk_arrays_compact(MBK_GRID_CONSTANT mbk_arrays_compact_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const warps = (mbk_u32 *)shared;
  mbk_u32 row_number = a.offsets[mbk_block()];
  for (int i = 0; i < 4; i++) {
    const mbk_u64 row =
        (mbk_u64)mbk_block() * MBK_ROWS_PER_BLOCK + (mbk_u64)i * 256 + mbk_thread();
    const bool holds = row < a.rows && a.row_ptr[row] < a.row_ptr[row + 1];
    const mbk_u32 ballot = mbk_ballot(0xffffffffu, holds);
    if (mbk_lane() == 0) {
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
    } else if (row < a.rows) {
      a.empty_id[row - before] = (mbk_u32)row;
    }
    if (row + 1 == a.rows) {
      a.row_start[before + holds] = a.row_ptr[a.rows];
    }
    row_number += all;
    mbk_block_sync();
  }
}

// ---- Columns with many nonzeros -------------------------------------------------------------

// Adds the nonzeros of a sample, every `stride`th run of 32, to counts[column]; counts must be
// zero before. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256)
    mbk_arrays_columns(MBK_GRID_CONSTANT mbk_arrays_columns_arguments a) {
  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;
  const mbk_u64 step = (mbk_u64)mbk_grid() * 8 * a.stride * 32;
  for (mbk_u64 k = warp * a.stride * 32 + mbk_lane(); k < a.nnz; k += step) {
    mbk_atomic_add(a.counts + (a.col_ind[k] - MBK_BASE), 1u);
  }
}

// Writes such counts from the row offsets of the transpose: column lengths divided by `stride`,
// rounded. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256)
    mbk_arrays_lengths(MBK_GRID_CONSTANT mbk_arrays_lengths_arguments a) {
  for (mbk_u64 c = (mbk_u64)mbk_block() * 256 + mbk_thread(); c < a.cols;
       c += (mbk_u64)mbk_grid() * 256) {
    const mbk_u64 count =
        ((mbk_u64)(a.row_ptr[c + 1] - a.row_ptr[c]) + a.stride / 2) / a.stride;
    a.counts[c] = count < 0xffffffffull ? (mbk_u32)count : 0xffffffffu;
  }
}

// Adds to bins[n] the number of columns whose count is n; the last bin also takes all higher
// counts. bins must be zero before. Launch: any grid of 256 threads. Shared: mbk_u32[MBK_BINS].
#define MBK_BINS 4096
MBK_KERNEL MBK_BOUNDS(256) mbk_arrays_bins(MBK_GRID_CONSTANT mbk_arrays_bins_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const own = (mbk_u32 *)shared;
  for (mbk_u32 i = mbk_thread(); i < MBK_BINS; i += 256) {
    own[i] = 0;
  }
  mbk_block_sync();
  for (mbk_u64 c = (mbk_u64)mbk_block() * 256 + mbk_thread(); c < a.cols;
       c += (mbk_u64)mbk_grid() * 256) {
    if (a.counts[c] > 0) {
      mbk_atomic_add(own + (a.counts[c] < MBK_BINS ? a.counts[c] : MBK_BINS - 1), 1u);
    }
  }
  mbk_block_sync();
  for (mbk_u32 i = mbk_thread(); i < MBK_BINS; i += 256) {
    if (own[i] > 0) {
      mbk_atomic_add(a.bins + i, own[i]);
    }
  }
}

// ---- A hash of the structure ----------------------------------------------------------------

// Returns a number and its place mixed into 64 bits (the finaliser of SplitMix64: Steele, Lea,
// Flood, OOPSLA 2014).
MBK_DEVICE mbk_u64 mbk_arrays_mix(mbk_u64 place, mbk_u64 number) {
  mbk_u64 bits = place * 0x9e3779b97f4a7c15ull ^ number * 0xd1342543de82ef95ull;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
  return bits ^ bits >> 31;
}

// Adds to *hash a hash of row_ptr and col_ind; *hash must be zero before. The hash is a sum, so
// the order of threads does not matter. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_arrays_hash(MBK_GRID_CONSTANT mbk_arrays_hash_arguments a) {
  const mbk_u64 stride = (mbk_u64)mbk_grid() * 256;
  const mbk_u64 first = (mbk_u64)mbk_block() * 256 + mbk_thread();
  mbk_u64 sum = 0;
  for (mbk_u64 i = first; i <= a.rows; i += stride) {
    sum += mbk_arrays_mix(2 * i, (mbk_u64)(a.row_ptr[i] - MBK_BASE));
  }
  for (mbk_u64 k = first; k < a.nnz; k += stride) {
    sum += mbk_arrays_mix(2 * k + 1, (mbk_u64)(a.col_ind[k] - MBK_BASE));
  }
  for (int d = 16; d > 0; d >>= 1) {
    sum += mbk_shuffle_xor(0xffffffffu, sum, d, 32);
  }
  if (mbk_lane() == 0) {
    mbk_atomic_add(a.hash, sum);
  }
}

// ---- Blocks ---------------------------------------------------------------------------------

// The candidate sizes 2 to 16 of a block: bit n stands for n rows, or n columns.
#define MBK_BLOCK_SHAPES 0x1fffcu
#define MBK_BLOCK_PART 256 // after so many nonzeros of a row a warp checks what others found

// Returns the sizes of which `place` is not a multiple.
MBK_DEVICE mbk_u32 mbk_arrays_inside(mbk_u64 place) {
  mbk_u32 sizes = 0;
  for (mbk_u32 n = 2; n <= 16; n++) {
    sizes |= place % n != 0 ? 1u << n : 0;
  }
  return sizes;
}

// Returns the bitwise or over the lanes of the warp, in all of them.
MBK_DEVICE mbk_u32 mbk_arrays_any(mbk_u32 bits) {
  for (int d = 16; d > 0; d >>= 1) {
    bits |= mbk_shuffle_xor(0xffffffffu, bits, d, 32);
  }
  return bits;
}

// Returns true, in all lanes, if other warps have ruled out every size.
MBK_DEVICE bool mbk_arrays_ruled_out(mbk_u32 *against) {
  mbk_u32 both = 0;
  if (mbk_lane() == 0) {
    both = mbk_atomic_add(against, 0u) & mbk_atomic_add(against + 1, 0u);
  }
  both = mbk_shuffle(0xffffffffu, both, 0, 32);
  return (both & MBK_BLOCK_SHAPES) == MBK_BLOCK_SHAPES;
}

// Finds sizes that rule out full blocks. Sets bit n of against[0] if rows of one block of n
// rows differ in their columns. Sets bit n of against[1] if a row's columns do not consist of
// runs of n that begin at multiples of n. Both must be zero before. Launch: one warp for each
// of `count` rows, `step` apart; 256 threads per block.
MBK_KERNEL MBK_BOUNDS(256) mbk_arrays_blocks(MBK_GRID_CONSTANT mbk_arrays_blocks_arguments a) {
  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32, row = warp * a.step;
  mbk_u32 high = 0, wide = 0;
  if (warp < a.count) {
    const mbk_i64 start = (mbk_i64)a.row_ptr[row] - MBK_BASE;
    const mbk_i64 end = (mbk_i64)a.row_ptr[row + 1] - MBK_BASE;
    const mbk_i64 next = row + 1 < a.rows ? (mbk_i64)a.row_ptr[row + 2] - MBK_BASE - end : -1;
    bool same = next == end - start;
    for (mbk_i64 part = 0; part < end - start; part += MBK_BLOCK_PART) {
      const mbk_i64 stop =
          part + MBK_BLOCK_PART < end - start ? part + MBK_BLOCK_PART : end - start;
      if (part > 0 && ((mbk_ballot(0xffffffffu, !same) != 0 &&
                        (mbk_arrays_any(wide) & MBK_BLOCK_SHAPES) == MBK_BLOCK_SHAPES) ||
                       mbk_arrays_ruled_out(a.against))) {
        break; // this row and others have ruled out all sizes
      }
      for (mbk_i64 k = part + mbk_lane(); k < stop; k += 32) {
        const mbk_i64 column = (mbk_i64)a.col_ind[start + k] - MBK_BASE;
        same = same && (mbk_i64)a.col_ind[end + k] - MBK_BASE == column;
        if (k + 1 == end - start ||
            (mbk_i64)a.col_ind[start + k + 1] - MBK_BASE != column + 1) {
          wide |= mbk_arrays_inside((mbk_u64)k + 1); // a run ends here
        }
        // At the start of a run of n columns, both k and the column are multiples of n.
        wide |= mbk_arrays_inside((mbk_u64)column) & ~mbk_arrays_inside((mbk_u64)k);
      }
    }
    high = same ? 0 : mbk_arrays_inside(row + 1);
  }
  high = mbk_arrays_any(high);
  wide = mbk_arrays_any(wide);
  if (mbk_lane() == 0 && (high & ~a.against[0] & MBK_BLOCK_SHAPES) != 0) {
    mbk_atomic_or(a.against, high);
  }
  if (mbk_lane() == 0 && (wide & ~a.against[1] & MBK_BLOCK_SHAPES) != 0) {
    mbk_atomic_or(a.against + 1, wide);
  }
}

#include "spmv/stages/value_forms.cuh"
