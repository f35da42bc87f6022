// Products of sparse matrices, and the prefix sums that turn row lengths into offsets. A
// product takes three passes: it counts the columns of each row, writes them in ascending
// order, and adds up the values in a fixed order. New values need only the third pass. The
// first pass keeps the columns of short rows, and the second one copies them. A group of
// lanes_a * lanes_b lanes computes a row of C: it takes lanes_a entries of A's row at a time,
// and lanes_b entries of the row of B for each of them. Rows that are too long for a group's
// shared memory go to whole thread blocks, which use GPU memory.
#include "solve/amg/multiply_arguments.cuh"

#define MBK_MULTIPLY_THREADS 256 // the most threads per block
#define MBK_MULTIPLY_EMPTY 0xffffffffu

// A lane of a group: the number of lanes, the group's index in the block, the lane's index in
// the group; the masks of the group's lanes and of the lanes that take the same entry of A.
struct mbk_multiply_lane {
  mbk_u32 lanes, group, lane, mask, pair;

  MBK_MEMBER mbk_multiply_lane(mbk_u32 lanes_a, mbk_u32 lanes_b)
      : lanes(lanes_a * lanes_b), group(mbk_thread() / lanes), lane(mbk_thread() % lanes),
        mask(of(lanes)), pair(of(lanes_b)) {
  }
  // Returns the mask of the `count` lanes (a power of two) that include this one.
  static MBK_MEMBER mbk_u32 of(mbk_u32 count) {
    return count == 32 ? 0xffffffffu : ((1u << count) - 1) << mbk_lane() / count * count;
  }
};

// Returns the exclusive prefix sum of `value` over the threads of the block, and sets *all to
// the sum over all. The block has MBK_MULTIPLY_THREADS threads. Shared:
// mbk_u64[MBK_MULTIPLY_THREADS / 32].
MBK_DEVICE mbk_u64 mbk_multiply_before(mbk_u64 value, mbk_u64 *sums, mbk_u64 *all) {
  mbk_u64 sum = value;
  for (int d = 1; d < 32; d <<= 1) {
    const mbk_u64 before = mbk_shuffle_up(0xffffffffu, sum, d, 32);
    sum += mbk_lane() >= (mbk_u32)d ? before : 0;
  }
  mbk_block_sync();
  if (mbk_lane() == 31) {
    sums[mbk_thread() / 32] = sum;
  }
  mbk_block_sync();
  *all = 0;
  for (mbk_u32 w = 0; w < MBK_MULTIPLY_THREADS / 32; w++) {
    sum += w < mbk_thread() / 32 ? sums[w] : 0;
    *all += sums[w];
  }
  return sum - value;
}

// ---- Prefix sums --------------------------------------------------------------------------

#define MBK_SCAN_ITEMS 8 // counts per thread
#define MBK_SCAN_TILE (MBK_MULTIPLY_THREADS * MBK_SCAN_ITEMS)

// Writes the sum of each tile of counts to sums[tile], and raises *most to the largest count.
// Launch, for the scan's kernels: a block per tile, or one for mbk_scan_tiles, of
// MBK_MULTIPLY_THREADS threads. Shared: mbk_u64[MBK_MULTIPLY_THREADS / 32].
MBK_KERNEL MBK_BOUNDS(MBK_MULTIPLY_THREADS)
    mbk_scan_sums(MBK_GRID_CONSTANT mbk_scan_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_SCAN_TILE + mbk_thread();
  mbk_u64 sum = 0, all = 0;
  mbk_u32 most = 0;
  for (mbk_u32 i = 0; i < MBK_SCAN_ITEMS; i++) {
    const mbk_u64 at = first + i * MBK_MULTIPLY_THREADS;
    const mbk_u32 count = at < a.count ? (mbk_u32)a.counts[at] : 0;
    sum += count;
    most = count > most ? count : most;
  }
  (void)mbk_multiply_before(sum, (mbk_u64 *)shared, &all);
  for (int d = 16; d > 0; d /= 2) {
    const mbk_u32 other = mbk_shuffle_xor(0xffffffffu, most, d, 32);
    most = other > most ? other : most;
  }
  if (mbk_lane() == 0) {
    mbk_atomic_max(a.most, most);
  }
  if (mbk_thread() == 0) {
    a.sums[mbk_block()] = all;
  }
}

