// Test bed of the SLICED kernels: the slices of a generated matrix are built, filled and
// compared with a plain sort and copy; then products.
#ifndef SIMT_SLICED_BED_H
#define SIMT_SLICED_BED_H
#include "jit/device.cuh"

#include "simt/arguments.h"
#include "simt/csr.h"

struct sliced_form : csr_form {
  bool sorted;
  unsigned unroll, threads, pack, length_bytes, parts;
  simt_kernel order, width, fill, product;

  // Returns the bytes of shared memory of a product's block.
  unsigned shared_bytes() const {
    return (unsigned)(table_bytes() + (parts > 1 ? threads * value_bytes : 0));
  }
};

inline std::vector<const sliced_form *> sliced_forms;

// The launch sizes, computed independently of the launcher; test_sliced compares the two.
enum { SLICED_WINDOW = 1024, SLICED_ORDER_THREADS = 512, SLICED_BUILD_THREADS = 128 };
enum { SLICED_PAGE = 2048, SLICED_PAGES = 32, SLICED_NO_PAGE = 0xffff, SLICED_SET = 65 };

template <class V> struct sliced_bed : csr_bed<V> {
  sliced_bed(const sliced_form &f, int index, test_matrix &m)
      : csr_bed<V>(f, index, m), f(f), slices((this->rows + 31) / 32), place(order()),
        start(slices + 1), column_start(slices + 1), lists(slices),
        length(slices * 32, f.length_bytes, 0xff), row_id(f.sorted ? slices * 32 : 0, 4, 0xff),
        slice_start(slices, 4, 0xff), slice_column_start(slices + 1, 4, 0xff),
        pages(slices * 32, 2, 0x55), columns(measure() * 32, 2, 0xff),
        slots(f.pattern ? 0 : start[slices] * 32, this->value_bytes(), 0xff) {
  }

  uint64_t row_length(uint64_t row) const {
    return row < this->rows ? (uint64_t)(this->m.row_ptr[row + 1] - this->m.row_ptr[row]) : 0;
  }

  // Returns the row at each place, in the order of the slices.
  std::vector<uint64_t> order() const {
    std::vector<uint64_t> found(slices * 32);
    for (uint64_t i = 0; i < found.size(); i++) {
      found[i] = i;
    }
    for (uint64_t first = 0; f.sorted && first < this->rows; first += SLICED_WINDOW) {
      const uint64_t end = std::min(first + SLICED_WINDOW, this->rows);
      std::stable_sort(found.begin() + (long)first, found.begin() + (long)end,
                       [&](uint64_t a, uint64_t b) { return row_length(a) > row_length(b); });
    }
    return found;
  }

  // Measures each slice: its width, a multiple of the pack, and the number of pages of its
  // columns (0 if there are too many). Returns the size of all columns in units of 32 two-byte
  // numbers.
  uint64_t measure() {
    for (uint64_t slice = 0; slice < slices; slice++) {
      uint64_t most = 0;
      std::set<uint64_t> found;
      for (uint64_t i = slice * 32; i < slice * 32 + 32; i++) {
        const uint64_t count = row_length(place[i]);
        for (uint64_t k = 0; k < count; k++) {
          found.insert((uint64_t)this->m.col_ind[this->m.row_ptr[place[i]] + (int64_t)k] /
                       SLICED_PAGE);
        }
        most = std::max(most, count);
      }
      most = csr_divide_up(most, f.pack) * f.pack;
      const bool wide = found.size() > SLICED_PAGES;
      lists[slice].assign(found.begin(), wide ? found.begin() : found.end());
      start[slice + 1] = start[slice] + most;
      column_start[slice + 1] = column_start[slice] + (wide ? 2 * most : most);
    }
    return column_start[slices];
  }

  const sliced_form &f;
  uint64_t slices;
  std::vector<uint64_t> place, start, column_start;
  std::vector<std::vector<uint64_t>> lists;
  simt_array length, row_id, slice_start, slice_column_start, pages, columns, slots;
};

