// The epilogue of a product: a function of each row of op(A) x, and two sums over all rows.
//
// Each thread takes packs of neighbouring rows, loads all operands of a pack at once, and adds
// up in registers. A block adds up its threads in a tree of fixed shape, and the last block to
// finish adds up the sums of all blocks in their order, so the sums have the same bits in every
// run, whatever the alignment of the vectors. The ticket that finds the last block is taken
// from CUDA's sample threadFenceReduction.
#ifndef MBK_VECTOR
#error "define MBK_VECTOR: the type of y and of the vectors in memory"
#endif
#ifndef MBK_COMPUTE
#error "define MBK_COMPUTE: the type of results"
#endif
#ifndef MBK_EPILOGUE_VECTORS
#error "define MBK_EPILOGUE_VECTORS: the number of vectors, up to 6"
#endif
#ifndef MBK_EPILOGUE_SCALARS
#error "define MBK_EPILOGUE_SCALARS: the number of scalars, up to 8"
#endif
// Optional macros. MBK_EPILOGUE_RESULT: the new y[row], an expression in in_ax, in_row, in_v0,
// ..., in_s0, ... MBK_EPILOGUE_SUM0 and MBK_EPILOGUE_SUM1: terms of the sums in double, which
// may also use in_y. MBK_EPILOGUE_AFTER: a file that defines mbk_epilogue_after. One thread
// calls it with the complete sums, after all blocks have read scalars and skip.
#include "jit/device.cuh"

#include "jit/functions.cuh"
#ifdef MBK_EPILOGUE_AFTER
#include MBK_EPILOGUE_AFTER
#endif

#ifndef MBK_EPILOGUE_IDLE // MBK_EPILOGUE_AFTER may say that vector i is not read
#define MBK_EPILOGUE_IDLE(i, scalars) false
#endif

#define MBK_EPILOGUE_THREADS 256
#define MBK_EPILOGUE_PACK (16 / (int)sizeof(MBK_VECTOR)) // rows

#ifdef MBK_EPILOGUE_RESULT
#define MBK_EPILOGUE_WRITES 1
#else
#define MBK_EPILOGUE_WRITES 0
#define MBK_EPILOGUE_RESULT in_ax
#endif
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

#include "spmv/shared/epilogue_arguments.cuh"

#define MBK_EPILOGUE_NAMES(T)                                                                  \
  const T in_ax, const T in_y, const T in_row, const T in_v0, const T in_v1, const T in_v2,    \
      const T in_v3, const T in_v4, const T in_v5, const T in_s0, const T in_s1,               \
      const T in_s2, const T in_s3, const T in_s4, const T in_s5, const T in_s6, const T in_s7
#define MBK_EPILOGUE_VALUES(T, y)                                                              \
  (T) ax, (T)(y), (T)row, (T)v[0].at[j], (T)v[1].at[j], (T)v[2].at[j], (T)v[3].at[j],          \
      (T)v[4].at[j], (T)v[5].at[j], (T)s[0], (T)s[1], (T)s[2], (T)s[3], (T)s[4], (T)s[5],      \
      (T)s[6], (T)s[7]

MBK_DEVICE MBK_COMPUTE mbk_epilogue_result(MBK_EPILOGUE_NAMES(MBK_COMPUTE)) {
  return MBK_EPILOGUE_RESULT;
}
MBK_DEVICE double mbk_epilogue_sum0(MBK_EPILOGUE_NAMES(double)) {
  return MBK_EPILOGUE_SUM0;
}
MBK_DEVICE double mbk_epilogue_sum1(MBK_EPILOGUE_NAMES(double)) {
  return MBK_EPILOGUE_SUM1;
}

typedef mbk_pack<MBK_VECTOR, MBK_EPILOGUE_PACK> mbk_epilogue_pack;

// Loads `count` rows starting at `address`; an aligned pack takes a single load.
MBK_DEVICE mbk_epilogue_pack mbk_epilogue_load(const MBK_VECTOR *address, mbk_u32 count,
                                               bool aligned) {
  if (aligned) {
    return *(const mbk_epilogue_pack *)address;
  }
  mbk_epilogue_pack pack;
#pragma unroll
  for (int j = 0; j < MBK_EPILOGUE_PACK; j++) {
    pack.at[j] = (mbk_u32)j < count ? address[j] : (MBK_VECTOR)0;
  }
  return pack;
}

// ---- Sums -----------------------------------------------------------------------------------

// Adds up the sums over the warp. Lane 0 has the result.
MBK_DEVICE void mbk_epilogue_lanes(double (&sums)[2]) {
#pragma unroll
  for (int k = 0; k < 2; k++) {
#pragma unroll
    for (int d = 16; d > 0 && MBK_EPILOGUE_HAS(k); d >>= 1) {
      sums[k] += mbk_shuffle_down(0xffffffffu, sums[k], d, 32);
    }
  }
}

