// Test bed of the binned kernels: the runs of a generated matrix are counted, placed and
// filled, each compared with a loop over the nonzeros; then products.
#ifndef SIMT_BINNED_BED_H
#define SIMT_BINNED_BED_H
#include "simt/scan_bed.h"

struct binned_form : scan_form { // its `product` is mbk_binned_sum
  uint64_t strip, warp_tiles;
  simt_kernel count, total, offsets, fill, multiply;
};

inline std::vector<const binned_form *> binned_forms;

// The launch sizes, computed independently of the launcher; test_binned compares the two.
enum { BINNED_BUILD_THREADS = 512, BINNED_ITEM = 4096, BINNED_GROUP_BYTES = 32 };

inline unsigned binned_total_blocks(uint64_t strips) {
  return csr_divide_up(strips, BINNED_BUILD_THREADS / 32);
}
inline uint64_t binned_sum_shared(unsigned threads, unsigned steps, unsigned value_bytes,
                                  uint64_t part_groups) {
  return (uint64_t)threads * steps * value_bytes + part_groups * BINNED_GROUP_BYTES;
}

// The runs that a matrix should have, computed from its columns alone.
struct binned_plan {
  binned_plan(const binned_form &f, const test_matrix &m)
      : group(BINNED_GROUP_BYTES / f.value_bytes),
        part_nonzeros(f.warp_tiles * f.threads * f.steps),
        strips(((uint64_t)m.cols + f.strip - 1) / f.strip),
        parts(((uint64_t)m.nnz + part_nonzeros - 1) / part_nonzeros), runs(strips * parts),
        part_start(parts + 1), strip_start(strips + 1) {
    for (uint64_t k = 0; k < (uint64_t)m.nnz; k++) {
      runs[(uint64_t)m.col_ind[k] / f.strip * parts + k / part_nonzeros]++;
    }
    for (uint64_t s = 0; s < strips; s++) {
      for (uint64_t p = 0; p < parts; p++) {
        uint64_t &run = runs[s * parts + p];
        run = (run + group - 1) / group;
        part_start[p + 1] += run;
        strip_start[s + 1] += run;
      }
      strip_start[s + 1] += strip_start[s];
    }
    for (uint64_t p = 0; p < parts; p++) {
      part_groups = std::max(part_groups, part_start[p + 1]);
      part_start[p + 1] += part_start[p];
    }
    groups = strip_start[strips];
  }

  uint64_t group, part_nonzeros, strips, parts, groups = 0, part_groups = 0;
  std::vector<uint64_t> runs, part_start, strip_start; // runs in groups
};

// Returns the shared memory for filling a part.
inline uint64_t binned_fill_shared(const binned_plan &plan) {
  return plan.strips * 12 + plan.part_groups * plan.group * 2;
}

// Returns whether the launcher accepts the form; in quick effort also false for matrices with
// very many runs.
inline bool binned_fits(const binned_form &f, const test_matrix &m) {
  const binned_plan plan(f, m);
  return plan.runs.size() < (size_t)test_effort(20000, INT32_MAX) &&
         binned_fill_shared(plan) <= SIMT_SHARED_MAX &&
         plan.part_groups * plan.group <= 65536 &&
         binned_sum_shared(f.threads, f.steps, f.value_bytes, plan.part_groups) <=
             SIMT_SHARED_MAX;
}

