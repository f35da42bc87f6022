// One specialisation of spmv/study/walk_study.cu. No include guard. Usage:
//
//   #define SIMT_FORM name, value, offset, base, ones, device, steps, threads
//   #include "simt/walk_study_form.h"
//
// Puts it into namespace `name` and adds it to the list walk_study_forms. The arguments up to
// `device` are those of rows_form.h.
#include "simt/plan_form.h"
#include "simt/walk_study_bed.h"

#define MBK_STEPS SIMT_ARG(6, SIMT_FORM)
#define MBK_THREADS SIMT_ARG(7, SIMT_FORM)

#pragma GCC diagnostic push // parameters of other forms
#pragma GCC diagnostic ignored "-Wunused-parameter"
// clang-format off
namespace SIMT_ARG(0, SIMT_FORM) {
#include "spmv/study/walk_study.cu"

static const walk_study_form form = {
  SIMT_CSR_FORM,
  MBK_STEPS,
  MBK_THREADS,
  SIMT_KERNEL(mbk_walk_cut),
  SIMT_KERNEL(mbk_walk_product),
  SIMT_KERNEL(mbk_walk_join)
};
[[maybe_unused]] static const bool listed = (walk_study_forms.push_back(&form), true);
} // of the form
// clang-format on
#pragma GCC diagnostic pop

#undef SIMT_FORM
#include "undefine.h"