// Adds up the sums over the block. Thread 0 has the result.
MBK_DEVICE void mbk_epilogue_block(double (&sums)[2], double *shared) {
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
      sums[k] = MBK_EPILOGUE_HAS(k) && thread < MBK_EPILOGUE_THREADS / 32
                    ? shared[2 * thread + k]
                    : 0.0;
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

// Returns true in the last block to finish, and resets the ticket. Thread 0 must have stored
// its sums before. No thread may still be reading `shared`.
MBK_DEVICE bool mbk_epilogue_last(mbk_u32 *ticket, double *shared) {
  mbk_u32 *const flag = (mbk_u32 *)shared;
  if (mbk_thread() == 0) {
    mbk_fence();
    const bool last = mbk_atomic_add(ticket, (mbk_u32)1) == mbk_grid() - 1;
    if (last) {
      *ticket = 0;
      mbk_fence();
    }
    *flag = last;
  }
  mbk_block_sync();
  return *flag != 0;
}

// Completes the sums. All threads of all blocks must call it once.
MBK_DEVICE void mbk_epilogue_finish(const mbk_epilogue &call, double (&sums)[2]) {
  MBK_SHARED_MEMORY(memory);
  double *const shared = (double *)memory;
  mbk_epilogue_block(sums, shared);
  mbk_epilogue_store(call.parts + 2 * (mbk_u64)mbk_block(), sums);
  if (!mbk_epilogue_last(call.ticket, shared)) {
    return;
  }
  sums[0] = sums[1] = 0.0;
  for (mbk_u32 i = mbk_thread(); i < mbk_grid(); i += MBK_EPILOGUE_THREADS) {
#pragma unroll
    for (int k = 0; k < 2; k++) {
      sums[k] += MBK_EPILOGUE_HAS(k) ? mbk_load_fresh(call.parts + 2 * i + k) : 0.0;
    }
  }
  mbk_epilogue_block(sums, shared);
  mbk_epilogue_store(call.sums, sums);
#ifdef MBK_EPILOGUE_AFTER
  if (mbk_thread() == 0) {
    mbk_epilogue_after(call.after, sums[0], sums[1]);
  }
#endif
}

// ---- Launch ---------------------------------------------------------------------------------

// Computes y[row] from product[row]; `product` may be y itself. Without a result y is not
// written. `aligned` says that product, y and the vectors start at multiples of 16 bytes.
// Launch: as a dependent launch, with the same grid of MBK_EPILOGUE_THREADS for each product of
// a plan; with no rows, one block writes zero sums. Shared: double[MBK_EPILOGUE_THREADS / 16].
MBK_KERNEL MBK_BOUNDS(MBK_EPILOGUE_THREADS)
    mbk_epilogue_rows(MBK_GRID_CONSTANT mbk_epilogue_rows_arguments a) {
  mbk_release();
  mbk_await();
  if (a.call.skip != (const mbk_i32 *)0 && *a.call.skip != 0) {
    return;
  }
  double sums[2] = {0.0, 0.0}, s[8];
#pragma unroll
  for (int i = 0; i < 8; i++) {
    s[i] = i < MBK_EPILOGUE_SCALARS ? a.call.scalars[i] : 0.0;
  }
  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_EPILOGUE_THREADS + mbk_thread();
  const mbk_u64 step = (mbk_u64)mbk_grid() * MBK_EPILOGUE_THREADS * MBK_EPILOGUE_PACK;
  for (mbk_u64 at = first * MBK_EPILOGUE_PACK; at < a.rows; at += step) {
    const mbk_u32 count =
        (mbk_u32)(a.rows - at < MBK_EPILOGUE_PACK ? a.rows - at : MBK_EPILOGUE_PACK);
    const bool whole = a.aligned != 0 && count == MBK_EPILOGUE_PACK;
    const mbk_epilogue_pack taken = mbk_epilogue_load(a.product + at, count, whole);
    mbk_epilogue_pack v[6], result;
#pragma unroll
    for (int i = 0; i < 6; i++) {
      const bool counts = i < MBK_EPILOGUE_VECTORS && !(MBK_EPILOGUE_IDLE(i, s));
      v[i] = mbk_epilogue_load(i < MBK_EPILOGUE_VECTORS ? a.call.vectors[i] + at : a.product,
                               counts ? count : 0, counts && whole);
    }
#pragma unroll
    for (int j = 0; j < MBK_EPILOGUE_PACK; j++) {
      const MBK_VECTOR ax = taken.at[j];
      const mbk_u64 row = at + (mbk_u64)j;
      result.at[j] = (MBK_VECTOR)mbk_epilogue_result(MBK_EPILOGUE_VALUES(MBK_COMPUTE, 0));
      const double terms[2] = {mbk_epilogue_sum0(MBK_EPILOGUE_VALUES(double, result.at[j])),
                               mbk_epilogue_sum1(MBK_EPILOGUE_VALUES(double, result.at[j]))};
#pragma unroll
      for (int k = 0; k < 2; k++) {
        if (MBK_EPILOGUE_HAS(k) && (mbk_u32)j < count) {
          sums[k] += terms[k];
        }
      }
    }
    if (MBK_EPILOGUE_WRITES && whole) {
      mbk_store_pack(a.y + at, result);
    }
#pragma unroll
    for (int j = 0; j < MBK_EPILOGUE_PACK; j++) {
      if (MBK_EPILOGUE_WRITES && !whole && (mbk_u32)j < count) {
        a.y[at + (mbk_u64)j] = result.at[j];
      }
    }
  }
  if (a.call.sums == (double *)0) {
    return;
  }
  if (MBK_EPILOGUE_HAS0 || MBK_EPILOGUE_HAS1) {
    mbk_epilogue_finish(a.call, sums);
  } else if (mbk_block() == 0) {
    mbk_epilogue_store(a.call.sums, sums);
  }
}
