// The kernels that find out how values can be stored, and store them, against a simple loop: on
// generated matrices with values of each kind, and on such values with one nonzero that breaks
// the pattern.
#include "support/internal.h"

#include "jit/device.cuh"
#include "simt/csr.h"

#define MBK_ROW_PTR mbk_i32
#define MBK_BASE 0
namespace offsets32_base0 {
#include "spmv/stages/value_check.cu"
#include "spmv/stages/value_groups.cu"
#include "spmv/stages/value_sample.cu"
} // namespace offsets32_base0
#include "simt/undefine.h"

#define MBK_ROW_PTR mbk_i64
#define MBK_BASE 1
namespace offsets64_base1 {
#include "spmv/stages/value_check.cu"
#include "spmv/stages/value_groups.cu"
#include "spmv/stages/value_sample.cu"
} // namespace offsets64_base1
#include "simt/undefine.h"

#define FORMS_KERNEL(name)                                                                     \
  (b.second ? SIMT_KERNEL(offsets64_base1::name) : SIMT_KERNEL(offsets32_base0::name))

enum { KEYS = 512, SAMPLE_SHARED = (4096 + KEYS) * 8 + 8 };
static const mbk_u32 EQUAL = 1u << CSR_EQUAL, SINGLE = 1u << CSR_SINGLE, HALF = 1u << CSR_HALF,
                     TABLE = 1u << CSR_TABLE, ROW = 1u << CSR_ROW, COLUMN = 1u << CSR_COLUMN;

// ---- A matrix and its values ----------------------------------------------------------------

template <class V> struct forms_bed {
  forms_bed(test_matrix &m, bool second, uint64_t seed)
      : m(m), second(second), rows((uint64_t)m.rows), nnz((uint64_t)m.nnz), seed(seed),
        row_ptr(rows + 1, second ? 8 : 4), col_ind(nnz, 4), values(nnz, sizeof(V)),
        keys(KEYS, 8) {
    for (uint64_t row = 0; row <= rows; row++) {
      row_ptr.store(row, (uint64_t)m.row_ptr[row] + second);
    }
    for (uint64_t k = 0; k < nnz; k++) {
      col_ind.store(k, (uint64_t)m.col_ind[k] + second);
    }
  }

  simt_case run() const {
    return {second ? "offsets64_base1" : "offsets32_base0", m.name, seed};
  }
  unsigned grid(uint64_t salt) const {
    return 1 + (unsigned)((seed + salt + nnz) % 3);
  }
  V &at(uint64_t k) {
    return values.as<V>()[k];
  }
  uint64_t bits(uint64_t k) const {
    return values.load(k);
  }

  // Sets value k by `kind`; the nonzeros in `odd` break its pattern.
  void fill(int kind, uint64_t odd, V stranger) {
    for (uint64_t row = 0; row < rows; row++) {
      for (uint64_t k = (uint64_t)m.row_ptr[row]; k < (uint64_t)m.row_ptr[row + 1]; k++) {
        at(k) = kind == 0   ? (V)0.75
                : kind == 1 ? (V)((double)(k % 700) * 1.25)           // halves
                : kind == 2 ? (V)(4097.0 + 2 * (double)(k % 999))     // floats
                : kind == 3 ? (V)(1.1 * (double)(1 + k * 7919 % 200)) // few
                : kind == 4 ? (V)(1.1 * (double)(1 + row))            // of rows
                : kind == 5 ? (V)(1.1 * (double)(1 + m.col_ind[k]))   // of columns
                : kind == 6 ? (V)(1.1 * (double)(1 + k % 256))        // a full table
                : kind == 7 ? (V)(1.1 * (double)(1 + k % 257))        // one value too many
                            : (V)(1.1 * (double)(1 + k));
      }
    }
    if (odd < nnz) {
      at(odd) = stranger;
    }
  }

  // Returns the forms that the values rule out, by a loop over all nonzeros.
  unsigned against() {
    unsigned found = 0;
    std::set<uint64_t> different;
    std::map<int32_t, uint64_t> columns;
    for (uint64_t row = 0; row < rows; row++) {
      for (uint64_t k = (uint64_t)m.row_ptr[row]; k < (uint64_t)m.row_ptr[row + 1]; k++) {
        const double value = (double)at(k), size = fabs(value);
        // A half is a multiple of 2^-24 with at most 11 significant bits.
        const double unit = std::isfinite(value) && size > 0
                                ? std::max(ldexp(1, ilogb(size) - 10), ldexp(1, -24))
                                : 1;
        const bool half = std::isinf(value) || (size <= 65504 && fmod(size, unit) == 0);
        different.insert(bits(k));
        found |= bits(k) != bits(0) ? EQUAL : 0;
        found |= (double)(float)value == value ? 0 : SINGLE;
        found |= half ? 0 : HALF;
        found |= bits(k) != bits((uint64_t)m.row_ptr[row]) ? ROW : 0;
        found |= columns.emplace(m.col_ind[k], bits(k)).first->second != bits(k) ? COLUMN : 0;
      }
    }
    // No key may be all ones.
    const uint64_t ones = sizeof(V) == 8 ? ~(uint64_t)0 : 0;
    return found |
           (different.size() > 256 || (ones != 0 && different.count(ones) > 0) ? TABLE : 0);
  }

  test_matrix &m;
  bool second;
  uint64_t rows, nnz, seed;
  simt_array row_ptr, col_ind, values, keys;
  mbk_u32 distinct = 0, told = 0;
  mbk_u64 changes[2] = {0, 0};
};

