// The runs of the binned product, built on the GPU: part of spmv/binned.cu, whose macros it
// uses. runs[strip * parts + part] is first the number of groups of a run, then its first group
// in the order of phase 1.
#ifndef MBK_GROUP
#error "include spmv/binned.cu, which opens with the list of macros"
#endif

#define MBK_BUILD_THREADS 512

// Nonzeros of this block's part in each strip, in shared memory.
MBK_DEVICE void mbk_binned_histogram(const mbk_i32 *col_ind, mbk_u64 nnz, mbk_u32 strips,
                                     mbk_u32 *counts) {
  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_PART_NONZEROS;
  for (mbk_u32 s = mbk_thread(); s < strips; s += MBK_BUILD_THREADS) {
    counts[s] = 0;
  }
  mbk_block_sync();
  for (mbk_u32 i = mbk_thread(); i < MBK_PART_NONZEROS && first + i < nnz;
       i += MBK_BUILD_THREADS) {
    mbk_atomic_add(counts + (mbk_u32)(mbk_load(col_ind + first + i) - MBK_BASE) / MBK_STRIP,
                   1u);
  }
  mbk_block_sync();
}

// Groups of each run, and of each part in part_groups. Launch: one block per part. Shared:
// mbk_u32[strips + 1].
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_binned_count(const mbk_i32 *col_ind, mbk_u64 nnz, mbk_u32 strips, mbk_u32 *runs,
                     mbk_u32 *part_groups) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const counts = (mbk_u32 *)shared;
  mbk_u32 *const total = counts + strips;
  mbk_u32 mine = 0;
  if (mbk_thread() == 0) {
    *total = 0;
  }
  mbk_binned_histogram(col_ind, nnz, strips, counts);
  for (mbk_u32 s = mbk_thread(); s < strips; s += MBK_BUILD_THREADS) {
    const mbk_u32 groups = (counts[s] + MBK_GROUP - 1) / MBK_GROUP;
    runs[(mbk_u64)s * mbk_grid() + mbk_block()] = groups;
    mine += groups;
  }
  mbk_atomic_add(total, mine);
  mbk_block_sync();
  if (mbk_thread() == 0) {
    part_groups[mbk_block()] = *total;
  }
}

// The groups of each strip. Launch: one warp per strip, blocks of MBK_BUILD_THREADS.
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_binned_total(const mbk_u32 *runs, mbk_u32 strips, mbk_u64 parts, mbk_u32 *groups) {
  const mbk_u32 strip = mbk_block() * (MBK_BUILD_THREADS / 32) + mbk_thread() / 32;
  mbk_u32 sum = 0;
  if (strip >= strips) {
    return;
  }
  for (mbk_u64 i = mbk_lane(); i < parts; i += 32) {
    sum += mbk_load(runs + strip * parts + i);
  }
  for (int d = 16; d > 0; d >>= 1) {
    sum += mbk_shuffle_xor(MBK_ALL, sum, d, 32);
  }
  if (mbk_lane() == 0) {
    groups[strip] = sum;
  }
}

// Numbers of groups become first groups, from that of each strip on. Launch: as
// mbk_binned_total.
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_binned_offsets(mbk_u32 *runs, mbk_u32 strips, mbk_u64 parts,
                       const mbk_u32 *strip_start) {
  const mbk_u32 strip = mbk_block() * (MBK_BUILD_THREADS / 32) + mbk_thread() / 32;
  if (strip >= strips) {
    return;
  }
  mbk_u32 start = mbk_load(strip_start + strip);
  for (mbk_u64 i = 0; i < parts; i += 32) {
    mbk_u32 *const at = runs + strip * parts + i + mbk_lane();
    const mbk_u32 own = i + mbk_lane() < parts ? *at : 0;
    mbk_u32 sum = own;
    for (int d = 1; d < 32; d <<= 1) {
      const mbk_u32 other = mbk_shuffle_up(MBK_ALL, sum, d, 32);
      sum += (int)mbk_lane() >= d ? other : 0;
    }
    if (i + mbk_lane() < parts) {
      *at = start + sum - own;
    }
    start += mbk_shuffle(MBK_ALL, sum, 31, 32);
  }
}

