// Slices of 32 rows: their construction against a plain sort and copy, products against the
// error bound, columns of two and four bytes, products that stop because their solver has, and
// launch sizes against the launcher's.
#include "support/internal.h"

#include "simt/sliced_bed.h"
#include "simt/sliced_pages.h"

#define SIMT_FORM f32_p32_b0_host_sorted_u2_t256, float, 32, 0, 0, 0, 1, 2, 0, 256, 4, mbk_u32, 1
#include "simt/sliced_form.h"
#define SIMT_FORM                                                                              \
  f32_p64_b1_dev_sorted_u8_once_t128, float, 64, 1, 0, 1, 1, 8, 1, 128, 2, mbk_u32, 1
#include "simt/sliced_form.h"
#define SIMT_FORM f32_p32_b1_ones_host_u1_once_t64, float, 32, 1, 1, 0, 0, 1, 1, 64, 4, mbk_u8, 2
#include "simt/sliced_form.h"
#define SIMT_FORM f32_p64_b0_ones_dev_sorted_u2_t32, float, 64, 0, 1, 1, 1, 2, 0, 32, 2, mbk_u32, 1
#include "simt/sliced_form.h"
#define SIMT_FORM f32_p32_b0_equal_dev_u5_t1024, float, 32, 0, 2, 1, 0, 5, 0, 1024, 4, mbk_u32, 32
#include "simt/sliced_form.h"
#define SIMT_FORM                                                                              \
  f64_p32_b0_host_sorted_u2_once_t256, double, 32, 0, 0, 0, 1, 2, 1, 256, 1, mbk_u8, 1
#include "simt/sliced_form.h"
#define SIMT_FORM f64_p64_b1_dev_u4_t128, double, 64, 1, 0, 1, 0, 4, 0, 128, 2, mbk_u32, 4
#include "simt/sliced_form.h"
#define SIMT_FORM                                                                              \
  f64_p32_b1_ones_host_sorted_u8_t512, double, 32, 1, 1, 0, 1, 8, 0, 512, 1, mbk_u32, 1
#include "simt/sliced_form.h"
#define SIMT_FORM f64_p64_b0_ones_dev_u16_once_t32, double, 64, 0, 1, 1, 0, 16, 1, 32, 2, mbk_u8, 1
#include "simt/sliced_form.h"
#define SIMT_FORM                                                                              \
  f64_p64_b1_single_host_sorted_u1_t96, double, 64, 1, 3, 0, 1, 1, 0, 96, 1, mbk_u32, 1
#include "simt/sliced_form.h"
#define SIMT_FORM                                                                              \
  f32_p64_b0_half_dev_sorted_u2_once_t128, float, 64, 0, 4, 1, 1, 2, 1, 128, 4, mbk_u32, 1
#include "simt/sliced_form.h"
#define SIMT_FORM f64_p32_b1_half_host_u3_t64, double, 32, 1, 4, 0, 0, 3, 0, 64, 1, mbk_u8, 2
#include "simt/sliced_form.h"
#define SIMT_FORM f32_p32_b1_table_host_u4_t256, float, 32, 1, 5, 0, 0, 4, 0, 256, 4, mbk_u32, 1
#include "simt/sliced_form.h"
#define SIMT_FORM                                                                              \
  f64_p64_b0_table_dev_sorted_u2_once_t512, double, 64, 0, 5, 1, 1, 2, 1, 512, 2, mbk_u32, 16
#include "simt/sliced_form.h"
#define SIMT_FORM f32_p32_b0_row_host_sorted_u1_t96, float, 32, 0, 6, 0, 1, 1, 0, 96, 4, mbk_u8, 3
#include "simt/sliced_form.h"
#define SIMT_FORM f64_p64_b1_row_dev_u2_once_t128, double, 64, 1, 6, 1, 0, 2, 1, 128, 1, mbk_u32, 4
#include "simt/sliced_form.h"
#define SIMT_FORM f32_p64_b1_column_dev_u2_once_t32, float, 64, 1, 7, 1, 0, 2, 1, 32, 4, mbk_u32, 1
#include "simt/sliced_form.h"
#define SIMT_FORM                                                                              \
  f64_p32_b0_column_host_sorted_u1_t256, double, 32, 0, 7, 0, 1, 1, 0, 256, 1, mbk_u8, 8
#include "simt/sliced_form.h"

// The form for solvers, with a flag instead of alpha and beta; it is therefore not on the list.
#define MBK_STOPS 1
#define SIMT_FORM f64_p32_b0_ones_stops_t64, double, 32, 0, 1, 0, 0, 2, 1, 64, 2, mbk_u32, 2
#include "simt/sliced_form.h"
static const sliced_form &stopping = *sliced_forms.back();
static const bool unlisted = (sliced_forms.pop_back(), true);

