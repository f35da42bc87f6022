/* mbi_decimal_* against the C library's strtod and strtof, which are correctly rounded, bit for
 * bit. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include "support/matrices.h"

#define TEXT_SIZE 4096

static uint64_t bits_of_f64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint32_t bits_of_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Scans `text` from a block that ends eight bytes after its newline, so that ASan detects reads
 * beyond. */
static int scan(const char *text, mbi_decimal *decimal, char **block) {
  const size_t size = strlen(text);
  *block = (char *)malloc(size + 8);
  memcpy(*block, text, size);
  memset(*block + size, '\n', 8);
  return mbi_decimal_scan(*block, decimal) == *block + size;
}

static void check(const char *text) {
  mbi_decimal decimal;
  char *block;
  double f64 = 0, expected = strtod(text, NULL);
  float f32 = 0, expected_f32 = strtof(text, NULL);
  int finite, finite_f32;
  if (!scan(text, &decimal, &block)) {
    fail_msg("not taken as a number: %s", text);
  }
  finite = mbi_decimal_f64(&decimal, &f64);
  finite_f32 = mbi_decimal_f32(&decimal, &f32);
  free(block);
  if (bits_of_f64(f64) != bits_of_f64(expected) || finite != (isinf(expected) == 0)) {
    fail_msg("f64 of %s is %a, not %a", text, f64, expected);
  }
  if (bits_of_f32(f32) != bits_of_f32(expected_f32) ||
      finite_f32 != (isinf(expected_f32) == 0)) {
    fail_msg("f32 of %s is %a, not %a", text, (double)f32, (double)expected_f32);
  }
}

static void test_chosen(void **state) {
  static const char *const texts[] = {
      "0",
      "-0",
      "+0.0",
      "1",
      "-1",
      "10",
      ".5",
      "5.",
      "-.5e1",
      "00000000000000000000000000012.5",
      "0.00000000000000000000000000000000000000000000000012345678901234567890123",
      "1e-400",
      "-1e-400",
      "1e400",
      "-1e400",
      "1.7976931348623157e308",
      "1.7976931348623158e308",
      "1.7976931348623159e308",
      "1.797693134862315807e308",
      "1.797693134862315808e308",
      "1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490"
      "17977"
      "5872070963302864166928879109465555478519404026306574886715058206819089020007083836762738"
      "54845"
      "8177115317644757302700698555713669596228429148198608349364752927190741684443655107043427"
      "11559"
      "699508093042880177904174497792", /* halfway to 2^1024 */
      "1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490"
      "17977"
      "5872070963302864166928879109465555478519404026306574886715058206819089020007083836762738"
      "54845"
      "8177115317644757302700698555713669596228429148198608349364752927190741684443655107043427"
      "11559"
      "699508093042880177904174497791.9999999999",
      "3.4028235677973366e38",
      "3.4028235677973367e38",
      "3.40282356779733661637539395458142568447e38",
      "3.4028234e38",
      "4.9406564584124654e-324",
      "2.4703282292062327e-324",
      "2.4703282292062328e-324",
      "2.2250738585072011e-308",
      "2.2250738585072012e-308",
      "2.2250738585072014e-308",
      "1.401298464324817e-45",
      "7.006492321624085e-46",
      "7.0064923216240854e-46",
      "1.17549435082228750797e-38",
      "1.1754943508222875e-38",
      "9007199254740993",
      "9007199254740993."
      "00000000000000000000000000000000000000000000000000000000000000000000001",
      "9007199254740992."
      "99999999999999999999999999999999999999999999999999999999999999999999999",
      "9007199254740991.5",
      "16777217",
      "16777217.0000000000000000000000001",
      "16777219",
      "9223372036854775807",
      "-9223372036854775808",
      "18446744073709551615",
      "18446744073709551616",
      "18446744073709551617",
      "9999999999999999999",
      "99999999999999999999",
      "10000000000000000000000",
      "1e22",
      "1e23",
      "8.5e22",
      "1e-5",
      "123456789012345678",
      "1234567890123456789",
      "12345678901234567890",
      "1.00000000000000011102230246251565404",
      "1.00000000000000011102230246251565405",
      "1.00000000000000033306690738754696213",
      "0e999999999999999999999",
      "1e-999999999999999999999",
      "1e+05",
      "1E+005",
      "6.631236846766476e-316",
      "5e-324",
      "0.1",
      "0.3",
      "2.5e-1"};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    check(texts[i]);
  }
}

