// ROWS: products against the error bound for every number of lanes per row, and row offsets up
// to the largest.
#include "simt/rows_bed.h"

#define SIMT_FORM f32_p32_b0_host_l4_u4_t256, float, 32, 0, 0, 0, 4, 4, 0, 256
#include "simt/rows_form.h"
#define SIMT_FORM f32_p64_b1_dev_l1_u8_once_t128, float, 64, 1, 0, 1, 1, 8, 1, 128
#include "simt/rows_form.h"
#define SIMT_FORM f32_p32_b1_ones_host_l32_u1_t64, float, 32, 1, 1, 0, 32, 1, 0, 64
#include "simt/rows_form.h"
#define SIMT_FORM f32_p64_b0_ones_dev_l8_u2_once_t32, float, 64, 0, 1, 1, 8, 2, 1, 32
#include "simt/rows_form.h"
#define SIMT_FORM f32_p32_b0_equal_dev_l16_u3_once_t1024, float, 32, 0, 2, 1, 16, 3, 1, 1024
#include "simt/rows_form.h"
#define SIMT_FORM f32_p64_b1_ones_host_l2_u32_t96, float, 64, 1, 1, 0, 2, 32, 0, 96
#include "simt/rows_form.h"
#define SIMT_FORM f64_p32_b0_host_l8_u2_t256, double, 32, 0, 0, 0, 8, 2, 0, 256
#include "simt/rows_form.h"
#define SIMT_FORM f64_p64_b1_dev_l32_u4_once_t128, double, 64, 1, 0, 1, 32, 4, 1, 128
#include "simt/rows_form.h"
#define SIMT_FORM f64_p32_b1_ones_host_l2_u5_once_t64, double, 32, 1, 1, 0, 2, 5, 1, 64
#include "simt/rows_form.h"
#define SIMT_FORM f64_p64_b0_ones_dev_l1_u1_t32, double, 64, 0, 1, 1, 1, 1, 0, 32
#include "simt/rows_form.h"
#define SIMT_FORM f64_p32_b1_host_l16_u8_t512, double, 32, 1, 0, 0, 16, 8, 0, 512
#include "simt/rows_form.h"
#define SIMT_FORM f64_p64_b0_single_dev_l4_u16_once_t128, double, 64, 0, 3, 1, 4, 16, 1, 128
#include "simt/rows_form.h"
#define SIMT_FORM f32_p64_b1_half_dev_l8_u2_t64, float, 64, 1, 4, 1, 8, 2, 0, 64
#include "simt/rows_form.h"
#define SIMT_FORM f64_p32_b0_half_host_l1_u8_once_t256, double, 32, 0, 4, 0, 1, 8, 1, 256
#include "simt/rows_form.h"
#define SIMT_FORM f32_p32_b1_table_host_l2_u4_once_t512, float, 32, 1, 5, 0, 2, 4, 1, 512
#include "simt/rows_form.h"
#define SIMT_FORM f64_p64_b0_table_dev_l16_u3_t96, double, 64, 0, 5, 1, 16, 3, 0, 96
#include "simt/rows_form.h"
#define SIMT_FORM f32_p32_b0_row_dev_l4_u1_t128, float, 32, 0, 6, 1, 4, 1, 0, 128
#include "simt/rows_form.h"
#define SIMT_FORM f64_p64_b1_row_host_l32_u2_once_t64, double, 64, 1, 6, 0, 32, 2, 1, 64
#include "simt/rows_form.h"
#define SIMT_FORM f32_p64_b0_column_host_l1_u5_once_t256, float, 64, 0, 7, 0, 1, 5, 1, 256
#include "simt/rows_form.h"
#define SIMT_FORM f64_p32_b1_column_dev_l8_u4_t32, double, 32, 1, 7, 1, 8, 4, 0, 32
#include "simt/rows_form.h"

static void check(void **state) {
  const rows_form &f = *(const rows_form *)*state;
  for (uint64_t seed : csr_seeds(rows_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(rows_forms, &f), index, m)) {
        return;
      }
      const bool all = (f.lanes == 4 || f.lanes == 8) && f.base == 0 && m.rows < 300;
      if (m.rows * (int64_t)f.lanes > test_effort(100000, INT32_MAX)) {
        return; // too slow
      }
      if (f.value_bytes == 4) {
        rows_check_matrix<float>(f, index, m, seed, all);
      } else {
        rows_check_matrix<double>(f, index, m, seed, all);
      }
    });
  }
}

// Two rows with the last of 2^31 - 1 nonzeros: no sum with an offset may overflow. Only those
// nonzeros exist in memory.
template <class V> static void check_last_offsets(const rows_form &f, int64_t length) {
  const int64_t last = INT32_MAX - (int64_t)f.base, first = last - 2 * length, rows = 2;
  simt_array row_ptr(3, f.row_ptr_bytes), col_ind((size_t)(2 * length), 4),
      values(f.shared_values() ? 2 : (size_t)(2 * length), f.stored_bytes()), x(1, sizeof(V)),
      y(2, sizeof(V), 0xff), table(256, sizeof(V));
  for (int64_t i = 0; i < 3; i++) {
    row_ptr.store((size_t)i, (uint64_t)(first + i * length + f.base));
  }
  for (int64_t i = 0; i < 2 * length; i++) {
    col_ind.store((size_t)i, f.base);
    if (f.stored == CSR_SINGLE) {
      values.as<float>()[i] = i < length ? 1 : 2;
    } else if (f.stored == CSR_HALF) {
      values.as<mbk_u16>()[i] = mbk_half_of(i < length ? 1 : 2);
    } else if (f.stored == CSR_TABLE) {
      values.as<mbk_u8>()[i] = i < length ? 0 : 255;
    } else if (!f.shared_values()) {
      values.as<V>()[i] = f.pattern || i < length ? 1 : 2;
    }
  }
  if (f.shared_values()) {
    values.as<V>()[0] = values.as<V>()[1] = 1;
  }
  table.as<V>()[0] = 1;
  table.as<V>()[255] = 2;
  x.as<V>()[0] = 3;
  const void *const columns = (const void *)((uintptr_t)col_ind.get() - (uintptr_t)first * 4);
  const void *const numbers =
      (const void *)((uintptr_t)values.get() -
                     (f.shared_values() ? 0 : (uintptr_t)first * f.stored_bytes()));
  csr_with_scalars<V>(f, 1, 0, 2, [&](const auto &alpha, const auto &beta) {
    simt_run(f.product, {f.name, "the last offsets", (uint64_t)length},
             {csr_divide_up(rows * f.lanes, f.threads), f.threads, f.table_bytes()},
             row_ptr.get(), columns, numbers, table.get(), x.get(), y.get(), rows, alpha, beta);
  });
  assert_true(y.as<V>()[0] == (V)(3 * length));
  assert_true(y.as<V>()[1] == (V)(3 * length * (f.pattern ? 1 : 2)));
}

static void test_last_offsets(void **) {
  for (const rows_form *f : rows_forms) {
    for (int64_t length : {1, 31, 32, 33, 1000, 1024}) {
      if (f->value_bytes == 4) {
        check_last_offsets<float>(*f, length);
      } else {
        check_last_offsets<double>(*f, length);
      }
    }
  }
}

int main() {
  return csr_main("rows", rows_forms, {cmocka_unit_test(test_last_offsets)}, check);
}
