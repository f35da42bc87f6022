// One specialisation of spmv/gpu/bsr/bsr.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, rows, cols, split, together, blocks,
//                     shuffled, column_major, masked, edge, empty, threads
//   #include "simt/bsr_form.h"
//
// Puts it into namespace `name` and adds it to the list bsr_forms. `value` is a type, `offset`
// the bits of row_ptr, `ones` the form of the values (plan_form.h); `device` tells that alpha
// and beta are in GPU memory. `rows` x `cols` is the block shape, `blocks` the number of blocks
// of a slot in a tile; `empty` tells that some block rows are empty.
#include "simt/plan_form.h"
#include "simt/bsr_bed.h"

#define MBK_BLOCK_ROWS SIMT_ARG(6, SIMT_FORM)
#define MBK_BLOCK_COLS SIMT_ARG(7, SIMT_FORM)
#define MBK_SPLIT SIMT_ARG(8, SIMT_FORM)
#define MBK_TOGETHER SIMT_ARG(9, SIMT_FORM)
#define MBK_SLOT_BLOCKS SIMT_ARG(10, SIMT_FORM)
#define MBK_SHUFFLED SIMT_ARG(11, SIMT_FORM)
#define MBK_COLUMN_MAJOR SIMT_ARG(12, SIMT_FORM)
#define MBK_MASKED SIMT_ARG(13, SIMT_FORM)
#define MBK_EDGE SIMT_ARG(14, SIMT_FORM)
#define MBK_EMPTY_ROWS SIMT_ARG(15, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(16, SIMT_FORM)
#define MBK_STREAMING (MBK_THREADS == 128)
#define MBK_BLOCKS 1

#pragma GCC diagnostic push // parameters of other forms
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/gpu/bsr/bsr.cu"

static const bsr_form form = {
  SIMT_CSR_FORM,
  MBK_BLOCK_ROWS,
  MBK_BLOCK_COLS,
  MBK_SPLIT,
  MBK_TOGETHER,
  MBK_SLOT_BLOCKS,
  MBK_COLUMN_MAJOR,
  MBK_MASKED,
  MBK_EDGE,
  MBK_EMPTY_ROWS,
  MBK_THREADS,
  SIMT_KERNEL(mbk_bsr_schedule),
  SIMT_KERNEL(mbk_bsr_columns),
#if MBK_MASKED
  SIMT_KERNEL(mbk_bsr_masks),
#else
  {},
#endif
  SIMT_KERNEL(mbk_bsr_fill),
  SIMT_KERNEL(mbk_bsr_product),
  SIMT_KERNEL(mbk_bsr_fixup)
};
[[maybe_unused]] static const bool listed = (bsr_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
