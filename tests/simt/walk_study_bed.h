// Test bed of spmv/study/walk_study.cu: the beginnings of walks of a generated matrix compared
// with a simple loop, and products. These are not repeatable: only the error bound is checked.
#ifndef SIMT_WALK_STUDY_BED_H
#define SIMT_WALK_STUDY_BED_H
#include "jit/device.cuh"

#include "simt/arguments.h"
#include "simt/csr.h"

struct walk_study_form : csr_form {
  unsigned steps, threads;
  simt_kernel cut, product, join;
};

inline std::vector<const walk_study_form *> walk_study_forms;

template <class V> struct walk_study_bed : csr_bed<V> {
  walk_study_bed(const walk_study_form &f, int index, test_matrix &m)
      : csr_bed<V>(f, index, m), f(f), walks((this->rows + this->nnz + f.steps - 1) / f.steps) {
  }

  // Checks the starts. The end of a row counts as a step after its last nonzero.
  void check_starts(const simt_array &start_row) const {
    uint64_t row = 0, k = 0;
    for (uint64_t walk = 0; walk <= walks; walk++) {
      while (row + k < std::min(walk * f.steps, this->rows + this->nnz)) {
        k == (uint64_t)this->m.row_ptr[row + 1] ? row++ : k++;
      }
      if (start_row.load(walk) != row) {
        fail_msg("%s on %s: walk %llu begins in row %llu, not %llu", f.name, this->m.name,
                 (unsigned long long)walk, (unsigned long long)start_row.load(walk),
                 (unsigned long long)row);
      }
    }
  }

  const walk_study_form &f;
  uint64_t walks;
};

template <class V>
void walk_study_multiply(walk_study_bed<V> &b, double alpha, double beta, simt_array &y,
                         uint64_t seed) {
  const simt_array start_row(b.walks + 1, 8, 0xff), parts(b.walks, sizeof(V), 0xff);
  const auto grid = [&](uint64_t items) { return csr_divide_up(items, b.f.threads); };
  if (alpha == 0) { // neither A nor x may be read
    b.forbid(true);
  }
  csr_with_scalars<V>(b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    simt_run(b.f.cut, b.run(seed), {grid(std::max(b.rows, b.walks + 1)), b.f.threads, 0},
             b.row_ptr.get(), start_row.get(), y.get(), b.rows, b.nnz, b.walks, at_alpha,
             at_beta);
    simt_run(b.f.product, b.run(seed), {grid(b.walks), b.f.threads, 0}, b.row_ptr.get(),
             b.col_ind.get(), b.values.get(), b.x.get(), y.get(), start_row.get(), parts.get(),
             b.rows, b.nnz, b.walks, at_alpha, at_beta);
    b.forbid(true);
    simt_run(b.f.join, b.run(seed), {grid(b.walks), b.f.threads, 0}, y.get(), start_row.get(),
             parts.get(), b.walks, at_alpha, at_beta);
  });
  b.allow();
  b.check_starts(start_row);
}

// Checks a pair like csr_check_pair, but not bit for bit.
template <class V> void walk_study_check_pair(walk_study_bed<V> &b, int pair, uint64_t seed) {
  const double alpha = csr_scalars[pair % 4], beta = csr_scalars[(pair / 4 + 1) % 4];
  simt_array y0(b.rows, sizeof(V)), y(b.rows, sizeof(V));
  uint64_t state = seed * 1000 + (uint64_t)b.index;
  for (uint64_t i = 0; i < b.rows; i++) {
    y0.as<V>()[i] = beta == 0 ? (V)NAN : (V)test_uniform(&state);
  }
  b.fill(state, (csr_data)((uint64_t)(pair + b.index) % 4));
  y.copy(y0);
  walk_study_multiply(b, alpha, beta, y, seed);
  if (csr_rows_wrong(&b.m, alpha, b.x.template as<V>(), beta, y0.as<V>(), y.as<V>()) > 0) {
    fail_msg("%s on %s, seed %llu: rows beyond the bound", b.f.name, b.m.name,
             (unsigned long long)seed);
  }
}

template <class V>
void walk_study_check_matrix(const walk_study_form &f, int index, test_matrix &m,
                             uint64_t seed) {
  walk_study_bed<V> b(f, index, m);
  if (b.rows == 0) { // nothing is launched
    return;
  }
  walk_study_check_pair(b, 13, seed); // alpha 0
  for (int i = 0; i < test_effort(1, 16); i++) {
    walk_study_check_pair(b, (index + (int)seed + i) % 16, seed);
  }
}
#endif // SIMT_WALK_STUDY_BED_H