// Replaces the sums of tiles by their exclusive prefix sums, and writes *total.
MBK_KERNEL MBK_BOUNDS(MBK_MULTIPLY_THREADS)
    mbk_scan_tiles(MBK_GRID_CONSTANT mbk_scan_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 base = 0;
  for (mbk_u64 from = 0; from < a.tiles; from += MBK_MULTIPLY_THREADS) {
    const mbk_u64 i = from + mbk_thread();
    mbk_u64 all = 0;
    const mbk_u64 before =
        mbk_multiply_before(i < a.tiles ? a.sums[i] : 0, (mbk_u64 *)shared, &all);
    if (i < a.tiles) {
      a.sums[i] = base + before;
    }
    base += all;
  }
  if (mbk_thread() == 0) {
    *a.total = base;
  }
}

// Replaces the counts by their exclusive prefix sums, and writes the total after them.
MBK_KERNEL MBK_BOUNDS(MBK_MULTIPLY_THREADS)
    mbk_scan_counts(MBK_GRID_CONSTANT mbk_scan_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_u64 first =
      (mbk_u64)mbk_block() * MBK_SCAN_TILE + (mbk_u64)mbk_thread() * MBK_SCAN_ITEMS;
  mbk_u32 count[MBK_SCAN_ITEMS];
  mbk_u64 sum = 0, all = 0;
#pragma unroll
  for (mbk_u32 i = 0; i < MBK_SCAN_ITEMS; i++) {
    count[i] = first + i < a.count ? (mbk_u32)a.counts[first + i] : 0;
    sum += count[i];
  }
  mbk_u64 at = a.sums[mbk_block()] + mbk_multiply_before(sum, (mbk_u64 *)shared, &all);
#pragma unroll
  for (mbk_u32 i = 0; i < MBK_SCAN_ITEMS; i++) {
    if (first + i < a.count) {
      a.counts[first + i] = (mbk_i32)at;
    }
    at += count[i];
    if (first + i + 1 == a.count) {
      a.counts[a.count] = (mbk_i32)at;
    }
  }
}

// ---- Columns ------------------------------------------------------------------------------

// Calls take(column) for the columns of a row of C; a column may come more than once. Takes the
// entries `first`, `first` + `step`, ... of A's row, and of each corresponding row of B the
// entries that are the share of `lane` among `lanes`.
template <class TAKE>
MBK_DEVICE void mbk_multiply_visit(const mbk_multiply_columns_arguments &a, mbk_u64 row,
                                   mbk_u32 first, mbk_u32 step, mbk_u32 lane, mbk_u32 lanes,
                                   const TAKE &take) {
  const mbk_i32 own = a.smooths ? mbk_load(a.b_col + row) : 0;
  const mbk_u32 end = own >= 0 ? (mbk_u32)mbk_load(a.a_ptr + row + 1) : 0;
  for (mbk_u32 k = (mbk_u32)mbk_load(a.a_ptr + row) + first; k < end; k += step) {
    const mbk_i32 j = mbk_load(a.a_col + k);
    if (j >= 0 && a.b_ptr != nullptr) {
      const mbk_u32 stop = (mbk_u32)mbk_load(a.b_ptr + j + 1);
      for (mbk_u32 l = (mbk_u32)mbk_load(a.b_ptr + j) + lane; l < stop; l += lanes) {
        take((mbk_u32)mbk_load(a.b_col + l));
      }
    } else if (j >= 0 && lane == 0) {
      const mbk_i32 column = a.b_col != nullptr ? mbk_load(a.b_col + j) : j;
      if (column >= 0) {
        take((mbk_u32)column);
      }
    }
  }
  if (a.smooths && first == 0 && lane == 0 && own >= 0) {
    take((mbk_u32)own);
  }
}

// A set of columns in shared memory: a hash table, and a list of its columns. It accepts no
// more columns once it holds more than `most`. The table has twice as many slots, and at least
// 64 if a row may have more than `most` columns.
struct mbk_multiply_set {
  mbk_u32 *table, *list, *count;
  mbk_u32 slots, most;

