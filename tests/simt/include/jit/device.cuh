// The CPU's version of templates/jit/device.cuh: the same names, implemented with simt.h.
// Kernels are static, so that several specialisations of one file fit in one program, each in
// its own namespace. This file has some functions that templates/jit/device.cuh lacks; they are
// for later kernels.
#ifndef SIMT_DEVICE_CUH
#define SIMT_DEVICE_CUH
#include "../../simt.h"

#include <math.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#define MBK_KERNEL [[maybe_unused]] static void
#define MBK_KERNEL_1 MBK_KERNEL // of another part of the program; the shim has one part
#define MBK_KERNEL_2 MBK_KERNEL
#define MBK_DEVICE [[maybe_unused]] static inline
#define MBK_CALLED MBK_DEVICE
#define SIMT_SHORT MBK_DEVICE __attribute__((always_inline)) // even without -O
#define SIMT_CALL SIMT_PLAIN MBK_DEVICE // passes a struct that sanitizers would guard each time
#define MBK_MEMBER
#define MBK_BOUNDS(threads)
#define MBK_RESIDENT(threads, blocks)
#define MBK_GRID_CONSTANT const
#define MBK_BY_FIELD(type, name) const type name
// A struct whose fields are separate parameters on a GPU. The fake driver passes the struct,
// and the type tells it that the host must give a buffer.
template <class T> struct mbk_parameters { T together; };
#define MBK_PARAMETERS(type, name, ...) const mbk_parameters<type> name##_given
#define MBK_JOIN(type, name, ...) const type &name = name##_given.together;
#define MBK_SHARED_MEMORY(name) unsigned char *const name = simt.shared

#include "jit/types.cuh" // of templates/
typedef unsigned char mbk_u8;
typedef unsigned short mbk_u16;

template <class T> struct mbk_pointer_to { typedef T *type; };
#undef MBK_POINTER // may be defined by merbit.h for the host
#define MBK_POINTER(type_) mbk_pointer_to<type_>::type

template <class T> MBK_DEVICE T mbk_scalar_as(const mbk_scalar &scalar) {
  T value;
  __builtin_memcpy(&value, &scalar, sizeof value);
  return value;
}

template <class T, class... Types>
constexpr bool simt_one_of = (std::is_same_v<T, Types> || ...);

template <class T> using simt_type = std::common_type_t<T>; // T, not deduced from this argument

template <class T> MBK_DEVICE T simt_sum(T a, T b) { // integers wrap
  if constexpr (std::is_same_v<T, mbk_i32>) {
    return (T)((mbk_u32)a + (mbk_u32)b);
  } else {
    return a + b;
  }
}

#define SIMT_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

SIMT_SHORT mbk_u32 mbk_thread() {
  return simt.current;
}
SIMT_SHORT mbk_u32 mbk_block() {
  return simt.block;
}
SIMT_SHORT mbk_u32 mbk_threads() {
  return simt.block_threads;
}
SIMT_SHORT mbk_u32 mbk_grid() {
  return simt.grid;
}
SIMT_SHORT mbk_u32 mbk_lane() {
  return simt.current & 31u;
}

SIMT_CALL void mbk_block_sync(SIMT_SITE) {
  simt_block_sync({file, line});
}
SIMT_CALL void mbk_warp_sync(mbk_u32 mask, SIMT_SITE) {
  simt_collective({SIMT_WARP_SYNC, mask, 1, 0, {file, line}}, 0, {});
}

