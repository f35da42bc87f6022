// Test bed of spmv/gpu/many/many.cu: products of a generated matrix with several vectors, each
// checked against the error bound.
#ifndef SIMT_MANY_BED_H
#define SIMT_MANY_BED_H
#include "simt/scan_bed.h"

struct many_form : scan_form {
  unsigned vectors, width, span;
  bool columns;       // X and Y are column-major
  unsigned rows_team; // lanes per row; 0: rows in runs
  unsigned shared;
  simt_kernel loose, collect, spread;
};

inline std::vector<const many_form *> many_forms;

template <class V> struct many_bed : scan_bed<V> {
  many_bed(const many_form &f, int index, test_matrix &m) : scan_bed<V>(f, index, m), form(f) {
  }
  const many_form &form;
};

// `count` rows of X or Y with gaps, in the layout of the form, filled from `dense` (one vector
// after the other).
template <class V> struct many_vectors {
  many_vectors(const many_form &f, uint64_t count, uint64_t gap, size_t shift)
      : f(f), count(count), leading((f.columns ? count : f.vectors) + gap),
        array(count == 0 ? 0
                         : ((f.columns ? f.vectors : count) - 1) * leading +
                               (f.columns ? count : f.vectors),
              sizeof(V), 0x5a, shift) {
  }
  V &at(uint64_t i, uint64_t v) {
    return array.template as<V>()[f.columns ? v * leading + i : i * leading + v];
  }
  void put(const std::vector<V> &dense) {
    for (uint64_t v = 0; v < f.vectors; v++) {
      for (uint64_t i = 0; i < count; i++) {
        at(i, v) = dense[v * count + i];
      }
    }
  }
  // Reads y, and checks that the gaps between rows or columns are unchanged.
  void take(std::vector<V> &dense) {
    const uint64_t length = f.columns ? count : f.vectors;
    for (uint64_t v = 0; v < f.vectors; v++) {
      for (uint64_t i = 0; i < count; i++) {
        dense[v * count + i] = at(i, v);
      }
    }
    for (size_t i = 0; i < array.count; i++) {
      if (i % leading >= length) {
        const V left = array.template as<V>()[i];
        V filled;
        memset(&filled, 0x5a, sizeof filled);
        assert_memory_equal(&left, &filled, sizeof left);
      }
    }
  }
  const many_form &f;
  uint64_t count, leading;
  simt_array array;
};

// Multiplies. With even seeds each row is aligned for a lane's vector loads.
template <class V>
void many_multiply(many_bed<V> &b, double alpha, double beta, const std::vector<V> &x_dense,
                   std::vector<V> &y_dense, uint64_t seed) {
  const many_form &f = b.form;
  const bool packed = f.span == 1 || f.columns || seed % 2 == 0;
  const uint64_t gap = packed && !f.columns ? f.span * (seed / 2 % 2) : 1 + seed % 3 / 2;
  const uint64_t cols = (uint64_t)b.m.cols;
  many_vectors<V> x(f, cols, gap, packed ? 0 : 1), y(f, b.rows, packed ? gap : gap + 1, 0);
  const uint64_t copies = f.columns ? f.width : 0;
  const simt_array x_copy(cols * copies, sizeof(V), 0xff);
  simt_array y_copy(b.rows * copies, sizeof(V), 0xff);
  const simt_array firsts(b.tiles * f.width, sizeof(V), 0xff),
      tails(b.tiles * f.width, sizeof(V), 0xff);
  x.put(x_dense);
  y.put(y_dense);
  if (alpha == 0) { // neither A nor X may be read
    b.forbid(true);
    x.array.forbid();
  }
  csr_with_scalars<V>(f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    typedef std::decay_t<decltype(at_alpha)> scalar;
    simt_array &y_rows = f.columns ? y_copy : y.array;
    const void *const x_rows = f.columns ? x_copy.get() : x.array.get();
    const mbk_u64 ldx = f.columns ? f.width : x.leading, ldy = f.columns ? f.width : y.leading;
    const mbk_u32 x_step = (mbk_u32)(ldx * sizeof(V));
    scalar one = at_alpha, none = at_beta; // sums go to the copy unscaled
    if (f.columns) {
      if constexpr (std::is_pointer_v<scalar>) {
        one = none = nullptr;
      } else if constexpr (std::is_same_v<scalar, V>) {
        one = 1;
        none = 0;
      }
    }
    if (f.columns && cols > 0) {
      simt_late_guard late({&x.array, &x_copy});
      late.scalar(at_alpha);
      simt_run(f.collect, b.run(seed), {1 + (unsigned)seed % 3, 256, 0}, x.array.get(),
               (mbk_u64)x.leading, cols, x_copy.get(), at_alpha, at_beta);
    }
    if (f.rows_team > 0) {
      simt_late_guard late({f.columns ? &x_copy : &x.array, &y_rows});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      simt_run(packed ? f.product : f.loose, b.run(seed),
               {csr_divide_up(b.rows * f.rows_team, f.threads), f.threads, f.shared},
               b.row_ptr.get(), b.col_ind.get(), b.values.get(), x_rows, x_step, y_rows.get(),
               ldy, b.rows, b.nnz, at_alpha, at_beta);
    } else if (b.tiles > 0) {
      simt_late_guard late({f.columns ? &x_copy : &x.array, &y_rows, &firsts, &tails});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      simt_run(packed ? f.product : f.loose, b.run(seed),
               {csr_divide_up(b.tiles * 32, f.threads), f.threads, f.shared}, b.row_ends.get(),
               b.tile_row.get(), b.row_id.get(), b.col_ind.get(), b.values.get(), x_rows,
               x_step, y_rows.get(), ldy, firsts.get(), tails.get(), b.nnz, b.tiles, at_alpha,
               at_beta);
    }
    const unsigned blocks = std::max(csr_divide_up(b.tiles * f.width, SCAN_FIXUP_THREADS),
                                     b.empty > 0 ? 1 + (unsigned)seed % 3 : 0);
    if (f.rows_team == 0) {
      simt_late_guard late({&firsts, &tails, &y_rows});
      late.scalar(one);
      late.scalar(none);
      simt_run(f.fixup, b.run(seed), {blocks, SCAN_FIXUP_THREADS, scan_fixup_shared(sizeof(V))},
               b.tile_row.get(), b.row_id.get(), b.row_bits.get(), firsts.get(), tails.get(),
               y_rows.get(), ldy, b.tiles, b.empty > 0 ? b.rows : 0, one, none);
    }
    if (f.columns) {
      simt_late_guard late({&y_copy, &y.array});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      simt_run(f.spread, b.run(seed), {1 + (unsigned)seed % 3, 256, 0}, y_copy.get(), b.rows,
               y.array.get(), (mbk_u64)y.leading, at_alpha, at_beta);
    }
  });
  b.allow();
  x.array.allow();
  y.take(y_dense);
}