  MBK_MEMBER void operator()(mbk_u32 column) const {
    for (mbk_u32 slot = column * 0x9e3779b1u >> 7 & (slots - 1); mbk_peek(count) <= most;
         slot = (slot + 1) & (slots - 1)) {
      mbk_u32 seen = mbk_peek(table + slot);
      if (seen == MBK_MULTIPLY_EMPTY) {
        seen = mbk_atomic_swap_if(table + slot, MBK_MULTIPLY_EMPTY, column);
        if (seen == MBK_MULTIPLY_EMPTY) {
          const mbk_u32 place = mbk_atomic_add(count, 1u);
          if (place < most) {
            list[place] = column;
          }
          return;
        }
      }
      if (seen == column) {
        return;
      }
    }
  }
};

// Sorts list[0] to list[count - 1] with a group of lanes. There is room for a power of two.
MBK_DEVICE void mbk_multiply_sort(mbk_u32 *list, mbk_u32 count, const mbk_multiply_lane &me) {
  mbk_u32 width = 1;
  while (width < count) {
    width *= 2;
  }
  for (mbk_u32 i = count + me.lane; i < width; i += me.lanes) {
    list[i] = MBK_MULTIPLY_EMPTY;
  }
  mbk_warp_sync(me.mask);
  for (mbk_u32 size = 2; size <= width; size *= 2) { // a bitonic sort
    for (mbk_u32 gap = size / 2; gap > 0; gap /= 2) {
      for (mbk_u32 i = me.lane; i < width / 2; i += me.lanes) {
        const mbk_u32 low = 2 * i - (i & (gap - 1)), high = low + gap;
        const mbk_u32 x = list[low], y = list[high];
        if ((x > y) == ((low & size) == 0)) {
          list[low] = y;
          list[high] = x;
        }
      }
      mbk_warp_sync(me.mask);
    }
  }
}

#define MBK_MULTIPLY_RANKED 64 // up to so many columns, ranking them is faster than sorting

// Writes the columns of a set to `to`, in ascending order, with a group of lanes.
MBK_DEVICE void mbk_multiply_write(const mbk_multiply_set &set, mbk_u32 count, mbk_i32 *to,
                                   const mbk_multiply_lane &me) {
  if (count > MBK_MULTIPLY_RANKED) {
    mbk_multiply_sort(set.list, count, me);
    for (mbk_u32 i = me.lane; i < count; i += me.lanes) {
      to[i] = (mbk_i32)set.list[i];
    }
    return;
  }
  for (mbk_u32 i = me.lane; i < count; i += me.lanes) {
    const mbk_u32 column = set.list[i];
    mbk_u32 place = 0; // number of smaller columns
    for (mbk_u32 k = 0; k < count; k++) {
      place += set.list[k] < column;
    }
    to[place] = (mbk_i32)column;
  }
}

// Counts or writes the columns of each row of C. Without c_col, writes their number to
// c_ptr[row], or appends the row to long_rows if there are more than slots / 2; writes the
// columns to kept[row * keeps] if there are up to `keeps`, which is at most slots / 2. With
// c_col, writes the columns of the rows that are not long from c_ptr[row] on. Launch: any grid
// of up to MBK_MULTIPLY_THREADS threads, a multiple of 32. Shared, for each group:
// mbk_u32[slots + slots / 2 + 1].
MBK_KERNEL MBK_BOUNDS(MBK_MULTIPLY_THREADS)
    mbk_multiply_columns(MBK_GRID_CONSTANT mbk_multiply_columns_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_multiply_lane me(a.lanes_a, a.lanes_b);
  mbk_u32 *const own = (mbk_u32 *)shared + me.group * (a.slots + a.slots / 2 + 1);
  const mbk_multiply_set set = {own, own + a.slots, own + a.slots + a.slots / 2, a.slots,
                                a.slots / 2};
  const mbk_u32 groups = mbk_threads() / me.lanes;
  for (mbk_u64 row = (mbk_u64)mbk_block() * groups + me.group; row < a.rows;
       row += (mbk_u64)mbk_grid() * groups) {
    const bool writes = a.c_col != nullptr;
    const mbk_u32 at = writes ? (mbk_u32)a.c_ptr[row] : 0;
    const mbk_u32 length = writes ? (mbk_u32)a.c_ptr[row + 1] - at : 0;
    mbk_i32 *const kept = a.kept + row * a.keeps;
    if (length > set.most) {
      continue;
    }
    if (writes && length <= a.keeps) {
      for (mbk_u32 i = me.lane; i < length; i += me.lanes) {
        a.c_col[at + i] = kept[i];
      }
      continue;
    }
    for (mbk_u32 s = me.lane; s < a.slots; s += me.lanes) {
      set.table[s] = MBK_MULTIPLY_EMPTY;
    }
    if (me.lane == 0) {
      *set.count = 0;
    }
    mbk_warp_sync(me.mask);
    mbk_multiply_visit(a, row, me.lane / a.lanes_b, a.lanes_a, me.lane % a.lanes_b, a.lanes_b,
                       set);
    mbk_warp_sync(me.mask);
    const mbk_u32 count = *set.count;
    if (writes || count <= a.keeps) {
      mbk_multiply_write(set, count, writes ? a.c_col + at : kept, me);
    }
    if (!writes && me.lane == 0 && count <= set.most) {
      a.c_ptr[row] = (mbk_i32)count;
    } else if (!writes && me.lane == 0) {
      a.long_rows[mbk_atomic_add(a.long_count, 1u)] = (mbk_i32)row;
    }
    mbk_warp_sync(me.mask);
  }
}

