// SCAN with linked blocks: products against the error bound, twice with the same slots, and
// rows of many blocks.
#include "support/internal.h"

#define SIMT_LINKED
#include "simt/scan_bed.h"
#include "simt/scan_long.h"

// In the order of `steps`. Blocks of 1, 2, 3, 4 and 16 warps.
#define SIMT_FORM f32_p32_b0_host_s4_d5_e1_t32, float, 32, 0, 0, 0, 4, 5, 1, 0, 32
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b1_dev_s2_d5_e0_t128, float, 64, 1, 0, 1, 2, 5, 0, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b1_ones_host_s8_d3_e1_t512, float, 32, 1, 1, 0, 8, 3, 1, 0, 512
#include "simt/scan_form.h"
#define SIMT_FORM f64_p32_b0_dev_s2_d5_e1_t64, double, 32, 0, 0, 1, 2, 5, 1, 0, 64
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b1_single_host_s4_d5_e0_t96, double, 64, 1, 3, 0, 4, 5, 0, 0, 96
#include "simt/scan_form.h"
#define SIMT_FORM f32_p64_b0_half_host_s4_d5_e1_t64, float, 64, 0, 4, 0, 4, 5, 1, 0, 64
#include "simt/scan_form.h"
#define SIMT_FORM f64_p64_b0_table_host_s2_d5_e1_t96, double, 64, 0, 5, 0, 2, 5, 1, 0, 96
#include "simt/scan_form.h"
#define SIMT_FORM f32_p32_b1_row_host_s2_d5_e1_t64, float, 32, 1, 6, 0, 2, 5, 1, 0, 64
#include "simt/scan_form.h"

static void check(void **state) {
  const scan_form &f = *(const scan_form *)*state;
  scan_check_form(f, true);
}

static void test_long_rows(void **) {
  scan_check_long_rows();
}

int main() {
  return csr_main("scan_linked", scan_forms, {cmocka_unit_test(test_long_rows)}, check);
}
