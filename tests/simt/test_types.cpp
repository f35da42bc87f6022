// Complex and bfloat16 products by the kernels that support them: SCAN in both variants, the
// merge path and ROWS, against the error bound in long double. Halves, and floats in f64, are
// among the forms of each kernel's own test.
#include "simt/merge_bed.h"
#include "simt/rows_bed.h"
#include "simt/scan_bed.h"

#define SIMT_FORM scan_c64_p32_b0_host_s8_t64, mbk_c64, 32, 0, 0, 0, 8, 5, 1, 1, 64
#include "simt/scan_form.h"
#define SIMT_FORM scan_c64_p64_b1_conjugate_dev_s4_t128, mbk_c64, 64, 1, 9, 1, 4, 5, 1, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM scan_c128_p32_b1_dev_s4_t64, mbk_c128, 32, 1, 0, 1, 4, 5, 1, 1, 64
#include "simt/scan_form.h"
#define SIMT_FORM                                                                              \
  scan_c128_p64_b0_conjugate_host_s3_t128, mbk_c128, 64, 0, 9, 0, 3, 5, 1, 1, 128
#include "simt/scan_form.h"
#define SIMT_FORM scan_c128_p32_b0_ones_host_s8_t32, mbk_c128, 32, 0, 1, 0, 8, 5, 1, 1, 32
#include "simt/scan_form.h"
#define SIMT_FORM scan_bf16_p32_b0_host_s8_t64, float, 32, 0, 8, 0, 8, 5, 1, 1, 64
#include "simt/scan_form.h"

#define SIMT_WHOLE
#define SIMT_FORM whole_c64_p32_b1_dev_s4_t64, mbk_c64, 32, 1, 0, 1, 4, 5, 1, 1, 64
#include "simt/scan_form.h"
#define SIMT_FORM whole_c128_p64_b0_conjugate_host_s4_t96, mbk_c128, 64, 0, 9, 0, 4, 5, 1, 1, 96
#include "simt/scan_form.h"
#define SIMT_FORM whole_bf16_p32_b0_dev_s8_t96, float, 32, 0, 8, 1, 8, 5, 1, 0, 96
#include "simt/scan_form.h"

#define SIMT_FORM merge_c64_p32_b0_host_s4_r2_t64, mbk_c64, 32, 0, 0, 0, 4, 2, 1, 64
#include "simt/merge_form.h"
#define SIMT_FORM merge_c128_p64_b1_conjugate_dev_s3_r4_t96, mbk_c128, 64, 1, 9, 1, 3, 4, 1, 96
#include "simt/merge_form.h"
#define SIMT_FORM merge_c128_p32_b0_host_s4_r1_t128, mbk_c128, 32, 0, 0, 0, 4, 1, 1, 128
#include "simt/merge_form.h"
#define SIMT_FORM merge_bf16_p32_b1_dev_s8_r3_t64, float, 32, 1, 8, 1, 8, 3, 1, 64
#include "simt/merge_form.h"

#define SIMT_FORM rows_c64_p32_b0_conjugate_host_l4, mbk_c64, 32, 0, 9, 0, 4, 3, 1, 64
#include "simt/rows_form.h"
#define SIMT_FORM rows_c128_p64_b1_dev_l32, mbk_c128, 64, 1, 0, 1, 32, 2, 0, 96
#include "simt/rows_form.h"
#define SIMT_FORM rows_bf16_p32_b0_host_l1, float, 32, 0, 8, 0, 1, 4, 0, 128
#include "simt/rows_form.h"

// ---- The bound ------------------------------------------------------------------------------

static bool adds_x; // the form is a pattern: adds x unchanged

typedef long double real;

struct parts { // of a number, or of the sum of absolute values
  real re, im;
};

