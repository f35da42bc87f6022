// Products by the MERBIT kernels with both commits, on every generated matrix, against the
// componentwise error bound.
#ifndef SIMT_MERBIT_PRODUCT_H
#define SIMT_MERBIT_PRODUCT_H
#include "simt/merbit_bed.h"

template <class V> simt_size merbit_product_size(const merbit_bed<V> &b) {
  return {(unsigned)b.blocks, b.f.threads,
          merbit_product_shared(sizeof(V), b.f.threads, b.f.omega, b.f.sigma)};
}

// ---- Carry-out commit -----------------------------------------------------------------------

template <class V>
void merbit_multiply(merbit_bed<V> &b, double alpha, double beta, simt_array &y,
                     uint64_t seed) {
  const simt_array first(b.blocks, sizeof(V), 0xff), out(b.blocks, sizeof(V), 0xff);
  const simt_size product = merbit_product_size(b);
  const simt_size fixup = {
      (unsigned)((b.blocks + MERBIT_FIXUP_THREADS - 1) / MERBIT_FIXUP_THREADS),
      MERBIT_FIXUP_THREADS, merbit_fixup_shared(sizeof(V))};
  if (alpha == 0) { // neither A nor x may be read
    b.forbid(true);
  }
  const auto multiply = [&](const auto &given_alpha, const auto &given_beta) {
    simt_run(b.f.product, b.run(seed), product, b.tile_x.get(), b.tile_y.get(),
             b.lane_desc.get(), b.col_ind.get(), b.values.get(), b.x.get(), y.get(), b.path,
             b.tiles, first.get(), out.get(), given_alpha, given_beta);
    b.forbid(true); // the fix-up reads neither
    simt_run(b.f.fixup, b.run(seed), fixup, b.row_ptr.get(), b.tile_y.get(), first.get(),
             out.get(), y.get(), b.tiles, b.blocks, given_alpha, given_beta);
  };
  csr_with_scalars<V>(b.f, alpha, beta, seed, multiply);
  b.allow();
}

// ---- Dual-buffer commit ---------------------------------------------------------------------

// Checks four products that alternate between two buffers. Before the first, y is zero only
// where blocks share rows; everything else is NaN.
template <class V> void merbit_check_dual(merbit_bed<V> &b, uint64_t seed) {
  const simt_array one(b.rows, sizeof(V), 0xff), two(b.rows, sizeof(V), 0xff);
  const uint64_t row_bits = ~((uint64_t)1 << (b.f.tile_bytes * 8 - 1));
  V *y = one.as<V>(), *z = two.as<V>();
  for (uint64_t block = 0; block < b.blocks; block++) {
    y[b.tile_y.load(block * b.groups) & row_bits] = 0;
  }
  for (uint64_t call = 0; call < 4; call++) {
    b.fill(seed * 4 + call, (csr_data)((call + seed) % 4));
    simt_run(b.f.product, b.run(seed), merbit_product_size(b), b.tile_x.get(), b.tile_y.get(),
             b.lane_desc.get(), b.col_ind.get(), b.values.get(), b.x.get(), y, b.path, b.tiles,
             z, b.rows);
    if (csr_rows_wrong(&b.m, 1, b.x.template as<V>(), 0, (const V *)nullptr, y) > 0) {
      fail_msg("%s on %s, seed %llu, call %d: rows beyond the bound", b.f.name, b.m.name,
               (unsigned long long)seed, (int)call);
    }
    std::swap(y, z);
  }
}

// ---- One form on one matrix and on all matrices ---------------------------------------------

// Returns whether a form runs all 16 pairs of alpha and beta: the default forms do with the
// first seeds. Other forms run alpha 0 and one pair that changes from matrix to matrix.
inline bool merbit_all_pairs(const merbit_form &f, uint64_t path, uint64_t seed) {
  return f.sigma == (f.value_bytes == 4 ? 14 : 7) && f.omega == 32 && f.base == 0 &&
         f.tile_bytes == 4 && !f.pattern && path < 1500 && seed == 1;
}

template <class V>
void merbit_check_matrix(const merbit_form &f, int index, test_matrix &m, uint64_t seed) {
  merbit_bed<V> b(f, index, m);
  for (uint64_t schedule = seed; schedule < seed + 2; schedule++) {
    merbit_build(b, schedule);
    if (f.dual) {
      merbit_check_dual(b, schedule);
    }
  }
  const bool all = merbit_all_pairs(f, b.path, seed);
  if (!f.dual) {
    csr_check_pairs(b, all, seed, merbit_multiply<V>);
  }
}

// Returns whether a form with a thread per step would take too long for a large matrix.
inline bool merbit_too_slow(const merbit_form &f, const test_matrix &m) {
  return f.sigma == 1 && m.rows + m.nnz > 20000;
}

// True if the forms are a sample; then each runs one pair of seeds only.
inline bool merbit_sampled = false;

template <class V> void merbit_check_form(const merbit_form &f, uint64_t seed) {
  csr_each_matrix(seed, [&](int index, test_matrix &m) {
    if (!merbit_too_slow(f, m) && !csr_left_to_others(csr_place(merbit_forms, &f), index, m)) {
      merbit_check_matrix<V>(f, index, m, seed);
    }
  });
}

// Tests the form that is the cmocka state.
inline void merbit_check(void **state) {
  const merbit_form &f = *(const merbit_form *)*state;
  for (uint64_t seed : csr_seeds(merbit_forms, &f, merbit_sampled || test_effort(1, 0))) {
    if (f.value_bytes == 4) {
      merbit_check_form<float>(f, seed);
    } else {
      merbit_check_form<double>(f, seed);
    }
  }
}

// Tests every form of the program.
inline int merbit_main(bool sampled = false) {
  merbit_sampled = sampled;
  return csr_main("merbit", merbit_forms, {}, merbit_check);
}
#endif // SIMT_MERBIT_PRODUCT_H
