// Builds the runs of the binned product on the GPU. spmv/gpu/binned/binned.cu includes this
// file. runs[strip * parts + part] is first the number of groups of a run, then its first group
// in the order of phase 1.
#ifndef MBK_GROUP
#error "include spmv/gpu/binned/binned.cu, which opens with the list of macros"
#endif

#define MBK_BUILD_THREADS 512
#define MBK_BUILD_TOGETHER 8 // nonzeros whose columns a thread loads at once

// Returns the number of nonzeros of this block's part.
MBK_DEVICE mbk_u32 mbk_binned_part(mbk_u64 nnz) {
  const mbk_u64 left = nnz - (mbk_u64)mbk_block() * MBK_PART_NONZEROS;
  return left < MBK_PART_NONZEROS ? (mbk_u32)left : MBK_PART_NONZEROS;
}

// Loads the columns of nonzeros at, at + MBK_BUILD_THREADS and so on of a part of `count`
// nonzeros. `at` is below `count`; in place of nonzeros beyond the part, nonzero `at` is loaded
// again.
MBK_DEVICE void mbk_binned_columns(const mbk_i32 *columns, mbk_u32 count, mbk_u32 at,
                                   mbk_u32 (&column)[MBK_BUILD_TOGETHER]) {
#pragma unroll
  for (mbk_u32 j = 0; j < MBK_BUILD_TOGETHER; j++) {
    const mbk_u32 i = at + j * MBK_BUILD_THREADS;
    column[j] = (mbk_u32)(mbk_load(columns + (i < count ? i : at)) - MBK_BASE);
  }
}

// Counts, in shared memory, the nonzeros of this block's part in each strip. The part's columns
// begin at `columns`.
MBK_DEVICE void mbk_binned_histogram(const mbk_i32 *columns, mbk_u32 count, mbk_u32 strips,
                                     mbk_u32 *counts) {
  for (mbk_u32 s = mbk_thread(); s < strips; s += MBK_BUILD_THREADS) {
    counts[s] = 0;
  }
  mbk_block_sync();
  for (mbk_u32 i = mbk_thread(); i < count; i += MBK_BUILD_TOGETHER * MBK_BUILD_THREADS) {
    mbk_u32 column[MBK_BUILD_TOGETHER];
    mbk_binned_columns(columns, count, i, column);
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_BUILD_TOGETHER; j++) {
      if (i + j * MBK_BUILD_THREADS < count) {
        mbk_atomic_add(counts + column[j] / MBK_STRIP, 1u);
      }
    }
  }
  mbk_block_sync();
}

#include "spmv/gpu/binned/build_arguments.cuh"

// Writes the number of groups of each run to runs, and of each part to part_groups. Launch: one
// block per part. Shared: mbk_u32[strips + 1].
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_binned_count(MBK_GRID_CONSTANT mbk_binned_count_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const counts = (mbk_u32 *)shared;
  mbk_u32 *const total = counts + a.strips;
  mbk_u32 mine = 0;
  if (mbk_thread() == 0) {
    *total = 0;
  }
  mbk_binned_histogram(a.col_ind + (mbk_u64)mbk_block() * MBK_PART_NONZEROS,
                       mbk_binned_part(a.nnz), a.strips, counts);
  for (mbk_u32 s = mbk_thread(); s < a.strips; s += MBK_BUILD_THREADS) {
    const mbk_u32 groups = (counts[s] + MBK_GROUP - 1) / MBK_GROUP;
    a.runs[(mbk_u64)s * mbk_grid() + mbk_block()] = groups;
    mine += groups;
  }
  mbk_atomic_add(total, mine);
  mbk_block_sync();
  if (mbk_thread() == 0) {
    a.part_groups[mbk_block()] = *total;
  }
}

// Adds up the groups of each strip. Launch: one warp per strip, blocks of MBK_BUILD_THREADS.
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_binned_total(MBK_GRID_CONSTANT mbk_binned_total_arguments a) {
  const mbk_u32 strip = mbk_block() * (MBK_BUILD_THREADS / 32) + mbk_thread() / 32;
  mbk_u32 sum = 0;
  if (strip >= a.strips) {
    return;
  }
  for (mbk_u64 i = mbk_lane(); i < a.parts; i += 32) {
    sum += mbk_load(a.runs + strip * a.parts + i);
  }
  for (int d = 16; d > 0; d >>= 1) {
    sum += mbk_shuffle_xor(MBK_ALL, sum, d, 32);
  }
  if (mbk_lane() == 0) {
    a.groups[strip] = sum;
  }
}