static void check(void **state) {
  const sliced_form &f = *(const sliced_form *)*state;
  for (uint64_t seed : csr_seeds(sliced_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(sliced_forms, &f), index, m)) {
        return;
      }
      const bool all = f.unroll == 2 && m.nnz < 1000;
      if ((uint64_t)index % 2 == seed / 2 % 2) {
        test_matrix_stretch(&m);
      }
      if (f.value_bytes == 4) {
        sliced_check_matrix<float>(f, index, m, seed, all);
      } else {
        sliced_check_matrix<double>(f, index, m, seed, all);
      }
    });
  }
}

// ---- Columns of two and of four bytes -------------------------------------------------------

template <class V> static void check_pages(const sliced_form &f, uint64_t seed) {
  test_matrix m;
  sliced_make_pages(&m);
  {
    sliced_bed<V> b(f, 0, m);
    sliced_check_pages(b);
    sliced_build(b, seed);
    for (int pair : {0, 4, 7, 13}) {
      csr_check_pair(b, pair, seed, sliced_multiply<V>);
    }
  }
  test_matrix_free(&m);
}

static void test_pages(void **) {
  for (const sliced_form *f : sliced_forms) {
    for (uint64_t seed : {simt_seeds[0], simt_seeds[2]}) {
      if (f->value_bytes == 4) {
        check_pages<float>(*f, seed);
      } else {
        check_pages<double>(*f, seed);
      }
    }
  }
}

// ---- Products that a flag stops -------------------------------------------------------------

// Earlier work sets the flag, so it is late memory like x and y.
static void test_stop(void **) {
  test_matrix m;
  sliced_make_pages(&m);
  {
    sliced_bed<double> b(stopping, 0, m);
    simt_array y(b.rows, 8), flag(1, 4);
    sliced_build(b, 1);
    sliced_fill(b, 1);
    for (size_t i = 0; i < b.x.count; i++) {
      b.x.as<double>()[i] = (double)(i % 5);
    }
    for (int turn = 0; turn < 3; turn++) { // no flag, not set, set
      const void *const stop = turn > 0 ? flag.get() : nullptr;
      flag.as<int>()[0] = turn == 2 ? -1 : 0;
      for (uint64_t i = 0; i < b.rows; i++) {
        y.as<double>()[i] = -7;
      }
      {
        const simt_late_guard late({&b.x, &y, &flag});
        simt_run(stopping.product, b.run((uint64_t)turn),
                 {sliced_blocks(b), stopping.threads, stopping.shared_bytes()},
                 b.slice_start.get(), b.slice_column_start.get(), b.pages.get(), b.length.get(),
                 b.row_id.get(), b.columns.get(), b.slots.get(), b.table.get(), b.x.get(),
                 y.get(), b.rows, stop, 0.0);
      }
      for (uint64_t i = 0; i < b.rows; i++) {
        double want = 0;
        for (int64_t k = m.row_ptr[i]; k < m.row_ptr[i + 1]; k++) {
          want += (double)(m.col_ind[k] % 5);
        }
        assert_true(y.as<double>()[i] == (turn == 2 ? -7 : want));
      }
    }
  }
  test_matrix_free(&m);
}

// ---- The launcher ---------------------------------------------------------------------------

static void test_sizes(void **) {
  merbit_context context = {};
  merbit_plan plan = {};
  plan.context = &context;
  context.device.multiprocessors = 132;
  context.device.lanes = 2048;
  plan.state = test_plan_state();
  assert_int_equal(MBI_SLICED_WINDOW, SLICED_WINDOW);
  assert_int_equal(MBI_SLICED_BUILD_THREADS, SLICED_BUILD_THREADS);
  assert_int_equal(MBI_PAGE_SET, SLICED_SET);
  for (const uint64_t rows : {1, 31, 32, 33, 127, 128, 129, 5000}) {
    plan.device.rows = rows;
    assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
    assert_true(mbi_sliced_of(&plan)->slices == (rows + 31) / 32);
    assert_int_equal(mbi_sliced_of(&plan)->blocks,
                     csr_divide_up(mbi_sliced_of(&plan)->slices * 32,
                                   (uint64_t)mbi_sliced_of(&plan)->threads));
    plan.tuning[MBI_KNOB_SLICED_PARTS] = 4;
    assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_sliced_of(&plan)->threads, 128);
    assert_true(mbi_sliced_of(&plan)->blocks == mbi_sliced_of(&plan)->slices);
    plan.tuning[MBI_KNOB_SLICED_PARTS] = 0;
    assert_int_equal(mbi_sliced_build_blocks(mbi_sliced_of(&plan)),
                     csr_divide_up(mbi_sliced_of(&plan)->slices * 32, SLICED_BUILD_THREADS));
  }
}

int main() {
  return csr_main(
      "sliced", sliced_forms,
      {cmocka_unit_test(test_sizes), cmocka_unit_test(test_pages), cmocka_unit_test(test_stop)},
      check);
}
