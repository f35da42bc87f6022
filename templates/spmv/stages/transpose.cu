// Transposes a CSR by sorting its entries by column, stably, so that each row of the transpose
// keeps them in the order of the matrix's rows. It is a radix sort of the columns from the
// least significant digit. Each pass counts the digits in each block's run, scans the counts
// and moves the entries. The rows of the entries move with them and become the columns of the
// transpose.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_PLACE
#error "define MBK_PLACE: the type of positions of nonzeros, mbk_i32 or mbk_i64"
#endif
#include "jit/device.cuh"

#define MBK_DIGITS 256 // the most digits; a digit is key >> shift & mask
#define MBK_TRANSPOSE_THREADS 512
#define MBK_TRANSPOSE_ITEMS 12 // items per lane, 32 apart
#define MBK_TRANSPOSE_WARPS (MBK_TRANSPOSE_THREADS / 32)
#define MBK_TRANSPOSE_TILE (MBK_TRANSPOSE_THREADS * MBK_TRANSPOSE_ITEMS)
#define MBK_TRANSPOSE_RESIDENT (sizeof(MBK_PLACE) == 4 ? 2 : 1) // blocks per multiprocessor
#define MBK_ALL_LANES 0xffffffffu

#include "spmv/stages/transpose_arguments.cuh"

// Writes counts[digit * blocks + block], the number of times that a digit occurs in a block's
// run of `chunk` keys. Other arguments and launch as for mbk_transpose_move. Shared:
// mbk_u32[MBK_DIGITS].
MBK_KERNEL MBK_BOUNDS(MBK_TRANSPOSE_THREADS)
    mbk_transpose_count(MBK_GRID_CONSTANT mbk_transpose_count_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const found = (mbk_u32 *)shared;
  const mbk_u64 first = mbk_block() * a.chunk;
  const mbk_u64 end = first + a.chunk < a.nnz ? first + a.chunk : a.nnz;
  if (mbk_thread() < MBK_DIGITS) {
    found[mbk_thread()] = 0;
  }
  mbk_block_sync();
  for (mbk_u64 tile = first + mbk_thread(); tile < end; tile += MBK_TRANSPOSE_TILE) {
    mbk_u32 key[MBK_TRANSPOSE_ITEMS]; // all are loaded before the first one is counted
#pragma unroll
    for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
      const mbk_u64 k = tile + i * MBK_TRANSPOSE_THREADS;
      key[i] = k < end ? (mbk_u32)mbk_load(a.keys + k) - a.base : 0;
    }
#pragma unroll
    for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
      if (tile + i * MBK_TRANSPOSE_THREADS < end) {
        mbk_atomic_add(found + (key[i] >> a.shift & a.mask), 1u);
      }
    }
  }
  mbk_block_sync();
  if (mbk_thread() <= a.mask) {
    a.counts[(mbk_u64)mbk_thread() * mbk_grid() + mbk_block()] = (MBK_PLACE)found[mbk_thread()];
  }
}

// Returns the sum of `value` over the earlier threads of the block. Writes the sum of each warp
// to sums[warp]: T[MBK_TRANSPOSE_WARPS].
template <class T> MBK_DEVICE T mbk_transpose_before(T value, T *sums) {
  T sum = value;
  for (int d = 1; d < 32; d <<= 1) {
    const T before = mbk_shuffle_up(MBK_ALL_LANES, sum, d, 32);
    sum += mbk_lane() >= (mbk_u32)d ? before : 0;
  }
  if (mbk_lane() == 31) {
    sums[mbk_thread() / 32] = sum;
  }
  mbk_block_sync();
  for (mbk_u32 w = 0; w < mbk_thread() / 32; w++) {
    sum += sums[w];
  }
  return sum - value;
}

