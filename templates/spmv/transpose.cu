// The transpose of a CSR: its entries sorted by column, stably, so that each row of the
// transpose has them in the order of the matrix's rows. A radix sort by bytes of the columns,
// least significant first: count the digits of each block's run, sum them up, move.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_PLACE
#error "define MBK_PLACE: the type of places of nonzeros, mbk_i32 or mbk_i64"
#endif
#include "jit/device.cuh"

#define MBK_DIGITS 256
#define MBK_TRANSPOSE_WARPS 8
#define MBK_TRANSPOSE_ITEMS 8   // of a lane, 32 apart
#define MBK_TRANSPOSE_TILE 2048 // all of them
#define MBK_ALL_LANES 0xffffffffu

// counts[digit * blocks + block]: how often a digit occurs in a block's run of `chunk` keys.
// The other arguments are of mbk_transpose_move. Launch: 256 threads. Shared:
// mbk_u32[MBK_DIGITS].
MBK_KERNEL MBK_BOUNDS(256)
    mbk_transpose_count(const mbk_i32 *keys, mbk_u32 base, mbk_u64 nnz, mbk_u32 shift,
                        mbk_u64 chunk, MBK_PLACE *counts) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const found = (mbk_u32 *)shared;
  const mbk_u64 first = mbk_block() * chunk;
  const mbk_u64 end = first + chunk < nnz ? first + chunk : nnz;
  found[mbk_thread()] = 0;
  mbk_block_sync();
  for (mbk_u64 k = first + mbk_thread(); k < end; k += 256) {
    const mbk_u32 key = (mbk_u32)mbk_load(keys + k) - base;
    mbk_atomic_add(found + (key >> shift & (MBK_DIGITS - 1)), 1u);
  }
  mbk_block_sync();
  counts[(mbk_u64)mbk_thread() * mbk_grid() + mbk_block()] = (MBK_PLACE)found[mbk_thread()];
}

// The sum of `value` in this lane and those before it.
MBK_DEVICE MBK_PLACE mbk_transpose_sum(MBK_PLACE value) {
  for (int d = 1; d < 32; d <<= 1) {
    const MBK_PLACE before = mbk_shuffle_up(MBK_ALL_LANES, value, d, 32);
    value += mbk_lane() >= (mbk_u32)d ? before : 0;
  }
  return value;
}

// The counts of a digit, one for each of `blocks`, become their exclusive prefix sums, and
// totals[digit] their sum. Launch: one warp for each digit; 256 threads per block.
MBK_KERNEL MBK_BOUNDS(256)
    mbk_transpose_scan(MBK_PLACE *counts, mbk_u64 blocks, MBK_PLACE *totals) {
  const mbk_u32 digit = (mbk_block() * 256 + mbk_thread()) / 32;
  MBK_PLACE *const own = counts + digit * blocks;
  MBK_PLACE base = 0;
  for (mbk_u64 from = 0; from < blocks; from += 32) {
    const mbk_u64 i = from + mbk_lane();
    const MBK_PLACE count = i < blocks ? own[i] : 0;
    const MBK_PLACE sum = mbk_transpose_sum(count);
    if (i < blocks) {
      own[i] = base + sum - count;
    }
    base += mbk_shuffle(MBK_ALL_LANES, sum, 31, 32);
  }
  if (mbk_lane() == 0) {
    totals[digit] = base;
  }
}

// Keys and places in the order of the digit, those of one digit as they come; `base` is taken
// from keys; places NULL: each entry is where it is. Launch: as mbk_transpose_count, after the
// sums. Shared: MBK_PLACE[MBK_DIGITS + 8], mbk_u32[MBK_TRANSPOSE_WARPS * MBK_DIGITS].
MBK_KERNEL MBK_BOUNDS(256)
    mbk_transpose_move(const mbk_i32 *keys, mbk_u32 base, mbk_u64 nnz, mbk_u32 shift,
                       mbk_u64 chunk, const MBK_PLACE *counts, const MBK_PLACE *totals,
                       const MBK_PLACE *places, mbk_i32 *keys_to, MBK_PLACE *places_to) {
  MBK_SHARED_MEMORY(shared);
  MBK_PLACE *const start = (MBK_PLACE *)shared; // where the next key with each digit goes
  mbk_u32 *const found = (mbk_u32 *)(start + MBK_DIGITS + MBK_TRANSPOSE_WARPS);
  mbk_u32 *const own = found + mbk_thread() / 32 * MBK_DIGITS; // by this warp in a tile
  const mbk_u32 below = (1u << mbk_lane()) - 1;
  const mbk_u64 first = mbk_block() * chunk;
  const mbk_u64 end = first + chunk < nnz ? first + chunk : nnz;
  {
    const MBK_PLACE count = totals[mbk_thread()];
    MBK_PLACE *const warps = start + MBK_DIGITS;
    MBK_PLACE sum = mbk_transpose_sum(count);
    if (mbk_lane() == 31) {
      warps[mbk_thread() / 32] = sum;
    }
    mbk_block_sync();
    for (mbk_u32 w = 0; w < mbk_thread() / 32; w++) {
      sum += warps[w];
    }
    start[mbk_thread()] =
        sum - count + counts[(mbk_u64)mbk_thread() * mbk_grid() + mbk_block()];
  }
  for (mbk_u64 tile = first; tile < end; tile += MBK_TRANSPOSE_TILE) {
    const mbk_u32 count =
        end - tile < MBK_TRANSPOSE_TILE ? (mbk_u32)(end - tile) : MBK_TRANSPOSE_TILE;
    const mbk_u32 from = mbk_thread() / 32 * (32 * MBK_TRANSPOSE_ITEMS) + mbk_lane();
    mbk_u32 key[MBK_TRANSPOSE_ITEMS], rank[MBK_TRANSPOSE_ITEMS];
    for (int w = 0; w < MBK_TRANSPOSE_WARPS; w++) {
      found[w * MBK_DIGITS + mbk_thread()] = 0;
    }
#pragma unroll
    for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
      key[i] =
          from + i * 32 < count ? (mbk_u32)mbk_load(keys + tile + from + i * 32) - base : 0;
    }
    mbk_block_sync();
#pragma unroll
    for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
      const bool valid = from + i * 32 < count;
      const mbk_u32 digit = key[i] >> shift & (MBK_DIGITS - 1);
      mbk_u32 peers = mbk_ballot(MBK_ALL_LANES, valid); // lanes with this digit
#pragma unroll
      for (int bit = 0; bit < 8; bit++) {
        const bool set = (digit >> bit & 1u) != 0;
        const mbk_u32 those = mbk_ballot(MBK_ALL_LANES, set);
        peers &= set ? those : ~those;
      }
      const mbk_u32 before = own[digit];
      rank[i] = before + (mbk_u32)mbk_popcount(peers & below);
      mbk_warp_sync(MBK_ALL_LANES);
      if (valid && (peers & below) == 0) {
        own[digit] = before + (mbk_u32)mbk_popcount(peers);
      }
      mbk_warp_sync(MBK_ALL_LANES);
    }
    mbk_block_sync();
    mbk_u32 total = 0; // of the thread's digit: counts become those of the warps before
    for (int w = 0; w < MBK_TRANSPOSE_WARPS; w++) {
      const mbk_u32 own_count = found[w * MBK_DIGITS + mbk_thread()];
      found[w * MBK_DIGITS + mbk_thread()] = total;
      total += own_count;
    }
    mbk_block_sync();
