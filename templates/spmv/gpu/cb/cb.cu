// CB-SpMV: y = alpha A x + beta y over blocks of 16 x 16.
//
// Data: strips of 16 rows, in blocks of 16 columns, each stored as COO, CSR or dense, with its
// indices and values together (spmv/gpu/cb/build.c describes the bytes). Work: a warp owns
// whole strips and takes two blocks at a time, one for each half of its lanes. It keeps their
// sums, so that nothing is added by atomics and every row is written once. x is loaded once for
// each column of a block and passed on by shuffles.
//
// Source: Cong, Sun, Chen, Xie, Liu, Qian, CB-SpMV, ICS 2025, Algorithms 3 and 4; there blocks
// are added by atomics.
#ifndef MBK_AGGREGATED
#error "define MBK_AGGREGATED: 1 if blocks may list their columns, 0 if all are consecutive"
#endif
#ifndef MBK_STREAMING
#error "define MBK_STREAMING: 1 if the matrix is read by streaming loads"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block, a multiple of 32"
#endif
#ifndef MBK_BLOCKS
#error "define MBK_BLOCKS: thread blocks that a multiprocessor should hold"
#endif
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#if MBK_STREAMING
#define MBK_MATRIX_LOAD mbk_load_streaming
#else
#define MBK_MATRIX_LOAD mbk_load
#endif
#define MBK_ALL 0xffffffffu
#define MBK_SIDE 16          // rows of a strip, columns of a block, lanes of a half
#define MBK_IN_FLIGHT 2      // entries of a row that a lane loads before it multiplies
#define MBK_AHEAD 2048       // bytes of data that are prefetched to L2
#define MBK_PART 0x80000000u // in a target: the number of a part, not of a strip
#define MBK_FIXUP_THREADS 512

// The fields of a block's word.
#define MBK_COUNT(word) ((mbk_u32)(word)&511u)
#define MBK_FORM(word) ((mbk_u32)(word) >> 9 & 3u)
#define MBK_STEPS_OF(word) ((mbk_u32)(word) >> 11 & 255u)
#define MBK_END ((mbk_u64)1 << 19)
#define MBK_WIDTH(word) ((mbk_u32)(word) >> 20 & 3u)
#define MBK_OFFSET(word) ((word) >> 22 << 3)
// Bytes of the columns, at the start of the block's data.
#define MBK_COLUMNS(word) (8u << MBK_WIDTH(word) & ~15u)
enum { MBK_COO, MBK_CSR, MBK_DENSE };

// Bytes of the indices, with the padding before the values.
#if MBK_PATTERN
#define MBK_PADDED(bytes) (bytes)
#else
#define MBK_PADDED(bytes)                                                                      \
  (((bytes) + (mbk_u32)sizeof(MBK_VALUE) - 1) & ~((mbk_u32)sizeof(MBK_VALUE) - 1))
#endif

// The head of a block's data, loaded while earlier blocks are multiplied. column: the lane's
// column. index: in CSR, the start of the lane's row; in a dense block, the bits of the rows in
// the lane's column.
struct mbk_cb_head {
  mbk_u32 column, index;
};

// Loads the head of the block that `word` describes. `first` is its first column.
MBK_DEVICE mbk_cb_head mbk_cb_prepare(mbk_u64 word, mbk_u32 first, const unsigned char *data,
                                      mbk_u64 cols) {
  const mbk_u32 place = mbk_lane() % MBK_SIDE;
  mbk_cb_head head = {0, 0};
  if (MBK_COUNT(word) != 0) {
    data += MBK_OFFSET(word);
#if MBK_AGGREGATED
    const mbk_u32 width = MBK_WIDTH(word);
    if (width == 2) {
      head.column = first + MBK_MATRIX_LOAD((const mbk_u16 *)data + place);
    } else if (width == 1) {
      head.column = first + MBK_MATRIX_LOAD(data + place);
    } else if (width == 3) {
      head.column = first + MBK_MATRIX_LOAD((const mbk_u32 *)data + place);
    } else
#endif
    {
      head.column = first + place < cols ? first + place : (mbk_u32)cols - 1;
    }
    data += MBK_COLUMNS(word);
    if (MBK_FORM(word) == MBK_CSR) {
      head.index = MBK_MATRIX_LOAD(data + place);
    } else if (MBK_FORM(word) == MBK_DENSE) {
      head.index = MBK_MATRIX_LOAD((const mbk_u16 *)data + place);
    }
  }
  return head;
}

