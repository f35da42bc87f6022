// SCAN for whole rows in one launch: cuts against a simple loop, products against the error
// bound, rows over many rounds of a block.
#include "support/internal.h"

#define SIMT_WHOLE
#include "simt/scan_bed.h"
#include "simt/scan_long.h"

// In the order of `steps`. Blocks of 2, 3, 4, 16 and 32 warps, of which one takes the overhang.
#define SIMT_FORM f32_p32_b0_host_s4_d5_e1_t64, float, 32, 0, 0, 0, 4, 5, 1, 0, 64
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b1_dev_s4_d5_e0_once_t512, float, 64, 1, 0, 1, 4, 5, 0, 1, 512
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b1_ones_host_s4_d3_e1_t128, float, 32, 1, 1, 0, 4, 3, 1, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b0_host_s12_d5_e1_once_t96, float, 64, 0, 0, 0, 12, 5, 1, 1, 96
#include "simt/scan_form.h"
#define SIMT_FORM f64_p32_b0_dev_s2_d5_e1_t64, double, 32, 0, 0, 1, 2, 5, 1, 0, 64
#include "simt/scan_form.h"
#define SIMT_FORM                                                                              \
  f64_p64_b1_single_host_s4_d5_e1_once_t1024, double, 64, 1, 3, 0, 4, 5, 1, 1, 1024
#include "simt/scan_form.h"
#define SIMT_FORM f64_p32_b1_equal_dev_s4_d5_e0_t96, double, 32, 1, 2, 1, 4, 5, 0, 0, 96
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b0_host_s8_d2_e1_t128, double, 64, 0, 0, 0, 8, 2, 1, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b0_half_dev_s4_d5_e1_once_t128, float, 32, 0, 4, 1, 4, 5, 1, 1, 128
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b0_table_host_s4_d5_e0_t96, double, 64, 0, 5, 0, 4, 5, 0, 0, 96
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b1_table_dev_s8_d5_e1_once_t64, float, 64, 1, 5, 1, 8, 5, 1, 1, 64
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b1_row_host_s4_d5_e1_t96, float, 32, 1, 6, 0, 4, 5, 1, 0, 96
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b0_row_dev_s4_d5_e0_once_t128, double, 64, 0, 6, 1, 4, 5, 0, 1, 128
#include "simt/scan_form.h"
#define SIMT_FORM f64_p32_b0_column_dev_s2_d5_e1_t64, double, 32, 0, 7, 1, 2, 5, 1, 0, 64
#include "simt/scan_form.h"

static void check(void **state) {
  const scan_form &f = *(const scan_form *)*state;
  scan_check_form(f, f.threads == 64);
}

static void test_long_rows(void **) {
  scan_check_long_rows();
}

int main() {
  return csr_main("scan_whole", scan_forms, {cmocka_unit_test(test_long_rows)}, check);
}
