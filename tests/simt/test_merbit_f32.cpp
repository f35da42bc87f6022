// The MERBIT kernels in float: the default forms, then a list in which any two choices of the
// following meet: sigma or threads, omega, bits of offsets, bits of tile starts, base, values
// or ones, commit with scalars on the host, on the device or none. merbit_sample.py tries other
// combinations.
#include "simt/merbit_product.h"

#define SIMT_FORM f32_s14_o32_t128_p32_b0_c32_host, float, 14, 32, 128, 32, 0, 32, 0, 0, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s14_o32_t512_p64_b0_c32_host, float, 14, 32, 512, 64, 0, 32, 0, 0, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s14_o32_t128_p32_b0_c32_dual, float, 14, 32, 128, 32, 0, 32, 0, 0, 1
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s46_o8_t64_p64_b1_c32_1_dev, float, 46, 8, 64, 64, 1, 32, 1, 1, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s1_o16_t1024_p32_b0_c64_1_dev, float, 1, 16, 1024, 32, 0, 64, 1, 1, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s43_o8_t512_p32_b1_c64_dual, float, 43, 8, 512, 32, 1, 64, 0, 0, 1
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s7_o32_t32_p64_b1_c64_1_host, float, 7, 32, 32, 64, 1, 64, 1, 0, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s28_o16_t32_p64_b1_c32_dual, float, 28, 16, 32, 64, 1, 32, 0, 0, 1
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s17_o16_t64_p32_b0_c64_host, float, 17, 16, 64, 32, 0, 64, 0, 0, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s17_o8_t1024_p64_b1_c32_1_dual, float, 17, 8, 1024, 64, 1, 32, 1, 0, 1
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s14_o16_t128_p32_b1_c64_1_dev, float, 14, 16, 128, 32, 1, 64, 1, 1, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s28_o8_t1024_p32_b0_c64_host, float, 28, 8, 1024, 32, 0, 64, 0, 0, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s7_o16_t32_p32_b0_c64_dev, float, 7, 16, 32, 32, 0, 64, 0, 1, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s1_o8_t128_p64_b1_c32_host, float, 1, 8, 128, 64, 1, 32, 0, 0, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s41_o32_t64_p64_b0_c32_dev, float, 41, 32, 64, 64, 0, 32, 0, 1, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s43_o16_t512_p32_b0_c32_1_dev, float, 43, 16, 512, 32, 0, 32, 1, 1, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s7_o8_t64_p64_b0_c32_1_dual, float, 7, 8, 64, 64, 0, 32, 1, 0, 1
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s1_o32_t1024_p64_b0_c64_1_dual, float, 1, 32, 1024, 64, 0, 64, 1, 0, 1
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s28_o32_t64_p32_b0_c64_1_dev, float, 28, 32, 64, 32, 0, 64, 1, 1, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s17_o32_t32_p32_b1_c64_1_dev, float, 17, 32, 32, 32, 1, 64, 1, 1, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s43_o8_t32_p32_b0_c64_host, float, 43, 8, 32, 32, 0, 64, 0, 0, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_s14_o8_t1024_p32_b1_c32_1_dev, float, 14, 8, 1024, 32, 1, 32, 1, 1, 0
#include "simt/merbit_form.h"

int main() {
  return merbit_main();
}
