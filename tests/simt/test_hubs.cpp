// HUBS: the two kinds of columns and their codes against a simple loop, products against the
// error bound, blocks that take many tiles, rows over so many tiles that a warp or a thread
// block adds them up, and launch sizes against the launcher's.
#include "support/internal.h"

#include "simt/hubs_bed.h"
#include "simt/scan_long.h"

// The defaults of both types, then from no hubs to more than most matrices have columns.
#define SIMT_FORM                                                                              \
  f32_p32_b0_host_s8_d5_e1_t1024_40k, float, 32, 0, 0, 0, 8, 5, 1, 0, 1024, 40704
#include "simt/hubs_form.h"
#define SIMT_FORM                                                                              \
  f32_p64_b1_dev_s12_d5_e0_once_t512_1000, float, 64, 1, 0, 1, 12, 5, 0, 1, 512, 1000
#include "simt/hubs_form.h"
#define SIMT_FORM f32_p32_b1_ones_dev_s4_d5_e1_once_t32_1, float, 32, 1, 1, 1, 4, 5, 1, 1, 32, 1
#include "simt/hubs_form.h"
#define SIMT_FORM                                                                              \
  f32_p64_b0_equal_host_s8_d3_e1_t128_37, float, 64, 0, 2, 0, 8, 3, 1, 0, 128, 37
#include "simt/hubs_form.h"
#define SIMT_FORM f32_p32_b0_host_s4_d5_e0_t64_8, float, 32, 0, 0, 0, 4, 5, 0, 0, 64, 8
#include "simt/hubs_form.h"
#define SIMT_FORM                                                                              \
  f64_p32_b0_host_s4_d5_e1_once_t1024_20k, double, 32, 0, 0, 0, 4, 5, 1, 1, 1024, 19840
#include "simt/hubs_form.h"
#define SIMT_FORM f64_p64_b1_dev_s8_d5_e0_t128_100, double, 64, 1, 0, 1, 8, 5, 0, 0, 128, 100
#include "simt/hubs_form.h"
#define SIMT_FORM f64_p32_b1_ones_host_s2_d5_e1_t32_7, double, 32, 1, 1, 0, 2, 5, 1, 0, 32, 7
#include "simt/hubs_form.h"
#define SIMT_FORM                                                                              \
  f64_p64_b0_single_dev_s4_d5_e1_once_t64_3, double, 64, 0, 3, 1, 4, 5, 1, 1, 64, 3
#include "simt/hubs_form.h"
#define SIMT_FORM f64_p32_b0_equal_dev_s16_d4_e1_t96_0, double, 32, 0, 2, 1, 16, 4, 1, 0, 96, 0
#include "simt/hubs_form.h"
#define SIMT_FORM                                                                              \
  f32_p32_b1_half_host_s8_d5_e1_once_t128_9, float, 32, 1, 4, 0, 8, 5, 1, 1, 128, 9
#include "simt/hubs_form.h"
#define SIMT_FORM f64_p64_b0_table_dev_s4_d5_e1_t96_40, double, 64, 0, 5, 1, 4, 5, 1, 0, 96, 40
#include "simt/hubs_form.h"
#define SIMT_FORM f32_p64_b0_row_dev_s4_d5_e1_once_t64_5, float, 64, 0, 6, 1, 4, 5, 1, 1, 64, 5
#include "simt/hubs_form.h"
#define SIMT_FORM                                                                              \
  f64_p32_b1_column_host_s4_d5_e0_t32_12, double, 32, 1, 7, 0, 4, 5, 0, 0, 32, 12
#include "simt/hubs_form.h"

static void check(void **state) {
  const hubs_form &f = *(const hubs_form *)*state;
  for (uint64_t seed : csr_seeds(hubs_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(hubs_forms, &f), index, m)) {
        return;
      }
      const bool all = f.threads == 64 && m.nnz < 1000 && seed == 1;
      if (f.value_bytes == 4) {
        hubs_check_matrix<float>(f, index, m, seed, all);
      } else {
        hubs_check_matrix<double>(f, index, m, seed, all);
      }
    });
  }
}

static void test_long_rows(void **) {
  for (const hubs_form *f : hubs_forms) {
    test_matrix m;
    if (f->depth < 5 || f->steps > (unsigned)test_effort(4, 32)) {
      continue;
    }
    scan_make_long(32 * (int64_t)f->steps, f->empty, &m);
    if (f->value_bytes == 4) {
      hubs_check_long<float>(*f, m, simt_seeds[2]);
    } else {
      hubs_check_long<double>(*f, m, simt_seeds[2]);
    }
    test_matrix_free(&m);
  }
}

// Hubs are numbered first come, first served, and the first ones are taken if not all fit: the
// schedules of the tests lead to different ones.
static void test_orders(void **) {
  const hubs_form &f = f64_p64_b1_dev_s8_d5_e0_t128_100::form;
  test_matrix m;
  int index = 0, differ = 0;
  for (;; index++) {
    test_matrix_make(index, 1, &m);
    if (m.cols > 1000 && m.nnz > 0) {
      break;
    }
    test_matrix_free(&m);
  }
  scan_drop_empty_rows(m);
  {
    hubs_bed<double> b(f, index, m);
    simt_array before(b.hub_col.count, 4);
    for (uint64_t seed = 1; seed < 6; seed++) {
      before.copy(b.hub_col);
      hubs_encode(b, HUBS_ALL, seed);
      assert_int_equal(b.count, f.hubs);
      differ += seed > 1 && !b.hub_col.same(before);
    }
  }
  assert_true(differ > 0);
  test_matrix_free(&m);
}

// ---- The launcher ---------------------------------------------------------------------------

static void test_sizes(void **) {
  merbit_context_desc desc = {};
  merbit_context *context;
  int found = 0;
  desc.side = MERBIT_SIDE_CPU;
  assert_int_equal(merbit_context_create(&desc, &context, nullptr), MERBIT_OK);
  context->device.shared_bytes_per_block = SIMT_SHARED_MAX;
  context->device.multiprocessors = 132;
  for (const hubs_form *f : hubs_forms) {
    merbit_plan plan = {};
    plan.state = test_plan_state();
    if (f->threads != 1024) {
      continue;
    }
    plan.context = context;
    plan.type = f->value_bytes == 4 ? MERBIT_F32 : MERBIT_F64;
    plan.device.rows = plan.nonempty.count = 10;
    plan.device.nnz = 100000;
    assert_int_equal(mbi_hubs_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_hubs_of(&plan)->capacity, f->hubs);
    assert_int_equal(mbi_scan_of(&plan)->steps, f->steps);
    assert_int_equal(mbi_scan_of(&plan)->pack, f->pack);
    assert_int_equal(mbi_scan_of(&plan)->threads, f->threads);
    assert_int_equal(mbi_scan_of(&plan)->tiles, csr_divide_up(100000, 32 * f->steps));
    assert_int_equal(mbi_scan_of(&plan)->blocks,
                     csr_divide_up(mbi_scan_of(&plan)->tiles * 32, f->threads));
    for (bool adds : {false, true}) {
      assert_int_equal(mbi_hubs_shared(&plan, adds), hubs_shared(*f, adds));
    }
    found++;
  }
  assert_int_equal(found, 2);
  merbit_context_destroy(context);
}

int main() {
  return csr_main("hubs", hubs_forms,
                  {cmocka_unit_test(test_sizes), cmocka_unit_test(test_orders),
                   cmocka_unit_test(test_long_rows)},
                  check);
}
