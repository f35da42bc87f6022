#ifndef TEST_SUPPORT_FLUSH_H
#define TEST_SUPPORT_FLUSH_H
#include <stdint.h>

/* Switches flushing of subnormal floats to zero, which -ffast-math enables for a whole program,
 * on or off. */
static void flush_subnormals(int on) {
#if defined(__x86_64__)
  const unsigned bits = 0x8040, word = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(on ? word | bits : word & ~bits);
#elif defined(__aarch64__)
  const uint64_t bit = UINT64_C(1) << 24;
  uint64_t word;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  __asm__ volatile("msr fpcr, %0" : : "r"(on ? word | bit : word & ~bit));
#else
  (void)on;
#endif
}

#endif
