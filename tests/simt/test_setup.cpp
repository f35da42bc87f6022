// Norm and diagonal blocks of a matrix in GPU memory (solve/precondition/setup.cu) against
// simple loops, with equal bits under every schedule.
#include "jit/device.cuh"
#include "simt/runs.h"
#include "support/matrices.h"

#include <math.h>

#include <algorithm>
#include <string>

#define MBK_VALUE double
#define MBK_PATTERN 0
#define MBK_ROW_PTR mbk_i64
#define MBK_COLUMN mbk_i32
#define MBK_BASE 1
#define MBK_SETUP_LANES 8
namespace of_values {
#include "solve/precondition/setup.cu"
}
#undef MBK_VALUE
#undef MBK_PATTERN
#undef MBK_ROW_PTR
#undef MBK_COLUMN
#undef MBK_BASE
#undef MBK_SETUP_THREADS
#undef MBK_SETUP_BLOCKS
#undef MBK_SETUP_LANES
#undef MBK_SETUP_ROWS
#undef MBK_SETUP_LONG
#undef MBK_SETUP_LONG_KEPT
#define MBK_VALUE float
#define MBK_PATTERN 1
#define MBK_ROW_PTR mbk_i32
#define MBK_COLUMN mbk_i64
#define MBK_BASE 0
#define MBK_SETUP_LANES 2
namespace of_ones {
#include "solve/precondition/setup.cu"
}

enum { THREADS = 256, KEPT = 64, SHARED = THREADS * 8 + KEPT * 8 + 4 };

// `m` in a form's types.
struct form_arrays {
  form_arrays(const test_matrix &m, int ones)
      : row_ptr((size_t)m.rows + 1, ones ? 4 : 8), col_ind((size_t)m.nnz, ones ? 8 : 4),
        values((size_t)m.nnz, 8) {
    for (int64_t i = 0; i <= m.rows; i++) {
      if (ones) {
        row_ptr.as<int32_t>()[i] = (int32_t)m.row_ptr[i];
      } else {
        row_ptr.as<int64_t>()[i] = m.row_ptr[i] + 1;
      }
    }
    for (int64_t k = 0; k < m.nnz; k++) {
      if (ones) {
        col_ind.as<int64_t>()[k] = m.col_ind[k];
      } else {
        col_ind.as<int32_t>()[k] = m.col_ind[k] + 1;
      }
      values.as<double>()[k] = m.values[k];
    }
  }
  simt_array row_ptr, col_ind, values;
};

// Returns whether sums of up to `count` terms in any order may be a and b.
static bool near(double a, double b, double size, int64_t count) {
  return fabs(a - b) <= 1.2e-16 * (double)(count + 2) * size;
}

static void check_rows(const test_matrix &m, int ones, mbk_u32 width, unsigned blocks) {
  static const simt_kernel kernels[2] = {SIMT_KERNEL(of_values::mbk_setup_rows),
                                         SIMT_KERNEL(of_ones::mbk_setup_rows)};
  const form_arrays arrays(m, ones);
  simt_array entries((size_t)m.rows * width, 8), norms(blocks, 8), again(blocks, 8);
  for (uint64_t seed = 1; seed <= 2; seed++) {
    double *const to = (double *)(seed == 1 ? norms.get() : again.get());
    if (ones) {
      simt_run(kernels[1], {"ones", m.name, seed}, {blocks, THREADS, SHARED},
               (const mbk_i32 *)arrays.row_ptr.get(), (const mbk_i64 *)arrays.col_ind.get(),
               (const float *)nullptr, (mbk_u64)m.rows, width, (double *)entries.get(), to);
    } else {
      simt_run(kernels[0], {"values", m.name, seed}, {blocks, THREADS, SHARED},
               (const mbk_i64 *)arrays.row_ptr.get(), (const mbk_i32 *)arrays.col_ind.get(),
               (const double *)arrays.values.get(), (mbk_u64)m.rows, width,
               (double *)entries.get(), to);
    }
  }
  assert_true(norms.same(again));
  double norm = 0, most = 0;
  for (int64_t row = 0; row < m.rows; row++) {
    const int64_t length = m.row_ptr[row + 1] - m.row_ptr[row];
    long double sum = 0;
    for (int64_t k = m.row_ptr[row]; k < m.row_ptr[row + 1]; k++) {
      sum += ones ? 1.0L : fabsl((long double)m.values[k]);
    }
    norm = std::max(norm, (double)sum);
    for (mbk_u32 j = 0; j < width; j++) {
      const int64_t column = row - row % width + j;
      long double entry = 0, size = 0;
      for (int64_t k = m.row_ptr[row]; k < m.row_ptr[row + 1]; k++) {
        if (m.col_ind[k] == column) {
          entry += ones ? 1.0L : (long double)m.values[k];
          size += ones ? 1.0L : fabsl((long double)m.values[k]);
        }
      }
      assert_true(
          near(entries.as<double>()[row * width + j], (double)entry, (double)size, length));
    }
  }
  for (unsigned b = 0; b < blocks; b++) {
    most = std::max(most, norms.as<double>()[b]);
  }
  assert_true(near(most, norm, norm, m.nnz));
}