// Replaces the counts of a digit, one for each of `blocks` blocks, by their exclusive prefix
// sums, and writes their sum to totals[digit]. Launch: one block per digit. Shared:
// MBK_PLACE[MBK_TRANSPOSE_WARPS].
MBK_KERNEL MBK_BOUNDS(MBK_TRANSPOSE_THREADS)
    mbk_transpose_scan(MBK_GRID_CONSTANT mbk_transpose_scan_arguments a) {
  MBK_SHARED_MEMORY(shared);
  MBK_PLACE *const sums = (MBK_PLACE *)shared;
  MBK_PLACE *const own = a.counts + mbk_block() * a.blocks;
  MBK_PLACE base = 0;
  for (mbk_u64 from = 0; from < a.blocks; from += MBK_TRANSPOSE_THREADS) {
    const mbk_u64 i = from + mbk_thread();
    const MBK_PLACE before = mbk_transpose_before<MBK_PLACE>(i < a.blocks ? own[i] : 0, sums);
    if (i < a.blocks) {
      own[i] = base + before;
    }
    for (int w = 0; w < MBK_TRANSPOSE_WARPS; w++) {
      base += sums[w];
    }
    mbk_block_sync();
  }
  if (mbk_thread() == 0) {
    a.totals[mbk_block()] = base;
  }
}

// Returns the first index in [low, high] for which `before` is false; it must be false at
// `high`. Whole warps call it and test 32 candidates at a time.
template <class BEFORE>
MBK_DEVICE mbk_u64 mbk_transpose_search(mbk_u64 low, mbk_u64 high, const BEFORE &before) {
  while (low < high) {
    const mbk_u64 step = (high - low + 31) / 32;
    const mbk_u64 candidate = low + mbk_lane() * step;
    const mbk_u32 count =
        (mbk_u32)mbk_popcount(mbk_ballot(MBK_ALL_LANES, candidate < high && before(candidate)));
    if (count < 32 && low + count * step < high) {
      high = low + count * step;
    }
    low += count > 0 ? (count - 1) * step + 1 : 0;
  }
  return low;
}

// Returns whether a row ends at entry k or earlier.
struct mbk_transpose_row {
  const MBK_ROW_PTR *row_ptr;
  mbk_u64 rows, k;
  mbk_u32 base;

  MBK_MEMBER mbk_u64 end(mbk_u64 row) const { // nnz if row >= rows
    return (mbk_u64)mbk_load(row_ptr + (row < rows ? row + 1 : rows)) - base;
  }
  MBK_MEMBER bool operator()(mbk_u64 row) const {
    return end(row) <= k;
  }
};

// Writes row_of[k], the row of entry k. A warp compares 32 rows with 32 entries. If some
// entries lie after these rows, it takes the next 32 rows; if all do, it searches, because many
// rows may be empty. Launch: any grid.
MBK_KERNEL MBK_BOUNDS(MBK_TRANSPOSE_THREADS)
    mbk_transpose_rows(MBK_GRID_CONSTANT mbk_transpose_rows_arguments a) {
  const mbk_u64 share = 32 * MBK_TRANSPOSE_ITEMS; // consecutive entries that a warp takes at a
                                                  // time
  const mbk_u64 warps = (mbk_u64)mbk_grid() * MBK_TRANSPOSE_WARPS;
  const mbk_u64 warp = (mbk_u64)mbk_block() * MBK_TRANSPOSE_WARPS + mbk_thread() / 32;
  mbk_transpose_row at = {a.row_ptr, a.rows, 0, a.base};
  mbk_u64 low = 0, end = at.end(mbk_lane()); // end: of row low + lane
  for (mbk_u64 first = warp * share; first < a.nnz; first += warps * share) {
    const mbk_u64 stop = first + share < a.nnz ? first + share : a.nnz;
    for (at.k = first; at.k < stop; at.k += 32) {
      const mbk_u32 last = stop - at.k < 32 ? (mbk_u32)(stop - at.k) - 1 : 31;
      const mbk_u32 entry = mbk_lane() < last ? mbk_lane() : last;
      mbk_u32 left = MBK_ALL_LANES; // lanes whose entry's row is still unknown
      while (left != 0) {
        const mbk_u32 ends = end <= at.k ? 0 : end - at.k >= 32 ? 32 : (mbk_u32)(end - at.k);
        mbk_u32 ended = 0; // how many of the 32 rows end at or before the entry
#pragma unroll
        for (mbk_u32 step = 16; step > 0; step /= 2) {
          const mbk_u32 one = mbk_shuffle(MBK_ALL_LANES, ends, (int)(ended + step - 1), 32);
          ended += one <= entry ? step : 0;
        }
        ended += mbk_shuffle(MBK_ALL_LANES, ends, (int)ended, 32) <= entry;
        if ((left >> mbk_lane() & 1u) != 0 && ended < 32 && mbk_lane() <= last) {
          a.row_of[at.k + mbk_lane()] = (mbk_i32)(low + ended);
        }
        const mbk_u32 behind =
            // entries that come after all 32 rows
            left & mbk_ballot(MBK_ALL_LANES, ended == 32);
        if (behind != 0) {
          mbk_transpose_row next = at;
          next.k += 32 - (mbk_u32)mbk_popcount(behind);
          low = behind == left ? mbk_transpose_search(low + 32, a.rows - 1, next) : low + 32;
          end = at.end(low + mbk_lane());
        }
        left = behind;
      }
    }
  }
}

