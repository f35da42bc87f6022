// What a plan's epilogue makes of each row of op(A) x on its way to y, and its two sums over
// all rows: part of spmv/algebra.cuh, where the product's own kernels do it, and of
// spmv/epilogue.cu.
//
// Threads add up in registers what they commit, blocks in a tree of fixed shape. Kernels before
// a product's last one leave each block's sums; the last one's blocks add these to theirs, and
// who comes last of a group of blocks, then of the groups, adds up in the order of the blocks:
// sums have the same bits from run to run. Source of the ticket: the sample
// threadFenceReduction of CUDA.
#ifndef MBK_EPILOGUE_RESULT
#error                                                                                         \
    "define MBK_EPILOGUE_RESULT: y[row], an expression in in_ax, in_row, in_v0, ..., in_s0, ..."
#endif
#ifndef MBK_EPILOGUE_VECTORS
#error "define MBK_EPILOGUE_VECTORS: how many vectors there are, up to 6"
#endif
#ifndef MBK_EPILOGUE_SCALARS
#error "define MBK_EPILOGUE_SCALARS: how many scalars, up to 8"
#endif
// And where there is such a sum MBK_EPILOGUE_SUM0 and MBK_EPILOGUE_SUM1, in double, in in_y
// too.
#include "jit/functions.cuh"

#define MBK_EPILOGUE_GROUP 128 // blocks whose sums one of them adds up; as MBI_EPILOGUE_GROUP

#ifdef MBK_EPILOGUE_SUM0
#define MBK_EPILOGUE_HAS0 1
#else
#define MBK_EPILOGUE_HAS0 0
#define MBK_EPILOGUE_SUM0 0.0
#endif
#ifdef MBK_EPILOGUE_SUM1
#define MBK_EPILOGUE_HAS1 1
#else
#define MBK_EPILOGUE_HAS1 0
#define MBK_EPILOGUE_SUM1 0.0
#endif
#define MBK_EPILOGUE_HAS(k) ((k) == 0 ? MBK_EPILOGUE_HAS0 : MBK_EPILOGUE_HAS1)
#define MBK_EPILOGUE_SUMS (MBK_EPILOGUE_HAS0 || MBK_EPILOGUE_HAS1)

struct mbk_epilogue { // mbi_epilogue_call of the host
  const MBK_VECTOR *vectors[6];
  const double *scalars;
  double *sums;        // what comes out; or null
  const mbk_i32 *skip; // unless what is there is 0 nothing is done; or null
  double *left;        // two of each block of the kernels before the last
  double *parts;       // of each block of the last one, then of each group
  mbk_u32 *tickets;    // of each group, then of the groups; all zero between products
  mbk_u64 left_count;
};

// One thread's.
struct mbk_epilogue_run {
  mbk_epilogue call;
  double sums[2];
};

// Behind mbk_release; waits where it has to look. The same in all threads.
MBK_DEVICE bool mbk_epilogue_skips(const mbk_epilogue &call) {
  if (call.skip == (const mbk_i32 *)0) {
    return false;
  }
  mbk_await();
  return *call.skip != 0;
}

#define MBK_EPILOGUE_NAMES(T)                                                                  \
  const T in_ax, const T in_y, const T in_row, const T in_v0, const T in_v1, const T in_v2,    \
      const T in_v3, const T in_v4, const T in_v5, const T in_s0, const T in_s1,               \
      const T in_s2, const T in_s3, const T in_s4, const T in_s5, const T in_s6, const T in_s7
#define MBK_EPILOGUE_VALUES(T, y)                                                              \
  (T) ax, (T)(y), (T)row, (T)beside, (T)v[1], (T)v[2], (T)v[3], (T)v[4], (T)v[5], (T)s[0],     \
      (T)s[1], (T)s[2], (T)s[3], (T)s[4], (T)s[5], (T)s[6], (T)s[7]

MBK_DEVICE MBK_COMPUTE mbk_epilogue_result(MBK_EPILOGUE_NAMES(MBK_COMPUTE)) {
  return MBK_EPILOGUE_RESULT;
}
MBK_DEVICE double mbk_epilogue_sum0(MBK_EPILOGUE_NAMES(double)) {
  return MBK_EPILOGUE_SUM0;
}
MBK_DEVICE double mbk_epilogue_sum1(MBK_EPILOGUE_NAMES(double)) {
  return MBK_EPILOGUE_SUM1;
}

// y[row]; `beside` is the first vector's. Behind mbk_await, once for each row.
MBK_DEVICE MBK_VECTOR mbk_epilogue_row(mbk_epilogue_run &run, mbk_u64 row, MBK_COMPUTE ax,
                                       MBK_VECTOR beside) {
  MBK_VECTOR v[6];
  double s[8];
#pragma unroll
  for (int i = 1; i < 6; i++) {
    v[i] = i < MBK_EPILOGUE_VECTORS ? run.call.vectors[i][row] : (MBK_VECTOR)0;
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    s[i] = i < MBK_EPILOGUE_SCALARS ? run.call.scalars[i] : 0.0;
  }
  const MBK_VECTOR y = (MBK_VECTOR)mbk_epilogue_result(MBK_EPILOGUE_VALUES(MBK_COMPUTE, 0));
#if MBK_EPILOGUE_HAS0
  run.sums[0] += mbk_epilogue_sum0(MBK_EPILOGUE_VALUES(double, y));
#endif
#if MBK_EPILOGUE_HAS1
  run.sums[1] += mbk_epilogue_sum1(MBK_EPILOGUE_VALUES(double, y));
#endif
  return y;
}

// ---- Sums ---------------------------------------------------------------------------------

