// Finds the sizes of the full blocks of which a CSR may consist.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#include "jit/device.cuh"

#include "spmv/shared/csr_blocks_arguments.cuh"

// The candidate block sizes, 2 to 16: bit n stands for n rows, or n columns.
#define MBK_BLOCK_SHAPES 0x1fffcu
#define MBK_BLOCK_PART 256 // nonzeros after which a warp checks what others have found

#define MBK_BLOCK_PERIOD 720720u // the least common multiple of the sizes

// Returns the sizes in `among` of which `place` is not a multiple. 64-bit divisions are slow,
// so there is at most one.
MBK_DEVICE mbk_u32 mbk_csr_inside(mbk_u64 place, mbk_u32 among) {
  const mbk_u32 rest = place >> 32 == 0 ? (mbk_u32)place : (mbk_u32)(place % MBK_BLOCK_PERIOD);
  mbk_u32 sizes = 0;
  while (among != 0) { // few sizes as a rule: a sample of rows has ruled out the others
    const mbk_u32 n = 31 - (mbk_u32)mbk_leading_zeros(among);
    among &= ~(1u << n);
    sizes |= rest % n != 0 ? 1u << n : 0;
  }
  return sizes;
}

// Returns the bitwise or over the warp, in every lane.
MBK_DEVICE mbk_u32 mbk_csr_any(mbk_u32 bits) {
  for (int d = 16; d > 0; d >>= 1) {
    bits |= mbk_shuffle_xor(0xffffffffu, bits, d, 32);
  }
  return bits;
}

// Returns true, in all lanes, if the warps together have ruled out every size.
MBK_DEVICE bool mbk_csr_ruled_out(mbk_u32 *against) {
  mbk_u32 both = 0;
  if (mbk_lane() == 0) {
    both = mbk_atomic_add(against, 0u) & mbk_atomic_add(against + 1, 0u);
  }
  both = mbk_shuffle(0xffffffffu, both, 0, 32);
  return (both & MBK_BLOCK_SHAPES) == MBK_BLOCK_SHAPES;
}

// Rules out sizes of full blocks. Sets bit n of against[0] if the rows of a block of n rows
// differ in their columns. Sets bit n of against[1] if a row's columns do not consist of runs
// of n columns that start at multiples of n. Sizes whose bits are already set are not tried.
// Launch: one warp for each of `count` rows, `step` rows apart; 256 threads per block.
MBK_KERNEL MBK_BOUNDS(256) mbk_csr_blocks(MBK_GRID_CONSTANT mbk_csr_blocks_arguments a) {
  const mbk_u64 warp = ((mbk_u64)mbk_block() * 256 + mbk_thread()) / 32, row = warp * a.step;
  // Shuffled so that all lanes agree, although other warps may set bits meanwhile.
  const mbk_u32 heights = MBK_BLOCK_SHAPES & ~mbk_shuffle(0xffffffffu, a.against[0], 0, 32);
  const mbk_u32 widths = MBK_BLOCK_SHAPES & ~mbk_shuffle(0xffffffffu, a.against[1], 0, 32);
  mbk_u32 high = 0, wide = 0;
  if (warp < a.count) {
    const mbk_i64 start = (mbk_i64)a.row_ptr[row] - MBK_BASE;
    const mbk_i64 end = (mbk_i64)a.row_ptr[row + 1] - MBK_BASE;
    const mbk_i64 next = row + 1 < a.rows ? (mbk_i64)a.row_ptr[row + 2] - MBK_BASE - end : -1;
    bool same = next == end - start;
    for (mbk_i64 part = 0; part < end - start; part += MBK_BLOCK_PART) {
      const mbk_i64 stop =
          part + MBK_BLOCK_PART < end - start ? part + MBK_BLOCK_PART : end - start;
      if (part > 0 && ((mbk_ballot(0xffffffffu, !same) != 0 && mbk_csr_any(wide) == widths) ||
                       mbk_csr_ruled_out(a.against))) {
        break; // this row and others have ruled out all sizes
      }
      for (mbk_i64 k = part + mbk_lane(); k < stop; k += 32) {
        const mbk_i64 column = (mbk_i64)a.col_ind[start + k] - MBK_BASE;
        same = same && (mbk_i64)a.col_ind[end + k] - MBK_BASE == column;
        if (k + 1 == end - start ||
            (mbk_i64)a.col_ind[start + k + 1] - MBK_BASE != column + 1) {
          wide |= mbk_csr_inside((mbk_u64)k + 1, widths); // a run ends here
        }
        // At the start of a run of n columns, both k and the column are multiples of n.
        wide |= mbk_csr_inside((mbk_u64)column, widths) & ~mbk_csr_inside((mbk_u64)k, widths);
      }
    }
    high = same ? 0 : mbk_csr_inside(row + 1, heights);
  }
  high = mbk_csr_any(high);
  wide = mbk_csr_any(wide);
  if (mbk_lane() == 0 && (high & ~a.against[0]) != 0) {
    mbk_atomic_or(a.against, high);
  }
  if (mbk_lane() == 0 && (wide & ~a.against[1]) != 0) {
    mbk_atomic_or(a.against + 1, wide);
  }
}
