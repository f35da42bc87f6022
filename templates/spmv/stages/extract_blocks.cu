// Extracts blocks from a CSR matrix whose rows ascend, with or without duplicates: counts them,
// writes their offsets and columns, and fills in their entries. A group of lanes owns a row of
// blocks and walks its rows together; a lane has one row, or two if blocks have more than 32
// rows. The least column that no row has passed starts the next block.
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

// The shape is a runtime argument: the conversion waits for memory, not for divisions, and one
// program serves all shapes. group: lanes per row of blocks, a power of two. A lane owns the
// row of its number, and in blocks of more than 32 rows also that number plus 32.
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

// Finds a group's rows. Rows after the last, and those of a row of blocks past the end, are
// empty.
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

// Returns the least next column of a group, in all its lanes. All lanes of the warp must call
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

// The counts of one thread; the first three and `descends` become four numbers in *answer.
struct mbk_extract_tally {
  mbk_u64 blocks;
  mbk_u64 inside;  // values of the blocks inside the matrix
  mbk_u64 entries; // each place counted once, duplicates or not
  bool descends;   // a row descends
};

// Moves past the columns below `limit` and counts the entries.
MBK_DEVICE void mbk_extract_pass(const mbk_i32 *col_ind, MBK_ROW_PTR &at, MBK_ROW_PTR end,
                                 mbk_u32 &next, mbk_u32 limit, mbk_extract_tally &tally) {
  while (next < limit) {
    const mbk_u32 behind = mbk_extract_next(col_ind, ++at, end);
    tally.entries += behind != next;
    tally.descends |= behind < next;
    next = behind;
  }
}

// Counts the blocks of a group's row of blocks.
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

// Returns the row of blocks where window w begins: w * span / high, with span = spans * high +
// rest rows.
MBK_DEVICE mbk_u64 mbk_extract_window(mbk_u64 spans, mbk_u32 rest, mbk_u32 high, mbk_u32 w) {
  return spans * w + rest * w / high;
}

#include "spmv/stages/extract_blocks_arguments.cuh"