// Returns the larger value of the two halves of the warp.
MBK_DEVICE mbk_u32 mbk_cb_both(mbk_u32 steps) {
  const mbk_u32 other = mbk_shuffle_xor(MBK_ALL, steps, MBK_SIDE, 32);
  return other > steps ? other : steps;
}

// Multiplies a COO block: entries sorted by row, one per lane. A segmented scan adds each row
// to `sums`, which the lanes of a half share.
MBK_DEVICE void mbk_cb_coo(mbk_u32 count, mbk_u32 steps, const unsigned char *indices,
                           const MBK_VALUE *one, MBK_COMPUTE factor, MBK_COMPUTE *sums) {
  const mbk_u32 lane = mbk_lane(), place = lane % MBK_SIDE;
#if !MBK_PATTERN
  const MBK_VALUE *const values = (const MBK_VALUE *)(indices + MBK_PADDED(count));
#endif
  const mbk_u32 most = mbk_cb_both(count);
  steps = mbk_cb_both(steps);
#pragma unroll 1
  for (mbk_u32 k = place; k < most + place; k += MBK_SIDE) {
    const bool active = k < count;
    const mbk_u32 entry = active ? MBK_MATRIX_LOAD(indices + k) : 0;
    const mbk_u32 row = active ? entry % MBK_SIDE : MBK_SIDE;
    const MBK_COMPUTE x = mbk_shuffle(MBK_ALL, factor, (int)(entry / MBK_SIDE), MBK_SIDE);
#if MBK_PATTERN
    MBK_COMPUTE sum = active ? MBK_UNIT(one, x) : MBK_ZERO;
#else
    MBK_COMPUTE sum = active ? MBK_MUL(MBK_MATRIX_LOAD(values + k), x) : MBK_ZERO;
#endif
    const mbk_u32 before = mbk_shuffle_up(MBK_ALL, row, 1, MBK_SIDE);
    const mbk_u32 begins = mbk_ballot(MBK_ALL, place == 0 || before != row);
    const int begin = 31 - mbk_leading_zeros(begins & (MBK_ALL >> (31 - lane)));
    for (mbk_u32 step = 0; step < steps; step++) {
      const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, 1 << step, MBK_SIDE);
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

// Multiplies a CSR block. A lane owns a row, whose first entry is `begin`.
MBK_DEVICE MBK_COMPUTE mbk_cb_csr(mbk_u32 count, mbk_u32 steps, const unsigned char *indices,
                                  const MBK_VALUE *one, mbk_u32 begin, MBK_COMPUTE factor,
                                  MBK_COMPUTE sum) {
  const mbk_u32 place = mbk_lane() % MBK_SIDE;
  const mbk_u32 next = mbk_shuffle(MBK_ALL, begin, (int)place + 1, MBK_SIDE);
  const mbk_u32 end = count == 0 ? 0 : place == MBK_SIDE - 1 ? count : next;
#if !MBK_PATTERN
  const MBK_VALUE *const values = (const MBK_VALUE *)(indices + MBK_PADDED(count));
#endif
  steps = mbk_cb_both(steps);
#pragma unroll 1
  for (mbk_u32 step = 0; step < steps; step += MBK_IN_FLIGHT) {
    mbk_u32 entry[MBK_IN_FLIGHT];
#if !MBK_PATTERN
    MBK_VALUE value[MBK_IN_FLIGHT];
#endif
#pragma unroll
    for (int i = 0; i < MBK_IN_FLIGHT; i++) {
      const mbk_u32 k = begin + step + i;
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
      const MBK_COMPUTE x = mbk_shuffle(MBK_ALL, factor, (int)(entry[i] / MBK_SIDE), MBK_SIDE);
      if (begin + step + i < end) {
#if MBK_PATTERN
        sum = MBK_ADD(sum, MBK_UNIT(one, x));
#else
        sum = MBK_ADD(sum, MBK_MUL(value[i], x));
#endif
      }
    }
  }
  return sum;
}

// Multiplies a dense block. A lane owns a row. `rows` of lane i has a bit for each row with an
// entry in column i. Absent entries are not read.
MBK_DEVICE MBK_COMPUTE mbk_cb_dense(const unsigned char *data, const MBK_VALUE *one,
                                    mbk_u32 rows, MBK_COMPUTE factor, MBK_COMPUTE sum) {
  const mbk_u32 place = mbk_lane() % MBK_SIDE;
#if !MBK_PATTERN
  const MBK_VALUE *values = (const MBK_VALUE *)data;
#endif
#pragma unroll 1
  for (int column = 0; column < MBK_SIDE; column += 4) {
    mbk_u32 there[4];
#if !MBK_PATTERN
    MBK_VALUE value[4];
#endif
#pragma unroll
    for (int i = 0; i < 4; i++) {
      there[i] = mbk_shuffle(MBK_ALL, rows, column + i, MBK_SIDE);
#if !MBK_PATTERN
      if (there[i] >> place & 1) {
        value[i] = MBK_MATRIX_LOAD(values + mbk_popcount(there[i] & ((1u << place) - 1)));
      }
      values += mbk_popcount(there[i]);
#endif
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const MBK_COMPUTE x = mbk_shuffle(MBK_ALL, factor, column + i, MBK_SIDE);
      if (there[i] >> place & 1) {
#if MBK_PATTERN
        sum = MBK_ADD(sum, MBK_UNIT(one, x));
#else
        sum = MBK_ADD(sum, MBK_MUL(value[i], x));
#endif
      }
    }
  }
  return sum;
}

// Multiplies two blocks, one for each half of the warp. CSR and dense blocks add to `sum`,
// which is returned, COO blocks to `sums`.
MBK_DEVICE MBK_COMPUTE mbk_cb_blocks(mbk_u64 word, mbk_cb_head head, const unsigned char *data,
                                     const MBK_VALUE *one, const MBK_VECTOR *x,
                                     MBK_COMPUTE *sums, MBK_COMPUTE sum) {
  const mbk_u32 count = MBK_COUNT(word), form = MBK_FORM(word), steps = MBK_STEPS_OF(word);
  const MBK_COMPUTE factor =
      count != 0 ? (MBK_COMPUTE)mbk_load_after_wait(x + head.column) : MBK_ZERO;
  data += MBK_OFFSET(word) + MBK_COLUMNS(word);
  if (mbk_ballot(MBK_ALL, form == MBK_COO && count != 0) != 0) {
    const bool mine = form == MBK_COO;
    mbk_cb_coo(mine ? count : 0, mine ? steps : 0, data, one, factor, sums);
  }
  if (mbk_ballot(MBK_ALL, form == MBK_CSR) != 0) {
    const bool mine = form == MBK_CSR;
    sum = mbk_cb_csr(mine ? count : 0, mine ? steps : 0, data + MBK_SIDE, one, head.index,
                     factor, sum);
  }
  if (mbk_ballot(MBK_ALL, form == MBK_DENSE) != 0) {
    sum =
        mbk_cb_dense(data + 2 * MBK_SIDE, one, form == MBK_DENSE ? head.index : 0, factor, sum);
  }
  return sum;
}

// Returns the total of the lane's row over both halves, and clears `sums`.
MBK_DEVICE MBK_COMPUTE mbk_cb_total(MBK_COMPUTE sum, MBK_COMPUTE *sums) {
  const MBK_COMPUTE total = MBK_ADD(sum, sums[mbk_lane()]);
  sums[mbk_lane()] = MBK_ZERO;
  mbk_warp_sync(MBK_ALL);
  return MBK_ADD(total, mbk_shuffle_xor(MBK_ALL, total, MBK_SIDE, 32));
}

#include "spmv/gpu/cb/cb_arguments.cuh"

// Computes the product. A task is one or more whole strips, from strip task_target[task] on, or
// a part of one strip, whose sums go to carries. Each strip and part has an even number of
// blocks, of which the last may be empty. words and first (the first column of each block) are
// read four blocks ahead, even beyond the task's end: both end with four empty blocks. Data are
// prefetched, so MBK_AHEAD bytes of padding follow them. Launch: one warp per task. Shared:
// MBK_COMPUTE[MBK_THREADS].
MBK_KERNEL MBK_RESIDENT(MBK_THREADS, MBK_BLOCKS)
    mbk_cb_product(MBK_BY_FIELD(mbk_cb_product_arguments, a)) {
  MBK_VECTOR *const y = a.y;
  MBK_SCALARS_OF(a);
  const mbk_u64 task = ((mbk_u64)mbk_block() * MBK_THREADS + mbk_thread()) / 32;
  mbk_release();
  if (task >= a.tasks) {
    return;
  }
  MBK_SHARED_MEMORY(shared);
  MBK_COMPUTE *const sums = (MBK_COMPUTE *)shared + mbk_thread() / 32 * 32; // of the warp
  const mbk_u32 lane = mbk_lane(), half = lane / MBK_SIDE;
  // If alpha is 0, blocks count as empty, but strips still end.
  const mbk_u32 drop = MBK_ALPHA != (MBK_COMPUTE)0 ? 0 : (mbk_u32)MBK_END - 1;
  const mbk_u64 block = mbk_load(a.task_block + task);
  mbk_u32 left = (mbk_u32)(mbk_load(a.task_block + task + 1) - block);
  mbk_u32 target = mbk_load(a.task_target + task);
  const mbk_u64 *words = a.words + block + half;
  const mbk_u32 *first = a.first + block + half;
  mbk_u64 word = mbk_load(words) & ~(mbk_u64)drop, next = mbk_load(words + 2) & ~(mbk_u64)drop;
  mbk_u32 next_first = mbk_load(first + 2);
  for (mbk_u32 at = lane * 32; at < MBK_AHEAD && MBK_COUNT(word) != 0; at += 1024) {
    mbk_prefetch(a.data + MBK_OFFSET(word) + at);
  }
  mbk_cb_head head = mbk_cb_prepare(word, mbk_load(first), a.data, a.cols);
  MBK_COMPUTE sum = MBK_ZERO;
  sums[lane] = MBK_ZERO;
  mbk_warp_sync(MBK_ALL);
  mbk_await(); // the wait also covers carries and y
  for (; left > 0; left -= 2) {
    const mbk_cb_head ahead = mbk_cb_prepare(next, next_first, a.data, a.cols);
    const mbk_u64 later = mbk_load(words + 4) & ~(mbk_u64)drop;
    const mbk_u32 later_first = mbk_load(first + 4);
    words += 2;
    first += 2;
    if (lane % MBK_SIDE * 32 < MBK_COUNT(word) * (1 + sizeof(MBK_VALUE)) + 64) {
      mbk_prefetch(a.data + MBK_OFFSET(word) + MBK_AHEAD + lane % MBK_SIDE * 32);
    }
    sum = mbk_cb_blocks(word, head, a.data, a.one, a.x, sums + half * MBK_SIDE, sum);
    if (mbk_ballot(MBK_ALL, (word & MBK_END) != 0) != 0) {
      const MBK_COMPUTE total = mbk_cb_total(sum, sums);
      const mbk_u64 row = (mbk_u64)(target & ~MBK_PART) * MBK_SIDE + lane;
      if (lane < MBK_SIDE && target & MBK_PART) {
        a.carries[row] = total;
      } else if (lane < MBK_SIDE && row < a.rows) {
        MBK_SCALARS_LOAD;
        MBK_COMMIT(row, total);
      }
      sum = MBK_ZERO;
      target++;
    }
    word = next;
    next = later;
    next_first = later_first;
    head = ahead;
  }
}

// Completes strips that were cut into parts: adds their sums in the order of the parts, divided
// among 32 groups of 16 threads. Launch: one block of MBK_FIXUP_THREADS per strip. Shared:
// MBK_COMPUTE[MBK_FIXUP_THREADS].
MBK_KERNEL MBK_BOUNDS(MBK_FIXUP_THREADS)
    mbk_cb_fixup(MBK_GRID_CONSTANT mbk_cb_fixup_arguments a) {
  MBK_VECTOR *const y = a.y;
  MBK_SCALARS_OF(a);
  MBK_SHARED_MEMORY(shared);
  MBK_COMPUTE *const partial = (MBK_COMPUTE *)shared;
  mbk_release();
  const mbk_u32 thread = mbk_thread(), end = mbk_load(a.split_part + mbk_block() + 1);
  const mbk_u32 begin = mbk_load(a.split_part + mbk_block());
  const mbk_u64 row = (mbk_u64)mbk_load(a.split_strip + mbk_block()) * MBK_SIDE + thread;
  MBK_COMPUTE sum = MBK_ZERO;
  mbk_await();
#pragma unroll 4
  for (mbk_u32 part = begin + thread / MBK_SIDE; part < end;
       part += MBK_FIXUP_THREADS / MBK_SIDE) {
    sum = MBK_ADD(sum, a.carries[(mbk_u64)part * MBK_SIDE + thread % MBK_SIDE]);
  }
  partial[thread] = sum;
  mbk_block_sync();
  if (thread < MBK_SIDE && row < a.rows) {
    MBK_SCALARS_LOAD;
    sum = MBK_ZERO;
    for (mbk_u32 i = thread; i < MBK_FIXUP_THREADS; i += MBK_SIDE) {
      sum = MBK_ADD(sum, partial[i]);
    }
    MBK_COMMIT(row, sum);
  }
}