template <class V>
[[noreturn]] static void forms_fail(const forms_bed<V> &b, const char *what, unsigned found,
                                    unsigned expected) {
  fail_msg("%s, values of %zu bytes, %s: 0x%x, not 0x%x", b.m.name, sizeof(V), what, found,
           expected);
  abort();
}

// ---- Finding --------------------------------------------------------------------------------

// Checks that the sample rules out no form that all values have.
template <class V> static void forms_sample(forms_bed<V> &b, unsigned against) {
  const mbk_u32 wide = sizeof(V) == 8;
  mbk_u32 *const at_told = &b.told, *const at_distinct = &b.distinct;
  memset(b.keys.get(), 0, KEYS * 8);
  b.told = b.distinct = 0;
  simt_run(FORMS_KERNEL(mbk_forms_sample), b.run(),
           {(unsigned)(b.nnz / 2048) + 1, 256, SAMPLE_SHARED}, b.row_ptr.get(), b.col_ind.get(),
           b.values.get(), (mbk_u64)b.rows, (mbk_u64)b.nnz, wide, b.keys.get(), at_distinct,
           at_told);
  if ((b.told & ~against) != 0 || (b.nnz <= 2048 && (b.told | ROW) != (against | ROW))) {
    forms_fail(b, "the sample says", b.told, against);
  }
}

template <class V> static void forms_check(forms_bed<V> &b, unsigned against) {
  const mbk_u32 wide = sizeof(V) == 8;
  for (mbk_u32 asked : {EQUAL, SINGLE, HALF, EQUAL | SINGLE | HALF}) {
    mbk_u32 told = 0, *const at_told = &told;
    simt_run(FORMS_KERNEL(mbk_forms_check), b.run(), {b.grid(asked), 256, 0}, b.values.get(),
             (mbk_u64)b.nnz, wide, asked, at_told);
    if ((told & ~against) != 0 || (told & asked) != (against & asked)) {
      forms_fail(b, "all values say", told, against & asked);
    }
  }
}

