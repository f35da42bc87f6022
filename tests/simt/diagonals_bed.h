// Test bed of the DIAGONALS kernels: the slices of a generated matrix are counted, filled and
// compared with a plain search; then products.
#ifndef SIMT_DIAGONALS_BED_H
#define SIMT_DIAGONALS_BED_H
#include "jit/device.cuh"

#include "simt/arguments.h"
#include "simt/csr.h"

struct diagonals_form : csr_form {
  unsigned unroll, threads;
  simt_kernel count, fill, product, values;
};

inline std::vector<const diagonals_form *> diagonals_forms;

// The launch sizes, computed independently of the launcher.
enum { DIAGONALS_ROWS = 64, DIAGONALS_BUILD_THREADS = 128 };

struct diagonal {
  int64_t offset;
  uint64_t present = 0;
  int64_t from[DIAGONALS_ROWS]; // index of the nonzero for each row
};

// Returns the diagonals of the 64 rows from `first` on, by repeatedly taking the least offset
// that is next in any row.
inline std::vector<diagonal> diagonals_of(const test_matrix &m, int64_t first) {
  std::vector<int64_t> at;
  std::vector<diagonal> found;
  for (int64_t row = first; row < std::min(first + DIAGONALS_ROWS, m.rows); row++) {
    at.push_back(m.row_ptr[row]);
  }
  while (true) {
    diagonal next = {INT64_MAX, 0, {}};
    for (size_t i = 0; i < at.size(); i++) {
      const int64_t row = first + (int64_t)i;
      if (at[i] < m.row_ptr[row + 1]) {
        next.offset = std::min(next.offset, m.col_ind[at[i]] - row);
      }
    }
    if (next.offset == INT64_MAX) {
      return found;
    }
    for (size_t i = 0; i < at.size(); i++) {
      const int64_t row = first + (int64_t)i;
      if (at[i] < m.row_ptr[row + 1] && m.col_ind[at[i]] - row == next.offset) {
        next.present |= (uint64_t)1 << i;
        next.from[i] = at[i]++;
      }
    }
    found.push_back(next);
  }
}

template <class V> struct diagonals_bed : csr_bed<V> {
  diagonals_bed(const diagonals_form &f, int index, test_matrix &m)
      : csr_bed<V>(f, index, m), f(f), slices(csr_divide_up(this->rows, DIAGONALS_ROWS)),
        all(search()), start(slices + 1, 4, 0xff), offsets(all.size(), 4, 0xff),
        present(all.size(), 8, 0xff),
        slots(f.pattern ? 0 : all.size() * DIAGONALS_ROWS, this->value_bytes(), 0xff) {
  }

  std::vector<diagonal> search() {
    std::vector<diagonal> found;
    for (uint64_t slice = 0; slice < slices; slice++) {
      const auto some = diagonals_of(this->m, (int64_t)slice * DIAGONALS_ROWS);
      counts.push_back(some.size());
      found.insert(found.end(), some.begin(), some.end());
    }
    return found;
  }

  // Returns a grid with a warp for each slice or for every other.
  unsigned blocks(uint64_t seed) const {
    const unsigned all = csr_divide_up(slices * 32, DIAGONALS_BUILD_THREADS);
    return seed % 2 == 0 ? all : (all + 1) / 2;
  }

  const diagonals_form &f;
  uint64_t slices;
  std::vector<uint64_t> counts; // before `all`, whose initialiser fills it
  std::vector<diagonal> all;
  simt_array start, offsets, present, slots;
};

