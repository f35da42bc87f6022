// One specialisation of spmv/gpu/merge/merge.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, steps, rounds, once, threads
//   #include "simt/merge_form.h"
//
// Puts it into namespace `name` and adds it to the list merge_forms. `value` is a type,
// `offset` the bits of row_ptr, `ones` the form of the values (plan_form.h); `device` tells
// that alpha and beta are in GPU memory. Forms of 128 threads load one element at a time, and
// get columns and values that are misaligned for vector loads. Forms without `once` load two
// nonzeros at once, as for short rows in f32.
#include "simt/merge_bed.h"
#include "simt/plan_form.h"

#define MBK_STEPS SIMT_ARG(6, SIMT_FORM)
#define MBK_ROUNDS SIMT_ARG(7, SIMT_FORM)
#define MBK_STREAMING SIMT_ARG(8, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(9, SIMT_FORM)
#define MBK_PACK (MBK_STREAMING ? 16 / (int)sizeof(MBK_COMPUTE) : 2)
#define MBK_BLOCKS 1
#define MBK_ALIGNED (MBK_THREADS != 128)

#pragma GCC diagnostic push // parameters of other forms; slots beyond the chunk's end
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/gpu/merge/merge.cu"

static const merge_form form = {
  SIMT_CSR_FORM,
  MBK_STEPS,
  MBK_PACK,
  MBK_ROUNDS,
  MBK_THREADS,
  MBK_ALIGNED,
  SIMT_KERNEL(mbk_merge_cut),
  SIMT_KERNEL(mbk_merge_product),
  SIMT_KERNEL(mbk_merge_sum),
  SIMT_KERNEL(mbk_merge_fixup)
};
[[maybe_unused]] static const bool listed = (merge_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
