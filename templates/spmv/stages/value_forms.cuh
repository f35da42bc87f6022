// Tests whether values can be stored shorter without loss, and stores them so.
// spmv/shared/device_csr.cu includes this file. Values have 8 bytes if `wide`, else 4. Two
// values are equal if their bits are. Forms are bits of a mask, numbered as in
// spmv/shared/values.cuh.
#ifndef MBK_ROW_PTR
#error "include spmv/shared/device_csr.cu, which opens with the list of macros"
#endif

#define MBK_FORM_EQUAL (1u << 1)
#define MBK_FORM_SINGLE (1u << 2)
#define MBK_FORM_HALF (1u << 3)
#define MBK_FORM_TABLE (1u << 4)
#define MBK_FORM_ROW (1u << 5)
#define MBK_FORM_COLUMN (1u << 6)
#define MBK_KEYS 512       // slots for different values; at most half are taken
#define MBK_KEYS_MOST 256  // different values
#define MBK_KEYS_TRIES 128 // slots tried for one value
#define MBK_FORMS_WINDOW 2048
#define MBK_FORMS_COLUMNS 4096 // slots for the different columns of a window

MBK_DEVICE mbk_u64 mbk_forms_bits(const void *values, mbk_u64 k, mbk_u32 wide) {
  return wide != 0 ? mbk_load((const mbk_u64 *)values + k)
                   : mbk_load((const mbk_u32 *)values + k);
}

// Returns the forms, of EQUAL, SINGLE and HALF, that nonzero k rules out. A NaN counts as no
// float, because a conversion may change its bits.
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

// Returns a key's first slot in the hash table of distinct values, which has open addressing. A
// key is the complement of a value's bits, or 0 in a free slot.
MBK_DEVICE mbk_u32 mbk_forms_slot(mbk_u64 key) {
  return (mbk_u32)(key * 0x9e3779b97f4a7c15ull >> 55);
}

// Inserts `key`. Returns true if it was not there, also if no slot is free.
MBK_DEVICE bool mbk_forms_insert(mbk_u64 *keys, mbk_u64 key) {
  mbk_u32 at = mbk_forms_slot(key);
  for (int i = 0; i < MBK_KEYS_TRIES; i++) {
    const mbk_u64 there = mbk_atomic_swap_if(keys + at, 0ull, key);
    if (there == 0 || there == key) {
      return there == 0;
    }
    at = (at + 1) % MBK_KEYS;
  }
  return true;
}

// Inserts a key and counts it in *distinct, which all blocks share. Returns true if there are
// too many distinct keys.
MBK_DEVICE bool mbk_forms_take(mbk_u64 *keys, mbk_u32 *distinct, mbk_u64 key) {
  return key == 0 ||
         (mbk_forms_insert(keys, key) && mbk_atomic_add(distinct, 1u) >= MBK_KEYS_MOST);
}

// ---- A sample -------------------------------------------------------------------------------

#include "spmv/stages/value_forms_arguments.cuh"

