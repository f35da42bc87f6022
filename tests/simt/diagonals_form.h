// One specialisation of spmv/gpu/diagonals/diagonals.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, unroll, once, threads
//   #include "simt/diagonals_form.h"
//
// Puts it into namespace `name` and adds it to the list diagonals_forms. `value` is a type,
// `offset` the bits of row_ptr, `ones` the form of the values (plan_form.h); `device` tells
// that alpha and beta are in GPU memory.
#include "simt/plan_form.h"
#include "simt/diagonals_bed.h"

#define MBK_UNROLL SIMT_ARG(6, SIMT_FORM)
#define MBK_STREAMING SIMT_ARG(7, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(8, SIMT_FORM)

#pragma GCC diagnostic push // parameters of other forms; slots after the last diagonal
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/gpu/diagonals/diagonals.cu"

static const diagonals_form form = {
  SIMT_CSR_FORM,
  MBK_UNROLL,
  MBK_THREADS,
  SIMT_KERNEL(mbk_diagonals_count),
  SIMT_KERNEL(mbk_diagonals_fill),
  SIMT_KERNEL(mbk_diagonals_product),
#if MBK_PATTERN
  {}
#else
  SIMT_KERNEL(mbk_diagonals_values)
#endif
};
[[maybe_unused]] static const bool listed = (diagonals_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
