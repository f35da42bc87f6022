// The GPU's own operations: indices, barriers, shuffles, atomics, loads. Only this file has
// intrinsics; tests replace it by a CPU implementation of the same names. Shuffles and votes
// take the mask of the participating lanes. Shuffles work within groups of `width` lanes, a
// power of two. All shared memory is dynamic: the launcher passes its size.

#ifndef MBK_DEVICE_CUH
#define MBK_DEVICE_CUH

#ifndef MBK_PLAIN_LAUNCH
// 1: kernels that read x never overlap with earlier work (mbi_plan_start).
#define MBK_PLAIN_LAUNCH 0
#endif

#ifndef MBK_KEPT
// How many sixteenths of the lines loaded by mbk_load_streaming stay in L2
// (mbi_choose_passing).
#define MBK_KEPT 0
#endif

// A kernel file may be split into parts that are compiled side by side: part 0 has the kernels
// declared with MBK_KERNEL, part 1 those with MBK_KERNEL_1, part 2 those with MBK_KERNEL_2.
// MBK_PROGRAM_PART is the number of the part; without it, all kernels are compiled. A kernel of
// another part becomes a template, which costs nothing because it is never instantiated.
#if !defined(MBK_PROGRAM_PART) || MBK_PROGRAM_PART == 0
#define MBK_KERNEL extern "C" __global__ void
#else
#define MBK_KERNEL template <int> __global__ void
#endif
#if !defined(MBK_PROGRAM_PART) || MBK_PROGRAM_PART == 1
#define MBK_KERNEL_1 extern "C" __global__ void
#else
#define MBK_KERNEL_1 template <int> __global__ void
#endif
#if !defined(MBK_PROGRAM_PART) || MBK_PROGRAM_PART == 2
#define MBK_KERNEL_2 extern "C" __global__ void
#else
#define MBK_KERNEL_2 template <int> __global__ void
#endif
#define MBK_DEVICE static __device__ __forceinline__
#define MBK_CALLED                                                                             \
  static __device__ __noinline__              // a called function, which has its own registers
#define MBK_MEMBER __device__ __forceinline__ // a member function
#define MBK_BOUNDS(threads) __launch_bounds__(threads)
#define MBK_RESIDENT(threads, blocks) __launch_bounds__(threads, blocks)
#if __CUDA_ARCH__ >= 700 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1107
#define MBK_GRID_CONSTANT const __grid_constant__ // a kernel's struct, read in place
#else
#define MBK_GRID_CONSTANT const
#endif
// Declares a kernel's struct whose fields are separate parameters in the embedded text, where
// gen/generate.py writes MBK_PARAMETERS and MBK_JOIN instead. With a struct, ptxas takes up to
// 8 more registers.
#define MBK_BY_FIELD(type, name) MBK_GRID_CONSTANT type name
#define MBK_PARAMETERS(type, name, ...) __VA_ARGS__
#define MBK_JOIN(type, name, ...) const type name = {__VA_ARGS__};
#define MBK_SHARED_MEMORY(name) extern __shared__ __align__(16) unsigned char name[]

#include "jit/types.cuh"
typedef unsigned char mbk_u8;
typedef unsigned short mbk_u16;

// A kernel's arguments are declared once for both sides. MBK_POINTER is a pointer here, and an
// address on the host.
template <class T> struct mbk_pointer_to { typedef T *type; };
#define MBK_POINTER(type_) mbk_pointer_to<type_>::type

// Returns alpha or beta in the type that the host has stored. If T needs no more alignment than
// mbk_scalar, it is read in place, because a copy would cost registers.
template <class T> MBK_DEVICE T mbk_scalar_as(const mbk_scalar &scalar) {
  T value;
  if (alignof(T) <= alignof(mbk_scalar)) {
    return *(const T *)&scalar;
  }
  memcpy(&value, &scalar, sizeof value);
  return value;
}

