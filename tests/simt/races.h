// A race detector for shared memory that does not depend on the schedule, as
// compute-sanitizer's racecheck on a GPU. It works in programs whose sources all define
// SIMT_RACES and are compiled, but not linked, with -fsanitize=thread: the compiler's calls
// arrive here. Elsewhere nothing is checked. If two threads access the same byte, at least one
// writes and not both are atomic, a barrier or a __syncwarp must order the two; votes and
// shuffles order no memory. Part of simt.h.
#ifndef SIMT_RACES_H
#define SIMT_RACES_H
#include "fibres.h"

enum simt_access_kind { SIMT_READ, SIMT_WRITE, SIMT_ATOMIC };

#ifndef SIMT_RACES
inline void simt_races_meet(unsigned, uint32_t) {
}
inline void simt_races_barrier() {
}
inline void simt_races_access(const void *, size_t, simt_access_kind) {
}
#else
struct simt_access {
  unsigned epoch, thread, clock;
  simt_access_kind kind;
};

struct simt_races_state {
  unsigned epoch = 1;                         // number of barriers and blocks so far
  unsigned clocks[SIMT_THREADS_MAX][32] = {}; // what each thread knows of its warp's lanes
  simt_access writes[SIMT_SHARED_MAX] = {}, reads[SIMT_SHARED_MAX] = {}; // the last, per byte
};
inline simt_races_state simt_races;

// Synchronises the lanes of `mask`: each learns what the others knew and did.
SIMT_PLAIN inline void simt_races_meet(unsigned first, uint32_t mask) {
  unsigned known[32] = {};
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(left);
    unsigned *const own = simt_races.clocks[first + lane];
    own[lane]++;
    for (unsigned i = 0; i < 32; i++) {
      known[i] = own[i] > known[i] ? own[i] : known[i];
    }
  }
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    memcpy(simt_races.clocks[first + (unsigned)__builtin_ctz(left)], known, sizeof known);
  }
}

// Begins a new epoch at each barrier, and before each block.
SIMT_PLAIN inline void simt_races_barrier() {
  simt_races.epoch++;
}

SIMT_PLAIN inline void simt_races_compare(const simt_access &before, const simt_access &now,
                                          size_t byte) {
  static const char *const kinds[] = {"reads", "writes", "updates atomically"};
  if (before.epoch != simt_races.epoch || before.thread == now.thread ||
      (before.kind == SIMT_ATOMIC && now.kind == SIMT_ATOMIC) ||
      (before.thread / 32 == now.thread / 32 &&
       simt_races.clocks[now.thread][before.thread % 32] >= before.clock)) {
    return;
  }
  SIMT_FAIL("%s %s byte %zu of shared memory, which %s %s, with no barrier between (race)",
            simt_name(now.thread).text, kinds[now.kind], byte, simt_name(before.thread).text,
            kinds[before.kind]);
}

SIMT_PLAIN inline void simt_races_access(const void *address, size_t bytes,
                                         simt_access_kind kind) {
  const uintptr_t at = (uintptr_t)address - (uintptr_t)simt.shared;
  if (simt.body == nullptr || at >= simt.shared_bytes) {
    return;
  }
  const unsigned me = simt.current;
  const simt_access now = {simt_races.epoch, me, simt_races.clocks[me][me % 32] + 1, kind};
  for (size_t byte = at; byte < at + bytes && byte < simt.shared_bytes; byte++) {
    simt_races_compare(simt_races.writes[byte], now, byte);
    if (kind != SIMT_READ) {
      simt_races_compare(simt_races.reads[byte], now, byte);
    }
    (kind == SIMT_READ ? simt_races.reads : simt_races.writes)[byte] = now;
  }
}