template <class V> static void forms_rows(forms_bed<V> &b, unsigned against) {
  const mbk_u32 wide = sizeof(V) == 8;
  mbk_u64 changes[2] = {0, 0}, *const at_changes = changes;
  simt_run(FORMS_KERNEL(mbk_forms_changes), b.run(), {b.grid(0), 256, 0}, b.row_ptr.get(),
           b.values.get(), (mbk_u64)b.rows, (mbk_u64)b.nnz, wide, at_changes);
  if ((changes[0] != changes[1]) != ((against & ROW) != 0)) {
    forms_fail(b, "rows change", (unsigned)changes[0], (unsigned)changes[1]);
  }
  if ((against & ROW) == 0) {
    simt_array by_row(b.rows, sizeof(V), 0xff);
    simt_run(FORMS_KERNEL(mbk_forms_rows), b.run(), {b.grid(1), 256, 0}, b.row_ptr.get(),
             b.values.get(), (mbk_u64)b.rows, wide, by_row.get());
    for (uint64_t row = 0; row < b.rows; row++) {
      const uint64_t first = (uint64_t)b.m.row_ptr[row];
      const bool holds = first < (uint64_t)b.m.row_ptr[row + 1];
      assert_true(by_row.load(row) == (holds ? b.bits(first) : 0));
    }
  }
}

template <class V> static void forms_columns(forms_bed<V> &b, unsigned against) {
  const mbk_u32 wide = sizeof(V) == 8;
  simt_array by_column((uint64_t)b.m.cols, sizeof(V));
  mbk_u32 told = 0, *const at_told = &told;
  simt_run(FORMS_KERNEL(mbk_forms_columns), b.run(), {b.grid(2), 256, 0}, b.col_ind.get(),
           b.values.get(), (mbk_u64)b.nnz, wide, by_column.get());
  simt_run(FORMS_KERNEL(mbk_forms_differ), b.run(), {b.grid(3), 256, 0}, b.col_ind.get(),
           b.values.get(), (mbk_u64)b.nnz, wide, by_column.get(), at_told);
  if (told != (against & COLUMN)) {
    forms_fail(b, "columns say", told, against & COLUMN);
  }
  for (uint64_t k = 0; k < b.nnz && told == 0; k++) {
    assert_true(by_column.load((uint64_t)b.m.col_ind[k]) == b.bits(k));
  }
}

// Checks the table, unless forms_sample has ruled it out.
template <class V> static void forms_table(forms_bed<V> &b, unsigned against) {
  const mbk_u32 wide = sizeof(V) == 8;
  mbk_u32 *const at_told = &b.told, *const at_distinct = &b.distinct;
  if ((b.told & TABLE) != 0) {
    return;
  }
  simt_run(FORMS_KERNEL(mbk_forms_collect), b.run(), {b.grid(4), 256, KEYS * 8}, b.values.get(),
           (mbk_u64)b.nnz, wide, b.keys.get(), at_distinct, at_told);
  if ((b.told & TABLE) != (against & TABLE)) {
    forms_fail(b, "the table says", b.told & TABLE, against & TABLE);
  }
  if ((against & TABLE) == 0) {
    simt_array number(KEYS, 1), shorter(b.nnz, 1, 0xff);
    std::vector<uint64_t> table;
    for (uint64_t i = 0; i < KEYS; i++) {
      if (b.keys.load(i) != 0) {
        number.as<mbk_u8>()[i] = (mbk_u8)table.size();
        table.push_back(~b.keys.load(i));
      }
    }
    assert_true(table.size() == b.distinct);
    assert_in_range(b.distinct, 1, 256);
    simt_run(FORMS_KERNEL(mbk_forms_number), b.run(), {b.grid(5), 256, KEYS * 9},
             b.values.get(), (mbk_u64)b.nnz, wide, b.keys.get(), number.get(), shorter.get());
    for (uint64_t k = 0; k < b.nnz; k++) {
      assert_true(table[shorter.as<mbk_u8>()[k]] == b.bits(k));
    }
  }
}

