// Hashes the structure of a CSR.
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of row_ptr, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#include "jit/device.cuh"

#include "spmv/shared/csr_hash_arguments.cuh"

// Returns a hash of a number and its position (the finaliser of SplitMix64: Steele, Lea, Flood,
// OOPSLA 2014).
MBK_DEVICE mbk_u64 mbk_csr_mix(mbk_u64 place, mbk_u64 number) {
  mbk_u64 bits = place * 0x9e3779b97f4a7c15ull ^ number * 0xd1342543de82ef95ull;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
  return bits ^ bits >> 31;
}

// Adds to *hash a hash of row_ptr and col_ind; *hash must be zero before. The hash is a sum, so
// the order of the threads does not matter. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_csr_hash(MBK_GRID_CONSTANT mbk_csr_hash_arguments a) {
  const mbk_u64 stride = (mbk_u64)mbk_grid() * 256;
  const mbk_u64 first = (mbk_u64)mbk_block() * 256 + mbk_thread();
  mbk_u64 sum = 0;
  for (mbk_u64 i = first; i <= a.rows; i += stride) {
    sum += mbk_csr_mix(2 * i, (mbk_u64)(a.row_ptr[i] - MBK_BASE));
  }
  for (mbk_u64 k = first; k < a.nnz; k += stride) {
    sum += mbk_csr_mix(2 * k + 1, (mbk_u64)(a.col_ind[k] - MBK_BASE));
  }
  for (int d = 16; d > 0; d >>= 1) {
    sum += mbk_shuffle_xor(0xffffffffu, sum, d, 32);
  }
  if (mbk_lane() == 0) {
    mbk_atomic_add(a.hash, sum);
  }
}
