// Slices by diagonals: stored arrays against a plain search, products against the error bound.
#include "simt/diagonals_bed.h"

#define SIMT_FORM f32_p32_b0_host_u4_t256, float, 32, 0, 0, 0, 4, 0, 256
#include "simt/diagonals_form.h"
#define SIMT_FORM f32_p64_b1_dev_u8_once_t128, float, 64, 1, 0, 1, 8, 1, 128
#include "simt/diagonals_form.h"
#define SIMT_FORM f32_p32_b1_ones_host_u1_t64, float, 32, 1, 1, 0, 1, 0, 64
#include "simt/diagonals_form.h"
#define SIMT_FORM f32_p32_b0_equal_dev_u2_t1024, float, 32, 0, 2, 1, 2, 0, 1024
#include "simt/diagonals_form.h"
#define SIMT_FORM f64_p32_b0_host_u2_once_t32, double, 32, 0, 0, 0, 2, 1, 32
#include "simt/diagonals_form.h"
#define SIMT_FORM f64_p64_b1_dev_u4_t96, double, 64, 1, 0, 1, 4, 0, 96
#include "simt/diagonals_form.h"
#define SIMT_FORM f64_p64_b0_single_dev_u4_once_t128, double, 64, 0, 3, 1, 4, 1, 128
#include "simt/diagonals_form.h"
#define SIMT_FORM f32_p64_b0_half_host_u4_t64, float, 64, 0, 4, 0, 4, 0, 64
#include "simt/diagonals_form.h"
#define SIMT_FORM f64_p32_b1_table_host_u8_once_t256, double, 32, 1, 5, 0, 8, 1, 256
#include "simt/diagonals_form.h"
#define SIMT_FORM f32_p32_b0_row_dev_u4_t128, float, 32, 0, 6, 1, 4, 0, 128
#include "simt/diagonals_form.h"
#define SIMT_FORM f64_p64_b1_column_host_u1_t64, double, 64, 1, 7, 0, 1, 0, 64
#include "simt/diagonals_form.h"

static void check(void **state) {
  const diagonals_form &f = *(const diagonals_form *)*state;
  for (uint64_t seed : csr_seeds(diagonals_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(diagonals_forms, &f), index, m)) {
        return;
      }
      if (m.nnz > test_effort(2000, 200000)) {
        return; // too slow: one slot for each of 64 rows
      }
      if (f.value_bytes == 4) {
        diagonals_check_matrix<float>(f, index, m, seed, f.unroll == 4 && m.rows < 300);
      } else {
        diagonals_check_matrix<double>(f, index, m, seed, f.unroll == 4 && m.rows < 300);
      }
    });
  }
}

// Bands of 1 to 70 diagonals, of which a warp holds 32 at a time, with 1 to 200 rows; some rows
// lack some diagonals.
static void test_bands(void **) {
  for (const diagonals_form *f : diagonals_forms) {
    for (int64_t width : {1, 3, 31, 32, 33, 64, 70}) {
      test_matrix m;
      uint64_t state = (uint64_t)width;
      memset(&m, 0, sizeof m);
      (void)snprintf(m.name, sizeof m.name, "%d diagonals", (int)width);
      m.rows = width == 1 ? 1 : 100 + width;
      m.cols = m.rows + 2 * width;
      m.row_ptr = (int64_t *)test_allocate(m.rows + 1, sizeof *m.row_ptr);
      m.col_ind = (int32_t *)test_allocate(m.rows * width, sizeof *m.col_ind);
      m.values = (double *)test_allocate(m.rows * width, sizeof *m.values);
      for (int64_t row = 0; row < m.rows; row++) {
        for (int64_t k = 0; k < width; k++) {
          if (row % 7 != 3 || k % 5 != 2) {
            m.col_ind[m.nnz] = (int32_t)(row + 2 * k);
            m.values[m.nnz++] = test_uniform(&state);
          }
        }
        m.row_ptr[row + 1] = m.nnz;
      }
      assert_int_equal(diagonals_of(m, 0).size(), width);
      if (f->value_bytes == 4) {
        diagonals_check_matrix<float>(*f, 0, m, simt_seeds[1], false);
      } else {
        diagonals_check_matrix<double>(*f, 0, m, simt_seeds[1], false);
      }
      test_matrix_free(&m);
    }
  }
}

int main() {
  return csr_main("diagonals", diagonals_forms, {cmocka_unit_test(test_bands)}, check);
}
