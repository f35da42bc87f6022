// The kernels over a plan's device arrays: the check finds every planted fault and nothing
// else, the conversion to 32 bits keeps every column, and any change of an entry changes the
// hash.
#include "jit/device.cuh"
#include "simt/runs.h"
#include "support/matrices.h"

struct arrays_form {
  const char *name;
  unsigned row_ptr_bytes, column_bytes, base;
  simt_kernel check, narrow, hash;
};

#define FORM(space)                                                                            \
  {                                                                                            \
#space, sizeof(MBK_ROW_PTR), sizeof(MBK_COLUMN), MBK_BASE,                                 \
        SIMT_KERNEL(space::mbk_csr_check), SIMT_KERNEL(space::mbk_csr_narrow),                 \
        SIMT_KERNEL(space::mbk_csr_hash)                                                       \
  }

#define MBK_ROW_PTR mbk_i32
#define MBK_COLUMN mbk_i32
#define MBK_BASE 0
namespace offsets32_columns32_base0 {
#include "spmv/shared/csr_check.cu"
#include "spmv/shared/csr_hash.cu"
static const arrays_form form = FORM(offsets32_columns32_base0);
} // namespace offsets32_columns32_base0
#undef MBK_BASE
#define MBK_BASE 1
namespace offsets32_columns32_base1 {
#include "spmv/shared/csr_check.cu"
#include "spmv/shared/csr_hash.cu"
static const arrays_form form = FORM(offsets32_columns32_base1);
} // namespace offsets32_columns32_base1
#include "simt/undefine.h"

#define MBK_ROW_PTR mbk_i64
#define MBK_COLUMN mbk_i32
#define MBK_BASE 0
namespace offsets64_columns32_base0 {
#include "spmv/shared/csr_check.cu"
#include "spmv/shared/csr_hash.cu"
static const arrays_form form = FORM(offsets64_columns32_base0);
} // namespace offsets64_columns32_base0
#undef MBK_BASE
#define MBK_BASE 1
namespace offsets64_columns32_base1 {
#include "spmv/shared/csr_check.cu"
#include "spmv/shared/csr_hash.cu"
static const arrays_form form = FORM(offsets64_columns32_base1);
} // namespace offsets64_columns32_base1
#include "simt/undefine.h"

#define MBK_ROW_PTR mbk_i32
#define MBK_COLUMN mbk_i64
#define MBK_BASE 0
namespace offsets32_columns64_base0 {
#include "spmv/shared/csr_check.cu"
#include "spmv/shared/csr_hash.cu"
static const arrays_form form = FORM(offsets32_columns64_base0);
} // namespace offsets32_columns64_base0
#undef MBK_BASE
#define MBK_BASE 1
namespace offsets32_columns64_base1 {
#include "spmv/shared/csr_check.cu"
#include "spmv/shared/csr_hash.cu"
static const arrays_form form = FORM(offsets32_columns64_base1);
} // namespace offsets32_columns64_base1
#include "simt/undefine.h"

#define MBK_ROW_PTR mbk_i64
#define MBK_COLUMN mbk_i64
#define MBK_BASE 0
namespace offsets64_columns64_base0 {
#include "spmv/shared/csr_check.cu"
#include "spmv/shared/csr_hash.cu"
static const arrays_form form = FORM(offsets64_columns64_base0);
} // namespace offsets64_columns64_base0
#undef MBK_BASE
#define MBK_BASE 1
namespace offsets64_columns64_base1 {
#include "spmv/shared/csr_check.cu"
#include "spmv/shared/csr_hash.cu"
static const arrays_form form = FORM(offsets64_columns64_base1);
} // namespace offsets64_columns64_base1
#include "simt/undefine.h"

static const arrays_form forms[] = {
    offsets32_columns32_base0::form, offsets32_columns32_base1::form,
    offsets64_columns32_base0::form, offsets64_columns32_base1::form,
    offsets32_columns64_base0::form, offsets32_columns64_base1::form,
    offsets64_columns64_base0::form, offsets64_columns64_base1::form,
};

struct arrays {
  arrays(const arrays_form &f, const test_matrix &m)
      : f(f), m(m), row_ptr((size_t)m.rows + 1, f.row_ptr_bytes),
        col_ind((size_t)m.nnz, f.column_bytes) {
    for (size_t i = 0; i < row_ptr.count; i++) {
      row_ptr.store(i, (uint64_t)m.row_ptr[i] + f.base);
    }
    for (size_t k = 0; k < col_ind.count; k++) {
      col_ind.store(k, (uint64_t)m.col_ind[k] + f.base);
    }
  }

  // Expects the check's answer on a grid so small that threads stride, or so large that some
  // are idle.
  void expect(uint64_t seed, mbk_u32 expected, const char *what) const {
    mbk_u32 said = 0, *const bad = &said;
    simt_run(f.check, {f.name, m.name, seed}, {seed % 2 ? 1u : 5u, 256, 0}, row_ptr.get(),
             col_ind.get(), m.rows, m.cols, m.nnz, bad);
    if (said != expected) {
      fail_msg("%s, %s, %s: the check says %u", f.name, m.name, what, said);
    }
  }

  // Runs the check with one entry set to `value`, then restores it.
  void plant(simt_array &array, size_t place, uint64_t value, uint64_t seed,
             const char *what) const {
    const uint64_t before = array.load(place);
    array.store(place, value);
    expect(seed, 1, what);
    array.store(place, before);
  }

