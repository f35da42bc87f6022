// One specialisation of spmv/gpu/rows/rows.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, lanes, unroll, once, threads
//   #include "simt/rows_form.h"
//
// Puts it into namespace `name` and adds it to the list rows_forms. `value` is a type, `offset`
// the bits of row_ptr, `ones` the form of the values (plan_form.h); `device` tells that alpha
// and beta are in GPU memory.
#include "simt/plan_form.h"
#include "simt/rows_bed.h"

#define MBK_LANES SIMT_ARG(6, SIMT_FORM)
#define MBK_UNROLL SIMT_ARG(7, SIMT_FORM)
#define MBK_STREAMING SIMT_ARG(8, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(9, SIMT_FORM)
#define MBK_HOLDS MBK_STREAMING

#pragma GCC diagnostic push // parameters of other forms; slots beyond the row's end
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/gpu/rows/rows.cu"

static const rows_form form = {
  SIMT_CSR_FORM,
  MBK_LANES,
  MBK_UNROLL,
  MBK_THREADS,
  SIMT_KERNEL(mbk_rows_product),
  SIMT_KERNEL(mbk_rows_sum)
};
[[maybe_unused]] static const bool listed = (rows_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