// ---- Slices ---------------------------------------------------------------------------------

template <class V> void sliced_check_order(const sliced_bed<V> &b) {
  for (uint64_t i = 0; i < b.slices * 32; i++) {
    const uint64_t row = b.place[i] < b.rows ? b.place[i] : 0xffffffffu;
    if (b.length.load(i) != b.row_length(b.place[i]) ||
        (b.f.sorted && b.row_id.load(i) != row)) {
      fail_msg("%s on %s: place %llu: length %llu, row %llu; not %llu, %llu", b.f.name,
               b.m.name, (unsigned long long)i, (unsigned long long)b.length.load(i),
               (unsigned long long)(b.f.sorted ? b.row_id.load(i) : row),
               (unsigned long long)b.row_length(b.place[i]), (unsigned long long)row);
    }
  }
  for (uint64_t slice = 0; slice < b.slices; slice++) {
    const uint64_t width = b.start[slice + 1] - b.start[slice];
    const uint64_t column_width = b.column_start[slice + 1] - b.column_start[slice];
    if (b.slice_start.load(slice) != width ||
        b.slice_column_start.load(slice) != column_width) {
      fail_msg("%s on %s: slice %llu: width %llu, %llu of columns; not %llu, %llu", b.f.name,
               b.m.name, (unsigned long long)slice,
               (unsigned long long)b.slice_start.load(slice),
               (unsigned long long)b.slice_column_start.load(slice), (unsigned long long)width,
               (unsigned long long)column_width);
    }
    for (uint64_t i = 0; i < 32; i++) {
      const std::vector<uint64_t> &list = b.lists[slice];
      const uint64_t page = i < list.size() ? list[i] : (uint64_t)SLICED_NO_PAGE;
      const uint64_t made = b.pages.template as<uint16_t>()[slice * 32 + i];
      if (made != page) {
        fail_msg("%s on %s: slice %llu: page %llu is %llu, not %llu", b.f.name, b.m.name,
                 (unsigned long long)slice, (unsigned long long)i, (unsigned long long)made,
                 (unsigned long long)page);
      }
    }
  }
}

// Checks every slot: zeros fill a row's last pack, later slots are untouched.
template <class V> void sliced_check_slots(const sliced_bed<V> &b) {
  simt_array columns(b.columns.count, 2, 0xff), slots(b.slots.count, b.value_bytes(), 0xff);
  for (uint64_t i = 0; i < b.slices * 32; i++) {
    const std::vector<uint64_t> &list = b.lists[i / 32];
    const uint64_t count = b.row_length(b.place[i]), pack = b.f.pack;
    uint16_t *const slice = columns.as<uint16_t>() + b.column_start[i / 32] * 32;
    for (uint64_t k = 0; k < csr_divide_up(count, pack) * pack; k++) {
      const uint64_t from = k < count ? (uint64_t)b.m.row_ptr[b.place[i]] + k : 0;
      const uint64_t slot = (k / pack * 32 + i % 32) * pack + k % pack;
      const int32_t column = k < count ? b.m.col_ind[from] : 0;
      if (list.empty()) {
        memcpy(slice + 2 * slot, &column, 4);
      } else {
        const auto page = std::lower_bound(list.begin(), list.end(), column / SLICED_PAGE);
        const long at = k < count ? page - list.begin() : 0;
        slice[slot] = (uint16_t)(at * SLICED_PAGE + column % SLICED_PAGE);
      }
      if (!b.f.pattern) {
        static const double zero = 0;
        const size_t bytes = b.value_bytes();
        memcpy((char *)slots.get() + (b.start[i / 32] * 32 + slot) * bytes,
               k < count ? (const char *)b.values.get() + from * bytes : (const char *)&zero,
               bytes);
      }
    }
  }
  if (!columns.same(b.columns) || !slots.same(b.slots)) {
    fail_msg("%s on %s: wrong %s", b.f.name, b.m.name,
             columns.same(b.columns) ? "values" : "columns");
  }
}

