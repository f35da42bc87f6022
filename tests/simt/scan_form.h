// One specialisation of spmv/gpu/scan/scan.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, steps, depth, empty, once, threads
//   #include "simt/scan_form.h"
//
// Puts it into namespace `name` and adds it to the list scan_forms. `value` is a type, `offset`
// the bits of row_start, `ones` the form of the values (plan_form.h); `device` tells that alpha
// and beta are in GPU memory, `empty` that some rows are empty. Forms of 128 threads load one
// element at a time, and get columns and values that are misaligned for vector loads. Forms
// without `once` load two nonzeros at once, as for short rows in f32. With SIMT_WHOLE defined
// the file is spmv/gpu/scan/whole.cu, with SIMT_LINKED linked.cu; with SIMT_DOTS the product
// also computes x'A x; with SIMT_TWICE lanes take 32 bytes of sums, as for patterns.
// Streaming forms hold the old y of more rows, fit whole rows to blocks, prefetch sectors of
// y that hold both empty and other rows, and write more empty rows per warp.
#include "simt/plan_form.h"
#include "simt/scan_bed.h"

#define MBK_STEPS SIMT_ARG(6, SIMT_FORM)
#define MBK_DEPTH SIMT_ARG(7, SIMT_FORM)
#define MBK_EMPTY_ROWS SIMT_ARG(8, SIMT_FORM)
#define MBK_STREAMING SIMT_ARG(9, SIMT_FORM)
#define MBK_FILL_AHEAD MBK_STREAMING
#define MBK_FILL (MBK_STREAMING ? 32 : 8)
#define MBK_THREADS SIMT_ARG(10, SIMT_FORM)
#define MBK_OLD_ROWS (MBK_STREAMING ? 512 / (int)sizeof(MBK_VECTOR) : 32)
#ifdef SIMT_TWICE
#define MBK_PACK (32 / (int)sizeof(MBK_COMPUTE))
#else
#define MBK_PACK (MBK_STREAMING ? 16 / (int)sizeof(MBK_COMPUTE) : 2)
#endif
#define MBK_FITTED MBK_STREAMING
#define MBK_BLOCKS 1
#define MBK_ALIGNED (MBK_THREADS != 128)
#ifdef SIMT_DOTS
#define MBK_DOTS 1
#endif

#pragma GCC diagnostic push // parameters of other forms; slots beyond the tile's count
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#ifdef SIMT_WHOLE
#include "spmv/gpu/scan/whole.cu"
#elif defined SIMT_LINKED
#include "spmv/gpu/scan/linked.cu"
#else
#include "spmv/gpu/scan/scan.cu"
#endif

static const scan_form form = {
  SIMT_CSR_FORM,
  MBK_STEPS,
  MBK_DEPTH,
  MBK_PACK,
  MBK_EMPTY_ROWS,
  MBK_ALIGNED,
  MBK_THREADS,
  SIMT_KERNEL(mbk_scan_build),
#ifdef SIMT_WHOLE
  SIMT_KERNEL(mbk_scan_whole),
  SIMT_KERNEL(mbk_scan_whole_sum),
  {},
  SIMT_KERNEL(mbk_scan_cut),
  true,
  false,
  MBK_FITTED != 0,
  false,
#elif defined SIMT_LINKED
  SIMT_KERNEL(mbk_scan_linked),
  SIMT_KERNEL(mbk_scan_linked_sum),
  {},
  {},
  false,
  true,
  false,
  false,
#else
  SIMT_KERNEL(mbk_scan_product),
  SIMT_KERNEL(mbk_scan_sum),
  SIMT_KERNEL(mbk_scan_fixup),
  {},
  false,
  false,
  false,
  MBK_DOTS != 0,
#endif
  MBK_OLD_ROWS,
  MBK_FILL,
  MBK_FILL_AHEAD
};
[[maybe_unused]] static const bool listed = (scan_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
