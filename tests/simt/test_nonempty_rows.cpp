// The kernels that count and list a plan's rows and columns, against simple loops: counts and
// their offsets, rows with and without nonzeros, the longest row, the widths of slices, columns
// with many nonzeros.
#include "support/internal.h"

#include "jit/device.cuh"
#include "simt/csr.h"

struct ranks_form {
  const char *name;
  unsigned row_ptr_bytes, base;
  simt_kernel count, offsets, compact, columns, lengths, bins;
};

#define FORM(space)                                                                            \
  {                                                                                            \
#space, sizeof(MBK_ROW_PTR), MBK_BASE, SIMT_KERNEL(space::mbk_nonempty_count),             \
        SIMT_KERNEL(space::mbk_nonempty_offsets), SIMT_KERNEL(space::mbk_nonempty_compact),    \
        SIMT_KERNEL(space::mbk_columns_count), SIMT_KERNEL(space::mbk_columns_lengths),        \
        SIMT_KERNEL(space::mbk_columns_bins)                                                   \
  }

#define MBK_ROW_PTR mbk_i32
#define MBK_BASE 0
namespace offsets32_base0 {
#include "spmv/shared/csr_columns.cu"
#include "spmv/shared/nonempty_rows.cu"
static const ranks_form form = FORM(offsets32_base0);
} // namespace offsets32_base0
#include "simt/undefine.h"

#define MBK_ROW_PTR mbk_i64
#define MBK_BASE 1
namespace offsets64_base1 {
#include "spmv/shared/csr_columns.cu"
#include "spmv/shared/nonempty_rows.cu"
static const ranks_form form = FORM(offsets64_base1);
} // namespace offsets64_base1
#include "simt/undefine.h"

static const std::vector<const ranks_form *> forms = {&offsets32_base0::form,
                                                      &offsets64_base1::form};

enum {
  BLOCK_ROWS = 1024,
  THREADS = 256,
  COUNT_SHARED = 24 + 522 * 4,
  COMPACT_SHARED = 32,
  BINS = 4096
};

struct ranks_bed {
  ranks_bed(const ranks_form &f, const char *name, const std::vector<uint64_t> &lengths,
            uint64_t seed)
      : f(f), what{f.name, name, seed}, lengths(lengths), rows(lengths.size()),
        blocks(csr_divide_up(rows, BLOCK_ROWS)), row_ptr(rows + 1, f.row_ptr_bytes),
        counts(blocks + 1, 4, 0xff) {
    uint64_t sum = f.base;
    for (uint64_t row = 0; row <= rows; row++) {
      row_ptr.store(row, sum);
      sum += row < rows ? lengths[row] : 0;
    }
  }

  // Returns the number of non-empty rows in [from, to).
  uint64_t holding(uint64_t from, uint64_t to) const {
    uint64_t found = 0;
    for (uint64_t row = from; row < std::min(to, rows); row++) {
      found += lengths[row] > 0;
    }
    return found;
  }

  void count() {
    mbk_u32 longest = 0, *const at_longest = &longest;
    mbk_u64 widths = 0, *const at_widths = &widths, sorted = 0, *const at_sorted = &sorted,
            squares = 0, *const at_squares = &squares;
    uint64_t most = 0, width = 0, sum = 0, square = 0;
    simt_run(f.count, what, {blocks, THREADS, COUNT_SHARED}, row_ptr.get(), rows, counts.get(),
             at_longest, at_widths, at_sorted, at_squares);
    for (uint64_t block = 0; block < blocks; block++) {
      assert_int_equal(counts.load(block),
                       holding(block * BLOCK_ROWS, (block + 1) * BLOCK_ROWS));
    }
    assert_true(counts.load(blocks) == 0xffffffffu);
    for (uint64_t row = 0; row < rows; row++) {
      width = std::max(row % 32 == 0 ? 0 : width, std::min(lengths[row], (uint64_t)UINT32_MAX));
      most = std::max(most, width);
      square += std::min(lengths[row], (uint64_t)UINT32_MAX) *
                std::min(lengths[row], (uint64_t)1 << 20);
      sum += row % 32 == 31 || row == rows - 1 ? width : 0;
    }
    assert_true(longest == most && widths == sum && squares == square);
    count_sorted(sorted);
  }