template <class V> void sliced_build(sliced_bed<V> &b, uint64_t seed) {
  const unsigned blocks = csr_divide_up(b.slices * 32, SLICED_BUILD_THREADS);
  b.forbid(true); // only the widths are computed from columns
  simt_run(b.f.order, b.run(seed),
           {csr_divide_up(b.rows, SLICED_WINDOW), SLICED_ORDER_THREADS, SLICED_WINDOW * 8},
           b.row_ptr.get(), b.rows, b.length.get(), b.row_id.get());
  b.col_ind.allow();
  simt_run(b.f.width, b.run(seed),
           {blocks, SLICED_BUILD_THREADS, SLICED_BUILD_THREADS / 32 * SLICED_SET * 4},
           b.row_ptr.get(), b.col_ind.get(), b.length.get(), b.row_id.get(), b.slices,
           b.slice_start.get(), b.pages.get(), b.slice_column_start.get());
  b.allow();
  sliced_check_order(b);
  for (uint64_t slice = 0; slice < b.slices; slice++) { // as mbk_nonempty_offsets does
    b.slice_start.store(slice, b.start[slice]);
    b.slice_column_start.store(slice, b.column_start[slice]);
  }
  b.slice_column_start.store(b.slices, b.column_start[b.slices]);
}

// Writes the slices, like a plan's creation or an update of its values.
template <class V> void sliced_fill(sliced_bed<V> &b, uint64_t seed) {
  b.x.forbid();
  simt_run(b.f.fill, b.run(seed),
           {csr_divide_up(b.slices * 32, SLICED_BUILD_THREADS), SLICED_BUILD_THREADS,
            SLICED_BUILD_THREADS * 4},
           b.row_ptr.get(), b.col_ind.get(), b.values.get(), b.slice_start.get(),
           b.slice_column_start.get(), b.pages.get(), b.length.get(), b.row_id.get(), b.slices,
           b.columns.get(), b.slots.get());
  b.allow();
  sliced_check_slots(b);
}

// ---- Products -------------------------------------------------------------------------------

template <class V> unsigned sliced_blocks(const sliced_bed<V> &b) {
  return csr_divide_up(b.slices * 32 * b.f.parts, b.f.threads);
}

template <class V>
void sliced_multiply(sliced_bed<V> &b, double alpha, double beta, simt_array &y,
                     uint64_t seed) {
  sliced_fill(b, seed);
  b.forbid(alpha == 0); // the CSR is not read; with alpha 0 nothing is
  if (alpha == 0) {
    b.columns.forbid();
    b.slots.forbid();
  }
  csr_product(b, b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    simt_late_guard late({&b.factors(), &y});
    late.scalar(at_alpha);
    late.scalar(at_beta);
    simt_run(b.f.product, b.run(seed),
             {sliced_blocks(b), b.f.threads, b.f.shared_bytes()},
             b.slice_start.get(), b.slice_column_start.get(), b.pages.get(), b.length.get(),
             b.row_id.get(), b.columns.get(),
             b.f.shared_values() ? b.values.get() : b.slots.get(), b.table.get(),
             b.factors().get(), y.get(), b.rows, at_alpha, at_beta);
  });
  b.allow();
  b.columns.allow();
  b.slots.allow();
}

template <class V>
void sliced_check_matrix(const sliced_form &f, int index, test_matrix &m, uint64_t seed,
                         bool all) {
  int64_t longest = 0;
  for (int64_t row = 0; row < m.rows; row++) {
    longest = std::max(longest, m.row_ptr[row + 1] - m.row_ptr[row]);
  }
  if (f.length_bytes == 1 && longest > 255) { // the plan then uses four bytes
    return;
  }
  sliced_bed<V> b(f, index, m);
  sliced_build(b, seed);
  sliced_build(b, seed + 1);
  csr_check_pairs(b, all, seed, sliced_multiply<V>);
}
#endif // SIMT_SLICED_BED_H