/* Digit strings of any length with any exponent. */
static void test_random_digits(void **state) {
  uint64_t seed = 1;
  char text[TEXT_SIZE];
  int i;
  (void)state;
  for (i = 0; i < 120000; i++) {
    const int digits = 1 + (int)test_below(&seed, i % 40 == 0 ? 900 : 24);
    const int point = (int)test_below(&seed, digits + 1);
    const int spread = i % 3 == 0 ? 20 : i % 3 == 1 ? 70 : 700;
    int at = 0, k;
    if (test_below(&seed, 2)) {
      text[at++] = '-';
    }
    for (k = 0; k < digits; k++) {
      if (k == point) {
        text[at++] = '.';
      }
      text[at++] = (char)('0' + test_below(&seed, 10));
    }
    (void)snprintf(text + at, 32, "e%d", (int)test_below(&seed, spread) - spread / 2);
    check(text);
  }
}

/* 17 digits of any double, normal or not, and all its digits. */
static void test_random_bits(void **state) {
  uint64_t seed = 2;
  char text[TEXT_SIZE];
  int i;
  (void)state;
  for (i = 0; i < 60000; i++) {
    uint64_t bits = test_random(&seed);
    double value;
    if (i % 5 == 0) {
      bits &= UINT64_C(0x800FFFFFFFFFFFFF); /* subnormal */
    }
    memcpy(&value, &bits, sizeof value);
    if (!isnan(value) && !isinf(value)) {
      (void)snprintf(text, sizeof text, "%.*e", i % 2 ? 16 : 14 + (int)test_below(&seed, 8),
                     value);
      check(text);
    }
  }
}

/* Exactly halfway between neighbours, and slightly above and below: glibc's %.*f is exact, and
 * long double holds every midpoint of normal doubles. */
static void check_around(char *text) {
  const size_t size = strlen(text);
  char *digit = text + size - 1;
  check(text);
  (void)snprintf(text + size, 64, "%s", "0000000000000000000000000000001");
  check(text);
  text[size] = '\0';
  while (digit > text && (*digit == '0' || *digit == '.')) {
    digit--;
  }
  if (*digit > '0' && *digit <= '9') {
    (*digit)--; /* and nines after it */
    (void)snprintf(text + size, 64, "%s", "9999999999999999999999999999999");
    check(text);
  }
}

static void test_halfway(void **state) {
  uint64_t seed = 3;
  char text[TEXT_SIZE];
  int i;
  (void)state;
  for (i = 0; i < 12000; i++) {
    const uint64_t bits = UINT64_C(0x3FF0000000000000) | test_random(&seed) >> 12;
    const uint32_t bits32 = UINT32_C(0x3F800000) | (uint32_t)(test_random(&seed) >> 41);
    const int exponent =
        (int)test_below(&seed, i % 4 == 0 ? 1900 : 200) - (i % 4 == 0 ? 950 : 100);
    double value;
    float single;
    memcpy(&value, &bits, sizeof value);
    memcpy(&single, &bits32, sizeof single);
    (void)snprintf(text, sizeof text, "%.1100Lf",
                   ldexpl((long double)value + 0x1p-53L, exponent));
    text[strlen(text) - 1] = '0';
    check_around(text);
    (void)snprintf(text, sizeof text, "%.300f",
                   ldexp((double)single + 0x1p-24, exponent % 120));
    check_around(text);
  }
}

/* Halfway between subnormals: (2k + 1) 2^-1075, and the same for floats. */
static void test_halfway_subnormal(void **state) {
  uint64_t seed = 4;
  char text[TEXT_SIZE];
  int i;
  (void)state;
  for (i = 0; i < 1500; i++) {
    const uint64_t k = test_random(&seed) >> (12 + test_below(&seed, 50));
    const uint64_t k32 = test_random(&seed) >> (41 + test_below(&seed, 22));
    (void)snprintf(text, sizeof text, "%.1075Lf", ldexpl((long double)(2 * k + 1), -1075));
    check_around(text);
    (void)snprintf(text, sizeof text, "%.150f", ldexp((double)(2 * k32 + 1), -150));
    check_around(text);
  }
}

static void test_fortran_exponent(void **state) {
  mbi_decimal decimal;
  char *block;
  double value = 0;
  (void)state;
  assert_true(scan("1.5D+03", &decimal, &block));
  assert_int_equal(decimal.integer, 0);
  assert_true(mbi_decimal_f64(&decimal, &value));
  assert_true(value == 1500.0);
  free(block);
  assert_true(scan("-25d-1", &decimal, &block));
  assert_true(mbi_decimal_f64(&decimal, &value));
  assert_true(value == -2.5);
  free(block);
}

