// Products over semirings by every method that supports them, bit for bit against the row loop
// of the manual: min, max and or do not depend on the order.
#include "simt/merge_bed.h"
#include "simt/rows_bed.h"
#include "simt/scan_bed.h"

#define SIMT_SEMIRING 1
#define SIMT_FORM minplus_scan_f64_host, double, 32, 0, 0, 0, 8, 5, 1, 0, 256
#include "simt/scan_form.h"
#define SIMT_FORM minplus_scan_f32_dev, float, 64, 1, 0, 1, 4, 5, 1, 1, 128
#include "simt/scan_form.h"
#define SIMT_FORM minplus_merge_f64_ones_dev, double, 64, 1, 1, 1, 4, 3, 0, 128
#include "simt/merge_form.h"
#define SIMT_FORM minplus_rows_f32_equal_host, float, 32, 0, 2, 0, 4, 2, 0, 64
#include "simt/rows_form.h"
#define SIMT_FORM minplus_rows_f64_single_dev, double, 64, 1, 3, 1, 32, 4, 1, 128
#include "simt/rows_form.h"
#undef SIMT_SEMIRING

#define SIMT_SEMIRING 2
#define SIMT_FORM maxtimes_scan_f32_equal_host, float, 32, 1, 2, 0, 8, 5, 1, 1, 64
#include "simt/scan_form.h"
#define SIMT_FORM maxtimes_merge_f32_host, float, 32, 0, 0, 0, 8, 2, 1, 64
#include "simt/merge_form.h"
#define SIMT_FORM maxtimes_rows_f64_dev, double, 32, 1, 0, 1, 8, 3, 0, 256
#include "simt/rows_form.h"
#undef SIMT_SEMIRING

#define SIMT_SEMIRING 3
#define SIMT_FORM orand_scan_f64_ones_dev, double, 64, 0, 1, 1, 4, 5, 1, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM orand_merge_f64_host, double, 32, 1, 0, 0, 4, 1, 0, 256
#include "simt/merge_form.h"
#define SIMT_FORM orand_rows_f32_ones_host, float, 64, 0, 1, 0, 2, 8, 1, 96
#include "simt/rows_form.h"
#undef SIMT_SEMIRING

// The greatest a - x: its zero is unusual, and its multiplication does not commute.
#define MBK_OPERATOR_ZERO (-mbk_number(0x7ff0000000000000ull))
#define MBK_OPERATOR_ADD mbk_max(in_a, in_b)
#define MBK_OPERATOR_MULTIPLY (in_a - in_x)
#define SIMT_SEMIRING 4
#define SIMT_FORM custom_scan_f64_dev, double, 32, 1, 0, 1, 8, 5, 1, 1, 96
#include "simt/scan_form.h"
#define SIMT_FORM custom_merge_f32_ones_host, float, 64, 0, 1, 0, 4, 4, 0, 96
#include "simt/merge_form.h"
#define SIMT_FORM custom_rows_f64_equal_host, double, 32, 0, 2, 0, 16, 2, 0, 128
#include "simt/rows_form.h"

// Blocks that take whole rows.
#define SIMT_WHOLE
#define SIMT_FORM custom_whole_f32_host, float, 32, 0, 0, 0, 4, 5, 1, 1, 128
#include "simt/scan_form.h"
#undef SIMT_SEMIRING
#define SIMT_SEMIRING 1
#define SIMT_FORM minplus_whole_f64_ones_dev, double, 64, 1, 1, 1, 4, 5, 1, 0, 96
#include "simt/scan_form.h"
#undef SIMT_SEMIRING
#define SIMT_SEMIRING 2
#define SIMT_FORM maxtimes_whole_f64_host, double, 32, 0, 0, 0, 2, 5, 1, 1, 64
#include "simt/scan_form.h"
#undef SIMT_SEMIRING

// ---- The row loop ---------------------------------------------------------------------------

template <class V> V naive_add(int semiring, V a, V b) {
  if (semiring == 3) {
    return a != 0 || b != 0 ? 1 : 0;
  }
  if (isnan(a) || isnan(b)) {
    return (V)NAN;
  }
  return semiring == 1 ? std::min(a, b) : std::max(a, b);
}

template <class V> V naive_multiply(int semiring, V a, V x) {
  return semiring == 1   ? a + x
         : semiring == 2 ? a * x
         : semiring == 3 ? (V)(a != 0 && x != 0)
                         : a - x;
}

// Returns a row by the manual's loop. Scalars that were not given are NaN.
template <class V>
V naive_row(const csr_form &f, const test_matrix &m, int64_t row, V alpha, const V *x, V beta,
            V old) {
  const V zero = (V)f.zero;
  V sum = zero;
  for (int64_t k = m.row_ptr[row]; alpha != zero && k < m.row_ptr[row + 1]; k++) {
    sum =
        naive_add(f.semiring, sum, naive_multiply(f.semiring, (V)m.values[k], x[m.col_ind[k]]));
  }
  if (!isnan(alpha) && alpha != zero) {
    sum = naive_multiply(f.semiring, alpha, sum);
  }
  if (!isnan(beta) && beta != zero) {
    sum = naive_add(f.semiring, sum, naive_multiply(f.semiring, beta, old));
  }
  return f.semiring < 3 && sum == 0 ? (V)0 : sum; // min and max return +0
}

// ---- Products -------------------------------------------------------------------------------

