// Extracts blocks from a CSR matrix whose rows ascend, with or without duplicates: counts the
// blocks, writes their offsets, columns and masks, and copies their values. To find blocks, a
// group of lanes walks the rows of a row of blocks together; each lane has one row, or two if
// blocks have more than 32 rows. The least column that no row has passed starts the next block.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_VALUE
#error "define MBK_VALUE: the type of the matrix's values"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#include "jit/device.cuh"

#define MBK_CHUNK 1024              // rows of blocks per partial sum of counts
#define MBK_EXTRACT_END 0xffffffffu // greater than every column
#define MBK_ALL 0xffffffffu

// ---- The walk -------------------------------------------------------------------------------

struct mbk_extract_csr {
  const MBK_ROW_PTR *row_ptr;
  const mbk_i32 *col_ind;
  mbk_u64 rows, cols;
};

// The shape is a runtime argument, so that one program serves all shapes: the conversion waits
// for memory, not for divisions. `group` is the number of lanes per row of blocks, a power of
// two. Lane i of a group owns row i, and in blocks of more than 32 rows also row i + 32.
struct mbk_extract_shape {
  mbk_u32 high, wide, group;
};

template <int ROWS> struct mbk_extract_walk {
  MBK_ROW_PTR at[ROWS], end[ROWS];
  mbk_u32 next[ROWS]; // the next column of each row
};

MBK_DEVICE mbk_u32 mbk_extract_next(const mbk_i32 *col_ind, MBK_ROW_PTR at, MBK_ROW_PTR end) {
  return at < end ? (mbk_u32)(mbk_load(col_ind + at) - MBK_BASE) : MBK_EXTRACT_END;
}

// Starts the walk of a group. Rows after the last one, and those of a row of blocks past the
// end, are empty.
template <int ROWS>
MBK_DEVICE mbk_extract_walk<ROWS> mbk_extract_start(const mbk_extract_csr &csr,
                                                    const mbk_extract_shape &shape,
                                                    mbk_u64 block_row) {
  mbk_extract_walk<ROWS> walk;
#pragma unroll
  for (int j = 0; j < ROWS; j++) {
    const mbk_u32 r = mbk_lane() % shape.group + 32 * j;
    const mbk_u64 row = block_row * shape.high + r;
    walk.at[j] = walk.end[j] = 0;
    if (r < shape.high && row < csr.rows) {
      walk.at[j] = mbk_load(csr.row_ptr + row) - MBK_BASE;
      walk.end[j] = mbk_load(csr.row_ptr + row + 1) - MBK_BASE;
    }
    walk.next[j] = mbk_extract_next(csr.col_ind, walk.at[j], walk.end[j]);
  }
  return walk;
}

// Returns the least next column of the group, in all its lanes. All lanes of the warp must call
// it.
template <int ROWS>
MBK_DEVICE mbk_u32 mbk_extract_least(const mbk_extract_walk<ROWS> &walk, mbk_u32 group) {
  mbk_u32 least = walk.next[0];
  if (ROWS > 1 && walk.next[ROWS - 1] < least) {
    least = walk.next[ROWS - 1];
  }
  for (mbk_u32 d = group / 2; d > 0; d >>= 1) {
    const mbk_u32 other = mbk_shuffle_xor(MBK_ALL, least, (int)d, 32);
    least = other < least ? other : least;
  }
  return least;
}

// ---- Counting -------------------------------------------------------------------------------

// The counts of one thread. They become the four numbers of *answer.
struct mbk_extract_tally {
  mbk_u64 blocks;
  mbk_u64 inside;  // values in the part of the blocks that is inside the matrix
  mbk_u64 entries; // entries; duplicates count once
  bool descends;   // the columns of a row descend
};

