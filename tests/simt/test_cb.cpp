// CB-SpMV: products over blocks of every format against the error bound, with and without
// aggregated columns, with strips in one or several parts; launch sizes against the launcher's.
#include "support/internal.h"

#include "simt/cb_bed.h"
#include "support/rules.h"

#define SIMT_FORM f32_p32_b0_host_listed_t256, float, 32, 0, 0, 0, 1, 0, 256
#include "simt/cb_form.h"
#define SIMT_FORM f32_p64_b1_dev_once_t64, float, 64, 1, 0, 1, 0, 1, 64
#include "simt/cb_form.h"
#define SIMT_FORM f32_p32_b1_ones_host_listed_once_t32, float, 32, 1, 1, 0, 1, 1, 32
#include "simt/cb_form.h"
#define SIMT_FORM f32_p64_b0_equal_dev_t128, float, 64, 0, 2, 1, 0, 0, 128
#include "simt/cb_form.h"
#define SIMT_FORM f64_p32_b0_host_t256, double, 32, 0, 0, 0, 0, 0, 256
#include "simt/cb_form.h"
#define SIMT_FORM f64_p64_b1_dev_listed_once_t128, double, 64, 1, 0, 1, 1, 1, 128
#include "simt/cb_form.h"
#define SIMT_FORM f64_p32_b1_ones_dev_t512, double, 32, 1, 1, 1, 0, 1, 512
#include "simt/cb_form.h"
#define SIMT_FORM f64_p64_b0_single_host_listed_t96, double, 64, 0, 3, 0, 1, 0, 96
#include "simt/cb_form.h"

static void check(void **state) {
  const cb_form &f = *(const cb_form *)*state;
  for (uint64_t seed : csr_seeds(cb_forms, &f, test_effort(1, 0))) {
    cb_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(cb_forms, &f), index, m)) {
        return;
      }
      if (((uint64_t)index + seed / 2) % 3 == 0) {
        test_matrix_stretch(&m); // columns of four bytes
      }
      const bool all = f.threads == 256 && m.nnz < 500;
      if (f.value_bytes == 4) {
        cb_check_matrix<float>(f, index, m, seed, all);
      } else {
        cb_check_matrix<double>(f, index, m, seed, all);
      }
    });
  }
}

// ---- The rules of support/rules.h -----------------------------------------------------------

template <class V> static void check_rule(const cb_form &f, rules_case &c, uint64_t seed) {
  cb_bed<V> b(f, (int)seed, c.m, seed);
  simt_array y(b.rows, sizeof(V));
  for (size_t i = 0; i < b.x.count; i++) {
    b.x.template as<V>()[i] = (V)c.x[i];
  }
  for (size_t i = 0; i < b.values.count; i++) {
    b.values.template as<V>()[i] = (V)c.m.values[i];
  }
  for (size_t i = 0; i < b.rows; i++) {
    y.as<V>()[i] = (V)c.y0[i];
  }
  cb_multiply(b, c.alpha, c.beta, y, seed);
  for (size_t i = 0; i < b.rows; i++) {
    if (!rules_same((double)y.as<V>()[i], c.want[i])) {
      fail_msg("%s, %s, seed %llu: y[%zu] is %g, not %g", f.name, c.m.name,
               (unsigned long long)seed, i, (double)y.as<V>()[i], c.want[i]);
    }
  }
}

static void test_rules(void **) {
  const std::vector<int64_t> fills = {0, 9, 300};
  for (const cb_form *f : cb_forms) {
    for (int index = rules_next(-1); index < RULES_COUNT && f->stored == CSR_EACH;
         index = rules_next(index)) {
      for (const int64_t fill : fills) {
        rules_case c;
        rules_make(index, f->value_bytes == 4, fill, f->pattern, 3, &c);
        for (uint64_t seed = 1; seed <= 3; seed++) {
          if (f->value_bytes == 4) {
            check_rule<float>(*f, c, seed);
          } else {
            check_rule<double>(*f, c, seed);
          }
        }
        rules_free(&c);
      }
    }
  }
}

// ---- The launcher ---------------------------------------------------------------------------

static void test_sizes(void **) {
  assert_int_equal(MBI_CB_FIXUP_THREADS, cb_forms[0]->fixup_threads);
  assert_int_equal(MBI_CB_SIDE, 16);
}

int main() {
  const int failed = csr_main(
      "cb", cb_forms, {cmocka_unit_test(test_sizes), cmocka_unit_test(test_rules)}, check);
  merbit_context_destroy(cb_context());
  return failed;
}