// Rounds x, and the values if each entry has its own, to halves: many are then equal, and there
// are zeros of both signs.
template <class Bed> void coarsen(Bed &b) {
  typedef typename Bed::value V;
  for (size_t i = 0; i < b.x.count; i++) {
    b.x.template as<V>()[i] = (V)rint(2 * (double)b.x.template as<V>()[i]) / 2;
  }
  for (size_t i = 0; b.f.stored == CSR_EACH && i < b.values.count; i++) {
    b.m.values[i] = rint(2 * b.m.values[i]) / 2;
    b.values.template as<V>()[i] = (V)b.m.values[i];
  }
}

template <class Bed, class F>
void check_pair(Bed &b, int pair, uint64_t seed, const F &multiply) {
  typedef typename Bed::value V;
  const double scalars[] = {NAN, b.f.zero, 0.5, -2, 1};
  const double alpha = scalars[pair % 5], beta = scalars[pair / 5 % 5];
  const bool reads = !isnan(beta) && beta != b.f.zero;
  uint64_t state = seed * 1000 + (uint64_t)b.index;
  simt_array y0(b.rows, sizeof(V)), y(b.rows, sizeof(V));
  for (uint64_t i = 0; i < b.rows; i++) {
    const double number = test_uniform(&state);
    y0.as<V>()[i] = reads ? (V)(i % 4 ? number : rint(number)) : (V)NAN;
  }
  b.fill(state, (csr_data)((uint64_t)(pair + b.index) % 4));
  if ((pair + b.index) % 3 != 0) {
    coarsen(b);
  }
  y.copy(y0);
  multiply(b, alpha, beta, y, seed);
  for (uint64_t i = 0; i < b.rows; i++) {
    const V got = y.as<V>()[i], want = naive_row(b.f, b.m, (int64_t)i, (V)alpha,
                                                 b.x.template as<V>(), (V)beta, y0.as<V>()[i]);
    // Custom operators may return either zero.
    if (memcmp(&got, &want, sizeof got) != 0 && !(isnan(got) && isnan(want)) &&
        !(b.f.semiring == 4 && got == 0 && want == 0)) {
      fail_msg("%s on %s, alpha %g, beta %g, seed %llu: y[%llu] is %a, not %a", b.f.name,
               b.m.name, alpha, beta, (unsigned long long)seed, (unsigned long long)i,
               (double)got, (double)want);
    }
  }
}

// Checks the 25 pairs of alpha and beta on small matrices, else two that change with the
// matrix.
template <class Bed, class F> void check_pairs(Bed &b, uint64_t seed, const F &multiply) {
  const int turn = b.index * 7 + (int)(seed % 25);
  const bool all = b.nnz < 300 && b.index % 4 == 0;
  for (int pair = 0; pair < 25; pair++) {
    if (all || pair == turn % 25 || pair == (turn + 12) % 25) {
      check_pair(b, pair, seed + (uint64_t)pair % 2, multiply);
    }
  }
}

template <class V>
void check_scan(const scan_form &f, int index, test_matrix &m, uint64_t seed) {
  if (scan_depth(m, f.pack) <= f.depth && (m.nnz > 0 || !f.whole)) {
    scan_bed<V> b(f, index, m);
    scan_build(b, seed);
    check_pairs(b, seed, scan_multiply<V>);
  }
}
template <class V>
void check_merge(const merge_form &f, int index, test_matrix &m, uint64_t seed) {
  merge_bed<V> b(f, index, m);
  check_pairs(b, seed, merge_multiply<V>);
}
template <class V>
void check_rows(const rows_form &f, int index, test_matrix &m, uint64_t seed) {
  rows_bed<V> b(f, index, m);
  check_pairs(b, seed, rows_multiply<V>);
}

// Runs each form on a third of the matrices in quick effort, and on rows over very many chunks.
template <class Form, class F>
void check_forms(const std::vector<const Form *> &forms, const F &check) {
  const int step = test_effort(3, 1);
  int position = 0;
  for (const Form *f : forms) {
    const uint64_t seed = simt_seeds[(size_t)(2 * position) % simt_seeds.size()];
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if ((index + position) % step == 0 && m.rows * 32 < test_effort(100000, INT32_MAX)) {
        check(*f, index, m, seed);
      }
    });
    position++;
  }
}

static void test_scan(void **) {
  check_forms(scan_forms, [](const scan_form &f, int index, test_matrix &m, uint64_t seed) {
    f.value_bytes == 4 ? check_scan<float>(f, index, m, seed)
                       : check_scan<double>(f, index, m, seed);
  });
}
static void test_merge(void **) {
  check_forms(merge_forms, [](const merge_form &f, int index, test_matrix &m, uint64_t seed) {
    f.value_bytes == 4 ? check_merge<float>(f, index, m, seed)
                       : check_merge<double>(f, index, m, seed);
  });
}
static void test_rows(void **) {
  check_forms(rows_forms, [](const rows_form &f, int index, test_matrix &m, uint64_t seed) {
    f.value_bytes == 4 ? check_rows<float>(f, index, m, seed)
                       : check_rows<double>(f, index, m, seed);
  });
}

// Rows over up to 1,025 chunks, which a lane, a warp or a block of the fix-up adds up.
static void test_long_rows(void **) {
  for (const merge_form *f : merge_forms) {
    const auto cuts = merge_cuts((int64_t)merge_chunk(*f));
    test_matrix m;
    if (merge_chunk(*f) > 500 && test_effort(1, 0)) {
      continue;
    }
    merge_make(cuts.back().first, cuts.back().second, &m);
    f->value_bytes == 4 ? check_merge<float>(*f, 1, m, 3) : check_merge<double>(*f, 1, m, 3);
    test_matrix_free(&m);
  }
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(test_scan), cmocka_unit_test(test_merge),
                              cmocka_unit_test(test_rows), cmocka_unit_test(test_long_rows)};
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