template <class T>
SIMT_SHORT T mbk_shuffle(mbk_u32 mask, T value, int lane, int width, SIMT_SITE) {
  return simt_exchange(SIMT_SHUFFLE, mask, value, lane, width, {file, line});
}
template <class T>
SIMT_SHORT T mbk_shuffle_up(mbk_u32 mask, T value, int delta, int width, SIMT_SITE) {
  return simt_exchange(SIMT_SHUFFLE_UP, mask, value, delta, width, {file, line});
}
template <class T>
SIMT_SHORT T mbk_shuffle_down(mbk_u32 mask, T value, int delta, int width, SIMT_SITE) {
  return simt_exchange(SIMT_SHUFFLE_DOWN, mask, value, delta, width, {file, line});
}
template <class T>
SIMT_SHORT T mbk_shuffle_xor(mbk_u32 mask, T value, int lanes, int width, SIMT_SITE) {
  return simt_exchange(SIMT_SHUFFLE_XOR, mask, value, lanes, width, {file, line});
}

SIMT_PLAIN SIMT_SHORT mbk_u32 simt_vote(simt_state state, mbk_u32 mask, bool flag,
                                        simt_site site) {
  return (mbk_u32)simt_collective({state, mask, 1, 0, site}, flag, {}).half[0];
}
SIMT_CALL mbk_u32 mbk_ballot(mbk_u32 mask, bool flag, SIMT_SITE) {
  return simt_vote(SIMT_BALLOT, mask, flag, {file, line});
}
SIMT_CALL bool mbk_any(mbk_u32 mask, bool flag, SIMT_SITE) {
  return simt_vote(SIMT_ANY, mask, flag, {file, line}) != 0;
}
SIMT_CALL bool mbk_all(mbk_u32 mask, bool flag, SIMT_SITE) {
  return simt_vote(SIMT_ALL, mask, flag, {file, line}) != 0;
}
// Returns the lanes whose value has the same bits as this lane's.
template <class T> SIMT_CALL mbk_u32 mbk_match_any(mbk_u32 mask, T value, SIMT_SITE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "as __match_any_sync");
  simt_word word = {};
  memcpy(&word, &value, sizeof value);
  return (mbk_u32)simt_collective({SIMT_MATCH_ANY, mask, 1, sizeof value, {file, line}}, 0,
                                  word)
      .half[0];
}
template <class T> SIMT_CALL T mbk_reduce_add(mbk_u32 mask, T value, SIMT_SITE) {
  static_assert(simt_one_of<T, mbk_i32, mbk_u32>, "as __reduce_add_sync");
  return (T)simt_collective({SIMT_REDUCE_ADD, mask, 1, 4, {file, line}}, 0,
                            {{(mbk_u32)value, 0}})
      .half[0];
}

template <class T> MBK_DEVICE T mbk_multiply(T a, T b) {
  static_assert(simt_one_of<T, float, double>, "as __fmul_rn and __dmul_rn");
  return a * b;
}
template <class T> MBK_DEVICE T mbk_fused(T a, T b, T c) {
  static_assert(simt_one_of<T, float, double>, "as __fmaf_rn and __fma_rn");
  return std::fma(a, b, c);
}

// Halves by arithmetic that is exact in doubles: 11 significant bits, units of at least 2^-24.
MBK_DEVICE float mbk_half_value(mbk_u16 bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                      : exponent == 0 ? ldexp(fraction, -24)
                                      : ldexp(1024 + fraction, exponent - 25);
  return (float)((bits & 0x8000) != 0 ? -size : size);
}
MBK_DEVICE float mbk_bf16_value(mbk_u16 bits) {
  const mbk_u32 wide = (mbk_u32)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}
MBK_DEVICE mbk_u16 mbk_half_of(float value) {
  const mbk_u16 sign = std::signbit(value) ? 0x8000 : 0;
  const double size = fabs((double)value);
  if (std::isnan(value)) {
    return 0x7fff;
  }
  if (size >= 65520) {
    return (mbk_u16)(sign | 0x7c00);
  }
  int exponent = 0;
  frexp(size, &exponent); // size < 2^exponent
  const int least = std::max(exponent - 11, -24);
  const double units = nearbyint(ldexp(size, -least)); // rounds to even
  return (mbk_u16)(sign | (units == 0     ? 0
                           : least == -24 ? (int)units // may carry into the first normal number
                                          : ((least + 24) << 10) + (int)units));
}

