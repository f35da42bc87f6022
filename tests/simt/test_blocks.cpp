// Which sizes of full blocks the GPU rules out, against a loop over every possible block: on
// matrices made of blocks, on the same with one entry moved, and on the generated ones.
#include "jit/device.cuh"
#include "simt/runs.h"
#include "support/matrices.h"

struct blocks_form {
  const char *name;
  unsigned row_ptr_bytes, column_bytes, base;
  simt_kernel blocks;
};

#define FORM(space)                                                                            \
  { #space, sizeof(MBK_ROW_PTR), sizeof(mbk_i32), MBK_BASE, SIMT_KERNEL(space::mbk_csr_blocks) }

#define MBK_ROW_PTR mbk_i32
#define MBK_BASE 0
namespace offsets32_base0 {
#include "spmv/shared/csr_blocks.cu"
static const blocks_form form = FORM(offsets32_base0);
} // namespace offsets32_base0
#include "simt/undefine.h"

#define MBK_ROW_PTR mbk_i64
#define MBK_BASE 1
namespace offsets64_base1 {
#include "spmv/shared/csr_blocks.cu"
static const blocks_form form = FORM(offsets64_base1);
} // namespace offsets64_base1
#include "simt/undefine.h"

static const blocks_form forms[] = {offsets32_base0::form, offsets64_base1::form};

struct csr {
  std::vector<int64_t> row_ptr = {0}, col_ind;
  int64_t rows() const {
    return (int64_t)row_ptr.size() - 1;
  }
};

// Returns random block rows of `high` x `wide` blocks, some of them empty.
static csr of_blocks(int high, int wide, uint64_t *state) {
  csr m;
  const int block_rows = 1 + (int)test_below(state, 12);
  for (int b = 0; b < block_rows; b++) {
    std::vector<int64_t> columns;
    for (int64_t c = 0; c < 40; c++) {
      if (test_below(state, 8) == 0 && b % 5 != 3) {
        columns.push_back(c);
      }
    }
    for (int r = 0; r < high; r++) {
      for (int64_t c : columns) {
        for (int i = 0; i < wide; i++) {
          m.col_ind.push_back(c * wide + i);
        }
      }
      m.row_ptr.push_back((int64_t)m.col_ind.size());
    }
  }
  return m;
}

// Returns whether rows can be cut into groups of n with the same columns.
static bool is_high(const csr &m, int64_t n) {
  for (int64_t row = 0; row < m.rows(); row++) {
    const int64_t first = row / n * n, length = m.row_ptr[row + 1] - m.row_ptr[row];
    if (m.rows() % n != 0 || m.row_ptr[first + 1] - m.row_ptr[first] != length ||
        !std::equal(m.col_ind.begin() + m.row_ptr[row], m.col_ind.begin() + m.row_ptr[row + 1],
                    m.col_ind.begin() + m.row_ptr[first])) {
      return false;
    }
  }
  return true;
}

// Returns whether every row consists of runs of n columns that begin at multiples of n.
static bool is_wide(const csr &m, int64_t n) {
  for (int64_t row = 0; row < m.rows(); row++) {
    for (int64_t k = m.row_ptr[row]; k < m.row_ptr[row + 1]; k++) {
      const int64_t place = (k - m.row_ptr[row]) % n, start = k - place;
      if (start + n > m.row_ptr[row + 1] || m.col_ind[start] % n != 0 ||
          m.col_ind[k] != m.col_ind[start] + place) {
        return false;
      }
    }
  }
  return true;
}

static void check(const blocks_form &f, const char *name, const csr &m, uint64_t seed) {
  simt_array row_ptr(m.row_ptr.size(), f.row_ptr_bytes), col_ind(m.col_ind.size(), 4);
  simt_array against(2, 4);
  const int known = 2 + (int)((seed + m.col_ind.size()) % 15); // already ruled out
  against.store(0, 1u << known);
  against.store(1, 1u << known);
  for (size_t i = 0; i < m.row_ptr.size(); i++) {
    row_ptr.store(i, (uint64_t)m.row_ptr[i] + f.base);
  }
  for (size_t k = 0; k < m.col_ind.size(); k++) {
    col_ind.store(k, (uint64_t)m.col_ind[k] + f.base);
  }
  const mbk_u64 rows = (mbk_u64)m.rows(), step = 1;
  if (rows == 0) {
    return;
  }
  simt_run(f.blocks, {f.name, name, seed}, {(unsigned)((rows * 32 + 255) / 256), 256, 0},
           row_ptr.get(), col_ind.get(), rows, rows, step, against.get());
  for (int n = 2; n <= 16; n++) {
    if ((against.load(0) >> n & 1) == (n != known && is_high(m, n)) ||
        (against.load(1) >> n & 1) == (n != known && is_wide(m, n))) {
      fail_msg(
          "%s on %s, seed %llu: blocks of %d are %s high, %s wide; the kernel is against 0x%x "
          "and 0x%x",
          f.name, name, (unsigned long long)seed, n, is_high(m, n) ? "possibly" : "never",
          is_wide(m, n) ? "possibly" : "never", (unsigned)against.load(0),
          (unsigned)against.load(1));
    }
  }
}

// Long rows, equal in pairs except for the last column of one row. Their first columns already
// rule out every width.
static void test_long_rows(void **state) {
  const blocks_form &f = *(const blocks_form *)*state;
  for (uint64_t seed : simt_few_seeds) {
    for (int64_t length : {256, 257, 300, 1000}) {
      for (int moved = 0; moved <= 1; moved++) {
        csr m;
        for (int64_t row = 0; row < 4; row++) {
          for (int64_t k = 0; k < length; k++) {
            m.col_ind.push_back(3 * k + 1 + row / 2 * 7 +
                                (moved && row == 3 && k == length - 1));
          }
          m.row_ptr.push_back((int64_t)m.col_ind.size());
        }
        check(f, "long rows", m, seed);
      }
    }
  }
}

static void test_blocks(void **state) {
  const blocks_form &f = *(const blocks_form *)*state;
  for (uint64_t seed : simt_few_seeds) {
    uint64_t random = seed;
    for (int shape = 0; shape < 64; shape++) {
      const int high = 1 + shape / 8 * (shape % 3 == 0 ? 2 : 1), wide = 1 + shape % 8;
      const std::string name = "blocks " + std::to_string(high) + "x" + std::to_string(wide);
      csr m = of_blocks(high, wide, &random);
      check(f, name.c_str(), m, seed);
      for (int64_t &column : m.col_ind) {
        column++;
      }
      check(f, (name + " one column further").c_str(), m, seed);
      if (!m.col_ind.empty()) {
        m.col_ind[(size_t)test_below(&random, (int64_t)m.col_ind.size())] += 1;
        check(f, (name + " and one column moved").c_str(), m, seed);
      }
      if (m.rows() > 1) {
        const size_t row = 1 + (size_t)test_below(&random, m.rows() - 1);
        if (m.row_ptr[row] < m.row_ptr[row + 1]) {
          m.row_ptr[row]++;
          check(f, (name + " and one entry in another row").c_str(), m, seed);
        }
      }
    }
  }
}

static void test_generated(void **state) {
  const blocks_form &f = *(const blocks_form *)*state;
  for (int index = 0; index < test_matrix_count(); index++) {
    test_matrix made;
    csr m;
    test_matrix_make(index, simt_seeds[0], &made);
    m.row_ptr.assign(made.row_ptr, made.row_ptr + made.rows + 1);
    m.col_ind.assign(made.col_ind, made.col_ind + made.nnz);
    check(f, made.name, m, simt_seeds[0]);
    test_matrix_free(&made);
  }
}

int main() {
  std::vector<CMUnitTest> tests;
  for (const blocks_form &f : forms) {
    tests.push_back({f.name, test_blocks, nullptr, nullptr, (void *)&f});
    tests.push_back({f.name, test_long_rows, nullptr, nullptr, (void *)&f});
    tests.push_back({f.name, test_generated, nullptr, nullptr, (void *)&f});
  }
  return _cmocka_run_group_tests("blocks", tests.data(), tests.size(), nullptr,
                                 simt_runs_report);
}