// Moves past the columns below `limit` and counts their entries.
MBK_DEVICE void mbk_extract_pass(const mbk_i32 *col_ind, MBK_ROW_PTR &at, MBK_ROW_PTR end,
                                 mbk_u32 &next, mbk_u32 limit, mbk_extract_tally &tally) {
  while (next < limit) {
    const mbk_u32 behind = mbk_extract_next(col_ind, ++at, end);
    tally.entries += behind != next;
    tally.descends |= behind < next;
    next = behind;
  }
}

// Counts the blocks in a group's row of blocks.
template <int ROWS>
MBK_DEVICE mbk_u32 mbk_extract_row(const mbk_extract_csr &csr, const mbk_extract_shape &shape,
                                   mbk_u64 block_row, mbk_extract_tally &tally) {
  mbk_extract_walk<ROWS> walk = mbk_extract_start<ROWS>(csr, shape, block_row);
  const mbk_u64 below = csr.rows - block_row * shape.high;
  const mbk_u32 high = below < shape.high ? (mbk_u32)below : shape.high;
  mbk_u32 found = 0;
  for (;;) {
    const mbk_u32 least = mbk_extract_least(walk, shape.group);
    if (mbk_ballot(MBK_ALL, least != MBK_EXTRACT_END) == 0) {
      return found;
    }
    if (least != MBK_EXTRACT_END) {
      const mbk_u32 first = least / shape.wide * shape.wide;
      const mbk_u64 right = csr.cols - first;
      found++;
      tally.inside += high * (right < shape.wide ? right : shape.wide);
#pragma unroll
      for (int j = 0; j < ROWS; j++) {
        mbk_extract_pass(csr.col_ind, walk.at[j], walk.end[j], walk.next[j], first + shape.wide,
                         tally);
      }
    }
  }
}

MBK_DEVICE mbk_u64 mbk_extract_total(mbk_u64 own) {
  for (int d = 16; d > 0; d >>= 1) {
    own += mbk_shuffle_xor(MBK_ALL, own, d, 32);
  }
  return own;
}

// Returns the row of blocks at which window w begins: w * span / high, where span = spans *
// high + rest rows.
MBK_DEVICE mbk_u64 mbk_extract_window(mbk_u64 spans, mbk_u32 rest, mbk_u32 high, mbk_u32 w) {
  return spans * w + rest * w / high;
}

#include "spmv/stages/extract_blocks_arguments.cuh"

// Adds to answer[0..2] the number of blocks, of their values inside the matrix, and of entries.
// answer[3] becomes nonzero if the columns of a row descend; the other counts are then
// meaningless. Counts `windows` windows of `count` rows of blocks each, at most 2^32 - 1 in
// all, which begin at mbk_extract_window. If `counts` is not null, there must be a single
// window of all rows; counts[row] and sums[row / MBK_CHUNK] are then written too. All sums must
// be zero before. 64-bit divisions are avoided, because they are calls that spill registers.
// Launch: any grid of 256 threads.
MBK_KERNEL MBK_RESIDENT(256, 4)
    mbk_extract_count(MBK_GRID_CONSTANT mbk_extract_count_arguments a) {
  const mbk_extract_csr csr = {a.row_ptr, a.col_ind, a.rows, a.cols};
  const mbk_extract_shape shape = {a.high, a.wide, a.group};
  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;
  const mbk_u64 items = (mbk_u64)a.windows * a.count;
  const mbk_u32 side_by_side = 32 / a.group;
  const bool speaks = mbk_lane() % a.group == 0; // whether the lane writes for its group
  mbk_extract_tally tally = {0, 0, 0, false};
  for (mbk_u64 first = warp * side_by_side; first < items;
       first += (mbk_u64)mbk_grid() * 8 * side_by_side) {
    const mbk_u64 item = first + mbk_lane() / a.group;
    const mbk_u32 w = (mbk_u32)item / a.count;
    const mbk_u64 block_row =
        mbk_extract_window(a.spans, a.rest, a.high, w) + (mbk_u32)item % a.count;
    const bool there = item < items && block_row < a.block_rows;
    const mbk_u64 place = there ? block_row : a.block_rows;
    const mbk_u32 found = a.high > 32 ? mbk_extract_row<2>(csr, shape, place, tally)
                                      : mbk_extract_row<1>(csr, shape, place, tally);
    tally.blocks += speaks ? found : 0;
    if (a.counts != 0) {
      const mbk_u64 sum = mbk_extract_total(speaks ? found : 0);
      if (speaks && there) {
        a.counts[block_row] = found;
      }
      if (mbk_lane() == 0 && sum > 0) { // all rows of the warp are in one chunk
        mbk_atomic_add(a.sums + first / MBK_CHUNK, sum);
      }
    }
  }
  const mbk_u64 blocks = mbk_extract_total(tally.blocks);
  const mbk_u64 inside = mbk_extract_total(speaks ? tally.inside : 0);
  const mbk_u64 entries = mbk_extract_total(tally.entries);
  const mbk_u32 descends = mbk_ballot(MBK_ALL, tally.descends);
  if (mbk_lane() == 0 && entries > 0) {
    mbk_atomic_add(a.answer, blocks);
    mbk_atomic_add(a.answer + 1, inside);
    mbk_atomic_add(a.answer + 2, entries);
    if (descends != 0) {
      mbk_atomic_add(a.answer + 3, (mbk_u64)1);
    }
  }
}