// Over the lanes, complete in the first.
MBK_DEVICE void mbk_epilogue_lanes(double (&sums)[2]) {
#pragma unroll
  for (int k = 0; k < 2; k++) {
#pragma unroll
    for (int d = 16; d > 0 && MBK_EPILOGUE_HAS(k); d >>= 1) {
      sums[k] += mbk_shuffle_down(0xffffffffu, sums[k], d, 32);
    }
  }
}

// Over a block of `threads`, complete in thread 0. Whatever the block kept at `shared`,
// double[threads / 16], is gone.
MBK_DEVICE void mbk_epilogue_block(double (&sums)[2], mbk_u32 threads, double *shared) {
  const mbk_u32 thread = mbk_thread();
  mbk_epilogue_lanes(sums);
  mbk_block_sync();
#pragma unroll
  for (int k = 0; k < 2; k++) {
    if (MBK_EPILOGUE_HAS(k) && thread % 32 == 0) {
      shared[thread / 16 + k] = sums[k];
    }
  }
  mbk_block_sync();
  if (thread < 32) {
#pragma unroll
    for (int k = 0; k < 2; k++) {
      sums[k] = MBK_EPILOGUE_HAS(k) && thread < threads / 32 ? shared[2 * thread + k] : 0.0;
    }
    mbk_epilogue_lanes(sums);
  }
}

MBK_DEVICE void mbk_epilogue_store(double *place, const double (&sums)[2]) {
  if (mbk_thread() == 0) {
    place[0] = sums[0];
    place[1] = sums[1];
  }
}

// Those of `count` blocks or groups, dealt to the threads in their order.
MBK_DEVICE void mbk_epilogue_take(double (&sums)[2], const double *places, mbk_u32 count,
                                  mbk_u32 threads) {
  sums[0] = sums[1] = 0.0;
  for (mbk_u32 i = mbk_thread(); i < count; i += threads) {
#pragma unroll
    for (int k = 0; k < 2; k++) {
      sums[k] += MBK_EPILOGUE_HAS(k) ? mbk_load_fresh(places + 2 * i + k) : 0.0;
    }
  }
}

// Whether the block comes last of `count`, after thread 0 has stored; the ticket is then as
// before. Only thread 0 has read what lies at `shared`.
MBK_DEVICE bool mbk_epilogue_last(mbk_u32 *ticket, mbk_u32 count, double *shared) {
  mbk_u32 *const flag = (mbk_u32 *)shared;
  if (mbk_thread() == 0) {
    mbk_fence();
    const bool last = mbk_atomic_add(ticket, (mbk_u32)1) == count - 1;
    if (last) {
      *ticket = 0;
      mbk_fence();
    }
    *flag = last;
  }
  mbk_block_sync();
  return *flag != 0;
}

// At the end of a kernel before the last one, by all threads.
MBK_DEVICE void mbk_epilogue_leave(mbk_epilogue_run &run, mbk_u32 threads) {
#if MBK_EPILOGUE_SUMS
  MBK_SHARED_MEMORY(shared);
  mbk_await();
  mbk_epilogue_block(run.sums, threads, (double *)shared);
  mbk_epilogue_store(run.call.left + 2 * (mbk_u64)mbk_block(), run.sums);
#else
  (void)run;
  (void)threads;
#endif
}

// At the end of the last one.
MBK_DEVICE void mbk_epilogue_finish(mbk_epilogue_run &run, mbk_u32 threads) {
  const mbk_epilogue &call = run.call;
  mbk_await();
#if MBK_EPILOGUE_SUMS
  MBK_SHARED_MEMORY(memory);
  double *const shared = (double *)memory;
  const mbk_u32 grid = mbk_grid(), block = mbk_block();
  const mbk_u32 groups = (grid + MBK_EPILOGUE_GROUP - 1) / MBK_EPILOGUE_GROUP;
  const mbk_u32 group = block / MBK_EPILOGUE_GROUP, first = group * MBK_EPILOGUE_GROUP;
  const mbk_u32 count = grid - first < MBK_EPILOGUE_GROUP ? grid - first : MBK_EPILOGUE_GROUP;
  double *const of_groups = call.parts + 2 * (mbk_u64)grid;
  for (mbk_u64 i = (mbk_u64)block * threads + mbk_thread(); i < call.left_count;
       i += (mbk_u64)grid * threads) {
#pragma unroll
    for (int k = 0; k < 2; k++) {
      run.sums[k] += MBK_EPILOGUE_HAS(k) ? call.left[2 * i + k] : 0.0;
    }
  }
  mbk_epilogue_block(run.sums, threads, shared);
  mbk_epilogue_store(call.parts + 2 * (mbk_u64)block, run.sums);
  if (!mbk_epilogue_last(call.tickets + group, count, shared)) {
    return;
  }
  mbk_epilogue_take(run.sums, call.parts + 2 * (mbk_u64)first, count, threads);
  mbk_epilogue_block(run.sums, threads, shared);
  if (groups > 1) {
    mbk_epilogue_store(of_groups + 2 * (mbk_u64)group, run.sums);
    if (!mbk_epilogue_last(call.tickets + groups, groups, shared)) {
      return;
    }
    mbk_epilogue_take(run.sums, of_groups, groups, threads);
    mbk_epilogue_block(run.sums, threads, shared);
  }
  if (call.sums != (double *)0) {
    mbk_epilogue_store(call.sums, run.sums);
  }
#else
  (void)threads;
  if (mbk_block() == 0 && call.sums != (double *)0) {
    mbk_epilogue_store(call.sums, run.sums);
  }
#endif
}