// Samples the matrix: sets in *against the forms that the samples rule out, and collects the
// samples' values in keys and *distinct. All three must be zero before. Each block samples a
// window of nonzeros, and each of its warps the beginning of a row. Launch: 256 threads per
// block. Shared: mbk_u64[MBK_FORMS_COLUMNS + MBK_KEYS], mbk_u32[2].
MBK_KERNEL MBK_BOUNDS(256) mbk_forms_sample(MBK_GRID_CONSTANT mbk_forms_sample_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 *const columns = (mbk_u64 *)shared; // each: a column, a mark, the place in the window
  mbk_u64 *const own = columns + MBK_FORMS_COLUMNS;
  mbk_u32 *const found = (mbk_u32 *)(own + MBK_KEYS), *const count = found + 1;
  for (mbk_u32 i = mbk_thread(); i < MBK_FORMS_COLUMNS + MBK_KEYS; i += 256) {
    columns[i] = 0;
  }
  if (mbk_thread() == 0) {
    *found = *count = 0;
  }
  mbk_block_sync();
  const mbk_u64 most = a.nnz < MBK_FORMS_WINDOW ? a.nnz : MBK_FORMS_WINDOW;
  const mbk_u64 first = (a.nnz - most) / mbk_grid() * mbk_block();
  mbk_u32 mine = 0;
  for (mbk_u32 i = mbk_thread(); i < most; i += 256) {
    const mbk_u64 bits = mbk_forms_bits(a.values, first + i, a.wide);
    const mbk_u32 column = (mbk_u32)(mbk_load(a.col_ind + first + i) - MBK_BASE);
    const mbk_u64 entry = (mbk_u64)column << 32 | 0x80000000u | i;
    mine |= mbk_forms_against(a.values, first + i, a.wide);
    mbk_u32 at = (column * 2654435761u) >> 20;
    mbk_u64 there = mbk_atomic_swap_if(columns + at, 0ull, entry);
    while (there != 0 && there >> 32 != column) {
      at = (at + 1) % MBK_FORMS_COLUMNS;
      there = mbk_atomic_swap_if(columns + at, 0ull, entry);
    }
    if (there != 0 && mbk_forms_bits(a.values, first + (there & 0x7fffffffu), a.wide) != bits) {
      mine |= MBK_FORM_COLUMN;
    }
    if (mbk_atomic_add(count, 0u) > MBK_KEYS_MOST || mbk_forms_take(own, count, ~bits)) {
      mine |= MBK_FORM_TABLE;
    }
  }
  const mbk_u64 row =
      a.rows * (mbk_block() * 8 + mbk_thread() / 32) / (8 * (mbk_u64)mbk_grid());
  const mbk_u64 start = (mbk_u64)(mbk_load(a.row_ptr + row) - MBK_BASE);
  const mbk_u64 end = (mbk_u64)(mbk_load(a.row_ptr + row + 1) - MBK_BASE);
  if (start + mbk_lane() < end && mbk_forms_bits(a.values, start + mbk_lane(), a.wide) !=
                                      mbk_forms_bits(a.values, start, a.wide)) {
    mine |= MBK_FORM_ROW;
  }
  if (mine != 0) {
    mbk_atomic_or(found, mine);
  }
  mbk_block_sync();
  const bool many = (*found & MBK_FORM_TABLE) != 0;
  mbk_block_sync();
  for (mbk_u32 i = mbk_thread(); i < MBK_KEYS && !many; i += 256) {
    if (own[i] != 0 && mbk_forms_take(a.keys, a.distinct, own[i])) {
      mbk_atomic_or(found, MBK_FORM_TABLE);
    }
  }
  mbk_block_sync();
  if (mbk_thread() == 0) {
    mbk_atomic_or(a.against, *found);
  }
}

// ---- All values -----------------------------------------------------------------------------

// Sets in *against the forms, of EQUAL, SINGLE and HALF, that some value rules out. The answer
// is complete for the forms in `asked`: a thread stops when it has ruled out all of these.
// Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_forms_check(MBK_GRID_CONSTANT mbk_forms_check_arguments a) {
  mbk_u32 found = 0;
  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread();
       k < a.nnz && (found & a.asked) != a.asked; k += (mbk_u64)mbk_grid() * 256) {
    found |= mbk_forms_against(a.values, k, a.wide);
  }
  for (int d = 16; d > 0; d >>= 1) {
    found |= mbk_shuffle_xor(0xffffffffu, found, d, 32);
  }
  if (mbk_lane() == 0 && found != 0) {
    mbk_atomic_or(a.against, found);
  }
}

// Adds the values that the sample did not contain to keys and *distinct. Sets a bit of *against
// if there are too many. Launch: any grid of 256 threads. Shared: mbk_u64[MBK_KEYS].
MBK_KERNEL MBK_BOUNDS(256) mbk_forms_collect(MBK_GRID_CONSTANT mbk_forms_collect_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 *const copies = (mbk_u64 *)shared; // a copy, in which a key is looked up without an
                                             // atomic
  for (mbk_u32 i = mbk_thread(); i < MBK_KEYS; i += 256) {
    copies[i] = a.keys[i];
  }
  mbk_block_sync();
  bool many = false;
  mbk_u64 last = 0;
  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread(); k < a.nnz && !many;
       k += (mbk_u64)mbk_grid() * 256) {
    const mbk_u64 key = ~mbk_forms_bits(a.values, k, a.wide);
    mbk_u32 at = mbk_forms_slot(key);
    for (int i = 0; i < MBK_KEYS_TRIES && copies[at] != 0 && copies[at] != key; i++) {
      at = (at + 1) % MBK_KEYS;
    }
    if (copies[at] != key || key == 0) {
      many = key != last || key == 0 ? mbk_forms_take(a.keys, a.distinct, key) : false;
      last = key;
    }
  }
  if (many) {
    mbk_atomic_or(a.against, MBK_FORM_TABLE);
  }
}

