// One specialisation of spmv/study/bsr_study.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, study, rows, cols, column_major,
//     edge, threads
//   #include "simt/bsr_study_form.h"
//
// Puts it into namespace `name` and adds it to the list study_forms. The arguments are those of
// bsr_form.h; `study` is the way of summing.
#include "simt/plan_form.h"
#include "simt/bsr_study_bed.h"

#define MBK_STUDY SIMT_ARG(6, SIMT_FORM)
#define MBK_BLOCK_ROWS SIMT_ARG(7, SIMT_FORM)
#define MBK_BLOCK_COLS SIMT_ARG(8, SIMT_FORM)
#define MBK_COLUMN_MAJOR SIMT_ARG(9, SIMT_FORM)
#define MBK_EDGE SIMT_ARG(10, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(11, SIMT_FORM)

#pragma GCC diagnostic push // parameters of other forms
#pragma GCC diagnostic ignored "-Wunused-parameter"
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/study/bsr_study.cu"

static const study_form form = {
  SIMT_CSR_FORM,
  {MBK_BLOCK_ROWS, MBK_BLOCK_COLS, MBK_COLUMN_MAJOR, false, MBK_EDGE},
  MBK_THREADS,
  SIMT_KERNEL(mbk_study_cut),
  SIMT_KERNEL(mbk_study_scale),
  SIMT_KERNEL(mbk_study_product)
};
[[maybe_unused]] static const bool listed = (study_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
