// The kernel that samples a matrix before a method is chosen. Its counts of sectors of x in
// each window of nonzeros, and of slices whose columns lie in few pages, are compared with
// sets; its diagonals with a plain search.
#include "support/internal.h"

#include <set>

#include "jit/device.cuh"
#include "simt/csr.h"
#include "simt/diagonals_bed.h"

#define MBK_ROW_PTR mbk_i32
#define MBK_BASE 0
namespace offsets32_base0 {
#include "spmv/shared/csr_sample.cu"
} // namespace offsets32_base0
#include "simt/undefine.h"

#define MBK_ROW_PTR mbk_i64
#define MBK_BASE 1
namespace offsets64_base1 {
#include "spmv/shared/csr_sample.cu"
} // namespace offsets64_base1
#include "simt/undefine.h"

enum { WINDOW = 8192, SHARED = 12288 * 4 };

// Adds the diagonals and nonzeros of 64 rows. If a diagonal holds few nonzeros on average, or
// there are more than 256 diagonals, every nonzero counts as a diagonal.
static void count_slice(const test_matrix &m, uint64_t first, mbk_u32 *want) {
  const uint64_t end = std::min(first + 64, (uint64_t)m.rows);
  const uint64_t nonzeros = (uint64_t)(m.row_ptr[end] - m.row_ptr[first]);
  const auto all = diagonals_of(m, (int64_t)first);
  uint64_t passed = 0;
  bool poor = all.size() > 256;
  for (size_t k = 0; k < all.size(); k++) {
    passed += (uint64_t)__builtin_popcountll(all[k].present);
    poor |= (k + 1) * 32 > passed + 1024;
  }
  want[0] += (mbk_u32)(poor ? nonzeros : all.size());
  want[1] += (mbk_u32)nonzeros;
}

// Returns the number of different 128-byte lines that `count` nonzeros touch.
static mbk_u32 lines_of(const test_matrix &m, unsigned shift, uint64_t first, uint64_t count) {
  std::set<int64_t> lines;
  for (uint64_t k = first; k < first + count; k++) {
    lines.insert(m.col_ind[k] >> shift >> 2);
  }
  return (mbk_u32)lines.size();
}

// Adds the sectors, nonzeros and lines of up to 256 nonzeros of each of 32 rows, which are
// `apart` rows from each other. Part `part` of `parts` gives the place in the matrix and within
// each row.
static void count_abreast(const test_matrix &m, unsigned shift, unsigned apart, uint64_t part,
                          uint64_t parts, mbk_u32 *want) {
  const int64_t span = 32 * (int64_t)apart;
  const int64_t first = m.rows > span ? (m.rows - span) / (int64_t)parts * (int64_t)part : 0;
  std::set<int64_t> seen, lines[256];
  for (int64_t row = first; row < std::min(first + span, m.rows); row += apart) {
    const int64_t length = m.row_ptr[row + 1] - m.row_ptr[row];
    const int64_t count = std::min(length, (int64_t)256);
    const int64_t skipped = (length - count) / (int64_t)parts * (int64_t)part;
    for (int64_t k = m.row_ptr[row] + skipped; k < m.row_ptr[row] + skipped + count; k++) {
      seen.insert(m.col_ind[k] >> shift);
      lines[k - m.row_ptr[row] - skipped].insert(m.col_ind[k] >> shift >> 2);
      want[1]++;
    }
  }
  want[0] += (mbk_u32)seen.size();
  for (const auto &places : lines) {
    want[2] += (mbk_u32)places.size();
  }
}

