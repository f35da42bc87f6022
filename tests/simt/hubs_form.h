// One specialisation of spmv/gpu/hubs/hubs.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, steps, depth, empty, once, threads,
//     hubs
//   #include "simt/hubs_form.h"
//
// Puts it into namespace `name` and adds it to the list hubs_forms. `hubs` is the number of
// hubs that fit in shared memory; the other arguments are those of scan_form.h. Forms of 128
// threads get misaligned arrays, as there.
#include "simt/plan_form.h"
#include "simt/hubs_bed.h"

#define MBK_STEPS SIMT_ARG(6, SIMT_FORM)
#define MBK_DEPTH SIMT_ARG(7, SIMT_FORM)
#define MBK_EMPTY_ROWS SIMT_ARG(8, SIMT_FORM)
#define MBK_STREAMING SIMT_ARG(9, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(10, SIMT_FORM)
#define MBK_HUBS SIMT_ARG(11, SIMT_FORM)
#define MBK_PACK (16 / (int)sizeof(MBK_COMPUTE))
#define MBK_BLOCKS 1
#define MBK_ALIGNED (MBK_THREADS != 128)

#pragma GCC diagnostic push // parameters of other forms; slots beyond the tile's count
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/gpu/hubs/hubs.cu"

static const hubs_form form = {
  {
    SIMT_CSR_FORM,
    MBK_STEPS,
    MBK_DEPTH,
    MBK_PACK,
    MBK_EMPTY_ROWS,
    MBK_ALIGNED,
    MBK_THREADS,
    SIMT_KERNEL(mbk_scan_build),
    SIMT_KERNEL(mbk_hubs_product),
    SIMT_KERNEL(mbk_hubs_sum),
    SIMT_KERNEL(mbk_scan_fixup)
  },
  MBK_HUBS,
  SIMT_KERNEL(mbk_hubs_assign),
  SIMT_KERNEL(mbk_hubs_encode)
};
[[maybe_unused]] static const bool listed = (hubs_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
