// Test bed of the ROWS kernel: products of a generated matrix.
#ifndef SIMT_ROWS_BED_H
#define SIMT_ROWS_BED_H
#include "jit/device.cuh"

#include "simt/arguments.h"
#include "simt/csr.h"

struct rows_form : csr_form {
  unsigned lanes, unroll, threads;
  simt_kernel product, sum; // sum: for any beta
};

inline std::vector<const rows_form *> rows_forms;

template <class V> struct rows_bed : csr_bed<V> {
  rows_bed(const rows_form &f, int index, test_matrix &m) : csr_bed<V>(f, index, m), f(f) {
  }
  const rows_form &f;
};

template <class V>
void rows_multiply(rows_bed<V> &b, double alpha, double beta, simt_array &y, uint64_t seed) {
  if (b.f.vanishes(alpha)) { // neither A nor x may be read
    b.forbid(true);
  }
  const bool adds = b.f.adds(beta, seed);
  csr_product(b, b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    simt_late_guard late({&b.factors(), &y});
    late.scalar(at_alpha);
    late.scalar(at_beta);
    simt_run(adds ? b.f.sum : b.f.product, b.run(seed),
             {csr_divide_up(b.rows * b.f.lanes, b.f.threads), b.f.threads, b.f.table_bytes()},
             b.row_ptr.get(), b.col_ind.get(), b.values.get(), b.table.get(), b.factors().get(),
             y.get(), b.rows, at_alpha, at_beta);
  });
  b.allow();
}

template <class V>
void rows_check_matrix(const rows_form &f, int index, test_matrix &m, uint64_t seed, bool all) {
  rows_bed<V> b(f, index, m);
  csr_check_pairs(b, all, seed, rows_multiply<V>);
}
#endif // SIMT_ROWS_BED_H