// Stores each item of `own` at delta[digit] plus its rank in the sorted tile. Items pass
// through `stage`, mbk_u32[MBK_TRANSPOSE_TILE], in parts if they are longer than a key. Digits
// are not kept in registers, and stores are not grouped further, because registers would spill.
template <class T>
MBK_DEVICE void mbk_transpose_spread(T *stage, const MBK_PLACE *delta, mbk_u32 count,
                                     const mbk_u32 (&rank)[MBK_TRANSPOSE_ITEMS],
                                     const mbk_u8 *digits, const T (&own)[MBK_TRANSPOSE_ITEMS],
                                     T *to) {
  const int parts = sizeof(T) / sizeof(mbk_u32);
  const mbk_u32 span = MBK_TRANSPOSE_TILE / parts;
#pragma unroll
  for (int part = 0; part < parts; part++) {
    mbk_block_sync();
#pragma unroll
    for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
      if (rank[i] - part * span < span) {
        stage[rank[i] - part * span] = own[i];
      }
    }
    mbk_block_sync();
#pragma unroll 4
    for (mbk_u32 at = part * span + mbk_thread(); at < count && at < (part + 1) * span;
         at += MBK_TRANSPOSE_THREADS) {
      to[delta[digits[at]] + (MBK_PLACE)at] = stage[at - part * span];
    }
  }
}

// Ranks the keys of a warp by digit. Writes rank[i] = (digit << 16) + the number of the warp's
// earlier keys with the same digit, and found[digit], the number of keys with that digit. A
// thread has the items i with 32 * i < in.
MBK_DEVICE void mbk_transpose_rank(const mbk_u32 (&key)[MBK_TRANSPOSE_ITEMS], mbk_u32 shift,
                                   mbk_u32 mask, int in, mbk_u32 *found,
                                   mbk_u32 (&rank)[MBK_TRANSPOSE_ITEMS]) {
  const mbk_u32 below = (1u << mbk_lane()) - 1;
  for (mbk_u32 d = mbk_lane(); d < MBK_DIGITS; d += 32) {
    found[d] = 0;
  }
  mbk_warp_sync(MBK_ALL_LANES);
#pragma unroll
  for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
    const bool valid = i * 32 < in;
    const mbk_u32 digit = key[i] >> shift & mask;
    mbk_u32 peers = mbk_ballot(MBK_ALL_LANES, valid); // lanes with this digit
#pragma unroll
    for (int bit = 0; bit < 8; bit++) {
      const bool set = (digit >> bit & 1u) != 0;
      const mbk_u32 those = mbk_ballot(MBK_ALL_LANES, set);
      peers &= set ? those : ~those;
    }
    const mbk_u32 before = found[digit];
    rank[i] = digit << 16 | (before + (mbk_u32)mbk_popcount(peers & below));
    mbk_warp_sync(MBK_ALL_LANES);
    if (valid && (peers & below) == 0) {
      found[digit] = before + (mbk_u32)mbk_popcount(peers);
    }
    mbk_warp_sync(MBK_ALL_LANES);
  }
}

// Loads own[i] = from[32 * i].
template <class T>
MBK_DEVICE void mbk_transpose_load(const T *from, int in, T (&own)[MBK_TRANSPOSE_ITEMS]) {
#pragma unroll
  for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
    own[i] = i * 32 < in ? mbk_load(from + i * 32) : 0;
  }
}