template <class V> static parts parts_of(V number) {
  return {number.re, number.im};
}
static parts multiply(parts a, parts b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static parts sizes(parts a, parts b) {
  return {fabsl(a.re * b.re) + fabsl(a.im * b.im), fabsl(a.re * b.im) + fabsl(a.im * b.re)};
}
static bool holds(real y, real sum, real allowed) {
  return isnan(sum) ? isnan(y) : isinf(sum) ? y == sum : fabsl(y - sum) <= allowed;
}

template <class T>
int csr_rows_wrong(const test_matrix *m, double alpha, const mbk_complex<T> *x, double beta,
                   const mbk_complex<T> *y0, const mbk_complex<T> *y) {
  typedef mbk_complex<T> V;
  const bool single = sizeof(T) == 4;
  const real u = single ? 0x1p-24L : 0x1p-53L, eta = single ? 0x1p-149L : 0x1p-1074L;
  const parts a = parts_of(csr_number<V>::of(alpha)), b = parts_of(csr_number<V>::of(beta));
  int wrong = 0;
  for (int64_t row = 0; row < m->rows; row++) {
    const real n = (real)(m->row_ptr[row + 1] - m->row_ptr[row] + 4),
               gamma = n * u / (1 - n * u);
    parts sum = {0, 0}, size = {0, 0}, scaled = {0, 0};
    for (int64_t k = m->row_ptr[row]; alpha != 0 && k < m->row_ptr[row + 1]; k++) {
      const parts value = parts_of(csr_number<V>::of(m->values[k]));
      const parts factor = parts_of(x[m->col_ind[k]]), more = sizes(value, factor);
      const parts product = adds_x ? factor : multiply(value, factor);
      sum = {sum.re + product.re, sum.im + product.im};
      size = {size.re + more.re, size.im + more.im};
    }
    if (alpha != 0) {
      sum = multiply(a, sum);
      scaled = sizes({fabsl(a.re), fabsl(a.im)}, size);
    }
    if (beta != 0) {
      const parts old = parts_of(y0[row]), product = multiply(b, old), more = sizes(b, old);
      sum = {sum.re + product.re, sum.im + product.im};
      scaled = {scaled.re + more.re, scaled.im + more.im};
    }
    const real floor = 2 * n * eta * (1 + fabsl(a.re) + fabsl(a.im));
    if (!holds(y[row].re, sum.re, gamma * scaled.re + floor) ||
        !holds(y[row].im, sum.im, gamma * scaled.im + floor)) {
      if (wrong++ == 0) {
        fprintf(stderr, "%s, alpha %g, beta %g: y[%lld] is (%g, %g), not (%Lg, %Lg)\n", m->name,
                alpha, beta, (long long)row, (double)y[row].re, (double)y[row].im, sum.re,
                sum.im);
      }
    }
  }
  return wrong;
}

// ---- Forms ----------------------------------------------------------------------------------

// Calls check(V(), index, m, seed, all) for the form's type and every matrix; in quick effort
// for a ninth of them, chosen by the seed.
template <class F> static void each(const csr_form &f, size_t position, const F &check) {
  const uint64_t seed = simt_seeds[position % 2 * 2];
  adds_x = f.pattern;
  csr_each_matrix(seed, [&](int index, test_matrix &m) {
    if (((uint64_t)index + position + simt_seeds[2]) % (uint64_t)test_effort(9, 1) != 0) {
      return;
    }
    const bool all = m.nnz < 800;
    if (f.value_bytes == 16) {
      check(mbk_c128(), index, m, seed, all);
    } else if (f.value_bytes == 8) {
      check(mbk_c64(), index, m, seed, all);
    } else {
      check(0.0f, index, m, seed, all);
    }
  });
}

static void test_scan(void **) {
  for (size_t i = 0; i < scan_forms.size(); i++) {
    const scan_form &f = *scan_forms[i];
    each(f, i, [&](auto v, int index, test_matrix &m, uint64_t seed, bool all) {
      scan_check_matrix<decltype(v)>(f, index, m, seed, all);
    });
  }
}

static void test_merge(void **) {
  for (size_t i = 0; i < merge_forms.size(); i++) {
    const merge_form &f = *merge_forms[i];
    each(f, i, [&](auto v, int index, test_matrix &m, uint64_t seed, bool all) {
      merge_check_matrix<decltype(v)>(f, index, m, seed, all);
    });
  }
}

static void test_rows(void **) {
  for (size_t i = 0; i < rows_forms.size(); i++) {
    const rows_form &f = *rows_forms[i];
    each(f, i, [&](auto v, int index, test_matrix &m, uint64_t seed, bool all) {
      rows_check_matrix<decltype(v)>(f, index, m, seed, all);
    });
  }
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(test_scan), cmocka_unit_test(test_merge),
                              cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
