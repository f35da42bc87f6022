// One specialisation of spmv/study/row_study.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, study, lanes, rows, width, threads
//   #include "simt/row_study_form.h"
//
// Puts it into namespace `name` and adds it to the list row_study_forms. The arguments up to
// `device` are those of rows_form.h.
#include "simt/plan_form.h"
#include "simt/row_study_bed.h"

#define MBK_STUDY SIMT_ARG(6, SIMT_FORM)
#define MBK_LANES SIMT_ARG(7, SIMT_FORM)
#define MBK_ROWS SIMT_ARG(8, SIMT_FORM)
#define MBK_WIDTH SIMT_ARG(9, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(10, SIMT_FORM)

#pragma GCC diagnostic push // parameters of other forms
#pragma GCC diagnostic ignored "-Wunused-parameter"
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/study/row_study.cu"

static const row_study_form form = {
  SIMT_CSR_FORM,
  MBK_STUDY,
  MBK_LANES,
  MBK_ROWS,
  MBK_WIDTH,
  MBK_THREADS,
#if MBK_STUDY == 0
  SIMT_KERNEL(mbk_loop_reset),
  SIMT_KERNEL(mbk_loop_product)
#else
  SIMT_KERNEL(mbk_tiled_cut),
  SIMT_KERNEL(mbk_tiled_product)
#endif
};
[[maybe_unused]] static const bool listed = (row_study_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
