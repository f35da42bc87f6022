// Blocks extracted from a CSR: counts, offsets, columns, masks and values equal those of the
// CPU byte for byte, unsorted rows are detected, and windows are counted as on the CPU.
#include "support/internal.h"

#include "jit/device.cuh"
#include "simt/runs.h"
#include "support/matrices.h"
#include "support/stretched.h"

struct extract_form {
  const char *name;
  unsigned row_ptr_bytes, value_bytes, base;
  bool pattern;
  simt_kernel count, sums, offsets, places, fill;
};

#define FORM(space, pattern)                                                                   \
  {                                                                                            \
#space, sizeof(MBK_ROW_PTR), sizeof(MBK_VALUE), MBK_BASE, pattern,                         \
        SIMT_KERNEL(space::mbk_extract_count), SIMT_KERNEL(space::mbk_extract_sums),           \
        SIMT_KERNEL(space::mbk_extract_offsets), SIMT_KERNEL(space::mbk_extract_places),       \
        SIMT_KERNEL(space::mbk_extract_values)                                                 \
  }

#define MBK_ROW_PTR mbk_i32
#define MBK_VALUE float
#define MBK_BASE 0
namespace f32_offsets32_base0 {
#include "spmv/stages/extract_blocks.cu"
static const extract_form form = FORM(f32_offsets32_base0, false);
} // namespace f32_offsets32_base0
#include "simt/undefine.h"
#define MBK_ROW_PTR mbk_i64
#define MBK_VALUE double
#define MBK_BASE 1
namespace f64_offsets64_base1 {
#include "spmv/stages/extract_blocks.cu"
static const extract_form form = FORM(f64_offsets64_base1, false);
static const extract_form ones = FORM(f64_offsets64_base1, true);
} // namespace f64_offsets64_base1
#include "simt/undefine.h"

static const extract_form forms[] = {f32_offsets32_base0::form, f64_offsets64_base1::form,
                                     f64_offsets64_base1::ones};

