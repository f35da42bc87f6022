// The CPU's answer to templates/jit/device.cuh: the same names over simt.h. Kernels are static,
// so that several specialisations of one file live in one program, each in a namespace of its
// own.
#ifndef SIMT_DEVICE_CUH
#define SIMT_DEVICE_CUH
#include "../../simt.h"

#define MBK_KERNEL [[maybe_unused]] static void
#define MBK_DEVICE [[maybe_unused]] static inline
#define MBK_BOUNDS(threads)
#define MBK_SHARED_MEMORY(name) unsigned char *const name = simt.shared

typedef int mbk_i32;
typedef unsigned mbk_u32;
typedef long long mbk_i64;
typedef unsigned long long mbk_u64;

#define SIMT_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

MBK_DEVICE mbk_u32 mbk_thread() {
  return simt.current;
}
MBK_DEVICE mbk_u32 mbk_block() {
  return simt.block;
}
MBK_DEVICE mbk_u32 mbk_grid() {
  return simt.grid;
}
MBK_DEVICE mbk_u32 mbk_lane() {
  return simt.current & 31u;
}

MBK_DEVICE void mbk_block_sync(SIMT_SITE) {
  simt_block_sync({file, line});
}
MBK_DEVICE void mbk_warp_sync(mbk_u32 mask, SIMT_SITE) {
  simt_collective({SIMT_WARP_SYNC, mask, 1, 0, {file, line}}, 0, {});
}

template <class T>
T simt_exchange(simt_state state, mbk_u32 mask, T value, int argument, int width,
                simt_site site) {
  static_assert(sizeof(T) <= sizeof(simt_word), "a shuffle moves up to 16 bytes");
  simt_word word = {};
  memcpy(&word, &value, sizeof value);
  word = simt_collective({state, mask, width, sizeof value, site}, argument, word);
  memcpy(&value, &word, sizeof value);
  return value;
}
template <class T>
MBK_DEVICE T mbk_shuffle(mbk_u32 mask, T value, int lane, int width, SIMT_SITE) {
  return simt_exchange(SIMT_SHUFFLE, mask, value, lane, width, {file, line});
}
template <class T>
MBK_DEVICE T mbk_shuffle_up(mbk_u32 mask, T value, int delta, int width, SIMT_SITE) {
  return simt_exchange(SIMT_SHUFFLE_UP, mask, value, delta, width, {file, line});
}
template <class T>
MBK_DEVICE T mbk_shuffle_down(mbk_u32 mask, T value, int delta, int width, SIMT_SITE) {
  return simt_exchange(SIMT_SHUFFLE_DOWN, mask, value, delta, width, {file, line});
}
MBK_DEVICE mbk_u32 mbk_ballot(mbk_u32 mask, bool flag, SIMT_SITE) {
  return (mbk_u32)simt_collective({SIMT_BALLOT, mask, 1, 0, {file, line}}, flag, {}).half[0];
}

MBK_DEVICE int mbk_popcount(mbk_u32 bits) {
  return __builtin_popcount(bits);
}
MBK_DEVICE int mbk_popcount(mbk_u64 bits) {
  return __builtin_popcountll(bits);
}

template <class T> MBK_DEVICE void mbk_atomic_add(T *address, T value) {
  simt_hesitate();
  *address += value;
}
MBK_DEVICE void mbk_atomic_or(mbk_u32 *address, mbk_u32 bits) {
  simt_hesitate();
  *address |= bits;
}
MBK_DEVICE void mbk_atomic_min(mbk_u64 *address, mbk_u64 value) {
  simt_hesitate();
  *address = value < *address ? value : *address;
}

template <class T> MBK_DEVICE T mbk_load(const T *address) {
  return *address;
}
#endif // SIMT_DEVICE_CUH
