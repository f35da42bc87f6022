// CB-SpMV: y = alpha A x + beta y over strips of 16 rows in blocks of 16 columns, each a COO, a
// CSR or a dense one, with its indices and values together. Source: Cong, Sun, Chen, Xie, Liu,
// Qian, CB-SpMV, ICS 2025, Algorithms 3 and 4. Unlike there, a warp takes whole strips, block
// after block, and keeps their sums, so that nothing is added atomically and every row is
// committed once; x is read once for each column of a block and passed by shuffles. The layout
// is in spmv/cb_build.c.
#ifndef MBK_AGGREGATED
#error "define MBK_AGGREGATED: 1 if a block's columns are listed, 0 if they are neighbours"
#endif
#ifndef MBK_ONCE
#error "define MBK_ONCE: 1 if the matrix is loaded past the caches"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block, a multiple of 32"
#endif
#include "jit/device.cuh"
#include "spmv/algebra.cuh"

#if MBK_ONCE
#define MBK_MATRIX_LOAD mbk_load_once
#else
#define MBK_MATRIX_LOAD mbk_load
#endif
#define MBK_ALL 0xffffffffu
#define MBK_SIDE 16          // rows of a strip, columns of a block
#define MBK_IN_FLIGHT 4      // entries that a lane loads before it multiplies
#define MBK_PART 0x80000000u // in a target: the number of a part, not of a strip
#define MBK_FIXUP_THREADS 512

// A block's word.
#define MBK_COUNT(word) ((mbk_u32)(word)&511u)
#define MBK_FORM(word) ((mbk_u32)(word) >> 9 & 3u)
#define MBK_DEPTH(word) ((mbk_u32)(word) >> 11 & 255u)
#define MBK_END ((mbk_u64)1 << 19)
#define MBK_OFFSET(word) ((word) >> 20 << 3)
enum { MBK_COO, MBK_CSR, MBK_DENSE };

// Bytes of indices with the padding before the values.
#if MBK_PATTERN
#define MBK_PADDED(bytes) (bytes)
#else
#define MBK_PADDED(bytes)                                                                      \
  (((bytes) + (mbk_u32)sizeof(MBK_VALUE) - 1) & ~((mbk_u32)sizeof(MBK_VALUE) - 1))
#endif

// What lies at a block's begin or in its list of columns, loaded while the block before is
// multiplied: for lanes 0 to 15, and once more for 16 to 31, the column; of CSR the begin of
// the lane's row, of dense a word of the mask.
struct mbk_cb_head {
  mbk_u32 column, index;
};

MBK_DEVICE mbk_cb_head mbk_cb_prepare(mbk_u64 word, mbk_u32 group, const mbk_i32 *restore_cols,
                                      const unsigned char *data, mbk_u64 cols) {
  const mbk_u32 place = mbk_lane() % MBK_SIDE;
  mbk_cb_head head = {0, 0};
  if (MBK_COUNT(word) != 0) {
    const mbk_u64 at = (mbk_u64)group * MBK_SIDE + place;
#if MBK_AGGREGATED
    head.column = (mbk_u32)MBK_MATRIX_LOAD(restore_cols + at);
#else
    head.column = (mbk_u32)(at < cols ? at : cols - 1);
#endif
    if (MBK_FORM(word) == MBK_CSR) {
      head.index = MBK_MATRIX_LOAD(data + MBK_OFFSET(word) + place);
    } else if (MBK_FORM(word) == MBK_DENSE) {
      head.index = MBK_MATRIX_LOAD((const mbk_u32 *)(data + MBK_OFFSET(word)) + place % 8);
    }
  }
  return head;
}

// A nonzero's product.
MBK_DEVICE MBK_COMPUTE mbk_cb_multiply(const MBK_VALUE *values, mbk_u32 k, MBK_COMPUTE factor) {
#if MBK_PATTERN
  (void)k;
  return MBK_UNIT(values, factor);
#else
  return MBK_MUL(MBK_MATRIX_LOAD(values + k), factor);
#endif
}