template <class V> struct binned_bed : scan_bed<V> {
  binned_bed(const binned_form &f, int index, test_matrix &m)
      : scan_bed<V>(f, index, m), form(f), plan(f, m), slots(plan.groups * plan.group),
        runs(plan.runs.size(), 4, 0xff), words(std::max(plan.strips, plan.parts), 4, 0xff),
        part_start(plan.parts + 1, 4), strip_col(slots, 2, 0xff),
        strip_values(f.pattern ? 0 : slots, this->value_bytes(), 0xff),
        target(plan.groups, 4, 0xff), places(this->tiles * this->tile_nonzeros, 2, 0xff) {
    for (uint64_t p = 0; p <= plan.parts; p++) {
      part_start.store(p, plan.part_start[p]);
    }
  }

  // Returns where phase 2 expects the product of nonzero k.
  uint64_t place(uint64_t k) const {
    return plan.part_start[k / plan.part_nonzeros] * plan.group +
           places.template as<uint16_t>()[k];
  }

  bool strip_zero(uint64_t slot) const {
    static const char zero[8] = {0};
    const size_t bytes = this->value_bytes();
    return memcmp((const char *)strip_values.get() + slot * bytes, zero, bytes) == 0;
  }

  void forbid_strips() {
    strip_col.forbid();
    strip_values.forbid();
    target.forbid();
  }
  void allow_strips() {
    strip_col.allow();
    strip_values.allow();
    target.allow();
  }

  const binned_form &form;
  const binned_plan plan;
  uint64_t slots, fills = 0;
  simt_array runs, words, part_start, strip_col, strip_values, target, places;
};

// ---- Runs -----------------------------------------------------------------------------------

// Checks that array[i] is expect(i) for all i < count.
template <class V, class F>
void binned_expect(const binned_bed<V> &b, const char *what, const simt_array &array,
                   uint64_t count, const F &expect) {
  for (uint64_t i = 0; i < count; i++) {
    if (array.load(i) != expect(i)) {
      fail_msg("%s on %s: %s[%llu] is %llu, not %llu", b.form.name, b.m.name, what,
               (unsigned long long)i, (unsigned long long)array.load(i),
               (unsigned long long)expect(i));
    }
  }
}

// Counts and places the runs.
template <class V> void binned_order(binned_bed<V> &b, uint64_t seed) {
  const binned_plan &p = b.plan;
  const mbk_u32 strips = (mbk_u32)p.strips;
  b.values.forbid();
  b.x.forbid();
  simt_run(b.form.count, b.run(seed),
           {(unsigned)p.parts, BINNED_BUILD_THREADS, (strips + 1) * 4}, b.col_ind.get(), b.nnz,
           strips, b.runs.get(), b.words.get());
  binned_expect(b, "runs", b.runs, p.runs.size(), [&](uint64_t i) { return p.runs[i]; });
  binned_expect(b, "part_groups", b.words, p.parts,
                [&](uint64_t i) { return p.part_start[i + 1] - p.part_start[i]; });
  b.col_ind.forbid();
  simt_run(b.form.total, b.run(seed), {binned_total_blocks(strips), BINNED_BUILD_THREADS, 0},
           b.runs.get(), strips, p.parts, b.words.get());
  binned_expect(b, "strip groups", b.words, strips,
                [&](uint64_t i) { return p.strip_start[i + 1] - p.strip_start[i]; });
  for (uint64_t s = 0; s < strips; s++) {
    b.words.store(s, p.strip_start[s]);
  }
  simt_run(b.form.offsets, b.run(seed), {binned_total_blocks(strips), BINNED_BUILD_THREADS, 0},
           b.runs.get(), strips, p.parts, b.words.get());
  b.allow();
  uint64_t start = 0, next = 0; // strips are adjacent
  binned_expect(b, "first groups", b.runs, p.runs.size(), [&](uint64_t i) {
    start = i == 0 ? 0 : next;
    next = start + p.runs[i];
    return start;
  });
}

