// Several vectors at once: every vector is checked against the error bound in forms of each
// width, row-major and column-major, and gaps stay unchanged.
#include "simt/many_bed.h"
#include "support/rules.h"

#define SIMT_FORM f32_k2_rows, float, 32, 0, 0, 0, 2, 2, 2, 1, 1, 4, 0, 0, 0, 256
#include "simt/many_form.h"
#define SIMT_FORM f32_k3_columns, float, 64, 1, 0, 1, 3, 4, 4, 1, 1, 4, 1, 1, 1, 64
#include "simt/many_form.h"
#define SIMT_FORM f32_k5_rows, float, 32, 1, 0, 1, 5, 5, 1, 8, 2, 4, 0, 1, 0, 128
#include "simt/many_form.h"
#define SIMT_FORM f32_k8_rows, float, 32, 0, 0, 0, 8, 8, 4, 2, 1, 4, 0, 0, 1, 256
#include "simt/many_form.h"
#define SIMT_FORM f32_k8_rows_u8_ones, float, 64, 0, 1, 1, 8, 8, 4, 2, 2, 8, 0, 1, 0, 128
#include "simt/many_form.h"
#define SIMT_FORM f32_k7_columns, float, 32, 0, 0, 0, 7, 8, 4, 2, 1, 8, 1, 0, 0, 96
#include "simt/many_form.h"
#define SIMT_FORM f32_k16_rows, float, 32, 1, 0, 0, 16, 16, 4, 4, 1, 4, 0, 1, 1, 32
#include "simt/many_form.h"
#define SIMT_FORM f32_k33_columns, float, 32, 0, 1, 1, 33, 36, 4, 16, 4, 4, 1, 1, 0, 256
#include "simt/many_form.h"
#define SIMT_FORM f32_k64_rows, float, 64, 1, 0, 0, 64, 64, 4, 16, 4, 4, 0, 0, 1, 64
#include "simt/many_form.h"
#define SIMT_FORM f32_k33_rows, float, 32, 0, 0, 1, 33, 33, 1, 32, 8, 4, 0, 1, 0, 64
#include "simt/many_form.h"
#define SIMT_FORM f64_k2_columns, double, 32, 0, 0, 0, 2, 2, 2, 1, 1, 4, 1, 1, 0, 256
#include "simt/many_form.h"
#define SIMT_FORM f64_k4_rows, double, 64, 1, 0, 1, 4, 4, 2, 2, 1, 4, 0, 0, 1, 128
#include "simt/many_form.h"
#define SIMT_FORM f64_k8_rows, double, 32, 0, 0, 0, 8, 8, 2, 4, 1, 4, 0, 1, 0, 256
#include "simt/many_form.h"
#define SIMT_FORM f64_k8_columns_u8, double, 32, 1, 0, 1, 8, 8, 2, 4, 4, 8, 1, 0, 1, 64
#include "simt/many_form.h"
#define SIMT_FORM f64_k17_rows, double, 32, 0, 1, 0, 17, 17, 1, 32, 8, 4, 0, 1, 1, 96
#include "simt/many_form.h"
#define SIMT_FORM f64_k32_rows, double, 32, 1, 0, 0, 32, 32, 2, 16, 4, 8, 0, 1, 0, 32
#include "simt/many_form.h"
#define SIMT_FORM f64_k64_columns, double, 64, 0, 0, 0, 64, 64, 2, 32, 8, 4, 1, 1, 0, 64
#include "simt/many_form.h"
// Forms of rows.cu, for rows of similar length, which few of these matrices have.
#define SIMT_ROOM 128
#define SIMT_FORM rows_f32_k8, float, 32, 0, 0, 0, 8, 8, 4, 2, 1, 4, 0, 1, 1, 256
#include "simt/many_form.h"
#define SIMT_ROOM 128
#define SIMT_FORM rows_f32_k3_columns, float, 64, 1, 0, 1, 3, 4, 4, 1, 1, 8, 1, 1, 0, 128
#include "simt/many_form.h"
#define SIMT_ROOM 256
#define SIMT_FORM rows_f64_k8_ones, double, 64, 1, 1, 0, 8, 8, 2, 4, 1, 4, 0, 1, 0, 64
#include "simt/many_form.h"
#define SIMT_ROOM 128
#define SIMT_FORM rows_f64_k33, double, 32, 0, 0, 0, 33, 33, 1, 32, 1, 4, 0, 1, 0, 96
#include "simt/many_form.h"

