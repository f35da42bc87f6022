// One specialisation of spmv/gpu/many/many.cu; of spmv/gpu/many/rows.cu, which stages SIMT_ROOM
// nonzeros, if that is defined. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, vectors, width, span, team,
//     words, unroll, columns, empty, once, threads
//   #include "simt/many_form.h"
//
// Puts it into namespace `name` and adds it to the list many_forms. `value` is a type, `offset`
// the bits of row_start, `ones` the form of the values (plan_form.h); `device` tells that alpha
// and beta are in GPU memory, `columns` that X and Y are column-major, `empty` that some rows
// are empty. Forms of 128 threads get columns and values that are misaligned for vector loads.
#include "simt/plan_form.h"
#include "simt/many_bed.h"

#define MBK_VECTORS SIMT_ARG(6, SIMT_FORM)
#define MBK_WIDTH SIMT_ARG(7, SIMT_FORM)
#define MBK_SPAN SIMT_ARG(8, SIMT_FORM)
#define MBK_TEAM SIMT_ARG(9, SIMT_FORM)
#define MBK_WORDS SIMT_ARG(10, SIMT_FORM)
#define MBK_UNROLL SIMT_ARG(11, SIMT_FORM)
#define MBK_COLUMNS SIMT_ARG(12, SIMT_FORM)
#define MBK_EMPTY_ROWS SIMT_ARG(13, SIMT_FORM)
#define MBK_STREAMING SIMT_ARG(14, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(15, SIMT_FORM)
#define MBK_BLOCKS 1
#ifdef SIMT_ROOM
#define MBK_STAGED SIMT_ROOM
#endif
#define MBK_PIECE (MBK_THREADS % 64 == 0 ? 8 * MBK_WORDS : 32 * MBK_WORDS)
#define MBK_ALIGNED (MBK_THREADS != 128)

#pragma GCC diagnostic push // parameters of other forms; slots beyond the run's count
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#ifdef SIMT_ROOM
#include "spmv/gpu/many/rows.cu"
#else
#include "spmv/gpu/many/many.cu"
#endif

static const many_form form = {
  {
    SIMT_CSR_FORM,
    32 / MBK_TEAM * MBK_WORDS,
    5,
    1,
    MBK_EMPTY_ROWS,
    MBK_ALIGNED,
    MBK_THREADS,
#ifdef SIMT_ROOM
    {},
    SIMT_KERNEL(mbk_rows_many),
    {},
    {},
#else
    SIMT_KERNEL(mbk_scan_build),
    SIMT_KERNEL(mbk_many_product),
    {},
    SIMT_KERNEL(mbk_many_fixup),
#endif
    {},
    false
  },
  MBK_VECTORS,
  MBK_WIDTH,
  MBK_SPAN,
  MBK_COLUMNS,
#ifdef SIMT_ROOM
  MBK_TEAM,
  MBK_THREADS / 32 * MBK_STAGED * (4 + (MBK_PATTERN ? 0 : sizeof(MBK_VALUE))),
#else
  0,
  MBK_THREADS / 32 * (MBK_STAGE_BYTES + MBK_HELD_BYTES),
#endif
#if MBK_SPAN > 1 && !MBK_COLUMNS && defined SIMT_ROOM
  SIMT_KERNEL(mbk_rows_loose),
#elif MBK_SPAN > 1 && !MBK_COLUMNS
  SIMT_KERNEL(mbk_many_loose),
#else
  {},
#endif
#if MBK_COLUMNS
  SIMT_KERNEL(mbk_many_collect),
  SIMT_KERNEL(mbk_many_spread)
#else
  {},
  {}
#endif
};
[[maybe_unused]] static const bool listed = (many_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#undef SIMT_ROOM
#include "undefine.h"
