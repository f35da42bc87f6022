// One specialisation of spmv/study/split_study.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, study, steps, once, threads
//   #include "simt/split_study_form.h"
//
// Puts it into namespace `name` and adds it to the list split_study_forms. The arguments up to
// `device` are those of rows_form.h.
#include "simt/plan_form.h"
#include "simt/split_study_bed.h"

#define MBK_STUDY SIMT_ARG(6, SIMT_FORM)
#define MBK_STEPS SIMT_ARG(7, SIMT_FORM)
#define MBK_STREAMING SIMT_ARG(8, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(9, SIMT_FORM)

#pragma GCC diagnostic push // parameters of other forms
#pragma GCC diagnostic ignored "-Wunused-parameter"
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/study/split_study.cu"

static const split_study_form form = {
  SIMT_CSR_FORM,
  MBK_STUDY,
  MBK_STEPS,
  MBK_THREADS,
  SIMT_KERNEL(mbk_split_cut),
  SIMT_KERNEL(mbk_split_product),
  SIMT_KERNEL(mbk_split_fixup)
};
[[maybe_unused]] static const bool listed = (split_study_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