static const int shapes[][2] = {{1, 1},   {2, 2},  {3, 5},   {16, 1}, {1, 16},  {5, 5},
                                {64, 64}, {33, 2}, {32, 32}, {13, 7}, {64, 1},  {1, 64},
                                {8, 8},   {17, 3}, {4, 4},   {2, 64}, {63, 63}, {48, 2}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static merbit_context *host;

// The CSR in a form's types.
struct extract_bed {
  extract_bed(const extract_form &f, const test_matrix &m, int shape, uint64_t seed)
      : f(f), m(m), high(shapes[shape][0]), wide(shapes[shape][1]), seed(seed),
        row_ptr((size_t)m.rows + 1, f.row_ptr_bytes), col_ind((size_t)m.nnz, 4),
        values((size_t)m.nnz, f.value_bytes),
        block_rows((uint64_t)mbi_block_count(m.rows, shapes[shape][0])) {
    for (size_t i = 0; i < row_ptr.count; i++) {
      row_ptr.store(i, (uint64_t)m.row_ptr[i] + f.base);
    }
    for (size_t k = 0; k < col_ind.count; k++) {
      col_ind.store(k, (uint64_t)m.col_ind[k] + f.base);
      if (f.value_bytes == 4) {
        values.as<float>()[k] = (float)m.values[k];
      } else {
        values.as<double>()[k] = m.values[k];
      }
    }
    while (group < (mbk_u32)high && group < 32) {
      group *= 2;
    }
  }

  merbit_view view() const {
    merbit_view v = merbit_csr(m.rows, m.cols, m.nnz, row_ptr.get(), col_ind.get(),
                               f.pattern ? nullptr : values.get());
    v.value_type = f.value_bytes == 4 ? MERBIT_F32 : MERBIT_F64;
    v.offset_type = f.row_ptr_bytes == 8 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
    v.base = (int)f.base;
    return v;
  }

  simt_case run() const {
    return {f.name, m.name, seed};
  }

  // Counts with so few blocks that they stride, or so many that some are idle.
  void count(mbk_u32 windows, mbk_u64 span, mbk_u64 rows, const simt_array *counts,
             const simt_array *sums, const simt_array &answer) const {
    const unsigned blocks = seed % 2 ? 1 : (unsigned)(windows * rows * group / 256 + 3);
    simt_run(f.count, run(), {blocks, 256, 0}, row_ptr.get(), col_ind.get(), (mbk_u64)m.rows,
             (mbk_u64)m.cols, (mbk_u64)block_rows, (mbk_u32)high, (mbk_u32)wide, group, windows,
             span / (mbk_u64)high, (mbk_u32)(span % (mbk_u64)high), (mbk_u32)rows,
             counts != nullptr ? counts->get() : nullptr,
             sums != nullptr ? sums->get() : nullptr, answer.get());
  }

  void places(const simt_array &block_ptr, void *columns, void *masks) const {
    simt_run(f.places, run(), {(unsigned)(block_rows * group / 256) + 1, 256, 0}, row_ptr.get(),
             col_ind.get(), (mbk_u64)m.rows, (mbk_u64)m.cols, (mbk_u64)block_rows,
             (mbk_u32)high, (mbk_u32)wide, group, block_ptr.get(),
             (mbk_u32)(block_ptr.width == 8), columns, masks);
  }

  void fill(const simt_array &block_ptr, const void *columns, void *blocks) const {
    const void *const from = f.pattern ? nullptr : values.get();
    simt_run(f.fill, run(), {(unsigned)(m.rows + 7) / 8, 256, 0}, row_ptr.get(), col_ind.get(),
             from, (mbk_u64)m.rows, (mbk_u32)high, (mbk_u32)wide, block_ptr.get(),
             (mbk_u32)(block_ptr.width == 8), columns, blocks);
  }

  const extract_form &f;
  const test_matrix &m;
  int high, wide;
  uint64_t seed;
  simt_array row_ptr, col_ind, values;
  uint64_t block_rows;
  mbk_u32 group = 1;
};

static bool descends(const test_matrix &m) {
  for (int64_t row = 0; row < m.rows; row++) {
    for (int64_t k = m.row_ptr[row] + 1; k < m.row_ptr[row + 1]; k++) {
      if (m.col_ind[k] < m.col_ind[k - 1]) {
        return true;
      }
    }
  }
  return false;
}

// Sorts each row by column and keeps the order of equal columns.
static void sort_rows(test_matrix &m) {
  for (int64_t row = 0; row < m.rows; row++) {
    std::vector<std::pair<int32_t, double>> entries;
    for (int64_t k = m.row_ptr[row]; k < m.row_ptr[row + 1]; k++) {
      entries.push_back({m.col_ind[k], m.values[k]});
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    for (size_t i = 0; i < entries.size(); i++) {
      m.col_ind[m.row_ptr[row] + (int64_t)i] = entries[i].first;
      m.values[m.row_ptr[row] + (int64_t)i] = entries[i].second;
    }
  }
}

static void expect_bytes(const extract_bed &b, const simt_array &got, const void *expected,
                         const char *what) {
  const size_t bytes = got.count * got.width; // `expected` may be null if there are none
  if (bytes > 0 && memcmp(got.get(), expected, bytes) != 0) {
    fail_msg("%s, %s, blocks of %d x %d: %s differ", b.f.name, b.m.name, b.high, b.wide, what);
  }
}

// Compares the offsets of either width, columns, masks and values.
static void check_blocks(const extract_bed &b, const mbi_bsr &bsr, const simt_array &counts,
                         const simt_array &sums) {
  const size_t blocks = (size_t)bsr.view.nnz, entries = (size_t)(b.high * b.wide);
  const uint64_t chunks = b.block_rows / 1024 + 1;
  const simt_array narrow(b.block_rows + 1, 4, 0xff), large(b.block_rows + 1, 8, 0xff);
  const simt_array columns(blocks, 4, 0xff), masks(blocks * (size_t)bsr.mask_words, 8, 0xff);
  const simt_array values(blocks * entries, b.f.value_bytes);
  simt_run(b.f.sums, b.run(), {1, 1024, 32 * 8}, sums.get(), chunks);
  for (const simt_array *to : {&narrow, &large}) {
    simt_run(b.f.offsets, b.run(), {(unsigned)chunks, 256, 8 * 8}, counts.get(), sums.get(),
             (mbk_u64)b.block_rows, (mbk_u32)(to->width == 8), to->get());
    for (uint64_t row = 0; row <= b.block_rows; row++) {
      assert_true((int64_t)to->load(row) == mbi_row_start(&bsr.view, (int64_t)row));
    }
  }
  b.places(b.seed % 3 ? narrow : large, columns.get(),
           bsr.mask_words > 0 ? masks.get() : nullptr);
  expect_bytes(b, columns, bsr.view.col_ind, "columns");
  expect_bytes(b, masks, bsr.masks, "masks");
  if (bsr.view.values != nullptr) {
    b.fill(b.seed % 3 ? large : narrow, columns.get(), values.get());
    expect_bytes(b, values, bsr.view.values, "values");
  }
}

static void check_sorted(const extract_form &f, const test_matrix &m, int shape,
                         uint64_t seed) {
  const extract_bed b(f, m, shape, seed);
  const merbit_view view = b.view();
  const merbit_bsr_desc desc = {b.high, b.wide, MERBIT_BLOCK_ROW_MAJOR};
  const simt_array answer(4, 8), counts(b.block_rows, 4, 0xff),
      sums(b.block_rows / 1024 + 1, 8);
  mbi_bsr bsr;
  assert_int_equal(mbi_bsr_from_view(host, &view, &desc, MBI_MASKS_READ, &bsr), MERBIT_OK);
  if (bsr.view.nnz * b.high * b.wide < 4000000) {
    b.count(1, 0, b.block_rows, &counts, &sums, answer);
    assert_int_equal(answer.load(0), bsr.view.nnz);
    assert_int_equal(answer.load(2), bsr.entries);
    assert_int_equal(answer.load(1) == answer.load(2), bsr.mask_words == 0);
    assert_int_equal(answer.load(3), 0);
    check_blocks(b, bsr, counts, sums);
  }
  mbi_bsr_release(host, &bsr);
}

// Counts three windows, as mbi_blocks_count does.
static void check_windows(const extract_form &f, const test_matrix &m, int shape,
                          uint64_t seed) {
  const extract_bed b(f, m, shape, seed);
  const merbit_view view = b.view();
  const int64_t span = m.rows / 4, rows = mbi_block_count(m.rows / 3 + 1, b.high);
  const simt_array answer(4, 8);
  int64_t blocks = 0, inside = 0, entries = 0, more;
  for (int w = 0; w < 3; w++) {
    const int64_t first = span * w / b.high;
    const int64_t last = std::min(first + rows, (int64_t)b.block_rows);
    blocks += mbi_blocks_count(&view, b.high, b.wide, first, last, &more);
    inside += more;
    for (int64_t row = first * b.high; row < std::min(last * b.high, m.rows); row++) {
      for (int64_t k = m.row_ptr[row]; k < m.row_ptr[row + 1]; k++) {
        entries += k == m.row_ptr[row] || m.col_ind[k] != m.col_ind[k - 1];
      }
    }
  }
  b.count(3, (mbk_u64)span, (mbk_u64)rows, nullptr, nullptr, answer);
  assert_int_equal(answer.load(0), blocks);
  assert_int_equal(answer.load(1), inside);
  assert_int_equal(answer.load(2), entries);
}

static void check(const extract_form &f, test_matrix &m, int shape, uint64_t seed) {
  const extract_bed b(f, m, shape, seed);
  const simt_array answer(4, 8);
  b.count(1, 0, b.block_rows, nullptr, nullptr, answer);
  assert_int_equal(answer.load(3) != 0, descends(m));
  sort_rows(m);
  check_sorted(f, m, shape, seed);
  check_windows(f, m, (shape + 5) % SHAPES, seed);
}

// In quick effort a form runs every sixth matrix, each in one shape; both change with the seed.
static void test_form(void **state) {
  const extract_form &f = *(const extract_form *)*state;
  const int form = (int)(&f - forms), all = test_matrix_count() + stretched_count();
  for (int turn = 0; turn < test_effort(1, 4); turn++) {
    for (int index = 0; index < all; index++) {
      const uint64_t seed = simt_seeds[(size_t)(index + form + turn) % 4];
      if (((uint64_t)(index + form) + simt_seeds[2]) % (uint64_t)test_effort(6, 1) != 0) {
        continue;
      }
      const int shape = (index * 5 + form * 7 + turn) % SHAPES;
      test_matrix m;
      if (index < test_matrix_count()) {
        test_matrix_make(index, seed, &m);
      } else {
        stretched_make(index - test_matrix_count(), seed, &m);
      }
      if (m.rows > 0) {
        check(f, m, shape, seed);
      }
      test_matrix_free(&m);
    }
  }
}

// Matrices made of blocks of the right shape, full or cut at the edges.
static void test_full_blocks(void **) {
  for (const extract_form &f : forms) {
    for (int shape = 0; shape < SHAPES; shape++) {
      const int64_t high = shapes[shape][0], wide = shapes[shape][1];
      for (int64_t cut = 0; cut < 2; cut++) {
        test_matrix m = {};
        std::vector<int64_t> starts = {0};
        std::vector<int32_t> columns;
        std::vector<double> values;
        m.rows = 7 * high - (cut && high > 1);
        m.cols = 9 * wide - (cut && wide > 1);
        for (int64_t row = 0; row < m.rows; row++) {
          for (int64_t c = 0; c < m.cols; c++) {
            if ((row / high * 5 + c / wide) % 3 == 0 && row / high != 4) {
              columns.push_back((int32_t)c);
              values.push_back((double)(columns.size() % 100) - 50);
            }
          }
          starts.push_back((int64_t)columns.size());
        }
        (void)snprintf(m.name, sizeof m.name, "blocks, %s", cut ? "cut" : "whole");
        m.nnz = (int64_t)columns.size();
        m.row_ptr = starts.data();
        m.col_ind = columns.data();
        m.values = values.data();
        check_sorted(f, m, shape, (uint64_t)shape);
      }
    }
  }
}

// Columns close to 2^31, where the end of a block exceeds it.
static void test_last_columns(void **) {
  static const int64_t row_ptr[] = {0, 2, 4, 5};
  static const int32_t col_ind[] = {0, 2147483645, 2147483583, 2147483644, 2147483646};
  static const double numbers[] = {1, 2, 3, 4, 5};
  for (int shape = 0; shape < SHAPES; shape++) {
    test_matrix m = {};
    std::vector<int64_t> starts(row_ptr, row_ptr + 4);
    std::vector<int32_t> columns(col_ind, col_ind + 5);
    std::vector<double> values(numbers, numbers + 5);
    (void)snprintf(m.name, sizeof m.name, "last columns");
    m.rows = 3;
    m.cols = INT32_MAX;
    m.nnz = 5;
    m.row_ptr = starts.data();
    m.col_ind = columns.data();
    m.values = values.data();
    check_sorted(forms[0], m, shape, (uint64_t)shape);
  }
}

// More chunks than a turn takes, and offsets beyond 32 bits.
static void test_many_blocks(void **) {
  for (const extract_form &f : forms) {
    for (const size_t chunks : {(size_t)1, (size_t)1023, (size_t)1024, (size_t)5000}) {
      const simt_array sums(chunks, 8), counts(2000, 4), block_ptr(2001, 8);
      uint64_t before = 0, random = 3;
      std::vector<uint64_t> expected;
      for (size_t i = 0; i < chunks; i++) {
        const uint64_t count = (uint64_t)test_below(&random, (int64_t)1 << 40);
        sums.as<uint64_t>()[i] = count;
        expected.push_back(before);
        before += count;
      }
      simt_run(f.sums, {f.name, "chunks", chunks}, {1, 1024, 32 * 8}, sums.get(),
               (mbk_u64)chunks);
      for (size_t i = 0; i < chunks; i++) {
        assert_true(sums.load(i) == expected[i]);
      }
      if (chunks < 2) {
        continue;
      }
      for (size_t i = 0; i < 2000; i++) {
        counts.as<uint32_t>()[i] = (uint32_t)test_below(&random, INT32_MAX);
      }
      simt_run(f.offsets, {f.name, "chunks", chunks}, {2, 256, 8 * 8}, counts.get(), sums.get(),
               (mbk_u64)2000, (mbk_u32)1, block_ptr.get());
      for (size_t i = 0, at = 0; i <= 2000; i++) {
        at = i % 1024 == 0 ? sums.load(i / 1024) : at;
        assert_true(block_ptr.load(i) == at);
        at += i < 2000 ? counts.load(i) : 0;
      }
    }
  }
}

int main() {
  std::vector<CMUnitTest> tests;
  merbit_context_desc desc = {};
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = 1;
  if (merbit_context_create(&desc, &host, nullptr) != MERBIT_OK) {
    return 1;
  }
  for (const extract_form &f : forms) {
    tests.push_back({f.name, test_form, nullptr, nullptr, (void *)&f});
  }
  tests.push_back({"full blocks", test_full_blocks, nullptr, nullptr, nullptr});
  tests.push_back({"last columns", test_last_columns, nullptr, nullptr, nullptr});
  tests.push_back({"many blocks", test_many_blocks, nullptr, nullptr, nullptr});
  const int failed = _cmocka_run_group_tests("extract_blocks", tests.data(), tests.size(),
                                             nullptr, simt_runs_report);
  merbit_context_destroy(host);
  return failed;
}
