// One specialisation of spmv/merbit.cu as a struct of its macros and kernels. No include guard:
// define
//   SIMT_NAME SIMT_VALUE SIMT_SIGMA SIMT_OMEGA SIMT_THREADS SIMT_ROW_PTR SIMT_BASE SIMT_TILE
//   SIMT_PATTERN SIMT_SCALARS_DEVICE SIMT_DUAL
// and include this; `SIMT_NAME::kernels` is the result, and the names are free for the next
// one.
#include "jit/device.cuh"

#ifndef SIMT_LOG2_CEILING
#define SIMT_LOG2_CEILING(n)                                                                   \
  ((n) <= 8      ? 3                                                                           \
   : (n) <= 16   ? 4                                                                           \
   : (n) <= 32   ? 5                                                                           \
   : (n) <= 64   ? 6                                                                           \
   : (n) <= 128  ? 7                                                                           \
   : (n) <= 256  ? 8                                                                           \
   : (n) <= 512  ? 9                                                                           \
   : (n) <= 1024 ? 10                                                                          \
                 : 11)
#endif

#define MBK_VALUE SIMT_VALUE
#define MBK_VECTOR SIMT_VALUE
#define MBK_COMPUTE SIMT_VALUE
#define MBK_PATTERN SIMT_PATTERN
#define MBK_ROW_PTR SIMT_ROW_PTR
#define MBK_BASE SIMT_BASE
#define MBK_TILE SIMT_TILE
#define MBK_COORDINATE_BITS SIMT_LOG2_CEILING(SIMT_OMEGA *SIMT_SIGMA)
#if 2 * MBK_COORDINATE_BITS + SIMT_SIGMA > 32
#define MBK_DESCRIPTOR mbk_u64
#else
#define MBK_DESCRIPTOR mbk_u32
#endif
#define MBK_SIGMA SIMT_SIGMA
#define MBK_OMEGA SIMT_OMEGA
#define MBK_THREADS SIMT_THREADS
#define MBK_DUAL SIMT_DUAL
#define MBK_SCALARS_DEVICE SIMT_SCALARS_DEVICE

namespace SIMT_NAME {
#include "spmv/merbit.cu"

struct kernels {
  typedef MBK_VALUE value;
  typedef MBK_ROW_PTR row_ptr;
  typedef MBK_TILE tile;
  typedef MBK_DESCRIPTOR descriptor;
  static constexpr bool pattern = MBK_PATTERN, dual = MBK_DUAL,
                        device_scalars = MBK_SCALARS_DEVICE;
  static constexpr int base = MBK_BASE, bits = MBK_COORDINATE_BITS, sigma = MBK_SIGMA,
                       omega = MBK_OMEGA, threads = MBK_THREADS;

  template <class... T> static void build(T... arguments) {
    mbk_merbit_build(arguments...);
  }
  template <class... T> static void product(T... arguments) {
    mbk_merbit_product(arguments...);
  }
#if !MBK_DUAL
  template <class... T> static void fixup(T... arguments) {
    mbk_merbit_fixup(arguments...);
  }
#endif
};
} // namespace SIMT_NAME

#undef SIMT_NAME
#undef SIMT_VALUE
#undef SIMT_SIGMA
#undef SIMT_OMEGA
#undef SIMT_THREADS
#undef SIMT_ROW_PTR
#undef SIMT_BASE
#undef SIMT_TILE
#undef SIMT_PATTERN
#undef SIMT_SCALARS_DEVICE
#undef SIMT_DUAL
#include "undefine.h"