template <class V> static void forms_shorten(forms_bed<V> &b, unsigned against) {
  const mbk_u32 wide = sizeof(V) == 8;
  for (const mbk_u32 half : {0u, 1u}) {
    if ((against & (half != 0 ? HALF : SINGLE)) != 0) {
      continue;
    }
    simt_array shorter(b.nnz, half != 0 ? 2 : 4, 0xff);
    simt_run(FORMS_KERNEL(mbk_forms_shorten), b.run(), {b.grid(6), 256, 0}, b.values.get(),
             (mbk_u64)b.nnz, wide, half, shorter.get());
    for (uint64_t k = 0; k < b.nnz; k++) {
      const V got =
          half != 0 ? (V)mbk_half_value(shorter.as<mbk_u16>()[k]) : (V)shorter.as<float>()[k];
      assert_memory_equal(&got, &b.at(k), sizeof got);
    }
  }
}

template <class V> static void forms_all(forms_bed<V> &b) {
  const unsigned against = b.against();
  forms_sample(b, against);
  forms_check(b, against);
  forms_rows(b, against);
  forms_columns(b, against);
  forms_table(b, against);
  forms_shorten(b, against);
}

// ---- Matrices -------------------------------------------------------------------------------

// Values at the limits of halves and floats, and values that are equal but differ in their
// bits.
static const double strangers[] = {
    65504,     65520,          65519.96875,  0x1p-24,       0x1p-25,
    0x1.8p-24, 0x1.ffcp-15,    0x1.ffep-15,  -0.0,          0.0,
    INFINITY,  -INFINITY,      NAN,          0x1.002p0,     1e-300,
    0x1p-149,  0x1.fffffep127, 0x1.000002p0, 0x1.0000001p0, 2049};

template <class V> static void forms_matrix(test_matrix &m, int index, uint64_t seed) {
  forms_bed<V> b(m, index % 2 != 0, seed);
  for (int kind = 0; kind < 9; kind++) {
    const size_t at = (size_t)(index * 9 + kind) % (sizeof strangers / sizeof strangers[0]);
    const uint64_t odd[] = {b.nnz, b.nnz - 1, b.nnz / 2, 0};
    b.fill(kind, odd[(index + kind) % 4], (V)strangers[at]);
    forms_all(b);
  }
}

static void test_generated(void **) {
  for (int index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    test_matrix_make(index, 1, &m);
    if (m.nnz > 0 && m.rows > 0 && m.nnz < test_effort(20000, INT32_MAX)) {
      forms_matrix<float>(m, index, simt_seeds[0]);
      forms_matrix<double>(m, index + 1, simt_seeds[1]);
    }
    test_matrix_free(&m);
  }
}

// A row and a column of 5,000 nonzeros, of which a sample misses the last ones.
static void test_strangers(void **) {
  for (const bool tall : {false, true}) {
    test_matrix m = {};
    (void)snprintf(m.name, sizeof m.name, tall ? "a column" : "a row");
    m.rows = tall ? 5000 : 1;
    m.cols = tall ? 1 : 5000;
    m.nnz = 5000;
    m.row_ptr = (int64_t *)test_allocate(m.rows + 1, sizeof *m.row_ptr);
    m.col_ind = (int32_t *)test_allocate(m.nnz, sizeof *m.col_ind);
    for (int64_t i = 0; i < 5000; i++) {
      m.col_ind[i] = tall ? 0 : (int32_t)i;
      m.row_ptr[tall ? i + 1 : 1] = tall ? i + 1 : 5000;
    }
    for (const double stranger : strangers) {
      forms_bed<double> wide(m, tall, simt_seeds[0]);
      forms_bed<float> narrow(m, !tall, simt_seeds[1]);
      for (const int kind : {0, 6}) {
        wide.fill(kind, 4999, stranger);
        forms_all(wide);
        narrow.fill(kind, 4999, (float)stranger);
        forms_all(narrow);
      }
    }
    forms_bed<double> ones(m, false, simt_seeds[0]); // the one NaN that no table takes
    ones.fill(0, 0, 0.0);
    memset(&ones.at(4999), 0xff, sizeof(double));
    forms_all(ones);
    test_matrix_free(&m);
  }
}