// Sorts keys by a digit, stably. The rows of the entries move with them, and their places too
// unless places_to is NULL. If `places` is NULL, each entry is still at its original place.
// `base` is subtracted from the keys. A tile is sorted in shared memory first, so that stores
// to a run of equal digits are coalesced. Launch: as mbk_transpose_count, after
// mbk_transpose_scan. Shared: MBK_PLACE[MBK_DIGITS + MBK_TRANSPOSE_WARPS],
// mbk_u32[MBK_TRANSPOSE_TILE], mbk_u8[MBK_TRANSPOSE_TILE].
MBK_KERNEL MBK_RESIDENT(MBK_TRANSPOSE_THREADS, MBK_TRANSPOSE_RESIDENT)
    mbk_transpose_move(MBK_GRID_CONSTANT mbk_transpose_move_arguments a) {
  MBK_SHARED_MEMORY(shared);
  // The destination of a digit's first key, minus the rank of that key in the sorted tile.
  MBK_PLACE *const delta = (MBK_PLACE *)shared;
  MBK_PLACE *const sums = delta + MBK_DIGITS;
  mbk_u32 *const stage = (mbk_u32 *)(sums + MBK_TRANSPOSE_WARPS);
  // The digits of the keys in `stage`.
  mbk_u8 *const digits = (mbk_u8 *)(stage + MBK_TRANSPOSE_TILE);
  mbk_u32 *const found = stage; // before that, the digit counts of each warp
  mbk_u32 *const own = found + mbk_thread() / 32 * MBK_DIGITS;
  const mbk_u64 first = mbk_block() * a.chunk;
  const mbk_u64 end = first + a.chunk < a.nnz ? first + a.chunk : a.nnz;
  const bool counts_digit = mbk_thread() <= a.mask;
  MBK_PLACE start = // where the thread's digit continues
      mbk_transpose_before<MBK_PLACE>(counts_digit ? a.totals[mbk_thread()] : 0, sums);
  if (counts_digit) {
    start += a.counts[(mbk_u64)mbk_thread() * mbk_grid() + mbk_block()];
  }
  for (mbk_u64 tile = first; tile < end; tile += MBK_TRANSPOSE_TILE) {
    const mbk_u32 count =
        end - tile < MBK_TRANSPOSE_TILE ? (mbk_u32)(end - tile) : MBK_TRANSPOSE_TILE;
    const mbk_u32 warp = mbk_thread() / 32 * (32 * MBK_TRANSPOSE_ITEMS);
    const mbk_u32 from = warp + mbk_lane();
    const int in = (int)(count - from); // the thread reads item i if 32 * i < in
    mbk_u32 key[MBK_TRANSPOSE_ITEMS], rank[MBK_TRANSPOSE_ITEMS];
#pragma unroll
    for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
      key[i] = i * 32 < in ? (mbk_u32)mbk_load(a.keys + tile + from + i * 32) - a.base : 0;
    }
    mbk_transpose_rank(key, a.shift, a.mask, in, own, rank);
    mbk_block_sync();
    mbk_u32 total = 0; // count of the thread's digit in the tile
#pragma unroll 4       // full unrolling would take too many registers
    for (int w = 0; counts_digit && w < MBK_TRANSPOSE_WARPS; w++) {
      total += found[w * MBK_DIGITS + mbk_thread()];
    }
    mbk_u32 next = mbk_transpose_before(total, (mbk_u32 *)sums);
    if (counts_digit) {
      delta[mbk_thread()] = start - (MBK_PLACE)next;
      start += (MBK_PLACE)total;
#pragma unroll 4
      for (int w = 0; w < MBK_TRANSPOSE_WARPS; w++) { // counts become first ranks
        const mbk_u32 own_count = found[w * MBK_DIGITS + mbk_thread()];
        found[w * MBK_DIGITS + mbk_thread()] = next;
        next += own_count;
      }
    }
    mbk_block_sync();
#pragma unroll
    for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
      rank[i] = i * 32 < in ? (rank[i] & 0xffff) + own[rank[i] >> 16] : 0xffffffffu;
    }
    mbk_block_sync();