MBK_DEVICE mbk_u32 mbk_thread() {
  return threadIdx.x;
}
MBK_DEVICE mbk_u32 mbk_block() {
  return blockIdx.x;
}
MBK_DEVICE mbk_u32 mbk_grid() {
  return gridDim.x;
}
MBK_DEVICE mbk_u32 mbk_threads() { // threads per block
  return blockDim.x;
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

// Returns the rounded product, never fused with an addition. A compiler's choice of what to
// fuse depends on how an expression is written.
MBK_DEVICE float mbk_multiply(float a, float b) {
  return __fmul_rn(a, b);
}
MBK_DEVICE double mbk_multiply(double a, double b) {
  return __dmul_rn(a, b);
}
// Returns a * b + c, rounded once.
MBK_DEVICE float mbk_fused(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
MBK_DEVICE double mbk_fused(double a, double b, double c) {
  return __fma_rn(a, b, c);
}

// Convert between a float and the bits of a half, without CUDA's header for halves.
MBK_DEVICE mbk_u16 mbk_half_of(float value) {
  mbk_u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
MBK_DEVICE float mbk_half_value(mbk_u16 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

// Returns the float for the bits of a bfloat16, which are the upper half of the float's.
MBK_DEVICE float mbk_bf16_value(mbk_u16 bits) {
  return __uint_as_float((mbk_u32)bits << 16);
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

// Adds atomically. Returns the old value.
template <class T> MBK_DEVICE T mbk_atomic_add(T *address, T value) {
  return atomicAdd(address, value);
}
// Stores `value` if the word equals `expected`. Returns the old value.
MBK_DEVICE mbk_u32 mbk_atomic_swap_if(mbk_u32 *address, mbk_u32 expected, mbk_u32 value) {
  return atomicCAS(address, expected, value);
}
MBK_DEVICE mbk_u64 mbk_atomic_swap_if(mbk_u64 *address, mbk_u64 expected, mbk_u64 value) {
  return atomicCAS(address, expected, value);
}
MBK_DEVICE void mbk_atomic_or(mbk_u32 *address, mbk_u32 bits) {
  atomicOr(address, bits);
}
template <class T> MBK_DEVICE void mbk_atomic_max(T *address, T value) {
  atomicMax(address, value);
}

// Reads a word that other threads of the block may be changing by atomics. The result is its
// value before or after such a change.
MBK_DEVICE mbk_u32 mbk_peek(const mbk_u32 *address) {
  return *(const volatile mbk_u32 *)address;
}

// Loads data that nobody writes during the launch.
template <class T> MBK_DEVICE T mbk_load(const T *address) {
  return __ldg(address);
}

// Loads a value that another block of the same launch has stored. Bypasses L1, which may hold
// an older one.
template <class T> MBK_DEVICE T mbk_load_fresh(const T *address) {
  return __ldcg(address);
}
// Orders this thread's earlier stores and loads before its later ones, as seen by all blocks.
MBK_DEVICE void mbk_fence() {
  __threadfence();
}
// A number as 4-byte words.
template <class T> union mbk_words {
  T value;
  mbk_u32 word[sizeof(T) / 4];
};

// Posts a number for other blocks of the launch. If it is not cooperative, only blocks of
// higher numbers may wait for it, because GPUs start blocks in their order. The slot has an
// 8-byte word for every 4 bytes of the number, and is aligned to 16 bytes or, if it is one
// word, to 8. Each word holds a part of the number and the mark of this exchange. A reader that
// finds the mark in all words has the whole number, so no memory ordering is needed.
template <class T> MBK_DEVICE void mbk_post(mbk_u64 *slot, T value, mbk_u32 mark) {
  const int WORDS = sizeof(T) / 4;
  mbk_words<T> words;
  mbk_u64 marked[WORDS];
  words.value = value;
#pragma unroll
  for (int i = 0; i < WORDS; i++) {
    marked[i] = (mbk_u64)words.word[i] << 32 | mark;
  }
#pragma unroll
  for (int i = 0; i < WORDS; i += 2) {
#if __CUDA_ARCH__ >= 700
    if (WORDS > 1) {
      asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};"
                   :
                   : "l"(slot + i), "l"(marked[i]), "l"(marked[(i + 1) % WORDS])
                   : "memory");
      continue;
    }
#endif
    ((volatile mbk_u64 *)slot)[i] = marked[i];
    if (WORDS > 1) {
      ((volatile mbk_u64 *)slot)[i + 1] = marked[(i + 1) % WORDS];
    }
  }
}
// Reads a slot. Returns whether a number with this mark was complete in it.
template <class T> MBK_DEVICE bool mbk_posted(const mbk_u64 *slot, mbk_u32 mark, T &value) {
  const int WORDS = sizeof(T) / 4;
  mbk_words<T> words;
  mbk_u64 marked[WORDS];
  bool complete = true;
#pragma unroll
  for (int i = 0; i < WORDS; i += 2) {
#if __CUDA_ARCH__ >= 700
    if (WORDS > 1) {
      asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                   : "=l"(marked[i]), "=l"(marked[(i + 1) % WORDS])
                   : "l"(slot + i)
                   : "memory");
      continue;
    }
#endif
    marked[i] = ((const volatile mbk_u64 *)slot)[i];
    if (WORDS > 1) {
      marked[(i + 1) % WORDS] = ((const volatile mbk_u64 *)slot)[i + 1];
    }
  }
#pragma unroll
  for (int i = 0; i < WORDS; i++) {
    complete = complete && (mbk_u32)marked[i] == mark;
    words.word[i] = (mbk_u32)(marked[i] >> 32);
  }
  value = words.value;
  return complete;
}
// Waits for the numbers in the first `exist` of COUNT adjacent slots and loads them. Leaves the
// other values unchanged.
template <int COUNT, class T>
MBK_DEVICE void mbk_collect(const mbk_u64 *slots, mbk_u32 mark, mbk_u64 exist,
                            T (&values)[COUNT]) {
  bool missing;
  do {
    missing = false;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      if (k < exist) {
        missing |= !mbk_posted(slots + k * (sizeof(T) / 4), mark, values[k]);
      }
    }
  } while (missing);
}

// N adjacent elements that are loaded and stored together: 2, 4, 8 or 16 bytes at an address
// that is a multiple of their size.
template <class T, int N> struct __align__(sizeof(T) * N) mbk_pack {
  T at[N];
};

template <class T, int N> union mbk_pack_bits {
  mbk_pack<T, N> pack;
  unsigned short half;
  unsigned one;
  uint2 two;
  uint4 four;
};

// Loads a pack of data that nobody writes during the launch, like mbk_load.
template <class T, int N> MBK_DEVICE mbk_pack<T, N> mbk_load_pack(const T *address) {
  mbk_pack_bits<T, N> bits;
  if (sizeof(T) * N == 16) {
    bits.four = __ldg((const uint4 *)address);
  } else if (sizeof(T) * N == 8) {
    bits.two = __ldg((const uint2 *)address);
  } else if (sizeof(T) * N == 2) {
    bits.half = __ldg((const unsigned short *)address);
  } else {
    bits.one = __ldg((const unsigned *)address);
  }
  return bits.pack;
}

// Loads the bits of a pack with the macro LOAD. Its arguments are the instruction's type,
// registers and address; its next operand; and the registers.
#define MBK_LOAD_BITS(LOAD)                                                                    \
  if (sizeof(T) * N == 16) {                                                                   \
    LOAD("v4.b32 {%0, %1, %2, %3}, [%4]", "%5", "=r"(bits.four.x), "=r"(bits.four.y),          \
         "=r"(bits.four.z), "=r"(bits.four.w));                                                \
  } else if (sizeof(T) * N == 8) {                                                             \
    LOAD("v2.b32 {%0, %1}, [%2]", "%3", "=r"(bits.two.x), "=r"(bits.two.y));                   \
  } else if (sizeof(T) * N == 4) {                                                             \
    LOAD("b32 %0, [%1]", "%2", "=r"(bits.one));                                                \
  } else if (sizeof(T) * N == 2) {                                                             \
    LOAD("u16 %0, [%1]", "%2", "=r"(bits.one));                                                \
  } else {                                                                                     \
    LOAD("u8 %0, [%1]", "%2", "=r"(bits.one));                                                 \
  }

// Loads a pack of data that nobody writes, at exactly this point of the program. ptxas would
// move other loads of such data after mbk_await, or split and delay them to save registers, so
// that x would be loaded element by element.
template <class T, int N> MBK_DEVICE mbk_pack<T, N> mbk_load_pack_ahead(const T *address) {
  mbk_pack_bits<T, N> bits;
#define MBK_AHEAD(form, next, ...)                                                             \
  asm volatile("ld.global." form ";" : __VA_ARGS__ : "l"(address))
  MBK_LOAD_BITS(MBK_AHEAD)
#undef MBK_AHEAD
  return bits.pack;
}
template <class T> MBK_DEVICE T mbk_load_ahead(const T *address) {
  return mbk_load_pack_ahead<T, 1>(address).at[0];
}

// Loads a pack of read-only data that the launch uses once: a streaming load. If MBK_KEPT is
// not 0, that many sixteenths of the lines stay in L2 for the next launch, as far as there is
// room. L2 evicts the other lines first, so they do not displace the kept ones.
template <class T, int N> MBK_DEVICE mbk_pack<T, N> mbk_load_pack_streaming(const T *address) {
  mbk_pack_bits<T, N> bits;
#if MBK_KEPT && __CUDA_ARCH__ >= 800 &&                                                        \
    __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1104
#define MBK_STREAM(form, next, ...)                                                            \
  asm volatile("{ .reg .b64 policy; createpolicy.fractional.L2::evict_normal.L2::evict_first." \
               "b64 policy, " next "; ld.global.L1::evict_first.L2::cache_hint." form          \
               ", policy; }"                                                                   \
               : __VA_ARGS__                                                                   \
               : "l"(address), "f"(MBK_KEPT / 16.0f))
  MBK_LOAD_BITS(MBK_STREAM)
#undef MBK_STREAM
#else
  if (sizeof(T) * N == 16) {
    bits.four = __ldcs((const uint4 *)address);
  } else if (sizeof(T) * N == 8) {
    bits.two = __ldcs((const uint2 *)address);
  } else if (sizeof(T) * N == 4) {
    bits.one = __ldcs((const unsigned *)address);
  } else if (sizeof(T) * N == 2) {
    bits.half = __ldcs((const unsigned short *)address);
  } else { // a single byte
    bits.one = __ldcs((const unsigned char *)address);
  }
#endif
  return bits.pack;
}
template <class T> MBK_DEVICE T mbk_load_streaming(const T *address) {
#if MBK_KEPT
  return mbk_load_pack_streaming<T, 1>(address).at[0];
#else
  return __ldcs(address);
#endif
}

template <class T, int N> MBK_DEVICE void mbk_store_pack(T *address, mbk_pack<T, N> pack) {
  *(mbk_pack<T, N> *)address = pack;
}

// Starts copying 4, 8 or 16 bytes from global to shared memory, both aligned, while the thread
// continues. The copy is complete once the same thread has called mbk_copy_wait.
template <int BYTES> MBK_DEVICE void mbk_copy_ahead(void *shared, const void *global) {
#if __CUDA_ARCH__ >= 800
  const unsigned to = (unsigned)__cvta_generic_to_shared(shared);
  if (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(to), "l"(global)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :
                 : "r"(to), "l"(global), "n"(BYTES)
                 : "memory");
  }
#else
  *(mbk_pack<mbk_u32, BYTES / 4> *)shared = *(const mbk_pack<mbk_u32, BYTES / 4> *)global;
#endif
}
MBK_DEVICE void mbk_copy_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