// In quick effort each form runs an eighth of the matrices, chosen by the seed, and large ones
// only with few vectors.
static void check(void **state) {
  const many_form &f = *(const many_form *)*state;
  const int place =
      (int)(std::find(many_forms.begin(), many_forms.end(), &f) - many_forms.begin());
  const uint64_t share = (uint64_t)test_effort(8, 1);
  for (uint64_t seed : csr_seeds(many_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (((uint64_t)(index + place) + simt_seeds[2]) % share != 0 ||
          (m.nnz + m.rows) * (int64_t)f.width > test_effort(100000, INT32_MAX)) {
        return;
      }
      if (f.value_bytes == 4) {
        many_check_matrix<float>(f, index, m, seed);
      } else {
        many_check_matrix<double>(f, index, m, seed);
      }
    });
  }
}

// Rows over so many tiles that a warp or a thread block adds them up.
static void long_rows(void **state) {
  const many_form &f = f32_k8_rows::form;
  test_matrix m;
  int64_t k;
  (void)state;
  memset(&m, 0, sizeof m);
  (void)snprintf(m.name, sizeof m.name, "long rows");
  m.rows = 4;
  m.cols = 50;
  m.nnz = 20000 + 600000 + 40;
  m.row_ptr = (int64_t *)test_allocate(m.rows + 1, sizeof *m.row_ptr);
  m.col_ind = (int32_t *)test_allocate(m.nnz, sizeof *m.col_ind);
  m.values = (double *)test_allocate(m.nnz, sizeof *m.values);
  m.row_ptr[1] = 20;
  m.row_ptr[2] = 20020;
  m.row_ptr[3] = 620020;
  m.row_ptr[4] = m.nnz;
  for (k = 0; k < m.nnz; k++) {
    m.col_ind[k] = (int32_t)(k * 7 % m.cols);
    m.values[k] = (double)(k % 13) - 5;
  }
  many_bed<float> b(f, 0, m);
  scan_build(b, 1);
  many_check_pair(b, 12, 2); // no Inf or NaN, which would hide missing parts
  test_matrix_free(&m);
}

// Checks the table of support/rules.h for every vector.
template <class V> static void check_rules(const many_form &f) {
  for (int index = rules_next(-1); index < RULES_COUNT; index = rules_next(index)) {
    for (int64_t fill : {0, 40, 3000}) {
      rules_case c;
      rules_make(index, sizeof(V) == 4, fill, f.pattern, 3, &c);
      many_bed<V> b(f, 0, c.m);
      std::vector<V> x, y;
      for (unsigned v = 0; v < f.vectors; v++) {
        x.insert(x.end(), c.x, c.x + c.m.cols);
        y.insert(y.end(), c.y0, c.y0 + c.m.rows);
      }
      for (uint64_t i = 0; i < b.values.count; i++) {
        b.values.template as<V>()[i] = (V)c.m.values[i];
      }
      if (f.rows_team == 0) {
        scan_build(b, 1);
      }
      many_multiply(b, c.alpha, c.beta, x, y, 2 + (uint64_t)index);
      for (unsigned v = 0; v < f.vectors; v++) {
        assert_int_equal(rules_wrong(&c, y.data() + v * b.rows, sizeof(V) == 4, f.name), 0);
      }
      rules_free(&c);
    }
  }
}

static void rules(void **state) {
  (void)state;
  check_rules<float>(f32_k8_rows_u8_ones::form);
  check_rules<float>(f32_k33_columns::form);
  check_rules<float>(f32_k5_rows::form);
  check_rules<double>(f64_k8_rows::form);
  check_rules<double>(f64_k2_columns::form);
  check_rules<float>(rows_f32_k8::form);
  check_rules<double>(rows_f64_k33::form);
}

int main() {
  return csr_main("several vectors", many_forms,
                  {cmocka_unit_test(long_rows), cmocka_unit_test(rules)}, check);
}
