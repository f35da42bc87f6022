// Conversion of a CSR of full blocks: places against a loop over the blocks.
#include "jit/device.cuh"
#include "simt/csr.h"

struct full_form {
  const char *name;
  unsigned row_ptr_bytes, base, high, wide;
  simt_kernel places;
};

#define FORM(space)                                                                            \
  {                                                                                            \
#space, sizeof(MBK_ROW_PTR), MBK_BASE, MBK_HIGH, MBK_WIDE,                                 \
        SIMT_KERNEL(space::mbk_full_blocks_places)                                             \
  }

#define MBK_ROW_PTR mbk_i32
#define MBK_BASE 0
#define MBK_HIGH 3
#define MBK_WIDE 3
namespace offsets32_base0_3x3 {
#include "spmv/stages/full_blocks.cu"
static const full_form form = FORM(offsets32_base0_3x3);
} // namespace offsets32_base0_3x3
#undef MBK_HIGH
#undef MBK_WIDE
#define MBK_HIGH 16
#define MBK_WIDE 1
namespace offsets32_base0_16x1 {
#include "spmv/stages/full_blocks.cu"
static const full_form form = FORM(offsets32_base0_16x1);
} // namespace offsets32_base0_16x1
#undef MBK_ROW_PTR
#undef MBK_BASE
#undef MBK_HIGH
#undef MBK_WIDE
#define MBK_ROW_PTR mbk_i64
#define MBK_BASE 1
#define MBK_HIGH 2
#define MBK_WIDE 5
namespace offsets64_base1_2x5 {
#include "spmv/stages/full_blocks.cu"
static const full_form form = FORM(offsets64_base1_2x5);
} // namespace offsets64_base1_2x5
#undef MBK_HIGH
#undef MBK_WIDE
#define MBK_HIGH 4
#define MBK_WIDE 1
namespace offsets64_base1_4x1 {
#include "spmv/stages/full_blocks.cu"
static const full_form form = FORM(offsets64_base1_4x1);
} // namespace offsets64_base1_4x1
#undef MBK_HIGH
#undef MBK_WIDE
#define MBK_HIGH 1
#define MBK_WIDE 8
namespace offsets64_base1_1x8 {
#include "spmv/stages/full_blocks.cu"
static const full_form form = FORM(offsets64_base1_1x8);
} // namespace offsets64_base1_1x8
#include "simt/undefine.h"

static const full_form forms[] = {offsets32_base0_3x3::form, offsets32_base0_16x1::form,
                                  offsets64_base1_2x5::form, offsets64_base1_4x1::form,
                                  offsets64_base1_1x8::form};

// Checks blocks at the nonzeros of `m`.
static void check(const full_form &f, const test_matrix &m, uint64_t seed) {
  const uint64_t entries = f.high * f.wide, blocks = (uint64_t)m.nnz;
  const mbk_u64 block_rows = (mbk_u64)m.rows, rows = block_rows * f.high;
  simt_array row_ptr(rows + 1, f.row_ptr_bytes), col_ind(blocks * entries, 4);
  const simt_array block_ptr(block_rows + 1, f.row_ptr_bytes, 0xff), block_col(blocks, 4, 0xff);
  uint64_t k = 0;
  for (uint64_t row = 0; row < rows; row++) {
    const uint64_t block_row = row / f.high;
    row_ptr.store(row, k + f.base);
    for (int64_t b = m.row_ptr[block_row]; b < m.row_ptr[block_row + 1]; b++) {
      for (unsigned c = 0; c < f.wide; c++, k++) {
        col_ind.store(k, (uint64_t)m.col_ind[b] * f.wide + c + f.base);
      }
    }
  }
  row_ptr.store(rows, k + f.base);
  simt_run(f.places, {f.name, m.name, seed}, {(unsigned)(block_rows / 8 + 1), 256, 0},
           row_ptr.get(), col_ind.get(), block_rows, block_ptr.get(), block_col.get());
  for (uint64_t row = 0; row <= block_rows; row++) {
    assert_true(block_ptr.load(row) == (uint64_t)m.row_ptr[row]);
  }
  for (uint64_t b = 0; b < blocks; b++) {
    assert_true(block_col.load(b) == (uint64_t)m.col_ind[b]);
  }
}

static void test_form(void **state) {
  const full_form &f = *(const full_form *)*state;
  for (size_t s = 0; s < simt_few_seeds.size(); s += 2) {
    const uint64_t seed = simt_few_seeds[s];
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others((size_t)(&f - forms), index, m)) {
        return;
      }
      check(f, m, seed);
    });
  }
}

int main() {
  std::vector<CMUnitTest> tests;
  for (const full_form &f : forms) {
    tests.push_back({f.name, test_form, nullptr, nullptr, (void *)&f});
  }
  return _cmocka_run_group_tests("full_blocks", tests.data(), tests.size(), nullptr,
                                 simt_runs_report);
}