// 256 values whose keys have neighbouring slots: a table that cannot take all of them is
// refused.
static void test_clusters(void **) {
  test_matrix m = {};
  (void)snprintf(m.name, sizeof m.name, "clusters");
  m.rows = 1;
  m.cols = m.nnz = 5000;
  m.row_ptr = (int64_t *)test_allocate(2, sizeof *m.row_ptr);
  m.col_ind = (int32_t *)test_allocate(m.nnz, sizeof *m.col_ind);
  m.row_ptr[1] = m.nnz;
  for (int64_t i = 0; i < m.nnz; i++) {
    m.col_ind[i] = (int32_t)i;
  }
  std::vector<double> values;
  for (double value = 1; values.size() < 256; value++) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (~bits * 0x9e3779b97f4a7c15ull >> 55 < 8) {
      values.push_back(value);
    }
  }
  forms_bed<double> b(m, false, simt_seeds[0]);
  for (uint64_t k = 0; k < b.nnz; k++) { // 100 are frequent, the others are there once
    b.at(k) = values[k < 4844 ? k % 100 : k - 4844 + 100];
  }
  mbk_u32 *const at_told = &b.told, *const at_distinct = &b.distinct;
  memset(b.keys.get(), 0, KEYS * 8);
  b.told = b.distinct = 0;
  simt_run(FORMS_KERNEL(mbk_forms_collect), b.run(), {b.grid(4), 256, KEYS * 8}, b.values.get(),
           (mbk_u64)b.nnz, (mbk_u32)1, b.keys.get(), at_distinct, at_told);
  assert_int_equal(b.told & TABLE, TABLE);
  test_matrix_free(&m);
}

// All halves are stored exactly, and numbers between them are not halves.
static void test_halves(void **) {
  for (unsigned bits = 0; bits < 0x10000; bits++) {
    const float value = mbk_half_value((mbk_u16)bits);
    if (!std::isnan(value)) {
      assert_int_equal(mbk_half_of(value), bits);
      if (std::isfinite(value)) {
        const float next = nextafterf(value, INFINITY);
        assert_true(mbk_half_value(mbk_half_of(next)) != next || next == 0);
      }
    }
  }
  assert_int_equal(mbk_half_of(65519), 0x7bff);
  assert_int_equal(mbk_half_of(65520), 0x7c00);
  assert_int_equal(mbk_half_of(0x1p-25f), 0);
  assert_int_equal(mbk_half_of(0x1.8p-24f), 2);
}

// Checks sizes that both the launcher and the kernels define.
static void test_sizes(void **) {
  assert_int_equal(MBI_VALUES_KEYS, KEYS);
  assert_int_equal(MBI_VALUES_SAMPLE_SHARED, SAMPLE_SHARED);
  assert_int_equal(MBI_VALUES_WINDOW, 2048);
  assert_int_equal(MBI_VALUES_MOST, 256);
  assert_int_equal(MBI_VALUES_EQUAL, CSR_EQUAL);
  assert_int_equal(MBI_VALUES_SINGLE, CSR_SINGLE);
  assert_int_equal(MBI_VALUES_HALF, CSR_HALF);
  assert_int_equal(MBI_VALUES_TABLE, CSR_TABLE);
  assert_int_equal(MBI_VALUES_ROW, CSR_ROW);
  assert_int_equal(MBI_VALUES_COLUMN, CSR_COLUMN);
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(test_clusters), cmocka_unit_test(test_sizes),
                              cmocka_unit_test(test_halves), cmocka_unit_test(test_strangers),
                              cmocka_unit_test(test_generated)};
  return _cmocka_run_group_tests("forms", tests, sizeof tests / sizeof tests[0], nullptr,
                                 simt_runs_report);
}