// Turns each run's number of groups into the number of its first group. strip_start has the
// first group of each strip. Launch: as mbk_binned_total.
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_binned_offsets(MBK_GRID_CONSTANT mbk_binned_offsets_arguments a) {
  const mbk_u32 strip = mbk_block() * (MBK_BUILD_THREADS / 32) + mbk_thread() / 32;
  if (strip >= a.strips) {
    return;
  }
  mbk_u32 start = mbk_load(a.strip_start + strip);
  for (mbk_u64 i = 0; i < a.parts; i += 32) {
    mbk_u32 *const at = a.runs + strip * a.parts + i + mbk_lane();
    const mbk_u32 own = i + mbk_lane() < a.parts ? *at : 0;
    mbk_u32 sum = own;
    for (int d = 1; d < 32; d <<= 1) {
      const mbk_u32 other = mbk_shuffle_up(MBK_ALL, sum, d, 32);
      sum += (int)mbk_lane() >= d ? other : 0;
    }
    if (i + mbk_lane() < a.parts) {
      *at = start + sum - own;
    }
    start += mbk_shuffle(MBK_ALL, sum, 31, 32);
  }
}

// Writes columns, values and targets for phase 1, and places for phase 2. With `again` writes
// only new values. The part's columns are collected in shared memory, in the order of its
// places, and stored run by run. Launch: one block per part. Shared: mbk_u32[3][strips], then
// mbk_u16[MBK_GROUP] for each group of the largest part.
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_binned_fill(MBK_GRID_CONSTANT mbk_binned_fill_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const used = (mbk_u32 *)shared, *const start = used + a.strips,
                 *const run = start + a.strips, *const packs = run + a.strips;
  mbk_u16 *const columns = (mbk_u16 *)packs; // two per word of packs
  const mbk_u32 part = mbk_block(), lane = mbk_lane(), count = mbk_binned_part(a.nnz);
  const mbk_u64 first = (mbk_u64)part * MBK_PART_NONZEROS;
  const mbk_u32 here = mbk_load(a.part_start + part);
  const mbk_u32 all = (mbk_load(a.part_start + part + 1) - here) * (MBK_GROUP / 2);
  for (mbk_u32 i = mbk_thread(); i < all; i += MBK_BUILD_THREADS) {
    packs[i] = 0; // padding, whose products nobody uses
  }
  mbk_binned_histogram(a.col_ind + first, count, a.strips, used);
  if (mbk_thread() < 32) { // the first group of each strip within the part
    mbk_u32 before = 0;
    for (mbk_u32 s = lane; s - lane < a.strips; s += 32) {
      const mbk_u32 own = s < a.strips ? (used[s] + MBK_GROUP - 1) / MBK_GROUP : 0;
      mbk_u32 sum = own;
      for (int d = 1; d < 32; d <<= 1) {
        const mbk_u32 other = mbk_shuffle_up(MBK_ALL, sum, d, 32);
        sum += (int)lane >= d ? other : 0;
      }
      if (s < a.strips) {
        start[s] = before + sum - own;
      }
      before += mbk_shuffle(MBK_ALL, sum, 31, 32);
    }
  }
  mbk_block_sync();
  for (mbk_u32 s = mbk_thread(); s < a.strips; s += MBK_BUILD_THREADS) {
    run[s] = mbk_load(a.runs + (mbk_u64)s * mbk_grid() + part);
    used[s] = 0;
  }
  mbk_block_sync();
  for (mbk_u32 from = mbk_thread(); from < count;
       from += MBK_BUILD_TOGETHER * MBK_BUILD_THREADS) {
    mbk_u32 column[MBK_BUILD_TOGETHER];
    mbk_binned_columns(a.col_ind + first, count, from, column);
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_BUILD_TOGETHER; j++) {
      const mbk_u32 i = from + j * MBK_BUILD_THREADS, strip = column[j] / MBK_STRIP;
      if (i < count) {
        mbk_u16 *const place = a.places + first + i;
        const mbk_u32 at =
            a.again ? *place - start[strip] * MBK_GROUP : mbk_atomic_add(used + strip, 1u);
        if (!a.again) {
          *place = (mbk_u16)(start[strip] * MBK_GROUP + at);
          columns[start[strip] * MBK_GROUP + at] = (mbk_u16)(column[j] - strip * MBK_STRIP);
        }
#if !MBK_PATTERN
        a.strip_values[(mbk_u64)run[strip] * MBK_GROUP + at] = mbk_load(a.values + first + i);
#endif
      }
    }
  }
  mbk_block_sync();
  if (a.again) {
    return;
  }
  for (mbk_u32 s = mbk_thread() / 32; s < a.strips; s += MBK_BUILD_THREADS / 32) {
    const mbk_u32 groups = (used[s] + MBK_GROUP - 1) / MBK_GROUP;
    mbk_u32 *const to = (mbk_u32 *)(a.strip_col + (mbk_u64)run[s] * MBK_GROUP);
    for (mbk_u32 i = lane; i < groups * (MBK_GROUP / 2); i += 32) {
      to[i] = packs[start[s] * (MBK_GROUP / 2) + i];
    }
#if !MBK_PATTERN
    for (mbk_u32 i = used[s] + lane; i < groups * MBK_GROUP; i += 32) {
      a.strip_values[(mbk_u64)run[s] * MBK_GROUP + i] = (MBK_VALUE)0;
    }
#endif
    for (mbk_u32 g = lane; g < groups; g += 32) {
      a.target[run[s] + g] = here + start[s] + g;
    }
  }
}