MBK_DEVICE int mbk_popcount(mbk_u32 bits) {
  return __builtin_popcount(bits);
}
MBK_DEVICE int mbk_popcount(mbk_u64 bits) {
  return __builtin_popcountll(bits);
}
// Number of zeros above the highest bit, as __clz; index of the lowest bit from 1, as __ffs.
MBK_DEVICE int mbk_leading_zeros(mbk_u32 bits) {
  return bits == 0 ? 32 : __builtin_clz(bits);
}
MBK_DEVICE int mbk_leading_zeros(mbk_u64 bits) {
  return bits == 0 ? 64 : __builtin_clzll(bits);
}
MBK_DEVICE int mbk_first_bit(mbk_u32 bits) {
  return __builtin_ffs((int)bits);
}
MBK_DEVICE int mbk_first_bit(mbk_u64 bits) {
  return __builtin_ffsll((long long)bits);
}

// The atomics, for the types that CUDA supports; each returns the old value.
template <class T> MBK_DEVICE T mbk_atomic_add(T *address, T value) {
  static_assert(simt_one_of<T, mbk_i32, mbk_u32, mbk_u64, float, double>, "as atomicAdd");
  return simt_atomic(address, [=](T old) { return simt_sum(old, value); });
}
template <class T> MBK_DEVICE T mbk_atomic_min(T *address, simt_type<T> value) {
  static_assert(simt_one_of<T, mbk_i32, mbk_u32, mbk_i64, mbk_u64>, "as atomicMin");
  return simt_atomic(address, [=](T old) { return value < old ? value : old; });
}
template <class T> MBK_DEVICE T mbk_atomic_max(T *address, simt_type<T> value) {
  static_assert(simt_one_of<T, mbk_i32, mbk_u32, mbk_i64, mbk_u64>, "as atomicMax");
  return simt_atomic(address, [=](T old) { return value > old ? value : old; });
}
template <class T> MBK_DEVICE T mbk_atomic_or(T *address, simt_type<T> bits) {
  static_assert(simt_one_of<T, mbk_i32, mbk_u32, mbk_u64>, "as atomicOr");
  return simt_atomic(address, [=](T old) { return old | bits; });
}
template <class T> MBK_DEVICE T mbk_atomic_and(T *address, simt_type<T> bits) {
  static_assert(simt_one_of<T, mbk_i32, mbk_u32, mbk_u64>, "as atomicAnd");
  return simt_atomic(address, [=](T old) { return old & bits; });
}
template <class T> MBK_DEVICE T mbk_atomic_exchange(T *address, simt_type<T> value) {
  static_assert(simt_one_of<T, mbk_i32, mbk_u32, mbk_u64, float>, "as atomicExch");
  return simt_atomic(address, [=](T) { return value; });
}
template <class T>
MBK_DEVICE T mbk_atomic_swap_if(T *address, simt_type<T> expected, simt_type<T> value) {
  static_assert(simt_one_of<T, mbk_i32, mbk_u32, mbk_u64>, "as atomicCAS");
  return simt_atomic(address, [=](T old) { return old == expected ? value : old; });
}

MBK_DEVICE mbk_u32 mbk_peek(const mbk_u32 *address) {
  return simt_atomic((mbk_u32 *)address, [](mbk_u32 old) { return old; });
}

