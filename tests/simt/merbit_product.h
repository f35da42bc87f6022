// Products of the MERBIT kernels with both commits, on every generated matrix, against the
// componentwise bound.
#ifndef SIMT_MERBIT_PRODUCT_H
#define SIMT_MERBIT_PRODUCT_H
#include <limits>

#include "simt/merbit_bed.h"

inline int merbit_rows_wrong(const test_matrix *m, double alpha, const double *x, double beta,
                             const double *y0, const double *y) {
  return bound_rows_wrong_f64(m, alpha, x, beta, y0, y);
}
inline int merbit_rows_wrong(const test_matrix *m, double alpha, const float *x, double beta,
                             const float *y0, const float *y) {
  return bound_rows_wrong_f32(m, (float)alpha, x, (float)beta, y0, y);
}

template <class V> simt_size merbit_product_size(const merbit_bed<V> &b) {
  return {(unsigned)b.blocks, b.f.threads,
          merbit_product_shared(sizeof(V), b.f.threads, b.f.omega, b.f.sigma)};
}

// ---- Carry-out commit
// ------------------------------------------------------------------------

static const double merbit_scalars[] = {1, 0, -1, 0.5};

template <class V>
void merbit_multiply(merbit_bed<V> &b, double alpha, double beta, simt_array &y,
                     uint64_t seed) {
  const V a = (V)alpha, c = (V)beta;
  const simt_array first(b.blocks, sizeof(V), 0xff), out(b.blocks, sizeof(V), 0xff);
  // A null device pointer stands for the default.
  const void *const at_alpha = alpha == 1 && seed % 2 ? nullptr : &a;
  const void *const at_beta = beta == 0 && seed % 2 ? nullptr : &c;
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
  if (b.f.device) {
    multiply(at_alpha, at_beta);
  } else {
    multiply(a, c);
  }
  b.allow();
}

// One pair of alpha and beta under the schedules first and first + 1, whose bits must agree.
template <class V> void merbit_check_carry(merbit_bed<V> &b, int pair, uint64_t first) {
  const double alpha = merbit_scalars[pair % 4], beta = merbit_scalars[(pair / 4 + 1) % 4];
  simt_array y0(b.rows, sizeof(V)), y(b.rows, sizeof(V)), before(b.rows, sizeof(V));
  uint64_t state = first * 1000 + (uint64_t)b.index;
  for (uint64_t i = 0; i < b.rows; i++) {
    y0.as<V>()[i] = beta == 0 ? (V)NAN : (V)test_uniform(&state);
  }
  b.fill(state, (merbit_data)((uint64_t)(pair + b.index) % 4));
  before.copy(y0);
  merbit_multiply(b, alpha, beta, before, first);
  if (merbit_rows_wrong(&b.m, alpha, b.x.template as<V>(), beta, y0.as<V>(), before.as<V>()) >
      0) {
    fail_msg("%s on %s, seed %llu: rows beyond the bound", b.f.name, b.m.name,
             (unsigned long long)first);
  }
  y.copy(y0);
  merbit_multiply(b, alpha, beta, y, first + 1);
  if (!y.same(before)) {
    fail_msg("%s on %s: seeds %llu and %llu differ", b.f.name, b.m.name,
             (unsigned long long)first, (unsigned long long)first + 1);
  }
}

// ---- Dual-buffer commit
// ----------------------------------------------------------------------

// Four products that alternate between two buffers. Before the first, y is zero only where
// blocks share rows; everything else is NaN.
template <class V> void merbit_check_dual(merbit_bed<V> &b, uint64_t seed) {
  const simt_array one(b.rows, sizeof(V), 0xff), two(b.rows, sizeof(V), 0xff);
  const uint64_t row_bits = ~((uint64_t)1 << (b.f.tile_bytes * 8 - 1));
  V *y = one.as<V>(), *z = two.as<V>();
  for (uint64_t block = 0; block < b.blocks; block++) {
    y[b.tile_y.load(block * b.groups) & row_bits] = 0;
  }
  for (uint64_t call = 0; call < 4; call++) {
    b.fill(seed * 4 + call, (merbit_data)((call + seed) % 4));
    simt_run(b.f.product, b.run(seed), merbit_product_size(b), b.tile_x.get(), b.tile_y.get(),
             b.lane_desc.get(), b.col_ind.get(), b.values.get(), b.x.get(), y, b.path, b.tiles,
             z, b.rows);
    if (merbit_rows_wrong(&b.m, 1, b.x.template as<V>(), 0, (const V *)nullptr, y) > 0) {
      fail_msg("%s on %s, seed %llu, call %d: rows beyond the bound", b.f.name, b.m.name,
               (unsigned long long)seed, (int)call);
    }
    std::swap(y, z);
  }
}

// ---- One form on one matrix, on all
// ----------------------------------------------------------

// The default forms see all 16 pairs of alpha and beta on the first seeds; every form sees
// alpha 0, and another pair that turns, on each matrix.
inline bool merbit_all_pairs(const merbit_form &f, uint64_t path, uint64_t seed) {
  return f.sigma == (f.value_bytes == 4 ? 14 : 7) && f.omega == 32 && f.base == 0 &&
         f.tile_bytes == 4 && !f.pattern && path < 6000 && seed == 1;
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
  for (int pair = 0; pair < 16 && !f.dual; pair++) {
    if (all || pair == 13 || pair == (int)(((uint64_t)index + seed / 2 * 5) % 16)) {
      merbit_check_carry(b, pair, seed);
    }
  }
}

inline bool merbit_too_slow(const merbit_form &f, const test_matrix &m) {
  return f.sigma == 1 && m.rows + m.nnz > test_effort(20000, INT32_MAX);
}

// Of a sample of forms, each takes one pair of seeds only.
inline bool merbit_sampled = false;

template <class V> void merbit_check_form(const merbit_form &f, uint64_t seed) {
  for (int index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    test_matrix_make(index, seed, &m);
    if (m.rows > 0 && !merbit_too_slow(f, m)) { // without rows the plan launches nothing
      merbit_check_matrix<V>(f, index, m, seed);
    }
    test_matrix_free(&m);
  }
}

// A cmocka test whose state is the form.
inline void merbit_check(void **state) {
  const merbit_form &f = *(const merbit_form *)*state;
  const size_t pairs = simt_seeds.size() / 2;
  size_t position = 0;
  while (merbit_forms[position] != &f) {
    position++;
  }
  for (size_t pair = 0; pair < pairs; pair++) {
    if (!merbit_sampled || pair == position % pairs) {
      if (f.value_bytes == 4) {
        merbit_check_form<float>(f, simt_seeds[2 * pair]);
      } else {
        merbit_check_form<double>(f, simt_seeds[2 * pair]);
      }
    }
  }
}

// Every form of the program.
inline int merbit_main(bool sampled = false) {
  std::vector<CMUnitTest> tests;
  merbit_sampled = sampled;
  for (const merbit_form *form : merbit_forms) {
    tests.push_back({form->name, merbit_check, nullptr, nullptr, (void *)form});
  }
  return _cmocka_run_group_tests("merbit", tests.data(), tests.size(), nullptr,
                                 simt_runs_report);
}
#endif // SIMT_MERBIT_PRODUCT_H