  const arrays_form &f;
  const test_matrix &m;
  simt_array row_ptr, col_ind;
};

static void check(const arrays_form &f, const test_matrix &m, uint64_t seed) {
  arrays a(f, m);
  uint64_t state = seed;
  const size_t rows = (size_t)m.rows, nnz = (size_t)m.nnz;
  a.expect(seed, 0, "sound");
  a.expect(seed + 1, 0, "sound");
  if (nnz > 0) {
    const size_t places[] = {0, (size_t)test_below(&state, m.nnz), nnz - 1};
    const size_t place = places[seed / 2 % 3];
    a.plant(a.col_ind, place, (uint64_t)m.cols + f.base, seed, "a column beyond the last");
    a.plant(a.col_ind, nnz - 1 - place, (uint64_t)f.base - 1, seed + 1,
            "a column before the first");
  }
  a.plant(a.row_ptr, 0, (uint64_t)f.base + 1, seed, "a wrong first offset");
  a.plant(a.row_ptr, rows, (uint64_t)m.nnz + f.base + 1, seed + 1, "a wrong last offset");
  if (rows > 1) {
    const size_t place = 1 + (size_t)test_below(&state, m.rows - 1);
    a.plant(a.row_ptr, place, (uint64_t)m.row_ptr[place + 1] + f.base + 1, seed,
            "an offset above the next");
    a.plant(a.row_ptr, place, (uint64_t)m.row_ptr[place - 1] + f.base - 1, seed + 1,
            "an offset below the one before");
  }
}

static void narrow(const arrays_form &f, const test_matrix &m, uint64_t seed) {
  const arrays a(f, m);
  const simt_array out((size_t)m.nnz, 4, 0xff);
  simt_run(f.narrow, {f.name, m.name, seed}, {3, 256, 0}, a.col_ind.get(), m.nnz, out.get());
  for (size_t k = 0; k < out.count; k++) {
    assert_int_equal(out.load(k), m.col_ind[k] + (int)f.base);
  }
}

static mbk_u64 hash_of(const arrays &a, unsigned grid, uint64_t seed) {
  mbk_u64 sum = 0, *const at = &sum;
  simt_run(a.f.hash, {a.f.name, a.m.name, seed}, {grid, 256, 0}, a.row_ptr.get(),
           a.col_ind.get(), (mbk_u64)a.m.rows, (mbk_u64)a.m.nnz, at);
  return sum;
}

// Checks that the hash is the same for any grid and base, and differs for another structure.
static void hash(const arrays_form &f, const test_matrix &m, uint64_t seed) {
  static std::map<std::pair<std::string, uint64_t>, mbk_u64> known;
  arrays a(f, m);
  const mbk_u64 sum = hash_of(a, 1, seed);
  const auto first = known.insert({{m.name, seed}, sum}).first;
  assert_true(first->second == sum);
  assert_true(hash_of(a, 3, seed + 1) == sum);
  if (m.nnz > 1) {
    uint64_t state = seed;
    const size_t k = (size_t)test_below(&state, m.nnz), other = (k + 1) % (size_t)m.nnz;
    const uint64_t column = a.col_ind.load(k), next = a.col_ind.load(other);
    a.col_ind.store(k, column + 1);
    assert_true(hash_of(a, 2, seed) != sum);
    a.col_ind.store(k, next);
    a.col_ind.store(other, column);
    assert_true((hash_of(a, 2, seed) != sum) == (column != next));
    a.col_ind.store(k, column);
    a.col_ind.store(other, next);
  }
  a.row_ptr.store(0, a.row_ptr.load(0) + 1);
  assert_true(hash_of(a, 2, seed) != sum);
}

static void test_form(void **state) {
  const arrays_form &f = *(const arrays_form *)*state;
  for (size_t s = 0; s < simt_few_seeds.size(); s += 2) {
    const uint64_t seed = simt_few_seeds[s];
    for (int index = 0; index < test_matrix_count(); index++) {
      test_matrix m;
      test_matrix_make(index, seed, &m);
      check(f, m, seed);
      narrow(f, m, seed);
      narrow(f, m, seed + 1);
      if (f.column_bytes == sizeof(mbk_i32)) { // the hash reads 32-bit columns
        hash(f, m, seed);
      }
      test_matrix_free(&m);
    }
  }
}

// Columns up to the largest that 32 bits hold.
static void test_narrow_extremes(void **) {
  for (const arrays_form &f : forms) {
    simt_array wide(600, f.column_bytes), out(600, 4);
    const mbk_i64 count = 600;
    for (size_t k = 0; k < wide.count; k++) {
      wide.store(k, INT32_MAX - k * 7);
    }
    simt_run(f.narrow, {f.name, "extremes", 1}, {2, 256, 0}, wide.get(), count, out.get());
    for (size_t k = 0; k < out.count; k++) {
      assert_int_equal(out.load(k), INT32_MAX - k * 7);
    }
  }
}

int main() {
  std::vector<CMUnitTest> tests = {cmocka_unit_test(test_narrow_extremes)};
  for (const arrays_form &f : forms) {
    tests.push_back({f.name, test_form, nullptr, nullptr, (void *)&f});
  }
  return _cmocka_run_group_tests("device_csr", tests.data(), tests.size(), nullptr,
                                 simt_runs_report);
}
