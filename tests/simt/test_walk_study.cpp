// The kernels of spmv/study/walk_study.cu, which exist for comparison: the beginnings of
// threads against a simple loop, products against the error bound.
#include "simt/walk_study_bed.h"

#define SIMT_FORM f64_walk_s7_t64, double, 32, 0, 0, 0, 7, 64
#include "simt/walk_study_form.h"
#define SIMT_FORM f32_walk_s1_t32, float, 64, 1, 0, 1, 1, 32
#include "simt/walk_study_form.h"
#define SIMT_FORM f32_walk_s40_t96_ones, float, 32, 1, 1, 0, 40, 96
#include "simt/walk_study_form.h"

static void check(void **state) {
  const walk_study_form &f = *(const walk_study_form *)*state;
  for (uint64_t seed : csr_seeds(walk_study_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(walk_study_forms, &f), index, m)) {
        return;
      }
      if ((m.rows + m.nnz) / f.steps > test_effort(8000, INT32_MAX)) {
        return; // too slow
      }
      if (f.value_bytes == 4) {
        walk_study_check_matrix<float>(f, index, m, seed);
      } else {
        walk_study_check_matrix<double>(f, index, m, seed);
      }
    });
  }
}

int main() {
  return csr_main("walk_study", walk_study_forms, {}, check);
}
