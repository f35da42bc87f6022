// The kernels over a plan's device arrays: the check finds every planted fault and nothing
// else, the narrowing keeps every column.
#include "jit/device.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

extern "C" {
#include <cmocka.h>
}

#include "simt/seeds.h"
#include "support/matrices.h"

#define MBK_ROW_PTR mbk_i32
#define MBK_COLUMN mbk_i32
#define MBK_BASE 0
namespace narrow_base0 {
#include "spmv/arrays.cu"
}
#include "simt/undefine.h"

#define MBK_ROW_PTR mbk_i64
#define MBK_COLUMN mbk_i64
#define MBK_BASE 1
namespace wide_base1 {
#include "spmv/arrays.cu"
}
#include "simt/undefine.h"

static std::vector<uint64_t> seeds;
static unsigned runs;

struct narrow {
  typedef mbk_i32 row_ptr, column;
  static constexpr int base = 0;
  static void check(const row_ptr *p, const column *c, mbk_i64 m, mbk_i64 n, mbk_i64 nnz,
                    mbk_u32 *bad) {
    narrow_base0::mbk_arrays_check(p, c, m, n, nnz, bad);
  }
  static void convert(const column *wide, mbk_i64 nnz, mbk_i32 *out) {
    narrow_base0::mbk_arrays_narrow(wide, nnz, out);
  }
};

struct wide {
  typedef mbk_i64 row_ptr, column;
  static constexpr int base = 1;
  static void check(const row_ptr *p, const column *c, mbk_i64 m, mbk_i64 n, mbk_i64 nnz,
                    mbk_u32 *bad) {
    wide_base1::mbk_arrays_check(p, c, m, n, nnz, bad);
  }
  static void convert(const column *wide, mbk_i64 nnz, mbk_i32 *out) {
    wide_base1::mbk_arrays_narrow(wide, nnz, out);
  }
};

template <class K> struct arrays {
  std::vector<typename K::row_ptr> row_ptr;
  std::vector<typename K::column> col_ind;
  mbk_i64 cols;

  explicit arrays(const test_matrix &m) : cols(m.cols) {
    for (int64_t i = 0; i <= m.rows; i++) {
      row_ptr.push_back((typename K::row_ptr)(m.row_ptr[i] + K::base));
    }
    for (int64_t k = 0; k < m.nnz; k++) {
      col_ind.push_back(m.col_ind[k] + K::base);
    }
    row_ptr.shrink_to_fit(); // so that AddressSanitizer sees the first entry beyond
    col_ind.shrink_to_fit();
  }

  // What the check says, on a grid so small that threads stride and on one with idle threads.
  void expect(mbk_u32 expected, const char *name) const {
    for (uint64_t seed : seeds) {
      for (unsigned grid : {1u, 5u}) {
        mbk_u32 bad = 0;
        simt_launch("mbk_arrays_check", grid, 256, 0, seed, [&] {
          K::check(row_ptr.data(), col_ind.data(), (mbk_i64)row_ptr.size() - 1, cols,
                   (mbk_i64)col_ind.size(), &bad);
        });
        runs++;
        if (bad != expected) {
          fail_msg("%s: the check says %u, not %u", name, bad, expected);
        }
      }
    }
  }
};

template <class K> static void test_check(void **) {
  for (int index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    test_matrix_make(index, seeds[0], &m);
    const arrays<K> good(m);
    const size_t rows = (size_t)m.rows, nnz = (size_t)m.nnz;
    good.expect(0, m.name);
    for (size_t place : {(size_t)0, nnz / 2, nnz - 1}) {
      arrays<K> bad = good;
      if (nnz > 0) {
        bad.col_ind[place] = (typename K::column)(m.cols + K::base);
        bad.expect(1, "a column beyond the last");
        bad.col_ind[place] = K::base - 1;
        bad.expect(1, "a column before the first");
      }
      if (nnz > 70000) {
        break; // enough of the large ones
      }
    }
    arrays<K> bad = good;
    bad.row_ptr[0]++;
    bad.expect(1, "a wrong first offset");
    bad = good;
    bad.row_ptr[rows]++;
    bad.expect(1, "a wrong last offset");
    if (rows > 2) {
      bad = good;
      bad.row_ptr[rows / 2] = bad.row_ptr[rows / 2 + 1] + 1;
      bad.expect(1, "an offset that falls");
    }
    test_matrix_free(&m);
  }
}

template <class K> static void test_narrow(void **) {
  for (uint64_t seed : seeds) {
    for (size_t nnz : {0, 1, 255, 256, 257, 3000}) {
      std::vector<typename K::column> wide(nnz);
      std::vector<mbk_i32> narrow(nnz, -1);
      for (size_t k = 0; k < nnz; k++) {
        wide[k] = (typename K::column)(INT32_MAX - k * 7);
      }
      simt_launch("mbk_arrays_narrow", 3, 256, 0, seed,
                  [&] { K::convert(wide.data(), (mbk_i64)nnz, narrow.data()); });
      runs++;
      for (size_t k = 0; k < nnz; k++) {
        assert_true(narrow[k] == wide[k]);
      }
    }
  }
}

static int report(void **) {
  printf("%u launches, no error\n", runs);
  return 0;
}

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_check<narrow>),
      cmocka_unit_test(test_check<wide>),
      cmocka_unit_test(test_narrow<narrow>),
      cmocka_unit_test(test_narrow<wide>),
  };
  seeds = simt_seeds();
  return cmocka_run_group_tests(tests, nullptr, report);
}