// Entries sorted by row, one a lane: segmented sums, each added to its row's in `sums`, which
// the warp shares.
MBK_DEVICE void mbk_cb_coo(mbk_u64 word, const unsigned char *indices, const MBK_VALUE *one,
                           MBK_COMPUTE factor, MBK_COMPUTE *sums) {
  const mbk_u32 count = MBK_COUNT(word), lane = mbk_lane();
#if MBK_PATTERN
  const MBK_VALUE *const values = one;
#else
  const MBK_VALUE *const values = (const MBK_VALUE *)(indices + MBK_PADDED(count));
#endif
  for (mbk_u32 first = 0; first < count; first += 32) {
    const mbk_u32 k = first + lane;
    const bool active = k < count;
    const mbk_u32 entry = active ? MBK_MATRIX_LOAD(indices + k) : 0;
    const mbk_u32 row = active ? entry % MBK_SIDE : MBK_SIDE;
    const MBK_COMPUTE x = mbk_shuffle(MBK_ALL, factor, (int)(entry / MBK_SIDE), 32);
    MBK_COMPUTE sum = active ? mbk_cb_multiply(values, k, x) : MBK_ZERO;
    const mbk_u32 before = mbk_shuffle_up(MBK_ALL, row, 1, 32);
    const mbk_u32 begins = mbk_ballot(MBK_ALL, lane == 0 || before != row);
    const int begin = 31 - mbk_leading_zeros(begins & (MBK_ALL >> (31 - lane)));
    for (mbk_u32 step = 0; step < MBK_DEPTH(word); step++) {
      const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, 1 << step, 32);
      if ((int)lane - (1 << step) >= begin) {
        sum = MBK_ADD(other, sum);
      }
    }
    if (active && (lane == 31 || (begins >> (lane + 1) & 1))) {
      sums[row] = MBK_ADD(sums[row], sum);
    }
    mbk_warp_sync(MBK_ALL);
  }
}

// Two lanes a row, its even and its odd entries.
MBK_DEVICE MBK_COMPUTE mbk_cb_csr(mbk_u64 word, const unsigned char *data, const MBK_VALUE *one,
                                  mbk_u32 begin, MBK_COMPUTE factor, MBK_COMPUTE sum) {
  const mbk_u32 count = MBK_COUNT(word), lane = mbk_lane(), row = lane % MBK_SIDE;
  const unsigned char *const indices = data + MBK_SIDE;
#if MBK_PATTERN
  const MBK_VALUE *const values = one;
#else
  const MBK_VALUE *const values = (const MBK_VALUE *)(indices + MBK_PADDED(count));
#endif
  const mbk_u32 next = mbk_shuffle(MBK_ALL, begin, (int)row + 1, 32);
  const mbk_u32 end = row == MBK_SIDE - 1 ? count : next;
  begin += lane / MBK_SIDE;
  for (mbk_u32 step = 0; step < MBK_DEPTH(word); step += MBK_IN_FLIGHT) {
    mbk_u32 entry[MBK_IN_FLIGHT];
#if !MBK_PATTERN
    MBK_VALUE value[MBK_IN_FLIGHT];
#endif
#pragma unroll
    for (int i = 0; i < MBK_IN_FLIGHT; i++) {
      const mbk_u32 k = begin + 2 * (step + i);
      entry[i] = 0;
      if (k < end) {
        entry[i] = MBK_MATRIX_LOAD(indices + k);
#if !MBK_PATTERN
        value[i] = MBK_MATRIX_LOAD(values + k);
#endif
      }
    }
#pragma unroll
    for (int i = 0; i < MBK_IN_FLIGHT; i++) {
      const MBK_COMPUTE x = mbk_shuffle(MBK_ALL, factor, (int)(entry[i] / MBK_SIDE), 32);
      if (begin + 2 * (step + i) < end) {
#if MBK_PATTERN
        sum = MBK_ADD(sum, MBK_UNIT(values, x));
#else
        sum = MBK_ADD(sum, MBK_MUL(value[i], x));
#endif
      }
    }
  }
  return sum;
}

