// Shared by the kernels that test and convert values. Values have 8 bytes if `wide`, otherwise
// 4. Two values are equal if their bits are. Forms are bits of a mask, numbered as in
// spmv/shared/values.cuh.
#ifndef MBK_FORM_EQUAL
#include "jit/device.cuh"

#define MBK_FORM_EQUAL (1u << 1)
#define MBK_FORM_SINGLE (1u << 2)
#define MBK_FORM_HALF (1u << 3)
#define MBK_FORM_TABLE (1u << 4)
#define MBK_FORM_ROW (1u << 5)
#define MBK_FORM_COLUMN (1u << 6)
#define MBK_KEYS 512       // slots for different values, at most half of which are used
#define MBK_KEYS_MOST 256  // the most different values
#define MBK_KEYS_TRIES 128 // slots tried for a value
#define MBK_FORMS_WINDOW 2048
#define MBK_FORMS_COLUMNS 4096 // slots for the different columns of a window

MBK_DEVICE mbk_u64 mbk_forms_bits(const void *values, mbk_u64 k, mbk_u32 wide) {
  return wide != 0 ? mbk_load((const mbk_u64 *)values + k)
                   : mbk_load((const mbk_u32 *)values + k);
}

// Returns those of the forms EQUAL, SINGLE and HALF that nonzero k rules out. A NaN does not
// count as a float, because a conversion may change its bits.
MBK_DEVICE mbk_u32 mbk_forms_against(const void *values, mbk_u64 k, mbk_u32 wide) {
  const double value =
      wide != 0 ? mbk_load((const double *)values + k) : mbk_load((const float *)values + k);
  const float single = (float)value;
  mbk_u32 against = 0;
  if (!((double)single == value)) {
    against = MBK_FORM_SINGLE | MBK_FORM_HALF;
  } else if (!(mbk_half_value(mbk_half_of(single)) == single)) {
    against = MBK_FORM_HALF;
  }
  return against |
         (mbk_forms_bits(values, k, wide) != mbk_forms_bits(values, 0, wide) ? MBK_FORM_EQUAL
                                                                             : 0);
}

// ---- Distinct values ------------------------------------------------------------------------

// Returns the first slot of a key in the hash table of distinct values, which has open
// addressing. A key is the complement of a value's bits; a free slot holds 0.
MBK_DEVICE mbk_u32 mbk_forms_slot(mbk_u64 key) {
  return (mbk_u32)(key * 0x9e3779b97f4a7c15ull >> 55);
}

// Inserts a key, and counts it in *distinct, which is shared with other threads, if it was not
// there yet. Returns true if there are too many distinct keys, or if too many of them have
// neighbouring slots.
MBK_DEVICE bool mbk_forms_take(mbk_u64 *keys, mbk_u32 *distinct, mbk_u64 key) {
  mbk_u32 at = mbk_forms_slot(key);
  for (int i = 0; i < MBK_KEYS_TRIES && key != 0; i++) {
    const mbk_u64 there = mbk_atomic_swap_if(keys + at, 0ull, key);
    if (there == 0 || there == key) {
      return there == 0 && mbk_atomic_add(distinct, 1u) >= MBK_KEYS_MOST;
    }
    at = (at + 1) % MBK_KEYS;
  }
  return true;
}
#endif