// Checks one pair of alpha and beta under the schedules first and first + 1, whose results must
// have the same bits.
template <class V> void many_check_pair(many_bed<V> &b, int pair, uint64_t first) {
  static const double bad[] = {INFINITY, -INFINITY, NAN};
  const double alpha = csr_scalars[pair % 4], beta = csr_scalars[(pair / 4 + 1) % 4];
  const uint64_t cols = (uint64_t)b.m.cols, vectors = b.form.vectors;
  const csr_data data = (csr_data)((uint64_t)(pair + b.index) % 4);
  std::vector<V> x(cols * vectors), y0(b.rows * vectors), before, y;
  uint64_t state = first * 1000 + (uint64_t)b.index;
  b.fill(state, data);
  for (V &element : x) {
    element = (V)test_uniform(&state);
  }
  for (uint64_t v = 0; v < vectors && b.nnz > 0; v += 3) { // the other vectors stay finite
    if (data == CSR_WILD_X || data == CSR_WILD_BOTH) {
      x[v * cols + (uint64_t)b.m.col_ind[test_below(&state, b.m.nnz)]] = (V)bad[v / 3 % 3];
    }
  }
  for (V &element : y0) {
    element = beta == 0 ? (V)NAN : (V)test_uniform(&state);
  }
  before = y = y0;
  many_multiply(b, alpha, beta, x, before, first);
  for (uint64_t v = 0; v < vectors; v++) {
    if (csr_rows_wrong(&b.m, alpha, x.data() + v * cols, beta, y0.data() + v * b.rows,
                       before.data() + v * b.rows) > 0) {
      fail_msg("%s on %s, seed %llu: vector %llu beyond the bound", b.run(first).form, b.m.name,
               (unsigned long long)first, (unsigned long long)v);
    }
  }
  many_multiply(b, alpha, beta, x, y, first + 1);
  for (size_t i = 0; i < y.size(); i++) {
    if (memcmp(&y[i], &before[i], sizeof(V)) != 0 && !(isnan(y[i]) && isnan(before[i]))) {
      fail_msg("%s on %s: seeds %llu and %llu differ", b.run(first).form, b.m.name,
               (unsigned long long)first, (unsigned long long)first + 1);
    }
  }
}

template <class V>
void many_check_matrix(const many_form &f, int index, test_matrix &m, uint64_t seed) {
  if (!f.empty) {
    scan_drop_empty_rows(m);
  }
  if (m.rows > 0) {
    many_bed<V> b(f, index, m);
    if (f.rows_team == 0) {
      scan_build(b, seed);
    }
    for (int pair : {13, (int)(((uint64_t)index + seed / 2 * 5) % 16)}) {
      many_check_pair(b, pair, seed);
    }
  }
}
#endif // SIMT_MANY_BED_H
