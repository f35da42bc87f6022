// One specialisation of spmv/gpu/sliced/sliced.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, sorted, unroll, once, threads, pack,
//           length, parts
//   #include "simt/sliced_form.h"
//
// Puts it into namespace `name` and adds it to the list sliced_forms. `value` is a type,
// `offset` the bits of row_ptr, `ones` the form of the values (plan_form.h); `device` tells
// that alpha and beta are in GPU memory, `sorted` that rows are sorted by length. `length` is
// the type of the row lengths; `parts` warps share a slice.
#include "simt/plan_form.h"
#include "simt/sliced_bed.h"

#define MBK_SORTED SIMT_ARG(6, SIMT_FORM)
#define MBK_UNROLL SIMT_ARG(7, SIMT_FORM)
#define MBK_STREAMING SIMT_ARG(8, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(9, SIMT_FORM)
#define MBK_PACK SIMT_ARG(10, SIMT_FORM)
#define MBK_LENGTH SIMT_ARG(11, SIMT_FORM)
#define MBK_PARTS SIMT_ARG(12, SIMT_FORM)

#pragma GCC diagnostic push // parameters of other forms; slots beyond the row's end
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/gpu/sliced/sliced.cu"

static const sliced_form form = {
  SIMT_CSR_FORM,
  MBK_SORTED,
  MBK_UNROLL,
  MBK_THREADS,
  MBK_PACK,
  sizeof(MBK_LENGTH),
  MBK_PARTS,
  SIMT_KERNEL(mbk_sliced_order),
  SIMT_KERNEL(mbk_sliced_width),
  SIMT_KERNEL(mbk_sliced_fill),
  SIMT_KERNEL(mbk_sliced_product)
};
[[maybe_unused]] static const bool listed = (sliced_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