static void rows_are_set_up(void **) {
  for (int index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    test_matrix_make(index, 3, &m);
    if (m.rows > 0 && m.rows < 4000 && m.nnz < 20000) {
      check_rows(m, index / 4 % 2,
                 index % 3 == 0   ? 0
                 : index % 3 == 1 ? 1
                                  : 5,
                 index % 8 == 0 ? 3 : 1);
    }
    test_matrix_free(&m);
  }
}

// Rows of more than 1024 nonzeros, which the whole block adds up; several per block and warp.
static void long_rows_are_set_up(void **) {
  static const int64_t lengths[] = {1025, 3, 1024, 5000, 0, 2500, 1025, 1, 7, 2600};
  enum { ROWS = 150, COUNT = sizeof lengths / sizeof lengths[0] };
  for (int ones = 0; ones <= 1; ones++) {
    for (mbk_u32 width = 0; width <= 3; width++) {
      test_matrix m;
      uint64_t state = 11;
      int64_t row, k = 0;
      memset(&m, 0, sizeof m);
      (void)snprintf(m.name, sizeof m.name, "long rows");
      m.rows = m.cols = ROWS;
      m.row_ptr = (int64_t *)test_allocate(ROWS + 1, sizeof *m.row_ptr);
      for (row = 0; row < ROWS; row++) {
        m.row_ptr[row + 1] = m.row_ptr[row] + (row % 13 < COUNT ? lengths[row % 13] : row % 5);
      }
      m.nnz = m.row_ptr[ROWS];
      m.col_ind = (int32_t *)test_allocate(m.nnz, sizeof *m.col_ind);
      m.values = (double *)test_allocate(m.nnz, sizeof *m.values);
      for (; k < m.nnz; k++) {
        m.col_ind[k] = (int32_t)(k * 7 % ROWS);
        m.values[k] = test_uniform(&state);
      }
      check_rows(m, ones, width, 2);
      test_matrix_free(&m);
    }
  }
}

// Exactly as many long rows as a block remembers, and more.
static void many_long_rows_are_set_up(void **) {
  for (int64_t rows = KEPT; rows <= KEPT + 1; rows++) {
    test_matrix m;
    uint64_t state = 5;
    int64_t row, k;
    memset(&m, 0, sizeof m);
    (void)snprintf(m.name, sizeof m.name, "%d long rows", (int)rows);
    m.rows = m.cols = 3 * rows;
    m.nnz = 1025 * rows + 2 * rows;
    m.row_ptr = (int64_t *)test_allocate(m.rows + 1, sizeof *m.row_ptr);
    m.col_ind = (int32_t *)test_allocate(m.nnz, sizeof *m.col_ind);
    m.values = (double *)test_allocate(m.nnz, sizeof *m.values);
    for (row = 0; row < m.rows; row++) {
      m.row_ptr[row + 1] = m.row_ptr[row] + (row % 3 == 1 ? 1025 : 1);
    }
    for (k = 0; k < m.nnz; k++) {
      m.col_ind[k] = (int32_t)(k * 5 % m.cols);
      m.values[k] = (double)(k + 1) * test_uniform(&state);
    }
    check_rows(m, (int)(rows % 2), 1, 1);
    test_matrix_free(&m);
  }
}

static void diagonals_are_inverted(void **) {
  static const simt_kernel kernels[2] = {SIMT_KERNEL(of_values::mbk_setup_invert),
                                         SIMT_KERNEL(of_ones::mbk_setup_invert)};
  for (int single = 0; single < 2; single++) {
    for (int turn = 0; turn < 70; turn++) {
      static const double none[] = {1, 0, HUGE_VAL, NAN, 5e-324};
      const int bad = turn % 5;
      const mbk_u64 n = 700 + (mbk_u64)turn;
      const std::string name = "a diagonal of " + std::to_string(n);
      simt_array diagonal(n, 8), inverse(n, single ? 4 : 8), found(1, 8);
      for (mbk_u64 i = 0; i < n; i++) {
        diagonal.as<double>()[i] = i % 2 ? (double)i : -1.0 / (double)(i + 1);
      }
      if (bad > 0) {
        diagonal.as<double>()[699] = diagonal.as<double>()[301] = none[bad];
      }
      found.as<mbk_u64>()[0] = ~(mbk_u64)0;
      if (single) {
        simt_run(kernels[1], {"f32", name.c_str(), (uint64_t)turn}, {2, THREADS, 0},
                 (const double *)diagonal.get(), (float *)inverse.get(), n,
                 (mbk_u64 *)found.get());
      } else {
        simt_run(kernels[0], {"f64", name.c_str(), (uint64_t)turn}, {2, THREADS, 0},
                 (const double *)diagonal.get(), (double *)inverse.get(), n,
                 (mbk_u64 *)found.get());
      }
      assert_true(found.as<mbk_u64>()[0] == (bad > 0 ? 301 : ~(mbk_u64)0));
      for (mbk_u64 i = 0; i < n && bad == 0; i++) {
        const double wanted = 1.0 / diagonal.as<double>()[i];
        assert_true(single ? inverse.as<float>()[i] == (float)wanted
                           : inverse.as<double>()[i] == wanted);
      }
    }
  }
}

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_set_up),
      cmocka_unit_test(long_rows_are_set_up),
      cmocka_unit_test(many_long_rows_are_set_up),
      cmocka_unit_test(diagonals_are_inverted),
  };
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