#pragma unroll
    for (int i = 0; i < MBK_TRANSPOSE_ITEMS; i++) {
      if (from + i * 32 < count) {
        const mbk_u64 k = tile + from + i * 32;
        const mbk_u32 digit = key[i] >> shift & (MBK_DIGITS - 1);
        const MBK_PLACE to = start[digit] + (MBK_PLACE)(own[digit] + rank[i]);
        keys_to[to] = (mbk_i32)key[i];
        places_to[to] = places != nullptr ? mbk_load(places + k) : (MBK_PLACE)k;
      }
    }
    mbk_block_sync();
    start[mbk_thread()] += (MBK_PLACE)total;
  }
}

// starts[c]: the first of the sorted keys that is c or more, for c up to and with `cols`.
// Launch: any grid of 256 threads; so below.
MBK_KERNEL MBK_BOUNDS(256)
    mbk_transpose_starts(const mbk_i32 *keys, mbk_u64 nnz, mbk_u64 cols, MBK_PLACE *starts) {
  for (mbk_u64 c = (mbk_u64)mbk_block() * 256 + mbk_thread(); c <= cols;
       c += (mbk_u64)mbk_grid() * 256) {
    mbk_u64 low = 0, high = nnz;
    while (low < high) {
      const mbk_u64 middle = low + (high - low) / 2;
      if ((mbk_u64)mbk_load(keys + middle) < c) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[c] = (MBK_PLACE)low;
  }
}

// The first row from `low` to `high` that ends behind entry k.
MBK_DEVICE mbk_u64 mbk_transpose_row(const MBK_ROW_PTR *row_ptr, mbk_u32 base, mbk_u64 low,
                                     mbk_u64 high, mbk_u64 k) {
  while (low < high) {
    const mbk_u64 middle = low + (high - low) / 2;
    if ((mbk_u64)mbk_load(row_ptr + middle + 1) - base <= k) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// row_of[k]: the row of entry k. A block finds the rows of 2048 entries between those of the
// first and the last of them.
MBK_KERNEL MBK_BOUNDS(256) mbk_transpose_rows(const MBK_ROW_PTR *row_ptr, mbk_u64 rows,
                                              mbk_u64 nnz, mbk_u32 base, mbk_i32 *row_of) {
  for (mbk_u64 piece = (mbk_u64)mbk_block() * 2048; piece < nnz;
       piece += (mbk_u64)mbk_grid() * 2048) {
    const mbk_u64 end = piece + 2048 < nnz ? piece + 2048 : nnz;
    const mbk_u64 low = mbk_transpose_row(row_ptr, base, 0, rows - 1, piece);
    const mbk_u64 high = mbk_transpose_row(row_ptr, base, low, rows - 1, end - 1);
    for (mbk_u64 k = piece + mbk_thread(); k < end; k += 256) {
      row_of[k] = (mbk_i32)mbk_transpose_row(row_ptr, base, low, high, k);
    }
  }
}

// columns[k] = row_of[places[k]].
MBK_KERNEL MBK_BOUNDS(256) mbk_transpose_columns(const MBK_PLACE *places, const mbk_i32 *row_of,
                                                 mbk_u64 nnz, mbk_i32 *columns) {
  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread(); k < nnz;
       k += (mbk_u64)mbk_grid() * 256) {
    columns[k] = mbk_load(row_of + mbk_load_once(places + k));
  }
}