// ---- Offsets --------------------------------------------------------------------------------

// Returns the sum of `own` over the earlier threads of the block. Sets *all to the sum over all
// threads. `warps` has a word per warp.
MBK_DEVICE mbk_u64 mbk_extract_before(mbk_u64 own, mbk_u64 *warps, mbk_u32 warp_count,
                                      mbk_u64 *all) {
  mbk_u64 sum = own, before = 0, total = 0;
  for (int d = 1; d < 32; d <<= 1) {
    const mbk_u64 other = mbk_shuffle_up(MBK_ALL, sum, d, 32);
    sum += mbk_lane() >= (mbk_u32)d ? other : 0;
  }
  mbk_block_sync(); // until the sums of the previous call have been read
  if (mbk_lane() == 31) {
    warps[mbk_thread() / 32] = sum;
  }
  mbk_block_sync();
  for (mbk_u32 w = 0; w < warp_count; w++) {
    before += w < mbk_thread() / 32 ? warps[w] : 0;
    total += warps[w];
  }
  *all = total;
  return before + sum - own;
}

// Replaces sums by their exclusive prefix sums. Launch: one block of 1024 threads. Shared:
// mbk_u64[32].
MBK_KERNEL MBK_BOUNDS(1024) mbk_extract_sums(MBK_GRID_CONSTANT mbk_extract_sums_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 base = 0;
  for (mbk_u64 from = 0; from < a.chunks; from += 1024) {
    const mbk_u64 i = from + mbk_thread();
    mbk_u64 all;
    const mbk_u64 before =
        mbk_extract_before(i < a.chunks ? a.sums[i] : 0, (mbk_u64 *)shared, 32, &all);
    if (i < a.chunks) {
      a.sums[i] = base + before;
    }
    base += all;
  }
}

// Writes block_ptr[row] for every row and one more, with 64 bits if `large`, otherwise with 32.
// Launch: a block of 256 threads per chunk, block_rows / MBK_CHUNK + 1 blocks. Shared:
// mbk_u64[8].
MBK_KERNEL MBK_BOUNDS(256)
    mbk_extract_offsets(MBK_GRID_CONSTANT mbk_extract_offsets_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_CHUNK + 4 * mbk_thread();
  mbk_u32 own[4];
  mbk_u64 all, sum = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    own[i] = first + i < a.block_rows ? a.counts[first + i] : 0;
    sum += own[i];
  }
  mbk_u64 before = a.sums[mbk_block()] + mbk_extract_before(sum, (mbk_u64 *)shared, 8, &all);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (first + i <= a.block_rows && a.large != 0) {
      ((mbk_i64 *)a.block_ptr)[first + i] = (mbk_i64)before;
    } else if (first + i <= a.block_rows) {
      ((mbk_i32 *)a.block_ptr)[first + i] = (mbk_i32)before;
    }
    before += own[i];
  }
}

