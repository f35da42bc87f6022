// The kernels of spmv/study/bsr_study.cu, which exist for comparison: chunks against a simple
// loop, products against the error bound.
#include "simt/bsr_study_bed.h"

#define SIMT_FORM f64_5x5_row_major, double, 32, 0, 0, 0, 0, 5, 5, 0, 0, 32
#include "simt/bsr_study_form.h"
#define SIMT_FORM f32_3x4_row_major_edge, float, 64, 1, 0, 1, 0, 3, 4, 1, 1, 64
#include "simt/bsr_study_form.h"
#define SIMT_FORM f64_5x5_private, double, 32, 0, 0, 1, 1, 5, 5, 1, 0, 64
#include "simt/bsr_study_form.h"
#define SIMT_FORM f32_2x7_private_ones, float, 32, 1, 1, 0, 1, 2, 7, 0, 1, 32
#include "simt/bsr_study_form.h"
#define SIMT_FORM f64_5x5_team, double, 32, 0, 0, 0, 2, 5, 5, 0, 1, 64
#include "simt/bsr_study_form.h"
#define SIMT_FORM f32_8x4_team, float, 64, 0, 0, 1, 2, 8, 4, 1, 0, 32
#include "simt/bsr_study_form.h"
#define SIMT_FORM f64_5x5_vector, double, 32, 0, 0, 0, 3, 5, 5, 0, 0, 128
#include "simt/bsr_study_form.h"
#define SIMT_FORM f32_13x3_vector_edge, float, 32, 1, 0, 1, 3, 13, 3, 1, 1, 32
#include "simt/bsr_study_form.h"
#define SIMT_FORM f64_16x1_vector, double, 64, 0, 0, 0, 3, 16, 1, 0, 0, 64
#include "simt/bsr_study_form.h"

static void check(void **state) {
  const study_form &f = *(const study_form *)*state;
  for (uint64_t seed : csr_seeds(study_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(study_forms, &f), index, m)) {
        return;
      }
      if (f.value_bytes == 4) {
        study_check_matrix<float>(f, index, m, seed);
      } else {
        study_check_matrix<double>(f, index, m, seed);
      }
    });
  }
}

int main() {
  return csr_main("bsr_study", study_forms, {}, check);
}
