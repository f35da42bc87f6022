// The launch sizes of the MERBIT kernels, computed independently of the launcher;
// test_merbit_sizes compares the two.
#ifndef SIMT_MERBIT_SIZES_H
#define SIMT_MERBIT_SIZES_H

enum { MERBIT_BUILD_THREADS = 128, MERBIT_FIXUP_THREADS = 256 };

inline unsigned merbit_build_shared(unsigned omega, unsigned sigma) {
  const unsigned words = (omega * sigma + 31) / 32 + 2;
  return MERBIT_BUILD_THREADS / omega * words * 4;
}

inline unsigned merbit_product_shared(unsigned value_bytes, unsigned threads, unsigned omega,
                                      unsigned sigma) {
  const unsigned groups = threads / omega;
  return value_bytes * (threads * sigma + groups) + 4 * groups;
}

inline unsigned merbit_fixup_shared(unsigned value_bytes) {
  return MERBIT_FIXUP_THREADS * value_bytes + MERBIT_FIXUP_THREADS / 32 * 4;
}
#endif // SIMT_MERBIT_SIZES_H