// Two lanes a row, its even and its odd columns. What the mask lacks is not there.
MBK_DEVICE MBK_COMPUTE mbk_cb_dense(const unsigned char *data, const MBK_VALUE *one,
                                    mbk_u32 masks, MBK_COMPUTE factor, MBK_COMPUTE sum) {
  const mbk_u32 lane = mbk_lane(), lower = (1u << lane) - 1;
#if MBK_PATTERN
  const MBK_VALUE *values = one;
#else
  const MBK_VALUE *values = (const MBK_VALUE *)(data + 32);
#endif
#pragma unroll
  for (int step = 0; step < MBK_SIDE / 2; step += MBK_IN_FLIGHT) {
    mbk_u32 mask[MBK_IN_FLIGHT];
#if !MBK_PATTERN
    MBK_VALUE value[MBK_IN_FLIGHT];
#endif
#pragma unroll
    for (int i = 0; i < MBK_IN_FLIGHT; i++) {
      mask[i] = mbk_shuffle(MBK_ALL, masks, step + i, 32);
#if !MBK_PATTERN
      if (mask[i] >> lane & 1) {
        value[i] = MBK_MATRIX_LOAD(values + mbk_popcount(mask[i] & lower));
      }
      values += mbk_popcount(mask[i]);
#endif
    }
#pragma unroll
    for (int i = 0; i < MBK_IN_FLIGHT; i++) {
      const int column = 2 * (step + i) + (int)lane / MBK_SIDE;
      const MBK_COMPUTE x = mbk_shuffle(MBK_ALL, factor, column, 32);
      if (mask[i] >> lane & 1) {
#if MBK_PATTERN
        sum = MBK_ADD(sum, MBK_UNIT(values, x));
#else
        sum = MBK_ADD(sum, MBK_MUL(value[i], x));
#endif
      }
    }
  }
  return sum;
}

