// One specialisation of spmv/gpu/cb/cb.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, aggregated, once, threads
//   #include "simt/cb_form.h"
//
// Puts it into namespace `name` and adds it to the list cb_forms. `value` is a type, `offset`
// the bits of row_ptr, `ones` the form of the values (plan_form.h); `device` tells that alpha
// and beta are in GPU memory, `aggregated` that blocks list their columns.
#include "simt/cb_bed.h"
#include "simt/plan_form.h"

#define MBK_AGGREGATED SIMT_ARG(6, SIMT_FORM)
#define MBK_STREAMING SIMT_ARG(7, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(8, SIMT_FORM)
#define MBK_BLOCKS 1

#pragma GCC diagnostic push // parameters of other forms; values that a mask lacks
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/gpu/cb/cb.cu"

static const cb_form form = {
  SIMT_CSR_FORM,
  MBK_AGGREGATED,
  MBK_THREADS,
  MBK_FIXUP_THREADS,
  SIMT_KERNEL(mbk_cb_product),
  SIMT_KERNEL(mbk_cb_fixup)
};
[[maybe_unused]] static const bool listed = (cb_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