// Adds to answer[0..2] the numbers of blocks, of their values inside the matrix, and of
// entries. answer[3] becomes nonzero if a row descends; the others then mean nothing. Counts
// `windows` windows of `count` rows of blocks each, at most 2^32 - 1 in all; they begin at
// mbk_extract_window. If counts is not null, there must be one window of all rows; then
// counts[row] and sums[row / MBK_CHUNK] are written too. All sums must be zero before. There is
// no 64-bit division, because it is a call around which registers are spilled. Launch: any grid
// of 256 threads.
MBK_KERNEL MBK_RESIDENT(256, 4)
    mbk_extract_count(MBK_GRID_CONSTANT mbk_extract_count_arguments a) {
  const mbk_extract_csr csr = {a.row_ptr, a.col_ind, a.rows, a.cols};
  const mbk_extract_shape shape = {a.high, a.wide, a.group};
  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;
  const mbk_u64 items = (mbk_u64)a.windows * a.count;
  const mbk_u32 side_by_side = 32 / a.group;
  const bool speaks = mbk_lane() % a.group == 0; // one lane writes for its group
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

// Returns the sum of `own` over the threads of the block before this one. Sets *all to the sum
// over all threads. `warps`: one word per warp.
MBK_DEVICE mbk_u64 mbk_extract_before(mbk_u64 own, mbk_u64 *warps, mbk_u32 warp_count,
                                      mbk_u64 *all) {
  mbk_u64 sum = own, before = 0, total = 0;
  for (int d = 1; d < 32; d <<= 1) {
    const mbk_u64 other = mbk_shuffle_up(MBK_ALL, sum, d, 32);
    sum += mbk_lane() >= (mbk_u32)d ? other : 0;
  }
  mbk_block_sync(); // the sums of the previous call have been read
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

// Writes block_ptr[row] for every row and the one after the last; with 64 bits if `large`, else
// with 32. Launch: a block of 256 threads per chunk, block_rows / MBK_CHUNK + 1 blocks. Shared:
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

// ---- Filling --------------------------------------------------------------------------------

struct mbk_extract_target { // null: not wanted
  mbk_i32 *block_col;
  mbk_u32 *masks; // 32-bit words, an even number per block; zero before
  MBK_VALUE *blocks;
};

// Sets bits of a mask for one row of a block. `bit` is the number of the row's first place in
// the block.
MBK_DEVICE void mbk_extract_mark(mbk_u32 *mask, mbk_u32 bit, mbk_u64 bits) {
  mbk_u32 shift = bit % 32;
  for (mask += bit / 32; bits != 0; mask++) {
    if ((mbk_u32)(bits << shift) != 0) {
      mbk_atomic_or(mask, (mbk_u32)(bits << shift));
    }
    bits >>= 32 - shift;
    shift = 0;
  }
}

// Writes a row's entries below `first + wide` into row `r` of block `block`. Duplicates are
// added up in their order.
MBK_DEVICE void mbk_extract_put(const mbk_extract_csr &csr, const mbk_extract_shape &shape,
                                const MBK_VALUE *values, const mbk_extract_target &to,
                                MBK_ROW_PTR &at, MBK_ROW_PTR end, mbk_u32 &next, mbk_u32 first,
                                mbk_u32 r, mbk_u64 block) {
  const mbk_u32 entries = shape.high * shape.wide;
  mbk_u64 bits = 0;
  while (next < first + shape.wide) {
    const mbk_u32 column = next;
    MBK_VALUE sum = values != 0 ? mbk_load(values + at) : (MBK_VALUE)1;
    next = mbk_extract_next(csr.col_ind, ++at, end);
    while (next == column) {
      sum += values != 0 ? mbk_load(values + at) : (MBK_VALUE)1;
      next = mbk_extract_next(csr.col_ind, ++at, end);
    }
    bits |= (mbk_u64)1 << (column - first);
    if (to.blocks != 0) {
      to.blocks[block * entries + r * shape.wide + column - first] = sum;
    }
  }
  if (to.masks != 0) {
    mbk_extract_mark(to.masks + block * ((entries + 63) / 64 * 2), r * shape.wide, bits);
  }
}

template <int ROWS>
MBK_DEVICE void mbk_extract_fill_row(const mbk_extract_csr &csr, const mbk_extract_shape &shape,
                                     const MBK_VALUE *values, const mbk_extract_target &to,
                                     mbk_u64 block_row, mbk_u64 block) {
  mbk_extract_walk<ROWS> walk = mbk_extract_start<ROWS>(csr, shape, block_row);
  for (;; block++) {
    const mbk_u32 least = mbk_extract_least(walk, shape.group);
    if (mbk_ballot(MBK_ALL, least != MBK_EXTRACT_END) == 0) {
      return;
    }
    if (least != MBK_EXTRACT_END) {
      const mbk_u32 column = least / shape.wide;
      if (to.block_col != 0 && mbk_lane() % shape.group == 0) {
        to.block_col[block] = (mbk_i32)column;
      }
#pragma unroll
      for (int j = 0; j < ROWS; j++) {
        mbk_extract_put(csr, shape, values, to, walk.at[j], walk.end[j], walk.next[j],
                        column * shape.wide, mbk_lane() % shape.group + 32 * j, block);
      }
    }
  }
}

// Writes block_col, masks and the values of entries, each unless its pointer is null. Masks
// must be zero before. If values is null, entries are ones. block_ptr comes from
// mbk_extract_offsets. Launch: `group` lanes per row of blocks, 256 threads per block.
MBK_KERNEL MBK_RESIDENT(256, 4)
    mbk_extract_fill(MBK_GRID_CONSTANT mbk_extract_fill_arguments a) {
  const mbk_extract_csr csr = {a.row_ptr, a.col_ind, a.rows, a.cols};
  const mbk_extract_shape shape = {a.high, a.wide, a.group};
  const mbk_extract_target to = {a.block_col, a.masks, a.blocks};
  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32;
  const mbk_u64 item = warp * (32 / a.group) + mbk_lane() / a.group;
  const mbk_u64 block_row = item < a.block_rows ? item : a.block_rows;
  const mbk_u64 block = a.large != 0 ? (mbk_u64)((const mbk_i64 *)a.block_ptr)[block_row]
                                     : (mbk_u64)((const mbk_i32 *)a.block_ptr)[block_row];
  if (a.high > 32) {
    mbk_extract_fill_row<2>(csr, shape, a.values, to, block_row, block);
  } else {
    mbk_extract_fill_row<1>(csr, shape, a.values, to, block_row, block);
  }
}