  // Checks the sum of the widths of sorted slices. Bins round row lengths from 32 on up by at
  // most a sixteenth.
  void count_sorted(uint64_t found) const {
    uint64_t exact = 0, short_slices = 0;
    for (uint64_t from = 0; from < rows; from += BLOCK_ROWS) {
      std::vector<uint64_t> window(lengths.begin() + (ptrdiff_t)from,
                                   lengths.begin() +
                                       (ptrdiff_t)std::min(from + BLOCK_ROWS, rows));
      std::sort(window.rbegin(), window.rend());
      for (size_t place = 0; place < window.size(); place += 32) {
        const uint64_t width = std::min(window[place], (uint64_t)UINT32_MAX);
        exact += width;
        short_slices += width < 32 ? width : 0;
      }
    }
    assert_true(found >= exact && found - exact <= (exact - short_slices) / 16);
  }

  void compact() {
    const uint64_t ranks = holding(0, rows);
    const simt_array row_id(ranks, 4, 0xff), row_bits((rows + 31) / 32, 4, 0x55),
        row_start(ranks + 1, f.row_ptr_bytes, 0xff);
    uint64_t rank = 0;
    simt_run(f.compact, what, {blocks, THREADS, COMPACT_SHARED}, row_ptr.get(), rows,
             counts.get(), row_id.get(), row_bits.get(), row_start.get());
    for (uint64_t row = 0; row < rows; row++) {
      assert_int_equal(row_bits.load(row / 32) >> row % 32 & 1, lengths[row] > 0);
      if (lengths[row] == 0) {
        continue;
      }
      assert_int_equal(row_id.load(rank), row);
      assert_true(row_start.load(rank) == row_ptr.load(row));
      rank++;
    }
    assert_true(row_start.load(ranks) == row_ptr.load(rows));
    for (uint64_t row = rows; row % 32 != 0; row++) { // beyond the last row: not written
      assert_int_equal(row_bits.load(row / 32) >> row % 32 & 1, 1);
    }
  }

  // The sum may follow the counts or lie elsewhere.
  void offsets() {
    mbk_u32 apart = 0;
    const bool behind = what.seed % 2 != 0;
    mbk_u32 *const total = behind ? counts.as<mbk_u32>() + blocks : &apart;
    const mbk_u64 count = blocks;
    simt_run(f.offsets, what, {1, 1024, 33 * 4}, counts.get(), count, total);
    assert_int_equal(*total, holding(0, rows));
    for (uint64_t block = 0; block < blocks; block++) {
      assert_int_equal(counts.load(block), holding(0, block * BLOCK_ROWS));
    }
  }

  const ranks_form &f;
  simt_case what;
  const std::vector<uint64_t> &lengths;
  uint64_t rows;
  unsigned blocks;
  simt_array row_ptr, counts;
};

// Checks the sampled lengths for a CSR whose rows are columns: how many runs of `stride` their
// nonzeros make, rounded.
static void check_lengths(const ranks_bed &b, mbk_u32 stride) {
  const simt_array counts(b.rows, 4, 0xff);
  const mbk_u64 cols = b.rows;
  simt_run(b.f.lengths, b.what, {1 + (unsigned)b.what.seed % 3, THREADS, 0}, b.row_ptr.get(),
           cols, stride, counts.get());
  for (uint64_t c = 0; c < cols; c++) {
    const uint64_t wanted = (b.lengths[c] + stride / 2) / stride;
    assert_true(counts.load(c) == std::min(wanted, (uint64_t)UINT32_MAX));
  }
}

static void check_rows(const ranks_form &f, const char *name,
                       const std::vector<uint64_t> &lengths, uint64_t seed) {
  ranks_bed b(f, name, lengths, seed);
  b.count();
  b.offsets();
  b.compact();
  check_lengths(b, 1);
  check_lengths(b, 3);
}

// Checks that bins[n] is the number of columns counted n times; the last bin also has all
// higher counts.
static void check_bins(const simt_kernel &kernel, const simt_case &what,
                       const simt_array &counts) {
  const simt_array bins(BINS, 4);
  const mbk_u64 cols = counts.count;
  std::vector<uint64_t> expected(BINS);
  for (uint64_t c = 0; c < cols; c++) {
    expected[std::min(counts.load(c), (uint64_t)BINS - 1)]++;
  }
  expected[0] = 0; // not used
  simt_run(kernel, what, {1 + (unsigned)what.seed % 3, THREADS, BINS * 4}, counts.get(), cols,
           bins.get());
  for (uint64_t n = 0; n < BINS; n++) {
    if (bins.load(n) != expected[n]) {
      fail_msg("%s on %s: %llu columns are counted %llu times, not %llu", what.form,
               what.matrix, (unsigned long long)bins.load(n), (unsigned long long)n,
               (unsigned long long)expected[n]);
    }
  }
}

