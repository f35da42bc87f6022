// The SCAN kernels: the schedule against a simple loop, products against the error bound, rows
// over so many tiles that a warp or a thread block adds them up, and launch sizes against the
// launcher's.
#include "support/internal.h"

#include "simt/scan_bed.h"
#include "simt/scan_long.h"

// In the order of `steps`. Every depth runs on the matrices whose rows it covers, and 5 on all;
// each pair of the other choices occurs in both types.
#define SIMT_FORM f32_p32_b0_host_s12_d5_e1_t128, float, 32, 0, 0, 0, 12, 5, 1, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b1_dev_s16_d5_e0_once_t512, float, 64, 1, 0, 1, 16, 5, 0, 1, 512
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b1_ones_dev_s4_d5_e1_once_t32, float, 32, 1, 1, 1, 4, 5, 1, 1, 32
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b0_ones_host_s4_d5_e0_t64, float, 64, 0, 1, 0, 4, 5, 0, 0, 64
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b1_host_s32_d5_e1_once_t1024, float, 64, 1, 0, 0, 32, 5, 1, 1, 1024
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b0_ones_dev_s8_d4_e0_t128, float, 32, 0, 1, 1, 8, 4, 0, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b1_host_s4_d3_e0_once_t128, float, 32, 1, 0, 0, 4, 3, 0, 1, 128
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b0_dev_s12_d2_e1_t96, float, 64, 0, 0, 1, 12, 2, 1, 0, 96
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b0_equal_host_s4_d1_e1_once_t512, float, 32, 0, 2, 0, 4, 1, 1, 1, 512
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b1_ones_host_s16_d0_e0_t128, float, 64, 1, 1, 0, 16, 0, 0, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM f64_p32_b0_host_s8_d5_e1_t512, double, 32, 0, 0, 0, 8, 5, 1, 0, 512
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b1_dev_s8_d5_e0_once_t128, double, 64, 1, 0, 1, 8, 5, 0, 1, 128
#include "simt/scan_form.h"
#define SIMT_FORM f64_p32_b1_ones_dev_s16_d5_e0_t32, double, 32, 1, 1, 1, 16, 5, 0, 0, 32
#include "simt/scan_form.h"
#define SIMT_FORM                                                                              \
  f64_p64_b0_ones_host_s2_d5_e1_once_t1024, double, 64, 0, 1, 0, 2, 5, 1, 1, 1024
#include "simt/scan_form.h"
#define SIMT_FORM f64_p32_b0_single_dev_s4_d5_e1_once_t64, double, 32, 0, 3, 1, 4, 5, 1, 1, 64
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b1_host_s32_d4_e1_t128, double, 64, 1, 0, 0, 32, 4, 1, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM f64_p32_b0_ones_host_s14_d3_e1_t256, double, 32, 0, 1, 0, 14, 3, 1, 0, 256
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b1_single_dev_s4_d2_e0_once_t128, double, 64, 1, 3, 1, 4, 2, 0, 1, 128
#include "simt/scan_form.h"
#define SIMT_FORM f64_p32_b1_host_s2_d1_e1_t32, double, 32, 1, 0, 0, 2, 1, 1, 0, 32
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b0_single_dev_s8_d0_e1_once_t512, double, 64, 0, 3, 1, 8, 0, 1, 1, 512
#include "simt/scan_form.h"
// The other forms of values, with rows of every length.
#define SIMT_FORM f32_p32_b1_half_host_s12_d5_e1_t128, float, 32, 1, 4, 0, 12, 5, 1, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b0_half_dev_s8_d5_e0_once_t64, double, 64, 0, 4, 1, 8, 5, 0, 1, 64
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b0_table_dev_s12_d5_e0_once_t64, float, 64, 0, 5, 1, 12, 5, 0, 1, 64
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b0_table_host_s8_d5_e1_t512, float, 32, 0, 5, 0, 8, 5, 1, 0, 512
#include "simt/scan_form.h"
#define SIMT_FORM f64_p32_b1_table_host_s8_d5_e1_once_t128, double, 32, 1, 5, 0, 8, 5, 1, 1, 128
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b1_row_dev_s12_d5_e1_once_t96, float, 64, 1, 6, 1, 12, 5, 1, 1, 96
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b0_row_host_s16_d5_e0_t128, float, 32, 0, 6, 0, 16, 5, 0, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM f64_p32_b0_row_host_s8_d5_e1_t64, double, 32, 0, 6, 0, 8, 5, 1, 0, 64
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b1_row_dev_s4_d5_e0_once_t128, double, 64, 1, 6, 1, 4, 5, 0, 1, 128
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b1_column_host_s4_d5_e1_once_t64, float, 32, 1, 7, 0, 4, 5, 1, 1, 64
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b0_column_dev_s8_d5_e1_t256, double, 64, 0, 7, 1, 8, 5, 1, 0, 256
#include "simt/scan_form.h"

