// The kernels of spmv/study/split_study.cu, which exist for comparison: chunks against a simple
// loop, products against the error bound, rows that end with chunks and threads, chunks of
// empty rows, rows over many chunks.
#include "simt/split_study_bed.h"

#define SIMT_FORM f32_split_s7_t64, float, 32, 0, 0, 0, 0, 7, 1, 64
#include "simt/split_study_form.h"
#define SIMT_FORM f64_split_s1_t32, double, 64, 1, 0, 1, 0, 1, 0, 32
#include "simt/split_study_form.h"
#define SIMT_FORM f64_split_s3_t96_ones, double, 32, 1, 1, 0, 0, 3, 0, 96
#include "simt/split_study_form.h"
#define SIMT_FORM f64_path_s7_t64, double, 32, 0, 0, 0, 1, 7, 0, 64
#include "simt/split_study_form.h"
#define SIMT_FORM f32_path_s1_t32, float, 64, 1, 0, 1, 1, 1, 1, 32
#include "simt/split_study_form.h"
#define SIMT_FORM f32_path_s4_t128_ones, float, 32, 1, 1, 0, 1, 4, 0, 128
#include "simt/split_study_form.h"
#define SIMT_FORM f64_path_s2_t32_single, double, 64, 0, 3, 1, 1, 2, 1, 32
#include "simt/split_study_form.h"

static void check(void **state) {
  const split_study_form &f = *(const split_study_form *)*state;
  for (uint64_t seed : csr_seeds(split_study_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(split_study_forms, &f), index, m)) {
        return;
      }
      if ((m.rows + m.nnz) / f.steps > test_effort(8000, INT32_MAX)) {
        return; // too slow
      }
      if (f.value_bytes == 4) {
        split_study_check_matrix<float>(f, index, m, seed, m.rows < 20);
      } else {
        split_study_check_matrix<double>(f, index, m, seed, m.rows < 20);
      }
    });
  }
}

static void test_cuts(void **) {
  for (const split_study_form *f : split_study_forms) {
    for (const auto &[name, lengths] : merge_cuts((int64_t)f->chunk())) {
      test_matrix m;
      if (f->chunk() * lengths.size() > (uint64_t)test_effort(40000, INT32_MAX) ||
          (lengths.size() == 17 && f->chunk() > (uint64_t)test_effort(40, 300))) {
        continue; // too slow
      }
      merge_make(name, lengths, &m);
      if (f->value_bytes == 4) {
        split_study_check_long<float>(*f, m, simt_seeds[0]);
      } else {
        split_study_check_long<double>(*f, m, simt_seeds[0]);
      }
      test_matrix_free(&m);
    }
  }
}

int main() {
  return csr_main("split_study", split_study_forms, {cmocka_unit_test(test_cuts)}, check);
}