// Columns, values and targets for phase 1 and places for phase 2; or, `again`, new values where
// the places say. Launch: one block per part. Shared: mbk_u32[3][strips].
MBK_KERNEL MBK_BOUNDS(MBK_BUILD_THREADS)
    mbk_binned_fill(const mbk_i32 *col_ind, const MBK_VALUE *values, mbk_u64 nnz,
                    mbk_u32 strips, const mbk_u32 *runs, const mbk_u32 *part_start,
                    mbk_u16 *strip_col, MBK_VALUE *strip_values, mbk_u32 *target,
                    mbk_u16 *places, mbk_u32 again) {
  MBK_SHARED_MEMORY(shared);
  mbk_u32 *const used = (mbk_u32 *)shared, *const start = used + strips,
                 *const run = start + strips;
  const mbk_u32 part = mbk_block(), lane = mbk_lane();
  const mbk_u64 first = (mbk_u64)part * MBK_PART_NONZEROS;
  mbk_binned_histogram(col_ind, nnz, strips, used);
  if (mbk_thread() < 32) { // first groups within the part
    mbk_u32 before = 0;
    for (mbk_u32 s = lane; s - lane < strips; s += 32) {
      const mbk_u32 own = s < strips ? (used[s] + MBK_GROUP - 1) / MBK_GROUP : 0;
      mbk_u32 sum = own;
      for (int d = 1; d < 32; d <<= 1) {
        const mbk_u32 other = mbk_shuffle_up(MBK_ALL, sum, d, 32);
        sum += (int)lane >= d ? other : 0;
      }
      if (s < strips) {
        start[s] = before + sum - own;
      }
      before += mbk_shuffle(MBK_ALL, sum, 31, 32);
    }
  }
  mbk_block_sync();
  for (mbk_u32 s = mbk_thread(); s < strips; s += MBK_BUILD_THREADS) {
    run[s] = mbk_load(runs + (mbk_u64)s * mbk_grid() + part);
    used[s] = 0;
  }
  mbk_block_sync();
  for (mbk_u32 i = mbk_thread(); i < MBK_PART_NONZEROS && first + i < nnz;
       i += MBK_BUILD_THREADS) {
    const mbk_u32 column = (mbk_u32)(mbk_load(col_ind + first + i) - MBK_BASE);
    const mbk_u32 strip = column / MBK_STRIP;
    mbk_u16 *const place = places + first + i;
    const mbk_u32 at =
        again ? *place - start[strip] * MBK_GROUP : mbk_atomic_add(used + strip, 1u);
    const mbk_u64 slot = (mbk_u64)run[strip] * MBK_GROUP + at;
    if (!again) {
      *place = (mbk_u16)(start[strip] * MBK_GROUP + at);
      strip_col[slot] = (mbk_u16)(column - strip * MBK_STRIP);
    }
#if !MBK_PATTERN
    strip_values[slot] = mbk_load(values + first + i);
#endif
  }
  mbk_block_sync();
  if (again) {
    return;
  }
  const mbk_u32 here = mbk_load(part_start + part);
  for (mbk_u32 s = mbk_thread(); s < strips; s += MBK_BUILD_THREADS) {
    const mbk_u32 groups = (used[s] + MBK_GROUP - 1) / MBK_GROUP;
    for (mbk_u32 i = used[s]; i < groups * MBK_GROUP; i++) { // nobody reads their products
      strip_col[(mbk_u64)run[s] * MBK_GROUP + i] = 0;
#if !MBK_PATTERN
      strip_values[(mbk_u64)run[s] * MBK_GROUP + i] = (MBK_VALUE)0;
#endif
    }
    for (mbk_u32 g = 0; g < groups; g++) {
      target[run[s] + g] = here + start[s] + g;
    }
  }
}
