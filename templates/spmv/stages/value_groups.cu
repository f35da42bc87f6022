// Tests whether there are only a few distinct values, or one in each row or column, and stores
// values in these forms.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#include "spmv/stages/value_forms.cuh"

#include "spmv/stages/value_groups_arguments.cuh"

// Adds the values that the sample did not contain to keys and *distinct. Sets a bit of *against
// if there are too many. Launch: any grid of 256 threads. Shared: mbk_u64[MBK_KEYS].
MBK_KERNEL MBK_BOUNDS(256) mbk_forms_collect(MBK_GRID_CONSTANT mbk_forms_collect_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 *const copies = (mbk_u64 *)shared; // a copy, which is searched without atomics
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

// Counts in changes[0] the pairs of consecutive nonzeros with different values, and in
// changes[1] those of these pairs that lie in different rows. Both must be zero before. If the
// two counts are equal, each row has a single value. Launch: any grid of 256 threads.
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

// Stores `bits` as element i of an array of values.
MBK_DEVICE void mbk_forms_put(void *array, mbk_u64 i, mbk_u32 wide, mbk_u64 bits) {
  if (wide != 0) {
    ((mbk_u64 *)array)[i] = bits;
  } else {
    ((mbk_u32 *)array)[i] = (mbk_u32)bits;
  }
}

// Stores the table index of each value; number[i] is the index of the value of keys[i]. Launch:
// any grid of 256 threads. Shared: mbk_u64[MBK_KEYS], mbk_u8[MBK_KEYS].
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

// Stores the value of each row's first nonzero, or 0 for an empty row. Launch: any grid of 256
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

// Sets a bit of *against if some nonzero differs from the value of its column. A thread stops
// at the first difference. Launch: any grid of 256 threads.
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
