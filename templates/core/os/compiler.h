#ifndef MBI_COMPILER_H
#define MBI_COMPILER_H
/* Names for compiler features beyond C99: those of GNU C, or intrinsics of MSVC. */
#include "api/features.h"
#include "merbit.h"

#ifdef __GNUC__
#ifdef __MINGW_PRINTF_FORMAT
#define MBI_PRINTF(at, first) __attribute__((format(__MINGW_PRINTF_FORMAT, at, first)))
#else
#define MBI_PRINTF(at, first) __attribute__((format(printf, at, first)))
#endif
/* Keeps a function out of line: a hot loop that should not share registers with its caller, or
 * a short function with many callers, whose copies would cost compile time. */
#define MBI_NOINLINE __attribute__((noinline))
#define MBI_UNUSED __attribute__((unused))
#define MBI_PREFETCH(address) __builtin_prefetch(address)
/* Keeps the compiler from vectorising a sum over a row: most rows are too short to profit. */
#define MBI_SCALAR_LOOP __asm__ volatile("")

/* Atomic operations. Additions and ORs return the old value. */
#define MBI_ATOMIC_LOAD(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)
#define MBI_ATOMIC_STORE(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)
#define MBI_ATOMIC_REPLACE_ZERO(at, value) ((void)__sync_val_compare_and_swap(at, 0, value))
#define MBI_ATOMIC_ADD(at, value) __atomic_fetch_add(at, value, __ATOMIC_RELAXED)
#define MBI_ATOMIC_ADD64(at, value) __atomic_fetch_add(at, value, __ATOMIC_RELAXED)
#define MBI_ATOMIC_OR64(at, value) __atomic_fetch_or(at, value, __ATOMIC_RELAXED)

static int mbi_leading_zeros(uint64_t word) {
  return __builtin_clzll(word);
}

static int mbi_trailing_zeros(uint64_t word) {
  return __builtin_ctzll(word);
}

__extension__ typedef unsigned __int128 mbi_u128;

/* Returns the low 64 bits of a product and stores the high 64 bits in *high. */
static uint64_t mbi_multiply(uint64_t a, uint64_t b, uint64_t *high) {
  const mbi_u128 product = (mbi_u128)a * b;
  *high = (uint64_t)(product >> 64);
  return (uint64_t)product;
}
#else
#include <intrin.h>
#define MBI_PRINTF(at, first)
#define MBI_NOINLINE __declspec(noinline)
#define MBI_UNUSED
#define MBI_PREFETCH(address) ((void)0)
#define MBI_SCALAR_LOOP ((void)0)
#define MBI_ATOMIC_LOAD(at) ((int)_InterlockedOr((volatile long *)(at), 0))
#define MBI_ATOMIC_STORE(at, value)                                                            \
  ((void)_InterlockedExchange((volatile long *)(at), (long)(value)))
#define MBI_ATOMIC_REPLACE_ZERO(at, value)                                                     \
  ((void)_InterlockedCompareExchange((volatile long *)(at), (long)(value), 0))
#define MBI_ATOMIC_ADD(at, value) ((int)_InterlockedExchangeAdd((volatile long *)(at), value))
#define MBI_ATOMIC_ADD64(at, value) _InterlockedExchangeAdd64((volatile __int64 *)(at), value)
#define MBI_ATOMIC_OR64(at, value)                                                             \
  ((uint64_t)_InterlockedOr64((volatile __int64 *)(at), (__int64)(value)))

static int mbi_leading_zeros(uint64_t word) {
  unsigned long bit;
  (void)_BitScanReverse64(&bit, word);
  return 63 - (int)bit;
}

static int mbi_trailing_zeros(uint64_t word) {
  unsigned long bit;
  (void)_BitScanForward64(&bit, word);
  return (int)bit;
}

static uint64_t mbi_multiply(uint64_t a, uint64_t b, uint64_t *high) {
  const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
  const uint64_t middle = al * bh + (al * bl >> 32), other = ah * bl + (uint32_t)middle;
  *high = ah * bh + (middle >> 32) + (other >> 32);
  return a * b;
}
#endif

/* Enclose code that decides and calls but has no loop over a matrix or a vector. GCC optimises
 * it as for debugging, which takes a quarter off the time to compile merbit.h with -O2. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) &&                        \
    defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define MBI_CONTROL_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize (\"Og\")")
#define MBI_CONTROL_END _Pragma("GCC pop_options")
#else
#define MBI_CONTROL_BEGIN
#define MBI_CONTROL_END
#endif

#ifndef _OPENMP
/* Tells the processor that the thread is polling in a loop. */
static void mbi_pause(void) {
#ifdef _WIN32
  YieldProcessor();
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
#endif

#endif