// Waits for the earlier work in the stream. In a dependent launch (MBI_LAUNCH_DEPENDENT) a
// kernel starts while that work is still running. Before mbk_await it may read only arrays that
// are written while a plan is made, and it must not write anything. Every such kernel waits, so
// work that is complete for one kernel is complete for all kernels after it.
MBK_DEVICE void mbk_await() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}
// Loads x, or other data that earlier work in the stream may have written. In dependent
// launches it must follow mbk_await. There it is an ordinary load, because ptxas moves loads of
// read-only data (LDG.CONSTANT) before the wait, whatever the program says.
template <class T> MBK_DEVICE T mbk_load_after_wait(const T *address) {
#if MBK_PLAIN_LAUNCH
  return mbk_load(address);
#else
  return *address;
#endif
}
template <class T, int N> MBK_DEVICE mbk_pack<T, N> mbk_load_pack_after_wait(const T *address) {
#if MBK_PLAIN_LAUNCH
  return mbk_load_pack<T, N>(address);
#else
  return *(const mbk_pack<T, N> *)address;
#endif
}
// Does the same for an address that was itself loaded after the wait, by an ordinary or
// streaming load. Since this load depends on that one, it stays after the wait, and so it may
// be a load of read-only data, which takes fewer registers.
template <class T> MBK_DEVICE T mbk_load_behind(const T *address) {
  return mbk_load(address);
}
// Lets the next kernel in the stream start once all blocks have called this or ended.
MBK_DEVICE void mbk_release() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" : : :);
#endif
}

// Tells a graph's conditional node whether to run its body again. The driver provides the
// function.
extern "C" __device__ void cudaGraphSetConditional(mbk_u64 handle, mbk_u32 value);
MBK_DEVICE void mbk_graph_go_on(mbk_u64 handle, bool go_on) {
  cudaGraphSetConditional(handle, go_on ? 1u : 0u);
}

// Starts to load the line of `address` into L2.
template <class T> MBK_DEVICE void mbk_prefetch(const T *address) {
  asm volatile("prefetch.global.L2 [%0];" : : "l"(address));
}

// Starts to load the line of `address` into L2 if `wanted`. Uses a predicated instruction: with
// a branch, SCAN's kernel for beta would spill a register.
template <class T> MBK_DEVICE void mbk_prefetch_if(bool wanted, const T *address) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p prefetch.global.L2 [%0]; }"
               :
               : "l"(address), "r"((mbk_u32)wanted));
}

#include "jit/complex.cuh"

#endif