// Checks a sample of `blocks` windows, with parallel rows that are `apart`.
static void check_matrix(const test_matrix &m, bool second, unsigned shift, unsigned blocks,
                         unsigned apart, uint64_t seed) {
  const unsigned base = second;
  const uint64_t rows = (uint64_t)m.rows, nnz = (uint64_t)m.nnz;
  const uint64_t window = std::min(nnz, (uint64_t)WINDOW), slices = (rows + 31) / 32;
  simt_array row_ptr(rows + 1, second ? 8 : 4), col_ind(nnz, 4);
  mbk_u32 want[39] = {}, found[39] = {}, *const at_found = found;
  for (uint64_t row = 0; row <= rows; row++) {
    row_ptr.store(row, (uint64_t)m.row_ptr[row] + base);
  }
  for (uint64_t k = 0; k < nnz; k++) {
    col_ind.store(k, (uint64_t)m.col_ind[k] + base);
  }
  for (uint64_t block = 0; block < blocks; block++) {
    const uint64_t first = (nnz - window) / blocks * block, part = 16 * block / blocks;
    std::set<int64_t> seen;
    for (uint64_t k = first; k < first + window; k++) {
      seen.insert(m.col_ind[k] >> shift);
    }
    want[7 + part] += (mbk_u32)seen.size();
    if (block == 0 || 16 * (block - 1) / blocks != part) {
      const int64_t *after =
          std::upper_bound(m.row_ptr, m.row_ptr + m.rows + 1, (int64_t)first);
      want[23 + part] = (mbk_u32)(after - m.row_ptr - 1);
    }
    for (uint64_t k = 0; k < window; k += 32) {
      want[6] += lines_of(m, shift, first + k, std::min(window - k, (uint64_t)32));
    }
    count_abreast(m, shift, apart, block, blocks, want + 3);
  }
  for (uint64_t i = 0; i < 8 * blocks; i++) {
    const uint64_t row = slices * i / (8 * blocks) * 32, end = std::min(row + 32, rows);
    std::set<int32_t> pages;
    for (int64_t k = m.row_ptr[row]; k < m.row_ptr[end]; k++) {
      pages.insert(m.col_ind[k] / 2048);
    }
    want[0] += pages.size() <= 32 && (pages.empty() || *pages.rbegin() < 65535);
    count_slice(m, (rows + 63) / 64 * i / (8 * blocks) * 64, want + 1);
  }
  simt_run(second ? SIMT_KERNEL(offsets64_base1::mbk_sample_columns)
                  : SIMT_KERNEL(offsets32_base0::mbk_sample_columns),
           {second ? "offsets64_base1" : "offsets32_base0", m.name, seed},
           {3 * blocks, 1024, SHARED}, row_ptr.get(), col_ind.get(), rows, nnz, (mbk_u32)blocks,
           shift, apart, at_found);
  for (int i = 0; i < 39; i++) {
    static const char *const names[] = {
        "narrow slices",   "diagonals",         "nonzeros",
        "sectors abreast", "nonzeros abreast",  "lines abreast",
        "lines",           "sectors of a part", "as a part's first row"};
    if (found[i] != want[i]) {
      fail_msg("%s: %u %s instead of %u (number %d)", m.name, found[i],
               names[i < 7    ? i
                     : i < 23 ? 7
                              : 8],
               want[i], i);
    }
  }
}

// Makes `nnz` nonzeros in rows of up to three with columns below `cols`; with a number of
// pages, the columns are in the last pages below `cols` in turn.
static void make(int64_t nnz, int64_t cols, int64_t pages, test_matrix *m) {
  uint64_t state = (uint64_t)(nnz + cols);
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "%d nonzeros, %d columns, %d pages", (int)nnz,
                 (int)cols, (int)pages);
  m->rows = (nnz + 2) / 3;
  m->cols = cols;
  m->nnz = nnz;
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)test_allocate(nnz, sizeof *m->col_ind);
  for (int64_t row = 0; row <= m->rows; row++) {
    m->row_ptr[row] = std::min(3 * row, nnz);
  }
  for (int64_t k = 0; k < nnz; k++) {
    m->col_ind[k] =
        (int32_t)(pages == 0 ? test_below(&state, cols) : cols - 1 - k % pages * 2048);
  }
}

