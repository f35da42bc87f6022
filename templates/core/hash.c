#include "core/context.h"

/* FNV-1a with 128 bits (Fowler, Noll, Vo; draft-eastlake-fnv). It names cache entries and
 * detects damage: every step is a bijection of the state, so changing a single byte always
 * changes the hash. It does not protect against forgery; checking who may write to the cache's
 * directory does (core/files.c). */

MBI_INTERNAL mbi_hash mbi_hash_start(void) {
  mbi_hash hash;
  hash.high = UINT64_C(0x6c62272e07bb0142);
  hash.low = UINT64_C(0x62b821756295c58d);
  return hash;
}

MBI_NOINLINE MBI_INTERNAL mbi_hash mbi_hash_add(mbi_hash hash, const void *data, size_t size) {
  const unsigned char *bytes = (const unsigned char *)data;
  const uint64_t prime = 0x13b; /* the prime is 2^88 + 0x13b */
  size_t i;
  for (i = 0; i < size; i++) {
    uint64_t below, carry;
    hash.low ^= bytes[i];
    below = (hash.low & 0xffffffffu) * prime;
    carry = (hash.low >> 32) * prime + (below >> 32);
    hash.high = hash.high * prime + (carry >> 32) + (hash.low << 24);
    hash.low = (carry << 32) | (below & 0xffffffffu);
  }
  return hash;
}

MBI_INTERNAL void mbi_hash_text(mbi_hash hash, char text[MBI_HASH_TEXT]) {
  (void)snprintf(text, MBI_HASH_TEXT, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}
