/* F16 and BF16: the user's conversions, for every number, at every midpoint and next to it. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/cpu.h"
#include "support/effort.h"

typedef struct kind { /* 16-bit floats as defined by IEEE 754 */
  const char *name;
  int fraction, bias; /* bits */
  float (*widen)(uint16_t bits);
  uint16_t (*narrow)(float value);
} kind;

static const kind kinds[] = {
    {"f16", 10, 15, merbit_f32_from_f16, merbit_f16_from_f32},
    {"bf16", 7, 127, merbit_f32_from_bf16, merbit_bf16_from_f32},
};

/* Returns the value of finite bits without sign; the first infinite one continues the sequence,
 * as the limit of rounding to infinity. */
static double value_of(const kind *k, unsigned bits) {
  const int exponent = (int)(bits >> k->fraction);
  const double fraction = (double)(bits & ((1u << k->fraction) - 1));
  return exponent == 0 ? ldexp(fraction, 1 - k->bias - k->fraction)
                       : ldexp(fraction + (1 << k->fraction), exponent - k->bias - k->fraction);
}

static unsigned infinity_of(const kind *k) {
  return 0x8000u - (1u << k->fraction);
}

static void expect_bits(const kind *k, float value, unsigned bits) {
  if (k->narrow(value) != bits || k->narrow(-value) != (bits | 0x8000u)) {
    fail_msg("%s: %a becomes 0x%04x, %a 0x%04x, not 0x%04x and its negative", k->name,
             (double)value, k->narrow(value), (double)-value, k->narrow(-value), bits);
  }
}

static void every_number(void **state) {
  int i;
  (void)state;
  for (i = 0; i < 2; i++) {
    const kind *k = &kinds[i];
    unsigned bits;
    for (bits = 0; bits < infinity_of(k); bits++) {
      const float value = k->widen((uint16_t)bits);
      assert_true((double)value == value_of(k, bits));
      assert_true((double)k->widen((uint16_t)(bits | 0x8000u)) == -value_of(k, bits));
      expect_bits(k, value, bits);
    }
    assert_true(isinf(k->widen((uint16_t)bits)) && k->widen((uint16_t)bits) > 0);
    expect_bits(k, INFINITY, bits);
    for (bits++; bits < 0x8000u; bits++) {
      const float value = k->widen((uint16_t)bits);
      assert_true(isnan(value));
      assert_true(isnan(k->widen(k->narrow(value))));
      assert_true(isnan(k->widen(k->narrow(-value))));
    }
  }
}

/* Between two neighbours a tie goes to the even one, everything else to the nearer one. */
static void every_tie(void **state) {
  int i;
  (void)state;
  for (i = 0; i < 2; i++) {
    const kind *k = &kinds[i];
    unsigned bits;
    for (bits = 0; bits < infinity_of(k); bits++) {
      const double middle = (value_of(k, bits) + value_of(k, bits + 1)) / 2;
      const float tie = (float)middle;
      if ((double)tie == middle) { /* the midpoint is a float */
        expect_bits(k, tie, bits + (bits & 1));
        expect_bits(k, nextafterf(tie, 0), bits);
        expect_bits(k, nextafterf(tie, INFINITY), bits + 1);
      } else {
        assert_true(k->bias == 127 && bits == infinity_of(k) - 1);
      }
    }
    expect_bits(k, FLT_MAX, infinity_of(k));
  }
}

/* Random numbers: no other number is nearer. */
static void any_number(void **state) {
  uint64_t seed = test_rotating_seed();
  int i, run;
  (void)state;
  for (i = 0; i < 2; i++) {
    const kind *k = &kinds[i];
    for (run = 0; run < 100000; run++) {
      const uint32_t random = (uint32_t)(test_random(&seed) >> 32) & 0x7fffffffu;
      float value;
      unsigned bits;
      double error;
      memcpy(&value, &random, sizeof value);
      bits = k->narrow(value);
      if (isnan(value)) {
        assert_true(isnan(k->widen((uint16_t)bits)));
        continue;
      }
      assert_true(bits <= infinity_of(k));
      error = fabs(value_of(k, bits) - (double)value);
      assert_true(isinf(value) || bits == infinity_of(k) ||
                  error <= fabs(value_of(k, bits + 1) - (double)value));
      assert_true(isinf(value) || bits == 0 ||
                  error <= fabs(value_of(k, bits - 1) - (double)value));
    }
  }
}

/* A NaN whose payload lies in the bits that are cut off remains a NaN. */
static void low_payloads(void **state) {
  const uint32_t nans[] = {0x7f800001u, 0x7f801fffu, 0x7f80ffffu, 0xff800001u, 0x7fffffffu};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof nans / sizeof nans[0]; i++) {
    float value;
    memcpy(&value, &nans[i], sizeof value);
    assert_true(isnan(merbit_f32_from_f16(merbit_f16_from_f32(value))));
    assert_true(isnan(merbit_f32_from_bf16(merbit_bf16_from_f32(value))));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_number),
      cmocka_unit_test(every_tie),
      cmocka_unit_test(any_number),
      cmocka_unit_test(low_payloads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