template <class T> MBK_DEVICE T mbk_load(const T *address) {
  simt_read_only_check(address);
  return *address;
}
template <class T> MBK_DEVICE T mbk_load_streaming(const T *address) {
  return *address;
}
template <class T> MBK_DEVICE T mbk_load_fresh(const T *address) {
  return *address;
}
// The handle of a conditional node is the address of its condition.
MBK_DEVICE void mbk_graph_go_on(mbk_u64 handle, bool go_on) {
  *(unsigned *)handle = go_on;
}
MBK_DEVICE void mbk_fence() { // no two threads run at the same time
}
template <class T> MBK_DEVICE void mbk_post(mbk_u64 *slot, T value, mbk_u32 mark) {
  mbk_u32 words[sizeof(T) / 4];
  memcpy(words, &value, sizeof value);
  for (size_t i = 0; i < sizeof(T) / 4; i++) {
    simt_post(&slot[i], (mbk_u64)words[i] << 32 | mark);
  }
}
template <class T> MBK_DEVICE bool mbk_posted(const mbk_u64 *slot, mbk_u32 mark, T &value) {
  mbk_u32 words[sizeof(T) / 4];
  bool complete = true;
  for (size_t i = 0; i < sizeof(T) / 4; i++) {
    complete = complete && (mbk_u32)slot[i] == mark;
    words[i] = (mbk_u32)(slot[i] >> 32);
  }
  memcpy(&value, words, sizeof value);
  return complete;
}
template <int COUNT, class T>
MBK_DEVICE void mbk_collect(const mbk_u64 *slots, mbk_u32 mark, mbk_u64 exist,
                            T (&values)[COUNT], SIMT_SITE) {
  const size_t count = sizeof(T) / 4;
  for (size_t k = 0; k < COUNT && k < exist; k++) {
    for (size_t i = 0; i < count; i++) {
      simt_wait_mark(&slots[k * count + i], mark, {file, line});
    }
    (void)mbk_posted(slots + k * count, mark, values[k]);
  }
}
template <class T, int N> struct alignas(sizeof(T) * N) mbk_pack { T at[N]; };
template <class T, int N> MBK_DEVICE mbk_pack<T, N> mbk_load_pack_after_wait(const T *address) {
  simt_pack_check(address, sizeof(T) * N);
  return *(const mbk_pack<T, N> *)address;
}
template <class T, int N> MBK_DEVICE mbk_pack<T, N> mbk_load_pack(const T *address) {
  simt_read_only_check(address);
  return mbk_load_pack_after_wait<T, N>(address);
}
template <class T, int N> MBK_DEVICE mbk_pack<T, N> mbk_load_pack_streaming(const T *address) {
  static_assert(sizeof(T) * N == 2 || sizeof(T) * N == 4 || sizeof(T) * N == 8 ||
                    sizeof(T) * N == 16,
                "one load");
  simt_pack_check(address, sizeof(T) * N);
  return *(const mbk_pack<T, N> *)address;
}
template <class T, int N> MBK_DEVICE void mbk_store_pack(T *address, mbk_pack<T, N> pack) {
  simt_pack_check(address, sizeof(T) * N);
  *(mbk_pack<T, N> *)address = pack;
}
template <int BYTES> MBK_DEVICE void mbk_copy_ahead(void *shared, const void *global) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async");
  simt_copy_begin(shared, global, BYTES);
}
MBK_DEVICE void mbk_copy_wait() {
  simt_copy_end(simt.current, true);
}
MBK_DEVICE void mbk_await() {
  simt_late_end();
}
template <class T> MBK_DEVICE T mbk_load_after_wait(const T *address) {
  return *address;
}
template <class T> MBK_DEVICE T mbk_load_ahead(const T *address) {
  return mbk_load(address);
}
template <class T, int N> MBK_DEVICE mbk_pack<T, N> mbk_load_pack_ahead(const T *address) {
  return mbk_load_pack<T, N>(address);
}
template <class T> MBK_DEVICE T mbk_load_behind(const T *address) {
  return *address;
}
MBK_DEVICE void mbk_release() {
}
// Reads nothing, so that the address need not be valid.
template <class T> MBK_DEVICE void mbk_prefetch(const T *address) {
  (void)address;
}
template <class T> MBK_DEVICE void mbk_prefetch_if(bool wanted, const T *address) {
  if (wanted && simt.prefetched != nullptr) {
    simt.prefetched->push_back(address);
  }
}

#include "jit/complex.cuh"
#endif // SIMT_DEVICE_CUH
