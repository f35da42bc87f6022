// One specialisation of spmv/gpu/binned/binned.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, steps, empty, once, threads,
//     strip, tiles
//   #include "simt/binned_form.h"
//
// Puts it into namespace `name` and adds it to the list binned_forms. `value` is a type,
// `offset` the bits of row_start, `ones` the form of the values (plan_form.h); `device` tells
// that alpha and beta are in GPU memory, `empty` that some rows are empty. `strip` is in
// columns; `tiles` is the number of tiles of a warp in a part.
#include "simt/plan_form.h"
#include "simt/binned_bed.h"

#define MBK_STEPS SIMT_ARG(6, SIMT_FORM)
#define MBK_DEPTH 5
#define MBK_PACK (16 / (int)sizeof(MBK_COMPUTE))
#define MBK_EMPTY_ROWS SIMT_ARG(7, SIMT_FORM)
#define MBK_STREAMING SIMT_ARG(8, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(9, SIMT_FORM)
#define MBK_STRIP SIMT_ARG(10, SIMT_FORM)
#define MBK_WARP_TILES SIMT_ARG(11, SIMT_FORM)
#define MBK_BLOCKS 1

#pragma GCC diagnostic push // parameters of other forms; packs and tiles beyond the last
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/gpu/binned/binned.cu"

static const binned_form form = {
  {
    SIMT_CSR_FORM,
    MBK_STEPS,
    MBK_DEPTH,
    MBK_PACK,
    MBK_EMPTY_ROWS,
    true,
    MBK_THREADS,
    SIMT_KERNEL(mbk_scan_build),
    SIMT_KERNEL(mbk_binned_sum),
    {},
    SIMT_KERNEL(mbk_scan_fixup)
  },
  MBK_STRIP,
  MBK_WARP_TILES,
  SIMT_KERNEL(mbk_binned_count),
  SIMT_KERNEL(mbk_binned_total),
  SIMT_KERNEL(mbk_binned_offsets),
  SIMT_KERNEL(mbk_binned_fill),
  SIMT_KERNEL(mbk_binned_multiply)
};
[[maybe_unused]] static const bool listed = (binned_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