template <class V> void diagonals_build(diagonals_bed<V> &b, uint64_t seed) {
  const unsigned blocks = b.blocks(seed);
  uint64_t sum = 0;
  b.forbid(true);
  b.col_ind.allow();
  simt_run(b.f.count, b.run(seed), {blocks, DIAGONALS_BUILD_THREADS, 0}, b.row_ptr.get(),
           b.col_ind.get(), b.rows, b.slices, b.start.get());
  b.allow();
  for (uint64_t slice = 0; slice < b.slices; slice++) { // as mbk_nonempty_offsets does
    if (b.start.load(slice) != b.counts[slice]) {
      fail_msg("%s on %s: slice %llu has %llu diagonals, not %llu", b.f.name, b.m.name,
               (unsigned long long)slice, (unsigned long long)b.start.load(slice),
               (unsigned long long)b.counts[slice]);
    }
    b.start.store(slice, sum);
    sum += b.counts[slice];
  }
  b.start.store(b.slices, sum);
}

// Writes the diagonals, like a plan's creation or an update of its values.
template <class V> void diagonals_fill(diagonals_bed<V> &b, uint64_t seed) {
  simt_array slots(b.slots.count, b.value_bytes(), 0);
  b.x.forbid();
  simt_run(b.f.fill, b.run(seed), {b.blocks(seed), DIAGONALS_BUILD_THREADS, 0}, b.row_ptr.get(),
           b.col_ind.get(), b.rows, b.slices, b.start.get(), b.offsets.get(), b.present.get());
  if (!b.f.pattern) {
    b.col_ind.forbid();
    b.offsets.forbid();
    simt_run(b.f.values, b.run(seed), {b.blocks(seed), DIAGONALS_BUILD_THREADS, 0},
             b.row_ptr.get(), b.values.get(), b.rows, b.slices, b.start.get(), b.present.get(),
             b.slots.get());
    b.offsets.allow();
  }
  b.allow();
  for (size_t k = 0; k < b.all.size(); k++) {
    const diagonal &want = b.all[k];
    if ((int32_t)b.offsets.load(k) != want.offset ||
        b.present.template as<uint64_t>()[k] != want.present) {
      fail_msg("%s on %s: diagonal %zu is %d with rows %llx, not %lld with %llx", b.f.name,
               b.m.name, k, (int)b.offsets.load(k),
               (unsigned long long)b.present.template as<uint64_t>()[k], (long long)want.offset,
               (unsigned long long)want.present);
    }
    for (size_t i = 0; !b.f.pattern && i < DIAGONALS_ROWS; i++) {
      if (want.present >> i & 1) {
        memcpy((char *)slots.get() + (k * DIAGONALS_ROWS + i) * b.value_bytes(),
               (const char *)b.values.get() + (size_t)want.from[i] * b.value_bytes(),
               b.value_bytes());
      }
    }
  }
  if (!slots.same(b.slots)) {
    fail_msg("%s on %s: wrong values", b.f.name, b.m.name);
  }
}

template <class V>
void diagonals_multiply(diagonals_bed<V> &b, double alpha, double beta, simt_array &y,
                        uint64_t seed) {
  diagonals_fill(b, seed);
  b.forbid(alpha == 0); // the CSR is not read; with alpha 0 nothing is
  if (alpha == 0) {
    b.offsets.forbid();
    b.present.forbid();
    b.slots.forbid();
  }
  csr_product(b, b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    simt_late_guard late({&b.factors(), &y});
    late.scalar(at_alpha);
    late.scalar(at_beta);
    simt_run(b.f.product, b.run(seed),
             {csr_divide_up(b.slices * 32, b.f.threads), b.f.threads, b.f.table_bytes()},
             b.start.get(), b.offsets.get(), b.present.get(),
             b.f.shared_values() ? b.values.get() : b.slots.get(), b.table.get(),
             b.factors().get(), y.get(), b.rows, at_alpha, at_beta);
  });
  b.allow();
  b.offsets.allow();
  b.present.allow();
  b.slots.allow();
}

template <class V>
void diagonals_check_matrix(const diagonals_form &f, int index, test_matrix &m, uint64_t seed,
                            bool all) {
  diagonals_bed<V> b(f, index, m);
  diagonals_build(b, seed);
  diagonals_build(b, seed + 1);
  csr_check_pairs(b, all, seed, diagonals_multiply<V>);
}
#endif // SIMT_DIAGONALS_BED_H
