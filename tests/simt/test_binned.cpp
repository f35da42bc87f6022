// The BINNED kernels: runs against a simple loop, products against the error bound, rows over
// so many tiles that a warp or a thread block adds them up, and launch sizes against the
// launcher's.
#include "support/internal.h"

#include "simt/binned_bed.h"
#include "simt/scan_long.h"

// The defaults of both types, narrow and wide; then strips from one column to 64 K, parts from
// a tile to 64 K nonzeros.
#define SIMT_FORM f32_p32_b0_host_s8_e1_t512_24k_w4, float, 32, 0, 0, 0, 8, 1, 0, 512, 24576, 4
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f32_p64_b1_dev_s8_e0_once_t1024_48k_w4, float, 64, 1, 0, 1, 8, 0, 1, 1024, 49152, 4
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f32_p32_b1_ones_dev_s8_e1_once_t32_32_w1, float, 32, 1, 1, 1, 8, 1, 1, 32, 32, 1
#include "simt/binned_form.h"
#define SIMT_FORM f32_p64_b0_ones_host_s4_e0_t64_40_w2, float, 64, 0, 1, 0, 4, 0, 0, 64, 40, 2
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f32_p32_b0_equal_dev_s8_e1_t512_4k_w8, float, 32, 0, 2, 1, 8, 1, 0, 512, 4096, 8
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f32_p64_b1_ones_host_s4_e1_once_t256_56k_w3, float, 64, 1, 1, 0, 4, 1, 1, 256, 57344, 3
#include "simt/binned_form.h"
#define SIMT_FORM f32_p32_b0_host_s8_e0_t32_1_w6, float, 32, 0, 0, 0, 8, 0, 0, 32, 1, 6
#include "simt/binned_form.h"
#define SIMT_FORM f64_p32_b0_host_s8_e1_t512_12k_w2, double, 32, 0, 0, 0, 8, 1, 0, 512, 12288, 2
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f64_p64_b1_dev_s8_e0_once_t1024_24k_w2, double, 64, 1, 0, 1, 8, 0, 1, 1024, 24576, 2
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f64_p64_b0_ones_dev_s8_e1_once_t32_32_w1, double, 64, 0, 1, 1, 8, 1, 1, 32, 32, 1
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f64_p32_b1_ones_host_s4_e0_t96_100_w5, double, 32, 1, 1, 0, 4, 0, 0, 96, 100, 5
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f64_p32_b0_single_dev_s4_e1_once_t64_1k_w8, double, 32, 0, 3, 1, 4, 1, 1, 64, 1024, 8
#include "simt/binned_form.h"
#define SIMT_FORM f64_p64_b1_host_s8_e1_t256_28k_w1, double, 64, 1, 0, 0, 8, 1, 0, 256, 28672, 1
#include "simt/binned_form.h"
#define SIMT_FORM f64_p64_b0_host_s8_e0_t64_7_w3, double, 64, 0, 0, 0, 8, 0, 0, 64, 7, 3
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f32_p32_b1_half_dev_s4_e1_once_t64_50_w2, float, 32, 1, 4, 1, 4, 1, 1, 64, 50, 2
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f64_p64_b0_table_host_s8_e0_t96_200_w1, double, 64, 0, 5, 0, 8, 0, 0, 96, 200, 1
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f32_p64_b0_table_dev_s8_e1_once_t512_1k_w1, float, 64, 0, 5, 1, 8, 1, 1, 512, 1024, 1
#include "simt/binned_form.h"
#define SIMT_FORM f32_p32_b0_row_host_s8_e1_t32_70_w2, float, 32, 0, 6, 0, 8, 1, 0, 32, 70, 2
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f64_p32_b1_row_dev_s4_e0_once_t64_1k_w3, double, 32, 1, 6, 1, 4, 0, 1, 64, 1024, 3
#include "simt/binned_form.h"
#define SIMT_FORM                                                                              \
  f64_p64_b1_column_dev_s8_e1_t128_300_w1, double, 64, 1, 7, 1, 8, 1, 0, 128, 300, 1
#include "simt/binned_form.h"

static void check(void **state) {
  const binned_form &f = *(const binned_form *)*state;
  int without = 0;
  for (uint64_t seed : csr_seeds(binned_forms, &f, test_effort(1, 0))) {
    without = 0;
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(binned_forms, &f), index, m)) {
        return;
      }
      const bool all = f.strip <= 40 && f.strip >= 32 && f.empty && m.nnz < 1000 && seed == 1;
      without += f.value_bytes == 4 ? !binned_check_matrix<float>(f, index, m, seed, all)
                                    : !binned_check_matrix<double>(f, index, m, seed, all);
    });
  }
  assert_in_range(without, 0, 10); // few matrices do not fit
}

