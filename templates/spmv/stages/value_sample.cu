// Samples the values of a CSR to rule out shorter forms.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#include "spmv/stages/value_forms.cuh"

#include "spmv/stages/value_sample_arguments.cuh"

// Sets in *against the forms that a sample rules out, and collects the sampled values in keys
// and *distinct. All three must be zero before. Each block samples a window of nonzeros, and
// each of its warps the beginning of a row. Launch: 256 threads per block. Shared:
// mbk_u64[MBK_FORMS_COLUMNS + MBK_KEYS], mbk_u32[2].
MBK_KERNEL MBK_BOUNDS(256) mbk_forms_sample(MBK_GRID_CONSTANT mbk_forms_sample_arguments a) {
  MBK_SHARED_MEMORY(shared);
  mbk_u64 *const columns = (mbk_u64 *)shared; // a column, a mark, and its place in the window
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