// A set of columns as a bitmap.
struct mbk_multiply_mark {
  mbk_u32 *bits;

  MBK_MEMBER void operator()(mbk_u32 column) const {
    mbk_atomic_or(bits + column / 32, 1u << column % 32);
  }
};

// Does for the long rows what mbk_multiply_columns does for the others; without long_rows, does
// it for all rows. Each block has a bitmap of C's columns, `words` words of `bits`. Launch: any
// grid of MBK_MULTIPLY_THREADS threads. Shared: mbk_u64[MBK_MULTIPLY_THREADS / 32].
MBK_KERNEL MBK_BOUNDS(MBK_MULTIPLY_THREADS)
    mbk_multiply_long_columns(MBK_GRID_CONSTANT mbk_multiply_columns_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_multiply_mark mark = {a.bits + mbk_block() * a.words};
  const mbk_u64 share = (a.words + MBK_MULTIPLY_THREADS - 1) / MBK_MULTIPLY_THREADS;
  const mbk_u64 first = mbk_thread() * share;
  const mbk_u64 last = first + share < a.words ? first + share : a.words;
  const mbk_u32 count = a.long_rows != nullptr ? *a.long_count : (mbk_u32)a.rows;
  for (mbk_u32 i = mbk_block(); i < count; i += mbk_grid()) {
    const mbk_u64 row = a.long_rows != nullptr ? (mbk_u64)a.long_rows[i] : i;
    for (mbk_u64 w = mbk_thread(); w < a.words; w += MBK_MULTIPLY_THREADS) {
      mark.bits[w] = 0;
    }
    mbk_block_sync();
    mbk_multiply_visit(a, row, mbk_thread() / 32, MBK_MULTIPLY_THREADS / 32, mbk_lane(), 32,
                       mark);
    mbk_block_sync();
    mbk_u64 found = 0, all = 0;
    for (mbk_u64 w = first; w < last; w++) {
      found += (mbk_u64)mbk_popcount(mbk_load_fresh(mark.bits + w));
    }
    const mbk_u64 before = mbk_multiply_before(found, (mbk_u64 *)shared, &all);
    if (a.c_col == nullptr && mbk_thread() == 0) {
      a.c_ptr[row] = (mbk_i32)all;
    }
    if (a.c_col != nullptr) {
      mbk_i32 *to = a.c_col + a.c_ptr[row] + before;
      for (mbk_u64 w = first; w < last; w++) {
        for (mbk_u32 left = mbk_load_fresh(mark.bits + w); left != 0; left &= left - 1) {
          *to++ = (mbk_i32)(w * 32) + 31 - mbk_leading_zeros(left & (0u - left));
        }
      }
    }
    mbk_block_sync();
  }
}

// ---- Values -------------------------------------------------------------------------------

