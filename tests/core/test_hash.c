/* FNV-1a, 128 bits: published vectors, independence of how the bytes are divided, no ignored
 * bytes. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void expect(const char *text, const char *digits) {
  char found[MBI_HASH_TEXT];
  mbi_hash_text(mbi_hash_add(mbi_hash_start(), text, strlen(text)), found);
  assert_string_equal(found, digits);
}

static void vectors(void **state) {
  (void)state;
  expect("", "6c62272e07bb014262b821756295c58d");
  expect("a", "d228cb696f1a8caf78912b704e4a8964");
  expect("foobar", "343e1662793c64bf6f0d3597ba446f18");
}

/* Computes the same hash by 32-bit long multiplication with the whole prime 2^88 + 0x13b. */
static void slow_hash(const unsigned char *data, size_t size, uint32_t h[4]) {
  static const uint32_t prime[4] = {0x13b, 0, (uint32_t)1 << 24, 0};
  size_t i;
  int a, b;
  h[0] = 0x6295c58du;
  h[1] = 0x62b82175u;
  h[2] = 0x07bb0142u;
  h[3] = 0x6c62272eu;
  for (i = 0; i < size; i++) {
    uint32_t product[4] = {0, 0, 0, 0};
    h[0] ^= data[i];
    for (a = 0; a < 4; a++) {
      uint64_t carry = 0;
      for (b = 0; a + b < 4; b++) {
        carry += (uint64_t)h[a] * prime[b] + product[a + b];
        product[a + b] = (uint32_t)carry;
        carry >>= 32;
      }
    }
    memcpy(h, product, sizeof product);
  }
}

static void against_long_multiplication(void **state) {
  unsigned char data[300];
  size_t size, i;
  (void)state;
  for (i = 0; i < sizeof data; i++) {
    data[i] = (unsigned char)(i * 151 + (i >> 3) * 7);
  }
  for (size = 0; size <= sizeof data; size++) {
    const mbi_hash hash = mbi_hash_add(mbi_hash_start(), data, size);
    uint32_t h[4];
    slow_hash(data, size, h);
    assert_true(hash.low == (((uint64_t)h[1] << 32) | h[0]));
    assert_true(hash.high == (((uint64_t)h[3] << 32) | h[2]));
  }
}

static void pieces_add_up(void **state) {
  const char *text = "a key made of several fields";
  const mbi_hash whole = mbi_hash_add(mbi_hash_start(), text, strlen(text));
  size_t cut;
  (void)state;
  for (cut = 0; cut <= strlen(text); cut++) {
    mbi_hash hash = mbi_hash_add(mbi_hash_start(), text, cut);
    hash = mbi_hash_add(hash, text + cut, strlen(text) - cut);
    assert_memory_equal(&hash, &whole, sizeof whole);
  }
}

static void every_bit_counts(void **state) {
  unsigned char data[64];
  mbi_hash before;
  size_t i;
  (void)state;
  memset(data, 0, sizeof data);
  before = mbi_hash_add(mbi_hash_start(), data, sizeof data);
  for (i = 0; i < 8 * sizeof data; i++) {
    mbi_hash after;
    data[i / 8] ^= (unsigned char)(1u << (i % 8));
    after = mbi_hash_add(mbi_hash_start(), data, sizeof data);
    assert_memory_not_equal(&after, &before, sizeof before);
    data[i / 8] ^= (unsigned char)(1u << (i % 8));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors),
      cmocka_unit_test(against_long_multiplication),
      cmocka_unit_test(pieces_add_up),
      cmocka_unit_test(every_bit_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