// ---- Columns and masks ----------------------------------------------------------------------

// Returns 32-bit word `word` of a mask in which `bits` have been placed from bit `first` on.
MBK_DEVICE mbk_u32 mbk_extract_word(mbk_u64 bits, mbk_u32 first, mbk_u32 word) {
  const mbk_u32 at = 32 * word;
  return first >= at ? (first - at < 32 ? (mbk_u32)(bits << (first - at)) : 0)
                     : (at - first < 64 ? (mbk_u32)(bits >> (at - first)) : 0);
}

// Moves past a row's columns below first + wide. Returns a bit for each of these columns.
MBK_DEVICE mbk_u64 mbk_extract_bits(const mbk_i32 *col_ind, MBK_ROW_PTR &at, MBK_ROW_PTR end,
                                    mbk_u32 &next, mbk_u32 first, mbk_u32 wide) {
  mbk_u64 bits = 0;
  while (next < first + wide) {
    bits |= (mbk_u64)1 << (next - first);
    next = mbk_extract_next(col_ind, ++at, end);
  }
  return bits;
}

// Writes the mask of a block from the bits of its rows. `there` says whether the group has a
// block. All lanes of the warp must call it.
template <int ROWS>
MBK_DEVICE void mbk_extract_mark(const mbk_extract_shape &shape, const mbk_u64 (&bits)[ROWS],
                                 mbk_u32 *mask, bool there) {
  const mbk_u32 entries = shape.high * shape.wide, lane = mbk_lane() % shape.group;
  for (mbk_u32 word = 0; word < (entries + 63) / 64 * 2; word++) {
    mbk_u32 own = 0;
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
      own |= mbk_extract_word(bits[j], (lane + 32 * j) * shape.wide, word);
    }
    for (mbk_u32 d = shape.group / 2; d > 0; d >>= 1) {
      own |= mbk_shuffle_xor(MBK_ALL, own, (int)d, 32);
    }
    if (there && lane == 0) {
      mask[word] = own;
    }
  }
}

template <int ROWS>
MBK_DEVICE void mbk_extract_row_places(const mbk_extract_csr &csr,
                                       const mbk_extract_shape &shape, mbk_u64 block_row,
                                       mbk_u64 block, mbk_i32 *block_col, mbk_u32 *masks) {
  const mbk_u32 words = (shape.high * shape.wide + 63) / 64 * 2;
  mbk_extract_walk<ROWS> walk = mbk_extract_start<ROWS>(csr, shape, block_row);
  for (;; block++) {
    const mbk_u32 least = mbk_extract_least(walk, shape.group);
    const bool there = least != MBK_EXTRACT_END;
    if (mbk_ballot(MBK_ALL, there) == 0) {
      return;
    }
    const mbk_u32 column = there ? least / shape.wide : 0;
    mbk_u64 bits[ROWS];
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
      bits[j] = there ? mbk_extract_bits(csr.col_ind, walk.at[j], walk.end[j], walk.next[j],
                                         column * shape.wide, shape.wide)
                      : 0;
    }
    if (there && mbk_lane() % shape.group == 0) {
      block_col[block] = (mbk_i32)column;
    }
    if (masks != 0) {
      mbk_extract_mark<ROWS>(shape, bits, masks + block * words, there);
    }
  }
}

// Returns the first block of a row of blocks, from the offsets of mbk_extract_offsets.
MBK_DEVICE mbk_u64 mbk_extract_first(const void *block_ptr, mbk_u32 large, mbk_u64 block_row) {
  return large != 0 ? (mbk_u64)((const mbk_i64 *)block_ptr)[block_row]
                    : (mbk_u64)((const mbk_i32 *)block_ptr)[block_row];
}