static void test_not_numbers(void **state) {
  static const char *const texts[] = {"",    "-",    "+",   ".",   "-.",  "e5", ".e5", "1e",
                                      "1e+", "1e-x", "+-1", "--1", "abc", "x",  "1d",  "0x10",
                                      "1,5", "1.5.", "1_0", "inf", "nan", " 1", "1 ",  "1e5.0"};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    mbi_decimal decimal;
    char *block;
    if (scan(texts[i], &decimal, &block)) {
      fail_msg("taken as a number: \"%s\"", texts[i]);
    }
    free(block);
  }
}

static void test_integers_are_known(void **state) {
  mbi_decimal decimal;
  char *block;
  (void)state;
  assert_true(scan("-12345678901234567890123", &decimal, &block));
  assert_int_equal(decimal.integer, 1);
  free(block);
  assert_true(scan("1.0", &decimal, &block));
  assert_int_equal(decimal.integer, 0);
  free(block);
  assert_true(scan("1e3", &decimal, &block));
  assert_int_equal(decimal.integer, 0);
  free(block);
}

static void test_rounding_mode(void **state) {
  mbi_decimal decimal;
  char *block;
  double value = 0;
  (void)state;
  assert_true(scan("0.1", &decimal, &block));
  assert_int_equal(fesetround(FE_UPWARD), 0);
  assert_true(mbi_decimal_f64(&decimal, &value));
  assert_int_equal(fesetround(FE_TONEAREST), 0);
  free(block);
  assert_true(bits_of_f64(value) == UINT64_C(0x3FB999999999999A));
}

/* Returns the 128 bits of `big` from its leading one on, rounded down. Sets *rest if bits
 * follow. */
static mbi_u128 leading_bits(const mbi_big *big, int *rest) {
  mbi_u128 top = 0;
  int i, b, bits = 128;
  *rest = 0;
  for (i = big->count - 1; i >= 0; i--) {
    for (b = 31; b >= 0; b--) {
      const unsigned bit = big->limb[i] >> b & 1;
      if (bits == 0) {
        *rest |= (int)bit;
      } else if (bits < 128 || bit) {
        top = top << 1 | bit;
        bits--;
      }
    }
  }
  return top << bits;
}

static void expect_power(int q, mbi_u128 wanted) {
  uint64_t five[2];
  mbi_five_power(q, five);
  if (five[0] != (uint64_t)(wanted >> 64) || five[1] != (uint64_t)wanted) {
    fail_msg("5^%d is wrong", q);
  }
}

/* Checks the leading bits that the proof of the 128-bit product needs: of powers by long
 * multiplication, and of 2^N / 5^n by long division. */
static void test_powers(void **state) {
  mbi_big power = {{1}, 1};
  uint32_t quotient[40]; /* floor(2^1248 / 5^n), most significant first */
  int q, i, rest;
  (void)state;
  for (q = 0; q <= MBI_FIVE_LAST; q++) {
    expect_power(q, leading_bits(&power, &rest));
    mbi_big_scale(&power, 5, 0);
  }
  memset(quotient, 0, sizeof quotient);
  quotient[0] = 1;
  for (q = -1; q >= MBI_FIVE_FIRST; q--) {
    mbi_big big = {{0}, 0};
    uint64_t remainder = 0;
    mbi_u128 wanted;
    for (i = 0; i < 40; i++) {
      remainder = remainder << 32 | quotient[i];
      quotient[i] = (uint32_t)(remainder / 5);
      remainder %= 5;
    }
    for (i = 0; i < 40; i++) {
      big.limb[39 - i] = quotient[i];
    }
    big.count = 40;
    wanted = leading_bits(&big, &rest);
    expect_power(q, wanted + (q >= -27));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chosen),
      cmocka_unit_test(test_random_digits),
      cmocka_unit_test(test_random_bits),
      cmocka_unit_test(test_halfway),
      cmocka_unit_test(test_halfway_subnormal),
      cmocka_unit_test(test_fortran_exponent),
      cmocka_unit_test(test_not_numbers),
      cmocka_unit_test(test_integers_are_known),
      cmocka_unit_test(test_rounding_mode),
      cmocka_unit_test(test_powers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
