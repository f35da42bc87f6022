// Kernels that measure the device profile: a copy, random gathers, and dependent loads. The
// arrays hold zeros, but the compiler does not know that.
#include "jit/device.cuh"

#include "jit/profile_arguments.cuh"

#define MBK_PROFILE_THREADS 256
#define MBK_PROFILE_TOGETHER 8 // gathers in flight per thread
#define MBK_PROFILE_PACK 4     // 32-bit words in a pack of 16 bytes

// Returns a pseudo-random index below `elements`.
MBK_DEVICE mbk_u32 mbk_profile_place(mbk_u32 number, mbk_u32 elements) {
  number = (number ^ number >> 16) * 0x85ebca6bu;
  number = (number ^ number >> 13) * 0xc2b2ae35u;
  return (mbk_u32)((mbk_u64)(number ^ number >> 16) * elements >> 32);
}

// Copies `packs` packs of 16 bytes. Launch: any grid of MBK_PROFILE_THREADS.
MBK_KERNEL MBK_BOUNDS(MBK_PROFILE_THREADS)
    mbk_profile_copy(MBK_GRID_CONSTANT mbk_profile_copy_arguments a) {
  for (mbk_u64 i = (mbk_u64)mbk_block() * MBK_PROFILE_THREADS + mbk_thread(); i < a.packs;
       i += (mbk_u64)mbk_grid() * MBK_PROFILE_THREADS) {
    mbk_store_pack(
        a.to + i * MBK_PROFILE_PACK,
        mbk_load_pack_streaming<mbk_u32, MBK_PROFILE_PACK>(a.from + i * MBK_PROFILE_PACK));
  }
}

// Gathers `count` elements per thread, a multiple of MBK_PROFILE_TOGETHER. Writes *sum only if
// their sum is not 0.
template <class T> MBK_DEVICE void mbk_profile_run(const mbk_profile_gather_arguments &a) {
  const T *const x = (const T *)(const void *)a.x;
  const mbk_u32 first = (mbk_block() * MBK_PROFILE_THREADS + mbk_thread()) * a.count;
  T sum = 0;
  for (mbk_u32 i = 0; i < a.count; i += MBK_PROFILE_TOGETHER) {
    T some[MBK_PROFILE_TOGETHER];
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_PROFILE_TOGETHER; j++) {
      some[j] = mbk_load(x + mbk_profile_place(first + i + j, a.elements));
    }
#pragma unroll
    for (mbk_u32 j = 0; j < MBK_PROFILE_TOGETHER; j++) {
      sum += some[j];
    }
  }
  if (sum != 0) {
    *a.sum = 1;
  }
}

// Gathers floats from random places of x. Launch: any grid of MBK_PROFILE_THREADS.
MBK_KERNEL MBK_BOUNDS(MBK_PROFILE_THREADS)
    mbk_profile_gather_f32(MBK_GRID_CONSTANT mbk_profile_gather_arguments a) {
  mbk_profile_run<float>(a);
}

// Gathers doubles. Launch: as mbk_profile_gather_f32.
MBK_KERNEL MBK_BOUNDS(MBK_PROFILE_THREADS)
    mbk_profile_gather_f64(MBK_GRID_CONSTANT mbk_profile_gather_arguments a) {
  mbk_profile_run<double>(a);
}

// Makes `steps` loads, each of whose addresses depends on the load before, and writes the last
// loaded value. Bypasses L1, which may hold x. Launch: one thread.
MBK_KERNEL MBK_BOUNDS(32) mbk_profile_chase(MBK_GRID_CONSTANT mbk_profile_chase_arguments a) {
  mbk_u32 found = 0;
  for (mbk_u32 i = 0; i < a.steps; i++) {
    found = mbk_load_fresh(a.x + mbk_profile_place(a.seed + i + found, a.elements));
  }
  *a.end = found;
}
