// Test bed of the HUBS kernels: the columns of a generated matrix are divided into two kinds
// and compared with a simple loop; then products with their codes.
#ifndef SIMT_HUBS_BED_H
#define SIMT_HUBS_BED_H
#include "simt/scan_bed.h"

struct hubs_form : scan_form {
  unsigned hubs; // that fit in shared memory
  simt_kernel assign, encode;
};

inline std::vector<const hubs_form *> hubs_forms;

// Which columns may be hubs: those that the launcher chooses, none, all that hold a nonzero, or
// all. The ones with the most nonzeros become hubs.
enum hubs_choice { HUBS_FULLEST, HUBS_NONE, HUBS_MET, HUBS_ALL, HUBS_CHOICES };

// The launch sizes, computed independently of the launcher; test_hubs compares the two.
enum { HUBS_BUILD_THREADS = 256 };

inline unsigned hubs_shared(const hubs_form &f, bool adds) {
  return f.table_bytes() + (f.hubs + (adds ? f.threads : 0)) * f.value_bytes;
}

template <class V> struct hubs_bed : scan_bed<V> {
  hubs_bed(const hubs_form &f, int index, test_matrix &m)
      : scan_bed<V>(f, index, m), form(f), cols((uint64_t)m.cols), counts(cols, 4),
        code(cols, 4, 0xff), hub_col(f.hubs, 4, 0xff),
        codes(this->nnz, 4, 0xff, f.aligned ? 0 : 1) {
    for (uint64_t k = 0; k < this->nnz; k++) {
      counts.as<uint32_t>()[m.col_ind[k]]++;
    }
  }

  // Returns the number of columns that are counted at least `least` times.
  uint64_t reaching(uint32_t least) const {
    uint64_t found = 0;
    for (uint64_t c = 0; c < cols; c++) {
      found += counts.load(c) >= least;
    }
    return found;
  }

  // Returns the smallest count such that all columns with a higher count fit. The launcher's is
  // at least two.
  uint32_t least(hubs_choice choice) const {
    uint32_t least = choice == HUBS_FULLEST ? 2 : choice == HUBS_MET ? 1 : 0;
    while (choice != HUBS_NONE && reaching(least + 1) > form.hubs) {
      least++;
    }
    return choice == HUBS_NONE ? UINT32_MAX : least;
  }

  const hubs_form &form;
  uint64_t cols;
  mbk_u32 count = 0;      // number of hubs
  unsigned encodings = 0; // number of encodings so far
  simt_array counts, code, hub_col, codes;
};

// ---- Columns in two kinds -------------------------------------------------------------------

// Checks that each column is itself or the hub that stands for it, that as many hubs are used
// as fit, and that no column was left out in favour of one with a smaller count.
template <class V> void hubs_check_assigned(const hubs_bed<V> &b, uint32_t least) {
  uint64_t hubs = 0;
  std::vector<bool> used(b.form.hubs);
  for (uint64_t c = 0; c < b.cols; c++) {
    const int32_t code = b.code.template as<int32_t>()[c];
    const uint32_t hub = (uint32_t)~code;
    if (code >= 0 ? (uint64_t)code != c || b.counts.load(c) > least
                  : hub >= b.count || used[hub] || b.hub_col.load(hub) != c ||
                        b.counts.load(c) < least) {
      fail_msg("%s on %s: column %llu, counted %llu times, has the code %d", b.form.name,
               b.m.name, (unsigned long long)c, (unsigned long long)b.counts.load(c), code);
    }
    if (code < 0) {
      used[hub] = true;
      hubs++;
    }
  }
  assert_true(hubs == b.count);
  for (uint64_t h = hubs; h < b.form.hubs; h++) {
    assert_true(b.hub_col.load(h) == UINT32_MAX);
  }
}

