// The rules of support/rules.h and the identities of support/identities.h for the MERBIT
// kernels on the CPU.
#include "support/internal.h" // for transposes

#include "simt/merbit_product.h"
#include "support/identities.h"
#include "support/rules.h"

#define SIMT_FORM f32_s14_o32_t64_host, float, 14, 32, 64, 32, 0, 32, 0, 0, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f64_s7_o32_t128_b1_dev, double, 7, 32, 128, 64, 1, 64, 0, 1, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f64_s1_o8_t32_host, double, 1, 8, 32, 32, 0, 32, 0, 0, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s17_o16_t64_b1_ones_dev, float, 17, 16, 64, 32, 1, 32, 1, 1, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s14_o32_t64_dual, float, 14, 32, 64, 32, 0, 32, 0, 0, 1
#include "simt/merbit_form.h"
#define SIMT_FORM f64_s5_o8_t32_b1_dual, double, 5, 8, 32, 64, 1, 32, 0, 0, 1
#include "simt/merbit_form.h"

static unsigned long long rows_checked;

// ---- The rules ------------------------------------------------------------------------------

template <class V> static void set(simt_array &array, const double *from, size_t count) {
  for (size_t i = 0; i < count; i++) {
    array.as<V>()[i] = (V)from[i];
  }
}

// Multiplies; y0 is the old y, y the result.
template <class V>
static void multiply(merbit_bed<V> &b, double alpha, double beta, simt_array &y, uint64_t seed) {
  if (!b.f.dual) {
    merbit_multiply(b, alpha, beta, y, seed);
    return;
  }
  const uint64_t row_bits = ~((uint64_t)1 << (b.f.tile_bytes * 8 - 1));
  simt_array z(b.rows, sizeof(V), 0xff);
  for (uint64_t block = 0; block < b.blocks; block++) {
    y.as<V>()[b.tile_y.load(block * b.groups) & row_bits] = 0;
  }
  for (uint64_t call = 0; call < 3; call++) { // the last one writes y
    simt_run(b.f.product, b.run(seed + call), merbit_product_size(b), b.tile_x.get(),
             b.tile_y.get(), b.lane_desc.get(), b.col_ind.get(), b.values.get(), b.x.get(),
             call % 2 ? z.get() : y.get(), b.path, b.tiles, call % 2 ? y.get() : z.get(), b.rows);
  }
}

template <class V> static void check(const merbit_form &f, rules_case &c, uint64_t seed) {
  merbit_bed<V> b(f, 0, c.m);
  simt_array y(b.rows, sizeof(V));
  set<V>(b.x, c.x, b.x.count);
  set<V>(b.values, c.m.values, b.values.count);
  set<V>(y, c.y0, b.rows);
  merbit_build(b, seed);
  multiply(b, c.alpha, c.beta, y, seed);
  if (rules_wrong(&c, y.get(), sizeof(V) == 4, f.name) != 0) {
    fail_msg("%s, seed %llu, breaks the rules", f.name, (unsigned long long)seed);
  }
  rows_checked += b.rows;
}

static void rules(void **state) {
  const merbit_form &f = *(const merbit_form *)*state;
  const int64_t tile = (int64_t)(f.omega * f.sigma), block = tile * (f.threads / f.omega);
  // Rows within a lane, over lanes, over tiles and over blocks, with small ones over more than
  // 24.
  const int64_t fills[] = {0, (int64_t)f.sigma + 2, tile * 3 / 2,
                           block < 100 ? 27 * block : 2 * block};
  for (int index = rules_next(-1); index < RULES_COUNT; index = rules_next(index)) {
    if (f.dual && (rules_f64[index].alpha != 1 || rules_f64[index].beta != 0)) {
      continue;
    }
    for (int64_t fill : fills) {
      rules_case c;
      rules_make(index, f.value_bytes == 4, fill, f.pattern, 3, &c);
      for (uint64_t seed : simt_seeds) {
        if (f.value_bytes == 4) {
          check<float>(f, c, seed);
        } else {
          check<double>(f, c, seed);
        }
      }
      rules_free(&c);
    }
  }
}

// ---- The identities -------------------------------------------------------------------------

template <class V>
static void multiply_once(void *user, const test_matrix *m, int, double alpha, const double *x,
                          double beta, double *y) {
  test_matrix copy = *m;
  merbit_bed<V> b(*(const merbit_form *)user, 0, copy);
  simt_array out(b.rows, sizeof(V));
  if (b.rows == 0) { // the plan launches nothing
    return;
  }
  set<V>(b.x, x, b.x.count);
  set<V>(b.values, m->values, b.values.count);
  set<V>(out, y, b.rows);
  merbit_build(b, simt_seeds[0]);
  multiply(b, alpha, beta, out, simt_seeds[0]);
  for (uint64_t row = 0; row < b.rows; row++) {
    y[row] = (double)out.as<V>()[row];
  }
}

static void identities(void **state) {
  const merbit_form &f = *(const merbit_form *)*state;
  merbit_context_desc desc = {};
  identities_bed of = {};
  desc.side = MERBIT_SIDE_CPU;
  assert_int_equal(merbit_context_create(&desc, &of.context, nullptr), MERBIT_OK);
  of.multiply = f.value_bytes == 4 ? multiply_once<float> : multiply_once<double>;
  of.user = (void *)&f;
  of.single = f.value_bytes == 4;
  for (int index = 0; index < test_matrix_count(); index += 3) {
    test_matrix m;
    test_matrix_make(index, simt_seeds.back(), &m);
    if (m.rows + m.nnz + m.cols < 5000) {
      identities_check(&of, &m, simt_seeds.back());
    }
    test_matrix_free(&m);
  }
  merbit_context_destroy(of.context);
  printf("%ld components within what the bound allows\n", of.checked);
}

static int report(void **state) {
  printf("%d rules, %llu rows of y, each what the table says\n", (int)RULES_COUNT, rows_checked);
  return simt_runs_report(state);
}

int main() {
  std::vector<std::string> names;
  std::vector<CMUnitTest> tests;
  for (const merbit_form *form : merbit_forms) {
    names.push_back("rules of " + std::string(form->name));
    names.push_back("identities of " + std::string(form->name));
  }
  for (size_t i = 0; i < merbit_forms.size(); i++) {
    void *const form = (void *)merbit_forms[i];
    tests.push_back({names[2 * i].c_str(), rules, nullptr, nullptr, form});
    if (!merbit_forms[i]->pattern && !merbit_forms[i]->dual && i != 1) {
      tests.push_back({names[2 * i + 1].c_str(), identities, nullptr, nullptr, form});
    }
  }
  return _cmocka_run_group_tests("rules", tests.data(), tests.size(), nullptr, report);
}
