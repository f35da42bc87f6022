// One specialisation of spmv/gpu/merbit/merbit.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, sigma, omega, threads, offset, base, tile, ones, device,
//     dual
//   #include "simt/merbit_form.h"
//
// Puts it into namespace `name` and adds it to the list merbit_forms. `value` is a type,
// `offset` and `tile` are the bits of row_ptr and of tile starts; `ones` tells that no values
// are stored, `device` that alpha and beta are in GPU memory, `dual` that it has the
// dual-buffer commit.
#include "simt/merbit_forms.h"

#define MBK_VALUE SIMT_ARG(1, SIMT_FORM)
#define MBK_VECTOR MBK_VALUE
#define MBK_COMPUTE MBK_VALUE
#define MBK_SIGMA SIMT_ARG(2, SIMT_FORM)
#define MBK_OMEGA SIMT_ARG(3, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(4, SIMT_FORM)
#define MBK_ROW_PTR SIMT_GLUE(mbk_i, SIMT_ARG(5, SIMT_FORM))
#define MBK_BASE SIMT_ARG(6, SIMT_FORM)
#define MBK_TILE SIMT_GLUE(mbk_u, SIMT_ARG(7, SIMT_FORM))
#define MBK_PATTERN SIMT_ARG(8, SIMT_FORM)
#define MBK_STORED 0
#define MBK_SEMIRING 0
#define MBK_SCALARS_DEVICE SIMT_ARG(9, SIMT_FORM)
#define MBK_DUAL SIMT_ARG(10, SIMT_FORM)
#define MBK_COORDINATE_BITS SIMT_LOG2_CEILING(MBK_OMEGA *MBK_SIGMA)
#if 2 * MBK_COORDINATE_BITS + MBK_SIGMA > 32
#define MBK_DESCRIPTOR mbk_u64
#else
#define MBK_DESCRIPTOR mbk_u32
#endif

#ifndef __clang__ // gcc does not see that no slot beyond the tile's count is read
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/gpu/merbit/merbit.cu"

static const merbit_form form = {
  {SIMT_TEXT(SIMT_ARG(0, SIMT_FORM)), sizeof(MBK_VALUE), sizeof(MBK_ROW_PTR), MBK_BASE,
   MBK_PATTERN, MBK_SCALARS_DEVICE},
  MBK_SIGMA,
  MBK_OMEGA,
  MBK_THREADS,
  sizeof(MBK_TILE),
  MBK_DUAL,
  MBK_COORDINATE_BITS,
  sizeof(MBK_DESCRIPTOR),
  SIMT_KERNEL(mbk_merbit_build),
  SIMT_KERNEL(mbk_merbit_product),
#if MBK_DUAL
  {}
#else
  SIMT_KERNEL(mbk_merbit_fixup)
#endif
};
[[maybe_unused]] static const bool listed = merbit_list(&form);
} // of the form
// clang-format on
#ifndef __clang__
#pragma GCC diagnostic pop
#endif

#undef SIMT_FORM
#include "undefine.h"
