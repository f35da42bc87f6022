// The kernels of spmv/study/row_study.cu, which exist for comparison: tiles against a plain
// search, products against the error bound, whichever warp takes a row.
#include "simt/row_study_bed.h"

#define SIMT_FORM f32_loop_as_published, float, 32, 0, 0, 0, 0, 32, 1, 2024, 64
#include "simt/row_study_form.h"
#define SIMT_FORM f64_loop_l4_r3, double, 64, 1, 0, 1, 0, 4, 3, 2024, 32
#include "simt/row_study_form.h"
#define SIMT_FORM f64_loop_l1_ones, double, 32, 1, 1, 0, 0, 1, 1, 2024, 96
#include "simt/row_study_form.h"
#define SIMT_FORM f64_tiled_w40, double, 32, 0, 0, 0, 1, 32, 1, 40, 64
#include "simt/row_study_form.h"
#define SIMT_FORM f32_tiled_w100_r3, float, 64, 1, 0, 1, 1, 32, 3, 100, 32
#include "simt/row_study_form.h"
#define SIMT_FORM f32_tiled_w2024_ones, float, 32, 1, 1, 1, 1, 32, 2, 2024, 96
#include "simt/row_study_form.h"
#define SIMT_FORM f64_tiled_w64_single, double, 64, 0, 3, 0, 1, 32, 1, 64, 128
#include "simt/row_study_form.h"

static void check(void **state) {
  const row_study_form &f = *(const row_study_form *)*state;
  for (uint64_t seed : csr_seeds(row_study_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(row_study_forms, &f), index, m)) {
        return;
      }
      if (m.rows * (int64_t)f.lanes + m.nnz > test_effort(50000, INT32_MAX)) {
        return; // too slow
      }
      if (f.value_bytes == 4) {
        row_study_check_matrix<float>(f, index, m, seed, m.rows < 20);
      } else {
        row_study_check_matrix<double>(f, index, m, seed, m.rows < 20);
      }
    });
  }
}

int main() {
  return csr_main("row_study", row_study_forms, {}, check);
}