// Returns the index of `column` among `count` ascending columns, which must include it.
MBK_DEVICE mbk_u32 mbk_multiply_find(const mbk_i32 *columns, mbk_u32 count, mbk_i32 column) {
  mbk_u32 low = 0;
  for (mbk_u32 high = count - 1; low < high;) {
    const mbk_u32 middle = (low + high) / 2;
    if (columns[middle] < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

#define MBK_MULTIPLY_STRIP 3 // rows of a block of C, and of a block of B, at a time

// A strip: a row of C or, with blocks, up to MBK_MULTIPLY_STRIP rows of a row of blocks.
struct mbk_multiply_strip {
  mbk_u32 node, top, rows; // the row of blocks; the strip's first row in it; number of rows
  mbk_u32 at, count;       // index of the first block of C; number of blocks

  MBK_MEMBER mbk_multiply_strip(const mbk_multiply_values_arguments &a, mbk_u32 number)
      : node(a.strips > 1 ? number / a.strips : number),
        top((number - node * a.strips) * a.high),
        rows(a.high_c - top < a.high ? a.high_c - top : a.high),
        at((mbk_u32)mbk_load(a.c_ptr + node)),
        count((mbk_u32)mbk_load(a.c_ptr + node + 1) - at) {
  }
  // Returns the index of the strip's first value in C.
  MBK_MEMBER mbk_u64 place(const mbk_multiply_values_arguments &a) const {
    return ((mbk_u64)at * a.high_c + top * count) * a.wide;
  }
};

// Adds to `sums`, which belong to a strip of C with the columns `columns`, the products with
// A's row of blocks: its blocks `first`, `first` + `step`, ..., in this order. The lanes of
// `mask` work on a block together; each takes PACK adjacent columns of B's blocks at a time, so
// that no two add to the same sum. STRIP is 1 for single entries.
template <int STRIP, int PACK>
MBK_DEVICE void mbk_multiply_add(const mbk_multiply_values_arguments &a,
                                 const mbk_multiply_strip &to, mbk_u32 first, mbk_u32 step,
                                 mbk_u32 lane, mbk_u32 lanes, mbk_u32 mask,
                                 const mbk_i32 *columns, double *sums) {
  const mbk_u32 wide = STRIP > 1 ? a.wide : 1, high = STRIP > 1 ? a.high_b : 1;
  const mbk_u32 rows = STRIP > 1 ? to.rows : 1, size = to.count * wide;
  const mbk_u32 begin = (mbk_u32)mbk_load(a.a_ptr + to.node);
  const mbk_u32 length = (mbk_u32)mbk_load(a.a_ptr + to.node + 1) - begin;
  const mbk_u32 first_row = STRIP > 1 ? to.node * a.high_c + to.top : to.node;
  const double *const values =
      a.a_val + (STRIP > 1 ? ((mbk_u64)begin * a.high_c + to.top * length) * high : begin);
  const mbk_u32 packs = wide / PACK;                            // per row of a block
  const mbk_u32 l_first = lane / packs, c_first = lane % packs; // block of B, its columns
  const mbk_u32 l_step = lanes / packs, c_step = lanes % packs;
  // The row of B for entry e of A's row, and the first block of a row of B.
  const auto row_of = [&](mbk_u32 e) {
    const mbk_i32 column = e < length ? mbk_load(a.a_col + begin + e) : 0;
    return column >= 0 ? (mbk_u32)column : to.node;
  };
  const auto start_of = [&](mbk_u32 j) {
    return a.b_ptr != nullptr ? (mbk_u32)mbk_load(a.b_ptr + j) : j;
  };
  mbk_u32 now = row_of(first), next = row_of(first + step); // two turns ahead, offsets one
  mbk_u32 from = start_of(now), stop = start_of(now + 1);
  if (a.scale != nullptr && first == 0) { // (I - omega S A) B: adds the row of B itself
    double *const own =
        sums + mbk_multiply_find(columns, to.count, mbk_load(a.b_col + to.node)) * wide;
    for (mbk_u32 c = lane; c < wide; c += lanes) {
      for (mbk_u32 r = 0; r < rows; r++) {
        own[r * size + c] =
            mbk_load(a.b_val + ((mbk_u64)to.node * high + to.top + r) * wide + c);
      }
    }
    mbk_warp_sync(mask);
  }
  for (mbk_u32 k = 16 * lane; STRIP > 1 && k < rows * length * high; k += 16 * lanes) {
    mbk_prefetch(values + k); // a cache line each
  }
  for (mbk_u32 e = first; e < length; e += step) {
    const mbk_u32 blocks = stop - from, from_next = start_of(next);
    stop = start_of(next + 1);
    next = row_of(e + 2 * step);
    for (mbk_u32 part = 0; part < high; part += STRIP) {
      const double *const right = a.b_val + ((mbk_u64)from * high + part * blocks) * wide;
      double left[STRIP][STRIP];
#pragma unroll
      for (mbk_u32 r = 0; r < STRIP; r++) {
        const double factor =
            a.scale != nullptr && r < rows ? -a.omega * mbk_load(a.scale + first_row + r) : 1;
#pragma unroll
        for (mbk_u32 i = 0; i < STRIP; i++) {
          left[r][i] = r < rows && part + i < high
                           ? factor * mbk_load(values + (r * length + e) * high + part + i)
                           : 0;
        }
      }
      for (mbk_u32 l = l_first, c = c_first; l < blocks;) {
        const mbk_i32 column =
            a.b_col != nullptr ? mbk_load(a.b_col + from + l) : (mbk_i32)from;
        if (column >= 0) {
          double *sum = sums + mbk_multiply_find(columns, to.count, column) * wide + PACK * c;
          mbk_pack<double, PACK> entry[STRIP] = {};
#pragma unroll
          for (mbk_u32 i = 0; i < STRIP; i++) {
            if (part + i < high && a.b_val != nullptr) {
              entry[i] =
                  mbk_load_pack<double, PACK>(right + (i * blocks + l) * wide + PACK * c);
            } else {
              entry[i].at[0] = 1; // B is the unit matrix
            }
          }
#pragma unroll
          for (mbk_u32 r = 0; r < STRIP; r++) {
            if (r < rows) {
              mbk_pack<double, PACK> total = *(mbk_pack<double, PACK> *)sum;
#pragma unroll
              for (mbk_u32 p = 0; p < PACK; p++) {
#pragma unroll
                for (mbk_u32 i = 0; i < STRIP; i++) {
                  total.at[p] += left[r][i] * entry[i].at[p];
                }
              }
              *(mbk_pack<double, PACK> *)sum = total;
              sum += size;
            }
          }
        }
        l += l_step;
        c += c_step;
        if (c >= packs) {
          c -= packs;
          l++;
        }
      }
    }
    from = from_next;
    mbk_warp_sync(mask);
  }
}

// Writes the values of the rows of C that have up to `most` entries. Launch: as
// mbk_multiply_columns. Shared, for each group: double[lanes_a * most * high * wide],
// mbk_i32[most]; `most` is a multiple of 4.
template <int STRIP, int PACK>
MBK_DEVICE void mbk_multiply_short_values(const mbk_multiply_values_arguments &a,
                                          unsigned char *shared) {
  const mbk_multiply_lane me(a.lanes_a, a.lanes_b);
  const mbk_u32 wide = STRIP > 1 ? a.wide : 1;
  const mbk_u32 groups = mbk_threads() / me.lanes;
  const mbk_u32 kept = a.lanes_a * a.most * (STRIP > 1 ? a.high : 1) * wide;
  const mbk_u32 first = me.lane / a.lanes_b, lane = me.lane % a.lanes_b;
  double *const sums = (double *)(shared + me.group * (kept * 8 + a.most * 4));
  mbk_i32 *const columns = (mbk_i32 *)(sums + kept);
  for (mbk_u32 i = mbk_block() * groups + me.group; i < a.rows; i += mbk_grid() * groups) {
    const mbk_multiply_strip to(a, i);
    const mbk_u32 size = (STRIP > 1 ? to.rows : 1) * to.count * wide;
    if (to.count == 0 || to.count > a.most) {
      continue;
    }
    for (mbk_u32 k = me.lane; k < to.count; k += me.lanes) {
      columns[k] = mbk_load(a.c_col + to.at + k);
    }
    for (mbk_u32 k = me.lane; k < a.lanes_a * size; k += me.lanes) {
      sums[k] = 0;
    }
    mbk_warp_sync(me.mask);
    mbk_multiply_add<STRIP, PACK>(a, to, first, a.lanes_a, lane, a.lanes_b, me.pair, columns,
                                  sums + first * size);
    mbk_warp_sync(me.mask);
    for (mbk_u32 k = me.lane; k < size; k += me.lanes) {
      double sum = sums[k];
      for (mbk_u32 part = 1; part < a.lanes_a; part++) {
        sum += sums[part * size + k];
      }
      a.c_val[to.place(a) + k] = sum;
    }
    mbk_warp_sync(me.mask);
  }
}

MBK_KERNEL MBK_RESIDENT(MBK_MULTIPLY_THREADS, 4)
    mbk_multiply_values(MBK_GRID_CONSTANT mbk_multiply_values_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_multiply_short_values<1, 1>(a, shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_MULTIPLY_THREADS / 2, 7)
    mbk_multiply_blocks(MBK_GRID_CONSTANT mbk_multiply_values_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_multiply_short_values<MBK_MULTIPLY_STRIP, 1>(a, shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_MULTIPLY_THREADS / 2, 5)
    mbk_multiply_packs(MBK_GRID_CONSTANT mbk_multiply_values_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_multiply_short_values<MBK_MULTIPLY_STRIP, 2>(a, shared);
}

#if __CUDA_ARCH__ >= 900
#define MBK_MULTIPLY_LONG_BLOCKS 4
#else // with more, registers spill
#define MBK_MULTIPLY_LONG_BLOCKS 3
#endif
// Writes the values of the rows of C that have more than `most` entries. Each warp of a block
// has its own sums for a strip, `longest` times `high` times `wide` of them: in `sums` or, if
// that is null, in shared memory. Launch: any grid of up to MBK_MULTIPLY_THREADS threads, a
// multiple of 32. Shared: mbk_u32[2 + MBK_MULTIPLY_THREADS], and the sums.
MBK_KERNEL MBK_RESIDENT(MBK_MULTIPLY_THREADS, MBK_MULTIPLY_LONG_BLOCKS)
    mbk_multiply_long_values(MBK_GRID_CONSTANT mbk_multiply_values_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const found = (mbk_u32 *)shared;
  const mbk_u32 threads = mbk_threads(), warps = threads / 32, warp = mbk_thread() / 32;
  double *const sums = a.sums != nullptr
                           ? a.sums + (mbk_u64)mbk_block() * warps * a.longest * a.high * a.wide
                           : (double *)(found + 2 + MBK_MULTIPLY_THREADS);
  const mbk_u64 even = (a.rows + mbk_grid() - 1) / mbk_grid(); // rows per block
  const mbk_u64 chunk = even < threads ? even : threads;
  for (mbk_u64 first = mbk_block() * chunk; first < a.rows; first += mbk_grid() * chunk) {
    const mbk_u64 mine = first + mbk_thread();
    if (mbk_thread() == 0) {
      *found = 0;
    }
    mbk_block_sync();
    if (mbk_thread() < chunk && mine < a.rows &&
        mbk_multiply_strip(a, (mbk_u32)mine).count > a.most) {
      found[1 + mbk_atomic_add(found, 1u)] = mbk_thread();
    }
    mbk_block_sync();
    for (mbk_u32 f = 1; f <= *found; f++) {
      const mbk_multiply_strip to(a, (mbk_u32)first + found[f]);
      const mbk_u64 size = (mbk_u64)to.rows * to.count * a.wide;
      double *const own = sums + warp * size;
      for (mbk_u64 i = mbk_thread(); i < warps * size; i += threads) {
        sums[i] = 0;
      }
      mbk_block_sync();
      mbk_multiply_add<MBK_MULTIPLY_STRIP, 1>(a, to, warp, warps, mbk_lane(), 32, 0xffffffffu,
                                              a.c_col + to.at, own);
      mbk_block_sync();
      for (mbk_u64 i = mbk_thread(); i < size; i += threads) {
        double sum = sums[i];
        for (mbk_u32 part = 1; part < warps; part++) {
          sum += sums[part * size + i];
        }
        a.c_val[to.place(a) + i] = sum;
      }
      mbk_block_sync();
    }
    mbk_block_sync();
  }
}