// Launch: one warp per task. Shared: MBK_COMPUTE[MBK_THREADS / 32 * 16].
// A task is some whole strips from number task_target[task] on, or a part of one, whose sums go
// to carries. words and group are loaded two blocks ahead, beyond a task's end too: they end
// with two empty blocks.
MBK_KERNEL MBK_BOUNDS(MBK_THREADS)
    mbk_cb_product(const mbk_u64 *task_block, const mbk_u32 *task_target, const mbk_u64 *words,
                   const mbk_u32 *group, const mbk_i32 *restore_cols, const unsigned char *data,
                   const MBK_VALUE *one, const MBK_VECTOR *x, MBK_VECTOR *y,
                   MBK_COMPUTE *carries, mbk_u64 rows, mbk_u64 cols, mbk_u64 tasks,
                   MBK_SCALAR_PARAMETERS) {
  const mbk_u64 task = ((mbk_u64)mbk_block() * MBK_THREADS + mbk_thread()) / 32;
  if (task >= tasks) {
    return;
  }
  MBK_SHARED_MEMORY(shared);
  MBK_COMPUTE *const sums = (MBK_COMPUTE *)shared + mbk_thread() / 32 * MBK_SIDE;
  const mbk_u32 lane = mbk_lane();
  // With alpha 0 blocks are empty, but strips end.
  const mbk_u64 all = MBK_ALPHA != (MBK_COMPUTE)0 ? ~(mbk_u64)0 : MBK_END;
  const mbk_u64 last = mbk_load(task_block + task + 1);
  mbk_u64 block = mbk_load(task_block + task);
  mbk_u32 target = mbk_load(task_target + task);
  mbk_u64 word = mbk_load(words + block) & all, next = mbk_load(words + block + 1) & all;
  mbk_u32 next_group = mbk_load(group + block + 1);
  mbk_cb_head head = mbk_cb_prepare(word, mbk_load(group + block), restore_cols, data, cols);
  MBK_COMPUTE sum = MBK_ZERO;
  if (lane < MBK_SIDE) {
    sums[lane] = MBK_ZERO;
  }
  mbk_warp_sync(MBK_ALL);
  while (block < last) {
    const mbk_cb_head ahead = mbk_cb_prepare(next, next_group, restore_cols, data, cols);
    const unsigned char *const at = data + MBK_OFFSET(word);
    const MBK_COMPUTE factor =
        MBK_COUNT(word) != 0 ? (MBK_COMPUTE)mbk_load(x + head.column) : MBK_ZERO;
    block++;
    const mbk_u64 later = mbk_load(words + block + 1) & all;
    const mbk_u32 later_group = mbk_load(group + block + 1);
    if (MBK_FORM(word) == MBK_COO) {
      mbk_cb_coo(word, at, one, factor, sums);
    } else if (MBK_FORM(word) == MBK_CSR) {
      sum = mbk_cb_csr(word, at, one, head.index, factor, sum);
    } else {
      sum = mbk_cb_dense(at, one, head.index, factor, sum);
    }
    if (word & MBK_END) {
      const MBK_COMPUTE other = mbk_shuffle_xor(MBK_ALL, sum, MBK_SIDE, 32);
      if (lane < MBK_SIDE) {
        const MBK_COMPUTE total = MBK_ADD(MBK_ADD(sum, other), sums[lane]);
        const mbk_u64 row = (mbk_u64)target * MBK_SIDE + lane;
        if (target & MBK_PART) {
          carries[row - (mbk_u64)MBK_PART * MBK_SIDE] = total;
        } else if (row < rows) {
          MBK_SCALARS_LOAD;
          MBK_COMMIT(row, total);
        }
        sums[lane] = MBK_ZERO;
      }
      mbk_warp_sync(MBK_ALL);
      sum = MBK_ZERO;
      target++;
    }
    word = next;
    next = later;
    next_group = later_group;
    head = ahead;
  }
}

// The strips that were cut into parts: their sums are added in the order of the parts, dealt
// to 32 groups of 16 threads. Launch: one block of MBK_FIXUP_THREADS per strip. Shared:
// MBK_COMPUTE[MBK_FIXUP_THREADS].
MBK_KERNEL MBK_BOUNDS(MBK_FIXUP_THREADS)
    mbk_cb_fixup(const mbk_u32 *split_strip, const mbk_u32 *split_part,
                 const MBK_COMPUTE *carries, MBK_VECTOR *y, mbk_u64 rows,
                 MBK_SCALAR_PARAMETERS) {
  MBK_SHARED_MEMORY(shared);
  MBK_COMPUTE *const partial = (MBK_COMPUTE *)shared;
  const mbk_u32 thread = mbk_thread(), end = split_part[mbk_block() + 1];
  MBK_COMPUTE sum = MBK_ZERO;
#pragma unroll 4
  for (mbk_u32 part = split_part[mbk_block()] + thread / MBK_SIDE; part < end;
       part += MBK_FIXUP_THREADS / MBK_SIDE) {
    sum = MBK_ADD(sum, carries[(mbk_u64)part * MBK_SIDE + thread % MBK_SIDE]);
  }
  partial[thread] = sum;
  mbk_block_sync();
  const mbk_u64 row = (mbk_u64)split_strip[mbk_block()] * MBK_SIDE + thread;
  if (thread < MBK_SIDE && row < rows) {
    MBK_SCALARS_LOAD;
    sum = MBK_ZERO;
    for (mbk_u32 i = thread; i < MBK_FIXUP_THREADS; i += MBK_SIDE) {
      sum = MBK_ADD(sum, partial[i]);
    }
    MBK_COMMIT(row, sum);
  }
}