// Lanes that take twice as much.
#define SIMT_TWICE
#define SIMT_FORM f64_p32_b0_ones_host_s8_d5_e1_twice_t512, double, 32, 0, 1, 0, 8, 5, 1, 1, 512
#include "simt/scan_form.h"
#define SIMT_FORM                                                                              \
  f64_p64_b1_equal_dev_s12_d4_e0_twice_t128, double, 64, 1, 2, 1, 12, 4, 0, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM                                                                              \
  f32_p32_b1_ones_host_s16_d5_e1_twice_t256, float, 32, 1, 1, 0, 16, 5, 1, 1, 256
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b0_column_dev_s8_d3_e0_twice_t64, float, 64, 0, 7, 1, 8, 3, 0, 1, 64
#include "simt/scan_form.h"
#undef SIMT_TWICE

// Products that also compute x'A x.
#define SIMT_DOTS
#define SIMT_FORM f64_p32_b0_dots_s8_d5_e1_once_t512, double, 32, 0, 0, 0, 8, 5, 1, 1, 512
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b1_dots_s16_d5_e1_t64, float, 32, 1, 0, 0, 16, 5, 1, 0, 64
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b1_ones_dots_s4_d5_e1_t64, double, 64, 1, 1, 0, 4, 5, 1, 0, 64
#include "simt/scan_form.h"
#undef SIMT_DOTS

static void check(void **state) {
  const scan_form &f = *(const scan_form *)*state;
  scan_check_form(f, f.steps == (f.value_bytes == 4 ? 12 : 8) && f.depth == 5 && f.empty &&
                         f.base == 0);
}

static void test_long_rows(void **) {
  scan_check_long_rows();
}

// ---- The launcher ---------------------------------------------------------------------------

static void test_sizes(void **) {
  static const struct {
    uint64_t longest;
    int depth;
  } depths[] = {{0, 0}, {2, 0},  {3, 1},  {4, 1},  {5, 2},  {8, 2},
                {9, 3}, {16, 3}, {17, 4}, {32, 4}, {33, 5}, {UINT32_MAX, 5}};
  merbit_context_desc desc = {};
  merbit_context *context;
  desc.side = MERBIT_SIDE_CPU;
  assert_int_equal(merbit_context_create(&desc, &context, nullptr), MERBIT_OK);
  assert_int_equal(MBI_SCAN_BUILD_THREADS, SCAN_BUILD_THREADS);
  assert_int_equal(MBI_SCAN_FIXUP_THREADS, SCAN_FIXUP_THREADS);
  for (const auto &d : depths) {
    merbit_plan plan = {};
    plan.state = test_plan_state();
    plan.context = context;
    plan.type = MERBIT_F64;
    plan.device.rows = plan.nonempty.count = 10;
    plan.nonempty.longest = (uint32_t)d.longest;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_scan_of(&plan)->depth, d.depth);
  }
  merbit_context_destroy(context);
}

int main() {
  return csr_main("scan", scan_forms,
                  {cmocka_unit_test(test_sizes), cmocka_unit_test(test_long_rows)}, check);
}