template <class V> void hubs_encode(hubs_bed<V> &b, hubs_choice choice, uint64_t seed) {
  const mbk_u32 least = b.least(choice), room = b.form.hubs;
  const mbk_u32 above = choice == HUBS_NONE ? 0 : (mbk_u32)b.reaching(least + 1);
  mbk_u32 taken[2] = {0, 0}, *const at_taken = taken;
  memset(b.code.get(), 0xff, b.cols * 4);
  memset(b.hub_col.get(), 0xff, room * 4);
  memset(b.codes.get(), 0xff, b.nnz * 4);
  b.forbid(true);
  simt_run(b.form.assign, b.run(seed),
           {csr_divide_up(b.cols, HUBS_BUILD_THREADS), HUBS_BUILD_THREADS, 0}, b.counts.get(),
           (mbk_u64)b.cols, least, above, room, b.code.get(), b.hub_col.get(), at_taken);
  assert_true(taken[0] == above && taken[0] + taken[1] == b.reaching(least));
  b.count = std::min(above + taken[1], room);
  hubs_check_assigned(b, least);
  b.col_ind.allow();
  b.counts.forbid();
  b.hub_col.forbid();
  simt_run(b.form.encode, b.run(seed), {1 + (unsigned)seed % 3, HUBS_BUILD_THREADS, 0},
           b.col_ind.get(), b.nnz, b.code.get(), b.codes.get());
  b.counts.allow();
  b.hub_col.allow();
  b.allow();
  for (uint64_t k = 0; k < b.nnz; k++) {
    if (b.codes.load(k) != b.code.load((uint64_t)b.m.col_ind[k])) {
      fail_msg("%s on %s: nonzero %llu has the code %d", b.form.name, b.m.name,
               (unsigned long long)k, b.codes.template as<int32_t>()[k]);
    }
  }
}

// ---- Products -------------------------------------------------------------------------------

// Returns a grid for all tiles at once, or a smaller one whose blocks take several tiles.
template <class V> unsigned hubs_blocks(const hubs_bed<V> &b, uint64_t seed) {
  const unsigned most = csr_divide_up(b.tiles * 32, b.form.threads);
  return std::min(most, seed % 4 == 0 ? most : 1 + ((unsigned)seed + (unsigned)b.index) % 3);
}

// Multiplies with other hubs or other numbers each time: results that must have the same bits
// may not depend on them, nor on which block takes a tile.
template <class V>
void hubs_multiply(hubs_bed<V> &b, double alpha, double beta, simt_array &y, uint64_t seed) {
  const simt_array firsts(b.tiles, sizeof(V), 0xff), tails(b.tiles, sizeof(V), 0xff);
  const bool adds = b.form.adds(beta, seed);
  if (b.tiles > 0) {
    hubs_encode(b, (hubs_choice)((b.encodings++ + (unsigned)b.index) % HUBS_CHOICES), seed);
  }
  b.forbid(alpha == 0); // of the CSR only the values are read
  if (alpha != 0) {
    b.values.allow();
    b.table.allow();
  } else {
    b.codes.forbid();
    b.hub_col.forbid();
  }
  csr_product(b, b.form, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    if (b.tiles > 0) {
      simt_late_guard late({&b.factors(), &y, &firsts, &tails});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      simt_run(adds ? b.form.sum : b.form.product, b.run(seed),
               {hubs_blocks(b, seed), b.form.threads, hubs_shared(b.form, adds)},
               b.row_ends.get(), b.tile_row.get(), b.row_id.get(), b.codes.get(),
               b.values.get(), b.table.get(), b.hub_col.get(), b.count, b.factors().get(),
               y.get(), firsts.get(), tails.get(), b.nnz, b.tiles, at_alpha, at_beta);
    }
    scan_fixup(b, b.empty > 0 ? b.rows : 0, firsts, tails, y, at_alpha, at_beta, seed);
  });
  b.allow();
  b.codes.allow();
  b.hub_col.allow();
}

// Checks without Inf or NaN, which would hide missing parts of a long row.
template <class V> void hubs_check_long(const hubs_form &f, test_matrix &m, uint64_t seed) {
  hubs_bed<V> b(f, 0, m);
  scan_build(b, seed);
  for (int pair : {0, 4, 13}) {
    csr_check_pair(b, pair, seed, hubs_multiply<V>);
  }
}

template <class V>
void hubs_check_matrix(const hubs_form &f, int index, test_matrix &m, uint64_t seed, bool all) {
  if (!f.empty) {
    scan_drop_empty_rows(m);
  }
  if (m.rows > 0 && scan_depth(m, f.pack) <= f.depth) {
    hubs_bed<V> b(f, index, m);
    scan_build(b, seed);
    scan_build(b, seed + 1);
    csr_check_pairs(b, all, seed, hubs_multiply<V>);
  }
}
#endif // SIMT_HUBS_BED_H
