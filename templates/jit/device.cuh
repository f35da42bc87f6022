// What kernels take from the GPU: indices, barriers, shuffles, atomics, loads. The only file
// with intrinsics; tests put a CPU implementation of the same names in its place. Shuffles and
// votes take the mask of the lanes that take part; a group of `width` lanes, a power of two,
// exchanges within itself. Shared memory is dynamic only: the launcher passes its size.

#ifndef MBK_DEVICE_CUH
#define MBK_DEVICE_CUH

#define MBK_KERNEL extern "C" __global__ void
#define MBK_DEVICE static __device__ __forceinline__
#define MBK_BOUNDS(threads) __launch_bounds__(threads)
#define MBK_RESIDENT(threads, blocks) __launch_bounds__(threads, blocks)
#define MBK_SHARED_MEMORY(name) extern __shared__ __align__(16) unsigned char name[]

typedef int mbk_i32;
typedef unsigned mbk_u32;
typedef long long mbk_i64;
typedef unsigned long long mbk_u64;

MBK_DEVICE mbk_u32 mbk_thread() {
  return threadIdx.x;
}
MBK_DEVICE mbk_u32 mbk_block() {
  return blockIdx.x;
}
MBK_DEVICE mbk_u32 mbk_grid() {
  return gridDim.x;
}
MBK_DEVICE mbk_u32 mbk_lane() {
  return threadIdx.x & 31u;
}

MBK_DEVICE void mbk_block_sync() {
  __syncthreads();
}
MBK_DEVICE void mbk_warp_sync(mbk_u32 mask) {
  __syncwarp(mask);
}

template <class T> MBK_DEVICE T mbk_shuffle(mbk_u32 mask, T value, int lane, int width) {
  return __shfl_sync(mask, value, lane, width);
}
template <class T> MBK_DEVICE T mbk_shuffle_up(mbk_u32 mask, T value, int delta, int width) {
  return __shfl_up_sync(mask, value, delta, width);
}
template <class T> MBK_DEVICE T mbk_shuffle_down(mbk_u32 mask, T value, int delta, int width) {
  return __shfl_down_sync(mask, value, delta, width);
}
template <class T> MBK_DEVICE T mbk_shuffle_xor(mbk_u32 mask, T value, int lanes, int width) {
  return __shfl_xor_sync(mask, value, lanes, width);
}
MBK_DEVICE mbk_u32 mbk_ballot(mbk_u32 mask, bool flag) {
  return __ballot_sync(mask, flag);
}

MBK_DEVICE int mbk_leading_zeros(mbk_u32 bits) {
  return __clz((int)bits);
}
MBK_DEVICE int mbk_popcount(mbk_u32 bits) {
  return __popc(bits);
}
MBK_DEVICE int mbk_popcount(mbk_u64 bits) {
  return __popcll(bits);
}

template <class T> MBK_DEVICE void mbk_atomic_add(T *address, T value) {
  atomicAdd(address, value);
}
MBK_DEVICE void mbk_atomic_or(mbk_u32 *address, mbk_u32 bits) {
  atomicOr(address, bits);
}
MBK_DEVICE void mbk_atomic_max(mbk_u32 *address, mbk_u32 value) {
  atomicMax(address, value);
}

// Read-only data that nobody writes during the launch.
template <class T> MBK_DEVICE T mbk_load(const T *address) {
  return __ldg(address);
}

// The same, for data that is read once: the caches are left to others.
template <class T> MBK_DEVICE T mbk_load_once(const T *address) {
  return __ldcs(address);
}

// Start to bring the line of `address` into L2.
template <class T> MBK_DEVICE void mbk_prefetch(const T *address) {
  asm volatile("prefetch.global.L2 [%0];" : : "l"(address));
}

#endif