// Checks the slots: each nonzero has its own slot with its column and value in its strip, every
// group belongs to one place in phase 2, and the rest is padding.
template <class V> void binned_check_slots(const binned_bed<V> &b) {
  const binned_plan &p = b.plan;
  std::vector<uint64_t> from(p.groups, p.groups);
  std::vector<bool> used(b.slots);
  for (uint64_t g = 0; g < p.groups; g++) {
    const uint64_t to = b.target.load(g);
    if (to >= p.groups || from[to] != p.groups) {
      fail_msg("%s on %s: target[%llu] is %llu, which is %s", b.form.name, b.m.name,
               (unsigned long long)g, (unsigned long long)to,
               to >= p.groups ? "none" : "taken");
    }
    from[to] = g;
  }
  for (uint64_t k = 0; k < b.nnz; k++) {
    const uint64_t place = b.place(k), part = k / p.part_nonzeros;
    const uint64_t column = (uint64_t)b.m.col_ind[k], strip = column / b.form.strip;
    if (place >= p.part_start[part + 1] * p.group) {
      fail_msg("%s on %s: place %llu is in another part", b.form.name, b.m.name,
               (unsigned long long)k);
    }
    const uint64_t group = from[place / p.group], slot = group * p.group + place % p.group;
    if (used[slot] || group < p.strip_start[strip] || group >= p.strip_start[strip + 1] ||
        b.strip_col.template as<uint16_t>()[slot] != column % b.form.strip) {
      fail_msg("%s on %s: nonzero %llu of column %llu is in slot %llu, of column %u%s",
               b.form.name, b.m.name, (unsigned long long)k, (unsigned long long)column,
               (unsigned long long)slot, b.strip_col.template as<uint16_t>()[slot],
               used[slot] ? ", with another" : "");
    }
    used[slot] = true;
    if (!b.form.pattern &&
        memcmp((const char *)b.strip_values.get() + slot * b.value_bytes(),
               (const char *)b.values.get() + k * b.value_bytes(), b.value_bytes()) != 0) {
      fail_msg("%s on %s: nonzero %llu has another value in slot %llu", b.form.name, b.m.name,
               (unsigned long long)k, (unsigned long long)slot);
    }
  }
  for (uint64_t slot = 0; slot < b.slots; slot++) {
    if (!used[slot] && (b.strip_col.template as<uint16_t>()[slot] != 0 ||
                        (!b.form.pattern && !b.strip_zero(slot)))) {
      fail_msg("%s on %s: padding in slot %llu is not zero", b.form.name, b.m.name,
               (unsigned long long)slot);
    }
  }
}

// Fills the strips. With `again`, like an update of the values, writes values only.
template <class V> void binned_fill(binned_bed<V> &b, bool again, uint64_t seed) {
  const mbk_u32 strips = (mbk_u32)b.plan.strips, only_values = again;
  b.x.forbid();
  if (again) {
    b.strip_col.forbid();
    b.target.forbid();
    memset(b.strip_values.get(), 0, b.strip_values.count * b.value_bytes());
  }
  simt_run(b.form.fill, b.run(seed),
           {(unsigned)b.plan.parts, BINNED_BUILD_THREADS, (unsigned)binned_fill_shared(b.plan)},
           b.col_ind.get(), b.values.get(), b.nnz, strips, b.runs.get(), b.part_start.get(),
           b.strip_col.get(), b.strip_values.get(), b.target.get(), b.places.get(),
           only_values);
  b.allow();
  b.allow_strips();
  binned_check_slots(b);
}

template <class V> void binned_build(binned_bed<V> &b, uint64_t seed) {
  scan_build(b, seed);
  if (b.tiles > 0) { // else the plan launches nothing
    binned_order(b, seed);
    binned_fill(b, false, seed);
  }
}

// ---- Products -------------------------------------------------------------------------------

// Cuts strips into pieces: the launcher's size or small ones.
template <class V>
std::vector<mbk_u32> binned_items(const binned_bed<V> &b, uint64_t seed, unsigned *count) {
  const uint64_t small = 1 + b.form.threads * (seed % 3) * 5 / 4;
  const uint64_t most = seed % 3 == 0 ? (uint64_t)BINNED_ITEM : small;
  std::vector<mbk_u32> items;
  for (uint64_t s = 0; s < b.plan.strips; s++) {
    for (uint64_t at = b.plan.strip_start[s]; at < b.plan.strip_start[s + 1]; at += most) {
      const uint64_t end = std::min(at + most, b.plan.strip_start[s + 1]);
      items.insert(items.end(), {(mbk_u32)s, (mbk_u32)at, (mbk_u32)end});
    }
  }
  *count = (unsigned)(items.size() / 3);
  return items;
}

