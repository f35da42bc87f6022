// Tests all values for the forms that a single value can rule out, and converts values to
// floats or halves.
#include "spmv/stages/value_forms.cuh"

#include "spmv/stages/value_check_arguments.cuh"

// Sets in *against those of the forms EQUAL, SINGLE and HALF that some value rules out. The
// answer is complete only for the forms in `asked`: a thread stops when it has ruled out all of
// them. Launch: any grid of 256 threads.
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

// Stores values as halves if `half`, otherwise as floats. Launch: any grid of 256 threads.
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