// In quick effort every second of the forms, chosen by the seed.
static void test_long_rows(void **) {
  const uint64_t apart = (uint64_t)test_effort(2, 1);
  uint64_t turn = simt_seeds[2];
  int forms = 0;
  for (const binned_form *f : binned_forms) {
    test_matrix m;
    if (f->steps > 4 || f->strip > (uint64_t)test_effort(64, 65536) || turn++ % apart != 0) {
      continue;
    }
    scan_make_long(32 * (int64_t)f->steps, f->empty, &m);
    if (f->value_bytes == 4) {
      binned_check_long<float>(*f, m, simt_seeds[2]);
    } else {
      binned_check_long<double>(*f, m, simt_seeds[2]);
    }
    test_matrix_free(&m);
    forms++;
  }
  assert_true(forms > 0);
}

// The slots of a run are assigned first come, first served: the schedules of the tests lead to
// different orders.
static void test_orders(void **) {
  const binned_form &f = *binned_forms[0];
  test_matrix m;
  int differ = 0, index = 0;
  for (;; index++) { // many nonzeros in one strip
    test_matrix_make(index, 1, &m);
    if (m.nnz > 5000) {
      break;
    }
    test_matrix_free(&m);
  }
  {
    binned_bed<float> b(f, index, m);
    simt_array before(b.places.count, 2);
    binned_build(b, 1);
    for (uint64_t seed = 2; seed < 6; seed++) {
      before.copy(b.places);
      binned_fill(b, false, seed);
      differ += !b.places.same(before);
      before.copy(b.places);
      binned_fill(b, true, seed);
      assert_true(b.places.same(before));
    }
  }
  assert_true(differ > 0);
  test_matrix_free(&m);
}

// ---- The launcher ---------------------------------------------------------------------------

static void test_sizes(void **) {
  merbit_context_desc desc = {};
  merbit_context *context;
  desc.side = MERBIT_SIDE_CPU;
  assert_int_equal(merbit_context_create(&desc, &context, nullptr), MERBIT_OK);
  context->device.shared_bytes_per_block = SIMT_SHARED_MAX;
  assert_int_equal(MBI_BINNED_BUILD_THREADS, BINNED_BUILD_THREADS);
  assert_int_equal(MBI_BINNED_ITEM, BINNED_ITEM);
  for (const binned_form *f : binned_forms) {
    const uint64_t cols = 5 * f->strip + 1, nnz = 100000;
    merbit_plan plan = {};
    plan.state = test_plan_state();
    if (f->strip % 1024 != 0 || f->steps != MBI_BINNED_STEPS) {
      continue;
    }
    plan.context = context;
    plan.type = f->value_bytes == 4 ? MERBIT_F32 : MERBIT_F64;
    plan.device.rows = plan.nonempty.count = 10;
    plan.device.cols = cols;
    plan.device.nnz = nnz;
    plan.tuning[MBI_KNOB_BINNED_STRIP] = (int)(f->strip / 1024);
    plan.tuning[MBI_KNOB_BINNED_TILES] = (int)f->warp_tiles;
    plan.desc.block_threads = (int)f->threads;
    assert_int_equal(mbi_binned_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_binned_group(&plan), BINNED_GROUP_BYTES / f->value_bytes);
    assert_int_equal(mbi_binned_of(&plan)->strip, f->strip);
    assert_int_equal(mbi_binned_of(&plan)->part_nonzeros,
                     f->warp_tiles * f->threads * f->steps);
    assert_int_equal(mbi_binned_of(&plan)->parts,
                     csr_divide_up(nnz, mbi_binned_of(&plan)->part_nonzeros));
    assert_int_equal(mbi_binned_of(&plan)->strips, 6);
    assert_int_equal(mbi_scan_of(&plan)->tiles, csr_divide_up(nnz, 32 * f->steps));
    assert_int_equal(mbi_scan_of(&plan)->threads, f->threads);
    assert_int_equal(mbi_binned_multiply_shared(&plan), f->strip * f->value_bytes);
    assert_int_equal(mbi_binned_sum_shared(&plan, 123),
                     binned_sum_shared(f->threads, f->steps, f->value_bytes, 123));
  }
  merbit_context_destroy(context);
}

int main() {
  return csr_main("binned", binned_forms,
                  {cmocka_unit_test(test_sizes), cmocka_unit_test(test_orders),
                   cmocka_unit_test(test_long_rows)},
                  check);
}