// Sets the padding that phase 1 wrote to NaN: no one may read it.
template <class V> void binned_spoil(const binned_bed<V> &b, simt_array &products) {
  std::vector<bool> used(b.slots);
  for (uint64_t k = 0; k < b.nnz; k++) {
    used[b.place(k)] = true;
  }
  for (uint64_t i = 0; i < b.slots; i++) {
    if (!used[i]) {
      products.as<V>()[i] = (V)NAN;
    }
  }
}

// Multiplies with the old order of the slots and with a new one in turn: results that must have
// the same bits may not depend on it.
template <class V>
void binned_multiply(binned_bed<V> &b, double alpha, double beta, simt_array &y,
                     uint64_t seed) {
  const simt_array firsts(b.tiles, sizeof(V), 0xff), tails(b.tiles, sizeof(V), 0xff);
  simt_array products(b.slots, sizeof(V), 0xff);
  unsigned count;
  const std::vector<mbk_u32> items = binned_items(b, seed, &count);
  const void *const at_items = items.data();
  const uint64_t cols = (uint64_t)b.m.cols;
  const unsigned shared =
      (unsigned)binned_sum_shared(b.form.threads, b.form.steps, sizeof(V), b.plan.part_groups);
  if (b.tiles > 0) {
    binned_fill(b, b.fills++ % 2 == 0, seed);
  }
  csr_product(b, b.form, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    b.forbid(alpha == 0); // the CSR is not read; with alpha 0 nothing is
    if (b.tiles > 0) {
      if (alpha == 0) {
        b.forbid_strips();
        products.forbid();
      }
      {
        simt_late_guard late({&b.factors(), &products});
        late.scalar(at_alpha);
        late.scalar(at_beta);
        simt_run(b.form.multiply, b.run(seed),
                 {count, b.form.threads,
                  (unsigned)(b.form.strip * sizeof(V)) + b.form.table_bytes()},
                 at_items, b.strip_col.get(),
                 b.form.shared_values() ? b.values.get() : b.strip_values.get(), b.table.get(),
                 b.target.get(), b.factors().get(), cols, products.get(), at_alpha, at_beta);
      }
      b.forbid(true);
      b.forbid_strips();
      if (b.form.stored == CSR_ROW && alpha != 0) {
        b.values.allow();
      }
      if (alpha != 0) {
        binned_spoil(b, products);
      }
      simt_late_guard late({&products, &y, &firsts, &tails});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      simt_run(b.form.product, b.run(seed), {(unsigned)b.plan.parts, b.form.threads, shared},
               b.part_start.get(), products.get(), b.places.get(), b.values.get(),
               b.row_ends.get(), b.tile_row.get(), b.row_id.get(), y.get(), firsts.get(),
               tails.get(), b.nnz, b.tiles, at_alpha, at_beta);
    }
    scan_fixup(b, b.empty > 0 ? b.rows : 0, firsts, tails, y, at_alpha, at_beta, seed);
  });
  b.allow();
  b.allow_strips();
}

// Checks without Inf or NaN, which would hide missing parts of a long row.
template <class V> void binned_check_long(const binned_form &f, test_matrix &m, uint64_t seed) {
  binned_bed<V> b(f, 0, m);
  assert_true(binned_fits(f, m));
  binned_build(b, seed);
  for (int pair : {0, 4, 13}) {
    csr_check_pair(b, pair, seed, binned_multiply<V>);
  }
}

template <class V>
bool binned_check_matrix(const binned_form &f, int index, test_matrix &m, uint64_t seed,
                         bool all) {
  if (!f.empty) {
    scan_drop_empty_rows(m);
  }
  if (m.rows == 0 || !binned_fits(f, m)) {
    return false;
  }
  binned_bed<V> b(f, index, m);
  binned_build(b, seed);
  binned_build(b, seed + 1);
  csr_check_pairs(b, all, seed, binned_multiply<V>);
  return true;
}
#endif // SIMT_BINNED_BED_H