// Writes block_col and, unless it is null, `masks`: 32-bit words, an even number per block.
// Launch: `group` lanes per row of blocks, 256 threads per block.
MBK_KERNEL MBK_RESIDENT(256, 4)
    mbk_extract_places(MBK_GRID_CONSTANT mbk_extract_places_arguments a) {
  const mbk_extract_csr csr = {a.row_ptr, a.col_ind, a.rows, a.cols};
  const mbk_extract_shape shape = {a.high, a.wide, a.group};
  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;
  const mbk_u64 item = warp * (32 / a.group) + mbk_lane() / a.group;
  const mbk_u64 block_row = item < a.block_rows ? item : a.block_rows;
  const mbk_u64 block = mbk_extract_first(a.block_ptr, a.large, block_row);
  if (a.high > 32) {
    mbk_extract_row_places<2>(csr, shape, block_row, block, a.block_col, a.masks);
  } else {
    mbk_extract_row_places<1>(csr, shape, block_row, block, a.block_col, a.masks);
  }
}

// ---- Values ---------------------------------------------------------------------------------

// Returns the column of nonzero k, counted from 0.
MBK_DEVICE mbk_u32 mbk_extract_column(const mbk_i32 *col_ind, mbk_u64 k) {
  return (mbk_u32)(mbk_load(col_ind + k) - MBK_BASE);
}

// Returns the index of `column` among `count` ascending columns of blocks, which include it.
MBK_DEVICE mbk_u32 mbk_extract_search(const mbk_i32 *block_col, mbk_u32 count, mbk_u32 column) {
  mbk_u32 low = 0;
  while (count > 1) {
    const mbk_u32 half = count / 2;
    low += (mbk_u32)mbk_load(block_col + low + half) <= column ? half : 0;
    count -= half;
  }
  return low;
}

// Writes the values of the entries into the blocks, whose columns must have been written; ones
// if `values` is null. Duplicates are added up in their order. Launch: one warp per row, 256
// threads per block.
MBK_KERNEL MBK_BOUNDS(256)
    mbk_extract_values(MBK_GRID_CONSTANT mbk_extract_values_arguments a) {
  const mbk_u64 row = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;
  if (row >= a.rows) {
    return;
  }
  const mbk_u64 block_row = row / a.high, r = row - block_row * a.high;
  const mbk_u64 first = mbk_extract_first(a.block_ptr, a.large, block_row);
  const mbk_u32 count =
      (mbk_u32)(mbk_extract_first(a.block_ptr, a.large, block_row + 1) - first);
  const mbk_u64 start = (mbk_u64)(mbk_load(a.row_ptr + row) - MBK_BASE);
  const mbk_u64 end = (mbk_u64)(mbk_load(a.row_ptr + row + 1) - MBK_BASE);
  for (mbk_u64 k = start + mbk_lane(); k < end; k += 32) {
    const mbk_u32 column = mbk_extract_column(a.col_ind, k);
    if (k > start && mbk_extract_column(a.col_ind, k - 1) == column) {
      continue; // the lane of the first duplicate adds them up
    }
    MBK_VALUE sum = a.values != 0 ? mbk_load(a.values + k) : (MBK_VALUE)1;
    for (mbk_u64 i = k + 1; i < end && mbk_extract_column(a.col_ind, i) == column; i++) {
      sum += a.values != 0 ? mbk_load(a.values + i) : (MBK_VALUE)1;
    }
    const mbk_u32 block_col = column / a.wide;
    const mbk_u64 block = first + mbk_extract_search(a.block_col + first, count, block_col);
    a.blocks[(block * a.high + r) * a.wide + (column - block_col * a.wide)] = sum;
  }
}