#pragma unroll
    for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
      if (rank[i] < MBK_TRANSPOSE_TILE) {
        stage[rank[i]] = key[i];
      }
    }
    mbk_block_sync();
#pragma unroll 4
    for (mbk_u32 at = mbk_thread(); at < count; at += MBK_TRANSPOSE_THREADS) {
      const mbk_u32 digit = stage[at] >> a.shift & a.mask;
      a.keys_to[delta[digit] + (MBK_PLACE)at] = (mbk_i32)stage[at];
      digits[at] = (mbk_u8)digit;
    }
    mbk_i32 row[MBK_TRANSPOSE_ITEMS];
    mbk_transpose_load(a.rows + tile + from, in, row);
    mbk_transpose_spread((mbk_i32 *)stage, delta, count, rank, digits, row, a.rows_to);
    if (a.places_to != nullptr) {
      MBK_PLACE place[MBK_TRANSPOSE_ITEMS];
#pragma unroll
      for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
        place[i] = (MBK_PLACE)(tile + from + i * 32);
      }
      if (a.places != nullptr) {
        mbk_transpose_load(a.places + tile + from, in, place);
      }
      mbk_transpose_spread((MBK_PLACE *)stage, delta, count, rank, digits, place, a.places_to);
    }
    mbk_block_sync();
  }
}

// Returns whether a column comes before the diagonal in the merge of columns and sorted keys. A
// column comes before the keys equal to it.
struct mbk_transpose_column {
  const mbk_i32 *keys;
  mbk_u64 diagonal;

  MBK_MEMBER bool operator()(mbk_u64 column) const {
    return (mbk_u64)mbk_load(keys + (diagonal - column - 1)) >= column;
  }
};

// Writes starts[c], the index of the first sorted key that is at least c, for c from 0 to
// `cols`. Each block takes an equal share of the merge of cols + 1 columns and nnz keys.
// Launch: a block per MBK_TRANSPOSE_TILE columns and keys. Shared: mbk_u64[2],
// mbk_u32[MBK_TRANSPOSE_TILE].
MBK_KERNEL MBK_BOUNDS(MBK_TRANSPOSE_THREADS)
    mbk_transpose_starts(MBK_GRID_CONSTANT mbk_transpose_starts_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 *const bounds = (mbk_u64 *)shared;
  mbk_u32 *const stage = (mbk_u32 *)(bounds + 2);
  const mbk_u64 all = a.nnz + a.cols + 1, first = (mbk_u64)mbk_block() * MBK_TRANSPOSE_TILE;
  const mbk_u64 last = first + MBK_TRANSPOSE_TILE < all ? first + MBK_TRANSPOSE_TILE : all;
  if (mbk_thread() < 64) {
    const mbk_transpose_column before = {a.keys, mbk_thread() < 32 ? first : last};
    const mbk_u64 least = before.diagonal > a.nnz ? before.diagonal - a.nnz : 0;
    const mbk_u64 most = before.diagonal < a.cols + 1 ? before.diagonal : a.cols + 1;
    const mbk_u64 column = mbk_transpose_search(least, most, before);
    if (mbk_lane() == 0) {
      bounds[mbk_thread() / 32] = column;
    }
  }
  mbk_block_sync();
  if (bounds[0] == bounds[1]) {
    return;
  }
  const mbk_u64 begin = first - bounds[0];
  const mbk_u32 count = (mbk_u32)(last - bounds[1] - begin);
  for (mbk_u32 k = mbk_thread(); k < count; k += MBK_TRANSPOSE_THREADS) {
    stage[k] = (mbk_u32)mbk_load(a.keys + begin + k);
  }
  mbk_block_sync();
  for (mbk_u64 c = bounds[0] + mbk_thread(); c < bounds[1]; c += MBK_TRANSPOSE_THREADS) {
    mbk_u32 low = 0, high = count;
    while (low < high) {
      const mbk_u32 middle = (low + high) / 2;
      if (stage[middle] < c) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    a.starts[c] = (MBK_PLACE)(begin + low);
  }
}