// The functions that compilers call for -fsanitize=thread, by the names of gcc and clang.
extern "C" {
inline __attribute__((used)) void __tsan_init() {
}
inline __attribute__((used)) void __tsan_func_entry(void *) {
}
inline __attribute__((used)) void __tsan_func_exit() {
}
// Clang's functions: guards of static variables, and replacements of memcpy and its relatives.
SIMT_PLAIN inline __attribute__((used)) char __tsan_atomic8_load(const volatile char *address,
                                                                 int) {
  return *address;
}
// Functions for the library's host code, which one thread runs.
SIMT_PLAIN inline __attribute__((used)) int __tsan_atomic32_load(const volatile int *address,
                                                                 int) {
  return *address;
}
SIMT_PLAIN inline __attribute__((used)) void __tsan_atomic32_store(volatile int *address,
                                                                   int value, int) {
  *address = value;
}
SIMT_PLAIN inline __attribute__((used)) int __tsan_atomic32_fetch_add(volatile int *address,
                                                                      int value, int) {
  const int old = *address;
  *address = old + value;
  return old;
}
SIMT_PLAIN inline __attribute__((used)) long __tsan_atomic64_fetch_add(volatile long *address,
                                                                       long value, int) {
  const long old = *address;
  *address = old + value;
  return old;
}
SIMT_PLAIN inline __attribute__((used)) long __tsan_atomic64_fetch_sub(volatile long *address,
                                                                       long value, int) {
  return __tsan_atomic64_fetch_add(address, -value, 0);
}
SIMT_PLAIN inline __attribute__((used)) long __tsan_atomic64_fetch_or(volatile long *address,
                                                                      long value, int) {
  const long old = *address;
  *address = old | value;
  return old;
}
SIMT_PLAIN inline __attribute__((used)) int
__tsan_atomic32_compare_exchange_strong(volatile int *address, int *expected, int value, int,
                                        int) {
  const int old = *address;
  const bool same = old == *expected;
  *(same ? address : expected) = same ? value : old;
  return same;
}
SIMT_PLAIN inline __attribute__((used)) int
__tsan_atomic32_compare_exchange_val(volatile int *address, int expected, int value, int, int) {
  const int old = *address;
  *address = old == expected ? value : old;
  return old;
}
SIMT_PLAIN inline __attribute__((used)) void *__tsan_memcpy(void *to, const void *from,
                                                            size_t bytes) {
  simt_races_access(from, bytes, SIMT_READ);
  simt_races_access(to, bytes, SIMT_WRITE);
  return memcpy(to, from, bytes);
}
SIMT_PLAIN inline __attribute__((used)) void *__tsan_memmove(void *to, const void *from,
                                                             size_t bytes) {
  simt_races_access(from, bytes, SIMT_READ);
  simt_races_access(to, bytes, SIMT_WRITE);
  return memmove(to, from, bytes);
}
SIMT_PLAIN inline __attribute__((used)) void *__tsan_memset(void *to, int value, size_t bytes) {
  simt_races_access(to, bytes, SIMT_WRITE);
  return memset(to, value, bytes);
}
#define SIMT_TSAN(name, bytes, kind)                                                           \
  SIMT_PLAIN inline __attribute__((used)) void __tsan_##name(void *address) {                  \
    simt_races_access(address, bytes, kind);                                                   \
  }
#define SIMT_TSAN_SIZE(bytes)                                                                  \
  SIMT_TSAN(read##bytes, bytes, SIMT_READ)                                                     \
  SIMT_TSAN(write##bytes, bytes, SIMT_WRITE)                                                   \
  SIMT_TSAN(unaligned_read##bytes, bytes, SIMT_READ)                                           \
  SIMT_TSAN(unaligned_write##bytes, bytes, SIMT_WRITE)
SIMT_TSAN_SIZE(1)
SIMT_TSAN_SIZE(2)
SIMT_TSAN_SIZE(4)
SIMT_TSAN_SIZE(8)
SIMT_TSAN_SIZE(16)
SIMT_TSAN(vptr_read, 8, SIMT_READ)
SIMT_PLAIN inline __attribute__((used)) void __tsan_vptr_update(void *address, void *) {
  simt_races_access(address, 8, SIMT_WRITE);
}
SIMT_PLAIN inline __attribute__((used)) void __tsan_read_range(void *address, size_t bytes) {
  simt_races_access(address, bytes, SIMT_READ);
}
SIMT_PLAIN inline __attribute__((used)) void __tsan_write_range(void *address, size_t bytes) {
  simt_races_access(address, bytes, SIMT_WRITE);
}
}
#endif
#endif // SIMT_RACES_H