// Checks the counts of columns if every `stride`th run of 32 nonzeros is counted.
static void check_columns(const ranks_form &f, const test_matrix &m, mbk_u32 stride,
                          uint64_t seed) {
  const uint64_t nnz = (uint64_t)m.nnz;
  simt_array col_ind(nnz, 4), counts((size_t)m.cols, 4);
  std::vector<uint64_t> expected(counts.count);
  for (uint64_t k = 0; k < nnz; k++) {
    col_ind.store(k, (uint64_t)m.col_ind[k] + f.base);
    expected[(size_t)m.col_ind[k]] += k / 32 % stride == 0;
  }
  simt_run(f.columns, {f.name, m.name, seed}, {1 + (unsigned)seed % 3, THREADS, 0},
           col_ind.get(), nnz, stride, counts.get());
  for (uint64_t c = 0; c < counts.count; c++) {
    assert_int_equal(counts.load(c), expected[c]);
  }
  check_bins(f.bins, {f.name, m.name, seed}, counts);
}

static void check(void **state) {
  const ranks_form &f = *(const ranks_form *)*state;
  for (uint64_t seed : simt_few_seeds) {
    csr_each_matrix(seed, [&](int, test_matrix &m) {
      std::vector<uint64_t> lengths;
      for (int64_t row = 0; row < m.rows; row++) {
        lengths.push_back((uint64_t)(m.row_ptr[row + 1] - m.row_ptr[row]));
      }
      check_rows(f, m.name, lengths, seed);
      if (m.nnz > 0) {
        check_columns(f, m, 1 + (mbk_u32)seed % 2 * 4, seed);
        check_columns(f, m, 2, seed);
      }
    });
  }
}

// Rows, and sums of slice widths, that exceed 32 bits.
static void test_very_long(void **) {
  const uint64_t most = UINT32_MAX;
  check_rows(offsets64_base1::form, "very long rows", {1, most - 1, 0}, 1);
  check_rows(offsets64_base1::form, "very long rows", {0, most}, 1);
  check_rows(offsets64_base1::form, "very long rows", {most + 1, 2}, 1);
  check_rows(offsets64_base1::form, "very long rows", {(uint64_t)1 << 40, most + 7}, 2);
  check_rows(offsets64_base1::form, "very long rows",
             std::vector<uint64_t>(3000, (uint64_t)1 << 31), 2);
}

// More blocks of rows than the block that computes offsets has threads.
static void test_many_blocks(void **) {
  for (const unsigned blocks : {1u, 31u, 32u, 33u, 1023u, 1024u, 1025u, 2048u, 5000u}) {
    simt_array counts(blocks + 1, 4, 0xff);
    std::vector<uint64_t> before;
    uint64_t sum = 0, random = blocks;
    for (unsigned i = 0; i < blocks; i++) {
      before.push_back(sum);
      counts.store(i, (uint64_t)test_below(&random, 1025));
      sum += counts.load(i);
    }
    const mbk_u64 count = blocks;
    simt_run(forms[0]->offsets, {forms[0]->name, "many blocks", blocks}, {1, 1024, 33 * 4},
             counts.get(), count, counts.as<mbk_u32>() + blocks);
    for (unsigned i = 0; i < blocks; i++) {
      assert_true(counts.load(i) == before[i]);
    }
    assert_true(counts.load(blocks) == sum);
  }
}

// Counts around the last bin, and more columns than threads.
static void test_bins(void **) {
  simt_array counts(5000, 4);
  for (uint64_t seed : simt_few_seeds) {
    uint64_t random = seed;
    for (size_t c = 0; c < counts.count; c++) {
      counts.store(c, (uint64_t)test_below(&random, c % 3 == 0 ? 4 : 4200));
    }
    const uint32_t ends[] = {BINS - 2, BINS - 1, BINS, UINT32_MAX, 0, 1};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
      counts.store(counts.count - 1 - i, ends[i]);
    }
    for (const ranks_form *f : forms) {
      check_bins(f->bins, {f->name, "bins", seed}, counts);
    }
  }
}

static void test_sizes(void **) {
  assert_int_equal(MBI_NONEMPTY_PER_BLOCK, BLOCK_ROWS);
  assert_int_equal(MBI_NONEMPTY_BINS, BINS);
  assert_int_equal(MBI_ARRAYS_THREADS, THREADS);
}

int main() {
  return csr_main("nonempty_rows", forms,
                  {cmocka_unit_test(test_very_long), cmocka_unit_test(test_many_blocks),
                   cmocka_unit_test(test_bins), cmocka_unit_test(test_sizes)},
                  check);
}