// Counts in changes[0] the neighbouring nonzeros with different values, and in changes[1] those
// of them that lie in different rows. Both must be zero before. If both counts are equal, each
// row has one value. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_forms_changes(MBK_GRID_CONSTANT mbk_forms_changes_arguments a) {
  const mbk_u64 first = (mbk_u64)mbk_block() * 256 + mbk_thread();
  const mbk_u64 stride = (mbk_u64)mbk_grid() * 256;
  mbk_u64 all = 0, between = 0;
  for (mbk_u64 k = first + 1; k < a.nnz; k += stride) {
    all += mbk_forms_bits(a.values, k, a.wide) != mbk_forms_bits(a.values, k - 1, a.wide);
  }
  for (mbk_u64 row = first; row < a.rows; row += stride) {
    const mbk_u64 start = (mbk_u64)(mbk_load(a.row_ptr + row) - MBK_BASE);
    if (start > 0 && start < (mbk_u64)(mbk_load(a.row_ptr + row + 1) - MBK_BASE)) {
      between += mbk_forms_bits(a.values, start, a.wide) !=
                 mbk_forms_bits(a.values, start - 1, a.wide);
    }
  }
  for (int d = 16; d > 0; d >>= 1) {
    all += mbk_shuffle_xor(0xffffffffu, all, d, 32);
    between += mbk_shuffle_xor(0xffffffffu, between, d, 32);
  }
  if (mbk_lane() == 0) {
    mbk_atomic_add(a.changes, all);
    mbk_atomic_add(a.changes + 1, between);
  }
}

// ---- Shorter ones ---------------------------------------------------------------------------

// Stores `bits` as element i of an array of the values' width.
MBK_DEVICE void mbk_forms_put(void *array, mbk_u64 i, mbk_u32 wide, mbk_u64 bits) {
  if (wide != 0) {
    ((mbk_u64 *)array)[i] = bits;
  } else {
    ((mbk_u32 *)array)[i] = (mbk_u32)bits;
  }
}

// Stores values as floats, or with `half` as halves. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_forms_shorten(MBK_GRID_CONSTANT mbk_forms_shorten_arguments a) {
  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread(); k < a.nnz;
       k += (mbk_u64)mbk_grid() * 256) {
    const float value = a.wide != 0 ? (float)mbk_load((const double *)a.values + k)
                                    : mbk_load((const float *)a.values + k);
    if (a.half != 0) {
      ((mbk_u16 *)a.shorter)[k] = mbk_half_of(value);
    } else {
      ((float *)a.shorter)[k] = value;
    }
  }
}

// Stores each value as its number in the table; number[i] is that of the value of keys[i].
// Launch: any grid of 256 threads. Shared: mbk_u64[MBK_KEYS], mbk_u8[MBK_KEYS].
MBK_KERNEL MBK_BOUNDS(256) mbk_forms_number(MBK_GRID_CONSTANT mbk_forms_number_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 *const copies = (mbk_u64 *)shared;
  mbk_u8 *const numbers = (mbk_u8 *)(copies + MBK_KEYS);
  for (mbk_u32 i = mbk_thread(); i < MBK_KEYS; i += 256) {
    copies[i] = mbk_load(a.keys + i);
    numbers[i] = mbk_load(a.number + i);
  }
  mbk_block_sync();
  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread(); k < a.nnz;
       k += (mbk_u64)mbk_grid() * 256) {
    const mbk_u64 key = ~mbk_forms_bits(a.values, k, a.wide);
    mbk_u32 at = mbk_forms_slot(key);
    while (copies[at] != key && copies[at] != 0) {
      at = (at + 1) % MBK_KEYS;
    }
    a.shorter[k] = numbers[at];
  }
}

// Stores the value of each row's first nonzero, 0 for an empty row. Launch: any grid of 256
// threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_forms_rows(MBK_GRID_CONSTANT mbk_forms_rows_arguments a) {
  for (mbk_u64 row = (mbk_u64)mbk_block() * 256 + mbk_thread(); row < a.rows;
       row += (mbk_u64)mbk_grid() * 256) {
    const MBK_ROW_PTR start = mbk_load(a.row_ptr + row);
    const bool holds = start < mbk_load(a.row_ptr + row + 1);
    mbk_forms_put(a.by_row, row, a.wide,
                  holds ? mbk_forms_bits(a.values, (mbk_u64)(start - MBK_BASE), a.wide) : 0);
  }
}

// Stores for each column the value of one of its nonzeros. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_forms_columns(MBK_GRID_CONSTANT mbk_forms_columns_arguments a) {
  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread(); k < a.nnz;
       k += (mbk_u64)mbk_grid() * 256) {
    mbk_forms_put(a.by_column, (mbk_u64)(mbk_load(a.col_ind + k) - MBK_BASE), a.wide,
                  mbk_forms_bits(a.values, k, a.wide));
  }
}

// Sets a bit of *against if some nonzero differs from its column's value. A thread stops at the
// first that does. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_forms_differ(MBK_GRID_CONSTANT mbk_forms_differ_arguments a) {
  bool differs = false;
  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread(); k < a.nnz && !differs;
       k += (mbk_u64)mbk_grid() * 256) {
    const mbk_u64 column = (mbk_u64)(mbk_load(a.col_ind + k) - MBK_BASE);
    differs =
        mbk_forms_bits(a.by_column, column, a.wide) != mbk_forms_bits(a.values, k, a.wide);
  }
  if (differs) {
    mbk_atomic_or(a.against, MBK_FORM_COLUMN);
  }
}