// Sizes around a window; numbers of pages around a list's length and around those of two bytes.
static void test_limits(void **) {
  static const int64_t cases[][3] = {
      {1, 1, 0},          {40, 1 << 30, 0},    {8191, 1 << 20, 0},       {8192, 1 << 20, 0},
      {8193, 1 << 20, 0}, {9000, 300, 0},      {90, 70000, 32},          {90, 70000, 33},
      {90, 70000, 34},    {9, 65535 << 11, 3}, {9, (65535 << 11) + 1, 3}};
  for (const auto &c : cases) {
    for (int form = 0; form < 2; form++) {
      test_matrix m;
      make(c[0], c[1], c[2], &m);
      check_matrix(m, form != 0, form == 0 ? 3 : 2,
                   form != 0      ? 1
                   : c[0] == 9000 ? 20
                                  : 6,
                   form == 0 ? 1 : 16, 7);
      test_matrix_free(&m);
    }
  }
}

// Rows of 300 columns: half of the rows have adjacent columns, half have distant ones that are
// adjacent to those of the neighbouring rows. Fewer than 32 rows, and more.
static void test_abreast(void **) {
  for (int64_t rows : {7, 96}) {
    test_matrix m;
    make(300 * rows, 300 * rows + 300, 0, &m);
    m.rows = rows;
    for (int64_t row = 0; row <= rows; row++) {
      m.row_ptr[row] = row * 300;
    }
    for (int64_t k = 0; k < m.nnz; k++) {
      const int64_t row = k / 300, at = k % 300;
      m.col_ind[k] = (int32_t)(row < rows / 2 ? row * 300 + at : at * rows + row);
    }
    check_matrix(m, rows == 7, 3, 3, rows == 7 ? 3 : 1, 5);
    test_matrix_free(&m);
  }
}

// Full bands of 255 to 257 diagonals, of which a sample counts at most 256; and rows that share
// diagonals in pairs and triples.
static void test_bands(void **) {
  for (int64_t width : {255, 256, 257}) {
    for (int64_t rows : {64, 200}) {
      test_matrix m;
      make(width * rows, rows + width, 0, &m);
      m.rows = rows;
      for (int64_t row = 0; row <= rows; row++) {
        m.row_ptr[row] = row * width;
      }
      for (int64_t k = 0; k < m.nnz; k++) {
        m.col_ind[k] = (int32_t)(k / width + k % width);
      }
      check_matrix(m, rows == 64, 2, 1, 1, 3);
      test_matrix_free(&m);
    }
  }
  for (int64_t shared : {31, 32, 33}) { // number of rows that share a diagonal
    test_matrix m;
    make(64 * 40, 1 << 20, 0, &m);
    m.rows = 64;
    for (int64_t row = 0; row <= 64; row++) {
      m.row_ptr[row] = row * 40;
    }
    for (int64_t k = 0; k < m.nnz; k++) {
      m.col_ind[k] = (int32_t)(k / 40 + k / 40 / shared * 1000 + k % 40 * 3000);
    }
    check_matrix(m, shared == 32, 2, 1, 2, 3);
    test_matrix_free(&m);
  }
}

static void test_generated(void **) {
  for (int index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    test_matrix_make(index, 1, &m);
    if (m.nnz > 0) {
      check_matrix(m, index % 2 != 0, 2, 1 + (unsigned)index % 5, index % 3 != 0 ? 1 : 16, 1);
    }
    test_matrix_free(&m);
  }
}

static void test_sizes(void **) {
  assert_int_equal(MBI_NONEMPTY_WINDOW, WINDOW);
  assert_int_equal(MBI_NONEMPTY_TABLE * 4, SHARED);
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(test_limits), cmocka_unit_test(test_abreast),
                              cmocka_unit_test(test_bands), cmocka_unit_test(test_generated),
                              cmocka_unit_test(test_sizes)};
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
